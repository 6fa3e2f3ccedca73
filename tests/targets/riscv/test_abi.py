"""Calls between functions by LP64D, frames of every size, and programs under register pressure."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.conftest import equal
from tests.ir.random_functions import random_arguments, random_function
from tests.targets.alive import Alive
from tests.targets.riscv import trampoline

import loopwright as lw
from loopwright.compiler import Compiled, compile
from loopwright.errors import AbiError
from loopwright.ir import ops
from loopwright.ir.function import SLOT, SPILL, Callee, Frame, Function, Instr, Slot
from loopwright.ir.interpret import Interpreter
from loopwright.ir.interpret import run as interpret
from loopwright.runtime import emulate
from loopwright.targets.riscv.abi import LP64D
from loopwright.targets.riscv.registers import REGISTERS, number
from loopwright.targets.riscv.target import RiscV, rv64gc
from loopwright.types import BOOL, F16, F32, F64, I16, I32, I64, U8, U32, VOID, Type

needs_qemu = pytest.mark.skipif(not emulate.available("rv64gc"), reason="qemu-riscv64 is not installed (Debian package qemu-user)")
TARGET = rv64gc()


def places(*types: Type) -> list[str]:
    return [REGISTERS[place].name if place >= 0 else f"stack+{~place}" for place in LP64D.assign(list(types))]


def test_arguments_go_where_the_psabi_says() -> None:
    assert places(I32, F32, I64, F64) == ["a0", "fa0", "a1", "fa1"]
    assert places(*[I64] * 10) == [f"a{k}" for k in range(8)] + ["stack+0", "stack+8"]
    # Floats beyond fa7 take integer registers, then the stack.
    assert places(*[F64] * 10, I32) == [f"fa{k}" for k in range(8)] + ["a0", "a1", "a2"]
    assert places(*[I64] * 7, *[F64] * 10, I64) == [f"a{k}" for k in range(7)] + [f"fa{k}" for k in range(8)] + ["a7", "stack+0", "stack+8"]


def test_no_register_of_the_order_is_missing_or_double() -> None:
    every = [r for order in TARGET.orders for r in order]
    assert sorted(every) == list(range(len(REGISTERS))) and len(REGISTERS) <= 62
    saved = [bool(LP64D.callee_saved >> r & 1) for r in TARGET.orders[0]]
    assert saved == sorted(saved), "caller-saved registers come first"


def weighted(types: list[Type], result: Type, name: str = "weighted") -> Function:
    """sum of (k + 1) * argument k, in the result's type."""
    f = Function(name, result)
    arguments = [f.param(t, f"a{k}") for k, t in enumerate(types)]
    total = f.const(result, 0)
    for k, (argument, type_) in enumerate(zip(arguments, types, strict=True)):
        value = argument
        if type_ is not result:
            value = f.register(result)
            f.code.append(Instr(ops.CONVERT, result, value, [argument], source=type_))
        product, sum_ = f.register(result), f.register(result)
        f.code.append(Instr(ops.MUL, result, product, [value, f.const(result, k + 1)]))
        f.code.append(Instr(ops.ADD, result, sum_, [total, product]))
        total = sum_
    f.code.append(Instr(ops.RET, result, -1, [total]))
    return f


def caller(callee: Function, types: list[Type], result: Type, constants: dict[int, Any]) -> Function:
    """Calls twice, with values live across the calls, and adds the results to the first argument."""
    f = Function("caller", result)
    f.callees.append(Callee(callee.name, types, result, function=callee))
    arguments = [f.const(t, constants[k]) if k in constants else f.param(t, f"p{k}") for k, t in enumerate(types)]
    r, s, t = f.register(result), f.register(result), f.register(result)
    f.code = [
        Instr(ops.CALL, result, r, list(arguments)),
        Instr(ops.CALL, result, s, list(arguments)),
        Instr(ops.ADD, result, t, [r, s]),
    ]
    for k, type_ in enumerate(types):
        if type_ is result and k not in constants:
            more = f.register(result)
            f.code.append(Instr(ops.ADD, result, more, [t, arguments[k]]))
            t = more
    f.code.append(Instr(ops.RET, result, -1, [t]))
    return f


