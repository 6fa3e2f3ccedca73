"""What to write in a kernel instead of functions of ``math`` and NumPy that mean nothing there."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from loopwright.frontend.annotations import type_of_dtype
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.equivalents import equivalent

__all__ = ["is_numpys", "refuse"]

_MAKES_ARRAYS: Final = frozenset(
    ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "arange", "linspace", "array")
    + ("copy", "stack", "concatenate", "tile", "repeat", "eye", "identity", "frombuffer", "fromiter")
)
_OF_ARRAYS: Final = frozenset(
    ("sum", "prod", "mean", "std", "var", "min", "max", "amin", "amax", "dot", "vdot", "inner", "any", "all", "cumsum", "count_nonzero")
)
_AS_IT_IS: Final = "an array of a kernel is one already, whose elements are x[i]"
_NESTED: Final = "write a loop for each dimension, one in the other, as in for i in range(x.shape[0])"
_A_LOOP: Final = "write the loop, in a Python function that the kernel calls"
_BITS: Final = "count the bits up by one, as in lw.bitcast(lw.f64, lw.bitcast(lw.i64, x) + 1), which is the next one of a positive number"
#: By name.
_INSTEAD: Final = {
    "where": "write lw.select",
    "clip": "write lw.clamp",
    "round": "write lw.round, which takes one number",
    "around": "write lw.round, which takes one number",
    "fsum": "add in a loop, with what each addition loses in a variable of its own",
    "sumprod": "add the products in a loop, or by lw.fma",
    "fma": "write lw.fma",
    "comb": _A_LOOP,
    "perm": _A_LOOP,
    "factorial": f"{_A_LOOP}, or a table of the numbers, or lw.tgamma(n + 1.0)",
    "remainder": "write x - y * lw.round(x / y), or lw.fmod, which rounds the quotient towards zero",
    "ldexp": "write x * 2.0 ** n",
    "frexp": "take the bits of the exponent, by lw.bitcast(lw.i64, x) >> 52, less 1023",
    "nextafter": _BITS,
    "spacing": _BITS,
    "ulp": _BITS,
    "interp": _A_LOOP,
    "searchsorted": _A_LOOP,
    "sort": _A_LOOP,
    "argsort": _A_LOOP,
    "argmin": "keep the least element and its index in two variables of a loop",
    "argmax": "keep the greatest element and its index in two variables of a loop",
    "matmul": "write the three loops",
    "asarray": _AS_IT_IS,
    "asanyarray": _AS_IT_IS,
    "ascontiguousarray": _AS_IT_IS,
    "ndindex": _NESTED,
    "ndenumerate": _NESTED,
    "nditer": _NESTED,
}


def is_numpys(function: Any) -> bool:
    module = getattr(function, "__module__", None)
    return type(module) is str and (module == "numpy" or module.startswith("numpy."))


def refuse(emitter: Emitter, function: Any, named: bool) -> None:
    """Say of a function of ``math`` or NumPy that it does not take a run-time value; nothing of others."""
    module = getattr(function, "__module__", "") or ""
    name = getattr(function, "__name__", "")
    if module == "math" or is_numpys(function) or isinstance(function, np.ufunc) or getattr(math, name, None) is function:
        where = "math" if getattr(math, name, None) is function else "np"
        if named and any(equivalent(function, count) is not None for count in (1, 2, 3)):
            emitter.fail(f"{where}.{name} takes its arguments by position in a kernel, as in {where}.{name}(x[i]), and stores nothing itself")
        emitter.fail(f"{where}.{name} works on Python and NumPy values, not on a run-time value: {_instead(function, name)}")


def _instead(function: Any, name: str) -> str:
    """What to write for a function of math or NumPy."""
    if isinstance(function, type) and issubclass(function, np.generic):
        type_ = type_of_dtype(function)
        return f"write lw.{type_}(…)" if type_ is not None else "there is no such type in a kernel"
    if name in _INSTEAD:
        return _INSTEAD[name]
    if name in _MAKES_ARRAYS:
        return (
            "a kernel makes no arrays at run time; pass one to it as an lw.Array argument, made by the caller with the size it needs, "
            "or use variables, or a list of them, where the size is known while compiling"
        )
    if name in _OF_ARRAYS:
        return "write a loop over the elements, as in for i in lw.lanes(len(x)): total += x[i]"
    return "write it with the operators and functions of lw, or call a C function with lw.call"
