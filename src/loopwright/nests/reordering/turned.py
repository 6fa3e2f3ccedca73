"""Products with a transpose: what an innermost loop reads along a row, while lanes would be down a column, is turned round in memory of the function's own.

::

    for i = 0, n                           for j.block = 0, m, J                         (J columns, K rows of what is turned)
      for j = 0, m                           for k.block = 0, l, K
        t = 0                                  for j, k of the block: turned[k - k.block, j - j.block] = b[j, k]
        for k = 0, l               →           for i = 0, n
          t += a[i, k] * b[j, k]                 for j of the block
        store t, c[i, j]                           t = c[i, j]
                                                   for k of the block: t += a[i, k] * turned[k - k.block, j - j.block]
                                                   store t, c[i, j]

With lanes along ``k`` each element of ``c`` has a total that is added up across lanes, which floats allow under ``fastmath`` alone; turned round it is a product like others, whose sums keep their order, and
which is made in blocks (``blocks.py``). An element of ``b`` is copied once and read ``n`` times (copying before computing: K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34 (2008),
section 4.2). Where there are few rows, which is asked in front, the loops run as they are.

Totals go from one block to the next by the element they are stored to. What they begin with is stored first, unless it is that element. Where more than the total is stored (``c[i, j] = sqrt(t)``) there is one block of rows, if that
is enough for all iterations of the innermost loop.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import LOCAL_ALIGN, MOST_LOCAL, NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, nest_of, nests
from loopwright.nests.analysis.scalars import PRIVATE, Scalar, scalars
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.code import Code, own_copies
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.steps.carry import computed_by, needed
from loopwright.targets.target import Target
from loopwright.types import F32, F64, I32, I64, PTR, U32

__all__ = ["run"]

#: A block has as many rows, and as many columns as so many vectors have elements; it takes 48 KiB with vectors of 512 bits.
ROWS: Final = 128
VECTORS: Final = 6
#: Fewer iterations of the loop around both do not pay for the copy. (Measured on a Cascade Lake.)
FEWEST: Final = 12
#: So many instructions behind an innermost loop are looked at.
MOST_BEHIND: Final = 16
#: Bytes of the widest vector.
_WIDEST: Final = 64
#: Elements whose products lanes have, and whose sums are not made in wider ones.
_ELEMENTS: Final = frozenset((F32, F64, I32, U32))
_BODY: Final = frozenset((ops.LOAD, ops.STORE, ops.COPY, ops.ADD, ops.SUB, ops.MUL, ops.FMA, ops.MIN, ops.MAX, ops.NEG, ops.ABS))
_INDEX: Final = frozenset((ops.ADD, ops.SUB, ops.MUL, ops.COPY, ops.NEG))


def run(f: Function, target: Target, distinct: set[int], few: set[int]) -> dict[int, str]:
    """Turn what such loops of a function read.

    Args:
        f: the function.
        target: the machine.
        distinct: receives the indices of outermost loops that run only where arrays do not overlap.
        few: receives those of the outermost loops that stand beside them, for few rows.

    Returns:
        Per index of an outermost loop: what was done in it, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits or not any(instr.op is ops.STORE and instr.type in _ELEMENTS for instr in f.code):
        return done
    for nest in reversed(nests(f)):
        for rows in reversed(_candidates(nest)):
            made = _turned(nest_of(f, rows.head, rows.end))
            if made is None:
                continue
            told = made.text()
            index = made.write(target, nest, few)
            if index < 0:
                continue
            distinct.add(index)
            done[index] = told
            break
    return done


def _candidates(nest: Nest) -> list[NestLoop]:
    """The loops that hold one other, which holds one, with little behind it."""
    found: list[NestLoop] = []
    for inner in nest.loops if not nest.obstacles else []:
        across = inner.parent
        rows = across.parent if across is not None else None
        if across is not None and rows is not None and rows.end - inner.end <= MOST_BEHIND and rows.step == across.step == inner.step == 1:
            found.append(rows)
    return found


