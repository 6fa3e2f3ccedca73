"""Tiling a loop over time steps: several steps run over one part of the arrays while a cache holds it.

``nests/steps/sweeps.py`` says which loops can be tiled, and by how much each sweep's part is shifted. What comes of one tiled loop::

                                       for block = 0, blocks                        (of several steps)
    for t = first, last                  for tile = 0, tiles                        (parts of all places)
      for i = a, b: sweep 0      →         for t = of the block
      for i = c, d: sweep 1                  at = lowest + piece*tile - slope*(t - first of the block)
    end                                      for i = max(a, at), min(b, at + piece): sweep 0
                                             for i = max(c, at - offset), min(d, at + piece - offset): sweep 1

Where each sweep has a loop directly inside, that is tiled as well: strips of columns, and in each tiles of few rows. The cache then has to hold, of a strip, the
rows of two tiles and those by which places move in a block's steps; of these each comes from memory once a block.

How many steps a block has, and how large tiles are, is told at run time from the extents. Arrays that the cache holds, or of which it does not hold enough, are
one tile and one block, which is the order as written.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.scalars import Scalar
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.steps.candidates import Change
from loopwright.nests.steps.sweeps import Sweeps, sweeps
from loopwright.targets.core import Core
from loopwright.types import BOOL, I64, VOID, Type

__all__ = ["Memory", "Tiles", "best_tiles", "tile"]

#: Steps that a block may have; the first number with which tiles are large enough is taken.
STEPS: Final = (16, 8, 4)


#: Arrays are tiled for the first level where they are so many times as large.
LONGER: Final = 2


class Memory:
    """The caches that tiles are made for.

    Attributes:
        first: bytes of the first level: an innermost loop that is the only tiled one stays in it.
        size: bytes of the cache that tiles fill half of; arrays of no more than that stay as they are.
        outer: the same, where the innermost loops are not tiled.
        least: elements that an innermost loop is to have in a tile at least.
    """

    __slots__ = ("first", "least", "outer", "size")

    def __init__(self, first: int, size: int, outer: int, least: int = 512) -> None:
        self.first = first
        self.size = size
        self.outer = outer
        self.least = least


class Tiles(Change):
    """A loop over time steps to be tiled.

    Attributes:
        sweeps: what it consists of.
        memory: what for.
    """

    def __init__(self, found: Sweeps, memory: Memory) -> None:
        super().__init__(found.loop)
        self.sweeps = found
        self.memory = memory

    def text(self, nest: Nest) -> str:
        return f"several steps of {nest.name(self.loop)} in tiles, where arrays are larger than the cache"

    def apply(self, nest: Nest, variables: list[Scalar]) -> None:
        tile(self.sweeps, self.memory)


def best_tiles(nest: Nest, core: Core, variables: list[Scalar], lanes: list[NestLoop]) -> list[Change]:
    """The loop over time steps of a nest to be tiled, if there is one that waits for memory: all that it holds is over lanes.

    Args:
        nest: the nest.
        core: the core, and its caches.
        variables: what the nest's variables carry.
        lanes: the loops that are to run over lanes.
    """
    found = sweeps(nest, variables) if core.caches and lanes else None
    if found is None:
        return []
    deepest = [sweep.loops[-1] for sweep in found.sweeps]
    if not all(_within(loop, deepest) for loop in lanes):
        return []
    for loop in nest.loops:
        innermost = not any(other.parent is loop for other in nest.loops)
        if innermost and not _within(loop, lanes) and _within(loop, [found.loop]):
            return []
    return [Tiles(found, Memory(*core.caches))]


def _within(loop: NestLoop, loops: list[NestLoop]) -> bool:
    """Whether a loop is one of others, or inside."""
    return any(other.head <= loop.head < other.end for other in loops)


def tile(found: Sweeps, memory: Memory) -> None:
    """Tile a loop over time steps. Its nest does not describe the code any more.

    Args:
        found: the loop.
        memory: the caches.
    """
    f = found.nest.f
    code = f.code
    loop = found.loop
    tiles = _Tiles(f, found, memory)
    tiles.emit()
    f.code = code[: loop.head] + tiles.out + code[loop.end + 1 :]


class _Tiles:
    """The code that is made.

    Attributes:
        out: the instructions made so far.
        line: of the user's source.
        lowest: per tiled loop: the lowest place in a block.
        widths: per tiled loop: how many places there are in a step.
        first, last: the bounds of the loop over time steps.
        levels: how many loops are tiled.
    """

    __slots__ = ("f", "first", "found", "heads", "inner", "last", "levels", "line", "lowest", "memory", "out", "widths")

    def __init__(self, f: Function, found: Sweeps, memory: Memory) -> None:
        self.f = f
        self.found = found
        self.memory = memory
        self.out: list[Instr] = []
        self.line: int = found.loop.line
        self.levels = len(found.slopes)
        self.lowest: list[int] = []
        self.widths: list[int] = []
        self.first, self.last = f.code[found.loop.head].args[:2]
        deepest = found.sweeps[0].loops[-1]
        self.inner = not any(other.parent is deepest for other in found.nest.loops)
        self.heads: dict[int, tuple[NestLoop, int, int]] = {
            loop.head: (loop, level, sweep.offsets[level]) for sweep in found.sweeps for level, loop in enumerate(sweep.loops)
        }

    # --- pieces of code

    def _const(self, number: int) -> int:
        return self.f.const(I64, number)

    def _op(self, op: Op, a: int, b: int, result: Type = I64) -> int:
        made = self.f.register(result, "")
        self.out.append(Instr(op, I64, made, [a, b], 0, self.line))
        return made

    def _plus(self, a: int, number: int) -> int:
        return self._op(ops.ADD, a, self._const(number)) if number else a

    def _times(self, a: int, number: int) -> int:
        return self._op(ops.MUL, a, self._const(number)) if number != 1 else a

    def _of_all(self, op: Op, operands: list[int]) -> int:
        result = operands[0]
        for other in operands[1:]:
            result = self._op(op, result, other)
        return result

    def _select(self, condition: int, a: int, b: int) -> int:
        made = self.f.register(I64, "")
        self.out.append(Instr(ops.SELECT, I64, made, [condition, a, b], 0, self.line))
        return made

    def _quotient(self, a: int, b: int) -> int:
        """``a / b`` rounded up, of positive numbers."""
        above = self._op(ops.ADD, a, self._op(ops.SUB, b, self._const(1)))
        return self._op(ops.DIV_FLOOR, above, b)

    def _begin(self, low: int, high: int, name: str = "") -> int:
        made = self.f.register(I64, name)
        self.out.append(Instr(ops.FOR, VOID, made, [low, high, self._const(1)], 0, self.line))
        return made

    def _if(self, condition: int) -> None:
        self.out.append(Instr(ops.IF, VOID, NONE, [condition], 0, self.line))

    def _variable(self, value: int) -> int:
        made = self.f.register(I64, "", True)
        self._set(made, value)
        return made

    def _set(self, variable: int, value: int) -> None:
        self.out.append(Instr(ops.COPY, I64, variable, [value], 0, self.line))

    def _end(self) -> None:
        self.out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))

    # --- the parts

    def emit(self) -> None:
        """Emit everything."""
        self._extents()
        one = self._const(1)
        steps = self._op(ops.MAX, self._op(ops.SUB, self.last, self.first), one)
        # One block and one tile, unless more are better.
        block, blocks = self._variable(steps), self._variable(one)
        pieces = [self._variable(self._span(level, steps)) for level in range(self.levels)]
        tiles = [self._variable(one) for _ in pieces]
        self._choose(steps, block, blocks, pieces, tiles)
        number = self._begin(self._const(0), blocks)
        first = self._op(ops.ADD, self.first, self._op(ops.MUL, number, block))
        last = self._op(ops.MIN, self._op(ops.ADD, first, block), self.last)
        starts = [0] * self.levels
        for level in reversed(range(self.levels)):
            index = self._begin(self._const(0), tiles[level])
            starts[level] = self._op(ops.ADD, self.lowest[level], self._op(ops.MUL, index, pieces[level]))
        self._body(first, last, starts, pieces)
        for _ in range(self.levels + 1):
            self._end()

    def _span(self, level: int, steps: int) -> int:
        """How many places there are in so many steps."""
        moved = self._times(self._plus(steps, -1), self.found.slopes[level])
        return self._op(ops.MAX, self._op(ops.ADD, self.widths[level], moved), self._const(1))

    def _extents(self) -> None:
        """Which places there are."""
        found = self.found
        rename: dict[int, int] = {}
        clone(self.f, found.early, rename, self.out)
        for level in range(self.levels):
            bounds: list[list[int]] = [[], []]
            for sweep in found.sweeps:
                for k in range(2):
                    bound = self.f.code[sweep.loops[level].head].args[k]
                    bounds[k].append(self._plus(rename.get(bound, bound), sweep.offsets[level]))
            lowest = self._of_all(ops.MIN, bounds[0])
            self.lowest.append(lowest)
            self.widths.append(self._op(ops.MAX, self._op(ops.SUB, self._of_all(ops.MAX, bounds[1]), lowest), self._const(0)))

    def _size(self) -> int:
        """The bytes of the cache that tiles are to stay in."""
        return self.memory.size if self.inner else self.memory.outer

    def _choose(self, steps: int, block: int, blocks: int, pieces: list[int], tiles: list[int]) -> None:
        """Set how many steps a block has and how many places a tile, and how many there are, where the arrays are larger than the cache and tiles help."""
        point = self._point()
        whole = point
        for width in self.widths:
            whole = self._op(ops.MUL, whole, width)
        # (Tiles of one dimension stay in the first level: they help where the second holds the arrays, too.)
        stays = LONGER * self.memory.first if self.inner and self.levels == 1 else self._size()
        self._if(self._op(ops.GT, whole, self._const(stays), BOOL))
        most, sizes = self._sizes(point)
        self._if(self._op(ops.GT, most, self._const(0), BOOL))
        # Blocks of about the same number of steps.
        self._set(blocks, self._quotient(steps, most))
        self._set(block, self._quotient(steps, blocks))
        for level, size in enumerate(sizes):
            self._set(pieces[level], size)
            self._set(tiles[level], self._quotient(self._span(level, block), size))
        self._end()
        self._end()

    def _sizes(self, point: int) -> tuple[int, list[int]]:
        """The most steps in a block, 0 where tiles would be too small, and the places in a tile for each tiled loop.

        Args:
            point: the bytes that an iteration comes to.
        """
        memory = self.memory
        slope = self.found.slopes[0]
        across = self.found.slopes[-1]
        least = memory.least if self.inner else 1
        room = self._op(ops.DIV_FLOOR, self._const(self._size() // 2), point)
        # (The first level holds a part of one dimension, if it is not too short by then.)
        near = self._op(ops.DIV_FLOOR, self._const(memory.first), point) if self.inner and self.levels == 1 else room
        steps = piece = self._const(0)
        for count in sorted(STEPS):
            moved = slope * count
            if self.levels == 1:
                # Of two tiles and what places move by.
                fits = self._op(ops.GE, room, self._const(moved + 2 * least), BOOL)
                own = self._op(ops.MAX, self._op(ops.SHR, self._plus(near, -moved), self._const(1)), self._const(least))
            else:
                # Of a strip, a row of each of two tiles and those that places move by.
                own = self._op(ops.DIV_FLOOR, room, self._const(moved + 2))
                fits = self._op(ops.GE, own, self._const(max(least, across * count)), BOOL)
            steps, piece = self._select(fits, self._const(count), steps), self._select(fits, own, piece)
        if self.levels == 1:
            return steps, [piece]
        # Strips that are not so wide have more rows in a tile.
        wide = self._op(ops.MAX, self._op(ops.MIN, piece, self.widths[1]), self._const(1))
        rows = self._op(ops.SUB, self._op(ops.DIV_FLOOR, room, wide), self._times(steps, slope))
        return steps, [self._op(ops.MAX, self._op(ops.SHR, rows, self._const(1)), self._const(1)), piece]

    def _point(self) -> int:
        """The bytes that an iteration of the tiled loops comes to."""
        sizes: list[int] = []
        for footprint in self.found.footprints:
            size = self._const(footprint.size)
            for dim in footprint.dims:
                size = self._op(ops.MUL, size, self.f.arrays[footprint.array].extents[dim])
            sizes.append(size)
        return self._op(ops.MAX, self._of_all(ops.ADD, sizes), self._const(1))

    def _body(self, first: int, last: int, starts: list[int], pieces: list[int]) -> None:
        """The steps of a block over one tile."""
        f = self.f
        code = f.code
        loop = self.found.loop
        head = code[loop.head]
        index = self._begin(first, last, f.names[head.dst])
        rename = {head.dst: index}
        done = self._op(ops.SUB, index, first)
        lows: list[int] = []
        highs: list[int] = []
        for level in range(self.levels):
            low = self._op(ops.SUB, starts[level], self._times(done, self.found.slopes[level]))
            lows.append(low)
            highs.append(self._op(ops.ADD, low, pieces[level]))
        for k in range(loop.head + 1, loop.end + 1):
            instr = code[k]
            tiled = self.heads.get(k)
            if tiled is not None:
                own, level, offset = tiled
                self.line = own.line
                low, high = [rename.get(a, a) for a in instr.args[:2]]
                low = self._op(ops.MAX, low, self._plus(lows[level], -offset))
                high = self._op(ops.MIN, high, self._plus(highs[level], -offset))
                instr = Instr(instr.op, instr.type, instr.dst, [low, high, instr.args[2]], instr.imm, instr.line, instr.source, instr.mem, instr.loop)
            clone(f, [instr], rename, self.out)
        self.line = loop.line
