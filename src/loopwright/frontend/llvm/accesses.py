"""Instructions on memory: loads, stores, addresses, memory of the frame; and constants that are addresses."""

from __future__ import annotations

from typing import Final

from loopwright.frontend.llvm import arithmetic
from loopwright.frontend.llvm.abi import Abi
from loopwright.frontend.llvm.aggregates import AggregateWriter, in_parts, leaves
from loopwright.frontend.llvm.syntax import EXPRESSION, NUMBER, Constant, Instruction, LlvmModule
from loopwright.frontend.llvm.types import ARRAY, INTEGER, STRUCT, VECTOR, Layout, LlvmType, is_wide, words
from loopwright.ir import ops
from loopwright.ir.function import LOCAL_LEAST, MOST_ALIGNED, MOST_LOCAL, Callee, Function, Global, Instr, Mem
from loopwright.types import BOOL, I32, I64, PTR, U8, U16, U32, U64, VOID, Type

__all__ = ["AccessWriter", "Place", "address_of"]

#: The integer of so many bytes.
_PIECES: Final[dict[int, Type]] = {1: U8, 2: U16, 4: U32, 8: U64}
#: Sizes that an address multiplies its index by.
_SCALES: Final = (1, 2, 4, 8)
#: Up to so many bytes, copies and fillings of memory are made of single accesses.
_SHORT: Final = 64


def address_of(name: str) -> str:
    """The global that has the address of what is declared weak in it."""
    return f"__loopwright_address_of_{name}"


class Place:
    """An address in its parts: base + index * scale + disp. ``loop`` is the loop its registers are those of."""

    __slots__ = ("base", "disp", "index", "loop", "scale")

    def __init__(self, base: int, index: int | None, scale: int, disp: int, loop: int) -> None:
        self.base = base
        self.index = index
        self.scale = scale
        self.disp = disp
        self.loop = loop

    def args(self) -> list[int]:
        return [self.base] if self.index is None else [self.base, self.index]

    def mem(self, disp: int, size: int) -> Mem:
        """The shape of an access so many bytes further."""
        return Mem(self.index is not None, self.scale, self.disp + disp, size)


