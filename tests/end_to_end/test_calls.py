"""Generated code calling C functions and ctypes callbacks, where it runs in this process, and itself: every argument arrives, nothing that is live is lost."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright import compiler
from loopwright.ir import ops
from loopwright.ir.function import NONE, Callee, Function, Instr
from loopwright.runtime import memory
from loopwright.runtime.code import Code
from loopwright.runtime.native import NativeFunction
from loopwright.targets import registry
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, VOID, Type, vector_of

C = {F32: ctypes.c_float, F64: ctypes.c_double, I32: ctypes.c_int32, I64: ctypes.c_int64, PTR: ctypes.c_void_p, VOID: None}
C |= {BOOL: ctypes.c_bool, U8: ctypes.c_uint8, I8: ctypes.c_int8, I16: ctypes.c_int16, U16: ctypes.c_uint16}

LIBC = ctypes.CDLL(None)
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))


def c_function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    function = library[name]
    function.argtypes = arguments
    function.restype = result
    return function


C_ABS = c_function(LIBC, "abs", ctypes.c_int, ctypes.c_int)
C_LABS = c_function(LIBC, "labs", ctypes.c_long, ctypes.c_long)
C_POW = c_function(LIBM, "pow", ctypes.c_double, ctypes.c_double, ctypes.c_double)
C_HYPOTF = c_function(LIBM, "hypotf", ctypes.c_float, ctypes.c_float, ctypes.c_float)
C_FMA = c_function(LIBM, "fma", ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_double)
C_LDEXP = c_function(LIBM, "ldexp", ctypes.c_double, ctypes.c_double, ctypes.c_int)
C_MEMCMP = c_function(LIBC, "memcmp", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
C_SNPRINTF = c_function(LIBC, "snprintf", ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_double, ctypes.c_int, ctypes.c_double)


@lw.kernel
def powers(x: lw.Array[lw.f64], y: lw.Array[lw.f64], out: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        out[i] = lw.call(C_POW, x[i], y[i]) + lw.call(C_LDEXP, x[i], 3) - x[i]


@lw.kernel
def lengths(x: lw.Array[lw.f32], y: lw.Array[lw.f32]) -> lw.f32:
    s = lw.f32(0)
    for i in lw.range(len(x)):
        s = s + lw.call(C_HYPOTF, x[i], y[i])
    return s


@lw.kernel
def absolute(x: lw.Array[lw.i32], y: lw.Array[lw.i64]) -> lw.i64:
    s = lw.i64(0)
    for i in lw.range(len(x)):
        s = s + lw.i64(lw.call(C_ABS, x[i])) * lw.call(C_LABS, y[i])
    return s


def test_functions_of_the_c_library(levels: list[tuple[str, int]]) -> None:
    x, y = np.random.default_rng(1).random((2, 50)) * 4
    for name, bits in levels:
        out = np.zeros(50)
        powers.compile(target=name, vector_bits=bits)(x, y, out)
        assert out.tolist() == [math.pow(a, b) + a * 8 - a for a, b in zip(x, y, strict=True)]
        a, b = x.astype(np.float32), y.astype(np.float32)
        total = np.float32(0)
        for p, q in zip(a, b, strict=True):
            total += np.float32(C_HYPOTF(p, q))
        assert lengths.compile(target=name, vector_bits=bits)(a, b) == total
        i, k = np.random.default_rng(2).integers(-1000, 1000, (2, 50))
        assert absolute.compile(target=name, vector_bits=bits)(i.astype(np.int32), k) == (abs(i) * abs(k)).sum()


def test_a_function_with_a_variable_number_of_arguments_learns_how_many_are_floats(levels: list[tuple[str, int]]) -> None:
    text = np.frombuffer(b"%.3f %d %.1f\0", np.uint8)
    for name, bits in levels:
        f = lw.Function("text", out=lw.ptr, form=lw.ptr, a=lw.f64, n=lw.i32, returns=lw.i32)
        with f:
            f.ret(f.call(C_SNPRINTF, f.out, 64, f.form, f.a, f.n, 2.25))
        out = np.zeros(64, np.uint8)
        code = f.compile(target=name, vector_bits=bits)
        assert code(out.ctypes.data, text.ctypes.data, 1.5, -7) == 12
        assert out.tobytes().split(b"\0")[0] == b"1.500 -7 2.2"


def test_pointers_are_passed(levels: list[tuple[str, int]]) -> None:
    a, b = np.arange(20, dtype=np.uint8), np.arange(20, dtype=np.uint8)
    b[10] = 99
    for name, bits in levels:
        f = lw.Function("same", a=lw.ptr, b=lw.ptr, n=lw.i64, returns=lw.i32)
        with f:
            f.ret(f.call(C_MEMCMP, f.a, f.b, f.n))
        code = f.compile(target=name, vector_bits=bits)
        assert code(a.ctypes.data, b.ctypes.data, 10) == 0
        assert code(a.ctypes.data, b.ctypes.data, 20) < 0


# --- any signature -------------------------------------------------------------------------------------------------


def samples(t: Type, n: int) -> list[Any]:
    """Values of a type, different ones for different n."""
    if t.is_float:
        return [0.5 + n, -1e6 - n, float("inf")]
    if t is BOOL:
        return [n % 2 == 0]
    low = 0 if not t.signed else -(1 << (t.bits - 1))
    return [n + 3, low + n, (1 << (t.bits - t.signed)) - 1 - n] if t.bits < 64 or t.signed else [n + 3, 1 << 47]


SIGNATURES = [
    [I64] * 6,
    [I64] * 7,
    [I32] * 12,
    [F64] * 8,
    [F64] * 13,
    [F32] * 11,
    [I32, F64] * 9,
    [PTR, F32, I64, F64] * 5,
    [F32, I32, PTR, I64, F64, F64] * 4,
    [U8, I8, BOOL, I16, U16] * 3,
    [],
]


@pytest.mark.parametrize("types", SIGNATURES, ids=lambda t: " ".join(map(str, t)) or "none")
@pytest.mark.parametrize("result", [VOID, I64, F32, F64, BOOL, U8, I8, I16], ids=str)
def test_every_argument_arrives(levels: list[tuple[str, int]], types: list[Type], result: Type) -> None:
    seen: list[tuple[Any, ...]] = []
    returned = {VOID: None, I64: -(1 << 60), F32: 1.5, F64: -2.25, BOOL: True, U8: 200, I8: -100, I16: -30000}[result]

    @ctypes.CFUNCTYPE(C[result], *(C[t] for t in types))
    def callback(*args: Any) -> Any:
        seen.append(args)
        return returned

    callee = Callee("callback", types, result, ctypes.cast(callback, ctypes.c_void_p).value or 0, keep=callback)
    values = [samples(t, n)[n % len(samples(t, n))] for n, t in enumerate(types)]
    for name, bits in levels:
        # All arguments from registers, all of them constants, every second one a constant.
        for constant in (lambda n: False, lambda n: True, lambda n: n % 2 == 0):
            f = Function("calls", result)
            f.callees.append(callee)
            params = [f.param(t, f"p{n}") for n, t in enumerate(types)]
            args = [f.const(t, values[n]) if constant(n) and t is not PTR else params[n] for n, t in enumerate(types)]
            if result is VOID:
                f.code.append(Instr(ops.CALL_VOID, VOID, NONE, args, 0))
            else:
                r = f.register(result)
                f.code.append(Instr(ops.CALL, result, r, args, 0))
                f.code.append(Instr(ops.RET, result, NONE, [r]))
            compiled = compiler.compile(f, registry.get(name, bits))
            block = memory.allocate(compiled.machine.data, compiled.machine.align)
            got = NativeFunction(block, types, result)(*values)
            assert got == returned
            assert list(seen.pop()) == values


@pytest.mark.parametrize(("result", "value"), [(BOOL, True), (U8, 0x81), (I8, 0x81 - 0x100), (U16, 0x8281), (I16, 0x8281 - 0x10000)], ids=str)
def test_what_lies_above_a_narrow_result_is_ignored(levels: list[tuple[str, int]], result: Type, value: int) -> None:
    # The convention leaves those bits open: mov rax, imm64; ret.
    raw = 0x8483828584838281 if result is not BOOL else 0x8483828584838201
    callee = memory.allocate(b"\x48\xb8" + raw.to_bytes(8, "little") + b"\xc3")
    for name, bits in levels:
        f = Function("wide", I64)
        f.callees.append(Callee("narrow", [], result, callee.address, keep=callee))
        r, wide = f.register(result), f.register(I64)
        f.code = [Instr(ops.CALL, result, r, [], 0), Instr(ops.CONVERT, I64, wide, [r], source=result), Instr(ops.RET, I64, NONE, [wide])]
        compiled = compiler.compile(f, registry.get(name, bits))
        block = memory.allocate(compiled.machine.data, compiled.machine.align)
        assert NativeFunction(block, [], I64)() == value


# --- what is live around a call -----------------------------------------------------------------------------------


def around(seed: int, bits: int) -> tuple[Function, Any, list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]]:
    """A loop that loads vectors and scalars of several types, calls a function with some, and stores all of them afterwards."""
    pick = random.Random(seed)
    f = Function("around")
    calls: list[int] = []
    types = [pick.choice([I64, F64, I32, F32]) for _ in range(pick.randint(0, 14))]
    result = pick.choice([VOID, I64, F64])

    @ctypes.CFUNCTYPE(C[result], *(C[t] for t in types))
    def callback(*args: Any) -> Any:
        calls.append(len(args))
        return None if result is VOID else len(calls)

    f.callees.append(Callee("callback", types, result, ctypes.cast(callback, ctypes.c_void_p).value or 0, keep=callback))
    vectors = [vector_of(e, bits // e.bits) for e in (F32, F64, I32, I64, U8)]
    live = [pick.choice([*vectors, F32, F64, I32, I64]) for _ in range(pick.randint(1, 40))]
    steps = 3
    inputs, outputs = [], []
    chooser = np.random.default_rng(seed)
    loop: list[Instr] = []
    after: list[Instr] = []
    i = f.register(I64, "i")
    loaded: dict[Type, list[int]] = {}
    n = 0
    for t in live:
        lanes = max(t.lanes, 1)
        f.array_param(f"s{n}", t.element, 2)
        f.array_param(f"t{n}", t.element, 2).written = True
        inputs.append(chooser.integers(0, 100, (steps, lanes)).astype(t.element.dtype))
        outputs.append(np.zeros((steps, lanes), t.element.dtype))
        r = f.register(t)
        loop.append(Instr(ops.LOAD, t, r, [i, f.const(I64, 0)], 2 * n))
        after.append(Instr(ops.STORE, t, NONE, [r, i, f.const(I64, 0)], 2 * n + 1))
        loaded.setdefault(t, []).append(r)
        n += 1
        if n == 12:
            break
    args = [pick.choice(loaded[t]) if t in loaded else f.const(t, 7) for t in types]
    r = NONE if result is VOID else f.register(result)
    loop.append(Instr(ops.CALL_VOID if result is VOID else ops.CALL, result, r, args, 0))
    if result is not VOID:
        target = f.array_param("results", result, 1)
        target.written = True
        after.append(Instr(ops.STORE, result, NONE, [r, i], 2 * n))
        outputs.append(np.zeros(steps, result.dtype))
    f.code = [Instr(ops.FOR, VOID, i, [f.const(I64, 0), f.const(I64, steps), f.const(I64, 1)]), *loop, *after, Instr(ops.END, VOID, NONE, [])]
    return f, calls, inputs, outputs


@pytest.mark.parametrize("seed", range(30))
def test_live_values_survive_calls(levels: list[tuple[str, int]], seed: int) -> None:
    for name, bits in levels:
        f, calls, inputs, outputs = around(seed, bits)
        arguments = [a for pair in itertools.zip_longest(inputs, outputs) for a in pair if a is not None]
        Code(compiler.compile(f, registry.get(name, bits)))(*arguments)
        assert len(calls) == 3
        for before, after in zip(inputs, outputs, strict=False):
            assert (before == after).all()
        if len(outputs) > len(inputs):
            assert outputs[-1].tolist() == [1, 2, 3]


def nested(kernel_of: Callable[[Any], Any], depth: int, levels: list[tuple[str, int]]) -> None:
    """A callback that calls generated code that calls a callback …"""
    for name, bits in levels:
        function: Any = None
        keep = []
        for level in range(depth):

            @ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
            def callback(v: float, inner: Any = function, level: int = level) -> float:
                return float(inner(v)) + level if inner is not None else v * 2

            keep.append(callback)
            function = kernel_of(callback).compile(target=name, vector_bits=bits)
        want = 1.0
        want = want * 2
        for level in range(1, depth):
            want = (want + 100) + level
        assert function(1.0) == want + 100


def test_calls_nest(levels: list[tuple[str, int]]) -> None:
    def kernel_of(callback: Any) -> Any:
        @lw.kernel
        def outer(v: lw.f64) -> lw.f64:
            return lw.call(callback, v) + 100

        return outer

    nested(kernel_of, 5, levels)


@pytest.mark.parametrize("runner", runners())
def test_generated_functions_call_each_other(runner: Runner) -> None:
    inner = lw.Function("inner", a=lw.i64, b=lw.f64, returns=lw.f64)
    with inner:
        inner.ret(lw.f64(inner.a) * inner.b)
    middle = lw.Function("middle", n=lw.i64, returns=lw.f64)
    with middle:
        s = middle.var(lw.f64, 0)
        with middle.for_(0, middle.n) as i:
            more = middle.call(C_FMA, 2.0, 3.0, 1.0) if runner.calls_back else 7
            s.set(s + middle.call(inner, i, 0.5) + more)
        middle.ret(s)
    outer = lw.Function("outer", n=lw.i64, returns=lw.f64)
    with outer:
        outer.ret(outer.call(middle, outer.n) - outer.call(middle, outer.n - 1))
    assert runner.call(runner.compiled(outer), 10) == 9 * 0.5 + 7


# --- Windows's convention -----------------------------------------------------------------------------------------

WIN64 = [[I64] * 3, [F64] * 6, [I64, F64] * 5, [F64, F64, I64, I64, F64, I64, F64]]


@pytest.mark.parametrize("types", WIN64, ids=lambda t: " ".join(map(str, t)))
@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_calls_between_functions_of_windows(levels: list[tuple[str, int]], win64_bridge: Callable[..., Any], types: list[Type], level: str) -> None:
    """A function of that convention calls another with the arguments it got, twice, with vectors and scalars live in between."""
    if level not in [name for name, _ in levels]:
        pytest.skip(f"needs {level}")
    target = registry.get(level, convention="win64")
    lanes = vector_of(F64, target.vector_bits // 64)

    called = Function("called", F64)
    parts = [called.param(t, f"p{n}") for n, t in enumerate(types)]
    total = called.const(F64, 0.0)
    for n, (part, t) in enumerate(zip(parts, types, strict=True)):
        number = part
        if t is I64:
            number = called.register(F64)
            called.code.append(Instr(ops.CONVERT, F64, number, [part], source=I64))
        scaled, more = called.register(F64), called.register(F64)
        called.code.append(Instr(ops.MUL, F64, scaled, [number, called.const(F64, float(n + 1))]))
        called.code.append(Instr(ops.ADD, F64, more, [total, scaled]))
        total = more
    called.code.append(Instr(ops.RET, F64, NONE, [total]))
    compiled = compiler.compile(called, target)
    block = memory.allocate(compiled.machine.data, compiled.machine.align)

    f = Function("caller", F64)
    params = [f.param(t, f"p{n}") for n, t in enumerate(types)]
    f.callees.append(Callee("called", types, F64, block.address, keep=block))
    first, second, wide, sum_ = f.register(F64), f.register(F64), f.register(lanes), f.register(F64)
    start = next(n for n, t in enumerate(types) if t is F64) if F64 in types else -1
    seed = params[start] if start >= 0 else f.const(F64, 3.0)
    f.code.append(Instr(ops.SPLAT, lanes, wide, [seed]))
    f.code.append(Instr(ops.CALL, F64, first, list(params), 0))
    f.code.append(Instr(ops.CALL, F64, second, list(params), 0))
    f.code.append(Instr(ops.REDUCE_ADD, lanes, sum_, [wide]))
    last = f.register(F64)
    f.code.append(Instr(ops.ADD, F64, last, [first, second]))
    out = f.register(F64)
    f.code.append(Instr(ops.ADD, F64, out, [last, sum_]))
    f.code.append(Instr(ops.RET, F64, NONE, [out]))
    compiled = compiler.compile(f, target)
    code = memory.allocate(compiled.machine.data, compiled.machine.align)
    bridge = win64_bridge(types, code.address)
    passed = [1.5 * (n + 1) if t is F64 else n - 3 for n, t in enumerate(types)]
    weighted = sum((n + 1) * float(v) for n, v in enumerate(passed))
    got = NativeFunction(bridge.block, types, F64)(*passed)
    assert got == 2 * weighted + lanes.lanes * (passed[start] if start >= 0 else 3.0)
    assert bridge.changed == 0
