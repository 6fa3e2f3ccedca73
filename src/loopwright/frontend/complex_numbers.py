"""Complex numbers in kernels: pairs of floats, made while staging, so that nothing behind the front end knows of them.

What NumPy computes, with three differences, of signs of zero and of infinities only: a real number has no imaginary part (where NumPy adds, or multiplies with, 0);
products are the four that are written down, contracted as other products are, without the repair of infinities that annex G.5.1 of the C standard asks for, which
NumPy has not either; and quotients are made without a branch. Quotients are by R. L. Smith's method (Communications of the ACM 5(8), 1962, algorithm 116), as
NumPy's are, so that squares of what is divided by do not overflow; under ``fastmath`` they are what the textbook says.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from loopwright.frontend.expr import Value, ValueEmitter, Weak, describe, is_number
from loopwright.frontend.promotion import SPELLED, promote
from loopwright.ir import ops
from loopwright.ir.ops import Op
from loopwright.types import BOOL, COMPLEX64, COMPLEX128, F32, F64, KIND_COMPLEX, KIND_MASK, Type

__all__ = ["PARTS", "Complex", "as_pair", "binary", "elementary", "imaginary_part", "is_complex", "power", "real_part", "select", "split"]

#: What leads to the parts, as an index leads to the items of a tuple.
PARTS: Final = ("real", "imag")

Part = Any
_EXACT: Final[dict[Op, Callable[[float, float], float]]] = {
    ops.ADD: lambda x, y: x + y,
    ops.SUB: lambda x, y: x - y,
    ops.MUL: lambda x, y: x * y,
}


class Complex:
    """A complex number of run time.

    Attributes:
        emitter: what emits the instructions.
        real, imag: its parts: values of one float type, or Python floats.
    """

    __slots__ = ("emitter", "imag", "real")
    __staged__ = True
    #: NumPy scalars and arrays leave operators with it to it.
    __array_ufunc__: Final = None

    def __init__(self, emitter: ValueEmitter, real: Part, imag: Part) -> None:
        self.emitter = emitter
        self.real = real
        self.imag = imag

    @property
    def type(self) -> Type:
        """``COMPLEX64`` or ``COMPLEX128``."""
        for part in (self.real, self.imag):
            if isinstance(part, Value):
                return COMPLEX64 if part.type.element is F32 else COMPLEX128
        return COMPLEX128

    def part(self, name: str) -> Part:
        """One of ``PARTS``."""
        return self.real if name == PARTS[0] else self.imag

    def conjugate(self) -> Complex:
        """The number with the sign of its imaginary part changed."""
        return Complex(self.emitter, self.real, -self.imag)

    def __converted__(self, type_: Type) -> Any:
        if type_.kind != KIND_COMPLEX:
            self.emitter.fail(f"a complex number does not become {type_}: take its part, as in lw.{type_}(z.real), or lw.abs(z)")
        return Complex(self.emitter, *[self.emitter.convert(part, type_.part) for part in (self.real, self.imag)])

    def __paired__(self, type_: Type, real: Any, imaginary: Any) -> Any:
        if type(imaginary) is float and imaginary == 0.0:
            return self.__converted__(type_)
        self.emitter.fail(f"lw.{type_}(real, imaginary) takes two real numbers, not {describe(real)} and {describe(imaginary)}")

    def __add__(self, other: Any) -> Any:
        return binary(self.emitter, ops.ADD, self, other)

    def __radd__(self, other: Any) -> Any:
        return binary(self.emitter, ops.ADD, other, self)

    def __sub__(self, other: Any) -> Any:
        return binary(self.emitter, ops.SUB, self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary(self.emitter, ops.SUB, other, self)

    def __mul__(self, other: Any) -> Any:
        return binary(self.emitter, ops.MUL, self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary(self.emitter, ops.MUL, other, self)

    def __truediv__(self, other: Any) -> Any:
        return binary(self.emitter, ops.DIV, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return binary(self.emitter, ops.DIV, other, self)

    def __eq__(self, other: object) -> Any:
        return binary(self.emitter, ops.EQ, self, other)

    def __ne__(self, other: object) -> Any:
        return binary(self.emitter, ops.NE, self, other)

    def __pow__(self, exponent: Any) -> Any:
        return power(self.emitter, self, exponent)

    def __rpow__(self, base: Any) -> Any:
        return power(self.emitter, base, self)

    def __neg__(self) -> Any:
        return Complex(self.emitter, -self.real, -self.imag)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return elementary("absolute")(self)

    def __hash__(self) -> int:
        raise self._wrong("cannot be looked up in or put into a set, a dictionary or a cache")

    def __bool__(self) -> bool:
        raise self._wrong("has no truth value while compiling: write z != 0")

    def __complex__(self) -> complex:
        raise self._wrong("is not known while compiling: write lw.complex64(…) or lw.complex128(…) to convert it")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise self._wrong("is given to NumPy, whose functions work on what is known while compiling")

    def __repr__(self) -> str:
        return f"<run-time {self.type.name}>"

    def _wrong(self, what: str) -> Exception:
        return self.emitter.wrong(f"a run-time value ({self.type.name}) {what}")

    def _refuse(self, operator: str, instead: str) -> NoReturn:
        self.emitter.fail(f"`{operator}` is not available for {self.type.name}: {instead}")

    def _unordered(self, other: Any) -> NoReturn:
        self._refuse("<", "complex numbers have no order; compare lw.abs(z), or the parts z.real and z.imag")

    __lt__ = __le__ = __gt__ = __ge__ = _unordered

    def _of_real(self, other: Any) -> NoReturn:
        self._refuse("//", "take the parts z.real and z.imag")

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _of_real

    def _of_bits(self, other: Any = None) -> NoReturn:
        self._refuse("&", "operations on bits take integers")

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __invert__ = _of_bits

    def __getitem__(self, index: Any) -> NoReturn:
        self.emitter.fail(f"a run-time value ({self.type.name}) has no elements: its parts are z.real and z.imag")

    def __iter__(self) -> NoReturn:
        self.emitter.fail(f"a run-time value ({self.type.name}) cannot be iterated over: its parts are z.real and z.imag")


def is_complex(value: Any) -> bool:
    """A complex number of run time, of Python or of NumPy."""
    kind = type(value)
    return kind is Complex or kind is complex or isinstance(value, np.complexfloating)


def elementary(name: str) -> Callable[..., Any]:
    """A function of complex numbers. They are written with values and their operators, so they are above this package, and found by name when one is first used."""
    found: Callable[..., Any] = getattr(importlib.import_module("loopwright.elementary.complex_functions"), name)
    return found


def split(value: Any) -> tuple[Part, Part | None] | None:
    """The real and the imaginary part of a number, which is None of a real one; None for what is no number."""
    if type(value) is Complex:
        return value.real, value.imag
    if type(value) is complex or isinstance(value, np.complexfloating):
        return value.real, value.imag
    if isinstance(value, (Value, np.generic)) or is_number(value):
        return value, None
    return None


def as_pair(emitter: ValueEmitter, value: Any) -> Any:
    """Any number as a pair, whose parts may be known while compiling; what is no number as it is."""
    if type(value) is Complex:
        return value
    parts = split(value)
    if parts is None:
        return value
    real, imaginary = parts
    return Complex(emitter, float(real) if type(real) is int else real, 0.0 if imaginary is None else imaginary)


def real_part(z: Any) -> Any:
    """The real part of a number."""
    return z.real if is_complex(z) else z


def imaginary_part(z: Any) -> Any:
    """The imaginary part of a number: 0 of a real one, in its type."""
    if is_complex(z):
        return z.imag
    if isinstance(z, Value):
        return z.type.element(0)
    return type(z)(0)


# --- arithmetic -----------------------------------------------------------------------------------------------------


def binary(emitter: ValueEmitter, op: Op, a: Any, b: Any) -> Any:
    """An operation on two numbers, one of which is complex; ``NotImplemented`` where one is no number."""
    pairs = [split(operand) for operand in (a, b)]
    if pairs[0] is None or pairs[1] is None:
        if op is ops.EQ or op is ops.NE:
            emitter.fail(f"`{SPELLED[op.name]}` of a complex number and {describe(a if pairs[0] is None else b)}: only numbers are compared")
        return NotImplemented
    if op not in _OPERATIONS:
        emitter.fail(f"`{SPELLED.get(op.name, op.name)}` is not available for complex numbers: take their parts, z.real and z.imag")
    x, y = _met(emitter, pairs[0], pairs[1], op is ops.DIV)
    return _OPERATIONS[op](emitter, x, y)


def _met(emitter: ValueEmitter, a: tuple[Part, Part | None], b: tuple[Part, Part | None], settled: bool) -> list[tuple[Part, Part | None]]:
    """The parts of two numbers at one float type; as they are where that is open, which it is not behind this where it is to be ``settled``."""
    pairs = [_floats(emitter, a, b), _floats(emitter, b, a)]
    flat = [part for pair in pairs for part in pair if part is not None]
    type_, args = emitter.adapt(ops.MUL, flat)
    if type_ is None and settled:
        for part in flat:
            if isinstance(part, Weak):
                emitter.settle(part, F64)
        type_, args = emitter.adapt(ops.MUL, flat)
    parts = iter(args if type_ is None else [Value(emitter, arg, type_) for arg in args])
    return [(next(parts), None if imaginary is None else next(parts)) for _, imaginary in pairs]


def _floats(emitter: ValueEmitter, number: tuple[Part, Part | None], other: tuple[Part, Part | None]) -> tuple[Part, Part | None]:
    """A number whose parts are floats, as it meets another."""
    real, imaginary = number
    if imaginary is not None:
        return number
    if type(real) is int:
        return float(real), None
    type_ = real.type.element if isinstance(real, Value) else None if not isinstance(real, np.generic) else emitter.staged(real).type
    if type_ is not None and type_.is_float and type_.bits < 32:
        return emitter.convert(real, F32), None
    if type_ is None or type_.is_float or isinstance(real, Weak) and real.open:
        return number
    if type_ is BOOL or type_.kind == KIND_MASK:
        emitter.fail("a condition and a complex number: convert the condition, as in lw.f32(c)")
    typed = next((part for part in other if isinstance(part, (Value, np.generic))), None)
    met = promote(type_, emitter.staged(typed).type.element) if typed is not None else F64
    return emitter.convert(real, met if met is not None else F64), None


def _do(emitter: ValueEmitter, op: Op, x: Part, y: Part) -> Part:
    """An operation on two parts."""
    if type(x) is float and type(y) is float:
        return _EXACT[op](x, y)
    return emitter.binary(op, x, y)


Pair = tuple[Part, Part | None]


def _add(emitter: ValueEmitter, a: Pair, b: Pair) -> Complex:
    imaginary = a[1] if b[1] is None else b[1] if a[1] is None else _do(emitter, ops.ADD, a[1], b[1])
    return Complex(emitter, _do(emitter, ops.ADD, a[0], b[0]), imaginary)


def _sub(emitter: ValueEmitter, a: Pair, b: Pair) -> Complex:
    imaginary = a[1] if b[1] is None else -b[1] if a[1] is None else _do(emitter, ops.SUB, a[1], b[1])
    return Complex(emitter, _do(emitter, ops.SUB, a[0], b[0]), imaginary)


def _mul(emitter: ValueEmitter, a: Pair, b: Pair) -> Complex:
    if a[1] is None:
        a, b = b, a
    if b[1] is None:
        return Complex(emitter, _do(emitter, ops.MUL, a[0], b[0]), _do(emitter, ops.MUL, a[1], b[0]))
    real = _do(emitter, ops.SUB, _do(emitter, ops.MUL, a[0], b[0]), _do(emitter, ops.MUL, a[1], b[1]))
    return Complex(emitter, real, _do(emitter, ops.ADD, _do(emitter, ops.MUL, a[0], b[1]), _do(emitter, ops.MUL, a[1], b[0])))


def _div(emitter: ValueEmitter, a: Pair, b: Pair) -> Complex:
    """The parts are values of one type."""
    x, y = a
    c, d = b
    if d is None:
        assert y is not None
        return Complex(emitter, x / c, y / c)
    if y is None:
        y = Value(emitter, emitter.number(x.type, 0.0), x.type)
    if emitter.f.options.fastmath:
        scale = 1.0 / (c * c + d * d)
        return Complex(emitter, (x * c + y * d) * scale, (y * c - x * d) * scale)
    swapped = abs(c) < abs(d)
    large, small = emitter.select(swapped, d, c), emitter.select(swapped, c, d)
    p, q = emitter.select(swapped, y, x), emitter.select(swapped, x, y)
    # (By 0 the quotient is infinite, as NumPy's is, and not unknown.)
    ratio = emitter.select(large == 0.0, 0.0, small / large)
    scale = 1.0 / (large + small * ratio)
    imaginary = (q - p * ratio) * scale
    return Complex(emitter, (p + q * ratio) * scale, emitter.select(swapped, -imaginary, imaginary))


def _equal(emitter: ValueEmitter, a: Pair, b: Pair) -> Any:
    real, imaginary = (emitter.binary(ops.EQ, x if x is not None else 0.0, y if y is not None else 0.0) for x, y in zip(a, b, strict=True))
    return emitter.binary(ops.AND, real, imaginary)


def _unequal(emitter: ValueEmitter, a: Pair, b: Pair) -> Any:
    real, imaginary = (emitter.binary(ops.NE, x if x is not None else 0.0, y if y is not None else 0.0) for x, y in zip(a, b, strict=True))
    return emitter.binary(ops.OR, real, imaginary)


_OPERATIONS: Final[dict[Op, Callable[[ValueEmitter, Pair, Pair], Any]]] = {
    ops.ADD: _add,
    ops.SUB: _sub,
    ops.MUL: _mul,
    ops.DIV: _div,
    ops.EQ: _equal,
    ops.NE: _unequal,
}


def power(emitter: ValueEmitter, z: Any, exponent: Any) -> Any:
    """``z ** n`` for a small Python integer n, by squaring."""
    if type(exponent) is not int or abs(exponent) > 64 or not is_complex(z):
        emitter.fail(
            f"** of complex numbers takes a Python integer from -64 to 64 as its exponent, not {describe(exponent)}: write lw.exp(w * lw.log(z)) for z ** w"
        )
    if exponent < 0:
        return 1.0 / power(emitter, z, -exponent)
    result: Any = None
    square = z
    left = exponent
    while left:
        if left & 1:
            result = square if result is None else result * square
        left >>= 1
        if left:
            square = square * square
    return result if result is not None else type(z) is Complex and z.type(1) or 1.0


def select(emitter: ValueEmitter, condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, ``b`` elsewhere, of numbers one of which is complex; both are computed."""
    pairs = [split(number) for number in (a, b)]
    if pairs[0] is None or pairs[1] is None:
        emitter.fail(f"lw.select takes numbers, not {describe(a if pairs[0] is None else b)}")
    x, y = _met(emitter, pairs[0], pairs[1], True)
    parts = [emitter.select(condition, p if p is not None else 0.0, q if q is not None else 0.0) for p, q in zip(x, y, strict=True)]
    return Complex(emitter, parts[0], parts[1])
