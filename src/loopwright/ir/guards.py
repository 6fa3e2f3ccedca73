"""Checked modules: where their functions report failures, and what the stack has room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr, Mem, Site
from loopwright.types import BOOL, I64, PTR, VOID

__all__ = ["LIMIT", "guard", "share_sites"]

#: Where in the record of a checked call the address is that the stack is not to go below, in bytes.
LIMIT: Final = 24


def share_sites(functions: Sequence[Function], known: list[Site]) -> None:
    """Number the sites of checked functions together, behind those that are known: whoever calls them finds the site by its number alone."""
    for f in functions:
        if not f.options.check or f.sites is known:
            continue
        first = len(known)
        known += f.sites
        f.sites = known
        for instr in f.code:
            if instr.op is ops.FAIL:
                instr.imm += first


def guard(f: Function, line: int) -> None:
    """Let a checked function that calls others report, before anything else, that the stack has no room for it."""
    if not f.options.check or not any(callee.function is not None for callee in f.callees):
        return
    errors = f.params[-1]
    here, limit, beyond = f.register(PTR), f.register(PTR), f.register(BOOL)
    zero = f.const(I64, 0)
    f.sites.append(Site("", 0, line, f.name))
    f.code[:0] = [
        Instr(ops.STACK_POINTER, PTR, here, [], 0, line),
        Instr(ops.LOAD_AT, PTR, limit, [errors], 0, line, VOID, Mem(False, 1, LIMIT, 8)),
        Instr(ops.LT, PTR, beyond, [here, limit], 0, line),
        Instr(ops.IF, VOID, -1, [beyond], 0, line),
        Instr(ops.FAIL, VOID, -1, [errors, zero, zero], len(f.sites) - 1, line),
        Instr(ops.END, VOID, -1, [], 0, line),
    ]
