"""Staging ``lw.lanes`` loops: scalar loops that are marked as such.

A variable from before the loop that the body updates is a reduction: inside the loop it can be updated in one way, and not be read. One that is assigned on the way out
only, in front of a ``break``, is a variable like those of other loops, and so is a total that is read as well: where it says at which element the next is stored, or is stored itself.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from loopwright.frontend import functions
from loopwright.frontend.complex_numbers import PARTS, Complex, as_pair, is_complex
from loopwright.frontend.containers import put, summed_elements
from loopwright.frontend.dependence import refuse_dependences
from loopwright.frontend.expr import Unavailable, Value, Weak, is_number
from loopwright.frontend.loops import Lanes
from loopwright.frontend.merging import MISSING, indices, item_of
from loopwright.frontend.program import For, NameTarget, Reduction
from loopwright.frontend.promotion import promote
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import FALLS, NOTHING, LoopState, Summed
from loopwright.frontend.steps import finish, loop_body
from loopwright.frontend.variables import assign, carry, lose_written
from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr, Loop
from loopwright.types import BOOL, F64, I64, VOID, Type

#: What conditions are reduced with.
_OF_CONDITIONS: Final = (ops.AND, ops.OR, ops.XOR)

__all__ = ["reduce_into", "runs_on", "stage_lanes", "update_reduction"]

_STEPS: Final[dict[str, ops.Op]] = {"add": ops.ADD, "sub": ops.ADD, "mul": ops.MUL, "and": ops.AND, "or": ops.OR, "xor": ops.XOR}
#: By the name of Python's operator.
_UPDATES: Final[dict[str, ops.Op]] = {"Add": ops.ADD, "Sub": ops.ADD, "Mult": ops.MUL, "BitAnd": ops.AND, "BitOr": ops.OR, "BitXor": ops.XOR}


def stage_lanes(s: Staging, stmt: For, spec: Lanes) -> int:
    """A ``for`` over lw.lanes: a scalar loop, marked as one whose steps may be made for several indices at once."""
    emitter = s.emitter
    if emitter.in_lanes:
        emitter.fail("lw.lanes inside lw.lanes: use lw.range for the inner loop")
    if not isinstance(stmt.target, NameTarget):
        emitter.fail("`for` over lw.lanes takes one name")
    lo = emitter.snapshot(emitter.index(spec.lo, "a bound of lw.lanes"))
    hi = emitter.snapshot(emitter.index(spec.hi, "a bound of lw.lanes"))
    bound = s.values_of(stmt.writes)
    loop = LoopState("lanes", stmt, s.act, bound)
    made = carry(s, loop, [name for name in stmt.carried if name in stmt.parting or name in stmt.running])
    branches = len(emitter.branches)
    if stmt.breaks:
        loop.exit = emitter.open(ops.BLOCK, VOID, [])
    f = emitter.f
    index = f.register(I64, stmt.target.name)
    described = Loop(NONE, spec.unroll, None, True)
    loop.next = emitter.open(ops.FOR, VOID, [lo.operand, hi.operand, f.const(I64, 1)], index, described)
    sums = _reductions(s, stmt, loop.next)
    if s.notes:
        for summed in summed_elements(s, loop, loop.next):
            _take_apart(s, summed)
            sums.append(summed)
    s.open.append(loop)
    emitter.in_lanes = True
    assign(s, stmt.target.name, Value(emitter, index, I64))
    loop_body(s, stmt, loop)
    s.at(stmt.line)
    emitter.close()
    refuse_dependences(emitter, loop.next)
    emitter.in_lanes = False
    s.open.pop()
    if made or loop.exit is not None:
        # (Where it ends without a break its index has no value, none from in front of it either.)
        bound.pop(stmt.target.name, None)
        finish(s, stmt, loop, made, bound, True, branches)
    for summed in sums:
        if summed.container is None:
            del s.act.sticky[summed.name]
    if not made and loop.exit is None:
        # Nothing leaves it but at its end, or to return.
        lose_written(
            s, stmt, NOTHING, "is assigned inside lw.lanes, where every lane has its own: store it in an array, or reduce into a variable from before the loop"
        )
    _reduce(s, sums, described)
    return FALLS


# --- reductions --------------------------------------------------------------------------------------------------


def _reductions(s: Staging, stmt: For, anchor: Instr) -> list[Summed]:
    """The names from before the loop that its body assigns and that are read later."""
    act, emitter = s.act, s.emitter
    sums: list[Summed] = []
    for name in stmt.carried:
        value = act.env.get(name, MISSING)
        if (
            name in stmt.parting
            or name in stmt.running
            or value is MISSING
            or isinstance(value, Unavailable)
            or isinstance(stmt.target, NameTarget)
            and stmt.target.name == name
        ):
            continue
        summed = Summed(name, value, anchor, act.lines.get(name, stmt.line))
        _take_apart(s, summed)
        summed.outer = act.sticky.get(name)
        act.sticky[name] = summed
        sign = "&" if _is_condition(value) else "+"
        act.env[name] = Unavailable(
            emitter,
            f"`{name}` is reduced over the lanes in this loop and has no value inside it, only after it; in the loop it can only be updated, as in {name} {sign}= v "
            "(what looks for the greatest element and its index, or reads what it adds up in a loop inside, is a loop over lw.range)",
        )
        sums.append(summed)
    return sums


def _take_apart(s: Staging, summed: Summed) -> None:
    """A complex number is reduced part by part."""
    if is_complex(summed.initial):
        pair = as_pair(s.emitter, summed.initial)
        summed.parts = [Summed(f"{summed.name}.{index}", item_of(pair, index), summed.anchor, summed.line) for index in indices(pair)]


def reduce_into(s: Staging, summed: Summed, form: Reduction) -> None:
    """Stage an update of a reduction."""
    emitter = s.emitter
    if form.function is None:
        for kind, code in form.steps:
            _accumulate(s, summed, _STEPS[kind], [None, s.evaluate(code)], ops.SUB if kind == "sub" else None)
        return
    function = s.evaluate(form.function)
    arguments = [None if code is None else s.evaluate(code) for code in form.arguments]
    if function is functions.fma and len(arguments) == 3 and arguments[2] is None and form.arguments[2] is None:
        _accumulate(s, summed, ops.ADD, arguments, ops.FMA)
        return
    op = _extreme(s, function)
    if op is None or len(arguments) < 2:
        emitter.fail(
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


def _extreme(s: Staging, function: Any) -> ops.Op | None:
    """What a function of the least or the greatest does; None for others."""
    names = s.builtins
    return ops.MIN if function is functions.min or function is names["min"] else ops.MAX if function is functions.max or function is names["max"] else None


def runs_on(s: Staging, form: Reduction | None) -> bool:
    """Whether an assignment in a loop over lanes makes a variable the least or the greatest so far, by a value that nobody else holds."""
    return form is not None and form.function is not None and s.emitter.in_lanes and _extreme(s, s.evaluate(form.function)) is not None


def update_reduction(s: Staging, summed: Summed, operator: str, value: Any) -> None:
    """Stage ``element op= value`` for a reduction."""
    op = _UPDATES.get(operator)
    if op is None:
        s.emitter.fail(f"`{summed.name}` comes from before the lw.lanes loop: it can be reduced with +=, -=, *=, &=, |= and ^=, with lw.min, lw.max and lw.fma")
    _accumulate(s, summed, op, [None, -value if operator == "Sub" else value])


def _accumulate(s: Staging, summed: Summed, op: ops.Op, operands: list[Any], emitted: ops.Op | None = None) -> None:
    """``total = op(total, …)``; None among the operands stands for the total."""
    emitter = s.emitter
    name = summed.name
    if summed.parts:
        _accumulate_parts(s, summed, op, operands, emitted)
        return
    if any(is_complex(operand) for operand in operands):
        emitter.fail(f"`{name}` is a real number (line {summed.line}) and is reduced with a complex one: start it as 0j, or as lw.complex64(0)")
    if summed.op is None:
        summed.op = op
    elif summed.op is not op:
        emitter.fail(f"`{name}` is reduced with both `{summed.op.name}` and `{op.name}` in one lw.lanes loop, whose lanes run in no order: use two variables")
    if op in _OF_CONDITIONS and _is_condition(summed.initial):
        _count(s, summed, operands)
        return
    type_ = _element(s, summed, [operand for operand in operands if operand is not None])
    if summed.total is None:
        _start(s, summed, type_)
    total = summed.total
    assert total is not None
    args = [total.operand if operand is None else _typed(s, operand, type_) for operand in operands]
    emitter.copy_to(total.operand, type_, emitter.define(emitted or op, type_, args, type_))


def _accumulate_parts(s: Staging, summed: Summed, op: ops.Op, operands: list[Any], emitted: ops.Op | None) -> None:
    """As ``_accumulate``, of a complex number."""
    if op is not ops.ADD or emitted is ops.FMA:
        s.emitter.fail(
            f"`{summed.name}` is a complex number from before the lw.lanes loop: it can be reduced with + and -, whose parts do not depend on each other; "
            "write a loop over lw.range for a product"
        )
    pairs = [None if operand is None else as_pair(s.emitter, operand) for operand in operands]
    for pair in pairs:
        if pair is not None and type(pair) is not Complex:
            s.emitter.fail(f"a reduction needs numbers, not {type(pair).__name__}")
    summed.op = op
    for part, index in zip(summed.parts, PARTS, strict=True):
        _accumulate(s, part, op, [None if pair is None else item_of(pair, index) for pair in pairs], emitted)


def _is_condition(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_)) or isinstance(value, Value) and value.type is BOOL


def _count(s: Staging, summed: Summed, operands: list[Any]) -> None:
    """As ``_accumulate``, of a condition: the values that decide are counted, of `&` those that do not hold."""
    emitter = s.emitter
    if summed.count is None:
        summed.count = Summed(summed.name, 0, summed.anchor, summed.line)
    for operand in operands:
        if operand is None:
            continue
        value = emitter.wrap(operand)
        if value is None or value.type is not BOOL:
            emitter.fail(
                f"`{summed.name}` is a condition (line {summed.line}) and is reduced with a number: compare it, as in v != 0, or start `{summed.name}` as an integer"
            )
        decides = emitter.logical_not(value) if summed.op is ops.AND else value
        _accumulate(s, summed.count, ops.ADD, [None, decides])


def _decided(s: Staging, summed: Summed, described: Loop) -> Any:
    """The condition behind its loop, of how many values decided it and what it was before."""
    emitter = s.emitter
    assert summed.count is not None
    count = _total(s, summed.count, described)
    zero = emitter.f.const(count.type, 0)
    if summed.op is ops.AND:
        return emitter.binary(ops.AND, emitter.value(ops.EQ, count.type, [count.operand, zero], BOOL), summed.initial)
    if summed.op is ops.XOR:
        count = emitter.binary(ops.AND, count, 1)
    assert summed.op is not None
    return emitter.binary(summed.op, emitter.value(ops.NE, count.type, [count.operand, zero], BOOL), summed.initial)


def _typed(s: Staging, value: Any, type_: Type) -> int:
    emitter = s.emitter
    if is_number(value):
        return emitter.number(type_, value)
    wrapped = emitter.wrap(value)
    if wrapped is None:
        emitter.fail(f"a reduction needs numbers, not {type(value).__name__}")
    return emitter.operand(wrapped, type_)


def _element(s: Staging, summed: Summed, values: list[Any]) -> Type:
    """The element type of a reduction; it is the variable's, or that of the first value when it starts as a Python number."""
    emitter = s.emitter
    found: Type | None = None
    floating = False
    for value in values:
        if is_number(value):
            floating = floating or type(value) is float
            continue
        wrapped = emitter.wrap(value)
        if wrapped is None:
            emitter.fail(f"`{summed.name}` is reduced with {type(value).__name__}, which is no number")
        emitter.settle(wrapped)
        element = wrapped.type.element
        if element is BOOL and summed.op is ops.ADD:
            # It counts.
            continue
        if element is BOOL:
            emitter.fail(
                f"`{summed.name}` is a number and is reduced with a condition: convert it, as in lw.i32(condition), write if condition: {summed.name} += 1, "
                "or start it as True or False"
            )
        found = element if found is None else promote(found, element)
    initial = summed.initial
    if summed.total is not None:
        want = summed.total.type.element
    elif is_number(initial) and type(initial) is not bool:
        want = found if found is not None else F64 if floating or type(initial) is float else I64
        if type(initial) is float and not want.is_float:
            emitter.fail(
                f"`{summed.name}` starts as a Python float (line {summed.line}) and is reduced with {want}: start it as an integer, or convert the value, as in lw.f64(v)"
            )
    elif isinstance(initial, Weak) and initial.open:
        want = found if found is not None else initial.type
        emitter.settle(initial, want)
    elif isinstance(initial, (Value, np.generic)):
        wrapped = emitter.wrap(initial)
        assert wrapped is not None
        want = wrapped.type
        if want is BOOL:
            emitter.fail(f"`{summed.name}` is a condition, which is reduced with &=, |= and ^= and conditions: use an integer, or lw.range for this loop")
    else:
        emitter.fail(
            f"`{summed.name}` is a Python value ({type(initial).__name__}) from before the lw.lanes loop and cannot change inside it: only numbers can be reduced"
        )
    if floating and not want.is_float or found is not None and promote(want, found) is not want:
        other = found if found is not None else "a Python float"
        emitter.fail(
            f"`{summed.name}` is {want} (line {summed.line}) and is reduced with {other} (line {emitter.at_line}), which would change its type: "
            f"convert the value, as in lw.{want}(…), or start `{summed.name}` as lw.{other if isinstance(other, Type) else 'f64'}(…)"
        )
    return want


