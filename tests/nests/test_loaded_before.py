"""Elements that an arm of a branch loads once more: the arm takes what its iteration has loaded, and the loop has lanes; what has been stored since is loaded again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw

KERNELS = {
    "the greatest of those that are there": """
def f(x, y, b):
    top = lw.i32(0)
    there = lw.i32(0)
    for i in range(x.shape[0]):
        if x[i] > 0:
            there += 1
            if x[i] > top:
                top = x[i]
    y[0] = top
    y[1] = there
""",
    "pools": """
def f(x, y, b):
    for i in range(y.shape[0] // 2 - 1):
        best = lw.i32(3)
        at = lw.i32(-1)
        if x[2 * i] > best:
            best = x[2 * i]
            at = lw.i32(2 * i)
        if x[2 * i + 1] > best:
            best = x[2 * i + 1]
            at = lw.i32(2 * i + 1)
        y[i] = best * 100 + at
""",
}
#: What an iteration stores in between.
STORED = {
    "to the element": """
def f(x, y, b):
    for i in range(y.shape[0]):
        if y[i] > 2:
            y[i] = x[i]
            if y[i] > 4:
                y[i] = y[i] - 3
""",
    "to another array": """
def f(x, y, b):
    for i in range(y.shape[0]):
        if x[i] > 2:
            b[i] = y[i] - 1
            if x[i] > 4:
                y[i] = y[i] + x[i]
""",
    "in a while inside": """
def f(x, y, b):
    for i in range(y.shape[0]):
        if x[i] > 2:
            v = y[i]
            k = 0
            while k < 2 and k < x[i]:
                k += 1
                w = y[i]
                y[i] = w - v * y[i] % 7
            b[i] = y[i] + v
""",
    "in a loop inside": """
def f(x, y, b):
    for i in range(y.shape[0]):
        if y[i] > 2:
            for k in range(3):
                y[i] = y[i] - x[k]
            if y[i] > 2:
                b[i] = y[i]
""",
}


def _kernel(source: str) -> tuple[Any, Any]:
    spaces: list[dict[str, Any]] = [{"lw": lw}, {"lw": lw}]
    for space in spaces:
        exec(source, space)  # noqa: S102 (the sources above)
    spaces[1]["f"].__annotations__.update(x=lw.Array, y=lw.Array, b=lw.Array)
    return spaces[0]["f"], lw.kernel(source=source)(spaces[1]["f"])


def _arrays(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [rng.integers(-3, 9, n).astype(np.int32) for _ in range(3)]


@pytest.mark.parametrize("name", [*KERNELS, *STORED])
def test_as_written(name: str) -> None:
    plain, kernel = _kernel({**KERNELS, **STORED}[name])
    for n in (3, 4, 7, 16, 33, 100):
        wanted, found = _arrays(n), _arrays(n)
        plain(*wanted)
        kernel(*found)
        for a, b in zip(wanted, found, strict=True):
            assert np.array_equal(a, b), n


@pytest.mark.parametrize("name", STORED)
def test_arrays_that_are_one(name: str) -> None:
    plain, kernel = _kernel(STORED[name])
    for first, second, third in ((0, 0, 1), (0, 1, 1), (0, 1, 0), (0, 0, 0)):
        wanted, found = _arrays(33), _arrays(33)
        plain(wanted[first], wanted[second], wanted[third])
        kernel(found[first], found[second], found[third])
        for a, b in zip(wanted, found, strict=True):
            assert np.array_equal(a, b), (first, second, third)


@pytest.mark.parametrize("name", KERNELS)
def test_they_have_lanes(name: str) -> None:
    _, kernel = _kernel(KERNELS[name])
    vector = lw.Array[lw.i32, 1]
    assert "lanes(i)" in str(kernel.compile(vector, vector, vector, target="x86-64-v4", keep=True).nests())
