"""Whether linear equations and inequalities have a solution in integers: the Omega test.

W. Pugh, "The Omega test: a fast and practical integer programming algorithm for dependence analysis", Supercomputing 1991. Equations are solved for one
of their unknowns, with new unknowns where no coefficient is 1 (section 2.2 there). Inequalities lose one unknown after the other by Fourier and Motzkin's
elimination, which is exact in integers where one coefficient of each pair is 1; otherwise what remains is taken apart into the dark shadow, in which there
is an integer between the two bounds for certain, and the splinters close to a lower bound (section 2.3).

A row is a list of integers: a constant, then the coefficient of each unknown. An equation says that its sum is 0, an inequality that it is not negative.
"""

from __future__ import annotations

from math import gcd
from typing import Final

__all__ = ["HIGHEST", "LOWEST", "System"]

#: Stand for no bound.
LOWEST: Final = -(1 << 61)
HIGHEST: Final = 1 << 61

#: With more inequalities than this while unknowns are eliminated, or this many systems made of one, a solution is taken to exist.
MOST_INEQUALITIES: Final = 400
MOST_SYSTEMS: Final = 2000
#: How many integers next to a bound in rational numbers are tried for the bound in integers.
MOST_TRIED: Final = 8
#: With more inequalities than this a projection is left to the questions that are asked of it.
MOST_PROJECTED: Final = 32


