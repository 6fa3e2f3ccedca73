"""Why each value is where it is: the allocator's decisions in words, and its intervals as a picture."""

from __future__ import annotations

from html import escape
from typing import Final

from loopwright.ir.function import Function
from loopwright.regalloc.ending import Statistics
from loopwright.regalloc.heuristics import FILTERS
from loopwright.regalloc.history import Decision, History
from loopwright.regalloc.intervals import Liveness
from loopwright.regalloc.linear_scan import allocate
from loopwright.regalloc.liveness import analyse
from loopwright.targets.target import Target

__all__ = ["Explanation", "explain", "picture"]

#: letter -> name, as the filters' own first lines have them ("A FREE: …").
NAMES: Final[dict[str, str]] = {letter: (function.__doc__ or "").split(":")[0][2:] for letter, function in FILTERS.items()}


class Explanation:
    """One allocation with its history.

    Attributes:
        lowered: the function as it was before allocation.
        liveness: its live intervals.
        history: decisions, moves, spills, reloads.
        statistics: what it cost.
        target: the machine.
    """

    __slots__ = ("allocated", "history", "liveness", "lowered", "statistics", "target")

    def __init__(self, lowered: Function, allocated: Function, liveness: Liveness, history: History, statistics: Statistics, target: Target) -> None:
        self.lowered = lowered
        self.allocated = allocated
        self.liveness = liveness
        self.history = history
        self.statistics = statistics
        self.target = target

    def text(self) -> str:
        """The lowered function with, under each instruction, how its operands and result got their places."""
        return _text(self)


def explain(lowered: Function, target: Target, order: str) -> Explanation:
    """Allocate a copy of a lowered function and record why.

    Args:
        lowered: a function after the ``lower`` pass; it is not changed.
        target: what it was lowered for.
        order: a permutation of A to Q.

    Raises ``TargetError`` for a bad order.
    """
    work = lowered.clone()
    liveness, shape = analyse(work, target)
    # The allocator consumes the references as it passes them: the picture has its own.
    shown, _ = analyse(lowered.clone(), target)
    history = History()
    statistics = allocate(work, target, liveness, shape, order, history)
    return Explanation(lowered, work, shown, history, statistics, target)


def _register_list(target: Target, mask: int) -> str:
    """A set of registers, shortened when long."""
    names = [register.name for r, register in enumerate(target.registers) if mask >> r & 1]
    if len(names) > 6:
        return f"{' '.join(names[:4])} … ({len(names)})"
    return " ".join(names)


def _value(f: Function, register: int) -> str:
    if register < 0:
        return "scratch"
    name = f.names[register]
    return f"%{name}.{register}" if name else f"%{register}"


def _decision(e: Explanation, decision: Decision) -> list[str]:
    target, f = e.target, e.lowered
    kind = "result" if decision.location & 1 else "use"
    where = target.registers[decision.chosen].name if decision.chosen >= 0 else "memory"
    head = f"    {kind} {_value(f, decision.register)} -> {where}"
    if decision.reason:
        head += f": {decision.reason}"
    elif decision.steps:
        letter = decision.steps[-1][0]
        head += f": decided by {letter} {NAMES[letter]}"
    else:
        head += ": all candidates alike, the lowest"
    lines = [head]
    before = decision.candidates
    for letter, _before, after in decision.steps:
        lines.append(f"      {letter} {NAMES[letter]:<17} {_register_list(target, before)} => {_register_list(target, after)}")
        before = after
    if decision.victim >= 0 and decision.chosen >= 0:
        lines.append(f"      spills {_value(f, decision.victim)}, which costs {decision.cost:g}; staying in memory would have cost {decision.own_cost:g}")
    return lines


