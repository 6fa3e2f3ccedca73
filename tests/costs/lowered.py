"""Every machine instruction that some operation of the IR becomes, found by compiling them all."""

from __future__ import annotations

from typing import Any

from loopwright import compiler
from loopwright.errors import InternalError, LoopwrightError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.ir.ops import Op, mask_for, result_type
from loopwright.targets import registry
from loopwright.targets.target import Target
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type, mask_of, vector_of

SCALARS = (I32, I64, U32, U64, F32, F64, I8, U8, I16, U16)

Use = tuple[Any, bool, bool]


def machine_instructions(compiled: compiler.Compiled) -> set[Use]:
    """(form, has a memory operand, has a writemask) of each real instruction."""
    return {(item[0], item[2] is not None, item[4] != 0) for item in compiled.instructions.items if item[0].kind <= 2}


def _value(f: Function, type_: Type, p: int, at: int) -> int:
    if type_ is BOOL:
        made = f.register(BOOL)
        a = _value(f, I64, p, at)
        f.code.append(Instr(ops.LT, I64, made, [a, f.const(I64, 7)]))
        return made
    if type_.is_mask:
        element = {8: I8, 16: I16, 32: I32, 64: I64}[type_.bits]
        vector = vector_of(element, type_.lanes)
        a, b = _value(f, vector, p, at), _value(f, vector, p, at + 64)
        made = f.register(type_)
        f.code.append(Instr(ops.EQ, vector, made, [a, b]))
        return made
    made = f.register(type_)
    f.code.append(Instr(ops.LOAD_AT, type_, made, [p], 0, 1, VOID, Mem(False, 1, at, type_.size)))
    return made


def _consume(f: Function, type_: Type, value: int, p: int) -> None:
    if type_.is_mask:
        made = f.register(BOOL)
        f.code.append(Instr(ops.ANY, type_, made, [value]))
        type_, value = BOOL, made
    if type_ is BOOL:
        made = f.register(I64)
        f.code.append(Instr(ops.CONVERT, I64, made, [value], 0, 1, BOOL))
        type_, value = I64, made
    f.code.append(Instr(ops.STORE_AT, type_, NONE, [value, p], 0, 1, VOID, Mem(False, 1, 1024, type_.size)))


def function_of(op: Op, type_: Type, source: Type, constant: bool = False, fold: bool = True) -> Function:
    """A function that does one operation on values from memory and stores the result."""
    f = Function("one")
    p = f.param(PTR, "p")
    args: list[int] = []
    for n, letter in enumerate(op.operands):
        wanted = {"T": type_, "S": source, "E": type_.element, "M": mask_for(type_), "B": BOOL, "L": I64}.get(letter)
        if letter == "A":
            args.append(p)
        elif constant and n == 1 and wanted is not None and (wanted.is_integer or wanted.is_float):
            args.append(f.const(wanted, 3))
        elif letter == "L" and op is ops.SLIDE:
            args.append(f.const(I64, 1))
        elif wanted is None:
            raise LoopwrightError("not one of these")
        else:
            args.append(_value(f, wanted, p, 128 * n))
    if not fold:
        # Used once more, a load stays in a register.
        for a in args:
            if 0 <= a < len(f.types) and a != p and not f.types[a].is_mask and f.types[a] is not BOOL:
                f.code.append(Instr(ops.STORE_AT, f.types[a], NONE, [a, p], 0, 1, VOID, Mem(False, 1, 2048, f.types[a].size)))
    mem = Mem(False, 1, 512, type_.size) if "A" in op.operands else None
    made = NONE
    if op.result:
        made = f.register(result_type(op, type_, source))
    f.code.append(Instr(op, type_, made, args, 0, 1, source, mem))
    if made != NONE:
        _consume(f, f.types[made], made, p)
    f.code.append(Instr(ops.RET, VOID, NONE, []))
    return f


def _types(target: Target) -> list[Type]:
    found: list[Type] = [*SCALARS, BOOL, PTR]
    for element in SCALARS:
        for bits in (128, 256, 512):
            if bits <= target.vector_bits:
                found.append(vector_of(element, bits // element.bits))
    for lanes in (4, 8, 16):
        for bits in (32, 64):
            if bits * lanes <= target.vector_bits:
                found.append(mask_of(bits, lanes))
    if target.vector_bits >= 256:
        found.append(mask_of(8, 32))
    return found


def all_lowered() -> dict[Use, str]:
    """Each machine instruction with an operation that becomes it."""
    found: dict[Use, str] = {}
    for name in ("x86-64-v3", "x86-64-v4"):
        target = registry.get(name)
        types = _types(target)
        for op in ops.OPS:
            if op.effect in (ops.CONTROL, ops.CALLS) or op in (ops.SWAP, ops.STORE_ARG, ops.LOAD, ops.STORE, ops.MASKED_LOAD, ops.MASKED_STORE):
                continue
            for type_ in types:
                sources = [s for s in types if s.lanes == type_.lanes] if "S" in op.operands else [VOID]
                for source in sources:
                    for constant, fold in ((False, True), (True, True), (False, False)):
                        try:
                            compiled = compiler.compile(function_of(op, type_, source, constant, fold), target)
                        except (LoopwrightError, InternalError, KeyError, ValueError):
                            continue
                        for use in machine_instructions(compiled):
                            found.setdefault(use, f"{name} {op.name} {type_.name} {source.name}")
    return found
