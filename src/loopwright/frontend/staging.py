"""The staging of one kernel for one signature: what is known while it goes on, its names and its expressions.

An ``Activation`` is one call of a Python function (the kernel, or a function inlined into it). Its names live in a dict that
the expressions are evaluated over. Outside run-time control flow a name is simply rebound. What a run-time loop carries
from step to step is kept in a variable (``Sticky``) while the loop is staged; what differs where run-time paths meet
is merged there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any, Final

from loopwright.errors import KernelSyntaxError, KernelTypeError, LoopwrightError
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Unavailable, Value
from loopwright.frontend.instructions import KernelAround
from loopwright.frontend.program import If, Stmt
from loopwright.frontend.state import Activation, Construct, Count, Restage
from loopwright.types import Type

__all__ = ["NOT_EVERYWHERE", "Staging"]

NOT_EVERYWHERE: Final = "is not assigned on every path to here: assign it on the others too, or before"


class Staging(KernelAround):
    """The staging of one kernel for one signature.

    Statements are for the subclass, ``Statements``, which stands on everything that stages one of them.

    Attributes:
        emitter: what emits the instructions.
        act: the call being staged.
        result: what the kernel returns, as it is annotated.
        notes: what earlier attempts found out: which elements of lists a loop changes.
        builtins: Python's builtins as kernels see them.
        makers: what makes the hooks of rewritten expressions, by name; ``hooks`` are those made.
        open: the constructs around that depend on what happens at run time, outermost first.
        born: id of a list or dictionary that the kernel made -> itself, and what was open then.
        made: id of an array that the kernel made with NumPy -> itself, and what notes that it is to be a local one.
        counting: loops over Python's range that run at run time, by their statement and the calls that led there.
        dense: what is staged is in such a loop because there would be too many accesses otherwise.
        numbers: registers of the numbers of such loops -> what is known of these.
        counts: what stands for Python numbers that such loops count, with what is known of these.
        cells: id of a list or dictionary -> index -> the variable that the element is.
        infers: the result has no annotation, and gets its type from what is returned.
        frozen: a path on which a name stands for a list has left the code before its end.
        merged: lists that names stand for where others have met, with those others.
        text, scope: the text given with the kernel (``source=``), or None, and the globals of the kernel.
    """

    def __init__(self, emitter: Emitter, notes: dict[Any, Any], builtins: dict[str, Any], makers: dict[str, Callable[[Staging], Callable[..., Any]]]) -> None:
        self.emitter = emitter
        self.notes = notes
        self.builtins = builtins
        self.makers = makers
        self.hooks: dict[str, Callable[..., Any]] = {}
        self.act: Activation = None  # type: ignore[assignment]
        self.result: Type = emitter.f.result
        self.file = emitter.f.file
        self.depth = 0
        self.again = False
        self.open: list[Construct] = []
        self.born: dict[int, tuple[Any, tuple[Construct, ...]]] = {}
        self.made: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self.counting: set[tuple[Any, ...]] = set()
        self.dense = False
        self.numbers: dict[int, Count] = {}
        self.counts: list[tuple[Value, Count]] = []
        self.cells: dict[int, dict[Any, Any]] = {}
        self.merged: list[tuple[Any, list[Any]]] = []
        self.frozen = False
        self.infers = False
        self.text: str | None = None
        self.scope: dict[str, Any] = {}
        emitter.staging = self

    def end(self) -> None:
        """Nothing more is staged. What has been made points to no names and hooks any more, so that these go at once, not with the garbage of cycles."""
        self.emitter.staging = None
        self.act = None  # type: ignore[assignment]
        self.hooks = {}
        self.open = []
        self.born = {}
        self.made = {}

    def equip(self, env: dict[str, Any], hooks: list[str]) -> None:
        """Give a call's names the builtins, and the hooks that its expressions use."""
        env["__builtins__"] = self.builtins
        known = self.hooks
        for name in hooks:
            hook = known.get(name)
            if hook is None:
                hook = known[name] = self.makers[name](self)
            env[name] = hook

    def syntax(self, message: str, line: int = 0) -> KernelSyntaxError:
        return KernelSyntaxError(message, self.act.parsed.file, line or self.emitter.at_line)

    def at(self, line: int) -> None:
        """The statement at a line is staged next."""
        emitter = self.emitter
        emitter.at_line = line
        if self.act.parsed.file == self.file:
            emitter.line = line

    def place(self) -> str:
        """The statement being staged and the calls that lead to it, in the words of an error at run time, which names the kernel's file and a line."""
        act, line = self.act, self.emitter.at_line
        text = act.statement(line)
        if act.parsed.file != self.file:
            text += f" at {act.parsed.file}:{line}"
        while act.caller is not None:
            act, line = act.caller
            where = f"line {line}" if act.parsed.file == self.file else f"{act.parsed.file}:{line}"
            text += f", called from {where}: {act.statement(line)}"
        return text

    # --- expressions --------------------------------------------------------------------------------------

    def evaluate(self, code: CodeType) -> Any:
        """An expression's value; errors of Python's own get the user's line."""
        try:
            return eval(code, self.act.env)
        except LoopwrightError as error:
            self.emitter.located(error)
            raise
        except Exception as error:
            self.explain(error)
            raise

    def explain(self, error: Exception) -> None:
        """Raise what Python raised while it ran a part of the kernel as an error at the user's line; what a kernel did not cause gets a note, and is the caller's to raise again."""
        made = self._explained(error)
        if made is not None:
            # `raise made from error` sets no cause where mypyc has compiled it.
            made.__cause__ = error
            raise made

    def _explained(self, error: Exception) -> LoopwrightError | None:
        file, line = self.emitter.at_file, self.emitter.at_line
        if isinstance(error, NameError):
            name = error.name or ""
            reason = self.act.missing.get(name)
            if reason is None and name not in self.act.parsed.local:
                return KernelTypeError(f"the name `{name}` is not defined", file, line)
            return self.syntax(reason or f"`{name}` {NOT_EVERYWHERE}")
        if isinstance(error, TypeError):
            return KernelTypeError(_plainer(str(error)), file, line)
        if isinstance(error, AttributeError):
            return KernelTypeError(_no_attribute(error), file, line)
        if isinstance(error, (LookupError, ArithmeticError, ValueError, AttributeError)):
            return KernelTypeError(f"{type(error).__name__} while compiling: {_plainer(str(error))}", file, line)
        if not isinstance(error, (Restage, RecursionError)):
            error.add_note(f"{file}:{line}: while compiling the kernel")
        return None

    def truth(self, value: Any) -> bool:
        """What Python takes a value for that is known while compiling."""
        try:
            return bool(value)
        except LoopwrightError as error:
            raise self.emitter.located(error) from None
        except Exception as error:
            self.explain(error)
            raise

    # --- names --------------------------------------------------------------------------------------------

    def new(self, value: Any) -> Any:
        """A list or dictionary has been made."""
        if type(value) is list or type(value) is dict:
            self.emitter.snapshot(value)
            self.born[id(value)] = value, tuple(self.open)
        return value

    def note(self, key: tuple[Any, ...], value: int) -> None:
        """Note something for the next attempt, and start it."""
        self.notes[key] = value
        raise Restage

    def lose(self, name: str, reason: str) -> None:
        """A name has no value from here on."""
        act = self.act
        act.missing[name] = reason
        if name in self.builtins:
            # Otherwise the built-in of that name would be found instead.
            act.env[name] = Unavailable(self.emitter, reason)
        else:
            act.env.pop(name, None)

    def values_of(self, names: set[str]) -> dict[str, Any]:
        env = self.act.env
        return {name: env[name] for name in names if name in env}

    def restore(self, names: set[str], values: dict[str, Any]) -> None:
        env = self.act.env
        for name in names:
            if name in values:
                env[name] = values[name]
            else:
                env.pop(name, None)

    # --- statements ---------------------------------------------------------------------------------------

    def block(self, body: list[Stmt]) -> int:
        """Stage statements in order; how control leaves them."""
        raise NotImplementedError

    def branch(self, stmt: If, found: Any) -> int:
        """Stage an if whose condition has been evaluated as far as it is known."""
        raise NotImplementedError


