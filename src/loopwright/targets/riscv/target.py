"""RISC-V as a target: RV64GC, scalar, LP64D."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from loopwright.errors import TargetError
from loopwright.ir.function import Frame, Function, Instr
from loopwright.targets import division
from loopwright.targets.pipeline import Pass
from loopwright.targets.riscv import assembler, expansions, lowering
from loopwright.targets.riscv.abi import FRAME_POINTER, LP64D, RiscVAssembler, enter, leave
from loopwright.targets.riscv.registers import FLOAT_ORDER, INT_ORDER, REGISTERS
from loopwright.targets.target import Addressing, MachineCode, RegisterClass, Rule, Target, scalar_floats, scalar_integers, widens
from loopwright.types import Type

__all__ = ["FEATURES", "RiscV", "rv64gc"]

#: What the G and C in RV64GC stand for (names as in the ISA string).
FEATURES: Final = frozenset(["i", "m", "a", "f", "d", "c", "zicsr", "zifencei"])


#: ISA manual, section "Load and Store Instructions": a base and a signed displacement of 12 bits.
_ADDRESSING: Final = Addressing((), -2048, 2047)


class RiscV(Target):
    """RV64GC without vectors: loops over lanes become scalar loops.

    Without the feature ``c`` no compressed instructions are used.
    """

    name = "rv64gc"
    vector_bits = 0

    frame_pointer = FRAME_POINTER
    jumps_to_calls = True

    def __init__(self, features: frozenset[str] = FEATURES, framed: bool = False) -> None:
        missing = FEATURES - {"c", "a", "zicsr", "zifencei"} - features
        if missing:
            raise TargetError(f"rv64gc code needs the extensions {', '.join(sorted(missing))}")
        ints = tuple(r for r in INT_ORDER if r != FRAME_POINTER) if framed else INT_ORDER
        classes = [RegisterClass("integers", ints, scalar_integers), RegisterClass("floats", FLOAT_ORDER, scalar_floats)]
        super().__init__(LP64D, REGISTERS, classes, features)
        self.expanded = expansions.EXPANDED
        self.name = "rv64gc" if "c" in features else "rv64g"
        self._framed: RiscV | None = None

    def framed(self) -> Target:
        if self._framed is None:
            self._framed = RiscV(self.features, True)
        return self._framed

    def passes(self) -> tuple[Pass, ...]:
        # They are imported with the first compilation.
        from loopwright.targets.riscv.passes import PASSES

        return PASSES

    def jump_tables(self) -> bool:
        return True

    def immediate(self, instr: Instr, position: int, type_: Any, value: int | float | bool) -> bool:
        return lowering.immediate(instr, position, type_, value)

    def addressing(self, type_: Any) -> Addressing:
        return _ADDRESSING

    def expand(self, function: Function, instr: Instr, emit: Callable[[Instr], None], late: bool) -> bool:
        return expansions.expand(function, instr, emit, late)

    def divide_both(self, function: Function, quotient: Instr, remainder: Instr, emit: Callable[[Instr], None]) -> bool:
        division.divide_both(function, quotient, remainder, emit, traps=False)
        return True

    def same_register(self, type_: Type, source: Type, zeros: bool) -> bool:
        # (Integers of 32 bits are extended with their sign, whatever they are.)
        return (type_.is_half_word and source.is_half_word) or (type_.is_word and source.is_word) or widens(type_, source)

    def rule(self, function: Function, instr: Instr) -> Rule:
        return lowering.rule_for(function, instr)

    def assembler(self, function: Function) -> RiscVAssembler:
        return RiscVAssembler(function, "c" in self.features)

    def prologue(self, assembler: RiscVAssembler, function: Function, frame: Frame) -> None:
        enter(assembler, frame)

    def epilogue(self, assembler: RiscVAssembler, function: Function, frame: Frame) -> None:
        leave(assembler, frame)

    def listing(self, machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
        return assembler.listing(machine)

    def relocate(self, data: bytearray, offset: int, kind: str, distance: int, place: int = 0) -> None:
        if kind == assembler.ADDRESS:
            assembler.patch_address(data, offset, distance)
        elif kind == assembler.CALL or kind == assembler.JUMP:
            assembler.patch_call(data, offset, distance)
        else:
            raise TargetError(f"a relocation of kind {kind!r} is none of RISC-V's")


def rv64gc() -> RiscV:
    """The target ``rv64gc``."""
    return RiscV()
