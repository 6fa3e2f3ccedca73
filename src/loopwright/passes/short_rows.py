"""Rows that read what the row before has just stored: what is left over behind whole vectors is done by shorter vectors, none of them under a mask.

::

    for i = lo, hi, 1 lanes             for i = lo, stop, N                     (whole vectors)
      a[r, i] = … a[r - 1, i] …           …
    end                          →      if (hi - stop) has the bit N / 2
                                          … for stop, stop + 1, …, stop + N / 2 - 1
                                        …
                                        for i = …, hi                           (less than the shortest vector has)
                                          a[r, i] = … a[r - 1, i] …

A core hands what is stored on to a load that reads no more than one store has written; a load under a mask of what several stores have written, or one under a mask, waits until all of it is in the
cache, which takes longer than a short row. Here the row behind loads each element in the same piece as this one has stored it in.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form, Forms
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.rewriting.unroll import clone, crossing_branches
from loopwright.passes.vector_loop import USUAL, VectorLoop, least
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID
from loopwright.vectors.accesses import ALONG, lay
from loopwright.vectors.divergence import Divergence
from loopwright.vectors.regions import Leaf

__all__ = ["Places", "Rows", "in_powers", "rereads"]

#: So many instructions at most are written for what is left over.
MOST: Final = 320
#: Measured on Zen 4: a row that waits for what was stored takes 50 cycles; so many elements take as long, and so many instructions.
MOST_SCALAR: Final = 16
MOST_SCALAR_WORK: Final = 240
#: Cycles of operations that are not among those.
SLOW: Final = 2


class Rows:
    """How a loop is written: with vectors of so many ``bits`` at most, and, where it has fewer than ``few`` iterations, without any."""

    __slots__ = ("bits", "few")

    def __init__(self, bits: int, few: int) -> None:
        self.bits = bits
        self.few = few

    def end(self, f: Function, lo: int, hi: int, line: int, out: list[Instr]) -> int:
        """Where vectors end at the latest, of a loop from ``lo`` to ``hi``."""
        if not self.few:
            return hi
        count, less, end = f.register(I64, ""), f.register(BOOL, ""), f.register(I64, "")
        out.append(Instr(ops.SUB, I64, count, [hi, lo], 0, line))
        out.append(Instr(ops.LT, I64, less, [count, f.const(I64, self.few)], 0, line))
        out.append(Instr(ops.SELECT, I64, end, [less, lo, hi], 0, line))
        return end


class Places:
    """Where each register is defined, found once for code that does not change."""

    __slots__ = ("code", "of")

    def __init__(self) -> None:
        self.code: list[Instr] = []
        self.of: dict[int, int] = {}

    def forms(self, f: Function, start: int, end: int) -> Forms:
        """The linear forms of a stretch of a function's code."""
        if self.code is not f.code:
            self.code = f.code
            variable = f.variable
            self.of = {instr.dst: position for position, instr in enumerate(f.code) if instr.dst >= 0 and not variable[instr.dst]}
        return Forms(f, start, end, self.of)


def rereads(f: Function, target: Target, shapes: Divergence, leaves: list[Leaf], span: tuple[int, int], within: Instr, places: Places) -> Rows | None:
    """How a loop over lanes, which another is around, is written where it loads what the iteration of that one before has stored, or beside that; None where it does not, or is too long to be written down for each length of vectors.

    Args:
        within: the head of the loop directly around it.
        places: of the function's code.
    """
    if not (target.masks_hold_loads or target.dear_masks) or shapes.root.opener.loop is None or shapes.root.opener.loop.accumulators:
        return None
    stored = {leaf.instr.imm for leaf in leaves if leaf.instr.op is ops.STORE}
    loads = [leaf.instr for leaf in leaves if leaf.instr.op is ops.LOAD and leaf.instr.imm in stored]
    body = f.code[span[0] + 1 : span[1]]
    bits = target.stream_bits or target.vector_bits
    lanes = bits // (shapes.widest(set()) or USUAL)
    if not loads or len(body) * lanes.bit_length() > MOST or any(IS_LOOP[instr.op.code] for instr in body) or crossing_branches(body):
        return None
    forms = places.forms(f, *span)
    near: set[int] = set()
    if any(lay(shapes, load.args) == ALONG and _moves_back(f, forms, load.args, within) for load in loads):
        near.add(0)
    for load in loads:
        for leaf in leaves:
            if leaf.instr.op is ops.STORE and leaf.instr.imm == load.imm:
                shift = _behind(shapes, forms, leaf.instr.args[1:], load.args, within.dst)
                if shift is not None:
                    near.add(shift)
    if not near:
        return None
    return Rows(bits, 0 if near == {0} else _scalar(f, target, body))


