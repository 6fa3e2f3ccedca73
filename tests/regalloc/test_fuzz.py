"""Random inputs of the allocator under random orders: each allocation is proved."""

from __future__ import annotations

import random

import pytest
from tests.regalloc.generator import random_input, random_input_with_runs, random_order
from tests.regalloc.simulate import same

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.passes import allocate
from loopwright.regalloc.checker import check
from loopwright.regalloc.heuristics import DEFAULT_ORDER
from loopwright.regalloc.liveness import analyse
from loopwright.settings import Settings

#: (function, order) pairs: 40,000 in every run, 160,000 in the slow part.
ORDERS = 4
FUNCTIONS = 1000
QUICK = 7
SLOW = 43


def prove(seed: int, orders: int) -> int:
    """Allocate the function of a seed under several orders; the first seeds of each thousand under the default order too."""
    before, target = random_input(seed)
    chooser = random.Random(~seed)
    for n in range(orders):
        order = DEFAULT_ORDER if n == 0 and seed % 10 == 0 else random_order(chooser)
        after = before.clone()
        after.analysis = analyse(after, target)
        try:
            allocate.run(after, target, Settings(ordering=order, prove=False))
            check(before, after, target)
        except Exception as error:
            error.add_note(f"seed {seed}, order {order}")
            raise
    return orders


@pytest.mark.parametrize("part", range(QUICK))
def test_every_allocation_is_right_under_any_order(part: int) -> None:
    assert sum(prove(seed, ORDERS) for seed in range(part * FUNCTIONS, (part + 1) * FUNCTIONS)) == ORDERS * FUNCTIONS


@pytest.mark.slow
@pytest.mark.parametrize("part", range(QUICK, QUICK + SLOW))
def test_every_allocation_is_right_under_any_order_at_length(part: int) -> None:
    assert sum(prove(seed, ORDERS) for seed in range(part * FUNCTIONS, (part + 1) * FUNCTIONS)) == ORDERS * FUNCTIONS


@pytest.mark.slow
def test_long_functions_are_allocated_right() -> None:
    for seed in range(300):
        before, target = random_input(1_000_000 + seed, size=300)
        after = before.clone()
        after.analysis = analyse(after, target)
        allocate.run(after, target, Settings(ordering=random_order(random.Random(seed)), prove=False))
        check(before, after, target)


def test_what_is_proved_does_the_same_when_it_runs() -> None:
    # The simulator is another model of the machine than the checker's: neither may be too lenient.
    for seed in range(1200):
        before, target = random_input(2_000_000 + seed)
        after = before.clone()
        after.analysis = analyse(after, target)
        allocate.run(after, target, Settings(ordering=random_order(random.Random(seed)), prove=False))
        check(before, after, target)
        assert same(before, after, target), seed


def test_operands_and_results_in_consecutive_registers_and_more_registers_than_a_word_has_bits() -> None:
    runs = several = most = 0
    for seed in range(1200):
        before, target = random_input_with_runs(7_000_000 + seed)
        after = before.clone()
        after.analysis = analyse(after, target)
        allocate.run(after, target, Settings(ordering=random_order(random.Random(seed)), prove=False))
        check(before, after, target)
        assert same(before, after, target), seed
        runs += sum(instr.rule is not None and instr.rule.run is not None for instr in after.code)
        several += sum(instr.rule is not None and instr.rule.results is not None for instr in after.code)
        most = max(most, len(target.registers))
    assert runs > 500 and several > 500 and most > 64


def test_the_checker_notices_a_result_that_is_not_in_the_run() -> None:
    broken = 0
    for seed in range(200):
        before, target = random_input_with_runs(7_200_000 + seed)
        after = before.clone()
        after.analysis = analyse(after, target)
        allocate.run(after, target, Settings(ordering=DEFAULT_ORDER, prove=False))
        check(before, after, target)
        for k, instr in enumerate(after.code):
            if instr.op is ops.PART:
                found = next(n for n in range(k - 1, -1, -1) if after.code[n].op.further)
                # Another register of the class, the instruction's own result among them; and a run that begins elsewhere.
                wrong = [r for r in target.orders[1] if r != instr.dst]
                for at, r in ((k, wrong[seed % len(wrong)]), (found, instr.dst)):
                    kept = after.code[at].dst
                    after.code[at].dst = r
                    with pytest.raises(InternalError):
                        check(before, after, target)
                    after.code[at].dst = kept
                check(before, after, target)
                broken += 1
                break
    assert broken > 50


def test_the_checker_notices_a_broken_run() -> None:
    broken = 0
    for seed in range(200):
        before, target = random_input_with_runs(7_100_000 + seed)
        after = before.clone()
        after.analysis = analyse(after, target)
        allocate.run(after, target, Settings(ordering=DEFAULT_ORDER, prove=False))
        check(before, after, target)
        for instr in after.code:
            rule = instr.rule
            if rule is not None and rule.run is not None and len(set(instr.args)) > 1:
                instr.args = [*instr.args[1 : rule.run.count], instr.args[0], *instr.args[rule.run.count :]]
                with pytest.raises(InternalError):
                    check(before, after, target)
                broken += 1
                break
    assert broken > 50
