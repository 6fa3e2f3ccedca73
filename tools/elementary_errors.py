"""The errors of the elementary functions of one operand: for all numbers of f32, or every so many, and for samples of f64.

``python -m tools.elementary_errors [--step N] [NAME …]`` prints a table as docs/elementary.md has it. With ``--step 1``, the default, a function takes minutes (sin and cos ten: NumPy's of large arguments are slow); f64 is judged with mpmath.

Results of f32 are judged by NumPy's f64, whose own error is below a millionth of a unit in the last place of f32.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from tests.elementary.accuracy import JUDGES, arguments, kernel_of, worst

import loopwright as lw

__all__ = ["DOUBLE", "every_f32"]

#: The functions that NumPy has in f64.
DOUBLE: Final[dict[str, Callable[[Any], Any]]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "sigmoid": lambda x: np.where(x < 0, np.exp(-np.abs(x)), 1.0) / (1.0 + np.exp(-np.abs(x))),
    "softplus": lambda x: np.logaddexp(0.0, x),
}
_BLOCK: Final = 1 << 22


def every_f32(name: str, step: int = 1) -> tuple[float, np.float32]:
    """The largest error of a function in units in the last place, infinity where a special value is wrong, and its argument.

    Args:
        name: of the function.
        step: 1 for all numbers of f32, more for every so many of them.
    """
    array = lw.Array[lw.f32]
    code = kernel_of(name).compile(array, array)
    largest, at = -1.0, np.float32(0)
    for start in range(0, 1 << 32, _BLOCK * step):
        x = np.arange(start, min(start + _BLOCK * step, 1 << 32), step, dtype=np.uint64).astype(np.uint32).view(np.float32)
        y = np.empty_like(x)
        code(x, y)
        errors = _errors(y, DOUBLE[name], x)
        found = int(np.argmax(errors))
        if errors[found] > largest:
            largest, at = float(errors[found]), x[found]
    return largest, at


def _errors(y: np.ndarray[Any, Any], double: Callable[[Any], Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        exact = double(x.astype(np.float64))
        # 2**23 over the power of two in the result, which subnormal numbers have in common.
        exponent = np.maximum((exact.view(np.int64) >> 52) & 2047, 1023 - 126)
        errors = np.abs(y.astype(np.float64) - exact) * ((2046 + 23 - exponent) << 52).view(np.float64)
        rounded = exact.astype(np.float32)
        special = ~np.isfinite(rounded) | ~np.isfinite(y)
        agrees = (rounded == y) | (np.isnan(rounded) & np.isnan(y))
        # Half a unit below the greatest number, the other way of rounding is no error.
        errors[special] = np.where(agrees | (np.isinf(y) & (np.abs(exact) > 3.4028234e38)), 0.0, np.inf)[special]
    return errors


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=1, help="of so many numbers of f32 one is judged")
    parser.add_argument("names", nargs="*", default=list(JUDGES))
    given = parser.parse_args()
    print("| function | f32, ulp | of | f64, ulp | of |\n|---|---:|---:|---:|---:|")
    for name in given.names:
        single = every_f32(name, given.step) if name in DOUBLE else None
        x = arguments(JUDGES[name], np.float64, 2000, 7)
        y = np.empty_like(x)
        kernel_of(name)(x, y)
        double, at = worst(JUDGES[name], x, y)
        cells = f"{single[0]:.3f} | `{single[1]!s}`" if single else " | "
        print(f"| `{name}` | {cells} | {double:.2f} | `{float(at)!r}` |", flush=True)


if __name__ == "__main__":
    main()
