"""Numbers that each iteration multiplies by the same, taken from a table of powers under ``fastmath``, block by block, so that the loop can have lanes.

::

                                      for k = 0, 65: powers[k] = q ** k
    for i = lo, hi                    for first = lo, hi, 64
      b[i] = f(x)               →       for i = first, min(first + 64, hi): b[i] = f(x * powers[i - first])
      x = x * q                         x = x * powers[min(64, hi - first)]

Such are discounts, weights that fade, and prices in a tree. Each number has as many roundings as a block has, and no more than it had. (Linear recurrences by powers of what they multiply by: P. Kogge and H. Stone, "A parallel algorithm for the
efficient solution of a general class of recurrence equations", IEEE Transactions on Computers, 1973.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import LOCAL_ALIGN, MOST_LOCAL, NONE, Function, Instr
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.recurrences.progressions import SAME, Progression, progressions, same_ahead
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import own_array, read_once
from loopwright.nests.steps.lanes import adjacent, free, strided
from loopwright.targets.target import Target
from loopwright.types import F32, F64

__all__ = ["run"]

#: Iterations of a block.
BLOCK: Final = 64
#: A loop that no other is around has so many iterations at least.
LEAST: Final = 256
_UPDATES: Final = (ops.MUL, ops.DIV)


def run(f: Function, target: Target) -> dict[int, str]:
    """Rewrite such variables of a function. Returns by the index of the outermost loop what has been done, for the report."""
    done: dict[int, str] = {}
    if not target.vector_bits or not f.options.fastmath or not _possible(f):
        return done
    for nest in reversed(nests(f)):
        if nest.obstacles:
            continue
        for loop in reversed(nest.loops):
            found = progressions(f, loop, _UPDATES)
            # (What it is multiplied by is known in front of all loops.)
            if not found or not all(_ahead(nest, operand) for one in found for _, operand in one.added) or not (loop.parent is not None or loop.reaches(LEAST)):
                continue
            if f.local_bytes() + len(found) * (8 * (BLOCK + 1) + LOCAL_ALIGN) > MOST_LOCAL:
                continue
            arrays = len(f.arrays)
            made, block = _written(nest, loop, found)
            if _in_lanes(f, made, loop.index, target):
                f.code = made
                names = ", ".join([f.names[one.variable] or "a variable" for one in found])
                done[block if loop is nest.loops[0] else nest.loops[0].index] = (
                    f"{names} from a table of powers, {BLOCK} iterations of {nest.name(loop)} at a time"
                )
                break
            del f.arrays[arrays:]
    return done


def _ahead(nest: Nest, operand: int) -> bool:
    """Whether an operand is known in front of a nest, or can be computed there."""
    if nest.ahead(operand):
        return True
    place = nest.forms.places.get(operand, -1)
    if place < 0 or nest.f.variable[operand]:
        return False
    made = nest.f.code[place]
    return made.op in SAME and all(_ahead(nest, a) for a in made.args)


def _possible(f: Function) -> bool:
    """Whether a float is multiplied in a loop, in the text; it is asked of every function."""
    depth = 0
    for instr in f.code:
        depth += int(instr.op.opens) - int(instr.op.closes)
        if depth and instr.dst >= 0 and f.variable[instr.dst] and instr.type in (F32, F64) and instr.op in (*_UPDATES, ops.COPY):
            return True
    return False


def _in_lanes(f: Function, made: list[Instr], index: int, target: Target) -> bool:
    """Whether a loop of some code has lanes."""
    original = f.code
    f.code = made
    nest = next((one for one in nests(f) if any(loop.index == index for loop in one.loops)), None)
    laned = False
    if nest is not None and not nest.obstacles:
        variables, found = scalars(nest), dependences(nest, too_many(nest))
        beside = adjacent(nest, variables, target)
        laned = any(loop.index == index and free(loop, found) for loop in (*beside, *strided(nest, variables, target, beside, found)))
    f.code = original
    return laned


def _written(nest: Nest, loop: NestLoop, found: list[Progression]) -> tuple[list[Instr], int]:
    """The function's code with the loop in blocks, and the index of the loop over these."""
    f = nest.f
    head = f.code[loop.head]
    front = Code(f, loop.line, [])
    powers = {one.variable: _powers(nest, one, front) for one in found}
    code = Code(f, loop.line, [])
    lo, hi = read_once(f, head.args[0], head.line, code.out), read_once(f, head.args[1], head.line, code.out)
    base: dict[int, int] = {}
    for one in found:
        type_ = f.types[one.variable]
        base[one.variable] = f.register(type_, f.names[one.variable], True)
        code.out.append(Instr(ops.COPY, type_, base[one.variable], [one.variable], 0, loop.line))
    first = code.begin(lo, hi, BLOCK)
    stop = code.op(ops.MIN, code.op(ops.ADD, first, code.const(BLOCK)), hi)
    start = head.copy()
    start.args = [first, stop, head.args[2]]
    code.out.append(start)
    at = code.op(ops.SUB, head.dst, first)
    now = {one.variable: _times(f, code, base[one.variable], powers[one.variable], at) for one in found}
    written = {one.position: one.variable for one in found}
    for k in range(loop.head + 1, loop.end):
        instr = f.code[k].copy()
        instr.args = [now.get(a, a) for a in instr.args]
        if k in written:
            instr.dst = f.register(f.types[written[k]], f.names[written[k]])
            now[written[k]] = instr.dst
        code.out.append(instr)
    code.end()
    count = code.op(ops.SUB, stop, first)
    for one in found:
        next_ = _times(f, code, base[one.variable], powers[one.variable], count)
        code.out.append(Instr(ops.COPY, f.types[one.variable], base[one.variable], [next_], 0, loop.line))
    code.end()
    for one in found:
        code.out.append(Instr(ops.COPY, f.types[one.variable], one.variable, [base[one.variable]], 0, loop.line))
    return [*f.code[: nest.start], *front.out, *f.code[nest.start : loop.head], *code.out, *f.code[loop.end + 1 :]], first


def _powers(nest: Nest, one: Progression, code: Code) -> int:
    """The number of an array with the powers of what a variable is multiplied by, from 0 on; code that makes them."""
    f = nest.f
    type_ = f.types[one.variable]
    number = own_array(f, f"powers of {f.names[one.variable] or 'a variable'}", type_, BLOCK + 1, code.line, code.out)
    factor = f.const(type_, 1)
    for op, operand in one.added:
        factor = code.op(op, factor, same_ahead(f, nest.start, nest.end, operand, code.out), type_, type_)
    power = f.register(type_, "", True)
    code.out.append(Instr(ops.COPY, type_, power, [f.const(type_, 1)], 0, code.line))
    k = code.begin(code.const(0), code.const(BLOCK + 1), 1)
    code.out.append(Instr(ops.STORE, type_, NONE, [power, k], number, code.line))
    code.out.append(Instr(ops.MUL, type_, power, [power, factor], 0, code.line))
    code.end()
    return number


def _times(f: Function, code: Code, base: int, powers: int, at: int) -> int:
    """What a variable is some iterations into a block."""
    type_ = f.types[base]
    power = f.register(type_, "")
    code.out.append(Instr(ops.LOAD, type_, power, [at], powers, code.line))
    return code.op(ops.MUL, base, power, type_, type_)
