"""Rows, columns and slices of arrays in kernels, indices that count from the end, and loops over elements: what Python makes of the same function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.from_text import kernel_from

import loopwright as lw
from loopwright.errors import BoundsError, LoopwrightError

TYPES = ["f32", "f64", "i8", "u8", "i16", "i32", "u32", "i64", "u64", "bool_", "complex64", "complex128", "f16"]
LENGTHS = [0, 1, 2, 5, 70]
SHAPES = [(0, 3), (3, 0), (1, 1), (1, 5), (4, 1), (5, 7), (9, 40)]


def kernel(body: str, parameters: str, **options: Any) -> tuple[Any, Any]:
    return kernel_from(parameters, body, {"W": np.array([0.5, -2.0, 4.0])}, **options)


def array(element: str, *shape: int) -> Any:
    made = np.random.default_rng(sum(shape)).integers(0, 7, shape)
    if element == "bool_":
        return made > 3
    return made.astype(getattr(lw, element).dtype)


def element_of(name: str) -> str:
    return "lw.bool_" if name == "bool_" else f"lw.{name}"


def agrees(body: str, parameters: str, *args: Any) -> None:
    """The function gives the same compiled, compiled with checks, and run by Python."""
    for check in (False, True):
        made, function = kernel(body, parameters, check=check)
        mine, theirs = ([arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args] for _ in range(2))
        with np.errstate(all="ignore"):
            function(*theirs)
        made(*mine)
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=body)


ONE = [
    "for i, v in enumerate(x):\n    y[i] = v",
    "for i, v in enumerate(x, 1):\n    y[i - 1] = v",
    "k = 0\nfor v in x:\n    y[k] = v\n    k += 1",
    "k = 0\nfor v in reversed(x):\n    y[k] = v\n    k += 1",
    "for i, v in zip(range(len(x)), x):\n    y[i] = v",
    "for i, v in zip(range(2, 9), x):\n    y[i - 2] = v",
    "for i, (v, w) in enumerate(zip(x[1:], x)):\n    y[i] = v\n    y[i + 1] = w",
    "for i, v in zip(range(len(x) - 1, -1, -1), x):\n    y[i] = v",
    "for i, v in zip(range(0, 2 * len(x), 2), x):\n    y[i // 2] = v",
    "for i, v in enumerate(x[::-1]):\n    y[i] = v",
    "for i, v in enumerate(x[::3]):\n    y[i] = v",
    "for i, v in enumerate(x[-2::-2]):\n    y[i] = v",
    "for i, v in enumerate(x[1:-1]):\n    y[i] = v",
    "for i, v in enumerate(x[-3:]):\n    y[i] = v",
    "for i, v in enumerate(x[:3]):\n    y[i] = v",
    "for i, v in enumerate(x[4:2:-1]):\n    y[i] = v",
    "for i, v in enumerate(x[2:][1:][::2]):\n    y[i] = v",
    "for i in range(x.size):\n    y[x[i:].size - 1] = x[i]",
    "u = x[1:]\nw = y[:-1]\nfor i in range(len(u)):\n    w[i] = u[i]",
    "for lo in range(-8, 9):\n    for v in x[lo:lo + 3]:\n        y[0] = v\n    for v in x[lo:2:-1]:\n        y[-1] = v",
    "n = len(x)\nfor lo in range(n):\n    for i, v in enumerate(x[lo - 1:lo + 2]):\n        y[i] = v\n    for i, v in enumerate(x[lo - 3:2 - lo:-1]):\n        y[i] = v",
    "k = 0\nfor v in x:\n    r = x[k:]\n    k += 1\n    y[k - 1] = r[0]",
    "if len(x) > 2:\n    y[0] = x[-1]\n    y[-2] = x[-3]",
    "for i, v in enumerate(x):\n    if i == 2:\n        continue\n    if i > 4:\n        break\n    y[i] = v",
    "if len(x) > 0:\n    y[0] = x[::-1][0]\n    y[-1] = x[::-1][-1]",
    "if y.dtype == x.dtype and y.ndim == 1 and len(x.T) > 0:\n    y[0] = x.T[-1]",
]
TWO = [
    "for i in range(len(a)):\n    for j in range(len(a[i])):\n        b[i][j] = a[i][j]",
    "for r, q in zip(a, b):\n    for j, v in enumerate(r):\n        q[j] = v",
    "for i, r in enumerate(a):\n    for j, v in enumerate(r[1:]):\n        b[i, j] = v",
    "for i, r in enumerate(reversed(a)):\n    for j, v in enumerate(reversed(r)):\n        b[i, j] = v",
    "for j in range(a.shape[1]):\n    c = a[:, j]\n    d = b[:, j]\n    for i in range(len(c)):\n        d[i] = c[i]",
    "for j, c in enumerate(a.T):\n    for i, v in enumerate(c):\n        b.T[j, i] = v",
    "t = a[1:, ::2]\nfor i in range(t.shape[0]):\n    for j in range(t.shape[1]):\n        b[i, j] = t[i, j]\n        b[i][j] = t[i][j]",
    "t = a[::-1, 1:].T[::2]\nfor i in range(t.shape[0]):\n    for j in range(t.shape[1]):\n        b[j, i] = t[i, j]",
    "if a.size > 0:\n    b[-1, -1] = a[-1, 0]\n    b[-1][0] = a[0][-1]\n    b[..., 0][0] = a[...][-1][-1]",
    "for i in range(a.shape[0]):\n    fill(b[i], a[i])",
]
BEFORE = "def fill(to, of):\n    for j, v in enumerate(of):\n        to[j] = v\n"


@pytest.mark.parametrize("body", ONE)
def test_of_one_dimension(body: str) -> None:
    for length in LENGTHS:
        agrees(body, "x: lw.Array[lw.f32], y: lw.Array[lw.f32]", array("f32", length), np.zeros(length + 3, np.float32))


@pytest.mark.parametrize("body", TWO)
def test_of_two_dimensions(body: str) -> None:
    for shape in SHAPES:
        a = array("f64", *shape)
        agrees(BEFORE + body, "a: lw.Array[lw.f64, 2], b: lw.Array[lw.f64, 2]", a, np.zeros_like(a))


@pytest.mark.parametrize("element", TYPES)
def test_elements_of_all_types(element: str) -> None:
    type_ = element_of(element)
    for body in (ONE[0], ONE[3], ONE[9], ONE[18], ONE[22]):
        x = array(element, 70)
        agrees(body, f"x: lw.Array[{type_}], y: lw.Array[{type_}]", x, np.zeros(73, x.dtype))
    for body in (TWO[1], TWO[5], TWO[7], TWO[8]):
        a = array(element, 5, 20)
        agrees(body, f"a: lw.Array[{type_}, 2], b: lw.Array[{type_}, 2]", a, np.zeros_like(a))


@pytest.mark.parametrize("element", TYPES[:10])
def test_sums_and_extremes(element: str) -> None:
    bodies: list[str] = []
    if element != "bool_":
        bodies = ["y[0] = min(x)\ny[1] = max(x)", "y[0] = max(x[1:])\ny[1] = min(x[::-2])"]
        bodies += [
            "y[0] = sum(x)",
            "y[0] = sum(x, x[0])\ny[1] = sum(x[2:])",
            "y[0] = sum(v for v in x if v > 2)",
            "y[0] = sum(v * w for v, w in zip(x, reversed(x)))",
        ]
    type_ = element_of(element)
    for body in bodies:
        for length in (2, 5, 70):
            x = array(element, length)
            agrees(body, f"x: lw.Array[{type_}], y: lw.Array[{type_}]", x, np.zeros(2, x.dtype))
    for length in LENGTHS:
        x = array(element, length)
        body = "y[0] = any(x)\ny[1] = all(x)\ny[2] = any(v for v in x)\ny[3] = all(not v for v in x[1:])\ny[4] = any(x[3:])"
        agrees(body, f"x: lw.Array[{type_}], y: lw.Array[lw.i32]", x, np.zeros(5, np.int32))


def test_sums_of_nothing_and_of_conditions() -> None:
    for length in LENGTHS:
        x = array("f64", length)
        agrees("y[0] = sum(x)\ny[1] = min(x, default=9.0)\ny[2] = max(x[2:], default=-1.0)", "x: lw.Array[lw.f64], y: lw.Array[lw.f64]", x, np.zeros(3))
        agrees("y[0] = sum(x)", "x: lw.Array[lw.bool_], y: lw.Array[lw.i64]", x > 3, np.zeros(1, np.int64))
    agrees("y[0] = sum(range(len(y)))\ny[1] = sum(i * i for i in range(len(y)))", "y: lw.Array[lw.i64]", np.zeros(7, np.int64))
    nan = np.array([np.nan, 1.0, 2.0])
    agrees("y[0] = min(x)\ny[1] = max(x[::-1])", "x: lw.Array[lw.f64], y: lw.Array[lw.f64]", nan, np.zeros(2))


def test_what_a_part_stands_for_is_decided_where_it_is_made() -> None:
    body = "i = 0\nwhile i < len(a):\n    r = a[i]\n    q = a[:, i + 1:]\n    i += 1\n    r[0] = i\n    if q.shape[1] > 0:\n        q[0][0] += 2 * i"
    agrees(body, "a: lw.Array[lw.f64, 2]", array("f64", 4, 9))


def test_parts_with_narrow_indices() -> None:
    body = "u = x[1:]\nfor i, k in enumerate(n):\n    y[i] = u[k]"
    agrees(
        body,
        "x: lw.Array[lw.f32], n: lw.Array[lw.u8], y: lw.Array[lw.f32]",
        array("f32", 300),
        np.array([255, 0, 254, 127, 128], np.uint8),
        np.zeros(5, np.float32),
    )


def test_updates_through_parts() -> None:
    body = "for r in a:\n    for j in range(1, len(r)):\n        r[j] += r[j - 1]\nfor j in range(a.shape[1]):\n    a[:, j][0] *= 2.0\n    a[-1][j] = a[-1][j] + 1.0"
    agrees(body, "a: lw.Array[lw.f32, 2]", array("f32", 6, 33))


def test_parts_of_arrays_of_the_kernels_own_and_of_tables() -> None:
    body = """t = lw.local(lw.f64, 3, 4)
