"""Staging loops: those that run at run time, and those that run while compiling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from loopwright.errors import LoopwrightError
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.assigning import bind
from loopwright.frontend.conditions import compound_value, decide, leave_unless
from loopwright.frontend.containers import close, enter
from loopwright.frontend.expr import Value, Weak, describe, is_number
from loopwright.frontend.lanes import stage_lanes
from loopwright.frontend.loops import Lanes, Range
from loopwright.frontend.merging import at_end, leaving, merge
from loopwright.frontend.program import AND, For, LoopStmt, NameTarget, Target, TupleTarget, While
from loopwright.frontend.python_ranges import (
    FEWEST,
    FEWEST_LEFT,
    MANY,
    MANY_TO_COPY,
    counters,
    counts_only,
    dense,
    hands_on_numbers,
    holds_loops,
    is_dense,
    once,
    runs_once,
    unrolled,
)
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import BREAK, CONTINUE, ENDED, FALLS, RETURN, UNROLL_LIMIT, Compound, Count, Edge, Guarded, LoopState
from loopwright.frontend.steps import MAYBE_NEVER, finish, loop_body
from loopwright.frontend.variables import assign, carry, release
from loopwright.frontend.walks import Elements, Walk, walk_through
from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.types import I64, VOID

__all__ = ["stage_for", "stage_range", "stage_while"]

# Not final: tests lower them.
#: Most steps of a for loop that runs while compiling: what it goes over may just be long.
FOR_LIMIT = 1_000_000
#: Most instructions that one such loop makes; they take some ten seconds to compile.
GROWTH_LIMIT = 200_000
#: A local array of so many elements is gone through while compiling, so that they can be variables.
FEW_ELEMENTS = 16


def stage_for(s: Staging, stmt: For) -> int:
    """A ``for`` over whatever its iterable turns out to be."""
    iterable = s.evaluate(stmt.iterable)
    kind = type(iterable)
    if kind is Range:
        return stage_range(s, stmt, iterable)
    if kind is Lanes:
        return stage_lanes(s, stmt, iterable)
    if isinstance(iterable, (StagedArray, Walk)):
        return _walked(s, stmt, walk_through(s.emitter, iterable))
    if isinstance(iterable, Value):
        iter(iterable)
    if kind is range and _does_the_same(s, stmt, iterable):
        return _at_run_time(s, stmt, iterable)
    try:
        items = iter(iterable)
    except TypeError:
        s.emitter.fail(f"`for` over {kind.__name__}: loop over lw.range(…), lw.lanes(…), or a Python value that can be iterated over")
    return _unrolled(s, stmt, items, iterable if kind is range else range(0))


def _walked(s: Staging, stmt: For, walk: Walk) -> int:
    """A loop over the elements of arrays."""
    if type(walk.length) is int and walk.length <= FEW_ELEMENTS:
        return _unrolled(s, stmt, Elements(walk), range(0))
    return stage_range(s, stmt, Range(0, walk.length, 1), None, walk)


def _does_the_same(s: Staging, stmt: For, numbers: range) -> bool:
    """Whether a loop over Python's numbers is to be one of run time, as far as is known before its first iteration."""
    if not numbers:
        return False
    if (counts_only(s, stmt, numbers) and holds_loops(s, stmt.body)) or runs_once(s, stmt):
        return True
    if s.dense and counts_only(s, stmt, numbers, many=True, dense=True):
        s.notes[once(s, stmt)] = len(numbers)
        return True
    return False


# --- loops that run while compiling ------------------------------------------------------------------------------