SIGNATURES: list[tuple[list[Type], Type]] = [
    ([I64, I64], I64),
    ([I64] * 13, I64),
    ([F64] * 12, F64),
    ([F32] * 19, F32),
    ([I64] * 7 + [F64] * 11 + [I64, F32, I32], F64),
    ([I32, F32, U8, F64, BOOL, U32] * 5, I64),
    ([F64, I32] * 12, F32),
    # The last of these are beyond what a store to the stack reaches.
    ([I64] * 268, I64),
    ([F64] * 276, F64),
]


@needs_qemu
@pytest.mark.parametrize(("types", "result"), SIGNATURES, ids=[f"{len(t)} arguments to {r.name}" for t, r in SIGNATURES])
@pytest.mark.parametrize("constants", [False, True])
def test_calls_between_functions_pass_every_argument(types: list[Type], result: Type, constants: bool) -> None:
    values = [k % 2 == 0 if t is BOOL else np.dtype(t.dtype).type(3 * k + 1) for k, t in enumerate(types)]
    chosen = {k: values[k].item() if hasattr(values[k], "item") else values[k] for k in range(0, len(types), 3)} if constants else {}
    f = caller(weighted(types, result), types, result, chosen)
    passed = [v for k, v in enumerate(values) if k not in chosen]
    once = sum((k + 1) * float(v) for k, v in enumerate(values))
    want = 2 * once + sum(float(v) for k, (v, t) in enumerate(zip(values, types, strict=True)) if t is result and k not in chosen)
    assert emulate.run(compile(f, TARGET), *passed) == want


@needs_qemu
def test_a_function_calls_itself() -> None:
    f = Function("fibonacci", I64)
    n = f.param(I64, "n")
    f.callees.append(Callee("fibonacci", [I64], I64, function=f))
    small, a, b, x, y, sum_ = f.register(BOOL), *(f.register(I64) for _ in range(5))
    f.code = [
        Instr(ops.LT, I64, small, [n, f.const(I64, 2)]),
        Instr(ops.IF, BOOL, -1, [small]),
        Instr(ops.RET, I64, -1, [n]),
        Instr(ops.END, VOID, -1, []),
        Instr(ops.SUB, I64, a, [n, f.const(I64, 1)]),
        Instr(ops.SUB, I64, b, [n, f.const(I64, 2)]),
        Instr(ops.CALL, I64, x, [a]),
        Instr(ops.CALL, I64, y, [b]),
        Instr(ops.ADD, I64, sum_, [x, y]),
        Instr(ops.RET, I64, -1, [sum_]),
    ]
    assert emulate.run(compile(f, TARGET), 15) == 610


@needs_qemu
@pytest.mark.parametrize("type_", [I32, I64, F32, F64], ids=str)
@pytest.mark.parametrize("count", [10, 70, 700])
def test_more_values_than_registers_live_in_the_frame(type_: Type, count: int) -> None:
    """All are live at once; 700 of them put slots beyond a load's reach."""
    f = Function("pressure", type_)
    a = f.param(type_, "a")
    made = []
    for _ in range(count):
        r = f.register(type_)
        f.code.append(Instr(ops.ADD, type_, r, [made[-1] if made else a, a]))
        made.append(r)
    # Backwards, so that none dies early; the middle once more, across a call.
    f.callees.append(Callee("weighted", [type_], type_, function=weighted([type_], type_)))
    total = f.register(type_)
    f.code.append(Instr(ops.CALL, type_, total, [a]))
    for r in reversed(made):
        t = f.register(type_)
        f.code.append(Instr(ops.ADD, type_, t, [total, r]))
        total = t
    f.code.append(Instr(ops.RET, type_, -1, [total]))
    compiled = compile(f, TARGET)
    frame = compiled.function.frame
    assert frame is not None and (frame.size > 4096) == (count == 700) and (frame.size > 0 or count == 10)
    partial = [k + 2 for k in range(count)]
    assert emulate.run(compiled, 1) == 1 + sum(partial)


