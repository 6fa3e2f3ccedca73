"""What is exported to LLVM computes what the interpreter computes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.ir.random_functions import random_arguments, random_function
from tests.passes.lanes import lanes_arguments, random_lanes

import loopwright as lw
from loopwright import compiler
from loopwright.errors import UnsupportedOperationError
from loopwright.ir.function import Function
from loopwright.ir.interpret import InterpreterError, run
from loopwright.ir.text import parse
from loopwright.runtime import cpu
from loopwright.targets import registry
from loopwright.types import BOOL, PTR, VOID, Type

pytest.importorskip("llvmlite")

from benchmarks.peers import llvm_export

TARGETS = [name for name in ("x86-64-v3", "x86-64-v4") if registry.get(name).features <= cpu.host_features()]

_C = {"i8": ctypes.c_int8, "u8": ctypes.c_uint8, "i16": ctypes.c_int16, "u16": ctypes.c_uint16, "i32": ctypes.c_int32, "u32": ctypes.c_uint32}
_C |= {"i64": ctypes.c_int64, "u64": ctypes.c_uint64, "ptr": ctypes.c_uint64, "f32": ctypes.c_float, "f64": ctypes.c_double, "bool": ctypes.c_bool}


_NAMES = {f"{'i' if kind == 'int' else 'u'}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}


def _c_type(type_: Type) -> Any:
    return None if type_ is VOID else _C[type_.name]


def native(f: Function, target: str) -> Callable[..., Any]:
    """The function through LLVM, called like the interpreter: arrays as arrays."""
    code = llvm_export.Compiled(llvm_export.module_text(f, indefinite=True), target)
    call = ctypes.CFUNCTYPE(_c_type(f.result), *(_c_type(f.types[p]) for p in f.params))(code.address(f.name))

    def function(*arguments: Any) -> Any:
        given: dict[int, Any] = {}
        bases = {array.base: array for array in f.arrays}
        inner = {r for array in f.arrays for r in (*array.extents, *array.strides)}
        rest = list(arguments)
        for p in f.params:
            if p in inner:
                continue
            value = rest.pop(0)
            array = bases.get(p)
            if array is None:
                given[p] = value.item() if isinstance(value, np.generic) else value
                continue
            given[p] = value.ctypes.data
            given |= dict(zip(array.extents, value.shape, strict=True)) | dict(zip(array.strides, value.strides, strict=False))
        result = call(*(given[p] for p in f.params))
        return None if f.result is VOID else (np.bool_ if f.result is BOOL else np.dtype(f.result.dtype).type)(result)

    function.code = code  # type: ignore[attr-defined]
    return function


def outcome(function: Callable[..., Any], arguments: list[Any]) -> list[Any]:
    """The result and the arrays afterwards; NaNs all alike."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        result = function(*copies)
    out = []
    for value in [result, *(a for a in copies if isinstance(a, np.ndarray))]:
        made = np.asarray(0 if value is None else value)
        out.append(np.where(np.isnan(made), 123456.0, made).tolist() if made.dtype.kind == "f" else made.tolist())
    return out


def judged(source: Function, target: str, arguments: list[Any]) -> bool:
    """Whether LLVM and the interpreter were compared (and agree): some functions divide by zero, or use ``//`` on floats."""
    f = compiler.run_passes(source, registry.get(target), after="elif")
    try:
        expected = outcome(lambda *a: run(f, *a), arguments)
        function = native(f, target)
    except (InterpreterError, UnsupportedOperationError):
        return False
    assert outcome(function, arguments) == expected
    return True


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("start", range(0, 120, 30))
def test_random_functions_mean_the_same_to_llvm(target: str, start: int) -> None:
    compared = sum(judged(f := random_function(seed, size=30), target, random_arguments(f, seed)) for seed in range(start, start + 30))
    assert compared >= 20


