"""Divisions under ``fastmath`` by what stays the same in a loop, or always: products with the reciprocal, which is computed in front of the loop.

::

    for i = 0, n, 1                       %4 = div.f32 1.0, %s
      %2 = load.f32 a[i]                  for i = 0, n, 1
      %3 = div.f32 %2, %s          →        %2 = load.f32 a[i]
                                            %3 = mul.f32 %2, %4

So are divisions by constants. What is computed in the loop from what does not change in it (``f32(n)``) has its reciprocal right behind it, and both leave the loop. A product is rounded twice so, and is off by 1.5 ulp at most where the reciprocal is a normal number. An element of an array that the loop does not store to (``a[r, r]`` in a loop over ``i``)
stays the same as well: its reciprocal is computed where it is loaded, and leaves the loop with it (``simplify``).

Where what is divided is waited for, in a total of a loop inside or by the next iteration, and what divides it is not (``x[i] = s / a[i, i]`` behind a sum of products with ``x``), the reciprocal is computed
meanwhile: what is left to wait for is a product. Several divisions by one number that nothing waits for are products with its reciprocal, too.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.ir.loops import IS_LOOP

__all__ = ["of_elements", "run", "while_waiting"]

#: Per width of a float the least normal number, and the greatest that is not too close to infinity.
_NORMAL: Final[dict[int, tuple[float, float]]] = {32: (2.0**-126, 2.0**126), 64: (2.0**-1022, 2.0**1022)}


class _Loop:
    """An open bracket: where it begins, whether it is a loop, and the variables that are written in it."""

    __slots__ = ("head", "is_loop", "written")

    def __init__(self, head: int, is_loop: bool) -> None:
        self.head = head
        self.is_loop = is_loop
        self.written: set[int] = set()


def _divides(f: Function) -> bool:
    return any(instr.op is ops.DIV and instr.type.is_float for instr in f.code)


def _divisions(f: Function, places: dict[int, int]) -> dict[int, _Loop]:
    """The divisions of floats in loops, by their positions, and the innermost loop around each; ``places`` receives where each register is written."""
    around: list[_Loop] = []
    inside: dict[int, _Loop] = {}
    for k, instr in enumerate(f.code):
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
    return inside


def run(f: Function) -> None:
    """Rewrite the divisions of floats by constants, and those in the loops of a function."""
    if not _divides(f):
        return
    code = f.code
    for instr in code:
        if instr.op is ops.DIV and instr.type.is_float and not is_half(instr.type) and instr.args[1] < 0 <= instr.args[0]:
            _by_constant(f, instr)
    places: dict[int, int] = {}
    inside = _divisions(f, places)
    ahead: dict[int, list[Instr]] = {}
    behind: dict[int, Instr] = {}
    made: dict[tuple[int, int], int] = {}
    fixed: dict[tuple[int, int], bool] = {}
    for k, loop in inside.items():
        instr = code[k]
        divisor = _same(f, places, instr.args[1], loop)
        if instr.args[0] < 0:
            continue
        where = loop.head
        if divisor < 0:
            divisor = instr.args[1]
            where = places.get(divisor, NONE)
            if divisor < 0 or f.variable[divisor] or not _fixed(f, places, divisor, loop, fixed):
                continue
        reciprocal = made.get((where, divisor), NONE)
        if reciprocal == NONE:
            reciprocal = made[where, divisor] = f.register(instr.type, "")
            one = Instr(ops.DIV, instr.type, reciprocal, [f.const(instr.type, 1.0), divisor], 0, instr.line)
            if where == loop.head:
                ahead.setdefault(where, []).append(one)
            else:
                # (It leaves the loop with the divisor.)
                behind[where] = one
        instr.op, instr.args = ops.MUL, [instr.args[0], reciprocal]
    if made:
        out: list[Instr] = []
        for k, instr in enumerate(code):
            out += ahead.get(k, [])
            out.append(instr)
            if k in behind:
                out.append(behind[k])
        f.code = out


def _by_constant(f: Function, instr: Instr) -> None:
    """Make a division by a constant a product, where the reciprocal is a normal number."""
    divisor = float(f.const_values[~instr.args[1]])
    least, most = _NORMAL[instr.type.bits]
    if divisor and least <= abs(1.0 / divisor) <= most:
        instr.op, instr.args = ops.MUL, [instr.args[0], f.const(instr.type, 1.0 / divisor)]


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


def of_elements(f: Function) -> None:
    """Rewrite divisions by elements that a loop does not store to, and which are the same in all its iterations."""
    if not _divides(f):
        return
    code = f.code
    places: dict[int, int] = {}
    inside = _divisions(f, places)
    behind: dict[int, list[Instr]] = {}
    stored: dict[int, set[int]] = {}
    made: dict[int, int] = {}
    fixed: dict[tuple[int, int], bool] = {}
    for k, loop in inside.items():
        instr = code[k]
        place = places.get(instr.args[1], NONE)
        if place <= loop.head or code[place].op is not ops.LOAD or f.variable[instr.args[1]] or instr.args[0] < 0:
            continue
        if loop.head not in stored:
            stored[loop.head] = _stored(f, loop.head)
        array = code[place].imm
        if any(other < 0 or other == array or not f.never_meet(array, other) for other in stored[loop.head]):
            continue
        if not all(_fixed(f, places, a, loop, fixed) for a in code[place].args):
            continue
        if place not in made:
            made[place] = f.register(instr.type, "")
            behind[place] = [Instr(ops.DIV, instr.type, made[place], [f.const(instr.type, 1.0), instr.args[1]], 0, instr.line)]
        instr.op, instr.args = ops.MUL, [instr.args[0], made[place]]
    if behind:
        f.code = [one for k, instr in enumerate(code) for one in (instr, *behind.get(k, []))]


def while_waiting(f: Function) -> None:
    """Rewrite divisions in loops whose first operands are waited for, and several by one divisor."""
    if not _divides(f):
        return
    code = f.code
    ahead: dict[int, Instr] = {}
    around = [_Body(False, False, set())]
    for k, instr in enumerate(code):
        op = instr.op
        if op.closes:
            left = around.pop()
            around[-1].late |= left.written if left.is_loop else left.late
            around[-1].written |= left.written
        if op.opens:
            is_loop = IS_LOOP[op.code]
            around.append(_Body(is_loop, is_loop or around[-1].in_loop, _handed_on(f, k) if is_loop else around[-1].late))
        body = around[-1]
        if instr.dst >= 0:
            if f.variable[instr.dst]:
                body.written.add(instr.dst)
                body.late.discard(instr.dst)
            if not body.late.isdisjoint(instr.args):
                body.late.add(instr.dst)
        if body.in_loop and op is ops.DIV and instr.type.is_float and not is_half(instr.type) and min(instr.args) >= 0 and not f.variable[instr.args[1]]:
            number, divisor = instr.args
            if divisor not in body.late and (number in body.late or divisor in body.divided or divisor in body.made):
                _by_reciprocal(f, instr, body, ahead)
            elif divisor not in body.late:
                body.divided[divisor] = instr
    if ahead:
        f.code = [one for instr in code for one in ((ahead[id(instr)], instr) if id(instr) in ahead else (instr,))]


class _Body:
    """What is between two brackets.

    Attributes:
        is_loop, in_loop: it is a loop's; it is in one, at least.
        late: what is waited for.
        written: the variables that have been written.
        made: the reciprocals that are there.
        divided: per divisor the division by it.
    """

    __slots__ = ("divided", "in_loop", "is_loop", "late", "made", "written")

    def __init__(self, is_loop: bool, in_loop: bool, late: set[int]) -> None:
        self.is_loop = is_loop
        self.in_loop = in_loop
        self.late = set(late)
        self.written: set[int] = set()
        self.made: dict[int, int] = {}
        self.divided: dict[int, Instr] = {}


def _by_reciprocal(f: Function, instr: Instr, body: _Body, ahead: dict[int, Instr]) -> None:
    """Make a division a product, and one that came before it as well; ``ahead`` receives what is computed in front of the first."""
    divisor = instr.args[1]
    if divisor not in body.made:
        body.made[divisor] = f.register(instr.type, "")
        first = body.divided.get(divisor, instr)
        ahead[id(first)] = Instr(ops.DIV, instr.type, body.made[divisor], [f.const(instr.type, 1.0), divisor], 0, first.line)
        if first is not instr:
            first.op, first.args = ops.MUL, [first.args[0], body.made[divisor]]
    instr.op, instr.args = ops.MUL, [instr.args[0], body.made[divisor]]


def _handed_on(f: Function, head: int) -> set[int]:
    """The variables that a loop hands on to its next iteration; none of one over lanes, which do not wait for each other."""
    loop = f.code[head].loop
    if loop is not None and loop.lanes:
        return set()
    read: set[int] = set()
    written: set[int] = set()
    first: set[int] = set()  # what each iteration has written
    depth = 1
    for k in range(head + 1, len(f.code)):
        instr = f.code[k]
        depth += int(instr.op.opens) - int(instr.op.closes)
        if depth == 0:
            break
        read.update([a for a in instr.args if a >= 0 and f.variable[a] and a not in first])
        if instr.dst >= 0 and f.variable[instr.dst]:
            written.add(instr.dst)
            if depth == 1:
                first.add(instr.dst)
    return read & written


def _stored(f: Function, head: int) -> set[int]:
    """The arrays that a loop stores to; NONE among them where it may store anywhere."""
    found: set[int] = set()
    depth = 0
    for k in range(head, len(f.code)):
        op = f.code[k].op
        if op.effect == ops.WRITES or op.effect == ops.CALLS:
            found.add(f.code[k].imm if op in ops.ACCESSES else NONE)
        depth += int(op.opens) - int(op.closes)
        if depth == 0:
            break
    return found


def _fixed(f: Function, places: dict[int, int], operand: int, loop: _Loop, known: dict[tuple[int, int], bool]) -> bool:
    """Whether an operand is computed from what comes from in front of a loop alone; ``known`` keeps the answers, by the loop's head and the operand."""
    if operand < 0:
        return True
    if f.variable[operand]:
        return operand not in loop.written
    place = places.get(operand, NONE)
    if place < loop.head:
        return True
    asked = (loop.head, operand)
    if asked not in known:
        known[asked] = place > loop.head and f.code[place].op.pure and all(_fixed(f, places, a, loop, known) for a in f.code[place].args)
    return known[asked]
