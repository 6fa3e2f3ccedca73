"""Which machine code serves which operation of the intermediate representation on x86-64.

The tables name the instructions by operation and element type; ``make_rule`` turns an entry into the ``Rule`` that the
allocator and the assembler use, and ``supported`` answers for an operation that no entry serves.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets.target import ANY_TIED, Rule, Target, Use
from loopwright.targets.x86 import emit_convert as ec
from loopwright.targets.x86 import emit_lanes as el
from loopwright.targets.x86 import emit_scalar as es
from loopwright.targets.x86 import emit_shift as eh
from loopwright.targets.x86 import emit_vector as ev
from loopwright.targets.x86.assembler import Form, lookup
from loopwright.targets.x86.registers import CODES, INTS, MASKS, R11, RAX, RDX, VECTORS
from loopwright.types import BOOL, I32, I64, PTR, U8, U32, U64, VOID, Type

#: Operation -> mnemonic stem of floating-point instructions (PS, PD, SS or SD follows); the flag says that it commutes.
FLOAT: Final[dict[Op, tuple[str, bool]]] = {
    ops.ADD: ("VADD", True),
    ops.SUB: ("VSUB", False),
    ops.MUL: ("VMUL", True),
    ops.DIV: ("VDIV", False),
    ops.MIN: ("VMIN", False),
    ops.MAX: ("VMAX", False),
}

FMA: Final[dict[Op, str]] = {ops.FMA: "VFMADD", ops.FMS: "VFMSUB", ops.FNMA: "VFNMADD"}

#: Operation -> rounding control of VROUND and VRNDSCALE (SDM volume 2, table 4-18; bit 3 keeps the precision exception quiet).
ROUNDING: Final[dict[Op, int]] = {ops.ROUND: 8, ops.FLOOR: 9, ops.CEIL: 10, ops.TRUNC: 11}

#: Operation -> element bits -> mnemonic, for vectors of integers; a second table holds what only AVX-512 has.
INTEGER: Final[dict[Op, dict[int, str]]] = {
    ops.ADD: {8: "VPADDB", 16: "VPADDW", 32: "VPADDD", 64: "VPADDQ"},
    ops.SUB: {8: "VPSUBB", 16: "VPSUBW", 32: "VPSUBD", 64: "VPSUBQ"},
    ops.MUL: {16: "VPMULLW", 32: "VPMULLD"},
    ops.MUL_LOWER: {64: "VPMULUDQ"},
}
INTEGER_512: Final[dict[Op, dict[int, str]]] = {ops.MUL: {64: "VPMULLQ"}}

#: (operation, signed) -> element bits -> mnemonic.
EXTREME: Final[dict[tuple[Op, bool], dict[int, str]]] = {
    (ops.MIN, True): {8: "VPMINSB", 16: "VPMINSW", 32: "VPMINSD"},
    (ops.MAX, True): {8: "VPMAXSB", 16: "VPMAXSW", 32: "VPMAXSD"},
    (ops.MIN, False): {8: "VPMINUB", 16: "VPMINUW", 32: "VPMINUD"},
    (ops.MAX, False): {8: "VPMAXUB", 16: "VPMAXUW", 32: "VPMAXUD"},
    (ops.MUL_HIGH, True): {16: "VPMULHW"},
    (ops.MUL_HIGH, False): {16: "VPMULHUW"},
}
EXTREME_512: Final[dict[tuple[Op, bool], str]] = {
    (ops.MIN, True): "VPMINSQ",
    (ops.MAX, True): "VPMAXSQ",
    (ops.MIN, False): "VPMINUQ",
    (ops.MAX, False): "VPMAXUQ",
}

#: Bitwise operations: VEX mnemonic; EVEX adds D or Q.
BITWISE: Final[dict[Op, str]] = {ops.AND: "VPAND", ops.OR: "VPOR", ops.XOR: "VPXOR", ops.ANDNOT: "VPANDN"}

#: Two-operand integer instructions.
ALU: Final[dict[Op, str]] = {ops.MUL: "IMUL", ops.AND: "AND", ops.OR: "OR", ops.XOR: "XOR", ops.SUB: "SUB"}

#: Predicates of VCMPPS and its kin (SDM volume 2, table 3-1), quiet ones: the ordered comparisons are false, ne true, of NaN.
FLOAT_PREDICATE: Final[dict[Op, int]] = {ops.EQ: 0x00, ops.NE: 0x04, ops.LT: 0x11, ops.LE: 0x12, ops.GT: 0x1E, ops.GE: 0x1D}

#: Predicates of VPCMPD and its kin (SDM volume 2, VPCMPD, table 5-…: EQ, LT, LE, NE, NLT, NLE).
INTEGER_PREDICATE: Final[dict[Op, int]] = {ops.EQ: 0, ops.LT: 1, ops.LE: 2, ops.NE: 4, ops.GE: 5, ops.GT: 6}

LETTER: Final[dict[int, str]] = el.LETTER

#: (from bits, to bits) of integer lanes made wider, unsigned and signed.
WIDEN: Final[dict[tuple[int, int], str]] = {(8, 16): "BW", (8, 32): "BD", (8, 64): "BQ", (16, 32): "WD", (16, 64): "WQ", (32, 64): "DQ"}

#: (to, from) of lanes converted by one instruction; the second table holds what only AVX-512 has.
CONVERSIONS: Final[dict[tuple[str, str], str]] = {
    ("f32", "i32"): "VCVTDQ2PS",
    ("f64", "i32"): "VCVTDQ2PD",
    ("i32", "f32"): "VCVTTPS2DQ",
    ("i32", "f64"): "VCVTTPD2DQ",
    ("f64", "f32"): "VCVTPS2PD",
    ("f32", "f64"): "VCVTPD2PS",
}
CONVERSIONS_512: Final[dict[tuple[str, str], str]] = {
    ("f64", "i64"): "VCVTQQ2PD",
    ("f32", "i64"): "VCVTQQ2PS",
    ("i64", "f64"): "VCVTTPD2QQ",
    ("i64", "f32"): "VCVTTPS2QQ",
    ("f32", "u32"): "VCVTUDQ2PS",
    ("f64", "u32"): "VCVTUDQ2PD",
    ("f32", "u64"): "VCVTUQQ2PS",
    ("f64", "u64"): "VCVTUQQ2PD",
    ("u32", "f32"): "VCVTTPS2UDQ",
    ("u32", "f64"): "VCVTTPD2UDQ",
    ("u64", "f32"): "VCVTTPS2UQQ",
    ("u64", "f64"): "VCVTTPD2UQQ",
}

REDUCTIONS: Final[dict[Op, Op]] = {
    ops.REDUCE_ADD: ops.ADD,
    ops.REDUCE_MUL: ops.MUL,
    ops.REDUCE_MIN: ops.MIN,
    ops.REDUCE_MAX: ops.MAX,
    ops.REDUCE_AND: ops.AND,
    ops.REDUCE_OR: ops.OR,
    ops.REDUCE_XOR: ops.XOR,
}

#: Which operands of an operation a load may be folded into (scalars of 32 and 64 bits, and vectors).
FOLDS: Final[dict[Op, tuple[int, ...]]] = {
    ops.ADD: (0, 1),
    ops.MUL: (0, 1),
    ops.MUL_LOWER: (0, 1),
    ops.SUB: (1,),
    ops.DIV: (1,),
    ops.AND: (0, 1),
    ops.ANDNOT: (1,),
    ops.OR: (0, 1),
    ops.XOR: (0, 1),
    ops.FMA: (0, 1, 2),
    ops.FMS: (0, 1, 2),
    ops.FNMA: (0, 1, 2),
    ops.MIN: (0, 1),
    ops.MAX: (0, 1),
    ops.SQRT: (0,),
    ops.CRC32C: (1,),
    ops.SPLAT: (0,),
    ops.CONVERT: (0,),
    ops.CONVERT_UNCHECKED: (0,),
    ops.EQ: (1,),
    ops.NE: (1,),
    ops.LT: (1,),
    ops.LE: (1,),
    ops.GT: (1,),
    ops.GE: (1,),
}

_CHOICES: Final = {op: condition for condition, op in ops.SELECT_CMP.items()}

_G: Final = Use(INTS)
_GM: Final = Use(INTS, memory=True)
_GL: Final = Use(INTS, late=True)
_GML: Final = Use(INTS, memory=True, late=True)
_V: Final = Use(VECTORS)
_VM: Final = Use(VECTORS, memory=True)
_K: Final = Use(MASKS)


def missing(target: Target, instr: Instr, hint: str = "") -> UnsupportedOperationError:
    """The error for an operation the target does not have for a type."""
    what = f"{instr.op.name.removesuffix('_at')} on {instr.type.name}" + (f" from {instr.source.name}" if instr.source is not VOID else "")
    return UnsupportedOperationError(f"{what} is not available on {target.name}" + (f"; {hint}" if hint else ""), "", instr.line)


def suffix(type_: Type) -> str:
    """PS, PD, SS or SD."""
    return ("P" if type_.lanes else "S") + ("S" if type_.bits == 32 else "D")


def float_form(stem: str, type_: Type, count: int = 3) -> Form:
    """The form of a floating-point instruction with ``count`` registers."""
    name = ev.width(type_)
    return lookup(stem + suffix(type_), ",".join([name] * count))


def make_rule(target: Any, f: Function, instr: Instr) -> Rule:
    """The rule for an instruction. Raises ``UnsupportedOperationError`` when this target has none."""
    op = instr.op
    type_ = instr.type
    name = op.name
    most = 512 if target.mask_registers else 256
    if type_.size * 8 > most or instr.source.size * 8 > most:
        raise missing(target, instr, f"its vectors have at most {most} bits")
    if (type_.is_float and type_.bits == 16) or (instr.source.is_float and instr.source.bits == 16):
        raise missing(target, instr)
    if op.effect == ops.CONTROL:
        return _control(target, f, instr)
    if op is ops.COPY:
        cls = target.class_of(type_)
        return Rule(name, (Use(cls, memory=True),), Use(cls), es.Move().emit)
    if op is ops.SWAP:
        cls = target.class_of(type_)
        return Rule(name, (Use(cls), Use(cls)), None, es.Exchange().emit)
    if op is ops.CALL or op is ops.CALL_VOID:
        return _call(target, f, instr)
    if op is ops.STORE_ARG:
        return Rule(name, (Use(target.class_of(type_)),), None, es.StoreArgument().emit)
    rule: Rule | None
    if op.effect == ops.READS or op.effect == ops.WRITES:
        rule = _memory(target, instr)
    elif op is ops.ADDRESS:
        rule = Rule(name, _addresses(instr, False), _G, es.Lea().emit)
    elif op is ops.LOCAL:
        rule = Rule(name, (_G,), _G, es.LocalAddress().emit)
    elif op is ops.LANE_MASK:
        rule = Rule(name, (_G, _G), Use(target.class_of(type_)), es.LaneMask(not target.mask_registers).emit, temps=(INTS, INTS))
    elif op is ops.ANY or op is ops.ALL:
        rule = Rule(name, (Use(target.class_of(type_)),), _G, es.AnyAll(op is ops.ALL, target.mask_registers).emit)
    elif type_.is_mask:
        rule = _mask(target, instr)
    elif op in REDUCTIONS:
        rule = _reduction(target, instr)
    elif op is ops.CONVERT or op is ops.CONVERT_UNCHECKED:
        rule = _convert(target, instr)
    elif op is ops.BITCAST:
        rule = _bitcast(target, instr)
    elif type_.is_vector:
        rule = _vector(target, f, instr)
    elif type_.is_float:
        rule = _float(target, f, instr)
    else:
        rule = _integer(target, instr)
    if rule is None:
        raise missing(target, instr)
    return rule


def _addresses(instr: Instr, late: bool) -> tuple[Use, ...]:
    """The uses of an instruction's address registers."""
    mem = instr.mem
    if mem is None:
        return ()
    use = _GL if late else _G
    return (use, use) if mem.indexed else (use,)


