"""Subscripts in which an index is added and taken away again: results as written, and no access outside of an array."""

from __future__ import annotations

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.from_text import nest_from

BODIES = [
    "for i in range(n):|        a[n - 1 - i + i] += b[n - 1 - i]",
    "for i in range(n):|        a[2 * i - i - i] += b[i]",
    "for i in range(n):|        for j in range(n):|            a[i + j - j] += b[j]",
    "for i in range(n):|        for j in range(n):|            a[i - i + j] = a[j + i - i] * 2 + b[i]",
    "for i in range(n - 1):|        a[i + 1] = a[n - 1 - i + i] + b[n + i - i - 1]",
    "for i in range(n):|        for j in range(n):|            s = j - i|            a[s + i] = b[j - s] + a[i + s]",
    "for i in range(n):|        h = i + 1|        if h >= n:|            h = 0|        a[h] = 1|        a[i - i % 8] -= 1",
    "for i in range(n):|        for j in range(0, n, 2):|            a[i - i % 8] += b[j]",
    "for i in range(n):|        a[i // 4 * 4] += b[i]",
    "for i in range(1, n):|        a[i] = b[i - i % 8]",
    "for i in range(2, n):|        a[i - i % 8] = i",
    "for i in range(n):|        a[(n - i + (i - i % 4)) % n] = 1",
    "for i in range(3, n):|        a[i - i % 4] += b[i - (i - 1) % 4]",
    "for i in range(n):|        if b[i - i] > 3:|            a[n - i + i - 1] = b[i]",
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("element", [np.int32, np.uint8, np.int64])
def test_as_written(body: str, element: type) -> None:
    text = body.replace("|", "\n")
    source = f"def nest(a, b):\n    n = a.shape[0]\n    {text}\n"
    kernel, plain = nest_from(source), nest_from(source, nests="off")
    for n in (1, 2, 3, 8, 17, 40):
        rng = np.random.default_rng(n)
        a, b = rng.integers(0, 9, n).astype(element), rng.integers(0, 9, n).astype(element)
        for at_end in (True, False):
            wanted, found = a.copy(), guarded(a, at_end)
            plain(wanted, b)
            kernel(found, guarded(b, at_end))
            assert found.tolist() == wanted.tolist()
