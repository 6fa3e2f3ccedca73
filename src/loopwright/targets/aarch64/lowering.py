"""From an operation to its rule: tables of instructions by operation and types, and what is more than one instruction.

A rule that is one instruction derives what it demands from the roles of the row's operands (``operands.one``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from loopwright.errors import AbiError, UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.aarch64 import control, floats, integers, lanes, moves
from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.abi import AAPCS64, AArch64Assembler, destroyed_by_calls
from loopwright.targets.aarch64.notation import Family, Row
from loopwright.targets.aarch64.operands import INT, INT_LATE, VECTOR, VECTOR_LATE, arrangement, bytes_of, bytewise, chain, one, width
from loopwright.targets.aarch64.registers import INTS, REGISTERS, VECTORS
from loopwright.targets.target import ANY_TIED, LEFT, Rule, Run, Use
from loopwright.types import BOOL, F16, F32, U16, VOID, Type

__all__ = ["HALF_OPERATIONS", "dot_product", "has_rule", "immediate", "rule_for"]

Emit = Callable[[AArch64Assembler, Function, Instr], None]
_Steps = list[tuple[Row, tuple[int, ...]]]

# --- tables -------------------------------------------------------------------------------------------------------

#: Scalar integers of 32 and 64 bits (and what is kept in 32): how they are emitted, and how many operands they have.
_INTEGER: Final[dict[int, tuple[Emit, int]]] = {
    ops.ADD.code: (integers.add_sub, 2),
    ops.SUB.code: (integers.add_sub, 2),
    ops.MUL.code: (integers.multiply, 2),
    ops.MUL_HIGH.code: (integers.multiply_high, 2),
    ops.ADD_SATURATED.code: (integers.saturated, 2),
    ops.SUB_SATURATED.code: (integers.saturated, 2),
    ops.ABS_DIFF.code: (integers.abs_diff, 2),
    ops.ROTATE_LEFT.code: (integers.rotate, 2),
    ops.ROTATE_RIGHT.code: (integers.rotate, 2),
    ops.LEADING_ZEROS.code: (integers.leading_zeros, 1),
    ops.TRAILING_ZEROS.code: (integers.trailing_zeros, 1),
    ops.BIT_REVERSE.code: (integers.bit_reverse, 1),
    ops.BYTE_SWAP.code: (integers.byte_swap, 1),
    ops.NEG.code: (integers.negate, 1),
    ops.ABS.code: (integers.absolute, 1),
    ops.AND.code: (integers.logical, 2),
    ops.OR.code: (integers.logical, 2),
    ops.XOR.code: (integers.logical, 2),
    ops.ANDNOT.code: (integers.and_not, 2),
    ops.NOT.code: (integers.complement, 1),
    ops.MIN.code: (integers.min_max, 2),
    ops.MAX.code: (integers.min_max, 2),
    ops.SHL_MODULO.code: (integers.shift_modulo, 2),
    ops.SHR_MODULO.code: (integers.shift_modulo, 2),
    ops.CRC32C.code: (integers.crc32c, 2),
}
_DIVISIONS: Final = frozenset(op.code for op in (ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR))
_SHIFTS: Final = frozenset((ops.SHL.code, ops.SHR.code))
_ROTATIONS: Final = frozenset((ops.ROTATE_LEFT.code, ops.ROTATE_RIGHT.code))
#: Of integers: only for registers of their own width.
_WHOLE_WIDTH: Final = _ROTATIONS | {ops.LEADING_ZEROS.code, ops.TRAILING_ZEROS.code, ops.BIT_REVERSE.code, ops.BYTE_SWAP.code}
_SATURATED: Final = frozenset((ops.ADD_SATURATED.code, ops.SUB_SATURATED.code, ops.ABS_DIFF.code))
_COMPARES: Final = frozenset(op.code for op in ops.COMPARING)

#: Floats: the scalar instruction, the vector one, and which operands they take in their order.
_FLOAT: Final[dict[int, tuple[Family, Family | None, tuple[int, ...], tuple[int, ...]]]] = {
    ops.ADD.code: (i.FADD, i.FADD_V, (0, 1), (0, 1)),
    ops.SUB.code: (i.FSUB, i.FSUB_V, (0, 1), (0, 1)),
    ops.MUL.code: (i.FMUL, i.FMUL_V, (0, 1), (0, 1)),
    ops.DIV.code: (i.FDIV, i.FDIV_V, (0, 1), (0, 1)),
    ops.FMA.code: (i.FMADD, i.FMLA, (0, 1, 2), (2, 0, 1)),
    ops.FMS.code: (i.FNMSUB, None, (0, 1, 2), ()),
    ops.FNMA.code: (i.FMSUB, i.FMLS, (0, 1, 2), (2, 0, 1)),
    ops.FNMS.code: (i.FNMADD, None, (0, 1, 2), ()),
    ops.NEG.code: (i.FNEG, i.FNEG_V, (0,), (0,)),
    ops.ABS.code: (i.FABS, i.FABS_V, (0,), (0,)),
    ops.SQRT.code: (i.FSQRT, i.FSQRT_V, (0,), (0,)),
    ops.FLOOR.code: (i.FRINTM, i.FRINTM_V, (0,), (0,)),
    ops.CEIL.code: (i.FRINTP, i.FRINTP_V, (0,), (0,)),
    ops.TRUNC.code: (i.FRINTZ, i.FRINTZ_V, (0,), (0,)),
    ops.ROUND.code: (i.FRINTN, i.FRINTN_V, (0,), (0,)),
}
#: Lanes of integers, signed and unsigned.
_LANES: Final[dict[int, tuple[Family, Family]]] = {
    ops.ADD.code: (i.ADD_V, i.ADD_V),
    ops.SUB.code: (i.SUB_V, i.SUB_V),
    ops.MUL.code: (i.MUL, i.MUL),
    ops.ADD_SATURATED.code: (i.SQADD, i.UQADD),
    ops.SUB_SATURATED.code: (i.SQSUB, i.UQSUB),
    ops.AVERAGE_DOWN.code: (i.SHADD, i.UHADD),
    ops.AVERAGE_UP.code: (i.SRHADD, i.URHADD),
    ops.ABS_DIFF.code: (i.SABD, i.UABD),
    ops.LEADING_ZEROS.code: (i.CLZ_V, i.CLZ_V),
    ops.NEG.code: (i.NEG, i.NEG),
    ops.ABS.code: (i.ABS, i.ABS),
    ops.MIN.code: (i.SMIN, i.UMIN),
    ops.MAX.code: (i.SMAX, i.UMAX),
}
#: Bitwise, of lanes and masks: the instruction, and its operands in their order.
_BITWISE: Final[dict[int, tuple[Family, tuple[int, ...]]]] = {
    ops.AND.code: (i.AND_V, (0, 1)),
    ops.OR.code: (i.ORR_V, (0, 1)),
    ops.XOR.code: (i.EOR_V, (0, 1)),
    ops.ANDNOT.code: (i.BIC_V, (1, 0)),
    ops.NOT.code: (i.NOT, (0,)),
}
#: Comparisons of lanes: of signed integers, of unsigned ones, of floats; the operands in their order; and with 0.
_LANES_COMPARED: Final[dict[int, tuple[Family, Family, Family, tuple[int, int]]]] = {
    ops.EQ.code: (i.CMEQ, i.CMEQ, i.FCMEQ, (0, 1)),
    ops.GT.code: (i.CMGT, i.CMHI, i.FCMGT, (0, 1)),
    ops.GE.code: (i.CMGE, i.CMHS, i.FCMGE, (0, 1)),
    ops.LT.code: (i.CMGT, i.CMHI, i.FCMGT, (1, 0)),
    ops.LE.code: (i.CMGE, i.CMHS, i.FCMGE, (1, 0)),
}
_COMPARED_WITH_0: Final[dict[int, tuple[Family, Family]]] = {
    ops.EQ.code: (i.CMEQ_0, i.FCMEQ_0),
    ops.GT.code: (i.CMGT_0, i.FCMGT_0),
    ops.GE.code: (i.CMGE_0, i.FCMGE_0),
    ops.LT.code: (i.CMLT_0, i.FCMLT_0),
    ops.LE.code: (i.CMLE_0, i.FCMLE_0),
}
_REDUCTIONS: Final[dict[int, ops.Op]] = {
    ops.REDUCE_ADD.code: ops.ADD,
    ops.REDUCE_MUL.code: ops.MUL,
    ops.REDUCE_MIN.code: ops.MIN,
    ops.REDUCE_MAX.code: ops.MAX,
    ops.REDUCE_AND.code: ops.AND,
    ops.REDUCE_OR.code: ops.OR,
    ops.REDUCE_XOR.code: ops.XOR,
}
#: Across all lanes, exact in any order.
_ACROSS: Final[dict[int, tuple[Family, Family]]] = {
    ops.REDUCE_ADD.code: (i.ADDV, i.ADDV),
    ops.REDUCE_MIN.code: (i.SMINV, i.UMINV),
    ops.REDUCE_MAX.code: (i.SMAXV, i.UMAXV),
}
#: What there is for f16 with FEAT_FP16 (Arm ARM, A2.2.3): no remainders and floors of quotients, which are computed with f32.
HALF_OPERATIONS: Final = (
    frozenset(_FLOAT)
    | _COMPARES
    | frozenset(op.code for op in (ops.MIN, ops.MAX, ops.COPY_SIGN, ops.IOTA, ops.CONVERT, *ops.UNCHECKED))
    | frozenset(op.code for op in (ops.REDUCE_ADD, ops.REDUCE_MUL, ops.REDUCE_MIN, ops.REDUCE_MAX))
)


# --- rules ----------------------------------------------------------------------------------------------------------

_known: Final[dict[int, Rule]] = {}


def rule_for(f: Function, instr: Instr, halves: bool = False) -> Rule:
    """The rule that emits ``instr``, on f16 where there are ``halves``. Raises ``UnsupportedOperationError`` when there is none."""
    op = instr.op
    if op in ops.CALLING:
        return _call(f, instr)
    if op is ops.RET:
        return _return(f)
    shape = 0
    for n, a in enumerate(instr.args[:3]):
        if a < 0:
            shape |= 1 << n
    mem = instr.mem
    if mem is not None:
        shape |= 8 | (16 if mem.indexed else 0)
    if f.options.fastmath:
        shape |= 32
    if halves:
        shape |= 64
    key = ((op.code << 16 | instr.type.number) << 16 | instr.source.number) << 7 | shape
    known = _known.get(key)
    if known is None:
        known = _known[key] = _rule(f, instr, halves)
    return known


def has_rule(f: Function, instr: Instr) -> bool:
    """Whether some rule emits ``instr``."""
    try:
        rule_for(f, instr)
    except UnsupportedOperationError:
        return False
    return True


def _missing(instr: Instr) -> UnsupportedOperationError:
    what = f"{instr.op.name.removesuffix('_at')} on {instr.type.name}" + (f" from {instr.source.name}" if instr.source is not VOID else "")
    return UnsupportedOperationError(f"{what} is not available on aarch64-neon", "", instr.line)


def _refuse(instr: Instr, type_: Type, halves: bool) -> None:
    """Raise for what no register holds: vectors of more than 128 bits, and half precision, but f16 where there are ``halves``."""
    if type_ is VOID:
        return
    if type_.lanes and (bytes_of(type_) > 16 or bytes_of(type_) < 2):
        raise UnsupportedOperationError(f"{instr.op.name} on {type_.name} is not available on aarch64-neon; its vectors have at most 128 bits", "", instr.line)
    if type_.is_float and type_.bits == 16 and not (halves and type_.element is F16):
        raise _missing(instr)


def _rule(f: Function, instr: Instr, halves: bool) -> Rule:
    op = instr.op
    type_ = instr.type
    _refuse(instr, type_, halves)
    _refuse(instr, instr.source, halves)
    found = _everywhere(instr)
    if found is None:
        if type_.is_mask:
            found = _of_masks(instr)
        elif op is ops.CONVERT or op is ops.CONVERT_UNCHECKED:
            found = _conversion(instr)
        elif op is ops.FROM_F16 or op is ops.TO_F16:
            found = _half(instr)
        elif type_.lanes:
            found = _of_lanes(f, instr)
        elif type_.is_float:
            found = _of_floats(instr)
        else:
            found = _of_integers(instr)
    if found is None:
        raise _missing(instr)
    return found


def _use(type_: Type) -> Use:
    return VECTOR if type_.lanes or type_.is_float or type_.is_mask else INT


def _everywhere(instr: Instr) -> Rule | None:
    """Copies, memory, branches: what is there for all types."""
    op = instr.op
    name = op.name
    type_ = instr.type
    use = _use(type_) if type_ is not VOID else INT
    if op is ops.COPY:
        return Rule(name, (use,), use, moves.copy)
    if op is ops.SWAP:
        return Rule(name, (use, use), None, moves.swap)
    if op is ops.BITCAST:
        return Rule(name, (_use(instr.source),), use, moves.bitcast)
    if op is ops.PART:
        return Rule(name, (), PART if use is VECTOR else POINTER_PART, control.nothing)
    if op is ops.TABLE:
        return Rule(name, (INT,), INT, moves.table_address)
    if op is ops.LOCAL:
        return Rule(name, (INT,), INT, moves.local_address)
    if op is ops.BARRIER:
        return Rule(name, (), None, control.nothing)
    if op is ops.ALLOCA:
        return Rule(name, (INT, INT), INT, moves.alloca)
    if op is ops.INCOMING:
        return Rule(name, (INT,), INT, moves.incoming_address)
    if op is ops.STACK_POINTER:
        return Rule(name, (), INT, moves.stack_pointer)
    if op is ops.GLOBAL or op is ops.FUNCTION:
        return Rule(name, (INT,), INT, moves.symbol_address)
    if op is ops.SWITCH or op is ops.JUMP_TABLE:
        return Rule(name, (INT_LATE, INT), None, control.jump_table, temps=(INTS, INTS))
    if instr.mem is not None:
        where = (INT, INT) if instr.mem.indexed else (INT,)
        if op is ops.LOAD_AT:
            return Rule(name, where, use, moves.load)
        if op is ops.STORE_AT:
            return Rule(name, (INT if instr.args[0] < 0 else use, *where), None, moves.store)
        if op is ops.ADDRESS:
            return Rule(name, where, INT, moves.address)
        if op is ops.LOAD_ADVANCE:
            return Rule(name, (INT_LATE,), use, moves.load_advance, parts=(~0,))
        if op is ops.STORE_ADVANCE:
            return Rule(name, (Use(use.cls, late=True), INT), INT, moves.store_advance, tied=1)
        if op.parts > 1 and bytes_of(type_) >= 8 and type_.lanes > 1:
            # The registers of a list are consecutive (Arm ARM, C7.2, "LD2 (multiple structures)" and those like it).
            run = Run(0, op.parts)
            if op in _PARTS_ADVANCE:
                if op.effect == ops.READS:
                    return Rule(name, (INT_LATE,), PART, moves.load_parts_advance, results=run, parts=(~0,))
                return Rule(name, (VECTOR_LATE,) * op.parts + where, INT, moves.store_parts_advance, run=run, tied=op.parts)
            if op.result:
                return Rule(name, where, PART, moves.load_parts, results=run)
            return Rule(name, (VECTOR,) * op.parts + where, None, moves.store_parts, run=run)
        return None
    if op.compare == "case":
        return Rule(name, (), None, control.jump_case if op is ops.JUMP_CASE else control.nothing)
    if op.compare:
        if type_.is_float:
            return Rule(name, (VECTOR, VECTOR), None, floats.jump_compare)
        if op.compare in ops.MASK_TESTS:
            return Rule(name, (VECTOR, VECTOR), None, lanes.jump_masked, temps=(VECTORS,))
        return Rule(name, (INT, INT), None, integers.jump_compare)
    emit = _CONTROL.get(op.code)
    if emit is not None:
        return Rule(name, (use,) * len(instr.args), None, emit)
    return None


#: One of the results of an instruction with several.
PART: Final = Use(VECTORS, LEFT)
POINTER_PART: Final = Use(INTS, LEFT)
_PARTS_ADVANCE: Final = frozenset((*ops.LOAD_PARTS_ADVANCE.values(), *ops.STORE_PARTS_ADVANCE.values()))

_CONTROL: Final[dict[int, Emit]] = {
    ops.IF.code: control.jump_if,
    ops.BR_IF.code: control.jump_if,
    ops.JUMP_IF.code: control.jump_if,
    ops.JUMP_UNLESS.code: control.jump_if,
    ops.BLOCK.code: control.nothing,
    ops.LOOP.code: control.nothing,
    ops.ELSE.code: control.nothing,
    ops.END.code: control.nothing,
    ops.BR.code: control.nothing,
    ops.JUMP.code: control.jump,
    ops.LABEL.code: control.label,
    ops.PROLOGUE.code: control.prologue,
    ops.EPILOGUE.code: control.epilogue,
    ops.STORE_ARG.code: control.store_arg,
}


def _of_integers(instr: Instr) -> Rule | None:
    code = instr.op.code
    name = instr.op.name
    if code in _COMPARES:
        return Rule(name, (INT, INT), INT, integers.comparison)
    if instr.op is ops.SELECT:
        return Rule(name, (INT, INT, INT), INT, integers.select)
    if instr.op in ops.CHOICES:
        return Rule(name, (INT, INT, INT, INT), INT, integers.select_compared)
    if code in _SHIFTS:
        return Rule(name, (INT, INT_LATE), INT, integers.shift)
    if code in _DIVISIONS:
        return Rule(name, (INT, INT), INT, integers.division, temps=(INTS,))
    if instr.op is ops.POPCOUNT:
        return Rule(name, (INT,), INT, integers.popcount, temps=(VECTORS,))
    if code in _REDUCTIONS or instr.op is ops.EXTRACT:
        return None
    if instr.type.bits < 32 and (code in _WHOLE_WIDTH or code in _SATURATED):
        return None
    if code in _SATURATED:
        return Rule(name, (INT_LATE, INT_LATE), INT, _INTEGER[code][0])
    known = _INTEGER.get(code)
    return Rule(name, (INT,) * known[1], INT, known[0]) if known is not None else None


def _of_floats(instr: Instr) -> Rule | None:
    code = instr.op.code
    name = instr.op.name
    if code in _COMPARES:
        return Rule(name, (VECTOR, VECTOR), INT, floats.comparison)
    if instr.op is ops.SELECT:
        return Rule(name, (INT, VECTOR, VECTOR), VECTOR, floats.select)
    if instr.op is ops.MIN or instr.op is ops.MAX:
        return Rule(name, (VECTOR, VECTOR), VECTOR, floats.min_max)
    known = _FLOAT.get(code)
    return one(name, known[0][width(instr.type)], known[2]) if known is not None else None


def _of_masks(instr: Instr) -> Rule | None:
    op = instr.op
    type_ = instr.type
    name = op.name
    if op is ops.ANY or op is ops.ALL:
        return Rule(name, (VECTOR,), INT, lanes.any_all, temps=(VECTORS,))
    if op is ops.MASK_SPLAT:
        return Rule(name, (INT,), VECTOR, lanes.mask_splat)
    if op is ops.LANE_MASK:
        return Rule(name, (INT, INT), VECTOR, lanes.lane_mask, temps=(VECTORS,))
    if op is ops.SELECT:
        return _SELECT
    if op is ops.MASK_CONVERT:
        return chain(name, _resized(instr.source.bits, type_.bits, True))
    bitwise = _BITWISE.get(op.code)
    return one(name, bitwise[0][bytewise(type_)], bitwise[1]) if bitwise is not None else None


_SELECT: Final = Rule("select", (VECTOR, VECTOR, VECTOR), VECTOR, lanes.select, tied=ANY_TIED)


def _of_lanes(f: Function, instr: Instr) -> Rule | None:
    op = instr.op
    code = op.code
    name = op.name
    type_ = instr.type
    if op is ops.SPLAT:
        return Rule(name, (_use(type_.element),), VECTOR, lanes.splat)
    if op is ops.IOTA:
        return Rule(name, (), VECTOR, lanes.iota)
    if op is ops.EXTRACT:
        return Rule(name, (VECTOR,), _use(type_.element), lanes.extract)
    if op is ops.SLIDE:
        if bytes_of(type_) in (8, 16):
            return Rule(name, (VECTOR, VECTOR, INT), VECTOR, lanes.slide)
        return Rule(name, (VECTOR, VECTOR, INT), VECTOR, lanes.slide_part, temps=(VECTORS,))
    if op is ops.REVERSE:
        return Rule(name, (VECTOR,), VECTOR, lanes.reverse)
    if op is ops.SELECT:
        return _SELECT
    if op is ops.ONES_WHERE:
        # Masks are such lanes.
        return Rule(name, (VECTOR,), VECTOR, moves.copy)
    if code in _COMPARES:
        return _lanes_compared(instr)
    if code in _REDUCTIONS:
        return _reduction(f, instr)
    shape = arrangement(type_)
    if type_.is_float:
        if op is ops.SUM_GROUPS:
            return (
                Rule(name, (VECTOR,), VECTOR, lanes.sum_halves, temps=(VECTORS,))
                if instr.source.bits == 16 and bytes_of(type_) == 16 and type_.bits == 32
                else None
            )
        if op is ops.MIN or op is ops.MAX:
            return one(name, (i.FMINNM_V if op is ops.MIN else i.FMAXNM_V)[shape]) if f.options.fastmath else None
        known = _FLOAT.get(code)
        return one(name, known[1][shape], known[3]) if known is not None and known[1] is not None else None
    if op is ops.ZIP_LOW or op is ops.ZIP_HIGH:
        # (The upper lanes of fewer than 8 bytes are not those that ZIP2 takes.)
        return one(name, (i.ZIP1 if op is ops.ZIP_LOW else i.ZIP2)[shape]) if bytes_of(type_) >= 8 else None
    if op is ops.COUNT_WHERE:
        return one(name, i.SUB_V[shape], (1, 0))
    bitwise = _BITWISE.get(code)
    if bitwise is not None:
        return one(name, bitwise[0][bytewise(type_)], bitwise[1])
    if code in _SHIFTS:
        if instr.args[1] < 0:
            return Rule(name, (VECTOR, VECTOR), VECTOR, lanes.shift_constant)
        return Rule(name, (VECTOR, VECTOR), VECTOR, lanes.shift, temps=(VECTORS,) * (2 if type_.bits == 64 else 1))
    if code in _ROTATIONS:
        if instr.args[1] < 0:
            return Rule(name, (VECTOR_LATE, VECTOR), VECTOR, lanes.rotate_constant)
        return Rule(name, (VECTOR_LATE, VECTOR), VECTOR, lanes.rotate, temps=(VECTORS, VECTORS))
    if op is ops.BYTE_SWAP or op is ops.BIT_REVERSE or (op is ops.TRAILING_ZEROS and type_.bits < 64):
        return chain(name, _turned(op, type_))
    if code in _DIVISIONS:
        return Rule(name, (VECTOR_LATE, VECTOR_LATE), VECTOR, lanes.division, temps=(INTS, INTS, INTS))
    if (op is ops.MUL or op is ops.MUL_HIGH) and type_.bits == 64:
        return Rule(name, (VECTOR_LATE, VECTOR_LATE), VECTOR, lanes.multiply_64)
    if op is ops.MUL_HIGH:
        return Rule(name, (VECTOR, VECTOR), VECTOR, lanes.multiply_high, temps=(VECTORS,))
    if op is ops.POPCOUNT:
        return chain(name, _popcount(type_))
    if op is ops.CONVERT_SATURATED:
        return _saturated(instr)
    if op is ops.LOOKUP_BYTES:
        return Rule(name, (VECTOR, VECTOR), VECTOR, lanes.lookup, temps=(VECTORS,))
    if op is ops.SUM_GROUPS:
        if type_.bits != 2 * instr.source.bits:
            return None
        return one(name, (i.SADDLP if instr.source.signed else i.UADDLP)[arrangement(instr.source)])
    if op is ops.DOT:
        if type_.bits != 2 * instr.source.bits or bytes_of(type_) != 16:
            return None
        return Rule(name, (VECTOR, VECTOR_LATE), VECTOR, lanes.dot, temps=(VECTORS,))
    if op is ops.DOT_ADD:
        if instr.source.bits != 8 or type_.bits != 32 or bytes_of(type_) != 16:
            return None
        return Rule(name, (VECTOR_LATE, VECTOR_LATE, VECTOR), VECTOR, lanes.dot_add, tied=2, temps=(VECTORS, VECTORS))
    if op is ops.MUL_WIDE:
        if bytes_of(instr.source) > 8:
            return None
        return one(name, (i.SMULL if type_.signed else i.UMULL)[arrangement(instr.source)])
    families = _LANES.get(code)
    row = families[0 if type_.signed else 1].get(shape) if families is not None else None
    return one(name, row) if row is not None else None


def dot_product(instr: Instr) -> Rule | None:
    """SDOT and UDOT (Arm ARM, C7.2: FEAT_DotProd) for bytes added up in 32-bit lanes; None of anything else."""
    if instr.op is not ops.DOT_ADD or instr.source.bits != 8 or instr.type.bits != 32:
        return None
    row = (i.SDOT if instr.source.signed else i.UDOT)[arrangement(instr.type)]
    return one(instr.op.name, row, (2, 0, 1))


def _popcount(type_: Type) -> _Steps:
    """The bits of each byte, then sums of two neighbours until lanes are as wide as the type's."""
    size = 16 if bytes_of(type_) == 16 else 8
    steps: _Steps = [(i.CNT[f"{size}b"], ())]
    for bits, narrow in ((8, "b"), (16, "h"), (32, "s")):
        if bits < type_.bits:
            steps.append((i.UADDLP[f"{size * 8 // bits}{narrow}"], ()))
    return steps


