"""Which plain loops become loops over lanes by themselves, and what is kept in registers for that; with results as written."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir import ops
from loopwright.nests.analysis.operations import has
from loopwright.targets import registry
from loopwright.types import F32, F64, I32, I64, U8, mask_of, vector_of

SPACE = {"lw": lw, "least": lw.min, "most": lw.max, "sqrt": lw.sqrt, **{name: getattr(lw, name) for name in ("u8", "i16", "i32", "i64", "f32", "f64")}}


def kernel(source: str, **options: Any) -> Any:
    space = dict(SPACE)
    exec(source, space)  # noqa: S102 (the sources below)
    function = space["nest"]
    function.__annotations__.update(dict.fromkeys(function.__code__.co_varnames[: function.__code__.co_argcount], lw.Array))
    return lw.kernel(source=source, contract=False, **options)(function)


def rewritten(source: str, *given: np.ndarray, **options: Any) -> str:
    """The code after the pass, once results are seen to be those of the loops as written."""
    fast, plain = kernel(source, **options), kernel(source, nests="off")
    wanted, found = [a.copy() for a in given], [a.copy() for a in given]
    plain(*wanted)
    fast(*found)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    return str(fast.compile(*given, keep=True, target="x86-64-v4").ir("nests"))


def whole(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    """Whole numbers, whose sums are exact in any order."""
    return np.random.default_rng(0).integers(0, 9, shape).astype(dtype)


SUM = "def nest(a, b):\n    s = a[0] * 0\n    for i in range(a.shape[0]):\n        s += a[i]\n    b[0] = s\n"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_totals_of_floats_under_fastmath_only(dtype: Any) -> None:
    assert " lanes" in rewritten(SUM, whole(100, dtype=dtype), whole(1, dtype=dtype), fastmath=True)
    assert " lanes" not in rewritten(SUM, whole(100, dtype=dtype), whole(1, dtype=dtype))


def test_totals_of_integers() -> None:
    assert " lanes" in rewritten(SUM, whole(100, dtype=np.int32), whole(1, dtype=np.int32))


@pytest.mark.parametrize("comparison", ["a[i] > m", "m < a[i]", "a[i] < m", "m > a[i]"])
def test_branches_that_look_for_the_greatest(comparison: str) -> None:
    source = f"def nest(a, b):\n    m = a[0]\n    for i in range(a.shape[0]):\n        if {comparison}:\n            m = a[i]\n    b[0] = m\n"
    made = rewritten(source, whole(100, dtype=np.int32), whole(1, dtype=np.int32))
    assert " lanes" in made and ("max." in made or "min." in made) and "if " not in made.split("lanes")[1]
    assert " lanes" in rewritten(source, whole(100), whole(1), fastmath=True)


@pytest.mark.parametrize("special", [np.nan, -0.0, 0.0])
def test_extremes_of_special_numbers_by_branch(special: float) -> None:
    source = "def nest(a, b):\n    m = a[0]\n    for i in range(1, a.shape[0]):\n        if a[i] > m:\n            m = a[i]\n    b[0] = m\n"
    for first in (np.nan, 0.0, -0.0, 1.0):
        a = np.array([first, special, -1.0, special])
        found, wanted = np.zeros(1), np.zeros(1)
        kernel(source)(a, found)
        kernel(source, nests="off")(a, wanted)
        assert found.tobytes() == wanted.tobytes()


def test_a_branch_for_equal_floats_stays() -> None:
    source = "def nest(a, b):\n    m = a[0]\n    for i in range(1, a.shape[0]):\n        if a[i] >= m:\n            m = a[i]\n    b[0] = m\n"
    a, b = np.array([-0.0, 0.0, -0.0]), np.ones(1)
    kernel(source)(a, b)
    assert np.signbit(b[0])


NARROW = [
    ("u8(a[i, j] + b[i, j])", np.uint8, np.uint8),
    ("u8((i32(a[i, j]) * 77 + i32(b[i, j]) * 179) >> 8)", np.uint8, np.uint8),
    ("i32(a[i, j]) * 3 - i32(b[i, j])", np.uint8, np.int32),
    ("f32(a[i, j]) * 0.5 + f32(b[i, j])", np.uint8, np.float32),
    ("f64(a[i, j])", np.float32, np.float64),
    ("i16((i32(a[i, j]) + i32(b[i, j])) >> 1)", np.int16, np.int16),
    ("a[i, j] * b[i, j]", np.int64, np.int64),
    ("u8((i32(a[i, j]) << 20) >> 20)", np.uint8, np.uint8),
    ("u8((i32(a[i, j]) - i32(b[i, j])) >> 9)", np.uint8, np.uint8),
]


@pytest.mark.parametrize(("expression", "given", "result"), NARROW)
def test_elements_of_all_widths(expression: str, given: Any, result: Any) -> None:
    source = f"def nest(a, b, c):\n    for i in range(c.shape[0]):\n        for j in range(c.shape[1]):\n            c[i, j] = {expression}\n"
    info = np.iinfo(given) if np.dtype(given).kind != "f" else None
    rng = np.random.default_rng(1)
    a, b = (rng.integers(info.min, info.max, (5, 77), endpoint=True, dtype=given) if info else rng.random((5, 77)).astype(given) for _ in range(2))
    assert " lanes" in rewritten(source, a, b, np.zeros((5, 77), result))


@pytest.mark.parametrize(
    ("result", "low", "high", "given"),
    [("u8", 0, 255, "int16"), ("u8", 0, 255, "int32"), ("i16", -32768, 32767, "int32"), ("i16", -32768, 32767, "int64"), ("u8", 0, 255, "float32")],
)
def test_what_is_kept_within_a_type_s_bounds_is_converted_so_in_lanes(result: str, low: int, high: int, given: str) -> None:
    value = "i32(a[i] * 100)" if given == "float32" else "a[i]"
    source = f"def nest(a, d):\n    for i in range(a.shape[0]):\n        d[i] = {result}(max(min({value}, {high}), {low}))\n"
    numbers = (np.arange(100) * 1777 - 80000).astype(given)
    dtype = {"u8": np.uint8, "i16": np.int16}[result]
    made = rewritten(source, numbers, np.zeros(100, dtype))
    assert " lanes" in made and "convert_saturated" in made


def test_sixteen_bits_do_where_no_more_are_used() -> None:
    source = "def nest(a, b, c):\n    for j in range(c.shape[0]):\n        c[j] = u8((i32(a[j]) * 77 + i32(b[j]) * {}) >> {})\n"
    arrays = [whole(300, dtype=np.uint8) for _ in range(3)]
    assert "u16" in rewritten(source.format(179, 8), *arrays)
    # Bits 9 to 16 depend on one more.
    assert "u16" not in rewritten(source.format(200, 9), *arrays)


def test_dependences_that_point_forwards() -> None:
    loop = "def nest(a, b):\n    for i in range(1, a.shape[0] - 1):\n        {}\n        {}\n"
    arrays = whole(100), whole(100)
    assert " lanes" in rewritten("def nest(a):\n    for i in range(a.shape[0] - 1):\n        a[i] = a[i] + a[i + 1]\n", whole(100))
    assert " lanes" not in rewritten("def nest(a):\n    for i in range(1, a.shape[0]):\n        a[i] = a[i] + a[i - 1]\n", whole(100))
    assert " lanes" in rewritten(loop.format("b[i] = a[i + 1]", "a[i] = b[i] * 2.0"), *arrays)
    assert " lanes" not in rewritten(loop.format("a[i] = b[i] * 2.0", "b[i] = a[i + 1]"), *arrays)
    # Far enough for what is stored to have reached the cache.
    far = "def nest(a, b):\n    for i in range(100, a.shape[0]):\n        a[i] = b[i]\n        b[i] = a[i - {}]\n"
    assert ".blocks" not in rewritten(far.format(100), whole(500), whole(500)) and " lanes" in rewritten(far.format(100), whole(500), whole(500))
    assert ".blocks" in rewritten(far.format(2), whole(500), whole(500))


def test_several_loops_of_a_nest() -> None:
    source = """def nest(a, b, c):
    for t in range(c.shape[0]):
        for i in range(1, a.shape[0] - 1):
            b[i] = a[i - 1] + a[i + 1]
        for i in range(1, a.shape[0] - 1):
            a[i] = b[i]
