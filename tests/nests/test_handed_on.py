"""Loops that hand on what they have loaded, and store over it: lanes have it from their neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.from_text import nest_from
from tests.machines import Runner, runners

import loopwright as lw

#: By name: the loop, and whether it is over lanes by vectors that are moved; None where the loop is rewritten otherwise (those that access one element go backwards), or might be.
LOOPS = {
    "three neighbours": (
        "left = a[0]\n    for i in range(1, n - 1):\n        here = a[i]\n        a[i] = here + (left - 2 * here + a[i + 1])\n        left = here\n    b[0] = left",
        True,
    ),
    "loaded where it is handed on": (
        "left = a[0]\n    for i in range(1, n - 1):\n        y = a[i + 1] + 2 * left\n        left = a[i]\n        if y > 9:\n            a[i] = y - 3\n        else:\n            a[i] = 2 * y + left\n    b[0] = left",
        None,
    ),
    "computed where it is handed on": (
        "left = b[0]\n    for i in range(n - 1):\n        y = a[i + 1] - left\n        left = a[i] * 3\n        a[i] = y\n    b[0] = left",
        True,
    ),
    "loaded behind what is stored": ("left = b[0]\n    for i in range(n - 1):\n        a[i] = a[i + 1] + left\n        left = a[i]\n    b[0] = left", False),
    "of two iterations before": (
        "x1 = b[0]\n    x2 = b[1]\n    for i in range(n):\n        x0 = a[i]\n        a[i] = x0 + 3 * x1 - 2 * x2\n        x2 = x1\n        x1 = x0\n    b[0] = x1\n    b[1] = x2",
        True,
    ),
    "of both arrays": (
        "p = b[0]\n    q = b[1]\n    for i in range(n - 2):\n        x = a[i]\n        y = b[i + 2]\n        a[i] = x + q\n        b[i + 2] = y - p + q\n        p = x\n        q = y\n    b[0] = p * 3 + q",
        True,
    ),
    "twice": (
        "p = b[0]\n    for i in range(n):\n        x = a[i] * 2\n        if x > p:\n            a[i] = x - p\n        p = x\n    b[1] = p",
        None,
    ),
    "rows": (
        "w = n // 7\n    for r in range(7):\n        left = b[0]\n        for j in range(w):\n            here = a[r * w + j]\n            a[r * w + j] = left + here\n            left = here",
        None,
    ),
    "again and again": (
        "for t in range(4):\n        left = a[0]\n        a[0] = left + a[n - 1]\n        for i in range(1, n - 1):\n            here = a[i]\n            a[i] = left + here * 2 - a[i + 1]\n            left = here\n        a[n - 1] = a[n - 1] - left",
        True,
    ),
    "two of one variable": (
        "p = b[0]\n    q = b[1]\n    for i in range(n - 1):\n        here = a[i]\n        a[i] = here + p - q + a[i + 1]\n        p = here\n        here = here * 2\n        q = here\n    b[0] = p\n    b[1] = q",
        None,
    ),
    "what was stored before": (
        "left = b[0]\n    for i in range(n - 1):\n        here = a[i]\n        a[i + 1] = here + left\n        left = here\n    b[0] = left",
        False,
    ),
    "what has just been stored": ("left = b[0]\n    for i in range(n):\n        a[i] = a[i] + left\n        left = a[i] * 2", False),
    "read before it is made": (
        "left = b[0]\n    for i in range(n):\n        y = left * 3\n        if left > 2:\n            y += 1\n        here = a[i]\n        a[i] = y - here\n        left = here\n    b[0] = left",
        None,
    ),
    "of four iterations before": (
        "p = b[0]\n    q = b[1]\n    r = p + q\n    s = p - q\n    for i in range(n - 1):\n        here = a[i + 1] - a[i]\n        a[i] = p * 3 + q - s * 2\n        p = q\n        q = r\n        r = s\n        s = here\n    b[0] = p + 2 * q\n    b[1] = r - s",
        True,
    ),
    "what is the same for all": (
        "left = b[0]\n    for i in range(n - 1):\n        here = b[1]\n        a[i] = a[i + 1] + left\n        left = here\n    b[0] = left",
        None,
    ),
    "an index": (
        "left = n\n    for i in range(n - 1):\n        here = i * 2\n        if left > 7:\n            a[i] = a[i] + a[i + 1]\n        left = here\n    if left > 70:\n        b[0] = b[0] + b[1]",
        None,
    ),
    "under a condition": (
        "left = b[0]\n    for i in range(n - 1):\n        here = a[i]\n        if a[i + 1] > 3:\n            a[i] = here + left\n        left = here\n    b[0] = left",
        True,
    ),
    "short rows, read behind each": (
        "w = n // 5\n    for r in range(5):\n        left = b[1]\n        for j in range(w - 1):\n            here = a[r * w + j]\n            a[r * w + j] = left - here + a[r * w + j + 1]\n            left = here\n        b[0] += left",
        None,
    ),
    "from row to row": (
        "w = n // 5\n    left = b[1]\n    for r in range(5):\n        for j in range(w - 1):\n            here = a[r * w + j]\n            a[r * w + j] = left - here + a[r * w + j + 1]\n            left = here\n    b[0] += left",
        None,
    ),
    "looked up by a remainder": (
        "w = n // 7\n    for r in range(7):\n        left = b[0]\n        for j in range(w):\n            here = a[(w + j) % 3]\n            a[r + j] = left + 1\n            left = here",
        None,
    ),
    "beside a total and a counter": (
        "left = b[0]\n    k = 0\n    t = a[0]\n    for i in range(n - 1):\n        here = a[i]\n        a[i] = left + here * a[i + 1]\n        if here > 4:\n            b[k] = here\n            k += 1\n        left = here\n    b[0] = left",
        None,
    ),
    "what is read behind it": (
        "left = b[0]\n    for i in range(n):\n        here = a[i]\n        old = left\n        left = here\n        a[i] = old + left",
        None,
    ),
}


def given(element: Any, n: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [guarded(rng.integers(0, 9, n).astype(element), True), guarded(rng.integers(0, 9, max(n, 4)).astype(element), True)]


def nest(name: str, **options: Any) -> Any:
    return nest_from(f"def nest(a, b):\n    n = a.shape[0]\n    {LOOPS[name][0]}\n", contract=False, **options)


def moves(kernel: Any, *arrays: Any) -> bool:
    return "slide" in kernel.compile(*arrays, target="x86-64-v3", keep=True).ir("vectorize")


@pytest.mark.parametrize("element", [np.float64, np.float32, np.int32, np.int16, np.uint8, np.int64])
@pytest.mark.parametrize("name", LOOPS)
def test_as_the_loop_as_written(name: str, element: Any) -> None:
    kernel, plain = nest(name), nest(name, nests="off")
    least = 0 if "a[0]" not in LOOPS[name][0] else 2
    for n in (*range(least, 40), 255, 256, 257, 258, 300, 511, 512, 513, 1000):
        wanted, found = given(element, n, n), given(element, n, n)
        plain(*wanted)
        kernel(*found)
        for a, b in zip(wanted, found, strict=True):
            assert a.tobytes() == b.tobytes(), n


@pytest.mark.parametrize("name", LOOPS)
def test_which_are_over_lanes(name: str) -> None:
    over = LOOPS[name][1]
    if over is not None:
        assert moves(nest(name), *given(np.float64, 100, 1)) == over


def test_arrays_that_overlap() -> None:
    kernel, plain = nest("of both arrays"), nest("of both arrays", nests="off")
    for apart in (0, 1, 2, 5, 64):
        wanted, found = np.arange(600.0), np.arange(600.0)
        plain(wanted[:500], wanted[apart : apart + 500])
        kernel(found[:500], found[apart : apart + 500])
        assert wanted.tobytes() == found.tobytes(), apart


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("name", ["three neighbours", "of two iterations before"])
def test_on_every_machine(runner: Runner, name: str) -> None:
    arrays, wanted = given(np.int32, 300, 3), given(np.int32, 300, 3)
    nest(name, nests="off")(*wanted)
    runner.leaves(runner.compiled(nest(name), *arrays), arrays, wanted)


@lw.kernel(fastmath=True)
def just_stored(a: lw.Array, b: lw.Array, c: lw.Array, d: lw.Array[lw.i64]):
    turns = 0
    for i in range(a.shape[0]):
        b[i] = a[i] * 3 + 1
        if i > 0 and b[i] < b[i - 1]:
            turns += 1
        if i > 1:
            c[i] = b[i] - 2 * b[i - 1] + b[i - 2]
    d[0] = turns


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_what_has_just_been_stored(runner: Runner) -> None:
    for element in (np.float32, np.int64, np.int32):
        for n in (0, 1, 2, 3, 17, 70):
            a = np.random.default_rng(n).integers(-9, 9, n).astype(element)
            b = a * 3 + 1
            c = np.full(n, 5, element)
            c[2:] = b[2:] - 2 * b[1:-1] + b[:-2]
            given = [a, np.zeros(n, element), np.full(n, 5, element), np.zeros(1, np.int64)]
            runner.leaves(runner.compiled(just_stored, *given), given, [a, b, c, np.array([(b[1:] < b[:-1]).sum()])])
    assert "lanes(i)" in str(just_stored.compile(*given, target="x86-64-v4").nests())


def test_what_has_just_been_stored_to_one_of_two_that_overlap() -> None:
    for shift in (0, 1, 2, 9):
        found, wanted = (np.arange(120, dtype=np.int32) % 17 for _ in range(2))
        for memory, call in ((found, just_stored), (wanted, lw.kernel(just_stored.function, nests="off"))):
            call(memory[20:60], memory[20 + shift : 60 + shift], memory[60:100], np.zeros(1, np.int64))
        np.testing.assert_array_equal(found, wanted)
