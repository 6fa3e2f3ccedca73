"""Loads and stores of several vectors, and of elements that are not next to each other: dealt out in turn, strided, at offsets of their own, by 128 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.ir import ops
from loopwright.ir.interpreter.accesses import bytes_accessed, put_memory_operand, read, write
from loopwright.ir.interpreter.activation import Activation
from loopwright.ir.interpreter.addresses import address_accessed, element_address
from loopwright.ir.interpreter.steps import LOAD_PARTS, Step
from loopwright.ir.interpreter.values import WORD, dtype_of
from loopwright.ir.memory_model import Pointer

__all__ = ["advance", "chunks", "indexed", "load_parts", "store_parts", "store_some", "strided"]


def load_parts(call: Activation, step: Step, values: list[Any]) -> Any:
    """The first of several vectors whose elements lie in turn, or the one that the instruction names; the others are kept for its parts."""
    count = step.instr.op.parts
    address, origin = address_accessed(call, step, values)
    every = bytes_accessed(call, step, address, origin, step.type.size * count, False).view(dtype_of(step.type))
    call.parts = [every[n::count].copy() for n in range(count)]
    return call.parts[step.instr.imm if step.kind == LOAD_PARTS else 0]


def store_parts(call: Activation, step: Step, values: list[Any]) -> None:
    """Several vectors, their elements in turn."""
    stored = np.column_stack(values[: step.address]).ravel().view(np.uint8)
    address, origin = address_accessed(call, step, values)
    bytes_accessed(call, step, address, origin, stored.size, True)[:] = stored


def store_some(call: Activation, step: Step, values: list[Any]) -> None:
    """The same of some bytes; the others are not touched."""
    stored = np.column_stack(values[: step.address]).ravel().view(np.uint8)
    address, origin = address_accessed(call, step, values)
    for n in range(stored.size):
        if step.instr.imm >> n % 16 & 1:
            bytes_accessed(call, step, address + n, origin, 1, True)[:] = stored[n]


def advance(call: Activation, step: Step, values: list[Any]) -> Any:
    """An access that moves its pointer on; of a load, what is behind its result is kept for its parts."""
    op = step.instr.op
    moved = np.uint64(int(values[step.address]) + step.instr.imm & WORD)
    if op.effect == ops.WRITES:
        if op.parts > 1:
            store_parts(call, step, values)
        else:
            write(call, step, *address_accessed(call, step, values), values[0], step.type, None)
        return moved
    if op.parts > 1:
        load_parts(call, step, values)
    else:
        call.parts = [read(call, step, *address_accessed(call, step, values), step.type, None)]
    call.parts.append(moved)
    return call.parts[0]


def strided(call: Activation, step: Step, values: list[Any]) -> Any:
    """Elements so many bytes apart, loaded or stored."""
    instr = step.instr
    first = len(instr.op.operands) - 1
    stride = int(values[first - 1])
    lanes = np.flatnonzero(values[0]) if instr.op in ops.UNMASKED else np.arange(step.type.lanes)
    found = np.zeros(step.type.lanes, dtype_of(step.type))
    if not len(lanes):
        return found if instr.op.result else None
    # (Of lanes that are off the first one's index may be outside.)
    checked = instr.op not in ops.UNMASKED
    if step.mem is not None:
        address, origin = address_accessed(call, step, values)
    else:
        address, origin = element_address(call, step, [int(v) for v in values[first:]], None, checked)
    element = step.type.element
    for lane in lanes:
        at = bytes_accessed(call, step, address + int(lane) * stride, origin, element.size, not instr.op.result)
        if instr.op.result:
            found[lane] = at.view(found.dtype)[0]
        else:
            at[:] = values[first - 2][lane : lane + 1].view(np.uint8)
    return found if instr.op.result else None


def indexed(call: Activation, step: Step, values: list[Any]) -> Any:
    """Elements each at an offset of its own, loaded or stored in the order of the lanes."""
    instr = step.instr
    if instr.op is ops.GATHER_SINGLY:
        if step.mem is not None:
            put_memory_operand(call, step, values)
        offsets, base = values
        address, origin = (base.address, base.origin if call.prepared.traced else None) if type(base) is Pointer else (int(base), None)
        on = np.arange(step.type.lanes)
    else:
        address, origin = address_accessed(call, step, values)
        offsets = values[step.address - 1]
        on = np.flatnonzero(values[0])
    found = np.zeros(step.type.lanes, dtype_of(step.type))
    for lane in on:
        at = bytes_accessed(call, step, address + int(offsets[lane]) * instr.imm, origin, step.type.element.size, not instr.op.result)
        if instr.op.result:
            found[lane] = at.view(found.dtype)[0]
        else:
            at[:] = values[1][lane : lane + 1].view(np.uint8)
    return found if instr.op.result else None


def chunks(call: Activation, step: Step, values: list[Any]) -> Any:
    """Parts of 128 bits, so many bytes apart."""
    instr = step.instr
    first = len(instr.op.operands) - 1
    apart = int(values[first - 1]) if instr.op in ops.ROWS else instr.imm
    if step.mem is not None:
        address, origin = address_accessed(call, step, values)
    else:
        address, origin = element_address(call, step, [int(v) for v in values[first:]], None)
    stored = values[0].view(np.uint8).reshape(-1, 16) if not instr.op.result else None
    found: list[Any] = []
    for n in range(step.type.size // 16):
        at = bytes_accessed(call, step, address + n * apart, origin, 16, stored is not None)
        if stored is None:
            found.append(at.copy())
        else:
            at[:] = stored[n]
    return np.concatenate(found).view(dtype_of(step.type)) if stored is None else None
