"""Structs, arrays, vectors and wide integers as values: each is its parts, in a register each."""

from __future__ import annotations

from loopwright.frontend.llvm.syntax import AGGREGATE, LOCAL, NULL, NUMBER, UNDEFINED, Constant, Instruction, LlvmModule
from loopwright.frontend.llvm.types import ARRAY, STRUCT, VECTOR, Layout, LlvmType, integer, is_wide, words
from loopwright.frontend.llvm.values import ValueWriter
from loopwright.ir.function import NONE, Function
from loopwright.types import I64

__all__ = ["AggregateWriter", "divided_vector", "half_vector", "in_parts", "leaves", "units"]


def leaves(layout: Layout, type_: LlvmType) -> list[tuple[LlvmType, int]]:
    """The parts of a type that are no structs or arrays, with their offsets in bytes; of others the type itself."""
    if type_.kind == STRUCT:
        found: list[tuple[LlvmType, int]] = []
        for field, offset in zip(type_.elements, layout.offsets(type_), strict=True):
            found += [(leaf, offset + inner) for leaf, inner in leaves(layout, field)]
        return found
    if type_.kind == ARRAY:
        element = type_.elements[0]
        size = layout.size(element)
        inside = leaves(layout, element)
        return [(leaf, size * number + offset) for number in range(type_.count) for leaf, offset in inside]
    if is_wide(type_):
        return [(integer(64), 8 * number) for number in range(words(type_))]
    if type_.kind == VECTOR:
        # (Elements are next to each other.)
        return [(type_.elements[0], layout.stored(type_.elements[0]) * number) for number in range(type_.count)]
    return [(type_, 0)]


def units(layout: Layout, type_: LlvmType) -> list[LlvmType]:
    """The parts of a type that are passed one by one: those that are no structs, arrays or wide integers, and no vectors but those of 64 bits."""
    if type_.kind == STRUCT:
        return [unit for field in type_.elements for unit in units(layout, field)]
    if type_.kind == ARRAY:
        return units(layout, type_.elements[0]) * type_.count
    if type_.kind == VECTOR and not half_vector(layout, type_):
        return units(layout, type_.elements[0]) * type_.count
    return [integer(64)] * words(type_) if is_wide(type_) else [type_]


def divided_vector(layout: Layout, type_: LlvmType) -> LlvmType | None:
    """A vector in a type that is passed element by element, which only functions of one module do; None where there is none."""
    if type_.kind in (STRUCT, ARRAY):
        return next((found for each in type_.elements if (found := divided_vector(layout, each)) is not None), None)
    return type_ if type_.kind == VECTOR and not half_vector(layout, type_) else None


def half_vector(layout: Layout, type_: LlvmType) -> bool:
    """Whether a type is a vector that the lower half of a register for vectors holds."""
    return type_.kind == VECTOR and layout.stored(type_.elements[0]) * type_.count == 8


def in_parts(type_: LlvmType) -> bool:
    """Whether a value of a type is several parts."""
    return type_.kind in (STRUCT, ARRAY, VECTOR) or is_wide(type_)


class AggregateWriter(ValueWriter):
    """Values of one register or several.

    Attributes:
        results_at: the address of memory for what calls return: one piece for all of them, which is read right behind each; or NONE.
    """

    def __init__(self, f: Function, module: LlvmModule, layout: Layout) -> None:
        super().__init__(f, module)
        self.layout = layout
        self.results_at = NONE

    def routine(self, name: str, arguments: list[int]) -> None:
        """Call one of what ``routines.py`` has."""
        raise NotImplementedError

    def leaves(self, type_: LlvmType) -> list[LlvmType]:
        """The types of a value's parts."""
        return [leaf for leaf, _ in leaves(self.layout, type_)]

    def parts(self, value: Constant) -> list[int]:
        """The operands that a value is."""
        if not in_parts(value.type):
            return [self.operand(value)]
        if value.kind == LOCAL:
            return self.local(value.name)
        if value.kind in (NULL, UNDEFINED):
            return [self.f.const(self.type_of(leaf), 0) for leaf in self.leaves(value.type)]
        if value.kind == NUMBER:
            # (With the sign that the number has at its width.)
            bits = value.type.bits
            number = (int(value.number) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
            return [self.f.const(I64, number >> 64 * n) for n in range(words(value.type))]
        if value.kind == AGGREGATE:
            return [operand for part in value.parts for operand in self.parts(part)]
        self.unsupported(f"a constant of the type {value.type!r} is not supported here")

    def _span(self, type_: LlvmType, numbers: list[int]) -> tuple[int, int]:
        """Which parts of a value an index means: the first, and how many."""
        first = 0
        for number in numbers:
            if type_.kind == STRUCT:
                first += sum(len(self.leaves(field)) for field in type_.elements[:number])
                type_ = type_.elements[number]
            else:
                type_ = type_.elements[0]
                first += number * len(self.leaves(type_))
        return first, len(self.leaves(type_))

    def extract(self, i: Instruction) -> list[int]:
        whole = self.parts(i.operands[0])
        first, count = self._span(i.operands[0].type, i.numbers)
        return whole[first : first + count]

    def insert(self, i: Instruction) -> list[int]:
        whole = list(self.parts(i.operands[0]))
        first, count = self._span(i.operands[0].type, i.numbers)
        whole[first : first + count] = self.parts(i.operands[1])
        return whole
