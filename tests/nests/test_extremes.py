"""Loops that look for an extreme and where it is: in lanes, with the index, ties and NaNs of the loop as written."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.runtime import emulate

COMPARISONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
TYPES = ["f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]

SEARCH = """def search(x, out):
    best = x[0]
    at = lw.i64(0)
    for i in lw.range(1, len(x)):
        if {condition}:
            best = x[i]
            at = i
    out[0] = best
    return at
"""


def kernel(source: str, name: str = "search", **options: Any) -> Any:
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the sources below)
    function = space[name]
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    function.__annotations__.update({**dict.fromkeys(names, lw.Array), "return": lw.i64})
    return lw.kernel(source=source, **options)(function)


def expected(x: np.ndarray, comparison: str) -> tuple[int, Any]:
    """What the loop says, for one element after the other."""
    best, at = x[0], 0
    for i in range(1, len(x)):
        if COMPARISONS[comparison](x[i], best):
            best, at = x[i], i
    return at, best


def numbers(dtype: np.dtype[Any], n: int) -> Iterator[np.ndarray]:
    """Arrays with ties, extremes of the type, infinities, NaNs and zeros of both signs."""
    rng = np.random.default_rng(n)
    if dtype.kind == "f":
        yield np.round(rng.standard_normal(n)).astype(dtype)
        x = rng.standard_normal(n).astype(dtype)
        x[rng.integers(0, n, n // 2)] = np.nan
        yield x.copy()
        x[0] = np.nan
        yield x
        yield np.where(rng.random(n) < 0.5, 0.0, -0.0).astype(dtype)
        for infinity in (-np.inf, np.inf):
            x = np.full(n, infinity, dtype)
            x[n // 2 :] = np.nan
            yield x
            yield x[::-1].copy()
    else:
        info = np.iinfo(dtype)
        yield rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        yield rng.integers(0, 5, n).astype(dtype)
        yield np.full(n, info.min, dtype)
        yield np.full(n, info.max, dtype)


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("name", TYPES)
def test_as_one_element_after_the_other(name: str, comparison: str) -> None:
    dtype = np.dtype(getattr(lw, name).dtype)
    searched = kernel(SEARCH.format(condition=f"x[i] {comparison} best"))
    array = lw.Array[getattr(lw, name)]
    assert " lanes" in searched.compile(array, array, target="x86-64-v3", keep=True).ir("nests")
    out = np.zeros(1, dtype)
    for n in (1, 63, 66, 515, 2100):
        for x in numbers(dtype, n):
            at, best = expected(x, comparison)
            assert searched(x, out) == at
            assert out.tobytes() == np.array([best], dtype).tobytes()


@pytest.mark.skipif(not emulate.available("aarch64-neon"), reason="nothing emulates aarch64 here")
def test_on_aarch64() -> None:
    calls: list[tuple[Any, tuple[Any, ...]]] = []
    wanted: list[tuple[int, bytes]] = []
    for name, comparison, written in (("f32", ">", "best < x[i]"), ("u8", "<=", "x[i] <= best"), ("i16", ">=", "best <= x[i]"), ("i64", "<", "x[i] < best")):
        dtype = np.dtype(getattr(lw, name).dtype)
        array = lw.Array[getattr(lw, name)]
        code = kernel(SEARCH.format(condition=written)).compile(array, array, target="aarch64-neon", keep=True)
        assert " lanes" in code.ir("nests")
        for x in numbers(dtype, 2100):
            calls.append((code, (x, np.zeros(1, dtype))))
            at, best = expected(x, comparison)
            wanted.append((at, np.array([best], dtype).tobytes()))
    results = emulate.run_many(calls)
    assert [(at, args[1].tobytes()) for at, (_, args) in zip(results, calls, strict=True)] == wanted


def test_of_what_is_computed_with_more_than_an_index() -> None:
    source = """def search(x, y, out):
    least = lw.f64(1e30)
    near = lw.f64(0)
    at = lw.i64(-1)
    for i in lw.range(len(x)):
        d = abs(x[i] - out[0]) + abs(y[i] - out[1])
        if d < least:
            at, near, least = i * 2, y[i], d
    out[2] = least
    out[3] = near
    return at
