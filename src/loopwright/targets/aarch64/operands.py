"""What the emitting functions share: operands as machine codes, the shapes of instructions for types, and rules that are one row.

Registers hold integers of 8 and 16 bits extended to 32 by their own sign, ``bool`` as 0 or 1; of 32-bit integers the upper half of a register may be anything. Every rule
expects and leaves them so. Vectors of fewer than 16 bytes are in the low bytes; what is above may be anything. Masks are vectors of lanes all ones or all zeros.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import Function, Instr
from loopwright.targets.aarch64.abi import AArch64Assembler
from loopwright.targets.aarch64.notation import BOTH, IMMEDIATE, READ, WRITE, Row
from loopwright.targets.aarch64.registers import CODES, INTS, SCRATCH, VECTORS, ZR
from loopwright.targets.target import Rule, Use
from loopwright.types import Type

__all__ = ["FORMATS", "INT", "VECTOR", "arrangement", "bytes_of", "bytewise", "chain", "constant_of", "one", "register", "width"]

INT: Final = Use(INTS)
INT_LATE: Final = Use(INTS, late=True)
VECTOR: Final = Use(VECTORS)
VECTOR_LATE: Final = Use(VECTORS, late=True)

_LETTERS: Final = {8: "b", 16: "h", 32: "s", 64: "d"}
#: Floats in memory, by their bits, as the module ``struct`` has them.
FORMATS: Final = {16: "e", 32: "f", 64: "d"}


def width(type_: Type) -> str:
    """The shape of instructions on a scalar: ``w`` or ``x`` of integers, ``h``, ``s`` or ``d`` of floats."""
    if type_.is_float:
        return _LETTERS[type_.bits]
    return "x" if type_.bits == 64 else "w"


def letter(type_: Type) -> str:
    """The letter of a lane's width."""
    return _LETTERS[type_.bits]


def bytes_of(type_: Type) -> int:
    """Bytes of a vector or mask."""
    return type_.bits * type_.lanes // 8


def arrangement(type_: Type) -> str:
    """The shape of instructions on lanes: those of a vector of fewer than 8 bytes work on 8."""
    size = 16 if bytes_of(type_) == 16 else 8
    return f"{size * 8 // type_.bits}{_LETTERS[type_.bits]}"


def bytewise(type_: Type) -> str:
    """The shape of bitwise instructions on a vector."""
    return "16b" if bytes_of(type_) == 16 else "8b"


def constant_of(f: Function, operand: int) -> int:
    """The value of a constant integer operand."""
    return int(f.const_values[~operand])


def register(asm: AArch64Assembler, f: Function, operand: int, scratch: int = SCRATCH) -> int:
    """The machine code of an integer operand; a constant is the zero register if it is 0, otherwise it is loaded into ``scratch``."""
    if operand >= 0:
        return CODES[operand]
    value = constant_of(f, operand)
    if value == 0:
        return ZR
    type_ = f.const_types[~operand]
    asm.load_immediate(scratch, value if type_.bits == 64 else value & 0xFFFFFFFF)
    return scratch


class _One:
    """Emits one instruction: its registers from the result and the operands in a given order, its immediates as given."""

    __slots__ = ("plan", "row")

    def __init__(self, row: Row, order: tuple[int, ...], immediates: tuple[int, ...]) -> None:
        self.row = row
        # Per operand of the row: -1 the result, otherwise an operand of the operation; immediates as ~value.
        self.plan: list[tuple[bool, int]] = []
        taken = given = 0
        for cls, role in zip(row.classes, row.roles, strict=True):
            if cls == IMMEDIATE:
                self.plan.append((True, immediates[given] if given < len(immediates) else 0))
                given += 1
            elif role == WRITE:
                self.plan.append((False, -1))
            else:
                # What is read and written is the result's register by the time.
                self.plan.append((False, -1 if role == BOTH else order[taken]))
                taken += 1

    def emit(self, asm: AArch64Assembler, f: Function, instr: Instr) -> None:
        args = instr.args
        values: list[int] = []
        for fixed, which in self.plan:
            if fixed:
                values.append(which)
            else:
                values.append(CODES[instr.dst] if which < 0 else register(asm, f, args[which]))
        asm.emit(self.row, *values)


def one(name: str, row: Row, order: tuple[int, ...] = (), immediates: tuple[int, ...] = (), constants: int = 0) -> Rule:
    """A rule that is one instruction; what it demands follows from the roles of the row's operands.

    Args:
        name: for listings.
        row: the instruction.
        order: for the row's operands that are read, in their order, the operation's operands; as they stand if left out.
        immediates: for its immediates; 0 if left out.
        constants: how many constant operands the operation has behind those the row reads.
    """
    row.prepare()
    read = [(cls, role) for cls, role in zip(row.classes, row.roles, strict=True) if role in (READ, BOTH)]
    order = order or tuple(range(len(read)))
    tied = -1
    uses: list[Use] = [INT] * len(read)
    overwritten = any(role == BOTH for _, role in read)
    for (cls, role), which in zip(read, order, strict=True):
        if role == BOTH:
            tied = which
            uses[which] = Use(cls)
        else:
            uses[which] = Use(cls, late=overwritten)
    made = next((cls for cls, role in zip(row.classes, row.roles, strict=True) if role in (WRITE, BOTH)), -1)
    uses += [VECTOR] * constants
    return Rule(name, tuple(uses), Use(made) if made >= 0 else None, _One(row, order, immediates).emit, tied)


class _Chain:
    """Emits instructions of one operand each, one on what the other leaves."""

    __slots__ = ("steps",)

    def __init__(self, steps: list[tuple[Row, tuple[int, ...]]]) -> None:
        self.steps = steps

    def emit(self, asm: AArch64Assembler, f: Function, instr: Instr) -> None:
        source = CODES[instr.args[0]]
        rd = CODES[instr.dst]
        for row, immediates in self.steps:
            asm.emit(row, rd, source, *immediates)
            source = rd
        if not self.steps:
            asm.move_vector(rd, source)


def chain(name: str, steps: list[tuple[Row, tuple[int, ...]]]) -> Rule:
    """A rule that is a chain of instructions on vectors; none is a move."""
    for row, _ in steps:
        row.prepare()
    return Rule(name, (VECTOR,), VECTOR, _Chain(steps).emit)
