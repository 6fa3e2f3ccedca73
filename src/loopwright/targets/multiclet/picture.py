"""A paragraph as a picture: cells down, cycles across, a bar for each phase of each command, an arrow for each result read through the switch."""

from __future__ import annotations

from html import escape
from typing import Final

from loopwright.errors import SimulationError
from loopwright.targets.multiclet.cycles import Schedule
from loopwright.targets.multiclet.shape import Phase
from loopwright.targets.multiclet.simulator import Simulator

__all__ = ["drawn", "picture"]

_STEP: Final = 22
_ROW: Final = 20
_LEFT: Final = 60
_TOP: Final = 58
_FILLS: Final[dict[str, str]] = {"integer": "#8ab6e0", "memory": "#8fca86", "float": "#f5b877"}


def picture(simulator: Simulator, label: str) -> str:
    """An SVG of the schedule that a paragraph was run by most often.

    Args:
        simulator: one that has run with timing.
        label: the paragraph.

    Raises:
        SimulationError: it was not run, or without timing.
    """
    if simulator.timing is None:
        raise SimulationError("a picture needs cycles: make the Simulator with timing=True")
    numbers = [number for number, each in enumerate(simulator.program.paragraphs) if each.paragraph.label == label]
    found = [schedule for schedule in simulator.timing.schedules if schedule.case.number in numbers]
    if not found:
        raise SimulationError(f"the paragraph {label} was not run" if numbers else f"the program has no paragraph {label}")
    best = max(found, key=lambda schedule: schedule.times)
    return drawn(best, f"{label} on {simulator.program.processor.name}: {best.cycles} cycles to the next paragraph, run so {best.times} times")


def drawn(schedule: Schedule, title: str) -> str:
    """An SVG of a schedule. What starts late has a thin line from the cycle it could have started in. The dashed lines are the fetch's end and the next
    paragraph's first fetch."""
    cells = schedule.shape.processor.all_cells
    places, heights = _places(schedule, cells)
    tops = [_TOP + _ROW * sum(heights[:cell]) for cell in range(cells + 1)]
    last = max(schedule.end, schedule.cycles) + 1
    width, height = _LEFT + _STEP * last + 80, tops[cells] + 34
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
        '<defs><marker id="tip" markerWidth="6" markerHeight="6" refX="5" refY="3" orient="auto"><path d="M0,0 L6,3 L0,6 z" fill="#555"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="18" font-size="13">{escape(title)}</text>',
    ]
    lines += _axes(cells, tops, last)
    for cycle, word in ((schedule.delay + schedule.fetched, "fetched"), (schedule.cycles, "next paragraph")):
        x = _LEFT + _STEP * cycle
        lines.append(f'<line x1="{x}" y1="{_TOP - 14}" x2="{x}" y2="{tops[cells]}" stroke="#c00" stroke-dasharray="4 3"/>')
        lines.append(f'<text x="{x + 3}" y="{tops[cells] + (14 if word == "fetched" else 28)}" fill="#c00">{word}</text>')
    for at in range(len(schedule.begin)):
        lines += _command(schedule, at, tops[at % cells] + _ROW * places[at])
    lines += _arrows(schedule, [tops[at % cells] + _ROW * places[at] for at in range(len(places))])
    lines += _key()
    return "\n".join([*lines, "</svg>"]) + "\n"


def _places(schedule: Schedule, cells: int) -> tuple[list[int], list[int]]:
    """The row of each command inside its cell, and how many rows each cell has: bars of one row do not meet."""
    free: list[list[int]] = [[] for _ in range(cells)]
    places: list[int] = []
    for at, starts in enumerate(schedule.begin):
        rows = free[at % cells]
        from_, until = min(starts[0], schedule.earliest[at]), max(schedule.ready[at], starts[-1] + 1)
        row = next((number for number, end in enumerate(rows) if end <= from_), len(rows))
        if row == len(rows):
            rows.append(0)
        rows[row] = until
        places.append(row)
    return places, [max(1, len(rows)) for rows in free]


def _axes(cells: int, tops: list[int], last: int) -> list[str]:
    lines = [f'<text x="8" y="{tops[cell] + 14}">cell {cell}</text>' for cell in range(cells)]
    lines += [f'<line x1="0" y1="{top}" x2="{_LEFT + _STEP * last}" y2="{top}" stroke="#aaa"/>' for top in tops]
    for cycle in range(last + 1):
        x = _LEFT + _STEP * cycle
        lines.append(f'<line x1="{x}" y1="{_TOP}" x2="{x}" y2="{tops[cells]}" stroke="#eee"/>')
        if cycle % 5 == 0:
            lines.append(f'<text x="{x + 2}" y="{_TOP - 4}" fill="#555">{cycle}</text>')
    return lines


def _command(schedule: Schedule, at: int, y: int) -> list[str]:
    """The bars of a command."""
    command = schedule.shape.commands[at]
    starts = schedule.begin[at]
    ends = [*starts[1:], schedule.ready[at]]
    told = escape(f"{at}: {command}\ncould start in {schedule.earliest[at]}, starts in {starts[0]}, done in {schedule.ready[at]}")
    lines = [f"<g><title>{told}</title>"]
    if starts[0] > schedule.earliest[at]:
        x = _LEFT + _STEP * schedule.earliest[at]
        lines.append(f'<line x1="{x}" y1="{y + _ROW // 2}" x2="{_LEFT + _STEP * starts[0]}" y2="{y + _ROW // 2}" stroke="#999"/>')
    phases: list[Phase] = schedule.shape.phases[at]
    for number, (start, end, phase) in enumerate(zip(starts, ends, phases, strict=True)):
        x, wide = _LEFT + _STEP * start, max(_STEP * (end - start) - 1, 4)
        lines.append(f'<rect x="{x}" y="{y + 2}" width="{wide}" height="{_ROW - 4}" rx="3" fill="{_FILLS[phase.unit]}" stroke="#555" stroke-width=".5"/>')
        word = command.mnemonic if number == len(phases) - 1 else "[ ]"
        lines.append(f'<text x="{x + 3}" y="{y + 14}">{escape(word[: max(wide // 6, 1)])}</text>')
    return [*lines, "</g>"]


def _arrows(schedule: Schedule, rows: list[int]) -> list[str]:
    lines: list[str] = []
    for at, phases in enumerate(schedule.shape.phases):
        for number, phase in enumerate(phases):
            for made in phase.needs:
                x1, x2 = _LEFT + _STEP * schedule.ready[made] - 1, _LEFT + _STEP * schedule.begin[at][number]
                y1, y2 = rows[made] + _ROW // 2, rows[at] + _ROW // 2
                curve = f"M{x1},{y1} C{x1 + 12},{y1} {x2 - 12},{y2} {x2},{y2}"
                lines.append(f'<path d="{curve}" fill="none" stroke="#555" stroke-width=".8" opacity=".6" marker-end="url(#tip)"/>')
    return lines


def _key() -> list[str]:
    lines: list[str] = []
    for number, (unit, fill) in enumerate(_FILLS.items()):
        x = 8 + 90 * number
        lines.append(f'<rect x="{x}" y="26" width="12" height="12" fill="{fill}" stroke="#555" stroke-width=".5"/><text x="{x + 16}" y="36">{unit}</text>')
    return lines
