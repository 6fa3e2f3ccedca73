"""RISC-V instructions, one row each: RV64I, M, A, F, D, Zicsr, Zifencei and C.

A row is ``row(mnemonic, operands, encoding, extension)``. ``operands`` is what an assembler reads, with the names of
the encoding's fields (``fd fs1 fs2 fs3`` are ``rd rs1 rs2 rs3`` in the floating-point file). ``encoding`` is in the
notation of the riscv-opcodes tables: fixed bits ``high..low=value`` and names of variable fields, whose places
``FIELDS`` gives as the formats' pictures in the ISA manual do (*The RISC-V Instruction Set Manual, Volume I*,
chapter "RV32/64G Instruction Set Listings"; for C: "Compressed Instruction Formats").
``rd`` is written, every other register is read.

Everything else is derived from the rows when first needed: fixed bits and their mask, which bits of which operand go
where, the operands' ranges, and the text of a listing.
"""

from __future__ import annotations

import re
from typing import Final

from loopwright.targets.riscv.registers import FLOAT_NAMES, INT_NAMES

__all__ = ["BY_MNEMONIC", "DYNAMIC", "FIELDS", "ROWS", "Field", "Row", "decode", "row"]

#: Rounding modes of the ``rm`` field (ISA manual, "Rounding mode encoding").
ROUNDING: Final[dict[int, str]] = {0: "rne", 1: "rtz", 2: "rdn", 3: "rup", 4: "rmm", 7: "dyn"}
#: ``rm`` of "as fcsr says", which is to nearest, ties to even, in every program that does not change it.
DYNAMIC: Final = 7


class Field:
    """Part of an encoding that an operand fills.

    Attributes:
        operand: the operand it belongs to (two fields may hold parts of one).
        bits: the operand's bits in it, most significant first, as ``high:low`` or single bits between ``|``.
        at: the instruction's bit that takes the first of them.
        low, high, step: values the operand may have.
        bias: what is subtracted first (the compressed forms' registers count from x8).
    """

    __slots__ = ("at", "bias", "bits", "high", "low", "operand", "step")

    def __init__(self, operand: str, bits: str, at: int, low: int, high: int, step: int = 1, bias: int = 0) -> None:
        self.operand = operand
        self.bits = bits
        self.at = at
        self.low = low
        self.high = high
        self.step = step
        self.bias = bias


def _register(operand: str, at: int, low: int = 0) -> Field:
    return Field(operand, "4:0", at, low, 31)


def _short_register(operand: str, at: int) -> Field:
    return Field(operand, "2:0", at, 8, 15, 1, 8)


FIELDS: Final[dict[str, Field]] = {
    "rd": _register("rd", 11),
    "rs1": _register("rs1", 19),
    "rs2": _register("rs2", 24),
    "rs3": _register("rs3", 31),
    "imm12": Field("imm12", "11:0", 31, -2048, 2047),
    "imm12hi": Field("imm12", "11:5", 31, -2048, 2047),
    "imm12lo": Field("imm12", "4:0", 11, -2048, 2047),
    "bimm12hi": Field("bimm12", "12|10:5", 31, -4096, 4094, 2),
    "bimm12lo": Field("bimm12", "4:1|11", 11, -4096, 4094, 2),
    "imm20": Field("imm20", "19:0", 31, 0, 0xFFFFF),
    "jimm20": Field("jimm20", "20|10:1|11|19:12", 31, -(1 << 20), (1 << 20) - 2, 2),
    "shamtd": Field("shamtd", "5:0", 25, 0, 63),
    "shamtw": Field("shamtw", "4:0", 24, 0, 31),
    "rm": Field("rm", "2:0", 14, 0, 7),
    "aqrl": Field("aqrl", "1:0", 26, 0, 3),
    "pred": Field("pred", "3:0", 27, 0, 15),
    "succ": Field("succ", "3:0", 23, 0, 15),
    "csr": Field("csr", "11:0", 31, 0, 4095),
    "zimm5": Field("zimm5", "4:0", 19, 0, 31),
    # Compressed formats.
    "rd_p": _short_register("rd", 4),
    "rs1_p": _short_register("rs1", 9),
    "rs2_p": _short_register("rs2", 4),
    "rd_rs1_p": _short_register("rd", 9),
    "rd_n0": _register("rd", 11, 1),
    "rd_rs1_n0": _register("rd", 11, 1),
    "c_rd": _register("rd", 11),
    "rs1_n0": _register("rs1", 11, 1),
    "c_rs2": _register("rs2", 6),
    "c_rs2_n0": _register("rs2", 6, 1),
    "c_nzuimm10": Field("uimm10", "5:4|9:6|2|3", 12, 4, 1020, 4),
    "c_uimm7hi": Field("uimm7", "5:3", 12, 0, 124, 4),
    "c_uimm7lo": Field("uimm7", "2|6", 6, 0, 124, 4),
    "c_uimm8hi": Field("uimm8", "5:3", 12, 0, 248, 8),
    "c_uimm8lo": Field("uimm8", "7:6", 6, 0, 248, 8),
    "c_imm6hi": Field("imm6", "5", 12, -32, 31),
    "c_imm6lo": Field("imm6", "4:0", 6, -32, 31),
    "c_nzimm6hi": Field("nzimm6", "5", 12, -32, 31),
    "c_nzimm6lo": Field("nzimm6", "4:0", 6, -32, 31),
    "c_nzimm10hi": Field("nzimm10", "9", 12, -512, 496, 16),
    "c_nzimm10lo": Field("nzimm10", "4|6|8:7|5", 6, -512, 496, 16),
    "c_nzuimm6hi": Field("uimm6", "5", 12, 1, 63),
    "c_nzuimm6lo": Field("uimm6", "4:0", 6, 1, 63),
    "c_imm12": Field("jimm11", "11|4|9:8|10|6|7|3:1|5", 12, -2048, 2046, 2),
    "c_bimm9hi": Field("bimm8", "8|4:3", 12, -256, 254, 2),
    "c_bimm9lo": Field("bimm8", "7:6|2:1|5", 6, -256, 254, 2),
    "c_uimm8sphi": Field("uimm8", "5", 12, 0, 252, 4),
    "c_uimm8splo": Field("uimm8", "4:2|7:6", 6, 0, 252, 4),
    "c_uimm9sphi": Field("uimm9", "5", 12, 0, 504, 8),
    "c_uimm9splo": Field("uimm9", "4:3|8:6", 6, 0, 504, 8),
    "c_uimm8sp_s": Field("uimm8", "5:2|7:6", 12, 0, 252, 4),
    "c_uimm9sp_s": Field("uimm9", "5:3|8:6", 12, 0, 504, 8),
}

