"""Latency and throughput of instructions on the machine at hand, measured with generated loops.

Each sample is one function of our own assembler: a chain of dependent additions, the instructions in question, the chain again,
with the time stamp counter read in between (Intel SDM volume 2, RDTSC: fenced by LFENCE). An addition of two registers takes
one cycle on every x86 processor, so the chain's ticks a step are the ticks of one core cycle at the clock of that very moment;
nothing has to be known of the counter's or the core's frequency. A sample whose two chains disagree, or are longer than
another's, was disturbed and is thrown away; of the rest the least counts.

* Throughput: copies that do not depend on each other, in turn over as many registers as there are.
* Latency: a chain in which each instruction reads what the one before wrote. Where source and result are in different
  classes of registers, an instruction that brings the value back closes the chain; the figure is that of the round trip.
"""

from __future__ import annotations

import ctypes
import platform
from typing import Any, Final

from loopwright.compiler import Compiled
from loopwright.errors import CpuError, TargetError
from loopwright.targets.x86.assembler import ALIGN, JUMP, LABEL, NO_REGISTER, NOT_EQUAL, Assembler, Form, M, lookup
from loopwright.targets.x86.encoder import EVEX, VEX
from loopwright.targets.x86.timing import MEMORY, REGISTERS_ONLY, Microarchitecture, get, timing_of

__all__ = ["Case", "Comparison", "Measured", "Meter", "cases", "compare", "count_blocks", "kernel_cycles", "timing_command"]

_RDX, _RSP, _RSI, _RDI = 2, 4, 6, 7
#: Registers the loops may write: all but rsp, rsi (buffer), rdi (counter), rdx (zero, for the chain).
_INTS: Final = (0, 1, 3, 5, 8, 9, 10, 11, 12, 13)
#: Never written by the loops, to be sources that depend on nothing.
_SOURCES: Final[dict[str, tuple[int, int]]] = {"g": (14, 15), "v": (14, 15), "k": (6, 7)}
_INT_SOURCE: Final = 15
_MASK_SOURCE: Final = 7
_DIVISIONS: Final = ("div", "idiv")
_SAVED: Final = (3, 5, 12, 13, 14, 15)
#: Bytes of the buffer, and where in it loads and stores go; the time stamps lie in front.
_BUFFER: Final = 8192
_DATA: Final = 1024
#: Cycles of the chain that the clock is taken from, and its additions in one pass of its loop.
_CHAIN: Final = 6400
_CHAIN_UNROLL: Final = 64
#: Copies of an instruction in one pass of a loop, for throughput and for latency.
_COPIES: Final = 96
_CHAINED: Final = 48


class Case:
    """An instruction to be measured.

    Attributes:
        form: its row.
        memory: the operand that may be in memory is.
        masked: a writemask with all lanes on is given.
        imm: immediate, where there is one.
    """

    __slots__ = ("form", "imm", "masked", "memory")

    def __init__(self, form: Form, memory: bool = False, masked: bool = False, imm: int = 1) -> None:
        self.form = form
        self.memory = memory
        self.masked = masked
        self.imm = imm

    def __repr__(self) -> str:
        words = []
        for operand in self.form.operands:
            if operand.immediate:
                word = "imm"
            elif operand.place == "M" and (self.memory or not operand.register):
                word = f"m{operand.memory}" if operand.memory > 0 else "m"
            else:
                word = operand.register or operand.fixed
            words.append(word + ("{k}" if self.masked and operand.masked else ""))
        return f"{self.form.mnemonic} {', '.join(words)}".rstrip()


class Measured:
    """What was found for one instruction, in core cycles; None where it could not be measured.

    Attributes:
        throughput: cycles an instruction, when nothing else is going on.
        latency: cycles from a source to the result; of the round trip, when ``through`` names the instruction that closes the chain.
        through: that instruction, or "".
    """

    __slots__ = ("latency", "through", "throughput")

    def __init__(self, throughput: float | None, latency: float | None, through: str = "") -> None:
        self.throughput = throughput
        self.latency = latency
        self.through = through


def _class(register: str) -> str:
    return "" if not register else "v" if register[1:] == "mm" else "k" if register == "k" else "g"


#: By (class of the result, class of the source): what takes a result back to where the source was.
_BACK: Final[dict[tuple[str, str], tuple[str, str, int]]] = {
    ("g", "v"): ("VMOVD", "xmm,r32", 0),
    ("v", "g"): ("VMOVD", "r32,xmm", 0),
    ("k", "g"): ("KMOVD", "r32,k", 0),
    ("g", "k"): ("KMOVD", "k,r32", 0),
    ("k", "v"): ("VPMOVM2D", "zmm,k", 0),
    ("v", "k"): ("VPMOVD2M", "k,zmm", 0),
}


