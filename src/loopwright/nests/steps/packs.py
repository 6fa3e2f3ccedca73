"""Elements that an iteration stores next to each other, each computed like the others, computed and stored as one vector.

::

    c[m, 0] = a[m] * b[m, 0]
    c[m, 1] = a[m] * b[m, 1]                 c[m, 0:4] = splat(a[m]) * b[m, 0:4]
    c[m, 2] = a[m] * b[m, 2]       →
    c[m, 3] = a[m] * b[m, 3]

Products of many small matrices, whose loops are unrolled as the kernel is staged, are of this kind (superword-level parallelism: S. Larsen and S. Amarasinghe,
"Exploiting superword level parallelism with multimedia instruction sets", PLDI 2000; from stores, as I. Rosen, D. Nuzman and A. Zaks, "Loop-aware SLP in GCC",
GCC Summit 2007, have it). What is computed alike is one operation on vectors; what is the same for all is spread; what is loaded is next to each other, or does not
change in the loop, as the columns of a fixed matrix or different numbers: such a *column* is put into memory of the function's own in front of the loop, as a vector.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.analysis.operations import has
from loopwright.nests.analysis.scalars import Scalar
from loopwright.nests.rewriting.unroll import clone, own_array
from loopwright.nests.steps.candidates import Change, innermost_loops
from loopwright.nests.steps.carry import FARTHEST, needed
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID, Type, vector_of

__all__ = ["Packs", "packs"]

#: A vector has so many bits at least.
LEAST_BITS: Final = 128
#: Bodies with more instructions are not looked at.
LONGEST: Final = 1200
#: A loop has so many columns at most.
MOST_COLUMNS: Final = 64
#: So many elements are rather carried in registers, one by one.
MOST_CARRIED: Final = 12


class Packs(Change):
    """Stores of a loop to be made by vectors.

    Attributes:
        groups: the stores of each vector, by their places in memory.
        columns: the vectors that are made in front of the loop, by what is in their lanes.
    """

    def __init__(self, loop: NestLoop, groups: list[list[Access]], columns: list[tuple[int, ...]]) -> None:
        super().__init__(loop)
        self.groups = groups
        self.columns = columns

    def whole(self, nest: Nest) -> bool:
        """Whether that is all that the loop stores."""
        stores = [access for access in nest.accesses if access.store and self.loop.head < access.position < self.loop.end]
        return len(stores) == sum([len(group) for group in self.groups])

    def text(self, nest: Nest) -> str:
        count = sum([len(group) for group in self.groups])
        return f"{count} elements of each iteration of {nest.name(self.loop)} in {len(self.groups)} vectors"

    def apply(self, nest: Nest, variables: list[Scalar]) -> None:
        f = nest.f
        code = f.code
        last = {max([access.position for access in group]): group for group in self.groups}
        dropped = {access.position for group in self.groups for access in group}
        out: list[Instr] = code[: self.loop.head]
        columns = _Columns(nest, self.loop, self.columns, out)
        out.append(code[self.loop.head])
        body: list[Instr] = []
        loaded: dict[tuple[int, ...], int] = {}
        for k in range(self.loop.head + 1, self.loop.end):
            if k in last:
                _Pack(nest, self.loop, last[k], None, columns).emit(body, loaded)
            elif k not in dropped:
                body.append(code[k])
        rest = code[self.loop.end :]
        f.code = out + _read(f, body, rest) + rest


def _read(f: Function, body: list[Instr], behind: list[Instr]) -> list[Instr]:
    """What of a loop's body is read in it, or behind it: the elements were computed one by one."""
    used = {a for instr in behind for a in instr.args}
    kept: list[Instr] = []
    for instr in reversed(body):
        if instr.op.effect > ops.READS or instr.dst < 0 or f.variable[instr.dst] or instr.dst in used:
            kept.append(instr)
            used.update(instr.args)
    kept.reverse()
    return kept


