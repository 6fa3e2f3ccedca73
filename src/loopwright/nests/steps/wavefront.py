"""The whole diagonals of a strip in lanes: each row is a lane, each diagonal one step.

Of ``a[i, j] = f(a[i, j-1], a[i-1, j])`` no loop is free of dependences, but the iterations on a diagonal are (L. Lamport, "The parallel execution of DO loops",
CACM 17, 1974). A step computes one vector, or several, of elements that lie a row further down and ``slant`` columns further left, lane by lane. What a row has
made is in the registers of the steps before, in the lane beside (``streams.py``). What goes to memory, and comes from there, are blocks of several steps: parts of
rows, whose lanes are transposed in registers (``Block``), or one element after the other.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Access
from loopwright.nests.analysis.operations import MOST_STEPS, constant_of, has, steps_for
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.steps.skew import Diagonals, Rows, Strip
from loopwright.nests.steps.streams import CHUNK, FIXED, MOST_ROWS, MOVED, ONE, Streams, Taken
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, PTR, UNSIGNED, VOID, Type, mask_of, vector_of
from loopwright.vectors.operations import Operations
from loopwright.vectors.squares import transposed

__all__ = ["InLanes", "widest"]


class Wavefront(Operations):
    """What is emitted for the whole diagonals of a strip.

    Attributes:
        strip: the strip.
        streams, lanes, parts, together: how its rows lie in vectors, as in ``InLanes``.
        vectors: per register of the scalar loop, its vectors.
        history: per position of a store or load whose vectors are wanted later: those of one step ago, of two, …
        past: the same, as they are in this step.
        made: the same, those of this step.
        ahead: per position of a load, of the steps that are done together: its vectors in each.
        behind: per position of a store, of these steps: what it has to store of each.
        held: per variable that rows keep: the variables with its vectors, between steps.
        fixed: per position of a load that is the same in all steps: its vectors.
        strides: per position of an access: by how many bytes the lanes' elements are apart.
        rows: the indices of rows, as far as they have been computed.
        indices: what subscripts are computed from, and nothing else.
        same: what is computed in front of the inner loop, the same for all rows -> the register that has it here.
        step: the register that counts the columns of the first row.
    """

    def __init__(self, strip: Strip, how: InLanes) -> None:
        super().__init__(strip.f, how.lanes, how.width)
        self.strip = strip
        self.streams = how.streams
        self.parts = how.parts
        self.together = how.together
        self.out = strip.out
        self.line = strip.line
        self.vectors: dict[int, list[int]] = {}
        self.history: dict[int, list[list[int]]] = {}
        self.past: dict[int, list[list[int]]] = {}
        self.made: dict[int, list[int]] = {}
        self.ahead: dict[int, list[list[int]]] = {}
        self.behind: dict[int, list[list[int]]] = {}
        self.held: dict[int, list[int]] = {}
        self.fixed: dict[int, list[int]] = {}
        self.strides: dict[int, int] = {}
        self.rows: dict[int, int] = {}
        self.same: dict[int, int] = {}
        self.indices = _indices(strip.f, strip.rows)
        self.step = NONE
        self.part = 0

    # --- operands

    def vector(self, operand: int) -> int:
        f = self.f
        if operand < 0:
            return f.const(self.full(f.const_types[~operand]), f.const_values[~operand])
        known = self.vectors.get(operand)
        if known is not None:
            return known[self.part]
        operand = self.same.get(operand, operand)
        type_ = f.types[operand]
        full = self.full(type_)
        if type_ is BOOL:
            return self.define(ops.MASK_SPLAT, full, [operand], full)
        return self.define(ops.SPLAT, full, [operand], full)

    def row(self, number: int) -> int:
        """The index of a row."""
        if number not in self.rows:
            self.rows[number] = self.strip.plus(self.strip.index, number * self.strip.rows.loop.step)
        return self.rows[number]

    def subscripts(self, access: Access, row: int, column: int) -> list[int]:
        """The subscripts of an access in an iteration."""
        f = self.f
        strip = self.strip
        rename = {f.code[strip.rows.loop.head].dst: row, f.code[strip.rows.inner.head].dst: column}
        clone(f, self.streams.subscripts(access, strip.rows.body, strip.rows.again), rename, self.out)
        return [rename.get(a, a) for a in f.code[access.position].args[int(access.store) :]]

    def stride(self, access: Access) -> int:
        """By how many bytes each lane's element is behind that of the lane before."""
        known = self.strides.get(access.position)
        if known is not None:
            return known
        array = self.f.arrays[access.array]
        distances = self.streams.distances(access)
        strip = self.strip
        total = strip.const(distances[-1] * array.element.size)
        for distance, stride in zip(distances, array.strides, strict=False):
            if distance:
                product = stride if distance == 1 else strip.number(ops.MUL, stride, strip.const(distance))
                total = product if total < 0 and self.f.const_values[~total] == 0 else strip.number(ops.ADD, product, total)
        self.strides[access.position] = total
        return total

    def element(self, access: Access, row: int, column: int) -> int:
        """Load what an access reads in one iteration."""
        type_ = self.f.code[access.position].type
        return self.define(ops.LOAD, type_, self.subscripts(access, row, column), type_, VOID, access.array)

    def column(self, number: int, step: int) -> int:
        """The column of a row at a step."""
        return self.strip.plus(step, -number * self.strip.slant)

    def strided(self, access: Access, step: int) -> list[int]:
        """Load what an access reads in all lanes."""
        type_ = self.full(self.f.code[access.position].type)
        stride = self.stride(access)
        made: list[int] = []
        for part in range(self.parts):
            first = part * self.lanes
            where = self.subscripts(access, self.row(first), self.column(first, step))
            made.append(self.define(ops.LOAD_STRIDED, type_, [stride, *where], type_, VOID, access.array))
        return made

    # --- vectors whose lanes are moved

    def moved(self, taken: Taken) -> list[int]:
        """What a load gets from registers."""
        source = self.made_of(taken.source) if not taken.steps else self.past[taken.source][taken.steps - 1]
        rows = taken.rows
        full = self.f.types[source[0]]
        if not rows:
            # (What is in a variable is another at the end of the step.)
            return [self.define(ops.COPY, full, [vector], full) for vector in source]
        count = self.parts * self.lanes
        first = count + rows if rows < 0 else 0
        edge = NONE
        for number in range(first, first + abs(rows)):
            loaded = self.element(taken.load, self.row(number), self.column(number, self.step))
            whole = self.define(ops.SPLAT, full, [loaded], full)
            edge = whole if edge == NONE else self.define(ops.SLIDE, full, [edge, whole, self.strip.const(1)], full)
        if rows < 0:
            # Its first lanes are those elements: behind one another at the end, they are moved to the front.
            if rows < -1:
                edge = self.define(ops.SLIDE, full, [edge, edge, self.strip.const(self.lanes + rows)], full)
            return [
                self.define(ops.SLIDE, full, [source[p], source[p + 1] if p + 1 < self.parts else edge, self.strip.const(-rows)], full)
                for p in range(self.parts)
            ]
        return [self.define(ops.SLIDE, full, [source[p - 1] if p else edge, source[p], self.strip.const(self.lanes - rows)], full) for p in range(self.parts)]

    def made_of(self, position: int) -> list[int]:
        """The vectors of a load in this step."""
        known = self.made.get(position)
        if known is None:
            taken = self.streams.taken[position]
            if taken.kind == ONE:
                full = self.full(self.f.code[position].type)
                known = [self.define(ops.SPLAT, full, [self.element(taken.load, self.row(0), self.step)], full)] * self.parts
            else:
                known = self.moved(taken) if taken.kind == MOVED else self.ahead[position][0] if position in self.ahead else self.strided(taken.load, self.step)
            self.made[position] = known
        return known

    # --- the diagonals

    def emit(self) -> None:
        """The whole diagonals, where there are enough of them, and where they end."""
        strip = self.strip
        wanted = self._wanted()
        steps = max([len(self.history[position]) for position in self.history], default=0)
        first = strip.plus(strip.low, strip.slant * (strip.count - 1))
        last = strip.plus(first, max(steps, 1))
        enough = self.define(ops.LE, I64, [last, strip.high], BOOL)
        strip.stop = self.define(ops.SELECT, I64, [enough, strip.high, first], I64)
        self.out.append(Instr(ops.IF, VOID, NONE, [enough], 0, self.line))
        self._begin(wanted, first)
        self._steps(self._blocks(first))
        self._keep()
        self._leave()
        self._add_up()
        strip.end()

    def _blocks(self, first: int) -> int:
        """Steps several at a time, as far as there are so many, from the first one on; the step behind them."""
        strip = self.strip
        count = self.together
        if count == 1:
            return first
        blocks = [(access, Block(self, access)) for access in self.streams.accesses if self.streams.blocks(access, count)]
        rest = strip.number(ops.ADD, first, strip.number(ops.AND, strip.number(ops.SUB, strip.high, first), strip.const(-count)))
        index = strip.begin(self.f.names[self.f.code[strip.rows.inner.head].dst], first, rest, count)
        self._take()
        for access, block in blocks:
            if access.store:
                self.behind[access.position] = []
            else:
                self.ahead[access.position] = block.load(index)
        for step in range(count):
            self._step(strip.plus(index, step))
        for access, block in blocks:
            if access.store:
                block.store(index, self.behind[access.position])
        self._leave_behind()
        strip.end()
        self.ahead.clear()
        self.behind.clear()
        return rest

    def _steps(self, first: int) -> None:
        """One step at a time, from one on."""
        strip = self.strip
        index = strip.begin(self.f.names[self.f.code[strip.rows.inner.head].dst], first, strip.high)
        self._take()
        self._step(index)
        self._leave_behind()
        strip.end()

    def _step(self, step: int) -> None:
        """What a step computes; its vectors are then those of one step ago."""
        strip = self.strip
        self.step = step
        self.made.clear()
        for number, instr in enumerate(strip.rows.body):
            self._instruction(strip.rows.inner.head + 1 + number, instr)
        for position, steps in self.past.items():
            self.past[position] = [self.made_of(position), *steps[:-1]]
        for vectors in self.ahead.values():
            del vectors[0]

    def _wanted(self) -> dict[int, list[Taken]]:
        """Per position of a store or load: the loads that take its vectors in later steps. Their histories are made."""
        wanted: dict[int, list[Taken]] = {}
        for taken in self.streams.taken.values():
            if taken.kind == MOVED and taken.steps:
                wanted.setdefault(taken.source, []).append(taken)
        for position, loads in wanted.items():
            full = self.full(self.f.code[position].type)
            most = max([taken.steps for taken in loads])
            self.history[position] = [[self.f.register(full, "", True) for _ in range(self.parts)] for _ in range(most)]
        for position in sorted(self.streams.overwritten - set(self.history)):
            # (What nobody takes later is stored at the end.)
            full = self.full(self.f.code[position].type)
            last = [self.f.register(full, "", True) for _ in range(self.parts)]
            for vector in last:
                self.out.append(Instr(ops.COPY, full, vector, [self.f.const(full, 0)], 0, self.line))
            self.history[position] = [last]
        return wanted

    def _begin(self, wanted: dict[int, list[Taken]], first: int) -> None:
        """What the first steps find in registers."""
        strip = self.strip
        self.same = strip.row(strip.const(0))
        for number in [*range(0, strip.count, self.lanes), *range(1, MOST_ROWS), *range(strip.count - MOST_ROWS, strip.count)]:
            self.row(number)
        for position, loads in wanted.items():
            for k, vectors in enumerate(self.history[position]):
                later = [taken for taken in loads if taken.steps > k]
                whole = [taken for taken in later if not taken.rows]
                self._fill(vectors, whole[:1] if whole else later, k + 1, first)
        for access_position, taken in self.streams.taken.items():
            if taken.kind == FIXED:
                self.fixed[access_position] = self.strided(taken.load, first)
        for register, array in strip.kept.items():
            type_ = vector_of(array.element, self.lanes)
            number = self.f.arrays.index(array)
            taken_in: list[int] = []
            for part in range(self.parts):
                made = self.define(ops.LOAD, type_, [strip.const(part * self.lanes)], type_, VOID, number)
                if self.f.variable[register]:
                    held = self.f.register(type_, self.f.names[register], True)
                    self.out.append(Instr(ops.COPY, type_, held, [made], 0, self.line))
                    made = held
                taken_in.append(made)
            if self.f.variable[register]:
                self.held[register] = taken_in
            else:
                self.vectors[register] = taken_in
        written = {instr.dst for instr in strip.rows.body}
        for variable, op in strip.rows.totals.items():
            if variable in written:
                self.held[variable] = [self._total(variable, op) for _ in range(self.parts)]
        for access in self.streams.accesses:
            # (Distances are computed in front of the loop.)
            self.stride(access)

    def _total(self, variable: int, op: Op) -> int:
        """A vector to add up in."""
        full = self.full(self.f.types[variable])
        held = self.f.register(full, self.f.names[variable], True)
        start = self.f.const(full, op.neutral) if op.neutral is not None else self.define(ops.SPLAT, full, [variable], full)
        self.out.append(Instr(ops.COPY, full, held, [start], 0, self.line))
        return held

    def _fill(self, vectors: list[int], loads: list[Taken], ago: int, first: int) -> None:
        """Vectors of so many steps before the first: what the loads will want of them, one lane after the other by way of memory."""
        strip = self.strip
        f = self.f
        count = self.parts * self.lanes
        full = f.types[vectors[0]]
        strip.local("before", full.element)
        number = len(f.arrays) - 1
        for part in range(self.parts):
            self.out.append(Instr(ops.STORE, full, NONE, [f.const(full, 0), strip.const(part * self.lanes)], number, self.line))
        for taken in loads:
            row = strip.begin("", strip.const(max(0, taken.rows)), strip.const(min(count, count + taken.rows)))
            step = strip.plus(first, taken.steps - ago)
            column = strip.number(ops.SUB, step, strip.number(ops.MUL, row, strip.const(strip.slant)))
            index = strip.number(ops.ADD, strip.index, strip.number(ops.MUL, row, strip.const(strip.rows.loop.step)))
            value = self.element(taken.load, index, column)
            self.out.append(Instr(ops.STORE, full.element, NONE, [value, strip.plus(row, -taken.rows)], number, self.line))
            strip.end()
        for part, vector in enumerate(vectors):
            self.out.append(Instr(ops.COPY, full, vector, [self.define(ops.LOAD, full, [strip.const(part * self.lanes)], full, VOID, number)], 0, self.line))

    def _instruction(self, position: int, instr: Instr) -> None:
        """What an instruction of the inner loop becomes."""
        op = instr.op
        self.line = instr.line
        if op is ops.LOAD:
            taken = self.streams.taken[position]
            self.vectors[instr.dst] = self.fixed[position] if taken.kind == FIXED else self.made_of(position)
        elif op is ops.STORE:
            access = next(one for one in self.streams.accesses if one.position == position)
            full = self.full(instr.type)
            stride = self.stride(access)
            values: list[int] = []
            for part in range(self.parts):
                self.part = part
                values.append(self.vector(instr.args[0]))
                if position not in self.streams.overwritten and position not in self.behind:
                    first = part * self.lanes
                    where = self.subscripts(access, self.row(first), self.column(first, self.step))
                    self.out.append(Instr(ops.STORE_STRIDED, full, NONE, [values[part], stride, *where], instr.imm, instr.line))
            self.made[access.position] = values
            if position in self.behind:
                self.behind[position].append(values)
            if position in self.streams.overwritten:
                self._last(access, values[-1])
        elif instr.dst >= 0 and instr.dst not in self.indices:
            made = []
            for part in range(self.parts):
                self.part = part
                made.append(self.compute(instr))
            self.vectors[instr.dst] = made

    def _last(self, access: Access, vector: int) -> None:
        """Store what the last row has made, which is what stays."""
        strip = self.strip
        f = self.f
        element_type = f.code[access.position].type
        if vector < 0:
            element = f.const(element_type, f.const_values[~vector])
        else:
            full = f.types[vector]
            lane = self.define(ops.SLIDE, full, [vector, vector, strip.const(self.lanes - 1)], full)
            element = self.define(ops.EXTRACT, full, [lane], element_type)
        where = self.subscripts(access, self.row(strip.count - 1), self.column(strip.count - 1, self.step))
        self.out.append(Instr(ops.STORE, element_type, NONE, [element, *where], access.array, self.line))

    def _leave(self) -> None:
        """Store what the last step has made of which only the last row's has been stored."""
        last = self.strip.plus(self.strip.high, -1)
        for access in self.streams.accesses:
            if access.position in self.streams.overwritten:
                for part, vector in enumerate(self.history[access.position][0]):
                    first = part * self.lanes
                    where = self.subscripts(access, self.row(first), self.column(first, last))
                    self.out.append(Instr(ops.STORE_STRIDED, self.f.types[vector], NONE, [vector, self.stride(access), *where], access.array, access.line))

    def _add_up(self) -> None:
        """Totals of all lanes into those of the rows."""
        for variable, op in self.strip.rows.totals.items():
            held = self.held.get(variable)
            if held is None:
                continue
            full = self.f.types[held[0]]
            total = held[0]
            for vector in held[1:]:
                total = self.define(op, full, [total, vector], full)
            assert op.reduction is not None
            whole = self.define(op.reduction, full, [total], full.element)
            self.out.append(Instr(op, full.element, variable, [variable, whole], 0, self.line))

    def _take(self) -> None:
        """What the step before has left in variables, by value; what has been made before."""
        self.past = dict(self.history)
        for register, held in self.held.items():
            full = self.f.types[held[0]]
            self.vectors[register] = [self.define(ops.COPY, full, [vector], full) for vector in held]

    def _leave_behind(self) -> None:
        """Leave in variables what the next step finds there."""
        for register, held in self.held.items():
            for part, vector in enumerate(held):
                self.out.append(Instr(ops.COPY, self.f.types[vector], vector, [self.vectors[register][part]], 0, self.line))
        for position, steps in self.history.items():
            # (The oldest first: what was in variables before moves on to others.)
            for vectors, made in zip(reversed(steps), reversed(self.past[position]), strict=True):
                for vector, value in zip(vectors, made, strict=True):
                    self.out.append(Instr(ops.COPY, self.f.types[vector], vector, [value], 0, self.line))

    def _keep(self) -> None:
        """What rows keep for the part behind the diagonals."""
        strip = self.strip
        for register, array in strip.kept.items():
            type_ = vector_of(array.element, self.lanes)
            for part in range(self.parts):
                value = self.held[register][part] if register in self.held else self.vectors[register][part]
                self.out.append(Instr(ops.STORE, type_, NONE, [value, strip.const(part * self.lanes)], self.f.arrays.index(array), self.line))


