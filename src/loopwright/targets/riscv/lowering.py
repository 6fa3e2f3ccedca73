"""Which rule serves which operation and type on RISC-V, and which constants stay inside an instruction.

The rules' emitting functions are in ``integers.py``, ``floats.py``, ``moves.py`` and ``control.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.errors import AbiError, UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.roles import operand_types
from loopwright.targets.riscv import control, floats, integers, moves
from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.abi import LP64D, RiscVAssembler
from loopwright.targets.riscv.moves import far_offset
from loopwright.targets.riscv.operands import SIGN, SIGN_NOT, SIGN_XOR, One, Pair, float_bits, roles, signed_value
from loopwright.targets.riscv.registers import FLOATS, INTS, REGISTERS
from loopwright.targets.target import Rule, Use
from loopwright.types import BOOL, PTR, VOID, Type

__all__ = ["immediate", "rule_for"]

Emit = Callable[[RiscVAssembler, Function, Instr], None]

_INT: Final = Use(INTS)
_FLOAT: Final = Use(FLOATS)
#: Read after the result has been begun.
_INT_LATE: Final = Use(INTS, late=True)

_II: Final = (_INT, _INT)
_FF: Final = (_FLOAT, _FLOAT)


def _rule(
    name: str,
    uses: tuple[Use, ...],
    result: Use | None,
    emit: Emit,
    tied: int = -1,
    commutes: bool = False,
    kills: int = 0,
    temps: tuple[int, ...] = (),
    clobbers: int = 0,
) -> Rule:
    """A rule whose instructions carry the user's line."""

    def emit_at_line(asm: RiscVAssembler, f: Function, instr: Instr) -> None:
        asm.line = instr.line
        emit(asm, f, instr)

    return Rule(name, uses, result, emit_at_line, tied, commutes, kills, temps, clobbers)


class Table:
    """Rules by operation and kind of T: ``i`` integers and pointers, ``f`` floats, ``b`` bool, ``-`` no type."""

    def __init__(self) -> None:
        self.rules: dict[tuple[int, str], Rule] = {}

    def add(self, op: ops.Op, kinds: str, uses: tuple[Use, ...], result: Use | None, emit: Emit, temps: tuple[int, ...] = ()) -> None:
        """One row for each kind."""
        for kind in kinds:
            self.rules[op.code, kind] = _rule(op.name, uses, result, emit, commutes=op.commutes, temps=temps)

    def one(self, op: ops.Op, rows: Pair, order: tuple[int, ...] = ()) -> None:
        """An operation on floats that is one instruction, of f32 or of f64; what it demands follows from the roles of the instruction's operands.

        ``order``: the operation's operands that it reads, in its order; as they stand if left out.
        """
        written, read = roles(rows[0])
        order = order or tuple(range(len(read)))
        uses = [_FLOAT] * (max(order) + 1)
        for n, cls in zip(order, read, strict=True):
            uses[n] = _FLOAT if cls == FLOATS else _INT
        self.add(op, "f", tuple(uses), _FLOAT if written == FLOATS else _INT, One(rows, order).emit)


