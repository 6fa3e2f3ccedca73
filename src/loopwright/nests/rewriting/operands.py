"""Operands of what loops are made into: an operation of two others, a linear form; and arithmetic that nothing reads any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import UNREACHED, Nest
from loopwright.types import I64

__all__ = ["computed", "moved", "of_form", "within_reason", "without_unread"]

#: What adds up indices; of so many at once.
_ADDING: Final = frozenset((ops.ADD, ops.SUB, ops.NEG, ops.MIN, ops.MAX, ops.COPY))
_MOST: Final = 8

_NONE: Final[Mapping[int, int]] = {}


def computed(f: Function, op: Op, a: int, b: int, line: int, out: list[Instr]) -> int:
    """An operand that is an operation of two others, computed already where it can be."""
    if a < 0 and b < 0:
        value = f.folded(op, I64, I64, [a, b])
        if value is not None:
            return value
    if op is ops.ADD and a < 0:
        a, b = b, a
    if op in (ops.ADD, ops.SUB) and b < 0 and int(f.const_values[~b]) == 0:
        return a
    made = f.register(I64, "")
    out.append(Instr(op, I64, made, [a, b], 0, line))
    return made


def moved(f: Function, operand: int, by: int, line: int, out: list[Instr]) -> int:
    """An index moved by a few places, as far as there are so many. (``2**63 - 1`` may say that there is no limit.)"""
    if by == 0:
        return operand
    if not within_reason(f, operand, out):
        operand = computed(f, ops.MIN if by > 0 else ops.MAX, operand, f.const(I64, UNREACHED if by > 0 else -UNREACHED), line, out)
    return computed(f, ops.ADD, operand, f.const(I64, by), line, out)


def within_reason(f: Function, operand: int, more: Sequence[Instr] = ()) -> bool:
    """Whether an index is known to be far from where numbers wrap: a constant, an extent, or what a few of these are added up to; what counts in a loop. ``more`` is code that is not in the function yet."""
    if operand < 0:
        return abs(int(f.const_values[~operand])) <= UNREACHED
    wanted = {operand}
    for instr in chain(reversed(more), reversed(f.code)):
        if instr.dst not in wanted:
            continue
        if f.variable[instr.dst]:
            return False
        wanted.discard(instr.dst)
        op = instr.op
        if op is ops.FOR or (op is ops.CONVERT and instr.source.bits < I64.bits) or (op is ops.AND and min(instr.args) < 0):
            continue
        if op not in _ADDING:
            return False
        for a in instr.args:
            if a >= 0:
                wanted.add(a)
            elif abs(int(f.const_values[~a])) > UNREACHED >> 1:
                return False
        if len(wanted) > _MOST:
            return False
    extents = {extent for array in f.arrays for extent in array.extents}
    return all(a in extents and not f.variable[a] for a in wanted)


def of_form(nest: Nest, form: Form, line: int, out: list[Instr], more: Mapping[int, int] = _NONE) -> int:
    """An operand that is a form, of values that have registers: their own, or those that ``more`` says."""
    f = nest.f
    total = f.const(I64, 0)
    for value, coefficient in sorted(form.terms.items(), key=lambda term: -term[1]):
        register = more[value] if value in more else nest.forms.registers[value]
        # (An expression has none.)
        assert value in more or register >= 0
        term = register if abs(coefficient) == 1 else computed(f, ops.MUL, register, f.const(I64, abs(coefficient)), line, out)
        total = computed(f, ops.ADD if coefficient > 0 else ops.SUB, total, term, line, out)
    return computed(f, ops.ADD, total, f.const(I64, form.constant), line, out)


def without_unread(f: Function, code: list[Instr], behind: list[Instr]) -> list[Instr]:
    """A stretch of code without the arithmetic on i64 that nothing reads any more."""
    wanted = {a for instr in behind for a in instr.args}
    kept: list[Instr] = []
    for instr in reversed(code):
        if instr.op.pure and instr.op.effect != ops.CONTROL and instr.type is I64 and instr.dst not in wanted and not f.variable[instr.dst]:
            continue
        wanted.update(instr.args)
        kept.append(instr)
    kept.reverse()
    return kept
