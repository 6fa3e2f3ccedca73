"""Copies of every type between every two places, constants, exchanges, loads and stores with every form of address."""

from __future__ import annotations

import struct

import pytest
from tests.targets.aarch64.state import Emit, Piece, needs_qemu, point, run, slots_of

from loopwright.ir import ops
from loopwright.ir.function import SLOT, Function, Instr, Mem
from loopwright.targets.aarch64 import moves
from loopwright.targets.aarch64.abi import AArch64Assembler
from loopwright.targets.aarch64.assembler import listing
from loopwright.targets.aarch64.registers import CODES, number
from loopwright.targets.target import scalar_integers
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, SCALARS, U8, U16, U32, U64, VOID, Type, mask_of, vector_of

INTEGERS = [t for t in SCALARS if scalar_integers(t) and t is not VOID]
VECTORS = [
    *(vector_of(I8, 2), vector_of(U8, 4), vector_of(I8, 8), vector_of(U8, 16), vector_of(U16, 2), vector_of(I16, 4), vector_of(I16, 8)),
    *(vector_of(I32, 2), vector_of(U32, 4), vector_of(I64, 2), vector_of(F32, 2), vector_of(F32, 4), vector_of(F64, 2)),
]
MASKS = [mask_of(8, 2), mask_of(8, 4), mask_of(16, 4), mask_of(8, 16), mask_of(32, 2), mask_of(32, 4), mask_of(64, 2)]
TYPES = [*INTEGERS, F32, F64, *VECTORS, *MASKS]


def held(type_: Type, value: bytes) -> bytes:
    """The bytes of a value in a register that mean something."""
    if scalar_integers(type_) and type_.bits < 32:
        return int.from_bytes(value, "little", signed=type_.signed).to_bytes(4, "little", signed=type_.signed)
    return value


