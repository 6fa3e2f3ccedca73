"""Labels, jumps, alignment, constants and listings, judged by the disassembler Capstone."""

from __future__ import annotations

import time

import capstone
import pytest

from loopwright.errors import InternalError
from loopwright.targets.target import MachineCode
from loopwright.targets.x86.assembler import ALWAYS, LESS, NOT_EQUAL, Assembler, M, listing, lookup
from loopwright.targets.x86.encoder import NO_REGISTER
from loopwright.targets.x86.registers import CODES, INTS, K0, MASKS, R8, RAX, RBP, REGISTERS, RSI, RSP, VECTORS, ZMM0, register_name

NOP = lookup("NOP")
RET = lookup("RET")


def disassembly(code: MachineCode) -> list[capstone.CsInsn]:
    instructions = list(capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64).disasm(code.data[: code.code_size], 0))
    assert sum(instruction.size for instruction in instructions) == code.code_size
    return instructions


def normal(text: str) -> str:
    """A line without what Capstone spells otherwise: spaces inside addresses, small numbers in decimal."""
    return text.replace(" + ", "+").replace(" - ", "-").replace("0x", "").replace(" ", "")


@pytest.mark.parametrize("condition", [ALWAYS, NOT_EQUAL])
@pytest.mark.parametrize("between", [0, 1, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 1000])
@pytest.mark.parametrize("forward", [True, False])
def test_a_jump_is_short_exactly_when_it_reaches(condition: int, between: int, forward: bool) -> None:
    a = Assembler()
    if forward:
        a.jump(condition, 7)
    else:
        a.label(7)
    for _ in range(between):
        a.emit(NOP)
    if forward:
        a.label(7)
    else:
        a.jump(condition, 7)
    a.emit(RET)
    code = a.encode()
    instructions = disassembly(code)
    jump = next(i for i in instructions if i.mnemonic in ("jmp", "jne"))
    reaches = between <= 127 if forward else between + 2 <= 128
    assert jump.size == (2 if reaches else 5 if condition == ALWAYS else 6)
    assert int(jump.op_str, 16) == (jump.size + between if forward else 0)


def test_growing_one_jump_may_make_another_grow() -> None:
    # Each jump reaches its label, 42 jumps on, exactly as long as all between are short. One in the middle is not.
    a = Assembler()
    for i in range(120):
        a.jump(LESS, i + 42)
        if i == 60:
            a.jump(ALWAYS, 999)
        a.emit(NOP)
        a.label(i)
    for i in range(120, 162):
        a.label(i)
    for _ in range(200):
        a.emit(NOP)
    a.label(999)
    code = a.encode()
    instructions = disassembly(code)
    labels: dict[int, int] = code.instructions.labels
    jumps = [i for i in instructions if i.mnemonic == "jl"]
    assert [jump.size for jump in jumps] == [6] * 61 + [2] * 59
    assert [int(jump.op_str, 16) for jump in jumps] == [labels[i + 42] for i in range(120)]
    assert {i.address for i in instructions}.issuperset(label for label in labels.values() if label < code.code_size)


def test_jumps_across_alignments_reach_their_labels() -> None:
    for padding in range(100, 140):
        a = Assembler()
        a.emit(RET)
        a.jump(LESS, 1)
        a.align(32)
        a.label(0)
        for _ in range(padding):
            a.emit(NOP)
        a.jump(NOT_EQUAL, 0)
        a.label(1)
        a.emit(RET)
        code = a.encode()
        found = {i.mnemonic: int(i.op_str, 16) for i in disassembly(code) if i.mnemonic in ("jl", "jne")}
        assert found["jne"] == 32
        assert found["jl"] == code.code_size - 1
        assert code.align >= 32


