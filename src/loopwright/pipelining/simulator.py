"""A machine that starts operations in order, running a nest in any order with values: it counts cycles and misses, and computes what the order computes.

An operation starts when those before it have started, its operands are there, and a unit and a slot are free. Arithmetic on indices and the counting of loops
take no time, as in the dependence graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from loopwright.errors import LoopwrightError
from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.ir.memory_model import byte_range
from loopwright.nests.analysis.nest import Nest
from loopwright.pipelining.body import Body
from loopwright.pipelining.machines import Cache, Machine
from loopwright.pipelining.walks import Step

__all__ = ["Processor", "Run", "Space", "simulate"]


class Run:
    """What a machine has counted.

    Attributes:
        cycles: from the first start to the last result.
        operations: that were started.
        idle: cycles before the last start in which nothing started.
        accesses, misses: of the cache.
    """

    __slots__ = ("accesses", "cycles", "idle", "misses", "operations")

    def __init__(self, cycles: int, operations: int, idle: int, accesses: int, misses: int) -> None:
        self.cycles = cycles
        self.operations = operations
        self.idle = idle
        self.accesses = accesses
        self.misses = misses


class _Lines:
    """The contents of a cache."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.sets: list[dict[int, int]] = [{} for _ in range(cache.sets)]  # line -> when it has come; the one used last at the end
        self.free = 0
        self.accesses = 0
        self.misses = 0

    def access(self, address: int, now: int) -> int:
        """Cycles until the line of an address is there."""
        line = address // self.cache.line
        held = self.sets[line % self.cache.sets]
        self.accesses += 1
        come = held.pop(line, None)
        if come is None:
            self.misses += 1
            start = max(now, self.free)
            self.free = start + self.cache.interval
            come = start + self.cache.miss
            if len(held) == self.cache.ways:
                del held[next(iter(held))]
        held[line] = come
        return max(0, come - now)


