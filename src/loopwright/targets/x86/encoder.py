"""From instruction rows to bytes.

``lookup`` parses a row's notation once, into a ``Form`` with everything precomputed; ``encode`` puts one instruction
of a form into a ``bytearray``. Registers are codes here (see ``registers.py``), not physical register numbers.

Prefix layouts are those of the Intel SDM, volume 2: REX 2.2.1, VEX 2.3.5, EVEX 2.7.1, compressed displacement 2.7.5.
The fields that VEX and EVEX store inverted are set to "all ones" in a form's precomputed integer and exclusive-ored with
the registers' bits; the integers hold the bytes in memory order, lowest first.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import InternalError
from loopwright.targets.x86.instructions import EVEX_NAMES, Row, rows_named

# Kinds of forms.
LEGACY: Final = 0
VEX: Final = 1
EVEX: Final = 2

#: As the base of an address: none, or the address of the next instruction.
NO_REGISTER: Final = -1
RIP: Final = -2

#: The SIB byte's code of each scale; -1 makes a wrong one an error.
_SCALE_BITS: Final[tuple[int, ...]] = (-1, 0, 1, -1, 2, -1, -1, -1, 3)


class M:
    """A memory operand: base + index * scale + disp.

    Attributes:
        base: code of a general-purpose register, ``RIP``, or ``NO_REGISTER``.
        index: code of a general-purpose register (of a vector register for gathers and scatters), or ``NO_REGISTER``.
        scale: 1, 2, 4 or 8.
        disp: bytes; with ``RIP``, counted from the end of the instruction or from the pool constant.
        bcst: one element is loaded and repeated in every lane (EVEX's embedded broadcast).
        pool: number of the assembler's pool constant that a ``RIP`` address means, or -1.
    """

    __slots__ = ("base", "bcst", "disp", "index", "pool", "scale")

    def __init__(self, base: int, index: int = NO_REGISTER, scale: int = 1, disp: int = 0, bcst: bool = False, pool: int = -1) -> None:
        self.base = base
        self.index = index
        self.scale = scale
        self.disp = disp
        self.bcst = bcst
        self.pool = pool


class Operand:
    """What one operand of a form may be, from the manual's notation.

    Attributes:
        register: ``r8 r16 r32 r64 xmm ymm zmm k``, or "" when it cannot be a register.
        memory: bits accessed; 0 when it cannot be memory, -1 when the size is not said (``lea``, gathers).
        broadcast: bits of the element that can be broadcast from memory, or 0.
        vector_index: ``xmm``, ``ymm`` or ``zmm`` for the index register of a gather or scatter, else "".
        immediate: bits of an immediate or of a relative displacement, or 0.
        fixed: the spelling of an operand that the opcode implies, or "".
        masked, zeroing: ``{k1}``, ``{z}`` may follow it.
        place, role: its letters in the row.
    """

    __slots__ = ("broadcast", "fixed", "immediate", "masked", "memory", "place", "register", "role", "vector_index", "zeroing")

    def __init__(self, spelled: str, place: str, role: str) -> None:
        self.place = place
        self.role = role
        self.register = ""
        self.memory = 0
        self.broadcast = 0
        self.vector_index = ""
        self.immediate = 0
        self.fixed = ""
        self.zeroing = spelled.endswith("{z}")
        self.masked = "{" in spelled
        if self.masked:
            spelled = spelled[: spelled.index("{")]
        if place == "-":
            self.fixed = spelled.lower()
            return
        choices = spelled.split("/")
        if choices[0] == "r":  # r/m32
            choices[0] = "r" + choices[1][1:]
        for choice in choices:
            if choice[1:3] == "mm" and choice[0] != "i":
                self.register = choice[:3]
            elif choice[0] == "k":
                self.register = "k"
            elif choice[0] == "r" and choice[:3] != "rel":
                self.register = choice.rstrip("ab")
            elif choice.endswith("bcst"):
                self.broadcast = int(choice[1:-4])
            elif choice[:2] == "vm":
                self.memory = -1
                self.vector_index = choice[-1] + "mm"
            elif choice[0] == "m":
                self.memory = int(choice[1:]) if len(choice) > 1 else -1
            else:
                self.immediate = int(choice[3:])

    def takes(self, wanted: str) -> bool:
        """Whether a shape's word for an operand (see ``lookup``) fits."""
        if wanted == self.register:
            return wanted != ""
        if wanted == "m":
            return self.memory != 0
        if wanted == "imm":
            return self.immediate != 0
        if wanted.endswith("bcst"):
            return self.broadcast != 0 and wanted == f"m{self.broadcast}bcst"
        if wanted[:1] == "m":
            return self.memory > 0 and wanted == f"m{self.memory}"
        if wanted[:3] == "imm" or wanted[:3] == "rel":
            return self.immediate > 0 and self.immediate == int(wanted[3:])
        if wanted[:2] == "vm":
            return self.vector_index != "" and wanted[-1] == self.vector_index[0]
        return wanted == self.fixed and wanted != ""

    def covers(self, other: Operand) -> bool:
        """Whether everything ``other`` may be, this may be too."""
        return (
            (other.register == self.register or not other.register)
            and (other.memory == self.memory or not other.memory)
            and other.immediate == self.immediate
            and other.vector_index == self.vector_index
            and other.fixed == self.fixed
        )


_operands: Final[dict[tuple[str, str, str], Operand]] = {}


def _operand(spelled: str, place: str, role: str) -> Operand:
    """The operand of a notation, read once: most of a mnemonic's forms share theirs with others."""
    key = (spelled, place, role)
    known = _operands.get(key)
    if known is None:
        known = _operands[key] = Operand(spelled, place, role)
    return known


class Form:
    """One row, parsed: what ``encode`` needs of it as plain integers.

    Attributes:
        row: the row.
        mnemonic: in lower case, as listings print it.
        kind: ``LEGACY``, ``VEX`` or ``EVEX``.
        operands: what each operand may be.
        features: CPU features it needs.
        effect: what it does to the flags, once somebody has asked (flags.py); -1 before.
        count: explicit register operands when no operand is in memory (one fewer when one is).
    """

    __slots__ = (
        "_evex",
        "_evex_known",
        "_short",
        "_short_known",
        "base",
        "broadcast",
        "byte_registers",
        "count",
        "digit",
        "disp_scale",
        "effect",
        "features",
        "imm_high",
        "imm_low",
        "imm_size",
        "is4",
        "kind",
        "l_at",
        "l_memory",
        "masked",
        "memory_at",
        "mnemonic",
        "modrm",
        "op_in_opcode",
        "opcode",
        "opcode_word",
        "operands",
        "prefix",
        "reg_at",
        "reg_memory",
        "rex",
        "rm_at",
        "row",
        "v_at",
        "v_memory",
        "vector_index",
        "vex2",
        "zeroing",
    )

    def __init__(self, row: Row) -> None:
        self.row = row
        self.mnemonic = row.mnemonic.lower()
        self.features = row.features
        self.effect = -1
        self.operands: list[Operand] = []
        spelled = row.operands.split(", ") if row.operands else []
        for i, text in enumerate(spelled):
            self.operands.append(_operand(text, row.places[i], row.roles[i]))
        self.masked = False
        self.zeroing = False
        self.broadcast = 0
        self.memory_at = -1
        self.vector_index = False
        self._evex: Form | None = None
        self._evex_known = False
        self._short: Form | None = None
        self._short_known = False
        # Where in the tuple of register codes each field of the encoding finds its register: -1 for nowhere, which counts as register 0.
        self.reg_at = self.v_at = self.rm_at = self.l_at = -1
        self.reg_memory = self.v_memory = self.l_memory = -1
        self.op_in_opcode = False
        self.is4 = False
        self.byte_registers = 0
        count = in_memory = 0
        widest = 0
        for i, operand in enumerate(self.operands):
            self.masked = self.masked or operand.masked
            self.zeroing = self.zeroing or operand.zeroing
            place = operand.place
            widest = max(widest, int(operand.register[1:]) if operand.register[:1] == "r" else 0, operand.memory)
            if place == "M":
                self.memory_at = i if operand.memory else -1
                self.broadcast = operand.broadcast
                self.vector_index = operand.vector_index != ""
                self.rm_at = count if operand.register else -1
                if operand.register:
                    count += 1
                if operand.register == "r8":
                    self.byte_registers |= 2
            elif place in "RVOL":
                if place == "R":
                    self.reg_at, self.reg_memory = count, in_memory
                    if operand.register == "r8":
                        self.byte_registers |= 1
                elif place == "V":
                    self.v_at, self.v_memory = count, in_memory
                elif place == "O":
                    self.rm_at, self.op_in_opcode = count, True
                else:
                    self.l_at, self.l_memory, self.is4 = count, in_memory, True
                count += 1
                in_memory += 1
        self.count = count
        self._parse_encoding(row.encoding, row.tuple_type, widest)

    def _parse_encoding(self, notation: str, tuple_type: str, widest: int) -> None:
        words = notation.replace(" + ", " ").split()
        self.digit = 0
        self.modrm = False
        self.imm_size = 0
        self.disp_scale = 1
        self.prefix = 0
        self.rex = 0
        self.base = 0
        self.vex2 = 0
        opcode: list[int] = []
        vex = words[0].split(".")
        self.kind = VEX if vex[0] == "VEX" else EVEX if vex[0] == "EVEX" else LEGACY
        if self.kind != LEGACY:
            words = words[1:]
        for position, word in enumerate(words):
            if word == "/r":
                self.modrm = True
            elif word == "/is4":
                self.imm_size = 1
            elif word[0] == "/":
                self.modrm = True
                self.digit = int(word[1:])
            elif word in ("ib", "cb"):
                self.imm_size = 1
            elif word == "iw":
                self.imm_size = 2
            elif word in ("id", "cd"):
                self.imm_size = 4
            elif word == "io":
                self.imm_size = 8
            elif word == "REX.W":
                self.rex = 0x48
            elif not opcode and self.kind == LEGACY and word in ("66", "F2", "F3") and position + 1 < len(words):
                self.prefix = int(word, 16) << 8 | self.prefix if self.prefix else int(word, 16)
            else:
                opcode.append(int(word[:2], 16))
        self.opcode = bytes(opcode)
        self.opcode_word = int.from_bytes(self.opcode, "little")
        bits = 8 * self.imm_size
        # An immediate narrower than the operand is sign-extended (SDM volume 2, 2.2.1.5), except where it is a selector or a shift count.
        sign_extended = self.kind == LEGACY and ((bits == 8 and opcode[0] in (0x83, 0x6B, 0x6A)) or (bits == 32 and widest != 32))
        relative = notation.endswith(("cb", "cd"))
        self.imm_low = -(1 << bits >> 1)
        self.imm_high = (1 << bits >> 1) - 1 if sign_extended or relative else (1 << bits) - 1
        if self.kind == LEGACY:
            return
        length = pp = mode = wide = 0
        for field in vex[1:]:
            if field in ("128", "256", "512"):
                length = ("128", "256", "512").index(field)
            elif field == "L1":
                length = 1
            elif field in ("66", "F3", "F2"):
                pp = ("66", "F3", "F2").index(field) + 1
            elif field in ("0F", "0F38", "0F3A"):
                mode = ("0F", "0F38", "0F3A").index(field) + 1
            elif field[:3] == "MAP":
                mode = int(field[3:])
            elif field == "W1":
                wide = 1
        modrm = 0xC0 if self.modrm else 0
        if self.kind == VEX:
            self.base = 0xC4 | (0xE0 | mode) << 8 | (wide << 7 | 0x78 | length << 2 | pp) << 16 | opcode[0] << 24 | modrm << 32
            if mode == 1 and not wide:
                self.vex2 = 0xC5 | (0xF8 | length << 2 | pp) << 8 | opcode[0] << 16 | modrm << 24
        else:
            self.base = 0x62 | (0xF0 | mode) << 8 | (wide << 7 | 0x7C | pp) << 16 | (0x08 | length << 5) << 24 | opcode[0] << 32 | modrm << 40
            self.disp_scale = _tuple_bytes(tuple_type, 16 << length, 8 if wide else 4)

    def evex(self) -> Form | None:
        """The EVEX form that does the same (for registers above 15), or None."""
        if not self._evex_known:
            name = self.row.mnemonic
            self._evex = self._twin(EVEX_NAMES.get(name, name))
            self._evex_known = True
        return self._evex

    def _twin(self, mnemonic: str) -> Form | None:
        for form in forms(mnemonic):
            if form.kind == EVEX and len(form.operands) == len(self.operands):
                for mine, other in zip(self.operands, form.operands, strict=True):
                    if not other.covers(mine) or other.place != mine.place:
                        break
                else:
                    return form
        return None

    def short(self) -> Form | None:
        """The form of the same instruction with a sign-extended 8-bit immediate in place of this one's 32-bit one, or None."""
        if not self._short_known:
            if self.imm_size == 4 and self.kind == LEGACY and self.operands[-1].place == "I":
                for form in forms(self.row.mnemonic):
                    if form.imm_size == 1 and form.imm_high == 127 and len(form.operands) == len(self.operands):
                        for mine, other in zip(self.operands[:-1], form.operands[:-1], strict=True):
                            if not other.covers(mine):
                                break
                        else:
                            self._short = form
                            break
            self._short_known = True
        return self._short

    def __repr__(self) -> str:
        return repr(self.row)


def _tuple_bytes(tuple_type: str, length: int, element: int) -> int:
    """The N of a compressed displacement (SDM volume 2, tables 2-34 and 2-35) for a vector length in bytes, without broadcast."""
    if tuple_type in ("full", "fullmem"):
        return length
    if tuple_type in ("half", "halfmem"):
        return length // 2
    if tuple_type in ("quarter", "quartermem"):
        return length // 4
    if tuple_type == "eighthmem":
        return length // 8
    if tuple_type == "movddup":
        return 8 if length == 16 else length
    if tuple_type == "t1s":
        return element
    if tuple_type == "t2":
        return 2 * element
    if tuple_type == "t4":
        return 4 * element
    if tuple_type == "":
        return 1
    return {"t1s8": 1, "t1s16": 2, "t1f32": 4, "t1f64": 8, "t8": 32, "mem128": 16}[tuple_type]


_forms: Final[dict[str, list[Form]]] = {}
_found: Final[dict[tuple[str, str], Form]] = {}


def forms(mnemonic: str) -> list[Form]:
    """The forms of a mnemonic, one per row, in the table's order. Raises ``KeyError`` when there is none such."""
    rows = rows_named(mnemonic)
    known = _forms.get(mnemonic)
    if known is None or len(known) != len(rows):
        known = [Form(row) for row in rows]
        _forms[mnemonic] = known
    return known


def lookup(mnemonic: str, shape: str = "") -> Form:
    """The first form of a mnemonic that takes operands of the given shape.

    Args:
        mnemonic: in the manual's spelling, ``VFMADD213PS``.
        shape: the operands, separated by commas: ``r8 r16 r32 r64 xmm ymm zmm k``; ``m`` with or without its size in bits;
            ``m32bcst``, ``m64bcst``; ``imm`` with or without its size; ``rel8``, ``rel32``; ``cl``, ``1``; ``vmx vmy vmz`` for the
            address of a gather by its index register. ``{k}`` behind an operand asks for a form with a writemask, and ``evex:`` or
            ``vex:`` before them all for one of that kind.

    A VEX form needs no other for registers above 15: ``encode`` goes over to the EVEX form of the same instruction by itself.
    Likewise a form with a 32-bit immediate becomes the one with an 8-bit immediate where the value allows it.

    Raises:
        KeyError: no such mnemonic, or no form of it takes these operands.
    """
    found = _found.get((mnemonic, shape))
    if found is not None:
        return found
    words = shape.replace(" ", "")
    kind = -1
    if words.startswith("evex:"):
        kind, words = EVEX, words[5:]
    elif words.startswith("vex:"):
        kind, words = VEX, words[4:]
    masked = "{k}" in words
    wanted = words.replace("{k}", "").split(",") if words else []
    best: Form | None = None
    for form in forms(mnemonic):
        if len(form.operands) != len(wanted) or (masked and not form.masked) or (kind >= 0 and form.kind != kind):
            continue
        for word, operand in zip(wanted, form.operands, strict=True):
            if not operand.takes(word):
                break
        else:
            # "imm" takes the widest immediate there is.
            if best is None or (form.kind == best.kind and form.imm_size > best.imm_size):
                best = form
    if best is None:
        raise KeyError(f"{mnemonic} {shape}: no such form; there are: " + "; ".join(form.row.operands for form in forms(mnemonic)))
    _found[(mnemonic, shape)] = best
    return best


def _invalid(form: Form, ops: tuple[int, ...], why: str) -> InternalError:
    return InternalError(f"cannot encode {form} with registers {ops}: {why}")


def encode(out: bytearray, form: Form, ops: tuple[int, ...], mem: M | None = None, imm: int = 0, k: int = 0, z: bool = False) -> int:
    """Append one instruction to ``out``.

    Args:
        form: from ``lookup``.
        ops: codes of the explicit register operands, in the order of the operands.
        mem: the memory operand, where one of the operands is in memory.
        imm: the immediate, or the displacement of a relative jump.
        k: code of the writemask, 0 for none; z: lanes that are off become zero instead of keeping their value.

    Returns:
        The bytes of immediate at the end of the instruction (so that a displacement before them can be found and patched).

    Raises:
        InternalError: operands that the form cannot hold.
    """
    if mem is None:
        return _registers(out, form, ops, imm, k, z)
    return _memory(out, form, ops, mem, imm, k, z)


def _registers(out: bytearray, form: Form, ops: tuple[int, ...], imm: int, k: int, z: bool) -> int:
    """Append an instruction without a memory operand; see ``encode``."""
    if len(ops) != form.count:
        raise _invalid(form, ops, f"{form.count} register operands are needed")
    kind = form.kind
    r = form.digit
    v = b = 0
    if form.reg_at >= 0:
        r |= ops[form.reg_at]
    if form.v_at >= 0:
        v = ops[form.v_at]
    if form.rm_at >= 0:
        b = ops[form.rm_at]
    if kind == LEGACY:
        return _legacy(out, form, ops, None, imm, k, z, r, b)
    if kind == VEX:
        if (r | v | b) & ~15 or k or z:
            return _registers(out, _wider(form, ops, k, z), ops, imm, k, z)
        if form.vex2 and b < 8:
            size = 4 if form.modrm else 3
            word = form.vex2 ^ ((r & 8) << 12 | v << 11)
            if form.modrm:
                word ^= ((r & 7) << 3 | b) << 24
        else:
            size = 5
            word = form.base ^ ((r & 8) << 12 | (b & 8) << 10 | v << 19 | ((r & 7) << 3 | b & 7) << 32)
    else:
        if (r | v | b) & ~31 or k & ~7:
            raise _invalid(form, ops, "no such register")
        if (k or z) and not (form.masked and k and (form.zeroing or not z)):
            raise _invalid(form, ops, "it takes no such mask")
        size = 6
        word = form.base ^ ((r & 8) << 12 | (r & 16) << 8 | (b & 24) << 10 | (v & 15) << 19 | (v & 16) << 23 | k << 24 | z << 31 | ((r & 7) << 3 | b & 7) << 40)
    tail = form.imm_size
    if tail:
        if form.is4:
            imm = ops[form.l_at] << 4
        elif not form.imm_low <= imm <= form.imm_high:
            raise _invalid(form, ops, f"{imm} does not fit in its immediate")
        word |= (imm & (1 << 8 * tail) - 1) << 8 * size
    out += word.to_bytes(size + tail, "little")
    return tail


def _legacy(out: bytearray, form: Form, ops: tuple[int, ...], mem: M | None, imm: int, k: int, z: bool, r: int, b: int) -> int:
    """Append an instruction without VEX or EVEX prefix, of ModRM's register ``r`` and of the register ``b``, or the address ``mem``; see ``encode``."""
    x = mem.index if mem is not None and mem.index > 0 else 0
    if (r | b | x) & ~15 or k or z:
        raise _invalid(form, ops, "no such register")
    if form.imm_size == 4:
        if imm > 0x7FFFFFFF and imm <= form.imm_high:
            imm -= 1 << 32
        if -128 <= imm <= 127:
            short = form.short()
            if short is not None:
                form = short
    word = form.prefix
    size = (2 if word > 0xFF else 1) if word else 0
    rex = form.rex | (r & 8) >> 1 | (x & 8) >> 2 | b >> 3
    if rex or (form.byte_registers and ((form.byte_registers & 1 and r >= 4) or (form.byte_registers & 2 and b >= 4 and mem is None))):
        word |= (rex | 0x40) << 8 * size
        size += 1
    word |= form.opcode_word << 8 * size
    size += len(form.opcode)
    if mem is not None:
        _append(out, word, size, _address(form, ops, mem, r, b, 1))
        size = word = 0
    elif form.modrm:
        word |= (0xC0 | (r & 7) << 3 | b & 7) << 8 * size
        size += 1
    elif form.op_in_opcode:
        word += (b & 7) << 8 * (size - 1)
    tail = form.imm_size
    if tail:
        if not form.imm_low <= imm <= form.imm_high:
            raise _invalid(form, ops, f"{imm} does not fit in its immediate")
        word |= (imm & (1 << 8 * tail) - 1) << 8 * size
        size += tail
    if size:
        out += word.to_bytes(size, "little")
    return tail


def _memory(out: bytearray, form: Form, ops: tuple[int, ...], mem: M, imm: int, k: int, z: bool) -> int:
    """Append an instruction with a memory operand; see ``encode``."""
    if len(ops) != form.count - (form.rm_at >= 0) or form.memory_at < 0:
        raise _invalid(form, ops, "the operands do not fit")
    kind = form.kind
    r = form.digit
    v = 0
    if form.reg_memory >= 0:
        r |= ops[form.reg_memory]
    if form.v_memory >= 0:
        v = ops[form.v_memory]
    x = mem.index if mem.index > 0 else 0  # noqa: FURB136 (max() is a call)
    b = mem.base if mem.base > 0 else 0  # noqa: FURB136
    scale = 1
    if kind == LEGACY:
        return _legacy(out, form, ops, mem, imm, k, z, r, b)
    if kind == VEX:
        if (r | v | x) & ~15 or k or z or mem.bcst:
            return _memory(out, _wider(form, ops, k, z), ops, mem, imm, k, z)
        if form.vex2 and (b | x) < 8:
            size = 3
            word = form.vex2 & 0xFFFFFF ^ ((r & 8) << 12 | v << 11)
        else:
            size = 4
            word = form.base & 0xFFFFFFFF ^ ((r & 8) << 12 | (b & 8) << 10 | (x & 8) << 11 | v << 19)
    else:
        if (r | v | x) & ~31 or k & ~7:
            raise _invalid(form, ops, "no such register")
        if (k or z) and not (form.masked and k and (form.zeroing and form.memory_at != 0 or not z)):
            raise _invalid(form, ops, "it takes no such mask")
        scale = form.disp_scale
        word = form.base & 0xFFFFFFFFFF
        if mem.bcst:
            if not form.broadcast:
                raise _invalid(form, ops, "it cannot broadcast from memory")
            scale = form.broadcast >> 3
            word |= 1 << 28
        if form.vector_index:
            v |= x & 16  # EVEX.V' is the index's fifth bit (SDM volume 2, table 2-32).
        elif x & 16:
            raise _invalid(form, ops, "no such index register")
        size = 5
        word ^= (r & 8) << 12 | (r & 16) << 8 | (b & 8) << 10 | (x & 8) << 11 | (v & 15) << 19 | (v & 16) << 23 | k << 24 | z << 31
    _append(out, word, size, _address(form, ops, mem, r, b, scale))
    tail = form.imm_size
    if tail:
        if form.is4:
            imm = ops[form.l_memory] << 4
        elif not form.imm_low <= imm <= form.imm_high:
            raise _invalid(form, ops, f"{imm} does not fit in its immediate")
        out += (imm & (1 << 8 * tail) - 1).to_bytes(tail, "little")
    return tail


def _append(out: bytearray, word: int, size: int, address: int) -> None:
    """Append what an instruction begins with, ``size`` bytes, and its address (see ``_address``): at once where both fit into a word."""
    count = address & 15
    address >>= 4
    if size + count < 8:
        out += (word | address << 8 * size).to_bytes(size + count, "little")
    else:
        out += word.to_bytes(size, "little")
        out += address.to_bytes(count, "little")


def _address(form: Form, ops: tuple[int, ...], mem: M, r: int, b: int, scale: int) -> int:
    """ModRM, SIB and displacement (SDM volume 2, tables 2-2 and 2-3) above the lowest four bits, which say how many bytes these are.

    ``scale`` is what a short displacement counts in.
    """
    base = mem.base
    index = mem.index
    disp = mem.disp
    if b & ~15 or (index == 4 and not form.vector_index) or not -0x80000000 <= disp <= 0x7FFFFFFF:
        raise _invalid(form, ops, "no such address")
    sib = 0
    if index >= 0:
        sib = _SCALE_BITS[mem.scale] << 6 | (index & 7) << 3
        if sib < 0:
            raise _invalid(form, ops, "no such address")
    word = (r & 7) << 3
    if base < 0:
        if base == RIP:
            return (word | 5 | (disp & 0xFFFFFFFF) << 8) << 4 | 5
        sib = (sib if index >= 0 else 0x20) | 5
        return (word | 4 | sib << 8 | (disp & 0xFFFFFFFF) << 16) << 4 | 6
    b &= 7
    if disp == 0 and b != 5:
        size = 0
    elif -(scale << 7) <= disp <= 127 * scale and disp % scale == 0:
        disp = disp // scale & 255
        size = 1
        word |= 0x40
    else:
        disp &= 0xFFFFFFFF
        size = 4
        word |= 0x80
    if index >= 0:
        return (word | 4 | (sib | b) << 8 | disp << 16) << 4 | 2 + size
    if b == 4:
        return (word | 4 | 0x24 << 8 | disp << 16) << 4 | 2 + size
    return (word | b | disp << 8) << 4 | 1 + size


def _wider(form: Form, ops: tuple[int, ...], k: int, z: bool) -> Form:
    """The EVEX form to use in a VEX form's place."""
    evex = form.evex()
    if evex is None:
        raise _invalid(form, ops, "it has no EVEX form for registers above 15, masks or broadcasts")
    if (k or z) and evex.row.mnemonic != form.row.mnemonic:
        raise _invalid(form, ops, f"a masked operation says its element size: use {evex.row.mnemonic} or its like")
    return evex