def _with_memory(instr: Instr, uses: tuple[Use, ...], late: bool = False) -> tuple[Use, ...]:
    """The uses of all operands where one role may have been folded into memory."""
    mem = instr.mem
    if mem is None:
        return uses
    role = mem.role if mem.role >= 0 else len(uses) - 1
    return uses[:role] + uses[role + 1 :] + _addresses(instr, late)


def _control(target: Any, f: Function, instr: Instr) -> Rule:
    op = instr.op
    type_ = instr.type
    if op is ops.RET:
        if not instr.args:
            return Rule("ret", (), None, es.Return().emit)
        convention = target.convention
        cls = target.class_of(type_ if type_ is not VOID else f.result)
        place = convention.float_result if cls == VECTORS else convention.int_result
        return Rule("ret", (Use(cls, place),), None, es.Return().emit)
    if op is ops.LABEL:
        return Rule("label", (), None, es.Label().emit)
    if op is ops.JUMP:
        return Rule("jump", (), None, es.Jump().emit)
    if op is ops.PROLOGUE:
        return Rule("prologue", (), None, es.Prologue().emit)
    if op is ops.EPILOGUE:
        return Rule("epilogue", (), None, es.Epilogue().emit)
    if op is ops.IF or op is ops.BR_IF or op is ops.JUMP_IF:
        return Rule(op.name, (_GM,), None, es.JumpBool(5).emit)
    if op is ops.JUMP_UNLESS:
        return Rule(op.name, (_GM,), None, es.JumpBool(4).emit)
    if op.compare:
        if type_.is_float:
            form = lookup("VUCOMISS" if type_.bits == 32 else "VUCOMISD", "xmm,xmm")
            exchanged = op.compare in ("lt", "le", "nlt", "nle")
            uses = (_VM, _V) if exchanged else (_V, _VM)
            return Rule(op.name, _with_memory(instr, uses), None, ev.JumpFloat(form, op.compare).emit)
        condition = es.conditions(type_)[ops.ORDERED_EQUAL.get(op.compare, op.compare)]
        uses = (_G, _G) if type_.bits < 32 else (_GM, _G) if len(instr.args) > 1 and instr.args[1] < 0 else (_G, _GM)
        return Rule(op.name, _with_memory(instr, uses), None, es.JumpInteger(condition).emit)
    return Rule(op.name, (), None, es.Nothing().emit)


