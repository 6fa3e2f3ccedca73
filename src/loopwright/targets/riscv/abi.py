"""The LP64D calling convention and its frames (*RISC-V ELF psABI*, chapter "Procedure Calling Convention").

A frame, from the stack pointer up::

    stack arguments of calls | spill slots | callee-saved registers, then ra | registers with arguments whose number varies | the caller's stack arguments

The stack pointer is a multiple of 16 throughout.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import INCOMING, SLOT, Frame, Function
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.assembler import Assembler
from loopwright.targets.riscv.registers import CODES, INTS, RA, REGISTERS, SP, number
from loopwright.targets.target import Convention

__all__ = ["FRAME_POINTER", "LP64D", "RiscVAssembler", "enter", "leave"]


def _mask(names: str) -> int:
    bits = 0
    for name in names.split():
        bits |= 1 << number(name)
    return bits


#: Floats that find no floating-point register left take an integer one, then the stack; those among a variable number of arguments do so in any case
#: ("Integer Calling Convention": "variadic arguments are passed in the same manner as named arguments", "Hardware Floating-point Calling Convention": "variadic arguments … are passed
#: according to the integer calling convention").
LP64D: Final = Convention(
    "lp64d",
    int_args=tuple(number(f"a{k}") for k in range(8)),
    float_args=tuple(number(f"fa{k}") for k in range(8)),
    int_result=number("a0"),
    float_result=number("fa0"),
    callee_saved=_mask("s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 fs0 fs1 fs2 fs3 fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11"),
    floats_in_ints=True,
    unnamed_in_ints=True,
    int_results=(number("a0"), number("a1")),
    float_results=tuple(number(f"fa{k}") for k in range(4)),
)

#: Points to the frames of functions that move their stack pointer.
FRAME_POINTER: Final = number("s0")

#: Frames up to here are made and unmade by one instruction, and all their slots are within a load's 12-bit offset.
_SMALL: Final = 2032
#: More instructions than this may put a jump out of ``jal``'s reach (the longest sequence for one is under 200 bytes).
_LONG: Final = 5_000


class RiscVAssembler(Assembler):
    """An assembler that knows the frame of its function.

    Attributes:
        function: what is being assembled.
        frame_size: bytes between the stack pointer and the caller's.
        slots_at: offset of the spill slots from the stack pointer.
        base: the register that slots are found from: the stack pointer, or s0 where that moves.
        saves_ra: the frame keeps ``ra``, so that it is free for use as a scratch register.
        above: bytes between what the frame keeps and the caller's stack arguments, which a list of arguments goes on to.
    """

    __slots__ = ("above", "base", "frame_size", "function", "saves_ra", "slots_at")

    def __init__(self, function: Function, compressed: bool) -> None:
        super().__init__(compressed)
        self.function = function
        self.frame_size = 0
        self.slots_at = 0
        self.saves_ra = False
        self.above = 0
        self.base = SP

    def lay_out(self, frame: Frame) -> None:
        """Decide the frame: once, before anything refers to a slot."""
        self.slots_at = (frame.outgoing + 7) & ~7
        self.above = _room_above(self.function)
        size = (self.slots_at + frame.size + 8 * len(frame.saved) + 8 + self.above + 15) & ~15
        # Stack arguments lie above the frame, and so may be out of a load's reach however small it is.
        reach = max([0] + [size + slot.offset for slot in self.function.slots if slot.kind == INCOMING])
        self.saves_ra = frame.calls or size > _SMALL or reach > 2047 or needs_scratch(self.function)
        if not self.saves_ra:
            size = (self.slots_at + frame.size + 8 * len(frame.saved) + self.above + 15) & ~15
        self.frame_size = size
        self.base = CODES[FRAME_POINTER] if frame.moves else SP

    def slot_offset(self, operand: int) -> int:
        """Offset of a stack slot from the stack pointer."""
        slot = self.function.slots[operand - SLOT]
        return slot.offset + (self.slots_at if slot.kind == 0 else self.frame_size)

    def local_offset(self, number: int) -> int:
        """Offset of a local array from the stack pointer: they lie behind the spill slots, from a multiple of 16 on, for which there is room."""
        frame = self.function.frame
        assert frame is not None
        return (self.slots_at + frame.size - self.function.local_bytes() + 15 & -16) + self.function.local_offset(number)


def _room_above(f: Function) -> int:
    """Bytes right below the stack arguments that a function takes for the registers that its arguments are in."""
    least = 0
    for instr in f.code:
        if instr.op is ops.INCOMING:
            least = min(least, int(f.const_values[~instr.args[0]]))
    return -least + 15 & -16


def needs_scratch(f: Function) -> bool:
    """Whether something in allocated code is emitted by way of ``ra``."""
    if len(f.code) > _LONG:
        return True
    for instr in f.code:
        if instr.op is ops.COPY:
            source = instr.args[0]
            if source < 0:
                # A floating-point constant passes through an integer register; the allocator's own copies bring none.
                # All bits zero come from the zero register.
                if instr.type.is_float and len(instr.args) == 1 and not _is_positive_zero(float(f.const_values[~source])):
                    return True
            elif source >= SLOT and instr.dst >= SLOT:
                return True
        elif instr.op is ops.SWAP and instr.type.is_float:
            return True
    return False


def _is_positive_zero(value: float) -> bool:
    return value == 0.0 and str(value)[0] != "-"


def _saves(frame: Frame, asm: RiscVAssembler) -> list[tuple[bool, int]]:
    """(floating-point, code) of what the frame keeps, from its top down."""
    saved = [(False, RA)] if asm.saves_ra else []
    saved.extend((REGISTERS[r].cls != INTS, CODES[r]) for r in frame.saved)
    return saved


def enter(asm: RiscVAssembler, frame: Frame) -> None:
    """The prologue."""
    asm.lay_out(frame)
    _enter(asm, frame)
    if frame.moves:
        asm.move(asm.base, SP)


def _enter(asm: RiscVAssembler, frame: Frame) -> None:
    """Make room, and save what belongs to the caller."""
    size = asm.frame_size
    if not size:
        return
    first = min(size, _SMALL)
    asm.emit(i.ADDI, SP, SP, -first)
    at = first - 8 - asm.above
    for is_float, code in _saves(frame, asm):
        asm.emit(i.FSD if is_float else i.SD, code, at, SP)
        at -= 8
    if size > first:
        # ra is saved by now in any frame this large.
        asm.load_immediate(RA, size - first)
        asm.emit(i.SUB, SP, SP, RA)


def leave(asm: RiscVAssembler, frame: Frame) -> None:
    """The epilogue, up to but without the return."""
    if frame.moves:
        asm.move(SP, asm.base)
    size = asm.frame_size
    if not size:
        return
    first = min(size, _SMALL)
    if size > first:
        asm.load_immediate(RA, size - first)
        asm.emit(i.ADD, SP, SP, RA)
    at = first - 8 - asm.above
    for is_float, code in _saves(frame, asm):
        asm.emit(i.FLD if is_float else i.LD, code, at, SP)
        at -= 8
    asm.emit(i.ADDI, SP, SP, first)
