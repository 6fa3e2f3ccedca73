"""Functions of complex numbers, written with those of their parts.

They are accurate to a few units in the last place of the absolute value of the result, not of each part, and take infinities and NaNs as their formulas do, not as annex G of the
C standard asks. Branch cuts are where C has them: of the logarithm and the square root the negative real axis, on which the sign of zero of the
imaginary part decides. The square root is by W. Kahan's method without his scaling (Branch Cuts for Complex Elementary Functions, 1987).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from loopwright.elementary import functions as of_reals
from loopwright.errors import KernelTypeError
from loopwright.frontend import arithmetic, functions
from loopwright.frontend.complex_numbers import Complex, is_complex

__all__ = ["FUNCTIONS", "absolute", "angle", "applied", "square_root"]


def absolute(z: Complex) -> Any:
    """``|z|``: by ``lw.hypot``, which does not overflow; under ``fastmath`` the root of the sum of the squares."""
    if z.emitter.f.options.fastmath:
        return functions.sqrt(z.real * z.real + z.imag * z.imag)
    return of_reals.hypot(z.real, z.imag)


def angle(z: Complex) -> Any:
    """The angle of z with the positive real axis, from -pi to pi."""
    return of_reals.atan2(z.imag, z.real)


def square_root(z: Complex) -> Complex:
    """The root whose real part is not negative."""
    root = functions.sqrt((functions.abs(z.real) + absolute(z)) * 0.5)
    other = functions.select(root == 0.0, z.imag, functions.abs(z.imag) / (root + root))
    right = z.real >= 0.0
    return Complex(z.emitter, functions.select(right, root, other), arithmetic.copysign(functions.select(right, other, root), z.imag))


def _exp(z: Complex) -> Complex:
    size = of_reals.exp(z.real)
    sine, cosine = of_reals.sincos(z.imag)
    return Complex(z.emitter, size * cosine, size * sine)


def _log(z: Complex) -> Complex:
    return Complex(z.emitter, of_reals.log(absolute(z)), angle(z))


def _sinh(z: Complex) -> Complex:
    sine, cosine = of_reals.sincos(z.imag)
    return Complex(z.emitter, of_reals.sinh(z.real) * cosine, of_reals.cosh(z.real) * sine)


def _cosh(z: Complex) -> Complex:
    sine, cosine = of_reals.sincos(z.imag)
    return Complex(z.emitter, of_reals.cosh(z.real) * cosine, of_reals.sinh(z.real) * sine)


def _sin(z: Complex) -> Complex:
    sine, cosine = of_reals.sincos(z.real)
    return Complex(z.emitter, sine * of_reals.cosh(z.imag), cosine * of_reals.sinh(z.imag))


def _cos(z: Complex) -> Complex:
    sine, cosine = of_reals.sincos(z.real)
    return Complex(z.emitter, cosine * of_reals.cosh(z.imag), -(sine * of_reals.sinh(z.imag)))


#: By the name of the function of reals.
FUNCTIONS: Final[dict[str, Callable[[Complex], Any]]] = {
    "exp": _exp,
    "log": _log,
    "sin": _sin,
    "cos": _cos,
    "sinh": _sinh,
    "cosh": _cosh,
    "sqrt": square_root,
    "abs": absolute,
    "angle": angle,
}


def applied(name: str, values: tuple[Any, ...]) -> Any:
    """A function of a complex number, of run time or known while compiling. Raises ``KernelTypeError`` where there is none."""
    found = FUNCTIONS.get(name) if len(values) == 1 else None
    staged = next((value for value in values if type(value) is Complex), None)
    if found is None:
        message = f"lw.{name} is not available for complex numbers, which have {', '.join(sorted(FUNCTIONS))}: write it with these, or with the parts z.real and z.imag"
        raise staged.emitter.wrong(message) if staged is not None else KernelTypeError(message)
    if staged is not None:
        return found(staged)
    (value,) = values
    assert is_complex(value)
    made = getattr(np, name)(value)
    if isinstance(value, np.generic):
        return made
    return complex(made) if isinstance(made, np.complexfloating) else float(made)
