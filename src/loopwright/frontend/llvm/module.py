"""`lw.from_llvm`: a module of LLVM IR as a module here."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from loopwright.errors import ArgumentError, ParseError, UnsupportedOperationError
from loopwright.frontend.llvm.abi import USUAL, Abi
from loopwright.frontend.llvm.accesses import address_of
from loopwright.frontend.llvm.bitcode import BITCODE, try_bitcode
from loopwright.frontend.llvm.debug import Lines
from loopwright.frontend.llvm.entries import entered, entry, hidden
from loopwright.frontend.llvm.function import IN_MAIN, translate
from loopwright.frontend.llvm.initial import initial
from loopwright.frontend.llvm.reader import read_module
from loopwright.frontend.llvm.relative import make_absolute
from loopwright.frontend.llvm.routines import routine
from loopwright.frontend.llvm.syntax import LlvmModule
from loopwright.frontend.llvm.types import Layout
from loopwright.frontend.module import Module
from loopwright.frontend.native_calls import in_process
from loopwright.ir.function import Function
from loopwright.ir.globals import Global, Reference
from loopwright.ir.parse import parse_all

__all__ = ["BY_LINKER", "IN_MAIN", "from_llvm", "functions_and_globals"]

#: The linker is told what runs before and behind main.
BY_LINKER: Final = "linker"

#: Of what runs before or behind main where no other is said.
_USUAL_PRIORITY: Final = 65535
#: What LLVM writes at the beginning of a line, and others may not.
_INDENTED = re.compile(r"^[ \t]+(?:define|declare|target|source_filename|attributes #|@[^\s]+ =|%[^\s]+ = type|!\w+ =|\$)", re.MULTILINE)


def from_llvm(source: str | bytes, file: str = "<llvm>", outside: Mapping[str, Any] | None = None) -> Module:
    """A module from LLVM IR, as clang writes it (``clang -O1 -fno-vectorize -fno-slp-vectorize -S -emit-llvm``), by LLVM 14 to 22.

    LLVM itself, by way of llvmlite, verifies it. Its loops and branches become brackets, phis variables; pointers, globals, calls and memory are those of
    modules (docs/modules.md); what it calls and does not have is found in ``outside``, or in the C library of this process.

    Args:
        source: the text, or the bytes of bitcode (or of a text in UTF-8).
        file: what it is called in error messages.
        outside: C functions (of ctypes, with ``argtypes`` and ``restype``) that it calls, by name.

    Returns:
        The module: its functions are called, compiled, interpreted and printed as those of any other.

    Raises:
        ArgumentError: what is given is neither; or llvmlite is not installed (the extra ``loopwright[llvm]``).
        ParseError: it is no LLVM IR, or does not verify.
        UnsupportedOperationError: it has something in it that is not supported (vectors, i128, long double, inline assembly, …), with its line of the IR.
        VerifyError: it calls what neither it nor this process has.
    """
    if isinstance(source, (bytes, bytearray)) and bytes(source[:4]) in BITCODE:
        try_bitcode(bytes(source), file)
    return Module.of(*functions_and_globals(source, file, found=lambda name: name in (outside or ()) or in_process(Global(name)) is not None), outside)


def functions_and_globals(
    source: str | bytes,
    file: str = "<llvm>",
    abi: Abi = USUAL,
    exported: bool = False,
    begun: str = "",
    found: Callable[[str], bool] | None = None,
) -> tuple[list[Function], list[Global]]:
    """The functions and the globals that ``from_llvm`` makes a module of. Bitcode must be such as LLVM writes.

    Args:
        source: the text, or the bytes of bitcode.
        file: what it is called in messages.
        abi: the rules of another machine, if there are any.
        exported: other objects call its functions.
        begun: how what runs before and behind main is run: ``IN_MAIN``, ``BY_LINKER``; "" where it is refused.
        found: whether what the module does not have is elsewhere, by name: what is declared weak, and is not, has no address. None where the linker finds it.
    """
    if not isinstance(source, (str, bytes, bytearray)):
        raise ArgumentError(f"from_llvm takes LLVM IR as a string, or bitcode as bytes, not {type(source).__name__}")
    text, written = _checked(source, file)
    try:
        read = read_module(written() if _INDENTED.search(text) else text, file)
    except ParseError:
        # It verifies, so that only its lines are not as LLVM writes them.
        read = read_module(written(), file)
    if read.layout[:1] == "E" or "-p:32" in read.layout:
        raise UnsupportedOperationError(f"code for big-endian machines, or with pointers of 32 bits, is not supported: `{read.layout}`", file)
    read.exported = exported
    make_absolute(read)
    layout = Layout(read.layout)
    if (read.begins or read.ends) and not begun:
        raise read.unsupported(
            "functions that run before or behind main (constructor, destructor) are supported in programs of `loopwright cc` only", read.listed
        )
    if found is not None:
        read.missing = {name for name in read.weak if not found(name)}
        read.weak.clear()
    if not abi.lists:
        for name in entered(read, exported):
            read.functions[name].hidden = hidden(name)
    globals_ = [initial(each, read, layout, abi) for each in read.globals.values() if each.initial is not None]
    globals_ += [Global(address_of(name), 8, 8, constant=True, references=[Reference(0, name)]) for name in sorted(read.weak)]
    if begun == BY_LINKER:
        globals_ += [*_listed(".init_array", read.begins), *_listed(".fini_array", read.ends)]
    return _functions(read, layout, file, abi, begun), globals_


def _listed(section: str, functions: list[tuple[int, str]]) -> list[Global]:
    """What the linker finds functions in that run before or behind main, in the order of their priorities (*System V ABI*, "Initialization and Termination Functions"; GNU ld's names)."""
    made: list[Global] = []
    for priority in sorted({priority for priority, _ in functions}):
        names = [name for each, name in functions if each == priority]
        name = section if priority == _USUAL_PRIORITY else f"{section}.{priority:05}"
        made.append(Global(name, 8 * len(names), 8, references=[Reference(8 * n, each) for n, each in enumerate(names)]))
    return made


def _functions(read: LlvmModule, layout: Layout, file: str, abi: Abi, begun: str) -> list[Function]:
    lines = Lines(read, file)
    read.located = lines.located
    routines: set[str] = set()
    made = [translate(function, read, layout, lines, routines, abi, begun) for function in read.functions.values() if function.blocks]
    made += [entry(function, read, layout, abi) for function in read.functions.values() if function.hidden]
    for name in sorted(routines):
        [function] = parse_all(routine(name), file)
        if name != "divide":
            [function.with_vectors] = parse_all(routine(name, True), file)
        made.append(function)
    return made


def _checked(source: str | bytes | bytearray, file: str) -> tuple[str, Callable[[], str]]:
    """The text, once LLVM has verified it, and what gives it as LLVM writes it."""
    try:
        binding: Any = importlib.import_module("llvmlite.binding")
    except ImportError:
        raise ArgumentError("from_llvm reads LLVM IR by way of the package llvmlite, which is not installed: pip install loopwright[llvm]") from None
    try:
        if isinstance(source, str) or not bytes(source[:4]) in BITCODE:
            text = source if isinstance(source, str) else bytes(source).decode()
            read = binding.parse_assembly(text)
            read.verify()
            return text, read.__str__
        read = binding.parse_bitcode(bytes(source))
        read.verify()
        return str(read), read.__str__
    except (RuntimeError, UnicodeDecodeError) as reason:
        raise ParseError(f"this is no valid LLVM IR: {str(reason).strip()}", 0, 0, file) from None
