"""Variables that are a step further in each iteration, of which many steps at once are known: taken from tables of these, block by block, so that the loop can have lanes.

::

                                      for k = 0, 65: powers[k] = q ** k
    for i = lo, hi                    for first = lo, hi, 64
      b[i] = f(x)               →       for i = first, min(first + 64, hi): b[i] = f(x * powers[i - first])
      x = x * q                         x = x * powers[min(64, hi - first)]

So are numbers that are multiplied by the same (``geometric.py``: discounts, weights that fade, prices in a tree; under ``fastmath``, with as many roundings as a block has, and no more than there were), and those of generators of random
numbers (``congruences.py``). (Linear recurrences by powers of what they multiply by: P. Kogge and H. Stone, "A parallel algorithm for the efficient solution of a general class of recurrence equations", IEEE Transactions on Computers, 1973.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import LOCAL_ALIGN, MOST_LOCAL, NONE, Function, Instr
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.recurrences import congruences, geometric
from loopwright.nests.recurrences.progressions import updated
from loopwright.nests.recurrences.stepping import BLOCK, Stepping
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import clone, read_once
from loopwright.nests.splitting.conditions import own_variables
from loopwright.nests.steps.laned import have_lanes
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID

__all__ = ["run"]

#: Loops of fewer iterations take no longer one by one than tables take to be made for them.
FEWEST: Final = 96


def run(f: Function, target: Target) -> dict[int, str]:
    """Rewrite such variables of a function. Returns by the index of the outermost loop what has been done, for the report."""
    done: dict[int, str] = {}
    if not target.vector_bits or not ((f.options.fastmath and updated(f, geometric.UPDATES)) or congruences.possible(f)):
        return done
    for nest in reversed(nests(f)):
        if nest.obstacles:
            continue
        for loop in reversed(nest.loops):
            found: list[Stepping] = [*geometric.found(nest, loop), *congruences.found(nest, loop)] if loop.step == 1 else []
            if not found or f.local_bytes() + sum([one.bytes + LOCAL_ALIGN for one in found]) > MOST_LOCAL:
                continue
            arrays = len(f.arrays)
            made, block = _written(nest, loop, found)
            if have_lanes(f, made, (loop.index,), target):
                f.code = made
                names = ", ".join([f.names[one.variable] or "a variable" for one in found])
                done[block if loop is nest.loops[0] else nest.loops[0].index] = f"{names} from tables, {BLOCK} iterations of {nest.name(loop)} at a time"
                break
            del f.arrays[arrays:]
            alone = congruences.unmasked(f, loop, found)
            if alone:
                f.code = [*f.code[: loop.head], *alone, *f.code[loop.end + 1 :]]
                break
    return done


def _written(nest: Nest, loop: NestLoop, found: Sequence[Stepping]) -> tuple[list[Instr], int]:
    """The function's code with the loop in blocks, and the index of the loop over these."""
    f = nest.f
    head = f.code[loop.head]
    front = Code(f, loop.line, [])
    for one in found:
        one.prepare(front)
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
    now = {one.variable: one.value(code, base[one.variable], at, 0) for one in found if one.read_first}
    written = {position: (one, number + 1) for one in found for number, position in enumerate(one.positions)}
    links = {position for one in found for position in one.links}
    for k in range(loop.head + 1, loop.end):
        if k in written:
            one, number = written[k]
            now[one.variable] = one.value(code, base[one.variable], at, number)
        elif k not in links:
            instr = f.code[k].copy()
            instr.args = [now.get(a, a) for a in instr.args]
            code.out.append(instr)
    code.end()
    count = code.op(ops.SUB, stop, first)
    for one in found:
        value = one.value(code, base[one.variable], count, 0)
        code.out.append(Instr(ops.COPY, f.types[one.variable], base[one.variable], [value], 0, loop.line))
    code.end()
    for one in found:
        code.out.append(Instr(ops.COPY, f.types[one.variable], one.variable, [base[one.variable]], 0, loop.line))
    made = [*front.out, *f.code[nest.start : loop.head], *code.out]
    if loop is nest.loops[0]:
        made = _where_long(nest, loop, made)
    return [*f.code[: nest.start], *made, *f.code[loop.end + 1 :]], first


def _where_long(nest: Nest, loop: NestLoop, made: list[Instr]) -> list[Instr]:
    """What a loop is made into where it has so many iterations that tables made for it alone are worth it; the loop as written elsewhere."""
    f = nest.f
    lo, hi, step = f.code[loop.head].args
    out = Code(f, loop.line, [])
    out.out.append(Instr(ops.IF, VOID, NONE, [out.op(ops.GE, out.op(ops.SUB, hi, lo), out.const(FEWEST), BOOL)], 0, loop.line))
    out.out += made
    out.out.append(Instr(ops.ELSE, VOID, NONE, [], 0, loop.line))
    index = f.register(I64, f.names[loop.index])
    out.out.append(Instr(ops.FOR, VOID, index, [lo, hi, step], 0, loop.line))
    rename = {loop.index: index}
    for variable in own_variables(nest, loop):
        rename[variable] = f.register(f.types[variable], f.names[variable], True)
    clone(f, f.code[loop.head + 1 : loop.end], rename, out.out)
    out.end()
    out.end()
    return out.out