class AccessWriter(AggregateWriter):
    """Writes what has to do with memory.

    Attributes:
        layout: sizes of types.
        abi: what the machine asks for.
        alignment: of what the address of the access that is being made is a multiple; 0 for the size of what is accessed.
        places: addresses in their parts, by the name of the instruction that computes them.
        twice: a call in the function may return twice: what the program has in the frame is not to become variables, whose values would be those of the first time.
    """

    def __init__(self, f: Function, module: LlvmModule, layout: Layout, abi: Abi) -> None:
        super().__init__(f, module, layout)
        self.abi = abi
        self.twice = False
        self.alignment = 0
        self.places: dict[str, Place] = {}
        self._globals: dict[str, int] = {}
        self._callees: dict[tuple[str, ...], int] = {}

    def current_loop(self) -> int:
        """The loop that the next instruction is in."""
        return -1

    def around(self, loop: int) -> bool:
        """Whether the next instruction is in a loop."""
        return loop < 0

    # --- symbols --------------------------------------------------------------------------------------------------

    def symbol(self, name: str) -> int:
        module = self.module
        if name in module.aliases:
            return self.operand(module.aliases[name])
        if name in module.missing:
            return self.f.const(PTR, 0)
        if name in module.weak:
            # (Distances to what may be nowhere are not what the linker can fill in everywhere.)
            return self.emit(ops.LOAD_AT, PTR, [self.global_address(address_of(name))], mem=Mem(False, 1, 0, PTR.size))
        if name in module.functions:
            return self.emit(ops.FUNCTION, PTR, [self.f.const(I64, self.function_number(name))])
        if name in module.relative:
            self.unsupported(f"{name}, a table of distances, is read by llvm.load.relative only")
        return self.global_address(name)

    def global_address(self, name: str) -> int:
        """The address of a global variable."""
        number = self._globals.get(name)
        if number is None:
            number = self._globals[name] = len(self.f.globals)
            self.f.globals.append(Global(name))
        return self.emit(ops.GLOBAL, PTR, [self.f.const(I64, number)])

    def function_number(self, name: str) -> int:
        """The number of a function of the module among the callees."""
        raise NotImplementedError

    def callee(self, key: tuple[str, ...], made: Callee) -> int:
        """The number of a callee, which is added when it is new."""
        known = self._callees.get(key)
        if known is None:
            known = self._callees[key] = len(self.f.callees)
            self.f.callees.append(made)
        return known

    def expression(self, value: Constant) -> int:
        name = value.name
        if name == "getelementptr":
            place = self.element(value.source, value.parts)
            return self.address(place)
        parts = [self.operand(part) for part in value.parts]
        if len(parts) == 1:
            return arithmetic.cast(self, name, value.parts[0].type, value.type, parts[0])
        if len(parts) == 2 and value.type.kind == INTEGER and name != "icmp":
            return arithmetic.binary(self, name, value.type, parts[0], parts[1])
        if name == "icmp":
            return arithmetic.integer_comparison(self, value.data.decode(), *parts)
        self.unsupported(f"the constant expression {name} is not supported")

    # --- addresses ------------------------------------------------------------------------------------------------

    def place(self, value: Constant) -> Place:
        """The address that a pointer is, in parts that an access can take."""
        loop = self.current_loop()
        if value.kind == EXPRESSION and value.name == "getelementptr":
            return self.element(value.source, value.parts)
        known = self.places.get(value.name) if value.kind == 0 else None
        if known is not None and (known.loop == loop or (known.index is None and not self.f.variable[known.base] and self.around(known.loop))):
            # (What lies so far behind a pointer that a loop does not change needs no pointer of its own in it.)
            return known
        return Place(self.operand(value), None, 1, 0, loop)

    def address(self, place: Place, disp: int = 0) -> int:
        """The register of an address."""
        if place.index is None:
            whole = place.disp + disp
            return self.emit(ops.ADD, PTR, [place.base, self.f.const(I64, whole)]) if whole else place.base
        return self.emit(ops.ADDRESS, PTR, place.args(), mem=place.mem(disp, 0))

    def element(self, type_: LlvmType | None, operands: tuple[Constant, ...] | list[Constant]) -> Place:
        """What a getelementptr computes (LLVM Language Reference, "getelementptr Instruction")."""
        assert type_ is not None
        start = self.place(operands[0])
        base, index, scale, disp = start.base, start.index, start.scale, start.disp
        at = type_
        for position, value in enumerate(operands[1:]):
            if position and at.kind == STRUCT:
                field = int(value.number)
                disp += self.layout.offsets(at)[field]
                at = at.elements[field]
                continue
            if position:
                if at.kind not in (ARRAY, VECTOR):
                    self.unsupported(f"an element of {at!r}")
                at = at.elements[0]
            size = self.layout.size(at)
            if value.kind == NUMBER:
                disp += int(value.number) * size
                continue
            number = self.index(value)
            if number < 0:
                disp += int(self.f.const_values[~number]) * size
                continue
            if index is not None:
                base = self.emit(ops.ADDRESS, PTR, [base, index], mem=Mem(True, scale, 0))
            index, scale = number, size
            if size not in _SCALES:
                index, scale = self.emit(ops.MUL, I64, [number, self.f.const(I64, size)]), 1
        if not -(1 << 31) <= disp < 1 << 31:
            base, disp = self.emit(ops.ADD, PTR, [base, self.f.const(I64, disp)]), 0
        return Place(base, index, scale, disp, self.current_loop())

    def element_pointer(self, i: Instruction) -> int:
        place = self.element(i.source, i.operands)
        self.places[i.name] = place
        return self.address(place)

    # --- loads and stores -----------------------------------------------------------------------------------------

    def load_whole(self, type_: Type, place: Place, disp: int = 0) -> int:
        piece = self._piece(type_.size, disp)
        if piece < type_.size:
            bits = _PIECES[type_.size]
            return self._as(self.convert(self.joined(type_.size, place, disp), bits), type_)
        return self.emit(ops.LOAD_AT, type_, place.args(), mem=place.mem(disp, type_.size))

    def store_whole(self, operand: int, place: Place, disp: int = 0) -> None:
        type_ = self.f.type_of(operand)
        if self._piece(type_.size, disp) < type_.size:
            self._divided(self.convert(self._as(operand, _PIECES[type_.size]), U64), type_.size, place, disp)
            return
        self.put(ops.STORE_AT, type_, [operand, *place.args()], mem=place.mem(disp, type_.size))

    def _piece(self, size: int, disp: int) -> int:
        """The bytes of the largest access, of so many at most, that the machine makes so many bytes from the address."""
        if not self.abi.aligned or not self.alignment:
            return _largest(size)
        known = self.alignment | disp
        return min(_largest(size), known & -known)

    def _as(self, operand: int, type_: Type) -> int:
        """The bits of a value as another type of the same size."""
        of = self.f.type_of(operand)
        if of.is_float or type_.is_float:
            return self.emit(ops.BITCAST, type_, [operand], of)
        return self.convert(operand, type_)

    def load(self, type_: LlvmType, place: Place, disp: int = 0) -> list[int]:
        """What a value of a type in memory is."""
        if is_wide(type_) and type_.bits % 64:
            end = 8 * words(type_) - 8
            upper = self.convert(self.joined(self.layout.stored(type_) - end, place, disp + end), I64)
            spare = self.f.const(I64, 64 - type_.bits % 64)
            upper = self.emit(ops.SHR_MODULO, I64, [self.emit(ops.SHL_MODULO, I64, [upper, spare]), spare])
            return [*(self.load_whole(I64, place, disp + at) for at in range(0, end, 8)), upper]
        if in_parts(type_):
            return [self.load(leaf, place, disp + offset)[0] for leaf, offset in leaves(self.layout, type_)]
        held = self.type_of(type_)
        if held is BOOL:
            return [self.compare(ops.NE, U8, self.load_whole(U8, place, disp), self.f.const(U8, 0))]
        if type_.kind != INTEGER or type_.bits == held.bits:
            return [self.load_whole(held, place, disp)]
        return [self.signed(self.joined(self.layout.stored(type_), place, disp), type_)]

    def joined(self, size: int, place: Place, disp: int) -> int:
        """So many bytes as an integer."""
        made, at = -1, 0
        while at < size:
            piece = self._piece(size - at, disp + at)
            part = self.convert(self.load_whole(_PIECES[piece], place, disp + at), U64)
            if at:
                part = self.emit(ops.OR, U64, [made, self.emit(ops.SHL_MODULO, U64, [part, self.f.const(U64, 8 * at)])])
            made = part
            at += piece
        return made

    def store(self, type_: LlvmType, operands: list[int], place: Place, disp: int = 0) -> None:
        """Put a value of a type into memory."""
        if is_wide(type_) and type_.bits % 64:
            end = 8 * words(type_) - 8
            for at in range(0, end, 8):
                self.store_whole(operands[at // 8], place, disp + at)
            upper = self.emit(ops.AND, I64, [operands[-1], self.f.const(I64, (1 << type_.bits % 64) - 1)])
            self._divided(self.convert(upper, U64), self.layout.stored(type_) - end, place, disp + end)
            return
        if in_parts(type_):
            for (leaf, offset), operand in zip(leaves(self.layout, type_), operands, strict=True):
                self.store(leaf, [operand], place, disp + offset)
            return
        operand = operands[0]
        held = self.type_of(type_)
        if held is BOOL:
            self.store_whole(self.convert(operand, U8), place, disp)
        elif type_.kind != INTEGER or type_.bits == held.bits:
            self.store_whole(operand, place, disp)
        else:
            self._divided(self.convert(self.unsigned(operand, type_), U64), self.layout.stored(type_), place, disp)

    def _divided(self, operand: int, size: int, place: Place, disp: int) -> None:
        """The lower bytes of an integer, in as many pieces as it takes."""
        at = 0
        while at < size:
            piece = self._piece(size - at, disp + at)
            part = self.emit(ops.SHR_MODULO, U64, [operand, self.f.const(U64, 8 * at)]) if at else operand
            self.store_whole(self.convert(part, _PIECES[piece]), place, disp + at)
            at += piece

    # --- vectors --------------------------------------------------------------------------------------------------

    def bits_of(self, type_: LlvmType, operands: list[int]) -> int:
        """The bits of a vector of up to 64 bits, the first element lowest."""
        element = type_.elements[0]
        made = self.f.const(U64, 0)
        for number, operand in enumerate(operands):
            held = self.f.type_of(operand)
            if held.is_float:
                whole = self.emit(ops.BITCAST, _PIECES[held.size], [operand], held)
            else:
                whole = self.unsigned(self.convert(operand, I64) if held is PTR else operand, element)
            bits = self.convert(whole, U64)
            if number:
                moved = self.emit(ops.SHL_MODULO, U64, [bits, self.f.const(U64, number * self.layout.stored(element) * 8)])
                bits = self.emit(ops.OR, U64, [made, moved])
            made = bits
        return made

    def from_bits(self, type_: LlvmType, bits: int) -> list[int]:
        """The elements of a vector of up to 64 bits."""
        element = type_.elements[0]
        held = self.type_of(element)
        size = self.layout.stored(element)
        made: list[int] = []
        for number in range(type_.count):
            part = self.emit(ops.SHR_MODULO, U64, [bits, self.f.const(U64, number * size * 8)]) if number else bits
            if held.is_float:
                made.append(self.emit(ops.BITCAST, held, [self.convert(part, _PIECES[size])], _PIECES[size]))
            else:
                made.append(self.convert(part, PTR) if held is PTR else self.signed(part, element))
        return made

    # --- order ------------------------------------------------------------------------------------------------------

    def fence(self, i: Instruction) -> list[int]:
        """Accesses stay in front or behind; other threads see them so, too.

        What x86-64 reorders none but ``seq_cst`` minds (Intel SDM volume 3, "Memory Ordering"). For the others C's ``sched_yield`` is called: the IR has no fence, and Linux has a full
        barrier behind the entry to its scheduler (``smp_mb__after_spinlock`` in ``__schedule``, where ``membarrier`` relies on it).
        """
        self.put(ops.BARRIER, VOID, [])
        seen = "singlethread" not in i.flags and not self.abi.alone
        if seen and (i.detail == "seq_cst" or not self.module.triple.startswith("x86_64")):
            self.emit(ops.CALL, I32, [], imm=self.callee(("sched_yield",), Callee("sched_yield", [], I32)))
        return []

    # --- memory of the frame ----------------------------------------------------------------------------------------

    def frame_memory(self, size: int, align: int, name: str) -> int:
        """The address of memory that is there until the function returns."""
        f = self.f
        if f.local_bytes() + size + 128 <= MOST_LOCAL and align <= LOCAL_LEAST:
            # (What has room for vectors may be filled and copied by them.)
            array = f.local_array(name, U8, (max(size, 1),), LOCAL_LEAST if size >= LOCAL_LEAST else max(align, 8))
            array.written = True
            number = len(f.arrays) - 1
            self.code.append(Instr(ops.LOCAL, PTR, array.base, [f.const(I64, number)], 0, self.line))
            return array.base
        return self.emit(ops.ALLOCA, PTR, [f.const(I64, size), f.const(I64, max(align, 16))])

    def alloca(self, i: Instruction, entry: bool) -> int:
        assert i.source is not None
        size = self.layout.size(i.source)
        align = max(i.numbers[0] if i.numbers else 1, self.layout.align(i.source))
        if align > MOST_ALIGNED:
            self.unsupported(f"memory of the frame at a multiple of {align} bytes: {MOST_ALIGNED} are supported")
        count = self.index(i.operands[0]) if i.operands else self.f.const(I64, 1)
        if count < 0 and entry and not self.twice:
            return self.frame_memory(size * int(self.f.const_values[~count]), align, i.name if not i.name.isdigit() else "")
        whole = self.emit(ops.MUL, I64, [count, self.f.const(I64, size)])
        return self.emit(ops.ALLOCA, PTR, [whole, self.f.const(I64, max(align, 16))])

    # --- copying and filling ----------------------------------------------------------------------------------------

    def copy_memory(self, to: Place, from_: Place, size: int) -> bool:
        """Copy a few bytes, which may overlap; False where they are too many for that."""
        if size > min(_SHORT, 16 * self._piece(8, 0)):
            return False
        read: list[tuple[int, int]] = []
        at = 0
        while at < size:
            piece = self._piece(size - at, at)
            read.append((self.load_whole(_PIECES[piece], from_, at), at))
            at += piece
        for operand, at in read:
            self.store_whole(operand, to, at)
        return True

    def fill_memory(self, to: Place, byte: int, size: int) -> bool:
        """Fill a few bytes with one that is a constant; False where they are too many for that."""
        if size > min(_SHORT, 16 * self._piece(8, 0)) or byte >= 0:
            return False
        value = int(self.f.const_values[~byte]) & 255
        at = 0
        while at < size:
            piece = self._piece(size - at, at)
            self.store_whole(self.f.const(_PIECES[piece], value * (0x0101010101010101 & (1 << 8 * piece) - 1)), to, at)
            at += piece
        return True


def _largest(size: int) -> int:
    """The most bytes, of 8, 4, 2 and 1, that fit."""
    return 8 if size >= 8 else 4 if size >= 4 else 2 if size >= 2 else 1
