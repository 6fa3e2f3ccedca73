"""Loops over Python's own range: staged once where that makes no difference, step by step where it does; the same results either way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from

import loopwright as lw
from loopwright.errors import KernelTypeError
from loopwright.frontend import looping


def kernel(source: str, **options: Any) -> Any:
    space: dict[str, Any] = {"lw": lw, "i64": lw.i64, "half": lambda k: k // 2, "weights": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}
    exec(source, space)  # noqa: S102 (the sources below)
    function = space["f"]
    function.__annotations__.update(dict.fromkeys(function.__code__.co_varnames[: function.__code__.co_argcount], lw.Array))
    return lw.kernel(source=source, nests="off", **options)(function)


def loops(source: str, *given: Any) -> int:
    """How many loops of the generated code there are as staged."""
    compiled = kernel(source).compile(*given, keep=True, target="x86-64-v3")
    return sum(" = for " in line for line in str(compiled.ir("collect")).splitlines())


def check(source: str, *given: Any) -> None:
    """Compare with Python."""
    space: dict[str, Any] = {"i64": np.int64, "half": lambda k: k // 2, "weights": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}
    exec(source, space)  # noqa: S102
    wanted, found = [a.copy() for a in given], [a.copy() for a in given]
    with np.errstate(over="ignore"):
        space["f"](*wanted)
    kernel(source)(*found)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def whole(*shape: int, dtype: Any = np.int64) -> Any:
    return np.random.default_rng(0).integers(0, 50, shape).astype(dtype)


#: (loops there are at run time, arguments, source)
SOURCES = {
    "steps of time": (
        2,
        "def f(u, v):\n    for t in range(5):\n        for i in range(1, len(u) - 1):\n            v[i] = u[i - 1] + u[i + 1]\n        u[0] = v[1]\n",
    ),
    "backwards": (2, "def f(u, v):\n    for t in range(9, 0, -2):\n        for i in range(len(u)):\n            u[i] += v[i]\n"),
    "a number that counts": (2, "def f(u, v):\n    for k in range(10):\n        for i in range(len(u) - 10):\n            u[i + k] += v[k]\n"),
    "a bound": (2, "def f(u, v):\n    for k in range(10):\n        for i in range(k, len(u)):\n            u[i] += v[k]\n"),
    "remainders": (2, "def f(u, v):\n    n = len(u)\n    for k in range(12):\n        for i in range(n):\n            u[(k * 3 - i) % n] += v[k // 2]\n"),
    "it is left early": (
        2,
        "def f(u, v):\n    for t in range(9):\n        for i in range(len(u)):\n            u[i] += v[i]\n        if u[0] > 60:\n            break\n",
    ),
    "it goes on, and is left": (
        1,
        "def f(u, v):\n    for t in range(9):\n        if u[1] > 2:\n            u[1] -= 1\n            continue\n        if u[0] > 50:\n            break\n        u[0] += v[0]\n",
    ),
    "it is left at once": (1, "def f(u, v):\n    for t in range(9):\n        if u[0] > 20:\n            break\n        u[0] += v[1] + 3\n"),
    "what counts it goes on": (
        1,
        "def f(u, v):\n    s = v[0]\n    n = 0\n    m = 7\n    for t in range(20):\n        if s > 90:\n            break\n        s += 2\n        n += 1\n        m = m - 2\n    u[0] = s\n    u[1] = n\n    v[2] = n * 3 - m\n",
    ),
    "it is known in the first iteration": (
        1,
        "def f(u, v):\n    s = 0\n    n = 0\n    for t in range(20):\n        if s > 9:\n            break\n        s = s + v[1] + 1\n        n += 1\n    u[1] = n\n    u[0] = s\n",
    ),
    "one in another": (
        2,
        "def f(u, v):\n    for i in range(len(u)):\n        a = u[i]\n        for t in range(12):\n            if a < 3:\n                break\n            a = a // 2\n        u[i] = a\n",
    ),
    "a sum that has a type, compared": (
        4,
        "def f(u, v):\n    for i in range(9, len(u) - 10):\n        for k in range(-4, 5):\n            y = i + k\n            if k + i > 30 or y % 2 == 1:\n                continue\n            for j in range(12):\n                for m in range(12):\n                    u[i] += v[y + j // 2] * u[m // 3 + i] % 7\n            u[i] %= 50\n",
    ),
    "a sieve": (
        1,  # (and a while loop)
        "def f(u, v):\n    for k in range(2, 40):\n        if u[k] > 9:\n            for j in range(k * k, len(u), k):\n                u[j] = v[k]\n",
    ),
    "it is converted": (
        2,
        "def f(u, v):\n    s = i64(v[0])\n    for k in range(9):\n        for i in range(len(u)):\n            s += i64(k * 2 + 1)\n            u[i] += v[i]\n    v[1] = s % 40\n",
    ),
    "a while": (1, "def f(u, v):\n    for t in range(4):\n        i = 0\n        while i < len(u):\n            u[i] += v[i]\n            i += 1\n"),
}
KEPT = {
    "a number that is known when it is, computed with": "def f(u, v):\n    for k in range(4):\n        for i in range(len(u)):\n            for j in range(k):\n                u[i] += v[i] * j\n",
    "a number that is known when it is, an index of a list": "def f(u, v):\n    for k in range(4):\n        for i in range(len(u)):\n            for j in range(k):\n                u[i] += weights[j]\n",
    "a number that is known when it is, read behind": "def f(u, v):\n    j = 1\n    for k in range(4):\n        for i in range(len(u)):\n            for j in range(k):\n                u[i] += v[i]\n    u[0] = j\n",
    "a variable gets another type": "def f(u, v):\n    s = len(u)\n    for k in range(4):\n        for i in range(len(u)):\n            u[i] += v[i]\n        s = s * 0.5\n    u[0] = s > 3\n",
    "a step": "def f(u, v):\n    for k in range(1, 5):\n        for i in range(len(u)):\n            for j in range(0, 9, k):\n                u[j] += v[i]\n",
    "a number inside is narrow elsewhere": "def f(u, v):\n    for k in range(12):\n        for i in range(len(u) - 30):\n            for j in range(2):\n                u[i] += v[j]\n        j = v[0] % 3\n        u[j + k] += 1\n",
    "a step of nothing": "def f(u, v):\n    for k in range(4):\n        for i in range(len(u)):\n            u[i] += v[i]\n        for j in range(0, 9, k + 1):\n            u[j] += v[j]\n",
    "it is converted by a function": "def f(u, v):\n    for k in range(4):\n        for i in range(len(u)):\n            u[i] += half(k)\n",
    "a sum of Python's numbers": "def f(u, v):\n    n = 3\n    for k in range(4):\n        m = n + k\n        for i in range(len(u)):\n            u[i] += m\n",
    "a sum of Python's numbers, compared": "def f(u, v):\n    n = 3\n    for k in range(4):\n        for i in range(len(u)):\n            if k + n > 4:\n                u[i] += v[i]\n",
    "a narrow number is added to it": "def f(u, v):\n    for k in range(4):\n        for i in range(len(u)):\n            m = v[i] + k\n            u[i] += m // 2\n",
    "few": "def f(u, v):\n    for t in range(2):\n        for i in range(len(u)):\n            u[i] += v[i]\n",
    "few columns": "def f(u, v):\n    for k in range(4):\n        for i in range(len(u) - 4):\n            u[i + k] += v[i]\n",
    "its number is computed with": "def f(u, v):\n    for t in range(4):\n        for i in range(len(u)):\n            u[i] += t\n",
    "its number is compared": "def f(u, v):\n    for t in range(4):\n        for i in range(len(u)):\n            if t > 1:\n                u[i] += v[i]\n",
    "a number of Python's goes on": "def f(u, v):\n    s = 1\n    for t in range(4):\n        for i in range(len(u)):\n            u[i] += s\n        s *= 2\n",
    "arrays change places": "def f(u, v):\n    for t in range(4):\n        for i in range(1, len(u)):\n            v[i] = u[i - 1] + 1\n        u, v = v, u\n",
    "an index of a list": "def f(u, v):\n    for k in range(10):\n        for i in range(len(u)):\n            u[i] += weights[k] * v[k]\n",
    "an index of what a name holds": "def f(u, v):\n    for k in range(10):\n        for i in range(len(u)):\n            u[i] += [weights, weights][0][k] * v[k]\n",
    "an item of a list changes": "def f(u, v):\n    seen = [0]\n    for t in range(4):\n        for i in range(len(u)):\n            u[i] += v[i]\n        seen[0] += 1\n    v[0] = seen[0]\n",
    "it is left": "def f(u, v):\n    for t in range(4):\n        for i in range(len(u)):\n            u[i] += v[i]\n        if u[0] > 60:\n            break\n",
    "what counts it is computed with": "def f(u, v):\n    n = 0\n    for t in range(9):\n        for i in range(2):\n            u[i] += n\n        n += 1\n        if u[0] > 60:\n            break\n    v[0] = n\n",
    "it is left, and computed with": "def f(u, v):\n    for t in range(9):\n        if u[0] > 50:\n            break\n        u[0] += t\n",
    "it is left, and read behind": "def f(u, v):\n    for t in range(9):\n        if u[0] > 50:\n            break\n        u[0] += v[0]\n    v[0] = t\n",
    "it is left while compiling": "def f(u, v):\n    for t in range(9):\n        u[0] += v[0]\n        if len(weights) > 3:\n            break\n",
    "a list grows": "def f(u, v):\n    terms = []\n    for t in range(4):\n        for i in range(len(u)):\n            u[i] += v[i]\n        terms.append(u[0])\n    v[0] = terms[0] + terms[3]\n",
    "it is read behind": "def f(u, v):\n    for t in range(4):\n        for i in range(len(u)):\n            u[i] += v[i]\n    u[0] = t\n",
    "nothing inside runs at run time": "def f(u, v):\n    for t in range(20):\n        for d in range(2):\n            u[d] += v[d]\n",
    "a narrow number beside it": "def f(u, v):\n    for k in range(12):\n        for i in range(len(u) - 30):\n            n = v[i] % 3\n            u[n + k] += 1\n",
}


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float64])
@pytest.mark.parametrize("name", [*SOURCES, *KEPT])
def test_the_results_are_pythons(name: str, dtype: Any) -> None:
    source = SOURCES[name][1] if name in SOURCES else KEPT[name]
    if dtype is not np.int64 and (name == "remainders" or "narrow" in name):
        pytest.skip("wraps, or is no index")
    check(source, whole(40, dtype=dtype), whole(40, dtype=dtype) % 3)


@pytest.mark.parametrize("name", SOURCES)
def test_what_makes_no_difference_is_staged_once(name: str) -> None:
    assert loops(SOURCES[name][1], whole(40), whole(40)) == SOURCES[name][0]


@pytest.mark.parametrize("name", KEPT)
def test_what_makes_a_difference_runs_while_compiling(name: str) -> None:
    steps = {
        "few": 2,
        "nothing inside runs at run time": 0,
        "what counts it is computed with": 0,
        "it is left, and computed with": 0,
        "it is left, and read behind": 0,
        "it is left while compiling": 0,
        "an index of a list": 10,
        "an index of what a name holds": 10,
        "a narrow number beside it": 12,
        "a number inside is narrow elsewhere": 12,
    }.get(name, 4)
    dtype = np.uint8 if "narrow" in name else np.int64
    assert loops(KEPT[name], whole(40, dtype=dtype), whole(40, dtype=dtype)) == steps


def test_narrow_totals_stay_narrow() -> None:
    """The number of a range that ends at another number is one of Python's: it takes the type of what it meets."""
    source = "def f(u, v):\n    for k in range(10):\n        for i in range(len(u)):\n            s = u[i] + v[i]\n            for j in range(k):\n                s += v[i] * j\n            u[i] = s // 3\n"
    check(source, whole(40, dtype=np.uint8), whole(40, dtype=np.uint8))


