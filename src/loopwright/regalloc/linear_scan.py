"""Linear scan register allocation over structured code, in the shape of RyuJIT's LSRA.

One forward walk over the instructions. Each value is, at any point, either in one register or in memory (a stack
slot, the caller's frame, or nowhere for a constant that can be made again). Where control flow joins, the first edge
seen decides where each value is (a loop's head: the entry), and moves on the other edges bring the values there.
Which register a value gets is decided by the 17 filters of ``heuristics`` in the order given.

The parts: ``Output`` collects the allocated code, ``Registers`` knows which value is in which register, ``Joins`` what must be where when control
meets, ``Operands`` settles one instruction; ``LinearScan`` walks.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import INCOMING, SLOT, Function, Instr, Slot
from loopwright.regalloc.heuristics import Plan, plan_of
from loopwright.regalloc.history import History
from loopwright.regalloc.intervals import Interval, Liveness
from loopwright.regalloc.joins import Joins
from loopwright.regalloc.liveness import Brackets
from loopwright.regalloc.operands import Operands
from loopwright.regalloc.output import BEFORE, SPLIT, Output, Statistics
from loopwright.regalloc.registers import Registers
from loopwright.targets.target import Target, moves_stack

__all__ = ["Allocation", "LinearScan", "allocate"]


class Allocation:
    """What an allocation came to.

    Attributes:
        function: with registers, slots and a frame instead of values.
        statistics: what it cost.
        history: what happened, if that was wanted.
    """

    __slots__ = ("function", "history", "statistics")

    def __init__(self, function: Function, statistics: Statistics, history: History | None) -> None:
        self.function = function
        self.statistics = statistics
        self.history = history


class LinearScan:
    """The walk of one allocation."""

    def __init__(self, f: Function, target: Target, liveness: Liveness, shape: Brackets, plan: Plan, history: History | None = None) -> None:
        self.f = f
        self.target = target
        self.liveness = liveness
        self.shape = shape
        self.output = Output(f, target)
        self.output.again = liveness.again
        self.registers = Registers(f, target, liveness, plan, self.output, history)
        self.joins = Joins(target, liveness, shape, self.registers)
        self.operands = Operands(f, target, liveness, self.registers, self.joins)

    def place_parameters(self) -> None:
        """Values arrive where the calling convention puts them."""
        f = self.f
        registers = self.registers
        places = self.target.convention.assign([f.types[p] for p in f.params], -1, f.places)
        crossed: list[tuple[Interval, int]] = []
        for position in range(len(f.params)):
            interval = self.liveness.intervals[f.params[position]]
            if interval is None or not interval.starts or interval.starts[0] >= 0:
                continue
            place = places[position]
            if place < 0:
                interval.incoming = True
                interval.homed = True
                interval.slot = SLOT + len(f.slots)
                f.slots.append(Slot(INCOMING, 8, ~place))
            elif registers.class_of_register[place] != interval.cls:
                crossed.append((interval, place))
            else:
                registers.place(interval, place)
                interval.defined(0, place)
                interval.defs += 1
                interval.def_weight += 1.0
        for interval, place in crossed:
            # A float that arrives in an integer register (LP64D); nothing else wants that class yet.
            r = registers.take(interval, self.target.class_masks[interval.cls], False)
            registers.copy(f.types[interval.register], r, place)
            interval.defined(len(self.output.out), r)
            interval.defs += 1
            interval.def_weight += 1.0

    def run(self) -> Allocation:
        """Allocate: rewrites ``f.code``, sets ``f.slots``, ``f.frame`` and ``f.physical``."""
        code = self.f.code
        self.place_parameters()
        registers = self.registers
        joins = self.joins
        operands = self.operands
        end_of = self.shape.end_of
        weights = self.liveness.weights
        control = ops.CONTROL
        k = -1
        while k + 1 < len(code):
            k += 1
            instr = code[k]
            op = instr.op
            if not joins.reachable and op.opens and op is not ops.ELSE:
                # Control cannot get into this bracket.
                k = end_of[k]
                continue
            registers.location = 2 * k
            registers.weight = weights[k]
            registers.line = instr.line
            if op.effect == control:
                self.control(k, instr)
            elif joins.reachable:
                operands.settle(k, instr)
        self.output.finish()
        return Allocation(self.f, self.output.statistics, registers.history)

    def control(self, k: int, instr: Instr) -> None:
        """A bracket or a branch."""
        op = instr.op
        joins = self.joins
        out = self.output.out
        if op.opens and op is not ops.ELSE:
            joins.open.append(k)
        elif op is ops.END:
            joins.open.pop()
        if op is ops.BLOCK:
            out.append(instr)
        elif op is ops.LOOP:
            joins.enter_loop(self.liveness.loops[k])
            out.append(instr)
        elif op is ops.ELSE:
            opener = self.shape.opener_of[k]
            if joins.reachable:
                joins.edge(opener, self.liveness.live_after[opener], len(out), BEFORE)
            out.append(instr)
            joins.adopt(joins.saved.pop(opener))
        elif op is ops.END:
            self.end(k, instr)
        elif op is ops.BR:
            if joins.reachable:
                opener = self.shape.target[k]
                joins.edge(opener, joins.arrival_set(opener), len(out), BEFORE)
                joins.reachable = False
            out.append(instr)
        elif joins.reachable:
            self.operands.settle(k, instr)
            self.branch(k, instr)

    def end(self, k: int, instr: Instr) -> None:
        joins = self.joins
        out = self.output.out
        opener = self.shape.opener_of[k]
        if opener in self.liveness.loops:
            joins.leave_loop()
            out.append(instr)
            return
        if opener not in joins.arrival:
            out.append(instr)
            return
        if joins.reachable:
            joins.edge(opener, self.liveness.live_after[opener], len(out), BEFORE)
        out.append(instr)
        joins.adopt(joins.arrival.pop(opener))

    def branch(self, k: int, instr: Instr) -> None:
        """The two ways on from an if, or a conditional branch, whose operands are settled; or none, from a return."""
        joins = self.joins
        out = self.output.out
        if instr.op is ops.RET:
            joins.reachable = False
        if instr.op.opens:
            opener_else = self.shape.else_of.get(k, -1)
            if opener_else >= 0:
                joins.saved[k] = joins.snapshot(self.liveness.live_after[opener_else])
            else:
                joins.edge(k, self.liveness.live_after[k], len(out) - 1, SPLIT)
        elif k in self.shape.target:
            opener = self.shape.target[k]
            joins.edge(opener, joins.arrival_set(opener), len(out) - 1, SPLIT)
        gone = self.liveness.drops.get(k)
        if gone:
            for v in gone:
                dropped = self.liveness.intervals[v]
                if dropped is not None:
                    self.registers.release(dropped)


def allocate(f: Function, target: Target, order: str, history: History | None = None) -> Allocation:
    """Give every value of a function a register or a place in memory.

    Args:
        f: with rules selected and liveness analysed (``f.analysis``); it is rewritten.
        target: whose rules they are.
        order: the order of the 17 filters, a permutation of A to Q.
        history: receives what happens.

    Raises:
        TargetError: ``order`` is no permutation of A to Q.
    """
    liveness, shape = f.analysis
    if moves_stack(f):
        target = target.framed()
    return LinearScan(f, target, liveness, shape, plan_of(order), history).run()