def _saturated(instr: Instr) -> Rule | None:
    """Lanes made narrower by halves, each step saturating: what became unsigned is so from then on."""
    type_, source = instr.type, instr.source
    if type_.bits >= source.bits or (type_.signed and not source.signed):
        return None
    steps: _Steps = []
    bits = source.bits
    family = i.SQXTN if type_.signed else i.SQXTUN if source.signed else i.UQXTN
    while bits > type_.bits:
        bits //= 2
        steps.append((family[{8: "8b", 16: "4h", 32: "2s"}[bits]], ()))
        family = i.SQXTN if type_.signed else i.UQXTN
    return chain(instr.op.name, steps)


def _turned(op: ops.Op, type_: Type) -> _Steps:
    """The bytes of lanes in the opposite order, the bits of each byte, and what leads then."""
    size = 16 if bytes_of(type_) == 16 else 8
    steps: _Steps = []
    if type_.bits > 8:
        steps.append(({16: i.REV16_V, 32: i.REV32_V, 64: i.REV64}[type_.bits][f"{size}b"], ()))
    if op is not ops.BYTE_SWAP:
        steps.append((i.RBIT_V[f"{size}b"], ()))
    if op is ops.TRAILING_ZEROS:
        steps.append((i.CLZ_V[arrangement(type_)], ()))
    return steps


