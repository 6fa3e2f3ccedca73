"""Neighbouring vector loads made from one another.

A loop that reads ``x[i-1]``, ``x[i]`` and ``x[i+1]``, unrolled, loads every cache line several times, mostly at odd
offsets, each of which touches two lines. Where two loads lie a whole vector apart, what lies between them is in
registers already: one ``slide`` (lanes k, k+1, … of the two in a row) takes the place of a load. This is predictive
commoning (O'Brien, 1990) inside one iteration: nothing is carried around the loop, and no element is read that the
program does not read.

An array that is read at several neighbouring indices shares no memory with one that is written (docs/kernels.md, "Checked mode
and overlap"), so its loads may pass stores. One that is read at a single index may be the very array that is written
there: its loads stay where they are.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.affine import Offsets
from loopwright.ir.function import NONE, Function, Instr
from loopwright.targets.target import Target
from loopwright.types import I64, Type


class _Place:
    """A vector load: array, indices but the last, the last as root + offset."""

    __slots__ = ("group", "offset", "position")

    def __init__(self, position: int, group: tuple[int, ...], offset: int) -> None:
        self.position = position
        self.group = group
        self.offset = offset


def neighbours(f: Function, target: Target) -> bool:
    """Whether vector loads of one array may lie next to each other once the loops over lanes of ``f`` are unrolled.

    Not where it is read at a single index: the copies of that load are whole vectors apart.
    """
    steps: list[int] = []
    read_at: dict[int, list[int]] = {}
    for instr in f.code:
        if instr.loop is not None and instr.loop.mask != NONE:
            steps.append(int(f.const_values[~instr.args[2]]))
            continue
        first = 0 if instr.op is ops.LOAD else 1 if instr.op is ops.MASKED_LOAD else -1
        if first < 0 or not instr.type.lanes or f.arrays[instr.imm].written or not target.slides(instr.type):
            continue
        indices = instr.args[first:]
        for step in steps:
            if step % instr.type.lanes:
                return True
        if read_at.setdefault(instr.imm, indices) != indices:
            return True
    return False


def run(f: Function, target: Target) -> None:
    """Replace loads by slides in every straight stretch of ``f``, on arrays the function does not write."""
    _Rewriting(f, target).run()


class _Rewriting:
    """One run: the index registers are followed across stretches."""

    __slots__ = ("f", "indices", "out", "target")

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        self.out: list[Instr] = []
        self.indices = Offsets(f)

    def run(self) -> None:
        stretch: list[Instr] = []
        for instr in self.f.code:
            stretch.append(instr)
            if instr.op.effect == ops.CONTROL:
                self.rewrite(stretch)
                stretch = []
        self.rewrite(stretch)
        self.f.code = self.out

    def rewrite(self, stretch: list[Instr]) -> None:
        f = self.f
        places: dict[int, _Place] = {}
        offsets: dict[tuple[int, ...], set[int]] = {}
        neighbours: set[tuple[int, ...]] = set()  # of the groups, those with loads that are not whole vectors apart
        for position in range(len(stretch)):
            instr = stretch[position]
            if instr.op is ops.LOAD and instr.type.lanes and instr.args[-1] >= 0 and not f.arrays[instr.imm].written and self.target.slides(instr.type):
                place = self.place(position, instr)
                places[position] = place
                known = offsets.setdefault(place.group, set())
                for other in known:
                    # All of them are as far from the next vector as any one.
                    if (place.offset - other) % instr.type.lanes:
                        neighbours.add(place.group)
                    break
                known.add(place.offset)
            self.indices.follow(instr)
        loaded: dict[tuple[int, ...], int] = {}
        for position in range(len(stretch)):
            found = places.get(position)
            if found is None or found.group not in neighbours:
                self.out.append(stretch[position])
            else:
                _place(f, stretch[position], found, offsets[found.group], loaded, self.out)

    def place(self, position: int, instr: Instr) -> _Place:
        """Where a load reads. Loads of a group differ in the constant added to their last index only."""
        indices = self.indices
        group = [instr.type.number, instr.imm]
        offset = 0
        for a in instr.args:
            offset = 0
            if a < 0:
                group.append(a)
                continue
            root = indices.root_of(a)
            offset = indices.offset_of(a, root)
            group.extend(indices.version(root))
            group.append(offset)
        group[-1] = 0
        return _Place(position, tuple(group), offset)


def _place(f: Function, instr: Instr, place: _Place, offsets: set[int], loaded: dict[tuple[int, ...], int], out: list[Instr]) -> None:
    """A load as it is, or a slide of the two whole vectors around it."""
    type_ = instr.type
    lanes = type_.lanes
    grid = min(offsets)
    shift = (place.offset - grid) % lanes
    low = place.offset - shift
    if shift == 0 or low not in offsets or low + lanes not in offsets:
        known = loaded.get((*place.group, place.offset), NONE)
        if known != NONE:
            out.append(Instr(ops.COPY, type_, instr.dst, [known], 0, instr.line))
            return
        loaded[(*place.group, place.offset)] = instr.dst
        out.append(instr)
        return
    halves = [_whole(f, instr, place, offset, type_, loaded, out) for offset in (low, low + lanes)]
    out.append(Instr(ops.SLIDE, type_, instr.dst, [halves[0], halves[1], f.const(I64, shift)], 0, instr.line))


def _whole(f: Function, like: Instr, place: _Place, offset: int, type_: Type, loaded: dict[tuple[int, ...], int], out: list[Instr]) -> int:
    """The register with the whole vector at ``offset``, loaded here if it was not before."""
    known = loaded.get((*place.group, offset), NONE)
    if known != NONE:
        return known
    index = f.register(I64)
    out.append(Instr(ops.ADD, I64, index, [like.args[-1], f.const(I64, offset - place.offset)], 0, like.line))
    made = f.register(type_)
    out.append(Instr(ops.LOAD, type_, made, [*like.args[:-1], index], like.imm, like.line))
    loaded[(*place.group, offset)] = made
    return made