@needs_qemu
def test_a_leaf_function_without_spills_has_no_frame() -> None:
    texts = [text for _, _, text, _ in TARGET.listing(compile(weighted([I64] * 8, I64), TARGET).machine)]
    assert not any("sp" in text.replace("fsp", "") for text in texts), texts
    assert texts[-1] == "ret"


@needs_qemu
@pytest.mark.parametrize("size", [25, 80])
@pytest.mark.parametrize("target", [TARGET, RiscV(TARGET.features - {"c"})], ids=["compressed", "not compressed"])
def test_random_functions_agree_with_the_interpreter(size: int, target: RiscV) -> None:
    calls: list[tuple[Compiled, list[Any]]] = []
    wants: list[tuple[int, Any, list[Any]]] = []
    for seed in range(60):
        f = random_function(seed, vectors=False, size=size)
        arguments = random_arguments(f, seed)
        mine = copy.deepcopy(arguments)
        wants.append((seed, interpret(f, *arguments), arguments))
        calls.append((compile(f, target), mine))
    results = emulate.run_many(calls)
    for (seed, want, arrays), got, (_, mine) in zip(wants, results, calls, strict=True):
        if want is None:
            assert got is None
        else:
            assert np.array_equal(np.asarray(got, np.asarray(want).dtype), want, equal_nan=isinstance(want, np.floating)), seed
        for a, b in zip(arrays, mine, strict=True):
            if isinstance(a, np.ndarray):
                assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), seed


def framed(size: int, saved: list[str], calls: bool, outgoing: int) -> Function:
    """A function after allocation: stores its argument in the first and last slot, loads it back, adds."""
    f = Function("framed", I64)
    f.param(I64, "a")
    f.physical = True
    f.frame = Frame()
    f.frame.size, f.frame.saved, f.frame.calls, f.frame.outgoing = size, [number(name) for name in saved], calls, outgoing
    f.slots = [Slot(SPILL, 8, 0), Slot(SPILL, 8, size - 8)]
    a0, a1, s1, fs0 = number("a0"), number("a1"), number("s1"), number("fs0")
    body = [
        Instr(ops.PROLOGUE, VOID, -1, []),
        Instr(ops.COPY, I64, SLOT, [a0]),
        Instr(ops.COPY, I64, SLOT + 1, [a0]),
        Instr(ops.COPY, I64, a0, [f.const(I64, 1)]),
    ]
    if "s1" in saved:
        body.append(Instr(ops.COPY, I64, s1, [f.const(I64, 77)]))
    if "fs0" in saved:
        body.append(Instr(ops.COPY, F64, fs0, [SLOT + 1]))
        body.append(Instr(ops.COPY, F64, SLOT, [fs0]))
    body += [
        Instr(ops.COPY, I64, a0, [SLOT]),
        Instr(ops.COPY, I64, a1, [SLOT + 1]),
        Instr(ops.ADD, I64, a0, [a0, a1]),
        Instr(ops.EPILOGUE, VOID, -1, []),
        Instr(ops.RET, I64, -1, [a0]),
    ]
    f.code = body
    return f


@needs_qemu
@pytest.mark.parametrize("size", [16, 1992, 2000, 2016, 2032, 2048, 4096, 8192, 1 << 17])
@pytest.mark.parametrize(("saved", "calls", "outgoing"), [([], False, 0), (["s1", "fs0"], False, 0), (["s1", "fs0"], True, 24), (["fs0"], True, 0)])
def test_frames_of_every_size_preserve_registers_and_stack(size: int, saved: list[str], calls: bool, outgoing: int) -> None:
    """The entry code notices a register or stack pointer that comes back changed."""
    f = framed(size, saved, calls, outgoing)
    assembler = TARGET.assembler(f)
    for instr in f.code:
        instr.rule = TARGET.rule(f, instr)
        instr.rule.emit(assembler, f, instr)
    source = Function("framed", I64)
    source.param(I64, "a")
    f.machine = assembler.encode()
    assert emulate.run(Compiled(source, f, f.machine, TARGET, "", {}, {}), 21) == 42


