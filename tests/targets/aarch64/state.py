"""Runs short pieces of code under QEMU with every register, some stack slots and some memory known before, and all of them seen afterwards."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from loopwright.compiler import Compiled
from loopwright.ir.function import INCOMING, SLOT, SPILL, Frame, Function, Slot
from loopwright.runtime import emulate
from loopwright.targets.aarch64 import assembler
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.abi import AAPCS64, AArch64Assembler, enter, leave
from loopwright.targets.aarch64.assembler import LSL
from loopwright.targets.aarch64.registers import INT_ORDER, LR, REGISTERS, SCRATCH, SCRATCH2, SP, VECTOR_ORDER, VECTORS
from loopwright.targets.target import RegisterClass, Target, scalar_integers, vectors_and_masks
from loopwright.types import I64, U8, VOID

needs_qemu = pytest.mark.skipif(not emulate.available("aarch64-neon"), reason="qemu-aarch64 is not installed (Debian package qemu-user)")


class Bare(Target):
    """The machine without rules, which run code needs of its target."""

    def __init__(self) -> None:
        classes = [RegisterClass("integers", INT_ORDER, scalar_integers), RegisterClass("vectors", VECTOR_ORDER, vectors_and_masks)]
        super().__init__(AAPCS64, REGISTERS, classes, frozenset())
        self.name = "aarch64-neon"

    def relocate(self, data: bytearray, offset: int, kind: str, distance: int, place: int = 0) -> None:
        assembler.patch_call(data, offset, distance)


BARE = Bare()
#: What is called to emit something.
Emit = Callable[[AArch64Assembler, Function], None]

# The block of values before, and of those after: v0 to v31, x0 to x30, slots.
_INTS, _SLOTS, _BLOCK, _MEMORY = 512, 768, 1024, 256
#: Machine codes of the integer registers that are looked at.
CODES = tuple(register.code for register in REGISTERS if register.cls != VECTORS)


def compiled(source: Function, f: Function, asm: AArch64Assembler) -> Compiled:
    f.machine = asm.encode()
    return Compiled(source, f, f.machine, BARE, "", {}, {})


class Piece:
    """A piece of code and what it starts from: random bytes, but for what is set.

    Attributes:
        f: the function that it is in; its slots are ``slots``.
        before: integer registers by machine code, vector registers and slots as bytes.
        memory: of 256 bytes; ``setup`` finds its address in ``SCRATCH2``.
        ints, vectors, slots, after: what there is afterwards.
    """

    def __init__(self, name: str, emit: Emit, slots: Sequence[Slot] = (), size: int = 0, outgoing: int = 0, setup: Emit | None = None) -> None:
        self.name = name
        self.emit = emit
        self.setup = setup
        self.random = random.Random(name)
        self.f = f = Function("piece", VOID)
        f.physical = True
        f.slots = list(slots)
        f.frame = Frame()
        f.frame.size, f.frame.outgoing, f.frame.calls = size, outgoing, True
        f.frame.saved = [r for r in range(len(REGISTERS)) if AAPCS64.callee_saved >> r & 1]
        self.before = bytearray(self.random.randbytes(_BLOCK))
        self.memory = np.frombuffer(self.random.randbytes(_MEMORY), np.uint8).copy()
        self.memory_before = self.memory.tobytes()
        self._after = np.zeros(_BLOCK, np.uint8)

    def set_register(self, register: int, data: bytes) -> None:
        """The low bytes of a register, by its dense number."""
        at = self._place(register)
        self.before[at : at + len(data)] = data

    def set_slot(self, slot: int, data: bytes) -> None:
        self.before[_SLOTS + 16 * slot : _SLOTS + 16 * slot + len(data)] = data

    def _place(self, operand: int) -> int:
        if operand >= SLOT:
            return _SLOTS + 16 * (operand - SLOT)
        register = REGISTERS[operand]
        return 16 * register.code if register.cls == VECTORS else _INTS + 8 * register.code

    def bytes_before(self, operand: int) -> bytes:
        at = self._place(operand)
        return bytes(self.before[at : at + 16])

    def bytes_after(self, operand: int) -> bytes:
        """What a register or slot holds afterwards."""
        at = self._place(operand)
        return self._after.tobytes()[at : at + 16]

    def changed(self) -> set[int]:
        """The registers and slots that are not as before."""
        found = set()
        for operand in (*range(len(REGISTERS)), *(SLOT + k for k in range(len(self.f.slots)))):
            slot = self.f.slots[operand - SLOT].size if operand >= SLOT else 16 if REGISTERS[operand].cls == VECTORS else 8
            if self.bytes_before(operand)[:slot] != self.bytes_after(operand)[:slot]:
                found.add(operand)
        return found

    def call(self) -> tuple[Compiled, list[Any]]:
        """For ``emulate.run_many``."""
        f = self.f
        source = Function("piece", VOID)
        for name in ("given", "memory", "found"):
            source.array_param(name, U8, 1).written = name != "given"
        for k in range(4):
            source.param(I64, f"p{k}")
        asm = AArch64Assembler(f)
        assert f.frame is not None
        enter(asm, f.frame)
        asm.move(LR, 4)
        asm.move(SCRATCH, 0)
        asm.move(SCRATCH2, 2)
        for k, at in self._slot_words():
            asm.load_immediate(9, asm.slot_offset(SLOT + k) + at)
            asm.emit(i.ADD_UXTX, 9, SP, 9, 0)
            asm.emit(i.LDR["x"], 10, SCRATCH, _SLOTS + 16 * k + at)
            asm.emit(i.STR["x"], 10, 9, 0)
        for code in range(32):
            asm.emit(i.LDR_V["q"], code, SCRATCH, 16 * code)
        for code in CODES:
            asm.emit(i.LDR["x"], code, SCRATCH, _INTS + 8 * code)
        if self.setup is not None:
            self.setup(asm, f)
        asm.load_immediate(SCRATCH, 0x5555_5555_5555_5555)
        asm.load_immediate(SCRATCH2, 0x3333_3333_3333_3333)
        self.emit(asm, f)
        for code in range(32):
            asm.emit(i.STR_V["q"], code, LR, 16 * code)
        for code in CODES:
            asm.emit(i.STR["x"], code, LR, _INTS + 8 * code)
        for k, at in self._slot_words():
            asm.load_immediate(9, asm.slot_offset(SLOT + k) + at)
            asm.emit(i.ADD_UXTX, 9, SP, 9, 0)
            asm.emit(i.LDR["x"], 10, 9, 0)
            asm.emit(i.STR["x"], 10, LR, _SLOTS + 16 * k + at)
        leave(asm, f.frame)
        asm.emit(i.RET, LR)
        return compiled(source, f, asm), [np.frombuffer(bytes(self.before), np.uint8), self.memory, self._after, 1, 2, 3, 4]

    def _slot_words(self) -> list[tuple[int, int]]:
        return [(k, at) for k, slot in enumerate(self.f.slots) for at in range(0, slot.size, 8)]


def run(pieces: Sequence[Piece]) -> None:
    """All of them in one program."""
    emulate.run_many([piece.call() for piece in pieces])


def point(register: int, delta: int) -> Emit:
    """Set-up that puts an address, counted from the memory, into a register (by its machine code)."""

    def emit(asm: AArch64Assembler, f: Function) -> None:
        asm.load_immediate(SCRATCH, delta)
        asm.emit(i.ADD["x"], register, SCRATCH2, SCRATCH, LSL, 0)

    return emit


#: Slots of both sizes near the stack pointer, at the edges of what instructions reach, and among the stack arguments; with the frame's size.
def slots_of(size: int) -> list[Slot]:
    return [
        Slot(SPILL, 16, 0),
        Slot(SPILL, 8, 16),
        Slot(SPILL, 8, 24),
        Slot(SPILL, 16, size // 2),
        Slot(SPILL, 16, size - 32),
        Slot(SPILL, 8, size - 16),
        Slot(INCOMING, 8, 0),
        Slot(INCOMING, 8, 8),
    ]
