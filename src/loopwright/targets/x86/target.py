"""x86-64 as a target: AVX2 (x86-64-v3) and AVX-512 (x86-64-v4), System V and Win64.

The levels are those of the System V ABI supplement, version 1.0, section 3.1.1.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import TargetError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets import division
from loopwright.targets.pipeline import Pass
from loopwright.targets.steps import Emit
from loopwright.targets.target import Addressing, MachineCode, RegisterClass, Rule, Target, Unrolling, masks, scalar_integers, vectors, vectors_and_masks
from loopwright.targets.x86 import assembler, expansions
from loopwright.targets.x86.abi import CONVENTIONS, SYSV, int_order, vector_order
from loopwright.targets.x86.core import CORE
from loopwright.targets.x86.lowering import missing, rule_for
from loopwright.targets.x86.operands import X86Assembler, bits_as_immediate, fits32
from loopwright.targets.x86.registers import K0, REGISTERS
from loopwright.types import VOID, Type

__all__ = ["V3_FEATURES", "V4_FEATURES", "X86"]

#: What x86-64-v3 may use, by the names of Linux's /proc/cpuinfo (``abm`` there means LZCNT).
V3_FEATURES: Final = frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "popcnt", "sse4_2"})
#: What x86-64-v4 adds.
V4_FEATURES: Final = V3_FEATURES | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

_ELEMENTWISE: Final = ((12, 4), (48, 2))
_STENCIL: Final = ((24, 4), (48, 2))
#: The latency of additions and multiply-adds is 4 cycles, of which two begin a cycle up to 256 bits (``timing.py``; most x86 cores since Skylake).
_REDUCTION: Final = ((4, 8), (8, 4), (24, 2))
#: Vectors of 512 bits: half as many a cycle on cores that split them, and half as many steps to a kilobyte.
_REDUCTION_512: Final = ((8, 4), (24, 2))
#: SDM volume 2, section 2.1.5: base, index times 1 to 8, a signed displacement of 32 bits.
_ADDRESSING: Final = Addressing((1, 2, 4, 8), -(1 << 31), (1 << 31) - 1)
_ALU_IMMEDIATE: Final = frozenset({ops.ADD, ops.SUB, ops.MUL, ops.AND, ops.OR, ops.XOR, ops.SHL, ops.SHR, ops.SHL_MODULO, ops.SHR_MODULO})
_DIVISIONS: Final = frozenset({ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR})
_COMPARES: Final = frozenset(ops.COMPARISONS.values())
_COMPARING: Final = _COMPARES | frozenset(ops.CHOICES)
#: Whose options are the usual ones.
_NO_FUNCTION: Final = Function("", VOID)


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
        classes = [
            RegisterClass("integers", int_order(rules), scalar_integers),
            RegisterClass("vectors", vector_order(rules, 32 if evex else 16), vectors if evex else vectors_and_masks),
        ]
        if evex:
            classes.append(RegisterClass("masks", range(K0 + 1, K0 + 8), masks, bit_per_lane=True))
        super().__init__(rules, REGISTERS, classes, V4_FEATURES if evex else V3_FEATURES)
        self.name = name
        self.vector_bits = bits
        self.halves = data_path < bits
        # Measured on Zen 4 (benchmarks/runtime.py, sum): one 512-bit load a cache line leaves the hardware prefetcher behind; two
        # 256-bit ones are 10 % faster out of the first-level cache and as fast inside it. With a whole data path (Zen 5) they take twice the time inside it.
        self.stream_bits = data_path if self.halves else 0
        self.mask_registers = evex
        self.expanded = expansions.EXPANDED
        self.core = CORE
        self.unrolling = Unrolling(_ELEMENTWISE, _STENCIL, _REDUCTION_512 if bits == 512 else _REDUCTION)
        self._rules: dict[int, Rule | None] = {}

    # --- asked by the passes ------------------------------------------------------------------------------

    def passes(self) -> tuple[Pass, ...]:
        # They are imported with the first compilation.
        from loopwright.targets.x86.passes import PASSES

        return PASSES

    def immediate(self, instr: Instr, position: int, type_: Type, value: int | float | bool) -> bool:
        op = instr.op
        if op is ops.COPY or op is ops.RET or op is ops.LOCAL or op.effect == ops.CALLS:
            return True
        if op in ops.DONE_IN_PLACE:
            return position == 0 and fits32(int(value))
        if op is ops.STORE_AT or op is ops.STORE_ARG:
            if position != 0 or type_.lanes:
                return False
            return type_.bits <= 32 or fits32(bits_as_immediate(type_, value))
        if op is ops.SLIDE:
            return position == 2
        if type_.lanes:
            # (Division takes the elements one by one.)
            return (op is ops.SHL or op is ops.SHR or op in _DIVISIONS) and position == 1
        if type_.is_float:
            return False
        if op is ops.FOR:
            return position == 2 or fits32(int(value))
        if position != 1:
            return False
        if op in _DIVISIONS:
            return True
        if op in _ALU_IMMEDIATE or op in _COMPARING or op.compare:
            return fits32(int(value))
        return op is ops.LANE_MASK

    def constant_from_memory(self, instr: Instr, position: int) -> bool:
        if not instr.type.is_float or instr.mem is not None or not instr.op.pure:
            return False
        found = self.known(_NO_FUNCTION, instr)
        return found is not None and found.uses[position].memory

    def addressing(self, type_: Type) -> Addressing:
        return _ADDRESSING

    def rule(self, function: Function, instr: Instr) -> Rule:
        found = self.known(function, instr)
        if found is None:
            raise missing(self, instr)
        return found

    def known(self, function: Function, instr: Instr) -> Rule | None:
        """The rule that will emit ``instr``, or None."""
        op = instr.op
        if op.effect == ops.CALLS or op is ops.RET:
            return rule_for(self, function, instr)
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
        found = self._rules.get(key)
        if found is None and key not in self._rules:
            found = self._rules[key] = rule_for(self, function, instr)
        return found

    def fold_memory(self, function: Function, instr: Instr, position: int) -> bool:
        found = self.known(function, instr)
        return found is not None and found.loads >> position & 1 == 1

    def divide_both(self, function: Function, quotient: Instr, remainder: Instr, emit: Emit) -> bool:
        division.divide_both(function, quotient, remainder, emit, at_once=True)
        return True

    def tests_bits(self, type_: Type) -> bool:
        return type_.bits >= 32

    def updates(self, op: ops.Op, type_: Type) -> bool:
        return type_.is_integer and type_.bits >= 32 and not type_.lanes

    def chooses_by(self, source: Type, type_: Type) -> bool:
        return not source.lanes and not source.is_float and not type_.lanes and not type_.is_float and type_.bits >= 32

    def repeated_loads(self, type_: Type) -> int:
        # Measured (benchmarks/runtime.py, poly3) on Zen 4: with stores in halves the limit, one instruction less a vector is 5 % faster; with
        # longer chains the load ports become the limit instead. On Zen 5 repeated loads take up to twice the time beyond the first-level cache.
        return 3 if self.halves and type_.size == 64 else 1

    def counts_where(self, type_: Type) -> bool:
        return not self.mask_registers

    def combines_bits(self) -> bool:
        # VPTERNLOG.
        return self.mask_registers

    def slides(self, type_: Type) -> bool:
        # VALIGND and VALIGNQ.
        return self.mask_registers and type_.bits >= 32

    def expand(self, function: Function, instr: Instr, emit: Emit, late: bool) -> bool:
        return expansions.expand(self, function, instr, emit, late)

    # --- asked by assemble and encode ---------------------------------------------------------------------

    def assembler(self, function: Function) -> X86Assembler:
        return X86Assembler(function, self.mask_registers, self.convention is SYSV, self.convention.shadow)

    def listing(self, machine: MachineCode) -> list[tuple[int, bytes, str, int]]:
        return assembler.listing(machine)

    def relocate(self, data: bytearray, offset: int, kind: str, distance: int) -> None:
        """Fill in a call's displacement: ``distance`` from the field to the callee; it counts from the field's end."""
        data[offset : offset + 4] = (distance - 4).to_bytes(4, "little", signed=True)
