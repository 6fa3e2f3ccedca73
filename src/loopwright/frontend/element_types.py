"""What ``x.dtype`` is in a kernel: a type of this library that answers as NumPy's dtype does, so that ``x.dtype == np.float32`` means what it says."""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.frontend.annotations import type_of_dtype
from loopwright.types import BF16, Type, bfloat16

__all__ = ["ElementType", "as_type"]


class ElementType:
    """The type of an array's elements.

    Attributes:
        of: the type itself.
        dtype: NumPy's, by which NumPy takes it where it takes a dtype.
        kind, name, itemsize, type: as those of NumPy's dtype.
    """

    __slots__ = ("of",)

    def __init__(self, of: Type) -> None:
        self.of = of

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(bfloat16() if self.of is BF16 else self.of.dtype)

    @property
    def kind(self) -> str:
        return self.dtype.kind

    @property
    def name(self) -> str:
        return self.dtype.name

    @property
    def itemsize(self) -> int:
        return self.of.bits // 8

    @property
    def type(self) -> Any:
        return self.dtype.type

    def __call__(self, value: Any, imaginary: Any = 0.0) -> Any:
        """``value`` converted, as by the type itself."""
        return self.of(value, imaginary)

    def __eq__(self, other: object) -> bool:
        """Whether something names the same type, in this library's way or NumPy's."""
        own = as_type(other)
        return (own if own is not None else type_of_dtype(other)) is self.of if other is not None else False

    def __hash__(self) -> int:
        return hash(self.of)

    def __repr__(self) -> str:
        return repr(self.of)


def as_type(thing: Any) -> Type | None:
    """The type that something is, of this library or of an array of a kernel; or None."""
    if type(thing) is ElementType:
        return thing.of
    return thing if isinstance(thing, Type) else None
