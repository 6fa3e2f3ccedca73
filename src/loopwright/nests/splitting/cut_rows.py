"""A loop over rows that holds several loops, one of which waits for its own results and begins with what one before it has made: cut in front of that, block of rows by block of rows.

::

    for i = 0, n                         for first = 0, n, 64
      s = 0                                for i = first, min(first + 64, n)
      for j: s = s + a[i, j]                 s = 0; for j: s = s + a[i, j]
      for j                        →         kept[i - first] = s
        b[i, j] = s                        for i = first, min(first + 64, n)
        s = s + a[i, j + w] - a[i, j]        s = kept[i - first]
                                             for j: b[i, j] = s; s = s + a[i, j + w] - a[i, j]

So is one that looks up with what an inner loop has found, and changes what it finds, or of which much else comes before it stores or hands something on: all of a block are found first, in lanes, and then is stored
what they lead to, row by row::

    for i = 0, n                         for first = 0, n, 64
      for k: … at = k                      for i = first, min(first + 64, n): for k: … at = k; kept[i - first] = at
      total[at] = total[at] + a[i]   →     for i = first, min(first + 64, n): at = kept[i - first]; total[at] = total[at] + a[i]

What comes behind all that has to stay in order has lanes of its own, too: a filter's state is followed number by number, and what is made of it, vector by vector::

    for i = 0, n                         for first = 0, n, 64
      x = g(a[i])                          for i = first, min(first + 64, n): kept[i - first] = g(a[i])
      s = s + x > s ? …          →         for i = first, min(first + 64, n): s = s + kept[i - first] > s ? …; state[i - first] = s
      b[i] = f(s)                          for i = first, min(first + 64, n): b[i] = f(state[i - first])

In the first case the second loop is by itself in the one around it, whose iterations are jammed or walked together (``distribute.py``, which does that where nothing is handed on). What is handed on in a variable gets an
element of a local array for each row (scalar expansion, strip-mined: D. Padua and M. Wolfe, "Advanced compiler optimizations for supercomputers", CACM 29(12), 1986).
"""

from __future__ import annotations

import itertools
from typing import ClassVar, Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Array, Function, Instr
from loopwright.nests.analysis.dependence import Dependence, dependences, too_many
from loopwright.nests.analysis.graph import graph_of, recurrence_bound
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import HANDED, PRIVATE, Scalar, any_order, scalars
from loopwright.nests.branches.conversion import LONG, takes_long
from loopwright.nests.idioms.counting import takes_lanes
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import clone, read_once
from loopwright.nests.splitting.conditions import own_variables
from loopwright.nests.splitting.distribute import Unit, improves, in_lanes_alone, may_gain, replaced, units_of, waits
from loopwright.nests.splitting.rows_turned import turn
from loopwright.nests.steps.lanes import adjacent, differs, free, strided
from loopwright.targets.core import Core
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, PTR

__all__ = ["SHORTEST", "Behind", "ordered_part", "run"]

#: Rows of a block.
ROWS: Final = 64
#: What is done before something is looked up is worth lanes of its own from so many instructions on.
MUCH: Final = 40
#: Otherwise it is, with what is done behind, if no more than this of the time is left that an iteration takes; so many instructions are begun in a cycle.
LEFT: Final = 0.85
BEGUN: Final = 4
#: Instructions that count an iteration, and those that find where in a block it is; cycles that a block takes to begin, for each of its rows.
COUNTED: Final = 2
FOUND: Final = 2
BEGINS: Final = 0.15
#: Cycles that the unit which divides is taken up by an operation on one number, and on one of a vector's.
ALONE: Final = 4
IN_LANES: Final = 2
#: What takes several instructions where it is done with one number, and how many (divided by a constant).
_SEVERAL: Final = {**dict.fromkeys((ops.MIN, ops.MAX, ops.SELECT, ops.ABS, ops.ABS_DIFF), 2), **dict.fromkeys(LONG, 6)}
#: So few, such as a load alone, stay with what has to be in order.
FEW: Final = 2
#: Loops that are known to have fewer iterations are not cut behind what has lanes.
SHORTEST: Final = 16
#: With fewer instructions before and behind it is not looked at.
LEAST: Final = 6
#: What takes so many instructions at most is computed again where it is read, if that is possible.
MOST_AGAIN: Final = 4
#: So many values are kept for each row at most.
MOST_KEPT: Final = 6


