"""Bounds hold for every order of a paragraph's commands, and the least number of cycles lies between them and what the simulator takes."""

from __future__ import annotations

import itertools

import pytest
from tests.targets.multiclet.programs import random_unit

from loopwright.errors import AssemblyError
from loopwright.targets.multiclet.assembler import assemble
from loopwright.targets.multiclet.bounds import alone, lower_bound, optimum
from loopwright.targets.multiclet.linker import link
from loopwright.targets.multiclet.parameters import PROCESSORS, S1, Processor, replace
from loopwright.targets.multiclet.shape import Shape, shape_of

NARROW = replace(S1, name="narrow", cells=2, fetch=2, float_units=1, memory_ports=1)
DATA = ".data\n.align 8\nx: .quad 1, 2, 3"


def shape(lines: list[str], processor: Processor) -> Shape:
    text = "m:\n" + "".join(f"    {line}\n" for line in lines) + "complete\nn:\n jmp @0\ncomplete\n" + DATA
    return shape_of(link([assemble(text, processor)], processor, memory=1 << 16), 0)


@pytest.mark.parametrize("processor", [*PROCESSORS.values(), NARROW], ids=lambda each: each.name)
def test_no_paragraph_takes_less_than_its_bound(processor: Processor) -> None:
    reached = 0
    for seed in range(60):
        program = link([random_unit(seed, processor)], processor, memory=1 << 16)
        for number in range(len(program.paragraphs)):
            found = shape_of(program, number)
            taken, bound = alone(found, processor).end, lower_bound(found, processor)
            assert bound <= taken, (seed, number)
            reached += bound == taken
    assert reached


@pytest.mark.parametrize(
    "lines",
    [
        ["a := load_q [x]", "b := add_q 1, 2", "c := add_q @b, @b", "d := mul_q @c, @a", "e := add_q 3, 4"],
        ["a := add_d @0, @0", "b := add_d @0, @0", "c := mul_d @a, @b", "d := add_q 1, 1", "e := div_d @0, @0"],
        ["a := add_q [x], [x + 8]", "b := load_q [x]", "c := load_q [x + 8]", "d := sub_q @b, @c", "e := sub_q @a, @d"],
        ["a := mul_q 3, 3", "b := mul_q @a, @a", "c := add_q 1, 1", "d := add_q 1, 1", "e := add_q 1, 1"],
    ],
)
def test_the_least_number_of_cycles_is_that_of_the_best_order(lines: list[str]) -> None:
    pytest.importorskip("ortools")
    found, bound = optimum(shape(lines, NARROW), NARROW, 20.0)
    assert found == bound >= lower_bound(shape(lines, NARROW), NARROW)
    taken: list[int] = []
    for order in itertools.permutations(lines):
        try:
            taken.append(alone(shape(list(order), NARROW), NARROW).end)
        except AssemblyError:
            continue  # something would be read before it is made
    # (Which of the two cells a command goes to is left open by the programme.)
    assert bound <= min(taken) <= bound + 1 and max(taken) > min(taken)
