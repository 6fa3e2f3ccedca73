"""What variables carry from one iteration of a loop to the next.

Everything else that is computed has one definition, which is passed before it is used in the same iteration; only variables live from one to the next. For
each loop and each variable that is written in it: whether an iteration may read what an earlier one has left, and whether that is a reduction, whose updates
may be put into another order where the operation allows it.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.ir.loops import IS_LOOP
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.vectors.handed import handed

__all__ = ["CARRIED", "HANDED", "PRIVATE", "REDUCTION", "Scalar", "any_order", "scalars"]

#: Each iteration writes it before it reads it.
PRIVATE: Final = "private"
#: It is only changed by updates with one operation, and not read otherwise in the loop.
REDUCTION: Final = "reduction"
#: An iteration reads what earlier ones have given it, which they make without it (``vectors/handed.py``).
HANDED: Final = "handed on"
#: An iteration may read what an earlier one has left, otherwise.
CARRIED: Final = "carried"


class Scalar:
    """A variable that a loop writes.

    Attributes:
        variable: its register.
        loop: the loop.
        kind: PRIVATE, REDUCTION, HANDED or CARRIED.
        op: the operation of a reduction, or None. Subtractions are updates of a sum.
        line: the user's line of the first write.
    """

    __slots__ = ("kind", "line", "loop", "op", "variable")

    def __init__(self, variable: int, loop: NestLoop, kind: str, op: Op | None, line: int) -> None:
        self.variable = variable
        self.loop = loop
        self.kind = kind
        self.op = op
        self.line = line

    def __repr__(self) -> str:
        return f"%{self.variable} {self.kind}{f' by {self.op}' if self.op is not None else ''}"


class _Region:
    """An open bracket.

    Attributes:
        exposed: the variables that it may read before it has written them.
        written: those that the arm that is being looked at has written for certain.
        always: those that every other way to its end has written; None while there is none.
    """

    __slots__ = ("always", "exposed", "loop", "written")

    def __init__(self, loop: NestLoop | None) -> None:
        self.loop = loop
        self.exposed: set[int] = set()
        self.written: set[int] = set()
        self.always: set[int] | None = None

    def leaves(self, written: set[int]) -> None:
        """There is a way to its end on which so much was written."""
        self.always = set(written) if self.always is None else self.always & written

    def after(self) -> set[int]:
        """What has been written for certain behind its end."""
        if self.loop is not None:
            # Its body may not run at all.
            return set()
        return self.written if self.always is None else self.written & self.always


def scalars(nest: Nest) -> list[Scalar]:
    """The variables that the loops of a nest write, per loop in the order of ``nest.loops``, by register."""
    f = nest.f
    exposed = _exposed(nest)
    found: list[Scalar] = []
    for loop in nest.loops:
        first: dict[int, int] = {}
        for k in range(loop.head + 1, loop.end):
            dst = f.code[k].dst
            if dst >= 0 and f.variable[dst] and dst not in first:
                first[dst] = f.code[k].line
        candidates = [variable for variable in sorted(first) if variable in exposed[loop.number]]
        updates = _reductions(nest, loop, candidates)
        others = {variable for variable in candidates if variable not in updates}
        moved = handed(f, _body(f, loop), others) if others else {}
        for variable in sorted(first):
            op = updates.get(variable)
            kind = PRIVATE if variable not in exposed[loop.number] else REDUCTION if op is not None else HANDED if variable in moved else CARRIED
            found.append(Scalar(variable, loop, kind, op, first[variable]))
    return found


def _body(f: Function, loop: NestLoop) -> list[tuple[Instr, bool]]:
    """The instructions of a loop, and whether each is in no bracket but the loop's."""
    found: list[tuple[Instr, bool]] = []
    depth = 0
    for instr in f.code[loop.head + 1 : loop.end]:
        depth += int(instr.op.opens) - int(instr.op.closes)
        found.append((instr, not depth))
    return found


