"""The if-convert pass: short branches whose conditions hang on data become choices, and the rest stay as they are."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from
from tests.machines import Runner, runners
from tests.passes.generator import AnyTarget
from tests.passes.texts import block, rewritten

import loopwright as lw
from loopwright.passes import if_conversion
from loopwright.targets import registry

HEAD = "function f(%a: ptr, %a.n0: i64, %n: i64, %c: i64) -> i64\n  array a: i64[%a.n0] at %a written\n  var %s: i64\n  var %t: i64\n  var %u: i64\n"
TARGET = registry.get("x86-64-v3")


def loop(body: str) -> str:
    return f"%s = copy.i64 0\n%t = copy.i64 0\n%u = copy.i64 0\n%k = for 0, %n, 1\n%1 = load_at.i64 [%a + %k*8]{{of a}}\n{body}\nend\nret %s"


def made(body: str, target: object = TARGET) -> str:
    return rewritten(f"{HEAD}{loop(body)}\nend", if_conversion, target=target)


def kept(body: str) -> bool:
    return made(body) == block(loop(body))


def test_one_arm() -> None:
    assert made("%2 = lt.i64 %1, %c\nif %2\n%s = add.i64 %s, 1\nend") == block(
        loop("%5 = add.i64 %s, 1\n%6 = lt.i64 %1, %c\n%s = select.i64 %6, %5, %s").replace("%5", "%3").replace("%6", "%4")
    )


def test_both_arms_and_what_is_compared_last() -> None:
    text = made("%2 = lt.i64 %s, %1\nif %2\n%s = sub.i64 %1, %s\n%t = add.i64 %t, %1\nelse\n%t = copy.i64 %s\nend")
    lines = [line.strip() for line in text.splitlines()]
    selects = [line for line in lines if "select" in line]
    assert [line.split()[0][:2] for line in selects] == ["%t", "%s"] and "if" not in text
    # Each has its comparison right before it.
    assert all("lt.i64 %s" in lines[lines.index(line) - 1] for line in selects)


def test_arms_that_exchange_two_variables() -> None:
    @lw.kernel
    def exchanging(x: lw.Array[lw.i64], y: lw.Array[lw.i64]):
        a = lw.i64(1)
        b = lw.i64(2)
        for i in lw.range(len(x)):
            if x[i] > 3:
                t = a
                a = b
                b = t + 1
            y[i] = a * 100 + b

    x = np.random.default_rng(1).integers(0, 7, 500)
    y, want = np.zeros_like(x), np.zeros_like(x)
    a, b = 1, 2
    for k, v in enumerate(x):
        if v > 3:
            a, b = b, a + 1
        want[k] = a * 100 + b
    exchanging(x, y)
    assert (y == want).all()
    assert "select" in exchanging.compile(x, y).ir("if-convert")


def test_one_store_of_what_is_chosen() -> None:
    text = made("%2 = lt.i64 %1, %c\nif %2\nstore_at.i64 %1, [%a + %k*8]{of a}\n%s = add.i64 %s, 1\nelse\nstore_at.i64 %c, [%a + %k*8]{of a}\nend")
    assert text.count("store_at") == 1 and text.count("select") == 2


def test_what_both_arms_load_is_loaded_in_front() -> None:
    here, there = "[%a + %k*8 + 8]{of a}", "[%a + %k*8 + 16]{of a}"
    text = made(f"%2 = lt.i64 %s, 0\nif %2\n%s = load_at.i64 {here}\n%t = copy.i64 %k\nelse\n%3 = load_at.i64 {here}\n%s = add.i64 %s, %3\nend")
    assert text.count("load_at") == 2 and text.count("select") == 2 and "if" not in text
    # What one arm alone loads it loads from there if it counts, and elsewhere otherwise; not behind its store.
    text = made(f"%2 = lt.i64 %s, 0\nif %2\n%3 = load_at.i64 {here}\n%s = copy.i64 %3\nelse\n%4 = load_at.i64 {there}\n%s = copy.i64 %4\nend")
    assert text.count("select.ptr") == 2 and "if" not in text
    assert kept(
        f"%2 = lt.i64 %s, 0\nif %2\nstore_at.i64 %s, {here}\n%3 = load_at.i64 {there}\n%s = copy.i64 %3\nelse\n"
        f"%4 = load_at.i64 {there}\nstore_at.i64 %4, {here}\n%s = copy.i64 %4\nend"
    )


def test_chains_of_elif_are_choices_of_choices() -> None:
    body = "%2 = gt.i64 %1, %c\nif %2\n%s = copy.i64 7\nelif\n%3 = lt.i64 %1, 5\nthen %3\n%s = copy.i64 3\nend"
    text = made(body)
    assert text.count("select") == 2 and "if" not in text
    # With more tests than three they stay for tables and halving.
    more = "".join(f"elif\n%{k} = eq.i64 %1, {k}\nthen %{k}\n%s = copy.i64 {k}\n" for k in (4, 5))
    assert kept(body.removesuffix("end") + more + "end")
    # What cannot be a choice is a branch in the other's arm.
    assert made(body.replace("copy.i64 7", "div_trunc.i64 %s, 7")).count("if") == 1


def test_a_bound_that_one_arm_keeps_is_one_of_a_value_that_changes_nothing_in_the_other() -> None:
    for op, least in (("max", -(1 << 63)), ("min", (1 << 63) - 1)):
        text = made(f"%2 = gt.i64 %1, 5\nif %2\n%s = add.i64 %s, 1\n%t = {op}.i64 %t, %s\nelse\n%s = copy.i64 0\nend")
        lines = [line.strip() for line in text.splitlines()]
        assert "if" not in text and text.count("select") == 2
        assert any(line.startswith("%t") and f"= {op}.i64 %t" in line for line in lines) and f", {least}" in text
    # Not where the other arm changes it as well, or what is made is read besides.
    assert "-9223372036854775808" not in made("%2 = gt.i64 %1, 5\nif %2\n%t = max.i64 %t, %1\nelse\n%t = copy.i64 0\nend")
    assert "-9223372036854775808" not in made("%2 = gt.i64 %1, 5\nif %2\n%t = max.i64 %t, %1\n%s = copy.i64 %t\nend")
    # Nor where it is of what another choice has changed by then.
    assert "-9223372036854775808" not in made("%2 = gt.i64 %1, 5\nif %2\n%t = max.i64 %t, %s\n%s = add.i64 %1, 1\nend")


@lw.kernel(nests="off")
def switched(x: lw.Array[lw.f32], out: lw.Array[lw.u8], best: lw.Array[lw.i32], high: lw.f32, low: lw.f32):
    state = lw.u8(0)
    on = False
    run = lw.i32(0)
    most = lw.i32(0)
    for i in range(len(x)):
        if x[i] > high:
            state = lw.u8(2)
        elif not x[i] >= low:
            state = lw.u8(1)
        if x[i] >= low:
            run += 1
            most = max(most, run)
            on = True
        else:
            run = lw.i32(0)
            on = on and x[i] < high
        out[i] = state + lw.u8(4) if on else state
    best[0] = most


@pytest.mark.parametrize("runner", runners())
def test_states_that_floats_decide(runner: Runner) -> None:
    x = np.random.default_rng(5).random(300).astype(np.float32)
    x[::17] = np.nan
    x[3::29] = 0.75
    out, best = np.zeros(300, np.uint8), np.zeros(1, np.int32)
    want, most = np.zeros_like(out), np.zeros_like(best)
    switched.function(x, want, most, np.float32(0.75), np.float32(0.25))
    code = runner.compiled(switched)
    runner.call(code, x, out, best, 0.75, 0.25)
    assert (out == want).all() and (best == most).all()


@lw.kernel(nests="off")
def longest(x: lw.Array[lw.f32], best: lw.Array[lw.i32], low: lw.f32):
    run = lw.i32(0)
    most = lw.i32(0)
    for i in range(len(x)):
        if x[i] >= low:
            run += 1
            most = max(most, run)
        else:
            run = lw.i32(0)
    best[0] = most


def test_conditions_of_floats_are_no_numbers_where_they_decide() -> None:
    for target in ("x86-64-v3", "x86-64-v4"):
        text = longest.compile(target=target).asm()
        # What two choices have in common is compared once.
        assert "vcmpss" not in text and "kmov" not in text and text.count("vucomiss") == 1 and text.count("cmov") == 3


@lw.kernel(nests="off")
def runs(x: lw.Array, out: lw.Array, least: lw.Array):
    total = x[0] - x[0]
    for i in lw.range(len(x)):
        if total <= 3:
            total = x[i]
        else:
            total += x[i]
        least[i] = total if total < x[i] else x[i] - 1
        v = x[i] ^ total if x[i] > 7 else x[i] - total
        out[i] = v


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64])
def test_choices_of_every_width(runner: Runner, dtype: type) -> None:
    bounds = np.iinfo(dtype)
    x = np.random.default_rng(3).integers(bounds.min, bounds.max, 200, dtype)
    x[100:] = x[100:] % 9
    out, least, want, smaller = (np.zeros_like(x) for _ in range(4))
    with np.errstate(over="ignore"):
        runs.function(x, want, smaller)
    code = runner.compiled(runs, x, out, least)
    runner.call(code, x, out, least)
    assert (out == want).all() and (least == smaller).all()


@pytest.mark.parametrize("element", [lw.u8, lw.i16, lw.i64])
def test_choices_of_narrow_integers_hold_their_comparison(element: object) -> None:
    array = lw.Array[element]
    text = runs.compile(array, array, array, target="x86-64-v3").ir("select")
    # (The one branch is the loop's.)
    assert text.count("select_") >= 3 and text.count(" if_") == 1


@pytest.mark.parametrize(
    "body",
    [
        "%2 = lt.i64 %k, %c\nif %2\n%s = add.i64 %s, 1\nend",  # It hangs on the counter alone.
        "%2 = lt.i64 %1, %c\nif %2\nstore_at.i64 %1, [%a + %k*8]{of a}\nend",
        "%2 = lt.i64 %1, %c\nif %2\nstore_at.i64 %1, [%a + %k*8]{of a}\nelse\nstore_at.i64 %1, [%a + %k*8 + 8]{of a}\nend",
        "%2 = eq.i64 %1, %c\nif %2\n%3 = load_at.i64 [%a + %k*8 + 8]{of a}\n%s = add.i64 %s, %3\nend",
        "%2 = lt.i64 %1, %c\nif %2\n%s = div_trunc.i64 %s, 3\nend",
        "%2 = lt.i64 %1, %s\nif %2\n%s = copy.i64 %1\n%t = copy.i64 %k\nend",  # An extreme, and where it is.
        "%2 = lt.i64 %1, %c\nif %2\n%j = for 0, %n, 1\n%s = add.i64 %s, 1\nend\nend",
        "%2 = lt.i64 %1, %c\nif %2\n" + "\n".join(f"%{k} = add.i64 %{k - 1 if k > 3 else 1}, %c" for k in range(3, 10)) + "\n%s = copy.i64 %9\nend",
        "while\n%2 = lt.i64 %t, %c\ndo %2\n%3 = load_at.i64 [%a + %t*8]{of a}\n%4 = lt.i64 %3, %c\nif %4\n%t = add.i64 %t, 1\nelse\n%t = add.i64 %t, 2\nend\nend",
    ],
)
def test_what_stays(body: str) -> None:
    assert kept(body)


def test_what_is_kept_at_a_bound_is_no_search() -> None:
    text = made("%s = add.i64 %s, %1\n%2 = lt.i64 %s, %c\nif %2\n%s = copy.i64 %c\n%t = copy.i64 %k\nend")
    assert text.count("select") == 2 and "if" not in text


SEARCH = """
def f(a, b):
    for i in range(a.shape[0]):
        best = a[i] - a[i]
        at = i
        for r in range(FIRST, a.shape[0]):
            t = a[r] * a[i]
            if t < best:
                best = t
                at = r
        b[i] = best
        b[a.shape[0] + i] = T(at)
