"""``liveness``: live intervals with holes, loop weights, what each loop needs and destroys (left in ``Function.analysis``)."""

from __future__ import annotations

from loopwright.ir.function import Function
from loopwright.regalloc.liveness import analyse
from loopwright.targets.target import Target


def run(f: Function, target: Target) -> None:
    """Analyse lowered code."""
    f.analysis = analyse(f, target)


def notes(f: Function) -> dict[int, str]:
    """What the analysis found, by instruction, for a listing of the function at this stage."""
    liveness, _shape = f.analysis
    lines: dict[int, str] = {}
    for k in range(len(f.code)):
        instr = f.code[k]
        if instr.dst < 0:
            continue
        interval = liveness.intervals[instr.dst]
        if interval is None:
            continue
        ranges = " ".join(f"[{a},{b})" for a, b in zip(interval.starts, interval.ends, strict=True))
        more = " across calls" if interval.crosses_call else ""
        lines[k] = f"live {ranges} weight {sum(interval.weights[at >> 1] for at in interval.refs):g}{more}"
    for info in liveness.loops.values():
        lines[info.head] = f"depth {info.depth} pressure {info.pressure}"
    return lines
