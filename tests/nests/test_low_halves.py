"""Variables of 64 bits of which the lower half alone is used, in 32 bits: the same results."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.from_text import nest_from

import loopwright as lw

POOL = """
def nest(a, b, c):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            best = a[2 * i, 2 * j]
            where = lw.i64(-1)
            for u in range(3):
                for v in range(3):
                    x = a[2 * i + u, 2 * j + v]
                    if x > best:
                        best = x
                        where = (2 * i + u) * {factor} + 2 * j + v
            b[i, j] = best
            c[i, j] = lw.{to}({used})
"""


@pytest.mark.parametrize("factor", ["a.shape[1]", "4294967291"])
@pytest.mark.parametrize(
    ("to", "used", "narrow"),
    [
        ("i32", "where", True),
        ("u32", "where * 3 - 1", True),
        ("u8", "where", True),
        ("i32", "where // 3", False),
        ("i64", "where", False),
        ("i32", "where - c[i, j]", True),
    ],
)
def test_where_the_greatest_is(to: str, used: str, narrow: bool, factor: str) -> None:
    source = POOL.format(to=to, used=used, factor=factor)
    fast, plain = nest_from(source), nest_from(source, nests="off")
    for rows, columns in ((0, 0), (1, 1), (3, 17), (5, 70)):
        a = np.random.default_rng(columns).integers(0, 9, (2 * rows + 2, 2 * columns + 2)).astype(np.float32)
        b, c = np.zeros((rows, columns), np.float32), np.ones((rows, columns), getattr(lw, to).dtype)
        wanted = [b.copy(), c.copy()]
        plain(a, *wanted)
        fast(a, b, c)
        np.testing.assert_array_equal(b, wanted[0])
        np.testing.assert_array_equal(c, wanted[1])
    text = str(fast.compile(a, b, c, keep=True, target="x86-64-v4").ir("nests"))
    assert (re.search(r"var %where\S*: i64|select.i64", text) is None) == narrow
    assert "lanes" in text or not narrow


def test_an_index_as_well_stays_wide() -> None:
    source = """
def nest(a, b, c):
    for i in range(a.shape[0]):
        at = lw.i64(0)
        for j in range(1, a.shape[1]):
            if a[i, j] < a[i, at]:
                at = j
        b[i, 0] = a[i, at]
        c[i, 0] = lw.i32(at)
"""
    fast, plain = nest_from(source), nest_from(source, nests="off")
    a = np.random.default_rng(0).integers(0, 99, (7, 300)).astype(np.float64)
    results = []
    for made in (fast, plain):
        b, c = np.zeros((7, 1)), np.zeros((7, 1), np.int32)
        made(a, b, c)
        results.append((b, c))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])
