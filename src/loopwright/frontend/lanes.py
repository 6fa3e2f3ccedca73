"""Staging ``lw.lanes`` loops: one masked body for a vector of indices.

A variable from before the loop that the body updates is a reduction: a vector accumulator, reduced after the loop. Control
flow that differs by lane is in ``masked.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from loopwright.frontend import functions
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.containers import put, summed_elements
from loopwright.frontend.dependence import refuse_dependences
from loopwright.frontend.emitter import Level
from loopwright.frontend.expr import Unavailable, Value, Weak, is_number
from loopwright.frontend.lane_index import LaneIndex
from loopwright.frontend.loops import Lanes
from loopwright.frontend.masked import begin_remaining, lanes_may_leave
from loopwright.frontend.merging import MISSING
from loopwright.frontend.program import For, NameTarget, Reduction
from loopwright.frontend.promotion import promote
from loopwright.frontend.state import FALLS, LoopState, Summed
from loopwright.frontend.steps import finish, loop_body
from loopwright.ir import ops
from loopwright.ir.function import Instr, Loop
from loopwright.types import BOOL, F64, I64, VOID, Type, mask_of

if TYPE_CHECKING:
    from loopwright.frontend.staging import Staging

__all__ = ["reduce_into", "stage_lanes", "update_reduction"]

_STEPS: Final[dict[str, ops.Op]] = {"add": ops.ADD, "sub": ops.ADD, "mul": ops.MUL, "and": ops.AND, "or": ops.OR, "xor": ops.XOR}
#: By the name of Python's operator.
_UPDATES: Final[dict[str, ops.Op]] = {"Add": ops.ADD, "Sub": ops.ADD, "Mult": ops.MUL, "BitAnd": ops.AND, "BitOr": ops.OR, "BitXor": ops.XOR}


def stage_lanes(s: Staging, stmt: For, spec: Lanes) -> int:
    """A ``for`` over lw.lanes: one body, masked, for as many lanes as the widest type in it leaves room for."""
    g = s.g
    if g.lanes:
        g.fail("lw.lanes inside lw.lanes: use lw.range for the inner loop")
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
    loop = LoopState("lanes", stmt, s.act, None, bound)
    f = g.f
    mask_type = mask_of(width, lanes)
    index = f.register(I64, stmt.target.name)
    mask = f.register(mask_type)
    described = Loop(mask, spec.unroll)
    branches = len(g.branches)
    loop.next = g.open(ops.FOR, VOID, [lo.operand, hi.operand, f.const(I64, lanes)], index, described)
    sums = _reductions(s, stmt, loop.next)
    if s.notes:
        sums += summed_elements(s, loop, loop.next)
    s.open.append(loop)
    g.lanes, g.width, g.widest, g.stored = lanes, width, 0, []
    g.level = Level(Value(g, mask, mask_type), None)
    if s.notes and lanes_may_leave(s, stmt):
        # A `continue` takes lanes out of the rest of the body.
        begin_remaining(s, loop)
        assert loop.remaining is not None
        g.level = Level(loop.remaining, g.level, True)
    s.assign(stmt.target.name, LaneIndex(g, index, I64))
    loop_body(s, stmt, loop)
    s.at(stmt.line)
    g.settle_vectors()
    g.close()
    stored = g.stored
    for array in stored:
        if array.loaded or len(stored) > 1:
            refuse_dependences(g, loop.next)
            break
    if g.widest and g.widest != width:
        s.notes[key] = g.widest
        s.again = True
    g.lanes, g.width, g.widest, g.level = 0, 0, 0, None
    s.open.pop()
    for summed in sums:
        if summed.container is None:
            del s.act.sticky[summed.name]
    finish(s, stmt, loop, [], bound, True, branches)
    for name in stmt.writes:
        if name not in s.act.sticky:
            s.lose(
                name,
                f"`{name}` is assigned inside lw.lanes, where every lane has its own: store it in an array, or reduce into a variable from before the loop",
            )
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
    for name in stmt.carried:
        value = act.env.get(name, MISSING)
        if value is MISSING or isinstance(value, Unavailable) or isinstance(stmt.target, NameTarget) and stmt.target.name == name:
            continue
        summed = Summed(name, value, anchor, act.lines.get(name, stmt.line))
        summed.outer = act.sticky.get(name)
        act.sticky[name] = summed
        act.env[name] = Unavailable(
            g,
            f"`{name}` is reduced over the lanes in this loop and has no value inside it, only after it; in the loop it can only be updated, as in {name} += v",
        )
        sums.append(summed)
    return sums


def reduce_into(s: Staging, summed: Summed, form: Reduction) -> None:
    """Stage an update of a reduction."""
    g = s.g
    if form.function is None:
        for kind, code in form.steps:
            _accumulate(s, summed, _STEPS[kind], [None, s.evaluate(code)], ops.SUB if kind == "sub" else None)
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


def update_reduction(s: Staging, summed: Summed, operator: str, value: Any) -> None:
    """Stage ``element op= value`` for a reduction."""
    op = _UPDATES.get(operator)
    if op is None:
        s.g.fail(f"`{summed.name}` comes from before the lw.lanes loop: it can be reduced with +=, -=, *=, &=, |= and ^=, with lw.min, lw.max and lw.fma")
    _accumulate(s, summed, op, [None, -value if operator == "Sub" else value])


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
            g.fail(
                f"`{summed.name}` starts as a Python float (line {summed.line}) and is reduced with {want}: start it as an integer, or convert the value, as in lw.f64(v)"
            )
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
        g.fail(
            f"`{summed.name}` is a Python value ({type(initial).__name__}) from before the lw.lanes loop and cannot change inside it: only numbers can be reduced"
        )
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
        if summed.container is not None:
            cells = s.cells[id(summed.container)]
            if summed.outer is not None:
                cells[summed.index] = summed.outer
                summed.container[summed.index] = summed.outer.value
            else:
                del cells[summed.index]
                summed.container[summed.index] = summed.initial
        elif summed.outer is not None:
            s.act.sticky[summed.name] = summed.outer
            s.act.env[summed.name] = summed.outer.value
            s.act.missing.pop(summed.name, None)
        if summed.total is None or summed.op is None:
            if summed.container is None:
                s.act.env[summed.name] = summed.initial
            continue
        full = summed.total.type
        described.accumulators.append((summed.total.operand, summed.op, summed.identity))
        assert summed.op.reduction is not None
        result: Any = g.value(summed.op.reduction, full, [summed.total.operand], full.element)
        if not _absorbed(summed.op, summed.initial):
            result = g.operation(summed.op, [summed.initial, result])
        if summed.container is not None:
            put(s, summed.container, summed.index, result)
        else:
            s.assign(summed.name, result)


def _absorbed(op: ops.Op, initial: Any) -> bool:
    """Whether the value from before the loop changes nothing any more."""
    if op in (ops.MIN, ops.MAX, ops.AND, ops.OR):
        # Every lane started from it.
        return True
    neutral = 1 if op is ops.MUL else 0
    # A sum that started from +0.0 is never -0.0.
    return not isinstance(initial, Value) and bool(initial == neutral) and not (isinstance(initial, (float, np.floating)) and bool(np.signbit(initial)))
