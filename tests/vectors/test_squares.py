"""Rows any distance apart, one in each lane, whose elements are those of squares transposed in registers: results as written, and that it is done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.test_lanes import kernel

from loopwright.vectors.squares import to_load, to_store

#: Machines with vectors, and one without.
VECTORS = runners(lambda runner: runner.target.vector_bits >= 128 or runner.target.name == "riscv64")

#: Bodies of a loop over the rows of ``a`` and ``c``, of at least twelve elements, and of ``b``, of one.
BODIES = {
    "nine of a row": ["s = a[i, 0] * 3", *[f"s = (s - a[i, {k}]) * {k + 2}" for k in range(1, 9)], "b[i] = s"],
    "all stored in another order": [*[f"c[i, {k}] = (a[i, {11 - k}] - {k}) * 2 + a[i, {k}]" for k in range(12)]],
    "in place": [f"a[i, {k}] = a[i, {k}] * 3 - a[i, {(5 * k + 1) % 12}]" for k in range(12)],
    "runs of three and two": [f"c[i, {k}] = a[i, {k}] * a[i, {k}] + {k}" for k in (0, 1, 2, 4, 5, 7, 8, 9, 10, 11)],
    "two rows": ["b[i] = (a[i, 9] - a[i + 1, 9]) * (a[i, 8] + a[i + 1, 10]) * (a[i + 1, 11] + a[i, 11])"],
    "rows of ones beside": ["c[i, 8] = b[i] * (a[i, 11] - b[i])", "c[i, 9] = c[i, 8] * c[i, 8]", "c[i, 10] = c[i, 9] - a[i, 10]", "c[i, 11] = c[i, 8] + 1"],
    "beside a short row": [
        "c[i, 0] = a[i, 11] * a[i, 9]",
        "c[i, 1] = (a[i, 10] - c[i, 2]) * 3",
        "a[i, 8] = (a[i, 8] - a[i, 9]) * (a[i, 10] - 7) * (a[i, 11] + c[i, 1])",
    ],
    "under a condition": ["s = a[i, 9] * a[i, 8] - a[i, 10]", "if s > 7:", "    s = s * 2 - a[i, 10]", "b[i] = s * a[i, 11]"],
}


def rows(name: str) -> str:
    return "def nest(a, b, c):\n    for i in range(a.shape[0] - 1):\n" + "".join(f"        {line}\n" for line in BODIES[name])


def laid_out(how: str, n: int, dtype: type, seed: int) -> np.ndarray:
    """``n`` rows: as they are, of twelve; every second one of as many; upwards; of longer ones."""
    rng = np.random.default_rng(seed)
    if how == "every second":
        return rng.integers(0, 9, (2 * n, 12)).astype(dtype)[::2]
    if how == "upwards":
        return rng.integers(0, 9, (n, 12)).astype(dtype)[::-1]
    if how == "of longer":
        return rng.integers(0, 9, (n, 19)).astype(dtype)[:, 3:16]
    return rng.integers(0, 9, (n, 12)).astype(dtype)


@pytest.mark.parametrize("how", ["as they are", "every second", "upwards", "of longer"])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("runner", VECTORS)
def test_rows(runner: Runner, name: str, how: str) -> None:
    fast, plain = kernel(rows(name)), kernel(rows(name), nests="off")
    for dtype in (np.float32, np.float64, np.int32, np.int64, np.int16, np.uint8):
        for n in (1, 2, 9, 18, 35):
            given: list[Any] = [laid_out(how, n, dtype, 1), np.zeros(n, dtype), laid_out(how, n, dtype, 2)]
            wanted = [np.array(x) for x in given]
            plain(*wanted)
            code = runner.compiled(fast, *given)
            runner.run(code, given, lambda _, given=given, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(given, wanted, strict=True)])


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64-neon"])
@pytest.mark.parametrize("name", [name for name in BODIES if name not in ("two rows", "beside a short row")])
def test_they_are_transposed(name: str, target: str) -> None:
    # (Of two floats a square has the half, so that most are taken alone.)
    for dtype in (np.float32, np.float64)[int(name == "rows of ones beside") :]:
        given = [laid_out("as they are", 50, dtype, 1), np.zeros(50, dtype), laid_out("as they are", 50, dtype, 2)]
        text = str(kernel(rows(name)).compile(*given, keep=True, target=target).ir("vectorize"))
        assert "zip_low" in text and "zip_high" in text


#: Elements of an array a known distance apart, of which the last row ends with the array, or does not.
FIXED = {
    "ten apart, all behind": (10, ["b[i] = " + " + ".join(f"a[10 * i + {k}] * {k + 2}" for k in range(10))]),
    "sixteen apart, two beside each other": (16, ["b[i] = (a[16 * i + 3] * 5 - a[16 * i + 4]) * (a[16 * i + 3] - 7) * (a[16 * i + 4] + 9)"]),
    "stored": (12, [f"a[12 * i + {k}] = b[i] * {k} - a[12 * i + {k}]" for k in range(8)]),
}


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("runner", VECTORS)
def test_elements_a_known_distance_apart(runner: Runner, name: str) -> None:
    apart, lines = FIXED[name]
    source = "def nest(a, b):\n    for i in range(b.shape[0]):\n" + "".join(f"        {line}\n" for line in lines)
    for dtype in (np.float32, np.float64, np.int32):
        for n in (1, 9, 32, 35):
            used = max(int(part.split("]")[0]) for line in lines for part in line.split("+ ")[1:] if part[0].isdigit() and "]" in part) + 1
            rng = np.random.default_rng(n)
            # (The array ends with the last element that is accessed: nothing behind it may be read.)
            given: list[Any] = [rng.integers(0, 9, apart * (n - 1) + used).astype(dtype), rng.integers(0, 9, n).astype(dtype)]
            wanted = [np.array(x) for x in given]
            kernel(source, nests="off")(*wanted)
            code = runner.compiled(kernel(source), *given)
            runner.run(code, given, lambda _, given=given, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(given, wanted, strict=True)])


@pytest.mark.parametrize("shape", [(3, 3), (4, 4), (2, 5), (3, 6)])
@pytest.mark.parametrize("runner", VECTORS)
def test_small_matrices_inverted_and_multiplied(runner: Runner, shape: tuple[int, int]) -> None:
    r, s = shape
    source = f"""def nest(a, b, c):
    for p in range(a.shape[0]):
        for i in range({r}):
            for j in range({r}):
                t = a[p, i, 0] * b[p, j, 0]
                for k in range(1, {s}):
                    t += a[p, i, k] * b[p, j, k]
                c[p, i, j] = t
