"""The words of LLVM IR (LLVM Language Reference, "Identifiers"), and a reader's place among them."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from loopwright.errors import ParseError

__all__ = ["Tokens", "unescaped", "unquoted"]

_WORD: Final = re.compile(
    r"""\s+ | ;[^\n]*
    | (?P<token> [%@]"[^"]*" | [%@$][-\w$.]+ | ![-\w$.]+ | c?"[^"]*" | \#\w+
    | -?\d+\.\d*(?:[eE][-+]?\d+)? | 0x[KMLHR]?[0-9A-Fa-f]+ | -?\d+ | [A-Za-z_][-\w$.]* | \.\.\. | [][(){}<>,=*|:!] )""",
    re.VERBOSE,
)
_ESCAPED: Final = re.compile(rb"\\([0-9A-Fa-f]{2}|\\)")


class Tokens:
    """The words of one line, or of several that belong together.

    Attributes:
        words: the words.
        at: which is next.
        line: of the text, from 1.
        file: for error messages.
    """

    __slots__ = ("at", "file", "line", "words")

    def __init__(self, text: str, line: int, file: str) -> None:
        self.words: list[str] = [match["token"] for match in _WORD.finditer(text) if match["token"]]
        self.at = 0
        self.line = line
        self.file = file

    def peek(self, ahead: int = 0) -> str:
        """A word that is still to come, or "" behind the last."""
        at = self.at + ahead
        return self.words[at] if at < len(self.words) else ""

    def take(self) -> str:
        """The next word."""
        if self.at >= len(self.words):
            self.fail("the line ends too early")
        self.at += 1
        return self.words[self.at - 1]

    def accept(self, word: str) -> bool:
        """Take a word if it is next."""
        if self.peek() == word:
            self.at += 1
            return True
        return False

    def expect(self, word: str) -> None:
        """Take a word, which has to be next."""
        if not self.accept(word):
            self.fail(f"`{word}` is expected, not `{self.peek()}`")

    def number(self) -> int:
        """Take an integer."""
        word = self.take()
        try:
            return int(word)
        except ValueError:
            self.fail(f"a number is expected, not `{word}`")

    def skip_brackets(self) -> None:
        """Take what stands in round brackets, which are next, with them."""
        self.expect("(")
        depth = 1
        while depth:
            word = self.take()
            depth += (word == "(") - (word == ")")

    def fail(self, message: str) -> NoReturn:
        # (Where in its line is not kept: the word is what tells.)
        raise ParseError(message, self.line, self.at + 1, self.file)


def unquoted(name: str) -> str:
    """A name without its sign and quotes: `%5` is 5, `@"a b"` is a b."""
    name = name[1:]
    return unescaped(name[1:-1]).decode("utf-8", "replace") if name.startswith('"') else name


def unescaped(text: str) -> bytes:
    """The bytes of a string, in which `\\0A` is one, and `\\\\`."""
    return _ESCAPED.sub(lambda match: match[1] if match[1] == b"\\" else bytes([int(match[1], 16)]), text.encode())
