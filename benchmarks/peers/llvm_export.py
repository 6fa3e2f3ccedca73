"""A function of our IR as LLVM IR text: a second judge of what it means, how fast it runs and how well it is allocated.

Export what the passes up to ``elif`` leave: addresses are made, loops are unrolled, multiply-adds contracted, and control flow
is still in brackets. ``module_text`` writes one LLVM function for it (opaque pointers; the text is valid for LLVM 14 to 22).
Registers that are written once, in a bracket around all their uses, become values; the others become stack variables that
LLVM's ``sroa`` makes values of. No other optimisation of LLVM runs before its code generator, so that what it allocates
registers for is what we allocate registers for.

    f = compiler.run_passes(kernel, target, after="elif")
    text = module_text(f)
    address = Compiled(text, target.name).address(f.name)
"""

from __future__ import annotations

import math
import struct
from functools import cache
from typing import Any

from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Callee, Function, Instr
from loopwright.ir.ops import Op
from loopwright.types import BOOL, I64, KIND_MASK, PTR, VOID, Type, vector_of

__all__ = ["Compiled", "assembly", "module_text", "type_name"]

_SCALARS = {"bool": "i1", "i8": "i8", "u8": "i8", "i16": "i16", "u16": "i16", "i32": "i32", "u32": "i32", "i64": "i64", "u64": "i64"}
_SCALARS |= {"ptr": "ptr", "f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double", "void": "void"}
_SUFFIXES = {"bool": "i1", "f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64"}

_FLOAT_BINARY = {ops.ADD: "fadd", ops.SUB: "fsub", ops.MUL: "fmul", ops.DIV: "fdiv"}
_INT_BINARY = {ops.ADD: "add", ops.SUB: "sub", ops.MUL: "mul", ops.AND: "and", ops.OR: "or", ops.XOR: "xor"}
#: LLVM's names for x86's permutations of lanes of integers by their numbers, by the bits of a lane and the bytes of the vector.
_ROUNDING = {ops.SQRT: "sqrt", ops.FLOOR: "floor", ops.CEIL: "ceil", ops.TRUNC: "trunc", ops.ROUND: "roundeven"}
_FLOAT_COMPARE = {ops.EQ: "oeq", ops.NE: "une", ops.LT: "olt", ops.LE: "ole", ops.GT: "ogt", ops.GE: "oge"}
_INT_COMPARE = {ops.EQ: "eq", ops.NE: "ne", ops.LT: "lt", ops.LE: "le", ops.GT: "gt", ops.GE: "ge"}
_SHIFTS = (ops.SHL, ops.SHR, ops.SHL_MODULO, ops.SHR_MODULO)
_REDUCTIONS = {
    ops.REDUCE_ADD: ops.ADD,
    ops.REDUCE_MUL: ops.MUL,
    ops.REDUCE_MIN: ops.MIN,
    ops.REDUCE_MAX: ops.MAX,
    ops.REDUCE_AND: ops.AND,
    ops.REDUCE_OR: ops.OR,
    ops.REDUCE_XOR: ops.XOR,
}


def type_name(type_: Type) -> str:
    """A type as LLVM writes it."""
    if type_.kind == KIND_MASK:
        return f"<{type_.lanes} x i1>"
    name = _SCALARS[type_.element.name]
    return f"<{type_.lanes} x {name}>" if type_.lanes else name


def _suffix(type_: Type) -> str:
    """A type in the name of an overloaded intrinsic."""
    element = _SUFFIXES.get(type_.element.name) or ("p0" if type_ is PTR else f"i{type_.bits}")
    return f"v{type_.lanes}{element}" if type_.lanes else element


def _float_literal(type_: Type, value: float) -> str:
    if type_.name == "f16":
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if type_.name == "bf16":
        return f"0xR{struct.unpack('<I', struct.pack('<f', value))[0] >> 16:04X}"
    if type_.bits == 32 and not math.isnan(value):
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _literal(type_: Type, value: float | bool) -> str:
    if type_.lanes:
        element = "i1" if type_.is_mask else _SCALARS[type_.element.name]
        return "<" + ", ".join([f"{element} {_literal(type_.element, value)}"] * type_.lanes) + ">"
    if type_ is BOOL:
        return "true" if value else "false"
    if type_.is_float:
        return _float_literal(type_, float(value))
    if type_ is PTR:
        return f"inttoptr (i64 {int(value)} to ptr)" if value else "null"
    return str(int(value))


