"""Tables that are filled diagonal by diagonal, filled row by row instead.

::

    for g = 1, n                           for i = n - 2, -1, -1
      for i = 0, n - g                       for j = i + 1, n
        A(i, i + g)                →           A(i, j)
      end                                    end
    end                                    end

Tables of intervals are written by the length of the interval, and grids that wait for what is above and to the left by the sum of row and column. Each access of a diagonal is a row away from the one before; along a row
they are next to each other, and what is left of an element stays in a register. The new loops count the row and the column of what is stored (a unimodular transformation: U. Banerjee, "Unimodular transformations of double
loops", 1990), in those directions in which no element is needed before it is finished; their bounds come of Fourier and Motzkin's elimination, exact where each bound moves by one or not at all (A. Schrijver, Theory of Linear and
Integer Programming, 1986, section 12.2). Rows that begin or end where their number says are walked together in bands then (``bands.py``).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.dependence import Component, Dependence, dependences, too_many
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, bounds, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.rewriting.operands import computed, of_form, without_unread
from loopwright.nests.splitting.distribute import replaced
from loopwright.nests.steps.interchange import gaps, imperfect, scalars_refusal
from loopwright.nests.steps.jam import invariant
from loopwright.nests.steps.order import moves
from loopwright.targets.target import Target
from loopwright.types import I64

__all__ = ["run"]

#: A bound is the greatest or the least of so many numbers.
MOST: Final = 3
#: In which directions rows and columns may count, the best first.
_DIRECTIONS: Final = ((1, 1), (-1, 1), (1, -1), (-1, -1))
#: What stands for the row and the column in forms; other values are numbered from 0.
_ROW: Final = -1
_COLUMN: Final = -2


def run(f: Function, target: Target, written: set[int]) -> dict[int, str]:
    """Turn every such pair of loops of a function that is at a stage before ``addresses``.

    Args:
        f: the function.
        target: the machine.
        written: receives the indices of outermost loops that are as they were, for arrays that overlap.

    Returns:
        Per index of an outermost loop: what was done in it, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits or not _candidates(f):
        return done
    for nest in reversed(nests(f)):
        for inner in nest.loops if not nest.obstacles else []:
            table = _table(nest, inner)
            if table is not None:
                row = table.write(written)
                done[row if table.outer.depth == 0 else nest.loops[0].index] = "diagonals walked row by row"
                break
    return done


def _candidates(f: Function) -> bool:
    """Whether there is a loop whose bounds are computed in one around it; it is asked of every function."""
    made: list[set[int]] = []
    opened: list[bool] = []
    for instr in f.code:
        op = instr.op
        if op.closes and not op.opens:
            if opened.pop():
                made.pop()
        elif op.opens and not op.closes:
            loop = op is ops.FOR
            if loop and any(a in inside for inside in made for a in instr.args[:2]):
                return True
            opened.append(loop)
            if loop:
                made.append({instr.dst})
        elif made:
            made[-1].add(instr.dst)
    return False


def _table(nest: Nest, inner: NestLoop) -> _Table | None:
    """The table that a loop and the one around it fill along diagonals; None for others, or where no order of rows and columns is right."""
    outer = inner.parent
    if outer is None or abs(outer.step) != 1 or abs(inner.step) != 1 or any(other.parent is inner for other in nest.loops) or invariant(nest, inner, outer):
        return None
    accesses = [access for access in nest.accesses if access.loops[-1] is inner and len(access.subscripts) > 1]
    stores = [access for access in accesses if access.store]
    if not stores or any(moves(nest, access, inner) >= 0 for access in stores):
        return None
    if imperfect(nest, [outer, inner]) is not None or scalars_refusal(nest, [outer, inner], scalars(nest)) is not None or too_many(nest):
        return None
    table = _Table(nest, outer, inner)
    if table.of(stores[0]) and all(table.in_rows(access) for access in accesses) and table.directed(dependences(nest)) and table.bounded():
        return table
    return None


