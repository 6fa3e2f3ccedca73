"""Modules: functions that call each other by name.

A function of a module names what it calls in its header, with the types that it expects, and a call is written as any other::

    function even(%n: i64) -> bool
      callee odd(i64) -> bool
      if_eq.i64 %n, 0
        ret.bool true
      end
      %m = sub.i64 %n, 1
      %r = call.bool odd(%m)
      ret.bool %r
    end

    function odd(%n: i64) -> bool
      callee even(i64) -> bool
      …

The order of the functions does not matter, and calls may lead back to where they came from. Globals (``ir/globals.py``; their text is in ``ir/global_text.py``)
stand among them, and a function names those whose addresses it takes, as its callees. What a module does not have itself it takes from
outside, by name (``Module.outside``, ``Module.find``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loopwright.errors import ArgumentError, VerifyError
from loopwright.ir import ops
from loopwright.ir.effects import mark_all_written
from loopwright.ir.function import MOST_ALIGNED, Callee, Function
from loopwright.ir.global_text import global_text
from loopwright.ir.globals import MOST_GLOBAL, Global, Reference
from loopwright.ir.interpret import Interpreter
from loopwright.ir.parse import parse_parts
from loopwright.ir.text import print_function, signature_text
from loopwright.ir.verify import verify
from loopwright.types import VOID, Type

__all__ = ["Finder", "Module", "parse_module"]


#: Finds what a module lacks by what it is to be: something with an address in this process, or None.
Finder = Callable[[Callee | Global], Callee | Global | None]


class Module:
    """Functions by name, each of which may call the others and itself, and the globals they share.

    Attributes:
        functions: by name, in the order they were added.
        globals: by name, in the order they were added.
        outside: what the module names and does not have, by name: a ``Callee`` or a ``Global`` with an address in this process.
        find: asked for what is not there either, or None.
    """

    __slots__ = ("find", "functions", "globals", "outside")

    def __init__(
        self,
        functions: Sequence[Function] = (),
        outside: Mapping[str, Callee | Global] | None = None,
        globals: Sequence[Global] = (),
        find: Finder | None = None,
    ) -> None:
        self.functions: dict[str, Function] = {}
        self.globals: dict[str, Global] = {}
        self.outside: dict[str, Callee | Global] = dict(outside) if outside is not None else {}
        self.find = find
        for each in globals:
            self.add_global(each)
        for f in functions:
            self.add(f)

    def add(self, f: Function) -> None:
        """Add a function. Raises ``VerifyError`` when the module has something of its name."""
        if f.name in self.functions:
            raise VerifyError(f"the module has two functions named {f.name}: give one of them another name", f.file)
        if f.name in self.globals:
            raise VerifyError(f"the module has a function and a global named {f.name}: give one of them another name", f.file)
        self.functions[f.name] = f

    def add_global(self, made: Global) -> None:
        """Add a global. Raises ``VerifyError`` when the module has something of its name, and where its contents do not fit it."""
        if made.name in self.functions or made.name in self.globals:
            raise VerifyError(f"the module has {made.name} already: give this global another name")
        if not made.address:
            self._check(made)
        self.globals[made.name] = made

    def _check(self, made: Global) -> None:
        problem = ""
        if not 0 <= made.size <= MOST_GLOBAL:
            problem = f"its size is {made.size}, not from 0 to {MOST_GLOBAL} bytes"
        elif not 0 < made.align <= MOST_ALIGNED or made.align & made.align - 1:
            problem = f"its alignment is {made.align}, no power of two up to {MOST_ALIGNED}"
        elif len(made.data) > made.size:
            problem = f"what is in it has {len(made.data)} bytes, the global {made.size}"
        end = 0
        for reference in made.references:
            if not problem and not end <= reference.offset <= made.size - 8:
                problem = f"the address of {reference.symbol} in it, at {reference.offset}, is not behind the one before or not inside"
            end = reference.offset + 8
        if problem:
            raise VerifyError(f"global {made.name}: {problem}")

    def link(self) -> None:
        """Give each name the function or the global it means. May be repeated.

        Raises ``VerifyError`` when there is none of that name, or it has another signature; with the user's line of its first use.
        """
        for f in self.functions.values():
            for number, callee in enumerate(f.callees):
                self._link_callee(f, number, callee)
            for number, named in enumerate(f.globals):
                self._link_global(f, number, named)
        mark_all_written(list(self.functions.values()))
        for each in self.globals.values():
            for reference in each.references:
                if reference.target is None:
                    reference.target = self._target(each, reference)

    def _link_callee(self, f: Function, number: int, callee: Callee) -> None:
        if callee.signature or callee.address or (callee.function is not None and self.functions.get(callee.name) is not callee.function):
            # No function, something of this process, or a function of another module.
            return
        called = self.functions.get(callee.name)
        if called is not None:
            params = [called.types[p] for p in called.params]
            if callee.named >= 0:
                # (Behind those with names it takes what registers for arguments are left.)
                given, places = callee.params[callee.named :], called.places and called.places[: callee.named]
                self._agree(f, number, params[: callee.named] + given, called.result, (*places, *callee.places[len(places) :]), called.results)
            else:
                self._agree(f, number, params, called.result, called.places, called.results)
            callee.function = called
            return
        known = self.outside.get(callee.name)
        if isinstance(known, Callee):
            self._agree(f, number, known.params, known.result, known.places, known.results)
        elif known is None and self.find is not None:
            known = self.find(callee)
        if not isinstance(known, Callee):
            listed = ", ".join(self.functions)
            raise VerifyError(
                f"{f.name} calls {callee.name}, which the module does not have (it has {listed}): add it, or give it with outside=",
                f.file,
                _line(f, number),
            )
        f.callees[number] = known

    def _link_global(self, f: Function, number: int, named: Global) -> None:
        if named.defined:
            return
        known: Callee | Global | None = self.globals.get(named.name, self.outside.get(named.name))
        if known is None and self.find is not None:
            known = self.find(named)
        if not isinstance(known, Global):
            listed = ", ".join(self.globals) or "none"
            raise VerifyError(f"{f.name} names the global {named.name}, which the module does not have (it has {listed}): add it", f.file)
        f.globals[number] = known

    def _target(self, each: Global, reference: Reference) -> Function | Callee | Global:
        """What an address in a global is of."""
        name = reference.symbol
        known = self.globals.get(name) or self.functions.get(name) or self.outside.get(name)
        if known is None and self.find is not None:
            known = self.find(Callee(name, [], VOID)) or self.find(Global(name))
        if known is None:
            raise VerifyError(f"the global {each.name} has the address of {name} in it, which the module does not have: add it, or give it with outside=")
        return known

    def _agree(self, f: Function, number: int, params: Sequence[Type], result: Type, places: tuple[int, ...], results: tuple[Type, ...]) -> None:
        callee = f.callees[number]
        if list(params) != list(callee.params) or result is not callee.result or places != callee.places or results != callee.results:
            wanted = signature_text(callee.name, callee.params, callee.result, callee.named, callee.places, callee.results)
            found = signature_text(callee.name, params, result, -1, places, results)
            raise VerifyError(f"{f.name} calls {wanted}, but it is {found}", f.file, _line(f, number))

    def verify(self, target: Any = None) -> None:
        """Link the module and check each function. Raises ``VerifyError``."""
        self.link()
        for f in self.functions.values():
            verify(f, target)

    def text(self) -> str:
        """The texts of the globals and the functions, which ``parse_module`` reads back."""
        return "\n".join([*(global_text(each) for each in self.globals.values() if not each.address), *(print_function(f) for f in self.functions.values())])

    def interpret(self, name: str, *args: Any, outside: Mapping[str, Callable[..., Any]] | None = None, limit: int = 50_000_000) -> Any:
        """Call a function of the module under the interpreter; see ``interpret.Interpreter``.

        Args:
            name: of the function.
            args: as its parameters ask.
            outside: Python functions to call for what the module does not have, by name.
            limit: how many instructions may be executed in all.

        Raises ``InterpreterError`` for what has no meaning, and where calls nest more deeply than the interpreter's stack has room for; ``ArgumentError``
        for a function that the module does not have.
        """
        if name not in self.functions:
            raise ArgumentError(f"the module has no function {name!r}; it has {', '.join(self.functions)}")
        return Interpreter(self.functions[name], callees=outside, limit=limit).call(*args)


def _line(f: Function, number: int) -> int:
    """The user's line of the first call of a callee, or 0."""
    for instr in f.code:
        if instr.imm == number and instr.op in ops.CALLING:
            return instr.line
    return 0


def parse_module(text: str, file: str = "<ir>", outside: Mapping[str, Callee | Global] | None = None, find: Finder | None = None) -> Module:
    """The module that a text describes: globals and functions one after the other.

    Args:
        text: as ``Module.text`` prints it, or written by hand.
        file: for error messages.
        outside: what it names and does not have itself, by name.
        find: asked for what is not there either.

    Raises:
        ParseError: for text that is no module; with line and column.
        VerifyError: for a function that breaks a rule, or calls what is not there.
    """
    globals_, functions = parse_parts(text, file)
    made = Module(functions, outside, globals_, find)
    made.verify()
    return made
