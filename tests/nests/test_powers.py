"""What is multiplied by the same number in each iteration takes several iterations in one step, with the same results, however sums wrap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

RUNNERS = runners(lambda runner: runner.widest)
ELEMENTS = ("i64", "u32", "i32", "u8", "i16")


def kernel(body: str, element: str, **options: Any) -> Any:
    source = f"def nest(a, c, z):\n    h = T(7)\n    for i in range(a.shape[0]):\n        {body}\n    z[0] = h\n"
    space: dict[str, Any] = {"T": getattr(lw, element)}
    exec(source, space)  # noqa: S102 (the source above)
    function = space["nest"]
    function.__annotations__.update(a=lw.Array, c=getattr(lw, element), z=lw.Array)
    return lw.kernel(source=source, **options)(function)


def numbers(element: str, count: int) -> np.ndarray[Any, Any]:
    dtype = np.dtype(("u" if element[0] == "u" else "i") + str(int(element[1:]) // 8))
    limits = np.iinfo(dtype)
    return np.random.default_rng(count).integers(limits.min, limits.max, count, dtype, endpoint=True)


def wanted(a: np.ndarray[Any, Any], factor: int, sign: int) -> int:
    h = 7
    for x in a.tolist():
        h = h * factor + sign * x
    bits = 8 * a.dtype.itemsize
    h &= (1 << bits) - 1
    return h - (1 << bits) if a.dtype.kind == "i" and h >> bits - 1 else h


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(
    ("body", "factor", "sign"),
    [
        ("h = h * T(31) + a[i]", 31, 1),
        ("h = a[i] + T(33) * h", 33, 1),
        ("h = h * T(10) - a[i]", 10, -1),
        ("h = h * c + a[i]", 101, 1),
        ("h = h * c - a[i]", 101, -1),
    ],
)
def test_the_results_wrap_as_those_of_single_steps(body: str, factor: int, sign: int, element: str, runner: Runner) -> None:
    array = lw.Array[getattr(lw, element)]
    code = runner.compiled(kernel(body, element), array, getattr(lw, element), array)
    for count in (0, 1, 3, 4, 5, 8, 31):
        a = numbers(element, count)
        z = np.zeros(1, a.dtype)

        def check(_: Any, a: np.ndarray[Any, Any] = a, z: np.ndarray[Any, Any] = z) -> None:
            assert int(z[0]) == wanted(a, factor, sign)

        runner.run(code, [a, a.dtype.type(factor), z], check)


def rewritten(body: str, element: str = "i64") -> str:
    array = lw.Array[getattr(lw, element)]
    return str(kernel(body, element, fastmath=True).compile(array, getattr(lw, element), array, keep=True, target="x86-64-v3").ir("nests"))


def test_what_is_waited_for_is_one_product_and_one_sum() -> None:
    text = rewritten("h = h * T(31) + a[i]")
    assert f"%h, {31**4}" in text
    assert "%c, %c" in rewritten("h = h * c + a[i]")


@pytest.mark.parametrize(
    "body",
    [
        "h = h * a[i] + a[i]",  # Another number each time.
        "h = h * T(31) + (a[i] & h)",
        "h = (h ^ a[i]) * T(31)",
        "h = h * h + a[i]",
    ],
)
def test_what_stays(body: str) -> None:
    assert f"{31**4}" not in rewritten(body) and rewritten(body).count("mul.i64") == 5


def test_floats_stay() -> None:
    assert rewritten("h = h * c + a[i]", "f64").count("mul.f64 %h, %c") == 5