@pytest.mark.parametrize("start", range(1, 17))
def test_an_alignment_is_filled_with_few_long_nops(start: int) -> None:
    a = Assembler()
    for _ in range(start):
        a.emit(RET, line=7)
    a.align(16)
    a.emit(RET, line=8)
    code = a.encode()
    instructions = disassembly(code)
    nops = [i for i in instructions if i.mnemonic == "nop"]
    assert sum(i.size for i in nops) == -start % 16
    assert len(nops) <= 2
    assert [line[1] for line in listing(code)] == [bytes(i.bytes) for i in instructions]
    # Padding is of no line of the source.
    assert [line[3] for line in listing(code)] == [7] * start + [0] * len(nops) + [8]


def test_constants_follow_the_code_once_each_and_aligned() -> None:
    a = Assembler()
    load = lookup("VMOVAPS", "zmm,m512")
    add = lookup("VADDPS", "zmm,zmm,m32bcst")
    shuffle = lookup("VSHUFPS", "zmm,zmm,m512,imm")
    one = b"\x00\x00\x80\x3f"
    wide = bytes(range(64))
    a.emit(add, (1, 2), a.constant(one, bcst=True))
    a.emit(load, (3,), a.constant(wide))
    a.emit(shuffle, (3, 3), a.constant(wide), 0x1B)  # an immediate behind the displacement
    a.emit(add, (1, 2), a.constant(one, bcst=True))
    a.emit(RET)
    code = a.encode()
    pool = code.data[code.code_size :]
    assert pool.count(wide) == 1
    assert pool.count(one) == 1
    assert code.align == 64
    places = []
    for instruction in disassembly(code)[:4]:
        displacement = int(instruction.op_str.partition("rip + ")[2].partition("]")[0], 16)
        places.append(instruction.address + instruction.size + displacement)
    assert code.data[places[0] : places[0] + 4] == one
    assert code.data[places[1] : places[1] + 64] == wide
    assert places[1] % 64 == 0
    assert places == [places[0], places[1], places[1], places[0]]


def test_a_displacement_into_a_constant_counts_from_its_start() -> None:
    a = Assembler()
    constant = a.constant(bytes(range(16)))
    constant.disp = 8
    a.emit(lookup("MOV", "r64,m64"), (0,), constant)
    code = a.encode()
    (instruction,) = disassembly(code)
    displacement = int(instruction.op_str.partition("rip + ")[2].rstrip("]"), 16)
    place = instruction.size + displacement
    assert code.data[place : place + 8] == bytes(range(8, 16))


def test_a_call_leaves_a_relocation_at_its_displacement() -> None:
    a = Assembler()
    a.emit(NOP)
    a.jump(ALWAYS, 0)
    for _ in range(200):
        a.emit(NOP)
    a.label(0)
    a.call_symbol("f")
    a.call_symbol("g")
    a.call_symbol("f")
    code = a.encode()
    calls = [i.address + 1 for i in disassembly(code) if i.mnemonic == "call"]
    assert code.relocations == [(calls[0], "pc32", "f"), (calls[1], "pc32", "g"), (calls[2], "pc32", "f")]
    assert b"".join(line[1] for line in listing(code)) == code.data[: code.code_size]
    assert [line[0] for line in listing(code) if line[2].startswith("call")] == [at - 1 for at in calls]


def test_a_listing_says_what_the_disassembler_says() -> None:
    a = Assembler()
    a.line = 3
    a.align(16)
    a.label(0)
    a.emit(lookup("VMOVUPS", "ymm,m256"), (17,), M(0, 1, 4, 96))
    a.emit(lookup("VFMADD213PS", "zmm{k},zmm,m512"), (1, 2), M(4, disp=-64), k=1, z=True, line=4)
    a.emit(lookup("VPXOR", "xmm,xmm,xmm"), (20, 20, 20))
    a.ins(lookup("ADD", "r64,imm"), 0, 64)
    a.ins(lookup("SHL", "r64,cl"), 9)
    a.ins(lookup("IMUL", "r64,m64,imm"), 1, M(5, disp=8), 0x1234)
    a.ins(lookup("SETB", "r8"), 6)
    a.emit(lookup("CMP", "r64,r64"), (0, 8))
    a.jump(LESS, 0)
    a.emit(RET)
    code = a.encode()
    lines = listing(code)
    instructions = disassembly(code)
    assert [line[0] for line in lines] == [i.address for i in instructions]
    assert b"".join(line[1] for line in lines) == code.data[: code.code_size]
    assert [normal(line[2]) for line in lines] == [normal(f"{i.mnemonic} {i.op_str}") for i in instructions]
    assert [line[3] for line in lines] == [3, 4, 3, 3, 3, 3, 3, 3, 3, 3]
    assert lines[1][2] == "vfmadd213ps zmm1{k1}{z}, zmm2, zmmword ptr [rsp-0x40]"
    assert lines[2][2] == "vpxord xmm20, xmm20, xmm20"


