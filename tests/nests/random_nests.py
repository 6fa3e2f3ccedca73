"""Random nests of loops: as text for the compiler, and all that they do, in order, for whoever enumerates it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from loopwright.ir.function import Function
from loopwright.ir.parse import parse

#: An expression: a constant, and a coefficient for each loop around it (by depth), then for the parameter.
Linear = tuple[int, tuple[int, ...], int]


@dataclass
class Access:
    """Numbered as in the text."""

    number: int
    array: int
    store: bool
    subscripts: list[Linear]


@dataclass
class Loop:
    """``low`` and ``high`` are the greatest and least of one or two expressions (counting down: the other way round)."""

    name: str
    low: list[Linear]
    high: list[Linear]
    step: int
    body: list[Loop | Access] = field(default_factory=list)


@dataclass
class Instance:
    """What one iteration does: an access, the loops around it with the count of each, the element."""

    access: int
    store: bool
    loops: tuple[str, ...]
    counts: tuple[int, ...]
    element: tuple[int, ...]


class Random:
    """
    Args:
        depth: the most loops around each other.
        parameter: bounds and subscripts have a value in them that may be anything.
        stencil: the accesses in one loop differ by constants only, as a rule.
        width: about how many iterations loops have at most.
        natural: as most nests are: rectangular, and each subscript an index and a constant, in the order of the loops.
        element: the type of the elements.
        sums: there are elements that stay the same in the innermost loop, and are added to.
    """

    def __init__(
        self,
        rng: random.Random,
        depth: int,
        parameter: bool,
        stencil: bool = False,
        width: int = 5,
        natural: bool = False,
        element: str = "f64",
        sums: bool = False,
    ) -> None:
        self.rng = rng
        self.element = element
        self.sums = sums
        self.stencil = stencil
        self.width = width
        self.natural = natural
        self.parameter = parameter
        self.accesses = 0
        self.names = 0
        self.earlier: list[tuple[int, int, list[Linear]]] = []
        self.ranks = [rng.choice([1, 2, 2, 3]) for _ in range(2)]
        self.loop = self._loop(0, depth)
        self.extents = [[1] * rank for rank in self.ranks]

    def _linear(self, depth: int, size: int, constant: int, share: float) -> Linear:
        rng = self.rng
        coefficients = tuple(rng.choice([1, 1, -1, rng.randint(-size, size)]) if rng.random() < share else 0 for _ in range(depth))
        parameter = rng.choice([0, 0, 0, 1]) if self.parameter else 0
        return rng.randint(-constant, constant), coefficients, parameter

    def _loop(self, depth: int, deepest: int) -> Loop:
        rng = self.rng
        step = rng.choice([1] * 12 + [-1, 2]) if self.natural else rng.choice([1, 1, 1, 1, -1, 2, -2, 3])
        width = rng.randint(1, self.width) if not self.natural or rng.random() < 0.3 else self.width
        low = [self._linear(depth, 1, 2, 0.2) for _ in range(1 if abs(step) > 1 else rng.choice([1, 1, 1, 2]))]
        high = [self._linear(depth, 1, 2, 0.2) for _ in range(rng.choice([1, 1, 1, 2]))]
        if self.natural:
            low, high = [(rng.randint(0, 2), (0,) * depth, 0)], [(rng.randint(0, 2), (0,) * depth, 0)]
        high = [(c + width * (1 if step > 0 else -1), k, p) for c, k, p in high]
        self.names += 1
        made = Loop(f"i{self.names}", low, high, step)
        for _ in range(rng.choice([1, 1, 2])):
            if depth + 1 < deepest and rng.random() < 0.8:
                made.body.append(self._loop(depth + 1, deepest))
            elif self.sums and depth and rng.random() < 0.5:
                made.body += self._sum(depth + 1)
            else:
                made.body += [self._access(depth + 1) for _ in range(rng.randint(1, 2))]
        return made

    def _sum(self, depth: int) -> list[Loop | Access]:
        """A load, another access, and a store of what the first has loaded and more, to an element that is the same in all iterations of the innermost loop."""
        first = self._access(depth)
        first.subscripts = [(c, (*k[:-1], 0), p) for c, k, p in first.subscripts]
        first.store = False
        between = self._access(depth)
        self.accesses += 1
        return [first, between, Access(self.accesses - 1, first.array, True, list(first.subscripts))]

    def _access(self, depth: int) -> Access:
        rng = self.rng
        array = rng.choice([0, 0, 1])
        size = rng.choice([1, 1, 2])
        self.accesses += 1
        subscripts = [self._linear(depth, size, 2, rng.choice([0.4, 0.8])) for _ in range(self.ranks[array])]
        if self.natural:
            rank = self.ranks[array]
            chosen = sorted({depth - 1, *rng.sample(range(depth), min(rank, depth))})[-rank:]
            subscripts = [(rng.choice([0, 0, 1, -1]), tuple(int(d == one) for d in range(depth)), 0) for one in [-1] * (rank - len(chosen)) + chosen]
        like = [one for one in self.earlier if one[0] == depth]
        if like and rng.random() < (0.95 if self.stencil else 0.6):
            # As in a stencil: the same element but for a distance.
            _, array, subscripts = rng.choice(like)
            subscripts = [(c + rng.choice([0, 0, 1, -1, 2]), k, p) for c, k, p in subscripts]
        self.earlier.append((depth, array, subscripts))
        return Access(self.accesses - 1, array, rng.random() < 0.6, subscripts)

    def moved_inside(self) -> Random:
        """Subscripts moved so that all elements are inside of arrays with ``extents``. Only without a parameter."""
        least = [[0] * rank for rank in self.ranks]
        most = [[0] * rank for rank in self.ranks]
        for array, instance in self.instances(negative=True):
            for d, x in enumerate(instance.element):
                least[array][d] = min(least[array][d], x)
                most[array][d] = max(most[array][d], x)
        self._move(self.loop, least)
        self.extents = [[b - a + 1 for a, b in zip(low, high, strict=True)] for low, high in zip(least, most, strict=True)]
        return self

    def _move(self, loop: Loop, least: list[list[int]]) -> None:
        for part in loop.body:
            if isinstance(part, Loop):
                self._move(part, least)
            else:
                part.subscripts = [(c - a, k, p) for (c, k, p), a in zip(part.subscripts, least[part.array], strict=True)]

    # --- as text

    def function(self) -> Function:
        lines = [f"  array {name}: {self.element}[{', '.join(f'%{name}.n{d}' for d in range(rank))}] strides [{', '.join(f'%{name}.s{d}' for d in range(rank - 1))}] at %{name} written"
                 for name, rank in zip("ab", self.ranks, strict=True)]  # fmt: skip
        signature = [
            f"%{n}{x}"
            for n, rank in zip("ab", self.ranks, strict=True)
            for x in [": ptr", *[f".n{d}: i64" for d in range(rank)], *[f".s{d}: i64" for d in range(rank - 1)]]
        ]
        self.temporaries = 0
        self._print(self.loop, [], lines, "  ")
        text = "\n".join([f"function nest({', '.join([*signature, '%n: i64'])})", "  stage collect", *lines, "end", ""])
        return parse(text)

    def _temporary(self) -> str:
        self.temporaries += 1
        return f"%t{self.temporaries}"

    def _value(self, linear: Linear, around: list[str], lines: list[str], indent: str) -> str:
        constant, coefficients, parameter = linear
        made = str(constant)
        for factor, name in [*zip(coefficients, around, strict=True), (parameter, "n")]:
            if factor:
                product = f"%{name}"
                if factor != 1:
                    product = self._temporary()
                    lines.append(f"{indent}{product} = mul.i64 %{name}, {factor}")
                total = self._temporary()
                lines.append(f"{indent}{total} = add.i64 {product}, {made}")
                made = total
        return made

    def _bound(self, linears: list[Linear], op: str, around: list[str], lines: list[str], indent: str) -> str:
        made = [self._value(linear, around, lines, indent) for linear in linears]
        if len(made) == 1:
            return made[0]
        result = self._temporary()
        lines.append(f"{indent}{result} = {op}.i64 {made[0]}, {made[1]}")
        return result

    def _print(self, loop: Loop, around: list[str], lines: list[str], indent: str) -> None:
        up = loop.step > 0
        low = self._bound(loop.low, "max" if up else "min", around, lines, indent)
        high = self._bound(loop.high, "min" if up else "max", around, lines, indent)
        lines.append(f"{indent}%{loop.name} = for {low}, {high}, {loop.step}")
        inside = [*around, loop.name]
        t = self.element
        whole = t[0] != "f"
        loaded = [f"{len(around)}" if whole else f"{len(around)}.5"]
        for part in loop.body:
            if isinstance(part, Loop):
                self._print(part, inside, lines, indent + "  ")
            else:
                at = ", ".join(self._value(s, inside, lines, indent + "  ") for s in part.subscripts)
                if part.store:
                    # Each store depends on all that was loaded before it in this body, and differs from the others.
                    lines.append(f"{indent}  {self._temporary()} = copy.{t} {part.number + 1}{'' if whole else '.0'}")
                    for value in loaded:
                        sum_ = f"%t{self.temporaries}"
                        lines.append(f"{indent}  {self._temporary()} = mul.{t} {sum_}, {3 if whole else 0.75}")
                        product = f"%t{self.temporaries}"
                        lines.append(f"{indent}  {self._temporary()} = add.{t} {product}, {value}")
                    lines.append(f"{indent}  store.{t} %t{self.temporaries}, {'ab'[part.array]}[{at}]")
                else:
                    loaded.append(self._temporary())
                    lines.append(f"{indent}  {loaded[-1]} = load.{t} {'ab'[part.array]}[{at}]")
        lines.append(f"{indent}end")

    # --- all that it does

    def instances(self, n: int = 0, negative: bool = False) -> Iterator[tuple[int, Instance]]:
        """(array, what is done) in order, but for elements at negative subscripts, which are not looked at unless ``negative``."""
        for array, instance in self._instances(self.loop, [], [], [], n):
            if negative or min(instance.element) >= 0:
                yield array, instance

    def _instances(self, loop: Loop, around: list[str], indices: list[int], counts: list[int], n: int) -> Iterator[tuple[int, Instance]]:
        up = loop.step > 0
        low = (max if up else min)(_number(b, indices, n) for b in loop.low)
        high = (min if up else max)(_number(b, indices, n) for b in loop.high)
        names = [*around, loop.name]
        for count, index in enumerate(range(low, high, loop.step)):
            inside = [*indices, index]
            counted = [*counts, index * loop.step if abs(loop.step) == 1 else count]
            for part in loop.body:
                if isinstance(part, Loop):
                    yield from self._instances(part, names, inside, counted, n)
                else:
                    element = tuple(_number(s, inside, n) for s in part.subscripts)
                    yield part.array, Instance(part.number, part.store, tuple(names), tuple(counted), element)

    def brute_force(self, n: int = 0) -> set[tuple[int, int, tuple[int, ...]]]:
        """(source, sink, distance vector) of everything that depends on something."""
        by_element: dict[tuple[int, tuple[int, ...]], list[Instance]] = {}
        found = set()
        for array, later in self.instances(n):
            others = by_element.setdefault((array, later.element), [])
            for earlier in others:
                if earlier.store or later.store:
                    common = 0
                    for a, b in zip(earlier.loops, later.loops, strict=False):
                        if a != b:
                            break
                        common += 1
                    found.add((earlier.access, later.access, tuple(y - x for x, y in zip(earlier.counts[:common], later.counts[:common], strict=True))))
            others.append(later)
        return found


def _number(linear: Linear, indices: list[int], n: int) -> int:
    constant, coefficients, parameter = linear
    return constant + sum(a * b for a, b in zip(coefficients, indices, strict=True)) + parameter * n
