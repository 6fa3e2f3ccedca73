"""A report on loop nests as an HTML page with pictures, self-contained: iterations and what depends on what, the bounds, the units, the candidates."""

from __future__ import annotations

from contextlib import suppress
from html import escape
from typing import Any, Final

from loopwright.errors import ScheduleError
from loopwright.ir.schedule import parse_steps
from loopwright.nests.analysis.graph import Graph, jammed
from loopwright.nests.analysis.scalars import PRIVATE
from loopwright.nests.reporting.nest_report import DependenceReport, LoopReport, NestReport

__all__ = ["page", "picture"]

#: Distance between two iterations in the picture; iterations of the outer and of the inner loop that are drawn.
_STEP: Final = 44
_ROWS: Final = 6
_COLUMNS: Final = 9
_MARGIN: Final = 56
#: Lanes that are drawn of a vector.
_LANES: Final = 4
#: Cycles of units that are drawn at most.
_CYCLES: Final = 64
_ARROW: Final = "#2a6db0"
_REFUSED: Final = "#c00"
_COLOURS: Final = ("#8ab6e0", "#f5b877", "#8fca86", "#cfa8cc", "#9bd3cf", "#efd96f", "#c9ac95", "#ffb9c1", "#b6d79a", "#7fc4c0", "#e3a6c5", "#c3c3e8")

_STYLE: Final = """
body { font: 14px/1.45 sans-serif; margin: 1.5em; max-width: 75em }
svg { font: 11px monospace; display: block; overflow: visible }
table { border-collapse: collapse }
td, th { text-align: left; padding: .15em .8em .15em 0; vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums }
tr.chosen { font-weight: bold }
tr.refused { color: #a00 }
figure { margin: 1em 0 }
figcaption { color: #444; max-width: 60em }
pre { font: 12px/1.35 monospace }
.side { display: flex; flex-wrap: wrap; gap: 2em 4em }
"""

_HEADS: Final = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#2a6db0"/></marker>'
    '<marker id="refused" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#c00"/></marker></defs>'
)


def page(title: str, because: str, units: list[tuple[str, int]], nests: list[NestReport], text: str) -> str:
    """The page.

    Args:
        title: what the report is about.
        because: why no nest was looked at, or "".
        units: the core's units, and how many there are of each.
        nests: the parts.
        text: the report in words.
    """
    parts = [f"<h1>Loop nests of {escape(title)}</h1>"]
    if because:
        parts.append(f"<p>As written: {escape(because)}.</p>")
    if not nests:
        parts.append("<p>There are no loops.</p>")
    for nest in nests:
        parts += _nest(nest, units)
    parts.append(f"<details><summary>All of it in words</summary><pre>{escape(text)}</pre></details>")
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Loop nests of {escape(title)}</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n'


def _nest(nest: NestReport, units: list[tuple[str, int]]) -> list[str]:
    names = ", ".join([loop.name for loop in nest.loops])
    parts = [f"<h2>Line {nest.line}: over {escape(names)}</h2>"]
    done = "; ".join(nest.done) if nest.done else "nothing: it runs as written"
    if nest.asked:
        done += f". In front of it: do {', '.join([f'{a} and {b}' for a, b in nest.asked])} overlap? Then it runs as written"
    parts.append(f"<p><b>Done</b>: {escape(done)}.{f' {nest.carried} loads became values in registers.' if nest.carried else ''}</p>")
    if nest.kept:
        parts.append(f"<p><b>Why not more</b>: {escape('; '.join([str(refusal) for refusal in nest.kept]))}.</p>")
    parts.append('<div class="side">')
    parts.append(_iterations(nest))
    if nest.bounds is not None:
        parts.append(_bounds(nest))
    parts.append("</div>")
    if nest.bounds is not None and units:
        parts.append(_units(nest, units))
    parts += _candidates(nest)
    parts += _dependences(nest)
    return parts


# --- iterations


