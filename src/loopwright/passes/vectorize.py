"""The ``vectorize`` pass: a scalar loop over lanes becomes one over vectors of them, under a mask.

::

    for i = lo, hi, 1 lanes            for i = lo, hi, N mask m
      body                       →       body for i, i + 1, …, i + N - 1, in the lanes of m
    end                                end

The body is as it was for one index. What differs by lane (``vectors/divergence.py``) becomes vectors and masks, what does not stays scalar; control flow
that differs by lane becomes masks (``vectors/predication.py``). A vector has as many lanes as the widest element in the loop leaves room for. An accumulator
has a total in each lane, which are combined behind the loop. On machines without vectors the loop stays as it is.

Of a loop that lanes may leave, vectors go as far as none of them does, and the loop as it is goes on from there (``nests/leaving.py``).

A loop that counts down has its lanes in the order of memory as well: the first is the last index of a step. What it leaves over is done index by index.
"""

from __future__ import annotations

import math
from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Forms
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.ahead import divided
from loopwright.nests.leaving import Leaving, exits
from loopwright.nests.operations import asking, has
from loopwright.nests.room import settle
from loopwright.nests.unroll import clone, crossing_branches, last_multiple, read_once, written_first
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, U8, VOID, vector_of
from loopwright.vectors.accesses import ALONG, ANYWHERE, APART, SAME, lay
from loopwright.vectors.arms import merge
from loopwright.vectors.bitmaps import bit_accesses
from loopwright.vectors.carried import Carried, carried_by
from loopwright.vectors.compaction import room
from loopwright.vectors.divergence import LINEAR, Divergence
from loopwright.vectors.inside import Inside
from loopwright.vectors.interleaving import Interleaving
from loopwright.vectors.predication import Predication
from loopwright.vectors.regions import Bracket, Leaf, part, tree
from loopwright.vectors.running import straight
from loopwright.vectors.sums import Total, find

#: Where no vector says how wide its elements are.
_USUAL: Final = 32
#: So many instructions at most are written for what a loop of known length leaves over.
_MOST_SHORT: Final = 100
#: Bits of a vector of words that masks can be laid over.
_WORDS: Final = 128


def run(f: Function, target: Target) -> None:
    """Rewrite every ``for`` that is marked ``lanes``."""
    code = f.code
    for instr in code:
        if instr.loop is not None and instr.loop.lanes:
            break
    else:
        return
    if not target.vector_bits:
        _keep_scalar(code)
        return
    merge(f)
    code = f.code
    first, last = _mentions(f)
    out: list[Instr] = []
    divisions = _Divisions()
    position = 0
    around: list[bool] = []  # per open bracket: it is a loop
    while position < len(code):
        instr = code[position]
        if instr.loop is None or not instr.loop.lanes:
            loop = around.pop() if instr.op.closes else False
            if instr.op.opens:
                around.append(loop or IS_LOOP[instr.op.code])
            out.append(instr)
            position += 1
            continue
        root, leaves, end = tree(code, position)
        if exits(code, position, end):
            _leave(f, target, (position, end), first, last, out)
            part(root)
            position = end + 1
            continue
        outside = {r for r in first if first[r] < position or last[r] > end}
        carried = {leaf.instr.dst for leaf in leaves if leaf.instr.dst in outside} - {variable for variable, _, _ in instr.loop.accumulators}
        if carried:
            # (What each step writes before it reads it is only named elsewhere as well, as in another version of the loop.)
            carried -= set(written_first(f, code[position + 1 : end]))
        found = carried_by(f, root, leaves, carried) if carried else None
        shapes = Divergence(f, root, leaves, outside) if found is None else Divergence(f, root, leaves, outside, found.counters, found.sums)
        _find_bits(f, target, shapes, leaves)
        regular, ordered = _survey(f, target, shapes, leaves, root)
        if ordered or (carried and (found is None or not _carries(f, target, shapes, found))):
            body = code[position : end + 1]
            _keep_scalar(body)
            out.extend(body)
        elif found is not None and divisions.divide(f, target, shapes, (position, end), found, outside):
            code = f.code
            first, last = _mentions(f)
            part(root)
            continue
        elif instr in divisions.whole:
            _vectorize(f, target, root, shapes, leaves, (position, end), out, True, None, found, None, instr in divisions.ample)
        elif (
            target.scalar_remainders
            or not regular
            or instr.loop.whole
            or f.const_values[~instr.args[2]] < 0
            or (True in around and _scraps(f, target, shapes, leaves))
        ):
            _split(f, target, root, shapes, leaves, (position, end), out, found)
        else:
            if found is None and True in around and _shorten(f, target, shapes, root, (position, end)):
                code = f.code
                first, last = _mentions(f)
            _vectorize(f, target, root, shapes, leaves, (position, end), out, False, None, found)
        part(root)
        position = end + 1
    f.code = out


