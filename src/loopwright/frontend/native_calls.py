"""Calls of C functions and of other compiled functions, which generated code makes when it runs: ``lw.call``."""

from __future__ import annotations

import ctypes
from typing import Any, Final

from loopwright.errors import AbiError, KernelTypeError
from loopwright.frontend.expr import Value, ValueEmitter, describe
from loopwright.ir import ops
from loopwright.ir.function import Callee, Function
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type

__all__ = ["C_FUNCTION", "call_native", "callee_of", "native_call"]

#: The class of all ctypes functions and callbacks.
C_FUNCTION: Final[Any] = ctypes.CFUNCTYPE(None).__mro__[1]

_C_TYPES: Final[dict[Any, Type]] = {
    ctypes.c_bool: BOOL,
    ctypes.c_int8: I8,
    ctypes.c_uint8: U8,
    ctypes.c_int16: I16,
    ctypes.c_uint16: U16,
    ctypes.c_int32: I32,
    ctypes.c_uint32: U32,
    ctypes.c_int64: I64,
    ctypes.c_uint64: U64,
    ctypes.c_long: I64 if ctypes.sizeof(ctypes.c_long) == 8 else I32,
    ctypes.c_ulong: U64 if ctypes.sizeof(ctypes.c_ulong) == 8 else U32,
    ctypes.c_longlong: I64,
    ctypes.c_ulonglong: U64,
    ctypes.c_ssize_t: I64,
    ctypes.c_size_t: U64,
    ctypes.c_float: F32,
    ctypes.c_double: F64,
    ctypes.c_void_p: PTR,
    ctypes.c_char_p: PTR,
    ctypes.c_char: I8,
    ctypes.c_byte: I8,
    ctypes.c_ubyte: U8,
}


def native_call(function: Any, *args: Any) -> Any:
    """Call a C function, a ctypes callback, or another compiled function at run time, from a kernel or builder function.

    Args:
        function: a ctypes function with ``argtypes`` and ``restype`` set (from a library, or made with ``CFUNCTYPE`` from a Python
            function, which is kept alive), or a ``lw.Function``.
        args: run-time values or Python numbers, converted to the parameters' types.

    Returns:
        The result as a run-time value, or None where the function has none.
    """
    for arg in args:
        if isinstance(arg, Value):
            return call_native(arg.emitter, function, args)
    raise KernelTypeError("lw.call works inside a kernel (or use f.call of a builder function); to call a C function from Python, call it")


def callee_of(emitter: ValueEmitter, function: Any) -> Callee:
    """What the IR needs to know of a function that is called."""
    if isinstance(function, Callee):
        return function
    made = getattr(function, "__callee__", None)
    if made is not None:
        return made()  # type: ignore[no-any-return]
    if isinstance(function, Function):
        return Callee(function.name, [function.types[p] for p in function.params], function.result, 0, function)
    if isinstance(function, C_FUNCTION):
        argtypes = function.argtypes
        if argtypes is None:
            argtypes = getattr(type(function), "_argtypes_", None)
        name = getattr(function, "__name__", "") or "callback"
        if argtypes is None:
            emitter.fail(f"lw.call of the C function `{name}`: set its argtypes and restype first, as in {name}.argtypes = [ctypes.c_double]")
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        if not address:
            emitter.fail(f"lw.call of `{name}`: the function pointer is null")
        params = [_c_type(emitter, t, name) for t in argtypes]
        result = VOID if function.restype is None else _c_type(emitter, function.restype, name)
        return Callee(name, params, result, address, None, function)
    if callable(function):
        emitter.fail(
            f"lw.call of a Python function: call it as {getattr(function, '__name__', 'f')}(…) to inline it, or make a callback with ctypes.CFUNCTYPE(…) to call it at run time"
        )
    emitter.fail(f"lw.call takes a ctypes function or a lw.Function first, and then its arguments, as in lw.call(libm.sin, x[i]), not {describe(function)}")


def _c_type(emitter: ValueEmitter, type_: Any, name: str) -> Type:
    known = _C_TYPES.get(type_)
    if known is None and isinstance(type_, type) and issubclass(type_, ctypes._Pointer):
        known = PTR
    if known is None:
        raise AbiError(
            f"`{name}` has a parameter or result of type {getattr(type_, '__name__', type_)}, which generated code cannot pass",
            emitter.at_file,
            emitter.at_line,
        )
    return known


def call_native(emitter: ValueEmitter, function: Any, args: tuple[Any, ...]) -> Any:
    """Emit a call."""
    callee = callee_of(emitter, function)
    if emitter.in_lanes:
        emitter.fail(f"a call of `{callee.name}` inside lw.lanes: a C function takes one value at a time; use lw.range for this loop")
    if len(args) != len(callee.params):
        emitter.fail(f"`{callee.name}` takes {len(callee.params)} arguments, not {len(args)}")
    operands = [
        emitter.assignable(arg, type_, f"argument {position} of `{callee.name}`").operand
        for position, (arg, type_) in enumerate(zip(args, callee.params, strict=True), 1)
    ]
    f = emitter.f
    number = -1
    for k, known in enumerate(f.callees):
        if known is callee or known.keep is not None and known.keep is callee.keep or callee.function is not None and known.function is callee.function:
            number = k
    if number < 0:
        number = len(f.callees)
        f.callees.append(callee)
    if callee.result is VOID:
        emitter.emit(ops.CALL_VOID, VOID, operands, number)
        return None
    return emitter.value(ops.CALL, callee.result, operands, callee.result, VOID, number)
