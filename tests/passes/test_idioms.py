"""Saturating sums, distances, averages and rotations as Python users write them: found, and with the results of the text; what only looks like one stays."""

from __future__ import annotations

import linecache
import random
import re
import warnings
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.ir.text import parse, print_function
from loopwright.ir.verify import verify
from loopwright.passes import idioms

V3 = "x86-64-v3"


def kernel_of(body: str, source: str = "u8", to: str = "u8", loop: str = "lw.lanes") -> Any:
    """The kernel that stores ``s`` to ``z[i]``, after lines apart by ``|`` without spaces."""
    lines = "".join(f"        {line}\n" for line in re.split(r"(?<! )\|", body))
    arrays = f"x: lw.Array[lw.{source}], y: lw.Array[lw.{source}], z: lw.Array[lw.{to}]"
    text = f"@lw.kernel\ndef k({arrays}):\n    for i in {loop}(len(x)):\n{lines}        z[i] = s\n"
    file = f"<idioms {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"lw": lw}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 (texts of this file alone)
    return scope["k"]


FOUND = {
    "s = lw.min(lw.i32(x[i]) + y[i], 255)": "add_saturated.u8",
    "s = lw.min(lw.u16(x[i]) + lw.u16(y[i]), 255)": "add_saturated.u8",
    "s = lw.min(x[i] + lw.i64(50), 255)": "add_saturated.u8",
    "s = lw.clamp(lw.i32(x[i]) + y[i], 0, 255)": "add_saturated.u8",
    "s = lw.i32(x[i]) + y[i]|s = 255 if s > 255 else s": "add_saturated.u8",
    "s = lw.i32(x[i]) + y[i]|if s > 255:|    s = lw.i32(255)": "add_saturated.u8",
    "s = lw.max(lw.i16(x[i]) - lw.i16(y[i]), 0)": "sub_saturated.u8",
    "s = lw.i16(x[i]) - lw.i16(y[i])|if s < 0:|    s = lw.i16(0)": "sub_saturated.u8",
    "s = abs(lw.i16(x[i]) - lw.i16(y[i]))": "abs_diff.u8",
    "s = lw.clamp((lw.i32(x[i]) - 20) * y[i] >> 4, 0, 255)": "convert_saturated.u8.i32",
    "s = (lw.u16(x[i]) + y[i] + 1) >> 1": "average_up.u8",
    "s = (lw.i32(x[i]) + y[i]) // 2": "average_down.u8",
}
KEPT = (
    "s = lw.min(lw.i32(x[i]) + y[i], 254)",
    "s = lw.max(lw.u16(x[i]) - lw.u16(y[i]), 0)",
    "s = lw.i32(x[i]) + y[i]|z[0] = s >> 3|s = lw.min(s, 255)",
    "s = abs(lw.u16(x[i]) - lw.u16(y[i]))",
    "s = (lw.i32(x[i]) + y[i] + 2) >> 1",
)


@pytest.mark.parametrize("loop", ["lw.lanes", "lw.range"])
@pytest.mark.parametrize("body", FOUND)
def test_what_is_written_in_wider_integers_is_found(body: str, loop: str) -> None:
    code = kernel_of(body, loop=loop).compile(target=V3)
    assert FOUND[body] in code.ir("promote")
    # Bytes all the way: as many lanes as a vector has.
    assert "vpmovzx" not in code.asm() or "convert" in FOUND[body]


@pytest.mark.parametrize("body", KEPT)
def test_what_only_looks_like_it_stays(body: str) -> None:
    text = kernel_of(body, loop="lw.range").compile(target=V3).ir("promote")
    assert not any(name in text for name in ("_saturated", "abs_diff", "average"))


def test_the_sign_of_the_result_may_be_the_other() -> None:
    kernel = kernel_of("s = abs(lw.i16(x[i]) - lw.i16(y[i]))", source="i8", to="u8")
    assert "abs_diff.i8" in kernel.compile(target=V3).ir("promote")
    x, y, z = np.array([-128, 127, 3], np.int8), np.array([127, -128, 5], np.int8), np.zeros(3, np.uint8)
    kernel(x, y, z)
    assert z.tolist() == [255, 255, 2]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
