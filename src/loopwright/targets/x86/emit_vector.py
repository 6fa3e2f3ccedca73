"""Emission of floating-point and vector operations: one small class per shape of machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir.function import SLOT, Function, Instr
from loopwright.targets.x86.assembler import EQUAL, NOT_EQUAL, Form, M, lookup
from loopwright.targets.x86.encoder import NO_REGISTER
from loopwright.targets.x86.operands import MEMORY, X86Assembler, address, in_memory, roles
from loopwright.targets.x86.registers import CODES
from loopwright.types import Type


def width(type_: Type) -> str:
    """The register name prefix a vector (or float scalar) of this type is held in."""
    bits = type_.bits * max(type_.lanes, 1)
    return "xmm" if bits <= 128 else "ymm" if bits <= 256 else "zmm"


def same(mnemonic: str, count: int, type_: Type, kind: str = "") -> Form:
    """The form of a mnemonic with ``count`` vector operands of one width."""
    return lookup(mnemonic, kind + ",".join([width(type_)] * count))


def extension(type_: Type) -> Form:
    """What brings an integer of 8 or 16 bits into the form in which registers hold it: extended to 32 bits by its own signedness."""
    return lookup("MOVSX" if type_.signed else "MOVZX", f"r32,r{type_.bits}")


class ThreeOperand:
    """``dst = a op b``, b or (when it commutes) a from memory.

    ``swapped`` exchanges the sources in the encoding; ``repeat`` is the form for a constant repeated in every lane, where it is another.
    """

    __slots__ = ("commutes", "form", "repeat", "swapped")

    def __init__(self, form: Form, commutes: bool, swapped: bool = False, repeat: Form | None = None) -> None:
        self.form = form
        self.commutes = commutes
        self.swapped = swapped
        self.repeat = repeat

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        operands = roles(instr)
        a, b = operands[0], operands[1]
        if self.swapped:
            a, b = b, a
        mem = in_memory(asm, instr, b, instr.type)
        if mem is None and self.commutes:
            mem = in_memory(asm, instr, a, instr.type)
            if mem is not None:
                a, b = b, a
        d = CODES[instr.dst]
        if mem is not None:
            asm.emit(self.repeat if mem.bcst and self.repeat is not None else self.form, (d, CODES[a]), mem, line=instr.line)
        else:
            asm.emit(self.form, (d, CODES[a], CODES[b]), line=instr.line)


class TwoOperand:
    """``dst = op a`` with an optional immediate; a may be in memory."""

    __slots__ = ("form", "imm", "scalar", "source")

    def __init__(self, form: Form, imm: int = 0, scalar: bool = False, source: Type | None = None) -> None:
        self.form = form
        self.imm = imm
        self.scalar = scalar
        self.source = source

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a = roles(instr)[0]
        d = CODES[instr.dst]
        mem = in_memory(asm, instr, a, self.source if self.source is not None else instr.type)
        if self.scalar:
            # The upper elements come from the first source: taking it equal to the second avoids a false dependency.
            first = d if mem is not None else CODES[a]
            if mem is not None:
                asm.emit(lookup("VXORPS", "xmm,xmm,xmm"), (d, d, d), line=instr.line)
                asm.emit(self.form, (d, first), mem, self.imm, line=instr.line)
            else:
                asm.emit(self.form, (d, first, CODES[a]), None, self.imm, line=instr.line)
        elif mem is not None:
            asm.emit(self.form, (d,), mem, self.imm, line=instr.line)
        else:
            asm.emit(self.form, (d, CODES[a]), None, self.imm, line=instr.line)


class FusedMultiplyAdd:
    """``dst = ±(a*b) ± c`` in whichever of the three operand orders fits the registers."""

    __slots__ = ("form132", "form213", "form231", "move")

    def __init__(self, name: str, suffix: str, type_: Type) -> None:
        shape = ",".join([width(type_)] * 3)
        self.form132 = lookup(f"{name}132{suffix}", shape)
        self.form213 = lookup(f"{name}213{suffix}", shape)
        self.form231 = lookup(f"{name}231{suffix}", shape)
        self.move = lookup("VMOVAPS", ",".join([width(type_)] * 2))

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b, c = roles(instr)
        line = instr.line
        dst = instr.dst
        d = CODES[dst]
        mem = in_memory(asm, instr, a, instr.type)
        if mem is not None:
            a, b = b, a
        else:
            mem = in_memory(asm, instr, b, instr.type)
        if mem is not None:
            # b is in memory: it must be the third operand.
            if dst == c:
                asm.emit(self.form231, (d, CODES[a]), mem, line=line)
            else:
                if dst != a:
                    asm.emit(self.move, (d, CODES[a]), line=line)
                asm.emit(self.form132, (d, CODES[c]), mem, line=line)
            return
        mem = in_memory(asm, instr, c, instr.type)
        if mem is not None:
            if dst == b:
                a, b = b, a
            elif dst != a:
                asm.emit(self.move, (d, CODES[a]), line=line)
            asm.emit(self.form213, (d, CODES[b]), mem, line=line)
            return
        if dst == c:
            asm.emit(self.form231, (d, CODES[a], CODES[b]), line=line)
        elif dst == a:
            asm.emit(self.form213, (d, CODES[b], CODES[c]), line=line)
        elif dst == b:
            asm.emit(self.form213, (d, CODES[a], CODES[c]), line=line)
        else:
            asm.emit(self.move, (d, CODES[c]), line=line)
            asm.emit(self.form231, (d, CODES[a], CODES[b]), line=line)


class WithConstant:
    """``dst = a op constant``, the constant a bit pattern of the operation's own (sign masks and the like)."""

    __slots__ = ("element", "form", "swapped")

    def __init__(self, form: Form, element: bytes) -> None:
        self.form = form
        self.element = element

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        type_ = instr.type
        mem = constant_operand(asm, self.element, type_)
        asm.emit(self.form, (CODES[instr.dst], CODES[instr.args[0]]), mem, line=instr.line)


