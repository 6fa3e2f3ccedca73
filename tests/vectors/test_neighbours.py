"""Elements that lanes look up with those next to them: loaded two at a time where lanes and elements are the same, each by itself otherwise, and none that the loop does not access."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Runner, runners

import loopwright as lw

SPACE = {"lw": lw, **{name: getattr(lw, name) for name in ("u8", "i16", "i32", "i64", "f32", "f64")}}
#: By name: the loop over ``i``, which looks up in ``t`` at ``k``, and how many gathers of two there are.
LOOPS = {
    "between two": ("        y[i] = t[k[i]] * 3 + t[k[i] + 1]\n", 1),
    "in front": ("        y[i] = t[k[i] + 2] - t[k[i] + 1]\n", 1),
    "the one behind first": ("        y[i] = t[k[i] + 1] - t[k[i]]\n", 1),
    "three": ("        y[i] = t[k[i] + 2] + t[k[i]] * 2 - t[k[i] + 1]\n", 1),
    "four": ("        y[i] = t[k[i] + 3] + t[k[i]] * 2 - t[k[i] + 1] * t[k[i] + 2]\n", 2),
    "two apart": ("        y[i] = t[k[i] + 2] + t[k[i]]\n", 0),
    "twice": ("        y[i] = t[k[i] + 1] + t[k[i]] * t[k[i] + 1] + t[k[i]]\n", 1),
    "where a condition holds": (
        "        if k[i] < 40:\n            y[i] = t[k[i] + 1] - t[k[i]]\n        else:\n            y[i] = t[k[i] - 1] * t[k[i]]\n",
        2,
    ),
    "the second where a condition holds": ("        v = t[k[i]]\n        if v < 50:\n            v += t[k[i] + 1]\n        y[i] = v\n", 0),
    "what has been stored": ("        v = t[k[i]]\n        t[i] = v\n        y[i] = v + t[k[i] + 1]\n", 0),
}
#: Of rows and columns, ``a`` by ``r`` and ``k``.
IMAGES = {
    "rows and columns": "        y[i] = a[r[i], k[i]] + a[r[i], k[i] + 1] * 2 - a[r[i] + 1, k[i]] * a[r[i] + 1, k[i] + 1]\n",
    "rows that are looked up": "        y[i] = a[r[i], i * i & 3] + a[r[i], (i * i & 3) + 1]\n",
    "a column": "        y[i] = a[r[i], 2] - a[r[i], 3]\n",
    "where a condition holds": "        if k[i] > 3:\n            y[i] = a[r[i], k[i]] + a[r[i], k[i] - 1]\n",
}


def kernel(body: str, parameters: str, loop: str, **options: Any) -> Any:
    source = f"def nest({parameters}):\n    for i in {loop}(y.shape[0]):\n{body}"
    space = dict(SPACE)
    exec(source, space)  # noqa: S102 (the sources above)
    function = space["nest"]
    function.__annotations__.update(dict.fromkeys(function.__code__.co_varnames[: function.__code__.co_argcount], lw.Array))
    return lw.kernel(source=source, **options)(function)


def given(element: Any, n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    table = rng.integers(0, 100, 60).astype(element)
    k = rng.integers(1, 57, n)
    k[:2] = (1, 56)[: len(k[:2])]
    return [table, k, np.zeros(n, element)]


def image(element: Any, n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    return [rng.integers(0, 100, (9, 12)).astype(element), rng.integers(0, 8, n), rng.integers(0, 11, n), np.zeros(n, element)]


def same(body: str, parameters: str, args: list[Any], loop: str, **options: Any) -> None:
    wanted = [a.copy() for a in args]
    kernel(body, parameters, "lw.range", nests="off", **options)(*wanted)
    for at_end in (False, True):
        found = [guarded(a, at_end) for a in args]
        kernel(body, parameters, loop, **options)(*found)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("element", [np.uint8, np.int16, np.int32, np.uint32, np.float32, np.int64, np.float64])
def test_as_the_loop_as_written(name: str, element: Any) -> None:
    for n in (0, 1, 5, 8, 33):
        same(LOOPS[name][0], "t, k, y", given(element, n), "range")
        if name != "what has been stored":
            same(LOOPS[name][0], "t, k, y", given(element, n), "lw.lanes")


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("element", [np.uint8, np.float32, np.float64])
def test_of_rows_and_columns(name: str, element: Any) -> None:
    for n in (0, 1, 8, 33):
        for loop in ("range", "lw.lanes"):
            same(IMAGES[name], "a, r, k, y", image(element, n), loop)


def gathers(body: str, parameters: str, args: list[Any], loop: str, target: str) -> tuple[int, int]:
    """How many of single elements of 32 bits a loop over vectors has, and of two."""
    code = kernel(body, parameters, loop).compile(*args, target=target)
    text = str(code.ir("vectorize"))
    return len(re.findall(r"gather_at\.f32x", text)), len(re.findall(r"gather_at\.u64x", text))


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_two_are_loaded_as_one(name: str, target: str) -> None:
    body, wanted = LOOPS[name]
    if name == "what has been stored":
        return
    one, two = gathers(body, "t, k, y", given(np.float32, 33), "lw.lanes", target)
    assert two == wanted
    read = len(set(re.findall(r"t\[[^]]*\][^]]*\]", body)))
    assert wanted == 0 or one + 2 * two == read + (name == "where a condition holds")


def test_rows_and_columns_have_lanes_by_themselves() -> None:
    for name, body in IMAGES.items():
        args = image(np.float32, 33)
        said = str(kernel(body, "a, r, k, y", "range").compile(*args, target="x86-64-v4").nests())
        assert "lanes(i)" in said.split("done")[1], name
    assert gathers(IMAGES["rows and columns"], "a, r, k, y", image(np.float32, 33), "range", "x86-64-v4") == (0, 2)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.bits))
def test_on_every_machine(runner: Runner) -> None:
    for bodies, parameters, make in ((LOOPS, "t, k, y", given), (IMAGES, "a, r, k, y", image)):
        for name, entry in bodies.items():
            if name == "what has been stored":
                continue
            body = entry[0] if isinstance(entry, tuple) else entry
            for element in (np.int16, np.float32):
                args = make(element, 37)
                wanted = [a.copy() for a in args]
                kernel(body, parameters, "lw.range", nests="off")(*wanted)
                code = kernel(body, parameters, "lw.lanes").compile(*args, target=runner.name, vector_bits=runner.bits).compiled

                def compare(_: Any, y: Any = args[-1], wanted: Any = wanted[-1], name: str = name) -> None:
                    np.testing.assert_array_equal(y, wanted, name)

                runner.run(code, args, compare)


def test_one_narrow_index_of_two_arrays() -> None:
    """What is read as the place in one array, extended in the instruction, is a row of another."""

    def kernel(x, y, m, h):
        for i in range(y.shape[0]):
            x[i] = h[i & 15]
            y[i] = h[i // 3] + m[i // 3, i]

    kernel.__annotations__ = dict.fromkeys(("x", "y", "m", "h"), lw.Array)
    for n in (1, 7, 16, 45):
        m, h = np.random.default_rng(n).random((16, 45)), np.random.default_rng(n + 1).random(16)
        wanted, found = (np.zeros(n), np.zeros(n)), (np.zeros(n), np.zeros(n))
        kernel(*wanted, m, h)
        lw.kernel(kernel, contract=False)(*found, m, h)
        assert found[0].tolist() == wanted[0].tolist() and found[1].tolist() == wanted[1].tolist()
