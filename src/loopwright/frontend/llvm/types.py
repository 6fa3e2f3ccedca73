"""Types of LLVM IR and how they lie in memory (LLVM Language Reference, "Type System" and "Data Layout").

Pointers are opaque, as LLVM has them since version 15: `i32*` and `ptr` are the same type here. Layouts are those that clang gives the 64-bit machines:
pointers and `i64` at multiples of 8 bytes, `i128` at multiples of what the layout string says.
"""

from __future__ import annotations

import re
from typing import Final

from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, VOID, Type

__all__ = [
    "ARRAY",
    "FLOAT",
    "FUNCTION",
    "INTEGER",
    "LABEL",
    "METADATA",
    "OPAQUE",
    "POINTER",
    "STRUCT",
    "VECTOR",
    "VOID_KIND",
    "VOID_TYPE",
    "Layout",
    "LlvmType",
    "integer",
    "is_wide",
    "named",
    "register_type",
    "words",
]

VOID_KIND: Final = 0
INTEGER: Final = 1
FLOAT: Final = 2
POINTER: Final = 3
ARRAY: Final = 4
STRUCT: Final = 5
FUNCTION: Final = 6
VECTOR: Final = 7
LABEL: Final = 8
METADATA: Final = 9
OPAQUE: Final = 10

#: Floats by LLVM's name: bytes, and what holds them here (None: nothing does).
_FLOATS: Final[dict[str, tuple[int, int, Type | None]]] = {
    "float": (4, 4, F32),
    "double": (8, 8, F64),
    "half": (2, 2, None),
    "bfloat": (2, 2, None),
    "x86_fp80": (16, 16, None),
    "fp128": (16, 16, None),
}


class LlvmType:
    """A type of LLVM IR.

    Attributes:
        kind: one of this module's codes.
        bits: of an integer.
        name: of a float; of an identified struct.
        elements: of a struct: its fields; of an array or vector: its one element type; of a function: its result and then its parameters.
        count: of an array or vector.
        packed: of a struct: fields follow each other without gaps.
        variadic: of a function.
    """

    __slots__ = ("bits", "count", "elements", "kind", "name", "packed", "variadic")

    def __init__(self, kind: int, bits: int = 0, name: str = "", elements: tuple[LlvmType, ...] = (), count: int = 0, packed: bool = False) -> None:
        self.kind = kind
        self.bits = bits
        self.name = name
        self.elements = elements
        self.count = count
        self.packed = packed
        self.variadic = False

    def __repr__(self) -> str:
        kind = self.kind
        if kind == INTEGER:
            return f"i{self.bits}"
        if kind == ARRAY:
            return f"[{self.count} x {self.elements[0]!r}]"
        if kind == VECTOR:
            return f"<{self.count} x {self.elements[0]!r}>"
        if kind == STRUCT:
            return f"%{self.name}" if self.name else "{ " + ", ".join(map(repr, self.elements)) + " }"
        if kind == FUNCTION:
            return f"{self.elements[0]!r} ({', '.join(map(repr, self.elements[1:]))})"
        return {VOID_KIND: "void", POINTER: "ptr", LABEL: "label", METADATA: "metadata"}.get(kind, self.name)


VOID_TYPE: Final = LlvmType(VOID_KIND)
_INTEGERS: Final[dict[int, LlvmType]] = {}


def integer(bits: int) -> LlvmType:
    """The integer type of a width."""
    known = _INTEGERS.get(bits)
    if known is None:
        known = _INTEGERS[bits] = LlvmType(INTEGER, bits)
    return known


def named(type_: LlvmType) -> str:
    """A type as it is called in errors: by C's name too, where that is another."""
    if type_.kind == VECTOR:
        return f"{type_!r} ({named(type_.elements[0])})" if type_.elements[0].kind == FLOAT else repr(type_)
    known = {"x86_fp80": "long double", "fp128": "long double", "half": "_Float16", "bfloat": "__bf16"}.get(type_.name) if type_.kind == FLOAT else None
    return f"{known} ({type_!r})" if known is not None else repr(type_)


