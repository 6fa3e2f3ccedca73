"""The text form of globals::

    global counter align 8
      i64 1
    end

    global message align 1 constant
      string "hello\\n\\u0000"
    end

    global table align 8 constant
      address double
      address message + 2
      f64 0.5, 0.25
      bytes "00ff10"
      zero 4096
    end

What is in a global stands in lines, one behind the other without gaps: numbers of a type, a string (as in JSON; its characters as UTF-8, without an end that
is not written), bytes in hexadecimal, zeros, and addresses of globals and functions of the module, of eight bytes, with what is added to them.
"""

from __future__ import annotations

import json
import re
import struct
from typing import Final

from loopwright.errors import ParseError
from loopwright.ir.globals import MOST_GLOBAL, Global, Reference
from loopwright.ir.tokens import INTEGER, Tokens
from loopwright.types import BOOL, F32, F64, Type, limits

__all__ = ["global_text", "parse_global"]

_LINES: Final = "numbers behind their type, as in i32 1, 2, or string, bytes, zero, address or end"
_WORD: Final = re.compile(r"[^\W\d]\w*")
#: Bytes a line of the text holds, and how many zeros are worth one of their own.
_LINE: Final = 32
_ZEROS: Final = 8


def parse_global(tokens: Tokens) -> Global:
    """The global whose first line is the current one. Raises ``ParseError``."""
    tokens.need("global")
    made = Global(tokens.name("the name of the global"), 0)
    if tokens.take("align"):
        made.align = tokens.count("an alignment in bytes")
        if made.align == 0 or made.align & made.align - 1:
            tokens.at -= 1
            raise tokens.expected("a power of two")
    made.constant = tokens.take("constant")
    tokens.done()
    first = tokens.number
    data = bytearray()
    while True:
        if not tokens.next_line():
            raise ParseError(f"expected `end` for the global of line {first}, found the end of the text", tokens.number, tokens.columns[0], tokens.file)
        if tokens.take("end"):
            break
        _contents(tokens, made, data)
        tokens.done()
        if len(data) > MOST_GLOBAL:
            raise tokens.error(f"a global takes at most {MOST_GLOBAL} bytes", 1)
    tokens.done()
    made.size = len(data)
    made.data = bytes(data).rstrip(b"\0")
    return made


def _contents(tokens: Tokens, made: Global, data: bytearray) -> None:
    """One line of what is in a global."""
    if tokens.take("string"):
        try:
            data += tokens.string().encode()
        except UnicodeEncodeError:
            tokens.at -= 1
            raise tokens.expected("characters that UTF-8 has") from None
    elif tokens.take("bytes"):
        text = tokens.string()
        if len(text) % 2 or not all(c in "0123456789abcdefABCDEF" for c in text):
            tokens.at -= 1
            raise tokens.expected("two hexadecimal digits a byte")
        data += bytes.fromhex(text)
    elif tokens.take("zero"):
        data += bytes(tokens.integer("how many bytes are 0", 0, MOST_GLOBAL))
    elif tokens.take("address"):
        reference = Reference(len(data), tokens.name("the name of a global or a function"))
        if tokens.take("+"):
            reference.addend = tokens.integer("a number of bytes")
        elif tokens.take("-"):
            reference.addend = -tokens.integer("a number of bytes")
        made.references.append(reference)
        data += bytes(8)
    elif tokens.kinds[tokens.at] == "word":
        _numbers(tokens, data)
    else:
        raise tokens.expected(_LINES)


def _numbers(tokens: Tokens, data: bytearray) -> None:
    """Numbers behind their type."""
    type_ = tokens.type()
    if type_.lanes or type_ is BOOL or not (type_.is_integer or type_ is F32 or type_ is F64):
        tokens.at -= 1
        raise tokens.expected(_LINES)
    while True:
        data += _number(tokens, type_)
        if not tokens.take(","):
            return


def _number(tokens: Tokens, type_: Type) -> bytes:
    if type_.is_integer:
        low, high = limits(type_)
        return tokens.integer(f"a number of {type_.name}", low, high).to_bytes(type_.size, "little", signed=type_.signed)
    text = tokens.texts[tokens.at]
    if tokens.kinds[tokens.at] != "number" and text not in ("inf", "nan"):
        raise tokens.expected(f"a number of {type_.name}")
    tokens.at += 1
    value = float(int(text)) if INTEGER.fullmatch(text) and len(text) < 300 else float(text)
    try:
        return struct.pack("<f" if type_ is F32 else "<d", value)
    except OverflowError:
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


def global_text(made: Global) -> str:
    """The text of a global, which ``parse_global`` reads back."""
    out = [f"global {_quoted(made.name)} align {made.align}{' constant' if made.constant else ''}"]
    at = 0
    for reference in made.references:
        _bytes(out, made, at, reference.offset)
        added = f" + {reference.addend}" if reference.addend > 0 else f" - {-reference.addend}" if reference.addend < 0 else ""
        out.append(f"  address {_quoted(reference.symbol)}{added}")
        at = reference.offset + 8
    _bytes(out, made, at, made.size)
    out.append("end\n")
    return "\n".join(out)


def _quoted(name: str) -> str:
    return name if _WORD.fullmatch(name) else json.dumps(name)


def _bytes(out: list[str], made: Global, first: int, last: int) -> None:
    """Lines for the bytes from one offset up to another."""
    data = made.data[first:last]
    at = 0
    while at < len(data):
        zeros = len(data) - at - len(data[at:].lstrip(b"\0"))
        if zeros >= _ZEROS:
            out.append(f"  zero {zeros}")
            at += zeros
            continue
        end = data.find(bytes(_ZEROS), at + zeros)
        piece = data[at : min(at + _LINE, len(data) if end < 0 else end)]
        if all(32 <= c < 127 or c in (0, 10) for c in piece) and any(c >= 32 for c in piece):
            out.append(f"  string {json.dumps(piece.decode())}")
        else:
            out.append(f'  bytes "{piece.hex()}"')
        at += len(piece)
    rest = last - first - len(data)
    if rest:
        out.append(f"  zero {rest}")