def _lanes_compared(instr: Instr) -> Rule | None:
    type_ = instr.type
    shape = arrangement(type_)
    code = instr.op.code
    if instr.args[1] < 0:
        with_0 = _COMPARED_WITH_0.get(code)
        return one(instr.op.name, with_0[1 if type_.is_float else 0][shape], (0,), constants=1) if with_0 is not None else None
    known = _LANES_COMPARED.get(code)
    if known is None:
        return None
    signed, unsigned, of_floats, order = known
    return one(instr.op.name, (of_floats if type_.is_float else signed if type_.signed else unsigned)[shape], order)


def _reduction(f: Function, instr: Instr) -> Rule | None:
    type_ = instr.type
    name = instr.op.name
    scalar = _use(type_.element)
    across = _ACROSS.get(instr.op.code)
    if across is not None and type_.is_integer and bytes_of(type_) >= 8:
        row = across[0 if type_.signed else 1].get(arrangement(type_))
        if row is not None:
            return Rule(name, (VECTOR,), scalar, lanes.Across(type_, row).emit, temps=(VECTORS,))
    combine = _combine(f, _REDUCTIONS[instr.op.code], type_)
    if combine is None:
        return None
    return Rule(name, (VECTOR_LATE,), scalar, lanes.Reduce(type_, combine).emit, temps=(VECTORS, VECTORS, VECTORS))


