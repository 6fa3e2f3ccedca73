"""AVX2: accesses under a mask to lanes of 8 and 16 bits, of which there are only such to 32 bits.

Words of 32 bits all of whose lanes are on go under a mask of such words. The lanes of other words go one by one, found by the bits of the mask that are left: of a
loop's remainder at most one lane of 16 bits, three of 8. Nothing is touched but the lanes that are on.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.targets.steps import Emit, Steps
from loopwright.types import I8, I64, PTR, U32, UNSIGNED, VOID, Type, mask_of, vector_of

__all__ = ["access"]


class _Masked:
    """One such access.

    Attributes:
        s: on single values.
        type_: the vector; bits: as unsigned integers; element: of these; words: as words of 32 bits.
        place: a register with the address of lane 0.
    """

    __slots__ = ("bits", "element", "f", "place", "s", "type_", "words")

    def __init__(self, f: Function, instr: Instr, emit: Emit) -> None:
        self.f = f
        self.type_ = instr.type
        self.s = Steps(f, emit, instr.line, 0)
        self.element = UNSIGNED[self.type_.bits]
        self.bits = vector_of(self.element, self.type_.lanes)
        self.words = vector_of(U32, self.type_.size // 4)
        self.place = f.register(PTR)
        emit(Instr(ops.ADDRESS, PTR, self.place, instr.args[1 if instr.op is ops.MASKED_LOAD_AT else 2 :], 0, instr.line, VOID, instr.mem))

    def op(self, op: ops.Op, type_: Type, args: list[int], result: Type | None = None, source: Type = VOID, into: int = -1) -> int:
        made = into if into >= 0 else self.f.register(result if result is not None else type_)
        self.s.emit(Instr(op, type_, made, args, 0, self.s.line, source))
        return made

    def at(self, op: ops.Op, type_: Type, args: list[int], result: bool, indexed: bool = False) -> int:
        """An access to memory; its address comes last."""
        made = self.f.register(type_) if result else NONE
        self.s.emit(Instr(op, type_, made, args, 0, self.s.line, VOID, Mem(indexed, 1, 0, type_.size)))
        return made

    def lanes_left(self, held: int) -> tuple[int, int]:
        """The mask of the words to be accessed as such, and the bits of the bytes of all other lanes that are on, an i64."""
        words, bytes_ = self.words, vector_of(I8, self.type_.size)
        whole_type, byte_mask = mask_of(32, words.lanes), mask_of(8, bytes_.lanes)
        as_words = self.op(ops.BITCAST, words, [held], source=self.bits)
        whole = self.op(ops.EQ, words, [as_words, self.f.const(words, 0xFFFFFFFF)], whole_type)
        done = self.op(ops.ONES_WHERE, words, [whole])
        left = self.op(ops.BITCAST, bytes_, [self.op(ops.XOR, words, [as_words, done])], source=words)
        signs = self.op(ops.GT, bytes_, [self.f.const(bytes_, 0), left], byte_mask)
        return whole, self.op(ops.MASK_BITS, byte_mask, [signs], I64)

    def each(self, bits: int) -> tuple[int, int]:
        """Begin a loop over the lanes that ``bits`` names, which must not be 0: the variable that holds them, and the first one's distance in bytes."""
        s = self.s
        rest = s.variable(I64, bits)
        s.bracket(ops.LOOP)
        below = s.op(ops.SUB, I64, rest, s.const(I64, 1))
        return rest, s.op(ops.POPCOUNT, I64, s.op(ops.ANDNOT, I64, rest, below))

    def end_each(self, rest: int) -> None:
        """Go on with the next lane: its bytes' bits are dropped."""
        s = self.s
        for _ in range(self.type_.bits // 8):
            below = s.op(ops.SUB, I64, rest, s.const(I64, 1))
            s.op(ops.AND, I64, rest, below, into=rest)
        s.bracket(ops.BR_CMP["ne"], rest, s.const(I64, 0), type_=I64)
        s.bracket(ops.END)


def access(f: Function, instr: Instr, emit: Emit) -> None:
    """Emit the sequence of a ``masked_load_at`` or ``masked_store_at`` on at least 32 bits of lanes of 8 or 16 bits. It has branches."""
    m = _Masked(f, instr, emit)
    s = m.s
    held = m.op(ops.ONES_WHERE, m.bits, [instr.args[0]])
    whole, left = m.lanes_left(held)
    type_, bits, words = m.type_, m.bits, m.words
    if instr.op is ops.MASKED_LOAD_AT:
        loaded = m.at(ops.MASKED_LOAD_AT, words, [whole, m.place], True)
        value = s.f.register(bits, "", True)
        m.op(ops.BITCAST, bits, [loaded], source=words, into=value)
        s.bracket(ops.IF_CMP["ne"], left, s.const(I64, 0), type_=I64)
        rest, at = m.each(left)
        one = m.at(ops.LOAD_AT, m.element, [m.place, at], True, indexed=True)
        lane = at if type_.bits == 8 else s.op(ops.SHR, I64, at, s.const(I64, 1))
        number = m.op(ops.SPLAT, bits, [s.convert(m.element, lane, I64)])
        here = m.op(ops.EQ, bits, [m.op(ops.IOTA, bits, []), number], mask_of(bits.bits, bits.lanes))
        m.op(ops.SELECT, bits, [here, m.op(ops.SPLAT, bits, [one]), value], into=value)
        m.end_each(rest)
        s.bracket(ops.END)
        m.op(ops.BITCAST, type_, [value], source=bits, into=instr.dst)
        return
    stored = m.op(ops.BITCAST, words, [instr.args[1]], source=type_)
    m.at(ops.MASKED_STORE_AT, words, [whole, stored, m.place], False)
    s.bracket(ops.IF_CMP["ne"], left, s.const(I64, 0), type_=I64)
    copies = s.f.local_array("copies", type_.element, (type_.lanes,))
    m.op(ops.LOCAL, PTR, [s.f.const(I64, len(f.arrays) - 1)], into=copies.base)
    m.at(ops.STORE_AT, words, [stored, copies.base], False)
    rest, at = m.each(left)
    one = m.at(ops.LOAD_AT, m.element, [copies.base, at], True, indexed=True)
    m.at(ops.STORE_AT, m.element, [one, m.place, at], False, indexed=True)
    m.end_each(rest)
    s.bracket(ops.END)
