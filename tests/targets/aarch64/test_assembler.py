"""Labels, branch ranges, constants, calls, alignment and the listing."""

from __future__ import annotations

import random
import struct

import pytest
from tests.targets.aarch64.test_instructions import assemble, needs_llvm, samples

from loopwright.errors import TargetError
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.assembler import ALWAYS, ASR, EQ, GT, LSL, LSR, LT, NE, ROR, Assembler, listing, patch_call
from loopwright.targets.aarch64.instructions import all_rows, decode
from loopwright.targets.aarch64.notation import Row
from loopwright.targets.aarch64.registers import CODES, INT_ORDER, INTS, LR, REGISTERS, SCRATCH, SCRATCH2, SP, VECTOR_ORDER, VECTORS, ZR, int_name, number
from loopwright.targets.target import MachineCode

ALL = (1 << 64) - 1

Found = tuple[int, Row, tuple[int, ...]]


def word_at(data: bytes, offset: int) -> int:
    return int.from_bytes(data[offset : offset + 4], "little")


def decoded(machine: MachineCode) -> list[Found]:
    """The instructions found in the bytes themselves."""
    found = []
    for at in range(0, machine.code_size, 4):
        seen = decode(word_at(machine.data, at))
        assert seen is not None, machine.data[at : at + 4].hex()
        found.append((at, *seen))
    return found


def decoded_at(machine: MachineCode, at: int) -> Found:
    seen = decode(word_at(machine.data, at))
    assert seen is not None
    return (at, *seen)


def pad(asm: Assembler, count: int) -> None:
    for _ in range(count):
        asm.emit(i.NOP)


# --- registers ------------------------------------------------------------------------------------------------


def test_what_may_be_allocated() -> None:
    ints = [register.name for register in REGISTERS if register.cls == INTS]
    assert ints == [f"x{n}" for n in range(30) if n not in (16, 17, 18)]
    assert [register.name for register in REGISTERS if register.cls == VECTORS] == [f"v{n}" for n in range(32)]
    assert len(REGISTERS) <= 62
    assert [f"{register.name[0]}{CODES[n]}" for n, register in enumerate(REGISTERS)] == [register.name for register in REGISTERS]
    assert sorted(INT_ORDER + VECTOR_ORDER) == list(range(len(REGISTERS)))
    saved = {number(f"x{n}") for n in range(19, 30)} | {number(f"v{n}") for n in range(8, 16)}
    for order in (INT_ORDER, VECTOR_ORDER):
        kept = [n in saved for n in order]
        assert kept == sorted(kept)


def test_names_of_integer_registers() -> None:
    assert [int_name(ZR), int_name(ZR, "w"), int_name(SP, "x", True), int_name(SP, "w", True), int_name(LR)] == ["xzr", "wzr", "sp", "wsp", "x30"]


# --- branches ---------------------------------------------------------------------------------------------------

BRANCHES: list[tuple[Row, tuple[int, ...], Row, tuple[int, ...], int]] = [
    (i.B_COND, (LT,), i.B_COND, (10,), 1 << 20),
    (i.CBZ["w"], (7,), i.CBNZ["w"], (7,), 1 << 20),
    (i.CBNZ["x"], (7,), i.CBZ["x"], (7,), 1 << 20),
    (i.TBZ, (7, 40), i.TBNZ, (7, 40), 1 << 15),
    (i.TBNZ, (7, 3), i.TBZ, (7, 3), 1 << 15),
]


