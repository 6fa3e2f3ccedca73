"""Instructions written down as an assembler reads them, for an operation: parsed once for its types, what they demand of the allocator, and how they are emitted.

``addw d, a, b`` is one instruction; where an operation takes several, one line follows the other. The operands are letters:

``d``              the result
``a b c``          the operation's operands, in order
``t``              a scratch register
``zero``           the zero register
``m``              the address of a load or store, a displacement and a base
``8``, ``rtz``     a number, a rounding mode; where none is given, rounding is as fcsr says
``#b``             the operand b, a constant that the instruction has room for: a count of shifts as far as it counts; ``-#b`` less than nothing, ``log#b`` the exponent of a power of two
``@``              the label that a branch goes to

In a mnemonic ``?`` is ``w`` for types of 32 bits and nothing for others, ``$`` is ``s`` or ``d`` by the width of the float. Three lines are no instructions of the
machine: ``mv`` and ``fmv.$``, which are none where both registers are the same (ISA manual, "RISC-V Assembly Programmer's Handbook", pseudoinstructions), and
``cut d, a`` (``cut d`` for ``cut d, d``), which brings ``a`` into the form in which registers hold the type: one or two instructions for 8 and 16 bits, none for others.

What the allocator must know follows from the instructions' rows: the class of each operand, and which of them are read after the result has been written.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets.riscv.abi import RiscVAssembler
from loopwright.targets.riscv.instructions import BY_MNEMONIC, DYNAMIC, ROUNDING, Row
from loopwright.targets.riscv.operands import float_bits, signed_value
from loopwright.targets.riscv.registers import CODES, FLOATS, INTS, ZERO
from loopwright.targets.sequences import shift_count
from loopwright.targets.target import Rule, Use
from loopwright.types import Type

__all__ = ["Sequence", "read"]

#: By class, then by whether it is read late.
_USES: Final = ((Use(INTS), Use(INTS, late=True)), (Use(FLOATS), Use(FLOATS, late=True)))

_OPERANDS: Final = "abc"
_RESULT: Final = 0
_MODES: Final[dict[str, int]] = {name: mode for mode, name in ROUNDING.items()}

# What a constant operand is in its instruction.
_VALUE: Final = 0
_NEGATED: Final = 1
_EXPONENT: Final = 2
_COUNT: Final = 3
_COUNT_MODULO: Final = 4


class Step:
    """One instruction.

    Attributes:
        row: its row.
        numbers: its operands in the order of the text, where they are numbers.
        places, registers: where registers stand among them, and which: 0 is the result, then come the operation's operands and the scratch register.
        held: where the constant operand stands, or -1; displaced: the address's displacement, or -1.
        branches: goes to the instruction's label.
        moves: does nothing where its registers are the same.
    """

    __slots__ = ("branches", "displaced", "held", "moves", "numbers", "places", "registers", "row")

    def __init__(self, row: Row) -> None:
        self.row = row
        self.numbers = [0] * len(row.operands)
        self.places: list[int] = []
        self.registers: list[int] = []
        self.held = -1
        self.displaced = -1
        self.branches = False
        self.moves = False


class Sequence:
    """The instructions of an operation on certain types.

    Attributes:
        steps: the instructions.
        rule: what emits them, and what it demands.
        zeros, constants: operands that must be the constant 0, or any constant, as bits.
        held: the operand that is a constant in an instruction, or -1; kind: what it is there; low, high: what there is room for.
        address: the operand that an address begins with, or -1.
        type: of the operation.
    """

    __slots__ = ("address", "classes", "constants", "held", "high", "kind", "low", "rule", "scratch", "steps", "type", "zeros")

    def __init__(self, op: Op, type_: Type, operands: list[str]) -> None:
        self.type = type_
        self.steps: list[Step] = []
        self.zeros = self.constants = 0
        for n, word in enumerate(operands):
            self.zeros |= int(word == "0") << n
            self.constants |= int(word[0] == "#") << n
        self.held = -1
        self.kind = _VALUE
        self.low = self.high = 0
        self.address = op.operands.index("A") if "A" in op.operands else -1
        count = len(op.operands)
        self.classes = [INTS] * (count + 1)
        self.scratch: list[int] = []
        self.rule = Rule(op.name, (), None, self.emit)

    # --- constants ----------------------------------------------------------------------------------------

    def holds(self, position: int, of: Type, value: int | float | bool) -> bool:
        """Whether a constant operand has room in the instructions."""
        if position == self.address or position >= len(self.classes) - 1:
            return False
        if of.is_float:
            return self.zeros >> position & 1 == 1 and float_bits(of, float(value)) == 0
        if self.constants >> position & 1:
            return True
        if position == self.held:
            return self.low <= self.number(of, int(value)) <= self.high
        # The zero register.
        return value == 0 and self.classes[position + 1] == INTS

    def serves(self, f: Function, args: list[int]) -> bool:
        """Whether operands are the constants that the instructions ask for."""
        asked = self.zeros | self.constants
        if self.held >= 0:
            asked |= 1 << self.held
        for n in range(asked.bit_length()):
            if asked >> n & 1:
                a = args[n]
                if a >= 0 or not self.holds(n, f.const_types[~a], f.const_values[~a]):
                    return False
        return True

    def number(self, of: Type, value: int) -> int:
        """What stands in the instruction for the constant operand."""
        kind, type_ = self.kind, self.type
        if kind == _COUNT:
            count = shift_count(type_, value)
            return min(count, type_.bits - 1) if self.steps[0].row.mnemonic.startswith("sra") else count
        if kind == _COUNT_MODULO:
            return value & type_.bits - 1
        number = signed_value(of, value)
        if kind == _EXPONENT:
            return number.bit_length() - 1 if number > 0 and number & (number - 1) == 0 else -1
        return -number if kind == _NEGATED else number

    # --- emitting -----------------------------------------------------------------------------------------

    def emit(self, asm: RiscVAssembler, f: Function, instr: Instr) -> None:
        """Emit the instructions, after allocation."""
        asm.line = instr.line
        codes = [CODES[instr.dst] if instr.dst >= 0 else ZERO]
        for a in instr.args:
            codes.append(CODES[a] if a >= 0 else ZERO)
        for step in self.steps:
            values = step.numbers.copy()
            registers = step.registers
            for n, place in enumerate(step.places):
                values[place] = codes[registers[n]]
            if step.held >= 0:
                constant = ~instr.args[self.held]
                values[step.held] = self.number(f.const_types[constant], int(f.const_values[constant]))
            if step.displaced >= 0:
                mem = instr.mem
                assert mem is not None
                values[step.displaced] = mem.disp
            if step.branches:
                asm.branch(step.row, values[0], values[1], instr.imm)
            elif not step.moves or values[0] != values[1]:
                asm.emit(step.row, *values)


class _Reader:
    """Reads the instructions of one operation on certain types."""

    def __init__(self, op: Op, type_: Type, source: Type, operands: list[str]) -> None:
        self.op = op
        self.type = type_
        self.float = type_ if type_.is_float else source
        self.sequence = Sequence(op, type_, operands)
        #: The step that writes the result first; operands read after it, as bits.
        self.begun = -1
        self.late = 0

    def line(self, line: str) -> None:
        """Read one line."""
        mnemonic, _, rest = line.partition(" ")
        words = [word.strip() for word in rest.split(",")] if rest else []
        if mnemonic == "cut":
            self.cut(words[0], words[-1])
            return
        mnemonic = mnemonic.replace("?", "w" if self.type.bits == 32 else "").replace("$", "s" if self.float.bits == 32 else "d")
        moves = mnemonic in ("mv", "fmv.s", "fmv.d")
        if mnemonic == "mv":
            mnemonic, words = "addi", [*words, "0"]
        elif moves:
            mnemonic, words = "fsgnj" + mnemonic[3:], [*words, words[1]]
        self.step(BY_MNEMONIC[mnemonic], words, moves)

    def cut(self, to: str, of: str) -> None:
        """The lines of ``cut``."""
        bits = self.type.bits
        if bits == 8 and not self.type.signed:
            self.line(f"andi {to}, {of}, 255")
        elif bits < 32:
            self.line(f"slli {to}, {of}, {64 - bits}")
            self.line(f"{'srai' if self.type.signed else 'srli'} {to}, {to}, {64 - bits}")

    def step(self, row: Row, words: list[str], moves: bool) -> None:
        """One instruction: its operands, in the order of the text."""
        if not row.ready:
            row.prepare()
        step = Step(row)
        step.moves = moves
        self.sequence.steps.append(step)
        names = row.operands
        at = 0
        for word in words:
            if word == "m":
                # The displacement before the base, or behind it.
                base = at if names[at] == "rs1" else at + 1
                step.displaced = 2 * at + 1 - base
                self.register(step, base, self.sequence.address + 1)
                at += 1
            elif word == "@":
                step.branches = True
            elif "#" in word:
                self.held(step, at, word)
            elif word == "zero" or word[-1].isdigit():
                step.numbers[at] = ZERO if word == "zero" else int(word)
            elif word in _MODES:
                step.numbers[at] = _MODES[word]
            else:
                self.register(step, at, self.register_of(word))
            at += 1
        if row.rounds and at < len(names):
            step.numbers[at] = DYNAMIC
            at += 1
        if at != len(names):
            raise ValueError(f"{self.op.name}: {row.mnemonic} takes {row.syntax}")

    def register_of(self, word: str) -> int:
        """The number of a register among the result, the operands and the scratch register."""
        if word == "d":
            return _RESULT
        if word == "t":
            return len(self.sequence.classes)
        return _OPERANDS.index(word) + 1

    def register(self, step: Step, place: int, register: int) -> None:
        """A register in an instruction: of which class, and whether it is read after the result has been written."""
        sequence = self.sequence
        step.places.append(place)
        step.registers.append(register)
        cls = FLOATS if step.row.floats[place] else INTS
        number = len(sequence.steps) - 1
        if register >= len(sequence.classes):
            sequence.scratch = [cls]
        else:
            sequence.classes[register] = cls
        if step.row.operands[place] == "rd":
            if register == _RESULT and self.begun < 0:
                self.begun = number
        elif 0 <= self.begun < number and 0 < register < len(sequence.classes):
            self.late |= 1 << register >> 1

    def held(self, step: Step, place: int, word: str) -> None:
        """A constant operand in an instruction."""
        sequence, op = self.sequence, self.op
        sign, _, letter = word.partition("#")
        step.held = place
        sequence.held = _OPERANDS.index(letter)
        if op is ops.SHL or op is ops.SHR:
            sequence.kind = _COUNT
        elif op is ops.SHL_MODULO or op is ops.SHR_MODULO:
            sequence.kind = _COUNT_MODULO
        else:
            sequence.kind = _NEGATED if sign == "-" else _EXPONENT if sign == "log" else _VALUE
        for operand, low, high, _ in step.row.ranges:
            if operand == place:
                sequence.low, sequence.high = low, high

    def close(self) -> Sequence:
        """What follows of all instructions together."""
        sequence, op = self.sequence, self.op
        classes = sequence.classes
        uses = []
        for n in range(len(classes) - 1):
            cls = classes[n + 1]
            uses.append(_USES[cls][1 if op.result and cls == classes[_RESULT] and self.late >> n & 1 else 0])
        result = _USES[classes[_RESULT]][0] if op.result else None
        sequence.rule = Rule(op.name, tuple(uses), result, sequence.emit, commutes=op.commutes, temps=tuple(sequence.scratch))
        return sequence


def read(op: Op, type_: Type, source: Type, operands: list[str], text: str) -> Sequence:
    """The instructions written in ``text``, one to a line, for an operation on certain types.

    Args:
        op: the operation.
        type_: its type.
        source: its source's.
        operands: ``0`` for operands that must be that constant, ``#`` and a letter for those that must be any, other words for registers; fewer for registers behind.
        text: the lines.
    """
    reader = _Reader(op, type_, source, operands)
    for line in text.split("\n"):
        reader.line(line)
    return reader.close()
