"""One element from memory that all lanes have, as the memory operand of an instruction that repeats it (EVEX's embedded broadcast)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import compiler
from loopwright.ir.interpret import run
from loopwright.ir.text import parse, print_function
from loopwright.runtime import cpu
from loopwright.targets import registry

V3, V4 = registry.get("x86-64-v3"), registry.get("x86-64-v4", 512)
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "min": np.minimum,
    "max": np.maximum,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


def made(body: str, element: str, lanes: int = 8) -> str:
    """A function of an array, a factor's address, and where results go."""
    wide = f"{element}x{lanes}"
    text = f"""
function f(%a: {wide}, %w: ptr, %y: ptr)
  array w: {element}[1] at %w
  array y: {element}[64] at %y written
  %s = load.{element} w[0]
  %v = splat.{wide} %s
  {body}
  store.{wide} %r, y[0]
end
"""
    return text.replace("T", wide)


def selected(text: str, target: Any = V4) -> str:
    f = parse(text)
    return print_function(compiler.run_passes(f, target, after="select"))


@pytest.mark.parametrize("element", ["f32", "f64", "i32", "u32", "i64", "u64"])
@pytest.mark.parametrize("op", list(OPERATIONS))
def test_it_is_an_operand_on_either_side(op: str, element: str) -> None:
    if element[0] == "f" and op in ("and", "or", "xor"):
        pytest.skip("integers only")
    # (Of floats, minima and maxima give the second operand where one is NaN, or both are zeros, as MINPS does for the one in memory: the other way round.)
    only = "%a, %v" if op == "sub" else "%v, %a" if element[0] == "f" and op in ("min", "max") else ""
    for args in ("%a, %v", "%v, %a"):
        text = selected(made(f"%r = {op}.T {args}", element))
        assert ("{bcast}" in text) == (not only or args == only), text
        assert print_function(parse(text)) == text


@pytest.mark.parametrize(
    ("body", "element"),
    [
        ("%r = mul.T %a, %v", "i16"),  # no instruction repeats elements of 8 and 16 bits
        ("%r = add.T %a, %v", "u8"),
        ("%b = add.T %a, %v\n %r = mul.T %b, %v", "f32"),  # it is read twice
        ("%r = mul.T %v, %v", "f32"),
        ("store.T %a, y[32]\n %r = mul.T %a, %v", "f32"),  # what is stored may be what is loaded
    ],
)
def test_it_stays_a_load_of_its_own(body: str, element: str) -> None:
    text = selected(made(body, element, 16 if element != "f32" else 8))
    assert "{bcast}" not in text
    assert "splat" in text


def test_machines_without_such_instructions_load_it() -> None:
    assert "{bcast}" not in selected(made("%r = mul.T %a, %v", "f32"), V3)


def scaled(op: str, lanes: int) -> lw.Kernel:
    """Rows of a vector by a factor each, for which nothing is left to take out of a loop."""
    names: dict[str, Any] = {}
    spelled = {"add": "x[q, j] + w[q]", "sub": "x[q, j] - w[q]", "mul": "x[q, j] * w[q]", "min": "min(x[q, j], w[q])", "max": "max(x[q, j], w[q])"}
    spelled |= {"and": "x[q, j] & w[q]", "or": "x[q, j] | w[q]", "xor": "x[q, j] ^ w[q]"}
    source = f"def scaled(x: lw.Array, w: lw.Array, y: lw.Array):\n    for q in lw.range(x.shape[0]):\n        for j in lw.lanes({lanes}):\n            y[q, j] = {spelled[op]}\n"
    exec(source, {"lw": lw}, names)  # noqa: S102 (the loop above)
    return lw.kernel(names["scaled"], source=source)


@pytest.mark.parametrize("element", [lw.f32, lw.f64, lw.i32, lw.u64], ids=str)
@pytest.mark.parametrize("op", list(OPERATIONS))
def test_kernels_with_it_give_what_numpy_does(op: str, element: Any) -> None:
    if element.is_float and op in ("and", "or", "xor"):
        pytest.skip("integers only")
    rng = np.random.default_rng(1)
    lanes = 512 // element.bits
    x = rng.integers(-50 if element.signed or element.is_float else 0, 50, (7, lanes)).astype(element.dtype)
    w = rng.integers(-9 if element.signed or element.is_float else 0, 9, 7).astype(element.dtype)
    y = np.zeros_like(x)
    expected = OPERATIONS[op](x, w[:, None])
    kernel = scaled(op, lanes)
    types = (lw.Array[element, 2], lw.Array[element], lw.Array[element, 2])
    f = compiler.run_passes(kernel.stage(kernel.signature(types, {})), V4, after="select")
    repeats = not element.is_float or op not in ("min", "max")
    assert ("{bcast}" in print_function(f)) == repeats
    run(f, x, w, y)
    assert np.array_equal(y, expected)
    if cpu.host_features() >= cpu.LEVELS["x86-64-v4"]:
        code = kernel.compile(*types, vector_bits=512)
        y[:] = 0
        code(x, w, y)
        assert np.array_equal(y, expected)
        assert bool(re.search(r"\{1to\d+\}", code.asm())) == repeats


@lw.kernel(fastmath=True)
def products(a: lw.Array[lw.f64, 3], b: lw.Array[lw.f64, 3], c: lw.Array[lw.f64, 3]):
    for q in range(a.shape[0]):
        for i in range(8):
            for j in range(8):
                s = 0.0
                for k in range(8):
                    s += a[q, i, k] * b[q, k, j]
                c[q, i, j] = s


@pytest.mark.skipif(not cpu.host_features() >= cpu.LEVELS["x86-64-v4"], reason="no CPU with AVX-512")
def test_products_of_small_matrices_take_an_instruction_for_each_multiplication_and_addition() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((2, 5, 8, 8))
    c = np.zeros_like(a)
    code = products.compile(target="x86-64-v4", vector_bits=512)
    code(a, b, c)
    assert np.allclose(c, a @ b)
    lines = [line for line in code.asm().splitlines() if "zmm" in line]
    assert not any("vbroadcastsd" in line for line in lines)
    assert sum("vfmadd" in line for line in lines) == 7
