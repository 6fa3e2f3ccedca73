"""Linear scan register allocation over structured code, in the shape of RyuJIT's LSRA.

One forward walk over the instructions. Each value is, at any point, either in one register or in memory (a stack
slot, the caller's frame, or nowhere for a constant that can be made again). Where control flow joins, the first edge
seen decides where each value is (a loop's head: the entry), and moves on the other edges bring the values there.
Which register a value gets is decided by the 17 filters of ``heuristics`` in the order given.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import INCOMING, SLOT, Function, Instr, Slot
from loopwright.regalloc.ending import BEFORE, SPLIT, Edge, Ending, Statistics
from loopwright.regalloc.heuristics import Filter, RegisterState, filter_reg_order, filters_in_order, spill_cost
from loopwright.regalloc.history import Decision, History
from loopwright.regalloc.intervals import Interval, Liveness, LoopInfo
from loopwright.regalloc.liveness import Brackets
from loopwright.targets.target import ANY_REGISTER, VECTORS, Rule, Target
from loopwright.types import Type


class LinearScan(Ending):
    """The state of one allocation. ``run`` does the work."""

    def __init__(self, f: Function, target: Target, liveness: Liveness, shape: Brackets, order: str) -> None:
        super().__init__(f, target)
        self.liveness = liveness
        self.shape = shape
        self.filters: list[Filter] = filters_in_order(order)
        self.order = order
        self.history: History | None = None
        count = len(target.registers)
        rank = [0] * count
        for class_order in target.orders:
            for place in range(len(class_order)):
                rank[class_order[place]] = place
        self.state = RegisterState(count, liveness.fixed, liveness.owners, target.caller_saved, rank)
        self.class_of_register: list[int] = [register.cls for register in target.registers]
        self.intervals = liveness.intervals
        #: by opening bracket: where each live value must be when control arrives
        self.arrival: dict[int, dict[int, int]] = {}
        self.saved: dict[int, dict[int, int]] = {}
        self.reachable = True
        self.weight = 1.0
        self.location = 0
        self.line = 0
        self.floors: list[tuple[Interval, float]] = []
        self.floor_marks: list[int] = []
        #: the loops around, outermost first
        self.inside: list[LoopInfo] = []
        #: the brackets around, by their openers
        self.open: list[int] = []
        #: what the register placed last was known to contain before
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
        for narrow in self.filters:
            kept = narrow(state, interval, candidates, location) & candidates
            if kept:
                candidates = kept
                if not kept & (kept - 1):
                    break
        return (candidates & -candidates).bit_length() - 1

    def choose_and_tell(self, interval: Interval, candidates: int, history: History) -> int:
        """``choose``, with a record of what each filter did."""
        decision = Decision(self.location, interval.register, candidates, interval.cost())
        history.decisions.append(decision)
        if not candidates & (candidates - 1):
            decision.reason = "the only candidate"
        else:
            for letter, narrow in zip(self.order, self.filters, strict=True):
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
        self.used |= bit
        if self.history is not None:
            self.history.moves.append((self.location, interval.register, r))

    def advance(self, interval: Interval) -> None:
        """Pass the references up to here (those in code that control cannot reach too)."""
        refs = interval.refs
        costs = interval.costs
        while refs and refs[-1] <= self.location:
            refs.pop()
            costs.pop()

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
        self.to_memory(interval)
        self.settle(interval)
        if not interval.homed:
            interval.stores.append((len(self.out), interval.register_now))
            interval.store_weight += self.weight
        r = interval.register_now
        self.release(interval)
        self.state.holder[r] = None
        self.state.held &= ~(1 << r)

    def wanted(self, interval: Interval) -> int:
        """The register in which the nearest place that control has reached already expects a variable: a join, or the head of a loop."""
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
            if where is not None:
                r = where.get(v, -1)
                if r >= 0:
                    return r
        return -1

    def settle(self, interval: Interval) -> None:
        """Decide to store a value that is defined once right after its definition, if that is no dearer than a store here; its home is good from there on."""
        if interval.incoming and interval.defs == 0:
            interval.homed = True
        elif interval.defs == 1 and interval.def_weight <= self.weight:
            interval.homed = True

    def copy(self, type_: Type, destination: int, source: int) -> None:
        self.out.append(Instr(ops.COPY, type_, destination, [source], 0, self.line))

    def reload(self, interval: Interval, r: int) -> None:
        """Bring the value from memory into the register it was placed in."""
        if self.history is not None:
            self.history.reloads.append((self.location, interval.register))
        source = self.home(interval)
        if source >= SLOT:
            self.statistics.reloads += 1
            self.statistics.spill_weight += self.weight
        self.copy(self.f.types[interval.register], r, source)

    def clear_register(self, r: int, avoid: int) -> None:
        """Get the holder of ``r`` out of it: into another free register if there is one not in ``avoid``, else to memory."""
        state = self.state
        holder = state.holder[r]
        assert holder is not None
        free = self.target.class_masks[holder.cls] & ~state.active & ~avoid & ~(1 << r)
        if free and holder.constant == 0:
            self.release(holder)
            new = self.choose(holder, free)
            self.copy(self.f.types[holder.register], new, r)
            self.place(holder, new)
        else:
            self.evict(holder)

    # --- control flow -------------------------------------------------------------------------------------

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
        state = self.state
        bits = state.active
        while bits:
            low = bits & -bits
            r = low.bit_length() - 1
            holder = state.holder[r]
            if holder is not None:
                holder.register_now = -1
                if self.history is not None:
                    self.history.moves.append((self.location, holder.register, -1))
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
                self.place(interval, r)
            else:
                interval.register_now = -1
        self.reachable = True

    def forget_constants(self) -> None:
        """Control may arrive from elsewhere: registers are known to contain only what their holders say."""
        state = self.state
        for r in range(len(state.constant_in)):
            if state.constant_in[r] != 0 and not state.active >> r & 1:
                state.constant_in[r] = 0

    def edge(self, opener: int, live: set[int], at: int, kind: int) -> None:
        """Control goes from here to the bracket's arrival point."""
        expected = self.arrival.get(opener)
        if expected is None:
            self.arrival[opener] = where = self.snapshot(live)
            if self.inside and opener not in self.liveness.loops:
                # What the loop around has in memory at its head, and does not want any more before it gets there, is not brought back.
                info = self.inside[-1]
                end = 2 * info.end
                at_head = self.arrival[info.head]
                for v, r in where.items():
                    if r >= 0 and at_head.get(v, 0) < 0:
                        interval = self.intervals[v]
                        assert interval is not None
                        if (interval.constant != 0 or interval.homed) and (not interval.refs or interval.refs[-1] > end):
                            where[v] = -1
                    elif kind == BEFORE and r >= 0 and at_head.get(v, r) >= 0 and at_head.get(v, r) != r:
                        # It will be wanted elsewhere when the loop is repeated: better moved on the way to here, where that costs no more.
                        interval = self.intervals[v]
                        assert interval is not None
                        if not interval.refs or interval.refs[-1] > end:
                            better = at_head[v]
                            if better not in where.values():
                                where[v] = better
                if kind == BEFORE and where != self.snapshot(live):
                    self.edge(opener, live, at, kind)
            return
        made: Edge | None = None
        for v, wanted in expected.items():
            interval = self.intervals[v]
            if interval is None or interval.register_now == wanted:
                continue
            if wanted < 0 and (interval.constant != 0 or interval.homed):
                continue
            if made is None:
                made = Edge(at, kind, self.weight)
                self.edges.append(made)
            made.moves.append((interval, interval.register_now, wanted))
            if wanted < 0 or interval.register_now < 0:
                self.to_memory(interval)
                if interval.register_now < 0:
                    self.settle(interval)
                if wanted < 0:
                    interval.store_weight += self.weight

    def arrival_set(self, opener: int) -> set[int]:
        info = self.liveness.loops.get(opener)
        return info.live if info is not None else self.liveness.live_after[opener]

    def enter_loop(self, info: LoopInfo) -> None:
        """Decide what the loop keeps in registers, bring that about, and fix it as the state at the loop's head.

        When more values are live inside than there are registers, those with the cheapest references in the loop
        stay in memory; the others are loaded before it. A value that the loop does not touch does not sit in a
        register the loop destroys.
        """
        intervals = self.intervals
        state = self.state
        end = 2 * info.end + 1
        by_class: list[list[tuple[float, bool, float, int]]] = [[] for _ in self.target.class_masks]
        for v in info.live:
            interval = intervals[v]
            if interval is None:
                continue
            weight = interval.weight_until(end)
            if interval.constant != 0:
                weight *= 0.5
            by_class[interval.cls].append((weight, interval.register_now >= 0, interval.cost(), v))
        for cls in range(len(by_class)):
            inside = by_class[cls]
            if not inside:
                continue
            room = self.target.class_masks[cls].bit_count()
            excess = info.pressure[cls] - room
            inside.sort()
            for n in range(len(inside)):
                weight, _held, _cost, v = inside[n]
                interval = intervals[v]
                assert interval is not None
                r = interval.register_now
                if r >= 0 and (n < excess or (weight == 0.0 and info.kills >> r & 1)):
                    self.evict(interval)
            crowd = info.across[cls] - (self.target.class_masks[cls] & ~info.kills).bit_count() if info.kills else 0
            for n in range(len(inside)):
                if crowd <= 0:
                    break
                # More values live across what destroys registers than others hold.
                interval = intervals[inside[n][3]]
                assert interval is not None
                if interval.crosses_call:
                    crowd -= 1
                    if interval.register_now >= 0:
                        self.evict(interval)
            for n in range(len(inside) - 1, -1, -1) if info.kills else ():
                weight, _held, _cost, v = inside[n]
                interval = intervals[v]
                assert interval is not None
                r = interval.register_now
                if r < 0 or not info.kills >> r & 1 or not interval.crosses_call:
                    continue
                if self.target.class_masks[cls] & ~state.active & ~info.kills and interval.constant == 0:
                    self.clear_register(r, info.kills)
                elif interval.refs:
                    points = state.fixed[r]
                    n2 = len(points) - 1
                    while n2 >= 0 and points[n2] <= self.location:
                        n2 -= 1
                    if n2 >= 0 and points[n2] < interval.refs[-1]:
                        self.evict(interval)
            for n in range(len(inside) - 1, max(excess, 0) - 1, -1):
                weight, _held, _cost, v = inside[n]
                interval = intervals[v]
                assert interval is not None
                free = self.target.class_masks[cls] & ~state.active & ~info.kills
                if (
                    interval.register_now < 0
                    and weight > 0.0
                    and free
                    and not (info.kills and interval.crosses_call and n < info.across[cls] - (self.target.class_masks[cls] & ~info.kills).bit_count())
                ):
                    self.reload(interval, self.take(interval, free, False))
        mark = len(self.floors)
        self.floor_marks.append(mark)
        for v in info.live:
            interval = intervals[v]
            if interval is not None:
                self.floors.append((interval, interval.floor))
                costs = interval.costs
                if costs and interval.refs[-1] < end:
                    interval.floor = max(interval.floor, costs[-1] - costs[-2] if len(costs) > 1 else costs[-1])
        self.forget_constants()
        self.arrival[info.head] = self.snapshot(info.live)
        self.inside.append(info)

    def leave_loop(self) -> None:
        self.inside.pop()
        mark = self.floor_marks.pop()
        while len(self.floors) > mark:
            interval, floor = self.floors.pop()
            interval.floor = floor

    # --- the walk -----------------------------------------------------------------------------------------

    def parameters(self) -> None:
        """Values arrive where the calling convention puts them."""
        f = self.f
        places = self.target.convention.assign([f.types[p] for p in f.params])
        crossed: list[tuple[Interval, int]] = []
        for position in range(len(f.params)):
            interval = self.intervals[f.params[position]]
            if interval is None or not interval.starts or interval.starts[0] >= 0:
                continue
            place = places[position]
            if place < 0:
                interval.incoming = True
                interval.slot = SLOT + len(f.slots)
                f.slots.append(Slot(INCOMING, 8, ~place))
            elif self.class_of_register[place] != interval.cls:
                crossed.append((interval, place))
            else:
                self.place(interval, place)
                interval.definitions.append((0, place))
                interval.defs += 1
                interval.def_weight += 1.0
        for interval, place in crossed:
            # A float that arrives in an integer register (LP64D); nothing else wants that class yet.
            r = self.take(interval, self.target.class_masks[interval.cls], False)
            self.copy(f.types[interval.register], r, place)
            interval.definitions.append((len(self.out), r))
            interval.defs += 1
            interval.def_weight += 1.0

    def run(self) -> None:
        """Allocate: rewrites ``f.code``, sets ``f.slots``, ``f.frame`` and ``f.physical``."""
        f = self.f
        code = f.code
        self.parameters()
        out = self.out
        k = -1
        while k + 1 < len(code):
            k += 1
            instr = code[k]
            op = instr.op
            if not self.reachable and op.opens and op is not ops.ELSE:
                # Control cannot get into this bracket.
                k = self.shape.end_of[k]
                continue
            self.location = 2 * k
            self.weight = self.liveness.weights[k]
            self.line = instr.line
            if op.opens and op is not ops.ELSE:
                self.open.append(k)
            elif op is ops.END:
                self.open.pop()
            if op is ops.BLOCK:
                out.append(instr)
            elif op is ops.LOOP:
                self.enter_loop(self.liveness.loops[k])
                out.append(instr)
            elif op is ops.ELSE:
                opener = self.shape.opener_of[k]
                if self.reachable:
                    self.edge(opener, self.liveness.live_after[opener], len(out), BEFORE)
                out.append(instr)
                self.adopt(self.saved.pop(opener))
            elif op is ops.END:
                self.end(k, instr)
            elif op is ops.BR:
                if self.reachable:
                    opener = self.shape.target[k]
                    self.edge(opener, self.arrival_set(opener), len(out), BEFORE)
                    self.reachable = False
                out.append(instr)
            elif self.reachable:
                self.instruction(k, instr)
                if op is ops.RET:
                    self.reachable = False
        self.finish()

    def end(self, k: int, instr: Instr) -> None:
        opener = self.shape.opener_of[k]
        if opener in self.liveness.loops:
            self.leave_loop()
            self.out.append(instr)
            return
        live = self.liveness.live_after[opener]
        if opener in self.arrival:
            if self.reachable:
                self.edge(opener, live, len(self.out), BEFORE)
            self.out.append(instr)
            self.adopt(self.arrival[opener])
        else:
            self.out.append(instr)

    def instruction(self, k: int, instr: Instr) -> None:
        """Registers for one instruction's operands and result."""
        rule = instr.rule
        assert isinstance(rule, Rule)
        intervals = self.intervals
        state = self.state
        args = instr.args
        uses = rule.uses
        dies = self.liveness.dies[k]
        op = instr.op
        busy = 0
        fixed_now = 0
        count = len(args)
        missing = False
        for j in range(count):
            v = args[j]
            fixed = uses[j].fixed
            if fixed != ANY_REGISTER:
                fixed_now |= 1 << fixed
            if v < 0:
                continue
            interval = intervals[v]
            assert interval is not None
            self.advance(interval)
            r = interval.register_now
            if r >= 0:
                busy |= 1 << r
                state.optional[r] = uses[j].memory
            else:
                missing = True
        result = rule.result
        operands = list(args)
        late = 0
        if fixed_now or rule.clobbers:
            self.fixed_operands(instr, rule, operands, dies, busy, fixed_now)
        barred = self.barred(rule, args)
        if barred:
            # Out of the result's register with what is read after the result is written.
            for j in range(count):
                v = args[j]
                if v >= 0 and uses[j].late and uses[j].fixed == ANY_REGISTER:
                    interval = intervals[v]
                    assert interval is not None
                    if interval.register_now >= 0 and barred >> interval.register_now & 1:
                        self.clear_register(interval.register_now, busy | fixed_now | rule.kills | rule.clobbers)
        if fixed_now or rule.clobbers or barred:
            # Who was copied into a fixed register need not stay where it was, and who was in the way is elsewhere.
            busy = fixed_now | rule.clobbers
            for j in range(count):
                v = args[j]
                if v >= 0 and uses[j].fixed == ANY_REGISTER:
                    interval = intervals[v]
                    assert interval is not None
                    if interval.register_now >= 0:
                        busy |= 1 << interval.register_now
                    else:
                        missing = True
        if missing:
            in_memory = instr.mem is not None
            for j in range(count):
                if args[j] < 0 and uses[j].memory:
                    # A constant that stands in the instruction is its memory operand.
                    in_memory = True
            for j in range(count):
                # A float constant among the operands comes from memory already.
                if args[j] < 0 and uses[j].memory and uses[j].cls == VECTORS:
                    in_memory = True
            for j in range(count):
                v = args[j]
                if v < 0 or uses[j].fixed != ANY_REGISTER:
                    continue
                interval = intervals[v]
                assert interval is not None
                if interval.register_now >= 0:
                    continue
                use = uses[j]
                optional = use.memory and not in_memory
                r = -1
                if not optional or interval.refs or interval.floor > 0.0:
                    candidates = self.target.class_masks[use.cls] & ~busy & ~barred
                    r = self.take(interval, candidates, optional)
                if r >= 0:
                    self.reload(interval, r)
                    busy |= 1 << r
                    state.optional[r] = use.memory
                else:
                    in_memory = True
                    operands[j] = self.home(interval)
                    if operands[j] >= SLOT:
                        self.statistics.reloads += 1
                        self.statistics.spill_weight += self.weight
        for j in range(count):
            v = args[j]
            if uses[j].fixed != ANY_REGISTER:
                if uses[j].late:
                    late |= 1 << uses[j].fixed
            elif v >= 0:
                interval = intervals[v]
                assert interval is not None
                r = interval.register_now
                if r >= 0:
                    operands[j] = r
                    if uses[j].late:
                        late |= 1 << r
        for cls in rule.temps:
            candidates = self.target.class_masks[cls] & ~busy & ~barred
            free = candidates & ~state.active
            if free:
                r = filter_reg_order(state, _NOBODY, free, self.location).bit_length() - 1
            else:
                if not candidates:
                    raise InternalError(f"no scratch register is left for {rule.name} in {self.f.name}", "")
                scratch = Interval(-1, cls)
                scratch.add_range(self.location, self.location + 2)
                r = self.choose(scratch, candidates)
                holder = state.holder[r]
                if state.active >> r & 1 and holder is not None:
                    self.evict(holder)
            operands.append(r)
            state.constant_in[r] = 0
            self.used |= 1 << r
            busy |= 1 << r
            late |= 1 << r
        waiting: list[tuple[Interval, int]] = []
        if dies:
            for j in range(count):
                if dies >> j & 1:
                    interval = intervals[args[j]]
                    assert interval is not None
                    r = interval.register_now
                    if r >= 0:
                        if late >> r & 1:
                            waiting.append((interval, r))
                        else:
                            self.release(interval)
        if op.effect == ops.CALLS:
            self.calls = True
        else:
            # (What a callee destroys of the preserved registers is not this function's to save.)
            self.used |= rule.kills
        kills = rule.kills | rule.clobbers
        if kills:
            struck = kills & state.active
            for _interval, r in waiting:
                struck &= ~(1 << r)
            while struck:
                low = struck & -struck
                holder = state.holder[low.bit_length() - 1]
                assert holder is not None
                if holder.cost() >= self.weight:
                    self.clear_register(low.bit_length() - 1, busy | late | kills | fixed_now | self.result_register(rule))
                else:
                    self.evict(holder)
                struck ^= low
            for r in range(len(state.constant_in)):
                if kills >> r & 1:
                    state.constant_in[r] = 0
        dst = instr.dst
        self.location += 1
        if dst < 0:
            instr.args = operands
            self.out.append(instr)
        else:
            assert result is not None
            self.define(k, instr, rule, operands, busy, late, waiting)
        for interval, r in waiting:
            self.leave(interval, r)
        gone = self.liveness.drops.get(k)
        if op.opens:
            opener_else = self.shape.else_of.get(k, -1)
            if opener_else >= 0:
                self.saved[k] = self.snapshot(self.liveness.live_after[opener_else])
            else:
                self.edge(k, self.liveness.live_after[k], len(self.out) - 1, SPLIT)
        elif k in self.shape.target:
            opener = self.shape.target[k]
            self.edge(opener, self.arrival_set(opener), len(self.out) - 1, SPLIT)
        if gone:
            for v in gone:
                dropped = intervals[v]
                if dropped is not None:
                    self.release(dropped)

    def result_register(self, rule: Rule) -> int:
        result = rule.result
        return 1 << result.fixed if result is not None and result.fixed != ANY_REGISTER else 0

    def barred(self, rule: Rule, args: list[int]) -> int:
        """The result's fixed register where it must hold no operand: when some are read late, or scratch registers are in use until then."""
        result = rule.result
        if result is None or result.fixed == ANY_REGISTER:
            return 0
        cls = self.class_of_register[result.fixed]
        if cls in rule.temps:
            return 1 << result.fixed
        uses = rule.uses
        for j in range(len(args)):
            if uses[j].late and args[j] >= 0 and uses[j].cls == cls and uses[j].fixed == ANY_REGISTER:
                return 1 << result.fixed
        return 0

    def fixed_operands(self, instr: Instr, rule: Rule, operands: list[int], dies: int, busy: int, fixed_now: int) -> None:
        """Copy operands into the registers the instruction demands; who is in the way moves out."""
        state = self.state
        uses = rule.uses
        args = instr.args
        # Nobody who has to move may go where an operand is or will be, nor into what the instruction destroys.
        avoid = busy | fixed_now | rule.kills | rule.clobbers
        settled = 0
        bits = rule.clobbers & state.active
        while bits:
            low = bits & -bits
            self.clear_register(low.bit_length() - 1, avoid)
            bits ^= low
        self.used |= rule.clobbers
        for j in range(len(args)):
            fixed = uses[j].fixed
            if fixed == ANY_REGISTER:
                continue
            v = args[j]
            bit = 1 << fixed
            interval = self.intervals[v] if v >= 0 else None
            if interval is not None and interval.register_now == fixed and not settled & bit:
                settled |= bit
                operands[j] = fixed
        for j in range(len(args)):
            fixed = uses[j].fixed
            if fixed == ANY_REGISTER:
                continue
            bit = 1 << fixed
            v = args[j]
            interval = self.intervals[v] if v >= 0 else None
            if interval is not None and interval.register_now == fixed and operands[j] == fixed and settled & bit:
                continue
            if state.active & bit:
                self.clear_register(fixed, avoid)
            type_ = self.f.type_of(v)
            if interval is None:
                source = v
            elif interval.register_now >= 0:
                source = interval.register_now
            else:
                source = self.home(interval)
                if source >= SLOT:
                    self.statistics.reloads += 1
                    self.statistics.spill_weight += self.weight
            self.copy(type_, fixed, source)
            state.constant_in[fixed] = 0
            self.used |= bit
            operands[j] = fixed
            settled |= bit
            if (
                interval is not None
                and interval.register_now >= 0
                and dies >> j & 1
                and not self.wanted_again(args, j)
                and interval.cls == self.class_of_register[fixed]
            ):
                # The last use: the value itself moves, and its old register is free for the operands still to come.
                self.release(interval)
                self.place(interval, fixed)
            elif state.holder[fixed] is not None and not state.active & bit:
                # An inactive interval's leftover is overwritten.
                state.holder[fixed] = None
                state.held &= ~bit

    def wanted_again(self, args: list[int], j: int) -> bool:
        """Another operand of the instruction is the same register."""
        v = args[j]
        return any(i != j and args[i] == v for i in range(len(args)))

    def define(self, k: int, instr: Instr, rule: Rule, operands: list[int], busy: int, late: int, waiting: list[tuple[Interval, int]]) -> None:
        """A register for the result; ``busy`` are the operands' registers, ``late`` those it must not share, ``waiting`` the dying values in them."""
        state = self.state
        interval = self.intervals[instr.dst]
        assert interval is not None
        result = rule.result
        assert result is not None
        self.advance(interval)
        op = instr.op
        type_ = self.f.types[instr.dst]
        fixed = result.fixed
        if rule.tied >= 0:
            # The tied operand will be brought there before the instruction.
            late |= rule.clobbers
        candidates = self.target.class_masks[interval.cls] & ~late
        if fixed != ANY_REGISTER:
            bit = 1 << fixed
            if state.active & bit:
                self.clear_register(fixed, rule.kills | busy | bit)
            instr.dst = fixed
            instr.args = operands
            self.used |= bit
            state.constant_in[fixed] = 0
            self.out.append(instr)
            for dying, at in waiting:
                self.leave(dying, at)
            waiting.clear()
            if self.liveness.dead[k]:
                return
            hint = self.wanted(interval) if interval.defs > 1 else -1
            if hint >= 0 and self.target.class_masks[interval.cls] & ~state.active & (1 << hint):
                r = hint
                self.place(interval, r)
            else:
                r = self.take(interval, self.target.class_masks[interval.cls], False)
            if r != fixed:
                self.copy(type_, r, fixed)
            interval.definitions.append((len(self.out), r))
            return
        if op is ops.COPY and operands[0] < 0 and interval.constant != 0:
            # A constant: worth a register only when one is to be had for less than the constant's own uses cost.
            r = self.take(interval, candidates, True)
            if r < 0:
                return
            if self.replaced != operands[0]:
                instr.dst = r
                instr.args = operands
                self.out.append(instr)
            if self.liveness.dead[k]:
                self.release(interval)
            return
        hint = self.wanted(interval) if interval.defs > 1 else -1
        if hint >= 0 and candidates & ~state.active & (1 << hint):
            r = hint
            self.place(interval, r)
        else:
            r = self.take(interval, candidates, False)
        state.constant_in[r] = 0
        state.optional[r] = False
        instr.dst = r
        instr.args = operands
        if op is not ops.COPY or operands[0] != r:
            self.out.append(instr)
        interval.definitions.append((len(self.out), r))
        if self.liveness.dead[k]:
            self.release(interval)


#: Stands for the interval where a filter does not look at it.
_NOBODY: Final = Interval(-1, 0)


def allocate(f: Function, target: Target, liveness: Liveness, shape: Brackets, order: str, history: History | None = None) -> Statistics:
    """Give every value of lowered code a register or a place in memory, rewriting ``f``; ``history`` receives what happened.

    Raises ``TargetError`` for an order that is no permutation of A to Q.
    """
    scan = LinearScan(f, target, liveness, shape, order)
    scan.history = history
    scan.run()
    return scan.statistics
