"""Lanes that move: stores at an index that counts how often a condition has held, and loads at one.

``if c: y[k] = v; k += 1`` puts the values of the lanes for which the condition holds next to each other. Of a vector they are moved to the front (``compress``) and stored as a whole
behind those of the vectors before, and the index goes on by as many as there were. A whole vector is more than may be written, because what is behind the last one belongs to the user, unless
it is known that as many are still to come, which overwrite it (``nests/idioms/ahead.py``). Elsewhere, where stores under a mask are slow, it goes to a buffer on the stack first, which is emptied by whole vectors whenever it is
full, and at the end. ``if c: v = x[k]; k += 1`` loads as many as there are lanes, and deals them out (``expand``). How lanes are moved is ``vectors/packing.py``'s. (Polychroniou, Raghavan and Ross, *Rethinking SIMD Vectorization for In-Memory Databases*, SIGMOD 2015, section 3, have both, and the buffer in section 5.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import MOST_LOCAL, NONE, Function, Instr, Loop
from loopwright.types import BOOL, I64, PTR, VOID, Type, mask_of
from loopwright.vectors.divergence import Divergence
from loopwright.vectors.packing import Packing, can_deal, can_pack
from loopwright.vectors.regions import Bracket, Leaf
from loopwright.vectors.tables import Asked

__all__ = ["Compaction", "Counter", "counters", "movable", "room"]

#: Vectors that a buffer holds.
BUFFERED: Final = 64


class Counter:
    """A variable that counts for which lanes a condition holds, and is an index of accesses.

    Attributes:
        variable: its register; while the loop runs over vectors, what has been stored for good.
        stores: those at that index; loads: those.
        fill: the variable that says how much the buffers hold; NONE where there are no stores.
        together: the stores and the update follow each other directly.
        buffers: array that is stored to -> (number of its buffer, the type of vectors in it).
    """

    __slots__ = ("buffers", "fill", "loads", "stores", "together", "variable")

    def __init__(self, variable: int) -> None:
        self.variable = variable
        self.stores: list[Instr] = []
        self.loads: list[Instr] = []
        self.fill = NONE
        self.together = True
        self.buffers: dict[int, tuple[int, Type]] = {}


def counters(f: Function, root: Bracket, leaves: list[Leaf], carried: set[int]) -> dict[int, Counter] | None:
    """The variables that a loop carries, if each of them counts where it stores or loads.

    Args:
        f: the function.
        root: the loop.
        leaves: its instructions.
        carried: the variables that it writes and that are mentioned outside of it, but for its totals.

    Returns:
        Per variable what it counts; None where one of them carries something else.
    """
    found: dict[int, Counter] = {}
    accesses: dict[int, int] = {}
    for leaf in leaves:
        if leaf.instr.op is ops.LOAD or leaf.instr.op is ops.STORE:
            accesses[leaf.instr.imm] = accesses.get(leaf.instr.imm, 0) + 1
    for variable in carried:
        counter = _counter(f, root, leaves, variable)
        if counter is None or any(accesses[instr.imm] > 1 for instr in counter.stores) or not (counter.stores or counter.loads):
            return None
        found[variable] = counter
    stored = {leaf.instr.imm for leaf in leaves if leaf.instr.op is ops.STORE}
    if any(instr.imm in stored for counter in found.values() for instr in counter.loads):
        return None
    return found


def _counter(f: Function, root: Bracket, leaves: list[Leaf], variable: int) -> Counter | None:
    """What a variable counts; None where it does something else."""
    updates = [leaf for leaf in leaves if leaf.instr.dst == variable]
    if len(updates) != 1 or f.types[variable] is not I64:
        return None
    (update,) = updates
    instr = update.instr
    if instr.op is not ops.ADD or variable not in instr.args or not any(a < 0 and f.const_values[~a] == 1 for a in instr.args):
        return None
    region = update.region
    around = region
    while around.bracket is not root:
        if around.bracket.loop or around.parent is None:
            return None
        around = around.parent
    made = Counter(variable)
    end = region.items.index(update)
    first = end
    for leaf in leaves:
        instr = leaf.instr
        if leaf is update or variable not in instr.args:
            continue
        if leaf.region is not region or instr.args.count(variable) > 1 or instr.args[-1] != variable:
            return None
        place = region.items.index(leaf)
        if instr.op not in (ops.STORE, ops.LOAD) or place > end or (instr.op is ops.STORE and len(instr.args) == 1):
            return None
        (made.stores if instr.op is ops.STORE else made.loads).append(instr)
        first = min(first, place)
    stored = False
    for item in region.items[first:end]:
        # Between them the lanes that run stay the same.
        if isinstance(item, Bracket) or item.instr.op.effect == ops.CONTROL:
            return None
        if item.instr in made.stores:
            stored = True
        elif stored:
            made.together = False
    return made


def room(f: Function, found: dict[int, Counter], lanes: int) -> bool:
    """Whether there is room on the stack for the buffers of counters."""
    needed = sum((BUFFERED + 1) * lanes * instr.type.size + 64 for counter in found.values() for instr in counter.stores)
    return f.local_bytes() + needed <= MOST_LOCAL


class Compaction(Packing):
    """What is emitted for accesses at indices that count.

    Attributes:
        counters: variable -> what it counts.
        buffered: stores under a mask are slow.
        ample: as many elements as a vector has are still to be stored behind each of them, so that whole vectors may be.
        skips: vectors of which nothing is kept are passed over, several at once.
        kept: brackets (the ids of their ``if``) of what is done where a lane is kept; it changes nothing, or what is overwritten later, where none is.
    """

    def __init__(self, f: Function, shapes: Divergence, lanes: int, width: int, has: Asked) -> None:
        super().__init__(f, shapes, lanes, width, has)
        self.counters: dict[int, Counter] = {}
        self.buffered = False
        self.ample = False
        self.skips = False
        self.kept: set[int] = set()

    def begin_counting(self) -> None:
        """In front of the loop: the buffers, empty."""
        f = self.f
        for counter in self.counters.values():
            if not self.buffered or self.ample:
                continue
            if counter.stores:
                counter.fill = f.register(I64, "held", True)
                self._put(counter.fill, f.const(I64, 0))
            for instr in counter.stores:
                type_ = self.full(instr.type)
                number = len(f.arrays)
                buffer = f.local_array(f"{f.arrays[instr.imm].name}.held", instr.type, ((BUFFERED + 1) * self.lanes,))
                buffer.written = True
                self.out.append(Instr(ops.LOCAL, PTR, buffer.base, [f.const(I64, number)], 0, self.line))
                counter.buffers[instr.imm] = number, type_

    def compact(self, instr: Instr) -> None:
        """A store at a counter: the values of the lanes that run, behind what the buffer holds."""
        counter = self.counters[instr.args[-1]]
        type_ = self.full(instr.type)
        # (Where few are kept, most vectors have none.)
        if (self.skips or not self.ample) and (not counter.together or instr is counter.stores[0]):
            some = self.define(ops.NE, I64, [self.bits(), self.f.const(I64, 0)], BOOL)
            opener = Instr(ops.IF, VOID, NONE, [some], 0, self.line)
            self.out.append(opener)
            if self.skips and counter.together:
                self.kept.add(id(opener))
        at = counter.fill if counter.fill != NONE else counter.variable
        for packed, count in self.packed(type_, self.vector(instr.args[0])):
            if counter.fill != NONE:
                self.out.append(Instr(ops.STORE, self.f.type_of(packed), NONE, [packed, at], counter.buffers[instr.imm][0], self.line))
            elif self.ample:
                self.out.append(Instr(ops.STORE, self.f.type_of(packed), NONE, [packed, *instr.args[1:-1], at], instr.imm, self.line))
            else:
                masked = self.f.type_of(packed)
                self.out.append(Instr(ops.MASKED_STORE, masked, NONE, [self._first(masked, count), packed, *instr.args[1:-1], at], instr.imm, self.line))
            at = self.scalar(ops.ADD, at, count)
        if (self.skips or not self.ample) and not counter.together:
            self._end()

    def deal_out(self, instr: Instr) -> int:
        """A load at a counter: as many elements as there are lanes that run, dealt out to them."""
        counter = self.counters[instr.args[-1]]
        type_ = self.full(instr.type)
        at = counter.variable
        if counter.fill != NONE:
            at = self.define(ops.ADD, I64, [at, counter.fill], I64)
        loaded = self.define(ops.MASKED_LOAD, type_, [self._first(type_, self.count()), *instr.args[:-1], at], type_, VOID, instr.imm)
        return self.dealt(type_, loaded)

    def advance(self, variable: int) -> None:
        """The counter goes on by as many as there are lanes that run; a buffer that is full is emptied."""
        counter = self.counters[variable]
        goes_on = counter.fill if counter.fill != NONE else variable
        self._put(goes_on, self.count(), ops.ADD)
        if counter.fill != NONE:
            self._empty_full(counter)
        if counter.together and counter.stores and (self.skips or not self.ample):
            self._end()

    def _empty_full(self, counter: Counter) -> None:
        """Empty a buffer that is full."""
        f = self.f
        whole = f.const(I64, BUFFERED * self.lanes)
        full = self.define(ops.GE, I64, [counter.fill, whole], BOOL)
        self.out.append(Instr(ops.IF, VOID, NONE, [full], 0, self.line))
        self._empty(counter, whole, None)
        for number, type_ in counter.buffers.values():
            rest = self.define(ops.LOAD, type_, [whole], type_, VOID, number)
            self.out.append(Instr(ops.STORE, type_, NONE, [rest, f.const(I64, 0)], number, self.line))
        self._put(counter.variable, whole, ops.ADD)
        self._put(counter.fill, whole, ops.SUB)
        self._end()

    def end_counting(self) -> None:
        """Behind the loop: what the buffers still hold goes where it belongs."""
        for counter in self.counters.values():
            if counter.fill != NONE:
                self._empty(counter, counter.fill, self.mask_type)
                self._put(counter.variable, counter.fill, ops.ADD)

    def _end(self) -> None:
        """Close a bracket."""
        self.out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))

    def _first(self, type_: Type, count: int) -> int:
        """The mask of the first lanes of a vector."""
        mask = mask_of(type_.bits, type_.lanes)
        return self.define(ops.FIRST_LANES, mask, [count], mask)

    def _put(self, variable: int, operand: int, op: ops.Op = ops.COPY) -> None:
        """Write a variable, or add to it."""
        self.out.append(Instr(op, I64, variable, [operand] if op is ops.COPY else [variable, operand], 0, self.line))

    def _empty(self, counter: Counter, count: int, masks: Type | None) -> None:
        """Copy elements of the buffers to their arrays, by whole vectors or, with ``masks``, as many as there are."""
        f = self.f
        index = f.register(I64)
        loop = None
        mask = NONE
        if masks is not None:
            mask = f.register(masks)
            held = f.register(I64)
            self.out.append(Instr(ops.COPY, I64, held, [count], 0, self.line))
            count = held
            loop = Loop(mask, 1)
        self.out.append(Instr(ops.FOR, VOID, index, [f.const(I64, 0), count, f.const(I64, self.lanes)], 0, self.line, loop=loop))
        at = self.define(ops.ADD, I64, [counter.variable, index], I64)
        for instr in counter.stores:
            number, type_ = counter.buffers[instr.imm]
            places = [*instr.args[1:-1], at]
            if masks is None:
                value = self.define(ops.LOAD, type_, [index], type_, VOID, number)
                self.out.append(Instr(ops.STORE, type_, NONE, [value, *places], instr.imm, self.line))
            else:
                there = self.fitted(mask, type_.bits)
                value = self.define(ops.MASKED_LOAD, type_, [there, index], type_, VOID, number)
                self.out.append(Instr(ops.MASKED_STORE, type_, NONE, [there, value, *places], instr.imm, self.line))
        self._end()


def movable(f: Function, found: dict[int, Counter], lanes: int, has: Asked, bits: int = 0) -> bool:
    """Whether a machine moves so many lanes as counters need; with ``bits`` of elements of so many only."""
    for counter in found.values():
        for instr in counter.stores:
            if (not bits or instr.type.bits == bits) and not can_pack(f.arrays[instr.imm].element, lanes, has):
                return False
        for instr in counter.loads:
            if (not bits or instr.type.bits == bits) and not can_deal(instr.type, lanes, has):
                return False
    return True
