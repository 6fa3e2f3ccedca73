"""Numbers that each iteration adds the same to, computed from the index under ``fastmath``, so that the loop can have lanes.

::

    for i = lo, hi                    for i = lo, hi
      b[i] = f(x)               →       b[i] = f(x' + f32(i - lo) * d)      (x' is what x was in front of the loop)
      x = x + d                       x = x' + f32(max(hi - lo, 0)) * d

Such are the places where a function is integrated, times, and angles. What the index is multiplied by has one rounding where the sum has one for each iteration. It takes a conversion more, and is done only where lanes come of it. (Integers are
``canonical/induction.py``'s; of floats it is the same substitution: R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 4.5.)
"""

from __future__ import annotations

from collections.abc import Sequence

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import clone, read_once, slice_of
from loopwright.nests.splitting.distribute import in_lanes_alone
from loopwright.targets.target import Target
from loopwright.types import F32, F64, I64

__all__ = ["SAME", "Progression", "progressions", "run", "same_ahead", "updated"]

#: What a variable is updated by, and what cannot have it as its second operand.
_UPDATES = (ops.ADD, ops.SUB)
#: Arithmetic that is the same in all iterations if its operands are.
SAME = frozenset((ops.ADD, ops.SUB, ops.MUL, ops.DIV, ops.NEG))


def run(f: Function, target: Target) -> dict[int, str]:
    """Rewrite such variables of a function. Returns by the index of the outermost loop what has been done, for the report."""
    done: dict[int, str] = {}
    if not target.vector_bits or not f.options.fastmath or not updated(f, _UPDATES):
        return done
    for nest in reversed(nests(f)):
        if nest.obstacles:
            continue
        for loop in reversed(nest.loops):
            found = progressions(f, loop)
            made = _written(nest, loop, found) if found else []
            if made and in_lanes_alone(nest, loop, made, target):
                f.code = [*f.code[: loop.head], *made, *f.code[loop.end + 1 :]]
                names = ", ".join([f.names[one.variable] or "a variable" for one in found])
                done[nest.loops[0].index] = f"{names} computed from {nest.name(loop)}"
                break
    return done


def updated(f: Function, updates: tuple[ops.Op, ops.Op]) -> bool:
    """Whether a float is updated in a loop by one of two operations, in the text; it is asked of every function."""
    depth = 0
    for instr in f.code:
        depth += int(instr.op.opens) - int(instr.op.closes)
        if depth and instr.dst >= 0 and f.variable[instr.dst] and instr.type in (F32, F64) and (instr.op in updates or instr.op is ops.COPY):
            return True
    return False


class Progression:
    """A variable that is the same operation further in each iteration.

    Attributes:
        variable: its register.
        position: where it is written.
        added: the operations of an iteration, and their other operands.
    """

    __slots__ = ("added", "position", "variable")

    def __init__(self, variable: int, position: int, added: list[tuple[ops.Op, int]]) -> None:
        self.variable = variable
        self.position = position
        self.added = added


def progressions(f: Function, loop: NestLoop, updates: tuple[ops.Op, ops.Op] = _UPDATES) -> list[Progression]:
    """The floats of a loop that are read in it, and to which each iteration adds what is the same in all, or, by other ``updates``, which it multiplies by it.

    Args:
        f: the function.
        loop: the loop; of one in steps of others than 1 there are none.
        updates: an operation whose operands may change places, and its inverse.
    """
    if loop.step != 1:
        return []
    code, variable = f.code, f.variable
    made: dict[int, int] = {}  # register -> where it is written, or -1 if that is in several places, or not in every iteration once
    depth = 0
    for k in range(loop.head + 1, loop.end):
        instr = code[k]
        depth += int(instr.op.opens) - int(instr.op.closes)
        if instr.dst >= 0:
            made[instr.dst] = k if not depth and instr.dst not in made else -1
    for k in range(loop.head + 1, loop.end):
        # (What is made of what is the same in all iterations is so, too.)
        instr = code[k]
        if (
            instr.dst != loop.index
            and instr.op in SAME
            and made[instr.dst] == k
            and not variable[instr.dst]
            and loop.index not in instr.args
            and made.keys().isdisjoint(instr.args)
        ):
            del made[instr.dst]
    found: list[Progression] = []
    for register, position in made.items():
        if position < 0 or not variable[register] or f.types[register] not in (F32, F64):
            continue
        added, links = _added(code, made, register, position, updates)
        if added and any(register in code[k].args for k in range(loop.head + 1, loop.end) if k not in links):
            found.append(Progression(register, position, added))
    return found


