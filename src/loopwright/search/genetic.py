"""The search for better orders of the register filters: a genetic algorithm, and two simpler searches to hold beside it.

A candidate is a permutation of the filters' letters. The genetic algorithm keeps a population; parents win tournaments, children come
from order crossover or partially mapped crossover and mutation, and the worst of all are evicted. Orders that cannot differ
(``regalloc.heuristics.canonical``) are one candidate, and none is scored twice.

Every search goes in steps. After each step its whole state, that of its random source included, is put on disk in one move, so a search
that was killed goes on from its last step and ends as it would have ended.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from loopwright.errors import LoopwrightError
from loopwright.regalloc.heuristics import DEFAULT_ORDER, canonical, check_order

__all__ = ["METHODS", "Point", "Result", "Settings", "search"]

#: Orders -> the fitness of each; less is better.
Evaluate = Callable[[list[str]], list[float]]
Progress = Callable[["Result"], None]

_FORMAT: Final = 1
_LETTERS: Final = len(DEFAULT_ORDER)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search.

    Attributes:
        budget: how many different orders to score at most.
        population: candidates kept by the genetic algorithm.
        children: new ones in each of its generations.
        tournament: contestants in each choice of a parent.
        crossover: share of the children that have two parents.
        mutation: probability of each letter of a mutant to change its place.
        patience: generations in a row without a candidate good enough to stay, after which the genetic algorithm ends.
        seed: of the random source.
        start: orders to begin with, beside random ones.
    """

    budget: int = 3000
    population: int = 100
    children: int = 50
    tournament: int = 3
    crossover: float = 0.8
    mutation: float = 0.06
    patience: int = 10
    seed: int = 1
    start: tuple[str, ...] = (DEFAULT_ORDER,)

    def __post_init__(self) -> None:
        for name in ("budget", "population", "children", "tournament", "patience"):
            if getattr(self, name) < 1:
                raise LoopwrightError(f"{name} must be at least 1, not {getattr(self, name)}")
        for order in self.start:
            check_order(order)


@dataclass(slots=True)
class Point:
    """Where a search was after a step: orders scored, the best fitness so far, the mean of the population (or of the step)."""

    scored: int
    best: float
    mean: float


@dataclass(slots=True)
class Result:
    """What a search has found.

    Attributes:
        method: its name.
        best: the best order, canonical, and ``fitness`` that of it.
        known: every order scored, with its fitness.
        history: a point for each step.
        seconds: spent, over all runs.
        finished: why it ended; "" while it goes on.
    """

    method: str
    best: str = ""
    fitness: float = float("inf")
    known: dict[str, float] = field(default_factory=dict)
    history: list[Point] = field(default_factory=list)
    seconds: float = 0.0
    finished: str = ""

    def top(self, count: int) -> list[str]:
        """The best orders, best first."""
        return sorted(self.known, key=lambda order: (self.known[order], order))[:count]


class _Candidate(list[int]):
    """A permutation, as the operators of the library want it: a list of small integers with a fitness, of which more is better."""

    __slots__ = ("fitness",)

    def __init__(self, letters: Sequence[int]) -> None:
        super().__init__(letters)
        self.fitness = float("-inf")

    @property
    def order(self) -> str:
        return "".join(DEFAULT_ORDER[n] for n in self)


def _candidate(order: str) -> _Candidate:
    return _Candidate([DEFAULT_ORDER.index(letter) for letter in order])


def _random_order(source: random.Random) -> str:
    letters = list(DEFAULT_ORDER)
    source.shuffle(letters)
    return "".join(letters)


