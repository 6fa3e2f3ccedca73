"""A list of machine instructions with labels, jumps and constants, and its way to bytes.

Lowering rules ``emit`` into an ``Assembler``; ``Assembler.encode`` encodes each instruction, chooses the short or the near form
of every jump, fills alignments, and lays the constants down behind the code. ``listing`` prints the result.
"""

from __future__ import annotations

import re
from typing import Final

from loopwright.errors import InternalError
from loopwright.targets.target import MachineCode
from loopwright.targets.x86.encoder import EVEX, LEGACY, NO_REGISTER, RIP, Form, M, Operand, encode, lookup
from loopwright.targets.x86.instructions import Row
from loopwright.targets.x86.registers import int_name

__all__ = [
    "ABOVE",
    "ABOVE_EQUAL",
    "ALWAYS",
    "BELOW_EQUAL",
    "EQUAL",
    "GREATER_EQUAL",
    "LESS",
    "LESS_EQUAL",
    "LINE",
    "NOT_EQUAL",
    "NO_REGISTER",
    "OVERFLOW",
    "PARITY",
    "RIP",
    "SIGN",
    "Assembler",
    "Form",
    "M",
    "Program",
    "listing",
    "lookup",
    "text",
]

# Condition codes (SDM volume 1, appendix B): the low four bits of jcc, setcc and cmovcc. Exclusive-or with 1 negates one.
OVERFLOW: Final = 0
ABOVE_EQUAL: Final = 3
EQUAL: Final = 4
NOT_EQUAL: Final = 5
BELOW_EQUAL: Final = 6
ABOVE: Final = 7
SIGN: Final = 8
PARITY: Final = 10
LESS: Final = 12
GREATER_EQUAL: Final = 13
LESS_EQUAL: Final = 14
#: Bytes of a cache line.
LINE: Final = 64
#: Not a condition: an unconditional jump.
ALWAYS: Final = 16

CONDITIONS: Final = ("o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g")

#: The recommended multi-byte NOPs (SDM volume 2, NOP, table 4-12), by length.
NOPS: Final[tuple[bytes, ...]] = (
    b"",
    b"\x90",
    b"\x66\x90",
    b"\x0f\x1f\x00",
    b"\x0f\x1f\x40\x00",
    b"\x0f\x1f\x44\x00\x00",
    b"\x66\x0f\x1f\x44\x00\x00",
    b"\x0f\x1f\x80\x00\x00\x00\x00",
    b"\x0f\x1f\x84\x00\x00\x00\x00\x00",
    b"\x66\x0f\x1f\x84\x00\x00\x00\x00\x00",
)

# What an item of the list is beyond the kinds of forms (encoder.LEGACY, VEX, EVEX).
LABEL: Final = 10
ALIGN: Final = 11
JUMP: Final = 12
CALL: Final = 13


def _past_line(starts: list[int], kinds: list[int], values: list[int], align: int) -> int:
    """Where in a cache line what is aligned to one begins: a straight loop that does not fit into one, in its middle.

    Measured on Zen 5: of loops of loads, comparisons and subtractions, of 72 to 148 bytes, those that begin where a line does take 1.2 to 2 times as long as at any other multiple of 4; such of
    up to 64 bytes are the fastest there. Loops of other operations take as long anywhere.
    """
    if values[align] < LINE or align + 2 >= len(kinds) or kinds[align + 1] != LABEL or kinds[align + 2] != JUMP:
        return 0
    return LINE // 2 if starts[align + 2] - starts[align + 1] + 2 > LINE else 0


def _pseudo(name: str, kind: int) -> Form:
    form = Form(Row(name, "", "90", "", "", "", ()))
    form.kind = kind
    return form


_LABEL: Final = _pseudo("LABEL", LABEL)
_ALIGN: Final = _pseudo("ALIGN", ALIGN)
_JUMP: Final = _pseudo("JUMP", JUMP)
_CALL: Final = _pseudo("CALL", CALL)