def _combine(f: Function, op: ops.Op, type_: Type) -> lanes.Combine | None:
    """How two halves become one; in partial vectors as on lanes of 8 bytes."""
    shape = arrangement(type_)
    least = op is ops.MIN

    def by(row: Row) -> lanes.Combine:
        return lambda asm, rd, a, b, spare: asm.emit(row, rd, a, b)

    if op.code in _BITWISE:
        return by(_BITWISE[op.code][0][bytewise(type_)])
    if op is ops.MIN or op is ops.MAX:
        if type_.is_float and f.options.fastmath:
            return by((i.FMINNM_V if least else i.FMAXNM_V)[shape])
        if type_.is_float or type_.bits == 64:
            compare = (i.FCMGT if type_.is_float else i.CMGT if type_.signed else i.CMHI)[shape]
            return lambda asm, rd, a, b, spare: lanes.better(asm, compare, bytewise(type_), least, rd, a, b, spare)
        return by((i.SMIN if type_.signed else i.UMIN)[shape] if least else (i.SMAX if type_.signed else i.UMAX)[shape])
    if type_.is_float:
        known = _FLOAT.get(op.code)
        return by(known[1][shape]) if known is not None and known[1] is not None else None
    if op is ops.MUL and type_.bits == 64:
        return lanes.multiply_lanes_64
    families = _LANES.get(op.code)
    return by(families[0][shape]) if families is not None else None