def _keep_scalar(code: list[Instr]) -> None:
    """Loops over lanes become loops like any other."""
    for instr in code:
        if instr.loop is not None and instr.loop.lanes:
            instr.loop = None
        elif instr.op is ops.ANY_LANE or instr.op is ops.ALL_LANES:
            instr.op = ops.COPY


class _Divisions:
    """Loops that have been divided where they may no longer store whole vectors.

    Attributes:
        whole: heads of loops of whole steps that came of it; ample: those of them that may store whole vectors; done: those of what is behind.
    """

    __slots__ = ("ample", "done", "whole")

    def __init__(self) -> None:
        self.whole: list[Instr] = []
        self.ample: list[Instr] = []
        self.done: list[Instr] = []

    def divide(self, f: Function, target: Target, shapes: Divergence, span: tuple[int, int], found: Carried, outside: set[int]) -> bool:
        """Put the search for where a loop is to be divided, and both its parts, in the place of the loop, where that pays."""
        code = f.code
        head = code[span[0]]
        if not found.counters or not _buffers(target) or head in self.done or head in self.whole:
            return False
        body = code[span[0] : span[1] + 1]
        private = {instr.dst for instr in body if instr.dst >= 0 and f.variable[instr.dst] and instr.dst not in outside}
        made = divided(f, body, found.counters, _lanes(target, shapes), private)
        self.done.append(head)
        if made is None:
            return False
        f.code = [*code[: span[0]], *made[0], *code[span[1] + 1 :]]
        self.whole += made[1:]
        self.ample.append(made[2])
        return True


def _buffers(target: Target) -> bool:
    """Whether what is put next to each other is collected first, where it is not known that whole vectors may be stored."""
    return target.dear_masks or target.scalar_remainders


