"""Loops over lanes one behind the other in another loop, of which the second accesses what the first stores: fused, where arrays do not overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from
from tests.machines import Runner, runners

#: By name: what is in a loop over rows ``i`` from 2 on, and whether loops are fused.
BODIES = {
    "twice added to": ("for r in range(m):|    b[i, r] -= a[i, 0] * b[i - 1, r]|t = a[i, 1]|for r in range(m):|    b[i, r] -= t * b[i - 2, r]", True),
    "stored and read": ("for r in range(m):|    b[i, r] = a[i, r] * 2|for r in range(m):|    c[i, r] = b[i, r] + b[i - 1, r]", True),
    "three": ("for r in range(m):|    b[i, r] += a[i, r]|for r in range(m):|    b[i, r] += c[i, r]|for r in range(m):|    b[i, r] += b[i - 1, r]", True),
    "the element behind": ("for r in range(m - 1):|    b[i, r] += a[i, r]|for r in range(m - 1):|    c[i, r] = b[i, r] + b[i, r + 1]", False),
    "the element in front": ("for r in range(1, m):|    b[i, r] += a[i, r]|for r in range(1, m):|    c[i, r] = b[i, r] + b[i, r - 1]", None),
    "nothing in common": ("for r in range(m):|    b[i, r] = a[i, r]|for r in range(m):|    c[i, r] = a[i, r] * 3", False),
    "other bounds": ("for r in range(m):|    b[i, r] += a[i, r]|for r in range(1, m):|    b[i, r] += c[i, r]", False),
    "what is stored in between": ("for r in range(m):|    b[i, r] += a[i, r]|b[i, 0] = 3|for r in range(m):|    b[i, r] += c[i, r]", False),
    "what is read in between": ("for r in range(m):|    b[i, r] += a[i, r]|t = b[i, m - 1]|for r in range(m):|    b[i, r] += t", False),
    "turned round": ("for r in range(m):|    b[i, r] += a[i, r]|for r in range(m):|    c[i, r] = b[i, m - 1 - r]", False),
}


def nest(name: str, **options: Any) -> Any:
    body = BODIES[name][0].replace("|", "\n        ")
    return nest_from(f"def nest(a, b, c):\n    n = a.shape[0]\n    m = a.shape[1]\n    for i in range(2, n):\n        {body}\n", contract=False, **options)


def given(element: Any, n: int, m: int) -> list[np.ndarray]:
    return [np.random.default_rng(n * m + k).integers(0, 9, (n, m)).astype(element) for k in range(3)]


@pytest.mark.parametrize("element", [np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("name", BODIES)
def test_as_written(name: str, element: Any) -> None:
    kernel, plain = nest(name), nest(name, nests="off")
    for n, m in ((3, 2), (4, 2), (5, 9), (8, 17), (6, 64), (9, 70)):
        wanted, found = given(element, n, m), given(element, n, m)
        plain(*wanted)
        kernel(*found)
        for a, b in zip(wanted, found, strict=True):
            assert a.tobytes() == b.tobytes(), (n, m)


@pytest.mark.parametrize("name", BODIES)
def test_which_are_fused(name: str) -> None:
    fused = BODIES[name][1]
    if fused is not None:
        told = nest(name).compile(*given(np.float64, 9, 70), keep=True).nests().nests
        assert any("fuse(" in step for part in told for step in part.done) == fused


@pytest.mark.parametrize("name", BODIES)
def test_arrays_that_overlap(name: str) -> None:
    kernel, plain = nest(name), nest(name, nests="off")
    for apart in (0, 1, 10, 11, 35):
        results = []
        for each in (kernel, plain):
            memory = np.random.default_rng(1).integers(0, 9, 300).astype(np.int32)
            each(*[memory[at : at + 100].reshape(10, 10) for at in (60, 60 + apart, 60 + 2 * apart)])
            results.append(memory)
        assert results[0].tolist() == results[1].tolist(), apart


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_on_every_machine(runner: Runner) -> None:
    arrays, wanted = given(np.int32, 6, 40), given(np.int32, 6, 40)
    nest("twice added to", nests="off")(*wanted)
    runner.leaves(runner.compiled(nest("twice added to"), *arrays), arrays, wanted)
