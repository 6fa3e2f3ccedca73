"""Variables that some iterations of a loop set and none reads: results as written, and that the loops have lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.test_lanes import kernel

#: What is done in front of a loop over ``i``, in it, and behind it; whether it has lanes then.
BODIES = {
    "a flag": ("p = 1", ["if a[i] > 7:", "    p = 0"], "c[0] = p", True),
    "a flag of two arms": ("p = 5", ["if a[i] > 7:", "    p = 9", "elif a[i] < 2:", "    p = 9"], "c[0] = p", True),
    "a flag that is a number of the loop around": ("p = 5\nq = n * 3", ["if a[i] > 7:", "    p = q"], "c[0] = p", True),
    "the last": ("p = -1", ["if a[i] > 7:", "    p = i"], "c[0] = p", True),
    "the last, and what is there": ("p = -1\nq = a[0]", ["if a[i] > 7:", "    p = i", "    q = a[i] * 2"], "c[0] = p\nc[1] = q", True),
    "of two arms": ("p = -1", ["if a[i] > 7:", "    p = i", "elif a[i] == 3:", "    p = -i"], "c[0] = p", True),
    "two of their own": ("p = -1\nq = -1", ["if a[i] > 7:", "    p = i", "if a[i] < 2:", "    q = i + 1"], "c[0] = p\nc[1] = q", True),
    "behind a branch": ("p = -1\nq = -1", ["if a[i] > 2:", "    p = i", "    if a[i] > 5:", "        continue", "    q = i"], "c[0] = p\nc[1] = q", True),
    "beside what is stored": ("p = 0", ["b[i] = a[i] + 1", "if a[i] > 7:", "    p = 1"], "c[0] = p", True),
    "in what is stored to": ("p = -1\nq = 0", ["if a[i] > 7:", "    p = i", "    q = a[i]", "a[i] = a[i] + 1"], "c[0] = p\nc[1] = q", False),
    "beside a total": ("p = 0\ns = a[0]", ["s += a[i]", "if a[i] > 7:", "    p = i"], "c[0] = p\nc[1] = s", True),
    "what a total decides": ("p = -1\ns = a[0]", ["s += a[i]", "if s > 90:", "    p = i"], "c[0] = p\nc[1] = s", False),
    "read": ("p = -1\nq = 0", ["if p < 3 and a[i] > 5:", "    p = i", "    q += 1"], "c[0] = p\nc[1] = q", False),
    "two truth values": (
        "p = True\nq = False",
        ["if a[i] == 99:", "    p = False", "if a[i] == 4:", "    q = True"],
        "c[0] = 1 if p else 0\nc[1] = 1 if q else 0",
        True,
    ),
}


def source(name: str) -> str:
    before, lines, behind, _ = BODIES[name]
    text = "".join(f"    {line}\n" for line in before.split("\n")) + "    for i in range(1, n):\n" + "".join(f"        {line}\n" for line in lines)
    return f"def nest(a, b, c):\n    n = a.shape[0]\n{text}" + "".join(f"    {line}\n" for line in behind.split("\n"))


def inputs(n: int, dtype: type, high: int) -> list[Any]:
    rng = np.random.default_rng(n + high)
    return [rng.integers(0, high, n).astype(dtype), np.zeros(n, dtype), np.zeros(2, np.float64)]


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("name", BODIES)
def test_results(runner: Runner, name: str) -> None:
    for dtype in (np.float32, np.float64, np.int32, np.int64, np.uint8):
        for n, high in ((1, 9), (2, 9), (40, 9), (77, 7), (77, 2)):
            given, wanted = inputs(n, dtype, high), inputs(n, dtype, high)
            kernel(source(name), nests="off")(*wanted)
            code = runner.compiled(kernel(source(name)), *given)
            runner.run(code, given, lambda _, given=given, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(given, wanted, strict=True)])


@pytest.mark.parametrize("name", BODIES)
def test_they_have_lanes(name: str) -> None:
    done = kernel(source(name), fastmath=True).compile(*inputs(50, np.float32, 9), target="x86-64-v4").nests()
    assert ("what some iterations set found behind the loop" in str([nest.done for nest in done])) == BODIES[name][3]
