"""Comparing two settings over a corpus: two orders of the register filters, two targets, two installed versions.

Each context is compiled both ways. What came out smaller is an improvement, for every number there is. A summary gives, for each
collection, how many contexts improved and regressed, and the geometric mean of the ratios, ``exp(mean(ln(diff / base)))``, over all
contexts and over those that changed. The largest changes are shown with both listings side by side.

Times are another matter: they differ whenever they are measured, and a difference counts only beyond the noise (:mod:`~loopwright.corpus.noise`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final

from loopwright.corpus.files import Context
from loopwright.corpus.noise import Noise, Times, measured
from loopwright.corpus.replay import NOISY, NUMBERS, Job, Replayer, Result, Setting

__all__ = [
    "DIFFERENT",
    "FAILED",
    "MISSING",
    "SAME",
    "Change",
    "Comparison",
    "Pair",
    "Summary",
    "compare",
    "geometric_mean",
    "ratio",
    "side_by_side",
    "table",
]

#: Exit statuses.
SAME: Final = 0
FAILED: Final = 1
DIFFERENT: Final = 2
MISSING: Final = 3

#: Number -> what a table calls it.
TITLES: Final = {
    "code_size": "code size, bytes",
    "perf_score": "PerfScore",
    "cycles": "cycles, modelled",
    "instructions": "instructions",
    "spills": "spill instructions",
    "spill_weight": "spill weight",
    "moves": "resolution moves",
    "move_weight": "move weight",
    "allocator_time": "allocator time, s",
    "compile_time": "compile time, s",
}

#: A smaller relative difference between two floats is rounding.
_EQUAL: Final = 1e-9


def ratio(base: float, diff: float) -> float:
    """``diff / base``; where one of them is 0 and has no ratio, that of both plus 1 (so 0 to 3 spills is 4, 3 to 0 is 1/4)."""
    if base == diff:
        return 1.0
    if base <= 0.0 or diff <= 0.0:
        return (diff + 1.0) / (base + 1.0)
    return diff / base


def geometric_mean(ratios: Iterable[float]) -> float:
    """``exp(mean(ln(ratio)))``; 1 for none."""
    logs = [math.log(value) for value in ratios]
    return math.exp(math.fsum(logs) / len(logs)) if logs else 1.0


def _differs(base: float, diff: float) -> bool:
    return abs(base - diff) > _EQUAL * max(abs(base), abs(diff))


@dataclass(slots=True)
class Pair:
    """A context compiled both ways; ``other`` is what the other side compiled: for another target, that one's recording."""

    context: Context
    other: Context
    base: Result
    diff: Result

    @property
    def failed(self) -> bool:
        """Compiling failed, one way or both."""
        return bool(self.base.error or self.diff.error)

    def numbers(self, name: str) -> tuple[float, float] | None:
        """Both sides of a number, or None where one is missing."""
        base, diff = self.base.numbers.get(name), self.diff.numbers.get(name)
        return None if base is None or diff is None else (base, diff)

    def times(self, name: str) -> Times:
        """What each turn took on either side."""
        return self.base.times.get(name, ()), self.diff.times.get(name, ())

    def missing(self) -> list[str]:
        """The numbers that one side alone has."""
        return [name for name in NUMBERS if (self.base.numbers.get(name) is None) != (self.diff.numbers.get(name) is None)]

    @property
    def differs(self) -> bool:
        """The code differs, or a number that does not vary from run to run."""
        return self.base.code != self.diff.code or any(_differs(*both) for name in NUMBERS if name not in NOISY and (both := self.numbers(name)) is not None)


