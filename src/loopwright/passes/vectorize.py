"""The ``vectorize`` pass: a scalar loop over lanes becomes one over vectors of them, under a mask.

::

    for i = lo, hi, 1 lanes            for i = lo, hi, N mask m
      body                       →       body for i, i + 1, …, i + N - 1, in the lanes of m
    end                                end

The body is as it was for one index. What differs by lane (``vectors/divergence.py``) becomes vectors and masks, what does not stays scalar; control flow
that differs by lane becomes masks (``vectors/predication.py``). A vector has as many lanes as the widest element in the loop leaves room for. An accumulator
has a total in each lane, which are combined behind the loop. On machines without vectors the loop stays as it is.

Of a loop that lanes may leave, vectors go as far as none of them does, and the loop as it is goes on from there (``nests/idioms/leaving.py``).

A loop that counts down has its lanes in the order of memory as well: the first is the last index of a step. What it leaves over is done index by index.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.ir.loops import IS_LOOP, has_lanes
from loopwright.nests.analysis.operations import asking, has
from loopwright.nests.idioms.ahead import divided
from loopwright.nests.idioms.leaving import Leaving, exits
from loopwright.nests.rewriting.unroll import clone, crossing_branches, read_once, written_first
from loopwright.passes import lower_products
from loopwright.passes.short_rows import Places, Rows, in_powers, rereads
from loopwright.passes.vector_loop import USUAL, WORDS, VectorLoop, buffers, least
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, U8, VOID, vector_of
from loopwright.vectors.accesses import ALONG, ANYWHERE, APART, BACK, SAME, lay
from loopwright.vectors.arms import merge
from loopwright.vectors.bitmaps import bit_accesses
from loopwright.vectors.carried import Carried, carried_by
from loopwright.vectors.compaction import room
from loopwright.vectors.divergence import WIDTHS, Divergence
from loopwright.vectors.handed import find_readers, last_found
from loopwright.vectors.interleaving import stores_some
from loopwright.vectors.outer_totals import move_out
from loopwright.vectors.regions import Bracket, Leaf, part, tree
from loopwright.vectors.running import straight
from loopwright.vectors.skipped import skip

#: Rows of which less is read may have so many elements: pixels, and points in homogeneous coordinates.
_PIXEL: Final = 4
#: So many instructions at most are written for what a loop of known length leaves over.
_MOST_SHORT: Final = 100
#: Lanes of a loop that leaves one index at least to a scalar loop, at most: what is left is added up one by one.
#: So many indices that are left over of lanes that have much to do are done together, under a mask; so many instructions are much.
FEWEST_LEFT: Final = 3
MUCH: Final = 30
_MOST_LEFT: Final = 8


def run(f: Function, target: Target) -> None:
    """Rewrite every ``for`` that is marked ``lanes``."""
    code = f.code
    if not has_lanes(code):
        return
    if not target.vector_bits:
        _keep_scalar(code)
        return
    merge(f)
    skip(f)
    code = f.code
    first, last = _mentions(f)
    out: list[Instr] = []
    divisions = _Divisions()
    position = 0
    places = Places()
    around: list[Instr | None] = []  # per open bracket: the innermost loop that is open
    while position < len(code):
        instr = code[position]
        if instr.loop is None or not instr.loop.lanes:
            loop = around.pop() if instr.op.closes else around[-1] if around else None
            if instr.op.opens:
                around.append(instr if IS_LOOP[instr.op.code] else loop)
            out.append(instr)
            position += 1
            continue
        within = around[-1] if around else None
        root, leaves, end = tree(code, position)
        if exits(code, position, end):
            _leave(f, target, (position, end), first, last, within is not None, out)
            part(root)
            position = end + 1
            continue
        outside = {r for r in first if first[r] < position or last[r] > end}
        carried = {leaf.instr.dst for leaf in leaves if leaf.instr.dst in outside} - {variable for variable, _, _ in instr.loop.accumulators}
        if carried:
            # (What each step writes before it reads it is only named elsewhere as well, as in another version of the loop.)
            carried -= set(written_first(f, code[position + 1 : end]))
        found = carried_by(f, root, leaves, carried) if carried else None
        if found is not None and found.handed:
            find_readers(f, position, end, found.handed)
        shapes = (
            Divergence(f, target, root, leaves, outside)
            if found is None
            else Divergence(f, target, root, leaves, outside, found.counters, [*found.sums, *found.handed])
        )
        _find_bits(f, target, shapes, leaves)
        regular, ordered = _survey(f, target, shapes, leaves, root)
        if ordered or (carried and (found is None or not _carries(f, target, shapes, found))):
            body = code[position : end + 1]
            _keep_scalar(body)
            out.extend(body)
        elif found is not None and divisions.divide(f, target, shapes, (position, end), found, outside, regular):
            code = f.code
            first, last = _mentions(f)
            part(root)
            continue
        elif instr in divisions.whole:
            VectorLoop(
                f, target, shapes, leaves, (position, end), out, True, carried=found, ample=instr in divisions.ample, blocks=instr in divisions.blocks
            ).write()
        elif (
            target.scalar_remainders
            or not regular
            or instr.loop.whole
            or (found is not None and not last_found(f, found.handed, _lanes(target, shapes), asking(target)))
            or f.const_values[~instr.args[2]] < 0
            or (within is not None and _scraps(f, target, shapes, leaves))
        ):
            rows = None
            if (
                not regular
                and found is None
                and within is not None
                and not instr.loop.whole
                and f.const_values[~instr.args[2]] == 1
                and _ways(f, shapes, leaves) <= {SAME, ALONG, BACK}
            ):
                rows = rereads(f, target, shapes, leaves, (position, end), within, places)
            _split(f, target, root, shapes, leaves, (position, end), out, found, rows, within is not None)
        else:
            rows = None
            if found is None and within is not None and _shorten(f, target, shapes, root, (position, end)):
                code = f.code
                first, last = _mentions(f)
            elif found is None and within is not None and len(_known_pieces(f, target, instr, shapes.widest(set()) or USUAL)) != 1:
                rows = rereads(f, target, shapes, leaves, (position, end), within, places)
            if rows is not None:
                _split(f, target, root, shapes, leaves, (position, end), out, None, rows)
            else:
                VectorLoop(f, target, shapes, leaves, (position, end), out, False, carried=found).write()
        part(root)
        position = end + 1
    f.code = out
    move_out(f)
    lower_products.run(f, target)


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
        whole: heads of loops of whole steps that came of it; ample: those of them that may store whole vectors; blocks: those that store; done: those of what is behind.
    """

    __slots__ = ("ample", "blocks", "done", "whole")

    def __init__(self) -> None:
        self.whole: list[Instr] = []
        self.ample: list[Instr] = []
        self.blocks: list[Instr] = []
        self.done: list[Instr] = []

    def divide(self, f: Function, target: Target, shapes: Divergence, span: tuple[int, int], found: Carried, outside: set[int], regular: bool) -> bool:
        """Put the search for where a loop is to be divided, and both its parts, in the place of the loop, where that pays."""
        code = f.code
        head = code[span[0]]
        if not found.counters or not (regular or buffers(target)) or head in self.done or head in self.whole:
            return False
        body = code[span[0] : span[1] + 1]
        private = {instr.dst for instr in body if instr.dst >= 0 and f.variable[instr.dst] and instr.dst not in outside}
        made = divided(f, body, found.counters, _lanes(target, shapes), private, not buffers(target))
        self.done.append(head)
        if made is None:
            return False
        f.code = [*code[: span[0]], *made[0], *code[span[1] + 1 :]]
        self.whole += [made[1], *made[2]]
        self.ample.append(made[2][0])
        self.blocks += made[2]
        return True


