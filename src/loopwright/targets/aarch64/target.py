"""AArch64 as a target: scalars and Advanced SIMD (NEON) vectors of 128 bits, AAPCS64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.errors import TargetError
from loopwright.ir.function import Frame, Function, Instr
from loopwright.targets.aarch64 import assembler, expansions, lowering
from loopwright.targets.aarch64.abi import AAPCS64, FRAME_POINTER, AArch64Assembler, enter, leave
from loopwright.targets.aarch64.core import CORE
from loopwright.targets.aarch64.registers import INT_ORDER, REGISTERS, VECTOR_ORDER
from loopwright.targets.pipeline import Pass
from loopwright.targets.target import Addressing, MachineCode, RegisterClass, Rule, Target, Unrolling, scalar_integers, vectors_and_masks, widens
from loopwright.types import Type

__all__ = ["FEATURES", "AArch64"]

#: What the code may use besides A64's base: Armv8.0-A's floating point and Advanced SIMD, and its CRC32 (names as in Linux's /proc/cpuinfo).
FEATURES: Final = frozenset(["fp", "asimd", "crc32"])

#: By bytes of an access (Arm ARM, C1.3.3): a displacement in multiples of the access up to 4095 of them, or of up to 256 bytes either way; or an index.
#: Accesses may move their pointers on by up to 256 bytes either way; those of several vectors by what they access.
_ADDRESSING: Final = {size: Addressing((1, size), 0, 4095 * size, size, near=256, both=False, moves=256, moves_several=True) for size in (1, 2, 4, 8, 16)}
#: Latency of additions and multiply-adds is 4 cycles at most, of which two begin a cycle (Arm, *Cortex-A76 Software Optimization Guide*, sections 3.15
#: and 3.16).
_UNROLLING: Final = Unrolling(((12, 4), (48, 2)), ((24, 4), (48, 2)), ((4, 8), (8, 4), (24, 2)))


class AArch64(Target):
    """Armv8.0-A with Advanced SIMD.

    Args:
        name: ``aarch64-neon``, and optional features, each after a ``+``: ``asimddp``, the dot products of Armv8.4-A,
            and ``asimdhp``, the arithmetic of f16 of Armv8.2-A (FEAT_FP16), which scalars have where lanes do.
        framed: the frame pointer is left to point to frames.
    """

    frame_pointer = FRAME_POINTER
    jumps_to_calls = True

    def __init__(self, name: str = "aarch64-neon", framed: bool = False) -> None:
        ints = tuple(r for r in INT_ORDER if r != FRAME_POINTER) if framed else INT_ORDER
        classes = [RegisterClass("integers", ints, scalar_integers), RegisterClass("vectors", VECTOR_ORDER, vectors_and_masks)]
        super().__init__(AAPCS64, REGISTERS, classes, FEATURES.union(name.split("+")[1:]))
        self.name = name
        self.vector_bits = 128
        self.expanded = expansions.EXPANDED
        self.unrolling = _UNROLLING
        self.core = CORE
        self.scalar_remainders = True
        self.stores_low_bits = True
        self._dot_products = "asimddp" in self.features
        self._halves = "asimdhp" in self.features
        if self._halves:
            self.half_operations = lowering.HALF_OPERATIONS
        self._framed: AArch64 | None = None

    def framed(self) -> Target:
        if self._framed is None:
            self._framed = AArch64(self.name, True)
        return self._framed

    def passes(self) -> tuple[Pass, ...]:
        # They are imported with the first compilation.
        from loopwright.targets.aarch64.passes import PASSES

        return PASSES

    def jump_tables(self) -> bool:
        return True

    def immediate(self, instr: Instr, position: int, type_: Type, value: int | float | bool) -> bool:
        return lowering.immediate(instr, position, type_, value)

    def addressing(self, type_: Type) -> Addressing:
        return _ADDRESSING.get(type_.size, _ADDRESSING[16])

    def expand(self, function: Function, instr: Instr, emit: Callable[[Instr], None], late: bool) -> bool:
        return expansions.expand(function, instr, emit, late)

    def divide_both(self, function: Function, quotient: Instr, remainder: Instr, emit: Callable[[Instr], None]) -> bool:
        expansions.remainder_of(function, quotient, remainder, emit)
        return True

    def interleaves(self, type_: Type, count: int) -> bool:
        return count <= 4 and type_.size in (8, 16) and type_.lanes >= 2

    def counts_where(self, type_: Type) -> bool:
        return True

    def tests_masks(self, type_: Type) -> bool:
        # UMAXV, or a move where the mask is shorter.
        return type_.bits * type_.lanes in (16, 32, 64, 128)

    def tests_bits(self, type_: Type) -> bool:
        return type_.bits >= 32

    def chooses_by(self, source: Type, type_: Type) -> bool:
        return not source.lanes and not source.is_float and not type_.lanes and not type_.is_float

    def same_register(self, type_: Type, source: Type, zeros: bool) -> bool:
        return (type_.is_half_word and source.is_half_word) or (type_.is_word and source.is_word) or widens(type_, source)

    def rule(self, function: Function, instr: Instr) -> Rule:
        found = lowering.dot_product(instr) if self._dot_products else None
        return found or lowering.rule_for(function, instr, self._halves)

    def assembler(self, function: Function) -> AArch64Assembler:
        return AArch64Assembler(function)

    def prologue(self, assembler: AArch64Assembler, function: Function, frame: Frame) -> None:
        enter(assembler, frame)

    def epilogue(self, assembler: AArch64Assembler, function: Function, frame: Frame) -> None:
        leave(assembler, frame)

    def listing(self, machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
        return assembler.listing(machine)

    def relocate(self, data: bytearray, offset: int, kind: str, distance: int, place: int = 0) -> None:
        if kind == assembler.PAGE:
            assembler.patch_address(data, offset, distance, place)
        elif kind == assembler.CALL or kind == assembler.JUMP:
            assembler.patch_call(data, offset, distance, kind == assembler.JUMP)
        else:
            raise TargetError(f"a relocation of kind {kind!r} is none of AArch64's")