@pytest.mark.parametrize(
    ("numbers", "index", "message"),
    [
        ("range(12)", "5 // k", "integer division or modulo by zero"),
    ],
)
def test_indices_that_are_refused_while_compiling_are(numbers: str, index: str, message: str) -> None:
    source = f"def f(u, v):\n    for k in {numbers}:\n        for i in range(len(v)):\n            v[i] += u[{index}]\n"
    with pytest.raises(KernelTypeError, match=message):
        kernel(source).compile(whole(40), whole(40))


@pytest.mark.parametrize(("numbers", "index"), [("range(-1, 12)", "k"), ("range(12)", "3 - k")])
def test_indices_that_count_from_the_end_do_so_while_compiling(numbers: str, index: str) -> None:
    source = f"def f(u, v):\n    for k in {numbers}:\n        for i in range(len(v)):\n            v[i] += u[{index}]\n"
    check(source, whole(40), whole(40))


def test_many_instructions_are_made_once() -> None:
    source = "def f(u, v):\n    for i in range({0}):\n        for j in range({0}):\n            u[i] = (u[i] * 3 + v[j]) % 1000\n"
    assert loops(source.format(8), whole(100), whole(100)) == 0
    # (The first iteration has told how many they would be. Both loops run at run time where a nest would have too many accesses.)
    assert loops(source.format(10), whole(100), whole(100)) == 2
    check(source.format(10), whole(100), whole(100))
    assert loops(source.format(50), whole(100), whole(100)) == 2
    check(source.format(50), whole(100), whole(100))
    total = "def f(u, v):\n    s = 0\n    for i in range(60):\n        for j in range(60):\n            s += u[i] * v[j]\n        u[i] = s\n    v[0] = s\n"
    assert loops(total, whole(100), whole(100)) == 2
    check(total, whole(100), whole(100))