class Block:
    """An access of several steps at once: of each row so many elements beside each other, 128 bits.

    A vector holds those of every so many-th row. In each 128 bits of as many vectors as these have elements is a square of elements, which is transposed (``vectors/squares.py``).

    Attributes:
        made: what emits.
        access: the access.
        type: of its vectors.
        count: how many steps, and vectors.
        apart: by how many bytes the rows are apart whose elements are beside each other in a vector.
    """

    def __init__(self, made: Wavefront, access: Access) -> None:
        self.made = made
        self.access = access
        self.type = made.full(made.f.code[access.position].type)
        self.count = made.together
        strip = made.strip
        self.apart = strip.number(ops.MUL, made.stride(access), strip.const(self.count))

    def load(self, step: int) -> list[list[int]]:
        """From a step on: per step, the vectors of all parts."""
        made = self.made
        parts = []
        for part in range(made.parts):
            rows = []
            for number in range(self.count):
                where = self._place(part, number, step)
                args = where if self._whole() else [self.apart, *where]
                rows.append(made.define(ops.LOAD if self._whole() else ops.LOAD_ROWS, self.type, args, self.type, VOID, self.access.array))
            parts.append(self._transposed(rows))
        return [list(vectors) for vectors in zip(*parts, strict=True)]

    def store(self, step: int, values: list[list[int]]) -> None:
        """What there is of each step, and of all parts."""
        made = self.made
        for part in range(made.parts):
            for number, vector in enumerate(self._transposed([vectors[part] for vectors in values])):
                where = self._place(part, number, step)
                args = [vector, *where] if self._whole() else [vector, self.apart, *where]
                made.out.append(Instr(ops.STORE if self._whole() else ops.STORE_ROWS, self.type, NONE, args, self.access.array, self.access.line))

    def _whole(self) -> bool:
        """Whether a vector is one row's."""
        return self.type.size == CHUNK

    def _place(self, part: int, number: int, step: int) -> list[int]:
        """The subscripts of a row's first element."""
        made = self.made
        row = part * made.lanes + number
        return made.subscripts(self.access, made.row(row), made.column(row, step))

    def _transposed(self, vectors: list[int]) -> list[int]:
        made = self.made
        bits = vector_of(UNSIGNED[self.type.bits], self.type.lanes)
        cast = self.type is not bits
        if cast:
            vectors = [made.define(ops.BITCAST, bits, [vector], bits, self.type) for vector in vectors]
        vectors = transposed(made, vectors)
        if cast:
            vectors = [made.define(ops.BITCAST, self.type, [vector], self.type, bits) for vector in vectors]
        return vectors


