"""Assembler for RISC-V: labels, short and long branches, compressed forms, constants, and the listing.

Rules append instructions with ``emit`` and the few composites below it; nothing has an address until ``encode``, which
gives each branch its shortest form that reaches, and every other instruction its compressed form where one exists.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import TargetError
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.instructions import Row
from loopwright.targets.riscv.registers import INT_NAMES, RA, SP, ZERO
from loopwright.targets.target import MachineCode

__all__ = ["ADDRESS", "CALL", "JUMP", "Assembler", "listing", "materialise", "patch_address", "patch_call"]

#: Kind of relocation: an auipc and jalr pair that calls a symbol (R_RISCV_CALL of the psABI).
CALL: Final = "call"
#: An auipc and addi pair that makes the address of a symbol (R_RISCV_PCREL_HI20 and R_RISCV_PCREL_LO12_I).
ADDRESS: Final = "address"
#: An auipc and jalr pair that jumps to a symbol (``tail`` of the psABI).
JUMP: Final = "tail"

#: What is filled in when addresses are known.
_LABEL: Final = 0
_POOL: Final = 1
_TABLE: Final = 2

_INVERSE: Final[dict[int, Row]] = {
    i.BEQ.number: i.BNE,
    i.BNE.number: i.BEQ,
    i.BLT.number: i.BGE,
    i.BGE.number: i.BLT,
    i.BLTU.number: i.BGEU,
    i.BGEU.number: i.BLTU,
}

#: A constant that takes more instructions than this is read from the pool (auipc and a load: two, and a cache line).
_LONGEST_LI: Final = 4


def materialise(value: int) -> list[tuple[Row, int]]:
    """The shortest of the usual sequences that make a signed 64-bit integer: (row, immediate), each applied to the last.

    A value of 32 bits takes lui and addiw; a longer one is its upper part, shifted left past the trailing zeros, plus
    twelve low bits; a positive one may be the same with its leading zeros shifted in last.
    """
    best = _upper_first(value)
    if value > 0 and len(best) > 2:
        zeros = 64 - value.bit_length()
        for filled in (value << zeros | (1 << zeros) - 1, value << zeros):
            signed = filled - (1 << 64) if filled >> 63 else filled
            tried = _upper_first(signed)
            if len(tried) + 1 < len(best):
                best = [*tried, (i.SRLI, zeros)]
    return best


def _upper_first(value: int) -> list[tuple[Row, int]]:
    if -2048 <= value <= 2047:
        return [(i.ADDI, value)]
    low = (value & 0xFFF ^ 0x800) - 0x800
    if -(1 << 31) <= value < 1 << 31:
        made: list[tuple[Row, int]] = [(i.LUI, (value - low) >> 12 & 0xFFFFF)]
        if low:
            made.append((i.ADDIW, low))
        return made
    high = (value - low) >> 12
    shift = 12
    while not high & 1:
        high >>= 1
        shift += 1
    made = _upper_first(high)
    made.append((i.SLLI, shift))
    if low:
        made.append((i.ADDI, low))
    return made


def _halves(distance: int) -> tuple[int, int]:
    """The operands of auipc and of the instruction after it that together add ``distance`` to the address of the first."""
    low = (distance & 0xFFF ^ 0x800) - 0x800
    return (distance - low) >> 12 & 0xFFFFF, low


class Assembler:
    """Collects the instructions of one function.

    Attributes:
        line: the user's line that the next instructions come from.
        compressed: use the C extension's forms.
    """

    __slots__ = ("_fixes", "_fresh", "_labels", "_lines", "_pool", "_pool_at", "_relocations", "_rows", "_tables", "_values", "compressed", "line")

    def __init__(self, compressed: bool = True) -> None:
        self.line = 0
        self.compressed = compressed
        self._rows: list[Row] = []
        self._values: list[tuple[int, ...]] = []
        self._lines: list[int] = []
        self._labels: dict[int, int] = {}
        self._fresh = 0
        self._fixes: list[tuple[int, int, int]] = []
        self._relocations: list[tuple[int, str, str]] = []
        self._pool = bytearray()
        self._pool_at: dict[bytes, int] = {}
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

    def branch(self, row: Row, rs1: int, rs2: int, label: int) -> None:
        """A conditional branch to a label, however far."""
        self._fixes.append((len(self._rows), _LABEL, label))
        self.emit(row, rs1, rs2, 0)

    def jump(self, label: int) -> None:
        """A jump to a label. One beyond 1 MiB goes through ``ra`` (see ``RiscV.prologue``)."""
        self._fixes.append((len(self._rows), _LABEL, label))
        self.emit(i.JAL, ZERO, 0)

    def call(self, symbol: str) -> None:
        """Call a symbol that the linker resolves."""
        self._relocations.append((len(self._rows), CALL, symbol))
        self.emit(i.AUIPC, RA, 0)
        self.emit(i.JALR, RA, 0, RA)

    def leave(self, symbol: str, scratch: int) -> None:
        """Go to a symbol that the linker resolves, by way of a register."""
        self._relocations.append((len(self._rows), JUMP, symbol))
        self.emit(i.AUIPC, scratch, 0)
        self.emit(i.JALR, ZERO, 0, scratch)

    def symbol(self, rd: int, name: str) -> None:
        """The address of a symbol that the linker resolves."""
        self._relocations.append((len(self._rows), ADDRESS, name))
        self.emit(i.AUIPC, rd, 0)
        self.emit(i.ADDI, rd, rd, 0)

    def move(self, rd: int, rs: int) -> None:
        """Integer register to integer register."""
        if rd != rs:
            self.emit(i.ADDI, rd, rs, 0)

    def load_immediate(self, rd: int, value: int) -> None:
        """A 64-bit integer, given signed or unsigned, into an integer register."""
        if value >> 63 > 0:
            value -= 1 << 64
        steps = materialise(value)
        if len(steps) > _LONGEST_LI:
            self.load_pool(i.LD, rd, rd, (value & (1 << 64) - 1).to_bytes(8, "little"))
            return
        source = ZERO
        for row, immediate in steps:
            if row is i.LUI:
                self.emit(row, rd, immediate)
            else:
                self.emit(row, rd, source, immediate)
            source = rd

    def load_pool(self, row: Row, rd: int, address: int, data: bytes) -> None:
        """Load a constant from the pool behind the code; ``address`` is an integer register to destroy."""
        self._fixes.append((len(self._rows), _POOL, self._constant(data, len(data))))
        self.emit(i.AUIPC, address, 0)
        self.emit(row, rd, 0, address)

    def pool_address(self, rd: int, data: bytes) -> None:
        """The address of a constant in the pool, of any length."""
        self._fixes.append((len(self._rows), _POOL, self._constant(data, 8)))
        self.emit(i.AUIPC, rd, 0)
        self.emit(i.ADDI, rd, rd, 0)

    def table(self, rd: int) -> None:
        """The address of a table behind the pool: 32 bits for each label that is added to it, how far that is from the table's beginning."""
        self._fixes.append((len(self._rows), _TABLE, len(self._tables)))
        self.emit(i.AUIPC, rd, 0)
        self.emit(i.ADDI, rd, rd, 0)
        self._tables.append([])

    def entry(self, label: int) -> None:
        """One more entry of the last table."""
        self._tables[-1].append(label)

    def _constant(self, data: bytes, align: int) -> int:
        """Where a constant is in the pool."""
        offset = self._pool_at.get(data)
        if offset is None:
            self._pool.extend(bytes(-len(self._pool) % align))
            offset = len(self._pool)
            self._pool_at[data] = offset
            self._pool.extend(data)
        return offset

    def __len__(self) -> int:
        """Instructions so far."""
        return len(self._rows)

    # --- layout -------------------------------------------------------------------------------------------

    def settle(self) -> list[int]:
        """All has been emitted: leave out of ``items`` what turned out not to be needed; the places of that, the last first."""
        return []

    def encode(self) -> MachineCode:
        """Lay the function out and encode it."""
        rows = self._rows
        values = self._values
        pinned = {index for index, _, _ in self._relocations}
        pinned |= {index + 1 for index in pinned}
        for index, kind, _ in self._fixes:
            pinned.add(index)
            if kind >= _POOL:
                pinned.add(index + 1)
        sizes = [4] * len(rows)
        if self.compressed:
            rows = list(rows)
            values = list(values)
            for index, row in enumerate(rows):
                if index not in pinned:
                    shorter = compress(row, values[index])
                    if shorter is not None:
                        rows[index], values[index] = shorter
                        sizes[index] = 2
        offsets = self._relax(sizes)
        code_size = offsets[-1]
        pool = (code_size + 7) & ~7
        tables = self._lay_tables(offsets, pool)
        low_part: dict[int, int] = {}
        fix_of = {index: (kind, label) for index, kind, label in self._fixes}
        data = bytearray()
        placed: list[tuple[int, Row, tuple[int, ...], int]] = []
        for index, row in enumerate(rows):
            offset = offsets[index]
            operands = values[index]
            line = self._lines[index]
            fix = fix_of.get(index)
            if fix is None:
                if index in low_part:
                    low = low_part[index]
                    operands = (operands[0], operands[1], low) if row is i.ADDI else (operands[0], low, operands[2])
                placed.append((offset, row, operands, line))
                continue
            kind, label = fix
            if kind >= _POOL:
                distance = pool + (tables[label] if kind == _TABLE else label) - offset
                high, low = _halves(distance)
                placed.append((offset, row, (operands[0], high), line))
                low_part[index + 1] = low
                continue
            distance = offsets[self._labels[label]] - offset
            self._place_branch(placed, offset, sizes[index], row, operands, distance, line)
        for _, row, operands, _ in placed:
            data += row.encode(operands).to_bytes(row.size, "little")
        if self._pool:
            data += bytes(pool - code_size)
            data += self._pool
        relocations = [(offsets[index], kind_name, symbol) for index, kind_name, symbol in self._relocations]
        return MachineCode(bytes(data), code_size, placed, relocations, 16)

    def _lay_tables(self, offsets: list[int], pool: int) -> list[int]:
        """Put the tables of jumps into the pool, behind the constants; where they are in it."""
        found: list[int] = []
        for table in self._tables:
            self._pool.extend(bytes(-len(self._pool) % 4))
            start = len(self._pool)
            found.append(start)
            for label in table:
                self._pool.extend((offsets[self._labels[label]] - pool - start).to_bytes(4, "little", signed=True))
        return found

    def _place_branch(
        self, placed: list[tuple[int, Row, tuple[int, ...], int]], offset: int, size: int, row: Row, operands: tuple[int, ...], distance: int, line: int
    ) -> None:
        if row is i.JAL:
            if size == 2:
                placed.append((offset, i.C_J, (distance,), line))
            elif size == 4:
                placed.append((offset, row, (ZERO, distance), line))
            else:
                high, low = _halves(distance)
                placed.append((offset, i.AUIPC, (RA, high), line))
                placed.append((offset + 4, i.JALR, (ZERO, low, RA), line))
        elif size == 2:
            placed.append((offset, i.C_BEQZ if row is i.BEQ else i.C_BNEZ, (operands[0], distance), line))
        elif size == 4:
            placed.append((offset, row, (operands[0], operands[1], distance), line))
        else:
            # Out of a branch's reach: the opposite branch over a jump.
            placed.append((offset, _INVERSE[row.number], (operands[0], operands[1], size), line))
            if size == 8:
                placed.append((offset + 4, i.JAL, (ZERO, distance - 4), line))
            else:
                high, low = _halves(distance - 4)
                placed.append((offset + 4, i.AUIPC, (RA, high), line))
                placed.append((offset + 8, i.JALR, (ZERO, low, RA), line))

    def _relax(self, sizes: list[int]) -> list[int]:
        """Give every branch its final size, smallest first, growing those that do not reach until all do."""
        rows = self._rows
        values = self._values
        jumps = [(index, label) for index, kind, label in self._fixes if kind == _LABEL]
        for index, _ in jumps:
            if self.compressed:
                row = rows[index]
                operands = values[index]
                if row is i.JAL or ((row is i.BEQ or row is i.BNE) and operands[1] == ZERO and 8 <= operands[0] <= 15):
                    sizes[index] = 2
        while True:
            offsets = [0] * (len(sizes) + 1)
            at = 0
            for index, size in enumerate(sizes):
                offsets[index] = at
                at += size
            offsets[-1] = at
            grown = False
            for index, label in jumps:
                bound = self._labels.get(label)
                if bound is None:
                    raise ValueError(f"label {label} is never placed")
                distance = offsets[bound] - offsets[index]
                size = sizes[index]
                while not _reaches(rows[index] is i.JAL, size, distance):
                    size = 4 if size == 2 else size + 4
                if size != sizes[index]:
                    sizes[index] = size
                    grown = True
            if not grown:
                return offsets


