"""Which iterations of a nest depend on which: distances where they are the same for all, directions otherwise.

Two accesses to one array, one of them a store, depend on each other where an iteration of the one touches an element that an iteration of the other
touches. The *distance vector* of a dependence says how many iterations later the second comes, in each of the loops around both, outermost first (Allen
and Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 2.2). Subscripts, bounds and extents become equations and inequalities over
integers, and the Omega test answers for which directions they have a solution: exactly, also where subscripts are coupled, loops triangular and bounds
parameters. What does not change within the nest, but is not known, may have any value.

Distances count iterations; in loops with a step other than 1 or -1 whose start depends on an outer loop, too. In loops with step 1 or -1 they are
differences of the index, in the direction in which the loop counts.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.nests.analysis.nest import FEWEST_LANES, Access, Nest, NestLoop
from loopwright.nests.analysis.omega import HIGHEST, LOWEST, System

__all__ = ["ANTI", "FLOW", "OUTPUT", "Component", "Dependence", "dependences", "forget", "questions", "too_many"]

FLOW: Final = "flow"
ANTI: Final = "anti"
OUTPUT: Final = "output"

#: What has been found for the equations of a pair: their rows and those of the inequalities, how many loops are common, whether one iteration cannot do both,
#: whether both are one, and what both share that changes in the nest; then distances, with whether the second is the later one, and whether all are told apart. Nests are asked again after each step.
_Key = tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...], int, bool, bool, tuple[tuple[int, ...], ...], tuple[int, ...]]
_known: Final[dict[_Key, tuple[list[tuple[tuple[Component, ...], bool]], bool]]] = {}

#: Directions of one pair of accesses that are told apart; with more, the inner components may be anything.
MOST_DIRECTIONS: Final = 81
#: Nests whose dependences take more questions than that are not looked at.
MOST_QUESTIONS: Final = 40
#: Pairs with so many loops in common, and no more, take about as long as others.
FEW_LOOPS: Final = 5


class Component:
    """One component of a distance vector: the least and the greatest distance, ``LOWEST`` and ``HIGHEST`` for none."""

    __slots__ = ("high", "low")

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high

    @property
    def exact(self) -> bool:
        """The distance is one number."""
        return self.low == self.high

    def reversed(self) -> Component:
        """The component of the same dependence seen from its other end."""
        return Component(-self.high if self.high != HIGHEST else LOWEST, -self.low if self.low != LOWEST else HIGHEST)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Component) and self.low == other.low and self.high == other.high

    def __hash__(self) -> int:
        return hash((self.low, self.high))

    def __repr__(self) -> str:
        if self.low == self.high:
            return str(self.low)
        if self.low == LOWEST:
            return "*" if self.high == HIGHEST else f"<={self.high}"
        return f">={self.low}" if self.high == HIGHEST else f"{self.low}..{self.high}"


class Dependence:
    """A dependence between two accesses: the sink must come after the source.

    Attributes:
        kind: FLOW (a load of what was stored), ANTI (a store where a load was) or OUTPUT (a store where a store was).
        source, sink: the accesses.
        loops: the loops around both, outermost first.
        vector: one component for each of these loops. The first that is not 0 is positive; where all are 0, both are in one iteration, the source first.
        told: the vector is what equations say; otherwise it stands for all that could not be ruled out.
    """

    __slots__ = ("kind", "loops", "sink", "source", "told", "vector")

    def __init__(self, source: Access, sink: Access, loops: list[NestLoop], vector: tuple[Component, ...], told: bool) -> None:
        self.kind = (OUTPUT if sink.store else FLOW) if source.store else ANTI
        self.source = source
        self.sink = sink
        self.loops = loops
        self.vector = vector
        self.told = told

    @property
    def level(self) -> int:
        """The place in ``loops`` of the loop that carries it; their number where none does, both being in one iteration."""
        for k, component in enumerate(self.vector):
            if component.low != 0 or component.high != 0:
                return k
        return len(self.vector)

    @property
    def exact(self) -> bool:
        """Its distance is one vector."""
        return all(component.exact for component in self.vector)

    def __repr__(self) -> str:
        return f"{self.kind} {self.source.number} -> {self.sink.number} ({', '.join(map(repr, self.vector))})"


def dependences(nest: Nest, inner: bool = False) -> list[Dependence]:
    """All dependences between the accesses of a nest, for each pair by direction: the loop that carries it, then the signs of the inner components.

    Distinct arrays are taken not to overlap. Dependences through variables are in ``nests/analysis/scalars.py``. With ``inner``, those only whose ends have the same
    innermost loop, one that may have as many iterations as vectors have lanes.
    """
    if not inner and nest.told is not None:
        return list(nest.told)
    found: list[Dependence] = []
    by_array: dict[int, list[Access]] = {}
    for access in nest.accesses:
        by_array.setdefault(access.array, []).append(access)
    for accesses in by_array.values():
        for n, second in enumerate(accesses):
            for first in accesses[: n + 1]:
                if (first.store or second.store) and (not inner or _inner(first, second)):
                    distances = _distances(nest, first, second)
                    if distances is None and inner and _beside(nest, first, second):
                        found += _uniform(first, second, [Component(LOWEST, HIGHEST)] * (len(first.loops) - 1) + [Component(0, 0)], False)
                    elif distances is None:
                        found += _Pair(nest, first, second).dependences()
                    else:
                        found += _uniform(first, second, distances, True)
    if not inner:
        nest.told = list(found)
    return found


def forget() -> None:
    """Let go of what has been found for other functions."""
    _known.clear()


def _inner(first: Access, second: Access) -> bool:
    return first.loops == second.loops and first.loops[-1].reaches(FEWEST_LANES)


def questions(nest: Nest, inner: bool = False, most: int = 0) -> int:
    """How many pairs of accesses have to be told apart by equations, which takes about half a millisecond each.

    A pair that has many loops in common counts as several: it is asked for as many directions (tiles over time steps are loops, too).

    Args:
        nest: the nest.
        inner: as in ``dependences``.
        most: it is not counted further than to more than so many; 0 for all.
    """
    count = 0
    by_array: dict[int, list[Access]] = {}
    for second in nest.accesses:
        of = by_array.setdefault(second.array, [])
        of.append(second)
        for first in of:
            if not (first.store or second.store) or (inner and not _inner(first, second)):
                continue
            if _distances(nest, first, second) is None and not (inner and _beside(nest, first, second)):
                count += 1 << max(0, len(_common(first, second)) - FEW_LOOPS)
        if most and count > most:
            break
    return count


def too_many(nest: Nest, inner: bool = False, most: int = MOST_QUESTIONS) -> bool:
    """Whether more than so many pairs of accesses have to be told apart by equations (``questions``), so that a nest is not looked at."""
    return questions(nest, inner, most) > most


def _common(first: Access, second: Access) -> list[NestLoop]:
    """The loops around both accesses."""
    return [a for a, b in zip(first.loops, second.loops, strict=False) if a is b]


# --- the usual case, without equations


def _distances(nest: Nest, first: Access, second: Access) -> list[Component] | None:
    """The distances of two accesses in the same loops, whose subscripts differ by constants; [] for none; None where it is not that simple.

    It is where each subscript has one index at most, no index is in two, and nothing but constants keeps an iteration from being there: where bounds are no
    constants, parameters make loops as long as it takes, and subscripts as great. Then two iterations at the distance are there, unless a loop is too short; in a loop that no
    subscript depends on they may be any two.
    """
    if any(_apart(nest, x, y) for x, y in zip(first.subscripts, second.subscripts, strict=True)):
        return []
    if first.loops != second.loops:
        return None
    known: dict[int, int] = {}
    never = False
    for x, y, extent in zip(first.subscripts, second.subscripts, nest.f.arrays[first.array].extents, strict=True):
        if x is None or y is None or x.terms != y.terms or extent < 0:
            return None
        apart = x.constant - y.constant
        least = min(x.constant, y.constant)
        indices = 0
        for value, coefficient in x.terms.items():
            loop = nest.indices.get(value)
            if loop is None and not nest.varies(value):
                # (The same for both.)
                least = max(least, 0)
                continue
            indices += 1
            start = _start(nest, loop) if loop is not None and coefficient > 0 else None
            if loop is None or start is None or loop.number in known or indices > 1:
                return None
            unit = coefficient * loop.step
            never = never or apart % unit != 0
            known[loop.number] = apart // unit
            least += coefficient * start
            apart = 0
        if least < 0:
            return None
        never = never or apart != 0
    found: list[Component] = []
    for loop in first.loops:
        length = _length(nest, loop)
        if length is None:
            return None
        distance = known.get(loop.number)
        if distance is None:
            never = never or length == 0
            found.append(Component(LOWEST, HIGHEST) if length == HIGHEST else Component(1 - length, length - 1))
        else:
            never = never or abs(distance) >= length
            found.append(Component(distance, distance))
    return [] if never else found


def _apart(nest: Nest, x: Form | None, y: Form | None) -> bool:
    """Whether two subscripts are different numbers wherever the loops are, as 0 and 1 are."""
    if x is None or y is None or x.constant == y.constant or x.terms != y.terms:
        return False
    return not x.terms or not any(value in nest.indices or nest.varies(value) for value in x.terms)


def _beside(nest: Nest, first: Access, second: Access) -> bool:
    """Whether two accesses in the same loops are as far along a row in any iteration of the innermost one, whatever their rows are."""
    return any(_along(nest, first.loops[-1], x, y) for x, y in zip(first.subscripts, second.subscripts, strict=True))


def _along(nest: Nest, loop: NestLoop, x: Form | None, y: Form | None) -> bool:
    """Whether two subscripts are one number in the same iteration of a loop, and in no other."""
    if x is None or y is None or x.constant != y.constant or x.terms != y.terms:
        return False
    loops = [nest.indices.get(value) for value in x.terms if value in nest.indices or nest.varies(value)]
    return len(loops) == 1 and loops[0] is loop


def _start(nest: Nest, loop: NestLoop) -> int | None:
    """The constant part of where a loop that counts up begins, where parameters can only add to it."""
    if loop.step <= 0 or len(loop.first) != 1:
        return None
    first = loop.first[0]
    for value, coefficient in first.terms.items():
        if coefficient < 0 or value in nest.indices or nest.varies(value):
            return None
    return first.constant


def _length(nest: Nest, loop: NestLoop) -> int | None:
    """How many iterations a loop has at most: ``HIGHEST`` for as many as a parameter says; None for anything else."""
    if loop.step <= 0 or len(loop.first) != 1 or len(loop.last) != 1:
        return None
    span = loop.last[0].plus(loop.first[0], -1)
    if not span.terms:
        return max(0, -(-span.constant // loop.step))
    grows = False
    for value, coefficient in span.terms.items():
        if value in nest.indices or nest.varies(value):
            return None
        grows = grows or coefficient > 0
    return HIGHEST if grows else None


def _uniform(first: Access, second: Access, distances: list[Component], told: bool) -> list[Dependence]:
    """The dependences at such distances, by the loop that carries them; none where there are none. ``told``: there are any at all of these."""
    if not distances:
        return []
    found: list[Dependence] = []
    loops = first.loops
    none = Component(0, 0)
    for k, own in enumerate(distances):
        before, behind = [none] * k, distances[k + 1 :]
        if own.high > 0:
            vector = (*before, Component(max(own.low, 1), own.high), *behind)
            found.append(Dependence(first, second, loops, vector, told))
        if own.low < 0 and first is not second:
            vector = (*before, Component(max(-own.high, 1), own.reversed().high), *[component.reversed() for component in behind])
            found.append(Dependence(second, first, loops, vector, told))
        if own.low > 0 or own.high < 0:
            return found
    if first is not second and not _exclusive(first, second):
        found.append(Dependence(first, second, loops, tuple([none] * len(loops)), told))
    return found


def _exclusive(first: Access, second: Access) -> bool:
    """Whether they are in different arms of one ``if``, so that no iteration does both."""
    return any(a[0] == b[0] and a[1] != b[1] for a, b in zip(first.arms, second.arms, strict=False))


# --- the general case


class _Pair:
    """Two accesses to one array, ``first`` at most as far in the text as ``second``."""

    __slots__ = ("common", "count", "equations", "first", "followed", "found", "inequalities", "nest", "parameters", "questions", "second", "shared", "told")

    def __init__(self, nest: Nest, first: Access, second: Access) -> None:
        self.nest = nest
        self.first = first
        self.second = second
        self.common = _common(first, second)
        # The system as it is written down: how many unknowns there are, and rows by what is in them, 0 standing for the constant.
        self.count = 0
        self.equations: list[dict[int, int]] = []
        self.inequalities: list[dict[int, int]] = []
        self.followed: list[dict[int, int]] = []
        #: The unknown of each value that does not change in the nest.
        self.parameters: dict[int, int] = {}
        self.found: list[tuple[tuple[Component, ...], bool]] = []
        #: Of each value that changes in the nest and is in both accesses: in how many common loops both have to be in one iteration for it to be the same.
        self.shared: list[int] = []
        self.questions = 0
        self.told = True

    def dependences(self) -> list[Dependence]:
        system = self._state()
        within = self.first is self.second or _exclusive(self.first, self.second)
        key = (
            tuple([tuple(row) for row in system.equations]),
            tuple([tuple(row) for row in system.inequalities]),
            len(self.common),
            within,
            self.first is self.second,
            tuple([tuple(row) for row in system.followed[len(self.common) :]]),
            tuple(self.shared),
        )
        known = _known.get(key)
        if known is not None:
            self.found, told = known
            self.told = self.told and told
        else:
            told, self.told = self.told, True
            if system.reduce():
                system = system.projected()
                if system.satisfiable():
                    self._explore(system, 0, 0)
            _known[key] = (self.found, self.told)
            self.told = self.told and told
        made: list[Dependence] = []
        ahead: list[tuple[Component, ...]] = []
        behind: list[tuple[Component, ...]] = []
        for vector, later in self.found:
            if later:
                ahead.append(vector)
            else:
                behind.append(tuple([component.reversed() for component in vector]))
        for source, sink, vectors in ((self.first, self.second, ahead), (self.second, self.first, behind)):
            made += [Dependence(source, sink, self.common, vector, self.told) for vector in _merged(vectors)]
        return made

    # --- the equations

    def _state(self) -> System:
        """Write down where both accesses touch one element, in iterations that there are. Followed: the distances in the common loops."""
        common = len(self.common)
        here = [self.unknown() for _ in self.first.loops]
        distances = [self.unknown() for _ in self.common]
        beyond = [self.unknown() for _ in self.second.loops[common:]]
        first = _Iteration(self, [[place] for place in here], self.first)
        second = _Iteration(self, [[here[k], distances[k]] for k in range(common)] + [[place] for place in beyond], self.second)
        for a, b in zip(self.first.subscripts, self.second.subscripts, strict=True):
            if a is None or b is None:
                self.told = False
            else:
                self.equations.append(_difference(first.value(a), second.value(b)))
        array = self.nest.f.arrays[self.first.array]
        for iteration, access in ((first, self.first), (second, self.second)):
            iteration.bound()
            start = self._runs(access)
            for subscript, extent in zip(access.subscripts, array.extents, strict=True):
                if subscript is None:
                    continue
                most = self.nest.forms.of(extent)
                iteration.within(subscript, most)
                if start is not None and self._offset(subscript, start):
                    # (An offset that is loaded is seen not to be negative by that.)
                    iteration.within(_at_start(self.nest, subscript, start), most)
        self.followed += [{place: 1} for place in distances]
        for value in sorted(first.opaque.keys() & second.opaque.keys()):
            self.followed.append({first.opaque[value]: 1, second.opaque[value]: -1})
            self.shared.append(self._level(value))
        if any(self.nest.varies(v) for v in self._values() if v not in self.nest.indices):
            self.told = False
        system = System(self.count)
        system.equations = [self._row(terms) for terms in self.equations]
        system.inequalities = [self._row(terms) for terms in self.inequalities]
        system.followed = [self._row(terms) for terms in self.followed]
        return system

    def unknown(self) -> int:
        """One more unknown. Returns its number."""
        self.count += 1
        return self.count

    def _row(self, terms: dict[int, int]) -> list[int]:
        row = [0] * (self.count + 1)
        for place, coefficient in terms.items():
            row[place] = coefficient
        return row

    def _level(self, value: int) -> int:
        """In how many of the common loops an iteration has to be the same for a value that changes in the nest to be."""
        form = Form(0, {value: 1})
        loops = [*self.common, *self.first.loops[len(self.common) :], *self.second.loops[len(self.common) :]]
        deepest = max([k + 1 for k, loop in enumerate(loops) if self.nest.forms.depends(form, loop.head, loop.end)], default=0)
        # (What is deeper than the common loops may differ in each iteration.)
        return deepest if deepest <= len(self.common) else len(self.common) + 1

    def _values(self) -> set[int]:
        """The values in the subscripts of both."""
        return {v for access in (self.first, self.second) for form in access.subscripts if form is not None for v in form.terms}

    def _runs(self, access: Access) -> NestLoop | None:
        """The innermost loop of an access, where its first iteration makes it as well, and so inside of the array."""
        loop = access.loops[-1]
        if len(loop.first) != 1 or any(position > loop.head for position, _ in access.arms):
            return None
        code = self.nest.f.code
        if any(code[k].op is ops.BR or code[k].op is ops.BR_IF for k in range(loop.head + 1, loop.end)):
            return None
        return loop

    def _offset(self, subscript: Form, loop: NestLoop) -> bool:
        """Whether a subscript has something in it that changes in the nest, but not with a loop."""
        nest = self.nest
        varying = [v for v in subscript.terms if v not in nest.indices and nest.varies(v)]
        return bool(varying) and not any(nest.forms.depends(Form(0, {v: 1}), loop.head, loop.end) for v in varying)

    # --- directions

    def _explore(self, system: System, k: int, sign: int) -> None:
        """Split what is possible by the sign of each distance, from the ``k``-th on; ``sign`` is that of the first that is not 0."""
        if k == len(self.common):
            self._enter(system, sign)
            return
        row = system.followed[k]
        if not any(row[1:]):
            own = 1 if row[0] > 0 else -1 if row[0] < 0 else 0
            if own == 0 and sign == 0 and self._share(system, k + 1) and not (system.reduce() and system.satisfiable()):
                return
            if not (sign == 0 and own < 0 and self.first is self.second):
                self._explore(system, k + 1, sign if sign else own)
            return
        if sign and self.questions > MOST_DIRECTIONS:
            self.told = False
            self._enter(system, sign)
            return
        for own in (0, 1, -1):
            if sign == 0 and own < 0 and self.first is self.second:
                continue
            self.questions += 1
            part = system.exactly(k, 0) if own == 0 else system.at_least(k, 1) if own > 0 else system.at_most(k, -1)
            if own == 0 and sign == 0:
                self._share(part, k + 1)
            if part.reduce() and part.satisfiable():
                self._explore(part, k + 1, sign if sign else own)

    def _share(self, system: System, same: int) -> bool:
        """Add that values are the same which are so where both are in one iteration of so many loops. Returns whether there are any."""
        found = False
        for n, level in enumerate(self.shared):
            if level == same:
                system.equations.append(list(system.followed[len(self.common) + n]))
                found = True
        return found

    def _enter(self, system: System, sign: int) -> None:
        if sign == 0 and (self.first is self.second or _exclusive(self.first, self.second)):
            return
        components: list[Component] = []
        for k in range(len(self.common)):
            row = system.followed[k]
            if any(row[1:]):
                low, high = system.bounds(k)
                components.append(Component(low, high))
            else:
                components.append(Component(row[0], row[0]))
        self.found.append((tuple(components), sign >= 0))


class _Iteration:
    """One of the two iterations: what indices and other values are in it, as rows of the system.

    Attributes:
        counters: per loop around the access, the unknowns whose sum counts it.
    """

    __slots__ = ("access", "counters", "indices", "opaque", "pair", "values")

    def __init__(self, pair: _Pair, counters: list[list[int]], access: Access) -> None:
        self.pair = pair
        self.counters = counters
        self.access = access
        self.opaque: dict[int, int] = {}
        self.indices: dict[int, dict[int, int]] = {}
        #: Forms and what they are, by ``id``: those of bounds and subscripts are asked for several times.
        self.values: dict[int, tuple[Form, dict[int, int]]] = {}

    def value(self, form: Form) -> dict[int, int]:
        """A form in this iteration. (The row is not to be changed.)"""
        before = self.values.get(id(form))
        if before is not None:
            return before[1]
        nest = self.pair.nest
        row = {0: form.constant}
        for value, coefficient in form.terms.items():
            loop = nest.indices.get(value)
            if loop is not None and loop.depth < len(self.access.loops) and self.access.loops[loop.depth] is loop:
                _add(row, self._index(loop), coefficient)
                continue
            known = self.pair.parameters if loop is None and not nest.varies(value) else self.opaque
            place = known.get(value, 0) or self._unknown(value, known)
            row[place] = row.get(place, 0) + coefficient
        self.values[id(form)] = form, row
        return row

    def _unknown(self, value: int, known: dict[int, int]) -> int:
        place = known[value] = self.pair.unknown()
        remainder = self.pair.nest.forms.remainders.get(value)
        if remainder is not None and known is self.opaque:
            self._remainder(place, *remainder)
        quotient = self.pair.nest.forms.quotients.get(value)
        if quotient is not None:
            self._quotient(place, *quotient)
        return place

    def _remainder(self, place: int, divided: Form, divisor: int) -> None:
        """The unknown is what a form leaves divided by a positive constant."""
        row = self.value(divided)
        self.pair.equations.append(_difference(row, {place: 1, self.pair.unknown(): divisor}))
        self.pair.inequalities += [{place: 1}, {0: divisor - 1, place: -1}]

    def _quotient(self, place: int, divided: Form, divisor: int) -> None:
        """The unknown is a form divided by a positive constant, rounded down."""
        left = _difference(self.value(divided), {place: divisor})
        self.pair.inequalities += [left, _difference({0: divisor - 1}, left)]

    def _counter(self, depth: int, factor: int) -> dict[int, int]:
        return {place: factor for place in self.counters[depth]}

    def _index(self, loop: NestLoop) -> dict[int, int]:
        """The index of a loop around the access. (The row is not to be changed.)"""
        known = self.indices.get(loop.number)
        if known is None:
            step = loop.step
            if step == 1 or step == -1:
                known = self._counter(loop.depth, step)
            elif step and len(loop.first) == 1:
                known = self._counter(loop.depth, step)
                _add(known, self.value(loop.first[0]), 1)
            else:
                # It is some number.
                self.pair.told = False
                known = {self.pair.unknown(): 1}
            self.indices[loop.number] = known
        return known

    def bound(self) -> None:
        """The loops around the access are in an iteration that there is."""
        inequalities = self.pair.inequalities
        for loop in self.access.loops:
            sign = 1 if loop.step > 0 else -1
            if loop.step != 1 and loop.step != -1:
                # Iterations are counted from 0.
                inequalities.append(self._counter(loop.depth, 1))
            else:
                inequalities += [_difference(self._index(loop), self.value(form), sign) for form in loop.first]
            for form in loop.last:
                row = _difference(self.value(form), self._index(loop), sign)
                row[0] = row.get(0, 0) - 1
                inequalities.append(row)

    def within(self, subscript: Form, extent: Form | None) -> None:
        """A subscript is in its array: what is outside is not accessed."""
        row = self.value(subscript)
        self.pair.inequalities.append(row)
        if extent is not None:
            above = _difference(self.value(extent), row)
            above[0] = above.get(0, 0) - 1
            self.pair.inequalities.append(above)


def _at_start(nest: Nest, form: Form, loop: NestLoop) -> Form:
    """A form in the first iteration of a loop."""
    made = Form(form.constant, {})
    for value, coefficient in form.terms.items():
        part = loop.first[0] if nest.indices.get(value) is loop else Form(0, {value: 1})
        made = made.plus(part, coefficient)
    return made


def _add(row: dict[int, int], other: dict[int, int], factor: int) -> None:
    """Add a multiple of another row to a row."""
    for place, coefficient in other.items():
        row[place] = row.get(place, 0) + factor * coefficient


def _difference(a: dict[int, int], b: dict[int, int], sign: int = 1) -> dict[int, int]:
    """The row ``a - b``, or ``b - a``."""
    row: dict[int, int] = dict(a) if sign > 0 else {place: -coefficient for place, coefficient in a.items()}
    _add(row, b, -sign)
    return row


def _merged(vectors: list[tuple[Component, ...]]) -> list[tuple[Component, ...]]:
    """The same distances in fewer vectors: two that differ in one component behind the first that is not 0, where the one's numbers follow the other's."""
    merged = list(vectors)
    again = True
    while again:
        again = False
        for n in range(len(merged)):
            for other in range(len(merged)):
                if n != other:
                    union = _union(merged[n], merged[other])
                    if union is not None:
                        merged[n] = union
                        del merged[other]
                        again = True
                        break
            if again:
                break
    return merged


def _union(a: tuple[Component, ...], b: tuple[Component, ...]) -> tuple[Component, ...] | None:
    """``b`` behind ``a``, in the only component in which they differ; None where the two are more than that or where it is the one that carries."""
    place = -1
    leading = True
    for k in range(len(a)):
        if a[k].low == b[k].low and a[k].high == b[k].high:
            if a[k].low != 0 or a[k].high != 0:
                leading = False
            continue
        if place >= 0 or leading or a[k].high == HIGHEST or a[k].high + 1 != b[k].low:
            return None
        place = k
    if place < 0:
        return None
    return (*a[:place], Component(a[place].low, b[place].high), *a[place + 1 :])