def _emit(asm: Assembler, case: Case, register: Any, n: int, source: int = -1, source_place: int = -1, base: int = _RSI) -> None:
    """One copy: results in ``register(class, place)``, sources in the registers kept for it, but ``source`` at ``source_place``."""
    form = case.form
    ops: list[int] = []
    mem: M | None = None
    for place in range(len(form.operands)):
        operand = form.operands[place]
        if operand.immediate or operand.fixed:
            continue
        if case.memory and operand.place == "M":
            # One behind the other, as a loop over an array goes.
            size = (operand.memory if operand.memory > 0 else 512) // 8
            mem = M(base, NO_REGISTER, 1, _DATA + size * n % 4096)
            continue
        if not operand.register and operand.memory:
            mem = M(_INT_SOURCE, NO_REGISTER, 1, 8)
            continue
        cls = _class(operand.register)
        if place == source_place:
            ops.append(source)
        elif operand.role == "r":
            # Two sources are never the same register: some instructions then need no execution at all.
            ops.append(_SOURCES[cls][len(ops) % 2])
        else:
            ops.append(register(cls, place))
    zeroing = case.masked and form.zeroing and not (case.memory and form.operands[0].place == "M")
    asm.emit(form, tuple(ops), mem, case.imm, _MASK_SOURCE if case.masked else 0, zeroing)