@pytest.mark.parametrize("kind", range(len(BRANCHES)))
@pytest.mark.parametrize("backwards", [False, True])
def test_branches_are_short_exactly_as_far_as_they_reach(kind: int, backwards: bool) -> None:
    """The label just within and just beyond the reach: the branch itself, or the opposite one over a jump."""
    row, values, opposite, opposite_values, reach = BRANCHES[kind]
    for beyond in (0, 1):
        between = reach // 4 + beyond - (0 if backwards else 1) - (0 if backwards else 1)
        asm = Assembler()
        asm.bind(0)
        if not backwards:
            asm.branch(row, 1, *values)
        pad(asm, between)
        if backwards:
            asm.branch(row, 0, *values)
        asm.bind(1)
        asm.emit(i.NOP)
        machine = asm.encode()
        at = 4 * between if backwards else 0
        target = 0 if backwards else machine.code_size - 4
        first = decoded_at(machine, at)
        if not beyond:
            assert first == (at, row, (*values, target - at)) and len(machine.data) == 4 * between + 8
        else:
            assert first == (at, opposite, (*opposite_values, 8))
            assert decoded_at(machine, at + 4) == (at + 4, i.B, (target - at - 4,))
            assert len(machine.data) == 4 * between + 12


def test_a_branch_that_grows_pushes_another_out_of_reach() -> None:
    asm = Assembler()
    asm.branch(i.TBZ, 0, 1, 1)
    asm.branch(i.TBNZ, 1, 2, 2)
    pad(asm, (1 << 13) - 3)
    asm.bind(0)
    pad(asm, 2)
    asm.bind(1)
    asm.emit(i.NOP)
    first, second, third, fourth = decoded(asm.encode())[:4]
    # The first would reach, to the last instruction, if the second had not grown.
    assert (first[1], second[1], third[1], fourth[1]) == (i.TBNZ, i.B, i.TBZ, i.B)
    assert second[0] + second[2][0] == 4 * ((1 << 13) + 1) and fourth[0] + fourth[2][0] == 4 * ((1 << 13) + 3)


def test_branches_forward_and_back_meet_their_labels() -> None:
    rng = random.Random(3)
    asm = Assembler()
    wanted: list[tuple[int, int]] = []
    for n in range(200):
        asm.bind(n)
        pad(asm, rng.randrange(3))
        label = rng.randrange(200)
        wanted.append((len(asm), label))
        asm.branch(rng.choice([i.CBZ["x"], i.CBNZ["w"]]), label, n % 31)
        if n % 5 == 0:
            asm.jump(label)
            wanted.append((len(asm) - 1, label))
    labels = {}
    again = Assembler()
    rng = random.Random(3)
    for n in range(200):
        labels[n] = 4 * len(again)
        pad(again, rng.randrange(3))
        rng.randrange(200)
        rng.choice([0, 1])
        pad(again, 2 if n % 5 == 0 else 1)
    found = decoded(asm.encode())
    for index, label in wanted:
        at, row, values = found[index]
        assert at + values[row.distance] == labels[label]


def test_a_branch_that_is_always_taken_is_a_jump() -> None:
    asm = Assembler()
    asm.bind(0)
    asm.branch(i.B_COND, 0, ALWAYS)
    assert decoded(asm.encode()) == [(0, i.B, (0,))]


def test_only_conditional_branches_branch() -> None:
    with pytest.raises(ValueError, match="not a conditional branch"):
        Assembler().branch(i.B, 0)


def test_a_label_never_placed_is_an_error() -> None:
    asm = Assembler()
    asm.jump(3)
    with pytest.raises(ValueError, match="label 3"):
        asm.encode()


def test_fresh_labels_are_new() -> None:
    asm = Assembler()
    assert len({asm.new_label() for _ in range(5)} | {0, 1, 2}) == 8


# --- constants ----------------------------------------------------------------------------------------------------


