"""Frames of every size, local arrays, jumps, calls, and the entry code that finds broken conventions out."""

from __future__ import annotations

import itertools
import struct

import numpy as np
import pytest
from tests.targets.aarch64.state import Piece, compiled, needs_qemu, run, slots_of

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import LOCAL_ALIGN, SLOT, SPILL, Callee, Frame, Function, Instr, Slot
from loopwright.runtime import emulate
from loopwright.targets.aarch64 import control, moves
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.abi import AAPCS64, AArch64Assembler, destroyed_by_calls, enter, leave
from loopwright.targets.aarch64.assembler import LSL, listing
from loopwright.targets.aarch64.registers import LR, REGISTERS, SP, ZR, number
from loopwright.targets.target import Rule, Use
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, VOID, Type, mask_of, vector_of

SAVED = [r for r in range(len(REGISTERS)) if AAPCS64.callee_saved >> r & 1]


def places(*types: Type) -> list[str]:
    return [REGISTERS[place].name if place >= 0 else f"stack+{~place}" for place in AAPCS64.assign(list(types))]


def test_arguments_go_where_the_standard_says() -> None:
    assert places(I32, F32, PTR, F64) == ["x0", "v0", "x1", "v1"]
    assert places(*[I64] * 10) == [f"x{k}" for k in range(8)] + ["stack+0", "stack+8"]
    # Floats beyond v7 go to the stack, though integer registers are free.
    assert places(*[F64] * 10, I32) == [f"v{k}" for k in range(8)] + ["stack+0", "stack+8", "x0"]
    assert places(*[BOOL] * 9, *[F32] * 9, U8)[-3:] == ["v7", "stack+8", "stack+16"]


def test_what_calls_preserve() -> None:
    assert [REGISTERS[r].name for r in SAVED] == [f"x{n}" for n in range(19, 30)] + [f"v{n}" for n in range(8, 16)]
    assert [REGISTERS[r].name for r in SAVED if AAPCS64.partly_saved >> r & 1] == [f"v{n}" for n in range(8, 16)]
    assert AAPCS64.part_saved == 8
    f = Function("f", VOID)
    for type_ in (I64, F64, vector_of(F32, 2), mask_of(8, 8)):
        f.register(type_)
        assert destroyed_by_calls(f) & AAPCS64.callee_saved == 0
    assert destroyed_by_calls(f) | AAPCS64.callee_saved == (1 << len(REGISTERS)) - 1
    f.register(mask_of(32, 4))
    assert destroyed_by_calls(f) & AAPCS64.callee_saved == AAPCS64.partly_saved


def texts(asm: AArch64Assembler) -> list[str]:
    return [text for _, _, text, _ in listing(asm.encode())]


def framed(size: int = 0, saved: list[str] | None = None, calls: bool = False, outgoing: int = 0) -> Function:
    f = Function("framed", I64)
    f.physical = True
    f.frame = Frame()
    f.frame.size, f.frame.calls, f.frame.outgoing = size, calls, outgoing
    f.frame.saved = [number(name) for name in saved or []]
    return f


def around(f: Function) -> tuple[list[str], list[str]]:
    """Prologue and epilogue."""
    made = AArch64Assembler(f)
    assert f.frame is not None
    enter(made, f.frame)
    count = len(made)
    leave(made, f.frame)
    lines = texts(made)
    return lines[:count], lines[count:]


def test_small_frames_are_made_by_few_instructions() -> None:
    assert around(framed()) == ([], [])
    assert around(framed(calls=True)) == (["str x30, [sp, #-16]!"], ["ldr x30, [sp], #16"])
    assert around(framed(saved=["x29"], calls=True)) == (["stp x29, x30, [sp, #-16]!"], ["ldp x29, x30, [sp], #16"])
    assert around(framed(size=24)) == (["sub sp, sp, #32"], ["add sp, sp, #32"])
    assert around(framed(16, ["x19", "x20", "v8"], outgoing=8)) == (
        ["sub sp, sp, #64", "stp x19, x20, [sp, #32]", "str d8, [sp, #48]"],
        ["ldp x19, x20, [sp, #32]", "ldr d8, [sp, #48]", "add sp, sp, #64"],
    )
    assert around(framed(8192, ["x19", "v8", "v9"], True)) == (
        ["stp x19, x30, [sp, #-32]!", "stp d8, d9, [sp, #16]", "sub sp, sp, #2, lsl #12"],
        ["add sp, sp, #2, lsl #12", "ldp d8, d9, [sp, #16]", "ldp x19, x30, [sp], #32"],
    )