class _Unrolling:
    """A loop that runs while compiling, step by step, with the blocks that run-time breaks and continues in it leave."""

    def __init__(self, s: Staging, stmt: LoopStmt) -> None:
        emitter = s.emitter
        self.s = s
        self.stmt = stmt
        self.branches = len(emitter.branches)
        self.returned = s.act.returned
        self.loop = LoopState("python", stmt, s.act, s.values_of(stmt.writes))
        if stmt.breaks:
            self.loop.exit = emitter.open(ops.BLOCK, VOID, [])
        self.loop.depth = len(emitter.brackets)
        if stmt.continues:
            self.loop.next_names = stmt.writes & (stmt.live | stmt.head).union(stmt.carried)
        s.act.loops.append(self.loop)
        self.status = FALLS
        if s.notes:
            enter(s, self.loop)
        s.open.append(self.loop)

    def step(self) -> bool:
        """Stage the body once; False when the loop ends."""
        stmt = self.stmt
        status = self.status = self._continuing(stmt) if stmt.continues else self.s.block(stmt.body)
        return status in (FALLS, CONTINUE)

    def left(self) -> bool:
        """Whether something at run time leaves it, by a break or return."""
        return bool(self.loop.exits) or self.s.act.returned > self.returned

    def hands_on(self) -> bool:
        """Whether a name has its first value in this loop and is read behind it, so that its first iteration has to be known to run."""
        return any(name not in self.loop.bound and name in self.stmt.live for name in self.s.act.env.keys() & self.stmt.writes)

    def _continuing(self, stmt: LoopStmt) -> int:
        """Stage a body that paths of run time may continue from."""
        s, emitter, loop = self.s, self.s.emitter, self.loop
        branches = len(emitter.branches)
        edges = loop.nexts = []
        loop.next = emitter.open(ops.BLOCK, VOID, [])
        loop.depth = len(emitter.brackets)
        status = s.block(stmt.body)
        if status == BREAK and edges:
            # Other paths go on with the next step, so this one needs a branch.
            assert loop.exit is not None
            loop.exits.append(leaving(s, loop.exit_names, emitter.branch(loop.exit)))
            status = ENDED
        last = Edge(s.values_of(loop.next_names), dict(s.act.lines), loop.next) if status != ENDED else None
        end = emitter.drop_block(loop.next, branches, bool(edges))
        if edges:
            if last is not None:
                assert end is not None
                last.anchor = end
                edges.append(last)
            merge(s, edges, loop.next_names, set())
            if status == ENDED:
                status = FALLS
        return status

    def finish(self) -> int:
        s, emitter, loop = self.s, self.s.emitter, self.loop
        s.act.loops.pop()
        close(s)
        status = self.status
        if loop.exit is None:
            return status if status in (ENDED, RETURN) else FALLS
        edges = loop.exits
        last = at_end(s, loop) if status != ENDED else None
        end = emitter.drop_block(loop.exit, self.branches, bool(edges))
        if not edges:
            return status if status in (ENDED, RETURN) else FALLS
        if last is not None:
            assert end is not None
            last.anchor = end
            edges.append(last)
        return merge(s, edges, loop.exit_names, set())


def _unrolled(s: Staging, stmt: For, items: Any, numbers: range) -> int:
    """A ``for`` over a Python value, ``numbers`` if it is a range of these."""
    unrolling = _Unrolling(s, stmt)
    target = stmt.target
    name = target.name if type(target) is NameTarget else None
    steps = 0
    code = s.emitter.code
    longest = FOR_LIMIT
    before = len(code)
    iteration: list[Instr] = []
    most = before + GROWTH_LIMIT
    while True:
        s.at(stmt.line)
        try:
            item = next(items)
        except StopIteration:
            break
        if steps == longest or len(code) > most:
            grown = "has not ended" if steps == longest else f"has made {GROWTH_LIMIT} instructions"
            s.emitter.fail(
                f"this loop runs while compiling, because it is over a Python value, and {grown} after {steps} steps: for a loop at run time write for … in lw.range(…)"
            )
        steps += 1
        if name is not None:
            assign(s, name, item)
        else:
            bind(s, target, item)
        if not unrolling.step():
            break
        # (What is compared may be known in the first iteration.)
        if steps <= 2 and len(numbers) >= FEWEST_LEFT and unrolling.left() and not unrolling.hands_on() and counts_only(s, stmt, numbers, left=True):
            s.note(once(s, stmt), len(numbers))
        if steps == 1:
            iteration = code[before:]
        # (What its first number has been copied to may be that very number before, too.)
        if (
            (steps == 1 or (steps == 2 and stmt.copied))
            and (is_dense(iteration, len(numbers)) or (bool(stmt.copied) and len(numbers) >= MANY_TO_COPY))
            and not unrolling.hands_on()
            and counts_only(s, stmt, numbers, many=True, dense=True)
        ):
            s.notes[dense(s, stmt)] = 1
            s.note(once(s, stmt), len(numbers))
        if steps == 1 and (len(code) - before) * len(numbers) > MANY and counts_only(s, stmt, numbers, many=True):
            if not unrolling.hands_on():
                s.note(once(s, stmt), len(numbers))
            status = unrolling.finish()
            assert status == FALLS
            return _at_run_time(s, stmt, numbers[1:])
    return unrolling.finish()


