"""Looked-up elements that are loaded one by one: of CPUs whose gathers take longer, and of 8 and 16 bits everywhere."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import compiler, jit
from loopwright.ir.interpret import run
from loopwright.ir.text import parse, print_function
from loopwright.runtime import cpu
from loopwright.targets import registry

ELEMENTS = [lw.u8, lw.i8, lw.u16, lw.i16, lw.u32, lw.i32, lw.f32, lw.u64, lw.i64, lw.f64]
INDICES = [lw.u8, lw.i8, lw.u16, lw.i16, lw.u32, lw.i32, lw.i64]
SLOW = registry.get("x86-64-v3", tuning=frozenset(("slow-gathers",)))
HERE = pytest.mark.skipif(not cpu.host_features() >= cpu.LEVELS["x86-64-v3"], reason="no x86-64 CPU with AVX2")


@lw.kernel
def looked_up(table: lw.Array, k: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = table[k[i]]


@lw.kernel
def looked_up_further_on(table: lw.Array, k: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = table[lw.i32(k[i]) + 128]


@lw.kernel
def twice(table: lw.Array, k: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = table[k[i]] + table[k[i] + 1]


@lw.kernel
def in_rows(table: lw.Array, k: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        y[i] = table[2, k[i]]


@lw.kernel
def positive(table: lw.Array, k: lw.Array, y: lw.Array):
    for i in lw.lanes(len(y)):
        if k[i] > 0:
            y[i] = table[k[i]]


def inputs(element: Any, index: Any, n: int, signed: bool = False) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(n)
    table = rng.integers(0, 100, 400).astype(element.dtype)
    k = rng.integers(-128 if signed and index.signed else 0, 127, n).astype(index.dtype)
    return table, k, np.zeros(n, element.dtype)


def lowered(kernel: lw.Kernel, *types: Any, target: Any = SLOW) -> Any:
    return compiler.run_passes(kernel.stage(kernel.signature(types, {})), target, after="select")


@pytest.fixture(params=["x86-64-v3", "x86-64-v4"])
def slow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not cpu.host_features() >= cpu.LEVELS[request.param]:
        pytest.skip(f"no CPU of {request.param}")
    had = cpu.LEVELS[request.param] | {"clzero"}
    monkeypatch.setattr(cpu, "host_features", lambda: had)


@HERE
@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_elements_are_those_that_are_looked_up(element: Any, index: Any) -> None:
    types = (lw.Array[element], lw.Array[index], lw.Array[element])
    near, further = looked_up.compile(*types), looked_up_further_on.compile(*types)
    for n in (0, 1, 3, 4, 7, 8, 15, 16, 31, 33, 64, 131):
        table, k, y = inputs(element, index, n)
        near(table, k, y)
        assert np.array_equal(y, table[k.astype(np.int64)])
        table, k, y = inputs(element, index, n, True)
        further(table, k, y)
        assert np.array_equal(y, table[k.astype(np.int64) + 128])


@HERE
@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("kernel", [twice, positive])
def test_what_is_looked_up_twice_or_under_a_condition(kernel: lw.Kernel) -> None:
    for element in (lw.u8, lw.f32, lw.i64):
        code = kernel.compile(lw.Array[element], lw.Array[lw.i32], lw.Array[element])
        for n in (1, 8, 37):
            table, k, y = inputs(element, lw.i32, n)
            code(table, k, y)
            expected = (table[k] + table[k + 1]).astype(y.dtype) if kernel is twice else np.where(k > 0, table[k], 0)
            assert np.array_equal(y, expected)


@HERE
@pytest.mark.usefixtures("slow")
def test_rows_of_a_table() -> None:
    for element in (lw.u8, lw.u16, lw.f32, lw.f64):
        code = in_rows.compile(lw.Array[element, 2], lw.Array[lw.i32], lw.Array[element])
        table, k, y = inputs(element, lw.i32, 45)
        table = np.resize(table, (4, 150))
        code(table, k, y)
        assert np.array_equal(y, table[2, k])


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("kernel", [looked_up, looked_up_further_on], ids=["near", "further"])
def test_the_interpreter_does_the_same(kernel: lw.Kernel, index: Any) -> None:
    for element in (lw.u8, lw.i16, lw.f32, lw.f64):
        f = lowered(kernel, lw.Array[element], lw.Array[index], lw.Array[element])
        text = print_function(f)
        assert "gather_singly" in text and print_function(parse(text)) == text
        table, k, y = inputs(element, index, 45, kernel is looked_up_further_on)
        run(f, table, k, y)
        assert np.array_equal(y, table[k.astype(np.int64) + (128 if kernel is looked_up_further_on else 0)])


def listing(kernel: lw.Kernel, element: Any, index: Any) -> str:
    code = kernel.compile(lw.Array[element], lw.Array[index], lw.Array[element])
    text: str = code.asm()
    return text


@pytest.mark.usefixtures("slow")
def test_indices_of_single_loads_are_never_in_a_vector() -> None:
    for element, index in ((lw.f32, lw.i32), (lw.u8, lw.u8), (lw.f64, lw.i64)):
        text = listing(looked_up, element, index)
        assert "gather" not in text and not re.search(r"vp?extr|vmov[dq] [re]", text)
    # Where two look-ups share them they come out of one.
    text = listing(twice, lw.f32, lw.i32)
    assert "gather" not in text and "vpextrq" in text


@pytest.mark.parametrize(
    ("features", "slow", "gathers"),
    [
        ({"clzero"}, False, False),
        (set(), False, True),
        (set(), True, False),
        ({"clzero", "avx512f"}, False, False),
        ({"clzero", "avx512f", "avx_vnni"}, True, True),
    ],
)
def test_gathers_are_made_where_the_cpu_is_quick_with_them(features: set[str], slow: bool, gathers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is timed of CPUs whose features do not tell."""
    monkeypatch.setattr(cpu, "_gathers_slow", slow)
    monkeypatch.setattr(jit, "_best", {})
    had = cpu.LEVELS["x86-64-v3"] | features
    monkeypatch.setattr(cpu, "host_features", lambda: had)
    assert ("vgatherdps" in listing(looked_up, lw.f32, lw.i32)) == gathers


@lw.kernel
def stored_between(table: lw.Array[lw.f32], k: lw.Array[lw.i32], y: lw.Array[lw.f32], z: lw.Array[lw.i32]):
    for i in lw.lanes(len(y)):
        at = k[i]
        z[i] = 0
        y[i] = table[at]


@HERE
@pytest.mark.usefixtures("slow")
def test_indices_that_may_be_overwritten_are_loaded_before() -> None:
    code = stored_between.compile()
    table, k, y = inputs(lw.f32, lw.i32, 45)
    expected = table[k]
    code(table, k, y, k)
    assert np.array_equal(y, expected) and not k.any()
