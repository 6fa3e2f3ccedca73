"""x86-64 as a target: AVX2 (x86-64-v3) and AVX-512 (x86-64-v4), System V and Win64.

The levels are those of the System V ABI supplement, version 1.0, section 3.1.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.errors import TargetError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets import sequences
from loopwright.targets.pipeline import Pass
from loopwright.targets.target import MachineCode, Rule, Target
from loopwright.targets.x86 import assembler, unsigned
from loopwright.targets.x86.abi import CONVENTIONS, SYSV, int_order, vector_order
from loopwright.targets.x86.emit_scalar import bits_as_immediate, fits32
from loopwright.targets.x86.lowering import FOLDS, _lane_form, make_rule, missing
from loopwright.targets.x86.operands import X86Assembler
from loopwright.targets.x86.registers import K0, REGISTERS
from loopwright.types import BOOL, F32, F64, I32, I64, U32, U64, Type, mask_of, vector_of

__all__ = ["V3_FEATURES", "V4_FEATURES", "X86"]

#: What x86-64-v3 may use, by the names of Linux's /proc/cpuinfo (``abm`` there means LZCNT).
V3_FEATURES: Final = frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "popcnt", "sse4_2"})
#: What x86-64-v4 adds.
V4_FEATURES: Final = V3_FEATURES | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

#: Python's // of floats is not the floor of the rounded quotient: 1.0 // 0.1 is 9, floor(1.0 / 0.1) is 10.
FLOOR_HINT: Final = "write lw.floor(a / b), which differs where the quotient rounds up to a whole number"

_ALU_IMMEDIATE: Final = frozenset({ops.ADD, ops.SUB, ops.MUL, ops.AND, ops.OR, ops.XOR, ops.SHL, ops.SHR, ops.SHL_MODULO, ops.SHR_MODULO})
_DIVISIONS: Final = frozenset({ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR})
_COMPARES: Final = frozenset(ops.COMPARISONS.values())
_CONVERSIONS: Final = (ops.CONVERT, ops.CONVERT_UNCHECKED)


class X86(Target):
    """One level of x86-64.

    Args:
        name: ``x86-64-v3`` or ``x86-64-v4``.
        vector_bits: 128, 256, or with v4 also 512.
        convention: ``sysv`` or ``win64``.
        data_path: 256 if the CPU takes vectors of 512 bits in two halves, else 512.
    """

    def __init__(self, name: str, vector_bits: int = 0, convention: str = "sysv", data_path: int = 512) -> None:
        evex = name == "x86-64-v4"
        widths = (128, 256, 512) if evex else (128, 256)
        bits = vector_bits or widths[-1]
        if bits not in widths:
            raise TargetError(f"{name} has vectors of {', '.join(map(str, widths))} bits, not {bits}")
        if convention not in CONVENTIONS:
            raise TargetError(f"x86-64 has the calling conventions {', '.join(CONVENTIONS)}, not {convention!r}")
        rules = CONVENTIONS[convention]
        orders = [int_order(rules), vector_order(rules, 32 if evex else 16)]
        if evex:
            orders.append(tuple(range(K0 + 1, K0 + 8)))
        super().__init__(rules, REGISTERS, orders, V4_FEATURES if evex else V3_FEATURES)
        self.name = name
        self.vector_bits = bits
        self.halves = data_path < bits
        # Measured on Zen 4 (benchmarks/runtime.py, sum): one 512-bit load a cache line leaves the hardware prefetcher behind; two
        # 256-bit ones are 10 % faster out of the first-level cache and as fast inside it. With a whole data path (Zen 5) they take twice the time inside it.
        self.stream_bits = data_path if self.halves else 0
        self.mask_registers = evex
        self.early = frozenset((ops.CONVERT,) if evex else (ops.CONVERT, ops.SHL, ops.SHR))
        self._rules: dict[int, Rule] = {}

    # --- asked by the passes ------------------------------------------------------------------------------

    def passes(self) -> tuple[Pass, ...]:
        # They are imported with the first compilation.
        from loopwright.targets.x86.passes import PASSES

        return PASSES

    def immediate(self, instr: Instr, position: int, type_: Type, value: int | float | bool) -> bool:
        op = instr.op
        if op is ops.COPY or op is ops.RET or op is ops.LOCAL or op.effect == ops.CALLS:
            return True
        if op is ops.STORE_AT or op is ops.STORE_ARG:
            if position != 0 or type_.lanes:
                return False
            return type_.bits <= 32 or fits32(bits_as_immediate(type_, value))
        if op is ops.SLIDE:
            return position == 2
        if type_.lanes:
            return (op is ops.SHL or op is ops.SHR) and position == 1
        if type_.is_float:
            return False
        if op is ops.FOR:
            return position == 2 or fits32(int(value))
        if position != 1:
            return False
        if op in _DIVISIONS:
            return True
        if op in _ALU_IMMEDIATE or op in _COMPARES or op.compare:
            return fits32(int(value))
        return op is ops.LANE_MASK

    def constant_from_memory(self, instr: Instr, position: int) -> bool:
        op = instr.op
        return (
            instr.type.is_float
            and instr.mem is None
            and op not in _CONVERSIONS
            and op is not ops.SPLAT
            and op.pure
            and (position in FOLDS.get(op, ()) and op not in (ops.MIN, ops.MAX) and op not in _COMPARES)
        )

    def address(self, scale: int, disp: int) -> tuple[bool, bool]:
        return scale in (1, 2, 4, 8), fits32(disp)

    def rule(self, function: Function, instr: Instr) -> Rule:
        op = instr.op
        if op.effect == ops.CALLS or op is ops.RET:
            return make_rule(self, function, instr)
        shape = 0
        args = instr.args
        for n in range(len(args)):
            if args[n] < 0:
                shape |= 1 << n
            if n == 2:
                break
        mem = instr.mem
        if mem is not None:
            shape |= 8 | (16 if mem.indexed else 0) | (mem.role + 1 << 5)
        if function.options.fastmath:
            shape |= 256
        key = ((op.code << 16 | instr.type.number) << 16 | instr.source.number) << 9 | shape
        known = self._rules.get(key)
        if known is None:
            known = make_rule(self, function, instr)
            self._rules[key] = known
        return known

    def fold_memory(self, function: Function, instr: Instr, position: int) -> bool:
        op = instr.op
        allowed = FOLDS.get(op)
        type_ = instr.type
        if allowed is None or position not in allowed or type_.is_mask:
            return False
        if not type_.lanes and type_.bits < 32:
            return False
        if type_.lanes and op is not ops.SPLAT:
            first = self._middle(type_, instr.source) if op in _CONVERSIONS and self.convert_in_steps(type_, instr.source) else type_
            if max(first.size, instr.source.size) < 16:
                # The instruction would read a whole register, past the few lanes there are.
                return False
        if type_.lanes or type_.is_float:
            args = instr.args
            for other in range(len(args)):
                if args[other] < 0 and other != position:
                    # A constant that stayed in place is the operand in memory.
                    return False
        if op in _CONVERSIONS:
            source = instr.source
            if source.is_float and type_.is_integer and op is ops.CONVERT:
                # These look at their operand more than once.
                return False
            if type_.lanes:
                if source.is_integer and type_.is_integer:
                    return source.bits < type_.bits
                if not self.mask_registers and (source.bits == 64 and (source.is_integer or type_.bits == 64) or unsigned.lacking(type_, source)):
                    return False
                return source.bits >= 32 or self.convert_in_steps(type_, source)
            return (
                not (source.is_float and type_ is U64)
                and source.bits == 32
                and (source.is_float != type_.is_float or type_.bits == 64)
                and not type_.is_float
                and source.kind != 3
            )
        if op is ops.SPLAT:
            return type_.is_float or type_.bits >= 8
        if op in _COMPARES:
            if not type_.lanes:
                return not type_.is_float
            if type_.is_float or self.mask_registers:
                return type_.bits >= 32 or not self.mask_registers
            return op is ops.EQ or (op is ops.GT and type_.signed)
        if not type_.lanes and not type_.is_float and len(instr.args) == 2 and instr.args[1 - position] < 0:
            # Loading and then operating on an immediate is as short.
            return False
        if op is ops.MIN or op is ops.MAX:
            if type_.is_float:
                return position == 0 or function.options.fastmath
            if not type_.lanes:
                return position == 1
        if type_.lanes and not type_.is_float:
            return _lane_form(self, op, type_, "xmm") is not None
        return True

    def spill_size(self, type_: Type) -> int:
        # The moves to and from slots are of at least 4 bytes.
        return max(8, super().spill_size(type_))

    def repeated_loads(self, type_: Type) -> int:
        # Measured (benchmarks/runtime.py, poly3) on Zen 4: with stores in halves the limit, one instruction less a vector is 5 % faster; with
        # longer chains the load ports become the limit instead. On Zen 5 repeated loads take up to twice the time beyond the first-level cache.
        return 3 if self.halves and type_.size == 64 else 1

    def slides(self, type_: Type) -> bool:
        # VALIGND and VALIGNQ.
        return self.mask_registers and type_.bits >= 32

    def convert_in_steps(self, type_: Type, source: Type) -> bool:
        """Whether a conversion of lanes goes by way of i32, bytes to and from floats, or of f64, f32 to i64 on AVX2."""
        if source.bits == 32 and source.is_float and type_.bits == 64 and type_.signed:
            return not self.mask_registers
        return (source.bits < 32 and type_.is_float) or (type_.bits < 32 and source.is_float)

    def _middle(self, type_: Type, source: Type) -> Type:
        """The type between, of a conversion in steps."""
        return vector_of(F64 if source.is_float and type_.bits == 64 else I32, type_.lanes)

    def expand_early(self, function: Function, instr: Instr, emit: Callable[[Instr], None]) -> bool:
        if instr.op is ops.CONVERT:
            return self._clamped(function, instr, emit, False) or (not self.mask_registers and unsigned.convert(function, instr, emit, False))
        if instr.type.lanes and instr.type.bits == 8 and instr.args[1] >= 0:
            self._shift_bytes(function, instr, emit)
            return True
        return False

    def _clamped(self, f: Function, instr: Instr, emit: Callable[[Instr], None], held: bool) -> bool:
        """Conversions of floats to integers whose bounds are floats: clamped before."""
        type_, source = instr.type, instr.source
        if not (source.is_float and type_.is_integer and source.bits >= 32):
            return False
        if type_.bits < 32:
            sequences.clamp_and_convert(f, instr, vector_of(I32, type_.lanes), emit, held)
            return True
        if type_ is not U32 or self.mask_registers:
            return False
        if source is F32:
            # f64 has room for the bounds.
            wide = f.register(F64)
            emit(Instr(ops.CONVERT, F64, wide, instr.args, 0, instr.line, F32))
            instr = Instr(ops.CONVERT, type_, instr.dst, [wide], 0, instr.line, F64)
        sequences.clamp_and_convert(f, instr, I64, emit, held)
        return True

    def expand(self, function: Function, instr: Instr, emit: Callable[[Instr], None]) -> bool:
        op = instr.op
        type_ = instr.type
        if op in _CONVERSIONS:
            return self._expand_convert(function, instr, emit)
        if type_.lanes:
            return self._expand_lanes(function, instr, emit)
        if op in _DIVISIONS and type_.is_integer:
            if type_.bits < 32:
                sequences.divide_narrow(function, instr, emit)
            else:
                sequences.divide(function, instr, emit)
            return True
        if op is ops.DIV_FLOOR:
            raise missing(self, instr, FLOOR_HINT)
        if op is ops.ABS and type_.is_integer:
            if not type_.signed:
                emit(Instr(ops.COPY, type_, instr.dst, list(instr.args), 0, instr.line))
                return True
            wide = type_ if type_.bits >= 32 else I32
            negated = function.register(wide)
            largest = instr.dst if wide is type_ else function.register(wide)
            emit(Instr(ops.NEG, wide, negated, list(instr.args), 0, instr.line))
            emit(Instr(ops.MAX, wide, largest, [negated, instr.args[0]], 0, instr.line))
            if wide is not type_:
                emit(Instr(ops.CONVERT, type_, instr.dst, [largest], 0, instr.line, wide))
            return True
        if op is ops.SELECT and type_.is_float:
            sequences.select_by_branch(function, instr, emit)
            return True
        if type_.bits < 32 and type_.is_integer and op.pure and op not in _COMPARES and op is not ops.COPY and op is not ops.BITCAST:
            sequences.narrow_integer(function, instr, emit)  # type: ignore[arg-type]
            return True
        return False

    def _expand_convert(self, f: Function, instr: Instr, emit: Callable[[Instr], None]) -> bool:
        type_, source = instr.type, instr.source
        if instr.op is ops.CONVERT and self._clamped(f, instr, emit, True):
            # (What came to be after the pass ``expand``.)
            return True
        if not type_.lanes:
            if source.is_float and type_ is BOOL:
                zero = sequences.constant(f, source, 0.0, emit, instr.line)
                emit(Instr(ops.NE, source, instr.dst, [instr.args[0], zero], 0, instr.line))
                return True
            if source.is_float and type_.is_integer and (type_.bits < 32 or (type_ is U32 and instr.op is ops.CONVERT_UNCHECKED)):
                whole_type = I64 if type_ is U32 else I32
                whole = f.register(whole_type)
                emit(Instr(ops.CONVERT_UNCHECKED, whole_type, whole, instr.args, 0, instr.line, source, instr.mem))
                emit(Instr(ops.CONVERT, type_, instr.dst, [whole], 0, instr.line, whole_type))
                return True
            if source is U64 and type_.is_float:
                sequences.unsigned_to_float(f, instr, emit)
                return True
            if type_ is U64 and source.is_float:
                sequences.float_to_unsigned(f, instr, emit)
                return True
            return False
        if self.convert_in_steps(type_, source):
            middle = self._middle(type_, source)
            whole = f.register(middle)
            # The step that leaves the floats is of the given kind.
            emit(Instr(ops.CONVERT if middle.is_float else instr.op, middle, whole, instr.args, 0, instr.line, source, instr.mem))
            emit(Instr(instr.op if middle.is_float else ops.CONVERT, type_, instr.dst, [whole], 0, instr.line, middle))
            return True
        return not self.mask_registers and unsigned.convert(f, instr, emit, True)

    def _expand_lanes(self, f: Function, instr: Instr, emit: Callable[[Instr], None]) -> bool:
        op, type_, line = instr.op, instr.type, instr.line
        if op is ops.DIV_FLOOR and type_.is_float:
            raise missing(self, instr, FLOOR_HINT)
        if type_.is_mask:
            if op is ops.SELECT and self.mask_registers:
                m, a, b = instr.args
                yes, no = f.register(type_), f.register(type_)
                emit(Instr(ops.AND, type_, yes, [m, a], 0, line))
                emit(Instr(ops.ANDNOT, type_, no, [m, b], 0, line))
                emit(Instr(ops.OR, type_, instr.dst, [yes, no], 0, line))
                return True
            return False
        if op is ops.NEG and type_.is_integer:
            zero = sequences.constant(f, type_, 0, emit, line)
            emit(Instr(ops.SUB, type_, instr.dst, [zero, instr.args[0]], 0, line))
            return True
        if type_.is_float:
            return False
        if op is ops.ABS and not type_.signed:
            emit(Instr(ops.COPY, type_, instr.dst, list(instr.args), 0, line))
            return True
        return not self.mask_registers and self._expand_avx2(f, instr, emit)

    def _shift_bytes(self, f: Function, instr: Instr, emit: Callable[[Instr], None]) -> None:
        """AVX2: bytes shifted lane by lane: by 4, 2 and 1 where the count has that bit; first, where it has a higher one, by as much as can be."""
        type_, line = instr.type, instr.line
        value, count = instr.args
        mask = mask_of(8, type_.lanes)
        zero = f.const(type_, 0)
        for bit in (0xF8, 4, 2, 1):
            held, clear = f.register(type_), f.register(mask)
            emit(Instr(ops.AND, type_, held, [count, f.const(type_, bit)], 0, line))
            emit(Instr(ops.EQ, type_, clear, [held, zero], 0, line))
            shifted = zero
            if bit < 8 or (type_.signed and instr.op is ops.SHR):
                shifted = f.register(type_)
                emit(Instr(instr.op, type_, shifted, [value, f.const(type_, min(bit, 7))], 0, line))
            chosen = instr.dst if bit == 1 else f.register(type_)
            emit(Instr(ops.SELECT, type_, chosen, [clear, value, shifted], 0, line))
            value = chosen

    def _expand_avx2(self, f: Function, instr: Instr, emit: Callable[[Instr], None]) -> bool:
        """What AVX2 lacks for integer lanes: comparisons other than equal and signed greater; 64-bit min, max, abs."""
        op, type_, line = instr.op, instr.type, instr.line
        if op in _COMPARES and op is not ops.EQ and not (op is ops.GT and type_.signed):
            a, b = instr.args[:2]
            mask = mask_of(type_.bits, type_.lanes)
            if type_.signed:
                if op is ops.LT:
                    emit(Instr(ops.GT, type_, instr.dst, [b, a], 0, line))
                    return True
                positive = f.register(mask)
                if op is ops.NE:
                    emit(Instr(ops.EQ, type_, positive, [a, b], 0, line))
                else:
                    emit(Instr(ops.GT, type_, positive, [a, b] if op is ops.LE else [b, a], 0, line))
                emit(Instr(ops.NOT, mask, instr.dst, [positive], 0, line))
                return True
            if op is ops.NE:
                positive = f.register(mask)
                emit(Instr(ops.EQ, type_, positive, [a, b], 0, line))
                emit(Instr(ops.NOT, mask, instr.dst, [positive], 0, line))
                return True
            if type_.bits == 64:
                self._compare_unsigned(f, instr, emit)
                return True
            # Unsigned: a >= b exactly when max(a, b) is a.
            extreme = f.register(type_)
            emit(Instr(ops.MAX if op in (ops.GE, ops.LT) else ops.MIN, type_, extreme, [a, b], 0, line))
            if op in (ops.GE, ops.LE):
                emit(Instr(ops.EQ, type_, instr.dst, [extreme, a], 0, line))
            else:
                positive = f.register(mask)
                emit(Instr(ops.EQ, type_, positive, [extreme, a], 0, line))
                emit(Instr(ops.NOT, mask, instr.dst, [positive], 0, line))
            return True
        if (op is ops.MIN or op is ops.MAX) and type_.bits == 64:
            a, b = instr.args
            greater = f.register(mask_of(64, type_.lanes))
            compare = Instr(ops.GT, type_, greater, [b, a] if op is ops.MAX else [a, b], 0, line)
            if type_.signed:
                emit(compare)
            else:
                self._compare_unsigned(f, compare, emit)
            emit(Instr(ops.SELECT, type_, instr.dst, [greater, b, a], 0, line))
            return True
        if op is ops.ABS and type_.bits == 64:
            zero = sequences.constant(f, type_, 0, emit, line)
            negated, negative = f.register(type_), f.register(mask_of(64, type_.lanes))
            emit(Instr(ops.SUB, type_, negated, [zero, instr.args[0]], 0, line))
            emit(Instr(ops.GT, type_, negative, [zero, instr.args[0]], 0, line))
            emit(Instr(ops.SELECT, type_, instr.dst, [negative, negated, instr.args[0]], 0, line))
            return True
        return False

    def _compare_unsigned(self, f: Function, instr: Instr, emit: Callable[[Instr], None]) -> None:
        """AVX2: unsigned 64-bit lanes compared as signed ones, the top bits flipped."""
        op, line = instr.op, instr.line
        signed, mask = vector_of(I64, instr.type.lanes), mask_of(64, instr.type.lanes)
        top = sequences.constant(f, signed, -(1 << 63), emit, line)
        flipped = []
        for operand in instr.args[:2]:
            same, changed = f.register(signed), f.register(signed)
            emit(Instr(ops.BITCAST, signed, same, [operand], 0, line, instr.type))
            emit(Instr(ops.XOR, signed, changed, [same, top], 0, line))
            flipped.append(changed)
        if op is ops.LT or op is ops.GE:
            flipped.reverse()
        if op is ops.GT or op is ops.LT:
            emit(Instr(ops.GT, signed, instr.dst, flipped, 0, line))
        else:
            # a <= b unless a > b.
            greater = f.register(mask)
            emit(Instr(ops.GT, signed, greater, flipped, 0, line))
            emit(Instr(ops.NOT, mask, instr.dst, [greater], 0, line))

    # --- asked by assemble and encode ---------------------------------------------------------------------

    def assembler(self, function: Function) -> X86Assembler:
        return X86Assembler(function, self.mask_registers, self.convention is SYSV, self.convention.shadow)

    def listing(self, machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
        return assembler.listing(machine)

    def relocate(self, data: bytearray, offset: int, kind: str, distance: int) -> None:
        """Fill in a call's displacement: ``distance`` from the field to the callee; it counts from the field's end."""
        data[offset : offset + 4] = (distance - 4).to_bytes(4, "little", signed=True)