"""
    for dtype in (np.float32, np.float64, np.int32):
        for n in (1, 17, 40):
            rng = np.random.default_rng(n)
            given: list[Any] = [rng.integers(0, 9, (n, r, s)).astype(dtype), rng.integers(0, 9, (n, r, s)).astype(dtype), np.zeros((n, r, r), dtype)]
            wanted = [np.array(x) for x in given]
            kernel(source, nests="off")(*wanted)
            np.testing.assert_array_equal(wanted[2], np.einsum("pik,pjk->pij", given[0], given[1]))
            code = runner.compiled(kernel(source), *given)
            runner.run(code, given, lambda _, given=given, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(given, wanted, strict=True)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_elements_far_apart_and_little_to_do_stay_scalar(dtype: type) -> None:
    source = "def nest(a, b):\n    for i in range(b.shape[0]):\n        b[i] = a[i, 9] + a[i, 20]\n"
    given = [np.zeros((40, 30), dtype), np.zeros(40, dtype)]
    assert "lanes" not in str([nest.done for nest in kernel(source).compile(*given, target="x86-64-v4").nests()])


def test_where_squares_begin() -> None:
    assert to_load(list(range(9)), 8, 4, beyond=False) == {0: [0, 1, 2, 3], 4: [4, 5, 6, 7]}
    assert to_load([0, 1, 6, 7], 7, 4, beyond=False) == {0: [0, 1], 4: [6, 7]}
    assert to_load([2, 3], 3, 4, beyond=False) == {}
    assert to_load([2, 3], 3, 4, beyond=True) == {2: [2, 3]}
    assert to_load([1, 5], 5, 2, beyond=False) == {}
    assert to_store([0, 1, 2, 4, 5, 6, 7, 8], 4) == {4: [4, 5, 6, 7], 5: [5, 6, 7, 8]}
    assert to_store([3, 4, 5], 2) == {3: [3, 4], 4: [4, 5]}
    assert to_store([1, 3], 2) == {}
