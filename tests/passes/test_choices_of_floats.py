"""Choices between floats by what is no comparison of floats as wide: no jumps in loops that wait for themselves, and the right one of the two on every machine."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

KERNELS = {
    "select": """
def f(a, k, out):
    s = lw.T(0)
    for i in range(a.shape[0]):
        s = s * 0.5 + lw.select(k[i] > 0, a[i], -a[i])
        out[i] = s
""",
    "select of what is handed on": """
def f(a, k, out):
    s = lw.T(1)
    for i in range(a.shape[0]):
        s = lw.select(k[i] < 2, s * 0.5 + a[i], a[i] - s)
        out[i] = s
""",
    "both arms": """
def f(a, k, out):
    e = lw.T(0)
    for i in range(a.shape[0]):
        if k[i] > 0:
            e += a[i]
        else:
            e -= a[i]
        out[i] = e
""",
    "one arm": """
def f(a, k, out):
    e = lw.T(0)
    for i in range(a.shape[0]):
        x = a[i]
        if k[i] >= 0:
            e = e * 0.5 + x
        out[i] = e
""",
    "two variables": """
def f(a, k, out):
    e = lw.T(0)
    d = lw.T(1)
    for i in range(a.shape[0]):
        x = a[i]
        if k[i] > 3:
            e = e * 0.5 + x
            d = d - x
        else:
            e = d - e
            d = x
        out[i] = e + d
""",
}
NAMES = {"f32": "f4", "f64": "f8"}
INDICES = {"i32": "i4", "i64": "i8", "u8": "u1", "i16": "i2"}


def _kernel(name: str, type_: str, index: str = "i32") -> Any:
    source = KERNELS[name].replace("lw.T(", f"lw.{type_}(")
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the sources above)
    element = lw.Array[getattr(lw, type_)]
    space["f"].__annotations__.update(a=element, k=lw.Array[getattr(lw, index)], out=element)
    return lw.kernel(source=source, contract=False)(space["f"])


def _arrays(type_: str, index: str, n: int) -> list[np.ndarray]:
    """Signs of zeros, infinities and what is no number are chosen as other numbers are."""
    rng = np.random.default_rng(n)
    low = 0 if index[0] == "u" else -4
    a = rng.integers(-9, 9, n).astype(NAMES[type_])
    a[n // 3 : n // 3 + 1] = -0.0
    if n > 20:
        a[n - 6 : n - 3] = np.inf, 1, np.nan
    return [a, rng.integers(low, 5, n).astype(INDICES[index]), np.zeros(n, NAMES[type_])]


def _instructions(text: str) -> list[str]:
    """The names of a listing's instructions."""
    return re.findall(r"^ *[0-9a-f]+  (?:[0-9a-f]{2} )+ *(\w+)", text, re.MULTILINE)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("type_", NAMES)
@pytest.mark.parametrize("name", KERNELS)
def test_no_jumps(name: str, type_: str, target: str) -> None:
    """Loops have two jumps each, past the loop and back to its start; there are no others."""
    code = _kernel(name, type_).compile(target=target, keep=True)
    lines = [line.strip() for line in code.ir("if-convert").splitlines()]
    loops = len([line for line in lines if " = for " in line])
    names = _instructions(code.asm())
    end = type_.replace("f32", "s").replace("f64", "d")
    assert names.count(f"vblendmp{end}" if target == "x86-64-v4" else f"vblendvp{end}") >= 2
    assert not any(line.startswith("if") for line in lines)
    assert 0 < len([each for each in names if each.startswith("j") and each != "jmp"]) <= 2 * loops


@pytest.mark.parametrize("type_", NAMES)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("runner", runners())
def test_on_every_machine(name: str, type_: str, runner: Runner) -> None:
    for index in INDICES if runner.target.core is not None else ["i32"]:
        kernel = _kernel(name, type_, index)
        code = runner.compiled(kernel).compiled
        for n in (0, 1, 2, 5, 40):
            given, wanted = _arrays(type_, index, n), _arrays(type_, index, n)
            with np.errstate(invalid="ignore"):
                kernel.function(*wanted)

            def same(_: object, given: list[np.ndarray] = given, wanted: list[np.ndarray] = wanted) -> None:
                for x, y in zip(wanted, given, strict=True):
                    np.testing.assert_array_equal(y, x)
                    if x.dtype.kind == "f":
                        np.testing.assert_array_equal(np.signbit(y[~np.isnan(x)]), np.signbit(x[~np.isnan(x)]))

            runner.run(code, given, same)
