"""Accesses of a loop over lanes to arrays, by how the lanes' elements lie: next to each other, in the opposite order, a distance apart, or anywhere."""

from __future__ import annotations

from typing import Final

from loopwright.errors import KernelTypeError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.ir.ops import Op
from loopwright.types import BOOL, I32, I64, PTR, SIGNED, UNSIGNED, VOID, Type, mask_of, vector_of
from loopwright.vectors.divergence import UNIFORM, VARYING, Divergence, Step
from loopwright.vectors.operations import Operations

__all__ = ["ALONG", "ANYWHERE", "APART", "BACK", "SAME", "Accesses", "lay"]

#: Of ``Accesses.kind``: one element for all lanes.
SAME: Final = 0
#: Each lane's element is behind the one of the lane before.
ALONG: Final = 1
#: It is in front of that.
BACK: Final = 2
#: It is further by as many bytes in each lane.
APART: Final = 3
#: It is anywhere.
ANYWHERE: Final = 4


class Accesses(Operations):
    """What is emitted for the loads and stores of one loop.

    Attributes:
        shapes: what differs by lane.
        mask: the lanes that run what is made next; ``all`` those that the loop runs at all.
        whole: in every step all lanes run, but for conditions.
        dear: stores under a mask take many times as long as others.
        offsets: index register -> (the register that it is computed from, what is added to that).
    """

    def __init__(self, f: Function, shapes: Divergence, lanes: int, width: int) -> None:
        super().__init__(f, lanes, width)
        self.shapes = shapes
        self.all = f.register(self.mask_type)
        self.mask = self.all
        self.whole = False
        self.dear = False
        self.offsets: dict[int, tuple[int, int]] = {}

    def running(self, bits: int) -> int:
        """The lanes that run, as a mask for lanes of so many bits."""
        return self.fitted(self.mask, bits)

    # --- how elements lie -------------------------------------------------------------------------------------

    def indices(self, instr: Instr) -> list[int]:
        """The index operands of an access."""
        return instr.args[len(instr.args) - len(self.f.arrays[instr.imm].extents) :]

    def kind(self, indices: list[int]) -> int:
        """How the elements of the lanes lie."""
        return lay(self.shapes, indices)

    def follow(self, instr: Instr) -> None:
        """Note an index that is made of another by adding a constant."""
        if instr.type is not I64 or (instr.op is not ops.ADD and instr.op is not ops.SUB):
            return
        a, b = instr.args
        if instr.op is ops.ADD and a < 0:
            a, b = b, a
        if b < 0 <= a and not self.f.variable[a] and not self.f.variable[instr.dst]:
            root, offset = self.offsets.get(a, (a, 0))
            more = int(self.f.const_values[~b])
            self.offsets[instr.dst] = root, offset + more if instr.op is ops.ADD else offset - more

    # --- addresses --------------------------------------------------------------------------------------------

    def scalar(self, op: Op, a: int, b: int, type_: Type = I64) -> int:
        """An operation on addresses and distances, which are the same for all lanes."""
        return self.define(op, type_, [a, b], type_)

    def times(self, value: int, factor: int) -> int:
        """A distance, a register or a constant, multiplied by a number."""
        if value < 0:
            return self.f.const(I64, int(self.f.const_values[~value]) * factor)
        return value if factor == 1 else self.scalar(ops.MUL, value, self.f.const(I64, factor))

    def distance(self, step: Step, unit: int) -> int:
        """How many bytes further a lane is, of an index whose unit is so many bytes (an operand)."""
        if step.of == NONE:
            return self.times(unit, step.times)
        return self.times(self.scalar(ops.MUL, step.of, unit) if unit >= 0 else self.times(step.of, int(self.f.const_values[~unit])), step.times)

    def units(self, number: int) -> list[int]:
        """By how many bytes elements differ that are next to each other in each dimension of an array; operands."""
        array = self.f.arrays[number]
        return [*array.strides, self.f.const(I64, array.element.size)]

    def apart(self, number: int, indices: list[int]) -> int:
        """How many bytes further the element of each lane is, of indices none of which differs in another way."""
        total = self.f.const(I64, 0)
        for index, unit in zip(indices, self.units(number), strict=True):
            step = self.shapes.step(index)
            if step is None:
                continue
            more = self.distance(step, unit)
            if total < 0 and more < 0:
                total = self.f.const(I64, int(self.f.const_values[~total]) + int(self.f.const_values[~more]))
            elif total < 0 and self.f.const_values[~total] == 0:
                total = more
            else:
                total = self.scalar(ops.ADD, total, more)
        return total

    def pointer(self, number: int, indices: list[int]) -> int:
        """The address of an element."""
        array = self.f.arrays[number]
        made = array.base
        for index, unit in zip(indices, self.units(number), strict=True):
            if index < 0 and self.f.const_values[~index] == 0:
                continue
            offset = self.times(unit, int(self.f.const_values[~index])) if index < 0 else self.scalar(ops.MUL, index, unit)
            made = self.define(ops.ADD, PTR, [made, offset], PTR)
        return made

    # --- loads ------------------------------------------------------------------------------------------------

    def load_lanes(self, instr: Instr, kind: int, indices: list[int]) -> int:
        """What the lanes that run load, 0 elsewhere."""
        f = self.f
        type_ = self.full(instr.type)
        if kind == ALONG:
            return self.define(ops.MASKED_LOAD, type_, [self.running(type_.bits), *indices], type_, VOID, instr.imm)
        if kind == BACK:
            mask, last = self.backwards(type_, indices)
            loaded = self.define(ops.MASKED_LOAD, type_, [mask, *last], type_, VOID, instr.imm)
            return self.define(ops.REVERSE, type_, [loaded], type_)
        if kind == APART:
            args = [self.running(type_.bits), self.apart(instr.imm, indices), *indices]
            return self.define(ops.MASKED_LOAD_STRIDED, type_, args, type_, VOID, instr.imm)
        at, offsets, source, scale = self.places(instr.imm, indices, type_)
        made = f.register(type_)
        mem = Mem(False, 1, 0, type_.element.size, False, -1, instr.imm)
        self.out.append(Instr(ops.GATHER_AT, type_, made, [self.running(type_.bits), offsets, at], scale, self.line, source, mem))
        return made

    def load_pair(self, instr: Instr, indices: list[int], side: int) -> tuple[int, int]:
        """What the lanes that run look up, and the elements next to that: behind it, or with ``side`` -1 in front of it."""
        f = self.f
        type_ = self.full(instr.type)
        wide, narrow = vector_of(UNSIGNED[2 * type_.bits], self.lanes), vector_of(UNSIGNED[type_.bits], self.lanes)
        at, offsets, source, scale = self.places(instr.imm, indices, type_, min(side, 0))
        both = f.register(wide)
        mem = Mem(False, 1, 0, wide.element.size, False, -1, instr.imm)
        self.out.append(Instr(ops.GATHER_AT, wide, both, [self.running(wide.bits), offsets, at], scale, self.line, source, mem))
        made = []
        for whole in (both, self.define(ops.SHR, wide, [both, f.const(wide, type_.bits)], wide)):
            part = self.define(ops.CONVERT, narrow, [whole], narrow, wide)
            made.append(part if narrow is type_ else self.define(ops.BITCAST, type_, [part], type_, narrow))
        return (made[0], made[1]) if side > 0 else (made[1], made[0])

    def store_lanes(self, instr: Instr, kind: int, indices: list[int], value: int) -> None:
        """Store what the lanes that run have."""
        type_ = self.full(instr.type)
        if kind == SAME:
            raise KernelTypeError(
                f"{self.f.arrays[instr.imm].name} is written at an index that is the same for all lanes: inside lw.lanes an index of a store must differ by lane. "
                "To combine the lanes into one value, update a variable from before the loop (total += …) and store it after the loop",
                "",
                instr.line,
            )
        op, args, source, imm, mem = ops.MASKED_STORE, [self.running(type_.bits), value, *indices], VOID, instr.imm, None
        if kind == BACK:
            mask, last = self.backwards(type_, indices)
            args = [mask, self.define(ops.REVERSE, type_, [value], type_), *last]
        elif kind == APART:
            op, args = ops.MASKED_STORE_STRIDED, [self.running(type_.bits), value, self.apart(instr.imm, indices), *indices]
        elif kind != ALONG:
            at, offsets, source, imm = self.places(instr.imm, indices, type_)
            mem = Mem(False, 1, 0, type_.element.size, False, -1, instr.imm)
            op, args = ops.SCATTER_AT, [self.running(type_.bits), value, offsets, at]
        # (Where such stores take long it is asked first whether there is anything to store.)
        asked = self.dear and kind == ALONG and self.mask != self.all
        if asked:
            self.out.append(Instr(ops.IF, VOID, NONE, [self.define(ops.ANY, self.f.types[args[0]], [args[0]], BOOL)], 0, self.line))
        self.out.append(Instr(op, type_, NONE, args, imm, self.line, source, mem))
        if asked:
            self.out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))

    def backwards(self, type_: Type, indices: list[int]) -> tuple[int, list[int]]:
        """Of lanes that go down in memory: the mask, and the indices of the last lane's element."""
        mask = self.running(type_.bits)
        if self.mask != self.all or not self.whole:
            bits = vector_of(SIGNED[type_.bits], self.lanes)
            shown = self.define(ops.REVERSE, bits, [self.define(ops.ONES_WHERE, bits, [mask], bits)], bits)
            mask = self.define(ops.NE, bits, [shown, self.f.const(bits, 0)], mask_of(type_.bits, self.lanes))
        last = self.scalar(ops.SUB, indices[-1], self.f.const(I64, self.lanes - 1))
        return mask, [*indices[:-1], last]

    def places(self, number: int, indices: list[int], type_: Type, more: int = 0) -> tuple[int, int, Type, int]:
        """Where the lanes' elements are, or those ``more`` behind them: an address, what is added to it in each lane, the type of that, and how many bytes it counts in.

        What is the same for all lanes is in the address, so that several elements of one neighbourhood have the same in each lane.
        """
        f, shapes = self.f, self.shapes
        uniform = list(indices)
        indices = list(indices)
        differing = [n for n, index in enumerate(indices) if shapes.of(index) == VARYING]
        last = len(indices) - 1
        straight = differing == [last] and all(shapes.of(index) == UNIFORM for index in indices[:last])
        for n in differing:
            root, constant = self.offsets.get(indices[n], (indices[n], 0))
            # (What is read as such an index alone is not there in 64 bits.)
            if not straight and root in shapes.narrow:
                root, constant = indices[n], 0
            indices[n] = root
            uniform[n] = f.const(I64, constant)
        at = self.pointer(number, uniform)
        if more:
            at = self.define(ops.ADD, PTR, [at, f.const(I64, more * type_.element.size)], PTR)
        narrow = shapes.narrow.get(indices[last]) if straight else None
        if narrow is not None:
            source = self.full(self.f.type_of(narrow))
            offsets = self.vector(narrow)
            if source.bits < 32 <= type_.bits:
                wide = vector_of(I32, self.lanes)
                offsets = self.define(ops.CONVERT, wide, [offsets], wide, source)
                source = wide
            return at, offsets, source, type_.element.size
        wide = vector_of(I64, self.lanes)
        if straight:
            return at, self.vector(indices[last]), wide, type_.element.size
        total = NONE
        for n, unit in enumerate(self.units(number)):
            shape = shapes.of(indices[n])
            if shape == UNIFORM:
                continue
            if shape == VARYING:
                factor = self.f.const(wide, self.f.const_values[~unit]) if unit < 0 else self.define(ops.SPLAT, wide, [unit], wide)
                more = self.define(ops.MUL, wide, [self.vector(indices[n]), factor], wide)
            else:
                step = shapes.step(indices[n])
                assert step is not None
                more = self.multiples(self.distance(step, unit))
            total = more if total == NONE else self.define(ops.ADD, wide, [total, more], wide)
        return at, total, wide, 1

    def multiples(self, distance: int) -> int:
        """0, 1, 2, … times a distance."""
        type_ = vector_of(I64, self.lanes)
        iota = self.define(ops.IOTA, type_, [], type_)
        factor = self.f.const(type_, self.f.const_values[~distance]) if distance < 0 else self.define(ops.SPLAT, type_, [distance], type_)
        return self.define(ops.MUL, type_, [iota, factor], type_)


def lay(shapes: Divergence, indices: list[int]) -> int:
    """How the elements of the lanes lie that are at such indices."""
    last = len(indices) - 1
    apart = False
    for n, index in enumerate(indices):
        shape = shapes.of(index)
        if shape == VARYING:
            return ANYWHERE
        if n < last and shape != UNIFORM:
            apart = True
    step = shapes.step(indices[last])
    if apart:
        return APART
    if step is None:
        return SAME
    if step.of == NONE and abs(step.times) == 1:
        return ALONG if step.times > 0 else BACK
    return APART
