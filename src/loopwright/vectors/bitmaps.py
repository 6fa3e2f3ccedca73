"""Bits of bytes in memory, one for each index: Arrow's validity bitmaps, and what NumPy's ``packbits(bitorder="little")`` makes.

Bit ``j`` of an array of bytes is ``bits[j >> 3] >> (j & 7) & 1``. Where ``j`` counts along the lanes, the bits of all lanes are a few bytes next to each other, which are moved to a mask, and from a mask, at once. Only bytes of
which a lane that runs has a bit are read, and written; of those that are written, the other bits stay. (Apache Arrow Columnar Format, "Validity bitmaps": least-significant bit numbering.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.types import BOOL, I64, U8, U64, UNSIGNED, VOID, Type, vector_of
from loopwright.vectors.accesses import ALONG, lay
from loopwright.vectors.divergence import VARYING, Divergence
from loopwright.vectors.handed import HandedOn
from loopwright.vectors.regions import Bracket, Leaf
from loopwright.vectors.tables import Asked

__all__ = ["BitAccess", "Bitmaps", "bit_accesses"]

#: What becomes of a bit: it is read; it becomes a condition; where that holds it becomes 1, or 0.
READ: Final = 0
BECOMES: Final = 1
SETS: Final = 2
CLEARS: Final = 3

#: The most instructions that compute one bit.
_DEEPEST: Final = 24


class BitAccess:
    """One access.

    Attributes:
        kind: READ, BECOMES, SETS or CLEARS.
        array: its number.
        root, offset: the bit's number is their sum.
        condition: what is written, an operand; NONE for 1 in every lane that runs.
        inverted: what is written is the opposite.
    """

    __slots__ = ("array", "condition", "inverted", "kind", "offset", "root")

    def __init__(self, kind: int, array: int, place: tuple[int, int], condition: int = NONE, inverted: bool = False) -> None:
        self.kind = kind
        self.array = array
        self.root, self.offset = place
        self.condition = condition
        self.inverted = inverted


class _Reader:
    """Finds the accesses of one loop.

    Attributes:
        made: register -> the instruction that makes it, of those that are written once.
        users: register -> the instructions that read it.
        found: ``id`` of the comparison or store -> the access.
        parts: its ``id`` -> the instructions that it was read from.
        seen: those of the one that is looked at.
        order: ``id`` of an instruction -> where it stands; stores: where bytes are stored; writes: variable -> where it is written.
    """

    def __init__(self, f: Function, shapes: Divergence, leaves: list[Leaf]) -> None:
        self.f = f
        self.shapes = shapes
        self.made: dict[int, Instr] = {}
        self.users: dict[int, list[Instr]] = {}
        self.found: dict[int, BitAccess] = {}
        self.parts: dict[int, list[Instr]] = {}
        self.seen: list[Instr] = []
        self.order: dict[int, int] = {}
        self.stores: list[int] = []
        self.writes: dict[int, list[int]] = {}
        for number, leaf in enumerate(leaves):
            instr = leaf.instr
            self.order[id(instr)] = number
            if instr.dst >= 0 and f.variable[instr.dst]:
                self.writes.setdefault(instr.dst, []).append(number)
            if instr.op is ops.STORE and instr.type is U8:
                self.stores.append(number)
            if instr.dst >= 0 and not f.variable[instr.dst] and not shapes.held(instr.dst):
                self.made[instr.dst] = instr
            for a in instr.args:
                if a >= 0:
                    self.users.setdefault(a, []).append(instr)

    def of(self, operand: int, op: ops.Op) -> Instr | None:
        """The operation that makes an operand, if it is that one; conversions between integers on the way are passed."""
        while operand >= 0:
            instr = self.made.get(operand)
            if instr is None or len(self.seen) > _DEEPEST:
                return None
            if instr.op is op and not (op is ops.CONVERT):
                self.seen.append(instr)
                return instr
            if instr.op is not ops.CONVERT or not instr.type.is_integer or not instr.source.is_integer or min(instr.type.bits, instr.source.bits) < 8:
                return None
            self.seen.append(instr)
            operand = instr.args[0]
        return None

    def as_loaded(self, end: int) -> bool:
        """Whether memory still is what it was when what is looked at was loaded, where it ends."""
        loaded = [self.order[id(instr)] for instr in self.seen if instr.op is ops.LOAD]
        return bool(loaded) and not any(min(loaded) < store < end for store in self.stores)

    def stays(self, operand: int, end: int) -> bool:
        """Whether an operand is, where it ends, what it was where it was read."""
        read = [self.order[id(instr)] for instr in self.seen if operand in instr.args]
        return operand < 0 or not any(min(read, default=-1) < write < end for write in self.writes.get(operand, ()))

    def constant(self, operand: int, value: int) -> bool:
        return operand < 0 and self.f.const_values[~operand] == value

    def place(self, operand: int) -> tuple[int, int]:
        """A register and what is added to it."""
        offset = 0
        while operand >= 0:
            instr = self.made.get(operand)
            if instr is None or instr.op not in (ops.ADD, ops.SUB) or instr.type is not I64 or instr.args[1] >= 0 or instr.args[0] < 0:
                break
            more = int(self.f.const_values[~instr.args[1]])
            offset += more if instr.op is ops.ADD else -more
            operand = instr.args[0]
        return operand, offset

    def byte(self, operand: int) -> tuple[int, int, int] | None:
        """The array and the bit's number whose byte this is."""
        load = self.of(operand, ops.LOAD)
        if load is None or load.type is not U8 or len(load.args) != 1 or self.f.arrays[load.imm].data:
            return None
        number = self.made.get(load.args[0])
        if (
            number is None
            or number.op is not ops.SHR
            or number.type is not I64
            or not self.constant(number.args[1], 3)
            or lay(self.shapes, [number.args[0]]) != ALONG
        ):
            return None
        self.seen.append(number)
        return (load.imm, *self.place(number.args[0]))

    def within(self, operand: int) -> tuple[int, int] | None:
        """The bit's number whose place in its byte this is."""
        low = self.of(operand, ops.AND)
        return self.place(low.args[0]) if low is not None and self.constant(low.args[1], 7) else None

    def bit(self, operand: int, holds: list[int]) -> tuple[int, int] | None:
        """The bit's number of which this is a byte with that bit alone, if a condition holds; the condition goes to ``holds``."""
        moved = self.of(operand, ops.SHL)
        if moved is None:
            return None
        if not self.constant(moved.args[0], 1):
            condition = self.made.get(moved.args[0])
            while condition is not None and condition.op is ops.CONVERT and condition.source.is_integer and condition.source is not BOOL:
                self.seen.append(condition)
                condition = self.made.get(condition.args[0])
            if condition is None or condition.op is not ops.CONVERT or condition.source is not BOOL:
                return None
            self.seen.append(condition)
            holds.append(condition.args[0])
        return self.within(moved.args[1])

    def read(self, instr: Instr) -> BitAccess | None:
        """What a comparison reads."""
        if not self.constant(instr.args[1], 0):
            return None
        low = self.of(instr.args[0], ops.AND)
        if low is None:
            return None
        if self.constant(low.args[1], 1):
            moved = self.of(low.args[0], ops.SHR)
            byte = self.byte(moved.args[0]) if moved is not None else None
            return BitAccess(READ, byte[0], byte[1:]) if moved is not None and byte is not None and self.within(moved.args[1]) == byte[1:] else None
        for one, other in (low.args, low.args[::-1]):
            holds: list[int] = []
            byte = self.byte(one)
            if byte is not None and self.bit(other, holds) == byte[1:] and not holds:
                return BitAccess(READ, byte[0], byte[1:])
        return None

    def change(self, operand: int, array: int) -> BitAccess | None:
        """What a byte differs in from the one in memory."""
        for op, kind in ((ops.OR, SETS), (ops.AND, CLEARS)):
            made = self.of(operand, op)
            if made is None:
                continue
            for one, other in (made.args, made.args[::-1]):
                holds: list[int] = []
                byte = self.byte(one)
                if kind == CLEARS:
                    inverted = self.of(other, ops.NOT)
                    if inverted is None:
                        continue
                    other = inverted.args[0]
                if byte is not None and byte[0] == array and self.bit(other, holds) == byte[1:]:
                    return BitAccess(kind, array, byte[1:], holds[0] if holds else NONE)
        return None

    def written(self, store: Instr) -> BitAccess | None:
        """What a store writes."""
        if store.type is not U8 or len(store.args) != 2:
            return None
        number = self.made.get(store.args[1])
        if number is None or number.op is not ops.SHR or number.type is not I64 or not self.constant(number.args[1], 3):
            return None
        self.seen.append(number)
        chosen = self.of(store.args[0], ops.SELECT)
        if chosen is None:
            made = self.change(store.args[0], store.imm)
        else:
            yes, no = self.change(chosen.args[1], store.imm), self.change(chosen.args[2], store.imm)
            if yes is None or no is None or yes.condition != NONE or no.condition != NONE or {yes.kind, no.kind} != {SETS, CLEARS}:
                return None
            if (yes.root, yes.offset) != (no.root, no.offset):
                return None
            made = BitAccess(BECOMES, store.imm, (yes.root, yes.offset), chosen.args[0], yes.kind == CLEARS)
        return made if made is not None and self.place(number.args[0]) == (made.root, made.offset) else None


