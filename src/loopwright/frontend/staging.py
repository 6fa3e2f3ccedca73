"""Staging: walking a kernel's statements once, running what is known while compiling and emitting the rest.

An ``Activation`` is one call of a Python function (the kernel, or a function inlined into it). Its names live in a dict that
the expressions are evaluated over. Outside run-time control flow a name is simply rebound. What a run-time loop carries
from step to step is kept in a variable (``Sticky``) while the loop is staged; what differs where run-time paths meet
is merged there.
"""

from __future__ import annotations

import builtins
import operator
import re
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any, Final

import numpy as np

from loopwright.errors import KernelSyntaxError, KernelTypeError, LoopwrightError
from loopwright.frontend import constants
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.calls import Inner
from loopwright.frontend.conditions import compound_if, decide, runtime_if
from loopwright.frontend.containers import apart, carries, element, put, put_slice, replaces
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Unavailable, Value, is_number, is_staged
from loopwright.frontend.flow import RESULT
from loopwright.frontend.lanes import reduce_into, update_reduction
from loopwright.frontend.looping import stage_for, stage_while
from loopwright.frontend.merging import CONTAINERS, MISSING, Edge, freeze, join, same, thaw
from loopwright.frontend.program import (
    Assert,
    Assign,
    Break,
    Continue,
    Define,
    Evaluate,
    For,
    If,
    NameTarget,
    Pass,
    Return,
    Stmt,
    Store,
    Target,
    TupleTarget,
    Update,
    While,
)
from loopwright.frontend.state import BREAK, CONTINUE, ENDED, FALLS, RETURN, Activation, Compound, Construct, LoopState, Restage, Sticky, Summed
from loopwright.frontend.variables import NOT_EVERYWHERE, write
from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.types import VOID

__all__ = ["Staging"]

_UPDATES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": constants.power,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "MatMult": operator.matmul,
}


