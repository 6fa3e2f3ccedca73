"""Linear scan register allocation over structured code, in the shape of RyuJIT's LSRA.

One forward walk over the instructions. Each value is, at any point, either in one register or in memory (a stack
slot, the caller's frame, or nowhere for a constant that can be made again). Where control flow joins, the first edge
seen decides where each value is (a loop's head: the entry), and moves on the other edges bring the values there.
Which register a value gets is decided by the 17 filters of ``heuristics`` in the order given.
"""

from __future__ import annotations

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import INCOMING, SLOT, Function, Instr, Slot
from loopwright.regalloc.ending import BEFORE, SPLIT, Statistics
from loopwright.regalloc.history import History
from loopwright.regalloc.intervals import Interval, Liveness
from loopwright.regalloc.joins import Joins
from loopwright.regalloc.liveness import Brackets
from loopwright.targets.target import ANY_REGISTER, ANY_TIED, Rule, Target


class LinearScan(Joins):
    """The state of one allocation. ``run`` does the work."""

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
                interval.homed = True
                interval.slot = SLOT + len(f.slots)
                f.slots.append(Slot(INCOMING, 8, ~place))
            elif self.class_of_register[place] != interval.cls:
                crossed.append((interval, place))
            else:
                self.place(interval, place)
                interval.defined(0, place)
                interval.defs += 1
                interval.def_weight += 1.0
        for interval, place in crossed:
            # A float that arrives in an integer register (LP64D); nothing else wants that class yet.
            r = self.take(interval, self.target.class_masks[interval.cls], False)
            self.copy(f.types[interval.register], r, place)
            interval.defined(len(self.out), r)
            interval.defs += 1
            interval.def_weight += 1.0

    def run(self) -> None:
        """Allocate: rewrites ``f.code``, sets ``f.slots``, ``f.frame`` and ``f.physical``."""
        f = self.f
        code = f.code
        self.parameters()
        out = self.out
        weights = self.liveness.weights
        control = ops.CONTROL
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
            self.weight = weights[k]
            self.line = instr.line
            if op.effect != control:
                if self.reachable:
                    self.instruction(k, instr)
                continue
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
            self.adopt(self.arrival.pop(opener))
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
        location = self.location
        busy = 0
        late = 0
        fixed_now = 0
        count = len(args)
        missing = False
        operands = list(args)
        for j in range(count):
            v = args[j]
            use = uses[j]
            if use.fixed != ANY_REGISTER:
                fixed_now |= 1 << use.fixed
            if v < 0:
                continue
            interval = intervals[v]
            assert interval is not None
            refs = interval.refs
            while refs and refs[-1] <= location:
                refs.pop()
            r = interval.register_now
            if r >= 0:
                operands[j] = r
                busy |= 1 << r
                if use.late:
                    late |= 1 << r
                state.optional[r] = use.memory
            else:
                missing = True
        result = rule.result
        if fixed_now or rule.clobbers:
            operands = list(args)
            self.fixed_operands(instr, rule, operands, dies, busy, fixed_now)
        barred = self.barred(rule, args) if result is not None and result.fixed != ANY_REGISTER else 0
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
            # A multiply-add overwrites one of its operands: rather one that has just been loaded than a copy of one that lives on.
            overwrites = dies == 0 and rule.tied == ANY_TIED and op in ops.FUSED
            in_memory = instr.mem is not None
            for j in range(count):
                # A constant that stands in the instruction is its memory operand.
                if args[j] < 0 and uses[j].memory:
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
                if not optional or ((interval.refs or interval.floor > 0.0) and (overwrites or not self.inside or not self.not_back(v, interval))):
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
        if missing or fixed_now or rule.clobbers or barred:
            late = 0
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
                r = self.first(cls, free)
            else:
                if not candidates:
                    raise InternalError(f"no scratch register is left for {rule.name} in {self.f.name}", "")
                scratch = Interval(-1, cls, self.liveness.weights)
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
        if missing and self.inside:
            for j in range(count):
                v = args[j]
                if v >= 0 and not dies >> j & 1:
                    interval = intervals[v]
                    assert interval is not None
                    if interval.register_now >= 0 and self.not_back(v, interval):
                        dies |= 1 << j
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
        if op.effect != ops.CONTROL:
            return
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
            r = self.take_for_result(interval, self.target.class_masks[interval.cls], fixed)
            if r != fixed:
                self.copy(type_, r, fixed)
            interval.defined(len(self.out), r)
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
        if (
            op is ops.COPY
            and interval.homed
            and self.inside
            and 0 <= operands[0] < SLOT
            and not self.liveness.dead[k]
            and self.not_back(interval.register, interval)
        ):
            # In memory is where the next turn of the loop expects it, and nobody reads it before.
            self.tell(interval, candidates, -1, "in memory, where the loop's next turn expects it")
            self.copy(type_, self.home(interval), operands[0])
            self.statistics.stores += 1
            return
        r = self.take(interval, candidates, False) if interval.defs <= 1 else self.take_for_result(interval, candidates, operands[0] if op is ops.COPY else -1)
        state.constant_in[r] = 0
        state.optional[r] = False
        instr.dst = r
        instr.args = operands
        if op is not ops.COPY or operands[0] != r:
            self.out.append(instr)
        interval.defined(len(self.out), r)
        if self.liveness.dead[k]:
            self.release(interval)


def allocate(f: Function, target: Target, liveness: Liveness, shape: Brackets, order: str, history: History | None = None) -> Statistics:
    """Give every value of lowered code a register or a place in memory, rewriting ``f``; ``history`` receives what happened.

    Raises ``TargetError`` for an order that is no permutation of A to Q.
    """
    scan = LinearScan(f, target, liveness, shape, order)
    scan.history = history
    scan.run()
    return scan.statistics
