"""Assembler text to a unit. The language is that of the published listings; docs/multiclet.md describes it."""

from __future__ import annotations

import re
import struct
from typing import Final

from loopwright.errors import AssemblyError
from loopwright.targets.multiclet.directives import Section
from loopwright.targets.multiclet.parameters import S2, Processor
from loopwright.targets.multiclet.program import Command, Operand, Paragraph, Unit, constant
from loopwright.targets.multiclet.rules import faults, resolve
from loopwright.targets.multiclet.words import Words

__all__ = ["assemble"]

_LABEL: Final = re.compile(r"\s*([A-Za-z_.$][\w.$]*)\s*:(?!=)")
_NAMED: Final = re.compile(r"\s*([A-Za-z_][\w]*)\s*:=\s*")
#: Directives for other tools, which are read over.
_IGNORED: Final = frozenset({".file", ".type", ".size", ".ident", ".section"})
_SECTIONS: Final = frozenset({".text", ".data", ".rodata"})


def assemble(text: str, processor: Processor = S2, file: str = "<assembler>") -> Unit:
    """The unit that a text is.

    Args:
        text: assembler text.
        processor: whose commands and rules it is to follow.
        file: where the text is from, for errors.

    Raises:
        AssemblyError: with line and column, what does not parse or breaks a rule that can be seen without running.
    """
    reader = _Reader(processor, file)
    for number, line in enumerate(text.splitlines(), 1):
        reader.line(Words(line, number, file))
    return reader.end()


