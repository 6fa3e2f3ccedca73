"""Staging ``lw.lanes`` loops: control flow that differs by lane becomes masks.

A condition that differs by lane narrows the level (the lanes that run); both sides of an ``if`` are staged, each at its
level, and what they assign is selected. Lanes that leave a loop one by one are taken out of a mask variable, and the loop
runs while a lane remains. Variables from before the loop are reductions: a vector accumulator, reduced after the loop.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np

from loopwright.frontend import functions
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.emitter import Level, promote
from loopwright.frontend.expr import Unavailable, Value, Weak, is_number
from loopwright.frontend.lane_index import LaneIndex
from loopwright.frontend.loops import Lanes, Range
from loopwright.frontend.merging import MISSING, select_lanes
from loopwright.frontend.program import For, If, LoopStmt, NameTarget, Reduction, While
from loopwright.frontend.staging import ENDED, FALLS, LoopState, Staging, Sticky, Summed
from loopwright.ir import ops
from loopwright.ir.function import Instr, Loop
from loopwright.types import BOOL, F64, I64, VOID, Type, mask_of, vector_of

__all__ = ["begin_remaining", "lanes_leave", "lanes_left", "reduce_into", "stage_lanes", "varying_for", "varying_if", "varying_while"]

_REDUCE: Final[dict[ops.Op, ops.Op]] = {
    ops.ADD: ops.REDUCE_ADD,
    ops.MUL: ops.REDUCE_MUL,
    ops.MIN: ops.REDUCE_MIN,
    ops.MAX: ops.REDUCE_MAX,
    ops.AND: ops.REDUCE_AND,
    ops.OR: ops.REDUCE_OR,
    ops.XOR: ops.REDUCE_XOR,
}
_STEPS: Final[dict[str, ops.Op]] = {"add": ops.ADD, "sub": ops.ADD, "mul": ops.MUL, "and": ops.AND, "or": ops.OR, "xor": ops.XOR}


def stage_lanes(s: Staging, stmt: For, spec: Lanes) -> int:
    """A ``for`` over lw.lanes: one body, masked, for as many lanes as the widest type in it leaves room for."""
    from loopwright.frontend.looping import finish, loop_body, stage_range

    g = s.g
    if g.lanes:
        g.fail("lw.lanes inside lw.lanes: use lw.range for the inner loop")
    if s.vector_bits == 0:
        return stage_range(s, stmt, Range(spec.lo, spec.hi, 1))
    if not isinstance(stmt.target, NameTarget):
        g.fail("`for` over lw.lanes takes one name")
    if stmt.breaks:
        _refuse_break(s, stmt)
    visit = s.visits.get(id(stmt), 0)
    s.visits[id(stmt)] = visit + 1
    key = (id(stmt), visit, "width")
    width = s.notes.get(key) or _guess(s, stmt)
    lanes = s.vector_bits // width
    lo = g.snapshot(g.index(spec.lo, "a bound of lw.lanes"))
    hi = g.snapshot(g.index(spec.hi, "a bound of lw.lanes"))
    bound = s.values_of(stmt.writes)
    loop = LoopState("lanes", stmt)
    f = g.f
    mask_type = mask_of(width, lanes)
    index = f.register(I64, stmt.target.name)
    mask = f.register(mask_type)
    described = Loop(mask, spec.unroll)
    branches = len(g.branches)
    loop.next = g.open(ops.FOR, VOID, [lo.operand, hi.operand, f.const(I64, lanes)], index, described)
    sums = _reductions(s, stmt, loop.next)
    g.lanes, g.width, g.widest = lanes, width, 0
    g.level = Level(Value(g, mask, mask_type), None)
    s.assign(stmt.target.name, LaneIndex(g, index, I64))
    loop_body(s, stmt, loop)
    s.at(stmt.line)
    g.settle_vectors()
    g.close()
    if g.widest and g.widest != width:
        s.notes[key] = g.widest
        s.again = True
    g.lanes, g.width, g.widest, g.level = 0, 0, 0, None
    for summed in sums:
        del s.act.sticky[summed.name]
    finish(s, stmt, loop, [], bound, True, branches)
    for name in stmt.writes:
        if name not in s.act.sticky:
            s.lose(name, f"`{name}` is assigned inside lw.lanes, where every lane has its own: store it in an array, or reduce into a variable from before the loop")
    _reduce(s, sums, described)
    return FALLS


def _refuse_break(s: Staging, stmt: For) -> NoReturn:
    s.g.fail("`break` in an lw.lanes loop: the lanes run at once, in no order; use lw.range for this loop, or a condition")


def _guess(s: Staging, stmt: For) -> int:
    """Bits of the widest element in a lanes loop, before staging it: from the arrays its body names."""
    arrays = s.g.f.arrays
    first = arrays[0].element.bits if arrays else 32
    if all(array.element.bits == first for array in arrays):
        return first
    env = s.act.env
    named = [env[name].array.element.bits for name in stmt.reads if isinstance(env.get(name), StagedArray)]
    return max(named) if named else max(array.element.bits for array in arrays)


# --- reductions --------------------------------------------------------------------------------------------------


def _reductions(s: Staging, stmt: For, anchor: Instr) -> list[Summed]:
    """The names from before the loop that its body assigns and that are read later."""
    act, g = s.act, s.g
    sums: list[Summed] = []
    for name in sorted(stmt.carried):
        value = act.env.get(name, MISSING)
        if value is MISSING or isinstance(value, Unavailable) or isinstance(stmt.target, NameTarget) and stmt.target.name == name:
            continue
        summed = Summed(name, value, anchor, act.lines.get(name, stmt.line))
        summed.outer = act.sticky.get(name)
        act.sticky[name] = summed
        act.env[name] = Unavailable(
            g, f"`{name}` is reduced over the lanes in this loop and has no value inside it, only after it; in the loop it can only be updated, as in {name} += v"
        )
        sums.append(summed)
    return sums


def reduce_into(s: Staging, summed: Summed, form: Reduction) -> None:
    """Stage an update of a reduction."""
    g = s.g
    if form.function is None:
        for kind, code in form.steps:
            value = s.evaluate(code)
            if kind == "sub":
                value = -value
            _accumulate(s, summed, _STEPS[kind], [None, value])
        return
    function = s.evaluate(form.function)
    arguments = [None if code is None else s.evaluate(code) for code in form.arguments]
    names = s.builtins
    if function is functions.fma and len(arguments) == 3 and arguments[2] is None and form.arguments[2] is None:
        _accumulate(s, summed, ops.ADD, arguments, ops.FMA)
        return
    op = ops.MIN if function is functions.min or function is names["min"] else ops.MAX if function is functions.max or function is names["max"] else None
    if op is None or len(arguments) < 2:
        g.fail(
            f"`{summed.name}` comes from before the lw.lanes loop: it can be reduced with +, -, *, &, |, ^, lw.min, lw.max and lw.fma(a, b, {summed.name}), "
            f"not with {getattr(function, '__name__', function)}()"
        )
    position = next(k for k, code in enumerate(form.arguments) if code is None)
    if position == 0:
        for value in arguments[1:]:
            _accumulate(s, summed, op, [None, value])
        return
    value = arguments[0]
    for other in arguments[1:position]:
        value = (functions.min if op is ops.MIN else functions.max)(value, other)
    _accumulate(s, summed, op, [value, None])
    for other in arguments[position + 1 :]:
        _accumulate(s, summed, op, [None, other])


def _accumulate(s: Staging, summed: Summed, op: ops.Op, operands: list[Any], emitted: ops.Op | None = None) -> None:
    """``total = select(lanes that run, op(total, …), total)``; None among the operands stands for the total."""
    g = s.g
    name = summed.name
    if summed.op is None:
        summed.op = op
    elif summed.op is not op:
        g.fail(f"`{name}` is reduced with both `{summed.op.name}` and `{op.name}` in one lw.lanes loop, whose lanes run in no order: use two variables")
    type_ = _element(s, summed, [operand for operand in operands if operand is not None])
    if summed.total is None:
        _start(s, summed, op, type_)
    total = summed.total
    assert total is not None
    full = total.type
    args = [total.operand if operand is None else _widened(s, operand, full) for operand in operands]
    updated = g.define(emitted or op, full, args, full)
    g.code.append(Instr(ops.SELECT, full, total.operand, [g.mask_operand(full), updated, total.operand], 0, g.line))


def _widened(s: Staging, value: Any, full: Type) -> int:
    g = s.g
    if is_number(value):
        return g.number(full, value)
    wrapped = g.wrap(value)
    if wrapped is None:
        g.fail(f"a reduction needs numbers, not {type(value).__name__}")
    return g.operand(wrapped, full)


def _element(s: Staging, summed: Summed, values: list[Any]) -> Type:
    """The element type of a reduction; it is the variable's, or that of the first value when it starts as a Python number."""
    g = s.g
    found: Type | None = None
    floating = False
    for value in values:
        if is_number(value):
            floating = floating or type(value) is float
            continue
        wrapped = g.wrap(value)
        if wrapped is None:
            g.fail(f"`{summed.name}` is reduced with {type(value).__name__}, which is no number")
        g.settle(wrapped)
        element = wrapped.type.element
        if element is BOOL:
            g.fail(f"`{summed.name}` is reduced with a condition: convert it, as in lw.i32(condition), or write if condition: {summed.name} += 1")
        found = element if found is None else promote(found, element)
    initial = summed.initial
    if summed.total is not None:
        want = summed.total.type.element
    elif is_number(initial) and type(initial) is not bool:
        want = found if found is not None else F64 if floating or type(initial) is float else I64
        if type(initial) is float and not want.is_float:
            g.fail(f"`{summed.name}` starts as a Python float (line {summed.line}) and is reduced with {want}: start it as an integer, or convert the value, as in lw.f64(v)")
    elif isinstance(initial, Weak) and initial.open:
        want = found if found is not None else initial.type
        g.settle(initial, want)
    elif isinstance(initial, (Value, np.generic)):
        wrapped = g.wrap(initial)
        assert wrapped is not None
        want = wrapped.type
        if want is BOOL:
            g.fail(f"`{summed.name}` is a condition: reduce an integer, or use lw.range for this loop")
    else:
        g.fail(f"`{summed.name}` is a Python value ({type(initial).__name__}) from before the lw.lanes loop and cannot change inside it: only numbers can be reduced")
    if floating and not want.is_float or found is not None and promote(want, found) is not want:
        other = found if found is not None else "a Python float"
        g.fail(
            f"`{summed.name}` is {want} (line {summed.line}) and is reduced with {other} (line {g.at_line}), which would change its type: "
            f"convert the value, as in lw.{want}(…), or start `{summed.name}` as lw.{other if isinstance(other, Type) else 'f64'}(…)"
        )
    return want