PLACES = """
def f(u, v):
    top = len(u) - 60
    best = v[0] + 100
    at = 0
    turn = 1
    for p in range(-3, 9):
        for q in range(12):
            if top + p < -2:
                continue
            s = u[0] - u[0]
            for k in range(12):
                s += abs(u[p + q + k + 3] - v[k])
            if s < best:
                best = s
                at = p
                turn = q
    u[0] = at
    u[1] = turn * 2 - at
    v[0] = best
"""


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64, np.float32])
def test_the_number_with_which_something_is_best_is_kept(dtype: Any) -> None:
    """What a loop's number is copied to is of no type, as the number, and takes that of what it meets."""
    # (Those over q and k, for each p.)
    assert loops(PLACES, whole(60, dtype=dtype), whole(60, dtype=dtype)) == 24
    check(PLACES, whole(60, dtype=dtype), whole(60, dtype=dtype))
    # (It is a Python number where that is asked for: the loop is unrolled.)
    asked = PLACES.replace("u[1] = turn * 2 - at", "u[1] = weights[3]").replace("turn = q", "turn = q\n                s += weights[turn]")
    assert loops(asked, whole(60, dtype=dtype), whole(60, dtype=dtype)) < 24
    check(asked, whole(60, dtype=dtype), whole(60, dtype=dtype))