def _call(target: Any, f: Function, instr: Instr) -> Rule:
    callee = f.callees[instr.imm]
    convention = target.convention
    uses: list[Use] = []
    floats = 0
    for type_, place in zip(callee.params, convention.assign(callee.params), strict=True):
        if place >= 0:
            uses.append(Use(target.class_of(type_), place))
            floats += type_.is_float
    result: Use | None = None
    if callee.result is not VOID:
        cls = target.class_of(callee.result)
        result = Use(cls, convention.float_result if cls == VECTORS else convention.int_result)
    extend: Form | None = None
    if callee.result in convention.unextended:
        extend = lookup("MOV", "r32,r32") if callee.result.bits == 32 else ev.extension(callee.result)
    # Of callee-saved vector registers (Win64) only the low part survives: they are taken to be destroyed.
    kills = target.caller_saved | target.class_masks[VECTORS] | (1 << R11)
    return Rule("call", tuple(uses), result, es.Call(floats if convention.shadow == 0 else -1, extend).emit, kills=kills)


def _memory(target: Any, instr: Instr) -> Rule | None:
    op = instr.op
    type_ = instr.type
    cls = target.class_of(type_)
    where = _addresses(instr, False)
    name = op.name
    if op is ops.LOAD_AT:
        if type_.size == 2 and type_.lanes:
            return Rule(name, where, _V, el.LoadPair(True).emit)
        if cls == VECTORS:
            return Rule(name, where, _V, ev.Load(es.vector_load(type_)).emit)
        form = lookup("MOV", f"r{type_.bits},m{type_.bits}") if type_.bits >= 32 else lookup("MOVSX" if type_.signed else "MOVZX", f"r32,m{type_.bits}")
        return Rule(name, where, _G, ev.Load(form).emit)
    if op is ops.STORE_AT:
        if type_.size == 2 and type_.lanes:
            return Rule(name, (_V, *where), None, el.LoadPair(False).emit)
        if type_.lanes:
            return Rule(name, (_V, *where), None, ev.Store(es.vector_store(type_)).emit)
        if cls == VECTORS:
            if instr.args[0] < 0:
                return Rule(name, (_V, *where), None, es.StoreInteger(type_).emit)
            return Rule(name, (_V, *where), None, ev.Store(es.vector_store(type_)).emit)
        return Rule(name, (_G, *where), None, es.StoreInteger(type_).emit)
    mask = Use(MASKS if target.mask_registers else VECTORS)
    shape = ev.width(type_)
    if target.mask_registers:
        move = {8: "VMOVDQU8", 16: "VMOVDQU16"}.get(type_.bits) or (
            ("VMOVUPS" if type_.bits == 32 else "VMOVUPD") if type_.is_float else f"VMOVDQU{type_.bits}"
        )
        few = type_.size < 16
        temps: tuple[int, ...] = (MASKS,) if few else ()
        if op is ops.MASKED_LOAD_AT:
            return Rule(name, (mask, *where), _V, ev.MaskedLoad(lookup(move, f"{shape}{{k}},m"), few).emit, temps=temps)
        return Rule(name, (mask, _V, *where), None, ev.MaskedStore(lookup(move, f"m{{k}},{shape}"), few).emit, temps=temps)
    if type_.bits >= 32:
        move = "VMASKMOVP" + ("S" if type_.bits == 32 else "D") if type_.is_float else "VPMASKMOV" + LETTER[type_.bits]
        few = type_.size < 16
        temps = (VECTORS,) if few else ()
        if op is ops.MASKED_LOAD_AT:
            return Rule(name, (mask, *where), _V, ev.MoveMaskedLoad(lookup(move, f"{shape},{shape},m"), few).emit, temps=temps)
        return Rule(name, (mask, _V, *where), None, ev.MoveMaskedStore(lookup(move, f"m,{shape},{shape}"), few).emit, temps=temps)
    return None


