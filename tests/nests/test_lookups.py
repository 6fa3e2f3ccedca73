"""Plain loops that look elements up: in lanes where a machine gathers, with the results of the loops as written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

SPACE = {"lw": lw, **{name: getattr(lw, name) for name in ("u8", "i16", "i32", "i64", "f32", "f64")}}
COPY = "def nest(t, k, y):\n    for i in range(y.shape[0]):\n        y[i] = t[k[i]]\n"


def kernel(source: str, **options: Any) -> Any:
    space = dict(SPACE)
    exec(source, space)  # noqa: S102 (the sources below)
    function = space["nest"]
    function.__annotations__.update(dict.fromkeys(function.__code__.co_varnames[: function.__code__.co_argcount], lw.Array))
    return lw.kernel(source=source, **options)(function)


def both(source: str, *given: Any, **options: Any) -> None:
    """Compare with the loops as written, on this machine."""
    wanted, found = [a.copy() for a in given], [a.copy() for a in given]
    kernel(source, nests="off", **options)(*wanted)
    kernel(source, **options)(*found)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def nests(source: str, *given: Any, target: str = "x86-64-v3", **options: Any) -> str:
    return str(kernel(source, **options).compile(*given, target=target).nests())


def table(dtype: Any = np.float32, n: int = 300) -> Any:
    return np.random.default_rng(0).integers(0, 100, n).astype(dtype)


def places(dtype: Any = np.int32, n: int = 77, below: int = 120) -> Any:
    return np.random.default_rng(1).integers(0, below, n).astype(dtype)


@pytest.mark.parametrize("index", [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64])
@pytest.mark.parametrize("element", [np.uint8, np.int16, np.uint32, np.float32, np.int64, np.float64])
def test_every_type(element: Any, index: Any) -> None:
    for n in (0, 1, 7, 8, 33, 77):
        both(COPY, table(element), places(index, n), np.zeros(n, element))
    # (By wide numbers without a sign, which are converted to indices of 64 bits, narrow elements take longer in lanes than one by one.)
    singly = index in (np.uint32, np.uint64) and element in (np.uint8, np.int16)
    assert ("lanes(i)" in nests(COPY, table(element), places(index), np.zeros(77, element))) is not singly


#: What is looked up, and in which way: each has lanes.
LOOPS = {
    "products": "def nest(t, k, y):\n    for i in range(y.shape[0]):\n        y[i] = t[k[i]] * y[i] + t[k[i] + 1]\n",
    "a table of a table": "def nest(t, k, y):\n    for i in range(y.shape[0]):\n        y[i] = t[k[k[i] % 64]]\n",
    "a row": "def nest(t, k, y):\n    s = t[2] * 0\n    for i in range(y.shape[0]):\n        y[i] = t[k[i]] + s\n",
    "under a condition": "def nest(t, k, y):\n    for i in range(y.shape[0]):\n        if k[i] > 50:\n            y[i] = t[k[i]]\n        else:\n            y[i] = 3\n",
    "not where the index is none": "def nest(t, k, y):\n    for i in range(y.shape[0]):\n        if k[i] < 50:\n            y[i] = t[k[i] * 3]\n",
    "a total": "def nest(t, k, y):\n    s = t[0] * 0\n    for i in range(k.shape[0]):\n        s += t[k[i]]\n    y[0] = s\n",
    "the greatest": "def nest(t, k, y):\n    s = t[0]\n    for i in range(k.shape[0]):\n        if t[k[i]] > s:\n            s = t[k[i]]\n    y[0] = s\n",
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("element", [np.int32, np.float32, np.float64])
def test_loops_that_look_up_have_lanes(name: str, element: Any) -> None:
    both(LOOPS[name], table(element), places(), np.zeros(77, element), fastmath=True)
    assert "lanes(i)" in nests(LOOPS[name], table(element), places(), np.zeros(77, element), fastmath=True)


IMAGE = "def nest(t, a, y):\n    for i in range(a.shape[0]):\n        for j in range(a.shape[1]):\n            y[i, j] = t[a[i, j]]\n"
COLUMNS = "def nest(x, k, y):\n    for i in range(y.shape[0]):\n        for j in range(y.shape[1]):\n            y[i, j] = x[i, k[j]]\n"


def test_in_nests() -> None:
    pixels = places(np.uint8, 20 * 37, 256).reshape(20, 37)
    both(IMAGE, table(np.uint8), pixels, np.zeros((20, 37), np.uint8))
    assert "lanes(j)" in nests(IMAGE, table(np.uint8), pixels, np.zeros((20, 37), np.uint8))
    rows = table(np.float32, 20 * 40).reshape(20, 40)
    both(COLUMNS, rows, places(np.int32, 37, 40), np.zeros((20, 37), np.float32))
    assert "lanes(j)" in nests(COLUMNS, rows, places(np.int32, 37, 40), np.zeros((20, 37), np.float32))


ROWS = """
def nest(v, k, p, x, y):
    for r in range(y.shape[0]):
        s = x[0] * 0
        for j in range(p[r], p[r + 1]):
            s += v[j] * x[k[j]]
        y[r] = s
