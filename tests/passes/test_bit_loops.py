"""Loops that go through the bits of a number: found, with the results of the text; what only looks like one stays a loop."""

from __future__ import annotations

import linecache
import re
import warnings
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

#: Lines apart by ``|``, with the types they are for and the operations they become.
FOUND = {
    "while v:|    v &= v - 1|    n += 1": ("u8 i16 u32 i32 u64 i64", "popcount"),
    "while v != 0:|    n = n + 3|    m -= 1|    v = (v - 1) & v": ("u8 i32 i64", "popcount"),
    "while v > 0:|    v &= v - 1|    n += 1": ("u16 i32 i64", "popcount"),
    "while v:|    n += v & 1|    v >>= 1": ("u8 u16 u32 u64", "popcount"),
    "while v > 0:|    n += v % 2|    m += 1|    v //= 2": ("u8 i16 i32 u64 i64", "popcount leading_zeros"),
    "while v > 0:|    if v & 1:|        n += 5|    v = v >> 1": ("i8 u32 i64", "popcount"),
    "while v:|    if v % 2 == 1:|        n -= 1|    m ^= v & 1|    v >>= 1": ("u8 u32", "popcount"),
    "while v:|    n ^= v & 1|    v >>= 1": ("u8 u32 u64", "popcount"),
    "while v:|    m += 1|    v >>= 1": ("u8 u16 u32 u64", "leading_zeros"),
    "while v > 0:|    v >>= 1|    m += i|    n += 2": ("i64", "leading_zeros"),
    "v |= 64|while v & 1 == 0:|    v >>= 1|    n += 1": ("u8 i16 u32 i32 u64 i64", "trailing_zeros"),
    "v |= 8|while v % 2 == 0:|    v //= 2": ("u8 i32 i64", "trailing_zeros"),
    "while v:|    v &= v - 1": ("u32 i64", ""),
}
KEPT = {
    "while v > 1:|    v >>= 1|    n += 1": "u32 i32",
    "while v:|    v &= v - 2|    v >>= 1|    n += 1": "u32",
    "while v:|    v >>= 2|    n += 1": "u32",
    "while v:|    v >>= 1|    n += v & 1": "u32",
    "while v:|    n += v & 3|    v >>= 1": "u32",
    "while v:|    n += n & 1|    v >>= 1": "u32",
    "while v:|    n += 1|    if n < 20:|        v >>= 1|    else:|        v >>= 1": "u32",
    "while v:|    n += m|    m += 1|    v >>= 1": "u32",
    "while v:|    n = n * 3 + 1|    v &= v - 1": "i64",
    "while v > 0:|    if v & 2:|        n += 1|    v >>= 1": "i32",
    "while v:|    n += 1|    if n > 4:|        break|    v >>= 1": "u32",
    "while v:|    z[i] = n|    n += 1|    v >>= 1": "u32",
}


def kernel_of(body: str, type_: str, total: str) -> Any:
    lines = "".join(f"        {line}\n" for line in re.split(r"[|](?!=)", body))
    arrays = f"x: lw.Array[lw.{type_}], y: lw.Array[lw.{type_}], z: lw.Array[lw.{total}], w: lw.Array[lw.{total}]"
    text = f"@lw.kernel\ndef k({arrays}):\n    for i in lw.range(len(x)):\n        v = x[i]\n        n = lw.{total}(1)\n        m = lw.{total}(2)\n{lines}"
    text += "        y[i] = v\n        z[i] = n\n        w[i] = m\n"
    file = f"<bits {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"lw": lw}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 (texts of this file alone)
    return scope["k"]


def results(kernel: Any, x: Any, total: Any) -> list[Any]:
    """What the text comes to, run as Python."""
    made = [np.zeros_like(x), np.zeros(len(x), total), np.zeros(len(x), total)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel.function(x, *made)
    return made


def numbers(type_: str) -> Any:
    info = np.iinfo(NUMPY[type_])
    edges = [0, 1, 2, 3, 8, 64, 96, info.max, info.max - 1, info.min, info.min + 1, info.min | 6]
    drawn = np.random.default_rng(5).integers(info.min, info.max, 40, dtype=NUMPY[type_], endpoint=True)
    return np.concatenate([np.array(edges, NUMPY[type_]), drawn, drawn >> NUMPY[type_](info.bits - 5)])


NUMPY: dict[str, Any] = {"u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16, "u32": np.uint32, "i32": np.int32, "u64": np.uint64, "i64": np.int64}
CASES = [(body, type_) for body, (types, _) in FOUND.items() for type_ in types.split()]


@pytest.mark.parametrize("body", FOUND)
def test_loops_through_bits_are_found(body: str) -> None:
    types, names = FOUND[body]
    for type_ in types.split():
        # (A total of the type of the bits needs no conversion; one of another does.)
        for total in {type_, "i32"} if not re.search(r"= v [&%]|= i", body) else {type_}:
            text = kernel_of(body, type_, total).compile(target="x86-64-v3").ir("promote")
            assert "while" not in text, (type_, total)
            assert {name for name in ("popcount", "leading_zeros", "trailing_zeros") if name in text} == set(names.split())


@pytest.mark.parametrize("body", KEPT)
def test_what_only_looks_like_it_stays(body: str) -> None:
    for type_ in KEPT[body].split():
        kernel = kernel_of(body, type_, type_)
        assert "while" in kernel.compile(target="x86-64-v3").ir("promote"), type_
        if "n * 3" not in body:
            x = np.abs(numbers(type_).astype(np.int64)).astype(NUMPY[type_])
            got = [np.zeros_like(x) for _ in range(3)]
            kernel(x, *got)
            assert all((a == b).all() for a, b in zip(got, results(kernel, x, NUMPY[type_]), strict=True))


def test_a_signed_number_that_is_shifted_until_it_is_0_stays() -> None:
    # (Of a negative one there is no end.)
    assert "while" in kernel_of("while v:|    v >>= 1|    n += 1", "i32", "i32").compile(target="x86-64-v3").ir("promote")


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
def test_results_are_those_of_the_text(runner: Runner) -> None:
    for body, type_ in CASES:
        kernel = kernel_of(body, type_, type_)
        x = numbers(type_)
        want = results(kernel, x, NUMPY[type_])
        got = [np.zeros_like(made) for made in want]

        def compare(_: Any, body: str = body, type_: str = type_, got: Any = got, want: Any = want) -> None:
            assert all((a == b).all() for a, b in zip(got, want, strict=True)), (body, type_)

        runner.run(runner.compiled(kernel), [x, *got], compare)


def test_the_loop_around_it_has_lanes() -> None:
    code = kernel_of("while v:|    v &= v - 1|    n += 1", "u32", "u32").compile(target="x86-64-v4")
    assert "zmm" in code.asm()
