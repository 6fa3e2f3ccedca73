"""Sums by key: in pairs where the keys are few, in copies where they are not too many, and as one element after the other adds them up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.runtime import emulate

#: What a loop becomes has a table of this name.
TABLE = "totals.sums"
COPIES = "totals.copies"


def kernel(body: str, parameters: str = "keys, values, totals", loop: str = "range(len(keys))", **options: Any) -> Any:
    source = f"def grouped({parameters}):\n    for i in {loop}:\n        {body}\n"
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the sources below)
    function = space["grouped"]
    function.__annotations__.update(dict.fromkeys(parameters.split(", "), lw.Array))
    return lw.kernel(source=source, **options)(function)


def types(arrays: list[np.ndarray]) -> list[Any]:
    return [lw.Array[getattr(lw, f"{a.dtype.kind}{8 * a.dtype.itemsize}"), a.ndim] for a in arrays]


def text(made: Any, arrays: list[np.ndarray], target: str = "x86-64-v3") -> str:
    found: str = made.compile(*types(arrays), target=target, keep=True).ir("nests")
    return found


def numbers(dtype: Any, n: int) -> np.ndarray:
    """Whole numbers, so that sums of floats are exact in any order; of integers any bits."""
    rng = np.random.default_rng(n)
    if np.dtype(dtype).kind == "f":
        return rng.integers(-50, 50, n).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def keys(dtype: Any, n: int, count: int) -> np.ndarray:
    return np.random.default_rng(n + count).integers(0, count, n).astype(dtype)


@pytest.mark.parametrize("key", ["u8", "i8", "i16", "u32", "i32", "i64"])
@pytest.mark.parametrize("element", ["f32", "f64", "i32", "u32", "i64", "u64"])
def test_as_one_element_after_the_other(element: str, key: str) -> None:
    loop = ["range(len(keys))", "lw.lanes(len(keys))", "lw.range(3, len(keys) - 2)"][(len(element + key) + ord(key[-1]) + ord(element[-2])) % 3]
    dtype, narrow = getattr(lw, element).dtype, getattr(lw, key).dtype
    made = kernel("totals[keys[i]] += values[i]", loop=loop, fastmath=True)
    lo, end = (3, 2) if "3" in loop else (0, 0)
    for n in (0, 1, 2047, 2048, 2055, 2562, 5000):
        for count in (1, 2, 15, 16, 17, 100) if np.dtype(narrow).itemsize == 1 else (1, 2, 15, 16, 17, 511, 512, 513, 1024, 1025, 1250):
            k, v = keys(narrow, n, count), numbers(dtype, n)
            totals = numbers(dtype, count)
            wanted = totals.copy()
            with np.errstate(over="ignore"):
                np.add.at(wanted, k[lo : max(n - end, lo)], v[lo : max(n - end, lo)])
            made(k, v, totals)
            assert totals.tobytes() == wanted.tobytes(), (n, count)
    arrays = [keys(narrow, 9, 4), numbers(dtype, 9), numbers(dtype, 4)]
    for target in ("x86-64-v3", "x86-64-v4", "aarch64-neon"):
        assert TABLE in text(made, arrays, target)
        assert COPIES in text(made, arrays, target)


@pytest.mark.parametrize(
    "body",
    [
        "totals[keys[i]] -= values[i]",
        "totals[keys[i]] = values[i] + totals[keys[i]]",
        "totals[keys[i]] += values[i] * values[i]",
        "totals[keys[i]] += values[2 * i]",
        "totals[keys[i]] += values[len(values) - 1 - i]",
        "totals[keys[i]] += values[keys[i]]",
        "totals[keys[i]] += 3",
        "totals[keys[i]] += values[7]",
        "totals[keys[i]] += keys[i]",
        "totals[keys[i]] += i",
        "totals[keys[2 * i + 1] >> 1] += values[i + 5]",
        "totals[(keys[i] ^ keys[i + 1]) & 15] -= 1",
        "totals[15 - keys[i]] += values[i] - values[i + 1]",
    ],
)
@pytest.mark.parametrize("element", ["f32", "f64", "i32", "i64"])
@pytest.mark.parametrize("count", [16, 24])
def test_of_keys_and_values_that_are_computed(count: int, element: str, body: str) -> None:
    dtype = np.dtype(getattr(lw, element).dtype)
    made = kernel(body, loop="range(lw.i64(len(totals) * 200))", fastmath=True)
    plain = kernel(body, loop="range(lw.i64(len(totals) * 200))", nests="off")
    k, v = keys(np.uint8, 12000, 16), numbers(np.int16 if dtype.kind == "i" else np.float32, 12000).astype(dtype)
    totals, wanted = numbers(dtype, count), numbers(dtype, count)
    made(k, v, totals)
    plain(k, v, wanted)
    assert totals.tobytes() == wanted.tobytes()
    if "len(values)" not in body and "values[keys" not in body and (element == "f64" or "+= i" not in body):
        assert TABLE in text(made, [k, v, totals], "x86-64-v4")
    if "+= i" not in body or element in ("f64", "i64"):
        assert COPIES in text(made, [k, v, totals], "x86-64-v4")


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ("totals[keys[i]] += values[i]", {}),
        ("totals[keys[i]] *= values[i]", {"fastmath": True}),
        ("totals[i] += values[i]", {"fastmath": True}),
        ("totals[keys[0]] += values[i]", {"fastmath": True}),
        ("totals[keys[i]] = values[i] - totals[keys[i]]", {"fastmath": True}),
        ("totals[keys[i]] += totals[keys[i] & 1]", {"fastmath": True}),
        ("totals[keys[i]] = totals[keys[i + 1]] + values[i]", {"fastmath": True}),
    ],
)
def test_others_stay_as_they_are(body: str, options: dict[str, Any]) -> None:
    made, plain = kernel(body, loop="range(lw.i64(len(keys) - 1))", **options), kernel(body, loop="range(lw.i64(len(keys) - 1))", nests="off")
    n = 5000
    k, v = keys(np.uint8, n, 16), np.random.default_rng(0).integers(1, 2, n).astype(np.float32)
    totals, wanted = np.ones(n, np.float32), np.ones(n, np.float32)
    made(k, v, totals)
    plain(k, v, wanted)
    assert totals.tobytes() == wanted.tobytes()
    assert TABLE not in text(made, [k, v, totals])
    assert COPIES not in text(made, [k, v, totals])


@pytest.mark.parametrize("count", [16, 17, 512, 513])
def test_of_an_array_of_the_kernel_s_own(count: int) -> None:
    source = f"""def counted(keys, out):
    totals = lw.local(lw.i64, {count})
    for k in range({count}):
        totals[k] = 0
    for i in range(len(keys)):
        totals[keys[i] & {count - 1}] += 1
    for k in range({count}):
        out[k] = totals[k]
