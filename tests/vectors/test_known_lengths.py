"""Loops of known length in loops: what is left over is done by shorter vectors, without masks; the same as element by element, and nothing behind it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

ELEMENTS = [lw.f32, lw.f64, lw.i32, lw.i64, lw.i16, lw.u8]


@lw.kernel(contract=False)
def rows(a: lw.Array, b: lw.Array, count: lw.Const):
    for i in lw.range(a.shape[0]):
        for k in lw.lanes(1, 1 + count):
            if b[i, k] > 3:
                a[i, k] = a[i, k] * 2 + b[i, k + 1]
            else:
                a[i, k] = k


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_every_length(runner: Runner, element: lw.Type) -> None:
    rng = np.random.default_rng(5)
    for count in (1, 2, 3, 5, 7, 8, 11, 15, 16, 18, 27, 31, 33, 46, 63, 64, 65, 95, 101):
        a, b = (rng.integers(0, 9, (3, count + 3)).astype(element.dtype) for _ in range(2))
        wanted = a.copy()
        here, index = b[:, 1 : count + 1], np.arange(1, count + 1)
        wanted[:, 1 : count + 1] = np.where(here > 3, a[:, 1 : count + 1] * 2 + b[:, 2 : count + 2], index.astype(element.dtype))

        def same(_: object, a: np.ndarray = a, wanted: np.ndarray = wanted) -> None:
            np.testing.assert_array_equal(a, wanted)

        runner.run(runner.compiled(rows, a, b, count=count), [a, b], same)


@lw.kernel
def added(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2], count: lw.Const):
    for i in lw.range(a.shape[0]):
        for k in lw.range(count):
            a[i, k] += b[i, k]


@pytest.mark.parametrize(
    ("target", "count", "shapes"), [("x86-64-v4", 100, "zmm xmm"), ("x86-64-v4", 30, "zmm ymm xmm"), ("x86-64-v4", 12, "ymm xmm"), ("x86-64-v3", 20, "ymm xmm")]
)
def test_no_masks_are_needed(target: str, count: int, shapes: str) -> None:
    array = lw.Array[lw.f32, 2]
    listing = added.compile(array, array, count=count, target=target).asm()
    assert "{k" not in listing and "vmaskmov" not in listing
    assert [shape for shape in ("zmm", "ymm", "xmm") if f"vaddps {shape}" in listing] == shapes.split()
