"""A modulo schedule as code: prologue, kernel and epilogue, and the loop as it was for what is left.

::

    for i = lo, hi, s              stop = lo + (S-1)*s + (what is left of hi - lo behind that, rounded down to a multiple of K*s)
      body                         if the kernel runs at all
    end                              prologue: iterations 0 … S-2 as far as they come
                             →       for x = lo + (S-1)*s, stop, K*s
                                       K times: each operation of the body, for the iteration of its stage
                                     end
                                     epilogue: what is left of the last S-1 iterations
                                   end
                                   for i = stop or lo, hi, s … body … end

There are S stages. Where a value lives longer than an initiation interval, its successor must not be put into the same register: the kernel is unrolled K
times, and the iterations take turns with registers (modulo variable expansion; M. Lam, "Software pipelining: an effective scheduling technique for VLIW
machines", PLDI 1988, section 2.3).
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.graph import Graph
from loopwright.nests.rewriting.unroll import read_once
from loopwright.pipelining.body import Body, Operand
from loopwright.pipelining.schedule import Schedule
from loopwright.pipelining.steady import kernel_order
from loopwright.types import BOOL, I64, VOID

__all__ = ["Rotation", "expand", "rotation"]


class Rotation:
    """Which registers iterations take turns with.

    Attributes:
        turns: per operation, how many registers its results take turns with; 0 where its result does not outlive its part of an iteration.
        unroll: how many iterations the kernel makes: a multiple of all of them.
    """

    __slots__ = ("turns", "unroll")

    def __init__(self, turns: list[int], unroll: int) -> None:
        self.turns = turns
        self.unroll = unroll


def rotation(body: Body, graph: Graph, schedule: Schedule) -> Rotation:
    """How many registers each value needs."""
    place = [0] * len(body.operations)
    for k, node in enumerate(kernel_order(graph, schedule)):
        place[node] = k
    needed = [0] * len(body.operations)
    for user, operation in enumerate(body.operations):
        for operand in operation.operands:
            if operand.source >= 0:
                needed[operand.source] = max(needed[operand.source], _turns(schedule, place, operand, user))
    for operand in body.results.values():
        # It is read when all have run. (So there is room for what the first iterations read of variables, each of which is a result.)
        needed[operand.source] = max(needed[operand.source], operand.distance + 1)
    unroll = max([1, *needed])
    turns = [next(n for n in range(count, unroll + 1) if unroll % n == 0) if count else 0 for count in needed]
    return Rotation(turns, unroll)


def _turns(schedule: Schedule, place: list[int], operand: Operand, user: int) -> int:
    """How many registers a value needs for one reader; 0 where that runs in the same stage of the same iteration."""
    source, distance, interval = operand.source, operand.distance, schedule.interval
    if distance == 0 and schedule.stage(source) == schedule.stage(user):
        return 0
    apart = schedule.starts[user] + interval * distance - schedule.starts[source]
    turns = max(1, apart // interval)
    # In the cycle in which it is written again, it may still be read, by what comes first in the kernel.
    while apart > turns * interval or (apart == turns * interval and place[user] > place[source]):
        turns += 1
    return turns


def expand(body: Body, graph: Graph, schedule: Schedule, turned: Rotation) -> list[Instr]:
    """The code that takes the place of the loop. Registers of the loop are left to the copy of it that makes the rest.

    Args:
        body: the loop's body.
        graph: its graph.
        schedule: of its operations. Shifts are not looked at.
        turned: of this schedule.
    """
    return _Expansion(body, graph, schedule, turned).code()


class _Iteration:
    """An iteration in one stretch of code.

    Attributes:
        number: what registers it takes turns by.
        base, offset: its index is that of a register, so much further.
        known: by register of the loop, what holds that of this iteration: the index, and arithmetic on it.
        made: by operation, the register of a result that stays in its stage.
    """

    __slots__ = ("base", "known", "made", "number", "offset")

    def __init__(self, number: int, base: int, offset: int) -> None:
        self.number = number
        self.base = base
        self.offset = offset
        self.known: dict[int, int] = {}
        self.made: dict[int, int] = {}


class _Expansion:
    def __init__(self, body: Body, graph: Graph, schedule: Schedule, turned: Rotation) -> None:
        f = body.f
        self.body = body
        self.f: Function = f
        self.out: list[Instr] = []
        self.head: Instr = f.code[body.loop.head]
        self.line = self.head.line
        self.step = body.loop.step
        self.stages = schedule.stages
        self.stage = [schedule.stage(k) for k in range(len(body.operations))]
        self.order = kernel_order(graph, schedule)
        self.turned = turned
        self.registers = [
            [f.register(f.types[operation.instr.dst], f.names[operation.instr.dst], True) for _ in range(turns)]
            for operation, turns in zip(body.operations, turned.turns, strict=True)
        ]

    def code(self) -> list[Instr]:
        f, step, stages, unroll = self.f, self.step, self.stages, self.turned.unroll
        lo = read_once(f, self.head.args[0], self.line, self.out)
        hi = read_once(f, self.head.args[1], self.line, self.out)
        size = abs(step)
        one, other = (lo, hi) if step > 0 else (hi, lo)
        span = self._emit(ops.SUB, [self._emit(ops.MAX, [other, one]), one])
        begun = (stages - 1) * size
        rest = self._begin(lo)
        condition = f.register(BOOL, "")
        self.out.append(Instr(ops.GE, I64, condition, [span, f.const(I64, begun + unroll * size)], 0, self.line))
        self.out.append(Instr(ops.IF, VOID, NONE, [condition], 0, self.line))
        left = self._emit(ops.SUB, [span, f.const(I64, begun)]) if begun else span
        unit = unroll * size
        if unit & (unit - 1) == 0:
            whole = self._emit(ops.AND, [left, f.const(I64, -unit)])
        else:
            whole = self._emit(ops.SUB, [left, self._emit(ops.REM_TRUNC, [left, f.const(I64, unit)])])
        first = self._plus(lo, begun if step > 0 else -begun)
        stop = self._emit(ops.ADD if step > 0 else ops.SUB, [first, whole])
        self._pipelined(lo, first, stop)
        self.out.append(Instr(ops.COPY, I64, rest, [stop], 0, self.line))
        self.out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))
        self.out.append(Instr(ops.FOR, self.head.type, self.head.dst, [rest, hi, self.head.args[2]], 0, self.line, loop=self.head.loop))
        self.out += f.code[self.body.loop.head + 1 : self.body.loop.end + 1]
        return self.out

    def _begin(self, lo: int) -> int:
        """The variable that says where the rest begins."""
        rest = self.f.register(I64, self.f.names[self.head.dst], True)
        self.out.append(Instr(ops.COPY, I64, rest, [lo], 0, self.line))
        return rest

    def _pipelined(self, lo: int, first: int, stop: int) -> None:
        f, stages, unroll = self.f, self.stages, self.turned.unroll
        self._fill()
        last = stages - 1
        iterations = [_Iteration(k, lo, k * self.step) for k in range(last)]
        for slot in range(last):
            for k in self.order:
                if self.stage[k] <= slot:
                    self._run(k, iterations[slot - self.stage[k]])
        index = f.register(I64, f.names[self.head.dst])
        self.out.append(Instr(ops.FOR, self.head.type, index, [first, stop, f.const(I64, unroll * self.step)], 0, self.line))
        iterations = [_Iteration(k, index, (k - last) * self.step) for k in range(last + unroll)]
        for slot in range(last, last + unroll):
            for k in self.order:
                self._run(k, iterations[slot - self.stage[k]])
        self.out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))
        # The kernel has made a multiple of ``unroll`` iterations: registers are where they were.
        iterations = [_Iteration(k, stop, (k - last) * self.step) for k in range(last)]
        for slot in range(last, 2 * last):
            for k in self.order:
                if self.stage[k] > slot - last:
                    self._run(k, iterations[slot - self.stage[k]])
        for variable, operand in self.body.results.items():
            held = self.registers[operand.source]
            self.out.append(Instr(ops.COPY, f.types[variable], variable, [held[(last - 1 - operand.distance) % len(held)]], 0, self.line))

    def _fill(self) -> None:
        """What the first iterations read of those before them was in variables."""
        begun: dict[tuple[int, int], int] = {}
        operands = [operand for operation in self.body.operations for operand in operation.operands] + list(self.body.results.values())
        for operand in operands:
            for iteration, variable in enumerate(operand.before):
                begun[(operand.source, iteration - operand.distance)] = variable
        for (source, iteration), variable in begun.items():
            held = self.registers[source]
            self.out.append(Instr(ops.COPY, self.f.types[variable], held[iteration % len(held)], [variable], 0, self.line))

    def _run(self, k: int, iteration: _Iteration) -> None:
        """One operation, in one iteration."""
        operation = self.body.operations[k]
        instr = operation.instr
        args: list[int] = []
        for operand in operation.operands:
            if operand.source < 0:
                args.append(self._of(operand.register, iteration))
                continue
            held = self.registers[operand.source]
            args.append(held[(iteration.number - operand.distance) % len(held)] if held else iteration.made[operand.source])
        dst = NONE
        if instr.dst >= 0:
            held = self.registers[k]
            if held:
                dst = held[iteration.number % len(held)]
            else:
                dst = iteration.made[k] = self.f.register(self.f.types[instr.dst], self.f.names[instr.dst])
        self.out.append(Instr(instr.op, instr.type, dst, args, instr.imm, instr.line, instr.source))

    def _of(self, register: int, iteration: _Iteration) -> int:
        """What holds a register of the loop, which is its index or arithmetic on that, in one iteration; or what is not of the loop itself."""
        known = iteration.known.get(register)
        if known is not None:
            return known
        if register == self.head.dst:
            known = self._plus(iteration.base, iteration.offset)
        else:
            instr = self.body.arithmetic.get(register)
            if instr is None:
                return register
            args = [self._of(a, iteration) for a in instr.args]
            known = self.f.register(I64, self.f.names[register])
            self.out.append(Instr(instr.op, instr.type, known, args, instr.imm, instr.line, instr.source))
        iteration.known[register] = known
        return known

    def _plus(self, base: int, offset: int) -> int:
        return self._emit(ops.ADD, [base, self.f.const(I64, offset)]) if offset else base

    def _emit(self, op: ops.Op, args: list[int]) -> int:
        made = self.f.register(I64, "")
        self.out.append(Instr(op, I64, made, args, 0, self.line))
        return made