def _reaches(jump: bool, size: int, distance: int) -> bool:
    """Whether a jump or branch of that size (its form) spans the distance."""
    if size == 2:
        return -2048 <= distance <= 2046 if jump else -256 <= distance <= 254
    if size == 4 and not jump:
        return -4096 <= distance <= 4094
    if size == (4 if jump else 8):
        start = 0 if jump else 4
        return -(1 << 20) <= distance - start < 1 << 20
    if not -(1 << 31) <= distance < (1 << 31) - 4096:
        raise TargetError("the function is larger than 2 GiB")
    return True


_SHORT: Final = range(8, 16)
_SHORT_PAIRS: Final[dict[int, Row]] = {
    i.SUB.number: i.C_SUB,
    i.XOR.number: i.C_XOR,
    i.OR.number: i.C_OR,
    i.AND.number: i.C_AND,
    i.SUBW.number: i.C_SUBW,
    i.ADDW.number: i.C_ADDW,
}
_COMMUTES: Final = frozenset([i.XOR.number, i.OR.number, i.AND.number, i.ADDW.number])
#: Loads and stores: compressed form, greatest offset, its unit; then the same relative to sp.
_MEMORY: Final[dict[int, tuple[Row, int, int, Row, int]]] = {
    i.LW.number: (i.C_LW, 124, 4, i.C_LWSP, 252),
    i.LD.number: (i.C_LD, 248, 8, i.C_LDSP, 504),
    i.FLD.number: (i.C_FLD, 248, 8, i.C_FLDSP, 504),
    i.SW.number: (i.C_SW, 124, 4, i.C_SWSP, 252),
    i.SD.number: (i.C_SD, 248, 8, i.C_SDSP, 504),
    i.FSD.number: (i.C_FSD, 248, 8, i.C_FSDSP, 504),
}