class _Turned:
    """What is made of three loops.

    Attributes:
        nest: these loops.
        rows, across, inner: the loops, outermost first.
        reads: the loads that are turned, of one array each.
        store: of what comes out.
        total: the variable that is stored behind the innermost loop, where it can go from block to block by the element; or NONE.
        blocked: there may be several blocks, because totals go from one to the next.
        begins: what they begin with is not what the element has.
        finishes: what is stored in the end is computed from the total.
        ends: by place among the bounds of the loop across: whether the first or the last row has the outermost; None where all have the same.
    """

    __slots__ = ("across", "begins", "blocked", "ends", "f", "finishes", "inner", "line", "nest", "reads", "rows", "store", "total")

    def __init__(self, nest: Nest, reads: list[Access], store: Access, total: int, begins: bool, finishes: bool, ends: list[bool | None]) -> None:
        self.nest = nest
        self.f = nest.f
        self.rows, self.across, self.inner = nest.loops
        self.line = self.rows.line
        self.reads = reads
        self.store = store
        self.total = total
        self.blocked = total != NONE or store.loops[-1] is self.inner
        self.begins = begins
        self.finishes = finishes
        self.ends = ends

    def text(self) -> str:
        """What is done, for the report."""
        names = ", ".join(dict.fromkeys(self.f.arrays[read.array].name for read in self.reads))
        return f"{names} turned round, block by block"

    def write(self, target: Target, outermost: Nest, few: set[int]) -> int:
        """Put it into the function, beside the loops as they are, whose outermost index ``few`` receives. Returns the index of the outermost loop, or NONE where they stay."""
        f, nest = self.f, self.nest
        original, start, end = f.code, outermost.start, outermost.end + 1
        head = original[self.rows.head]
        runs: list[tuple[Op, int, int]] = [(ops.GE, head.args[1], f.const(I64, int(f.const_values[~head.args[0]]) + FEWEST))]
        low, high = original[self.inner.head].args[:2]
        if not self.blocked:
            runs.append((ops.LE, high, f.const(I64, int(f.const_values[~low]) + ROWS)))
        if not all(outermost.ahead(a) for _, *both in runs for a in both):
            return NONE
        asked = [(a, b, False) for a, b, _ in apart.pairs(outermost)]
        plain = apart.as_written(f, original, start, end)
        few.add(plain[0].dst)
        width = VECTORS * target.vector_bits // original[self.reads[0].position].type.bits
        ahead, code = Code(f, self.line, []), Code(f, self.line, [])
        turned = [self.local(read, width, ahead) for read in self.reads]
        index = self.blocks(turned, width, code)
        fast = [*ahead.out, *original[start : nest.start], *code.out, *original[nest.end + 1 : end]]
        f.code = original[:start] + apart.versioned(f, asked, plain, fast, self.line, runs) + original[end:]
        return index if start == nest.start else outermost.loops[0].index

    def local(self, read: Access, width: int, code: Code) -> int:
        """A local array for what a load reads, by its number."""
        f = self.f
        array = f.arrays[read.array]
        made = f.local_array(f"{array.name}.turned", array.element, (ROWS, width))
        made.written = True
        number = len(f.arrays) - 1
        code.out.append(Instr(ops.LOCAL, PTR, made.base, [code.const(number)], 0, self.line))
        return number

    def blocks(self, turned: list[int], width: int, code: Code) -> int:
        """Append all blocks. Returns the index of the outermost loop."""
        f = self.f
        if self.begins:
            self.beginnings(code)
        left, right = [self.outermost(place, code) for place in (0, 1)]
        low, high = f.code[self.inner.head].args[:2]
        block = code.begin(left, right, width, f"{self.nest.name(self.across)}.block")
        behind = code.op(ops.MIN, code.op(ops.ADD, block, code.const(width)), right)
        top, bottom = low, high
        if self.blocked:
            top = code.begin(low, high, ROWS, f"{self.nest.name(self.inner)}.block")
            bottom = code.op(ops.MIN, code.op(ops.ADD, top, code.const(ROWS)), high)
        for read, number in zip(self.reads, turned, strict=True):
            self.copy(read, number, (block, behind), (top, bottom), code)
        self.products(turned, (block, behind), (top, bottom), code)
        if self.blocked:
            code.end()
        code.end()
        if self.finishes:
            self.endings(code)
        return block

    def outermost(self, place: int, code: Code) -> int:
        """The least or the greatest bound that the loop across has in any row."""
        f = self.f
        bound, first = f.code[self.across.head].args[place], self.ends[place]
        if first is None:
            return bound
        head = f.code[self.rows.head]
        row = head.args[0] if first else code.op(ops.SUB, head.args[1], code.const(1))
        rename = {self.rows.index: row}
        clone(f, f.code[self.rows.head + 1 : self.across.head], rename, code.out)
        return rename.get(bound, bound)

    def beginnings(self, code: Code) -> None:
        """Append loops that store what totals begin with."""
        original = self.f.code
        made = original[self.rows.head : self.inner.head]
        if self.finishes:
            self.store_total(made)
            made += original[self.across.end : self.rows.end + 1]
        else:
            made += original[self.inner.end + 1 : self.rows.end + 1]
        clone(self.f, made, own_copies(self.nest, self.rows), code.out)

    def store_total(self, made: list[Instr]) -> None:
        """Append a store of the total to the element that has it."""
        f = self.f
        made.append(Instr(ops.STORE, f.types[self.total], NONE, [self.total, *self.element(made)], f.code[self.store.position].imm, self.line))

    def endings(self, code: Code) -> None:
        """Append loops that store what is computed from totals."""
        original = self.f.code
        made = [original[at] for at in range(self.rows.head, self.inner.head) if at < self.across.head or original[at].op is not ops.STORE]
        self.take(made)
        clone(self.f, made + original[self.inner.end + 1 : self.rows.end + 1], own_copies(self.nest, self.rows), code.out)

    def copy(self, read: Access, number: int, columns: tuple[int, int], deep: tuple[int, int], code: Code) -> None:
        """Append loops that turn a block round."""
        f = self.f
        j = code.begin(columns[0], columns[1], 1)
        k = code.begin(deep[0], deep[1], 1)
        slices = _subscripts(self.nest, read)
        assert slices is not None
        rename = {self.across.index: j, self.inner.index: k}
        clone(f, [f.code[at] for at in [*slices, read.position]], rename, code.out)
        load = f.code[read.position]
        place = [code.op(ops.SUB, k, deep[0]), code.op(ops.SUB, j, columns[0])]
        code.out.append(Instr(ops.STORE, load.type, NONE, [rename[load.dst], *place], number, self.line))
        code.end()
        code.end()

    def products(self, turned: list[int], columns: tuple[int, int], deep: tuple[int, int], code: Code) -> None:
        """Append the loops for one block."""
        f = self.f
        original = f.code
        numbers = {read.position: number for read, number in zip(self.reads, turned, strict=True)}
        made: list[Instr] = []
        own = Code(f, self.line, made)
        for position in range(self.rows.head, self.rows.end + 1):
            instr = original[position]
            if position == self.across.head:
                first, last, _ = instr.args
                # (Rows that are as long as each other have all of the block.)
                low = columns[0] if self.ends[0] is None else own.op(ops.MAX, columns[0], first)
                high = columns[1] if self.ends[1] is None else own.op(ops.MIN, columns[1], last)
                instr = Instr(instr.op, instr.type, instr.dst, [low, high, instr.args[2]], 0, instr.line)
            elif position == self.inner.head:
                if (self.begins or self.finishes) and self.total != NONE:
                    self.take(made)
                instr = Instr(instr.op, instr.type, instr.dst, [*deep, instr.args[2]], 0, instr.line)
            elif position in numbers:
                place = [own.op(ops.SUB, self.inner.index, deep[0]), own.op(ops.SUB, self.across.index, columns[0])]
                instr = Instr(ops.LOAD, instr.type, instr.dst, place, numbers[position], instr.line)
            elif self.begins and self.across.head < position < self.inner.head and instr.op is ops.STORE:
                continue
            elif self.finishes and self.inner.end < position < self.across.end:
                if position == self.across.end - 1:
                    self.store_total(made)
                continue
            made.append(instr)
        clone(f, made, own_copies(self.nest, self.rows), code.out)

    def take(self, made: list[Instr]) -> None:
        """Append the total as the block before has left it."""
        f = self.f
        store = f.code[self.store.position]
        value = f.register(store.type)
        made.append(Instr(ops.LOAD, store.type, value, self.element(made), store.imm, store.line))
        made.append(Instr(ops.COPY, store.type, self.total, [value], 0, store.line))

    def element(self, made: list[Instr]) -> list[int]:
        """The subscripts of the element that has the total; what is behind the innermost loop is computed anew."""
        f = self.f
        slices = needed(f, self.across, self.store.position, set())
        assert slices is not None
        rename: dict[int, int] = {}
        clone(f, [f.code[at] for at in slices if at > self.inner.end], rename, made)
        return [rename.get(a, a) for a in f.code[self.store.position].args[1:]]