def packs(nest: Nest, target: Target, done: list[NestLoop]) -> list[Packs]:
    """What of the innermost loops of a nest can be done so, but for those that are ``done`` otherwise."""
    found: list[Packs] = []
    code = nest.f.code
    for loop in innermost_loops(nest):
        body = code[loop.head + 1 : loop.end]
        if len(body) > LONGEST or any(instr.op.effect == ops.CONTROL or instr.op.effect == ops.CALLS for instr in body):
            continue
        if not loop.step or any(other.head <= loop.head < other.end for other in done) or _carried(nest, loop):
            continue
        columns: dict[tuple[int, ...], None] = {}
        groups = [group for run in _runs(nest, loop) for group in _vectors(nest, target, loop, run, columns)]
        if groups:
            found.append(Packs(loop, groups, list(columns)))
    return found


def _carried(nest: Nest, loop: NestLoop) -> bool:
    """Whether a loop loads what an iteration before has stored, of so few elements that registers can hold them: then nothing waits for memory (``nests/steps/carry.py``), as vectors would."""
    stores = [access for access in nest.accesses if access.store and access.loops[-1] is loop]
    if len(stores) > MOST_CARRIED:
        return False
    return any(
        _behind(nest, loop, store, load) for load in nest.accesses if not load.store and load.loops[-1] is loop for store in stores if store.array == load.array
    )