class Staging:
    """The staging of one kernel for one signature.

    Attributes:
        emitter: what emits the instructions.
        act: the call being staged.
        notes: what earlier attempts found out: which elements of lists a loop changes.
        builtins: Python's builtins as kernels see them, with the hooks of rewritten expressions.
        open: the constructs around that depend on what happens at run time, outermost first.
        born: id of a list or dictionary that the kernel made -> itself, and what was open then.
        cells: id of a list or dictionary -> index -> the variable that the element is.
        frozen: a path on which a name stands for a list has left the code before its end.
        merged: lists that names stand for where others have met, with those others.
    """

    def __init__(self, emitter: Emitter, notes: dict[Any, Any], names: dict[str, Any]) -> None:
        self.emitter = emitter
        self.notes = notes
        self.builtins = names
        self.act: Activation = None  # type: ignore[assignment]
        self.file = emitter.f.file
        self.depth = 0
        self.again = False
        self.open: list[Construct] = []
        self.born: dict[int, tuple[Any, tuple[Construct, ...]]] = {}
        self.cells: dict[int, dict[Any, Any]] = {}
        self.merged: list[tuple[Any, list[Any]]] = []
        self.frozen = False
        emitter.staging = self

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
            explained = self._explained(error)
            if explained is None:
                raise
            raise explained from error

    def _explained(self, error: Exception) -> LoopwrightError | None:
        """What Python raised while it ran a part of the kernel, as an error at the user's line; None, and a note, for what a kernel did not cause."""
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
            explained = self._explained(error)
            if explained is None:
                raise
            raise explained from error

    # --- names --------------------------------------------------------------------------------------------

    def assign(self, name: str, value: Any, fresh: bool = False) -> None:
        """Bind a name, or write the variable that stands for it."""
        act = self.act
        emitter = self.emitter
        sticky = act.sticky.get(name)
        if sticky is not None:
            write(self, sticky, value, fresh)
            return
        if isinstance(value, Value):
            if value.operand in emitter.active:
                value = emitter.snapshot(value)
            elif type(value) is Unavailable:
                value.plain()
        elif not is_number(value):
            act.regions[name] = emitter.region
            if emitter.active and type(value) in CONTAINERS:
                value = emitter.snapshot(value)
        act.env[name] = value
        act.lines[name] = emitter.at_line

    def new(self, value: Any) -> Any:
        """A list or dictionary has been made."""
        if type(value) is list or type(value) is dict:
            self.emitter.snapshot(value)
            self.born[id(value)] = value, tuple(self.open)
        return value

    def carries(self, loop: LoopState, sticky: Sticky, old: Any) -> None:
        carries(self, loop, sticky, old)

    def replaces(self, name: str, variable: Any, value: Any) -> None:
        replaces(self, name, variable, value)

    def note(self, key: tuple[Any, ...], value: int) -> None:
        """Note something for the next attempt, and start it."""
        self.notes[key] = value
        raise Restage

    def lose(self, name: str, reason: str) -> None:
        """A name has no value from here on."""
        act = self.act
        act.missing[name] = reason
        if hasattr(builtins, name):
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

    def edge(self, names: set[str], anchor: Instr) -> Edge:
        """A path that leaves the code before its end: what lists hold on it is remembered, for it may change behind it."""
        values = self.values_of(names)
        for name, value in values.items():
            if type(value) in CONTAINERS:
                values[name] = freeze(value)
                self.frozen = True
        return Edge(values, dict(self.act.lines), anchor)

    def merge(self, edges: list[Edge], names: set[str], writes: set[str]) -> int:
        """Paths meet: bind each name to its one value, or to a variable written on each path."""
        if not edges:
            return ENDED
        act = self.act
        if self.frozen:
            for edge in edges:
                edge.values = {name: thaw(value, self) for name, value in edge.values.items()}
        if len(edges) == 1:
            self.restore(names, edges[0].values)
        else:
            for name in sorted(names):
                first = edges[0].values.get(name, MISSING)
                absent = first is MISSING
                equal = True
                for edge in edges:
                    other = edge.values.get(name, MISSING)
                    absent = absent or other is MISSING
                    equal = equal and same(first, other)
                if absent:
                    self.lose(name, f"`{name}` {NOT_EVERYWHERE}")
                elif equal:
                    act.env[name] = first
                else:
                    act.env[name] = join(self.emitter, name, edges)
        for name in writes:
            if name not in names and name not in act.sticky:
                act.env.pop(name, None)
        return FALLS

    # --- statements ---------------------------------------------------------------------------------------

    def block(self, body: list[Stmt]) -> int:
        """Stage statements in order; how control leaves them."""
        run = _RUN
        try:
            for stmt in body:
                self.at(stmt.line)
                status = run[type(stmt)](self, stmt)
                if status != FALLS:
                    return status
        except LoopwrightError as error:
            self._traced(error)
            raise
        return FALLS

    def _traced(self, error: LoopwrightError) -> None:
        """Give an error the text of its line, and the calls that lead there: each statement it passes on its way out is one, or its own."""
        file, line = self.emitter.at_file, self.emitter.at_line
        parsed = self.act.parsed
        statement = self.act.statement(line)
        if not error.file and not error.line or (error.file, error.line) == (file, line) and not error.statement:
            error.locate(file, line, statement)
        elif error.file == parsed.file and not error.statement and not error.calls and error.line in parsed.lines:
            # Another line of the same function: of the loop that a variable was assigned in, say.
            error.locate(error.file, error.line, self.act.statement(error.line))
        elif (file, line) != (error.calls[-1][:2] if error.calls else (error.file, error.line)):
            error.called_from(file, line, parsed.name, statement)

    def _assign(self, stmt: Assign) -> int:
        if stmt.reduction is not None and self.act.sticky:
            target = stmt.targets[0]
            summed = self.act.sticky.get(target.name) if isinstance(target, NameTarget) else None
            if isinstance(summed, Summed):
                reduce_into(self, summed, stmt.reduction)
                return FALLS
        if stmt.reduction is not None and self.cells and type(stmt.targets[0]) is Store:
            store = stmt.targets[0]
            container = self.evaluate(store.container)
            known = element(self, container, self.evaluate(store.index)) if type(container) in (list, dict) else None
            if isinstance(known, Summed):
                reduce_into(self, known, stmt.reduction)
                return FALLS
        before = len(self.emitter.code)
        value = self.evaluate(stmt.value)
        targets = stmt.targets
        target = targets[0]
        if len(targets) == 1:
            if type(target) is NameTarget:
                if stmt.in_place and type(value) is list:
                    old = self.act.env.get(target.name)
                    if type(old) is list:
                        self.put(old, slice(None), value)
                        return FALLS
                self.assign(target.name, value, stmt.fresh and len(self.emitter.code) > before)
            else:
                self.bind(target, value)
            return FALLS
        value = self.emitter.snapshot(value)
        for target in targets:
            self.bind(target, value)
        return FALLS

    def bind(self, target: Target, value: Any) -> None:
        """Assign to any target."""
        if isinstance(target, NameTarget):
            self.assign(target.name, value)
        elif isinstance(target, TupleTarget):
            if isinstance(value, (Value, StagedArray)):
                iter(value)
            try:
                items = list(value)
            except TypeError as error:
                raise KernelTypeError(str(error), self.emitter.at_file, self.emitter.at_line) from None
            count = len(target.items)
            if target.starred >= 0 and len(items) >= count - 1:
                rest = len(items) - count + 1
                k = target.starred
                items = [*items[:k], items[k : k + rest], *items[k + rest :]]
            if len(items) != count:
                self.emitter.fail(f"{len(items)} values for {count} names")
            if self.merged and any(type(item) in CONTAINERS for item in items):
                items = apart(self, items, {inner.name for inner in target.items if isinstance(inner, NameTarget)})
            for inner, item in zip(target.items, items, strict=True):
                self.bind(inner, item)
        elif isinstance(target, Store):
            self.store(target, self.evaluate(target.container), self.evaluate(target.index), value)

    def store(self, target: Store, container: Any, index: Any, value: Any) -> None:
        emitter = self.emitter
        if isinstance(container, StagedArray):
            container[index] = value
            return
        if isinstance(container, Value):
            container[index]
        if type(container) in (list, dict) and not is_staged(index):
            self.put(container, index, value)
            return
        if is_staged(index):
            emitter.fail(f"`{target.name or 'this'}` is a Python {type(container).__name__}: it cannot be indexed with a run-time value; use an array argument")
        if emitter.region and self.act.regions.get(target.name, 0) != emitter.region:
            emitter.fail(
                f"`{target.name or 'this'}` is a Python {type(container).__name__} and cannot change under run-time control flow: use a list, an array argument, or variables"
            )
        if isinstance(container, np.ndarray) and is_staged(value):
            emitter.fail(
                f"`{target.name or 'this'}` is a NumPy array, which holds what is known while compiling, and cannot hold a run-time value: "
                "use a variable for each element, a list of them, or an lw.Array argument"
            )
        try:
            container[index] = emitter.snapshot(value)
        except LoopwrightError as error:
            raise emitter.located(error) from None
        except Exception as error:
            explained = self._explained(error)
            if explained is None:
                raise
            raise explained from error

    def put(self, container: Any, index: Any, value: Any, fresh: bool = False) -> None:
        """Store to an element of a list or dictionary, or to a slice."""
        try:
            if type(index) is slice:
                put_slice(self, container, index, list(value))
            else:
                put(self, container, index, value, fresh)
        except (LoopwrightError, Restage):
            raise
        except Exception as error:
            explained = self._explained(error)
            if explained is None:
                raise
            raise explained from error

    def _update(self, stmt: Update) -> int:
        container = self.evaluate(stmt.target.container)
        index = self.evaluate(stmt.target.index)
        kind = type(container)
        if self.cells and (kind is list or kind is dict):
            known = element(self, container, index)
            if isinstance(known, Summed):
                update_reduction(self, known, stmt.operator, self.evaluate(stmt.value))
                return FALLS
        before = len(self.emitter.code)
        try:
            old = container[index]
            value = self.evaluate(stmt.value)
            new = _UPDATES[stmt.operator](old, value)
        except LoopwrightError as error:
            raise self.emitter.located(error) from None
        except Exception as error:
            explained = self._explained(error)
            if explained is None:
                raise
            raise explained from error
        if (kind is list or kind is dict) and not is_staged(index):
            self.put(container, index, new, len(self.emitter.code) > before)
        else:
            self.store(stmt.target, container, index, new)
        return FALLS

    def _evaluate(self, stmt: Evaluate) -> int:
        self.evaluate(stmt.value)
        return FALLS

    def _assert(self, stmt: Assert) -> int:
        value = self.evaluate(stmt.value)
        if is_staged(value):
            self.emitter.fail("`assert` of a run-time value: kernels raise no exceptions; assert what is known while compiling, or return an error code")
        if not self.truth(value):
            message = self.evaluate(stmt.message) if stmt.message is not None else "assertion failed"
            raise KernelTypeError(f"assertion failed while compiling: {message}", self.emitter.at_file, self.emitter.at_line)
        return FALLS

    def _pass(self, stmt: Pass) -> int:
        return FALLS

    def _define(self, stmt: Define) -> int:
        self.assign(stmt.parsed.name, Inner(stmt.parsed, self.act, {name: self.emitter.snapshot(self.evaluate(code)) for name, code in stmt.defaults}))
        return FALLS

    def _return(self, stmt: Return) -> int:
        value = self.evaluate(stmt.value) if stmt.value is not None else None
        act, emitter = self.act, self.emitter
        if act.top:
            return self._return_top(value)
        if not is_number(value) and value is not None:
            value = emitter.snapshot(value)
        if stmt.tail:
            act.env[RESULT] = value
            act.lines[RESULT] = stmt.line
            return FALLS
        if len(emitter.brackets) == act.depth:
            act.env[RESULT] = value
            return RETURN
        assert act.block is not None
        act.env[RESULT] = value
        edge = self.edge({RESULT}, emitter.branch(act.block))
        act.result.append(edge)
        return ENDED

    def _return_top(self, value: Any) -> int:
        emitter, f = self.emitter, self.emitter.f
        if emitter.in_lanes:
            emitter.fail("`return` inside lw.lanes: the lanes run at once; return after the loop")
        if value is None:
            if f.result is not VOID:
                raise self.syntax(f"`return` without a value in a kernel that returns {f.result}")
            emitter.emit(ops.RET, VOID, [])
            return ENDED
        if f.result is VOID:
            raise self.syntax("`return` with a value in a kernel without a result: annotate it, as in `def kernel(…) -> lw.f32:`")
        if isinstance(value, (tuple, StagedArray)):
            emitter.fail("a kernel returns one number: store more results in an array")
        made = emitter.assignable(value, f.result, "the result")
        if made.type.lanes:
            emitter.fail("a vector cannot be returned")
        emitter.emit(ops.RET, f.result, [made.operand])
        return ENDED

    # --- conditions ---------------------------------------------------------------------------------------

    def _if(self, stmt: If) -> int:
        return self.branch(stmt, decide(self, stmt.test))

    def branch(self, stmt: If, found: Any) -> int:
        """Stage an if whose condition has been evaluated as far as ``decide`` does."""
        if found is True:
            return self.block(stmt.body)
        if found is False:
            return self.block(stmt.orelse)
        if isinstance(found, Compound):
            return compound_if(self, stmt, found)
        if not stmt.orelse and len(stmt.body) == 1 and isinstance(stmt.body[0], (Break, Continue)) and self.act.loops:
            self.at(stmt.body[0].line)
            self._leave(stmt.body[0], found)
            return FALLS
        return runtime_if(self, stmt, found)

    # --- break and continue -------------------------------------------------------------------------------

    def _break(self, stmt: Break) -> int:
        return self._leave(stmt, None)

    def _continue(self, stmt: Continue) -> int:
        return self._leave(stmt, None)

    def _leave(self, stmt: Break | Continue, condition: Value | None) -> int:
        """break or continue, when a uniform condition holds if there is one."""
        emitter = self.emitter
        loops = self.act.loops
        word = "break" if isinstance(stmt, Break) else "continue"
        if not loops:
            raise self.syntax(f"`{word}` outside a loop", stmt.line)
        loop = loops[-1]
        breaks = word == "break"
        if loop.kind == "lanes" and breaks:
            emitter.fail("`break` in an lw.lanes loop: the lanes run at once, in no order; use lw.range for this loop, or a condition")
        if condition is None and loop.kind == "python" and len(emitter.brackets) == loop.depth:
            return BREAK if breaks else CONTINUE
        target = loop.exit if breaks else loop.next
        assert target is not None
        instr = emitter.branch(target, condition.operand if condition is not None else None)
        if breaks:
            loop.exits.append(self.edge(loop.exit_names, instr))
        elif loop.kind == "python":
            loop.nexts.append(self.edge(loop.next_names, instr))
        return ENDED

    # --- loops --------------------------------------------------------------------------------------------

    def _for(self, stmt: For) -> int:
        return stage_for(self, stmt)

    def _while(self, stmt: While) -> int:
        return stage_while(self, stmt)


