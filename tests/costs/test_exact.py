"""The least cost of an allocation: by hand, beside an exhaustive search, and never above what linear scan attains."""

from __future__ import annotations

import random
import sys

import pytest
from tests.costs.exhaustive import Exhaustive
from tests.regalloc.generator import INTS, Generator, Machine, classes_of, nothing, random_input, random_order

from loopwright import compiler
from loopwright.costs import exact
from loopwright.ir import ops
from loopwright.ir.function import INCOMING, NONE, SLOT, SPILL, Function, Instr, Slot
from loopwright.ir.text import parse
from loopwright.regalloc.heuristics import DEFAULT_ORDER
from loopwright.targets import registry
from loopwright.targets.target import ANY_REGISTER, ANY_TIED, Convention, Register, Rule, Target, Use
from loopwright.types import F64, I64, VOID

pytest.importorskip("ortools")


def solved(f: Function, target: Target) -> exact.Optimum:
    found = exact.optimum(f, target, workers=1)
    assert found.proven and found.cost is not None and found.bound == found.cost
    return found


# --- beside an exhaustive search ------------------------------------------------------------------------------------------


class Tiny(Generator):
    """Straight code of a few instructions, or a loop of a few with code before and after it."""

    def make_tiny(self, before: int, inside: int, after: int) -> Function:
        chooser = self.random
        self.types = [I64] if inside or chooser.random() < 0.6 else [I64, F64]
        for _ in range(chooser.randint(1, 3)):
            self.scope.append(self.f.param(chooser.choice(self.types), ""))
        self.some_instructions(before)
        if inside:
            self.emit(ops.LOOP, VOID, [])
            self.f.code[-1].rule = None
            self.some_instructions(inside)
            uses = (Use(0, memory=chooser.random() < 0.5), Use(0))
            self.emit(ops.BR_CMP["lt"], I64, [self.known(), self.known()], rule=Rule("br", uses, None, nothing))
            self.emit(ops.END, VOID, [])
            self.f.code[-1].rule = None
            self.some_instructions(after)
        if self.f.result is not VOID:
            self.ret()
        return self.f

    def known(self) -> int:
        """A register, of whatever age."""
        known = [v for v in self.scope if self.f.types[v] is I64]
        return self.random.choice(known) if known else self.constant(I64)

    def some_instructions(self, count: int) -> None:
        chance = self.random.random
        for _ in range(count):
            kind = chance()
            if kind < 0.5:
                self.arithmetic()
            elif kind < 0.75:
                self.assign()
            elif kind < 0.95:
                self.memory()
            else:
                self.call()


def tiny(seed: int, loop: bool) -> tuple[Function, Machine]:
    chooser = random.Random(seed)
    target = Machine(chooser, 2, 2 if loop else 3)
    pick = chooser.randint
    sizes = (pick(0, 2), pick(1, 3), pick(0, 2)) if loop else (pick(2, 6), 0, 0)
    return Tiny(chooser, target, 0).make_tiny(*sizes), target


@pytest.mark.parametrize("part", range(4))
def test_the_solver_finds_what_an_exhaustive_search_finds_for_straight_code(part: int) -> None:
    for seed in range(200 * part, 200 * part + 200):
        f, target = tiny(seed, False)
        lowered = compiler.run_passes(f, target, after="liveness")
        assert solved(f, target).cost == Exhaustive(lowered, target).least(), seed


@pytest.mark.parametrize("part", range(4))
def test_the_solver_finds_what_an_exhaustive_search_finds_for_a_loop(part: int) -> None:
    compared = 0
    for seed in range(100 * part, 100 * part + 100):
        f, target = tiny(seed, True)
        judge = Exhaustive(compiler.run_passes(f, target, after="liveness"), target)
        if judge.widest() <= 3:
            assert solved(f, target).cost == judge.least(), seed
            compared += 1
    assert compared > 40


# --- beside linear scan ---------------------------------------------------------------------------------------------------


def not_above_linear_scan(seed: int) -> bool:
    """No real allocation costs less than the bound; whether the default order attains the optimum."""
    chooser = random.Random(seed)
    f, target = random_input(seed, chooser.choice((4, 8, 12, 20)), 2, 6)
    if len(compiler.run_passes(f, target, after="liveness").code) > 30:
        return False
    best = exact.optimum(f, target, seconds=2, workers=1)
    for order in (DEFAULT_ORDER, random_order(chooser), random_order(chooser)):
        _, cost = exact.allocated(f, target, order)
        assert cost.total >= best.bound, (seed, order)
        if best.proven and order == DEFAULT_ORDER:
            attained = cost.total == best.cost
    return best.proven and attained


