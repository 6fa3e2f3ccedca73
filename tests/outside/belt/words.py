"""The belt's code: instructions of 16 bytes.

Each result goes on the belt, which remembers the last 63. An operand says how many results ago its value was made, from 1. What has to last longer, or
is wanted in another paragraph, is put into a cell, of which there are any number; a parameter is in the cell of its number when a function begins. A paragraph is a row
of instructions that ends in ``go``, ``choose`` or ``ret``; nothing is on the belt when it begins.
"""

from __future__ import annotations

import struct
from typing import Final

from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type

__all__ = ["OPERATIONS", "REACH", "SIZE", "TYPES", "decode", "encode", "text"]

#: How far back an operand reaches.
REACH: Final = 63
#: The operations that make a result, then those that do not; by their numbers in the code.
OPERATIONS: Final = (
    *("const", "get", "load", "copy", "add", "sub", "mul", "neg", "min", "max", "and", "or", "xor", "not", "shl", "select", "convert"),
    *("eq", "ne", "lt", "le", "gt", "ge", "nlt", "nle", "ngt", "nge"),
    *("put", "store", "go", "choose", "ret"),
)
TYPES: Final = (VOID, BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, PTR)

# Operation, type, type of the source, three operands, nothing; a number: of a cell, a constant's bits, a displacement, or two paragraphs.
_FORM: Final = struct.Struct("<BBBBBBxxq")
SIZE: Final = _FORM.size


def encode(operation: str, type_: Type = VOID, operands: tuple[int, ...] = (), number: int = 0, source: Type = VOID) -> bytes:
    """One instruction."""
    a, b, c = (*operands, 0, 0, 0)[:3]
    return _FORM.pack(OPERATIONS.index(operation), TYPES.index(type_), TYPES.index(source), a, b, c, number)


def decode(data: bytes, at: int) -> tuple[str, Type, Type, tuple[int, int, int], int]:
    """Operation, type, type of the source, operands, number."""
    operation, type_, source, a, b, c, number = _FORM.unpack_from(data, at)
    return OPERATIONS[operation], TYPES[type_], TYPES[source], (a, b, c), number


def text(data: bytes, at: int) -> str:
    """One instruction in words."""
    operation, type_, source, operands, number = decode(data, at)
    name = operation if type_ is VOID else f"{operation}.{type_.name}"
    words = [f"b{n}" for n in operands if n]
    if operation in ("get", "put"):
        words.append(f"cell {number}")
    elif operation in ("go", "choose"):
        words += [f"{n:x}" for n in (number & 0xFFFFFFFF, number >> 32)[: 1 + (operation == "choose")]]
    elif operation in ("const", "load", "store"):
        words.append(str(number))
    return f"{name} {', '.join(words)}{f' from {source.name}' if source is not VOID else ''}".rstrip()
