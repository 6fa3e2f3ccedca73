"""The Omega test beside enumeration: random systems whose unknowns have bounds, every point of which is looked at."""

from __future__ import annotations

import itertools
import random

import pytest

from loopwright.nests.analysis.omega import HIGHEST, LOWEST, System

LOW, HIGH = -4, 4


def random_system(rng: random.Random, bounded: bool = True) -> System:
    count = rng.randint(1, 4)
    s = System(count)

    def row(size: int, constant: int) -> list[int]:
        return [rng.randint(-constant, constant)] + [rng.randint(-size, size) if rng.random() < 0.7 else 0 for _ in range(count)]

    size = rng.choice([1, 2, 5])
    s.equations = [row(size, 6) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
    s.inequalities = [row(size, 8) for _ in range(rng.randint(0, 4))]
    if bounded:
        for k in range(1, count + 1):
            for sign, bound in ((1, -LOW), (-1, HIGH)):
                limit = s.row(bound)
                limit[k] = sign
                s.inequalities.append(limit)
    s.followed = [row(2, 3)]
    return s


def points(s: System) -> list[tuple[int, ...]]:
    def value(row: list[int], point: tuple[int, ...]) -> int:
        return row[0] + sum(a * x for a, x in zip(row[1:], point, strict=True))

    return [
        p
        for p in itertools.product(range(LOW, HIGH + 1), repeat=s.count)
        if all(value(row, p) == 0 for row in s.equations) and all(value(row, p) >= 0 for row in s.inequalities)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_random_systems(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        s = random_system(rng)
        found = points(s)
        assert s.satisfiable() == bool(found), (s.equations, s.inequalities)
        if found:
            row = s.followed[0]
            values = [row[0] + sum(a * x for a, x in zip(row[1:], p, strict=True)) for p in found]
            low, high = s.bounds(0)
            assert low <= min(values) and high >= max(values)
            # Integers far from the bounds in rational numbers occur, but seldom: see `bounds`.
            assert (low, high) == (min(values), max(values)) or max(abs(x) for r in s.equations + s.inequalities for x in r[1:]) > 1


def test_no_bounds() -> None:
    s = System(2)
    s.equations = [[0, 3, -6]]  # x = 2 y
    s.followed = [[1, 1, 0]]
    assert s.satisfiable()
    assert s.bounds(0) == (LOWEST, HIGHEST)
    s.inequalities = [[0, 0, 1]]
    assert s.bounds(0) == (1, HIGHEST)


def test_no_integer_between_bounds() -> None:
    # Pugh's example: 27 <= 11x + 13y <= 45, -10 <= 7x - 9y <= 4 has solutions in rational numbers only.
    s = System(2)
    s.inequalities = [[-27, 11, 13], [45, -11, -13], [10, 7, -9], [4, -7, 9]]
    assert not s.satisfiable()


def test_equations_without_coefficient_one() -> None:
    s = System(2)
    s.equations = [[-17, 7, 12]]
    assert s.satisfiable()
    s.inequalities = [[0, 1, 0], [0, 0, 1]]
    assert not s.satisfiable()
    s.equations = [[-5, 4, 6]]
    assert not s.satisfiable()


@pytest.mark.parametrize("seed", range(40))
def test_projected_systems(seed: int) -> None:
    """A projected system has the same values of what is followed, and no more unknowns than before."""
    rng = random.Random(1000 + seed)
    smaller = 0
    for _ in range(25):
        s = random_system(rng)
        s.followed = [s.row()]
        s.followed[0][1] = 1
        values = {p[0] for p in points(s)}
        if not s.reduce():
            assert not values
            continue
        made = s.projected()
        smaller += made.count < s.count
        for value in range(LOW - 1, HIGH + 2):
            assert made.exactly(0, value).satisfiable() == (value in values), value
    assert smaller