def stage_while(s: Staging, stmt: While) -> int:
    """A ``while``: as long as its condition is known it runs while compiling, from then on at run time."""
    if stmt.forever:
        return _runtime_while(s, stmt)
    if runs_once(s, stmt):
        return _while_at_run_time(s, stmt)
    emitter = s.emitter
    unrolling: _Unrolling | None = None
    steps = 0
    always = not s.open and not stmt.breaks
    while True:
        s.at(stmt.line)
        mark = emitter.mark()
        # It is evaluated again when it is not known.
        s.open.append(Guarded(s.act))
        found = decide(s, stmt.test)
        s.open.pop()
        if type(found) is not bool:
            emitter.rollback(mark)
            if unrolling is None:
                return _runtime_while(s, stmt)
            unrolling.status = _runtime_while(s, stmt)
            return unrolling.finish()
        if not found:
            break
        if unrolling is None:
            unrolling = _Unrolling(s, stmt)
        steps += 1
        if steps > UNROLL_LIMIT:
            s.at(stmt.line)
            emitter.fail(
                f"this while loop runs while compiling, because its condition depends on Python values alone, and has not ended after {UNROLL_LIMIT} steps: "
                "for a loop at run time write for … in lw.range(…), or let the condition depend on a run-time value"
            )
        if not unrolling.step():
            break
        if ((steps == FEWEST_LEFT and unrolling.left()) or (always and steps == FEWEST and holds_loops(s, stmt.body))) and hands_on_numbers(s, stmt):
            s.note(once(s, stmt), steps)
    return unrolling.finish() if unrolling is not None else FALLS


# --- loops that run at run time ----------------------------------------------------------------------------------


def _at_run_time(s: Staging, stmt: For, numbers: range) -> int:
    """A Python range as one of the generated code; where that is refused, as a variable of another type in each iteration is, the next attempt unrolls it."""
    count = Count(unrolled(s, stmt), min(numbers[0], numbers[-1]), max(numbers[0], numbers[-1]), True, False)
    counts = _begin_counting(s, stmt, len(numbers))
    around = s.dense
    s.dense = around or dense(s, stmt) in s.notes
    try:
        status = stage_range(s, stmt, Range(numbers.start, numbers.stop, numbers.step), count)
    except LoopwrightError:
        s.note(unrolled(s, stmt), 1)
        raise
    s.dense = around
    _end_counting(s, counts)
    return status


def _while_at_run_time(s: Staging, stmt: While) -> int:
    """A ``while`` whose condition is known, as one of run time; the same where that is refused."""
    counts = _begin_counting(s, stmt, math.inf)
    try:
        status = _runtime_while(s, stmt)
    except LoopwrightError:
        s.note(unrolled(s, stmt), 1)
        raise
    _end_counting(s, counts)
    return status


def _begin_counting(s: Staging, stmt: LoopStmt, steps: float) -> dict[str, Count]:
    """What a loop counts in Python's numbers that is to run at run time, for so many steps at most."""
    s.counting.add((id(stmt), s.act.path))
    return counters(s, stmt, steps)


def _end_counting(s: Staging, counts: dict[str, Count]) -> None:
    """The types that such numbers get are looked at when all is staged."""
    env = s.act.env
    s.counts += [(env[name], count) for name, count in counts.items() if isinstance(env.get(name), Weak)]


def stage_range(s: Staging, stmt: For, spec: Range, count: Count | None = None, walk: Walk | None = None) -> int:
    """A range of the generated code; with ``count`` one of Python's, whose number has a type only for that; with ``walk`` what it goes through, by number."""
    emitter = s.emitter
    step = spec.step
    if not isinstance(step, Value) and not is_number(step):
        if not isinstance(step, np.generic):
            emitter.fail(f"the step of lw.range must be an integer, not {describe(step)}")
        step = emitter.wrap(step)
    if isinstance(step, Value):
        if step.operand >= 0:
            return _stepping(s, stmt, spec)
        step = emitter.f.const_values[~step.operand]
    if type(step) is not int:
        emitter.fail(f"the step of lw.range must be an integer, not {step!r}")
    if step == 0:
        emitter.fail("the step of lw.range must not be 0")
    if walk is None and not isinstance(stmt.target, NameTarget):
        emitter.fail("`for` over lw.range takes one name")
    lo = emitter.snapshot(emitter.index(spec.lo, "a bound of lw.range"))
    hi = emitter.snapshot(emitter.index(spec.hi, "a bound of lw.range"))
    bound = s.values_of(stmt.writes)
    loop = LoopState("runtime", stmt, s.act, bound)
    made = carry(s, loop)
    if s.notes:
        enter(s, loop)
    s.open.append(loop)
    branches = len(emitter.branches)
    if stmt.breaks:
        loop.exit = emitter.open(ops.BLOCK, VOID, [])
    index = emitter.f.register(I64, _name_of(stmt.target))
    if count is not None:
        s.numbers[index] = count
    loop.next = emitter.open(ops.FOR, VOID, [lo.operand, hi.operand, emitter.number(I64, step)], index)
    bind(s, stmt.target, Value(emitter, index, I64) if walk is None else walk.item(Value(emitter, index, I64)))
    loop_body(s, stmt, loop)
    s.at(stmt.line)
    emitter.close()
    close(s)
    return finish(s, stmt, loop, made, bound, True, branches)


def _name_of(target: Target) -> str:
    """The name by which a loop is known."""
    while isinstance(target, TupleTarget):
        target = target.items[0]
    return target.name if isinstance(target, NameTarget) else ""


