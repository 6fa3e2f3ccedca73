"""Divisions under ``fastmath`` by what stays the same in a loop: products with the reciprocal, which is computed in front of the loop.

::

    for i = 0, n, 1                       %4 = div.f32 1.0, %s
      %2 = load.f32 a[i]                  for i = 0, n, 1
      %3 = div.f32 %2, %s          →        %2 = load.f32 a[i]
                                            %3 = mul.f32 %2, %4

A product is rounded twice so, and is off by 1.5 ulp at most where the reciprocal is a normal number.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.ir.loops import IS_LOOP

__all__ = ["run"]


class _Loop:
    """An open bracket: where it begins, whether it is a loop, and the variables that are written in it."""

    __slots__ = ("head", "is_loop", "written")

    def __init__(self, head: int, is_loop: bool) -> None:
        self.head = head
        self.is_loop = is_loop
        self.written: set[int] = set()


def run(f: Function) -> None:
    """Rewrite the divisions of floats in the loops of a function."""
    code = f.code
    if not any(instr.op is ops.DIV and instr.type.is_float for instr in code):
        return
    around: list[_Loop] = []
    inside: dict[int, _Loop] = {}  # per position of a division: the innermost loop around it
    places: dict[int, int] = {}
    for k, instr in enumerate(code):
        op = instr.op
        if op.closes and not op.opens:
            around.pop()
        elif op.opens and not op.closes:
            around.append(_Loop(k, IS_LOOP[op.code]))
        if instr.dst >= 0:
            if f.variable[instr.dst]:
                for bracket in around:
                    bracket.written.add(instr.dst)
            else:
                places[instr.dst] = k
        if op is ops.DIV and instr.type.is_float and not is_half(instr.type):
            # (The reciprocals of many an f16 are none, or have few digits.)
            loops = [bracket for bracket in around if bracket.is_loop]
            if loops:
                inside[k] = loops[-1]
    ahead: dict[int, list[Instr]] = {}
    made: dict[tuple[int, int], int] = {}
    for k, loop in inside.items():
        instr = code[k]
        divisor = _same(f, places, instr.args[1], loop)
        if divisor < 0 or instr.args[0] < 0:
            continue
        reciprocal = made.get((loop.head, divisor), NONE)
        if reciprocal == NONE:
            reciprocal = made[loop.head, divisor] = f.register(instr.type, "")
            ahead.setdefault(loop.head, []).append(Instr(ops.DIV, instr.type, reciprocal, [f.const(instr.type, 1.0), divisor], 0, instr.line))
        instr.op, instr.args = ops.MUL, [instr.args[0], reciprocal]
    if ahead:
        out: list[Instr] = []
        for k, instr in enumerate(code):
            out += ahead.get(k, [])
            out.append(instr)
        f.code = out


def _same(f: Function, places: dict[int, int], operand: int, loop: _Loop) -> int:
    """The register that has an operand's value in front of a loop as well; NONE where it may differ in its iterations, or is a constant."""
    while operand >= 0:
        if f.variable[operand]:
            return NONE if operand in loop.written else operand
        place = places.get(operand, NONE)
        if place < loop.head:
            return operand
        if f.code[place].op is not ops.COPY:
            return NONE
        operand = f.code[place].args[0]
    return NONE