def _behind(nest: Nest, loop: NestLoop, store: Access, load: Access) -> bool:
    """Whether a load is of what a store has written a few iterations before."""
    distance = 0
    for x, y in zip(store.subscripts, load.subscripts, strict=True):
        if x is None or y is None or x.terms != y.terms:
            return False
        step = nest.grows(x, loop) * loop.step
        apart = x.constant - y.constant
        if not step:
            if apart:
                return False
            continue
        if apart % step or (distance and apart // step != distance) or not 0 < apart // step <= FARTHEST:
            return False
        distance = apart // step
    return distance > 0


def _runs(nest: Nest, loop: NestLoop) -> list[list[Access]]:
    """The stores of a loop to elements that are next to each other, in the order of memory."""
    alike: dict[tuple[int, ...], dict[int, Access]] = {}
    for access in nest.accesses:
        if not access.store or access.loops[-1] is not loop:
            continue
        key = _row(access)
        form = access.subscripts[-1]
        if key and form is not None:
            known = alike.setdefault(key, {})
            if form.constant in known:
                # (It is written twice.)
                return []
            known[form.constant] = access
    runs: list[list[Access]] = []
    for known in alike.values():
        run: list[Access] = []
        for constant in sorted(known):
            if run and constant - 1 not in known:
                runs.append(run)
                run = []
            run.append(known[constant])
        runs.append(run)
    return runs


def _row(access: Access) -> tuple[int, ...]:
    """The same for accesses that differ by the constant of their last subscript only; () where that is not known."""
    key = [access.array]
    for number, form in enumerate(access.subscripts):
        if form is None:
            return ()
        key += [len(form.terms), 0 if number == len(access.subscripts) - 1 else form.constant]
        for value in sorted(form.terms):
            key += [value, form.terms[value]]
    return tuple(key)


def _vectors(nest: Nest, target: Target, loop: NestLoop, run: list[Access], columns: dict[tuple[int, ...], None]) -> list[list[Access]]:
    """A run of stores as vectors, as long as may be; what is left out stays as it is. ``columns`` receives what is to be made in front of the loop."""
    element = nest.f.code[run[0].position].type
    if element is BOOL:
        return []
    found: list[list[Access]] = []
    at = 0
    while at < len(run):
        lanes = target.vector_bits // element.bits
        while lanes * element.bits >= LEAST_BITS and lanes > 1:
            group = run[at : at + lanes]
            pack = _Pack(nest, loop, group, target) if len(group) == lanes else None
            if pack is not None and pack.possible() and len(columns.keys() | pack.columns.keys()) <= MOST_COLUMNS:
                found.append(group)
                columns.update(pack.columns)
                at += lanes
                break
            lanes //= 2
        else:
            at += 1
    return found


class _Columns:
    """Columns in memory of the function's own, and the code in front of a loop that puts them there.

    Attributes:
        places: per column: the array, and which of its elements is the first.
    """

    __slots__ = ("places",)

    def __init__(self, nest: Nest, loop: NestLoop, columns: list[tuple[int, ...]], out: list[Instr]) -> None:
        self.places: dict[tuple[int, ...], tuple[int, int]] = {}
        if not columns:
            return
        f = nest.f
        head = f.code[loop.head]
        counts: dict[Type, int] = {}
        for column in columns:
            element = f.type_of(column[0])
            counts[element] = counts.get(element, 0) + len(column)
        arrays = {element: own_array(f, "columns", element, count, head.line, out) for element, count in counts.items()}
        runs = f.register(BOOL, "")
        out.append(Instr(ops.LT if loop.step > 0 else ops.GT, I64, runs, head.args[:2], 0, head.line))
        out.append(Instr(ops.IF, VOID, NONE, [runs], 0, head.line))
        copies: dict[int, int] = {}
        filled = dict.fromkeys(counts, 0)
        # (Behind longer ones the shorter ones begin at multiples of their length, too.)
        for column in sorted(columns, key=len, reverse=True):
            element = f.type_of(column[0])
            at = filled[element]
            filled[element] = at + len(column)
            self.places[column] = (arrays[element], at)
            for lane, value in enumerate(column):
                place = nest.forms.places.get(value, -1) if value >= 0 else -1
                if loop.head < place < loop.end and value not in copies:
                    positions = [*(_address(nest, loop, place) or []), place]
                    clone(f, [f.code[k] for k in positions if f.code[k].dst not in copies], copies, out)
                out.append(Instr(ops.STORE, element, NONE, [copies.get(value, value), f.const(I64, at + lane)], arrays[element], head.line))
        out.append(Instr(ops.END, VOID, NONE, [], 0, head.line))


def _address(nest: Nest, loop: NestLoop, place: int) -> list[int] | None:
    """What the subscripts of a load are computed by, in the loop; None where that changes in it."""
    code = nest.f.code
    written = {instr.dst for instr in code[loop.head + 1 : loop.end] if instr.dst >= 0 and nest.f.variable[instr.dst]}
    positions = needed(nest.f, loop, place, written)
    if positions is None or any(loop.index in code[k].args for k in [*positions, place]):
        return None
    return positions


class _Pack:
    """The stores of one vector, and what they store.

    Attributes:
        columns: vectors to be made in front of the loop, by what is in their lanes.
    """

    __slots__ = ("accesses", "code", "columns", "group", "lanes", "loads", "loop", "made", "nest", "place", "seen", "target")

    def __init__(self, nest: Nest, loop: NestLoop, group: list[Access], target: Target | None, made: _Columns | None = None) -> None:
        self.nest = nest
        self.loop = loop
        self.group = group
        self.target = target
        self.code = nest.f.code
        self.lanes = len(group)
        #: Where all is done: at the last of the stores.
        self.place = max([access.position for access in group])
        self.accesses = {access.position: access for access in nest.accesses if access.loops[-1] is loop}
        self.loads: set[int] = set()
        self.seen: set[tuple[int, ...]] = set()
        self.columns: dict[tuple[int, ...], None] = {}
        self.made = made

    def possible(self) -> bool:
        """Whether they can be one vector, which accesses memory where the last of them is."""
        element = self.code[self.group[0].position].type
        stores = [access.position for access in self.group]
        if not self.has(ops.STORE_AT, element) or not self.alike(tuple([self.code[position].args[0] for position in stores]), stores):
            return False
        return all(self.movable(self.accesses[position]) for position in self.loads) and all(self.movable(access) for access in self.group)

    def has(self, op: ops.Op, element: Type, source: Type = VOID) -> bool:
        assert self.target is not None
        return has(self.target, op, vector_of(element, self.lanes), vector_of(source, self.lanes) if source is not VOID else VOID)

    def made_by(self, operand: int) -> int:
        """Where in the loop an operand is computed; -1 for nowhere."""
        at = self.nest.forms.places.get(operand, -1) if operand >= 0 else -1
        return at if self.loop.head < at < self.loop.end else -1

    def alike(self, values: tuple[int, ...], read: list[int]) -> bool:
        """Whether values, and where they are read, are, lane by lane, computed by the same operations from what can be a vector."""
        variables = [value for value in dict.fromkeys(values) if value >= 0 and self.nest.f.variable[value]]
        if variables and any(instr.dst in variables for instr in self.code[min(read) : self.place]):
            # (The vector is made later, where it is another value.)
            return False
        if values in self.seen:
            return True
        self.seen.add(values)
        places = [self.made_by(value) for value in values]
        if values.count(values[0]) == len(values):
            if places[0] in self.accesses:
                self.loads.add(places[0])
            return values[0] < 0 or self.has(ops.SPLAT, self.nest.f.types[values[0]])
        if min(places) < 0:
            return self.column(values, places)
        first = self.code[places[0]]
        instrs = [self.code[place] for place in places]
        if first.op is ops.LOAD and all(i.op is ops.LOAD for i in instrs) and self.apart(places) < 0:
            return self.column(values, places)
        if any(i.op is not first.op or i.type is not first.type or i.source is not first.source or self.nest.f.variable[i.dst] for i in instrs):
            return False
        if first.op is ops.LOAD:
            self.loads.update(places)
            return self.has(ops.LOAD_AT if self.apart(places) else ops.SPLAT, first.type)
        if not first.op.pure or first.type is BOOL or first.source is BOOL or any(i.imm != first.imm for i in instrs):
            return False
        if first.op.operands.count("T") != len(first.args) and first.op is not ops.CONVERT:
            return False
        if first.op is ops.CONVERT and first.type.bits != first.source.bits:
            return False
        if not self.has(first.op, first.type, first.source):
            return False
        return all(self.alike(tuple([i.args[n] for i in instrs]), places) for n in range(len(first.args)))

    def column(self, values: tuple[int, ...], places: list[int]) -> bool:
        """Whether values are known in front of the loop: they are constants, come from there, or are elements of arrays that the loop does not store to."""
        f = self.nest.f
        element = f.type_of(values[0])
        if element is BOOL or not self.loop.long() or not self.has(ops.LOAD_AT, element):
            return False
        stored = {access.array for access in self.accesses.values() if access.store}
        for value, place in zip(values, places, strict=True):
            if place < 0:
                if value == self.loop.index or (value >= 0 and f.variable[value] and self.varies(value)):
                    return False
            elif place not in self.accesses or self.accesses[place].array in stored or _address(self.nest, self.loop, place) is None:
                return False
        self.columns[values] = None
        return True

    def varies(self, variable: int) -> bool:
        """Whether a variable is written in the loop."""
        return any(instr.dst == variable for instr in self.code[self.loop.head : self.loop.end])

    def apart(self, places: list[int]) -> int:
        """By how much each load is further than the one before: 0 or 1 element; -1 for anything else."""
        accesses = [self.accesses[place] for place in places]
        key = _row(accesses[0])
        if not key or any(_row(access) != key for access in accesses):
            return -1
        constants = [form.constant for access in accesses for form in access.subscripts[-1:] if form is not None]
        steps = {b - a for a, b in pairwise(constants)}
        return steps.pop() if steps in ({0}, {1}) else -1

    def movable(self, access: Access) -> bool:
        """Whether an access may be made at the place of the vector: nothing between is, or may be, to its element; other stores of the vector are made with it."""
        own = {one.position for one in self.group}
        for other in self.accesses.values():
            between = access.position < other.position < self.place or (other.position == self.place and not access.store)
            if not between or other.array != access.array or not (other.store or access.store):
                continue
            if other.position in own and not access.store:
                # (It is loaded before it is stored, as it was.)
                continue
            if other.position in self.loads and access.store:
                # What is loaded with the vector is loaded before it is stored.
                if access.differs(other):
                    continue
                return False
            if not access.differs(other):
                return False
        return True

    # --- emitting

    def emit(self, out: list[Instr], loaded: dict[tuple[int, ...], int]) -> None:
        """Append what computes and stores the vector.

        Args:
            out: what it is appended to.
            loaded: the vectors that have been loaded from arrays that the loop does not store to, by the elements; receives those of this one.
        """
        first = self.code[self.group[0].position]
        own: dict[tuple[int, ...], int] = {}
        value = self.vector(tuple([self.code[access.position].args[0] for access in self.group]), out, own, loaded)
        type_ = vector_of(first.type, self.lanes)
        out.append(Instr(ops.STORE, type_, NONE, [value, *first.args[1:]], first.imm, first.line))

    def elements(self, places: list[int]) -> tuple[int, ...]:
        """Which elements a vector of loads has; () where it is none, or where the loop may store to them."""
        access = self.accesses.get(places[0])
        if access is None or access.store or any(other.store and other.array == access.array for other in self.accesses.values()):
            return ()
        form = access.subscripts[-1]
        row = _row(access)
        return (*row, form.constant, self.lanes, int(places.count(places[0]) == len(places) or self.apart(places) == 0)) if row and form is not None else ()

    def vector(self, values: tuple[int, ...], out: list[Instr], own: dict[tuple[int, ...], int], loaded: dict[tuple[int, ...], int]) -> int:
        f = self.nest.f
        known = own.get(values, NONE)
        if known != NONE:
            return known
        places = [self.made_by(value) for value in values]
        if self.made is not None and values in self.made.places:
            own[values] = self.column_of(values, places, out)
            return own[values]
        elements = self.elements(places)
        if elements and elements in loaded:
            own[values] = loaded[elements]
            return own[values]
        if values[0] < 0 and values.count(values[0]) == len(values):
            element = f.const_types[~values[0]]
            return f.const(vector_of(element, self.lanes), f.const_values[~values[0]])
        element = f.types[values[0]]
        type_ = vector_of(element, self.lanes)
        line = self.code[places[0]].line if places[0] >= 0 else self.loop.line
        result = f.register(type_, f.names[values[0]])
        first = self.code[places[0]] if places[0] >= 0 else None
        if first is None or values.count(values[0]) == len(values):
            out.append(Instr(ops.SPLAT, type_, result, [values[0]], 0, line))
        elif first.op is ops.LOAD and self.apart(places) == 0:
            out.append(Instr(ops.SPLAT, type_, result, [values[places.index(min(places))]], 0, line))
        elif first.op is ops.LOAD:
            out.append(Instr(ops.LOAD, type_, result, list(first.args), first.imm, line))
        else:
            args = [self.vector(tuple([self.code[place].args[n] for place in places]), out, own, loaded) for n in range(len(first.args))]
            source = vector_of(first.source, self.lanes) if first.source is not VOID else VOID
            out.append(Instr(first.op, type_, result, args, first.imm, line, source))
        own[values] = result
        if elements:
            loaded[elements] = result
        return result

    def column_of(self, values: tuple[int, ...], places: list[int], out: list[Instr]) -> int:
        """Load a column."""
        assert self.made is not None
        f = self.nest.f
        type_ = vector_of(f.type_of(values[0]), self.lanes)
        array, at = self.made.places[values]
        result = f.register(type_, "column")
        out.append(Instr(ops.LOAD, type_, result, [f.const(I64, at)], array, self.code[max(places)].line if max(places) >= 0 else self.loop.line))
        return result
