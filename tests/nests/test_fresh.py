"""Sums whose first or last elements the loop around has just stored: results as written, and that these are taken one by one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.test_lanes import kernel

#: Bodies of a kernel of a matrix ``a``, a vector ``b`` as long as its rows, and a table ``c`` of all pairs; and at which end of the innermost loop elements are new: "first", "last" or "".
BODIES = {
    "solved upwards": ("last", "for i in range(n):\n    s = b[i]\n    for k in range(i):\n        s -= a[i, k] * b[k]\n    b[i] = s % 5"),
    "solved downwards": ("first", "for i in range(n - 1, -1, -1):\n    s = b[i]\n    for k in range(i + 1, n):\n        s -= a[i, k] * b[k]\n    b[i] = s % 5"),
    "packed rows": (
        "last",
        (
            "for i in range(n):\n    row = i * (i + 1) // 2\n    for j in range(i + 1):\n        other = j * (j + 1) // 2\n        s = a[i, j]\n"
            "        for k in range(j):\n            s -= c[row + k] * c[other + k]\n        c[row + j] = s % 7"
        ),
    ),
    "a recursive filter": (
        "first",
        "for i in range(20, n):\n    s = b[i]\n    for k in range(a.shape[1] // 3):\n        s += a[0, k] * b[i - 1 - k]\n    b[i] = s % 7",
    ),
    "two rows before": ("", "for i in range(9, n):\n    s = b[i]\n    for k in range(i - 8):\n        s -= a[i, k] * b[k]\n    b[i] = s % 5"),
    "stored in front": (
        "last",
        "for i in range(n):\n    b[i] = a[0, i] % 3\n    s = b[i] * 0\n    for k in range(i + 1):\n        s += a[i, k] * b[k]\n    c[i] = s",
    ),
    "another array": ("", "for i in range(n):\n    s = b[i]\n    for k in range(i):\n        s -= a[i, k] * a[0, k]\n    b[i] = s % 5"),
}


def source(name: str) -> str:
    return "def nest(a, b, c):\n    n = b.shape[0]\n" + "".join(f"    {line}\n" for line in BODIES[name][1].split("\n"))


def given(n: int, dtype: type) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    # (Small whole numbers: their sums are the same in any order.)
    return [rng.integers(0, 4, shape).astype(dtype) for shape in ((n, n), n, n * (n + 1) // 2 + n)]


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("name", BODIES)
def test_sums(runner: Runner, name: str) -> None:
    for dtype in (np.float64, np.float32, np.int32):
        fast, plain = kernel(source(name), fastmath=True), kernel(source(name), nests="off")
        for n in (1, 2, 7, 23, 47):
            arrays, wanted = given(n, dtype), given(n, dtype)
            plain(*wanted)
            code = runner.compiled(fast, *arrays)
            runner.run(
                code, arrays, lambda _, arrays=arrays, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(arrays, wanted, strict=True)]
            )


@pytest.mark.parametrize("name", BODIES)
def test_new_elements_are_taken_one_by_one(name: str) -> None:
    where = BODIES[name][0]
    text = kernel(source(name), fastmath=True).compile(*given(40, np.float64), keep=True, target="x86-64-v4").ir("nests")
    loops = [line.split("= for ")[1].split(", ") for line in text.split("\n") if "= for " in line]
    sums = [k for k, loop in enumerate(loops) if " lanes" in loop[2] and "accumulate" in loop[2]]
    assert sums
    assert any(" whole" in loops[k][2] for k in sums) == (where == "last")
    # (Where the new ones come first, the loop over lanes begins behind them, and they have a loop of their own behind it.)
    assert any(loops[k][0].startswith("%") and loops[k + 1][1] == loops[k][0] for k in sums if k + 1 < len(loops)) == (where == "first")