_OPERAND: Final = re.compile(r"[a-z][a-z0-9]*")
#: Words of the operand text that are not operands.
_LITERAL: Final = frozenset(["sp"])
_FLOAT_OPERANDS: Final[dict[str, str]] = {"fd": "rd", "fs1": "rs1", "fs2": "rs2", "fs3": "rs3"}
_REGISTER_OPERANDS: Final = frozenset(["rd", "rs1", "rs2", "rs3"])


class Row:
    """One instruction. The attributes below ``size`` are there after ``ready``, which ``encode`` calls by itself.

    Attributes:
        mnemonic, syntax, encoding, extension: as in the table.
        size: bytes.
        match, mask: the fixed bits and where they are.
        operands: names of the operands, in the text's order.
        floats: per operand, whether it is a floating-point register.
        parts: (operand, bias, right shift, mask, left shift): which bits of the operand go where.
        ranges: (operand, low, high, step) of those that are not full registers.
        branch: the operand that is a distance to a label, or -1.
        rounds: has a ``rm`` operand, which text leaves out when it is dynamic.
    """

    __slots__ = (
        "branch",
        "encoding",
        "extension",
        "floats",
        "mask",
        "match",
        "mnemonic",
        "number",
        "operands",
        "parts",
        "ranges",
        "ready",
        "rounds",
        "size",
        "syntax",
    )

    def __init__(self, mnemonic: str, syntax: str, encoding: str, extension: str) -> None:
        self.mnemonic = mnemonic
        self.syntax = syntax
        self.encoding = encoding
        self.extension = extension
        self.size = 2 if extension == "C" else 4
        self.number = 0
        self.ready = False
        self.match = 0
        self.mask = 0
        self.operands: tuple[str, ...] = ()
        self.floats: tuple[bool, ...] = ()
        self.parts: tuple[tuple[int, int, int, int, int], ...] = ()
        self.ranges: tuple[tuple[int, int, int, int], ...] = ()
        self.branch = -1
        self.rounds = False

    def __repr__(self) -> str:
        return self.mnemonic

    def prepare(self) -> None:
        """Read the notation."""
        names: list[str] = []
        floats: list[bool] = []
        for word in _OPERAND.findall(self.syntax):
            if word in _LITERAL:
                continue
            floats.append(word in _FLOAT_OPERANDS)
            names.append(_FLOAT_OPERANDS.get(word, word))
        parts: list[tuple[int, int, int, int, int]] = []
        ranges: dict[int, tuple[int, int, int, int]] = {}
        for word in self.encoding.split():
            where, equals, value = word.partition("=")
            if equals:
                high, _, low = where.partition("..")
                first, last = int(high), int(low or high)
                fixed = int(value, 0)
                if fixed >> (first - last + 1):
                    raise ValueError(f"{self.mnemonic}: {word} does not fit")
                self._claim(((1 << (first - last + 1)) - 1) << last)
                self.match |= fixed << last
                continue
            field = FIELDS[word]
            operand = names.index(field.operand)
            at = field.at
            for piece in field.bits.split("|"):
                high, _, low = piece.partition(":")
                width = int(high) - int(low or high) + 1
                at -= width - 1
                parts.append((operand, field.bias, int(low or high), (1 << width) - 1, at))
                at -= 1
            if not (field.low == 0 and field.high == 31 and field.operand in _REGISTER_OPERANDS):
                ranges[operand] = (operand, field.low, field.high, field.step)
            if field.operand in ("bimm12", "jimm20", "jimm11", "bimm8"):
                self.branch = operand
            if field.operand == "rm":
                self.rounds = True
        free = 0
        for _, _, _, mask, left in parts:
            if free & mask << left:
                raise ValueError(f"{self.mnemonic}: overlapping fields")
            free |= mask << left
        if free & self.mask or (free | self.mask) != (1 << 8 * self.size) - 1:
            raise ValueError(f"{self.mnemonic}: the encoding does not cover the instruction exactly")
        self.operands = tuple(names)
        self.floats = tuple(floats)
        self.parts = tuple(parts)
        self.ranges = tuple(ranges.values())
        self.ready = True

    def _claim(self, bits: int) -> None:
        if self.mask & bits:
            raise ValueError(f"{self.mnemonic}: bits fixed twice")
        self.mask |= bits

    def encode(self, values: tuple[int, ...]) -> int:
        """The instruction's word with these operands (register codes and numbers, in the text's order)."""
        if not self.ready:
            self.prepare()
        for operand, low, high, step in self.ranges:
            value = values[operand]
            if value < low or value > high or value % step or (value == 0 and self.operands[operand][:2] == "nz"):
                raise ValueError(f"{self.mnemonic}: {self.operands[operand]} cannot be {value}")
        word = self.match
        for operand, bias, right, mask, left in self.parts:
            word |= ((values[operand] - bias) >> right & mask) << left
        return word

    def text(self, values: tuple[int, ...], target: str = "") -> str:
        """The instruction as the GNU assembler reads it; ``target`` names the label a branch goes to."""
        if not self.ready:
            self.prepare()
        syntax = self.syntax
        if self.rounds and values[-1] == DYNAMIC:
            syntax = syntax.rpartition(",")[0]
        position = 0

        def name(found: re.Match[str]) -> str:
            nonlocal position
            word = found.group()
            if word in _LITERAL:
                return word
            k = position
            position += 1
            value = values[k]
            operand = self.operands[k]
            if operand in _REGISTER_OPERANDS:
                return FLOAT_NAMES[value] if self.floats[k] else INT_NAMES[value]
            if operand == "rm":
                return ROUNDING[value]
            if operand in ("pred", "succ"):
                return "".join(letter for letter, bit in (("i", 8), ("o", 4), ("r", 2), ("w", 1)) if value & bit) or "0"
            if k == self.branch and target:
                return target
            if self.mnemonic == "c.lui" or operand == "imm20":
                return hex(value & 0xFFFFF)
            return str(value)

        mnemonic = self.mnemonic
        if "aqrl" in self.operands:
            # The ordering bits are printed as a suffix of the mnemonic.
            mnemonic += ("", ".rl", ".aq", ".aqrl")[values[self.operands.index("aqrl")]]
        body = _OPERAND.sub(name, syntax)
        if "aqrl" in self.operands:
            body = body.rpartition(",")[0]
        return f"{mnemonic} {body}" if body else mnemonic


