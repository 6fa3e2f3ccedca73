"""What an iteration hands on to the next is kept for a block of them, where what it is made of is stored over.

::

    left = a[0]                              kept[0] = left
    for i = lo, hi                           for first = lo, hi, 128
      here = a[i]                              for i = first, min(first + 128, hi): kept[i - first + 1] = a[i]
      a[i] = f(left, here, a[i + 1])     →     for i = first, min(first + 128, hi)
      left = here                                a[i] = f(kept[i - first], a[i], a[i + 1])
                                               kept[0] = kept[min(first + 128, hi) - first]
                                             left = kept[0]

Both loops have lanes. (Where the loop stores to none of the arrays that it would load from again, that costs less: ``previous.py``.) So is what has been handed on twice: ``x2 = x1; x1 = x0`` is from two iterations before, and two elements are in front of
the block's own. What is handed on must be made of what is loaded alone, in front of all that the iteration stores, and no iteration of a block may load for it what another of the block has stored (scalar
expansion, strip-mined: D. Padua and M. Wolfe, "Advanced compiler optimizations for supercomputers", CACM 29(12), 1986).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Array, Function, Instr
from loopwright.nests.analysis.dependence import FLOW, dependences, too_many
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.recurrences.previous import candidates, loaded_first, made_from_loads, own_and_handed
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import clone, has_loops, read_once
from loopwright.nests.splitting.distribute import in_lanes_alone, replaced
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, PTR

__all__ = ["run"]

#: Iterations of a block.
BLOCK: Final = 256
#: A value is handed on so many times at most, and so many instructions stand in the loop.
MOST_TIMES: Final = 4
MOST_BODY: Final = 80
#: So many instructions at most make it, which do so twice.
MOST_MADE: Final = 32
#: Bytes of a line of the cache.
LINE: Final = 64


def run(f: Function, target: Target, written: set[int]) -> dict[int, str]:
    """Rewrite every such loop of a function.

    Args:
        f: the function, at a stage before ``addresses``.
        target: the machine.
        written: receives the indices of the outermost loops that stand beside those made, as written, for arrays that overlap.

    Returns:
        By the index of the outermost loop of what was made: what was done, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits or not candidates(f):
        return done
    for nest in reversed(nests(f)):
        if nest.obstacles:
            continue
        for loop in reversed(nest.loops):
            if loop.step != 1 or not loop.long() or loop.end - loop.head > MOST_BODY:
                continue
            found = _found(nest, loop)
            if found is not None and not too_many(nest) and found.allowed() and found.gains(target):
                done[found.rewrite(written)] = f"what {nest.name(loop)} hands on kept, {BLOCK} iterations at a time"
                break
    return done


def _found(nest: Nest, loop: NestLoop) -> _HandedOn | None:
    """What a loop hands on; None where that is not all that goes from one of its iterations to the next, but for totals, or where it is not copied at the end of each."""
    f = nest.f
    body = f.code[loop.head + 1 : loop.end]
    if has_loops(body) or any(instr.op.effect == ops.CONTROL and instr.op not in (ops.IF, ops.ELSE, ops.END) for instr in body):
        return None
    variables = own_and_handed(nest, loop)
    times = _times(f, body, variables[0]) if variables is not None else None
    if variables is None or times is None:
        return None
    made = made_from_loads(f, body, [v for v, (_, count) in times.items() if count == 1], MOST_MADE)
    return _HandedOn(nest, loop, body, times, made, variables[1]) if made is not None else None


def _times(f: Function, body: list[Instr], carried: list[int]) -> dict[int, tuple[int, int]] | None:
    """Of each variable, what it is given first, and how many iterations before; None where it is no copy that nothing reads in the same iteration, or of what is written in several places."""
    copied: dict[int, tuple[int, int]] = {}  # by variable: where, and of what
    depth = 0
    for k, instr in enumerate(body):
        depth += int(instr.op.opens) - int(instr.op.closes)
        if any(a in copied for a in instr.args):
            return None
        if instr.dst in carried:
            type_ = f.types[instr.dst]
            if depth or instr.op is not ops.COPY or instr.dst in copied or type_.lanes or type_ is BOOL or type_ is PTR:
                return None
            copied[instr.dst] = (k, instr.args[0])
    times: dict[int, tuple[int, int]] = {}
    for v in carried:
        if v not in copied:
            return None
        count, given = 1, copied[v][1]
        while given in copied and count <= MOST_TIMES:
            count, given = count + 1, copied[given][1]
        if given < 0 or count > MOST_TIMES or sum([instr.dst == given for instr in body]) > 1:
            return None
        times[v] = (given, count)
    return times


