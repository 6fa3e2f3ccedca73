"""Columns that an innermost loop goes down again and again: copied to where their elements are next to each other, so that the loop has lanes.

::

    for j = 0, m                               for j = 0, m
      for i = 0, n                               for k = 0, n: column[k] = x[k, j]
        s = b[i, j]                              for i = 0, n
        for k = 0, i                   →           s = b[i, j]
          s = s - a[i, k] * x[k, j]                for k = 0, i
        x[i, j] = s                                  s = s - a[i, k] * column[k]
                                                   x[i, j] = s; column[i] = s

It is for loops none of whose iterations may be lanes otherwise: triangular systems whose right sides wait for each other, factors that are made column by column, products with one column of a matrix. What is stored to the
column is stored to both. An element is copied once for all iterations of the loop around (copying before computing: M. Lam, E. Rothberg and M. Wolf, "The cache performance and optimizations of blocked algorithms",
ASPLOS 1991, section 5).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import LOCAL_ALIGN, MOST_LOCAL, NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.operands import of_form
from loopwright.nests.rewriting.unroll import own_array
from loopwright.nests.steps.lanes import adjacent, free
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID

__all__ = ["run"]

#: Bytes of a column at most: a part of the first cache.
MOST_BYTES: Final = 8192
#: So many columns of a nest are copied.
MOST: Final = 2


def run(f: Function, target: Target, distinct: set[int]) -> dict[int, str]:
    """Copy the columns of a function's nests that such loops go down.

    Args:
        f: the function.
        target: the machine.
        distinct: receives the indices of outermost loops that run only where arrays do not overlap.

    Returns:
        Per index of an outermost loop: what was done in it, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits or not any(instr.op is ops.LOAD and len(instr.args) > 1 for instr in f.code):
        return done
    for nest in reversed(nests(f)):
        if nest.obstacles or len(nest.loops) < 2 or f.local_bytes() + MOST * MOST_BYTES + LOCAL_ALIGN > MOST_LOCAL:
            continue
        columns: list[_Column] = []
        for inner in nest.loops:
            _find(nest, inner, columns)
        if columns and not _in_lanes(nest, columns, target):
            made = _written(nest, columns[:MOST], target)
            if made is not None:
                f.code, told = made
                distinct.add(nest.loops[0].index)
                done[nest.loops[0].index] = told
    return done


class _Column:
    """A column that is gone down.

    Attributes:
        inner: the innermost loop that does.
        around: the outermost loop in which it is the same column, in front of which it is copied.
        place: which subscript is the row.
        loads: the accesses that read it there.
        stores: those that write to it.
    """

    __slots__ = ("around", "inner", "loads", "place", "stores")

    def __init__(self, inner: NestLoop, around: NestLoop, place: int, loads: list[Access], stores: list[Access]) -> None:
        self.inner = inner
        self.around = around
        self.place = place
        self.loads = loads
        self.stores = stores


def _find(nest: Nest, inner: NestLoop, found: list[_Column]) -> None:
    """Find the columns that a loop that holds no other goes down, and that the loop around it does not change."""
    around = inner.parent
    if around is None or inner.step != 1 or not inner.long() or not around.step or not around.long() or any(other.parent is inner for other in nest.loops):
        return
    for access in nest.accesses:
        if access.store or access.loops[-1] is not inner or len(access.subscripts) < 2 or any(access in column.loads for column in found):
            continue
        place = next((place for place, form in enumerate(access.subscripts[:-1]) if form is not None and nest.grows(form, inner) == 1), -1)
        if place < 0:
            continue
        column = _column(nest, inner, around, access, place)
        while column is not None and column.around.parent is not None and column.around.parent.step:
            more = _column(nest, inner, column.around.parent, access, place)
            if more is None:
                break
            column = more
        if column is not None:
            found.append(column)


