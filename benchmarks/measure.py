"""Measuring several candidates fairly on a machine that is never quiet.

Candidates take turns (A B C, A B C, ...), so that a slow moment of the machine hits all of them alike; a figure is
the median over the rounds, and a ratio is the median of the ratios within each round.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping

Samples = dict[str, list[float]]


def interleave(candidates: Mapping[str, Callable[[], float]], rounds: int, warm: int = 2) -> Samples:
    """``rounds`` samples of each candidate, in turns whose order changes from round to round; ``warm`` rounds are thrown away.

    A candidate returns the value of one sample (seconds of one call, say).
    """
    samples: Samples = {name: [] for name in candidates}
    order = list(candidates)
    # A fixed seed: the order must differ between rounds (a neighbour may leave the caches warm), not between runs.
    shuffler = random.Random(1)
    for turn in range(warm + rounds):
        shuffler.shuffle(order)
        for name in order:
            value = candidates[name]()
            if turn >= warm:
                samples[name].append(value)
    return samples


def median(values: list[float]) -> float:
    """The median."""
    return statistics.median(values)


def ratio(samples: Samples, name: str, other: str) -> float:
    """The median over the rounds of ``name`` / ``other``, each pair taken in the same round."""
    return statistics.median(a / b for a, b in zip(samples[name], samples[other], strict=True))


def spread(values: list[float]) -> float:
    """Half the distance between the quartiles, as a part of the median: how noisy the samples were."""
    if len(values) < 4:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / 2 / middle if middle else 0.0
