"""From operands of allocated IR to operands of machine instructions: registers, frame slots, addresses, pool constants."""

from __future__ import annotations

import struct
from typing import Final

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import INCOMING, SLOT, Frame, Function, Instr
from loopwright.targets.target import MachineCode
from loopwright.targets.x86.assembler import Assembler, Form, M, lookup
from loopwright.targets.x86.encoder import NO_REGISTER
from loopwright.targets.x86.flags import COMPARES, FLOATS, MOVES, QUIET, Flags, effect, without_test
from loopwright.targets.x86.registers import CODES, INTS, REGISTERS, VECTORS
from loopwright.types import BOOL, Type

#: The letter of an element's width in mnemonics.
LETTER: Final[dict[int, str]] = {8: "B", 16: "W", 32: "D", 64: "Q"}
#: That of a float's.
FLOAT_LETTER: Final[dict[int, str]] = {16: "H", 32: "S", 64: "D"}

#: In a list of operands by role: this one is the instruction's memory operand.
MEMORY: Final = SLOT << 1

_FLOAT_FORMAT: Final[dict[int, str]] = {16: "<e", 32: "<f", 64: "<d"}
_RSP_CODE: Final = 4
_RBP_CODE: Final = 5
#: Bytes below the stack pointer that a leaf function may use (System V ABI 1.0, section 3.2.2).
RED_ZONE: Final = 128


