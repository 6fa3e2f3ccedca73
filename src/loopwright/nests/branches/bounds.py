"""Numbers kept within bounds by branches, and the one or the other of two values that have been compared, as minima and maxima.

``x if x > y else y`` is ``max(y, x)``: the operations of the representation compare as Python's ``min`` and ``max`` do, also for NaN and zeros. Of two bounds in one chain (``if x < 0: x = 0``,
``elif x > 88: x = 88``) the second does not hold for what the first has made, so that they are two branches in a row.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.types import VOID

__all__ = ["normalized", "toward"]

#: By comparison, with the new value first: the operation. Of those that hold for equal operands, too, it is the same only where those cannot be told apart.
_STRICT: Final[dict[Op, Op]] = {ops.GT: ops.MAX, ops.LT: ops.MIN}
_LOOSE: Final[dict[Op, Op]] = {ops.GE: ops.MAX, ops.LE: ops.MIN}
#: What an arm begins behind, and ends in front of.
_BEGINS: Final = frozenset((ops.IF, ops.THEN, ops.ELSE))
_ENDS: Final = frozenset((ops.ELIF, ops.ELSE, ops.END))


def normalized(f: Function, code: list[Instr]) -> list[Instr]:
    """Code with these as operations, or as a branch for each bound; ``code`` itself where there are none."""
    return _picked(f, _bounds_in_a_row(f, code))


def toward(f: Function, test: Instr, x: int, y: int) -> Op | None:
    """The operation whose result is ``x`` where a comparison of it with ``y`` holds, and ``y`` elsewhere; None where it is none."""
    op = test.op
    if op not in ops.COMPARING or test.type.lanes:
        return None
    if test.args == [y, x]:
        op = ops.COMPARISONS[ops.EXCHANGED[op.name]]
    elif test.args != [x, y]:
        return None
    if op in _STRICT:
        return _STRICT[op]
    return _LOOSE.get(op) if not test.type.is_float or f.options.fastmath else None


def _bounds_in_a_row(f: Function, code: list[Instr]) -> list[Instr]:
    """Code in which bounds that are the arms of one ``if`` are an ``if`` each."""
    found = [k for k in range(1, len(code) - 6) if code[k].op is ops.IF and code[k + 1].op is ops.COPY and _two_bounds(f, code, k)]
    if not found:
        return code
    out: list[Instr] = []
    done = 0
    for k in found:
        nested = code[k + 2].op is ops.ELSE
        line = code[k + 2].line
        out += code[done : k + 2]
        out += [Instr(ops.END, VOID, NONE, [], 0, line), code[k + 3], Instr(ops.IF, VOID, NONE, list(code[k + 4].args), 0, line), *code[k + 5 : k + 7]]
        done = k + 7 + nested
    out += code[done:]
    return out


def _two_bounds(f: Function, code: list[Instr], k: int) -> bool:
    """Whether an ``if`` at ``k`` keeps a variable at a constant bound in each of two arms, the second of which is not for what the first has made of it."""
    first, second = code[k - 1], code[k + 3]
    between, then = code[k + 2].op, code[k + 4]
    if not ((between is ops.ELIF and then.op is ops.THEN) or (between is ops.ELSE and then.op is ops.IF and code[k + 7 : k + 8] and code[k + 7].op is ops.END)):
        return False
    low, high = code[k + 1], code[k + 5]
    variable = low.dst
    if high.op is not ops.COPY or high.dst != variable or code[k + 6].op is not ops.END or low.args[0] >= 0 or high.args[0] >= 0:
        return False
    if first.args != [variable, low.args[0]] or second.args != [variable, high.args[0]] or first.dst != code[k].args[0] or second.dst != then.args[0]:
        return False
    least, greatest = f.const_values[~low.args[0]], f.const_values[~high.args[0]]
    below = first.op in (ops.LT, ops.LE) and second.op in (ops.GT, ops.GE) and least < greatest
    return below or (first.op in (ops.GT, ops.GE) and second.op in (ops.LT, ops.LE) and least > greatest)


def _picked(f: Function, code: list[Instr]) -> list[Instr]:
    """Code in which the one or the other of two values that have been compared (``x if x > y else y``) is the greater or the less of them, also within a bound that is chosen in the same way."""
    if not any(instr.op is ops.ELSE for instr in code):
        return code
    out: list[Instr] = []
    made = False
    for instr in code:
        if instr.op in _ENDS:
            _shorten(f, out)
        out.append(instr)
        if instr.op is ops.END and len(out) > 5 and out[-2].op is ops.COPY:
            made |= _pick(f, out) or _bound(f, out) or _chain(f, out)
    return out if made else code


def _shorten(f: Function, out: list[Instr]) -> None:
    """Let an arm at the end of ``out`` that is a copy of a copy be one."""
    if len(out) > 2 and out[-1].op is ops.COPY and out[-2].op is ops.COPY and out[-3].op in _BEGINS:
        held, last = out[-2:]
        if last.args == [held.dst] and not f.variable[held.dst]:
            out[-2:] = [Instr(ops.COPY, last.type, last.dst, list(held.args), 0, last.line)]


def _pick(f: Function, out: list[Instr]) -> bool:
    """Replace the ``if`` at the end of ``out`` that is ``x if x > y else y``."""
    test, opener, first, between, second = out[-6:-1]
    if opener.op is not ops.IF or between.op is not ops.ELSE or first.op is not ops.COPY or first.dst != second.dst or test.dst != opener.args[0]:
        return False
    x, y = first.args[0], second.args[0]
    op = toward(f, test, x, y)
    if op is None:
        return False
    del out[-5:]
    out.append(Instr(op, first.type, first.dst, [y, x], 0, first.line))
    return True


def _bound(f: Function, out: list[Instr]) -> bool:
    """Replace the ``if`` at the end of ``out`` that is a constant bound in one arm, and in the other what is kept within another one, which lies on its other side."""
    if len(out) < 8:
        return False
    k = len(out) - 5 if out[-5].op is ops.ELSE else len(out) - 4
    other, second = out[-3], out[-2]
    if out[k].op is not ops.ELSE or (k == len(out) - 5 and out[-4].op not in ops.COMPARING):
        return False
    test, opener, first = out[k - 3 : k]
    if opener.op is not ops.IF or first.op is not ops.COPY or first.dst != second.dst or test.dst != opener.args[0] or second.args != [other.dst]:
        return False
    if other.op is not ops.MIN and other.op is not ops.MAX:
        return False
    (value, limit), bound = other.args if other.args[1] < 0 else reversed(other.args), first.args[0]
    op = toward(f, test, bound, value)
    if op is None or op is other.op or limit >= 0 or bound >= 0:
        return False
    least, most = (bound, limit) if op is ops.MAX else (limit, bound)
    if not f.const_values[~least] <= f.const_values[~most]:
        return False
    del out[k - 2 :]
    out += [other, Instr(op, first.type, first.dst, [other.dst, bound], 0, first.line)]
    return True


def _chain(f: Function, out: list[Instr]) -> bool:
    """Replace the ``if`` at the end of ``out`` that is a bound in its first arm, another in its second, and in the last what lies between them."""
    if len(out) < 10 or out[-7].op is not ops.ELIF or out[-5].op is not ops.THEN or out[-3].op is not ops.ELSE or out[-4].op is not ops.COPY:
        return False
    first, above, chosen, middle = out[-8], out[-6], out[-4], out[-2]
    if first.op is not ops.COPY or not first.dst == chosen.dst == middle.dst:
        return False
    type_, line = first.type, middle.line
    between = f.register(type_, "", True)
    tail = [*out[-10:-7], Instr(ops.ELSE, VOID, NONE, [], 0, line), above, Instr(ops.IF, VOID, NONE, list(out[-5].args), 0, line)]
    tail += [Instr(ops.COPY, type_, between, list(chosen.args), 0, line), out[-3], Instr(ops.COPY, type_, between, list(middle.args), 0, line), out[-1]]
    if not _pick(f, tail):
        return False
    tail += [Instr(ops.COPY, type_, first.dst, [between], 0, line), out[-1]]
    if not _bound(f, tail):
        return False
    out[-10:] = tail
    return True
