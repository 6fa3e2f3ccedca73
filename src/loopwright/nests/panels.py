"""Panels: what an innermost loop reads along the lanes, copied next to each other for all rows that read it.

Of a product of matrices ``c[i, j] += a[i, k] * b[k, j]`` with lanes along ``j``, each element of ``b`` is one of another row, far from the one before: in large
matrices in another page, and of extents that are powers of two all in a few sets of the cache. As long as there are several rows ``i`` to read it, a panel of ``b``, a
block's vectors wide and some hundred rows high, is copied first (K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34
(2008), section 4)::

    for i = a, b                       for i, j of whole blocks: store 0, c[i, j]
      for j = c, d                     for k.panel = e, g, K                          (K: rows of a panel)
        t = 0                            for j.panels = c, d, P*W                     (P: panels beside each other, W: columns of a panel)
        for k = e, g               →       for p, k and j of the panels: panel[p*K + k - k.panel, j] = b[k, j.panels + p*W + j]
          t += a[i, k] * b[k, j]           for i.tiles = a, b, R                      (R: rows that read all panels while a cache holds what they read beside)
        store t, c[i, j]                     for p = 0, P
                                               for i of the tile, U at once
                                                 for j = 0, W
                                                   t = c[i, j.panels + p*W + j]
                                                   for k of the panel: t += a[i, k] * panel[p*K + k - k.panel, j]
                                                   store t, c[i, j.panels + p*W + j]

That is done for blocks of U rows and W columns. The loops as they are do what is left: columns behind the last whole block, then rows below; and everything where it does
not pay, which is told at run time. Sums are added up in the same order. Where what is behind the loop over ``k`` is more than the store, there is one panel, if it is high
enough.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import LOCAL_ALIGN, MOST_LOCAL, NONE, Array, Function, Instr, Loop
from loopwright.ir.ops import Op
from loopwright.nests.candidates import Jam
from loopwright.nests.carry import needed
from loopwright.nests.dependence import Dependence
from loopwright.nests.interchange import backwards
from loopwright.nests.jam import jam, stop_of
from loopwright.nests.nest import Access, Nest, NestLoop
from loopwright.nests.scalars import PRIVATE, Scalar
from loopwright.nests.unroll import clone
from loopwright.targets.core import Core
from loopwright.types import BOOL, I64, PTR, VOID, Type

__all__ = ["Panels", "panels"]

#: Bytes of all panels of a nest.
BYTES: Final = 48 << 10
#: So many panels are beside each other: a row of them is several lines of the cache in one page.
BESIDE: Final = 4
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
        panel: number of the local array.
    """

    __slots__ = ("access", "dim", "panel", "same")

    def __init__(self, access: Access, dim: int) -> None:
        self.access = access
        self.dim = dim
        self.same = {access.position}
        self.panel = NONE


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
        first: positions in front of the innermost loop of what is done once, not for each panel.
        vectors: how many the loop over lanes does at once.
        near: bytes of the first cache.
        place: in the loops that are made, the index of the loop over lanes within a panel.
    """

    __slots__ = (
        "across",
        "ahead",
        "early",
        "factor",
        "first",
        "height",
        "inner",
        "near",
        "nest",
        "place",
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
        self.place = NONE
        self.rows = rows
        self.across = across
        self.inner = inner
        self.width = width
        self.factor = factor
        self.height = 0
        self.reads: list[_Read] = []
        self.total = NONE
        self.store = NONE
        self.first: list[int] = []
        self.early: list[int] = []
        self.ahead: dict[int, int] = {}

    def text(self) -> str:
        """What it is, for the report."""
        names = ", ".join([self.nest.f.arrays[read.access.array].name for read in self.reads])
        return f"{names} read from panels of {self.height} x {self.width}, where far apart in much memory"

    def apply(self) -> list[Instr]:
        """Code for whole blocks, where panels pay, and the head of a loop over what is left, whose bounds the loops of the nest get."""
        f = self.nest.f
        rows, across = f.code[self.rows.head], f.code[self.across.head]
        out: list[Instr] = []
        clone(f, [f.code[at] for at in self.early], self.ahead, out)
        top, bottom = rows.args[:2]
        left, right = self._bounds(self.across)
        made = _Code(f, self.rows.line, out)
        lower, beside, parts = made.variable(top), made.variable(left), made.variable(made.const(1))
        out.append(Instr(ops.IF, VOID, NONE, [self._pays(made)], 0, made.line))
        made.set(lower, stop_of(f, top, bottom, self.factor, 1, made.line, out))
        made.set(beside, stop_of(f, left, right, self.width, 1, made.line, out))
        made.set(parts, made.const(2))
        if self.first:
            self._begin(made, (top, lower), (left, beside))
        self._blocks(made, (top, lower), (left, beside))
        made.end()
        part = made.begin(made.const(0), parts, 1)
        behind = made.op(ops.EQ, part, made.const(0), BOOL)
        bounds = [made.select(behind, a, b) for a, b in ((top, lower), (beside, left), (right, beside))]
        rows.args = [bounds[0], bottom, rows.args[2]]
        across.args = [bounds[1], bounds[2], across.args[2]]
        return out

    def _bounds(self, loop: NestLoop) -> tuple[int, int]:
        """The bounds of one of the loops, in front of all."""
        low, high = self.nest.f.code[loop.head].args[:2]
        return self.ahead.get(low, low), self.ahead.get(high, high)

    def _pays(self, made: _Code) -> int:
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

    def _private(self) -> dict[int, int]:
        """Variables of their own for a copy of what is in the loop over rows."""
        f = self.nest.f
        inside = [variable for variable, (start, stop) in self.nest.mentions.items() if self.rows.head < start and stop < self.rows.end]
        return {variable: f.register(f.types[variable], f.names[variable], True) for variable in inside}

    def _begin(self, made: _Code, down: tuple[int, int], along: tuple[int, int]) -> None:
        """What is done once: totals as they begin, stored."""
        code = made.f.code
        rename = self._private()
        rename[self.rows.index] = made.begin(down[0], down[1], 1)
        clone(made.f, code[self.rows.head + 1 : self.across.head], rename, made.out)
        rename[self.across.index] = made.lanes(along[0], along[1], 0)
        clone(made.f, code[self.across.head + 1 : self.inner.head], rename, made.out)
        slices = needed(made.f, self.across, self.store, set())
        assert slices is not None
        clone(made.f, [code[at] for at in [*slices, self.store]], rename, made.out)
        made.end()
        made.end()

    def _blocks(self, made: _Code, down: tuple[int, int], along: tuple[int, int]) -> None:
        """Whole blocks, panel by panel."""
        f = made.f
        name = self.nest.name
        for read in self.reads:
            array = f.arrays[read.access.array]
            panel = f.local_array(f"{array.name}.panel", array.element, (BESIDE * self.height, self.width))
            panel.written = True
            read.panel = len(f.arrays) - 1
            made.out.append(Instr(ops.LOCAL, PTR, panel.base, [made.const(read.panel)], 0, made.line))
        low, high = self._bounds(self.inner)
        top = made.begin(low, high, self.height, f"{name(self.inner)}.panel")
        deep = (top, made.op(ops.MIN, made.op(ops.ADD, top, made.const(self.height)), high))
        begin = made.begin(along[0], along[1], self.width * BESIDE, f"{name(self.across)}.panels")
        end = made.op(ops.MIN, made.op(ops.ADD, begin, made.const(self.width * BESIDE)), along[1])
        count = made.op(ops.DIV_FLOOR, made.op(ops.SUB, end, begin), made.const(self.width))
        row, column = self._panel(made, count, begin)
        for read in self.reads:
            self._copy(read, made, deep, column, row)
        made.end()
        size = TILE // self.factor * self.factor
        upper = made.begin(down[0], down[1], size, f"{name(self.rows)}.tiles")
        lower = made.op(ops.MIN, made.op(ops.ADD, upper, made.const(size)), down[1])
        row, column = self._panel(made, count, begin)
        self._rows(made, (upper, lower), deep, column, row)
        for _ in range(4):
            made.end()

    def _panel(self, made: _Code, count: int, begin: int) -> tuple[int, int]:
        """A loop over panels beside each other: in which row of the local array the panel begins, and the column that it begins with."""
        number = made.begin(made.const(0), count, 1)
        return made.op(ops.MUL, number, made.const(self.height)), made.op(ops.ADD, begin, made.op(ops.MUL, number, made.const(self.width)))

    def _copy(self, read: _Read, made: _Code, deep: tuple[int, int], column: int, row: int) -> None:
        """Fill a panel."""
        code = made.f.code
        position = read.access.position
        slices = _subscripts(made.f, self.across, self.inner, position)
        assert slices is not None
        k = made.begin(deep[0], deep[1], 1)
        j = made.lanes(made.const(0), made.const(self.width), 0)
        rename = {self.inner.index: k, self.across.index: made.op(ops.ADD, column, j)}
        clone(made.f, [code[at] for at in slices], rename, made.out)
        load = code[position]
        value = made.f.register(load.type, "")
        made.out.append(Instr(ops.LOAD, load.type, value, [rename.get(a, a) for a in load.args], load.imm, made.line))
        place = [made.op(ops.ADD, row, made.op(ops.SUB, k, deep[0])), j]
        made.out.append(Instr(ops.STORE, load.type, NONE, [value, *place], read.panel, made.line))
        made.end()
        made.end()

    def _rows(self, made: _Code, down: tuple[int, int], deep: tuple[int, int], column: int, row: int) -> None:
        """The rows of a tile, of which several are one iteration."""
        f = made.f
        index = made.begin(down[0], down[1], self.factor, self.nest.name(self.rows))
        renames: list[dict[int, int]] = []
        for copy in range(self.factor):
            rename = self._private()
            rename[self.rows.index] = made.op(ops.ADD, index, made.const(copy)) if copy else index
            renames.append(rename)
        body: list[Instr] = []
        for position in range(self.rows.head + 1, self.rows.end):
            self._step(position, deep, column, row, body)
        jam(f, body, renames, made.out)
        made.end()

    def _step(self, position: int, deep: tuple[int, int], column: int, row: int, out: list[Instr]) -> None:
        """One instruction of the loop over rows, as it is where panels are read."""
        f = self.nest.f
        instr: Instr = f.code[position]
        made = _Code(f, instr.line, out)
        if position in self.first:
            return
        if position == self.across.head:
            j = made.lanes(made.const(0), made.const(self.width), self.vectors)
            # (The loop's own index becomes that of the column.)
            out.append(Instr(ops.ADD, I64, self.across.index, [column, j], 0, instr.line))
            self.place = j
            return
        if position == self.inner.head:
            if self.first:
                self._take(made)
            instr = instr.copy()
            instr.args = [deep[0], deep[1], instr.args[2]]
        for read in self.reads:
            if position in read.same:
                place = [made.op(ops.ADD, row, made.op(ops.SUB, self.inner.index, deep[0])), self.place]
                instr = Instr(ops.LOAD, instr.type, instr.dst, place, read.panel, instr.line)
        out.append(instr)

    def _take(self, made: _Code) -> None:
        """The total, as the panel before has left it."""
        f = self.nest.f
        code = f.code
        store = code[self.store]
        slices = needed(f, self.across, self.store, set())
        assert slices is not None
        rename: dict[int, int] = {}
        clone(f, [code[at] for at in slices], rename, made.out)
        value = f.register(store.type, "")
        made.out.append(Instr(ops.LOAD, store.type, value, [rename.get(a, a) for a in store.args[1:]], store.imm, made.line))
        made.out.append(Instr(ops.COPY, store.type, self.total, [value], 0, made.line))


class _Code:
    """Instructions that are made one after the other."""

    __slots__ = ("f", "line", "out")

    def __init__(self, f: Function, line: int, out: list[Instr]) -> None:
        self.f = f
        self.line = line
        self.out = out

    def const(self, number: int) -> int:
        return self.f.const(I64, number)

    def op(self, op: Op, a: int, b: int, result: Type = I64, of: Type = I64) -> int:
        made = self.f.register(result, "")
        self.out.append(Instr(op, of, made, [a, b], 0, self.line))
        return made

    def begin(self, low: int, high: int, step: int, name: str = "") -> int:
        made = self.f.register(I64, name)
        self.out.append(Instr(ops.FOR, VOID, made, [low, high, self.const(step)], 0, self.line))
        return made

    def lanes(self, low: int, high: int, vectors: int) -> int:
        made = self.f.register(I64, "")
        self.out.append(Instr(ops.FOR, VOID, made, [low, high, self.const(1)], 0, self.line, loop=Loop(unroll=vectors, lanes=True)))
        return made

    def end(self) -> None:
        self.out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))

    def variable(self, value: int) -> int:
        made = self.f.register(I64, "", True)
        self.set(made, value)
        return made

    def set(self, variable: int, value: int) -> None:
        self.out.append(Instr(ops.COPY, I64, variable, [value], 0, self.line))

    def select(self, condition: int, a: int, b: int) -> int:
        made = self.f.register(I64, "")
        self.out.append(Instr(ops.SELECT, I64, made, [condition, a, b], 0, self.line))
        return made


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
            load = nest.f.code[access.position]
            known = next((read for read in made.reads if nest.f.code[read.access.position].imm == load.imm and _same(read.access, access)), None)
            if known is not None:
                known.same.add(access.position)
            else:
                made.reads.append(_Read(access, dim))
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
    found = _computed(f, wanted, rows.head, inner.head)
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
    found = _computed(f, wanted, across.head, inner.head)
    return None if found is None else found + deep


def _computed(f: Function, wanted: set[int], start: int, end: int) -> list[int] | None:
    """Positions between two others of what registers are computed by, which become what is wanted too; None where that is more than arithmetic."""
    found: list[int] = []
    for at in range(end - 1, start, -1):
        instr = f.code[at]
        if instr.dst >= 0 and instr.dst in wanted:
            if not instr.op.pure or f.variable[instr.dst]:
                return None
            found.append(at)
            wanted.update(instr.args)
    found.reverse()
    return found


def _terms(form: Form | None) -> dict[int, int]:
    return {} if form is None else form.terms


def _same(a: Access, b: Access) -> bool:
    return all(x is not None and y is not None and x.terms == y.terms and x.constant == y.constant for x, y in zip(a.subscripts, b.subscripts, strict=True))


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
    if code[last.position].args[0] != total or array.element is not f.types[total] or len(behind) > 1 or not all(_same(access, last) for access in own):
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
    # What is done for the first panel only is not used in the others.
    hidden: set[int] = set()
    first: list[int] = []
    for k in range(across.head + 1, inner.head):
        instr = code[k]
        if not instr.op.pure or (instr.dst >= 0 and f.variable[instr.dst]) or not hidden.isdisjoint(instr.args):
            first.append(k)
            hidden.add(instr.dst)
    used = {a for k in range(inner.head, across.end) for a in code[k].args if a >= 0}
    if not first or (last.arms and last.arms[-1][0] > across.head) or hidden & used - {total}:
        return
    made.total, made.store, made.first = total, last.position, first


def _loads(f: Function, front: list[Instr], total: int, array: int) -> bool:
    """Whether a total begins with the element, in front of every panel."""
    loaded = {instr.dst for instr in front if instr.op is ops.LOAD and instr.imm == array}
    writes = [instr for instr in front if instr.dst == total]
    others = [instr for instr in front if instr.op is not ops.LOAD and instr.dst != total and not loaded.isdisjoint(instr.args)]
    return bool(writes) and writes[-1].op is ops.COPY and writes[-1].args[0] in loaded and not others