def _column(nest: Nest, inner: NestLoop, around: NestLoop, first: Access, place: int) -> _Column | None:
    """The column of an access, if it is one, and the same, in all of a loop, and what is stored to its array there is stored to it."""
    loads: list[Access] = []
    stores: list[Access] = []
    if not _same_column(nest, around, first, first, place):
        return None
    for access in nest.accesses:
        if access.array != first.array or not around.head < access.position < around.end:
            continue
        same = _same_column(nest, around, first, access, place)
        if access.store and not same:
            if not _another(first, access, place):
                return None
        elif access.store:
            stores.append(access)
        elif same:
            loads.append(access)
    return _Column(inner, around, place, loads, stores)


def _same_column(nest: Nest, around: NestLoop, first: Access, access: Access, place: int) -> bool:
    """Whether an access is to the column of another, and its row is where the bounds of loops say."""
    for number, (x, y) in enumerate(zip(first.subscripts, access.subscripts, strict=True)):
        if x is None or y is None:
            return False
        if number != place and not (x.same(y) and _known(nest, around, y)):
            return False
    return True


def _another(first: Access, access: Access, place: int) -> bool:
    """Whether an access is to another column in any case, as that beside it is."""
    pairs = [pair for number, pair in enumerate(zip(first.subscripts, access.subscripts, strict=True)) if number != place]
    return any(x is not None and y is not None and x.terms == y.terms and x.constant != y.constant for x, y in pairs)


def _in_lanes(nest: Nest, columns: list[_Column], target: Target) -> bool:
    """Whether a loop that goes down columns is, or is in, one that has lanes as it is."""
    variables = scalars(nest)
    found = dependences(nest, too_many(nest))
    heads = {column.inner.head for column in columns}
    return any(loop.head <= head < loop.end for loop in adjacent(nest, variables, target) if free(loop, found) for head in heads)


def _written(nest: Nest, columns: list[_Column], target: Target) -> tuple[list[Instr], str] | None:
    """The function's code with copies of columns, beside the nest as it is, and what was done; None where their loops have no lanes even so."""
    f = nest.f
    original, arrays, end = f.code, len(f.arrays), nest.end + 1
    ends = [_ends(nest, column) for column in columns]
    if any(one is None for one in ends):
        return None
    fast = [instr.copy() for instr in original[nest.start : end]]
    front = Code(f, nest.loops[0].line, [])
    inserted: dict[int, list[Instr]] = {}
    runs: list[tuple[Op, int, int]] = []
    for column, one in zip(columns, ends, strict=True):
        assert one is not None
        array = f.arrays[column.loads[0].array]
        rows = MOST_BYTES // array.element.size
        extent = array.extents[column.place]
        if not nest.ahead(extent):
            del f.arrays[arrays:]
            return None
        runs.append((ops.LE, extent, f.const(I64, rows)))
        number = own_array(f, f"{array.name}.column", array.element, rows, front.line, front.out)
        inserted.setdefault(column.around.head, []).extend(_copied(nest, column, one, number))
        for access in column.loads:
            instr = fast[access.position - nest.start]
            instr.args, instr.imm = [instr.args[column.place]], number
        for access in column.stores:
            instr = fast[access.position - nest.start]
            row = instr.args[1 + column.place]
            inserted.setdefault(access.position + 1, []).append(Instr(ops.STORE, instr.type, NONE, [instr.args[0], row], number, instr.line))
    body = [each for k in range(nest.start, end) for each in (*inserted.get(k, ()), fast[k - nest.start])]
    f.code = [*original[: nest.start], *front.out, *body, *original[end:]]
    heads = {column.inner.index for column in columns}
    made = next(one for one in nests(f) if any(loop.index in heads for loop in one.loops))
    variables, found = scalars(made), dependences(made, True)
    laned = {loop.index for loop in adjacent(made, variables, target) if free(loop, found)}
    f.code = original
    if not heads <= laned:
        del f.arrays[arrays:]
        left = [column for column in columns if column.inner.index in laned]
        return _written(nest, left, target) if left else None
    asked = [(a, b, False) for a, b, _ in apart.pairs(nest)]
    plain = apart.as_written(f, original, nest.start, end)
    code = apart.versioned(f, asked, plain, [*front.out, *body], front.line, runs)
    names = ", ".join(dict.fromkeys(f.arrays[column.loads[0].array].name for column in columns))
    return [*original[: nest.start], *code, *original[end:]], f"columns of {names} copied, to be gone along"


