"""Labels, branch ranges, compressed forms, constants and the listing."""

from __future__ import annotations

import random

import pytest
from tests.targets.riscv.test_instructions import LLVM_MC, assemble, needs_llvm, samples

from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.assembler import Assembler, compress, listing, materialise, patch_call
from loopwright.targets.riscv.instructions import ROWS, Row, decode
from loopwright.targets.target import MachineCode

ZERO, RA, SP, T0, A0, A1, FA0 = 0, 1, 2, 5, 10, 11, 10


def decoded(machine: MachineCode) -> list[tuple[int, Row, tuple[int, ...]]]:
    """The instructions found in the bytes themselves."""
    found = []
    at = 0
    while at < machine.code_size:
        size = 4 if machine.data[at] & 3 == 3 else 2
        seen = decode(int.from_bytes(machine.data[at : at + size], "little"))
        assert seen is not None, machine.data[at : at + size].hex()
        found.append((at, *seen))
        at += size
    return found


def executed(steps: list[tuple[Row, int]]) -> int:
    """What a sequence of ``materialise`` computes."""
    value = 0
    for row, k in steps:
        if row is i.LUI:
            value = k << 12
            value -= (value >> 31 & 1) << 32
        elif row is i.ADDI or row is i.ADDIW:
            value += k
            if row is i.ADDIW:
                value = (value + (1 << 31) & (1 << 32) - 1) - (1 << 31)
        elif row is i.SLLI:
            value <<= k
        elif row is i.SRLI:
            value = (value & (1 << 64) - 1) >> k
        value = (value + (1 << 63) & (1 << 64) - 1) - (1 << 63)
    return value


def test_constants_of_every_width_are_made_exactly() -> None:
    rng = random.Random(7)
    values = [
        0,
        1,
        -1,
        2047,
        2048,
        -2048,
        -2049,
        0x7FFFFFFF,
        -(1 << 31),
        1 << 31,
        0xFFFFFFFF,
        1 << 62,
        -(1 << 63),
        (1 << 63) - 1,
        0x123456789ABCDEF0,
        0xFF00FF00FF,
    ]
    values += [rng.getrandbits(bits) - rng.getrandbits(bits) for bits in range(1, 63) for _ in range(20)]
    for value in values:
        steps = materialise(value)
        assert executed(steps) == value, hex(value)
        assert len(steps) <= 8, hex(value)
        for (row, k), source in zip(steps, [0] + [5] * len(steps), strict=False):
            row.encode((5, k) if row is i.LUI else (5, source, k))


@pytest.mark.parametrize("value", [0, 5, -5, 4096, 0x12345, -0x12345678, 1 << 40, 0xFFFFFFFF, (1 << 52) - 1])
@needs_llvm
def test_constants_take_no_more_instructions_than_llvms(value: int) -> None:
    assert LLVM_MC is not None
    assert len(materialise(value)) <= len(assemble([f"li a0, {value}"], "+m"))


def test_a_constant_of_many_bits_comes_from_the_pool_once() -> None:
    asm = Assembler()
    asm.load_immediate(A0, 0x123456789ABCDEF1)
    asm.load_immediate(A1, 0x123456789ABCDEF1)
    asm.emit(i.JALR, ZERO, 0, RA)
    machine = asm.encode()
    pool = (machine.code_size + 7) & ~7
    assert machine.data[pool:] == (0x123456789ABCDEF1).to_bytes(8, "little")
    at, (high, load) = 0, (decoded(machine)[0], decoded(machine)[1])
    assert high[1] is i.AUIPC and load[1] is i.LD
    assert at + (high[2][1] << 12) + load[2][1] == pool


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("distance", [0, 100, 126, 127, 128, 1000, 1023, 1024, 1025, 2046, 2047, 2048, 2049, 3000])
def test_branches_reach_whatever_the_distance(compressed: bool, distance: int) -> None:
    """``distance`` instructions of four bytes between each branch and its label, forwards and backwards."""
    for row in (i.BEQ, i.BNE, i.BLT, i.BGEU):
        asm = Assembler(compressed)
        asm.bind(0)
        for _ in range(distance):
            asm.emit(i.FADD_S, 1, 2, 3, 7)
        asm.branch(row, A0, ZERO, 0)
        asm.branch(row, A0, ZERO, 1)
        for _ in range(distance):
            asm.emit(i.FADD_S, 1, 2, 3, 7)
        asm.bind(1)
        asm.emit(i.EBREAK)
        seen = decoded(asm.encode())
        end = seen[-1][0]
        jumps = [(at, r, values) for at, r, values in seen if r is not i.FADD_S and r.mnemonic not in ("ebreak", "c.ebreak")]
        if len(jumps) == 2:
            assert [at + values[-1] for at, _, values in jumps] == [0, end]
            continue
        # The opposite branch over a jump, for one or for both.
        goals = []
        for n, (at, r, values) in enumerate(jumps):
            if r is i.JAL:
                previous_at, previous, previous_values = jumps[n - 1]
                assert previous_at + previous_values[-1] == at + 4
                assert previous in (i.BEQ, i.BNE, i.BGE, i.BLTU) and previous is not row
                goals.append(at + values[-1])
            elif n + 1 == len(jumps) or jumps[n + 1][1] is not i.JAL:
                goals.append(at + values[-1])
        assert goals == [0, end]


