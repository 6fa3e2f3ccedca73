"""Best polynomial approximations with rounded coefficients, by Remez's exchange (``tools/coefficients.py`` has the sources of the method)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp

Function = Callable[[Any], Any]


class Approximation:
    """A polynomial to be found.

    Attributes:
        degree: of the polynomial.
        function: what it approximates; called with mpmath numbers.
        weight: what the error is multiplied by before it is judged: 1 over the result's size, say.
        low, high: the interval.
        dtype: NumPy's type of the coefficients.
        doc: what the polynomial stands for.
    """

    def __init__(self, dtype: Any, degree: int, function: Function, weight: Function, low: Any, high: Any, doc: str) -> None:
        self.dtype = dtype
        self.degree = degree
        self.function = function
        self.weight = weight
        self.low = mp.mpf(low)
        self.high = mp.mpf(high)
        self.doc = doc

    def coefficients(self) -> tuple[list[Any], Any]:
        """The rounded coefficients, constant first, and the largest weighted error that they leave."""
        found: list[Any] = []
        for power in range(self.degree + 1):
            best = remez(self._left(found), self._weight(power), self.low, self.high, self.degree - power)
            rounded = [mp.mpf(float(self.dtype(float(c)))) for c in best]
            found.append(rounded[0])
            if self.low < 0:
                # Around 0 what a rounded constant leaves cannot be approximated by the powers that are left: they are 0 there.
                found += rounded[1:]
                break
        return found, self._error(found)

    def _left(self, found: list[Any]) -> Function:
        """What the coefficients found leave of the function, divided by the powers that they have."""
        power = len(found)
        return lambda t: (self.function(t) - horner(found, t)) / t**power if power else self.function(t)

    def _weight(self, power: int) -> Function:
        return lambda t: self.weight(t) * t**power

    def _error(self, found: list[Any]) -> Any:
        return max(abs(self.weight(t) * (horner(found, t) - self.function(t))) for t in _grid(self.low, self.high, 400))


def horner(found: list[Any], t: Any) -> Any:
    """The polynomial of these coefficients, the constant first."""
    total = mp.mpf(0)
    for coefficient in reversed(found):
        total = total * t + coefficient
    return total


def _grid(low: Any, high: Any, count: int) -> list[Any]:
    """Chebyshev points; none at 0."""
    middle, half = (low + high) / 2, (high - low) / 2
    points = [middle - half * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    return [t if abs(t) > mp.mpf(10) ** -9 else t + half / 1000 for t in points]


def remez(function: Function, weight: Function, low: Any, high: Any, degree: int) -> list[Any]:
    """The coefficients, constant first, of the polynomial whose largest weighted distance from the function is least."""
    size = degree + 2
    points = _grid(low, high, size)
    sample = _grid(low, high, 12 * size)
    values = [(t, function(t), weight(t)) for t in sample]
    solution: list[Any] = []
    for _ in range(20):
        rows = mp.matrix(size, size)
        right = mp.matrix(size, 1)
        for k, t in enumerate(points):
            for j in range(degree + 1):
                rows[k, j] = t**j
            rows[k, degree + 1] = (-1) ** k / weight(t)
            right[k] = function(t)
        solved = mp.lu_solve(rows, right)
        solution = [solved[j] for j in range(degree + 1)]
        level = abs(solved[degree + 1])
        errors = [(t, w * (horner(solution, t) - f)) for t, f, w in values]
        # The extreme of each run of one sign; of more than are needed, the least at the ends go.
        extremes: list[tuple[Any, Any]] = []
        for t, e in errors:
            if extremes and (e > 0) == (extremes[-1][1] > 0):
                if abs(e) > abs(extremes[-1][1]):
                    extremes[-1] = (t, e)
            else:
                extremes.append((t, e))
        while len(extremes) > size:
            extremes.pop(0 if abs(extremes[0][1]) < abs(extremes[-1][1]) else -1)
        if len(extremes) < size or max(abs(e) for _, e in extremes) < level * mp.mpf("1.01"):
            break
        points = [t for t, _ in extremes]
    return solution