class InLanes(Diagonals):
    """Whole diagonals in vectors of rows.

    Attributes:
        streams: where the accesses get their values from.
        lanes, parts: how many rows a vector has, and how many vectors a strip.
        width: bits of the widest element.
        together: how many steps accesses are done for at once, as far as there are so many.
    """

    def __init__(self, f: Function, streams: Streams, lanes: int, parts: int, width: int, target: Target) -> None:
        self.streams = streams
        self.lanes = lanes
        self.parts = parts
        self.width = width
        self.together = _together(f, streams, lanes, parts, target)

    @property
    def rows(self) -> int:
        """How many rows a strip has."""
        return self.lanes * self.parts

    def emit(self, strip: Strip) -> None:
        Wavefront(strip, self).emit()


def _together(f: Function, streams: Streams, lanes: int, parts: int, target: Target) -> int:
    """How many steps accesses of strips are done for at once: as many as 128 bits have elements, where registers and the machine allow; else 1."""
    # (What is wider is more of what goes to memory; accesses to narrower elements stay as they are.)
    count = CHUNK // max([f.arrays[access.array].element.size for access in streams.accesses if access.store], default=CHUNK)
    found = [access for access in streams.accesses if streams.blocks(access, count)]
    if not found:
        return 1
    types = {f.code[access.position].type for access in found}
    loads = sum([not access.store for access in found])
    room = len(target.orders[target.class_of(vector_of(f.code[found[0].position].type, lanes))]) // 2
    if count < 2 or count * parts * max(loads, len(found) - loads) > room or not streams.apart(count, lanes * parts):
        return 1
    for type_ in types:
        full = vector_of(type_, lanes)
        bits = vector_of(UNSIGNED[type_.bits], lanes)
        if full.size < CHUNK or not has(target, ops.ZIP_LOW, bits) or not has(target, ops.ZIP_HIGH, bits):
            return 1
        if full.size > CHUNK and not (has(target, ops.LOAD_ROWS_AT, full) and has(target, ops.STORE_ROWS_AT, full)):
            return 1
    return count


