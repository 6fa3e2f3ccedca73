"""Loops over time steps whose iterations sweep over arrays, and how far each sweep must lag behind the one before for several steps to run over one part.

Where time steps update arrays larger than a cache, each step brings them from memory again. Several steps can run over one part of the arrays while it is
there, if each sweep's part is shifted against that of the sweep before, by as much as its iterations read what lies ahead: time skewing (M. Wolfe, "More
iteration space tiling", Supercomputing 1989; Y. Song and Z. Li, "New tiling techniques to improve cache temporal locality", PLDI 1999; D. Wonnacott, "Using
time skewing to eliminate idle time due to memory bandwidth and network limitations", IPDPS 2000).

Iteration ``i`` of sweep ``s`` in step ``t`` gets the place ``i + slope*t + offset[s]``. Tiles are ranges of places, walked upwards, and within each the order
is the original one. That is legal where no dependence goes to a lower place, in any of the tiled loops. Each dependence is then a difference constraint on
the offsets, and for a slope the least offsets are the longest paths (T. Cormen et al., Introduction to Algorithms, section 24.4).
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import Instr
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.analysis.scalars import PRIVATE, Scalar
from loopwright.nests.branches.conversion import ARMS

__all__ = ["Footprint", "Sweep", "Sweeps", "sweeps"]

#: Loops of each sweep that are tiled at most.
MOST_LEVELS: Final = 2
#: Loops that are known to have fewer iterations go over what a cache has anyway.
LEAST: Final = 64
#: With a greater slope parts would move away too fast to be of use.
STEEPEST: Final = 16
#: More sweeps in a step are not looked at.
MOST_SWEEPS: Final = 16


class Sweep:
    """A loop in the body of a loop over time steps.

    Attributes:
        number: its place in the body.
        loops: the loops to be tiled, the outermost first: it, and the one directly inside.
        offsets: per such loop: by how much its places lie behind its indices.
    """

    __slots__ = ("loops", "number", "offsets")

    def __init__(self, number: int, loop: NestLoop) -> None:
        self.number = number
        self.loops = [loop]
        self.offsets: list[int] = []


class Footprint:
    """The bytes of an array that one iteration of the tiled loops comes to, as far as steps share them.

    Attributes:
        array: its number.
        size: bytes of an element, times how many planes of it are in use.
        dims: the dimensions that the loops inside run through.
    """

    __slots__ = ("array", "dims", "size")

    def __init__(self, array: int, size: int, dims: list[int]) -> None:
        self.array = array
        self.size = size
        self.dims = dims


class Sweeps:
    """A loop over time steps that can be tiled.

    Attributes:
        nest: its nest.
        loop: the loop over time steps.
        sweeps: what its body consists of, beside computations of no effect, and branches.
        slopes: per tiled loop: by how much places move in each step.
        early: the computations in its body that can be made in front of it; the bounds of the tiled loops are among them.
        footprints: what it keeps in the caches.
    """

    __slots__ = ("early", "footprints", "loop", "nest", "slopes", "sweeps")

    def __init__(self, nest: Nest, loop: NestLoop, found: list[Sweep]) -> None:
        self.nest = nest
        self.loop = loop
        self.sweeps = found
        self.slopes: list[int] = []
        self.early: list[Instr] = []
        self.footprints: list[Footprint] = []


def sweeps(nest: Nest, variables: list[Scalar]) -> Sweeps | None:
    """The outermost loop of a nest that can be tiled over time; None where there is none.

    Args:
        nest: the nest, without obstacles.
        variables: what its variables carry.
    """
    for loop in nest.loops:
        if loop.step == 1 and any(other.parent is loop for other in nest.loops):
            found = _Reader(nest, loop, variables).read()
            if found is not None and any(each.reaches(LEAST) for sweep in found.sweeps for each in sweep.loops):
                return found
    return None


class _Reader:
    """Reads one loop over time steps.

    Attributes:
        defined: the registers that change in it.
        known: those among them that do not, in truth: what is computed early.
        time: the value of forms that is the loop's index; ``values``: those of the tiled loops, per sweep.
    """

    __slots__ = ("defined", "found", "known", "loop", "nest", "time", "values", "variables")

    def __init__(self, nest: Nest, loop: NestLoop, variables: list[Scalar]) -> None:
        self.nest = nest
        self.loop = loop
        self.variables = variables
        code = nest.f.code
        self.defined = {code[k].dst for k in range(loop.head, loop.end) if code[k].dst >= 0}
        self.known: set[int] = set()
        self.found = Sweeps(nest, loop, [])
        self.time = self._value(loop)
        self.values: list[list[int]] = []

    def _value(self, loop: NestLoop) -> int:
        return next((value for value, known in self.nest.indices.items() if known is loop), -1)

    def read(self) -> Sweeps | None:
        """What the loop consists of, if it can be tiled."""
        children = [loop for loop in self.nest.loops if loop.parent is self.loop]
        if len(children) > MOST_SWEEPS or not self._plain(self.loop, children) or not all(self._bounded(child) for child in children):
            return None
        found = self.found
        found.sweeps = [Sweep(number, child) for number, child in enumerate(children)]
        if not self._private():
            return None
        while len(found.sweeps[0].loops) < MOST_LEVELS and self._deeper():
            pass
        self.values = [[self._value(loop) for loop in sweep.loops] for sweep in found.sweeps]
        relations = self._relations()
        for level in range(len(found.sweeps[0].loops)):
            if not self._solve(relations, level):
                break
        if not found.slopes:
            return None
        for sweep in found.sweeps:
            del sweep.loops[len(found.slopes) :]
        self.values = [values[: len(found.slopes)] for values in self.values]
        return found if self._footprints() else None

    # --- what it consists of

    def _plain(self, loop: NestLoop, children: list[NestLoop]) -> bool:
        """Whether a loop's body has nothing but loops, computations and branches; computations that nothing in it changes are made early."""
        code = self.nest.f.code
        early: list[Instr] = []
        k = loop.head + 1
        for child in [*children, None]:
            stop = loop.end if child is None else child.head
            while k < stop:
                instr = code[k]
                if instr.op in ARMS:
                    # (All arms are taken to run.)
                    k += 1
                    continue
                if not instr.op.pure or instr.dst < 0 or self.nest.f.variable[instr.dst]:
                    return False
                if all(self._constant(a) for a in instr.args):
                    early.append(instr)
                    self.known.add(instr.dst)
                k += 1
            if child is not None:
                k = child.end + 1
        self.found.early += early
        return True

    def _constant(self, operand: int) -> bool:
        return operand < 0 or operand not in self.defined or operand in self.known

    def _bounded(self, loop: NestLoop) -> bool:
        """Whether a loop counts up by 1, between the same bounds in every step."""
        instr = self.nest.f.code[loop.head]
        return instr.op is ops.FOR and loop.step == 1 and self._constant(instr.args[0]) and self._constant(instr.args[1])

    def _deeper(self) -> bool:
        """Go on with the loops directly inside those to be tiled, where each sweep has one."""
        found = self.found
        inside: list[NestLoop] = []
        early = len(found.early)
        for sweep in found.sweeps:
            children = [loop for loop in self.nest.loops if loop.parent is sweep.loops[-1]]
            if len(children) != 1 or not self._plain(sweep.loops[-1], children) or not self._bounded(children[0]):
                del found.early[early:]
                return False
            inside.append(children[0])
        for sweep, loop in zip(found.sweeps, inside, strict=True):
            sweep.loops.append(loop)
        if not self._private():
            for sweep in found.sweeps:
                sweep.loops.pop()
            del found.early[early:]
            return False
        return True

    def _private(self) -> bool:
        """Whether every variable is written and read within single iterations of one sweep's tiled loops."""
        tiled = [loop for sweep in self.found.sweeps for loop in sweep.loops]
        for scalar in self.variables:
            if scalar.loop is self.loop:
                first, last = self.nest.mentions[scalar.variable]
                if not any(sweep.loops[-1].head < first and last < sweep.loops[-1].end for sweep in self.found.sweeps):
                    return False
            elif scalar.kind != PRIVATE and scalar.loop in tiled:
                return False
        return True

    # --- dependences

    def _relations(self) -> list[_Relation]:
        """How the iterations in which two accesses touch one element lie to each other, for all that need an order."""
        depth = self.loop.depth + 1
        numbers = {sweep.loops[0].number: sweep.number for sweep in self.found.sweeps}
        inside = [access for access in self.nest.accesses if len(access.loops) > depth and access.loops[depth].number in numbers]
        found: list[_Relation] = []
        for n, second in enumerate(inside):
            for first in inside[: n + 1]:
                if first.array == second.array and (first.store or second.store):
                    relation = _Relation(numbers[first.loops[depth].number], numbers[second.loops[depth].number])
                    if self._relate(first, second, relation):
                        found.append(relation)
        return found

    def _relate(self, first: Access, second: Access, relation: _Relation) -> bool:
        """Find out how many steps and iterations the second is after the first; False where they never touch the same element."""
        own, other = self.values[relation.first], self.values[relation.second]
        relation.apart = [None] * len(own)
        for x, y in zip(first.subscripts, second.subscripts, strict=True):
            if x is None or y is None:
                continue
            place = -2
            terms, others = dict(x.terms), dict(y.terms)
            several = False
            coefficient = 0
            for k, (a, b) in enumerate([(self.time, self.time), *zip(own, other, strict=True)]):
                p, q = terms.pop(a, 0), others.pop(b, 0)
                if p or q:
                    several = several or place != -2 or p != q
                    place, coefficient = k - 1, p
            if several or terms != others or any(self.nest.forms.depends(Form(0, {v: 1}), self.loop.head, self.loop.end) for v in terms):
                continue
            difference = x.constant - y.constant
            if place == -2:
                if difference:
                    return False
                continue
            if difference % coefficient:
                return False
            known = relation.steps if place < 0 else relation.apart[place]
            distance = difference // coefficient
            if known is not None and known != distance:
                return False
            if place < 0:
                relation.steps = distance
            else:
                relation.apart[place] = distance
        return True

    def _solve(self, relations: list[_Relation], level: int) -> bool:
        """Find the least slope of a tiled loop, and offsets; False where there is none."""
        constraints: list[tuple[int, int, int, int]] = []  # the sink's place is at least so many iterations and steps behind the source's
        for relation in relations:
            if not relation.constrain(level, constraints):
                return False
        count = len(self.found.sweeps)
        for slope in range(STEEPEST + 1):
            offsets = [0] * count
            changed = True
            rounds = 0
            while changed and rounds <= count:
                changed = False
                rounds += 1
                for source, sink, steps, apart in constraints:
                    least = offsets[source] - apart - slope * steps
                    if offsets[sink] < least:
                        offsets[sink] = least
                        changed = True
            if not changed:
                self.found.slopes.append(slope)
                for sweep, offset in zip(self.found.sweeps, offsets, strict=True):
                    sweep.offsets.append(offset)
                return True
        return False

    # --- what it keeps in caches

    def _footprints(self) -> bool:
        """Find what each iteration of the tiled loops comes to; False where most of what steps access is not accessed by other steps."""
        depth = self.loop.depth + 1
        numbers = {sweep.loops[0].number: sweep.number for sweep in self.found.sweeps}
        by_array: dict[int, list[tuple[Access, list[int]]]] = {}
        for access in self.nest.accesses:
            if len(access.loops) > depth and access.loops[depth].number in numbers:
                by_array.setdefault(access.array, []).append((access, self.values[numbers[access.loops[depth].number]]))
        shared = streamed = 0
        for number, accesses in by_array.items():
            access, values = accesses[0]
            size = self.nest.f.arrays[number].element.size
            dims: list[int] = []
            planes = 1
            tiled = False
            for dim, form in enumerate(access.subscripts):
                if form is not None and any(value in form.terms for value in values):
                    tiled = True
                elif form is not None and self.time in form.terms:
                    constants = {other.constant for one, _ in accesses for other in [one.subscripts[dim]] if other is not None}
                    # (Of ``a[2*t]`` and ``a[2*t + 1]`` no other step accesses what one does.)
                    modulus = abs(form.terms[self.time])
                    planes = max(Counter(constant % modulus for constant in constants).values())
                    planes = planes if planes > 1 else 0
                elif form is None or any(value in self.nest.indices and self.nest.indices[value].depth > self.loop.depth for value in form.terms):
                    dims.append(dim)
                elif any(self.nest.forms.depends(Form(0, {value: 1}), self.loop.head, self.loop.end) for value in form.terms):
                    planes = 2
            if tiled and planes:
                self.found.footprints.append(Footprint(number, size * planes, dims))
                shared += size
            elif tiled or not planes:
                streamed += size
        return shared > 0 and shared >= streamed