def bit_accesses(f: Function, shapes: Divergence, leaves: list[Leaf]) -> dict[int, BitAccess]:
    """The accesses to bits of a loop over lanes, by the ``id`` of the comparison or store at their end; all that serves them only is noted in ``shapes.apart``.

    Args:
        f: the function.
        shapes: what differs by lane.
        leaves: the loop's instructions.
    """
    bytes_ = [leaf.instr for leaf in leaves if leaf.instr.op is ops.LOAD and leaf.instr.type is U8 and shapes.of(leaf.instr.args[-1]) == VARYING]
    if not bytes_:
        return {}
    reader = _Reader(f, shapes, leaves)
    for number, leaf in enumerate(leaves):
        instr = leaf.instr
        if instr.op is ops.NE or instr.op is ops.STORE:
            reader.seen = []
            made = reader.read(instr) if instr.op is ops.NE else None if _repeated(leaf, shapes.root) else reader.written(instr)
            if made is not None and reader.stays(made.root, number) and reader.stays(made.condition, number) and reader.as_loaded(number):
                reader.found[id(instr)] = made
                reader.parts[id(instr)] = reader.seen
    while True:
        apart = _apart(reader)
        # What is written as bits is accessed as nothing else, and by one number.
        places: dict[int, set[tuple[int, int]]] = {}
        for access in reader.found.values():
            places.setdefault(access.array, set()).add((access.root, access.offset))
        wrong = {access.array for access in reader.found.values() if access.kind != READ and len(places[access.array]) > 1}
        written = {access.array for access in reader.found.values() if access.kind != READ}
        for leaf in leaves:
            instr = leaf.instr
            if instr.op in (ops.LOAD, ops.STORE) and instr.imm in written and id(instr) not in apart:
                wrong.add(instr.imm)
        if not wrong:
            shapes.apart = apart
            return reader.found
        reader.found = {key: access for key, access in reader.found.items() if access.array not in wrong}


