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
from loopwright.types import I64


class _Group:
    """The vector loads of one straight stretch that differ in the constant added to their last index only.

    Attributes:
        offsets: those constants.
        grid: the least of them.
        near: two of the loads are not whole vectors apart.
        loaded: the registers with what has been loaded, by the constant.
    """

    __slots__ = ("grid", "loaded", "near", "offsets")

    def __init__(self, offset: int) -> None:
        self.offsets = {offset}
        self.grid = offset
        self.near = False
        self.loaded: dict[int, int] = {}

    def add(self, offset: int, lanes: int) -> None:
        """Another load. All of them are as far from the next vector as any one."""
        self.near = self.near or (offset - self.grid) % lanes != 0
        self.offsets.add(offset)
        self.grid = min(self.grid, offset)


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
        f, target, indices = self.f, self.target, self.indices
        groups: dict[tuple[int, ...], _Group] = {}
        places: list[tuple[int, _Group, int]] = []
        near = False
        for position in range(len(stretch)):
            instr = stretch[position]
            if instr.op is ops.LOAD and instr.type.lanes and instr.args[-1] >= 0 and not f.arrays[instr.imm].written and target.slides(instr.type):
                key, offset = self.place(instr)
                group = groups.get(key)
                if group is None:
                    group = groups[key] = _Group(offset)
                else:
                    group.add(offset, instr.type.lanes)
                    near = near or group.near
                places.append((position, group, offset))
            indices.follow(instr)
        out = self.out
        done = 0
        if near:
            for position, group, offset in places:
                if group.near:
                    out.extend(stretch[done:position])
                    _place(f, stretch[position], group, offset, out)
                    done = position + 1
        out.extend(stretch[done:] if done else stretch)

    def place(self, instr: Instr) -> tuple[tuple[int, ...], int]:
        """What a load reads: array, indices but the last, the root of the last; and what is added to that root."""
        indices = self.indices
        key = [instr.type.number, instr.imm]
        offset = 0
        for a in instr.args:
            offset = 0
            if a < 0:
                key.append(a)
                continue
            root = indices.root_of(a)
            offset = indices.offset_of(a, root)
            key.extend(indices.version(root))
            key.append(offset)
        key[-1] = 0
        return tuple(key), offset


def _place(f: Function, instr: Instr, group: _Group, offset: int, out: list[Instr]) -> None:
    """A load as it is, or a slide of the two whole vectors around it."""
    type_ = instr.type
    lanes = type_.lanes
    shift = (offset - group.grid) % lanes
    low = offset - shift
    if shift == 0 or low not in group.offsets or low + lanes not in group.offsets:
        known = group.loaded.get(offset, NONE)
        if known != NONE:
            out.append(Instr(ops.COPY, type_, instr.dst, [known], 0, instr.line))
            return
        group.loaded[offset] = instr.dst
        out.append(instr)
        return
    first = _whole(f, instr, group, offset, low, out)
    second = _whole(f, instr, group, offset, low + lanes, out)
    out.append(Instr(ops.SLIDE, type_, instr.dst, [first, second, f.const(I64, shift)], 0, instr.line))


def _whole(f: Function, like: Instr, group: _Group, at: int, offset: int, out: list[Instr]) -> int:
    """The register with the whole vector at ``offset``, loaded here if it was not before. ``like`` is a load ``at`` another."""
    known = group.loaded.get(offset, NONE)
    if known != NONE:
        return known
    index = f.register(I64)
    out.append(Instr(ops.ADD, I64, index, [like.args[-1], f.const(I64, offset - at)], 0, like.line))
    made = f.register(like.type)
    out.append(Instr(ops.LOAD, like.type, made, [*like.args[:-1], index], like.imm, like.line))
    group.loaded[offset] = made
    return made