def _start(s: Staging, summed: Summed, op: ops.Op, element: Type) -> None:
    """Make the accumulator, set before the loop to what changes nothing."""
    g = s.g
    f = g.f
    full = g.vector(element, g.lanes)
    total = Value(g, f.register(full, summed.name, True), full)
    summed.total = total
    since = len(g.code)
    if op is ops.ADD or op is ops.XOR:
        # +0.0, so that the sum of nothing is the initial value; -0.0 would be exact too, but costs a constant.
        identity = f.const(full, 0)
    elif op is ops.MUL:
        identity = f.const(full, 1)
    else:
        # The initial value itself: min, max, and, or may take it any number of times.
        initial = summed.initial
        if is_number(initial):
            identity = g.number(full, initial)
        else:
            wrapped = g.wrap(initial)
            assert wrapped is not None
            identity = g.splat(wrapped, g.lanes).operand
    g.copy_to(total.operand, full, identity)
    g.insert_before(summed.anchor, since)
    summed.identity = identity


def _reduce(s: Staging, sums: list[Summed], described: Loop) -> None:
    """After the loop: reduce the accumulators and combine them with the values from before."""
    g = s.g
    for summed in sums:
        if summed.outer is not None:
            s.act.sticky[summed.name] = summed.outer
            s.act.env[summed.name] = summed.outer.value
            s.act.missing.pop(summed.name, None)
        if summed.total is None or summed.op is None:
            s.act.env[summed.name] = summed.initial
            continue
        full = summed.total.type
        described.accumulators.append((summed.total.operand, summed.op, summed.identity))
        result: Any = g.value(_REDUCE[summed.op], full, [summed.total.operand], full.element)
        if not _absorbed(summed.op, summed.initial):
            result = g.operation(summed.op, [summed.initial, result])
        s.assign(summed.name, result)


