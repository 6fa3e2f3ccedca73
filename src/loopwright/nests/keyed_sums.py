"""Loops that add to the element of a small array that a looked-up key names: two elements at once, into a table with an entry for each pair of keys.

::

    for i = lo, hi, 1                  for each block of the range
      %k = …                             over lanes: %pairs[j] = the keys of elements 2 j and 2 j + 1, of 4 bits each
      %t = load t[%k]              →     for j: %sums[%pairs[j]] += the values of elements 2 j and 2 j + 1, as a vector of two
      store %t + %v, t[%k]             for each pair of keys: the first sum to t[the first key], the second to t[the second key]
    end                                what is left over: the loop as it is

A core stores one such sum in a cycle, and the next sum of the same key waits for it. A pair is stored at once, there are 256 entries instead of 16 sums to wait for, and four tables
take turns, so that the same pair over and over waits less. (Private copies of a histogram that are joined at the end; A. Fog, *Optimizing software in C++*, and J. Gomez-Luna et al.,
*An optimized approach to histogram computation on GPU*, Machine Vision and Applications 24, 2013, have them by thread and by lane.) Sums of floats are made in another order: they need ``fastmath``.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import MOST_LOCAL, NONE, Array, Function, Instr, Loop
from loopwright.nests.apart import question
from loopwright.nests.lanes import in_lanes
from loopwright.nests.nest import nests
from loopwright.nests.unroll import clone, own_array, read_once
from loopwright.targets.target import Target
from loopwright.types import BOOL, F64, I64, U8, VOID, Type, vector_of

__all__ = ["adds_by_key", "split_keyed_sums"]

#: A key has so many bits at most, half of an index of the table.
KEY_BITS: Final = 4
KEYS: Final = 1 << KEY_BITS
#: Entries of a table.
PAIRS: Final = KEYS * KEYS
#: Tables that take turns.
TABLES: Final = 4
#: Elements of a block, whose pairs of keys are collected first.
BLOCK: Final = 512
#: Pairs that are added in one step of a loop.
AT_ONCE: Final = 4
#: Shorter ranges do not pay for tables that are cleared first and added up at the end.
SHORTEST: Final = 4 * BLOCK
#: What is loaded may go so many elements beyond the pair that is wanted.
BEYOND: Final = 2
#: Loops of a function that are looked at.
MOST: Final = 8
#: Elements of so many bits are added.
WIDTHS: Final = (32, 64)

#: Two entries of 64 bits.
_DOUBLES: Final = vector_of(F64, 2)


class _Sums:
    """A loop of this kind.

    Attributes:
        head, end: positions of the loop's brackets.
        body: what is between them.
        array: the number of the array of sums.
        key: the register of the key, of whatever type it is looked up in.
        value: what is added.
        op: ``add`` or ``sub``.
    """

    __slots__ = ("array", "body", "end", "head", "key", "op", "value")

    def __init__(self, span: tuple[int, int], body: list[Instr], array: int, key: int, value: int, op: ops.Op) -> None:
        self.head, self.end = span
        self.body = body
        self.array = array
        self.key = key
        self.value = value
        self.op = op


def split_keyed_sums(f: Function, target: Target) -> None:
    """Put pairs in front of every loop of this kind whose keys the target collects in lanes.

    Args:
        f: the function, at a stage before ``vectorize``.
        target: what it is compiled for.
    """
    if not target.vector_bits or any(instr.op.effect == ops.CALLS for instr in f.code):
        return
    position = done = 0
    lanes: list[bool] = []  # per open bracket: it is a loop over lanes
    while position < len(f.code) and done < MOST:
        instr = f.code[position]
        if instr.op is ops.FOR and True not in lanes:
            sums = _sums(f, position)
            if sums is not None:
                done += 1
                # (Behind what is put there is the loop as it was.)
                position += _put(f, target, sums) + sums.end - sums.head + 1
                continue
        if instr.op.closes:
            lanes.pop()
        if instr.op.opens:
            lanes.append(instr.loop is not None and (instr.loop.lanes or instr.loop.mask != NONE))
        position += 1


def adds_by_key(f: Function, head: int) -> bool:
    """Whether the loop at a position is one of this kind, and adds numbers of its own, not always one: what is counted may well have many keys."""
    found = _sums(f, head)
    return found is not None and found.value >= 0


# --- which loops ---------------------------------------------------------------------------------------------


def _sums(f: Function, head: int) -> _Sums | None:
    """The loop at a position, if it does nothing else."""
    code = f.code
    opener = code[head]
    lo, hi, step = opener.args
    loop = opener.loop
    if step >= 0 or f.const_values[~step] != 1 or (lo < 0 and hi < 0 and f.const_values[~hi] - f.const_values[~lo] < SHORTEST):
        return None
    if loop is not None and (loop.accumulators or loop.mask != NONE):
        return None
    end = head + 1
    while code[end].op.pure or code[end].op is ops.LOAD:
        if f.variable[code[end].dst]:
            return None
        end += 1
    store = code[end]
    if store.op is not ops.STORE or len(store.args) != 2 or code[end + 1].op is not ops.END:
        return None
    body = code[head + 1 : end]
    defined = {instr.dst: instr for instr in body}
    added = defined.get(store.args[0])
    array = f.arrays[store.imm]
    if added is None or added.op not in (ops.ADD, ops.SUB) or not _fits(f, array):
        return None
    loads = [instr for instr in body if instr.op is ops.LOAD and instr.imm == store.imm]
    if len(loads) != 1 or not _same(defined, loads[0].args[0], store.args[1]):
        return None
    before = loads[0].dst
    value = added.args[1] if added.args[0] == before else added.args[0]
    if before not in added.args or value == before or (added.op is ops.SUB and added.args[0] != before):
        return None
    if any(before in instr.args for instr in body if instr is not added) or any(added.dst in instr.args for instr in body):
        return None
    key = _narrow(defined, store.args[1])
    return _Sums((head, end + 1), body, store.imm, key, value, added.op) if _looked_up(defined, key, opener.dst) else None


def _fits(f: Function, array: Array) -> bool:
    """Whether an array may be one of few sums that are added to in any order."""
    element = array.element
    if element.bits not in WIDTHS or array.data or array.view or array.pairs or (element.is_float and not f.options.fastmath):
        return False
    extent = array.extents[0]
    return array.rank == 1 and (extent >= 0 or f.const_values[~extent] <= KEYS)


def _same(defined: dict[int, Instr], a: int, b: int) -> bool:
    """Whether two operands are the same value: of nothing that is stored to, or by the same operations of the same."""
    while a != b:
        x, y = defined.get(a), defined.get(b)
        if x is None or y is None or x.op is not y.op or x.type is not y.type or x.source is not y.source or x.imm != y.imm or len(x.args) != len(y.args):
            return False
        others = [(p, q) for p, q in zip(x.args, y.args, strict=True) if p != q]
        if not others:
            return True
        if len(others) > 1:
            return False
        ((a, b),) = others
    return True


def _narrow(defined: dict[int, Instr], key: int) -> int:
    """A key before it was made as wide as an index is."""
    made = defined.get(key)
    while made is not None and made.op is ops.CONVERT and made.source.is_integer and made.source.bits <= made.type.bits:
        key = made.args[0]
        made = defined.get(key)
    return key


def _looked_up(defined: dict[int, Instr], key: int, index: int) -> bool:
    """Whether a key is made of what is loaded, and of where the loop is."""
    loaded = varies = False
    for instr in _slice(list(defined.values()), {key}):
        loaded = loaded or instr.op is ops.LOAD
        varies = varies or index in instr.args
    return loaded and varies


def _slice(body: list[Instr], wanted: set[int]) -> list[Instr]:
    """What of a body it takes to compute some values."""
    needed = set(wanted)
    found: list[Instr] = []
    for instr in reversed(body):
        if instr.dst in needed:
            needed.update(instr.args)
            found.append(instr)
    return found[::-1]


def _put(f: Function, target: Target, sums: _Sums) -> int:
    """Put what comes before the loop in front of it, if there are lanes for it, and room: its length."""
    before, arrays = f.code, len(f.arrays)
    head = before[sums.head]
    arguments = head.args
    made = _Pairs(f, sums)
    made.make()
    f.code = [*before[: sums.head], *made.out, *before[sums.head :]]
    head.args = [made.start, *arguments[1:]]
    if f.local_bytes() <= MOST_LOCAL and _in_lanes(f, target, made.out):
        return len(made.out)
    f.code = before
    head.args = arguments
    del f.arrays[arrays:]
    return 0


def _in_lanes(f: Function, target: Target, made: list[Instr]) -> bool:
    """Whether the loops over lanes in some code that is in the function have what they need."""
    marked = [instr for instr in made if instr.loop is not None]
    return all(in_lanes(nest, loop, target, True) for nest in nests(f) for loop in nest.loops if f.code[loop.head] in marked)


# --- what comes before them ----------------------------------------------------------------------------------


class _Pairs:
    """The code that adds pairs.

    Attributes:
        out: the code.
        start: the variable that holds where the loop goes on.
    """

    def __init__(self, f: Function, sums: _Sums) -> None:
        self.f = f
        self.sums = sums
        self.out: list[Instr] = []
        self.opener = f.code[sums.head]
        self.line = self.opener.line
        array = f.arrays[sums.array]
        self.array = array
        self.element = array.element
        # What is the same for all elements is added once for both. A vector of two 32-bit elements has the 64 bits of one entry in its lower half.
        self.once = sums.value != self.opener.dst and all(instr.dst != sums.value for instr in sums.body)
        self.half = self.element.bits == 32 and not self.once
        self.entries = F64 if self.half else self.element
        self.step = 1 if self.half or self.once else 2
        self.vector = vector_of(self.element, 128 // self.element.bits)
        self.start = f.register(I64, "start", True)
        self.table = NONE
        self.indices = NONE
        self.values = NONE

    def emit(self, op: ops.Op, type_: Type, args: list[int], imm: int = 0, source: Type = VOID, result: Type | None = None) -> int:
        """An operation; its result's register."""
        made = self.f.register(type_ if result is None else result)
        self.out.append(Instr(op, type_, made, args, imm, self.line, source))
        return made

    def index(self, op: ops.Op, a: int, b: int) -> int:
        """Arithmetic on indices, with a constant."""
        return self.emit(op, I64, [a, self.f.const(I64, b)])

    def bracket(self, op: ops.Op, args: list[int]) -> None:
        self.out.append(Instr(op, VOID, NONE, args, 0, self.line))

    def loop(self, lo: int, hi: int, step: int, lanes: bool = False, name: str = "") -> int:
        """Begin a loop: its index."""
        index = self.f.register(I64, name)
        described = Loop(NONE, 0, [], True) if lanes else None
        self.out.append(Instr(ops.FOR, VOID, index, [lo, hi, self.f.const(I64, step)], 0, self.line, loop=described))
        return index

    def local(self, name: str, element: Type, count: int) -> int:
        """An array of the function's own: its number."""
        return own_array(self.f, f"{self.array.name}.{name}", element, count, self.line, self.out)

    def make(self) -> None:
        """Write all of it."""
        f, out = self.f, self.out
        lo = read_once(f, self.opener.args[0], self.line, out)
        hi = read_once(f, self.opener.args[1], self.line, out)
        length = self.emit(ops.SUB, I64, [hi, lo])
        out.append(Instr(ops.COPY, I64, self.start, [lo], 0, self.line))
        self.bracket(ops.IF, [self.condition(lo, hi, length)])
        size = TABLES * PAIRS * self.step
        self.table = self.local("sums", self.entries, size)
        self.indices = self.local("pairs", U8, BLOCK // 2)
        if self.buffered():
            self.values = self.local("values", self.element, BLOCK + BEYOND)
        zero = f.const(I64, 0)
        k = self.loop(zero, f.const(I64, size), 1, True)
        self.store(f.const(self.entries, 0), k, self.table)
        self.bracket(ops.END, [])
        whole = self.index(ops.AND, self.index(ops.SUB, length, BEYOND), -BLOCK)
        stop = self.emit(ops.ADD, I64, [lo, whole])
        block = self.loop(lo, stop, BLOCK, False, "block")
        self.collect(block)
        self.add(block)
        self.bracket(ops.END, [])
        self.join()
        out.append(Instr(ops.COPY, I64, self.start, [stop], 0, self.line))
        self.bracket(ops.END, [])

    def condition(self, lo: int, hi: int, length: int) -> int:
        """Whether the range is long, the keys are few, and the array overlaps none that is read."""
        f = self.f
        holds = self.emit(ops.GE, I64, [length, f.const(I64, SHORTEST)], result=BOOL)
        if lo >= 0 or f.const_values[~lo]:
            # (A difference that does not fit is none of a range.)
            holds = self.emit(ops.AND, BOOL, [holds, self.emit(ops.GT, I64, [hi, lo], result=BOOL)])
        if self.array.extents[0] >= 0:
            few = self.emit(ops.LE, I64, [self.array.extents[0], f.const(I64, KEYS)], result=BOOL)
            holds = self.emit(ops.AND, BOOL, [holds, few])
        read = sorted({instr.imm for instr in self.sums.body if instr.op is ops.LOAD} - {self.sums.array})
        asked = [(self.sums.array, other, False) for other in read if not self.array.size and not f.arrays[other].size]
        apart = question(f, asked, self.line, self.out)
        return holds if apart == NONE else self.emit(ops.AND, BOOL, [holds, apart])

    def buffered(self) -> bool:
        """Whether values are computed to be added, and not loaded from where they are next to each other."""
        if self.once:
            return False
        made = self.loaded()
        defined = {instr.dst for instr in self.sums.body} | {self.opener.dst}
        return made is None or made.args[-1] != self.opener.dst or any(a in defined for a in made.args[:-1])

    def loaded(self) -> Instr | None:
        """The load of the values, if they are loaded."""
        made = next((instr for instr in self.sums.body if instr.dst == self.sums.value), None)
        return made if made is not None and made.op is ops.LOAD else None

    def collect(self, block: int) -> None:
        """Over lanes: the pairs of keys of a block, and the values, where they are computed."""
        f, sums, out = self.f, self.sums, self.out
        zero = f.const(I64, 0)
        j = self.loop(zero, f.const(I64, BLOCK // 2), 1, True)
        first = self.emit(ops.ADD, I64, [self.index(ops.MUL, j, 2), block])
        keys = [self.key(at) for at in (first, self.index(ops.ADD, first, 1))]
        upper = self.emit(ops.SHL, U8, [keys[0], f.const(U8, KEY_BITS)])
        self.store(self.emit(ops.OR, U8, [upper, keys[1]]), j, self.indices)
        self.bracket(ops.END, [])
        if self.values == NONE:
            return
        j = self.loop(zero, f.const(I64, BLOCK), 1, True)
        rename = {self.opener.dst: self.emit(ops.ADD, I64, [j, block])}
        clone(f, _slice(sums.body, {sums.value}), rename, out)
        self.store(rename.get(sums.value, sums.value), j, self.values)
        self.bracket(ops.END, [])

    def key(self, at: int) -> int:
        """The key of an element, in 8 bits."""
        sums = self.sums
        rename = {self.opener.dst: at}
        clone(self.f, _slice(sums.body, {sums.key}), rename, self.out)
        key = rename.get(sums.key, sums.key)
        type_ = self.f.type_of(key)
        return key if type_ is U8 else self.emit(ops.BITCAST if type_.bits == U8.bits else ops.CONVERT, U8, [key], source=type_)

    def add(self, block: int) -> None:
        """The values of a block to the sums of their pairs."""
        f = self.f
        j = self.loop(f.const(I64, 0), f.const(I64, BLOCK // 2), AT_ONCE)
        start = self.index(ops.MUL, j, 2)
        if self.values == NONE:
            start = self.emit(ops.ADD, I64, [start, block])
        for k in range(AT_ONCE):
            pair = self.emit(ops.LOAD, U8, [self.index(ops.ADD, j, k)], self.indices)
            place = self.place(self.emit(ops.CONVERT, I64, [pair], source=U8), k % TABLES)
            value = self.value(self.index(ops.ADD, start, 2 * k))
            total = self.emit(ops.ADD, self.element if self.once else self.vector, [self.entry(place), value])
            if self.half:
                total = self.emit(ops.EXTRACT, _DOUBLES, [self.emit(ops.BITCAST, _DOUBLES, [total], source=self.vector)], result=F64)
            self.store(total, place, self.table)
        self.bracket(ops.END, [])

    def value(self, at: int) -> int:
        """What is added for a pair of elements."""
        if self.once:
            return self.sums.value
        if self.values != NONE:
            return self.emit(ops.LOAD, self.vector, [at], self.values)
        made = self.loaded()
        assert made is not None
        return self.emit(ops.LOAD, self.vector, [*made.args[:-1], at], made.imm)

    def store(self, value: int, place: int, array: int) -> None:
        self.out.append(Instr(ops.STORE, self.f.type_of(value), NONE, [value, place], array, self.line))

    def place(self, pair: int, table: int) -> int:
        """The index of a pair's sums in one of the tables."""
        if self.step > 1:
            pair = self.index(ops.MUL, pair, self.step)
        return self.index(ops.ADD, pair, table * PAIRS * self.step) if table else pair

    def entry(self, place: int) -> int:
        """The sums of a pair, in the first two lanes; or the one that both have."""
        if not self.half:
            return self.emit(ops.LOAD, self.element if self.once else self.vector, [place], self.table)
        spread = self.emit(ops.SPLAT, _DOUBLES, [self.emit(ops.LOAD, F64, [place], self.table)])
        return self.emit(ops.BITCAST, self.vector, [spread], source=_DOUBLES)

    def join(self) -> None:
        """All pairs' sums to the array."""
        f, out = self.f, self.out
        zero, extent = f.const(I64, 0), self.array.extents[0]
        first = self.loop(zero, extent, 1)
        total = f.register(self.element, "total", True)
        out.append(Instr(ops.COPY, self.element, total, [f.const(self.element, 0)], 0, self.line))
        second = self.loop(zero, extent, 1)
        pair = self.emit(ops.ADD, I64, [self.index(ops.MUL, first, KEYS), second])
        both = self.entry(self.place(pair, 0))
        for k in range(1, TABLES):
            both = self.emit(ops.ADD, f.type_of(both), [both, self.entry(self.place(pair, k))])
        one, other = both, both
        if not self.once:
            one = self.emit(ops.EXTRACT, self.vector, [both], result=self.element)
            above = self.emit(ops.SLIDE, self.vector, [both, both, f.const(I64, 1)])
            other = self.emit(ops.EXTRACT, self.vector, [above], result=self.element)
        out.append(Instr(ops.ADD, self.element, total, [total, one], 0, self.line))
        self.update(second, other)
        self.bracket(ops.END, [])
        self.update(first, total)
        self.bracket(ops.END, [])

    def update(self, key: int, total: int) -> None:
        """Add to the element of a key, or take from it."""
        before = self.emit(ops.LOAD, self.element, [key], self.sums.array)
        after = self.emit(self.sums.op, self.element, [before, total])
        self.store(after, key, self.sums.array)