def run(f: Function, found: list[Nest], target: Target, core: Core, written: set[int]) -> dict[int, str]:
    """Cut such loops of a function.

    Args:
        f: the function.
        found: its nests.
        target: the machine.
        core: its core.
        written: receives the indices of the outermost loops that stand beside those made, as written, for arrays that overlap.

    Returns:
        By the index of the outermost loop of what was made: what was done, for the report.
    """
    done: dict[int, str] = {}
    for nest in reversed(found):
        if nest.obstacles:
            continue
        cut = _cut(nest)
        if cut is None or too_many(nest):
            continue
        if cut.possible(target):
            arrays = len(f.arrays)
            if cut.gains(target, core):
                done[cut.rewrite(written)] = f"{nest.name(cut.loop)} cut {cut.WHERE}, {cut.rows} rows at a time"
            else:
                del f.arrays[arrays:]
    return done


def _cut(nest: Nest) -> _Cut | None:
    """Where a nest may be cut; None for others."""
    for loop in nest.loops:
        if _holds_several(nest, loop):
            return _Cut(nest, loop)
        # (Of a few iterations, none of which have lanes of their own, nothing is gained: what is around them may have lanes.)
        ordered = ordered_part(nest, loop) if loop.step == 1 and loop.reaches(SHORTEST) else None
        if ordered is not None:
            return Behind(nest, loop, *ordered)
    return None


def _holds_several(nest: Nest, loop: NestLoop) -> bool:
    """Whether a loop holds several others, all innermost, of which one stores what is elsewhere in the next iteration, and waits for itself."""
    inside = [other for other in nest.loops if other.parent is loop]
    return (
        loop.step == 1 and len(inside) > 1 and not any(other.parent in inside for other in nest.loops) and any(may_gain(nest, loop, other) for other in inside)
    )


def ordered_part(nest: Nest, loop: NestLoop) -> tuple[int, int] | None:
    """Where a loop first accesses an array to which it stores at elements that it looks up, or begins with what has to stay in order, and where that ends.

    None where there is nothing of the kind, and where it begins behind no loop that is in this one, or comes with next to nothing before and behind it.
    """
    code = nest.f.code
    own = [access for access in nest.accesses if loop.head < access.position < loop.end]
    arrays = {
        access.array
        for access in own
        if access.store and any(form is None or any(differs(nest, loop, value) for value in form.terms) for form in access.subscripts)
    }
    accessed = [access.position for access in own if access.array in arrays]
    inside = [other for other in nest.loops if other.parent is loop]
    handed_on = _handed_on(nest, loop)
    if not accessed and (inside or not handed_on):
        return None
    first = _in_order_from(nest, loop, min(accessed, default=loop.end), handed_on)
    if first < 0:
        return None
    if inside:
        return (first, loop.end) if inside[0].end < first else None
    last = max([*accessed, *[k for k in range(first, loop.end) if code[k].dst in handed_on]])
    behind = next(unit.end for unit in units_of(nest, loop) if unit.start <= last < unit.end)
    beside = [*code[loop.head + 1 : first], *code[behind : loop.end]]
    return (first, behind) if len(beside) >= LEAST or any(takes_long(instr) for instr in beside) else None


def _handed_on(nest: Nest, loop: NestLoop) -> set[int]:
    """The variables that a loop hands on to its next iteration, but for totals in any order; none where lanes have all of them from their neighbours."""
    f = nest.f
    own = [scalar for scalar in scalars(nest) if scalar.loop is loop]
    free = set(own_variables(nest, loop)).union([scalar.variable for scalar in own if any_order(f, scalar)])
    if all(scalar.kind in (HANDED, PRIVATE) or scalar.variable in free for scalar in own):
        free.update([scalar.variable for scalar in own if scalar.kind == HANDED])
    return {instr.dst for instr in f.code[loop.head + 1 : loop.end] if instr.dst >= 0 and f.variable[instr.dst]} - free


