"""A ``while`` that counts is a ``for``: the same comes out, and loops are found in it; others stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

#: Each counts, in its own way: bodies of a kernel of x, y and n.
COUNTING = {
    "up": "i = 0\nwhile i < n:\n    y[i] = x[i] * 2\n    i += 1",
    "up to the bound": "i = 1\nwhile i <= n - 1:\n    y[i] = x[i] + x[i - 1]\n    i += 1",
    "the bound first": "i = 0\nwhile n > i:\n    y[i] = x[i] * 2\n    i = i + 1",
    "down": "i = n - 1\nwhile i >= 0:\n    y[i] = x[i] * 3\n    i -= 1",
    "down to": "i = n\nwhile i > 0:\n    i -= 1\n    y[i] = x[i] * 3",
    "in steps": "i = 0\nwhile i < n - 1:\n    y[i] = x[i + 1]\n    y[i + 1] = x[i]\n    i += 2",
    "in steps of 3, read behind": "i = 2\nwhile i < n:\n    y[i] = x[i]\n    i += 3\ny[0] = i",
    "down in steps, read behind": "i = n - 1\nwhile i >= 2:\n    y[i] = x[i]\n    i -= 4\ny[0] = i",
    "advanced first": "i = 0\nwhile i < n - 1:\n    i += 1\n    y[i] = x[i] - x[i - 1]",
    "advanced in the middle": "i = 0\nwhile i < n - 1:\n    s = x[i]\n    i += 1\n    y[i] = s + x[i]",
    "read behind": "i = 0\nwhile i < n:\n    y[i] = x[i] * 2\n    i += 1\ny[0] = i",
    "a total": "i = 0\ns = 0\nwhile i < n:\n    s += x[i]\n    i += 1\ny[0] = s",
    "two, one behind the other": "i = 0\nwhile i < n // 2:\n    y[i] = x[i]\n    i += 1\nwhile i < n:\n    y[i] = -x[i]\n    i += 1",
    "nested": "i = 0\nwhile i < n:\n    j = 0\n    while j < i:\n        y[i] += x[j]\n        j += 1\n    i += 1",
    "in a for": "for i in range(n):\n    j = i\n    while j < n:\n        y[j] += x[i]\n        j += 1",
    "goes on behind": "i = 0\nj = 0\nwhile i < 3 and i < n:\n    y[i] = x[i]\n    i += 1\nwhile i < n:\n    y[i] = x[j]\n    i += 1\n    j += 1",
    "left early": "i = 0\nwhile i < n:\n    if x[i] > 7:\n        break\n    y[i] = x[i]\n    i += 1\ny[0] = i",
    "left early behind the step": "i = 0\nwhile i < n:\n    y[i] = x[i]\n    i += 1\n    if i < n and x[i] > 7:\n        break\ny[0] = i",
    "left on one way": "i = 0\nwhile i < n:\n    if x[i] > 7:\n        break\n    else:\n        y[i] = x[i]\n        i += 1\n    y[i] += 1\ny[0] = i",
    "returned from": "i = 0\nwhile i < n:\n    if x[i] > 7:\n        y[0] = i\n        return\n    y[i] = x[i]\n    i += 1\ny[0] = -1",
    "the condition read": "i = 0\nc = 0\nwhile i < n:\n    y[i] = x[i] if i < n else 0\n    i += 1",
    "goes on with the next": "i = 0\nwhile i < n:\n    i += 1\n    if x[i - 1] > 4:\n        continue\n    y[i - 1] = x[i - 1]",
    "a condition on elements": "i = 0\nwhile i < n and x[i] < 7:\n    y[i] = x[i]\n    i += 1\ny[0] = i",
    "a search": "i = 0\nwhile i < n and x[i] != 7:\n    i += 1\ny[0] = i",
}
#: These do not, or not by a constant.
OTHERS = {
    "twice": "i = 0\nwhile i < n:\n    y[i] = x[i]\n    i += 1\n    if i < n and x[i] > 4:\n        i += 1",
    "on one way": "i = 0\nj = 0\nwhile i < n and j < 99:\n    j += 1 + (x[i] & 1)\n    if x[i] > 4:\n        y[i] = j\n        i += 1\n    else:\n        y[i] = -j\n        i += 2",
    "in the last of several arms": "i = 0\nk = 0\nwhile i < n:\n    k += 1\n    if k % 3 == 0:\n        y[i] = k\n    elif k > 3 * n:\n        break\n    else:\n        i += 1",
    "by what is loaded": "i = 0\nwhile i < n:\n    y[i] = x[i]\n    i += abs(x[i]) + 1",
    "a bound that moves": "i = 0\nm = n\nwhile i < m:\n    y[i] = x[i]\n    i += 1\n    if x[i - 1] > 6:\n        m -= 1",
    "halved": "i = n\nwhile i > 0:\n    y[i - 1] = x[i - 1]\n    i //= 2",
}


def kernel(body: str, **options: Any) -> Any:
    lines = "\n".join("    " + line for line in ("y[0] = 0\n" + body).splitlines())
    source = f"def counted(x, y, n):\n{lines}\n"
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the sources above)
    made = space["counted"]
    made.__annotations__.update(x=lw.Array[lw.i64], y=lw.Array[lw.i64], n=lw.i64)
    return lw.kernel(source=source, **options)(made)


def arguments(n: int) -> list[Any]:
    return [np.random.default_rng(n).integers(-9, 10, n + 4), np.arange(n + 4) * 100, n]


@pytest.mark.parametrize("name", [*COUNTING, *OTHERS])
def test_the_same_comes_out(name: str) -> None:
    body = COUNTING.get(name) or OTHERS[name]
    for options in ({}, {"nests": "off"}, {"check": True}):
        made = kernel(body, **options)
        for n in (0, 1, 2, 3, 4, 5, 8, 17, 40, 67):
            given, wanted = arguments(n), arguments(n)
            made(*given)
            made.function(*wanted)
            np.testing.assert_array_equal(given[1], wanted[1], err_msg=f"{n}: {body}")


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("name", ["in steps of 3, read behind", "nested", "left early", "down"])
def test_on_every_machine(name: str, runner: Runner) -> None:
    made = kernel(COUNTING[name])
    given, wanted = arguments(23), arguments(23)
    made.function(*wanted)
    runner.run(runner.compiled(made, *given), given, lambda _: np.testing.assert_array_equal(given[1], wanted[1]))


def loops(body: str, kind: str) -> int:
    """How many loops of a kind there are behind the pass."""
    lines = kernel(body).compile(*arguments(9), target="x86-64-v3", keep=True).ir("nests").splitlines()
    return sum(line.strip().startswith(kind) or f" = {kind} " in line for line in lines)


@pytest.mark.parametrize("name", COUNTING)
def test_a_for_is_found(name: str) -> None:
    assert loops(COUNTING[name], "for") > 0
    assert loops(COUNTING[name], "while") == 0


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay(name: str) -> None:
    assert loops(OTHERS[name], "for") == 0


def test_it_has_lanes() -> None:
    code = kernel(COUNTING["up"]).compile(*arguments(9), target="x86-64-v3")
    assert "lanes(i)" in str(code.nests()[0])


def test_without_nests_it_stays() -> None:
    code = kernel(COUNTING["up"], nests="off").compile(*arguments(9), target="x86-64-v3", keep=True)
    assert "while" in code.ir("nests")
