"""Running sums: what loops over lanes, and plain loops, make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.runtime import cpu, emulate

HERE = ["x86-64-v3", *(["x86-64-v4"] if "avx512bw" in cpu.host_features() else [])]
INTEGERS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]


def sums(x: lw.Array, y: lw.Array):
    s = x.dtype(5)
    for i in lw.lanes(len(x)):
        s += x[i]
        y[i] = s
    y[len(x)] = s


def sums_plainly(x: lw.Array, y: lw.Array):
    s = x.dtype(5)
    for i in lw.range(len(x)):
        s += x[i]
        y[i] = s
    y[len(x)] = s


def sums_of_some(x: lw.Array[lw.i32], y: lw.Array[lw.i64]) -> lw.i64:
    s = lw.i64(0)
    k = lw.i32(7)
    total = lw.i64(0)
    for i in lw.lanes(len(x)):
        if x[i] > 2:
            k += 1
            s += x[i] * lw.i64(2)
        total += s
        y[i] = s * 1000 + lw.i64(k)
    return s + total


def of(kernel: Any, name: str, target: str, **options: Any) -> Any:
    return lw.kernel(kernel, **options).compile(*[lw.Array[getattr(lw, name)]] * 2, target=target, keep=True)


def taken(code: Any) -> bool:
    return "slide" in code.ir("vectorize")


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("kernel", [sums, sums_plainly])
def test_each_element_is_the_sum_of_those_before(kernel: Any, name: str) -> None:
    dtype = np.dtype(getattr(lw, name).dtype)
    for target in HERE:
        code = of(kernel, name, target)
        assert taken(code)
        for n in (*range(71), 1000):
            x = np.random.default_rng(n).integers(0, 256, n).astype(dtype)
            y = np.full(n + 3, 99, dtype)
            wanted = np.concatenate([np.array([5], dtype), x]).cumsum(dtype=dtype)
            code(x, y[: n + 1] if kernel is sums else y)
            assert y[:n].tolist() == wanted[1:].tolist() and y[n] == wanted[-1] and y[n + 1 :].tolist() == [99, 99]


def test_floats_keep_their_order_unless_told() -> None:
    x = np.random.default_rng(1).random(1000).astype(np.float32)
    for target in HERE:
        y, z = np.zeros(1001, np.float32), np.zeros(1001, np.float32)
        assert not taken(of(sums, "f32", target)) and taken(of(sums_plainly, "f32", target, fastmath=True))
        of(sums, "f32", target)(x, y)
        of(sums, "f32", target, fastmath=True)(x, z)
        wanted = np.concatenate([np.float32([5]), x]).cumsum(dtype=np.float32)[1:]
        assert y[:1000].tolist() == wanted.tolist() and np.allclose(z[:1000], wanted, 1e-5)


def test_sums_of_some_lanes_are_there_for_all() -> None:
    for target in HERE:
        code = lw.kernel(sums_of_some).compile(target=target, keep=True)
        assert taken(code)
        for n in (0, 1, 9, 64, 333):
            x = np.random.default_rng(n).integers(0, 6, n).astype(np.int32)
            y = np.zeros(n, np.int64)
            wanted = np.where(x > 2, x * 2, 0).cumsum()
            assert code(x, y) == (wanted[-1] if n else 0) + wanted.sum()
            assert y.tolist() == (wanted * 1000 + (x > 2).cumsum() + 7).tolist()


def test_in_place_and_on_top_of_each_other() -> None:
    for target in HERE:
        code = of(sums_plainly, "i32", target)
        for shift in (0, 1, 5):
            block, plain = np.arange(200, dtype=np.int32), np.arange(200, dtype=np.int32)
            code(block[:150], block[shift:])
            of(sums_plainly, "i32", target, nests="off")(plain[:150], plain[shift:])
            assert block.tolist() == plain.tolist()


@pytest.mark.skipif(not emulate.available("aarch64-neon"), reason="nothing emulates aarch64 here")
def test_on_aarch64() -> None:
    calls = []
    for name in ("u8", "i32", "i64"):
        code = of(sums, name, "aarch64-neon")
        assert taken(code)
        for n in (0, 7, 67):
            x = np.arange(n).astype(np.dtype(getattr(lw, name).dtype))
            calls.append((code, (x, np.zeros(n + 1, x.dtype))))
    emulate.run_many(calls)
    for _, (x, y) in calls:
        assert y.tolist()[:-1] == (np.concatenate([np.array([5], x.dtype), x]).cumsum(dtype=x.dtype))[1:].tolist()


def test_what_is_read_before_it_is_added_to_takes_one_index_after_the_other() -> None:
    source = "def loop(x, y):\n    s = lw.i32(0)\n    for i in lw.lanes(len(x)):\n        y[i] = s\n        s += x[i]\n"
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the source above)
    space["loop"].__annotations__.update(x=lw.Array[lw.i32], y=lw.Array[lw.i32])
    x, y = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    lw.kernel(source=source)(space["loop"])(x, y)
    assert y.tolist() == [0, *x.cumsum()[:-1].tolist()]


def chosen_sums(x: lw.Array[lw.u32], y: lw.Array[lw.u32], a: lw.u32) -> None:
    s = lw.u32(1)
    for i in lw.range(len(x)):
        s += x[i] if a != 0 else a
        y[i] = s


def test_checked_loops_that_keep_tests_take_one_index_after_the_other() -> None:
    kernel = lw.kernel(chosen_sums, check=True)
    x, y = np.arange(100, dtype=np.uint32), np.zeros(100, np.uint32)
    kernel(x, y, 3)
    assert y.tolist() == (1 + x.cumsum()).tolist()
    with pytest.raises(IndexError, match="index 60 "):
        kernel(x, y[:60], 3)


def rows_of_sums(x: lw.Array[lw.i32, 2], y: lw.Array[lw.i32, 2], z: lw.Array[lw.i32]) -> None:
    for i in range(x.shape[0]):
        s = z[i]
        for k in range(x.shape[1]):
            s += x[i, k]
            y[i, k] = s
        z[i] = s


def rows_twice(x: lw.Array[lw.i32, 2], y: lw.Array[lw.i32, 2], z: lw.Array[lw.i32]) -> None:
    for i in range(x.shape[0]):
        s = z[i]
        for k in range(x.shape[1]):
            s += x[i, k]
            y[i, k] = s
        for k in range(x.shape[1] - i):
            s += y[i, k]
            x[i, k] = s
        z[i] = s


@pytest.mark.parametrize("function", [rows_of_sums, rows_twice])
@pytest.mark.parametrize("columns", [0, 1, 3, 9, 10, 40])
def test_rows_of_running_sums(function: Any, columns: int) -> None:
    kernel, plain = lw.kernel(function), lw.kernel(function, nests="off")
    rng = np.random.default_rng(columns)
    for apart in (True, False):
        made = []
        for used in (kernel, plain):
            rng = np.random.default_rng(columns)
            x, y, z = (rng.integers(0, 99, shape).astype(np.int32) for shape in ((30, columns), (30, columns), 30 * max(1, columns)))
            # (Where arrays overlap, what one row stores the next one loads.)
            used(x, y if apart else x, z if apart else x.reshape(-1) if columns else z)
            made.append((x.tolist(), y.tolist(), z.tolist()))
        assert made[0] == made[1]


def test_short_rows_are_asked_for_in_front_of_all_rows() -> None:
    """Of bytes, whose rows are not walked side by side instead."""

    @lw.kernel
    def sums_of_bytes(x: lw.Array[lw.u8, 2], y: lw.Array[lw.u8, 2], z: lw.Array[lw.u8]) -> None:
        for i in range(x.shape[0]):
            s = z[i]
            for k in range(x.shape[1]):
                s += x[i, k]
                y[i, k] = s
            z[i] = s

    code = sums_of_bytes.compile(target="x86-64-v4")
    text = code.ir("nests")
    assert taken(code)
    assert text.index("if %") < text.index("= for")
    assert text.count("if %") == 1


#: (statements of an iteration, whether integers, floats under ``fastmath`` take lanes)
FORMS = {
    "read before": ("y[i] = s\n        s += x[i]", True, False),
    "read before and behind": ("y[i] = s * 3\n        s += x[i]\n        z[i] = s", True, False),
    "read before in a branch": ("if x[i] > 7:\n            y[i] = s\n        s += x[i] * 2", True, False),
    "in place": ("t = x[i]\n        x[i] = s\n        s += t", True, False),
    "what has been stored is added": ("x[i] = s\n        s += x[i]", False, False),
    "taken away": ("s -= x[i]\n        y[i] = s", True, True),
    "taken from": ("s = x[i] - s\n        y[i] = s", False, False),
    "another name": ("t = s\n        s = t + x[i]\n        y[i] = s", True, True),
    "kept a while": ("t = s + x[i]\n        y[i] = t\n        z[i] = s\n        s = t", True, False),
    "in memory": ("if i > 0:\n            y[i] = y[i - 1] + x[i]", True, True),
    "ahead in memory": ("if i + 1 < len(x):\n            y[i + 1] = y[i] - x[i]", True, True),
    "of itself": ("y[i] = s\n        s += x[i] * s", False, False),
    "of itself by way of memory": ("y[i] = s\n        z[i] = s\n        s += z[i]", False, False),
    "of itself by way of a branch": ("t = x[i]\n        if s > 9:\n            t = x[i] * 2\n        s += t\n        y[i] = s", False, False),
    "two": ("y[i] = s + u\n        s += x[i]\n        u -= x[i] * 2\n        z[i] = u", True, False),
    "one of the other": ("y[i] = s\n        u += s\n        s += x[i]\n        z[i] = u", True, False),
    "product of what is 1 in floats": ("s *= x[i] + 1\n        y[i] = s", True, True),
    "greatest": ("s = max(s, x[i])\n        y[i] = s", True, True),
    "least and greatest": ("s = min(s, x[i])\n        u = max(u, x[i] * 2)\n        y[i] = u - s", True, True),
    "greatest read before": ("y[i] = s\n        s = max(s, x[i])", False, False),
    "greatest in memory": ("if i > 0:\n            y[i] = max(y[i - 1], x[i])", True, True),
    "bits": ("s |= x[i]\n        y[i] = s", True, False),
    "bits that all have": ("s &= x[i] | 64\n        y[i] = s", True, False),
    "parity": ("s ^= x[i]\n        y[i] = s", True, False),
    "a place that is counted": ("z[i] = s\n        y[u] = x[i]\n        u += 1\n        s += 3\n        if u >= len(x):\n            u = 0 * u", False, False),
    "next iteration early": ("y[i] = s\n        if x[i] > 9:\n            continue\n        s += x[i]", True, False),
    "left early": ("y[i] = s\n        if x[i] > 90:\n            break\n        s += x[i]", False, False),
}


def form(name: str, **options: Any) -> Any:
    source = f"def loop(x, y, z):\n    s = x.dtype(5)\n    u = {'lw.i64' if 'y[u]' in FORMS[name][0] else 'x.dtype'}(0)\n    for i in range(len(x)):\n        {FORMS[name][0]}\n    z[0] = s + x.dtype(u)\n"
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the source above)
    space["loop"].__annotations__.update(dict.fromkeys("xyz", lw.Array))
    return lw.kernel(source=source, **options)(space["loop"])


@pytest.mark.parametrize("dtype", ["i4", "u1", "i8", "f4"])
@pytest.mark.parametrize("name", FORMS)
def test_running_sums_in_other_words(name: str, dtype: str) -> None:
    if dtype == "f4" and ("bits" in name or name == "parity"):
        pytest.skip("of integers only")
    fast, plain = form(name, fastmath=True), form(name, nests="off")
    for n in (1, 2, 7, 16, 17, 33, 64, 67):
        x = np.random.default_rng(n).integers(0, 100 if dtype != "f4" else 10, n).astype(dtype)
        if "itself" in name and dtype == "f4":
            x %= 2
        if "product" in name and dtype == "f4":
            x = np.where(x == 9, x, 0)
        made = []
        for kernel in (fast, plain):
            for y, z in ((0, 0), (1, 0), (0, 1)):
                given = [x.copy(), *(np.zeros(n, dtype) for _ in range(2))]
                # (Arrays that are one, or begin in the middle of another.)
                arrays = [given[0], given[0] if y else given[1], given[0][: n // 2 + 1] if z else given[2]]
                if z and "z[i]" in FORMS[name][0]:
                    arrays[2] = given[0]
                kernel(*arrays)
                made.append([array.tolist() for array in given])
        np.testing.assert_allclose(np.array(made[:3], float), np.array(made[3:], float), rtol=1e-5)
    target = "x86-64-v4"
    if dtype in ("i4", "f4"):
        assert taken(fast.compile(x, x, x, target=target)) == FORMS[name][2 if dtype == "f4" else 1]


@pytest.mark.skipif(not emulate.available("aarch64-neon"), reason="nothing emulates aarch64 here")
def test_in_other_words_on_aarch64() -> None:
    calls = []
    for name in ("greatest", "parity", "product of what is 1 in floats", "read before", "ahead in memory"):
        for dtype in (np.int32, np.uint8):
            kernel, plain = form(name), form(name, nests="off")
            for n in (1, 7, 67):
                x = np.random.default_rng(n).integers(0, 100, n).astype(dtype)
                given = [[x.copy(), *(np.zeros(n, dtype) for _ in range(2))] for _ in range(2)]
                code = kernel.compile(*given[0], target="aarch64-neon")
                assert taken(code)
                calls.append((code, given[0], given[1], plain))
    emulate.run_many([(code, tuple(arrays)) for code, arrays, _, _ in calls])
    for _, arrays, wanted, plain in calls:
        plain(*wanted)
        for x, y in zip(arrays, wanted, strict=True):
            np.testing.assert_array_equal(x, y)


BY = ["s = lw.max(s, x[i])", "s = min(x[i], s)", "s |= x[i]", "s &= x[i]", "s ^= x[i]", "s *= x[i]", "if x[i] > 3:|            s = max(s, x[i])"]


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("by", BY)
def test_what_else_goes_on_from_lane_to_lane(by: str, name: str) -> None:
    update = by.replace("|            ", "\n            ")
    text = f"def kernel(x: lw.Array[lw.{name}], y: lw.Array[lw.{name}]):\n    s = x[0]\n    for i in lw.lanes(len(x)):\n        {update}\n        y[i] = s\n    y[0] = s\n"
    scope = {"lw": lw}
    exec(text, scope)  # noqa: S102 (the texts above)
    kernel = lw.kernel(source=text)(scope["kernel"])
    for n in (1, 2, 5, 16, 33, 100, 257):
        x = np.random.default_rng(n).integers(0, 100, n).astype(getattr(lw, name).dtype)
        wanted, found = np.zeros_like(x), np.zeros_like(x)
        with np.errstate(all="ignore"):
            scope["kernel"](x, wanted)
        kernel(x, found)
        assert found.tolist() == wanted.tolist()
    assert taken(kernel.compile(x, found, keep=True)) or "*" in by
