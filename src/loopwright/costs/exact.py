"""The cheapest possible allocation of a small function, by integer programming (OR-Tools CP-SAT): what linear scan is measured by.

Both solve the same problem: the code as the ``liveness`` pass leaves it, with the target's rules (register classes, fixed
registers, destroyed registers, scratch registers, operands that are read late, operands that may be in memory, two-operand forms).
``cost_of`` prices an allocation that was made; ``optimum`` finds the least price, in the same coin:

===================================  =====================================================================
 a load from a slot                   1: a reload, an operand taken from its slot, a stack argument read
 a store to a slot                    1
 a move between registers             1: also the one that a two-operand form, a fixed register or a multiply-add needs
 an exchange of two registers         2
 a constant                           1/2: made in a register, or taken from memory by an instruction
===================================  =====================================================================

each times ``LOOP_WEIGHT`` to the depth of the loops around it.

**The model.** A node for every instruction and bracket marker, an edge wherever control goes from one to another. At each node,
every live value is in at most one register, or in memory, or both. Variables:

* ``x[v, p, r]``: at point ``p`` (before or after a node) value ``v`` is in register ``r``. No two values are in one register.
* ``m[v, p]``: the memory home of ``v`` holds its value. A definition makes it false; a constant's home is always good.
* ``move``, ``load``, ``store`` of each value on each edge: ``x`` on the far side of the edge needs ``x`` of the same register on the near side,
  or a move or a load; ``m`` on the far side needs ``m`` on the near side, or a store; each only from where the value is.
* for each operand that may be in memory, whether it is; for each fixed operand, whether it is copied there; for each scratch register, which;
  for each copy and two-operand form, whether the registers coincide.

Where instructions are simple, ``load`` and ``store`` are allowed only next to instructions that touch the value, and at brackets
and branches. That loses nothing: a load may as well be made later, a store earlier, as long as the weight stays the same.

What the model leaves out and linear scan does not do either: one value in two registers at once (but for operands in fixed
registers, and copies made just before an instruction that destroys the first), code of its own on an edge outside a loop that a branch in the loop leaves by,
a constant written in an instruction that finds it in its fixed register already. Saving the registers that a function must preserve has no price in
either. Values that change places on an edge cost a move each, which is exact for two and up to half a move for each less than the exchanges of longer cycles.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, Final

from loopwright import compiler
from loopwright.errors import LoopwrightError
from loopwright.ir import ops
from loopwright.ir.function import INCOMING, SLOT, Function, Instr
from loopwright.ir.loops import weights
from loopwright.passes import allocate, jumps
from loopwright.settings import Settings
from loopwright.targets.target import ANY_REGISTER, ANY_TIED, Rule, Target, Use

__all__ = ["Cost", "ExactError", "Optimum", "allocated", "available", "cost_of", "optimum"]

#: Longest code, in instructions, that ``optimum`` takes without being told to.
LIMIT: Final = 60


class ExactError(LoopwrightError):
    """A function too long to be solved, or a solver that is not installed."""


# --- the price of an allocation ----------------------------------------------------------------------------------------


class Cost:
    """What an allocation costs, weighted by loop depth.

    Attributes:
        loads, stores, moves: as the table in the module's docstring has them.
        constants: how often a constant is made or taken from memory (each counts half).
        arguments: the part of ``loads`` that reads stack arguments.
    """

    __slots__ = ("arguments", "constants", "loads", "moves", "stores")

    def __init__(self, loads: float = 0.0, stores: float = 0.0, moves: float = 0.0, constants: float = 0.0, arguments: float = 0.0) -> None:
        self.loads = loads
        self.stores = stores
        self.moves = moves
        self.constants = constants
        self.arguments = arguments

    @property
    def total(self) -> float:
        return self.loads + self.stores + self.moves + 0.5 * self.constants

    @property
    def spills(self) -> float:
        """Loads and stores alone."""
        return self.loads + self.stores

    def __repr__(self) -> str:
        return f"Cost(loads={self.loads:g}, stores={self.stores:g}, moves={self.moves:g}, constants={self.constants:g})"


def allocated(function: Function, target: Target, ordering: str | None = None) -> tuple[Function, Cost]:
    """The function after the ``jumps`` pass, and what its allocation costs."""
    f = compiler.run_passes(function, target, "liveness", Settings(ordering=ordering))
    before = [(instr, instr.args) for instr in f.code]
    allocate.run(f, target, compiler.resolve(Settings(ordering=ordering, prove=False)))
    jumps.run(f, target)
    f.stage = "jumps"
    return f, cost_of(f, before)


def cost_of(f: Function, before: list[tuple[Instr, list[int]]]) -> Cost:
    """The price of allocated code.

    Args:
        f: after the ``jumps`` pass.
        before: the instructions that were allocated, each with the operands it had (the allocator changes instructions in place).
    """
    # Branches are made anew, but keep the list of operands.
    virtual = {id(instr.args): args for instr, args in before}
    cost = Cost()
    for instr in f.code:
        _add_instruction(cost, f, instr, virtual.get(id(instr.args)), instr.weight)
    return cost


def _add_instruction(cost: Cost, f: Function, instr: Instr, virtual: list[int] | None, weight: float) -> None:
    op = instr.op
    args = instr.args
    if op is ops.SWAP:
        cost.moves += 2.0 * weight
        return
    if op is ops.COPY:
        source = args[0]
        if source < 0:
            cost.constants += weight
        elif instr.dst >= SLOT:
            cost.stores += weight
        elif source >= SLOT:
            _add_load(cost, f, source, weight)
        elif source != instr.dst:
            cost.moves += weight
        return
    for j in range(len(args)):
        if args[j] >= SLOT:
            _add_load(cost, f, args[j], weight)
        elif args[j] < 0 and virtual is not None and j < len(virtual) and virtual[j] >= 0:
            cost.constants += weight
    rule: Rule | None = instr.rule
    if rule is None or instr.dst < 0:
        return
    if rule.tied >= 0:
        source = args[rule.tied]
        if source != instr.dst and not (rule.commutes and args[1 - rule.tied] == instr.dst):
            # What comes from memory is loaded to where the result will be: that is counted already.
            if source < 0:
                if virtual is None or virtual[rule.tied] < 0:
                    cost.constants += weight
            elif source < SLOT:
                cost.moves += weight
    elif rule.tied == ANY_TIED and op in ops.FUSED and instr.dst not in args[: len(rule.uses)]:
        cost.moves += weight


def _add_load(cost: Cost, f: Function, slot: int, weight: float) -> None:
    cost.loads += weight
    if f.slots[slot - SLOT].kind == INCOMING:
        cost.arguments += weight


# --- the control flow ----------------------------------------------------------------------------------------------


class _Edge:
    """Control goes from node ``source`` to node ``target``; what is put on the way weighs ``weight``."""

    __slots__ = ("source", "target", "weight")

    def __init__(self, source: int, target: int, weight: float) -> None:
        self.source = source
        self.target = target
        self.weight = weight


#: The node before the first instruction: the convention's places of the parameters.
_ENTRY: Final = -1


def _edges(code: list[Instr], weights: list[float]) -> list[_Edge]:
    """The edges of bracketed code, from what control can reach."""
    else_of: dict[int, int] = {}
    end_of: dict[int, int] = {}
    opener_of: dict[int, int] = {}
    targets: dict[int, int] = {}
    stack: list[int] = []
    for k in range(len(code)):
        op = code[k].op
        if op is ops.ELSE:
            else_of[stack[-1]] = k
            opener_of[k] = stack[-1]
        elif op is ops.END:
            opener = stack.pop()
            end_of[opener] = k
            opener_of[k] = opener
        elif op.opens:
            stack.append(k)
        elif op is ops.BR or op is ops.BR_IF or op.compare:
            targets[k] = stack[len(stack) - 1 - code[k].imm]
    found: list[_Edge] = []
    seen: set[int] = set()
    waiting = [_ENTRY]
    while waiting:
        k = waiting.pop()
        if k in seen or k >= len(code):
            continue
        seen.add(k)
        following: list[tuple[int, float]] = []
        op = code[k].op if k >= 0 else ops.BLOCK
        falls = op is not ops.BR and op is not ops.RET
        if k in targets:
            opener = targets[k]
            # The end of a bracket weighs what a branch to it does, out of loops inside of it too; a loop's end what is inside.
            following.append((opener if code[opener].op is ops.LOOP else end_of[opener], weights[end_of[opener]]))
        elif op.opens and op not in (ops.BLOCK, ops.LOOP, ops.ELSE):
            otherwise = else_of.get(k)
            following.append((otherwise, weights[otherwise]) if otherwise is not None else (end_of[k], weights[k]))
        if falls and k + 1 < len(code):
            following.append((end_of[opener_of[k + 1]], weights[k + 1]) if code[k + 1].op is ops.ELSE else (k + 1, weights[k + 1]))
        for target, weight in following:
            found.append(_Edge(k, target, weight))
            waiting.append(target)
    return found


def _live(code: list[Instr], edges: list[_Edge]) -> tuple[list[set[int]], list[set[int]]]:
    """The registers live before and after each node (the entry is the last of each list), to a fixpoint."""
    count = len(code) + 1
    before: list[set[int]] = [set() for _ in range(count)]
    after: list[set[int]] = [set() for _ in range(count)]
    leaving: dict[int, list[int]] = {}
    for edge in edges:
        leaving.setdefault(edge.source, []).append(edge.target)
    nodes = sorted({e.source for e in edges} | {e.target for e in edges}, reverse=True)
    changed = True
    while changed:
        changed = False
        for k in nodes:
            for target in leaving.get(k, ()):
                after[k] |= before[target]
            now = set(after[k])
            if k >= 0:
                now.discard(code[k].dst)
                now.update(a for a in code[k].args if a >= 0)
            if now != before[k]:
                before[k] = now
                changed = True
    return before, after


# --- the model -----------------------------------------------------------------------------------------------------


class Optimum:
    """What the solver found.

    Attributes:
        cost: of the best allocation found, or None if none was found in time.
        bound: no allocation costs less.
        proven: the two are equal.
        seconds: the solver's time.
        instructions: length of the code.
        places: per node (index into the code) and value: the register's name before it, "memory", or both; only where asked for.
    """

    __slots__ = ("bound", "cost", "instructions", "places", "proven", "seconds")

    def __init__(self, cost: float | None, bound: float, proven: bool, seconds: float, instructions: int) -> None:
        self.cost = cost
        self.bound = bound
        self.proven = proven
        self.seconds = seconds
        self.instructions = instructions
        self.places: dict[tuple[int, int], str] = {}


class _State:
    """Where a value is at a point: a variable per register (absent: it cannot be there), one for any register, and one for memory."""

    __slots__ = ("held", "memory", "registers")

    def __init__(self, registers: dict[int, Any], held: Any, memory: Any) -> None:
        self.registers = registers
        self.held = held
        self.memory = memory


class _Model:
    """One function's integer programme."""

    def __init__(self, f: Function, target: Target) -> None:
        from ortools.sat.python import cp_model

        self.f = f
        self.target = target
        self.code = f.code
        self.weights = weights(f.code)
        self.model: Any = cp_model.CpModel()
        self.one: Any = self.model.new_constant(1)
        self.zero: Any = self.model.new_constant(0)
        self.terms: list[Any] = []
        self.factors: list[int] = []
        self.fixed_cost = 0
        self.edges = _edges(f.code, self.weights)
        self.before, self.after = _live(f.code, self.edges)
        self.reachable = sorted({e.source for e in self.edges} | {e.target for e in self.edges})
        #: register -> the constant operand it stands for, when it can be made anywhere
        self.constant: dict[int, int] = {}
        self.merge_constants()
        self.entering: list[dict[int, _State]] = [{} for _ in range(len(f.code) + 1)]
        self.leaving: list[dict[int, _State]] = [{} for _ in range(len(f.code) + 1)]
        self.names = 0
        #: per class: what may be allocated, and wherever else a parameter arrives (it may stay there)
        self.registers: list[list[int]] = [list(order) for order in target.orders]
        for place in target.convention.assign([f.types[p] for p in f.params], -1, f.places):
            if place >= 0 and place not in self.registers[target.registers[place].cls]:
                self.registers[target.registers[place].cls].append(place)
        #: (node, value) where nothing but a move may happen before the node
        self.still: set[tuple[int, int]] = set()

    def merge_constants(self) -> None:
        """Registers that hold the same constant are one value, wanted or not from its first to its last mention.

        A register may still contain a constant from an earlier use: that is why the value exists between its uses too.
        """
        f = self.f
        leader: dict[int, int] = {}
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for k in range(len(f.code)):
            instr = f.code[k]
            if instr.op is ops.COPY and instr.args[0] < 0 and not f.variable[instr.dst]:
                self.constant[instr.dst] = instr.args[0]
        for k in self.reachable:
            if k < 0:
                continue
            instr = f.code[k]
            for v in (instr.dst, *instr.args):
                if v >= 0 and v in self.constant:
                    one = leader.setdefault(self.constant[v], v)
                    first.setdefault(one, k)
                    last[one] = k
        self.leader = {v: leader.get(c, v) for v, c in self.constant.items()}
        for live in (self.before, self.after):
            for k in range(len(live)):
                live[k] = {v for v in live[k] if v not in self.constant}
        # Around a loop that mentions it: the whole loop.
        spans = self.loop_spans()
        for v, begin in first.items():
            end = last[v]
            for head, tail in spans:
                if head <= begin <= tail or head <= end <= tail:
                    begin, end = min(begin, head), max(end, tail)
            for k in self.reachable:
                # (A loop's head is reached from inside, too.)
                if begin < k <= end or (begin == k and self.code[k].op is ops.LOOP):
                    self.before[k].add(v)
                if begin <= k < end:
                    self.after[k].add(v)

    def loop_spans(self) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        stack: list[int] = []
        for k in range(len(self.code)):
            op = self.code[k].op
            if op is ops.END:
                opener = stack.pop()
                if self.code[opener].op is ops.LOOP:
                    spans.append((opener, k))
            elif op.opens and op is not ops.ELSE:
                stack.append(k)
        # Inner loops first, so that what grows to an inner loop then grows to the outer one.
        return spans

    # --- variables ----------------------------------------------------------------------------------------

    def variable(self) -> Any:
        self.names += 1
        return self.model.new_bool_var(f"b{self.names}")

    def charge(self, variable: Any, weight: float, halves: int = 2) -> None:
        """The variable costs ``halves`` / 2 times the weight."""
        self.terms.append(variable)
        self.factors.append(int(weight) * halves)

    def value(self, v: int) -> int:
        return self.leader.get(v, v)

    def state(self, registers: dict[int, Any], memory: Any) -> _State:
        """A state whose value is in at most one of the registers."""
        held = self.variable()
        self.model.add(sum(registers.values()) == held)
        return _State(registers, held, memory)

    def new_state(self, v: int) -> _State:
        cls = self.target.class_of(self.f.types[v])
        registers = {r: self.variable() for r in self.registers[cls]}
        if v in self.constant:
            return self.state(registers, self.one)
        made = self.state(registers, self.variable())
        self.model.add_bool_or([made.held, made.memory])
        return made

    def same(self, a: _State, b: _State, weight: float, halves: int = 2) -> Any:
        """A variable that may be true only if both are in one register; its absence costs."""
        options = []
        for r, x in a.registers.items():
            y = b.registers.get(r)
            if y is not None:
                z = self.variable()
                self.model.add_implication(z, x)
                self.model.add_implication(z, y)
                options.append(z)
        held = self.variable()
        self.model.add_bool_or([*options, held.negated()])
        self.charge(held.negated(), weight, halves)
        return held

    # --- building -----------------------------------------------------------------------------------------

    def build(self) -> None:
        incoming: dict[int, list[_Edge]] = {}
        for edge in self.edges:
            incoming.setdefault(edge.target, []).append(edge)
        self.entry()
        for k in self.reachable:
            if k < 0:
                continue
            arriving = incoming[k]
            quiet = self.quiet_before(k, arriving)
            for v in self.before[k]:
                state = self.new_state(v)
                source = self.leaving[arriving[0].source].get(v) if quiet else None
                if source is not None and not self.touches(k, v) and not self.touches(arriving[0].source, v):
                    # Untouched on both sides: only a move is possible.
                    state.memory = source.memory
                    self.still.add((k, v))
                self.entering[k][v] = state
            self.node(k)
        for edge in self.edges:
            self.transitions(edge)

    def quiet_before(self, k: int, arriving: list[_Edge]) -> bool:
        """Control comes to ``k`` only from the plain instruction before it."""
        if len(arriving) != 1 or arriving[0].source < 0:
            return False
        return self.plain(k) and self.plain(arriving[0].source)

    def plain(self, k: int) -> bool:
        return self.code[k].op.effect != ops.CONTROL

    def touches(self, k: int, v: int) -> bool:
        instr = self.code[k]
        return self.value(instr.dst) == v or any(a >= 0 and self.value(a) == v for a in instr.args)

    def entry(self) -> None:
        f = self.f
        places = self.target.convention.assign([f.types[p] for p in f.params], -1, f.places)
        states = self.leaving[_ENTRY]
        for p, place in zip(f.params, places, strict=True):
            if p not in self.after[_ENTRY]:
                continue
            if place < 0:
                states[p] = _State({}, self.zero, self.one)
            else:
                # (A float may come in an integer register, LP64D: it has to be moved.)
                states[p] = _State({place: self.one}, self.one, self.zero)
        for v in self.after[_ENTRY]:
            if v not in states:
                # Never written on some way that cannot be taken: anything will do.
                states[v] = _State(dict.fromkeys(self.target.orders[self.target.class_of(f.types[v])], self.one), self.one, self.one)
        self.exclusive([s for v, s in states.items() if v in f.params], [])

    def exclusive(self, states: list[_State], more: list[tuple[int, Any]]) -> None:
        """No register holds two of these."""
        by_register: dict[int, list[Any]] = {}
        for state in states:
            for r, x in state.registers.items():
                by_register.setdefault(r, []).append(x)
        for r, x in more:
            by_register.setdefault(r, []).append(x)
        for xs in by_register.values():
            if len(xs) > 1:
                self.model.add_at_most_one(xs)
        # Implied, and worth saying: no more values than registers.
        for registers in self.registers:
            members = set(registers)
            held = [s.held for s in states if s.registers and next(iter(s.registers)) in members]
            if len(held) > len(registers):
                self.model.add(sum(held) <= len(registers))

    def forbid(self, state: _State, r: int) -> None:
        x = state.registers.get(r)
        if x is not None:
            self.model.add(x == 0)

    def node(self, k: int) -> None:
        instr = self.code[k]
        states = self.entering[k]
        out = self.leaving[k]
        rule: Rule | None = instr.rule
        if rule is None:
            for v in self.after[k]:
                if v in states:
                    out[v] = states[v]
            self.exclusive(list(states.values()), [])
            return
        weight = self.weights[k]
        args, uses = instr.args, rule.uses
        dst = self.value(instr.dst) if instr.dst >= 0 else -1
        taken: list[tuple[int, Any]] = []
        lost = rule.kills
        if rule.result is not None and rule.result.fixed != ANY_REGISTER:
            lost |= 1 << rule.result.fixed
        in_memory: dict[int, Any] = {}
        options: list[Any] = []
        # An instruction takes one operand from memory: a folded load, a constant that stands in it, or what is chosen here.
        choice_left = instr.mem is None and not any(a < 0 and use.memory for a, use in zip(args, uses, strict=False))
        for j in range(min(len(args), len(uses))):
            use = uses[j]
            v = self.value(args[j]) if args[j] >= 0 else args[j]
            if use.fixed != ANY_REGISTER:
                taken += self.fixed_operand(v, use.fixed, states, weight)
                continue
            if v < 0:
                continue
            if use.memory and choice_left:
                option = self.variable()
                if v not in self.constant:
                    self.model.add_implication(option, states[v].memory)
                if instr.op is not ops.COPY:
                    self.charge(option, weight, 1 if v in self.constant else 2)
                in_memory[j] = option
                options.append(option)
                self.model.add_bool_or([states[v].held, option])
            else:
                self.model.add(states[v].held == 1)
        if len(options) > 1:
            self.model.add_at_most_one(options)
        for r in range(len(self.target.registers)):
            if rule.clobbers >> r & 1:
                lost |= 1 << r
                for v, state in states.items():
                    if not any(args[j] >= 0 and self.value(args[j]) == v and uses[j].fixed == r for j in range(len(uses))):
                        self.forbid(state, r)
        scratch: list[dict[int, Any]] = []
        for cls in rule.temps:
            choice = {r: self.variable() for r in self.target.orders[cls] if not rule.clobbers >> r & 1}
            self.model.add_exactly_one(choice.values())
            for fixed in (u.fixed for u in uses):
                if fixed in choice:
                    self.model.add(choice[fixed] == 0)
            scratch.append(choice)
            taken += list(choice.items())
        self.pass_through(k, dst, lost, taken)
        self.exclusive(list(states.values()), taken)
        if dst >= 0:
            self.result(k, instr, rule, dst, states, scratch, in_memory)
        self.exclusive(list(out.values()), [pair for choice in scratch for pair in choice.items()])

    def fixed_operand(self, v: int, fixed: int, states: dict[int, _State], weight: float) -> list[tuple[int, Any]]:
        """An operand that must be in register ``fixed``: it is there, or is copied; nobody else is there."""
        if v < 0:
            self.fixed_cost += int(weight)
            return [(fixed, self.one)]
        copied = self.variable()
        state = states[v]
        there = state.registers.get(fixed)
        if there is None:
            self.model.add(copied == 1)
        else:
            self.model.add(copied + there == 1)
        # From memory it costs what a load costs, from a register a move: the same, but for constants.
        if v in self.constant:
            self.charge(copied, weight, 1)
        else:
            self.charge(copied, weight)
        return [(fixed, copied)]

    def pass_through(self, k: int, dst: int, lost: int, taken: list[tuple[int, Any]]) -> None:
        """What lives on: where it was; out of a register that the instruction destroys, in another it is copied to before, or in memory."""
        states, out = self.entering[k], self.leaving[k]
        for v in self.after[k]:
            if v == dst:
                continue
            state = states.get(v)
            if state is None:
                # A constant that nothing has mentioned yet.
                continue
            if not any(lost >> r & 1 for r in state.registers):
                out[v] = self.dropped(state, v) if dst >= 0 and self.touches(k, v) else state
                continue
            kept = {r: self.variable() for r in state.registers if not lost >> r & 1}
            if v in self.constant:
                for r, x in kept.items():
                    self.model.add_implication(x, state.registers[r])
                out[v] = self.state(kept, state.memory)
                continue
            # An operand may be read from the old register, and live on in the new one.
            for r, x in kept.items():
                saved = self.variable()
                self.model.add_implication(saved, state.held)
                self.model.add_bool_or([x.negated(), state.registers[r], saved])
                self.charge(saved, self.weights[k])
                taken.append((r, saved))
            out[v] = self.state(kept, state.memory)
            self.model.add_bool_or([out[v].held, state.memory])
            self.model.add_implication(out[v].held, state.held)

    def dropped(self, state: _State, v: int) -> _State:
        """What an operand becomes whose register the result may take, when it is in memory too."""
        kept = {r: self.variable() for r in state.registers}
        for r, x in state.registers.items():
            self.model.add_implication(kept[r], x)
        made = self.state(kept, state.memory)
        if v not in self.constant:
            self.model.add_bool_or([made.held, state.memory])
        return made

    def result(self, k: int, instr: Instr, rule: Rule, dst: int, states: dict[int, _State], scratch: list[dict[int, Any]], in_memory: dict[int, Any]) -> None:
        f, model = self.f, self.model
        weight = self.weights[k]
        args, uses = instr.args, rule.uses
        cls = self.target.class_of(f.types[dst])
        if dst in self.constant:
            # Made here, or where it is wanted, or never; and it may be here from before.
            state = self.new_state(dst)
            old = states.get(dst)
            made = self.variable()
            for r, x in state.registers.items():
                model.add_bool_or([x.negated(), made, *([old.registers[r]] if old is not None else [])])
            self.charge(made, weight, 1)
            if dst in self.after[k]:
                self.leaving[k][dst] = state
            return
        assert rule.result is not None
        registers = {r: self.variable() for r in self.target.orders[cls]}
        model.add_exactly_one(registers.values())
        state = _State(registers, self.one, self.zero)
        if rule.result.fixed != ANY_REGISTER:
            if rule.result.fixed in registers:
                model.add(registers[rule.result.fixed] == 1)
            else:
                # It arrives in another class's register and is moved: anywhere.
                self.fixed_cost += 2 * int(weight)
        self.leaving[k][dst] = state
        for j in range(min(len(args), len(uses))):
            v = self.value(args[j]) if args[j] >= 0 else -1
            if uses[j].late and uses[j].fixed != ANY_REGISTER:
                self.forbid(state, uses[j].fixed)
            elif v >= 0 and uses[j].late:
                elsewhere = [in_memory[j]] if j in in_memory else []
                for r, x in states[v].registers.items():
                    if r in registers:
                        model.add_bool_or([x.negated(), registers[r].negated(), *elsewhere])
        if rule.tied >= 0:
            # The tied operand is brought there first.
            for r in registers:
                if rule.clobbers >> r & 1:
                    self.forbid(state, r)
        if instr.op is ops.COPY:
            if args[0] < 0:
                self.fixed_cost += int(weight)
            else:
                v = self.value(args[0])
                held = self.same(states[v], state, weight)
                if 0 in in_memory:
                    model.add_implication(held, in_memory[0].negated())
                    if v in self.constant:
                        # Half of what was charged for not coinciding.
                        self.terms.append(in_memory[0])
                        self.factors.append(-int(weight))
        elif rule.tied >= 0:
            source = args[rule.tied]
            places = self.coincidence(source, uses[rule.tied], states, state)
            if rule.commutes:
                places += self.coincidence(args[1 - rule.tied], uses[1 - rule.tied], states, state)
            if rule.tied in in_memory:
                # Loaded there.
                places.append(in_memory[rule.tied])
            self.charge_without(places, weight, 1 if source < 0 else 2)
        elif rule.tied == ANY_TIED and instr.op in ops.FUSED:
            self.charge_without([z for j in range(len(uses)) for z in self.coincidence(args[j], uses[j], states, state)], weight)

    def coincidence(self, operand: int, use: Use, states: dict[int, _State], result: _State) -> list[Any]:
        """Variables of which one may be true only if the instruction reads the operand from the result's register."""
        if use.fixed != ANY_REGISTER:
            x = result.registers.get(use.fixed)
            return [x] if x is not None else []
        if operand < 0:
            return []
        options = []
        for r, x in states[self.value(operand)].registers.items():
            y = result.registers.get(r)
            if y is not None:
                z = self.variable()
                self.model.add_implication(z, x)
                self.model.add_implication(z, y)
                options.append(z)
        return options

    def charge_without(self, options: list[Any], weight: float, halves: int = 2) -> None:
        """One of these, or pay."""
        paid = self.variable()
        self.model.add_bool_or([paid, *options])
        self.charge(paid, weight, halves)

    def transitions(self, edge: _Edge) -> None:
        near, far = self.leaving[edge.source], self.entering[edge.target]
        for v, state in far.items():
            before = near.get(v)
            if before is None:
                if v not in self.constant:
                    raise ExactError(f"{self.f.name}: value {v} is live at {edge.target} and not before")
                before = _State({}, self.zero, self.one)
            self.transition(v, before, state, edge.weight, (edge.target, v) in self.still)

    def transition(self, v: int, near: _State, far: _State, weight: float, still: bool) -> None:
        model = self.model
        constant = v in self.constant
        ways = []
        load: Any = None
        if not still and near.memory is not self.zero:
            load = self.variable()
            model.add_implication(load, near.memory)
            self.charge(load, weight, 1 if constant else 2)
            ways.append(load)
        if near.registers:
            move = self.variable()
            model.add_implication(move, near.held)
            self.charge(move, weight)
            ways.append(move)
        for r, x in far.registers.items():
            there = near.registers.get(r)
            model.add_bool_or([x.negated(), *ways, *([there] if there is not None else [])])
        # Implied, and what makes bounds good: only a load brings a value into registers.
        model.add_bool_or([far.held.negated(), near.held, *([load] if load is not None else [])])
        if still or near.memory is self.one:
            return
        store = self.variable()
        model.add_implication(store, near.held)
        model.add_bool_or([far.memory.negated(), store, near.memory])
        self.charge(store, weight)


