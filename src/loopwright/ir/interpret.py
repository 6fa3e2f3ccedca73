"""Executing a function over NumPy values, at every stage: the reference for everything the compiler makes of it.

Operations with a meaning in their row are executed by it, the flow of control and calls here, and the others, of memory most of all, by what ``interpreter/actions.py`` has
for them. After allocation, registers are the target's and hold one typed value each: reading one that was destroyed (by a call, by the scratch
use of an instruction) or that holds another type is an error, so that an allocation can be tested by running it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from loopwright.ir import ops
from loopwright.ir.function import NONE, Callee, Function
from loopwright.ir.interpreter.accesses import put_memory_operand
from loopwright.ir.interpreter.actions import ACTIONS
from loopwright.ir.interpreter.activation import Activation, Program
from loopwright.ir.interpreter.arguments import bound, enter, in_convention, partly_on_stack
from loopwright.ir.interpreter.calls import call_outside, function_at
from loopwright.ir.interpreter.errors import InterpreterBoundsError, InterpreterError, InterpreterExit, failed_check
from loopwright.ir.interpreter.preparation import Prepared
from loopwright.ir.interpreter.registers import as_read, destroy, destroyed_by_call, enter_iteration, handed_on, held_values, move, scratch, written
from loopwright.ir.interpreter.steps import CALL, FIRST_ACTION, FOR, GOTO, MOVE, NEXT, PURE, RET, STEP, SWITCH, UNLESS, WHEN, Step
from loopwright.ir.interpreter.values import WORD
from loopwright.ir.memory_model import Memory, Pointer
from loopwright.types import VOID

__all__ = ["Interpreter", "InterpreterBoundsError", "InterpreterError", "InterpreterExit", "run"]

#: Calls that may nest, and the frames of Python's that one of them takes at most.
_DEEPEST: Final = 10_000
_FRAMES: Final = 8


class Interpreter:
    """Runs one function.

    Args:
        f: the function, at any stage.
        target: needed after allocation (its registers and calling convention), and for calls with stack arguments.
        callees: Python functions to call, by the callee's name, before ``Callee.function`` and ``Callee.keep`` are tried.
        limit: how many instructions may be executed in one call.
        memory: memory to share with another interpreter.
    """

    def __init__(
        self, f: Function, target: Any = None, callees: Mapping[str, Callable[..., Any]] | None = None, limit: int = 50_000_000, memory: Memory | None = None
    ) -> None:
        self.limit = limit
        self._program = Program(target, dict(callees or {}), memory if memory is not None else Memory())
        if self._program.memory.run is None:
            self._program.memory.run = self._called_by_c
        self._prepared = Prepared(f, target, self._program.memory)
        # (The tests watch some of its operations.)
        self._code = self._prepared.steps
        self._last = Activation(self._prepared, self._program, limit, 0)

    @property
    def steps(self) -> int:
        """How many instructions the last call executed."""
        return self._last.steps

    def call(self, *args: Any) -> Any:
        """Call the function and return its result as a NumPy scalar, or None.

        An array parameter may be given as a NumPy array (its extents and strides then come from it), a ``ptr`` too;
        everything else as a number. Arrays are read and written in place. The last parameter of a checked function,
        where failures are recorded, may be left out; a recorded failure is then raised.

        Raises ``InterpreterError``, or ``InterpreterBoundsError``, which is a kind of it.
        """
        self._last = Activation(self._prepared, self._program, self.limit, 0)
        result = _perform(self._last, args)
        return np.uint64(result) if type(result) is Pointer else result

    def _called_by_c(self, f: Function, args: Sequence[Any]) -> Any:
        """A function that C calls by its address."""
        return _perform(self._last.within(f), args)


def run(f: Function, *args: Any, target: Any = None) -> Any:
    """Call ``f`` with ``args`` under the interpreter; see ``Interpreter.call``."""
    return Interpreter(f, target).call(*args)


def _perform(call: Activation, args: Sequence[Any]) -> Any:
    """Do a call, from its arguments to its result."""
    # (Without `*args` on the way of a nested call: Python 3.11 uses the C stack for such.)
    f = call.prepared.f
    if call.depth > _DEEPEST:
        raise InterpreterError(f"{f.name}: calls nest more than {_DEEPEST} deep", f.file)
    limit = sys.getrecursionlimit()
    try:
        if limit < _DEEPEST * _FRAMES and not call.depth:
            sys.setrecursionlimit(_DEEPEST * _FRAMES)
        enter(call, bound(call, args))
        result = _execute(call)
    except RecursionError:
        raise InterpreterError(f"{f.name}: calls nest too deeply", f.file) from None
    finally:
        if not call.depth:
            sys.setrecursionlimit(limit)
        for made in (*call.locals.values(), *call.stack):
            call.memory.end(made, "whose function has returned")
    record = call.record
    if record is not None and record[0]:
        raise failed_check(f, int(record[0]) - 1, list(record[1:3]))
    return result


def _execute(call: Activation) -> Any:
    """Execute a function's steps, from its first to a return."""
    prepared, store = call.prepared, call.store
    f, code, physical = prepared.f, prepared.steps, prepared.physical
    count = len(code)
    # Once lowered, a register may be read as another integer type of its size.
    lowered = bool(f.target_name)
    counters: dict[int, list[int]] = {}
    at = 0
    steps = 0
    limit = call.limit
    while at < count:
        step = code[at]
        at += 1
        steps += 1
        if steps > limit:
            raise prepared.error(step.instr, f"more than {limit} instructions executed")
        kind = step.kind
        if kind == NEXT:
            continue
        if kind == STEP:
            counter = counters[step.target]
            counter[0] += counter[2]
            if counter[0] < counter[1] if counter[2] > 0 else counter[0] > counter[1]:
                at = step.target + 1
                enter_iteration(call, code[step.target], counter)
            continue
        if physical:
            if kind == MOVE:
                move(call, step)
                continue
            if step.clobbers:
                destroy(step.clobbers, store, NONE)
            values = [] if kind == CALL else held_values(call, step)
        else:
            values = []
            for place in step.reads:
                value = store[place]
                if value is None:
                    value = handed_on(call, step, values, place)
                values.append(value)
            if lowered:
                as_read(call, step, values)
        if kind == PURE:
            if step.mem is not None:
                put_memory_operand(call, step, values)
            assert step.meaning is not None
            result = step.meaning(step.type, step.source, *values)
        elif kind >= FIRST_ACTION:
            result = ACTIONS[kind](call, step, values)
        elif kind == CALL:
            call.steps = steps
            result = _called(call, step, values)
            steps = call.steps
            call.outgoing.clear()
            if step.leaves:
                return result
        elif kind == RET:
            call.steps = steps
            return values[0] if values else None
        elif kind in (WHEN, UNLESS):
            if step.mem is not None:
                put_memory_operand(call, step, values)
            holds = bool(step.compare(step.type, VOID, *values)) != step.negated if step.compare is not None else bool(values[0])
            if holds == (kind == WHEN):
                at = step.target
            if step.kills or step.temps:
                scratch(step, store)
            continue
        elif kind == GOTO:
            at = step.target
            continue
        elif kind == FOR:
            at = _begun(call, step, values, counters, at)
            continue
        else:
            at = _switched(call, step, values, at)
            continue
        if physical:
            if step.kills or step.temps:
                scratch(step, store)
            if step.dst != NONE:
                store[step.dst] = result
                written(call, step, ops.result_type(step.instr.op, step.type, step.source))
        elif step.dst != NONE:
            store[step.dst] = result
    call.steps = steps
    if f.result is not VOID:
        raise InterpreterError(f"{f.name}: the function ended without a return", f.file)
    return None