def _table() -> dict[tuple[int, str], Rule]:
    t = Table()
    #     operation       kinds   operands                             result   emitted by         scratch registers
    t.add(ops.ADD, "i", _II, _INT, integers.add)
    t.add(ops.SUB, "i", _II, _INT, integers.sub)
    t.add(ops.MUL, "i", _II, _INT, integers.mul)
    t.add(ops.DIV_TRUNC, "i", _II, _INT, integers.divide)
    t.add(ops.REM_TRUNC, "i", _II, _INT, integers.divide)
    t.add(ops.NEG, "i", (_INT,), _INT, integers.neg)
    t.add(ops.ABS, "i", (_INT,), _INT, integers.abs_, (INTS,))
    for op in (ops.AND, ops.OR, ops.XOR):
        t.add(op, "ib", _II, _INT, integers.bitwise)
    t.add(ops.ANDNOT, "ib", (_INT, _INT_LATE), _INT, integers.andnot)
    t.add(ops.NOT, "ib", (_INT,), _INT, integers.not_)
    for op in (ops.SHL, ops.SHR):
        t.add(op, "i", _II, _INT, integers.shift)
    for op in (ops.SHL_MODULO, ops.SHR_MODULO):
        t.add(op, "i", _II, _INT, integers.shift_modulo)
    for op in (ops.ADD, ops.SUB, ops.MUL, ops.DIV):
        t.one(op, floats.BINARY[op.code])
    for op in ops.FUSED:
        t.one(op, floats.FUSED[op.code])
    t.one(ops.SQRT, (i.FSQRT_S, i.FSQRT_D))
    t.one(ops.NEG, SIGN_NOT, (0, 0))
    t.one(ops.ABS, SIGN_XOR, (0, 0))
    # With ``fastmath``: NaN and signed zeros do not count.
    t.one(ops.MIN, (i.FMIN_S, i.FMIN_D))
    t.one(ops.MAX, (i.FMAX_S, i.FMAX_D))
    t.one(ops.COPY_SIGN, SIGN)
    t.add(ops.MUL_HIGH, "i", _II, _INT, integers.mul_high)
    for op in ops.COMPARISONS.values():
        t.add(op, "i", _II, _INT, integers.compare)
        t.add(op, "f", _FF, _INT, floats.compare_float)
    for name in ops.CONDITIONS:
        for op in (ops.IF_CMP[name], ops.BR_CMP[name], ops.JUMP_CMP[name]):
            # A comparison that has become part of a bracket is emitted when jumps have replaced brackets.
            t.add(op, "ib", _II, None, integers.jump_compare)
            t.add(op, "f", _FF, None, floats.jump_compare_float, (INTS,))
    t.add(ops.COPY, "ib", (_INT,), _INT, moves.copy)
    t.add(ops.COPY, "f", (_FLOAT,), _FLOAT, moves.copy)
    t.add(ops.SWAP, "ib", _II, None, moves.swap)
    t.add(ops.SWAP, "f", _FF, None, moves.swap)
    for op in (ops.IF, ops.BR_IF, ops.JUMP_IF, ops.JUMP_UNLESS):
        t.add(op, "b-", (_INT,), None, control.jump_if)
    for op in (ops.BLOCK, ops.LOOP, ops.ELSE, ops.END, ops.BR):
        t.add(op, "b-", (), None, control.nothing)
    t.add(ops.JUMP, "-", (), None, control.jump)
    t.add(ops.LABEL, "-", (), None, control.label)
    t.add(ops.PROLOGUE, "-", (), None, control.prologue)
    t.add(ops.EPILOGUE, "-", (), None, control.epilogue)
    t.add(ops.STORE_ARG, "ib", (_INT,), None, control.store_arg)
    t.add(ops.STORE_ARG, "f", (_FLOAT,), None, control.store_arg)
    return t.rules


_RULES: Final = _table()


def _conversion(name: str, source: Use, result: Use, emit: Emit, temps: tuple[int, ...] = ()) -> Rule:
    return _rule(name, (source,), result, emit, temps=temps)


#: By (float source, float result).
_CONVERT: Final[dict[tuple[bool, bool], Rule]] = {
    (False, False): _conversion("convert", _INT, _INT, moves.convert_ints),
    (False, True): _conversion("convert", _INT, _FLOAT, moves.convert_to_float),
    (True, False): _conversion("convert", _FLOAT, _INT, moves.convert_to_int, (INTS,)),
    (True, True): _conversion("convert", _FLOAT, _FLOAT, moves.convert_floats),
}
_CONVERT_FITTING: Final = _conversion("convert_unchecked", _FLOAT, _INT, moves.convert_fitting_to_int)
_CONVERT_TO_BOOL: Final = _conversion("convert", _FLOAT, _INT, moves.convert_to_bool, (FLOATS,))
_LOCAL: Final = _rule("local", (_INT,), _INT, moves.local_address)
_BITCAST: Final[dict[tuple[bool, bool], Rule]] = {
    (a, b): _conversion("bitcast", _FLOAT if a else _INT, _FLOAT if b else _INT, moves.bitcast) for a in (False, True) for b in (False, True)
}
_COPY_FLOAT_CONSTANT: Final = _rule("copy", (_FLOAT,), _FLOAT, moves.copy, temps=(INTS,))
#: By counts in registers: of what sort they are is seen in a scratch register.
_SHIFT_VARIABLE: Final = {op.code: _rule(op.name, (_INT, _INT_LATE), _INT, integers.shift, temps=(INTS,)) for op in (ops.SHL, ops.SHR)}
_SHIFT_NARROW: Final = {op.code: _rule(op.name, _II, _INT, integers.shift_modulo, temps=(INTS,)) for op in (ops.SHL_MODULO, ops.SHR_MODULO)}
_ABS_UNSIGNED: Final = _rule("abs", (_INT,), _INT, integers.abs_)
_MEMORY: Final[dict[tuple[int, bool, bool, bool], Rule]] = {}
_CALLS: Final[dict[tuple[int, ...], Rule]] = {}

_FLOAT_TYPES: Final = frozenset([32, 64])


