"""Instructions that compute: arithmetic, comparisons, conversions, choices (LLVM Language Reference, "Binary Operations" to "Other Operations")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.frontend.llvm.syntax import Instruction
from loopwright.frontend.llvm.types import FLOAT, INTEGER, LlvmType
from loopwright.frontend.llvm.values import UNSIGNED, ValueWriter
from loopwright.ir import ops
from loopwright.ir.ops import Op
from loopwright.types import BOOL, I32, I64, PTR, U8

__all__ = ["COMPUTATIONS", "binary", "cast", "integer_comparison"]

Handler = Callable[[ValueWriter, Instruction], int]

#: Of integers that LLVM takes to be of either sign, or to have one; of those it takes to have none. Counts of shifts are below the width: others have no
#: result in LLVM. The last: bits above the type's own may be left.
_SIGNED: Final[dict[str, tuple[Op, bool]]] = {
    "add": (ops.ADD, True),
    "sub": (ops.SUB, True),
    "mul": (ops.MUL, True),
    "sdiv": (ops.DIV_TRUNC, True),
    "srem": (ops.REM_TRUNC, False),
    "shl": (ops.SHL_MODULO, True),
    "ashr": (ops.SHR_MODULO, False),
    "and": (ops.AND, False),
    "or": (ops.OR, False),
    "xor": (ops.XOR, False),
}
_UNSIGNED: Final[dict[str, Op]] = {"udiv": ops.DIV_TRUNC, "urem": ops.REM_TRUNC, "lshr": ops.SHR_MODULO}
#: Of conditions.
_LOGICAL: Final[dict[str, Op]] = {"add": ops.XOR, "sub": ops.XOR, "xor": ops.XOR, "and": ops.AND, "mul": ops.AND, "or": ops.OR}
_FLOATS: Final[dict[str, Op]] = {"fadd": ops.ADD, "fsub": ops.SUB, "fmul": ops.MUL, "fdiv": ops.DIV}
#: Comparisons of integers: what is compared by, and whether as unsigned ones.
_INTEGER_ORDER: Final[dict[str, tuple[Op, bool]]] = {
    "eq": (ops.EQ, False),
    "ne": (ops.NE, False),
    "slt": (ops.LT, False),
    "sle": (ops.LE, False),
    "sgt": (ops.GT, False),
    "sge": (ops.GE, False),
    "ult": (ops.LT, True),
    "ule": (ops.LE, True),
    "ugt": (ops.GT, True),
    "uge": (ops.GE, True),
}
#: Comparisons of floats, and whether the opposite is meant: an unordered one holds where the opposite ordered one does not.
_FLOAT_ORDER: Final[dict[str, tuple[Op, bool]]] = {
    "oeq": (ops.EQ, False),
    "une": (ops.NE, False),
    "olt": (ops.LT, False),
    "ole": (ops.LE, False),
    "ogt": (ops.GT, False),
    "oge": (ops.GE, False),
    "uge": (ops.LT, True),
    "ugt": (ops.LE, True),
    "ule": (ops.GT, True),
    "ult": (ops.GE, True),
}


def binary(w: ValueWriter, name: str, type_: LlvmType, a: int, b: int) -> int:
    """An operation on two integers or floats of a type."""
    held = w.type_of(type_)
    if held is BOOL:
        if name not in _LOGICAL:
            w.unsupported(f"{name} of i1 is not supported")
        return w.emit(_LOGICAL[name], BOOL, [a, b])
    if name in _FLOATS:
        return w.emit(_FLOATS[name], held, [a, b])
    if name in _SIGNED:
        op, beyond = _SIGNED[name]
        made = w.emit(op, held, [a, b])
        return w.wrapped(made, type_) if beyond else made
    made = w.emit(_UNSIGNED[name], UNSIGNED[held], [w.unsigned(a, type_), w.unsigned(b, type_)])
    return w.signed(made, type_)


def _binary(w: ValueWriter, i: Instruction) -> int:
    return binary(w, i.opcode, i.type, w.operand(i.operands[0]), w.operand(i.operands[1]))


def integer_comparison(w: ValueWriter, predicate: str, a: int, b: int) -> int:
    """A comparison of two integers, pointers or conditions."""
    op, unsigned = _INTEGER_ORDER[predicate]
    held = w.f.type_of(a)
    if held is BOOL:
        # The one that is true is -1 as a signed number.
        if predicate[0] == "s":
            a, b = b, a
        return w.compare(op, U8, w.convert(a, U8), w.convert(b, U8))
    if held is PTR and predicate[0] == "s":
        return w.compare(op, I64, w.convert(a, I64), w.convert(b, I64))
    if unsigned and held in UNSIGNED:
        # (Of a width between, extended with the sign: that keeps the order of unsigned numbers too.)
        held = UNSIGNED[held]
        return w.compare(op, held, w.convert(a, held), w.convert(b, held))
    return w.compare(op, held, a, b)


def _icmp(w: ValueWriter, i: Instruction) -> int:
    return integer_comparison(w, i.detail, w.operand(i.operands[0]), w.operand(i.operands[1]))


def _fcmp(w: ValueWriter, i: Instruction) -> int:
    a, b = w.operand(i.operands[0]), w.operand(i.operands[1])
    held = w.f.type_of(a)
    predicate = i.detail
    if predicate in _FLOAT_ORDER:
        op, opposite = _FLOAT_ORDER[predicate]
        made = w.compare(op, held, a, b)
        return w.emit(ops.NOT, BOOL, [made]) if opposite else made
    if predicate in ("ord", "uno"):
        op, both = (ops.EQ, ops.AND) if predicate == "ord" else (ops.NE, ops.OR)
        tests = [w.compare(op, held, x, x) for x in dict.fromkeys((a, b)) if x >= 0 or w.f.const_values[~x] != w.f.const_values[~x]]
        if not tests:
            return w.const(BOOL, predicate == "ord")
        return tests[0] if len(tests) == 1 else w.emit(both, BOOL, tests)
    if predicate in ("one", "ueq"):
        made = w.emit(ops.OR, BOOL, [w.compare(ops.LT, held, a, b), w.compare(ops.GT, held, a, b)])
        return made if predicate == "one" else w.emit(ops.NOT, BOOL, [made])
    return w.const(BOOL, predicate == "true")


def cast(w: ValueWriter, name: str, from_: LlvmType, to: LlvmType, operand: int) -> int:
    """A conversion."""
    held = w.type_of(to)
    given = w.f.type_of(operand)
    if name in ("trunc", "zext", "sext"):
        return _widths(w, name, from_, to, operand)
    if name in ("fptrunc", "fpext"):
        return w.convert(operand, held)
    if name in ("fptosi", "fptoui"):
        # (What does not fit has no value in LLVM.)
        wanted = I32 if held is BOOL else UNSIGNED[held] if name == "fptoui" else held
        return w.signed(w.emit(ops.CONVERT_UNCHECKED, wanted, [operand], given), to)
    if name in ("sitofp", "uitofp"):
        if given is BOOL:
            operand = _widths(w, "zext" if name == "uitofp" else "sext", from_, LlvmType(INTEGER, 32), operand)
        elif name == "uitofp":
            operand = w.unsigned(operand, from_)
        return w.convert(operand, held)
    if name == "ptrtoint":
        return w.signed(w.convert(operand, I64), to)
    if name == "inttoptr":
        whole = _widths(w, "zext", from_, LlvmType(INTEGER, 64), operand) if from_.bits < 64 else operand
        return w.convert(whole, PTR)
    if from_.kind == to.kind:
        return operand
    if FLOAT in (from_.kind, to.kind) and INTEGER in (from_.kind, to.kind):
        return w.emit(ops.BITCAST, held, [operand], given)
    w.unsupported(f"{name} from {from_!r} to {to!r} is not supported")


def _widths(w: ValueWriter, name: str, from_: LlvmType, to: LlvmType, operand: int) -> int:
    """Integers to wider and narrower ones."""
    held = w.type_of(to)
    if name == "trunc":
        return w.signed(operand, to)
    if from_.bits == 1:
        made = w.convert(operand, held)
        return made if name == "zext" else w.emit(ops.NEG, held, [made])
    if name == "sext":
        return w.convert(operand, held)
    return w.convert(w.unsigned(operand, from_), held)


def _cast(w: ValueWriter, i: Instruction) -> int:
    return cast(w, i.opcode, i.operands[0].type, i.type, w.operand(i.operands[0]))


def _fneg(w: ValueWriter, i: Instruction) -> int:
    return w.emit(ops.NEG, w.type_of(i.type), [w.operand(i.operands[0])])


def _select(w: ValueWriter, i: Instruction) -> int:
    condition, a, b = (w.operand(operand) for operand in i.operands)
    return w.emit(ops.SELECT, w.type_of(i.type), [condition, a, b])


def _freeze(w: ValueWriter, i: Instruction) -> int:
    return w.operand(i.operands[0])


#: How each instruction that computes one value is written.
COMPUTATIONS: Final[dict[str, Handler]] = {
    **dict.fromkeys((*_SIGNED, *_UNSIGNED, *_FLOATS), _binary),
    **dict.fromkeys(
        ["trunc", "zext", "sext", "fptrunc", "fpext", "fptosi", "fptoui", "sitofp", "uitofp", "ptrtoint", "inttoptr", "bitcast", "addrspacecast"], _cast
    ),
    "icmp": _icmp,
    "fcmp": _fcmp,
    "fneg": _fneg,
    "select": _select,
    "freeze": _freeze,
}