for i in range(3):
    for j in range(4):
        t[i][j] = x[i] * j
for i, r in enumerate(t):
    y[i] = sum(r) + r[-1] - sum(t[:, 1]) + min(t[i, 1:])
u = np.zeros(40)
for i, v in enumerate(u):
    u[i] = v + x[i % 3]
for i, (w, v) in enumerate(zip(u[4:], u)):
    y[i % 3] += w * v
"""
    made, _ = kernel(body, "x: lw.Array[lw.f64], y: lw.Array[lw.f64]")
    x, y = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    made(x, y)
    t = np.outer(x, np.arange(4.0))
    expected = t.sum(1) + t[:, -1] - t[:, 1].sum() + t[:, 1:].min(1)
    for i in range(36):
        expected[i % 3] += x[(i + 4) % 3] * x[i % 3]
    np.testing.assert_array_equal(y, expected)
    agrees("for i in range(len(y)):\n    y[i] = W[i] + W[-1] + W[1:][i % 2]", "y: lw.Array[lw.f64]", np.zeros(3))


@pytest.mark.parametrize(
    "body",
    [
        "for i, v in enumerate(x):\n    y[i] = v * 2.0",
        "for i, v in enumerate(x[1:]):\n    y[i] = v + 1.0",
        "s = 0.0\nfor v, w in zip(x, y):\n    s += v * w\ny[0] = s",
        "u = x[::-1]\nfor i in range(len(u)):\n    y[i] = u[i]",
        "y[0] = sum(x)",
        "y[0] = max(x)",
    ],
)
def test_loops_over_elements_have_lanes(body: str) -> None:
    made, _ = kernel(body, "x: lw.Array[lw.f32], y: lw.Array[lw.f32]", fastmath=True, target="x86-64-v3")
    assert "ymm" in made.compile().asm()


def test_rows_have_lanes() -> None:
    made, _ = kernel(
        "for r, q in zip(a, b):\n    for j, v in enumerate(r):\n        q[j] = v * 2.0", "a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2]", target="x86-64-v3"
    )
    assert "ymm" in made.compile().asm()


def test_in_loops_over_lanes() -> None:
    body = "for i in lw.lanes(len(x)):\n    s = 0.0\n    for v in a[i]:\n        s += v\n    y[i] = s + x[1:][i - 1] + a.T[-1][i]"
    made, _ = kernel(body, "a: lw.Array[lw.f32, 2], x: lw.Array[lw.f32], y: lw.Array[lw.f32]")
    a, x, y = array("f32", 37, 5), array("f32", 37), np.zeros(37, np.float32)
    made(a, x, y)
    np.testing.assert_array_equal(y, a.sum(1) + x + a[:, -1])


@pytest.mark.parametrize(
    "body",
    ["y[0] = x[2:][i]", "y[0] = x[:3][i]", "y[0] = x[-1]", "y[0] = x[1:3][i]", "x[:2][i] = 1.0", "y[0] = min(x)", "y[0] = x[::-1][i]"],
)
def test_indices_outside_a_part_are_reported(body: str) -> None:
    made, _ = kernel(body, "x: lw.Array[lw.f32], y: lw.Array[lw.f32], i: lw.i64", check=True)
    x = np.zeros(0 if "-1]" in body[-3:] or "min" in body else 5, np.float32)
    for i in (-1, 5):
        with pytest.raises(BoundsError):
            made(x, np.zeros(1, np.float32), i)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y[:] = x", "a part of y is stored to as a whole: kernels work on elements"),
        ("y[1:] = 0.0", "a part of y is stored to as a whole"),
        ("a[0] = x", "a part of a is stored to as a whole"),
        ("y[:] = x * 2.0", "kernels work on elements; loop over them, and write x"),
        ("y[0] = a[0]", "an element of y must be a number, not the array a"),
        ("y[0] = a[0, 1, 2]", "a has 2 dimensions: it takes 2 indices"),
        ("y[0] = a[:, 1, 2][0]", "a has 2 dimensions, and is given 3 indices"),
        ("y[0] = x[::n][0]", "the step of a slice of x must be known while compiling"),
        ("y[0] = x[::0][0]", "the step of a slice of x must be known while compiling, and not 0"),
        ("y[0] = x[1.5:][0]", "a bound of a slice of x must be an integer"),
        ("y[0] = a[x[0]][1]", "must be an integer, not f32"),
        ("y[0] = x[1:][x[0]]", "must be an integer, not f32"),
        ("y[0] = a[None][0]", "a is indexed with NoneType"),
        ("y[0] = sum(a)", r"sum\(\) of a, which has 2 dimensions here: loop over its rows"),
        ("for v, w in zip(x, (1.0, 2.0)):\n    y[0] = v * w", "goes over arrays and ranges, not over tuple"),
        ("for v, w in zip(x, y, strict=True):\n    y[0] = v * w", "zip of arrays takes no strict=True"),
        ("for v, w in zip(x, lw.lanes(n)):\n    y[0] = v", "lw.lanes is gone through by a for loop alone"),
        ("for v in zip(range(0, n, n), x):\n    y[0] = v[1]", "a range beside arrays takes a step that is known while compiling"),
        ("v = list(enumerate(x))", "enumerate, zip and reversed of arrays are what a for loop goes over"),
        ("p, q = x", "an array cannot be iterated over"),
        ("v = [w for w in x]", "an array cannot be iterated over"),
        ("r = a[0]\nfor i in range(n):\n    y[i] = r[i]\n    r = a[i]", "a name that stands for an array, or for a part of one, cannot change in a loop"),
        ("t = lw.local(lw.f32, 8)\ny[0] = t[8]", r"t\[8\]: t has 8 elements"),
        ("t = lw.local(lw.f32, 8)\ny[0] = t[-9]", r"t\[-9\]: t has 8 elements"),
        ("t = lw.local(lw.f32, 8)\ny[0] = t[2:][6]", r"t\[6\]: t has 6 elements"),
    ],
)
def test_what_is_refused(body: str, message: str) -> None:
    made, _ = kernel(body, "x: lw.Array[lw.f32], y: lw.Array[lw.f32], a: lw.Array[lw.f32, 2], n: lw.i64")
    with pytest.raises(LoopwrightError, match=message):
        made.compile()
