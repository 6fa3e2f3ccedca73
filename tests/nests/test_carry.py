"""Values carried in registers: the interpreter gets the same results, loads go, and nothing is loaded that was not before."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.nests.random_nests import Random

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.nests.analysis.dependence import dependences
from loopwright.nests.analysis.nest import nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.steps.carry import carry
from loopwright.nests.steps.jam import refusal, unroll_and_jam


def carried(f: Function) -> int:
    return sum(carry(nest, dependences(nest)) for nest in reversed(nests(f)))


@pytest.mark.parametrize("seed", range(4))
def test_random_nests(seed: int) -> None:
    rng = random.Random(seed)
    count = 0
    for _ in range(200):
        spec = Random(rng, rng.choice([1, 1, 2, 3]), parameter=False, stencil=True).moved_inside()
        f = spec.function()
        given = [np.random.default_rng(seed).random(extents) for extents in spec.extents]
        wanted = [a.copy() for a in given]
        run(f, *wanted, 0)
        if rng.random() < 0.5:
            (nest,) = nests(f)
            variables = scalars(nest)
            if refusal(nest, nest.loops[0], 2, dependences(nest), variables) is None:
                unroll_and_jam(nest, nest.loops[0], 2, variables)
        count += carried(f)
        verify(f)
        # (The interpreter refuses an access outside of an array.)
        run(f, *given, 0)
        for a, b in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    assert count


def loop(body: str, high: str = "%x.n0") -> Function:
    return parse(f"function k(%x: ptr, %x.n0: i64)\n  stage collect\n  array x: f64[%x.n0] at %x written\n  %i = for 3, {high}, 1\n{body}\n  end\nend\n")


def loads(f: Function) -> int:
    (head,) = [k for k, instr in enumerate(f.code) if instr.op is ops.FOR]
    return sum(instr.op is ops.LOAD for instr in f.code[head:])


@pytest.mark.parametrize("distance", [1, 2, 3])
@pytest.mark.parametrize("length", [3, 4, 5, 6, 9])
def test_distances_and_lengths(distance: int, length: int) -> None:
    f = loop(f"    %j = sub.i64 %i, {distance}\n    %v = load.f64 x[%j]\n    %w = add.f64 %v, 1.0\n    store.f64 %w, x[%i]")
    given = np.arange(length, dtype=np.float64)
    wanted = given.copy()
    run(f, wanted)
    assert carried(f) == 1
    verify(f)
    assert loads(f) == 0
    run(f, given)
    np.testing.assert_array_equal(given, wanted)


def test_too_far() -> None:
    f = loop("    %j = sub.i64 %i, 9\n    %v = load.f64 x[%j]\n    %w = add.f64 %v, 1.0\n    store.f64 %w, x[%i]")
    assert carried(f) == 0


def test_another_store_in_between() -> None:
    f = loop("    %j = sub.i64 %i, 2\n    %k = sub.i64 %i, 1\n    %v = load.f64 x[%j]\n    store.f64 %v, x[%i]\n    store.f64 2.0, x[%k]")
    given = np.arange(9.0)
    wanted = given.copy()
    run(f, wanted)
    # What is read was stored at %k, one iteration before; not at %i, two before.
    assert carried(f) == 1
    run(f, given)
    np.testing.assert_array_equal(given, wanted)


def test_store_under_a_condition() -> None:
    f = loop("    %j = sub.i64 %i, 1\n    %v = load.f64 x[%j]\n    %c = lt.f64 %v, 2.0\n    if %c\n      store.f64 3.0, x[%i]\n    end")
    assert carried(f) == 0


@lw.kernel
def eliminated(a: lw.Array[lw.f64], b: lw.Array[lw.f64], d: lw.Array[lw.f64]):
    for i in lw.range(1, a.shape[0]):
        w = a[i] / b[i - 1]
        b[i] = b[i] - w
        d[i] = d[i] - w * d[i - 1]


@lw.kernel
def best(a: lw.Array[lw.i32, 2], b: lw.Array[lw.i32], c: lw.Array[lw.i32]):
    for i in lw.range(a.shape[0] - 2, -1, -1):
        m = b[i]
        for j in lw.range(i + 1, a.shape[0]):
            m = lw.max(a[i, j - 1], a[i + 1, j])
            m = lw.max(m, a[i + 1, j - 1] + (1 if b[i] == b[j] else 0))
            if b[j] > 6:
                m = m - 1
            a[i, j] = m
            m = m + 5
        c[i] = m


@pytest.mark.parametrize("kernel", [eliminated, best], ids=lambda kernel: kernel.function.__name__)
def test_several_arrays_and_variables(kernel: lw.Kernel) -> None:
    """Where several arrays are written, that they do not overlap is asked first; what is stored may be a variable that is written again."""
    written = lw.kernel(kernel.function, nests="off")
    for n in (1, 2, 3, 9, 40):
        if kernel is best:
            given = [np.random.default_rng(n).integers(0, 9, shape).astype(np.int32) for shape in ((n, n), (n,), (n,))]
        else:
            given = [np.random.default_rng(k).random(n) + 1 for k in range(3)]
        wanted = [x.copy() for x in given]
        written(*wanted)
        kernel(*given)
        for found, right in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(found, right)
    (nest,) = kernel.compile(target="x86-64-v3").nests()
    assert nest.carried == (2 if kernel is eliminated else 1)
    if kernel is eliminated:
        assert ("b", "d") in nest.asked
        for first, second, third in ((5, 4, 4), (0, 1, 0), (3, 2, 1)):
            results = []
            for run_ in (kernel, written):
                memory = np.arange(1.0, 40.0)
                run_(memory[first : first + 20], memory[second : second + 20], memory[third : third + 20])
                results.append(memory)
            np.testing.assert_array_equal(*results)


@lw.kernel(fastmath=True)
def in_place(a: lw.Array[lw.f32, 2]):
    for i in lw.range(1, a.shape[0] - 1):
        for j in lw.range(1, a.shape[1] - 1):
            a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j]) * 0.25


def test_what_strips_leave_over_keeps_values_in_registers() -> None:
    """The triangles at both ends of a strip, and the rows behind the last one, are loops by themselves beside vectors; what they wait for is added up last."""
    inner: list[list[str]] = []
    for line in str(in_place.compile(target="x86-64-v4", keep=True).ir("nests")).splitlines():
        if " = for " in line:
            inner.append([])
        elif inner:
            inner[-1].append(line.split("  ; ")[0])
    scalar = [lines for lines in inner if any(" store.f32 " in line and ", a[" in line for line in lines)]
    assert len(scalar) == 3
    for lines in scalar:
        assert sum(" load.f32 a[" in line for line in lines) == 3, lines
        assert sum(" mul.f32 " in line for line in lines) == 2, lines  # the sum of what does not wait, and what does
    written = lw.kernel(in_place.function, nests="off")
    for rows, columns in ((20, 40), (35, 19), (50, 70)):
        given = np.random.default_rng(rows).random((rows, columns)).astype(np.float32)
        wanted = given.copy()
        written(wanted)
        in_place(given)
        np.testing.assert_allclose(given, wanted, rtol=1e-5)
