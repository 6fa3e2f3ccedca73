"""The notation that the table of instructions is written in, and what reads it: encoding, decoding, text.

A line of the table is a family: an instruction in all its shapes. ``family(mnemonic, operands, diagram, shapes)``::

    family("add", "=Vd.T, Vn.T, Vm.T", "0 Q 0 01110 size 1 Rm 10000 1 Rn Rd", "8b 16b 4h 8h 2s 4s 2d", SIMD)

The diagram is the manual's picture of the instruction, from bit 31 to bit 0: fixed bits, and the names of fields (``imm12``), or of parts of one
(``imm21[1:0]``). Some names stand for bits that the shape decides (``sf``, ``Q``, ``size``): ``Shape`` knows them.

A shape is how wide the operands are, one part or two with a dot between: ``w`` and ``x`` (general registers), ``b h s d q`` (scalars in vector
registers, elements, accesses to memory), ``4s`` and the like (arrangements of a vector). Where an instruction has a result and an operand of
different kinds, the result comes first: ``fcvtzs x0, s1`` is ``x.s``. Where a vector instruction has wide and narrow operands the shape is
that of the narrow ones: ``saddl v0.4s, v1.4h, v2.4h`` is ``4h``, and ``8h`` is then ``saddl2``. ``h:fp16`` is a shape that needs an extension.

The operands are what an assembler reads, with these words in it:

* ``Rd`` a general register by the shape, ``Wd`` and ``Xd`` one of 32 and of 64 bits, ``Rd|SP`` one where 31 is the stack pointer;
* ``Fd`` a scalar register by the shape's first part that is one, ``Gd`` by its last part, ``Ld`` one twice as wide, ``Sd`` and so on a fixed one;
* ``Vd.T`` a vector of the shape's arrangement, ``Vd.Ta`` one of elements twice as wide in all 128 bits, ``Vd.Tp`` elements twice as wide and half
  as many, ``Vd.Tq`` four times as many of a quarter, ``Vd.E`` its element alone, ``Vd.16b`` a fixed arrangement, ``Vt.T*2`` a list of two registers;
* immediates by the names in ``IMMEDIATES``; ``imm12*bytes`` is in units of the bytes that the shape accesses;
* ``{...}`` is left out of the text when the immediates in it are all 0.

``=`` before a register: it is written; ``+``: read and written; ``=/+``: read as well where the shape fills the upper half (``xtn2``); otherwise it
is read. After ``;`` comes what is not named in the text: ``=nzcv``, ``nzcv``, ``+nzcv`` (flags written, read, both).

In a mnemonic, ``{2}`` is there for shapes of 128 bits, and ``{bhw}`` is the letter of the shape's last part, if it is one of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from loopwright.targets.aarch64.immediates import byte_mask, float_value, logical_immediate, logical_value
from loopwright.targets.aarch64.registers import INTS, VECTORS, int_name

__all__ = [
    "BASE",
    "BOTH",
    "CONDITIONS",
    "CRC",
    "DOT",
    "EXTEND",
    "FAMILIES",
    "FP",
    "FP16",
    "IMMEDIATE",
    "IMMEDIATES",
    "LINEAR",
    "LOGICAL",
    "NEGATED",
    "NONE",
    "ONLY",
    "READ",
    "SIMD",
    "WRITE",
    "Family",
    "Immediate",
    "Row",
    "Shape",
    "alias",
    "family",
    "row",
]

# Extensions. (Linux calls simd ``asimd``, dotprod ``asimddp``, fp16 ``fphp`` and ``asimdhp``.)
BASE: Final = "base"
FP: Final = "fp"
SIMD: Final = "simd"
CRC: Final = "crc32"
DOT: Final = "dotprod"
FP16: Final = "fp16"

#: In ``Row.roles``.
NONE: Final = 0
READ: Final = 1
WRITE: Final = 2
BOTH: Final = 3
#: In ``Row.classes``, beside INTS and VECTORS.
IMMEDIATE: Final = -1

#: By the four bits of a condition (Arm ARM, C1.2.4). Exclusive-or with 1 negates one.
CONDITIONS: Final = ("eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv")
_SHIFTS: Final = ("lsl", "lsr", "asr", "ror")
_EXTENDS: Final = ("uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx")

# How an immediate becomes bits.
LINEAR: Final = 0  # (value - base) / step
NEGATED: Final = 1  # base - value
LOGICAL: Final = 2  # logical_immediate(value)
EXTEND: Final = 3  # an extension of a 32-bit register
#: In ``Immediate.high``: whatever fits the diagram's bits.
_FITS: Final = -1


class Immediate:
    """What an immediate operand may be.

    Attributes:
        low, high, step: its values.
        narrow: ``high`` in instructions of 32 bits.
        base: the value whose bits are 0.
        kind: how it becomes bits.
    """

    __slots__ = ("base", "high", "kind", "low", "narrow", "step")

    def __init__(self, low: int, high: int, step: int = 1, narrow: int = _FITS, base: int = 0, kind: int = LINEAR) -> None:
        self.low = low
        self.high = high
        self.step = step
        self.narrow = high if narrow == _FITS else narrow
        self.base = base
        self.kind = kind


IMMEDIATES: Final[dict[str, Immediate]] = {
    # Distances from the instruction in bytes, to a label or a constant; ``page21`` from the page of one to that of the other.
    "imm26": Immediate(-(1 << 27), (1 << 27) - 4, 4),
    "imm19": Immediate(-(1 << 20), (1 << 20) - 4, 4),
    "imm14": Immediate(-(1 << 15), (1 << 15) - 4, 4),
    "imm21": Immediate(-(1 << 20), (1 << 20) - 1),
    "page21": Immediate(-(1 << 32), (1 << 32) - 4096, 4096),
    # Arithmetic.
    "imm12": Immediate(0, 4095),
    "sh": Immediate(0, 12, 12),
    "imm16": Immediate(0, 0xFFFF),
    "brk16": Immediate(0, 0xFFFF),
    "hw": Immediate(0, 48, 16, 16),
    "limm": Immediate(1, (1 << 64) - 2, 1, (1 << 32) - 2, kind=LOGICAL),
    "shift": Immediate(0, 2),
    "shiftror": Immediate(0, 3),
    "amount": Immediate(0, 63, 1, 31),
    "extend": Immediate(0, 6, kind=EXTEND),
    "imm3": Immediate(0, 4),
    "immr": Immediate(0, 63, 1, 31),
    "imms": Immediate(0, 63, 1, 31),
    "cond": Immediate(0, 15),
    "nzcv": Immediate(0, 15),
    "imm5": Immediate(0, 31),
    "bit": Immediate(0, 63),
    # Addresses; ``scale`` is 0 or the logarithm of the bytes accessed.
    "imm9": Immediate(-256, 255),
    "imm7": Immediate(-64, 63),
    "scale": Immediate(0, _FITS),
    "sext": Immediate(0, 1),
    # Vectors and floating point.
    "index": Immediate(0, _FITS),
    "index2": Immediate(0, _FITS),
    "pos": Immediate(0, _FITS),
    "lshift": Immediate(0, _FITS),
    "rshift": Immediate(1, _FITS, kind=NEGATED),
    "imm8": Immediate(0, 255),
    "fimm8": Immediate(0, 255),
    "mask8": Immediate(0, 255),
    "lsl8": Immediate(0, _FITS, 8),
    "msl8": Immediate(8, 16, 8, base=8),
}

#: Immediates that are distances, which a listing shows as the place they lead to.
_DISTANCES: Final = frozenset(["imm26", "imm19", "imm14", "imm21"])

#: Bits of whole fields in diagrams, those of 5 bits left out.
_WIDTHS: Final[dict[str, int]] = {
    name: bits
    for bits, names in (
        (1, "sh scale sext msl8"),
        (2, "hw shift shiftror"),
        (3, "extend imm3"),
        (4, "cond nzcv pos"),
        (6, "amount immr imms"),
        (7, "imm7"),
        (8, "fimm8"),
        (9, "imm9"),
        (12, "imm12"),
        (13, "limm"),
        (14, "imm14"),
        (16, "imm16 brk16"),
        (19, "imm19"),
        (26, "imm26"),
    )
    for name in names.split()
}

#: The shape of an instruction that has but one.
ONLY: Final = "-"

_ELEMENTS: Final = "bhsdq"
#: Two-bit codes of the floating-point formats (Arm ARM, "ftype").
_FTYPES: Final[dict[str, str]] = {"h": "11", "s": "00", "d": "01"}


def _words(*entries: str) -> dict[str, str]:
    """Words of diagrams and what they stand for."""
    return {name: bits for name, _, bits in [entry.partition("=") for entry in entries]}


#: Element and index of a copy (Arm ARM, DUP, INS: imm5 and imm4) and the element alone (lane5), the start of a shift (immh:immb), a lane in memory
#: (opcode:S:size of LD1, single structure) and its first bit, an element's number in a multiplication (H:L:M, where Rm has 4 bits for h), and modified
#: immediates (cmode).
_BY_ELEMENT: Final[dict[str, dict[str, str]]] = {
    "b": _words("imm5=index[3:0] 1", "imm4=index2[3:0]", "lane5=00001", "immhb=0001 _[2:0]", "lane=000 index[2:0]", "laneQ=index[3]"),
    "h": _words(
        *("imm5=index[2:0] 10", "imm4=index2[2:0] 0", "lane5=00010", "immhb=001 _[3:0]", "lane=010 index[1:0] 0", "laneQ=index[2]"),
        *("L=index[1]", "M=index[0]", "H=index[2]", "Rm4=Rm[3:0]", "cmode=10 lsl8[0]"),
    ),
    "s": _words(
        *("imm5=index[1:0] 100", "imm4=index2[1:0] 00", "lane5=00100", "immhb=01 _[4:0]", "lane=100 index[0] 00", "laneQ=index[1]"),
        *("L=index[0]", "M=Rm[4]", "H=index[1]", "Rm4=Rm[3:0]", "cmode=0 lsl8[1:0]"),
    ),
    "d": _words(
        *("imm5=index[0] 1000", "imm4=index2[0] 000", "lane5=01000", "immhb=1 _[5:0]", "lane=100 001", "laneQ=index[0]"),
        *("L=0", "M=Rm[4]", "H=index[0]", "Rm4=Rm[3:0]"),
    ),
    "q": {},
}


class Shape:
    """What a shape's name decides.

    Attributes:
        code: what words of a diagram stand for.
        text: what words of the operand text stand for.
        narrow: instructions of 32 bits.
        lane: bits of an element.
        bytes: accessed in memory.
        full: a vector of 128 bits.
        last: the name's last part.
    """

    __slots__ = ("bytes", "code", "full", "lane", "last", "narrow", "text")

    def __init__(self, name: str) -> None:
        self.code: dict[str, str] = {}
        self.text: dict[str, str] = {}
        self.narrow = False
        self.full = False
        self.lane = 0
        self.bytes = 1
        parts = name.split(".") if name != ONLY else []
        self.last = parts[-1] if parts else ""
        for position, part in enumerate(parts):
            if part == "w" or part == "x":
                self._general(part, position)
            elif part in _ELEMENTS:
                self._element(part, position)
                if len(parts) == 1:
                    self._width("x" if part == "d" else "w")
            else:
                self._arrangement(part)

    def _width(self, letter: str) -> None:
        if "R" in self.text:
            return
        bit = "1" if letter == "x" else "0"
        self.text["R"] = letter
        self.code.update({"sf": bit, "N": bit, "notsf": "0" if bit == "1" else "1"})

    def _general(self, letter: str, position: int) -> None:
        self._width(letter)
        self.narrow = letter == "w"
        if position == 0:
            self.bytes = 8 if letter == "x" else 4
            self.text["G"] = letter
            self.code.update({"size": "11", "pair": "10", "lit": "01"} if letter == "x" else {"size": "10", "pair": "00", "lit": "00"})
        if letter == "w" and position:
            self.bytes = 4
            self.code["size"] = "10"

    def _element(self, letter: str, position: int) -> None:
        number = _ELEMENTS.index(letter)
        self.lane = 8 << number
        self.bytes = 1 << number
        self.text["G"] = self.text["E"] = letter
        if "F" not in self.text:
            self.text["F"] = letter
            self.text["L"] = _ELEMENTS[min(number + 1, 4)]
        self.code.update(_BY_ELEMENT[letter])
        self.code["size"] = f"{number & 3:02b}"
        self.code["Q"] = "1" if letter == "q" else "0"
        self.text["T2"] = "2" + letter
        if number >= 2:
            self.code["pair"] = self.code["lit"] = f"{number - 2:02b}"
            self.code["sz"] = f"{number & 1}"
        if letter in _FTYPES:
            self.code["ftype"] = _FTYPES[letter]
            if position == 0:
                self.code["opc"] = _FTYPES[letter]

    def _arrangement(self, name: str) -> None:
        letter = name[-1]
        count = int(name[:-1])
        number = _ELEMENTS.index(letter)
        self._element(letter, 0)
        self._width("x" if letter == "d" else "w")
        self.full = self.lane * count == 128
        wider = _ELEMENTS[min(number + 1, 4)]
        self.text["T"] = name
        self.text["Ta"] = f"{128 // (2 * self.lane)}{wider}"
        self.text["Tp"] = f"{count // 2}{wider}"
        self.text["Tq"] = f"{count * 4}{_ELEMENTS[max(number - 2, 0)]}"
        self.code["Q"] = "1" if self.full else "0"
        self.code["nsz"] = f"{number - 1 & 1}"
        self.code["pos4"] = "pos" if self.full else "0 pos[2:0]"
        self.bytes = 16 if self.full else 8


_shapes: Final[dict[str, Shape]] = {}


def _shape(name: str) -> Shape:
    known = _shapes.get(name)
    if known is None:
        known = _shapes[name] = Shape(name)
    return known


class Piece:
    """A part of an instruction's text.

    Attributes:
        literal: the text itself (``{`` and ``}`` around what may be left out), or "" for an operand.
        name: the operand's field in the diagram.
        style: how it is printed: ``w``, ``x``, ``x|sp``, ``s``, ``v.4s``, or an immediate's name.
        cls: register class or IMMEDIATE.
        role: what happens to the register.
        span: how many registers the operand stands for, as a list; 0 when it is one and not in a list.
        unit: bytes an immediate counts.
    """

    __slots__ = ("cls", "literal", "name", "role", "span", "style", "unit")

    def __init__(self, literal: str, name: str = "", style: str = "", cls: int = IMMEDIATE, role: int = NONE, span: int = 0, unit: int = 1) -> None:
        self.literal = literal
        self.name = name
        self.style = style
        self.cls = cls
        self.role = role
        self.span = span
        self.unit = unit


_WORD: Final = re.compile(
    r"(?P<role>=/\+|=|\+)?(?:(?P<letter>[RWXFGLBHSDQ])(?P<scalar>d|n|m|a|t2|t)(?P<sp>\|SP)?(?![A-Za-z0-9])"
    r"|V(?P<vector>d|n|m|a|t)\.(?P<arrangement>[A-Za-z0-9]+)(?:\*(?P<span>[1-4]))?)"
    r"|#?(?P<name>!?[a-z][a-z0-9]*)(?P<scaled>\*bytes)?|(?P<brace>[{}])"
)


def _role(mark: str | None, shape: Shape) -> int:
    if mark is None:
        return READ
    if mark == "=/+":
        return BOTH if shape.full else WRITE
    return WRITE if mark == "=" else BOTH


def _pieces(syntax: str, shape: Shape) -> list[Piece]:
    """The operand text of a family taken apart, for one shape."""
    made: list[Piece] = []
    end = 0
    for found in _WORD.finditer(syntax):
        if found.start() > end:
            made.append(Piece(syntax[end : found.start()]))
        end = found.end()
        letter = found["letter"]
        name = found["name"]
        if letter:
            width = shape.text.get(letter, letter.lower()) if letter in "RFGL" else letter.lower()
            cls = INTS if width in "wx" else VECTORS
            made.append(Piece("", "R" + found["scalar"], width + ("|sp" if found["sp"] else ""), cls, _role(found["role"], shape)))
        elif found["vector"]:
            arrangement = shape.text.get(found["arrangement"], found["arrangement"])
            span = int(found["span"] or 0)
            made.append(Piece("", "R" + found["vector"], "v." + arrangement, VECTORS, _role(found["role"], shape), span))
        elif name is None:
            made.append(Piece(found.group()))
        elif name.lstrip("!") in IMMEDIATES:
            made.append(Piece("", name.lstrip("!"), name, unit=shape.bytes if found["scaled"] else 1))
        elif name[:-1] == "bytes":
            made.append(Piece(f"#{shape.bytes * int(name[-1])}"))
        elif name == "element":
            made.append(Piece(f"#{shape.lane // 8}"))
        else:
            made.append(Piece(found.group()))
    if end < len(syntax):
        made.append(Piece(syntax[end:]))
    return made


class Row:
    """One instruction in one shape. The attributes from ``match`` on are there after ``prepare``, which ``encode`` calls by itself.

    Attributes:
        family, shape: where it is in the table.
        extension: what the machine must have.
        diagram: as in the table.
        mnemonic: as printed.
        match, mask: the fixed bits and where they are.
        operands: names of the operands, in the text's order: of fields of the diagram.
        classes: per operand its register class, or IMMEDIATE.
        roles: per operand whether it is read, written, both, or an immediate.
        spans: per operand how many consecutive registers it stands for (a list of them; by its first).
        reads_flags, writes_flags: of the condition flags.
        ranges: per operand (low, high, step, base, kind): values it may have, and how one becomes bits.
        distance: the operand that is a distance to a label or constant, or -1.
    """

    __slots__ = (
        *("classes", "diagram", "distance", "extension", "family", "mask", "match", "mnemonic", "operands", "parts", "ranges"),
        *("reads_flags", "ready", "roles", "shape", "spans", "texts", "writes_flags"),
    )

    def __init__(self, owner: Family, shape: str, diagram: str, extension: str) -> None:
        self.family = owner
        self.shape = shape
        self.extension = extension
        self.diagram = diagram
        self.ready = False
        self.match = 0
        self.mask = 0
        self.mnemonic = ""
        self.operands: tuple[str, ...] = ()
        self.classes: tuple[int, ...] = ()
        self.roles: tuple[int, ...] = ()
        self.spans: tuple[int, ...] = ()
        self.reads_flags = False
        self.writes_flags = False
        self.ranges: tuple[tuple[int, int, int, int, int], ...] = ()
        self.distance = -1
        # (operand, right shift, mask, left shift): which of an operand's bits go where.
        self.parts: tuple[tuple[int, int, int, int], ...] = ()
        self.texts: list[Piece] = []

    def __repr__(self) -> str:
        return f"{self.family.mnemonic}.{self.shape}" if self.shape != ONLY else self.family.mnemonic

    # --- reading the notation -----------------------------------------------------------------------------

    def prepare(self) -> None:
        """Read the notation."""
        if self.ready:
            return
        shape = _shape(self.shape)
        self.mnemonic = _mnemonic(self.family.mnemonic, shape)
        syntax, _, implicit = self.family.syntax.partition(";")
        flags = implicit.strip()
        self.writes_flags = flags in ("=nzcv", "+nzcv")
        self.reads_flags = flags in ("nzcv", "+nzcv")
        words = _pieces(syntax.strip(), shape)
        if self.mnemonic.endswith(".cond"):
            self.mnemonic = self.mnemonic[:-4]
            words.insert(0, Piece("", "cond", "cond"))
            words.insert(1, Piece(" "))
        named: list[Piece] = [piece for piece in words if not piece.literal]
        self.texts = words
        self.operands = tuple([piece.name for piece in named])
        self.classes = tuple([piece.cls for piece in named])
        self.roles = tuple([piece.role for piece in named])
        self.spans = tuple([piece.span or 1 for piece in named])
        widths = self._read_diagram(shape)
        ranges: list[tuple[int, int, int, int, int]] = []
        for k, piece in enumerate(named):
            if widths[k] == 0:
                raise ValueError(f"{self}: {piece.name} is not in the diagram")
            if piece.cls == IMMEDIATE:
                ranges.append(_range(piece, widths[k], shape))
                if piece.name in _DISTANCES:
                    self.distance = k
            else:
                ranges.append((0, (1 << widths[k]) - 1, 1, 0, LINEAR))
        self.ranges = tuple(ranges)
        self.ready = True

    def _read_diagram(self, shape: Shape) -> list[int]:
        """Find the fixed bits and the places of the operands; returns the bits of each operand."""
        widths = [0] * len(self.operands)
        parts: list[tuple[int, int, int, int]] = []
        at = 32
        shifted = "lshift" if "lshift" in self.operands else "rshift"
        for word in " ".join([shape.code.get(word, word) for word in self.diagram.split()]).split():
            if word[0] in "01":
                at -= len(word)
                self.match |= int(word, 2) << at
                self.mask |= (1 << len(word)) - 1 << at
                continue
            name, bracket, bits = word.partition("[")
            if name == "_":
                name = shifted
            if name not in self.operands:
                raise ValueError(f"{self}: {name} is not an operand")
            operand = self.operands.index(name)
            if bracket:
                high, _, low = bits[:-1].partition(":")
                top, right = int(high), int(low or high)
            else:
                top, right = _WIDTHS.get(name, 5) - 1, 0
            width = top - right + 1
            at -= width
            widths[operand] += width
            parts.append((operand, right, (1 << width) - 1, at))
        if at != 0:
            raise ValueError(f"{self}: the diagram has {32 - at} bits")
        self.parts = tuple(parts)
        return widths

    # --- bits ---------------------------------------------------------------------------------------------

    def encode(self, values: tuple[int, ...]) -> int:
        """The instruction's word with these operands (register codes and numbers, in the text's order)."""
        if not self.ready:
            self.prepare()
        ranges = self.ranges
        if len(values) != len(ranges):
            raise ValueError(f"{self}: {len(ranges)} operands are needed, not {len(values)}")
        coded: list[int] = []
        for k, value in enumerate(values):
            low, high, step, base, kind = ranges[k]
            if value < low or value > high:
                raise ValueError(f"{self}: {self.operands[k]} cannot be {value}")
            if kind == LINEAR:
                if step != 1:
                    if (value - base) % step:
                        raise ValueError(f"{self}: {self.operands[k]} cannot be {value}")
                    value = (value - base) // step
            elif kind == NEGATED:
                value = base - value
            elif kind == LOGICAL:
                fields = logical_immediate(value, 32 if high >> 32 == 0 else 64)
                if fields is None:
                    raise ValueError(f"{self}: {self.operands[k]} cannot be {value:#x}")
                value = fields
            elif value & 3 == 3:
                raise ValueError(f"{self}: {self.operands[k]} cannot be {value}")
            coded.append(value)
        word = self.match
        for operand, right, mask, left in self.parts:
            word |= (coded[operand] >> right & mask) << left
        return word

    def operands_of(self, word: int) -> tuple[int, ...] | None:
        """The operands of an instruction word whose fixed bits are this row's, or None when they are not valid."""
        coded = [0] * len(self.operands)
        widths = [0] * len(self.operands)
        for operand, right, mask, left in self.parts:
            coded[operand] |= (word >> left & mask) << right
            widths[operand] += mask.bit_length()
        for k, value in enumerate(coded):
            low, high, step, base, kind = self.ranges[k]
            if kind == LINEAR:
                if low < 0 and value >> widths[k] - 1:
                    value -= 1 << widths[k]
                value = value * step + base
            elif kind == NEGATED:
                value = base - value
            elif kind == LOGICAL:
                mask_value = logical_value(value, 32 if high >> 32 == 0 else 64)
                if mask_value is None:
                    return None
                value = mask_value
            elif value & 3 == 3:
                return None
            if value < low or value > high:
                return None
            coded[k] = value
        return tuple(coded)

    # --- text ---------------------------------------------------------------------------------------------

    def text(self, values: tuple[int, ...], target: str = "") -> str:
        """The instruction as assemblers print it, by its preferred alias; ``target`` names what a distance leads to."""
        if not self.ready:
            self.prepare()
        special = self.family.special
        if special is not None:
            spelled: str = special(self, values)
            if spelled:
                return spelled
        shape = _shape(self.shape)
        for other in self.family.aliases:
            if other.shapes and self.shape not in other.shapes.split():
                continue
            if self._meets(other.condition, values):
                body = self._body(_pieces(other.syntax, shape), values, target)
                name = _mnemonic(other.mnemonic, shape)
                return f"{name} {body}" if body else name
        return self.plain_text(values, target)

    def plain_text(self, values: tuple[int, ...], target: str = "") -> str:
        """The instruction under the name it has in the table."""
        if not self.ready:
            self.prepare()
        body = self._body(self.texts, values, target)
        if not body:
            return self.mnemonic
        return self.mnemonic + body if self.mnemonic[-1] == "." else f"{self.mnemonic} {body}"

    def _body(self, pieces: list[Piece], values: tuple[int, ...], target: str) -> str:
        words: list[str] = []
        k = 0
        while k < len(pieces):
            piece = pieces[k]
            if piece.literal == "{":
                end = k
                present = False
                while pieces[end].literal != "}":
                    if not pieces[end].literal and values[self.operands.index(pieces[end].name)]:
                        present = True
                    end += 1
                if not present:
                    k = end
            elif piece.literal:
                if piece.literal != "}":
                    words.append(piece.literal)
            else:
                operand = self.operands.index(piece.name)
                if operand == self.distance and target:
                    words.append(target)
                elif piece.cls == IMMEDIATE:
                    words.append(_number(piece.style, values[operand]))
                else:
                    words.append(_register(piece, values[operand]))
            k += 1
        return "".join(words)

    def _meets(self, condition: str, values: tuple[int, ...]) -> bool:
        for term in condition.split():
            name, less, limit = term.partition("<")
            if less:
                if values[self.operands.index(name)] >= int(limit):
                    return False
                continue
            name, _, wanted = term.partition("=")
            value = int(wanted) if wanted.isdigit() else values[self.operands.index(wanted)]
            if values[self.operands.index(name)] != value:
                return False
        return True


