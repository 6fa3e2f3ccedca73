"""Random kernels mean what plain Python over NumPy scalars makes of them, on every target, and nothing is refused but what is documented."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.random_kernels import coverage
from tests.random_kernels.compare import targets
from tests.random_kernels.kernels import make
from tests.random_kernels.runs import Outcome, run

#: Kernels of a quick run, and of what every change must pass: 10,000 functions and more, since each is compiled for five machines, x86-64 in several widths, and checked.
#: ``make random-kernels`` compares 10,000 kernels.
QUICK, KERNELS = 50, 1250
_EACH = 25


def compare(start: int) -> None:
    """A part of the kernels mean what plain Python means, on every target."""
    outcome = Outcome()
    for part in run(range(start, start + _EACH)):
        outcome.add(part)
    assert not outcome.found, outcome.report()
    assert outcome.kernels == _EACH
    for target in targets():
        assert outcome.ran[target] == _EACH


@pytest.mark.parametrize("start", range(0, QUICK, _EACH))
def test_random_kernels_mean_what_plain_python_means(start: int) -> None:
    compare(start)


@pytest.mark.every_change
@pytest.mark.parametrize("start", range(QUICK, KERNELS, _EACH))
def test_many_random_kernels_mean_what_plain_python_means(start: int) -> None:
    compare(start)


def test_random_kernels_hold_nearly_every_statement_and_operation_on_every_type() -> None:
    counts: Counter[coverage.Key] = Counter()
    for seed in range(1500):
        counts += coverage.count(make(seed))
    expected = list(coverage.expected())
    assert sum(not counts[key] for key in expected) < 0.05 * len(expected)


def test_a_kernel_is_the_same_for_the_same_seed() -> None:
    assert make(7).text() == make(7).text() != make(8).text()