def _exposed(nest: Nest) -> list[set[int]]:
    """Per loop: the variables that its body may read before it has written them."""
    f = nest.f
    variable = f.variable
    found: list[set[int]] = [set() for _ in nest.loops]
    opened: list[_Region] = []
    otherwise: list[bool] = []  # per open bracket: one of its arms runs
    number = 0
    for k in range(nest.start, nest.end + 1):
        instr = f.code[k]
        op = instr.op
        if opened:
            region = opened[-1]
            for a in instr.args:
                if a >= 0 and variable[a] and a not in region.written:
                    region.exposed.add(a)
        if op.opens and not op.closes:
            loop = None
            if IS_LOOP[op.code]:
                loop = nest.loops[number]
                number += 1
            opened.append(_Region(loop))
            otherwise.append(op is not ops.IF)
        elif op is ops.ELSE or op is ops.ELIF:
            opened[-1].leaves(opened[-1].written)
            opened[-1].written = set()
            otherwise[-1] = op is ops.ELSE
        elif op is ops.END:
            region = opened.pop()
            if not otherwise.pop():
                region.leaves(set())
            if region.loop is not None:
                found[region.loop.number] = set(region.exposed)
            if opened:
                opened[-1].exposed |= region.exposed - opened[-1].written
                opened[-1].written |= region.after()
        elif op is ops.BR or op is ops.BR_IF:
            place = len(opened) - 1 - instr.imm
            if place >= 0:
                opened[place].leaves({a for region in opened[place:] for a in region.written})
        elif instr.dst >= 0 and variable[instr.dst] and opened:
            opened[-1].written.add(instr.dst)
    return found


def _reductions(nest: Nest, loop: NestLoop, candidates: list[int]) -> dict[int, Op]:
    """The variables that are read in a loop only to be updated, with one operation each that accumulators may be combined by.

    An update is ``v = op v, x``, or ``t = op v, x`` and ``v = copy t``, which is the only use of ``t``.
    """
    f = nest.f
    by: dict[int, Op | None] = {variable: None for variable in candidates}
    copied: dict[int, int] = {}
    updated: dict[int, list[int]] = {}  # the result of an operation on variables, until it is copied to one of them -> these
    for k in range(loop.head + 1, loop.end):
        instr = f.code[k]
        dst = instr.dst
        op = ops.ADD if instr.op is ops.SUB else instr.op
        for place, a in enumerate(instr.args):
            if a in by:
                update = op.reduction is not None and instr.args.count(a) == 1 and (instr.op.commutes or place == 0)
                if not update or by[a] not in (None, op) or (dst != a and (dst < 0 or f.variable[dst])):
                    del by[a]
                    continue
                by[a] = op
                if dst != a:
                    updated.setdefault(dst, []).append(a)
            elif a in updated:
                of = updated.pop(a)
                copied[a] = dst if dst in of and instr.op is ops.COPY else of[0]
                for variable in of:
                    # (Any other is read by the operation, not updated.)
                    if variable != dst or instr.op is not ops.COPY:
                        by.pop(variable, None)
            elif a in copied:
                by.pop(copied[a], None)
        if dst in by and dst not in instr.args and not (instr.op is ops.COPY and _result_of(f.code, loop, k, dst)):
            del by[dst]
    for of in updated.values():
        for variable in of:
            by.pop(variable, None)
    return {variable: op for variable, op in by.items() if op is not None}


def _result_of(code: list[Instr], loop: NestLoop, k: int, variable: int) -> bool:
    """Whether what a copy at ``k`` writes to a variable is the result of an operation on that variable."""
    given = code[k].args[0]
    return any(code[n].dst == given and variable in code[n].args for n in range(k - 1, loop.head, -1))


def any_order(f: Function, scalar: Scalar) -> bool:
    """Whether a variable is a total that may be added up in any order. Sums of f16 may not: in another order they leave its short range where they do not as written."""
    type_ = f.types[scalar.variable]
    if scalar.kind != REDUCTION or (is_half(type_) and scalar.op is not ops.MIN and scalar.op is not ops.MAX):
        return False
    return type_.is_integer or (type_.is_float and f.options.fastmath)
