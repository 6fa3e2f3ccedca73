# ruff: noqa
"""Functions of NumPy and ``math`` that are a few operations in a kernel: they give what NumPy and Python give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.from_text import kernel_from

import loopwright as lw

NUMPY: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "i64": np.int64,
    "i32": np.int32,
    "u64": np.uint64,
    "u8": np.uint8,
    "i8": np.int8,
    "bool_": np.bool_,
}
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 3.5, 1e300, -1e-300, math.inf, -math.inf, math.nan, 7.0, 2.0]


def run(expression: str, types: str, result: str, *arrays: Any, loop: str = "range", **options: Any) -> Any:
    """The elements that a kernel stores whose elements of ``x``, ``y``, … are of these types, run as code and as Python."""
    names = "xyw"[: len(arrays)]
    params = ", ".join(f"{name}: lw.Array[lw.{type_}]" for name, type_ in zip(names, types.split(), strict=True))
    kernel, function = kernel_from(f"{params}, z: lw.Array[lw.{result}]", f"for i in {loop}(len(x)):\n    z[i] = {expression}", **options)
    given = [np.array(values, NUMPY[type_]) for values, type_ in zip(arrays, types.split(), strict=True)]
    made, plain = (np.zeros(len(arrays[0]), NUMPY[result]) for _ in range(2))
    kernel(*given, made)
    with np.errstate(all="ignore"):
        function(*given, plain)
    return made, plain


def same(made: Any, plain: Any) -> bool:
    return np.array_equal(made, plain, equal_nan=made.dtype.kind == "f") and (
        made.dtype.kind != "f" or bool((np.signbit(made) == np.signbit(plain))[~np.isnan(plain)].all())
    )


@pytest.mark.parametrize("type_", ["f64", "f32"])
@pytest.mark.parametrize(
    "expression",
    [
        "np.reciprocal(x[i])",
        "np.fix(x[i])",
        "np.heaviside(x[i], y[i])",
        "np.nan_to_num(x[i])",
        "np.divmod(x[i], y[i])[0]",
        "np.divmod(x[i], y[i])[1]",
        "np.clip(x[i], None, 2.0)",
        "np.clip(x[i], -1.0, None)",
        "np.clip(x[i], y[i], 4.0)",
        "np.round(x[i], 2)",
        "np.round(x[i], decimals=1)",
        "np.round(x[i])",
        "np.copysign(x[i], y[i])",
        "np.modf(x[i])[0]",
        "np.modf(x[i])[1]",
    ],
)
def test_of_floats(expression: str, type_: str) -> None:
    with np.errstate(all="ignore"):
        assert same(*run(expression, f"{type_} {type_}", type_, FLOATS, FLOATS[::-1]))


@pytest.mark.parametrize("expression", ["np.isposinf(x[i])", "np.isneginf(x[i])", "np.isclose(x[i], y[i])", "np.isclose(x[i], y[i], 0.5, 0.1)"])
def test_tests_of_floats(expression: str) -> None:
    others = [0.0, 0.0, 1.0, -1.0000001, 0.30001, 2.5, 3.5, math.inf, 0.0, math.inf, math.inf, math.nan, 7.0, math.inf]
    made, plain = run(expression, "f64 f64", "bool_", FLOATS, others)
    assert made.tolist() == plain.tolist() and made.any()


def test_close_by_names() -> None:
    made, plain = run("np.isclose(x[i], y[i], equal_nan=True)", "f64 f64", "bool_", [math.nan, 1.0], [math.nan, 2.0])
    assert made.tolist() == plain.tolist() == [True, False]
    made, plain = run(
        "math.isclose(x[i], y[i], rel_tol=0.5, abs_tol=0.25)",
        "f64 f64",
        "bool_",
        [1.0, 0.0, 3.0, math.inf, math.inf, math.nan],
        [2.0, 0.2, 9.0, 1.0, math.inf, math.nan],
    )
    assert made.tolist() == plain.tolist() == [True, True, False, False, True, False]


@pytest.mark.parametrize(
    ("expression", "types"),
    [
        ("np.sinc(x[i])", "f64 f64"),
        ("np.logaddexp(x[i], y[i])", "f64 f64"),
        ("np.logaddexp2(x[i], y[i])", "f64 f64"),
        ("np.float_power(x[i], y[i])", "i32 i32"),
        ("np.copysign(x[i], y[i])", "i32 i32"),
        ("math.log(x[i], 10)", "f64 f64"),
        ("math.log(x[i], y[i])", "i32 f64"),
        ("math.hypot(x[i], y[i], 2.0)", "f64 f64"),
        ("math.hypot(x[i])", "f64 f64"),
        ("math.dist((x[i], y[i], 1.0), (0.5, 1.5, 2.5))", "f64 f64"),
        ("math.prod((x[i], y[i], 3))", "f64 f64"),
        ("math.prod([x[i], y[i]], start=2)", "i32 i32"),
    ],
)
def test_nearly(expression: str, types: str) -> None:
    made, plain = run(expression, types, "f64", [1.0, 2.0, 5.0, 30.0, 700.0], [2.0, 3.0, 5.0, 0.1 if "f64" in types.split()[1] else 2, 7.0])
    assert np.allclose(made, plain, rtol=1e-14)


@pytest.mark.parametrize("type_", ["i8", "u8", "i32", "i64", "u64"])
def test_reciprocals_of_integers_are_integers(type_: str) -> None:
    values = [1, 2, 100, 0] if type_[0] == "u" else [1, -1, 2, -7, 100, 0]
    made, _ = run("np.reciprocal(x[i])", type_, type_, values)
    with np.errstate(all="ignore"):
        assert made.tolist() == np.reciprocal(np.array(values, NUMPY[type_])).tolist()


@pytest.mark.parametrize("loop", ["range", "lw.lanes"])
def test_integers(loop: str) -> None:
    numbers = [0, 12, -18, 100, 17, 6, -7, 270, 1 << 30]
    others = [5, 18, 12, -75, 0, 35, -49, 192, 1 << 28]
    for expression in (
        "np.gcd(x[i], y[i])",
        "np.lcm(x[i], y[i]) % 1000",
        "math.gcd(x[i], y[i])",
        "math.gcd(x[i], y[i], 6)",
        "math.gcd(x[i], 12)",
        "np.divmod(x[i], y[i] | 1)[1]",
    ):
        made, _ = run(expression, "i64 i64", "i64", numbers, others, loop=loop)
        want = [eval(expression, {"np": np, "math": math, "x": numbers, "y": others, "i": i}) for i in range(len(numbers))]
        assert made.tolist() == [int(value) for value in want], expression


def test_of_two_types_that_meet() -> None:
    made, _ = run("np.gcd(x[i], y[i])", "i32 i32", "i32", [9, -(2**31), -2, -(2**31)], [-(2**31), 9, -(2**31), 0])
    assert made.tolist() == [1, 1, 2, -(2**31)]
    made, _ = run("np.gcd(x[i], y[i])", "i32 u8", "i64", [-200, 81], [150, 27])
    assert made.tolist() == [50, 27]


@pytest.mark.parametrize(("type_", "most"), [("i64", (1 << 63) - 1), ("u64", (1 << 64) - 1), ("i32", (1 << 31) - 1), ("u8", 255)])
def test_whole_roots(type_: str, most: int) -> None:
    root = math.isqrt(most)
    values = {0, 1, 2, 3, 4, 8, 9, 24, 25, most, root * root, root * root - 1, (root - 1) ** 2, (root - 1) ** 2 - 1, most // 2}
    near = [k * k + d for k in (94906265, 94906267, 3000000000) for d in (-1, 0, 1)]
    numbers = sorted(v for v in values | set(near) if 0 <= v <= most)
    made, _ = run("lw.u64(math.isqrt(x[i]))", type_, "u64", numbers) if type_ == "u64" else run("math.isqrt(x[i])", type_, "i64", numbers)
    assert made.tolist() == [math.isqrt(number) for number in numbers]


def test_rounding_gives_python_integers() -> None:
    values = [0.5, 1.5, 2.5, -0.4, -7.6, 1e9]
    made, plain = run("round(x[i]) // 2", "f64", "f64", values)
    assert same(made, plain) and not np.signbit(made[3])
    made, plain = run("round(x[i])", "f32", "i64", values)
    assert made.tolist() == plain.tolist()
    made, plain = run("y[round(x[i])]", "f32 i64", "i64", [0.4, 0.6, 2.5], [10, 20, 30])
    assert made.tolist() == plain.tolist()
    made, plain = run("round(x[i])", "u64", "u64", [1 << 63, 5])
    assert made.tolist() == plain.tolist()


@pytest.mark.parametrize("expression", ["int(x[i])", "round(x[i])", "math.floor(x[i])", "math.ceil(x[i])", "lw.u8(int(x[i] * 0.5))"])
def test_python_integers_of_floats_are_stored_without_64_bits(expression: str) -> None:
    """Elements of 8 bits are made in lanes of 32."""
    kernel, function = kernel_from("x: lw.Array[lw.f32], z: lw.Array[lw.u8]", f"for i in range(len(x)):\n    z[i] = {expression}")
    x, z, plain = np.linspace(0, 255, 511, dtype=np.float32), np.zeros(511, np.uint8), np.zeros(511, np.uint8)
    code = kernel.compile(x, z, target="x86-64-v4")
    assert "vcvttps2dq" in code.asm() and "vcvttps2qq" not in code.asm()
    kernel(x, z)
    function(x, plain)
    assert z.tolist() == plain.tolist()


def test_what_became_an_integer_stays_when_its_float_changes() -> None:
    kernel, function = kernel_from(
        "x: lw.Array[lw.f32], z: lw.Array[lw.i32]",
        "v = x[0]\nfor i in range(len(x)):\n    t = int(v)\n    v = v * 2.0\n    if v > 50.0:\n        t = round(v)\n    z[i] = lw.i32(t)",
    )
    x = np.full(9, 3.5, np.float32)
    made, plain = np.zeros(9, np.int32), np.zeros(9, np.int32)
    kernel(x, made)
    function(x, plain)
    assert made.tolist() == plain.tolist()


@pytest.mark.parametrize(
    ("expression", "instead"),
    [
        ("math.comb(7, round(x[i]))", "write the loop, in a Python function that the kernel calls"),
        ("math.ldexp(x[i], 3)", "write x * 2.0 ** n"),
        ("math.fsum((x[i], 1.0))", "what each addition loses"),
        ("np.nextafter(x[i], 1.0)", "lw.bitcast"),
        ("np.add(x[i], 1.0, out=None)", "np.add takes its arguments by position in a kernel"),
        ("np.round(x[i], round(x[i]))", "np.round takes the number of decimals as a Python integer of up to 22, not a run-time value"),
        ("math.dist(x[i], 1.0)", "math.dist takes two tuples of coordinates"),
        ("math.isqrt(x[i])", "math.isqrt takes an integer, not f64"),
        ("lw.copysign(i, 1)", "`copysign` is not available for i64"),
    ],
)
def test_what_is_told_of_others(expression: str, instead: str) -> None:
    with pytest.raises(lw.LoopwrightError) as caught:
        run(expression, "f64", "f64", [1.0])
    assert instead in str(caught.value)