def _added(
    code: Sequence[Instr], made: dict[int, int], variable: int, position: int, updates: tuple[ops.Op, ops.Op]
) -> tuple[list[tuple[ops.Op, int]], set[int]]:
    """What is added to a variable, from where it is written back to where it is read, and the positions of that; nothing where it is something else."""
    added: list[tuple[ops.Op, int]] = []
    links: set[int] = set()
    while True:
        links.add(position)
        instr = code[position]
        if instr.op is ops.COPY:
            (of,) = instr.args
        elif instr.op in updates:
            of, other = instr.args
            if other in made:
                if instr.op is updates[1] or of in made:
                    return [], links
                of, other = other, of
            added.append((instr.op, other))
        else:
            return [], links
        if of == variable:
            return added, links
        position = made.get(of, -1)
        if position < 0:
            return [], links


def _written(nest: Nest, loop: NestLoop, found: list[Progression]) -> list[Instr]:
    """The loop, with what stands in front of it and behind."""
    f = nest.f
    head = f.code[loop.head]
    out: list[Instr] = []
    code = Code(f, loop.line, out)
    lo, hi = read_once(f, head.args[0], head.line, out), read_once(f, head.args[1], head.line, out)
    first: dict[int, int] = {}
    step: dict[int, int] = {}
    for one in found:
        type_ = f.types[one.variable]
        first[one.variable] = f.register(type_, f.names[one.variable])
        out.append(Instr(ops.COPY, type_, first[one.variable], [one.variable], 0, loop.line))
        total = f.const(type_, 0)
        for op, operand in one.added:
            total = code.op(op, total, same_ahead(f, loop.head, loop.end, operand, out), type_, type_)
        step[one.variable] = total
    start = head.copy()
    start.args = [lo, hi, head.args[2]]
    out.append(start)
    now: dict[int, int] = {}
    count = code.op(ops.SUB, head.dst, lo)
    for one in found:
        now[one.variable] = _at(f, code, count, first[one.variable], step[one.variable])
    written = {one.position: one.variable for one in found}
    for k in range(loop.head + 1, loop.end):
        instr = f.code[k].copy()
        instr.args = [now.get(a, a) for a in instr.args]
        if k in written:
            instr.dst = f.register(f.types[written[k]], f.names[written[k]])
            now[written[k]] = instr.dst
        out.append(instr)
    out.append(f.code[loop.end].copy())
    times = code.op(ops.MAX, code.op(ops.SUB, hi, lo), code.const(0))
    for one in found:
        type_ = f.types[one.variable]
        out.append(Instr(ops.COPY, type_, one.variable, [_at(f, code, times, first[one.variable], step[one.variable])], 0, loop.line))
    return out


def same_ahead(f: Function, head: int, end: int, operand: int, out: list[Instr]) -> int:
    """An operand that is the same in all iterations of the loops between two positions, computed in front of them."""
    renamed: dict[int, int] = {}
    clone(f, slice_of(f.code[head + 1 : end], {operand}), renamed, out)
    return renamed.get(operand, operand)


def _at(f: Function, code: Code, count: int, first: int, step: int) -> int:
    """What a variable is after so many iterations."""
    type_ = f.types[first]
    number = f.register(type_, "")
    code.out.append(Instr(ops.CONVERT, type_, number, [count], 0, code.line, I64))
    return code.op(ops.ADD, first, code.op(ops.MUL, number, step, type_, type_), type_, type_)
