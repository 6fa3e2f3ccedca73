"""The ``halves`` pass: floats of 16 bits that the machine does not compute with are kept as their bits, unsigned integers, and computed with as f32.

::

    %c = add.f16 %a, %b        %x = from_f16.f32.u16 %a
                          →    %y = from_f16.f32.u16 %b
                               %z = add.f32 %x, %y
                               %c = to_f16.u16.f32 %z

Each operation rounds to its type once. Of +, -, *, / and the square root that is the correctly rounded result although f32 rounds before, because f32 has at
least 2p + 2 digits (Figueroa, *When is double rounding innocuous?*, 1995); multiply-adds go by way of f64, and what comes from f64 or wide integers is
rounded to odd before (Boldo and Melquiond, *Emulation of FMA and Correctly Rounded Sums*, 2008). What moves values, and what changes signs, is done with the
bits. An accumulator of a loop over lanes is an f32 there, and rounded behind the loop; with ``fastmath`` intermediate results are not rounded.

Where the machine has arithmetic of f16 (``Target.half_operations``), an f16 stays one. What it has an operation for is left as it is, but for totals of loops over lanes,
which are f32 as elsewhere; the rest is computed with f32.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import Function, Instr, Loop
from loopwright.ir.half_floats import STICKY_BITS, half_bits, is_half
from loopwright.ir.roles import role_type
from loopwright.targets.steps import Steps
from loopwright.targets.target import Target
from loopwright.types import BF16, F16, F32, F64, I64, U16, U32, U64, Type, mask_of, vector_of

__all__ = ["run"]

#: What moves values and looks at none, besides all accesses to memory.
_MOVES: Final = frozenset(op.code for op in (ops.COPY, ops.SELECT, ops.SPLAT, ops.EXTRACT, ops.SLIDE, ops.REVERSE))
_CONVERSIONS: Final = frozenset(op.code for op in (ops.CONVERT, *ops.UNCHECKED))
_REDUCTIONS: Final[dict[int, ops.Op]] = {op.reduction.code: op for op in (ops.ADD, ops.MUL, ops.MIN, ops.MAX) if op.reduction is not None}
#: Whose results are the type's own without rounding.
_EXACT: Final = frozenset(op.code for op in (ops.MIN, ops.MAX, ops.FLOOR, ops.CEIL, ops.TRUNC, ops.ROUND, ops.REM_TRUNC))


def run(f: Function, target: Target) -> None:
    """Rewrite what is f16 or bf16."""
    if _mentioned(f.types) or _mentioned(f.const_types):
        _Halves(f, target.half_operations).run()


def _mentioned(types: list[Type]) -> bool:
    for type_ in types:  # noqa: SIM110 - a generator costs more than all the rest
        if type_.bits == 16 and type_.is_float:
            return True
    return False


def _others(f: Function) -> str:
    """The parameter or result that is of such a type, for the message; or ""."""
    for r in f.params:
        if is_half(f.types[r]):
            return f"a parameter of type {f.types[r].name}"
    return f"a result of type {f.result.name}" if is_half(f.result) else ""


class _Halves:
    """One run of the pass.

    Attributes:
        f: the function.
        native: the operations that the machine has for f16, by code.
        out: the code made so far.
        was: the types of the registers that had such a one.
        wide: by register that is written once, a register with its value as f32.
        sums: by accumulator of an open loop over lanes, the f32 in its place.
    """

    __slots__ = ("f", "native", "out", "sums", "was", "wide")

    def __init__(self, f: Function, native: frozenset[int]) -> None:
        self.f = f
        self.native = native
        self.out: list[Instr] = []
        self.was: dict[int, Type] = {}
        self.wide: dict[int, int] = {}
        self.sums: dict[int, int] = {}

    def run(self) -> None:
        f = self.f
        refused = _others(f)
        if refused:
            raise UnsupportedOperationError(f"{refused} is not available: pass f32, and convert inside the function")
        f.arrays = [array.replaced(element=U16) if self.as_bits(array.element) else array for array in f.arrays]
        for r, type_ in enumerate(f.types):
            if self.as_bits(type_):
                self.was[r] = type_
                f.types[r] = self.kept(type_)
        code = f.code
        partner = match(code)
        ends: dict[int, list[tuple[int, Type, int, int]]] = {}
        for position, instr in enumerate(code):
            loop = instr.loop
            if loop is not None and any(is_half(self.type_of(variable)) for variable, _, _ in loop.accumulators):
                ends[partner[position]] = self.enter(instr, loop)
                self.out.append(instr)
            elif is_half(instr.type) or is_half(instr.source):
                self.rewrite(instr)
            else:
                if instr.op in ops.CALLING:
                    self.refuse_call(instr)
                self.out.append(instr)
            for variable, type_, total, line in ends.pop(position, []):
                del self.sums[variable]
                self.narrow(type_, total, variable, line)
        f.code = self.out

    def refuse_call(self, instr: Instr) -> None:
        callee = self.f.callees[instr.imm]
        for type_ in (*callee.params, callee.result):
            if is_half(type_):
                raise UnsupportedOperationError(f"a call of {callee.name} with {type_.name} is not available: pass f32, and convert", "", instr.line)

    # --- operands -------------------------------------------------------------------------------------------

    def as_bits(self, type_: Type) -> bool:
        """Whether values of a type are kept as their bits."""
        return is_half(type_) and (not self.native or type_.element is BF16)

    def kept(self, type_: Type) -> Type:
        """The type of what values of one of those types are kept as."""
        return vector_of(U16, type_.lanes) if self.as_bits(type_) else type_

    def type_of(self, a: int) -> Type:
        if a < 0:
            return self.f.const_types[~a]
        return self.was.get(a, self.f.types[a])

    def register(self, type_: Type) -> int:
        """A new register for one of those types."""
        made = self.f.register(self.kept(type_))
        if self.as_bits(type_):
            self.was[made] = type_
        return made

    def steps(self, instr: Instr, lanes: int) -> Steps:
        return Steps(self.f, self.out.append, instr.line, lanes)

    def bits(self, a: int) -> int:
        """An operand, of those types as it is kept."""
        if a < 0:
            type_ = self.f.const_types[~a]
            if self.as_bits(type_):
                return self.f.const(self.kept(type_), half_bits(type_, float(self.f.const_values[~a])))
        return a

    def widened(self, a: int, line: int) -> int:
        """An operand of those types as f32."""
        type_ = self.type_of(a)
        if a < 0:
            return self.f.const(vector_of(F32, type_.lanes), self.f.const_values[~a])
        known = self.wide.get(a)
        if known is not None:
            return known
        s = Steps(self.f, self.out.append, line, type_.lanes)
        if type_.element is F16:
            return s.op(ops.FROM_F16, F32, a, source=U16) if self.as_bits(type_) else s.convert(F32, a, F16)
        whole = s.op(ops.SHL, U32, s.convert(U32, a, U16), s.const(U32, 16))
        return s.cast(F32, whole, U32)

    def narrow(self, type_: Type, value: int, into: int, line: int, exact: bool = False) -> None:
        """An f32 rounded to one of those types, as it is kept; ``exact``: it is one of the type's numbers."""
        s = Steps(self.f, self.out.append, line, type_.lanes)
        if type_.element is F16:
            if self.as_bits(type_):
                s.op(ops.TO_F16, U16, value, into=into, source=F32)
            else:
                s.convert(F16, value, F32, into)
            return
        # Half of what is dropped is added, less one where the last bit that stays is 0: ties go to the even one.
        bits = s.cast(U32, value, F32)
        upper = s.shifted(U32, bits, 16)
        if exact:
            s.convert(U16, upper, U32, into)
            return
        half = s.op(ops.ADD, U32, s.op(ops.AND, U32, upper, s.const(U32, 1)), s.const(U32, 0x7FFF))
        rounded = s.shifted(U32, s.op(ops.ADD, U32, bits, half), 16)
        nan = s.compare(ops.NE, F32, value, value)
        kept = s.op(ops.SELECT, U32, nan, s.op(ops.OR, U32, upper, s.const(U32, 0x40)), rounded)
        s.convert(U16, kept, U32, into)

    def narrowed_double(self, type_: Type, value: int, into: int, line: int) -> None:
        """An f64 rounded to one of those types, once: to odd first, to 13 digits, which an f32 holds."""
        s = Steps(self.f, self.out.append, line, type_.lanes)
        low = (1 << STICKY_BITS) - 1
        bits = s.cast(U64, value, F64)
        sticky = s.op(ops.ADD, U64, s.op(ops.AND, U64, bits, s.const(U64, low)), s.const(U64, low))
        kept = s.op(ops.AND, U64, s.op(ops.OR, U64, bits, sticky), s.const(U64, ~low))
        self.narrow(type_, s.convert(F32, s.cast(F64, kept, U64), F64), into, line)

    # --- instructions ---------------------------------------------------------------------------------------

    def rewrite(self, instr: Instr) -> None:
        op = instr.op
        code = op.code
        type_ = instr.type
        if self.sums and self.update(instr):
            return
        if code in self.native and type_.element is not BF16 and instr.source.element is not BF16:
            self.out.append(instr)
        elif code in _MOVES or op.effect == ops.READS or op.effect == ops.WRITES:
            instr.type = self.kept(type_)
            instr.args = [self.bits(a) for a in instr.args]
            self.out.append(instr)
        elif op is ops.BITCAST:
            self.bitcast(instr)
        elif code in _CONVERSIONS:
            self.convert(instr)
        elif op is ops.NEG or op is ops.ABS or op is ops.COPY_SIGN:
            self.signs(instr)
        elif op in ops.FUSED:
            self.fused(instr)
        elif code in _REDUCTIONS:
            self.reduced(instr)
        else:
            self.computed(instr)

    def computed(self, instr: Instr) -> None:
        """An operation done in f32."""
        op = instr.op
        type_, source, line = instr.type, instr.source, instr.line
        half = is_half(type_)
        wide_type = vector_of(F32, type_.lanes) if half else type_
        wide_source = vector_of(F32, source.lanes) if is_half(source) else source
        args = [self.widened(a, line) if is_half(role_type(letter, type_, source)) else a for letter, a in zip(op.operands, instr.args, strict=False)]
        if not half or op.result not in ("T", "E", "M"):
            self.out.append(Instr(op, wide_type, instr.dst, args, instr.imm, line, wide_source))
            return
        if op.result == "M":
            if not type_.lanes:
                self.out.append(Instr(op, wide_type, instr.dst, args, instr.imm, line, wide_source))
                return
            holds = self.f.register(mask_of(32, type_.lanes))
            self.out.append(Instr(op, wide_type, holds, args, instr.imm, line, wide_source))
            self.out.append(Instr(ops.MASK_CONVERT, mask_of(16, type_.lanes), instr.dst, [holds], 0, line, mask_of(32, type_.lanes)))
            return
        result = type_ if op.result == "T" else type_.element
        made = self.f.register(vector_of(F32, result.lanes))
        self.out.append(Instr(op, wide_type, made, args, instr.imm, line, wide_source))
        if not self.f.variable[instr.dst] and (op.code in _EXACT or self.f.options.fastmath):
            self.wide[instr.dst] = made
        self.narrow(result, made, instr.dst, line, op.code in _EXACT)

    def bitcast(self, instr: Instr) -> None:
        type_, source = instr.type, instr.source
        to, given = self.kept(type_), self.kept(source)
        args = [self.bits(instr.args[0])]
        self.out.append(Instr(ops.COPY, to, instr.dst, args, 0, instr.line) if to is given else Instr(ops.BITCAST, to, instr.dst, args, 0, instr.line, given))

    def signs(self, instr: Instr) -> None:
        """What leaves all bits but the sign."""
        s = self.steps(instr, instr.type.lanes)
        a = self.bits(instr.args[0])
        if instr.op is ops.NEG:
            s.op(ops.XOR, U16, a, s.const(U16, 0x8000), into=instr.dst)
        elif instr.op is ops.ABS:
            s.op(ops.AND, U16, a, s.const(U16, 0x7FFF), into=instr.dst)
        else:
            size = s.op(ops.AND, U16, a, s.const(U16, 0x7FFF))
            sign = s.op(ops.AND, U16, self.bits(instr.args[1]), s.const(U16, 0x8000))
            s.op(ops.OR, U16, size, sign, into=instr.dst)

    def convert(self, instr: Instr) -> None:
        type_, source, line = instr.type, instr.source, instr.line
        a = instr.args[0]
        if is_half(source):
            if type_ is source:
                self.out.append(Instr(ops.COPY, self.kept(type_), instr.dst, [self.bits(a)], 0, line))
                return
            value = self.widened(a, line)
            single = vector_of(F32, source.lanes)
            if is_half(type_):
                self.narrow(type_, value, instr.dst, line)
            elif type_ is single:
                self.out.append(Instr(ops.COPY, type_, instr.dst, [value], 0, line))
            else:
                self.out.append(Instr(instr.op, type_, instr.dst, [value], 0, line, single))
            return
        s = self.steps(instr, type_.lanes)
        given = source.element
        if given is F64:
            self.narrowed_double(type_, a, instr.dst, line)
        elif given is F32:
            if not self.f.variable[instr.dst] and self.f.options.fastmath:
                self.wide[instr.dst] = a
            self.narrow(type_, a, instr.dst, line)
        elif type_.element is BF16 and given.bits >= 32:
            self.narrowed_double(type_, s.convert(F64, self.jammed(s, a, given) if given.bits == 64 else a, given), instr.dst, line)
        else:
            # f32 holds what an f16 does not make an infinity.
            self.narrow(type_, s.convert(F32, a, given), instr.dst, line)

    def jammed(self, s: Steps, a: int, given: Type) -> int:
        """A 64-bit integer rounded to odd where it has more digits than an f64."""
        low = (1 << 11) - 1
        sticky = s.op(ops.ADD, given, s.op(ops.AND, given, a, s.const(given, low)), s.const(given, low))
        odd = s.op(ops.AND, given, s.op(ops.OR, given, a, sticky), s.const(given, ~low))
        size = s.op(ops.ADD, U64, s.convert(U64, a, I64), s.const(U64, 1 << 53)) if given.signed else a
        large = s.compare(ops.GT, U64, size, s.const(U64, 1 << 54 if given.signed else 1 << 53))
        # (One mask serves both: lanes are of 64 bits.)
        return s.op(ops.SELECT, given, large, odd, a)

    def fused(self, instr: Instr) -> None:
        """a * b + c in f64, where the product is exact. An f16's sum rounds there only where that is far from a tie; a bf16's is rounded to odd."""
        type_, line = instr.type, instr.line
        s = self.steps(instr, type_.lanes)
        a, b, c = (s.convert(F64, self.widened(x, line), F32) for x in instr.args)
        if instr.op is ops.FMS or instr.op is ops.FNMS:
            c = s.op(ops.NEG, F64, c)
        if instr.op is ops.FNMA or instr.op is ops.FNMS:
            a = s.op(ops.NEG, F64, a)
        if type_.element is F16:
            self.narrowed_double(type_, s.op(ops.FMA, F64, a, b, c), instr.dst, line)
            return
        product = s.op(ops.MUL, F64, a, b)
        total = s.op(ops.ADD, F64, product, c)
        # What the sum leaves (Knuth's two-sum).
        other = s.op(ops.SUB, F64, total, product)
        rest = s.op(ops.ADD, F64, s.op(ops.SUB, F64, product, s.op(ops.SUB, F64, total, other)), s.op(ops.SUB, F64, c, other))
        zero = s.const(F64, 0.0)
        bits = s.cast(I64, total, F64)
        above, below = s.compare(ops.GT, F64, rest, zero), s.compare(ops.LT, F64, rest, zero)
        negative = s.compare(ops.LT, F64, total, zero)
        # To the neighbour on the other side of the exact sum, by which of the two is odd.
        away = s.logic(ops.XOR, F64, above, negative)
        step = s.op(ops.SELECT, I64, away, s.const(I64, 1), s.const(I64, -1))
        even = s.compare(ops.EQ, I64, s.op(ops.AND, I64, bits, s.const(I64, 1)), s.const(I64, 0))
        inexact = s.logic(ops.AND, F64, s.logic(ops.OR, F64, above, below), even)
        odd = s.op(ops.SELECT, I64, inexact, s.op(ops.ADD, I64, bits, step), bits)
        self.narrowed_double(type_, s.cast(F64, odd, I64), instr.dst, line)

    def reduced(self, instr: Instr) -> None:
        """The lanes of a vector, halved step by step; each step rounds."""
        type_ = instr.type
        op = _REDUCTIONS[instr.op.code]
        whole = self.kept(type_)
        value = instr.args[0]
        half = type_.lanes // 2
        while half:
            upper, made = self.register(type_), self.register(type_)
            given = self.bits(value)
            self.out.append(Instr(ops.SLIDE, whole, upper, [given, given, self.f.const(I64, half)], 0, instr.line))
            self.computed(Instr(op, type_, made, [value, upper], 0, instr.line))
            value = made
            half //= 2
        self.out.append(Instr(ops.EXTRACT, whole, instr.dst, [self.bits(value)], 0, instr.line))

    # --- accumulators ---------------------------------------------------------------------------------------

    def enter(self, instr: Instr, loop: Loop) -> list[tuple[int, Type, int, int]]:
        """In front of a loop over lanes: its accumulators as f32. Returns what is to be rounded behind it: variable, type, f32, line."""
        kept: list[tuple[int, ops.Op, int]] = []
        rounded: list[tuple[int, Type, int, int]] = []
        for variable, op, identity in loop.accumulators:
            type_ = self.type_of(variable)
            if not is_half(type_) or (op.code in _EXACT and op.code in self.native and type_ is F16):
                kept.append((variable, op, identity))
                continue
            total = self.f.register(F32, self.f.names[variable], True)
            self.out.append(Instr(ops.COPY, F32, total, [self.widened(variable, instr.line)], 0, instr.line))
            self.sums[variable] = total
            start = self.f.const(F32, self.f.const_values[~identity]) if identity < 0 else total
            kept.append((total, op, start))
            rounded.append((variable, type_, total, instr.line))
        instr.loop = Loop(loop.mask, loop.unroll, kept, loop.lanes, loop.whole, loop.rest, loop.free)
        return rounded

    def update(self, instr: Instr) -> bool:
        """An accumulator's update in f32, of which ``t = copy`` may be an instruction of its own; False where it is none."""
        total = self.sums.get(instr.dst, -1)
        if total < 0:
            for a in instr.args:
                if a in self.sums:
                    total = self.wide[instr.dst] = self.f.register(F32)
                    break
            else:
                return False
        args = [self.sums[a] if a in self.sums else self.widened(a, instr.line) for a in instr.args]
        self.out.append(Instr(instr.op, F32, total, args, 0, instr.line))
        return True
