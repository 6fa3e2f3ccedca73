"""Operand types of an instruction, read off its row: the one place that knows what the role letters stand for."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.types import BOOL, I64, PTR, VOID, Type

__all__ = ["address_at", "is_known_address", "natural_size", "operand_types", "role_type", "same_known_address"]


def role_type(letter: str, type_: Type, source: Type) -> Type:
    """The type an operand (or result) role stands for; VOID for the roles that are not one operand."""
    if letter == "T":
        return type_
    if letter == "M":
        return ops.mask_for(type_)
    if letter == "S":
        return source
    if letter == "E":
        return type_.element
    if letter == "L" or letter == "*L" or letter == "K" or letter == "C":
        return I64
    if letter == "B":
        return BOOL
    if letter == "P":
        return PTR
    return VOID


def address_at(instr: Instr) -> int:
    """Where in ``instr.args`` the address begins, or -1 without one.

    Found from the front, because scratch registers may follow the operands after allocation.
    """
    if instr.mem is None:
        return -1
    roles = instr.op.operands
    for position, letter in enumerate(roles):
        if letter == "A":
            return position
    return len(roles) - 1


def is_known_address(instr: Instr) -> bool:
    """Whether an instruction makes an address without reading a register: the same anywhere in the function."""
    return instr.op in ops.NUMBERED or (instr.op is ops.ADDRESS and instr.mem is not None and instr.mem.origin is not None and not instr.mem.indexed)


def same_known_address(a: Instr, b: Instr) -> bool:
    """Whether two such instructions make the same address."""
    if a.op is not b.op or a.args[0] != b.args[0]:
        return False
    return a.mem is None or b.mem is None or (a.mem.origin is b.mem.origin and a.mem.disp == b.mem.disp)


def natural_size(instr: Instr) -> int:
    """Bytes that the address of ``instr`` accesses when its ``Mem`` does not say otherwise."""
    mem = instr.mem
    if mem is None or instr.op is ops.ADDRESS:
        return 0
    roles = instr.op.operands
    loaded = instr.type if "A" in roles or not roles else role_type(roles[mem.role], instr.type, instr.source)
    return loaded.element.size if mem.broadcast else loaded.size * instr.op.parts


def operand_types(f: Function, instr: Instr) -> list[Type]:
    """The type each operand of ``instr`` must have, one per entry of ``instr.args``, or more entries when operands are missing.

    VOID where any register will do: scratch registers appended by the allocator, and the arguments of a call some of
    whose arguments were put on the stack before.
    """
    op = instr.op
    count = len(instr.args)
    out: list[Type] = []
    type_ = instr.type
    at = address_at(instr)
    letters = list(op.operands)
    if instr.mem is not None and 0 <= instr.mem.role < len(letters):
        # The operand in memory comes last.
        letters.append(letters.pop(instr.mem.role))
    for position, letter in enumerate(letters):
        if position == at:
            out.append(PTR if instr.mem is None or instr.mem.origin is None else I64)
            if instr.mem is not None and instr.mem.indexed:
                out.append(I64)
        elif letter == "T":
            # What is added to a pointer, or taken from it, is a number of bytes.
            out.append(I64 if position == 1 and type_ is PTR and (op is ops.ADD or op is ops.SUB) else type_)
        elif letter == "*L":
            out.extend([I64] * (count - len(out)))
        elif letter == "*":
            if op is ops.RET:
                if f.result is not VOID:
                    out.append(f.result)
            elif op in ops.CALLING:
                if op in ops.INDIRECT:
                    out.append(PTR)
                params = f.callees[instr.imm].params if 0 <= instr.imm < len(f.callees) else []
                rest = count - len(out)
                out.extend(params if len(params) == rest else [VOID] * rest)
            else:
                # fail: where to record it, then the values.
                out.extend([PTR] + [I64] * (count - 1))
        else:
            out.append(role_type(letter, type_, instr.source))
    if len(out) < count:
        out.extend([VOID] * (count - len(out)))
    return out