def _in_order_from(nest: Nest, loop: NestLoop, end: int, handed_on: set[int]) -> int:
    """Where, in front of a position, a loop first stores, or mentions a variable that it hands on to its next iteration; where the branch or loop begins that this is in."""
    f = nest.f
    depth = 0
    begins = -1
    for k in range(loop.head + 1, loop.end):
        instr = f.code[k]
        if instr.op.effect == ops.CONTROL:
            if depth == 0:
                begins = k
            depth += (1 if instr.op.opens else 0) - (1 if instr.op.closes else 0)
        if k == end or instr.op is ops.STORE or instr.dst in handed_on or any(a in handed_on for a in instr.args):
            return begins if depth else k
    return -1


class _Cut:
    """A loop that is to be cut, and where.

    Attributes:
        loops: per part, its loops.
        starts: where the parts begin, and the last one ends.
        own: the variables that each row writes anew, and nothing else mentions.
        kept: the registers that are handed on from one part to a later one, and the first part that each is made in.
        again: positions of what each part can compute for itself.
        arrays: what holds those that are kept, an element for each row.
        rows: of a block.
    """

    #: For the report.
    WHERE: ClassVar[str] = "between its loops"

    def __init__(self, nest: Nest, loop: NestLoop) -> None:
        self.nest = nest
        self.f = nest.f
        self.loop = loop
        self.loops: list[list[NestLoop]] = [[]]
        self.starts = [loop.head + 1, loop.end]
        self.own = own_variables(nest, loop)
        self.kept: dict[int, int] = {}
        self.again: set[int] = set()
        self.arrays: dict[int, Array] = {}
        self.rows = ROWS

    def possible(self, target: Target) -> bool:
        """Whether there is a loop to be alone, and cutting is allowed."""
        nest, loop = self.nest, self.loop
        variables = scalars(nest)
        found = dependences(nest)
        if loop in adjacent(nest, variables, target) and free(loop, found):
            return False
        units = units_of(nest, loop)
        alone = False
        for unit in units:
            if unit.loop is not None:
                gains = may_gain(nest, loop, unit.loop) and waits(unit.loop, found, variables)
                if self.loops[-1] and (gains or alone):
                    self.loops.append([])
                    self.starts.insert(-1, unit.start)
                self.loops[-1].append(unit.loop)
                alone = gains
        return len(self.loops) > 1 and self.in_order(found) and self.hands_on(units, variables)

    def part(self, position: int) -> int:
        """Which part a position is in."""
        return max(number for number, start in enumerate(self.starts[:-1]) if start <= position)

    def in_order(self, found: list[Dependence]) -> bool:
        """Whether nothing that a later part does is needed by an earlier one in another row."""
        loop = self.loop
        for dependence in found:
            if loop not in dependence.loops or not all(c.low <= 0 <= c.high for c in dependence.vector[: loop.depth]):
                continue
            source, sink = dependence.source.position, dependence.sink.position
            if loop.head < source < loop.end and loop.head < sink < loop.end and self.part(source) > self.part(sink):
                return False
        return True

    def hands_on(self, units: list[Unit], variables: list[Scalar]) -> bool:
        """Find what parts compute for themselves, and what is handed on; whether that may be."""
        f, loop = self.f, self.loop
        own = set(self.own)
        totals = {scalar.variable for scalar in variables if scalar.loop is loop and any_order(f, scalar)}
        stored = {access.array for access in self.nest.accesses if access.store}
        # (What no part stores is loaded where it is read, which takes no more than what is kept for that.)
        inside = {
            k for unit in units for k in range(unit.start, unit.end) if unit.end - unit.start > 1 or f.code[k].op is not ops.LOAD or f.code[k].imm in stored
        }
        changed = {instr.dst for instr in f.code[loop.head + 1 : loop.end] if instr.dst >= 0 and f.variable[instr.dst]}
        takes: dict[int, int] = {}  # how many instructions, as often as they are read
        made: dict[int, int] = {}  # what is not computed again -> the part that it is made in first
        kept: set[int] = set()
        mentioned: dict[int, int] = {}
        for k in range(loop.head + 1, loop.end):
            instr = f.code[k]
            number = self.part(k)
            for r in (instr.dst, *instr.args):
                # (What the next iteration is handed may be read behind the part that makes it, but not be changed there.)
                if r in changed and r not in own and r not in totals and mentioned.setdefault(r, number) != number and (r == instr.dst or r not in made):
                    return False
            kept.update(a for a in instr.args if made.get(a, number) < number)
            if instr.dst < 0:
                continue
            takes[instr.dst] = 1 + sum([takes.get(a, 0) for a in instr.args])
            if k not in inside and not any(a in made or a in changed for a in instr.args) and takes[instr.dst] <= MOST_AGAIN and not takes_long(instr):
                self.again.add(k)
            elif instr.dst not in totals:
                made.setdefault(instr.dst, number)
        for k in range(loop.end - 1, loop.head, -1):
            # (What is made of a narrower number is made of it again.)
            instr = f.code[k]
            if (
                instr.dst in kept
                and instr.op is ops.CONVERT
                and instr.source.bits < instr.type.bits
                and instr.dst not in changed
                and instr.args[0] in made
                and not f.variable[instr.args[0]]
            ):
                self.again.add(k)
                kept.remove(instr.dst)
                kept.add(instr.args[0])
        self.kept = {r: made[r] for r in sorted(kept)}
        return len(kept) <= MOST_KEPT and not any(f.types[r].lanes or f.types[r] is BOOL or f.types[r] is PTR for r in kept)

    def keep(self) -> None:
        """Make the arrays for what is handed on."""
        f = self.f
        for r in self.kept:
            self.arrays[r] = f.local_array(f.names[r] or "kept", f.types[r], (self.rows,))
            self.arrays[r].written = True

    def gains(self, target: Target, core: Core) -> bool:
        """Whether one of the parts is changed for the better, where it is by itself."""
        f, loop = self.f, self.loop
        self.keep()
        for number, loops in enumerate(self.loops):
            if len(loops) == 1 and may_gain(self.nest, loop, loops[0]):
                lo, hi, _step = f.code[loop.head].args
                made: list[Instr] = []
                self.emit(number, lo, hi, lo, made)
                if improves(self.nest, loop, made, target, core):
                    return True
        return False

    def emit(self, number: int, low: int, high: int, first: int, out: list[Instr]) -> None:
        """One part, for rows from ``low`` to ``high`` of the block that begins with ``first``."""
        f, loop = self.f, self.loop
        code = Code(f, loop.line, out)
        i = code.begin(low, high, 1, f.names[f.code[loop.head].dst])
        at = code.op(ops.SUB, i, first)
        start, end = self.starts[number], self.starts[number + 1]
        body = self.body(start, end)
        read = {a for instr in body for a in instr.args}
        written = {instr.dst for instr in body}
        rename = {f.code[loop.head].dst: i}
        for r in self.own:
            if r in read or r in written:
                rename[r] = f.register(f.types[r], f.names[r], True)
        for r, array in self.arrays.items():
            # (What is written here may be written under a condition alone.)
            if (r in read or r in written) and self.kept[r] < number:
                taken = f.register(f.types[r], f.names[r])
                out.append(Instr(ops.LOAD, f.types[r], taken, [at], f.arrays.index(array), loop.line))
                if r in self.own:
                    out.append(Instr(ops.COPY, f.types[r], rename[r], [taken], 0, loop.line))
                else:
                    rename[r] = taken
        clone(f, body, rename, out)
        for r, array in self.arrays.items():
            if r in written:
                out.append(Instr(ops.STORE, f.types[r], NONE, [rename.get(r, r), at], f.arrays.index(array), loop.line))
        code.end()

    def body(self, start: int, end: int) -> list[Instr]:
        """What one part does, with what it computes for itself of what it reads."""
        body: list[Instr] = []
        read: set[int] = set()
        for k in range(end - 1, self.loop.head, -1):
            instr = self.f.code[k]
            if instr.dst in read if k in self.again else k >= start:
                body.append(instr)
                read.update(instr.args)
        return body[::-1]

    def rewrite(self, written: set[int]) -> int:
        """Cut the loop. Returns the index of the outermost loop of what was made."""
        first, out = self.cut()
        replaced(self.nest, self.loop, out, written)
        return first if self.loop is self.nest.loops[0] else self.nest.loops[0].index

    def cut(self) -> tuple[int, list[Instr]]:
        """What is to stand in the loop's place, and the index of the loop that this is."""
        f, loop = self.f, self.loop
        head = f.code[loop.head]
        out: list[Instr] = [Instr(ops.LOCAL, PTR, array.base, [f.const(I64, f.arrays.index(array))], 0, loop.line) for array in self.arrays.values()]
        lo = read_once(f, head.args[0], head.line, out)
        hi = read_once(f, head.args[1], head.line, out)
        code = Code(f, loop.line, out)
        first = code.begin(lo, hi, self.rows)
        stop = code.op(ops.MIN, code.op(ops.ADD, first, f.const(I64, self.rows)), hi)
        for number in range(len(self.loops)):
            self.emit(number, first, stop, first, out)
        code.end()
        return first, out