def _begun(call: Activation, step: Step, values: list[Any], counters: dict[int, list[int]], at: int) -> int:
    """Begin a ``for``, of which the counter, its end and its step are kept by its index in the code; where to go on."""
    counter = [int(values[0]), int(values[1]), int(values[2])]
    if counter[2] == 0:
        raise call.prepared.error(step.instr, "the step is 0")
    if counter[0] < counter[1] if counter[2] > 0 else counter[0] > counter[1]:
        counters[at - 1] = counter
        enter_iteration(call, step, counter)
        return at
    return step.target + 1


def _switched(call: Activation, step: Step, values: list[Any], at: int) -> int:
    """Choose a case, or see whether it is the turn of one; where to go on."""
    if step.kind == SWITCH:
        call.case = int(values[0]) & WORD
        if step.target >= 0 and call.case >= int(values[1]):
            at = step.target
        scratch(step, call.store)
        return at
    # (An `if` is left where it is not its turn.)
    if (call.case == 0) == (step.instr.op is not ops.IF_CASE):
        at = step.target
    call.case -= 1
    return at


def _called(call: Activation, step: Step, values: list[Any]) -> Any:
    """Do a call: collect its arguments, find what is called, and destroy what calls destroy."""
    prepared = call.prepared
    callee = prepared.f.callees[step.instr.imm]
    by_address = step.instr.op in ops.INDIRECT
    address = 0
    if by_address:
        value = call.store[step.reads[0]]
        if value is None:
            raise prepared.undefined(step, step.reads[0])
        address = int(value) & WORD
        del values[:1]
    if prepared.physical:
        values = in_convention(call, step, callee)
    elif len(values) < len(callee.params):
        values = partly_on_stack(call, step, callee, values)
    result = _invoked(call, step, function_at(call, step, callee, address) if by_address else callee, values)
    if prepared.physical:
        destroyed_by_call(call)
    return result


def _invoked(call: Activation, step: Step, callee: Callee, values: list[Any]) -> Any:
    """The result of what is called: a function of the program, if it is one and no other is given for its name."""
    if callee.function is None or call.program.callees.get(callee.name) is not None:
        return call_outside(call, step, callee, values)
    nested = call.within(callee.function)
    result = _perform(nested, values)
    call.steps += nested.steps
    return result
