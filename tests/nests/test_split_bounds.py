"""Inner loops that begin or end at the nearer of an index and a border: the loop around is split where the border is behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.from_text import nest_from
from tests.machines import Runner, runners

#: By name: the nest over rows ``a`` and ``b`` and a table ``c`` of five columns, and whether a loop is split.
NESTS = {
    "behind the beginning": ("for i in range(n):|    for k in range(max(i - 4, 0), i):|        b[i] -= c[i, k - i + 4] * b[k]", True),
    "as many as there are": ("for i in range(n):|    for k in range(1, min(4, i) + 1):|        b[i] -= c[i, k] * b[i - k]", True),
    "backwards": ("for i in range(n - 1, -1, -1):|    for k in range(1, min(4, i) + 1):|        b[i - k] -= c[i, k] * b[i]", True),
    "down to one": ("for i in range(n):|    for k in range(min(4, i), 0, -1):|        s = c[i, k]|        for m in range(k + 1, min(4, i) + 1):|            s -= c[i, m] * c[i - m, 0] * c[i - k, m - k]|        c[i, k] = s", True),
    "at both ends": ("for i in range(n):|    s = a[0] * 0|    for k in range(max(0, i - 2), min(n, i + 3)):|        s += a[k] * 3|    b[i] = s", True),
    "before the end": ("for i in range(n):|    s = a[0] * 0|    for k in range(i, min(i + 3, n)):|        s += a[k]|    b[i] = s", True),
    "seen from the end": ("for i in range(n):|    s = a[0] * 0|    for k in range(min(3, n - 1 - i)):|        s += a[i + k + 1]|    b[i] = s", True),
    "from the end": ("for i in range(n - 1, -1, -1):|    for k in range(i + 1, min(i + 4, n)):|        b[i] -= c[i, k - i] * b[k]", True),
    "windows of a picture": ("w = n // 5|for i in range(w):|    for j in range(5):|        s = a[0] * 0|        for p in range(max(0, i - 1), min(w, i + 2)):|            for q in range(max(0, j - 1), min(5, j + 2)):|                s += c[p, q]|        b[i * 5 + j] = s", None),
    "a number of run time": ("w = a[0]|for i in range(n):|    for k in range(max(i - 4, 0), min(i, n - 2)):|        b[i] -= a[k]", None),
    "far borders": ("for i in range(n):|    for k in range(max(0, i - 20), i):|        b[i] -= a[k]", False),
    "the other loop's": ("for j in range(3):|    for i in range(n):|        for k in range(max(0, i - j), i):|            b[i] -= a[k]", None),
    "left early": ("for i in range(n):|    for k in range(max(0, i - 3), i):|        if a[k] == 5:|            break|        b[i] += a[k]", None),
}  # fmt: skip
STEP = "kept within borders"


def nest(name: str, **options: Any) -> Any:
    body = NESTS[name][0].replace("|", "\n    ")
    return nest_from(f"def nest(a, b, c):\n    n = a.shape[0]\n    {body}\n", contract=False, **options)


def given(element: Any, n: int, at_end: bool = True) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [guarded(rng.integers(0, 9, shape).astype(element), at_end) for shape in (n, n, (n, 5))]


@pytest.mark.parametrize("element", [np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("name", NESTS)
def test_as_written(name: str, element: Any) -> None:
    kernel, plain = nest(name), nest(name, nests="off")
    for n in (*range(1, 14), 20, 33, 70):
        for at_end in (True, False):
            wanted, found = given(element, n), given(element, n, at_end)
            plain(*wanted)
            kernel(*found)
            for a, b in zip(wanted, found, strict=True):
                assert a.tobytes() == b.tobytes(), n


@pytest.mark.parametrize("name", NESTS)
def test_which_are_split(name: str) -> None:
    split = NESTS[name][1]
    if split is not None:
        told = nest(name).compile(*given(np.float64, 50), keep=True).nests().nests
        assert any(STEP in step for part in told for step in part.done) == split


@pytest.mark.parametrize("name", NESTS)
def test_arrays_that_overlap(name: str) -> None:
    for at in (0, 1, 30):
        results = []
        for each in (nest(name), nest(name, nests="off")):
            memory = np.random.default_rng(1).integers(0, 9, 500).astype(np.int32)
            each(memory[30:70], memory[30 + at : 70 + at], memory[20 + at : 220 + at].reshape(40, 5))
            results.append(memory)
        assert results[0].tolist() == results[1].tolist(), at


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("name", ["as many as there are", "at both ends"])
def test_on_every_machine(runner: Runner, name: str) -> None:
    arrays, wanted = given(np.int32, 30), given(np.int32, 30)
    nest(name, nests="off")(*wanted)
    runner.leaves(runner.compiled(nest(name), *arrays), arrays, wanted)
