"""What operations mean where types end: narrow results, conversions out of range, counts of shifts past the width."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


def gives(runner: Runner, code: Any, args: list[Any], want: Any) -> None:
    """A call returns what it should."""

    def compare(got: Any) -> None:
        assert got == want, f"{code.name} on {runner} of {args}: {got!r} for {want!r}"

    runner.run(code, args, compare)


def leaves(runner: Runner, code: Any, args: list[Any], want: dict[int, Any]) -> None:
    """A call leaves what it should in the arrays at these positions."""

    def compare(_: Any) -> None:
        for position, array in want.items():
            np.testing.assert_array_equal(args[position], array, f"{code.name} on {runner}")

    runner.run(code, args, compare)


NARROW = [lw.i8, lw.u8, lw.i16, lw.u16]


@lw.kernel
def added(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t += x[i]
    return t


@lw.kernel
def multiplied(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t *= x[i]
    return t


@lw.kernel
def common(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t &= x[i]
    return t


@lw.kernel
def united(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t |= x[i]
    return t


@lw.kernel
def differing(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t ^= x[i]
    return t


@lw.kernel
def least(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t = lw.min(t, x[i])
    return t


@lw.kernel
def greatest(x: lw.Array, first: lw.Const) -> lw.i64:
    t = x.dtype(first)
    for i in lw.lanes(len(x)):
        t = lw.max(t, x[i])
    return t


REDUCTIONS: list[tuple[Any, Callable[[Any, Any], Any]]] = [
    (added, operator.add),
    (multiplied, operator.mul),
    (common, operator.and_),
    (united, operator.or_),
    (differing, operator.xor),
    (least, min),
    (greatest, max),
]


@pytest.mark.parametrize("t", NARROW, ids=str)
@pytest.mark.parametrize(("kernel", "step"), REDUCTIONS, ids=[kernel.__name__ for kernel, _ in REDUCTIONS])
def test_reductions_of_narrow_integers_are_numbers_of_their_type(machine: Sequence[Runner], t: Any, kernel: Any, step: Any) -> None:
    info = np.iinfo(t.dtype)
    for runner in machine:
        code = runner.compiled(kernel, lw.Array[t], first=100)
        for values in ([1, 5, 3], [-5, 7, 1], [info.min, info.max, 1] * 30, list(range(-60, 60))):
            x = np.array(values).astype(t.dtype)
            want = np.dtype(t.dtype).type(100)
            with np.errstate(all="ignore"):
                for v in x:
                    want = step(want, v)
            gives(runner, code, [x], want)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.bits))
@pytest.mark.parametrize("t", NARROW, ids=str)
def test_sums_of_vectors_of_narrow_integers_are_numbers_of_their_type(runner: Runner, t: Any) -> None:
    f = lw.Function("total", x=lw.Array[t], returns=lw.i64)
    with f:
        f.ret(lw.i64(lw.sum(f.load(f.x, 0, lanes=128 // t.bits))))
    x = np.arange(128 // t.bits).astype(t.dtype) * 100
    gives(runner, runner.compiled(f), [x], x.sum(dtype=t.dtype))


@pytest.mark.parametrize(("source", "to"), [(lw.i8, lw.u8), (lw.u8, lw.i8), (lw.i16, lw.u16), (lw.u16, lw.i16)], ids=str)
def test_bits_of_narrow_integers_taken_as_another_type_are_numbers_of_it(machine: Sequence[Runner], source: Any, to: Any) -> None:
    f = lw.Function("taken", x=source, returns=lw.i64)
    with f:
        f.ret(lw.i64(lw.bitcast(to, f.x)))
    for runner in machine:
        code = runner.compiled(f)
        for value in (np.iinfo(source.dtype).min, np.iinfo(source.dtype).max, 1):
            gives(runner, code, [value], np.dtype(source.dtype).type(value).view(to.dtype))


# --- shifts ----------------------------------------------------------------------------------------------------

INTEGERS = [lw.i8, lw.u8, lw.i16, lw.u16, lw.i32, lw.u32, lw.i64, lw.u64]


def integers(t: Any) -> list[int]:
    """Numbers and counts of a type: around the widths, and the ends."""
    info = np.iinfo(t.dtype)
    values = {0, 1, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, info.max, info.max // 3, info.min, -1, -7, -64, -120}
    return sorted(v for v in values if info.min <= v <= info.max)


@lw.kernel
def shifted_lanes(x: lw.Array, n: lw.Array, left: lw.Array, right: lw.Array):
    for i in lw.lanes(len(x)):
        left[i] = x[i] << n[i]
        right[i] = x[i] >> n[i]


@lw.kernel
def shifted_one_by_one(x: lw.Array, n: lw.Array, left: lw.Array, right: lw.Array):
    for i in lw.range(len(x)):
        left[i] = x[i] << n[i]
        right[i] = x[i] >> n[i]


@lw.kernel
def shifted_by_constants(x: lw.Array, left: lw.Array, right: lw.Array, count: lw.Const):
    for i in lw.lanes(len(x)):
        left[i] = x[i] << count
        right[i] = x[i] >> count


@lw.kernel
def shifted_by_low_bits(x: lw.Array, n: lw.Array, left: lw.Array, right: lw.Array, mask: lw.Const):
    for i in lw.range(len(x)):
        left[i] = x[i] << (n[i] & mask)
        right[i] = x[i] >> (n[i] & mask)


@pytest.mark.parametrize("t", INTEGERS, ids=str)
@pytest.mark.parametrize("kernel", [shifted_lanes, shifted_one_by_one], ids=lambda k: k.__name__)
def test_shifts_are_numpys_for_every_count(machine: Sequence[Runner], t: Any, kernel: Any) -> None:
    x, n = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(np.array(integers(t), t.dtype), np.array(integers(t), t.dtype)))
    for runner in machine:
        left, right = np.zeros_like(x), np.zeros_like(x)
        leaves(runner, runner.compiled(kernel, x, n, left, right), [x, n, left, right], {2: x << n, 3: x >> n})


@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_shifts_by_constants_are_numpys_for_every_count(machine: Sequence[Runner], t: Any) -> None:
    x = np.array(integers(t) * 3, t.dtype)
    for runner in machine:
        for count in integers(t):
            left, right = np.zeros_like(x), np.zeros_like(x)
            by = np.dtype(t.dtype).type(count)
            leaves(runner, runner.compiled(shifted_by_constants, x, left, right, count=count), [x, left, right], {1: x << by, 2: x >> by})


@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_counts_known_to_be_below_the_width_need_no_look(machine: Sequence[Runner], t: Any) -> None:
    x, n = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(np.array(integers(t), t.dtype), np.array(integers(t), t.dtype)))
    for runner in machine:
        sizes = []
        for mask in (t.bits - 1, t.bits // 2, 2 * t.bits - 1):
            left, right = np.zeros_like(x), np.zeros_like(x)
            code = runner.compiled(shifted_by_low_bits, x, n, left, right, mask=mask)
            leaves(runner, code, [x, n, left, right], {2: x << (n & mask), 3: x >> (n & mask)})
            sizes.append(len(code.compiled.listing()))
        # Where the count may be too large there are instructions more. (What has no registers fetches values from wherever they are.)
        assert max(sizes[:2]) < sizes[2] or not runner.target.registers, runner


@pytest.mark.parametrize(("a", "b"), [(lw.u8, lw.i32), (lw.i32, lw.u8), (lw.i8, lw.u8), (lw.u32, lw.i64), (lw.i16, lw.i64)], ids=str)
def test_operands_of_a_shift_meet_first(machine: Sequence[Runner], a: Any, b: Any) -> None:
    f = lw.Function("f", a=a, b=b, returns=lw.i64)
    with f:
        f.ret(lw.i64(f.a << f.b))
    for runner in machine:
        code = runner.compiled(f)
        for value in integers(a):
            for count in integers(b):
                gives(runner, code, [value, count], np.dtype(a.dtype).type(value) << np.dtype(b.dtype).type(count))


# --- floats to integers ----------------------------------------------------------------------------------------


def saturated(t: Any, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """By Python integers."""
    info = np.iinfo(t.dtype)
    numbers = [0 if np.isnan(v) else info.max if v == np.inf else info.min if v == -np.inf else min(max(int(v), info.min), info.max) for v in x]
    return np.array(numbers, t.dtype)


def floats(t: Any) -> np.ndarray[Any, Any]:
    """Floats around the bounds of the integers, and what is no number."""
    scalar = np.dtype(t.dtype).type
    values = [0.0, -0.0, 0.5, -0.5, -0.999, 1.5, -5.0, 300.0, 1e10, -1e10, 1e30, -1e30, np.inf, -np.inf, np.nan]
    for bound in (127, 128, 255, 256, 2**15, 2**16, 2**31, 2**32, 2**63, 2**64):
        at = scalar(bound)
        for near in (at, np.nextafter(at, scalar(0)), np.nextafter(at, scalar(np.inf)), at - scalar(1)):
            values += [near, -near]
    return np.array(values, t.dtype)


@lw.kernel
def whole_lanes(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = y.dtype(x[i])


@lw.kernel
def whole_one_by_one(x: lw.Array, y: lw.Array):
    for i in lw.range(len(x)):
        y[i] = y.dtype(x[i])


@lw.kernel
def whole_and_back(x: lw.Array, y: lw.Array, z: lw.Array):
    for i in lw.range(len(x)):
        z[i] = z.dtype(y.dtype(x[i]))


@pytest.mark.parametrize("source", [lw.f32, lw.f64], ids=str)
@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_floats_become_the_nearest_integers_of_the_type_everywhere(machine: Sequence[Runner], t: Any, source: Any) -> None:
    x = floats(source)
    want = saturated(t, x)
    for runner in machine:
        for kernel in (whole_lanes, whole_one_by_one):
            y = np.zeros(len(x), t.dtype)
            leaves(runner, runner.compiled(kernel, x, y), [x, y], {1: want})
        # What lies above a narrow integer would show in the float.
        z = np.zeros(len(x))
        leaves(runner, runner.compiled(whole_and_back, x, want, z), [x, want, z], {2: want.astype(np.float64)})


@pytest.mark.parametrize("source", [lw.f32, lw.f64], ids=str)
@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_with_fastmath_what_fits_is_right_and_the_rest_of_the_type(machine: Sequence[Runner], t: Any, source: Any) -> None:
    fast = lw.kernel(fastmath=True)(whole_and_back.function)
    x = floats(source)
    want = saturated(t, x)
    info = np.iinfo(t.dtype)
    with np.errstate(all="ignore"):
        fits = (np.trunc(x.astype(np.float64)) >= info.min) & (np.trunc(x.astype(np.float64)) < float(info.max) + 1)
    for runner in machine:
        z = np.zeros(len(x))

        def compare(_: Any, z: Any = z, runner: Any = runner) -> None:
            np.testing.assert_array_equal(z[fits], want[fits].astype(np.float64), str(runner))
            assert ((z >= info.min) & (z <= float(info.max))).all()

        runner.run(runner.compiled(fast, x, want, z), [x, want, z], compare)


def test_an_unsigned_integer_of_a_negative_float_is_zero_stored_or_not(machine: Sequence[Runner]) -> None:
    f = lw.Function("f", v=lw.f64, returns=lw.f64)
    with f:
        f.ret(lw.f64(lw.u32(f.v)))
    for runner in machine:
        code = runner.compiled(f)
        for v, want in ((-5.0, 0.0), (5e9, 4294967295.0), (7.9, 7.0)):
            gives(runner, code, [v], want)


@lw.kernel
def clamped(x: lw.Array, y: lw.Array, low: lw.Const, high: lw.Const):
    for i in lw.lanes(len(x)):
        y[i] = y.dtype(lw.min(lw.max(x[i], low), high))


@lw.kernel
def unclamped(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = y.dtype(x[i])


@pytest.mark.parametrize(("t", "low", "high"), [(lw.u8, 0.0, 255.0), (lw.i8, -128.0, 127.0), (lw.u8, 3.0, 200.0)], ids=str)
def test_a_clamp_of_the_program_is_the_only_one(machine: Sequence[Runner], t: Any, low: float, high: float) -> None:
    x = floats(lw.f32)
    want = saturated(t, np.minimum(np.maximum(x, np.float32(low)), np.float32(high)))
    for runner in machine:
        y = np.zeros(len(x), t.dtype)
        code = runner.compiled(clamped, x, y, low=low, high=high)
        leaves(runner, code, [x, y], {1: want})
        plain = runner.compiled(unclamped, x, y).asm()
        assert all(code.asm().count(word) == plain.count(word) for word in ("vmaxps", "vminps")), runner


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
@pytest.mark.parametrize("type_", NARROW)
def test_narrow_parameters_are_operands_of_saturating_sums_and_distances(runner: Runner, type_: Any) -> None:
    text = """
    function both(%a: {0}, %b: {0}, %z: ptr, %z.n0: i64)
      array z: {0}[%z.n0] at %z written
      %1 = add_saturated.{0} %a, %b
      %2 = sub_saturated.{0} %a, 100
      %3 = abs_diff.{0} %a, %b
      %4 = average_up.{0} %b, %a
      store.{0} %1, z[0]
      store.{0} %2, z[1]
      store.{0} %3, z[2]
      store.{0} %4, z[3]
    end
    """
    info = np.iinfo(type_.dtype)
    code = runner.compiled(lw.parse(text.format(type_)))
    for a in (info.min, -1 if info.min else 1, 5, 100, info.max):
        for b in (info.min, 7, info.max):
            wanted = [min(max(a + b, info.min), info.max), min(max(a - 100, info.min), info.max), abs(a - b), (a + b + 1) >> 1]
            leaves(runner, code, [a, b, np.zeros(4, type_.dtype)], {2: np.array(wanted).astype(type_.dtype)})