class Behind(_Cut):
    """A loop that is to be cut in front of what has to stay in order, and behind it, so that the rest has lanes.

    Attributes:
        first, behind: where that begins, and what comes after it.
        ordered: the part that it is.
    """

    WHERE: ClassVar[str] = "in front of what stays in order"

    def __init__(self, nest: Nest, loop: NestLoop, first: int, behind: int) -> None:
        super().__init__(nest, loop)
        self.first = first
        self.behind = behind
        self.ordered = 0

    def possible(self, target: Target) -> bool:
        """Whether cutting is allowed in front of what accesses the arrays that are stored to where is looked up."""
        nest, loop = self.nest, self.loop
        if not target.vector_bits or takes_lanes(self.f, target, loop.head, loop.end):
            return False
        if self.lanes_around(target):
            return False
        units = units_of(nest, loop)
        start = next((unit.start for unit in units if unit.start <= self.first < unit.end), self.first)
        while start - 1 > loop.head and self.f.code[start - 1].op.pure and self.f.types[self.f.code[start - 1].dst] is BOOL:
            # (Truth values are not kept.)
            start -= 1
        least = 0 if any(unit.loop is not None for unit in units) else FEW
        self.starts = [
            loop.head + 1,
            *([start] if start - loop.head > least else []),
            *([self.behind] if loop.end - self.behind > least else []),
            loop.end,
        ]
        self.ordered = self.part(start)
        self.loops = [[unit.loop for unit in units if unit.loop is not None and self.part(unit.start) == number] for number in range(len(self.starts) - 1)]
        return len(self.loops) > 1 and self.in_order(dependences(nest)) and self.hands_on(units, scalars(nest))

    def lanes_around(self, target: Target) -> bool:
        """Whether a loop around has lanes as it is, each of which has the whole loop to itself."""
        nest, loop = self.nest, self.loop
        if loop.parent is None:
            return False
        variables, found = scalars(nest), dependences(nest)
        beside = adjacent(nest, variables, target)
        laned = [*beside, *strided(nest, variables, target, beside, found)]
        return any(around.head < loop.head < around.end and free(around, found) for around in laned)

    def gains(self, target: Target, core: Core) -> bool:
        """Whether what comes before and behind has lanes then, and enough is saved."""
        self.keep()
        beside = [number for number in range(len(self.loops)) if number != self.ordered]
        return (any(self.loops) or self.saves(core, target)) and all(self.in_lanes(number, target) for number in beside)

    def saves(self, core: Core, target: Target) -> bool:
        """Whether what stays in order takes less than all together, and waits for itself less than that; or what comes before is much, or takes long."""
        code = self.f.code
        bodies = [code[start:end] for start, end in itertools.pairwise(self.starts)]
        if self.ordered and len(bodies[0]) > MUCH:
            return True
        if any(instr.op.effect == ops.CALLS or instr.op is ops.BR or instr.op is ops.BR_IF for body in bodies for instr in body):
            return False
        cut, whole = self.cycles(core, target)
        return cut <= LEFT * whole

    def cycles(self, core: Core, target: Target) -> tuple[float, float]:
        """How many an iteration takes, in parts and as it is."""
        loop, code = self.loop, self.f.code
        bodies = [code[start:end] for start, end in itertools.pairwise(self.starts)]
        waits = self.waits(core)
        lanes = target.vector_bits // max([32, *[self.f.types[r].bits for r in self.kept]])
        varies = {loop.index}
        counts = [self.counted(body, varies) for body in bodies]
        read = {a for instr in bodies[self.ordered] for a in instr.args}
        for k in sorted(self.again, reverse=True):
            # (It computes for itself what it can.)
            if code[k].dst in read:
                read.update(code[k].args)
        moved = sum([number == self.ordered or r in read for r, number in self.kept.items()])
        long = [sum([takes_long(instr) for instr in body]) for body in bodies]
        ordered = max((counts[self.ordered] + moved + FOUND + COUNTED) / BEGUN, waits, long[self.ordered] * ALONE) + BEGINS
        laned = max((sum(counts) - counts[self.ordered]) / BEGUN / lanes, (sum(long) - long[self.ordered]) * IN_LANES)
        return ordered + laned, max((sum(counts) + COUNTED) / BEGUN, waits, sum(long) * ALONE)

    def waits(self, core: Core) -> float:
        """Cycles from one iteration to the next, by what it waits for: copies take none, and a product that is added to something none beside the sum, where they become one operation."""
        f = self.f
        graph = graph_of(self.nest, self.loop, dependences(self.nest), core)
        read: dict[int, list[ops.Op]] = {}
        for instr in f.code[self.loop.head + 1 : self.loop.end]:
            for a in instr.args:
                read.setdefault(a, []).append(instr.op)
        for node in graph.nodes:
            instr = f.code[node.position]
            added = instr.op is ops.MUL and instr.type.is_float and f.options.contract and read.get(instr.dst) in ([ops.ADD], [ops.SUB])
            if added or instr.op is ops.COPY:
                node.latency = 0
        for edge in graph.edges:
            if edge.value and edge.latency > 0:
                edge.latency = min(edge.latency, graph.nodes[edge.source].latency)
        return recurrence_bound(graph)

    def counted(self, body: list[Instr], varies: set[int]) -> int:
        """How many instructions a part takes; ``varies`` has what differs by iteration, and receives what the part makes of that. (The rest leaves the loop.)"""
        variable = self.f.variable
        count = 0
        for instr in body:
            if instr.op is ops.END or instr.op is ops.ELSE:
                continue
            if not instr.op.pure or any(a in varies or (a >= 0 and variable[a]) for a in instr.args):
                if instr.dst >= 0:
                    varies.add(instr.dst)
                count += _SEVERAL.get(instr.op, 1)
        return count

    def in_lanes(self, number: int, target: Target) -> bool:
        """Whether a part has lanes where it is by itself."""
        lo, hi, _step = self.f.code[self.loop.head].args
        made: list[Instr] = []
        self.emit(number, lo, hi, lo, made)
        return in_lanes_alone(self.nest, self.loop, made, target) or _in_lanes_turned(self.nest, self.loop, made, target)


def _in_lanes_turned(nest: Nest, loop: NestLoop, made: list[Instr], target: Target) -> bool:
    """Whether a loop that stands in the place of another has lanes once the rows that its iterations go along are turned round."""
    f = nest.f
    code, arrays = f.code, len(f.arrays)
    f.code = [*code[: loop.head], *made, *code[loop.end + 1 :]]
    changed = next((one for one in nests(f) if one.start >= nest.start), None)
    found = changed is not None and not changed.obstacles and turn(changed, changed.loops[loop.number], target) is not None
    f.code = code
    del f.arrays[arrays:]
    return found
