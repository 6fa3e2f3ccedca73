"""Loops whose iterations compute until something holds: in lanes, with results as written, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def mandelbrot(o: lw.Array[lw.i32, 2]):
    for y in lw.range(o.shape[0]):
        for x in lw.range(o.shape[1]):
            cr, ci = x * 0.08 - 2.0, y * 0.06 - 1.0
            zr, zi, n = 0.0, 0.0, 0
            while n < 50 and zr * zr + zi * zi < 4.0:
                zr, zi, n = zr * zr - zi * zi + cr, 2 * zr * zi + ci, n + 1
            o[y, x] = n


@lw.kernel(contract=False)
def julia(o: lw.Array[lw.f32, 2]):
    for y in lw.range(o.shape[0]):
        for x in lw.range(o.shape[1]):
            zr, zi = lw.f32(x) * 0.04 - 1, lw.f32(y) * 0.05 - 1
            last = lw.f32(0)
            for _ in lw.range(30):
                if zr * zr + zi * zi > 4:
                    break
                zr, zi = zr * zr - zi * zi - 0.4, 2 * zr * zi + 0.6
                last += 1
            o[y, x] = last + zr


@lw.kernel(contract=False)
def roots(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        a = x[i]
        r = a + 1
        while abs(r * r - a) > 1e-9 * a:
            r = 0.5 * (r + a / r)
        o[i] = r


@lw.kernel(contract=False)
def steps(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    total = lw.i64(0)
    for i in lw.range(len(x)):
        a = x[i]
        k = lw.i64(0)
        while a > 1.5:
            a = a * 0.75 if k % 2 == 0 else a - 0.5
            k += 1
        o[i] = a
        total += k
    o[0] = total


@lw.kernel(contract=False)
def read_behind(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    a = 0.0
    for i in lw.range(len(x)):
        a = x[i]
        while a > 1.0:
            a *= 0.5
        o[i] = a
    o[0] += a


@lw.kernel(contract=False)
def handed_on(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    a = 100.0
    for i in lw.range(len(x)):
        while a > x[i]:
            a *= 0.5
        o[i] = a
        a += 7


@lw.kernel(contract=False)
def looked_up(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        k = i
        while k > 0 and x[k] > 1.0:
            k -= 1
        o[i] = k


@lw.kernel(contract=False)
def by_its_index(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        a = x[i]
        least = lw.f64(0)
        while a > least:
            a *= 0.5
            least = lw.f64(i)
        o[i] = a


@lw.kernel(contract=False)
def searched(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        lo, hi = 0, len(x)
        while lo < hi:
            middle = (lo + hi) // 2
            if x[middle] * 0.4 < x[i]:
                lo = middle + 1
            else:
                hi = middle
        o[i] = lo


@lw.kernel(contract=False)
def tabled(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        s = 0.0
        for k in lw.range(len(x)):
            s += x[k] * x[i]
            if s > 2000:
                break
        o[i] = s


@lw.kernel(contract=False)
def left(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        a, n = x[i], 0
        for _ in range(25):
            if a < 0.5:
                break
            a *= 0.75
            n += 1
        o[i] = a + n


@lw.kernel(contract=False)
def forever(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        a = x[i]
        while True:
            better = 0.5 * (a + x[i] / a)
            if abs(better - a) < 1e-6:
                break
            a = better
        o[i] = a


@lw.kernel(contract=False)
def walked(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        k = 0
        while k < len(x) - 1 and x[k] < x[i]:
            k += 1
        o[i] = k


@lw.kernel(contract=False)
def stored_to(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        lo, hi = 0, len(x)
        while lo < hi:
            middle = (lo + hi) // 2
            if o[middle] < x[i]:
                lo = middle + 1
            else:
                hi = middle
        o[i] = lo


LINES = {
    by_its_index: True,
    roots: True,
    steps: True,
    read_behind: False,
    handed_on: False,
    looked_up: False,
    searched: True,
    tabled: True,
    left: True,
    forever: True,
    walked: False,
    stored_to: False,
}


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", [mandelbrot, julia], ids=lambda kernel: kernel.function.__name__)
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 41)])
def test_pictures(kernel: lw.Kernel, shape: tuple[int, int], runner: Runner) -> None:
    element = np.int32 if kernel is mandelbrot else np.float32
    found, wanted = np.zeros(shape, element), np.zeros(shape, element)
    lw.kernel(kernel.function, contract=False, nests="off")(wanted)
    assert shape[1] < 41 or len(set(wanted.ravel().tolist())) > 3
    runner.run(runner.compiled(kernel, found), [found], lambda _: np.testing.assert_array_equal(found, wanted))


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", LINES, ids=lambda kernel: kernel.function.__name__)
@pytest.mark.parametrize("shift", [None, 0, 1, 50])
def test_lines(kernel: lw.Kernel, shift: int | None, runner: Runner) -> None:
    if shift is not None and runner.lacks:
        pytest.skip("one machine of a kind is enough")
    found, wanted = (np.random.default_rng(4).random(150) * 40 + 0.1 for _ in range(2))

    def arguments(a: np.ndarray) -> list[np.ndarray]:
        return [a[:70], a[75:145]] if shift is None else [a[:70], a[shift : shift + 70]]

    lw.kernel(kernel.function, contract=False, nests="off")(*arguments(wanted))
    if shift is None:
        x, o = (a.copy() for a in arguments(found))
        runner.run(runner.compiled(kernel, x, o), [x, o], lambda _: np.testing.assert_array_equal(o, wanted[75:145]))
    else:
        kernel(*arguments(found))
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kernel", [mandelbrot, julia, *LINES], ids=lambda kernel: kernel.function.__name__)
def test_which_are_in_lanes(kernel: lw.Kernel) -> None:
    report = str(kernel.compile(target="x86-64-v3").nests())
    assert ("lanes(" in report) == LINES.get(kernel, True)
    if "lanes(" in report:
        assert "as written" not in report or "Then it runs as written" in report


def test_integers_take_lanes_where_there_are_many() -> None:
    @lw.kernel
    def collatz(x: lw.Array[lw.i64], o: lw.Array[lw.i64]):
        for i in lw.range(len(x)):
            v, n = x[i], 0
            while v != 1:
                v = 3 * v + 1 if v & 1 else v >> 1
                n += 1
            o[i] = n

    assert "lanes(i)" not in str(collatz.compile(target="x86-64-v3").nests())
    assert "lanes(i)" in str(collatz.compile(target="x86-64-v4", vector_bits=512).nests())


def escapes(x, y):  # type: ignore[no-untyped-def]
    if x > 20 or (y > 30 and x < 3):
        return -1
    zr, zi = 0.0, 0.0
    for k in range(40):
        zr, zi = zr * zr - zi * zi + x * 0.03, 2 * zr * zi + y * 0.02
        if zr * zr + zi * zi >= 4:
            return k
    return 255


@lw.kernel(contract=False)
def returned(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        o[i] = escapes(x[i], x[0])


@lw.kernel(contract=False)
def columns(x: lw.Array[lw.f64], o: lw.Array[lw.f64, 2]):
    for j in lw.range(o.shape[1]):
        a = x[j] * 0.5
        for i in lw.range(o.shape[0]):
            b = a + i
            while b > 1:
                b *= 0.5
            o[i, j] = b


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("count", [1, 9, 100])
def test_functions_that_return_and_columns(count: int, runner: Runner) -> None:
    x = np.random.default_rng(4).random(count) * 40 + 0.1
    for kernel, shape in ((returned, (count,)), (columns, (7, count))):
        found, wanted = np.zeros(shape), np.zeros(shape)
        kernel.function(x, wanted)
        lanes = "lanes(i)" if kernel is returned else "lanes(j)"
        assert lanes in str(kernel.compile(target="x86-64-v3").nests())
        runner.run(runner.compiled(kernel, x, found), [x, found], lambda _, found=found, wanted=wanted: np.testing.assert_array_equal(found, wanted))


@lw.kernel(contract=False)
def marched(p: lw.Array[lw.f64, 2], o: lw.Array[lw.f64]):
    for i in lw.range(len(o)):
        t = 0.0
        for _ in lw.range(30):
            x, y, z = p[i, 0] * t, p[i, 1] * t, p[i, 2] * t - 3
            r = lw.sqrt(x * x + y * y + z * z) - 1
            if r < 1e-3 or t > 20:
                break
            t += r
        o[i] = t


@lw.kernel(contract=False)
def fractal(p: lw.Array[lw.f64, 2], o: lw.Array[lw.f64]):
    for i in lw.range(len(o)):
        a, b, n = p[i, 0], p[i, 1], 0.0
        while a * a + b * b < 4 and n < 25:
            a, b = a * a - b * b + p[i, 0], 2 * a * b + p[i, 1]
            n += 1
        o[i] = n


@lw.kernel(contract=False)
def perhaps_outside(p: lw.Array[lw.f64, 2], o: lw.Array[lw.f64]):
    for i in lw.range(len(o)):
        a = lw.f64(i)
        while a > 3:
            a = a * 0.5 + p[i - 4, 1] * 0.25
        o[i] = a


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize(("kernel", "columns"), [(marched, 3), (fractal, 2), (perhaps_outside, 2)], ids=["rows of three", "pairs", "not loaded at first"])
@pytest.mark.parametrize("count", [1, 7, 60])
def test_rows(kernel: lw.Kernel, columns: int, count: int, runner: Runner) -> None:
    p = np.random.default_rng(5).random((count, columns)) * 2 - 1
    found, wanted = np.zeros(count), np.zeros(count)
    kernel.function(p, wanted)
    if kernel is not perhaps_outside:
        assert "lanes(i)" in str(kernel.compile(target="x86-64-v3").nests())
    runner.run(runner.compiled(kernel, p, found), [p, found], lambda _: np.testing.assert_array_equal(found, wanted))


def test_what_all_steps_load_is_loaded_in_front() -> None:
    text = str(marched.compile(target="x86-64-v3", keep=True).ir("nests"))
    inside = text[text.index("for 0, 30, 1") :]
    assert " = load.f64 p" not in inside[: inside.index("end  ;")]
    text = str(perhaps_outside.compile(target="x86-64-v3", keep=True).ir("nests"))
    assert text.index(" = load.f64 p") > text.index("while")


@lw.kernel(contract=False)
def for_nothing(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        a = x[i]
        for k in lw.range(lw.i32(a) & 15):
            if k > 3:
                break
            a = x[i] + 1
        o[i] = 3


def test_what_stays_as_written_is_not_looked_at_again() -> None:
    """What is run where arrays overlap could have lanes, too, where nothing is read of what is loaded."""
    x, o = np.arange(20.0), np.zeros(20)
    compiled = for_nothing.compile(x, o, target="x86-64-v3")
    assert len(compiled.nests()) == 1
    assert compiled.ir("nests").count(" lanes") == 1


@lw.kernel(contract=False)
def read_behind(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        a, b, n = x[i], 0.0, lw.i64(0)
        while True:
            b = x[i]
            if a < 3 or n > 9:
                break
            a = a * 0.5
            n += 1
        o[i] = a + b


@lw.kernel(contract=False)
def read_behind_twice(x: lw.Array[lw.f64], o: lw.Array[lw.f64]):
    for i in lw.range(1, len(x)):
        b = 0.0
        a = lw.f64(i)
        while True:
            c = x[i - 1]
            b = x[i - 1]
            if a < c or a < 1:
                break
            a = a * 0.5
        o[i] = a + b


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", [read_behind, read_behind_twice], ids=["loaded in front", "loaded twice"])
def test_what_is_loaded_inside_and_read_behind(kernel: lw.Kernel, runner: Runner) -> None:
    x = np.random.default_rng(5).random(50) * 9
    found, wanted = np.zeros(50), np.zeros(50)
    kernel.function(x, wanted)
    runner.run(runner.compiled(kernel, x, found, prove=True), [x, found], lambda _: np.testing.assert_array_equal(found, wanted))