class Processor:
    """The state of a machine: what is under way."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.lines = _Lines(machine.cache)
        self.now = 0
        self.started = 0
        self.operations = 0
        self.idle = 0
        self.last = 0
        self.written = 0
        self.units = [[0] * count for count in machine.core.counts]
        self.stored: dict[int, int] = {}

    def start(self, instr: Instr, ready: int, address: int = -1) -> int:
        """Start the next operation.

        Args:
            instr: what it is.
            ready: when its operands are there.
            address: of a load or store.

        Returns:
            When its result is there.
        """
        core = self.machine.core
        cost = core.cost_of(instr)
        begin = max(self.now, ready)
        if core.results_in_order:
            begin = max(begin, self.written - cost.latency)
        if begin == self.now and self.started >= core.issue:
            begin += 1
        units = self.units[cost.unit]
        if cost.cycles:
            free = min(units)
            begin = max(begin, free)
            units[units.index(free)] = begin + cost.cycles
        if begin > self.now:
            self.idle += begin - self.now - (1 if self.started else 0)
            self.now = begin
            self.started = 0
        self.started += 1
        self.operations += 1
        done = begin + cost.latency
        self.written = done
        if address >= 0:
            wait = self.lines.access(address, begin)
            if instr.op is ops.STORE:
                # A buffer takes it.
                self.stored[address] = begin + self.machine.forwarding
            else:
                done = max(done + wait, self.stored.get(address, 0) + cost.latency)
        self.last = max(self.last, done)
        return done

    def run(self) -> Run:
        """What has been counted."""
        return Run(max(self.last, self.now + 1) if self.operations else 0, self.operations, self.idle, self.lines.accesses, self.lines.misses)


class Space:
    """The iterations of a nest of loops inside each other, for given arguments.

    Attributes:
        nest, body: the nest, and the body of its innermost loop.
        counts: how many iterations each loop has, outermost first.
    """

    def __init__(self, nest: Nest, body: Body, arguments: Sequence[Any]) -> None:
        """``arguments``: arrays and numbers, as the function takes them.

        Raises:
            LoopwrightError: where the loops are not each directly inside the one before, their bounds depend on other loops, or variables carry values.
        """
        f = nest.f
        self.nest = nest
        self.body = body
        self.arrays: dict[int, np.ndarray[Any, Any]] = {}
        self.values: dict[int, Any] = {}
        self._bind(arguments)
        self.bases = {number: byte_range(array)[0] for number, array in self.arrays.items()}
        self._heads = [f.code[loop.head].dst for loop in nest.loops]
        self._definitions = {instr.dst: instr for instr in f.code if instr.dst >= 0 and not f.variable[instr.dst] and instr.op.meaning is not None}
        loops = nest.loops
        inside = {k for loop in loops for k in (loop.head, loop.end)} | set(range(body.loop.head, body.loop.end))
        if body.loop.head != loops[-1].head or any(loop.parent is not parent for loop, parent in zip(loops[1:], loops, strict=False)):
            raise LoopwrightError(f"{f.name}: loops are not all inside each other")
        if any(not f.code[k].op.pure for k in range(nest.start, nest.end) if k not in inside):
            raise LoopwrightError(f"{f.name}: something is done between its loops")
        if any(operand.distance for operation in body.operations for operand in operation.operands) or body.results:
            raise LoopwrightError(f"{f.name}: variables carry values from one iteration to the next")
        self.low = [int(self.value(f.code[loop.head].args[0], {})) for loop in loops]
        high = [int(self.value(f.code[loop.head].args[1], {})) for loop in loops]
        self.counts = [len(range(a, b, loop.step)) for a, b, loop in zip(self.low, high, loops, strict=True)]

    def _bind(self, arguments: Sequence[Any]) -> None:
        f = self.nest.f
        bases = {array.base: number for number, array in enumerate(f.arrays)}
        rest = list(arguments)
        for register in f.params:
            number = bases.get(register)
            if number is not None:
                given = rest.pop(0)
                self.arrays[number] = given
                array = f.arrays[number]
                self.values.update(zip(array.extents, map(np.int64, given.shape), strict=True))
                self.values.update(zip(array.strides, map(np.int64, given.strides), strict=False))
            elif register not in self.values:
                self.values[register] = ops.scalar(f.types[register], rest.pop(0))

    def indices(self, iteration: tuple[int, ...]) -> dict[int, Any]:
        """What the indices hold in an iteration, by register."""
        return {index: np.int64(low + k * loop.step) for index, loop, low, k in zip(self._heads, self.nest.loops, self.low, iteration, strict=True)}

    def value(self, operand: int, indices: dict[int, Any]) -> Any:
        """What an operand holds: a constant, an argument, an index, or arithmetic on those, which is added to ``indices``."""
        f = self.nest.f
        known = indices.get(operand)
        if known is None:
            known = self.values.get(operand)
        if known is None and operand < 0:
            known = self.values[operand] = ops.scalar(f.const_types[~operand], f.const_values[~operand])
        if known is None:
            instr = self._definitions.get(operand)
            if instr is None or instr.op.meaning is None:
                raise LoopwrightError(f"{f.name}: what %{operand} holds depends on its loops")
            known = indices[operand] = instr.op.meaning(instr.type, instr.source, *[self.value(a, indices) for a in instr.args])
        return known


def simulate(space: Space, machine: Machine, walk: Iterable[Step]) -> Run:
    """Run a nest in an order, on its arrays, which are changed.

    An order that computes something else than the nest as written does so here, too.

    Raises:
        LoopwrightError: where an operation comes before one of the same iteration whose result it takes; for an access outside of an array.
    """
    processor = Processor(machine)
    indices: dict[tuple[int, ...], dict[int, Any]] = {}
    results: dict[tuple[int, tuple[int, ...]], tuple[Any, int]] = {}
    left: dict[tuple[int, ...], int] = {}
    count = len(space.body.operations)
    for number, iteration in walk:
        here = indices.get(iteration)
        if here is None:
            here = indices[iteration] = space.indices(iteration)
            left[iteration] = count
        _step(space, processor, number, iteration, here, results)
        left[iteration] -= 1
        if left[iteration] == 0:
            del indices[iteration], left[iteration]
            for k in range(count):
                results.pop((k, iteration), None)
    return processor.run()


def _step(
    space: Space,
    processor: Processor,
    number: int,
    iteration: tuple[int, ...],
    indices: dict[int, Any],
    results: dict[tuple[int, tuple[int, ...]], tuple[Any, int]],
) -> None:
    operation = space.body.operations[number]
    instr = operation.instr
    values: list[Any] = []
    ready = 0
    for operand in operation.operands:
        if operand.source < 0:
            values.append(space.value(operand.register, indices))
            continue
        made = results.get((operand.source, iteration))
        if made is None:
            raise LoopwrightError(f"operation {number} of iteration {iteration} comes before operation {operand.source}, whose result it takes")
        values.append(made[0])
        ready = max(ready, made[1])
    if instr.op is ops.LOAD or instr.op is ops.STORE:
        array = space.arrays[instr.imm]
        at = tuple([int(value) for value in values[instr.op is ops.STORE :]])
        if not all(0 <= k < extent for k, extent in zip(at, array.shape, strict=True)):
            raise LoopwrightError(f"element {at} of {space.nest.f.arrays[instr.imm].name} is none of {array.shape}")
        address = space.bases[instr.imm] + sum([k * stride for k, stride in zip(at, array.strides, strict=True)])
        done = processor.start(instr, ready, address)
        if instr.op is ops.STORE:
            array[at] = values[0]
        else:
            results[(number, iteration)] = (array[at], done)
        return
    assert instr.op.meaning is not None
    done = processor.start(instr, ready)
    results[(number, iteration)] = (instr.op.meaning(instr.type, instr.source, *values), done)
