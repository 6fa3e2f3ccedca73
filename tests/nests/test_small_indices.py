"""What is computed of indices in 32 bits: as in 64, also where that would not fit, which is asked in front of the loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

SPACE = {"lw": lw, "least": lw.min, "most": lw.max, **{name: getattr(lw, name) for name in ("i32", "i64", "f32", "f64")}}
#: By name: what is stored for each index ``j`` of a loop from ``lo`` up to ``hi``.
BODIES = {
    "quotient": "        y[j - lo] = f32(2 * j // 5)\n",
    "remainder": "        y[j - lo] = f32((3 * j + 1) % 7) * x[j - lo]\n",
    "both of one": "        y[j - lo] = f32((j * 5 - 9) // 7 * 3 - (j * 5 - 9) % 7)\n",
    "between bounds": "        y[j - lo] = f32(most(least(j // 3 + 4, hi - 2), lo // 3 - 1))\n",
    "looked up": "        k = j // 3 - lo // 3\n        y[j - lo] = x[most(k - 1, 0)] + x[least(k + 1, x.shape[0] - 1)] * f32(j % 3)\n",
    "negative": "        y[j - lo] = f32((5 - 4 * j) // 9 - (lo - j) % 11)\n",
    "under a condition": "        v = f32(j // 6)\n        if j % 5 < 2:\n            v = v + f32(j % 9)\n        y[j - lo] = v\n",
    "in 64 bits": "        z[j - lo] = (j * 7 - 3) // 5 * 1000003 + j % 13\n        y[j - lo] = f32(j % 13)\n",
}


def kernel(body: str, **options: Any) -> Any:
    source = f"def nest(x, y, z, lo, hi):\n    for j in range(lo, hi):\n{body}"
    space = dict(SPACE)
    exec(source, space)  # noqa: S102 (the sources above)
    function = space["nest"]
    function.__annotations__.update({"x": lw.Array[lw.f32], "y": lw.Array[lw.f32], "z": lw.Array[lw.i64], "lo": lw.i64, "hi": lw.i64})
    return lw.kernel(source=source, **options)(function)


def given(n: int) -> list[Any]:
    return [np.random.default_rng(n).integers(0, 100, max(n, 3)).astype(np.float32), np.zeros(n, np.float32), np.zeros(n, np.int64)]


@pytest.mark.parametrize("name", BODIES)
def test_where_it_fits_and_where_not(name: str) -> None:
    """Bounds beyond 2**31 either way, and those whose multiples are."""
    plain, made = kernel(BODIES[name], nests="off"), kernel(BODIES[name])
    for first in (0, 1, -3, 500, 2**27, 2**29 - 9, 2**30 - 2, 2**31 - 40, 2**31, 2**33 + 5, -(2**29), -(2**31) - 7, -(2**40)):
        for n in (0, 1, 17, 50):
            wanted, found = given(n), given(n)
            plain(*wanted, first, first + n)
            made(*found, first, first + n)
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a, b, f"{first} {n}")


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None and runner.bits))
@pytest.mark.parametrize("name", BODIES)
def test_on_every_machine(runner: Runner, name: str) -> None:
    plain = kernel(BODIES[name], nests="off")
    for first in (0, 2**31 - 20):
        wanted, found = given(37), given(37)
        plain(*wanted, first, first + 37)

        def compare(_: Any, found: Any = found, wanted: Any = wanted) -> None:
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a, b)

        args = (*found, first, first + 37)
        runner.run(runner.compiled(kernel(BODIES[name]), *args), args, compare)


@pytest.mark.parametrize("name", BODIES)
def test_they_have_lanes(name: str) -> None:
    code = kernel(BODIES[name]).compile(*given(50), 0, 50, target="x86-64-v3", keep=True)
    said = str(code.nests())
    assert "what is made of indices computed in 32 bits" in said
    assert "lanes(j)" in said


TRIANGLE = """def nest(x: lw.Array[lw.f32], y: lw.Array[lw.f32, 2]):
    for i in range(y.shape[0]):
        for j in range(i, y.shape[1] - 1):
            y[i, j] = x[(i + 2 * j) // 7] + f32((i + j) % 5)
"""


def test_bounds_that_are_indices() -> None:
    space = dict(SPACE)
    exec(TRIANGLE, space)  # noqa: S102 (the source above)
    made, plain = lw.kernel(source=TRIANGLE)(space["nest"]), lw.kernel(source=TRIANGLE, nests="off")(space["nest"])
    for shape in ((0, 0), (1, 2), (20, 33), (40, 41)):
        x = np.arange(60, dtype=np.float32)
        found, wanted = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        made(x, found)
        plain(x, wanted)
        np.testing.assert_array_equal(found, wanted)
    said = str(made.compile(x, found, target="x86-64-v4", keep=True).nests())
    assert "computed in 32 bits" in said and "lanes(j)" in said
