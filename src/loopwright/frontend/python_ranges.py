"""Loops over Python's own ``range`` that are loops of the generated code all the same: where nobody can tell, but by how long it takes.

``for t in range(100)`` runs while its kernel is staged, and its body stands there a hundred times, which is what a body needs to which ``t`` is one of Python's numbers. To one that only
counts with it, or has it for an index, it makes no difference; if such a body has loops of the generated code in it, or makes many instructions, it is staged once.
"""

from __future__ import annotations

import ast
import math
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.complex_numbers import Complex
from loopwright.frontend.expr import Value
from loopwright.frontend.flow import RESULT
from loopwright.frontend.program import Evaluate, For, If, LoopStmt, NameTarget, Stmt
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import Count
from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.types import BF16, F16, F32, F64, I64, Type, limits

__all__ = [
    "FEWEST_LEFT",
    "MANY",
    "MANY_TO_COPY",
    "counts_only",
    "dense",
    "hands_on_numbers",
    "holds_loops",
    "is_dense",
    "once",
    "runs_once",
    "unroll_all",
    "unrolled",
]

#: So many instructions, of all iterations, are many.
MANY: Final = 4_000
#: So many accesses, of all iterations, are more than a nest is looked at with (``nests/analysis/nest.py``).
MANY_ACCESSES: Final = 250
#: Of so many iterations, one of whose numbers is kept, each would be a choice that waits for the one before.
MANY_TO_COPY: Final = 32
#: Fewer iterations stand side by side.
FEWEST: Final = 3
#: The same, of those whose number is an index: columns of a few, say, which may be accessed together.
FEWEST_INDICES: Final = 9
#: The same, of those whose number is a step: lanes have elements that are a known few apart.
FEWEST_STEPS: Final = 32
#: The same, of a loop that is left before its end.
FEWEST_LEFT: Final = 5
#: Loops that were to do the same at run time and do not are unrolled up to so many iterations.
MOST_UNROLLED: Final = 1_000
#: By the type of floats, up to where it holds all whole numbers.
_WHOLE: Final = {F32: 1 << 24, F16: 1 << 11, BF16: 1 << 8}
#: What stays as it is whatever a body does with it.
_CONSTANT: Final = (Value, StagedArray, Complex, int, float, complex, bool, str, bytes, Type, np.generic, type, FunctionType, BuiltinFunctionType, ModuleType)


def holds_loops(s: Staging, body: list[Stmt]) -> bool:
    """Whether a body has loops in it whose bounds, or condition, are known at run time only."""
    for stmt in body:
        if isinstance(stmt, LoopStmt):
            if any(_of_run_time(s, name, stmt) for name in stmt.head) or runs_once(s, stmt) or holds_loops(s, stmt.body):
                return True
        elif isinstance(stmt, If) and (holds_loops(s, stmt.body) or holds_loops(s, stmt.orelse)):
            return True
    return False


def runs_once(s: Staging, stmt: LoopStmt) -> bool:
    """Whether a loop is noted to do the same at run time, and has not been found to have to be unrolled."""
    return once(s, stmt) in s.notes and unrolled(s, stmt) not in s.notes


def _of_run_time(s: Staging, name: str, stmt: LoopStmt) -> bool:
    value = s.act.env.get(name)
    if isinstance(value, StagedArray):
        return not value.array.size
    return isinstance(value, Value) and value.operand >= 0


def is_dense(code: list[Instr], steps: int) -> bool:
    """Whether so many times what an iteration has made has too many accesses to be looked at as a nest."""
    return len(code) * steps > MANY_ACCESSES and sum(instr.op is ops.LOAD or instr.op is ops.STORE for instr in code) * steps > MANY_ACCESSES


