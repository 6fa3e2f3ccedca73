"""Work arrays that each iteration of a loop fills before it reads them: an element for each lane, with the results, and what is left in the arrays, as the loops are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

KERNELS = {
    "tridiagonal": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        c[0] = 0.25
        d[0] = x[0, j] * 0.25
        for k in range(1, m):
            w = 1.0 / (4.0 - c[k - 1])
            c[k] = w
            d[k] = (x[k, j] - d[k - 1]) * w
        x[m - 1, j] = d[m - 1]
        for k in range(m - 2, -1, -1):
            x[k, j] = d[k] - c[k] * x[k + 1, j]
""",
    "haar": """
def f(x, c, d):
    half = x.shape[0] // 2
    for j in range(x.shape[1]):
        for k in range(half):
            c[k] = (x[2 * k, j] + x[2 * k + 1, j]) * 0.5
            c[half + k] = (x[2 * k, j] - x[2 * k + 1, j]) * 0.5
        for k in range(x.shape[0]):
            x[k, j] = c[k]
""",
    "haar back": """
def f(x, c, d):
    half = x.shape[0] // 2
    for j in range(x.shape[1]):
        for k in range(half):
            d[2 * k] = x[k, j] + x[half + k, j]
            d[2 * k + 1] = x[k, j] - x[half + k, j]
        for k in range(x.shape[0]):
            x[k, j] = d[k]
""",
    "filter": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        c[0] = x[0, j] * 0.5
        for k in range(1, m):
            c[k] = x[k, j] * 0.25 + c[k - 1] * 0.75
        d[m - 1] = c[m - 1] * 0.5
        for k in range(m - 2, -1, -1):
            d[k] = c[k] * 0.25 + d[k + 1] * 0.75
        for k in range(m):
            x[k, j] = d[k]
""",
    "twice over": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        c[0] = x[0, j]
        for k in range(1, m):
            c[k] = x[k, j] - c[k - 1] * 0.5
        for k in range(1, m):
            c[k] = c[k] - c[k - 1] * 0.25
        for k in range(m):
            x[k, j] = c[k] * 2
""",
    "one further": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        for k in range(m):
            c[k] = x[k, j] * 2
            c[k + 1] = x[k, j] * 3
            x[k, j] = c[k] + c[k + 1]
""",
    "in a loop around": """
def f(x, c, d):
    m = x.shape[0]
    for t in range(3):
        for j in range(t, x.shape[1]):
            c[0] = x[0, j] * 0.5
            for k in range(1, m):
                c[k] = x[k, j] * 0.25 + c[k - 1] * 0.5
            for k in range(m):
                x[k, j] = c[k] - x[k, j]
        d[t] = c[0] + c[m - 1]
""",
}
#: What is not expanded.
OTHERS = {
    "read first": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        s = c[m - 1]
        for k in range(m):
            c[k] = x[k, j] + s
        for k in range(m):
            x[k, j] = c[k] * 0.5
""",
    "stored under a condition": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        for k in range(m):
            if x[k, j] > 2:
                c[k] = x[k, j]
        for k in range(m):
            x[k, j] = c[k] * 0.5 + x[k, j]
""",
    "in an inner loop that may not run": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        for t in range(m - 3):
            for k in range(m):
                c[k] = x[k, j] * 0.5 + t
        for k in range(m):
            x[k, j] = c[k] * 0.5
""",
    "one that is not written": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        for k in range(m):
            c[k] = x[k, j] * 0.5
        for k in range(m):
            x[k, j] = c[k + 1] - c[k]
""",
    "the one before is not written": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        for k in range(1, m):
            c[k] = x[k, j] * 0.5 - c[k - 1] * 0.25
        for k in range(1, m):
            x[k, j] = c[k] * 0.5
""",
    "as far as the loop around has come": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        for k in range(min(j, m)):
            c[k] = x[k, j] * 0.5
        for k in range(min(j, m)):
            x[k, j] = c[k] + c[0]
""",
    "every second element": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        for k in range(m // 2):
            c[2 * k] = x[k, j] * 0.5
        for k in range(m):
            x[k, j] = c[k] - x[k, j]
""",
    "at a remainder": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        for k in range(m):
            c[(k * 5) % 4] = x[k, j] * 0.5
        for k in range(m):
            x[k, j] = c[k] - x[k, j]
""",
    "from the other end": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        for k in range(m):
            c[k] = x[k, j] * 0.5
            x[k, j] = c[m - 1 - k] + 1
""",
    "the last one, from the start": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        for k in range(m):
            c[k] = x[k, j] * 0.5
            x[k, j] = c[m - 1] + 1
""",
    "all of them, from the start": """