#: (form, register codes, memory operand, immediate, writemask, zeroing, user's line). A label, alignment, jump or call has its
#: number, boundary, target or symbol in place of the immediate, a jump its condition as the only "register", and a call whether it leaves the function.
Item = tuple[Form, tuple[int, ...], M | None, int, int, bool, int]


#: Numbers of pool constants from here on are those of tables of jumps, and those of symbols.
TABLES: Final = 1 << 23
SYMBOLS: Final = 1 << 24


class Program:
    """What a listing needs of encoded code: the items, and how long the jumps and alignments became.

    Attributes:
        items: as emitted.
        sizes: bytes of each label (0), alignment, jump, in the order of the items.
        labels: offset of each label.
        symbols: names of the called functions.
    """

    __slots__ = ("items", "labels", "sizes", "symbols")

    def __init__(self, items: list[Item], sizes: list[int], labels: dict[int, int], symbols: list[str]) -> None:
        self.items = items
        self.sizes = sizes
        self.labels = labels
        self.symbols = symbols


class Assembler:
    """Collects machine instructions.

    Attributes:
        items: what has been emitted.
        line: the user's line given to instructions that are emitted without one.
    """

    __slots__ = ("_constants", "_pool", "_symbols", "_tables", "items", "line")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.line = 0
        self._pool: dict[bytes, int] = {}
        self._constants: list[tuple[bytes, int]] = []
        self._symbols: list[str] = []
        self._tables: list[list[int]] = []

    def emit(self, form: Form, ops: tuple[int, ...] = (), mem: M | None = None, imm: int = 0, k: int = 0, z: bool = False, line: int = 0) -> None:
        """Append an instruction; the arguments are those of ``encoder.encode``."""
        self.items.append((form, ops, mem, imm, k, z, line or self.line))

    def ins(self, form: Form, *operands: int | M, k: int = 0, z: bool = False, line: int = 0) -> None:
        """Append an instruction whose operands are given in the form's order: register codes, immediates, one ``M``. ``emit`` is quicker."""
        ops: list[int] = []
        mem: M | None = None
        imm = 0
        i = 0
        for described in form.operands:
            if described.fixed:
                continue
            operand = operands[i]
            i += 1
            if isinstance(operand, M):
                mem = operand
            elif described.immediate:
                imm = operand
            else:
                ops.append(operand)
        if i != len(operands):
            raise TypeError(f"{form}: {len(operands)} operands given")
        self.emit(form, tuple(ops), mem, imm, k, z, line)

    def label(self, label: int) -> None:
        """The next instruction is what jumps to ``label`` reach."""
        self.items.append((_LABEL, (), None, label, 0, False, 0))

    def align(self, boundary: int) -> None:
        """Fill with long NOPs up to a multiple of ``boundary`` bytes (a power of two)."""
        self.items.append((_ALIGN, (), None, boundary, 0, False, 0))

    def jump(self, condition: int, label: int, line: int = 0) -> None:
        """Jump to a label, placed before or after, on a condition code or ``ALWAYS``."""
        self.items.append((_JUMP, (condition,), None, label, 0, False, line or self.line))

    def call_symbol(self, name: str, line: int = 0, leave: bool = False) -> None:
        """Call a function that the linker finds, or ``leave`` for it: leaves a relocation of kind ``pc32``."""
        if name not in self._symbols:
            self._symbols.append(name)
        self.items.append((_CALL, (int(leave),), None, self._symbols.index(name), 0, False, line or self.line))

    def symbol(self, name: str, disp: int = 0, bcst: bool = False) -> M:
        """What the linker finds, or what is some bytes behind it, as a memory operand: leaves a relocation of kind ``pc32``."""
        if name not in self._symbols:
            self._symbols.append(name)
        return M(RIP, NO_REGISTER, 1, disp, bcst, SYMBOLS + self._symbols.index(name))

    def table(self) -> M:
        """A table behind the code, as a memory operand: 32 bits for each label that is added to it, how far that is from the table's beginning."""
        self._tables.append([])
        return M(RIP, NO_REGISTER, 1, 0, False, TABLES + len(self._tables) - 1)

    def entry(self, label: int) -> None:
        """One more entry of the last table."""
        self._tables[-1].append(label)

    def constant(self, data: bytes, align: int = 0, bcst: bool = False) -> M:
        """A constant in the pool behind the code, as a memory operand. Equal constants are stored once.

        Args:
            data: its bytes.
            align: in bytes; 0 means the largest power of two not above its size, at most 64.
            bcst: use it as a broadcast operand.
        """
        if align == 0:
            align = min(64, 1 << len(data).bit_length() - 1)
        number = self._pool.get(data, -1)
        if number < 0:
            number = len(self._constants)
            self._pool[data] = number
            self._constants.append((data, align))
        elif self._constants[number][1] < align:
            self._constants[number] = (data, align)
        return M(RIP, NO_REGISTER, 1, 0, bcst, number)

    def settle(self) -> list[int]:
        """All has been emitted: leave out of ``items`` what turned out not to be needed; the places of that, the last first."""
        return []

    def encode(self) -> MachineCode:
        """The bytes. Raises ``InternalError`` for an instruction that cannot be encoded and a label placed twice or never."""
        # First everything of known size, with the places of what is not (labels, alignments, jumps: "events") beside it.
        raw = bytearray()
        starts: list[int] = []
        kinds: list[int] = []
        values: list[int] = []
        conditions: list[int] = []
        sizes: list[int] = []
        pending: list[int] = []
        label_events: dict[int, int] = {}
        patches: list[tuple[int, int, int, M]] = []
        calls: list[tuple[int, int, int]] = []
        for form, ops, mem, imm, k, z, _ in self.items:
            kind = form.kind
            if kind <= EVEX:
                tail = encode(raw, form, ops, mem, imm, k, z)
                if mem is not None and mem.pool >= 0:
                    patches.append((len(raw) - 4 - tail, tail, len(starts), mem))
            elif kind == CALL:
                raw += b"\xe9\x00\x00\x00\x00" if ops[0] else b"\xe8\x00\x00\x00\x00"
                calls.append((len(raw) - 4, len(starts), imm))
            else:
                if kind == LABEL:
                    if imm in label_events:
                        raise InternalError(f"label {imm} is placed twice")
                    label_events[imm] = len(starts)
                elif kind == JUMP:
                    pending.append(len(starts))
                starts.append(len(raw))
                kinds.append(kind)
                values.append(imm)
                conditions.append(ops[0] if kind == JUMP else 0)
                sizes.append(2 if kind == JUMP else 0)
        # Jumps start short, and those that do not reach grow. One that has grown stays so, hence this ends.
        count = len(starts)
        offsets = [_past_line(starts, kinds, values, i) if kinds[i] == ALIGN else 0 for i in range(count)]
        addresses = [0] * count
        while True:
            shift = 0
            for i in range(count):
                address = starts[i] + shift
                addresses[i] = address
                if kinds[i] == ALIGN:
                    sizes[i] = (offsets[i] - address) % values[i]
                shift += sizes[i]
            short: list[int] = []
            for i in pending:
                if values[i] not in label_events:
                    raise InternalError(f"label {values[i]} is jumped to and never placed")
                if -128 <= addresses[label_events[values[i]]] - addresses[i] - 2 <= 127:
                    short.append(i)
                else:
                    sizes[i] = 5 if conditions[i] == ALWAYS else 6
            if len(short) == len(pending):
                break
            pending = short
        # Then the bytes with the jumps and NOPs in their places.
        out = bytearray()
        at = 0
        shifts = [0] * (count + 1)
        for i in range(count):
            out += raw[at : starts[i]]
            at = starts[i]
            kind = kinds[i]
            if kind == JUMP:
                condition = conditions[i]
                displacement = addresses[label_events[values[i]]] - addresses[i] - sizes[i]
                if sizes[i] == 2:
                    out.append(0xEB if condition == ALWAYS else 0x70 | condition)
                    out.append(displacement & 255)
                else:
                    out += b"\xe9" if condition == ALWAYS else bytes((0x0F, 0x80 | condition))
                    out += displacement.to_bytes(4, "little", signed=True)
            elif kind == ALIGN:
                _fill(out, sizes[i])
            shifts[i + 1] = len(out) - at
        out += raw[at:]
        code_size = len(out)
        alignment = 16
        for i in range(count):
            if kinds[i] == ALIGN and values[i] > alignment:
                alignment = values[i]
        relocations: list[tuple[int, str, str]] = []
        labels = {label: addresses[event] for label, event in label_events.items()}
        if patches:
            alignment = self._place_constants(out, patches, shifts, alignment, relocations, labels)
        relocations += [(position + shifts[event], "pc32", self._symbols[symbol]) for position, event, symbol in calls]
        return MachineCode(bytes(out), code_size, Program(self.items, sizes, labels, self._symbols), relocations, alignment)

    def _place_constants(
        self,
        out: bytearray,
        patches: list[tuple[int, int, int, M]],
        shifts: list[int],
        alignment: int,
        relocations: list[tuple[int, str, str]],
        labels: dict[int, int],
    ) -> int:
        """Append the pool, those of the greatest alignment first, and the tables, and patch the references, or leave them to the linker; returns the
        alignment the code's start needs."""
        constants = self._constants
        offsets = [0] * len(constants)
        for number in sorted(range(len(constants)), key=lambda n: -constants[n][1]):
            data, align = constants[number]
            alignment = max(alignment, align)
            # 0xCC (int3) between code and constants, so that running off the end is noticed.
            out += b"\xcc" * (-len(out) % align)
            offsets[number] = len(out)
            out += data
        tables: list[int] = []
        for table in self._tables:
            out += b"\xcc" * (-len(out) % 4)
            start = len(out)
            tables.append(start)
            for label in table:
                out += (labels[label] - start).to_bytes(4, "little", signed=True)
        for position, tail, event, mem in patches:
            place = position + shifts[event]
            if mem.pool >= SYMBOLS:
                # (Distances count from the instruction's end.)
                out[place : place + 4] = (mem.disp - tail).to_bytes(4, "little", signed=True)
                relocations.append((place, "pc32", self._symbols[mem.pool - SYMBOLS]))
                continue
            start = tables[mem.pool - TABLES] if mem.pool >= TABLES else offsets[mem.pool]
            displacement = start + mem.disp - (place + 4 + tail)
            out[place : place + 4] = displacement.to_bytes(4, "little", signed=True)
        return alignment