def picture(nest: NestReport) -> str:
    """The iterations of the innermost two loops as points, with arrows from those that others depend on, and what runs together shaded: an SVG."""
    outer, inner = _drawn_loops(nest)
    rows = 1 if outer is None else _ROWS
    width, height = _MARGIN + _STEP * _COLUMNS, 30 + _STEP * rows
    drawn = [_HEADS, f'<rect width="{width}" height="{height}" fill="#fff"/>']
    tall, wide = _layer(nest, "" if outer is None else outer.name, inner.name)
    slant = _slant(nest)
    if slant and tall > 1:
        tall = min(tall, (_COLUMNS - 2) // slant + 1)
        row, column = (rows - tall) // 2, slant * (tall - 1) + 1
        drawn.append(
            f'<line x1="{_x(column)}" y1="{_y(row)}" x2="{_x(column - slant * (tall - 1))}" y2="{_y(row + tall - 1)}" stroke="#8fca86" stroke-opacity="0.55" '
            f'stroke-width="28" stroke-linecap="round"><title>run together</title></line>'
        )
    elif tall * wide > 1:
        row, column = max((rows - tall) // 2, 0), 2
        drawn.append(
            f'<rect x="{_x(column) - 15}" y="{_y(row) - 15}" width="{_STEP * (wide - 1) + 30}" height="{_STEP * (min(tall, rows) - 1) + 30}" rx="13" '
            f'fill="#8fca86" fill-opacity="0.55"><title>run together</title></rect>'
        )
    refused = _refused(nest)
    seen: set[tuple[int, int]] = {(0, 0)}
    for dependence in nest.dependences:
        vector = _projected(dependence, inner.depth, outer is None)
        if vector is not None and vector not in seen:
            seen.add(vector)
            drawn += _arrows(vector, rows, str(dependence) in refused, str(dependence))
    for scalar in nest.scalars:
        way = (0, 1) if scalar.loop == inner.name else (1, 0) if outer is not None and scalar.loop == outer.name else (0, 0)
        if scalar.kind != PRIVATE and way not in seen:
            seen.add(way)
            drawn += _arrows(way, rows, False, str(scalar))
    drawn += [f'<circle cx="{_x(c)}" cy="{_y(r)}" r="3.5" fill="#222"/>' for r in range(rows) for c in range(_COLUMNS)]
    drawn.append(f'<text x="{_x(0)}" y="16">{escape(inner.name)} →</text>')
    if outer is not None:
        drawn.append(f'<text x="6" y="{_y(0) + 4}">{escape(outer.name)} ↓</text>')
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" style="font: 11px monospace">{"".join(drawn)}</svg>'


def _iterations(nest: NestReport) -> str:
    """The picture of the iterations, with what it shows in words."""
    outer, inner = _drawn_loops(nest)
    drawn = [inner.name] if outer is None else [outer.name, inner.name]
    caption = "Each point is an iteration; an arrow leads to one that needs what the first has done, or must not come before it."
    if _refused(nest):
        caption += " Red: a dependence that forbade something that was tried."
    if _layer(nest, drawn[0] if outer is not None else "", inner.name) != (1, 1):
        caption += f" Green: what runs together{f' (of a vector, {_LANES} lanes are drawn)' if nest.lanes in drawn else ''}."
    elsewhere = [f"{factor} iterations of {name}" for name, factor in _factors(nest) if name not in drawn]
    if elsewhere:
        caption += f" Each stands for {' and '.join(elsewhere)}."
    others = len([one for one in nest.dependences if _projected(one, inner.depth, outer is None) is None])
    if others:
        caption += f" {others} more cannot be drawn here: outer loops carry them, or their distance is not one vector."
    return f"<figure>{picture(nest)}<figcaption>{escape(caption)}</figcaption></figure>"


def _drawn_loops(nest: NestReport) -> tuple[LoopReport | None, LoopReport]:
    """The first of the innermost loops, and the one around it."""
    inner = nest.loops[0]
    for loop in nest.loops:
        if loop.depth > inner.depth:
            inner = loop
    around = [loop for loop in nest.loops[: nest.loops.index(inner)] if loop.depth == inner.depth - 1]
    return (around[-1] if around else None), inner


def _x(column: int) -> int:
    return _MARGIN + _STEP * column


def _y(row: int) -> int:
    return 40 + _STEP * row


def _projected(dependence: DependenceReport, depth: int, flat: bool) -> tuple[int, int] | None:
    """The distance in the innermost two loops, of a dependence within one iteration of those around them; None where it is not that."""
    distance = dependence.distance
    if distance is None or len(distance) != depth + 1 or any(distance[: depth - (0 if flat else 1)]):
        return None
    return (0 if flat else distance[depth - 1]), distance[depth]


def _arrows(vector: tuple[int, int], rows: int, refused: bool, title: str) -> list[str]:
    """An arrow from each iteration, as far as it stays in the picture; one of them strong."""
    colour, head = (_REFUSED, "refused") if refused else (_ARROW, "head")
    made: list[str] = []
    strong = True
    for row in range(rows):
        for column in range(_COLUMNS):
            to_row, to_column = row + vector[0], column + vector[1]
            if 0 <= to_row < rows and 0 <= to_column < _COLUMNS:
                middle = row >= rows // 3 and column >= _COLUMNS // 3
                own = strong and middle
                end = f' marker-end="url(#{head})"' if own else ""
                strong = strong and not own
                made.append(
                    f'<line x1="{_x(column)}" y1="{_y(row)}" x2="{_x(to_column)}" y2="{_y(to_row)}" stroke="{colour}" stroke-width="{2.2 if own else 1}" '
                    f'stroke-opacity="{1 if own else 0.35}"{end}><title>{escape(title)}</title></line>'
                )
    return made


def _refused(nest: NestReport) -> set[str]:
    """The dependences that forbade a candidate."""
    return {str(candidate.refusal.dependence) for candidate in nest.candidates if candidate.refusal is not None and candidate.refusal.dependence is not None}


def _layer(nest: NestReport, outer: str, inner: str) -> tuple[int, int]:
    """As far as they are drawn: how many old iterations run together along the outer and the inner of the two loops that are drawn."""
    tall = wide = 1
    for loop, factor in _factors(nest):
        if loop == outer:
            tall *= factor
        elif loop == inner:
            wide *= factor
    if nest.lanes == inner:
        wide *= _LANES
    elif nest.lanes == outer:
        tall *= _LANES
    return min(tall, _ROWS), min(wide, _COLUMNS - 2)


def _factors(nest: NestReport) -> list[tuple[str, int]]:
    """The loops that were unrolled and jammed, and how far."""
    found: list[tuple[str, int]] = []
    for text in nest.done:
        try:
            steps = parse_steps(text)
        except ScheduleError:
            # (A loop without a name.)
            continue
        for step in steps:
            if step.name == "unroll_and_jam" or step.name == "skew":
                found += [(name.partition("@")[0], factor) for name, factor in step.values if name != "slant" and name != "lanes"]
    return found


def _slant(nest: NestReport) -> int:
    """By how many iterations of the inner loop each of those that run together is behind the one before; 0 where they are side by side."""
    for text in nest.done:
        if text.startswith("skew("):
            with suppress(ScheduleError):
                for step in parse_steps(text):
                    # (Without it the least that will do: 1, as a rule.)
                    return dict(step.values).get("slant", 1)
    return 0


# --- bounds and units


def _bounds(nest: NestReport) -> str:
    bounds = nest.bounds
    assert bounds is not None
    bars = [(f"units ({bounds.unit})", float(bounds.resource), "#8ab6e0"), ("circuit", float(bounds.recurrence), "#f5b877")]
    bars += [("as rewritten", candidate.cycles, "#8fca86") for candidate in nest.candidates if candidate.chosen and candidate.refusal is None]
    most = max([cycles for _, cycles, _ in bars] + [1.0])
    drawn: list[str] = []
    for k, (name, cycles, colour) in enumerate(bars):
        y = 8 + 26 * k
        drawn.append(
            f'<text x="0" y="{y + 13}">{escape(name)}</text><rect x="110" y="{y}" width="{220 * cycles / most:.1f}" height="18" rx="2" fill="{colour}"/>'
        )
        drawn.append(f'<text x="{116 + 220 * cycles / most:.1f}" y="{y + 13}">{cycles:.4g}</text>')
    circuit = " → ".join([f"{name} ({line})" for name, line in bounds.circuit])
    binds = "The circuit binds" if bounds.recurrence > bounds.resource else "The units bind"
    caption = f"Cycles for one iteration of the nest as written, at least. {binds}."
    if circuit:
        caption += f" The circuit: {circuit} → again, with the lines they are from."
    return f'<figure><svg width="400" height="{26 * len(bars) + 12}">{"".join(drawn)}</svg><figcaption>{escape(caption)}</figcaption></figure>'


def _jammed(nest: NestReport) -> tuple[Graph, int]:
    """The graph of the innermost loop as rewritten, and how many old iterations are in it."""
    bounds = nest.bounds
    assert bounds is not None
    graph = bounds.graph
    copies = 1
    depths = {loop.name: loop.depth for loop in nest.loops}
    for name, factor in _factors(nest):
        if name in depths and depths[name] < graph.depth - 1:
            graph = jammed(graph, depths[name], factor)
            copies *= factor
    return graph, copies


def _units(nest: NestReport, units: list[tuple[str, int]]) -> str:
    """When each unit is taken: the modulo reservation table, a row for each unit and a column for each cycle; packed in any order where there is no schedule."""
    graph, copies = _jammed(nest)
    schedule = nest.scheduled(graph, copies)
    interval, rows = _packed(graph, units) if schedule is None else _reserved(graph, units, schedule)
    shown = min(interval, _CYCLES)
    drawn = [f'<text x="{_x(0) + 34 + 16 * c}" y="12" fill="#555" text-anchor="middle">{c}</text>' for c in range(0, shown, 1 if shown <= 24 else 4)]
    body = max(len(graph.nodes) // copies, 1)
    for k, (name, taken) in enumerate(rows):
        y = 18 + 20 * k
        drawn.append(f'<text x="0" y="{y + 13}">{escape(name)}</text>')
        for c, number in enumerate(taken[:shown]):
            if number < 0:
                continue
            stage = "" if schedule is None else str(schedule.stage(number))
            x, colour = _x(0) + 26 + 16 * c, _COLOURS[number // body % len(_COLOURS)]
            told = f"{graph.nodes[number].name}, old iteration {number // body}{f', stage {stage}' if stage else ''}"
            drawn.append(f'<rect x="{x}" y="{y}" width="16" height="17" stroke="#fff" fill="{colour}"><title>{escape(told)}</title></rect>')
            if stage:
                drawn.append(f'<text x="{x + 8}" y="{y + 13}" text-anchor="middle" pointer-events="none">{stage}</text>')
    what = f"one iteration of the loop as rewritten ({copies} of the old ones, a colour each)"
    if schedule is None:
        caption = f"What the units have to do for {what}, packed as densely as they allow: {interval} cycles. It does not say in which order."
    else:
        caption = (
            f"The modulo reservation table of {what}, whose iterations overlap: which unit is taken when, in each {interval} cycles. "
            "The number in a cell is its stage: how many iterations earlier than those of stage 0 the one began that it is part of."
        )
    return f'<figure><svg width="{_x(0) + 40 + 16 * shown}" height="{24 + 20 * len(rows)}">{"".join(drawn)}</svg><figcaption>{escape(caption)}</figcaption></figure>'


def _packed(graph: Graph, units: list[tuple[str, int]]) -> tuple[int, list[tuple[str, list[int]]]]:
    """How long the units take, and per unit what it is called and which node takes each cycle."""
    rows: list[tuple[str, list[int]]] = []
    for unit, (name, count) in enumerate(units):
        lanes: list[list[int]] = [[] for _ in range(count)]
        for number, node in enumerate(graph.nodes):
            if node.unit == unit:
                min(lanes, key=len).extend([number] * node.cycles)
        rows += [(name if count == 1 else f"{name} {k}", taken) for k, taken in enumerate(lanes) if taken]
    return max([len(taken) for _, taken in rows], default=1), rows


def _reserved(graph: Graph, units: list[tuple[str, int]], schedule: Any) -> tuple[int, list[tuple[str, list[int]]]]:
    """The same by a schedule; -1 where a unit is free. Of several equal units an operation stays with one where one is free for all of its cycles."""
    interval: int = schedule.interval
    rows: list[tuple[str, list[int]]] = []
    for unit, (name, count) in enumerate(units):
        lanes = [[-1] * interval for _ in range(count)]
        for number, node in sorted(enumerate(graph.nodes), key=lambda each: -each[1].cycles):
            if node.unit != unit:
                continue
            cycles = [(schedule.row(number) + k) % interval for k in range(node.cycles)]
            whole = next((lane for lane in lanes if all(lane[c] < 0 for c in cycles)), None)
            for c in cycles:
                lane = whole if whole is not None and whole[c] < 0 else next((lane for lane in lanes if lane[c] < 0), lanes[0])
                lane[c] = number
        rows += [(name if count == 1 else f"{name} {k}", lane) for k, lane in enumerate(lanes) if any(number >= 0 for number in lane)]
    return interval, rows


# --- tables


def _candidates(nest: NestReport) -> list[str]:
    if not nest.candidates and not nest.not_lanes:
        return []
    out = ["<h3>What was tried</h3>", "<table><tr><th>step</th><th>cycles</th><th></th></tr>"]
    for candidate in nest.candidates:
        kind = "refused" if candidate.refusal is not None else "chosen" if candidate.chosen else ""
        cycles = "" if candidate.refusal is not None else f"{candidate.cycles:.4g}"
        note = str(candidate.refusal) if candidate.refusal is not None else "done" if candidate.chosen else ""
        out.append(f'<tr class="{kind}"><td>{escape(candidate.step)}</td><td class="number">{cycles}</td><td>{escape(note)}</td></tr>')
    for name, refusal in nest.not_lanes:
        out.append(f'<tr class="refused"><td>lanes({escape(name)})</td><td></td><td>{escape(str(refusal))}</td></tr>')
    return [*out, "</table>"]


def _dependences(nest: NestReport) -> list[str]:
    if not nest.dependences:
        return []
    out = ["<h3>What depends on what</h3>", "<table><tr><th>kind</th><th>from</th><th>to</th><th>distance</th></tr>"]
    for one in nest.dependences:
        distance = f"({', '.join(one.vector)}){'' if one.told else ', for all that can be told'}"
        source, sink = f"{one.source}, line {one.source_line}", f"{one.sink}, line {one.sink_line}"
        out.append(f"<tr><td>{one.kind}</td><td>{escape(source)}</td><td>{escape(sink)}</td><td>{escape(distance)}</td></tr>")
    return [*out, "</table>"]
