"""Unwind information: how debuggers and exceptions find the caller of a frame, at each instruction (.eh_frame).

(System V ABI, AMD64 supplement, 3.7 and 4.2.4; *DWARF Debugging Information Format*, version 4, 6.4; *DWARF for the Arm 64-bit Architecture*, "DWARF register names"; *RISC-V ELF psABI*,
"DWARF register numbers".) What prologues and epilogues do to the stack is read off the listing, by a table of each machine's, so that compiling does not pay for it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Final

from loopwright.compiler import Compiled
from loopwright.targets.target import Target

__all__ = ["SECTION", "Unwinding", "common", "description", "steps", "unwinding_of"]

SECTION: Final = ".eh_frame"

# DW_CFA_…
_ADVANCE: Final = 0x40
_OFFSET: Final = 0x80
_RESTORE: Final = 0xC0
_ADVANCE_1: Final = 0x02
_ADVANCE_2: Final = 0x03
_ADVANCE_4: Final = 0x04
_OFFSET_EXTENDED: Final = 0x05
_RESTORE_EXTENDED: Final = 0x06
_REMEMBER: Final = 0x0A
_RESTORE_STATE: Final = 0x0B
_DEFINE: Final = 0x0C
_DEFINE_REGISTER: Final = 0x0D
_DEFINE_OFFSET: Final = 0x0E

# How addresses of functions are written (DW_EH_PE_…; *Linux Standard Base Core*, "DWARF Extensions").
ABSOLUTE: Final = 0x00
RELATIVE: Final = 0x1B

#: Saved registers are told in this many bytes.
_SLOT: Final = -8


class Unwinding:
    """What a machine's listing says of the stack.

    Attributes:
        numbers: DWARF's numbers of registers, by their names in the listing.
        pointer: the stack pointer; ``frame``: the register that points to frames that move.
        link: the register that holds the return address, by name; the column of it where calls push it, and its distance from the stack pointer at entry.
        unit: what all instructions are a multiple of, in bytes.
        verbs: patterns of instructions and what they do:
            push, pop: a register ``r``; grow, shrink: the stack, by ``n`` bytes (shifted by ``s``); move: the pointer, by ``n``; store, load: registers ``r`` and ``q`` at ``n`` from the pointer;
            first, last: a store that moves the pointer by ``n`` first, a load that does so last; constant, more: a number ``n`` into a register, added to it (``upper``: of 4096s);
            grow_by, shrink_by: by that number; point, return: from the pointer to the frame pointer, and back; leave: nothing behind it is reached from above.
    """

    __slots__ = ("at_entry", "column", "frame", "link", "numbers", "pointer", "unit", "verbs")

    def __init__(
        self, numbers: dict[str, int], pointer: str, frame: str, link: str, column: int, at_entry: int, unit: int, verbs: Sequence[tuple[str, str]]
    ) -> None:
        self.numbers = numbers
        self.pointer = numbers[pointer]
        self.frame = numbers[frame]
        self.link = link
        self.column = column
        self.at_entry = at_entry
        self.unit = unit
        self.verbs = [(re.compile(pattern), verb) for pattern, verb in verbs]


_N: Final = r"#?(?P<n>-?(?:0x)?[0-9a-f]+)"
_X86: Final = Unwinding(
    {
        name: number
        for number, name in enumerate(["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"])
    },
    "rsp",
    "rbp",
    "",
    16,
    8,
    1,
    (
        (r"push (?P<r>\w+)", "push"),
        (r"pop (?P<r>\w+)", "pop"),
        (rf"sub rsp, {_N}", "grow"),
        (rf"add rsp, {_N}", "shrink"),
        (r"mov rbp, rsp", "point"),
        (r"mov rsp, rbp", "return"),
        (r"ret|jmp .*", "leave"),
    ),
)
_AARCH64: Final = Unwinding(
    {**{f"x{n}": n for n in range(31)}, "sp": 31, **{f"d{n}": 64 + n for n in range(32)}},
    "sp",
    "x29",
    "x30",
    30,
    0,
    4,
    (
        (rf"(?:stp (?P<r>[xd]\d+), (?P<q>[xd]\d+)|str (?P<t>[xd]\d+)), \[sp, {_N}\]!", "first"),
        (rf"(?:ldp (?P<r>[xd]\d+), (?P<q>[xd]\d+)|ldr (?P<t>[xd]\d+)), \[sp\], {_N}", "last"),
        (rf"(?:stp (?P<r>[xd]\d+), (?P<q>[xd]\d+)|str (?P<t>[xd]\d+)), \[sp(?:, {_N})?\]", "store"),
        (rf"(?:ldp (?P<r>[xd]\d+), (?P<q>[xd]\d+)|ldr (?P<t>[xd]\d+)), \[sp(?:, {_N})?\]", "load"),
        (rf"sub sp, sp, {_N}(?:, lsl #(?P<s>12))?", "grow"),
        (rf"add sp, sp, {_N}(?:, lsl #(?P<s>12))?", "shrink"),
        (r"mov x29, sp", "point"),
        (r"mov sp, x29", "return"),
        (r"ret|b .*|br .*", "leave"),
    ),
)
_RISCV_NAMES: Final = (
    "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6 "
    "ft0 ft1 ft2 ft3 ft4 ft5 ft6 ft7 fs0 fs1 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7 fs2 fs3 fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11 ft8 ft9 ft10 ft11"
)
_RISCV: Final = Unwinding(
    {name: number for number, name in enumerate(_RISCV_NAMES.split())},
    "sp",
    "s0",
    "ra",
    1,
    0,
    2,
    (
        (rf"(?:addi sp, sp, |c\.addi sp, |c\.addi16sp sp, ){_N}", "move"),
        (rf"(?:f?sd|c\.f?sdsp) (?P<r>\w+), {_N}\(sp\)", "store"),
        (rf"(?:f?ld|c\.f?ldsp) (?P<r>\w+), {_N}\(sp\)", "load"),
        (rf"(?:c\.)?lui ra, {_N}", "upper"),
        (rf"(?:c\.li ra, |li ra, |addi ra, zero, ){_N}", "constant"),
        (rf"(?:addiw? ra, ra, |c\.addiw? ra, ){_N}", "more"),
        (r"sub sp, sp, ra", "grow_by"),
        (r"(?:c\.add sp, ra|add sp, sp, ra)", "shrink_by"),
        (r"(?:mv s0, sp|c\.mv s0, sp)", "point"),
        (r"(?:mv sp, s0|c\.mv sp, s0)", "return"),
        (r"ret|(?:c\.)?j .*|(?:c\.)?jr .*|jalr zero, .*|jal zero, .*", "leave"),
    ),
)
_MACHINES: Final = {"x86-64": _X86, "aarch64": _AARCH64, "rv64": _RISCV}


def unwinding_of(target: Target) -> Unwinding | None:
    """The table for a machine, or None where there is none."""
    return next((each for family, each in _MACHINES.items() if target.name.startswith(family)), None)


class _Follower:
    """Follows the stack pointer through a function, and writes DWARF's instructions."""

    def __init__(self, machine: Unwinding, compiled: Compiled) -> None:
        self.machine = machine
        frame = compiled.function.frame
        self.moves = frame is not None and frame.moves
        registers = compiled.target.registers
        # Vector registers by the part of them that calls preserve.
        names = [registers[r].name for r in frame.saved] if frame is not None else []
        self.savable = {machine.link, *(f"d{name[1:]}" if name[0] == "v" else name for name in names)}
        self.out = bytearray()
        self.written = 0
        self.at = 0
        #: The canonical frame address is so far above this register.
        self.register = machine.pointer
        self.distance = machine.at_entry
        self.saved: dict[str, int] = {}
        #: The state in front of an epilogue, while one is followed.
        self.before: tuple[int, int, dict[str, int]] | None = None
        self.number = 0

    def _advance(self) -> None:
        delta = (self.at - self.written) // self.machine.unit
        self.written = self.at
        if not delta:
            return
        if delta < 0x40:
            self.out.append(_ADVANCE | delta)
        elif delta < 1 << 8:
            self.out += struct.pack("<BB", _ADVANCE_1, delta)
        elif delta < 1 << 16:
            self.out += struct.pack("<BH", _ADVANCE_2, delta)
        else:
            self.out += struct.pack("<BI", _ADVANCE_4, delta)

    def _say(self, *values: int) -> None:
        self._advance()
        self.out.append(values[0])
        for value in values[1:]:
            self.out += unsigned(value)

    def by(self, amount: int) -> None:
        """The stack pointer has gone down by so many bytes."""
        if self.register == self.machine.pointer:
            self.distance += amount
            self._say(_DEFINE_OFFSET, self.distance)

    def save(self, name: str, place: int) -> None:
        """A register has been stored so far above the stack pointer."""
        if name not in self.savable or name in self.saved or self.register != self.machine.pointer:
            return
        self.saved[name] = place - self.distance
        number, factored = self.machine.numbers[name], (place - self.distance) // _SLOT
        if number < 0x40:
            self._say(_OFFSET | number, factored)
        else:
            self._say(_OFFSET_EXTENDED, number, factored)

    def restore(self, name: str, place: int) -> None:
        """A register has been loaded from so far above the stack pointer."""
        if self.saved.get(name) != place - self.distance or self.register != self.machine.pointer:
            return
        del self.saved[name]
        number = self.machine.numbers[name]
        if number < 0x40:
            self._say(_RESTORE | number)
        else:
            self._say(_RESTORE_EXTENDED, number)

    def leaving(self, start: int) -> None:
        """An epilogue begins with the instruction at ``start``."""
        if self.before is None:
            self.before = self.register, self.distance, dict(self.saved)
            end, self.at = self.at, start
            self._say(_REMEMBER)
            self.at = end

    def again(self) -> None:
        """What comes is reached from elsewhere: the frame is there."""
        if self.before is not None:
            self.register, self.distance, self.saved = self.before
            self.before = None
            self._say(_RESTORE_STATE)

    def follow(self, start: int, text: str) -> None:
        """An instruction, which ends at ``at``."""
        for pattern, verb in self.machine.verbs:
            match = pattern.fullmatch(text)
            if match is None:
                continue
            groups = match.groupdict()
            names = [groups[key] for key in ("t", "r", "q") if groups.get(key)]
            n = int(groups.get("n") or "0", 0) << int(groups.get("s") or "0")
            self._do(verb, start, names, n)
            return

    def _do(self, verb: str, start: int, names: list[str], n: int) -> None:
        if verb in ("upper", "constant", "more"):
            self.number = n << 12 if verb == "upper" else n + (self.number if verb == "more" else 0)
        elif verb == "push":
            self.by(8)
            self.save(names[0], 0)
        elif verb == "pop":
            self.leaving(start)
            self.restore(names[0], 0)
            self.by(-8)
        elif verb in ("grow", "grow_by"):
            self.by(n if verb == "grow" else self.number)
        elif verb in ("shrink", "shrink_by"):
            self.leaving(start)
            self.by(-(n if verb == "shrink" else self.number))
        elif verb == "move":
            if n > 0:
                self.leaving(start)
            self.by(-n)
        elif verb in ("store", "first"):
            if verb == "first":
                self.by(-n)
                n = 0
            for k, name in enumerate(names):
                self.save(name, n + 8 * k)
        elif verb in ("load", "last"):
            place = 0 if verb == "last" else n
            if any(self.saved.get(name) == place + 8 * k - self.distance for k, name in enumerate(names)):
                self.leaving(start)
            for k, name in enumerate(names):
                self.restore(name, place + 8 * k)
            if verb == "last":
                self.by(-n)
        elif verb == "point" and self.moves and self.register == self.machine.pointer:
            self.register = self.machine.frame
            self._say(_DEFINE_REGISTER, self.register)
        elif verb == "return" and self.moves:
            self.leaving(start)
            self.register = self.machine.pointer
            self._say(_DEFINE_REGISTER, self.register)


