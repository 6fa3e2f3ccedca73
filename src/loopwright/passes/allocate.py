"""``allocate``: registers, spills, reloads, resolution moves; prologue and epilogue."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.regalloc.linear_scan import allocate
from loopwright.settings import Settings
from loopwright.targets.target import Target
from loopwright.types import VOID


def run(f: Function, target: Target, settings: Settings) -> None:
    """Allocate by linear scan with the filters in the order of ``settings``, then frame the function.

    Raises ``InternalError`` when the result is to be proved, and the proof fails.
    """
    before = f.clone() if settings.prove else f
    f.statistics = allocate(f, target, settings.ordering).statistics
    f.analysis[0].part()
    f.analysis = None
    frame(f)
    if settings.prove:
        # Most compilations are not proved: what does it, and the printer that it quotes with, stay out of the first one's time.
        from loopwright.regalloc import checker

        checker.check(before, f, target)


def frame(f: Function) -> None:
    """Put prologue and epilogues into an allocated function."""
    out: list[Instr] = [Instr(ops.PROLOGUE, VOID, NONE, [])]
    for instr in f.code:
        if instr.op is ops.RET:
            out.append(Instr(ops.EPILOGUE, VOID, NONE, [], 0, instr.line))
        out.append(instr)
    if f.result is VOID and (len(out) < 2 or out[-1].op is not ops.RET):
        out.append(Instr(ops.EPILOGUE, VOID, NONE, []))
        out.append(Instr(ops.RET, VOID, NONE, []))
    f.code = out
