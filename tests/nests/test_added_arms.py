"""Branches whose arms each add to one variable that the loop reads besides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.ir.text import print_function
from loopwright.nests.branches import added_arms

#: Statements, with ``d`` a variable, and ``p`` a number of the same type.
BODIES = {
    "one arm": "if a[i] == 40:\n            d += 1",
    "up and down": "if a[i] == 40:\n            d += 1\n        elif a[i] == 41:\n            d -= 1",
    "three": "if a[i] > 60:\n            d += 3\n        elif a[i] > 50:\n            d -= p\n        elif a[i] > 40:\n            d += p\n        else:\n            d -= 2",
    "nothing in one": "if a[i] > 60:\n            d += 3\n        elif a[i] > 50:\n            pass\n        else:\n            d -= 1",
}
TYPES = [lw.i32, lw.u32, lw.i64, lw.i16, lw.u8]


def kernel(body: str, element: Any, **options: Any) -> lw.Kernel:
    source = (
        f"def nest(a: lw.Array[lw.u8], b: lw.Array[T], c: lw.Array[T], p: T):\n    d = T(0)\n    m = T(0)\n    for i in lw.range(len(a)):\n        {body}\n"
        "        m = max(m, d)\n        b[i] = d\n    c[0] = m\n    c[1] = d\n"
    )
    space: dict[str, Any] = {"lw": lw, "T": element}
    exec(source, space)  # noqa: S102 (the loop above)
    return lw.kernel(source=source, **options)(space["nest"])


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("name", BODIES)
def test_as_written(name: str, runner: Runner) -> None:
    for element in TYPES:
        plain, made = kernel(BODIES[name], element, nests="off"), kernel(BODIES[name], element)
        for size in (0, 1, 37):
            a = np.random.default_rng(size).integers(38, 70, size).astype(np.uint8)
            given = [a, np.zeros(size, element.dtype), np.zeros(2, element.dtype), 5]
            wanted = [np.array(x) for x in given[:3]]
            plain(*wanted, 5)

            def same(_: object, given: list[Any] = given, wanted: list[np.ndarray] = wanted) -> None:
                for x, y in zip(given, wanted, strict=False):
                    np.testing.assert_array_equal(x, y)

            runner.run(runner.compiled(made, *given), given, same)


def before_nests(source: str) -> Any:
    """A function as the pass has it."""
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the loop given)
    made = lw.kernel(source=source)(space["nest"])
    return made.stage(made.signature((), {}))


HEAD = "def nest(a: lw.Array[lw.u8], b: lw.Array[lw.i32], k: lw.Array[lw.i64]):\n    d = lw.i32(0)\n    for i in lw.range(len(a)):\n        "


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("if a[i] == 40:\n            d += 1\n        elif a[i] == 41:\n            d -= 1\n        b[i] = d", True),
        ("if a[i] == 40:\n            d += 1\n        elif a[i] == 41:\n            d -= 1", False),  # a total
        ("if a[i] == 40:\n            d += 1\n        elif b[i] == 41:\n            d -= 1\n        b[i] = d", False),  # what may not be loaded
        ("if a[i] == 40:\n            d += 1\n        elif d == 4:\n            d -= 1\n        b[i] = d", False),  # it waits for itself
        ("if a[i] == 40:\n            d = 0\n        elif a[i] == 41:\n            d += 1\n        b[i] = d", False),
        ("if a[i] == 40:\n            d += 1\n            b[i] = 4\n        b[i] += d", False),
        ("if a[i] == 40:\n            d += d\n        b[i] = d", False),
    ],
)
def test_what_becomes_one_addition(body: str, made: bool) -> None:
    f = before_nests(HEAD + body + "\n    b[0] = d\n")
    added_arms.run(f)
    text = print_function(f)
    assert ("select.i32" in text) == made, text
    assert ("if %" in text) != made


def test_lanes_have_it() -> None:
    code = kernel(BODIES["up and down"], lw.i32).compile(target="x86-64-v3")
    assert "ymm" in code.asm()