class _Search:
    """What the searches have in common: scoring, and going on after a kill."""

    method = ""

    def __init__(self, evaluate: Evaluate, settings: Settings, question: str) -> None:
        self.evaluate = evaluate
        self.settings = settings
        #: What is being tuned; a state of another question or of other settings is not gone on from.
        self.question = question
        self.random = random.Random(f"{self.method}/{settings.seed}")
        self.result = Result(self.method)

    # --- to be substituted ------------------------------------------------------------------------------------

    def step(self) -> float:
        """Go one step on; the mean fitness of what the point of the history is to tell."""
        raise NotImplementedError

    def own_state(self) -> dict[str, Any]:
        """What ``step`` needs beside the common part."""
        return {}

    def set_own_state(self, state: dict[str, Any]) -> None:
        """The reverse."""

    # --- scoring ----------------------------------------------------------------------------------------------

    @property
    def left(self) -> int:
        """Orders that may still be scored."""
        return self.settings.budget - len(self.result.known)

    def score(self, orders: Sequence[str]) -> list[str]:
        """Score those orders that are new, as far as the budget goes; the canonical forms of all that are known then."""
        forms = list(dict.fromkeys(canonical(order) for order in orders))
        new = [form for form in forms if form not in self.result.known][: max(0, self.left)]
        if new:
            for form, value in zip(new, self.evaluate(new), strict=True):
                self.result.known[form] = value
                if value < self.result.fitness:
                    self.result.best, self.result.fitness = form, value
        return [form for form in forms if form in self.result.known]

    # --- running ----------------------------------------------------------------------------------------------

    def run(self, path: Path | None, progress: Progress | None) -> Result:
        if path is not None:
            self.load(path)
        result = self.result
        while not result.finished:
            start = time.perf_counter()
            mean = self.step()
            result.seconds += time.perf_counter() - start
            result.history.append(Point(len(result.known), result.fitness, mean))
            if not result.finished and self.left <= 0:
                result.finished = "the budget was spent"
            if path is not None:
                self.save(path)
            if progress is not None:
                progress(result)
        return result

    def save(self, path: Path) -> None:
        """Put the state on disk in one move: whoever reads finds this one or the one before."""
        version, words, gauss = self.random.getstate()
        state = {
            "format": _FORMAT,
            "question": self.question,
            "settings": asdict(self.settings),
            "random": [version, list(words), gauss],
            "result": asdict(self.result),
            "own": self.own_state(),
        }
        temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(state, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            raise LoopwrightError(f"{path} cannot be written: {error.strerror}") from None

    def load(self, path: Path) -> None:
        """Go on from the state on disk, if there is one."""
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        except ValueError:
            raise LoopwrightError(f"{path} is not the state of a search; remove it to begin anew") from None
        settings = json.loads(json.dumps(asdict(self.settings)))
        if (state.get("format"), state.get("question"), state.get("settings")) != (_FORMAT, self.question, settings):
            raise LoopwrightError(
                f"{path} is the state of another search (other functions, model, budget or seed, or another compiler); remove it, or write to another directory"
            )
        result = state["result"]
        result["history"] = [Point(**point) for point in result["history"]]
        self.result = Result(**result)
        version, words, gauss = state["random"]
        self.random.setstate((version, tuple(words), gauss))
        self.set_own_state(state["own"])


class _Genetic(_Search):
    """Population, tournament, crossover, mutation, eviction of the worst."""

    method = "genetic"

    def __init__(self, evaluate: Evaluate, settings: Settings, question: str) -> None:
        super().__init__(evaluate, settings, question)
        try:
            self.tools: Any = importlib.import_module("deap.tools")
        except ImportError:
            raise LoopwrightError("the genetic search uses the library DEAP: pip install 'loopwright[tuning]'") from None
        self.population: list[str] = []
        self.idle = 0

    def own_state(self) -> dict[str, Any]:
        return {"population": self.population, "idle": self.idle}

    def set_own_state(self, state: dict[str, Any]) -> None:
        self.population = state["population"]
        self.idle = state["idle"]

    def step(self) -> float:
        size = self.settings.population
        if not self.population:
            new = list(self.settings.start)
            while len({canonical(order) for order in new}) < size:
                new.append(_random_order(self.random))
            self.population = self.survivors(self.score(new))
        else:
            children = self.children()
            if not children:
                self.result.finished = "no new candidates appeared"
            else:
                before = set(self.population)
                self.population = self.survivors([*self.population, *self.score(children)])
                self.idle = self.idle + 1 if before == set(self.population) else 0
                if self.idle >= self.settings.patience:
                    self.result.finished = f"no candidate of {self.idle} generations was good enough to stay"
        return sum(self.result.known[order] for order in self.population) / max(1, len(self.population))

    def survivors(self, orders: Sequence[str]) -> list[str]:
        """The worst evicted."""
        return sorted(dict.fromkeys(orders), key=lambda order: (self.result.known[order], order))[: self.settings.population]

    def children(self) -> list[str]:
        """New candidates: canonical orders never scored before; fewer than asked for, or none, when the population makes no more."""
        tools, settings = self.tools, self.settings
        people = []
        for order in self.population:
            made = _candidate(order)
            made.fitness = -self.result.known[order]
            people.append(made)
        found: dict[str, None] = {}
        # The library draws from Python's own random source: ours takes its place meanwhile.
        kept = random.getstate()
        random.setstate(self.random.getstate())
        try:
            for _ in range(20 * settings.children):
                if len(found) >= min(settings.children, self.left):
                    break
                first, second = (_Candidate(parent) for parent in tools.selTournament(people, 2, settings.tournament))
                if random.random() < settings.crossover:
                    cross = tools.cxOrdered if random.random() < 0.5 else tools.cxPartialyMatched
                    cross(first, second)
                    if random.random() < 0.5:
                        tools.mutShuffleIndexes(first, settings.mutation)
                else:
                    tools.mutShuffleIndexes(first, max(settings.mutation, 1.0 / _LETTERS))
                form = canonical(first.order)
                if form not in self.result.known:
                    found[form] = None
            self.random.setstate(random.getstate())
        finally:
            random.setstate(kept)
        return list(found)


class _Random(_Search):
    """Random orders, one like the other."""

    method = "random"

    def step(self) -> float:
        new = [*self.settings.start] if not self.result.known else []
        while len(new) < self.settings.children:
            new.append(_random_order(self.random))
        scored = self.score(new)
        return sum(self.result.known[order] for order in scored) / max(1, len(scored))


class _HillClimbing(_Search):
    """From an order to the first better one that differs by a swap of two letters; from a peak, on from a random order.

    The neighbours come in random order, in batches (so that all processes have work); the best of a batch is the next place if it is
    better than the place it was reached from.
    """

    method = "hill climbing"

    def __init__(self, evaluate: Evaluate, settings: Settings, question: str) -> None:
        super().__init__(evaluate, settings, question)
        self.place = ""
        self.swaps: list[list[int]] = []

    def own_state(self) -> dict[str, Any]:
        return {"place": self.place, "swaps": self.swaps}

    def set_own_state(self, state: dict[str, Any]) -> None:
        self.place = state["place"]
        self.swaps = state["swaps"]

    def step(self) -> float:
        known = self.result.known
        if not self.place:
            first = list(self.settings.start) if not known else [_random_order(self.random)]
            self.move(min(self.score(first), key=lambda order: (known[order], order), default=""))
        elif not self.swaps:
            # A peak: nothing around is better.
            self.place = ""
        else:
            batch = max(2, self.settings.children // 5)
            here, self.swaps = self.swaps[:batch], self.swaps[batch:]
            near = []
            for a, b in here:
                letters = list(self.place)
                letters[a], letters[b] = letters[b], letters[a]
                near.append("".join(letters))
            best = min(self.score(near), key=lambda order: (known[order], order), default="")
            if best and known[best] < known[self.place]:
                self.move(best)
        return known[self.place] if self.place else self.result.fitness

    def move(self, place: str) -> None:
        self.place = place
        self.swaps = [[a, b] for a in range(_LETTERS) for b in range(a)]
        self.random.shuffle(self.swaps)


METHODS: Final[dict[str, type[_Search]]] = {kind.method: kind for kind in (_Genetic, _Random, _HillClimbing)}


def search(
    evaluate: Evaluate,
    settings: Settings,
    method: str = "genetic",
    state: str | os.PathLike[str] | None = None,
    question: str = "",
    progress: Progress | None = None,
) -> Result:
    """Search for the order with the least fitness.

    Args:
        evaluate: orders (canonical, all different) to the fitness of each.
        settings: how.
        method: ``genetic``, ``random`` or ``hill climbing``.
        state: file to keep the state in after each step, and to go on from if it is there.
        question: what ``evaluate`` depends on, in a few words or a digest; a state of another question is refused.
        progress: called after each step.

    Raises:
        LoopwrightError: unknown method, no DEAP, or a state that belongs to another search.
    """
    kind = METHODS.get(method)
    if kind is None:
        raise LoopwrightError(f"there is no search {method!r}; there are {', '.join(METHODS)}")
    return kind(evaluate, settings, question).run(Path(state) if state is not None else None, progress)
