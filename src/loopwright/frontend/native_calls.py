"""Calls of C functions and of other compiled functions, which generated code makes when it runs: ``lw.call``."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from loopwright.errors import AbiError, KernelTypeError
from loopwright.frontend.expr import ValueEmitter, describe
from loopwright.ir import ops
from loopwright.ir.c_types import address_of, declare
from loopwright.ir.effects import mark_written
from loopwright.ir.function import Array, Callee, Function, Global, Instr, Mem
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type

__all__ = ["C_FUNCTION", "c_callee", "call_native", "callee_of", "in_order", "in_process", "native_call"]

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


#: Besides what is linked into the process: where the functions of the C library are that it may lack.
_LIBRARIES: Final = (None, "libm.so.6", "libgcc_s.so.1")
#: What the C library links statically into every program, and what does the same here: a function that is called at the end ignores what it is passed.
_STATIC: Final = {"atexit": "on_exit"}


def in_process(wanted: Callee | Global) -> Callee | Global | None:
    """A function or a variable of the C library, or of what else this process has loaded for everyone, by its name; None where there is none.

    Nothing is known of its types: they are taken to be what the caller says.
    """
    for name in _LIBRARIES:
        try:
            # (The interpreter keeps errno between the calls of a program.)
            library = ctypes.CDLL(name, use_errno=True)
            symbol = library[_STATIC.get(wanted.name, wanted.name)]
        except (OSError, TypeError, ValueError, AttributeError):
            continue
        address = address_of(symbol)
        if isinstance(wanted, Global):
            return Global(wanted.name, wanted.size, wanted.align, address=address, keep=library)
        if not declare(symbol, wanted.params, wanted.result):
            return None
        return Callee(wanted.name, wanted.params, wanted.result, address, None, symbol, wanted.named, False, wanted.places, wanted.results)
    return None


def native_call(function: Any, *args: Any, **named: Any) -> Any:
    """Call a C function, a ctypes callback, or another compiled function at run time, from a kernel or builder function.

    Args:
        function: a ctypes function with ``argtypes`` and ``restype`` set (from a library, or made with ``CFUNCTYPE`` from a Python
            function, which is kept alive), or a ``lw.Function``.
        args: run-time values or Python numbers, converted to the parameters' types.
        named: the same by the names of the parameters, of compiled functions.

    Returns:
        The result as a run-time value, or None where the function has none.
    """
    for arg in (*args, *named.values()):
        emitter = getattr(arg, "emitter", None)
        if emitter is not None:
            return call_native(emitter, function, args, named)
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
        return c_callee(function, emitter)
    if callable(function):
        emitter.fail(
            f"lw.call of a Python function: call it as {getattr(function, '__name__', 'f')}(…) to inline it, or make a callback with ctypes.CFUNCTYPE(…) to call it at run time"
        )
    emitter.fail(f"lw.call takes a ctypes function or a lw.Function first, and then its arguments, as in lw.call(libm.sin, x[i]), not {describe(function)}")


def c_callee(function: Any, emitter: ValueEmitter | None = None) -> Callee:
    """What the IR needs to know of a C function: its types by ctypes, its address in this process.

    Raises ``KernelTypeError`` where ctypes has not been told its types, or the pointer is null; ``AbiError`` for a type that cannot be passed. Where
    there is an emitter, with the line it is at.
    """
    argtypes = function.argtypes
    if argtypes is None:
        argtypes = getattr(type(function), "_argtypes_", None)
    name = getattr(function, "__name__", "") or "callback"
    if argtypes is None:
        _fail(emitter, f"lw.call of the C function `{name}`: set its argtypes and restype first, as in {name}.argtypes = [ctypes.c_double]")
    address = address_of(function)
    if not address:
        _fail(emitter, f"lw.call of `{name}`: the function pointer is null")
    params = [_c_type(emitter, t, name) for t in argtypes]
    result = VOID if function.restype is None else _c_type(emitter, function.restype, name)
    return Callee(name, params, result, address, None, function)


def _fail(emitter: ValueEmitter | None, message: str) -> NoReturn:
    if emitter is not None:
        emitter.fail(message)
    raise KernelTypeError(message)


def _c_type(emitter: ValueEmitter | None, type_: Any, name: str) -> Type:
    known = _C_TYPES.get(type_)
    if known is None and isinstance(type_, type) and issubclass(type_, ctypes._Pointer):
        known = PTR
    if known is None:
        message = f"`{name}` has a parameter or result of type {getattr(type_, '__name__', type_)}, which generated code cannot pass"
        if emitter is None:
            raise AbiError(message)
        raise AbiError(message, emitter.at_file, emitter.at_line)
    return known


#: What a parameter of a compiled function is: its name, its type or that of its elements, and of an array its dimensions, otherwise 0.
Described = tuple[str, Type, int]


def in_order(emitter: ValueEmitter, function: Any, callee: Callee, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call by position, of some that are given by name."""
    described: list[Described] | None = getattr(function, "__parameters__", None)
    if described is None:
        emitter.fail(f"`{callee.name}` takes its arguments by position: its parameters have no names; `{next(iter(named))}` is given by name")
    names = [name for name, _, _ in described]
    for name in named:
        if name not in names:
            emitter.fail(f"`{callee.name}` has no parameter `{name}`; it has {', '.join(names) or 'none'}")
        if names.index(name) < len(args):
            emitter.fail(f"`{callee.name}` got `{name}` twice")
    rest = names[len(args) :]
    for name in rest:
        if name not in named:
            emitter.fail(f"`{callee.name}` needs an argument for `{name}`")
    return (*args, *(named[name] for name in rest))


