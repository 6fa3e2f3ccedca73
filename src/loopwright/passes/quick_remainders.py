"""Remainders of sums of remainders, which need no division.

::

    %t = add.i64 %x, %y                     %t = add.i64 %x, %y
    %r = rem_floor.i64 %t, 1000000007       if %t is at least 0, and below 2 * 1000000007
                                  →           %r = %t, or %t - 1000000007 where that is not below 0
                                            else
                                              %r = rem_floor.i64 %t, 1000000007

Counts modulo a prime, in tables of dynamic programming, are such: what is added up has been left by the same division, so that the sum is less than twice the divisor, and the one subtraction takes three cycles, where even the
product that stands for a division by a constant takes ten (modular addition: D. Knuth, The Art of Computer Programming, volume 2, 1998, section 4.3.2). That an array holds nothing but what has been left is not known, only
that nothing else is stored to it: it is asked, by a branch that is guessed right where it holds, or never does.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.passes.memory import array_of
from loopwright.types import BOOL, U32, U64, VOID, Type

__all__ = ["run"]

_REMAINDERS: Final = (ops.REM_FLOOR, ops.REM_TRUNC)
#: So many additions and copies are followed from a dividend back to what it is made of.
_DEEPEST: Final = 8
#: Divisors below are not looked at: they are not those of long sums, but of indices and digits.
_LEAST: Final = 1 << 12

#: The least and the greatest value.
_Range = tuple[int, int]


def run(f: Function) -> None:
    """Rewrite such remainders in the loops of a function whose vectors have been made."""
    if not any(instr.op in _REMAINDERS and not instr.type.lanes for instr in f.code):
        return
    likely = _Likely(f)
    out: list[Instr] = []
    depth = 0
    loops: list[bool] = []
    for instr in f.code:
        op = instr.op
        if op.closes and not op.opens:
            depth -= loops.pop()
        elif op.opens and not op.closes:
            loops.append(IS_LOOP[op.code])
            depth += loops[-1]
        elif depth and op in _REMAINDERS and likely.asked(instr):
            likely.write(instr, out)
            continue
        out.append(instr)
    f.code = out


class _Likely:
    """What registers and arrays most probably hold, one divisor at a time.

    Attributes:
        f: the function.
        made: per register: the instructions that give it a value.
        stored: per array: the stores to it.
        known: per divisor and array, or variable: whether nothing but what it leaves, and small numbers, is put there; True while that is being found out.
    """

    __slots__ = ("f", "found", "known", "made", "stored")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.made: dict[int, list[Instr]] = {}
        self.stored: dict[int, list[Instr]] = {}
        for instr in f.code:
            if instr.op is ops.STORE_AT:
                self.stored.setdefault(array_of(instr), []).append(instr)
            elif instr.dst >= 0:
                self.made.setdefault(instr.dst, []).append(instr)
        for p in f.params:
            self.made.pop(p, None)
        self.known: dict[tuple[int, bool, int], bool] = {}
        self.found: _Range = (0, 0)

    def asked(self, instr: Instr) -> bool:
        """Whether a remainder is to be asked for in this way; ``found`` is what its dividend most probably is between."""
        type_, by = instr.type, instr.args[1]
        if type_.lanes or not type_.is_integer or type_.bits < 32 or by >= 0 or instr.args[0] < 0:
            return False
        divisor = int(self.f.const_values[~by])
        made = self.made.get(instr.args[0], ())
        if divisor < _LEAST or divisor >= 1 << (type_.bits - 3) or len(made) != 1 or made[0].op not in (ops.ADD, ops.SUB):
            return False
        found = self.of(instr.args[0], divisor, _DEEPEST)
        if found is None:
            return False
        self.found = found
        if found[0] < 0 and not type_.signed:
            # (It wraps.)
            return False
        return (found[0] >= 0 and divisor <= found[1] < 4 * divisor) or (-divisor <= found[0] < 0 and found[1] < divisor and instr.op is ops.REM_FLOOR)

    def of(self, operand: int, divisor: int, depth: int) -> _Range | None:
        """What an operand most probably is between; None where nothing is known of it."""
        f = self.f
        if operand < 0:
            value = f.const_values[~operand]
            return (int(value), int(value)) if isinstance(value, int) and abs(value) <= divisor else None
        if not depth or not f.types[operand].is_integer:
            return None
        made = self.made.get(operand, ())
        if f.variable[operand]:
            return (0, divisor - 1) if made and self.holds(divisor, False, operand) else None
        return self.result(made[0], divisor, depth) if made else None

    def result(self, instr: Instr, divisor: int, depth: int) -> _Range | None:
        """The same of the result of an instruction."""
        op, args = instr.op, instr.args
        if op in _REMAINDERS:
            by = int(self.f.const_values[~args[1]]) if args[1] < 0 else 0
            return (0, by - 1) if 0 < by <= divisor else None
        if op is ops.LOAD_AT:
            array = array_of(instr)
            return (0, divisor - 1) if array >= 0 and self.holds(divisor, True, array) else None
        if op is ops.COPY or (op is ops.CONVERT and instr.source.is_integer):
            return self.of(args[0], divisor, depth - 1)
        if op in (ops.ADD, ops.SUB, ops.SELECT):
            first, second = (self.of(operand, divisor, depth - 1) for operand in args[-2:])
            if first is None or second is None:
                return None
            if op is ops.SELECT:
                return (min(first[0], second[0]), max(first[1], second[1]))
            return (first[0] + second[0], first[1] + second[1]) if op is ops.ADD else (first[0] - second[1], first[1] - second[0])
        return None

    def holds(self, divisor: int, array: bool, number: int) -> bool:
        """Whether nothing is put into an array, or a variable, but what a divisor leaves, and numbers below it."""
        key = (divisor, array, number)
        known = self.known.get(key)
        if known is not None:
            return known
        self.known[key] = True
        if array:
            found = [self.of(store.args[0], divisor, _DEEPEST) for store in self.stored.get(number, ())]
        else:
            found = [self.result(instr, divisor, _DEEPEST) for instr in self.made[number]]
        held = (
            bool(found)
            and all(one is not None and one[0] >= 0 and one[1] < divisor for one in found)
            and any(one is not None and one[0] < one[1] for one in found)
        )
        if not held:
            # (What has been found out meanwhile may hang on it.)
            self.known = {other: known for other, known in self.known.items() if not known}
        self.known[key] = held
        return held

    def write(self, instr: Instr, out: list[Instr]) -> None:
        """Append what is put in the place of a remainder."""
        f = self.f
        type_, dividend, line = instr.type, instr.args[0], instr.line
        divisor = int(f.const_values[~instr.args[1]])
        low, high = self.found
        above = divisor if low < 0 else 0
        limit = divisor if low < 0 else 2 * divisor if high < 2 * divisor else 4 * divisor
        unsigned = U32 if type_.bits == 32 else U64
        asked = self._op(out, ops.ADD, type_, dividend, f.const(type_, above), line) if above else dividend
        if unsigned is not type_:
            converted = f.register(unsigned, "")
            out.append(Instr(ops.BITCAST, unsigned, converted, [asked], 0, line, type_))
            asked = converted
        condition = f.register(BOOL, "")
        out.append(Instr(ops.LT, unsigned, condition, [asked, f.const(unsigned, limit + above)], 0, line))
        out.append(Instr(ops.IF, VOID, NONE, [condition], 0, line))
        if limit == 4 * divisor:
            dividend = self._less(out, type_, dividend, 2 * divisor, f.register(type_, ""), line)
        f.variable[instr.dst] = True
        if above:
            negative = f.register(BOOL, "")
            out.append(Instr(ops.LT, type_, negative, [dividend, f.const(type_, 0)], 0, line))
            out.append(
                Instr(ops.SELECT, type_, instr.dst, [negative, self._op(out, ops.ADD, type_, dividend, f.const(type_, divisor), line), dividend], 0, line)
            )
        else:
            self._less(out, type_, dividend, divisor, instr.dst, line)
        out.append(Instr(ops.ELSE, VOID, NONE, [], 0, line))
        out.append(instr)
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))

    def _less(self, out: list[Instr], type_: Type, dividend: int, divisor: int, dst: int, line: int) -> int:
        """Append what takes a divisor from a number that is not below it."""
        f = self.f
        less = self._op(out, ops.SUB, type_, dividend, f.const(type_, divisor), line)
        reached = f.register(BOOL, "")
        out.append(Instr(ops.GE, type_, reached, [dividend, f.const(type_, divisor)], 0, line))
        out.append(Instr(ops.SELECT, type_, dst, [reached, less, dividend], 0, line))
        return dst

    def _op(self, out: list[Instr], op: ops.Op, type_: Type, a: int, b: int, line: int) -> int:
        made = self.f.register(type_, "")
        out.append(Instr(op, type_, made, [a, b], 0, line))
        return made