def test_a_number_that_is_copied_has_to_fit() -> None:
    """A number of a loop at run time that a narrow type does not hold: it is told as where the loop is unrolled."""
    source = PLACES.replace("range(12):\n            if", "range(120, 132):\n            if").replace("p + q + k + 3", "p + q + k - 117")
    with pytest.raises(KernelTypeError, match="does not fit in i8"):
        kernel(source).compile(whole(60, dtype=np.int8), whole(60, dtype=np.int8))
    check(source, whole(60, dtype=np.int16), whole(60, dtype=np.int16))


def test_a_loop_of_run_time_that_does_not_run_in_the_last_iteration_around_it() -> None:
    source = "def f(u, v):\n    for i in range(12):\n        for j in range(11):\n            s = v[j]\n            for k in range(i, 11):\n                s += u[k] * v[k]\n            u[j] = s % 1000\n"
    check(source, whole(20), whole(20))


def test_what_many_iterations_have_last_is_there_behind_them() -> None:
    source = "def f(u, v):\n    for k in range(1500):\n        t = u[k % 40] * 2 + u[(k + 1) % 40]\n        v[k % 40] += t\n    v[0] = t\n"
    assert loops(source, whole(40), whole(40)) == 1
    check(source, whole(40), whole(40))
    left = "def f(u, v):\n    for k in range(1100):\n        t = u[k % 40] + v[0]\n        if t > 1000:\n            break\n    v[0] = t\n"
    check(left, whole(40), whole(40))