# --- conversions ----------------------------------------------------------------------------------------------------


def _resized(source: int, to: int, signed: bool, saturate: str = "") -> _Steps:
    """Lanes of integers wider or narrower, by halves and doubles; narrower ones wrap, or saturate as ``s`` or ``u``."""
    steps: _Steps = []
    narrow = i.SQXTN if saturate == "s" else i.UQXTN if saturate == "u" else i.XTN
    while source < to:
        steps.append(((i.SSHLL if signed else i.USHLL)[{8: "8b", 16: "4h", 32: "2s"}[source]], (0,)))
        source *= 2
    while source > to:
        source //= 2
        steps.append((narrow[{8: "8b", 16: "4h", 32: "2s"}[source]], ()))
    return steps


def _floats_resized(source: int, to: int) -> _Steps:
    """Lanes of floats wider, or narrower and rounded once: an f64 to odd first where it becomes an f16 (FCVTXN)."""
    steps: _Steps = []
    if source == 64 and to == 16:
        return [(i.FCVTXN["2s"], ()), (i.FCVTN["4h"], ())]
    while source < to:
        steps.append((i.FCVTL["4h" if source == 16 else "2s"], ()))
        source *= 2
    if source > to:
        steps.append((i.FCVTN["4h" if to == 16 else "2s"], ()))
    return steps


