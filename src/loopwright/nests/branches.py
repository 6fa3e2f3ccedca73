"""Branches in the innermost loop of a nest as choices between values, so that several iterations can be jammed.

What a branch decides, a core guesses, and goes on; where several iterations run side by side instead, nothing is left to guess (J. R. Allen, K. Kennedy,
C. Porterfield and J. Warren, "Conversion of control dependence to data dependence", POPL 1983). Only short arms of arithmetic are converted, which both run
then; nothing is loaded or stored that was not before.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr

__all__ = ["converted"]

#: Both arms run: they may have so many instructions together.
LONGEST: Final = 8
#: What takes so long that it is worth a branch.
_LONG: Final = frozenset((ops.DIV, ops.SQRT, ops.DIV_FLOOR, ops.REM_FLOOR, ops.DIV_TRUNC, ops.REM_TRUNC))


class _Arms:
    """An ``if`` that is open: its condition, and what its arms give variables."""

    __slots__ = ("condition", "line", "otherwise", "values")

    def __init__(self, condition: int, line: int) -> None:
        self.condition = condition
        self.line = line
        #: Per arm: variable -> the register with its value.
        self.values: list[dict[int, int]] = [{}, {}]
        self.otherwise = False

    @property
    def arm(self) -> dict[int, int]:
        return self.values[self.otherwise]


def converted(f: Function, body: list[Instr]) -> list[Instr] | None:
    """The body of a loop without branches, or None where a branch has to stay.

    Args:
        f: the function, which gets new registers.
        body: the instructions between the loop's brackets.
    """
    out: list[Instr] = []
    opened: list[_Arms] = []
    conditional = 0
    for instr in body:
        op = instr.op
        if op is ops.IF:
            opened.append(_Arms(_current(opened, instr.args[0]), instr.line))
        elif op is ops.ELSE:
            opened[-1].otherwise = True
        elif op is ops.END:
            _close(f, opened, out)
        elif op.effect == ops.CONTROL or op.effect == ops.CALLS:
            return None
        elif not opened:
            out.append(instr)
        else:
            conditional += 1
            if not op.pure or op in _LONG or instr.type.lanes or conditional > LONGEST:
                return None
            args = [_current(opened, a) for a in instr.args]
            dst = instr.dst
            if f.variable[dst]:
                value = f.register(f.types[dst], f.names[dst])
                opened[-1].arm[dst] = value
                dst = value
            out.append(Instr(op, instr.type, dst, args, instr.imm, instr.line, instr.source))
    return out


def _current(opened: list[_Arms], operand: int) -> int:
    """What an operand is where the arms that are open have written variables."""
    for arms in reversed(opened):
        known = arms.arm.get(operand)
        if known is not None:
            return known
    return operand


def _close(f: Function, opened: list[_Arms], out: list[Instr]) -> None:
    """Choose what the variables are behind an ``if``."""
    arms = opened.pop()
    for variable in sorted({*arms.values[0], *arms.values[1]}):
        type_ = f.types[variable]
        before = _current(opened, variable)
        chosen = [values.get(variable, before) for values in arms.values]
        dst = variable
        if opened:
            dst = f.register(type_, f.names[variable])
            opened[-1].arm[variable] = dst
        out.append(Instr(ops.SELECT, type_, dst, [arms.condition, *chosen], 0, arms.line))
