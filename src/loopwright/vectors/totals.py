"""Totals whose lanes are fewer and wider than a loop's, or narrower than the variable (``vectors/sums.py``): what is added to them, and what they come to."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.types import I64, U32, U64, VOID, Type, vector_of
from loopwright.vectors.accesses import Accesses
from loopwright.vectors.divergence import Divergence
from loopwright.vectors.sums import COUNT, DISTANCE, NO_CONDITION, PRODUCT, Term, Total

__all__ = ["Totals", "nothing"]

#: Of counts in lanes of so many bits: the lanes in which all of them have room.
_COUNTED: Final[dict[int, Type]] = {8: U64, 16: U32, 32: U64}


def nothing(f: Function, type_: Type) -> int:
    """What may be added to any number of a type: -0.0 of floats, since 0.0 and that are 0.0."""
    return f.const(type_, -0.0 if type_.is_float else 0)


class Totals(Accesses):
    """What is emitted for the totals of one loop.

    Attributes:
        totals: accumulator -> its vector.
        terms: ``id`` of an addition to one that is kept in lanes of its own -> the total, and what is added.
        through: ``id`` of the instructions that only serve those.
        within: mask -> one that holds wherever it does.
        choices: register -> (a mask, what it is where that does not hold).
    """

    def __init__(self, f: Function, shapes: Divergence, lanes: int, width: int) -> None:
        super().__init__(f, shapes, lanes, width)
        self.totals: dict[int, int] = {}
        self.terms: dict[int, tuple[Total, Term]] = {}
        self.through: set[int] = set()
        self.within: dict[int, int] = {}
        self.choices: dict[int, tuple[int, int]] = {}

    def both(self, op: ops.Op, a: int, b: int) -> int:
        """Two of the loop's masks combined."""
        return self.define(op, self.mask_type, [a, b], self.mask_type)

    def chosen(self, mask: int, yes: int, no: int) -> int:
        """``yes`` in the lanes of a mask, ``no`` in the others."""
        if yes == no:
            return yes
        known = self.choices.get(yes)
        if known is not None and known[1] == no and self.is_within(known[0], mask):
            # In the other lanes it is that already.
            return yes
        type_ = self.f.type_of(yes)
        if type_.is_mask and self.f.type_of(no) is not type_:
            no = self.fitted(no, type_.bits)
        made = self.define(ops.SELECT, type_, [self.fitted(mask, type_.bits), yes, no], type_)
        if no < 0 or not self.f.variable[no]:
            self.choices[made] = mask, no
        return made

    def is_within(self, mask: int, lanes: int) -> bool:
        """Whether a mask is known to hold nowhere but in the lanes of another."""
        while mask != lanes and mask in self.within:
            mask = self.within[mask]
        return mask == lanes

    def lanes_of(self, total: Total) -> Type:
        """The type of a total's vector."""
        bits = total.of.bits or total.element.bits
        return vector_of(total.element, self.lanes * bits // total.element.bits)

    def begin_totals(self, totals: list[Total]) -> None:
        """Take totals into lanes of their own, which start from 0 wherever the loop begins."""
        for total in totals:
            self.totals[total.variable] = self.f.register(self.lanes_of(total), self.f.names[total.variable], True)
            self.through |= total.through
            for key, term in total.updates.items():
                self.terms[key] = total, term

    def serves_total(self, instr: Instr) -> bool:
        """Whether an instruction is an addition to such a total, which is made here, or serves one alone."""
        if id(instr) in self.through:
            return True
        found = self.terms.get(id(instr))
        if found is None:
            return False
        self.add_term(found[0], found[1])
        return True

    def add_term(self, total: Total, term: Term) -> None:
        """Add what one update adds, in the lanes that run."""
        into = self.totals[total.variable]
        type_ = self.f.types[into]
        mask = self.mask
        if term.condition != NO_CONDITION:
            mask = self.both(ops.AND, self.mask_for(term.condition, self.width), mask)
        if term.kind == COUNT:
            more = self.define(ops.ADD, type_, [into, self.f.const(type_, term.amount)], type_)
            self.define_into(into, ops.SELECT, type_, [self.fitted(mask, type_.bits), more, into])
            return
        numbers = [self.vector(operand) for operand in term.operands]
        op, source = ops.SUM_GROUPS, self.full(term.of)
        if term.kind == PRODUCT:
            self.add_products(into, term, numbers, mask)
            return
        if term.kind == DISTANCE:
            op, source = ops.SUM_ABS_DIFF, self.f.type_of(numbers[0])
            zero = self.f.const(source, 0)
            numbers = [self.chosen(mask, number, zero) for number in numbers]
        else:
            numbers[0] = self.chosen(mask, numbers[0], nothing(self.f, source))
        summed = self.define(op, type_, numbers, type_, source)
        self.define_into(into, ops.ADD, type_, [into, summed])

    def add_products(self, into: int, term: Term, numbers: list[int], mask: int) -> None:
        """Add the products of two vectors, of lanes that run: of bytes, or of what is made 16 bits wide."""
        source = self.full(term.of)
        if term.of.bits == 16:
            numbers = [self.widened(number, source) for number in numbers]
        elif not term.mixed:
            source = self.f.type_of(numbers[0])
        else:
            numbers[0] = self.define(ops.BITCAST, source, [numbers[0]], source, self.f.type_of(numbers[0]))
        numbers[0] = self.chosen(mask, numbers[0], self.f.const(source, 0))
        self.define_into(into, ops.DOT_MIXED_ADD if term.mixed and term.of.bits == 8 else ops.DOT_ADD, self.f.types[into], [*numbers, into], source)

    def widened(self, number: int, type_: Type) -> int:
        """Lanes as those of a wider type."""
        given = self.f.type_of(number)
        return number if given is type_ else self.define(ops.CONVERT, type_, [number], type_, given)

    def define_into(self, variable: int, op: ops.Op, type_: Type, args: list[int], source: Type = VOID) -> None:
        self.define(op, type_, args, type_, source)
        self.out[-1].dst = variable

    def end_total(self, total: Total) -> None:
        """Add all lanes to the variable, or take them from it."""
        f = self.f
        made = self.totals[total.variable]
        given = f.types[made]
        wide = given.element
        if not total.of.bits:
            wide = _COUNTED[given.bits]
        elif total.type.bits > given.bits:
            wide = I64 if given.signed else U64
        if wide is not given.element:
            full = vector_of(wide, given.lanes * given.bits // wide.bits)
            made = self.define(ops.SUM_GROUPS, full, [made], full, given)
            given = full
        combined = self.define(ops.REDUCE_ADD, given, [made], given.element)
        type_ = total.type
        if given.element is not type_:
            combined = self.define(ops.CONVERT, type_, [combined], type_, given.element)
        self.define_into(total.variable, ops.SUB if total.negative else ops.ADD, type_, [total.variable, combined])
