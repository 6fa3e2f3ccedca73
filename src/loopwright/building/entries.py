"""Which functions of a Python file become functions of an object file, and for what types."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final

import loopwright as lw
from loopwright.errors import AbiError, ArgumentError, LoopwrightError
from loopwright.frontend.module import ModuleFunction
from loopwright.ir import ops
from loopwright.ir.function import Callee, Function
from loopwright.ir.globals import Global
from loopwright.kernel_files import parse_signature

__all__ = ["Entry", "Wanted", "collect", "complete", "wanted"]

_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WANTED: Final = re.compile(r"\s*(?:([^\s=:]+)\s*=\s*)?([^\s=:]+)\s*(?::(.*))?", re.DOTALL)
#: What C and C++ have another use for.
_KEYWORDS: Final = frozenset(
    [
        "alignas",
        "alignof",
        "and",
        "and_eq",
        "asm",
        "auto",
        "bitand",
        "bitor",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "char16_t",
        "char32_t",
        "char8_t",
        "class",
        "co_await",
        "co_return",
        "co_yield",
        "compl",
        "concept",
        "const",
        "const_cast",
        "consteval",
        "constexpr",
        "constinit",
        "continue",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "dynamic_cast",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "not",
        "not_eq",
        "nullptr",
        "operator",
        "or",
        "or_eq",
        "private",
        "protected",
        "public",
        "register",
        "reinterpret_cast",
        "requires",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "static_assert",
        "static_cast",
        "struct",
        "switch",
        "template",
        "this",
        "thread_local",
        "throw",
        "true",
        "try",
        "typedef",
        "typeid",
        "typename",
        "typeof",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "wchar_t",
        "while",
        "xor",
        "xor_eq",
        "main",
    ]
)


class Entry:
    """A function that the object file has for others.

    Attributes:
        function: as the front end made it, under the name that C knows it by.
        said: what the Python file calls it, with the parameters' types.
        doc: its docstring, or "".
    """

    __slots__ = ("doc", "function", "said")

    def __init__(self, function: Function, said: str, doc: str) -> None:
        self.function = function
        self.said = said
        self.doc = doc


class Wanted:
    """A kernel as ``--signature`` asks for it.

    Attributes:
        symbol: what C is to call it, or "" for its own name.
        name: the kernel's.
        words: its signature.
    """

    __slots__ = ("name", "symbol", "words")

    def __init__(self, symbol: str, name: str, words: list[str]) -> None:
        self.symbol = symbol
        self.name = name
        self.words = words


def wanted(text: str) -> Wanted:
    """``axpy: f32[] f32[] f32``, ``axpy_f64 = axpy: f64[] f64[] f64``. Raises ``LoopwrightError`` for what is no such thing."""
    match = _WANTED.fullmatch(text)
    try:
        words = shlex.split(match[3] or "") if match is not None else []
    except ValueError as reason:
        raise LoopwrightError(f"the signature {text!r} cannot be read: {reason}") from None
    if match is None:
        raise LoopwrightError(f"the signature {text!r} should be KERNEL: TYPES, or SYMBOL = KERNEL: TYPES, for example 'axpy: f32[] f32[]'")
    return Wanted(match[1] or "", match[2], words)


def is_name(name: str) -> bool:
    """Whether C and C++ can call something so."""
    return bool(_NAME.fullmatch(name)) and name not in _KEYWORDS


def collect(module: ModuleType, asked: Sequence[Wanted]) -> tuple[list[Entry], list[str]]:
    """The functions of a Python file: those asked for, else all kernels, built functions and modules' functions it defines whose types are known.

    Returns:
        The functions, and for each kernel that was left out, why.

    Raises ``LoopwrightError`` for a name that is not there, or that C cannot use, and what staging a kernel raises.
    """
    entries: dict[str, Entry] = {}
    left_out: list[str] = []

    def add(made: Entry) -> None:
        name = made.function.name
        if not is_name(name):
            raise LoopwrightError(f"C cannot call a function {name}: give it another name, as in --signature '{name}_ = {name}: …'")
        if name in entries:
            raise LoopwrightError(f"there are two functions {name}: give one of them another name, as in --signature '{name}_2 = {name}: …'")
        entries[name] = made

    there = _defined(module)
    for each in asked:
        if each.name not in there:
            raise LoopwrightError(f"{module.__file__} has no kernel '{each.name}'; it has {', '.join(there) or 'none'}")
        add(_asked(there[each.name], each))
    if not asked:
        for name, found in there.items():
            if name.startswith("_"):
                continue
            if isinstance(found, lw.Kernel):
                try:
                    found.signature((), {})
                except ArgumentError as reason:
                    left_out.append(f"{name}: {reason.message}")
                    continue
            add(_asked(found, Wanted("", name, [])))
    return list(entries.values()), left_out


def _defined(module: ModuleType) -> dict[str, Any]:
    """What can be compiled, by its name in the file: not kernels that it imports."""
    found: dict[str, Any] = {}
    for name, value in vars(module).items():
        here = getattr(getattr(value, "function", getattr(getattr(value, "kernel", None), "function", None)), "__module__", module.__name__)
        if isinstance(value, lw.Kernel | lw.Function | ModuleFunction) and here == module.__name__ and value not in found.values():
            found[name] = value
        elif isinstance(value, lw.Module):
            # (Modules of text and of LLVM IR have no names in Python for their functions.)
            functions = value.finish().functions
            found.update({each: functions[each] for each in functions if each not in found and not hasattr(module, each)})
    return found


def _asked(found: Any, asked: Wanted) -> Entry:
    if isinstance(found, lw.Kernel):
        positional, named = parse_signature(asked.words)
        function = found.stage(found.signature(positional, named))
        function.name = asked.symbol or found.function.__name__
        return Entry(function, _said(asked.name, function, asked.words), inspect.getdoc(found.function) or "")
    if asked.words or asked.symbol:
        raise LoopwrightError(f"{asked.name} is no kernel, and has its types and its name already: ask for it by its name alone")
    if isinstance(found, ModuleFunction):
        function = found.module.finish().functions[found.name]
        return Entry(function, _said(asked.name, function, []), inspect.getdoc(found.kernel.function) or "")
    function = found.ir if isinstance(found, lw.Function) else found
    return Entry(function, _said(asked.name, function, []), "")


def _said(name: str, f: Function, words: Sequence[str]) -> str:
    """A function with its types, as Python would write them, and the values that are part of it."""
    arrays = {array.base: array for array in f.arrays if not array.size}
    inside = {r for array in arrays.values() for r in (*array.extents, *array.strides)}
    parts: list[str] = []
    for p in f.params:
        if p in arrays:
            parts.append(f"{f.names[p]}: {arrays[p].element}[{',' * (arrays[p].rank - 1)}]")
        elif p not in inside and not _is_record(f, p):
            parts.append(f"{f.names[p]}: {f.types[p]}")
    result = f" -> {f.result}" if f.result is not lw.types.VOID else ""
    constants = f"; compiled for {' '.join(words)}" if any("[" not in word and getattr(lw, word, None) is None for word in words) else ""
    return f"{name}({', '.join(parts)}){result}{constants}"


def _is_record(f: Function, p: int) -> bool:
    return f.options.check and p == f.params[-1] and f.names[p] == "errors"


def complete(entries: Sequence[Entry]) -> tuple[list[Function], list[Global], set[str]]:
    """All that an object file needs: the functions with those they call, the globals of all; and the names that are its own.

    What they call of C is left to the linker, by name. Raises ``LoopwrightError`` where two have the same name, or what is called has none.
    """
    exported = {each.function.name for each in entries}
    functions: dict[str, Function] = {}
    globals_: dict[str, Global] = {}
    sources: dict[str, Function | Global] = {}
    waiting: list[Any] = [each.function for each in entries]
    while waiting:
        each = waiting.pop(0)
        name = each.name
        known = sources.get(name)
        if known is each:
            continue
        if known is not None:
            raise LoopwrightError(f"an object file cannot have two of the name {name}: give one of them another name")
        sources[name] = each
        if isinstance(each, Global):
            globals_[name] = each
            waiting += [reference.target for reference in each.references if isinstance(reference.target, Function | Global) and not _outside(reference.target)]
            continue
        made = each.clone()
        made.callees = [_callee(each, number) for number in range(len(each.callees))]
        made.globals = [Global(named.name) if _outside(named) else named for named in each.globals]
        functions[name] = made
        waiting += [callee.function for callee in made.callees if callee.function is not None]
        waiting += [named for named in each.globals if not _outside(named)]
    return list(functions.values()), list(globals_.values()), {name for name in sources if name not in exported}


def _outside(each: Function | Global) -> bool:
    return isinstance(each, Global) and (each.address != 0 or each.size < 0)


def _callee(f: Function, number: int) -> Callee:
    """What a function calls, without an address in this process."""
    callee = f.callees[number]
    if callee.signature or not callee.address:
        return callee
    name = getattr(callee.keep, "__name__", "")
    if not isinstance(name, str) or not name:
        line = next((instr.line for instr in f.code if instr.op in ops.CALLING and instr.imm == number), 0)
        error = AbiError(
            f"{f.name} calls {callee.name}, a function of this Python process, which a program in C does not have; C functions are called by their names"
        )
        if line:
            error.locate(f.file, line, f.lines.get(line, "").strip())
        raise error
    return Callee(name, callee.params, callee.result, 0, None, callee.keep, callee.named)