def compress(row: Row, values: tuple[int, ...]) -> tuple[Row, tuple[int, ...]] | None:
    """The compressed instruction that does the same, or None (ISA manual, chapter "C" Standard Extension)."""
    memory = _MEMORY.get(row.number)
    if memory is not None:
        register, offset, base = values
        short, most, unit, on_stack, most_on_stack = memory
        if offset < 0 or offset % unit:
            return None
        if base == SP and offset <= most_on_stack and (register or row is not i.LW and row is not i.LD):
            return on_stack, (register, offset)
        if base in _SHORT and register in _SHORT and offset <= most:
            return short, values
        return None
    if row is i.ADDI:
        return _compress_addi(*values)
    if row is i.ADD:
        rd, a, b = values
        if rd == 0:
            return None
        if rd == b and a:
            a, b = b, a
        if rd == a and b:
            return i.C_ADD, (rd, b)
        if (a == 0) != (b == 0):
            return i.C_MV, (rd, a or b)
        return None
    pair = _SHORT_PAIRS.get(row.number)
    if pair is not None:
        rd, a, b = values
        if rd == b and row.number in _COMMUTES:
            a, b = b, a
        return (pair, (rd, b)) if rd == a and rd in _SHORT and b in _SHORT else None
    if row is i.ADDIW:
        rd, a, k = values
        if rd and -32 <= k <= 31:
            return (i.C_ADDIW, (rd, k)) if rd == a else (i.C_LI, (rd, k)) if a == ZERO else None
        return None
    if row is i.LUI:
        rd, k = values
        if rd in (ZERO, SP) or 31 < k < 0xFFFE0 or k == 0:
            return None
        return i.C_LUI, (rd, k if k <= 31 else k - 0x100000)
    if row is i.SLLI:
        rd, a, k = values
        return (i.C_SLLI, (rd, k)) if rd == a and rd and k else None
    if row is i.SRLI or row is i.SRAI:
        rd, a, k = values
        return (i.C_SRLI if row is i.SRLI else i.C_SRAI, (rd, k)) if rd == a and rd in _SHORT and k else None
    if row is i.ANDI:
        rd, a, k = values
        return (i.C_ANDI, (rd, k)) if rd == a and rd in _SHORT and -32 <= k <= 31 else None
    if row is i.JALR:
        rd, k, a = values
        if k == 0 and a and rd <= RA:
            return (i.C_JALR if rd == RA else i.C_JR), (a,)
        return None
    return (i.C_EBREAK, ()) if row is i.EBREAK else None


