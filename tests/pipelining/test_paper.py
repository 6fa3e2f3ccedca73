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
    """What the issue names is there, counted by the machine where it can be."""
    counted = {key: figure.simulated for key, figure in FOUND.items() if figure.simulated is not None}
    assert counted["2", "misses an iteration"] == Fraction(1, 4)
    assert counted["3", "misses an iteration"] == Fraction(5, 4)
    assert counted["4", "lines read for 16 old iterations"] == 8
    assert counted["4", "the same, jammed by 4"] == 5
    assert [counted[number, "cycles an iteration, pipelined"] for number in "1234567"] == [4, 4, 1, 4, 4, 1, 1]
    assert FOUND["5", "outer loop jammed by 4"].computed == "illegal"
    slant = str(FOUND["5", "slant, cycles from row to row"].computed)
    # A square root's latency behind the next column of the row above: eight cycles and at most three until the unit is free.
    assert all(8 <= int(cycles) <= 11 for cycles in slant.split(", "))
