"""Staging: walking a kernel's statements once, running what is known while compiling and emitting the rest.

An ``Activation`` is one call of a Python function (the kernel, or a function inlined into it). Its names live in a dict that
the expressions are evaluated over. Outside run-time control flow a name is simply rebound. What a run-time loop carries
from step to step is kept in a variable (``Sticky``) while the loop is staged; what differs where run-time paths meet
is merged there.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from types import CodeType
from typing import Any, Final

import numpy as np

from loopwright.errors import KernelSyntaxError, KernelTypeError, LoopwrightError
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.emitter import Emitter, Level
from loopwright.frontend.expr import Unavailable, Value, Weak, is_number, is_staged
from loopwright.frontend.flow import RESULT
from loopwright.frontend.merging import MISSING, Edge, join, same
from loopwright.frontend.program import (
    AND,
    LEAF,
    NOT,
    OR,
    Assert,
    Assign,
    Break,
    Continue,
    Define,
    Evaluate,
    For,
    If,
    LoopStmt,
    NameTarget,
    Parsed,
    Pass,
    Return,
    Stmt,
    Store,
    Target,
    Test,
    TupleTarget,
    Update,
    While,
)
from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.types import BOOL, KIND_MASK, VOID, mask_of

__all__ = ["BREAK", "CONTINUE", "ENDED", "FALLS", "RETURN", "Activation", "Compound", "LoopState", "Restage", "Staging", "Sticky", "Summed"]

# How control leaves a statement while staging.
FALLS: Final = 0
#: It does not: a branch or return was emitted, or no lane goes on.
ENDED: Final = 1
# A Python-level break, continue or return, taken while compiling.
BREAK: Final = 2
CONTINUE: Final = 3
RETURN: Final = 4

#: Most steps of a while loop that runs while compiling.
UNROLL_LIMIT: Final = 10_000

_UPDATES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "MatMult": operator.matmul,
}


class Restage(Exception):
    """A guess about the kernel was wrong; it has been noted, and staging starts again."""


class Compound:
    """A condition of several run-time parts, the first of them evaluated."""

    __slots__ = ("first", "kind", "rest")

    def __init__(self, kind: int, first: Any, rest: list[Test]) -> None:
        self.kind = kind
        self.first = first
        self.rest = rest


class Sticky:
    """A name that a run-time loop carries.

    Attributes:
        value: the variable; or the Python value, which must not change.
        level: the lanes that ran where the loop began.
        key: names the variable in the notes for staging again.
        line: where its first value was assigned.
    """

    __slots__ = ("key", "level", "line", "name", "value")

    def __init__(self, name: str, value: Any, level: Level | None, key: tuple[int, str], line: int) -> None:
        self.name = name
        self.value = value
        self.level = level
        self.key = key
        self.line = line


class Summed:
    """A variable from before a lanes loop that the loop reduces into.

    Attributes:
        initial: its value before the loop.
        op: the operation, once an update was seen.
        total: the vector accumulator, once an update was seen.
        identity: operand it starts from.
        anchor: the loop's first instruction.
        outer: the variable of an outer loop that the name stands for, or None.
    """

    __slots__ = ("anchor", "identity", "initial", "line", "name", "op", "outer", "total")

    def __init__(self, name: str, initial: Any, anchor: Instr, line: int) -> None:
        self.name = name
        self.initial = initial
        self.anchor = anchor
        self.line = line
        self.op: ops.Op | None = None
        self.total: Value | None = None
        self.identity = 0
        self.outer: Any = None


class LoopState:
    """A loop being staged.

    Attributes:
        kind: "runtime", "python" or "lanes".
        depth: brackets open when its body began.
        level: the lanes that run its body.
        remaining: a mask variable of the lanes that have not left the loop, where lanes leave one by one.
        exit, next: the brackets that break and continue branch to, or None.
        exits, nexts: paths by which break and continue get there.
        exit_names, next_names: names to merge there.
    """

    __slots__ = ("depth", "exit", "exit_names", "exits", "kind", "level", "next", "next_names", "nexts", "remaining", "stmt")

    def __init__(self, kind: str, stmt: LoopStmt) -> None:
        self.kind = kind
        self.stmt = stmt
        self.depth = 0
        self.level: Level | None = None
        self.remaining: Value | None = None
        self.exit: Instr | None = None
        self.next: Instr | None = None
        self.exits: list[Edge] = []
        self.nexts: list[Edge] = []
        self.exit_names = stmt.writes & stmt.live
        self.next_names: set[str] = set()


class Activation:
    """One call of a Python function.

    Attributes:
        parsed: the function.
        env: its names' values; the globals of its expressions.
        sticky: names that run-time loops carry.
        missing: why a name has no value.
        lines: where each name was last assigned.
        regions: the run-time bracket in which each name was last bound to a Python container.
        loops: the loops around, innermost last.
        result: paths by which a return leaves the inlined function.
        block: the bracket such a return branches to.
    """

    __slots__ = ("block", "depth", "env", "level", "lines", "loops", "missing", "parsed", "regions", "result", "sticky", "top")

    def __init__(self, parsed: Parsed, env: dict[str, Any], top: bool) -> None:
        self.parsed = parsed
        self.env = env
        self.top = top
        self.sticky: dict[str, Any] = {}
        self.missing: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        self.regions: dict[str, int] = {}
        self.loops: list[LoopState] = []
        self.result: list[Edge] = []
        self.block: Instr | None = None
        self.depth = 0
        self.level: Level | None = None


class Staging:
    """The staging of one kernel for one signature.

    Attributes:
        g: the emitter.
        act: the call being staged.
        vector_bits: width of a vector; 0 makes scalar loops of loops over lanes.
        notes: what earlier attempts found out: which variables differ by lane, how wide the lanes of a loop are.
        builtins: Python's builtins as kernels see them, with the hooks of rewritten expressions.
    """

    def __init__(self, g: Emitter, vector_bits: int, notes: dict[tuple[Any, ...], int], names: dict[str, Any]) -> None:
        self.g = g
        self.vector_bits = vector_bits
        self.notes = notes
        self.builtins = names
        self.act: Activation = None  # type: ignore[assignment]
        self.file = g.f.file
        self.depth = 0
        self.again = False
        self.visits: dict[int, int] = {}
        g.staging = self

    def syntax(self, message: str, line: int = 0) -> KernelSyntaxError:
        return KernelSyntaxError(message, self.act.parsed.file, line or self.g.at_line)

    def at(self, line: int) -> None:
        """The statement at a line is staged next."""
        g = self.g
        g.at_line = line
        if self.act.parsed.file == self.file:
            g.line = line

    # --- expressions --------------------------------------------------------------------------------------

    def evaluate(self, code: CodeType) -> Any:
        """An expression's value; errors of Python's own get the user's line."""
        try:
            return eval(code, self.act.env)  # noqa: S307
        except (LoopwrightError, Restage, RecursionError) as error:
            if isinstance(error, LoopwrightError):
                self.g.located(error)
            raise
        except NameError as error:
            name = error.name or ""
            reason = self.act.missing.get(name)
            if reason is None and name not in self.act.parsed.local:
                raise KernelTypeError(f"the name `{name}` is not defined", self.g.at_file, self.g.at_line) from None
            raise self.syntax(reason or f"`{name}` is not assigned on every path to here: assign it before") from None
        except TypeError as error:
            raise KernelTypeError(_plainer(str(error)), self.g.at_file, self.g.at_line) from error
        except Exception as error:
            error.add_note(f"{self.g.at_file}:{self.g.at_line}: while compiling the kernel")
            raise

    def decide(self, test: Test) -> Any:
        """A condition, as far as it is known: a Python bool, a ``Value`` that is bool or a mask, or a ``Compound``."""
        if test.kind == LEAF:
            assert test.code is not None
            value = self.evaluate(test.code)
            if isinstance(value, Value):
                return self.g.condition(value)
            if isinstance(value, StagedArray):
                bool(value)
            return bool(value)
        if test.kind == NOT:
            return self.negated(self.decide(test.parts[0]))
        absorbing = test.kind == OR
        parts = test.parts
        for position, part in enumerate(parts):
            found = self.decide(part)
            if type(found) is bool:
                if found is absorbing:
                    return found
                continue
            rest = parts[position + 1 :]
            return Compound(test.kind, found, rest) if rest else found
        return not absorbing

    def negated(self, found: Any) -> Any:
        if type(found) is bool:
            return not found
        if isinstance(found, Value):
            return self.g.logical_not(found)
        return Compound(OR if found.kind == AND else AND, self.negated(found.first), [Test(NOT, None, [part]) for part in found.rest])

    def compound_value(self, found: Any) -> Any:
        """A condition as one value, bool or mask, its later parts evaluated only where the earlier ones leave it open."""
        if not isinstance(found, Compound):
            return found
        thunks = [lambda part=part: self.compound_value(self.decide(part)) for part in found.rest]
        return self.short_circuit(found.kind, self.compound_value(found.first), thunks)

    def short_circuit(self, kind: int, first: Any, thunks: list[Callable[[], Any]]) -> Any:
        """``and`` / ``or`` of conditions as a value."""
        g = self.g
        absorbing = kind == OR
        if not isinstance(first, Value):
            for position, thunk in enumerate(thunks):
                if bool(first) is absorbing:
                    return first
                first = thunk()
                if isinstance(first, Value):
                    return self.short_circuit(kind, first, thunks[position + 1 :])
            return first
        if not thunks:
            return first
        if first.type.kind != KIND_MASK and first.type is not BOOL:
            word = "or" if absorbing else "and"
            g.fail(f"`{word}` of numbers (here {first.type}) has no value in a kernel: compare them, as in x != 0 {word} …, or use lw.select")
        if g.level is not None:
            mark = g.mark()
            if first.type is BOOL:
                made = self._uniform_short_circuit(absorbing, first, thunks)
                if made is not None:
                    return made
                g.rollback(mark)
            return self._masked_short_circuit(absorbing, first, thunks)
        made = self._uniform_short_circuit(absorbing, first, thunks)
        assert made is not None
        return made

    def _uniform_short_circuit(self, absorbing: bool, first: Value, thunks: list[Callable[[], Any]]) -> Value | None:
        """With control flow; None when a part differs by lane."""
        g = self.g
        result = g.f.register(BOOL, "", True)
        g.copy_to(result, BOOL, first.operand)
        opened = 0
        reached: Value = first
        for thunk in thunks:
            g.open(ops.IF, VOID, [(g.logical_not(reached) if absorbing else reached).operand])
            opened += 1
            part = thunk()
            if isinstance(part, Value) and part.type.kind == KIND_MASK:
                for _ in range(opened):
                    g.brackets.pop()
                return None
            reached = g.condition(part)
            g.copy_to(result, BOOL, reached.operand)
        for _ in range(opened):
            g.close()
        return Value(g, result, BOOL)

    def _masked_short_circuit(self, absorbing: bool, first: Value, thunks: list[Callable[[], Any]]) -> Value:
        g = self.g
        level = g.level
        assert level is not None
        type_ = mask_of(g.width, g.lanes)
        result = g.as_mask(first, type_)
        for thunk in thunks:
            running = g.level
            assert running is not None
            going = g.value(ops.ANDNOT if absorbing else ops.AND, type_, [result.operand, running.mask.operand], type_)
            g.level = Level(going, level)
            part = g.as_mask(g.condition(thunk()), type_)
            g.level = level
            result = g.value(ops.OR if absorbing else ops.AND, type_, [result.operand, part.operand], type_)
        return result

    # --- names --------------------------------------------------------------------------------------------

    def assign(self, name: str, value: Any, fresh: bool = False) -> None:
        """Bind a name, or write the variable that stands for it."""
        act = self.act
        g = self.g
        sticky = act.sticky.get(name)
        if sticky is not None:
            self.write(sticky, value, fresh)
            return
        if isinstance(value, Value):
            if value.operand in g.active:
                value = g.snapshot(value)
            elif type(value) is Unavailable:
                value.plain()
        elif not is_number(value):
            act.regions[name] = g.region
        act.env[name] = value
        act.lines[name] = g.at_line

    def write(self, sticky: Any, value: Any, fresh: bool) -> None:
        """Write a variable that a run-time loop carries."""
        g = self.g
        name = sticky.name
        if isinstance(sticky, Summed):
            g.fail(
                f"`{name}` comes from before the lw.lanes loop: inside, it can only be updated as a reduction ({name} += v, {name} *= v, {name} &= v, {name} = lw.min({name}, v), "
                f"{name} = lw.max({name}, v), {name} = lw.fma(a, b, {name})) in a statement of the loop, because the lanes run at once; use another name for a value of each lane"
            )
        variable = sticky.value
        if not isinstance(variable, Value):
            if same(variable, value):
                return
            g.fail(f"`{name}` is a Python value ({_shown(variable)}) and cannot change in a loop that runs at run time: only numbers can")
        masked = g.level is not sticky.level
        open_ = isinstance(variable, Weak) and variable.open
        if is_number(value):
            if open_ and not masked:
                if type(value) is bool:
                    g.fail(f"`{name}` is a number (line {sticky.line}) and is assigned a condition: use another name")
                instr = g.weak_instr(variable.cell.root(), ops.COPY, [value])
                instr.dst = variable.operand
                g.code.append(instr)
                return
            if open_:
                self._masked_open(sticky, value)
                return
            if variable.type.element is BOOL and type(value) is not bool:
                g.fail(f"`{name}` is a condition (line {sticky.line}) and is assigned the number {value!r}: use another name")
            if type(value) is float and not variable.type.is_float:
                self.mistyped(sticky, "a Python float")
            new = Value(g, g.number(variable.type, value), variable.type)
        else:
            wrapped = g.wrap(value)
            if wrapped is None:
                g.fail(f"`{name}` is a number carried by a loop that runs at run time, and cannot become {_shown(value)}")
            new = wrapped
            if new.type.lanes and not variable.type.lanes or masked and not variable.type.lanes:
                self.note((*sticky.key, "varies"), 1)
            if isinstance(new, Weak) and new.open:
                if open_ and new.type.lanes == variable.type.lanes:
                    g.unite(variable, new)
                    if masked:
                        self._masked_open(sticky, new)
                        return
                    self._copy(variable, new, fresh)
                    return
                g.settle(new, None if open_ else variable.type.element)
            if open_:
                if new.type.element is BOOL:
                    g.fail(f"`{name}` is a number (line {sticky.line}) and is assigned a condition: use another name")
                if variable.cell.root().floating and not new.type.is_float:  # type: ignore[attr-defined]
                    self.mistyped(sticky, str(new.type))
                g.settle(variable, new.type.element)
            have, want = new.type, variable.type
            if have is not want:
                if have.kind == KIND_MASK or have is BOOL:
                    if want.element is not BOOL:
                        self.mistyped(sticky, "a condition")
                    new = g.as_mask(new, want)
                elif have.element is not want.element:
                    self.mistyped(sticky, str(have.element))
                else:
                    new = g.splat(new, want.lanes)
        if masked:
            if not variable.type.lanes:
                self.note((*sticky.key, "varies"), 1)
            assert g.level is not None
            type_ = variable.type
            mask = g.level.mask if type_.kind == KIND_MASK else Value(g, g.mask_operand(type_), g.level.mask.type)
            g.code.append(Instr(ops.SELECT, type_, variable.operand, [mask.operand, new.operand, variable.operand], 0, g.line))
            return
        self._copy(variable, new, fresh)

    def _copy(self, variable: Value, new: Value, fresh: bool) -> None:
        """Write a variable; the instruction that made a value nobody else holds writes it directly."""
        g = self.g
        if fresh and g.code and new.operand >= 0 and g.code[-1].dst == new.operand and not g.f.variable[new.operand] and type(new) is Value:
            g.code[-1].dst = variable.operand
            if new.operand == len(g.f.types) - 1:
                g.f.types.pop()
                g.f.names.pop()
                g.f.variable.pop()
            return
        if isinstance(variable, Weak) and variable.open:
            instr = g.weak_instr(variable.cell.root(), ops.COPY, [new])
            instr.dst = variable.operand
            g.code.append(instr)
            return
        g.copy_to(variable.operand, variable.type, new.operand)

    def _masked_open(self, sticky: Sticky, value: Any) -> None:
        g = self.g
        variable = sticky.value
        cell = variable.cell.root()
        if not cell.lanes:
            self.note((*sticky.key, "varies"), 1)
        if type(value) is float and not cell.floating:
            g.widen(cell)
        assert g.level is not None
        type_ = cell.type
        instr = Instr(ops.SELECT, type_, variable.operand, [g.level.mask.operand, 0, variable.operand], 0, g.line)
        if isinstance(value, Value):
            instr.args[1] = value.operand
        else:
            instr.args[1] = g.number(type_, value)
            cell.numbers.append((instr, 1, value))
        cell.instrs.append(instr)
        g.code.append(instr)

    def mistyped(self, sticky: Sticky, found: str) -> None:
        want = sticky.value.type.element
        self.g.fail(
            f"`{sticky.name}` is {want} (line {sticky.line}) and is assigned {found} here (line {self.g.at_line}): a variable keeps its type in run-time code; "
            f"convert the value, as in lw.{want}(…), or start the variable with the type wanted"
        )

    def note(self, key: tuple[Any, ...], value: int) -> None:
        """Note something for the next attempt, and start it."""
        self.notes[key] = value
        raise Restage

    def carry(self, stmt: LoopStmt, varying: bool = False, names: set[str] | None = None) -> list[tuple[str, Any]]:
        """Make variables of the names that a run-time loop carries (or of those given); what to give back to ``release``."""
        act, g = self.act, self.g
        made: list[tuple[str, Any]] = []
        for name in sorted(stmt.carried if names is None else names):
            value = act.env.get(name, MISSING)
            known = act.sticky.get(name)
            if known is not None:
                if varying and isinstance(known, Sticky) and isinstance(known.value, Value) and not known.value.type.lanes:
                    self.note((*known.key, "varies"), 1)
                continue
            if value is MISSING or type(value) is Unavailable:
                continue
            key = (id(stmt), name)
            line = act.lines.get(name, stmt.line)
            lanes = g.lanes if varying or (*key, "varies") in self.notes else 0
            variable: Any
            if is_number(value) and type(value) is not bool:
                variable = g.weak_variable(type(value) is float, name, lanes)
                instr = g.weak_instr(variable.cell, ops.COPY, [value])
                instr.dst = variable.operand
                g.code.append(instr)
            elif isinstance(value, Weak) and value.open and not lanes:
                variable = Weak(g, g.f.register(value.type, name, True), value.cell)
                instr = g.weak_instr(value.cell.root(), ops.COPY, [value])
                instr.dst = variable.operand
                g.code.append(instr)
            elif isinstance(value, (Value, np.generic)) or type(value) is bool:
                start = g.staged(value)
                g.settle(start)
                type_ = start.type
                if lanes and not type_.lanes:
                    start = g.splat(start, lanes)
                    type_ = start.type
                variable = Value(g, g.f.register(type_, name, True), type_)
                g.copy_to(variable.operand, type_, start.operand)
            else:
                variable = value
            sticky = Sticky(name, variable, g.level, key, line)
            act.sticky[name] = sticky
            if isinstance(variable, Value):
                act.env[name] = variable
                g.active.add(variable.operand)
            made.append((name, sticky))
        return made

    def release(self, stmt: LoopStmt, made: list[tuple[str, Any]], why: str) -> None:
        """After a run-time loop: its variables keep their last values; other names assigned in it have none."""
        act = self.act
        self.drop(made)
        carried = {name for name, _ in made}
        for name in stmt.writes:
            if name not in carried and name not in act.sticky and name != RESULT:
                self.lose(name, f"`{name}` {why}")

    def drop(self, made: list[tuple[str, Any]]) -> None:
        """The variables of a loop are not written any more."""
        act = self.act
        for name, sticky in made:
            del act.sticky[name]
            if isinstance(sticky.value, Value):
                self.g.active.discard(sticky.value.operand)
                act.env[name] = sticky.value

    def lose(self, name: str, reason: str) -> None:
        """A name has no value from here on."""
        act = self.act
        act.missing[name] = reason
        if hasattr(builtins, name):
            # Otherwise the built-in of that name would be found instead.
            act.env[name] = Unavailable(self.g, reason)
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
        return Edge(self.values_of(names), dict(self.act.lines), anchor)

    def merge(self, edges: list[Edge], names: set[str], writes: set[str]) -> int:
        """Paths meet: bind each name to its one value, or to a variable written on each path."""
        if not edges:
            return ENDED
        act = self.act
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
                    self.lose(name, f"`{name}` is not assigned on every path to here: assign it on the others too, or before")
                elif equal:
                    act.env[name] = first
                else:
                    act.env[name] = join(self.g, name, edges)
        for name in writes:
            if name not in names and name not in act.sticky:
                act.env.pop(name, None)
        return FALLS

    # --- statements ---------------------------------------------------------------------------------------

    def block(self, body: list[Stmt]) -> int:
        """Stage statements in order; how control leaves them."""
        run = _RUN
        for stmt in body:
            self.at(stmt.line)
            status = run[type(stmt)](self, stmt)
            if status != FALLS:
                return status
        return FALLS

    def _assign(self, stmt: Assign) -> int:
        if stmt.reduction is not None and self.act.sticky:
            target = stmt.targets[0]
            assert isinstance(target, NameTarget)
            summed = self.act.sticky.get(target.name)
            if isinstance(summed, Summed):
                from loopwright.frontend.lanes import reduce_into

                reduce_into(self, summed, stmt.reduction)
                return FALLS
        before = len(self.g.code)
        value = self.evaluate(stmt.value)
        targets = stmt.targets
        target = targets[0]
        if len(targets) == 1:
            if type(target) is NameTarget:
                self.assign(target.name, value, stmt.fresh and len(self.g.code) > before)
            else:
                self.bind(target, value)
            return FALLS
        value = self.g.snapshot(value)
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
                raise KernelTypeError(str(error), self.g.at_file, self.g.at_line) from None
            count = len(target.items)
            if target.starred >= 0 and len(items) >= count - 1:
                rest = len(items) - count + 1
                k = target.starred
                items = [*items[:k], items[k : k + rest], *items[k + rest :]]
            if len(items) != count:
                self.g.fail(f"{len(items)} values for {count} names")
            for inner, item in zip(target.items, items, strict=True):
                self.bind(inner, item)
        elif isinstance(target, Store):
            self.store(target, self.evaluate(target.container), self.evaluate(target.index), value)

    def store(self, target: Store, container: Any, index: Any, value: Any) -> None:
        g = self.g
        if isinstance(container, StagedArray):
            container[index] = value
            return
        if isinstance(container, Value):
            container[index]
        if g.region and self.act.regions.get(target.name, 0) != g.region:
            g.fail(f"`{target.name or 'this'}` is a Python {type(container).__name__} and cannot change under run-time control flow: use an array argument, or variables")
        if is_staged(index):
            g.fail(f"`{target.name or 'this'}` is a Python {type(container).__name__}: it cannot be indexed with a run-time value; use an array argument")
        try:
            container[index] = g.snapshot(value)
        except Exception as error:
            error.add_note(f"{g.at_file}:{g.at_line}: while compiling the kernel")
            raise

    def _update(self, stmt: Update) -> int:
        container = self.evaluate(stmt.target.container)
        index = self.evaluate(stmt.target.index)
        try:
            old = container[index]
        except LoopwrightError as error:
            raise self.g.located(error) from None
        value = self.evaluate(stmt.value)
        try:
            new = _UPDATES[stmt.operator](old, value)
        except TypeError as error:
            if isinstance(error, LoopwrightError):
                raise
            raise KernelTypeError(_plainer(str(error)), self.g.at_file, self.g.at_line) from error
        self.store(stmt.target, container, index, new)
        return FALLS

    def _evaluate(self, stmt: Evaluate) -> int:
        self.evaluate(stmt.value)
        return FALLS

    def _assert(self, stmt: Assert) -> int:
        value = self.evaluate(stmt.value)
        if is_staged(value):
            self.g.fail("`assert` of a run-time value: kernels raise no exceptions; assert what is known while compiling, or return an error code")
        if not value:
            message = self.evaluate(stmt.message) if stmt.message is not None else "assertion failed"
            raise KernelTypeError(f"assertion failed while compiling: {message}", self.g.at_file, self.g.at_line)
        return FALLS

    def _pass(self, stmt: Pass) -> int:
        return FALLS

    def _define(self, stmt: Define) -> int:
        from loopwright.frontend.calls import Inner

        self.assign(stmt.parsed.name, Inner(stmt.parsed, self.act, {name: self.g.snapshot(self.evaluate(code)) for name, code in stmt.defaults}))
        return FALLS

    def _return(self, stmt: Return) -> int:
        value = self.evaluate(stmt.value) if stmt.value is not None else None
        act, g = self.act, self.g
        if act.top:
            return self._return_top(value)
        if g.level is not act.level and not stmt.tail:
            g.fail(f"`{act.parsed.name}` returns inside a loop under a condition that differs by lane: assign the result to a variable and return it at the end")
        if not is_number(value) and value is not None:
            value = g.snapshot(value)
        if stmt.tail:
            act.env[RESULT] = value
            act.lines[RESULT] = stmt.line
            return FALLS
        if len(g.brackets) == act.depth:
            act.env[RESULT] = value
            return RETURN
        assert act.block is not None
        act.env[RESULT] = value
        edge = self.edge({RESULT}, g.branch(act.block))
        act.result.append(edge)
        return ENDED

    def _return_top(self, value: Any) -> int:
        g, f = self.g, self.g.f
        if g.lanes:
            g.fail("`return` inside lw.lanes: the lanes run at once; return after the loop")
        if value is None:
            if f.result is not VOID:
                raise self.syntax(f"`return` without a value in a kernel that returns {f.result}")
            g.emit(ops.RET, VOID, [])
            return ENDED
        if f.result is VOID:
            raise self.syntax("`return` with a value in a kernel without a result: annotate it, as in `def kernel(…) -> lw.f32:`")
        if isinstance(value, tuple) or isinstance(value, StagedArray):
            g.fail("a kernel returns one number: store more results in an array")
        made = g.assignable(value, f.result, "the result")
        if made.type.lanes:
            g.fail("a vector cannot be returned")
        g.emit(ops.RET, f.result, [made.operand])
        return ENDED

    # --- conditions ---------------------------------------------------------------------------------------

    def _if(self, stmt: If) -> int:
        return self.branch(stmt, self.decide(stmt.test))

    def branch(self, stmt: If, found: Any) -> int:
        """Stage an if whose condition has been evaluated as far as ``decide`` does."""
        if found is True:
            return self.block(stmt.body)
        if found is False:
            return self.block(stmt.orelse)
        g = self.g
        if isinstance(found, Compound):
            if g.level is None:
                return self._compound_if(stmt, found)
            found = self.compound_value(found)
        if found.type.kind == KIND_MASK:
            from loopwright.frontend.lanes import varying_if

            return varying_if(self, stmt, found)
        if not stmt.orelse and len(stmt.body) == 1 and isinstance(stmt.body[0], (Break, Continue)) and self.act.loops and self.act.loops[-1].remaining is None:
            self.at(stmt.body[0].line)
            self._leave(stmt.body[0], found)
            return FALLS
        return self._runtime_if(stmt, found)

    def _arm(self, body: list[Stmt]) -> int:
        """One side of a run-time if."""
        g = self.g
        outer = g.region
        g.regions += 1
        g.region = g.regions
        status = self.block(body)
        g.region = outer
        return status

    def _runtime_if(self, stmt: If, condition: Value) -> int:
        g = self.g
        names = stmt.writes & stmt.live
        before = self.values_of(stmt.writes)
        lines = dict(self.act.lines)
        opener = g.open(ops.IF, VOID, [condition.operand])
        edges: list[Edge] = []
        current = stmt
        while True:
            falls = self._arm(current.body) == FALLS
            ended = Edge(self.values_of(names), dict(self.act.lines), opener) if falls else None
            self.restore(stmt.writes, before)
            orelse = current.orelse
            if not orelse:
                edges.append(Edge(before, lines, opener))
                marker = g.close()
            elif len(orelse) == 1 and isinstance(orelse[0], If):
                inner = orelse[0]
                marker = g.emit(ops.ELIF, VOID, [])
                self.at(inner.line)
                found = self.decide(inner.test)
                if isinstance(found, Value) and found.type is BOOL:
                    if ended is not None:
                        ended.anchor = marker
                        edges.append(ended)
                    g.emit(ops.THEN, VOID, [found.operand])
                    current = inner
                    continue
                # A condition that needs more than one test, or none: a nested if.
                marker.op = ops.ELSE
                g.regions += 1
                outer, g.region = g.region, g.regions
                status = self.branch(inner, found)
                g.region = outer
                other = Edge(self.values_of(names), dict(self.act.lines), opener) if status == FALLS else None
                end = g.close()
                if other is not None:
                    other.anchor = end
                    edges.append(other)
            else:
                marker = g.emit(ops.ELSE, VOID, [])
                other = None
                if self._arm(orelse) == FALLS:
                    other = Edge(self.values_of(names), dict(self.act.lines), opener)
                end = g.close()
                if other is not None:
                    other.anchor = end
                    edges.append(other)
            if ended is not None:
                ended.anchor = marker
                edges.append(ended)
            return self.merge(edges, names, stmt.writes)

    def _compound_if(self, stmt: If, found: Compound) -> int:
        """``if a and b``: each part branches; no condition is materialised."""
        g = self.g
        names = stmt.writes & stmt.live
        before = self.values_of(stmt.writes)
        lines = dict(self.act.lines)
        edges: list[Edge] = []
        outside = g.open(ops.BLOCK, VOID, []) if stmt.orelse else None
        inside = g.open(ops.BLOCK, VOID, [])
        holds = self._leave_unless(found, inside)
        if holds and self._arm(stmt.body) == FALLS:
            then = Edge(self.values_of(names), dict(self.act.lines), inside)
            if outside is not None:
                then.anchor = g.branch(outside)
            edges.append(then)
        end = g.close()
        if edges and outside is None:
            edges[0].anchor = end
        self.restore(stmt.writes, before)
        if outside is None:
            edges.append(Edge(before, lines, inside))
        else:
            other = None
            if self._arm(stmt.orelse) == FALLS:
                other = Edge(self.values_of(names), dict(self.act.lines), inside)
            end = g.close()
            if other is not None:
                other.anchor = end
                edges.append(other)
        return self.merge(edges, names, stmt.writes)

    def _leave_unless(self, found: Any, opener: Instr) -> bool:
        """Branch out of a block when a condition does not hold; False when it never does."""
        g = self.g
        if type(found) is bool:
            if not found:
                g.branch(opener)
            return found
        if isinstance(found, Value):
            g.branch(opener, g.logical_not(g.condition(found)))
            return True
        parts = [lambda part=part: self.decide(part) for part in found.rest]
        if found.kind == AND:
            if not self._leave_unless(found.first, opener):
                return False
            return all(self._leave_unless(part(), opener) for part in parts)
        holds = g.open(ops.BLOCK, VOID, [])
        self._leave_if(found.first, holds)
        for part in parts[:-1]:
            self._leave_if(part(), holds)
        self._leave_unless(parts[-1](), opener)
        g.close()
        return True

    def _leave_if(self, found: Any, opener: Instr) -> None:
        """Branch out of a block when a condition holds."""
        g = self.g
        if type(found) is bool:
            if found:
                g.branch(opener)
        elif isinstance(found, Value):
            g.branch(opener, g.condition(found))
        elif found.kind == OR:
            self._leave_if(found.first, opener)
            for part in found.rest:
                self._leave_if(self.decide(part), opener)
        else:
            fails = g.open(ops.BLOCK, VOID, [])
            going = self._leave_unless(found.first, fails)
            for part in found.rest[:-1]:
                going = going and self._leave_unless(self.decide(part), fails)
            if going:
                self._leave_if(self.decide(found.rest[-1]), opener)
            g.close()

    # --- break and continue -------------------------------------------------------------------------------

    def _break(self, stmt: Break) -> int:
        return self._leave(stmt, None)

    def _continue(self, stmt: Continue) -> int:
        return self._leave(stmt, None)

    def _leave(self, stmt: Break | Continue, condition: Value | None) -> int:
        """break or continue, when a uniform condition holds if there is one."""
        g = self.g
        loops = self.act.loops
        word = "break" if isinstance(stmt, Break) else "continue"
        if not loops:
            raise self.syntax(f"`{word}` outside a loop", stmt.line)
        loop = loops[-1]
        breaks = word == "break"
        if loop.kind == "lanes" and breaks:
            g.fail("`break` in an lw.lanes loop: the lanes run at once, in no order; use lw.range for this loop, or a condition")
        if g.level is not loop.level or loop.remaining is not None:
            from loopwright.frontend.lanes import lanes_leave

            return lanes_leave(self, loop, breaks)
        if condition is None and loop.kind == "python" and len(g.brackets) == loop.depth:
            return BREAK if breaks else CONTINUE
        target = loop.exit if breaks else loop.next
        assert target is not None
        instr = g.branch(target, condition)
        if breaks:
            loop.exits.append(self.edge(loop.exit_names, instr))
        elif loop.kind == "python":
            loop.nexts.append(self.edge(loop.next_names, instr))
        return ENDED

    # --- loops --------------------------------------------------------------------------------------------

    def _for(self, stmt: For) -> int:
        from loopwright.frontend import looping

        return looping.stage_for(self, stmt)

    def _while(self, stmt: While) -> int:
        from loopwright.frontend import looping

        return looping.stage_while(self, stmt)


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


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '…'}"


def _plainer(message: str) -> str:
    """Python's message with our class names replaced by what they stand for."""
    return message.replace("'Value'", "a run-time value").replace("'Weak'", "a run-time value").replace("'StagedArray'", "an array").replace("'LaneIndex'", "the lanes' index")

