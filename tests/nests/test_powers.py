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


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize(
    ("body", "element"),
    [
        ("h = (h * T(1103515245) + T(12345)) & T(2147483647); a[i] = h", "i64"),
        ("h = h * T(31) + a[i]; a[i] = h", "i32"),
        ("h = (h + a[i]) * T(5)", "i64"),
        ("h = (h * T(3) - T(7)) * T(5); a[i] = h ^ a[i]", "u8"),
        ("h = (h * T(13) + a[i]) % T(1024); a[i] = h", "i16"),
        ("h = (h * c + a[i]) & T(255); a[i] = h + a[i]", "u32"),
        ("h = h * T(48271) % T(2147483647); a[i] = h", "i64"),
        ("h = (T(7) + T(16807) * h) % T(1000000007); a[i] = a[i] ^ h", "i64"),
        ("a[i] = a[i] + h; h = h * T(6364136223846793005) + T(1442695040888963407)", "i64"),
    ],
)
def test_what_is_read_in_between(body: str, element: str, runner: Runner) -> None:
    array = lw.Array[getattr(lw, element)]
    code = runner.compiled(kernel(body, element), array, getattr(lw, element), array)
    written = kernel(body, element, nests="off").compile(array, getattr(lw, element), array)
    for count in (0, 1, 3, 4, 5, 8, 31):
        a = numbers(element, count)
        z = np.zeros(1, a.dtype)
        b, y = a.copy(), z.copy()
        written(b, a.dtype.type(101), y)

        def check(_: Any, got: Any = (a, z), right: Any = (b, y)) -> None:
            np.testing.assert_array_equal(got[0], right[0])
            np.testing.assert_array_equal(got[1], right[1])

        runner.run(code, [a, a.dtype.type(101), z], check)


def test_what_is_waited_for_keeps_its_lowest_bits() -> None:
    text = rewritten("h = (h * T(1103515245) + T(12345)) & T(2147483647); a[i] = h")
    assert str((1103515245**4 + (1 << 63)) % (1 << 64) - (1 << 63)) in text
    assert "%h, 31" not in text
    assert str(48271**4 % 2147483647) in rewritten("h = h * T(48271) % T(2147483647); a[i] = h")


@pytest.mark.parametrize(
    ("body", "factor"),
    [
        ("h = (h * T(48271) + a[i]) % T(2147483647)", 48271),  # What is added is not known.
        ("h = h * T(4294967311) % T(2147483647)", 4294967311),  # As written the product may be more than 64 bits have room for.
        ("h = h * T(48271) % T(4000000000)", 48271),
        ("h = (h & T(255)) * T(48271)", 48271),  # Of bits above them the product has some.
        ("h = (h * T(48271)) & T(254)", 48271),
    ],
)
def test_what_would_be_another_number(body: str, factor: int) -> None:
    text = rewritten(body + "; a[i] = h")
    assert str(factor) in text
    for by in (1 << 64, 2147483647, 4000000000, 256):
        assert not any(factor**steps % by > 99999 and str(factor**steps % by) in text for steps in (2, 3, 4))


@pytest.mark.parametrize("start", [0, 1, 2147483646, 2147483647, -1, -(2**63), 2**63 - 1])
def test_a_start_that_is_no_rest(start: int) -> None:
    def written(h: int, n: int) -> list[int]:
        found = []
        for _ in range(n):
            h = ((h * 48271 + 2**63) % 2**64 - 2**63) % 2147483647
            found.append(h)
        return found

    a = np.zeros(23, np.int64)
    assert _seeded(a, start) == written(start, 23)[-1]
    assert a.tolist() == written(start, 23)


@lw.kernel
def _seeded(a: lw.Array[lw.i64], h: lw.i64) -> lw.i64:
    for i in range(a.shape[0]):
        h = h * 48271 % 2147483647
        a[i] = h
    return h


@pytest.mark.parametrize("start", ["7", "lw.i64(7)"])
@pytest.mark.parametrize("read", ["s >> 16", "s", "s & 255"])
def test_what_begins_with_a_number_of_python_s_is_no_other(start: str, read: str) -> None:
    """The variable gets each of its values by a copy then, and what is made of it may read either."""
    source = f"def nest(a):\n    s = {start}\n    for i in range(a.shape[0]):\n        s = (s * 1103515245 + 12345) & 2147483647\n        a[i] = {read}\n"
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the source above)
    function = space["nest"]
    function.__annotations__.update(a=lw.Array)
    made = lw.kernel(source=source)(function)
    for count in (0, 1, 3, 4, 9, 40):
        got, right = np.zeros(count, np.int64), []
        made(got)
        s = 7
        for _ in range(count):
            s = (s * 1103515245 + 12345) & 2147483647
            right.append(eval(read, {"s": s}))
        assert got.tolist() == right
    assert "s from tables" in str(made.compile(np.zeros(9, np.int64), target="x86-64-v4").nests())