@needs_qemu
def test_floats_exchanged_in_a_leaf_leave_the_return_address() -> None:
    """The exchange goes by way of ``ra``."""
    f = framed(16, [], False, 0)
    f.params, f.types, f.names, f.variable = [], [], [], []
    source = Function("exchanged", F64)
    for function in (f, source):
        function.result = F64
        function.param(F64, "a")
        function.param(F64, "b")
    fa0, fa1 = number("fa0"), number("fa1")
    f.code = [
        Instr(ops.PROLOGUE, VOID, -1, []),
        Instr(ops.SWAP, F64, -1, [fa0, fa1]),
        Instr(ops.EPILOGUE, VOID, -1, []),
        Instr(ops.RET, F64, -1, [fa0]),
    ]
    assembler = TARGET.assembler(f)
    for instr in f.code:
        instr.rule = TARGET.rule(f, instr)
        instr.rule.emit(assembler, f, instr)
    f.machine = assembler.encode()
    assert emulate.run(Compiled(source, f, f.machine, TARGET, "", {}, {}), 1.5, 2.5) == 2.5


@needs_qemu
@pytest.mark.parametrize("order", [("a0", "a1"), ("a1", "a0")])
def test_integers_are_exchanged_whichever_is_named_first(order: tuple[str, str]) -> None:
    f = framed(16, [], False, 0)
    f.params, f.types, f.names, f.variable = [], [], [], []
    source = Function("exchanged", I64)
    for function in (f, source):
        function.param(I64, "a")
        function.param(I64, "b")
    f.code = [
        Instr(ops.PROLOGUE, VOID, -1, []),
        Instr(ops.SWAP, I64, -1, [number(name) for name in order]),
        Instr(ops.EPILOGUE, VOID, -1, []),
        Instr(ops.RET, I64, -1, [number("a0")]),
    ]
    assembler = TARGET.assembler(f)
    for instr in f.code:
        instr.rule = TARGET.rule(f, instr)
        instr.rule.emit(assembler, f, instr)
    f.machine = assembler.encode()
    assert emulate.run(Compiled(source, f, f.machine, TARGET, "", {}, {}), 3, 5) == 5


@pytest.mark.parametrize("where", ["parameter", "result"])
def test_what_the_convention_cannot_pass_is_an_abi_error(where: str) -> None:
    f = Function("f", VOID)
    a = f.param(F16, "a")
    r = f.register(F16)
    f.callees.append(Callee("g", [F16] if where == "parameter" else [], F16 if where == "result" else VOID))
    call = Instr(ops.CALL, F16, r, []) if where == "result" else Instr(ops.CALL_VOID, VOID, -1, [a])
    with pytest.raises(AbiError, match="g: the lp64d convention"):
        TARGET.rule(f, call)


# --- the convention, by a tester of its own -------------------------------------------------------------------------

needs_tester = pytest.mark.skipif(not trampoline.available(), reason="needs qemu-riscv64 and llvm-mc (Debian packages qemu-user, llvm)")
UNCOMPRESSED = RiscV(TARGET.features - {"c"})


