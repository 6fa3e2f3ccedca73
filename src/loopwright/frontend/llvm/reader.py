"""Reading a module of LLVM IR, as clang and LLVM's tools write it, line by line, with typed pointers (up to LLVM 14) or opaque ones.

Verification is LLVM's own, by llvmlite; what comes here is a module that verifies. Bitcode is first made text by it.
"""

from __future__ import annotations

import re
from typing import Final

from loopwright.errors import ParseError
from loopwright.frontend.llvm.constants import ConstantReader
from loopwright.frontend.llvm.instructions import InstructionReader
from loopwright.frontend.llvm.syntax import EXPRESSION, LOCAL, Block, Constant, Global, Instruction, LlvmFunction, LlvmModule, Parameter
from loopwright.frontend.llvm.tokens import Tokens, unquoted
from loopwright.frontend.llvm.types import METADATA, VOID_TYPE, integer

__all__ = ["read_module"]

_LABEL: Final = re.compile(r'^("[^"]*"|[-\w$.]+):')
_TERMINATORS: Final = frozenset(("ret", "br", "switch", "unreachable"))
_METADATA: Final = re.compile(r"^!(\d+) = (?:distinct )?(.*)")
_LAYOUT: Final = re.compile(r'^target datalayout = "([^"]*)"')
_NAMED_TYPE: Final = re.compile(r'^%("[^"]*"|[-\w$.]+) = type ')
_DEBUG: Final = re.compile(r"!dbg !(\d+)")
_ALIGN: Final = re.compile(r", align (\d+)")


def read_module(text: str, file: str) -> LlvmModule:
    """The module that a text describes.

    Args:
        text: LLVM IR that verifies.
        file: for error messages.

    Raises ``ParseError`` for what is no LLVM IR, ``UnsupportedOperationError`` for what is not supported on the module's level.
    """
    return _ModuleReader(text, file).read()


