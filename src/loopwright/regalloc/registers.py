"""Choosing registers, and moving values between them and memory."""

from __future__ import annotations

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import SLOT, Function, Instr
from loopwright.regalloc.heuristics import (
    NEEDS_CONSTANT,
    NEEDS_HISTORY,
    NEEDS_PREFERENCES,
    NEEDS_PREVIOUS,
    NEEDS_RELATED,
    Plan,
    RegisterState,
    spill_cost,
)
from loopwright.regalloc.history import Decision, History
from loopwright.regalloc.intervals import Interval, Liveness
from loopwright.regalloc.output import Output
from loopwright.targets.target import Target
from loopwright.types import Type


class Registers:
    """Which value is in which register: chooses registers, and moves values between them and memory.

    Attributes:
        state: what the filters read.
        plan: the filters in the order in force.
        history: what happened, when that is wanted.
        location, weight, line: of the instruction under way.
        replaced: what the register placed last was known to contain before.
    """

    __slots__ = (
        "class_of_register",
        "f",
        "history",
        "line",
        "location",
        "out",
        "output",
        "plan",
        "replaced",
        "state",
        "target",
        "weight",
    )

    def __init__(self, f: Function, target: Target, liveness: Liveness, plan: Plan, output: Output, history: History | None) -> None:
        self.f = f
        self.target = target
        self.plan = plan
        self.output = output
        self.out = output.out
        self.history = history
        self.state = RegisterState(len(target.registers), liveness.fixed, liveness.owners, target.caller_saved, target.order_masks)
        self.class_of_register = target.class_of_register
        self.weight = 1.0
        self.location = 0
        self.line = 0
        self.replaced = 0

    # --- choosing a register ------------------------------------------------------------------------------

    def choose(self, interval: Interval, candidates: int) -> int:
        """Narrow the candidates (not empty) to one register by the filters in their order."""
        if self.history is not None:
            return self.choose_and_tell(interval, candidates, self.history)
        if not candidates & (candidates - 1):
            return candidates.bit_length() - 1
        state = self.state
        location = self.location
        plan = self.plan
        if plan.free_first:
            # With A out of the way, what is left has often no history.
            free = candidates & ~state.active
            if free:
                if not free & (free - 1):
                    return free.bit_length() - 1
                candidates = free
        present = 0
        if interval.constant != 0:
            present = NEEDS_CONSTANT
        if interval.related is not None:
            present |= NEEDS_RELATED
        if interval.preferences:
            present |= NEEDS_PREFERENCES
        if interval.previous >= 0:
            present |= NEEDS_PREVIOUS
        if candidates & (state.active | state.held | state.fixed_any):
            present |= NEEDS_HISTORY
        for narrow in plan.acting(present):
            kept = narrow(state, interval, candidates, location) & candidates
            if kept:
                candidates = kept
                if not kept & (kept - 1):
                    break
        return (candidates & -candidates).bit_length() - 1

    def first(self, cls: int, candidates: int) -> int:
        """The first of these registers in the order of allocation."""
        for bit in self.state.orders[cls]:
            if candidates & bit:
                return bit.bit_length() - 1
        return candidates.bit_length() - 1

    def choose_and_tell(self, interval: Interval, candidates: int, history: History) -> int:
        """``choose``, with a record of what each filter did."""
        decision = Decision(self.location, interval.register, candidates, interval.cost())
        history.decisions.append(decision)
        if not candidates & (candidates - 1):
            decision.reason = "the only candidate"
        else:
            for letter, narrow in zip(self.plan.letters, self.plan.filters, strict=True):
                kept = narrow(self.state, interval, candidates, self.location) & candidates
                if kept and kept != candidates:
                    decision.steps.append((letter, candidates, kept))
                    candidates = kept
                    if not kept & (kept - 1):
                        break
        r = (candidates & -candidates).bit_length() - 1
        decision.chosen = r
        holder = self.state.holder[r]
        if self.state.active >> r & 1 and holder is not None:
            decision.victim = holder.register
            decision.cost = holder.cost()
        return r

    def tell(self, interval: Interval, candidates: int, r: int, reason: str) -> None:
        """Record a choice that no filter made."""
        if self.history is not None:
            decision = Decision(self.location, interval.register, candidates, interval.cost())
            decision.chosen = r
            decision.reason = reason
            self.history.decisions.append(decision)

    def take(self, interval: Interval, candidates: int, optional: bool) -> int:
        """A register for the interval, spilling its holder if it has one; -1 when the value had better stay in memory."""
        if not candidates:
            if optional:
                return -1
            raise InternalError(f"no register is left for a {self.f.types[interval.register].name} in {self.f.name}", "")
        state = self.state
        if optional and interval.constant != 0 and not candidates & ~state.active:
            # A constant operand from memory costs next to nothing: it drives nobody out.
            self.tell(interval, candidates, -1, "nothing is free, and the instruction takes the constant from memory")
            return -1
        previous = interval.previous
        if previous >= 0 and state.holder[previous] is interval and candidates & ~state.active & (1 << previous):
            r = previous
            self.tell(interval, candidates, r, "still in the register of its last reference")
        else:
            r = self.choose(interval, candidates)
        if state.active >> r & 1:
            if optional and spill_cost(state, r) >= interval.cost():
                if self.history is not None:
                    self.history.decisions[-1].chosen = -1
                    self.history.decisions[-1].reason = "the cheapest victim costs as much as the value itself, which the instruction takes from memory"
                return -1
            holder = state.holder[r]
            assert holder is not None
            self.evict(holder)
        self.place(interval, r)
        return r

    # --- moving values about ------------------------------------------------------------------------------

    def place(self, interval: Interval, r: int) -> None:
        """The interval is in free register ``r`` from now on."""
        state = self.state
        bit = 1 << r
        old = state.holder[r]
        if old is not interval:
            if interval.previous >= 0 and state.holder[interval.previous] is interval:
                state.holder[interval.previous] = None
                state.held &= ~(1 << interval.previous)
            state.holder[r] = interval
        state.active |= bit
        state.held |= bit
        self.replaced = state.constant_in[r]
        state.constant_in[r] = interval.constant
        interval.register_now = r
        interval.previous = r
        self.output.used |= bit
        if self.history is not None:
            self.history.moves.append((self.location, interval.register, r))

    def advance(self, interval: Interval) -> None:
        """Pass the references up to here (those in code that control cannot reach too)."""
        refs = interval.refs
        while refs and refs[-1] <= self.location:
            refs.pop()

    def release(self, interval: Interval) -> None:
        """The interval leaves its register: it is dead, in a hole, or in memory."""
        r = interval.register_now
        if r < 0:
            return
        if self.history is not None:
            self.history.moves.append((self.location, interval.register, -1))
        state = self.state
        bit = 1 << r
        state.active &= ~bit
        if not interval.refs:
            state.holder[r] = None
            state.held &= ~bit
        interval.register_now = -1

    def leave(self, interval: Interval, r: int) -> None:
        """The interval is no longer in ``r``, where it was for the instruction's sake; it may have been defined anew elsewhere."""
        if interval.register_now == r:
            self.release(interval)
            return
        state = self.state
        state.active &= ~(1 << r)
        if state.holder[r] is interval or state.holder[r] is None:
            state.holder[r] = None
            state.held &= ~(1 << r)

    def evict(self, interval: Interval) -> None:
        """The interval's value goes to memory, here."""
        if self.history is not None:
            self.history.spills.append((self.location, interval.register))
        self.output.to_memory(interval)
        self.settle(interval)
        if not interval.homed:
            if interval.stores is None:
                interval.stores = []
            interval.stores.append((len(self.out), interval.register_now))
            interval.store_weight += self.weight
        r = interval.register_now
        self.release(interval)
        self.state.holder[r] = None
        self.state.held &= ~(1 << r)

    def settle(self, interval: Interval) -> None:
        """Decide to store a value wherever it is defined, if that is no dearer than a store here; then its home always holds it."""
        if interval.defs > 0 and interval.def_weight <= self.weight:
            interval.homed = True

    def copy(self, type_: Type, destination: int, source: int) -> None:
        self.out.append(Instr(ops.COPY, type_, destination, [source], 0, self.line))

    def reload(self, interval: Interval, r: int) -> None:
        """Bring the value from memory into the register it was placed in."""
        if self.history is not None:
            self.history.reloads.append((self.location, interval.register))
        source = self.output.home(interval)
        if source >= SLOT:
            self.output.statistics.reloads += 1
            self.output.statistics.spill_weight += self.weight
        elif self.replaced == source:
            # The constant is still there.
            return
        self.copy(self.f.types[interval.register], r, source)

    def clear_register(self, r: int, avoid: int) -> None:
        """Get the holder of ``r`` out of it: into another free register if there is one not in ``avoid``, else to memory."""
        state = self.state
        holder = state.holder[r]
        assert holder is not None
        free = self.target.class_masks[holder.cls] & ~state.active & ~avoid & ~(1 << r)
        # A register that has to be saved first costs a store and a load of its own.
        saved = free & ~(self.target.convention.callee_saved & ~self.output.used)
        if saved:
            free = saved
        if free and holder.constant == 0:
            self.release(holder)
            new = self.choose(holder, free)
            self.copy(self.f.types[holder.register], new, r)
            self.place(holder, new)
        else:
            self.evict(holder)