class _Table:
    """A table that two loops fill, and how its rows and columns are counted.

    Attributes:
        nest: the nest.
        outer, inner: the loops.
        row, column: by how much a row, and a column, move with each of them.
        directions: in which they count.
        rows, columns: what they are between, both included: at least the first forms, at most the second.
    """

    __slots__ = ("column", "columns", "directions", "inner", "nest", "outer", "row", "rows")

    def __init__(self, nest: Nest, outer: NestLoop, inner: NestLoop) -> None:
        self.nest = nest
        self.outer = outer
        self.inner = inner
        self.row = (0, 0)
        self.column = (0, 0)
        self.directions = (0, 0)
        self.rows: tuple[list[Form], list[Form]] = ([], [])
        self.columns: tuple[list[Form], list[Form]] = ([], [])

    def of(self, store: Access) -> bool:
        """Count the rows and columns that are stored to; False where they do not tell in which iteration that is."""
        found: list[tuple[int, int]] = []
        for form in store.subscripts:
            if form is None:
                return False
            found.append((self._moves(form, self.outer), self._moves(form, self.inner)))
        self.row, self.column = found[-2:]
        if any(abs(by) > 1 for by in (*self.row, *self.column)) or any(moved != (0, 0) for moved in found[:-2]):
            return False
        return abs(self._determinant()) == 1

    def _determinant(self) -> int:
        return self.row[0] * self.column[1] - self.row[1] * self.column[0]

    def _moves(self, form: Form, loop: NestLoop) -> int:
        index = self.nest.forms.of(loop.index)
        assert index is not None
        (value,) = index.terms
        return form.terms.get(value, 0)

    def by_table(self, form: Form) -> Form:
        """A form by row and column instead of by the indices of the loops."""
        (row, column), sign = (self.row, self.column), self._determinant()
        outer, inner = self._moves(form, self.outer), self._moves(form, self.inner)
        terms = {value: times for value, times in form.terms.items() if self.nest.indices.get(value) not in (self.outer, self.inner)}
        for value, times in ((_ROW, sign * (outer * column[1] - inner * column[0])), (_COLUMN, sign * (inner * row[0] - outer * row[1]))):
            if times:
                terms[value] = times
        return Form(form.constant, terms)

    def in_rows(self, access: Access) -> bool:
        """Whether an access goes along a row as the column is counted, or stays where it is."""
        moved: list[int] = []
        for form in access.subscripts:
            if form is None or any(
                value not in self.nest.indices and self.nest.forms.depends(Form(0, {value: 1}), self.outer.head, self.outer.end) for value in form.terms
            ):
                return False
            moved.append(self.by_table(form).terms.get(_COLUMN, 0))
        return not any(moved[:-1]) and moved[-1] in (0, 1)

    def directed(self, found: list[Dependence]) -> bool:
        """Find directions in which no dependence points backwards; False where there are none."""
        depth = self.outer.depth
        vectors: list[tuple[Component, Component]] = []
        for dependence in found:
            inside = len(dependence.vector) > depth + 1 and dependence.loops[depth] is self.outer and dependence.loops[depth + 1] is self.inner
            if inside and all(c.low <= 0 <= c.high for c in dependence.vector[:depth]):
                vectors.append((dependence.vector[depth], dependence.vector[depth + 1]))
        for directions in _DIRECTIONS:
            if all(self._forwards(vector, directions) for vector in vectors):
                self.directions = directions
                return True
        return False

    def _forwards(self, vector: tuple[Component, Component], directions: tuple[int, int]) -> bool:
        """Whether a dependence points forwards, or stays in its iteration."""
        steps = (self.outer.step, self.inner.step)
        (least, _), (first, _) = [
            _between([sign * by * step for by, step in zip(moved, steps, strict=True)], vector)
            for moved, sign in zip((self.row, self.column), directions, strict=True)
        ]
        return least > 0 or (least == 0 and first >= 0)

    def bounded(self) -> bool:
        """Find the bounds; False where those of the loops move by more than one, or are not known in front of them."""
        rows: tuple[list[Form], list[Form]] = ([], [])
        columns: tuple[list[Form], list[Form]] = ([], [])
        for loop in (self.outer, self.inner):
            ends = _ends(self.nest, loop)
            index = self.nest.forms.of(loop.index)
            if ends is None or index is None:
                return False
            for side, forms in enumerate(ends):
                for form in forms:
                    if not self._ahead(form):
                        return False
                    room = self.by_table(index.plus(form, -1) if side == 0 else form.plus(index, -1))  # not below 0
                    if abs(room.terms.get(_COLUMN, 0)) > 1 or (_COLUMN not in room.terms and abs(room.terms.get(_ROW, 0)) > 1):
                        return False
                    _bound(room, _COLUMN if _COLUMN in room.terms else _ROW, columns if _COLUMN in room.terms else rows)
        for low in columns[0]:
            for high in columns[1]:
                room = high.plus(low, -1)
                if abs(room.terms.get(_ROW, 0)) == 1:
                    _bound(room, _ROW, rows)
        self.rows = _needed(rows, ([], []))
        self.columns = _needed(columns, self.rows)
        return all(0 < len(forms) <= MOST for forms in (*self.rows, *self.columns))

    def _ahead(self, form: Form) -> bool:
        """Whether all that a bound is made of, but for the index of the outer loop, is known in front of that."""
        rest = Form(form.constant, {value: times for value, times in form.terms.items() if self.nest.indices.get(value) is not self.outer})
        forms = self.nest.forms
        return all(forms.registers[value] >= 0 for value in rest.terms) and not forms.depends(rest, self.outer.head, self.outer.end)

    def write(self, written: set[int]) -> int:
        """Put the new loops in the place of the old ones; ``written`` receives the index of the outermost of those as they were, if they have to stay for arrays that overlap. Returns the row's index."""
        nest = self.nest
        f = nest.f
        code = f.code
        head, within = code[self.outer.head], code[self.inner.head]
        out, inside = gaps(nest, [self.outer, self.inner])
        registers = {_ROW: self._counter(self.row, "row"), _COLUMN: self._counter(self.column, "column")}
        row = registers[_ROW]
        self._loop(row, self.rows, self.directions[0], {}, head, out)
        self._loop(registers[_COLUMN], self.columns, self.directions[1], {_ROW: row}, within, out)
        body: list[Instr] = []
        for loop in (self.outer, self.inner):
            index = nest.forms.of(loop.index)
            assert index is not None
            if loop.index not in registers.values():
                made = of_form(nest, self.by_table(index), code[loop.head].line, body, registers)
                body.append(Instr(ops.COPY, I64, loop.index, [made], 0, code[loop.head].line))
        body += [self._renamed(instr, registers) for instr in [*inside, *code[self.inner.head + 1 : self.inner.end]]]
        replaced(nest, self.outer, [*out, *without_unread(f, body, []), *code[self.inner.end : self.outer.end + 1]], written)
        return row

    def _counter(self, moved: tuple[int, int], name: str) -> int:
        """The register of a row or column: the index of one of the loops, where it is that."""
        f = self.nest.f
        if moved in ((1, 0), (0, 1)):
            return self.outer.index if moved[0] else self.inner.index
        named = f.names[self.outer.index]
        return f.register(I64, f"{named}.{name}" if named else "")

    def _loop(self, index: int, between: tuple[list[Form], list[Form]], step: int, registers: dict[int, int], head: Instr, out: list[Instr]) -> None:
        """Append the head of a loop, behind what its bounds are computed by."""
        f = self.nest.f
        operands: list[int] = []
        for forms, op in zip(between, (ops.MAX, ops.MIN), strict=True):
            found = of_form(self.nest, forms[0], head.line, out, registers)
            for form in forms[1:]:
                found = computed(f, op, found, of_form(self.nest, form, head.line, out, registers), head.line, out)
            operands.append(found)
        first, last = operands if step > 0 else (operands[1], operands[0])
        behind = computed(f, ops.ADD, last, f.const(I64, step), head.line, out)
        out.append(Instr(ops.FOR, head.type, index, [first, behind, f.const(I64, step)], 0, head.line))

    def _renamed(self, instr: Instr, registers: dict[int, int]) -> Instr:
        """An instruction; if it computes a row or a column, or what is a constant away from it, it does so without the indices of the old loops."""
        f = self.nest.f
        if instr.op not in (ops.ADD, ops.SUB) or instr.type is not I64 or f.variable[instr.dst]:
            return instr
        form = self.nest.forms.of(instr.dst)
        by_table = self.by_table(form) if form is not None else None
        if by_table is None or list(by_table.terms.values()) != [1]:
            return instr
        (value,) = by_table.terms
        register = registers[value] if value < 0 else self.nest.forms.registers[value]
        if register < 0:
            return instr
        if not by_table.constant:
            return Instr(ops.COPY, I64, instr.dst, [register], 0, instr.line)
        return Instr(ops.ADD, I64, instr.dst, [register, f.const(I64, by_table.constant)], 0, instr.line)


