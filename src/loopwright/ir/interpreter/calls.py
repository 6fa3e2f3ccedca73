"""Calls of what is no function of the program: by an address, of Python and C functions, of those that allocate memory, and of those that end the program."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

from loopwright.ir.function import Callee, Function
from loopwright.ir.heap import HeapError, Managed
from loopwright.ir.interpreter.activation import Activation
from loopwright.ir.interpreter.addresses import object_address
from loopwright.ir.interpreter.errors import InterpreterExit
from loopwright.ir.interpreter.steps import Step
from loopwright.ir.interpreter.values import WORD, wrapped
from loopwright.ir.memory_model import Pointer
from loopwright.ir.text import signature_text
from loopwright.types import PTR, VOID

__all__ = ["call_outside", "function_at"]

#: What ends a C program, and with what status, if that is no argument: this process goes on.
_ENDS: Final = {"exit": -1, "_exit": -1, "_Exit": -1, "quick_exit": -1, "abort": 128 + 6, "__assert_fail": 128 + 6}


def function_at(call: Activation, step: Step, signature: Callee, address: int) -> Callee:
    """The function that a call by address means, which must be of the signature the call has."""
    found = call.memory.function_at(address)
    if found is None:
        raise call.prepared.error(step.instr, f"there is no function at {address:#x}")
    if isinstance(found, Function):
        found = Callee(found.name, [found.types[p] for p in found.params], found.result, 0, found, None, -1, False, found.places, found.results)
    if found.params != signature.params or found.result is not signature.result or (found.places, found.results) != (signature.places, signature.results):
        raise call.prepared.error(
            step.instr,
            f"{signature_text(found.name, found.params, found.result, found.named)} is called as {signature_text(signature.name, signature.params, signature.result)}",
        )
    return found


def call_outside(call: Activation, step: Step, callee: Callee, values: list[Any]) -> Any:
    """Call something by the callee's name or its address, outside of the program; the result as the program has it."""
    error, program, memory = call.prepared.error, call.program, call.memory
    function: Any = program.callees.get(callee.name)
    if function is None:
        managed = program.heap.find(callee)
        if managed is not None:
            return _allocated(call, step, callee, managed, values)
        if callee.address and callee.name in _ENDS:
            raise _ended(call, step, callee.name, values)
        function = callee.keep if not callee.results and not callee.places else None
    if not callable(function):
        raise error(step.instr, f"nothing is known of {callee.name} to interpret it by")
    for value in values:
        if type(value) is Pointer:
            memory.expose(value.origin)
    result = program.heap.call(function, [v.item() if isinstance(v, np.generic) else v for v in values])
    pending = memory.pending
    if pending is not None:
        memory.pending = None
        raise pending
    if callee.result is VOID:
        return None
    try:
        if callee.result is not PTR:
            return wrapped(callee.result, result)
        # (ctypes has None for a null pointer.)
        address = 0 if result is None else int(result) & WORD
    except (TypeError, ValueError, OverflowError):
        raise error(step.instr, f"{callee.name} returned {result!r}, expected {callee.result.name}") from None
    program.heap.returned(callee, address)
    return memory.pointer_to(address) if call.prepared.traced else np.uint64(address)


def _ended(call: Activation, step: Step, name: str, values: list[Any]) -> InterpreterExit:
    """The program ends: what is raised for it."""
    status = _ENDS[name]
    if status < 0:
        status = int(values[0]) & 0xFF if values else 0
    said = f": {ctypes.string_at(int(values[0])).decode(errors='replace')}" if name == "__assert_fail" and values else ""
    prepared = call.prepared
    error = InterpreterExit(prepared.message(step.instr, f"the program ends, with status {status}{said}"), prepared.f.file, step.instr.line)
    error.status = status
    return error


def _allocated(call: Activation, step: Step, callee: Callee, managed: Managed, values: list[Any]) -> Any:
    """A call of a function that allocates memory, or frees it."""
    prepared = call.prepared
    try:
        made = managed(values, (prepared.f.name, step.instr.line))
    except HeapError as problem:
        raise prepared.outside(step.instr, str(problem)) from None
    if callee.result is not PTR:
        return None
    return np.uint64(0) if made is None else object_address(call, made)
