"""A line of assembler text, read from left to right."""

from __future__ import annotations

import re
from typing import Final

from loopwright.errors import AssemblyError

__all__ = ["Words"]

_SPACE: Final = re.compile(r"[ \t]*(?:(?:;|//).*)?")
_NAME: Final = re.compile(r"[A-Za-z_.$][\w.$]*")
_NUMBER: Final = re.compile(r"0[xX][0-9A-Fa-f]+|0[bB][01]+|\d+|'(?:\\.|[^'\\])'")
_FRACTION: Final = re.compile(r"-?(?:\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|inf\b|nan\b)|-inf\b")
_STRING: Final = re.compile(r'"((?:\\.|[^"\\])*)"')
_ESCAPES: Final[dict[str, str]] = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "'": "'", '"': '"'}


class Words:
    """Attributes:
    text: the line.
    line: its number.
    at: how far it has been read.
    """

    def __init__(self, text: str, line: int, file: str) -> None:
        self.text = text
        self.line = line
        self.file = file
        self.at = 0

    @property
    def column(self) -> int:
        """Of what comes next."""
        self.skip()
        return self.at + 1

    def error(self, message: str, column: int = 0) -> AssemblyError:
        """An error at what comes next, or at a column."""
        return AssemblyError(message, self.line, column or self.at + 1, self.file)

    def skip(self) -> None:
        """Go past spaces and a comment."""
        match = _SPACE.match(self.text, self.at)
        if match is not None:
            self.at = match.end()

    def ended(self) -> bool:
        """Whether nothing is left but a comment."""
        self.skip()
        return self.at >= len(self.text)

    def finish(self) -> None:
        """The line has to end here."""
        if not self.ended():
            raise self.error(f"unexpected {self.text[self.at :].strip()!r}")

    def rest(self) -> None:
        """Go to the end."""
        self.at = len(self.text)

    def sign(self, sign: str) -> bool:
        """Whether a sign comes next, which is then read."""
        self.skip()
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        return True

    def word(self, word: str) -> bool:
        """Whether a word comes next, which is then read."""
        self.skip()
        match = _NAME.match(self.text, self.at)
        if match is None or match[0] != word:
            return False
        self.at = match.end()
        return True

    def name(self, what: str) -> str:
        """The name that has to come next."""
        self.skip()
        match = _NAME.match(self.text, self.at)
        if match is None:
            found = self.text[self.at :].split()
            raise self.error(f"{what} is expected{f', not {found[0]!r}' if found else ''}")
        self.at = match.end()
        return match[0]

    def number(self) -> int | None:
        """The integer without a sign that comes next: decimal, 0x, 0b, or a letter in quotes."""
        self.skip()
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        found = match[0]
        if found[0] == "'":
            return ord(_unescaped(found[1:-1]))
        # (Of digits alone a 0 in front says nothing.)
        return int(found) if found.isdigit() else int(found, 0)

    def integer(self) -> int:
        """The integer, with or without a sign, that has to come next."""
        negative = self.sign("-")
        found = self.number()
        if found is None:
            raise self.error("a number is expected")
        return -found if negative else found

    def fraction(self) -> float | None:
        """The float with a point or an exponent, ``inf`` or ``nan``, that comes next."""
        self.skip()
        match = _FRACTION.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return float(match[0])

    def string(self) -> bytes:
        """The string in quotes that has to come next, in UTF-8."""
        self.skip()
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise self.error("a string in double quotes is expected")
        self.at = match.end()
        return _unescaped(match[1]).encode()


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text)