def _mnemonic(name: str, shape: Shape) -> str:
    stem, brace, letters = name.partition("{")
    if not brace:
        return name
    if letters == "2}":
        return stem + ("2" if shape.full else "")
    return stem + (shape.last if shape.last in letters else "")


def _range(piece: Piece, width: int, shape: Shape) -> tuple[int, int, int, int, int]:
    """(low, high, step, base, kind) of an immediate in a shape."""
    form = IMMEDIATES[piece.name]
    high = form.narrow if shape.narrow else form.high
    step = form.step
    base = form.base
    if piece.name == "scale":
        high = shape.bytes.bit_length() - 1
        step = max(high, 1)
    elif piece.name == "lshift":
        high = shape.lane - 1
    elif piece.name == "rshift":
        high = base = shape.lane
    elif high == _FITS:
        high = (1 << width) - 1
        high *= step
    return form.low * piece.unit, high * piece.unit, step * piece.unit, base, form.kind


def _register(piece: Piece, code: int) -> str:
    style = piece.style
    if piece.cls == INTS:
        return int_name(code, style[0], len(style) > 1)
    if style[0] != "v":
        return f"{style}{code}"
    if not piece.span:
        return f"v{code}{style[1:]}"
    return "{ " + ", ".join([f"v{(code + k) % 32}{style[1:]}" for k in range(piece.span)]) + " }"


