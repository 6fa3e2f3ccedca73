"""``lw.philox`` against NumPy's generator and the known answers of Random123; ``lw.uniform`` against NumPy's ``random``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.errors import KernelTypeError

KEY = 0x1234_5678_9ABC_DEF0_0FED_CBA9_8765_4321


@lw.kernel
def drawn(out: lw.Array[lw.u64], k: lw.u64, high: lw.u64):
    for i in lw.lanes(len(out) // 4):
        out[4 * i], out[4 * i + 1], out[4 * i + 2], out[4 * i + 3] = lw.philox((i + 1, 0, 2**64 - 1), (k, high))


@lw.kernel
def drawn_in_order(out: lw.Array[lw.u64], key: lw.Const):
    for i in lw.range(len(out) // 4):
        out[4 * i], out[4 * i + 1], out[4 * i + 2], out[4 * i + 3] = lw.philox((lw.i32(i) + 1, 0, 2**64 - 1), key)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
def test_numbers_are_numpys(runner: Runner) -> None:
    want = np.random.Philox(key=KEY, counter=(2**64 - 1) << 128).random_raw(4 * 37)

    def compare(_: Any) -> None:
        assert np.array_equal(out, want)

    out = np.zeros_like(want)
    runner.run(runner.compiled(drawn, lw.Array[lw.u64], lw.u64, lw.u64), [out, KEY & 2**64 - 1, KEY >> 64], compare)
    out = np.zeros_like(want)
    runner.run(runner.compiled(drawn_in_order, lw.Array[lw.u64], KEY), [out], compare)


#: Random123's file kat_vectors: counter, key, result, the lowest word first.
KNOWN: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0), (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]


@lw.kernel
def of_32_bits(counters: lw.Array[lw.u32, 2], keys: lw.Array[lw.u32, 2], out: lw.Array[lw.u32, 2]):
    for i in lw.lanes(counters.shape[1]):
        out[0, i], out[1, i], out[2, i], out[3, i] = lw.philox32([counters[k, i] for k in range(4)], (keys[0, i], keys[1, i]))


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
def test_words_of_32_bits_give_the_known_answers(runner: Runner) -> None:
    counters, keys, want = [np.ascontiguousarray(np.resize(np.array([row[k] for row in KNOWN], np.uint32), (19, len(KNOWN[0][k]))).T) for k in range(3)]
    out = np.zeros_like(want)

    def compare(_: Any) -> None:
        assert np.array_equal(out, want)

    array = lw.Array[lw.u32, 2]
    runner.run(runner.compiled(of_32_bits, array, array, array), [counters, keys, out], compare)


def test_constants_are_known_while_compiling() -> None:
    for counter, key, want in KNOWN:
        assert lw.philox32(counter, key) == want and isinstance(lw.philox32(counter, key)[0], np.uint32)
        whole = sum(word << 32 * k for k, word in enumerate(counter))
        assert lw.philox32(whole, key[0] | key[1] << 32) == want
    assert list(lw.philox(5, KEY)) == np.random.Philox(key=KEY, counter=4).random_raw(4).tolist()
    assert lw.uniform(lw.u64(2**64 - 1)) == 1 - 2.0**-53 and lw.uniform(lw.u32(2**32 - 1)) == np.float32(1 - 2.0**-24)


def test_uniform_numbers_are_numpys() -> None:
    @lw.kernel
    def uniform(bits: lw.Array, out: lw.Array):
        for i in lw.lanes(len(bits)):
            out[i] = lw.uniform(bits[i])

    bits = np.random.Philox(key=7).random_raw(101)
    doubles = np.empty(101)
    uniform(bits, doubles)
    assert np.array_equal(doubles, np.random.Generator(np.random.Philox(key=7)).random(101))
    # NumPy takes the lower half of a number first.
    singles = np.empty(202, np.float32)
    uniform(bits.view(np.uint32), singles)
    assert np.array_equal(singles, np.random.Generator(np.random.Philox(key=7)).random(202, np.float32))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: lw.philox(1.5, 0), "takes integers as its counter, not"),
        (lambda: lw.philox(-1, 0), r"a counter from 0 to 2\*\*256 - 1"),
        (lambda: lw.philox32((2**32, 0), 0), r"a counter from 0 to 2\*\*32 - 1"),
        (lambda: lw.philox(0, (1, 2, 3)), "a key of up to 2 words, not 3"),
        (lambda: lw.uniform(5), "takes random bits, u32 or u64"),
        (lambda: lw.uniform(lw.i32(5)), "takes random bits, u32 or u64, not i32"),
    ],
)
def test_what_is_no_counter_is_refused(ask: Any, message: str) -> None:
    with pytest.raises(KernelTypeError, match=message):
        ask()


@lw.kernel
def of_a_float(x: lw.Array[lw.f32], out: lw.Array[lw.u64]):
    out[0] = lw.philox(x[0], 1)[0]


def test_a_float_is_refused_with_its_line() -> None:
    with pytest.raises(KernelTypeError, match=r"lw.philox takes integers as its counter, not f32: convert it, as in lw.u64\(x\)"):
        of_a_float.compile()
