"""Every figure that the paper gives of its seven examples: as computed, and as the simulated machine counts it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from benchmarks.pipelining import Figure, figures

FOUND = {(figure.example, figure.what): figure for figure in figures()}


@pytest.mark.parametrize("figure", FOUND.values(), ids=lambda figure: f"{figure.example}: {figure.what}")
def test_figure(figure: Figure) -> None:
    assert figure.agrees


def test_nothing_agrees_for_want_of_figures() -> None:
    """What the paper gives is there, counted by the machine where it can be; and what it gives no number for is as the bounds have it."""
    counted = {key: figure.simulated for key, figure in FOUND.items() if figure.simulated is not None}
    assert counted["2", "misses an iteration"] == Fraction(1, 4)
    assert counted["3", "misses an iteration"] == Fraction(5, 4)
    assert counted["4", "lines read for 16 old iterations"] == 8
    assert counted["4", "the same, jammed by 4"] == 5
    assert [counted[number, "cycles an iteration, pipelined"] for number in "1234567"] == [4, 4, 1, 4, 4, 1, 1]
    assert {key: value for key, value in counted.items() if key[1].startswith("cycles an old")} == {
        ("4", "cycles an old iteration, I by 4"): 1,
        ("5", "cycles an old iteration, I by 4"): 1,
        ("6", "cycles an old iteration, K and I by 2"): 1,
        ("6", "cycles an old iteration, K by 4, along a slant"): 1,
        ("7", "cycles an old iteration, K by 2, shifted"): 1,
    }
    assert FOUND["7", "shift of the second copy of K"].computed == "(0, 1)"
    assert counted["5", "slope of the diagonals"] == 1
    slant = str(FOUND["5", "cycles from row to row"].computed)
    # A square root's latency behind the next column of the row above: eight cycles and at most three until the unit is free.
    assert all(8 <= int(cycles) <= 11 for cycles in slant.split(", "))


def test_all_numbers_of_the_paper_are_there() -> None:
    assert sum(figure.paper is not None for figure in FOUND.values()) == 14
