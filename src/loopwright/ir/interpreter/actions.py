"""What instructions do that neither compute a result of their operands alone nor lead elsewhere, in a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from loopwright.ir import ops
from loopwright.ir.interpreter import steps
from loopwright.ir.interpreter.accesses import load, load_at, put_memory_operand, store, store_at, update
from loopwright.ir.interpreter.activation import Activation
from loopwright.ir.interpreter.addresses import address_accessed, global_address, local_address, stack_address
from loopwright.ir.interpreter.errors import failed_check
from loopwright.ir.interpreter.scattered import advance, chunks, indexed, load_parts, store_parts, store_some, strided
from loopwright.ir.interpreter.steps import Step
from loopwright.ir.memory_model import pointer

__all__ = ["ACTIONS", "Action"]

#: Does what an instruction does, of its operands' values; returns its result, or None.
Action = Callable[[Activation, Step, list[Any]], Any]


def _part(call: Activation, step: Step, values: list[Any]) -> Any:
    return call.parts[step.instr.imm]


def _div_rem(call: Activation, step: Step, values: list[Any]) -> Any:
    if step.mem is not None:
        put_memory_operand(call, step, values)
    call.parts = [op.meaning(step.type, step.type, *values) for op in (ops.DIV_TRUNC, ops.REM_TRUNC) if op.meaning is not None]
    return call.parts[0]


def _address(call: Activation, step: Step, values: list[Any]) -> Any:
    address, origin = address_accessed(call, step, values)
    return pointer(address, origin) if origin is not None else np.uint64(address)


def _local(call: Activation, step: Step, values: list[Any]) -> Any:
    return local_address(call, int(values[0]))


def _global(call: Activation, step: Step, values: list[Any]) -> Any:
    return global_address(call, step, int(values[0]))


def _function(call: Activation, step: Step, values: list[Any]) -> Any:
    return np.uint64(call.memory.function_address(call.prepared.f.callees[int(values[0])]))


def _alloca(call: Activation, step: Step, values: list[Any]) -> Any:
    return stack_address(call, step, int(values[0]), int(values[1]))


def _stack_pointer(call: Activation, step: Step, values: list[Any]) -> Any:
    # (Calls are counted, and are not on a stack of the machine.)
    return np.uint64(0xFFFF_FFFF_FFFF_FFF0)


def _unreachable(call: Activation, step: Step, values: list[Any]) -> Any:
    raise call.prepared.error(step.instr, "reached")


def _fail(call: Activation, step: Step, values: list[Any]) -> Any:
    raise failed_check(call.prepared.f, step.instr.imm, values[1:])


def _store_arg(call: Activation, step: Step, values: list[Any]) -> None:
    call.outgoing[step.instr.imm] = (values[0], step.type)


def _swap(call: Activation, step: Step, values: list[Any]) -> Any:
    raise call.prepared.error(step.instr, "only allocated registers can be swapped")


#: By the kind of a step.
ACTIONS: Final[dict[int, Action]] = {
    steps.LOAD: load,
    steps.STORE: store,
    steps.LOAD_AT: load_at,
    steps.STORE_AT: store_at,
    steps.ADDRESS: _address,
    steps.FAIL: _fail,
    steps.STORE_ARG: _store_arg,
    steps.SWAP: _swap,
    steps.LOCAL: _local,
    steps.LOAD_PARTS: load_parts,
    steps.STORE_PARTS: store_parts,
    steps.PART: _part,
    steps.ADVANCE: advance,
    steps.DIV_REM: _div_rem,
    steps.UPDATE: update,
    steps.STRIDED: strided,
    steps.INDEXED: indexed,
    steps.CHUNKS: chunks,
    steps.GLOBAL: _global,
    steps.FUNCTION: _function,
    steps.ALLOCA: _alloca,
    steps.UNREACHABLE: _unreachable,
    steps.STACK_POINTER: _stack_pointer,
    steps.STORE_SOME: store_some,
}