def test_a_loop_that_cannot_be_one_of_run_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looping, "GROWTH_LIMIT", 200)
    with pytest.raises(KernelTypeError, match="has made 200 instructions after"):
        kernel("def f(u, v):\n    for i in range(500):\n        u[i] = v[i] * i\n").compile(whole(500), whole(500))


def test_many_numbers_are_not_tried_one_by_one() -> None:
    source = """
def f(x, y):
    for t in range(1 << 40):
        for i in lw.range(y.shape[0]):
            y[i] += x[t + 1]
"""
    assert loops(source, lw.Array[lw.i32], lw.Array[lw.i32]) == 2


def doublings(x: Any) -> Any:
    for k in range(20):
        if x > 90:
            return k
        x = x * 2 + 1
    return 99


def first_above(x: Any, y: Any) -> Any:
    for k in range(20):
        if y[k] > x:
            return y[k] * 2
    return 0


def a_float_otherwise(x: Any) -> Any:
    for k in range(20):
        if x > 90:
            return k
        x = x * 2 + 1
    return 0.5


def a_narrower_one_otherwise(x: Any) -> Any:
    for k in range(20):
        if x > 90:
            return k
        x = x * 2 + 1
    return x


def narrow(x: Any) -> Any:
    for k in range(20):
        if x > 90:
            return k * x
        x = x + 7
    return 0


@lw.kernel
def of_doublings(u: lw.Array, v: lw.Array):
    for i in lw.range(len(u)):
        v[i] = doublings(u[i])


@lw.kernel
def of_first_above(u: lw.Array, v: lw.Array):
    for i in lw.range(len(u)):
        u[i] = first_above(u[i], v)


@lw.kernel
def of_a_float_otherwise(u: lw.Array, v: lw.Array):
    for i in lw.range(len(u)):
        v[i] = lw.i64(a_float_otherwise(u[i]) * 2)


@lw.kernel
def of_a_narrower_one_otherwise(u: lw.Array, v: lw.Array):
    for i in lw.range(len(u)):
        v[i] = a_narrower_one_otherwise(u[i])


@lw.kernel
def of_narrow(u: lw.Array, v: lw.Array):
    for i in lw.range(len(u)):
        v[i] = narrow(u[i])


@lw.kernel
def left_at_the_top(u: lw.Array) -> lw.i32:
    for k in range(30):
        if u[0] > 1000:
            return k
        u[0] = u[0] * 2 + 1
    return 77


FUNCTIONS = {
    of_doublings: doublings,
    of_a_float_otherwise: lambda x: int(a_float_otherwise(x) * 2),
    of_a_narrower_one_otherwise: a_narrower_one_otherwise,
    of_narrow: narrow,
}


