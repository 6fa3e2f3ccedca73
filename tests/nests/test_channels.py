"""Inner loops over the channels of pictures, in a version for three: results as written, whatever there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.test_lanes import kernel

#: The loop over channels of a point of ``b``, ``a`` being a picture as large and ``c`` one without channels; and whether there is such a version.
BODIES = {
    "each": ("for k in range(a.shape[2]):\n    b[i, j, k] = a[i, j, k] * 2 + k", False),
    "each alike": ("for k in range(a.shape[2]):\n    b[i, j, k] = a[i, j, k] * 2 + a[i, j + 1, k]", True),
    "by either's extent": ("for k in range(a.shape[2]):\n    b[i, j, k] = a[i, j, k] * 2\nfor k in range(b.shape[2]):\n    b[i, j, k] = b[i, j, k] + 1", True),
    "added up": ("s = a[i, j, 0] * 0\nfor k in range(a.shape[2]):\n    s += a[i, j, k]\nc[i, j] = s", True),
    "greatest": ("s = a[i, j, 0]\nfor k in range(a.shape[2]):\n    if a[i, j, k] > s:\n        s = a[i, j, k]\nc[i, j] = s", True),
    "turned round": ("for k in range(a.shape[2]):\n    b[i, j, k] = a[i, j, a.shape[2] - 1 - k]", False),
    "of another array": ("for k in range(c.shape[1]):\n    c[i, k] = c[i, k] + a[i, j, 0]", False),
}


def source(name: str) -> str:
    body = "".join(f"            {line}\n" for line in BODIES[name][0].split("\n"))
    return f"def nest(a, b, c):\n    for i in range(a.shape[0]):\n        for j in range(a.shape[1] - 1):\n{body}"


def inputs(shape: tuple[int, int, int], dtype: type) -> list[Any]:
    rng = np.random.default_rng(sum(shape))
    return [rng.integers(0, 60, shape).astype(dtype), np.zeros(shape, dtype), np.zeros(shape[:2], dtype)]


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("name", BODIES)
def test_results(runner: Runner, name: str) -> None:
    for dtype in (np.float32, np.uint8, np.int64):
        for shape in ((4, 23, 3), (3, 40, 1), (3, 9, 4), (2, 5, 19), (0, 4, 3), (3, 3, 0)):
            if not shape[2] and name in ("added up", "greatest", "of another array"):
                continue
            given, wanted = inputs(shape, dtype), inputs(shape, dtype)
            kernel(source(name), nests="off")(*wanted)
            code = runner.compiled(kernel(source(name)), *given)
            runner.run(code, given, lambda _, given=given, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(given, wanted, strict=True)])


@pytest.mark.parametrize("name", BODIES)
def test_a_version_for_three(name: str) -> None:
    text = kernel(source(name)).compile(*inputs((4, 30, 3), np.float32), keep=True, target="x86-64-v4").ir("nests")
    assert ("= eq.i64 %a.n2, 3" in text) == BODIES[name][1]