def _number(style: str, value: int) -> str:
    if style == "cond":
        return CONDITIONS[value]
    if style == "!cond":
        return CONDITIONS[value ^ 1]
    if style == "shift" or style == "shiftror":
        return _SHIFTS[value]
    if style == "extend":
        return _EXTENDS[value]
    if style == "sext":
        return "sxtw" if value else "uxtw"
    if style in ("index", "index2"):
        return str(value)
    if style == "limm" or style == "brk16":
        return f"#{value:#x}"
    if style == "mask8":
        return f"#{byte_mask(value):#018x}"
    if style == "fimm8":
        return f"#{float_value(value):.8f}"
    return f"#{value}"


class Alias:
    """Another name for an instruction whose operands are as ``condition`` says: terms like ``Rd=31``, ``Rn=Rm``, ``cond<14``, all true."""

    __slots__ = ("condition", "mnemonic", "shapes", "syntax")

    def __init__(self, mnemonic: str, syntax: str, condition: str, shapes: str) -> None:
        self.mnemonic = mnemonic
        self.syntax = syntax
        self.condition = condition
        self.shapes = shapes


class Family:
    """A line of the table: ``family[shape]`` is the row of a shape.

    Attributes:
        mnemonic, syntax: as in the table.
        variants: (shapes, diagram, extension).
        aliases: other names, the preferred first.
        special: a function that may give the text where aliases are not enough.
    """

    __slots__ = ("_rows", "aliases", "mnemonic", "special", "syntax", "variants")

    def __init__(self, mnemonic: str, syntax: str, diagram: str, shapes: str, extension: str) -> None:
        self.mnemonic = mnemonic
        self.syntax = syntax
        self.variants: list[tuple[str, str, str]] = [(shapes, diagram, extension)]
        self.aliases: list[Alias] = []
        self.special: Callable[[Row, tuple[int, ...]], str] | None = None
        self._rows: dict[str, Row] = {}

    def __repr__(self) -> str:
        return self.mnemonic

    def __getitem__(self, shape: str) -> Row:
        """The row of a shape. Raises ``KeyError`` when there is none."""
        made = self._rows.get(shape)
        if made is None:
            made = self._make(shape)
            if made is None:
                raise KeyError(f"{self.mnemonic} has no shape {shape}")
            self._rows[shape] = made
        return made

    def get(self, shape: str) -> Row | None:
        """The row of a shape, or None."""
        made = self._rows.get(shape)
        if made is None:
            made = self._make(shape)
            if made is not None:
                self._rows[shape] = made
        return made

    def also(self, shapes: str, diagram: str, extension: str) -> Family:
        """More shapes, encoded otherwise. Returns the family."""
        self.variants.append((shapes, diagram, extension))
        return self

    def shapes(self) -> list[str]:
        """Names of its shapes."""
        return [word.partition(":")[0] for names, _, _ in self.variants for word in names.split()]

    def _make(self, shape: str) -> Row | None:
        for shapes, diagram, extension in self.variants:
            for word in shapes.split():
                name, _, needs = word.partition(":")
                if name == shape:
                    return Row(self, shape, diagram, needs or extension)
        return None


#: All lines of the table.
FAMILIES: Final[list[Family]] = []


def family(mnemonic: str, syntax: str, diagram: str, shapes: str, extension: str = BASE) -> Family:
    """Add an instruction that has shapes."""
    made = Family(mnemonic, syntax, diagram, shapes, extension)
    FAMILIES.append(made)
    return made


def row(mnemonic: str, syntax: str, diagram: str, extension: str = BASE) -> Row:
    """Add an instruction of one shape."""
    return family(mnemonic, syntax, diagram, ONLY, extension)[ONLY]


def alias(of: Family | Row, mnemonic: str, syntax: str, condition: str, shapes: str = "") -> None:
    """Another name for some operands; of several the first that fits is printed."""
    owner = of.family if isinstance(of, Row) else of
    owner.aliases.append(Alias(mnemonic, syntax, condition, shapes))