class Expected:
    """A call added to a program, and what the interpreter says about it."""

    def __init__(self, program: trampoline.Program, made: Alive, seed: int, target: RiscV) -> None:
        f = made.f
        self.name = f.name
        returns = made.returns(seed)
        self.destroyers = [trampoline.Destroyer(program, c.params, c.result, r) for c, r in zip(f.callees, returns, strict=True)]
        self.passed: list[list[tuple[Any, ...]]] = [[] for _ in self.destroyers]
        callees = {}
        for n, (callee, destroyer) in enumerate(zip(f.callees, self.destroyers, strict=True)):
            callee.address = destroyer.address

            def called(*args: Any, n: int = n) -> Any:
                self.passed[n].append(args)
                return returns[n][len(self.passed[n]) - 1]

            callees[callee.name] = called
        self.arguments = made.arguments(seed)
        self.mine = copy.deepcopy(self.arguments)
        with np.errstate(all="ignore"):
            self.want = Interpreter(f, callees=callees).call(*self.arguments)
        compiled = compile(f, target)
        assert compiled.function.frame is not None
        self.call = program.call(compiled, self.mine, stack=(1 << 14) + 2 * compiled.function.frame.size)

    def check(self) -> None:
        assert not self.call.wrong, f"{self.name}: " + "; ".join(self.call.wrong)
        for destroyer, passed in zip(self.destroyers, self.passed, strict=True):
            seen = destroyer.calls()
            assert len(seen) == len(passed), self.name
            for (got, wrong), expected in zip(seen, passed, strict=True):
                assert not wrong, f"{self.name}: " + "; ".join(wrong)
                assert all(equal(a, b) for a, b in zip(got, expected, strict=True)), f"{self.name}: {got} for {expected}"
        assert self.want is None or equal(self.call.result, self.want), f"{self.name}: {self.call.result!r} for {self.want!r}"
        for a, b in zip(self.mine, self.arguments, strict=True):
            assert not isinstance(a, np.ndarray) or equal(a, b), self.name


@needs_tester
@pytest.mark.parametrize("target", [TARGET, UNCOMPRESSED], ids=["compressed", "not compressed"])
@pytest.mark.parametrize("start", range(0, 60, 20))
def test_whatever_is_alive_the_convention_is_kept(target: RiscV, start: int) -> None:
    program = trampoline.Program(start)
    expected = [Expected(program, Alive(seed, 0, (6, 25, 80, 250)[seed % 4], (0, 1, 3)[seed % 3]), seed, target) for seed in range(start, start + 20)]
    program.run()
    for one in expected:
        one.check()


def test_nothing_is_kept_below_the_stack_pointer() -> None:
    """There is no red zone."""
    with_frame = 0
    for seed in range(40):
        texts = [text for _, _, text, _ in TARGET.listing(compile(Alive(seed, 0, 120, seed % 2).f, TARGET).machine)]
        with_frame += any("(sp)" in text for text in texts)
        assert not any("-" in text and "(sp)" in text for text in texts)
        # And it is a multiple of 16 throughout, in leaves too.
        assert all(int(text.split(",")[-1], 0) % 16 == 0 for text in texts if text.replace(",", "").split()[:3][1:] == ["sp", "sp"] and "addi" in text)
    assert with_frame > 20


#: What a function must not do, and what is said about it.
FAULTS = {
    "s0": ("addi s0, s0, 1", "s0 was"),
    "s11": ("li s11, 3", "s11 was"),
    "gp": ("mv gp, sp", "gp was"),
    "tp": ("mv tp, sp", "tp was"),
    "sp": ("addi sp, sp, -16", "sp was"),
    "fs0": ("fmv.d.x fs0, zero", "fs0 was"),
    "fs11": ("fmv.d fs11, fa0", "fs11 was"),
    "rounding mode": ("csrwi frm, 1", "rounding mode"),
    "a frame": ("sd zero, 8(sp)", "frame was written"),
    "a result not extended": ("lui a0, 0x80000; slli a0, a0, 32; srli a0, a0, 32", "returned as"),
    "a fault": ("ld a0, 0(zero)", "died"),
    "ra": ("li ra, 4", "died"),
}


@needs_tester
@pytest.mark.parametrize("fault", FAULTS)
def test_the_tester_notices(fault: str) -> None:
    source, said = FAULTS[fault]
    program = trampoline.Program()
    bad = program.call_code(trampoline.assembled(f"li a0, 1; {source}; ret"), [], [], I32)
    good = program.call_code(trampoline.assembled("li t0, 5; mv a0, t0; ret"), [], [], I32)
    program.run()
    assert len(bad.wrong) == 1 and said in bad.wrong[0], bad.wrong
    assert not good.wrong and good.result == 5


