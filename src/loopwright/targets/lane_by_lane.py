"""Operations on lanes, and accesses under a mask, that a machine has for one element only: one lane after the other, over copies in memory.

Any target's ``expand`` may use these when instructions are selected: they have branches.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.targets.steps import Emit, Steps
from loopwright.types import I64, PTR, U8, U16, U32, U64, VOID, Type, vector_of

__all__ = ["each_lane", "masked_access"]

#: Up to so many lanes are written out; more are done in a loop.
_WRITTEN_OUT: Final = 8
_UNSIGNED: Final[dict[int, Type]] = {8: U8, 16: U16, 32: U32, 64: U64}


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
    """``masked_load_at`` and ``masked_store_at``: only the lanes for which the mask holds touch memory."""
    type_, mask = instr.type, instr.args[0]
    element = type_.element
    loads = instr.op is ops.MASKED_LOAD_AT
    s = Steps(f, emit, instr.line, 0)
    held = _UNSIGNED[type_.bits]
    bits = vector_of(held, type_.lanes)
    # The value, and behind it the mask.
    copies = _Copies(s, type_, 2)
    shown = f.register(bits)
    emit(Instr(ops.SELECT, bits, shown, [mask, f.const(bits, (1 << type_.bits) - 1), f.const(bits, 0)], 0, s.line))
    copies.store(bits, shown, copies.at, copies.size)
    copies.store(type_, f.const(type_, 0) if loads else instr.args[1], copies.at, 0)
    place = f.register(PTR)
    emit(Instr(ops.ADDRESS, PTR, place, instr.args[1 if loads else 2 :], 0, s.line, VOID, instr.mem))
    if type_.lanes <= _WRITTEN_OUT:
        for lane in range(type_.lanes):
            _one_lane(copies, element, held, copies.at, place, loads, lane * element.size)
    else:
        at, memory, end = copies.moving(copies.at), copies.moving(place), copies.moving(copies.at, copies.size)
        s.bracket(ops.LOOP)
        _one_lane(copies, element, held, at, memory, loads, 0)
        copies.advance(at, element.size)
        copies.advance(memory, element.size)
        s.bracket(ops.BR_CMP["ne"], at, end, type_=PTR)
        s.bracket(ops.END)
    if loads:
        copies.load(type_, copies.at, 0, instr.dst)


def _one_lane(copies: _Copies, element: Type, held: Type, at: int, memory: int, loads: bool, disp: int) -> None:
    s = copies.steps
    s.bracket(ops.IF_CMP["ne"], copies.load(held, at, copies.size + disp), s.const(held, 0), type_=held)
    if loads:
        copies.store(element, copies.load(element, memory, disp), at, disp)
    else:
        copies.store(element, copies.load(element, at, disp), memory, disp)
    s.bracket(ops.END)