@pytest.mark.parametrize("part", [0, *[pytest.param(part, marks=pytest.mark.every_change) for part in (1, 2)]])
def test_linear_scan_never_costs_less_than_the_optimum(part: int) -> None:
    assert sum(not_above_linear_scan(seed) for seed in range(60 * part, 60 * part + 60)) > 12


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3, 20))
def test_linear_scan_never_costs_less_than_the_optimum_at_length(part: int) -> None:
    assert sum(not_above_linear_scan(seed) for seed in range(60 * part, 60 * part + 60)) > 12


# --- by hand --------------------------------------------------------------------------------------------------------------


class Code:
    """Lowered code for a machine of a few integer registers, the parameters in the first of them; written a line at a time."""

    def __init__(self, registers: int = 2) -> None:
        self.target = Machine.__new__(Machine)
        self.target.mask_registers = False
        names = [*(Register(f"r{n}", 0, n) for n in range(registers)), Register("v", 1, 0)]
        convention = Convention("hand", tuple(range(registers)), (registers,), 0, registers, 1 << registers - 1)
        Target.__init__(self.target, convention, names, classes_of([tuple(range(registers)), (registers,)]), frozenset())
        self.target.name = "synthetic"
        self.f = Function("hand", VOID)
        self.f.stage = "select"
        self.f.target_name = "synthetic"

    def param(self) -> int:
        return self.f.param(I64, "")

    def variable(self) -> int:
        return self.f.register(I64, "", True)

    def line(self, op: ops.Op, dst: int, args: list[int], imm: int, rule: Rule | None) -> int:
        instr = Instr(op, I64 if rule is not None else VOID, dst, args, imm)
        instr.rule = rule
        self.f.code.append(instr)
        return dst

    def make(self, *args: int, to: int = NONE, fixed: int = ANY_REGISTER, tied: int = -1, commutes: bool = False) -> int:
        """A value from others."""
        dst = to if to >= 0 else self.f.register(I64)
        return self.line(ops.ADD, dst, list(args), 0, Rule("make", (Use(INTS),) * len(args), Use(INTS, fixed), nothing, tied, commutes))

    def copy(self, source: int, to: int = NONE) -> int:
        dst = to if to >= 0 else self.f.register(I64)
        return self.line(ops.COPY, dst, [source], 0, Rule("copy", (Use(INTS, memory=True),), Use(INTS), nothing))

    def constant(self, value: int) -> int:
        return self.copy(self.f.const(I64, value))

    def read(self, *args: int, memory: int = -1, fixed: tuple[int, ...] = (), kills: int = 0, clobbers: int = 0) -> None:
        """Something is done with values; operand ``memory`` may be taken from its slot."""
        uses = tuple([Use(INTS, fixed[j] if j < len(fixed) else ANY_REGISTER, j == memory) for j in range(len(args))])
        self.line(ops.STORE_ARG, NONE, list(args), 0, Rule("read", uses, None, nothing, kills=kills, clobbers=clobbers))

    def bracket(self, op: ops.Op) -> None:
        self.line(op, NONE, [], 0, None)

    def branch(self, value: int, depth: int = 0) -> None:
        self.line(ops.BR_IF, NONE, [value], depth, Rule("branch", (Use(INTS),), None, nothing))

    def least(self) -> float | None:
        """The least cost; linear scan's is not less."""
        best = solved(self.f, self.target)
        assert exact.allocated(self.f, self.target)[1].total >= best.bound
        return best.cost


def test_nothing_is_paid_while_there_are_registers() -> None:
    c = Code(3)
    x, y, z = c.param(), c.param(), c.param()
    c.read(x, y)
    c.read(c.make(y, z), z)
    c.read(x)
    assert c.least() == 0


@pytest.mark.parametrize("memory", [-1, 0])
def test_one_register_too_few(memory: int) -> None:
    c = Code(2)
    x, y, z = c.make(), c.make(), c.make()
    c.read(y, z)
    c.read(x, memory=memory)
    assert c.least() == 2


def test_an_operand_from_memory_needs_no_register() -> None:
    c = Code(2)
    x, y, z = c.make(), c.make(), c.make()
    c.read(y, z)
    c.read(y, x, memory=1)
    c.read(y, z)
    # Stored, and read once from there; with a register for it, z would have to be stored and loaded as well.
    assert c.least() == 2
    c.f.code[4].rule = Rule("read", (Use(INTS), Use(INTS)), None, nothing)
    assert c.least() == 4


def test_a_value_not_wanted_in_a_loop_is_spilled_rather_than_one_that_is() -> None:
    c = Code(2)
    x, y, z = c.make(), c.make(), c.make()
    c.bracket(ops.LOOP)
    c.read(y, z)
    c.branch(y)
    c.bracket(ops.END)
    c.read(x)
    assert c.least() == 2


