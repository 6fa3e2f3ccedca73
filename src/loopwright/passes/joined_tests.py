"""Two branches on whether a number lies between two bounds, as one.

``if c >= 65 and c <= 90`` is two branches, the second of which is asked where the first does not decide. Of one number and two constants a single comparison decides both
(``idioms.py``), so that the two are joined here::

    br_if n, lt c, 65
    br_if n, gt c, 90      →   br_if n, (lt c, 65) or (gt c, 90)

    block
      br_if 0, lt c, 65
      br_if n, le c, 90    →   br_if n - 1, (ge c, 65) and (le c, 90)
    end
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.passes.idioms import OPPOSITE, TURNED
from loopwright.types import BOOL

__all__ = ["run"]

_ABOVE: Final = (ops.GT, ops.GE)


def run(f: Function) -> None:
    """Join the branches of a function."""
    if not any(instr.op is ops.BR_IF for instr in f.code):
        return
    made = {instr.dst: instr for instr in f.code if instr.dst >= 0 and not f.variable[instr.dst]}
    out: list[Instr] = []
    joined = False
    for instr in f.code:
        out.append(instr)
        if instr.op is ops.BR_IF:
            joined |= _same_way(f, out, made)
        elif instr.op is ops.END:
            joined |= _two_ways(f, out, made)
    if joined:
        f.code = _without_unread(f, out)


def _without_unread(f: Function, code: list[Instr]) -> list[Instr]:
    """The code without comparisons, and their opposites, that nothing reads any more."""
    reads = [0] * len(f.types)
    for instr in code:
        for a in instr.args:
            if a >= 0:
                reads[a] += 1
    kept: list[Instr] = []
    for instr in reversed(code):
        asks = instr.op in OPPOSITE or (instr.op is ops.NOT and instr.type is BOOL)
        if not asks or reads[instr.dst] or f.variable[instr.dst]:
            kept.append(instr)
            continue
        for a in instr.args:
            if a >= 0:
                reads[a] -= 1
    return kept[::-1]


class _Test:
    """A comparison of an integer with a constant, as a branch asks it.

    Attributes:
        instr: the instruction that compares.
        compare: how, with the number first.
        x, bound: the number, and the constant's operand.
    """

    __slots__ = ("bound", "compare", "instr", "x")

    def __init__(self, instr: Instr, compare: Op, x: int, bound: int) -> None:
        self.instr = instr
        self.compare = compare
        self.x = x
        self.bound = bound


def _test(made: dict[int, Instr], f: Function, condition: int) -> _Test | None:
    """What a branch asks, if it is such a comparison, or the opposite of one."""
    turned = False
    instr = made.get(condition)
    while instr is not None and instr.op is ops.NOT and instr.type is BOOL:
        turned = not turned
        instr = made.get(instr.args[0])
    if instr is None or instr.op not in OPPOSITE or not instr.type.is_integer or instr.type.lanes:
        return None
    (x, bound), op = instr.args, instr.op
    if x < 0:
        x, bound, op = bound, x, TURNED[op]
    if x < 0 or bound >= 0 or f.variable[x]:
        return None
    return _Test(instr, OPPOSITE[op] if turned else op, x, bound)


def _before(out: list[Instr], last: int) -> int:
    """Where the instruction in front of a branch is that does more than compare."""
    k = last - 1
    while k >= 0 and (out[k].op in OPPOSITE or (out[k].op is ops.NOT and out[k].type is BOOL)):
        k -= 1
    return k


def _same_way(f: Function, out: list[Instr], made: dict[int, Instr]) -> bool:
    """Join the branch that comes last, and one in front of it to the same place, which leave where a number is outside of a range."""
    second = out[-1]
    k = _before(out, len(out) - 1)
    if k < 0 or out[k].op is not ops.BR_IF or out[k].imm != second.imm:
        return False
    a, b = _test(made, f, out[k].args[0]), _test(made, f, second.args[0])
    if a is None or b is None or a.x != b.x or a.instr.type is not b.instr.type or (a.compare in _ABOVE) == (b.compare in _ABOVE) or not _range(f, a, b, False):
        return False
    del out[k]
    out[-1:] = _joined(f, a, b, ops.OR, second, second.imm)
    return True


def _two_ways(f: Function, out: list[Instr], made: dict[int, Instr]) -> bool:
    """Join the branches of the block that ends here, whose first leaves it, and whose second goes further, where a number is inside of a range."""
    second = out[-2] if len(out) > 1 else out[-1]
    if second.op is not ops.BR_IF or second.imm < 1:
        return False
    k = _before(out, len(out) - 2)
    if k < 0 or out[k].op is not ops.BR_IF or out[k].imm != 0:
        return False
    start = _before(out, k)
    if start < 0 or out[start].op is not ops.BLOCK:
        return False
    a, b = _test(made, f, out[k].args[0]), _test(made, f, second.args[0])
    if a is None or b is None or a.x != b.x or a.instr.type is not b.instr.type:
        return False
    a.compare = OPPOSITE[a.compare]
    if (a.compare in _ABOVE) == (b.compare in _ABOVE) or not _range(f, a, b, True):
        return False
    del out[k]
    out[-2:] = _joined(f, a, b, ops.AND, second, second.imm - 1)
    del out[start]
    return True


def _range(f: Function, a: _Test, b: _Test, inside: bool) -> bool:
    """Whether two comparisons, one from below and one from above, are about a range that one comparison tells: of numbers without a sign one from 1, of others one from 0."""
    low, high = (a, b) if (a.compare in _ABOVE) == inside else (b, a)
    first = int(f.const_values[~low.bound]) + (low.compare is (ops.GT if inside else ops.LE))
    last = int(f.const_values[~high.bound]) - (high.compare is (ops.LT if inside else ops.GE))
    return first <= last and (first == 0 if a.instr.type.signed else first > 0)


def _joined(f: Function, a: _Test, b: _Test, join: Op, branch: Instr, outwards: int) -> list[Instr]:
    """The comparisons, what joins them, and the branch on that."""
    found: list[Instr] = []
    held: list[int] = []
    for test in (a, b):
        held.append(f.register(BOOL, ""))
        found.append(Instr(test.compare, test.instr.type, held[-1], [test.x, test.bound], 0, test.instr.line))
    both = f.register(BOOL, "")
    found.append(Instr(join, BOOL, both, held, 0, branch.line))
    found.append(Instr(ops.BR_IF, branch.type, NONE, [both], outwards, branch.line))
    return found
