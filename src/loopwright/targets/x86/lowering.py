"""Which machine code serves which operation of the intermediate representation on x86-64.

Most operations are rows of the table in ``selection.py``. Here are those that need more than a list of instructions: control flow, calls, moves, what depends on
the value of a constant, and what one of several forms serves, as registers will be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets.sequences import shift_count
from loopwright.targets.target import ANY_TIED, LEFT, Rule, Target, Use
from loopwright.targets.x86 import arithmetic, control, gathers, interleaved, moves, one_by_one, strided
from loopwright.targets.x86.assembler import Form, lookup
from loopwright.targets.x86.operands import FLOAT_LETTER, LETTER, register_name, vector_load, vector_store, width
from loopwright.targets.x86.registers import INTS, R11, RAX, RCX, RDX, VECTORS
from loopwright.targets.x86.selection import choose, step_of
from loopwright.targets.x86.sequence import INT, INT_LATE, INT_MEMORY, VECTOR, VECTOR_MEMORY, ByConstant, Sequence, addresses, folded, loads, read, rule
from loopwright.types import F16, PTR, VOID, Type, vector_of

__all__ = ["missing", "rule_for"]

_FUSED: Final[dict[Op, str]] = {ops.FMA: "VFMADD", ops.FMS: "VFMSUB", ops.FNMA: "VFNMADD", ops.FNMS: "VFNMSUB"}

_PART: Final = Rule("part", (), Use(INTS, LEFT), control.part)

_REDUCTIONS: Final[dict[Op, Op]] = {
    ops.REDUCE_ADD: ops.ADD,
    ops.REDUCE_MUL: ops.MUL,
    ops.REDUCE_MIN: ops.MIN,
    ops.REDUCE_MAX: ops.MAX,
    ops.REDUCE_AND: ops.AND,
    ops.REDUCE_OR: ops.OR,
    ops.REDUCE_XOR: ops.XOR,
}

_VECTOR_LATE: Final = Use(VECTORS, late=True)


def missing(target: Target, instr: Instr, hint: str = "") -> UnsupportedOperationError:
    """The error for an operation the target does not have for a type."""
    what = f"{instr.op.name.removesuffix('_at')} on {instr.type.name}" + (f" from {instr.source.name}" if instr.source is not VOID else "")
    most = 8 * _widest(target)
    if max(instr.type.size, instr.source.size) * 8 > most:
        hint = f"its vectors have at most {most} bits"
    return UnsupportedOperationError(f"{what} is not available on {target.name}" + (f"; {hint}" if hint else ""), "", instr.line)


def _is_missing(target: Any, type_: Type) -> bool:
    """Whether it is a float of 16 bits that the target keeps as its bits."""
    return type_.is_float and type_.bits == 16 and (type_.element is not F16 or not target.half_operations)


def _widest(target: Any) -> int:
    """Bytes of the widest vectors."""
    return 64 if target.mask_registers else 32


_BARRIERS: Final = {ops.BARRIER: Rule("barrier", (), None, control.barrier), ops.STORE_FENCE: Rule("store_fence", (), None, control.store_fence)}


def rule_for(target: Any, f: Function, instr: Instr) -> Rule | None:
    """The rule for an instruction; None when this target has none."""
    op = instr.op
    type_, source = instr.type, instr.source
    if max(type_.size, source.size) > _widest(target) or _is_missing(target, type_) or _is_missing(target, source):
        return None
    if op.effect == ops.CONTROL:
        return _control(target, f, instr)
    if op is ops.ALLOCA:
        return Rule("alloca", (INT, INT), INT, moves.alloca)
    if op in ops.BARRIERS:
        return _BARRIERS[op]
    if op.effect == ops.CALLS:
        return _call(target, f, instr)
    special = _SPECIAL.get(op.code)
    if special is not None:
        made = special(target, instr)
        if made is not None:
            return made
    return choose(target, instr, f.options.fastmath)


def _by_text(target: Any, instr: Instr, text: str) -> Rule | None:
    """The rule for instructions written down as in the table."""
    found = read(target, instr.op, instr.type, instr.source, text)
    return rule(instr, found) if found is not None else None


def _by_constant(target: Any, instr: Instr, position: int, text: Callable[[int], str], like: int, memory: bool = True) -> Rule:
    """The rule for instructions that depend on the value of a constant operand; they demand no more than those for the value ``like``.

    ``memory``: whether what may be in memory of those may be so of all.
    """
    emitter = ByConstant(target, position, text)
    found = emitter.sequence(instr, like)
    if not memory:
        found.bits = [0] * found.count
    return rule(instr, found, emit=emitter.emit)


def _without(instr: Instr, uses: tuple[Use, ...], late: bool = False) -> tuple[Use, ...]:
    """The uses of all operands where a load may have become one of them."""
    role = folded(instr, len(uses))
    return uses if role < 0 else uses[:role] + uses[role + 1 :] + addresses(instr, late)


# --- control flow and calls ----------------------------------------------------------------------------------------


def _control(target: Any, f: Function, instr: Instr) -> Rule:
    op = instr.op
    type_ = instr.type
    if op is ops.RET:
        if not instr.args:
            return Rule("ret", (), None, control.return_)
        convention = target.convention
        cls = target.class_of(type_ if type_ is not VOID else f.result)
        place = convention.float_result if cls == VECTORS else convention.int_result
        return Rule("ret", (Use(cls, place),), None, control.return_)
    if op in ops.CALLING:
        return _call(target, f, instr)
    if op is ops.LABEL:
        return Rule("label", (), None, control.label)
    if op is ops.JUMP:
        return Rule("jump", (), None, control.jump)
    if op is ops.PROLOGUE:
        return Rule("prologue", (), None, control.prologue)
    if op is ops.EPILOGUE:
        return Rule("epilogue", (), None, control.epilogue)
    if op is ops.IF or op is ops.BR_IF or op is ops.JUMP_IF:
        return Rule(op.name, (INT_MEMORY,), None, control.JumpBool(5).emit)
    if op is ops.JUMP_UNLESS:
        return Rule(op.name, (INT_MEMORY,), None, control.JumpBool(4).emit)
    if op is ops.JUMP_TABLE:
        return _switch(target, instr)
    if op.compare == "case":
        return Rule(op.name, (), None, control.jump_case if op is ops.JUMP_CASE else control.nothing)
    if op.compare:
        if type_.is_float:
            form = lookup("VUCOMIS" + FLOAT_LETTER[type_.bits], "xmm,xmm")
            exchanged = op.compare in ("lt", "le", "nlt", "nle")
            uses = (VECTOR_MEMORY, VECTOR) if exchanged else (VECTOR, VECTOR_MEMORY)
            return Rule(op.name, _without(instr, uses), None, control.JumpFloat(form, op.compare).emit)
        if op.compare in ops.MASK_TESTS:
            use = Use(target.class_of(type_))
            return Rule(op.name, (use, use), None, control.JumpMasked(op.compare, target.mask_registers).emit)
        condition = arithmetic.conditions(type_)[ops.ORDERED_EQUAL.get(op.compare, op.compare)]
        emit = control.JumpTested(condition).emit if op.compare in ops.TESTS else control.JumpInteger(condition).emit
        return Rule(op.name, _without(instr, _compared(instr)), None, emit)
    return Rule(op.name, (), None, control.nothing)


def _switch(target: Any, instr: Instr) -> Rule:
    return Rule(instr.op.name, (Use(INTS, late=True), INT), None, control.jump_table, temps=(INTS, INTS))


def _call(target: Any, f: Function, instr: Instr) -> Rule:
    callee = f.callees[instr.imm]
    convention = target.convention
    # The address in r11, which no argument is in.
    uses: list[Use] = [Use(INTS, R11)] if instr.op in ops.INDIRECT else []
    floats = 0
    twice: list[tuple[int, int]] = []
    for n, (type_, place) in enumerate(zip(callee.params, convention.assign_for(callee), strict=True)):
        if place >= 0:
            uses.append(Use(target.class_of(type_), place))
            floats += type_.is_float
            if convention.shared_positions and type_.is_float and 0 <= callee.named <= n:
                # Win64 (x64 calling convention, "Varargs"): the callee looks for it in the integer register of its position.
                twice.append((place, convention.int_args[n]))
    counted = floats if convention.shadow == 0 else -1
    if instr.op.effect == ops.CONTROL:
        return Rule("tail_call", tuple(uses), None, control.Call(convention, counted, None, True, twice).emit)
    result: Use | None = None
    if callee.result is not VOID:
        cls = target.class_of(callee.result)
        result = Use(cls, convention.float_result if cls == VECTORS else convention.int_result)
    extend: Form | None = None
    if callee.result in convention.unextended:
        extend = lookup("MOV", "r32,r32") if callee.result.bits == 32 else lookup("MOVSX" if callee.result.signed else "MOVZX", f"r32,r{callee.result.bits}")
    # Of callee-saved vector registers (Win64) only the low part survives: they are taken to be destroyed.
    kills = target.caller_saved | target.class_masks[VECTORS] | (1 << R11)
    return Rule("call", tuple(uses), result, control.Call(convention, counted, extend, False, twice).emit, kills=kills)


# --- moves and memory ----------------------------------------------------------------------------------------------


def _copy(target: Any, instr: Instr) -> Rule | None:
    cls = target.class_of(instr.type)
    return Rule("copy", (Use(cls, memory=True),), Use(cls), moves.move)


def _swap(target: Any, instr: Instr) -> Rule | None:
    use = Use(target.class_of(instr.type))
    return Rule("swap", (use, use), None, moves.exchange)


def _store_argument(target: Any, instr: Instr) -> Rule | None:
    return Rule("store_arg", (Use(target.class_of(instr.type)),), None, moves.store_argument)


def _local(target: Any, instr: Instr) -> Rule | None:
    return Rule("local", (INT,), INT, moves.local_address)


def _table(target: Any, instr: Instr) -> Rule | None:
    return Rule("table", (INT,), INT, moves.table_address)


def _stack_pointer(target: Any, instr: Instr) -> Rule | None:
    return Rule("stack_pointer", (), INT, moves.stack_pointer)


def _incoming(target: Any, instr: Instr) -> Rule | None:
    return Rule("incoming", (INT,), INT, moves.incoming_address)


def _symbol(target: Any, instr: Instr) -> Rule | None:
    return Rule(instr.op.name, (INT,), INT, moves.symbol_address)


def _address(target: Any, instr: Instr) -> Rule | None:
    return _by_text(target, instr, "LEA d, m")


def _load(target: Any, instr: Instr) -> Rule | None:
    type_ = instr.type
    if type_.size == 2 and type_.lanes:
        # There is no move of 16 bits, only an insertion.
        return _by_text(target, instr, "VXORPS d, d, d\nVPINSRW d, d, m16, 0")
    if type_.lanes or type_.is_float:
        return _by_text(target, instr, _move(vector_load(type_)) + " d, m")
    if type_.bits >= 32:
        return _by_text(target, instr, f"MOV d, m{type_.bits}")
    return _by_text(target, instr, f"{'MOVSX' if type_.signed else 'MOVZX'} d, m{type_.bits}")


def _store(target: Any, instr: Instr) -> Rule | None:
    type_ = instr.type
    if type_.size == 2 and type_.lanes:
        return _by_text(target, instr, "VPEXTRW m16, a, 0")
    if not type_.lanes and instr.args[0] < 0:
        return _by_text(target, instr, f"MOV m{type_.bits}, #a")
    if type_.lanes or type_.is_float:
        return _by_text(target, instr, _move(vector_store(type_)) + " m, a")
    return _by_text(target, instr, f"MOV m{type_.bits}, a:r{type_.bits}")


def _store_past(target: Any, instr: Instr) -> Rule | None:
    return _by_text(target, instr, "VMOVNTPS m, a")


def _update(target: Any, instr: Instr) -> Rule | None:
    name = ops.DONE_IN_PLACE[instr.op].name.upper()
    bits = instr.type.bits
    return _by_text(target, instr, f"{name} m{bits}, {'#a' if instr.args[0] < 0 else f'a:r{bits}'}")


def _move(form: Form) -> str:
    return form.row.mnemonic


def _masked_move(type_: Type, evex: bool) -> str:
    if evex:
        if type_.is_float and type_.bits > 16:
            return "VMOVUPS" if type_.bits == 32 else "VMOVUPD"
        return f"VMOVDQU{type_.bits}"
    if type_.is_float:
        return "VMASKMOVPS" if type_.bits == 32 else "VMASKMOVPD"
    return "VPMASKMOV" + LETTER[type_.bits]


def _masked(target: Any, instr: Instr) -> Rule | None:
    """Faults are suppressed for lanes that are off (SDM volume 1, 15.6.4).

    Operations on vectors with fewer lanes than a register leave anything above their lanes, in masks too, which is cut off here.
    """
    type_ = instr.type
    evex = target.mask_registers
    load = instr.op is ops.MASKED_LOAD_AT
    if type_.bits < 32 and not evex:
        return None
    move = _masked_move(type_, evex)
    lines: list[str] = []
    mask = "a"
    if type_.size < 16:
        mask = "t"
        unused = 64 - type_.lanes
        # (Of AVX2, two lanes of 32 bits.)
        lines = [f"KSHIFTLQ t:k, a, {unused}", f"KSHIFTRQ t, t, {unused}"] if evex else ["VMOVQ t, a"]
    if evex:
        lines.append(f"{move} d{{{mask}}}z, m" if load else f"{move} m{{{mask}}}, b")
    else:
        lines.append(f"{move} d, {mask}, m" if load else f"{move} m, {mask}, b")
    return _by_text(target, instr, "\n".join(lines))


# --- integers ------------------------------------------------------------------------------------------------------


def _constant(instr: Instr) -> bool:
    return instr.mem is None and instr.args[1] < 0


def _bits(instr: Instr) -> list[int]:
    """What an instruction on two integers of its type reads of either in memory."""
    return [instr.type.bits if instr.type.bits >= 32 else 0] * 2


def _compared(instr: Instr) -> tuple[Use, Use]:
    """The uses of a comparison of integers: one may be in memory, which is the first where the other is a constant."""
    if (instr.source if instr.op in ops.CHOICES else instr.type).bits < 32:
        return INT, INT
    return (INT_MEMORY, INT) if _constant(instr) else (INT, INT_MEMORY)


def _compare(target: Any, instr: Instr) -> Rule | None:
    type_ = instr.type
    if type_.lanes:
        return None
    if type_.is_float:
        if instr.op is ops.EQ or instr.op is ops.NE:
            # (They would have to ask for parity, too.)
            return None
        asked = control.SetFloat(instr.op.name, type_)
        return Rule(instr.op.name, _without(instr, (VECTOR_MEMORY, VECTOR) if asked.exchanged else (VECTOR, VECTOR_MEMORY), True), INT, asked.emit)
    uses = tuple([Use(INTS, memory=use.memory, late=True) for use in _compared(instr)])
    emit = arithmetic.SetCondition(arithmetic.conditions(type_)[instr.op.name]).emit
    return Rule(instr.op.name, _without(instr, uses, True), INT, emit, loads=loads(instr, [type_, type_], [0, _bits(instr)[1]]))


def _select(target: Any, instr: Instr) -> Rule | None:
    """A choice that leaves a variable as it is where the condition does not hold: CMOV takes the other value where it does, also from memory."""
    type_ = instr.type
    if type_.lanes or type_.is_float or type_.bits < 32:
        return None
    keeps = instr.mem.role == 1 if instr.mem is not None else instr.dst == instr.args[2] != instr.args[1]
    return _by_text(target, instr, "TEST a:r32, a:r32\nCMOVNE c, b") if keeps else None


#: Predicates of comparisons of floats, quiet ones (SDM volume 2, table 3-1), and what they are with the operands exchanged.
_PREDICATES: Final = {"lt": 0x11, "le": 0x12, "gt": 0x1E, "ge": 0x1D, "nlt": 0x15, "nle": 0x16, "ngt": 0x1A, "nge": 0x19, "eq": 0x00, "ne": 0x04}
_EXCHANGED_FLOATS: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "nlt": "ngt", "nle": "nge", "ngt": "nlt", "nge": "nle", "eq": "eq", "ne": "ne"}


def _select_float(target: Any, instr: Instr) -> Rule | None:
    """A choice between floats by a comparison of two as wide: CMPSS and a blend, of which nothing is in memory but what is compared."""
    name = ops.CHOICES[instr.op]
    exchanged = instr.mem is not None and instr.mem.role == 0
    predicate = _PREDICATES[_EXCHANGED_FLOATS[name] if exchanged else name]
    first, second = ("b", "a") if exchanged else ("a", "b")
    mask, blend = ("t:k", "VBLENDMP$ d{t}, e, c") if target.mask_registers else ("t", "VBLENDVP$ d, e, c, t")
    found = read(target, instr.op, instr.type, instr.source, f"VCMPS$ {mask}, {first}, {second}, {predicate:#x}\n{blend}")
    if found is None:
        return None
    found.bits[2] = found.bits[3] = 0
    return rule(instr, found)


def _select_compared(target: Any, instr: Instr) -> Rule | None:
    """A choice with the comparison inside; CMOV takes the second where that does not hold."""
    if instr.type.is_float:
        return _select_float(target, instr)
    # A load that became one of the operands compared is no register operand any more.
    tied = 2 if instr.mem is None else 1
    # (Where what is compared is what the result begins as, the result may take its register.)
    first, second = (Use(INTS, memory=use.memory, late=instr.mem is not None or instr.args[n] != instr.args[tied]) for n, use in enumerate(_compared(instr)))
    if instr.source.is_float:
        chosen = control.ChooseFloat(ops.CHOICES[instr.op], instr.source, instr.type)
        uses = (VECTOR_MEMORY, VECTOR) if chosen.exchanged else (VECTOR, VECTOR_MEMORY)
        return Rule(instr.op.name, _without(instr, (*uses, INT, INT_LATE), True), INT, chosen.emit, tied=tied)
    condition = arithmetic.conditions(instr.source)[ops.CHOICES[instr.op]]
    return Rule(
        instr.op.name,
        _without(instr, (first, second, INT, INT_LATE), True),
        INT,
        arithmetic.SelectCompared(condition, instr.type, ops.CHOICES[instr.op] in ops.TESTS).emit,
        tied=tied,
    )


def _multiply_high(target: Any, instr: Instr) -> Rule | None:
    """By rax; the upper half of the product comes in rdx."""
    type_ = instr.type
    if type_.lanes or type_.bits != 64:
        return None
    product = read(target, instr.op, type_, instr.source, "IMUL b" if type_.signed else "MUL b")
    assert product is not None
    return Rule("mul_high", (Use(INTS, RAX), INT_MEMORY), Use(INTS, RDX), product.emit, kills=1 << RAX)


def _add(target: Any, instr: Instr) -> Rule | None:
    """Where the result is in a register of its own, LEA adds."""
    type_ = instr.type
    if type_.lanes or type_.is_float or (type_.bits < 32 and type_ is not PTR):
        return None
    if instr.op is ops.SUB:
        return Rule("sub", (INT, INT), INT, arithmetic.Add(type_, True).emit, tied=ANY_TIED) if _constant(instr) else None
    uses = _without(instr, (INT if _constant(instr) else INT_MEMORY, INT_MEMORY), True)
    return Rule("add", uses, INT, arithmetic.Add(type_).emit, tied=ANY_TIED, loads=loads(instr, [type_, type_], _bits(instr)))


def _multiply(target: Any, instr: Instr) -> Rule | None:
    """A product of a scalar and a constant: LEA makes some in one cycle."""
    type_ = instr.type
    if type_.lanes or type_.is_float or type_.bits < 32 or not _constant(instr):
        return None
    made = choose(target, instr, False)
    assert made is not None
    made.emit = arithmetic.MultiplyByConstant(type_, made.emit).emit
    return made


def _add_scaled(target: Any, instr: Instr) -> Rule | None:
    return Rule(instr.op.name, (INT, INT, INT), INT, arithmetic.AddScaled(instr.type).emit)


def _divide(target: Any, instr: Instr) -> Rule | None:
    op, type_ = instr.op, instr.type
    if type_.lanes or type_.is_float or type_.bits < 32 or op is ops.DIV_FLOOR or op is ops.REM_FLOOR:
        return None
    uses = (Use(INTS, RAX), INT_MEMORY)
    emit = arithmetic.Divide(type_).emit
    if op is ops.DIV_REM:
        return Rule(op.name, uses, Use(INTS, RAX), emit, kills=1 << RDX, clobbers=1 << RDX, parts=(RDX,))
    result, other = (RAX, RDX) if op is ops.DIV_TRUNC else (RDX, RAX)
    return Rule(op.name, uses, Use(INTS, result), emit, kills=1 << other, clobbers=1 << RDX)


def _part(target: Any, instr: Instr) -> Rule | None:
    return _PART if not instr.type.lanes and not instr.type.is_float else None


def _shift(target: Any, instr: Instr) -> Rule | None:
    """Shifts by constants where the instructions depend on the count."""
    type_ = instr.type
    left = instr.op is ops.SHL
    fill = type_.signed and not left
    if not _constant(instr) or not type_.is_integer:
        return None
    if not type_.lanes:
        name = "SHL" if left else "SAR" if fill else "SHR"
        return _by_constant(target, instr, 1, lambda count: _shift_scalar(name, shift_count(type_, count), type_.bits, fill), 1) if type_.bits >= 32 else None
    if type_.bits == 8:
        return _by_constant(target, instr, 1, lambda count: _shift_bytes(left, shift_count(type_, count), fill), 1)
    return None


def _shift_scalar(name: str, count: int, bits: int, fill: bool) -> str:
    return f"{name} a, {min(count, bits - 1)}" if count < bits or fill else "XOR a:r32, a:r32"


def _shift_bytes(left: bool, count: int, fill: bool) -> str:
    """As 16-bit lanes, what came over from the neighbour masked away. (x ^ sign) - sign spreads the sign bit, wherever it now is."""
    if count > 7 and not fill:
        return "VXORPS d:xmm, d:xmm, d:xmm"
    count = min(count, 7)
    kept = 0xFF << count & 0xFF if left else 0xFF >> count
    text = f"{'VPSLLW' if left else 'VPSRLW'} d, a, {count}\nVPAND d, d, ={kept}"
    return text + f"\nVPXOR d, d, ={0x80 >> count}\nVPSUBB d, d, ={0x80 >> count}" if fill else text


def _rotate(target: Any, instr: Instr) -> Rule | None:
    """Rotations by constants, and of scalars by the count in cl."""
    type_ = instr.type
    bits = type_.bits
    left = instr.op is ops.ROTATE_LEFT
    if _constant(instr):

        def places(count: int) -> int:
            return (count if left else -count) % bits

        if not type_.lanes:
            return _by_constant(target, instr, 1, lambda count: f"RORX d, a, {-places(count) % bits}", 1) if bits >= 32 else None
        if target.mask_registers and bits >= 32:
            return _by_constant(target, instr, 1, lambda count: f"VPROL? d, a, {places(count)}", 1)
        return _by_constant(target, instr, 1, lambda count: _rotate_lanes(bits, places(count)), 1, memory=False)
    if type_.lanes or bits < 32:
        return None
    r = register_name(type_)
    emit = arithmetic.RotateByCl(lookup("ROL" if left else "ROR", f"{r},cl")).emit
    return Rule(instr.op.name, (INT, Use(INTS, RCX, late=True)), INT, emit, tied=0)


def _rotate_lanes(bits: int, places: int) -> str:
    """Whole bytes are shuffled; others come from both sides. (Bytes are shifted as 16-bit lanes.)"""
    if bits > 8 and places % 8 == 0:
        step = bits // 8
        pattern = bytes(n // step * step + (n - places // 8) % step for n in range(16))
        return f"VPSHUFB d, a, ={int.from_bytes(pattern, 'little'):#x}.128"
    if bits == 8:
        kept = 0xFF << places & 0xFF
        lines = [f"VPSLLW t, a, {places}", f"VPAND t, t, ={kept:#x}.8", f"VPSRLW d, a, {8 - places}", f"VPAND d, d, ={kept ^ 0xFF:#x}.8"]
    else:
        lines = [f"VPSLL? t, a, {places}", f"VPSRL? d, a, {bits - places}"]
    return "\n".join([*lines, "VPOR d, d, t"])


# --- lanes ---------------------------------------------------------------------------------------------------------


def _fused(target: Any, instr: Instr) -> Rule | None:
    type_ = instr.type
    suffix = ("P" if type_.lanes else "S") + FLOAT_LETTER[type_.bits]
    emitter = arithmetic.FusedMultiplyAdd(_FUSED[instr.op], suffix, type_)
    found = loads(instr, [type_] * 3, [emitter.form132.operands[2].memory] * 3)
    repeats = found if type_.lanes and type_.bits >= 32 else 0
    return Rule(instr.op.name, _without(instr, (VECTOR_MEMORY,) * 3), VECTOR, emitter.emit, tied=ANY_TIED, overwrites=True, loads=found, repeats=repeats)


def _reduction(target: Any, instr: Instr) -> Rule | None:
    type_ = instr.type
    op = _REDUCTIONS[instr.op]
    steps: dict[str, Sequence] = {}
    for shape, size in (("xmm", 16), ("ymm", 32)):
        step = step_of(target, instr.op, op, vector_of(type_.element, size * 8 // type_.bits))
        if step is None:
            return None
        steps[shape] = step
    # The upper half, and what a step needs.
    temps = (VECTORS,) * (1 + steps["xmm"].scratch)
    if type_.is_float:
        return Rule(instr.op.name, (_VECTOR_LATE,), VECTOR, arithmetic.Reduce(steps, None).emit, temps=temps)
    extract = step_of(target, ops.EXTRACT, ops.EXTRACT, type_)
    return Rule(instr.op.name, (VECTOR,), INT, arithmetic.Reduce(steps, extract).emit, temps=(VECTORS, *temps))


def _iota(target: Any, instr: Instr) -> Rule | None:
    return _by_text(target, instr, _move(vector_load(instr.type)) + " d, =iota")


def _lane_mask(target: Any, instr: Instr) -> Rule | None:
    """Lane k holds where a + k < b: min(max(b - a, 0), lanes) ones, by BZHI of all ones; without mask registers by comparing that with 0, 1, 2, …"""
    type_ = instr.type
    if instr.args[0] < 0 and instr.args[1] < 0:
        return interleaved.first_lanes_rule(target, instr)
    lines = ["XOR u:r32, u:r32", "SUB t:r64, a", "CMOVL t:r64, u:r64", f"MOV u:r32, {type_.lanes}", "CMP t:r64, u:r64", "CMOVG t:r64, u:r64"]
    if target.mask_registers:
        lines += ["MOV u:r64, -1", "BZHI u:r64, u:r64, t:r64", "KMOVQ d, u:r64"]
    else:
        # Lanes fit in the element: at most 32 of bytes.
        lines += ["VMOVQ d:xmm, t:r64" if type_.bits == 64 else "VMOVD d:xmm, t:r32", "VPBROADCAST? d, d:xmm", "VPCMPGT? d, d, =iota"]
    if _constant(instr):
        return _by_constant(target, instr, 1, lambda b: "\n".join([_number(b), *lines]), 1)
    return _by_text(target, instr, "\n".join(["MOV t:r64, b", *lines]))


def _first_lanes(target: Any, instr: Instr) -> Rule | None:
    """As many ones, by BZHI of all ones; without mask registers by comparing with 0, 1, 2, …"""
    type_ = instr.type
    if target.mask_registers:
        return _by_text(target, instr, "MOV t:r64, -1\nBZHI t:r64, t:r64, a\nKMOVQ d, t:r64")
    first = "VMOVQ d:xmm, a" if type_.bits == 64 else "VMOVD d:xmm, a:r32"
    return _by_text(target, instr, f"{first}\nVPBROADCAST? d, d:xmm\nVPCMPGT? d, d, =iota")


def _number(value: int) -> str:
    """A constant in t, as ``move_constant`` makes it."""
    if not value:
        return "XOR t:r32, t:r32"
    return f"MOV t:{'r32' if 0 < value < 1 << 32 else 'r64'}, {value}" if -(1 << 31) <= value < 1 << 32 else f"MOVABS t:r64, {value}"


#: The instruction whose width is the number of lanes.
_KORTEST: Final[dict[int, str]] = {8: "KORTESTB", 16: "KORTESTW", 32: "KORTESTD", 64: "KORTESTQ"}


def _any_all(target: Any, instr: Instr) -> Rule | None:
    type_ = instr.type
    every = instr.op is ops.ALL
    if target.mask_registers and type_.lanes in _KORTEST:
        # KORTEST sets ZF when no bit is set and CF when all are (SDM volume 2, KORTEST).
        return _by_text(target, instr, f"{_KORTEST[type_.lanes]} a, a\n{'SETB' if every else 'SETNE'} d:r8\nMOVZX d, d:r8")
    bits = type_.lanes
    if target.mask_registers:
        first = "KMOVQ d:r64, a"
    elif type_.bits >= 32:
        first = f"VMOVMSKP{'S' if type_.bits == 32 else 'D'} d:r32, a"
    else:
        first = "VPMOVMSKB d:r32, a"
        bits *= type_.bits // 8
    full = (1 << bits) - 1
    # What lies above the lanes is anything: keep it out.
    lines = [first, "MOV d:r32, d:r32" if bits == 32 else f"AND d:r32, {full}"]
    lines.append(f"CMP d:r32, {-1 if bits == 32 else full}" if every else "TEST d:r64, d:r64")
    return _by_text(target, instr, "\n".join([*lines, f"{'SETE' if every else 'SETNE'} d:r8", "MOVZX d, d:r8"]))


def _mask_bits(target: Any, instr: Instr) -> Rule | None:
    """One bit a lane; what lies above the lanes is anything, and is kept out."""
    type_ = instr.type
    lanes = type_.lanes
    if target.mask_registers:
        if lanes in (8, 16):
            # (The moves of so many bits leave none above them.)
            return _by_text(target, instr, f"KMOV{'B' if lanes == 8 else 'W'} d:r32, a")
        lines = ["KMOVQ d, a"]
    elif type_.bits >= 32:
        lines = [f"VMOVMSKP{'S' if type_.bits == 32 else 'D'} d:r32, a"]
    elif type_.bits == 8:
        lines = ["VPMOVMSKB d:r32, a"]
    elif lanes <= 8:
        lines = ["VPACKSSWB t:xmm, a, a", "VPMOVMSKB d:r32, t:xmm"]
    else:
        # The bytes of either half, then both side by side.
        lines = ["VPACKSSWB t:ymm, a, a", "VPERMQ t, t, 0b1000", "VPMOVMSKB d:r32, t:xmm"]
    if target.mask_registers and lanes > 32:
        return _by_text(target, instr, "\n".join(lines)) if lanes == 64 else None
    if not target.mask_registers and type_.bits != 16 and lanes * type_.bits in (128, 256):
        # (A whole register of lanes has no bits besides theirs.)
        pass
    elif lanes == 32:
        lines.append("MOV d:r32, d:r32")
    else:
        lines.append(f"AND d:r32, {(1 << lanes) - 1}")
    return _by_text(target, instr, "\n".join(lines))


def _move_lanes(target: Any, instr: Instr) -> Rule | None:
    """``compress`` and ``expand`` of 32- and 64-bit lanes. What is not written is 0."""
    type_ = instr.type
    if type_.bits < 32 or type_.size < 16 or not target.mask_registers:
        return None
    return _by_text(target, instr, f"VP{'COMPRESS' if instr.op is ops.COMPRESS else 'EXPAND'}? d{{a}}z, b")


def _slide(target: Any, instr: Instr) -> Rule | None:
    type_ = instr.type
    evex = target.mask_registers
    # Where all scratch registers are used.
    like = 17 * 8 // type_.bits if type_.size == 64 else 1
    return _by_constant(target, instr, 2, lambda k: _slide_text(type_, evex, k), like, memory=False)


def _slide_text(type_: Type, evex: bool, k: int) -> str:
    """Lanes k … of a followed by b: VALIGND and VALIGNQ take any number of lanes of 32 and 64 bits, VPALIGNR bytes of each 128-bit part."""
    shift = k * type_.bits // 8
    shape = width(type_)
    if k == 0 or k == type_.lanes:
        return f"VMOVAPS d, {'b' if k else 'a'}"
    if type_.size < 16:
        # Both in one register, then whole bytes down.
        name = {2: "VPUNPCKLWD", 4: "VPUNPCKLDQ", 8: "VPUNPCKLQDQ"}[type_.size]
        return f"{name} d, a, b\nVPSRLDQ d, d, {shift}"
    if evex and type_.bits >= 32:
        return f"VALIGN{LETTER[type_.bits]} d, b, a, {k}"
    if shape == "xmm":
        return f"VPALIGNR d, b, a, {shift}"
    if shape == "ymm":
        # Between them, the upper half of a and the lower of b.
        between = "VALIGNQ t, b, a, 2" if evex else "VPERM2I128 t, a, b, 0x21"
        if shift == 16:
            return between.replace(" t,", " d,")
        low, high = ("t", "b") if shift >= 16 else ("a", "t")
        return f"{between}\nVPALIGNR d, {high}, {low}, {shift % 16}"
    part = shift // 16
    low, high = f"VALIGNQ t, b, a, {2 * part}", f"VALIGNQ {'u' if part else 't'}, b, a, {2 * part + 2}"
    lines = ([low] if part else []) + ([high] if part < 3 else [])
    lines.append(f"VPALIGNR d, {'b' if part == 3 else 'u' if part else 't'}, {'t' if part else 'a'}, {shift % 16}")
    return "\n".join(lines)


#: Of lanes of each width within 128 bits; VSHUFPS takes even or odd ones of both sources.
_WITHIN: Final[dict[Op, dict[int, str]]] = {
    ops.ZIP_LOW: {8: "VPUNPCKLBW d, a, b", 16: "VPUNPCKLWD d, a, b", 32: "VPUNPCKLDQ d, a, b", 64: "VPUNPCKLQDQ d, a, b"},
    ops.ZIP_HIGH: {8: "VPUNPCKHBW d, a, b", 16: "VPUNPCKHWD d, a, b", 32: "VPUNPCKHDQ d, a, b", 64: "VPUNPCKHQDQ d, a, b"},
    ops.UNZIP_EVEN: {32: "VSHUFPS d, a, b, 0x88", 64: "VPUNPCKLQDQ d, a, b"},
    ops.UNZIP_ODD: {32: "VSHUFPS d, a, b, 0xdd", 64: "VPUNPCKHQDQ d, a, b"},
}


def _within(target: Any, instr: Instr) -> Rule | None:
    """Of vectors of 128 bits and more."""
    text = _WITHIN[instr.op].get(instr.type.bits)
    return _by_text(target, instr, text) if text is not None and instr.type.size >= 16 else None


def _reverse(target: Any, instr: Instr) -> Rule | None:
    """Lanes within each part of 128 bits, then the parts; lanes of 64 bits, and of 32 bits in ymm, at once where that is as quick."""
    type_ = instr.type
    bits, shape = type_.bits, width(type_)
    if shape == "ymm" and target.slow_permutations:
        swap = "VPERM2F128 d, d, d, 1"
        if bits >= 32:
            return _by_text(target, instr, f"VPERMILP{'S d, a, 0x1b' if bits == 32 else 'D d, a, 0x5'}\n{swap}")
    else:
        swap = "VPERMQ d, d, 0x4e" if shape == "ymm" else "VSHUFI64X2 d, d, d, 0x1b"
    if shape == "ymm" and bits == 64:
        return _by_text(target, instr, "VPERMQ d, a, 0x1b")
    if shape == "ymm" and bits == 32:
        return _by_text(target, instr, "VMOVUPS t, =downwards\nVPERMPS d, t, a")
    within = min(type_.lanes, 128 // bits)
    if bits >= 32:
        places = range(within * bits // 32)
        step = bits // 32
        order = [(within - 1 - n // step) * step + n % step for n in places] + [n for n in range(4) if n >= len(places)]
        inside = f"VPSHUFD d, a, {sum(o << 2 * n for n, o in enumerate(order)):#x}"
    else:
        size = bits // 8
        pattern = bytes((within - 1 - n // size) * size + n % size if n < within * size else 0x80 for n in range(16))
        inside = f"VPSHUFB d, a, ={int.from_bytes(pattern, 'little'):#x}.128"
    if shape == "xmm":
        return _by_text(target, instr, inside)
    return _by_text(target, instr, f"{inside}\n{swap}")


# --- conversions ---------------------------------------------------------------------------------------------------


def _convert(target: Any, instr: Instr) -> Rule | None:
    type_, source = instr.type, instr.source
    if not type_.lanes or target.mask_registers:
        return None
    if type_.is_integer and source.is_integer:
        return _narrow(target, instr)
    if source.bits != 64:
        return None
    if source.is_float and type_.bits == 64 and type_.signed:
        return _by_text(target, instr, _doubles_to_quads(type_.lanes, instr.op is ops.CONVERT))
    return None


def _doubles_to_quads(lanes: int, saturates: bool) -> str:
    """AVX2: f64 to i64, one lane after the other; then, if asked for, NaN and what is too large mended as in the table."""
    if lanes > 2:
        lines = [
            "VEXTRACTF128 t:xmm, a, 1",
            *_pair_of_quads("d:xmm", "a:xmm", "u", "v"),
            *_pair_of_quads("t:xmm", "t:xmm", "u", "v"),
            "VINSERTI128 d, d, t:xmm, 1",
        ]
    else:
        lines = _pair_of_quads("d:xmm", "a:xmm", "t", "u")
    if saturates:
        lines += ["VCMPPD t:a, a, =0x43e0000000000000, 0x1d", "VPXOR d, d, t:a", "VCMPPD t:a, a, a, 0x07", "VPAND d, d, t:a"]
    return "\n".join(lines)


def _pair_of_quads(to: str, of: str, upper: str, whole: str) -> list[str]:
    return [
        f"VUNPCKHPD {upper}:xmm, {of}, {of}",
        f"VCVTTSD2SI {whole}:r64, {of}",
        f"VMOVQ {to}, {whole}:r64",
        f"VCVTTSD2SI {whole}:r64, {upper}:xmm",
        f"VPINSRQ {to}, {to}, {whole}:r64, 1",
    ]


def _narrow(target: Any, instr: Instr) -> Rule | None:
    """AVX2: lanes (also masks) made narrower, where they are wide: the low parts of 64-bit lanes, or a byte shuffle of each 128-bit half."""
    lanes, step, kept = instr.type.lanes, instr.source.bits // 8, instr.type.bits // 8
    if target.mask_registers or step <= kept or lanes * step > 32:
        return None
    if kept == 4:
        if lanes <= 2:
            return _by_text(target, instr, "VPSHUFD d, a, 0b1000")
        # VSHUFPS takes elements 0 and 2 of both sources.
        return _by_text(target, instr, "VEXTRACTI128 t:xmm, a, 1\nVSHUFPS d, a:xmm, t, 0b10001000")
    per_half = 16 // step * kept
    # A selector of 0x80 gives a zero byte.
    pattern = bytes(n // kept * step + n % kept if n < per_half else 0x80 for n in range(16))
    selectors = f"={int.from_bytes(pattern, 'little'):#x}.128"
    if lanes * step <= 16:
        return _by_text(target, instr, f"VPSHUFB d, a, {selectors}")
    if per_half == 8:
        # What is left of either half is in its lower part.
        return _by_text(target, instr, f"VPSHUFB d:ymm, a, {selectors}\nVPERMQ d:ymm, d:ymm, 0b1000")
    # What is left of the upper half has its place behind that of the lower one.
    moved = bytes(pattern[n - per_half] if n >= per_half else 0x80 for n in range(16))
    selectors = f"={int.from_bytes(pattern + moved, 'little'):#x}.256"
    return _by_text(target, instr, f"VPSHUFB t:ymm, a, {selectors}\nVEXTRACTI128 d, t, 1\nVPOR d, d, t:xmm")


def _pack(target: Any, instr: Instr) -> Rule | None:
    """AVX2: signed lanes of 16 and 32 bits made narrower by halves, saturating; the signed steps in between keep what decides. (SDM volume 2, PACKSSWB/PACKSSDW, PACKUSWB, PACKUSDW.)"""
    type_, source = instr.type, instr.source
    if target.mask_registers or not type_.lanes or not source.signed or source.bits not in (16, 32) or type_.bits >= source.bits:
        return None
    sign = "S" if type_.signed else "U"
    packs = {(32, 16): [f"VPACK{sign}SDW"], (32, 8): ["VPACKSSDW", f"VPACK{sign}SWB"], (16, 8): [f"VPACK{sign}SWB"]}[source.bits, type_.bits]
    wide = source.size > 16
    lines = ["VEXTRACTI128 t:xmm, a, 1"] if wide else []
    lines.append(f"{packs[0]} d:xmm, a:xmm, {'t' if wide else 'a'}:xmm")
    lines += [f"{pack} d:xmm, d:xmm, d:xmm" for pack in packs[1:]]
    found = read(target, instr.op, type_, source, "\n".join(lines))
    assert found is not None
    # The first source is a register.
    found.bits = [0]
    return rule(instr, found)


def _bitcast(target: Any, instr: Instr) -> Rule | None:
    type_, source = instr.type, instr.source
    to, given = target.class_of(type_), target.class_of(source)
    if to != given:
        if type_.size == 2:
            return None
        return _by_text(target, instr, "VMOVQ d, a" if type_.bits == 64 else "VMOVD d, a")
    if to == INTS and type_.bits < 32 and type_.signed != source.signed:
        return None
    return Rule("bitcast", (Use(given),), Use(to), moves.move, tied=ANY_TIED)


_Special = Callable[[Any, Instr], Rule | None]

#: What is not, or not always, in the table: asked first.
_SPECIAL: Final[dict[int, _Special]] = {
    ops.COPY.code: _copy,
    ops.SWAP.code: _swap,
    ops.STORE_ARG.code: _store_argument,
    ops.LOCAL.code: _local,
    ops.TABLE.code: _table,
    ops.STACK_POINTER.code: _stack_pointer,
    ops.INCOMING.code: _incoming,
    ops.GLOBAL.code: _symbol,
    ops.FUNCTION.code: _symbol,
    ops.ADDRESS.code: _address,
    ops.LOAD_AT.code: _load,
    ops.STORE_AT.code: _store,
    ops.STORE_PAST_AT.code: _store_past,
    ops.SWITCH.code: _switch,
    **{op.code: _update for op in ops.DONE_IN_PLACE},
    ops.LOAD_STRIDED_AT.code: strided.rule,
    ops.STORE_STRIDED_AT.code: strided.rule,
    ops.LOAD_ROWS_AT.code: strided.rule,
    ops.STORE_ROWS_AT.code: strided.rule,
    ops.GATHER_AT.code: gathers.rule,
    ops.SCATTER_AT.code: gathers.rule,
    ops.GATHER_SINGLY.code: one_by_one.rule,
    ops.MASKED_LOAD_AT.code: _masked,
    ops.MASKED_STORE_AT.code: _masked,
    ops.ADD.code: _add,
    ops.SUB.code: _add,
    ops.SHL.code: _shift,
    ops.SHR.code: _shift,
    ops.ROTATE_LEFT.code: _rotate,
    ops.ROTATE_RIGHT.code: _rotate,
    ops.IOTA.code: _iota,
    ops.LANE_MASK.code: _lane_mask,
    ops.FIRST_LANES.code: _first_lanes,
    ops.ANY.code: _any_all,
    ops.ALL.code: _any_all,
    ops.MASK_BITS.code: _mask_bits,
    ops.COMPRESS.code: _move_lanes,
    ops.EXPAND.code: _move_lanes,
    ops.SLIDE.code: _slide,
    ops.REVERSE.code: _reverse,
    ops.SHUFFLE_BYTES.code: interleaved.shuffle_rule,
    ops.BLEND.code: interleaved.blend_rule,
    ops.CHOOSE_CHUNKS.code: interleaved.choose_rule,
    **{op.code: _within for op in _WITHIN},
    ops.LANE_PATTERN.code: interleaved.pattern_rule,
    ops.LITERAL.code: interleaved.literal_rule,
    ops.LOAD_CHUNKS_AT.code: interleaved.chunks_rule,
    ops.STORE_CHUNKS_AT.code: interleaved.chunks_rule,
    ops.CONVERT.code: _convert,
    ops.CONVERT_UNCHECKED.code: _convert,
    ops.CONVERT_SATURATED.code: _pack,
    ops.MASK_CONVERT.code: _narrow,
    ops.BITCAST.code: _bitcast,
    ops.MUL.code: _multiply,
    ops.ADD_SCALED.code: _add_scaled,
    ops.MUL_HIGH.code: _multiply_high,
    **{op.code: _compare for op in ops.COMPARING},
    ops.SELECT.code: _select,
    **{op.code: _select_compared for op in ops.CHOICES},
    **{op.code: _divide for op in (*ops.DIVISIONS, ops.DIV_REM)},
    ops.PART.code: _part,
    **{op.code: _fused for op in _FUSED},
    **{op.code: _reduction for op in _REDUCTIONS},
}
