"""Reading types, constants and what is said of parameters."""

from __future__ import annotations

import re
import struct
from typing import Final

from loopwright.frontend.llvm.syntax import AGGREGATE, BYTES, EXPRESSION, GLOBAL, LOCAL, NULL, NUMBER, OTHER, UNDEFINED, Constant
from loopwright.frontend.llvm.tokens import Tokens, unescaped, unquoted
from loopwright.frontend.llvm.types import (
    ARRAY,
    FLOAT,
    FUNCTION,
    INTEGER,
    LABEL,
    METADATA,
    OPAQUE,
    POINTER,
    STRUCT,
    VECTOR,
    VOID_TYPE,
    LlvmType,
    float_type,
    integer,
)

__all__ = ["ConstantReader", "is_type"]

_INTEGER: Final = re.compile(r"i(\d+)")
_PLAIN: Final[dict[str, LlvmType]] = {"void": VOID_TYPE, "ptr": LlvmType(POINTER), "label": LlvmType(LABEL), "metadata": LlvmType(METADATA)}
#: Words that are values, or begin one.
_VALUES: Final[dict[str, int]] = {
    "null": NULL,
    "zeroinitializer": NULL,
    "none": NULL,
    "undef": UNDEFINED,
    "poison": UNDEFINED,
    "true": NUMBER,
    "false": NUMBER,
    "asm": OTHER,
    "blockaddress": OTHER,
    "dso_local_equivalent": OTHER,
    "no_cfi": OTHER,
}
_CASTS: Final = frozenset(("bitcast", "inttoptr", "ptrtoint", "trunc", "zext", "sext", "addrspacecast"))
_ON_TWO: Final = frozenset(("add", "sub", "mul", "xor", "and", "or", "shl", "lshr", "ashr"))
_COMPARISONS: Final = frozenset(("icmp", "fcmp"))
_EXPRESSIONS: Final = _CASTS | _ON_TWO | _COMPARISONS | {"getelementptr", "select", "splat"}
#: What is said of a parameter with a type.
_TYPED: Final = frozenset(("byval", "sret", "byref", "inalloca", "preallocated", "elementtype"))
#: Constants of floats by the letter behind 0x: those that are too wide for a f64 have one.
_FLOAT_FORMATS: Final[dict[str, str]] = {"H": "<e"}


def is_type(word: str) -> bool:
    """Whether a word begins a type."""
    return word[:1] in ("%", "{", "[", "<") or word in _PLAIN or _INTEGER.fullmatch(word) is not None or float_type(word) is not None