"""


@pytest.mark.parametrize(
    ("compare", "first"), [("t < best", "i"), ("t > best", "i"), ("best < t", "i"), ("best > t", "i + 1"), ("t <= best", "i"), ("not t > best", "i")]
)
@pytest.mark.parametrize("element", [lw.f64, lw.f32])
def test_searches_through_intervals_are_choices(compare: str, first: str, element: Any) -> None:
    """Extremes of few floats at a time, also of zeros of both signs and of what is no number, bit for bit."""
    source = SEARCH.replace("t < best", compare).replace("FIRST", first)
    space: dict[str, Any] = {"T": element}
    plain: dict[str, Any] = {"T": float}
    exec(source, space)  # noqa: S102 (the source above)
    exec(source, plain)  # noqa: S102
    space["f"].__annotations__.update(a=lw.Array[element, 1], b=lw.Array[element, 1])
    kernel = lw.kernel(source=source, nests="off")(space["f"])
    dtype = np.dtype(element.dtype)
    rng = np.random.default_rng(3)
    numbers = rng.choice(np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 2.5, -3.0]), 40).astype(dtype)
    for given in (numbers, rng.standard_normal(33).astype(dtype), np.zeros(0, dtype)):
        wanted, found = np.zeros(2 * len(given), dtype), np.zeros(2 * len(given), dtype)
        with np.errstate(all="ignore"):
            plain["f"](given, wanted)
        kernel(given, found)
        assert np.array_equal(wanted.view(f"i{dtype.itemsize}"), found.view(f"i{dtype.itemsize}")) or np.array_equal(wanted, found, equal_nan=True)
        finite = ~np.isnan(wanted)
        assert np.array_equal(np.signbit(wanted[finite]), np.signbit(found[finite]))


def test_only_those_that_have_few_turns_are() -> None:
    def code(source: str) -> str:
        space: dict[str, Any] = {"T": lw.f64}
        exec(source, space)  # noqa: S102 (the source above)
        space["f"].__annotations__.update(a=lw.Array[lw.f64, 1], b=lw.Array[lw.f64, 1])
        return lw.kernel(source=source, nests="off")(space["f"]).compile(target="x86-64-v3", keep=True).ir("if-convert")

    assert "min.f64" in code(SEARCH.replace("FIRST", "i"))
    assert "min.f64" not in code(SEARCH.replace("FIRST", "0"))
    # (What is only loaded is searched in blocks, or quickly.)
    assert "min.f64" not in code(SEARCH.replace("FIRST", "i").replace("a[r] * a[i]", "a[r]"))


def test_a_branch_outside_of_loops_stays() -> None:
    text = "%1 = load_at.i64 [%a]{of a}\n%s = copy.i64 0\n%2 = lt.i64 %1, %c\nif %2\n%s = copy.i64 1\nend\nret %s"
    assert rewritten(f"{HEAD}{text}\nend", if_conversion, target=TARGET) == block(text)


def test_a_machine_without_conditional_moves_keeps_its_branches() -> None:
    body = "%2 = lt.i64 %1, %c\nif %2\n%s = add.i64 %s, 1\nend"
    assert made(body, registry.get("rv64gc")) == block(loop(body)) == made(body, AnyTarget())


def test_a_search_by_halves_for_many_keys_has_no_branch_but_the_loops() -> None:
    @lw.kernel
    def places(a: lw.Array[lw.i32], q: lw.Array[lw.i32], out: lw.Array[lw.i64]):
        for k in lw.range(len(q)):
            lo = lw.i64(0)
            hi = lw.i64(len(a))
            while lo < hi:
                mid = (lo + hi) // 2
                if a[mid] < q[k]:
                    lo = mid + 1
                else:
                    hi = mid
            out[k] = lo

    rng = np.random.default_rng(2)
    for n in (0, 1, 2, 63, 64, 1000):
        a = np.sort(rng.integers(0, 500, n).astype(np.int32))
        q = rng.integers(-5, 505, 200).astype(np.int32)
        out = np.full(200, -1)
        places(a, q, out)
        assert (out == np.searchsorted(a, q)).all()
    text = places.compile(lw.Array[lw.i32], lw.Array[lw.i32], lw.Array[lw.i64], target="x86-64-v3").ir("if-convert")
    assert text.count("select.i64") == 2 and " if " not in text


def test_choices_by_one_condition_stand_together() -> None:
    text = loop("%2 = lt.i64 %s, %1\n%3 = select.i64 %2, 0, %1\n%s = sub.i64 %s, %3\n%4 = select.i64 %2, %1, %c\n%t = add.i64 %t, %4")
    lines = [line.strip() for line in rewritten(f"{HEAD}{text}\nend", if_conversion, target=TARGET).splitlines()]
    places = [n for n, line in enumerate(lines) if "select" in line]
    assert places[1] == places[0] + 1
    # One that reads what has been written between stays.
    text = loop("%2 = lt.i64 %s, %1\n%3 = select.i64 %2, 0, %1\n%s = sub.i64 %s, %3\n%4 = select.i64 %2, %s, %c\n%t = add.i64 %t, %4")
    assert rewritten(f"{HEAD}{text}\nend", if_conversion, target=TARGET) == block(text)


def test_each_choice_by_a_comparison_of_floats_has_its_own() -> None:
    @lw.kernel
    def streaks(x: lw.Array[lw.f32], out: lw.Array[lw.i32]):
        s = lw.i32(0)
        m = lw.i32(0)
        for i in lw.range(len(x)):
            if x[i] > 0.5:
                s += 1
                m = lw.max(m, s)
            else:
                s = lw.i32(0)
        out[0] = m

    rng = np.random.default_rng(3)
    for n in (0, 1, 50, 300):
        x = rng.random(n).astype(np.float32)
        x[::7] = np.nan
        out = np.zeros(1, np.int32)
        streaks(x, out)
        assert out[0] == max([len(part) for part in "".join("x" if v > 0.5 else " " for v in x).split()], default=0)
    text = streaks.compile(lw.Array[lw.f32], lw.Array[lw.i32], target="x86-64-v4").asm()
    # (The flags of the first are still there for the second.)
    assert text.count("ucomiss") == 1 and "kmov" not in text


@lw.kernel
def _stores_where_it_fails(a: lw.Array, c: lw.Array):
    known = True
    for i in range(a.shape[0]):
        if a[i] < 3:
            known = False
        if known:
            known = a[i] < 9
        else:
            c[i] = 7


def test_a_condition_of_two_parts_stores_nothing_in_its_other_arm() -> None:
    a = np.array([5, 6, 2, 8, 10, 11, 4, 5], np.int64)
    c = np.zeros(8, np.int32)
    _stores_where_it_fails(a, c)
    assert c.tolist() == [0, 0, 7, 7, 7, 7, 7, 7]


def float_kernel(type_: str, condition: str, then: str, otherwise: str) -> Any:
    arm = f"        else:\n            s = {otherwise}\n" if otherwise else ""
    text = f"""def k(a: lw.Array[T], b: lw.Array[T], c: lw.Array[T]):
    s = T(1.5)
    for i in lw.range(a.shape[0]):
        if {condition}:
            s = {then}
{arm}        c[i] = s - b[i]
"""
    space = {"lw": lw, "T": getattr(lw, type_)}
    exec(text, space)  # noqa: S102 (the text above)
    return lw.kernel(source=text, contract=False)(space["k"])


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_choices_between_floats(runner: Runner, type_: str) -> None:
    """Comparisons of what is loaded, of what is computed, and of what waits; also of NaN, infinities and zeros with signs."""
    dtype = np.dtype({"f32": "f4", "f64": "f8"}[type_])
    rng = np.random.default_rng(1)
    a, b = [rng.integers(-3, 4, 60).astype(dtype) for _ in range(2)]
    a[::7], b[::11], a[5], b[9], a[9] = np.nan, np.nan, np.inf, -0.0, 0.0
    operators = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
    for sign, compare in operators.items():
        for inverted in (False, True):
            for first, second in (("a[i]", "b[i]"), ("s", "b[i]"), ("b[i]", "s")):
                condition = f"{'not ' if inverted else ''}{first} {sign} {second}"
                kernel = float_kernel(type_, condition, "a[i]", "b[i] * T(0.5)" if sign in "<>" else "")
                wanted, s = np.zeros(60, dtype), dtype.type(1.5)
                for i in range(60):
                    values = {"a[i]": a[i], "b[i]": b[i], "s": s}
                    if compare(values[first], values[second]) != inverted:
                        s = a[i]
                    elif sign in "<>":
                        s = b[i] * dtype.type(0.5)
                    wanted[i] = s - b[i]
                args = [a.copy(), b.copy(), np.zeros(60, dtype)]

                def check(_: Any, made: Any = args[2], wanted: Any = wanted, condition: str = condition) -> None:
                    np.testing.assert_array_equal(made, wanted, condition)

                runner.run(runner.compiled(kernel, *args), args, check)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_floats_are_blended_where_floats_as_wide_are_compared(target: str) -> None:
    text = float_kernel("f32", "a[i] > s", "a[i]", "s * T(0.5)").compile(target=target).asm()
    assert text.count("vblend") == text.count("vcmpss") > 0 and "vucomiss" not in text
    wider = float_kernel("f32", "lw.f64(a[i]) * 3 > lw.f64(b[i])", "a[i]", "").compile(target=target).asm()
    # (By a truth value otherwise.)
    assert "vblend" in wider


@pytest.mark.parametrize("sign", ["<", ">"])
def test_bounds_of_floats_under_conditions(sign: str) -> None:
    """Where the arm does not run nothing is compared: no number that a float may be beyond."""
    start = "1e+30" if sign == "<" else "-1e+30"
    source = (
        "def nest(a, b, c):\n    n = b.shape[0]\n    for j in range(n):\n        best = " + start + "\n        for k in range(j):\n"
        "            area = (1 - a[0]) * (1 - b[0]) - (1 - a[0]) * (b[k] - 1)\n            cost = 1 - 0.5 * abs(area)\n"
        f"            if cost < -2:\n                if cost {sign} best:\n                    best = cost\n        c[j] = best\n"
    )
    plain, kernel = nest_from(source, contract=False, nests="off"), nest_from(source, contract=False)
    for values in (np.zeros(9), np.arange(9.0), np.full(9, -3.0), np.linspace(-9, 99, 9), np.array([0.5, 5, np.nan, np.inf, -np.inf, 7, 1e25, 6, 1e35])):
        results = []
        for function in (plain.function, kernel):
            c = np.zeros(9)
            with np.errstate(all="ignore"):
                function(np.array([4.0]), values, c)
            results.append(c)
        np.testing.assert_array_equal(results[1], results[0])


def test_values_that_go_through_many_choices() -> None:
    """What a variable is made of is followed through all that it has been given before."""
    text = "def nest(b, c):\n    for left in range(b.shape[0]):\n        over = 0\n        for g in range(256):\n            if b[g] >= 1:\n                over = 1\n            if b[g] == 1:\n                over += 1\n"
    text += "        below = 0\n        if 1 < over:\n            below += 1\n        c[left] = below\n"
    kernel = nest_from(text, fastmath=True)
    b, c = np.arange(256, dtype=np.int32) % 3, np.zeros(256, np.uint8)
    kernel(b, c)
    assert set(c) == {1 if b[-1] == 1 else 0}


@pytest.mark.parametrize("sign", ["<=", "<"])
def test_merges(sign: str) -> None:
    """Which of two sorted lists has the next element nobody foresees, so that it is chosen although the next loads wait for it."""
    text = "def nest(a, b, c):\n    i = 0\n    j = 0\n    k = 0\n    while i < a.shape[0] and j < b.shape[0]:\n"
    text += f"        if a[i] {sign} b[j]:\n            c[k] = a[i]\n            i += 1\n        else:\n            c[k] = b[j]\n            j += 1\n        k += 1\n"
    text += "    while i < a.shape[0]:\n        c[k] = a[i]\n        i += 1\n        k += 1\n    while j < b.shape[0]:\n        c[k] = b[j]\n        j += 1\n        k += 1\n"
    kernel = nest_from(text)
    listing = kernel.compile(*[lw.Array[lw.i32]] * 3, target="x86-64-v3").asm()
    assert listing.count("cmovg" if sign == "<=" else "cmovge") >= 2
    for n, m in ((0, 0), (0, 5), (7, 0), (1, 1), (40, 60), (300, 3)):
        a, b = (np.sort(np.random.default_rng(size).integers(0, 50, size)).astype(np.int32) for size in (n, m))
        c = np.zeros(n + m, np.int32)
        kernel(a, b, c)
        np.testing.assert_array_equal(c, np.sort(np.concatenate([a, b])))


@pytest.mark.parametrize("added", ["s += 25 - a[i]", "t = s + a[i] - 25\n        s = t"])
def test_the_greatest_of_what_a_loop_adds_up(added: str) -> None:
    """A sum is the greatest so far again and again: a choice, where one of many numbers is a branch."""
    text = f"def nest(a, c):\n    s = a[0] * 0\n    best = a[0] * 0\n    end = a.shape[0]\n    i = a.shape[0] - 1\n    while i >= 0:\n        {added}\n"
    text += "        if s < -60:\n            break\n        if s > best:\n            best = s\n            end = i\n        i -= 1\n    c[0] = best\n    c[1] = end\n"
    kernel, plain = nest_from(text), nest_from(text, nests="off")
    assert "cmovg" in kernel.compile(lw.Array[lw.i64], lw.Array[lw.i64], target="x86-64-v3").asm()
    for n in (1, 2, 9, 300):
        a = np.random.default_rng(n).integers(0, 51, n)
        found, wanted = np.zeros(2, np.int64), np.zeros(2, np.int64)
        plain.function(a, wanted)
        kernel(a, found)
        np.testing.assert_array_equal(found, wanted)