@lw.kernel
def of_doublings_computed_with(u: lw.Array, v: lw.Array):
    for i in lw.range(len(u)):
        v[i] = (doublings(u[i]) + 120) * u[i]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32])
def test_what_they_return_takes_the_type_of_what_it_meets(dtype: Any) -> None:
    """As a Python number does: nobody can tell that a loop at run time has counted it."""
    u, v = whole(40, dtype=dtype), np.zeros(40)
    wanted = v.copy()
    with np.errstate(over="ignore"):
        for i in range(40):
            wanted[i] = dtype(doublings(u[i]) + 120) * u[i]
    of_doublings_computed_with(u, v)
    np.testing.assert_array_equal(v, wanted)


@lw.kernel
def of_more_than_it_holds(u: lw.Array, v: lw.Array):
    for i in lw.range(len(u)):
        v[i] = index_of(u[i], v) * u[i]


def index_of(x: Any, y: Any) -> Any:
    for k in range(300):
        if y[k] > x:
            return k
    return 0


def test_what_they_return_is_refused_where_it_does_not_fit() -> None:
    with pytest.raises(KernelTypeError, match="the Python integer 256 does not fit in u8"):
        of_more_than_it_holds.compile(whole(40, dtype=np.uint8), whole(300))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_counts_fractions_is_rounded_once(dtype: Any) -> None:
    source = "def f(u, v):\n    n = 0.0\n    for k in range(20):\n        if u[k] > 48:\n            break\n        n += {}\n    v[0] = u[2] * n\n"
    u = np.minimum(whole(40), 48).astype(dtype)
    for step, count in ("0.1", int(dtype is np.float64)), ("2.0", 1), ("2", 1):
        check(source.format(step), u, u)
        assert loops(source.format(step), u, u) == count


@pytest.mark.parametrize("start", [np.float64, np.int64, np.int16])
def test_variables_take_the_type_of_each_assignment(start: Any) -> None:
    """A loop of run time has a variable that keeps its type; where that is wider, as here, a product of a narrow one would not wrap."""
    source = "def f(u, v, w):\n    s = w[0]\n    for k in range(9):\n        if u[k] > 48:\n            break\n        v[k] = s * 200\n        s = {}\n"
    for assigned in ("u[k]", "5"):
        check(source.format(assigned), np.minimum(whole(40), 48).astype(np.uint8), np.zeros(40), np.ones(1, start))
    branches = "5\n        if u[k] > 20:\n            s = 7\n        else:\n            s = 9"
    check(source.format(branches), np.minimum(whole(40), 48).astype(np.uint8), np.zeros(40), np.ones(1, start))
    check(source.format("2"), whole(40, dtype=np.uint8) % 48, np.zeros(40), np.ones(1, np.uint8))


@pytest.mark.parametrize(
    ("kernel", "count"),
    [(of_doublings, 2), (of_first_above, 2), (of_a_float_otherwise, 2), (of_a_narrower_one_otherwise, 2), (of_narrow, 1)],
    ids=["its number", "what is looked up", "its number, or a float", "its number, or a narrower one", "computed with"],
)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_functions_that_return_out_of_them(kernel: lw.Kernel, count: int, dtype: Any) -> None:
    u, v = whole(40, dtype=dtype), whole(40, dtype=dtype) % 60
    if kernel is of_a_float_otherwise:
        v = v.astype(np.int64)
    wanted = [u.copy(), v.copy()]
    with np.errstate(over="ignore"):
        for i in range(40):
            if kernel is of_first_above:
                wanted[0][i] = first_above(wanted[0][i], v)
            else:
                wanted[1][i] = FUNCTIONS[kernel](u[i])
    staged = str(lw.kernel(kernel.function, nests="off").compile(u, v, keep=True, target="x86-64-v3").ir("collect"))
    assert sum(" = for " in line for line in staged.splitlines()) == count
    kernel(u, v)
    np.testing.assert_array_equal(u, wanted[0])
    np.testing.assert_array_equal(v, wanted[1])


