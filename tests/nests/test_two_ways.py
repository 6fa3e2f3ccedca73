"""Loops that go along one array in two ways, forwards and backwards: in lanes where the two never meet, as written where they do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from

from loopwright.ir.function import Function
from loopwright.ir.parse import parse
from loopwright.ir.text import print_function


def agree(source: str, arrays: int, lengths: tuple[int, ...], dtype: Any = np.int32) -> Any:
    fast, plain = nest_from(source), nest_from(source, nests="off")
    code = None
    for n in lengths:
        given = [np.random.default_rng(n + k).integers(0, 99, n).astype(dtype) for k in range(arrays)]
        wanted, found = [x.copy() for x in given], [x.copy() for x in given]
        plain(*wanted)
        fast(*found)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"{source}, {n}")
        code = fast.compile(*given, target="x86-64-v3")
    return code


LENGTHS = (0, 1, 2, 3, 16, 17, 31, 64, 65, 133, 300)
#: Bodies of ``for i in range(BOUND)`` over ``a`` and ``b`` of ``n`` elements, and whether they have lanes.
LOOPS = {
    "turned round in place": ("n // 2", "t = a[i]; a[i] = a[n - 1 - i]; a[n - 1 - i] = t", True),
    "by a shift": ("n >> 1", "t = a[i]; a[i] = a[n - 1 - i]; a[n - 1 - i] = t", True),
    "the middle as well": ("(n + 1) // 2", "t = a[i]; a[i] = a[n - 1 - i]; a[n - 1 - i] = t", True),
    "beyond the middle": ("n - n // 3", "t = a[i]; a[i] = a[n - 1 - i]; a[n - 1 - i] = t", False),
    "all of it": ("n", "a[n - 1 - i] = a[i]", False),
    "sums and differences": ("n // 2", "b[i] = a[i] + a[n - 1 - i]; b[n - 1 - i] = a[i] - a[n - 1 - i]", True),
    "a third": ("n // 3", "a[n - 1 - i] += a[i]; a[i] -= b[i]", True),
    "what the next one stores": ("n // 2 - 1", "a[i] = a[n - 2 - i] + 1; a[n - 1 - i] = a[i]", False),
    "one over the middle": ("n // 2", "a[i] = a[n - 2 - i] + 1; a[n - 1 - i] = a[i + 1]", False),
}


@pytest.mark.parametrize("name", LOOPS)
def test_two_ways(name: str) -> None:
    bound, statements, lanes = LOOPS[name]
    body = "".join(f"        {statement}\n" for statement in statements.split("; "))
    source = f"def nest(a, b):\n    n = a.shape[0]\n    for i in range({bound}):\n{body}"
    for dtype in (np.uint8, np.int16, np.float32, np.int64):
        code = agree(source, 2, LENGTHS, dtype)
        text = str(code.nests())
        assert ("lanes(i)" in text) == lanes, text


def test_rows_of_a_recursion() -> None:
    """Levinson's: the bound of the inner loop hangs on the outer one's index."""
    source = """
def nest(a, b):
    for i in range(1, a.shape[0]):
        for j in range(1, (i + 1) // 2):
            t = b[j]
            b[j] = t - a[i] * b[i - j]
            b[i - j] -= a[i] * t
"""
    code = agree(source, 2, LENGTHS)
    assert "lanes(j)" in str(code.nests())


@pytest.mark.parametrize("seed", range(60))
def test_random_ways(seed: int) -> None:
    rng = random.Random(seed)
    bound = rng.choice(["n // 2", "(n + 1) // 2", "n // 2 + 1", "n // 3", "n >> 2", "n - n // 2", "(n - 1) // 2", "2 * (n // 4)"])
    places = ["i", "n - 1 - i", "n - 2 - i", "i + 1", "n // 2 + i", "n // 2 - i", "n - n // 2 + i", "i + n // 3", "2 * i"]
    statements = []
    for _ in range(rng.randint(1, 4)):
        at, one, other = [f"{rng.choice('ab')}[most(0, least({rng.choice(places)}, n - 1))]" for _ in range(3)]
        if rng.random() < 0.8:
            at, one, other = [text.replace("most(0, least(", "").replace(", n - 1))", "") for text in (at, one, other)]
        statements.append(f"            {at} = {one} {rng.choice('+-')} {other}\n")
    # What is outside of the arrays is not accessed.
    inside = "n > 9 and n // 2 + " + f"({bound}) < n and 2 * ({bound}) <= n - 1"
    body = "".join(statements).replace("least(", "lw.min(").replace("most(", "lw.max(")
    source = f"def nest(a, b):\n    n = a.shape[0]\n    if {inside}:\n        for i in range({bound}):\n{body}"
    agree(source, 2, (16, 17, 40, 66, 131, 263), rng.choice([np.uint8, np.int32, np.float64]))


def test_what_is_known_of_a_loop_is_in_its_text() -> None:
    source = "def nest(a):\n    n = a.shape[0]\n    for i in range(n // 2):\n        t = a[i]\n        a[i] = a[n - 1 - i]\n        a[n - 1 - i] = t\n"
    text = str(nest_from(source).compile(np.zeros(9), keep=True, target="x86-64-v3").ir("nests"))
    assert "lanes free" in text
    read = parse(text)
    assert isinstance(read, Function) and print_function(read).splitlines()[1:] == text.rstrip("\n").splitlines()[1:]
