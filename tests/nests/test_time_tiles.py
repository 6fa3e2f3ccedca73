"""Loops over time steps in tiles: bit for bit what they give as written, wherever the dependences allow it; with no less slope than they need."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.ir.function import Function
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.nests.analysis.nest import nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.steps.sweeps import Sweeps, sweeps
from loopwright.nests.steps.time_tiles import Memory, tile

#: Of a subscript: coefficient of the loop's index, constant.
Linear = tuple[int, int]
#: An array, how its plane follows from the step ("", "mod" or "all"), by how much, and a subscript for each other dimension.
Place = tuple[str, int, tuple[Linear, ...]]
_INDICES = ("i", "j")


class Steps:
    """A random loop over time steps, as source, and all that it accesses, in order, for whoever enumerates it."""

    def __init__(self, rng: random.Random, uniform: float = 0.97, turns: float = 0) -> None:
        self.rng = rng
        self.uniform = uniform
        self.rank = rng.choice([1, 1, 2])
        self.planes = {name: rng.choice(["", "", "", "mod", "all"]) for name in "ab"}
        self.sweeps = [self._sweep() for _ in range(rng.randint(1, 3))]
        #: Per sweep: it runs where the step modulo 2 is that; None for always.
        self.turns = [rng.choice([0, 1]) if rng.random() < turns else None for _ in self.sweeps]

    def _sweep(self) -> tuple[int, Place, list[Place]]:
        rng = self.rng
        store = self._place(rng.choice([0, 0, 0, 1]), True)
        return rng.choice([3, 4]), store, [self._place(rng.choice([0, 1, 1, 2])) for _ in range(rng.randint(1, 3))]

    def _place(self, reach: int, store: bool = False) -> Place:
        rng = self.rng
        name = rng.choice("ab")
        subscripts = tuple([(1, rng.randint(-reach, reach)) if rng.random() < self.uniform else rng.choice([(2, 0), (0, 5)]) for _ in range(self.rank)])
        return name, int(store) if rng.random() < 0.8 else rng.randint(0, 1), subscripts

    def _text(self, place: Place) -> str:
        name, plane, subscripts = place
        first = {"": [], "mod": [f"(t + {plane}) % 2"], "all": [f"t + {plane}"]}[self.planes[name]]
        rest = [f"{a} * {index} + {c}" if a != 1 else f"{index} + {c}" for (a, c), index in zip(subscripts, _INDICES, strict=False)]
        return f"{name}[{', '.join([*first, *rest])}]"

    @property
    def source(self) -> str:
        lines = ["def nest(a, b, extents, first, last):", "    for t in range(first, last):"]
        for (low, store, loads), turn in zip(self.sweeps, self.turns, strict=True):
            inside = "    " * (2 if turn is None else 3)
            if turn is not None:
                lines.append(f"        if t % 2 == {turn}:")
            for k in range(self.rank):
                lines.append(f"{inside}{'    ' * k}for {_INDICES[k]} in range({low}, extents.shape[{k}] - {low}):")
            value = " + ".join(map(self._text, loads))
            lines.append(f"{inside}{'    ' * self.rank}{self._text(store)} = ({value}) * HALF")
        return "\n".join(lines) + "\n"

    def kernel(self, how: str) -> Any:
        space: dict[str, Any] = {"HALF": 0.5}
        exec(self.source, space)  # noqa: S102 (made above)
        function = space["nest"]
        function.__annotations__.update(a=lw.Array, b=lw.Array, extents=lw.Array, first=int, last=int)
        return lw.kernel(source=self.source, nests=how)(function)

    def arguments(self, extents: tuple[int, ...], first: int, last: int) -> list[Any]:
        rng = np.random.default_rng(0)
        made: list[Any] = []
        for name in "ab":
            planes = {"": (), "mod": (2,), "all": (last + 2,)}[self.planes[name]]
            made.append(rng.random((*planes, *[2 * extent + 12 for extent in extents])))
        return [*made, np.zeros(extents, np.uint8), first, last]

    def instances(self, extents: tuple[int, ...], steps: int) -> Iterator[tuple[int, int, tuple[int, ...], list[tuple[str, tuple[int, ...], bool]]]]:
        """Step, sweep, indices, and the elements touched: array, element, written."""
        for t in range(steps):
            for s, (low, store, loads) in enumerate(self.sweeps):
                if self.turns[s] not in (None, t % 2):
                    continue
                for indices in itertools.product(*[range(low, extent - low) for extent in extents]):
                    yield t, s, indices, [(*self._element(p, t, indices), False) for p in loads] + [(*self._element(store, t, indices), True)]

    def _element(self, place: Place, t: int, indices: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        name, plane, subscripts = place
        first = {"": (), "mod": ((t + plane) % 2,), "all": (t + plane,)}[self.planes[name]]
        return name, (*first, *[a * i + c for (a, c), i in zip(subscripts, indices, strict=True)])

    def distances(self, extents: tuple[int, ...], steps: int) -> set[tuple[int, int, int, tuple[int, ...]]]:
        """Of all that depend on each other: source's and sink's sweep, steps and iterations between them."""
        touched: dict[Any, list[tuple[int, int, tuple[int, ...], bool]]] = {}
        found = set()
        for t, s, indices, elements in self.instances(extents, steps):
            for name, element, written in elements:
                before = touched.setdefault((name, element), [])
                for t0, s0, i0, w0 in before:
                    if written or w0:
                        found.add((s0, s, t - t0, tuple([i - j for i, j in zip(indices, i0, strict=True)])))
                before.append((t, s, indices, written))
        return found


def read(f: Function) -> Sweeps | None:
    (nest,) = nests(f)
    return sweeps(nest, scalars(nest))


def possible(distances: set[tuple[int, int, int, tuple[int, ...]]], level: int, slope: int, count: int) -> bool:
    """Whether with a slope there are offsets: by going through those that matter."""
    for offsets in itertools.product(range(3 * slope + 4 if count > 1 else 1), repeat=count):
        if all(d[level] + slope * dt + offsets[b] - offsets[a] >= 0 for a, b, dt, d in distances):
            return True
    return False


@pytest.mark.parametrize("seed", range(6))
def test_slopes(seed: int) -> None:
    """No dependence goes to a lower place, in any tiled loop, and with less slope, or where it is refused, some would."""
    rng = random.Random(seed)
    ways: Counter[str] = Counter()
    for _ in range(28):
        spec = Steps(rng, 0.94, rng.choice([0, 0, 0, 0.6]))
        plain = not any(turn is not None for turn in spec.turns)
        found = read(parse(spec.kernel("off").compile(*spec.arguments((9,) * spec.rank, 0, 3)).ir("collect")))
        distances = spec.distances((17,) if spec.rank == 1 else (11, 12), 4)
        if found is None or found.loop.number:
            ways["refused"] += 1
            # (Where subscripts are no index and a constant, more is refused than need be; where steps share nothing, for that.)
            if plain and "all" not in spec.planes.values() and all(a == 1 for _, store, loads in spec.sweeps for _, _, sub in [store, *loads] for a, _ in sub):
                assert not any(possible(distances, 0, slope, len(spec.sweeps)) for slope in range(5)), spec.source
            continue
        ways["levels", len(found.slopes)] += 1
        ways["steep"] += max(found.slopes) > 1
        for level, slope in enumerate(found.slopes):
            offsets = [sweep.offsets[level] for sweep in found.sweeps]
            assert all(d[level] + slope * dt + offsets[b] - offsets[a] >= 0 for a, b, dt, d in distances), spec.source
            # (Planes by a remainder are taken for any.)
            if (
                plain
                and slope
                and "mod" not in spec.planes.values()
                and all(a for _, store, loads in spec.sweeps for _, _, sub in [store, *loads] for a, _ in sub)
            ):
                assert not possible(distances, level, slope - 1, len(spec.sweeps)), spec.source
    assert ways["levels", 1] + ways["levels", 2] > 3
    assert ways["steep"] > 0


@pytest.mark.parametrize("seed", range(12))
def test_random_sweeps(seed: int) -> None:
    """The interpreter gets the same, in all sizes and numbers of steps."""
    rng = random.Random(100 + seed)
    tiled = 0
    for _ in range(6):
        spec = Steps(rng, turns=rng.choice([0, 0.4]))
        text = spec.kernel("off").compile(*spec.arguments((9,) * spec.rank, 0, 3)).ir("collect")
        f = parse(text)
        found = read(f)
        if found is None:
            continue
        size = rng.choice([500, 800] if len(found.slopes) == 1 else [2000, 4000])
        tile(found, Memory(rng.choice([300, 1000]), size, size, rng.choice([1, 4, 7])))
        verify(f)
        sizes = [(n,) for n in (3, 6, 7, 8, 9, 20, 41, rng.randint(40, 90))] if spec.rank == 1 else [(7, 7), (6, 13), (30, 8), (9, 30), (16, 21)]
        for extents in sizes:
            first = rng.randint(0, 2)
            last = first + rng.choice([-1, 0, 1, 2, 3, 7, 9])
            given, wanted = spec.arguments(extents, first, max(last, 2)), spec.arguments(extents, first, max(last, 2))
            given[-1] = wanted[-1] = last
            run(f, *given)
            run(parse(text), *wanted)
            for a, b in zip(given[:2], wanted[:2], strict=True):
                np.testing.assert_array_equal(a, b, err_msg=spec.source)
        tiled += 1
    assert tiled > 1


LINE = """def nest(a, b, steps):
    n = a.shape[0]
    for t in range(steps):
        for i in range(1, n - 1):
            b[i] = (a[i - 1] + a[i] + a[i + 1]) * THIRD
        for i in range(1, n - 1):
            a[i] = b[i]
