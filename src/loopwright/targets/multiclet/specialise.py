"""A paragraph as a Python function of its own, which the simulator calls: what is known before it runs is not asked again while it runs.

Results are local variables. What it is known to hold is kept beside each: an integer and how many bits it takes, or a float, so that values are cut to a width
and changed between bits and floats only where they have to be. In the history of the switch, which later paragraphs read, floats of 64 bits stand as such and
everything else as integers.
"""

from __future__ import annotations

import math
import re
from typing import Final

from loopwright.targets.multiclet.bits import as_single
from loopwright.targets.multiclet.commands import WIDTHS, Row
from loopwright.targets.multiclet.linker import Linked, Program
from loopwright.targets.multiclet.program import Command, Operand

__all__ = ["VIEWS", "Access", "Specialised"]

#: Views of memory by bits and whether signed, as they are named in the functions: the letters of ``memoryview.cast``.
VIEWS: Final[dict[tuple[int, bool], str]] = {
    (8, True): "b", (16, True): "h", (32, True): "i", (64, True): "q",
    (8, False): "B", (16, False): "H", (32, False): "I", (64, False): "q",
}  # fmt: skip

#: Bits of what a command reads, where that is not the suffix's width.
_TAKEN: Final[dict[str, int]] = {"wide": 64, "single": 32, "double": 64}
_ATOM: Final = re.compile(r"-?\w+(\.\d+)?(e[-+]?\d+)?")
_NAMES: Final = re.compile(r"\b(a|b|bits)\b")


class _Value:
    """An expression and what it is: ``any`` (an integer, or a float of 64 bits), ``d`` or ``f`` (a float), or ``i`` (an integer of so many bits)."""

    __slots__ = ("bits", "kind", "signed", "text")

    def __init__(self, text: str, kind: str = "i", bits: int = 64, signed: bool = True) -> None:
        self.text = text
        self.kind = kind
        self.bits = bits
        self.signed = signed


class Access:
    """An access to memory of a paragraph.

    Attributes:
        command: its number.
        store: whether it writes.
        size: in bytes.
        origin: what its address is made of, (base, constant): two of the same base are as far apart as their constants.
    """

    __slots__ = ("command", "origin", "size", "store")

    def __init__(self, command: int, store: bool, size: int, origin: tuple[str, int]) -> None:
        self.command = command
        self.store = store
        self.size = size
        self.origin = origin


