"""What x86-64 has no instruction for, as sequences of operations it has: asked by the passes ``expand`` and ``select``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.targets import division, integer_sequences, lane_by_lane, multiplication, sequences, sums
from loopwright.targets.floor_division import divide_floats
from loopwright.targets.steps import Emit, Steps
from loopwright.targets.x86 import gathers, interleaved, masked, one_by_one, strided, unsigned, wider_lanes
from loopwright.types import BOOL, F16, F32, F64, I16, I32, I64, SIGNED, U8, U16, U32, U64, Type, mask_of, vector_of

__all__ = ["EXPANDED", "convert_in_steps", "expand", "middle"]

#: What an integer kept in 32 bits needs no sequence for, however narrow it is.
_NARROW_AS_IT_IS: Final = ops.COMPARING | frozenset(ops.CHOICES) | {ops.COPY, ops.BITCAST, ops.CONVERT, ops.CONVERT_UNCHECKED, ops.TO_F16}


def expand(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Emit the sequence for an operation that ``target`` lacks; False where it has an instruction.

    Args:
        target: an ``X86``.
        f: the function.
        instr: the operation.
        emit: takes the instructions; what it takes may be expanded in turn.
        late: nothing simplifies what is emitted: also sequences with branches, and operations on narrow integers by those on
            32-bit registers.
    """
    code = instr.op.code
    sequence = _BY_CODE[code]
    if sequence is not None and sequence(target, f, instr, emit, late):
        return True
    if _OF_INTEGERS[code] and target.known(f, instr) is None and integer_sequences.expand(f, instr, emit, late):
        return True
    type_ = instr.type
    if late and type_.bits < 32 and type_.is_integer and not type_.lanes and instr.op.pure and instr.op not in _NARROW_AS_IT_IS:
        sequences.narrow_integer(f, instr, emit)
        return True
    return False


