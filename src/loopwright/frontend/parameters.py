"""The parameters of kernels: what annotations say of them, and what a call's arguments make of it."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any, Final

import numpy as np

from loopwright.errors import ArgumentError, KernelSyntaxError, LoopwrightError
from loopwright.frontend.annotations import ArrayType, Const, type_of_dtype
from loopwright.types import BF16, BOOL, COMPLEX128, F64, I64, U16, VOID, Type

__all__ = ["ARRAY", "CONST", "REQUIRED", "SCALAR", "Parameter", "annotation", "read_parameters", "signature", "small_extents"]

ARRAY: Final = 0
SCALAR: Final = 1
CONST: Final = 2

#: Stands for "no default" and "no annotation".
REQUIRED: Final[Any] = type("REQUIRED", (), {})

#: Extents between these are small: code that is made for them knows how often its innermost loops run.
FEWEST: Final = 2
SMALL: Final = 8

_PYTHON_TYPES: Final[dict[Any, Type]] = {int: I64, float: F64, bool: BOOL, complex: COMPLEX128}


#: Bits of a code object's flags.
_VARARGS: Final = 0x04
_VARKEYWORDS: Final = 0x08


class Parameter:
    """A parameter of a kernel.

    Attributes:
        name: its name.
        kind: ``ARRAY``, ``SCALAR`` or ``CONST``.
        type: the scalar's type or the array's element type; None where the argument decides.
        rank: of an array; 0 where the argument decides.
        default: the default value of a constant, or ``REQUIRED``.
    """

    __slots__ = ("default", "kind", "name", "rank", "type")

    def __init__(self, name: str, kind: int, type_: Type | None, rank: int, default: Any) -> None:
        self.name = name
        self.kind = kind
        self.type = type_
        self.rank = rank
        self.default = default


def read_parameters(function: Any) -> tuple[list[Parameter], Type]:
    """The parameters of a kernel, and the type of its result (VOID for none). Raises ``KernelSyntaxError`` for an annotation that a kernel does not understand."""
    if not isinstance(function, FunctionType):
        raise KernelSyntaxError(f"@lw.kernel goes on a Python function, not on {type(function).__name__}")
    code = function.__code__
    if code.co_flags & (_VARARGS | _VARKEYWORDS):
        raise _wrong(function, "a kernel has no *args or **kwargs: give each parameter a name, or pass a tuple to an lw.Const parameter")
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    defaults: dict[str, Any] = dict(function.__kwdefaults__ or {})
    given = function.__defaults__ or ()
    defaults.update(zip(names[count - len(given) : count], given, strict=True))
    annotations = function.__annotations__
    made = [_parameter(function, name, _evaluated(function, annotations.get(name, REQUIRED), name), defaults.get(name, REQUIRED)) for name in names]
    returned = annotation(function, "return")
    returned = _PYTHON_TYPES.get(returned, returned) if isinstance(returned, type) else returned
    if returned is REQUIRED or returned is None:
        return made, VOID
    if isinstance(returned, Type) and returned.is_complex:
        raise _wrong(function, f"the result is annotated lw.{returned}: a kernel returns one real number; store a complex one in an array of one element")
    if isinstance(returned, Type) and not returned.lanes:
        return made, returned
    raise _wrong(
        function,
        f"the result is annotated {returned!r}: a kernel returns one number (-> lw.f32, -> lw.i64, …) or nothing; results of other kinds are stored in arrays",
    )


def _wrong(function: Any, message: str) -> KernelSyntaxError:
    code = function.__code__
    return KernelSyntaxError(message, code.co_filename, code.co_firstlineno)


def annotation(function: Any, name: str) -> Any:
    """The value of the annotation of a parameter, or of the result (``return``); ``REQUIRED`` where there is none."""
    return _evaluated(function, function.__annotations__.get(name, REQUIRED), name)


def _evaluated(function: Any, annotation: Any, name: str) -> Any:
    """An annotation's value; those kept as text are evaluated where the function was defined."""
    if not isinstance(annotation, str):
        return annotation
    scope = dict(function.__globals__)
    if function.__closure__:
        for free, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True):
            try:
                scope[free] = cell.cell_contents
            except ValueError:
                continue
    try:
        return eval(annotation, scope)
    except (NameError, AttributeError, TypeError, ValueError, SyntaxError, LookupError, LoopwrightError) as error:
        raise _wrong(function, f"the annotation of `{name}` is {annotation!r}, which cannot be evaluated: {error}") from None