def widest(f: Function, rows: Rows, target: Target) -> int:
    """The bits of the widest element that a body computes with, for which vectors of rows have room; 0 where it does what lanes cannot.

    That is control flow, operations that the machine does not have for lanes, and anything but subscripts made of the loops' indices.
    """
    indices = _indices(f, rows)
    found: list[Instr] = []
    bits = max((f.types[r].bits for r in rows.kept), default=0)
    for instr in rows.body:
        op = instr.op
        access = op is ops.LOAD or op is ops.STORE
        if op.effect != ops.PURE and not access:
            return 0
        if instr.dst in indices:
            continue
        if op is not ops.LOAD and any(a in indices for a in (instr.args[:1] if access else instr.args)):
            return 0
        found.append(instr)
        if instr.type is not BOOL:
            bits = max(bits, instr.type.bits, instr.source.bits)
        elif access:
            return 0
    lanes = target.vector_bits // bits if bits else 0
    return bits if lanes > 1 and all(_has(f, target, instr, lanes, bits) for instr in found) else 0


def _indices(f: Function, rows: Rows) -> set[int]:
    """The indices of the loops, what the part in front of the inner one computes from them, and the integers that its body does, or that only subscripts are made of."""
    found = {f.code[rows.loop.head].dst, f.code[rows.inner.head].dst}
    data = _data(f, rows.body)
    for instr in [*rows.again, *rows.body]:
        integer = instr.type is I64 and instr.dst >= 0 and f.types[instr.dst] is I64 and not f.variable[instr.dst]
        if instr.op.effect == ops.PURE and (integer or instr in rows.again) and (any(a in found for a in instr.args) or (integer and instr.dst not in data)):
            found.add(instr.dst)
    return found


