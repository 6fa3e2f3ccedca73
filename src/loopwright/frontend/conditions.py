"""Conditions: what is known while compiling is decided then, the rest becomes control flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from loopwright.frontend.containers import close
from loopwright.frontend.expr import Unavailable, Value, is_number
from loopwright.frontend.merging import join, merge, same
from loopwright.frontend.program import AND, LEAF, NOT, OR, If, Stmt, Test
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import FALLS, Compound, Construct, Edge, Guarded
from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.types import BOOL, I64, VOID

__all__ = ["by_branch", "compound_if", "compound_value", "decide", "leave_unless", "negated", "runtime_if", "short_circuit"]


def decide(s: Staging, test: Test) -> Any:
    """A condition, as far as it is known: a Python bool, a bool ``Value``, or a ``Compound``."""
    if test.kind == LEAF:
        assert test.code is not None
        value = s.evaluate(test.code)
        if isinstance(value, Value):
            return s.emitter.condition(value)
        return value if type(value) is bool else s.truth(value)
    if test.kind == NOT:
        return negated(s, decide(s, test.parts[0]))
    absorbing = test.kind == OR
    parts = test.parts
    for position, part in enumerate(parts):
        found = decide(s, part)
        if type(found) is bool:
            if found is absorbing:
                return found
            continue
        rest = parts[position + 1 :]
        return Compound(test.kind, found, rest) if rest else found
    return not absorbing


def negated(s: Staging, found: Any) -> Any:
    if type(found) is bool:
        return not found
    if isinstance(found, Value):
        return s.emitter.logical_not(found)
    return Compound(OR if found.kind == AND else AND, negated(s, found.first), [Test(NOT, None, [part]) for part in found.rest])


def compound_value(s: Staging, found: Any) -> Any:
    """A condition as one value, its later parts evaluated only where the earlier ones leave it open."""
    if not isinstance(found, Compound):
        return found

    def later(part: Test) -> Callable[[], Any]:
        return lambda: compound_value(s, decide(s, part))

    thunks = [later(part) for part in found.rest]
    return short_circuit(s, found.kind, compound_value(s, found.first), thunks)


#: Most instructions on the two sides of a conditional expression that are computed rather than branched around.
_CHEAP: Final = 4
_TRAPPING: Final[frozenset[ops.Op]] = ops.DIVISIONS


def short_circuit(s: Staging, kind: int, first: Any, thunks: list[Callable[[], Any]]) -> Any:
    """``and`` / ``or`` of conditions as a value."""
    absorbing = kind == OR
    if not isinstance(first, Value):
        for position, thunk in enumerate(thunks):
            if bool(first) is absorbing:
                return first
            first = thunk()
            if isinstance(first, Value):
                return short_circuit(s, kind, first, thunks[position + 1 :])
        return first
    if not thunks:
        return first
    s.open.append(Guarded(s.act))
    made = _short_circuit(s, absorbing, first, thunks)
    s.open.pop()
    return made


def _short_circuit(s: Staging, absorbing: bool, first: Value, thunks: list[Callable[[], Any]]) -> Any:
    emitter = s.emitter
    if isinstance(first, Unavailable):
        first.plain()
    mark = emitter.mark()
    if first.type is not BOOL:
        return _of_numbers(s, absorbing, first, thunks)
    reached: Value = first
    result = opened = 0
    for thunk in thunks:
        before = emitter.mark()
        since = len(emitter.code)
        found = thunk()
        if not (found.type is BOOL if isinstance(found, Value) else isinstance(found, (bool, np.bool_))):
            # (With a number among them the value is that of one of them.)
            emitter.rollback(mark)
            return _of_numbers(s, absorbing, first, thunks)
        if not _as_good_as_nothing(emitter.code, since):
            emitter.rollback(before)
            if not opened:
                result = emitter.f.register(BOOL, "", True)
                emitter.copy_to(result, BOOL, reached.operand)
            emitter.open(ops.IF, VOID, [(emitter.logical_not(reached) if absorbing else reached).operand])
            opened += 1
            reached = emitter.condition(thunk())
        else:
            reached = emitter.value(ops.OR if absorbing else ops.AND, BOOL, [reached.operand, emitter.condition(found).operand], BOOL)
        if opened:
            emitter.copy_to(result, BOOL, reached.operand)
    for _ in range(opened):
        emitter.close()
    return Value(emitter, result, BOOL) if opened else reached


def _as_good_as_nothing(code: list[Instr], since: int) -> bool:
    """Whether code is computed rather than branched around: it is short, can do no harm, and loads nothing."""
    return len(code) - since <= _CHEAP and all(instr.op.pure and instr.op not in _TRAPPING for instr in code[since:])


def _of_numbers(s: Staging, absorbing: bool, first: Any, thunks: list[Callable[[], Any]]) -> Any:
    """``and`` / ``or`` of numbers, and of conditions beside numbers, which are 0 or 1 there: the one that decides."""
    if not thunks:
        return first
    if not isinstance(first, Value):
        return first if bool(first) is absorbing else _of_numbers(s, absorbing, thunks[0](), thunks[1:])
    emitter = s.emitter
    first = emitter.snapshot(first)
    type_ = first.type

    def decides() -> Any:
        return int(absorbing) if type_ is BOOL else first

    def rest() -> Any:
        found = _of_numbers(s, absorbing, thunks[0](), thunks[1:])
        if isinstance(found, (bool, np.bool_)):
            return int(found)
        return emitter.convert(found, I64 if type_ is BOOL else type_) if isinstance(found, Value) and found.type is BOOL else found

    condition = emitter.condition(first)
    return by_branch(s, condition, decides, rest) if absorbing else by_branch(s, condition, rest, decides)


def by_branch(s: Staging, condition: Value, a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """A conditional expression on a condition of run time: a select where both sides are cheap, else a branch."""
    emitter = s.emitter
    code = emitter.code
    start = len(code)
    s.open.append(Guarded(s.act))
    first = a()
    middle = len(code)
    second = b()
    s.open.pop()
    if same(first, second) and len(code) == start:
        return first
    cheap = _as_good_as_nothing(code, start)
    numbers = isinstance(first, Value) or isinstance(second, Value) or type(first) is type(second) is bool
    if cheap and numbers and all(isinstance(v, Value) and not v.type.lanes or is_number(v) for v in (first, second)):
        return emitter.select(condition, first, second)
    # Put what was emitted for each side into its arm of an if.
    opener = Instr(ops.IF, VOID, NONE, [condition.operand], 0, emitter.line)
    otherwise = Instr(ops.ELSE, VOID, NONE, [], 0, emitter.line)
    code.insert(start, opener)
    code.insert(middle + 1, otherwise)
    end = emitter.emit(ops.END, VOID, [])
    name = "$this conditional expression"
    lines = {name: emitter.at_line}
    made = join(s, name, [Edge({name: first}, lines, otherwise), Edge({name: second}, lines, end)])
    if isinstance(made, Value):
        made.plain()
    return made


def _arm(s: Staging, body: list[Stmt]) -> int:
    """One side of a run-time if."""
    emitter = s.emitter
    outer = emitter.region
    emitter.regions += 1
    emitter.region = emitter.regions
    status = s.block(body)
    emitter.region = outer
    return status


def runtime_if(s: Staging, stmt: If, condition: Value) -> int:
    emitter = s.emitter
    names = stmt.writes & stmt.live
    before = s.values_of(stmt.writes)
    lines = dict(s.act.lines)
    opener = emitter.open(ops.IF, VOID, [condition.operand])
    s.open.append(Construct(s.act, stmt, opener))
    edges: list[Edge] = []
    current = stmt
    while True:
        status = _arm(s, current.body)
        ended = Edge(s.values_of(names), dict(s.act.lines), opener) if status == FALLS else None
        s.restore(stmt.writes, before)
        orelse = current.orelse
        if not orelse:
            edges.append(Edge(before, lines, opener))
            marker = emitter.close()
        elif len(orelse) == 1 and isinstance(orelse[0], If):
            inner = orelse[0]
            marker = emitter.emit(ops.ELIF, VOID, [])
            s.at(inner.line)
            found = decide(s, inner.test)
            if isinstance(found, Value) and found.type is BOOL:
                _reaches(edges, ended, marker)
                emitter.emit(ops.THEN, VOID, [found.operand])
                current = inner
                continue
            # A condition that needs more than one test, or none: a nested if.
            marker.op = ops.ELSE
            emitter.regions += 1
            outer, emitter.region = emitter.region, emitter.regions
            other = s.branch(inner, found)
            emitter.region = outer
            last = Edge(s.values_of(names), dict(s.act.lines), opener) if other == FALLS else None
            _reaches(edges, last, emitter.close())
        else:
            marker = emitter.emit(ops.ELSE, VOID, [])
            other = _arm(s, orelse)
            last = Edge(s.values_of(names), dict(s.act.lines), opener) if other == FALLS else None
            _reaches(edges, last, emitter.close())
        _reaches(edges, ended, marker)
        close(s)
        return merge(s, edges, names, stmt.writes)


def _reaches(edges: list[Edge], edge: Edge | None, anchor: Instr) -> None:
    """An arm has ended, with an edge if control goes on."""
    if edge is not None:
        edge.anchor = anchor
        edges.append(edge)


def compound_if(s: Staging, stmt: If, found: Compound) -> int:
    """``if a and b``: each part branches; no condition is materialised."""
    emitter = s.emitter
    names = stmt.writes & stmt.live
    before = s.values_of(stmt.writes)
    lines = dict(s.act.lines)
    edges: list[Edge] = []
    outside = emitter.open(ops.BLOCK, VOID, []) if stmt.orelse else None
    inside = emitter.open(ops.BLOCK, VOID, [])
    s.open.append(Construct(s.act, stmt, outside or inside))
    holds = leave_unless(s, found, inside)
    if holds and _arm(s, stmt.body) == FALLS:
        then = Edge(s.values_of(names), dict(s.act.lines), inside)
        if outside is not None:
            then.anchor = emitter.branch(outside)
        edges.append(then)
    end = emitter.close()
    if edges and outside is None:
        edges[0].anchor = end
    s.restore(stmt.writes, before)
    if outside is None:
        close(s)
        edges.append(Edge(before, lines, inside))
    else:
        other = None
        if _arm(s, stmt.orelse) == FALLS:
            other = Edge(s.values_of(names), dict(s.act.lines), inside)
        end = emitter.close()
        close(s)
        if other is not None:
            other.anchor = end
            edges.append(other)
    return merge(s, edges, names, stmt.writes)


def leave_unless(s: Staging, found: Any, opener: Instr) -> bool:
    """Branch out of a block when a condition does not hold; False when it never does."""
    emitter = s.emitter
    if type(found) is bool:
        if not found:
            emitter.branch(opener)
        return found
    if isinstance(found, Value):
        emitter.branch(opener, emitter.logical_not(emitter.condition(found)).operand)
        return True
    if found.kind == AND:
        if not leave_unless(s, found.first, opener):
            return False
        return all(leave_unless(s, decide(s, part), opener) for part in found.rest)
    holds = emitter.open(ops.BLOCK, VOID, [])
    _leave_if(s, found.first, holds)
    for part in found.rest[:-1]:
        _leave_if(s, decide(s, part), holds)
    leave_unless(s, decide(s, found.rest[-1]), opener)
    emitter.close()
    return True


def _leave_if(s: Staging, found: Any, opener: Instr) -> None:
    """Branch out of a block when a condition holds."""
    emitter = s.emitter
    if type(found) is bool:
        if found:
            emitter.branch(opener)
    elif isinstance(found, Value):
        emitter.branch(opener, emitter.condition(found).operand)
    elif found.kind == OR:
        _leave_if(s, found.first, opener)
        for part in found.rest:
            _leave_if(s, decide(s, part), opener)
    else:
        fails = emitter.open(ops.BLOCK, VOID, [])
        going = leave_unless(s, found.first, fails)
        for part in found.rest[:-1]:
            going = going and leave_unless(s, decide(s, part), fails)
        if going:
            _leave_if(s, decide(s, found.rest[-1]), opener)
        emitter.close()