def _parameter(function: Any, name: str, annotation: Any, default: Any) -> Parameter:
    if isinstance(annotation, type) and annotation in _PYTHON_TYPES:
        annotation = _PYTHON_TYPES[annotation]
    if annotation is Const or annotation is REQUIRED and default is not REQUIRED:
        return Parameter(name, CONST, None, 0, default)
    if isinstance(annotation, ArrayType):
        return Parameter(name, ARRAY, annotation.element, annotation.rank, REQUIRED)
    if isinstance(annotation, Type) and not annotation.lanes and annotation is not VOID:
        return Parameter(name, SCALAR, annotation, 0, default)
    if annotation is REQUIRED:
        raise _wrong(
            function,
            f"the parameter `{name}` needs an annotation: lw.f32, lw.i64, … for a number, lw.Array for an array, lw.Const for a Python value known while compiling "
            "(a parameter with a default and no annotation is an lw.Const)",
        )
    raise _wrong(function, f"the parameter `{name}` is annotated {annotation!r}: use lw.f32, lw.i64, …, lw.Array, lw.Array[lw.f32, 2] or lw.Const")


def signature(name_of: str, parameters: list[Parameter], args: Sequence[Any], named: dict[str, Any]) -> list[Any]:
    """What to stage a kernel for, given the arguments of a call; one item a parameter: an ``ArrayType``, a ``Type``, or the value of a constant.

    Arguments may be arrays and numbers as in a call, or types: ``lw.Array[lw.f32]``, ``lw.f32``. Those whose annotation says
    it all may be left out.
    """
    if len(args) > len(parameters):
        raise ArgumentError(f"{name_of}() takes {len(parameters)} arguments ({', '.join(p.name for p in parameters)}), {len(args)} were given")
    items: list[Any] = []
    taken = 0
    for position, p in enumerate(parameters):
        name = p.name
        if position < len(args):
            if name in named:
                raise ArgumentError(f"{name_of}() got `{name}` twice")
            value = args[position]
        elif name in named:
            value = named[name]
            taken += 1
        else:
            value = REQUIRED
        items.append(value)
    if taken < len(named):
        names = [p.name for p in parameters]
        unknown = next(name for name in named if name not in names)
        raise ArgumentError(f"{name_of}() has no parameter `{unknown}`; it has {', '.join(names) or 'none'}")
    return [_signature_item(name_of, p, value) for p, value in zip(parameters, items, strict=True)]


def _signature_item(name_of: str, p: Parameter, value: Any) -> Any:
    if p.kind == CONST:
        if value is REQUIRED:
            value = p.default
        if value is REQUIRED:
            raise ArgumentError(f"{name_of}() needs a value for `{p.name}` (lw.Const) to be compiled")
        return value
    if p.kind == SCALAR:
        if isinstance(value, Type) and value is not p.type:
            raise ArgumentError(f"{p.name}: the parameter is annotated {p.type}, {value} was given")
        return p.type
    if value is REQUIRED:
        if p.type is None:
            raise ArgumentError(f"{name_of}() needs the type of `{p.name}` to be compiled: lw.Array[lw.f32], or an array like those it will be called with")
        return ArrayType(p.type, p.rank or 1)
    if isinstance(value, ArrayType):
        if p.type is None and not p.rank and value.element is not None and value.rank:
            return value
        element, rank = value.element or p.type, value.rank or p.rank or 1
    elif isinstance(value, np.ndarray):
        element, rank = type_of_dtype(value.dtype), value.ndim
        if element is None or not value.dtype.isnative:
            raise ArgumentError(f"{p.name}: arrays of {value.dtype} are not available")
        if element is U16 and p.type is BF16:
            # Its bits.
            element = BF16
    else:
        raise ArgumentError(f"{p.name}: an array or a type such as lw.Array[lw.f32] is needed, not {type(value).__name__}")
    if element is None:
        raise ArgumentError(f"{p.name}: lw.Array alone does not say the element type; write lw.Array[lw.f32]")
    if p.type is not None and element is not p.type or p.rank and rank != p.rank:
        raise ArgumentError(f"{p.name}: the parameter is annotated {ArrayType(p.type, p.rank or 1)}, {ArrayType(element, rank)} was given")
    if rank == 0:
        raise ArgumentError(f"{p.name}: an array of at least one dimension is needed")
    return ArrayType(element, rank, small_extents(value.shape) if isinstance(value, np.ndarray) else value.usual)


def small_extents(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extents of an array that code is made for besides that for any; () where none of them is small."""
    small = tuple([extent if FEWEST <= extent <= SMALL else 0 for extent in shape])
    return small if any(small) else ()
