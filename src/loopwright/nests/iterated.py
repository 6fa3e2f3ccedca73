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
from loopwright.ir.brackets import match
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.ir.ops import Op
from loopwright.nests import apart
from loopwright.nests.dependence import Dependence, dependences, questions
from loopwright.nests.lanes import adjacent, computed, free, mark
from loopwright.nests.nest import nests
from loopwright.nests.scalars import scalars
from loopwright.nests.small_indices import by_small_indices
from loopwright.nests.unroll import clone, written_first
from loopwright.targets.target import Target
from loopwright.types import I64

__all__ = ["run"]

#: Nests whose dependences take more questions are not looked at.
MOST_QUESTIONS: Final = 40
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
    done: set[int] = set()
    found = False
    again = True
    while again:
        again = False
        partner = match(f.code)
        for start, end in _repeated(f, partner):
            head = _around(f, partner, start)
            if head >= 0 and f.code[head].dst not in done:
                done.add(f.code[head].dst)
                if _lanes(f, target, head, (start, end), report):
                    found = again = True
                    break
    return found


def _repeated(f: Function, partner: list[int]) -> list[tuple[int, int]]:
    """Where loops begin and end, with the block that they are left by, that compute and do nothing else."""
    found: list[tuple[int, int]] = []
    code = f.code
    for k, instr in enumerate(code):
        if not IS_LOOP[instr.op.code]:
            continue
        end = partner[partner[k]] if instr.op is ops.WHILE else partner[k]
        if end - k > LONGEST:
            continue
        if any(other.op is not ops.LOAD and (other.op.effect not in _COMPUTES or IS_LOOP[other.op.code] or other.op is ops.RET) for other in code[k + 1 : end]):
            continue
        start = k
        if k and code[k - 1].op is ops.BLOCK and partner[k - 1] == end + 1:
            start, end = k - 1, end + 1
        if (instr.op is ops.WHILE or start < k) and _inside(code[start : end + 1]):
            found.append((start, end))
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


def _around(f: Function, partner: list[int], start: int) -> int:
    """The head of the ``for`` that a place is directly in; -1 where there is none, or something is between."""
    for k in range(start - 1, -1, -1):
        op = f.code[k].op
        if op.opens and partner[k] > start:
            return k if op is ops.FOR and f.code[k].loop is None else -1
    return -1


def _once(f: Function, repeated: list[Instr]) -> list[Instr]:
    """What stands for a loop that is repeated: what it does, once, whatever the variables hold that it writes, and the number of a step."""
    line = repeated[0].line
    around = 2 if repeated[0].op is ops.BLOCK else 1
    step: list[Instr] = []
    depth = 0  # brackets that are open inside of those of the loop
    for instr in repeated[around:-around]:
        op = instr.op
        if (op in _LEAVES and instr.imm >= depth) or (op is ops.DO and not depth):
            continue
        if op.opens and not op.closes:
            depth += 1
        elif op is ops.END:
            depth -= 1
        step.append(instr)
    stands: list[Instr] = []
    own = written_first(f, step)
    for v in dict.fromkeys(instr.dst for instr in repeated if instr.dst >= 0 and (f.variable[instr.dst] or instr.op is ops.FOR)):
        if not f.variable[v]:
            # (Of a variable that is written twice nobody knows what it holds.)
            anything = f.register(I64, "", True)
            stands += [Instr(ops.COPY, I64, anything, [f.const(I64, n)], 0, line) for n in range(2)]
            stands.append(Instr(ops.COPY, I64, v, [anything], 0, line))
        elif v not in own:
            stands.append(Instr(ops.COPY, f.types[v], v, [v], 0, line))
    return [*stands, *step]


def _walks(f: Function, code: list[Instr], where: tuple[int, int, int]) -> bool:
    """Whether a loop that is repeated looks elements up by what it counts alone, each lane its own: one after the other they are there sooner, and when it ends is guessed.

    ``where`` are the head of the loop around it, and where it begins and ends.
    """
    head, start, end = where
    repeated = code[start:end]
    made = {instr.dst: instr for instr in repeated if instr.dst >= 0 and not f.variable[instr.dst]}
    steps: dict[int, bool] = {}  # whether a variable is one more, or less, by a number, in each step
    for instr in repeated:
        if instr.dst >= 0 and f.variable[instr.dst]:
            update = made.get(instr.args[0], instr) if instr.op is ops.COPY else instr
            counts = update.op in (ops.ADD, ops.SUB) and update.args[0] == instr.dst and update.args[1] not in made
            steps[instr.dst] = steps.get(instr.dst, True) and counts
    own = {code[head].dst, *(instr.dst for instr in code[head:start])}
    behind = {a for instr in code[end:] for a in instr.args}
    for load in repeated:
        if load.op is not ops.LOAD:
            continue
        roots: set[int] = set()
        open_ = [load.args[-1]]
        looked_up = False
        while open_:
            a = open_.pop()
            instr = made.get(a)
            if instr is None or instr.op is ops.FOR:
                roots.add(a)
            else:
                looked_up = looked_up or instr.op is ops.LOAD
                open_ += instr.args
        counted = [a for a in roots if a in steps]
        if counted and not looked_up and all(steps[a] for a in counted) and any(a in behind or a in own for a in roots):
            return True
    return False


def _lanes(f: Function, target: Target, head: int, repeated: tuple[int, int], report: Any) -> bool:
    """Make a loop one over lanes, if what is around the part that is repeated can be and that part is computed in lanes."""
    original = f.code
    index = original[head].dst
    whole = next(one for one in nests(f) if one.start <= head <= one.end)
    runs: list[tuple[Op, int, int]] = []
    if by_small_indices(whole, target, runs):
        repeated = next((start, end) for start, end in _repeated(f, match(f.code)) if f.code[end] is original[repeated[1]])
    code = f.code
    start, end = repeated
    f.code = [*code[:start], *_once(f, code[start : end + 1]), *code[end + 1 :]]
    nest = next(one for one in nests(f) if any(loop.index == index for loop in one.loops))
    loop = next(one for one in nest.loops if one.index == index)
    variables = scalars(nest)
    lanes = 0
    found: list[Dependence] = []
    if not _walks(f, code, (head, start, end)) and not nest.obstacles and questions(nest) <= MOST_QUESTIONS and loop in adjacent(nest, variables, target):
        found = dependences(nest)
        lanes = computed(nest, loop, target, code[start : end + 1]) if free(loop, found) else 0
    if not lanes or (lanes < FEWEST and not any(instr.type.is_float for instr in code[start:end])):
        f.code = original
        return False
    mark(nest, loop, variables, found)
    if report is not None:
        report.did(nest.loops[0].line, f"lanes({nest.name(loop)})")
    plain: list[Instr] = []
    clone(f, original[whole.start : whole.end + 1], {}, plain)
    for instr in plain:
        instr.loop = None
    fast = code[whole.start : len(code) - (len(original) - 1 - whole.end)]
    f.code = original[: whole.start] + apart.versioned(f, apart.pairs(nest), plain, fast, original[whole.start].line, runs) + original[whole.end + 1 :]
    return True