"""
OF_FLOATS = "def nest(t, x, y):\n    for i in range(y.shape[0]):\n        y[i] = t[i64(x[i])]\n"


def test_rows_of_sparse_matrices_and_what_lanes_would_lose_stay_as_written() -> None:
    p = np.cumsum([0, *places(np.int32, 30, 9)]).astype(np.int32)
    sparse = (table(np.float64, int(p[-1])), places(np.int32, int(p[-1]), 30), p, table(np.float64, 30), np.zeros(30))
    both(ROWS, *sparse, fastmath=True)
    assert "lanes(" not in nests(ROWS, *sparse, fastmath=True).split("done")[1]
    # AVX2 takes f64 to i64 one by one.
    floats = (table(np.float64), places(np.float64), np.zeros(77))
    both(OF_FLOATS, *floats, fastmath=True)
    assert "lanes(" not in nests(OF_FLOATS, *floats, fastmath=True).split("done")[1]
    assert "lanes(i)" in nests(OF_FLOATS, *floats, fastmath=True, target="x86-64-v4")


SELF = "def nest(x, k):\n    for i in range(k.shape[0]):\n        x[i] = x[k[i]] + 1\n"
BEFORE = "def nest(x, k, y, z):\n    for i in range(k.shape[0]):\n        y[i] = x[i] * 2\n        z[i] = y[k[i]]\n"


def test_what_is_stored_may_be_looked_up() -> None:
    for n in (8, 77):
        both(SELF, table(np.int64), places(np.int32, n))
        both(BEFORE, table(np.int64), places(np.int32, n, n), table(np.int64), np.zeros(n, np.int64))
    assert "lanes(" not in nests(SELF, table(), places()).split("done")[1]


def test_arrays_that_are_the_same() -> None:
    k = places(np.int32, 77, 100)
    for begin in (0, 3, 8, 100, 220):
        one, other = table(), table()
        kernel(COPY)(one, k, one[begin : begin + 77])
        for i in range(77):
            other[begin + i] = other[k[i]]
        np.testing.assert_array_equal(one, other)
    # The indices themselves are overwritten.
    k = np.arange(1, 100, dtype=np.int32)
    expected = k.copy()
    for i in range(50):
        expected[i + 1] = expected[expected[i]]
    kernel(COPY)(k, k, k[1:51])
    np.testing.assert_array_equal(k, expected)


def test_a_machine_without_gathers_says_so() -> None:
    said = nests(COPY, table(), places(), np.zeros(77, np.float32), target="aarch64-neon")
    assert "i: t is accessed at an index that comes from an array" in said and "lanes(" not in said


@pytest.mark.parametrize("runner", runners(lambda runner: runner.bits))
def test_on_every_machine(runner: Runner) -> None:
    for name in ("products", "under a condition", "a table of a table"):
        for element in (np.uint8, np.float32):
            t, k, y = table(element), places(), np.ones(77, element)
            wanted = y.copy()
            kernel(LOOPS[name], nests="off")(t, k, wanted)
            code = kernel(LOOPS[name]).compile(t, k, y, target=runner.name, vector_bits=runner.bits).compiled

            def compare(_: Any, y: Any = y, wanted: Any = wanted, name: str = name) -> None:
                np.testing.assert_array_equal(y, wanted, name)

            runner.run(code, [t, k, y], compare)
