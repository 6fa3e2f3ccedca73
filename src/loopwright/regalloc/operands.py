"""Registers for one instruction: its operands, scratch registers and result, as its rule demands."""

from __future__ import annotations

from typing import Final

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import SLOT, Function, Instr
from loopwright.regalloc.heuristics import spill_cost
from loopwright.regalloc.intervals import MADE_AGAIN, Interval, Liveness
from loopwright.regalloc.joins import Joins
from loopwright.regalloc.registers import Registers
from loopwright.targets.target import ANY_REGISTER, LEFT, Rule, Run, Target

#: No value, for the many instructions at which none waits.
_NONE: Final[list[tuple[Interval, int]]] = []


class Operands:
    """Settles one instruction after another.

    Attributes, of the instruction under way:
        given: its operands with their registers or places in memory.
        demands: per operand, the only register it may be in, or ANY_REGISTER.
        busy: registers (bit mask) of operands.
        late: those of them that are read after the result is written.
        fixed: registers that it demands for operands.
        barred: the result's register, where it must hold no operand.
        dies: a bit per operand that is read for the last time.
        left: of an instruction with several results, the registers in which it leaves those of its parts.
        reserved: those of them (bit mask) whose part is still to come.
    """

    __slots__ = (
        "barred",
        "busy",
        "demands",
        "dies",
        "f",
        "fixed",
        "given",
        "intervals",
        "joins",
        "late",
        "left",
        "liveness",
        "masks",
        "output",
        "registers",
        "reserved",
    )

    def __init__(self, f: Function, target: Target, liveness: Liveness, registers: Registers, joins: Joins) -> None:
        self.f = f
        self.masks = target.class_masks
        self.liveness = liveness
        self.intervals = liveness.intervals
        self.registers = registers
        self.joins = joins
        self.output = registers.output
        self.given: list[int] = []
        self.demands: tuple[int, ...] = ()
        self.busy = 0
        self.late = 0
        self.fixed = 0
        self.barred = 0
        self.dies = 0
        self.left: list[int] = []
        self.reserved = 0

    def settle(self, k: int, instr: Instr) -> None:
        """Find or make registers for what instruction ``k`` reads and writes, and append it to the output."""
        rule = instr.rule
        assert isinstance(rule, Rule)
        registers = self.registers
        output = self.output
        missing = self.find(instr.args, rule)
        if rule.run is not None:
            self.place_run(instr.args, rule, rule.run)
        self.dies = self.liveness.dies[k]
        result = rule.result
        self.barred = self.barred_by(rule, instr.args) if result is not None and result.fixed >= 0 else 0
        special = self.fixed != 0 or rule.clobbers != 0 or self.barred != 0
        if special and self.meet_demands(instr, rule):
            missing = True
        if missing:
            self.reload(instr, rule)
        if missing or special:
            self.read_places(instr.args, rule)
        if rule.temps:
            self.add_scratch(rule)
        if missing and self.joins.inside:
            self.leave_in_memory(instr.args)
        waiting = self.end_lives(instr.args) if self.dies else _NONE
        if instr.op.effect == ops.CALLS:
            output.calls = True
        else:
            # (What a callee destroys of the preserved registers is not this function's to save.)
            output.used |= rule.kills
        if rule.kills or rule.clobbers:
            self.destroy(rule, waiting)
        registers.location += 1
        if instr.dst < 0:
            instr.args = self.given
            output.out.append(instr)
        else:
            self.define(k, instr, rule, waiting)
        for interval, r in waiting:
            registers.leave(interval, r)

    def find(self, args: list[int], rule: Rule) -> bool:
        """Where the operands are now. Returns whether one is not in a register."""
        intervals = self.intervals
        uses = rule.uses
        demands = rule.demands
        self.demands = demands
        registers = self.registers
        optional = registers.state.optional
        location = registers.location
        busy = 0
        late = 0
        fixed = 0
        missing = False
        given = list(args)
        for j in range(len(args)):
            v = args[j]
            if demands[j] != ANY_REGISTER:
                fixed |= 1 << demands[j]
            if v < 0:
                continue
            use = uses[j]
            interval = intervals[v]
            assert interval is not None
            refs = interval.refs
            while refs and refs[-1] <= location:
                refs.pop()
            r = interval.register_now
            if r >= 0:
                given[j] = r
                busy |= 1 << r
                if use.late:
                    late |= 1 << r
                optional[r] = use.memory
            else:
                missing = True
        self.given = given
        self.busy = busy
        self.late = late
        self.fixed = fixed
        return missing

    # --- demands for certain registers ----------------------------------------------------------------------

    def barred_by(self, rule: Rule, args: list[int]) -> int:
        """The result's fixed register where it must hold no operand: when some are read late, or scratch registers are in use until then."""
        result = rule.result
        assert result is not None
        cls = self.registers.class_of_register[result.fixed]
        if cls in rule.temps:
            return 1 << result.fixed
        uses = rule.uses
        for j in range(len(args)):
            if uses[j].late and args[j] >= 0 and uses[j].cls == cls and self.demands[j] == ANY_REGISTER:
                return 1 << result.fixed
        return 0

    def place_run(self, args: list[int], rule: Rule, run: Run) -> None:
        """Choose the consecutive registers of a run: those it costs least to have its operands in."""
        registers = self.registers
        state = registers.state
        cls = rule.uses[run.first].cls
        taken = self.fixed | rule.clobbers
        best = -1
        least = 0.0
        for base in self.rows(cls, run, taken):
            cost = 0.0
            for n in range(run.count):
                r = base + n
                v = args[run.first + n]
                interval = self.intervals[v] if v >= 0 else None
                if interval is not None and interval.register_now == r:
                    continue
                # A copy, and one more, or a spill, where the register is not free.
                cost += 1.0
                if state.active >> r & 1:
                    cost += 1.0 + spill_cost(state, r) / registers.weight
            if best < 0 or cost < least:
                best, least = base, cost
        if best < 0:
            raise self.no_row(rule, run)
        demands = list(rule.demands)
        for n in range(run.count):
            demands[run.first + n] = best + n
        self.demands = tuple(demands)
        self.fixed |= (1 << run.count) - 1 << best

    def rows(self, cls: int, run: Run, taken: int) -> list[int]:
        """The lowest registers of the runs there are of a class that have none of the registers ``taken``."""
        mask = self.masks[cls]
        lowest = (mask & -mask).bit_length() - 1
        row = (1 << run.count) - 1
        return [base for base in self.registers.target.orders[cls] if not (base - lowest) % run.align and not row << base & ~mask and not row << base & taken]

    def no_row(self, rule: Rule, run: Run) -> InternalError:
        """The error for a run of registers that is not to be had."""
        return InternalError(f"no {run.count} registers in a row are left for {rule.name} in {self.f.name}", "")

    def meet_demands(self, instr: Instr, rule: Rule) -> bool:
        """Fill the registers that the rule demands, and clear those it bars. Returns whether an operand without demands is not in a register."""
        args = instr.args
        uses = rule.uses
        fixed = self.fixed
        if fixed or rule.clobbers:
            self.fill_fixed(instr, rule)
        barred = self.barred
        if barred:
            # Out of the result's register with what is read after the result is written.
            for j in range(len(args)):
                interval = self.free_operand(args[j], j) if uses[j].late else None
                if interval is not None and interval.register_now >= 0 and barred >> interval.register_now & 1:
                    self.registers.clear_register(interval.register_now, self.busy | fixed | rule.kills | rule.clobbers)
        # What was copied into a fixed register need not stay where it was, and what was in the way is elsewhere.
        busy = fixed | rule.clobbers
        missing = False
        for j in range(len(args)):
            interval = self.free_operand(args[j], j)
            if interval is None:
                continue
            if interval.register_now >= 0:
                busy |= 1 << interval.register_now
            else:
                missing = True
        self.busy = busy
        return missing

    def free_operand(self, v: int, j: int) -> Interval | None:
        """The value at position ``j``, where it may be in any register; None for a constant and where a certain one is demanded."""
        return self.intervals[v] if v >= 0 and self.demands[j] == ANY_REGISTER else None

    def fill_fixed(self, instr: Instr, rule: Rule) -> None:
        """Copy operands into the registers the instruction demands; what is in the way moves out."""
        registers = self.registers
        state = registers.state
        args = instr.args
        given = list(args)
        self.given = given
        # Nothing that has to move may go where an operand is or will be, nor into what the instruction destroys.
        avoid = self.busy | self.fixed | rule.kills | rule.clobbers
        settled = 0
        bits = rule.clobbers & state.active
        while bits:
            low = bits & -bits
            registers.clear_register(low.bit_length() - 1, avoid)
            bits ^= low
        self.output.used |= rule.clobbers
        for j in range(len(args)):
            fixed = self.demands[j]
            if fixed == ANY_REGISTER:
                continue
            v = args[j]
            bit = 1 << fixed
            interval = self.intervals[v] if v >= 0 else None
            if interval is not None and interval.register_now == fixed and not settled & bit:
                settled |= bit
                given[j] = fixed
        for j in range(len(args)):
            fixed = self.demands[j]
            if fixed == ANY_REGISTER:
                continue
            bit = 1 << fixed
            v = args[j]
            interval = self.intervals[v] if v >= 0 else None
            if interval is not None and interval.register_now == fixed and given[j] == fixed and settled & bit:
                continue
            if state.active & bit:
                registers.clear_register(fixed, avoid)
            registers.copy(self.f.type_of(v), fixed, v if interval is None else self.source_of(interval))
            state.constant_in[fixed] = 0
            self.output.used |= bit
            given[j] = fixed
            settled |= bit
            if (
                interval is not None
                and interval.register_now >= 0
                and self.dies >> j & 1
                and not _again(args, j)
                and interval.cls == registers.class_of_register[fixed]
            ):
                # The last use: the value itself moves, and its old register is free for the operands still to come.
                registers.release(interval)
                registers.place(interval, fixed)
            elif state.holder[fixed] is not None and not state.active & bit:
                # An inactive interval's leftover is overwritten.
                state.holder[fixed] = None
                state.held &= ~bit

    def source_of(self, interval: Interval) -> int:
        """Where a value can be copied from: its register, or its place in memory."""
        if interval.register_now >= 0:
            return interval.register_now
        source = self.output.home(interval)
        if source >= SLOT:
            self.output.statistics.reloads += 1
            self.output.statistics.spill_weight += self.registers.weight
        return source

    # --- operands in memory ---------------------------------------------------------------------------------

    def reload(self, instr: Instr, rule: Rule) -> None:
        """Bring operands back from memory, or let the instruction read one of them there."""
        args = instr.args
        uses = rule.uses
        joins = self.joins
        state = self.registers.state
        # A result that overwrites one of its operands: rather one that has just been loaded than a copy of one that lives on.
        overwrites = rule.overwrites and self.dies == 0
        in_memory = instr.mem is not None
        for j in range(len(args)):
            # A constant that stands in the instruction is its memory operand.
            if args[j] < 0 and uses[j].memory:
                in_memory = True
        for j in range(len(args)):
            v = args[j]
            interval = self.free_operand(v, j)
            if interval is None or interval.register_now >= 0:
                continue
            use = uses[j]
            optional = use.memory and not in_memory and interval.constant > MADE_AGAIN
            r = -1
            if not optional or ((interval.refs or interval.floor > 0.0) and (overwrites or not joins.inside or not joins.not_back(v, interval))):
                r = self.registers.take(interval, self.masks[use.cls] & ~self.busy & ~self.barred, optional)
            if r >= 0:
                self.registers.reload(interval, r)
                self.busy |= 1 << r
                state.optional[r] = use.memory
            else:
                in_memory = True
                self.given[j] = self.source_of(interval)

    def read_places(self, args: list[int], rule: Rule) -> None:
        """Where the operands are, now that all are where the rule wants them."""
        uses = rule.uses
        late = 0
        for j in range(len(args)):
            use = uses[j]
            r = self.demands[j]
            if r == ANY_REGISTER:
                interval = self.free_operand(args[j], j)
                if interval is None or interval.register_now < 0:
                    continue
                r = interval.register_now
                self.given[j] = r
            if use.late:
                late |= 1 << r
        self.late = late

    def leave_in_memory(self, args: list[int]) -> None:
        """Let go of what was brought back for its last use in this turn of the loop: the next turn finds it in memory."""
        for j in range(len(args)):
            v = args[j]
            if v >= 0 and not self.dies >> j & 1:
                interval = self.intervals[v]
                assert interval is not None
                if interval.register_now >= 0 and self.joins.not_back(v, interval):
                    self.dies |= 1 << j

    # --- scratch registers, deaths, what is destroyed -------------------------------------------------------

    def add_scratch(self, rule: Rule) -> None:
        """Scratch registers, as operands behind the others; read to the end."""
        registers = self.registers
        state = registers.state
        for cls in rule.temps:
            candidates = self.masks[cls] & ~self.busy & ~self.barred
            free = candidates & ~state.active
            if free:
                r = registers.first(cls, free)
            else:
                if not candidates:
                    raise InternalError(f"no scratch register is left for {rule.name} in {self.f.name}", "")
                scratch = Interval(-1, cls, self.liveness.weights)
                scratch.add_range(registers.location, registers.location + 2)
                r = registers.choose(scratch, candidates)
                holder = state.holder[r]
                if state.active >> r & 1 and holder is not None:
                    registers.evict(holder)
            self.given.append(r)
            state.constant_in[r] = 0
            self.output.used |= 1 << r
            self.busy |= 1 << r
            self.late |= 1 << r

    def end_lives(self, args: list[int]) -> list[tuple[Interval, int]]:
        """Free the registers of operands read for the last time. Returns those, with their registers, that are read after the result is written."""
        waiting: list[tuple[Interval, int]] = []
        for j in range(len(args)):
            if self.dies >> j & 1:
                interval = self.intervals[args[j]]
                assert interval is not None
                r = interval.register_now
                if r >= 0:
                    if self.late >> r & 1:
                        waiting.append((interval, r))
                    else:
                        self.registers.release(interval)
        return waiting

    def destroy(self, rule: Rule, waiting: list[tuple[Interval, int]]) -> None:
        """Save what lives on in registers that the instruction destroys."""
        registers = self.registers
        state = registers.state
        kills = rule.kills | rule.clobbers
        struck = kills & state.active
        for _interval, r in waiting:
            struck &= ~(1 << r)
        while struck:
            low = struck & -struck
            holder = state.holder[low.bit_length() - 1]
            assert holder is not None
            if holder.cost() >= registers.weight:
                registers.clear_register(low.bit_length() - 1, self.busy | self.late | kills | self.fixed | _result_register(rule))
            else:
                registers.evict(holder)
            struck ^= low
        for r in range(len(state.constant_in)):
            if kills >> r & 1:
                state.constant_in[r] = 0

    # --- the result -------------------------------------------------------------------------------------------

    def define(self, k: int, instr: Instr, rule: Rule, waiting: list[tuple[Interval, int]]) -> None:
        """A register for the result; ``waiting`` are the dying values, with their registers, that are read after it is written."""
        registers = self.registers
        state = registers.state
        out = self.output.out
        given = self.given
        interval = self.intervals[instr.dst]
        assert interval is not None
        result = rule.result
        assert result is not None
        registers.advance(interval)
        if rule.parts:
            self.reserve(rule, waiting)
        if result.fixed != ANY_REGISTER:
            if result.fixed != LEFT:
                self.define_fixed(k, instr, rule, interval, waiting)
            elif instr.op is ops.PART:
                self.define_left(k, instr, interval)
            else:
                self.define_in_run(k, instr, rule, interval, waiting)
            return
        op = instr.op
        dead = self.liveness.dead[k]
        candidates = self.masks[interval.cls] & ~self.late & ~self.reserved
        if rule.tied >= 0:
            # The tied operand will be brought there before the instruction.
            candidates &= ~rule.clobbers
        if op is ops.COPY and given[0] < 0 and interval.constant != 0:
            # A constant: worth a register only when one is to be had for less than the constant's own uses cost.
            r = registers.take(interval, candidates, True)
            if r < 0:
                return
            if registers.replaced != given[0]:
                instr.dst = r
                instr.args = given
                out.append(instr)
            if dead:
                registers.release(interval)
            return
        joins = self.joins
        if op is ops.COPY and interval.homed and joins.inside and 0 <= given[0] < SLOT and not dead and joins.not_back(interval.register, interval):
            # In memory is where the next turn of the loop expects it, and nothing reads it before.
            registers.tell(interval, candidates, -1, "in memory, where the loop's next turn expects it")
            registers.copy(self.f.types[instr.dst], self.output.home(interval), given[0])
            self.output.statistics.stores += 1
            return
        if interval.defs <= 1:
            r = registers.take(interval, candidates, False)
        else:
            r = joins.take_for_result(interval, candidates, given[0] if op is ops.COPY else -1)
        state.constant_in[r] = 0
        state.optional[r] = False
        instr.dst = r
        instr.args = given
        if op is not ops.COPY or given[0] != r:
            out.append(instr)
        interval.defined(len(out), r)
        if dead:
            registers.release(interval)

    def define_fixed(self, k: int, instr: Instr, rule: Rule, interval: Interval, waiting: list[tuple[Interval, int]]) -> None:
        """A result that the machine leaves in a certain register."""
        registers = self.registers
        state = registers.state
        result = rule.result
        assert result is not None
        fixed = result.fixed
        bit = 1 << fixed
        type_ = self.f.types[instr.dst]
        if state.active & bit:
            registers.clear_register(fixed, rule.kills | self.busy | bit)
        instr.dst = fixed
        instr.args = self.given
        self.output.used |= bit
        state.constant_in[fixed] = 0
        self.output.out.append(instr)
        for dying, at in waiting:
            registers.leave(dying, at)
        if waiting:
            waiting.clear()
        if self.liveness.dead[k]:
            return
        r = self.joins.take_for_result(interval, self.masks[interval.cls] & ~self.reserved, fixed)
        if r != fixed:
            registers.copy(type_, r, fixed)
        interval.defined(len(self.output.out), r)

    def reserve(self, rule: Rule, waiting: list[tuple[Interval, int]]) -> None:
        """The registers in which the rule's parts will be: no other result may be there, and an operand that lives on must not."""
        registers = self.registers
        state = registers.state
        self.left = []
        self.reserved = 0
        for place in rule.parts:
            r = place if place >= 0 else self.given[~place]
            self.left.append(r)
            self.reserved |= 1 << r
        for place in rule.parts:
            r = place if place >= 0 else self.given[~place]
            holder = state.holder[r]
            if state.active >> r & 1 and holder is not None and not _waits(waiting, r):
                registers.clear_register(r, rule.kills | self.busy | self.late | self.reserved | _result_register(rule))

    def define_left(self, k: int, instr: Instr, interval: Interval) -> None:
        """One of the further results of an instruction, which is where that has left it."""
        registers = self.registers
        at = self.left[instr.imm - 1]
        self.reserved &= ~(1 << at)
        instr.dst = at
        instr.args = self.given
        self.output.out.append(instr)
        self.output.used |= 1 << at
        registers.state.constant_in[at] = 0
        if self.liveness.dead[k]:
            return
        r = self.joins.take_for_result(interval, self.masks[interval.cls] & ~self.reserved, at)
        if r != at:
            registers.copy(self.f.types[interval.register], r, at)
        registers.state.optional[r] = False
        interval.defined(len(self.output.out), r)

    def define_in_run(self, k: int, instr: Instr, rule: Rule, interval: Interval, waiting: list[tuple[Interval, int]]) -> None:
        """The first of several results that are in a run of registers, and the registers of the others."""
        registers = self.registers
        run = rule.results
        assert run is not None
        r = self.clear_run(rule, run)
        if not rule.parts:
            self.left = []
            self.reserved = 0
        self.left = [*range(r + 1, r + run.count), *self.left]
        self.reserved |= (1 << run.count) - 2 << r
        for dying, at in waiting:
            registers.leave(dying, at)
        waiting.clear()
        registers.state.optional[r] = False
        instr.dst = r
        instr.args = self.given
        self.output.out.append(instr)
        registers.tell(interval, 1 << r, r, "the run of registers that the results are in")
        registers.place(interval, r)
        interval.defined(len(self.output.out), r)
        if self.liveness.dead[k]:
            registers.release(interval)

    def clear_run(self, rule: Rule, run: Run) -> int:
        """Choose the registers of a run of results, those it costs least to clear, and clear them. Returns the lowest."""
        registers = self.registers
        state = registers.state
        result = rule.result
        assert result is not None
        best = -1
        least = 0.0
        for base in self.rows(result.cls, run, self.late):
            cost = 0.0
            for r in range(base, base + run.count):
                if state.active >> r & 1:
                    cost += 1.0 + spill_cost(state, r) / registers.weight
            if best < 0 or cost < least:
                best, least = base, cost
        if best < 0:
            raise self.no_row(rule, run)
        row = (1 << run.count) - 1 << best
        for r in range(best, best + run.count):
            if state.active >> r & 1:
                registers.clear_register(r, rule.kills | self.busy | row)
            state.constant_in[r] = 0
        self.output.used |= row
        return best


def _result_register(rule: Rule) -> int:
    result = rule.result
    return 1 << result.fixed if result is not None and result.fixed >= 0 else 0


def _waits(waiting: list[tuple[Interval, int]], r: int) -> bool:
    """Whether one of the values that die when the result is written is in a register."""
    return any(at == r for _, at in waiting)


def _again(args: list[int], j: int) -> bool:
    """Whether another operand of the instruction is the same register."""
    v = args[j]
    return any(i != j and args[i] == v for i in range(len(args)))