def _whole(bits: int, lanes_: int) -> str:
    """The arrangement of so many lanes of 16, 32 or 64 bits."""
    if bits == 16:
        return "8h" if lanes_ > 4 else "4h"
    return "2d" if bits == 64 else "4s" if lanes_ > 2 else "2s"


def _conversion(instr: Instr) -> Rule | None:
    type_, source = instr.type, instr.source
    name = instr.op.name
    if type_.lanes:
        return _lanes_converted(instr)
    if type_.is_float:
        if source.is_float:
            return Rule(name, (VECTOR,), VECTOR, floats.convert_floats)
        return Rule(name, (INT,), VECTOR, floats.from_int)
    if source is F16 and type_.bits == 16:
        return Rule(name, (VECTOR,), INT, floats.to_short, temps=(VECTORS,))
    if source.is_float:
        return Rule(name, (VECTOR,), INT, floats.to_int) if type_.bits >= 32 and type_ is not BOOL else None
    return Rule(name, (INT,), INT, integers.convert_ints)


def _half(instr: Instr) -> Rule | None:
    """Between f32 and the bits of f16, of which the scalar instructions clear what is above them."""
    widens = instr.op is ops.FROM_F16
    if (instr.type if widens else instr.source).element is not F32 or (instr.source if widens else instr.type).element is not U16:
        return None
    if instr.type.lanes:
        return chain(instr.op.name, [((i.FCVTL if widens else i.FCVTN)["4h"], ())])
    if widens:
        return Rule(instr.op.name, (INT,), VECTOR, floats.from_half)
    return Rule(instr.op.name, (VECTOR,), INT, floats.to_half, temps=(VECTORS,))