def _repeated(leaf: Leaf, root: Bracket) -> bool:
    """Whether an instruction is in a loop inside of the one over lanes."""
    region = leaf.region
    while region.bracket is not root:
        if region.bracket.loop or region.parent is None:
            return True
        region = region.parent
    return False


def _apart(reader: _Reader) -> set[int]:
    """The ``id`` of all that serves accesses to bits only, with that of their ends."""
    apart = set(reader.found)
    candidates = {id(instr): instr for key in reader.found for instr in reader.parts[key]}
    asked = reader.shapes.asked() | reader.shapes.outside
    while True:
        more = [
            key
            for key, instr in candidates.items()
            if key not in apart and instr.dst not in asked and all(id(user) in apart for user in reader.users.get(instr.dst, []))
        ]
        if not more:
            return apart
        apart.update(more)


class Bitmaps(HandedOn):
    """What is emitted for accesses to bits.

    Attributes:
        bits_at: ``id`` of an instruction -> the access that it ends.
        start: the loop's first index, where it is known; 1 where it is not.
    """

    def __init__(self, f: Function, shapes: Divergence, lanes: int, width: int, has: Asked) -> None:
        super().__init__(f, shapes, lanes, width, has)
        self.bits_at: dict[int, BitAccess] = {}
        self.start = 1

    def pattern(self, name: str, element: Type, values: list[int]) -> int:
        """A constant vector."""
        data = b"".join([value.to_bytes(element.size, "little") for value in values])
        bytes_, full = vector_of(U8, len(data)), vector_of(element, len(values))
        loaded = self.define(ops.LOAD, bytes_, [self.f.const(I64, 0)], bytes_, VOID, self.table(name, (len(data),), data))
        return self.recast(full, loaded)

    def number(self, value: int) -> int:
        """A constant word."""
        return self.f.const(U64, value)

    def word(self, op: ops.Op, a: int, b: int) -> int:
        """An operation on words of 64 bits."""
        return self.define(op, U64, [a, b], U64)

    def as_word(self, value: int, source: Type = I64) -> int:
        return self.define(ops.CONVERT, U64, [value], U64, source)

    def read_bits(self, access: BitAccess) -> int:
        """The mask of the lanes whose bit is 1."""
        f = self.f
        held = f.register(U64, "bits", True)
        masked = self.begin_bits()
        if masked != NONE:
            self.out.append(Instr(ops.COPY, U64, held, [self.number(0)], 0, self.line))
            self.open_if(masked)
        indices, shift = self.bytes_of(access, masked)
        word = NONE
        for k, index in enumerate(indices[:8]):
            byte = self.as_word(self.define(ops.LOAD, U8, [index], U8, VOID, access.array), U8)
            word = byte if word == NONE else self.word(ops.OR, word, self.word(ops.SHL, byte, self.number(8 * k)))
        if shift != NONE:
            word = self.word(ops.SHR, word, shift)
        if len(indices) > 8:
            byte = self.as_word(self.define(ops.LOAD, U8, [indices[8]], U8, VOID, access.array), U8)
            word = self.word(ops.OR, word, self.word(ops.SHL, byte, self.word(ops.SUB, self.number(64), shift)))
        self.out.append(Instr(ops.COPY, U64, held, [word], 0, self.line))
        if masked != NONE:
            self.out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))
        return self.mask_of_word(held)

    def mask_of_word(self, word: int) -> int:
        """The mask of the lanes whose bit of a word is 1."""
        width, lanes = self.width, self.lanes
        element = UNSIGNED[width]
        full = vector_of(element, lanes)
        mine = self.pattern(f"bits of {lanes} by {width}", element, [1 << lane % width for lane in range(lanes)])
        if lanes <= width:
            narrow = word if width == 64 else self.define(ops.CONVERT, element, [word], element, U64)
            everywhere = self.define(ops.SPLAT, full, [narrow], full)
        else:
            # In each 128 bits there are all eight bytes: each lane takes those of which one has its bit.
            words = vector_of(U64, full.size // 8)
            bytes_ = vector_of(U8, full.size)
            size = element.size
            places = [lane // width * size + part for lane in range(lanes) for part in range(size)]
            given = self.recast(bytes_, self.define(ops.SPLAT, words, [word], words))
            everywhere = self.recast(
                full, self.define(ops.LOOKUP_BYTES, bytes_, [given, self.pattern(f"bytes of {lanes} by {width}", U8, places)], bytes_, bytes_)
            )
        met = self.define(ops.AND, full, [everywhere, mine], full)
        return self.define(ops.EQ, full, [met, mine], ops.mask_for(full))

    def write_bits(self, access: BitAccess) -> None:
        """Bits that become what a mask says, in the lanes that run."""
        holds = self.mask
        if access.condition != NONE:
            condition = self.mask_for(access.condition, self.width)
            holds = self.both(ops.ANDNOT, condition, self.mask) if access.inverted else self.both(ops.AND, condition, self.mask)
        masked = self.begin_bits()
        new = self.as_word(self.define(ops.MASK_BITS, self.mask_type, [holds], I64))
        old = new
        if access.kind == BECOMES:
            old = self.number((1 << self.lanes) - 1) if masked == NONE else self.as_word(masked)
        if masked != NONE:
            self.open_if(masked)
        indices, shift = self.bytes_of(access, masked)
        for k, index in enumerate(indices):
            ones = self.byte_of(new, k, shift)
            if access.kind == BECOMES and shift == NONE and masked == NONE and self.lanes % 8 == 0:
                self.out.append(Instr(ops.STORE, U8, NONE, [ones, index], access.array, self.line))
                continue
            byte = self.define(ops.LOAD, U8, [index], U8, VOID, access.array)
            if access.kind != SETS:
                gone = ones if access.kind == CLEARS else self.byte_of(old, k, shift)
                byte = self.define(ops.AND, U8, [byte, self.define(ops.NOT, U8, [gone], U8)], U8)
            if access.kind != CLEARS:
                byte = self.define(ops.OR, U8, [byte, ones], U8)
            self.out.append(Instr(ops.STORE, U8, NONE, [byte, index], access.array, self.line))
        if masked != NONE:
            self.out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))

    def byte_of(self, word: int, k: int, shift: int) -> int:
        """Byte ``k`` of a word that is moved up by a few bits."""
        if k == 8:
            moved = self.word(ops.SHR, word, self.word(ops.SUB, self.number(64), shift))
        else:
            moved = self.word(ops.SHL, word, shift) if shift != NONE else word
            moved = self.word(ops.SHR, moved, self.number(8 * k)) if k else moved
        return self.define(ops.CONVERT, U8, [moved], U8, U64)

    def begin_bits(self) -> int:
        """The lanes that run, as bits, where those are not all; NONE where they are."""
        if self.whole and self.mask == self.all:
            return NONE
        return self.define(ops.MASK_BITS, self.mask_type, [self.mask], I64)

    def open_if(self, bits: int) -> None:
        some = self.define(ops.NE, I64, [bits, self.f.const(I64, 0)], BOOL)
        self.out.append(Instr(ops.IF, VOID, NONE, [some], 0, self.line))

    def bytes_of(self, access: BitAccess, masked: int) -> tuple[list[int], int]:
        """The indices of the bytes with the lanes' bits, each of a byte that a lane which runs has a bit of, maybe one of them again; and by how many bits the first lane's is up, NONE for none."""
        f, lanes = self.f, self.lanes
        at = access.root
        if access.offset:
            at = self.scalar(ops.ADD, at, f.const(I64, access.offset))
        three = f.const(I64, 3)
        base = self.scalar(ops.SHR, at, three)
        begins = access.root == self.shapes.root.opener.dst and (self.start + access.offset) % 8 == 0
        shift = NONE
        if not (begins and lanes % 8 == 0):
            shift = self.as_word(self.scalar(ops.AND, at, f.const(I64, 7)))
        sure = (lanes + 7) // 8 if lanes >= 8 else 1
        count = sure if begins and (lanes % 8 == 0 or 8 % lanes == 0) else sure + 1
        indices = [self.scalar(ops.ADD, base, f.const(I64, k)) if k else base for k in range(sure)]
        if count > sure:
            indices.append(self.scalar(ops.SHR, self.scalar(ops.ADD, at, f.const(I64, lanes - 1)), three))
        if masked != NONE:
            first = self.scalar(ops.SHR, self.scalar(ops.ADD, at, self.define(ops.TRAILING_ZEROS, I64, [masked], I64)), three)
            highest = self.scalar(ops.SUB, f.const(I64, 63), self.define(ops.LEADING_ZEROS, I64, [masked], I64))
            last = self.scalar(ops.SHR, self.scalar(ops.ADD, at, highest), three)
            indices = [self.scalar(ops.MAX, self.scalar(ops.MIN, index, last), first) for index in indices]
        return indices, shift
