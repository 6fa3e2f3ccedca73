"""What compiled code costs, without running it: PerfScore as RyuJIT defines it, and a better model beside it.

**PerfScore** is the sum over the instructions of max(throughput, latency) x block weight, with the latency of stores shortened and that
of others less one (dotnet/runtime, ``emitter::insEvaluateExecutionCost``). It knows no dependence and no ports.

**The better model** takes the function's loops from the inside out. For the blocks directly in one loop it gives the greatest of

* the *port bound*: how long the execution ports need, their work spread as well as can be (``timing.bound``);
* the *front-end bound*: dispatch slots over dispatch width;
* the *taken branches*: one a cycle;
* the *window*: with N operations of the loop's body in flight at most W can be, so that of a chain of L cycles in the body at least L x N / W are not hidden
  behind other iterations (Little's law);
* the *loop-carried latency*: the longest cycle of dependences through registers, flags and spill slots, per iteration (the recurrence
  bound, RecMII, of modulo scheduling: Rau, *Iterative Modulo Scheduling*, 1994);

each times the blocks' weights. Straight-line code has no cycle and overlaps with what is around it.

Weights are those the compiler gave (8 for each loop around), or, with ``counts``, how often each block really ran
(``measure.count_blocks``). With counts, what one run of a loop's latency overlaps with the next (short inner loops, calls one after the other), and
mispredicted branches, are estimated as well.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.compiler import Compiled
from loopwright.errors import TargetError
from loopwright.targets.x86 import timing
from loopwright.targets.x86.assembler import ALIGN, ALWAYS, CALL, JUMP, LABEL, Item
from loopwright.targets.x86.encoder import EVEX, Form
from loopwright.targets.x86.timing import Microarchitecture, Timing

__all__ = ["BlockScore", "Score", "blocks_of", "perf_score", "weighted"]

#: What RyuJIT takes off the latency of what writes memory (PERFSCORE_LATENCY_WR_GENERAL on x64).
STORE_LATENCY: Final = 3.0

# Places that dependences go through, as one number: integer registers, vectors, masks, flags, then spill slots.
_VECTOR: Final = 16
_MASK: Final = 48
_FLAGS: Final = 56
_SLOT: Final = 1 << 16
_RSP: Final = 4

#: Iterations that the loop-carried latency is taken over: enough for a cycle through several registers to show its mean.
_SETTLE: Final = 4
_ITERATIONS: Final = 12
#: Of the rarer outcomes of branches, the part that predictors do not foresee.
_SURPRISE: Final = 0.5


class _Shape:
    """What one form does with its operands: computed once per form, kind of memory operand and masking.

    ``sources`` and ``results`` are (index into the register codes, offset of the register's class); ``extra_sources``,
    ``extra_results`` are places outright.
    """

    __slots__ = ("cost", "extra_results", "extra_sources", "fuses", "idiom", "move", "results", "slot_forward", "sources", "timing", "vector")

    def __init__(self, machine: Microarchitecture, form: Form, memory: int, masked: int) -> None:
        self.timing: Timing = timing.timing_of(machine, form, memory)
        self.sources: list[tuple[int, int]] = []
        self.results: list[tuple[int, int]] = []
        self.extra_sources: list[int] = []
        self.extra_results: list[int] = []
        in_memory = memory != timing.REGISTERS_ONLY
        widest = 0
        vector = mask = False
        n = 0
        for operand in form.operands:
            if operand.fixed or operand.immediate:
                if operand.fixed == "cl":
                    self.extra_sources.append(1)
                continue
            if in_memory and operand.place == "M":
                continue
            if not operand.register:
                continue
            offset = 0
            if operand.register[1:] == "mm":
                offset = _VECTOR
                vector = True
                widest = max(widest, {"x": 128, "y": 256, "z": 512}[operand.register[0]])
            elif operand.register == "k":
                offset = _MASK
                mask = True
            role = operand.role
            if role in "rx" or (masked == 1 and role == "w") or operand.register == "r8":
                self.sources.append((n, offset))
            if role in "wx":
                self.results.append((n, offset))
            n += 1
        mnemonic = form.row.mnemonic
        if timing.READS_FLAGS.fullmatch(mnemonic):
            self.extra_sources.append(_FLAGS)
        if timing.WRITES_FLAGS.fullmatch(mnemonic):
            self.extra_results.append(_FLAGS)
        # (Of one operand, IMUL is MUL for signed numbers.)
        implied = timing.IMPLIED.get("MUL" if mnemonic == "IMUL" and len(form.operands) == 1 else mnemonic)
        if implied is not None:
            self.extra_sources += implied[0]
            self.extra_results += implied[1]
        # 1: equal sources make a zero, for nothing; 2: they make ones, depending on nothing.
        self.idiom = 0
        if not in_memory and not masked:
            self.idiom = 1 if timing.ZERO_IDIOM.fullmatch(mnemonic) else 2 if timing.ONES_IDIOM.fullmatch(mnemonic) else 0
        self.vector = 1 if vector and not (self.timing.reads and not self.sources) else 0
        self.fuses = mnemonic in machine.fused and not self.timing.writes
        # Only what merely stores or reloads a whole integer register is renamed; anything else waits for the store queue.
        plain_int = mnemonic == "MOV" and not vector and not mask
        forward = machine.forward
        self.slot_forward = (
            forward[0] if plain_int else forward[1] if mask or not vector else forward[4] if widest == 512 else forward[3] if widest == 256 else forward[2]
        )
        latency = self.timing.latency + self.timing.load
        if self.timing.writes:
            # RyuJIT's tables give a store STORE_LATENCY and take that off again; ours give the latency of the operation in front of it.
            latency = max(0.0, latency - (STORE_LATENCY if self.timing.reads else 0.0))
        elif latency >= 1.0:
            latency -= 1.0
        self.cost = max(self.timing.throughput, latency)


_shapes: Final[dict[tuple[str, Form, int, int], _Shape]] = {}


class BlockScore:
    """The figures of one basic block.

    Attributes:
        first, last: its items, from ``first`` up to and without ``last``.
        label: the label in front of it, or -1.
        weight: how often it runs.
        loop: the head (an item) of the innermost loop around it, or -1.
        instructions: their number.
        use: cycles by set of ports, in one run.
        front_end: dispatch slots over width, in one run.
        perf_score: RyuJIT's sum, weighted.
    """

    __slots__ = ("first", "front_end", "instructions", "label", "last", "loop", "perf_score", "use", "weight")

    def __init__(self, first: int, label: int) -> None:
        self.first = first
        self.last = first
        self.label = label
        self.weight = 0.0
        self.loop = -1
        self.instructions = 0
        self.use: dict[int, float] = {}
        self.front_end = 0.0
        self.perf_score = 0.0

    @property
    def ports(self) -> float:
        """Port bound of one run of the block alone, in cycles."""
        return timing.bound(self.use)


class LoopScore:
    """The figures of the blocks directly in one loop (or in none): all weighted, in cycles.

    Attributes:
        head, last, label: its items, and the label of the head; head -1 for the code outside of loops.
        iterations: how often its head runs.
        ports, front_end, taken, window, latency: the bounds.
        branches: what mispredicted branches cost.
        cycles: the greatest bound, and ``branches``.
        recurrence: cycles an iteration of the longest dependence cycle.
        repeats: how often it jumps back.
        slots, vectors: dispatch slots and vector operations, weighted.
    """

    __slots__ = (
        "branches",
        "cycles",
        "front_end",
        "head",
        "iterations",
        "label",
        "last",
        "latency",
        "ports",
        "recurrence",
        "repeats",
        "slots",
        "taken",
        "vectors",
        "window",
    )

    def __init__(self, head: int, last: int, label: int) -> None:
        self.head = head
        self.last = last
        self.label = label
        self.repeats = 0.0
        self.iterations = 0.0
        self.ports = 0.0
        self.front_end = 0.0
        self.latency = 0.0
        self.recurrence = 0.0
        self.taken = 0.0
        self.window = 0.0
        self.branches = 0.0
        self.cycles = 0.0
        self.slots = 0.0
        self.vectors = 0.0

    def bound_by(self) -> str:
        """The name of the greatest bound."""
        best, name = self.ports, "ports"
        for value, other in ((self.front_end, "front end"), (self.taken, "taken branches"), (self.window, "window"), (self.latency, "latency")):
            if value > best:
                best, name = value, other
        return name


class Score:
    """What ``perf_score`` finds.

    Attributes:
        perf_score: RyuJIT's.
        cycles: the better model's, weighted.
        code_size: bytes of instructions.
        instructions: machine instructions.
        spilled, stores, reloads, moves, spill_weight: of the register allocation (``regalloc.output.Statistics``).
        microarchitecture: whose tables were used.
        blocks, loops: the parts.
    """

    __slots__ = (
        "blocks",
        "code_size",
        "cycles",
        "instructions",
        "loops",
        "microarchitecture",
        "moves",
        "perf_score",
        "reloads",
        "spill_weight",
        "spilled",
        "stores",
    )

    def __init__(self, compiled: Compiled, machine: Microarchitecture) -> None:
        self.microarchitecture = machine.name
        self.perf_score = 0.0
        self.cycles = 0.0
        self.code_size = compiled.machine.code_size
        self.instructions = 0
        self.blocks: list[BlockScore] = []
        self.loops: list[LoopScore] = []
        statistics = compiled.statistics
        self.spilled = statistics.spilled if statistics is not None else 0
        self.stores = statistics.stores if statistics is not None else 0
        self.reloads = statistics.reloads if statistics is not None else 0
        self.moves = statistics.moves if statistics is not None else 0
        self.spill_weight = statistics.spill_weight if statistics is not None else 0.0

    def __repr__(self) -> str:
        return f"<PerfScore {self.perf_score:.2f}, {self.cycles:.2f} cycles, {self.code_size} bytes, {self.instructions} instructions>"

    def table(self) -> str:
        """Per block and per loop, what each bound says, as text."""
        lines = [
            f"PerfScore {self.perf_score:.2f}; {self.cycles:.2f} cycles on {self.microarchitecture}; {self.code_size} bytes, {self.instructions} instructions",
            "",
        ]
        lines.append(f"{'block':>7} {'label':>6} {'loop':>5} {'weight':>10} {'instrs':>7} {'ports':>8} {'front end':>10} {'PerfScore':>11}")
        for n in range(len(self.blocks)):
            b = self.blocks[n]
            label = "" if b.label < 0 else str(b.label)
            loop = "" if b.loop < 0 else str(self._loop_number(b.loop))
            lines.append(f"{n:7} {label:>6} {loop:>5} {b.weight:10.6g} {b.instructions:7} {b.ports:8.2f} {b.front_end:10.2f} {b.perf_score:11.2f}")
        lines.append("")
        lines.append(
            f"{'loop':>7} {'iterations':>11} {'ports':>9} {'front end':>9} {'taken':>9} {'window':>9} {'latency':>9} {'mispredicted':>12} {'cycles':>10}  bound by"
        )
        for n in range(len(self.loops)):
            r = self.loops[n]
            by = r.bound_by()
            if by == "latency":
                by += f" ({r.recurrence:g} an iteration)"
            name = "none" if r.head < 0 else str(n)
            lines.append(
                f"{name:>7} {r.iterations:11.6g} {r.ports:9.1f} {r.front_end:9.1f} {r.taken:9.1f} {r.window:9.1f} {r.latency:9.1f} {r.branches:12.1f} {r.cycles:10.1f}  {by}"
            )
        return "\n".join(lines)

    def _loop_number(self, head: int) -> int:
        for n in range(len(self.loops)):
            if self.loops[n].head == head:
                return n
        return -1


def weighted(compiled: Compiled) -> tuple[list[Item], list[float]]:
    """The items of the machine code, and the weight of each, from those of the IR instructions they were made of."""
    f = compiled.function
    asm = compiled.target.assembler(f)
    items = asm.items
    weights: list[float] = []
    for instr in f.code:
        instr.rule.emit(asm, f, instr)
        weight = instr.weight
        while len(weights) < len(items):
            weights.append(weight)
    for at in asm.settle():
        del weights[at]
    return items, weights


def blocks_of(items: list[Item]) -> list[BlockScore]:
    """The basic blocks: they begin at labels and behind jumps and returns."""
    found: list[BlockScore] = []
    block = BlockScore(0, -1)
    count = len(items)
    for n in range(count):
        form = items[n][0]
        kind = form.kind
        if kind in (LABEL, ALIGN):
            # An alignment and the label behind it begin one block together.
            if n > block.first and items[n - 1][0].kind not in (LABEL, ALIGN):
                block.last = n
                found.append(block)
                block = BlockScore(n, -1)
            if kind == LABEL:
                block.label = items[n][3]
        elif kind == JUMP or form.mnemonic == "ret":
            block.last = n + 1
            found.append(block)
            block = BlockScore(n + 1, -1)
    if block.first < count:
        block.last = count
        found.append(block)
    return found


def _unreached(items: list[Item], place: int) -> bool:
    """Whether nothing falls through to a place."""
    if place == 0:
        return False
    form, operands = items[place - 1][0], items[place - 1][1]
    return form.mnemonic == "ret" or (form.kind == JUMP and operands[0] == ALWAYS)


def _loops_of(items: list[Item], blocks: list[BlockScore]) -> list[LoopScore]:
    """The loops, by the jumps that go back, outermost first; sets each block's innermost one.

    What was put aside, behind the end, jumps back to right behind the branch that leads there: it is part of the loop that the branch is in.
    """
    places: dict[int, int] = {}
    ends: dict[int, int] = {}
    aside: list[tuple[int, int]] = []
    label = -1
    for n in range(len(items)):
        kind = items[n][0].kind
        if kind == LABEL:
            label = items[n][3]
            places[label] = n
        elif kind == JUMP:
            head = places.get(items[n][3], -1)
            if head > 0 and items[head - 1][0].kind == JUMP and items[head - 1][3] == label and _unreached(items, places[label]):
                aside.append((n, head))
            elif head >= 0:
                ends[head] = n
    loops = [LoopScore(-1, len(items), -1)]
    for head in sorted(ends):
        loops.append(LoopScore(head, ends[head], items[head][3]))
    for loop in loops[1:]:
        # Inner loops come later and overwrite.
        for block in blocks:
            if loop.head < block.last and block.first <= loop.last:
                block.loop = loop.head
    for at, back in aside:
        inside = next(block.loop for block in blocks if block.first <= back < block.last)
        for block in blocks:
            if block.first <= at < block.last:
                block.loop = inside
    return loops


class _Work:
    """What the instructions of a block take once.

    Attributes:
        ports: cycles by set of ports; slots: of the front end; vectors: operations on vectors; total: for PerfScore.
        chain: the instructions that dependences go through, with their shapes; of one that only clears a register None.
    """

    def __init__(self, machine: timing.Microarchitecture, items: list[Item], block: BlockScore, jump: tuple[int, float]) -> None:
        self.machine = machine
        self.items = items
        self.ports: dict[int, float] = {}
        self.slots = 0.0
        self.vectors = 0.0
        self.total = 0.0
        self.chain: list[tuple[_Shape | None, Item]] = []
        ports = self.ports
        n = block.first
        last = block.last
        while n < last:
            item = items[n]
            kind = item[0].kind
            n += 1
            if kind == JUMP:
                block.instructions += 1
                self.slots += 1.0
                self.total += 1.0
                ports[jump[0]] = ports.get(jump[0], 0.0) + jump[1]
            elif kind == CALL:
                block.instructions += 1
                self.slots += 2.0
                self.total += 2.0
            elif kind <= EVEX:
                block.instructions += 1
                self.add(item, n < last and items[n][0].kind == JUMP and items[n][1][0] != ALWAYS)

    def add(self, item: Item, jumps: bool) -> None:
        """An instruction, behind which there is a conditional jump if it ``jumps``."""
        machine = self.machine
        ports = self.ports
        form = item[0]
        mem = item[2]
        memory = 0 if mem is None else timing.kind_of_memory(form, mem)
        k = item[4]
        masked = 0 if not k else 2 if item[5] else 1
        key = (machine.name, form, memory, masked)
        shape = _shapes.get(key)
        if shape is None:
            shape = _Shape(machine, form, memory, masked)
            _shapes[key] = shape
        if shape.idiom and _same(item[1]):
            self.slots += 1.0
            self.total += 1.0 / machine.width
            if shape.idiom == 2:
                for mask, cycles in shape.timing.ports:
                    ports[mask] = ports.get(mask, 0.0) + cycles
            self.chain.append((None, item))
            return
        self.chain.append((shape, item))
        self.total += shape.cost
        if shape.fuses and jumps:
            # One operation with the jump, on the jump's port.
            if shape.timing.reads:
                for mask, cycles in machine.load_ports:
                    ports[mask] = ports.get(mask, 0.0) + cycles
            return
        self.slots += shape.timing.slots
        self.vectors += shape.vector
        for mask, cycles in shape.timing.ports:
            ports[mask] = ports.get(mask, 0.0) + cycles
        if mem is not None and shape.timing.reads and _crosses(form, mem):
            extra = machine.vector_load_ports[-1]
            ports[extra[0]] = ports.get(extra[0], 0.0) + machine.split_load * _crosses(form, mem)


def perf_score(compiled: Compiled, microarchitecture: str | None = None, counts: list[float] | None = None) -> Score:
    """What compiled code costs.

    Args:
        compiled: for one of the x86-64 targets.
        microarchitecture: whose tables to use; None for the target's default (``timing.default_for``), the same on every machine.
        counts: how often each block runs, in the order of ``blocks_of``; None for the compiler's weights.

    Raises:
        TargetError: unknown microarchitecture, or a target without timing tables.
    """
    target = compiled.target
    if not target.name.startswith("x86-64"):
        raise TargetError(f"there are no timing tables for {target.name}")
    machine = timing.get(microarchitecture) if microarchitecture is not None else timing.default_for(target.name)
    # (Either is made anew, at the price of a compilation, where the compiled code has let go of it.)
    items, weights = weighted(compiled) if counts is None else (compiled.instructions.items, [])
    score = Score(compiled, machine)
    blocks = blocks_of(items)
    loops = _loops_of(items, blocks)
    score.blocks = blocks
    score.loops = loops
    by_head = {loop.head: loop for loop in loops}
    # Per loop: work per set of ports, weighted; and the instructions for its chain of dependences.
    use: dict[int, dict[int, float]] = {loop.head: {} for loop in loops}
    chains: dict[int, list[tuple[_Shape | None, Item]]] = {loop.head: [] for loop in loops}
    heaviest: dict[int, float] = {}
    jump = _jump_ports(machine)
    for b in range(len(blocks)):
        block = blocks[b]
        weight = float(counts[b]) if counts is not None else weights[min(block.last, len(weights)) - 1]
        block.weight = weight
        loop = by_head[block.loop]
        if weight > heaviest.get(block.loop, 0.0):
            heaviest[block.loop] = weight
        work = _Work(machine, items, block, jump)
        block.use = work.ports
        block.front_end = work.slots / machine.width
        block.perf_score = work.total * weight
        score.perf_score += work.total * weight
        score.instructions += block.instructions
        if weight > 0.0:
            whole = use[block.loop]
            for mask, cycles in work.ports.items():
                whole[mask] = whole.get(mask, 0.0) + cycles * weight
            loop.slots += work.slots * weight
            loop.vectors += work.vectors * weight
        chains[block.loop].extend(work.chain)
    _branches(machine, items, blocks, by_head, counts is not None)
    for loop in loops:
        loop.ports = timing.bound(use[loop.head])
        loop.front_end = loop.slots / machine.width
        # Nothing directly in a loop runs more often than its head.
        loop.iterations = heaviest.get(loop.head, 0.0)
        if loop.iterations > 0.0 and loop.head >= 0:
            steps = _steps(chains[loop.head])
            loop.recurrence = _recurrence(steps)
            loop.latency = loop.recurrence * loop.iterations
            if counts is not None:
                # Half of what is in flight, on average, is of the loop's next run.
                once = loop.slots / max(1.0, loop.iterations - loop.repeats)
                loop.latency *= once / (once + machine.window / 2)
            share = max(loop.vectors / machine.vector_window, loop.slots / machine.window)
            loop.window = _follow(steps, {}) * share
        loop.cycles = max(loop.ports, loop.front_end, loop.taken, loop.window, loop.latency) + loop.branches
        score.cycles += loop.cycles
    return score


def _same(ops: tuple[int, ...]) -> bool:
    return len(ops) >= 2 and ops[-1] == ops[-2]


def _crosses(form: Form, mem: Any) -> float:
    """How likely a load crosses a cache line, if the array begins at one and the address advances by whole vectors."""
    if mem.pool >= 0 or mem.bcst or mem.base == _RSP:
        return 0.0
    size = form.operands[form.memory_at].memory // 8
    if size < 16:
        return 0.0
    if mem.disp % size == 0:
        return 0.0
    return size / 64.0


def _jump_ports(machine: Microarchitecture) -> tuple[int, float]:
    mask = machine.groups.get("jump", machine.groups.get("p06", 1))
    return mask, 1.0


def _branches(machine: Microarchitecture, items: list[Item], blocks: list[BlockScore], by_head: dict[int, LoopScore], counted: bool) -> None:
    """Taken and mispredicted branches, and how often loops repeat.

    Without counts, jumps back are taken and others are not. With them, the rarer way of a conditional jump is mispredicted each time.
    """
    for b in range(len(blocks)):
        block = blocks[b]
        item = items[block.last - 1]
        if item[0].kind != JUMP or block.weight == 0.0:
            continue
        loop = by_head[block.loop]
        back = loop.head >= 0 and block.last - 1 <= loop.last and item[3] == loop.label
        taken = block.weight
        if item[1][0] != ALWAYS:
            if counted:
                # What falls through arrives in the next block; where others jump to that too, the count says no more than a bound.
                through = min(blocks[b + 1].weight, block.weight) if b + 1 < len(blocks) else 0.0
                taken -= through
                if b + 1 < len(blocks) and blocks[b + 1].label >= 0 and not back:
                    taken = 0.0
                loop.branches += min(taken, block.weight - taken) * machine.mispredict * _SURPRISE
            elif not back:
                taken = 0.0
        loop.taken += taken * machine.taken
        if back:
            loop.repeats += taken


# --- chains of dependences --------------------------------------------------------------------------------------------


_NOTHING: Final[list[int]] = []

#: (sources, latency from them, address sources, latency from those, results, slot read, slot written, its forwarding)
_Step = tuple[list[int], float, list[int], float, list[int], int, int, float]


def _steps(chain: list[tuple[_Shape | None, Item]]) -> list[_Step]:
    """The instructions as what they read and write: places, and how long after."""
    steps: list[_Step] = []
    for shape, item in chain:
        ops = item[1]
        if shape is None:
            # An idiom: its results depend on nothing.
            register = item[0].operands[0].register
            offset = _VECTOR if register[1:] == "mm" else _MASK if register == "k" else 0
            steps.append((_NOTHING, 0.0, _NOTHING, 0.0, [ops[0] + offset], -1, -1, 0.0))
            continue
        sources = [ops[n] + offset for n, offset in shape.sources]
        if shape.extra_sources:
            sources += shape.extra_sources
        results = [ops[n] + offset for n, offset in shape.results]
        if shape.extra_results:
            results += shape.extra_results
        if item[4]:
            sources.append(_MASK + item[4])
        cost = shape.timing
        latency = cost.latency
        address = _NOTHING
        read = written = -1
        mem = item[2]
        if mem is not None:
            base = mem.base
            if mem.index >= 0:
                address = [base, mem.index] if base >= 0 and base != _RSP else [mem.index]
            elif base == _RSP:
                if cost.reads:
                    read = _SLOT + mem.disp
                if cost.writes:
                    written = _SLOT + mem.disp
            elif base >= 0:
                address = [base]
        steps.append((sources, latency, address, latency + cost.load, results, read, written, shape.slot_forward))
    return steps


def _recurrence(steps: list[_Step]) -> float:
    """Cycles an iteration of the longest cycle of dependences through a loop's body.

    The body's dependences are followed through several iterations, without limits on resources; what the last ones add, on average, is the
    greatest mean of any cycle.
    """
    # Only what is read before it is written, and written later, carries anything over; and of the body only what leads from such to such.
    written: set[int] = set()
    early: set[int] = set()
    for sources, _, address, _, results, read, slot, _ in steps:
        for place in sources:
            if place not in written:
                early.add(place)
        for place in address:
            if place not in written:
                early.add(place)
        if read >= 0 and read not in written:
            early.add(read)
        written.update(results)
        if slot >= 0:
            written.add(slot)
    carried = early & written
    if not carried:
        return 0.0
    wanted = set(carried)
    kept: list[_Step] = []
    for n in range(len(steps) - 1, -1, -1):
        step = steps[n]
        needed = False
        for place in step[4]:
            if place in wanted:
                needed = True
                # Another value before this one is not wanted by what comes after.
                wanted.discard(place)
        if step[6] >= 0 and step[6] in wanted:
            needed = True
            wanted.discard(step[6])
        if needed:
            kept.append(step)
            wanted.update(step[0])
            wanted.update(step[2])
            if step[5] >= 0:
                wanted.add(step[5])
    kept.reverse()
    ready: dict[int, float] = {}
    settled = 0.0
    total = 0.0
    for iteration in range(_SETTLE + _ITERATIONS):
        total = _follow(kept, ready)
        if iteration == _SETTLE - 1:
            settled = total
    return (total - settled) / _ITERATIONS


def _follow(steps: list[_Step], ready: dict[int, float]) -> float:
    """Advance the times at which places are ready through one run of the steps; gives the latest."""
    latest = 0.0
    get = ready.get
    for sources, latency, address, through, results, read, slot, forward in steps:
        at = 0.0
        for place in sources:
            t = get(place, 0.0)
            if t > at:  # noqa: PLR1730 (max() is a call)
                at = t
        at += latency
        for place in address:
            t = get(place, 0.0) + through
            if t > at:  # noqa: PLR1730 (max() is a call)
                at = t
        if read >= 0:
            t = get(read, 0.0) + latency
            if t > at:  # noqa: PLR1730 (max() is a call)
                at = t
        for place in results:
            ready[place] = at
        if slot >= 0:
            # When a load of the slot would have the value.
            ready[slot] = at + forward
        if at > latest:  # noqa: PLR1730
            latest = at
    return latest
