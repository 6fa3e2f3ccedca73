"""Programs for the Multiclet benchmark: versions of our own of the kinds of work that Whetstone and CoreMark do, without the elementary functions and the
checksums over all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import loopwright as lw

Make = Callable[[], tuple[Any, ...]]


@lw.kernel(nests="off", contract=False)
def sums_of_four(e: lw.Array[lw.f64], rounds: lw.i32, t: lw.f64):
    """Four numbers in memory, each a sum of all (the array modules of Whetstone)."""
    for _ in lw.range(rounds):
        e[0] = (e[0] + e[1] + e[2] - e[3]) * t
        e[1] = (e[0] + e[1] - e[2] + e[3]) * t
        e[2] = (e[0] - e[1] + e[2] + e[3]) * t
        e[3] = (e[1] - e[0] + e[2] + e[3]) / 2.0


@lw.kernel(nests="off", contract=False)
def scalars_of_four(rounds: lw.i32, t: lw.f64) -> lw.f64:
    """The same in variables."""
    a, b, c, d = lw.f64(1.0), lw.f64(-1.0), lw.f64(-1.0), lw.f64(-1.0)
    for _ in lw.range(rounds):
        a = (a + b + c - d) * t
        b = (a + b - c + d) * t
        c = (a - b + c + d) * t
        d = (b - a + c + d) * t
    return a + b + c + d


@lw.kernel(nests="off")
def conditions(rounds: lw.i32) -> lw.i32:
    """A number that comparisons send from one value to another."""
    j = lw.i32(1)
    for _ in lw.range(rounds):
        j = lw.i32(2) if j == 1 else lw.i32(3)
        if j > 2:
            j = lw.i32(0)
        if j < 1:
            j = lw.i32(1)
    return j


@lw.kernel(nests="off", contract=False)
def integers(e: lw.Array[lw.f64], rounds: lw.i32) -> lw.i32:
    """Products and differences of integers that choose elements."""
    j, k, m = lw.i32(1), lw.i32(2), lw.i32(3)
    for _ in lw.range(rounds):
        j = j * (k - j) * (m - k)
        k = m * k - (m - j) * k
        m = (m - k) * (k + j)
        e[m - 2] = lw.f64(j + k + m)
        e[k - 2] = lw.f64(j * k * m)
    return j + k + m


@lw.kernel(nests="off")
def list_found(after: lw.Array[lw.i32], value: lw.Array[lw.i32], wanted: lw.i32) -> lw.i32:
    """Walks a list to a value, turning it round on its way."""
    at, before, found = lw.i32(0), lw.i32(-1), lw.i32(-1)
    while at >= 0:
        following = after[at]
        if value[at] == wanted:
            found = at
        after[at] = before
        before = at
        at = following
    return found


@lw.kernel(nests="off")
def matrix(a: lw.Array[lw.i16], b: lw.Array[lw.i16], c: lw.Array[lw.i32], n: lw.i64) -> lw.i32:
    """A product of matrices, and a total that begins anew where it becomes large."""
    total = lw.i32(0)
    for i in lw.range(n):
        for j in lw.range(n):
            s = lw.i32(0)
            for k in lw.range(n):
                s += lw.i32(a[i * n + k]) * lw.i32(b[k * n + j])
            c[i * n + j] = s
            total += s
            if total > 10000:
                total = lw.i32(0)
    return total


@lw.kernel(nests="off")
def numbers_seen(text: lw.Array[lw.u8], counts: lw.Array[lw.i32]):
    """A state machine that tells integers, fractions and neither in a text."""
    state = lw.i32(0)
    for i in lw.range(len(text)):
        c = text[i]
        if c == 44:
            counts[state] += 1
            state = lw.i32(0)
        elif state == 0:
            if c >= 48 and c <= 57:
                state = lw.i32(1)
            elif c == 43 or c == 45:
                state = lw.i32(2)
            else:
                state = lw.i32(4)
        elif state == 1 or state == 2:
            if c == 46:
                state = lw.i32(3)
            elif c < 48 or c > 57:
                state = lw.i32(4)
        elif state == 3 and (c < 48 or c > 57):
            state = lw.i32(4)


@lw.kernel(nests="off")
def checksum(data: lw.Array[lw.u8]) -> lw.u16:
    """A cyclic checksum of 16 bits, bit by bit."""
    crc = lw.u16(0)
    for i in lw.range(len(data)):
        byte = lw.u16(data[i])
        for _ in lw.range(8):
            low = (byte ^ crc) & lw.u16(1)
            byte = byte >> lw.u16(1)
            crc = crc >> lw.u16(1)
            if low != 0:
                crc = crc ^ lw.u16(0xA001)
    return crc


def _list() -> tuple[Any, ...]:
    order = np.random.default_rng(1).permutation(np.arange(1, 60))
    after = np.full(60, -1, np.int32)
    at = 0
    for each in order:
        after[at] = each
        at = int(each)
    return after, np.arange(60, dtype=np.int32) * 7, np.int32(7 * int(order[40]))


def _matrices() -> tuple[Any, ...]:
    rng = np.random.default_rng(2)
    return rng.integers(-99, 99, 81, dtype=np.int16), rng.integers(-99, 99, 81, dtype=np.int16), np.zeros(81, np.int32), 9


def _text() -> tuple[Any, ...]:
    text = b"5012,1234,-874,+122,35.54400,.1234500,-110.700,+0.64400,5.500e+3,T0.3e-1F,-T.T++Tq,1T3.4e4z," * 4
    return np.frombuffer(text, np.uint8).copy(), np.zeros(8, np.int32)


#: (kernel, its arguments) of each program.
PROGRAMS: dict[str, list[tuple[Any, Make]]] = {
    "Whetstone-like": [
        (sums_of_four, lambda: (np.array([1.0, -1.0, -1.0, -1.0]), np.int32(60), 0.499975)),
        (scalars_of_four, lambda: (np.int32(60), 0.499975)),
        (conditions, lambda: (np.int32(300),)),
        (integers, lambda: (np.zeros(8), np.int32(120))),
    ],
    "CoreMark-like": [
        (list_found, _list),
        (matrix, _matrices),
        (numbers_seen, _text),
        (checksum, lambda: (np.arange(40, dtype=np.uint8) * 5,)),
    ],
}