def _scalar(f: Function, target: Target, body: list[Instr]) -> int:
    """Rows of so few elements that read those beside what has been stored are done element by element: each of them is loaded as it was stored, where a vector would wait for two stores."""
    core = target.core
    if core is None or any(not instr.op.effect and core.cost_of(instr).cycles > SLOW for instr in body):
        return 0
    return min(MOST_SCALAR, MOST_SCALAR_WORK // len(body))


def _behind(shapes: Divergence, forms: Forms, stored: list[int], loaded: list[int], around: int) -> int | None:
    """How many elements further along the row a load at the indices ``loaded`` begins than what an iteration before of the loop around has stored at ``stored``; None where that stores nothing
    of that row, as far as is known."""
    if lay(shapes, stored) != ALONG or lay(shapes, loaded) != ALONG:
        return None
    shift = 0
    other = moves = False
    for place, (a, b) in enumerate(zip(stored, loaded, strict=True), 1 - len(stored)):
        one, two = forms.of(a), forms.of(b)
        if one is None or two is None:
            return None
        apart = two.plus(one, -1)
        if apart.terms:
            return None
        if not place:
            shift = apart.constant
        other = other or (apart.constant != 0 and place != 0)
        moves = moves or (_depends(forms, one, around) and not _looked_up(forms, one))
    return shift if other or (around != NONE and not moves) else None


def _moves_back(f: Function, forms: Forms, loaded: list[int], within: Instr) -> bool:
    """Whether a loop goes from rows to those in front of them: where they are short, a mask reaches from each into the one that has just been stored."""
    if within.dst == NONE or len(within.args) != 3 or within.args[2] >= 0:
        return False
    step = f.const_values[~within.args[2]]
    for place in loaded[:-1]:
        form = forms.of(place)
        for value, factor in form.terms.items() if form is not None else ():
            if forms.registers[value] == within.dst:
                return factor * step < 0
    return False


def _depends(forms: Forms, form: Form, register: int) -> bool:
    return any(register in forms.leaves[value] for value in form.terms)


def _looked_up(forms: Forms, form: Form) -> bool:
    """Whether a row is chosen by what is loaded: rows that are added to by a key are few, so that many an iteration comes to the row of the one before."""
    return any(leaf in forms.places and forms.code[forms.places[leaf]].op is ops.LOAD for value in form.terms for leaf in forms.leaves[value])


def in_powers(f: Function, target: Target, shapes: Divergence, leaves: list[Leaf], span: tuple[int, int], first: int, bits: int, out: list[Instr]) -> int:
    """Append a vector of half the lanes, of a quarter and so on, where so many indices of a loop are left, from ``first`` on.

    Args:
        bits: of the vectors in front of them.

    Returns:
        The first index behind them.
    """
    head = shapes.root.opener
    line = head.line
    width = shapes.widest(set()) or USUAL

    def emit(op: ops.Op, a: int, b: int, result: int) -> int:
        out.append(Instr(op, I64, result, [a, b], 0, line))
        return result

    left = emit(ops.SUB, emit(ops.MAX, head.args[1], first, f.register(I64, "")), first, f.register(I64, ""))
    bits //= 2
    while bits >= least(width):
        made: list[Instr] = []
        vectors = VectorLoop(f, target, shapes, leaves, span, made, True, bits=bits)
        vectors.write()
        lanes = f.const(I64, vectors.lanes)
        bit = emit(ops.AND, left, lanes, f.register(I64, ""))
        out.append(Instr(ops.IF, VOID, NONE, [emit(ops.NE, bit, f.const(I64, 0), f.register(BOOL, ""))], 0, line))
        opener = next(k for k, instr in enumerate(made) if instr.loop is vectors.described)
        rename = {head.dst: first, vectors.described.mask: f.const(f.types[vectors.described.mask], True)}
        # (What stands in front of the loop stays as it is: arrays of its own have their addresses from there.)
        out += made[:opener]
        clone(f, made[opener + 1 : -1], rename, out)
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))
        first = emit(ops.ADD, first, bit, f.register(I64, f.names[head.dst]))
        bits //= 2
    return first