def _mask(target: Any, instr: Instr) -> Rule | None:
    op = instr.op
    type_ = instr.type
    if op is ops.MASK_SPLAT:
        return Rule(op.name, (_G,), Use(target.class_of(type_)), el.SplatMask(target.mask_registers).emit, temps=(INTS,))
    if target.mask_registers:
        if op in BITWISE:
            stem = {ops.AND: "KAND", ops.OR: "KOR", ops.XOR: "KXOR", ops.ANDNOT: "KANDN"}[op]
            return Rule(op.name, (_K, _K), _K, ev.ThreeOperand(lookup(stem + "Q", "k,k,k"), False).emit)
        if op is ops.NOT:
            return Rule(op.name, (_K,), _K, ev.TwoOperand(lookup("KNOTQ", "k,k")).emit)
        if op is ops.MASK_CONVERT:
            return Rule(op.name, (_K,), _K, es.Move().emit, tied=ANY_TIED)
        return None
    shape = ev.width(type_)
    if op in BITWISE:
        form = lookup(BITWISE[op], f"vex:{shape},{shape},{shape}")
        return Rule(op.name, (_V, _V), _V, ev.ThreeOperand(form, False).emit, tied=ANY_TIED)
    if op is ops.NOT:
        return Rule(op.name, (_V,), _V, ev.WithConstant(lookup("VPXOR", f"vex:{shape},{shape},{shape}"), b"\xff" * 16).emit, tied=ANY_TIED)
    if op is ops.SELECT:
        form = lookup("VPBLENDVB", f"{shape},{shape},{shape},{shape}")
        return Rule(op.name, (_V, _V, _V), _V, ev.BlendVector(form).emit)
    if op is ops.MASK_CONVERT:
        return _lanes(target, instr, instr.source.bits, type_.bits, True)
    return None


def _reduction(target: Any, instr: Instr) -> Rule | None:
    op = REDUCTIONS[instr.op]
    type_ = instr.type
    combine = _combine(target, op, type_)
    if combine is not None:
        move = lookup("VMOVQ", "r64,xmm") if type_.bits == 64 else lookup("VMOVD", "r32,xmm")
        return Rule(instr.op.name, (_V,), _G, ev.Reduce({}, False, move, combine).emit, temps=(VECTORS, VECTORS, VECTORS, VECTORS))
    steps: dict[str, Form] = {}
    for shape in ("xmm", "ymm"):
        form = _lane_form(target, op, type_, shape)
        if form is None:
            return None
        steps[shape] = form
    swapped = type_.is_float and op in (ops.MIN, ops.MAX)
    if type_.is_float:
        return Rule(instr.op.name, (Use(VECTORS, late=True),), _V, ev.Reduce(steps, swapped, None).emit, temps=(VECTORS,))
    move = lookup("VMOVQ", "r64,xmm") if type_.bits == 64 else lookup("VMOVD", "r32,xmm")
    return Rule(instr.op.name, (_V,), _G, ev.Reduce(steps, False, move).emit, temps=(VECTORS, VECTORS))


def _combine(target: Any, op: Op, type_: Type) -> el.Combine | None:
    """The sequence for an operation on lanes that takes several instructions, or None."""
    if type_.is_float:
        return None
    if op is ops.MUL and type_.bits == 8:
        return el.multiply_bytes
    if op is ops.MUL_HIGH and type_.bits == 32:
        return el.high_doubles if type_.signed else el.high_unsigned_doubles
    if type_.bits == 64 and not target.mask_registers:
        if op is ops.MUL:
            return el.multiply_quads
        if type_.signed and op is ops.MIN:
            return el.least_quads
        if type_.signed and op is ops.MAX:
            return el.greatest_quads
        if op is ops.MIN:
            return el.least_unsigned_quads
        if op is ops.MAX:
            return el.greatest_unsigned_quads
    return None


def _lane_form(target: Any, op: Op, type_: Type, shape: str) -> Form | None:
    """The three-operand form of an operation on lanes, at a given register width."""
    three = f"{shape},{shape},{shape}"
    bits = type_.bits
    if type_.is_float:
        known = FLOAT.get(op)
        return lookup(known[0] + ("PS" if bits == 32 else "PD"), three) if known is not None else None
    if op in BITWISE:
        if shape == "zmm":
            return lookup(BITWISE[op] + ("Q" if bits == 64 else "D"), "evex:" + three)
        return lookup(BITWISE[op], three)
    mnemonic = INTEGER.get(op, {}).get(bits) or EXTREME.get((op, type_.signed), {}).get(bits)
    if mnemonic is None and target.mask_registers:
        mnemonic = INTEGER_512.get(op, {}).get(bits) or (EXTREME_512.get((op, type_.signed)) if bits == 64 else None)
    return lookup(mnemonic, three) if mnemonic else None