class _Reader:
    """The text up to a line.

    Attributes:
        section: ``.text``, ``.data`` or ``.rodata``.
        paragraph: the one that is open, or None.
        label: one that waits for a paragraph to begin, with the line and column it is at.
    """

    def __init__(self, processor: Processor, file: str) -> None:
        self.processor = processor
        self.unit = Unit(file=file)
        self.section = ".text"
        self.paragraph: Paragraph | None = None
        self.label: tuple[str, int, int] | None = None
        self.data = Section(self.unit)
        self.columns: list[int] = []
        self.aliases: dict[str, str] = {}
        self.seen: set[str] = set()
        self.last = 0

    def line(self, words: Words) -> None:
        """Read a line."""
        self.last = words.line
        while True:
            words.skip()
            match = _LABEL.match(words.text, words.at)
            if match is None:
                break
            column = match.start(1) + 1
            words.at = match.end()
            self._labelled(match[1], words, column)
        if words.ended():
            return
        if words.text.startswith(".", words.at):
            self._directive(words)
        elif self.section != ".text":
            raise words.error("commands stand in .text")
        elif words.word("complete"):
            self._complete(words)
        else:
            self._command(words)
        words.finish()

    def _labelled(self, name: str, words: Words, column: int) -> None:
        if name in self.seen:
            raise words.error(f"the label {name} is there twice", column)
        self.seen.add(name)
        if self.section != ".text":
            self.data.begin(name, words.line, self.section == ".rodata")
            return
        if self.paragraph is not None:
            raise words.error(f"the paragraph {self.paragraph.label} has no complete before the label {name}", column)
        if self.label is not None:
            raise words.error(f"a paragraph has one label: {self.label[0]} and {name} name the same one", column)
        self.label = (name, words.line, column)

    def _complete(self, words: Words) -> None:
        if self.paragraph is None:
            raise words.error("a paragraph has at least one command before complete")
        self._check(self.paragraph)
        self.unit.paragraphs.append(self.paragraph)
        self.paragraph = None

    def _check(self, paragraph: Paragraph) -> None:
        wrong = resolve(paragraph) or faults(paragraph, self.processor)
        for at, what in wrong:
            raise AssemblyError(what, paragraph.commands[at].line, self.columns[at], self.unit.file)

    def _command(self, words: Words) -> None:
        name = ""
        match = _NAMED.match(words.text, words.at)
        if match is not None:
            name = match[1]
            words.at = match.end()
        column = words.column
        mnemonic = words.name("a command")
        row = self.processor.row(mnemonic)
        if row is None:
            raise words.error(f"{self.processor.name} has no command {mnemonic}{self._suffixes(mnemonic)}", column)
        suffix = mnemonic[len(row.mnemonic) + 1 :]
        if name and not row.gives:
            raise words.error(f"{mnemonic} leaves no result that could be named {name}", column)
        if self.paragraph is None:
            label, line, _ = self.label or (self._unnamed(), words.line, 0)
            self.paragraph = Paragraph(label, line=line)
            self.label = None
            self.columns = []
        operands = [self._operand(words, suffix)]
        while words.sign(","):
            operands.append(self._operand(words, suffix))
        self.paragraph.commands.append(Command(row, suffix, operands, name, words.line))
        self.columns.append(column)

    def _suffixes(self, mnemonic: str) -> str:
        """What to write for a mnemonic whose suffix is wrong."""
        there = [name for name in self.processor.commands if self.processor.has(name) and name.rpartition("_")[0] in (mnemonic, mnemonic.rpartition("_")[0])]
        return f"; there are {', '.join(there)}" if there else ""

    def _unnamed(self) -> str:
        number = len(self.unit.paragraphs)
        while f".P{number}" in self.seen:
            number += 1
        self.seen.add(f".P{number}")
        return f".P{number}"

    def _operand(self, words: Words, suffix: str) -> Operand:
        words.skip()
        if words.sign("["):
            operand = self._sum(words, suffix)
            if not words.sign("]"):
                raise words.error("a bracket is open: ] is missing")
            return operand.in_brackets()
        return self._sum(words, suffix)

    def _sum(self, words: Words, suffix: str) -> Operand:
        operand = self._term(words, suffix)
        while True:
            if words.sign("+"):
                operand = self._added(operand, words, 1)
            elif words.sign("-"):
                operand = self._added(operand, words, -1)
            else:
                return operand

    def _added(self, operand: Operand, words: Words, sign: int) -> Operand:
        number = words.number()
        if number is not None:
            return operand.plus(sign * number)
        if sign < 0 or operand.symbol:
            raise words.error("a number is expected: an operand is at most a base, one label and a constant")
        operand.symbol = words.name("a label or a number")
        return operand

    def _term(self, words: Words, suffix: str) -> Operand:
        if words.sign("@"):
            number = words.number()
            return Operand(name=words.name("a distance or a name")) if number is None else Operand(back=number)
        if words.sign("#"):
            name = words.name("a register")
            return Operand(register=self.aliases.get(name, name))
        fraction = words.fraction()
        if fraction is not None:
            if suffix != "f":
                raise words.error("a constant has 32 bits, so that only commands with the suffix f take floats; patch_q makes 64 bits of two halves")
            return constant(int(struct.unpack("<I", struct.pack("<f", fraction))[0]))
        negative = words.sign("-")
        number = words.number()
        if number is None:
            if negative:
                raise words.error("a number is expected")
            return Operand(symbol=words.name("an operand"))
        number = -number if negative else number
        return constant(number)

    def _directive(self, words: Words) -> None:
        name = words.name("a directive")
        if name in _SECTIONS:
            self._closed(words)
            self.section = name
        elif name in _IGNORED:
            words.rest()
        elif name == ".globl":
            self.unit.exported.append(words.name("a label"))
            while words.sign(","):
                self.unit.exported.append(words.name("a label"))
        elif name == ".alias":
            alias = words.name("a name")
            words.sign(",")
            register = words.name("a register")
            self.aliases[alias] = alias if alias in self.processor.registers else register
        elif self.section == ".text":
            raise words.error(f"there is no directive {name} in .text")
        else:
            self.data.directive(name, words)

    def _closed(self, words: Words) -> None:
        if self.paragraph is not None:
            raise words.error(f"the paragraph {self.paragraph.label} has no complete")
        if self.label is not None:
            raise words.error(f"the label {self.label[0]} names no paragraph")

    def end(self) -> Unit:
        """The unit, after the last line."""
        if self.paragraph is not None:
            raise AssemblyError(f"the paragraph {self.paragraph.label} has no complete", self.last, 1, self.unit.file)
        if self.label is not None:
            raise AssemblyError(f"the label {self.label[0]} names no paragraph", self.label[1], self.label[2], self.unit.file)
        return self.unit
