"""The run-time library of simulated processors: what C programs ask of the outside, written in C (``c_library/``) and compiled by ourselves for the processor.

clang reads it once in a process; a function is compiled when the first program needs it, for its processor and passes, and kept.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from loopwright import compiler
from loopwright.cc import clang
from loopwright.cc.link import elsewhere
from loopwright.compiler import Compiled
from loopwright.frontend.llvm.abi import Abi
from loopwright.frontend.llvm.module import IN_MAIN, functions_and_globals
from loopwright.ir.function import Function
from loopwright.ir.globals import Global
from loopwright.ir.module import Module
from loopwright.settings import Settings
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.target import Multiclet

__all__ = ["ABI", "Library", "library", "named_by", "translated"]

#: How programs for these processors are read: they access aligned memory only, and have no registers for a variable number of arguments, nor for structs, and no
#: multiply-add.
ABI: Final = Abi(aligned=True, lists=True, fused=False, by_address=True, frame=8, twice=True, alone=True)
_FOLDER: Final = Path(__file__).with_name("c_library")
#: For so many processors, with their passes, compiled functions are kept.
_KEPT: Final = 8
#: The library is not to be made of calls of itself.
_OPTIONS: Final = ("-ffreestanding", "-fno-builtin", "-w")


def translated(read: bytes, file: str, found: Callable[[str], bool] | None = None) -> Module:
    """A module of bitcode, by the rules of these processors; ``found`` says whether there is something of a name in what it is linked with.

    Raises what ``lw.from_llvm`` does.
    """
    functions, globals_ = functions_and_globals(read, file, ABI, begun=IN_MAIN, found=found)
    _rename(functions, globals_)
    module = Module(functions, globals=globals_, find=elsewhere)
    module.verify()
    return module


def _rename(functions: list[Function], globals_: list[Global]) -> None:
    """Give what LLVM has numbered (``f.1``) other names: those are the labels of paragraphs."""
    names = {f.name for f in functions}
    new: dict[str, str] = {}
    for name in [*names, *(each.name for each in globals_)]:
        base, dot, number = name.rpartition(".")
        if dot and number.isdigit() and base in names:
            new[name] = f"{base}${number}"
    if not new:
        return
    for f in functions:
        f.name = new.get(f.name, f.name)
        for callee in f.callees:
            callee.name = new.get(callee.name, callee.name)
        for named in f.globals:
            named.name = new.get(named.name, named.name)
    for each in globals_:
        each.name = new.get(each.name, each.name)
        for reference in each.references:
            reference.symbol = new.get(reference.symbol, reference.symbol)


def named_by(each: Function | Global) -> Iterable[str]:
    """What a function calls, takes the address of or accesses by name; what is in a global."""
    if isinstance(each, Global):
        return [reference.symbol for reference in each.references]
    return [*(callee.name for callee in each.callees if not callee.signature), *(named.name for named in each.globals)]


class Library:
    """The library.

    Attributes:
        module: its functions and globals.
        local: the names of those that programs do not see.
    """

    def __init__(self) -> None:
        files = sorted(_FOLDER.glob("*.c"))
        read = clang.bitcode(files, clang.Options(preprocessor=[*_OPTIONS, f"-I{_FOLDER}"]))
        self.module = translated(read, "<run-time library>")
        self.local = set(clang.local_names(read))
        # The last ones: (processor, passes, functions by name).
        self._compiled: list[tuple[Processor, tuple[Any, ...], dict[str, Compiled]]] = []

    def has(self, name: str) -> bool:
        """Whether programs find something of this name."""
        return name not in self.local and (name in self.module.functions or name in self.module.globals)

    def needed(self, names: Iterable[str], given: set[str]) -> list[Function | Global]:
        """What a program needs of the library.

        Args:
            names: what the program asks for; those that are not in the library are left out.
            given: what the program has, and exports: it goes before what the library has under the same name.
        """
        module = self.module
        found: dict[str, Function | Global] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in found or (name in given and name not in self.local):
                continue
            each = module.functions.get(name) or module.globals.get(name)
            if each is not None:
                found[name] = each
                waiting += named_by(each)
        return [found[name] for name in sorted(found)]

    def compiled(self, functions: Iterable[Function], target: Multiclet, settings: Settings) -> list[Compiled]:
        """Functions of the library for a processor, by certain passes."""
        passes = tuple(settings.passes or ())
        known = [each for each in self._compiled if each[0] == target.processor and each[1] == passes]
        if not known:
            known = [(target.processor, passes, {})]
            self._compiled = [*self._compiled[1 - _KEPT :], known[0]]
        kept = known[0][2]
        made: list[Compiled] = []
        for f in functions:
            if f.name not in kept:
                kept[f.name] = compiler.compile(f, target, settings)
            made.append(kept[f.name])
        return made


@functools.cache
def library() -> Library:
    """The library, read when it is first asked for."""
    return Library()
