"""The two binary formats that elementary functions are computed in, and the bits of their numbers."""

from __future__ import annotations

from typing import Any, Final

from loopwright.frontend.functions import bitcast, fma
from loopwright.types import F32, F64, I32, I64, U32, U64, Type

__all__ = ["DOUBLE", "SINGLE", "Format", "is_nan", "polynomial"]


class Format:
    """A binary format (IEEE 754-2019, 3.4).

    Attributes:
        type: of its numbers.
        signed, unsigned: integers as wide.
        digits: bits of the significand behind the point.
        bias: of the exponent.
        magic: what is added to a number to leave a whole one in the low bits of the sum.
        least: the least normal number.
    """

    __slots__ = ("bias", "digits", "least", "magic", "signed", "type", "unsigned")

    def __init__(self, type_: Type, signed: Type, unsigned: Type, digits: int, bias: int) -> None:
        self.type = type_
        self.signed = signed
        self.unsigned = unsigned
        self.digits = digits
        self.bias = bias
        self.magic = 1.5 * 2.0**digits
        self.least = 2.0 ** (1 - bias)

    @property
    def _root(self) -> int:
        """The bits of sqrt(1/2)."""
        return 0x3F3504F3 if self.type is F32 else 0x3FE6A09E667F3BCD

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << (self.type.bits - 1)

    @property
    def infinity(self) -> int:
        """The bits of infinity, which are those of the exponent."""
        return (2 * self.bias + 1) << self.digits

    def bits(self, x: Any) -> Any:
        """The bits of a number, as an unsigned integer."""
        return bitcast(self.unsigned, x)

    def number(self, bits: Any) -> Any:
        """The number that has these bits."""
        return bitcast(self.type, bits)

    def with_sign(self, size: Any, x: Any) -> Any:
        """A number that is not negative, with the sign of x."""
        return self.number((self.bits(x) & self.sign) | self.bits(size))

    def outside(self, x: Any) -> Any:
        """Whether x is not a positive normal number: negative, 0, subnormal, infinite or NaN. Two instructions on lanes."""
        width = self.type.bits
        least = 1 << self.digits
        first = _wrapped(self.sign - least, width)
        return bitcast(self.signed, x) + first >= _wrapped(self.sign + self.infinity - least, width)

    def parts(self, x: Any, offset: float = 0.0) -> tuple[Any, Any]:
        """k - offset, as a number, and m with x = m * 2**k, m from sqrt(1/2) to sqrt(2); of positive normal x."""
        moved = self._moved(x)
        # A whole number in the low bits of 2**digits, less that.
        shifted = (moved >> self.digits) | ((self.digits + self.bias) << self.digits)
        k = self.number(shifted) - (2.0**self.digits + self.bias + offset)
        return k, self.number((moved & ((1 << self.digits) - 1)) + self._root)

    def exponent(self, x: Any) -> Any:
        """The bits of the power of two that ``parts`` takes out of positive normal x."""
        return self._moved(x) & self.infinity

    def _moved(self, x: Any) -> Any:
        return self.bits(x) + ((self.bias << self.digits) - self._root)


def is_nan(x: Any) -> Any:
    """Whether a number is none."""
    return x != x  # noqa: PLR0124


def _wrapped(value: int, width: int) -> int:
    """An integer as a signed one of so many bits."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


SINGLE: Final = Format(F32, I32, U32, 23, 127)
DOUBLE: Final = Format(F64, I64, U64, 52, 1023)


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """A polynomial, the constant first, by Horner's rule; from degree 6 on as two of half the degree in x**2, which are computed side by side."""
    if len(coefficients) < 7:
        return _horner(x, coefficients)
    square = x * x
    return fma(_horner(square, coefficients[1::2]), x, _horner(square, coefficients[::2]))


def _horner(x: Any, coefficients: tuple[float, ...]) -> Any:
    result: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        result = fma(result, x, c)
    return result