def test_a_broadcast_is_listed_with_its_count() -> None:
    a = Assembler()
    a.emit(lookup("VFMADD213PS", "zmm,zmm,m32bcst"), (1, 2), a.constant(b"\x00\x00\x80\x3f", bcst=True), k=1, z=True)
    a.emit(lookup("VCVTPS2PD", "zmm,m32bcst"), (1,), M(0, bcst=True))
    words = [line[2] for line in listing(a.encode())]
    assert words[0].startswith("vfmadd213ps zmm1{k1}{z}, zmm2, dword ptr [rip+0x")
    assert words[0].endswith("]{1to16}")
    assert words[1] == "vcvtps2pd zmm1, dword ptr [rax]{1to8}"


def test_a_label_must_be_placed_once() -> None:
    a = Assembler()
    a.jump(ALWAYS, 5)
    with pytest.raises(InternalError, match="label 5"):
        a.encode()
    a.label(5)
    a.label(5)
    with pytest.raises(InternalError, match="label 5"):
        a.encode()


def test_encoding_twice_gives_the_same() -> None:
    a = Assembler()
    a.label(0)
    a.emit(lookup("VADDPD", "ymm,ymm,m256"), (1, 2), a.constant(bytes(32)))
    a.jump(NOT_EQUAL, 0)
    assert a.encode().data == a.encode().data


def test_a_hundred_instructions_are_encoded_within_a_millisecond() -> None:
    add = lookup("VADDPS", "ymm,ymm,ymm")
    load = lookup("VMOVUPS", "ymm,m256")
    best = 1.0
    for _ in range(50):
        start = time.perf_counter()
        a = Assembler()
        a.label(0)
        for i in range(50):
            a.emit(load, (i & 15,), M(0, 1, 4, i * 32))
            a.emit(add, (1, 2, i & 15))
        a.jump(NOT_EQUAL, 0)
        a.encode()
        best = min(best, time.perf_counter() - start)
    assert best < 1e-3


def test_registers_are_dense_and_have_the_machine_s_codes() -> None:
    assert [r.name for r in REGISTERS[:7]] == ["rax", "rcx", "rdx", "rbx", "rbp", "rsi", "rdi"]
    assert [r.cls for r in REGISTERS] == [INTS] * 15 + [VECTORS] * 32 + [MASKS] * 8
    assert (CODES[RAX], CODES[RBP], CODES[RSI], CODES[R8], CODES[RSP], CODES[ZMM0 + 31], CODES[K0 + 7]) == (0, 5, 6, 8, 4, 31, 7)
    assert (register_name(RAX, 32), register_name(RSI, 8), register_name(RSP, 64), register_name(ZMM0 + 3, 256), register_name(K0 + 1, 64)) == (
        "eax",
        "sil",
        "rsp",
        "ymm3",
        "k1",
    )


def test_an_index_without_a_base_is_shown_with_its_scale() -> None:
    # Without it the text would be that of a base.
    for scale in (1, 2, 8):
        a = Assembler()
        a.emit(lookup("MOV", "r64,m64"), (0,), M(NO_REGISTER, 2, scale, 64))
        ((_, _, words, _),) = listing(a.encode())
        assert words == f"mov rax, qword ptr [rdx*{scale}+0x40]"
