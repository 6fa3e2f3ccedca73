"""Constant arrays, and local ones that a loop does not change, looked up by lanes: their elements in a few vectors, of which bytes or lanes are chosen by number, and choices between these.

A vector has room for 16 bytes (in each 128 bits the same) or, where the machine moves lanes across a whole vector, for as many elements as it has lanes. Of larger
tables each such part is looked up by the lower bits of the index, and the upper ones say which was meant, a bit at a time. (W. Mula and D. Lemire, "Faster Base64 Encoding and Decoding Using
AVX2 Instructions", ACM TWEB 12(3), 2018, section 2, look tables up by VPSHUFB; elements of more bytes are as many bytes next to each other.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Array, Function, Instr
from loopwright.ir.ops import Op
from loopwright.types import BOOL, I64, PTR, U8, UNSIGNED, Type, vector_of
from loopwright.vectors.accesses import ANYWHERE
from loopwright.vectors.divergence import Divergence
from loopwright.vectors.totals import Totals

__all__ = ["Asked", "Tables", "parts"]

#: By bits of the elements: into how many parts a table may fall, beyond which loads are faster.
MOST_PARTS: Final[dict[int, int]] = {8: 16, 16: 16, 32: 4, 64: 2}
#: Asked whether the machine has an operation on vectors of two types.
Asked = Callable[[Op, Type, Type], bool]


def parts(array: Array, lanes: int, has: Asked) -> tuple[Op, int]:
    """How an array is looked up by so many lanes: the operation, and how many elements it chooses from; 0 where loads are to do it.

    Args:
        array: a constant one, or one that is not stored to in the loop.
        lanes: how many lanes look up.
        has: asked what the machine has.
    """
    element = array.element
    if len(array.extents) != 1 or element is BOOL or not array.size:
        return ops.LOOKUP_BYTES, 0
    full = vector_of(element, lanes)
    count = array.size // element.size
    most = MOST_PARTS[element.bits]
    whole = bool(array.data) or count % lanes == 0
    if whole and full.size > 16 and count <= most * lanes and has(ops.LOOKUP_LANES, full, vector_of(UNSIGNED[element.bits], lanes)):
        return ops.LOOKUP_LANES, lanes
    if not array.data:
        return ops.LOOKUP_BYTES, 0
    held = 16 // element.size
    size = max(full.size, 16)
    if count <= most * held and has(ops.LOOKUP_BYTES, vector_of(U8, full.size), vector_of(U8, size)):
        return ops.LOOKUP_BYTES, held
    return ops.LOOKUP_BYTES, 0


class _Lookup:
    """One look-up.

    Attributes:
        op: LOOKUP_BYTES or LOOKUP_LANES.
        array: the number of the array with the parts.
        table, result, full: the types of a part, of what is found there, and of indices.
        within: the indices within parts: of all, or of those with an even number and those with an odd one.
        conditions: by bit of a part's number, the lanes where that is 0.
    """

    __slots__ = ("array", "conditions", "full", "op", "result", "table", "within")

    def __init__(self, op: Op, array: int, table: Type, result: Type, full: Type) -> None:
        self.op = op
        self.array = array
        self.table = table
        self.result = result
        self.full = full
        self.within: list[int] = []
        self.conditions: dict[int, int] = {}


class Tables(Totals):
    """What is emitted for constant arrays.

    Attributes:
        has: asked what the machine has.
        spread: array and bytes of a vector -> the number of a constant array in which each part fills vectors of so many bytes.
    """

    def __init__(self, f: Function, shapes: Divergence, lanes: int, width: int, has: Asked) -> None:
        super().__init__(f, shapes, lanes, width)
        self.has = has
        self.spread: dict[tuple[int, int], int] = {}
        self.made: list[Instr] = []
        self.stored = {leaf.instr.imm for leaf in shapes.leaves if leaf.instr.op is ops.STORE}

    def load_lanes(self, instr: Instr, kind: int, indices: list[int]) -> int:
        array = self.f.arrays[instr.imm]
        if kind == ANYWHERE and array.size and instr.imm not in self.stored:
            op, held = parts(array, self.lanes, self.has)
            if held:
                return self.looked_up(instr, array, op, held, indices[0])
        return super().load_lanes(instr, kind, indices)

    def looked_up(self, instr: Instr, array: Array, op: Op, held: int, index: int) -> int:
        """The elements that an index names, which differs by lane."""
        f = self.f
        element = array.element
        full = vector_of(UNSIGNED[element.bits], self.lanes)
        narrow = self.shapes.narrow.get(index, index)
        given = self.vector(narrow)
        numbers = given if f.type_of(given) is full else self.define(ops.CONVERT, full, [given], full, f.type_of(given))
        table = vector_of(element, self.lanes) if op is ops.LOOKUP_LANES else vector_of(U8, max(full.size, 16))
        result = table if op is ops.LOOKUP_LANES else full
        count = (array.size // element.size + held - 1) // held
        lookup = _Lookup(op, self.spread_out(instr.imm, array, held, table), table, result, full)
        bits = 0
        if op is ops.LOOKUP_BYTES and element.bits == 8 and count > 1:
            # The sign of an index of bytes says that it means another: what the two of a pair have becomes one by `or`.
            within = self.define(ops.AND, full, [numbers, f.const(full, 2 * held - 1)], full)
            even = self.define(ops.ADD, full, [within, f.const(full, 0x80 - held)], full)
            lookup.within = [even, self.define(ops.XOR, full, [even, f.const(full, 0x80)], full)]
            bits = 1
        else:
            lookup.within = [self.bytes_within(op, element, held, numbers, full)]
        while 1 << bits < count:
            bit = self.define(ops.AND, full, [numbers, f.const(full, held << bits)], full)
            lookup.conditions[bits] = self.define(ops.EQ, full, [bit, f.const(full, 0)], ops.mask_for(full))
            bits += 1
        made = self.choice(lookup, 0, count)
        wanted = vector_of(element, self.lanes)
        return made if f.type_of(made) is wanted else self.define(ops.BITCAST, wanted, [made], wanted, f.type_of(made))

    def bytes_within(self, op: Op, element: Type, held: int, numbers: int, full: Type) -> int:
        """Indices within a part, of lanes or of each of their bytes."""
        f = self.f
        if op is ops.LOOKUP_LANES:
            return numbers
        within = self.define(ops.AND, full, [numbers, f.const(full, held - 1)], full)
        if element.bits > 8:
            # The number of its first byte in each byte of a lane, and 0, 1, 2, … more.
            ones = sum([1 << 8 * n for n in range(element.size)])
            steps = sum([n << 8 * n for n in range(element.size)])
            within = self.define(ops.MUL, full, [within, f.const(full, ones * element.size)], full)
            within = self.define(ops.ADD, full, [within, f.const(full, steps)], full)
        return within

    def choice(self, lookup: _Lookup, first: int, count: int) -> int:
        """What the parts from ``first`` on have, so many of them, chosen by the bits of the index that tell these apart."""
        if count == 1:
            return self.found_in(lookup, first)
        half = 1 << (count - 1).bit_length() - 1
        lower = self.choice(lookup, first, half)
        upper = self.choice(lookup, first + half, count - half)
        type_ = self.f.type_of(lower)
        condition = lookup.conditions.get(half.bit_length() - 1)
        if condition is None:
            return self.define(ops.OR, type_, [lower, upper], type_)
        return self.define(ops.SELECT, type_, [condition, lower, upper], type_)

    def found_in(self, lookup: _Lookup, number: int) -> int:
        """What a part has for each lane."""
        at = self.f.const(I64, number * lookup.table.lanes)
        loaded = self.define(ops.LOAD, lookup.table, [at], lookup.table, imm=lookup.array)
        within = lookup.within[number % len(lookup.within)]
        if lookup.op is ops.LOOKUP_LANES:
            return self.define(lookup.op, lookup.result, [loaded, within], lookup.result, lookup.full)
        return self.define(lookup.op, lookup.result, [loaded, within], lookup.result, lookup.table)

    def spread_out(self, number: int, array: Array, held: int, table: Type) -> int:
        """The number of an array in which each part of a table fills a vector."""
        if not array.data:
            return number
        key = number, table.size
        known = self.spread.get(key)
        if known is None:
            size = held * array.element.size
            data = array.data + bytes(-len(array.data) % size)
            times = table.size // size
            filled = b"".join([data[at : at + size] * times for at in range(0, len(data), size)])
            f = self.f
            known = self.spread[key] = len(f.arrays)
            made = f.constant_array(f"{array.name} by {table.size}", table.element, (len(filled) // table.element.size,), filled)
            self.made.append(Instr(ops.TABLE, PTR, made.base, [f.const(I64, known)], 0, self.line))
        return known