def _lanes(target: Any, instr: Instr, from_bits: int, to_bits: int, signed: bool) -> Rule | None:
    """Integer lanes made wider or narrower."""
    type_ = instr.type
    lanes = type_.lanes
    to_shape = "zmm" if to_bits * lanes > 256 else "ymm" if to_bits * lanes > 128 else "xmm"
    if from_bits == to_bits:
        return Rule(instr.op.name, (_V,), _V, es.Move().emit)
    if from_bits < to_bits:
        bits = from_bits * lanes
        from_shape = "zmm" if bits > 256 else "ymm" if bits > 128 else "xmm"
        form = lookup(("VPMOVSX" if signed else "VPMOVZX") + WIDEN[(from_bits, to_bits)], f"{to_shape},{from_shape}")
        use = _V if instr.source.is_mask else _VM
        return Rule(instr.op.name, _with_memory(instr, (use,)), _V, ev.TwoOperand(form, source=instr.source).emit)
    bits = from_bits * lanes
    if target.mask_registers:
        from_shape = "zmm" if bits > 256 else "ymm" if bits > 128 else "xmm"
        names = {(64, 32): "VPMOVQD", (64, 16): "VPMOVQW", (64, 8): "VPMOVQB", (32, 16): "VPMOVDW", (32, 8): "VPMOVDB", (16, 8): "VPMOVWB"}
        return Rule(instr.op.name, (_V,), _V, _Narrow(lookup(names[(from_bits, to_bits)], f"{to_shape},{from_shape}")).emit)
    if bits > 256:
        return None
    if from_bits == 64 and to_bits == 32:
        return Rule(instr.op.name, (Use(VECTORS, late=True),), _V, ec.NarrowHalf().emit, temps=(VECTORS,))
    if to_bits < 32:
        return Rule(instr.op.name, (Use(VECTORS, late=True),), _V, ec.NarrowPack().emit, temps=(VECTORS,))
    return None


class _Narrow:
    """VPMOVDB and its kin: the destination is the ModRM.r/m operand."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form = form

    def emit(self, asm: Any, f: Function, instr: Instr) -> None:
        asm.emit(self.form, (CODES[instr.dst], CODES[instr.args[0]]), line=instr.line)


def _convert(target: Any, instr: Instr) -> Rule | None:
    type_, source = instr.type, instr.source
    name = instr.op.name
    if not type_.lanes:
        return _convert_scalar(target, instr)
    if type_.lanes != source.lanes:
        return None
    shape, from_shape = ev.width(type_), ev.width(source)
    if type_.is_integer and source.is_integer:
        return _lanes(target, instr, source.bits, type_.bits, source.signed)
    if source.is_float and type_.is_integer and instr.op is ops.CONVERT:
        return _convert_saturating(target, instr)
    mnemonic = CONVERSIONS.get((type_.element.name, source.element.name))
    if mnemonic is None and target.mask_registers:
        mnemonic = CONVERSIONS_512.get((type_.element.name, source.element.name))
    if mnemonic is None:
        if type_.is_float and type_ is not source and type_.element is source.element:
            return Rule(name, (_V,), _V, es.Move().emit)
        if type_.is_float and source.bits == 64 and source.signed:
            if type_.bits == 64:
                return Rule(name, (_V,), _V, ec.QuadsToDoubles().emit, temps=(VECTORS,))
            return Rule(name, (Use(VECTORS, late=True),), _V, ec.QuadsToFloats().emit, temps=(VECTORS, VECTORS, INTS))
        if source.is_float and source.bits == 64 and type_.bits == 64 and type_.signed:
            return Rule(name, (Use(VECTORS, late=True),), _V, ec.DoublesToQuads().emit, temps=(VECTORS, VECTORS, INTS))
        return None
    form = lookup(mnemonic, f"{shape},{from_shape}")
    return Rule(name, _with_memory(instr, (_VM,)), _V, ev.TwoOperand(form, source=source).emit)


def _convert_saturating(target: Any, instr: Instr) -> Rule | None:
    """Lanes of floats to integers of 32 and 64 bits, whatever they are; the narrower integers are made of i32, AVX2's unsigned ones in ``unsigned``."""
    type_, source = instr.type, instr.source
    evex = target.mask_registers
    late = (Use(VECTORS, late=True),)
    if type_.bits < 32 or not (type_.signed or evex):
        return None
    if not type_.signed:
        form = lookup(CONVERSIONS_512[type_.element.name, source.element.name], f"{ev.width(type_)},{ev.width(source)}")
        return Rule("convert", (_V,), _V, ec.FloatLanesToUnsigned(source, form).emit, temps=(VECTORS,))
    if type_.bits == 32 and source.bits == 64:
        return Rule("convert", (_V,), _V, ec.DoublesToInts(type_, source, evex).emit, temps=(VECTORS, MASKS) if evex else (VECTORS,))
    single = source.bits == 32
    if evex or type_.bits == 32:
        mnemonic = "VCVTTPS2DQ" if type_.bits == 32 else "VCVTTPS2QQ" if single else "VCVTTPD2QQ"
        return Rule("convert", late, _V, ec.FloatLanesToInts(type_, source, mnemonic, evex).emit, temps=(MASKS if evex else VECTORS,))
    return None if single else Rule("convert", late, _V, ec.FloatLanesToInts(type_, source, "", evex).emit, temps=(VECTORS, VECTORS, INTS))


def _convert_scalar(target: Any, instr: Instr) -> Rule | None:
    type_, source = instr.type, instr.source
    name = instr.op.name
    if type_.is_float and source.is_float:
        if type_ is source:
            return Rule(name, (_V,), _V, es.Move().emit)
        form = lookup("VCVTSS2SD" if type_.bits == 64 else "VCVTSD2SS", "xmm,xmm,xmm")
        return Rule(name, (_V,), _V, ec.FloatToFloat(form).emit)
    if type_.is_float:
        # Narrow integers are kept extended to 32 bits, so they convert as i32; u32 as the i64 it is zero-extended to.
        if source.bits == 64 and not source.signed:
            return None
        return Rule(name, (_G,), _V, ec.IntToFloat(type_, source if source.kind != 3 or source.bits < 32 else I64).emit)
    if source.is_float:
        if type_ is U32 and target.mask_registers and instr.op is ops.CONVERT:
            return Rule(name, (_V,), _G, ec.FloatToUnsigned(source).emit, temps=(VECTORS,))
        # The other integers are made of these.
        if (type_ is not I32 and type_ is not I64) or instr.op is ops.CONVERT:
            return None
        form = lookup("VCVTTSS2SI" if source.bits == 32 else "VCVTTSD2SI", f"{es.register_name(type_)},xmm")
        return Rule(name, _with_memory(instr, (_VM,)), _G, ev.TwoOperand(form, source=source).emit)
    if type_ is BOOL:
        return Rule(name, (_G,), _G, ec.ToBool().emit)
    if type_.bits < 32:
        if source.bits <= type_.bits and source.signed == type_.signed:
            return Rule(name, (_G,), _G, ec.Convert(lookup("MOV", "r32,r32"), None).emit)
        return Rule(name, (_G,), _G, ec.Convert(ev.extension(type_), None).emit)
    if type_.bits == 64 and source.bits <= 32 and (source.signed):
        return Rule(
            name, _with_memory(instr, (_GM if source.bits == 32 else _G,)), _G, ec.Convert(lookup("MOVSXD", "r64,r32"), lookup("MOVSXD", "r64,m32")).emit
        )
    form = lookup("MOV", "r64,r64") if type_.bits == 64 and source.bits == 64 else lookup("MOV", "r32,r32")
    return Rule(name, (_G,), _G, ec.Convert(form, None).emit)


