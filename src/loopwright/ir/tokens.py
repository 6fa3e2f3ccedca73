"""The tokens of the text form, line by line: what all readers of it stand on."""

from __future__ import annotations

import json
import re
from typing import Final

from loopwright.errors import ParseError
from loopwright.types import VOID, Type, parse_type

__all__ = ["INTEGER", "LIMIT", "Tokens"]

_TOKEN: Final = re.compile(
    r"""[ \t\r\f\v]*(?:
    (?P<comment>;.*)
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<register>%\w+(?:\.\w+)*)
  | (?P<physical>\$\w+)
  | (?P<slot>@s[0-9]{1,6}(?!\w))
  | (?P<number>-?(?:(?:inf|nan)(?!\w)|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?(?!\w)))
  | (?P<word>[^\W\d]\w*(?:\.\w+)*)
  | (?P<mark>->|\.\.\.|[()\[\]{},:=+*\#-])
  | (?P<end>$)
    )""",
    re.VERBOSE,
)
_LINE: Final = re.compile(r";[ \t]*@([0-9]{1,9})(?![0-9])")
INTEGER: Final = re.compile(r"-?[0-9]{1,400}")

#: A register number, slot number or count beyond this is a mistake (and would only fill memory).
LIMIT: Final = 1 << 20


class Tokens:
    """The tokens of the current line of a text. ``column`` and ``at`` walk over them."""

    def __init__(self, text: str, file: str) -> None:
        self.lines = text.split("\n")
        self.file = file
        self.number = 0
        self.at = 0
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.columns: list[int] = []
        self.user_line = 0

    # --- tokens -------------------------------------------------------------------------------------------

    def error(self, message: str, column: int = 0) -> ParseError:
        if column == 0:
            column = self.columns[self.at] if self.at < len(self.columns) else 1
        return ParseError(message, self.number, column, self.file)

    def expected(self, what: str) -> ParseError:
        found = self.texts[self.at] if self.at < len(self.texts) else ""
        if self.at >= len(self.kinds) or self.kinds[self.at] == "end":
            return self.error(f"expected {what}, found the end of the line")
        return self.error(f"expected {what}, found `{found}`")

    def next_line(self) -> bool:
        """Tokens of the next line that has any; False at the end of the text."""
        lines = self.lines
        while self.number < len(lines):
            text = lines[self.number]
            self.number += 1
            self.kinds = kinds = []
            self.texts = texts = []
            self.columns = columns = []
            self.at = 0
            self.user_line = 0
            place = 0
            while True:
                found = _TOKEN.match(text, place)
                if found is None:
                    rest = text[place:].lstrip()
                    column = len(text) - len(rest) + 1
                    if rest.startswith('"'):
                        raise ParseError("expected a closing quote before the end of the line", self.number, column, self.file)
                    raise ParseError(f"expected an instruction, an operand or a comment, found `{rest[:1]}`", self.number, column, self.file)
                kind = str(found.lastgroup)
                place = found.end()
                if kind == "comment":
                    noted = _LINE.match(found["comment"])
                    if noted is not None:
                        self.user_line = int(noted[1])
                    kind = "end"
                    texts.append("")
                    columns.append(found.start("comment") + 1)
                else:
                    texts.append(found[kind])
                    columns.append(found.start(kind) + 1)
                kinds.append(kind)
                if kind == "end":
                    break
            if len(kinds) > 1:
                return True
        self.kinds, self.texts, self.columns, self.at = ["end"], [""], [len(lines[-1]) + 1], 0
        return False

    def take(self, text: str) -> bool:
        """Step over a mark or word if it is next."""
        if self.texts[self.at] == text and self.kinds[self.at] in ("mark", "word"):
            self.at += 1
            return True
        return False

    def need(self, text: str) -> None:
        if not self.take(text):
            raise self.expected(f"`{text}`")

    def done(self) -> None:
        if self.kinds[self.at] != "end":
            raise self.expected("the end of the line")

    def word(self, what: str) -> str:
        if self.kinds[self.at] != "word":
            raise self.expected(what)
        self.at += 1
        return self.texts[self.at - 1]

    def name(self, what: str) -> str:
        """A word or a quoted string."""
        kind = self.kinds[self.at]
        if kind == "string":
            return self.string()
        if kind != "word" or "." in self.texts[self.at]:
            raise self.expected(what)
        self.at += 1
        return self.texts[self.at - 1]

    def string(self) -> str:
        if self.kinds[self.at] != "string":
            raise self.expected("a string in double quotes")
        try:
            value = json.loads(self.texts[self.at])
        except ValueError:
            raise self.error("expected a string as in JSON") from None
        self.at += 1
        return str(value)

    def integer(self, what: str, low: int = -(1 << 63), high: int = (1 << 63) - 1) -> int:
        text = self.texts[self.at]
        if self.kinds[self.at] != "number" or not INTEGER.fullmatch(text):
            raise self.expected(what)
        value = int(text)
        if not low <= value <= high:
            raise self.error(f"expected {what} between {low} and {high}, found {text[:30]}")
        self.at += 1
        return value

    def count(self, what: str) -> int:
        return self.integer(what, 0, LIMIT - 1)

    def type(self, void: bool = False) -> Type:
        text = self.word("a type, such as f32 or i32x8")
        return self._type_named(text, self.columns[self.at - 1], void)

    def _type_named(self, text: str, column: int, void: bool = False) -> Type:
        try:
            if len(text) < 20 and text.isascii():
                type_ = parse_type(text)
                if type_ is not VOID or void:
                    return type_
        except KeyError:
            pass
        raise self.error(f"expected a type, such as f32 or i32x8, found `{text}`", column)
