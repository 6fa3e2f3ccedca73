"""Instructions written down as in the manual, for an operation: parsed once for its types, what they demand of the allocator, and how they are emitted.

``VPADDD d, a, b`` is one instruction; where an operation takes several, one line follows the other. The operands are letters:

``d``              the result
``a b c e f``      the operation's operands, in order
``t u v w``        scratch registers, in the order in which they are mentioned first
``m``              the address of a load or store; ``[a]``: the operand a, where it is a load
``8``              an immediate; ``#b``: the operand b as one, which is a constant
``=0x80000000``    a constant of the operation's own in every lane, of the width of its type or as ``=0xff.16`` says; ``=iota``: 0, 1, 2, …,
                   ``=downwards``: these from the last lane to the first
``d{t}``           under the writemask t, which leaves the other lanes as they are; ``d{t}z``: zero elsewhere

Registers are as wide as the types they hold; ``a:xmm`` and ``a:r32`` say otherwise. In a mnemonic ``?`` stands for the letter of the type's elements, B, W, D or Q,
``%`` for that of the source's, ``$`` for H, S or D by the width of floats, ``~`` for U where the type is unsigned and nothing where it is signed.

What the allocator must know follows from the roles of the instructions' operands. An operand that an instruction writes is tied to the result. Others are read
late where that is after the result has been written. An operand may come from memory where all that read it have it in ModRM.r/m; of a single instruction that
commutes, either one. This is the one place that decides so, for spill slots, constants and loads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, SLOT, Function, Instr
from loopwright.ir.ops import Op
from loopwright.ir.roles import role_type
from loopwright.targets.sequences import shift_count
from loopwright.targets.target import ANY_TIED, Rule, Use
from loopwright.targets.x86.assembler import Form, M, lookup
from loopwright.targets.x86.encoder import EVEX, LEGACY, VEX, Operand
from loopwright.targets.x86.operands import FLOAT_LETTER, LETTER, MEMORY, X86Assembler, bits_as_immediate, fits32, iota_bytes, register_name, width
from loopwright.targets.x86.registers import CODES, INTS, MASKS, VECTORS
from loopwright.types import Type

Emit = Callable[[X86Assembler, Function, Instr], None]

__all__ = ["INT", "INT_LATE", "INT_MEMORY", "SIZELESS", "VECTOR", "VECTOR_MEMORY", "ByConstant", "Sequence", "addresses", "folded", "loads", "read", "rule"]

INT: Final = Use(INTS)
INT_LATE: Final = Use(INTS, late=True)
INT_MEMORY: Final = Use(INTS, memory=True)
VECTOR: Final = Use(VECTORS)
VECTOR_MEMORY: Final = Use(VECTORS, memory=True)
#: By class, then by ``memory + 2 * late``.
_USES: Final = tuple(tuple(Use(cls, memory=bool(n & 1), late=n > 1) for n in range(4)) for cls in (INTS, VECTORS, MASKS))

_OPERANDS: Final = "abcef"
_SCRATCH: Final = "tuvw"
#: VEX has no element size for these; with one behind the name they are EVEX instructions.
SIZELESS: Final = frozenset(["VPAND", "VPANDN", "VPOR", "VPXOR"])
#: Moves, and what they are from memory, which need not be aligned.
_MOVES: Final[dict[str, str]] = {"VMOVAPS": "VMOVUPS", "KMOVQ": "KMOVQ"}
_MASK: Final = Operand("k", "k", "r")


class Step:
    """One instruction.

    Attributes:
        form: with all operands in registers.
        in_memory: the form with its ModRM.r/m operand in memory; the same one for most.
        repeated: that for one element repeated in every lane, where it is another.
        by_immediate: the form with its last operand an immediate, or None.
        registers: the register operands in the order of the form; 0 is the result, then come the operation's operands and the scratch registers.
        rm: which of them is in ModRM.r/m, or -1.
        immediate: the immediate; immediate_of: the operand that is it, or 0.
        constant: bytes of a constant in memory; broadcast: it is one element.
        addressed: its memory operand is the instruction's address.
        mask: the register of the writemask, or -1; zeroing: lanes that are off become 0.
        moves: does nothing where its registers are the same.
    """

    __slots__ = (
        "addressed",
        "broadcast",
        "by_immediate",
        "constant",
        "form",
        "immediate",
        "immediate_of",
        "in_memory",
        "mask",
        "moves",
        "registers",
        "repeated",
        "rm",
        "zeroing",
    )

    def __init__(self, form: Form) -> None:
        self.form = form
        self.in_memory = form
        self.repeated: Form | None = None
        self.by_immediate: Form | None = None
        self.registers: tuple[int, ...] = ()
        self.rm = -1
        self.immediate = 0
        self.immediate_of = 0
        self.constant = b""
        self.broadcast = False
        self.addressed = False
        self.mask = -1
        self.zeroing = False
        self.moves = False


class Sequence:
    """The instructions of an operation on certain types.

    Attributes:
        steps: the instructions.
        types: of the operation's operands.
        classes: of the result, the operands and the scratch registers; -1 for what no instruction mentions.
        count: operands; scratch: scratch registers.
        tied: the operand whose register is the result's, or -1.
        constants: operands that must be constants, as bits; loaded: the operand that must be a load, or -1.
        bits: of each operand that may be in memory, what is read there; else 0.
        late: operands that are read after the result has been written, as bits.
        near: the result had best be where an operand is.
    """

    __slots__ = ("bits", "classes", "constants", "count", "late", "loaded", "near", "scratch", "steps", "tied", "types")

    def __init__(self, types: list[Type]) -> None:
        self.steps: list[Step] = []
        self.types = types
        self.count = len(types)
        self.classes = [-1] * (self.count + 1)
        self.scratch = 0
        self.tied = -1
        self.constants = 0
        self.loaded = -1
        self.bits = [0] * self.count
        self.late = 0
        self.near = False

    def repeats(self, type_: Type) -> bool:
        """Whether what operands of a vector type, and no others, are in memory as can be one element that the instruction repeats in every lane."""
        return all(
            _repeated_bits(step.repeated or step.in_memory) == type_.bits and self.types[step.registers[step.rm] - 1] is type_
            for step in self.steps
            if step.rm >= 0 and 0 < step.registers[step.rm] <= self.count and self.bits[step.registers[step.rm] - 1]
        )

    # --- emitting -----------------------------------------------------------------------------------------

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        """Emit the instructions, after allocation."""
        if instr.mem is not None:
            self.emit_addressed(asm, f, instr)
            return
        values = [CODES[instr.dst]]
        for a in instr.args:
            if a < 0 or a >= SLOT:
                self.emit_outside(asm, f, instr, instr.args)
                return
            values.append(CODES[a])
        self.emit_registers(asm, values, instr.line)

    def emit_registers(self, asm: X86Assembler, values: list[int], line: int) -> None:
        """Emit the instructions with everything in registers: codes of the result, the operands, the scratch registers."""
        for step in self.steps:
            registers = step.registers
            if step.moves and values[registers[0]] == values[registers[1]]:
                continue
            mem = asm.constant(step.constant, 0, step.broadcast) if step.constant else None
            mask = step.mask
            asm.emit(step.form, tuple([values[r] for r in registers]), mem, step.immediate, values[mask] if mask >= 0 else 0, step.zeroing, line)

    def emit_addressed(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        """Emit the instructions where an address is among the operands: that of a load or store, or of an operand."""
        args = instr.args
        mem = instr.mem
        assert mem is not None
        behind = len(args) - self.scratch
        given = behind - (2 if mem.indexed else 1)
        place = asm.place(instr, given)
        operands = args[:given]
        if given < self.count:
            operands.insert(mem.role if mem.role >= 0 else given, MEMORY)
        if self.scratch:
            operands += args[behind:]
        self.emit_outside(asm, f, instr, operands, place)

    def emit_outside(self, asm: X86Assembler, f: Function, instr: Instr, operands: list[int], place: M | None = None) -> None:
        """Emit the instructions where not all operands are in registers."""
        line = instr.line
        values = [CODES[instr.dst] if instr.dst >= 0 else 0]
        for a in operands:
            values.append(CODES[a] if 0 <= a < SLOT else -1)
        for step in self.steps:
            codes: list[int] = []
            form = step.form
            immediate = step.immediate
            if step.immediate_of:
                immediate = _immediate(f, instr, operands[step.immediate_of - 1])
            mem = place if step.addressed else None
            if step.constant:
                mem = asm.constant(step.constant, 0, step.broadcast)
            registers = step.registers
            for at in range(len(registers)):
                r = registers[at]
                if values[r] >= 0:
                    codes.append(values[r])
                    continue
                operand = operands[r - 1]
                if operand < 0 and step.by_immediate is not None and fits32(int(f.const_values[~operand])):
                    form, immediate = step.by_immediate, int(f.const_values[~operand])
                elif at < step.rm and r == registers[step.rm]:
                    # What is read here only fills what lies above the result; zeros do not wait for anything.
                    asm.emit(lookup("VXORPS", "xmm,xmm,xmm"), (values[0],) * 3, line=line)
                    codes.append(values[0])
                else:
                    mem = place if operand == MEMORY else self.memory(asm, f, step, operand, r - 1)
                    form = step.repeated if step.repeated is not None and mem is not None and mem.bcst else step.in_memory
            if step.moves and len(codes) == 2 and codes[0] == codes[1]:
                continue
            mask = step.mask
            asm.emit(form, tuple(codes), mem, immediate, values[mask] if mask >= 0 else 0, step.zeroing, line)

    def memory(self, asm: X86Assembler, f: Function, step: Step, operand: int, n: int) -> M:
        """A spill slot, or a constant in the pool, where narrow integers are extended as they are in registers."""
        if operand >= SLOT:
            return asm.slot(operand)
        type_ = self.types[n]
        if type_.is_mask:
            return asm.constant((b"\xff" if f.const_values[~operand] else b"\0") * max(type_.lanes * type_.bits // 8, 16))
        if type_.lanes or type_.is_float:
            return asm.pool(operand, type_, _repeats(step, type_, asm.evex))
        bits = self.bits[n]
        return asm.constant((int(f.const_values[~operand]) & (1 << bits) - 1).to_bytes(bits // 8, "little"))


def _immediate(f: Function, instr: Instr, operand: int) -> int:
    """A constant operand as an immediate."""
    op, type_ = instr.op, instr.type
    value = f.const_values[~operand]
    if op is ops.SHL or op is ops.SHR:
        return shift_count(type_, int(value))
    if op is ops.SHL_MODULO or op is ops.SHR_MODULO:
        return int(value) & (type_.bits - 1)
    if op is ops.STORE_AT:
        return bits_as_immediate(type_, value)
    return int(value)


def _repeats(step: Step, type_: Type, evex: bool) -> bool:
    """Whether the instruction can repeat one element of a constant of a type in all lanes: EVEX instructions on 32- and 64-bit elements."""
    if not type_.lanes or not evex:
        return False
    return _repeated_bits(step.repeated or step.in_memory) == type_.bits


def _repeated_bits(form: Form) -> int:
    """How many bits of memory an EVEX instruction repeats in all lanes; 0 for one that does not."""
    wide = form if form.kind == EVEX else form.evex()
    return wide.broadcast if wide is not None else 0


# --- reading -----------------------------------------------------------------------------------------------------


class _Mention:
    """Where an instruction mentions a register: the number of the step, what the instruction's row says of it, and bits read where it is in memory."""

    __slots__ = ("bits", "described", "step")

    def __init__(self, step: int, described: Operand, bits: int) -> None:
        self.step = step
        self.described = described
        self.bits = bits