def _absorbed(op: ops.Op, initial: Any) -> bool:
    """Whether the value from before the loop changes nothing any more."""
    if op in (ops.MIN, ops.MAX, ops.AND, ops.OR):
        # Every lane started from it.
        return True
    neutral = 1 if op is ops.MUL else 0
    # A sum that started from +0.0 is never -0.0.
    return not isinstance(initial, Value) and bool(initial == neutral) and not (isinstance(initial, (float, np.floating)) and bool(np.signbit(initial)))


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
    g.level = _narrowed(s, ops.AND, [level.mask, condition], level, leaving)
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
    if status != FALLS and other != FALLS:
        return ENDED
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
                s.lose(name, f"`{name}` is not assigned on every path to here: assign it on the others too, or before")
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


def begin_remaining(s: Staging, loop: LoopState) -> None:
    """Before such a loop: the mask variable of the lanes that are in it."""
    g = s.g
    assert g.level is not None
    mask = g.level.mask
    register = g.f.register(mask.type, "", True)
    g.copy_to(register, mask.type, mask.operand)
    loop.remaining = Value(g, register, mask.type)


def lanes_left(s: Staging, loop: LoopState) -> None:
    """At the start of a step: run the lanes that remain."""
    g = s.g
    assert loop.remaining is not None
    parent = g.level
    type_ = loop.remaining.type
    if not loop.stmt.continues:
        g.level = Level(loop.remaining, parent, True)
    else:
        register = g.f.register(type_, "", True)
        g.copy_to(register, type_, loop.remaining.operand)
        g.level = Level(Value(g, register, type_), parent, True)
    loop.level = g.level