def some_value(piece: Piece, type_: Type) -> bytes:
    """A random value of a type."""
    if type_ is BOOL:
        return bytes((piece.random.randrange(2),))
    if type_.is_mask:
        return b"".join(piece.random.choice((b"\0", b"\xff")) * (type_.bits // 8) for _ in range(type_.lanes))
    return piece.random.randbytes(moves.size_of(type_))


def copying(type_: Type, to: int, source: int) -> Emit:
    return lambda asm, f: moves.copy(asm, f, Instr(ops.COPY, type_, to, [source]))


def places_of(type_: Type) -> list[int]:
    """Registers of the type's class, of the other where such a copy is made, and slots."""
    ints, vectors = [number("x0"), number("x15"), number("x29")], [number("v0"), number("v8"), number("v31")]
    size = moves.size_of(type_)
    registers = ints if scalar_integers(type_) else vectors
    if size in (4, 8) and (scalar_integers(type_) or type_.is_float):
        registers = registers + [ints[1], vectors[1]]
    return registers + [SLOT + k for k, slot in enumerate(slots_of(1024)) if slot.size >= size]


@needs_qemu
@pytest.mark.parametrize("size", [1024, pytest.param(4 * 4096, marks=pytest.mark.slow), 1 << 15, 1 << 18])
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_copies_between_all_places(type_: Type, size: int) -> None:
    pieces, told = [], []
    places = places_of(type_)
    for source in places:
        for to in places:
            if size > 1024 and to < SLOT and source < SLOT:
                continue
            piece = Piece(f"{type_} {size}: {to} from {source}", copying(type_, to, source), slots_of(size), size, 48)
            value = held(type_, some_value(piece, type_))
            if source >= SLOT:
                piece.set_slot(source - SLOT, value)
            else:
                piece.set_register(source, value)
            pieces.append(piece)
            told.append((to, value))
    run(pieces)
    for piece, (to, value) in zip(pieces, told, strict=True):
        assert piece.bytes_after(to)[: len(value)] == value, piece.name
        assert piece.changed() <= {to}, piece.name


INTERESTING: dict[Type, list[int | float | bool]] = {
    BOOL: [False, True],
    F32: [0.0, -0.0, 1.0, -1.5, 31.0, 0.1, 1e30, float("inf"), float("nan"), 1e-45, 256.0],
    F64: [0.0, -0.0, 1.0, -1.5, 31.0, 0.1, 1e300, float("inf"), float("nan"), 5e-324, 256.0],
}


def constants_of(type_: Type) -> list[int | float | bool]:
    known = INTERESTING.get(type_.element)
    if known is not None:
        return known
    bits = type_.bits
    low = -(1 << (bits - 1)) if type_.signed else 0
    return [low, low + (1 << bits) - 1, 0, 1, 85, low + (1 << (bits - 1)) - 2, low + 0x1234567890ABCDEF % (1 << bits)]


def constant_value(type_: Type, value: int | float | bool) -> bytes:
    element = type_.element
    if type_.is_mask:
        lane = (b"\xff" if value else b"\0") * (type_.bits // 8)
    elif element.is_float:
        lane = struct.pack("<f" if element.bits == 32 else "<d", value)
    else:
        lane = int(value).to_bytes(element.bits // 8, "little", signed=element.signed)
    return held(type_, lane * max(type_.lanes, 1))


@needs_qemu
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_constants_into_all_places(type_: Type) -> None:
    pieces, told = [], []
    for size in (1024, 1 << 18):
        for to in places_of(type_):
            for value in constants_of(type_):

                def emit(asm: AArch64Assembler, f: Function, to: int = to, value: int | float | bool = value) -> None:
                    copying(type_, to, f.const(type_, value))(asm, f)

                pieces.append(Piece(f"{type_} {size}: {to} from {value}", emit, slots_of(size), size))
                told.append((to, constant_value(type_, value)))
    run(pieces)
    for piece, (to, data) in zip(pieces, told, strict=True):
        assert piece.bytes_after(to)[: len(data)] == data, piece.name
        assert piece.changed() <= {to}, piece.name


def text(emit: Emit, f: Function | None = None) -> list[str]:
    """The instructions that are emitted."""
    f = f if f is not None else Function("f", VOID)
    asm = AArch64Assembler(f)
    emit(asm, f)
    return [line for _, _, line, _ in listing(asm.encode())]


def test_common_moves_are_one_instruction() -> None:
    x1, x2, v1, v2 = number("x1"), number("x2"), number("v1"), number("v2")
    assert text(copying(I32, x1, x2)) == ["mov x1, x2"]
    assert text(copying(I32, x1, x1)) == []
    assert text(copying(F64, v1, v2)) == ["mov v1.16b, v2.16b"]
    f = Function("f", VOID)
    for type_, value in ((I32, -1), (I8, -2), (U8, 255), (I64, -1), (BOOL, True), (U64, 1 << 63), (U32, 0xFFFF0000)):
        assert len(text(copying(type_, x1, f.const(type_, value)), f)) == 1
    assert text(copying(F32, v1, f.const(F32, -0.0)), f) == ["movi v1.2s, #128, lsl #24"]
    assert len(text(copying(vector_of(F32, 4), v1, f.const(vector_of(F32, 4), 1.0)), f)) == 1
    assert len(text(copying(mask_of(32, 4), v1, f.const(mask_of(32, 4), True)), f)) == 1


@needs_qemu
def test_registers_are_exchanged_whole() -> None:
    pieces, told = [], []
    for type_, names in ((I32, "x0 x1"), (I64, "x29 x3"), (PTR, "x3 x3"), (F32, "v0 v31"), (F64, "v8 v9"), (vector_of(I8, 16), "v1 v2"), (MASKS[0], "v4 v4")):
        for first, second in (names.split(), reversed(names.split())):
            a, b = number(first), number(second)
            emit: Emit = lambda asm, f, t=type_, a=a, b=b: moves.swap(asm, f, Instr(ops.SWAP, t, -1, [a, b]))  # type: ignore[misc]
            pieces.append(Piece(f"swap {type_} {first} {second}", emit))
            told.append((a, b))
    run(pieces)
    for piece, (a, b) in zip(pieces, told, strict=True):
        size = 8 if piece.name.split()[2][0] == "x" else 16
        assert piece.bytes_after(a)[:size] == piece.bytes_before(b)[:size], piece.name
        assert piece.bytes_after(b)[:size] == piece.bytes_before(a)[:size], piece.name
        assert piece.changed() <= {a, b}


# --- memory --------------------------------------------------------------------------------------------------

BASE, INDEX, INT, VECTOR = number("x11"), number("x12"), number("x13"), number("v17")
#: Where in the memory the access is.
AT = 96


def displacements(size: int) -> list[int]:
    """On both sides of what has room."""
    top = 4095 * size
    found = [0, size, -size, 1, -1, 255, 256, 257, -256, -257, top - size, top, top + 1, top + size, 4096, 4096 + size, 0xFFFFF0, 0xFFFFFF, 1 << 24, -(1 << 24)]
    return sorted({*found, 0x12345678, -0x12345679})


def forms(size: int) -> list[tuple[Mem, int]]:
    """Addresses, and the index."""
    made = [(Mem(False, 1, disp, size), 0) for disp in displacements(size)]
    for scale in sorted({1, 2, size, 8}):
        for index in (0, 3, -5, 1 << 33, -(1 << 20)):
            made += [(Mem(True, scale, disp, size), index) for disp in (0, 8, 4 * size + 1, -256, 1 << 16, -(1 << 25) - 3)]
    return made


def pointing(mem: Mem, index: int) -> Emit:
    """Set-up so that the address is where the access shall be."""

    def emit(asm: AArch64Assembler, f: Function) -> None:
        point(CODES[BASE], AT - mem.disp - (index * mem.scale if mem.indexed else 0))(asm, f)
        asm.load_immediate(CODES[INDEX], index)

    return emit


@needs_qemu
@pytest.mark.parametrize("type_", [*INTEGERS, F32, F64, *VECTORS], ids=str)
def test_loads_from_every_address(type_: Type) -> None:
    to = INT if scalar_integers(type_) else VECTOR
    pieces = []
    for mem, index in forms(type_.size):
        for dst in (to, BASE, INDEX) if to == INT else (to,):
            instr = Instr(ops.LOAD_AT, type_, dst, [BASE, INDEX] if mem.indexed else [BASE], mem=mem)
            emit: Emit = lambda asm, f, instr=instr: moves.load(asm, f, instr)  # type: ignore[misc]
            pieces.append((Piece(f"{type_} {mem.indexed} {mem.scale} {mem.disp} {index} {dst}", emit, setup=pointing(mem, index)), dst))
    run([piece for piece, _ in pieces])
    for piece, dst in pieces:
        value = held(type_, piece.memory_before[AT : AT + type_.size])
        assert piece.bytes_after(dst)[: len(value)] == value, piece.name
        assert piece.changed() <= {dst, BASE, INDEX}
        assert piece.memory.tobytes() == piece.memory_before


@needs_qemu
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("type_", [*INTEGERS, F32, F64, *VECTORS], ids=str)
def test_stores_to_every_address(type_: Type, zero: bool) -> None:
    source = INT if scalar_integers(type_) else VECTOR
    pieces = []
    for mem, index in forms(type_.size):

        def emit(asm: AArch64Assembler, f: Function, mem: Mem = mem) -> None:
            value = f.const(type_, 0) if zero else source
            moves.store(asm, f, Instr(ops.STORE_AT, type_, -1, [value, BASE, INDEX] if mem.indexed else [value, BASE], mem=mem))

        pieces.append(Piece(f"{type_} {mem.indexed} {mem.scale} {mem.disp} {index}", emit, setup=pointing(mem, index)))
    run(pieces)
    for piece in pieces:
        want = bytearray(piece.memory_before)
        want[AT : AT + type_.size] = bytes(type_.size) if zero else piece.bytes_before(source)[: type_.size]
        assert piece.memory.tobytes() == bytes(want), piece.name
        assert piece.changed() <= {BASE, INDEX}


@needs_qemu
def test_addresses_of_every_form() -> None:
    pieces = []
    for mem, index in forms(4):
        for dst in (INT, BASE, INDEX):
            for whole in (False, True):

                def emit(asm: AArch64Assembler, f: Function, mem: Mem = mem, dst: int = dst, whole: bool = whole) -> None:
                    instr = Instr(ops.ADDRESS, PTR, dst, [BASE, INDEX] if mem.indexed else [BASE], mem=mem)
                    if whole:
                        found = moves.address_in_register(asm, instr, 0)
                        asm.move(CODES[dst], found)
                    else:
                        moves.address(asm, f, instr)
                    # Seen from what it points to.
                    moves.emit_load(asm, U64, CODES[dst], CODES[dst])

                pieces.append((Piece(f"{mem.indexed} {mem.scale} {mem.disp} {index} {dst} {whole}", emit, setup=pointing(mem, index)), dst))
    run([piece for piece, _ in pieces])
    for piece, dst in pieces:
        assert piece.bytes_after(dst)[:8] == piece.memory_before[AT : AT + 8], piece.name
        assert piece.changed() <= {dst, BASE, INDEX}, piece.name


@pytest.mark.parametrize("type_", [*INTEGERS, F32, F64, *VECTORS], ids=str)
def test_addresses_that_have_room_are_one_instruction(type_: Type) -> None:
    """Those are the ones that the target says it has."""
    size = type_.size
    register = INT if scalar_integers(type_) else VECTOR
    for mem in [
        *(Mem(False, 1, disp, size) for disp in (0, size, 4095 * size, -256, 255, 1, -1)),
        Mem(True, 1, 0, size),
        Mem(True, size, 0, size),
    ]:
        address = [BASE, INDEX] if mem.indexed else [BASE]
        assert len(text(lambda asm, f, mem=mem, address=address: moves.load(asm, f, Instr(ops.LOAD_AT, type_, register, address, mem=mem)))) == 1  # type: ignore[misc]
        stored = Instr(ops.STORE_AT, type_, -1, [register, *address], mem=mem)
        assert len(text(lambda asm, f, stored=stored: moves.store(asm, f, stored))) == 1  # type: ignore[misc]
        assert mem.indexed or moves.reaches(mem.disp, size)
    assert not moves.reaches(4096 * size, size) and not moves.reaches(-257, size) and (size == 1 or not moves.reaches(257, size))


# --- bits ----------------------------------------------------------------------------------------------------


@needs_qemu
def test_bits_as_another_type_of_the_same_size() -> None:
    pieces = []
    for source in (*INTEGERS, F32, F64, *VECTORS):
        for to in (*INTEGERS, F32, F64, *VECTORS):
            if moves.size_of(source) != moves.size_of(to) or (to is BOOL) != (source is BOOL):
                continue
            given, made = [r if scalar_integers(t) else v for t, r, v in ((source, INDEX, number("v3")), (to, INT, VECTOR))]
            instr = Instr(ops.BITCAST, to, made, [given], source=source)
            emit: Emit = lambda asm, f, instr=instr: moves.bitcast(asm, f, instr)  # type: ignore[misc]
            piece = Piece(f"{to} from {source}", emit)
            value = some_value(piece, source)
            piece.set_register(given, held(source, value))
            pieces.append((piece, made, held(to, value)))
    run([piece for piece, _, _ in pieces])
    for piece, made, value in pieces:
        assert piece.bytes_after(made)[: len(value)] == value, piece.name
        assert piece.changed() <= {made}, piece.name