def _compress_addi(rd: int, a: int, k: int) -> tuple[Row, tuple[int, ...]] | None:
    if rd == ZERO:
        return (i.C_NOP, ()) if a == ZERO and k == 0 else None
    if a == ZERO:
        return (i.C_LI, (rd, k)) if -32 <= k <= 31 else None
    if k == 0:
        return i.C_MV, (rd, a)
    if rd == a and -32 <= k <= 31:
        return i.C_ADDI, (rd, k)
    if a == SP:
        if rd == SP and k % 16 == 0 and -512 <= k <= 496:
            return i.C_ADDI16SP, (k,)
        if rd in _SHORT and 0 < k <= 1020 and k % 4 == 0:
            return i.C_ADDI4SPN, (rd, k)
    return None


def patch_call(data: bytearray, offset: int, distance: int) -> None:
    """Make the ``CALL`` or ``JUMP`` relocation at ``offset`` go to ``offset + distance``."""
    if not -(1 << 31) <= distance < (1 << 31) - 4096:
        raise TargetError("a call between functions reaches no further than 2 GiB")
    high, low = _halves(distance)
    through = _rd(data, offset)
    data[offset : offset + 4] = i.AUIPC.encode((through, high)).to_bytes(4, "little")
    data[offset + 4 : offset + 8] = i.JALR.encode((_rd(data, offset + 4), low, through)).to_bytes(4, "little")