ROWS: Final[list[Row]] = []
BY_MNEMONIC: Final[dict[str, Row]] = {}


def row(mnemonic: str, syntax: str, encoding: str, extension: str) -> Row:
    """Add a row."""
    made = Row(mnemonic, syntax, encoding, extension)
    made.number = len(ROWS)
    ROWS.append(made)
    BY_MNEMONIC[mnemonic] = made
    return made


def decode(word: int) -> tuple[Row, tuple[int, ...]] | None:
    """The row and operands of an instruction word (a compressed one in its low half); None when it is none of the rows."""
    for candidate in sorted(ROWS, key=lambda r: -r.encoding.count("=")):
        if not candidate.ready:
            candidate.prepare()
        if candidate.size == 2 and word & 3 == 3:
            continue
        low = word & 0xFFFF if candidate.size == 2 else word
        if low & candidate.mask != candidate.match:
            continue
        values = [0] * len(candidate.operands)
        for operand, _, right, mask, left in candidate.parts:
            values[operand] |= (low >> left & mask) << right
        for operand, bias, _, _, _ in candidate.parts:
            if bias and values[operand] < bias:
                values[operand] += bias
        valid = True
        for operand, lowest, highest, step in candidate.ranges:
            if lowest < 0 and values[operand] > highest:
                values[operand] -= highest + step - lowest
            valid = valid and lowest <= values[operand] <= highest and (values[operand] != 0 or candidate.operands[operand][:2] != "nz")
        if valid:
            return candidate, tuple(values)
    return None


# --- RV64I ---------------------------------------------------------------------------------------------------