def _lanes(target: Target, shapes: Divergence) -> int:
    """Of a loop that carries something."""
    return max(1, target.vector_bits // (shapes.widest(set()) or USUAL))


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
        width = shapes.widest(set()) or USUAL
        lanes = max(1, target.vector_bits // width)
        bytes_ = vector_of(U8, lanes * width // 8)
        if lanes > 64 or (lanes > width and not has(target, ops.LOOKUP_BYTES, bytes_, bytes_)):
            shapes.apart = set()


def _survey(f: Function, target: Target, shapes: Divergence, leaves: list[Leaf], root: Bracket) -> tuple[bool, bool]:
    """Whether all that lanes access differs by one element from lane to lane, so that a mask serves for what is left over; and whether their order matters: they
    store where nothing says which of them meet, in steps of a loop inside, or to an array that they access elsewhere too; or they store to an array along which
    they go in two ways, where it is not known that no lane accesses what another has stored."""
    regular = True
    accesses: dict[int, int] = {}
    ways: dict[int, tuple[tuple[int, int], ...]] = {}
    stored = {leaf.instr.imm for leaf in leaves if leaf.instr.op is ops.STORE}
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
            if kind != SAME and kind != ANYWHERE:
                way = tuple([(step.times, step.of) if step is not None else (0, NONE) for step in map(shapes.step, indices)])
                if ways.setdefault(instr.imm, way) != way:
                    crossing.add(instr.imm)
            array = f.arrays[instr.imm]
            # (Of a table nothing is read in lanes that are off, or all is there.)
            table = kind == ANYWHERE and bool(array.size) and instr.imm not in stored
            regular = regular and (kind in (SAME, ALONG) or (table and array.element.bits >= target.masked_bits))
            if kind == ANYWHERE and instr.op is ops.STORE:
                anywhere.append(leaf)
    loop = root.opener.loop
    crosses = bool(crossing & stored) and not (loop is not None and loop.free)
    return regular, crosses or any(accesses[leaf.instr.imm] > 1 or _in_loop(leaf, root) for leaf in anywhere)


def _ways(f: Function, shapes: Divergence, leaves: list[Leaf]) -> set[int]:
    """How accesses of lanes lie in memory."""
    return {
        lay(shapes, leaf.instr.args[-len(f.arrays[leaf.instr.imm].extents) :]) for leaf in leaves if leaf.instr.op is ops.LOAD or leaf.instr.op is ops.STORE
    }


def _scraps(f: Function, target: Target, shapes: Divergence, leaves: list[Leaf]) -> bool:
    """Whether a remainder, of a loop that is come to again and again, would access so short vectors of narrow elements under its mask that it is done lane by lane.

    Index by index it takes less.
    """
    lanes = max(1, target.vector_bits // (shapes.widest(set()) or USUAL))
    return any(
        leaf.instr.op in (ops.LOAD, ops.STORE)
        and f.arrays[leaf.instr.imm].element.bits < target.masked_bits
        and f.arrays[leaf.instr.imm].element.bits * lanes < WORDS
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
    if f.const_values[~root.opener.args[2]] != 1 or not straight(root, found.sums) or (buffers(target) and not room(f, found.counters, lanes)):
        return False
    return found.possible(f, lanes, asking(target))


def _shorten(f: Function, target: Target, shapes: Divergence, root: Bracket, span: tuple[int, int]) -> bool:
    """Take what a loop of known length leaves over out of it: to loops behind it whose vectors have half the lanes, a quarter, and so on; less than the shortest vector stays scalar.

    A store under a mask touches no other bytes, but loads from these wait for it: those of the next row.
    """
    head = root.opener
    lo, _, step = head.args
    assert head.loop is not None
    if f.const_values[~step] != 1 or head.loop.accumulators or target.vector_bits <= WORDS:
        return False
    code = f.code
    body = code[span[0] + 1 : span[1]]
    width = shapes.widest(set()) or USUAL
    pieces = _known_pieces(f, target, head, width)
    if len(pieces) < 2 or len(pieces) * len(body) > _MOST_SHORT or any(IS_LOOP[instr.op.code] for instr in body) or crossing_branches(body):
        return False
    first = at = int(f.const_values[~lo]) + pieces[0]
    rest: list[Instr] = []
    for count in pieces[1:]:
        if count * width < least(width):
            scalars: list[Instr] = []
            for k in range(count):
                clone(f, body, {head.dst: f.const(I64, at + k)}, scalars)
            _keep_scalar(scalars)
            rest += scalars
        else:
            index = f.register(I64, f.names[head.dst])
            args = [f.const(I64, at), f.const(I64, at + count), step]
            rest.append(Instr(head.op, head.type, index, args, 0, head.line, loop=Loop(head.loop.mask, head.loop.unroll, [], True, free=head.loop.free)))
            clone(f, body, {head.dst: index}, rest)
            rest.append(Instr(ops.END, VOID, NONE, [], 0, code[span[1]].line))
        at += count
    f.code = [*code[: span[1] + 1], *rest, *code[span[1] + 1 :]]
    head.args = [lo, f.const(I64, first), step]
    return True


def _known_pieces(f: Function, target: Target, head: Instr, width: int) -> list[int]:
    """A loop of known length in parts, for lanes of so many bits: one of whole vectors alone, if it is even; none of another loop."""
    lo, hi, _ = head.args
    if lo >= 0 or hi >= 0:
        return []
    return _pieces(int(f.const_values[~hi]) - int(f.const_values[~lo]), max(1, target.vector_bits // width), max(1, least(width) // width))


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
    rows: Rows | None = None,
    again: bool = False,
) -> None:
    """Vectors for whole steps, shorter ones behind them for ``rows``, and the scalar loop as it stands for what is left; of a loop that is come to ``again`` and again, a vector under a mask where that
    takes no look-ups."""
    code = f.code[span[0] : span[1] + 1]
    head = root.opener
    line = head.line
    hi = read_once(f, head.args[1], line, out)
    lo = read_once(f, head.args[0], line, out)
    head.args = [lo, hi, head.args[2]]
    index = f.register(I64, f.names[head.dst])
    rest: list[Instr] = []
    clone(f, code[1:], {head.dst: index}, rest)
    alternatives = _near(f, target, shapes, leaves)
    if alternatives:
        stop = f.register(I64, "stop", True)
        # (Bytes that are further apart are better taken one by one as they are than out of vectors, and several versions of a loop are enough.)
        only = len(alternatives) > 2 or any(array.element.bits <= 16 for array in f.arrays if array.strides and array.strides[-1] in alternatives[0])
        # (So are stores under a condition.)
        only = only or any(leaf.instr.op is ops.STORE and leaf.region is not root.body and lay(shapes, leaf.instr.args[1:]) == APART for leaf in leaves)
        _versions(f, target, shapes, leaves, span, alternatives, stop, out, lo, only, carried, again)
    else:
        bits = 0
        if rows is not None:
            head.args[1] = rows.end(f, lo, hi, line, out)
            bits = rows.bits
        elif head.loop is not None and head.loop.whole:
            bits = min(target.vector_bits, _MOST_LEFT * (shapes.widest(set()) or USUAL))
        vectors = VectorLoop(f, target, shapes, leaves, span, out, True, carried=carried, bits=bits)
        stop = _with_rest(vectors, shapes, leaves) if again and rows is None else vectors.write()
    if rows is not None:
        stop = in_powers(f, target, shapes, leaves, span, stop, rows.bits, out)
    if stop == hi or (stop < 0 and hi < 0 and f.const_values[~stop] >= f.const_values[~hi]):
        return
    out.append(Instr(ops.FOR, head.type, index, [stop, hi, head.args[2]], 0, line))
    _keep_scalar(rest)
    out.extend(rest)


def _with_rest(vectors: VectorLoop, shapes: Divergence, leaves: list[Leaf]) -> int:
    """Write a loop of whole steps, and behind it what is left over, under a mask, if elements in turn are all that lanes access apart from each other; where they stop comes back.

    Lanes that have loops of their own, or much to do, may load elements anywhere: what they do for each takes longer. Of few indices that are left each is done by itself then.
    """
    f, target, head = vectors.f, vectors.target, vectors.head
    kinds = _ways(f, shapes, leaves)
    much = not vectors.loop.accumulators and not shapes.apart and (len(leaves) >= MUCH or any(_in_loop(leaf, shapes.root) for leaf in leaves))
    simple = vectors.carried is None and vectors.leaving is None and not vectors.narrow and not vectors.loop.whole and f.const_values[~head.args[2]] == 1
    loaded, stored = ({leaf.instr.imm for leaf in leaves if leaf.instr.op is op} for op in (ops.LOAD, ops.STORE))
    # (What is loaded next waits for stores under masks.)
    simple = simple and (much or not loaded & stored)
    if not simple or target.scalar_remainders or not kinds & {APART, BACK, ANYWHERE}:
        return vectors.write()
    if not much and (not kinds <= {SAME, ALONG, APART, BACK} or _scraps(f, target, shapes, leaves)):
        return vectors.write()
    hi = vectors.hi
    stop = vectors.write(followed=True)
    args = head.args
    head.args = [stop, hi, args[2]]
    made: list[Instr] = []
    rest = VectorLoop(f, target, shapes, leaves, vectors.span, made, False, near=vectors.near, continues=vectors)
    rest.write()
    head.args = args
    if any((instr.op in ops.STRIDED or instr.op in (ops.GATHER_AT, ops.SCATTER_AT)) and not (much and instr.op.result) for instr in made):
        # (Then lanes would be done one by one.)
        vectors.combine()
        return stop
    if not much:
        # (With registers of its own.)
        clone(f, made, {}, vectors.out)
        return hi
    line = head.line
    left, some, behind = f.register(I64, ""), f.register(BOOL, ""), f.register(I64, "stop", True)
    opener = next(k for k, instr in enumerate(made) if instr.loop is rest.described)
    # (What stands in front of the loop stays as it is: tables have their addresses from there, also for others behind it.)
    vectors.out += made[:opener]
    vectors.out.append(Instr(ops.SUB, I64, left, [hi, stop], 0, line))
    vectors.out.append(Instr(ops.GE, I64, some, [left, f.const(I64, FEWEST_LEFT)], 0, line))
    vectors.out.append(Instr(ops.COPY, I64, behind, [stop], 0, line))
    vectors.out.append(Instr(ops.IF, VOID, NONE, [some], 0, line))
    clone(f, made[opener:], {}, vectors.out)
    vectors.out.append(Instr(ops.COPY, I64, behind, [hi], 0, line))
    vectors.out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    return behind


def _versions(
    f: Function,
    target: Target,
    shapes: Divergence,
    leaves: list[Leaf],
    span: tuple[int, int],
    alternatives: list[dict[int, int]],
    stop: int,
    out: list[Instr],
    lo: int,
    only: bool,
    carried: Carried | None,
    again: bool,
) -> None:
    """Vectors for each of several alternatives of what distances are, and, unless ``only`` for these, for all others; where they stop is in ``stop``, ``lo`` where they begin."""
    line = f.code[span[0]].line
    if not alternatives:
        end = lo if only else VectorLoop(f, target, shapes, leaves, span, out, True, carried=carried).write()
        out.append(Instr(ops.COPY, I64, stop, [end], 0, line))
        return
    holds = NONE
    for distance, size in alternatives[0].items():
        same = f.register(BOOL, "")
        out.append(Instr(ops.EQ, I64, same, [distance, f.const(I64, size)], 0, line))
        both = same if holds == NONE else f.register(BOOL, "")
        if holds != NONE:
            out.append(Instr(ops.AND, BOOL, both, [holds, same], 0, line))
        holds = both
    out.append(Instr(ops.IF, VOID, NONE, [holds], 0, line))
    vectors = VectorLoop(f, target, shapes, leaves, span, out, True, carried=carried, near=alternatives[0])
    end = _with_rest(vectors, shapes, leaves) if again else vectors.write()
    out.append(Instr(ops.COPY, I64, stop, [end], 0, line))
    out.append(Instr(ops.ELSE, VOID, NONE, [], 0, line))
    other: list[Instr] = []
    _versions(f, target, shapes, leaves, span, alternatives[1:], stop, other, lo, only, carried, again)
    # (With registers of its own.)
    clone(f, other, {}, out)
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))


def _near(f: Function, target: Target, shapes: Divergence, leaves: list[Leaf]) -> list[dict[int, int]]:
    """What distances would have to be, in bytes, for rows of a few elements, one for each lane, to be next to each other: those of pairs, or of pixels.

    (Their distance is known at run time only, but usual: rows end behind the last element that is accessed, or, where they are only read or one of them can be left alone, have four.)
    """
    most: dict[int, int] = {}
    number: dict[int, int] = {}
    stored: set[int] = set()
    far: set[int] = set()
    for leaf in leaves:
        instr = leaf.instr
        if instr.op is not ops.LOAD and instr.op is not ops.STORE:
            continue
        array = f.arrays[instr.imm]
        indices = instr.args[-len(array.extents) :]
        if len(indices) < 2 or lay(shapes, indices) != APART:
            continue
        if array.strides[-1] >= 0 and all(shapes.step(i) is None for i in indices[-2:]):
            far.add(array.strides[-1])  # (rows of matrices)
            continue
        step = shapes.step(indices[-2])
        lone = indices[-1] < 0 and step is not None and step.times == 1 and step.of == NONE and all(shapes.step(i) is None for i in indices[:-2])
        if not lone:
            return []
        if array.strides[-1] < 0:
            continue
        distance = array.strides[-1]
        if f.const_values[~indices[-1]] >= WIDTHS[-1]:
            far.add(distance)
        most[distance] = max(most.get(distance, 0), int(f.const_values[~indices[-1]]))
        number[distance] = instr.imm
        if instr.op is ops.STORE:
            stored.add(distance)
    # (Elements of longer rows are those of squares, or taken one by one.)
    most = {distance: last for distance, last in most.items() if distance not in far}
    stored -= far
    if not most or not all(1 <= last < WIDTHS[-1] and (last + 1 in WIDTHS or distance not in stored) for distance, last in most.items()):
        return []
    wide = {distance: last + 1 if distance in stored else _PIXEL if last < _PIXEL else WIDTHS[-1] for distance, last in most.items()}
    counts = [{distance: last + 1 if last + 1 in WIDTHS else wide[distance] for distance, last in most.items()}]
    if wide != counts[0]:
        counts.append(wide)
    if _spared(f, target, shapes, most, number, stored):
        fours = dict.fromkeys(most, _PIXEL)
        # (Where some rows have four, the others are likely to.)
        counts.insert(0 if _PIXEL - 1 in most.values() else len(counts), fours)
    return [{distance: count * f.arrays[number[distance]].element.size for distance, count in each.items()} for each in counts]


def _spared(f: Function, target: Target, shapes: Divergence, most: dict[int, int], number: dict[int, int], stored: set[int]) -> bool:
    """Whether rows of which three elements are stored may have a fourth, which is left alone, and all others have no more."""
    three = [distance for distance in stored if most[distance] == _PIXEL - 2]
    lanes = _lanes(target, shapes)
    return bool(three) and max(most.values()) < _PIXEL and all(stores_some(vector_of(f.arrays[number[d]].element, lanes), _PIXEL, target) for d in three)


def _if_long(f: Function, loop: VectorLoop, bounds: tuple[int, int], out: list[Instr]) -> int:
    """Append a loop of whole steps, and what has been computed for it in ``loop.out``, to be run where there is a whole step at least; where it stops comes back."""
    lo, hi = bounds
    line = loop.head.line
    stop = f.register(I64, "stop", True)
    count, long = f.register(I64, ""), f.register(BOOL, "")
    end = loop.write()
    out.append(Instr(ops.COPY, I64, stop, [lo], 0, line))
    out.append(Instr(ops.SUB, I64, count, [hi, lo], 0, line))
    out.append(Instr(ops.GE, I64, long, [count, f.const(I64, loop.lanes)], 0, line))
    out.append(Instr(ops.IF, VOID, NONE, [long], 0, line))
    out.extend(loop.out)
    out.append(Instr(ops.COPY, I64, stop, [end], 0, line))
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    return stop


def _leave(f: Function, target: Target, span: tuple[int, int], first: dict[int, int], last: dict[int, int], again: bool, out: list[Instr]) -> None:
    """Vectors as long as no lane leaves, and the scalar loop as it stands from there on; of a loop that is come to ``again`` and again, nothing else where it is shorter than a vector."""
    code = f.code
    body = code[span[0] : span[1] + 1]
    head = body[0]
    leaving = Leaving(f, *span)
    possible = leaving.possible()
    if possible:
        bounds: list[Instr] = []
        front: list[Instr] = []
        lo = read_once(f, head.args[0], head.line, bounds)
        hi = read_once(f, head.args[1], head.line, bounds)
        limit = leaving.reach(lo, hi, front)
        opener = Instr(head.op, head.type, head.dst, [lo, limit, head.args[2]], 0, head.line, loop=head.loop)
        root, leaves, _ = tree([opener, *leaving.body(True), Instr(ops.END, VOID, NONE, [], 0, body[-1].line)], 0)
        shapes = Divergence(f, target, root, leaves, {r for r in first if first[r] < span[0] or last[r] > span[1]})
        possible = not _survey(f, target, shapes, leaves, root)[1]
        if possible:
            index = f.register(I64, f.names[head.dst])
            rest: list[Instr] = []
            clone(f, body[1:], {head.dst: index}, rest)
            out.extend(bounds)
            if again and (lo >= 0 or hi >= 0):
                stop = _if_long(f, VectorLoop(f, target, shapes, leaves, span, front, True, leaving=leaving), (lo, hi), out)
            else:
                out.extend(front)
                stop = VectorLoop(f, target, shapes, leaves, span, out, True, leaving=leaving).write()
            out.append(Instr(ops.FOR, head.type, index, [stop, hi, head.args[2]], 0, head.line))
            body = rest
        part(root)
    _keep_scalar(body)
    out.extend(body)
