"""Arrays that are passed twice: what a nest stores to one it loads from the other, in the order that is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from

#: Nests over ``a``, ``b`` and ``w`` of what is known while compiling; all that they access may be one array.
NESTS = {
    "a condition that an inner loop's store changes": "for i in range(n):|    v = 2|    for j in range(w):|        if b[i] + 1 <= 5:|            v += 1|        a[i] = v",
    "the same by a choice": "for i in range(n):|    v = 2|    for j in range(w):|        v += 1 if max(b[i], 0) <= 5 else 3|        a[i] = v",
    "again and again": "for t in range(w):|    for i in range(n):|        a[i] = b[i] * 3 + t",
    "sums of indices": "for i in range(n // 2):|    for j in range(w):|        a[i + j] = b[i + j] + j",
    "one element": "for i in range(n):|    for j in range(w):|        a[j] = b[j] + i",
    "loaded behind it": "s = 0|for i in range(n):|    a[i] = i|    s += b[i]|b[0] = s",
    "products": "for i in range(w):|    for j in range(w):|        for k in range(w):|            a[i] = a[i] + b[i] * k",
    "element by element": "for i in range(n):|    a[i] = b[i] * 2 + 1",
    "a row": "for j in range(w):|    for i in range(n):|        x = b[i] - j|        if x > 0:|            a[i] = x",
    "handed on": "left = 0|for i in range(n - 1):|    here = a[i]|    b[i + 1] = here + left|    left = here",
    "two parts": "s = 0|for i in range(n):|    a[i] = b[i] + 1|    s = s * 3 + b[i]|    a[i] = s & 15",
}


@pytest.mark.parametrize("element", [np.int32, np.int64, np.uint8, np.float64])
@pytest.mark.parametrize("name", NESTS)
def test_as_written(name: str, element: Any) -> None:
    if element is np.float64 and "&" in NESTS[name]:
        return
    body = NESTS[name].replace("|", "\n    ")
    source = f"def nest(a, b, c):\n    n = a.shape[0]\n    w = c.shape[0]\n    {body}\n"
    kernel, plain = nest_from(source), nest_from(source, nests="off")
    for n in (1, 2, 5, 16, 33, 100):
        for w in (0, 1, 2, 5, 9, 20):
            if w > n and ("a[j]" in body or "a[i + j]" in body or "products" in name):
                continue
            for apart in (0, 1, 3, -1):
                memory = [np.random.default_rng(n).integers(0, 9, 2 * n + 80).astype(element) for _ in range(2)]
                for each, data in zip((kernel, plain), memory, strict=True):
                    each(data[20 : 20 + n], data[20 + apart : 20 + apart + n], np.zeros(w))
                assert memory[0].tobytes() == memory[1].tobytes(), (n, w, apart)
