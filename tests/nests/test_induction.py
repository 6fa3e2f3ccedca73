"""Variables that loops move on by the same amount in every iteration: computed from the index, with the value they have as written in each place and behind the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

SPACE = {"lw": lw, **{name: getattr(lw, name) for name in ("i32", "i64", "f32")}}
#: By name: loops over ``a`` and ``b``, and how many variables are computed; what they leave goes to ``c``.
LOOPS = {
    "in front of what reads it": ("    k = -1\n    for i in range(n):\n        k += 1\n        a[k] = b[i] + f32(1)\n    c[0] = k\n", 1),
    "behind it": ("    k = 3\n    for i in range(n):\n        a[k] = b[i]\n        k += 1\n    c[0] = k\n", 1),
    "by two": ("    k = 0\n    for i in range(n):\n        a[k + 1] = b[i]\n        a[k] = b[i] * f32(2)\n        k += 2\n    c[0] = k\n", 1),
    "in two places": (
        "    k = 0\n    for i in range(n):\n        a[k] = b[i]\n        k += 1\n        a[k] = b[i] * f32(2)\n        k += 1\n    c[0] = k\n",
        1,
    ),
    "downwards": ("    k = a.shape[0]\n    for i in range(n):\n        k -= 1\n        a[k] = b[i]\n    c[0] = k\n", 1),
    "of a loop that counts down": ("    k = 5\n    for i in range(n - 1, -1, -1):\n        a[k] = b[i]\n        k += 1\n    c[0] = k\n", 1),
    "in steps": ("    k = 0\n    for i in range(1, n, 3):\n        a[i] = f32(k) + b[i]\n        k += 6\n    c[0] = k\n", 1),
    "in steps that do not go into it": ("    k = 0\n    for i in range(1, n, 3):\n        a[i] = f32(k) + b[i]\n        k += 2\n    c[0] = k\n", 0),
    "in steps downwards": ("    k = 0\n    for i in range(n - 1, 1, -2):\n        a[i] = f32(k) + b[i]\n        k += 4\n    c[0] = k\n", 1),
    "in each arm": (
        """    k = 0
    for i in range(n):
        if b[i] > 50:
            k += 1
            a[k] = b[i]
        elif b[i] > 20:
            a[k + 1] = f32(7)
            k += 1
        else:
            k = k + 2
            a[k - 1] = f32(3)
            k -= 1
    c[0] = k