def _turned(nest: Nest) -> _Turned | None:
    """What is to be made of three loops; None where they stay."""
    f = nest.f
    if (
        nest.obstacles
        or len(nest.loops) != 3
        or any(instr.op.effect == ops.CONTROL and instr.op not in (ops.FOR, ops.END) for instr in f.code[nest.start : nest.end])
    ):
        return None
    rows, across, inner = nest.loops
    if any(f.code[loop.head].loop is not None for loop in nest.loops) or not inner.long() or not across.long() or not rows.reaches(FEWEST):
        return None
    first, last, _ = f.code[rows.head].args
    low, high, _ = f.code[inner.head].args
    if first >= 0 or low >= 0 or not nest.ahead(last) or not nest.ahead(high) or across.end + 1 != rows.end:
        return None
    if any(not instr.op.pure or f.variable[instr.dst] for instr in f.code[rows.head + 1 : across.head]):
        return None
    ends = [_end(nest, place) for place in (0, 1)]
    reads = _reads(nest)
    store = _store(nest)
    # (Of rows that change at both ends, those without iterations could begin where nothing is.)
    if None in ends or all(ends) or not reads or any(f.variable[f.code[read.position].dst] for read in reads):
        return None
    if store is None or f.local_bytes() + len(reads) * (ROWS * VECTORS * _WIDEST + LOCAL_ALIGN) > MOST_LOCAL:
        return None
    variables = scalars(nest)
    if any(scalar.loop is not inner and scalar.kind != PRIVATE for scalar in variables):
        return None
    if store.loops[-1] is inner and any(scalar.loop is inner and scalar.kind != PRIVATE for scalar in variables):
        return None
    total, begins, finishes = _total(nest, store, variables)
    return _Turned(nest, reads, store, total, begins, finishes, [None if end == 0 else end == 1 for end in ends])


