"""What LLVM IR consists of, as it is read: modules, functions, blocks, instructions, values.

Values are trees only in constants. A value that an instruction or parameter gives is named by its text, without the sign (`%5` is "5").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.errors import UnsupportedOperationError
from loopwright.frontend.llvm.types import LlvmType

__all__ = [
    "AGGREGATE",
    "BYTES",
    "EXPRESSION",
    "GLOBAL",
    "LOCAL",
    "NULL",
    "NUMBER",
    "OTHER",
    "UNDEFINED",
    "Argument",
    "Block",
    "CallSite",
    "Constant",
    "Global",
    "Instruction",
    "LlvmFunction",
    "LlvmModule",
    "Parameter",
]

# kinds of value
LOCAL: Final = 0
NUMBER: Final = 1
NULL: Final = 2
UNDEFINED: Final = 3
GLOBAL: Final = 4
AGGREGATE: Final = 5
BYTES: Final = 6
EXPRESSION: Final = 7
OTHER: Final = 8


class Constant:
    """An operand: a local value by name, or a constant.

    Attributes:
        kind: one of this module's codes. NULL is `null` and `zeroinitializer`, UNDEFINED `undef` and `poison`, OTHER what has no meaning here
            (metadata, inline assembly).
        type: its type.
        name: of a local value, of a global, the operation of an expression.
        number: an integer, or a float.
        parts: elements of an aggregate, operands of an expression; of inline assembly its text and its constraints.
        data: the bytes of a string; of a comparison what is asked.
        source: of a getelementptr: the type that is indexed.
    """

    __slots__ = ("data", "kind", "name", "number", "parts", "source", "type")

    def __init__(self, kind: int, type_: LlvmType, name: str = "", number: int | float = 0, parts: tuple[Constant, ...] = (), data: bytes = b"") -> None:
        self.kind = kind
        self.type = type_
        self.name = name
        self.number = number
        self.parts = parts
        self.data = data
        self.source: LlvmType | None = None


class Parameter:
    """A parameter of a function: its type, its name, what is said of it (`zeroext`, `byval`, …, with the type of a `byval` or `sret`)."""

    __slots__ = ("attributes", "name", "type")

    def __init__(self, type_: LlvmType, name: str, attributes: dict[str, LlvmType | None]) -> None:
        self.type = type_
        self.name = name
        self.attributes = attributes


class Argument:
    """An argument of a call, with what is said of it."""

    __slots__ = ("attributes", "value")

    def __init__(self, value: Constant, attributes: dict[str, LlvmType | None]) -> None:
        self.value = value
        self.attributes = attributes


class CallSite:
    """What an instruction `call` says besides its operands.

    Attributes:
        callee: what is called: a global, or a pointer.
        type: of the function, where it is written out (as it is for variadic ones); otherwise of the result.
        attributes: of the result.
        arguments: in order.
        assembly: it is inline assembly.
    """

    __slots__ = ("arguments", "assembly", "attributes", "callee", "type")

    def __init__(self, callee: Constant, type_: LlvmType, attributes: dict[str, LlvmType | None], arguments: list[Argument]) -> None:
        self.callee = callee
        self.type = type_
        self.attributes = attributes
        self.arguments = arguments
        self.assembly = callee.kind == OTHER


class Instruction:
    """One instruction.

    Attributes:
        opcode: LLVM's name.
        name: of its result, or "".
        type: of its result.
        operands: in LLVM's order; the conditions of `br` and `switch` first.
        labels: blocks it names: of a `br`, `switch` (the default first), `phi` (one for each operand).
        detail: a predicate, or another word the instruction carries.
        numbers: indices of `extractvalue` and `insertvalue`.
        source: the type that a `getelementptr` indexes, that an `alloca` makes.
        call: of a `call`.
        flags: words that say more of it: `volatile`, `fast`, ….
        line: of the IR's text, from 1.
        debug: number of its `!dbg`, or -1.
    """

    __slots__ = ("call", "debug", "detail", "flags", "labels", "line", "name", "numbers", "opcode", "operands", "source", "type")

    def __init__(self, opcode: str, name: str, line: int, type_: LlvmType) -> None:
        self.opcode = opcode
        self.name = name
        self.line = line
        self.type = type_
        self.operands: list[Constant] = []
        self.labels: list[str] = []
        self.detail = ""
        self.flags: list[str] = []
        self.numbers: list[int] = []
        self.source: LlvmType | None = None
        self.call: CallSite | None = None
        self.debug = -1


class Block:
    """A basic block: its name and instructions, the last of which ends it."""

    __slots__ = ("code", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.code: list[Instruction] = []


class LlvmFunction:
    """A function, with blocks if the module defines it.

    Attributes:
        name, result, parameters, variadic: its signature.
        attributes: of the result.
        blocks: in the order of the text, the entry first; none of a declaration.
        line: where it begins.
        debug: number of its `!dbg`, or -1.
        local: other objects do not see it.
        hidden: what the function itself is called, where what has its name is the way in for others (``entries``); otherwise "".
    """

    __slots__ = ("attributes", "blocks", "debug", "hidden", "line", "local", "name", "parameters", "result", "variadic")

    def __init__(self, name: str, result: LlvmType, attributes: dict[str, LlvmType | None], line: int) -> None:
        self.name = name
        self.result = result
        self.attributes = attributes
        self.line = line
        self.parameters: list[Parameter] = []
        self.variadic = False
        self.blocks: list[Block] = []
        self.debug = -1
        self.local = False
        self.hidden = ""


class Global:
    """A global variable: its type, what it begins with (None: it is elsewhere), whether it is constant, its alignment (0: its type's)."""

    __slots__ = ("align", "constant", "initial", "line", "name", "type")

    def __init__(self, name: str, type_: LlvmType, initial: Constant | None, constant: bool, align: int, line: int) -> None:
        self.name = name
        self.type = type_
        self.initial = initial
        self.constant = constant
        self.align = align
        self.line = line


class LlvmModule:
    """A module as read.

    Attributes:
        text: its lines; ``file`` is what they are called in errors.
        layout, triple: its `target datalayout`, and the machine it is for.
        functions, globals: by name.
        aliases: what other names of globals and functions stand for.
        metadata: the text of its numbered metadata.
        relative: globals that were tables of distances, and are of addresses now (``relative.py``).
        weak: names that are declared, and may be nowhere, as the linker will know; missing: those that are nowhere: their addresses are null.
        exported: other objects call its functions.
        begins, ends: the functions that run before and behind main, with their priorities; listed: the line that says so.
        located: the file, line and text that a number of debug information names, or None.
    """

    __slots__ = (
        "aliases",
        "begins",
        "ends",
        "exported",
        "file",
        "functions",
        "globals",
        "layout",
        "listed",
        "located",
        "metadata",
        "missing",
        "relative",
        "text",
        "triple",
        "weak",
    )

    def __init__(self, text: list[str], file: str) -> None:
        self.text = text
        self.file = file
        self.layout = ""
        self.triple = "x86_64"
        self.functions: dict[str, LlvmFunction] = {}
        self.globals: dict[str, Global] = {}
        self.aliases: dict[str, Constant] = {}
        self.metadata: dict[int, str] = {}
        self.relative: set[str] = set()
        self.weak: set[str] = set()
        self.missing: set[str] = set()
        self.exported = False
        self.begins: list[tuple[int, str]] = []
        self.ends: list[tuple[int, str]] = []
        self.listed = 0
        self.located: Callable[[int], tuple[str, int, str] | None] | None = None

    def unsupported(self, what: str, line: int, debug: int = -1) -> UnsupportedOperationError:
        """The error for something that is not supported: with the line of the source where debug information names one, otherwise with that of the text."""
        error = UnsupportedOperationError(what)
        place = self.located(debug) if self.located is not None and debug >= 0 else None
        if place is not None:
            error.locate(*place)
            return error
        error.locate(self.file, line, self.text[line - 1].strip()[:200] if 0 < line <= len(self.text) else "")
        return error
