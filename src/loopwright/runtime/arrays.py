"""NumPy arrays as arguments of kernels: what is checked, and the integers that are passed.

A kernel receives for each array the address of its first element, its extents, and the strides in bytes of all dimensions
but the last. Before anything runs, the array's dtype, rank, strides and writability are checked; alignment is not, since
generated code assumes none.

How to get an array's address from Python, measured on CPython 3.11 with NumPy 2.4 (nanoseconds a time, one core of an AMD EPYC 9004):

==================================================  =====
 ``a.ctypes.data``                                    950
 ``a.__array_interface__["data"][0]``                1000
 ``ctypes.addressof(c_char.from_buffer(a))``          250   (only writable, contiguous arrays)
 ``c_void_p.from_address(id(a) + 16).value``          115
==================================================  =====

The last reads the field ``data`` of NumPy's ``PyArrayObject_fields``. That struct is part of NumPy's C interface: extension modules have its offsets compiled
in, so it cannot change without breaking them. It is used after ``layout_holds`` has compared every field used with what the documented
interface says, on arrays of several kinds; where they differ (another Python implementation, another object header) ``ctypes.data`` takes its place.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from loopwright.errors import ArgumentError, OverlapError
from loopwright.types import BF16, Type

__all__ = ["UNUSED", "ArrayParameter", "address_of", "admit", "bind", "check_overlap", "instead_of_structures", "layout_holds", "overlap", "shape_passed"]

# numpy/ndarraytypes.h, struct tagPyArrayObject_fields, after the object header of 16 bytes.
DATA: Final = 16
RANK: Final = 24
EXTENTS: Final = 32
STRIDES: Final = 40
DESCR: Final = 56
FLAGS: Final = 64
#: NPY_ARRAY_WRITEABLE
WRITEABLE: Final = 0x0400

#: In place of a group: the array is not accessed.
UNUSED: Final = -2
#: Steps `np.shares_memory` may take to solve for an overlap exactly, before arrays count as overlapping.
OVERLAP_WORK: Final = 100_000


class ArrayParameter:
    """An array parameter as a call sees it.

    Attributes:
        name: the user's name for it.
        element: type of its elements, complex ones included.
        rank: number of dimensions.
        written: the function stores to it.
        pairs: its elements are complex numbers, which the function takes for twice as many floats.
        dtype: the NumPy dtype its argument must have. (That of bf16 elements is ml_dtypes' where this package is loaded, else uint16: either is taken, as bits.)
    """

    __slots__ = ("dtype", "element", "name", "pairs", "rank", "written")

    def __init__(self, name: str, element: Type, rank: int, written: bool) -> None:
        self.name = name
        self.element = element
        self.rank = rank
        self.written = written
        self.pairs = element.is_complex
        self.dtype: np.dtype[Any] = _bf16_dtype() if element is BF16 else _dtypes.get(element) or _dtypes.setdefault(element, np.dtype(element.dtype))


def _bf16_dtype() -> np.dtype[Any]:
    package = sys.modules.get("ml_dtypes")
    return np.dtype(package.bfloat16 if package is not None else np.uint16)


_dtypes: dict[Type, np.dtype[Any]] = {}
_BF16_DTYPES: Final = ("uint16", "bfloat16")
_holds: bool | None = None


def layout_holds() -> bool:
    """Whether the fields of an array object are where NumPy's header says, in this process."""
    global _holds
    if _holds is None:
        _holds = _compare_layout()
    return _holds


def _compare_layout() -> bool:
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little" or object.__basicsize__ != 16:
        return False
    plane = np.arange(60, dtype=np.float32).reshape(5, 12)
    frozen = np.zeros(3, np.uint8)
    frozen.flags.writeable = False
    for array in (
        plane,
        plane[1:, 2:7],
        plane[::-2, ::3],
        plane.T,
        plane[2, 3:],
        frozen,
        np.zeros((0, 4), np.int64),
        np.broadcast_to(np.float64(1), (2, 3, 4)),
        np.array(7),
    ):
        here = id(array)
        interface = array.__array_interface__
        rank = array.ndim

        def field(offset: int, at: int = here) -> int:
            return ctypes.c_int64.from_address(at + offset).value

        if field(8) != id(np.ndarray) or field(DATA) != interface["data"][0] or ctypes.c_int32.from_address(here + RANK).value != rank:
            return False
        extents, strides = field(EXTENTS), field(STRIDES)
        if rank and tuple((ctypes.c_int64 * rank).from_address(extents)) != array.shape:
            return False
        if rank and tuple((ctypes.c_int64 * rank).from_address(strides)) != array.strides:
            return False
        if field(DESCR) != id(array.dtype):
            return False
        if bool(ctypes.c_int32.from_address(here + FLAGS).value & WRITEABLE) != array.flags.writeable:
            return False
    return True


def _address_by_interface(array: np.ndarray[Any, Any]) -> int:
    return int(array.ctypes.data)


def _address_by_layout(array: np.ndarray[Any, Any]) -> int:
    return ctypes.c_int64.from_address(id(array) + DATA).value


def address_of() -> Callable[[np.ndarray[Any, Any]], int]:
    """The quickest sound function from an array to the address of its first element."""
    return _address_by_layout if layout_holds() else _address_by_interface


def bind(parameter: ArrayParameter, value: object) -> list[int]:
    """What is passed for an array argument: address, extents, strides of all dimensions but the last.

    Raises:
        ArgumentError: the argument does not fit the parameter.
    """
    array = admit(parameter, value)
    return [address_of()(array), *shape_passed(parameter, array), *array.strides[:-1]]


def shape_passed(parameter: ArrayParameter, array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """The extents that are passed for an array: of complex numbers the last is that of their parts."""
    shape = array.shape
    return (*shape[:-1], 2 * shape[-1]) if parameter.pairs else shape


def admit(parameter: ArrayParameter, value: object) -> np.ndarray[Any, Any]:
    """The argument, known to fit the parameter, as a plain ``numpy.ndarray``.

    Raises:
        ArgumentError: says which parameter, what was given, what is expected, and what to do.
    """
    name = parameter.name
    if not issubclass(type(value), np.ndarray):
        _not_an_array(parameter, value)
    assert isinstance(value, np.ndarray)
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(value, masked.MaskedArray):
        raise ArgumentError(
            f"{name}: a masked array was given, and a kernel would ignore its mask; pass {name}.filled(…), or {name}.data together with a condition of its own"
        )
    # A plain view: a subclass may say of its memory what it likes.
    array = np.asarray(value)
    if array.dtype != parameter.dtype and not (parameter.element is BF16 and array.dtype.name in _BF16_DTYPES and array.dtype.isnative):
        _wrong_dtype(parameter, array)
    rank = parameter.rank
    if array.ndim != rank:
        advice = (
            f"np.atleast_1d({name})"
            if array.ndim == 0 and rank == 1
            else f"{name}.reshape(…), or {name}[np.newaxis]"
            if array.ndim < rank
            else f"{name}.reshape(…), {name}.ravel(), or an index such as {name}[0]"
        )
        otherwise = f", or compile for {_dimensions(array.ndim)}" if array.ndim else ""
        raise ArgumentError(f"{name}: an array of {_dimensions(rank)} is expected, got {_dimensions(array.ndim)}, shape {array.shape}; use {advice}{otherwise}")
    if parameter.written and not array.flags.writeable:
        raise ArgumentError(
            f"{name}: the kernel writes to this array, which is read-only; pass {name}.copy(), or set {name}.flags.writeable = True if it owns its memory"
        )
    if array.size:
        _check_strides(parameter, array)
    return array


def _check_strides(parameter: ArrayParameter, array: np.ndarray[Any, Any]) -> None:
    name = parameter.name
    if array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
        if parameter.written:
            advice = f"work on a copy: t = np.ascontiguousarray({name}); then, after the call, {name}[...] = t"
        else:
            advice = f"use np.ascontiguousarray({name})"
        transposed = " (it looks transposed: the unit stride is in another dimension)" if array.itemsize in array.strides[:-1] else ""
        raise ArgumentError(
            f"{name}: neighbours in the last dimension must be adjacent in memory, {array.itemsize} bytes apart; here they are {array.strides[-1]} apart{transposed}; {advice}"
        )
    if parameter.written:
        for dimension in range(array.ndim - 1):
            if array.strides[dimension] == 0 and array.shape[dimension] > 1:
                raise ArgumentError(
                    f"{name}: the kernel writes to this array, but the {array.shape[dimension]} elements along dimension {dimension} are one and the same in memory (stride 0, from broadcasting); use {name}.copy()"
                )


def _dimensions(rank: int) -> str:
    return "1 dimension" if rank == 1 else f"{rank} dimensions"


def _wrong_dtype(parameter: ArrayParameter, array: np.ndarray[Any, Any]) -> NoReturn:
    name = parameter.name
    expected = parameter.dtype
    if array.dtype.kind == expected.kind and array.dtype.newbyteorder("=") == expected:
        raise ArgumentError(
            f"{name}: elements of {expected.name} in this machine's byte order are expected, got {array.dtype.str}; use {name}.astype(np.{expected.name})"
        )
    if array.dtype.names is not None:
        raise ArgumentError(
            f"{name}: an array of {expected.name} is expected, got one of structures, which are not available; {instead_of_structures(name, array.dtype)}"
        )
    got = array.dtype.name
    advice = f"allocate it with dtype=np.{expected.name}" if parameter.written else f"use {name}.astype(np.{expected.name})"
    other = f", or compile the kernel for {got}" if array.dtype.kind in "biufc" else ""
    raise ArgumentError(f"{name}: an array of {expected.name} is expected, got {got}; {advice}{other}")


def instead_of_structures(name: str, dtype: np.dtype[Any]) -> str:
    """What to pass for an array of structures."""
    names = dtype.names
    assert names is not None
    return (
        f"where all fields are of one type, pass {name}.view(np.float32), or whichever it is, and take them in turn, as in {name}[{len(names)} * i]; "
        f"else a copy of a field, {name}[{names[0]!r}].copy()"
    )


def _not_an_array(parameter: ArrayParameter, value: object) -> NoReturn:
    name = parameter.name
    expected = f"a NumPy array of {parameter.dtype.name} with {_dimensions(parameter.rank)} is expected"
    kind = type(value)
    where = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    device = getattr(value, "__dlpack_device__", None)
    if device is not None:
        if int(device()[0]) != 1:  # kDLCPU
            raise ArgumentError(f"{name}: {expected}, got {where}, whose memory is on another device; copy it to the CPU first")
        raise ArgumentError(f"{name}: {expected}, got {where}; use np.from_dlpack({name}), which shares its memory")
    if hasattr(value, "__cuda_array_interface__"):
        raise ArgumentError(f"{name}: {expected}, got {where}, whose memory is on another device; copy it to the CPU first")
    if parameter.written:
        raise ArgumentError(
            f"{name}: {expected}, got {where}; the kernel writes to it, so it must be an array already, for example np.empty(shape, np.{parameter.dtype.name})"
        )
    raise ArgumentError(f"{name}: {expected}, got {where}; use np.asarray({name}, dtype=np.{parameter.dtype.name})")


# --- overlap -------------------------------------------------------------------------------------------------


def overlap(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays have a byte in common.

    Exact, with one exception: whether two strided views of three or more dimensions meet is in general as hard as an integer
    programme (NumPy's manual, ``shares_memory``); a search that takes too long ends with "yes".
    """
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=OVERLAP_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def check_overlap(parameters: list[ArrayParameter], arrays: list[np.ndarray[Any, Any]], groups: list[int]) -> None:
    """Refuse arguments whose overlap could change the result.

    An output that shares memory with any other array is refused, unless the two are the very same view (address, shape, strides,
    dtype) and the kernel accesses both at one and the same index only, as in ``y[i] = f(x[i])``: then each element is read before it
    is written, whichever way the loop runs. An output that overlaps itself is refused as well.

    Args:
        parameters: of the arrays.
        arrays: the arguments, bound to them.
        groups: per array, a number shared by the arrays that are accessed at one and the same index only; ``UNUSED`` for those not accessed, which may
            overlap anything; -1 for the others.

    Raises:
        OverlapError: names both arrays.
    """
    for i, output in enumerate(arrays):
        if not parameters[i].written:
            continue
        if _overlaps_itself(output):
            raise OverlapError(
                f"{parameters[i].name}: the kernel writes to this array, and some of its elements share memory with each other (shape {output.shape}, strides {output.strides}); use {parameters[i].name}.copy()"
            )
        for j, other in enumerate(arrays):
            if j == i or groups[j] == UNUSED or (j < i and parameters[j].written) or not overlap(output, other):
                continue
            if groups[i] >= 0 and groups[i] == groups[j] and _same_view(output, other):
                continue
            name, with_name = parameters[i].name, parameters[j].name
            raise OverlapError(
                f"{name} and {with_name} share memory, and the kernel writes to {name}: its result would depend on the order of execution; pass {with_name}.copy()"
            )


def _same_view(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    address = address_of()
    return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and address(a) == address(b)


def _overlaps_itself(array: np.ndarray[Any, Any]) -> bool:
    """Whether two elements may share memory: exact for nested strides, "yes" only where the dimensions' ranges interleave."""
    if not array.size:
        return False
    reach = array.itemsize
    for stride, extent in sorted((abs(stride), extent) for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1):
        if stride < reach:
            return True
        reach = stride * (extent - 1) + reach
    return False