def _text(e: Explanation) -> str:
    from loopwright.ir.text import instruction_text

    f = e.lowered
    by_instruction: dict[int, list[str]] = {}
    for decision in e.history.decisions:
        by_instruction.setdefault(decision.location // 2, []).extend(_decision(e, decision))
    for location, register in e.history.spills:
        by_instruction.setdefault(location // 2, []).append(f"    {_value(f, register)} goes to memory")
    for location, register in e.history.reloads:
        by_instruction.setdefault(location // 2, []).append(f"    {_value(f, register)} is loaded")
    lines: list[str] = []
    depth = 0
    for k, instr in enumerate(f.code):
        if instr.op.closes:
            depth -= 1
        lines.append(f"{2 * k:5}  " + "  " * depth + instruction_text(f, instr, e.target))
        if instr.op.opens:
            depth += 1
        lines.extend("     " + line for line in by_instruction.get(k, []))
    s = e.statistics
    lines.append("")
    lines.append(f"{s.spilled} values spilled, {s.stores} stores, {s.reloads} reloads, {s.moves} resolution moves; weighted cost {s.spill_weight:g}")
    return "\n".join(lines)


# --- the picture ---------------------------------------------------------------------------------------------

_ROW: Final = 18
_LEFT: Final = 70
_TOP: Final = 24
_COLOURS: Final = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2", "#edc948", "#9c755f", "#ff9da7", "#86bc86", "#8cd17d", "#499894", "#d37295")


def picture(e: Explanation) -> str:
    """An HTML page with one SVG: registers down, positions across, a bar for each stay of a value in a register.

    Loops are shaded, the darker the deeper; values in memory have rows of their own below; red marks are spills,
    green marks loads.
    """
    f = e.lowered
    last = 2 * len(f.code) + 1
    step = max(4.0, min(14.0, 1400 / max(last, 1)))
    stays = _stays(e, last)
    used = sorted({r for _v, r, _a, _b in stays})
    row_of = {r: n for n, r in enumerate(used)}
    in_memory = sorted({v for _at, v in e.history.spills})
    memory_row = {v: len(used) + 1 + n for n, v in enumerate(in_memory)}
    width = _LEFT + step * (last + 2) + 20
    height = _TOP + _ROW * (len(used) + 2 + len(in_memory)) + 20
    parts: list[str] = []

    def x(location: float) -> float:
        return _LEFT + step * (location + 1)

    for info in sorted(e.liveness.loops.values(), key=lambda loop: loop.depth):
        parts.append(
            f'<rect x="{x(2 * info.head):.1f}" y="{_TOP}" width="{step * (2 * (info.end - info.head) + 1):.1f}" height="{height - _TOP - 10:.0f}" '
            f'fill="#000" fill-opacity="{0.05 * info.depth:.2f}"><title>loop, depth {info.depth}, pressure {info.pressure}</title></rect>'
        )
    for r, n in row_of.items():
        y = _TOP + _ROW * n
        parts.append(f'<text x="4" y="{y + 13}">{escape(e.target.registers[r].name)}</text>')
        parts.append(f'<line x1="{_LEFT}" y1="{y + _ROW}" x2="{width - 10:.0f}" y2="{y + _ROW}" stroke="#ddd"/>')
    for v, r, start, end in stays:
        y = _TOP + _ROW * row_of[r] + 2
        parts.append(
            _bar(
                f,
                v,
                x(start),
                y,
                max(step * (end - start), 3.0),
                _COLOURS[v % len(_COLOURS)],
                f"{_value(f, v)} in {e.target.registers[r].name}, {start} to {end}",
            )
        )
    for v, n in memory_row.items():
        interval = e.liveness.intervals[v]
        y = _TOP + _ROW * n + 2
        parts.append(f'<text x="4" y="{y + 11}" fill="#a00">{escape(_value(f, v))}</text>')
        if interval is not None:
            for start, end in zip(interval.starts, interval.ends, strict=True):
                parts.append(
                    f'<rect x="{x(start):.1f}" y="{y + 4}" width="{step * (end - start):.1f}" height="6" fill="#caa" ><title>{escape(_value(f, v))} live {start} to {end}</title></rect>'
                )
    for marks, colour, word in ((e.history.spills, "#d00", "to memory"), (e.history.reloads, "#0a0", "loaded")):
        for location, v in marks:
            y = _TOP + _ROW * memory_row.get(v, len(used)) + 2
            parts.append(
                f'<circle cx="{x(location):.1f}" cy="{y + 7}" r="4" fill="{colour}"><title>{escape(_value(f, v))} {word} at {location}</title></circle>'
            )
    s = e.statistics
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Registers of {escape(f.name)}</title>'
        "<style>body{font:14px sans-serif;margin:1em}svg{font:11px monospace}</style>"
        f"<h1>{escape(f.name)} on {escape(e.target.name)}</h1><p>{s.spilled} values spilled, {s.stores} stores, {s.reloads} loads, {s.moves} resolution moves; "
        f"weighted cost {s.spill_weight:g}. Shaded: loops. Below the registers: the lives of spilled values.</p>"
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}">{"".join(parts)}</svg></html>\n'
    )


def _bar(f: Function, v: int, x: float, y: float, width: float, colour: str, title: str) -> str:
    name = f.names[v] or str(v)
    label = f'<text x="{x + 2:.1f}" y="{y + 11:.0f}" fill="#fff">{escape(name)}</text>' if width > 7 * len(name) + 4 else ""
    return f'<g><rect x="{x:.1f}" y="{y:.0f}" width="{width:.1f}" height="14" rx="2" fill="{colour}"/>{label}<title>{escape(title)}</title></g>'


def _stays(e: Explanation, last: int) -> list[tuple[int, int, int, int]]:
    """(value, register, from, to) of every stay, clipped to where the value is live."""
    open_: dict[int, tuple[int, int]] = {}
    stays: list[tuple[int, int, int, int]] = []

    def close(v: int, at: int) -> None:
        held = open_.pop(v, None)
        if held is not None and at > held[1]:
            stays.append((v, held[0], held[1], at))

    for location, v, r in e.history.moves:
        if v < 0:
            continue
        close(v, location)
        if r >= 0:
            open_[v] = (r, location)
    for v in list(open_):
        interval = e.liveness.intervals[v]
        close(v, min(interval.last, last) if interval is not None else last)
    return stays