""",
        1,
    ),
    "in one arm": ("    k = 0\n    for i in range(n):\n        if b[i] > 50:\n            k += 1\n        a[k] = b[i]\n    c[0] = k\n", 0),
    "in one arm and back": (
        "    k = 0\n    for i in range(n):\n        k += 1\n        if b[i] > 50:\n            k += 3\n            a[k] = b[i]\n            k -= 3\n    c[0] = k\n",
        1,
    ),
    "two of them": (
        "    k = 0\n    m = 2\n    for i in range(n):\n        a[k] = b[i] + f32(m)\n        k += 1\n        m += 3\n    c[0] = k\n    c[1] = m\n",
        2,
    ),
    "one from another": (
        "    k = 0\n    m = 2\n    for i in range(n):\n        m = k + 1\n        k = m\n        a[i] = f32(m) + f32(k)\n    c[0] = k\n    c[1] = m\n",
        0,
    ),
    "around a loop of known length": (
        "    k = 0\n    for i in range(n // 7):\n        for j in range(7):\n            a[k] = b[k] + f32(j)\n            k += 1\n    c[0] = k\n",
        2,
    ),
    "around a loop": (
        "    k = 0\n    for i in range(4):\n        for j in range(i, n // 4):\n            a[k] = b[k] + f32(j)\n            k += 1\n    c[0] = k\n",
        1,
    ),
    "read in a loop inside": (
        "    k = 0\n    for i in range(n // 4):\n        for j in range(4):\n            a[4 * k + j] = b[j] + f32(k)\n        k += 1\n    c[0] = k\n",
        1,
    ),
    "as often as an extent says": (
        "    k = -1\n    for i in range(2):\n        for j in range(n):\n            k += 1\n            a[k] = b[j] + f32(i)\n    c[0] = k\n",
        2,
    ),
    "as often as a bound says": (
        "    k = 3\n    for i in range(2):\n        for j in range(2, n - 3):\n            a[k] = b[j] + f32(i)\n            k += 1\n        k += 2\n    c[0] = k\n",
        2,
    ),
    "in three loops": (
        "    k = 0\n    for i in range(2):\n        for m in range(n // 4):\n            for j in range(3):\n                a[k] = b[j] + f32(i + m)\n                k += 1\n    c[0] = k\n",
        3,
    ),
    "twice in an iteration": (
        "    k = 0\n    for i in range(n // 8):\n        for j in range(n // 8):\n            a[k & 31] = b[j]\n            k += 1\n        for j in range(n // 4):\n            a[k & 31] = b[j]\n            k += 2\n    c[0] = k\n",
        3,
    ),
    "by what changes": ("    k = 0\n    for i in range(n // 8):\n        m = i * 2\n        a[k] = b[i]\n        k += m\n    c[0] = k\n", 0),
    "narrow": ("    k = i32(2147483600)\n    for i in range(n):\n        a[i] = b[i] + f32(k)\n        k += 1000000\n    c[0] = i64(k)\n", 1),
    "written otherwise": ("    k = 0\n    for i in range(n):\n        a[k] = b[i]\n        k += 1\n        if k > 20:\n            k = 0\n    c[0] = k\n", 0),
    "left early": ("    k = 0\n    for i in range(n):\n        if b[i] > 97:\n            break\n        k += 1\n        a[k] = b[i]\n    c[0] = k\n", 0),
    "gone on from": ("    k = 0\n    for i in range(n):\n        if b[i] > 60:\n            continue\n        k += 1\n        a[k] = b[i]\n    c[0] = k\n", 0),
}


def kernel(name: str, **options: Any) -> Any:
    source = f"def nest(a, b, c):\n    n = b.shape[0]\n{LOOPS[name][0].replace(' in range', ' in lw.range')}"
    space = dict(SPACE)
    exec(source, space)  # noqa: S102 (the loops above)
    function = space["nest"]
    function.__annotations__.update({"a": lw.Array[lw.f32], "b": lw.Array[lw.f32], "c": lw.Array[lw.i64]})
    return lw.kernel(source=source, contract=False, **options)(function)


def given(n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    return [np.zeros(2 * n + 8, np.float32), rng.integers(0, 100, n).astype(np.float32), np.zeros(2, np.int64)]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("name", LOOPS)
def test_as_written(runner: Runner, name: str) -> None:
    plain = kernel(name, nests="off")
    for n in (0, 1, 2, 9, 50):
        args = given(n)
        wanted = [a.copy() for a in args]
        plain(*wanted)

        def compare(_: Any, args: Any = args, wanted: Any = wanted, n: int = n) -> None:
            for a, b in zip(args, wanted, strict=True):
                np.testing.assert_array_equal(a, b, f"{n}")

        made = kernel(name)
        runner.run(runner.compiled(made, *args), args, compare)


@pytest.mark.parametrize("name", LOOPS)
def test_which_are_computed(name: str) -> None:
    said = str(kernel(name).compile(*given(50), target="x86-64-v4").nests())
    assert said.count(" computed from ") == LOOPS[name][1], said


def test_they_have_lanes() -> None:
    for name in ("in front of what reads it", "by two", "in two places", "downwards", "in each arm", "around a loop of known length", "narrow"):
        assert "lanes(" in str(kernel(name).compile(*given(50), target="x86-64-v4").nests()).split("done")[-1], name


def test_bounds_at_the_ends_of_the_numbers() -> None:
    """Nothing overflows where the loop does not run."""

    @lw.kernel
    def counted(a: lw.Array[lw.i64], lo: lw.i64, hi: lw.i64) -> lw.i64:
        k = 5
        for i in lw.range(lo, hi):
            k += 3
            a[i] = k
        return k

    least, most = -(2**63), 2**63 - 1
    for lo, hi in ((most, least), (0, least), (most, 0), (most, most), (0, 0), (least, least)):
        assert counted(np.zeros(4, np.int64), lo, hi) == 5
    a = np.zeros(4, np.int64)
    assert counted(a, 1, 4) == 14 and list(a) == [0, 8, 11, 14]