def _bitcast(target: Any, instr: Instr) -> Rule | None:
    type_, source = instr.type, instr.source
    to, fro = target.class_of(type_), target.class_of(source)
    if to == fro:
        if to == INTS and type_.bits < 32 and type_.signed != source.signed:
            return Rule("bitcast", (_G,), _G, ec.Convert(ev.extension(type_), None).emit)
        return Rule("bitcast", (Use(fro),), Use(to), es.Move().emit, tied=ANY_TIED)
    shape = ("r64", "VMOVQ") if type_.bits == 64 else ("r32", "VMOVD")
    form = lookup(shape[1], f"xmm,{shape[0]}" if to == VECTORS else f"{shape[0]},xmm")
    return Rule("bitcast", (Use(fro),), Use(to), _Narrow(form).emit)


def _vector(target: Any, f: Function, instr: Instr) -> Rule | None:
    op = instr.op
    type_ = instr.type
    name = op.name
    shape = ev.width(type_)
    three = f"{shape},{shape},{shape}"
    bits = type_.bits
    if op in FMA and type_.is_float:
        return _fma(instr)
    if type_.is_float and op in FLOAT:
        return _float_three(f, instr)
    if op is ops.SELECT:
        if target.mask_registers:
            mnemonic = {8: "VPBLENDMB", 16: "VPBLENDMW", 32: "VBLENDMPS", 64: "VBLENDMPD"}[bits]
            return Rule(name, (_K, _VM, _V), _V, ev.BlendMask(lookup(mnemonic, f"{shape}{{k}},{shape},{shape}")).emit)
        mnemonic = {8: "VPBLENDVB", 16: "VPBLENDVB", 32: "VBLENDVPS", 64: "VBLENDVPD"}[bits]
        return Rule(name, (_V, _VM, _V), _V, ev.BlendVector(lookup(mnemonic, f"{shape},{shape},{shape},{shape}")).emit)
    if op in ops.COMPARISONS.values():
        return _compare_lanes(target, instr, shape)
    if op is ops.SLIDE:
        scratch = 0 if target.slides(type_) or shape == "xmm" else 1 if shape == "ymm" else 2
        # The operands are still read after the result is begun only where the result is written once, last.
        return Rule(name, (_V, _V, _G), _V, el.Slide(type_, target.mask_registers).emit, temps=(VECTORS,) * scratch)
    if op is ops.SPLAT:
        return _splat(target, instr, shape)
    if op is ops.IOTA:
        return Rule(name, (), _V, ev.Iota(es.vector_load(type_)).emit)
    if op is ops.EXTRACT:
        if type_.is_float:
            return Rule(name, (_V,), _V, _First().emit)
        move = lookup("VMOVQ", "r64,xmm") if bits == 64 else lookup("VMOVD", "r32,xmm")
        return Rule(name, (_V,), _G, (ev.TwoOperand(move) if bits >= 32 else el.ExtractByte(type_)).emit)
    if type_.is_float:
        if op is ops.SQRT:
            return Rule(name, _with_memory(instr, (_VM,)), _V, ev.TwoOperand(float_form("VSQRT", type_, 2)).emit)
        if op in ROUNDING:
            stem = "VRNDSCALE" if target.mask_registers else "VROUND"
            return Rule(name, (_VM,), _V, ev.TwoOperand(lookup(stem + suffix(type_), f"{shape},{shape},imm"), ROUNDING[op]).emit)
        if op is ops.NEG or op is ops.ABS:
            return _sign(instr, shape)
        return None
    if op is ops.SHL or op is ops.SHR:
        return _shift_lanes(target, instr, shape)
    combine = _combine(target, op, type_)
    if combine is not None:
        return Rule(name, (_V, _V), _V, el.Combined(combine, shape).emit, temps=(VECTORS, VECTORS))
    if op is ops.ABS:
        mnemonic = {8: "VPABSB", 16: "VPABSW", 32: "VPABSD", 64: "VPABSQ" if target.mask_registers else ""}[bits]
        return Rule(name, (_VM,), _V, ev.TwoOperand(lookup(mnemonic, f"{shape},{shape}")).emit) if mnemonic and type_.signed else None
    if op is ops.NOT:
        form = lookup("VPXORD" if shape == "zmm" else "VPXOR", three)
        return Rule(name, (_V,), _V, ev.WithConstant(form, b"\xff" * 4).emit)
    lane_form = _lane_form(target, op, type_, shape)
    if lane_form is None:
        return None
    use = _VM if bits >= 32 or not target.mask_registers else _V
    # Bitwise VEX forms have no element size; a repeated 64-bit constant needs one that has.
    repeat = lookup(BITWISE[op] + "Q", "evex:" + three) if op in BITWISE and bits == 64 and target.mask_registers else None
    emit = ev.ThreeOperand(lane_form, op.commutes or op in (ops.MIN, ops.MAX), False, repeat).emit
    return Rule(name, _with_memory(instr, (use, use) if op.commutes else (_V, use)), _V, emit, tied=ANY_TIED)


class _First:
    """Lane 0 of a vector of floats is the scalar in the same register."""

    __slots__ = ()

    def emit(self, asm: Any, f: Function, instr: Instr) -> None:
        if instr.dst != instr.args[0]:
            asm.emit(lookup("VMOVAPS", "xmm,xmm"), (CODES[instr.dst], CODES[instr.args[0]]), line=instr.line)


