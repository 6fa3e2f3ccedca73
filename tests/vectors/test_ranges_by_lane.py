"""Loops inside of one over lanes whose range begins at another number in each lane: results as written, and that what the lanes access next to each other is loaded as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.test_lanes import kernel

#: The range of the inner loop, what it does, and whether its loads are adjacent.
BODIES = {
    "up to the end": ("j, a.shape[0]", ["s += a[i] * d[i]", "if s > 40:", "    break"], True),
    "down to 0": ("j - 1, -1, -1", ["s += a[i] * d[i]", "if s > 40:", "    break", "s += d[2 * i]"], True),
    "in steps of three": ("j + 2, j + b.shape[0], 3", ["s += a[i] * d[j] - a[i + 1]"], True),
    "from twice the lane": ("2 * j, j + b.shape[0]", ["s += a[i] * d[j]"], True),
    "with a branch": ("j, j + 9", ["if a[i] > 2:", "    s += d[i]", "    continue", "s += 1"], True),
    "from what is looked up": ("lw.i64(d[j]), 7", ["s += a[i]"], False),
}


def source(name: str, outer: str) -> str:
    bounds, lines, _ = BODIES[name]
    body = "".join(f"            {line}\n" for line in lines)
    return f"def nest(a, b, d):\n    for j in {outer}(b.shape[0]):\n        s = a[j] * 0\n        for i in lw.range({bounds}):\n{body}        b[j] = s\n"


def given(n: int, dtype: type) -> list[Any]:
    rng = np.random.default_rng(n)
    return [rng.integers(0, 5, 3 * n + 9).astype(dtype), np.zeros(n, dtype), rng.integers(0, 3, 3 * n + 9).astype(dtype)]


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("name", BODIES)
def test_ranges(runner: Runner, name: str) -> None:
    for dtype in (np.float64, np.float32, np.int32, np.int64, np.uint8):
        for n in (1, 9, 33):
            arrays, wanted = given(n, dtype), given(n, dtype)
            kernel(source(name, "lw.range"), nests="off")(*wanted)
            code = runner.compiled(kernel(source(name, "lw.lanes")), *arrays)
            runner.run(
                code, arrays, lambda _, arrays=arrays, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(arrays, wanted, strict=True)]
            )


@pytest.mark.parametrize("name", BODIES)
def test_what_is_adjacent_is_loaded_as_vectors(name: str) -> None:
    code = kernel(source(name, "lw.lanes")).compile(*given(20, np.float64), keep=True, target="x86-64-v4")
    text = code.ir("vectorize")
    assert ("gather" not in text) == BODIES[name][2]
    assert "masked_load.f64x8" in text
