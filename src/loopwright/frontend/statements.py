"""Staging a kernel's statements: walking them once, running what is known while compiling and emitting the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from loopwright.errors import KernelTypeError, LoopwrightError
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.assigning import stage_assign, stage_update
from loopwright.frontend.calls import Inner, call
from loopwright.frontend.conditions import compound_if, decide, runtime_if
from loopwright.frontend.expr import Value, is_number, is_staged
from loopwright.frontend.flow import RESULT
from loopwright.frontend.looping import stage_for, stage_while
from loopwright.frontend.merging import leaving
from loopwright.frontend.program import Assert, Assign, Break, Continue, Define, Evaluate, For, If, Pass, Return, Stmt, Update, While
from loopwright.frontend.results import infer
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import BREAK, CONTINUE, ENDED, FALLS, RETURN, Compound
from loopwright.frontend.variables import assign
from loopwright.ir import ops
from loopwright.types import VOID

__all__ = ["Statements"]


class Statements(Staging):
    """The statements of one kernel, staged for one signature."""

    def block(self, body: list[Stmt]) -> int:
        """Stage statements in order; how control leaves them."""
        run = _RUN
        emitter = self.emitter
        # The kernel's own lines, not those of a function in another file that is inlined: as ``at`` has it.
        own = self.act.parsed.file == self.file
        try:
            for stmt in body:
                emitter.at_line = stmt.line
                if own:
                    emitter.line = stmt.line
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
        assign(self, stmt.parsed.name, Inner(stmt.parsed, self.act, {name: self.emitter.snapshot(self.evaluate(code)) for name, code in stmt.defaults}))
        return FALLS

    def _return(self, stmt: Return) -> int:
        value = self.evaluate(stmt.value) if stmt.value is not None else None
        act, emitter = self.act, self.emitter
        if isinstance(value, Value) and value.operand in self.numbers:
            count = self.numbers[value.operand]
            value = emitter.opened(value)
            self.counts.append((value, count))
        if act.top:
            act.returned += 1
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
        edge = leaving(self, {RESULT}, emitter.branch(act.block))
        act.result.append(edge)
        act.returned += 1
        return ENDED

    def _return_top(self, value: Any) -> int:
        emitter, f = self.emitter, self.emitter.f
        if value is None:
            if f.result is not VOID:
                raise self.syntax(f"`return` without a value in a kernel that returns {self.result}")
            emitter.emit(ops.RET, VOID, [])
            return ENDED
        if self.infers:
            infer(self, value)
        if f.result is VOID:
            if isinstance(value, (tuple, list, dict, set, str, bytes)):
                raise self.syntax(f"a kernel returns one number, and no {type(value).__name__}: store several in an array argument")
            raise self.syntax("`return` with a value in a kernel without a result: annotate it, as in `def kernel(…) -> lw.f32:`")
        if isinstance(value, (tuple, StagedArray)):
            emitter.fail("a kernel returns one number: store more results in an array")
        made = emitter.assignable(value, self.result, "the result")
        if made.type.lanes:
            emitter.fail("a vector cannot be returned")
        emitter.emit(ops.RET, f.result, [emitter.convert(made, f.result).operand])
        return ENDED

    def call(self, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return call(self, function, args, named)

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
        if condition is None and loop.kind == "python" and len(emitter.brackets) == loop.depth:
            return BREAK if breaks else CONTINUE
        target = loop.exit if breaks else loop.next
        assert target is not None
        instr = emitter.branch(target, condition.operand if condition is not None else None)
        if breaks:
            loop.exits.append(leaving(self, loop.exit_names, instr))
        elif loop.kind == "python":
            loop.nexts.append(leaving(self, loop.next_names, instr))
        return ENDED


_RUN: Final[dict[type[Stmt], Callable[[Statements, Any], int]]] = {
    Assign: stage_assign,
    Update: stage_update,
    Evaluate: Statements._evaluate,
    Assert: Statements._assert,
    Pass: Statements._pass,
    Define: Statements._define,
    Return: Statements._return,
    If: Statements._if,
    For: stage_for,
    While: stage_while,
    Break: Statements._break,
    Continue: Statements._continue,
}
