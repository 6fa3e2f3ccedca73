"""Elements in turn on x86-64: vectors dealt out of memory, and into it, by whole loads and stores and by permutations within 128 bits.

Memory is looked at as chunks of 128 bits. Of vectors with several chunks, chunk n of load number j is the one at ``n * count + j``: permutations then need
not cross from one to another, which takes longer (Intel optimization manual, "Processing array of structures").

Where a machine chooses lanes from two registers (AVX-512: VPERMT2; Intel SDM volume 2, "VPERMT2B", "VPERMT2W/D/Q/PS/PD"), vectors of more than 128 bits are
loaded and stored whole instead, and each part is put together from them by such choices, one less than there are vectors; of four and eight, several parts share the first of them.

Of three vectors, and of five and seven, the elements of one lie at different places of each chunk, as an odd number and a power of two have no divisor in
common: that many chunks blended have all of them, which one permutation puts in order. (So have whole vectors; those of three are chosen from all the same.)
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.ir.literals import words
from loopwright.ir.roles import address_at
from loopwright.targets.steps import Emit
from loopwright.targets.target import Rule, Use
from loopwright.targets.x86.assembler import M, lookup
from loopwright.targets.x86.operands import X86Assembler, load_chunks, store_chunks, width
from loopwright.targets.x86.registers import CODES, INTS, MASKS, VECTORS
from loopwright.types import I64, U8, UNSIGNED, VOID, Type, mask_of, vector_of

__all__ = [
    "blend_rule",
    "chunks_rule",
    "deal_as_it_lies",
    "deals",
    "literal",
    "literal_rule",
    "load_part",
    "numbers_type",
    "pattern_rule",
    "shuffle_rule",
    "store_parts",
    "stores_some",
]

_CHUNK: Final = 16
_NOWHERE: Final = 0x80
_STORES_SOME: Final = frozenset(ops.STORE_SOME.values())


class _Parts:
    """What is emitted for one access to elements in turn.

    Attributes:
        type_: of each vector; count: how many vectors.
        where: the operands of the address.
        apart: whether the chunks of a vector in memory are those of every such load, instead of next to each other: then elements come out in their order.
        pairs: whether chunks of two vectors are put together in registers, to be stored as one.
        some: of ``store_some`` the bytes of each chunk that are stored, as bits; else 0.
    """

    __slots__ = ("apart", "count", "emit", "f", "instr", "pairs", "some", "type_", "where")

    def __init__(self, f: Function, instr: Instr, emit: Emit, apart: bool = True, pairs: bool = False) -> None:
        self.apart = apart
        self.pairs = pairs
        self.f = f
        self.instr = instr
        self.emit = emit
        self.type_ = instr.type
        self.count = instr.op.parts
        self.some = instr.imm if instr.op in _STORES_SOME else 0
        self.where = instr.args[address_at(instr) :]

    # --- steps ------------------------------------------------------------------------------------------------

    def op(self, op: ops.Op, type_: Type, args: list[int], source: Type = VOID) -> int:
        made = self.f.register(type_)
        self.emit(Instr(op, type_, made, args, 0, self.instr.line, source))
        return made

    def of(self, bits: int) -> Type:
        """The vector's bits as unsigned lanes of a width."""
        return vector_of(UNSIGNED[bits], self.type_.size * 8 // bits)

    def cast(self, value: int, to: Type) -> int:
        """The same bits as another type."""
        given = self.f.type_of(value)
        return value if given is to else self.op(ops.BITCAST, to, [value], given)

    def zipped(self, bits: int, a: int, b: int, high: bool) -> int:
        type_ = self.of(bits)
        return self.op(ops.ZIP_HIGH if high else ops.ZIP_LOW, type_, [self.cast(a, type_), self.cast(b, type_)])

    def shuffled(self, type_: Type, value: int, pattern: list[int]) -> int:
        """Bytes of each chunk in another order, as ``type_``."""
        whole = int.from_bytes(bytes(pattern).ljust(_CHUNK, bytes([_NOWHERE])), "little")
        f = self.f
        return self.op(ops.SHUFFLE_BYTES, type_, [value, f.const(I64, whole & (1 << 64) - 1), f.const(I64, whole >> 64)], f.type_of(value))

    def ordered(self, value: int, order: list[int]) -> int:
        """Lanes of each chunk in another order."""
        size = self.type_.bits // 8
        type_ = self.of(self.type_.bits)
        return self.shuffled(type_, self.cast(value, type_), [lane * size + n for lane in order for n in range(size)])

    def blended(self, a: int, b: int, mask: int) -> int:
        """b where the mask has a 1, a elsewhere: of bytes by a mask in a register, which is made outside of loops."""
        if self.type_.bits == 8:
            return self.selected(a, b, _repeated(mask, _CHUNK, self.type_.lanes))
        return self.op(ops.BLEND, self.of(self.type_.bits), [a, b, self.f.const(I64, mask)])

    def pattern(self, bits: int, lanes: int) -> int:
        """The mask of lanes so wide that has these bits."""
        type_ = mask_of(bits, self.type_.size * 8 // bits)
        return self.op(ops.LANE_PATTERN, type_, [self.f.const(I64, lanes - (lanes >> 63 << 64))])

    def selected(self, a: int, b: int, lanes: int) -> int:
        """b in lanes that have a bit, a elsewhere."""
        return self.op(ops.SELECT, self.of(self.type_.bits), [self.pattern(self.type_.bits, lanes), b, a])

    # --- memory -----------------------------------------------------------------------------------------------

    def mem(self, disp: int, size: int) -> Mem:
        given = self.instr.mem
        assert given is not None
        return given.further(disp, size)

    def load(self, number: int) -> int:
        """Chunks ``number``, ``number + count``, …; or those that come next."""
        type_ = self.of(self.type_.bits)
        made = self.f.register(type_)
        if not self.apart:
            self.emit(Instr(ops.LOAD_AT, type_, made, list(self.where), 0, self.instr.line, VOID, self.mem(type_.size * number, type_.size)))
            return made
        self.emit(Instr(ops.LOAD_CHUNKS_AT, type_, made, list(self.where), _CHUNK * self.count, self.instr.line, VOID, self.mem(_CHUNK * number, type_.size)))
        return made

    def store(self, vectors: list[int]) -> None:
        """Store what is in memory chunk by chunk of each vector in turn; or the vectors one behind the other."""
        type_ = self.of(self.type_.bits)
        vectors = [self.cast(vector, type_) for vector in vectors]
        if self.apart and self.pairs:
            # Chunk n of the memory is number n // count of vector n % count.
            chosen = [(n % self.count, n // self.count) for n in range(2 * self.count)]
            vectors = [
                self.op(ops.CHOOSE_CHUNKS, type_, [vectors[a], vectors[b], self.f.const(I64, m | (n + 2) << 4)])
                for (a, m), (b, n) in zip(chosen[::2], chosen[1::2], strict=True)
            ]
        for number, vector in enumerate(vectors):
            if self.apart and not self.pairs and not self.some:
                op, step, mem = ops.STORE_CHUNKS_AT, _CHUNK * self.count, self.mem(_CHUNK * number, type_.size)
            else:
                self.put(type_, vector, number)
                continue
            self.emit(Instr(op, type_, NONE, [vector, *self.where], step, self.instr.line, VOID, mem))

    def put(self, type_: Type, vector: int, number: int) -> None:
        """Store a vector as it lies in memory; of ``store_some`` those of its bytes that are to be."""
        line, mem = self.instr.line, self.mem(type_.size * number, type_.size)
        if not self.some:
            self.emit(Instr(ops.STORE_AT, type_, NONE, [vector, *self.where], 0, line, VOID, mem))
            return
        size = type_.bits // 8
        lanes = [self.some >> at & (1 << size) - 1 for at in range(0, _CHUNK, size)]
        if any(bits and bits != (1 << size) - 1 for bits in lanes):
            bytes_ = vector_of(U8, type_.size)
            vector, type_, lanes = self.cast(vector, bytes_), bytes_, [self.some >> n & 1 for n in range(_CHUNK)]
        mask = self.pattern(type_.bits, _repeated(sum(1 << n for n, bits in enumerate(lanes) if bits), len(lanes), type_.lanes))
        self.emit(Instr(ops.MASKED_STORE_AT, type_, NONE, [mask, vector, *self.where], 0, line, VOID, mem))

    # --- whole chunks -----------------------------------------------------------------------------------------

    def dealt_out(self, part: int) -> int:
        """One of the vectors."""
        bits = self.type_.bits
        lanes = 8 * _CHUNK // bits
        if self.count & 1:
            total = NONE
            for j in range(self.count):
                places = _lying(self.count, lanes, j, part)
                if places:
                    total = self.load(j) if total == NONE else self.blended(total, self.load(j), places)
            return self.ordered(total, [(self.count * n + part) % lanes for n in range(lanes)])
        if self.count == 2:
            first, second = self.load(0), self.load(1)
            if bits >= 32:
                return self.op(ops.UNZIP_ODD if part else ops.UNZIP_EVEN, self.of(bits), [first, second])
            return self.zipped(64, self.grouped(first), self.grouped(second), part == 1)
        if bits == 64:
            return self.zipped(64, self.load(part // 2), self.load(part // 2 + 2), part & 1 == 1)
        words = [self.load(j) if bits == 32 else self.grouped(self.load(j)) for j in range(4)]
        halves = [self.zipped(32, words[j], words[j + 1], part >= 2) for j in (0, 2)]
        return self.zipped(64, halves[0], halves[1], part & 1 == 1)

    def grouped(self, value: int) -> int:
        """The elements of each vector next to each other in every chunk."""
        lanes = 8 * _CHUNK // self.type_.bits
        return self.ordered(value, [n for part in range(self.count) for n in range(part, lanes, self.count)])

    def put_together(self, values: list[int]) -> None:
        """Store all vectors."""
        bits = self.type_.bits
        lanes = 8 * _CHUNK // bits
        if self.count & 1:
            spread = [self.ordered(value, _spread(self.count, lanes, part)) for part, value in enumerate(values)]
            made = []
            for j in range(self.count):
                total = NONE
                for part, value in enumerate(spread):
                    places = _lying(self.count, lanes, j, part)
                    if places:
                        total = value if total == NONE else self.blended(total, value, places)
                made.append(total)
            self.store(made)
        elif self.count == 2:
            self.store([self.zipped(bits, values[0], values[1], high) for high in (False, True)])
        elif bits == 64:
            self.store([self.zipped(64, values[2 * (j & 1)], values[2 * (j & 1) + 1], j >= 2) for j in range(4)])
        else:
            made = []
            for half in range(2):
                pairs = [self.zipped(bits, values[n], values[n + 1], half == 1) for n in (0, 2)]
                made += [self.zipped(2 * bits, pairs[0], pairs[1], high) for high in (False, True)]
            self.store(made)

    # --- whole vectors -----------------------------------------------------------------------------------------

    def numbers(self, lanes: list[int]) -> int:
        """A constant vector of lane numbers."""
        return literal(self.f, self.of(self.type_.bits), lanes, self.instr.line, self.emit)

    def chosen(self, a: int, b: int, lanes: list[int]) -> int:
        """Lanes of two vectors by their numbers, those of the second behind those of the first."""
        type_ = self.of(self.type_.bits)
        return self.op(ops.LOOKUP_PAIR, type_, [self.cast(a, type_), self.cast(b, type_), self.numbers(lanes)], type_)

    def gathered(self, vectors: list[int], places: list[tuple[int, int]]) -> int:
        """A vector of lanes of others: in which vector each is, and which of it."""
        lanes = self.type_.lanes
        total = vectors[places[0][0]]
        where = [n for _, n in places]
        seen = {places[0][0]}
        done = [v in seen for v, _ in places]
        for number, vector in enumerate(vectors):
            if number in seen or all(v != number for v, _ in places):
                continue
            total = self.chosen(total, vector, [(where[k] if done[k] else 0) if v != number else lanes + n for k, (v, n) in enumerate(places)])
            # From here on what has been chosen is in its place.
            done = [done[k] or v == number for k, (v, _) in enumerate(places)]
            where = list(range(lanes))
        return total

    def whole_part(self, part: int) -> int:
        """One of the vectors."""
        type_ = self.of(self.type_.bits)
        vectors: list[int] = []
        for number in range(self.count):
            made = self.f.register(type_)
            self.emit(Instr(ops.LOAD_AT, type_, made, list(self.where), 0, self.instr.line, VOID, self.mem(number * type_.size, type_.size)))
            vectors.append(made)
        return self.taken(vectors, part)

    def taken(self, vectors: list[int], part: int) -> int:
        """The elements of one part of those that lie in vectors in turn: of an even number those of every second part first, two by two, which other parts share."""
        count = len(vectors)
        lanes = self.type_.lanes
        if count == 1:
            return vectors[0]
        if count & 1 == 0:
            order = [2 * n + (part & 1) for n in range(lanes)]
            return self.taken([self.chosen(vectors[at], vectors[at + 1], order) for at in range(0, count, 2)], part // 2)
        if count == 3:
            return self.gathered(vectors, [divmod(count * n + part, lanes) for n in range(lanes)])
        total = NONE
        for number, vector in enumerate(vectors):
            places = _lying(count, lanes, number, part)
            if places:
                total = vector if total == NONE else self.selected(total, vector, places)
        return self.numbered(total, [(count * n + part) % lanes for n in range(lanes)])

    def in_turn(self, values: list[int]) -> list[int]:
        """Vectors whose elements are those of some values in turn."""
        count = len(values)
        lanes = self.type_.lanes
        if count == 1:
            return values
        if count & 1 == 0:
            even, odd = self.in_turn(values[::2]), self.in_turn(values[1::2])
            orders = [[first + n + other * lanes for n in range(lanes // 2) for other in range(2)] for first in (0, lanes // 2)]
            return [self.chosen(even[number // 2], odd[number // 2], orders[number & 1]) for number in range(count)]
        if count == 3:
            return [self.gathered(values, [((number * lanes + n) % count, (number * lanes + n) // count) for n in range(lanes)]) for number in range(count)]
        spread = [self.numbered(value, _spread(count, lanes, part)) for part, value in enumerate(values)]
        made = []
        for number in range(count):
            total = NONE
            for part, value in enumerate(spread):
                own = _lying(count, lanes, number, part)
                if own:
                    total = value if total == NONE else self.selected(total, value, own)
            made.append(total)
        return made

    def numbered(self, value: int, lanes: list[int]) -> int:
        """Lanes of a vector by their numbers."""
        type_ = self.of(self.type_.bits)
        return self.op(ops.LOOKUP_LANES, type_, [self.cast(value, type_), self.numbers(lanes)], type_)

    def store_whole(self, values: list[int]) -> None:
        """Store all vectors."""
        type_ = self.of(self.type_.bits)
        for number, vector in enumerate(self.in_turn(values)):
            self.put(type_, vector, number)

    # --- less than a chunk a vector ---------------------------------------------------------------------------

    def pieces(self) -> tuple[int, list[int]]:
        """How many bytes are accessed at once, and where: at the beginning, and so that they end where the elements do."""
        total = self.count * self.type_.size
        size = 1 << min(total, _CHUNK).bit_length() - 1
        return size, [0] if size == total else [0, total - size]

    def small_part(self, part: int) -> int:
        """One of the vectors."""
        size, places = self.pieces()
        piece = vector_of(U8, size)
        element = self.type_.bits // 8
        result = vector_of(U8, self.type_.size)
        sources = [((n // element) * self.count + part) * element + n % element for n in range(self.type_.size)]
        total = -1
        for k, at in enumerate(places):
            pattern = [s - at if (s < size) == (k == 0) else _NOWHERE for s in sources]
            if all(p == _NOWHERE for p in pattern):
                continue
            loaded = self.f.register(piece)
            self.emit(Instr(ops.LOAD_AT, piece, loaded, list(self.where), 0, self.instr.line, VOID, self.mem(at, size)))
            found = self.shuffled(result, loaded, pattern)
            total = found if total < 0 else self.op(ops.OR, result, [total, found])
        return total

    def store_small(self, values: list[int]) -> None:
        """Store all vectors."""
        size, places = self.pieces()
        piece, given = vector_of(U8, size), vector_of(U8, self.type_.size)
        element = self.type_.bits // 8
        values = [self.cast(value, given) for value in values]
        for at in places:
            total = -1
            for part, value in enumerate(values):
                pattern = [_NOWHERE] * size
                for n in range(size):
                    number, rest = divmod(at + n, element)
                    if number % self.count == part:
                        pattern[n] = number // self.count * element + rest
                found = self.shuffled(piece, value, pattern)
                total = found if total < 0 else self.op(ops.OR, piece, [total, found])
            self.emit(Instr(ops.STORE_AT, piece, NONE, [total, *self.where], 0, self.instr.line, VOID, self.mem(at, size)))


def numbers_type(type_: Type) -> Type:
    """The unsigned lanes that are as many and as wide."""
    return vector_of(UNSIGNED[type_.bits], type_.lanes)


def literal(f: Function, type_: Type, lanes: list[int], line: int, emit: Emit) -> int:
    """A constant vector of unsigned numbers."""
    made = f.register(type_)
    emit(Instr(ops.LITERAL, type_, made, words(f, type_, lanes), 0, line))
    return made


def _lying(count: int, lanes: int, vector: int, part: int) -> int:
    """Where in one of so many vectors in memory, or in a chunk of it, of so many lanes, elements of a part are, as bits."""
    return sum(1 << n for n in range(lanes) if (lanes * vector + n) % count == part)


def _spread(count: int, lanes: int, part: int) -> list[int]:
    """By the place where it is in one of them, the number of an element of a part: of an odd number of vectors they are all at different ones."""
    order = [0] * lanes
    for n in range(lanes):
        order[(count * n + part) % lanes] = n
    return order


def _repeated(mask: int, length: int, lanes: int) -> int:
    """Bits of a chunk's lanes, for all lanes of a vector."""
    return sum((mask & (1 << length) - 1) << n for n in range(0, lanes, length))


def deals(target: Any, type_: Type, count: int) -> bool:
    """Whether elements are dealt out to so many vectors of a type, and stored from them."""
    if type_.lanes < 2:
        return False
    if count <= 4:
        return type_.size >= 2
    if count & 1:
        return type_.size >= _CHUNK
    return _chooses(target, type_)


def _chooses(target: Any, type_: Type) -> bool:
    """Whether lanes of two vectors are chosen by one instruction, and vectors have several chunks."""
    if type_.size <= _CHUNK or not target.mask_registers:
        return False
    return type_.bits > 8 or "avx512vbmi" in target.features


def load_part(target: Any, f: Function, instr: Instr, emit: Emit) -> bool:
    """``load_part2`` to ``load_part8``; what several of them load is shared."""
    if instr.type.size < 2 or instr.type.lanes < 2:
        return False
    parts = _Parts(f, instr, emit)
    if _chooses(target, instr.type):
        made = parts.whole_part(instr.imm)
    else:
        made = parts.dealt_out(instr.imm) if instr.type.size >= _CHUNK else parts.small_part(instr.imm)
    _result(f, instr, emit, made)
    return True


def _result(f: Function, instr: Instr, emit: Emit, made: int) -> None:
    """What has been made, as the instruction's result."""
    given = f.type_of(made)
    emit(Instr(ops.COPY if given is instr.type else ops.BITCAST, instr.type, instr.dst, [made], 0, instr.line, VOID if given is instr.type else given))


def deal_as_it_lies(f: Function, instr: Instr, emit: Emit) -> None:
    """A load or store of two or four vectors in turn, each of whole vectors in memory. Every chunk has all elements of some lanes.

    The lanes of all vectors then stand in one order, which depends on how many vectors there are alone; a store is the inverse of loads.
    """
    parts = _Parts(f, instr, emit, False)
    if instr.dst >= 0:
        _result(f, instr, emit, parts.dealt_out(instr.imm))
    else:
        type_ = parts.of(instr.type.bits)
        parts.put_together([parts.cast(value, type_) for value in instr.args[: parts.count]])


def stores_some(target: Any, type_: Type) -> bool:
    """Whether vectors of a type are stored whole, under masks of their bytes."""
    return target.mask_registers and (type_.size == _CHUNK or _chooses(target, type_))


def store_parts(target: Any, f: Function, instr: Instr, emit: Emit) -> bool:
    """``store_parts2`` to ``store_parts8``, and ``store_some``."""
    if instr.type.size < 2 or instr.type.lanes < 2 or (instr.op in _STORES_SOME and not stores_some(target, instr.type)):
        return False
    parts = _Parts(f, instr, emit, pairs=not target.mask_registers and instr.type.size == 2 * _CHUNK)
    values = instr.args[: parts.count]
    if instr.type.size < _CHUNK:
        parts.store_small(values)
    else:
        type_ = parts.of(instr.type.bits)
        values = [parts.cast(value, type_) for value in values]
        if parts.count == 1:
            parts.put(type_, values[0], 0)
        elif _chooses(target, instr.type):
            parts.store_whole(values)
        else:
            parts.put_together(values)
    return True


# --- rules -------------------------------------------------------------------------------------------------------


def shuffle_rule(target: Any, instr: Instr) -> Rule | None:
    """VPSHUFB by a constant in memory."""
    largest = max(instr.type.size, instr.source.size)
    if largest > _CHUNK and instr.type.size != instr.source.size:
        return None
    return Rule("shuffle_bytes", (Use(VECTORS), Use(INTS), Use(INTS)), Use(VECTORS), _shuffle)


def _shuffle(asm: X86Assembler, f: Function, instr: Instr) -> None:
    value, low, high = instr.args
    pattern = b"".join((int(f.const_values[~half]) & (1 << 64) - 1).to_bytes(8, "little") for half in (low, high))
    size = max(instr.type.size, _CHUNK)
    shape = {16: "xmm", 32: "ymm", 64: "zmm"}[size]
    form = lookup("VPSHUFB", f"{shape},{shape},m{8 * size}")
    asm.emit(form, (CODES[instr.dst], CODES[value]), asm.constant(pattern * (size // _CHUNK)), line=instr.line)


def blend_rule(target: Any, instr: Instr) -> Rule | None:
    """VPBLENDD and VPBLENDW by an immediate; with more than 16 registers VPTERNLOGD by a constant."""
    if instr.type.size < _CHUNK or instr.type.bits == 8:
        return None
    if target.mask_registers:
        return Rule("blend", (Use(VECTORS), Use(VECTORS, late=True), Use(INTS)), Use(VECTORS), _ternary, tied=0)
    return Rule("blend", (Use(VECTORS), Use(VECTORS), Use(INTS)), Use(VECTORS), _blend)


def pattern_rule(target: Any, instr: Instr) -> Rule | None:
    """A constant."""
    if instr.type.lanes * instr.type.bits < 8 * _CHUNK:
        return None
    if target.mask_registers:
        return Rule("lane_pattern", (Use(INTS),), Use(MASKS), _pattern_mask, temps=(INTS,))
    return Rule("lane_pattern", (Use(INTS),), Use(VECTORS), _pattern)


def first_lanes_rule(target: Any, instr: Instr) -> Rule | None:
    """A constant: ``lane_mask`` of two that are known."""
    if target.mask_registers:
        return Rule("lane_mask", (Use(INTS), Use(INTS)), Use(MASKS), _first_lanes_mask, temps=(INTS,))
    return Rule("lane_mask", (Use(INTS), Use(INTS)), Use(VECTORS), _first_lanes)


def _known_lanes(f: Function, instr: Instr) -> int:
    first, behind = (int(f.const_values[~a]) for a in instr.args[:2])
    return min(max(behind - first, 0), instr.type.lanes)


def _first_lanes_mask(asm: X86Assembler, f: Function, instr: Instr) -> None:
    _mask_of(asm, instr, (1 << _known_lanes(f, instr)) - 1)


def _first_lanes(asm: X86Assembler, f: Function, instr: Instr) -> None:
    size = max(instr.type.lanes * instr.type.bits // 8, _CHUNK)
    ones = _known_lanes(f, instr) * instr.type.bits // 8
    asm.emit(lookup("VMOVUPS", f"{width(instr.type)},m{8 * size}"), (CODES[instr.dst],), asm.constant(b"\xff" * ones + b"\0" * (size - ones)), line=instr.line)


def literal_rule(target: Any, instr: Instr) -> Rule | None:
    """A load of the constant."""
    if instr.type.size < _CHUNK:
        return None
    return Rule("literal", (Use(INTS),) * 8, Use(VECTORS), _literal)


def _literal(asm: X86Assembler, f: Function, instr: Instr) -> None:
    size = instr.type.size
    data = b"".join((int(f.const_values[~word]) & (1 << 64) - 1).to_bytes(8, "little") for word in instr.args)
    asm.emit(lookup("VMOVUPS", f"{width(instr.type)},m{8 * size}"), (CODES[instr.dst],), asm.constant(data[:size]), line=instr.line)


def _pattern_mask(asm: X86Assembler, f: Function, instr: Instr) -> None:
    _mask_of(asm, instr, int(f.const_values[~instr.args[0]]) & (1 << instr.type.lanes) - 1)


def _mask_of(asm: X86Assembler, instr: Instr, bits: int) -> None:
    """A constant in a mask register, by way of the last operand."""
    t = CODES[instr.args[-1]]
    if bits >> 31:
        asm.emit(lookup("MOVABS", "r64,imm64"), (t,), None, bits - (1 << 64) if bits >> 63 else bits, line=instr.line)
    else:
        asm.emit(lookup("MOV", "r32,imm32"), (t,), None, bits, line=instr.line)
    asm.emit(lookup("KMOVQ", "k,r64"), (CODES[instr.dst], t), line=instr.line)


def _pattern(asm: X86Assembler, f: Function, instr: Instr) -> None:
    size = instr.type.lanes * instr.type.bits // 8
    shape = width(instr.type)
    asm.emit(lookup("VMOVUPS", f"{shape},m{8 * size}"), (CODES[instr.dst],), asm.constant(_ones(f, instr.args[0], instr.type.bits, size)), line=instr.line)


def _ones(f: Function, constant: int, bits: int, length: int) -> bytes:
    """A constant as so many bytes, ones in lanes that it has bits for."""
    mask = int(f.const_values[~constant])
    return b"".join((b"\xff" if mask >> n & 1 else b"\0") * (bits // 8) for n in range(8 * length // bits))


def _ternary(asm: X86Assembler, f: Function, instr: Instr) -> None:
    """b where the constant's bit is 1, a elsewhere: 0xd8 of (a, b, constant)."""
    shape = width(instr.type)
    form = lookup("VPTERNLOGD", f"{shape},{shape},m{8 * instr.type.size},imm8")
    asm.emit(
        form,
        (CODES[instr.dst], CODES[instr.args[1]]),
        asm.constant(_ones(f, instr.args[2], instr.type.bits, _CHUNK) * (instr.type.size // _CHUNK)),
        0xD8,
        line=instr.line,
    )


def _blend(asm: X86Assembler, f: Function, instr: Instr) -> None:
    d, a, b = CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]]
    bits, line = instr.type.bits, instr.line
    shape = width(instr.type)
    mask = int(f.const_values[~instr.args[2]])
    if bits == 16:
        asm.emit(lookup("VPBLENDW", f"{shape},{shape},{shape},imm8"), (d, a, b), None, mask & 0xFF, line=line)
        return
    words = bits // 32
    chunk = sum(1 << n for n in range(4) if mask >> n // words & 1)
    asm.emit(lookup("VPBLENDD", f"{shape},{shape},{shape},imm8"), (d, a, b), None, chunk | (chunk << 4 if shape == "ymm" else 0), line=line)


def choose_rule(target: Any, instr: Instr) -> Rule | None:
    """VPERM2I128; VPBLENDD where the chunks stay in their places."""
    if target.mask_registers or instr.type.size != 2 * _CHUNK:
        return None
    return Rule("choose_chunks", (Use(VECTORS), Use(VECTORS), Use(INTS)), Use(VECTORS), _choose)


def _choose(asm: X86Assembler, f: Function, instr: Instr) -> None:
    codes = (CODES[instr.dst], CODES[instr.args[0]], CODES[instr.args[1]])
    chunks = int(f.const_values[~instr.args[2]])
    if chunks == 0x30:
        asm.emit(lookup("VPBLENDD", "ymm,ymm,ymm,imm8"), codes, None, 0xF0, line=instr.line)
    else:
        asm.emit(lookup("VPERM2I128", "ymm,ymm,ymm,imm8"), codes, None, chunks, line=instr.line)


def chunks_rule(target: Any, instr: Instr) -> Rule | None:
    """Chunks one by one, those of a load into their places."""
    mem = instr.mem
    if mem is None or instr.type.size < _CHUNK:
        return None
    where = (Use(INTS),) * (2 if mem.indexed else 1)
    if instr.op is ops.LOAD_CHUNKS_AT:
        return Rule("load_chunks", where, Use(VECTORS), _load_chunks)
    return Rule("store_chunks", (Use(VECTORS), *where), None, _store_chunks)


def _places(asm: X86Assembler, instr: Instr, first: int) -> list[M]:
    return [asm.place(instr, first, number * instr.imm) for number in range(instr.type.size // _CHUNK)]


def _load_chunks(asm: X86Assembler, f: Function, instr: Instr) -> None:
    load_chunks(asm, instr, _places(asm, instr, 0))


def _store_chunks(asm: X86Assembler, f: Function, instr: Instr) -> None:
    store_chunks(asm, instr, _places(asm, instr, 1))