def _lanes_converted(instr: Instr) -> Rule | None:
    type_, source = instr.type, instr.source
    name = instr.op.name
    count = type_.lanes
    if type_.is_integer and source.is_integer:
        return chain(name, _resized(source.bits, type_.bits, source.signed))
    if type_.is_float and source.is_float:
        return chain(name, _floats_resized(source.bits, type_.bits))
    if type_.is_float:
        if source.bits == 64 and type_.bits == 32:
            return Rule(name, (VECTOR_LATE,), VECTOR, lanes.round_quads, temps=(VECTORS,))
        # Integers no wider than the floats: widened, exactly, then rounded once. Wider ones are f16: of those that it does not make infinities wider floats hold all digits.
        wide = max(type_.bits, source.bits)
        steps = _resized(source.bits, wide, source.signed)
        steps.append(((i.SCVTF_V if source.signed else i.UCVTF_V)[_whole(wide, count)], ()))
        while wide > type_.bits:
            wide //= 2
            steps.append((i.FCVTN["4h" if wide == 16 else "2s"], ()))
        return chain(name, steps)
    # Towards zero and saturating at each step.
    wide = max(source.bits, type_.bits)
    steps = _floats_resized(source.bits, wide)
    steps.append(((i.FCVTZS_V if type_.signed else i.FCVTZU_V)[_whole(wide, count)], ()))
    return chain(name, steps + _resized(wide, type_.bits, type_.signed, "s" if type_.signed else "u"))