def _fill(out: bytearray, size: int) -> None:
    while size > 9:
        out += NOPS[9]
        size -= 9
    out += NOPS[size]


# --- listings ---------------------------------------------------------------------------------------------

_RELATIVE: Final = re.compile(r"\[rip[+-]0x[0-9a-f]+\]")
_SIZES: Final[dict[int, str]] = {
    8: "byte ptr ",
    16: "word ptr ",
    32: "dword ptr ",
    64: "qword ptr ",
    128: "xmmword ptr ",
    256: "ymmword ptr ",
    512: "zmmword ptr ",
}


def _number(value: int) -> str:
    if -10 < value < 10:
        return str(value)
    return f"-{-value:#x}" if value < 0 else f"{value:#x}"


def _distance(disp: int) -> str:
    """How far from a symbol."""
    return "" if not disp else f"-{-disp:#x}" if disp < 0 else f"+{disp:#x}"


def _address(mem: M, operand: Operand) -> str:
    parts = ""
    if mem.base == RIP:
        parts = "rip"
    elif mem.base >= 0:
        parts = int_name(mem.base, 64)
    if mem.index >= 0:
        index = f"{operand.vector_index}{mem.index}" if operand.vector_index else int_name(mem.index, 64)
        scaled = f"{index}*{mem.scale}" if mem.scale > 1 or not parts or operand.vector_index else index
        parts = f"{parts}+{scaled}" if parts else scaled
    disp = mem.disp
    if not parts:
        parts = f"{disp & 0xFFFFFFFFFFFFFFFF:#x}"
    elif disp or mem.base == RIP:
        parts += f"-{-disp:#x}" if disp < 0 else f"+{disp:#x}"
    return f"[{parts}]"