def constant_operand(asm: X86Assembler, element: bytes, type_: Type) -> M:
    """A vector constant with one element in every lane, as an operand of an instruction on ``type_``."""
    if type_.lanes and asm.evex and len(element) >= 4:
        return asm.constant(element, len(element), True)
    size = max(16, type_.bits * max(type_.lanes, 1) // 8)
    return asm.constant(element * (size // len(element)))


class Compare:
    """``dst = a ? b`` by an instruction with a predicate; to a mask register, or lanes of ones (AVX2, floats)."""

    __slots__ = ("form", "predicate")

    def __init__(self, form: Form, predicate: int) -> None:
        self.form = form
        self.predicate = predicate

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b = roles(instr)
        mem = in_memory(asm, instr, b, instr.type)
        d = CODES[instr.dst]
        if mem is not None:
            asm.emit(self.form, (d, CODES[a]), mem, self.predicate, line=instr.line)
        else:
            asm.emit(self.form, (d, CODES[a], CODES[b]), None, self.predicate, line=instr.line)


class CompareScalar:
    """``dst = a ? b`` of float scalars as a bool: VCMPSS gives one bit in a mask register, or all ones or zeros of which one bit is kept."""

    __slots__ = ("form", "predicate")

    def __init__(self, form: Form, predicate: int) -> None:
        self.form = form
        self.predicate = predicate

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b = roles(instr)[:2]
        t = instr.args[-1]
        line = instr.line
        mem = in_memory(asm, instr, b, instr.type)
        if mem is not None:
            asm.emit(self.form, (CODES[t], CODES[a]), mem, self.predicate, line=line)
        else:
            asm.emit(self.form, (CODES[t], CODES[a], CODES[b]), None, self.predicate, line=line)
        d = CODES[instr.dst]
        if self.form.operands[0].register == "k":
            asm.emit(lookup("KMOVW", "r32,k"), (d, CODES[t]), line=line)
        else:
            asm.emit(lookup("VMOVD", "r32,xmm"), (d, CODES[t]), line=line)
            asm.emit(lookup("AND", "r32,imm"), (d,), None, 1, line=line)


#: condition -> (exchange the operands, condition code after UCOMISS); eq and ne need the parity flag as well.
#: UCOMISS sets ZF, PF, CF to 111 for unordered, 000 greater, 001 less, 100 equal (SDM volume 2, UCOMISS).
_FLOAT_JUMPS: Final[dict[str, tuple[bool, int]]] = {
    "gt": (False, 7),  # above
    "ge": (False, 3),  # above or equal
    "lt": (True, 7),
    "le": (True, 3),
    "ngt": (False, 6),  # below or equal
    "nge": (False, 2),  # below
    "nlt": (True, 6),
    "nle": (True, 2),
}


class JumpFloat:
    """Compare float scalars and jump."""

    __slots__ = ("condition", "form")

    def __init__(self, form: Form, condition: str) -> None:
        self.form = form
        self.condition = condition

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a, b = roles(instr)
        line = instr.line
        known = _FLOAT_JUMPS.get(self.condition)
        if known is not None and known[0]:
            a, b = b, a
        mem = in_memory(asm, instr, b, instr.type)
        if mem is not None:
            asm.emit(self.form, (CODES[a],), mem, line=line)
        else:
            asm.emit(self.form, (CODES[a], CODES[b]), line=line)
        if known is not None:
            asm.jump(known[1], instr.imm, line)
        elif self.condition == "ne":
            asm.jump(10, instr.imm, line)  # parity: unordered
            asm.jump(NOT_EQUAL, instr.imm, line)
        else:
            past = asm.new_label()
            asm.jump(10, past, line)
            asm.jump(EQUAL, instr.imm, line)
            asm.label(past)


class BlendMask:
    """``dst = mask ? a : b`` with a mask register: VBLENDM takes the second source where the mask holds."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form = form

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        m, a, b = roles(instr)
        mem = in_memory(asm, instr, a, instr.type)
        d = CODES[instr.dst]
        if mem is not None:
            asm.emit(self.form, (d, CODES[b]), mem, k=CODES[m], line=instr.line)
        else:
            asm.emit(self.form, (d, CODES[b], CODES[a]), k=CODES[m], line=instr.line)


class BlendVector:
    """``dst = mask ? a : b`` with a mask of lanes of ones: VBLENDV takes the second source where the top bit is set."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form = form

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        m, a, b = roles(instr)
        mem = in_memory(asm, instr, a, instr.type)
        d = CODES[instr.dst]
        if mem is not None:
            asm.emit(self.form, (d, CODES[b], CODES[m]), mem, line=instr.line)
        else:
            asm.emit(self.form, (d, CODES[b], CODES[a], CODES[m]), line=instr.line)


class Load:
    """``dst = [address]``."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form = form

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        asm.emit(self.form, (CODES[instr.dst],), address(instr), line=instr.line)


class Store:
    """``[address] = a``, registers only."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form = form

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        asm.emit(self.form, (CODES[instr.args[0]],), address(instr), line=instr.line)


def _only_lanes(asm: X86Assembler, instr: Instr) -> int:
    """The mask of a vector with fewer lanes than a register, what lies above its lanes cleared; the last operand is scratch.

    Operations on such vectors leave anything above their lanes, in masks too, which memory accesses must not heed.
    """
    t, mask = CODES[instr.args[-1]], CODES[instr.args[0]]
    if asm.evex:
        unused = 64 - instr.type.lanes
        asm.emit(lookup("KSHIFTLQ", "k,k,imm"), (t, mask), None, unused, line=instr.line)
        asm.emit(lookup("KSHIFTRQ", "k,k,imm"), (t, t), None, unused, line=instr.line)
    else:
        # Two lanes of 32 bits: this move clears the rest.
        asm.emit(lookup("VMOVQ", "xmm,xmm"), (t, mask), line=instr.line)
    return t


def _address_before(instr: Instr, scratch: int) -> M:
    """The address of an instruction with scratch registers behind it."""
    mem = instr.mem
    assert mem is not None
    args = instr.args[: len(instr.args) - scratch]
    if mem.indexed:
        return M(CODES[args[-2]], CODES[args[-1]], mem.scale, mem.disp)
    return M(CODES[args[-1]], NO_REGISTER, 1, mem.disp)


class MaskedLoad:
    """Load under a mask register, zero elsewhere (faults are suppressed for lanes that are off: SDM volume 1, 15.6.4)."""

    __slots__ = ("few", "form")

    def __init__(self, form: Form, few: bool) -> None:
        self.form = form
        self.few = few

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        k = _only_lanes(asm, instr) if self.few else CODES[instr.args[0]]
        asm.emit(self.form, (CODES[instr.dst],), _address_before(instr, self.few), k=k, z=True, line=instr.line)


class MaskedStore:
    """Store under a mask register."""

    __slots__ = ("few", "form")

    def __init__(self, form: Form, few: bool) -> None:
        self.form = form
        self.few = few

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        k = _only_lanes(asm, instr) if self.few else CODES[instr.args[0]]
        asm.emit(self.form, (CODES[instr.args[1]],), _address_before(instr, self.few), k=k, line=instr.line)


class MoveMaskedLoad:
    """VMASKMOV/VPMASKMOV loads: the mask is the top bit of each lane of a vector."""

    __slots__ = ("few", "form")

    def __init__(self, form: Form, few: bool) -> None:
        self.form = form
        self.few = few

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        mask = _only_lanes(asm, instr) if self.few else CODES[instr.args[0]]
        asm.emit(self.form, (CODES[instr.dst], mask), _address_before(instr, self.few), line=instr.line)


class MoveMaskedStore:
    """VMASKMOV/VPMASKMOV stores."""

    __slots__ = ("few", "form")

    def __init__(self, form: Form, few: bool) -> None:
        self.form = form
        self.few = few

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        mask = _only_lanes(asm, instr) if self.few else CODES[instr.args[0]]
        asm.emit(self.form, (mask, CODES[instr.args[1]]), _address_before(instr, self.few), line=instr.line)


class Splat:
    """The scalar in every lane."""

    __slots__ = ("form", "lead", "memory")

    def __init__(self, form: Form, lead: Form | None = None, memory: Form | None = None) -> None:
        self.form = form
        self.lead = lead
        self.memory: Form = memory if memory is not None else form

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        a = roles(instr)[0]
        d = CODES[instr.dst]
        if a == MEMORY or a >= SLOT or a < 0:
            mem = in_memory(asm, instr, a, instr.type.element)
            asm.emit(self.memory, (d,), mem, line=instr.line)
        elif self.lead is not None:
            # AVX2 repeats only what is in a vector register.
            asm.emit(self.lead, (d, CODES[a]), line=instr.line)
            asm.emit(self.form, (d, d), line=instr.line)
        else:
            asm.emit(self.form, (d, CODES[a]), line=instr.line)


class Iota:
    """0, 1, 2, … from the constant pool."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form = form

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        asm.emit(self.form, (CODES[instr.dst],), asm.constant(iota_bytes(instr.type)), line=instr.line)


def iota_bytes(type_: Type) -> bytes:
    """The bytes of 0, 1, 2, … in the elements of a vector type."""
    import numpy as np

    return np.arange(type_.lanes, dtype=type_.element.dtype).tobytes()


class Reduce:
    """Halving: the upper half meets the lower until one lane is left.

    ``step`` is the operation's form by register width; ``swapped`` for VMIN/VMAX, whose second source wins ties and NaN.
    ``combine`` emits a step of several instructions instead, with the last two operands as scratch.
    """

    __slots__ = ("combine", "steps", "swapped", "to_int")

    def __init__(self, steps: dict[str, Form], swapped: bool, to_int: Form | None, combine: Callable[..., None] | None = None) -> None:
        self.steps = steps
        self.swapped = swapped
        self.to_int = to_int
        self.combine = combine

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        type_ = instr.type
        line = instr.line
        source = CODES[instr.args[0]]
        upper = CODES[instr.args[1]]
        total = CODES[instr.args[2]] if self.to_int is not None else CODES[instr.dst]
        bits = type_.bits * type_.lanes
        while bits > type_.bits:
            bits //= 2
            if bits == 256:
                asm.emit(lookup("VEXTRACTF64X4", "ymm,zmm,imm"), (upper, source), None, 1, line=line)
            elif bits == 128:
                asm.emit(lookup("VEXTRACTF128", "xmm,ymm,imm"), (upper, source), None, 1, line=line)
            else:
                # VPSRLDQ counts bytes.
                asm.emit(lookup("VPSRLDQ", "xmm,xmm,imm"), (upper, source), None, bits // 8, line=line)
            shape = "ymm" if bits == 256 else "xmm"
            if self.combine is not None:
                self.combine(asm, shape, total, source, upper, CODES[instr.args[3]], CODES[instr.args[4]], line)
                source = total
                continue
            step = self.steps[shape]
            if self.swapped:
                asm.emit(step, (total, upper, source), line=line)
            else:
                asm.emit(step, (total, source, upper), line=line)
            source = total
        if self.to_int is not None:
            d = CODES[instr.dst]
            asm.emit(self.to_int, (d, source), line=line)
            if type_.bits < 32:
                # The other lanes came along.
                asm.emit(extension(type_), (d, d), line=line)
