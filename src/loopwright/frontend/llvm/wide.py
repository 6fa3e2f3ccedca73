"""Integers of more than 64 bits: parts of 64, the lowest first, extended with the sign. C has them as `__int128`, and clang in sums it finds a formula for, and where it takes bit fields
together, of any width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.frontend.llvm.aggregates import AggregateWriter
from loopwright.frontend.llvm.syntax import Instruction
from loopwright.frontend.llvm.types import LlvmType, is_wide, named, words
from loopwright.ir import ops
from loopwright.ir.function import Mem
from loopwright.ir.ops import Op
from loopwright.types import BOOL, F32, F64, I32, I64, U64

__all__ = ["DIVISIONS", "DIVISION_BYTES", "WIDE", "concerns"]

Parts = tuple[int, int]


def concerns(i: Instruction) -> bool:
    """Whether an instruction computes with integers of so many bits."""
    return is_wide(i.type) or bool(i.operands and is_wide(i.operands[0].type))


def _both(w: AggregateWriter, i: Instruction) -> tuple[list[int], list[int]]:
    return w.parts(i.operands[0]), w.parts(i.operands[1])


def _pairs(w: AggregateWriter, i: Instruction) -> tuple[Parts, Parts]:
    """Operands of two parts each: what only integers of up to 128 bits have."""
    first, second = _both(w, i)
    if len(first) > 2:
        w.unsupported(f"{i.opcode} of integers of {i.operands[0].type.bits} bits is not supported, of up to 128 it is")
    return (first[0], first[1]), (second[0], second[1])


def _shifted(w: AggregateWriter, operand: int, places: int, left: bool, signed: bool = False) -> int:
    """A part moved by so many places (a register or constant), modulo 64."""
    if left:
        return w.emit(ops.SHL_MODULO, I64, [operand, places])
    if signed:
        return w.emit(ops.SHR_MODULO, I64, [operand, places])
    return w.convert(w.emit(ops.SHR_MODULO, U64, [w.convert(operand, U64), w.convert(places, U64)]), I64)


def _below(w: AggregateWriter, a: int, b: int) -> int:
    """Whether one part is below another, as unsigned."""
    return w.compare(ops.LT, U64, w.convert(a, U64), w.convert(b, U64))


def _wrapped(w: AggregateWriter, parts: list[int], bits: int) -> list[int]:
    """What an operation leaves, extended with the sign it has at its width."""
    spare = 64 * len(parts) - bits
    if not spare:
        return parts
    places = w.const(I64, spare)
    return [*parts[:-1], _shifted(w, _shifted(w, parts[-1], places, True), places, False, True)]


def _unsigned(w: AggregateWriter, parts: list[int], type_: LlvmType) -> list[int]:
    """The parts extended with zeros."""
    spare = 64 * len(parts) - type_.bits
    return [*parts[:-1], w.emit(ops.AND, I64, [parts[-1], w.const(I64, (1 << 64 - spare) - 1)])] if spare else parts


def _add(w: AggregateWriter, i: Instruction) -> list[int]:
    return _chain(w, i, ops.ADD)


def _sub(w: AggregateWriter, i: Instruction) -> list[int]:
    return _chain(w, i, ops.SUB)


def _chain(w: AggregateWriter, i: Instruction, op: Op) -> list[int]:
    """Part by part, with what goes over into the next."""
    made: list[int] = []
    over: int | None = None
    first, second = _both(w, i)
    for n, (a, b) in enumerate(zip(first, second, strict=True)):
        result = w.emit(op, I64, [a, b])
        last = n + 1 == len(first)
        goes = None if last else _below(w, result, a) if op is ops.ADD else _below(w, a, b)
        if over is not None:
            carried = w.convert(over, I64)
            whole = w.emit(op, I64, [result, carried])
            if goes is not None:
                goes = w.emit(ops.OR, BOOL, [goes, _below(w, whole, result) if op is ops.ADD else _below(w, result, carried)])
            result = whole
        made.append(result)
        over = goes
    return _wrapped(w, made, i.type.bits)


def _mul(w: AggregateWriter, i: Instruction) -> list[int]:
    (a, b), (c, d) = _pairs(w, i)
    high = w.convert(w.emit(ops.MUL_HIGH, U64, [w.convert(a, U64), w.convert(c, U64)]), I64)
    for x, y in ((a, d), (b, c)):
        high = w.emit(ops.ADD, I64, [high, w.emit(ops.MUL, I64, [x, y])])
    return _wrapped(w, [w.emit(ops.MUL, I64, [a, c]), high], i.type.bits)


#: The memory that a division takes for its quotient and its remainder.
DIVISION_BYTES: Final = 32
#: What divides: whether with signs, and where the result is.
DIVISIONS: Final[dict[str, tuple[bool, int]]] = {"udiv": (False, 0), "urem": (False, 16), "sdiv": (True, 0), "srem": (True, 16)}


def _divide(w: AggregateWriter, i: Instruction) -> list[int]:
    """By a routine without signs; the quotient of different signs is negative, and so is what is left of a negative number."""
    signed, at = DIVISIONS[i.opcode]
    given = [parts if signed else tuple(_unsigned(w, list(parts), i.type)) for parts in _pairs(w, i)]
    signs = [_shifted(w, high, w.const(I64, 63), False, True) for _, high in given]
    sizes = [_signed_by(w, low, high, sign) for (low, high), sign in zip(given, signs, strict=True)] if signed else given
    w.routine("divide", [*(w.convert(part, U64) for size in sizes for part in size), w.results_at])
    low, high = (w.emit(ops.LOAD_AT, I64, [w.results_at], mem=Mem(False, 1, at + offset, 8)) for offset in (0, 8))
    if signed:
        low, high = _signed_by(w, low, high, signs[0] if at else w.emit(ops.XOR, I64, signs))
    return _wrapped(w, [low, high], i.type.bits)


def _signed_by(w: AggregateWriter, low: int, high: int, sign: int) -> Parts:
    """A number, or what is as far from 0 on the other side where the sign is -1 and not 0."""
    a, b = w.emit(ops.XOR, I64, [low, sign]), w.emit(ops.XOR, I64, [high, sign])
    made = w.emit(ops.SUB, I64, [a, sign])
    # (The upper part changes by one more where the lower one is 0.)
    over = w.convert(_below(w, a, sign), I64)
    return made, w.emit(ops.SUB, I64, [w.emit(ops.SUB, I64, [b, sign]), over])


def _bitwise(w: AggregateWriter, i: Instruction) -> list[int]:
    op = {"and": ops.AND, "or": ops.OR, "xor": ops.XOR}[i.opcode]
    return [w.emit(op, I64, [a, b]) for a, b in zip(*_both(w, i), strict=True)]


def _shift(w: AggregateWriter, i: Instruction) -> list[int]:
    left, signed = i.opcode == "shl", i.opcode == "ashr"
    count = w.parts(i.operands[1])[0]
    parts = w.parts(i.operands[0])
    if not left and not signed:
        parts = _unsigned(w, parts, i.type)
    made = _shift_by(w, parts, int(w.f.const_values[~count]), left, signed) if count < 0 else _shift_along(w, i, parts, count, left, signed)
    return made if signed else _wrapped(w, made, i.type.bits)


def _shift_by(w: AggregateWriter, parts: list[int], places: int, left: bool, signed: bool) -> list[int]:
    """By a number that is known: whole parts, and what is left of it."""
    whole, rest = divmod(places, 64)
    beyond = _shifted(w, parts[-1], w.const(I64, 63), False, True) if signed else w.const(I64, 0)
    made: list[int] = []
    for n in range(len(parts)):
        near, far = (n - whole, n - whole - 1) if left else (n + whole, n + whole + 1)
        one, other = (parts[k] if 0 <= k < len(parts) else beyond for k in (near, far))
        if rest:
            top = near >= len(parts) - 1 and not left
            one = one if near >= len(parts) else _shifted(w, one, w.const(I64, rest), left, signed and top)
            if not top:
                one = w.emit(ops.OR, I64, [one, _shifted(w, other, w.const(I64, 64 - rest), not left)])
        made.append(one)
    return made


def _shift_along(w: AggregateWriter, i: Instruction, parts: list[int], count: int, left: bool, signed: bool) -> list[int]:
    """By less than 64 bits cross between two parts; from there on one part becomes the other."""
    _pairs(w, i)
    low, high = parts
    rest = w.emit(ops.XOR, I64, [w.emit(ops.AND, I64, [count, w.const(I64, 63)]), w.const(I64, 63)])
    one = w.const(I64, 1)
    if left:
        crossing = _shifted(w, _shifted(w, low, one, False), rest, False)
        near = (_shifted(w, low, count, True), w.emit(ops.OR, I64, [_shifted(w, high, count, True), crossing]))
        far = (w.const(I64, 0), near[0])
    else:
        crossing = _shifted(w, _shifted(w, high, one, True), rest, True)
        near = (w.emit(ops.OR, I64, [_shifted(w, low, count, False), crossing]), _shifted(w, high, count, False, signed))
        far = (near[1], _shifted(w, high, w.const(I64, 63), False, True) if signed else w.const(I64, 0))
    is_far = w.compare(ops.NE, I64, w.emit(ops.AND, I64, [count, w.const(I64, 64)]), w.const(I64, 0))
    return [w.emit(ops.SELECT, I64, [is_far, far[n], near[n]]) for n in (0, 1)]


def _icmp(w: AggregateWriter, i: Instruction) -> list[int]:
    first, second = _both(w, i)
    name = i.detail
    if name in ("eq", "ne"):
        together: int | None = None
        for a, b in zip(first, second, strict=True):
            different = w.emit(ops.XOR, I64, [a, b])
            together = different if together is None else w.emit(ops.OR, I64, [together, different])
        assert together is not None
        return [w.compare(ops.EQ if name == "eq" else ops.NE, I64, together, w.const(I64, 0))]
    # One below another; the rest by exchange, and by the opposite.
    if name[1:] in ("gt", "le"):
        first, second = second, first
    below = _below(w, first[0], second[0])
    for n in range(1, len(first)):
        a, b = first[n], second[n]
        # (Extended with the sign, unsigned numbers keep their order.)
        upper = w.compare(ops.LT, I64, a, b) if n + 1 == len(first) and name[0] == "s" else _below(w, a, b)
        below = w.emit(ops.SELECT, BOOL, [w.compare(ops.EQ, I64, a, b), below, upper])
    return [w.emit(ops.NOT, BOOL, [below]) if name[1:] in ("le", "ge") else below]


def _trunc(w: AggregateWriter, i: Instruction) -> list[int]:
    parts = w.parts(i.operands[0])
    return _wrapped(w, parts[: words(i.type)], i.type.bits) if is_wide(i.type) else [w.signed(parts[0], i.type)]


def _zext(w: AggregateWriter, i: Instruction) -> list[int]:
    given = i.operands[0].type
    parts = w.parts(i.operands[0])
    parts = _unsigned(w, parts, given) if is_wide(given) else [w.convert(w.unsigned(parts[0], given), I64)]
    return [*parts, *[w.const(I64, 0)] * (words(i.type) - len(parts))]


def _sext(w: AggregateWriter, i: Instruction) -> list[int]:
    parts = w.parts(i.operands[0])
    if not is_wide(i.operands[0].type):
        low = w.convert(parts[0], I64)
        parts = [w.emit(ops.NEG, I64, [low]) if i.operands[0].type.bits == 1 else low]
    more = words(i.type) - len(parts)
    return [*parts, *[_shifted(w, parts[-1], w.const(I64, 63), False, True)] * more] if more else parts


def _of_float(w: AggregateWriter, i: Instruction) -> list[int]:
    """A float's size, in its two parts: what is left of it behind 64 bits is exact, as the float has no more than 53."""
    if i.type.bits > 128:
        w.unsupported(f"{i.opcode} to integers of {i.type.bits} bits is not supported, of up to 128 it is")
    given = w.convert(w.parts(i.operands[0])[0], F64)
    size = w.emit(ops.ABS, F64, [given])
    whole = w.emit(ops.TRUNC, F64, [w.emit(ops.MUL, F64, [size, w.const(F64, 2.0**-64)])])
    rest = w.emit(ops.SUB, F64, [size, w.emit(ops.MUL, F64, [whole, w.const(F64, 2.0**64)])])
    low, high = (w.convert(w.emit(ops.CONVERT_UNCHECKED, U64, [part], F64), I64) for part in (rest, whole))
    if i.opcode == "fptosi":
        negative = w.convert(w.compare(ops.LT, F64, given, w.const(F64, 0.0)), I64)
        low, high = _signed_by(w, low, high, w.emit(ops.NEG, I64, [negative]))
    return _wrapped(w, [low, high], i.type.bits)