def _end(nest: Nest, place: int) -> int | None:
    """Which row has the outermost bound of the loop across: 1 the first, 2 the last, 0 where all have the same; None where that is not known."""
    rows, across, _ = nest.loops
    bound = nest.f.code[across.head].args[place]
    form = nest.forms.of(bound)
    if form is None:
        return None
    index = next((value for value in form.terms if nest.indices.get(value) is rows), -1)
    rest = Form(0, {value: coefficient for value, coefficient in form.terms.items() if value != index})
    if nest.forms.depends(rest, nest.start, nest.end):
        return None
    if index < 0:
        return 0 if nest.ahead(bound) else None
    return 1 if (form.terms[index] > 0) == (place == 0) else 2


def _reads(nest: Nest) -> list[Access]:
    """The loads of the innermost loop that are to be turned; none where another would not be adjacent along the loop across, or the loop does more than sums of products."""
    f = nest.f
    rows, across, inner = nest.loops
    if any(instr.op not in (_INDEX if instr.type is I64 else _BODY) for instr in f.code[inner.head + 1 : inner.end]):
        return []
    found: list[Access] = []
    for access in nest.accesses:
        if not inner.head < access.position < inner.end:
            continue
        moves = [[_times(nest, form, loop) for form in access.subscripts] for loop in (rows, across, inner)]
        if any(times is None for each in moves for times in each) or f.arrays[access.array].rank != len(access.subscripts):
            return []
        by_row, by_column, deep = moves
        if not any(by_column):
            continue
        turned = deep[-1] == 1 and not any(deep[:-1]) and not by_column[-1] and by_column.count(1) == 1 and not any(by_row) and sum(map(bool, by_column)) == 1
        if turned and f.code[access.position].type in _ELEMENTS and _subscripts(nest, access) is not None:
            found.append(access)
        elif any(by_column[:-1]) or by_column[-1] != 1:
            return []
    # (An element that is read as turned twice is one that is copied twice.)
    return found if len(found) == 1 else []