"""
    assert rewritten(source, whole(100), whole(100), whole(3)).count(" lanes") == 2


def test_a_value_that_changes_in_an_outer_loop_only() -> None:
    source = """def nest(a, b):
    for i in range(1, b.shape[0]):
        w = a[i]
        for j in range(w, b.shape[1]):
            b[i, j] = b[i - 1, j - w] + 1
"""
    assert " lanes" in rewritten(source, whole(20, dtype=np.int64), whole(20, 60, dtype=np.int32))


PRODUCT = """def nest(a, b, c):
    for {0} in range({0}{0}):
        for {1} in range({1}{1}):
            for {2} in range({2}{2}):
                c[i, j] += a[i, k] * b[k, j]
"""


@pytest.mark.parametrize("order", ["ijk", "ikj", "jik", "jki", "kij", "kji"])
def test_a_product_in_any_order_is_kept_in_registers(order: str) -> None:
    source = PRODUCT.format(*order).replace("ii)", "c.shape[0])").replace("jj)", "c.shape[1])").replace("kk)", "a.shape[1])")
    made = rewritten(source, np.random.default_rng(2).random((37, 19)), np.random.default_rng(3).random((19, 53)), whole(37, 53))
    fast = made.split("\n  else")[0]
    assert " lanes" in fast
    # Of the loops that hold no other, those that multiply (others copy panels) store nothing.
    inner = [body.split(" end")[0] for body in fast.split(" = for ")]
    assert [body for body in inner if "mul." in body] and not [body for body in inner if "mul." in body and "store" in body]


@pytest.mark.parametrize("shape", [(0, 0, 0), (3, 0, 5), (1, 1, 1), (5, 7, 2)])
def test_sums_in_memory_of_loops_that_may_not_run(shape: tuple[int, int, int]) -> None:
    i, j, k = shape
    source = PRODUCT.format(*"ijk").replace("ii)", "c.shape[0])").replace("jj)", "c.shape[1])").replace("kk)", "a.shape[1])")
    rewritten(source, whole(i, k), whole(k, j), whole(i, j))


def test_an_element_is_not_accessed_where_the_loop_does_not_run() -> None:
    # c has no elements at all.
    source = "def nest(a, c):\n    for i in range(a.shape[0]):\n        for k in range(a.shape[1]):\n            c[i] += a[i, k]\n"
    rewritten(source, np.zeros((1 << 20, 0)), np.zeros(0))


@pytest.mark.parametrize("source", [
    "def nest(a, b):\n    for i in range(a.shape[0]):\n        for k in range(a.shape[1]):\n            b[i] += a[i, k]\n            b[k] += 1.0\n",
    "def nest(a, b):\n    for i in range(a.shape[0]):\n        for k in range(a.shape[1]):\n            b[3] = b[3] + b[k] * a[i, k]\n",
    "def nest(a, b):\n    for i in range(a.shape[0]):\n        for k in range(i):\n            a[i, i] -= a[i, k] * a[i, k]\n        b[i] = a[i, i]\n",
    "def nest(a, b):\n    for i in range(a.shape[0]):\n        for k in range(a.shape[1]):\n            b[i] = a[i, k]\n            if a[i, k] > 4.0:\n                b[i] = b[i] + 1.0\n",
])  # fmt: skip
def test_elements_that_something_else_may_touch(source: str) -> None:
    rewritten(source, whole(30, 30), whole(30))


def test_arrays_that_overlap() -> None:
    source = "def nest(a, b, c):\n    for i in range(c.shape[0]):\n        for k in range(a.shape[0]):\n            c[i] += a[k] * b[i]\n"
    memory = whole(100)
    for a, b, c in ((memory, memory, memory), (memory[10:40], memory[20:60], memory[21:61]), (memory[:50], memory[50:], memory[50:])):
        saved = memory.copy()
        kernel(source, nests="off")(a, b, c)
        wanted = memory.copy()
        memory[:] = saved
        kernel(source)(a, b, c)
        np.testing.assert_array_equal(memory, wanted)
        memory[:] = saved


def test_what_is_carried_where_another_array_may_be_the_same() -> None:
    source = """def nest(a, b, c):
    for i in range(1, a.shape[0]):
        t = a[i - 1] * 0.5 + 1.0
        a[i] = t
        c[i] = t
        b[i] = 7.0