def _rd(data: bytearray, offset: int) -> int:
    """The destination of the instruction at an offset."""
    return data[offset] >> 7 | (data[offset + 1] & 15) << 1


def patch_address(data: bytearray, offset: int, distance: int) -> None:
    """Make the ``ADDRESS`` relocation at ``offset`` mean ``offset + distance``."""
    if not -(1 << 31) <= distance < (1 << 31) - 4096:
        raise TargetError("an address reaches no further than 2 GiB")
    high, low = _halves(distance)
    rd = _rd(data, offset)
    data[offset : offset + 4] = i.AUIPC.encode((rd, high)).to_bytes(4, "little")
    data[offset + 4 : offset + 8] = i.ADDI.encode((rd, rd, low)).to_bytes(4, "little")


# --- listing -------------------------------------------------------------------------------------------------


def _alias(row: Row, values: tuple[int, ...], target: str) -> str:
    """The pseudo-instruction that people write for it, or "" (Assembly Programmer's Manual, "pseudoinstructions")."""
    n = INT_NAMES
    if row is i.ADDI:
        rd, a, k = values
        if a == ZERO:
            return "nop" if rd == ZERO and k == 0 else f"li {n[rd]}, {k}"
        return f"mv {n[rd]}, {n[a]}" if k == 0 else ""
    if row is i.C_LI:
        return f"li {n[values[0]]}, {values[1]}"
    if row is i.C_MV:
        return f"mv {n[values[0]]}, {n[values[1]]}"
    if row is i.ADDIW or row is i.C_ADDIW:
        return f"sext.w {n[values[0]]}, {n[values[-2]]}" if values[-1] == 0 and row is i.ADDIW else ""
    if row is i.JAL:
        return f"j {target or values[1]}" if values[0] == ZERO else ""
    if row is i.C_J:
        return f"j {target or values[0]}"
    if row is i.JALR:
        return "ret" if values == (ZERO, 0, RA) else ""
    if row is i.C_JR:
        return "ret" if values[0] == RA else ""
    if row is i.BEQ or row is i.BNE or row is i.BLT or row is i.BGE:
        if values[1] == ZERO:
            return f"{row.mnemonic}z {n[values[0]]}, {target or values[2]}"
        if values[0] == ZERO and row is not i.BEQ and row is not i.BNE:
            return f"{'bgtz' if row is i.BLT else 'blez'} {n[values[1]]}, {target or values[2]}"
        return ""
    if row is i.C_BEQZ or row is i.C_BNEZ:
        return f"{row.mnemonic[2:]} {n[values[0]]}, {target or values[1]}"
    if row is i.XORI and values[2] == -1:
        return f"not {n[values[0]]}, {n[values[1]]}"
    if (row is i.SUB or row is i.SUBW) and values[1] == ZERO:
        return f"neg{row.mnemonic[3:]} {n[values[0]]}, {n[values[2]]}"
    if row is i.SLTIU and values[2] == 1:
        return f"seqz {n[values[0]]}, {n[values[1]]}"
    if row is i.SLTU and values[1] == ZERO:
        return f"snez {n[values[0]]}, {n[values[2]]}"
    if row.mnemonic.startswith("fsgnj") and values[1] == values[2]:
        name, _, precision = row.mnemonic.partition(".")
        spelled = {"fsgnj": "fmv", "fsgnjn": "fneg", "fsgnjx": "fabs"}[name]
        return f"{spelled}.{precision} " + row.text(values).partition(" ")[2].rpartition(",")[0]
    return ""


def listing(machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
    """(offset, bytes, text, user's line) of each instruction, as the GNU assembler writes it; a branch names the offset it goes to."""
    made: list[tuple[int, bytes, str, int]] = []
    placed: list[tuple[int, Row, tuple[int, ...], int]] = machine.instructions
    symbols = {offset: (kind, symbol) for offset, kind, symbol in machine.relocations}
    pending = ""
    for offset, row, values, line in placed:
        target = "" if row.branch < 0 else hex(offset + values[row.branch])
        text = _alias(row, values, target) or row.text(values, target)
        kind, symbol = symbols.get(offset, ("", ""))
        if symbol:
            register = INT_NAMES[values[0]]
            text = f"auipc {register}, %pcrel_hi({symbol})"
            low = f"%pcrel_lo({symbol})"
            pending = f"addi {register}, {register}, {low}" if kind == ADDRESS else f"jalr {'ra' if kind == CALL else 'zero'}, {low}({register})"
        elif pending:
            text = pending
            pending = ""
        made.append((offset, machine.data[offset : offset + row.size], text, line))
    return made