def _extension(type_: Type) -> str:
    """How a convention passes a narrow integer."""
    if type_ is BOOL or (type_.is_integer and type_.bits < 32):
        return " signext" if type_.signed else " zeroext"
    return ""


class _Bracket:
    """An open bracket: the labels that ``br`` and the markers go to."""

    __slots__ = ("again", "finish", "hi", "index", "kind", "otherwise", "step", "up")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        #: where a ``br`` to it goes
        self.again = ""
        self.finish = ""
        self.otherwise = ""
        self.index = NONE
        self.hi = ""
        self.step = 0
        self.up = True


class _Writer:
    """The text of one function."""

    def __init__(self, f: Function, declarations: dict[str, str], indefinite: bool) -> None:
        self.f = f
        self.declarations = declarations
        self.indefinite = indefinite
        self.lines: list[str] = []
        self.stack: list[_Bracket] = []
        self.values = 0
        self.labels = 0
        self.open = True
        self.in_memory = _in_memory(f)
        #: per register that is a value, its name or literal
        self.known: list[str] = [""] * len(f.types)

    # --- pieces -------------------------------------------------------------------------------------------

    def fresh(self) -> str:
        self.values += 1
        return f"%t{self.values}"

    def label(self) -> str:
        self.labels += 1
        return f"b{self.labels}"

    def line(self, text: str) -> None:
        if not self.open:
            # What follows a jump: LLVM wants a block for it, and drops it.
            self.begin(self.label())
        self.lines.append("  " + text)

    def emit(self, text: str) -> str:
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def begin(self, label: str) -> None:
        if self.open:
            self.lines.append(f"  br label %{label}")
        self.lines.append(f"{label}:")
        self.open = True

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")
        self.open = False

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")
        self.open = False

    def operand(self, a: int) -> str:
        f = self.f
        if a < 0:
            return _literal(f.const_types[~a], f.const_values[~a])
        if self.in_memory[a]:
            return self.emit(f"load {type_name(f.types[a])}, ptr %v{a}")
        return self.known[a]

    def define(self, r: int, value: str) -> None:
        """Register ``r`` gets a value."""
        if self.in_memory[r]:
            self.line(f"store {type_name(self.f.types[r])} {value}, ptr %v{r}")
        else:
            self.known[r] = value

    def intrinsic(self, name: str, result: str, arguments: list[tuple[str, str]]) -> str:
        self.declarations.setdefault(name, f"declare {result} @{name}({', '.join(t for t, _ in arguments)})")
        call = f"call {result} @{name}({', '.join(f'{t} {v}' for t, v in arguments)})"
        if result == "void":
            self.line(call)
            return ""
        return self.emit(call)

    def splat(self, type_: Type, element: str) -> str:
        name, scalar = type_name(type_), type_name(type_.element)
        one = self.emit(f"insertelement {name} poison, {scalar} {element}, i64 0")
        return self.emit(f"shufflevector {name} {one}, {name} poison, <{type_.lanes} x i32> zeroinitializer")

    # --- arithmetic ---------------------------------------------------------------------------------------

    def binary(self, op: Op, type_: Type, a: str, b: str) -> str:
        name = type_name(type_)
        if op is ops.MIN or op is ops.MAX:
            less = self.compare(ops.LT if op is ops.MIN else ops.GT, type_, b, a)
            return self.choose(type_, less, b, a)
        if type_ is PTR:
            if op is ops.SUB:
                b = self.emit(f"sub i64 0, {b}")
            return self.emit(f"getelementptr i8, ptr {a}, i64 {b}")
        known = _FLOAT_BINARY.get(op) if type_.is_float else _INT_BINARY.get(op)
        if known is not None:
            return self.emit(f"{known} {name} {a}, {b}")
        if op is ops.MUL_LOWER:
            lower = _literal(type_, (1 << type_.bits // 2) - 1)
            return self.emit(f"mul {name} {self.emit(f'and {name} {a}, {lower}')}, {self.emit(f'and {name} {b}, {lower}')}")
        if op is ops.ANDNOT:
            return self.emit(f"and {name} {self.invert(type_, a)}, {b}")
        if op in _SHIFTS:
            return self.shift(op, type_, a, b)
        if op is ops.MUL_HIGH:
            return self.multiply_high(type_, a, b)
        return self.divide(op, type_, a, b)

    def multiply_high(self, type_: Type, a: str, b: str) -> str:
        """The upper half of a product of twice the width."""
        name = type_name(type_)
        element = f"i{2 * type_.bits}"
        wide = f"<{type_.lanes} x {element}>" if type_.lanes else element
        extend = "sext" if type_.signed else "zext"
        product = self.emit(f"mul {wide} {self.emit(f'{extend} {name} {a} to {wide}')}, {self.emit(f'{extend} {name} {b} to {wide}')}")
        count = "<" + ", ".join([f"{element} {type_.bits}"] * type_.lanes) + ">" if type_.lanes else str(type_.bits)
        return self.emit(f"trunc {wide} {self.emit(f'lshr {wide} {product}, {count}')} to {name}")

    def shift(self, op: Op, type_: Type, a: str, b: str, count: int = -1) -> str:
        """A shift by ``b``, or by a constant ``count``; LLVM knows none by the width or more."""
        name = type_name(type_)
        left = op is ops.SHL or op is ops.SHL_MODULO
        word = "shl" if left else "ashr" if type_.signed else "lshr"
        fill = type_.signed and not left
        most = type_.bits - 1
        if op is ops.SHL_MODULO or op is ops.SHR_MODULO:
            return self.emit(f"{word} {name} {a}, {self.emit(f'and {name} {b}, {_literal(type_, most)}')}")
        if 0 <= count <= most:
            return self.emit(f"{word} {name} {a}, {b}")
        if fill:
            return self.emit(f"{word} {name} {a}, {self.intrinsic(f'llvm.umin.{_suffix(type_)}', name, [(name, b), (name, _literal(type_, most))])}")
        inside = self.emit(f"icmp ule {name} {b}, {_literal(type_, most)}")
        return self.choose(type_, inside, self.emit(f"{word} {name} {a}, {b}"), _literal(type_, 0))

    def divide(self, op: Op, type_: Type, a: str, b: str) -> str:
        name = type_name(type_)
        if type_.is_float or op not in (ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR):
            raise UnsupportedOperationError(f"{op.name} on {type_.name} is not exported to LLVM", "", 0)
        sign = "s" if type_.signed else "u"
        quotient = op is ops.DIV_TRUNC or op is ops.DIV_FLOOR
        if not type_.signed or op is ops.DIV_TRUNC or op is ops.REM_TRUNC:
            return self.emit(f"{sign}{'div' if quotient else 'rem'} {name} {a}, {b}")
        zero = _literal(type_, 0)
        rest = self.emit(f"srem {name} {a}, {b}")
        mixed = self.emit(f"xor {name} {rest}, {b}")
        condition = type_name(ops.mask_for(type_))
        down = self.emit(f"and {condition} {self.emit(f'icmp ne {name} {rest}, {zero}')}, {self.emit(f'icmp slt {name} {mixed}, {zero}')}")
        if quotient:
            return self.emit(f"add {name} {self.emit(f'sdiv {name} {a}, {b}')}, {self.emit(f'sext {condition} {down} to {name}')}")
        return self.emit(f"add {name} {rest}, {self.choose(type_, down, b, zero)}")

    def invert(self, type_: Type, a: str) -> str:
        ones = _literal(type_, True if type_.element is BOOL else -1)
        return self.emit(f"xor {type_name(type_)} {a}, {ones}")

    def compare(self, op: Op, type_: Type, a: str, b: str) -> str:
        name = type_name(type_)
        if type_.is_float:
            return self.emit(f"fcmp {_FLOAT_COMPARE[op]} {name} {a}, {b}")
        predicate = _INT_COMPARE[op]
        if op is not ops.EQ and op is not ops.NE:
            predicate = ("s" if type_.signed else "u") + predicate
        return self.emit(f"icmp {predicate} {name} {a}, {b}")

    def choose(self, type_: Type, condition: str, a: str, b: str) -> str:
        name = type_name(type_)
        return self.emit(f"select {type_name(ops.mask_for(type_))} {condition}, {name} {a}, {name} {b}")

    def convert(self, to: Type, source: Type, a: str) -> str:
        name, from_name = type_name(to), type_name(source)
        if to is source:
            return self.emit(f"bitcast {name} {a} to {name}") if to is not PTR else a
        if to is PTR:
            return self.emit(f"inttoptr i64 {self.convert(I64, source, a) if source.bits != 64 else a} to ptr")
        if source is PTR:
            whole = self.emit(f"ptrtoint ptr {a} to i64")
            return whole if to.bits == 64 and not to.is_float else self.convert(to, I64, whole)
        if to.element is BOOL:
            zero = _literal(source, 0)
            return self.emit(f"fcmp une {from_name} {a}, {zero}" if source.is_float else f"icmp ne {from_name} {a}, {zero}")
        if source.is_float and to.is_float:
            if to.bits == source.bits:
                return a
            return self.emit(f"{'fpext' if to.bits > source.bits else 'fptrunc'} {from_name} {a} to {name}")
        if source.is_float:
            return self.truncate(to, source, a)
        if to.is_float:
            return self.emit(f"{'sitofp' if source.signed else 'uitofp'} {from_name} {a} to {name}")
        bits = 1 if source.element is BOOL else source.bits
        if to.bits == bits:
            return a
        return self.emit(f"{'trunc' if to.bits < bits else 'sext' if source.signed else 'zext'} {from_name} {a} to {name}")

    def truncate(self, to: Type, source: Type, a: str) -> str:
        """Float to integer, saturating."""
        name, from_name = type_name(to), type_name(source)
        return self.intrinsic(f"llvm.fpto{'s' if to.signed else 'u'}i.sat.{_suffix(to)}.{_suffix(source)}", name, [(from_name, a)])

    def truncate_unchecked(self, to: Type, source: Type, a: str) -> str:
        """Float to integer; out of range as the row's meaning has it, where that was asked for (LLVM leaves it open)."""
        name, from_name = type_name(to), type_name(source)
        wide = 64 if to.bits == 64 or (to.bits == 32 and not to.signed) else 32
        if to.bits == 64 and not to.signed and not self.indefinite:
            return self.emit(f"fptoui {from_name} {a} to {name}")
        middle = vector_of(_signed(wide), to.lanes)
        middle_name = type_name(middle)
        value = self.emit(f"fptosi {from_name} {a} to {middle_name}")
        if self.indefinite:
            mask = type_name(ops.mask_for(to))
            whole = self.intrinsic(f"llvm.trunc.{_suffix(source)}", from_name, [(from_name, a)])
            low, high = _literal(source, -(2.0 ** (wide - 1))), _literal(source, 2.0 ** (wide - 1))
            inside = self.emit(f"and {mask} {self.emit(f'fcmp oge {from_name} {whole}, {low}')}, {self.emit(f'fcmp olt {from_name} {whole}, {high}')}")
            value = self.emit(f"select {mask} {inside}, {middle_name} {value}, {middle_name} {_literal(middle, -(1 << (wide - 1)))}")
            if to.bits == 64 and not to.signed:
                upper = self.emit(
                    f"and {mask} {self.emit(f'fcmp oge {from_name} {whole}, {high}')}, {self.emit(f'fcmp olt {from_name} {whole}, {_literal(source, 2.0**64)}')}"
                )
                value = self.emit(f"select {mask} {upper}, {name} {self.emit(f'fptoui {from_name} {a} to {name}')}, {name} {value}")
        return value if to.bits == wide else self.emit(f"trunc {middle_name} {value} to {name}")

    def reduce(self, op: Op, type_: Type, a: str) -> str:
        while type_.lanes > 1:
            name, half = type_name(type_), type_.lanes // 2
            low = ", ".join(f"i32 {k}" for k in range(half))
            high = ", ".join(f"i32 {half + k}" for k in range(half))
            parts = [self.emit(f"shufflevector {name} {a}, {name} poison, <{half} x i32> <{which}>") for which in (low, high)]
            if half == 1:
                scalar = type_.element
                one = [self.emit(f"extractelement <1 x {type_name(scalar)}> {part}, i64 0") for part in parts]
                return self.binary(op, scalar, *one)
            type_ = vector_of(type_.element, half)
            a = self.binary(op, type_, *parts)
        return self.emit(f"extractelement {type_name(type_)} {a}, i64 0")

    def lane_mask(self, type_: Type, a: str, b: str) -> str:
        """Lane k holds where a + k < b, without a + k: it might overflow."""
        lanes = type_.lanes
        left = self.emit(f"sub i64 {b}, {a}")
        left = self.intrinsic("llvm.smin.i64", "i64", [("i64", left), ("i64", str(lanes))])
        left = self.intrinsic("llvm.smax.i64", "i64", [("i64", left), ("i64", "0")])
        numbers = vector_of(_signed(max(type_.bits, 8)), lanes)
        element = type_name(numbers.element)
        count = self.splat(numbers, left if numbers.bits == 64 else self.emit(f"trunc i64 {left} to {element}"))
        return self.emit(f"icmp ugt {type_name(numbers)} {count}, <{', '.join(f'{element} {k}' for k in range(lanes))}>")

    # --- memory and calls ---------------------------------------------------------------------------------

    def address(self, instr: Instr, at: int) -> str:
        mem = instr.mem
        assert mem is not None
        where = self.operand(instr.args[at])
        if mem.indexed:
            index = self.operand(instr.args[at + 1])
            if mem.scale != 1:
                index = self.emit(f"mul i64 {index}, {mem.scale}")
            where = self.emit(f"getelementptr i8, ptr {where}, i64 {index}")
        if mem.disp:
            where = self.emit(f"getelementptr i8, ptr {where}, i64 {mem.disp}")
        return where

    def memory(self, instr: Instr) -> None:
        op, type_ = instr.op, instr.type
        name = type_name(type_)
        align = type_.element.size
        if op is ops.LOAD_AT:
            where = self.address(instr, 0)
            if instr.mem is not None and instr.mem.broadcast:
                self.define(instr.dst, self.splat(type_, self.emit(f"load {type_name(type_.element)}, ptr {where}, align {align}")))
            else:
                self.define(instr.dst, self.emit(f"load {name}, ptr {where}, align {align}"))
        elif op is ops.STORE_AT:
            value = self.operand(instr.args[0])
            self.line(f"store {name} {value}, ptr {self.address(instr, 1)}, align {align}")
        elif op is ops.MASKED_LOAD_AT:
            mask = self.operand(instr.args[0])
            where = self.address(instr, 1)
            arguments = [("ptr", where), ("i32", str(align)), (f"<{type_.lanes} x i1>", mask), (name, "zeroinitializer")]
            self.define(instr.dst, self.intrinsic(f"llvm.masked.load.{_suffix(type_)}.p0", name, arguments))
        elif op is ops.MASKED_STORE_AT:
            mask, value = self.operand(instr.args[0]), self.operand(instr.args[1])
            where = self.address(instr, 2)
            arguments = [(name, value), ("ptr", where), ("i32", str(align)), (f"<{type_.lanes} x i1>", mask)]
            self.intrinsic(f"llvm.masked.store.{_suffix(type_)}.p0", "void", arguments)
        else:
            raise UnsupportedOperationError(f"{op.name}: export functions after the elif pass, and before loops", "", instr.line)

    def call(self, instr: Instr) -> None:
        callee = self.f.callees[instr.imm]
        arguments = ", ".join(f"{type_name(t)}{_extension(t)} {self.operand(a)}" for t, a in zip(callee.params, instr.args, strict=True))
        result = type_name(callee.result)
        who = f"inttoptr (i64 {callee.address} to ptr)" if callee.address else f"@{_symbol(callee.name)}"
        if not callee.address:
            self.declare(callee)
        text = f"call{_extension(callee.result)} {result} {who}({arguments})"
        if instr.dst >= 0:
            self.define(instr.dst, self.emit(text))
        else:
            self.line(text)

    def declare(self, callee: Callee) -> None:
        params = ", ".join(type_name(t) + _extension(t) for t in callee.params)
        self.declarations.setdefault(callee.name, f"declare{_extension(callee.result)} {type_name(callee.result)} @{_symbol(callee.name)}({params})")

    # --- control ------------------------------------------------------------------------------------------

    def target(self, depth: int) -> str:
        opened = self.stack[-1 - depth]
        return opened.again

    def control(self, instr: Instr) -> None:
        op, args = instr.op, instr.args
        if op is ops.BLOCK:
            opened = _Bracket("block")
            opened.again = opened.finish = self.label()
            self.stack.append(opened)
        elif op is ops.LOOP:
            opened = _Bracket("loop")
            opened.again = self.label()
            self.stack.append(opened)
            self.begin(opened.again)
        elif op is ops.IF:
            opened = _Bracket("if")
            inside = self.label()
            opened.otherwise = self.label()
            opened.again = opened.finish = self.label()
            self.stack.append(opened)
            self.branch(self.operand(args[0]), inside, opened.otherwise)
            self.begin(inside)
        elif op is ops.ELSE:
            opened = self.stack[-1]
            if self.open:
                self.jump(opened.finish)
            self.begin(opened.otherwise)
            opened.otherwise = ""
        elif op is ops.WHILE:
            opened = _Bracket("while")
            opened.again = self.label()
            opened.finish = self.label()
            self.stack.append(opened)
            self.begin(opened.again)
        elif op is ops.DO:
            inside = self.label()
            self.branch(self.operand(args[0]), inside, self.stack[-1].finish)
            self.begin(inside)
        elif op is ops.FOR:
            self.begin_for(instr)
        elif op is ops.END:
            self.end()
        elif op is ops.BR:
            self.jump(self.target(instr.imm))
        elif op is ops.BR_IF:
            on = self.label()
            self.branch(self.operand(args[0]), self.target(instr.imm), on)
            self.begin(on)
        elif op is ops.RET:
            self.line(f"ret {type_name(self.f.result)} {self.operand(args[0])}" if args else "ret void")
            self.open = False
        elif op is ops.FAIL:
            where = self.operand(args[0])
            for k, value in enumerate([str(instr.imm + 1), *(self.operand(a) for a in args[1:])]):
                self.line(f"store i64 {value}, ptr {self.emit(f'getelementptr i64, ptr {where}, i64 {k}')}")
            zero = "" if self.f.result is VOID else " " + _literal(self.f.result, 0)
            self.line(f"ret {type_name(self.f.result)}{zero}")
            self.open = False
        else:
            raise UnsupportedOperationError(f"{op.name}: export functions after the elif pass, and before loops", "", instr.line)

    def begin_for(self, instr: Instr) -> None:
        opened = _Bracket("for")
        opened.index = instr.dst
        lo = self.operand(instr.args[0])
        opened.hi = self.operand(instr.args[1])
        opened.step = int(self.f.const_values[~instr.args[2]])
        opened.up = opened.step > 0
        opened.again, opened.otherwise, opened.finish = self.label(), self.label(), self.label()
        self.define(instr.dst, lo)
        self.stack.append(opened)
        self.branch(self.emit(f"icmp {'slt' if opened.up else 'sgt'} i64 {lo}, {opened.hi}"), opened.otherwise, opened.finish)
        self.begin(opened.otherwise)
        if instr.loop is not None and instr.loop.mask != NONE:
            self.define(instr.loop.mask, self.lane_mask(self.f.types[instr.loop.mask], self.operand(instr.dst), opened.hi))

    def end(self) -> None:
        opened = self.stack.pop()
        if opened.kind == "loop":
            return
        if opened.kind == "for":
            self.begin(opened.again)
            following = self.emit(f"add i64 {self.operand(opened.index)}, {opened.step}")
            self.define(opened.index, following)
            self.branch(self.emit(f"icmp {'slt' if opened.up else 'sgt'} i64 {following}, {opened.hi}"), opened.otherwise, opened.finish)
        elif opened.kind == "while":
            if self.open:
                self.jump(opened.again)
        elif opened.otherwise:
            self.begin(opened.otherwise)
        self.begin(opened.finish)

    # --- the walk -----------------------------------------------------------------------------------------

    def instruction(self, instr: Instr) -> None:
        op, type_ = instr.op, instr.type
        if op.effect == ops.CONTROL:
            self.control(instr)
        elif op in ops.BARRIERS:
            self.line('call void asm sideeffect "", "~{memory}"()')
        elif op.effect == ops.CALLS:
            self.call(instr)
        elif op.effect != ops.PURE:
            self.memory(instr)
        elif op is ops.ADDRESS:
            self.define(instr.dst, self.address(instr, 0))
        elif op is ops.LOCAL:
            self.define(instr.dst, f"%local{int(self.f.const_values[~instr.args[0]])}")
        else:
            if instr.mem is not None:
                raise UnsupportedOperationError(f"{op.name} with an operand in memory: export functions before select", "", instr.line)
            self.define(instr.dst, self.compute(instr, op, type_, [self.operand(a) for a in instr.args]))

    def compute(self, instr: Instr, op: Op, type_: Type, v: list[str]) -> str:
        name = type_name(type_)
        if op is ops.COPY or op is ops.MASK_CONVERT:
            return v[0]
        if op in ops.COMPARISONS.values():
            return self.compare(op, type_, v[0], v[1])
        if op is ops.SELECT:
            return self.choose(type_, v[0], v[1], v[2])
        if op in (ops.FMA, ops.FMS, ops.FNMA):
            if op is ops.FMS:
                v[2] = self.emit(f"fneg {name} {v[2]}")
            elif op is ops.FNMA:
                v[0] = self.emit(f"fneg {name} {v[0]}")
            return self.intrinsic(f"llvm.fma.{_suffix(type_)}", name, [(name, x) for x in v])
        if op in _ROUNDING:
            return self.intrinsic(f"llvm.{_ROUNDING[op]}.{_suffix(type_)}", name, [(name, v[0])])
        if op is ops.NEG:
            return self.emit(f"fneg {name} {v[0]}" if type_.is_float else f"sub {name} {_literal(type_, 0)}, {v[0]}")
        if op is ops.ABS:
            if type_.is_float:
                return self.intrinsic(f"llvm.fabs.{_suffix(type_)}", name, [(name, v[0])])
            return self.intrinsic(f"llvm.abs.{_suffix(type_)}", name, [(name, v[0]), ("i1", "false")]) if type_.signed else v[0]
        if op is ops.NOT:
            return self.invert(type_, v[0])
        if op is ops.CONVERT:
            return self.convert(type_, instr.source, v[0])
        if op is ops.CONVERT_UNCHECKED:
            return self.truncate_unchecked(type_, instr.source, v[0])
        if op in _SHIFTS and instr.args[1] < 0:
            return self.shift(op, type_, v[0], v[1], int(self.f.const_values[~instr.args[1]]))
        if op is ops.BITCAST:
            return self.emit(f"bitcast {type_name(instr.source)} {v[0]} to {name}")
        if op is ops.SPLAT or op is ops.MASK_SPLAT:
            return self.splat(type_, v[0])
        if op is ops.IOTA:
            lanes = ", ".join(f"{type_name(type_.element)} {_literal(type_.element, k)}" for k in range(type_.lanes))
            return f"<{lanes}>"
        if op is ops.LANE_MASK:
            return self.lane_mask(type_, v[0], v[1])
        if op is ops.MASK_BITS:
            bits = self.emit(f"bitcast {name} {v[0]} to i{type_.lanes}")
            return bits if type_.lanes == 64 else self.emit(f"zext i{type_.lanes} {bits} to i64")
        if op is ops.SLIDE:
            k = int(self.f.const_values[~instr.args[2]])
            lanes = ", ".join(f"i32 {k + n}" for n in range(type_.lanes))
            return self.emit(f"shufflevector {name} {v[0]}, {name} {v[1]}, <{type_.lanes} x i32> <{lanes}>")
        if op is ops.EXTRACT:
            return self.emit(f"extractelement {name} {v[0]}, i64 0")
        if op is ops.LOOKUP_LANES and (type_.bits, type_.size) == (32, 32):
            return self.intrinsic(f"llvm.x86.avx2.perm{'ps' if type_.is_float else 'd'}", name, [(name, v[0]), (type_name(instr.source), v[1])])
        if op is ops.LOOKUP_PAIR or op is ops.LOOKUP_LANES:
            # (Of one vector: that is both.)
            second = v[1] if op is ops.LOOKUP_PAIR else v[0]
            letter = {32: "ps", 64: "pd"}[type_.bits] if type_.is_float else {8: "qi", 16: "hi", 32: "d", 64: "q"}[type_.bits]
            given = [(name, v[0]), (type_name(instr.source), v[-1]), (name, second)]
            return self.intrinsic(f"llvm.x86.avx512.vpermi2var.{letter}.{8 * type_.size}", name, given)
        if op is ops.LITERAL:
            assert op.meaning is not None
            numbers = op.meaning(type_, type_, *[self.f.const_values[~a] for a in instr.args])
            return f"<{', '.join(f'{type_name(type_.element)} {int(k)}' for k in numbers)}>"
        if op in _REDUCTIONS:
            return self.reduce(_REDUCTIONS[op], type_, v[0])
        if op is ops.ANY or op is ops.ALL:
            return self.intrinsic(f"llvm.vector.reduce.{'or' if op is ops.ANY else 'and'}.{_suffix_mask(type_)}", "i1", [(name, v[0])])
        return self.binary(op, type_, v[0], v[1])

    def write(self) -> str:
        f = self.f
        params = ", ".join(f"{type_name(f.types[p])}{_extension(f.types[p])} %p{p}" for p in f.params)
        for p in f.params:
            self.define(p, f"%p{p}")
        for instr in f.code:
            self.instruction(instr)
        if self.open:
            self.line("ret void" if f.result is VOID else "unreachable")
        allocas = [f"  %v{r} = alloca {type_name(f.types[r])}" for r in range(len(f.types)) if self.in_memory[r]]
        allocas += [f"  %local{n} = alloca [{each.size} x i8], align 64" for n, each in enumerate(f.arrays) if each.size and not each.data]
        head = f"define{_extension(f.result)} {type_name(f.result)} @{_symbol(f.name)}({params}) #0 {{"
        return "\n".join([head, "entry:", *allocas, *self.lines, "}"])


def _suffix_mask(type_: Type) -> str:
    return f"v{type_.lanes}i1"


def _signed(bits: int) -> Type:
    from loopwright.types import parse_type

    return parse_type(f"i{bits}")


def _symbol(name: str) -> str:
    return name if name.replace("_", "a").replace(".", "a").isalnum() and not name[0].isdigit() else '"' + name.replace('"', "'").replace("\\", "/") + '"'


def _in_memory(f: Function) -> list[bool]:
    """Which registers cannot be values: written more than once, or read outside the bracket they are written in."""
    found = [False] * len(f.types)
    written: list[int] = [-1] * len(f.types)
    for p in f.params:
        written[p] = 0
    open_: list[int] = [0]
    arms = 0
    inside = {0}
    for instr in f.code:
        for a in instr.args:
            if a >= 0 and written[a] not in inside:
                found[a] = True
        op = instr.op
        if op.closes and op is not ops.DO:
            inside.discard(open_.pop())
        if op.opens and op is not ops.DO:
            arms += 1
            open_.append(arms)
            inside.add(arms)
        for r in (instr.dst, instr.loop.mask if instr.loop is not None else NONE):
            if r >= 0:
                if written[r] >= 0 or op is ops.FOR or f.variable[r]:
                    found[r] = True
                written[r] = open_[-1]
    return found


def module_text(f: Function, indefinite: bool = False) -> str:
    """The function, and those it calls that are functions of ours, as a module of LLVM IR.

    Args:
        f: after the ``elif`` pass (or earlier, if it has neither array accesses nor ``elif``).
        indefinite: make unchecked conversions of floats out of an integer's range mean what our rows say; LLVM leaves them undefined.

    Raises ``UnsupportedOperationError`` for what is not exported: operations of later stages, ``//`` of floats.
    """
    declarations: dict[str, str] = {}
    bodies: list[str] = []
    done: set[str] = set()
    waiting = [f]
    while waiting:
        one = waiting.pop()
        if one.name in done:
            continue
        done.add(one.name)
        bodies.append(_Writer(one, declarations, indefinite).write())
        for callee in one.callees:
            if callee.function is not None and not callee.address:
                waiting.append(callee.function)
    declared = [text for name, text in declarations.items() if name not in done]
    attributes = 'attributes #0 = { nounwind "frame-pointer"="none" "no-trapping-math"="true" }'
    return "\n\n".join([*bodies, "\n".join(declared), attributes]) + "\n"


# --- LLVM through llvmlite ------------------------------------------------------------------------------------------


@cache
def _binding() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _machine(name: str, level: int, loaded: bool) -> Any:
    llvm = _binding()
    # A compiler's usual code model where the text is all that is wanted; one for any address where the code is run.
    model = {} if loaded else {"codemodel": "small", "reloc": "pic"}
    # 512-bit registers are what our x86-64-v4 uses; LLVM's tuning for that name shuns them.
    return llvm.Target.from_default_triple().create_target_machine(cpu=name, features="-prefer-256-bit", opt=level, **model)


def _parsed(text: str, machine: Any) -> Any:
    llvm = _binding()
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.verify()
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0)))
    return module


def assembly(text: str, target_name: str, level: int = 2) -> str:
    """Assembly with LLVM's comments (spills, loop depths) for a target we call ``x86-64-v3`` or ``x86-64-v4``."""
    machine = _machine(target_name, level, False)
    machine.set_asm_verbosity(True)
    return str(machine.emit_assembly(_parsed(text, machine)))


class Compiled:
    """Native code for a module, kept alive by this object. Raises ``RuntimeError`` where LLVM refuses the text."""

    def __init__(self, text: str, target_name: str, level: int = 2) -> None:
        llvm = _binding()
        machine = _machine(target_name, level, True)
        module = _parsed(text, machine)
        self.engine: Any = llvm.create_mcjit_compiler(module, machine)
        self.engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function is."""
        return int(self.engine.get_function_address(name))