_NAMES: Final = {"Value": "a run-time value", "Weak": "a run-time value", "StagedArray": "an array", "LaneIndex": "the lanes' index"}


def _plainer(message: str) -> str:
    """Python's message with our class names replaced by what they stand for."""
    message = re.sub(r"loopwright\.\S*\(\)", "the function", message)
    made = re.sub("'?\\b(Value|Weak|StagedArray|LaneIndex)\\b'?", lambda found: _NAMES[found[1]], message)
    return made + ": kernels work on elements; loop over them, and write x[i]" if "StagedArray" in message else made


def _no_attribute(error: AttributeError) -> str:
    owner, name = error.obj, error.name or ""
    if isinstance(owner, StagedArray):
        instead = f"write a loop over {owner.name}[{', '.join('ijklmnop'[: owner.ndim])}]"
        return f"the array {owner.name} has no `.{name}` in a kernel, only shape, size, ndim, dtype, T and len({owner.name}): {instead}"
    if isinstance(owner, Value):
        return f"a run-time value ({owner.type}) has no `.{name}`: it is a number; there are operators, the functions of lw, and conversions such as lw.i32(v)"
    if isinstance(owner, ModuleType) and owner.__name__ == "loopwright":
        return f"loopwright has no `{name}`: what it has is listed in docs/kernels.md; a C function is called with lw.call"
    return f"AttributeError while compiling: {error}"