class _ModuleReader:
    """Reads line by line; the state is which line is next."""

    def __init__(self, text: str, file: str) -> None:
        self.lines = text.split("\n")
        self.file = file
        self.module = LlvmModule(self.lines, file)
        self.constants = ConstantReader()
        self.instructions = InstructionReader(self.constants)
        self.at = 0

    def read(self) -> LlvmModule:
        lines = self.lines
        module = self.module
        waiting: list[int] = []
        # (Types first: a function may use one that is defined behind it.)
        for number, line in enumerate(lines):
            named = _NAMED_TYPE.match(line) if line[:1] == "%" else None
            if named:
                self.constants.define(unquoted("%" + named[1]), Tokens(line[named.end() :], number + 1, self.file))
            elif line[:1] in ("@", "d"):
                waiting.append(number)
            elif line[:1] == "!":
                match = _METADATA.match(line)
                if match:
                    module.metadata[int(match[1])] = match[2]
            elif line.startswith("target datalayout"):
                layout = _LAYOUT.match(line)
                module.layout = layout[1] if layout else ""
            elif line.startswith("target triple"):
                module.triple = line.partition('"')[2].rstrip('"')
            elif line.startswith("module asm"):
                raise module.unsupported("inline assembly is not supported: write it in C", number + 1)
        for number in waiting:
            self.at = number
            line = lines[number]
            if line[:1] == "@":
                self._global(line)
            elif line.startswith(("define ", "declare ")):
                self._function(line)
        return module

    def _global(self, line: str) -> None:
        tokens = Tokens(line, self.at + 1, self.file)
        name = unquoted(tokens.take())
        tokens.expect("=")
        words: list[str] = []
        while tokens.peek() not in ("global", "constant", "alias", "ifunc"):
            words.append(tokens.take())
            if tokens.peek() == "(":
                tokens.skip_brackets()
        kind = tokens.take()
        if name in ("llvm.used", "llvm.compiler.used"):
            # (A list for linkers.)
            return
        if kind == "ifunc" or "thread_local" in words:
            what = "functions chosen when a program starts (ifunc)" if kind == "ifunc" else "variables of a thread (thread_local)"
            raise self.module.unsupported(f"{what} are not supported", self.at + 1)
        type_ = self.constants.type(tokens)
        if kind == "alias":
            tokens.expect(",")
            self.module.aliases[name] = self.constants.typed(tokens)
            return
        initial = None
        if tokens.peek() not in (",", ""):
            initial = self.constants.value(tokens, type_)
        if name in ("llvm.global_ctors", "llvm.global_dtors"):
            listed = self.module.begins if name == "llvm.global_ctors" else self.module.ends
            listed += [_prioritised(each) for each in (initial.parts if initial is not None else ())]
            self.module.listed = self.at + 1
            return
        if "extern_weak" in words:
            self.module.weak.add(name)
        align = _ALIGN.search(line)
        # (Another may stand in place of a weak one, with other contents.)
        constant = kind == "constant" and "weak" not in words
        self.module.globals[name] = Global(name, type_, initial, constant, int(align[1]) if align else 0, self.at + 1)

    def _function(self, line: str) -> None:
        tokens = Tokens(line, self.at + 1, self.file)
        defined = tokens.take() == "define"
        while tokens.peek()[:1] == "!":
            # The metadata of a declaration.
            tokens.at += 2
        attributes = self.constants.attributes(tokens)
        result = self.constants.type(tokens)
        name = unquoted(tokens.take())
        made = LlvmFunction(name, result, attributes, self.at + 1)
        made.local = line.startswith(("define internal ", "define private "))
        tokens.expect("(")
        while not tokens.accept(")"):
            if tokens.accept("..."):
                made.variadic = True
                continue
            type_ = self.constants.type(tokens)
            said = self.constants.attributes(tokens)
            named = unquoted(tokens.take()) if tokens.peek()[:1] == "%" else ""
            if type_.kind != METADATA:
                made.parameters.append(Parameter(type_, named or str(len(made.parameters)), said))
            tokens.accept(",")
        debug = _DEBUG.search(line)
        made.debug = int(debug[1]) if debug else -1
        self.module.functions[name] = made
        if line.startswith("declare extern_weak "):
            self.module.weak.add(name)
        if defined and not line.rstrip().endswith("{"):
            tokens.fail("a function's instructions begin on the next line")
        if defined:
            self._body(made)

    def _jump(self, i: Instruction, function: str) -> list[Instruction]:
        """A jump to one of several addresses of blocks, as a `switch` over the numbers that these are."""
        labels = list(dict.fromkeys(i.labels))
        number = Instruction("ptrtoint", f"block at {i.line}", i.line, integer(64))
        number.operands = i.operands
        chosen = Instruction("switch" if labels else "unreachable", "", i.line, VOID_TYPE)
        number.debug = chosen.debug = i.debug
        cases = [self.constants.block(function, label, number.type) for label in labels[1:]]
        chosen.operands = [Constant(LOCAL, number.type, number.name), *cases]
        chosen.labels = labels
        return [number, chosen]

    def _body(self, made: LlvmFunction) -> None:
        lines = self.lines
        # The entry may have no label: it has the next number behind those of the parameters then.
        block = Block(str(sum(parameter.name.isdigit() for parameter in made.parameters)))
        self.at += 1
        while not lines[self.at].startswith("}"):
            line = lines[self.at]
            number = self.at + 1
            label = _LABEL.match(line)
            self.at += 1
            if label:
                if block.code:
                    made.blocks.append(block)
                block = Block(unquoted("%" + label[1]))
                rest = line[label.end() :].strip()
                if rest and rest[0] != ";":
                    raise ParseError("an instruction begins on a line of its own", number, label.end() + 1, self.file)
                continue
            stripped = line.strip()
            if not stripped or stripped[0] in ";#":
                continue
            if block.code and block.code[-1].opcode in _TERMINATORS:
                # (LLVM gives such a block the next number, and writes it.)
                raise ParseError("a block behind another begins with its label", number, 1, self.file)
            if "[" in line and stripped.startswith("switch ") and "]" not in line:
                while "]" not in lines[self.at]:
                    line += lines[self.at]
                    self.at += 1
                line += lines[self.at]
                self.at += 1
            i = self.instructions.read(line, number, self.file)
            block.code += self._jump(i, made.name) if i.opcode == "indirectbr" else [i]
        made.blocks.append(block)


def _prioritised(each: Constant) -> tuple[int, str]:
    """A function that runs before or behind main: its priority and its name."""
    priority, function = each.parts[:2]
    while function.kind == EXPRESSION and function.parts:
        function = function.parts[0]
    return int(priority.number), function.name