LUI: Final = row("lui", "rd, imm20", "rd imm20 6..2=0x0D 1..0=3", "I")
AUIPC: Final = row("auipc", "rd, imm20", "rd imm20 6..2=0x05 1..0=3", "I")
JAL: Final = row("jal", "rd, jimm20", "rd jimm20 6..2=0x1B 1..0=3", "I")
JALR: Final = row("jalr", "rd, imm12(rs1)", "rd rs1 imm12 14..12=0 6..2=0x19 1..0=3", "I")
BEQ: Final = row("beq", "rs1, rs2, bimm12", "bimm12hi rs1 rs2 bimm12lo 14..12=0 6..2=0x18 1..0=3", "I")
BNE: Final = row("bne", "rs1, rs2, bimm12", "bimm12hi rs1 rs2 bimm12lo 14..12=1 6..2=0x18 1..0=3", "I")
BLT: Final = row("blt", "rs1, rs2, bimm12", "bimm12hi rs1 rs2 bimm12lo 14..12=4 6..2=0x18 1..0=3", "I")
BGE: Final = row("bge", "rs1, rs2, bimm12", "bimm12hi rs1 rs2 bimm12lo 14..12=5 6..2=0x18 1..0=3", "I")
BLTU: Final = row("bltu", "rs1, rs2, bimm12", "bimm12hi rs1 rs2 bimm12lo 14..12=6 6..2=0x18 1..0=3", "I")
BGEU: Final = row("bgeu", "rs1, rs2, bimm12", "bimm12hi rs1 rs2 bimm12lo 14..12=7 6..2=0x18 1..0=3", "I")
LB: Final = row("lb", "rd, imm12(rs1)", "rd rs1 imm12 14..12=0 6..2=0x00 1..0=3", "I")
LH: Final = row("lh", "rd, imm12(rs1)", "rd rs1 imm12 14..12=1 6..2=0x00 1..0=3", "I")
LW: Final = row("lw", "rd, imm12(rs1)", "rd rs1 imm12 14..12=2 6..2=0x00 1..0=3", "I")
LD: Final = row("ld", "rd, imm12(rs1)", "rd rs1 imm12 14..12=3 6..2=0x00 1..0=3", "I")
LBU: Final = row("lbu", "rd, imm12(rs1)", "rd rs1 imm12 14..12=4 6..2=0x00 1..0=3", "I")
LHU: Final = row("lhu", "rd, imm12(rs1)", "rd rs1 imm12 14..12=5 6..2=0x00 1..0=3", "I")
LWU: Final = row("lwu", "rd, imm12(rs1)", "rd rs1 imm12 14..12=6 6..2=0x00 1..0=3", "I")
SB: Final = row("sb", "rs2, imm12(rs1)", "imm12hi rs1 rs2 imm12lo 14..12=0 6..2=0x08 1..0=3", "I")
SH: Final = row("sh", "rs2, imm12(rs1)", "imm12hi rs1 rs2 imm12lo 14..12=1 6..2=0x08 1..0=3", "I")
SW: Final = row("sw", "rs2, imm12(rs1)", "imm12hi rs1 rs2 imm12lo 14..12=2 6..2=0x08 1..0=3", "I")
SD: Final = row("sd", "rs2, imm12(rs1)", "imm12hi rs1 rs2 imm12lo 14..12=3 6..2=0x08 1..0=3", "I")
ADDI: Final = row("addi", "rd, rs1, imm12", "rd rs1 imm12 14..12=0 6..2=0x04 1..0=3", "I")
SLTI: Final = row("slti", "rd, rs1, imm12", "rd rs1 imm12 14..12=2 6..2=0x04 1..0=3", "I")
SLTIU: Final = row("sltiu", "rd, rs1, imm12", "rd rs1 imm12 14..12=3 6..2=0x04 1..0=3", "I")
XORI: Final = row("xori", "rd, rs1, imm12", "rd rs1 imm12 14..12=4 6..2=0x04 1..0=3", "I")
ORI: Final = row("ori", "rd, rs1, imm12", "rd rs1 imm12 14..12=6 6..2=0x04 1..0=3", "I")
ANDI: Final = row("andi", "rd, rs1, imm12", "rd rs1 imm12 14..12=7 6..2=0x04 1..0=3", "I")
SLLI: Final = row("slli", "rd, rs1, shamtd", "rd rs1 31..26=0x00 shamtd 14..12=1 6..2=0x04 1..0=3", "I")
SRLI: Final = row("srli", "rd, rs1, shamtd", "rd rs1 31..26=0x00 shamtd 14..12=5 6..2=0x04 1..0=3", "I")
SRAI: Final = row("srai", "rd, rs1, shamtd", "rd rs1 31..26=0x10 shamtd 14..12=5 6..2=0x04 1..0=3", "I")
ADD: Final = row("add", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x00 14..12=0 6..2=0x0C 1..0=3", "I")
SUB: Final = row("sub", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x20 14..12=0 6..2=0x0C 1..0=3", "I")
SLL: Final = row("sll", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x00 14..12=1 6..2=0x0C 1..0=3", "I")
SLT: Final = row("slt", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x00 14..12=2 6..2=0x0C 1..0=3", "I")
SLTU: Final = row("sltu", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x00 14..12=3 6..2=0x0C 1..0=3", "I")
XOR: Final = row("xor", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x00 14..12=4 6..2=0x0C 1..0=3", "I")
SRL: Final = row("srl", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x00 14..12=5 6..2=0x0C 1..0=3", "I")
SRA: Final = row("sra", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x20 14..12=5 6..2=0x0C 1..0=3", "I")
OR: Final = row("or", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x00 14..12=6 6..2=0x0C 1..0=3", "I")
AND: Final = row("and", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x00 14..12=7 6..2=0x0C 1..0=3", "I")
ADDIW: Final = row("addiw", "rd, rs1, imm12", "rd rs1 imm12 14..12=0 6..2=0x06 1..0=3", "I")
SLLIW: Final = row("slliw", "rd, rs1, shamtw", "rd rs1 31..25=0x00 shamtw 14..12=1 6..2=0x06 1..0=3", "I")
SRLIW: Final = row("srliw", "rd, rs1, shamtw", "rd rs1 31..25=0x00 shamtw 14..12=5 6..2=0x06 1..0=3", "I")
SRAIW: Final = row("sraiw", "rd, rs1, shamtw", "rd rs1 31..25=0x20 shamtw 14..12=5 6..2=0x06 1..0=3", "I")
ADDW: Final = row("addw", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x00 14..12=0 6..2=0x0E 1..0=3", "I")
SUBW: Final = row("subw", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x20 14..12=0 6..2=0x0E 1..0=3", "I")
SLLW: Final = row("sllw", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x00 14..12=1 6..2=0x0E 1..0=3", "I")
SRLW: Final = row("srlw", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x00 14..12=5 6..2=0x0E 1..0=3", "I")
SRAW: Final = row("sraw", "rd, rs1, rs2", "rd rs1 rs2 31..25=0x20 14..12=5 6..2=0x0E 1..0=3", "I")
FENCE: Final = row("fence", "pred, succ", "31..28=0 pred succ 19..15=0 14..12=0 11..7=0 6..2=0x03 1..0=3", "I")
ECALL: Final = row("ecall", "", "31..20=0x000 19..7=0 6..2=0x1C 1..0=3", "I")
EBREAK: Final = row("ebreak", "", "31..20=0x001 19..7=0 6..2=0x1C 1..0=3", "I")
FENCE_I: Final = row("fence.i", "", "31..20=0 19..15=0 14..12=1 11..7=0 6..2=0x03 1..0=3", "Zifencei")

# --- Zicsr ---------------------------------------------------------------------------------------------------

CSRRW: Final = row("csrrw", "rd, csr, rs1", "rd rs1 csr 14..12=1 6..2=0x1C 1..0=3", "Zicsr")
CSRRS: Final = row("csrrs", "rd, csr, rs1", "rd rs1 csr 14..12=2 6..2=0x1C 1..0=3", "Zicsr")
CSRRC: Final = row("csrrc", "rd, csr, rs1", "rd rs1 csr 14..12=3 6..2=0x1C 1..0=3", "Zicsr")
CSRRWI: Final = row("csrrwi", "rd, csr, zimm5", "rd zimm5 csr 14..12=5 6..2=0x1C 1..0=3", "Zicsr")
CSRRSI: Final = row("csrrsi", "rd, csr, zimm5", "rd zimm5 csr 14..12=6 6..2=0x1C 1..0=3", "Zicsr")
CSRRCI: Final = row("csrrci", "rd, csr, zimm5", "rd zimm5 csr 14..12=7 6..2=0x1C 1..0=3", "Zicsr")

# --- M -------------------------------------------------------------------------------------------------------

MUL: Final = row("mul", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=0 6..2=0x0C 1..0=3", "M")
MULH: Final = row("mulh", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=1 6..2=0x0C 1..0=3", "M")
MULHSU: Final = row("mulhsu", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=2 6..2=0x0C 1..0=3", "M")
MULHU: Final = row("mulhu", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=3 6..2=0x0C 1..0=3", "M")
DIV: Final = row("div", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=4 6..2=0x0C 1..0=3", "M")
DIVU: Final = row("divu", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=5 6..2=0x0C 1..0=3", "M")
REM: Final = row("rem", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=6 6..2=0x0C 1..0=3", "M")
REMU: Final = row("remu", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=7 6..2=0x0C 1..0=3", "M")
MULW: Final = row("mulw", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=0 6..2=0x0E 1..0=3", "M")
DIVW: Final = row("divw", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=4 6..2=0x0E 1..0=3", "M")
DIVUW: Final = row("divuw", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=5 6..2=0x0E 1..0=3", "M")
REMW: Final = row("remw", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=6 6..2=0x0E 1..0=3", "M")
REMUW: Final = row("remuw", "rd, rs1, rs2", "rd rs1 rs2 31..25=1 14..12=7 6..2=0x0E 1..0=3", "M")

# --- A -------------------------------------------------------------------------------------------------------

LR_W: Final = row("lr.w", "rd, (rs1), aqrl", "rd rs1 24..20=0 aqrl 31..27=0x02 14..12=2 6..2=0x0B 1..0=3", "A")
SC_W: Final = row("sc.w", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x03 14..12=2 6..2=0x0B 1..0=3", "A")
AMOSWAP_W: Final = row("amoswap.w", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x01 14..12=2 6..2=0x0B 1..0=3", "A")
AMOADD_W: Final = row("amoadd.w", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x00 14..12=2 6..2=0x0B 1..0=3", "A")
AMOXOR_W: Final = row("amoxor.w", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x04 14..12=2 6..2=0x0B 1..0=3", "A")
AMOAND_W: Final = row("amoand.w", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x0C 14..12=2 6..2=0x0B 1..0=3", "A")
AMOOR_W: Final = row("amoor.w", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x08 14..12=2 6..2=0x0B 1..0=3", "A")
AMOMIN_W: Final = row("amomin.w", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x10 14..12=2 6..2=0x0B 1..0=3", "A")
AMOMAX_W: Final = row("amomax.w", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x14 14..12=2 6..2=0x0B 1..0=3", "A")
AMOMINU_W: Final = row("amominu.w", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x18 14..12=2 6..2=0x0B 1..0=3", "A")
AMOMAXU_W: Final = row("amomaxu.w", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x1C 14..12=2 6..2=0x0B 1..0=3", "A")
LR_D: Final = row("lr.d", "rd, (rs1), aqrl", "rd rs1 24..20=0 aqrl 31..27=0x02 14..12=3 6..2=0x0B 1..0=3", "A")
SC_D: Final = row("sc.d", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x03 14..12=3 6..2=0x0B 1..0=3", "A")
AMOSWAP_D: Final = row("amoswap.d", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x01 14..12=3 6..2=0x0B 1..0=3", "A")
AMOADD_D: Final = row("amoadd.d", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x00 14..12=3 6..2=0x0B 1..0=3", "A")
AMOXOR_D: Final = row("amoxor.d", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x04 14..12=3 6..2=0x0B 1..0=3", "A")
AMOAND_D: Final = row("amoand.d", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x0C 14..12=3 6..2=0x0B 1..0=3", "A")
AMOOR_D: Final = row("amoor.d", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x08 14..12=3 6..2=0x0B 1..0=3", "A")
AMOMIN_D: Final = row("amomin.d", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x10 14..12=3 6..2=0x0B 1..0=3", "A")
AMOMAX_D: Final = row("amomax.d", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x14 14..12=3 6..2=0x0B 1..0=3", "A")
AMOMINU_D: Final = row("amominu.d", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x18 14..12=3 6..2=0x0B 1..0=3", "A")
AMOMAXU_D: Final = row("amomaxu.d", "rd, rs2, (rs1), aqrl", "rd rs1 rs2 aqrl 31..27=0x1C 14..12=3 6..2=0x0B 1..0=3", "A")

# --- F and D -------------------------------------------------------------------------------------------------

FLW: Final = row("flw", "fd, imm12(rs1)", "rd rs1 imm12 14..12=2 6..2=0x01 1..0=3", "F")
FSW: Final = row("fsw", "fs2, imm12(rs1)", "imm12hi rs1 rs2 imm12lo 14..12=2 6..2=0x09 1..0=3", "F")
FMADD_S: Final = row("fmadd.s", "fd, fs1, fs2, fs3, rm", "rd rs1 rs2 rs3 rm 26..25=0 6..2=0x10 1..0=3", "F")
FMSUB_S: Final = row("fmsub.s", "fd, fs1, fs2, fs3, rm", "rd rs1 rs2 rs3 rm 26..25=0 6..2=0x11 1..0=3", "F")
FNMSUB_S: Final = row("fnmsub.s", "fd, fs1, fs2, fs3, rm", "rd rs1 rs2 rs3 rm 26..25=0 6..2=0x12 1..0=3", "F")
FNMADD_S: Final = row("fnmadd.s", "fd, fs1, fs2, fs3, rm", "rd rs1 rs2 rs3 rm 26..25=0 6..2=0x13 1..0=3", "F")
FADD_S: Final = row("fadd.s", "fd, fs1, fs2, rm", "rd rs1 rs2 31..27=0x00 rm 26..25=0 6..2=0x14 1..0=3", "F")
FSUB_S: Final = row("fsub.s", "fd, fs1, fs2, rm", "rd rs1 rs2 31..27=0x01 rm 26..25=0 6..2=0x14 1..0=3", "F")
FMUL_S: Final = row("fmul.s", "fd, fs1, fs2, rm", "rd rs1 rs2 31..27=0x02 rm 26..25=0 6..2=0x14 1..0=3", "F")
FDIV_S: Final = row("fdiv.s", "fd, fs1, fs2, rm", "rd rs1 rs2 31..27=0x03 rm 26..25=0 6..2=0x14 1..0=3", "F")
FSQRT_S: Final = row("fsqrt.s", "fd, fs1, rm", "rd rs1 24..20=0 31..27=0x0B rm 26..25=0 6..2=0x14 1..0=3", "F")
FSGNJ_S: Final = row("fsgnj.s", "fd, fs1, fs2", "rd rs1 rs2 31..27=0x04 14..12=0 26..25=0 6..2=0x14 1..0=3", "F")
FSGNJN_S: Final = row("fsgnjn.s", "fd, fs1, fs2", "rd rs1 rs2 31..27=0x04 14..12=1 26..25=0 6..2=0x14 1..0=3", "F")
FSGNJX_S: Final = row("fsgnjx.s", "fd, fs1, fs2", "rd rs1 rs2 31..27=0x04 14..12=2 26..25=0 6..2=0x14 1..0=3", "F")
FMIN_S: Final = row("fmin.s", "fd, fs1, fs2", "rd rs1 rs2 31..27=0x05 14..12=0 26..25=0 6..2=0x14 1..0=3", "F")
FMAX_S: Final = row("fmax.s", "fd, fs1, fs2", "rd rs1 rs2 31..27=0x05 14..12=1 26..25=0 6..2=0x14 1..0=3", "F")
FCVT_W_S: Final = row("fcvt.w.s", "rd, fs1, rm", "rd rs1 24..20=0 31..27=0x18 rm 26..25=0 6..2=0x14 1..0=3", "F")
FCVT_WU_S: Final = row("fcvt.wu.s", "rd, fs1, rm", "rd rs1 24..20=1 31..27=0x18 rm 26..25=0 6..2=0x14 1..0=3", "F")
FCVT_L_S: Final = row("fcvt.l.s", "rd, fs1, rm", "rd rs1 24..20=2 31..27=0x18 rm 26..25=0 6..2=0x14 1..0=3", "F")
FCVT_LU_S: Final = row("fcvt.lu.s", "rd, fs1, rm", "rd rs1 24..20=3 31..27=0x18 rm 26..25=0 6..2=0x14 1..0=3", "F")
FMV_X_W: Final = row("fmv.x.w", "rd, fs1", "rd rs1 24..20=0 31..27=0x1C 14..12=0 26..25=0 6..2=0x14 1..0=3", "F")
FEQ_S: Final = row("feq.s", "rd, fs1, fs2", "rd rs1 rs2 31..27=0x14 14..12=2 26..25=0 6..2=0x14 1..0=3", "F")
FLT_S: Final = row("flt.s", "rd, fs1, fs2", "rd rs1 rs2 31..27=0x14 14..12=1 26..25=0 6..2=0x14 1..0=3", "F")
FLE_S: Final = row("fle.s", "rd, fs1, fs2", "rd rs1 rs2 31..27=0x14 14..12=0 26..25=0 6..2=0x14 1..0=3", "F")
FCLASS_S: Final = row("fclass.s", "rd, fs1", "rd rs1 24..20=0 31..27=0x1C 14..12=1 26..25=0 6..2=0x14 1..0=3", "F")
FCVT_S_W: Final = row("fcvt.s.w", "fd, rs1, rm", "rd rs1 24..20=0 31..27=0x1A rm 26..25=0 6..2=0x14 1..0=3", "F")
FCVT_S_WU: Final = row("fcvt.s.wu", "fd, rs1, rm", "rd rs1 24..20=1 31..27=0x1A rm 26..25=0 6..2=0x14 1..0=3", "F")
FCVT_S_L: Final = row("fcvt.s.l", "fd, rs1, rm", "rd rs1 24..20=2 31..27=0x1A rm 26..25=0 6..2=0x14 1..0=3", "F")
FCVT_S_LU: Final = row("fcvt.s.lu", "fd, rs1, rm", "rd rs1 24..20=3 31..27=0x1A rm 26..25=0 6..2=0x14 1..0=3", "F")
FMV_W_X: Final = row("fmv.w.x", "fd, rs1", "rd rs1 24..20=0 31..27=0x1E 14..12=0 26..25=0 6..2=0x14 1..0=3", "F")
FLD: Final = row("fld", "fd, imm12(rs1)", "rd rs1 imm12 14..12=3 6..2=0x01 1..0=3", "D")
FSD: Final = row("fsd", "fs2, imm12(rs1)", "imm12hi rs1 rs2 imm12lo 14..12=3 6..2=0x09 1..0=3", "D")
FMADD_D: Final = row("fmadd.d", "fd, fs1, fs2, fs3, rm", "rd rs1 rs2 rs3 rm 26..25=1 6..2=0x10 1..0=3", "D")
FMSUB_D: Final = row("fmsub.d", "fd, fs1, fs2, fs3, rm", "rd rs1 rs2 rs3 rm 26..25=1 6..2=0x11 1..0=3", "D")
FNMSUB_D: Final = row("fnmsub.d", "fd, fs1, fs2, fs3, rm", "rd rs1 rs2 rs3 rm 26..25=1 6..2=0x12 1..0=3", "D")
FNMADD_D: Final = row("fnmadd.d", "fd, fs1, fs2, fs3, rm", "rd rs1 rs2 rs3 rm 26..25=1 6..2=0x13 1..0=3", "D")
FADD_D: Final = row("fadd.d", "fd, fs1, fs2, rm", "rd rs1 rs2 31..27=0x00 rm 26..25=1 6..2=0x14 1..0=3", "D")
FSUB_D: Final = row("fsub.d", "fd, fs1, fs2, rm", "rd rs1 rs2 31..27=0x01 rm 26..25=1 6..2=0x14 1..0=3", "D")
FMUL_D: Final = row("fmul.d", "fd, fs1, fs2, rm", "rd rs1 rs2 31..27=0x02 rm 26..25=1 6..2=0x14 1..0=3", "D")
FDIV_D: Final = row("fdiv.d", "fd, fs1, fs2, rm", "rd rs1 rs2 31..27=0x03 rm 26..25=1 6..2=0x14 1..0=3", "D")
FSQRT_D: Final = row("fsqrt.d", "fd, fs1, rm", "rd rs1 24..20=0 31..27=0x0B rm 26..25=1 6..2=0x14 1..0=3", "D")
FSGNJ_D: Final = row("fsgnj.d", "fd, fs1, fs2", "rd rs1 rs2 31..27=0x04 14..12=0 26..25=1 6..2=0x14 1..0=3", "D")
FSGNJN_D: Final = row("fsgnjn.d", "fd, fs1, fs2", "rd rs1 rs2 31..27=0x04 14..12=1 26..25=1 6..2=0x14 1..0=3", "D")
FSGNJX_D: Final = row("fsgnjx.d", "fd, fs1, fs2", "rd rs1 rs2 31..27=0x04 14..12=2 26..25=1 6..2=0x14 1..0=3", "D")
FMIN_D: Final = row("fmin.d", "fd, fs1, fs2", "rd rs1 rs2 31..27=0x05 14..12=0 26..25=1 6..2=0x14 1..0=3", "D")
FMAX_D: Final = row("fmax.d", "fd, fs1, fs2", "rd rs1 rs2 31..27=0x05 14..12=1 26..25=1 6..2=0x14 1..0=3", "D")
FCVT_S_D: Final = row("fcvt.s.d", "fd, fs1, rm", "rd rs1 24..20=1 31..27=0x08 rm 26..25=0 6..2=0x14 1..0=3", "D")
# Conversions that are exact whatever the rounding mode: assemblers write 0 there, the manual allows any.
FCVT_D_S: Final = row("fcvt.d.s", "fd, fs1", "rd rs1 24..20=0 31..27=0x08 14..12=0 26..25=1 6..2=0x14 1..0=3", "D")
FEQ_D: Final = row("feq.d", "rd, fs1, fs2", "rd rs1 rs2 31..27=0x14 14..12=2 26..25=1 6..2=0x14 1..0=3", "D")
FLT_D: Final = row("flt.d", "rd, fs1, fs2", "rd rs1 rs2 31..27=0x14 14..12=1 26..25=1 6..2=0x14 1..0=3", "D")
FLE_D: Final = row("fle.d", "rd, fs1, fs2", "rd rs1 rs2 31..27=0x14 14..12=0 26..25=1 6..2=0x14 1..0=3", "D")
FCLASS_D: Final = row("fclass.d", "rd, fs1", "rd rs1 24..20=0 31..27=0x1C 14..12=1 26..25=1 6..2=0x14 1..0=3", "D")
FCVT_W_D: Final = row("fcvt.w.d", "rd, fs1, rm", "rd rs1 24..20=0 31..27=0x18 rm 26..25=1 6..2=0x14 1..0=3", "D")
FCVT_WU_D: Final = row("fcvt.wu.d", "rd, fs1, rm", "rd rs1 24..20=1 31..27=0x18 rm 26..25=1 6..2=0x14 1..0=3", "D")
FCVT_L_D: Final = row("fcvt.l.d", "rd, fs1, rm", "rd rs1 24..20=2 31..27=0x18 rm 26..25=1 6..2=0x14 1..0=3", "D")
FCVT_LU_D: Final = row("fcvt.lu.d", "rd, fs1, rm", "rd rs1 24..20=3 31..27=0x18 rm 26..25=1 6..2=0x14 1..0=3", "D")
FCVT_D_W: Final = row("fcvt.d.w", "fd, rs1", "rd rs1 24..20=0 31..27=0x1A 14..12=0 26..25=1 6..2=0x14 1..0=3", "D")
FCVT_D_WU: Final = row("fcvt.d.wu", "fd, rs1", "rd rs1 24..20=1 31..27=0x1A 14..12=0 26..25=1 6..2=0x14 1..0=3", "D")
FCVT_D_L: Final = row("fcvt.d.l", "fd, rs1, rm", "rd rs1 24..20=2 31..27=0x1A rm 26..25=1 6..2=0x14 1..0=3", "D")
FCVT_D_LU: Final = row("fcvt.d.lu", "fd, rs1, rm", "rd rs1 24..20=3 31..27=0x1A rm 26..25=1 6..2=0x14 1..0=3", "D")
FMV_X_D: Final = row("fmv.x.d", "rd, fs1", "rd rs1 24..20=0 31..27=0x1C 14..12=0 26..25=1 6..2=0x14 1..0=3", "D")
FMV_D_X: Final = row("fmv.d.x", "fd, rs1", "rd rs1 24..20=0 31..27=0x1E 14..12=0 26..25=1 6..2=0x14 1..0=3", "D")

# --- C -------------------------------------------------------------------------------------------------------

C_ADDI4SPN: Final = row("c.addi4spn", "rd, sp, uimm10", "rd_p c_nzuimm10 15..13=0 1..0=0", "C")
C_FLD: Final = row("c.fld", "fd, uimm8(rs1)", "rd_p rs1_p c_uimm8hi c_uimm8lo 15..13=1 1..0=0", "C")
C_LW: Final = row("c.lw", "rd, uimm7(rs1)", "rd_p rs1_p c_uimm7hi c_uimm7lo 15..13=2 1..0=0", "C")
C_LD: Final = row("c.ld", "rd, uimm8(rs1)", "rd_p rs1_p c_uimm8hi c_uimm8lo 15..13=3 1..0=0", "C")
C_FSD: Final = row("c.fsd", "fs2, uimm8(rs1)", "rs1_p rs2_p c_uimm8hi c_uimm8lo 15..13=5 1..0=0", "C")
C_SW: Final = row("c.sw", "rs2, uimm7(rs1)", "rs1_p rs2_p c_uimm7hi c_uimm7lo 15..13=6 1..0=0", "C")
C_SD: Final = row("c.sd", "rs2, uimm8(rs1)", "rs1_p rs2_p c_uimm8hi c_uimm8lo 15..13=7 1..0=0", "C")
C_NOP: Final = row("c.nop", "", "15..13=0 12..2=0 1..0=1", "C")
C_ADDI: Final = row("c.addi", "rd, nzimm6", "rd_rs1_n0 c_nzimm6hi c_nzimm6lo 15..13=0 1..0=1", "C")
C_ADDIW: Final = row("c.addiw", "rd, imm6", "rd_rs1_n0 c_imm6hi c_imm6lo 15..13=1 1..0=1", "C")
C_LI: Final = row("c.li", "rd, imm6", "rd_n0 c_imm6hi c_imm6lo 15..13=2 1..0=1", "C")
C_ADDI16SP: Final = row("c.addi16sp", "sp, nzimm10", "c_nzimm10hi c_nzimm10lo 15..13=3 11..7=2 1..0=1", "C")
C_LUI: Final = row("c.lui", "rd, nzimm6", "rd_n0 c_nzimm6hi c_nzimm6lo 15..13=3 1..0=1", "C")
C_SRLI: Final = row("c.srli", "rd, uimm6", "rd_rs1_p c_nzuimm6hi c_nzuimm6lo 15..13=4 11..10=0 1..0=1", "C")
C_SRAI: Final = row("c.srai", "rd, uimm6", "rd_rs1_p c_nzuimm6hi c_nzuimm6lo 15..13=4 11..10=1 1..0=1", "C")
C_ANDI: Final = row("c.andi", "rd, imm6", "rd_rs1_p c_imm6hi c_imm6lo 15..13=4 11..10=2 1..0=1", "C")
C_SUB: Final = row("c.sub", "rd, rs2", "rd_rs1_p rs2_p 15..13=4 12=0 11..10=3 6..5=0 1..0=1", "C")
C_XOR: Final = row("c.xor", "rd, rs2", "rd_rs1_p rs2_p 15..13=4 12=0 11..10=3 6..5=1 1..0=1", "C")
C_OR: Final = row("c.or", "rd, rs2", "rd_rs1_p rs2_p 15..13=4 12=0 11..10=3 6..5=2 1..0=1", "C")
C_AND: Final = row("c.and", "rd, rs2", "rd_rs1_p rs2_p 15..13=4 12=0 11..10=3 6..5=3 1..0=1", "C")
C_SUBW: Final = row("c.subw", "rd, rs2", "rd_rs1_p rs2_p 15..13=4 12=1 11..10=3 6..5=0 1..0=1", "C")
C_ADDW: Final = row("c.addw", "rd, rs2", "rd_rs1_p rs2_p 15..13=4 12=1 11..10=3 6..5=1 1..0=1", "C")
C_J: Final = row("c.j", "jimm11", "c_imm12 15..13=5 1..0=1", "C")
C_BEQZ: Final = row("c.beqz", "rs1, bimm8", "rs1_p c_bimm9hi c_bimm9lo 15..13=6 1..0=1", "C")
C_BNEZ: Final = row("c.bnez", "rs1, bimm8", "rs1_p c_bimm9hi c_bimm9lo 15..13=7 1..0=1", "C")
C_SLLI: Final = row("c.slli", "rd, uimm6", "rd_rs1_n0 c_nzuimm6hi c_nzuimm6lo 15..13=0 1..0=2", "C")
C_FLDSP: Final = row("c.fldsp", "fd, uimm9(sp)", "c_rd c_uimm9sphi c_uimm9splo 15..13=1 1..0=2", "C")
C_LWSP: Final = row("c.lwsp", "rd, uimm8(sp)", "rd_n0 c_uimm8sphi c_uimm8splo 15..13=2 1..0=2", "C")
C_LDSP: Final = row("c.ldsp", "rd, uimm9(sp)", "rd_n0 c_uimm9sphi c_uimm9splo 15..13=3 1..0=2", "C")
C_JR: Final = row("c.jr", "rs1", "rs1_n0 15..13=4 12=0 6..2=0 1..0=2", "C")
C_MV: Final = row("c.mv", "rd, rs2", "rd_n0 c_rs2_n0 15..13=4 12=0 1..0=2", "C")
C_EBREAK: Final = row("c.ebreak", "", "15..13=4 12=1 11..2=0 1..0=2", "C")
C_JALR: Final = row("c.jalr", "rs1", "rs1_n0 15..13=4 12=1 6..2=0 1..0=2", "C")
C_ADD: Final = row("c.add", "rd, rs2", "rd_rs1_n0 c_rs2_n0 15..13=4 12=1 1..0=2", "C")
C_FSDSP: Final = row("c.fsdsp", "fs2, uimm9(sp)", "c_rs2 c_uimm9sp_s 15..13=5 1..0=2", "C")
C_SWSP: Final = row("c.swsp", "rs2, uimm8(sp)", "c_rs2 c_uimm8sp_s 15..13=6 1..0=2", "C")
C_SDSP: Final = row("c.sdsp", "rs2, uimm9(sp)", "c_rs2 c_uimm9sp_s 15..13=7 1..0=2", "C")