def _stepping(s: Staging, stmt: For, spec: Range) -> int:
    """A range whose step is known at run time only: a while loop.

    Whether it counts down is asked once: of numbers whose bits are all turned round the lesser is the greater.
    """
    emitter = s.emitter
    if not isinstance(stmt.target, NameTarget):
        emitter.fail("`for` over lw.range takes one name")
    lo = emitter.index(spec.lo, "a bound of lw.range")
    hi = emitter.snapshot(emitter.index(spec.hi, "a bound of lw.range"))
    step = emitter.snapshot(emitter.index(spec.step, "the step of lw.range"))
    ones = None if _counts_up(s, step.operand) else emitter.value(ops.SHR, I64, [(step - 1).operand, emitter.f.const(I64, 63)], I64)
    last = hi if ones is None else emitter.snapshot(hi ^ ones)
    bound = s.values_of(stmt.writes)
    loop = LoopState("runtime", stmt, s.act, bound)
    made = carry(s, loop)
    if s.notes:
        enter(s, loop)
    s.open.append(loop)
    counter = emitter.f.register(I64, "", True)
    emitter.copy_to(counter, I64, lo.operand)
    emitter.active.add(counter)
    branches = len(emitter.branches)
    if stmt.breaks:
        loop.exit = emitter.open(ops.BLOCK, VOID, [])
    emitter.open(ops.WHILE, VOID, [])
    current = Value(emitter, counter, I64)
    going = (current if ones is None else current ^ ones) < last
    emitter.emit(ops.DO, VOID, [going.operand])
    inner = len(emitter.branches)
    loop.next = emitter.open(ops.BLOCK, VOID, [])
    assign(s, stmt.target.name, current)
    loop_body(s, stmt, loop)
    emitter.drop_block(loop.next, inner, any(depth == len(emitter.brackets) - 1 for _, depth in emitter.branches[inner:]))
    s.at(stmt.line)
    emitter.code.append(Instr(ops.ADD, I64, counter, [counter, step.operand], 0, emitter.line))
    emitter.close()
    close(s)
    emitter.active.discard(counter)
    return finish(s, stmt, loop, made, bound, True, branches)


def _counts_up(s: Staging, step: int) -> bool:
    """Whether a step is the index of a loop that begins above 0 and counts up."""
    f = s.emitter.f
    for opener in s.emitter.brackets:
        if opener.op is ops.FOR and opener.dst == step:
            lo, _, by = opener.args
            return lo < 0 and f.const_values[~lo] > 0 and f.const_values[~by] > 0
    return False


def _runtime_while(s: Staging, stmt: While) -> int:
    emitter = s.emitter
    bound = s.values_of(stmt.writes)
    loop = LoopState("runtime", stmt, s.act, bound)
    made = carry(s, loop)
    if s.notes:
        enter(s, loop)
    s.open.append(loop)
    branches = len(emitter.branches)
    loop.exit = emitter.open(ops.BLOCK, VOID, [])
    if stmt.forever:
        loop.next = emitter.open(ops.LOOP, VOID, [])
        status = loop_body(s, stmt, loop)
        s.at(stmt.line)
        if status == FALLS:
            emitter.branch(loop.next)
        emitter.close()
        if not loop.exits:
            # Nothing leaves it but a return.
            emitter.drop_block(loop.exit, branches, False)
            loop.exit = None
        close(s)
        return finish(s, stmt, loop, made, bound, False, branches)
    loop.next = emitter.open(ops.WHILE, VOID, [])
    found = decide(s, stmt.test)
    used = False
    if isinstance(found, Compound):
        if found.kind == AND:
            # while a and b: while a: if not b: break
            first = compound_value(s, found.first)
            emitter.emit(ops.DO, VOID, [first.operand])
            for part in found.rest:
                leave_unless(s, decide(s, part), loop.exit)
            used = True
        else:
            found = compound_value(s, found)
    if not isinstance(found, Compound):
        found = emitter.condition(found)
        emitter.emit(ops.DO, VOID, [found.operand])
    loop_body(s, stmt, loop)
    s.at(stmt.line)
    emitter.close()
    close(s)
    if used and not loop.exits:
        # The block is left by the condition only, with the names as they were before the body.
        emitter.close()
        loop.exit = None
    elif used:
        # Leaving by the condition reaches the block's end like leaving by break, with the values from before the body.
        s.restore({name for name in stmt.writes if name not in s.act.sticky}, bound)
        end = emitter.close()
        edges = [*loop.exits, at_end(s, loop)]
        del end
        release(s, stmt, made, MAYBE_NEVER)
        carried = {name for name, _ in made}
        return merge(s, edges, loop.exit_names - carried - set(s.act.sticky), set())
    return finish(s, stmt, loop, made, bound, True, branches)
