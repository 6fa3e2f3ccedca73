"""Types of expressions: NumPy's, with Python numbers that adapt."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir.interpret import run
from loopwright.ir.verify import verify

SCALARS = [lw.i8, lw.u8, lw.i16, lw.u16, lw.i32, lw.u32, lw.i64, lw.u64, lw.f16, lw.f32, lw.f64]


def test_operands_meet_where_numpy_lets_them_meet():
    for a in SCALARS:
        for b in SCALARS:
            f = lw.Function("f", a=a, b=b)
            want = np.result_type(np.dtype(a.dtype), np.dtype(b.dtype)).name
            assert (f.a + f.b).type.dtype == want, (a, b)


@pytest.mark.parametrize("type_", SCALARS)
def test_a_python_number_adapts(type_):
    f = lw.Function("f", a=type_)
    assert (f.a + 1).type is type_
    assert (3 * f.a).type is type_
    assert (f.a < 5).type.name == "bool"
    if type_.is_float:
        assert (f.a + 0.5).type is type_
    else:
        # As in NumPy.
        assert (f.a + 0.5).type is lw.f64 and (2.5 * f.a).type is lw.f64
        assert (f.a < 0.5).type.name == "bool"
        with pytest.raises(lw.KernelTypeError, match="Python float"):
            f.a & 0.5


@lw.kernel
def with_floats(x: lw.Array[lw.i32], u: lw.Array[lw.u8], y: lw.Array[lw.f64], z: lw.Array[lw.f32]) -> lw.f64:
    s = 0.0
    for i in lw.range(len(x)):
        y[i] = x[i] * 0.5 + 1.5 * i - 2.0 / (i + 1) + (i**0.5 if i % 2.5 < 1.0 else u[i] // 1.5)
        z[i] = lw.min(u[i], 120.5) if u[i] > 99.5 else 0.25 * u[i]
        if -0.5 <= x[i] < 10.5:
            s += abs(x[i] - 2.5)
    return s


def test_integers_and_python_floats_meet_at_f64():
    x, u = np.arange(-20, 80, dtype=np.int32), np.arange(0, 200, 2, dtype=np.uint8)
    found, wanted = ([np.zeros(100), np.zeros(100, np.float32)] for _ in range(2))
    assert with_floats(x, u, *found) == with_floats.function(x, u, *wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_true_division_of_integers_is_in_f64():
    f = lw.Function("f", a=lw.i32, b=lw.f32)
    assert (f.a / 2).type is lw.f64
    assert (f.a / f.a).type is lw.f64
    assert (1 / f.a).type is lw.f64
    assert (f.b / 2).type is lw.f32


@pytest.mark.parametrize(("type_", "number"), [(lw.u8, 256), (lw.u8, -1), (lw.i8, 128), (lw.i32, 2**31), (lw.u64, 2**64), (lw.f64, 10**400)])
def test_a_number_that_does_not_fit_is_refused(type_, number):
    f = lw.Function("f", a=type_)
    with pytest.raises(lw.KernelTypeError, match="fit|too large"):
        f.a + number


def test_numpy_scalars_have_their_type():
    f = lw.Function("f", a=lw.f32, b=lw.i32)
    assert (f.a * np.float64(2)).type is lw.f64
    assert (np.float32(2) * f.a).type is lw.f32
    assert (f.b + np.int64(2)).type is lw.i64
    assert (np.int16(2) < f.b).type.name == "bool"
    assert isinstance(lw.f32(3), np.float32)


def test_conversions_called_as_types():
    f = lw.Function("f", a=lw.f32, b=lw.i64)
    assert lw.i32(f.a).type is lw.i32
    assert lw.f64(f.b).type is lw.f64
    assert lw.u8(f.a < 1).type is lw.u8
    assert lw.f32(f.a) is f.a


def test_powers():
    f = lw.Function("f", a=lw.f64, returns=lw.f64)
    with f:
        f.ret(f.a**3 + f.a**0 + f.a**-1 + f.a**0.5 + f.a**10)
    verify(f.ir)
    assert run(f.ir, 2.0) == 8 + 1 + 0.5 + math.sqrt(2.0) + 1024
    g = lw.Function("g", a=lw.f64, b=lw.f64, n=lw.i64, returns=lw.f64)
    with g:
        g.ret(g.a**g.b)
    verify(g.ir)
    assert run(g.ir, 2.0, 3.0, 0) == 8 and run(g.ir, 9.0, 0.5, 0) == 3
    with pytest.raises(lw.KernelTypeError, match="exponent"):
        g.n**g.n


@pytest.mark.parametrize("how", [bool, int, float, list, lambda v: [1, 2][v], lambda v: v == "a", lambda v: v[0], lambda v: 2**v])
def test_what_python_asks_of_a_run_time_value_is_refused_with_advice(how):
    f = lw.Function("f", a=lw.i64)
    with pytest.raises(lw.KernelTypeError):
        how(f.a)


def test_the_message_of_a_truth_value_teaches():
    f = lw.Function("f", a=lw.i64)
    with pytest.raises(lw.KernelTypeError, match=r"lw\.select.*f\.if_"):
        bool(f.a > 1)


@pytest.mark.parametrize("shift", [operator.lshift, operator.rshift])
def test_operands_of_shifts_meet_where_numpy_lets_them_meet(shift):
    integers = [t for t in SCALARS if not t.is_float]
    for a in integers:
        for b in integers:
            f = lw.Function("f", a=a, b=b)
            want = np.result_type(np.dtype(a.dtype), np.dtype(b.dtype)).name
            if want == "float64":
                with pytest.raises(lw.KernelTypeError, match=f"{a} and {b}, which meet at f64"):
                    shift(f.a, f.b)
            else:
                assert shift(f.a, f.b).type.dtype == want, (a, b)
        f = lw.Function("f", a=a)
        assert shift(f.a, 3).type is a and shift(3, f.a).type is a
        with pytest.raises(lw.KernelTypeError, match="does not fit"):
            shift(f.a, 2**64)
        with pytest.raises(lw.KernelTypeError, match="Python float"):
            shift(f.a, 1.0)
    f = lw.Function("f", a=lw.f32, b=lw.i32)
    for a, b in ((f.a, f.b), (f.b, f.a), (f.a, 1)):
        with pytest.raises(lw.LoopwrightError, match="is not available for"):
            shift(a, b)


def test_a_count_from_the_width_on_is_a_count_like_any_other():
    f = lw.Function("f", a=lw.i32, returns=lw.i32)
    with f:
        f.ret((f.a << 32) + (f.a >> 40) + (f.a >> -1))
    assert run(f.ir, -7) == -2
    assert run(f.ir, 7) == 0


def test_a_weak_variable_that_is_shifted_takes_the_type_it_meets(staged):
    @lw.kernel
    def kernel(x: lw.Array[lw.u8], n: lw.i64) -> lw.u8:
        total = lw.u8(0)
        count = 0
        bit = 1
        for i in lw.range(n):
            total = total | (x[i] >> count) & bit
            count += 2
            bit = bit << 1
        return total

    f = staged(kernel, lw.Array[lw.u8])
    types = {f.names[k]: f.types[k].name for k in range(len(f.types)) if f.variable[k]}
    assert types == {"total": "u8", "count": "u8", "bit": "u8"}


def test_functions_work_on_python_numbers_too():
    assert lw.min(3, 2.5) == 2.5
    assert lw.max([1, 5, 2]) == 5
    assert lw.select(True, 1, 2) == 1
    assert lw.fma(2.0, 3.0, 1.0) == 7.0
    assert lw.sqrt(9.0) == 3.0
    assert (lw.floor(-1.5), lw.ceil(-1.5), lw.trunc(-1.5), lw.round(2.5)) == (-2.0, -1.0, -1.0, 2.0)
    assert (lw.div_trunc(-7, 2), lw.rem_trunc(-7, 2)) == (-3, -1)
    assert lw.sum([1, 2]) == 3 and lw.any([0, 1]) and not lw.all([0, 1])
    assert list(lw.range(2, 8, 3)) == [2, 5]
    assert list(lw.lanes(3)) == [0, 1, 2]


def test_weak_variables_take_the_type_they_meet(staged):
    @lw.kernel
    def kernel(x: lw.Array, n: lw.i64) -> lw.f64:
        total = 0
        count = 0
        for i in lw.range(n):
            total = total * 2 + x[i]
            count += 1
        return total + count

    f = staged(kernel, lw.Array[lw.f32])
    types = {f.names[k]: f.types[k].name for k in range(len(f.types)) if f.variable[k]}
    assert types == {"total": "f32", "count": "f32"}
    f = staged(kernel, lw.Array[lw.i32])
    types = {f.names[k]: f.types[k].name for k in range(len(f.types)) if f.variable[k]}
    assert types == {"total": "i32", "count": "i32"}


@pytest.mark.parametrize("type_", SCALARS)
def test_numpys_types_convert_as_ours_do(type_):
    of = np.dtype(type_.dtype).type

    @lw.kernel
    def by_numpy(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
        for i in range(len(x)):
            y[i] = lw.f64(of(x[i]))

    @lw.kernel
    def by_ours(x: lw.Array[lw.f64], y: lw.Array[lw.f64]):
        for i in range(len(x)):
            y[i] = lw.f64(type_(x[i]))

    x = np.array([0.0, -0.5, 1.75, 127.9, 300.0, -1.0, 1e30, np.nan, 65504.0])
    y, z = np.empty_like(x), np.empty_like(x)
    by_numpy(x, y)
    by_ours(x, z)
    np.testing.assert_array_equal(y, z)


def test_pythons_types_convert():
    @lw.kernel
    def kernel(x: lw.Array[lw.f32], u: lw.Array[lw.u8], w: lw.Array[lw.u64], i: lw.Array[lw.i64], d: lw.Array[lw.f64], t: lw.Array[lw.u64]):
        for k in range(len(x)):
            i[k] = int(x[k]) + int(u[k]) - 300
            d[k] = float(u[k]) / 3 + float(bool(x[k]))
            t[k] = int(w[k]) + (1 if bool(u[k]) else 0)

    x = np.array([0.0, -0.5, 1.75, -127.9, 3e9], np.float32)
    u = np.array([0, 1, 128, 255, 7], np.uint8)
    w = np.array([0, 1, 2**63, 2**64 - 2, 5], np.uint64)
    i, d, t = np.empty(5, np.int64), np.empty(5), np.empty(5, np.uint64)
    kernel(x, u, w, i, d, t)
    assert i.tolist() == [int(a) + int(b) - 300 for a, b in zip(x, u, strict=True)]
    assert d.tolist() == [float(b) / 3 + float(bool(a)) for a, b in zip(x, u, strict=True)]
    assert t.tolist() == [int(a) + bool(b) for a, b in zip(w, u, strict=True)]


@lw.kernel
def roots_of(parent: lw.Array, out: lw.Array):
    for i in lw.range(len(parent)):
        r = i
        while parent[r] != r:
            r = parent[r]
        out[i] = r


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.int64])
def test_variables_take_what_they_can_hold(dtype: type) -> None:
    parent = np.array([0, 0, 1, 3, 3, 4, 2, 7, 5], dtype)
    out = np.zeros(9, np.int64)
    roots_of(parent, out)
    assert out.tolist() == [0, 0, 0, 3, 3, 3, 0, 7, 3]


@pytest.mark.parametrize(
    ("start", "given", "taken"),
    [
        ("i64", "u32", True),
        ("i64", "u64", False),
        ("u64", "i32", False),
        ("i32", "i64", False),
        ("u16", "u8", True),
        ("f64", "f32", True),
        ("f64", "i32", True),
        ("f64", "u32", True),
        ("f64", "i64", False),
        ("f32", "i16", True),
        ("f32", "i32", False),
        ("f32", "f64", False),
        ("i32", "f32", False),
    ],
)
def test_which_types_a_variable_takes(start: str, given: str, taken: bool) -> None:
    source = f"def f(x, out):\n    s = lw.{start}(1)\n    for i in lw.range(len(x)):\n        if x[i] > 2:\n            s = x[i]\n    out[0] = s\n"
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the source above)
    space["f"].__annotations__.update({"x": lw.Array, "out": lw.Array})
    kernel = lw.kernel(source=source)(space["f"])
    x = np.array([3, 1, 5, 2], getattr(lw, given).dtype)
    out = np.zeros(1, getattr(lw, start).dtype)
    if taken:
        kernel(x, out)
        assert out.tolist() == [5]
    else:
        with pytest.raises(lw.KernelTypeError, match="a variable keeps its type in run-time code"):
            kernel(x, out)


@lw.kernel
def hermite(x: lw.Array[lw.f64], c: lw.Array[lw.f64], out: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        a = 1.0
        b = 2 * x[i]
        s = c[0] + c[1] * b
        for n in lw.range(2, len(c)):
            t = 2 * x[i] * b - 2 * (n - 1) * a
            a = b
            b = t
            s += c[n] * b
        out[i] = s


@lw.kernel
def factorials(out: lw.Array[lw.f64]):
    p = 1.0
    for n in lw.range(len(out)):
        out[n] = p
        p *= n + 1


def test_python_floats_and_integers_meet_at_f64() -> None:
    rng = np.random.default_rng(0)
    x, c = rng.random(30), rng.random(9)
    found, wanted = np.zeros(30), np.zeros(30)
    hermite(x, c, found)
    hermite.function(x, c, wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    out = np.zeros(15)
    factorials(out)
    assert out.tolist() == [math.factorial(n) for n in range(15)]
