"""Terms of sums of integers that are multiples by one constant: one multiple; and what stays as it is written."""

from __future__ import annotations

import random

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.text import print_function
from loopwright.passes import multiples


def rewritten(body: str, type_: str = "i32") -> str:
    """The code, which gives the same before and after."""
    text = f"function f(%a: {type_}, %b: {type_}, %c: {type_}, %d: {type_}) -> {type_}\n{body}end\n"
    f = parse(text)
    multiples.run(f)
    after = print_function(f)
    for numbers in ((3, 5, 7, 11), (100, 27, 113, 1), (0, 127, 127, 126)):
        assert run(parse(text), *numbers) == run(parse(after), *numbers), numbers
    return after


def test_one_product_is_left() -> None:
    text = rewritten("  %1 = mul.i32 %b, 2\n  %2 = add.i32 %a, %1\n  %3 = shl.i32 %c, 1\n  %4 = sub.i32 %2, %3\n  %5 = sub.i32 %4, %d\n  ret.i32 %5\n")
    assert text.count("mul.i32") == 1 and "shl" not in text and text.count("sub.i32") == 2 and text.count("add.i32") == 1


def test_all_are_taken_away() -> None:
    text = rewritten("  %1 = mul.i32 %b, 3\n  %2 = sub.i32 0, %1\n  %3 = mul.i32 3, %c\n  %4 = sub.i32 %2, %3\n  ret.i32 %4\n")
    assert text.count("mul.i32") == 1


@pytest.mark.parametrize("body", [
    # Different factors.
    "  %1 = mul.i32 %b, 2\n  %2 = mul.i32 %c, 3\n  %3 = add.i32 %1, %2\n  ret.i32 %3\n",
    # A product that is read elsewhere, too.
    "  %1 = mul.i32 %a, 2\n  %2 = mul.i32 %c, 2\n  %3 = add.i32 %1, %2\n  %4 = xor.i32 %3, %1\n  ret.i32 %4\n",
    # A variable that is another number by then.
    "  %v = copy.i32 %a\n  %1 = mul.i32 %v, 2\n  %v = copy.i32 %b\n  %2 = mul.i32 %v, 2\n  %3 = add.i32 %1, %2\n  ret.i32 %3\n",
    # The way there is not always the same.
    "  %1 = mul.i32 %a, 2\n  %2 = mul.i32 %c, 2\n  %4 = gt.i32 %a, %b\n  %v = copy.i32 0\n  if %4\n    %3 = add.i32 %1, %2\n    %v = copy.i32 %3\n  end\n  ret.i32 %v\n",
])  # fmt: skip
def test_what_stays(body: str) -> None:
    assert rewritten(body).count("mul.i32") == 2


def test_indices_stay() -> None:
    assert rewritten("  %1 = mul.i64 %a, 2\n  %2 = mul.i64 %c, 2\n  %3 = add.i64 %1, %2\n  ret.i64 %3\n", "i64").count("mul.i64") == 2


def test_sums_at_random() -> None:
    chooser = random.Random(4)
    for _ in range(150):
        type_ = chooser.choice(["i32", "u8", "i16", "u32", "i8", "u16"])
        values, lines = ["%a", "%b", "%c", "%d"], []
        for n in range(1, chooser.randrange(3, 14)):
            op = chooser.choice(["mul", "shl", "add", "sub", "add", "sub"])
            second = str(chooser.choice([2, 3, 2, 6])) if op == "mul" else str(chooser.choice([1, 1, 2, 7])) if op == "shl" else chooser.choice(values)
            lines.append(f"  %{n} = {op}.{type_} {chooser.choice(values)}, {second}\n")
            values.append(f"%{n}")
        rewritten("".join(lines) + f"  ret.{type_} {values[-1]}\n", type_)


def test_filters_of_images_in_lanes() -> None:
    @lw.kernel
    def sharpened(a: lw.Array[lw.u8, 2], b: lw.Array[lw.i16, 2]) -> None:
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = lw.i16(6 * lw.i32(a[i, j]) - 2 * lw.i32(a[i - 1, j]) - 2 * lw.i32(a[i + 1, j]) + lw.i32(a[i, j - 1]) - 2 * lw.i32(a[i, j + 1]))

    a = np.random.default_rng(1).integers(0, 256, (40, 77)).astype(np.uint8)
    b = np.zeros(a.shape, np.int16)
    sharpened(a, b)
    w = a.astype(int)
    wanted = 6 * w[1:-1, 1:-1] - 2 * w[:-2, 1:-1] - 2 * w[2:, 1:-1] + w[1:-1, :-2] - 2 * w[1:-1, 2:]
    assert np.array_equal(b[1:-1, 1:-1], wanted)