def _to_float(w: AggregateWriter, i: Instruction) -> list[int]:
    """The upper 64 bits of the size, with a last one for all that is below, are rounded as the size itself; then the exponent is put right."""
    type_ = w.type_of(i.type)
    if i.operands[0].type.bits > 128 or type_ not in (F32, F64):
        w.unsupported(f"{i.opcode} from {named(i.operands[0].type)} to {named(i.type)} is not supported")
    signed = i.opcode == "sitofp"
    given = w.parts(i.operands[0])
    low, high = given if signed else _unsigned(w, given, i.operands[0].type)
    if signed:
        sign = _shifted(w, high, w.const(I64, 63), False, True)
        low, high = _signed_by(w, low, high, sign)
    zero, one = w.const(I64, 0), w.const(I64, 1)
    small = w.compare(ops.EQ, I64, high, zero)
    places = w.convert(w.emit(ops.LEADING_ZEROS, U64, [w.convert(high, U64)]), I64)
    crossing = _shifted(w, _shifted(w, low, one, False), w.emit(ops.SUB, I64, [w.const(I64, 63), places]), False)
    top = w.emit(ops.OR, I64, [_shifted(w, high, places, True), crossing])
    more = w.convert(w.compare(ops.NE, I64, _shifted(w, low, places, True), zero), I64)
    top = w.emit(ops.SELECT, I64, [small, low, w.emit(ops.OR, I64, [top, more])])
    exponent = w.emit(ops.SELECT, I64, [small, zero, w.emit(ops.SUB, I64, [w.const(I64, 64), places])])
    bits, bias, at = (I64, 1023, 52) if type_ is F64 else (I32, 127, 23)
    scale = w.emit(ops.SHL_MODULO, bits, [w.convert(w.emit(ops.ADD, I64, [exponent, w.const(I64, bias)]), bits), w.const(bits, at)])
    made = w.emit(ops.MUL, type_, [w.convert(w.convert(top, U64), type_), w.emit(ops.BITCAST, type_, [scale], bits)])
    if signed:
        made = w.emit(ops.SELECT, type_, [w.compare(ops.NE, I64, sign, zero), w.emit(ops.NEG, type_, [made]), made])
    return [made]


#: How each instruction on such integers is written.
WIDE: Final[dict[str, Callable[[AggregateWriter, Instruction], list[int]]]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    **dict.fromkeys(DIVISIONS, _divide),
    "icmp": _icmp,
    "trunc": _trunc,
    "zext": _zext,
    "sext": _sext,
    **dict.fromkeys(("and", "or", "xor"), _bitwise),
    **dict.fromkeys(("shl", "lshr", "ashr"), _shift),
    **dict.fromkeys(("fptosi", "fptoui"), _of_float),
    **dict.fromkeys(("sitofp", "uitofp"), _to_float),
}