@pytest.mark.parametrize("row", [i.BEQ, i.BLT, i.JAL], ids=lambda row: row.mnemonic)
@pytest.mark.parametrize("edge", [256, 2048, 4096])
@pytest.mark.parametrize("backwards", [False, True])
def test_reach_is_exact_to_the_last_unit(row: Row, edge: int, backwards: bool) -> None:
    """Two bytes at a time around the reach of each form: the label is met, by the shortest form that reaches it."""
    for between in range(edge // 2 - 4, edge // 2 + 4):
        asm = Assembler()
        if backwards:
            asm.bind(0)
        else:
            asm.jump(0) if row is i.JAL else asm.branch(row, A0, ZERO, 0)
        for _ in range(between):
            asm.emit(i.ADDI, A0, A0, 1)
        if backwards:
            asm.jump(0) if row is i.JAL else asm.branch(row, A0, ZERO, 0)
        else:
            asm.bind(0)
            asm.emit(i.EBREAK)
        machine = asm.encode()
        made = [(at, r) for at, r, _, _ in machine.instructions if r is not i.C_ADDI and r is not i.C_EBREAK]
        at, last = made[-1]
        found = decode(int.from_bytes(machine.data[at : at + last.size], "little"))
        assert found is not None and found[0] is last
        assert at + found[1][-1] == (0 if backwards else machine.code_size - 2), between
        # How far the label is if the form itself has so many bytes.
        short, long = (-2 * between, -2 * between) if backwards else (2 * between + 2, 2 * between + 4)
        if row is i.JAL:
            assert len(made) == 1 and (last is i.C_J) == (-2048 <= short <= 2046)
        elif row is i.BEQ and -256 <= short <= 254:
            assert len(made) == 1 and last is i.C_BEQZ
        else:
            assert len(made) == (1 if -4096 <= long <= 4094 else 2) and (last is row) == (len(made) == 1)


@pytest.mark.parametrize("distance", [0, 1, 510, 511, 512, 1022, 1023, 1024, 1025, 262143, 262144])
def test_jumps_reach_whatever_the_distance(distance: int) -> None:
    asm = Assembler()
    asm.jump(0)
    for _ in range(distance):
        asm.emit(i.FADD_S, 1, 2, 3, 7)
    asm.bind(0)
    asm.emit(i.FADD_S, 1, 2, 3, 7)
    machine = asm.encode()
    at, row, values, _ = machine.instructions[0]
    if row is i.AUIPC:
        upper = (values[1] << 12) - (1 << 32 if values[1] >> 19 else 0)
        goal = at + upper + machine.instructions[1][2][1]
    else:
        goal = at + values[-1]
    assert goal == machine.code_size - 4


def test_a_branch_beyond_a_jumps_reach_goes_through_ra() -> None:
    asm = Assembler()
    asm.branch(i.BLT, A0, A1, 0)
    for _ in range((1 << 18) + 10):
        asm.emit(i.FADD_S, 1, 2, 3, 7)
    asm.bind(0)
    asm.emit(i.EBREAK)
    machine = asm.encode()
    (_, skip, skip_values, _), (at, high, high_values, _), (_, low, low_values, _) = machine.instructions[:3]
    assert (skip, skip_values[-1]) == (i.BGE, 12)
    assert (high, high_values[0], low, low_values[0], low_values[2]) == (i.AUIPC, RA, i.JALR, ZERO, RA)
    assert at + (high_values[1] << 12) + low_values[1] == machine.code_size - 2


def test_a_branch_is_as_short_as_it_can_be() -> None:
    asm = Assembler()
    asm.branch(i.BEQ, A0, ZERO, 0)
    asm.branch(i.BLT, A0, A1, 0)
    asm.jump(0)
    asm.bind(0)
    assert [row.mnemonic for _, row, _ in decoded(asm.encode())] == ["c.beqz", "blt", "c.j"]


def test_a_label_never_placed_is_an_error() -> None:
    asm = Assembler()
    asm.jump(3)
    with pytest.raises(ValueError, match="label 3"):
        asm.encode()


@needs_llvm
def test_compressed_forms_are_those_llvm_mc_chooses() -> None:
    rng = random.Random(3)
    chosen: list[tuple[Row, tuple[int, ...]]] = []
    for row in ROWS:
        if row.extension not in ("I", "D") or row.mnemonic in ("jal", "beq", "bne", "fence", "auipc", "lui"):
            continue
        for values in samples(row, 40):
            small = list(values)
            for k, name in enumerate(row.operands):
                if name in ("rd", "rs1", "rs2") and rng.random() < 0.8:
                    small[k] = rng.choice([SP, 8, 9, 15, 8]) if not row.floats[k] else rng.choice([8, 15, 20])
                elif name == "imm12" and rng.random() < 0.8:
                    small[k] = rng.choice([0, 1, -1, 8, 16, 31, 32, -32, -33, 64, 124, 128, 240, 248, 256, 496, 504, 512, -512])
            if rng.random() < 0.5 and row.operands[:2] == ("rd", "rs1"):
                small[1] = small[0]
            chosen.append((row, tuple(small)))
    theirs = assemble([row.text(values) for row, values in chosen], "+m,+a,+f,+d,+c")
    wrong = []
    for (row, values), data in zip(chosen, theirs, strict=True):
        shorter = compress(row, values)
        ours = row.encode(values).to_bytes(4, "little") if shorter is None else shorter[0].encode(shorter[1]).to_bytes(2, "little")
        if ours != data:
            wrong.append(f"{row.text(values)}: {ours.hex()}, llvm-mc {data.hex()}")
    assert not wrong, f"{len(wrong)}: " + "\n".join(wrong[:20])


@needs_llvm
def test_a_listing_reads_back_as_the_same_bytes() -> None:
    asm = Assembler()
    rng = random.Random(11)
    for row in ROWS:
        if row.extension == "C" or row.branch >= 0:
            continue
        for values in samples(row, 3):
            asm.line = rng.randrange(1, 50)
            asm.emit(row, *values)
    for rd, rs in ((A0, A1), (0, 0), (A0, 0)):
        asm.emit(i.ADDI, rd, rs, 0)
        asm.emit(i.SUB, rd, 0, rs)
        asm.emit(i.SUBW, rd, 0, rs)
        asm.emit(i.SLTIU, rd, rs, 1)
        asm.emit(i.SLTU, rd, 0, rs)
        asm.emit(i.XORI, rd, rs, -1)
        asm.emit(i.ADDIW, rd, rs, 0)
        asm.emit(i.FSGNJ_D, rd, rs, rs)
        asm.emit(i.FSGNJN_S, rd, rs, rs)
        asm.emit(i.FSGNJX_S, rd, rs, rs)
    asm.emit(i.JALR, ZERO, 0, RA)
    machine = asm.encode()
    rows = listing(machine)
    theirs = assemble([text for _, _, text, _ in rows], "+m,+a,+f,+d,+c")
    assert [data.hex() for _, data, _, _ in rows] == [data.hex() for data in theirs]
    assert [line for _, _, _, line in rows][:1] != [0]
    assert b"".join(data for _, data, _, _ in rows) == machine.data[: machine.code_size]


def test_a_listing_says_where_branches_go() -> None:
    asm = Assembler(compressed=False)
    skip = asm.new_label()
    asm.bind(0)
    asm.branch(i.BNE, A0, A1, 0)
    asm.branch(i.BLT, ZERO, A1, skip)
    asm.branch(i.BGE, A0, ZERO, skip)
    asm.jump(0)
    asm.bind(skip)
    asm.emit(i.JALR, ZERO, 0, RA)
    texts = [text for _, _, text, _ in listing(asm.encode())]
    assert texts == ["bne a0, a1, 0x0", "bgtz a1, 0x10", "bgez a0, 0x10", "j 0x0", "ret"]


def test_calls_are_patched_over_their_whole_range() -> None:
    asm = Assembler()
    asm.call("f")
    asm.emit(i.EBREAK)
    machine = asm.encode()
    assert machine.relocations == [(0, "call", "f")]
    for distance in (8, -8, 2046, 2048, -2048, -2050, 1 << 30, -(1 << 31), (1 << 31) - 4098):
        data = bytearray(machine.data)
        patch_call(data, 0, distance)
        high = int.from_bytes(data[0:4], "little")
        low = int.from_bytes(data[4:8], "little")
        upper = high & 0xFFFFF000
        upper -= (upper >> 31) << 32
        lower = low >> 20
        lower -= (lower >> 11) << 12
        assert upper + lower == distance
