"""Variables that a loop does not write are values in it: the results are those of the loops as written, and distances made of such are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw

KERNELS = {
    "by doubled strides": """
def f(a, b):
    n = a.shape[0]
    stride = 1
    while 2 * stride <= n:
        for base in range(0, n - 2 * stride + 1, 2 * stride):
            for i in range(base, base + stride):
                x = a[i]
                a[i] = x + a[i + stride]
                a[i + stride] = x - a[i + stride]
        stride *= 2
""",
    "in a loop that counts": """
def f(a, b):
    n = a.shape[0]
    s = 1
    for k in range(b.shape[0]):
        if 2 * s < n:
            for i in range(s):
                a[i] = a[i + s] + a[i] * b[k]
            s = 2 * s
""",
    "set in arms": """
def f(a, b):
    n = a.shape[0]
    at = 0
    for k in range(b.shape[0]):
        if b[k] > 3:
            at = k
        elif b[k] < 1:
            at = at + 1
        if at + n // 2 <= n:
            for i in range(n // 2):
                a[i] = a[i] + a[i + at] * 0.5
""",
    "a search": """
def f(a, b):
    n = min(a.shape[0], b.shape[0])
    for k in range(n - 1):
        best = k
        for i in range(k + 1, n):
            if a[i] < a[best]:
                best = i
        for i in range(n):
            b[i] = b[i] + a[best]
        x = a[best]
        a[best] = a[k]
        a[k] = x
""",
    "counted, and where it is read": """
def f(a, b):
    n = 0
    for i in range(b.shape[0]):
        if b[i] > 2:
            n += 1
        for j in range(n, a.shape[0]):
            a[j] = a[j - n] + a[j]
""",
    "given another value behind the loop": """
def f(a, b):
    first = 0
    step = 1
    for k in range(b.shape[0]):
        if first == 0:
            step = k + 1
            first = 1
        for i in range(step, a.shape[0]):
            a[i] = a[i - step] - b[k]
        if k > 2:
            step = k
""",
}


def _kernel(source: str) -> tuple[Any, Any]:
    spaces: list[dict[str, Any]] = [{}, {}]
    for space in spaces:
        exec(source, space)  # noqa: S102 (the sources above)
    spaces[1]["f"].__annotations__.update(a=lw.Array, b=lw.Array)
    return spaces[0]["f"], lw.kernel(source=source, contract=False)(spaces[1]["f"])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_as_the_loops_as_written(name: str, dtype: str) -> None:
    plain, kernel = _kernel(KERNELS[name])
    for n in (0, 1, 2, 5, 16, 33, 64, 100):
        rng = np.random.default_rng(n)
        a, b = rng.integers(0, 4, n).astype(dtype), rng.integers(0, 5, 7).astype(dtype)
        wanted, found = (a.copy(), b.copy()), (a, b)
        with np.errstate(all="ignore"):
            plain(*wanted)
        kernel(*found)
        for x, y in zip(wanted, found, strict=True):
            assert np.array_equal(x, y), n


@pytest.mark.parametrize("name", ["by doubled strides", "in a loop that counts"])
def test_halves_have_lanes(name: str) -> None:
    _, kernel = _kernel(KERNELS[name])
    nests = str(kernel.compile(lw.Array[lw.f64, 1], lw.Array[lw.f64, 1], target="x86-64-v3", keep=True).nests())
    assert "lanes(i)" in nests
