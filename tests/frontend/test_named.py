"""``else`` after loops and ``:=`` in conditions: what Python makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.from_text import kernel_from

from loopwright.errors import KernelSyntaxError

PARAMETERS = "x: lw.Array[lw.f64], y: lw.Array[lw.f64], n: lw.i64"

BODIES = [
    "for i in range(n):\n    if x[i] > 5:\n        y[0] = i\n        break\nelse:\n    y[0] = -1",
    "for i in range(n):\n    y[i] = x[i]\nelse:\n    y[0] = -1",
    "i = 0\nwhile i < n:\n    if x[i] > 5:\n        break\n    i += 1\nelse:\n    y[1] = 1\ny[2] = i",
    "i = 0\nwhile i < n:\n    i += 1\n    if x[i - 1] > 5:\n        continue\n    if x[i - 1] == 3:\n        break\n    y[i] = 2\nelse:\n    y[1] = 1",
    "for k in (1, 2, 3):\n    if k == 2:\n        break\nelse:\n    y[0] = 1\nfor k in (1, 2, 3):\n    if x[k] > 100:\n        break\nelse:\n    y[1] = 7",
    "for k in (1, 2, 3):\n    if x[k] == 4:\n        y[0] = k\n        break\nelse:\n    y[1] = 7",
    "for i in range(n):\n    for j in range(i):\n        if x[j] == x[i]:\n            break\n    else:\n        y[i] = 1\n        if x[i] == 6:\n            break\nelse:\n    y[0] += 10",
    "for i in range(n):\n    j = 0\n    while j < i:\n        if x[j] > x[i]:\n            break\n        j += 1\n    else:\n        continue\n    y[i] = j",
    "for i in range(n):\n    match i % 3:\n        case 1:\n            y[i] = 1\n        case 2:\n            if x[i] > 4:\n                break\nelse:\n    y[0] = 5",
    "for v in x:\n    if v == 6:\n        break\nelse:\n    y[0] = 3",
    "i = 0\nwhile i < n and (v := x[i]) < 6:\n    i += 1\n    if v == 3:\n        continue\n    y[i - 1] = v",
    "i = 0\nwhile i < n and (v := x[i]) < 6:\n    i += 1\n    if v == 5:\n        break\nelse:\n    y[0] = i",
    "i = 0\nwhile (v := x[i]) < 6 and i < n - 1:\n    y[i] = v\n    i += 1\ny[i] = -v",
    "for i in range(n):\n    if (v := x[i] * 2) > 5:\n        y[i] = v\n    elif (w := v + 1) > 4:\n        y[i] = w\n    else:\n        y[i] = v - w",
    "for i in range(n):\n    if i > 0 and (v := x[i] - x[i - 1]) > 0 and (w := v * 2) > 3:\n        y[i] = v + w",
    "for i in range(n):\n    if 1 < (v := x[i]) < 5:\n        y[i] = v",
    "for i in range(n):\n    if abs(v := x[i] - 3) > 1:\n        y[i] = v",
    "for i in range(n):\n    if not (v := x[i] > 3):\n        y[i] = 1\n    if v:\n        y[i] += 2",
    "for i in range(n):\n    if (v := x[i]) > (w := 6 - v):\n        y[i] = v - w",
    "v = 4.0\nfor i in range(n):\n    if v < (w := x[i]):\n        y[i] = v - w",
    "k = 5\nwhile (k := k - 1) > 0:\n    y[k] = k",
    "if (k := n * 2) > 3 or k < 0:\n    y[0] = k",
]


@pytest.mark.parametrize("body", BODIES)
def test_python_says_the_same(body: str) -> None:
    for check in (False, True):
        made, function = kernel_from(PARAMETERS, body, check=check)
        for seed in range(4):
            x = np.random.default_rng(seed).integers(0, 7 if seed else 3, 12).astype(float)
            for n in (1, 2, 7, 12):
                mine, theirs = np.zeros(13), np.zeros(13)
                function(x, theirs, n)
                made(x, mine, n)
                np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "body",
    [
        "if n > 3 or (v := x[0]) > 1:\n    y[0] = 1",
        "if n > 3 and (v := x[0]) > 1:\n    y[0] = v\nelse:\n    y[0] = 2",
        "v = 1.0\nif v < (v := x[0]):\n    y[0] = v",
        "if x[0] < (v := x[1]):\n    y[0] = v",
        "y[0] = (v := x[0]) + v",
        "if 0 < n < (k := n * 2):\n    y[0] = k",
    ],
)
def test_assignments_that_are_refused(body: str) -> None:
    with pytest.raises(KernelSyntaxError, match="`:=` cannot stand in a kernel"):
        kernel_from(PARAMETERS, body)[0].compile()
