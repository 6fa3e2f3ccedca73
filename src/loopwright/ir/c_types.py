"""The types of ctypes that arguments and results are given to C by, and functions of this process that C can call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final

from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type

__all__ = ["TO_C", "address_of", "callback", "declare"]

TO_C: Final[dict[Type, Any]] = {
    BOOL: ctypes.c_bool,
    I8: ctypes.c_int8,
    U8: ctypes.c_uint8,
    I16: ctypes.c_int16,
    U16: ctypes.c_uint16,
    I32: ctypes.c_int32,
    U32: ctypes.c_uint32,
    I64: ctypes.c_int64,
    U64: ctypes.c_uint64,
    F32: ctypes.c_float,
    F64: ctypes.c_double,
    PTR: ctypes.c_void_p,
}


def declare(function: Any, params: Sequence[Type], result: Type) -> bool:
    """Tell ctypes the types of a function; False where C has no such type."""
    if any(type_ not in TO_C for type_ in params) or (result is not VOID and result not in TO_C):
        return False
    function.argtypes = [TO_C[type_] for type_ in params]
    function.restype = TO_C.get(result)
    return True


def callback(function: Callable[..., Any], params: Sequence[Type], result: Type) -> Any:
    """A function that C can call, of one of Python; None where C has no such type. Pointers come as integers."""
    if any(type_ not in TO_C for type_ in params) or (result is not VOID and result not in TO_C):
        return None

    def call(*args: Any) -> Any:
        return function(*[0 if value is None else value for value in args])

    return ctypes.CFUNCTYPE(TO_C.get(result), *[TO_C[type_] for type_ in params])(call)


def address_of(function: Any) -> int:
    """The address of a function of ctypes."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
