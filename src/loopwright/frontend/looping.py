"""Staging loops: those that run at run time, and those that run while compiling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.conditions import compound_value, decide, leave_unless
from loopwright.frontend.containers import close, enter
from loopwright.frontend.dependence import refuse_dependences
from loopwright.frontend.emitter import Level
from loopwright.frontend.expr import Value, describe, is_number
from loopwright.frontend.lanes import stage_lanes
from loopwright.frontend.leaving import Departed
from loopwright.frontend.loops import Lanes, Range
from loopwright.frontend.masked import begin_remaining, lanes_left, lanes_may_leave, varying_for, varying_while
from loopwright.frontend.merging import Edge
from loopwright.frontend.program import AND, For, LoopStmt, NameTarget, While
from loopwright.frontend.state import BREAK, CONTINUE, ENDED, FALLS, FOR_LIMIT, GROWTH_LIMIT, LEFT, RETURN, UNROLL_LIMIT, Compound, Guarded, LoopState
from loopwright.frontend.steps import MAYBE_NEVER, finish, loop_body
from loopwright.frontend.variables import carry, release
from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.types import BOOL, I64, KIND_MASK, VOID

if TYPE_CHECKING:
    from loopwright.frontend.staging import Staging

__all__ = ["stage_for", "stage_range", "stage_while"]


def stage_for(s: Staging, stmt: For) -> int:
    """A ``for`` over whatever its iterable turns out to be."""
    iterable = s.evaluate(stmt.iterable)
    kind = type(iterable)
    if kind is Range:
        return stage_range(s, stmt, iterable)
    if kind is Lanes:
        if s.vector_bits == 0:
            return stage_range(s, stmt, Range(iterable.lo, iterable.hi, 1), True)
        return stage_lanes(s, stmt, iterable)
    if isinstance(iterable, (Value, StagedArray)):
        iter(iterable)
    try:
        items = iter(iterable)
    except TypeError:
        s.g.fail(f"`for` over {kind.__name__}: loop over lw.range(…), lw.lanes(…), or a Python value that can be iterated over")
    return _unrolled(s, stmt, items)


# --- loops that run while compiling ------------------------------------------------------------------------------


class _Unrolling:
    """A loop that runs while compiling, step by step, with the blocks that run-time breaks and continues in it leave."""

    def __init__(self, s: Staging, stmt: LoopStmt) -> None:
        g = s.g
        self.s = s
        self.stmt = stmt
        self.branches = len(g.branches)
        self.loop = LoopState("python", stmt, s.act, g.level, s.values_of(stmt.writes))
        if stmt.breaks:
            self.loop.exit = g.open(ops.BLOCK, VOID, [])
        self.loop.next_names = stmt.writes & (stmt.live | stmt.head).union(stmt.carried)
        s.act.loops.append(self.loop)
        self.status = FALLS
        self.masked = bool(s.notes) and lanes_may_leave(s, stmt)
        self.outer = g.level
        if s.notes:
            enter(s, self.loop, self.masked)
        s.open.append(self.loop)
        if self.masked:
            self.loop.departed = Departed(s, self.loop.exit_names, begin_remaining(s, self.loop))

    def condition(self) -> None:
        """What follows is evaluated for the lanes that are still in the loop."""
        if self.masked:
            assert self.loop.remaining is not None
            self.s.g.level = Level(self.loop.remaining, self.outer, True)

    def step(self) -> bool:
        """Stage the body once; False when the loop ends."""
        s, g, stmt, loop = self.s, self.s.g, self.stmt, self.loop
        branches = len(g.branches)
        loop.nexts = []
        if stmt.continues:
            loop.next = g.open(ops.BLOCK, VOID, [])
        if self.masked:
            g.level = self.outer
            anchor = lanes_left(s, loop)
            if anchor is not None:
                loop.skipped = Departed(s, loop.next_names, anchor)
        loop.depth = len(g.brackets)
        status = s.block(stmt.body)
        if loop.next is not None:
            edges = loop.nexts
            if status == BREAK and edges:
                # Other paths go on with the next step, so this one needs a branch.
                assert loop.exit is not None
                loop.exits.append(s.edge(loop.exit_names, g.branch(loop.exit)))
                status = ENDED
            last = Edge(s.values_of(loop.next_names), dict(s.act.lines), loop.next) if status != ENDED else None
            end = g.drop_block(loop.next, branches, bool(edges))
            if edges:
                if last is not None:
                    assert end is not None
                    last.anchor = end
                    edges.append(last)
                s.merge(edges, loop.next_names, set())
                if status == ENDED:
                    status = FALLS
        if self.masked:
            assert g.level is not None
            if loop.skipped is not None and status != BREAK:
                loop.skipped.rejoin(None if status == LEFT else g.level.mask)
            g.level = self.outer
            if status == LEFT:
                # Some lanes may be left: they go on with the next step.
                status = FALLS
        self.status = status
        return status in (FALLS, CONTINUE)

    def finish(self) -> int:
        s, g, loop = self.s, self.s.g, self.loop
        s.act.loops.pop()
        close(s)
        if self.masked:
            g.level = self.outer
            assert loop.departed is not None
            loop.departed.rejoin(loop.remaining)
        status = self.status
        if loop.exit is None:
            return status if status in (ENDED, RETURN) else FALLS
        edges = loop.exits
        last = Edge(s.values_of(loop.exit_names), dict(s.act.lines), loop.exit) if status != ENDED else None
        end = g.drop_block(loop.exit, self.branches, bool(edges))
        if not edges:
            return status if status in (ENDED, RETURN) else FALLS
        if last is not None:
            assert end is not None
            last.anchor = end
            edges.append(last)
        return s.merge(edges, loop.exit_names, set())


def _unrolled(s: Staging, stmt: For, items: Any) -> int:
    """A ``for`` over a Python value."""
    unrolling = _Unrolling(s, stmt)
    steps = 0
    most = len(s.g.code) + GROWTH_LIMIT
    while True:
        s.at(stmt.line)
        try:
            item = next(items)
        except StopIteration:
            break
        if steps == FOR_LIMIT or len(s.g.code) > most:
            grown = "has not ended" if steps == FOR_LIMIT else f"has made {GROWTH_LIMIT} instructions"
            s.g.fail(
                f"this loop runs while compiling, because it is over a Python value, and {grown} after {steps} steps: for a loop at run time write for … in lw.range(…)"
            )
        steps += 1
        s.bind(stmt.target, item)
        if not unrolling.step():
            break
    return unrolling.finish()


def stage_while(s: Staging, stmt: While) -> int:
    """A ``while``: as long as its condition is known it runs while compiling, from then on at run time."""
    if stmt.forever:
        return _runtime_while(s, stmt)
    g = s.g
    unrolling: _Unrolling | None = None
    steps = 0
    while True:
        s.at(stmt.line)
        mark = g.mark()
        if unrolling is not None:
            unrolling.condition()
        # It is evaluated again when it is not known.
        s.open.append(Guarded(s.act, g.level))
        found = decide(s, stmt.test)
        s.open.pop()
        if type(found) is not bool:
            g.rollback(mark)
            if unrolling is None:
                return _runtime_while(s, stmt)
            # The lanes that have left in the steps so far are not among those that go on.
            unrolling.status = _runtime_while(s, stmt)
            return unrolling.finish()
        if not found:
            break
        if unrolling is None:
            unrolling = _Unrolling(s, stmt)
        steps += 1
        if steps > UNROLL_LIMIT:
            s.at(stmt.line)
            g.fail(
                f"this while loop runs while compiling, because its condition depends on Python values alone, and has not ended after {UNROLL_LIMIT} steps: "
                "for a loop at run time write for … in lw.range(…), or let the condition depend on a run-time value"
            )
        if not unrolling.step():
            break
    return unrolling.finish() if unrolling is not None else FALLS


# --- loops that run at run time ----------------------------------------------------------------------------------


def stage_range(s: Staging, stmt: For, spec: Range, lanes: bool = False) -> int:
    """A range of the generated code; ``lanes``: it is written as a loop over lanes, and means the same."""
    g = s.g
    step = spec.step
    for bound in (spec.lo, spec.hi):
        value = g.wrap(bound)
        if value is not None and value.type.lanes:
            return varying_for(s, stmt, spec)
    if not isinstance(step, Value) and not is_number(step):
        if not isinstance(step, np.generic):
            g.fail(f"the step of lw.range must be an integer, not {describe(step)}")
        step = g.wrap(step)
    if isinstance(step, Value):
        if step.operand >= 0:
            return _stepping(s, stmt, spec)
        step = g.f.const_values[~step.operand]
    if type(step) is not int:
        g.fail(f"the step of lw.range must be an integer, not {step!r}")
    if step == 0:
        g.fail("the step of lw.range must not be 0")
    if not isinstance(stmt.target, NameTarget):
        g.fail("`for` over lw.range takes one name")
    lo = g.snapshot(g.index(spec.lo, "a bound of lw.range"))
    hi = g.snapshot(g.index(spec.hi, "a bound of lw.range"))
    bound = s.values_of(stmt.writes)
    masked = bool(s.notes) and lanes_may_leave(s, stmt)
    outer = g.level
    loop = LoopState("runtime", stmt, s.act, outer, bound)
    if masked:
        begin_remaining(s, loop)
    made = carry(s, loop, masked)
    if s.notes:
        enter(s, loop, masked)
    s.open.append(loop)
    branches = len(g.branches)
    if stmt.breaks:
        loop.exit = g.open(ops.BLOCK, VOID, [])
    index = g.f.register(I64, stmt.target.name)
    loop.next = g.open(ops.FOR, VOID, [lo.operand, hi.operand, g.number(I64, step)], index)
    if masked:
        lanes_left(s, loop)
    s.assign(stmt.target.name, Value(g, index, I64))
    loop_body(s, stmt, loop)
    if masked:
        _leave_when_empty(s, loop)
        g.level = outer
    s.at(stmt.line)
    g.close()
    close(s)
    if lanes:
        refuse_dependences(g, loop.next)
    return finish(s, stmt, loop, made, bound, True, branches)


def _leave_when_empty(s: Staging, loop: LoopState) -> None:
    """At the end of a step: no lane is left, so the loop ends."""
    g = s.g
    if loop.exit is not None and loop.remaining is not None:
        some = g.value(ops.ANY, loop.remaining.type, [loop.remaining.operand], BOOL)
        loop.exits.append(s.edge(loop.exit_names, g.branch(loop.exit, g.logical_not(some))))


def _stepping(s: Staging, stmt: For, spec: Range) -> int:
    """A range whose step is known at run time only: a while loop."""
    g = s.g
    if not isinstance(stmt.target, NameTarget):
        g.fail("`for` over lw.range takes one name")
    lo = g.index(spec.lo, "a bound of lw.range")
    hi = g.snapshot(g.index(spec.hi, "a bound of lw.range"))
    step = g.snapshot(g.index(spec.step, "the step of lw.range"))
    up = g.value(ops.GT, I64, [step.operand, g.f.const(I64, 0)], BOOL)
    bound = s.values_of(stmt.writes)
    masked = bool(s.notes) and lanes_may_leave(s, stmt)
    outer = g.level
    loop = LoopState("runtime", stmt, s.act, outer, bound)
    if masked:
        begin_remaining(s, loop)
    made = carry(s, loop, masked)
    if s.notes:
        enter(s, loop, masked)
    s.open.append(loop)
    counter = g.f.register(I64, "", True)
    g.copy_to(counter, I64, lo.operand)
    g.active.add(counter)
    branches = len(g.branches)
    if stmt.breaks:
        loop.exit = g.open(ops.BLOCK, VOID, [])
    g.open(ops.WHILE, VOID, [])
    current = Value(g, counter, I64)
    going = g.select(up, current < hi, current > hi)
    g.emit(ops.DO, VOID, [going.operand])
    if masked:
        lanes_left(s, loop)
    inner = len(g.branches)
    loop.next = g.open(ops.BLOCK, VOID, [])
    s.assign(stmt.target.name, current)
    loop_body(s, stmt, loop)
    if masked:
        _leave_when_empty(s, loop)
        g.level = outer
    g.drop_block(loop.next, inner, any(depth == len(g.brackets) - 1 for _, depth in g.branches[inner:]))
    s.at(stmt.line)
    g.code.append(Instr(ops.ADD, I64, counter, [counter, step.operand], 0, g.line))
    g.close()
    close(s)
    g.active.discard(counter)
    return finish(s, stmt, loop, made, bound, True, branches)


def _runtime_while(s: Staging, stmt: While) -> int:
    g = s.g
    if s.notes and (lanes_may_leave(s, stmt) or lanes_may_leave(s, stmt, "condition")):
        return varying_while(s, stmt)
    bound = s.values_of(stmt.writes)
    loop = LoopState("runtime", stmt, s.act, g.level, bound)
    made = carry(s, loop)
    if s.notes:
        enter(s, loop)
    s.open.append(loop)
    branches = len(g.branches)
    start = g.mark()
    loop.exit = g.open(ops.BLOCK, VOID, [])
    if stmt.forever:
        loop.next = g.open(ops.LOOP, VOID, [])
        status = loop_body(s, stmt, loop)
        s.at(stmt.line)
        if status == FALLS:
            g.branch(loop.next)
        g.close()
        if not loop.exits:
            # Nothing leaves it but a return.
            g.drop_block(loop.exit, branches, False)
            loop.exit = None
        close(s)
        return finish(s, stmt, loop, made, bound, False, branches)
    loop.next = g.open(ops.WHILE, VOID, [])
    found = decide(s, stmt.test)
    used = False
    if isinstance(found, Compound):
        if found.kind == AND and g.level is None:
            # while a and b: while a: if not b: break
            first = compound_value(s, found.first)
            g.emit(ops.DO, VOID, [first.operand])
            for part in found.rest:
                leave_unless(s, decide(s, part), loop.exit)
            used = True
        else:
            found = compound_value(s, found)
    if not isinstance(found, Compound):
        found = g.condition(found)
        if found.type.kind == KIND_MASK:
            g.rollback(start)
            s.note((id(stmt), s.act.path, "condition"), 1)
        g.emit(ops.DO, VOID, [found.operand])
    loop_body(s, stmt, loop)
    s.at(stmt.line)
    g.close()
    close(s)
    if used and not loop.exits:
        # The block is left by the condition only, with the names as they were before the body.
        g.close()
        loop.exit = None
    elif used:
        # Leaving by the condition reaches the block's end like leaving by break, with the values from before the body.
        s.restore({name for name in stmt.writes if name not in s.act.sticky}, bound)
        end = g.close()
        edges = [*loop.exits, Edge(s.values_of(loop.exit_names), dict(s.act.lines), loop.exit)]
        del end
        release(s, stmt, made, MAYBE_NEVER)
        carried = {name for name, _ in made}
        return s.merge(edges, loop.exit_names - carried - set(s.act.sticky), set())
    return finish(s, stmt, loop, made, bound, True, branches)
