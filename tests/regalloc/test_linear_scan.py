"""The allocator on small functions with unusual demands, each once a mistake; and what it leaves in the function."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.regalloc.generator import INTS, nothing, random_input, random_order
from tests.regalloc.test_checker import Tiny, replaceable

from loopwright.errors import InternalError, TargetError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Callee, Function, Instr
from loopwright.passes import allocate
from loopwright.regalloc import joins
from loopwright.regalloc.checker import check
from loopwright.regalloc.heuristics import DEFAULT_ORDER
from loopwright.regalloc.liveness import analyse
from loopwright.regalloc.output import Edge
from loopwright.settings import Settings
from loopwright.targets.target import Rule, Use
from loopwright.types import I64, VOID

G = Use(INTS)
M = Use(INTS, memory=True)
LATE = Use(INTS, late=True)
R0, R1, R2, R3 = 0, 1, 2, 3
ORDERS = [DEFAULT_ORDER, *(random_order(random.Random(n)) for n in range(40))]


class Maker:
    """A function on registers, by hand: each line an operation with its rule."""

    def __init__(self, params: int = 2) -> None:
        self.f = Function("f", I64)
        self.f.stage = "select"
        self.params = [self.f.param(I64, "") for _ in range(params)]
        self.target = Tiny()

    def __call__(self, rule: Rule, *args: int, dst: int = NONE) -> int:
        """An operation with a result unless the rule has none."""
        count = len(args)
        op = (ops.IOTA, ops.NEG, ops.ADD, ops.FMA, ops.CALL)[count] if rule.result is not None else ops.CALL_VOID
        if rule.result is not None and dst == NONE:
            dst = self.f.register(I64)
        if op in (ops.CALL, ops.CALL_VOID):
            self.f.callees.append(Callee("callee", [I64] * count, I64 if rule.result is not None else VOID))
        self.emit(op, list(args), dst, rule, len(self.f.callees) - 1 if op in (ops.CALL, ops.CALL_VOID) else 0)
        return dst

    def emit(self, op: ops.Op, args: list[int], dst: int, rule: Rule | None, imm: int = 0) -> None:
        instr = Instr(op, I64, dst, args, imm)
        instr.rule = rule
        self.f.code.append(instr)

    def copy(self, source: int, variable: bool = False, dst: int = NONE) -> int:
        if dst == NONE:
            dst = self.f.register(I64, "", variable)
        self.emit(ops.COPY, [source], dst, Rule("copy", (M,), G, nothing))
        return dst

    def bracket(self, op: ops.Op, imm: int = 0) -> None:
        self.emit(op, [], NONE, None, imm)

    def test(self, op: ops.Op, v: int, imm: int = 0) -> None:
        self.emit(op, [v], NONE, Rule(op.name, (M,), None, nothing), imm)

    def ret(self, v: int) -> None:
        self.emit(ops.RET, [v], NONE, Rule("ret", (Use(INTS, R0),), None, nothing))

    def under(self, order: str) -> Function:
        after = self.f.clone()
        after.analysis = analyse(after, self.target)
        allocate.run(after, self.target, Settings(ordering=order, prove=False))
        check(self.f, after, self.target)
        return after

    def every_order(self) -> Function:
        for order in ORDERS[1:]:
            self.under(order)
        return self.under(DEFAULT_ORDER)


def plain(count: int, result: Use | None = G, **more: object) -> Rule:
    return Rule("x", (G,) * count, result, nothing, **more)  # type: ignore[arg-type]


def test_a_preserved_register_that_an_instruction_destroys_is_saved() -> None:
    m = Maker()
    a, b = m.params
    c = m(plain(2, kills=1 << R3), a, b)
    m.ret(c)
    frame = m.every_order().frame
    assert frame is not None and frame.saved == [R3]


def test_what_a_callee_destroys_of_the_preserved_registers_is_not_saved_here() -> None:
    m = Maker()
    m(Rule("call", (), None, nothing, kills=0b0111))
    m.ret(m.f.const(I64, 1))
    frame = m.every_order().frame
    assert frame is not None and R2 not in frame.saved and frame.calls


def test_a_call_that_destroys_nothing_is_a_call() -> None:
    m = Maker()
    m(Rule("call", (), None, nothing))
    m.ret(m.params[0])
    frame = m.every_order().frame
    assert frame is not None and frame.calls


@pytest.mark.parametrize("place", [R0, R1, R3])
@pytest.mark.parametrize("again", [False, True])
def test_late_operands_keep_out_of_the_results_fixed_register(place: int, again: bool) -> None:
    m = Maker()
    a, b = m.params
    c = m(Rule("x", (G, LATE), Use(INTS, place), nothing), a, b)
    if again:
        c = m(plain(3), a, b, c)
    m.ret(c)
    m.every_order()


@pytest.mark.parametrize("place", [R0, R1, R2])
def test_scratch_registers_keep_out_of_the_results_fixed_register(place: int) -> None:
    m = Maker()
    a, b = m.params
    c = m(plain(2, Use(INTS, place), temps=(INTS,)), a, b)
    m.ret(m(plain(2), c, b))
    m.every_order()


def test_a_fixed_result_does_not_lose_its_value_to_a_dying_late_operand() -> None:
    m = Maker()
    a, b = m.params
    c = m(Rule("x", (LATE,), Use(INTS, R3), nothing), a)
    d = m(Rule("x", (LATE,), Use(INTS, R3), nothing), b)
    e = m(plain(2), d, c)
    m.ret(e)
    m.every_order()


def test_a_late_operand_in_a_fixed_register_does_not_share_it_with_the_result() -> None:
    m = Maker()
    a, b = m.params
    c = m(Rule("x", (Use(INTS, R3, late=True), G), G, nothing), a, b)
    m.ret(c)
    m.every_order()


def test_an_operand_copied_into_a_fixed_register_does_not_hold_two() -> None:
    # Four registers: one fixed, three scratch.
    m = Maker()
    a, b = m.params
    c = m(Rule("x", (Use(INTS, R3),), G, nothing, temps=(INTS, INTS, INTS)), b)
    m.ret(m(plain(2), a, c))
    m.every_order()


def test_a_destroyed_register_no_longer_has_its_constant() -> None:
    for clobbered in (R0, R1, R2, R3):
        m = Maker(1)
        seven = m.f.const(I64, 7)
        total = m.params[0]
        for _ in range(3):
            c = m.copy(seven)
            total = m(plain(2), total, c)
            total = m(Rule("x", (G,), G, nothing, clobbers=1 << clobbered), total)
        m.ret(total)
        m.every_order()


def test_a_tied_operand_is_not_brought_into_a_register_destroyed_first() -> None:
    for clobbers in (0b0001, 0b0110, 0b1010):
        m = Maker()
        a, b = m.params
        c = m(Rule("x", (G, LATE), G, nothing, tied=0, clobbers=clobbers), a, b)
        m.ret(m(plain(2), c, a))
        if clobbers.bit_count() < 2:
            m.every_order()
        else:
            m.under(DEFAULT_ORDER)


def test_a_variable_written_anew_on_one_way_through_an_inner_loop() -> None:
    # It goes round the outer loop by the way that does not write it; where it is written its old value is dead.
    m = Maker()
    a, b = m.params
    yes = m.f.const(I64, 1)
    v = m.copy(m.f.const(I64, 0), variable=True)
    m.bracket(ops.LOOP)
    m(plain(1), v, dst=v)
    m.bracket(ops.LOOP)
    m.test(ops.IF, a)
    m(plain(1), b, dst=v)
    m.bracket(ops.END)
    m.test(ops.BR_IF, yes, 0)
    m.bracket(ops.END)
    m.test(ops.BR_IF, b, 0)
    m.bracket(ops.END)
    m.ret(a)
    m.every_order()
    liveness, _shape = analyse(m.f, m.target)
    assert v in liveness.drops[4]


def test_operands_of_which_only_one_can_be_in_memory() -> None:
    m = Maker()
    values = [m(plain(2), *m.params) for _ in range(6)]
    total = values[0]
    for n in range(6):
        total = m(Rule("x", (M, M, M), G, nothing), total, values[n], values[-1 - n])
    m.ret(total)
    after = m.every_order()
    assert after.statistics.spilled > 0


def test_demands_that_cannot_be_met_are_an_internal_error() -> None:
    m = Maker(1)
    a = m.params[0]
    m.ret(m(Rule("x", (G,), G, nothing, temps=(INTS,) * 4), a))
    with pytest.raises(InternalError, match="register is left"):
        m.every_order()


def test_a_bad_order_is_refused_before_anything_is_changed() -> None:
    m = Maker()
    m.ret(m.params[0])
    with pytest.raises(TargetError, match="permutation"):
        m.under("ABC")


def test_the_same_order_gives_the_same_code() -> None:
    m = Maker()
    a, b = m.params
    values = [m(plain(2), a, b) for _ in range(5)]
    while len(values) > 1:
        values.append(m(plain(2), values.pop(0), values.pop(0)))
    m.ret(values[0])
    for order in ORDERS:
        texts = {str([(i.op.name, i.dst, i.args) for i in m.under(order).code]) for _ in range(3)}
        assert len(texts) == 1


def test_a_value_kept_across_a_call_is_in_a_preserved_register_or_in_memory() -> None:
    m = Maker()
    a, b = m.params
    m(Rule("call", (Use(INTS, R0),), None, nothing, kills=0b0011), a)
    m.ret(m(plain(2), a, b))
    after = m.every_order()
    assert after.frame is not None and set(after.frame.saved) <= {R2, R3}
    assert len(after.frame.saved) + after.statistics.spilled >= 2


@replaceable
def test_what_an_edge_calls_free_holds_none_of_what_it_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    # Cycles long enough to go by way of a free register are rare; that it is free matters in each of them.
    edges: list[Edge] = []

    class Noted(Edge):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            edges.append(self)

    monkeypatch.setattr(joins, "Edge", Noted)
    for seed in range(150):
        f, target = random_input(7_000_000 + seed)
        f.analysis = analyse(f, target)
        allocate.run(f, target, Settings(ordering=DEFAULT_ORDER, prove=False))
        for edge in edges:
            for _, now, wanted in edge.moves:
                assert now < 0 or not edge.free >> now & 1
                assert wanted < 0 or not edge.free >> wanted & 1
    assert len(edges) > 100