def is_wide(type_: LlvmType) -> bool:
    """Whether a type is of integers that take several registers."""
    return type_.kind == INTEGER and type_.bits > 64


def words(type_: LlvmType) -> int:
    """How many registers an integer takes."""
    return -(-type_.bits // 64)


def float_type(name: str) -> LlvmType | None:
    """The float type of a name, or None."""
    return LlvmType(FLOAT, name=name) if name in _FLOATS else None


def register_type(type_: LlvmType) -> Type | None:
    """What holds a value of a type in a register: the signed integer that has room for it, `bool` for i1. None for what no register holds."""
    kind = type_.kind
    if kind == INTEGER:
        bits = type_.bits
        if bits == 1:
            return BOOL
        return I8 if bits <= 8 else I16 if bits <= 16 else I32 if bits <= 32 else I64 if bits <= 64 else None
    if kind == POINTER:
        return PTR
    if kind == FLOAT:
        return _FLOATS[type_.name][2]
    return VOID if kind == VOID_KIND else None


_WIDE: Final = re.compile(r"(?:^|-)i128:(\d+)")


class Layout:
    """Sizes, alignments and offsets in bytes.

    Args:
        description: a module's `target datalayout`, or "".
    """

    def __init__(self, description: str = "") -> None:
        match = _WIDE.search(description)
        #: Where an i128 begins. (LLVM aligned it to 8 bytes up to version 17.)
        self.wide = int(match[1]) // 8 if match else 8
        self._known: dict[int, tuple[int, int, list[int], LlvmType]] = {}

    def size(self, type_: LlvmType) -> int:
        """Bytes from one element of an array of the type to the next."""
        return self._of(type_)[0]

    def align(self, type_: LlvmType) -> int:
        return self._of(type_)[1]

    def stored(self, type_: LlvmType) -> int:
        """Bytes that a store of the type writes."""
        return (type_.bits + 7) // 8 if type_.kind == INTEGER else self.size(type_)

    def offsets(self, type_: LlvmType) -> list[int]:
        """Where the fields of a struct begin."""
        return self._of(type_)[2]

    def _of(self, type_: LlvmType) -> tuple[int, int, list[int], LlvmType]:
        known = self._known.get(id(type_))
        if known is None:
            size, align, offsets = self._laid_out(type_)
            # (The type is kept as well, so that its identity is not used again.)
            known = self._known[id(type_)] = (size, align, offsets, type_)
        return known

    def _laid_out(self, type_: LlvmType) -> tuple[int, int, list[int]]:
        kind = type_.kind
        if kind == INTEGER:
            return self._integer((type_.bits + 7) // 8)
        if kind == POINTER:
            return 8, 8, []
        if kind == FLOAT:
            size, align, _ = _FLOATS[type_.name]
            return size, align, []
        if kind == ARRAY:
            element = type_.elements[0]
            return self.size(element) * type_.count, self.align(element), []
        if kind == STRUCT:
            return self._struct(type_)
        if kind == VECTOR:
            size = self.stored(type_.elements[0]) * type_.count
            rounded = 1 << (size - 1).bit_length()
            return rounded, rounded, []
        raise ValueError(f"{type_!r} has no size")

    def _integer(self, size: int) -> tuple[int, int, list[int]]:
        if size > 8:
            return -(-size // self.wide) * self.wide, self.wide, []
        rounded = 1 << (size - 1).bit_length()
        return rounded, rounded, []

    def _struct(self, type_: LlvmType) -> tuple[int, int, list[int]]:
        offset, most = 0, 1
        offsets: list[int] = []
        for field in type_.elements:
            align = 1 if type_.packed else self.align(field)
            offset = -(-offset // align) * align
            offsets.append(offset)
            offset += self.size(field)
            most = max(most, align)
        return -(-offset // most) * most, most, offsets
