"""What all loops that run at run time have in common: their body, and their end."""

from __future__ import annotations

from typing import Any, Final

from loopwright.frontend.flow import RESULT
from loopwright.frontend.merging import at_end, merge
from loopwright.frontend.program import LoopStmt
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import ENDED, FALLS, LoopState
from loopwright.frontend.variables import release

__all__ = ["MAYBE_NEVER", "finish", "loop_body"]

MAYBE_NEVER: Final = "is assigned in a loop that may not run at all: assign it before the loop too"


def loop_body(s: Staging, stmt: LoopStmt, loop: LoopState) -> int:
    """Stage the body of a run-time loop once."""
    emitter = s.emitter
    outer = emitter.region
    emitter.regions += 1
    emitter.region = emitter.regions
    loop.depth = len(emitter.brackets)
    s.act.loops.append(loop)
    status = s.block(stmt.body)
    s.act.loops.pop()
    emitter.region = outer
    return status


def finish(s: Staging, stmt: LoopStmt, loop: LoopState, made: list[tuple[str, Any]], bound: dict[str, Any], falls: bool, branches: int) -> int:
    """After a run-time loop's ``end``: close its block, release its variables, merge the ways out. ``falls``: it may end other than by break."""
    emitter = s.emitter
    # What release takes the values of need not be given back.
    left = stmt.writes if loop.exit is not None else stmt.writes & {RESULT}
    if left:
        s.restore({name for name in left if name not in s.act.sticky}, bound)
    if loop.exit is None:
        release(s, stmt, made, MAYBE_NEVER)
        return FALLS if falls else ENDED
    edges = loop.exits
    last = at_end(s, loop) if falls else None
    end = emitter.drop_block(loop.exit, branches, bool(edges))
    release(s, stmt, made, MAYBE_NEVER)
    if last is not None:
        if end is not None:
            last.anchor = end
        edges.append(last)
    carried = {name for name, _ in made}
    return merge(s, edges, loop.exit_names - carried - set(s.act.sticky), set())
