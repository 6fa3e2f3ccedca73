"""Operations on lanes, and accesses under a mask, that a machine has for one element only: one lane after the other, over copies in memory.

Any target's ``expand`` may use these when instructions are selected: they have branches.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.targets.steps import Emit, Steps
from loopwright.types import I64, PTR, UNSIGNED, VOID, Type, vector_of

__all__ = ["each_lane", "indexed_access", "masked_access"]

#: Up to so many lanes are written out; more are done in a loop.
_WRITTEN_OUT: Final = 8


class _Copies:
    """Vectors of one size in memory, one behind the other, in an array of the function's own.

    Attributes:
        at: a register with the address of the first.
        size: bytes of each.
    """

    __slots__ = ("at", "size", "steps")

    def __init__(self, steps: Steps, type_: Type, count: int) -> None:
        f = steps.f
        self.steps = steps
        self.size = type_.size
        array = f.local_array("copies", type_.element, (count * type_.lanes,))
        self.at = array.base
        steps.emit(Instr(ops.LOCAL, PTR, self.at, [f.const(I64, len(f.arrays) - 1)], 0, steps.line))

    def store(self, type_: Type, value: int, at: int, disp: int) -> None:
        """Store a vector or an element."""
        self.steps.emit(Instr(ops.STORE_AT, type_, NONE, [value, at], 0, self.steps.line, VOID, Mem(False, 1, disp, type_.size)))

    def load(self, type_: Type, at: int, disp: int, into: int = -1) -> int:
        """Load a vector or an element."""
        made = into if into >= 0 else self.steps.f.register(type_)
        self.steps.emit(Instr(ops.LOAD_AT, type_, made, [at], 0, self.steps.line, VOID, Mem(False, 1, disp, type_.size)))
        return made

    def moving(self, start: int, disp: int = 0) -> int:
        """A variable with an address."""
        r = self.steps.f.register(PTR, "", True)
        self.steps.emit(Instr(ops.ADDRESS, PTR, r, [start], 0, self.steps.line, VOID, Mem(False, 1, disp, 0)))
        return r

    def advance(self, pointer: int, bytes_: int) -> None:
        """Move a variable with an address on."""
        steps = self.steps
        steps.op(ops.ADD, PTR, pointer, steps.const(I64, bytes_), into=pointer)


def each_lane(f: Function, instr: Instr, emit: Emit) -> None:
    """An operation on two vectors by the one on two elements, which is expanded in turn."""
    type_ = instr.type
    element = type_.element
    s = Steps(f, emit, instr.line, 0)
    copies = _Copies(s, type_, 2)
    for n, value in enumerate(instr.args):
        # (A constant is the same in every lane.)
        if value >= 0:
            copies.store(type_, value, copies.at, n * copies.size)
    at, end = copies.moving(copies.at), copies.moving(copies.at, copies.size)
    s.bracket(ops.LOOP)
    a, b = (f.const(element, f.const_values[~x]) if x < 0 else copies.load(element, at, n * copies.size) for n, x in enumerate(instr.args))
    copies.store(element, s.op(instr.op, element, a, b), at, 0)
    copies.advance(at, element.size)
    s.bracket(ops.BR_CMP["ne"], at, end, type_=PTR)
    s.bracket(ops.END)
    copies.load(type_, copies.at, 0, instr.dst)


def masked_access(f: Function, instr: Instr, emit: Emit) -> None:
    """``masked_load_at`` and ``masked_store_at``, and those of elements a distance apart: only the lanes for which the mask holds touch memory."""
    type_, mask = instr.type, instr.args[0]
    element = type_.element
    loads = instr.op.result != ""
    strided = instr.op in ops.STRIDED
    s = Steps(f, emit, instr.line, 0)
    held = UNSIGNED[type_.bits]
    bits = vector_of(held, type_.lanes)
    # The value, and behind it the mask.
    copies = _Copies(s, type_, 2)
    shown = f.register(bits)
    emit(Instr(ops.SELECT, bits, shown, [mask, f.const(bits, (1 << type_.bits) - 1), f.const(bits, 0)], 0, s.line))
    copies.store(bits, shown, copies.at, copies.size)
    copies.store(type_, f.const(type_, 0) if loads else instr.args[1], copies.at, 0)
    place = f.register(PTR)
    first = len(instr.op.operands) - 1
    emit(Instr(ops.ADDRESS, PTR, place, instr.args[first:], 0, s.line, VOID, instr.mem))
    if type_.lanes <= _WRITTEN_OUT and not strided:
        for lane in range(type_.lanes):
            _one_lane(copies, element, held, copies.at, place, loads, lane * element.size)
    else:
        at, memory, end = copies.moving(copies.at), copies.moving(place), copies.moving(copies.at, copies.size)
        s.bracket(ops.LOOP)
        _one_lane(copies, element, held, at, memory, loads, 0)
        copies.advance(at, element.size)
        if strided:
            s.op(ops.ADD, PTR, memory, instr.args[first - 1], into=memory)
        else:
            copies.advance(memory, element.size)
        s.bracket(ops.BR_CMP["ne"], at, end, type_=PTR)
        s.bracket(ops.END)
    if loads:
        copies.load(type_, copies.at, 0, instr.dst)


def indexed_access(f: Function, instr: Instr, emit: Emit) -> None:
    """``gather_at`` and ``scatter_at``, in the order of the lanes."""
    type_, mask = instr.type, instr.args[0]
    element, loads = type_.element, instr.op is ops.GATHER_AT
    offsets_type = instr.source
    s = Steps(f, emit, instr.line, 0)
    copies = _Copies(s, type_, 1)
    offsets = _Copies(s, offsets_type, 1)
    offsets.store(offsets_type, instr.args[1 if loads else 2], offsets.at, 0)
    masked = mask >= 0 or not f.const_values[~mask]
    held = UNSIGNED[type_.bits]
    if masked:
        bits = vector_of(held, type_.lanes)
        shown = f.register(bits)
        emit(Instr(ops.SELECT, bits, shown, [mask, f.const(bits, (1 << type_.bits) - 1), f.const(bits, 0)], 0, s.line))
        masks = _Copies(s, bits, 1)
        masks.store(bits, shown, masks.at, 0)
    if not loads or masked:
        copies.store(type_, f.const(type_, 0) if loads else instr.args[1], copies.at, 0)
    base = f.register(PTR)
    emit(Instr(ops.ADDRESS, PTR, base, instr.args[len(instr.op.operands) - 1 :], 0, s.line, VOID, instr.mem))
    looped = type_.lanes > _WRITTEN_OUT
    lane = s.variable(I64, s.const(I64, 0)) if looped else 0
    if looped:
        s.bracket(ops.LOOP)
    for number in range(1 if looped else type_.lanes):
        if masked:
            s.bracket(ops.IF_CMP["ne"], _element(masks, held, lane, number, looped), s.const(held, 0), type_=held)
        offset = _element(offsets, offsets_type.element, lane, number, looped)
        if offsets_type.bits < 64:
            offset = s.convert(I64, offset, offsets_type.element)
        there = Mem(True, instr.imm, 0, element.size, False, -1, instr.mem.array if instr.mem is not None else -1)
        if loads:
            found = f.register(element)
            emit(Instr(ops.LOAD_AT, element, found, [base, offset], 0, s.line, VOID, there))
            _put(copies, element, found, lane, number, looped)
        else:
            emit(Instr(ops.STORE_AT, element, NONE, [_element(copies, element, lane, number, looped), base, offset], 0, s.line, VOID, there))
        if masked:
            s.bracket(ops.END)
    if looped:
        s.op(ops.ADD, I64, lane, s.const(I64, 1), into=lane)
        s.bracket(ops.BR_CMP["ne"], lane, s.const(I64, type_.lanes), type_=I64)
        s.bracket(ops.END)
    if loads:
        copies.load(type_, copies.at, 0, instr.dst)


def _element(copies: _Copies, element: Type, lane: int, number: int, looped: bool) -> int:
    """A lane of a copy: one that is counted in a register, or one that is known."""
    if not looped:
        return copies.load(element, copies.at, number * element.size)
    made = copies.steps.f.register(element)
    mem = Mem(True, element.size, 0, element.size)
    copies.steps.emit(Instr(ops.LOAD_AT, element, made, [copies.at, lane], 0, copies.steps.line, VOID, mem))
    return made


def _put(copies: _Copies, element: Type, value: int, lane: int, number: int, looped: bool) -> None:
    """Write a lane of a copy."""
    if not looped:
        copies.store(element, value, copies.at, number * element.size)
        return
    mem = Mem(True, element.size, 0, element.size)
    copies.steps.emit(Instr(ops.STORE_AT, element, NONE, [value, copies.at, lane], 0, copies.steps.line, VOID, mem))


def _one_lane(copies: _Copies, element: Type, held: Type, at: int, memory: int, loads: bool, disp: int) -> None:
    s = copies.steps
    s.bracket(ops.IF_CMP["ne"], copies.load(held, at, copies.size + disp), s.const(held, 0), type_=held)
    if loads:
        copies.store(element, copies.load(element, memory, disp), at, disp)
    else:
        copies.store(element, copies.load(element, at, disp), memory, disp)
    s.bracket(ops.END)