"""
    for alone in (True, False):
        found, wanted = np.zeros(20), np.zeros(20)
        for result, how in ((found, "fast"), (wanted, "off")):
            a = whole(20)
            kernel(source, nests=how)(a, np.zeros(20) if alone else a, result)
        np.testing.assert_array_equal(found, wanted)


def test_an_order_that_a_dependence_forbids() -> None:
    source = "def nest(a):\n    for j in range(1, a.shape[1] - 1):\n        for i in range(1, a.shape[0]):\n            a[i, j] = a[i - 1, j + 1] * 0.5\n"
    loops = re.compile(r"%([a-z])[.\d]* = for")
    assert loops.findall(rewritten(source, whole(20, 30)))[:2] == ["j", "i"]
    assert loops.findall(rewritten(source.replace("j + 1", "j - 1"), whole(20, 30)))[:2] == ["i", "j"]


def test_totals_in_parts() -> None:
    source = """def nest(a, b):
    for i in range(1, a.shape[0]):
        s = b[0, i]
        for k in range(i):
            s -= b[k, i]
        a[i] = s
"""
    given = whole(40), whole(40, 41)
    # (Four parts, and one that the loop has as it is written.)
    assert rewritten(source, *given, fastmath=True).count("var %s") == 5
    assert rewritten(source, *given).count("var %s") == 1


def test_arms_that_store_to_one_element() -> None:
    source = "def nest(a, b):\n    for i in range(a.shape[0]):\n        if a[i] > 4.0:\n            b[{}] = a[i] * 2.0\n        else:\n            b[i] = 1.0\n"
    given = whole(100), whole(101)
    assert "select" in rewritten(source.format("i"), *given)
    assert "select" not in rewritten(source.format("i + 1"), *given)
    # What is stored is loaded where the condition holds only.
    inside = "def nest(a, b):\n    for i in range(a.shape[0]):\n        if i > 0:\n            b[i] = a[i - 1]\n        else:\n            b[i] = 1.0\n"
    assert "select" not in rewritten(inside, *given)


KNAPSACK = """def nest(a, b, c):
    for i in range(a.shape[0]):
        for j in range(c.shape[0] - 1, a[i] - 1, -1):
            c[j] = most(c[j], c[j - a[i]] + b[i])
