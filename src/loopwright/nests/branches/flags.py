"""Variables that have one of two values wherever they are read, as truth values; and what such a variable has behind a branch, where that is one of the two whichever way was taken.

::

    inside = 0                                 inside = false
    for i = lo, hi                             for i = lo, hi
      if a[i] == 32: inside = 0                  if a[i] == 32: inside = false
      elif inside == 0:                →         else:
        n += 1                                     if not inside: n += 1
        inside = 1                                 inside = true
    end                                        end

An arm that leaves the variable alone has it as the condition says: where ``inside`` is not 0, it is 1. What an iteration hands on depends on what it has loaded alone then, not on what it was handed
(``previous.py``), where the text made each wait for the one before.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.branches.conversion import ARMS
from loopwright.types import BOOL, VOID

__all__ = ["run"]

#: What steers a loop's body of which it is told what its variables have.

#: What asks whether a truth value holds.
_ASKING: Final = frozenset((ops.IF, ops.THEN, ops.NOT))

#: Per variable, the values that it may have at a place.
_Known = dict[int, frozenset[int]]


def run(f: Function) -> None:
    """Rewrite every such variable of a function that is compared in a loop."""
    values = _flags(f)
    if not values:
        return
    out: list[Instr] = []
    code = f.code
    position = 0
    while position < len(code):
        end = _straight(code, position) if code[position].op is ops.FOR else 0
        out.append(code[position])
        position += 1
        if end:
            _decide(f, code, position, end, values, out)
            position = end
    f.code = _without_arms(f, _as_truths(f, out, values), values)


def _flags(f: Function) -> dict[int, tuple[int, int]]:
    """The variables that get two numbers in all, or truth values, one of them in a loop, and are compared with a number there, or asked: the numbers."""
    given: dict[int, set[int]] = {}
    others: set[int] = set(f.params)
    inside: set[int] = set()
    compared: set[int] = set()
    depth = 0
    loops: list[bool] = []
    for instr in f.code:
        op = instr.op
        dst = instr.dst
        if op.effect == ops.CONTROL:
            if op.closes and not op.opens:
                depth -= loops.pop()
            elif op.opens and not op.closes:
                loops.append(op is ops.FOR)
                depth += op is ops.FOR
        if dst >= 0 and f.variable[dst]:
            if op is ops.COPY and instr.args[0] < 0 and (instr.type is BOOL or (instr.type.is_integer and not instr.type.lanes)):
                given.setdefault(dst, set()).add(int(f.const_values[~instr.args[0]]))
                if depth:
                    inside.add(dst)
            else:
                others.add(dst)
        elif depth and ((op in ops.COMPARING and instr.args[1] < 0) or op in _ASKING) and instr.args[0] >= 0 and f.variable[instr.args[0]]:
            compared.add(instr.args[0])
    return {v: (min(numbers), max(numbers)) for v, numbers in given.items() if len(numbers) == 2 and v in inside and v in compared and v not in others}


def _straight(code: list[Instr], head: int) -> int:
    """Where a loop ends that holds branches alone; 0 for others."""
    depth = 1
    for position in range(head + 1, len(code)):
        op = code[position].op
        if op.effect == ops.CONTROL:
            if op not in ARMS:
                return 0
            if op is ops.IF:
                depth += 1
            elif op is ops.END:
                depth -= 1
                if not depth:
                    return position
    return 0


class _Branch:
    """A branch that is open.

    Attributes:
        before: what variables have in front of it.
        otherwise: what they have where its condition does not hold.
        ends: what they have at the ends of its arms.
        last: it has an ``else``.
        start: where it begins in what has been made.
        within: it was an ``elif`` of the branch around it, and ends with that.
    """

    __slots__ = ("before", "ends", "last", "otherwise", "start", "within")

    def __init__(self, before: _Known, otherwise: _Known, start: int, within: bool) -> None:
        self.before = before
        self.otherwise = otherwise
        self.ends: list[_Known] = []
        self.last = False
        self.start = start
        self.within = within


def _decide(f: Function, code: list[Instr], start: int, end: int, values: dict[int, tuple[int, int]], out: list[Instr]) -> None:
    """Append the body of a loop to ``out``; behind a branch that leaves one value of a variable only, it gets that there. (Behind each ``elif``, too, which becomes an ``if`` for that.)"""
    known: _Known = {v: frozenset(numbers) for v, numbers in values.items()}
    # Per truth value: a variable and the values of it for which it holds.
    truths = {v: (v, frozenset((1,))) for v in values if f.types[v] is BOOL}
    conditions: dict[int, tuple[int, frozenset[int]]] = dict(truths)
    branches: list[_Branch] = []
    for instr in code[start:end]:
        op = instr.op
        if op is ops.IF or op is ops.THEN:
            out.append(Instr(ops.IF, VOID, NONE, instr.args, 0, instr.line))
            holds, fails = _either(known, conditions, instr.args[0])
            branches.append(_Branch(known, fails, len(out), op is ops.THEN))
            known = holds
        elif op is ops.ELIF or op is ops.ELSE:
            out.append(Instr(ops.ELSE, VOID, NONE, [], 0, instr.line))
            branches[-1].ends.append(known)
            branches[-1].last = True
            known = branches[-1].otherwise
        elif op is ops.END:
            within = True
            while within:
                out.append(Instr(ops.END, VOID, NONE, [], 0, instr.line))
                branch = branches.pop()
                within = branch.within
                known = _joined(f, branch, known, instr.line, out)
        else:
            out.append(instr)
            if instr.dst in values:
                known = {**known, instr.dst: frozenset((int(f.const_values[~instr.args[0]]),))}
                conditions = {condition: row for condition, row in conditions.items() if row[0] != instr.dst or condition in truths}
            elif op in ops.COMPARING and instr.args[0] in values and instr.args[1] < 0:
                variable = instr.args[0]
                conditions[instr.dst] = variable, frozenset([number for number in values[variable] if _holds(f, instr, number)])
            elif op is ops.NOT and instr.args[0] in conditions:
                variable, numbers = conditions[instr.args[0]]
                conditions[instr.dst] = variable, frozenset(values[variable]) - numbers


def _joined(f: Function, branch: _Branch, known: _Known, line: int, out: list[Instr]) -> _Known:
    """What variables have behind a branch, at the end of whose last arm they have what is ``known``; those that may have one value only, and had two in front of it, get that."""
    ends = [*branch.ends, known] if branch.last else [known, branch.otherwise]
    joined: _Known = {}
    for v, before in branch.before.items():
        left: frozenset[int] = frozenset().union(*[each[v] for each in ends])
        joined[v] = left
        if len(left) == 1 and len(before) > 1:
            (number,) = left
            _drop(out, branch.start, v)
            out.append(Instr(ops.COPY, f.types[v], v, [f.const(f.types[v], number)], 0, line))
    return joined


def _drop(out: list[Instr], start: int, variable: int) -> None:
    """Take out what gives a variable a value, from ``start`` on, behind all that reads it."""
    k = len(out) - 1
    while k >= start and variable not in out[k].args:
        if out[k].dst == variable:
            del out[k]
        k -= 1


def _either(known: _Known, conditions: dict[int, tuple[int, frozenset[int]]], condition: int) -> tuple[_Known, _Known]:
    """What variables have where a condition holds, and where it does not."""
    row = conditions.get(condition)
    if row is None:
        return known, known
    variable, numbers = row
    return {**known, variable: known[variable] & numbers}, {**known, variable: known[variable] - numbers}


def _holds(f: Function, comparison: Instr, number: int) -> bool:
    """Whether a variable's comparison with a number holds for one of its values."""
    assert comparison.op.meaning is not None
    return bool(comparison.op.meaning(BOOL, comparison.type, number, f.const_values[~comparison.args[1]]))