class X86Assembler(Assembler):
    """An assembler that knows the function's frame.

    Attributes:
        f: the function.
        evex: EVEX encodings (AVX-512) may be used.
        wide: the function uses vectors of more than 128 bits, so their upper halves must be cleared before
            returning or calling (Intel optimization manual, 15.3: transition penalties).
        frame_base: the register that slots are found from: the stack pointer, or rbp where that moves.
        slot_base: offset from there to the spill slots.
        incoming_base: offset from the stack pointer to the first stack argument.
        adjust: what the prologue subtracts from the stack pointer after its pushes.
        saved_vectors: offset from the stack pointer to saved vector registers.
        probes: the stack grows page by page as it is touched, so the prologue of a large frame has to touch each of its pages in turn.
        scratch_label: number of the next label that no pass has given out.
        straight: what ``straight_loops`` found, once asked.
    """

    __slots__ = (
        "_above",
        "_flags",
        "_local_base",
        "_locals",
        "_tests",
        "adjust",
        "evex",
        "f",
        "frame_base",
        "incoming_base",
        "probes",
        "saved_vectors",
        "scratch_label",
        "slot_base",
        "straight",
        "wide",
    )

    def __init__(self, f: Function, evex: bool, sysv: bool, shadow: int) -> None:
        super().__init__()
        self._flags = Flags()
        #: Where comparisons are that may turn out not to be needed.
        self._tests: list[int] = []
        self.f = f
        self._locals: list[int] | None = None
        self._local_base = 0
        #: The stack pointer is at so many bytes above a multiple of 16.
        self._above = 0
        self.evex = evex
        self.probes = not sysv
        self.wide = False
        for instr in f.code:
            # (What is converted to no more than 128 bits may come from memory. Intel's CPUs take the upper halves to be in use behind that too.)
            if _uses_upper_halves(instr.type, evex) or _uses_upper_halves(instr.source, evex):
                self.wide = True
                break
        frame = f.frame if f.frame is not None else Frame()
        pushes = 0
        vectors = 0
        for r in frame.saved:
            if REGISTERS[r].cls == INTS:
                pushes += 1
            elif REGISTERS[r].cls == VECTORS:
                vectors += 1
        self.saved_vectors = (frame.outgoing + frame.size + 15) // 16 * 16
        body = self.saved_vectors + 16 * vectors if vectors else frame.outgoing + frame.size
        if not frame.calls and sysv and body <= RED_ZONE and not vectors:
            # A leaf keeps its few slots in the red zone.
            self.adjust = 0
            self.slot_base = -body
            self._above = 8 + 8 * pushes & 15
        else:
            # The return address and the pushes leave the stack pointer at 8 mod 16 or 0; calls need 0 (section 3.2.2).
            total = 8 + 8 * pushes + body
            if body or frame.calls:
                body += -total % 16
            self.adjust = body
            self.slot_base = frame.outgoing
        self.frame_base = _RBP_CODE if frame.moves else _RSP_CODE
        self.incoming_base = self.adjust + 8 * pushes + 8 + shadow
        self.scratch_label = f.labels + (1 << 20)
        self.straight: set[int] | None = None

    def emit(self, form: Form, ops: tuple[int, ...] = (), mem: M | None = None, imm: int = 0, k: int = 0, z: bool = False, line: int = 0) -> None:
        """Append an instruction, unless it is a comparison that the flags hold already, or moves a register to itself; the arguments are those of ``encoder.encode``."""
        kind = form.effect
        if kind < 0:
            kind = form.effect = effect(form)
        if kind == MOVES and mem is None and ops[0] == ops[1] and form.operands[0].register == "r64":
            # (In 32 bits it clears the upper half.)
            return
        flags = self._flags
        if kind <= FLOATS or flags.floats is not None or (kind != QUIET and (flags.known or flags.result >= 0)):
            before: Form | None = None
            before_ops: tuple[int, ...] = ()
            if self.items:
                before, before_ops = self.items[-1][0], self.items[-1][1]
            if kind == COMPARES and flags.tests_result(form, ops):
                self._tests.append(len(self.items))
            if flags.step(form, kind, ops, mem, imm, before, before_ops):
                return
        self.items.append((form, ops, mem, imm, k, z, line or self.line))

    def label(self, label: int) -> None:
        """The next instruction is what jumps to ``label`` reach."""
        self._forget_flags()
        super().label(label)

    def call_symbol(self, name: str, line: int = 0, leave: bool = False) -> None:
        """Call a function that the linker finds: leaves a relocation of kind ``pc32``."""
        self._forget_flags()
        super().call_symbol(name, line, leave)

    def clear_before(self, at: int, register: int, line: int) -> bool:
        """Set a register to 0 in front of the comparison emitted last, which is item ``at``: unless that reads it, was left out, or may be."""
        if len(self.items) != at + 1 or (self._tests and self._tests[-1] == at):
            return False
        _, ops, mem, *_ = self.items[at]
        if register in ops or (mem is not None and register in (mem.base, mem.index)):
            return False
        self.items.insert(at, (lookup("XOR", "r32,r32"), (register, register), None, 0, 0, False, line or self.line))
        return True

    def _forget_flags(self) -> None:
        self._flags.known = False
        self._flags.result = -1
        self._flags.floats = None

    def encode(self) -> MachineCode:
        """The bytes, without the comparisons whose answer the flags of what is in front of them give. Raises as ``Assembler.encode``."""
        self.settle()
        return super().encode()

    def settle(self) -> list[int]:
        """Leave those comparisons out: all has been emitted, and ``items`` is what will be encoded. Returns their places, the last first."""
        found = [at for at in reversed(self._tests) if without_test(self.items, at)]
        self._tests.clear()
        return found

    def new_label(self) -> int:
        """A label of this function's own code sequences."""
        self.scratch_label += 1
        return self.scratch_label

    def straight_loops(self) -> set[int]:
        """The labels of loops with no branch, and no place for one to go to, between head and end."""
        known = self.straight
        if known is None:
            known = self.straight = set()
            head = -1
            for instr in self.f.code:
                if instr.op is ops.LABEL:
                    head = instr.imm
                elif instr.op.effect == ops.CONTROL:
                    if head >= 0 and instr.imm == head and instr.op is not ops.RET:
                        known.add(head)
                    head = -1
        return known

    def slot(self, operand: int) -> M:
        """The memory of a slot operand."""
        slot = self.f.slots[operand - SLOT]
        base = self.incoming_base if slot.kind == INCOMING else self.slot_base
        return M(self.frame_base, NO_REGISTER, 1, base + slot.offset)

    def incoming(self, offset: int) -> M:
        """The memory of the arguments on the stack."""
        return M(self.frame_base, NO_REGISTER, 1, self.incoming_base + offset)

    def local(self, number: int, further: int = 0, index: int = NO_REGISTER, scale: int = 1, bcst: bool = False) -> M:
        """The memory of a local array, from so many bytes on; they lie behind the spill slots."""
        frame = self.f.frame
        assert frame is not None
        if self._locals is None:
            self._locals = self.f.local_places()
            # At a multiple of 16, as which the stack pointer is known but for ``above``.
            begin = self.slot_base + frame.size - self.f.local_bytes() + self._above
            self._local_base = (begin + 15 & -16) - self._above
        return M(self.frame_base, index, scale, self._local_base + self._locals[number] + further, bcst)

    def place(self, instr: Instr, at: int, further: int = 0) -> M:
        """The address that begins with operand ``at`` of an instruction, or so many bytes behind it."""
        mem = instr.mem
        if mem is None:
            raise InternalError(f"{instr.op.name} without an address")
        args = instr.args
        index, scale = (CODES[args[at + 1]], mem.scale) if mem.indexed else (NO_REGISTER, 1)
        disp = mem.disp + further
        if mem.origin is None:
            return M(CODES[args[at]], index, scale, disp, mem.broadcast)
        number = int(self.f.const_values[~args[at]])
        if mem.origin is ops.LOCAL:
            return self.local(number, disp, index, scale, mem.broadcast)
        return self.symbol(self.f.globals[number].name, disp, mem.broadcast)

    def pool(self, operand: int, type_: Type, broadcast: bool) -> M:
        """A constant operand in memory: one element where ``broadcast``, all lanes otherwise."""
        value = self.f.const_values[~operand]
        element = element_bytes(type_.element, value)
        if broadcast:
            return self.constant(element, len(element), True)
        # Instructions on lanes read whole registers of at least 16 bytes, however few of the lanes count.
        return self.constant(element * max(type_.lanes, 16 // len(element)) if type_.lanes else element)


def _uses_upper_halves(type_: Type, evex: bool) -> bool:
    """Whether a value of the type takes up more than 128 bits of a vector register. (Masks are in vector registers only without EVEX.)"""
    return type_.lanes > 0 and type_.bits * type_.lanes > 128 and not (evex and type_.is_mask)


def element_bytes(type_: Type, value: int | float | bool) -> bytes:
    """The bytes of one constant element."""
    if type_.is_float:
        return struct.pack(_FLOAT_FORMAT[type_.bits], value)
    if type_ is BOOL:
        return bytes((1 if value else 0,))
    return (int(value) & ((1 << type_.bits) - 1)).to_bytes(type_.bits // 8, "little")


def width(type_: Type) -> str:
    """The registers a vector or float of this type is held in."""
    bits = type_.bits * max(type_.lanes, 1)
    return "xmm" if bits <= 128 else "ymm" if bits <= 256 else "zmm"


def load_chunks(asm: X86Assembler, instr: Instr, places: list[M]) -> None:
    """Load 128 bits from each of the places, into a vector of as many."""
    d, line, shape = CODES[instr.dst], instr.line, width(instr.type)
    names = ("VINSERTF128", "VINSERTF32X4") if instr.type.is_float else ("VINSERTI128", "VINSERTI32X4")
    asm.emit(lookup("VMOVUPS", "xmm,m128"), (d,), places[0], line=line)
    for n in range(1, len(places)):
        asm.emit(lookup(names[shape != "ymm"], f"{shape},{shape},m128,imm8"), (d, d), places[n], n, line=line)


def store_chunks(asm: X86Assembler, instr: Instr, places: list[M]) -> None:
    """Store 128 bits of a vector at each of the places."""
    value, line, shape = CODES[instr.args[0]], instr.line, width(instr.type)
    names = ("VEXTRACTF128", "VEXTRACTF32X4") if instr.type.is_float else ("VEXTRACTI128", "VEXTRACTI32X4")
    asm.emit(lookup("VMOVUPS", "m128,xmm"), (value,), places[0], line=line)
    for n in range(1, len(places)):
        asm.emit(lookup(names[shape != "ymm"], f"m128,{shape},imm8"), (value,), places[n], n, line=line)


def register_name(type_: Type) -> str:
    """``r32`` or ``r64``: narrower integers live in 32-bit registers, extended from their type."""
    return "r64" if type_.bits == 64 else "r32"


def fits32(value: int) -> bool:
    """Whether a value survives the sign extension of a 32-bit immediate."""
    return -(1 << 31) <= value < 1 << 31


def immediate_value(f: Function, operand: int) -> int:
    """The integer of a constant operand."""
    return int(f.const_values[~operand])


def bits_as_immediate(type_: Type, value: int | float | bool) -> int:
    """The bit pattern of a scalar constant as a signed integer."""
    if type_.is_float:
        return int.from_bytes(element_bytes(type_, value), "little", signed=True)
    whole = int(value) & ((1 << type_.bits) - 1)
    return whole - (1 << type_.bits) if whole >> (type_.bits - 1) else whole


def iota_bytes(type_: Type, downwards: bool = False) -> bytes:
    """The bytes of 0, 1, 2, … in the elements of a vector type, of a mask's as integers; ``downwards``, in the opposite order, as integers of any."""
    import numpy as np

    if downwards:
        return np.arange(type_.lanes, dtype=f"i{type_.bits // 8}")[::-1].tobytes()
    return np.arange(type_.lanes, dtype=f"i{type_.bits // 8}" if type_.is_mask else type_.element.dtype).tobytes()


def constant_operand(asm: X86Assembler, element: bytes, type_: Type) -> M:
    """A vector constant with one element in every lane, as an operand of an instruction on ``type_``."""
    if type_.lanes and asm.evex and len(element) >= 4:
        return asm.constant(element, len(element), True)
    size = max(16, type_.bits * max(type_.lanes, 1) // 8)
    return asm.constant(element * (size // len(element)))


def vector_load(type_: Type) -> Form:
    """The unaligned load of a float or vector of this type."""
    mnemonic, memory = _vector_move(type_)
    return lookup(mnemonic, f"{width(type_)},{memory}")


def vector_store(type_: Type) -> Form:
    """The unaligned store of a float or vector of this type."""
    mnemonic, memory = _vector_move(type_)
    return lookup(mnemonic, f"{memory},{width(type_)}")


def _vector_move(type_: Type) -> tuple[str, str]:
    bits = type_.bits * max(type_.lanes, 1)
    if bits == 16 and type_.is_float:
        return "VMOVSH", "m16"
    if bits <= 32:
        return "VMOVSS" if type_.is_float else "VMOVD", "m32"
    if bits == 64:
        return "VMOVSD" if type_.is_float else "VMOVQ", "m64"
    return "VMOVUPD" if type_.is_float and type_.bits == 64 else "VMOVUPS", "m"


def roles(instr: Instr) -> list[int]:
    """The operands by role, with ``MEMORY`` where one is loaded from memory."""
    mem = instr.mem
    args = instr.args
    if mem is None:
        return args
    count = len(args) - (2 if mem.indexed else 1)
    role = mem.role if mem.role >= 0 else count
    return args[:role] + [MEMORY] + args[role:count]


def in_memory(asm: X86Assembler, instr: Instr, operand: int, type_: Type) -> M | None:
    """The memory an operand is in: the folded load, a slot, or the constant pool; None for a register."""
    if operand == MEMORY:
        mem = instr.mem
        return asm.place(instr, len(instr.args) - (2 if mem is not None and mem.indexed else 1))
    if operand >= SLOT:
        return asm.slot(operand)
    if operand < 0:
        # Only EVEX instructions on 32- and 64-bit elements can repeat one element.
        return asm.pool(operand, type_, type_.lanes > 0 and asm.evex and type_.bits >= 32)
    return None
