"""Calls between functions by AAPCS64, programs under register pressure, and the convention by a tester of its own."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.conftest import equal
from tests.ir.random_functions import random_arguments, random_function
from tests.targets.aarch64 import trampoline
from tests.targets.alive import Alive

from loopwright.compiler import Compiled, compile
from loopwright.errors import AbiError
from loopwright.ir import ops
from loopwright.ir.function import Callee, Function, Instr
from loopwright.ir.interpret import Interpreter
from loopwright.ir.interpret import run as interpret
from loopwright.runtime import emulate
from loopwright.targets.aarch64.abi import AAPCS64
from loopwright.targets.aarch64.registers import REGISTERS, VECTORS, number
from loopwright.targets.aarch64.target import AArch64
from loopwright.types import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, VOID, Type, vector_of

needs_qemu = pytest.mark.skipif(not emulate.available("aarch64-neon"), reason="qemu-aarch64 is not installed (Debian package qemu-user)")
TARGET = AArch64()


def texts(compiled: Compiled) -> list[str]:
    return [text for _, _, text, _ in compiled.listing()]


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
    ([I32, F32, U8, F64, BOOL, U32, I8, U16] * 4, I64),
    ([F64, I32] * 12, F32),
    ([U8] * 12, U8),
    ([I16] * 12, I16),
    ([I64] * 150, I64),
]


@needs_qemu
@pytest.mark.parametrize(("types", "result"), SIGNATURES, ids=[f"{len(t)} arguments to {r.name}" for t, r in SIGNATURES])
@pytest.mark.parametrize("constants", [False, True])
def test_calls_between_functions_pass_every_argument(types: list[Type], result: Type, constants: bool) -> None:
    values = [k % 2 == 0 if t is BOOL else np.dtype(t.dtype).type((3 * k + 1) % 100) for k, t in enumerate(types)]
    chosen = {k: values[k].item() if hasattr(values[k], "item") else values[k] for k in range(0, len(types), 3)} if constants else {}
    f = caller(weighted(types, result), types, result, chosen)
    passed = [v for k, v in enumerate(values) if k not in chosen]
    once = sum((k + 1) * float(v) for k, v in enumerate(values))
    want = 2 * once + sum(float(v) for k, (v, t) in enumerate(zip(values, types, strict=True)) if t is result and k not in chosen)
    if result.bits < 32:
        want = np.array([int(want)]).astype(result.dtype)[0]
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
@pytest.mark.parametrize(("type_", "count"), [*[(t, n) for t in (I32, I64, F32, F64) for n in (10, 70)], (F32, 2300)])
def test_more_values_than_registers_live_in_the_frame(type_: Type, count: int) -> None:
    """All are live at once; 2300 of them put slots beyond a load's reach."""
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
    assert frame is not None and (frame.size > 16384) == (count == 2300) and (frame.size > 0 or count == 10)
    partial = [k + 2 for k in range(count)]
    assert emulate.run(compiled, 1) == 1 + sum(partial)


@needs_qemu
@pytest.mark.parametrize("count", [20, 50, 2300])
@pytest.mark.parametrize("calls", [False, True])
def test_more_vectors_than_registers_live_in_the_frame(count: int, calls: bool) -> None:
    """With scalars between them, and across a call that preserves half of some registers at most."""
    wide, narrow = vector_of(I32, 4), vector_of(I16, 4)
    f = Function("vectors", VOID)
    x, y = f.array_param("x", I32, 1), f.array_param("y", I16, 1)
    y.written = x.written = True
    zero = f.const(I64, 0)
    a, b, n = f.register(wide), f.register(narrow), f.register(I64)
    f.code = [Instr(ops.LOAD, wide, a, [zero], 0), Instr(ops.LOAD, narrow, b, [zero], 1), Instr(ops.ADD, I64, n, [x.extents[0], f.const(I64, 1)])]
    kept: list[tuple[Type, int]] = []
    for k in range(count):
        type_, last = ((wide, a), (narrow, b), (I64, n))[k % 3]
        for r in [r for t, r in kept if t is type_][-1:]:
            last = r
        r = f.register(type_)
        f.code.append(Instr(ops.ADD, type_, r, [last, f.const(type_, k % 7)]))
        kept.append((type_, r))
    if calls:
        f.callees.append(Callee("weighted", [I64], I64, function=weighted([I64], I64)))
        f.code.append(Instr(ops.CALL, I64, f.register(I64), [n]))
    totals = {wide: a, narrow: b, I64: n}
    for type_, r in reversed(kept):
        t = f.register(type_)
        f.code.append(Instr(ops.ADD, type_, t, [totals[type_], r]))
        totals[type_] = t
    splat = f.register(I32)
    f.code.append(Instr(ops.CONVERT, I32, splat, [totals[I64]], source=I64))
    f.code.append(Instr(ops.STORE, wide, -1, [totals[wide], zero], 0))
    f.code.append(Instr(ops.STORE, narrow, -1, [totals[narrow], zero], 1))
    f.code.append(Instr(ops.STORE, I32, -1, [splat, f.const(I64, 4)], 0))
    compiled = compile(f, TARGET)
    frame = compiled.function.frame
    assert frame is not None and frame.calls == calls and (count < 2300 or frame.align == 16)
    given = [np.array([1, -2, 3, 1 << 20, 0], np.int32), np.array([5, 6, -7, 300], np.int16)]
    want = copy.deepcopy(given)
    interpret(f, *want)
    emulate.run(compiled, *given)
    assert np.array_equal(given[0], want[0]) and np.array_equal(given[1], want[1])