"""


def test_loops_that_count_down() -> None:
    assert " lanes" in rewritten(KNAPSACK, whole(40, dtype=np.int64), whole(40, dtype=np.int32), whole(100, dtype=np.int32))
    # Going up, each takes what an earlier one has left: lanes where that is far enough.
    upwards = KNAPSACK.replace("c.shape[0] - 1, a[i] - 1, -1", "a[i], c.shape[0]")
    assert " lanes" in rewritten(upwards, whole(40, dtype=np.int64), whole(40, dtype=np.int32), whole(100, dtype=np.int32))
    source = "def nest(a, b):\n    for j in range(a.shape[0] - 1, {}, -1):\n        b[j] = a[j] * f64(j) + 1.0\n"
    for n in (0, 1, 7, 8, 9, 40):
        assert "-1 lanes" in rewritten(source.format(2), whole(n), whole(n))
    assert " lanes" not in rewritten(source.format(-1).replace("a[j]", "b[j + 1]"), whole(30), whole(31))
    total = "def nest(a, b):\n    s = a[0]\n    for j in range(a.shape[0] - 1, 0, -1):\n        s += a[j] * f64(j)\n    b[0] = s\n"
    assert "-1 lanes" in rewritten(total, whole(77), whole(1), fastmath=True)


def test_repeated_loads_of_arrays_that_may_overlap() -> None:
    memory = whole(300, dtype=np.int64) % 5
    weights, values, table = memory[100:108], memory[:8], memory[90:250]
    saved = memory.copy()
    kernel(KNAPSACK, nests="off")(weights, values, table)
    wanted = memory.copy()
    memory[:] = saved
    kernel(KNAPSACK)(weights, values, table)
    np.testing.assert_array_equal(memory, wanted)


SHORTEST = """def nest(a):
    for k in range(a.shape[0]):
        for i in range(a.shape[0]):
            for j in range({}, a.shape[0]):
                a[i, j] = least(a[i, j], a[i, k] + a[k, j])
