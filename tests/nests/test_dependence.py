"""Dependence vectors beside enumeration: random nests all of whose iterations are looked at."""

from __future__ import annotations

import itertools
import random
from typing import Any

import islpy
import pytest
from tests.nests.random_nests import Access, Linear, Loop, Random

import loopwright as lw
from loopwright.ir.parse import parse
from loopwright.nests.analysis import dependence
from loopwright.nests.analysis.dependence import Component, Dependence, dependences
from loopwright.nests.analysis.nest import Nest, nests

Vector = tuple[int, ...]


def analysed(spec: Random) -> tuple[Nest, list[Dependence]]:
    (nest,) = nests(spec.function())
    return nest, dependences(nest)


def signs(component: Component) -> list[int]:
    return [s for s, holds in ((-1, component.low < 0), (0, component.low <= 0 <= component.high), (1, component.high > 0)) if holds]


def sign(x: int) -> int:
    return (x > 0) - (x < 0)


def directions(found: list[Dependence]) -> set[tuple[int, int, Vector]]:
    return {(d.source.number, d.sink.number, direction) for d in found for direction in itertools.product(*map(signs, d.vector))}


def covers(d: Dependence, source: int, sink: int, distance: Vector) -> bool:
    return (d.source.number, d.sink.number) == (source, sink) and all(c.low <= x <= c.high for c, x in zip(d.vector, distance, strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_constant_bounds(seed: int) -> None:
    """Directions are exactly those that occur, and every distance that occurs is within a vector's bounds."""
    rng = random.Random(seed)
    for _ in range(8):
        spec = Random(rng, rng.choice([1, 2, 2, 3]), parameter=False)
        _, found = analysed(spec)
        real = spec.brute_force()
        for source, sink, distance in real:
            assert any(covers(d, source, sink, distance) for d in found), (source, sink, distance, found)
        assert directions(found) == {(source, sink, tuple(map(sign, distance))) for source, sink, distance in real}
        for d in found:
            assert d.told
            if d.exact:
                assert (d.source.number, d.sink.number, tuple(c.low for c in d.vector)) in real


@pytest.mark.parametrize("seed", range(30))
def test_parameters(seed: int) -> None:
    """Whatever value a parameter has, what occurs is in the vectors."""
    rng = random.Random(1000 + seed)
    for _ in range(4):
        spec = Random(rng, rng.choice([1, 2, 3]), parameter=True)
        _, found = analysed(spec)
        for n in (0, 1, 2, 5, -3):
            for source, sink, distance in spec.brute_force(n):
                assert any(covers(d, source, sink, distance) for d in found), (n, source, sink, distance, found)


class InIsl:
    """The same question to isl: in which directions do two accesses of a nest meet?"""

    def __init__(self, spec: Random) -> None:
        self.accesses: list[tuple[Access, list[Loop]]] = []
        self._collect(spec.loop, [])

    def _collect(self, loop: Loop, around: list[Loop]) -> None:
        for part in loop.body:
            if isinstance(part, Loop):
                self._collect(part, [*around, loop])
            else:
                self.accesses.append((part, [*around, loop]))

    @staticmethod
    def _sum(linear: Linear, indices: list[str]) -> str:
        constant, coefficients, parameter = linear
        return " + ".join([str(constant), f"{parameter}n", *(f"{k}{name}" for k, name in zip(coefficients, indices, strict=True) if k)])

    def _iteration(self, access: Access, loops: list[Loop], prefix: str) -> tuple[list[str], list[str], list[str]]:
        """Counters, indices, conditions."""
        counters, indices, conditions = [], [], []
        for loop in loops:
            counter, index = f"{prefix}c{len(counters)}", f"{prefix}i{len(counters)}"
            lows = [self._sum(b, indices) for b in loop.low]
            highs = [self._sum(b, indices) for b in loop.high]
            if loop.step in (1, -1):
                conditions.append(f"{index} = {loop.step}{counter}")
                conditions += [f"{index} {'>=' if loop.step > 0 else '<='} {low}" for low in lows]
            else:
                conditions += [f"{index} = {lows[0]} + {loop.step}{counter}", f"{counter} >= 0"]
            conditions += [f"{index} {'<' if loop.step > 0 else '>'} {high}" for high in highs]
            counters.append(counter)
            indices.append(index)
        conditions += [f"{self._sum(s, indices)} >= 0" for s in access.subscripts]
        return counters, indices, conditions

    def directions(self) -> set[tuple[int, int, Vector]]:
        found = set()
        for (a, around_a), (b, around_b) in itertools.product(self.accesses, repeat=2):
            if a.array != b.array or not (a.store or b.store):
                continue
            common = len(list(itertools.takewhile(lambda pair: pair[0] is pair[1], zip(around_a, around_b, strict=False))))
            ca, ia, conditions = self._iteration(a, around_a, "a")
            cb, ib, more = self._iteration(b, around_b, "b")
            conditions += more
            conditions += [f"{self._sum(s, ia)} = {self._sum(t, ib)}" for s, t in zip(a.subscripts, b.subscripts, strict=True)]
            meeting = islpy.Set(f"[n] -> {{ [{', '.join([*ca, *cb])}] : exists {', '.join([*ia, *ib])} : {' and '.join(conditions)} }}")
            for direction in itertools.product((-1, 0, 1), repeat=common):
                leading = next((s for s in direction if s), 0)
                if leading < 0 or (leading == 0 and a.number >= b.number):
                    continue
                signed = [f"{cb[k]} {'<=>'[s + 1]} {ca[k]}" for k, s in enumerate(direction)]
                wanted = islpy.Set(f"[n] -> {{ [{', '.join([*ca, *cb])}] : {' and '.join(signed) or 'true'} }}")
                if not meeting.intersect(wanted).is_empty():
                    found.add((a.number, b.number, direction))
        return found


@pytest.mark.parametrize("seed", range(40))
def test_beside_isl(seed: int) -> None:
    """With a parameter that may have any value, too, directions are exactly those that isl finds."""
    rng = random.Random(2000 + seed)
    for _ in range(3):
        spec = Random(rng, rng.choice([1, 2, 2, 3]), parameter=True)
        _, found = analysed(spec)
        assert directions(found) == InIsl(spec).directions()


# --- nests as one writes them: the examples of Vyukova and Samborsky, Multi-dimensional loop pipelining, 2024


@lw.kernel
def along(a: lw.Array[lw.f64, 2]):
    for i in lw.range(a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            a[i, j] = lw.sqrt(a[i, j - 1])


@lw.kernel
def both(a: lw.Array[lw.f64, 2]):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1]):
            a[i, j] = lw.sqrt(a[i, j - 1] * a[i - 1, j])


@lw.kernel
def slanted(a: lw.Array[lw.f64, 2]):
    for i in lw.range(1, a.shape[0]):
        for j in lw.range(1, a.shape[1] - 1):
            a[i, j] = lw.sqrt(a[i, j - 1] * a[i - 1, j + 1])


@lw.kernel
def two_outer(a: lw.Array[lw.f64, 3]):
    for k in lw.range(2, a.shape[0]):
        for i in lw.range(2, a.shape[1]):
            for j in lw.range(a.shape[2] - 1):
                a[k, i, j] = lw.sqrt(a[k, i - 2, j + 1] * a[k - 2, i, j + 1])


@lw.kernel
def against(a: lw.Array[lw.f64, 3]):
    for k in lw.range(1, a.shape[0]):
        for i in lw.range(a.shape[1] - 1):
            for j in lw.range(a.shape[2]):
                a[k, i, j] = lw.sqrt(a[k - 1, i + 1, j])


@pytest.mark.parametrize(
    ("kernel", "rank", "vectors"),
    [
        (along, 2, {(0, 1)}),
        (both, 2, {(0, 1), (1, 0)}),
        (slanted, 2, {(0, 1), (1, -1)}),
        (two_outer, 3, {(0, 2, -1), (2, 0, -1)}),
        (against, 3, {(1, -1, 0)}),
    ],
)
def test_uniform_distances(kernel: lw.Kernel, rank: int, vectors: set[Vector]) -> None:
    (nest,) = nests(parse(kernel.compile(lw.Array[lw.f64, rank], target="x86-64-v3").ir("collect")))
    found = dependences(nest)
    assert all(d.exact and d.kind == "flow" for d in found)
    assert {tuple(c.low for c in d.vector) for d in found} == vectors
    # The loop that carries it is the first whose distance is not 0.
    assert all(d.level == next(k for k, c in enumerate(d.vector) if c.low) for d in found)
    assert not nest.obstacles


@lw.kernel
def triangular(matrix: lw.Array[lw.f64, 2], b: lw.Array[lw.f64]):
    for i in lw.range(b.shape[0]):
        s = b[i]
        for j in lw.range(i):
            s -= matrix[i, j] * b[j]
        b[i] = s / matrix[i, i]


@lw.kernel
def histogram(x: lw.Array[lw.i32], count: lw.Array[lw.i32]):
    for i in lw.range(x.shape[0]):
        count[x[i]] += 1


def test_triangular_solver() -> None:
    (nest,) = nests(parse(triangular.compile(lw.Array[lw.f64, 2], lw.Array[lw.f64], target="x86-64-v3").ir("collect")))
    assert sorted(map(repr, dependences(nest))) == ["anti 0 -> 4 (0)", "flow 4 -> 2 (>=1)"]


def test_what_cannot_be_told() -> None:
    (nest,) = nests(parse(histogram.compile(lw.Array[lw.i32], lw.Array[lw.i32], target="x86-64-v3").ir("collect")))
    found = dependences(nest)
    assert found and not any(d.told for d in found)
    assert {(d.kind, repr(d.vector)) for d in found} == {("anti", "(0,)"), ("anti", "(>=1,)"), ("flow", "(>=1,)"), ("output", "(>=1,)")}


def test_obstacles_name_their_line() -> None:
    f = parse(
        "function k(%x: ptr, %x.n0: i64)\n  stage collect\n  array x: f64[%x.n0] at %x written\n  block\n"
        "  %i = for 0, %x.n0, 1  ; @7\n    %v = load.f64 x[%i]\n    %c = lt.f64 %v, 0.0\n    br_if 1, %c  ; @9\n    br_if 0, %c  ; @10\n    store.f64 1.0, x[%i]\n  end\n  end\nend\n"
    )
    (nest,) = nests(f)
    assert nest.obstacles == [(9, "leaves a loop early"), (10, "ends an iteration early")]


@pytest.mark.parametrize("plane", ["t % 2", "1 - t % 2", "(t + 1) % 2", "(t + 2) % 3", "(2 * t + 1) % 4", "(5 - t) % 3"])
def test_remainders(plane: str) -> None:
    """Planes that steps take in turns: directions are those that occur."""
    for other, apart in itertools.product(["t % 2", "(t + 1) % 3", "(4 * t) % 4"], [-1, 0, 2]):
        source = (
            f"def nest(a, n):\n    for t in range(n):\n        for i in range(2, a.shape[1] - 2):\n            a[{plane}, i] = a[{other}, i + {apart}] + HALF\n"
        )
        space = {"HALF": 0.5}
        exec(source, space)  # noqa: S102 (written here)
        function = space["nest"]
        function.__annotations__.update(a=lw.Array[lw.f64, 2], n=int)  # type: ignore[attr-defined]
        (nest,) = nests(parse(lw.kernel(source=source, nests="off")(function).compile(n=lw.i64).ir("collect")))
        real: set[tuple[int, int, Vector]] = set()
        touched = [
            (t, i, number, (eval(text), place)) for t in range(13) for i in range(2, 7) for number, text, place in ((0, other, i + apart), (1, plane, i))
        ]
        for n, (t, i, number, element) in enumerate(touched):
            for t0, i0, before, same in touched[:n]:
                if element == same and (number or before):
                    real.add((before, number, (sign(t - t0), sign(i - i0))))
        assert directions(dependences(nest)) == real, source


@lw.kernel
def three_sweeps(v: lw.Array[lw.f64, 3], p: lw.Array[lw.f64, 2], steps: lw.i64):
    for _ in lw.range(steps):
        for i in lw.range(2, v.shape[0] - 2):
            for j in lw.range(2, v.shape[1] - 2):
                for k in lw.range(2, v.shape[2] - 2):
                    v[i, j, k] = v[i - 1, j - 1, k - 2]
        for i in lw.range(2, v.shape[0] - 2):
            for j in lw.range(2, v.shape[1] - 2):
                for k in lw.range(2, v.shape[2] - 2):
                    v[i, j, k] = p[j, k] + p[j, k]
        for i in lw.range(2, v.shape[0] - 2):
            for j in lw.range(2, v.shape[1] - 2):
                for k in lw.range(2, v.shape[2] - 2):
                    v[i, j, k] = lw.min(v[i, j, k] * 0.5, v[i - 1, j - 1, k] + 5)


@pytest.mark.skipif(not str(dependence.__file__).endswith(".py"), reason="methods of the native build are what they are")
def test_tiles_over_time_steps_are_not_asked_for_all_their_directions() -> None:
    """Of seven loops in common there may be thousands."""
    asked = 0
    explore = dependence._Pair._explore

    def counted(self: Any, *args: Any) -> None:
        nonlocal asked
        asked += 1
        explore(self, *args)

    dependence._Pair._explore = counted
    try:
        three_sweeps.compile(target="x86-64-v3")
    finally:
        dependence._Pair._explore = explore
    assert asked < 300


@pytest.mark.parametrize("inner", ["", "    %j = for 0, %n, 1\n      %4 = add.i32 %2, 1\n      %2 = copy.i32 %4\n    end\n"])
def test_remainders_of_the_index_itself(inner: str) -> None:
    """What an index leaves is 0 in its first iteration, and not in others."""
    f = parse(
        f"""function k(%a: ptr, %a.n0: i64, %n: i64)
  stage promote
  option nests
  array a: i32[%a.n0] at %a written
  var %2: i32
  %i = for 0, %n, 1
    %0 = rem_floor.i64 %i, 8
    %1 = sub.i64 %i, %0
    %3 = load.i32 a[%1]
    %2 = copy.i32 %3
{inner}    store.i32 %2, a[%1]
  end
end
"""
    )
    found = {(each.kind, each.vector) for each in dependences(nests(f)[0])}
    near = (Component(1, 7),)
    assert found == {("anti", (Component(0, 0),)), ("anti", near), ("flow", near), ("output", near)}