class _Reader:
    """Reads the instructions of one operation on certain types."""

    def __init__(self, target: Any, op: Op, type_: Type, source: Type) -> None:
        self.target = target
        self.type = type_
        self.source = source
        self.alike = all(letter == op.result for letter in op.operands)
        types = [role_type(letter, type_, source) for letter in op.operands if letter != "A"]
        self.sequence = Sequence(types)
        #: By letter.
        self.shapes: dict[str, str] = {letter: self.shape(each) for letter, each in zip(_OPERANDS, types, strict=False)}
        self.shapes["d"] = self.shape(role_type(op.result, type_, source)) if op.result else ""
        #: By register.
        self.mentions: dict[int, list[_Mention]] = {}

    def shape(self, type_: Type) -> str:
        """The registers of a type."""
        if type_.is_mask:
            return "k" if self.target.mask_registers else width(type_)
        if type_.lanes or type_.is_float:
            return width(type_)
        return register_name(type_)

    def find(self, mnemonic: str, shapes: list[str]) -> Form | None:
        """The form, if the target has it; of instructions of which the VEX and the EVEX one are features of their own, that which it has."""
        if mnemonic in SIZELESS and "zmm" in shapes:
            mnemonic += "Q" if self.type.bits == 64 and "m" not in shapes else "D"
        try:
            form = lookup(mnemonic, ",".join(shapes))
            if form.kind != LEGACY and not self.target.features.issuperset(form.features):
                form = lookup(mnemonic, ("evex:" if form.kind == VEX else "vex:") + ",".join(shapes))
        except KeyError:
            return None
        return form if self.target.features.issuperset(form.features) else None

    def line(self, line: str) -> bool:
        """Read one instruction. False where the target lacks it."""
        mnemonic, _, rest = line.strip().partition(" ")
        if mnemonic[-1] in "?$%" or "%" in mnemonic or "~" in mnemonic:
            bits = self.type.bits
            mnemonic = (
                mnemonic.replace("~", "" if self.type.signed else "U")
                .replace("?", LETTER[bits])
                .replace("$", FLOAT_LETTER.get(bits, ""))
                .replace("%", LETTER.get(self.source.bits, ""))
            )
        words = [word.strip() for word in rest.split(",")] if rest else []
        shapes: list[str] = []
        refs: list[int] = []
        mask = -1
        zeroing = False
        for n, word in enumerate(words):
            if "{" in word:
                zeroing = word[-1] == "z"
                word, _, under = word.partition("{")
                mask = self.operand(under[0])[1]
                words[n] = word
            shape, ref = self.operand(word)
            shapes.append(shape)
            refs.append(ref)
        if mask >= 0:
            shapes[0] += "{k}"
        form = self.find(mnemonic, shapes)
        if form is None:
            return False
        step = Step(form)
        step.mask = mask
        step.zeroing = zeroing
        number = len(self.sequence.steps)
        self.sequence.steps.append(step)
        if mask >= 0:
            self.mention(mask, _Mention(number, _MASK, 0))
        self.fill(step, number, words, shapes, refs, mnemonic)
        return True

    def mention(self, ref: int, mention: _Mention) -> None:
        self.mentions.setdefault(ref, []).append(mention)

    def operand(self, word: str) -> tuple[str, int]:
        """The word for ``lookup``, and which register it is: -1 for none."""
        letter, _, given = word.partition(":")
        given = self.shapes.get(given, given)
        sequence = self.sequence
        if letter == "d":
            return given or self.shapes["d"], 0
        if letter in _OPERANDS:
            return given or self.shapes[letter], _OPERANDS.index(letter) + 1
        if letter in _SCRATCH:
            n = _SCRATCH.index(letter)
            if letter not in self.shapes:
                self.shapes[letter] = given or self.shape(self.type)
            if sequence.scratch < n:
                raise ValueError(f"the scratch register {letter} is mentioned before {_SCRATCH[n - 1]}")
            if sequence.scratch == n:
                sequence.scratch += 1
                sequence.classes.append(_class_of(self.shapes[letter]))
            return given or self.shapes[letter], sequence.count + 1 + n
        if letter[0] == "[":
            at = _OPERANDS.index(letter[1])
            sequence.loaded = at
            sequence.bits[at] = sequence.types[at].size * 8
            return given or f"m{sequence.bits[at]}", -1
        if letter[0] == "m" or letter[0] == "=":
            return (letter if letter[0] == "m" else "m"), -1
        return "imm", -1

    def fill(self, step: Step, number: int, words: list[str], shapes: list[str], refs: list[int], mnemonic: str) -> None:
        """What an instruction reads and writes, and where."""
        form = step.form
        sequence = self.sequence
        registers: list[int] = []
        for n, (word, described) in enumerate(zip(words, form.operands, strict=True)):
            ref = refs[n]
            if ref < 0:
                self.unregistered(step, word, described)
                continue
            bits = 0
            if described.place == "M":
                step.rm = len(registers)
                if described.role == "r" and 0 < ref <= sequence.count:
                    bits = self.from_memory(step, n, shapes, mnemonic, sequence.types[ref - 1])
            self.mention(ref, _Mention(number, described, bits))
            registers.append(ref)
        step.registers = tuple(registers)
        step.moves = mnemonic in _MOVES and len(registers) == 2 and shapes[0] == shapes[1]

    def from_memory(self, step: Step, n: int, shapes: list[str], mnemonic: str, type_: Type) -> int:
        """Find the forms of an instruction that have operand ``n`` in memory, or immediate. Returns how many bits of memory it reads, 0 where it cannot."""
        form = step.form
        if form.operands[0].role != "w" and form.kind == LEGACY:
            step.by_immediate = self.find(mnemonic, [*shapes[:n], "imm"])
        if mnemonic in _MOVES:
            mnemonic = _MOVES[mnemonic]
            found = self.find(mnemonic, [*shapes[:n], "m", *shapes[n + 1 :]])
        elif form.operands[n].memory > 0:
            found = form
        else:
            found = self.find(mnemonic, [*shapes[:n], f"m{type_.size * 8}", *shapes[n + 1 :]])
        if found is None or found.operands[n].memory <= 0:
            return 0
        step.in_memory = found
        if mnemonic in SIZELESS and self.type.bits == 64 and self.target.mask_registers:
            step.repeated = lookup(mnemonic + "Q", "evex:" + ",".join(shapes))
        bits = found.operands[n].memory
        # Registers have more bits than the types of scalars; slots need not.
        most = 512 if type_.lanes else max(32, type_.bits)
        return bits if bits <= most else 0

    def unregistered(self, step: Step, word: str, described: Operand) -> None:
        """An operand that is no register."""
        if word[0] == "#":
            step.immediate_of = _OPERANDS.index(word[1]) + 1
            self.sequence.constants |= 1 << step.immediate_of >> 1
        elif word[0] == "m" or word[0] == "[":
            step.addressed = True
        elif word[0] == "=":
            self.constant(step, word[1:], described.memory // 8)
        else:
            step.immediate = int(word, 0)

    def constant(self, step: Step, word: str, size: int) -> None:
        """A constant of the operation's own, repeated to ``size`` bytes, or by the instruction."""
        type_ = self.type
        if word == "iota":
            step.constant = iota_bytes(type_)
            return
        if word == "downwards":
            step.constant = iota_bytes(type_, True)
            return
        digits, _, bits = word.partition(".")
        element = int(digits, 0).to_bytes(int(bits or type_.bits) // 8, "little")
        if type_.lanes and self.target.mask_registers and _repeated_bits(step.form) == 8 * len(element):
            step.constant, step.broadcast = element, True
        else:
            step.constant = element * (size // len(element))

    def close(self, commutes: bool) -> Sequence:
        """What follows of all instructions together."""
        sequence = self.sequence
        steps = sequence.steps
        begun = min([m.step for m in self.mentions.get(0, []) if m.described.role != "r"], default=len(steps))
        for ref in range(sequence.count + 1):
            for m in self.mentions.get(ref, []):
                cls = _class_of(m.described.register)
                sequence.classes[ref] = cls
                if ref:
                    if m.described.role != "r":
                        sequence.tied = ref - 1
                    if m.step > begun:
                        sequence.late |= 1 << ref >> 1
        tied = sequence.tied
        for n in range(sequence.count):
            if n == tied:
                continue
            mentions = self.mentions.get(n + 1, [])
            bits = [m.bits for m in mentions if m.described.place == "M"]
            merged = [m for m in mentions if m.described.place == "V" and steps[m.step].registers.count(n + 1) == 2]
            if bits and min(bits) == max(bits) and len(bits) + len(merged) == len(mentions):
                sequence.bits[n] = bits[0]
        if tied >= 0:
            sequence.classes[0] = sequence.classes[tied + 1]
            sequence.late = (1 << sequence.count) - 1 & ~(1 << tied) if not commutes else 0
            for step in steps:
                step.registers = tuple([0 if r == tied + 1 else r for r in step.registers])
        elif len(steps) == 1:
            sequence.near = steps[0].moves or (steps[0].form.row.places == "RVM" and self.alike and sequence.classes[0] == VECTORS)
            if commutes and sequence.count == 2 and max(sequence.bits) > 0 and not sequence.constants:
                sequence.bits = [max(sequence.bits)] * 2
        return sequence


def _class_of(register: str) -> int:
    return INTS if register[0] == "r" else MASKS if register[0] == "k" else VECTORS


def read(target: Any, op: Op, type_: Type, source: Type, text: str, commutes: bool = False) -> Sequence | None:
    """The instructions written in ``text``, one to a line, for an operation on certain types; None where the target lacks one of them."""
    reader = _Reader(target, op, type_, source)
    for line in text.split("\n"):
        if not reader.line(line):
            return None
    return reader.close(commutes)


class ByConstant:
    """Emits a sequence that depends on the value of a constant operand.

    Attributes:
        position: the operand.
        text: the instructions by its value.
        known: the sequences.
    """

    __slots__ = ("known", "position", "target", "text")

    def __init__(self, target: Any, position: int, text: Callable[[int], str]) -> None:
        self.target = target
        self.position = position
        self.text = text
        self.known: dict[int, Sequence] = {}

    def sequence(self, instr: Instr, value: int) -> Sequence:
        """The sequence for a value."""
        known = self.known.get(value)
        if known is None:
            found = read(self.target, instr.op, instr.type, instr.source, self.text(value))
            assert found is not None
            known = self.known[value] = found
        return known

    def emit(self, asm: X86Assembler, f: Function, instr: Instr) -> None:
        """Emit the sequence for the value there is."""
        self.sequence(instr, int(f.const_values[~instr.args[self.position]])).emit(asm, f, instr)


# --- what is demanded of the allocator -----------------------------------------------------------------------------


def addresses(instr: Instr, late: bool = False) -> tuple[Use, ...]:
    """The uses of an instruction's address registers."""
    mem = instr.mem
    if mem is None:
        return ()
    use = INT_LATE if late else INT
    return (use, use) if mem.indexed else (use,)


def folded(instr: Instr, count: int) -> int:
    """Which of an operation's ``count`` operands is a load that has become the instruction's memory operand; -1 for none."""
    mem = instr.mem
    if mem is None or len(instr.args) - (2 if mem.indexed else 1) >= count:
        return -1
    return mem.role if mem.role >= 0 else count - 1


def loads(instr: Instr, types: list[Type], bits: list[int], immediate: int = 0) -> int:
    """Which operands a load may become, by the bits that the instruction reads of each: those that are just as wide.

    Where another operand is a constant, it stands in the way: as the memory operand of a vector instruction, or as an immediate, with which the instruction is no
    shorter than one that loads; but not as one of a vector instruction (``immediate``: those operands, as bits).
    """
    if instr.mem is not None:
        return 0
    args = instr.args
    for n in range(len(args)):
        if args[n] < 0 and not immediate >> n & 1:
            return 0
    found = 0
    for n in range(len(types)):
        if bits[n] and bits[n] == types[n].size * 8:
            found |= 1 << n
    return found


def rule(instr: Instr, sequence: Sequence, commutes: bool = False, emit: Emit | None = None) -> Rule:
    """The rule that emits a sequence, or by ``emit`` others like it; what it demands follows from the roles of the instructions' operands."""
    classes = sequence.classes
    result = classes[0]
    role = folded(instr, sequence.count)
    tied = sequence.tied
    uses: list[Use] = []
    # What the one instruction reads besides what it leaves where its mask does not hold may be just that.
    kept = instr.args[tied] if tied >= 0 and instr.mem is None and instr.op in ops.UNDER_MASKS else NONE
    for n in range(sequence.count):
        if n != role:
            cls = classes[n + 1] if classes[n + 1] >= 0 else max(result, 0)
            late = cls == result and sequence.late >> n & 1 and (kept < 0 or instr.args[n] != kept)
            uses.append(_USES[cls][(1 if sequence.bits[n] else 0) + (2 if late else 0)])
    bits = sequence.bits
    if tied >= 0 and commutes:
        # The operands may be exchanged.
        bits = [bits[1 - tied]] * 2
    late_address = result == INTS and role >= 0 and (tied >= 0 or sequence.late >> role & 1 == 1)
    may_load = loads(instr, sequence.types, bits, sequence.constants if result == VECTORS else 0)
    return Rule(
        instr.op.name,
        (*uses, *addresses(instr, late_address)),
        _USES[result][0] if instr.op.result else None,
        emit or sequence.emit,
        (tied if role < 0 or role > tied else tied - 1) if tied >= 0 else ANY_TIED if sequence.near else -1,
        commutes=tied >= 0 and commutes and instr.mem is None,
        temps=tuple(classes[sequence.count + 1 :]),
        loads=may_load,
        repeats=may_load if result != INTS and instr.type.lanes and sequence.repeats(instr.type) else 0,
        count=len(sequence.steps),
    )