@needs_qemu
def test_a_leaf_function_without_spills_has_no_frame() -> None:
    lines = texts(compile(weighted([I64] * 8, I64), TARGET))
    assert not any("sp" in text for text in lines), lines
    assert lines[-1] == "ret"


@needs_qemu
def test_floats_stay_in_registers_across_calls() -> None:
    """The low half of v8 is preserved, and that is all of an f64."""
    f = Function("floats", F64)
    a = f.param(F64, "a")
    f.callees.append(Callee("weighted", [F64], F64, function=weighted([F64], F64)))
    b, c = f.register(F64), f.register(F64)
    f.code = [Instr(ops.CALL, F64, b, [a]), Instr(ops.ADD, F64, c, [a, b]), Instr(ops.RET, F64, -1, [c])]
    compiled = compile(f, TARGET)
    frame = compiled.function.frame
    assert frame is not None and frame.size == 0 and frame.saved == [number("v8")]
    assert emulate.run(compiled, 2.5) == 5.0


@needs_qemu
@pytest.mark.parametrize("size", [25, 80])
@pytest.mark.parametrize("vectors", [False, True])
def test_random_functions_agree_with_the_interpreter(size: int, vectors: bool) -> None:
    calls: list[tuple[Compiled, list[Any]]] = []
    wants: list[tuple[int, Any, list[Any]]] = []
    for seed in range(60):
        f = random_function(seed, vectors=vectors, size=size, scalars=[I32, F32] if vectors else None)
        arguments = random_arguments(f, seed)
        mine = copy.deepcopy(arguments)
        wants.append((seed, interpret(f, *arguments), arguments))
        calls.append((compile(f, TARGET), mine))
    results = emulate.run_many(calls)
    for (seed, want, arrays), got, (_, mine) in zip(wants, results, calls, strict=True):
        if want is None:
            assert got is None
        else:
            assert np.array_equal(np.asarray(got, np.asarray(want).dtype), want, equal_nan=isinstance(want, np.floating)), seed
        for a, b in zip(arrays, mine, strict=True):
            if isinstance(a, np.ndarray):
                assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), seed


@pytest.mark.parametrize("where", ["parameter", "result"])
def test_what_the_convention_cannot_pass_is_an_abi_error(where: str) -> None:
    f = Function("f", VOID)
    a = f.param(F16, "a")
    r = f.register(F16)
    f.callees.append(Callee("g", [F16] if where == "parameter" else [], F16 if where == "result" else VOID))
    call = Instr(ops.CALL, F16, r, []) if where == "result" else Instr(ops.CALL_VOID, VOID, -1, [a])
    with pytest.raises(AbiError, match="g: the aapcs64 convention"):
        TARGET.rule(f, call)


# --- the convention, by a tester of its own -------------------------------------------------------------------------

needs_tester = pytest.mark.skipif(not trampoline.available(), reason="needs qemu-aarch64 and llvm-mc (Debian packages qemu-user, llvm)")


class Expected:
    """A call added to a program, and what the interpreter says about it."""

    def __init__(self, program: trampoline.Program, made: Alive, seed: int) -> None:
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
        compiled = compile(f, TARGET)
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
@pytest.mark.parametrize("bits", [0, 128])
@pytest.mark.parametrize("start", range(0, 60, 20))
def test_whatever_is_alive_the_convention_is_kept(bits: int, start: int) -> None:
    program = trampoline.Program(start)
    expected = [Expected(program, Alive(seed, bits, (6, 25, 80, 250)[seed % 4], (0, 1, 3)[seed % 3]), seed) for seed in range(start, start + 20)]
    program.run()
    for one in expected:
        one.check()