@needs_tester
def test_the_tester_notices_as_a_callee() -> None:
    program = trampoline.Program()
    called = trampoline.Destroyer(program, [U8, I32, U32, F32, *[I64] * 6, I16], VOID, [None])
    # Everything not extended or boxed as it should be, the stack pointer off and another rounding mode.
    source = f"""
        addi sp, sp, -40; sd ra, 32(sp); csrwi frm, 2
        li a0, 256; li a1, -1; srli a1, a1, 32; mv a2, a1; fmv.d.x fa0, zero; sd a1, 0(sp)
        li t0, {called.address}; jalr t0; csrwi frm, 0; ld ra, 32(sp); addi sp, sp, 40; ret"""
    call = program.call_code(trampoline.assembled(source), [], [], VOID)
    program.run()
    assert not call.wrong
    wrong = " ".join(called.calls()[0][1])
    for said in ("sp was", "rounding mode", "u8 in a0", "i32 in a1", "u32 in a2", "f32 in fa0", "i16 in stack1"):
        assert said in wrong, (said, wrong)


@needs_tester
def test_a_function_called_destroys_whatever_it_may() -> None:
    program = trampoline.Program()
    called = trampoline.Destroyer(program, [], I64, [1])
    call = program.call_code(
        trampoline.assembled(f"addi sp, sp, -16; sd ra, 0(sp); li t6, {called.address}; jalr t6; ld t0, 0(sp); addi sp, sp, 16; jr t0"), [], [], I64
    )
    program.run()
    assert not call.wrong and call.result == 1
    for name, changed in call.changed.items():
        assert changed == (name not in trampoline.PRESERVED and name not in trampoline.PRESERVED_FLOATS), name


ROOM = """
function one(%x: i64) -> i64
  callee one(i64) -> i64
  %c = eq.i64 %x, 0
  if %c
    ret.i64 0
  end
  %m = sub.i64 %x, 1
  %r = call.i64 one(%m)
  %s = add.i64 %r, 1
  ret.i64 %s
end

function filled(%p: ptr) -> i64
  callee one(i64) -> i64
  %x = call.i64 one(3)
  %y = call.i64 one(%x)
  %n = sub.i64 %x, %y
  %a = load_at.i64 [%p]
  %b = load_at.i64 [%p + 56]
  %d = mul.i64 %a, 1000
  %e = add.i64 %d, %b
  %f = sub.i64 %e, 1
  %g = add.i64 %f, %n
  ret.i64 %g
end

function jumps(%x: i64, %y: i64) -> i64
  callee filled(ptr) -> i64
  %p = incoming.ptr -64
  store_at.i64 %x, [%p]
  store_at.i64 %y, [%p + 56]
  %r = call.i64 filled(%p)
  ret.i64 %r
end

function keeps(%x: i64, %y: i64) -> i64
  callee jumps(i64, i64) -> i64
  %p = incoming.ptr -8
  store_at.i64 %y, [%p]
  %r = call.i64 jumps(%x, %y)
  %s = call.i64 jumps(%y, %x)
  %v = load_at.i64 [%p]
  %t = add.i64 %r, %s
  %u = add.i64 %t, %v
  %w = add.i64 %u, %x
  ret.i64 %w
end
"""


def test_room_in_front_of_the_arguments_on_the_stack() -> None:
    """It is above what the frame keeps, and is there until the function returns: a call behind which nothing is done is no jump then. Other machines have none."""
    module = lw.Module.parse(ROOM)
    with pytest.raises(lw.UnsupportedOperationError, match="memory in front of the arguments on the stack"):
        module.compile(target="x86-64-v3")
    with pytest.raises(lw.UnsupportedOperationError, match="memory in front of the arguments on the stack"):
        module.compile(target="aarch64-neon")
    program = module.compile(target="rv64gc", prove=True)
    if emulate.available("rv64gc"):
        assert program.jumps.emulate(5, 7) == 5006
        assert program.keeps.emulate(5, 7) == 5006 + 7004 + 7 + 5
    with pytest.raises(lw.VerifyError, match="the operand of `incoming` is -72, no number of bytes from -64"):
        lw.Module.parse("function f() -> ptr\n  %p = incoming.ptr -72\n  ret.ptr %p\nend\n")