def _operands(emitter: ValueEmitter, function: Any, callee: Callee, args: tuple[Any, ...]) -> list[int]:
    """The operands of a call: an array takes several, or is a pointer where C takes one."""
    described: list[Described] = getattr(function, "__parameters__", None) or [("", type_, 0) for type_ in callee.params]
    if len(args) != len(described):
        emitter.fail(f"`{callee.name}` takes {len(described)} arguments, not {len(args)}")
    operands: list[int] = []
    for position, (arg, (_, type_, rank)) in enumerate(zip(args, described, strict=True), 1):
        what = f"argument {position} of `{callee.name}`"
        array: Array | None = getattr(arg, "array", None) if hasattr(arg, "emitter") else None
        if rank:
            if array is None or array.element is not type_ or array.rank != rank:
                given = describe(arg) if array is None else f"{array.name}, an array of {array.element} with {array.rank} dimension{'s' * (array.rank > 1)}"
                emitter.fail(f"{what} is an array of {type_} with {rank} dimension{'s' * (rank > 1)}, not {given}")
            operands += [array.base, *array.extents, *array.strides]
        elif array is not None and type_ is PTR:
            # Whoever takes a pointer may write there.
            array.written = True
            operands.append(array.base)
        else:
            operands.append(emitter.assignable(arg, type_, what).operand)
    if getattr(function, "__checked__", False):
        if emitter.errors < 0:
            emitter.fail(f"`{callee.name}` is checked (check=True), and what calls it must be so too")
        operands.append(emitter.errors)
    return operands


def _pass_on(emitter: ValueEmitter) -> None:
    """Behind a call of a checked function: where it has failed, its caller returns too."""
    f = emitter.f
    failed = f.register(I64)
    emitter.code.append(Instr(ops.LOAD_AT, I64, failed, [emitter.errors], 0, emitter.line, VOID, Mem(False, 1, 0, 8)))
    emitter.open(ops.IF, VOID, [emitter.define(ops.NE, I64, [failed, f.const(I64, 0)], BOOL)])
    emitter.emit(ops.RET, f.result, [] if f.result is VOID else [f.const(f.result, 0)])
    emitter.close()


def call_native(emitter: ValueEmitter, function: Any, args: tuple[Any, ...], named: Mapping[str, Any] | None = None) -> Any:
    """Emit a call."""
    callee = callee_of(emitter, function)
    if named:
        args = in_order(emitter, function, callee, args, named)
    if emitter.in_lanes:
        emitter.fail(f"a call of `{callee.name}` inside lw.lanes: a function that is called at run time takes one value at a time; use lw.range for this loop")
    operands = _operands(emitter, function, callee, args)
    f = emitter.f
    number = -1
    for k, known in enumerate(f.callees):
        if known is callee or known.keep is not None and known.keep is callee.keep or callee.function is not None and known.function is callee.function:
            number = k
    if number < 0:
        number = len(f.callees)
        f.callees.append(callee)
    if callee.function is not None:
        mark_written(f, callee.function, operands)
    made: Any = None
    if callee.result is VOID:
        emitter.emit(ops.CALL_VOID, VOID, operands, number)
    else:
        made = emitter.value(ops.CALL, callee.result, operands, callee.result, VOID, number)
    if getattr(function, "__checked__", False):
        _pass_on(emitter)
    return made