def text(form: Form, ops: tuple[int, ...], mem: M | None = None, imm: int = 0, k: int = 0, z: bool = False, end: int = 0) -> str:
    """An instruction in Intel syntax; the arguments are those of ``encoder.encode``, and ``end`` is the address behind it, for relative jumps."""
    words: list[str] = []
    next_register = 0
    for i, operand in enumerate(form.operands):
        if operand.fixed:
            word = operand.fixed
        elif operand.immediate:
            word = f"{end + imm:#x}" if operand.place == "D" else _number(imm)
        elif mem is not None and i == form.memory_at:
            if mem.bcst and operand.broadcast:
                # As many copies as the whole operand has elements.
                word = f"{_SIZES[operand.broadcast]}{_address(mem, operand)}{{1to{operand.memory // operand.broadcast}}}"
            else:
                word = _SIZES.get(operand.memory, "") + _address(mem, operand)
        else:
            code = ops[next_register]
            next_register += 1
            register = operand.register
            word = int_name(code, int(register[1:])) if register[0] == "r" else f"{register}{code}"
        if k and operand.masked:
            word += f"{{k{k}}}{{z}}" if z else f"{{k{k}}}"
        words.append(word)
    return f"{form.mnemonic} {', '.join(words)}" if words else form.mnemonic


