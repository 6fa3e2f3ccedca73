"""What a tuning found, for people: tables in Markdown, plots in SVG. Changes are told of functions that nothing was tuned on."""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from loopwright.regalloc.heuristics import DEFAULT_ORDER, canonical
from loopwright.search.genetic import Result, Settings
from loopwright.search.orders import FEATURES, HELD_OUT, PUBLISHED, Leaf, Rule, rule_source

__all__ = ["Change", "Configured", "Cross", "RuleTrial", "Tuning", "change_of", "percent", "write_report"]

RESAMPLES: Final = 10_000
#: A relative change of a function's score beyond this is more than may be done to any.
WORST: Final = 0.02


def percent(change: float, digits: int = 2) -> str:
    """A relative change as text."""
    return f"{100 * change:+.{digits}f} %"


@dataclass(frozen=True, slots=True)
class Change:
    """How scores changed against the default order, over some functions.

    Attributes:
        functions, better, worse: how many, and for how many of them the score fell and rose.
        mean: geometric mean of the change, relative (-0.01 is one percent better).
        low, high: its 95 % interval, from resampling the functions.
        worst, worst_name: the greatest change to the worse, and whose.
        best, best_name: and to the better.
        beyond: functions that got worse by more than two percent.
    """

    functions: int
    better: int
    worse: int
    mean: float
    low: float
    high: float
    worst: float
    worst_name: str
    best: float
    best_name: str
    beyond: int

    def interval(self) -> str:
        return f"{percent(self.mean)} [{percent(self.low)}, {percent(self.high)}]"


def logs_of(scores: Sequence[float], base: Sequence[float]) -> list[float]:
    """The logarithm of each ratio; a function that could not be compiled counts as ten times worse."""
    return [math.log(score / before) if math.isfinite(score) else math.log(10.0) for score, before in zip(scores, base, strict=True)]