def test_a_kernel_that_returns_out_of_one() -> None:
    # (Its result is narrower than the number of a loop of run time.)
    u = np.array([5], np.int64)
    assert left_at_the_top(u) == 8
    assert u[0] == 1535


def test_what_is_refused_either_way_is_told_of_the_first() -> None:
    source = (
        "def f(u, v):\n    n = 0\n    for k in range(20):\n        if u[0] > 90:\n            break\n        u[0] += 7\n        n += 1\n    v[nothing] = n\n"
    )
    with pytest.raises(KernelTypeError, match="`nothing` is not defined"):
        kernel(source).compile(whole(40), whole(40))


WHILES = {
    "it counts": (1, "n = 0\n    while n < 200:\n        u[0] += v[1] + 1\n        n += 1\n        if u[0] > 300:\n            break\n    v[0] = n"),
    "it counts down": (1, "n = 150\n    while n > 0:\n        if u[0] > 300:\n            break\n        n -= 2\n        u[0] += v[1] + 1\n    v[0] = n"),
    "few": (0, "n = 0\n    while n < 4:\n        u[0] += v[1] + 1\n        n += 1\n        if u[0] > 60:\n            break\n    v[0] = n"),
    "not left": (0, "n = 0\n    while n < 12:\n        u[n] += v[1] + 1\n        n += 1\n    v[0] = n"),
    "computed with": (0, "n = 0\n    while n < 12:\n        u[0] += v[1] + n\n        n += 1\n        if u[0] > 60:\n            break\n    v[0] = n"),
    "another number": (
        0,
        "n = 0\n    m = 1\n    while n < 12:\n        u[0] += v[1]\n        n += 1\n        m *= 2\n        if u[0] > 60:\n            break\n    v[0] = m",
    ),
}


@pytest.mark.parametrize("name", WHILES)
def test_whiles_that_are_left(name: str) -> None:
    count, body = WHILES[name]
    source = f"def f(u, v):\n    {body}\n"
    check(source, whole(40), whole(40) % 3)
    text = str(kernel(source).compile(whole(40), whole(40), keep=True, target="x86-64-v3").ir("collect"))
    assert sum(line.strip().startswith("while") for line in text.splitlines()) == count


def test_numbers_that_are_stored() -> None:
    source = "def f(u, v):\n    for k in range(50):\n        if u[0] > 200:\n            break\n        u[0] += 7\n        v[1] = k\n"
    for dtype in (np.int64, np.float64, np.uint8):
        given = whole(40, dtype=dtype), whole(40, dtype=dtype) % 3
        check(source, *given)
        assert loops(source, *given) == 1
    with pytest.raises(KernelTypeError, match="an element of v is u8, which holds 0 to 255, and the value 256"):
        kernel(source.replace("range(50)", "range(500)")).compile(whole(40, dtype=np.uint8), whole(40, dtype=np.uint8))


@pytest.mark.parametrize("steps", [1, 3, 12, 300])
def test_while_loops_that_count_and_hold_loops(steps: int) -> None:
    """They run at run time, as those over a range do, and what counts is there behind them."""
    source = f"""
def nest(a, b, c):
    it = 0
    total = b[0] * 0
    while it < {steps}:
        total = b[0] * 0
        for i in range(a.shape[0]):
            total += a[i]
        for i in range(a.shape[0]):
            a[i] = a[i] * 0.5 + b[i] - total * 0.01
        it += 1
    c[0] = total
    c[1] = it
"""
    found, wanted = ([np.arange(9.0), np.ones(9), np.zeros(2)] for _ in range(2))
    kernel = nest_from(source, contract=False)
    kernel.function(*wanted)
    kernel(*found)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    many = kernel.compile(*found, target="x86-64-v3").asm().count("\n")
    few = nest_from(source.replace(f"< {steps}", "< 4"), contract=False).compile(*found, target="x86-64-v3").asm().count("\n")
    assert many <= few or steps < 3
