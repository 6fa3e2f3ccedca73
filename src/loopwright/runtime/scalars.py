"""Scalars as arguments and results of compiled functions: what is accepted for each type, and how it is passed.

A Python ``int`` or a NumPy integer goes to an integer parameter, if it is in range; anything that is a real number goes to a float parameter,
rounded to it; a ``bool`` goes to a ``bool`` (and, being an integer, to an integer). A float never goes to an integer parameter: whoever
means its whole part writes ``int(x)``.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final, NoReturn

import numpy as np

from loopwright.errors import AbiError, ArgumentError
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type, limits

__all__ = ["FunctionPointer", "ScalarParameter", "argument_type", "convert", "is_passable", "limits", "result_type"]


class ScalarParameter:
    """A scalar parameter as a call sees it: the user's name for it, and its type."""

    __slots__ = ("name", "type")

    def __init__(self, name: str, type_: Type) -> None:
        self.name = name
        self.type = type_


# Every integer and pointer travels as c_void_p: ctypes passes its 64 bits, sign and all, in half the time of c_int64 (60 ns for 110 ns, each argument).
# A narrower parameter reads the low bits of the register or stack slot; the conversion below has checked the range.
_RESULTS: Final[dict[Type, Any]] = {
    VOID: None,
    BOOL: ctypes.c_bool,
    I8: ctypes.c_int8,
    U8: ctypes.c_uint8,
    I16: ctypes.c_int16,
    U16: ctypes.c_uint16,
    I32: ctypes.c_int32,
    U32: ctypes.c_uint32,
    I64: ctypes.c_int64,
    U64: ctypes.c_uint64,
    PTR: ctypes.c_uint64,
    F32: ctypes.c_float,
    F64: ctypes.c_double,
}


#: What is taken for a number of each kind. (A union written where it is asked for would be made anew each time.)
_NUMBERS: Final = (complex, float, int, np.number, np.bool_)
_COMPLEX: Final = (complex, np.complexfloating)
_REAL: Final = (float, int, np.floating, np.integer, np.bool_)
_WHOLE: Final = (int, np.integer, np.bool_)
_TRUTH: Final = (bool, np.bool_)


# The base of every ctypes function pointer, which ctypes does not export by a public name.
FunctionPointer: Final[Any] = ctypes.CFUNCTYPE(None).__base__


def is_passable(type_: Type) -> bool:
    """Whether a scalar of the type can be an argument or result of a call from Python."""
    return type_ in _RESULTS


def argument_type(type_: Type) -> Any:
    """The ctypes type that an argument is passed as."""
    if type_ is F32 or type_ is F64:
        return _RESULTS[type_]
    if type_ is VOID or type_ not in _RESULTS:
        raise AbiError(f"a parameter of type {type_.name} cannot be passed from Python; pass f32 or an integer and convert inside the function")
    return ctypes.c_void_p


def result_type(type_: Type) -> Any:
    """The ctypes type that a result is returned as; None for no result."""
    if type_ not in _RESULTS:
        raise AbiError(f"a result of type {type_.name} cannot be returned to Python; convert it to f32 or an integer inside the function")
    return _RESULTS[type_]


def convert(parameter: ScalarParameter, value: object) -> int | float | complex:
    """The argument as an ``int``, ``float`` or ``complex`` of the parameter's type (f32 is rounded when it is passed).

    Raises:
        ArgumentError: names the parameter, what was given and what is expected.
    """
    type_ = parameter.type
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if type_.is_complex:
        if isinstance(value, _NUMBERS):
            return complex(value)
        _wrong_kind(parameter, value, "a number is expected")
    if type_.is_float:
        if isinstance(value, _COMPLEX):
            _wrong_kind(parameter, value, f"a real number is expected; use {parameter.name}.real, or annotate the parameter lw.complex128")
        if isinstance(value, _REAL):
            try:
                return float(value)
            except OverflowError:
                raise ArgumentError(f"{parameter.name}: the integer given is too large for {type_.name}") from None
        _wrong_kind(parameter, value, "a number is expected")
    if type_ is BOOL:
        if isinstance(value, _TRUTH):
            return int(value)
        _wrong_kind(parameter, value, f"True or False is expected; use bool({parameter.name})")
    if isinstance(value, _WHOLE):
        whole = int(value)
        low, high = limits(type_)
        if low <= whole <= high:
            return whole
        # Python refuses to print integers of thousands of digits.
        shown = str(whole) if whole.bit_length() <= 1024 else f"an integer of {whole.bit_length()} bits"
        raise ArgumentError(f"{parameter.name}: {shown} is out of range for {type_.name}, which holds {low} to {high}")
    if type_ is PTR:
        return _pointer(parameter, value)
    if isinstance(value, float | np.floating):
        _wrong_kind(parameter, value, f"an integer is expected; use int({parameter.name})")
    _wrong_kind(parameter, value, "an integer is expected")


def _pointer(parameter: ScalarParameter, value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, ctypes._SimpleCData | ctypes.Array | ctypes._Pointer | ctypes.Structure | FunctionPointer):
        if isinstance(value, ctypes.c_void_p):
            return value.value or 0
        if isinstance(value, ctypes._Pointer | FunctionPointer):
            return ctypes.cast(value, ctypes.c_void_p).value or 0
        return ctypes.addressof(value)
    if isinstance(value, np.ndarray):
        _wrong_kind(parameter, value, f"an address is expected; use {parameter.name}.ctypes.data, and keep the array alive")
    _wrong_kind(parameter, value, "an address is expected: an int, None, or a ctypes object")


def _wrong_kind(parameter: ScalarParameter, value: object, advice: str) -> NoReturn:
    kind = type(value)
    what = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    shown = f" {value!r}" if isinstance(value, float | complex | str | bytes | np.generic) and len(repr(value)) < 40 else ""
    raise ArgumentError(f"{parameter.name}: got {what}{shown} for a parameter of type {parameter.type.name}; {advice}")
