"""Sums of two products with a common factor, under fastmath: one product; and what stays two."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.text import print_function
from loopwright.passes import factors

HEAD = "function f(%x: ptr, %x.n0: i64, %a: f64, %b: f64, %c: f64) -> f64\n  option fastmath\n  array x: f64[%x.n0] at %x\n"
TAIL = "end\n"


def rewritten(body: str) -> tuple[str, float, float]:
    """The code, and what it gave before and gives after."""
    f = parse(HEAD + body + TAIL)
    x = np.array([3.0, 5.0, 7.0])
    before = float(run(f, x, 2.0, 11.0, 13.0))
    factors.run(f)
    after = float(run(parse(print_function(f)), x, 2.0, 11.0, 13.0))
    return print_function(f), before, after


@pytest.mark.parametrize("op", ["add", "sub"])
@pytest.mark.parametrize(("first", "second"), [("%a, %c", "%b, %c"), ("%c, %a", "%b, %c"), ("%c, %a", "%c, %b"), ("%a, %c", "%c, 4.0")])
def test_one_product_is_left(op: str, first: str, second: str) -> None:
    text, before, after = rewritten(f"  %1 = mul.f64 {first}\n  %2 = mul.f64 {second}\n  %3 = {op}.f64 %1, %2\n  ret.f64 %3\n")
    assert before == after and text.count("mul.f64") == 1 and text.count(f"{op}.f64") == 1


def test_three_products() -> None:
    body = "  %1 = mul.f64 %a, %c\n  %2 = mul.f64 %b, %c\n  %3 = add.f64 %1, %2\n  %4 = mul.f64 %c, 5.0\n  %5 = sub.f64 %3, %4\n  ret.f64 %5\n"
    text, before, after = rewritten(body)
    assert before == after and text.count("mul.f64") == 1


@pytest.mark.parametrize("body", [
    # No factor in common.
    "  %1 = mul.f64 %a, %c\n  %2 = mul.f64 %b, 3.0\n  %3 = add.f64 %1, %2\n  ret.f64 %3\n",
    # A product that is read elsewhere, too.
    "  %1 = mul.f64 %a, %c\n  %2 = mul.f64 %b, %c\n  %3 = add.f64 %1, %2\n  %4 = add.f64 %3, %1\n  ret.f64 %4\n",
    # A factor that is another one by then.
    "  %v = copy.f64 %a\n  %1 = mul.f64 %v, %c\n  %v = copy.f64 %b\n  %2 = mul.f64 %v, %c\n  %3 = add.f64 %1, %2\n  ret.f64 %3\n",
    # The way there is not always the same.
    "  %1 = mul.f64 %a, %c\n  %2 = mul.f64 %b, %c\n  %4 = gt.f64 %a, %b\n  %v = copy.f64 0.0\n  if %4\n    %3 = add.f64 %1, %2\n    %v = copy.f64 %3\n  end\n  ret.f64 %v\n",
])  # fmt: skip
def test_what_stays(body: str) -> None:
    text, before, after = rewritten(body)
    assert before == after and text.count("mul.f64") == 2


def test_products_that_are_the_same_in_all_iterations() -> None:
    def loop(first: str) -> str:
        return (
            "  %s = copy.f64 0.0\n  %i = for 0, %x.n0, 1\n    %1 = load.f64 x[%i]\n"
            f"    %2 = mul.f64 {first}, %c\n    %3 = mul.f64 %1, %c\n    %4 = add.f64 %2, %3\n    %5 = add.f64 %s, %4\n    %s = copy.f64 %5\n  end\n  ret.f64 %s\n"
        )

    text, before, after = rewritten(loop("%a"))
    assert before == after and text.count("mul.f64") == 2
    text, before, after = rewritten(loop("%1"))
    assert before == after and text.count("mul.f64") == 1


def test_floats_of_16_bits_stay() -> None:
    """Their sum may be infinite where the products are small."""
    head = "function f(%a: f64, %b: f64) -> f64\n  option fastmath\n"
    body = "  %1 = convert.f16.f64 %a\n  %2 = convert.f16.f64 %b\n  %3 = mul.f16 %2, %1\n  %4 = mul.f16 %2, %1\n  %5 = add.f16 %3, %4\n  %6 = convert.f64.f16 %5\n  ret.f64 %6\n"
    f = parse(head + body + TAIL)
    factors.run(f)
    assert run(f, 40000.0, 0.01) == pytest.approx(800, rel=0.01)