def _times(nest: Nest, form: Form | None, loop: NestLoop) -> int | None:
    """How often the index of a loop is in a subscript; None where that is not known."""
    if form is None:
        return None
    total = 0
    for value, coefficient in form.terms.items():
        if nest.indices.get(value) is loop:
            total = coefficient
        elif value not in nest.indices and nest.varies(value):
            return None
    return total


def _subscripts(nest: Nest, read: Access) -> list[int] | None:
    """Positions of what the subscripts of a load are computed by, in the loops; None where that is more than arithmetic, or hangs on the row."""
    wanted = set(nest.f.code[read.position].args)
    found = computed_by(nest.f, wanted, nest.start, read.position)
    return found if nest.loops[0].index not in wanted else None


def _store(nest: Nest) -> Access | None:
    """The one store, of an element for each row and column, which nothing else accesses; None where there is another."""
    rows, across, inner = nest.loops
    stores = [access for access in nest.accesses if access.store]
    last = stores[-1] if stores else None
    if last is None or any(access.array != last.array for access in stores):
        return None
    own = [access for access in nest.accesses if access.array == last.array]
    within = [access for access in own if access.loops[-1] is inner]
    if last.loops[-1] is rows or not all(access.same(last) for access in own) or (within and own[-1] is not within[-1]) or (within and last is not own[-1]):
        return None
    by_row = [_times(nest, form, rows) for form in last.subscripts]
    by_column = [_times(nest, form, across) for form in last.subscripts]
    if None in by_row or None in by_column or by_column[-1] != 1 or any(by_column[:-1]) or not any(by_row[:-1]):
        return None
    return None if any(_times(nest, form, inner) != 0 for form in last.subscripts) else last


def _total(nest: Nest, store: Access, variables: list[Scalar]) -> tuple[int, bool, bool]:
    """The variable that goes from block to block by the element it is stored to, or NONE; whether the element has to be given first what totals begin with; and whether more is stored in the end."""
    f = nest.f
    _, across, inner = nest.loops
    front, behind = f.code[across.head + 1 : inner.head], f.code[inner.end + 1 : across.end]
    carried = [scalar.variable for scalar in variables if scalar.loop is inner and scalar.kind != PRIVATE]
    stored = any(instr.op is ops.STORE for instr in front)
    if store.loops[-1] is inner:
        return NONE, stored, False
    if len(carried) != 1 or f.arrays[store.array].element is not f.types[carried[0]] or not behind or behind[-1].op is not ops.STORE:
        return NONE, False, False
    if any(not (instr.op.pure or instr.op is ops.LOAD) or f.variable[instr.dst] for instr in behind[:-1]):
        return NONE, False, False
    loaded = {instr.dst for instr in front if instr.op is ops.LOAD and instr.imm == store.array}
    writes = [instr for instr in front if instr.dst == carried[0]]
    from_element = len(writes) == 1 and writes[0].op is ops.COPY and writes[0].args[0] in loaded
    finishes = f.code[store.position].args[0] != carried[0]
    if finishes and (loaded or any(instr.op is ops.LOAD and instr.imm == store.array for instr in behind)):
        # (The element is computed with as it was before.)
        return NONE, False, False
    return carried[0], stored or not from_element, finishes
