"""Loops that look for an extreme of what branches compute: the branches become choices, so that the loop is one of ``extremes.py``.

::

    for i = lo, hi                          for i = lo, hi
      if le %dot, 0                           %d = select le %dot, 0, %near, %cross
        %d = copy %near              →        if gt %d, %far
      else                                      %far = copy %d; %at = copy %i
        %d = copy %cross                      end
      end                                   end
      if gt %d, %far
        %far = copy %d; %at = copy %i
      end
    end

The corner of a line that is the furthest from a chord, and the nearest of several segments, are looked for so. It is done where the loop has lanes then, in which both arms would run anyway.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.nest import nest_of
from loopwright.nests.branches.conversion import converted
from loopwright.nests.idioms.extremes import splits
from loopwright.nests.rewriting.unroll import crossing_branches, has_loops
from loopwright.targets.target import Target

__all__ = ["run"]

#: Longer loops are not looked at.
MOST: Final = 80
#: So many values in arms are computed in each iteration, in lanes.
MOST_BRANCHED: Final = 24
_ORDERED: Final = frozenset((ops.GT, ops.GE, ops.LT, ops.LE))


def run(f: Function, target: Target) -> None:
    """Rewrite every such loop of a function that is at a stage before ``vectorize``."""
    if not target.vector_bits or sum(instr.op is ops.IF for instr in f.code) < 2:
        return
    heads = [k for k, instr in enumerate(f.code) if instr.op is ops.FOR and instr.loop is None]
    for head in reversed(heads):
        _rewrite(f, target, head)


def _rewrite(f: Function, target: Target, head: int) -> None:
    code = f.code
    ends = match(code)
    end = ends[head]
    body = code[head + 1 : end]
    last = _last(code, ends, head, end)
    if last == NONE or len(body) > MOST or has_loops(body) or crossing_branches(body) or not _compares(f, code[head + 1 : last], code[last]):
        return
    # (What the last branch does is not part of what is converted, but what it reads stays.)
    whole = code[last:end]
    names = len(f.types)
    f.code = [*code[:last], *code[end:]]
    nest = nest_of(f, head, last)
    made = converted(nest, nest.loops[0], most=MOST_BRANCHED)
    if made is None or any(instr.op is ops.STORE or instr.op is ops.IF for instr in made):
        f.code = code
        del f.types[names:], f.names[names:], f.variable[names:]
        return
    own = _own(f, [*code[:head], *code[end + 1 :]], made)
    rename = {variable: f.register(f.types[variable], f.names[variable]) for variable in own}
    straight: list[Instr] = []
    for instr in [*made, *whole]:
        args = [rename.get(a, a) for a in instr.args]
        straight.append(Instr(instr.op, instr.type, rename.get(instr.dst, instr.dst), args, instr.imm, instr.line, instr.source, instr.mem, instr.loop))
    f.code = [*code[: head + 1], *straight, *code[end:]]
    if not splits(f, target, head):
        f.code = code
        del f.types[names:], f.names[names:], f.variable[names:]


def _last(code: list[Instr], ends: list[int], head: int, end: int) -> int:
    """Where the branch begins that ends a loop, behind at least one other; NONE where there is none."""
    k = head + 1
    last = NONE
    branches = 0
    while k < end:
        if code[k].op.opens:
            branches += 1
            begins = k
            while code[k].op.opens:
                k = ends[k]
            last = begins if code[begins].op is ops.IF and k == end - 1 else NONE
        k += 1
    return last if branches > 1 else NONE


def _compares(f: Function, computed: list[Instr], branch: Instr) -> bool:
    """Whether a branch asks which of two numbers is greater, of which one is a variable."""
    asked = next((instr for instr in reversed(computed) if instr.dst == branch.args[0]), None)
    return asked is not None and asked.op in _ORDERED and any(a >= 0 and f.variable[a] for a in asked.args)


def _own(f: Function, around: list[Instr], made: list[Instr]) -> list[int]:
    """The variables that straight code gives a value once, in front of all that reads them, and nothing else names."""
    written: dict[int, int] = {}
    read: set[int] = set()
    early: set[int] = set()
    for instr in made:
        read.update(instr.args)
        if instr.dst >= 0 and f.variable[instr.dst]:
            written[instr.dst] = written.get(instr.dst, 0) + 1
            if instr.dst in read:
                early.add(instr.dst)
    named = {r for instr in around for r in (instr.dst, *instr.args)}
    return [variable for variable, times in written.items() if times == 1 and variable not in early and variable not in named]
