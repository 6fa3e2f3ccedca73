"""``lw.debug_print``: what kernels print while they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw


def test_values_of_all_types_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    @lw.kernel
    def shown(x: lw.Array[lw.f32], h: lw.Array[lw.f16], b: lw.Array[lw.u8], n: lw.i64, k=7) -> lw.f32:
        s, t = lw.f32(0), 0
        lw.debug_print("begin")
        for i in lw.range(len(x)):
            s += x[i]
            t += 2
            if i == n:
                lw.debug_print("{}: x[{}] = {} {:.2f} {} {} {} {} {} {}", "text", i, x[i], s, x[i] > 1, k, h[i], t, b[i], 1.5)
        lw.debug_print("end {0} {0:x} {{}}", n)
        return s

    x = np.array([0.1, 2.7, -3], np.float32)
    assert shown(x, x.astype(np.float16), np.array([1, 200, 3], np.uint8), 1) == np.float32(x.sum())
    assert capsys.readouterr().out == "begin\ntext: x[1] = 2.7 2.80 True 7 2.7 4 200 1.5\nend 1 1 {}\n"
    shown(x, x.astype(np.float16), np.zeros(3, np.uint8), 2**40)
    assert capsys.readouterr().out == f"begin\nend {2**40} {2**40:x} {{}}\n"


def test_in_modules_built_functions_and_python(capsys: pytest.CaptureFixture[str]) -> None:
    m = lw.Module()

    @m.function
    def down(n: lw.i32) -> lw.i32:
        lw.debug_print("at {}", n)
        if n == 0:
            return 0
        return down(n - 1)

    down(2)
    built = lw.Function("built", a=lw.f64, p=lw.bool_)
    lw.debug_print("built {} {}", built.a, built.p)
    built.ret()
    built.compile()(0.1, False)
    lw.debug_print("{:>4}", 3)
    assert capsys.readouterr().out == "at 2\nat 1\nat 0\nbuilt 0.1 False\n   3\n"


def _too_few(x: lw.Array[lw.f32]):
    lw.debug_print("{} {}", x[0])


def _no_text(x: lw.Array[lw.f32]):
    lw.debug_print(x[0])


def _an_array(x: lw.Array[lw.f32]):
    lw.debug_print("{}", x)


def _another_format(x: lw.Array[lw.f32]):
    lw.debug_print("{:d}", x[0])


def _by_name(x: lw.Array[lw.f32]):
    lw.debug_print("{n}", n=x[0])


def _in_lanes(x: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        lw.debug_print("{}", x[i])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_too_few, "does not go with 1 value"),
        (_no_text, "takes a text first"),
        (_an_array, "one at a time, not the array x"),
        (_another_format, "Unknown format code 'd'"),
        (_by_name, "values by position"),
        (_in_lanes, "use lw.range for this loop"),
    ],
)
def test_what_is_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(lw.KernelTypeError, match=message) as caught:
        lw.kernel(function)(np.ones(3, np.float32))
    assert "lw.debug_print" in str(caught.value)


def test_code_for_other_machines_cannot_print() -> None:
    @lw.kernel
    def shown(n: lw.i64):
        lw.debug_print("{}", n)

    with pytest.raises(lw.TargetError, match="in this process"):
        shown.compile(target="rv64gc").emulate(1)
