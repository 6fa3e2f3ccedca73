"""Inner loops over the channels of pictures, in a version for three: results as written, whatever there are."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.test_lanes import kernel

import loopwright as lw
from loopwright.ir.parse import parse
from loopwright.ir.text import print_function

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
def test_a_version_for_three_where_nothing_has_been_seen(name: str) -> None:
    types = [lw.Array[lw.f32, 3], lw.Array[lw.f32, 3], lw.Array[lw.f32, 2]]
    text = kernel(source(name)).compile(*types, keep=True, target="x86-64-v4").ir("nests")
    assert ("= eq.i64 %a.n2, 3" in text) == BODIES[name][1]


@pytest.mark.parametrize("channels", [2, 3, 5, 8])
def test_a_version_for_what_has_been_seen(channels: int) -> None:
    for name in BODIES:
        text = kernel(source(name)).compile(*inputs((40, 30, channels), np.float32), keep=True, target="x86-64-v4").ir("nests")
        assert (f"= eq.i64 %a.n2, {channels}" in text) == (name != "of another array"), name


@pytest.mark.parametrize("channels", [1, 9, 100])
def test_none_for_what_is_not_short(channels: int) -> None:
    text = kernel(source("each alike")).compile(*inputs((40, 30, channels), np.float32), keep=True, target="x86-64-v4").ir("nests")
    assert f"= eq.i64 %a.n2, {channels}" not in text


#: Loops whose length is that of a short dimension, directly or not.
SHORT = {
    "taps": """
def nest(a, b, c):
    for i in range(a.shape[0] - c.shape[0] + 1):
        for j in range(a.shape[1]):
            s = a[i, j] * 0
            for k in range(c.shape[0]):
                s += a[i + k, j] * c[k, 0]
            b[i, j] = s
""",
    "triangle": """
def nest(a, b, c):
    for r in range(a.shape[0]):
        for i in range(c.shape[0]):
            for k in range(i + 1, c.shape[0]):
                b[r, k] = b[r, k] - c[i, k] * b[r, i]
""",
    "all but one": """
def nest(a, b, c):
    for r in range(a.shape[0] - 1):
        for k in range(c.shape[1] - 1):
            b[r, k] = a[r, k + 1] - a[r + 1, k] + c[0, k]
""",
    "scattered under a condition": """
def nest(a, b, c):
    for r in range(a.shape[0]):
        for k in range(c.shape[1]):
            at = lw.i64(a[r, k]) % b.shape[0]
            if b[at, k] < 9:
                b[at, k] = b[at, k] + 1
""",
}


def short(rows: int, columns: int, taps: tuple[int, int]) -> list[Any]:
    rng = np.random.default_rng(rows + columns)
    return [rng.integers(0, 9, (rows, columns)).astype("f8"), rng.integers(0, 9, (rows, columns)).astype("f8"), rng.integers(-3, 4, taps).astype("f8")]


@pytest.mark.parametrize("name", SHORT)
def test_other_lengths_than_those_of_the_first_call(name: str) -> None:
    """The code of the first call serves all that come later."""
    for first in (2, 3, 5, 8, 9):
        made = kernel(SHORT[name])
        for taps in (first, 1, 2, 4, 8, 11, first):
            found, wanted = (short(20, 12, (taps, taps)) for _ in range(2))
            made(*found)
            kernel(SHORT[name], nests="off")(*wanted)
            for one, other in zip(wanted, found, strict=True):
                np.testing.assert_array_equal(other, one)


def test_what_is_scattered_under_a_condition_has_one_version() -> None:
    text = kernel(SHORT["scattered under a condition"]).compile(*short(20, 12, (4, 4)), keep=True, target="x86-64-v4").ir("nests")
    assert "eq.i64 %c.n1" not in text


def test_as_text_and_back() -> None:
    """A function is printed with what is usual, and read."""
    made = kernel(SHORT["taps"]).compile(*short(20, 12, (4, 1)), keep=True)
    text = made.ir("promote")
    assert "usual [4, 0]" in text
    again = parse(text)
    assert [array.usual for array in again.arrays] == [(), (), (4, 0)]
    assert print_function(again) == text
    with pytest.raises(lw.LoopwrightError, match="2 extents"):
        parse(text.replace("usual [4, 0]", "usual [4]"))


def test_calls_from_several_threads() -> None:
    """Whichever call comes first says what is usual."""
    made = kernel(SHORT["taps"])
    failed: list[int] = []

    def call(taps: int) -> None:
        for _ in range(20):
            found, wanted = (short(20, 12, (taps, taps)) for _ in range(2))
            made(*found)
            for i in range(20 - taps + 1):
                wanted[1][i] = sum(wanted[0][i + k] * wanted[2][k, 0] for k in range(taps))
            if not np.array_equal(found[1], wanted[1]):
                failed.append(taps)

    threads = [threading.Thread(target=call, args=(taps,)) for taps in (2, 3, 4, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
