"""Values of LLVM IR in registers: constants, integers of any width, conversions between them.

An integer of N bits is held in the narrowest signed integer with room for it, extended with its sign; `i1` in a bool. What LLVM reads as unsigned is
converted to the unsigned type where it is read so, which takes no instruction.
"""

from __future__ import annotations

from typing import Final, NoReturn

from loopwright.frontend.llvm.syntax import EXPRESSION, GLOBAL, LOCAL, NULL, NUMBER, UNDEFINED, Constant, Instruction, LlvmModule
from loopwright.frontend.llvm.types import FLOAT, INTEGER, POINTER, LlvmType, named, register_type
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.ir.ops import Op
from loopwright.types import BOOL, I8, I16, I32, I64, U8, U16, U32, U64, VOID, Type

__all__ = ["UNSIGNED", "ValueWriter"]

#: The unsigned type of the same width.
UNSIGNED: Final[dict[Type, Type]] = {I8: U8, I16: U16, I32: U32, I64: U64}


class ValueWriter:
    """Writes instructions for values into a function.

    Attributes:
        f, code: the function and its code.
        module: the module that is translated.
        line: of the user's source, for the next instruction.
        at: the instruction that is translated, for errors; None in front of the first, where ``start`` is the line.
        debug: the number of the function's debug information, or -1.
        held: the registers of values by name: one, or one for each part of an aggregate.
    """

    def __init__(self, f: Function, module: LlvmModule) -> None:
        self.f = f
        self.code = f.code
        self.module = module
        self.start = 0
        self.debug = -1
        self.line = 0
        self.at: Instruction | None = None
        self.held: dict[str, list[int]] = {}

    # --- errors -------------------------------------------------------------------------------------------------

    def unsupported(self, what: str) -> NoReturn:
        """Refuse something, with the line it stands in."""
        line, debug = (self.at.line, self.at.debug) if self.at is not None else (self.start, -1)
        raise self.module.unsupported(f"{self.f.name}: {what}", line, debug if debug >= 0 else self.debug)

    # --- instructions ---------------------------------------------------------------------------------------------

    def emit(self, op: Op, type_: Type, args: list[int], source: Type = VOID, result: Type | None = None, imm: int = 0, mem: Mem | None = None) -> int:
        """Write an instruction with a result; its register. Of constants, where it can be, the constant it gives."""
        if args and mem is None and op.meaning is not None and all(a < 0 for a in args):
            folded = self.f.folded(op, type_, source, args)
            if folded is not None:
                return folded
        dst = self.f.register(type_ if result is None else result)
        self.code.append(Instr(op, type_, dst, args, imm, self.line, source, mem))
        return dst

    def put(self, op: Op, type_: Type, args: list[int], imm: int = 0, mem: Mem | None = None) -> None:
        """Write an instruction without a result."""
        self.code.append(Instr(op, type_, NONE, args, imm, self.line, VOID, mem))

    def compare(self, op: Op, type_: Type, a: int, b: int) -> int:
        """A comparison of scalars."""
        return self.emit(op, type_, [a, b], VOID, BOOL)

    def convert(self, operand: int, to: Type) -> int:
        """A register's value as another type."""
        held = self.f.type_of(operand)
        if held is to:
            return operand
        if operand < 0 and held.kind != FLOAT and not held.is_float and not to.is_float:
            return self.f.const(to, self.f.const_values[~operand])
        return self.emit(ops.CONVERT, to, [operand], held)

    # --- types ----------------------------------------------------------------------------------------------------

    def type_of(self, type_: LlvmType) -> Type:
        """What holds a value of a type, which one register can."""
        held = register_type(type_)
        if held is None or held is VOID:
            self.unsupported(f"values of the type {named(type_)} are not supported")
        return held

    # --- values ---------------------------------------------------------------------------------------------------

    def local(self, name: str) -> list[int]:
        """The registers of a value that an instruction or a parameter gives."""
        return self.held[name]

    def operand(self, value: Constant) -> int:
        """A value that one register holds, or a constant."""
        kind = value.kind
        if kind == LOCAL:
            held = self.local(value.name)
            return held[0]
        type_ = self.type_of(value.type)
        if kind == NUMBER:
            return self.number(value.type, value.number)
        if kind in (NULL, UNDEFINED):
            # What is undefined may be anything; here it is 0.
            return self.f.const(type_, 0)
        if kind == GLOBAL:
            return self.symbol(value.name)
        if kind == EXPRESSION:
            return self.expression(value)
        self.unsupported(f"a constant of the type {value.type!r} is not supported here")

    def number(self, type_: LlvmType, value: int | float) -> int:
        """The constant for a number of a type."""
        held = self.type_of(type_)
        if type_.kind == INTEGER:
            bits = type_.bits
            whole = int(value) & (1 << bits) - 1
            return self.f.const(held, whole - (1 << bits) if bits > 1 and whole >> (bits - 1) else whole)
        return self.f.const(held, value)

    def symbol(self, name: str) -> int:
        """The address of a global or a function."""
        raise NotImplementedError

    def expression(self, value: Constant) -> int:
        """A constant that is computed when a program is linked."""
        raise NotImplementedError

    # --- integers -------------------------------------------------------------------------------------------------

    def wrapped(self, operand: int, type_: LlvmType) -> int:
        """What an operation leaves of an integer, extended with the sign it has at its own width. (Floats stay as they are.)"""
        held = self.f.type_of(operand)
        spare = held.bits - type_.bits
        if type_.kind != INTEGER or held is BOOL or not spare:
            return operand
        places = self.f.const(held, spare)
        return self.emit(ops.SHR_MODULO, held, [self.emit(ops.SHL_MODULO, held, [operand, places]), places])

    def unsigned(self, operand: int, type_: LlvmType) -> int:
        """An integer as LLVM reads it as unsigned, in the unsigned type that holds it."""
        held = self.f.type_of(operand)
        if held is BOOL:
            return self.convert(operand, U8)
        if held not in UNSIGNED:
            # (It was loaded so.)
            return operand
        made = self.convert(operand, UNSIGNED[held])
        if held.bits != type_.bits:
            made = self.emit(ops.AND, UNSIGNED[held], [made, self.f.const(UNSIGNED[held], (1 << type_.bits) - 1)])
        return made

    def signed(self, operand: int, type_: LlvmType) -> int:
        """An integer of any type as one of a width of LLVM's: its lower bits."""
        held = self.type_of(type_)
        if held is BOOL:
            from_ = self.f.type_of(operand)
            one = self.emit(ops.AND, from_, [operand, self.f.const(from_, 1)])
            return self.compare(ops.NE, from_, one, self.f.const(from_, 0))
        return self.wrapped(self.convert(operand, held), type_)

    def index(self, value: Constant) -> int:
        """An integer as an i64, with its sign."""
        return self.convert(self.operand(value), I64)

    def is_pointer(self, type_: LlvmType) -> bool:
        return type_.kind == POINTER

    def const(self, type_: Type, value: int | float | bool) -> int:
        return self.f.const(type_, value)