@pytest.mark.parametrize("target", TARGETS)
def test_random_loops_over_lanes_mean_the_same_to_llvm(target: str) -> None:
    lanes = registry.get(target).lanes(32)
    for seed in range(20):
        f = random_lanes(seed, lanes)
        assert judged(f, target, lanes_arguments(f, seed, (0, 1, lanes, 3 * lanes + 5, 9 * lanes)[seed % 5]))


AROUND = [0.0, -0.0, -1.5, -0.9, 127.9, 128.0, -129.0, 255.5, 256.0, 3e9, -3e9, 1e30, -1e30, float("nan"), float("inf"), -float("inf")]
AROUND += [sign * bound for bound in (2.0**31, 2.0**32, 2.0**63, 2.0**64) for sign in (1, -1)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", ["convert", "convert_unchecked"])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_conversions_out_of_range_mean_the_same(target: str, op: str, source: str) -> None:
    for to in ("i8", "u8", "i16", "u16", "i32", "u32", "i64"):
        f = parse(f"function c(%a: {source}) -> {to}\n  %1 = {op}.{to}.{source} %a\n  ret %1\nend\n")
        expanded = compiler.run_passes(f, registry.get(target), after="elif")
        function, later = native(f, target), native(expanded, target)
        for value in AROUND:
            assert function(value) == later(value) == run(expanded, value) == run(f, value), (to, value)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", ["shl", "shr", "shl_modulo", "shr_modulo"])
@pytest.mark.parametrize("t", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_shifts_by_any_count_mean_the_same(target: str, op: str, t: str) -> None:
    info = np.iinfo(_NAMES[t])
    by_register = parse(f"function c(%a: {t}, %n: {t}) -> {t}\n  %1 = {op}.{t} %a, %n\n  ret %1\nend\n")
    function = native(by_register, target)
    for count in {0, 1, info.bits - 1, info.bits, info.bits + 1, info.max, info.min}:
        by_constant = parse(f"function c(%a: {t}) -> {t}\n  %1 = {op}.{t} %a, {count}\n  ret %1\nend\n")
        constant = native(by_constant, target)
        for value in (info.min, info.max, 1, 100):
            assert function(value, count) == run(by_register, value, count) == constant(value) == run(by_constant, value), (value, count)


@pytest.mark.skipif("x86-64-v4" not in TARGETS, reason="this CPU lacks AVX-512")
@pytest.mark.parametrize("element", ["f32", "f64", "i32", "i64", "u16"])
def test_elements_in_turn_and_backwards_mean_the_same(element: str) -> None:
    @lw.kernel
    def moved(x: lw.Array, y: lw.Array, z: lw.Array):
        for i in lw.lanes(len(z) // 2):
            a, b = x[2 * i], x[2 * i + 1]
            z[2 * i] = b
            z[2 * i + 1] = a + b
        for i in lw.lanes(len(y)):
            y[i] = x[len(y) - 1 - i]

    type_ = getattr(lw, element)
    f = moved.stage(moved.signature([lw.Array[type_]] * 3, {}))
    x = np.arange(150).astype(type_.dtype)
    assert judged(f, "x86-64-v4", [x, np.zeros(77, type_.dtype), np.zeros(150, type_.dtype)])


def test_calls_go_to_the_callee() -> None:
    seen: list[float] = []

    @ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_double)
    def callee(a: int, b: float) -> int:
        seen.append(b)
        return 2 * a

    text = "function f(%a: i64) -> i64\n  callee callee(i64, f64) -> i64\n  %1 = call.i64 callee(%a, 0.5)\n  ret %1\nend\n"
    f = parse(text)
    f.callees[0].address = ctypes.cast(callee, ctypes.c_void_p).value or 0
    assert native(f, TARGETS[0])(21) == 42
    assert seen == [0.5]


def test_later_stages_are_refused() -> None:
    target = registry.get("x86-64-v3")
    f = compiler.run_passes(random_function(3, vectors=False, size=40), target, after="select")
    with pytest.raises(UnsupportedOperationError, match="before loops"):
        for seed in range(3, 9):
            llvm_export.module_text(compiler.run_passes(random_function(seed, size=40), target, after="select"))
    assert f.params is not None and PTR.name == "ptr"