def test_constants_are_behind_the_code_once_and_aligned() -> None:
    asm = Assembler()
    four, eight, sixteen = b"abcd", b"efghijkl", bytes(range(16))
    asm.load_pool(i.LDR_V_LIT["s"], 1, four)
    asm.load_pool(i.LDR_LIT["w"], 2, four)
    asm.load_pool(i.LDR_V_LIT["d"], 3, eight)
    asm.load_pool(i.LDR_V_LIT["q"], 4, sixteen)
    asm.load_pool(i.LDR_LIT["x"], 5, eight)
    asm.pool_address(6, sixteen)
    asm.pool_address(7, bytes(64))
    machine = asm.encode()
    assert machine.align == 64 and machine.code_size == 28
    assert len(machine.data) == 64 + 64 + 16 + 8 + 4
    for (at, row, values), data in zip(decoded(machine), (four, four, eight, sixteen, eight, sixteen, bytes(64)), strict=True):
        place = at + values[row.distance]
        assert place % len(data) == 0 and place >= machine.code_size
        assert machine.data[place : place + len(data)] == data
    with pytest.raises(ValueError, match="does not load"):
        asm.load_pool(i.LDR_V_LIT["q"], 0, four)
    with pytest.raises(ValueError, match="12 bytes"):
        asm.pool_address(0, bytes(12))


@pytest.mark.parametrize("beyond", [0, 1])
def test_constants_far_away_are_reached(beyond: int) -> None:
    constant = b"\x01\x02\x03\x04"
    for row, far in ((i.LDR_V_LIT["s"], i.LDR_V_REG["s"]), (i.LDR_LIT["w"], i.LDR_REG["w"]), (None, i.ADD["x"])):
        asm = Assembler()
        if row is None:
            asm.pool_address(9, constant)
        else:
            asm.load_pool(row, 9, constant)
        pad(asm, (1 << 18) - 2 + beyond)
        machine = asm.encode()
        place = len(machine.data) - 4
        assert machine.data[place:] == constant
        first = decoded_at(machine, 0)
        if not beyond:
            assert first == (0, row or i.ADR, (9, place))
            assert place == (1 << 20) - 4
            continue
        assert first == (0, i.ADR, (SCRATCH, 0))
        (_, movz, low), (_, movk, high), (_, last, values) = (decoded_at(machine, at) for at in (4, 8, 12))
        assert (movz, movk, low[0], low[2], high[0], high[2]) == (i.MOVZ["x"], i.MOVK["x"], SCRATCH2, 0, SCRATCH2, 16)
        assert low[1] | high[1] << 16 == place
        assert last is far and values[:3] == (9, SCRATCH, SCRATCH2) and not any(values[3:])


def test_integers_are_loaded() -> None:
    asm = Assembler()
    asm.load_immediate(3, 0x1234000000005678)
    asm.load_immediate(4, 0x5555555555551234)
    asm.load_immediate(5, 0xFF0000FF0000FF55 | 1 << 63)
    found = decoded(asm.encode())
    value = 0
    made: dict[int, int] = {}
    for _, row, values in found:
        rd = values[0]
        if row.family is i.MOVZ:
            value = values[1] << values[2]
        elif row.family is i.MOVK:
            value = made[rd] & ~(0xFFFF << values[2]) | values[1] << values[2]
        elif row.family is i.MOVN:
            value = ~(values[1] << values[2]) & ALL
        else:
            assert row.family is i.ORR_IMM and (values[1] == ZR or values[1] == rd)
            value = (0 if values[1] == ZR else made[rd]) | values[2]
        made[rd] = value
    assert made == {3: 0x1234000000005678, 4: 0x5555555555551234, 5: 0xFF0000FF0000FF55}