def lanes_leave(s: Staging, loop: LoopState, breaks: bool) -> int:
    """break or continue for the lanes that run: take them out of the levels up to the loop's. How control leaves it."""
    g = s.g
    if loop.remaining is None:
        if loop.kind == "lanes":
            g.fail("`continue` in an lw.lanes loop inside another statement than `if`: write the rest of the body under the opposite condition")
        s.note((id(loop.stmt), "leaves"), 1)
    level = g.level
    assert level is not None and loop.remaining is not None
    type_ = level.mask.type
    leaving = g.value(ops.COPY, type_, [level.mask.operand], type_)
    done: set[int] = set()
    current: Level | None = level
    while current is not None:
        if current.variable:
            _clear(s, current.mask, leaving, done)
        if current is loop.level:
            break
        current = current.parent
    if breaks:
        _clear(s, loop.remaining, leaving, done)
    # Inside a bracket control goes on to its end, with these lanes off.
    return FALLS if len(g.brackets) > loop.depth else ENDED


def _clear(s: Staging, mask: Value, leaving: Value, done: set[int]) -> None:
    if mask.operand not in done:
        done.add(mask.operand)
        s.g.code.append(Instr(ops.ANDNOT, mask.type, mask.operand, [leaving.operand, mask.operand], 0, s.g.line))


def varying_while(s: Staging, stmt: LoopStmt, counter: _Counter | None = None) -> int:
    """A ``while`` whose condition differs by lane, or which lanes leave one by one: it runs while a lane remains."""
    from loopwright.frontend.looping import finish, loop_body

    g = s.g
    outer = g.level
    bound = s.values_of(stmt.writes)
    loop = LoopState("runtime", stmt)
    begin_remaining(s, loop)
    assert loop.remaining is not None
    made = s.carry(stmt, True)
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
        condition = True if stmt.forever else s.compound_value(s.decide(stmt.test))
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
    return finish(s, stmt, loop, made, bound, True, branches)


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
