"""Where control meets: which values are where when it arrives, and what loops keep in registers."""

from __future__ import annotations

from typing import Final

from loopwright.ir.loops import LOOP_WEIGHT
from loopwright.regalloc.intervals import Interval, Liveness, LoopInfo
from loopwright.regalloc.liveness import Brackets
from loopwright.regalloc.output import BEFORE, SPLIT, Edge
from loopwright.regalloc.registers import Registers
from loopwright.targets.target import Target

#: A variable is expected at the next join, but not in a register that it could get now.
ELSEWHERE: Final = -2


def _registers(where: dict[int, int]) -> int:
    """The registers (bit mask) that a state has values in."""
    mask = 0
    for r in where.values():
        if r >= 0:
            mask |= 1 << r
    return mask


class Joins:
    """The state at joins and at the heads of loops.

    Attributes:
        arrival: by opening bracket, where each live value must be when control arrives.
        saved: by opening bracket of an if, where each was at its beginning.
        open: the brackets around, by their openers; ``inside`` the loops of them, outermost first.
        expected: per loop of those, the registers (bit mask) in which its head expects values.
        reachable: control can get to where the walk is.
    """

    __slots__ = (
        "arrival",
        "expected",
        "floor_marks",
        "floors",
        "inside",
        "intervals",
        "liveness",
        "open",
        "output",
        "reachable",
        "registers",
        "saved",
        "shape",
        "target",
    )

    def __init__(self, target: Target, liveness: Liveness, shape: Brackets, registers: Registers) -> None:
        self.target = target
        self.liveness = liveness
        self.intervals = liveness.intervals
        self.shape = shape
        self.registers = registers
        self.output = registers.output
        self.arrival: dict[int, dict[int, int]] = {}
        self.saved: dict[int, dict[int, int]] = {}
        self.reachable = True
        self.floors: list[tuple[Interval, float]] = []
        self.floor_marks: list[int] = []
        self.open: list[int] = []
        self.inside: list[LoopInfo] = []
        self.expected: list[int] = []

    def snapshot(self, live: set[int]) -> dict[int, int]:
        """Where each of these values is now."""
        intervals = self.intervals
        where: dict[int, int] = {}
        for v in live:
            interval = intervals[v]
            if interval is not None:
                where[v] = interval.register_now
        return where

    def adopt(self, where: dict[int, int]) -> None:
        """Continue from a recorded state."""
        registers = self.registers
        state = registers.state
        bits = state.active
        while bits:
            low = bits & -bits
            r = low.bit_length() - 1
            holder = state.holder[r]
            if holder is not None:
                holder.register_now = -1
                if registers.history is not None:
                    registers.history.moves.append((registers.location, holder.register, -1))
                if not holder.refs:
                    state.holder[r] = None
                    state.held &= ~low
            bits ^= low
        state.active = 0
        self.forget_constants()
        for v, r in where.items():
            interval = self.intervals[v]
            if interval is None:
                continue
            if r >= 0:
                old = state.holder[r]
                if old is not None and old is not interval:
                    state.holder[r] = None
                registers.place(interval, r)
            else:
                interval.register_now = -1
        self.reachable = True

    def forget_constants(self) -> None:
        """Control may arrive from elsewhere: registers are known to contain only what their holders say."""
        state = self.registers.state
        for r in range(len(state.constant_in)):
            if state.constant_in[r] != 0 and not state.active >> r & 1:
                state.constant_in[r] = 0

    def edge(self, opener: int, live: set[int], at: int, kind: int) -> None:
        """Control goes from here to the bracket's arrival point. The first to do so decides where values are there."""
        registers = self.registers
        where = self.arrival.get(opener)
        if where is None:
            where = self.snapshot(live)
            self.arrival[opener] = where
            # (A loop that has been left does not matter.)
            if not self.inside or opener < self.inside[-1].head or opener in self.liveness.loops or not self.suit_loop(where, kind):
                return
            if kind == SPLIT:
                # What is in memory now needs no code, and nothing else was changed.
                return
        made: Edge | None = None
        for v, wanted in where.items():
            interval = self.intervals[v]
            if interval is None or interval.register_now == wanted:
                continue
            if wanted < 0 and (interval.constant != 0 or interval.homed):
                continue
            if made is None:
                made = Edge(at, kind, registers.weight, ~(registers.state.active | _registers(where)))
                self.output.edges.append(made)
            made.moves.append((interval, interval.register_now, wanted))
            if wanted < 0 or interval.register_now < 0:
                self.output.to_memory(interval)
                if wanted < 0:
                    interval.store_weight += registers.weight

    def suit_loop(self, where: dict[int, int], kind: int) -> bool:
        """Change a state to what the loop around expects at its head, of values that it does not want any more before it gets there.

        Those it has in memory at its head are left there, if they are there already; those it has in another register
        are moved to it (not on a conditional edge: that would need code of its own). Returns whether anything is changed.
        """
        info = self.inside[-1]
        end = 2 * info.end
        at_head = self.arrival[info.head]
        changed = False
        taken: set[int] | None = None
        for v, r in where.items():
            if r < 0:
                continue
            at = at_head.get(v, r)
            if at == r:
                continue
            interval = self.intervals[v]
            assert interval is not None
            if interval.refs and interval.refs[-1] <= end:
                continue
            if at < 0:
                if interval.constant != 0 or interval.homed:
                    where[v] = -1
                    changed = True
            elif kind == BEFORE:
                if taken is None:
                    taken = set(where.values())
                if at not in taken:
                    where[v] = at
                    taken.add(at)
                    changed = True
        return changed

    def arrival_set(self, opener: int) -> set[int]:
        info = self.liveness.loops.get(opener)
        return info.live if info is not None else self.liveness.live_after[opener]

    def enter_loop(self, info: LoopInfo) -> None:
        """Decide what the loop keeps in registers, bring that about, and fix it as the state at the loop's head.

        When more values are live inside than there are registers, those with the cheapest references in the loop
        stay in memory; the others are loaded before it. What lives across a call in the loop gets one of the registers that it spares
        or, when there are too few, is in memory.
        """
        intervals = self.intervals
        end = 2 * info.end + 1
        masks = self.target.class_masks
        by_class: list[list[tuple[float, bool, float, int]]] = [[] for _ in masks]
        # Where there is room for all and nothing is destroyed, only what is in memory is of interest.
        crowded = [info.kills != 0 or info.pressure[cls] > masks[cls].bit_count() for cls in range(len(masks))]
        floors = self.floors
        self.floor_marks.append(len(floors))
        for v in info.live:
            interval = intervals[v]
            if interval is None:
                continue
            cls = interval.cls
            if crowded[cls] or interval.register_now < 0:
                weight = interval.weight_until(end)
                if interval.constant != 0:
                    weight *= interval.again
                by_class[cls].append((weight, interval.register_now >= 0, interval.cost(), v))
        for cls in range(len(by_class)):
            ranked = by_class[cls]
            if ranked:
                # The cheapest first; of equals, those in memory already.
                ranked.sort()
                self.prepare(info, cls, ranked)
        for v in info.live:
            interval = intervals[v]
            if interval is None or not interval.refs:
                continue
            if (
                interval.register_now < 0
                and interval.defs > 1
                and not interval.homed
                and interval.def_weight <= (1.0 + LOOP_WEIGHT) * self.registers.weight
                and interval.defined_until(end)
            ):
                # It is stored now and before each turn that follows: as well where it is defined.
                self.output.to_memory(interval)
                interval.homed = True
            if interval.refs[-1] < end:
                again = interval.next_cost()
                if again > interval.floor:
                    floors.append((interval, interval.floor))
                    interval.floor = again
        self.forget_constants()
        where = self.snapshot(info.live)
        self.arrival[info.head] = where
        self.inside.append(info)
        self.expected.append(_registers(where))

    def prepare(self, info: LoopInfo, cls: int, ranked: list[tuple[float, bool, float, int]]) -> None:
        """``enter_loop`` for the values of one class: (weight in the loop, in a register now, cost in memory, value), cheapest first."""
        registers = self.registers
        state = registers.state
        mask = self.target.class_masks[cls]
        kills = info.kills
        spared = mask & ~kills
        lost = mask & kills
        # How many values cannot have a register all through the loop, and how many of those that live across calls cannot.
        excess = max(info.pressure[cls] - mask.bit_count(), 0)
        crowd = max(info.across[cls] - spared.bit_count(), 0) if kills else 0
        values = [self.interval_of(v) for _, _, _, v in ranked]
        weights = [weight for weight, _, _, _ in ranked]
        left = crowd
        for n in range(len(values)):
            interval = values[n]
            r = interval.register_now
            out = n < excess or (r >= 0 and weights[n] == 0.0 and kills >> r & 1 != 0)
            if left > 0 and interval.killed & lost:
                left -= 1
                out = True
            if out and r >= 0:
                registers.evict(interval)
        if kills:
            for n in range(len(values) - 1, -1, -1):
                interval = values[n]
                r = interval.register_now
                if r < 0 or not (interval.killed & kills) >> r & 1:
                    continue
                if spared & ~state.active and interval.constant == 0:
                    registers.clear_register(r, kills)
                elif interval.refs and state.destroyed(r, registers.location) < interval.refs[-1]:
                    registers.evict(interval)
        for n in range(len(values) - 1, excess - 1, -1):
            interval = values[n]
            free = spared & ~state.active
            if interval.register_now < 0 and weights[n] > 0.0 and free and not (n < crowd and interval.killed & lost):
                registers.reload(interval, registers.take(interval, free, False))

    def interval_of(self, v: int) -> Interval:
        interval = self.intervals[v]
        assert interval is not None
        return interval

    def leave_loop(self) -> None:
        # Nothing goes to its head any more.
        del self.arrival[self.inside.pop().head]
        self.expected.pop()
        mark = self.floor_marks.pop()
        while len(self.floors) > mark:
            interval, floor = self.floors.pop()
            interval.floor = floor

    def not_back(self, v: int, interval: Interval) -> bool:
        """Whether a value is read for the last time in this turn of the loop, and is in memory when the next one begins.

        Then it need not stay in a register, if its home holds it.
        """
        if interval.constant == 0 and not interval.homed:
            return False
        info = self.inside[-1]
        return (not interval.refs or interval.refs[-1] > 2 * info.end) and self.arrival[info.head].get(v, 0) < 0

    def hint(self, interval: Interval, candidates: int) -> int:
        """The register in which the nearest place that control will come to expects a variable: a join reached before, or the head of a loop.

        -1 if there is no such place; ``ELSEWHERE`` if it is expected in memory, or in a register that is not free or no candidate.
        """
        if interval.defs <= 1:
            return -1
        v = interval.register
        leaves = self.shape.leaves
        n = len(self.open)
        while n > 0:
            n -= 1
            opener = self.open[n]
            while opener in leaves:
                # The arm ends by going there: what is between does not see the value.
                opener = leaves[opener]
                while self.open[n] != opener:
                    n -= 1
            where = self.arrival.get(opener)
            if where is not None and v in where:
                r = where[v]
                return r if r >= 0 and candidates & ~self.registers.state.active & (1 << r) else ELSEWHERE
        return -1

    def take_for_result(self, interval: Interval, candidates: int, source: int) -> int:
        """A register for what an instruction defines; ``source``: the register it comes from, where it is a mere copy, or -1."""
        registers = self.registers
        r = self.hint(interval, candidates)
        if r >= 0:
            registers.tell(interval, candidates, r, "where the next join, or the loop's head, expects the variable")
            registers.place(interval, r)
            return r
        free = candidates & ~registers.state.active
        if r == ELSEWHERE and self.inside:
            # Not where another variable is expected.
            free &= ~self.expected[-1]
            if free:
                candidates = free
        if 0 <= source < len(registers.class_of_register) and free >> source & 1 and not interval.killed >> source & 1:
            registers.tell(interval, candidates, source, "where the value is that is copied, for the last time")
            registers.place(interval, source)
            return source
        return registers.take(interval, candidates, False)
