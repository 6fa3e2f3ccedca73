"""The calling convention and its frames (*Procedure Call Standard for the Arm 64-bit Architecture*, AAPCS64).

A frame, from the stack pointer up::

    stack arguments of calls | spill slots, local arrays | callee-saved registers and the link register | the caller's stack arguments

The stack pointer is a multiple of 16 throughout, as it has to be in every access that it is the base of, and nothing below it is kept ("Universal stack
constraints"). x29 is a register like the others: there is no chain of frames ("The Frame Pointer", the last of the options).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import SLOT, SPILL, Frame, Function
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.assembler import Assembler
from loopwright.targets.aarch64.notation import Row
from loopwright.targets.aarch64.registers import CODES, INTS, LR, REGISTERS, SP, number
from loopwright.targets.target import Convention
from loopwright.types import BOOL, I8, I16, U8, U16

__all__ = ["AAPCS64", "FRAME_POINTER", "AArch64Assembler", "destroyed_by_calls", "enter", "leave"]


def _mask(letter: str, first: int, last: int) -> int:
    bits = 0
    for code in range(first, last + 1):
        bits |= 1 << number(f"{letter}{code}")
    return bits


#: Of v8 to v15 a function preserves the low 64 bits (6.1.2).
_PARTLY_SAVED: Final = _mask("v", 8, 15)

#: "Parameter Passing Rules", "Result Return", and for the registers 6.1.1 and 6.1.2. What is above an argument's bits in a register or on the stack is
#: unspecified (stage C). Registers hold integers of 8 and 16 bits extended to 32; above 32 bits nothing is expected.
AAPCS64: Final = Convention(
    "aapcs64",
    int_args=tuple(number(f"x{n}") for n in range(8)),
    float_args=tuple(number(f"v{n}") for n in range(8)),
    int_result=number("x0"),
    float_result=number("v0"),
    callee_saved=_mask("x", 19, 29) | _PARTLY_SAVED,
    partly_saved=_PARTLY_SAVED,
    part_saved=8,
    unextended=frozenset((BOOL, I8, U8, I16, U16)),
    int_results=tuple(number(f"x{n}") for n in range(8)),
    float_results=tuple(number(f"v{n}") for n in range(4)),
    result_address=number("x8"),
    grouped=True,
)

#: Points to the frames of functions that move their stack pointer.
FRAME_POINTER: Final = number("x29")

_CALLER_SAVED: Final = (1 << len(REGISTERS)) - 1 & ~AAPCS64.callee_saved


def destroyed_by_calls(f: Function) -> int:
    """The registers (bit mask) that a call in ``f`` destroys: v8 to v15 among them where ``f`` has values that they would not be preserved for."""
    for type_ in f.types:
        if type_.bits * type_.lanes > 64:
            return _CALLER_SAVED | _PARTLY_SAVED
    return _CALLER_SAVED


#: What the displacement of a pair of registers of 64 bits has room for.
_PAIR_REACH: Final = 504


class _Save:
    """One or two registers of a class that the prologue stores side by side: ``second`` is -1 for one."""

    __slots__ = ("at", "first", "is_int", "second")

    def __init__(self, is_int: bool, first: int, second: int, at: int) -> None:
        self.is_int = is_int
        self.first = first
        self.second = second
        self.at = at


class AArch64Assembler(Assembler):
    """An assembler that knows the frame of its function.

    Attributes:
        function: what is being assembled.
        frame_size: bytes between the stack pointer and the caller's.
        slots_at: offset of the spill slots from the stack pointer.
        base: the register that slots are found from: the stack pointer, or x29 where that moves.
        saves_at: offset of the saved registers.
        saves: the saved registers.
    """

    __slots__ = ("base", "frame_size", "function", "saves", "saves_at", "slots_at")

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function
        self.frame_size = 0
        self.slots_at = 0
        self.saves_at = 0
        self.saves: list[_Save] = []
        self.base = SP

    def lay_out(self, frame: Frame) -> None:
        """Decide the frame: once, before anything refers to a slot."""
        ints = sorted(CODES[r] for r in frame.saved if REGISTERS[r].cls == INTS)
        if frame.calls:
            ints.append(LR)
        vectors = sorted(CODES[r] for r in frame.saved if REGISTERS[r].cls != INTS)
        self.saves = []
        at = 0
        for is_int, codes in ((True, ints), (False, vectors)):
            # The last two first: the link register goes with x29, where that is saved.
            for k in range(len(codes), 0, -2):
                self.saves.append(_Save(is_int, codes[k - 2] if k > 1 else codes[0], codes[k - 1] if k > 1 else -1, at))
                at += 16 if k > 1 else 8
        self.slots_at = (frame.outgoing + 15) & ~15
        self.saves_at = (self.slots_at + frame.size + 15) & ~15
        self.frame_size = self.saves_at + (at + 15 & ~15)
        self.base = CODES[FRAME_POINTER] if frame.moves else SP

    def slot_offset(self, operand: int) -> int:
        """Offset of a stack slot from the stack pointer."""
        slot = self.function.slots[operand - SLOT]
        return slot.offset + (self.slots_at if slot.kind == SPILL else self.frame_size)

    def local_offset(self, number: int) -> int:
        """Offset of a local array from the stack pointer, before it is raised to a multiple of ``LOCAL_ALIGN`` where it is to be at one: they lie behind the spill slots."""
        frame = self.function.frame
        assert frame is not None
        return (self.slots_at + frame.size - self.function.local_bytes() + 15 & -16) + self.function.local_offset(number)


def _transfer(asm: AArch64Assembler, save: _Save, ints: tuple[Row, Row], vectors: tuple[Row, Row], offset: int) -> None:
    """Store or load saved registers by the rows for one and for two."""
    one, two = ints if save.is_int else vectors
    if save.second < 0:
        asm.emit(one, save.first, SP, offset)
    else:
        asm.emit(two, save.first, save.second, SP, offset)


def _store(asm: AArch64Assembler, save: _Save, base: int) -> None:
    _transfer(asm, save, (i.STR["x"], i.STP["x"]), (i.STR_V["d"], i.STP_V["d"]), base + save.at)


def _load(asm: AArch64Assembler, save: _Save, base: int) -> None:
    _transfer(asm, save, (i.LDR["x"], i.LDP["x"]), (i.LDR_V["d"], i.LDP_V["d"]), base + save.at)


def enter(asm: AArch64Assembler, frame: Frame) -> None:
    """The prologue."""
    asm.lay_out(frame)
    _enter(asm)
    if frame.moves:
        asm.add_immediate(asm.base, SP, 0)


def _enter(asm: AArch64Assembler) -> None:
    """Make room, and save what belongs to the caller."""
    size, below = asm.frame_size, asm.saves_at
    if not asm.saves or (below and size <= _PAIR_REACH):
        # All at once: everything is within reach of the new stack pointer.
        if size:
            asm.add_immediate(SP, SP, -size)
        for save in asm.saves:
            _store(asm, save, below)
        return
    first = True
    for save in asm.saves:
        if first:
            _transfer(asm, save, (i.STR_PRE["x"], i.STP_PRE["x"]), (i.STR_V_PRE["d"], i.STP_V_PRE["d"]), below - size)
            first = False
        else:
            _store(asm, save, 0)
    if below:
        asm.add_immediate(SP, SP, -below)


def leave(asm: AArch64Assembler, frame: Frame) -> None:
    """The epilogue, up to but without the return."""
    if frame.moves:
        asm.add_immediate(SP, asm.base, 0)
    size, below = asm.frame_size, asm.saves_at
    if not asm.saves or (below and size <= _PAIR_REACH):
        for save in asm.saves:
            _load(asm, save, below)
        if size:
            asm.add_immediate(SP, SP, size)
        return
    if below:
        asm.add_immediate(SP, SP, below)
    for save in asm.saves[1:]:
        _load(asm, save, 0)
    _transfer(asm, asm.saves[0], (i.LDR_POST["x"], i.LDP_POST["x"]), (i.LDR_V_POST["d"], i.LDP_V_POST["d"]), size - below)