def test_nothing_is_kept_below_the_stack_pointer() -> None:
    """There is no red zone."""
    with_frame = 0
    for seed in range(40):
        lines = texts(compile(Alive(seed, 128 * (seed & 1), 120, seed % 2).f, TARGET))
        with_frame += any("[sp" in text for text in lines)
        assert not any("[sp, #-" in text and not text.endswith("!") for text in lines)
        # And it is a multiple of 16 throughout.
        moved = [text for text in lines if "[sp], #" in text or "]!" in text or text.startswith(("sub sp, sp", "add sp, sp"))]
        assert all(int(text.rstrip("!]").rsplit("#", 1)[1], 0) % 16 == 0 or "lsl" in text for text in moved), moved
    assert with_frame > 20


def test_of_vectors_alive_across_calls_none_is_left_where_half_is_preserved() -> None:
    """The tester sees it by values; this sees that scalar floats do live there, so that there is something to see."""
    seen = 0
    for seed in range(30):
        frame = compile(Alive(seed, 0, 80, 3).f, TARGET).function.frame
        assert frame is not None
        seen += any(REGISTERS[r].cls == VECTORS and AAPCS64.partly_saved >> r & 1 for r in frame.saved)
    assert seen > 5


#: What a function must not do, and what is said about it.
FAULTS = {
    "x19": ("add x19, x19, #1", "x19 was"),
    "x29": ("mov x29, sp", "x29 was"),
    "x18": ("mov x18, sp", "x18 was"),
    "sp": ("sub sp, sp, #16", "sp was"),
    "v8": ("movi v8.2d, #0", "v8 was"),
    "v15": ("mov v15.b[7], w0; mvn v15.16b, v15.16b", "v15 was"),
    "rounding mode": ("mov x1, #0x400000; msr fpcr, x1", "rounding mode"),
    "a frame": ("str xzr, [sp, #8]", "frame was written"),
    "a bool that is none": ("mov x0, #2", "returned as"),
    "a fault": ("mov x1, #0; ldr x0, [x1]", "died"),
    "x30": ("mov x30, #4", "died"),
}


@needs_tester
@pytest.mark.parametrize("fault", FAULTS)
def test_the_tester_notices(fault: str) -> None:
    source, said = FAULTS[fault]
    program = trampoline.Program()
    bad = program.call_code(trampoline.assembled(f"mov x0, #1; {source}; ret"), [], [], BOOL)
    good = program.call_code(trampoline.assembled("mov x9, #5; mov x0, x9; mov v8.d[1], x9; ret"), [], [], I32)
    program.run()
    assert len(bad.wrong) == 1 and said in bad.wrong[0], bad.wrong
    assert not good.wrong and good.result == 5


@needs_tester
def test_the_tester_notices_as_a_callee() -> None:
    program = trampoline.Program()
    called = trampoline.Destroyer(program, [BOOL, I32, F32, *[I64] * 7, BOOL], VOID, [None])
    # Bools that are none, the stack pointer off and another rounding mode. (The hardware checks the stack pointer, QEMU does not.)
    source = f"""
        sub sp, sp, #48; mov x9, #3; str x30, [sp, #32]; str x9, [sp, #8]; str x9, [sp, #16]
        mov x10, #0x800000; msr fpcr, x10; mov x0, #255; mov x1, #-1; add sp, sp, #8
        ldr x9, 1f; blr x9; sub sp, sp, #8; msr fpcr, xzr; ldr x30, [sp, #32]; add sp, sp, #48; ret
        .balign 8
        1: .quad {called.address}"""
    call = program.call_code(trampoline.assembled(source), [], [], VOID)
    program.run()
    assert not call.wrong, call.wrong
    wrong = " ".join(called.calls()[0][1])
    for said in ("sp was", "rounding mode", "bool in x0", "bool in stack1"):
        assert said in wrong, (said, wrong)


@needs_tester
def test_a_function_called_destroys_whatever_it_may() -> None:
    program = trampoline.Program()
    called = trampoline.Destroyer(program, [], I64, [1])
    source = f"str x30, [sp, #-16]!; ldr x16, 1f; blr x16; ldr x17, [sp], #16; br x17; .balign 8; 1: .quad {called.address}"
    call = program.call_code(trampoline.assembled(source), [], [], I64)
    program.run()
    assert not call.wrong and call.result == 1
    for name, changed in call.changed.items():
        kept = name == "sp" or (int(name[1:]) in trampoline.PRESERVED if name[0] == "x" else name in [f"v{n}" for n in trampoline.PRESERVED_VECTORS])
        assert changed != kept, name
