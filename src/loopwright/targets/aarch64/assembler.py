"""Assembler for AArch64: labels, branches however far, constants, calls, alignment, and the listing.

Rules append instructions with ``emit`` and the few composites below it; nothing has an address until ``encode``, which gives each branch and each
load of a constant its short form where that reaches. Longer forms of the latter, and long additions, destroy ``SCRATCH`` and ``SCRATCH2``.
"""

from __future__ import annotations

import struct
from typing import Final

from loopwright.errors import TargetError
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.constants import materialise, vector_immediate
from loopwright.targets.aarch64.immediates import float_immediate
from loopwright.targets.aarch64.notation import Row
from loopwright.targets.aarch64.registers import SCRATCH, SCRATCH2, ZR
from loopwright.targets.target import MachineCode

__all__ = ["CALL", "JUMP", "PAGE", "Assembler", "listing", "patch_address", "patch_call"]

#: Kind of relocation: a ``bl`` to a symbol (R_AARCH64_CALL26 of the ELF supplement).
CALL: Final = "call26"
#: The page of an address in an adrp, and the rest of it in the addition behind (R_AARCH64_ADR_PREL_PG_HI21 and R_AARCH64_ADD_ABS_LO12_NC of the ABI's ELF document).
PAGE: Final = "page"
#: A jump to a function.
JUMP: Final = "jump26"
_KINDS: Final[dict[Row, str]] = {i.BL: CALL, i.B: JUMP, i.ADRP: PAGE}

# Conditions (Arm ARM, C1.2.4). Exclusive-or with 1 negates one, except ALWAYS. After fcmp of a NaN these hold: NE, HS, PL, VS, HI, LT, LE; so
# "less" is MI and "less or equal" LS where that must be false, and LT and LE where it must be true.
EQ: Final = 0
NE: Final = 1
HS: Final = 2
LO: Final = 3
MI: Final = 4
PL: Final = 5
VS: Final = 6
VC: Final = 7
HI: Final = 8
LS: Final = 9
GE: Final = 10
LT: Final = 11
GT: Final = 12
LE: Final = 13
ALWAYS: Final = 14

# What ``shift`` does to an operand.
LSL: Final = 0
LSR: Final = 1
ASR: Final = 2
ROR: Final = 3

# What ``extend`` does to a 32-bit operand, of which UXTB and so on take the low part.
UXTB: Final = 0
UXTH: Final = 1
UXTW: Final = 2
SXTB: Final = 4
SXTH: Final = 5
SXTW: Final = 6

# What is filled in when addresses are known. Those up to _JUMP are about labels, from _POOL on about constants.
_BRANCH: Final = 0
_JUMP: Final = 1
_ALIGN: Final = 2
_POOL: Final = 3
_ADDRESS: Final = 4
_TABLE: Final = 5

_INVERSE: Final[dict[Row, Row]] = {
    i.CBZ["w"]: i.CBNZ["w"],
    i.CBZ["x"]: i.CBNZ["x"],
    i.CBNZ["w"]: i.CBZ["w"],
    i.CBNZ["x"]: i.CBZ["x"],
    i.TBZ: i.TBNZ,
    i.TBNZ: i.TBZ,
}
#: What a constant of the pool is aligned to at most: a cache line.
_MOST_ALIGNED: Final = 64
#: Loads from the pool: bytes, and the load from an address in two registers for when the pool is far.
_POOL_LOADS: Final[dict[Row, tuple[int, Row]]] = {
    i.LDR_LIT["w"]: (4, i.LDR_REG["w"]),
    i.LDR_LIT["x"]: (8, i.LDR_REG["x"]),
    i.LDR_V_LIT["s"]: (4, i.LDR_V_REG["s"]),
    i.LDR_V_LIT["d"]: (8, i.LDR_V_REG["d"]),
    i.LDR_V_LIT["q"]: (16, i.LDR_V_REG["q"]),
}
_NEAR: Final = 4
_FAR_BRANCH: Final = 8
_FAR_POOL: Final = 16
#: Reach of b.cond, cbz, ldr (literal) and adr; of tbz; of b.
_REACH: Final = 1 << 20
_REACH_TEST: Final = 1 << 15
_REACH_JUMP: Final = 1 << 27