def counts_only(s: Staging, stmt: For, numbers: range, left: bool = False, many: bool = False, dense: bool = False) -> bool:
    """Whether a loop does the same if it runs at run time: of what its body does, only indices of arrays depend on the number, and all that it hands on has a type.

    With ``many`` instructions elements of local arrays are not to become variables; in loops that are ``dense`` a few columns are no reason to unroll. With ``left`` it may be left before its end, which has to be at run time: what counts how often it has run has a type behind it then, and nothing else reads that inside.
    """
    if type(stmt.target) is not NameTarget or not stmt.numbers or (not left and (stmt.breaks or RESULT in stmt.writes)):
        return False
    if (stmt.copied and not many) or (s.notes and unrolled(s, stmt) in s.notes):
        return False
    name = stmt.target.name
    if len(numbers) < (FEWEST_INDICES if (stmt.indexed or stmt.typed) and not dense else FEWEST) or any(
        each in stmt.live or each in s.act.sticky for each in stmt.numbers
    ):
        return False
    env = s.act.env
    if stmt.steps and (len(numbers) < FEWEST_STEPS or any(_is_nothing(step, name, numbers, env) for step in stmt.steps)):
        return False
    for indexed in stmt.indexed:
        array = env.get(indexed)
        if not isinstance(array, StagedArray) or (array.array.size and not many):
            return False
    if not all(_stores(env.get(stored), numbers) for stored in stmt.stored):
        return False
    for other in stmt.beside:
        # (A narrower number would have made the index as narrow.)
        value = env.get(other)
        if type(value) is not int and not (isinstance(value, Value) and value.type is I64):
            return False
    if not all(any(isinstance(env.get(other), Value) for other in others) for others in stmt.typed) or not all(_converts(by, env) for by in stmt.converted):
        return False
    if not _hands_on(stmt, env, name, left):
        return False
    if not all(isinstance(env.get(read, 0), _CONSTANT) for read in stmt.reads) or _has_effects(stmt.body):
        return False
    return not any(_refused(place, index, name, numbers, env) for place, index in stmt.places)


def hands_on_numbers(s: Staging, stmt: LoopStmt) -> bool:
    """Whether what a loop hands on from one iteration to the next, or to what is behind it, has a type, or counts how often it has run."""
    return RESULT not in stmt.writes and not stmt.continues and _hands_on(stmt, s.act.env, "", True) and not _has_effects(stmt.body)


def _is_nothing(step: ast.expr, name: str, numbers: range, env: dict[str, Any]) -> bool:
    """Whether a step may be 0, which is an error while compiling, for some number."""
    known = {part.id: env.get(part.id) for part in ast.walk(step) if isinstance(part, ast.Name)}
    if len(numbers) > MANY or not all(each == name or type(value) is int for each, value in known.items()):
        return True
    code = compile(ast.Expression(step), "", "eval")
    try:
        return any(eval(code, {**known, name: number}) == 0 for number in numbers)
    except ZeroDivisionError:
        return True


def _converts(by: ast.expr, env: dict[str, Any]) -> bool:
    """Whether what is called is a type, ``i32`` or ``lw.i32``."""
    if isinstance(by, ast.Attribute):
        assert isinstance(by.value, ast.Name)
        module = env.get(by.value.id)
        return isinstance(module, ModuleType) and isinstance(getattr(module, by.attr, None), Type)
    assert isinstance(by, ast.Name)
    return isinstance(env.get(by.id), Type)


def _hands_on(stmt: LoopStmt, env: dict[str, Any], name: str, left: bool) -> bool:
    """Whether all that a loop hands on, but its number and what is returned, has a type; or, with ``left``, counts."""
    handed_on = stmt.live.union(stmt.carried)
    for written in stmt.writes:
        if written in (name, RESULT) or written not in handed_on:
            continue
        value = env.get(written)
        if not isinstance(value, (Value, Complex, np.generic)) and not (left and written in stmt.counters and type(value) in (int, float)):
            return False
    return True