def _lanes(target: Target, shapes: Divergence) -> int:
    """Of a loop that carries something."""
    return max(1, target.vector_bits // (shapes.widest(set()) or _USUAL))


def _mentions(f: Function) -> tuple[dict[int, int], dict[int, int]]:
    """Per variable, where it is mentioned first and last."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    variable = f.variable
    for position, instr in enumerate(f.code):
        for r in (instr.dst, *instr.args):
            if r >= 0 and variable[r]:
                first.setdefault(r, position)
                last[r] = position
    return first, last


def _find_bits(f: Function, target: Target, shapes: Divergence, leaves: list[Leaf]) -> None:
    """Note what only serves accesses to bits, where the machine has what it takes to make masks of these."""
    if bit_accesses(f, shapes, leaves):
        width = shapes.widest(set()) or _USUAL
        lanes = max(1, target.vector_bits // width)
        bytes_ = vector_of(U8, lanes * width // 8)
        if lanes > 64 or (lanes > width and not has(target, ops.LOOKUP_BYTES, bytes_, bytes_)):
            shapes.apart = set()


def _survey(f: Function, target: Target, shapes: Divergence, leaves: list[Leaf], root: Bracket) -> tuple[bool, bool]:
    """Whether all that lanes access differs by one element from lane to lane, so that a mask serves for what is left over; and whether their order matters: they
    store where nothing says which of them meet, in steps of a loop inside, or to an array that they access elsewhere too; or they store to an array along which
    they go in two ways."""
    regular = True
    accesses: dict[int, int] = {}
    ways: dict[int, tuple[tuple[int, int], ...]] = {}
    stored: set[int] = set()
    crossing: set[int] = set()
    anywhere: list[Leaf] = []
    for leaf in leaves:
        instr = leaf.instr
        if id(instr) in shapes.apart:
            # Bytes of which only some lanes have bits are not to be touched.
            regular = False
        elif instr.op is ops.LOAD or instr.op is ops.STORE:
            accesses[instr.imm] = accesses.get(instr.imm, 0) + 1
            indices = instr.args[-len(f.arrays[instr.imm].extents) :]
            kind = lay(shapes, indices)
            if instr.op is ops.STORE:
                stored.add(instr.imm)
            if kind != SAME and kind != ANYWHERE:
                way = tuple([(step.times, step.of) if step is not None else (0, NONE) for step in map(shapes.step, indices)])
                if ways.setdefault(instr.imm, way) != way:
                    crossing.add(instr.imm)
            array = f.arrays[instr.imm]
            # (Of a constant table nothing is read in lanes that are off, or all is there.)
            regular = regular and (kind in (SAME, ALONG) or (kind == ANYWHERE and bool(array.data) and array.element.bits >= target.masked_bits))
            if kind == ANYWHERE and instr.op is ops.STORE:
                anywhere.append(leaf)
    return regular, bool(crossing & stored) or any(accesses[leaf.instr.imm] > 1 or _in_loop(leaf, root) for leaf in anywhere)


def _scraps(f: Function, target: Target, shapes: Divergence, leaves: list[Leaf]) -> bool:
    """Whether a remainder, of a loop that is come to again and again, would access so short vectors of narrow elements under its mask that it is done lane by lane.

    Index by index it takes less.
    """
    lanes = max(1, target.vector_bits // (shapes.widest(set()) or _USUAL))
    return any(
        leaf.instr.op in (ops.LOAD, ops.STORE)
        and f.arrays[leaf.instr.imm].element.bits < target.masked_bits
        and f.arrays[leaf.instr.imm].element.bits * lanes < _WORDS
        and lay(shapes, leaf.instr.args[-len(f.arrays[leaf.instr.imm].extents) :]) == ALONG
        for leaf in leaves
    )


def _in_loop(leaf: Leaf, root: Bracket) -> bool:
    """Whether an instruction is in a loop inside of the one over lanes."""
    region = leaf.region
    while region.bracket is not root:
        if region.bracket.loop:
            return True
        assert region.parent is not None
        region = region.parent
    return False


def _carries(f: Function, target: Target, shapes: Divergence, found: Carried) -> bool:
    """Whether vectors carry what a loop carries: the machine has what it takes, and there is room for buffers."""
    root = shapes.root
    lanes = _lanes(target, shapes)
    if f.const_values[~root.opener.args[2]] != 1 or not straight(root, found.sums) or (_buffers(target) and not room(f, found.counters, lanes)):
        return False
    return found.possible(f, lanes, asking(target))


def _shorten(f: Function, target: Target, shapes: Divergence, root: Bracket, span: tuple[int, int]) -> bool:
    """Take what a loop of known length leaves over out of it: to loops behind it whose vectors have half the lanes, a quarter, and so on; less than the shortest vector stays scalar.

    A store under a mask touches no other bytes, but loads from these wait for it: those of the next row.
    """
    head = root.opener
    lo, hi, step = head.args
    assert head.loop is not None
    if lo >= 0 or hi >= 0 or f.const_values[~step] != 1 or head.loop.accumulators or target.vector_bits <= _WORDS:
        return False
    code = f.code
    body = code[span[0] + 1 : span[1]]
    begin, end = int(f.const_values[~lo]), int(f.const_values[~hi])
    width = shapes.widest(set()) or _USUAL
    pieces = _pieces(end - begin, target.vector_bits // width, _least(width) // width)
    if len(pieces) < 2 or len(pieces) * len(body) > _MOST_SHORT or any(IS_LOOP[instr.op.code] for instr in body) or crossing_branches(body):
        return False
    at = begin + pieces[0]
    rest: list[Instr] = []
    for count in pieces[1:]:
        if count * width < _least(width):
            scalars: list[Instr] = []
            for k in range(count):
                clone(f, body, {head.dst: f.const(I64, at + k)}, scalars)
            _keep_scalar(scalars)
            rest += scalars
        else:
            index = f.register(I64, f.names[head.dst])
            args = [f.const(I64, at), f.const(I64, at + count), step]
            rest.append(Instr(head.op, head.type, index, args, 0, head.line, loop=Loop(head.loop.mask, head.loop.unroll, [], True)))
            clone(f, body, {head.dst: index}, rest)
            rest.append(Instr(ops.END, VOID, NONE, [], 0, code[span[1]].line))
        at += count
    f.code = [*code[: span[1] + 1], *rest, *code[span[1] + 1 :]]
    head.args = [lo, f.const(I64, begin + pieces[0]), step]
    return True


def _least(width: int) -> int:
    """The bits of the shortest vectors that are worth it."""
    return _WORDS if width >= _USUAL else _USUAL


def _pieces(count: int, lanes: int, least: int) -> list[int]:
    """A number of elements in parts: a multiple of the lanes of the widest vector, a power of two each for shorter ones, and less than the shortest one has."""
    parts = [count - count % lanes]
    count %= lanes
    while lanes > least:
        lanes //= 2
        if count >= lanes:
            parts.append(lanes)
            count -= lanes
    parts.append(count)
    return [part for part in parts if part]


def _split(
    f: Function,
    target: Target,
    root: Bracket,
    shapes: Divergence,
    leaves: list[Leaf],
    span: tuple[int, int],
    out: list[Instr],
    carried: Carried | None,
) -> None:
    """Vectors for whole steps, and the scalar loop as it stands for what is left."""
    code = f.code[span[0] : span[1] + 1]
    head = root.opener
    line = head.line
    hi = read_once(f, head.args[1], line, out)
    lo = read_once(f, head.args[0], line, out)
    head.args = [lo, hi, head.args[2]]
    index = f.register(I64, f.names[head.dst])
    rest: list[Instr] = []
    clone(f, code[1:], {head.dst: index}, rest)
    near = _near(f, shapes, leaves) if carried is None else {}
    if near:
        stop = f.register(I64, "stop", True)
        holds = NONE
        for distance, size in near.items():
            same = f.register(BOOL, "")
            out.append(Instr(ops.EQ, I64, same, [distance, f.const(I64, size)], 0, line))
            both = same if holds == NONE else f.register(BOOL, "")
            if holds != NONE:
                out.append(Instr(ops.AND, BOOL, both, [holds, same], 0, line))
            holds = both
        out.append(Instr(ops.IF, VOID, NONE, [holds], 0, line))
        other: list[Instr] = []
        end = _vectorize(f, target, root, shapes, leaves, span, out, True, None, None, near)
        out.append(Instr(ops.COPY, I64, stop, [end], 0, line))
        out.append(Instr(ops.ELSE, VOID, NONE, [], 0, line))
        end = _vectorize(f, target, root, shapes, leaves, span, other, True)
        other.append(Instr(ops.COPY, I64, stop, [end], 0, line))
        # (With registers of its own.)
        clone(f, other, {}, out)
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    else:
        stop = _vectorize(f, target, root, shapes, leaves, span, out, True, None, carried)
    out.append(Instr(ops.FOR, head.type, index, [stop, hi, head.args[2]], 0, line))
    _keep_scalar(rest)
    out.extend(rest)


def _near(f: Function, shapes: Divergence, leaves: list[Leaf]) -> dict[int, int]:
    """What distances would have to be, in bytes, for rows of a few elements, one for each lane, to be next to each other: those of pairs, or of pixels.

    (Their distance is known at run time only, but usual.)
    """
    most: dict[int, int] = {}
    number: dict[int, int] = {}
    for leaf in leaves:
        instr = leaf.instr
        if instr.op is not ops.LOAD and instr.op is not ops.STORE:
            continue
        array = f.arrays[instr.imm]
        indices = instr.args[-len(array.extents) :]
        if len(indices) < 2 or lay(shapes, indices) != APART:
            continue
        step = shapes.step(indices[-2])
        lone = indices[-1] < 0 and step is not None and step.times == 1 and step.of == NONE and all(shapes.step(i) is None for i in indices[:-2])
        if not lone or array.strides[-1] < 0:
            return {}
        distance = array.strides[-1]
        most[distance] = max(most.get(distance, 0), int(f.const_values[~indices[-1]]))
        number[distance] = instr.imm
    if not all(1 <= last < 4 for last in most.values()):
        return {}
    return {distance: (last + 1) * f.arrays[number[distance]].element.size for distance, last in most.items()}


def _leave(f: Function, target: Target, span: tuple[int, int], first: dict[int, int], last: dict[int, int], out: list[Instr]) -> None:
    """Vectors as long as no lane leaves, and the scalar loop as it stands from there on."""
    code = f.code
    body = code[span[0] : span[1] + 1]
    head = body[0]
    leaving = Leaving(f, *span)
    possible = leaving.possible()
    if possible:
        front: list[Instr] = []
        lo = read_once(f, head.args[0], head.line, front)
        hi = read_once(f, head.args[1], head.line, front)
        limit = leaving.reach(lo, hi, front)
        opener = Instr(head.op, head.type, head.dst, [lo, limit, head.args[2]], 0, head.line, loop=head.loop)
        root, leaves, _ = tree([opener, *leaving.body(True), Instr(ops.END, VOID, NONE, [], 0, body[-1].line)], 0)
        shapes = Divergence(f, root, leaves, {r for r in first if first[r] < span[0] or last[r] > span[1]})
        possible = not _survey(f, target, shapes, leaves, root)[1]
        if possible:
            index = f.register(I64, f.names[head.dst])
            rest: list[Instr] = []
            clone(f, body[1:], {head.dst: index}, rest)
            out.extend(front)
            stop = _vectorize(f, target, root, shapes, leaves, span, out, True, leaving)
            out.append(Instr(ops.FOR, head.type, index, [stop, hi, head.args[2]], 0, head.line))
            body = rest
        part(root)
    _keep_scalar(body)
    out.extend(body)


def _vectorize(
    f: Function,
    target: Target,
    root: Bracket,
    shapes: Divergence,
    leaves: list[Leaf],
    span: tuple[int, int],
    out: list[Instr],
    whole: bool = False,
    leaving: Leaving | None = None,
    carried: Carried | None = None,
    near: dict[int, int] | None = None,
    ample: bool = False,
) -> int:
    """The loop over vectors, with ``whole`` of whole steps only; ``span`` is where it is in the code. Returns where it stops. ``near`` has distances that are known. With ``ample`` whole vectors may be stored at
    counters."""
    head = root.opener
    loop = head.loop
    assert loop is not None
    bits = target.vector_bits
    if 0 < target.stream_bits < bits and _reads_one_stream(shapes, leaves, loop):
        bits = target.stream_bits
    # (What leaves, or moves, has as many lanes as it was looked at with.)
    plain = leaving is None and carried is None
    narrow = find(f, f.code, span[0], span[1], [variable for variable, op, _ in loop.accumulators if op is ops.ADD and plain])
    width = settle(narrow, shapes.widest, _USUAL, target, bits)
    lo, hi, _ = head.args
    if lo < 0 and hi < 0 and plain:
        # No more lanes than a power of two that all fit in.
        count = int(f.const_values[~hi]) - int(f.const_values[~lo])
        while bits > _least(width) and bits // 2 >= count * width:
            bits //= 2
    lanes = max(1, bits // width)
    index, first, stop = head.dst, NONE, hi
    if f.const_values[~head.args[2]] < 0:
        # Counted from 0; the first lane is at ``first`` less that.
        index = f.register(I64, f.names[head.dst])
        first, stop, lo, hi = _downwards(f, lo, hi, lanes, head.line, out)
    made = Predication(f, shapes, lanes, width, asking(target))
    made.dear = target.dear_masks
    made.begin([])
    made.inside = Inside(f, head, span)
    made.out = out
    made.whole = whole
    if shapes.apart:
        made.bits_at = bit_accesses(f, shapes, leaves)
        made.start = int(f.const_values[~lo]) if lo < 0 and first == NONE else 1
    made.line = head.line
    if carried is not None:
        made.counters = carried.counters
        made.sums = carried.sums
        made.buffered = _buffers(target)
        made.ample = ample
        made.begin_counting()
        made.begin_running()
    described = Loop(made.all, loop.unroll, whole=whole)
    made.begin_totals(narrow)
    usual = [row for row in loop.accumulators if row[0] not in made.totals]
    absorbed = {variable for variable, op, _ in usual if _absorbed(f, out, variable, op)}
    for variable, op, identity in usual:
        element = f.types[variable]
        full = vector_of(element, lanes)
        total = made.totals[variable] = f.register(full, f.names[variable], True)
        start = f.const(full, f.const_values[~identity]) if op.neutral is not None else made.define(ops.SPLAT, full, [variable], full)
        made.copy(total, start)
        described.accumulators.append((total, op, start))
    body: list[Instr] = []
    made.out = body
    made.opened.append(root)
    if leaving is not None:
        made.stop = f.register(I64, "stop", True)
        made.exact = leaving.looks()
    made.paths[root] = [], 0
    if first != NONE:
        made.emit(ops.SUB, I64, [first, index], 0, head.dst)
    made.region(root.body)
    body = made.out = made.without_unread(body)
    spare = whole and loop.whole and first == NONE
    if whole and leaving is None and any(instr.op in ops.STRIDED for instr in body):
        interleaving = Interleaving(made, Forms(f, *span), target, first == NONE, near or {})
        body = interleaving.run(body)
        spare = spare or interleaving.spare
    if whole and first == NONE:
        if spare:
            made.out = out
            hi = made.scalar(ops.SUB, made.scalar(ops.MAX, hi, lo), f.const(I64, 1))
        stop = hi = last_multiple(f, lo, hi, lanes, head.line, out)
    if leaving is not None:
        out.append(Instr(ops.COPY, I64, made.stop, [stop], 0, head.line))
        out.append(Instr(ops.BLOCK, VOID, NONE, [], 0, head.line))
        stop = made.stop
    made.out = out
    made.line = head.line
    out[:0] = made.made
    begin, last = _begin_block(made, narrow, lo, hi)
    for item in narrow:
        total = made.totals[item.variable]
        zero = f.const(f.types[total], 0)
        made.copy(total, zero)
        described.accumulators.append((total, ops.ADD, zero))
    out.append(Instr(ops.FOR, head.type, index, [begin, last, f.const(I64, lanes)], 0, head.line, loop=described))
    out.extend(body)
    out.append(root.end)
    made.line = head.line
    for item in narrow:
        made.end_total(item)
    if begin != lo:
        out.append(Instr(ops.END, head.type, NONE, [], 0, head.line))
    if leaving is not None:
        out.append(Instr(ops.END, VOID, NONE, [], 0, root.end.line))
    if carried is not None:
        made.end_counting()
        made.end_running()
    for (variable, op, _), (total, _, _) in zip(usual, described.accumulators, strict=False):
        element = f.types[variable]
        assert op.reduction is not None
        combined = made.define(op.reduction, f.types[total], [total], element)
        if variable in absorbed:
            made.copy(variable, combined)
        else:
            made.emit(op, element, [variable, combined], 0, variable)
    return stop


def _begin_block(made: Predication, totals: list[Total], lo: int, hi: int) -> tuple[int, int]:
    """Where totals have room for so many steps: a loop around over blocks of as many. The bounds of the loop over lanes."""
    f = made.f
    most = min([total.steps for total in totals if total.steps], default=0)
    if not most or (lo < 0 and hi < 0 and f.const_values[~hi] - f.const_values[~lo] <= most * made.lanes):
        return lo, hi
    size = f.const(I64, most * made.lanes)
    lo, hi = read_once(f, lo, made.line, made.out), read_once(f, hi, made.line, made.out)
    first = f.register(I64)
    made.out.append(Instr(ops.FOR, VOID, first, [lo, hi, size], 0, made.line))
    return first, made.scalar(ops.MIN, made.scalar(ops.ADD, first, size), hi)


def _downwards(f: Function, lo: int, hi: int, lanes: int, line: int, out: list[Instr]) -> tuple[int, int, int, int]:
    """Of a loop that counts down: the index of the first lane in the first step, where whole steps end, and the bounds of as long a loop that counts up."""

    def emit(op: ops.Op, a: int, b: int) -> int:
        made = f.register(I64, "")
        out.append(Instr(op, I64, made, [a, b], 0, line))
        return made

    count = last_multiple(f, f.const(I64, 0), emit(ops.SUB, lo, hi), lanes, line, out)
    return emit(ops.SUB, lo, f.const(I64, lanes - 1)), emit(ops.SUB, lo, count), f.const(I64, 0), count


def _absorbed(f: Function, before: list[Instr], variable: int, op: ops.Op) -> bool:
    """Whether what an accumulator holds before the loop changes nothing any more: every lane starts from it, or it is known to be neutral."""
    if op.neutral is None:
        return True
    for instr in reversed(before):
        if instr.dst == variable:
            if instr.op is not ops.COPY or instr.args[0] >= 0:
                return False
            start = f.const_values[~instr.args[0]]
            # (A sum that starts from 0.0 is never -0.0.)
            return start == op.neutral and math.copysign(1.0, start) > 0
        if instr.op.effect == ops.CONTROL:
            break
    return False


def _reads_one_stream(shapes: Divergence, leaves: list[Leaf], loop: Loop) -> bool:
    """Whether all that the loop does is to reduce one array."""
    array = NONE
    where: list[int] = []
    for leaf in leaves:
        instr = leaf.instr
        if instr.op is ops.STORE:
            return False
        if instr.op is ops.LOAD and shapes.of(instr.args[-1]) == LINEAR:
            if array != NONE and (array != instr.imm or where != instr.args):
                return False
            array, where = instr.imm, instr.args
    return bool(loop.accumulators) and array != NONE