def test_a_reload_in_a_loop_weighs_eight() -> None:
    c = Code(2)
    x, y, z = c.make(), c.make(), c.make()
    c.bracket(ops.LOOP)
    c.read(y, z)
    c.read(x)
    c.branch(y)
    c.bracket(ops.END)
    # In each turn z (or x) makes room for the other and comes back: two loads, one store of each outside.
    assert c.least() == 2 * 8 + 2


def test_what_goes_straight_to_a_return_weighs_one() -> None:
    c = Code(2)
    x, y, z = c.make(), c.make(), c.make()
    c.bracket(ops.LOOP)
    c.read(y, z)
    c.line(ops.IF, NONE, [y], 0, Rule("if", (Use(INTS),), None, nothing))
    c.read(x)
    c.line(ops.RET, NONE, [], 0, Rule("ret", (), None, nothing))
    c.bracket(ops.END)
    c.branch(y)
    c.bracket(ops.END)
    assert c.least() == 2


def test_a_fixed_operand_costs_a_move_unless_the_value_is_there() -> None:
    c = Code(2)
    x = c.param()
    c.read(x, fixed=(1,))
    assert c.least() == 1
    c.f.code[0].rule = Rule("read", (Use(INTS, 0),), None, nothing)
    assert c.least() == 0


def test_two_fixed_operands_that_are_in_each_others_registers_are_exchanged() -> None:
    c = Code(2)
    x, y = c.param(), c.param()
    c.read(x, y, fixed=(1, 0))
    assert c.least() == 2


def test_a_fixed_result_costs_a_move_when_it_has_to_leave() -> None:
    c = Code(2)
    x = c.make(fixed=1)
    y = c.make(fixed=1)
    c.read(x, y)
    assert c.least() == 1


def test_a_two_operand_form_costs_a_move_when_the_operand_lives_on() -> None:
    for lives_on, commutes, expected in ((False, False, 0), (True, False, 1), (True, True, 0)):
        c = Code(3)
        x, y = c.param(), c.param()
        c.read(c.make(x, y, tied=0, commutes=commutes))
        if lives_on:
            c.read(x)
        assert c.least() == expected, (lives_on, commutes)


def test_a_constant_costs_half_and_is_never_stored() -> None:
    c = Code(2)
    x = c.constant(7)
    c.read(x, c.make())
    assert c.least() == 1 / 2
    y, z = c.make(), c.make()
    c.read(y, z)
    c.read(x, y)
    assert c.least() == 1


def test_a_constant_in_a_loop_is_made_once_before_it() -> None:
    c = Code(2)
    y = c.make()
    c.bracket(ops.LOOP)
    c.read(c.constant(7), y)
    c.branch(y)
    c.bracket(ops.END)
    assert c.least() == 1 / 2


def test_what_lives_across_a_call_is_moved_or_stored() -> None:
    for kills, expected in ((0b11, 2), (0b01, 1), (0b10, 0)):
        c = Code(2)
        x = c.param()
        c.read(kills=kills)
        c.read(x)
        assert c.least() == expected, bin(kills)


def test_the_instruction_itself_may_read_what_is_copied_out_of_its_way() -> None:
    c = Code(2)
    x = c.param()
    c.read(x, fixed=(0,), kills=0b01)
    c.read(x)
    assert c.least() == 1
    c.f.code[0].rule = Rule("read", (Use(INTS),), None, nothing, clobbers=0b11)
    with pytest.raises(exact.ExactError, match="no allocation exists"):
        exact.optimum(c.f, c.target, workers=1)


def test_values_that_change_places_in_a_loop_are_exchanged_on_the_back_edge() -> None:
    c = Code(3)
    x, y = c.make(to=c.variable()), c.make(to=c.variable())
    c.bracket(ops.LOOP)
    c.read(x, y)
    t = c.copy(x)
    c.copy(y, to=x)
    c.copy(t, to=y)
    c.branch(x)
    c.bracket(ops.END)
    c.read(x, y)
    assert c.least() == 2 * 8


def test_a_stack_argument_is_loaded_and_never_stored() -> None:
    c = Code(1)
    c.param()
    y = c.param()
    c.read(y)
    c.read(kills=1)
    c.read(y)
    assert c.least() == 2


def test_places_say_where_everything_is() -> None:
    c = Code(2)
    x, y, z = c.make(), c.make(), c.make()
    c.read(y, z)
    c.read(x)
    places = exact.optimum(c.f, c.target, workers=1, places=True).places
    assert {places[(3, y)], places[(3, z)]} == {"r0", "r1"}
    assert places[(3, x)] == "memory"
    assert places[(4, x)].startswith("r")


# --- the price of what was made ---------------------------------------------------------------------------------------------