# --- calls ------------------------------------------------------------------------------------------------------------

_CALLS: Final[dict[tuple[int, ...], Rule]] = {}


def _fixed(register: int) -> Use:
    return Use(REGISTERS[register].cls, register)


def _call(f: Function, instr: Instr) -> Rule:
    callee = f.callees[instr.imm]
    for type_ in (*callee.params, callee.result):
        if type_ is not VOID and (type_.lanes or (type_.is_float and type_.bits == 16)):
            raise AbiError(f"{callee.name}: the aapcs64 convention here passes scalars (integers, pointers, f32, f64), not {type_.name}", line=instr.line)
    result = -1
    if callee.result is not VOID:
        result = AAPCS64.float_result if callee.result.is_float else AAPCS64.int_result
    places = tuple(place for place in AAPCS64.assign_for(callee) if place >= 0)
    if instr.op in ops.INDIRECT:
        places = (control.CALLED, *places)
    kills = destroyed_by_calls(f)
    leaves = instr.op.effect == ops.CONTROL
    if leaves:
        kills = 0
        result = -1
    key = (kills, result, *places)
    known = _CALLS.get(key)
    if known is None:
        made = _fixed(result) if result >= 0 else None
        if leaves:
            _CALLS[key] = Rule("tail_call", tuple(_fixed(place) for place in places), None, control.tail_call)
            return _CALLS[key]
        known = _CALLS[key] = Rule("call", tuple(_fixed(place) for place in places), made, control.call, kills=kills)
    return known


_RETURN_INT: Final = Rule("ret", (_fixed(AAPCS64.int_result),), None, control.ret)
_RETURN_FLOAT: Final = Rule("ret", (_fixed(AAPCS64.float_result),), None, control.ret)
_RETURN: Final = Rule("ret", (), None, control.ret)


def _return(f: Function) -> Rule:
    result = f.result
    if result is VOID:
        return _RETURN
    if result.lanes or (result.is_float and result.bits == 16):
        raise AbiError(f"the aapcs64 convention here returns scalars (integers, pointers, f32, f64), not {result.name}")
    return _RETURN_FLOAT if result.is_float else _RETURN_INT


# --- constants ---------------------------------------------------------------------------------------------------------

_COPIED: Final = frozenset(op.code for op in (ops.COPY, ops.RET, ops.ALLOCA, *ops.NUMBERED, *ops.CALLING))


def immediate(instr: Instr, position: int, type_: Type, value: Any) -> bool:
    """Whether a constant operand has room inside its instruction."""
    op = instr.op
    code = op.code
    if code in _COPIED:
        return True
    if op is ops.SWITCH or op is ops.JUMP_TABLE:
        return position == 1
    if op is ops.SLIDE:
        return position == 2
    if op in ops.INDEXED:
        return position == 0
    if type_.lanes:
        if code in _SHIFTS or code in _ROTATIONS:
            return position == 1
        return position == 1 and code in _COMPARED_WITH_0 and (type_.signed or type_.is_float or op is ops.EQ) and float(value) == 0.0
    if type_.is_float:
        if op is ops.STORE_AT:
            return position == 0 and float(value) == 0.0 and str(float(value))[0] != "-"
        return position == 1 and float(value) == 0.0 and (code in _COMPARES or op.compare != "")
    number = int(value)
    if op is ops.STORE_AT or op is ops.STORE_ARG:
        return position == 0 and number == 0
    if op is ops.FOR:
        return position != 1 or integers.fits_add(number)
    if position != 1:
        return number == 0 and ((position == 2 and op is ops.SELECT) or (position > 1 and op in ops.CHOICES))
    if code in _SHIFTS or code in _ROTATIONS or op is ops.SHL_MODULO or op is ops.SHR_MODULO:
        return True
    if op.compare in ops.TESTS or ops.CHOICES.get(op, "") in ops.TESTS:
        # (A choice's constant is of the type compared.)
        return integers.fits_logical(type_, number)
    if op is ops.ADD or op is ops.SUB or code in _COMPARES or op in ops.CHOICES or op.compare:
        return integers.fits_add(number)
    if op is ops.AND or op is ops.OR or op is ops.XOR:
        return integers.fits_logical(type_, number)
    return number == 0 and op is ops.SELECT
