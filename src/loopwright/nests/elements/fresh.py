"""Elements that the loop around has just stored, accessed one by one.

::

    for i = n - 1, -1, -1                  for i = n - 1, -1, -1
      for k = i + 1, n lanes                 for k = min(i + 7, n), n lanes
        s = s - a[i, k] * x[k]                 s = s - a[i, k] * x[k]
      end                           →        end
      x[i] = s                               for k = i + 1, min(i + 7, n)
    end                                        s = s - a[i, k] * x[k]
                                             end
                                             x[i] = s
                                           end

Where those are the last that the loop loads, it leaves one index at least to the loop behind it that does what is left over (``Loop.whole``).

A load takes what a store has left from the store's buffer where that has all of it; a vector whose elements were stored one by one waits until they are in the cache (Intel, 64 and IA-32 Architectures Optimization
Reference Manual, 3.6.4, "Store Forwarding"; AMD, Software Optimization Guide for the AMD Zen4 Microarchitecture, 57647, 2.12). So solutions of triangular systems, rows of factors and
recursive filters would wait in each step; and what is older need not wait for what is new at all.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form, Forms
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.rewriting.unroll import clone, own_copies, read_once
from loopwright.types import I64, VOID

__all__ = ["run"]

#: So many elements are taken one by one.
FRESH: Final = 6
#: Stores that were made more iterations before are in the cache.
OLDEST: Final = 2


def run(f: Function) -> None:
    """Split such loops of a function."""
    if not any(instr.loop is not None and instr.loop.lanes for instr in f.code):
        return
    partner = match(f.code)
    around: list[int] = []
    splits: list[int] = []
    forms: dict[int, Forms] = {}
    for position, instr in enumerate(f.code):
        if instr.op is ops.FOR:
            if around and instr.loop is not None and instr.loop.lanes and instr.args[2] == f.const(I64, 1):
                outer = around[-1]
                if outer not in forms:
                    forms[outer] = Forms(f, outer, partner[outer])
                ends = _new_at(f, forms[outer], (outer, partner[outer]), (position, partner[position]))
                if True in ends:
                    instr.loop.whole = True
                elif ends and _sum(f, position, partner[position]):
                    splits.append(position)
            around.append(position)
        elif around and position == partner[around[-1]]:
            around.pop()
    for position in reversed(splits):
        _split(f, position, partner[position])


def _sum(f: Function, head: int, end: int) -> bool:
    """Whether a loop does nothing but to add up."""
    loop = f.code[head].loop
    return loop is not None and bool(loop.accumulators) and all(instr.op.effect == ops.PURE or instr.op.effect == ops.READS for instr in f.code[head + 1 : end])


def _new_at(f: Function, forms: Forms, around: tuple[int, int], span: tuple[int, int]) -> set[bool]:
    """At which ends of a loop it loads what the loop around it has stored in the iteration before: at its last index (True), at its first (False)."""
    code = f.code
    head = code[span[0]]
    first, behind = forms.of(head.args[0]), forms.of(head.args[1])
    index, outer = forms.of(head.dst), forms.of(code[around[0]].dst)
    step = code[around[0]].args[2]
    found: set[bool] = set()
    if first is None or behind is None or index is None or outer is None or step >= 0:
        return found
    ends = {True: behind.plus(Form(1, {}), -1), False: first}
    stores = [(k, code[k]) for k in range(around[0] + 1, around[1]) if code[k].op is ops.STORE]
    loads = [instr for instr in code[span[0] + 1 : span[1]] if instr.op is ops.LOAD]
    renewed: set[int] = set()
    depth = 0
    for instr in code[around[0] + 1 : around[1]]:
        if instr.op is ops.STORE and depth:
            renewed.add(instr.imm)
        depth += int(instr.op.opens) - int(instr.op.closes)
    for load in loads:
        if not _moves(forms.of(load.args[-1]), index):
            continue
        for place, store in stores:
            if store.imm != load.imm or span[0] < place < span[1]:
                continue
            if not any(_moves(forms.of(a), outer) for a in store.args[1:]):
                continue
            later = int(f.const_values[~step]) if place > span[1] else 0
            for last, at in ends.items():
                apart = [_apart(forms, around, index, outer, pair, at, later) for pair in zip(load.args, store.args[1:], strict=True)]
                if apart[-1] is not None and not any(apart[:-1]) and None not in apart and abs(apart[-1]) < OLDEST:
                    # (Of what another loop stores, too, all is new.)
                    found.add(last or load.imm in renewed)
    return found


def _moves(form: Form | None, index: Form) -> bool:
    """Whether a subscript is another one in each iteration of a loop."""
    return form is not None and any(number in form.terms for number in index.terms)


def _apart(forms: Forms, around: tuple[int, int], index: Form, outer: Form, pair: tuple[int, int], at: Form, later: int) -> int | None:
    """How far the subscript of a load, where a loop's index has a value, is from that of a store so much earlier in the loop around it; None where that is not known."""
    loaded, stored = forms.of(pair[0]), forms.of(pair[1])
    if loaded is None or stored is None:
        return None
    ((number, _),) = index.terms.items()
    ((other, _),) = outer.terms.items()
    coefficient = loaded.terms.get(number, 0)
    there = loaded.plus(index, -coefficient).plus(at, coefficient)
    turns = there.terms.get(other, 0)
    if forms.depends(there.plus(outer, -turns), *around):
        # (Another value in each iteration.)
        return None
    apart = Form(there.constant + turns * later, there.terms).plus(stored, -1)
    return apart.constant if not apart.terms else None


def _split(f: Function, position: int, end: int) -> None:
    """Take iterations of a loop from its first on out of it, and run them behind it."""
    code = f.code
    head = code[position]
    line = head.line
    front: list[Instr] = []
    lo, hi = read_once(f, head.args[0], line, front), read_once(f, head.args[1], line, front)
    near, middle = f.register(I64), f.register(I64)
    front.append(Instr(ops.ADD, I64, near, [lo, f.const(I64, FRESH)], 0, line))
    front.append(Instr(ops.MIN, I64, middle, [near, hi], 0, line))
    index = f.register(I64, f.names[head.dst])
    rest = [Instr(ops.FOR, head.type, index, [lo, middle, head.args[2]], 0, line)]
    clone(f, code[position + 1 : end], {**own_copies(f, code[position + 1 : end]), head.dst: index}, rest)
    rest.append(Instr(ops.END, VOID, NONE, [], 0, code[end].line))
    head.args = [middle, hi, head.args[2]]
    f.code = [*code[:position], *front, *code[position : end + 1], *rest, *code[end + 1 :]]
