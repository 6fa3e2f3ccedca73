"""Plain loops that store at a counter (``if c: y[k] = x[i]; k += 1``), load at one, or keep a running sum (``s += x[i]; y[i] = s``), and carry nothing else but totals: ones over lanes.

What is stored at a counter is stored in order, one element behind the other, so that it is as if each iteration had a place of its own (``vectors/compaction.py``, ``vectors/running.py``). Where arrays
overlap, the loop runs as written.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.analysis.dependence import dependences
from loopwright.nests.analysis.nest import Nest, NestLoop, nest_of, nests
from loopwright.nests.analysis.operations import asking
from loopwright.nests.analysis.scalars import HANDED, PRIVATE, REDUCTION, Scalar, any_order, scalars
from loopwright.nests.idioms.leaving import exits
from loopwright.nests.idioms.running_sums import in_place
from loopwright.nests.rewriting.apart import as_written, pairs, versioned
from loopwright.nests.steps.lanes import free, in_lanes, mark, moved
from loopwright.targets.target import Target
from loopwright.types import I64
from loopwright.vectors.carried import Carried, carried_by
from loopwright.vectors.regions import part, tree

__all__ = ["carries", "mark_counting", "takes_lanes"]

#: The most pairs of arrays that are compared in front of a loop.
MOST_PAIRS: Final = 6
#: Running sums take lanes where there are so many: each takes as many steps as it takes to double one lane to all.
LEAST_LANES: Final = 4
#: Running sums of rows have lanes where there are so many elements (measured on Zen 4: 0.7 of the time one by one of 16, 1.5 of 7).
LEAST_IN_ROWS: Final = 10
#: Nests of more instructions do not stand there twice.
LONGEST: Final = 200


def mark_counting(f: Function, target: Target) -> None:
    """Make plain innermost loops that carry counters and running sums ones over lanes, where lanes have what they do.

    Args:
        f: the function, before it has vectors.
        target: the machine.
    """
    if target.vector_bits:
        candidates = _candidates(f)
        for head, end in reversed(candidates):
            original = f.code
            found, behind = _put(f, target, head, end)
            if found is None or not _mark(f, target, head, behind, found, [other for other, _ in candidates if other != head], original):
                f.code = original


def takes_lanes(f: Function, target: Target, head: int, end: int) -> bool:
    """Whether a loop is one that ``mark_counting`` makes one over lanes: besides totals it carries what may be made counters and running sums that a machine's lanes have."""
    original = f.code
    if not any(instr.op is ops.STORE for instr in original[head:end]):
        return False
    found, behind = _put(f, target, head, end)
    fits = found is not None and _fitting(f, target, head, behind, found) is not None
    f.code = original
    return fits


def _put(f: Function, target: Target, head: int, end: int) -> tuple[Carried | None, int]:
    """What a loop carries, once its running sums are in one place, which the code is rewritten for; and where the loop ends then."""
    original = f.code
    body = in_place(f, head, end)
    if body is not None:
        behind = head + 1 + len(body)
        f.code = [*original[: head + 1], *body, *original[end:]]
        found = carries(f, target, head, behind)
        if found is not None:
            return found, behind
        f.code = original
    return carries(f, target, head, end), end