class Meter:
    """Measures sequences of instructions in core cycles.

    Args:
        rounds: samples of each sequence.
        ticks: length of a sample, roughly, in core cycles.

    Raises:
        CpuError: this is no x86-64 processor.
    """

    def __init__(self, rounds: int = 25, ticks: int = 12000) -> None:
        if platform.machine() not in ("x86_64", "AMD64"):
            raise CpuError("instructions are measured on an x86-64 processor")
        from loopwright.runtime import cpu

        self.rounds = rounds
        self.ticks = ticks
        self.features = cpu.host_features()
        self.wide = "avx512f" in self.features
        self._buffer = ctypes.create_string_buffer(_BUFFER + 64)
        self.base = -(-ctypes.addressof(self._buffer) // 64) * 64
        self._fill()

    def _fill(self) -> None:
        """1.0 in f32 everywhere: a normal number in f64 too, and no denormals left over from what was stored last."""
        ctypes.memmove(self.base, b"\x00\x00\x80\x3f" * (_BUFFER // 4), _BUFFER)

    # --- a sample ---------------------------------------------------------------------------------------------

    def cycles(self, body: Assembler, repetitions: int, rounds: int = 0) -> float:
        """Core cycles of one run of ``body``, of which ``repetitions`` runs follow each other; the least of several samples.

        The body may write every register but rsp, rsi (the buffer) and rdi; rdx must stay 0. It ends by itself: no loop is made of it here.
        """
        from loopwright.runtime import memory

        code = self._around(body, repetitions)
        block = memory.allocate(code.data, 64)
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(block.address)
        stamps = (ctypes.c_uint64 * 5).from_address(self.base)
        samples: list[tuple[int, int, int, int]] = []
        for _ in range(rounds or self.rounds):
            run(self.base)
            samples.append((stamps[1] - stamps[0], stamps[2] - stamps[1], stamps[3] - stamps[2], stamps[4] - stamps[3]))
        block.free()
        empty = min(sample[0] for sample in samples)
        # Whatever else runs can only add: to a chain, which makes a cycle too long and the figure too small, as well as to what is measured.
        least = min(min(before, after) for _, before, _, after in samples) - empty
        best = float("inf")
        for _, before, middle, after in samples:
            chain = (before + after) / 2 - empty
            # Chains within 1 % of each other saw the same clock and no interruption; the least one tells what that clock is.
            if abs(before - after) <= 0.01 * chain and chain <= 1.01 * least:
                best = min(best, (middle - empty) / chain)
        if best == float("inf"):
            best = (min(sample[2] for sample in samples) - empty) / least
        return best * _CHAIN / repetitions

    def _around(self, body: Assembler, repetitions: int) -> Any:
        asm = Assembler()
        for r in _SAVED:
            asm.emit(lookup("PUSH", "r64"), (r,))
        asm.emit(lookup("MOV", "r64,r64"), (_RSI, _RDI))
        asm.emit(lookup("XOR", "r32,r32"), (_RDX, _RDX))
        for r in (*_INTS, *_SOURCES["g"]):
            asm.emit(lookup("MOV", "r32,imm32"), (r,), None, 1)
        if "avx" in self.features:
            for r in range(32 if self.wide else 16):
                shape = "zmm" if self.wide else "ymm"
                asm.emit(lookup("VBROADCASTSS", f"{shape},m32"), (r,), M(_RSI, NO_REGISTER, 1, 64))
        if self.wide:
            for r in range(8):
                asm.emit(lookup("KXNORQ" if "avx512bw" in self.features else "KXNORW", "k,k,k"), (r, r, r))
        stamp = 0
        label = 1
        # A first, unmeasured pass warms caches, predictors and the wide vector units.
        for part in ("chain", "body", "stamp", "stamp", "chain", "stamp", "body", "stamp", "chain", "stamp"):
            if part == "stamp":
                self._stamp(asm, stamp)
                stamp += 1
                continue
            asm.emit(lookup("MOV", "r32,imm32"), (_RDI,), None, repetitions if part == "body" else _CHAIN // _CHAIN_UNROLL)
            asm.align(64)
            asm.label(label)
            if part == "body":
                for form, ops, mem, imm, k, z, line in body.items:
                    # The body stands there twice, so its labels need other numbers the second time.
                    asm.items.append((form, ops, mem, imm + (label << 16) if form.kind in (LABEL, JUMP) else imm, k, z, line))
            else:
                for _ in range(_CHAIN_UNROLL):
                    asm.emit(lookup("ADD", "r64,r64"), (0, _RDX))
            asm.emit(lookup("SUB", "r64,imm"), (_RDI,), None, 1)
            asm.jump(NOT_EQUAL, label)
            label += 1
        if "avx" in self.features:
            asm.emit(lookup("VZEROUPPER"))
        for r in reversed(_SAVED):
            asm.emit(lookup("POP", "r64"), (r,))
        asm.emit(lookup("RET"))
        return asm.encode()

    def _stamp(self, asm: Assembler, number: int) -> None:
        asm.emit(lookup("LFENCE"))
        asm.emit(lookup("RDTSC"))
        asm.emit(lookup("SHL", "r64,imm"), (_RDX,), None, 32)
        asm.emit(lookup("OR", "r64,r64"), (0, _RDX))
        asm.emit(lookup("MOV", "m64,r64"), (0,), M(_RSI, NO_REGISTER, 1, 8 * number))
        asm.emit(lookup("XOR", "r32,r32"), (_RDX, _RDX))
        asm.emit(lookup("MOV", "r32,imm32"), (0,), None, 1)
        asm.emit(lookup("LFENCE"))

    # --- one instruction --------------------------------------------------------------------------------------

    def measure(self, case: Case) -> Measured:
        """Throughput and latency of an instruction. Raises ``CpuError`` when this processor lacks it."""
        lacking = [feature for feature in case.form.features if feature not in self.features]
        if lacking:
            raise CpuError(f"{case} needs {', '.join(lacking)}, which this CPU does not have")
        throughput = self._throughput(case)
        latency, through = self._latency(case)
        return Measured(throughput, latency, through)

    def _throughput(self, case: Case) -> float | None:
        asm = Assembler()
        if case.form.mnemonic in _DIVISIONS:
            for _ in range(16):
                asm.emit(lookup("MOV", "r32,imm32"), (0,), None, 0x12345678)
                self._divide(asm, case)
            return self._per(asm, 16)
        count = _COPIES
        pools = {"v": [r for r in range(32 if self._evex(case) else 16) if r not in _SOURCES["v"]], "g": list(_INTS), "k": [1, 2, 3, 4, 5]}
        for n in range(count):
            _emit(asm, case, lambda cls, place, n=n: pools[cls][n % len(pools[cls])], n)
        return self._per(asm, count)

    def _per(self, asm: Assembler, count: int) -> float:
        """Cycles of each of the ``count`` things that ``asm`` does."""
        self._fill()
        once = self.cycles(asm, max(1, 2000 // max(1, count)), 3)
        repetitions = max(2, int(self.ticks / max(once, 1.0)))
        self._fill()
        return self.cycles(asm, repetitions) / count

    def _evex(self, case: Case) -> bool:
        return self.wide and (case.form.kind == EVEX or (case.form.kind == VEX and case.form.evex() is not None))

    def _divide(self, asm: Assembler, case: Case) -> None:
        wide = case.form.rex != 0
        if case.form.mnemonic == "idiv":
            asm.emit(lookup("CQO" if wide else "CDQ"))
        else:
            asm.emit(lookup("XOR", "r32,r32"), (_RDX, _RDX))
        if case.memory:
            asm.emit(case.form, (), M(_RSI, NO_REGISTER, 1, 64))
        else:
            asm.emit(case.form, (_INT_SOURCE,))

    def _latency(self, case: Case) -> tuple[float | None, str]:
        form = case.form
        if case.memory:
            return None, ""
        if form.mnemonic in _DIVISIONS:
            asm = Assembler()
            for _ in range(16):
                self._divide(asm, case)
            return self._per(asm, 16), "cdq" if form.mnemonic == "idiv" else ""
        result = -1
        source = -1
        for place in range(len(form.operands)):
            operand = form.operands[place]
            if not operand.register or operand.fixed:
                continue
            if "w" in operand.role or "x" in operand.role:
                if result < 0:
                    result = place
            elif source < 0 or (_class(operand.register) == "g" and _class(form.operands[source].register) == "v"):
                # The integer of what converts or inserts one into a vector.
                source = place
        if result < 0:
            return None, ""
        made = _class(form.operands[result].register)
        asm = Assembler()
        if form.operands[result].role == "x" or source < 0:
            if source < 0 and form.operands[result].role != "x":
                return None, ""
            for _ in range(_CHAINED):
                _emit(asm, case, lambda cls, place: 3 if cls != "k" else 1, 0)
            return self._per(asm, _CHAINED), ""
        wanted = _class(form.operands[source].register)
        if made == wanted:
            for _ in range(_CHAINED):
                _emit(asm, case, lambda cls, place: 3 if cls != "k" else 1, 0, 3 if made != "k" else 1, source)
            return self._per(asm, _CHAINED), ""
        mnemonic, shape, imm = _BACK[(made, wanted)]
        back = lookup(mnemonic, shape)
        if any(feature not in self.features for feature in back.features):
            return None, ""
        code = {"v": 3, "g": 3, "k": 1}
        for _ in range(_CHAINED):
            _emit(asm, case, lambda cls, place: code[cls], 0, code[wanted], source)
            asm.emit(back, (code[wanted], code[made]), None, imm)
        return self._per(asm, _CHAINED), f"{mnemonic.lower()} {shape}"


# --- what the compiler uses -----------------------------------------------------------------------------------

#: Mnemonics | shapes they are measured in. A shape that a mnemonic does not have, or that this CPU lacks, is left out.
FORMS: Final = """
ADD SUB AND OR XOR | r32,r32; r64,r64; r64,imm; r64,m64; m64,r64
NEG NOT | r64
IMUL | r32,r32; r64,r64; r64,m64; r64,r64,imm
IDIV DIV | r32; r64
SHL SAR SHR | r32,imm; r64,imm
SHLX SARX SHRX BZHI ANDN | r64,r64,r64
TZCNT BLSR POPCNT | r64,r64
LEA | r64,m
CMP | r64,r64; r64,imm; r64,m64
TEST | r64,r64
CMOVL CMOVE CMOVA | r64,r64
SETL SETA | r8
CDQ CQO VZEROUPPER |
MOV | r32,r32; r64,r64; r32,imm32; r64,m64; r32,m32; m64,r64; m32,r32; m8,r8
MOVABS | r64,imm64
MOVZX MOVSX | r32,r8; r32,m8; r32,m16
MOVSXD | r64,r32; r64,m32
VMOVAPS | xmm,xmm; ymm,ymm; zmm,zmm
VMOVUPS VMOVDQU | xmm,m; ymm,m; zmm,m; m,xmm; m,ymm; m,zmm
VMOVUPS VMOVDQU8 VMOVDQU32 | zmm{k},m; m{k},zmm; ymm{k},m; m{k},ymm
VMOVSS | xmm,m32; m32,xmm
VMOVSD | xmm,m64; m64,xmm
VMASKMOVPS VPMASKMOVD VMASKMOVPD | ymm,ymm,m; m,ymm,ymm; m,xmm,xmm
VMOVD | xmm,r32; r32,xmm
VMOVQ | xmm,r64; r64,xmm
VBROADCASTSS | xmm,m32; ymm,m32; zmm,m32; xmm,xmm; ymm,xmm; zmm,xmm
VBROADCASTSD | ymm,m64; zmm,m64; ymm,xmm
VPBROADCASTB | ymm,m8; zmm,m8; ymm,xmm
VPBROADCASTD | ymm,m32; zmm,m32; ymm,r32; zmm,r32
VADDPS VMULPS VADDPD VMULPD VMAXPS VMAXPD | xmm,xmm,xmm; ymm,ymm,ymm; zmm,zmm,zmm; ymm,ymm,m; zmm,zmm,m
VSUBPS VMINPS | ymm,ymm,ymm; zmm,zmm,zmm
VADDSS VMULSS VMAXSS VADDSD VMULSD | xmm,xmm,xmm; xmm,xmm,m
VFMADD213PS VFMADD231PD | xmm,xmm,xmm; ymm,ymm,ymm; zmm,zmm,zmm; ymm,ymm,m; zmm,zmm,m
VFMADD213SS VFMADD213SD | xmm,xmm,xmm
VDIVPS VDIVPD | xmm,xmm,xmm; ymm,ymm,ymm; zmm,zmm,zmm; ymm,ymm,m
VDIVSS VDIVSD | xmm,xmm,xmm
VSQRTPS VSQRTPD | xmm,xmm; ymm,ymm; zmm,zmm
VSQRTSS VSQRTSD | xmm,xmm,xmm
VROUNDPS | ymm,ymm,imm
VRNDSCALEPS | ymm,ymm,imm; zmm,zmm,imm
VANDPS VXORPS | ymm,ymm,ymm; zmm,zmm,zmm
VPAND VPXOR | ymm,ymm,ymm
VPANDD VPXORQ | zmm,zmm,zmm
VCMPPS VCMPPD | vex:ymm,ymm,ymm,imm; k,xmm,xmm,imm; k,ymm,ymm,imm; k,zmm,zmm,imm
VPCMPD VPCMPUB VPCMPQ | k,ymm,ymm,imm; k,zmm,zmm,imm
VPCMPEQB VPCMPEQD VPCMPEQQ VPCMPGTD VPCMPGTQ | vex:ymm,ymm,ymm
VUCOMISS VUCOMISD | xmm,xmm
VBLENDVPS VPBLENDVB | ymm,ymm,ymm,ymm
VBLENDMPS VPBLENDMB | ymm{k},ymm,ymm; zmm{k},zmm,zmm
VPADDB VPADDD VPADDQ VPSUBD VPMAXUB VPMAXSD VPMINUD VPMAXSQ | ymm,ymm,ymm; zmm,zmm,zmm; zmm,zmm,m
VPABSD | ymm,ymm; zmm,zmm
VPMULLW VPMULLD VPMULLQ VPMULUDQ | ymm,ymm,ymm; zmm,zmm,zmm
VPSLLD VPSRLQ VPSRAD | ymm,ymm,imm; zmm,zmm,imm
VPSLLVD VPSRLVQ | ymm,ymm,ymm; zmm,zmm,zmm
VPSLLDQ VPSRLDQ | xmm,xmm,imm
VPSHUFB | xmm,xmm,xmm; ymm,ymm,ymm; zmm,zmm,zmm
VSHUFPS | xmm,xmm,xmm,imm; ymm,ymm,ymm,imm
VUNPCKHPD | xmm,xmm,xmm
VPERM2I128 | ymm,ymm,ymm,imm
VALIGND VALIGNQ | xmm,xmm,xmm,imm; ymm,ymm,ymm,imm; zmm,zmm,zmm,imm
VPALIGNR | ymm,ymm,ymm,imm; zmm,zmm,zmm,imm
VEXTRACTF128 VEXTRACTI128 | xmm,ymm,imm
VEXTRACTF64X4 | ymm,zmm,imm
VINSERTI128 | ymm,ymm,xmm,imm
VPMOVZXBD VPMOVSXWD VPMOVSXDQ VPMOVZXBW | ymm,xmm; zmm,ymm; zmm,xmm; ymm,m; zmm,m
VPMOVDB | xmm,zmm; xmm,ymm
VPMOVQD | xmm,ymm; ymm,zmm
VPMOVWB | ymm,zmm
VCVTDQ2PS VCVTTPS2DQ | ymm,ymm; zmm,zmm; ymm,m
VCVTDQ2PD VCVTPS2PD | ymm,xmm; zmm,ymm; ymm,m
VCVTPD2PS VCVTTPD2DQ | xmm,ymm; ymm,zmm
VCVTQQ2PD VCVTTPD2QQ | ymm,ymm; zmm,zmm
VCVTSI2SS VCVTSI2SD | xmm,xmm,r64
VCVTTSS2SI VCVTTSD2SI | r64,xmm; r32,xmm
VCVTSS2SD VCVTSD2SS | xmm,xmm,xmm
VMOVMSKPS VPMOVMSKB | r32,xmm; r32,ymm
KANDQ KORQ KXORQ KANDNQ | k,k,k
KNOTQ | k,k
KMOVQ | k,k; k,r64; r64,k; k,m64; m64,k
KMOVD | k,r32; r32,k
"""


def cases() -> list[Case]:
    """The instructions that code of this compiler is made of, in the forms that matter to their timing."""
    found: list[Case] = []
    for text in FORMS.strip().split("\n"):
        names, _, shapes = text.partition("|")
        for name in names.split():
            for shape in shapes.split(";"):
                shape = shape.strip()
                try:
                    form = lookup(name, shape)
                except KeyError:
                    continue
                words = shape.partition(":")[2] or shape
                found.append(Case(form, any(word.strip()[:1] == "m" for word in words.split(",")), "{k}" in shape))
    return found


class Comparison:
    """One instruction: what the tables say, and what was measured.

    Attributes:
        case: the instruction.
        throughput, latency: by the tables; the latency with the instruction that closes the chain.
        measured: on this machine.
        differs: which of the two ("throughput", "latency") are not what the tables say.
        others: (latency, throughput) by other tables' names, where they know the instruction.
    """

    __slots__ = ("case", "differs", "latency", "measured", "others", "throughput")

    def __init__(self, case: Case, throughput: float, latency: float, measured: Measured) -> None:
        self.case = case
        self.throughput = throughput
        self.latency = latency
        self.measured = measured
        self.others: dict[str, tuple[float, float]] = {}
        self.differs: list[str] = []
        if measured.throughput is not None and _apart(throughput, measured.throughput):
            self.differs.append("throughput")
        if measured.latency is not None and _apart(latency, measured.latency):
            self.differs.append("latency")


def _apart(told: float, found: float) -> bool:
    return abs(told - found) > 0.1 + 0.08 * max(told, found)


def expected(machine: Microarchitecture, case: Case, through: str = "") -> tuple[float, float]:
    """(throughput, latency) of a measurement, by the tables."""
    timing = timing_of(machine, case.form, MEMORY if case.memory or case.form.mnemonic == "lea" else REGISTERS_ONLY)
    latency = timing.latency
    if case.form.mnemonic in _DIVISIONS:
        latency += 1.0 if through else 0.0
    elif through:
        mnemonic, shape = next(
            (mnemonic, shape) for mnemonic, shape, _ in _BACK.values() if mnemonic.lower() == through.split()[0] and shape == through.split()[1]
        )
        latency += timing_of(machine, lookup(mnemonic, shape), REGISTERS_ONLY).latency
    elif latency == 0.0:
        # A renamed move costs its place in the dispatch group, no more.
        latency = timing.slots / machine.width
    return timing.throughput, latency


def compare(machine: Microarchitecture, meter: Meter | None = None, chosen: list[Case] | None = None) -> list[Comparison]:
    """Measure instructions on this CPU and hold them against a microarchitecture's tables; what this CPU lacks is left out."""
    meter = meter or Meter()
    found: list[Comparison] = []
    for case in chosen if chosen is not None else cases():
        try:
            measured = meter.measure(case)
        except CpuError:
            continue
        throughput, latency = expected(machine, case, measured.through)
        found.append(Comparison(case, throughput, latency, measured))
    return found


# --- whole functions ------------------------------------------------------------------------------------------

_INT_ARGUMENTS: Final = (7, 6, 2, 1, 8, 9)
_R11: Final = 11


def kernel_cycles(compiled: Compiled, words: list[int], meter: Meter | None = None, rounds: int = 0, before: list[tuple[int, int, int]] | None = None) -> float:
    """Core cycles of one call of a compiled function, the call itself taken off.

    Calls follow each other, as in a program that calls in a loop, so caches and branch predictors are as warm as they get.

    Args:
        compiled: for System V, for features this CPU has; without calls to other compiled functions.
        words: arguments by the native convention, integers and pointers only (each array as base, extents, outer strides).
        meter: to be used; None makes one.
        rounds: samples; 0 for the meter's own number.
        before: (destination, source, bytes) of what is copied before each call, e.g. to have something to sort; counted in.
    """
    from loopwright.runtime import memory

    meter = meter or Meter()
    _must_run(compiled, meter)
    block = memory.allocate(compiled.machine.data, compiled.machine.align)
    return address_cycles(block.address, words, meter, rounds, before)


def address_cycles(address: int, words: list[int], meter: Meter, rounds: int = 0, before: list[tuple[int, int, int]] | None = None) -> float:
    """``kernel_cycles`` for a function that is in memory already, whoever compiled it."""
    from loopwright.runtime import memory

    nothing = memory.allocate(b"\xc3", 64)
    with_call = _call_cycles(meter, address, words, rounds, before)
    without = _call_cycles(meter, nothing.address, words, rounds, before)
    return with_call - without


def _must_run(compiled: Compiled, meter: Meter) -> None:
    lacking = sorted(compiled.target.features - meter.features)
    if lacking:
        raise CpuError(f"the code needs {', '.join(lacking)}, which this CPU does not have")
    if compiled.machine.relocations:
        raise TargetError("code that calls other functions cannot be measured by itself")


def _call_cycles(meter: Meter, address: int, words: list[int], rounds: int, before: list[tuple[int, int, int]] | None) -> float:
    asm = Assembler()
    asm.emit(lookup("PUSH", "r64"), (_RSI,))
    asm.emit(lookup("PUSH", "r64"), (_RDI,))
    for destination, source, size in before or []:
        asm.emit(lookup("MOVABS", "r64,imm64"), (0,), None, source)
        asm.emit(lookup("MOVABS", "r64,imm64"), (1,), None, destination)
        for offset in range(0, size, 32):
            asm.emit(lookup("VMOVDQU", "ymm,m"), (0,), M(0, NO_REGISTER, 1, offset))
            asm.emit(lookup("VMOVDQU", "m,ymm"), (0,), M(1, NO_REGISTER, 1, offset))
    on_stack = words[6:]
    # The stack pointer is a multiple of 16 at the call: so far there are a return address and eight pushes.
    room = 8 * len(on_stack) + (8 if len(on_stack) % 2 == 0 else 0)
    asm.emit(lookup("SUB", "r64,imm"), (_RSP,), None, room)
    for n in range(len(on_stack)):
        asm.emit(lookup("MOVABS", "r64,imm64"), (0,), None, on_stack[n])
        asm.emit(lookup("MOV", "m64,r64"), (0,), M(_RSP, NO_REGISTER, 1, 8 * n))
    for register, word in zip(_INT_ARGUMENTS, words, strict=False):
        asm.emit(lookup("MOVABS", "r64,imm64"), (register,), None, word)
    asm.emit(lookup("MOVABS", "r64,imm64"), (_R11,), None, address)
    asm.emit(lookup("CALL", "r64"), (_R11,))
    asm.emit(lookup("ADD", "r64,imm"), (_RSP,), None, room)
    asm.emit(lookup("POP", "r64"), (_RDI,))
    asm.emit(lookup("POP", "r64"), (_RSI,))
    asm.emit(lookup("XOR", "r32,r32"), (_RDX, _RDX))
    once = meter.cycles(asm, 3, 3)
    return meter.cycles(asm, max(3, int(meter.ticks / max(once, 1.0))), rounds)


def count_blocks(compiled: Compiled, words: list[int]) -> list[float]:
    """How often each basic block (``perfscore.blocks_of``) runs in one call with the given arguments: the ``counts`` of ``perf_score``.

    The function is assembled once more, with an increment of a counter at the start of every block.

    Args:
        compiled, words: as for ``kernel_cycles``.
    """
    from loopwright.costs.perfscore import blocks_of
    from loopwright.runtime import memory

    meter = Meter()
    _must_run(compiled, meter)
    f = compiled.function
    asm = compiled.target.assembler(f)
    for instr in f.code:
        instr.rule.emit(asm, f, instr)
    asm.settle()
    items = asm.items
    blocks = blocks_of(items)
    counters = (ctypes.c_uint64 * len(blocks))()
    made: list[Any] = []
    for n in range(len(blocks)):
        block = blocks[n]
        at = block.first
        while at < block.last and items[at][0].kind in (LABEL, ALIGN):
            made.append(items[at])
            at += 1
        asm.items = made
        # Beyond the red zone, and with the flags as they were: a block may begin between a comparison and its second jump.
        asm.emit(lookup("LEA", "r64,m"), (_RSP,), M(_RSP, NO_REGISTER, 1, -256))
        asm.emit(lookup("PUSH", "r64"), (0,))
        asm.emit(lookup("PUSHFQ"))
        asm.emit(lookup("MOVABS", "r64,imm64"), (0,), None, ctypes.addressof(counters) + 8 * n)
        asm.emit(lookup("ADD", "m64,imm"), (), M(0), 1)
        asm.emit(lookup("POPFQ"))
        asm.emit(lookup("POP", "r64"), (0,))
        asm.emit(lookup("LEA", "r64,m"), (_RSP,), M(_RSP, NO_REGISTER, 1, 256))
        made.extend(items[at : block.last])
    asm.items = made
    machine = asm.encode()
    block_of_code = memory.allocate(machine.data, machine.align)
    ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * len(words))(block_of_code.address)(*words)
    return [float(n) for n in counters]


# --- other tables ---------------------------------------------------------------------------------------------

#: What LLVM calls the processors of our tables; the second where an older LLVM lacks the first.
_LLVM_NAMES: Final[dict[str, tuple[str, ...]]] = {"znver4": ("znver4", "znver3"), "skylake-avx512": ("skylake-avx512",), "x86-64-v3": ("haswell",)}
_WITHOUT_AVX512: Final = ("znver3", "haswell")


def llvm_figures(machine: Microarchitecture, chosen: list[Case]) -> tuple[str, list[tuple[float, float] | None]]:
    """LLVM's (latency, throughput) of instructions, from ``llvm-mca`` if that is installed, and the processor it was asked about.

    Raises:
        TargetError: there is no llvm-mca.
    """
    import re
    import shutil
    import subprocess

    if shutil.which("llvm-mca") is None:
        raise TargetError("llvm-mca is not installed: it comes with LLVM")

    def ask(processor: str, lines: list[str]) -> subprocess.CompletedProcess[str]:
        command = ["llvm-mca", f"-mcpu={processor}", "-mtriple=x86_64", "-instruction-info", "-resource-pressure=0", "-summary-view=0"]
        return subprocess.run(command, input="\n".join([".intel_syntax noprefix", *lines]) + "\n", capture_output=True, text=True, check=False)

    texts = [_text(case) for case in chosen]
    processor = ""
    for name in _LLVM_NAMES[machine.name]:
        done = ask(name, ["ret"])
        if not done.returncode and "not a recognized processor" not in done.stderr:
            processor = name
            break
    if not processor:
        raise TargetError(f"this llvm-mca does not know {machine.title}")
    # What this LLVM or this processor does not know ends the whole run, so such lines are taken out.
    bad = {n for n in range(len(chosen)) if processor in _WITHOUT_AVX512 and any(feature.startswith("avx512") for feature in chosen[n].form.features)}
    while True:
        kept = [n for n in range(len(texts)) if n not in bad]
        done = ask(processor, [texts[n] for n in kept])
        wrong = {kept[int(line) - 2] for line in re.findall(r"^<stdin>:(\d+):\d+: error", done.stderr, re.MULTILINE) if int(line) - 2 < len(kept)}
        if not wrong:
            break
        bad |= wrong
    if done.returncode:
        raise TargetError(f"llvm-mca failed: {done.stderr.strip()[:300]}")
    figures: list[tuple[float, float] | None] = [None] * len(chosen)
    # " 1      4     1.00           *            vmovups ...": micro-operations, latency, throughput.
    rows = re.findall(r"^ +\d+ +(\d+) +(\d+\.\d+) ", done.stdout, re.MULTILINE)
    for n, (latency, throughput) in zip(kept, rows, strict=False):
        figures[n] = (float(latency), float(throughput))
    return processor, figures


def _text(case: Case) -> str:
    from loopwright.targets.x86.assembler import text

    asm = Assembler()
    _emit(asm, case, lambda cls, place: 1, 0)
    form, ops, mem, imm, k, z, _ = asm.items[0]
    return text(form, ops, mem, imm, k, z)


# --- the command ----------------------------------------------------------------------------------------------


def timing_command(args: Any) -> int:
    """``loopwright timing [--measure] [--llvm] [--all] [--microarchitecture NAME]``: what instructions cost.

    Args:
        args: with attributes ``measure``, ``llvm``, ``all`` (bool), ``microarchitecture`` (a name or None) and ``rounds`` (int).
    """
    machine = get(args.microarchitecture or "znver4")
    chosen = cases()
    others: list[tuple[float, float] | None] = [None] * len(chosen)
    processor = ""
    if args.llvm:
        processor, others = llvm_figures(machine, chosen)
    if not args.measure:
        print(f"{machine.title} ({machine.name}), from the tables; --measure holds them against this CPU\n")
        print(f"{'instruction':36} {'cycles each':>11} {'latency':>8} {'slots':>6}  ports" + (f"   LLVM's {processor}" if processor else ""))
        for n in range(len(chosen)):
            case = chosen[n]
            timing = timing_of(machine, case.form, MEMORY if case.memory or case.form.mnemonic == "lea" else REGISTERS_ONLY)
            latency = f"{timing.latency:g}" + (f"+{timing.load:g}" if timing.reads else "")
            ports = " + ".join(_ports(machine, mask, cycles) for mask, cycles in timing.ports) or "-"
            other = others[n]
            print(f"{case!r:36} {timing.throughput:11.2f} {latency:>8} {timing.slots:6g}  {ports}" + (f"   [{other[1]:g}, {other[0]:g}]" if other else ""))
        return 0
    meter = Meter(rounds=args.rounds)
    figures = compare(machine, meter, chosen)
    by_case = {id(chosen[n]): others[n] for n in range(len(chosen))}
    print(f"This CPU, held against the tables of {machine.title} ({machine.name})" + (f" and of LLVM's {processor}" if processor else ""))
    print("in core cycles; <- marks where the measurement is not what the tables say\n")
    head = f"{'instruction':36} {'cycles each: table':>18} {'measured':>9} {'latency: table':>15} {'measured':>9}  "
    print(head + (f"{'LLVM: cycles, latency':22}" if processor else ""))
    wrong = llvm_wrong = 0
    for figure in figures:
        other = by_case[id(figure.case)]
        measured = figure.measured
        flag = "<- " + ", ".join(figure.differs) if figure.differs else ""
        if measured.through and not flag and measured.latency is not None:
            flag = f"(with {measured.through.split()[0]})"
        wrong += bool(figure.differs)
        told = ""
        if other:
            differs = measured.throughput is not None and _apart(other[1], measured.throughput)
            # LLVM's latency of what loads includes the load, and of a round trip it knows the one half only.
            if measured.latency is not None and not measured.through and not figure.case.memory and other[0]:
                differs = differs or _apart(other[0], measured.latency)
            llvm_wrong += differs
            told = f"{other[1]:8.2f} {other[0]:6g} {'<-' if differs else '  '}     "
        elif processor:
            told = " " * 22
        latency = f"{figure.latency:15.1f} {measured.latency:9.2f}" if measured.latency is not None else f"{'':15} {'':9}"
        throughput = f"{measured.throughput:9.2f}" if measured.throughput is not None else f"{'':9}"
        if args.all or figure.differs or "<-" in told:
            print(f"{figure.case!r:36} {figure.throughput:18.2f} {throughput} {latency}  {told}{flag}".rstrip())
    print(
        f"\n{len(figures)} instructions; the tables of {machine.name} are not what was measured for {wrong} of them"
        + (f", LLVM's of {processor} for {llvm_wrong}" if processor else "")
    )
    _about_fma(figures)
    return 0


def _ports(machine: Microarchitecture, mask: int, cycles: float) -> str:
    names = [name for n, name in enumerate(machine.port_names) if mask >> n & 1]
    return (f"{cycles:g} x " if cycles != 1.0 else "") + "/".join(names)


def _about_fma(figures: list[Comparison]) -> None:
    """One line on a figure that published tables differ about: fused multiply-adds a cycle, by width."""
    found: list[str] = []
    for figure in figures:
        text = repr(figure.case)
        if text.startswith("vfmadd213ps") and "m256" not in text and "m512" not in text and figure.measured.throughput:
            found.append(f"{1 / figure.measured.throughput:.1f} of {({'x': 128, 'y': 256, 'z': 512})[text.rpartition(' ')[2][0]]} bits")
    if found:
        print("fused multiply-adds a cycle on this CPU: " + ", ".join(found))