class Specialised:
    """The function of a paragraph.

    Attributes:
        source: its text. Called without arguments it runs the paragraph and returns the number of the next; traced, it returns (next, the number of the jump
            taken or -1, addresses of the accesses in order).
        accesses: to memory, in the order of the commands.
    """

    def __init__(self, linked: Linked, number: int, program: Program, numbers: dict[int, int], traced: bool) -> None:
        self.linked = linked
        self.number = number
        self.program = program
        self.processor = program.processor
        self.numbers = numbers
        self.accesses: list[Access] = []
        self._traced = traced
        self._lines: list[str] = []
        self._results: list[_Value | None] = []
        self._registers: dict[str, _Value] = {}
        self._written: dict[str, str] = {}
        self._versions: dict[str, int] = {}
        self._history: dict[int, str] = {}
        self._temporaries = 0
        self._late: list[str] = []
        self._jumps = sum(command.row.effect == "jump" for command in linked.paragraph.commands)
        self.source = self._function()

    def _function(self) -> str:
        self._say("n = -1")
        if self._traced:
            self._say("j = -1")
        for at, command in enumerate(self.linked.paragraph.commands):
            self._command(at, command)
        for line in self._late:
            self._say(line)
        for register, text in self._written.items():
            self._say(f"R[{self.processor.registers.index(register)}] = {text}")
        if self.processor.crosses:
            kept = self._results[-self.processor.depth :]
            self._say(f"K(({''.join([f'{self._kept(value)}, ' for value in kept])}))")
        self._say(f"if n < 0: n = fall({self.number})" if self.number + 1 == len(self.program.paragraphs) else f"if n < 0: n = {self.number + 1}")
        addresses = "".join([f"a{each}, " for each in range(len(self.accesses))])
        self._say(f"return n, j, ({addresses})" if self._traced else "return n")
        parameters = ", ".join([f"{name}={name}" for name in ("H", "R", "K", *sorted({f"M{letter}" for letter in [*VIEWS.values(), "d", "f"]}))])
        return f"def paragraph({parameters}):\n" + "".join([f"    {line}\n" for line in self._lines])

    def _say(self, line: str) -> None:
        self._lines.append(line)

    def _temporary(self, text: str) -> str:
        """A name for an expression."""
        self._temporaries += 1
        self._say(f"t{self._temporaries} = {text}")
        return f"t{self._temporaries}"

    def _kept(self, value: _Value | None) -> str:
        """A result as it stands in the history."""
        if value is None:
            return "None"
        return f"single_bits({value.text})" if value.kind == "f" else value.text

    # --- what commands do ------------------------------------------------------------------------------------

    def _command(self, at: int, command: Command) -> None:
        row = command.row
        result: _Value | None = None
        if row.effect == "load":
            result = self._load(at, command)
        elif row.effect == "store":
            self._store(at, command)
        elif row.effect == "register":
            self._register(at, command)
        elif row.effect == "jump":
            self._jump(at, command)
        else:
            result = self._operation(at, command)
        if result is not None and not result.text.startswith("v"):
            self._say(f"v{at} = {result.text}")
            result = _Value(f"v{at}", result.kind, result.bits, result.signed)
        self._results.append(result)

    def _load(self, at: int, command: Command) -> _Value:
        operand, bits = command.operands[0], WIDTHS[command.suffix]
        signed = command.row.gives == "signed"
        if operand.memory:
            return self._from_memory(at, operand, command.suffix, signed)
        value = self._sum(at, operand)
        if bits == 64:
            return value
        return _Value(self._signed(value, bits), "i", bits) if signed else _Value(self._unsigned(value, bits), "i", bits, False)

    def _store(self, at: int, command: Command) -> None:
        suffix = command.suffix
        value = self._value(at, command.operands[0], suffix, True)
        bits = WIDTHS[suffix]
        if value.kind == suffix:
            view, text = f"M{suffix}", value.text
        else:
            view, text = f"M{VIEWS[bits, True]}", self._signed(value, bits)
        address, static = self._address(at, command.operands[1], bits // 8, True)
        item = f"{view}[{address} >> {(bits // 8).bit_length() - 1}]"
        if self.processor.commits_at_end:
            self._apart(at)
            self._late.append(f"{item} = {text}" if static else f"write({address}, {text}, {view!r})")
            if not static:
                self._check(at, address, bits // 8, True, "", text)
        elif static:
            self._say(f"{item} = {text}")
        else:
            self._check(at, address, bits // 8, True, f"{item} = {text}", text)

    def _register(self, at: int, command: Command) -> None:
        register = command.operands[0].register
        value = self._memory_or_sum(at, command.operands[1], command.suffix)
        text = self._signed(value, WIDTHS[command.suffix])
        if self.processor.commits_at_end:
            if register in self._written:
                self._say(f"fault({self.number}, {at}, 'the paragraph writes #{register} twice, in no order')")
            self._written[register] = text
            return
        self._versions[register] = at + 1
        self._say(f"g{at} = {text}")
        self._registers[register] = _Value(f"g{at}", "i", WIDTHS[command.suffix])
        self._written[register] = f"g{at}"

    def _jump(self, at: int, command: Command) -> None:
        row = command.row
        operands = command.operands
        indent = ""
        if len(operands) == 2:
            condition = self._meaning(row, command.suffix, [self._signed(self._value(at, operands[0], command.suffix, True), WIDTHS[command.suffix])])
            target = self._target(at, operands[1])
            self._say(f"if {condition}:")
            indent = "    "
        else:
            target = self._target(at, operands[0])
        if self._jumps > 1:
            self._say(f"{indent}if n >= 0: fault({self.number}, {at}, 'two jumps of the paragraph are taken')")
        self._say(f"{indent}n = {target}" if target.isdigit() else f"{indent}n = numbers.get({target}, -1)")
        if not target.isdigit():
            self._say(f"{indent}if n < 0: fault({self.number}, {at}, f'no paragraph begins at address {{{target}:#x}}')")
        if self._traced:
            self._say(f"{indent}j = {at}")

    def _target(self, at: int, operand: Operand) -> str:
        """The number of the paragraph that a jump goes to, or a name that holds its address."""
        if operand.is_constant() and not operand.memory:
            number = self.numbers.get(self.linked.constant(operand))
            if number is not None:
                return str(number)
        if operand.memory:
            return self._temporary(self._from_memory(at, operand, "l", False).text)
        return self._temporary(f"{self._unsigned(self._base(at, operand), 32)}")

    def _operation(self, at: int, command: Command) -> _Value:
        row, suffix = command.row, command.suffix
        given: list[str] = []
        for operand in command.operands:
            bits = _TAKEN.get(row.takes, WIDTHS[suffix])
            letter = {"wide": "q", "single": "f", "double": "d"}.get(row.takes, suffix)
            value = self._value(at, operand, letter, row.takes != "unsigned")
            if row.takes in ("float", "single", "double"):
                given.append(self._double(value) if bits == 64 else self._single(value))
            elif row.takes == "unsigned":
                given.append(self._unsigned(value, bits))
            else:
                given.append(self._signed(value, bits))
        return self._result(row, suffix, self._meaning(row, suffix, given))

    def _meaning(self, row: Row, suffix: str, given: list[str]) -> str:
        """The meaning of a row as an expression in these operands."""
        bits = WIDTHS[suffix]
        if not isinstance(row.meaning, str):
            return f"meanings[{f'{row.mnemonic}_{suffix}'!r}]({bits}, {', '.join(given)})"
        names = {"bits": str(bits)}
        for name, text in zip("ab", given, strict=False):
            names[name] = text if _ATOM.fullmatch(text) and not text.startswith("-") else f"({text})" if _ATOM.fullmatch(text) else self._temporary(text)
        return _NAMES.sub(lambda match: names[match[1]], row.meaning)

    def _result(self, row: Row, suffix: str, text: str) -> _Value:
        bits = WIDTHS[suffix]
        if row.gives == "float":
            if bits == 64:
                return _Value(text, "d")
            self._say(f"SF[0] = {text}")
            return _Value("SF[0]", "f")
        if row.gives == "flag":
            return _Value(text, "i", 2)
        if row.gives == "unsigned" and bits < 64:
            return _Value(f"({text}) & {(1 << bits) - 1}", "i", bits, False)
        return _Value(_cut(f"({text})", bits), "i", bits)

    # --- what operands are -----------------------------------------------------------------------------------

    def _value(self, at: int, operand: Operand, suffix: str, signed: bool) -> _Value:
        """An operand of a width."""
        return self._from_memory(at, operand, suffix, signed) if operand.memory else self._base(at, operand)

    def _memory_or_sum(self, at: int, operand: Operand, suffix: str) -> _Value:
        return self._from_memory(at, operand, suffix, True) if operand.memory else self._sum(at, operand)

    def _base(self, at: int, operand: Operand) -> _Value:
        """The base of an operand, or its constant if it has none."""
        if operand.is_place():
            return self._place(at, operand.back)
        if operand.register:
            return self._from_register(operand.register)
        constant = self.linked.constant(operand)
        return _Value(str(constant), "i", constant.bit_length() + 1)

    def _place(self, at: int, back: int) -> _Value:
        if back == 0:
            return _Value("0", "i", 1)
        if back <= at:
            value = self._results[at - back]
            if value is None:  # the rules forbid it
                self._say(f"fault({self.number}, {at}, '@{back} names a command that leaves no result')")
                return _Value("0")
            return value
        distance = back - at
        name = self._history.get(distance)
        if name is None:
            name = self._history[distance] = f"h{distance}"
            self._say(f"{name} = H[-{distance}]")
            self._say(f"if {name} is None: fault({self.number}, {at}, '@{back} names a command that left no result on the way here')")
        return _Value(name, "any")

    def _from_register(self, register: str) -> _Value:
        value = self._registers.get(register)
        if value is None:
            name = f"r{self.processor.registers.index(register)}"
            self._say(f"{name} = R[{self.processor.registers.index(register)}]")
            value = self._registers[register] = _Value(name)
        return value

    def _sum(self, at: int, operand: Operand) -> _Value:
        """A base and a constant."""
        value = self._base(at, operand)
        constant = 0 if operand.is_constant() else self.linked.constant(operand)
        if constant == 0:
            return value
        return _Value(self._temporary(_cut(f"({self._integer(value)} + {constant})", 64)))

    def _origin(self, at: int, operand: Operand) -> tuple[str, int]:
        constant = self.linked.constant(operand)
        if operand.is_place():
            return (f"@{at - operand.back}" if operand.back else ""), constant
        if operand.register:
            return f"#{operand.register}{self._versions.get(operand.register, 0)}", constant
        return "", constant

    def _address(self, at: int, operand: Operand, size: int, store: bool) -> tuple[str, bool]:
        """A name that holds an address that is accessed, and whether it has been found to be one that can be."""
        if store and operand.memory:
            base, offset = self._from_memory(at, operand, "l", False).text, 0
            origin = (f"[{at}]", 0)
        else:
            base = self._integer(self._base(at, operand))
            offset = 0 if operand.is_constant() else self.linked.constant(operand)
            origin = self._origin(at, operand)
        text = f"a{len(self.accesses)}"
        self._say(f"{text} = {base}{f' + {offset}' if offset else ''}")
        self.accesses.append(Access(at, store, size, origin))
        low = self.program.writable if store else self.program.readable
        static = base.isdigit() and not offset and int(base) % size == 0 and low <= int(base) <= self.program.memory - size
        return text, static

    def _check(self, at: int, address: str, size: int, store: bool, then: str, text: str = "") -> None:
        """Test an address and do something with it; what else happens is the simulator's."""
        low = self.program.writable if store else self.program.readable
        aligned = f"{address} & {size - 1} or " if size > 1 else ""
        outside = f"{aligned}not {low} <= {address} <= {self.program.memory - size}"
        otherwise = f"elsewhere({self.number}, {at}, {address}, {size}, {store}{f', {text}' if text else ''})"
        self._say(f"if {outside}: {otherwise}")
        if then:
            self._say(f"else: {then}")

    def _from_memory(self, at: int, operand: Operand, suffix: str, signed: bool) -> _Value:
        bits = WIDTHS[suffix]
        size = bits // 8
        plain = Operand(operand.back, operand.name, operand.register, operand.symbol, operand.offset)
        address, static = self._address(at, plain, size, False)
        if not static:
            self._check(at, address, size, False, "")
        if self.processor.commits_at_end:
            self._apart(at)
        view = "d" if suffix == "d" else VIEWS[bits, signed]
        text = self._temporary(f"M{view}[{address} >> {size.bit_length() - 1}]")
        return _Value(text, "d") if suffix == "d" else _Value(text, "i", bits, signed or bits == 64)

    def _apart(self, at: int) -> None:
        """Where writes have no order: the last access meets no store of the paragraph before it."""
        last = len(self.accesses) - 1
        size = self.accesses[last].size
        for number, access in enumerate(self.accesses[:last]):
            if access.store:
                what = "meets a store of the same paragraph, which is done at its end"
                self._say(f"if a{number} < a{last} + {size} and a{last} < a{number} + {access.size}: fault({self.number}, {at}, {what!r})")

    # --- what values are made into ---------------------------------------------------------------------------

    def _integer(self, value: _Value) -> str:
        """A value as a signed integer of 64 bits, or one that it is known to fit."""
        if value.kind == "i":
            return value.text
        if value.kind == "f":
            return self._temporary(f"single_bits({value.text})")
        if value.kind == "d":
            return self._temporary(f"double_bits({value.text})")
        return self._temporary(f"{value.text} if {value.text}.__class__ is int else double_bits({value.text})")

    def _signed(self, value: _Value, bits: int) -> str:
        fits = value.bits <= bits if value.signed else value.bits < bits
        if value.kind == "i" and fits:
            return value.text
        text = self._integer(value)
        return text if bits == 64 else self._temporary(_cut(text, bits))

    def _unsigned(self, value: _Value, bits: int) -> str:
        if value.kind == "i" and not value.signed and value.bits <= bits:
            return value.text
        return self._temporary(f"{self._integer(value)} & {(1 << bits) - 1}")

    def _double(self, value: _Value) -> str:
        if value.kind == "d":
            return value.text
        if value.kind == "any":
            return self._temporary(f"{value.text} if {value.text}.__class__ is float else as_double({value.text})")
        return self._temporary(f"as_double({self._integer(value)})")

    def _single(self, value: _Value) -> str:
        if value.kind == "f":
            return value.text
        text = self._signed(value, 32)
        if re.fullmatch(r"-?\d+", text):
            constant = as_single(int(text))
            if math.isfinite(constant):
                return repr(constant) if constant >= 0 and not text.startswith("-") else self._temporary(repr(constant))
        return self._temporary(f"as_single({text})")


def _cut(text: str, bits: int) -> str:
    """An expression's low bits, sign-extended."""
    half = 1 << bits - 1
    return f"({text} + {half} & {2 * half - 1}) - {half}"
