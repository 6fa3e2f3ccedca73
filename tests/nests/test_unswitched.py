"""Conditions that are looked up and stay the same in a loop: asked in front of it, where one of the loops has lanes for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from
from tests.machines import Runner, runners

import loopwright as lw

#: By name: the nest over a table ``a``, a row ``b`` and a column ``c``, and whether its loop is doubled.
NESTS = {
    "the row above": ("for i in range(1, n):|    for j in range(1, m):|        if c[i] & 1 > 0:|            a[i, j] = max(a[i - 1, j], a[i, j - 1])|        else:|            a[i, j] = a[i - 1, j]", True),
    "without an else": ("for i in range(n):|    for j in range(1, m):|        if c[i] > 4:|            a[i, j] = a[i, j - 1] ^ a[i, j]", None),
    "two of them": ("for i in range(1, n):|    for j in range(1, m):|        if c[i] == 3:|            a[i, j] = max(a[i - 1, j], a[i, j - 1] - 1)|        elif b[i] > 5:|            a[i, j] = b[j]|        else:|            a[i, j] = a[i - 1, j - 1]", True),
    "a total": ("s = b[0]|for i in range(n):|    for j in range(m):|        if c[i] > 4:|            s = s * 3 + a[i, j]|        else:|            a[i, j] = b[j]|b[0] = s", True),
    "what is stored": ("for i in range(n):|    for j in range(m - 1):|        if a[i, 0] > 4:|            a[i, j + 1] = max(a[i, j], b[j] - 1)|        else:|            a[i, j] = b[j]", False),
    "what changes": ("for i in range(n):|    for j in range(1, m):|        if c[j] > 4:|            a[i, j] = max(a[i, j - 1], b[j] - 1)|        else:|            a[i, j] = b[j]", False),
    "under another": ("for i in range(n):|    for j in range(1, m):|        if b[j] > 2:|            if c[i] > 4:|                a[i, j] = max(a[i, j - 1], 2)|            else:|                a[i, j] = b[j]", None),
}  # fmt: skip
STEP = "for each way that a condition leads"


def nest(name: str, **options: Any) -> Any:
    body = NESTS[name][0].replace("|", "\n    ")
    return nest_from(f"def nest(a, b, c):\n    n = a.shape[0]\n    m = a.shape[1]\n    {body}\n", contract=False, **options)


def given(element: Any, n: int, m: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n * 100 + m)
    return [rng.integers(0, 9, shape).astype(element) for shape in ((n, m), max(n, m), max(n, m))]


@pytest.mark.parametrize("element", [np.int32, np.uint8, np.int64])
@pytest.mark.parametrize("name", NESTS)
def test_as_written(name: str, element: Any) -> None:
    kernel, plain = nest(name), nest(name, nests="off")
    for n, m in ((1, 1), (1, 9), (9, 1), (2, 2), (5, 17), (17, 40), (12, 100)):
        wanted, found = given(element, n, m), given(element, n, m)
        plain(*wanted)
        kernel(*found)
        for a, b in zip(wanted, found, strict=True):
            assert a.tobytes() == b.tobytes(), (n, m)


@pytest.mark.parametrize("name", NESTS)
def test_which_are_doubled(name: str) -> None:
    doubled = NESTS[name][1]
    if doubled is not None:
        told = nest(name).compile(*given(np.int32, 20, 100), keep=True).nests().nests
        assert any(STEP in step for part in told for step in part.done) == doubled


@pytest.mark.parametrize("name", NESTS)
def test_arrays_that_overlap(name: str) -> None:
    kernel, plain = nest(name), nest(name, nests="off")
    for at in (0, 3, 30, 90):
        results = []
        for each in (kernel, plain):
            memory = np.random.default_rng(1).integers(0, 9, 400).astype(np.int32)
            each(memory[:100].reshape(10, 10), memory[200:220], memory[at : at + 20])
            results.append(memory)
        assert results[0].tolist() == results[1].tolist(), at


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_on_every_machine(runner: Runner) -> None:
    arrays, wanted = given(np.int32, 12, 70), given(np.int32, 12, 70)
    nest("the row above", nests="off")(*wanted)
    runner.leaves(runner.compiled(nest("the row above"), *arrays), arrays, wanted)


def test_what_is_looked_up_and_handed_on() -> None:
    """A variable that is given an element that stays the same has it from the second iteration on."""

    def counted(a, b):
        n = a.shape[0]
        for i in range(n):
            same = 0
            m = a[0] * 0
            for _ in range(n):
                if a[m] >= 1:
                    same += 1
                m = a[i]
            b[i] = same

    counted.__annotations__ = dict.fromkeys("ab", lw.Array)
    for n in (2, 9, 40):
        a = (np.arange(n) % 2).astype(np.int32)
        for element in (np.float64, np.int32):
            wanted, found = np.zeros(n, element), np.zeros(n, element)
            counted(a, wanted)
            lw.kernel(counted)(a, found)
            assert found.tolist() == wanted.tolist()