def priced(*rows: tuple[ops.Op, int, list[int], float, Rule | None, list[int]]) -> exact.Cost:
    """(operation, destination, operands, weight, rule, operands before) of each instruction, and what they cost."""
    f = Function("priced", VOID)
    f.slots = [Slot(SPILL, 8, 0), Slot(INCOMING, 8, 0)]
    before = []
    for op, dst, args, weight, rule, virtual in rows:
        instr = Instr(op, I64, dst, args)
        instr.weight = weight
        instr.rule = rule
        f.code.append(instr)
        before.append((instr, virtual))
    return exact.cost_of(f, before)


def test_the_price_of_copies() -> None:
    slot, argument = SLOT, SLOT + 1
    cost = priced(
        (ops.COPY, 1, [2], 1.0, None, []),
        (ops.COPY, 1, [1], 8.0, None, []),
        (ops.COPY, slot, [1], 8.0, None, []),
        (ops.COPY, 1, [slot], 64.0, None, []),
        (ops.COPY, 1, [argument], 2.0, None, []),
        (ops.COPY, 1, [-1], 8.0, None, []),
        (ops.SWAP, NONE, [1, 2], 8.0, None, []),
    )
    assert (cost.moves, cost.stores, cost.loads, cost.arguments, cost.constants) == (17.0, 8.0, 66.0, 2.0, 8.0)
    assert cost.total == 17 + 8 + 66 + 4
    assert cost.spills == 74


def test_the_price_of_operands_and_two_operand_forms() -> None:
    use = Use(INTS, memory=True)
    plain = Rule("plain", (use, use), use, nothing)
    tied = Rule("tied", (use, use), use, nothing, tied=0)
    commuting = Rule("commuting", (use, use), use, nothing, tied=0, commutes=True)
    wish = Rule("wish", (use, use, use), use, nothing, tied=ANY_TIED)
    slot = SLOT
    for op, rule, dst, args, virtual, expected in (
        (ops.ADD, plain, 0, [1, slot], [5, 6], 1),
        (ops.ADD, plain, 0, [1, -1], [5, 6], 0.5),
        (ops.ADD, plain, 0, [1, -1], [5, -1], 0),
        (ops.ADD, tied, 1, [1, 2], [5, 6], 0),
        (ops.ADD, tied, 2, [1, 2], [5, 6], 1),
        (ops.ADD, tied, 0, [slot, 2], [5, 6], 1),
        (ops.ADD, tied, 0, [-1, 2], [5, 6], 0.5),
        (ops.ADD, tied, 0, [-1, 2], [-1, 6], 0.5),
        (ops.ADD, commuting, 2, [1, 2], [5, 6], 0),
        (ops.ADD, commuting, 2, [-1, 2], [-1, 6], 0),
        (ops.ADD, commuting, 0, [1, slot], [5, 6], 2),
        (ops.FMA, wish, 2, [0, 1, 2], [5, 6, 7], 0),
        (ops.FMA, wish, 3, [0, 1, 2], [5, 6, 7], 1),
        (ops.SELECT, wish, 3, [0, 1, 2], [5, 6, 7], 0),
    ):
        assert priced((op, dst, args, 8.0, rule, virtual)).total == 8 * expected, (op.name, rule.name, dst, args)


def test_the_price_of_a_real_function() -> None:
    text = """function f(%a: i64, %b: i64) -> i64
  callee g(i64) -> i64
  %1 = call.i64 g(%b)
  %2 = add.i64 %1, %a
  ret %2
end
"""
    f = parse(text)
    for name in ("x86-64-v3", "x86-64-v4"):
        target = registry.get(name)
        # %a out of the call's way, %b into its first argument's register; the sum is made where it is returned.
        best = solved(f, target)
        assert best.cost == exact.allocated(f, target)[1].total == 2
        assert best.instructions == 3


# --- errors -----------------------------------------------------------------------------------------------------------------


def test_a_function_that_is_too_long_is_refused() -> None:
    c = Code(2)
    x = c.param()
    for _ in range(61):
        c.read(x)
    with pytest.raises(exact.ExactError, match="hand has 61 instructions when it comes to allocation, more than 60"):
        exact.optimum(c.f, c.target)
    assert exact.optimum(c.f, c.target, limit=61, workers=1).cost == 0


def test_nothing_worse_than_what_is_known_is_looked_for() -> None:
    c = Code(2)
    x = c.param()
    c.read(x, fixed=(1,))
    assert exact.optimum(c.f, c.target, known=1, workers=1).cost == 1
    with pytest.raises(exact.ExactError, match="no allocation costs at most 0"):
        exact.optimum(c.f, c.target, known=0, workers=1)


def test_without_the_solver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    c = Code(2)
    c.read(c.param())
    with pytest.raises(exact.ExactError, match=r"pip install 'loopwright\[tuning\]'"):
        exact.optimum(c.f, c.target)
