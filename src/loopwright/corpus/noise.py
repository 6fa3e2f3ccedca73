"""Whether two series of times differ, or only vary as times of the same thing do.

Both sides of a comparison are timed in turns, so each has as many times of every context as there were turns. What the times of one side
differ by among themselves is noise; a difference between the sides counts when it is beyond that:

* all contexts together have changed when the median of the ratios is further from 1 than three standard errors of a median, than
  twice what the turns of one side differ by in the same median, and than 2 %;
* one context has changed when its ratio is further from 1 than four times the spread of the ratios, and all times of one side are
  at least 5 % away from those of the other.

Medians, because a process that is interrupted is slow by any amount (Georges, Buytaert and Eeckhout, *Statistically Rigorous Java
Performance Evaluation*, OOPSLA 2007, on why a least time, or one run, will not do). The spread of a normal distribution is 1.4826 times
its median absolute deviation (Rousseeuw and Croux, *Alternatives to the Median Absolute Deviation*, 1993), and the standard error of its
median the square root of pi/2, 1.2533, times that of its mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

__all__ = ["Noise", "Times", "measured"]

#: Smaller differences are not looked for, of all contexts together and of one.
LEAST: Final = math.log(1.02)
LEAST_OF_ONE: Final = math.log(1.05)

#: The times of a context on either side, by turn.
Times = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Noise:
    """How the times of some contexts vary.

    Attributes:
        ratio: the median of the ratios, other side to base.
        limit: how far it may be from 1, as a ratio.
        band: the same for one context.
    """

    ratio: float
    limit: float
    band: float

    @property
    def shifted(self) -> bool:
        """The contexts together take longer on one side."""
        return abs(math.log(self.ratio)) > math.log(self.limit)

    def differs(self, times: Times) -> bool:
        """One context takes longer on one side."""
        base, diff = times
        apart = max(_log(max(base), min(diff)), _log(max(diff), min(base)))
        return apart > LEAST_OF_ONE and abs(_log(median(base), median(diff))) > math.log(self.band)


def _log(base: float, diff: float) -> float:
    # A clock may stand still for as long as something short takes.
    return math.log(max(diff, 1e-9) / max(base, 1e-9))


def measured(contexts: Sequence[Times]) -> Noise | None:
    """The noise in the times of some contexts; None where there are too few turns (two at least) to tell."""
    turns = min((len(side) for times in contexts for side in times), default=0)
    if turns < 2:
        return None
    logs = [_log(median(base), median(diff)) for base, diff in contexts]
    middle = median(logs)
    inside = median([max(_log(min(side), max(side)) for side in times) for times in contexts])
    spread = max(1.4826 * median([abs(log - middle) for log in logs]), inside)
    drift = max(abs(median([_log(times[side][a], times[side][b]) for times in contexts])) for side in (0, 1) for b in range(turns) for a in range(b))
    limit = max(3 * 1.2533 * spread / math.sqrt(len(logs)), 2 * drift, LEAST)
    band = max(4 * spread, limit, LEAST_OF_ONE)
    # (A ratio beyond all numbers is one that nothing is beyond.)
    return Noise(math.exp(middle), math.exp(min(limit, 700.0)), math.exp(min(band, 700.0)))