"""
PLANE = """def nest(a, b, steps):
    for t in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * THIRD
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                v = (b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1]) * THIRD
                if v > a[i, j]:
                    v = v - a[i, j]
                a[i, j] = v
"""
INTEGERS = """def nest(a, b, steps):
    for t in range(steps):
        scale = t + 3
        for i in range(2, a.shape[0] - 2):
            b[i] = a[i - 2] + a[i + 2] * 3
        for i in range(3, a.shape[0] - 3):
            a[i] = b[i - 1] - b[i + 1]
        for i in range(a.shape[0]):
            b[i] = b[i] * 5
"""
KEPT = """def nest(a, b, steps):
    for t in range(steps):
        for i in range(1, a.shape[1] - 1):
            a[t + 1, i] = (a[t, i - 1] + a[t, i] + a[t, i + 1]) * THIRD + b[i]
"""
IN_TURNS = """def nest(a, b, steps):
    for t in range(steps):
        for i in range(1, a.shape[1] - 1):
            a[(t + 1) % 2, i] = (a[t % 2, i - 1] + a[t % 2, i] + a[t % 2, i + 1]) * THIRD
        for i in range(b.shape[0]):
            b[i] = b[i] + a[(t + 1) % 2, i]
"""
BY_BRANCHES = """def nest(a, b, steps):
    for t in range(steps):
        if t % 2 == 0:
            for i in range(1, a.shape[0] - 1):
                b[i] = (a[i - 1] + a[i] + a[i + 1]) * THIRD
        else:
            for i in range(1, a.shape[0] - 1):
                a[i] = (b[i - 1] + b[i] + b[i + 1]) * THIRD
