"""An allocation as a picture: registers down, positions across, a bar for each stay of a value in a register."""

from __future__ import annotations

from html import escape
from typing import Final

from loopwright.regalloc.explain import Explanation, Stay

__all__ = ["picture"]

_ROW: Final = 18
_TOP: Final = 46
#: Fills that black text can be read on.
_COLOURS: Final = ("#8ab6e0", "#f5b877", "#8fca86", "#cfa8cc", "#9bd3cf", "#efd96f", "#c9ac95", "#ffb9c1", "#b6d79a", "#7fc4c0", "#e3a6c5", "#c3c3e8")
_SPILL: Final = "#c00"
_LOAD: Final = "#070"

_STYLE: Final = """
body { font: 14px/1.4 sans-serif; margin: 1em }
svg { font: 11px monospace; display: block }
.scroll { display: flex; overflow-x: auto; border: 1px solid #ccc }
.names { position: sticky; left: 0; background: #fff; border-right: 1px solid #ccc; flex: none }
.picture { flex: none }
.at:hover { fill: #06c; fill-opacity: .15 }
pre { font: 12px/1.35 monospace }
.key svg { display: inline; vertical-align: -3px }
.key span { margin-right: 1.5em; white-space: nowrap }
"""


def picture(e: Explanation) -> str:
    """An HTML page with the picture as SVG, a key, and below it the explanation in words.

    Loops are shaded, the darker the deeper. Values that are in memory at times have rows below the registers: there a line is drawn
    for as long as the value lives, thick while it is in memory alone. Red triangles are spills, green ones loads. Everything tells more under
    the mouse; between the bars that is the instruction.
    """
    f = e.lowered
    length = len(f.code)
    step = max(4.0, min(14.0, 1100 / max(2 * length, 1)))
    stays = e.stays()
    used = sorted({stay.register for stay in stays})
    row_of = {r: n for n, r in enumerate(used)}
    # A value that comes from elsewhere than the frame (a constant made again) is marked too, so it has a row as well.
    in_memory = sorted({v for _at, v in e.history.spills} | {v for _at, v in e.history.reloads if v >= 0})
    memory_row = {v: len(used) + 1 + n for n, v in enumerate(in_memory)}
    labels = [e.target.registers[r].name for r in used] + [e.name(v) for v in in_memory]
    left = 12 + 7 * max([len("position"), *(len(label) for label in labels)])
    width = step * (2 * length + 2) + 10
    height = _TOP + _ROW * (len(used) + (1 + len(in_memory) if in_memory else 0)) + 10
    names = _names(e, used, in_memory, left, height)
    drawn = [*_shades(e, step, height), *_axis(length, step, width, height)]
    drawn += [f'<line x1="0" y1="{_TOP + _ROW * n}" x2="{width:.0f}" y2="{_TOP + _ROW * n}" stroke="#e4e4e4"/>' for n in range(len(used) + 1)]
    drawn += _instructions(e, step, height)
    drawn += [_bar(e, stay, step, _TOP + _ROW * row_of[stay.register] + 2) for stay in stays]
    for v, n in memory_row.items():
        drawn += _life(e, v, stays, step, _TOP + _ROW * n)
    for marks, up, word in ((e.history.spills, False, "goes to memory"), (e.history.reloads, True, "comes from memory")):
        for location, v in marks:
            if v in memory_row:
                drawn.append(_mark(step * (location + 1), _TOP + _ROW * memory_row[v] + 9, up, f"{e.name(v)} {word} at {location}"))
    title = f"{f.name} for {e.target.name}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Registers of {escape(title)}</title><style>{_STYLE}</style></head><body>\n'
        f"<h1>{escape(title)}</h1>\n<p>Filters in the order {escape(e.order)}. {escape(e.summary())}.</p>\n{_key(bool(in_memory))}\n"
        f'<div class="scroll"><svg xmlns="http://www.w3.org/2000/svg" class="names" width="{left}" height="{height}">{"".join(names)}</svg>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" width="{width:.0f}" height="{height}">{"".join(drawn)}</svg></div>\n'
        f"<details><summary>Every decision, in words</summary><pre>{escape(e.text())}</pre></details>\n</body></html>\n"
    )


def _key(memory: bool) -> str:
    def entry(shape: str, text: str) -> str:
        return f'<span><svg width="24" height="14">{shape}</svg> {text}</span>'

    entries = [
        entry(f'<rect width="24" height="14" rx="2" fill="{_COLOURS[0]}"/>', "a value in a register"),
        entry('<rect width="24" height="14" fill="#000" fill-opacity="0.12"/>', "a loop, darker where deeper"),
    ]
    if memory:
        entries += [
            entry('<path d="M0 7h24" stroke="#b77"/>', "a spilled value lives"),
            entry('<path d="M0 7h24" stroke="#b77" stroke-width="6"/>', "it is in memory alone"),
            entry(f'<path d="{_triangle(12, 7, False)}" fill="{_SPILL}"/>', "spilled"),
            entry(f'<path d="{_triangle(12, 7, True)}" fill="{_LOAD}"/>', "loaded"),
        ]
    return f'<p class="key">{"".join(entries)}</p><p>Positions are those of the explanation in words: at 2k instruction k reads, at 2k + 1 it writes.</p>'