def f(x, c, d):
    m = x.shape[0]
    for j in range(x.shape[1]):
        for k in range(m):
            c[k] = x[k, j] * 0.5
            for q in range(m):
                x[k, j] = x[k, j] + c[q]
""",
}
#: How many rows and columns.
ROWS = (1, 2, 3, 4, 9, 70)
COLUMNS = (0, 1, 2, 3, 7, 8, 9, 20, 33)
Made = Callable[[], list[np.ndarray]]


def _kernel(source: str, **options: Any) -> tuple[Any, Any]:
    spaces: list[dict[str, Any]] = [{}, {}]
    for space in spaces:
        exec(source, space)  # noqa: S102 (the sources above)
    spaces[1]["f"].__annotations__.update(x=lw.Array, c=lw.Array, d=lw.Array)
    return spaces[0]["f"], lw.kernel(source=source, contract=False, **options)(spaces[1]["f"])


def _arrays(dtype: str, rows: int, columns: int) -> list[np.ndarray]:
    rng = np.random.default_rng(100 * rows + columns)
    return [rng.integers(-9, 9, shape).astype(dtype) for shape in ((rows, columns), rows + 5, rows + 5)]


def _report(name: str, target: str, type_: lw.Type) -> str:
    _, kernel = _kernel({**KERNELS, **OTHERS}[name])
    code = kernel.compile(lw.Array[type_, 2], lw.Array[type_, 1], lw.Array[type_, 1], target=target, keep=True)
    return str(code.nests())


def _agree(plain: Any, call: Any, made: Made, about: object) -> None:
    wanted, found = made(), made()
    plain(*wanted)
    call(*found)
    for x, y in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(y, x, err_msg=str(about))


@pytest.mark.parametrize("name", [*KERNELS, *OTHERS])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_as_the_loops_as_written(name: str, dtype: str) -> None:
    plain, kernel = _kernel({**KERNELS, **OTHERS}[name])
    for rows in ROWS:
        for columns in COLUMNS:
            _agree(plain, kernel, lambda rows=rows, columns=columns: _arrays(dtype, rows, columns), (rows, columns))  # type: ignore[misc]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_on_every_machine(name: str, runner: Runner) -> None:
    plain, kernel = _kernel(KERNELS[name])
    for rows, columns in ((6, 19), (5, 33)):
        given, wanted = _arrays("f4", rows, columns), _arrays("f4", rows, columns)
        plain(*wanted)
        runner.leaves(runner.compiled(kernel, *given).compiled, given, wanted)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_more_rows_than_there_is_room_for(name: str, dtype: str) -> None:
    """On both sides of the room that there is for the arrays of this machine, and far beyond."""
    plain, kernel = _kernel(KERNELS[name])
    for rows in (192, 193, 383, 384, 385, 767, 768, 769, 900):
        _agree(plain, kernel, lambda rows=rows: _arrays(dtype, rows, 17), rows)  # type: ignore[misc]


@pytest.mark.parametrize("name", KERNELS)
def test_work_arrays_that_are_one(name: str) -> None:
    plain, kernel = _kernel(KERNELS[name])
    for rows in (2, 9, 20):
        for shift in (0, 1, 3):

            def made(rows: int = rows, shift: int = shift) -> list[np.ndarray]:
                x, _, _ = _arrays("f8", rows, 20)
                work = np.arange(rows + 9.0)
                return [x, work[: rows + 5], work[shift : shift + rows + 5]]

            _agree(plain, kernel, made, (rows, shift))


@pytest.mark.parametrize("name", KERNELS)
def test_work_arrays_in_the_array_itself(name: str) -> None:
    plain, kernel = _kernel(KERNELS[name])
    for rows in (2, 4, 9):
        for first, second in ((0, 1), (3, 0), (20, 2), (None, 0), (0, None)):

            def made(rows: int = rows, first: int | None = first, second: int | None = second) -> list[np.ndarray]:
                x, c, d = _arrays("f8", rows, 20)
                flat = x.reshape(-1)
                return [x, c if first is None else flat[first : first + rows + 5], d if second is None else flat[second : second + rows + 5]]

            if all(len(each) == rows + 5 for each in made()[1:]):
                _agree(plain, kernel, made, (rows, first, second))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_they_have_lanes(name: str, target: str) -> None:
    for type_, bytes_ in ((lw.f32, 4), (lw.f64, 8)):
        text = _report(name, target, type_)
        work = "d" if name == "haar back" else "c, d" if name in ("tridiagonal", "filter") else "c"
        width = (64 if target == "x86-64-v4" else 32) // bytes_
        assert f"an element of {work} for each of {width} iterations of j" in text
        assert "lanes(j)" in text


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_others_are_not_expanded(name: str, target: str) -> None:
    assert "an element of" not in _report(name, target, lw.f64)
