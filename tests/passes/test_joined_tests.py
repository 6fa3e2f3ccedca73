"""Branches on two bounds of a number: joined where one comparison tells both, and with the results of Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw

#: (a condition on c, branches that are left of it: in front of the pass ``promote``, behind it)
CONDITIONS = {
    "c >= 65 and c <= 90": (2, 1),
    "c > 64 and 90 >= c": (2, 1),
    "65 <= c and c < 91": (2, 1),
    "c < 48 or c > 57": (2, 1),
    "(c >= 65 and c <= 90) or (c >= 97 and c <= 122)": (4, 2),
    "(c >= 48 and c <= 57) or c == 46": (3, 2),
    "not (c >= 48 and c <= 57)": (2, 1),
    "c >= 48 and c <= 57 and d >= 48 and d <= 57": (4, 2),
    "c >= 65 and d <= 90": (2, 2),
    "c >= 65 and c >= 70": (2, 2),
    "c >= 90 and c <= 65": (2, 2),
    "c == 3 or c == 7": (2, 2),
}


def kernel(condition: str, statements: str, kind: str) -> Any:
    source = f"def f(x, out):\n    for i in range(len(x) - 1):\n        c = x[i]\n        d = x[i + 1]\n        if {condition}:\n            {statements}\n        else:\n            out[1] += 3\n"
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the source above)
    function = space["f"]
    function.__annotations__.update({"x": lw.Array[getattr(lw, kind)], "out": lw.Array[lw.i64]})
    return lw.kernel(source=source)(function)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("kind", ["u8", "u32", "i32", "i64"])
def test_conditions(condition: str, kind: str) -> None:
    made = kernel(condition, "out[out[2] % 2] += x[out[2] % 5]", kind)
    dtype = np.dtype(getattr(lw, kind).dtype)
    x = np.concatenate([np.arange(128), [255, 3, 200, 7, 100]]).astype(dtype)
    if dtype.kind == "i":
        x = np.concatenate([x, -x[::-1], [np.iinfo(dtype).min, np.iinfo(dtype).max]]).astype(dtype)
    rng = np.random.default_rng(0)
    for given in (x, rng.permutation(x), x[:1]):
        found, wanted = np.zeros(4, np.int64), np.zeros(4, np.int64)
        made(given, found)
        space: dict[str, Any] = {}
        numbers = [int(v) for v in given]
        for i in range(len(numbers) - 1):
            space["c"], space["d"] = numbers[i], numbers[i + 1]
            if eval(condition, space):
                wanted[0] += numbers[0]
            else:
                wanted[1] += 3
        assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("condition", CONDITIONS)
def test_how_many_branches_are_left(condition: str) -> None:
    made = kernel(condition, "out[out[2] % 2] += x[out[2] % 5]", "u8")
    compiled = made.compile(target="x86-64-v3", keep=True)
    counts = tuple(sum(" br_if " in line for line in compiled.ir(stage).splitlines()) for stage in ("collect", "promote"))
    assert counts == CONDITIONS[condition]


def test_numbers_with_a_sign_begin_at_0() -> None:
    for condition, count in (("c >= 0 and c < 100", 1), ("c < 0 or c >= 100", 1), ("c >= 5 and c < 100", 2)):
        text = kernel(condition, "out[out[2] % 2] += x[out[2] % 5]", "i32").compile(target="x86-64-v3", keep=True).ir("promote")
        assert sum(" br_if " in line for line in text.splitlines()) == count
