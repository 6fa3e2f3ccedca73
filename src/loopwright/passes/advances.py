"""Post- and pre-increment: an access by a pointer and the addition of a constant to that pointer become one instruction.

It is done where instructions have been selected, in straight stretches of code. Of the accesses by a pointer that is advanced further down, the last one that is
where the pointer is before, or will be behind, takes the addition along, and what follows it is addressed from the advanced pointer.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr, Mem
from loopwright.ir.roles import address_at
from loopwright.targets.target import Target
from loopwright.types import PTR, VOID

__all__ = ["run"]

_GONE: Final = Instr(ops.END, VOID, -1, [])


def run(f: Function, target: Target) -> None:
    """Let accesses advance their pointers, where ``target`` has room for that in an instruction."""
    code = f.code
    #: Where the straight stretch under way began.
    begun = 0
    changed = False
    #: By pointer, where it was advanced last.
    advanced: dict[int, int] = {}
    made: dict[int, list[Instr]] = {}
    for k in range(len(code)):
        instr = code[k]
        op = instr.op
        if op.effect == ops.CONTROL:
            begun = k + 1
        elif op is ops.ADD and instr.type is PTR and instr.args[0] == instr.dst and instr.args[1] < 0:
            by = int(f.const_values[~instr.args[1]])
            at = _place(f, target, max(begun, advanced.get(instr.dst, 0)), k, by)
            advanced[instr.dst] = k
            if at >= 0:
                _move(f, target, at, k, by, made)
                changed = True
    if changed:
        out: list[Instr] = []
        for k in range(len(code)):
            if code[k] is not _GONE:
                out.append(code[k])
            parts = made.get(k)
            if parts is not None:
                out += parts
        f.code = out


def _place(f: Function, target: Target, begun: int, end: int, by: int) -> int:
    """Which access between two positions can take the addition at the second along; -1 for none."""
    code = f.code
    pointer = code[end].dst
    for k in range(end - 1, begun - 1, -1):
        instr = code[k]
        if instr.dst == pointer:
            return -1
        if pointer not in instr.args:
            continue
        mem = instr.mem
        if mem is None or mem.indexed or instr.args.count(pointer) > 1 or instr.args[address_at(instr)] != pointer:
            return -1
        op = instr.op
        addressing = target.addressing(instr.type)
        if (
            op in ops.ADVANCES
            and (mem.disp == 0 or mem.disp == by)
            and (addressing.advances_several(by, mem.size) and mem.disp == 0 if op.parts > 1 else addressing.advances(by))
            and not (op.effect == ops.WRITES and instr.args[0] < 0)
        ):
            return k
        if not (addressing.displaces(mem.disp - by) if op.parts == 1 else mem.disp == by):
            # It has no room to be addressed from the advanced pointer.
            return -1
    return -1


def _move(f: Function, target: Target, at: int, end: int, by: int, made: dict[int, list[Instr]]) -> None:
    """Let the access at one position do what the addition at another does."""
    code = f.code
    addition = code[end]
    pointer = addition.dst
    access = code[at]
    assert access.mem is not None
    op = ops.ADVANCES[access.op]
    writes = op.effect == ops.WRITES
    access.op = op
    access.imm = by
    if writes:
        access.dst = pointer
    else:
        part = Instr(ops.PART, PTR, pointer, [], len(op.further), addition.line)
        part.rule = target.rule(f, part)
        last = at
        while code[last + 1].op is ops.PART:
            last += 1
        made[last] = [part]
    access.rule = target.rule(f, access)
    for k in range(at + 1, end):
        instr = code[k]
        mem = instr.mem
        if mem is not None and pointer in instr.args and instr.args[address_at(instr)] == pointer:
            instr.mem = Mem(mem.indexed, mem.scale, mem.disp - by, mem.size, mem.broadcast, mem.role, mem.array)
    code[end] = _GONE
