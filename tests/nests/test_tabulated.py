"""What is divided for each index of an inner loop alone is in a table: results as written, also where loops do not run and divisors are 0, and where there are more columns than a table has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw

KERNELS = {
    "nearest": """
def f(a, b):
    for y in range(b.shape[0]):
        s = y * a.shape[0] // b.shape[0]
        for x in range(b.shape[1]):
            b[y, x] = a[s, x * a.shape[1] // b.shape[1]]
""",
    "weights": """
def f(a, b):
    for y in range(b.shape[0]):
        for x in range(2, b.shape[1]):
            b[y, x] = a[0, 0] * (np.sqrt(lw.f64(x) + 1.0) / (lw.f64(x) + lw.f64(y)))
""",
    "remainders": """
def f(a, b):
    for y in range(b.shape[0]):
        for x in range(b.shape[1]):
            b[y, x] = lw.f64(x % a.shape[0]) + lw.f64((x + 1) // a.shape[1])
""",
}
#: Divisions that are made under a condition, or in a loop that need not run.
OTHERS = {
    "under a condition": """
def f(a, b):
    for y in range(b.shape[0]):
        if a.shape[0] > 0:
            for x in range(b.shape[1]):
                b[y, x] = lw.f64(x // a.shape[0])
""",
    "in the middle": """
def f(a, b):
    for t in range(2):
        for y in range(a.shape[0]):
            for x in range(b.shape[1]):
                b[t, x] = b[t, x] + lw.f64(x // a.shape[0])
""",
}


def _kernel(source: str, **options: Any) -> tuple[Any, Any]:
    spaces: list[dict[str, Any]] = [{"lw": lw, "np": np, "min": min}, {"lw": lw, "np": np}]
    for space in spaces:
        exec(source, space)  # noqa: S102 (the sources above)
    spaces[1]["f"].__annotations__.update(a=lw.Array[lw.f64, 2], b=lw.Array[lw.f64, 2])
    return spaces[0]["f"], lw.kernel(source=source, contract=False, **options)(spaces[1]["f"])


def _arrays(rows: int, columns: int, others: tuple[int, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(rows)
    return [rng.integers(1, 9, others).astype("f8"), np.zeros((rows, columns))]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("columns", [0, 1, 7, 33, 2047, 2048, 2049, 2300])
def test_as_written(name: str, columns: int) -> None:
    plain, kernel = _kernel(KERNELS[name])
    for rows, others in ((1, (3, 5)), (2, (7, 40)), (3, (5, 2))):
        wanted, found = _arrays(rows, columns, others), _arrays(rows, columns, others)
        plain(*wanted)
        kernel(*found)
        assert np.array_equal(wanted[1], found[1])


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_is_divided_that_was_not(name: str) -> None:
    plain, kernel = _kernel(OTHERS[name])
    for others in ((0, 4), (3, 4)):
        wanted, found = _arrays(3, 9, others), _arrays(3, 9, others)
        plain(*wanted)
        kernel(*found)
        assert np.array_equal(wanted[1], found[1])


@pytest.mark.parametrize("name", KERNELS)
def test_loops_that_do_not_run(name: str) -> None:
    _, kernel = _kernel(KERNELS[name])
    for rows, others in ((0, (0, 0)), (0, (3, 0))):
        found = _arrays(rows, 9, others)
        kernel(*found)
        assert found[1].shape == (0, 9)


@pytest.mark.parametrize("name", KERNELS)
def test_there_is_a_table(name: str) -> None:
    _, kernel = _kernel(KERNELS[name])
    # (What is divided by depends on the row, but the root does not.)
    assert "what is divided for each x alone put into a table" in str(kernel.compile(target="x86-64-v4", keep=True).nests())
