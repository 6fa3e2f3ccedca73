"""The belt's list of passes: those of every machine up to ``select``, then its own, which take the place of allocation."""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.passes.pipeline import CPU
from loopwright.targets.pipeline import Pass
from loopwright.targets.target import MachineCode, Target
from loopwright.types import BOOL, VOID, Type

from .target import bits
from .words import OPERATIONS, REACH, encode

__all__ = ["PASSES"]

#: Where a paragraph goes on that returns.
RETURNED: Final = -2
_WITH_RESULT: Final = frozenset(OPERATIONS[: OPERATIONS.index("put")])


class Paragraph:
    """Instructions that run one after the other.

    Attributes:
        code: the instructions, the test among them if there is one.
        tested: where it goes on if the test holds; NONE without a test.
        following: where it goes on otherwise, or RETURNED.
        first: the number of the instruction that it begins with.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self.code: list[Instr] = []
        self.tested = NONE
        self.following = NONE


# --- paragraphs --------------------------------------------------------------------------------------------------


class _Paragraphs:
    """The walk over the brackets. Labels are numbers that are given a place, the number of a paragraph, when that is known."""

    def __init__(self, f: Function) -> None:
        self.made = [Paragraph(0)]
        self.places: list[int] = []
        # Of each bracket: where br leads, the label of its else or NONE, whether it is a loop.
        self.open: list[tuple[int, int, bool]] = []
        for k, instr in enumerate(f.code):
            self.step(k, instr)
        if f.result is VOID and self.made[-1].following == NONE:
            self.made[-1].code.append(_returns(f))
        for paragraph in self.made:
            if paragraph.tested >= 0:
                paragraph.tested = self.places[paragraph.tested]
            if paragraph.following >= 0:
                paragraph.following = self.places[paragraph.following]

    def label(self) -> int:
        self.places.append(NONE)
        return len(self.places) - 1

    def begin(self, k: int, *labels: int) -> None:
        """A paragraph begins, at these labels. The one before, if it has not ended yet, goes on with it."""
        here = self.label()
        before = self.made[-1]
        if before.following == NONE:
            before.following = here
        for each in (here, *labels):
            self.places[each] = len(self.made)
        self.made.append(Paragraph(k))

    def step(self, k: int, instr: Instr) -> None:
        op = instr.op
        now = self.made[-1]
        if op.effect != ops.CONTROL:
            now.code.append(instr)
        elif op is ops.RET:
            now.code.append(instr)
            now.following = RETURNED
            self.begin(k + 1)
        elif op is ops.LOOP:
            head = self.label()
            self.open.append((head, NONE, True))
            self.begin(k + 1, head)
        elif op is ops.BLOCK:
            self.open.append((self.label(), NONE, False))
        elif op is ops.ELSE:
            leave, otherwise, _ = self.open.pop()
            now.following = leave
            self.begin(k + 1, otherwise)
            self.open.append((leave, NONE, False))
        elif op is ops.END:
            leave, otherwise, loop = self.open.pop()
            if not loop:
                self.begin(k + 1, leave, *([otherwise] if otherwise != NONE else []))
        elif op.opens:
            self.open.append((self.label(), self.label(), False))
            now.code.append(instr)
            now.tested = self.label()
            now.following = self.open[-1][1]
            self.begin(k + 1, now.tested)
        else:
            target = self.open[-1 - instr.imm][0]
            if op is ops.BR:
                now.following = target
            else:
                now.code.append(instr)
                now.tested = target
            self.begin(k + 1)


def _returns(f: Function) -> Instr:
    from .target import Belt

    made = Instr(ops.RET, VOID, NONE, [])
    made.rule = Belt().rule(f, made)
    return made


def paragraphs(f: Function, target: Target) -> None:
    """Brackets to paragraphs, left in ``f.analysis``."""
    f.analysis = _Paragraphs(f).made


def paragraph_notes(f: Function) -> dict[int, str]:
    """The paragraph that begins with an instruction, and where it goes."""
    notes: dict[int, str] = {}
    for number, each in enumerate(f.analysis):
        ways = [str(n) for n in (each.tested, each.following) if n >= 0]
        notes[each.first] = f"paragraph {number}, goes on with {' or '.join(ways) or 'nothing'}"
    return notes


# --- the belt ----------------------------------------------------------------------------------------------------


class Assembler:
    """Emits the paragraphs. What turns out to be wanted beyond its paragraph, or beyond the reach of operands, gets a cell, and all is done again."""

    def __init__(self, f: Function, made: list[Paragraph]) -> None:
        self.f = f
        self.cells = {register: number for number, register in enumerate(f.params)}
        known = -1
        while known != len(self.cells):
            known = len(self.cells)
            self.words: list[tuple[str, Type, tuple[int, ...], int, Type]] = []
            self.lines: list[int] = []
            self.starts: list[int] = []
            for paragraph in made:
                self.paragraph(paragraph)

    def paragraph(self, paragraph: Paragraph) -> None:
        self.starts.append(len(self.words))
        self.line = 0
        self.dropped = 0
        self.condition = 0
        # Where values were dropped, counted from the paragraph's beginning: of registers, and of constants.
        self.at: dict[int, int] = {}
        for instr in paragraph.code:
            self.line = instr.line
            instr.rule.emit(self, self.f, instr)
        if paragraph.tested != NONE:
            self.drop("choose", BOOL, (self.dropped - self.condition + 1,), paragraph.following << 32 | paragraph.tested)
        elif paragraph.following >= 0:
            self.drop("go", VOID, (), paragraph.following)

    def drop(self, name: str, type_: Type, operands: tuple[int, ...], number: int = 0, source: Type = VOID) -> int:
        """Emit an instruction; where on the belt its result is, if it has one."""
        self.words.append((name, type_, operands, number, source))
        self.lines.append(self.line)
        self.dropped += name in _WITH_RESULT
        return self.dropped

    def fetch(self, operand: int) -> int:
        """Where an operand is on the belt; it is brought there if it is not, or if fetching the others might take it out of reach."""
        at = self.at.get(operand)
        if at is None or self.dropped - at + 4 > REACH:
            if operand < 0:
                type_ = self.f.const_types[~operand]
                at = self.drop("const", type_, (), bits(type_, self.f.const_values[~operand]))
            else:
                at = self.drop("get", self.f.types[operand], (), self.cells.setdefault(operand, len(self.cells)))
            self.at[operand] = at
        return at

    def operands(self, args: list[int]) -> tuple[int, ...]:
        """How long ago the operands were made, from 1."""
        places = [self.fetch(a) for a in args]
        return tuple(self.dropped - at + 1 for at in places)

    def define(self, register: int, at: int) -> None:
        """A register's value is at this place of the belt."""
        if register == NONE:
            return
        self.at[register] = at
        if register in self.cells:
            self.drop("put", self.f.types[register], (self.dropped - at + 1,), self.cells[register])

    def encode(self) -> MachineCode:
        """The bytes, numbers of paragraphs replaced by the places where they begin."""
        data = bytearray()
        for name, type_, operands, number, source in self.words:
            if name in ("go", "choose"):
                number = (self.starts[number >> 32] << 32 if name == "choose" else 0) | self.starts[number & 0xFFFFFFFF]
            data += encode(name, type_, operands, number, source)
        return MachineCode(bytes(data), len(data), self.lines, [], 16)


def belt(f: Function, target: Target) -> None:
    """Operands to places on the belt."""
    f.analysis = Assembler(f, f.analysis)


def belt_notes(f: Function) -> dict[int, str]:
    """Which of the results have cells."""
    assembler: Any = f.analysis
    return {k: f"cell {assembler.cells[instr.dst]}" for k, instr in enumerate(f.code) if instr.dst in assembler.cells}


def words(f: Function, target: Target) -> None:
    """Bytes."""
    f.machine = f.analysis.encode()
    f.analysis = None


_OWN: Final = (
    Pass("paragraphs", paragraphs, "brackets to paragraphs, each with where it goes on", again=True, notes=paragraph_notes),
    Pass("belt", belt, "operands to the number of results since; what lasts longer to cells", again=True, notes=belt_notes),
    Pass("words", words, "bytes", "`Function.machine`"),
)
PASSES: Final = (*CPU[: 1 + [each.name for each in CPU].index("select")], *_OWN)
