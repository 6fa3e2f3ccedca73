"""Faults planted in right allocations and in the allocator: the checker catches every one that changes what happens."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.regalloc.generator import Machine, random_input, random_order
from tests.regalloc.simulate import same

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import SLOT, SPILL, Frame, Function, Instr, Slot
from loopwright.passes import allocate
from loopwright.regalloc import linear_scan, output, resolution
from loopwright.regalloc.checker import check
from loopwright.regalloc.intervals import Interval
from loopwright.regalloc.joins import Joins
from loopwright.regalloc.liveness import analyse
from loopwright.regalloc.output import Output
from loopwright.regalloc.registers import Registers
from loopwright.regalloc.resolution import Move
from loopwright.settings import Settings
from loopwright.targets.target import ANY_REGISTER, Rule, Target, Use
from loopwright.types import F32, I32, I64, vector_of

#: Faults are planted by replacing functions of the allocator, which the native build's do not allow.
replaceable = pytest.mark.skipif(not str(linear_scan.__file__).endswith(".py"), reason="functions of the native build cannot be replaced")


def allocated(seed: int, size: int = 0) -> tuple[Function, Function, Machine]:
    before, target = random_input(seed, size)
    after = before.clone()
    after.analysis = analyse(after, target)
    allocate.run(after, target, Settings(ordering=random_order(random.Random(seed)), prove=False))
    check(before, after, target)
    return before, after, target


def refused(before: Function, after: Function, target: Target) -> bool:
    try:
        check(before, after, target)
    except InternalError:
        return True
    return False


# --- faults planted in right allocations ----------------------------------------------------------------------

Fault = Callable[[Function, Machine, random.Random], bool]


def moves(f: Function) -> list[int]:
    return [k for k, instr in enumerate(f.code) if instr.op is ops.COPY or instr.op is ops.SWAP]


def drop_move(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = moves(f)
    if found:
        del f.code[chooser.choice(found)]
    return bool(found)


def drop_store(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = [k for k in moves(f) if f.code[k].dst >= SLOT]
    if found:
        del f.code[chooser.choice(found)]
    return bool(found)


def drop_reload(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = [k for k in moves(f) if f.code[k].args[0] >= SLOT]
    if found:
        del f.code[chooser.choice(found)]
    return bool(found)


def exchange_moves(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = [k for k in moves(f) if k + 1 < len(f.code) and f.code[k + 1].op in (ops.COPY, ops.SWAP)]
    if found:
        k = chooser.choice(found)
        f.code[k], f.code[k + 1] = f.code[k + 1], f.code[k]
    return bool(found)


def exchange_registers(f: Function, target: Machine, chooser: random.Random) -> bool:
    """Two registers exchanged in one instruction."""
    found = [k for k, instr in enumerate(f.code) if len({a for a in (*instr.args, instr.dst) if 0 <= a < SLOT}) > 1]
    if not found:
        return False
    instr = f.code[chooser.choice(found)]
    x, y = chooser.sample(sorted({a for a in (*instr.args, instr.dst) if 0 <= a < SLOT}), 2)
    other = {x: y, y: x}
    instr.args = [other.get(a, a) for a in instr.args]
    instr.dst = other.get(instr.dst, instr.dst)
    return True


def another_register(f: Function, target: Machine, chooser: random.Random) -> bool:
    """Another register of the class for one operand or the result."""
    found = [(k, j) for k, instr in enumerate(f.code) for j, a in enumerate((*instr.args, instr.dst)) if 0 <= a < SLOT]
    if not found:
        return False
    k, j = chooser.choice(found)
    instr = f.code[k]
    old = instr.args[j] if j < len(instr.args) else instr.dst
    order = [r for r in target.orders[target.registers[old].cls] if r != old]
    new = chooser.choice(order)
    if j < len(instr.args):
        instr.args = [*instr.args[:j], new, *instr.args[j + 1 :]]
    else:
        instr.dst = new
    return True


def another_slot(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = [k for k, instr in enumerate(f.code) if any(a >= SLOT for a in (*instr.args, instr.dst))]
    if not found or len(f.slots) < 2:
        return False
    instr = f.code[chooser.choice(found)]
    new = SLOT + chooser.randrange(len(f.slots))
    instr.args = [new if a >= SLOT else a for a in instr.args]
    if instr.dst >= SLOT:
        instr.dst = new
    return True


def shared_slots(f: Function, target: Machine, chooser: random.Random) -> bool:
    """Two slots that were apart now share their place."""
    own = [n for n, slot in enumerate(f.slots) if slot.kind == SPILL]
    if len(own) < 2:
        return False
    x, y = chooser.sample(own, 2)
    f.slots = [Slot(slot.kind, slot.size, slot.offset) for slot in f.slots]
    f.slots[x].offset = f.slots[y].offset - f.slots[y].offset % f.slots[x].size
    return True


def another_constant(f: Function, target: Machine, chooser: random.Random) -> bool:
    found = [k for k in moves(f) if f.code[k].args[0] < 0]
    if not found:
        return False
    instr = f.code[chooser.choice(found)]
    alike = [~n for n, type_ in enumerate(f.const_types) if type_ is instr.type and ~n != instr.args[0]]
    if alike:
        instr.args = [chooser.choice(alike)]
    return bool(alike)


def not_saved(f: Function, target: Machine, chooser: random.Random) -> bool:
    assert f.frame is not None
    if not f.frame.saved:
        return False
    frame = Frame()
    frame.size, frame.outgoing, frame.calls, frame.align = f.frame.size, f.frame.outgoing, f.frame.calls, f.frame.align
    frame.saved = list(f.frame.saved)
    del frame.saved[chooser.randrange(len(frame.saved))]
    f.frame = frame
    return True


def narrower_move(f: Function, target: Machine, chooser: random.Random) -> bool:
    narrow = {I64: I32, vector_of(F32, 4): F32}
    found = [k for k in moves(f) if f.code[k].type in narrow and f.code[k].args[0] >= 0]
    if not found:
        return False
    instr = f.code[chooser.choice(found)]
    instr.type = narrow[instr.type]
    return True


def moved_up(f: Function, target: Machine, chooser: random.Random) -> bool:
    """A move one instruction earlier."""
    found = [k for k in moves(f) if k > 1 and f.code[k - 1].op.effect != ops.CONTROL]
    if found:
        k = chooser.choice(found)
        f.code[k - 1], f.code[k] = f.code[k], f.code[k - 1]
    return bool(found)


FAULTS: list[Fault] = [
    drop_move,
    drop_store,
    drop_reload,
    exchange_moves,
    exchange_registers,
    another_register,
    another_slot,
    shared_slots,
    another_constant,
    not_saved,
    narrower_move,
    moved_up,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_planted_fault_that_changes_what_happens_is_caught(fault: Fault) -> None:
    chooser = random.Random(fault.__name__)
    count: Counter[str] = Counter()
    for seed in range(450):
        before, after, target = allocated(3_000_000 + seed)
        for _ in range(2):
            mutant = after.clone()
            if not fault(mutant, target, chooser):
                continue
            if refused(before, mutant, target):
                count["caught"] += 1
            else:
                # What passes must do the same.
                assert same(before, mutant, target, range(10)), (seed, fault.__name__)
                count["harmless"] += 1
    assert count["caught"] > 40, count


def test_a_right_allocation_stays_right_with_useless_moves() -> None:
    # The checker asks for what is needed, and nothing else.
    for seed in range(150):
        before, after, target = allocated(3_100_000 + seed)
        mutant = after.clone()
        assert mutant.frame is not None
        for k in range(len(mutant.code) - 1, 0, -1):
            instr = mutant.code[k]
            if instr.op is ops.COPY and 0 <= instr.args[0] < SLOT and instr.dst < SLOT and not instr.args[1:]:
                mutant.code.insert(k, instr.copy())
        check(before, mutant, target)


# --- faults planted in the allocator --------------------------------------------------------------------------


def untold(rule: Rule, **changes: Any) -> Rule:
    """A rule that hides some of its demands."""
    fields = {name: getattr(rule, name) for name in ("name", "uses", "result", "emit", "tied", "commutes", "kills", "temps", "clobbers")}
    return Rule(**{**fields, **changes})


def hide(change: Callable[[Rule], Rule]) -> Callable[[Function], None]:
    """The allocator sees other rules than the checker."""

    def run(f: Function) -> None:
        for instr in f.code:
            if instr.rule is not None:
                instr.rule = change(instr.rule)

    return run


HIDDEN: dict[str, Callable[[Function], None]] = {
    "kills": hide(lambda rule: untold(rule, kills=0)),
    "clobbers": hide(lambda rule: untold(rule, clobbers=0)),
    "late": hide(lambda rule: untold(rule, uses=tuple([Use(use.cls, use.fixed, use.memory) for use in rule.uses]))),
    "fixed": hide(lambda rule: untold(rule, uses=tuple([Use(use.cls, ANY_REGISTER, use.memory, use.late) for use in rule.uses]))),
    "fixed result": hide(lambda rule: untold(rule, result=Use(rule.result.cls) if rule.result is not None else None)),
    "registers only": hide(lambda rule: untold(rule, uses=tuple([Use(use.cls, use.fixed, use.fixed == ANY_REGISTER, use.late) for use in rule.uses]))),
    "scratch": hide(lambda rule: untold(rule, temps=())),
}


def prove_some(name: str, change: Callable[[Function], None] | None = None, functions: int = 250, least: int = 6) -> None:
    """Among many allocations made with a fault at least some are wrong; all that differ when run are refused."""
    caught = 0
    for seed in range(functions):
        before, target = random_input(3_200_000 + seed)
        after = before.clone()
        if change is not None:
            change(after)
        after.analysis = analyse(after, target)
        try:
            allocate.run(after, target, Settings(ordering=random_order(random.Random(seed)), prove=False))
        except (InternalError, AssertionError):
            # The fault was too much for the allocator itself.
            continue
        if refused(before, after, target):
            caught += 1
        elif change is None:
            assert same(before, after, target), (name, seed)
    assert caught >= least, (name, caught)


@pytest.mark.parametrize("demand", list(HIDDEN))
def test_a_demand_the_allocator_overlooks_is_caught(demand: str) -> None:
    prove_some(demand, HIDDEN[demand])


def no_moves(_moves: list[Move], _line: int, _free: int, _masks: list[int]) -> list[Instr]:
    return []


def one_after_another(given: list[Move], line: int, _free: int, _masks: list[int]) -> list[Instr]:
    """Parallel moves as if they were not parallel."""
    return [Instr(ops.COPY, move.type, move.destination, [move.source], 0, line) for move in given if move.destination != move.source]


@replaceable
def test_missing_resolution_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "sequence", no_moves)
    prove_some("no moves")


@replaceable
def test_moves_in_the_wrong_order_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "sequence", one_after_another)
    prove_some("in order", functions=700)


@replaceable
def test_a_cycle_by_way_of_a_register_in_use_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_use(waiting: list[Move], _free: int, masks: list[int]) -> int:
        start = waiting[0].destination
        taken = {move.destination for move in waiting}
        return next((r for mask in masks if mask >> start & 1 for r in range(mask.bit_length()) if mask >> r & 1 and r not in taken), -1)

    monkeypatch.setattr(resolution, "_free_register", in_use)
    prove_some("cycles", functions=2000, least=2)


@replaceable
def test_a_value_dropped_that_has_no_home_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home_needed(self: Joins, v: int, interval: Interval) -> bool:
        return self.arrival[self.inside[-1].head].get(v, 0) < 0

    monkeypatch.setattr(Joins, "not_back", no_home_needed)
    prove_some("not back", functions=2000, least=2)


@replaceable
def test_a_home_that_is_thought_to_hold_the_value_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = Registers.settle

    def too_easily(self: Registers, interval: Interval) -> None:
        settle(self, interval)
        if interval.defs > 1 and not interval.homed:
            # As if it were stored at its definitions, one of which is forgotten.
            interval.homed = True
            interval.definitions = None

    monkeypatch.setattr(Registers, "settle", too_easily)
    prove_some("homes")


@replaceable
def test_a_spill_that_does_not_store_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    merge = Output.merge

    def without_stores(self: Output, inserts: dict[int, list[Instr]], splits: dict[int, list[Instr]]) -> None:
        merge(self, {at: [instr for instr in code if instr.dst < SLOT] for at, code in inserts.items()}, splits)

    monkeypatch.setattr(Output, "merge", without_stores)
    prove_some("stores")


@replaceable
def test_slots_in_one_place_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Output.layout

    def crowded(self: Output) -> None:
        layout(self)
        for slot in self.f.slots:
            if slot.kind == SPILL:
                slot.offset = 0

    monkeypatch.setattr(Output, "layout", crowded)
    prove_some("slots")


@replaceable
def test_a_frame_that_saves_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Output.layout

    def careless(self: Output) -> None:
        layout(self)
        assert self.f.frame is not None
        self.f.frame.saved.clear()

    monkeypatch.setattr(Output, "layout", careless)
    prove_some("frame")


def test_values_taken_for_dead_too_early_are_caught() -> None:
    caught = 0
    for seed in range(200):
        before, target = random_input(3_300_000 + seed)
        after = before.clone()
        liveness, shape = analyse(after, target)
        chooser = random.Random(seed)
        for k, instr in enumerate(after.code):
            if instr.args and chooser.random() < 0.2:
                liveness.dies[k] = (1 << len(instr.args)) - 1
                for j, a in enumerate(instr.args):
                    if a < 0:
                        liveness.dies[k] &= ~(1 << j)
        after.analysis = (liveness, shape)
        try:
            allocate.run(after, target, Settings(ordering=random_order(chooser), prove=False))
        except (InternalError, AssertionError):
            continue
        if refused(before, after, target):
            caught += 1
        else:
            assert same(before, after, target), seed
    assert caught > 20


@replaceable
def test_a_constant_that_is_not_there_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Registers.place

    def sure(self: Registers, interval: Interval, r: int) -> None:
        place(self, interval, r)
        self.replaced = interval.constant

    monkeypatch.setattr(Registers, "place", sure)
    prove_some("constant")
