"""Control flow that differs by lane, inside lw.lanes loops: both sides of an ``if`` run, each for its lanes; a loop runs while a lane remains in it.

Lanes that leave a loop one by one are taken out of a mask variable, and out of the masks of the ifs around.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright.frontend.conditions import compound_value, decide
from loopwright.frontend.containers import close, enter
from loopwright.frontend.emitter import Level
from loopwright.frontend.expr import Value, is_number
from loopwright.frontend.leaving import Departed
from loopwright.frontend.loops import Range
from loopwright.frontend.merging import MISSING, select_lanes
from loopwright.frontend.program import For, If, LoopStmt, NameTarget, While
from loopwright.frontend.promotion import promote
from loopwright.frontend.state import BREAK, FALLS, LEFT, Construct, LoopState
from loopwright.frontend.steps import finish, loop_body
from loopwright.frontend.variables import NOT_EVERYWHERE, carry
from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.types import BOOL, I64, VOID, mask_of

if TYPE_CHECKING:
    from loopwright.frontend.staging import Staging

__all__ = ["begin_remaining", "lanes_leave", "lanes_left", "lanes_may_leave", "varying_for", "varying_if", "varying_while"]


# --- conditions --------------------------------------------------------------------------------------------------


def varying_if(s: Staging, stmt: If, condition: Value) -> int:
    """An ``if`` on a condition that differs by lane: both sides run, each for its lanes."""
    g, act = s.g, s.act
    level = g.level
    if level is None:
        g.fail("`if` on a vector condition outside lw.lanes: use lw.any, lw.all or lw.select")
    type_ = mask_of(g.width, g.lanes)
    condition = g.as_mask(condition, type_)
    names = stmt.writes & stmt.live
    before = s.values_of(stmt.writes)
    lines = dict(act.lines)
    outer = g.region
    leaving = any(loop.remaining is not None for loop in act.loops)
    g.regions += 1
    g.region = g.regions
    begins = len(g.code)
    construct = Construct(act, stmt, level, None)
    g.level = _narrowed(s, ops.AND, [level.mask, condition], level, leaving)
    construct.anchor = g.code[begins]
    s.open.append(construct)
    status = s.block(stmt.body)
    values, value_lines = s.values_of(names), dict(act.lines)
    s.restore(stmt.writes, before)
    other = FALLS
    if stmt.orelse:
        g.regions += 1
        g.region = g.regions
        g.level = _narrowed(s, ops.ANDNOT, [condition, level.mask], level, leaving)
        other = s.block(stmt.orelse)
    g.level = level
    g.region = outer
    close(s)
    if status != FALLS and other != FALLS:
        return LEFT
    if status != FALLS:
        _keep(s, stmt, names)
        return FALLS
    others, other_lines = s.values_of(names), dict(act.lines)
    if other != FALLS:
        s.restore(names, values)
        _keep(s, stmt, names)
        return FALLS
    for name in sorted(names):
        if name in act.sticky:
            continue
        a, b = values.get(name, MISSING), others.get(name, MISSING)
        if a is MISSING or b is MISSING:
            if a is not b:
                s.lose(name, f"`{name}` {NOT_EVERYWHERE}")
            continue
        act.env[name] = select_lanes(g, name, condition, a, b, (value_lines.get(name, 0), other_lines.get(name, lines.get(name, 0))))
    _keep(s, stmt, names)
    return FALLS


def _keep(s: Staging, stmt: If, names: set[str]) -> None:
    """Names that are not read later have no value."""
    for name in stmt.writes:
        if name not in names and name not in s.act.sticky:
            s.act.env.pop(name, None)


def _narrowed(s: Staging, op: ops.Op, masks: list[Value], parent: Level, variable: bool) -> Level:
    """A level of fewer lanes; as a variable where lanes may leave it."""
    g = s.g
    type_ = masks[0].type
    mask = g.value(op, type_, [masks[0].operand, masks[1].operand], type_)
    if not variable:
        return Level(mask, parent)
    register = g.f.register(type_, "", True)
    g.copy_to(register, type_, mask.operand)
    return Level(Value(g, register, type_), parent, True)


# --- loops that lanes leave one by one ---------------------------------------------------------------------------


def lanes_may_leave(s: Staging, stmt: LoopStmt, how: str = "leaves") -> bool:
    """Whether lanes leave a loop one by one, here: by ``break`` and ``continue``, or by its condition (as an earlier attempt found out)."""
    return s.g.level is not None and (id(stmt), s.act.path, how) in s.notes


def begin_remaining(s: Staging, loop: LoopState) -> Instr:
    """Before such a loop: the mask variable of the lanes that are in it; the instruction that begins it."""
    g = s.g
    assert g.level is not None
    mask = g.level.mask
    register = g.f.register(mask.type, "", True)
    loop.remaining = Value(g, register, mask.type)
    return g.copy_to(register, mask.type, mask.operand)


def lanes_left(s: Staging, loop: LoopState) -> Instr | None:
    """At the start of a step: run the lanes that remain. Where they may skip the rest of it, the instruction that begins the step's own mask."""
    g = s.g
    assert loop.remaining is not None
    parent = g.level
    type_ = loop.remaining.type
    copy: Instr | None = None
    if not loop.stmt.continues:
        g.level = Level(loop.remaining, parent, True)
    else:
        register = g.f.register(type_, "", True)
        copy = g.copy_to(register, type_, loop.remaining.operand)
        g.level = Level(Value(g, register, type_), parent, True)
    loop.body = g.level
    return copy