Placed = tuple[int, Row, tuple[int, ...], int]


class Assembler:
    """Collects the instructions of one function.

    Attributes:
        line: the user's line that the next instructions come from.
    """

    __slots__ = ("_alignment", "_constants", "_fixes", "_fresh", "_labels", "_lines", "_pool", "_relocations", "_rows", "_tables", "_values", "line")

    def __init__(self) -> None:
        self.line = 0
        self._rows: list[Row] = []
        self._values: list[tuple[int, ...]] = []
        self._lines: list[int] = []
        self._labels: dict[int, int] = {}
        self._fresh = 0
        # By instruction: what is filled in, and the label, constant or boundary it is about.
        self._fixes: dict[int, tuple[int, int]] = {}
        self._relocations: list[tuple[int, str]] = []
        self._constants: list[bytes] = []
        self._pool: dict[bytes, int] = {}
        self._alignment = 16
        self._tables: list[list[int]] = []

    # --- what rules call ----------------------------------------------------------------------------------

    def emit(self, row: Row, *values: int) -> None:
        """Append an instruction; registers by their machine codes, operands in the order of its text."""
        self._rows.append(row)
        self._values.append(values)
        self._lines.append(self.line)

    def new_label(self) -> int:
        """A label of the assembler's own (the function's have the numbers from 0)."""
        self._fresh -= 1
        return self._fresh

    def bind(self, label: int) -> None:
        """The label means the next instruction."""
        self._labels[label] = len(self._rows)

    def align(self, boundary: int) -> None:
        """Fill with nops up to a multiple of ``boundary`` bytes (a power of two)."""
        self._alignment = max(self._alignment, boundary)
        self._fix(_ALIGN, boundary)
        self.emit(i.NOP)

    def branch(self, row: Row, label: int, *values: int) -> None:
        """A conditional branch to a label, however far: ``B_COND``, ``CBZ``, ``CBNZ``, ``TBZ`` or ``TBNZ``, and its operands but the distance."""
        if row is i.B_COND:
            if values[0] >= ALWAYS:
                self.jump(label)
                return
        elif row not in _INVERSE:
            raise ValueError(f"{row} is not a conditional branch")
        self._fix(_BRANCH, label)
        self.emit(row, *values, 0)

    def jump(self, label: int) -> None:
        """A jump to a label."""
        self._fix(_JUMP, label)
        self.emit(i.B, 0)

    def call(self, symbol: str) -> None:
        """Call a symbol that the linker resolves."""
        self._relocations.append((len(self._rows), symbol))
        self.emit(i.BL, 0)

    def leave(self, symbol: str) -> None:
        """Go to a symbol that the linker resolves."""
        self._relocations.append((len(self._rows), symbol))
        self.emit(i.B, 0)

    def symbol(self, rd: int, name: str) -> None:
        """The address of a symbol that the linker resolves: its page, and where in it."""
        self._relocations.append((len(self._rows), name))
        self.emit(i.ADRP, rd, 0)
        self.emit(i.ADD_IMM["x"], rd, rd, 0, 0)

    def move(self, rd: int, rs: int) -> None:
        """Integer register to integer register, all 64 bits; neither is the stack pointer."""
        if rd != rs:
            self.emit(i.ORR["x"], rd, ZR, rs, 0, 0)

    def move_vector(self, rd: int, rs: int) -> None:
        """Vector register to vector register, all 128 bits."""
        if rd != rs:
            self.emit(i.ORR_V["16b"], rd, rs, rs)

    def shift(self, kind: int, shape: str, rd: int, rn: int, amount: int) -> None:
        """Shift by a constant below the width: ``LSL``, ``LSR``, ``ASR`` or ``ROR``, ``w`` or ``x``."""
        top = 31 if shape == "w" else 63
        if kind == LSL:
            self.emit(i.UBFM[shape], rd, rn, -amount & top, top - amount)
        elif kind == ROR:
            self.emit(i.EXTR[shape], rd, rn, rn, amount)
        else:
            self.emit(i.UBFM[shape] if kind == LSR else i.SBFM[shape], rd, rn, amount, top)

    def extend(self, rd: int, rn: int, bits: int, signed: bool, shape: str = "x") -> None:
        """The low 8, 16 or 32 bits, extended to the whole register (``w`` clears the upper half of the result)."""
        if signed:
            self.emit(i.SBFM[shape], rd, rn, 0, bits - 1)
        elif bits == 32:
            self.emit(i.ORR["w"], rd, ZR, rn, LSL, 0)
        else:
            self.emit(i.UBFM["w"], rd, rn, 0, bits - 1)

    def set_if(self, condition: int, rd: int) -> None:
        """1 or 0, as a condition holds or not (``cset``)."""
        self.emit(i.CSINC["w"], rd, ZR, ZR, condition ^ 1)

    def load_immediate(self, rd: int, value: int) -> None:
        """A 64-bit integer, given signed or unsigned, into an integer register. One of 32 bits whose upper half is 0 is written as unsigned."""
        for position, (row, operands) in enumerate(materialise(value)):
            if row.family is i.ORR_IMM:
                self.emit(row, rd, rd if position else ZR, operands[0])
            else:
                self.emit(row, rd, *operands)

    def add_immediate(self, rd: int, rn: int, value: int) -> None:
        """``rd = rn + value``, 64 bits; 31 is the stack pointer. Values beyond 24 bits destroy ``SCRATCH``."""
        size = abs(value)
        row = i.ADD_IMM["x"] if value >= 0 else i.SUB_IMM["x"]
        if size >> 24:
            self.load_immediate(SCRATCH, value)
            self.emit(i.ADD_UXTX, rd, rn, SCRATCH, 0)
            return
        if size >> 12:
            self.emit(row, rd, rn, size >> 12, 12)
            rn = rd
        if size & 0xFFF or rn != rd:
            self.emit(row, rd, rn, size & 0xFFF, 0)

    def load_float(self, rd: int, value: float, bits: int) -> None:
        """A floating-point constant of 16, 32 or 64 bits into a vector register."""
        data = struct.pack({16: "<e2x", 32: "<f", 64: "<d"}[bits], value)
        coded = float_immediate(value)
        if coded is not None:
            self.emit(i.FMOV_IMM[{16: "h", 32: "s", 64: "d"}[bits]], rd, coded)
        elif not any(data):
            self.emit(i.MOVI_D, rd, 0)
        else:
            self.load_pool(i.LDR_V_LIT["d" if bits == 64 else "s"], rd, data)

    def load_vector(self, rd: int, data: bytes) -> None:
        """A vector of 8 or 16 bytes into a vector register."""
        half = int.from_bytes(data[:8], "little")
        if len(data) == 8 or data[:8] == data[8:]:
            found = vector_immediate(half, 64, len(data) == 16)
            if found is not None:
                self.emit(found[0], rd, *found[1])
                return
        self.load_pool(i.LDR_V_LIT["d" if len(data) == 8 else "q"], rd, data)

    def load_pool(self, row: Row, rt: int, data: bytes) -> None:
        """Load a constant from the pool behind the code: ``row`` is of ``LDR_LIT`` or ``LDR_V_LIT``, and as wide as the constant."""
        if _POOL_LOADS[row][0] != len(data):
            raise ValueError(f"{row} does not load {len(data)} bytes")
        self._fix(_POOL, self._constant(data))
        self.emit(row, rt, 0)

    def pool_address(self, rd: int, data: bytes) -> None:
        """The address of a constant in the pool, of any length that is a power of two."""
        self._fix(_ADDRESS, self._constant(data))
        self.emit(i.ADR, rd, 0)

    def table(self, rd: int) -> None:
        """The address of a table behind the pool: 32 bits for each label that is added to it, how far that is from the table's beginning."""
        self._fix(_TABLE, len(self._tables))
        self.emit(i.ADR, rd, 0)
        self._tables.append([])

    def entry(self, label: int) -> None:
        """One more entry of the last table."""
        self._tables[-1].append(label)

    def __len__(self) -> int:
        """Instructions so far."""
        return len(self._rows)

    def _fix(self, kind: int, about: int) -> None:
        self._fixes[len(self._rows)] = (kind, about)

    def _constant(self, data: bytes) -> int:
        number = self._pool.get(data, -1)
        if number < 0:
            size = len(data)
            if size & size - 1 or not size:
                raise ValueError(f"a constant of {size} bytes")
            number = self._pool[data] = len(self._constants)
            self._constants.append(data)
        return number

    # --- layout -------------------------------------------------------------------------------------------

    def settle(self) -> list[int]:
        """All has been emitted: leave out of ``items`` what turned out not to be needed; the places of that, the last first."""
        return []

    def encode(self) -> MachineCode:
        """Lay the function out and encode it."""
        places, pool, alignment = self._lay_pool()
        tables = self._lay_tables(pool)
        sizes = [_NEAR] * len(self._rows)
        offsets, start = self._relax(sizes, places, tables, alignment)
        for place, labels in zip(tables, self._tables, strict=True):
            for n, label in enumerate(labels):
                pool[place + 4 * n : place + 4 * n + 4] = (offsets[self._labels[label]] - start - place).to_bytes(4, "little", signed=True)
        placed: list[Placed] = []
        for index, row in enumerate(self._rows):
            fix = self._fixes.get(index)
            if fix is None:
                placed.append((offsets[index], row, self._values[index], self._lines[index]))
                continue
            kind, about = fix
            if kind == _ALIGN:
                for offset in range(offsets[index], offsets[index + 1], 4):
                    placed.append((offset, i.NOP, (), 0))
            elif kind <= _JUMP:
                self._place_branch(placed, index, offsets[index], sizes[index], offsets[self._labels[about]])
            else:
                self._place_pool(placed, index, offsets[index], sizes[index], start + (tables if kind == _TABLE else places)[about])
        data = bytearray()
        for _, row, operands, _ in placed:
            data += row.encode(operands).to_bytes(4, "little")
        code_size = offsets[-1]
        if pool:
            data += bytes(start - code_size)
            data += pool
        relocations = [(offsets[index], _KINDS[self._rows[index]], symbol) for index, symbol in self._relocations]
        return MachineCode(bytes(data), code_size, placed, relocations, max(alignment, self._alignment))

    def _lay_tables(self, pool: bytearray) -> list[int]:
        """Where each table of jumps is in the pool, behind the constants."""
        found: list[int] = []
        for table in self._tables:
            pool += bytes(-len(pool) % 4)
            found.append(len(pool))
            pool += bytes(4 * len(table))
        return found

    def _lay_pool(self) -> tuple[list[int], bytearray, int]:
        """Where each constant is in the pool, the pool, and the alignment it needs: the longest first, so that nothing is lost between them."""
        places = [0] * len(self._constants)
        pool = bytearray()
        alignment = 4
        for number in sorted(range(len(places)), key=lambda n: -len(self._constants[n])):
            data = self._constants[number]
            alignment = max(alignment, min(len(data), _MOST_ALIGNED))
            places[number] = len(pool)
            pool += data
        return places, pool, alignment

    def _place_branch(self, placed: list[Placed], index: int, offset: int, size: int, target: int) -> None:
        row = self._rows[index]
        values = self._values[index]
        line = self._lines[index]
        distance = target - offset
        if size == _FAR_BRANCH:
            # Out of a branch's reach: the opposite branch over a jump.
            if row is i.B_COND:
                placed.append((offset, row, (values[0] ^ 1, 8), line))
            else:
                placed.append((offset, _INVERSE[row], (*values[:-1], 8), line))
            placed.append((offset + 4, i.B, (distance - 4,), line))
        else:
            placed.append((offset, row, (*values[:-1], distance), line))

    def _place_pool(self, placed: list[Placed], index: int, offset: int, size: int, target: int) -> None:
        row = self._rows[index]
        register = self._values[index][0]
        line = self._lines[index]
        distance = target - offset
        if size == _NEAR:
            placed.append((offset, row, (register, distance), line))
            return
        # Out of reach: this place's address, and the distance as a number.
        placed.append((offset, i.ADR, (SCRATCH, 0), line))
        placed.append((offset + 4, i.MOVZ["x"], (SCRATCH2, distance & 0xFFFF, 0), line))
        placed.append((offset + 8, i.MOVK["x"], (SCRATCH2, distance >> 16, 16), line))
        if row is i.ADR:
            placed.append((offset + 12, i.ADD["x"], (register, SCRATCH, SCRATCH2, 0, 0), line))
        else:
            placed.append((offset + 12, _POOL_LOADS[row][1], (register, SCRATCH, SCRATCH2, 0), line))

    def _relax(self, sizes: list[int], places: list[int], tables: list[int], alignment: int) -> tuple[list[int], int]:
        """Give every branch and load of a constant its final size, growing those that do not reach until all do; returns the instructions' offsets
        (and the end), and the pool's."""
        fixes = sorted(self._fixes.items())
        for _, (kind, about) in fixes:
            if kind <= _JUMP and about not in self._labels:
                raise ValueError(f"label {about} is never placed")
        while True:
            offsets = self._offsets(sizes)
            start = offsets[-1] + -offsets[-1] % alignment
            grown = False
            for index, (kind, about) in fixes:
                if kind == _ALIGN or sizes[index] != _NEAR:
                    continue
                if kind >= _POOL:
                    if start + (tables if kind == _TABLE else places)[about] - offsets[index] >= _REACH:
                        sizes[index] = _FAR_POOL
                        grown = True
                    continue
                distance = offsets[self._labels[about]] - offsets[index]
                if kind == _JUMP:
                    if not -_REACH_JUMP <= distance < _REACH_JUMP:
                        raise TargetError("a jump reaches no further than 128 MiB")
                    continue
                row = self._rows[index]
                reach = _REACH_TEST if row is i.TBZ or row is i.TBNZ else _REACH
                if not -reach <= distance < reach:
                    sizes[index] = _FAR_BRANCH
                    grown = True
            if not grown:
                return offsets, start

    def _offsets(self, sizes: list[int]) -> list[int]:
        """Where each instruction is, and the end, when they have these sizes; sets those of alignments."""
        offsets = [0] * (len(sizes) + 1)
        fixes = self._fixes
        at = 0
        for index, size in enumerate(sizes):
            offsets[index] = at
            fix = fixes.get(index)
            if fix is not None and fix[0] == _ALIGN:
                size = sizes[index] = -at % fix[1]
            at += size
        offsets[-1] = at
        return offsets


