"""Innermost loops over lanes that may have few iterations: where there are too few, they are done one by one.

Of what is known where the nest starts it is asked there (``long_enough``), once for all of it. Where a row's length is found anew for each, as those of records and of sparse matrices
are, it is asked in front of each row, beside which the loop stands as written; so it is where a nest has loops of several lengths, of which one may be short (the right sides of a
system of equations) and the other not::

    for j = p[r], p[r + 1]         if p[r + 1] - p[r] >= 8
      s = s + v[j] * w[j]     →      for j = p[r], p[r + 1]: s = s + v[j] * w[j], in lanes
                                   else
                                     for j = p[r], p[r + 1]: s = s + v[j] * w[j]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.scalars import REDUCTION, Scalar
from loopwright.nests.rewriting.unroll import clone, has_loops
from loopwright.nests.steps.lanes import found_anew
from loopwright.types import BOOL, I64, VOID

__all__ = ["FEWEST_EACH", "as_far_as_known", "choose", "copies", "long_enough"]

#: Innermost loops of fewer iterations, of so many instructions at most, are quicker one by one than as a part of a vector; with more for each sum but one, and for further loops with sums.
FEWEST_LANES: Final = 4
MORE_FOR_SUMS: Final = 2
MOST_SHORT: Final = 24
#: A loop by itself that is come to again and again, and asks each time whether its arrays overlap, has so many at least.
FEWEST_AGAIN: Final = 16
#: So do rows whose lengths differ, where it is not foreseen which way they go (measured on Zen 4: of up to 6 elements as written take 0.4 to 0.7 of the time, of up to 12 they take 1.1 to 1.4 times as long).
FEWEST_EACH: Final = 8


class Plain:
    """A loop as written, for fewer iterations than ``least``."""

    __slots__ = ("code", "least")

    def __init__(self, least: int) -> None:
        self.code: list[Instr] = []
        self.least = least


def long_enough(nest: Nest, start: int, lanes: list[NestLoop], variables: list[Scalar], changed: bool) -> tuple[list[tuple[Op, int, int]], dict[int, int]]:
    """What has to hold for innermost loops over lanes to gain anything, as far as it is known where the nest, with all that belongs to it, starts: a few short iterations are done as written.

    Measured (Zen 4, rows of 3 to 20 elements): from 4 elements on a sum of two rows takes less time in lanes, and one total; two loops with a total each from 6, three totals from 8. Of the
    triangles of Cholesky's factors, whose rows are half as long and whose iterations are jammed, those of matrices from 18 on.

    Args:
        start: where all that belongs to the nest starts.
        changed: the nest is changed otherwise, too, so that all its loops are as long as has been asked in front.

    Returns:
        What is asked in front of the nest; and how many iterations loops have at least that ask by themselves, by their indices, since others in the nest may be long where they are not.
    """
    f = nest.f
    inside = {instr.dst for instr in f.code[start : nest.end + 1] if instr.dst >= 0}
    sums = [sum(scalar.kind == REDUCTION and scalar.loop is loop for scalar in variables) for loop in lanes]
    more = max([0, *[count - 1 for count in sums]]) + (sum(count > 0 for count in sums) > 1)
    found: list[tuple[Op, int, int]] = []
    each: dict[int, int] = {}
    ends: set[int] = set()
    again = _come_to_again(f, start)
    for loop in lanes:
        lo, hi, _ = f.code[loop.head].args
        ends.add(hi)
        body = f.code[loop.head + 1 : loop.end]
        if (loop.parent is None and not again) or loop.step != 1 or len(body) > MOST_SHORT or has_loops(body):
            continue
        least = FEWEST_LANES + MORE_FOR_SUMS * more if loop.parent is not None else FEWEST_AGAIN
        outer = next((other for other in nest.loops if other.index == hi), None) if hi >= 0 else None
        if outer is not None and outer.step == 1:
            # (As many as have been around so far.)
            least *= 4 if changed else 2
            hi = f.code[outer.head].args[1]
        if lo < 0 and hi >= 0 and hi not in inside:
            found.append((ops.GE, hi, f.const(I64, int(f.const_values[~lo]) + least)))
            if outer is None and loop.parent is not None:
                each[loop.index] = least
    if changed or len(ends) < 2 or len(each) < len(found):
        each.clear()
    return [*([] if each else found), *as_far_as_known(nest, lanes)], each


def _come_to_again(f: Function, start: int) -> bool:
    """Whether a nest is inside of a loop, which it is no nest with."""
    opened: list[bool] = []
    for instr in f.code[:start]:
        if instr.op is ops.END:
            opened.pop()
        elif instr.op.opens and not instr.op.closes:
            opened.append(IS_LOOP[instr.op.code])
    return any(opened)


def as_far_as_known(nest: Nest, lanes: list[NestLoop]) -> list[tuple[Op, int, int]]:
    """What has to hold for loops over lanes whose lengths change, but not beyond what is known in front of the nest, to be long enough: rows of a band."""
    f = nest.f
    found: list[tuple[Op, int, int]] = []
    for loop in lanes:
        body = f.code[loop.head + 1 : loop.end]
        if len(loop.last) < 2 or len(body) > MOST_SHORT or has_loops(body):
            continue
        low = _least(nest, loop.first)
        for form in loop.last if low is not None else ():
            ((value, coefficient),) = form.terms.items() if len(form.terms) == 1 else ((NONE, 0),)
            register = nest.forms.registers[value] if coefficient == 1 and value not in nest.indices else NONE
            run = ops.GE, register, f.const(I64, FEWEST_EACH + (low or 0) - form.constant)
            if register >= 0 and nest.ahead(register) and run not in found:
                found.append(run)
    return found


def _least(nest: Nest, forms: Sequence[Form]) -> int | None:
    """The number that a loop begins with at least, if the loops around begin with numbers."""
    for form in forms:
        total = form.constant
        for value, coefficient in form.terms.items():
            around = nest.indices.get(value)
            least = _least(nest, around.first) if around is not None and coefficient > 0 and around.step > 0 else None
            if least is None:
                break
            total += coefficient * least
        else:
            return total
    return None


def copies(nest: Nest, lanes: list[NestLoop], each: dict[int, int]) -> dict[int, Plain]:
    """Copies of those loops as written whose lengths are found anew in each iteration of the one around, or that ask by themselves: by their index.

    Args:
        each: how many iterations those have at least that ask by themselves, by their indices.
    """
    f = nest.f
    found: dict[int, Plain] = {}
    for loop in lanes:
        body = f.code[loop.head + 1 : loop.end]
        if loop.step == 1 and len(body) <= MOST_SHORT and not has_loops(body) and (loop.index in each or found_anew(nest, loop)):
            plain = found[loop.index] = Plain(each.get(loop.index, FEWEST_EACH))
            clone(f, f.code[loop.head : loop.end + 1], {}, plain.code)
    return found


def choose(f: Function, found: dict[int, Plain]) -> None:
    """Ask in front of such loops how long they are, now that they are over lanes; ``found`` are the copies."""
    if not found:
        return
    ends = match(f.code)
    out: list[Instr] = []
    closes: dict[int, list[Instr]] = {}
    for position, instr in enumerate(f.code):
        plain = found.get(instr.dst) if instr.op is ops.FOR else None
        if plain is not None:
            count, enough = f.register(I64), f.register(BOOL)
            lo, hi, _ = instr.args
            out.append(Instr(ops.SUB, I64, count, [hi, lo], 0, instr.line))
            out.append(Instr(ops.GE, I64, enough, [count, f.const(I64, plain.least)], 0, instr.line))
            out.append(Instr(ops.IF, VOID, NONE, [enough], 0, instr.line))
            closes[ends[position]] = [Instr(ops.ELSE, VOID, NONE, [], 0, instr.line), *plain.code, Instr(ops.END, VOID, NONE, [], 0, instr.line)]
        out.append(instr)
        out += closes.get(position, ())
    f.code = out