def _ends(nest: Nest, column: _Column) -> tuple[list[Form], list[Form]] | None:
    """Forms that the first row of a column that is read is not below, and those that the last one is not above, which do not change in the loop around; None where these are not known."""
    low: list[Form] = []
    high: list[Form] = []
    for access in column.loads:
        form = access.subscripts[column.place]
        assert form is not None
        first, last = _end(nest, column.around, form, False), _end(nest, column.around, form, True)
        if first is None or last is None:
            return None
        low.append(first)
        high.append(last)
    return low, high


def _end(nest: Nest, around: NestLoop, form: Form, greatest: bool) -> Form | None:
    """What a form is at most, or at least, by the bounds of a loop and of those in it."""
    for _ in nest.loops:
        index = next((value for value in form.terms if value in nest.indices and around.head <= nest.indices[value].head < around.end), None)
        if index is None:
            break
        loop, coefficient = nest.indices[index], form.terms[index]
        up = (coefficient > 0) == greatest  # it is the index's own greatest value that is wanted
        bounds = loop.last if up == (loop.step > 0) else loop.first
        if not loop.step or not bounds:
            return None
        beyond = 0 if bounds is loop.first else -1 if loop.step > 0 else 1
        form = form.plus(bounds[0], coefficient).plus(Form(beyond, {}), coefficient).plus(Form(0, {index: 1}), -coefficient)
    return form if _known(nest, around, form) else None


def _known(nest: Nest, around: NestLoop, form: Form) -> bool:
    """Whether all that a form is made of is in registers in front of a loop, and stays as it is."""
    registers = [nest.forms.registers[value] for value in form.terms]
    return not nest.forms.depends(form, around.head, around.end) and all(r >= 0 and nest.forms.places.get(r, -1) < around.head for r in registers)


def _copied(nest: Nest, column: _Column, ends: tuple[list[Form], list[Form]], number: int) -> list[Instr]:
    """A loop that copies what is read of a column, if it is one of the array's."""
    f = nest.f
    code = Code(f, column.around.line, [])
    read = f.code[column.loads[0].position]
    array = f.arrays[read.imm]
    low, high = ends
    first, behind = of_form(nest, low[0], code.line, code.out), of_form(nest, high[0], code.line, code.out)
    for form in low[1:]:
        first = code.op(ops.MIN, first, of_form(nest, form, code.line, code.out))
    for form in high[1:]:
        behind = code.op(ops.MAX, behind, of_form(nest, form, code.line, code.out))
    first = code.op(ops.MAX, first, code.const(0))
    behind = code.op(ops.MIN, code.op(ops.ADD, behind, code.const(1)), array.extents[column.place])
    subscripts = column.loads[0].subscripts
    where = [of_form(nest, form, code.line, code.out) for place, form in enumerate(subscripts) if place != column.place and form is not None]
    inside = NONE
    for subscript, extent in zip(where, [extent for place, extent in enumerate(array.extents) if place != column.place], strict=True):
        for held in (code.op(ops.GE, subscript, code.const(0), BOOL), code.op(ops.LT, subscript, extent, BOOL)):
            inside = held if inside == NONE else code.op(ops.AND, inside, held, BOOL, BOOL)
    # (Where the loops do not run at all there need be no such column.)
    code.out.append(Instr(ops.IF, VOID, NONE, [inside], 0, code.line))
    row = code.begin(first, behind, 1, "row")
    where.insert(column.place, row)
    value = f.register(array.element, "")
    code.out.append(Instr(ops.LOAD, array.element, value, where, read.imm, code.line))
    code.out.append(Instr(ops.STORE, array.element, NONE, [value, row], number, code.line))
    code.end()
    code.end()
    return code.out
