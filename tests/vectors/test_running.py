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
    target = "x86-64-v4"
    text = lw.kernel(rows_of_sums).compile(lw.Array[lw.i32, 2], lw.Array[lw.i32, 2], lw.Array[lw.i32], target=target).ir("nests")
    assert taken(lw.kernel(rows_of_sums).compile(lw.Array[lw.i32, 2], lw.Array[lw.i32, 2], lw.Array[lw.i32], target=target))
    assert text.index("if %") < text.index("= for")
    assert text.count("if %") == 1