class ConstantReader:
    """Reads types and constants of one module.

    Attributes:
        named: its identified types, by name.
    """

    def __init__(self) -> None:
        self.named: dict[str, LlvmType] = {}
        #: By function and label.
        self._blocks: dict[str, dict[str, int]] = {}

    # --- types ----------------------------------------------------------------------------------------------

    def type(self, tokens: Tokens) -> LlvmType:
        """A type."""
        made = self._base(tokens)
        while True:
            if tokens.accept("*"):
                made = _PLAIN["ptr"]
            elif tokens.peek() == "addrspace":
                tokens.at += 1
                tokens.skip_brackets()
            elif tokens.peek() == "(":
                made = self._function(tokens, made)
            else:
                return made

    def _base(self, tokens: Tokens) -> LlvmType:
        word = tokens.take()
        plain = _PLAIN.get(word)
        if plain is not None:
            return plain
        match = _INTEGER.fullmatch(word)
        if match:
            return integer(int(match[1]))
        if word[0] == "%":
            return self.identified(unquoted(word))
        if word == "{":
            return self._fields(tokens, "}", False)
        if word == "[":
            return self._counted(tokens, ARRAY, "]")
        if word == "<":
            if tokens.accept("{"):
                made = self._fields(tokens, "}", True)
                tokens.expect(">")
                return made
            return self._counted(tokens, VECTOR, ">")
        known = float_type(word)
        if known is None:
            tokens.fail(f"`{word}` is no type")
        return known

    def identified(self, name: str) -> LlvmType:
        """The type of a name, which may be defined later."""
        known = self.named.get(name)
        if known is None:
            known = self.named[name] = LlvmType(OPAQUE, name=name)
        return known

    def define(self, name: str, tokens: Tokens) -> None:
        """`%name = type …`."""
        known = self.identified(name)
        if tokens.accept("opaque"):
            return
        made = self.type(tokens)
        known.kind, known.bits, known.elements, known.count, known.packed = made.kind, made.bits, made.elements, made.count, made.packed
        if made.kind != STRUCT:
            known.name = made.name

    def _fields(self, tokens: Tokens, closing: str, packed: bool) -> LlvmType:
        fields: list[LlvmType] = []
        while not tokens.accept(closing):
            fields.append(self.type(tokens))
            tokens.accept(",")
        return LlvmType(STRUCT, elements=tuple(fields), packed=packed)

    def _counted(self, tokens: Tokens, kind: int, closing: str) -> LlvmType:
        if tokens.accept("vscale"):
            tokens.expect("x")
        count = tokens.number()
        tokens.expect("x")
        element = self.type(tokens)
        tokens.expect(closing)
        return LlvmType(kind, elements=(element,), count=count)

    def _function(self, tokens: Tokens, result: LlvmType) -> LlvmType:
        tokens.expect("(")
        types = [result]
        variadic = False
        while not tokens.accept(")"):
            if tokens.accept("..."):
                variadic = True
            else:
                types.append(self.type(tokens))
                self.attributes(tokens)
            tokens.accept(",")
        made = LlvmType(FUNCTION, elements=tuple(types))
        made.variadic = variadic
        return made

    # --- what is said of parameters ---------------------------------------------------------------------------

    def attributes(self, tokens: Tokens) -> dict[str, LlvmType | None]:
        """The words in front of a type or value that say something of it, with the types that some of them name."""
        found: dict[str, LlvmType | None] = {}
        while True:
            word = tokens.peek()
            if word[:1] == '"':
                tokens.at += 1
                if tokens.accept("="):
                    tokens.take()
                continue
            if not word or not (word[0].isalpha() or word[0] == "_") or is_type(word) or word in _VALUES or word in _EXPRESSIONS or word[:2] == 'c"':
                return found
            tokens.at += 1
            found[word] = None
            if word in _TYPED and tokens.peek() == "(":
                tokens.at += 1
                found[word] = self.type(tokens)
                tokens.expect(")")
            elif tokens.peek() == "(":
                tokens.skip_brackets()
            elif word == "align" and tokens.peek().isdigit():
                # (An attribute of its own by its number: no other is asked for the number.)
                found[f"align {tokens.take()}"] = None
            elif word in ("align", "cc", "section", "partition", "alignstack") or (word == "captures" and tokens.peek().isdigit()):
                tokens.take()

    # --- values -----------------------------------------------------------------------------------------------

    def typed(self, tokens: Tokens) -> Constant:
        """A type and a value of it."""
        type_ = self.type(tokens)
        self.attributes(tokens)
        return self.value(tokens, type_)

    def value(self, tokens: Tokens, type_: LlvmType) -> Constant:
        """A value of a type."""
        word = tokens.peek()
        first = word[:1]
        if first == "%":
            tokens.at += 1
            return Constant(LOCAL, type_, unquoted(word))
        if first == "@":
            tokens.at += 1
            return Constant(GLOBAL, type_, unquoted(word))
        if first.isdigit() or first == "-":
            tokens.at += 1
            return Constant(NUMBER, type_, number=self._number(tokens, word, type_))
        if word == "blockaddress":
            return self._block(tokens, type_)
        if word in _VALUES:
            return self._word(tokens, type_)
        if word in _EXPRESSIONS:
            return self._expression(tokens, type_)
        if word[:2] == 'c"':
            tokens.at += 1
            return Constant(BYTES, type_, data=unescaped(word[2:-1]))
        if first in ("{", "[", "<"):
            return self._aggregate(tokens, type_)
        if first == "!" or type_.kind == METADATA:
            while tokens.peek() not in (",", ")", ""):
                if tokens.peek(1) == "(":
                    tokens.at += 1
                    tokens.skip_brackets()
                else:
                    tokens.at += 1
            return Constant(OTHER, type_, "metadata")
        tokens.fail(f"`{word}` is no value")

    def _block(self, tokens: Tokens, type_: LlvmType) -> Constant:
        """The address of a block, which is a number: nothing can be done with it but to go there."""
        tokens.at += 1
        tokens.expect("(")
        function = unquoted(tokens.take())
        tokens.expect(",")
        number = self.block(function, unquoted(tokens.take()), type_)
        tokens.expect(")")
        return number

    def block(self, function: str, label: str, type_: LlvmType) -> Constant:
        """The number that stands for the address of a block: from 1 on in each function."""
        known = self._blocks.setdefault(function, {})
        number = Constant(NUMBER, integer(64), number=known.setdefault(label, len(known) + 1))
        return number if type_.kind == INTEGER else Constant(EXPRESSION, type_, "inttoptr", parts=(number,))

    def _word(self, tokens: Tokens, type_: LlvmType) -> Constant:
        word = tokens.take()
        kind = _VALUES[word]
        if word == "asm":
            while tokens.peek() in ("sideeffect", "alignstack", "inteldialect", "unwind"):
                tokens.at += 1
            text = tokens.take()
            tokens.expect(",")
            return Constant(
                kind, type_, word, parts=(Constant(BYTES, type_, data=unescaped(text[1:-1])), Constant(BYTES, type_, data=unescaped(tokens.take()[1:-1])))
            )
        elif kind == OTHER:
            if tokens.peek() == "(":
                tokens.skip_brackets()
            else:
                tokens.take()
        return Constant(kind, type_, word, int(word == "true"))

    def _number(self, tokens: Tokens, word: str, type_: LlvmType) -> int | float:
        if type_.kind != FLOAT:
            return int(word, 0)
        if not word.startswith("0x"):
            return float(word)
        if word[2] in _FLOAT_FORMATS:
            return float(struct.unpack(_FLOAT_FORMATS[word[2]], int(word[3:], 16).to_bytes(2, "little"))[0])
        if word[2] in "KMLR":
            # (Of a type that nothing here holds; it is refused where it is used.)
            return 0.0
        return float(struct.unpack("<d", int(word, 16).to_bytes(8, "little"))[0])

    def _aggregate(self, tokens: Tokens, type_: LlvmType) -> Constant:
        opened = tokens.take()
        closing = "}" if opened == "<" and tokens.accept("{") else {"{": "}", "[": "]", "<": ">"}[opened]
        parts: list[Constant] = []
        while not tokens.accept(closing):
            parts.append(self.typed(tokens))
            tokens.accept(",")
        if opened == "<" and closing == "}":
            tokens.expect(">")
        return Constant(AGGREGATE, type_, parts=tuple(parts))

    def _expression(self, tokens: Tokens, type_: LlvmType) -> Constant:
        name = tokens.take()
        data = b""
        while tokens.peek() != "(":
            data = tokens.take().encode()
            if data == b"inrange" and tokens.peek() == "(":
                tokens.skip_brackets()
        tokens.expect("(")
        source: LlvmType | None = None
        if name == "getelementptr":
            source = self.type(tokens)
            tokens.expect(",")
        parts: list[Constant] = []
        while not tokens.accept(")"):
            tokens.accept("inrange")
            parts.append(self.typed(tokens))
            if tokens.accept("to"):
                self.type(tokens)
            tokens.accept(",")
        if name == "splat":
            return Constant(AGGREGATE, type_, parts=(*parts,) * type_.count)
        made = Constant(EXPRESSION, type_, name, parts=tuple(parts), data=data if name in _COMPARISONS else b"")
        made.source = source
        return made
