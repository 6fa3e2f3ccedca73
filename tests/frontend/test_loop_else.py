# ruff: noqa
"""``else`` after loops, ``in`` of run-time values, and powers of integers: what Python gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.from_text import kernel_from

import loopwright as lw

X = np.array([3, -1, 2, 7, 0, -4, 2, 9, 32, 10], np.int64)

BODIES = [
    "for i in range(len(x)):|    if x[i] > 100:|        break|else:|    z[0] = 7",
    "at = 0|for i in range(len(x)):|    at = i|    if x[i] > 5:|        break|else:|    z[0] = 7|z[1] = at",
    "for r in range(len(x)):|    for j in range(r):|        if x[j] == x[r]:|            z[r] = j|            break|    else:|        z[r] = -1",
    "for r in range(len(x)):|    for j in (1, 3, 5):|        if x[j] == x[r]:|            break|    else:|        z[r] = 4",
    "i = 0|while i < len(x):|    if x[i] == 7:|        break|    i += 1|else:|    z[0] = 1|z[1] = i",
    "i = 0|while i < len(x):|    i += 1|else:|    z[0] = i",
    "for i in range(3):|    z[i] = i|else:|    z[5] = x[0]",
    "for r in range(len(x)):|    for j in range(3):|        for k in range(j):|            if x[k] > x[r]:|                break|        else:|            if x[j] < 0:|                break|            z[r] += 1|    else:|        z[r] += 10",
    "for r in range(len(x)):|    for j in range(3):|        match x[j]:|            case 2:|                z[r] = 1|            case 3:|                if x[r] > 2:|                    break|    else:|        z[r] = 5",
    "for r in range(len(x)):|    for j in range(x[r]):|        if j == 4:|            continue|        if j > 7:|            break|        z[r] += j|    else:|        continue|    z[r] = -z[r]",
    "for i in range(len(x)):|    z[i] = 1 if x[i] in (2, 7, 9) else 0",
    "for i in range(len(x)):|    if x[i] not in [2, 7, x[0]]:|        z[i] = x[i]",
    "for i in range(len(x)):|    z[i] += abs(x[i]) in b' \\t\\n'|    z[i] += 10 * (x[i] in {0, 2}) + 100 * (x[i] in range(2, 9)) + 1000 * (x[i] in range(9, -5, -3))",
    "for i in range(len(x)):|    z[i] = 5 if 2 in (x[i], 3) or 'a' in 'abc' and x[i] in () else 6",
    "for i in range(len(x)):|    z[i] = 2 ** (x[i] & 7) + x[i] ** (i % 5) + (x[i] ** x[0])",
    "z[0] = x.size",
    "for i in range(len(x)):|    if x[i] > 5:|        r = i|        break|else:|    r = -1|z[0] = r",
    "for i in range(len(x)):|    if x[i] > 50:|        r, q = i, x[i]|        break|else:|    q = r = -1|z[0] = r + q",
    "i = 0|while i < len(x):|    if x[i] == 7:|        r = x[i] > 3|        break|    i += 1|else:|    r = False|z[0] = 1 if r else 2",
    "for k in range(3):|    if x[k] > 5:|        r = k|        break|else:|    r = -1|z[0] = r",
    "for r in range(len(x)):|    for j in range(r):|        if x[j] == x[r]:|            at = j|            break|    else:|        at = 100 + r|    z[r] = at",
    "r = 5|for i in range(len(x)):|    if x[i] > 5:|        if x[i] > 8:|            r = i|        break|else:|    r = -1|z[0] = r",
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("options", [{}, {"check": True}, {"nests": "off"}], ids=str)
def test_statements(body: str, options: Any) -> None:
    kernel, plain = kernel_from("x: lw.Array[lw.i64], z: lw.Array[lw.i64]", body.replace("|", "\n"), **options)
    made, want = np.zeros(10, np.int64), np.zeros(10, np.int64)
    kernel(X, made)
    plain(X, want)
    assert made.tolist() == want.tolist()


def test_in_lanes_and_of_floats() -> None:
    def k(x: lw.Array[lw.f32], c: lw.Array[lw.u8], z: lw.Array[lw.i32]):
        for i in lw.lanes(len(x)):
            z[i] = (x[i] in (0.5, 2)) + 2 * (c[i] in b"0123456789") + 4 * (x[i] in range(3)) + 8 * lw.i32(c[i] ** (c[i] & 3))

    x, c = np.array([0.5, 1, 2, 2.5, 7] * 5, np.float32), np.arange(40, 65, dtype=np.uint8)
    made, want = np.zeros(25, np.int32), np.zeros(25, np.int32)
    lw.kernel(k)(x, c, made)
    with np.errstate(all="ignore"):
        k(x, c, want)
    assert made.tolist() == want.tolist()


def test_the_number_of_elements() -> None:
    def k(x: lw.Array[lw.f32, 3], z: lw.Array[lw.i64]):
        z[0] = x.size

    z = np.zeros(1, np.int64)
    lw.kernel(k)(np.zeros((3, 4, 5), np.float32), z)
    assert z[0] == 60


def test_membership_of_an_array_is_told_of() -> None:
    def k(x: lw.Array[lw.f32], z: lw.Array[lw.i64]):
        z[0] = 1 if x[0] in x else 2

    with pytest.raises(lw.KernelTypeError, match=r"`in` of an array: write any\(v == x for x in x\)"):
        lw.kernel(k)(np.zeros(3, np.float32), np.zeros(1, np.int64))
