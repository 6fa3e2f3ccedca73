"""From a call's arguments to the code compiled for them.

A kernel is compiled once for each *key*: the element types and ranks of its arrays, the types of its scalars, and the values of its
``Const`` parameters. Values count as the same only if the compiled code would be the same: 1, 1.0 and True differ, as
do 0.0 and -0.0; a NaN is the same as itself.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import struct
import threading
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from loopwright.errors import ArgumentError, KernelTypeError
from loopwright.runtime.arrays import ArrayParameter, admit, instead_of_structures
from loopwright.runtime.call import miscounted, missing
from loopwright.runtime.code import Code
from loopwright.runtime.entry import Hub
from loopwright.runtime.scalars import FunctionPointer
from loopwright.types import BF16, BOOL, COMPLEX64, COMPLEX128, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Type

__all__ = ["ARRAY", "CONST", "SCALAR", "Dispatcher", "Formal", "Frozen", "Key", "Specializations", "freeze", "signature_of"]

ARRAY: Final = 0
SCALAR: Final = 1
CONST: Final = 2

#: Stands for "no default".
REQUIRED: Final = missing


class Formal:
    """A kernel's parameter as it was declared.

    Attributes:
        name: of the parameter.
        kind: ``ARRAY``, ``SCALAR`` or ``CONST``.
        type: element type or scalar type; None where the argument decides.
        rank: of an array; 0 where the argument decides.
        default: value where no argument is given, or ``REQUIRED``.
    """

    __slots__ = ("default", "kind", "name", "rank", "type")

    def __init__(self, name: str, kind: int, type_: Type | None = None, rank: int = 0, default: object = REQUIRED) -> None:
        self.name = name
        self.kind = kind
        self.type = type_
        self.rank = rank
        self.default = default


class Frozen:
    """The value of a ``Const`` parameter in a key: equal to another if the two have the same types and bits throughout."""

    __slots__ = ("token", "value")

    def __init__(self, value: object) -> None:
        self.value = value
        self.token = freeze(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self.token == other.token

    def __hash__(self) -> int:
        return hash(self.token)

    def __repr__(self) -> str:
        return f"Frozen({self.value!r})"


#: One item for each parameter: (element type, rank) of an array, the type of a scalar, the value of a constant.
Item = tuple[Type, int] | Type | Frozen
Key = tuple[Item, ...]


def freeze(value: object) -> object:
    """Something hashable that is equal for two values exactly if they are alike for a compiler.

    Numbers, strings, None, ranges, slices, NumPy scalars and arrays count by type and bits; tuples, lists, dicts (in their order) and sets by what is
    in them; functions, kernels, classes, modules, types and enum members by identity; methods and partial functions by the function and what is
    bound to it; C functions by address and declared types.

    Raises:
        ArgumentError: a value of another kind, or one that contains itself.
    """
    # Not __class__, which an object may lie about.
    kind = type(value)
    if kind is tuple or kind is list:
        # The usual case, coefficients, in one step.
        for item in value:  # type: ignore[attr-defined]
            if type(item) is not float:
                break
        else:
            return kind, struct.pack(f"{len(value)}d", *value)  # type: ignore
    try:
        return _freeze(value)
    except RecursionError:
        raise ArgumentError("a Const argument contains itself") from None


def _freeze(value: Any) -> object:
    kind = type(value)
    if kind is float:
        return kind, struct.pack("d", value)
    if kind is int or kind is bool or kind is str or kind is bytes or value is None or value is Ellipsis or value is NotImplemented:
        return kind, value
    if kind is tuple and value and all(type(item) is float for item in value):
        return kind, struct.pack(f"{len(value)}d", *value)
    if kind is tuple or kind is list:
        return kind, tuple([_freeze(item) for item in value])
    if kind is dict:
        return kind, tuple([(_freeze(key), _freeze(item)) for key, item in value.items()])
    if kind is set or kind is frozenset:
        return kind, frozenset([_freeze(item) for item in value])
    if kind is complex:
        return kind, struct.pack("dd", value.real, value.imag)
    if kind is range or kind is slice:
        return kind, _freeze(value.start), _freeze(value.stop), _freeze(value.step)
    if issubclass(kind, np.generic) and not value.dtype.hasobject:
        return kind, value.dtype, value.tobytes()
    if kind is np.ndarray and not value.dtype.hasobject:
        return kind, value.dtype, value.shape, value.tobytes()
    if _is_bound(value):
        # A new object each time it is looked up in its owner.
        return kind, value.__name__, _freeze(value.__self__)
    if issubclass(kind, _BY_IDENTITY):
        return _Same(value)
    if kind is types.MethodType:
        return kind, _freeze(value.__func__), _freeze(value.__self__)
    if kind is functools.partial:
        return kind, _freeze(value.func), _freeze(value.args), _freeze(value.keywords)
    if issubclass(kind, FunctionPointer):
        # What it points to may be something else once it is gone.
        return kind, ctypes.cast(value, ctypes.c_void_p).value, _types_of(value.argtypes), _Same(value.restype), _Kept(value)
    if issubclass(kind, tuple) and not getattr(value, "__dict__", None):
        # A named tuple: its class may have methods.
        return kind, tuple([_freeze(item) for item in value])
    if getattr(value, "__loopwright_constant__", False) is True:
        return _Same(value)
    raise ArgumentError(
        f"a Const argument of type {kind.__module__}.{kind.__qualname__} is not available: it could change without the compiled code noticing. "
        "Pass numbers, strings, tuples, lists, dicts, NumPy arrays or functions"
    )


def _types_of(argtypes: Any) -> object:
    return None if argtypes is None else tuple([_Same(type_) for type_ in argtypes])


def _is_bound(value: object) -> bool:
    """Whether a value is a method of an object, made by CPython or an extension."""
    if type(value) is types.MethodWrapperType:
        return True
    return type(value) is types.BuiltinFunctionType and value.__self__ is not None and type(value.__self__) is not types.ModuleType


class _Same:
    """Equal for one and the same object only, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class _Kept(_Same):
    """Equal to every other; it keeps an object alive."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kept)

    def __hash__(self) -> int:
        return 0


_BY_IDENTITY: Final = (Type, type, enum.Enum, np.dtype, np.ufunc, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
_IMMUTABLE: Final = frozenset((int, float, bool, complex, str, bytes, type(None)))


def _is_immutable(value: object) -> bool:
    """Whether the same object always means the same value."""
    if type(value) is tuple:
        return all(_is_immutable(item) for item in value)
    return type(value) in _IMMUTABLE or issubclass(type(value), _BY_IDENTITY) and not _is_bound(value)


#: Types of scalar arguments whose parameter has no annotation.
_SCALAR_TYPES: Final[dict[type, Type]] = {
    bool: BOOL,
    int: I64,
    float: F64,
    np.bool_: BOOL,
    np.int8: I8,
    np.uint8: U8,
    np.int16: I16,
    np.uint16: U16,
    np.int32: I32,
    np.uint32: U32,
    np.int64: I64,
    np.uint64: U64,
    np.float16: F16,
    np.float32: F32,
    np.float64: F64,
    complex: COMPLEX128,
    np.complex64: COMPLEX64,
    np.complex128: COMPLEX128,
}
_ELEMENT_TYPES: Final[dict[str, Type]] = {t.dtype: t for t in (I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64, BOOL, COMPLEX64, COMPLEX128)}
# (Of the package ml_dtypes.)
_ELEMENT_TYPES["bfloat16"] = BF16


def signature_of(args: tuple[object, ...], formals: list[Formal]) -> Key:
    """The key of a call: what its arguments say together with the declarations.

    Raises:
        ArgumentError: an argument that cannot be one, or contradicts its parameter's declaration.
    """
    return tuple([_item(value, formal) for value, formal in zip(args, formals, strict=True)])


def _item(value: object, formal: Formal) -> Item:
    name = formal.name
    if formal.kind == CONST:
        try:
            return Frozen(value)
        except ArgumentError as error:
            raise ArgumentError(f"{name}: {error.message}") from None
    if formal.kind == SCALAR:
        if formal.type is not None:
            return formal.type
        type_ = _SCALAR_TYPES.get(value.__class__)
        if type_ is None and isinstance(value, np.generic) and value.dtype.name == "bfloat16":
            type_ = BF16
        if type_ is None:
            hint = "; annotate the parameter with lw.Array" if isinstance(value, np.ndarray) else ""
            raise ArgumentError(f"{name}: a number is expected, got {type(value).__name__}{hint}")
        return type_
    if not isinstance(value, np.ndarray):
        # Explains what was given, with what is known of what is expected.
        if formal.type is not None:
            admit(ArrayParameter(name, formal.type, formal.rank or 1, False), value)
        raise ArgumentError(f"{name}: a NumPy array is expected, got {type(value).__name__}; use np.asarray({name})")
    element = formal.type
    if element is None:
        element = _ELEMENT_TYPES.get(value.dtype.name) if value.dtype.isnative else None
        if element is None:
            if value.dtype.names:
                raise ArgumentError(f"{name}: arrays of structures are not available; {instead_of_structures(name, value.dtype)}")
            what = value.dtype.name if value.dtype.isnative else value.dtype.str + " (the other byte order)"
            to = "np.float32" if value.dtype.isnative else f'{name}.dtype.newbyteorder("=")'
            raise ArgumentError(f"{name}: arrays of {what} are not available; convert it, for example with {name}.astype({to})")
    rank = formal.rank or value.ndim
    if rank == 0:
        raise ArgumentError(f"{name}: an array of at least 1 dimension is expected, got one of 0; use np.atleast_1d({name}), or a scalar parameter")
    return element, rank


class Specializations:
    """Compiled code by key; thread-safe.

    Two threads that want the same key compile it once, and one waits for the other; different keys compile side by side. When a compilation
    raises, it does so in the thread that tried; a thread that waited tries by itself.

    Args:
        compile: makes the code for a key.
    """

    __slots__ = ("_busy", "_compile", "_lock", "_ready")

    def __init__(self, compile: Callable[[Any], Code]) -> None:
        self._compile = compile
        self._ready: dict[object, Code] = {}
        self._busy: dict[object, tuple[threading.Event, int]] = {}
        self._lock = threading.Lock()

    def get(self, key: object, compile: Callable[[Any], Code] | None = None) -> Code:
        """The code for a key, compiled if need be.

        Args:
            key: what the code depends on.
            compile: what makes it, where that knows more than the key; None for what makes all others.

        Raises:
            KernelTypeError: compiling this key needs this key.
            Exception: whatever the compilation raised.
        """
        ready = self._ready
        while True:
            code = ready.get(key)
            if code is not None:
                return code
            with self._lock:
                code = ready.get(key)
                if code is not None:
                    return code
                busy = self._busy.get(key)
                if busy is None:
                    done = threading.Event()
                    self._busy[key] = (done, threading.get_ident())
                    break
            if busy[1] == threading.get_ident():
                raise KernelTypeError("a kernel calls itself while it is being compiled for the same types: recursion is not available, use a loop")
            busy[0].wait()
        try:
            code = (compile or self._compile)(key)
            ready[key] = code
            return code
        finally:
            with self._lock:
                del self._busy[key]
            done.set()

    def __len__(self) -> int:
        return len(self._ready)

    def clear(self) -> None:
        """Forget all code; what is in use elsewhere stays valid."""
        self._ready.clear()


class Dispatcher:
    """Calls a kernel with whatever arguments: finds or compiles the code for them, and runs it.

    ``call`` is what to call. The last specialisation used is reached without any Python code (see ``entry.Hub``), if the
    values of ``Const`` parameters are immutable; any other by one look into a dictionary.

    Args:
        name: the kernel's.
        formals: its parameters.
        compile: makes the code for a key; ``given`` are the arguments of the call that asks for it, which tell what is usual.
    """

    __slots__ = ("__weakref__", "_compile", "_formals", "_hub", "_slow", "_there", "call", "specializations")

    def __init__(self, name: str, formals: list[Formal], compile: Callable[..., Code]) -> None:
        self._formals = formals
        self._compile = compile
        self.specializations = Specializations(compile)
        self._slow = 0
        self._there: tuple[object, ...] = ()
        self._hub: Hub | None = None
        slow = _make_call(name, formals, self._find, self._noticed)
        self._hub = Hub(name, slow)
        self.call: Callable[..., Any] = self._hub.function

    def _find(self, values: tuple[object, ...]) -> Code:
        code = self.specializations.get(signature_of(values, self._formals), functools.partial(self._compile, given=values))
        self._slow = 0
        return code

    def _noticed(self, code: Code, values: tuple[object, ...]) -> None:
        """A call took the slow way to this code: point the quick way at it, at every first, second, fourth, eighth, … such call.

        So calls that go to and fro between specialisations, or can never take the quick way, cost little; and one that
        becomes usual gets it in the end.
        """
        self._slow += 1
        if self._slow & (self._slow - 1) or self._hub is None or not code.address:
            return
        constants = {k: value for k, (value, formal) in enumerate(zip(values, self._formals, strict=True)) if formal.kind == CONST}
        there = (code, *map(id, constants.values()))
        if there != self._there and all(_is_immutable(value) for value in constants.values()):
            self._there = there
            undeclared = tuple([k for k, formal in enumerate(self._formals) if formal.kind == SCALAR and formal.type is None])
            self._hub.point_at(code.signature, code.address, code, constants, [formal.name for formal in self._formals], undeclared)


@functools.lru_cache(256)
def _compiled(source: str) -> types.CodeType:
    """The code of a function that calls: kernels whose parameters have the same names and kinds share it."""
    return compile(source, "<call>", "exec")


def _make_call(
    name: str, formals: list[Formal], find: Callable[[tuple[object, ...]], Code], noticed: Callable[[Code, tuple[object, ...]], None]
) -> Callable[..., Any]:
    names = [formal.name for formal in formals]
    known: dict[str, Any] = {
        "__name__": __name__,
        "_lw_quick": {},
        "_lw_find": find,
        "_lw_noticed": noticed,
        "_lw_freeze": freeze,
        "_lw_missing": missing,
        "_lw_miscounted": miscounted,
        "_lw_name": name,
        "_lw_names": names,
    }
    parts: list[str] = []
    heads: list[str] = []
    for k, formal in enumerate(formals):
        known[f"_lw_default{k}"] = formal.default
        heads.append(f"{formal.name}=_lw_default{k}, ")
        if formal.kind == ARRAY:
            parts.append(f"{formal.name}.dtype, {formal.name}.ndim, ")
        elif formal.kind == CONST:
            parts.append(f"_lw_freeze({formal.name}), ")
        elif formal.type is None:
            parts.append(f"{formal.name}.__class__, ")
    values = "".join(f"{n}, " for n in names)
    absent = "".join(f"{n} is _lw_missing or " for n in names)
    run_time = ", ".join(formal.name for formal in formals if formal.kind != CONST)
    source = f"""\
def _lw_call({"".join(heads)}*_lw_extra, **_lw_unknown):
 try:
  if {absent}_lw_extra or _lw_unknown:
    _lw_miscounted(_lw_name, _lw_names, ({values}), _lw_extra, _lw_unknown)
  _lw_key = None
  try:
    _lw_key = ({"".join(parts)})
    _lw_code = _lw_quick.get(_lw_key)
  except Exception:
    _lw_code = _lw_key = None
  if _lw_code is None:
    _lw_code = _lw_find(({values}))
    if _lw_key is not None:
      _lw_quick[_lw_key] = _lw_code
  _lw_noticed(_lw_code, ({values}))
  return _lw_code({run_time})
 except Exception as _lw_error:
  from loopwright.tracebacks import shorten as _lw_shorten
  _lw_shorten(_lw_error)
  raise
"""
    exec(_compiled(source), known)  # noqa: S102 (written from the declarations alone)
    made = known["_lw_call"]
    made.__code__ = made.__code__.replace(co_filename=f"<call of {name}>")
    # Python's own message for an argument given twice speaks of it.
    made.__name__ = made.__qualname__ = name
    call: Callable[..., Any] = made
    return call
