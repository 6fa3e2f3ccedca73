"""The least cost of a tiny allocation by trying everything: no solver, no model, one machine state after another.

A state says for each value in which register it is, if any, and whether its home in memory is good. Between two instructions
anything may be done that code can do, one step at a time: move to a free register, exchange two, load, store, forget. Dijkstra's
algorithm finds what each state costs. Costs are counted in halves (a constant costs one, a move two).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.target import ANY_REGISTER, ANY_TIED, Rule, Target

#: A value's register (-1: none), and whether its home in memory holds it.
Place = tuple[int, bool]
#: By value, in the order of their numbers; a constant stands as itself (negative), and is always "in memory".
State = tuple[tuple[int, Place], ...]
Costs = dict[State, int]

LOOP = 8


class Exhaustive:
    """Straight code, or straight code with one loop whose only branch is at its end."""

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        self.code = f.code
        #: register that holds a constant -> the constant
        self.constants = {i.dst: i.args[0] for i in f.code if i.op is ops.COPY and i.args[0] < 0 and not f.variable[i.dst]}
        self.classes = {v: target.class_of(f.types[v]) for v in range(len(f.types))} | {c: target.class_of(f.types[v]) for v, c in self.constants.items()}
        heads = [k for k, i in enumerate(f.code) if i.op is ops.LOOP]
        self.head = heads[0] if heads else -1
        self.live: list[set[int]] = [set() for _ in range(len(f.code) + 1)]
        self.liveness()

    def liveness(self) -> None:
        """What is live before each instruction."""
        for _ in range(2):
            now: set[int] = set()
            for k in range(len(self.code) - 1, -1, -1):
                instr = self.code[k]
                if self.head >= 0 and instr.op.compare:
                    now = now | self.live[self.head]
                now = (now - {instr.dst}) | {a for a in instr.args if a >= 0}
                self.live[k] = now
        self.live = [{v for v in live if v not in self.constants} for live in self.live]
        #: what is live after each instruction
        self.after = [self.live[k + 1] | (self.live[self.head] if self.head >= 0 and self.code[k].op.compare else set()) for k in range(len(self.code))]

    def widest(self) -> int:
        """The most values that a state has."""
        return max(map(len, self.live)) + len(set(self.constants.values()))

    # --- what can be done between instructions ----------------------------------------------------------------------------

    def steps(self, state: State, forget: bool) -> Iterator[tuple[int, State]]:
        places = dict(state)
        taken = {r: v for v, (r, _) in state if r >= 0}
        for v, (r, memory) in state:
            changes: list[tuple[int, Place]] = []
            free = [s for s in self.target.orders[self.classes[v]] if s not in taken]
            if r >= 0:
                changes += [(2, (s, memory)) for s in free]
                changes.append((0, (-1, True)) if memory else (2, (r, True)))
                if memory and forget and v >= 0:
                    changes.append((0, (r, False)))
                for s, other in taken.items():
                    if s > r and self.target.registers[s].cls == self.target.registers[r].cls:
                        yield 4, tuple(sorted((places | {v: (s, memory), other: (r, places[other][1])}).items()))
            else:
                changes += [(1 if v < 0 else 2, (s, memory)) for s in free]
            for cost, place in changes:
                yield cost, tuple(sorted((places | {v: place}).items()))

    def closure(self, costs: Costs, weight: int, forget: bool = False) -> Costs:
        """Every state that can be reached, at its least cost."""
        best = dict(costs)
        waiting = [(cost, state) for state, cost in costs.items()]
        heapq.heapify(waiting)
        while waiting:
            cost, state = heapq.heappop(waiting)
            if cost > best[state]:
                continue
            for more, then in self.steps(state, forget):
                total = cost + more * weight
                if total < best.get(then, 1 << 60):
                    best[then] = total
                    heapq.heappush(waiting, (total, then))
        return best

    # --- an instruction ---------------------------------------------------------------------------------------------------

    def value(self, operand: int) -> int:
        return self.constants.get(operand, operand)

    def execute(self, k: int, state: State) -> Iterator[tuple[int, State]]:
        """Every way to do instruction ``k`` from a state."""
        instr = self.code[k]
        rule: Rule | None = instr.rule
        assert rule is not None
        if instr.dst in self.constants:
            # It need not be made here.
            yield 0, state
            return
        places = dict(state)
        taken = {r for _, (r, _) in state if r >= 0}
        cost = 0
        operands = [self.value(a) for a in instr.args]
        where: list[int] = [-1] * len(operands)
        for j, use in enumerate(rule.uses):
            if use.fixed == ANY_REGISTER:
                continue
            where[j] = use.fixed
            # (A constant that is written in the instruction is made for it, whatever may be in the register.)
            if instr.args[j] >= 0 and places[operands[j]][0] == use.fixed:
                continue
            if use.fixed in taken:
                return
            cost += 1 if operands[j] < 0 else 2
        demanded = {r for r in where if r >= 0}
        if any(
            r >= 0 and rule.clobbers >> r & 1 and not any(a >= 0 and self.value(a) == v and at == r for a, at in zip(instr.args, where, strict=True))
            for v, (r, _) in state
        ):
            return
        from_memory = [-1]
        if instr.mem is None and not any(a < 0 and use.memory for a, use in zip(instr.args, rule.uses, strict=True)):
            from_memory += [j for j, use in enumerate(rule.uses) if use.memory and use.fixed == ANY_REGISTER and instr.args[j] >= 0 and places[operands[j]][1]]
        for chosen in from_memory:
            now = list(where)
            for j, use in enumerate(rule.uses):
                if use.fixed == ANY_REGISTER and instr.args[j] >= 0 and j != chosen:
                    now[j] = places[operands[j]][0]
                    if now[j] < 0:
                        break
            else:
                more = 0 if chosen < 0 or instr.op is ops.COPY else 1 if operands[chosen] < 0 else 2
                for temps in self.scratch(rule.temps, taken | demanded | {r for r in range(62) if rule.clobbers >> r & 1}):
                    for added, after in self.finish(k, instr, rule, places, now, chosen, set(temps), taken | demanded):
                        yield cost + more + added, after

    def scratch(self, wanted: tuple[int, ...], taken: set[int]) -> Iterator[tuple[int, ...]]:
        if not wanted:
            yield ()
            return
        for r in self.target.orders[wanted[0]]:
            if r not in taken:
                for rest in self.scratch(wanted[1:], taken | {r}):
                    yield (r, *rest)

    def finish(
        self, k: int, instr: Instr, rule: Rule, places: dict[int, Place], where: list[int], chosen: int, temps: set[int], taken: set[int]
    ) -> Iterator[tuple[int, State]]:
        """Where the values that live on may be afterwards, and the result."""
        lost = rule.kills | rule.clobbers
        if rule.result is not None and rule.result.fixed != ANY_REGISTER:
            lost |= 1 << rule.result.fixed
        after = [v for v in places if v < 0 or (v != instr.dst and v in self.after[k])]
        for cost, kept in self.survivors(after, places, lost, taken | temps):
            if instr.dst < 0:
                yield cost, tuple(sorted(kept.items()))
                continue
            assert rule.result is not None
            barred = temps | {r for r, _ in kept.values()} | {r for r, use in zip(where, rule.uses, strict=True) if use.late}
            for r in self.target.orders[rule.result.cls]:
                if r in barred or rule.result.fixed not in (ANY_REGISTER, r) or (rule.tied >= 0 and rule.clobbers >> r & 1):
                    continue
                total = cost + self.tie(instr, rule, where, chosen, r)
                made = kept | {instr.dst: (r, False)} if instr.dst in self.after[k] else kept
                yield total, tuple(sorted(made.items()))

    def survivors(self, values: list[int], places: dict[int, Place], lost: int, taken: set[int]) -> Iterator[tuple[int, dict[int, Place]]]:
        if not values:
            yield 0, {}
            return
        v, rest = values[0], values[1:]
        r, memory = places[v]
        ways: list[tuple[int, Place]] = [(0, (-1, True))] if memory else []
        if r >= 0 and not lost >> r & 1:
            ways.append((0, (r, memory)))
        elif r >= 0 and v >= 0:
            # A copy made just before.
            ways += [(2, (s, memory)) for s in self.target.orders[self.classes[v]] if s not in taken and not lost >> s & 1]
        for cost, place in ways:
            for more, others in self.survivors(rest, places, lost, taken | {place[0]}):
                yield cost + more, others | {v: place}

    def tie(self, instr: Instr, rule: Rule, where: list[int], chosen: int, r: int) -> int:
        """What the result's register costs."""
        args = instr.args
        if instr.op is ops.COPY:
            return 0 if where[0] == r else 1 if self.value(args[0]) < 0 and (args[0] < 0 or chosen == 0) else 2
        if rule.tied >= 0:
            if where[rule.tied] == r or (rule.commutes and where[1 - rule.tied] == r) or chosen == rule.tied:
                return 0
            return 1 if args[rule.tied] < 0 and where[rule.tied] < 0 else 1 if args[rule.tied] < 0 else 2
        if rule.tied == ANY_TIED and instr.op in (ops.FMA, ops.FMS, ops.FNMA):
            return 0 if r in where else 2
        return 0

    # --- the whole --------------------------------------------------------------------------------------------------------

    def start(self) -> Costs:
        f = self.f
        places: dict[int, Place] = {c: (-1, True) for c in self.constants.values()}
        assert self.live[0] <= set(f.params)
        for p, place in zip(f.params, self.target.convention.assign([f.types[p] for p in f.params]), strict=True):
            if p not in self.live[0]:
                continue
            if place < 0:
                # (In the caller's frame.)
                places[p] = (-1, True)
            else:
                places[p] = (place, False)
        costs = self.closure({tuple(sorted(places.items())): 0}, 1)
        # What came in another class's register has been moved.
        return {state: cost for state, cost in costs.items() if all(r < 0 or self.target.registers[r].cls == self.classes[v] for v, (r, _) in state)}

    def walk(self, costs: Costs, first: int, end: int, weight: int) -> Costs:
        """The states after instruction ``end - 1``."""
        for k in range(first, end):
            if self.code[k].op.effect == ops.CONTROL and self.code[k].rule is None:
                continue
            then: Costs = {}
            for state, cost in self.closure(costs, weight).items():
                for more, after in self.execute(k, state):
                    total = cost + more * weight
                    if total < then.get(after, 1 << 60):
                        then[after] = total
            costs = then
        return costs

    def restrict(self, costs: Costs, live: set[int]) -> Costs:
        """The same states, of these values alone."""
        made: Costs = {}
        for state, cost in costs.items():
            less = tuple(pair for pair in state if pair[0] < 0 or pair[0] in live)
            made[less] = min(cost, made.get(less, 1 << 60))
        return made

    def least(self) -> float:
        """The least cost of all."""
        if self.head < 0:
            return min(self.walk(self.start(), 0, len(self.code), 1).values()) / 2
        branch = next(k for k, instr in enumerate(self.code) if k > self.head and instr.op.compare)
        entering = self.closure(self.restrict(self.walk(self.start(), 0, self.head, 1), self.live[self.head]), 1, True)
        leaving: Costs = {}
        back: dict[State, Costs] = {}
        best = 1 << 60
        for state, cost in entering.items():
            if cost >= best:
                continue
            for after, inside in self.walk({state: 0}, self.head + 1, branch + 1, LOOP).items():
                if cost + inside >= best:
                    continue
                if after not in leaving:
                    leaving[after] = min(self.walk(self.restrict({after: 0}, self.live[branch + 1]), branch + 1, len(self.code), 1).values())
                    back[after] = self.closure(self.restrict({after: 0}, self.live[self.head]), LOOP, True)
                best = min(best, cost + inside + back[after].get(state, 1 << 60) + leaving[after])
        return best / 2