SIZES = [0, 8, 16, 40, 304, 312, 320, 328, 488, 496, 504, 512, 1024, 4080, 4096, 4104, 65536, (1 << 20) + 16]
KEPT = [[], ["x19"], ["x29"], ["v8"], ["x19", "x20", "x29"], ["v8", "v15"], ["x21", "v9", "v10", "v11"], [REGISTERS[r].name for r in SAVED]]


@needs_qemu
def test_frames_of_every_size_preserve_registers_and_stack() -> None:
    """The entry code notices a register or stack pointer that comes back changed; the caller's arguments on the stack come through."""
    calls = []
    for size, saved, calling, outgoing in itertools.product(SIZES, KEPT, (False, True), (0, 8, 24, 40000)):
        f = framed(size, saved, calling, outgoing)
        source = Function("framed", I64)
        for k in range(10):
            source.param(I64, f"p{k}")
        asm = AArch64Assembler(f)
        assert f.frame is not None
        enter(asm, f.frame)
        assert asm.frame_size % 16 == 0 and asm.slots_at >= outgoing and asm.slots_at % 16 == 0
        # Everything that the frame lets the function write to is destroyed, and all registers that are saved.
        asm.emit(i.MOVZ["x"], 1, 77, 0)
        for offset in {0, asm.saves_at // 2 & ~7, asm.saves_at - 8} if asm.saves_at else ():
            moves.store_far(asm, I64, 1, offset)
        for name in saved:
            if name[0] == "x":
                asm.move(int(name[1:]), 1)
            else:
                asm.emit(i.DUP["2d"], int(name[1:]), 1)
        if calling:
            asm.move(LR, 1)
        moves.emit_load(asm, I64, 0, SP, disp=asm.frame_size + 8)
        for epilogue in range(2):
            # A function may have several.
            skip = asm.new_label()
            if epilogue == 0:
                asm.branch(i.CBZ["x"], skip, 0)
            leave(asm, f.frame)
            asm.emit(i.RET, LR)
            asm.bind(skip)
        calls.append((compiled(source, f, asm), [*range(9), len(calls)]))
    assert emulate.run_many(calls) == list(range(len(calls)))


@needs_qemu
def test_frames_beyond_what_an_addition_reaches() -> None:
    """Of a frame of 20 MiB only the ends are touched, the upper one by slots: the stack has no more than 8."""
    size = 20 << 20
    f = framed(size, ["x19", "v8"], True)
    f.slots = [Slot(SPILL, 8, size - 8), Slot(SPILL, 16, size - 32)]
    source = Function("framed", I64)
    source.param(I64, "a")
    wide = vector_of(I64, 2)
    x1, v1, v8 = number("x1"), number("v1"), number("v8")
    asm = AArch64Assembler(f)
    assert f.frame is not None
    enter(asm, f.frame)
    for type_, to, given in (
        (I64, SLOT, number("x0")),
        (wide, v1, f.const(wide, 5)),
        (wide, SLOT + 1, v1),
        (wide, v8, SLOT + 1),
        (wide, SLOT + 1, f.const(wide, -1)),
        (wide, SLOT + 1, f.const(wide, 7 << 40)),
        (I64, x1, SLOT),
        (I64, SLOT, f.const(I64, 12345)),
        (I64, number("x2"), SLOT),
        (I64, SLOT + 1, SLOT),
        (I64, number("x3"), SLOT + 1),
    ):
        moves.copy(asm, f, Instr(ops.COPY, type_, to, [given]))
    asm.emit(i.FMOV_TO_INT["x.d"], 0, 8)
    for code in (1, 2, 3):
        asm.emit(i.ADD["x"], 0, 0, code, LSL, 0)
    leave(asm, f.frame)
    asm.emit(i.RET, LR)
    assert emulate.run(compiled(source, f, asm), 1000) == 5 + 1000 + 12345 + 12345


@needs_qemu
@pytest.mark.parametrize("size", [0, 16, 40000, 1 << 20])
def test_local_arrays_begin_at_cache_lines(size: int) -> None:
    calls, wants = [], []
    for which in range(3):
        f = framed(0, ["x19"], True, 24)
        arrays = [f.local_array("a", I32, (3,)), f.local_array("b", F64, (size // 8 + 1,)), f.local_array("c", U8, (5,))]
        assert f.frame is not None
        f.frame.size = 24 + f.local_bytes()
        source = Function("framed", I64)
        source.param(I64, "a")
        asm = AArch64Assembler(f)
        enter(asm, f.frame)
        # Writing all of the array changes nothing else of the frame; its address is a multiple.
        moves.local_address(asm, f, Instr(ops.LOCAL, PTR, number("x3"), [f.const(I64, which)]))
        asm.move(4, 3)
        asm.load_immediate(5, arrays[which].size)
        loop = asm.new_label()
        asm.bind(loop)
        asm.emit(i.STR_POST["b"], 5, 4, 1)
        asm.add_immediate(5, 5, -1)
        asm.branch(i.CBNZ["x"], loop, 5)
        asm.add_immediate(6, SP, asm.saves_at)
        # In x0: its distance from the saved registers if it is aligned, inside the frame and behind the spill slots.
        asm.emit(i.SUB["x"], 0, 6, 4, LSL, 0)
        asm.emit(i.AND_IMM["x"], 3, 3, LOCAL_ALIGN - 1)
        asm.emit(i.ORR["x"], 0, 0, 3, LSL, 56)
        leave(asm, f.frame)
        asm.emit(i.RET, LR)
        calls.append((compiled(source, f, asm), [0]))
        behind = f.local_offset(3) - f.local_offset(which) - arrays[which].size
        wants.append((behind, behind + LOCAL_ALIGN + 16))
    for got, (low, high) in zip(emulate.run_many(calls), wants, strict=True):
        assert low <= got <= high


# --- control -------------------------------------------------------------------------------------------------


@needs_qemu
def test_jumps_on_bools() -> None:
    """Only the 32 bits count that hold a bool."""
    calls = []
    for op, held in itertools.product((ops.JUMP_IF, ops.JUMP_UNLESS), (0, 1, 5 << 32, 1 | 5 << 32)):
        f = framed()
        f.aligned = {1}
        source = Function("jumps", I64)
        source.param(I64, "a")
        asm = AArch64Assembler(f)
        control.jump_if(asm, f, Instr(op, BOOL, -1, [number("x0")], 1))
        asm.load_immediate(0, 100)
        control.jump(asm, f, Instr(ops.JUMP, VOID, -1, [], 2))
        control.nothing(asm, f, Instr(ops.END, VOID, -1, []))
        control.label(asm, f, Instr(ops.LABEL, VOID, -1, [], 1))
        asm.load_immediate(0, 200)
        control.label(asm, f, Instr(ops.LABEL, VOID, -1, [], 2))
        asm.emit(i.RET, LR)
        calls.append(((compiled(source, f, asm), [held]), 200 if bool(held & 1) == (op is ops.JUMP_IF) else 100))
    assert emulate.run_many([call for call, _ in calls]) == [want for _, want in calls]


def test_heads_of_inner_loops_are_aligned() -> None:
    for aligned in (False, True):
        f = framed()
        f.aligned = {3} if aligned else set()
        asm = AArch64Assembler(f)
        asm.emit(i.RET, LR)
        control.label(asm, f, Instr(ops.LABEL, VOID, -1, [], 3))
        control.jump(asm, f, Instr(ops.JUMP, VOID, -1, [], 3))
        assert texts(asm) == (["ret", "nop", "nop", "nop", "b 0x10"] if aligned else ["ret", "b 0x4"])


def with_rule(instr: Instr, registers: list[int]) -> Instr:
    """With a rule that wants its operands in these registers."""
    instr.rule = Rule("", tuple(Use(REGISTERS[r].cls, r) for r in registers), None, lambda *_: None)
    return instr


RESULTS = [(BOOL, 0xFF00, 0), (BOOL, 0xFF01, 1), (I8, 0x1280, -128), (U8, 0x1280, 128), (I16, 0x12348000, -32768), (U16, 0x12348000, 32768)]


@needs_qemu
def test_calls_pass_constants_and_extend_results() -> None:
    """The callee returns its first argument, of which its type leaves out the upper bits, plus what is on the stack."""
    calls = []
    for type_, given, want in RESULTS:
        callee = Function("callee", I64)
        callee.param(I64, "a")
        f = framed(0, [], True, 16)
        f.callees.append(Callee("callee", [I64, F64, *[I64] * 9], type_))
        source = Function("caller", I64)
        source.param(I64, "a")
        asm = AArch64Assembler(f)
        assert f.frame is not None
        control.prologue(asm, f, Instr(ops.PROLOGUE, VOID, -1, []))
        control.store_arg(asm, f, Instr(ops.STORE_ARG, I64, -1, [number("x0")], 0))
        control.store_arg(asm, f, Instr(ops.STORE_ARG, I64, -1, [f.const(I64, 0)], 8))
        call = Instr(ops.CALL, type_, number("x0"), [f.const(I64, given), f.const(F64, 0.1), *[number(f"x{k}") for k in range(1, 8)]])
        control.call(asm, f, with_rule(call, [number("x0"), number("v0"), *[number(f"x{k}") for k in range(1, 8)]]))
        # To 64 bits from the 32 that hold it.
        asm.extend(0, 0, 32, True)
        control.epilogue(asm, f, Instr(ops.EPILOGUE, VOID, -1, []))
        control.ret(asm, f, with_rule(Instr(ops.RET, I64, -1, [number("x0")]), [number("x0")]))
        # The callee, right behind: adds the stack arguments, which are zero, and spoils the upper half.
        asm.bind(-1000)
        asm.emit(i.LDP["x"], 9, 10, SP, 0)
        asm.emit(i.ADD["x"], 0, 0, 9, LSL, 0)
        asm.emit(i.ADD["x"], 0, 0, 10, LSL, 0)
        asm.emit(i.MOVK["x"], 0, 0xDEAD, 32)
        asm.load_pool(i.LDR_LIT["x"], 11, struct.pack("<d", 0.1))
        asm.emit(i.FMOV_TO_INT["x.d"], 12, 0)
        asm.emit(i.SUB["x"], 11, 11, 12, LSL, 0)
        asm.emit(i.ADD["x"], 0, 0, 11, LSL, 0)
        asm.emit(i.RET, LR)
        made = compiled(source, f, asm)
        # In place of the linker.
        ((offset, kind, symbol),) = made.machine.relocations
        assert symbol == "callee"
        data = bytearray(made.machine.data)
        ends = [at for at in range(0, made.machine.code_size, 4) if data[at : at + 4] == i.RET.encode((LR,)).to_bytes(4, "little")]
        made.target.relocate(data, offset, kind, ends[0] + 4 - offset)
        made.machine.data, made.machine.relocations = bytes(data), []
        calls.append(((made, [0]), want))
    assert emulate.run_many([call for call, _ in calls]) == [want for _, want in calls]


@needs_qemu
@pytest.mark.parametrize("type_", [BOOL, I8, U16, I32, U32, I64, F32, F64], ids=str)
def test_constant_results(type_: Type) -> None:
    value = True if type_ is BOOL else -0.0 if type_.is_float else (-5 if type_.signed else 5)
    f = framed()
    f.result = type_
    source = Function("constant", type_)
    source.param(I64, "a")
    asm = AArch64Assembler(f)
    place = AAPCS64.float_result if type_.is_float else AAPCS64.int_result
    control.ret(asm, f, with_rule(Instr(ops.RET, type_, -1, [f.const(type_, value)]), [place]))
    got = emulate.run(compiled(source, f, asm), 3)
    assert got == value and np.signbit(got) == np.signbit(value)


@needs_qemu
def test_arguments_on_the_stack() -> None:
    types = [BOOL, I8, U16, I32, I64, PTR, F32, F64]
    pieces = []
    for type_ in types:
        for offset in (0, 8, 32752, 32760, 32768, 65528):
            for zero in (False, True):
                given = number("v3") if type_.is_float else number("x3")

                def emit(asm: AArch64Assembler, f: Function, type_: Type = type_, offset: int = offset, zero: bool = zero, given: int = given) -> None:
                    value = f.const(type_, 0) if zero else given
                    control.store_arg(asm, f, Instr(ops.STORE_ARG, type_, -1, [value], offset))
                    asm.emit(i.MOVZ["x"], 5, 0, 0)
                    moves.emit_load(asm, I64, 5, SP, disp=offset)

                pieces.append((Piece(f"{type_} at {offset} {zero}", emit, slots_of(1024), 1024, 65536), type_, given, zero))
    run([piece for piece, _, _, _ in pieces])
    for piece, type_, given, zero in pieces:
        size = type_.size
        want = bytes(size) if zero else piece.bytes_before(given)[:size]
        assert piece.bytes_after(number("x5"))[:size] == want, piece.name
        assert piece.changed() <= {number("x5")}


# --- the entry code ------------------------------------------------------------------------------------------


@needs_qemu
@pytest.mark.parametrize("name", ["sp", "x18", *(f"x{n}" for n in range(19, 30)), *(f"v{n}" for n in range(8, 16))])
def test_broken_conventions_are_found_out(name: str) -> None:
    f = framed()
    source = Function("broken", I64)
    source.param(I64, "a")
    asm = AArch64Assembler(f)
    if name == "sp":
        asm.add_immediate(SP, SP, -16)
    elif name[0] == "x":
        asm.add_immediate(int(name[1:]), int(name[1:]), 168)
    else:
        asm.emit(i.FMOV_FROM_INT["d.x"], int(name[1:]), ZR)
    asm.emit(i.RET, LR)
    with pytest.raises(InternalError, match="did not preserve"):
        emulate.run(compiled(source, f, asm), 3)


@needs_qemu
def test_what_need_not_be_preserved_holds_rubbish() -> None:
    """And may be changed: registers for arguments, x8 to x17, v16 to v31, the upper halves of v8 to v15, the flags."""
    volatile = [*range(18), LR]
    calls = []
    for code in (*range(8, 16), 17):
        f = framed()
        source = Function("rubbish", I64)
        source.param(I64, "a")
        asm = AArch64Assembler(f)
        asm.move(0, code)
        asm.emit(i.RET, LR)
        calls.append((compiled(source, f, asm), [3]))
    for code in range(32):
        f = framed()
        source = Function("rubbish", I64)
        source.param(I64, "a")
        asm = AArch64Assembler(f)
        asm.emit(i.UMOV["d"], 0, code, 1)
        asm.emit(i.RET, LR)
        calls.append((compiled(source, f, asm), [3]))
    assert all(value not in (0, 3) for value in emulate.run_many(calls))
    f = framed()
    source = Function("destroyer", I64)
    source.param(I64, "a")
    asm = AArch64Assembler(f)
    asm.add_immediate(SP, SP, -16)
    asm.emit(i.STR["x"], LR, SP, 0)
    for code in volatile:
        asm.load_immediate(code, code)
    for code in (*range(8), *range(16, 32)):
        asm.emit(i.DUP["2d"], code, 3)
    for code in range(8, 16):
        asm.emit(i.INS["d"], code, 1, 3)
    asm.emit(i.SUBS["x"], ZR, 3, 4, LSL, 0)
    asm.emit(i.LDR["x"], LR, SP, 0)
    asm.add_immediate(SP, SP, 16)
    asm.emit(i.RET, LR)
    made = compiled(source, f, asm)
    assert emulate.run_many([(made, [1]), (made, [2])]) == [0, 0]


@needs_qemu
def test_arguments_and_results_of_every_type() -> None:
    for type_, value in ((I64, -5), (I32, -7), (U32, 0xFFFFFFFE), (U8, 200), (I8, -100), (BOOL, True), (F32, 1.5), (F64, -2.25)):
        for position in (0, 7, 8, 11):
            f = framed()
            source = Function("argument", type_)
            for k in range(12):
                source.param(type_, f"p{k}")
            asm = AArch64Assembler(f)
            if position >= 8:
                moves.emit_load(asm, type_, 0, SP, disp=8 * (position - 8))
            elif type_.is_float:
                asm.move_vector(0, position)
            else:
                asm.move(0, position)
            asm.emit(i.RET, LR)
            given = [value if k == position else type(value)(1 if k % 2 else 0) for k in range(12)]
            assert emulate.run(compiled(source, f, asm), *given) == value