def _kind(type_: Type) -> str:
    if type_ is VOID:
        return "-"
    if type_.lanes or (type_.is_float and type_.bits not in _FLOAT_TYPES) or type_.is_mask or type_.name == "bf16":
        return "?"
    return "f" if type_.is_float else "b" if type_ is BOOL else "i"


def rule_for(f: Function, instr: Instr) -> Rule:
    """The rule that emits ``instr``. Raises ``UnsupportedOperationError`` when there is none."""
    found = _choose(f, instr)
    for position, a in enumerate(instr.args):
        if a < 0 and not _in_place(f, instr, position):
            return _with_constants(f, instr, found)
    return found


def _in_place(f: Function, instr: Instr, position: int) -> bool:
    a = instr.args[position]
    return instr.op is ops.COPY or immediate(instr, position, f.const_types[~a], f.const_values[~a])


def _choose(f: Function, instr: Instr) -> Rule:
    op = instr.op
    type_ = instr.type
    if op is ops.LOAD_AT or op is ops.STORE_AT or op is ops.ADDRESS:
        return _memory_rule(instr)
    if op is ops.LOCAL:
        return _LOCAL
    if op is ops.CALL or op is ops.CALL_VOID:
        return _call_rule(f, instr)
    if op is ops.RET:
        return _return_rule(f.result)
    if op is ops.CONVERT or op in ops.UNCHECKED or op is ops.BITCAST:
        if _kind(type_) == "?" or _kind(instr.source) == "?":
            raise _unsupported(instr)
        if type_ is BOOL and instr.source.is_float:
            return _CONVERT_TO_BOOL
        if op in ops.UNCHECKED:
            return _CONVERT_FITTING
        return (_CONVERT if op is ops.CONVERT else _BITCAST)[instr.source.is_float, type_.is_float]
    found = _RULES.get((op.code, _kind(type_)))
    if found is None:
        raise _unsupported(instr)
    if op is ops.ABS and not type_.is_float and not type_.signed:
        return _ABS_UNSIGNED
    if op is ops.COPY:
        if type_.is_float and instr.args[0] < 0 and float_bits(type_, float(f.const_values[~instr.args[0]])):
            return _COPY_FLOAT_CONSTANT
    elif op.code in _SHIFT_VARIABLE and instr.args[1] >= 0:
        return _SHIFT_VARIABLE[op.code]
    elif type_.bits < 32 and op.code in _SHIFT_NARROW and instr.args[1] >= 0:
        return _SHIFT_NARROW[op.code]
    return found


def _unsupported(instr: Instr) -> UnsupportedOperationError:
    of = f".{instr.type.name}" if instr.type is not VOID else ""
    source = f".{instr.source.name}" if instr.source is not VOID else ""
    why = ": it computes with scalars only (integers, f32, f64)" if _kind(instr.type) == "?" or _kind(instr.source) == "?" else ""
    return UnsupportedOperationError(f"rv64gc has no {instr.op.name}{of}{source}{why}", line=instr.line)


def _memory_rule(instr: Instr) -> Rule:
    mem = instr.mem
    assert mem is not None
    kind = _kind(instr.type)
    if kind == "?":
        raise _unsupported(instr)
    is_float = kind == "f" and not (instr.op is ops.STORE_AT and instr.args[0] < 0)
    far = far_offset(mem.disp)
    key = (instr.op.code, is_float, mem.indexed, far)
    known = _MEMORY.get(key)
    if known is None:
        value = _FLOAT if is_float else _INT
        base: tuple[Use, ...] = _II if mem.indexed else (_INT,)
        temps = (INTS,) * (int(mem.indexed) + int(far))
        if instr.op is ops.STORE_AT:
            known = _rule("store_at", (value, *base), None, moves.store, temps=temps)
        else:
            known = _rule(instr.op.name, base, value, moves.load if instr.op is ops.LOAD_AT else moves.address, temps=temps)
        _MEMORY[key] = known
    return known


def _use_of(register: int) -> Use:
    return Use(REGISTERS[register].cls, register)


_CALLER_SAVED: Final = (1 << len(REGISTERS)) - 1 & ~LP64D.callee_saved


def _call_rule(f: Function, instr: Instr) -> Rule:
    callee = f.callees[instr.imm]
    for type_ in (*callee.params, callee.result):
        if type_ is not VOID and _kind(type_) == "?":
            raise AbiError(f"{callee.name}: the lp64d convention here passes scalars (integers, pointers, f32, f64), not {type_.name}", line=instr.line)
    result = -1
    if callee.result is not VOID:
        result = LP64D.float_result if callee.result.is_float else LP64D.int_result
    places = tuple(place for place in LP64D.assign(callee.params) if place >= 0)
    key = (result, *places)
    known = _CALLS.get(key)
    if known is None:
        uses = tuple(_use_of(place) for place in places)
        known = _rule("call", uses, _use_of(result) if result >= 0 else None, control.call, kills=_CALLER_SAVED)
        _CALLS[key] = known
    return known