def lanes_leave(s: Staging, loop: LoopState, breaks: bool) -> int:
    """break or continue for the lanes that run: take them out of the levels up to the loop's. How control leaves it."""
    g = s.g
    if loop.remaining is None:
        s.note((id(loop.stmt), s.act.path, "leaves"), 1)
    level = g.level
    assert level is not None and loop.remaining is not None
    if breaks and loop.kind == "python" and level is loop.body and len(g.brackets) == loop.depth and not loop.stmt.continues:
        # Every lane that is left leaves, and that is known while compiling.
        return BREAK
    type_ = level.mask.type
    leaving = g.value(ops.COPY, type_, [level.mask.operand], type_)
    done: set[int] = set()
    current: Level | None = level
    while current is not None:
        if current.variable:
            _clear(s, current.mask, leaving, done)
        if current is loop.body:
            break
        current = current.parent
    if breaks:
        _clear(s, loop.remaining, leaving, done)
    departed = loop.departed if breaks else loop.skipped
    if departed is not None:
        departed.leave(leaving)
    return LEFT


def _clear(s: Staging, mask: Value, leaving: Value, done: set[int]) -> None:
    if mask.operand not in done:
        done.add(mask.operand)
        s.g.code.append(Instr(ops.ANDNOT, mask.type, mask.operand, [leaving.operand, mask.operand], 0, s.g.line))


def varying_while(s: Staging, stmt: LoopStmt, counter: _Counter | None = None) -> int:
    """A ``while`` whose condition differs by lane, or which lanes leave one by one: it runs while a lane remains."""
    g = s.g
    outer = g.level
    bound = s.values_of(stmt.writes)
    loop = LoopState("runtime", stmt, s.act, outer, bound)
    anchor = begin_remaining(s, loop)
    assert loop.remaining is not None
    made = carry(s, loop, True)
    if s.notes:
        enter(s, loop, True)
    s.open.append(loop)
    if isinstance(stmt, While) and stmt.forever:
        # It runs at least once: what it assigns has a value after it.
        loop.departed = Departed(s, loop.exit_names, anchor)
    if counter is not None:
        counter.begin(s)
    branches = len(g.branches)
    if stmt.breaks:
        loop.exit = g.open(ops.BLOCK, VOID, [])
    g.open(ops.WHILE, VOID, [])
    remaining = loop.remaining
    g.level = Level(remaining, outer, True)
    if counter is not None:
        condition: Any = counter.going()
    else:
        assert isinstance(stmt, While)
        condition = True if stmt.forever else compound_value(s, decide(s, stmt.test))
    if condition is not True:
        mask = g.as_mask(g.condition(condition), remaining.type)
        g.code.append(Instr(ops.AND, remaining.type, remaining.operand, [remaining.operand, mask.operand], 0, g.line))
    some = g.value(ops.ANY, remaining.type, [remaining.operand], BOOL)
    g.emit(ops.DO, VOID, [some.operand])
    g.level = outer
    lanes_left(s, loop)
    inner = len(g.branches)
    loop.next = g.open(ops.BLOCK, VOID, [])
    if counter is not None:
        counter.bind(s)
    loop_body(s, stmt, loop)
    g.drop_block(loop.next, inner, any(index == len(g.brackets) - 1 for _, index in g.branches[inner:]))
    s.at(stmt.line)
    if counter is not None:
        counter.step()
    g.level = outer
    g.close()
    close(s)
    status = finish(s, stmt, loop, made, bound, True, branches)
    if loop.departed is not None:
        loop.departed.rejoin(None)
    return status


class _Counter:
    """The index of a range whose bounds differ by lane."""

    def __init__(self, s: Staging, stmt: For, spec: Range) -> None:
        g = s.g
        self.g = g
        if not isinstance(stmt.target, NameTarget):
            g.fail("`for` over lw.range takes one name")
        self.name = stmt.target.name
        if type(spec.step) is not int or spec.step == 0:
            g.fail("a range whose bounds differ by lane needs a step that is a Python integer other than 0")
        self.step_by = spec.step
        bounds = [g.staged(bound) for bound in (spec.lo, spec.hi)]
        for value in bounds:
            g.settle(value, I64)
            if not value.type.is_integer:
                g.fail(f"a bound of lw.range must be an integer, not {value.type}")
        # The index has the bounds' type, so that it is not wider than they are.
        typed = [value.type.element for bound, value in zip((spec.lo, spec.hi), bounds, strict=True) if not is_number(bound)]
        element = typed[0] if len(typed) == 1 else promote(typed[0], typed[1])
        assert element is not None
        full = g.vector(element, g.lanes)
        self.lo = g.operand(spec.lo if is_number(spec.lo) else bounds[0], full)
        self.hi = Value(g, g.operand(spec.hi if is_number(spec.hi) else g.snapshot(bounds[1]), full), full)
        self.index = Value(g, -1, full)

    def begin(self, s: Staging) -> None:
        g = self.g
        self.index = Value(g, g.f.register(self.index.type, "", True), self.index.type)
        g.copy_to(self.index.operand, self.index.type, self.lo)
        g.active.add(self.index.operand)

    def going(self) -> Value:
        made: Value = self.index < self.hi if self.step_by > 0 else self.index > self.hi
        return made

    def bind(self, s: Staging) -> None:
        s.assign(self.name, self.index)

    def step(self) -> None:
        g = self.g
        type_ = self.index.type
        g.code.append(Instr(ops.ADD, type_, self.index.operand, [self.index.operand, g.f.const(type_, self.step_by)], 0, g.line))
        g.active.discard(self.index.operand)


def varying_for(s: Staging, stmt: For, spec: Range) -> int:
    """A range whose bounds differ by lane."""
    return varying_while(s, stmt, _Counter(s, stmt, spec))