def _fma(instr: Instr) -> Rule:
    emit = ev.FusedMultiplyAdd(FMA[instr.op], suffix(instr.type), instr.type).emit
    return Rule(instr.op.name, _with_memory(instr, (_VM, _VM, _VM)), _V, emit, tied=ANY_TIED, overwrites=True)


def _float_three(f: Function, instr: Instr) -> Rule:
    stem, commutes = FLOAT[instr.op]
    form = float_form(stem, instr.type)
    if instr.op is ops.MIN or instr.op is ops.MAX:
        # VMAX takes the second source when the first is not greater, Python's max(a, b) then takes a: a is the second source.
        # Without NaN either may be.
        free = f.options.fastmath
        emit = ev.ThreeOperand(form, free, True).emit
        return Rule(instr.op.name, _with_memory(instr, (_VM, _VM) if free else (_VM, _V)), _V, emit, tied=ANY_TIED)
    emit = ev.ThreeOperand(form, commutes).emit
    return Rule(instr.op.name, _with_memory(instr, (_VM, _VM) if commutes else (_V, _VM)), _V, emit, tied=ANY_TIED)


def _sign(instr: Instr, shape: str) -> Rule:
    """Negation and absolute value of floats: the sign bit flipped or cleared."""
    bits = instr.type.bits
    negate = instr.op is ops.NEG
    pattern = (1 << (bits - 1)) if negate else (1 << (bits - 1)) - 1
    stem = ("VXOR" if negate else "VAND") + ("PS" if bits == 32 else "PD")
    return Rule(instr.op.name, (_V,), _V, ev.WithConstant(lookup(stem, f"{shape},{shape},{shape}"), pattern.to_bytes(bits // 8, "little")).emit, tied=ANY_TIED)


def _compare_lanes(target: Any, instr: Instr, shape: str) -> Rule | None:
    op = instr.op
    type_ = instr.type
    if target.mask_registers:
        if type_.is_float:
            form = lookup("VCMP" + suffix(type_), f"k,{shape},{shape},imm")
            predicate = FLOAT_PREDICATE[op]
        else:
            form = lookup("VPCMP" + ("" if type_.signed else "U") + LETTER[type_.bits], f"k,{shape},{shape},imm")
            predicate = INTEGER_PREDICATE[op]
        use = _VM if type_.bits >= 32 else _V
        return Rule(op.name, _with_memory(instr, (_V, use)), _K, ev.Compare(form, predicate).emit)
    if type_.is_float:
        form = lookup("VCMP" + suffix(type_), f"{shape},{shape},{shape},imm")
        return Rule(op.name, _with_memory(instr, (_V, _VM)), _V, ev.Compare(form, FLOAT_PREDICATE[op]).emit)
    if op is ops.EQ or (op is ops.GT and type_.signed):
        form = lookup("VPCMP" + ("EQ" if op is ops.EQ else "GT") + LETTER[type_.bits], f"vex:{shape},{shape},{shape}")
        return Rule(op.name, _with_memory(instr, (_V, _VM)), _V, ev.ThreeOperand(form, False).emit)
    return None


def _splat(target: Any, instr: Instr, shape: str) -> Rule | None:
    type_ = instr.type
    name = instr.op.name
    bits = type_.bits
    if type_.is_float:
        if bits == 64 and shape == "xmm":
            return Rule(name, _with_memory(instr, (_VM,)), _V, ev.Splat(lookup("VMOVDDUP", "xmm,xmm")).emit)
        mnemonic = "VBROADCASTSS" if bits == 32 else "VBROADCASTSD"
        return Rule(name, _with_memory(instr, (_VM,)), _V, ev.Splat(lookup(mnemonic, f"{shape},xmm"), None, lookup(mnemonic, f"{shape},m{bits}")).emit)
    mnemonic = "VPBROADCAST" + LETTER[bits]
    if instr.mem is not None:
        return Rule(name, _addresses(instr, False), _V, ev.Splat(lookup(mnemonic, f"{shape},m{bits}")).emit)
    if target.mask_registers:
        return Rule(name, (_G,), _V, ev.Splat(lookup(mnemonic, f"{shape},r{max(bits, 32)}")).emit)
    lead = lookup("VMOVQ", "xmm,r64") if bits == 64 else lookup("VMOVD", "xmm,r32")
    return Rule(name, (_G,), _V, ev.Splat(lookup(mnemonic, f"vex:{shape},xmm"), lead).emit)


def _shift_lanes(target: Any, instr: Instr, shape: str) -> Rule | None:
    type_ = instr.type
    bits = type_.bits
    name = instr.op.name
    left = instr.op is ops.SHL
    constant = instr.args[1] < 0
    evex = target.mask_registers
    late = (_V, Use(VECTORS, late=True))
    stem = "VPSLL" if left else "VPSRA" if type_.signed else "VPSRL"
    if bits == 8:
        if constant:
            return Rule(name, (_V, _V), _V, eh.ShiftBytes(type_, left).emit)
        return Rule(name, (_V, _V), _V, eh.ShiftBytesVariable(type_, left).emit, temps=(VECTORS, VECTORS)) if evex else None
    if bits == 64 and not left and type_.signed and not evex:
        return Rule(name, late, _V, eh.ShiftSignedQuads(shape).emit, temps=(VECTORS,))
    if constant:
        return Rule(name, (_V, _V), _V, eh.ShiftImmediate(lookup(stem + LETTER[bits], f"{shape},{shape},imm")).emit)
    if bits == 16 and not evex:
        return Rule(name, (_V, _V), _V, eh.ShiftWords(type_, left).emit, temps=(VECTORS, VECTORS))
    # By the width or more these leave nothing but the sign themselves.
    form = lookup(stem + "V" + LETTER[bits], f"{shape},{shape},{shape}")
    return Rule(name, _with_memory(instr, (_V, _VM if bits >= 32 else _V)), _V, ev.ThreeOperand(form, False).emit)


def _float(target: Any, f: Function, instr: Instr) -> Rule | None:
    op = instr.op
    type_ = instr.type
    if op in FLOAT:
        return _float_three(f, instr)
    if op in FMA:
        return _fma(instr)
    if op is ops.SQRT:
        return Rule(op.name, _with_memory(instr, (_VM,)), _V, ev.TwoOperand(float_form("VSQRT", type_), scalar=True).emit)
    if op in ROUNDING:
        form = lookup("VROUND" + suffix(type_), "xmm,xmm,xmm,imm")
        if target.mask_registers:
            form = lookup("VRNDSCALE" + suffix(type_), "xmm,xmm,xmm,imm")
        return Rule(op.name, (_VM,), _V, ev.TwoOperand(form, ROUNDING[op], True).emit)
    if op is ops.NEG or op is ops.ABS:
        return _sign(instr, "xmm")
    if op in ops.COMPARISONS.values():
        # VEX-encoded comparisons do not reach the upper 16 registers.
        where = "k" if target.mask_registers else "vex:xmm"
        emit = ev.CompareScalar(lookup("VCMP" + suffix(type_), f"{where},xmm,xmm,imm"), FLOAT_PREDICATE[op]).emit
        return Rule(op.name, (_V, _V), _G, emit, temps=(MASKS if target.mask_registers else VECTORS,))
    return None


def _integer(target: Any, instr: Instr) -> Rule | None:
    op = instr.op
    type_ = instr.type
    name = op.name
    constant = len(instr.args) > 1 and instr.args[1] < 0 and instr.mem is None
    if op in ops.COMPARISONS.values():
        condition = es.conditions(type_)[op.name]
        if type_.bits < 32:
            return Rule(name, (_GL, _GL), _G, es.SetCondition(condition).emit)
        uses = (_GML, _GL) if constant else (_GL, _GML)
        return Rule(name, _with_memory(instr, uses, True), _G, es.SetCondition(condition).emit)
    if type_ is BOOL:
        if op is ops.NOT:
            return Rule(name, (_G,), _G, es.NotBool().emit, tied=0)
        if op in (ops.AND, ops.OR, ops.XOR):
            return Rule(name, (_G, _G), _G, es.Alu(ALU[op], I32).emit, tied=0, commutes=True)
        if op is ops.ANDNOT:
            return Rule(name, (_G, _G), _G, es.AndNot(I32).emit)
        if op is ops.SELECT:
            return Rule(name, (_GL, _G, _GL), _G, es.SelectInteger(I32).emit, tied=1)
        return None
    if type_.bits < 32 and type_ is not PTR:
        return None
    if op is ops.ADD:
        late = instr.mem is not None
        return Rule(name, _with_memory(instr, (_G if constant else _GM, _GM), late), _G, es.Add(type_).emit, tied=ANY_TIED)
    if op is ops.SUB:
        if constant:
            return Rule(name, (_G, _G), _G, es.Add(type_, True).emit, tied=ANY_TIED)
        return Rule(name, _with_memory(instr, (_G, _GML), True), _G, es.Alu("SUB", type_).emit, tied=0)
    if op is ops.MUL and constant:
        return Rule(name, (_GM, _G), _G, es.MultiplyImmediate(type_).emit)
    if op in ALU:
        return Rule(name, _with_memory(instr, (_G, _GM), True), _G, es.Alu(ALU[op], type_).emit, tied=0, commutes=instr.mem is None)
    if op is ops.NEG or op is ops.NOT:
        return Rule(name, (_G,), _G, es.Unary("NEG" if op is ops.NEG else "NOT", type_).emit, tied=0)
    if op is ops.ANDNOT:
        return Rule(name, (_G, _G), _G, es.AndNot(type_).emit)
    if op is ops.SHL or op is ops.SHR:
        left = op is ops.SHL
        if constant:
            return Rule(name, (_G, _G), _G, eh.ShiftAnyCount(left, type_).emit, tied=0)
        uses = (_G, _G) if type_.signed and not left else (_G, _GL)
        return Rule(name, uses, _G, eh.ShiftAnyCount(left, type_).emit, temps=(INTS,))
    if op is ops.SHL_MODULO or op is ops.SHR_MODULO:
        return Rule(name, (_G, _G), _G, eh.Shift(op is ops.SHL_MODULO, type_).emit, tied=0 if constant else -1)
    if op is ops.MIN or op is ops.MAX:
        return Rule(name, _with_memory(instr, (_G, _GML), True), _G, es.MinMax(type_, op is ops.MAX).emit, tied=0)
    if op is ops.SELECT:
        return Rule(name, (_GL, _G, _GML), _G, es.SelectInteger(type_).emit, tied=1)
    if op in _CHOICES:
        condition = es.conditions(instr.source)[_CHOICES[op]]
        compared = (_GL, _GL) if instr.source.bits < 32 else (_GML, _GL) if constant else (_GL, _GML)
        return Rule(name, _with_memory(instr, (*compared, _G, _GL), True), _G, es.SelectCompared(condition, type_).emit, tied=2)
    if op is ops.CRC32C:
        if type_ is not U32 or instr.source not in (U8, U32, U64):
            return None
        return Rule(name, _with_memory(instr, (_G, _GML), True), _G, es.Crc32(instr.source).emit, tied=0)
    if op is ops.MUL_HIGH:
        return Rule(name, (Use(INTS, RAX), _GM), Use(INTS, RDX), es.MultiplyHigh(type_).emit, kills=1 << RAX) if type_.bits == 64 else None
    if op is ops.DIV_TRUNC:
        return Rule(name, (Use(INTS, RAX), _GM), Use(INTS, RAX), es.Divide(type_).emit, kills=1 << RDX, clobbers=1 << RDX)
    if op is ops.REM_TRUNC:
        return Rule(name, (Use(INTS, RAX), _GM), Use(INTS, RDX), es.Divide(type_).emit, kills=1 << RAX, clobbers=1 << RDX)
    return None