_RUN: Final[dict[type[Stmt], Callable[[Staging, Any], int]]] = {
    Assign: Staging._assign,
    Update: Staging._update,
    Evaluate: Staging._evaluate,
    Assert: Staging._assert,
    Pass: Staging._pass,
    Define: Staging._define,
    Return: Staging._return,
    If: Staging._if,
    For: Staging._for,
    While: Staging._while,
    Break: Staging._break,
    Continue: Staging._continue,
}


_NAMES: Final = {"Value": "a run-time value", "Weak": "a run-time value", "StagedArray": "an array", "LaneIndex": "the lanes' index"}


def _plainer(message: str) -> str:
    """Python's message with our class names replaced by what they stand for."""
    message = re.sub(r"loopwright\.\S*\(\)", "the function", message)
    made = re.sub("'?\\b(Value|Weak|StagedArray|LaneIndex)\\b'?", lambda found: _NAMES[found[1]], message)
    return made + ": kernels work on elements; loop over them, and write x[i]" if "StagedArray" in message else made


def _no_attribute(error: AttributeError) -> str:
    owner, name = error.obj, error.name or ""
    if isinstance(owner, StagedArray):
        size = f"len({owner.name})" if owner.ndim == 1 else " * ".join([f"{owner.name}.shape[{k}]" for k in range(owner.ndim)])
        instead = f"write {size}" if name == "size" else f"write a loop over {owner.name}[{', '.join('ijklmnop'[: owner.ndim])}]"
        return f"the array {owner.name} has no `.{name}` in a kernel, only shape, ndim, dtype and len({owner.name}): {instead}"
    if isinstance(owner, Value):
        return f"a run-time value ({owner.type}) has no `.{name}`: it is a number; there are operators, the functions of lw, and conversions such as lw.i32(v)"
    if isinstance(owner, ModuleType) and owner.__name__ == "loopwright":
        return f"loopwright has no `{name}`: what it has is listed in docs/kernels.md; a C function is called with lw.call"
    return f"AttributeError while compiling: {error}"