@pytest.mark.parametrize("value", [0, 1, -1, 4095, 4096, -4096, 4097, 0xFFFFFF, -0xFFFFFF, 0x1000000, -0x1000001, 1 << 40, (1 << 62) + 3])
def test_sums_of_every_size(value: int) -> None:
    for rd, rn in ((SP, SP), (3, SP), (3, 4), (4, 4)):
        asm = Assembler()
        asm.add_immediate(rd, rn, value)
        registers = {SP: 1000, 4: 5000, ZR + 1: 0}
        start = registers[rn]
        for _, row, values in decoded(asm.encode()):
            if row.family in (i.ADD_IMM, i.SUB_IMM):
                amount = values[2] << values[3]
                registers[values[0]] = registers[values[1]] + (amount if row.family is i.ADD_IMM else -amount)
            elif row is i.ADD_UXTX:
                registers[values[0]] = registers[values[1]] + registers[values[2]]
            elif row.family is i.MOVZ:
                registers[values[0]] = values[1] << values[2]
            elif row.family is i.MOVN:
                registers[values[0]] = ~(values[1] << values[2])
            elif row.family is i.MOVK:
                registers[values[0]] = registers[values[0]] & ~(0xFFFF << values[2]) | values[1] << values[2]
            else:
                assert row is i.ORR_IMM["x"] and values[1] == ZR
                registers[values[0]] = values[2]
        assert registers.get(rd, start) & ALL == start + value & ALL
        assert rd == rn or value or len(asm) == 1


def test_floats_and_vectors_take_an_instruction_or_a_constant() -> None:
    asm = Assembler()
    asm.load_float(1, 1.5, 32)
    asm.load_float(2, 0.0, 64)
    asm.load_float(3, -0.0, 64)
    asm.load_float(4, 0.1, 32)
    asm.load_vector(5, struct.pack("<4f", *[1.5] * 4))
    asm.load_vector(6, struct.pack("<4i", 1, 2, 3, 4))
    asm.load_vector(7, bytes(16))
    asm.load_vector(8, b"\x07" * 8)
    asm.load_vector(9, b"\x01\x02\x03\x04\x05\x06\x07\x08")
    asm.load_vector(10, struct.pack("<2d", 1.0, -1.0))
    asm.load_float(11, 1.5, 16)
    asm.load_float(12, 0.1, 16)
    machine = asm.encode()
    found = [(row, values) for _, row, values in decoded(machine)]
    assert [row for row, _ in found] == [
        i.FMOV_IMM["s"],
        i.MOVI_D,
        i.LDR_V_LIT["d"],
        i.LDR_V_LIT["s"],
        i.FMOV_V_IMM["4s"],
        i.LDR_V_LIT["q"],
        i.MOVI_2D,
        i.MOVI_B["8b"],
        i.LDR_V_LIT["d"],
        i.LDR_V_LIT["q"],
        i.FMOV_IMM["h"],
        i.LDR_V_LIT["s"],
    ]
    assert [values[0] for _, values in found] == list(range(1, 13))
    for at, data in (
        (11, struct.pack("<e2x", 0.1)),
        (2, struct.pack("<d", -0.0)),
        (3, struct.pack("<f", 0.1)),
        (5, struct.pack("<4i", 1, 2, 3, 4)),
        (9, struct.pack("<2d", 1.0, -1.0)),
    ):
        place = 4 * at + found[at][1][1]
        assert machine.data[place : place + len(data)] == data


def test_moves_of_a_register_to_itself_are_none() -> None:
    asm = Assembler()
    asm.move(3, 3)
    asm.move_vector(3, 3)
    asm.move(3, 4)
    asm.move_vector(3, 4)
    assert [text for _, _, text, _ in listing(asm.encode())] == ["mov x3, x4", "mov v3.16b, v4.16b"]


def test_shifts_extensions_and_conditions_are_named_as_people_name_them() -> None:
    asm = Assembler()
    for shape in ("w", "x"):
        for kind in (LSL, LSR, ASR, ROR):
            asm.shift(kind, shape, 1, 2, 3)
    asm.shift(LSL, "x", 1, 2, 0)
    asm.shift(LSL, "w", 1, 2, 31)
    for bits in (8, 16, 32):
        asm.extend(1, 2, bits, True)
        asm.extend(1, 2, bits, False)
    asm.extend(1, 2, 8, True, "w")
    asm.set_if(EQ, 7)
    asm.set_if(GT, 7)
    shifts = [f"{name} {r}1, {r}2, #3" for r in "wx" for name in ("lsl", "lsr", "asr", "ror")]
    extended = ["sxtb x1, w2", "uxtb w1, w2", "sxth x1, w2", "uxth w1, w2", "sxtw x1, w2", "mov w1, w2", "sxtb w1, w2"]
    texts = [text for _, _, text, _ in listing(asm.encode())]
    assert texts == [*shifts, "lsr x1, x2, #0", "lsl w1, w2, #31", *extended, "cset w7, eq", "cset w7, gt"]