def _stores(array: Any, numbers: range) -> bool:
    """Whether the elements of an array can hold all numbers of a range, as is asked of Python's."""
    if not isinstance(array, StagedArray) or array.pairs:
        return False
    element = array.array.element
    if element.is_float:
        return True
    if not element.is_integer:
        return False
    low, high = limits(element)
    return bool(low <= min(numbers[0], numbers[-1]) and max(numbers[0], numbers[-1]) <= high)


def _refused(place: ast.expr, index: bool, name: str, numbers: range, env: dict[str, Any]) -> bool:
    """Whether an index or bound that is made of a loop's number and of Python's is an error while compiling, for some number. (What else is in it is not looked at.)"""
    known = {part.id: env.get(part.id) for part in ast.walk(place) if isinstance(part, ast.Name)}
    if not all(each == name or type(value) is int for each, value in known.items()):
        return False
    code = compile(ast.Expression(place), "", "eval")
    # (Sums and multiples are least at an end.)
    for number in numbers if len(numbers) <= MANY else (numbers[0], numbers[-1]):
        known[name] = number
        try:
            if eval(code, known) < 0 and index:
                return True
        except ZeroDivisionError:
            return True
    return False


def counters(s: Staging, stmt: LoopStmt, steps: float) -> dict[str, Count]:
    """What such a loop counts, which has so many steps at most: the names of Python numbers, and what is known of these."""
    env = s.act.env
    found: dict[str, Count] = {}
    for name, added in stmt.counters.items():
        start = env.get(name)
        if type(start) is int or type(start) is float:
            down, up = (_times(steps, sum(bound(0, number) for number in added)) for bound in (min, max))
            whole = all(math.isfinite(number) and number == int(number) for number in (start, *added))
            found[name] = Count(unrolled(s, stmt), start + down, start + up, whole, True)
    return found


def _times(steps: float, number: float) -> float:
    return steps * number if number else 0


def too_narrow(s: Staging) -> bool:
    """Whether a number that a loop counts has met a type that does not hold all of them. Such loops are noted: if they are unrolled, each of these numbers is looked at."""
    narrow = [count for value, count in s.counts if not _holds(value.type, count)]
    for count in narrow:
        s.notes[count.key] = 1
    return bool(narrow)


def _holds(type_: Type, count: Count) -> bool:
    if type_ is F64 or type_ is I64 or (type_.is_integer and count.wraps):
        return True
    if type_.is_float:
        return count.whole and -_WHOLE[type_] <= count.least and count.most <= _WHOLE[type_]
    low, high = limits(type_) if type_.is_integer else (0, 0)
    return low <= count.least and count.most <= high


def once(s: Staging, stmt: LoopStmt) -> tuple[Any, ...]:
    """Notes that a loop does the same at run time, as its first iterations have shown."""
    return id(stmt), s.act.path, "once"


def dense(s: Staging, stmt: LoopStmt) -> tuple[Any, ...]:
    """Notes that what a loop and those in it make has too many accesses if they are unrolled."""
    return id(stmt), s.act.path, "dense"


def unroll_all(notes: dict[Any, Any]) -> bool:
    """Note of all loops that were to do the same at run time that they have to be unrolled: behind one of them something is refused. Whether there was one, of not too many iterations."""
    loops = [key for key, count in notes.items() if key[-1] == "once" and count <= MOST_UNROLLED and (*key[:-1], "unrolled") not in notes]
    for key in loops:
        notes[*key[:-1], "unrolled"] = 1
    return bool(loops)


def unrolled(s: Staging, stmt: LoopStmt) -> tuple[Any, ...]:
    """Notes that a loop has been tried at run time, and has to be unrolled."""
    return id(stmt), s.act.path, "unrolled"


def _has_effects(body: list[Stmt]) -> bool:
    """Whether a body has calls for their own sake, which may print while compiling, or add to a list."""
    for stmt in body:
        if isinstance(stmt, Evaluate):
            return True
        if isinstance(stmt, LoopStmt) and _has_effects(stmt.body):
            return True
        if isinstance(stmt, If) and (_has_effects(stmt.body) or _has_effects(stmt.orelse)):
            return True
    return False