@dataclass(slots=True)
class Summary:
    """A number over a collection.

    Attributes:
        collection: its name; "" for all of them.
        number: which.
        contexts: that both sides have it for.
        improved, regressed: how many it fell and rose for.
        base, diff: its sums.
        mean: geometric mean of the ratios over all.
        mean_changed: the same over those that changed.
        best, worst: the smallest and the largest ratio.
        zeros: ratios of a 0 and something else, taken with 1 added to both.
        noise: of a number that differs from run to run, the ratio that the median of the ratios must be beyond; ``mean`` is that median
            then, and 1 when it is not beyond it. 0 where nothing is known of the noise, and no difference counts; 1 for the other numbers.
    """

    collection: str
    number: str
    contexts: int
    improved: int
    regressed: int
    base: float
    diff: float
    mean: float
    mean_changed: float
    best: float
    worst: float
    zeros: int
    noise: float = 1.0


@dataclass(slots=True)
class Change:
    """One of the largest changes of a number; ``listing`` has both sides, once it was asked for."""

    pair: Pair
    number: str
    base: float
    diff: float
    kinds: list[str] = field(default_factory=list)
    listing: str = ""

    @property
    def ratio(self) -> float:
        """As :func:`ratio`."""
        return ratio(self.base, self.diff)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table for a terminal; the first ``left`` columns lean to the left."""
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    lines = [columns, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in lines
    )


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * left + "---:|" * (len(columns) - left)]
    return "\n".join([*head, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)])


def _amount(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.1f}"


def _percent(value: float) -> str:
    return "=" if value == 1.0 else f"{(value - 1.0) * 100:+.2f} %"


def side_by_side(base: Result, diff: Result, titles: tuple[str, str] = ("base", "diff")) -> str:
    """Two listings in two columns. Between them: ``|`` differs, ``<`` only left, ``>`` only right."""
    left = [text for _, text, _ in base.listing] or [base.error or "(no code)"]
    right = [text for _, text, _ in diff.listing] or [diff.error or "(no code)"]
    width = min(max(map(len, [*left, titles[0]])), 60)
    out = [f"{titles[0]:{width}}   {titles[1]}", f"{'-' * width}   {'-' * max(len(titles[1]), 20)}"]

    def line(a: str, mark: str, b: str) -> None:
        out.append(f"{a:{width}} {mark} {b}".rstrip())

    # Jumps to addresses that moved are the same jumps.
    for kind, a, b, c, d in SequenceMatcher(None, [_shape(x) for x in left], [_shape(x) for x in right], autojunk=False).get_opcodes():
        if kind == "equal":
            for x, y in zip(left[a:b], right[c:d], strict=True):
                line(x, " ", y)
            continue
        for k in range(max(b - a, d - c)):
            x = left[a + k] if a + k < b else ""
            y = right[c + k] if c + k < d else ""
            line(x, "|" if x and y else "<" if x else ">", y)
    return "\n".join(out)


def _shape(text: str) -> str:
    """An instruction without what depends on where it lies."""
    word, _, rest = text.partition(" ")
    if word.startswith(("j", "b")) and rest.strip():
        return word
    head, mark, tail = text.partition("[rip")
    return head + mark + tail.partition("]")[2] if mark else text


@dataclass(slots=True)
class Comparison:
    """What came out.

    Attributes:
        base, diff: the settings.
        about: version and place of the loopwright on either side.
        pairs: in the corpus's order.
        seconds: how long it took.
    """

    base: Setting
    diff: Setting
    about: tuple[dict[str, Any], dict[str, Any]]
    pairs: list[Pair]
    unpaired: list[Context] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def status(self) -> int:
        """``FAILED`` if anything failed to compile; else ``MISSING`` if one side lacks something; else ``DIFFERENT`` or ``SAME``."""
        if any(pair.failed for pair in self.pairs):
            return FAILED
        if not self.pairs or self.unpaired or any(pair.missing() for pair in self.pairs):
            return MISSING
        return DIFFERENT if any(pair.differs for pair in self.pairs) else SAME

    def missing_numbers(self) -> dict[str, int]:
        """Numbers that one side alone has, with how often."""
        found: dict[str, int] = {}
        for pair in self.pairs:
            if not pair.failed:
                for name in pair.missing():
                    found[name] = found.get(name, 0) + 1
        return found

    def collections(self) -> list[str]:
        """The collections there are."""
        return sorted({pair.context.collection for pair in self.pairs})

    def summary(self, collection: str, number: str) -> Summary | None:
        """A number over a collection ("" for all); None where nothing has it."""
        if number in NOISY:
            return self._summary_of_times(collection, number)
        improved = regressed = zeros = 0
        ratios: list[float] = []
        changed: list[float] = []
        bases: list[float] = []
        diffs: list[float] = []
        for _pair, base, diff in self._both(collection, number):
            bases.append(base)
            diffs.append(diff)
            if not _differs(base, diff):
                ratios.append(1.0)
                continue
            improved += diff < base
            regressed += diff > base
            zeros += base <= 0.0 or diff <= 0.0
            ratios.append(ratio(base, diff))
            changed.append(ratios[-1])
        if not ratios:
            return None
        return Summary(
            collection,
            number,
            len(ratios),
            improved,
            regressed,
            math.fsum(bases),
            math.fsum(diffs),
            geometric_mean(ratios),
            geometric_mean(changed),
            min(ratios),
            max(ratios),
            zeros,
        )

    def _both(self, collection: str, number: str) -> list[tuple[Pair, float, float]]:
        """The contexts of a collection that have a number on both sides, with both."""
        found: list[tuple[Pair, float, float]] = []
        for pair in self.pairs:
            if not pair.failed and (not collection or pair.context.collection == collection):
                both = pair.numbers(number)
                if both is not None:
                    found.append((pair, *both))
        return found

    def noise(self, collection: str, number: str) -> Noise | None:
        """How much a time varies over a collection; None where that was not measured."""
        times = [pair.times(number) for pair, _, _ in self._both(collection, number)]
        return measured(times) if times else None

    def _summary_of_times(self, collection: str, number: str) -> Summary | None:
        both = self._both(collection, number)
        if not both:
            return None
        noise = self.noise(collection, number)
        changed = [ratio(base, diff) for pair, base, diff in both if noise is not None and noise.differs(pair.times(number))]
        mean = noise.ratio if noise is not None and noise.shifted else 1.0
        return Summary(
            collection,
            number,
            len(both),
            sum(value < 1.0 for value in changed),
            sum(value > 1.0 for value in changed),
            math.fsum(base for _, base, _ in both),
            math.fsum(diff for _, _, diff in both),
            mean,
            geometric_mean(changed),
            min(changed, default=1.0),
            max(changed, default=1.0),
            0,
            noise.limit if noise is not None else 0.0,
        )

    def summaries(self) -> list[Summary]:
        """All numbers over each collection, and over all of them if there are several."""
        names = self.collections()
        found = [self.summary(name, number) for name in [*names, *([""] if len(names) > 1 else [])] for number in NUMBERS]
        return [summary for summary in found if summary is not None]

    def largest(self, number: str, count: int) -> list[Change]:
        """The largest improvements and regressions of a number, ``count`` by absolute and ``count`` by relative size, each pair once."""
        noise = self.noise("", number) if number in NOISY else None
        changes: list[Change] = []
        for pair, base, diff in self._both("", number):
            if noise.differs(pair.times(number)) if noise is not None else number not in NOISY and _differs(base, diff):
                changes.append(Change(pair, number, base, diff))
        keys: list[tuple[str, Callable[[Change], float]]] = [
            ("largest improvement", lambda c: c.diff - c.base),
            ("largest relative improvement", lambda c: c.ratio),
            ("largest regression", lambda c: c.base - c.diff),
            ("largest relative regression", lambda c: 1.0 / c.ratio),
        ]
        found: dict[str, Change] = {}
        for place, (title, key) in enumerate(keys):
            side = [c for c in changes if (c.diff < c.base) == (place < 2)]
            side.sort(key=lambda c: (key(c), c.pair.context.sort_key()))
            for rank, change in enumerate(side[:count], 1):
                kept = found.setdefault(change.pair.context.identity, change)
                kept.kinds.append(title if rank == 1 else f"{title}, {rank}")
        return list(found.values())

    def titles(self) -> tuple[str, str]:
        """What the sides are called."""
        names = [str(self.base), str(self.diff)]
        if self.base.python != self.diff.python:
            names = [f"{name} (loopwright {about['version']})" for name, about in zip(names, self.about, strict=True)]
        if names[0] == names[1]:
            names[1] += ", again"
        return names[0], names[1]

    # --- showing ------------------------------------------------------------------------------------------

    def _table(self) -> tuple[list[str], list[list[str]]]:
        columns = ["collection", "number", "contexts", "better", "worse", "base", "diff", "mean, all", "mean, changed", "best", "worst"]
        rows = [
            [
                s.collection or "(all)",
                TITLES[s.number] + (" *" if s.zeros else ""),
                str(s.contexts),
                str(s.improved),
                str(s.regressed),
                _amount(s.base),
                _amount(s.diff),
                _percent(s.mean),
                _percent(s.mean_changed) if s.improved + s.regressed else "=",
                _percent(s.best),
                _percent(s.worst),
            ]
            for s in self.summaries()
        ]
        return columns, rows

    def _notes(self) -> list[str]:
        notes = [f"{self.verdict()} {len(self.pairs)} context{'' if len(self.pairs) == 1 else 's'}, {self.seconds:.1f} s"]
        failed = [pair for pair in self.pairs if pair.failed]
        if failed:
            notes.append(f"{len(failed)} failed to compile:")
            for pair in failed[:10]:
                for side, result in (("base", pair.base), ("diff", pair.diff)):
                    if result.error:
                        notes.append(f"  {side}: {_called(pair.context)}: {result.error.splitlines()[0][:200]}")
        noted = [note for pair in self.pairs for note in (pair.base.note or pair.diff.note,) if note]
        if noted:
            notes.append(f"{len(noted)} without a score, e.g. {noted[0].splitlines()[0][:160]}")
        for name, count in self.missing_numbers().items():
            notes.append(f"one side alone has the {TITLES[name]} (of {count} contexts)")
        if self.unpaired:
            notes.append(f"{len(self.unpaired)} contexts have no counterpart on the other target, e.g. {_called(self.unpaired[0])}")
        summaries = self.summaries()
        if any(s.zeros for s in summaries):
            notes.append("* where one side is 0, the ratio is that of both plus 1")
        levels = [s.noise for s in summaries if s.number in NOISY]
        if levels and min(levels) == 0.0:
            notes.append("times were taken once: whether they differ cannot be told (--repeat 3 and more can)")
        elif levels:
            notes.append(
                f"times are medians of turns, as are their ratios; differences within the noise (here up to {(max(levels) - 1.0) * 100:.0f} %) are none"
            )
        return notes

    def verdict(self) -> str:
        """The status as a sentence."""
        changed = sum(pair.differs for pair in self.pairs if not pair.failed)
        return {
            SAME: "Both sides give the same code.",
            FAILED: "Something failed to compile.",
            DIFFERENT: f"{changed} of {len(self.pairs)} contexts differ.",
            MISSING: "There is data missing." if self.pairs else "There is nothing to compare.",
        }[self.status]

    def text(self, largest: Sequence[Change] = ()) -> str:
        """For a terminal."""
        titles = self.titles()
        columns, rows = self._table()
        parts = [f"base: {titles[0]}\ndiff: {titles[1]}", table(columns, rows, 2) if rows else "", *_changes(largest, titles), "\n".join(self._notes())]
        return "\n\n".join(part for part in parts if part) + "\n"

    def markdown(self, largest: Sequence[Change] = ()) -> str:
        """For a page."""
        titles = self.titles()
        columns, rows = self._table()
        parts = [
            "# Comparison",
            f"Base: {titles[0]}  \nDiff: {titles[1]}",
            _markdown(columns, rows, 2) if rows else "",
            "\n".join(f"- {note.strip()}" for note in self._notes()),
        ]
        if largest:
            parts.append("## Largest changes")
            head = ["context", "number", "base", "diff", "change", "which"]
            parts.append(
                _markdown(
                    head,
                    [[_called(c.pair.context), TITLES[c.number], _amount(c.base), _amount(c.diff), _percent(c.ratio), "; ".join(c.kinds)] for c in largest],
                )
            )
            for change in largest:
                if change.listing:
                    parts.append(f"### {_called(change.pair.context)}\n\n```\n{change.listing}\n```")
        return "\n\n".join(part for part in parts if part) + "\n"

    def json(self, largest: Sequence[Change] = ()) -> dict[str, Any]:
        """Everything, for programs."""
        titles = self.titles()
        return {
            "base": {**asdict(self.base), **self.about[0], "title": titles[0]},
            "diff": {**asdict(self.diff), **self.about[1], "title": titles[1]},
            "status": self.status,
            "verdict": self.verdict(),
            "seconds": self.seconds,
            "summaries": [asdict(summary) for summary in self.summaries()],
            "missing": self.missing_numbers(),
            "unpaired": [context.identity for context in self.unpaired],
            "contexts": [
                {
                    "id": pair.context.identity,
                    "collection": pair.context.collection,
                    "name": pair.context.name,
                    "target": pair.context.target,
                    "vector_bits": pair.context.vector_bits,
                    "differs": pair.differs,
                    "base": _result(pair.base),
                    "diff": _result(pair.diff),
                }
                for pair in self.pairs
            ],
            "largest": [
                {
                    "id": c.pair.context.identity,
                    "name": c.pair.context.name,
                    "number": c.number,
                    "base": c.base,
                    "diff": c.diff,
                    "ratio": c.ratio,
                    "which": c.kinds,
                    "listing": {"base": [t for _, t, _ in c.pair.base.listing], "diff": [t for _, t, _ in c.pair.diff.listing]},
                }
                for c in largest
            ],
        }

    def add_listings(self, largest: Sequence[Change], processes: int = 0) -> None:
        """Compile what changed most once more, for its listings."""
        changes = [change for change in largest if not change.listing]
        if not changes:
            return
        titles = self.titles()
        sides = _run(self.base, self.diff, [(c.pair.context, c.pair.other) for c in changes], processes, listing=True)[0]
        for change, (base, diff) in zip(changes, sides, strict=True):
            change.pair.base.listing, change.pair.diff.listing = base.listing, diff.listing
            change.listing = side_by_side(base, diff, titles)


def _result(result: Result) -> dict[str, Any]:
    return {"error": result.error} if result.error else {"code": result.code, **result.numbers}


def _called(context: Context) -> str:
    where = f"{context.target}/{context.vector_bits}" if context.vector_bits else context.target
    return f"{context.collection}:{context.name} ({where}, {context.identity[:10]})"


def _changes(largest: Sequence[Change], titles: tuple[str, str]) -> list[str]:
    parts: list[str] = []
    for change in largest:
        head = f"{_called(change.pair.context)}: {'; '.join(change.kinds)}"
        parts.append(f"{head}\n{TITLES[change.number]}: {_amount(change.base)} -> {_amount(change.diff)} ({_percent(change.ratio)})")
        if change.listing:
            parts.append(change.listing)
    return parts


#: What is compiled on the base's side, and what on the other.
Way = tuple[Context, Context]


def _run(
    base: Setting, diff: Setting, ways: Sequence[Way], processes: int, turns: int = 0, **options: Any
) -> tuple[list[tuple[Result, Result]], tuple[dict[str, Any], dict[str, Any]]]:
    """Compile the contexts, each side by its setting."""
    if base.python == diff.python:
        # The same processes do both, in turns, so that they are timed alike.
        jobs = [Job([a.function, b.function], [base.of(a), diff.of(b)]) for a, b in ways]
        with Replayer(base.python, processes) as replayer:
            replayer.run(jobs, turns=turns, **options)
            about = replayer.about
        return [(job.results[0], job.results[1]) for job in jobs], (about, about)
    left = [Job([a.function], [base.of(a)]) for a, _ in ways]
    right = [Job([b.function], [diff.of(b)]) for _, b in ways]
    with Replayer(base.python, processes) as first, Replayer(diff.python, processes) as second:
        first.run(left, turns=min(turns, 1), **options)
        second.run(right, turns=min(turns, 1), **options)
        for turn in range(1, turns):
            sides = [(first, left), (second, right)]
            for replayer, jobs in sides if turn % 2 == 0 else sides[::-1]:
                _take_turn(replayer, jobs)
        abouts = (first.about, second.about)
    return [(a.results[0], b.results[0]) for a, b in zip(left, right, strict=True)], abouts


def _take_turn(replayer: Replayer, jobs: list[Job]) -> None:
    """Time once more what compiled."""
    good = [job for job in jobs if not job.results[0].error]
    again = [Job(job.texts, job.settings) for job in good]
    replayer.run(again, turns=1, metrics=False)
    for job, more in zip(good, again, strict=True):
        if more.results[0].error:
            job.results = more.results
        else:
            job.results[0].add_times(more.results[0].times)


Machine = tuple[str, int, str]


def _ways(base: Setting, diff: Setting, contexts: Sequence[Context]) -> tuple[list[Way], list[Context]]:
    """What is compiled on either side, and what has nothing to be compared with.

    Code for lanes is made for a width of vectors, so where a side has another target than a context was recorded for, it takes what was
    recorded under the same name for that target. Scalar code is compiled for either, recorded or not.
    """
    machines: list[Machine] = [(side.target, side.vector_bits, side.convention) for side in (base, diff)]
    if machines[0] == machines[1]:
        return [(context, context) for context in contexts], []

    def machine(context: Context) -> Machine:
        return context.target, context.vector_bits, context.convention

    recorded: dict[tuple[str, str, Machine], list[Context]] = {}
    for context in contexts:
        recorded.setdefault((context.collection, context.name, machine(context)), []).append(context)

    def version(context: Context, wanted: Machine) -> Context | None:
        if not wanted[0] or machine(context) == wanted:
            return context
        there = recorded.get((context.collection, context.name, wanted), [])
        if len(there) == 1:
            return there[0]
        return None if _has_vectors(context.function) else context

    ways: dict[tuple[str, str], Way] = {}
    unpaired: list[Context] = []
    for context in contexts:
        if not (machines[0][0] and machines[1][0]) and machine(context) in machines:
            # It would be compared with itself.
            continue
        left, right = version(context, machines[0]), version(context, machines[1])
        if left is None or right is None:
            unpaired.append(context)
        else:
            ways.setdefault((left.identity, right.identity), (left, right))
    return list(ways.values()), unpaired


def _has_vectors(text: str) -> bool:
    from loopwright.ir.parse import parse

    return any(type_.lanes for type_ in parse(text).types)


def compare(
    contexts: Iterable[Context],
    base: Setting,
    diff: Setting,
    *,
    processes: int = 0,
    check: bool = False,
    turns: int = 3,
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Compile each context both ways.

    Args:
        contexts: of a corpus.
        base, diff: the two ways.
        processes: how many; 0 for as many as there are processors.
        check: prove each allocation.
        turns: compile so often again, in turns, for the times.
        progress: called with the number of compilations done (with two interpreters: once for either).

    Raises:
        LoopwrightError: an interpreter cannot be run or has no loopwright.
    """
    from time import perf_counter

    start = perf_counter()
    ways, unpaired = _ways(base, diff, list(contexts))
    results, about = _run(base, diff, ways, processes, turns, check=check, progress=progress)
    pairs = [Pair(a, b, left, right) for (a, b), (left, right) in zip(ways, results, strict=True)]
    return Comparison(base, diff, about, pairs, unpaired, perf_counter() - start)