# --- calls, alignment, listing ------------------------------------------------------------------------------------


def test_calls_are_patched_over_their_whole_range() -> None:
    asm = Assembler()
    asm.emit(i.NOP)
    asm.call("f")
    asm.emit(i.RET, LR)
    machine = asm.encode()
    assert machine.relocations == [(4, "call26", "f")]
    assert [text for _, _, text, _ in listing(machine)] == ["nop", "bl f", "ret"]
    for distance in (0, 4, -4, 1 << 20, (1 << 27) - 4, -(1 << 27)):
        data = bytearray(machine.data)
        patch_call(data, 4, distance)
        assert decode(word_at(data, 4)) == (i.BL, (distance,))
        assert (data[:4], data[8:]) == (machine.data[:4], machine.data[8:])
    for distance in (1 << 27, -(1 << 27) - 4, 2):
        with pytest.raises(TargetError):
            patch_call(bytearray(machine.data), 4, distance)


def test_loops_begin_where_they_are_aligned() -> None:
    for before in range(9):
        asm = Assembler()
        asm.jump(1)
        pad(asm, before)
        asm.align(32)
        asm.bind(0)
        asm.emit(i.UDF, 7)
        asm.branch(i.B_COND, 0, NE)
        asm.bind(1)
        machine = asm.encode()
        found = decoded(machine)
        (head,) = [at for at, row, _ in found if row is i.UDF]
        assert head % 32 == 0 and machine.align == 32 and head - 4 * (before + 1) < 32
        assert found[-1] == (head + 4, i.B_COND, (NE, -4))
        assert found[0] == (0, i.B, (machine.code_size,))
        assert [at for at, _, _, _ in listing(machine)] == list(range(0, machine.code_size, 4))


def test_instructions_keep_their_lines() -> None:
    asm = Assembler()
    asm.line = 5
    asm.emit(i.NOP)
    asm.line = 9
    asm.branch(i.CBZ["x"], 0, 1)
    asm.load_immediate(1, 0x12345678)
    asm.bind(0)
    assert [line for _, _, _, line in listing(asm.encode())] == [5, 9, 9, 9]


def test_a_listing_says_where_branches_and_loads_go() -> None:
    asm = Assembler()
    skip = asm.new_label()
    asm.bind(0)
    asm.branch(i.B_COND, 0, EQ)
    asm.branch(i.CBNZ["x"], skip, 1)
    asm.branch(i.TBZ, skip, 1, 5)
    asm.jump(0)
    asm.load_pool(i.LDR_V_LIT["d"], 3, b"12345678")
    asm.bind(skip)
    asm.emit(i.RET, LR)
    texts = [text for _, _, text, _ in listing(asm.encode())]
    assert texts == ["b.eq 0x0", "cbnz x1, 0x14", "tbz w1, #5, 0x14", "b 0x0", "ldr d3, 0x18", "ret"]


@needs_llvm
def test_a_listing_reads_back_as_the_same_bytes() -> None:
    asm = Assembler()
    for row in all_rows():
        row.prepare()
        if row.distance < 0:
            for values in samples(row, 2):
                asm.emit(row, *values)
    machine = asm.encode()
    rows = listing(machine)
    assert b"".join(data for _, data, _, _ in rows) == machine.data
    assert [word_at(data, 0) for _, data, _, _ in rows] == assemble([text for _, _, text, _ in rows])
