"""LLVM's own functions (LLVM Language Reference, "Intrinsic Functions"): one row each for what they become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.frontend.llvm.accesses import Place
from loopwright.frontend.llvm.arithmetic import integer_comparison
from loopwright.frontend.llvm.calls import CallWriter
from loopwright.frontend.llvm.relative import WIDER, table
from loopwright.frontend.llvm.routines import PARAMETERS, PREFIX
from loopwright.frontend.llvm.syntax import Constant, Instruction
from loopwright.frontend.llvm.types import LlvmType
from loopwright.frontend.llvm.values import UNSIGNED
from loopwright.frontend.llvm.vectors import reduce
from loopwright.ir import ops
from loopwright.ir.function import Callee, Mem
from loopwright.ir.ops import Op
from loopwright.types import BOOL, F32, I32, I64, PTR, U8, U64, VOID, Type

__all__ = ["REMAINDER", "IntrinsicWriter", "find"]


class IntrinsicWriter(CallWriter):
    """Writes calls of LLVM's own functions.

    Attributes:
        routines: what the module needs of ``routines.py``, by LLVM's name.
        arguments: the register with the address of arguments whose number varies, or NONE.
        has_list: what is there is a list of C's, which an entry has made (``entries``).
    """

    routines: set[str]
    arguments: int
    has_list: bool

    def move_memory(self, name: str, to: int, from_: int, size: int) -> None:
        if not self.copy_memory(Place(to, None, 1, 0, -1), Place(from_, None, 1, 0, -1), size):
            self.routine(name, [to, from_, self.f.const(I64, size)])

    def routine(self, name: str, arguments: list[int]) -> None:
        """Call what copies or fills memory, or divides wide integers."""
        if self.abi.aligned and name.startswith("mem"):
            params = [PTR, I32 if name == "memset" else PTR, I64]
            self.emit(ops.CALL, PTR, [arguments[0], self.convert(arguments[1], params[1]), arguments[2]], imm=self.callee((name,), Callee(name, params, PTR)))
            return
        self.routines.add(name)
        number = self.callee((PREFIX, name), Callee(PREFIX + name, list(PARAMETERS[name]), VOID))
        self.put(ops.CALL_VOID, VOID, arguments, number)


Handler = Callable[[IntrinsicWriter, Instruction, list[Constant]], list[int]]


# --- families -----------------------------------------------------------------------------------------------


def _nothing(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    return []


def _first(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    return [w.operand(a[0])]


def _zero(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    return [w.f.const(w.type_of(i.type), 0)]


def _unknown_size(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    # (objectsize: 0 where the least is asked for, otherwise -1.)
    return [w.f.const(w.type_of(i.type), 0 if a[1].number else -1)]


def _plain(op: Op) -> Handler:
    """An operation of the same operands: of floats, and of integers as signed ones."""
    return lambda w, i, a: [w.wrapped(w.emit(op, w.type_of(i.type), [w.operand(each) for each in a]), i.type)]


def _of_unsigned(op: Op) -> Handler:
    """An operation of the same operands as unsigned integers."""

    def handler(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
        held = UNSIGNED[w.type_of(i.type)]
        return [w.signed(w.emit(op, held, [w.unsigned(w.operand(each), each.type) for each in a]), i.type)]

    return handler


def _exact(handler: Handler) -> Handler:
    """Of integers that fill the type which holds them."""

    def checked(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
        if w.type_of(i.type).bits != i.type.bits or i.type.bits == 1:
            w.unsupported(f"this operation on integers of {i.type.bits} bits is not supported")
        return handler(w, i, a)

    return checked


def _library(name: str) -> Handler:
    """A function of C's mathematics: of f32 the one with an f behind its name."""

    def handler(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
        arguments = [w.operand(each) for each in a]
        held = w.type_of(i.type)
        full = name + "f" if held is F32 else name
        number = w.callee((full,), Callee(full, [w.f.type_of(each) for each in arguments], held))
        return [w.emit(ops.CALL, held, arguments, imm=number)]

    return handler


# --- integers -----------------------------------------------------------------------------------------------


def _leading_zeros(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    made = w.unsigned(w.operand(a[0]), i.type)
    held = w.f.type_of(made)
    spare = held.bits - i.type.bits
    counted = w.emit(ops.LEADING_ZEROS, held, [made])
    return [w.signed(w.emit(ops.SUB, held, [counted, w.f.const(held, spare)]) if spare else counted, i.type)]


def _trailing_zeros(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    operand = w.operand(a[0])
    held = w.f.type_of(operand)
    if held.bits != i.type.bits:
        # Its own width of 0.
        operand = w.emit(ops.OR, held, [operand, w.f.const(held, 1 << i.type.bits)])
    return [w.emit(ops.TRAILING_ZEROS, held, [operand])]


def _moved_down(op: Op) -> Handler:
    """Bytes or bits in the opposite order, of which those of the width are above then."""

    def handler(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
        held = w.type_of(i.type)
        made = w.emit(op, held, [w.operand(a[0])])
        return [w.emit(ops.SHR_MODULO, held, [made, w.f.const(held, held.bits - i.type.bits)]) if held.bits != i.type.bits else made]

    return handler


def _funnel(left: bool) -> Handler:
    """Two integers one behind the other, shifted."""

    def handler(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
        high, low, count = (w.operand(each) for each in a)
        held = w.f.type_of(high)
        if high == low:
            return [w.emit(ops.ROTATE_LEFT if left else ops.ROTATE_RIGHT, held, [high, count])]
        bits = UNSIGNED[held]
        high, low, count = (w.convert(each, bits) for each in (high, low, count))
        most = w.f.const(bits, held.bits - 1)
        one = w.f.const(bits, 1)
        places = w.emit(ops.AND, bits, [count, most])
        others = w.emit(ops.XOR, bits, [places, most])
        if left:
            upper = w.emit(ops.SHL_MODULO, bits, [high, places])
            lower = w.emit(ops.SHR_MODULO, bits, [w.emit(ops.SHR_MODULO, bits, [low, one]), others])
        else:
            upper = w.emit(ops.SHL_MODULO, bits, [w.emit(ops.SHL_MODULO, bits, [high, one]), others])
            lower = w.emit(ops.SHR_MODULO, bits, [low, places])
        return [w.convert(w.emit(ops.OR, bits, [upper, lower]), held)]

    return handler


def _three_way(signed: bool) -> Handler:
    def handler(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
        x, y = (w.operand(each) for each in a)
        held = w.type_of(i.type)
        above, below = (w.convert(integer_comparison(w, ("s" if signed else "u") + order, x, y), held) for order in ("gt", "lt"))
        return [w.emit(ops.SUB, held, [above, below])]

    return handler


# --- overflow -------------------------------------------------------------------------------------------------


def _overflow(name: str, signed: bool) -> Handler:
    """A result as it wraps, and whether it did."""

    def handler(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
        type_ = a[0].type
        x, y = (w.operand(each) for each in a)
        if not signed:
            x, y = w.unsigned(x, type_), w.unsigned(y, type_)
        held = w.f.type_of(x)
        if type_.bits > 32 and name == "mul" and type_.bits != 64:
            w.unsupported(f"products of {type_.bits} bits with overflow are not supported")
        if type_.bits != 64 and (name == "mul" or held.bits != type_.bits):
            return _wide_overflow(w, name, type_, x, y, signed)
        made = w.emit({"add": ops.ADD, "sub": ops.SUB, "mul": ops.MUL}[name], held, [x, y])
        return [w.convert(made, w.type_of(type_)), _overflowed(w, name, held, x, y, made, signed)]

    return handler


def _overflowed(w: IntrinsicWriter, name: str, held: Type, x: int, y: int, made: int, signed: bool) -> int:
    """Whether an operation on whole registers has wrapped (H. Warren, *Hacker's Delight*, 2013, 2-13)."""
    if name == "mul":
        upper = w.emit(ops.MUL_HIGH, held, [x, y])
        expected = w.emit(ops.SHR_MODULO, held, [made, w.f.const(held, held.bits - 1)]) if signed else w.f.const(held, 0)
        return w.compare(ops.NE, held, upper, expected)
    if not signed:
        return w.compare(ops.LT, held, made, x) if name == "add" else w.compare(ops.LT, held, x, y)
    one = w.emit(ops.XOR, held, [made if name == "add" else y, x])
    other = w.emit(ops.XOR, held, [made, y if name == "add" else x])
    return w.compare(ops.LT, held, w.emit(ops.AND, held, [one, other]), w.f.const(held, 0))


def _wide_overflow(w: IntrinsicWriter, name: str, type_: LlvmType, x: int, y: int, signed: bool) -> list[int]:
    """In 64 bits, which hold the exact result."""
    wide = I64 if signed else U64
    made = w.emit({"add": ops.ADD, "sub": ops.SUB, "mul": ops.MUL}[name], wide, [w.convert(x, wide), w.convert(y, wide)])
    result = w.signed(made, type_)
    again = w.convert(result, I64) if signed else w.convert(w.unsigned(result, type_), U64)
    return [result, w.compare(ops.NE, wide, made, again)]


# --- floats ---------------------------------------------------------------------------------------------------


def _multiply_add(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    # (LLVM leaves it to the machine, and clang writes it where C's FP_CONTRACT is on: one rounding where all processors of a kind have that, as clang's code has there.)
    if w.abi.fused and w.module.triple.partition("-")[0] in _FUSING:
        return _plain(ops.FMA)(w, i, a)
    held = w.type_of(i.type)
    product = w.emit(ops.MUL, held, [w.operand(a[0]), w.operand(a[1])])
    return [w.emit(ops.ADD, held, [product, w.operand(a[2])])]


def _number_of_two(op: Op) -> Handler:
    """C's fmin and fmax: of a NaN and a number the number."""

    def handler(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
        held = w.type_of(i.type)
        x, y = (w.operand(each) for each in a)
        return [w.emit(ops.SELECT, held, [w.compare(ops.NE, held, x, x), y, w.emit(op, held, [x, y])])]

    return handler


def _round_away(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    """C's round: halves away from zero. What is cut off is exact."""
    held = w.type_of(i.type)
    x = w.operand(a[0])
    whole = w.emit(ops.TRUNC, held, [x])
    rest = w.emit(ops.ABS, held, [w.emit(ops.SUB, held, [x, whole])])
    further = w.emit(ops.ADD, held, [whole, w.emit(ops.COPY_SIGN, held, [w.f.const(held, 1.0), x])])
    return [w.emit(ops.SELECT, held, [w.compare(ops.GE, held, rest, w.f.const(held, 0.5)), further, whole])]


def _to_integer(away: bool) -> Handler:
    def handler(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
        given = w.type_of(a[0].type)
        rounded = _round_away(w, _as(i, a[0].type), a)[0] if away else w.emit(ops.ROUND, given, [w.operand(a[0])])
        return [w.emit(ops.CONVERT_UNCHECKED, w.type_of(i.type), [rounded], given)]

    return handler


def _as(i: Instruction, type_: LlvmType) -> Instruction:
    return Instruction(i.opcode, i.name, i.line, type_)


def _saturated(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    return [w.emit(ops.CONVERT, w.type_of(i.type), [w.operand(a[0])], w.type_of(a[0].type))]


def _saturated_unsigned(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    held = w.type_of(i.type)
    return [w.convert(w.emit(ops.CONVERT, UNSIGNED[held], [w.operand(a[0])], w.type_of(a[0].type)), held)]


# --- memory, and the end ----------------------------------------------------------------------------------------


def _copy(name: str) -> Handler:
    def handler(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
        size = w.index(a[2])
        w.alignment = min(_alignment(i, 0), _alignment(i, 1))
        if size >= 0 or not w.copy_memory(w.place(a[0]), w.place(a[1]), int(w.f.const_values[~size])):
            w.routine(name, [w.operand(a[0]), w.operand(a[1]), size])
        return []

    return handler


def _fill(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    byte, size = w.operand(a[1]), w.index(a[2])
    w.alignment = _alignment(i, 0)
    if size >= 0 or not w.fill_memory(w.place(a[0]), byte, int(w.f.const_values[~size])):
        w.routine("memset", [w.operand(a[0]), w.convert(byte, U8), size])
    return []


def _alignment(i: Instruction, argument: int) -> int:
    """Of what a pointer is known to be a multiple."""
    assert i.call is not None
    known = [int(name.removeprefix("align ")) for name in i.call.arguments[argument].attributes if name.startswith("align ")]
    return known[0] if known else 1


def _begin_arguments(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    if w.module.triple.partition("-")[0] not in ("x86_64", "aarch64", "riscv64"):
        w.unsupported(f"va_start is not supported for {w.module.triple}")
    if w.has_list:
        w.copy_memory(w.place(a[0]), Place(w.arguments, None, 1, 0, -1), _list_size(w))
        return []
    w.begin_arguments(w.place(a[0]), w.arguments)
    return []


def _copy_arguments(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    w.copy_memory(w.place(a[0]), w.place(a[1]), _list_size(w))
    return []


def _list_size(w: IntrinsicWriter) -> int:
    # (32 bytes is the largest of the machines' lists, that of AArch64.)
    return {"x86_64": 24, "aarch64": 32}.get(w.module.triple.partition("-")[0], 8)


def _trap(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    w.put(ops.CALL_VOID, VOID, [], w.callee(("abort",), Callee("abort", [], VOID)))
    return []


def _test_class(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    """Whether a float is of one of some classes: NaNs, infinities, zeros by their numbers."""
    x = w.operand(a[0])
    held = w.f.type_of(x)
    wanted = int(a[1].number)
    if wanted not in (3, 516, 519, 504, 1020, 264):
        w.unsupported(f"a test for the classes {wanted:#x} of floats is not supported")
    size = w.emit(ops.ABS, held, [x])
    infinite = w.f.const(held, float("inf"))
    tests = {3: (ops.NE, x, x), 516: (ops.EQ, size, infinite), 504: (ops.LT, size, infinite), 1020: (ops.LE, size, infinite)}
    if wanted in tests:
        return [w.compare(tests[wanted][0], held, *tests[wanted][1:])]
    made = w.compare(ops.LT, held, size, infinite)
    return [w.emit(ops.NOT, BOOL, [made])] if wanted == 519 else w.unsupported("a test for normal floats is not supported")


def _load_relative(w: IntrinsicWriter, i: Instruction, a: list[Constant]) -> list[int]:
    name = table(a[0])
    if name not in w.module.relative:
        w.unsupported("llvm.load.relative of what is no constant table of distances is not supported")
    offset = w.emit(ops.MUL, I64, [w.convert(w.operand(a[1]), I64), w.f.const(I64, WIDER)])
    return [w.emit(ops.LOAD_AT, PTR, [w.global_address(name), offset], mem=Mem(True, 1, 0, PTR.size))]


def _reduction(name: str) -> Handler:
    return lambda w, i, a: reduce(w, name, i, a)


_IGNORED: Final = [
    "lifetime.start",
    "lifetime.end",
    "dbg.value",
    "dbg.declare",
    "dbg.label",
    "dbg.assign",
    "assume",
    "donothing",
    "sideeffect",
    "prefetch",
    "var.annotation",
    "experimental.noalias.scope.decl",
    "stackrestore",
    "invariant.end",
    "pseudoprobe",
]
#: Machines of which all processors multiply and add with one rounding (of x86-64 those with FMA3 only).
_FUSING: Final = ("aarch64", "riscv64")
_LIBRARY: Final = ["sin", "cos", "tan", "exp", "exp2", "exp10", "log", "log2", "log10", "pow", "ldexp", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"]

#: What each becomes, by its name without `llvm.` and without types.
_HANDLERS: Final[dict[str, Handler]] = {
    **dict.fromkeys(_IGNORED, _nothing),
    **{name: _library(name) for name in _LIBRARY},
    **dict.fromkeys(("expect", "expect.with.probability", "ssa.copy", "launder.invariant.group", "strip.invariant.group"), _first),
    **dict.fromkeys(("is.constant", "stacksave", "invariant.start"), _zero),
    "objectsize": _unknown_size,
    "fabs": _plain(ops.ABS),
    "sqrt": _plain(ops.SQRT),
    "floor": _plain(ops.FLOOR),
    "ceil": _plain(ops.CEIL),
    "trunc": _plain(ops.TRUNC),
    **dict.fromkeys(("rint", "nearbyint", "roundeven"), _plain(ops.ROUND)),
    "copysign": _plain(ops.COPY_SIGN),
    "fma": lambda w, i, a: (_plain(ops.FMA) if w.abi.fused else _library("fma"))(w, i, a),
    "fmuladd": _multiply_add,
    "round": _round_away,
    "minnum": _number_of_two(ops.MIN),
    "maxnum": _number_of_two(ops.MAX),
    **dict.fromkeys(("lrint", "llrint"), _to_integer(False)),
    **dict.fromkeys(("lround", "llround"), _to_integer(True)),
    "fptosi.sat": _exact(_saturated),
    "fptoui.sat": _exact(_saturated_unsigned),
    "is.fpclass": _test_class,
    "smax": _plain(ops.MAX),
    "smin": _plain(ops.MIN),
    "umax": _of_unsigned(ops.MAX),
    "umin": _of_unsigned(ops.MIN),
    "abs": lambda w, i, a: _plain(ops.ABS)(w, i, a[:1]),
    "ctpop": _of_unsigned(ops.POPCOUNT),
    "ctlz": _leading_zeros,
    "cttz": _trailing_zeros,
    "bswap": _moved_down(ops.BYTE_SWAP),
    "bitreverse": _moved_down(ops.BIT_REVERSE),
    "fshl": _exact(_funnel(True)),
    "fshr": _exact(_funnel(False)),
    "scmp": _three_way(True),
    "ucmp": _three_way(False),
    "sadd.sat": _exact(_plain(ops.ADD_SATURATED)),
    "ssub.sat": _exact(_plain(ops.SUB_SATURATED)),
    "uadd.sat": _exact(_of_unsigned(ops.ADD_SATURATED)),
    "usub.sat": _exact(_of_unsigned(ops.SUB_SATURATED)),
    **{f"{'s' if signed else 'u'}{name}.with.overflow": _overflow(name, signed) for name in ("add", "sub", "mul") for signed in (True, False)},
    "memcpy": _copy("memcpy"),
    "memcpy.inline": _copy("memcpy"),
    "memmove": _copy("memmove"),
    "memset": _fill,
    "memset.inline": _fill,
    "va_end": _nothing,
    "va_start": _begin_arguments,
    "va_copy": _copy_arguments,
    **dict.fromkeys(("trap", "debugtrap", "ubsantrap"), _trap),
    "load.relative": _load_relative,
    **{f"vector.reduce.{name}": _reduction(name) for name in ("add", "mul", "and", "or", "xor", "fadd", "fmul")},
}


#: The instruction frem.
REMAINDER: Final = _library("fmod")


def find(name: str) -> Handler | None:
    """What a function of LLVM's becomes, by its full name; None where that is not known."""
    short = name.removeprefix("llvm.")
    while short:
        known = _HANDLERS.get(short)
        if known is not None:
            return known
        short = short.rpartition(".")[0]
    return None
