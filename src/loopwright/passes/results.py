"""Functions with several results, as conventions return them: in registers.

Up to here such a function has the address of memory for them as its last parameter, and so do its calls. The convention knows of no such parameter: the memory is the function's own
from here on, and a return takes its address, from which the epilogue loads the registers.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.targets.target import Target
from loopwright.types import I64, PTR, U8, VOID

__all__ = ["make"]


def make(f: Function, target: Target) -> None:
    """Have a function return its results in registers. Raises ``AbiError`` for more than the convention has."""
    if not f.results or f.result is not VOID:
        return
    target.convention.results(f.results)
    memory = f.params[-1]
    f.params = f.params[:-1]
    f.places = f.places[: len(f.params)]
    array = f.local_array(f.names[memory] or "results", U8, (8 * len(f.results),))
    array.base = memory
    array.written = True
    f.code.insert(0, Instr(ops.LOCAL, PTR, memory, [f.const(I64, len(f.arrays) - 1)]))
    f.result = PTR
    if f.code[-1].op not in (ops.RET, ops.UNREACHABLE):
        f.code.append(Instr(ops.RET, VOID, NONE, []))
    for instr in f.code:
        if instr.op is ops.RET:
            instr.args = [memory]
