"""What a benchmark found: printed as tables, saved as JSON, and judged against its targets."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import machine

#: Where results go unless told otherwise; git ignores it.
OUTPUT = Path("bench-output")


@dataclass(slots=True)
class Table:
    """Rows of text under column names; ``detail``: too much for docs/figures.md."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    detail: bool = False

    def text(self) -> str:
        """For a terminal: the first column to the left, the others to the right."""
        widths = [max(len(row[i]) for row in [self.columns, *self.rows]) for i in range(len(self.columns))]

        def line(row: Sequence[str]) -> str:
            return "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()

        return "\n".join([self.title, line(self.columns), "  ".join("-" * width for width in widths), *map(line, self.rows)])

    def markdown(self) -> str:
        """For a page of the documentation."""
        head = ["| " + " | ".join(self.columns) + " |", "|---|" + "---:|" * (len(self.columns) - 1)]
        return "\n".join([f"**{self.title}**", "", *head, *("| " + " | ".join(row) + " |" for row in self.rows)])


@dataclass(slots=True)
class Verdict:
    """One figure against its target. ``measured`` None: could not be measured here, and ``why`` says so.

    ``pure``: the figure of the pure-Python build, where it differs and the one ``measured`` is another; ``both``: the target is for it too.
    """

    figure: str
    measured: float | None
    target: float | None
    unit: str = "x"
    goal: bool = False
    why: str = ""
    pure: float | None = None
    both: bool = False

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached; None without a measurement or a target."""
        if self.measured is None or self.target is None:
            return None
        return self.measured <= self.target and (not self.both or self.pure is None or self.pure <= self.target)


@dataclass(slots=True)
class Result:
    """All that one benchmark found."""

    name: str
    tables: list[Table] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Figures, targets and whether they were reached."""
    two = any(v.pure is not None for v in verdicts)
    table = Table("Targets", ["figure", "measured", *(["pure Python"] if two else []), "target", "reached"])
    for v in verdicts:
        measured = "not measured" if v.measured is None else f"{v.measured:.3g} {v.unit}"
        pure = ["" if v.pure is None else f"{v.pure:.3g} {v.unit}"] if two else []
        target = "(reported)" if v.target is None else f"<= {v.target:g} {v.unit}" + (" (goal)" if v.goal else "")
        reached = {True: "yes", False: "NO", None: v.why or "-"}[v.reached]
        table.rows.append([v.figure, measured, *pure, target, reached])
    return table


def show(result: Result) -> None:
    """Print a result."""
    for table in result.tables:
        print(table.text(), end="\n\n")
    for note in result.notes:
        print(f"note: {note}")
    if result.verdicts:
        print("\n" * bool(result.notes) + verdict_table(result.verdicts).text(), end="\n\n")
    sys.stdout.flush()


def save(result: Result, folder: Path, quick: bool) -> Path:
    """Write a result as JSON; gives the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.name}.json"
    content = {"machine": machine.describe(), "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "quick": quick, **asdict(result)}
    for verdict, row in zip(result.verdicts, content["verdicts"], strict=True):
        row["reached"] = verdict.reached
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


def _machine() -> str:
    about = machine.describe()
    return "Measured on " + ", ".join(f"{key} {value}" for key, value in about.items() if not isinstance(value, dict)) + "."


def targets_markdown(results: Sequence[Result]) -> str:
    """The table of targets, for the README."""
    return f"{_machine()}\n\n{verdict_table([v for result in results for v in result.verdicts]).markdown()}\n"


def tables_markdown(results: Sequence[Result]) -> str:
    """All other tables, for docs/figures.md."""
    tables = [table.markdown() for result in results for table in result.tables if not table.detail]
    return "\n\n".join([_machine(), *tables]) + "\n"


def options(description: str) -> argparse.ArgumentParser:
    """The options every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="few repetitions: to see that it runs, not to quote")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 when a target is missed or a figure could not be measured")
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="DIR", help=f"where the JSON goes (default: ./{OUTPUT})")
    return parser


def failed(results: Sequence[Result]) -> bool:
    """Whether a target (not a goal) was missed, or could not be measured."""
    return any(v.target is not None and not v.goal and v.reached is not True for result in results for v in result.verdicts)


def main(run: Callable[[bool], Result], description: str) -> int:
    """The command of one benchmark."""
    arguments = options(description).parse_args()
    result = run(arguments.quick)
    show(result)
    print(f"saved as {save(result, arguments.output, arguments.quick)}")
    return int(arguments.strict and failed([result]))