"""
    rng = np.random.default_rng(1)
    for n in (0, 5, 700, 3000):
        x, y = rng.random(n), rng.random(n)
        fast, plain = np.array([0.3, 0.7, 0, 0]), np.array([0.3, 0.7, 0, 0])
        searched = kernel(source)
        assert searched(x, y, fast) == kernel(source, nests="off")(x, y, plain)
        assert fast.tolist() == plain.tolist()
        assert " lanes" in searched.compile(x, y, fast, target="x86-64-v3", keep=True).ir("nests")


@pytest.mark.parametrize("options", [{}, {"contract": False}, {"fastmath": True}])
def test_of_products_that_are_contracted(options: dict[str, Any]) -> None:
    source = """def search(x, y):
    least = lw.f64(1e30)
    at = lw.i64(-1)
    for i in lw.range(len(x)):
        d = (x[i] - 0.3) * (x[i] - 0.3) + (y[i] - 0.7) * (y[i] - 0.7)
        if d <= least:
            least = d
            at = i
    return at
"""
    rng = np.random.default_rng(4)
    searched = kernel(source, **options)
    for n in (65, 700, 3001):
        x, y = rng.random(n), rng.random(n)
        assert searched(x, y) == ((x - 0.3) ** 2 + (y - 0.7) ** 2).argmin()
    assert " lanes" in searched.compile(x, y, target="x86-64-v3", keep=True).ir("nests")


def test_of_each_row() -> None:
    source = """def search(x, out):
    for r in lw.range(x.shape[0]):
        best = x[r, 0]
        at = lw.i64(0)
        for i in lw.range(1, x.shape[1]):
            if x[r, i] > best:
                best = x[r, i]
                at = i
        out[r] = at
    return 0
"""
    searched = kernel(source)
    for dtype in (np.float32, np.int32):
        for shape in ((3, 700), (5, 20), (2, 2000), (4, 1), (3, 25)):
            x = (np.random.default_rng(2).random(shape) * 50).astype(dtype)
            out = np.zeros(shape[0], np.int64)
            searched(x, out)
            assert out.tolist() == x.argmax(axis=1).tolist()
            # (The nest is not made one of choices.)
            assert " lanes" in searched.compile(x, out, target="x86-64-v3", keep=True).ir("nests")
    x = np.full((2, 12), np.nan, np.float32)
    x[1, 0], x[1, 7] = 1, 3
    searched(x, out := np.zeros(2, np.int64))
    assert out.tolist() == [0, 7]


@pytest.mark.parametrize(
    "body",
    [
        "if x[i] > best:\n            best = x[i] + 1",
        "if x[i] > best:\n            best = x[i]\n            at = at + 1",
        "if x[i] > best:\n            best = x[i]\n        at = i",
        "if x[i] > best:\n            best = x[i]\n            x[i] = 0",
        "if x[i] != best:\n            best = x[i]\n            at = i",
    ],
)
def test_what_carries_more_stays(body: str) -> None:
    source = f"def search(x, out):\n    best = x[0]\n    at = lw.i64(0)\n    for i in lw.range(1, len(x)):\n        {body}\n    out[0] = best\n    return at\n"
    x = np.random.default_rng(3).random(500)
    y = x.copy()
    found, wanted = np.zeros(1), np.zeros(1)
    searched = kernel(source)
    assert searched(x, found) == kernel(source, nests="off")(y, wanted)
    assert found == wanted
    assert x.tolist() == y.tolist()
    assert " lanes" not in searched.compile(x, found, target="x86-64-v3", keep=True).ir("nests")


def test_a_search_by_halves_inside_of_a_loop() -> None:
    @lw.kernel
    def places(s: lw.Array[lw.i64], at: lw.Array[lw.i64]):
        for k in lw.range(len(at)):
            lo = lw.i64(0)
            hi = lw.i64(len(s))
            while lo < hi:
                m = (lo + hi) // 2
                if s[m] < k * 20:
                    lo = m + 1
                else:
                    hi = m
            at[k] = lo

    s = np.sort(np.random.default_rng(1).integers(0, 4000, 500))
    at = np.zeros(200, np.int64)
    places(s, at)
    assert (at == np.searchsorted(s, np.arange(200) * 20)).all()


@pytest.mark.parametrize(("name", "count"), [("u8", 2048), ("i16", 1024), ("f32", 512), ("f64", 256)])
def test_pieces_that_are_looked_at_again_have_2048_bytes(name: str, count: int) -> None:
    x = np.zeros(10, getattr(lw, name).dtype)
    text = kernel(SEARCH.format(condition="x[i] > best")).compile(x, x.copy(), target="x86-64-v3", keep=True).ir("nests")
    assert f"%block = for 1, %x.n0, {count} " in text


BY_PLACE = """def search(x, out):
    at = lw.i64(0)
    for i in lw.range(1, len(x)):
        if {condition}:
            at = i
    out[0] = x[at]
    return at