_RETURNS: Final = {
    "-": _rule("ret", (), None, control.ret),
    "f": _rule("ret", (_use_of(LP64D.float_result),), None, control.ret),
    "i": _rule("ret", (_use_of(LP64D.int_result),), None, control.ret),
}


def _return_rule(result: Type) -> Rule:
    kind = _kind(result)
    if kind == "?":
        raise AbiError(f"the lp64d convention here returns scalars (integers, pointers, f32, f64), not {result.name}")
    return _RETURNS["i" if kind == "b" else kind]


# --- constants -----------------------------------------------------------------------------------------------

_ALL_SHIFTS: Final = (ops.SHL, ops.SHR, ops.SHL_MODULO, ops.SHR_MODULO)
_ZERO_ANYWHERE: Final = frozenset(
    op.code
    for op in (
        *(ops.ADD, ops.SUB, ops.MUL, ops.MUL_HIGH, ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR, ops.NEG, ops.ABS, ops.MIN, ops.MAX),
        *(ops.AND, ops.OR, ops.XOR, ops.ANDNOT, ops.NOT, *_ALL_SHIFTS, ops.SELECT, ops.CONVERT, ops.BITCAST, ops.STORE_ARG),
        *ops.COMPARISONS.values(),
        *ops.IF_CMP.values(),
        *ops.BR_CMP.values(),
        *ops.JUMP_CMP.values(),
        *(ops.IF, ops.BR_IF, ops.JUMP_IF, ops.JUMP_UNLESS),
    )
)
_BITWISE: Final = frozenset(op.code for op in (ops.AND, ops.OR, ops.XOR))
_BY_POWERS: Final = frozenset(op.code for op in (ops.MUL, ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR))
_SHIFTS: Final = frozenset(op.code for op in _ALL_SHIFTS)


def immediate(instr: Instr, position: int, type_: Type, value: int | float | bool) -> bool:
    """Whether a constant operand has room inside its instruction.

    Comparisons take none but 0: fused with a branch they have no room for others.
    """
    op = instr.op
    code = op.code
    if op is ops.COPY or op is ops.LOCAL:
        return True
    if op is ops.CALL or op is ops.CALL_VOID or op is ops.RET:
        # Goes straight into the register that the convention names.
        return True
    if type_.is_float:
        return (op is ops.STORE_AT or op is ops.STORE_ARG) and position == 0 and float_bits(type_, float(value)) == 0
    if op is ops.STORE_AT:
        return position == 0 and value == 0
    if op is ops.FOR:
        return position != 1 or value == 0
    number = signed_value(type_, int(value))
    if number == 0:
        return code in _ZERO_ANYWHERE and not (position == 1 and code in _BY_POWERS and op is not ops.MUL)
    if position != 1:
        return False
    if op is ops.ADD or code in _BITWISE:
        return -2048 <= number <= 2047
    if op is ops.SUB:
        return -2047 <= number <= 2048
    if code in _SHIFTS:
        return True
    return code in _BY_POWERS and number > 0 and number & (number - 1) == 0


def _with_constants(f: Function, instr: Instr, found: Rule) -> Rule:
    """The rule with scratch registers for the constants that have no room, loaded in front.

    The ``immediates`` pass leaves few of these: what later passes made of several operations.
    """
    moved: list[tuple[int, int, Type]] = []
    temps = list(found.temps)
    types = operand_types(f, instr)
    for position, a in enumerate(instr.args):
        if a < 0 and not _in_place(f, instr, position):
            type_ = f.const_types[~a] if types[position] is VOID or types[position] is PTR else types[position]
            moved.append((position, len(temps), type_))
            temps.append(FLOATS if type_.is_float else INTS)
            if type_.is_float:
                temps.append(INTS)
    # Asked again after allocation, when the scratch registers are among the operands already.
    count = len(found.uses)

    def emit(asm: RiscVAssembler, function: Function, late: Instr) -> None:
        args = list(late.args)
        for position, temp, type_ in moved:
            register = late.args[count + temp]
            moves.copy(asm, function, Instr(ops.COPY, type_, register, [args[position], *late.args[count + temp + 1 :]]))
            args[position] = register
        filled = late.copy()
        filled.args = args[: count + len(found.temps)]
        found.emit(asm, function, filled)

    return _rule(found.name, found.uses, found.result, emit, found.tied, False, found.kills, tuple(temps), found.clobbers)