def carries(f: Function, target: Target, head: int, end: int) -> Carried | None:
    """What a loop carries besides totals, if that is counters and running sums that a machine's lanes have; None where it is something else, or nothing.

    Args:
        f: the function.
        target: the machine.
        head, end: the positions of the loop's brackets.
    """
    added: set[int] = set()
    read: set[int] = set()
    for instr in f.code[head + 1 : end]:
        updates = instr.op.reduction is not None and instr.dst in instr.args and f.variable[instr.dst]
        if updates and f.types[instr.dst].lanes:
            # (It has vectors already: rows walked by diagonals in lanes.)
            return None
        if updates:
            added.add(instr.dst)
        read.update([a for a in instr.args if not (updates and a == instr.dst)])
    if not added & read:
        return None
    root, leaves, _ = tree(f.code, head)
    found = carried_by(f, root, leaves, added & read)
    part(root)
    if found is None or any(target.vector_bits // f.types[variable].bits < LEAST_LANES for variable in found.sums):
        return None
    for bits in (8, 16, 32, 64):
        if not found.possible(f, target.vector_bits // bits, asking(target), bits):
            return None
    return found


def _candidates(f: Function) -> list[tuple[int, int]]:
    """The innermost plain ranges outside of loops over lanes that store something, and add to a variable."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    innermost = -1  # the loop that was opened last
    lanes = -1  # how many brackets are around the loop over lanes that is open
    stores = adds = False
    copied: set[int] = set()  # registers that hold what a variable was
    for k, instr in enumerate(f.code):
        op = instr.op
        if op.effect != ops.CONTROL:
            stores = stores or op is ops.STORE
            adds = adds or ((op.reduction is not None or op is ops.SUB) and any(a >= 0 and (f.variable[a] or a in copied) for a in instr.args))
            if op is ops.COPY and instr.args[0] >= 0 and f.variable[instr.args[0]]:
                copied.add(instr.dst)
        elif op.opens:
            if not op.closes:
                if IS_LOOP[op.code]:
                    innermost = k
                    stores = adds = False
                    if instr.loop is not None and lanes < 0:
                        lanes = len(opened)
                opened.append(k)
        elif op is ops.END:
            head = opened.pop()
            if head == innermost and stores and adds and lanes < 0 and f.code[head].op is ops.FOR:
                found.append((head, k))
            if lanes == len(opened):
                lanes = -1
    return found


def _mark(f: Function, target: Target, head: int, end: int, found: Carried, others: list[int], original: list[Instr]) -> bool:
    """Make one loop one over lanes, if it carries nothing but that, and totals; False where it carries more. What has to hold for it is asked in front of the outermost loop around it, where it
    is known and none of ``others`` is in that; as written, it is part of ``original``."""
    code = f.code
    opener = code[head]
    fitting = _fitting(f, target, head, end, found)
    if fitting is None:
        return False
    nest, loop, variables, asked = fitting
    lo, hi, _ = opener.args
    # (Rows of a few are added up sooner one by one.)
    runs = [(ops.GE, hi, f.const(I64, int(f.const_values[~lo]) + LEAST_IN_ROWS))] if found.sums and loop.parent is not None and lo < 0 <= hi else []
    start, stop = head, end
    if (asked or runs) and loop.parent is not None and not any(nest.start < other < nest.end for other in others):
        all_ = [(a, b, False) for a, b, _ in pairs(nest)]
        if len(all_) <= MOST_PAIRS and _before(nest, all_, hi):
            start, stop, asked = nest.start, nest.end, all_
    plain = as_written(f, original, start, stop + 1 + len(original) - len(code))
    mark(nest, loop, [scalar for scalar in variables if scalar.variable not in found.counters and scalar.variable not in found.sums])
    f.code = [*code[:start], *versioned(f, asked, plain, code[start : stop + 1], opener.line, runs), *code[stop + 1 :]]
    return True


def _before(nest: Nest, asked: list[tuple[int, int, bool]], hi: int) -> bool:
    """Whether it may be asked in front of a nest whether arrays overlap, and how often a loop runs."""
    if nest.obstacles or nest.end - nest.start > LONGEST or not nest.ahead(hi):
        return False
    arrays = [nest.f.arrays[number] for a, b, _ in asked for number in (a, b)]
    return all(nest.ahead(register) for array in arrays for register in (array.base, *array.extents, *array.strides))


def _fitting(f: Function, target: Target, head: int, end: int, found: Carried) -> tuple[Nest, NestLoop, list[Scalar], list[tuple[int, int, bool]]] | None:
    """The loop as one of a nest, its variables and what has to be asked about its arrays, if it carries nothing but counters and running sums, and totals; else None."""
    code = f.code
    opener = code[head]
    if opener.args[2] >= 0 or f.const_values[~opener.args[2]] != 1 or exits(code, head, end):
        return None
    f.code = [*code[:head], opener, *_apart(code[head + 1 : end], opener.dst, found), *code[end:]]
    nest, loop = _nest(f, head)
    variables = [scalar for scalar in scalars(nest) if scalar.loop is loop]
    alone = nest_of(f, loop.head, loop.end)
    # (Of short loops the dependences are not known here.)
    possible = in_lanes(nest, loop, target) or in_lanes(nest, loop, target, True)
    fits = loop.long() and possible and _carries(f, target, nest, loop, variables, found) and free(alone.loops[0], dependences(alone, True))
    asked = [(a, b, False) for a, b, _ in pairs(nest) if _together(nest, loop, a, b)]
    f.code = code
    return (nest, loop, variables, asked) if fits and len(asked) <= MOST_PAIRS else None


def _apart(body: list[Instr], index: int, found: Carried) -> list[Instr]:
    """A loop's body as if its iterations did not depend on each other: accesses at its index in the place of those at counters, what is added in that of running sums."""
    made: list[Instr] = []
    for instr in body:
        if (instr.op is ops.STORE or instr.op is ops.LOAD) and instr.args[-1] in found.counters:
            instr = instr.copy()
            instr.args[-1] = index
        elif instr.dst not in found.sums and any(a in found.sums for a in instr.args):
            instr = instr.copy()
            instr.args = [found.sums[a].added if a in found.sums else a for a in instr.args]
        made.append(instr)
    return made


def _nest(f: Function, head: int) -> tuple[Nest, NestLoop]:
    """The loop at a position, and its nest."""
    return next((nest, loop) for nest in nests(f) for loop in nest.loops if loop.head == head)


def _together(nest: Nest, loop: NestLoop, a: int, b: int) -> bool:
    """Whether a loop accesses both of two arrays."""
    used = {access.array for access in nest.accesses if loop.head < access.position < loop.end}
    return a in used and b in used


def _carries(f: Function, target: Target, nest: Nest, loop: NestLoop, variables: list[Scalar], found: Carried) -> bool:
    """Whether variables carry totals at most, counters, running sums and what is handed on."""
    for scalar in variables:
        if scalar.kind == PRIVATE:
            first, last = nest.mentions[scalar.variable]
            if first < loop.head or last > loop.end:
                return False
        elif scalar.kind == HANDED:
            if not moved(f, target, scalar.variable):
                return False
        elif scalar.kind != REDUCTION or (scalar.variable not in found.counters and scalar.variable not in found.sums and not any_order(f, scalar)):
            return False
    return True