def _names(e: Explanation, used: list[int], in_memory: list[int], left: int, height: int) -> list[str]:
    made = [f'<rect width="{left}" height="{height}" fill="#fff"/><text x="4" y="{_TOP - 6}" fill="#555">position</text>']
    for n, r in enumerate(used):
        made.append(f'<text x="4" y="{_TOP + _ROW * n + 13}">{escape(e.target.registers[r].name)}</text>')
    if in_memory:
        made.append(f'<text x="4" y="{_TOP + _ROW * len(used) + 14}" fill="#555">memory</text>')
    for n, v in enumerate(in_memory):
        made.append(f'<text x="4" y="{_TOP + _ROW * (len(used) + 1 + n) + 13}" fill="#a00">{escape(e.name(v))}</text>')
    return made


def _shades(e: Explanation, step: float, height: int) -> list[str]:
    made: list[str] = []
    for info in sorted(e.liveness.loops.values(), key=lambda loop: loop.depth):
        x, width = step * (2 * info.head + 1), step * (2 * (info.end - info.head) + 1)
        text = f"loop, depth {info.depth}"
        at = 12 * min(info.depth - 1, 2) + 10
        made.append(
            f'<rect x="{x:.1f}" y="0" width="{width:.1f}" height="{height}" fill="#000" fill-opacity="0.06">'
            f"<title>{text}, from {2 * info.head} to {2 * info.end}; values live at once, by register class: {', '.join(map(str, info.pressure))}</title></rect>"
        )
        if width > 7 * len(text):
            made.append(f'<text x="{x + 3:.1f}" y="{at}" fill="#555">{text}</text>')
    return made


def _axis(length: int, step: float, width: float, height: int) -> list[str]:
    """Positions as the text has them, every so many that they do not touch."""
    every = next(n for n in (2, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10**9) if n * step >= 36)
    made = [f'<line x1="0" y1="{_TOP - 3}" x2="{width:.0f}" y2="{_TOP - 3}" stroke="#999"/>']
    for location in range(0, 2 * length + 1, every):
        x = step * (location + 1)
        made.append(f'<line x1="{x:.1f}" y1="{_TOP - 6}" x2="{x:.1f}" y2="{height}" stroke="#ddd" stroke-dasharray="1 3"/>')
        made.append(f'<text x="{x:.1f}" y="{_TOP - 8}" fill="#555" text-anchor="middle">{location}</text>')
    return made


def _instructions(e: Explanation, step: float, height: int) -> list[str]:
    """A column for each instruction that tells it under the mouse."""
    made: list[str] = []
    for k, instr in enumerate(e.lowered.code):
        text = e.instructions[k] + (f"  (line {instr.line})" if instr.line else "")
        made.append(
            f'<rect class="at" x="{step * (2 * k + 1):.1f}" y="{_TOP}" width="{2 * step:.1f}" height="{height - _TOP}" fill-opacity="0">'
            f"<title>{2 * k}: {escape(text)}</title></rect>"
        )
    return made


def _bar(e: Explanation, stay: Stay, step: float, y: int) -> str:
    f, v = e.lowered, stay.value
    x, width = step * (stay.start + 1), max(step * (stay.end - stay.start), 3.0)
    name = f.names[v] or f"%{v}"
    label = f'<text x="{x + 3:.1f}" y="{y + 11}">{escape(name)}</text>' if width > 7 * len(name) + 4 else ""
    title = f"{e.name(v)} in {e.target.registers[stay.register].name}, {stay.start} to {stay.end}"
    return (
        f'<g><title>{escape(title)}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="14" rx="2" fill="{_COLOURS[v % len(_COLOURS)]}"/>{label}</g>'
    )


def _life(e: Explanation, v: int, stays: list[Stay], step: float, y: int) -> list[str]:
    """The life of a value that is in memory at times; thick where no register has it."""
    interval = e.liveness.intervals[v]
    if interval is None:
        return []
    held = sorted((stay.start, stay.end) for stay in stays if stay.value == v)
    name = escape(e.name(v))
    made: list[str] = []
    for start, end in zip(interval.starts, interval.ends, strict=True):
        made.append(
            f'<rect x="{step * (start + 1):.1f}" y="{y + 8}" width="{step * (end - start):.1f}" height="1" fill="#b77"><title>{name} lives {start} to {end}</title></rect>'
        )
        at = start
        for low, high in [*held, (end, end)]:
            # A variable that is read and written by one instruction is nowhere in between.
            if min(low, end) > at + 1:
                made.append(
                    f'<rect x="{step * (at + 1):.1f}" y="{y + 6}" width="{step * (min(low, end) - at):.1f}" height="6" fill="#b77" fill-opacity="0.6">'
                    f"<title>{name} in memory, {at} to {min(low, end)}</title></rect>"
                )
            at = max(at, high)
            if at >= end:
                break
    return made


def _triangle(x: float, y: float, up: bool) -> str:
    return f"M{x:.1f} {y - 5 if up else y + 5}l-4.5 {9 if up else -9}h9z"


def _mark(x: float, y: int, up: bool, title: str) -> str:
    return f'<path d="{_triangle(x, y, up)}" fill="{_LOAD if up else _SPILL}"><title>{escape(title)}</title></path>'
