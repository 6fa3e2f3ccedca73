"""The lane-order pass: elements in turn that are computed by themselves, loaded and stored as they lie; and what needs an order, which keeps it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.ir.function import Function
from loopwright.ir.text import print_function

AVX2 = runners(lambda runner: runner.name == "x86-64-v3")
#: Whether no lane needs to know which one it is, and the source.
SOURCES = {
    "products": (
        True,
        """
def nest(a, b, z):
    for i in range(z.shape[0] // 2):
        z[2 * i] = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1]
        z[2 * i + 1] = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i]
""",
    ),
    "with what all lanes have": (
        True,
        """
def nest(a, b, z):
    c = b[0]
    for i in range(z.shape[0] // 2):
        z[2 * i] = a[2 * i] + c * 3
        z[2 * i + 1] = c
""",
    ),
    "as loaded, of so many and of as many others": (
        False,
        """
def nest(a, b, z):
    for i in range(z.shape[0] // 4):
        z[2 * i] = a[4 * i + 3]
        z[2 * i + 1] = a[4 * i]
""",
    ),
    "choices": (
        True,
        """
def nest(a, b, z):
    for i in range(z.shape[0] // 2):
        p = a[2 * i + 1]
        q = b[2 * i]
        z[2 * i] = p if a[2 * i] > b[2 * i + 1] else q
        z[2 * i + 1] = a[2 * i] + b[2 * i]
""",
    ),
    "by four": (
        True,
        """
def nest(a, b, z):
    for i in range(z.shape[0] // 4):
        z[4 * i] = a[4 * i + 3] + b[4 * i]
        z[4 * i + 1] = a[4 * i + 2] - b[4 * i + 2]
        z[4 * i + 2] = a[4 * i + 1]
        z[4 * i + 3] = a[4 * i] * b[4 * i + 3]
""",
    ),
    "totals": (
        True,
        """
def nest(a, b, z):
    x = a[0]
    y = a[0]
    for i in range(a.shape[0] // 2):
        x = most(x, a[2 * i])
        y = y ^ a[2 * i + 1]
    z[0] = x
    z[1] = y
""",
    ),
    "elements on their own beside": (
        False,
        """
def nest(a, b, z):
    for i in range(z.shape[0] // 2):
        z[2 * i] = a[2 * i] + b[i]
        z[2 * i + 1] = a[2 * i + 1] - b[i]
""",
    ),
    "stored on their own": (
        False,
        """
def nest(a, b, z):
    for i in range(z.shape[0] // 2):
        z[i] = a[2 * i] * 2 + a[2 * i + 1]
""",
    ),
    "where a lane is": (
        False,
        """
def nest(a, b, z):
    for i in range(z.shape[0] // 2):
        z[2 * i] = a[2 * i] + i
        z[2 * i + 1] = a[2 * i + 1]
""",
    ),
    "pairs out of fours": (
        False,
        """
def nest(a, b, z):
    for i in range(z.shape[0] // 4):
        z[2 * i] = a[4 * i] + a[4 * i + 2]
        z[2 * i + 1] = a[4 * i + 1] + a[4 * i + 3]
""",
    ),
}


def kernel(source: str, **options: Any) -> Any:
    space: dict[str, Any] = {"most": lw.max}
    exec(source, space)  # noqa: S102 (the sources above)
    function = space["nest"]
    function.__annotations__.update(dict.fromkeys("abz", lw.Array))
    return lw.kernel(source=source, **options)(function)


@pytest.mark.parametrize("runner", AVX2)
@pytest.mark.parametrize("element", ["u8", "i16", "i32", "u64", "f32", "f64"])
@pytest.mark.parametrize("name", SOURCES)
def test_the_results_are_those_of_lanes_in_their_order(name: str, element: str, runner: Runner) -> None:
    if element[0] == "f" and name == "totals":
        pytest.skip("bits of floats are not combined")
    of = lw.Array[getattr(lw, element)]
    source = SOURCES[name][1]
    if name == "where a lane is":
        source = source.replace("+ i", f"+ lw.{element}(i)").replace("def", "import loopwright as lw\ndef")
    ours = runner.compiled(kernel(source), of, of, of)
    plain = kernel(source, nests="off", target="x86-64-v3").compile(of, of, of)
    dtype = np.dtype({"i": "i", "u": "u", "f": "f"}[element[0]] + str(int(element[1:]) // 8))
    rng = np.random.default_rng(len(name))
    for count in (2, 8, 60, 64, 128, 132, 264, 516):
        given = [rng.integers(0, 100, count).astype(dtype), rng.integers(0, 100, count).astype(dtype), np.zeros(count, dtype)]
        wanted = [each.copy() for each in given]
        plain(*wanted)

        def check(_: object, given: list[Any] = given, wanted: list[Any] = wanted) -> None:
            for found, each in zip(given, wanted, strict=True):
                assert np.array_equal(found, each)

        runner.run(ours, given, check)


@pytest.mark.parametrize("element", ["i32", "f32"])
@pytest.mark.parametrize("name", SOURCES)
def test_parts_are_accessed_one_by_one_only_where_lanes_need_their_order(name: str, element: str) -> None:
    if element == "f32" and name in ("totals", "where a lane is"):
        pytest.skip("sums and bits of floats have an order")
    of = lw.Array[getattr(lw, element)]
    texts: list[str] = []

    def look(f: Function, _: object) -> None:
        texts.append(print_function(f))

    kernel(SOURCES[name][1], passes=[lw.after("expand", look)]).compile(of, of, of, target="x86-64-v3")
    free = SOURCES[name][0]
    assert ("load_chunks_at" in texts[0]) is not free
    assert ("unzip" in texts[0]) or ("zip_low" in texts[0])