"""


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("name", ["f32", "f64", "u8", "i32", "i64"])
@pytest.mark.parametrize("turned", [False, True])
def test_by_where_it_is(name: str, comparison: str, turned: bool) -> None:
    """What is compared is the element at the index kept, which is in a variable from then on."""
    dtype = np.dtype(getattr(lw, name).dtype)
    opposite = {">": "<", "<": ">", ">=": "<=", "<=": ">="}[comparison]
    condition = f"x[at] {opposite} x[i]" if turned else f"x[i] {comparison} x[at]"
    searched = kernel(BY_PLACE.format(condition=condition))
    array = lw.Array[getattr(lw, name)]
    assert " lanes" in searched.compile(array, array, target="x86-64-v3", keep=True).ir("nests")
    out = np.zeros(1, dtype)
    for n in (1, 2, 25, 66, 515):
        for x in numbers(dtype, n):
            at, best = expected(x, comparison)
            assert searched(x, out) == at
            np.testing.assert_array_equal(out[0], best)


@pytest.mark.parametrize(("place", "lanes"), [("len(x) - 1", True), ("(n + 1) // 2", True), ("i // 64", False), ("m[1]", True)])
def test_where_it_is_in_a_row_that_is_computed(place: str, lanes: bool) -> None:
    """What the loop computes for both sides is computed in front of it as well, unless it hangs on where the loop is."""
    source = f"""def search(x, out, m):
    n = len(x) - 2
    at = lw.i64(0)
    for i in lw.range(1, x.shape[1]):
        if x[{place}, i] < x[{place}, at]:
            at = i
    out[0] = at
    return at
"""
    searched = kernel(source)
    space: dict[str, Any] = {"lw": type("Plain", (), {"i64": int, "range": range})}
    exec(source, space)  # noqa: S102 (the source above)
    for columns in (1, 2, 30, 130, 700):
        x = np.random.default_rng(columns).integers(0, 100, (12, columns)).astype(np.float64)
        out, m = np.zeros(1, np.int64), np.array([3, 7, 5])
        # (Whatever is in registers.)
        for _ in range(3):
            assert searched(x, out, m) == space["search"](x, out.copy(), m), (place, columns)
    assert (" lanes" in searched.compile(x, out, m, target="x86-64-v3", keep=True).ir("nests")) == lanes


def test_pivots_and_exchanges() -> None:
    source = """def search(x, out):
    n = len(out)
    for p in lw.range(n):
        m = p
        for i in lw.range(p + 1, x.shape[1]):
            if abs(x[p, i]) > abs(x[p, m]):
                m = i
        t = x[p, p]
        x[p, p] = x[p, m]
        x[p, m] = t
        out[p] = m
    return lw.i64(0)
"""
    searched = kernel(source)
    x = np.random.default_rng(0).standard_normal((40, 70))
    wanted, out = x.copy(), np.zeros(40, np.int64)
    for p in range(40):
        m = p + int(np.argmax(np.abs(wanted[p, p:])))
        wanted[p, [p, m]] = wanted[p, [m, p]]
    searched(x, out)
    np.testing.assert_array_equal(x, wanted)
    assert " lanes" in searched.compile(x, out, target="x86-64-v3", keep=True).ir("nests")


@pytest.mark.parametrize(
    "body",
    [
        # another place is compared with
        "if x[i] < x[at - 1]: at = i",
        # what is compared is computed otherwise
        "if x[i] * 2 < x[at]: at = i",
        # it is on both sides
        "if x[i] + x[at] < x[at] + x[at]: at = i",
        # the place is read besides
        "if x[i] < x[at] + at: at = i",
        # where the loop is, is on both sides
        "if x[(i + i) // 2] < x[(i + at) // 2]: at = i",
        # it is written elsewhere, too
        "if x[i] < x[at]: at = i\n        at = lw.min(at, 7)",
        # what is stored changes what is there
        "if x[i] < x[at]: at = i\n        x[i] = 3",
    ],
)
def test_by_where_something_else_is(body: str) -> None:
    source = f"def search(x, out):\n    at = lw.i64(1)\n    for i in lw.range(1, len(x)):\n        {body}\n    out[0] = at\n    return at\n"
    searched = kernel(source)
    x = np.random.default_rng(1).integers(0, 100, 200)
    wanted, out = x.copy(), np.zeros(1, np.int64)
    space: dict[str, Any] = {"lw": type("Plain", (), {"i64": int, "range": range, "min": min})}
    exec(source, space)  # noqa: S102 (the source above)
    at = space["search"](wanted, np.zeros(1, np.int64))
    assert searched(x, out) == at
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize("target", ["x86-64-v3", "aarch64-neon"])
def test_loops_at_the_end_that_do_nothing(target: str) -> None:
    @lw.kernel
    def nothing(x: lw.Array[lw.f64]):
        for _ in lw.range(len(x)):
            pass

    assert nothing.compile(target=target).size