class _Relation:
    """How the iterations in which two accesses touch one element lie to each other.

    Attributes:
        first, second: the numbers of their sweeps; the first is at most as far in the text.
        steps: how many time steps the second is after the first; None where it may be any number.
        apart: per tiled loop, by how much its index is more at the second than at the first; None where it may be anything.
    """

    __slots__ = ("apart", "first", "second", "steps")

    def __init__(self, first: int, second: int) -> None:
        self.first = first
        self.second = second
        self.steps: int | None = None
        self.apart: list[int | None] = []

    def constrain(self, level: int, constraints: list[tuple[int, int, int, int]]) -> bool:
        """Enter what it demands of the places in a tiled loop, as source, sink, steps and distance between them; False if that cannot be had.

        Of any number of steps the fewest demand the most.
        """
        one = self.first == self.second
        steps = self.steps
        if one and (steps is None or steps == 0) and level and not self._within(level):
            return False
        if one and steps == 0:
            return True
        apart = self.apart[level]
        if apart is None:
            return False
        if steps is None:
            constraints.append((self.first, self.second, int(one), apart))
            constraints.append((self.second, self.first, 1, -apart))
        elif steps > 0 or (steps == 0 and not one):
            constraints.append((self.first, self.second, steps, apart))
        else:
            constraints.append((self.second, self.first, -steps, -apart))
        return True

    def _within(self, level: int) -> bool:
        """Whether within one step of one sweep no iteration depends on one further on in an inner loop that is tiled."""
        sign = 0
        for distance in self.apart[:level]:
            if distance is None:
                return self.apart[level] == 0
            sign = sign or distance
        own = self.apart[level]
        return own is not None and (own >= 0 if sign > 0 else own <= 0 if sign < 0 else True)