def _between(times: list[int], vector: tuple[Component, Component]) -> tuple[float, float]:
    """What multiples of two components add up to, at least and at most."""
    least = most = 0.0
    for by, component in zip(times, vector, strict=True):
        if by:
            ends = sorted((by * component.low, by * component.high))
            least += ends[0]
            most += ends[1]
    return least, most


def _ends(nest: Nest, loop: NestLoop) -> tuple[list[Form], list[Form]] | None:
    """What the index of a loop is between, both included; None where it is not known."""
    head = nest.f.code[loop.head]
    first = bounds(nest, head.args[0], loop.step > 0)
    last = [form.plus(Form(loop.step, {}), -1) for form in bounds(nest, head.args[1], loop.step < 0)]
    if not first or not last:
        return None
    return (first, last) if loop.step > 0 else (last, first)


def _bound(room: Form, value: int, between: tuple[list[Form], list[Form]]) -> None:
    """Add the bound of a value that follows from a form's being at least 0."""
    times = room.terms[value]
    rest = Form(room.constant, {other: by for other, by in room.terms.items() if other != value})
    between[times < 0].append(rest if times < 0 else Form(0, {}).plus(rest, -1))


def _needed(between: tuple[list[Form], list[Form]], rows: tuple[list[Form], list[Form]]) -> tuple[list[Form], list[Form]]:
    """Lower and upper bounds without those that follow from the others, where there is an iteration at all, in rows between some forms."""
    kept = (list(between[0]), list(between[1]))
    for side in (0, 1):
        for form in between[side]:
            others = [other for other in kept[side] if other is not form]
            ends = (others, kept[1]) if side == 0 else (kept[0], others)
            if any(_above(other.plus(form, -1) if side == 0 else form.plus(other, -1), rows, ends) for other in others):
                kept = ends
    return kept


def _above(form: Form, rows: tuple[list[Form], list[Form]], between: tuple[list[Form], list[Form]]) -> bool:
    """Whether a form is at least 0 for all rows between some forms, if there is something between some others."""
    times = form.terms.get(_ROW, 0)
    row = Form(0, {_ROW: 1})
    least = [form.plus(end.plus(row, -1), times) for end in rows[times < 0]] if times else [form]
    least += [one.plus(high.plus(low, -1), -1) for one in least for low in between[0] for high in between[1]]
    return any(not one.terms and one.constant >= 0 for one in least)
