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


def run(f: Function, target: Target) -> None:
    """Replace loads by slides in every straight stretch of ``f``, on arrays the function does not write."""
    code = f.code
    for instr in code:
        if instr.op is ops.LOAD and instr.type.lanes and target.slides(instr.type):
            break
    else:
        return
    _Rewriting(f, target).run()


class _Rewriting:
    """One run: what is known of the index registers, across stretches.

    Attributes:
        roots: register -> (root register, the root's stamp, constant added).
        written: variable -> serial number of its last write.
        bracket: serial number of the last control instruction, after which any variable may be another.
    """

    __slots__ = ("bracket", "f", "out", "roots", "serial", "target", "written")

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        self.out: list[Instr] = []
        self.roots: dict[int, tuple[int, int, int]] = {}
        self.written: dict[int, int] = {}
        self.serial = 0
        self.bracket = 0

    def run(self) -> None:
        stretch: list[Instr] = []
        for instr in self.f.code:
            stretch.append(instr)
            if instr.op.effect == ops.CONTROL:
                self.rewrite(stretch)
                self.serial += 1
                self.bracket = self.serial
                stretch = []
        self.rewrite(stretch)
        self.f.code = self.out

    def index(self, a: int) -> tuple[int, int, int]:
        """An index as (root, stamp, offset): equal roots with equal stamps hold the same value."""
        known = self.roots.get(a)
        if known is not None:
            return known
        if a >= 0 and self.f.variable[a]:
            return a, max(self.bracket, self.written.get(a, 0)), 0
        return a, 0, 0

    def rewrite(self, stretch: list[Instr]) -> None:
        f = self.f
        places: dict[int, _Place] = {}
        offsets: dict[tuple[int, ...], set[int]] = {}
        neighbours: set[tuple[int, ...]] = set()  # of the groups, those with loads that are not whole vectors apart
        for position in range(len(stretch)):
            instr = stretch[position]
            op = instr.op
            dst = instr.dst
            if dst >= 0 and f.variable[dst]:
                self.serial += 1
                self.written[dst] = self.serial
            elif (op is ops.ADD or op is ops.SUB) and instr.type is I64 and instr.args[1] < 0:
                root, stamp, offset = self.index(instr.args[0])
                value = int(f.const_values[~instr.args[1]])
                self.roots[dst] = root, stamp, offset + (value if op is ops.ADD else -value)
            elif op is ops.LOAD and instr.type.lanes and not f.arrays[instr.imm].written and self.target.slides(instr.type):
                if instr.args[-1] < 0:
                    continue
                root, stamp, offset = self.index(instr.args[-1])
                group = [instr.type.number, instr.imm, root, stamp]
                for a in instr.args[:-1]:
                    group.extend(self.index(a))
                place = _Place(position, tuple(group), offset)
                places[position] = place
                known = offsets.setdefault(place.group, set())
                for other in known:
                    # All of them are as far from the next vector as any one.
                    if (offset - other) % instr.type.lanes:
                        neighbours.add(place.group)
                    break
                known.add(offset)
        loaded: dict[tuple[int, ...], int] = {}
        for position in range(len(stretch)):
            found = places.get(position)
            if found is None or found.group not in neighbours:
                self.out.append(stretch[position])
            else:
                _place(f, stretch[position], found, offsets[found.group], loaded, self.out)


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
