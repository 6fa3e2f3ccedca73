"""Short innermost loops that run as written are unrolled where that gains something, and give what they gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel
def numbers(x: lw.Array[lw.u8], out: lw.Array[lw.i64], count: lw.Array[lw.i64]):
    v = lw.i64(0)
    k = 0
    for i in range(len(x)):
        q = lw.i64(x[i])
        if q == 44:
            out[k] = v
            k += 1
            v = lw.i64(0)
        else:
            v = v * 10 + (q - 48)
    count[0] = k


@lw.kernel
def words(x: lw.Array[lw.u8], out: lw.Array[lw.i64], count: lw.Array[lw.i64]):
    found = lw.i64(0)
    lines = lw.i64(0)
    state = 0
    for i in range(len(x)):
        c = x[i]
        if (c >= 97 and c <= 122) or (c >= 65 and c <= 90):
            if state != 1:
                found += 1
            state = 1
        elif c >= 48 and c <= 57:
            if state == 0:
                lines += 2
                state = 2
        else:
            if c == 10:
                lines += 1
            state = 0
    count[0] = found * 1000 + lines


@lw.kernel
def pairs(x: lw.Array[lw.u8], out: lw.Array[lw.i64], count: lw.Array[lw.i64]):
    for i in range(1, len(x)):
        out[(lw.i64(x[i - 1]) & 7) * 8 + (lw.i64(x[i]) & 7)] += 1
    count[0] = out[0]


@lw.kernel
def scattered(x: lw.Array[lw.u8], out: lw.Array[lw.i64], count: lw.Array[lw.i64]):
    for i in range(len(x)):
        q = (lw.i64(x[i]) >> 2) & 15
        out[q + 16] = (out[q] ^ i) * 5 + i
        out[q] += 1
    count[0] = out[0]


@lw.kernel
def switched(x: lw.Array[lw.u8], out: lw.Array[lw.i64], count: lw.Array[lw.i64]):
    state = lw.i64(0)
    for i in range(len(x)):
        if x[i] > 90:
            state = lw.i64(1)
        elif x[i] < 50:
            state = lw.i64(0)
        out[i] = state
    count[0] = state


@lw.kernel
def walk(x: lw.Array[lw.u8], out: lw.Array[lw.i64], count: lw.Array[lw.i64]):
    state = lw.i64(0)
    for i in range(len(x)):
        state = (out[state] + lw.i64(x[i])) & 31
    count[0] = state


@lw.kernel
def halved(x: lw.Array[lw.u8], out: lw.Array[lw.i64], count: lw.Array[lw.i64]):
    v = lw.i64(99)
    for i in range(len(x)):
        if x[i] > 90:
            v = v // (lw.i64(x[i]) + 1) + 300
            out[i] = v
    count[0] = v


@lw.kernel
def checksum(x: lw.Array[lw.u8], out: lw.Array[lw.i64], count: lw.Array[lw.i64]):
    """What a running sum comes to is added up, and stored nowhere in the loop."""
    s = lw.i64(1)
    t = lw.i64(0)
    for i in range(len(x)):
        s += lw.i64(x[i])
        t += s
    count[0] = s * 65536 + t


ARRAYS = (lw.Array[lw.u8], lw.Array[lw.i64], lw.Array[lw.i64])


@pytest.mark.parametrize(
    ("kernel", "times"),
    [
        (numbers, 4),
        (words, 2),
        (pairs, 8),
        (scattered, 4),
        (checksum, 4),
        # Of choices, each waits for the one before; a table that is followed, and divisions, take longer than jumping back.
        (switched, 1),
        (walk, 1),
        (halved, 1),
    ],
)
def test_how_many_times(kernel: Any, times: int) -> None:
    text = str(kernel.compile(*ARRAYS, target="x86-64-v4").nests())
    assert (f"unroll(i={times})" in text) == (times > 1) and (times > 1 or "unroll" not in text), text


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("kernel", [numbers, words, pairs, scattered, checksum, switched, walk, halved], ids=lambda kernel: kernel.__name__)
def test_the_results_are_those_of_the_loops_as_written(runner: Runner, kernel: Any) -> None:
    rng = np.random.default_rng(9)
    code = runner.compiled(kernel, *ARRAYS)
    for size in (0, 1, 3, 4, 7, 8, 9, 70):
        x = rng.choice(np.frombuffer(b"0123456789,, azAZ\n[~", np.uint8), size)
        out, count = np.arange(100, dtype=np.int64), np.zeros(1, np.int64)
        want, number = out.copy(), count.copy()
        with np.errstate(over="ignore"):
            kernel.function(x, want, number)
        runner.call(code, x, out, count)
        assert (out == want).all() and (count == number).all(), size


@lw.kernel
def counted_by_key(x: lw.Array[lw.u8], counts: lw.Array[lw.i32]):
    for i in range(len(x)):
        counts[x[i]] += 1


def test_a_histogram_stays_a_short_loop() -> None:
    assert not any("unroll" in step for nest in counted_by_key.compile(target="x86-64-v3").nests() for step in nest.done)


@lw.kernel(fastmath=True)
def added_by_key(key: lw.Array[lw.u8], x: lw.Array[lw.f32], sums: lw.Array[lw.f32]):
    for i in range(len(x)):
        sums[key[i] & 15] += x[i] * 0.5


def test_sums_by_key_keep_their_tables() -> None:
    """They are added up in pairs (``nests/idioms/keyed_sums.py``), which takes the loop as it is."""
    assert "sums.pairs" in str(added_by_key.compile(target="x86-64-v3").ir("nests"))


def test_what_a_branch_gives_a_variable_is_given_there() -> None:
    """Of a loop with branches no operation writes a variable in place of the copy in an arm."""
    source = """
def nest(t, w):
    last = t[0]
    for i in range(w.shape[0]):
        x = w[i, 1]
        y = w[i, 2]
        z = (x - y) * 3 - last
        if y * x == 6 and x < x + y:
            last = z
    t[1] = last
"""
    fast, plain = nest_from(source), nest_from(source, nests="off")
    for n in (1, 4, 17, 40, 257):
        w = np.random.default_rng(n).integers(-3, 4, (n, 3)).astype(np.float32)
        found, wanted = np.array([9, 0], np.float32), np.array([9, 0], np.float32)
        plain(wanted, w)
        fast(found, w)
        np.testing.assert_array_equal(found, wanted)
    assert "unroll(i=" in str(fast.compile(found, w).nests())