def interval_of(logs: Sequence[float], resamples: int = RESAMPLES, seed: int = 0) -> tuple[float, float, float]:
    """(mean, lower, upper end of the 95 % interval) of the geometric mean change, by the percentile bootstrap over functions."""
    import numpy as np

    if not logs:
        return 0.0, 0.0, 0.0
    values = np.asarray(logs, dtype=np.float64)
    source = np.random.default_rng(seed)
    means = np.empty(resamples)
    step = max(1, 4_000_000 // len(values))
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        means[start : start + count] = values[source.integers(0, len(values), (count, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return math.expm1(float(values.mean())), math.expm1(float(low)), math.expm1(float(high))


def change_of(scores: Sequence[float], base: Sequence[float], names: Sequence[str]) -> Change:
    """The change over functions, with its interval."""
    logs = logs_of(scores, base)
    mean, low, high = interval_of(logs)
    if not logs:
        return Change(0, 0, 0, mean, low, high, 0.0, "", 0.0, "", 0)
    worst = max(range(len(logs)), key=lambda n: (logs[n], names[n]))
    best = min(range(len(logs)), key=lambda n: (logs[n], names[n]))
    return Change(
        len(logs),
        sum(log < -1e-12 for log in logs),
        sum(log > 1e-12 for log in logs),
        mean,
        low,
        high,
        math.expm1(logs[worst]),
        names[worst],
        math.expm1(logs[best]),
        names[best],
        sum(log > math.log1p(WORST) for log in logs),
    )


#: A gain that would be worth another default, as a relative change.
WORTH: Final = -0.01
#: Orders that have a better known spelling than the canonical one.
_SPELLED: Final = {canonical(order): order for order in (*PUBLISHED.values(), DEFAULT_ORDER)}


def shown(order: str) -> str:
    """An order as a report has it: published ones and the default in their usual letters."""
    return f"`{_SPELLED.get(order, order)}`"


def verdict(change: Change) -> str:
    """What a change on the held-out functions means."""
    if change.better == change.worse == 0:
        return "changes nothing"
    if change.low > 0:
        return "worse"
    if change.high >= 0:
        return "may be chance"
    if change.mean > WORTH:
        return "better, by less than 1 %"
    return "better" if not change.beyond else f"better, but {change.beyond} worse by > 2 %"


def worth_it(change: Change) -> bool:
    """Whether an order should become the default for it: 1 % better at least, surely better, and no function much worse."""
    return change.mean <= WORTH and change.high < 0 and change.beyond == 0


@dataclass(slots=True)
class Configured:
    """A configuration (a collection for a target), and what the searches found for it.

    Attributes:
        name: e.g. ``kernels, x86-64-v4/512``.
        results: by method.
        train: per method, the change on the training part; ``held`` on the held-out part.
        logs: per method, the logarithms of the ratios on the held-out part.
        best: the order that did best in training, of whichever method.
    """

    name: str
    results: dict[str, Result] = field(default_factory=dict)
    train: dict[str, Change] = field(default_factory=dict)
    held: dict[str, Change] = field(default_factory=dict)
    logs: dict[str, list[float]] = field(default_factory=dict)
    best: str = canonical(DEFAULT_ORDER)
    method: str = ""
    rate: float = 0.0


@dataclass(slots=True)
class Cross:
    """Orders against configurations: geometric mean change and its interval, on the held-out functions.

    ``rows``: (what the order is, the order); ``cells[row][column]``; ``sums[row][column]``: sum of the relative changes.
    """

    columns: list[str]
    rows: list[tuple[str, str]]
    cells: list[list[Change]]
    sums: list[list[float]]

    def ranked(self, column: int) -> list[list[int]]:
        """Rows, best first, in groups of those that are alike there; in each the default first, if it is one of them, then the configuration's own."""
        usual = canonical(DEFAULT_ORDER)

        def key(row: int) -> tuple[float, bool, bool, bool, int]:
            # What differs by less is rounding.
            name, order = self.rows[row]
            return round(self.cells[row][column].mean, 9), order != usual, name in self.columns and order == usual, name != self.columns[column], row

        groups: list[list[int]] = []
        for row in sorted(range(len(self.rows)), key=key):
            if groups and key(groups[-1][0])[0] == key(row)[0]:
                groups[-1].append(row)
            else:
                groups.append([row])
        return groups


@dataclass(slots=True)
class RuleTrial:
    """A rule on the held-out functions: it, the best single order of its orders, and it against that one."""

    rule: Rule
    train: Change
    held: Change
    single: str
    single_held: Change
    against_single: Change

    @property
    def wins(self) -> bool:
        """It is better than the default order and than one order for all, both beyond doubt, and spoils no function."""
        return self.held.high < 0 and self.against_single.high < 0 and self.held.beyond == 0


@dataclass(slots=True)
class Tuning:
    """Everything a report tells."""

    settings: Settings
    model: str
    configured: list[Configured] = field(default_factory=list)
    cross: Cross | None = None
    rule: RuleTrial | None = None
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


# --- plots ------------------------------------------------------------------------------------------------------


def _figure(path: Path, draw: Callable[[Any], None], size: tuple[float, float] = (7.0, 3.6)) -> None:
    matplotlib: Any = importlib.import_module("matplotlib")
    # No screen, and the same bytes for the same data.
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "loopwright"
    pyplot: Any = importlib.import_module("matplotlib.pyplot")

    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    draw(axes)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)


def _history(axes: Any, one: Configured) -> None:
    for method, result in one.results.items():
        scored = [point.scored for point in result.history]
        line = axes.step(scored, [point.best for point in result.history], where="post", label=f"{method}: best")[0]
        if method == "genetic":
            axes.plot(scored, [point.mean for point in result.history], color=line.get_color(), alpha=0.4, linewidth=1, label="genetic: mean of the population")
    axes.axhline(0.0, color="grey", linewidth=0.8)
    best = min(point.best for result in one.results.values() for point in result.history)
    # The first random populations are far off the top.
    axes.set_ylim(best - 0.08 * (abs(best) + 0.05), 1.5 * (abs(best) + 0.05))
    axes.set_xlabel("orders scored")
    axes.set_ylabel("sum of relative changes (training)")
    axes.set_title(one.name)
    axes.legend(fontsize=8, frameon=False)


def _changes(axes: Any, one: Configured) -> None:
    for method, logs in one.logs.items():
        axes.plot([100 * math.expm1(log) for log in sorted(logs)], marker=".", markersize=3, linewidth=1, label=method)
    axes.axhline(0.0, color="grey", linewidth=0.8)
    axes.axhline(100 * WORST, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xlabel("held-out functions, best change first")
    axes.set_ylabel("change of the score, %")
    axes.set_title(one.name)
    axes.legend(fontsize=8, frameon=False)


def _heat(axes: Any, cross: Cross) -> None:
    values = [[100 * cell.mean for cell in row] for row in cross.cells]
    extent = max(0.1, max(abs(value) for row in values for value in row))
    limit = min(extent, 5.0)
    # Blue and red: told apart by the colour-blind too.
    image = axes.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_xticks(range(len(cross.columns)), cross.columns, rotation=30, ha="right", fontsize=7)
    axes.set_yticks(range(len(cross.rows)), [name for name, _ in cross.rows], fontsize=7)
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            axes.text(x, y, f"{value:+.2f}", ha="center", va="center", fontsize=6, color="white" if abs(value) > 0.6 * limit else "black")
    axes.set_xlabel("scored on the held-out functions of")
    axes.set_ylabel("best order of")
    axes.figure.colorbar(image, ax=axes, label="geometric mean change, % (less is better)", extend="both" if extent > limit else "neither")


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower()).strip("-").replace("--", "-")


# --- the report -------------------------------------------------------------------------------------------------


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows), ""]


def _configured(one: Configured, pictures: list[str]) -> list[str]:
    lines = [f"## {one.name}", ""]
    any_held = next(iter(one.held.values()))
    any_train = next(iter(one.train.values()))
    lines += [
        f"{any_train.functions} functions to train on, {any_held.functions} held out; {one.rate:,.0f} (order, function) pairs a second while searching.",
        "",
    ]
    rows = []
    for method, result in one.results.items():
        train, held = one.train[method], one.held[method]
        rows.append(
            [
                method,
                shown(result.best),
                str(len(result.known)),
                f"{result.fitness:+.3f}",
                percent(train.mean),
                held.interval(),
                f"{held.better} / {held.worse}",
                f"{percent(held.worst)} {held.worst_name}" if held.worst > 0 else "none",
                str(held.beyond),
            ]
        )
    head = [
        "search",
        "best order",
        "orders scored",
        "fitness (training)",
        "mean change, training",
        "mean change, held out [95 %]",
        "better / worse",
        "worst change",
        "worse by > 2 %",
    ]
    lines += _table(head, rows)
    lines += [f"- {method}: {result.finished}; {result.seconds:.0f} s" for method, result in one.results.items()]
    lines += ["", *pictures, ""]
    return lines


def _cross(cross: Cross) -> list[str]:
    lines = [
        "## Every order on every configuration",
        "",
        "Geometric mean change on the held-out functions against the default order; in brackets the sum of the relative changes.",
        "",
    ]
    rows = [
        [name, shown(order), *(f"{percent(cell.mean)} ({total:+.2f})" for cell, total in zip(cells, sums, strict=True))]
        for (name, order), cells, sums in zip(cross.rows, cross.cells, cross.sums, strict=True)
    ]
    lines += _table(["order of", "order", *cross.columns], rows)
    rows = []
    for n, column in enumerate(cross.columns):
        rows.append([column, *(_place(cross, n, group) for group in cross.ranked(n)[:2])])
        rows[-1] += ["none: all orders are alike"] * (3 - len(rows[-1]))
    lines += _table(["configuration", "first", "second"], rows)
    return lines


def _place(cross: Cross, column: int, group: Sequence[int]) -> str:
    """The orders of a place, and how far they are from the default order."""
    names = list(dict.fromkeys(cross.rows[row][0] for row in group))
    text = "; ".join(names[:2]) + (f"; and {len(names) - 2} more alike" if len(names) > 2 else "")
    return f"{text}: {cross.cells[group[0]][column].interval()}"


def _rule(trial: RuleTrial) -> list[str]:
    lines = ["## An order for each function", ""]
    if isinstance(trial.rule.tree, Leaf):
        lines += ["No split of the training functions was worth its branch: the rule is one order for all.", ""]
    lines += _table(
        ["", "mean change, held out [95 %]", "better / worse", "worst change", "worse by > 2 %"],
        [
            ["the rule", trial.held.interval(), f"{trial.held.better} / {trial.held.worse}", percent(trial.held.worst), str(trial.held.beyond)],
            [
                f"one order for all, {shown(trial.single)}",
                trial.single_held.interval(),
                f"{trial.single_held.better} / {trial.single_held.worse}",
                percent(trial.single_held.worst),
                str(trial.single_held.beyond),
            ],
            [
                "the rule against that one",
                trial.against_single.interval(),
                f"{trial.against_single.better} / {trial.against_single.worse}",
                percent(trial.against_single.worst),
                str(trial.against_single.beyond),
            ],
        ],
    )
    lines += [f"On the training part the rule gained {percent(trial.train.mean)}.", ""]
    if trial.wins:
        lines += [
            "**It wins where it was not trained:** better than the default order and than one order for all, both with their intervals, and no function worse by more than 2 %.",
            "",
        ]
    else:
        why = []
        if trial.held.high >= 0:
            why.append("its gain over the default order may be chance")
        if trial.against_single.high >= 0:
            why.append("it is not surely better than one order for all")
        if trial.held.beyond:
            why.append(f"it makes {trial.held.beyond} function{'' if trial.held.beyond == 1 else 's'} worse by more than 2 %")
        lines += [f"**It does not win where it was not trained** ({'; '.join(why)}), so the default order stays.", ""]
    lines += [
        "What it sees of a function: " + "; ".join(f"`{name}`, {what}" for name, what in FEATURES.items()) + ".",
        "",
        "```python",
        rule_source(trial.rule).rstrip(),
        "```",
        "",
    ]
    return lines


def _as_json(tuning: Tuning) -> dict[str, Any]:
    from dataclasses import asdict

    made: dict[str, Any] = asdict(tuning)
    for one in made["configured"]:
        for result in one["results"].values():
            result["known"] = len(result["known"])
    return made


def write_report(tuning: Tuning, folder: Path) -> Path:
    """Write ``report.md``, its plots and ``report.json`` into a folder; the path of the first."""
    plots = importlib.util.find_spec("matplotlib") is not None
    if not plots:
        tuning.notes.append("No plots: matplotlib is not installed (`pip install 'loopwright[tuning]'`).")
    from loopwright import __version__

    s = tuning.settings
    lines = ["# Tuning the order of the register filters", ""]
    lines += [
        f"Made by loopwright {__version__}. Fitness is the sum over functions of the relative change of `{tuning.model}` against the default order `{DEFAULT_ORDER}`; less is better.",
        f"Functions are split by a hash of their collection and name: one in {HELD_OUT} is held out and no search sees it. Intervals are 95 %, from {RESAMPLES:,} resamples of the held-out functions.",
        f"Every search had a budget of {s.budget} different (canonical) orders, seed {s.seed}; the genetic one a population of {s.population}, {s.children} children a generation, tournaments of {s.tournament}.",
        "",
    ]
    lines += [f"- {note}" for note in tuning.notes] + ([""] if tuning.notes else [])
    lines += ["## In short", ""]
    rows = []
    for one in tuning.configured:
        held = one.held[one.method]
        worst = f"{percent(held.worst)} {held.worst_name}" if held.worst > 0 else "none"
        rows.append([one.name, shown(one.best), one.method, percent(one.train[one.method].mean), held.interval(), worst, str(held.beyond), verdict(held)])
    head = [
        "configuration",
        "best order in training",
        "found by",
        "mean change, training",
        "held out [95 %]",
        "worst function held out",
        "worse by > 2 %",
        "so it is",
    ]
    lines += _table(head, rows)
    worthy = [one.name for one in tuning.configured if worth_it(one.held[one.method])]
    lines += [
        "An order should become the default of a configuration where, on the held-out functions, it is at least 1 % better, its whole interval is below 0,",
        f"and no function is worse by more than 2 %. That is so for {', '.join(worthy) if worthy else 'none of them, so the default order stays'}.",
        "",
        "Each interval misses the true mean once in twenty times, so of many configurations one may look better by chance. What is compared is a model of the code, not time measured.",
        "",
    ]
    for one in tuning.configured:
        pictures = []
        if plots:
            slug = _slug(one.name)
            _figure(folder / f"history-{slug}.svg", lambda axes, one=one: _history(axes, one))  # type: ignore[misc]
            _figure(folder / f"changes-{slug}.svg", lambda axes, one=one: _changes(axes, one))  # type: ignore[misc]
            pictures = [f"![best fitness by orders scored](history-{slug}.svg)", f"![change of each held-out function](changes-{slug}.svg)"]
        lines += _configured(one, pictures)
    if tuning.cross is not None:
        lines += _cross(tuning.cross)
        if plots:
            cross = tuning.cross
            _figure(folder / "cross.svg", lambda axes: _heat(axes, cross), (1.5 + 1.1 * len(cross.columns), 1.5 + 0.3 * len(cross.rows)))
            lines += ["![the same as a picture](cross.svg)", ""]
    if tuning.rule is not None:
        lines += _rule(tuning.rule)
    lines += ["## Published orders", "", *_table(["found for", "order"], [[name, f"`{order}`"] for name, order in PUBLISHED.items()])]
    if tuning.failures:
        lines += ["## Failures", "", "Functions that did not compile or could not be scored. Each is a bug; the tuning left them out or shunned the order.", ""]
        lines += [f"- {text}" for text in tuning.failures[:20]]
        lines += [f"- … and {len(tuning.failures) - 20} more"] if len(tuning.failures) > 20 else []
    path = folder / "report.md"
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    (folder / "report.json").write_text(json.dumps(_as_json(tuning), indent=1) + "\n", encoding="utf-8")
    return path
