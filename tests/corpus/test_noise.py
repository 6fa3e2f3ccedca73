"""What counts as a difference between times, on times made up: of the same thing never, of something slower always."""

from __future__ import annotations

import math
import random

import pytest

from loopwright.corpus.noise import Noise, Times, measured


def times(seed: int, contexts: int, factor: float = 1.0, turns: int = 3, wild: float = 0.02) -> list[Times]:
    """Times of contexts of all sizes: a few per cent of jitter, turns when the machine is slower as a whole, and now and then an interruption."""
    chooser = random.Random(seed)
    speeds = [chooser.choice([1.0, 1.0, 1.0, 1.15]) for _ in range(turns)]
    found: list[Times] = []
    for _ in range(contexts):
        size = math.exp(chooser.uniform(-9, -3))
        base, diff = (
            [size * scale * speed * math.exp(abs(chooser.gauss(0, 0.03))) * (chooser.uniform(1.5, 20) if chooser.random() < wild else 1) for speed in speeds]
            for scale in (1.0, factor)
        )
        found.append((base, diff))
    return found


@pytest.mark.parametrize("contexts", [1, 2, 5, 30, 300])
def test_the_same_thing_does_not_differ_from_itself(contexts: int) -> None:
    wrong = 0
    for seed in range(100):
        made = times(seed, contexts)
        noise = measured(made)
        assert noise is not None and not noise.shifted, (seed, noise)
        wrong += sum(noise.differs(each) for each in made)
    # (Of one context: three interruptions in three turns, which these times have once in 60,000.)
    assert wrong <= 2


@pytest.mark.parametrize(("contexts", "factor"), [(30, 1.5), (300, 1.2), (300, 0.8), (1000, 1.2)])
def test_what_is_slower_as_a_whole_is_seen(contexts: int, factor: float) -> None:
    for seed in range(30):
        noise = measured(times(seed, contexts, factor, turns=5))
        assert noise is not None
        assert noise.shifted == (abs(math.log(factor)) > math.log(noise.limit))
        assert noise.ratio == pytest.approx(factor, rel=0.06)
    quiet = measured(times(1, contexts, factor, wild=0.0))
    assert quiet is not None and quiet.limit < 1.4


def test_on_a_quiet_machine_little_is_enough() -> None:
    chooser = random.Random(1)

    def taken(size: float) -> list[float]:
        return [size * math.exp(chooser.gauss(0, 0.004)) for _ in range(5)]

    made = [(taken(size), taken(1.03 * size)) for size in (1e-3, 2e-3, 5e-3) * 30]
    made[7] = (taken(1e-3), taken(3e-3))
    noise = measured(made)
    assert noise is not None and noise.shifted
    assert noise.ratio == pytest.approx(1.03, abs=0.004)
    assert [k for k, each in enumerate(made) if noise.differs(each)] == [7]


def test_times_among_each_other_are_no_difference() -> None:
    noise = Noise(1.0, 1.02, 1.05)
    assert noise.differs(([1.0, 1.1, 1.2], [2.0, 2.1, 2.2]))
    assert noise.differs(([2.0, 2.1, 2.2], [1.0, 1.1, 1.2]))
    assert not noise.differs(([1.0, 1.1, 2.05], [2.0, 2.1, 2.2]))
    assert not noise.differs(([1.0, 1.01, 1.02], [1.03, 1.2, 1.2]))


def test_one_turn_tells_nothing_of_the_noise() -> None:
    assert measured([]) is None
    assert measured([([1.0], [2.0])]) is None
    assert measured([([1.0, 1.0], [2.0, 2.0]), ([1.0, 1.0], [2.0])]) is None
    assert measured([([0.0, 0.0], [0.0, 0.0])]) == Noise(1.0, math.exp(math.log(1.02)), math.exp(math.log(1.05)))
