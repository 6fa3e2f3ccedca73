"""Loads and stores: of array elements, and of what is at an address."""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.ir import ops
from loopwright.ir.interpreter.activation import Activation
from loopwright.ir.interpreter.addresses import address_accessed, element_address
from loopwright.ir.interpreter.steps import Step
from loopwright.ir.interpreter.values import dtype_of
from loopwright.ir.memory_model import Object, Pointer
from loopwright.ir.roles import role_type
from loopwright.types import PTR, U64, Type

__all__ = ["bytes_accessed", "load", "load_at", "put_memory_operand", "read", "store", "store_at", "update", "write"]


def read(call: Activation, step: Step, address: int, origin: Object | None, type_: Type, mask: Any) -> Any:
    """A value from an address: of lanes that are off by a mask, zeros."""
    dtype = dtype_of(type_)
    mem = step.mem
    if mem is not None and mem.broadcast:
        return np.full(type_.lanes, bytes_accessed(call, step, address, origin, dtype.itemsize, False).view(dtype)[0], dtype)
    if not type_.lanes:
        size: int = dtype.itemsize
        held = _object_accessed(call, step, address, origin, size, False)
        at = address - held.low
        value = np.frombuffer(held.view, dtype, 1, at)[0]
        if call.prepared.traced:
            if type_ is PTR:
                return call.memory.loaded(held, at, int(value))
            if held.pointers:
                whole = call.memory.read_as_numbers(held, at, size)
                # (What copies memory word by word copies pointers.)
                return whole if type_ is U64 and whole is not None and whole.address == int(value) else value
        return value
    if mask is None or mask.all():
        return bytes_accessed(call, step, address, origin, type_.size, False).view(dtype).copy()
    out = np.zeros(type_.lanes, dtype)
    for lane in np.flatnonzero(mask):
        out[lane] = bytes_accessed(call, step, address + int(lane) * dtype.itemsize, origin, dtype.itemsize, False).view(dtype)[0]
    return out


def write(call: Activation, step: Step, address: int, origin: Object | None, value: Any, type_: Type, mask: Any) -> None:
    """Put a value at an address, but for lanes that are off by a mask."""
    if not type_.lanes or mask is None or mask.all():
        held = _object_accessed(call, step, address, origin, type_.size, True)
        at = address - held.low
        held.view.data[at : at + type_.size] = value.tobytes()
        if type(value) is Pointer and call.prepared.traced:
            call.memory.stored(held, at, value)
        return
    size: int = dtype_of(type_).itemsize
    for lane in np.flatnonzero(mask):
        bytes_accessed(call, step, address + int(lane) * size, origin, size, True)[:] = value[lane : lane + 1].view(np.uint8)


def _object_accessed(call: Activation, step: Step, address: int, origin: Object | None, size: int, write: bool) -> Object:
    """What is accessed: the pointer's own object, or, of a pointer without one, what is at the address."""
    if origin is not None:
        if origin.low <= address and address - origin.low + size <= (origin.writable if write else origin.readable):
            return origin
        found = None
    else:
        found = call.memory.at(address, size, write, call.prepared.traced)
    if found is None:
        raise call.prepared.outside(step.instr, f"address {address:#x} ({size} bytes) {call.memory.problem(address, size, write, origin)}")
    return found


def bytes_accessed(call: Activation, step: Step, address: int, origin: Object | None, size: int, write: bool) -> Any:
    """Bytes of an object. (Vectors of pointers have no objects: what they are read of is exposed.)"""
    held = _object_accessed(call, step, address, origin, size, write)
    at = address - held.low
    if held.pointers and call.prepared.traced:
        call.memory.read_as_numbers(held, at, size)
    return held.view[at : at + size]


# --- instructions -------------------------------------------------------------------------------------------


def put_memory_operand(call: Activation, step: Step, values: list[Any]) -> None:
    """Put what is at the address at the end of ``values`` into its place among them."""
    assert step.mem is not None
    address, origin = address_accessed(call, step, values)
    del values[step.address :]
    role = step.mem.role
    type_ = role_type(step.instr.op.operands[role], step.type, step.source)
    values.insert(role if role >= 0 else len(values), read(call, step, address, origin, type_, None))


def load(call: Activation, step: Step, values: list[Any]) -> Any:
    """Array elements."""
    mask = None
    if step.instr.op is ops.MASKED_LOAD:
        mask = values[0]
        del values[0]
        if not mask.any():
            return np.zeros(step.type.lanes, dtype_of(step.type))
    address, origin = element_address(call, step, [int(v) for v in values], mask)
    return read(call, step, address, origin, step.type, mask)


def store(call: Activation, step: Step, values: list[Any]) -> None:
    """The same, written."""
    mask = None
    if step.instr.op is ops.MASKED_STORE:
        mask = values[0]
        del values[0]
        if not mask.any():
            return
    address, origin = element_address(call, step, [int(v) for v in values[1:]], mask)
    write(call, step, address, origin, values[0], step.type, mask)


def load_at(call: Activation, step: Step, values: list[Any]) -> Any:
    """What is at an address."""
    mask = values[0] if step.address else None
    address, origin = address_accessed(call, step, values)
    return read(call, step, address, origin, step.type, mask)


def store_at(call: Activation, step: Step, values: list[Any]) -> None:
    """The same, written."""
    mask = values[0] if step.address == 2 else None
    address, origin = address_accessed(call, step, values)
    write(call, step, address, origin, values[step.address - 1], step.type, mask)


def update(call: Activation, step: Step, values: list[Any]) -> None:
    """An operation done in place, in memory."""
    assert step.meaning is not None
    address, origin = address_accessed(call, step, values)
    known = read(call, step, address, origin, step.type, None)
    write(call, step, address, origin, step.meaning(step.type, step.type, known, values[0]), step.type, None)
