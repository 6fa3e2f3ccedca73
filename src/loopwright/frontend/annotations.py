"""What parameters are annotated with: ``lw.Array``, ``lw.Const``. Imported with the package, so it imports little."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np

from loopwright.errors import KernelTypeError
from loopwright.types import BF16, BOOL, COMPLEX64, COMPLEX128, KIND_PTR, SCALARS, Type

__all__ = ["BY_DTYPE", "Array", "ArrayType", "Const", "type_of_dtype"]

#: The scalar types by the names of NumPy's dtypes.
BY_DTYPE: Final[dict[str, Type]] = {t.dtype: t for t in SCALARS if t.dtype and t.kind != KIND_PTR}
# (Of the package ml_dtypes.)
BY_DTYPE["bfloat16"] = BF16
#: Elements that are pairs of floats.
_COMPLEX: Final[dict[str, Type]] = {t.dtype: t for t in (COMPLEX64, COMPLEX128)}


def type_of_dtype(dtype: Any) -> Type | None:
    """The type of a NumPy dtype (or of anything that names one), or None when there is none such."""
    try:
        name = np.dtype(dtype).name
    except (TypeError, ValueError):
        return None
    return BY_DTYPE.get(name) or _COMPLEX.get(name)


class _Const:
    """The annotation of a parameter that is a Python value while compiling: ``lw.Const``."""

    def __repr__(self) -> str:
        return "lw.Const"

    def __call__(self, *_: Any) -> NoReturn:
        raise KernelTypeError("lw.Const is the annotation of a parameter; what the caller passes for it is a Python value in the kernel")

    def __reduce__(self) -> str:
        return "Const"


Const: Final = _Const()


class ArrayType:
    """What ``lw.Array`` and ``lw.Array[lw.f32, 2]`` are: the type of an array parameter.

    Attributes:
        element: type of the elements, or None when the argument decides.
        rank: number of dimensions; 0 when the argument decides.
        usual: as of ``ir.Array``: the extents of an array that has been seen, as far as they are small. Two that differ in that are equal.
    """

    __slots__ = ("element", "rank", "usual")

    def __init__(self, element: Type | None = None, rank: int = 0, usual: tuple[int, ...] = ()) -> None:
        self.element = element
        self.rank = rank
        self.usual = usual

    def __getitem__(self, what: Any) -> ArrayType:
        items = what if isinstance(what, tuple) else (what,)
        if not 1 <= len(items) <= 2:
            raise KernelTypeError(f"lw.Array[element, rank] takes an element type and perhaps a rank, as in lw.Array[lw.f32, 2], not {len(items)} things")
        element = items[0]
        if not isinstance(element, Type):
            found = type_of_dtype(element)
            if found is None:
                raise KernelTypeError(f"lw.Array[…] takes an element type such as lw.f32, not {element!r}")
            element = found
        if element.lanes or not (element.is_integer or element.is_float or element.is_complex or element is BOOL):
            raise KernelTypeError(f"arrays of {element} are not available")
        rank = items[1] if len(items) > 1 else 1
        if type(rank) is not int or not 1 <= rank <= 8:
            raise KernelTypeError(f"lw.Array[element, rank] takes a rank from 1 to 8, not {rank!r}")
        return ArrayType(element, rank)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayType) and other.element is self.element and other.rank == self.rank

    def __hash__(self) -> int:
        return hash((self.element.number if self.element is not None else -1, self.rank))

    def __reduce__(self) -> tuple[type[ArrayType], tuple[Type | None, int]]:
        return ArrayType, (self.element, self.rank)

    def __repr__(self) -> str:
        if self.element is None:
            return "lw.Array"
        element = "lw.bool_" if self.element is BOOL else f"lw.{self.element}"
        return f"lw.Array[{element}]" if self.rank == 1 else f"lw.Array[{element}, {self.rank}]"

    def __call__(self, *_: Any) -> NoReturn:
        raise KernelTypeError("lw.Array is the annotation of a parameter; arrays are made with NumPy")


#: The annotation of an array parameter.
Array = ArrayType()