"""
IN_PLACE = """def nest(a, b, steps):
    for t in range(steps):
        for i in range(a.shape[0] - 2):
            a[i] = (a[i] + a[i + 1] + a[i + 2]) * b[i]
"""


#: Whose first array has planes.
PLANES = (KEPT, IN_TURNS)


def kernel(source: str, how: str, dtype: Any) -> Any:
    space: dict[str, Any] = {"THIRD": dtype(0.3)}
    exec(source, space)  # noqa: S102 (above)
    function = space["nest"]
    function.__annotations__.update(a=lw.Array, b=lw.Array, steps=int)
    return lw.kernel(source=source, nests=how)(function)


def numbers(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.random.default_rng(0).integers(1, 100, shape).astype(dtype)


CASES = [
    (LINE, np.float64, [(n,) for n in (0, 1, 2, 3, 40, 4000)], [(3,), (4000,)]),
    (LINE, np.float32, [(n,) for n in (5, 5000, 9001)], [(7001,)]),
    (PLANE, np.float64, [(0, 3), (3, 3), (4, 50), (90, 70), (19, 1500), (140, 20)], [(24, 700)]),
    (PLANE, np.float32, [(2, 2), (33, 2000)], [(24, 900)]),
    (INTEGERS, np.int32, [(n,) for n in (4, 6, 7, 100, 20000)], [(9000,)]),
    (KEPT, np.float64, [(23, n) for n in (0, 2, 3, 30, 3001)], [(9, 3000)]),
    (IN_TURNS, np.float64, [(2, n) for n in (2, 3, 30, 3001)], [(2, 3000)]),
    (BY_BRANCHES, np.float64, [(n,) for n in (2, 3, 30, 5001)], [(5000,)]),
    (IN_PLACE, np.float64, [(n,) for n in (0, 2, 3, 30, 4001)], [(4000,)]),
]


@pytest.fixture
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores with caches that small arrays do not fit into."""
    for runner in runners():
        core = runner.values[0].target.core
        if core is not None:
            monkeypatch.setattr(core, "caches", [1 << 14, 70 << 10, 70 << 10])