"""


@pytest.mark.parametrize("first", ["0", "3", "k", "k + 1", "i"])
def test_a_loop_split_where_two_subscripts_cross(first: str) -> None:
    for n in (1, 4, 33):
        # (Also where the way from a place to itself is shorter than none.)
        made = rewritten(SHORTEST.format(first), whole(n, n, dtype=np.int32) - 2)
        assert made.count(" lanes") == (1 if first in ("k", "k + 1") else 2)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_loop_that_counts_down_is_split_where_two_subscripts_cross(share: float) -> None:
    source = "def nest(a, b):\n    k = b[0]\n    for i in range(a.shape[0] - 1, -1, -1):\n        a[i] -= a[k]\n"
    for n in (1, 2, 5, 33, 40):
        assert " lanes" in rewritten(source, whole(n, dtype=np.int32) + 1, np.array([share * (n - 1)], np.int64))


def test_two_crossings_are_too_many() -> None:
    source = SHORTEST.format("0").replace("a[i, k]", "a[i, k] + a[i, k // 2]")
    assert " lanes" not in rewritten(source, whole(20, 20, dtype=np.int32))


def test_short_loops_are_unrolled() -> None:
    source = "def nest(a, b):\n    w = b[0]\n    for i in range(2, a.shape[0], 2):\n        a[i] = a[i - w] * 3 + b[i]\n"
    for n in range(2, 24):
        made = rewritten(source, np.ones(n, np.int64), np.ones(n, np.int64))
        assert made.count("store") == 5


def test_what_a_machine_has() -> None:
    v3, v4 = registry.get("x86-64-v3"), registry.get("x86-64-v4")
    assert has(v4, ops.ADD, vector_of(U8, 64)) and has(v4, ops.MASKED_STORE_AT, vector_of(U8, 16))
    assert not has(v3, ops.MASKED_STORE_AT, vector_of(U8, 16))  # lane by lane
    assert has(v4, ops.CONVERT, vector_of(F32, 16), vector_of(U8, 16))
    assert has(v4, ops.MUL, vector_of(I64, 8))
    assert not has(v4, ops.ADD, vector_of(F64, 32))  # no such vectors
    assert not has(v4, ops.DIV_FLOOR, vector_of(I32, 16))
    assert has(v4, ops.DIV_FLOOR, vector_of(I32, 16), divisor=7)
    assert has(v4, ops.MASK_CONVERT, mask_of(8, 16), mask_of(32, 16))


def test_shifts_of_bytes_by_constants() -> None:
    # Machines without shifts of 8-bit lanes do them in a few steps where the count is known.
    source = "def nest(a, b):\n    for i in range(a.shape[0]):\n        b[i] = (a[i] >> 4) + (a[i] << 2)\n"
    values = np.random.default_rng(1).integers(0, 256, 100).astype(np.uint8)
    assert " lanes" in rewritten(source, values, np.zeros(100, np.uint8))


def test_digits_of_bytes_side_by_side() -> None:
    source = "def nest(a, b):\n    for i in range(a.shape[0]):\n        b[2 * i] = a[i] >> 4\n        b[2 * i + 1] = a[i] & 15\n"
    values = np.random.default_rng(1).integers(0, 256, 100).astype(np.uint8)
    assert " lanes" in rewritten(source, values, np.zeros(200, np.uint8))
    (nest,) = kernel(source).compile(values, values, target="x86-64-v3").nests()
    assert nest.lanes == "i" and not nest.not_lanes


@lw.kernel
def increasing(a: lw.Array[lw.i32], b: lw.Array[lw.i32]):
    for i in lw.range(b.shape[0]):
        b[i] = 1
        for j in lw.range(i):
            if a[j] < a[i]:
                b[i] = lw.max(b[i], b[j] + 1)


def test_an_element_that_is_changed_under_a_condition_alone_is_kept_where_the_loop_around_accesses_it() -> None:
    (nest,) = increasing.compile(target="x86-64-v4").nests()
    assert nest.done[:2] == ["elements that stay the same kept in registers", "lanes(j)"]
    for size in (1, 2, 40, 133):
        a, b = np.random.default_rng(size).integers(0, 99, size).astype(np.int32), np.zeros(size, np.int32)
        wanted = b.copy()
        lw.kernel(increasing.function, nests="off")(a, wanted)
        increasing(a, b)
        np.testing.assert_array_equal(b, wanted)


def test_an_element_that_only_conditions_access_is_not_touched_without_them() -> None:
    """It need not be inside of the array."""

    @lw.kernel
    def sometimes(a: lw.Array[lw.i32], b: lw.Array[lw.i32]):
        for i in lw.range(a.shape[0]):
            for j in lw.range(a.shape[0]):
                if a[j] < 0:
                    b[i] = lw.max(b[i], a[j] + 1)

    (nest,) = sometimes.compile(target="x86-64-v4").nests()
    assert "elements that stay the same kept in registers" not in nest.done


def roots(x: lw.Array[lw.u32], y: lw.Array[lw.u32]):
    for i in range(len(x)):
        v = x[i]
        r = lw.u32(0)
        bit = lw.u32(1) << 30
        for _k in range(16):
            if v >= r + bit:
                v = v - (r + bit)
                r = (r >> 1) + bit
            else:
                r = r >> 1
            bit = bit >> 2
        y[i] = r


def test_many_short_branches_one_after_the_other_have_lanes() -> None:
    """Together they are long, but what stands between them, which all lanes run, is as well."""
    code = lw.kernel(roots).compile(target="x86-64-v3")
    assert "lanes(i)" in str(code.nests())
    x = np.concatenate([np.arange(70), np.random.default_rng(2).integers(0, 2**32, 500), [2**32 - 1, 65535**2, 65535**2 - 1]]).astype(np.uint32)
    y = np.zeros_like(x)
    code(x, y)
    assert y.tolist() == [math.isqrt(v) for v in x.tolist()]


def test_what_an_inner_loop_does_not_change_is_loaded_down_a_column_once() -> None:
    """Points of three coordinates, each in a lane, though an inner loop names them; where it stores to that array it loads them each time, and lanes do not pay."""
    source = """def nest(a, b, c):
    for i in range(a.shape[0]):
        best = f32(9.0)
        at = 0
        for j in range(b.shape[0]):
            x = a[i, 0] - b[j, 0]
            y = a[i, 1] - b[j, 1]
            r = x * x + y * y
            if r < best:
                best = r
                at = j
        c[i] = at