def available() -> None:
    """Raises ``ExactError`` where OR-Tools (the extra ``tuning``) is not installed."""
    try:
        from ortools.sat.python import cp_model  # noqa: F401
    except ImportError:
        raise ExactError("the exact allocator needs OR-Tools: pip install 'loopwright[tuning]'") from None


def optimum(
    function: Function, target: Target, seconds: float = 30.0, limit: int = LIMIT, known: float | None = None, places: bool = False, workers: int = 1
) -> Optimum:
    """The least cost of any allocation of a function.

    Args:
        function: as a front end made it, or at any stage before ``allocate``.
        target: what to allocate for.
        seconds: when to stop with what has been found.
        limit: longest code to try, in instructions (brackets counted) when it comes to allocation.
        known: cost of an allocation there is; nothing worse is looked for.
        places: say where everything is, in ``Optimum.places``.
        workers: threads of the solver; one gives the same result in every run, if there is time to find it.

    Raises:
        ExactError: the code is longer than ``limit``, or OR-Tools (the extra ``tuning``) is not installed.
    """
    available()
    from ortools.sat.python import cp_model

    f = compiler.run_passes(function, target, after="liveness")
    if len(f.code) > limit:
        raise ExactError(f"{f.name} has {len(f.code)} instructions when it comes to allocation, more than {limit}")
    if any(instr.op is ops.PART for instr in f.code):
        raise ExactError(f"{f.name} has an instruction with several results, which the model does not know")
    built = _Model(f, target)
    built.build()
    model = built.model
    total = cp_model.LinearExpr.weighted_sum(built.terms, built.factors) + built.fixed_cost
    model.minimize(total)
    if known is not None:
        model.add(total <= int(2 * known))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    # Searches of different kinds take turns: none alone is good at all of these models.
    solver.parameters.interleave_search = workers == 1
    solver.parameters.random_seed = 1
    # All clauses in the linear relaxation: the bounds come from there.
    solver.parameters.linearization_level = 2
    start = perf_counter()
    status = solver.solve(model)
    taken = perf_counter() - start
    if status == cp_model.INFEASIBLE:
        raise ExactError(f"{f.name}: no allocation costs at most {known}" if known is not None else f"{f.name}: no allocation exists")
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    made = Optimum(solver.objective_value / 2 if found else None, solver.best_objective_bound / 2, status == cp_model.OPTIMAL, taken, len(f.code))
    if places and found:
        for k in built.reachable:
            for v, state in built.entering[k].items() if k >= 0 else ():
                where = [target.registers[r].name for r, x in state.registers.items() if solver.boolean_value(x)]
                if v not in built.constant and solver.boolean_value(state.memory):
                    where.append("memory")
                made.places[(k, v)] = " ".join(where)
    return made
