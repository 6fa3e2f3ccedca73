"""x86-64 as a target: AVX2 (x86-64-v3) and AVX-512 (x86-64-v4), System V and Win64.

The levels are those of the System V ABI supplement, version 1.0, section 3.1.1.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import TargetError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.targets import division
from loopwright.targets.pipeline import Pass
from loopwright.targets.steps import Emit
from loopwright.targets.target import (
    Addressing,
    MachineCode,
    RegisterClass,
    Rule,
    Target,
    Unrolling,
    masks,
    scalar_integers,
    vectors,
    vectors_and_masks,
    widens,
)
from loopwright.targets.x86 import assembler, expansions, gathers, interleaved, one_by_one, selection
from loopwright.targets.x86.abi import CONVENTIONS, SYSV, int_order, vector_order
from loopwright.targets.x86.core import CORE
from loopwright.targets.x86.lowering import missing, rule_for
from loopwright.targets.x86.operands import X86Assembler, bits_as_immediate, fits32
from loopwright.targets.x86.registers import K0, RBP, REGISTERS
from loopwright.types import BOOL, F32, F64, I64, PTR, U32, VOID, Type, vector_of

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
#: Instead of the base, the stack pointer; or what is at a distance from the instruction, without an index, as far from there as compilers go that do not
#: know where it is (LLVM, ``isOffsetSuitableForCodeModel``).
_ADDRESSING: Final = Addressing((1, 2, 4, 8), -(1 << 31), (1 << 31) - 1, origins={ops.LOCAL: (1 << 24, True), ops.GLOBAL: (1 << 24, False)})
_SHIFTS: Final = frozenset({ops.SHL, ops.SHR, ops.ROTATE_LEFT, ops.ROTATE_RIGHT})
_ALU_IMMEDIATE: Final = frozenset({ops.ADD, ops.SUB, ops.MUL, ops.AND, ops.OR, ops.XOR, ops.SHL_MODULO, ops.SHR_MODULO}) | _SHIFTS
_COMPARED: Final = ops.COMPARING | frozenset(ops.CHOICES)
#: What AVX512-FP16 has for f16 (SDM volume 1, chapter 5.19), or what is made of the bits: no remainders and floors of quotients, which are computed with f32.
_HALF_OPERATIONS: Final = frozenset(
    op.code
    for op in (
        *(ops.ADD, ops.SUB, ops.MUL, ops.DIV, ops.SQRT, ops.NEG, ops.ABS, ops.FLOOR, ops.CEIL, ops.TRUNC, ops.ROUND, ops.MIN, ops.MAX, ops.COPY_SIGN, ops.IOTA),
        *(*ops.FUSED, *ops.COMPARING, ops.CONVERT, *ops.UNCHECKED, ops.REDUCE_ADD, ops.REDUCE_MUL, ops.REDUCE_MIN, ops.REDUCE_MAX),
    )
)
#: Whose options are the usual ones.
_NO_FUNCTION: Final = Function("", VOID)

#: What the rule of an operation depends on besides its types, and which of its operands are constants: nothing, all there is to know, or which registers are the same.
_SHAPE_ALONE: Final = 0
_EVERYTHING: Final = 1
_LIKE_CHOICE: Final = 2
_LIKE_SELECT: Final = 3
_LIKE_MASKED: Final = 4


def _dependence(op: ops.Op) -> int:
    if op.effect == ops.CALLS or op is ops.RET or op in ops.CALLING:
        return _EVERYTHING
    if op in ops.CHOICES:
        return _LIKE_CHOICE
    if op is ops.SELECT:
        return _LIKE_SELECT
    return _LIKE_MASKED if op in ops.UNDER_MASKS and op.result == "T" else _SHAPE_ALONE


#: By the operation's code.
_DEPENDENCE: Final[list[int]] = [_dependence(op) for op in ops.OPS]


class X86(Target):
    """One level of x86-64.

    Args:
        name: ``x86-64-v3`` or ``x86-64-v4``, and optional features, each after a ``+``.
        vector_bits: 128, 256, or with v4 also 512.
        convention: ``sysv`` or ``win64``.
        tuning: ``halved-512`` if the CPU takes vectors of 512 bits in two halves; ``slow-gathers`` if it loads elements faster one by one, ``slow-permutations``
            if it moves lanes faster within parts of 128 bits first (``runtime/cpu.py``).
        framed: rbp is left to point to frames.
    """

    frame_pointer = RBP
    jumps_to_calls = True

    def __init__(self, name: str, vector_bits: int = 0, convention: str = "sysv", tuning: frozenset[str] = frozenset(), framed: bool = False) -> None:
        level, *optional = name.split("+")
        evex = level == "x86-64-v4"
        widths = (128, 256, 512) if evex else (128, 256)
        bits = vector_bits or widths[-1]
        if bits not in widths:
            raise TargetError(f"{name} has vectors of {', '.join(map(str, widths))} bits, not {bits}")
        if convention not in CONVENTIONS:
            raise TargetError(f"x86-64 has the calling conventions {', '.join(CONVENTIONS)}, not {convention!r}")
        rules = CONVENTIONS[convention]
        ints = int_order(rules)
        classes = [
            RegisterClass("integers", tuple(r for r in ints if r != RBP) if framed else ints, scalar_integers, again=0.25),
            RegisterClass("vectors", vector_order(rules, 32 if evex else 16), vectors if evex else vectors_and_masks),
        ]
        if evex:
            classes.append(RegisterClass("masks", range(K0 + 1, K0 + 8), masks, bit_per_lane=True))
        super().__init__(rules, REGISTERS, classes, (V4_FEATURES if evex else V3_FEATURES).union(optional))
        self.name = name
        self.vector_bits = bits
        self.tuning = tuning
        self.halves = bits == 512 and "halved-512" in tuning
        self.slow_gathers = "slow-gathers" in tuning
        self.slow_permutations = "slow-permutations" in tuning
        # Measured on Zen 4 (benchmarks/runtime.py, sum): one 512-bit load a cache line leaves the hardware prefetcher behind; two
        # 256-bit ones are 10 % faster out of the first-level cache and as fast inside it. With a whole data path (Zen 5) they take twice the time inside it.
        # Sums of two arrays and the like take 0.8 to 1.0 of the time: vectors of 64 bytes that do not begin at a multiple of 64 all cross a cache line, half of those of 32 do.
        # Rows of 33 f32 that add up what is above them, most of whose vectors lie across two lines, take 0.55 of the time in 256 bits.
        self.stream_bits = 256 if self.halves else 0
        # (Not measured where vectors go by halves, of which every other one lies across two lines.)
        self.aligned_lines = bits == 512 and not self.halves
        self.mask_registers = evex
        self.masked_bits = 0 if evex else 32
        # VPMASKMOVD to memory: 42 operations, one in 12 cycles on Zen 2 and later (A. Fog, Instruction tables, 2022); on Intel's cores 4 operations, one a cycle.
        self.dear_masks = not evex
        self.stores_low_bits = True
        # Measured on Zen 4: rows of 7 f32 changed in place, one behind the other, take 48 cycles each, with stores of 4, 2 and 1 elements 12.
        self.masks_hold_loads = evex
        self.expanded = expansions.EXPANDED
        self.core = CORE
        self.unrolling = Unrolling(_ELEMENTWISE, _STENCIL, _REDUCTION_512 if bits == 512 else _REDUCTION)
        if "avx512_fp16" in self.features:
            self.half_operations = _HALF_OPERATIONS
        self._rules: dict[int, Rule | None] = {}
        self._framed: X86 | None = None

    def framed(self) -> Target:
        if self._framed is None:
            self._framed = X86(self.name, self.vector_bits, self.convention.name, self.tuning, True)
        return self._framed

    # --- asked by the passes ------------------------------------------------------------------------------

    def passes(self) -> tuple[Pass, ...]:
        # They are imported with the first compilation.
        from loopwright.targets.x86.passes import PASSES

        return PASSES

    def jump_tables(self) -> bool:
        return True

    def immediate(self, instr: Instr, position: int, type_: Type, value: int | float | bool) -> bool:
        op = instr.op
        if op is ops.COPY or op is ops.RET or op in ops.NUMBERED or op.effect == ops.CALLS or op in ops.CALLING:
            return True
        if op in ops.DONE_IN_PLACE:
            return position == 0 and fits32(int(value))
        if op is ops.STORE_AT or op is ops.STORE_ARG:
            if position != 0 or type_.lanes:
                return False
            return type_.bits <= 32 or fits32(bits_as_immediate(type_, value))
        if op is ops.SWITCH or op is ops.JUMP_TABLE:
            return position == 1 and fits32(int(value))
        if op is ops.SLIDE or op is ops.BLEND or op is ops.CHOOSE_CHUNKS:
            return position == 2
        if op is ops.SHUFFLE_BYTES:
            return position > 0
        if op in ops.INDEXED or op is ops.LANE_PATTERN:
            return position == 0
        if op is ops.LANE_MASK:
            return position == 1 or instr.args[1] < 0
        if op is ops.LITERAL:
            return True
        if type_.lanes:
            # (Division of integers takes the elements one by one.)
            return not type_.is_float and (op in _SHIFTS or op in ops.DIVISIONS) and position == 1
        if type_.is_float:
            return False
        if op is ops.FOR:
            return position == 2 or fits32(int(value))
        if op is ops.ADD_SCALED:
            return position == 2
        if position != 1:
            return False
        if op in ops.DIVISIONS:
            return True
        if op in _ALU_IMMEDIATE or op in _COMPARED or op.compare:
            return fits32(int(value))
        return False

    def constant_from_memory(self, instr: Instr, position: int) -> bool:
        if not instr.type.is_float or instr.mem is not None or not instr.op.pure:
            return False
        found = self.known(_NO_FUNCTION, instr)
        return found is not None and found.uses[position].memory

    def addressing(self, type_: Type) -> Addressing:
        return _ADDRESSING

    def same_register(self, type_: Type, source: Type, zeros: bool) -> bool:
        # (A u32 is extended with zeros, as is a narrow integer without a sign. A bool is 0 or 1.)
        if source is BOOL:
            return type_.is_integer and not type_.lanes and type_.bits <= 32
        if source.is_half_word:
            zeros = zeros or source is U32
            if type_.is_half_word:
                return type_ is source or zeros
            if type_.is_word and not source.signed:
                return zeros
        return (type_.is_word and (source.is_word or (source.is_narrow and not source.signed))) or widens(type_, source)

    def rule(self, function: Function, instr: Instr) -> Rule:
        found = self.known(function, instr)
        if found is None:
            raise missing(self, instr)
        return found

    def known(self, function: Function, instr: Instr) -> Rule | None:
        """The rule that will emit ``instr``, or None."""
        op = instr.op
        depends = _DEPENDENCE[op.code]
        if depends == _EVERYTHING:
            return rule_for(self, function, instr)
        shape = 0
        args = instr.args
        for n in range(len(args)):
            if args[n] < 0:
                shape |= 1 << n if n < 3 else 2048
            if n == 3:
                break
        mem = instr.mem
        if mem is not None:
            shape |= 8 | (16 if mem.indexed else 0) | (mem.role + 1 << 5) | (512 if mem.origin is not None else 0)
        elif depends == _LIKE_CHOICE:
            shape |= (512 if args[0] == args[2] else 0) | (1024 if args[1] == args[2] else 0)
        elif depends == _LIKE_SELECT:
            shape |= 512 if instr.dst == args[2] != args[1] else 0
        elif depends == _LIKE_MASKED:
            shape |= (512 if args[1] == args[2] else 0) | (1024 if args[1] == args[-1] else 0)
        if function.options.fastmath:
            shape |= 256
        # (The table finds a place by the low bits, of which operations have the most.)
        key = ((shape << 16 | instr.source.number) << 16 | instr.type.number) << 12 | op.code
        found = self._rules.get(key)
        if found is None and key not in self._rules:
            found = self._rules[key] = rule_for(self, function, instr)
        return found

    def fold_memory(self, function: Function, instr: Instr, position: int, repeated: bool = False) -> bool:
        found = self.known(function, instr)
        if found is None or (repeated and not self.mask_registers):
            return False
        return (found.repeats if repeated else found.loads) >> position & 1 == 1

    def divide_both(self, function: Function, quotient: Instr, remainder: Instr, emit: Emit) -> bool:
        division.divide_both(function, quotient, remainder, emit, at_once=True)
        return True

    def tests_bits(self, type_: Type) -> bool:
        return type_.bits >= 32

    def adds_scaled(self, type_: Type) -> bool:
        # LEA, which takes a cycle (measured on Zen 4, where IMUL takes 3; A. Fog, Instruction tables, 2022: the same on Intel's).
        return type_.is_integer and not type_.lanes and type_.bits >= 32

    def tests_masks(self, type_: Type) -> bool:
        # What lies above the lanes is anything.
        return type_.lanes in (8, 16, 32, 64) if self.mask_registers else type_.bits * type_.lanes >= 128

    def updates(self, op: ops.Op, type_: Type) -> bool:
        return type_.is_integer and type_.bits >= 32 and not type_.lanes

    def scalars_as_lanes(self, type_: Type) -> Type | None:
        # VPMINSD and its kin take 1 cycle, CMP and CMOVcc 2 (A. Fog, Instruction tables, 2022: Zen 2 to Zen 4, Skylake to Ice Lake). Of 64 bits they
        # take 2 (Zen 4) or 3 (Ice Lake).
        return vector_of(type_, 4) if type_.is_integer and type_.bits == 32 and not type_.lanes and self.vector_bits else None

    def chooses_by(self, source: Type, type_: Type) -> bool:
        return not source.lanes and not source.is_float and not type_.lanes and (type_.is_integer or type_ is PTR or type_ is BOOL)

    def chooses_by_floats(self, source: Type, type_: Type) -> bool:
        # UCOMISS and CMOVA, CMOVAE; CMPSS and BLENDVPS.
        return not type_.lanes and (type_.is_integer or type_ is PTR or type_ is BOOL or (type_ is source and type_.bits >= 32))

    def chooses_by_bool(self, type_: Type) -> bool:
        # CMOVE; KMOVW or VMOVQ and a blend.
        return self.chooses_by(I64, type_) or (type_.is_float and not type_.lanes and type_.bits >= 32)

    def looks_up(self, type_: Type, source: Type) -> bool:
        gather = Instr(ops.GATHER_AT, type_, NONE, [], 0, 0, source)
        return gathers.has(self, gather) or one_by_one.has(self, gather)

    def gathers_singly(self, instr: Instr) -> bool:
        return (self.slow_gathers or not gathers.has(self, instr)) and one_by_one.has(self, instr)

    def packs(self, type_: Type, source: Type) -> bool:
        # VEXTRACTI128 and a pack, beside a shuffle of bytes and a permutation of whole registers.
        return not self.mask_registers and source.size > 16 and source.is_integer and source.bits in (16, 32) and type_.is_integer and type_.bits < source.bits

    def interleaves(self, type_: Type, count: int) -> bool:
        return interleaved.deals(self, type_, count)

    def stores_some(self, type_: Type) -> bool:
        # Under masks, which take no longer on Zen 4, of bytes either (measured: 0.59 ns for 64 bytes in both cases, where VPMASKMOVD takes 6.5).
        return interleaved.stores_some(self, type_)

    def shifts_elements(self, type_: Type) -> bool:
        # Permutations have one pipe on Intel's cores, on AMD's the two of shifts (``timing.py``); VPMOVZX and VPMOV (to narrower lanes) are permutations, too.
        return True

    def repeated_loads(self, type_: Type) -> int:
        # Measured (benchmarks/runtime.py, poly3) on Zen 4: with stores in halves the limit, one instruction less a vector is 5 % faster; with
        # longer chains the load ports become the limit instead. On Zen 5 repeated loads take up to twice the time beyond the first-level cache.
        return 3 if self.halves and type_.size == 64 else 1

    def counts_where(self, type_: Type) -> bool:
        return not self.mask_registers

    def works_under_masks(self, op: ops.Op, type_: Type) -> bool:
        return self.mask_registers and type_.lanes > 1 and selection.has_rows(ops.WHERE[op], type_)

    def combines_bits(self) -> bool:
        # VPTERNLOG.
        return self.mask_registers

    def estimates_roots(self, type_: Type) -> bool:
        # A division and a root keep the divider for 8.5 cycles (256 bits, ``timing.py``), the estimate and the five operations that refine it two pipes for 3; of f64 they keep it for 20 (Cascade Lake) and 14
        # (Zen 4), the estimate, which AVX-512 alone has, and nine operations the pipes for 6.
        return type_.element is F32 or (type_.element is F64 and self.mask_registers)

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

    def relocate(self, data: bytearray, offset: int, kind: str, distance: int, place: int = 0) -> None:
        """Fill in the displacement of a call or an address: ``distance`` from the field to what is meant; it counts from the field's end, or from further on, as the field says."""
        distance += int.from_bytes(data[offset : offset + 4], "little", signed=True) - 4
        if not -(1 << 31) <= distance < 1 << 31:
            raise TargetError("calls and addresses reach no further than 2 GiB")
        data[offset : offset + 4] = distance.to_bytes(4, "little", signed=True)
