"""Loops whose iterations compute until something holds, as loops over lanes.

::

    for x = 0, n                              for x = 0, n lanes
      z, k = …                                  z, k = …
      while k < 50 and |z| < 2                  while k < 50 and |z| < 2          (as long as it holds in one of the lanes)
        z, k = z * z + c, k + 1        →          z, k = z * z + c, k + 1
      end                                       end
      o[x] = k                                  o[x] = k
    end                                       end

Sets of Mandelbrot's and Julia's kind, Newton's method and continued fractions are such: what is repeated, and how often, hangs on what is computed alone, and touches no memory. What of the loop around it is to be
told is told of the loop without it, as if it were one operation.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.brackets import end_of, match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.analysis.dependence import Dependence, dependences, too_many
from loopwright.nests.analysis.nest import Run, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.unroll import clone, written_first
from loopwright.nests.steps.lanes import adjacent, computed, free, mark, strided
from loopwright.nests.steps.small_indices import by_small_indices
from loopwright.targets.target import Target
from loopwright.types import I64

__all__ = ["run"]

#: So many instructions at most are repeated.
LONGEST: Final = 400
#: Integers alone are repeated in so many lanes at least: each of their operations takes a cycle, and whether a lane goes on half a dozen, while of lanes that need
#: twice as many iterations as others half are idle (Collatz' sequences in four lanes take 1.2 times as long as one by one; Newton's method 0.3).
FEWEST: Final = 8
_LEAVES: Final = frozenset((ops.BR, ops.BR_IF))
_COMPUTES: Final = frozenset((ops.PURE, ops.CONTROL))


def run(f: Function, target: Target, report: Any = None) -> bool:
    """Make such loops of a function, which has no loop over lanes yet, ones over lanes.

    Args:
        f: the function, before it has vectors.
        target: the machine.
        report: the ``Report`` that is told what was done, or None.

    Returns:
        Whether there were any.
    """
    if not target.vector_bits or not any(instr.op is ops.WHILE or instr.op in _LEAVES for instr in f.code):
        return False
    _hoist(f)
    done: set[int] = set()
    found = False
    again = True
    while again:
        again = False
        partner = match(f.code)
        for part in _repeated(f, partner):
            for head in _around(f, partner, part.start):
                if f.code[head].dst not in done:
                    done.add(f.code[head].dst)
                    if _lanes(f, target, head, part, report, done):
                        found = again = True
                        break
            if again:
                break
    return found


def _hoist(f: Function) -> None:
    """Load what is loaded in the first step in any case, and is the same in all, in front of a loop that is repeated, if it is not loaded there already: nothing is stored in it."""
    again = True
    while again:
        again = False
        for part in _repeated(f, match(f.code)):
            code = f.code
            step = code[part.start : part.end + 1]
            written = {instr.dst for instr in step if instr.dst >= 0}
            held: dict[tuple[int, ...], int] = {}
            for load in (*_in_front(f, code, part.start), *_sure(f, code, part)):
                if written.isdisjoint(load.args):
                    held.setdefault((load.imm, *load.args), load.dst)
            if not any(instr.op is ops.LOAD and (instr.imm, *instr.args) in held and not f.variable[instr.dst] for instr in step):
                continue
            before: list[Instr] = []
            rename: dict[int, int] = {}
            kept: list[Instr] = []
            for instr in step:
                holder = held.get((instr.imm, *instr.args), NONE) if instr.op is ops.LOAD and not f.variable[instr.dst] else NONE
                if holder == NONE:
                    kept.append(instr)
                elif holder == instr.dst:
                    before.append(instr)
                else:
                    rename[instr.dst] = holder
            # (What is loaded in every first step may be read behind the loop as well.)
            for instr in (*kept, *code[part.end + 1 :]):
                instr.args = [rename.get(a, a) for a in instr.args]
            f.code = [*code[: part.start], *before, *kept, *code[part.end + 1 :]]
            again = True
            break


def _in_front(f: Function, code: list[Instr], start: int) -> list[Instr]:
    """The loads right in front of a place, behind the last store and bracket."""
    found: list[Instr] = []
    for k in range(start - 1, -1, -1):
        instr = code[k]
        if instr.op is ops.LOAD:
            if not f.variable[instr.dst] and not any(a >= 0 and f.variable[a] for a in instr.args):
                found.append(instr)
        elif instr.op.effect != ops.PURE:
            break
    return found


def _sure(f: Function, code: list[Instr], part: _Part) -> list[Instr]:
    """The loads that are made in the first step of a part whatever happens."""
    head = code[part.first]
    if head.op is ops.FOR and not (max(head.args) < 0 and _runs(f, head)):
        return []
    found: list[Instr] = []
    for k in (*range(part.start, part.first), *range(part.first + 1, part.last)):
        op = code[k].op
        if op.effect == ops.CONTROL and op is not ops.BLOCK:
            break
        if op is ops.LOAD and not f.variable[code[k].dst]:
            found.append(code[k])
    return found


def _runs(f: Function, head: Instr) -> bool:
    """Whether a loop with known bounds has an iteration."""
    lo, hi, step = (int(f.const_values[~a]) for a in head.args)
    return len(range(lo, hi, step)) > 0


class _Part:
    """A part of a loop that computes until something holds: a loop, or a block that one is in, which it leaves.

    Attributes:
        start, end: where it begins and ends.
        first, last: and where the loop in it does.
    """

    __slots__ = ("end", "first", "last", "start")

    def __init__(self, start: int, end: int, first: int, last: int) -> None:
        self.start = start
        self.end = end
        self.first = first
        self.last = last


def _repeated(f: Function, partner: list[int]) -> list[_Part]:
    """The loops that compute, load and do nothing else, with the blocks that they leave."""
    found: list[_Part] = []
    code = f.code
    open_: list[int] = []
    for k, instr in enumerate(code):
        op = instr.op
        if op is ops.END:
            open_.pop()
        elif op.opens and not op.closes:
            open_.append(k)
        if not IS_LOOP[op.code]:
            continue
        end = end_of(f.code, partner, k)
        if end - k > LONGEST:
            continue
        start, last, first = k, end, k
        for around in open_[-2::-1]:
            if code[around].op is not ops.BLOCK or _inside(code[start : last + 1]):
                break
            start, last = around, partner[around]
        inside = code[start:first] + code[first + 1 : last]
        if (
            last - start <= LONGEST
            and (op is ops.WHILE or start < first)
            and _inside(code[start : last + 1])
            and all(other.op is ops.LOAD or (other.op.effect in _COMPUTES and not IS_LOOP[other.op.code] and other.op is not ops.RET) for other in inside)
        ):
            found.append(_Part(start, last, first, end))
    return found


def _inside(code: list[Instr]) -> bool:
    """Whether nothing leaves a bracket but by its end."""
    depth = 0
    for instr in code:
        op = instr.op
        if op in _LEAVES and instr.imm >= depth:
            return False
        if op.opens and not op.closes:
            depth += 1
        elif op is ops.END:
            depth -= 1
    return True


def _around(f: Function, partner: list[int], start: int) -> list[int]:
    """The heads of the ``for`` loops that a place is in, the innermost first, as long as nothing else is between."""
    found: list[int] = []
    for k in range(start - 1, -1, -1):
        op = f.code[k].op
        if op.opens and not op.closes and (partner[partner[k]] if op is ops.WHILE else partner[k]) > start:
            if op is not ops.FOR or f.code[k].loop is not None:
                break
            found.append(k)
    return found


def _once(f: Function, code: list[Instr], part: _Part) -> list[Instr]:
    """What stands for a part that is repeated: what it does, once, whatever the variables hold that it writes, and the number of a step."""
    line = code[part.first].line
    repeated = code[part.first : part.last + 1]
    stands: list[Instr] = []
    step = _without_ways_out(repeated[1:-1])
    own = written_first(f, step)
    for v in dict.fromkeys(instr.dst for instr in repeated if instr.dst >= 0 and (f.variable[instr.dst] or instr.op is ops.FOR)):
        if not f.variable[v]:
            # (Of a variable that is written twice nobody knows what it holds.)
            anything = f.register(I64, "", True)
            stands += [Instr(ops.COPY, I64, anything, [f.const(I64, n)], 0, line) for n in range(2)]
            stands.append(Instr(ops.COPY, I64, v, [anything], 0, line))
        elif v not in own:
            stands.append(Instr(ops.COPY, f.types[v], v, [v], 0, line))
    return [*_without_ways_out(code[part.start : part.first]), *stands, *step, *_without_ways_out(code[part.last + 1 : part.end])]


def _without_ways_out(code: list[Instr]) -> list[Instr]:
    """Code without what leaves it, and where a ``while`` asks; brackets that begin or end elsewhere are gone."""
    open_: list[int] = []
    for k, instr in enumerate(code):
        if instr.op.opens and not instr.op.closes:
            open_.append(k)
        elif instr.op is ops.END and open_:
            open_.pop()
    kept: list[Instr] = []
    depth = 0
    for k, instr in enumerate(code):
        op = instr.op
        if k in open_ or (op in _LEAVES and instr.imm >= depth) or (op.closes and not depth):
            continue
        if op.opens and not op.closes:
            depth += 1
        elif op is ops.END:
            depth -= 1
        kept.append(instr)
    return kept


def _walks(f: Function, code: list[Instr], head: int, part: _Part) -> bool:
    """Whether a loop that is repeated looks elements up by what it counts alone, each lane its own, or by what it has looked up: one after the other they are there sooner.

    ``head`` is that of the loop around it.
    """
    repeated = code[part.first : part.last]
    made = {instr.dst: instr for instr in repeated if instr.dst >= 0 and not f.variable[instr.dst]}
    steps: dict[int, bool] = {}  # whether a variable is one more, or less, by a number, in each step
    loaded: set[int] = set()  # the variables that hold what has been loaded
    for instr in repeated:
        if instr.dst >= 0 and f.variable[instr.dst]:
            update = made.get(instr.args[0], instr) if instr.op is ops.COPY else instr
            counts = update.op in (ops.ADD, ops.SUB) and update.args[0] == instr.dst and update.args[1] not in made
            steps[instr.dst] = steps.get(instr.dst, True) and counts
            if _roots(made, instr.args)[1]:
                loaded.add(instr.dst)
    own = {code[head].dst, *(instr.dst for instr in code[head : part.first])}
    behind = {a for instr in code[part.last :] for a in instr.args}
    for load in repeated:
        if load.op is not ops.LOAD:
            continue
        roots, looked_up = _roots(made, load.args[-1:])
        counted = [a for a in roots if a in steps]
        if not loaded.isdisjoint(roots):
            return True
        if counted and not looked_up and all(steps[a] for a in counted) and any(a in behind or a in own for a in roots):
            return True
    return False


def _roots(made: dict[int, Instr], operands: list[int]) -> tuple[set[int], bool]:
    """What operands are computed from in a step: registers from before it and variables, and whether something is loaded for it."""
    roots: set[int] = set()
    loads = False
    open_ = list(operands)
    while open_:
        a = open_.pop()
        maker = made.get(a)
        if maker is None or maker.op is ops.FOR:
            roots.add(a)
        else:
            loads = loads or maker.op is ops.LOAD
            open_ += maker.args
    return roots, loads


def _lanes(f: Function, target: Target, head: int, part: _Part, report: Any, done: set[int]) -> bool:
    """Make a loop one over lanes, if what is around the part that is repeated can be and that part is computed in lanes; ``done`` receives the loops of what stays as it was."""
    original = f.code
    index = original[head].dst
    whole = next((one for one in nests(f) if one.start <= head <= one.end), None)
    if whole is None:
        # (A branch leaves it.)
        return False
    runs: list[Run] = []
    if by_small_indices(whole, target, runs):
        part = next(found for found in _repeated(f, match(f.code)) if f.code[found.end] is original[part.end])
    code = f.code
    f.code = [*code[: part.start], *_once(f, code, part), *code[part.end + 1 :]]
    nest = next(one for one in nests(f) if any(loop.index == index for loop in one.loops))
    loop = next(one for one in nest.loops if one.index == index)
    variables = scalars(nest)
    lanes = 0
    found: list[Dependence] = []
    if not _walks(f, code, head, part) and not nest.obstacles and not too_many(nest):
        beside = loop in adjacent(nest, variables, target)
        if beside or loop in strided(nest, variables, target, []):
            found = dependences(nest)
            lanes = computed(nest, loop, target, code[part.first : part.last + 1], not beside) if free(loop, found) else 0
    if not lanes or (lanes < FEWEST and not any(instr.type.is_float for instr in code[part.first : part.last])):
        f.code = original
        return False
    mark(nest, loop, variables, found)
    if report is not None:
        report.did(nest.loops[0].line, f"lanes({nest.name(loop)})")
    plain: list[Instr] = []
    clone(f, original[whole.start : whole.end + 1], {}, plain)
    for instr in plain:
        instr.loop = None
        if instr.op is ops.FOR:
            done.add(instr.dst)
    fast = code[whole.start : len(code) - (len(original) - 1 - whole.end)]
    f.code = original[: whole.start] + apart.versioned(f, apart.pairs(nest), plain, fast, original[whole.start].line, runs) + original[whole.end + 1 :]
    return True
