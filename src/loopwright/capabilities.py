"""Which operations a machine has for which types: ``lw.supports`` and ``loopwright ops``.

Nothing is looked up: the compiler makes the code of the operation, in a loop of its own, and its instructions in the loop are counted. One is a native operation,
several are a sequence that stands for it; constants are made in front of the loop, and do not count.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

from loopwright import compiler
from loopwright.errors import ArgumentError, LoopwrightError, UnsupportedOperationError
from loopwright.frontend import arithmetic, estimates, functions
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Value
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Options
from loopwright.jit import target_for
from loopwright.targets import registry
from loopwright.targets.target import MachineCode, Target
from loopwright.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, VOID, Type, vector_of

__all__ = ["OPERATIONS", "TYPES", "Support", "markdown", "page", "supports", "table", "text"]

#: The element types of the tables.
TYPES: Final = (U8, I8, U16, I16, U32, I32, U64, I64, F16, BF16, F32, F64)

#: Lines of a probe's instructions: the loop around, and what is asked about.
_AROUND: Final = 1
_ASKED: Final = 2

_OPERATORS: Final[dict[str, tuple[int, Callable[..., Any]]]] = {
    "+": (2, lambda a, b: a + b),
    "-": (2, lambda a, b: a - b),
    "*": (2, lambda a, b: a * b),
    "/": (2, lambda a, b: a / b),
    "//": (2, lambda a, b: a // b),
    "%": (2, lambda a, b: a % b),
    "&": (2, lambda a, b: a & b),
    "|": (2, lambda a, b: a | b),
    "^": (2, lambda a, b: a ^ b),
    "<<": (2, lambda a, b: a << b),
    ">>": (2, lambda a, b: a >> b),
    "~": (1, lambda a: ~a),
    "==": (2, lambda a, b: a == b),
    "<": (2, lambda a, b: a < b),
    "unary -": (1, lambda a: -a),
    "<< constant": (1, lambda a: a << 3),
    ">> constant": (1, lambda a: a >> 3),
    "// constant": (1, lambda a: a // 7),
    "% constant": (1, lambda a: a % 7),
}
#: Functions of ``lw`` that are no operation on the numbers of one lane, or are of complex numbers, which are pairs of them.
_OTHERS: Final = frozenset(("all", "angle", "any", "bitcast", "conj", "crc32c", "imag", "real", "saturate", "select", "sum"))


def _operations() -> dict[str, tuple[int, Callable[..., Any]]]:
    found = dict(_OPERATORS)
    for module in (functions, arithmetic, estimates):
        for name in module.__all__:
            if name not in _OTHERS:
                function: Callable[..., Any] = getattr(module, name)
                parameters = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.KEYWORD_ONLY]
                takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
                found[name] = (2 if takes_any else len(parameters), function)
    found["saturate to u8"] = (1, lambda a: arithmetic.saturate(U8, a))
    found["saturate to i16"] = (1, lambda a: arithmetic.saturate(I16, a))
    found["rotate_left by a constant"] = (1, lambda a: arithmetic.rotate_left(a, 7))
    return found


#: Operators and functions of ``lw``, by how they are written: how many operands they take, and what emits them.
OPERATIONS: Final[dict[str, tuple[int, Callable[..., Any]]]] = _operations()


class Support:
    """What a machine makes of an operation on a type. It is true unless the machine lacks it.

    Attributes:
        how: ``"native"``, one instruction or none; ``"emulated"``, several; or ``"absent"``.
        instructions: how many stand for it in a loop. There may be none where nothing has to be done, or where it is part of what uses it, as a comparison is of a
            branch. What is in a loop of its own counts once.
        branches: there are branches among them: how long they take depends on the numbers, or lanes are done one after the other.
        why: why it is absent, as the compiler says; else "".
    """

    __slots__ = ("branches", "how", "instructions", "why")

    def __init__(self, how: str, instructions: int = 0, branches: bool = False, why: str = "") -> None:
        self.how = how
        self.instructions = instructions
        self.branches = branches
        self.why = why

    def __bool__(self) -> bool:
        return self.how != "absent"

    def __repr__(self) -> str:
        if self.how != "emulated":
            return self.how
        return f"emulated, {self.instructions} instructions" + (", with branches" if self.branches else "")

    @property
    def short(self) -> str:
        """As in tables: the number of instructions, with ``+`` where branches are among them, or ``-``."""
        return f"{self.instructions}{'+' if self.branches else ''}" if self else "-"


def supports(operation: str, type_: Type, *, target: str | None = None, lanes: bool = False, vector_bits: int | None = None) -> Support:
    """What a machine makes of an operation on a type.

    Args:
        operation: as it is written: an operator (``"+"``, ``"<<"``, ``"unary -"``), the name of a function of ``lw`` (``"add_saturated"``), or a type
            (``"f32"``) for the conversion to it.
        type_: the type of the operands (``lw.u8``).
        target: the machine; without it, the best this CPU runs.
        lanes: of vectors, rather than of scalars.
        vector_bits: of so many bits, where the target has several widths.

    Raises:
        ArgumentError: there is no such operation, or no such type.
        TargetError: there is no such target.
    """
    name = operation.removeprefix("lw.") if isinstance(operation, str) else ""
    if not isinstance(type_, Type) or type_ not in TYPES:
        raise ArgumentError(f"lw.supports takes an element type such as lw.u8, not {type_!r}")
    entry = OPERATIONS.get(name)
    if entry is None:
        to = next((each for each in TYPES if each.name == name), None)
        if to is None:
            near = difflib.get_close_matches(name, OPERATIONS, 3)
            raise ArgumentError(f"there is no operation {operation!r}" + (f"; there is {', '.join(near)}" if near else "; `loopwright ops` lists them"))
        entry = (1, _conversion(to))
    return _asked(entry, type_, target_for(target, vector_bits), lanes)


def _conversion(to: Type) -> Callable[..., Any]:
    return lambda a: a.emitter.convert(a, to)


def _asked(entry: tuple[int, Callable[..., Any]], type_: Type, target: Target, lanes: bool) -> Support:
    if lanes and not target.vector_bits:
        return Support("absent", why=f"{target.name} has no vectors: a loop over lanes takes one index after the other")
    count = target.vector_bits // type_.bits if lanes else 0
    while True:
        try:
            return _measured(_probe(entry, type_, count), target)
        except UnsupportedOperationError as error:
            # What comes of it may be wider than the operands: then there are fewer lanes, as in a loop over lanes.
            if "its vectors have at most" not in error.message or count * 64 <= target.vector_bits:
                return Support("absent", why=error.message)
            count //= 2
        except LoopwrightError as error:
            return Support("absent", why=str(getattr(error, "message", error)))


def _probe(entry: tuple[int, Callable[..., Any]], type_: Type, lanes: int) -> Function:
    """A loop that loads the operands, does what is asked about and stores the result, on lines of their own."""
    arity, function = entry
    f = Function("probe", VOID, Options(contract=False, nests=False))
    emitter = Emitter(f)
    n = f.param(I64, "n")
    for position in range(arity):
        f.array_param("abc"[position], type_, 1)
    index = f.register(I64, "i")
    f.code.append(Instr(ops.FOR, VOID, index, [f.const(I64, 0), n, f.const(I64, max(lanes, 1))], 0, _AROUND))
    full = vector_of(type_, lanes)
    operands: list[Any] = []
    for position in range(arity):
        loaded = f.register(full)
        f.code.append(Instr(ops.LOAD, full, loaded, [index], position, _AROUND))
        operands.append(Value(emitter, loaded, full))
    begin = len(f.code)
    result: Value = function(*operands)
    for instr in f.code[begin:]:
        instr.line = _ASKED
    made = result.type
    if made.element is BOOL:
        # What compares is stored as a choice between numbers.
        begin = len(f.code)
        result = emitter.select(result, emitter.convert(1, type_), emitter.convert(0, type_))
        for instr in f.code[begin:]:
            instr.line = _AROUND
        made = result.type
    out = f.array_param("out", made.element, 1)
    out.written = True
    f.code.append(Instr(ops.STORE, made, NONE, [result.operand, index], arity, _AROUND))
    f.code.append(Instr(ops.END, VOID, NONE, [], 0, _AROUND))
    return f


def _measured(f: Function, target: Target) -> Support:
    made = compiler.run_passes(f, target)
    machine = made.machine
    assert isinstance(machine, MachineCode)
    count = sum(1 for _, _, _, line in target.listing(machine) if line == _ASKED)
    branches = any(instr.op is ops.LABEL or instr.op.compare for instr in made.code if instr.line == _ASKED)
    return Support("native" if count <= 1 else "emulated", count, branches)


# --- tables ---------------------------------------------------------------------------------------------------------


def table(target: Target, lanes: bool) -> Iterator[tuple[str, list[Support]]]:
    """Each operation with what a machine makes of it for each of ``TYPES``, in their order; then conversions to each type."""
    for name, entry in OPERATIONS.items():
        row = [_asked(entry, type_, target, lanes) for type_ in TYPES]
        if any(row):
            yield f"lw.{name}" if name.partition(" ")[0].isidentifier() and not name.startswith("unary") else name, row
    for to in TYPES:
        yield f"lw.{to.name}(x)", [_asked((1, _conversion(to)), type_, target, lanes) for type_ in TYPES]


def text(target: Target, lanes: bool) -> str:
    """The table as text in columns."""
    rows = [("", [t.name for t in TYPES]), *((name, [each.short for each in row]) for name, row in table(target, lanes))]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}" + "".join(f"{each:>6}" for each in row) for name, row in rows)


def markdown(target: Target, lanes: bool) -> str:
    """The table as Markdown."""
    lines = [f"| | {' | '.join(t.name for t in TYPES)} |", "|---" * (len(TYPES) + 1) + "|"]
    for name, row in table(target, lanes):
        written = name.replace("|", "\\|")
        lines.append(f"| `{written}` | {' | '.join(each.short for each in row)} |")
    return "\n".join(lines)


_PAGE: Final = """# Operations, types, machines

What a machine makes of each operation on each type: how many instructions stand for it in a loop, by the code that the compiler makes. 1 is an instruction of the machine's own; 0
says that there is nothing to do, or that it is part of what uses it, as a comparison is of a branch; more are a sequence; `+` says that there are branches among
them, so that how long they take depends on the numbers (lanes may be done one after the other there); `-` that it is refused, by name, type and target. Constants are made in front of the
loop, and do not count. `lw.supports("add_saturated", lw.u8, target="x86-64-v3", lanes=True)` asks for one, and says why one is refused; `loopwright ops` prints
these tables, and those of targets with optional features (`loopwright ops --target aarch64-neon+asimdhp`), which are not here.

This page is written by `loopwright ops --page`.
"""


def page() -> str:
    """The page of the documentation: the tables of every machine, of its widest vectors and of scalars."""
    parts = [_PAGE]
    for name in registry.names():
        target = registry.get(name)
        if target.vector_bits:
            parts.append(f"## {name}, lanes ({target.vector_bits} bits)\n\n{markdown(target, True)}\n")
        parts.append(f"## {name}, scalars\n\n{markdown(target, False)}\n")
    return "\n".join(parts)