def steps(compiled: Compiled) -> bytes:
    """What a function does to its frame, as DWARF's instructions. Nothing for a machine that has no table."""
    machine = unwinding_of(compiled.target)
    if machine is None:
        return b""
    follower = _Follower(machine, compiled)
    rows = compiled.listing()
    left = False
    for start, data, text, _ in rows:
        if left:
            follower.at = start
            follower.again()
            left = False
        follower.at = start + len(data)
        follower.follow(start, text)
        left = follower.before is not None and any(verb == "leave" and pattern.fullmatch(text) for pattern, verb in machine.verbs)
    return bytes(follower.out)


def unsigned(value: int) -> bytes:
    """LEB128 (DWARF 4, 7.6)."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _entry(body: bytes) -> bytes:
    """An entry with its length, filled up with DW_CFA_nop to a multiple of 8."""
    body += bytes(-(len(body) + 4) % 8)
    return struct.pack("<I", len(body)) + body


def common(machine: Unwinding, encoding: int) -> bytes:
    """The common information entry, which the section begins with: what holds at the beginning of every function."""
    body = struct.pack("<IB", 0, 1) + b"zR\0" + unsigned(machine.unit) + bytes((_SLOT & 0x7F,)) + unsigned(machine.column) + unsigned(1) + bytes((encoding,))
    body += bytes((_DEFINE,)) + unsigned(machine.pointer) + unsigned(machine.at_entry)
    if machine.at_entry:
        # A call has pushed the return address.
        body += bytes((_OFFSET | machine.column,)) + unsigned(machine.at_entry // -_SLOT)
    return _entry(body)


def description(at: int, size: int, made: bytes, encoding: int, address: int = 0) -> tuple[bytes, int]:
    """A function's entry, and where in it the address of the function goes.

    Args:
        at: where in the section it begins; the common entry is at its beginning.
        size: bytes of the function's instructions.
        made: its ``steps``.
        encoding: ``ABSOLUTE``, with the address, or ``RELATIVE``, for the linker to fill in.
        address: of the function.
    """
    place = struct.pack("<QQ", address, size) if encoding == ABSOLUTE else struct.pack("<iI", 0, size)
    return _entry(struct.pack("<I", at + 4) + place + unsigned(0) + made), 8