@pytest.mark.usefixtures("small_caches")
@pytest.mark.parametrize(("source", "dtype", "sizes", "_"), CASES)
def test_by_itself(source: str, dtype: Any, sizes: list[tuple[int, ...]], _: Any) -> None:
    """The pass finds them; any sizes and numbers of steps."""
    fast, plain = kernel(source, "fast", dtype), kernel(source, "off", dtype)
    b_shape = int(source in PLANES)
    for shape in sizes:
        for steps in (0, 1, 2, 5, 16, 21):
            given = [numbers(shape, dtype), numbers(shape[b_shape:], dtype)]
            wanted = [a.copy() for a in given]
            fast(*given, steps)
            plain(*wanted, steps)
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_found(case: int) -> None:
    """All of them are in tiles, as slanted as the steps need."""
    source, dtype, sizes, _ = CASES[case]
    arrays = [numbers(sizes[-1], dtype), numbers(sizes[-1][int(source in PLANES) :], dtype)]
    found = read(parse(kernel(source, "off", dtype).compile(*arrays, 1).ir("collect")))
    assert found is not None
    assert found.slopes == {LINE: [2], PLANE: [2, 2], INTEGERS: [4], KEPT: [1], IN_TURNS: [1], BY_BRANCHES: [2], IN_PLACE: [2]}[source]
    assert "div_floor" in kernel(source, "fast", dtype).compile(*arrays, 1).ir("nests")


@pytest.mark.usefixtures("small_caches")
@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.fused))
def test_on_every_machine(runner: Runner) -> None:
    """The same on all machines."""
    for source, dtype, _, sizes in CASES:
        for shape in sizes:
            arrays = [numbers(shape, dtype), numbers(shape[int(source in PLANES) :], dtype)]
            wanted = [a.copy() for a in arrays]
            kernel(source, "off", dtype)(*wanted, 6)
            compiled = runner.compiled(kernel(source, "fast", dtype), *arrays, 6)
            runner.run(compiled, [*arrays, 6], partial(_same, arrays, wanted))


def _same(given: list[np.ndarray], wanted: list[np.ndarray], _: object) -> None:
    for a, b in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
