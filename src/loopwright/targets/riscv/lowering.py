"""Which rule serves which operation and type on RISC-V, and which constants stay inside an instruction.

Operations on data are rows of the table in ``selection.py``. Here are the rest: moves, calls, returns and frames, whose emitting functions are in ``moves.py`` and
``control.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.errors import AbiError, UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.roles import operand_types
from loopwright.targets.riscv import control, moves
from loopwright.targets.riscv.abi import LP64D, RiscVAssembler
from loopwright.targets.riscv.operands import float_bits, signed_value
from loopwright.targets.riscv.registers import FLOATS, INTS, REGISTERS
from loopwright.targets.riscv.selection import choose, room
from loopwright.targets.target import Rule, Use
from loopwright.types import PTR, VOID, Type

__all__ = ["immediate", "rule_for"]

Emit = Callable[[RiscVAssembler, Function, Instr], None]

_INT: Final = Use(INTS)
_FLOAT: Final = Use(FLOATS)
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


#: What is no row of the table in ``selection.py``, by operation and kind of T: ``i`` integers, pointers and bool, ``f`` floats, ``-`` no type.
_RULES: Final[dict[tuple[int, str], Rule]] = {
    (ops.COPY.code, "i"): _rule("copy", (_INT,), _INT, moves.copy),
    (ops.COPY.code, "f"): _rule("copy", (_FLOAT,), _FLOAT, moves.copy),
    (ops.SWAP.code, "i"): _rule("swap", _II, None, moves.swap),
    (ops.SWAP.code, "f"): _rule("swap", _FF, None, moves.swap),
    (ops.STORE_ARG.code, "i"): _rule("store_arg", (_INT,), None, control.store_arg),
    (ops.STORE_ARG.code, "f"): _rule("store_arg", (_FLOAT,), None, control.store_arg),
    (ops.LOCAL.code, "i"): _rule("local", (_INT,), _INT, moves.local_address),
    (ops.TABLE.code, "i"): _rule("table", (_INT,), _INT, moves.table_address),
    (ops.INCOMING.code, "i"): _rule("incoming", (_INT,), _INT, moves.incoming_address),
    (ops.STACK_POINTER.code, "i"): _rule("stack_pointer", (), _INT, moves.stack_pointer),
    (ops.GLOBAL.code, "i"): _rule("global", (_INT,), _INT, moves.symbol_address),
    (ops.FUNCTION.code, "i"): _rule("function", (_INT,), _INT, moves.symbol_address),
    **{(op.code, "-"): _rule(op.name, (), None, control.nothing) for op in (ops.BLOCK, ops.LOOP, ops.ELSE, ops.END, ops.BR)},
    **{(op.code, "-"): _rule(op.name, (), None, control.nothing) for op in (ops.BR_CASE, ops.IF_CASE)},
    (ops.JUMP_CASE.code, "-"): _rule("jump_case", (), None, control.jump_case),
    **{(op.code, "-"): _rule(op.name, (Use(INTS, late=True), _INT), None, control.jump_table, temps=(INTS, INTS)) for op in (ops.SWITCH, ops.JUMP_TABLE)},
    (ops.JUMP.code, "-"): _rule("jump", (), None, control.jump),
    (ops.LABEL.code, "-"): _rule("label", (), None, control.label),
    (ops.PROLOGUE.code, "-"): _rule("prologue", (), None, control.prologue),
    (ops.EPILOGUE.code, "-"): _rule("epilogue", (), None, control.epilogue),
}
_COPY_FLOAT_CONSTANT: Final = _rule("copy", (_FLOAT,), _FLOAT, moves.copy, temps=(INTS,))
_ALLOCA: Final = _rule("alloca", _II, _INT, moves.alloca)
_BARRIER: Final = _rule("barrier", (), None, control.nothing)
#: Of keys, in place of the result's register.
_LEAVES: Final = -2
_CALLS: Final[dict[tuple[int, ...], Rule]] = {}

_FLOAT_TYPES: Final = frozenset([32, 64])


def _kind(type_: Type) -> str:
    if type_ is VOID:
        return "-"
    if type_.lanes or (type_.is_float and type_.bits not in _FLOAT_TYPES) or type_.is_mask or type_.name == "bf16":
        return "?"
    return "f" if type_.is_float else "i"


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
    if op is ops.ALLOCA:
        return _ALLOCA
    if op is ops.BARRIER:
        return _BARRIER
    if op in ops.CALLING:
        return _call_rule(f, instr)
    if op is ops.RET:
        return _return_rule(f.result)
    found = choose(f, instr)
    if found is None:
        if op is ops.COPY and type_.is_float and instr.args[0] < 0 and float_bits(type_, float(f.const_values[~instr.args[0]])):
            return _COPY_FLOAT_CONSTANT
        found = _RULES.get((op.code, _kind(type_)))
    if found is None:
        raise _unsupported(instr)
    return found


def _unsupported(instr: Instr) -> UnsupportedOperationError:
    of = f".{instr.type.name}" if instr.type is not VOID else ""
    source = f".{instr.source.name}" if instr.source is not VOID else ""
    why = ": it computes with scalars only (integers, f32, f64)" if _kind(instr.type) == "?" or _kind(instr.source) == "?" else ""
    return UnsupportedOperationError(f"rv64gc has no {instr.op.name}{of}{source}{why}", line=instr.line)


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
    places = tuple(place for place in LP64D.assign_for(callee) if place >= 0)
    if instr.op in ops.INDIRECT:
        places = (control.CALLED, *places)
    leaves = instr.op.effect == ops.CONTROL
    key = (_LEAVES if leaves else result, *places)
    known = _CALLS.get(key)
    if known is None and leaves:
        known = _CALLS[key] = _rule("tail_call", tuple(_use_of(place) for place in places), None, control.tail_call)
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
    return _RETURNS[kind]


# --- constants -----------------------------------------------------------------------------------------------

_DIVISIONS: Final = frozenset(op.code for op in (ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR))
#: What ``select`` makes sequences of, whose operations have room for 0.
_EXPANDED_LATE: Final = frozenset(op.code for op in (*(ops.MIN, ops.MAX), ops.SELECT))


def immediate(instr: Instr, position: int, type_: Type, value: int | float | bool) -> bool:
    """Whether a constant operand has room inside its instruction, or in those of the sequence that will stand for it."""
    op = instr.op
    if op is ops.COPY or op in ops.NUMBERED:
        return True
    if op is ops.SWITCH or op is ops.JUMP_TABLE:
        return position == 1
    if op.effect == ops.CALLS or op is ops.RET or op in ops.CALLING:
        # Goes straight into the register that the convention names.
        return True
    if op is ops.STORE_ARG:
        return (float_bits(type_, float(value)) if type_.is_float else int(value)) == 0
    if op is ops.FOR:
        return position != 1 or value == 0
    if op.code in _DIVISIONS and not type_.is_float:
        # Powers of two become shifts.
        number = signed_value(type_, int(value))
        return number == 0 if position == 0 else number > 0 and number & (number - 1) == 0
    if op.code in _EXPANDED_LATE and not type_.is_float:
        return value == 0
    return room(instr, position, type_, value)


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