def _start(s: Staging, summed: Summed, element: Type) -> None:
    """Make the accumulator, which starts with the value from before the loop."""
    emitter = s.emitter
    since = len(emitter.code)
    initial = summed.initial
    total = Value(emitter, emitter.f.register(element, summed.name, True), element)
    summed.total = total
    if is_number(initial):
        start = emitter.number(element, initial)
    else:
        wrapped = emitter.wrap(initial)
        assert wrapped is not None
        start = emitter.operand(wrapped, element)
    emitter.copy_to(total.operand, element, start)
    emitter.insert_before(summed.anchor, since)


def _reduce(s: Staging, sums: list[Summed], described: Loop) -> None:
    """After the loop: reduce the accumulators and combine them with the values from before."""
    emitter = s.emitter
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
        if summed.op is None:
            if summed.container is None:
                s.act.env[summed.name] = summed.initial
            continue
        if summed.count is not None:
            result: Any = _decided(s, summed, described)
        elif summed.parts:
            result = Complex(emitter, *[_total(s, part, described) for part in summed.parts])
        else:
            result = _total(s, summed, described)
        if summed.container is not None:
            put(s, summed.container, summed.index, result)
        else:
            assign(s, summed.name, result)


def _total(s: Staging, summed: Summed, described: Loop) -> Value:
    """The value of a reduction behind its loop, of which it is an accumulator."""
    total, op = summed.total, summed.op
    assert total is not None and op is not None
    described.accumulators.append((total.operand, op, s.emitter.f.const(total.type, op.neutral) if op.neutral is not None else total.operand))
    return total
