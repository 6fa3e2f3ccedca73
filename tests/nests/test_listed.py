"""Loops that do under a condition what has to stay in order: the iterations that it holds for are listed first, in lanes, and the results are Python's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from
from tests.machines import Runner, runners

DONE = "that its condition holds for listed first"


PAIRS = """
def nest(a, b, c):
    for i in range(a.shape[0]):
        for j in range(i + 1, a.shape[0]):
            x = a[i, 0] - a[j, 0]
            y = a[i, 1] - a[j, 1]
            z = a[i, 2] - a[j, 2]
            r = x * x + y * y + z * z
            if r < c[0]:
                b[i, 0] += r * x
                b[i, 1] -= y
                b[j, 0] -= r * x
                b[j, 1] += y + z
"""
#: Bodies of ``for i in range(a.shape[0])`` over ``a`` and ``b`` of numbers, ``k`` of keys below 20 and ``t`` of 20 sums.
LOOPS = {
    "a table": "x = a[i] - c[0]; y = b[i] - c[0]; r = x * x + y * y * x - y\nif r + x * y < c[1]: t[k[i]] += r * x",
    "choices in front": "x = a[i] - c[0]\nif x > c[1]: x -= c[1]\nelif x < -c[1]: x = x + b[i]\nr = x * x * x - x * b[i] + x\nif r > c[0]: t[k[i]] = t[k[i] + 1] - r",
    "one condition in the other": "x = a[i] - b[i]; y = a[i] * b[i] + x; z = x * x - y * c[0]\nif z < c[1]:\n    w = z * z - c[1] * x\n    if w > c[0]: t[k[i]] += w; t[k[i] + 1] = t[k[i]] - z",
    "both conditions": "x = a[i] - b[i]; y = a[i] * b[i] + x; z = x * x - y * c[0] + y\nif z < c[1] and y - x > c[0]: t[k[i]] = t[k[i] + 1] * x - y",
    "what is counted": "x = a[i] - b[i]; y = a[i] * b[i] + x; z = x * x - y * c[0] + y - x\nif z < c[1]:\n    k[m] = k[i]\n    t[k[i]] += z\n    m += 1",
}
KEPT = {
    "a loop is in it": "x = a[i] - b[i]; y = a[i] * b[i] + x; z = x * x - y * c[0] + y - x\nif z < c[1]:\n    for q in range(k[i], 20): t[q] += t[q - 1] * x",
    "what it stores is loaded in front": "x = a[i] - b[i]; y = t[k[i]] * b[i] + x; z = x * x - y * c[0] + y - x\nif z < c[1]: t[k[i]] += z",
    "the condition hangs on what it finds": "x = a[i] - b[i]; y = a[i] * b[i] + x; z = x * x - y * c[0] + y - x\nif z < s: s = z; t[k[i]] = z",
    "it is left": "x = a[i] - b[i]; y = a[i] * b[i] + x; z = x * x - y * c[0] + y - x\nif z > c[2]:\n    t[k[i]] += z\n    break",
    "there is little in front": "x = a[i] - b[i]\nif x < c[1]: t[k[i]] += x",
    "something is behind": "x = a[i] - b[i]; y = a[i] * b[i] + x; z = x * x - y * c[0] + y - x\nif z < c[1]: t[k[i]] += z\nt[k[i]] += x",
}


def source_of(body: str) -> str:
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    return f"def nest(a, b, k, t, c):\n    m = 0\n    s = c[1]\n    for i in range(a.shape[0]):\n{lines}    t[0] += s + m\n"


def arguments(n: int, bounds: tuple[float, float], dtype: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    a, b = [rng.integers(-8, 9, n).astype(dtype) for _ in range(2)]
    return [a, b, rng.integers(1, 20, n).astype(np.int64), np.arange(21).astype(dtype), np.array([*bounds, 1e6]).astype(dtype)]


def same(fast: Any, plain: Any, given: list[np.ndarray], what: object) -> None:
    wanted, found = [x.copy() for x in given], [x.copy() for x in given]
    plain(*wanted)
    fast(*found)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=str(what))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("name", [*LOOPS, *KEPT])
def test_results_and_what_is_done(name: str, dtype: Any) -> None:
    source = source_of({**LOOPS, **KEPT}[name])
    fast, plain = nest_from(source), nest_from(source, nests="off")
    # It holds for none, some, most and all; of less than a block, of whole ones, and of more.
    for n, bounds in itertools.product((0, 1, 15, 16, 17, 255, 256, 257, 530, 1100), ((0, -1e6), (0, -20), (1, 3), (0, 60), (-2, 1e6))):
        with np.errstate(all="ignore"):
            same(fast, plain, arguments(n, bounds, dtype), (name, n, bounds))
    text = str(fast.compile(*arguments(9, (0, 1), dtype), target="x86-64-v4").nests())
    if dtype in (np.float32, np.float64):
        assert (DONE in text) == (name in LOOPS), text


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs(dtype: Any) -> None:
    fast, plain = nest_from(PAIRS), nest_from(PAIRS, nests="off")
    for n, bound in itertools.product((0, 1, 2, 17, 40, 300), (0.0, 0.1, 1.0, 9.0)):
        rng = np.random.default_rng(n)
        # (Sums of small whole numbers are exact.)
        given = [rng.integers(0, 5, (n, 3)).astype(dtype) / 4, np.zeros((n, 3), dtype), np.array([bound], dtype)]
        same(fast, plain, given, (n, bound))
    assert DONE in str(fast.compile(*given, target="x86-64-v4").nests())
    text = str(fast.compile(*given, keep=True, target="x86-64-v4").ir("vectorize"))
    # Rows of three next to each other are dealt out.
    assert "load_part3" in text and "compress" in text


def test_arrays_that_overlap() -> None:
    source = source_of(LOOPS["a table"])
    fast, plain = nest_from(source), nest_from(source, nests="off")
    for shift in range(0, 300, 7):
        results = []
        for made in (plain, fast):
            memory = np.random.default_rng(0).integers(-8, 9, 900).astype(np.float64)
            keys = np.random.default_rng(1).integers(1, 20, 300)
            made(memory[:300], memory[300:600], keys, memory[shift * 2 : shift * 2 + 21], np.array([1.0, 3.0]))
            results.append(memory)
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_every_machine(runner: Runner) -> None:
    for body in (LOOPS["a table"], LOOPS["one condition in the other"]):
        source = source_of(body)
        given = arguments(300, (1, 3), np.float32)
        wanted = [x.copy() for x in given]
        nest_from(source, nests="off")(*wanted)
        code = runner.compiled(nest_from(source), *given)
        runner.run(code, given, lambda _, given=given, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(given, wanted, strict=True)])
