"""Small arrays that iterations put something by in: the results, and what is left in them, are those of the loops as written, and the loops have lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

KERNELS = {
    "vectors": """
def f(a, b, c):
    for p in range(a.shape[0]):
        for k in range(3):
            b[k] = a[p, (k + 1) % 3] - a[p, k] * 0.5
        for k in range(3):
            c[k] = b[k] * b[(k + 2) % 3] + a[p, k]
        for k in range(3):
            a[p, k] = c[k] - b[k]
""",
    "steps": """
def f(a, b, c):
    for p in range(a.shape[0]):
        for t in range(4):
            for k in range(3):
                b[k] = a[p, k]
            for k in range(2):
                c[k] = b[k + 1] * 0.25 - b[0]
            a[p, 0] = a[p, 0] + c[1]
            if a[p, 0] > 9:
                a[p, 1] = -c[0]
                a[p, 0] = a[p, 0] - 9
            a[p, 2] = a[p, 2] * 0.5 + c[0]
""",
    "some of a longer row": """
def f(a, b, c):
    for p in range(a.shape[0]):
        q = a[p, 2] * 0.5
        for t in range(3):
            b[0] = a[p, 0] * q
            b[1] = a[p, 1] - b[0]
            for k in range(2):
                c[k] = b[k] * b[1 - k] + q
            a[p, 0] = c[0] - c[1] * 0.125
            a[p, 1] = c[1] * 0.5 + b[0]
""",
}
#: What stays as it is, or has lanes otherwise.
OTHERS = {
    "read first": """
def f(a, b, c):
    for p in range(a.shape[0]):
        x = b[0]
        b[0] = a[p, 0]
        b[1] = a[p, 1]
        a[p, 2] = x + b[1]
""",
    "written under a condition": """
def f(a, b, c):
    for p in range(a.shape[0]):
        if a[p, 0] > 2:
            b[0] = a[p, 1]
        a[p, 2] = b[0] + a[p, 0]
""",
    "in a loop that may not run": """
def f(a, b, c):
    for p in range(a.shape[0]):
        for t in range(c.shape[0] - 4):
            b[0] = a[p, 0] + t
            a[p, 1] = a[p, 1] + b[0]
        a[p, 2] = b[0]
""",
    "rows in a loop that may not run": """
def f(a, b, c):
    for p in range(a.shape[0]):
        b[0] = 1.0
        for t in range(c.shape[0] - 4):
            b[0] = a[p, 0] + b[0]
            a[p, 1] = a[p, 1] + b[0]
""",
    "at an index of the loop": """
def f(a, b, c):
    for p in range(a.shape[0]):
        b[p % 2] = a[p, 0]
        b[1] = a[p, 1]
        a[p, 2] = b[0] + b[1]
""",
}


def _kernel(source: str, **options: Any) -> tuple[Any, Any]:
    spaces: list[dict[str, Any]] = [{}, {}]
    for space in spaces:
        exec(source, space)  # noqa: S102 (the sources above)
    spaces[1]["f"].__annotations__.update(a=lw.Array, b=lw.Array, c=lw.Array)
    return spaces[0]["f"], lw.kernel(source=source, contract=False, **options)(spaces[1]["f"])


def _arrays(dtype: str, n: int, width: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [rng.integers(0, 8, (n, width)).astype(dtype), rng.integers(0, 8, 4).astype(dtype), rng.integers(0, 8, 4).astype(dtype)]


@pytest.mark.parametrize("name", [*KERNELS, *OTHERS])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_as_the_loops_as_written(name: str, dtype: str) -> None:
    plain, kernel = _kernel({**KERNELS, **OTHERS}[name])
    for n in (0, 1, 2, 3, 8, 17, 40):
        for width in (3, 4, 5):
            wanted, found = _arrays(dtype, n, width), _arrays(dtype, n, width)
            plain(*wanted)
            kernel(*found)
            for x, y in zip(wanted, found, strict=True):
                assert np.array_equal(x, y), (n, width)


@pytest.mark.parametrize("name", KERNELS)
def test_arrays_that_are_one(name: str) -> None:
    plain, kernel = _kernel(KERNELS[name])
    for n in (2, 3, 20):
        for first, second in ((0, 0), (0, 1), (1, 1), (2, 1)):

            def given(n: int = n, first: int = first, second: int = second) -> tuple[np.ndarray, ...]:
                a, b, _ = _arrays("f8", n)
                return (a, a[-1], a[first]) if second == 0 else (a, b[: 4 - first], b[first:]) if first < 2 else (a, a[0], b)

            if len(given()[2]) < 3 or len(given()[1]) < 3:
                continue
            wanted, found = given(), given()
            plain(*wanted)
            kernel(*found)
            for x, y in zip(wanted, found, strict=True):
                assert np.array_equal(x, y), (n, first, second)


@pytest.mark.parametrize("name", KERNELS)
def test_they_have_lanes(name: str) -> None:
    _, kernel = _kernel(KERNELS[name])
    code = kernel.compile(lw.Array[lw.f64, 2], lw.Array[lw.f64, 1], lw.Array[lw.f64, 1], target="x86-64-v4", keep=True)
    text = str(code.nests())
    assert "elements that each iteration of p writes before it reads them in variables" in text
    assert "lanes(p)" in text


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_not_private(name: str) -> None:
    _, kernel = _kernel(OTHERS[name])
    code = kernel.compile(lw.Array[lw.f64, 2], lw.Array[lw.f64, 1], lw.Array[lw.f64, 1], target="x86-64-v4", keep=True)
    assert "writes before it reads them" not in str(code.nests())


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_on_every_machine(runner: Runner) -> None:
    plain, kernel = _kernel(KERNELS["steps"])
    given, wanted = _arrays("f4", 19), _arrays("f4", 19)
    plain(*wanted)
    runner.leaves(runner.compiled(kernel, *given).compiled, given, wanted)
