"""The step ``pipeline`` of ``kernel.schedule``: iterations of an innermost loop that overlap, at an interval that the user may say."""

from __future__ import annotations

from loopwright.ir.schedule import Step
from loopwright.nests.analysis.dependence import dependences
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.schedule import Row, loop_of, refuse
from loopwright.nests.steps.jam import Refusal
from loopwright.pipelining.pipeline import pipeline
from loopwright.targets.target import Target

__all__ = ["pipeline_row"]


def pipeline_row() -> Row:
    """The step, for the table of steps (``nests/schedule.py``), which stands below this package."""
    return Row(_pipeline)


def _pipeline(nest: Nest, step: Step, target: Target) -> None:
    loop = loop_of(step, nest, step.loops[0])
    wanted = dict(step.values).get("ii", 0)
    refuse(nest, step, _refusal(nest, loop, target))
    core = target.core
    assert core is not None
    code = nest.f.code
    report = pipeline(nest.f, nest, loop, core, dependences(nest), interval=max(wanted, 1))
    refuse(nest, step, report.refusal)
    schedule = report.schedule
    assert schedule is not None
    if wanted and schedule.interval != wanted:
        nest.f.code = code
        because = (
            f"units and circuits allow no less than {report.bound} cycles"
            if report.bound > wanted
            else f"no schedule was found below {schedule.interval} cycles"
        )
        refuse(nest, step, Refusal(because, loop.line))


def _refusal(nest: Nest, loop: NestLoop, target: Target) -> Refusal | None:
    for line, because in nest.obstacles:
        return Refusal(because, line)
    if target.core is None:
        return Refusal(f"nothing is known of the core of {target.name}", loop.line)
    if any(other.parent is loop for other in nest.loops):
        return Refusal(f"{nest.name(loop)} is not an innermost loop", loop.line)
    marked = nest.f.code[loop.head].loop
    if marked is not None and marked.lanes:
        return Refusal("its iterations run in lanes", loop.line)
    return None
