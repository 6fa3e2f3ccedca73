"""Panels: what an innermost loop reads along the lanes, copied next to each other for all rows that read it.

Of a product of matrices ``c[i, j] += a[i, k] * b[k, j]`` with lanes along ``j``, each element of ``b`` is one of another row, far from the one before: in large
matrices in another page, and of extents that are powers of two all in a few sets of the cache. As long as there are several rows ``i`` to read it, a panel of ``b``, a
block's vectors wide and some hundred rows high, is copied first (K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34
(2008), section 4)::

    for i = a, b                       for k.panel = e, g, K                            (K: rows of a panel)
      for j = c, d                       for j.panels = c, d, P*W                       (P: panels beside each other, W: columns of a panel)
        t = 0                              for p, k and j of the panels: panel[p*K + k - k.panel, j] = b[k, j.panels + p*W + j]
        for k = e, g               →       for i.tiles = a, b, R                        (R: rows that read all panels while a cache holds what they read beside)
          t += a[i, k] * b[k, j]             for p = 0, P
        store t, c[i, j]                       for i of the tile, U at once
                                                 for j = 0, W
                                                   t = 0 if k.panel is the first, else c[i, j.panels + p*W + j]
                                                   for k of the panel: t += a[i, k] * rows[k - k.panel, j]
                                                   store t, c[i, j.panels + p*W + j]

There is one such nest for all sizes: where panels do not pay, which is told at run time, none is copied; ``rows`` is where ``b`` is, and one "panel" has all of the
iterations. (A nest of its own for that took as long to compile once more.) It does whole blocks of U rows and W columns; another, of U rows, does the columns that are left, and the loops as they
are do the rows that are left. Sums are added up in the same order. Where what is behind the loop over ``k`` is more than the store, there is one panel, if it is high enough.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import LOCAL_ALIGN, MOST_LOCAL, NONE, Array, Function, Instr, Loop
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.analysis.scalars import PRIVATE, Scalar
from loopwright.nests.rewriting.code import Code, own_copies
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.steps.candidates import Jam
from loopwright.nests.steps.carry import computed_by, needed
from loopwright.nests.steps.interchange import backwards
from loopwright.nests.steps.jam import jam, stop_of
from loopwright.targets.core import Core
from loopwright.types import BOOL, I64, PTR, VOID

__all__ = ["Panels", "panels"]

#: Bytes of all panels of a nest.
BYTES: Final = 48 << 10
#: So many panels are beside each other: a row of them is several lines of the cache in one page. (More are lower, so that totals go through memory more often: with four, products of f64 of 512 x 512 take
#: 1.15 to 1.25 times as long on a Cascade Lake, from whose third cache they come.)
BESIDE: Final = 2
#: About so many rows read all of them, one panel after the other.
TILE: Final = 128
#: With fewer iterations to read it, a panel does not pay.
FEWEST_ROWS: Final = 24
#: Panels with fewer rows do not pay.
LOWEST: Final = 64


class _Read:
    """An access that a panel stands for.

    Attributes:
        access: the first of the loads.
        same: the positions of all of them.
        dim: the dimension that the innermost loop runs along.
        back: it does so from its end.
        panel: number of the local array.
        view: number of what is read: a panel, or the array as it is.
        base: the address of the first of the panels beside each other, or of what they would be of.
        stride, beside: bytes from one row to the next, and from one panel to that beside it.
    """

    __slots__ = ("access", "back", "base", "beside", "dim", "panel", "same", "stride", "view")

    def __init__(self, access: Access, dim: int, back: bool) -> None:
        self.access = access
        self.dim = dim
        self.back = back
        self.same = {access.position}
        self.panel = NONE
        self.view = NONE
        self.base = NONE
        self.stride = NONE
        self.beside = NONE


class Panels:
    """A block with what it reads in panels.

    Attributes:
        nest: its nest.
        rows, across, inner: its loops, the outermost first: that whose iterations are jammed, that over lanes, the innermost.
        reads: what is read from panels.
        factor: how many rows are jammed.
        width, height: columns and rows of a panel.
        total: what goes from one panel to the next by way of an element that is stored, or NONE.
        store: position of that store.
        early, ahead: positions inside of what bounds are computed by, and the registers that have them in front of all.
        begins: what the total begins with is computed in front of the innermost loop; else it is the element.
        vectors: how many the loop over lanes does at once.
        near: bytes of the first cache.
    """

    __slots__ = (
        "across",
        "ahead",
        "begins",
        "early",
        "factor",
        "height",
        "inner",
        "near",
        "nest",
        "reads",
        "rows",
        "store",
        "total",
        "vectors",
        "width",
    )

    def __init__(self, nest: Nest, rows: NestLoop, across: NestLoop, inner: NestLoop, width: int, factor: int, vectors: int, near: int) -> None:
        self.nest = nest
        self.vectors = vectors
        self.near = near
        self.rows = rows
        self.across = across
        self.inner = inner
        self.width = width
        self.factor = factor
        self.height = 0
        self.reads: list[_Read] = []
        self.total = NONE
        self.store = NONE
        self.begins = False
        self.early: list[int] = []
        self.ahead: dict[int, int] = {}

    def text(self) -> str:
        """What it is, for the report."""
        names = ", ".join([self.nest.f.arrays[read.access.array].name for read in self.reads])
        return f"{names} read from panels of {self.height} x {self.width}, where far apart in much memory"

    def apply(self) -> list[Instr]:
        """Code for whole blocks of rows. The loops of the nest get the rows that are left."""
        f = self.nest.f
        rows = f.code[self.rows.head]
        out: list[Instr] = []
        clone(f, [f.code[at] for at in self.early], self.ahead, out)
        top, bottom = rows.args[:2]
        left, right = self._bounds(self.across)
        made = Code(f, self.rows.line, out)
        lower = stop_of(f, top, bottom, self.factor, 1, made.line, out)
        beside = stop_of(f, left, right, self.width, 1, made.line, out)
        self._blocks(made, self._pays(made), (top, lower), (left, beside))
        self._rows(made, (top, lower), _Columns(self._bounds(self.inner), (beside, right), 1))
        rows.args = [lower, bottom, rows.args[2]]
        return out

    def _bounds(self, loop: NestLoop) -> tuple[int, int]:
        """The bounds of one of the loops, in front of all."""
        low, high = self.nest.f.code[loop.head].args[:2]
        return self.ahead.get(low, low), self.ahead.get(high, high)

    def _pays(self, made: Code) -> int:
        """Whether there are enough rows, and what is read is far apart in more memory than the first cache has."""
        code = made.f.code
        low, high = self._bounds(self.inner)
        count = made.op(ops.SUB, high, low)
        first, last = code[self.rows.head].args[:2]
        pays = made.op(ops.GE, made.op(ops.SUB, last, first), made.const(FEWEST_ROWS), BOOL)
        for read in self.reads:
            stride = made.f.arrays[read.access.array].strides[read.dim]
            far = made.op(ops.GT, made.op(ops.MUL, count, stride), made.const(self.near), BOOL)
            pays = made.op(ops.AND, pays, far, BOOL, BOOL)
        if self.total == NONE:
            pays = made.op(ops.AND, pays, made.op(ops.LE, count, made.const(self.height), BOOL), BOOL, BOOL)
        return pays

    def _blocks(self, made: Code, pays: int, down: tuple[int, int], along: tuple[int, int]) -> None:
        """Whole blocks, panel by panel; where panels do not pay there is one, as high as all, which is where it is."""
        f = made.f
        name = self.nest.name
        for read in self.reads:
            array = f.arrays[read.access.array]
            panel = f.local_array(f"{array.name}.panel", array.element, (BESIDE * self.height, self.width))
            panel.written = True
            read.panel = len(f.arrays) - 1
            made.out.append(Instr(ops.LOCAL, PTR, panel.base, [made.const(read.panel)], 0, made.line))
            size = self.width * array.element.size
            stride = array.strides[read.dim]
            if read.back:
                stride = made.op(ops.SUB, made.const(0), stride)
            read.stride = made.select(pays, made.const(size), stride)
            read.beside = made.select(pays, made.const(size * self.height), made.const(size))
        low, high = self._bounds(self.inner)
        # (Without iterations of the innermost loop, too, totals are stored.)
        top = made.begin(low, made.select(pays, high, made.op(ops.ADD, low, made.const(1))), self.height, f"{name(self.inner)}.panel")
        deep = (top, made.select(pays, made.op(ops.MIN, made.op(ops.ADD, top, made.const(self.height)), high), high))
        later = made.op(ops.NE, top, low, BOOL) if self.begins else None
        begin = made.begin(along[0], along[1], self.width * BESIDE, f"{name(self.across)}.panels")
        end = made.op(ops.MIN, made.op(ops.ADD, begin, made.const(self.width * BESIDE)), along[1])
        count = made.op(ops.DIV_FLOOR, made.op(ops.SUB, end, begin), made.const(self.width))
        made.out.append(Instr(ops.IF, VOID, NONE, [pays], 0, made.line))
        number = made.begin(made.const(0), count, 1)
        for read in self.reads:
            self._copy(read, made, deep, self._column(made, begin, number), made.op(ops.MUL, number, made.const(self.height)))
        made.end()
        made.end()
        for read in self.reads:
            read.base = made.select(pays, f.arrays[read.panel].base, self._address(read, made, top, begin), PTR)
        size = TILE // self.factor * self.factor
        upper = made.begin(down[0], down[1], size, f"{name(self.rows)}.tiles")
        lower = made.op(ops.MIN, made.op(ops.ADD, upper, made.const(size)), down[1])
        number = made.begin(made.const(0), count, 1)
        for read in self.reads:
            self._view(read, made, deep, number)
        self._rows(made, (upper, lower), _Columns(deep, (made.const(0), made.const(self.width)), self.vectors, self._column(made, begin, number), later))
        for _ in range(4):
            made.end()

    def _column(self, made: Code, begin: int, number: int) -> int:
        """The column that a panel begins with, of those beside each other."""
        return made.op(ops.ADD, begin, made.op(ops.MUL, number, made.const(self.width)))

    def _load(self, read: _Read, made: Code, k: int, column: int) -> Instr:
        """The load that a panel stands for, in one iteration of the innermost loop and of that over lanes."""
        code = made.f.code
        position = read.access.position
        slices = _subscripts(made.f, self.across, self.inner, position)
        assert slices is not None
        rename = {self.inner.index: k, self.across.index: column}
        clone(made.f, [code[at] for at in slices], rename, made.out)
        load = code[position]
        return Instr(ops.LOAD, load.type, made.f.register(load.type, ""), [rename.get(a, a) for a in load.args], load.imm, made.line)

    def _copy(self, read: _Read, made: Code, deep: tuple[int, int], column: int, row: int) -> None:
        """Fill a panel."""
        k = made.begin(deep[0], deep[1], 1)
        j = made.lanes(made.const(0), made.const(self.width), 0)
        load = self._load(read, made, k, made.op(ops.ADD, column, j))
        place = [made.op(ops.ADD, row, made.op(ops.SUB, k, deep[0])), j]
        made.out += [load, Instr(ops.STORE, load.type, NONE, [load.dst, *place], read.panel, made.line)]
        made.end()
        made.end()

    def _address(self, read: _Read, made: Code, k: int, column: int) -> int:
        """The address of an element that a panel would stand for."""
        load = self._load(read, made, k, column)
        array = made.f.arrays[load.imm]
        offset = made.op(ops.MUL, load.args[-1], made.const(array.element.size))
        for subscript, stride in zip(load.args, array.strides, strict=False):
            offset = made.op(ops.ADD, offset, made.op(ops.MUL, subscript, stride))
        return made.address(array.base, offset)

    def _view(self, read: _Read, made: Code, deep: tuple[int, int], number: int) -> None:
        """What is read: a panel, or the array as it is."""
        f = made.f
        array = f.arrays[read.access.array]
        base = made.address(read.base, made.op(ops.MUL, number, read.beside))
        read.view = len(f.arrays)
        extents = [made.op(ops.SUB, deep[1], deep[0]), made.const(self.width)]
        f.arrays.append(Array(f"{array.name}.rows", array.element, base, extents, [read.stride], view=True, shared=array.shared, apart=array.apart))

    def _rows(self, made: Code, down: tuple[int, int], columns: _Columns) -> None:
        """Rows, of which several are one iteration."""
        f = made.f
        index = made.begin(down[0], down[1], self.factor, self.nest.name(self.rows))
        renames: list[dict[int, int]] = []
        for copy in range(self.factor):
            rename = own_copies(self.nest, self.rows)
            rename[self.rows.index] = made.op(ops.ADD, index, made.const(copy)) if copy else index
            renames.append(rename)
        body: list[Instr] = []
        for position in range(self.rows.head + 1, self.rows.end):
            self._step(position, columns, body)
        jam(f, body, renames, made.out, common=columns.later)
        made.end()

    def _step(self, position: int, columns: _Columns, out: list[Instr]) -> None:
        """One instruction of the loop over rows, as it is for some of its columns."""
        f = self.nest.f
        instr: Instr = f.code[position].copy()
        made = Code(f, instr.line, out)
        if position == self.across.head:
            if columns.panel == NONE:
                instr.args = [*columns.along, instr.args[2]]
                instr.loop = Loop(unroll=columns.vectors, lanes=True, rest=True)
            else:
                columns.place = made.lanes(*columns.along, columns.vectors)
                # (The loop's own index becomes that of the column.)
                instr = Instr(ops.ADD, I64, self.across.index, [columns.panel, columns.place], 0, instr.line)
        elif position == self.inner.head:
            if columns.panel != NONE and self.total != NONE:
                self._take(made, columns.later)
            instr.args = [*columns.deep, instr.args[2]]
        elif columns.panel != NONE:
            if self.total != NONE and position < self.inner.head and instr.op in (ops.LOAD, ops.STORE) and instr.imm == f.code[self.store].imm:
                # (The element has the total of the panels before until it is stored behind the innermost loop.)
                if instr.op is ops.STORE:
                    columns.stored = instr.args[0]
                    return
                if columns.stored is not None:
                    instr = Instr(ops.COPY, instr.type, instr.dst, [columns.stored], 0, instr.line)
            for read in self.reads:
                if position in read.same:
                    instr = Instr(ops.LOAD, instr.type, instr.dst, [made.op(ops.SUB, self.inner.index, columns.deep[0]), columns.place], read.view, instr.line)
        out.append(instr)

    def _take(self, made: Code, later: int | None) -> None:
        """The total, as the panel before has left it."""
        f = self.nest.f
        code = f.code
        store = code[self.store]
        slices = needed(f, self.across, self.store, set())
        assert slices is not None
        rename: dict[int, int] = {}
        clone(f, [code[at] for at in slices], rename, made.out)
        value = f.register(store.type, "")
        if later is not None:
            made.out.append(Instr(ops.IF, VOID, NONE, [later], 0, made.line))
        made.out.append(Instr(ops.LOAD, store.type, value, [rename.get(a, a) for a in store.args[1:]], store.imm, made.line))
        made.out.append(Instr(ops.COPY, store.type, self.total, [value], 0, made.line))
        if later is not None:
            made.end()


class _Columns:
    """What rows are done for.

    Attributes:
        deep: bounds of the innermost loop.
        along: bounds of the loop over lanes.
        vectors: how many it does at once.
        panel: the column that a panel begins with; NONE for columns that are in none.
        later: whether the panel is not the first of the total's; None where that makes no difference.
        place: the index of the loop over lanes within a panel.
        stored: what is stored in front of the innermost loop, to the element that has the total.
    """

    __slots__ = ("along", "deep", "later", "panel", "place", "stored", "vectors")

    def __init__(self, deep: tuple[int, int], along: tuple[int, int], vectors: int, panel: int = NONE, later: int | None = None) -> None:
        self.deep = deep
        self.along = along
        self.vectors = vectors
        self.panel = panel
        self.later = later
        self.place = NONE
        self.stored: int | None = None


def panels(nest: Nest, block: Jam, lanes: int, vectors: int, core: Core, found: list[Dependence], variables: list[Scalar]) -> Panels | None:
    """What a block may read from panels; None for nothing.

    Args:
        nest: the nest.
        block: its rows.
        lanes: of a vector.
        vectors: how many of them are its columns.
        core: the core, and its caches.
        found: the nest's dependences.
        variables: what its variables carry.
    """
    rows, inner = block.loop, block.innermost
    across = inner.parent
    if across is None or across.parent is not rows or block.slant or not core.caches:
        return None
    if rows.step != 1 or across.step != 1 or inner.step != 1 or not _alone(nest, rows, across, inner):
        return None
    if any(scalar.kind != PRIVATE for scalar in variables if scalar.loop in (rows, across)) or backwards(found, [rows, across], [across, rows]) is not None:
        return None
    made = Panels(nest, rows, across, inner, lanes * vectors, block.factor, vectors, core.caches[0])
    for access in nest.accesses:
        if inner.head < access.position < inner.end:
            dim = _dimension(nest, access, rows, across, inner)
            if dim is None:
                continue
            form = access.subscripts[dim]
            known = next((read for read in made.reads if read.access.same(access)), None)
            if known is not None:
                known.same.add(access.position)
            else:
                made.reads.append(_Read(access, dim, any(nest.indices.get(v) is inner and c < 0 for v, c in _terms(form).items())))
    width = sum([nest.f.arrays[read.access.array].element.size * made.width for read in made.reads]) * BESIDE
    early = _early(nest, rows, across, inner)
    if early is None or not made.reads or nest.f.local_bytes() + BYTES + LOCAL_ALIGN * len(made.reads) > MOST_LOCAL:
        return None
    made.early = early
    made.height = BYTES // width
    if made.height < LOWEST:
        return None
    _carried(made, variables)
    return made


def _alone(nest: Nest, rows: NestLoop, across: NestLoop, inner: NestLoop) -> bool:
    """Whether nothing but arithmetic is around the loop over lanes, and no other loop."""
    f = nest.f
    code = f.code
    if across.end + 1 != rows.end or any(other.parent in (rows, across) and other is not across and other is not inner for other in nest.loops):
        return False
    if any(not instr.op.pure or f.variable[instr.dst] for instr in code[rows.head + 1 : across.head]):
        return False
    return not any(a >= 0 and f.variable[a] for a in code[rows.head].args[:2])


def _early(nest: Nest, rows: NestLoop, across: NestLoop, inner: NestLoop) -> list[int] | None:
    """Positions in the loop over rows of what the bounds of the other two are computed by; None where that changes in it, or is more than arithmetic."""
    f = nest.f
    wanted = {a for loop in (across, inner) for a in f.code[loop.head].args[:2] if a >= 0}
    found = computed_by(f, wanted, rows.head, inner.head)
    return None if found is None or rows.index in wanted or across.index in wanted or any(a >= 0 and f.variable[a] for a in wanted) else found


def _dimension(nest: Nest, access: Access, rows: NestLoop, across: NestLoop, inner: NestLoop) -> int | None:
    """The dimension, not the last, that the innermost loop runs along, of a load that rows share and that is adjacent along the lanes; None for others."""
    f = nest.f
    if access.store or any(other.store and other.array == access.array for other in nest.accesses) or access.arms and access.arms[-1][0] > rows.head:
        return None
    found: int | None = None
    last = len(access.subscripts) - 1
    for dim, form in enumerate(access.subscripts):
        if form is None or nest.forms.depends(Form(form.constant, {v: c for v, c in form.terms.items() if v not in nest.indices}), rows.head, rows.end):
            return None
        for value, coefficient in form.terms.items():
            loop = nest.indices.get(value)
            if loop is rows or (loop is across and (dim != last or coefficient != 1)):
                return None
            if loop is inner:
                if dim == last or found is not None or abs(coefficient) != 1:
                    return None
                found = dim
    if found is None or not any(nest.indices.get(value) is across for value in _terms(access.subscripts[last])):
        return None
    slices = _subscripts(f, across, inner, access.position)
    if slices is None or any(rows.index in f.code[at].args for at in slices):
        return None
    return found


def _subscripts(f: Function, across: NestLoop, inner: NestLoop, position: int) -> list[int] | None:
    """Positions in the loop over lanes of what the subscripts of an access in the innermost loop are computed by; None where that is more than arithmetic."""
    deep = needed(f, inner, position, set())
    if deep is None:
        return None
    wanted = {a for at in [*deep, position] for a in f.code[at].args}
    found = computed_by(f, wanted, across.head, inner.head)
    return None if found is None else found + deep


def _terms(form: Form | None) -> dict[int, int]:
    return {} if form is None else form.terms


def _carried(made: Panels, variables: list[Scalar]) -> None:
    """Find how a total can go from one panel to the next: by the element that it is stored to, and that nothing else accesses."""
    nest, across, inner = made.nest, made.across, made.inner
    f = nest.f
    code = f.code
    totals = [scalar.variable for scalar in variables if scalar.loop is inner and scalar.kind != PRIVATE]
    stores = [access for access in nest.accesses if access.store and across.head < access.position < across.end]
    if len(totals) != 1 or not stores or inner.end > stores[-1].position:
        return
    total, last = totals[0], stores[-1]
    array: Array = f.arrays[last.array]
    own = [access for access in nest.accesses if access.array == last.array]
    behind = [access for access in nest.accesses if inner.end < access.position < across.end]
    if code[last.position].args[0] != total or array.element is not f.types[total] or len(behind) > 1 or not all(access.same(last) for access in own):
        return
    if any(access.array != last.array for access in stores) or any(inner.head < access.position < inner.end for access in own):
        return
    slices = needed(f, across, last.position, set())
    if slices is None or any(inner.head < at < inner.end for at in slices):
        return
    if any(f.variable[instr.dst] for instr in code[inner.end + 1 : across.end] if instr.dst >= 0):
        return
    front = code[across.head + 1 : inner.head]
    if all(access.position > inner.head for access in stores) and _loads(f, front, total, last.array):
        made.total, made.store = total, last.position
        return
    # What is in front is computed anew for each panel, but for what is stored.
    kept = [instr for instr in front if instr.op is ops.STORE]
    if kept and any(instr.op.effect == ops.CONTROL or (instr.op is ops.STORE and instr.args[0] >= 0 and f.variable[instr.args[0]]) for instr in front):
        return
    if (last.arms and last.arms[-1][0] > across.head) or all(instr.dst != total for instr in front):
        return
    made.total, made.store, made.begins = total, last.position, True


def _loads(f: Function, front: list[Instr], total: int, array: int) -> bool:
    """Whether a total begins with the element, in front of every panel."""
    loaded = {instr.dst for instr in front if instr.op is ops.LOAD and instr.imm == array}
    writes = [instr for instr in front if instr.dst == total]
    others = [instr for instr in front if instr.op is not ops.LOAD and instr.dst != total and not loaded.isdisjoint(instr.args)]
    return bool(writes) and writes[-1].op is ops.COPY and writes[-1].args[0] in loaded and not others