"""
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (above)
    space["counted"].__annotations__.update(keys=lw.Array, out=lw.Array)
    made = lw.kernel(source=source)(space["counted"])
    k, out = keys(np.int32, 5000, 600), np.zeros(count, np.int64)
    made(k, out)
    np.testing.assert_array_equal(out, np.bincount(k & (count - 1), minlength=count))
    found = text(made, [k, out])
    assert (TABLE in found, COPIES in found) == (count == 16, 16 < count <= 512)


def test_floats_in_their_order_without_fastmath() -> None:
    made = kernel("totals[keys[i]] += values[i]")
    k, v = keys(np.uint8, 5000, 16), np.random.default_rng(3).random(5000, np.float32)
    totals, wanted = np.zeros(16, np.float32), np.zeros(16, np.float32)
    made(k, v, totals)
    for at, value in zip(k, v, strict=True):
        wanted[at] += value
    assert totals.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("shift", [-3000, -8, -1, 0, 1, 100, 4990])
def test_arrays_that_overlap(shift: int) -> None:
    """Sums among the values that are added, or among the keys."""
    made, plain = kernel("totals[keys[i]] += values[i]"), kernel("totals[keys[i]] += values[i]", nests="off")
    results = []
    for which in ("values", "keys"):
        for function in (made, plain):
            memory = np.arange(12000, dtype=np.int64) % 13
            other = np.arange(5000, dtype=np.int64) % 16
            part, totals = memory[3000:8000], memory[3000 + shift : 3016 + shift]
            if which == "keys":
                # (What is added is a multiple of 16 and never brings a key out of the sums.)
                function(part % 13 if shift in (0,) else part, other * 0, totals)
            else:
                function(other, part, totals)
            results.append(memory.tobytes())
        assert results[-1] == results[-2]


def test_in_a_loop_and_of_a_row() -> None:
    source = """def grouped(keys, values, totals):
    for r in range(keys.shape[0]):
        for i in range(keys.shape[1]):
            totals[keys[r, i]] += values[r, i]
"""
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the source above)
    function = space["grouped"]
    function.__annotations__.update(keys=lw.Array[lw.u8, 2], values=lw.Array[lw.f64, 2], totals=lw.Array[lw.f64])
    made = lw.kernel(source=source, fastmath=True)(function)
    k, v = keys(np.uint8, 3 * 3001, 11).reshape(3, 3001), numbers(np.float64, 3 * 3001).reshape(3, 3001)
    totals, wanted = np.zeros(11), np.zeros(11)
    np.add.at(wanted, k, v)
    made(k, v, totals)
    assert (totals == wanted).all()
    assert TABLE in text(made, [k, v, totals])


def test_many_in_one_function() -> None:
    lines = "".join(f"    for i in range(len(keys)):\n        totals[keys[i]] += {n}\n" for n in range(1, 21))
    source = f"def grouped(keys, totals):\n{lines}"
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the source above)
    function = space["grouped"]
    function.__annotations__.update(keys=lw.Array, totals=lw.Array)
    made = lw.kernel(source=source)(function)
    k, totals = keys(np.uint8, 4000, 9), np.zeros(9, np.int64)
    made(k, totals)
    assert (totals == 210 * np.bincount(k, minlength=9)).all()


@pytest.mark.skipif(not emulate.available("aarch64-neon"), reason="nothing emulates aarch64 here")
def test_on_aarch64() -> None:
    calls: list[tuple[Any, tuple[Any, ...]]] = []
    wanted: list[bytes] = []
    for body in ("totals[keys[i]] += values[i]", "totals[keys[i]] -= values[i] * 2", "totals[keys[i]] += 1"):
        for element in ("f32", "f64", "i32", "u64"):
            dtype = np.dtype(getattr(lw, element).dtype)
            k, v, totals = keys(np.uint8, 3000, 16), numbers(dtype, 3000), numbers(dtype, 16)
            made = kernel(body, fastmath=True)
            code = made.compile(*types([k, v, totals]), target="aarch64-neon", keep=True)
            assert TABLE in code.ir("nests")
            expected = totals.copy()
            made(k, v, expected)
            calls.append((code, (k, v, totals)))
            wanted.append(expected.tobytes())
    emulate.run_many(calls)
    assert [args[2].tobytes() for _, args in calls] == wanted