def test_results_are_those_of_the_text(runner: Runner) -> None:
    x, y = np.random.default_rng(1).integers(0, 256, (2, 300), dtype=np.uint8)
    x[:8], y[:8] = (0, 0, 255, 255, 1, 128, 127, 0), (0, 255, 0, 255, 255, 128, 129, 1)
    for body in [*FOUND, *KEPT]:
        kernel = kernel_of(body, loop="lw.range")
        want, got = np.zeros_like(x), np.zeros_like(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kernel.function(x, y, want)

        def compare(_: Any, body: str = body, got: Any = got, want: Any = want) -> None:
            assert (got == want).all(), body

        runner.run(runner.compiled(kernel), [x, y, got], compare)


@lw.kernel
def turned(x: lw.Array[lw.u32], n: lw.Array[lw.u32], z: lw.Array[lw.u32]):
    for i in lw.lanes(len(x)):
        a, k = x[i], n[i] & 31
        z[i] = ((a << 7) | (a >> 25)) + ((a << k) | (a >> (32 - k))) + ((a >> k) ^ (a << (32 - k)))


@lw.kernel
def not_turned(x: lw.Array[lw.u32], y: lw.Array[lw.i32], z: lw.Array[lw.u32]):
    for i in lw.lanes(len(x)):
        a, b, k = x[i], y[i], lw.u32(y[i])
        z[i] = ((a << 7) | (a >> 24)) + ((a << k) | (a >> (32 - k))) + lw.u32((b << 7) | (b >> 25))


def test_rotations() -> None:
    text = turned.compile(target="x86-64-v4").ir("promote")
    assert text.count("rotate_left.u32") == 2 and text.count("rotate_right.u32") == 1 and "shl" not in text and "shr" not in text
    assert "rotate" not in not_turned.compile(target="x86-64-v4").ir("promote")
    x, n = np.random.default_rng(2).integers(0, 2**32, (2, 100), dtype=np.uint32)
    z = np.zeros_like(x)
    turned(x, n, z)

    def left(a: int, k: int) -> int:
        return (a << k | a >> 32 - k) & 0xFFFFFFFF

    for a, k, got in zip(x.tolist(), (n & 31).tolist(), z.tolist(), strict=True):
        assert got == (left(a, 7) + left(a, k) + left(a, (32 - k) % 32)) & 0xFFFFFFFF


TYPES = {"u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16, "u32": np.uint32, "i32": np.int32}


def random_body(chooser: random.Random, wide: str, to: str) -> str:
    other = chooser.choice(["y[i]", *[f"lw.{wide}(y[i])"] * 3, "1", "100"])
    sum_ = f"lw.{wide}(x[i]) {chooser.choice('++-')} {other}"
    info = np.iinfo(TYPES[to])
    low, high = int(info.min), int(info.max) - (chooser.random() < 0.2)
    return chooser.choice(
        [
            f"s = lw.clamp({sum_}, {low}, {high})",
            f"s = lw.min({sum_}, {high})",
            f"s = lw.max({sum_}, {low})",
            f"s = lw.min(lw.max({sum_}, {low}), {high})",
            f"s = abs({sum_})",
            f"s = ({sum_}) >> 1",
            f"s = ({sum_} + 1) >> 1",
            f"s = {sum_}|if s > {high}:|    s = lw.{wide}({high})",
            f"s = {sum_}|if s < {low}:|    s = lw.{wide}({low})|s = {high} if s >= {high} else s",
        ]
    )


def test_random_sums_within_bounds() -> None:
    chooser = random.Random(5)
    found = 0
    for seed in range(160):
        source = chooser.choice(list(TYPES))
        to = chooser.choice([source, source, source, *TYPES])
        body = random_body(chooser, chooser.choice(["i16", "u16", "i32", "u32", "i64"]), to)
        kernel = kernel_of(body, source, to, chooser.choice(["lw.lanes", "lw.range"]))
        numbers = np.random.default_rng(seed)
        info = np.iinfo(TYPES[source])
        special = np.array([info.min, info.max, 0, 1, info.max // 2], TYPES[source])
        x, y = (np.where(numbers.random(80) < 0.5, numbers.choice(special, 80), numbers.integers(info.min, info.max, 80)).astype(TYPES[source]) for _ in "xy")
        got, want = np.zeros(80, TYPES[to]), np.zeros(80, TYPES[to])
        try:
            code = kernel.compile(target=V3)
        except (lw.KernelTypeError, lw.UnsupportedOperationError):
            # (Types that do not meet; a bound that the wide type does not hold.)
            continue
        found += any(name in code.ir("promote") for name in ("_saturated", "abs_diff", "average"))
        code(x, y, got)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                kernel.function(x, y, want)
            except OverflowError:
                # (A Python number that the array's type does not hold: the plain function cannot say what comes of it.)
                continue
        assert (got == want).all(), (body, source, to)
    assert found > 10


RANGES = {
    "(a >= 65) & (a <= 90)": True,
    "(a > 64) & (91 > a)": True,
    "(a <= 200) & (3 < a)": True,
    "(a < 10) | (a > 99)": True,
    "(a <= 10) | (99 <= a)": True,
    "(a >= 7) & (a <= 7)": True,
    "(a >= 90) & (a <= 65)": False,
    "(a >= 65) & (b <= 90)": False,
    "(a >= 65) & (a >= 90)": False,
    "(a >= 0) & (a <= 90)": False,
    "(a > 255) & (a <= 90)": False,
    "(a >= 65) & (a <= 255)": False,
}


@pytest.mark.parametrize("dtype", ["u8", "u32"])
@pytest.mark.parametrize("condition", RANGES)
def test_ranges_of_unsigned_numbers_are_one_comparison(condition: str, dtype: str) -> None:
    body = f"a, b = x[i], y[i]|s = lw.select({condition}, lw.{dtype}(1), lw.{dtype}(0))"
    for loop in ("lw.lanes", "lw.range"):
        kernel = kernel_of(body, source=dtype, to=dtype, loop=loop)
        text = kernel.compile(target=V3).ir("promote")
        found = RANGES[condition] and not ("255" in condition and dtype == "u32")
        if found or dtype == "u8":
            assert (f"sub.{dtype}" in text) == found and (".bool" in text or "select" in text)
        x = np.concatenate([np.arange(256), [2**32 - 1 if dtype == "u32" else 0]]).astype(f"uint{dtype[1:]}")
        y, got = x[::-1].copy(), np.zeros_like(x)
        kernel(x, y, got)
        want = [bool(eval(condition, {"a": int(a), "b": int(b)})) for a, b in zip(x, y, strict=True)]
        assert got.tolist() == want


def test_a_comparison_that_is_read_twice_stays() -> None:
    body = "c = x[i] >= 65|s = lw.select(c & (x[i] <= 90), lw.u8(1), lw.u8(0)) + lw.u8(c)"
    assert "sub.u8" not in kernel_of(body).compile(target=V3).ir("promote")


@pytest.mark.parametrize("asked", ["c >= 48 and c <= 57", "c < 48 or c > 57", "48 <= c <= 57"])
def test_two_bounds_that_become_one_condition_are_one_comparison(asked: str) -> None:
    text = f"""@lw.kernel
def digits(x: lw.Array[lw.u8], z: lw.Array[lw.i64]):
    n = lw.i64(0)
    v = lw.i64(0)
    for i in range(len(x)):
        c = x[i]
        if {asked}:
            v = v * 10 + c
        else:
            z[n] = v
            n += 1
            v = lw.i64(0)
"""
    file = f"<bounds {asked}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"lw": lw}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 (texts of this file alone)
    kernel = scope["digits"]
    ir = kernel.compile(target=V3).ir("nests")
    # (One in each copy of an unrolled iteration.)
    copies = ir.count("z[%n")
    assert ir.count(" = sub.u8 ") + ir.count(" = add.u8 ") == copies == len(re.findall(r" = (?:lt|le|gt|ge)\.u8 ", ir))
    x = np.random.default_rng(3).integers(40, 66, 500).astype(np.uint8)
    mine, plain = np.zeros(501, np.int64), np.zeros(501, np.int64)
    kernel(x, mine)
    with np.errstate(over="ignore"):
        kernel.function(x.astype(np.int64), plain)
    np.testing.assert_array_equal(mine, plain)


@pytest.mark.parametrize(
    ("parameter", "local", "behind", "found"),
    [
        ("", "  var %v: i32\n", "", True),
        ("var %v: i32, ", "", "", False),
        ("", "  var %v: i32\n", "%v = add.i32 %v, 1\n%4 = convert.u8.i32 %v\nstore.u8 %4, y[%i]", False),
    ],
)
def test_a_bound_put_by_a_branch_is_found_unless_the_variable_is_given_or_changed(parameter: str, local: str, behind: str, found: bool) -> None:
    body = "%1 = load.i32 x[%i]\n%2 = gt.i32 %1, 255\n%v = copy.i32 %1\nif %2\n%v = copy.i32 255\nend\n%3 = convert.u8.i32 %v\nstore.u8 %3, z[%i]"
    arrays = "  array x: i32[%n] at %x\n  array y: u8[%n] at %y written\n  array z: u8[%n] at %z written\n"
    f = parse(f"function k({parameter}%x: ptr, %y: ptr, %z: ptr, %n: i64)\n{arrays}{local}%i = for 0, %n, 1\n{body}\n{behind}\nend\nend\n")
    idioms.run(f)
    verify(f)
    assert ("min.i32" in print_function(f)) == found


#: Of numbers with a sign, conditions between 0 and a bound: whether one comparison is left of two.
NOT_NEGATIVE = {
    "(a >= 0) & (a < 100)": True,
    "(a < 100) & (a >= 0)": True,
    "(0 <= a) & (a <= 99)": True,
    "(a > -1) & (100 > a)": True,
    "(a < 0) | (a >= 100)": True,
    "(a <= -1) | (99 < a)": True,
    "(a >= 0) & (a < len(x))": True,
    "(len(x) > a) & (0 <= a)": True,
    "(a < 0) | (a >= len(x))": True,
    "(a >= 0) & (b != 3) & (a < 100)": True,
    "(a >= 0) & (b >= 0) & (a < 100) & (b < len(x))": True,
    "(a > 0) & (a < 100)": False,
    "(a >= 0) & (a < -5)": False,
    "(a >= 0) & (a < 0)": False,
    "(a >= 0) & (b < 100)": False,
    "(a >= 0) | (a < 100)": False,
    "(a >= 0) & (a > 100)": False,
    "(a < len(x)) & (a < 100)": False,
}


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64"])
@pytest.mark.parametrize("condition", NOT_NEGATIVE)
def test_numbers_between_0_and_a_bound_are_compared_once(condition: str, dtype: str) -> None:
    types = f"lw.{dtype}"
    body = f"a, b = x[i], y[i]|s = lw.select({condition}, {types}(1), {types}(0))"
    kernel = kernel_of(body, source=dtype, to=dtype, loop="lw.range")
    text = kernel.compile(target=V3).ir("promote")
    # (An extent is compared in 64 bits.)
    count = len(re.findall(r" = (?:lt|le|gt|ge)\.u", text))
    assert (count > 0) == (NOT_NEGATIVE[condition] and not ("len" in condition and dtype != "i64" and "b >= 0" not in condition))
    info = np.iinfo(f"int{dtype[1:]}")
    x = np.array([info.min, info.min + 1, -101, -100, -2, -1, 0, 1, 2, 3, 4, 5, 98, 99, 100, 101, info.max - 1, info.max, 12, 13, 14, 15], f"int{dtype[1:]}")
    for n in (x.size, 7):
        given, y, got = x[:n].copy(), x[:n][::-1].copy(), np.zeros(n, x.dtype)
        kernel(given, y, got)
        assert got.tolist() == [bool(eval(condition, {"a": int(a), "b": int(b), "x": given})) for a, b in zip(given, y, strict=True)]


@lw.kernel
def signs(a: lw.Array[lw.i64], b: lw.Array[lw.i64], c: lw.Array[lw.i64], d: lw.Array[lw.i64]) -> None:
    for i in range(a.shape[0]):
        x = a[i] * 3 - b[i]
        y = b[i] * 2 - a[i]
        z = a[i] + b[i]
        if x >= 0 and y > -1 and z >= 0:
            c[d[i]] += x + y
        if x < 0 or y <= -1 or z < 0:
            c[d[i]] -= 7


def test_none_of_several_is_negative() -> None:
    """One test for the signs of all, where lanes and borders do not need each for itself."""
    rng = np.random.default_rng(0)
    for n in (0, 1, 5, 200):
        given = [rng.integers(-5, 6, n), rng.integers(-5, 6, n), np.zeros(4, "i8"), rng.integers(0, 4, n)]
        wanted, found = [x.copy() for x in given], [x.copy() for x in given]
        signs.function(*wanted)
        signs(*found)
        for one, other in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(other, one)
    made = signs.compile(target="x86-64-v3", keep=True).ir("nests")
    assert made.count("or.i64") >= 4
    assert "gt.i64" not in made