def _as_truths(f: Function, code: list[Instr], values: dict[int, tuple[int, int]]) -> list[Instr]:
    """Code in which each variable says whether it has the greater of its values; what reads the number itself gets it chosen."""
    values = {v: numbers for v, numbers in values.items() if f.types[v] is not BOOL}
    types = {v: f.types[v] for v in values}
    for v in values:
        f.types[v] = BOOL
    out: list[Instr] = []
    for instr in code:
        args = instr.args
        if instr.dst in values:
            _, high = values[instr.dst]
            out.append(Instr(ops.COPY, BOOL, instr.dst, [f.const(BOOL, int(f.const_values[~args[0]] == high))], 0, instr.line))
            continue
        read = [a for a in args if a in values]
        if not read:
            out.append(instr)
        elif instr.op in ops.COMPARING and args[0] in values and args[1] < 0:
            low, high = values[args[0]]
            below, above = _holds(f, instr, low), _holds(f, instr, high)
            op, operand = (ops.COPY, f.const(BOOL, int(above))) if below == above else (ops.COPY if above else ops.NOT, args[0])
            out.append(Instr(op, BOOL, instr.dst, [operand], 0, instr.line))
        else:
            numbers: dict[int, int] = {}
            for v in read:
                if v not in numbers:
                    type_ = types[v]
                    numbers[v] = f.register(type_, "")
                    out.append(Instr(ops.SELECT, type_, numbers[v], [v, f.const(type_, values[v][1]), f.const(type_, values[v][0])], 0, instr.line))
            instr.args = [numbers.get(a, a) for a in args]
            out.append(instr)
    return out


def _without_arms(f: Function, code: list[Instr], values: dict[int, tuple[int, int]]) -> list[Instr]:
    """Code in which what is true at the end of one arm of a branch, and false at the end of the other, is what the branch asked."""
    out: list[Instr] = []
    opened: list[tuple[int, int]] = []  # per open bracket: where it begins in what has been made, and its ``else``, or -1
    for instr in code:
        op = instr.op
        out.append(instr)
        if op.opens and not op.closes:
            opened.append((len(out) - 1, -1))
        elif op is ops.ELSE:
            opened[-1] = opened[-1][0], len(out) - 1
        elif op is ops.END:
            start, middle = opened.pop()
            if middle < 0 or out[start].op is not ops.IF or any(each.op in (ops.ELIF, ops.THEN) for each in out[start:]):
                continue
            for v in values:
                first, second = _last_given(out, start + 1, middle, v), _last_given(out, middle + 1, len(out) - 1, v)
                condition = out[start].args[0]
                if first < 0 or second < 0 or condition < 0 or f.variable[condition]:
                    continue
                holds, fails = (bool(f.const_values[~out[k].args[0]]) for k in (first, second))
                if holds is not fails:
                    out[:] = [each for k, each in enumerate(out) if k not in (first, second)]
                    middle -= 1
                    out.append(Instr(ops.COPY if holds else ops.NOT, BOOL, v, [condition], 0, instr.line))
    return out


def _last_given(out: list[Instr], start: int, end: int, variable: int) -> int:
    """Where an arm gives a variable a constant, in no bracket of its own and behind all that mentions it; -1 where it does not."""
    depth = 0
    for k in range(end - 1, start - 1, -1):
        instr = out[k]
        if instr.op is ops.END:
            depth += 1
        elif instr.op.opens and not instr.op.closes:
            depth -= 1
        if instr.dst == variable:
            return k if not depth and instr.op is ops.COPY and instr.args[0] < 0 else -1
        if variable in instr.args:
            return -1
    return -1