"""
    rng = np.random.default_rng(1)
    a, b = rng.random((45, 3), np.float32), rng.random((11, 3), np.float32)
    text = rewritten(source, a, b, np.zeros(45, np.int32))
    assert "%i" in text and " lanes " in text
    code = kernel(source).compile(a, b, np.zeros(45, np.int32), target="x86-64-v4")
    assert "lanes(i)" in code.nests()[0].done
    stored = source.replace("            r = x * x + y * y\n", "            r = x * x + y * y\n            a[i, 2] = r\n")
    # (What is stored in each iteration of the inner loop is stored behind it, once.)
    found, wanted = a.copy(), a.copy()
    kernel(stored)(found, b, np.zeros(45, np.int32))
    kernel(stored, nests="off")(wanted, b, np.zeros(45, np.int32))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    rewritten(stored, a, b, np.zeros(45, np.int32))


def test_wide_integers_divided_by_constants() -> None:
    """Eight lanes of 64 bits take twice as many instructions as one number, also where only some are divided; not where a condition hangs on another."""
    given = (np.random.default_rng(3).integers(-(2**62), 2**62, 100), np.zeros(100, np.int64))
    always = "def nest(a, b):\n    for i in range(len(a)):\n        b[i] = (a[i] * 7 + 3) % 1000007 - a[i] // 10\n"
    assert "lanes" in rewritten(always, *given)
    some = "def nest(a, b):\n    for i in range(len(a)):\n        if a[i] > 5:\n            b[i] = (a[i] * 7 + 3) % 1000007\n"
    assert "lanes" in rewritten(some, *given)
    few = "def nest(a, b):\n    for i in range(len(a)):\n        if a[i] > 5:\n            b[i] = 1\n            if a[i] % 8 == 3:\n                b[i] = (a[i] * 7 + 3) % 1000007\n"
    assert "lanes" not in rewritten(few, *given)
