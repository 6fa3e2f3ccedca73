"""Reading instructions: one line of LLVM IR each, a `switch` several (LLVM Language Reference, "Instruction Reference")."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from loopwright.frontend.llvm.constants import ConstantReader
from loopwright.frontend.llvm.syntax import Argument, CallSite, Constant, Instruction
from loopwright.frontend.llvm.tokens import Tokens, unquoted
from loopwright.frontend.llvm.types import ARRAY, FUNCTION, STRUCT, VECTOR, VOID_TYPE, LlvmType, integer

__all__ = ["InstructionReader"]

_BINARY: Final = ["add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "fadd", "fsub", "fmul", "fdiv", "frem"]
_CASTS: Final = ["trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "inttoptr", "bitcast", "addrspacecast"]
#: Words between an instruction's name and its operands that change nothing here.
_FLAGS: Final = frozenset(
    [
        "nuw",
        "nsw",
        "nusw",
        "exact",
        "disjoint",
        "nneg",
        "samesign",
        "inbounds",
        "inrange",
        "fast",
        "nnan",
        "ninf",
        "nsz",
        "arcp",
        "contract",
        "afn",
        "reassoc",
        "tail",
        "musttail",
        "notail",
        "volatile",
        "inalloca",
    ]
)
_DEBUG: Final = re.compile(r", !dbg !(\d+)")


class InstructionReader:
    """Reads the instructions of a module's functions.

    Args:
        constants: reads their types and constants.
    """

    def __init__(self, constants: ConstantReader) -> None:
        self.constants = constants
        forms: dict[str, Callable[[Tokens, Instruction], None]] = {
            "icmp": self._comparison,
            "fcmp": self._comparison,
            "fneg": self._unary,
            "freeze": self._unary,
            "select": self._list,
            "alloca": self._alloca,
            "load": self._load,
            "store": self._list,
            "getelementptr": self._element,
            "br": self._branch,
            "switch": self._switch,
            "indirectbr": self._indirect,
            "ret": self._return,
            "unreachable": self._nothing,
            "phi": self._phi,
            "call": self._call,
            "extractvalue": self._extract,
            "insertvalue": self._insert,
            "extractelement": self._operands,
            "insertelement": self._operands,
            "shufflevector": self._operands,
            "fence": self._fence,
        }
        forms.update(dict.fromkeys(_BINARY, self._binary))
        forms.update(dict.fromkeys(_CASTS, self._cast))
        self._forms = forms

    def read(self, text: str, line: int, file: str) -> Instruction:
        """The instruction that a line is, or several lines joined. Of one that is not known only the name is read."""
        tokens = Tokens(text, line, file)
        name = ""
        if tokens.peek(1) == "=" and tokens.peek()[:1] == "%":
            name = unquoted(tokens.take())
            tokens.at += 1
        opcode = tokens.take()
        while opcode in ("tail", "musttail", "notail"):
            opcode = tokens.take()
        made = Instruction(opcode, name, line, VOID_TYPE)
        debug = _DEBUG.search(text)
        if debug:
            made.debug = int(debug[1])
        form = self._forms.get(opcode)
        if form is not None:
            while tokens.peek() in _FLAGS:
                made.flags.append(tokens.take())
                if tokens.peek() == "(":
                    tokens.skip_brackets()
            if tokens.peek() == "atomic":
                made.opcode = f"{opcode} atomic"
            else:
                form(tokens, made)
        return made

    def _nothing(self, tokens: Tokens, made: Instruction) -> None:
        pass

    def _fence(self, tokens: Tokens, made: Instruction) -> None:
        """What is ordered, and among whose accesses."""
        if tokens.accept("syncscope"):
            tokens.expect("(")
            made.flags.append(tokens.take().strip('"'))
            tokens.expect(")")
        made.detail = tokens.take()

    def _binary(self, tokens: Tokens, made: Instruction) -> None:
        first = self.constants.typed(tokens)
        tokens.expect(",")
        made.operands = [first, self.constants.value(tokens, first.type)]
        made.type = first.type

    def _unary(self, tokens: Tokens, made: Instruction) -> None:
        made.operands = [self.constants.typed(tokens)]
        made.type = made.operands[0].type

    def _comparison(self, tokens: Tokens, made: Instruction) -> None:
        made.detail = tokens.take()
        self._binary(tokens, made)
        compared = made.type
        made.type = LlvmType(VECTOR, elements=(integer(1),), count=compared.count) if compared.kind == VECTOR else integer(1)

    def _cast(self, tokens: Tokens, made: Instruction) -> None:
        made.operands = [self.constants.typed(tokens)]
        tokens.expect("to")
        made.type = self.constants.type(tokens)

    def _list(self, tokens: Tokens, made: Instruction) -> None:
        """Typed operands one after the other, up to `align` or metadata: `store`, `select`."""
        operands = [self.constants.typed(tokens)]
        count = 3 if made.opcode == "select" else 2
        while len(operands) < count:
            tokens.expect(",")
            operands.append(self.constants.typed(tokens))
        made.operands = operands
        if made.opcode == "select":
            made.type = operands[1].type
        else:
            self._alignment(tokens, made)

    def _alignment(self, tokens: Tokens, made: Instruction) -> None:
        """Of what an access's address is known to be a multiple."""
        if tokens.accept(",") and tokens.accept("align"):
            made.numbers = [tokens.number()]

    def _operands(self, tokens: Tokens, made: Instruction) -> None:
        """Typed operands one after the other: of what has to do with elements of vectors."""
        made.operands = [self.constants.typed(tokens)]
        while tokens.accept(","):
            if tokens.peek()[:1] == "!":
                break
            made.operands.append(self.constants.typed(tokens))
        whole = made.operands[0].type
        if made.opcode == "extractelement":
            made.type = whole.elements[0]
        elif made.opcode == "insertelement":
            made.type = whole
        else:
            made.type = LlvmType(VECTOR, elements=whole.elements, count=made.operands[2].type.count)

    def _alloca(self, tokens: Tokens, made: Instruction) -> None:
        made.source = self.constants.type(tokens)
        made.type = LlvmType(3)
        while tokens.accept(","):
            word = tokens.peek()
            if word == "align":
                tokens.at += 1
                made.numbers = [tokens.number()]
            elif word == "addrspace" or word[:1] == "!":
                return
            else:
                made.operands = [self.constants.typed(tokens)]

    def _load(self, tokens: Tokens, made: Instruction) -> None:
        made.type = self.constants.type(tokens)
        tokens.expect(",")
        made.operands = [self.constants.typed(tokens)]
        self._alignment(tokens, made)

    def _element(self, tokens: Tokens, made: Instruction) -> None:
        made.source = self.constants.type(tokens)
        made.type = LlvmType(3)
        while tokens.accept(","):
            if tokens.peek()[:1] == "!":
                return
            tokens.accept("inrange")
            made.operands.append(self.constants.typed(tokens))

    def _label(self, tokens: Tokens) -> str:
        tokens.expect("label")
        return unquoted(tokens.take())

    def _branch(self, tokens: Tokens, made: Instruction) -> None:
        if tokens.peek() != "label":
            made.operands = [self.constants.typed(tokens)]
            tokens.expect(",")
            made.labels.append(self._label(tokens))
            tokens.expect(",")
        made.labels.append(self._label(tokens))

    def _switch(self, tokens: Tokens, made: Instruction) -> None:
        made.operands = [self.constants.typed(tokens)]
        tokens.expect(",")
        made.labels = [self._label(tokens)]
        tokens.expect("[")
        while not tokens.accept("]"):
            made.operands.append(self.constants.typed(tokens))
            tokens.expect(",")
            made.labels.append(self._label(tokens))

    def _indirect(self, tokens: Tokens, made: Instruction) -> None:
        made.operands = [self.constants.typed(tokens)]
        tokens.expect(",")
        tokens.expect("[")
        while not tokens.accept("]"):
            made.labels.append(self._label(tokens))
            tokens.accept(",")

    def _return(self, tokens: Tokens, made: Instruction) -> None:
        type_ = self.constants.type(tokens)
        if type_ is not VOID_TYPE:
            made.operands = [self.constants.value(tokens, type_)]

    def _phi(self, tokens: Tokens, made: Instruction) -> None:
        made.type = self.constants.type(tokens)
        while tokens.accept("["):
            made.operands.append(self.constants.value(tokens, made.type))
            tokens.expect(",")
            made.labels.append(unquoted(tokens.take()))
            tokens.expect("]")
            tokens.accept(",")

    def _call(self, tokens: Tokens, made: Instruction) -> None:
        constants = self.constants
        attributes = constants.attributes(tokens)
        type_ = constants.type(tokens)
        made.type = type_.elements[0] if type_.kind == FUNCTION else type_
        callee = constants.value(tokens, LlvmType(3))
        arguments: list[Argument] = []
        if callee.name.startswith("llvm.dbg."):
            # (Their operands are metadata.)
            made.call = CallSite(callee, type_, attributes, arguments)
            return
        tokens.expect("(")
        while not tokens.accept(")"):
            argument = constants.type(tokens)
            said = constants.attributes(tokens)
            arguments.append(Argument(constants.value(tokens, argument), said))
            tokens.accept(",")
        made.call = CallSite(callee, type_, attributes, arguments)

    def _indices(self, tokens: Tokens, made: Instruction) -> None:
        while tokens.accept(","):
            if tokens.peek()[:1] == "!":
                return
            made.numbers.append(tokens.number())

    def _extract(self, tokens: Tokens, made: Instruction) -> None:
        made.operands = [self.constants.typed(tokens)]
        self._indices(tokens, made)
        made.type = _within(made.operands[0].type, made.numbers)

    def _insert(self, tokens: Tokens, made: Instruction) -> None:
        whole: Constant = self.constants.typed(tokens)
        tokens.expect(",")
        made.operands = [whole, self.constants.typed(tokens)]
        self._indices(tokens, made)
        made.type = whole.type


def _within(type_: LlvmType, numbers: list[int]) -> LlvmType:
    """The type of a part of an aggregate."""
    for number in numbers:
        type_ = type_.elements[number] if type_.kind == STRUCT else type_.elements[0] if type_.kind == ARRAY else type_
    return type_