def _any(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Whether a mask holds in any lane: its bits compared with 0, which a branch tests by itself."""
    type_ = instr.type
    if late or target.mask_registers or type_.bits == 16 or type_.bits * type_.lanes not in (128, 256):
        return False
    bits = f.register(I64)
    emit(Instr(ops.MASK_BITS, type_, bits, instr.args, 0, instr.line))
    emit(Instr(ops.NE, I64, instr.dst, [bits, f.const(I64, 0)], 0, instr.line))
    return True


def _dot_add(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    if late or not instr.type.lanes or instr.type.bits != 32:
        return False

    def native(op: ops.Op, type_: Type, source: Type) -> bool:
        return target.known(f, Instr(op, type_, 0, [0] * len(op.operands), 0, 0, source)) is not None

    return sums.expand_dot(f, instr, emit, native)


def _estimate(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    if instr.type.bits == 32 or (instr.op is ops.RSQRT and target.estimates_roots(instr.type)):
        return False
    sequences.divide_for_estimate(f, instr, emit)
    return True


# --- conversions ----------------------------------------------------------------------------------------------


def convert_in_steps(target: Any, type_: Type, source: Type) -> bool:
    """Whether a conversion of lanes goes by way of i32, bytes to and from floats, of i16, bytes to and from f16, or of f64, f32 to i64 on AVX2."""
    if type_.element is F16 or source.element is F16:
        return min(type_.bits, source.bits) == 8
    if source.bits == 32 and source.is_float and type_.bits == 64 and type_.signed:
        return not target.mask_registers
    return (source.bits < 32 and type_.is_float) or (type_.bits < 32 and source.is_float)


def middle(type_: Type, source: Type) -> Type:
    """The type between, of a conversion in steps."""
    if type_.element is F16 or source.element is F16:
        return vector_of(I16, type_.lanes)
    return vector_of(F64 if source.is_float and type_.bits == 64 else I32, type_.lanes)


def _convert(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    type_, source, line = instr.type, instr.source, instr.line
    if instr.op is ops.CONVERT and (_clamped(target, f, instr, emit) or _of_half(f, instr, emit)):
        return True
    if type_.lanes:
        if not convert_in_steps(target, type_, source):
            return not target.mask_registers and unsigned.convert(f, instr, emit)
        between = middle(type_, source)
        whole = f.register(between)
        # The step that leaves the floats is of the given kind.
        emit(Instr(ops.CONVERT if between.is_float else instr.op, between, whole, instr.args, 0, line, source))
        emit(Instr(instr.op if between.is_float else ops.CONVERT, type_, instr.dst, [whole], 0, line, between))
        return True
    if source.is_float and type_ is BOOL:
        emit(Instr(ops.NE, source, instr.dst, [instr.args[0], f.const(source, 0.0)], 0, line))
        return True
    if source.is_float and type_.is_integer and (type_.bits < 32 or (type_ is U32 and instr.op is ops.CONVERT_UNCHECKED)):
        whole_type = I64 if type_ is U32 else I32
        whole = f.register(whole_type)
        emit(Instr(ops.CONVERT_UNCHECKED, whole_type, whole, instr.args, 0, line, source))
        emit(Instr(ops.CONVERT, type_, instr.dst, [whole], 0, line, whole_type))
        return True
    if late and source is U64 and type_.is_float and type_ is not F16:
        sequences.unsigned_to_float(f, instr, emit)
        return True
    if late and type_ is U64 and source.is_float:
        sequences.float_to_unsigned(f, instr, emit)
        return True
    if late and (type_ is I32 or type_ is I64) and source.is_float and instr.op is ops.CONVERT:
        _saturated(f, instr, emit)
        return True
    return False


def _of_half(f: Function, instr: Instr, emit: Emit) -> bool:
    """Saturating conversions of f16 that no instructions serve: of lanes to bytes by way of i16, of scalars by way of f32, which holds all of its numbers."""
    type_, source = instr.type, instr.source
    if source.element is not F16 or not type_.is_integer or (type_.lanes and type_.bits > 8):
        return False
    between = vector_of(I16 if type_.lanes else F32, type_.lanes)
    value = f.register(between)
    emit(Instr(ops.CONVERT, between, value, instr.args, 0, instr.line, source))
    emit(Instr(ops.CONVERT_SATURATED if type_.lanes else ops.CONVERT, type_, instr.dst, [value], 0, instr.line, between))
    return True


def _clamped(target: Any, f: Function, instr: Instr, emit: Emit) -> bool:
    """Conversions of floats to integers whose bounds are floats: clamped before."""
    type_, source = instr.type, instr.source
    if not (source.is_float and type_.is_integer and source.bits >= 32):
        return False
    if type_.bits < 32:
        sequences.clamp_and_convert(f, instr, vector_of(I32, type_.lanes), emit)
        return True
    if type_ is not U32 or target.mask_registers:
        return False
    if source is F32:
        # f64 has room for the bounds.
        wide = f.register(F64)
        emit(Instr(ops.CONVERT, F64, wide, instr.args, 0, instr.line, F32))
        instr = Instr(ops.CONVERT, type_, instr.dst, [wide], 0, instr.line, F64)
    sequences.clamp_and_convert(f, instr, I64, emit)
    return True


def _saturated(f: Function, instr: Instr, emit: Emit) -> None:
    """A float to i32 or i64: the conversion gives the least integer for what does not fit, and 1 less than that wraps to the greatest. NaN becomes 0."""
    s = Steps(f, emit, instr.line, 0)
    type_, source, given = instr.type, instr.source, instr.args[0]
    result = f.register(type_, "", True)
    s.op(ops.CONVERT_UNCHECKED, type_, given, into=result, source=source)
    below = s.op(ops.SUB, type_, result, s.const(type_, 1))
    s.bracket(ops.IF_CMP["gt"], below, result, type_=type_)
    zero = s.op(ops.COPY, source, s.const(source, 0.0))
    s.bracket(ops.IF_CMP["nlt"], given, zero, type_=source)
    s.op(ops.COPY, type_, below, into=result)
    s.bracket(ops.IF_CMP["nge"], given, zero, type_=source)
    s.op(ops.COPY, type_, s.const(type_, 0), into=result)
    for _ in range(3):
        s.bracket(ops.END)
    s.op(ops.COPY, type_, result, into=instr.dst)


def _round_and_convert(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    sequences.round_and_convert(f, instr, emit)
    return True


def _copy_sign(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    if not instr.type.lanes:
        return False
    sequences.copy_sign(f, instr, emit)
    return True


# --- arithmetic -----------------------------------------------------------------------------------------------


def _divide(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    type_ = instr.type
    if instr.imm == division.BARE:
        return False
    if type_.is_float:
        if late:
            divide_floats(f, instr, emit)
        return late
    if instr.args[1] < 0:
        if division.divide_by_power(f, instr, emit):
            return True
        if not type_.lanes or type_.bits > 8:
            division.multiply_by_reciprocal(f, instr, emit)
            return True
    if type_.lanes:
        if type_.bits < 64:
            wider_lanes.divide(target, f, instr, emit)
            return True
        if late:
            lane_by_lane.each_lane(f, instr, emit)
        return late
    if late:
        division.divide(f, instr, emit, at_once=True)
    return late


def _multiply_high(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    type_ = instr.type
    if not type_.lanes:
        if type_.bits == 64:
            return False
        sequences.high_of_wide_product(f, instr, emit)
        return True
    if type_.bits == 8:
        wider_lanes.multiply_high_bytes(target, f, instr, emit)
        return True
    if type_.bits == 64:
        multiplication.high_by_halves(f, instr, emit)
        return True
    return False


def _multiply(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """AVX2: 64-bit lanes."""
    type_ = instr.type
    if type_.bits != 64 or not type_.lanes or type_.is_float or target.mask_registers:
        return False
    a, b = instr.args
    if a < 0:
        a, b = b, a
    if a < 0:
        return False
    if b >= 0 or not multiplication.multiply_by_shifts(f, instr, a, int(f.const_values[~b]), emit):
        multiplication.multiply_by_halves(f, instr, a, b, emit)
    return True


def _negate(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    type_ = instr.type
    if not type_.lanes or type_.is_float or type_.is_mask:
        return False
    emit(Instr(ops.SUB, type_, instr.dst, [f.const(type_, 0), instr.args[0]], 0, instr.line))
    return True


def _absolute(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    type_, element = instr.type, instr.type.element
    given, result = instr.args[0], instr.dst
    s = Steps(f, emit, instr.line, type_.lanes)
    if type_.is_float:
        if not type_.lanes:
            return False
        # All but the sign, so that the constant is made once.
        whole = SIGNED[type_.bits]
        rest = s.op(ops.AND, whole, s.cast(whole, given, element), s.const(whole, (1 << type_.bits - 1) - 1))
        s.cast(element, rest, whole, into=result)
    elif not type_.signed:
        s.op(ops.COPY, element, given, into=result)
    elif type_.lanes:
        return False
    else:
        s.op(ops.MAX, element, s.op(ops.NEG, element, given), given, into=result)
    return True


def _shift(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """One constant byte by counts of their own; on AVX2 all bytes by these, and signed 64-bit lanes to the right by a constant."""
    type_ = instr.type
    if type_.bits == 8 and type_.lanes >= 16 and instr.args[0] < 0 <= instr.args[1]:
        _shifted_byte(f, instr, emit)
        return True
    if not type_.lanes or target.mask_registers:
        return False
    if type_.bits == 8 and instr.args[1] >= 0:
        _shift_bytes(f, instr, emit)
        return True
    if type_.bits == 64 and type_.signed and instr.op is ops.SHR and instr.args[1] < 0 <= instr.args[0]:
        _shift_signed(f, instr, emit)
        return True
    return False


def _shifted_byte(f: Function, instr: Instr, emit: Emit) -> None:
    """A constant by each count below 8, looked up: VPSHUFB, which gives 0 where the top bit of the index is set."""
    type_ = instr.type
    element = type_.element
    value, count = instr.args
    s = Steps(f, emit, instr.line, type_.lanes)
    number = int(f.const_values[~value])
    made = [(number << k if instr.op is ops.SHL else number >> k) & 0xFF for k in range(8)]
    table = vector_of(U64, type_.lanes // 8)
    held = f.register(type_)
    emit(Instr(ops.BITCAST, type_, held, [f.const(table, int.from_bytes(bytes(made), "little"))], 0, instr.line, table))
    at = count if element is U8 else s.cast(U8, count, element)
    # (By 7 or more nothing but a sign is left.)
    op, known = (ops.MIN, 7) if number < 0 and instr.op is ops.SHR else (ops.ADD_SATURATED, 0x78)
    at = s.op(op, U8, at, s.const(U8, known))
    emit(Instr(ops.LOOKUP_BYTES, type_, instr.dst, [held, at], 0, instr.line, s.of(U8)))


def _shift_signed(f: Function, instr: Instr, emit: Emit) -> None:
    """Shifted as unsigned lanes; (x ^ sign) - sign spreads the sign bit, wherever it now is."""
    type_ = instr.type
    value, count = instr.args
    places = min(sequences.shift_count(type_, int(f.const_values[~count])), 63)
    s = Steps(f, emit, instr.line, type_.lanes)
    sign = s.const(U64, 1 << 63 - places)
    moved = s.shifted(U64, s.cast(U64, value, I64), places)
    spread = s.op(ops.SUB, U64, s.op(ops.XOR, U64, moved, sign), sign)
    s.cast(I64, spread, U64, into=instr.dst)


def _shift_bytes(f: Function, instr: Instr, emit: Emit) -> None:
    """Bytes shifted lane by lane: by 4, 2 and 1 where the count has that bit; first, where it has a higher one, by as much as can be."""
    element = instr.type.element
    value, count = instr.args
    s = Steps(f, emit, instr.line, instr.type.lanes)
    zero = s.const(element, 0)
    for bit in (0xF8, 4, 2, 1):
        clear = s.compare(ops.EQ, element, s.op(ops.AND, element, count, s.const(element, bit)), zero)
        shifted = zero
        if bit < 8 or (element.signed and instr.op is ops.SHR):
            shifted = s.op(instr.op, element, value, s.const(element, min(bit, 7)))
        value = s.op(ops.SELECT, element, clear, value, shifted, into=instr.dst if bit == 1 else -1)


def _popcount(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Narrow integers as the wider ones that zeros make of them."""
    type_ = instr.type
    if type_.lanes or type_.bits >= 32:
        return False
    s = Steps(f, emit, instr.line, 0)
    unsigned_type = U8 if type_.bits == 8 else U16
    wide = s.convert(I32, s.convert(unsigned_type, instr.args[0], type_), unsigned_type)
    s.convert(type_, s.op(ops.POPCOUNT, I32, wide), I32, into=instr.dst)
    return True


def _sum_groups(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Of bytes their distances from 0, of i16 their products by 1."""
    type_, source, line = instr.type, instr.source, instr.line
    given = instr.args[0]
    if source.bits == 8 and type_.bits == 64:
        zero = f.const(vector_of(U8, source.lanes), 0)
        if not source.signed:
            emit(Instr(ops.SUM_ABS_DIFF, type_, instr.dst, [given, zero], 0, line, source))
            return True
        # Each 128 more than it is, as an unsigned number.
        bytes_ = Steps(f, emit, line, source.lanes)
        raised = bytes_.cast(U8, bytes_.op(ops.XOR, source.element, given, bytes_.const(source.element, -128)), source.element)
        total = f.register(type_)
        emit(Instr(ops.SUM_ABS_DIFF, type_, total, [raised, zero], 0, line, f.type_of(zero)))
        emit(Instr(ops.SUB, type_, instr.dst, [total, f.const(type_, 8 * 128)], 0, line))
        return True
    if source.bits == 16 and source.signed and type_.bits == 32:
        emit(Instr(ops.DOT, type_, instr.dst, [given, f.const(source, 1)], 0, line, source))
        return True
    return False


# --- choices and comparisons ----------------------------------------------------------------------------------


def _select(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    type_, line = instr.type, instr.line
    if type_.is_mask and target.mask_registers:
        m, a, b = instr.args
        yes, no = f.register(type_), f.register(type_)
        emit(Instr(ops.AND, type_, yes, [m, a], 0, line))
        emit(Instr(ops.ANDNOT, type_, no, [m, b], 0, line))
        emit(Instr(ops.OR, type_, instr.dst, [yes, no], 0, line))
        return True
    if late and type_.is_float and not type_.lanes and type_.bits < 32:
        sequences.select_by_branch(f, instr, emit)
        return True
    return False


def _min_max(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """AVX2: 64-bit lanes, by a comparison."""
    type_ = instr.type
    if not type_.lanes or type_.is_float or type_.bits != 64 or target.mask_registers:
        return False
    s = Steps(f, emit, instr.line, type_.lanes)
    a, b = instr.args
    greater = s.compare(ops.GT, type_.element, b, a) if instr.op is ops.MAX else s.compare(ops.GT, type_.element, a, b)
    s.op(ops.SELECT, type_.element, greater, b, a, into=instr.dst)
    return True


def _compare(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """AVX2: comparisons of integer lanes other than equal and signed greater."""
    op, type_, line = instr.op, instr.type, instr.line
    if not type_.lanes or type_.is_float or type_.is_mask or target.mask_registers or (op is ops.GT and type_.signed):
        return False
    a, b = instr.args[:2]
    if op is ops.LT and type_.signed:
        emit(Instr(ops.GT, type_, instr.dst, [b, a], 0, line))
        return True
    if not type_.signed and op is not ops.NE:
        if type_.bits == 64:
            _compare_flipped(f, instr, emit)
            return True
        # a >= b exactly when max(a, b) is a.
        extreme = f.register(type_)
        emit(Instr(ops.MAX if op in (ops.GE, ops.LT) else ops.MIN, type_, extreme, [a, b], 0, line))
        a, b = extreme, a
        opposite, negated = ops.EQ, op is ops.LT or op is ops.GT
    elif op is ops.NE:
        opposite, negated = ops.EQ, True
    else:
        opposite, negated = ops.GT, True
        if op is ops.GE:
            a, b = b, a
    if not negated:
        emit(Instr(opposite, type_, instr.dst, [a, b], 0, line))
        return True
    mask = mask_of(type_.bits, type_.lanes)
    holds = f.register(mask)
    emit(Instr(opposite, type_, holds, [a, b], 0, line))
    emit(Instr(ops.NOT, mask, instr.dst, [holds], 0, line))
    return True


def _compare_flipped(f: Function, instr: Instr, emit: Emit) -> None:
    """Unsigned 64-bit lanes compared as signed ones, the top bits flipped."""
    s = Steps(f, emit, instr.line, instr.type.lanes)
    top = s.const(I64, -(1 << 63))
    flipped = [s.op(ops.XOR, I64, s.cast(I64, operand, instr.type.element), top) for operand in instr.args[:2]]
    emit(Instr(instr.op, s.of(I64), instr.dst, flipped, 0, instr.line))


def _masked(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """AVX2 has no accesses under a mask to lanes of 8 and 16 bits."""
    if not late or instr.type.bits >= 32 or target.mask_registers:
        return False
    if instr.type.size >= 16 and instr.type.element.is_integer:
        masked.access(f, instr, emit)
    else:
        lane_by_lane.masked_access(f, instr, emit)
    return True


def _masked_strided(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Loads are gathers, where the machine has these for offsets of 64 bits."""
    if late:
        lane_by_lane.masked_access(f, instr, emit)
        return True
    type_ = instr.type
    offsets = vector_of(I64, type_.lanes)
    if instr.op is not ops.MASKED_LOAD_STRIDED_AT or not gathers.has(target, Instr(ops.GATHER_AT, type_, NONE, [], 0, 0, offsets)):
        return False
    mask, distance, *place = instr.args
    s = Steps(f, emit, instr.line, type_.lanes)
    apart = s.const(I64, int(f.const_values[~distance])) if distance < 0 else s.op(ops.SPLAT, I64, distance)
    each = s.op(ops.MUL, I64, s.op(ops.IOTA, I64), apart)
    gather = Instr(ops.GATHER_AT, type_, instr.dst, [mask, each, *place], 1, instr.line, offsets, instr.mem)
    if not gathers.expand(f, gather, emit):
        emit(gather)
    return True


def _indexed(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """The machine's own gathers and scatters take their address in one register."""
    if gathers.has(target, instr) or (instr.op is ops.GATHER_AT and not late and one_by_one.has(target, instr)):
        return gathers.expand(f, instr, emit)
    if late:
        lane_by_lane.indexed_access(f, instr, emit)
    return late


def _reverse(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    """Lanes by their numbers, which are a constant that loops keep in a register, where one instruction moves them between all parts of 128 bits."""
    type_ = instr.type
    if late or type_.size <= 16 or (type_.size == 32 and (type_.bits == 64 or target.slow_permutations)):
        return False
    numbers = interleaved.numbers_type(type_)
    if target.known(f, Instr(ops.LOOKUP_LANES, type_, instr.dst, [0, 0], 0, instr.line, numbers)) is None:
        return False
    order = interleaved.literal(f, numbers, list(range(type_.lanes))[::-1], instr.line, emit)
    emit(Instr(ops.LOOKUP_LANES, type_, instr.dst, [instr.args[0], order], 0, instr.line, numbers))
    return True


def _load_part(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    return interleaved.load_part(target, f, instr, emit)


def _store_parts(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    return interleaved.store_parts(target, f, instr, emit)


def _strided(target: Any, f: Function, instr: Instr, emit: Emit, late: bool) -> bool:
    return strided.expand(f, instr, emit, target.addressing(instr.type).scales)


_Sequence = Callable[[Any, Function, Instr, Emit, bool], bool]

_SEQUENCES: Final[dict[int, _Sequence]] = {
    ops.ANY.code: _any,
    ops.RCP_ESTIMATE.code: _estimate,
    ops.RSQRT_ESTIMATE.code: _estimate,
    ops.RSQRT.code: _estimate,
    ops.DOT_ADD.code: _dot_add,
    ops.DOT_MIXED_ADD.code: _dot_add,
    ops.CONVERT.code: _convert,
    ops.CONVERT_UNCHECKED.code: _convert,
    ops.CONVERT_DOWN.code: _round_and_convert,
    ops.CONVERT_UP.code: _round_and_convert,
    ops.CONVERT_NEAREST.code: _round_and_convert,
    ops.COPY_SIGN.code: _copy_sign,
    ops.MUL_HIGH.code: _multiply_high,
    ops.MASKED_LOAD_AT.code: _masked,
    ops.MASKED_STORE_AT.code: _masked,
    ops.LOAD_STRIDED_AT.code: _strided,
    ops.STORE_STRIDED_AT.code: _strided,
    ops.LOAD_ROWS_AT.code: _strided,
    ops.STORE_ROWS_AT.code: _strided,
    ops.MASKED_LOAD_STRIDED_AT.code: _masked_strided,
    ops.MASKED_STORE_STRIDED_AT.code: _masked_strided,
    ops.GATHER_AT.code: _indexed,
    ops.SCATTER_AT.code: _indexed,
    ops.REVERSE.code: _reverse,
    **{op.code: _load_part for op in ops.LOAD_PART.values()},
    **{op.code: _store_parts for op in (*ops.STORE_PARTS.values(), *ops.STORE_SOME.values())},
    ops.DIV_TRUNC.code: _divide,
    ops.REM_TRUNC.code: _divide,
    ops.DIV_FLOOR.code: _divide,
    ops.REM_FLOOR.code: _divide,
    ops.MUL.code: _multiply,
    ops.NEG.code: _negate,
    ops.ABS.code: _absolute,
    ops.SHL.code: _shift,
    ops.SHR.code: _shift,
    ops.POPCOUNT.code: _popcount,
    ops.SUM_GROUPS.code: _sum_groups,
    ops.SELECT.code: _select,
    ops.MIN.code: _min_max,
    ops.MAX.code: _min_max,
    ops.NE.code: _compare,
    ops.LT.code: _compare,
    ops.LE.code: _compare,
    ops.GT.code: _compare,
    ops.GE.code: _compare,
}

#: The same by code, and whether integers have a sequence.
_BY_CODE: Final[list[_Sequence | None]] = [_SEQUENCES.get(code) for code in range(len(ops.OPS))]
_OF_INTEGERS: Final[list[bool]] = [code in integer_sequences.EXPANDED for code in range(len(ops.OPS))]

#: The operations, by code, that the pass ``expand`` asks about.
EXPANDED: Final = frozenset(_SEQUENCES) | integer_sequences.EXPANDED