def patch_call(data: bytearray, offset: int, distance: int, leave: bool = False) -> None:
    """Make the ``CALL`` relocation at ``offset`` (or ``JUMP``, to ``leave``) go to ``offset + distance``. Raises ``TargetError`` when that is too far."""
    if not -_REACH_JUMP <= distance < _REACH_JUMP or distance % 4:
        raise TargetError("a call between functions reaches no further than 128 MiB")
    data[offset : offset + 4] = (i.B if leave else i.BL).encode((distance,)).to_bytes(4, "little")


def patch_address(data: bytearray, offset: int, distance: int, place: int) -> None:
    """Make the ``PAGE`` relocation at ``offset``, which will be at the address ``place``, mean ``place + distance``."""
    pages = (place + distance >> 12) - (place >> 12)
    if not -(1 << 20) <= pages < 1 << 20:
        raise TargetError("an address reaches no further than 4 GiB")
    rd = data[offset] & 31
    data[offset : offset + 4] = i.ADRP.encode((rd, pages << 12)).to_bytes(4, "little")
    data[offset + 4 : offset + 8] = i.ADD_IMM["x"].encode((rd, rd, (place + distance) & 0xFFF, 0)).to_bytes(4, "little")


def listing(machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
    """(offset, bytes, text, user's line) of each instruction; a branch and a load of a constant name the offset they go to, a call its symbol."""
    made: list[tuple[int, bytes, str, int]] = []
    placed: list[Placed] = machine.instructions
    symbols = {offset: symbol for offset, kind, symbol in machine.relocations if kind != PAGE}
    addresses = {offset: symbol for offset, kind, symbol in machine.relocations if kind == PAGE}
    addresses.update({offset + 4: f":lo12:{symbol}" for offset, symbol in addresses.items()})
    for offset, row, values, line in placed:
        row.prepare()
        target = symbols.get(offset, "")
        if not target and row.distance >= 0:
            target = hex(offset + values[row.distance])
        text = row.text(values, target)
        if offset in addresses:
            text = text.replace("#0", addresses[offset])
        made.append((offset, machine.data[offset : offset + 4], text, line))
    return made
