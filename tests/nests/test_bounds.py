"""Branches that are minima and maxima: the interpreter, and the machine, get the same results as Python, also for NaN and zeros."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.nests.branches import choices

BOUNDS = {
    "in one chain": "if v < LO:\n            v = LO\n        elif v > HI:\n            v = HI",
    "in an else": "if v > HI:\n            v = HI\n        else:\n            if v < LO:\n                v = LO",
    "in a row": "if v < LO:\n            v = LO\n        if v > HI:\n            v = HI",
    "one value or the other": "v = LO if v < LO else v\n        v = HI if HI < v else v",
    "one of three": "v = LO if v < LO else (HI if v > HI else v)",
    "one of three, from above": "v = HI if v > HI else (v if v > LO else LO)",
    "another variable": "if v < LO:\n            w = LO\n        elif v > HI:\n            w = HI\n        else:\n            w = v\n        v = w",
    "equal to a bound, too": "if v <= LO:\n            v = LO\n        elif v >= HI:\n            v = HI",
}


def bounded(name: str, element: Any, low: str, high: str) -> Any:
    """A running total kept between two bounds."""
    number = f"lw.{element.name}"
    text = (
        BOUNDS[name]
        .replace("= LO", f"= {number}({low})")
        .replace("= HI", f"= {number}({high})")
        .replace("(HI", f"({number}({high})")
        .replace("else LO", f"else {number}({low})")
    )
    text = text.replace("LO", low).replace("HI", high)
    source = f"def total(x: lw.Array, y: lw.Array):\n    v = {number}(0)\n    for i in range(len(x)):\n        v = v + x[i]\n        {text}\n        y[i] = v\n"
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the source above)
    return lw.kernel(source=source)(space["total"])


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("element", [lw.i32, lw.i64, lw.f32, lw.f64])
def test_totals_between_bounds(name: str, element: Any) -> None:
    for low, high in (("-3", "5"), ("0", "0"), ("2", "-2"), ("0", "7")):
        kernel = bounded(name, element, low, high)
        x = np.random.default_rng(4).integers(-4, 5, 200).astype(element.dtype)
        if element.is_float:
            x[50], x[90:100], x[150] = -0.0, -0.0, math.nan
        wanted, found = np.zeros_like(x), np.zeros_like(x)
        with np.errstate(all="ignore"):
            kernel.function(x, wanted)
        kernel(x, found)
        assert found.tobytes() == wanted.tobytes() or (
            np.isnan(wanted).any() and np.array_equal(found, wanted, equal_nan=True) and (np.signbit(found) == np.signbit(wanted))[:150].all()
        )


@pytest.mark.parametrize("name", BOUNDS)
def test_they_are_operations(name: str) -> None:
    kernel = bounded(name, lw.i32, "-3", "5")
    code = kernel.compile(lw.Array[lw.i32], lw.Array[lw.i32], keep=True)
    assert "min." in code.ir("nests") and "max." in code.ir("nests") and " if " not in code.ir("nests")


def chosen(body: str) -> Function:
    f = parse("function f(%x: f64, %y: f64) -> f64\n  var %v: f64\n  var %w: f64\n" + body + "\n  ret.f64 %v\nend\n")
    choices.run(f)
    return f


@pytest.mark.parametrize(
    ("test", "first", "second", "op"),
    [
        ("gt.f64 %x, %y", "%x", "%y", ops.MAX),
        ("lt.f64 %y, %x", "%x", "%y", ops.MAX),
        ("gt.f64 %x, %y", "%y", "%x", ops.MIN),
        ("lt.f64 %x, %y", "%x", "%y", ops.MIN),
        ("ge.f64 %x, %y", "%x", "%y", None),
        ("gt.f64 %x, %y", "%x", "%x", None),
        ("gt.f64 %x, 3.0", "%x", "%y", None),
    ],
)
def test_one_of_two_that_are_compared(test: str, first: str, second: str, op: ops.Op | None) -> None:
    body = f"  %c = {test}\n  if %c\n    %v = copy.f64 {first}\n  else\n    %v = copy.f64 {second}\n  end"
    f = chosen(body)
    assert [instr.op for instr in f.code if instr.op is ops.MIN or instr.op is ops.MAX] == ([op] if op is not None else [])
    plain = parse("function f(%x: f64, %y: f64) -> f64\n  var %v: f64\n" + body + "\n  ret.f64 %v\nend\n")
    for x in (1.0, 2.0, 0.0, -0.0, math.nan):
        for y in (1.0, 2.0, 0.0, -0.0, math.nan):
            a, b = run(f, x, y), run(plain, x, y)
            assert (a == b and math.copysign(1, a) == math.copysign(1, b)) or (math.isnan(a) and math.isnan(b))
