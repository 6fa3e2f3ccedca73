"""Live intervals and what the allocator knows about each.

Locations number the program points: instruction k reads its operands at ``2k`` and writes its result at ``2k + 1``.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Instr

#: A location after every other.
NEVER: Final = 1 << 60


class Interval:
    """The life of one virtual register.

    Attributes:
        register: the virtual register's number.
        cls: register class.
        starts, ends: its ranges ``[start, end)`` as two lists; while liveness runs backwards the earliest is last,
            afterwards the earliest is first. What lies between two ranges is a hole.
        refs: locations of its definitions and uses, latest first: the next one is last, and popped when passed.
        weights: per instruction, what a reference there weighs (the same list for all).
        defs: number of definitions; ``def_weight`` their summed weight.
        preferences: registers (bit mask) that fixed references would like it in.
        related: the interval it is copied from or to, or None.
        crosses_call: is live across a call; ``killed``: the registers (bit mask) that are destroyed while it lives.
        constant: for a value that can be made again anywhere, its operand, otherwise 0: a copied constant's own, or, from ``MADE_AGAIN`` down, ``MADE_AGAIN - n`` for
            that of the n-th instruction of ``Liveness.again``.
        again: what making it again costs against loading it, where ``constant`` says that it can be.
        register_now: where it is: a physical register, or -1 for memory (or nowhere, when not live).
        previous: the last physical register it had, or -1.
        floor: what its references cost when the innermost loop around is repeated.
        spilled: it has been in memory, so it needs a slot.
        homed: its home in memory is good from its definition on.
        slot: slot operand, once known; -1 before.
        incoming: it is a stack argument; its home is the caller's frame.
        stores: (position in the output, register) of the places where a register's value went to memory, if any.
        defined_at, defined_in: position in the output after the first definition, and its register; -1 before there is one.
        definitions: the same of further ones, if any.
        store_weight: summed weight of ``stores``.
    """

    __slots__ = (
        "again",
        "cls",
        "constant",
        "crosses_call",
        "def_weight",
        "defined_at",
        "defined_in",
        "definitions",
        "defs",
        "ends",
        "floor",
        "homed",
        "incoming",
        "killed",
        "preferences",
        "previous",
        "refs",
        "register",
        "register_now",
        "related",
        "slot",
        "spilled",
        "starts",
        "store_weight",
        "stores",
        "weights",
    )

    def __init__(self, register: int, cls: int, weights: list[float], again: float = 0.5) -> None:
        self.register = register
        self.again = again
        self.weights = weights
        self.cls = cls
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.refs: list[int] = []
        self.defs = 0
        self.def_weight = 0.0
        self.preferences = 0
        self.related: Interval | None = None
        self.crosses_call = False
        self.killed = 0
        self.constant = 0
        self.register_now = -1
        self.previous = -1
        self.floor = 0.0
        self.spilled = False
        self.homed = False
        self.slot = -1
        self.incoming = False
        self.stores: list[tuple[int, int]] | None = None
        self.defined_at = -1
        self.defined_in = -1
        self.definitions: list[tuple[int, int]] | None = None
        self.store_weight = 0.0

    def add_range(self, start: int, end: int) -> None:
        """Add ``[start, end)``; called with falling starts, so only the earliest ranges can meet it."""
        starts = self.starts
        ends = self.ends
        while starts and starts[-1] <= end:
            last = ends.pop()
            first = starts.pop()
            end = max(end, last)
            start = min(start, first)
        starts.append(start)
        ends.append(end)

    def range_end(self, location: int) -> int:
        """The end of the range that covers ``location`` (or of the first one after it)."""
        for end in self.ends:
            if end > location:
                return end
        return location

    @property
    def last(self) -> int:
        """The end of the whole interval."""
        return self.ends[-1]

    def next_ref(self) -> int:
        """The nearest location at which it is referenced again; its end when the next reference is by way of a loop."""
        if self.refs:
            return self.refs[-1]
        return self.ends[-1] if self.ends else NEVER

    def defined(self, at: int, r: int) -> None:
        """It is defined in register ``r``, and may be stored at ``at`` of the output."""
        if self.defined_at < 0:
            self.defined_at = at
            self.defined_in = r
        elif self.definitions is None:
            self.definitions = [(at, r)]
        else:
            self.definitions.append((at, r))

    def all_definitions(self) -> list[tuple[int, int]]:
        """(position in the output, register) after each definition."""
        found = [(self.defined_at, self.defined_in)] if self.defined_at >= 0 else []
        return found if self.definitions is None else found + self.definitions

    def next_cost(self) -> float:
        """What its next reference costs if it is in memory then: there it is brought back."""
        return self.weights[self.refs[-1] >> 1] if self.refs else 0.0

    def cost(self) -> float:
        """What it costs to have it in memory now: the next reference, and the store. A constant needs none and is made again, not loaded."""
        cost = self.next_cost()
        if self.floor > cost:  # noqa: PLR1730 (no calls: for every register that is looked at)
            cost = self.floor
        if self.constant != 0:
            return cost * self.again
        return cost if self.homed or self.defs == 0 else cost + self.def_weight / self.defs

    def defined_until(self, location: int) -> bool:
        """Whether it is defined between now and ``location``."""
        refs = self.refs
        k = len(refs) - 1
        while k >= 0 and refs[k] <= location:
            if refs[k] & 1:
                return True
            k -= 1
        return False

    def weight_until(self, location: int) -> float:
        """Summed weight of the references from now up to ``location``."""
        refs = self.refs
        weights = self.weights
        total = 0.0
        k = len(refs) - 1
        while k >= 0 and refs[k] <= location:
            total += weights[refs[k] >> 1]
            k -= 1
        return total


class LoopInfo:
    """A loop as the allocator sees it.

    Attributes:
        head, end: indices of its brackets.
        depth: 1 for an outermost loop.
        live: virtual registers live at its head.
        kills: physical registers destroyed inside (bit mask).
        pressure: per register class, the most values live at once inside, scratch registers included.
        across: per register class, the most values live across an instruction inside that destroys some of its registers.
    """

    __slots__ = ("across", "depth", "end", "head", "kills", "live", "pressure")

    def __init__(self, head: int, end: int, depth: int) -> None:
        self.head = head
        self.end = end
        self.depth = depth
        self.live: set[int] = set()
        self.kills = 0
        self.pressure: list[int] = []
        self.across: list[int] = []


#: "Constants" from here down are what certain instructions make (addresses of what has a number), which stand in their place in the end.
MADE_AGAIN: Final = -(1 << 20)


class Liveness:
    """The result of the liveness analysis.

    Attributes:
        intervals: by virtual register number; None for registers that never occur.
        dies: per instruction, a bit per operand that is read for the last time.
        dead: per instruction, its result is never read.
        live_after: per opening bracket (block, if), the registers live after its end; for else (by its index) those
            live at its beginning.
        drops: per conditional branch or if, the registers live only the other way.
        loops: by index of the loop's opening bracket.
        weights: per instruction, the weight of a reference there.
        fixed: per physical register, the locations where an instruction demands or destroys it, latest first.
        again: instructions that make what can be made again anywhere.
        owners: parallel to ``fixed``: the virtual register demanded there, what the instruction that destroys it makes, or -1.
    """

    __slots__ = ("again", "dead", "dies", "drops", "fixed", "intervals", "live_after", "loops", "owners", "weights")

    def __init__(self, registers: int, length: int, physical: int) -> None:
        self.intervals: list[Interval | None] = [None] * registers
        self.dies: list[int] = [0] * length
        self.dead: list[bool] = [False] * length
        self.live_after: dict[int, set[int]] = {}
        self.again: list[Instr] = []
        self.drops: dict[int, list[int]] = {}
        self.loops: dict[int, LoopInfo] = {}
        self.weights: list[float] = [1.0] * length
        # (One empty list for all registers that nobody demands, which are most.)
        self.fixed: list[list[int]] = [[]] * physical
        self.owners: list[list[int]] = [[]] * physical

    def demand(self, r: int, location: int, owner: int) -> None:
        """Physical register ``r`` is demanded or destroyed at a location, for virtual register ``owner`` or none (-1)."""
        points = self.fixed[r]
        if points:
            points.append(location)
            self.owners[r].append(owner)
        else:
            self.fixed[r] = [location]
            self.owners[r] = [owner]

    def part(self) -> None:
        """Forget which intervals are related: they refer to each other, and would stay until a garbage collection."""
        for interval in self.intervals:
            if interval is not None:
                interval.related = None