class System:
    """Equations and inequalities over unknowns.

    Attributes:
        count: how many unknowns there are; those that equations were solved for are among them, and in no row any more.
        equations, inequalities: rows, see above.
        followed: rows that are kept up to date as unknowns are replaced, so that what they stand for stays the same.
        solvable: False once a contradiction was found.
    """

    __slots__ = ("count", "equations", "followed", "inequalities", "solvable")

    def __init__(self, count: int) -> None:
        self.count = count
        self.equations: list[list[int]] = []
        self.inequalities: list[list[int]] = []
        self.followed: list[list[int]] = []
        self.solvable = True

    def copy(self) -> System:
        """The same system; rows may be added to either."""
        made = System(self.count)
        made.equations = [list(row) for row in self.equations]
        made.inequalities = [list(row) for row in self.inequalities]
        made.followed = [list(row) for row in self.followed]
        made.solvable = self.solvable
        return made

    def unknown(self) -> int:
        """One more unknown. Returns its number, from 1, which is its place in a row."""
        self.count += 1
        for rows in (self.equations, self.inequalities, self.followed):
            for row in rows:
                row.append(0)
        return self.count

    def row(self, constant: int = 0) -> list[int]:
        """A row with no unknown in it."""
        return [constant] + [0] * self.count

    def at_least(self, number: int, least: int) -> System:
        """This system, and a followed row that is at least so much."""
        made = self.copy()
        row = list(self.followed[number])
        row[0] -= least
        made.inequalities.append(row)
        return made

    def at_most(self, number: int, most: int) -> System:
        """This system, and a followed row that is at most so much."""
        made = self.copy()
        row = [-x for x in self.followed[number]]
        row[0] += most
        made.inequalities.append(row)
        return made

    def exactly(self, number: int, value: int) -> System:
        """This system, and a followed row that has this value."""
        made = self.copy()
        row = list(self.followed[number])
        row[0] -= value
        made.equations.append(row)
        return made

    def reduce(self) -> bool:
        """Solve the equations and tighten the inequalities. Returns whether no contradiction has shown."""
        while self.solvable:
            while self.equations and self.solvable:
                self._solve(self.equations.pop())
            if not self.solvable or not self._tighten():
                break
        return self.solvable

    def _solve(self, row: list[int]) -> None:
        """Replace one unknown of an equation everywhere."""
        divisor = 0
        for x in row[1:]:
            divisor = gcd(divisor, x)
        if divisor == 0:
            self.solvable = row[0] == 0
            return
        if row[0] % divisor:
            self.solvable = False
            return
        if divisor > 1:
            row = [x // divisor for x in row]
        place = 0
        least = 0
        for k in range(1, len(row)):
            size = abs(row[k])
            if size and (place == 0 or size < least):
                place, least = k, size
        sign = 1 if row[place] > 0 else -1
        if least == 1:
            value = [-sign * x for x in row]
            value[place] = 0
            self._replace(place, value)
            return
        # No coefficient is 1: an unknown takes the place of what the equation is, modulo the least of them and one.
        new = self.unknown()
        row.append(0)
        modulus = least + 1
        value = [sign * _modulo(x, modulus) for x in row]
        value[place] = 0
        value[new] = -sign * modulus
        self._replace(place, value)
        factor = row[place]
        row[place] = 0
        for k in range(len(row)):
            row[k] += factor * value[k]
        self.equations.append(row)

    def _replace(self, place: int, value: list[int]) -> None:
        for rows in (self.equations, self.inequalities, self.followed):
            for row in rows:
                factor = row[place]
                if factor:
                    row[place] = 0
                    for k in range(len(value)):
                        row[k] += factor * value[k]

    def _tighten(self) -> bool:
        """Divide inequalities by what their coefficients have in common, and keep the tightest of each kind. Returns whether that gave equations."""
        kept = self._tightest()
        if not self.solvable:
            return False
        self.inequalities = []
        for key, constant in kept.items():
            opposite = kept.get(tuple([-x for x in key]))
            if opposite is not None:
                if constant + opposite < 0:
                    self.solvable = False
                    return False
                if constant + opposite == 0:
                    # Both bounds are one: the two are an equation, and are met once in this walk.
                    if key > tuple([-x for x in key]):
                        self.equations.append([constant, *key])
                    continue
            self.inequalities.append([constant, *key])
        return bool(self.equations)

    def projected(self) -> System:
        """The same values of the followed rows in a smaller system: without the unknowns that they do not name, as far as these can be eliminated exactly.

        The system has to be reduced.
        """
        made = self.copy()
        while len(made.inequalities) <= MOST_PROJECTED:
            choice = _choose(made, made.followed)
            if choice == 0:
                break
            lower, upper, rest = _sides(made.inequalities, choice)
            if not all(row[choice] == 1 for row in lower) and not all(row[choice] == -1 for row in upper):
                break
            if len(lower) * len(upper) + len(rest) > MOST_PROJECTED:
                break
            made.inequalities = rest + [_combined(a, b, choice, False) for a in lower for b in upper]
            if not made.reduce():
                break
        # (Equations that inequalities have turned out to be are solved by ``reduce``.)
        rows = [*made.inequalities, *made.followed]
        named = [0] + [k for k in range(1, made.count + 1) if any(row[k] for row in rows)]
        smaller = System(len(named) - 1)
        smaller.inequalities = [[row[k] for k in named] for row in made.inequalities]
        smaller.followed = [[row[k] for k in named] for row in made.followed]
        smaller.solvable = made.solvable
        return smaller

    def satisfiable(self) -> bool:
        """Whether there is a solution in integers. True, too, where finding out would take too long."""
        return _Search().satisfiable(self.copy())

    def bounds(self, number: int) -> tuple[int, int]:
        """The least and the greatest value of a followed row over all solutions, ``LOWEST`` and ``HIGHEST`` for none.

        The system has to have a solution. Bounds may be too wide where no integer near them is a solution.
        """
        low, high, exact = self._shadow(number)
        if exact:
            return low, high
        tries = 0
        while low != LOWEST and low < high and tries < MOST_TRIED and not self.exactly(number, low).satisfiable():
            low += 1
            tries += 1
        tries = 0
        while high != HIGHEST and low < high and tries < MOST_TRIED and not self.exactly(number, high).satisfiable():
            high -= 1
            tries += 1
        return low, high

    def _shadow(self, number: int) -> tuple[int, int, bool]:
        """Bounds of a followed row by elimination in rational numbers; whether they are those in integers for certain."""
        made = self.copy()
        if not made.reduce():
            return 0, 0, True
        row = made.followed[number]
        if not any(row[1:]):
            return row[0], row[0], True
        exact = True
        result = made.unknown()
        row = list(made.followed[number])
        row[result] = -1
        kept = [made.row()]
        kept[0][result] = 1
        # The row as an unknown of its own: by two inequalities, since an equation would be solved for it.
        made.inequalities += [row, [-x for x in row]]
        while True:
            choice = _choose(made, kept)
            if choice == 0:
                break
            lower, upper, rest = _sides(made.inequalities, choice)
            exact = exact and (all(row[choice] == 1 for row in lower) or all(row[choice] == -1 for row in upper))
            made.inequalities = rest + [_combined(a, b, choice, False) for a in lower for b in upper]
            if len(made.inequalities) > MOST_INEQUALITIES:
                return LOWEST, HIGHEST, True
            made.inequalities = [[constant, *key] for key, constant in made._tightest().items()]
        low, high = LOWEST, HIGHEST
        for row in made.inequalities:
            factor = row[result]
            if factor > 0:
                low = max(low, -(row[0] // factor))
            elif factor < 0:
                high = min(high, row[0] // -factor)
        return low, high, exact

    def _tightest(self) -> dict[tuple[int, ...], int]:
        """The inequalities, divided by what their coefficients have in common, the tightest of each kind: coefficients -> constant."""
        kept: dict[tuple[int, ...], int] = {}
        for row in self.inequalities:
            divisor = 0
            for x in row[1:]:
                divisor = gcd(divisor, x)
            if divisor == 0:
                if row[0] < 0:
                    self.solvable = False
                continue
            key = tuple(row[1:]) if divisor == 1 else tuple([x // divisor for x in row[1:]])
            constant = row[0] // divisor
            known = kept.get(key)
            if known is None or constant < known:
                kept[key] = constant
        return kept


def _modulo(a: int, b: int) -> int:
    """The remainder of ``a`` by ``b`` that is nearest to 0."""
    return a - b * ((2 * a + b) // (2 * b))


def _sides(rows: list[list[int]], place: int) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """The inequalities that are lower bounds of an unknown, those that are upper bounds, and the others."""
    lower: list[list[int]] = []
    upper: list[list[int]] = []
    rest: list[list[int]] = []
    for row in rows:
        x = row[place]
        (lower if x > 0 else upper if x < 0 else rest).append(row)
    return lower, upper, rest


def _combined(lower: list[int], upper: list[int], place: int, dark: bool) -> list[int]:
    """What a lower and an upper bound say of the other unknowns: that there is a number between them, or (``dark``) an integer for certain."""
    b, a = lower[place], -upper[place]
    row = [a * lower[k] + b * upper[k] for k in range(len(lower))]
    if dark:
        row[0] -= (a - 1) * (b - 1)
    return row


def _choose(system: System, kept: list[list[int]]) -> int:
    """The unknown to eliminate next, one whose elimination is exact where there is one: the one with the fewest pairs of bounds. 0 when none is left.

    Unknowns in the rows ``kept`` are none.
    """
    best = 0
    best_cost = 0
    for k in range(1, system.count + 1):
        if kept and any(row[k] for row in kept):
            continue
        lowers = uppers = 0
        unit_lowers = unit_uppers = True
        for row in system.inequalities:
            x = row[k]
            if x > 0:
                lowers += 1
                unit_lowers = unit_lowers and x == 1
            elif x < 0:
                uppers += 1
                unit_uppers = unit_uppers and x == -1
        if not lowers and not uppers:
            continue
        cost = lowers * uppers
        if cost and not unit_lowers and not unit_uppers:
            cost += 1 << 20
        if best == 0 or cost < best_cost:
            best, best_cost = k, cost
    return best


class _Search:
    """One question, and how many systems were made to answer it."""

    __slots__ = ("systems",)

    def __init__(self) -> None:
        self.systems = 0

    def satisfiable(self, system: System) -> bool:
        self.systems += 1
        if self.systems > MOST_SYSTEMS:
            return True
        system.followed = []
        while system.reduce():
            place = _choose(system, [])
            if place == 0:
                return True
            lower, upper, rest = _sides(system.inequalities, place)
            greatest_lower = max([row[place] for row in lower], default=1)
            greatest_upper = max([-row[place] for row in upper], default=1)
            if len(lower) * len(upper) + len(rest) > MOST_INEQUALITIES:
                return True
            shadow = rest + [_combined(a, b, place, False) for a in lower for b in upper]
            if greatest_lower == 1 or greatest_upper == 1:
                system.inequalities = shadow
                continue
            return self._inexact(system, place, lower, upper, rest, shadow, greatest_upper)
        return False

    def _inexact(
        self, system: System, place: int, lower: list[list[int]], upper: list[list[int]], rest: list[list[int]], shadow: list[list[int]], greatest: int
    ) -> bool:
        """Where elimination may lose that no integer lies between two bounds."""
        dark = System(system.count)
        dark.inequalities = [list(row) for row in rest] + [_combined(a, b, place, True) for a in lower for b in upper]
        if self.satisfiable(dark):
            return True
        real = System(system.count)
        real.inequalities = [list(row) for row in shadow]
        if not self.satisfiable(real):
            return False
        # If there is a solution, it is this near to one of the lower bounds (Pugh, section 2.3.2).
        for row in lower:
            b = row[place]
            for near in range((greatest * b - greatest - b) // greatest + 1):
                splinter = System(system.count)
                splinter.inequalities = [list(other) for other in system.inequalities]
                equation = list(row)
                equation[0] -= near
                splinter.equations.append(equation)
                if self.satisfiable(splinter):
                    return True
        return False