def _data(f: Function, body: list[Instr]) -> set[int]:
    """What a body stores, keeps or asks for, and what that is computed from; subscripts are none of it."""
    data: set[int] = set()
    for instr in reversed(body):
        if instr.op is ops.STORE:
            data.add(instr.args[0])
        elif instr.op is not ops.LOAD and (instr.dst < 0 or instr.dst in data or instr.type is not I64 or f.variable[instr.dst]):
            data.update(instr.args)
    return data


def _has(f: Function, target: Target, instr: Instr, lanes: int, width: int) -> bool:
    """Whether a machine has an operation of a body for lanes; conditions are masks of ``width`` bits."""
    op, type_, source = instr.op, instr.type, instr.source
    masks = mask_of(width, lanes)
    if type_ is PTR or source is PTR:
        return False
    if op is ops.COPY:
        return True
    if op is ops.LOAD or op is ops.STORE:
        full = vector_of(type_, lanes)
        return has(target, ops.SLIDE, full) and has(target, ops.STORE_AT, full)
    if op is ops.CONVERT and (source is BOOL or type_ is BOOL):
        other = type_ if source is BOOL else source
        return other is not BOOL and _fits(target, other, lanes, width) and has(target, ops.SELECT, vector_of(other, lanes))
    if type_ is BOOL:
        return has(target, op, masks)
    full = vector_of(type_, lanes)
    if op is ops.CONVERT or op is ops.CONVERT_SATURATED or op in ops.CASTS:
        return has(target, op, full, vector_of(source, lanes))
    if op is ops.SELECT or op in ops.COMPARING:
        return _fits(target, type_, lanes, width) and has(target, op, full)
    known = constant_of(f, instr)
    return op.operands.count("T") == len(instr.args) and has(target, op, full, VOID, known, steps_for(instr, lanes) if known is not None else MOST_STEPS)


def _fits(target: Target, element: Type, lanes: int, width: int) -> bool:
    """Whether masks for an element can be made those of conditions, and the other way round."""
    mine, theirs = mask_of(width, lanes), mask_of(element.bits, lanes)
    return mine is theirs or (has(target, ops.MASK_CONVERT, mine, theirs) and has(target, ops.MASK_CONVERT, theirs, mine))
