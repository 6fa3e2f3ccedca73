"""Lanes of bytes and other narrow numbers in 16 bits: where a quotient, a comparison or an extreme fits, and never otherwise; beside the loop as written."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import loopwright as lw

V3 = "x86-64-v3"


def kernel_of(value: str, source: str, to: str, **options: Any) -> Any:
    """A kernel that stores ``value`` of ``x[i]``, ``y[i]`` and ``z[i]``."""
    text = f"def k(x, y, z, out):\n    for i in lw.range(len(out)):\n        out[i] = lw.{to}({value})\n"
    scope: dict[str, Any] = {"lw": lw}
    exec(text, scope)  # noqa: S102 (texts of this file alone)
    function = scope["k"]
    function.__annotations__ = {**dict.fromkeys("xyz", lw.Array[getattr(lw, source)]), "out": lw.Array[getattr(lw, to)]}
    return lw.kernel(source=text, **options)(function)


def lanes_of(kernel: Any) -> str:
    """The body of the loop over lanes, behind the pass."""
    text: str = kernel.compile(target=V3).ir("nests")
    return text.split(" lanes", 1)[1].split("end")[0] if " lanes" in text else ""


X, Y, Z = (f"lw.i32({name}[i])" for name in "xyz")


@pytest.mark.parametrize(
    ("value", "source", "to", "operation"),
    [
        (f"({X} + {Y} + {Z}) // 3", "u8", "u8", "div_floor.u16"),
        (f"({X} + {Y} * 3) % 7", "u8", "u8", "rem_floor.u16"),
        (f"lw.max({X} - {Y}, {Z} - {X})", "u8", "i16", "max.i16"),
        (f"lw.min(abs({X} - {Y}) * 3 + {Z}, 300)", "u8", "i16", "min.i16"),
        (f"({X} * {Y} + {Z}) >> 9", "u8", "u8", "shr.u16"),
    ],
)
def test_what_fits_is_computed_in_16_bits(value: str, source: str, to: str, operation: str) -> None:
    assert operation in kernel_of(value, source, to).compile(target=V3).ir("nests")


@pytest.mark.parametrize(
    ("value", "source"),
    [
        (f"({X} * {Y} * 2) // 3", "u8"),  # up to 130050
        (f"({X} - {Y}) // 3", "u8"),  # a quotient of what may be negative
        (f"lw.max({X} - {Y}, {X} * {Y})", "u8"),  # neither of the types has both
        (f"({X} + {Y}) // 3", "u16"),
    ],
)
def test_what_does_not_fit_is_not(value: str, source: str) -> None:
    assert ".i32" in lanes_of(kernel_of(value, source, "u8"))


BITS = f"(1 if {X} >= {Y} else 0) | (4 if {Y} < {Z} else 0) | (lw.i32(128) if {Z} != {X} else lw.i32(0))"


@pytest.mark.parametrize(
    ("value", "source", "to", "operation"),
    [(BITS, "u8", "u8", "or.u8"), (f"{X} + {Y} - {Z}", "u8", "u8", "add.u8"), (BITS, "i16", "u8", "or.i16"), (BITS, "u8", "i16", "or.u16")],
)
def test_what_is_set_in_arms_is_narrow_too(value: str, source: str, to: str, operation: str) -> None:
    body = lanes_of(kernel_of(value, source, to))
    assert operation in body and ".i32" not in body
    given = [np.random.default_rng(k).integers(-90, 90, 83).astype({"u8": "u1", "i16": "i2"}[source]) for k in range(3)]
    got, want = (np.zeros(83, {"u8": "u1", "i16": "i2"}[to]) for _ in range(2))
    kernel_of(value, source, to)(*given, got)
    kernel_of(value, source, to, nests="off")(*given, want)
    np.testing.assert_array_equal(got, want)


def test_what_is_read_behind_the_loop_keeps_its_width() -> None:
    text = """def k(x, out):
    v = lw.i32(70000)
    for i in lw.range(len(out)):
        v = lw.i32(1000) if x[i] > 3 else lw.i32(7)
        out[i] = lw.u8(v)
    return v
"""
    scope: dict[str, Any] = {"lw": lw}
    exec(text, scope)  # noqa: S102 (the text above)
    scope["k"].__annotations__ = {"x": lw.Array[lw.u8], "out": lw.Array[lw.u8]}
    kernel = lw.kernel(source=text)(scope["k"])
    for n, last in ((0, 0), (1, 9), (40, 9), (40, 0)):
        x = np.zeros(n, np.uint8)
        x[-1:] = last
        out = np.zeros(n, np.uint8)
        assert kernel(x, out) == (70000 if not n else 1000 if last > 3 else 7)
        np.testing.assert_array_equal(out, np.where(x > 3, 1000 & 255, 7))


def random_value(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([X, Y, Z, X, Y, Z, str(rng.choice([1, 2, 3, 100, 255, 300]))])
    a, b = random_value(rng, depth - 1), random_value(rng, depth - 1)
    kind = rng.randrange(10)
    if kind < 4:
        return f"({a} {rng.choice('+-*+-')} {b})"
    if kind == 4:
        return f"({a} // {rng.choice([2, 3, 9, 16, 255])})"
    if kind == 5:
        return f"({a} % {rng.choice([2, 3, 9, 16])})"
    if kind == 6:
        return f"({a} >> {rng.choice([1, 4, 8])})"
    if kind == 7:
        return f"lw.{rng.choice(['min', 'max'])}({a}, {b})"
    if kind == 8:
        return f"abs({a} - {X})"
    return f"({a} if {b} {rng.choice(['<', '>', '==', '>='])} {X} else {random_value(rng, depth - 1)})"


@pytest.mark.parametrize("seed", range(12))
def test_random_values(seed: int) -> None:
    rng = random.Random(seed)
    narrowed = 0
    for _ in range(8):
        source, to = rng.choice(["u8", "u8", "i8", "i16"]), rng.choice(["u8", "i16", "u16"])
        value = random_value(rng, 3)
        if "[i]" not in value:
            continue
        kinds = np.iinfo({"u8": "u1", "i8": "i1", "i16": "i2"}[source])
        data = np.random.default_rng(seed)
        given = [data.integers(kinds.min, kinds.max, 83, endpoint=True).astype(kinds.dtype) for _ in range(3)]
        for a in given:
            a[:2] = kinds.min, kinds.max
        given[1][:2] = kinds.max, kinds.min
        got, want = (np.zeros(83, {"u8": "u1", "i16": "i2", "u16": "u2"}[to]) for _ in range(2))
        fast = kernel_of(value, source, to)
        fast(*given, got)
        kernel_of(value, source, to, nests="off")(*given, want)
        assert np.array_equal(got, want), (value, source, to)
        code = lanes_of(fast)
        narrowed += ".i32" not in code and any(operation in code for operation in ("div_floor", "rem_floor", "min", "max", "abs", "shr"))
    assert narrowed or seed