def listing(code: MachineCode) -> list[tuple[int, bytes, str, int]]:
    """(offset, bytes, text, user's line) of each instruction of encoded code, in order, in Intel syntax."""
    program: Program = code.instructions
    lines: list[tuple[int, bytes, str, int]] = []
    scratch = bytearray()
    offset = 0
    event = 0
    for form, ops, mem, imm, k, z, line in program.items:
        kind = form.kind
        start = offset
        if kind <= EVEX:
            scratch.clear()
            tail = encode(scratch, form, ops, mem, imm, k, z)
            offset += len(scratch)
            shown = mem
            if mem is not None and mem.pool >= 0:
                found = offset - tail - 4
                shown = M(RIP, NO_REGISTER, 1, int.from_bytes(code.data[found : found + 4], "little", signed=True), mem.bcst)
            used = form
            if kind != LEGACY and len(scratch) and scratch[0] == 0x62 and kind != EVEX:
                used = form.evex() or form
            words = text(used, ops, shown, imm, k, z, offset)
            if mem is not None and mem.pool >= SYMBOLS:
                words = _RELATIVE.sub(f"[rip+{program.symbols[mem.pool - SYMBOLS]}{_distance(mem.disp)}]", words)
        elif kind == CALL:
            offset += 5
            words = f"{'jmp' if ops[0] else 'call'} {program.symbols[imm]}"
        else:
            offset += program.sizes[event]
            event += 1
            if kind == LABEL or offset == start:
                continue
            if kind == JUMP:
                words = f"{'jmp' if ops[0] == ALWAYS else 'j' + CONDITIONS[ops[0]]} {program.labels[imm]:#x}"
            else:
                while offset - start > 0:
                    size = min(9, offset - start)
                    lines.append((start, code.data[start : start + size], "nop", 0))
                    start += size
                continue
        lines.append((start, code.data[start:offset], words, line))
    return lines