class _HandedOn:
    """A loop, and what it hands on.

    Attributes:
        body: what is in it.
        times: by variable: what an iteration gives it, in the end, and how many iterations before that was.
        made: the instructions that make what it is given.
        private: the variables that each iteration writes anew.
        arrays: by what is handed on: what it is kept in, and how many elements are in front of a block's own.
    """

    def __init__(self, nest: Nest, loop: NestLoop, body: list[Instr], times: dict[int, tuple[int, int]], made: list[Instr], private: list[int]) -> None:
        self.nest = nest
        self.f = nest.f
        self.loop = loop
        self.body = body
        self.times = times
        self.made = made
        self.private = private
        self.arrays: dict[int, tuple[Array, int]] = {}

    def allowed(self) -> bool:
        """Whether what is handed on may be made for all of a block first."""
        loop = self.loop
        if not loaded_first(self.body, self.made):
            return False
        loaded = {instr.dst for instr in self.made if instr.op is ops.LOAD}
        for dependence in dependences(self.nest):
            if dependence.kind != FLOW or loop.depth >= len(dependence.loops) or dependence.loops[loop.depth] is not loop:
                continue
            around = dependence.vector[: loop.depth]
            own = dependence.vector[loop.depth]
            if self.f.code[dependence.sink.position].dst in loaded and own.high > 0 and all(c.low <= 0 <= c.high for c in around):
                return False
        return True

    def keep(self) -> None:
        """Make the arrays."""
        f = self.f
        for given in {given for given, _ in self.times.values()}:
            # (Whole vectors of what is made are stored to whole lines of the cache.)
            front = LINE // f.types[given].size
            array = f.local_array(f.names[given] or "kept", f.types[given], (front + BLOCK,))
            array.written = True
            self.arrays[given] = (array, front)

    def gains(self, target: Target) -> bool:
        """Whether both loops have lanes."""
        f, nest, loop = self.f, self.nest, self.loop
        arrays, names = len(f.arrays), len(f.types)
        self.keep()
        lo, hi, _ = f.code[loop.head].args
        found = True
        for emit in (self.emit_made, self.emit_used):
            made: list[Instr] = []
            emit(lo, hi, made)
            found = found and in_lanes_alone(nest, loop, made, target)
        if not found:
            del f.arrays[arrays:]
            del f.types[names:], f.names[names:], f.variable[names:]
        return found

    def emit_made(self, low: int, high: int, out: list[Instr]) -> None:
        """What is handed on, for iterations from ``low`` to ``high``."""
        f, loop = self.f, self.loop
        code = Code(f, loop.line, out)
        i = code.begin(low, high, 1, f.names[loop.index])
        rename = {loop.index: i}
        for v in {instr.dst for instr in self.made}:
            if v >= 0 and f.variable[v]:
                rename[v] = f.register(f.types[v], f.names[v], True)
        clone(f, self.made, rename, out)
        at = code.op(ops.SUB, i, low)
        for given, (array, front) in self.arrays.items():
            place = code.op(ops.ADD, at, f.const(I64, front))
            out.append(Instr(ops.STORE, f.types[given], NONE, [rename.get(given, given), place], f.arrays.index(array), loop.line))
        code.end()

    def emit_used(self, low: int, high: int, out: list[Instr]) -> None:
        """The loop itself, for iterations from ``low`` to ``high``."""
        f, loop = self.f, self.loop
        code = Code(f, loop.line, out)
        i = code.begin(low, high, 1, f.names[loop.index])
        rename = {loop.index: i}
        body = [instr for instr in self.body if instr.dst not in self.times]
        read = {a for instr in body for a in instr.args}
        at = code.op(ops.SUB, i, low)
        for v, (given, count) in self.times.items():
            if v in read:
                array, front = self.arrays[given]
                rename[v] = f.register(f.types[v], f.names[v])
                place = code.op(ops.ADD, at, f.const(I64, front - count))
                out.append(Instr(ops.LOAD, f.types[v], rename[v], [place], f.arrays.index(array), loop.line))
        for v in self.private:
            rename[v] = f.register(f.types[v], f.names[v], True)
        clone(f, body, rename, out)
        code.end()

    def rewrite(self, written: set[int]) -> int:
        """Do so. Returns the index of the outermost loop of what was made."""
        f, loop = self.f, self.loop
        head = f.code[loop.head]
        line = loop.line
        out: list[Instr] = [Instr(ops.LOCAL, PTR, array.base, [f.const(I64, f.arrays.index(array))], 0, line) for array, _ in self.arrays.values()]
        lo, hi = read_once(f, head.args[0], line, out), read_once(f, head.args[1], line, out)
        for v, (given, count) in self.times.items():
            array, front = self.arrays[given]
            out.append(Instr(ops.STORE, f.types[v], NONE, [v, f.const(I64, front - count)], f.arrays.index(array), line))
        code = Code(f, line, out)
        first = code.begin(lo, hi, BLOCK)
        stop = code.op(ops.MIN, code.op(ops.ADD, first, f.const(I64, BLOCK)), hi)
        self.emit_made(first, stop, out)
        self.emit_used(first, stop, out)
        done = code.op(ops.SUB, stop, first)
        for given, (array, front) in self.arrays.items():
            number = f.arrays.index(array)
            for k in range(front - max([count for other, count in self.times.values() if other == given]), front):
                last = f.register(f.types[given])
                out.append(Instr(ops.LOAD, f.types[given], last, [code.op(ops.ADD, done, f.const(I64, k))], number, line))
                out.append(Instr(ops.STORE, f.types[given], NONE, [last, f.const(I64, k)], number, line))
        code.end()
        for v, (given, count) in self.times.items():
            array, front = self.arrays[given]
            out.append(Instr(ops.LOAD, f.types[v], v, [f.const(I64, front - count)], f.arrays.index(array), line))
        replaced(self.nest, loop, out, written)
        return first if loop is self.nest.loops[0] else self.nest.loops[0].index
