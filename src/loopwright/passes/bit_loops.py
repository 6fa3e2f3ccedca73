"""Loops that go through the bits of an integer one by one, as the operation that counts them.

``while v: v &= v - 1; n += 1`` counts the bits that are 1, ``while v: v >>= 1; n += 1`` tells how long a number is, ``while v: n += v & 1; v >>= 1`` does what the first one does,
and ``while (v & 1) == 0: v >>= 1`` takes zeros off below (H. S. Warren, Hacker's Delight, 2nd edition, sections 5-1, 5-3 and 5-4; LLVM's LoopIdiomRecognize sees the same). Such a
loop takes a branch a bit that is not learnt, and keeps the loop around it from having lanes. The last one, which never ends where ``v`` is 0, ends here, with ``v`` 0.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.types import BOOL, Type

__all__ = ["run"]

#: How a loop goes through the bits: it takes off the lowest 1, shifts all down, or shifts down what is 0 below.
_LOWEST, _ALL, _ZEROS = range(3)
_REMAINDERS: Final = (ops.REM_FLOOR, ops.REM_TRUNC)


def run(f: Function) -> None:
    """Replace the loops of a function that go through bits."""
    code = f.code
    heads = [k for k, instr in enumerate(code) if instr.op is ops.WHILE]
    for head in reversed(heads):
        found = _Bits(f, head)
        if found.read():
            code[head : found.end + 1] = found.counted()


class _Bits:
    """A ``while`` that may go through the bits of a variable.

    Attributes:
        f: the function.
        end: where its bracket closes.
        v: the variable.
        type: its type.
        way: how it goes through the bits.
        positive: only positive numbers are gone through, the others stay.
        counters: per variable that is counted in, the operation, what is added (an operand), and whether for bits that are 1 only.
    """

    __slots__ = ("code", "counters", "end", "f", "head", "line", "made", "out", "place", "positive", "type", "v", "way", "written")

    def __init__(self, f: Function, head: int) -> None:
        self.f = f
        self.code = f.code
        self.head = head
        self.end = head
        self.line = f.code[head].line
        self.v = -1
        self.way = _ALL
        self.positive = False
        self.made: dict[int, Instr] = {}
        self.place: dict[int, int] = {}
        self.written: dict[int, int] = {}
        self.counters: list[tuple[int, Op, int, bool]] = []
        self.out: list[Instr] = []

    # --- what the loop does -----------------------------------------------------------------------------------

    def read(self) -> bool:
        """Whether the loop is one."""
        do = self._collect()
        return do > 0 and self._condition(do) and self._step() and all(self._counter(variable) for variable in self.written if variable != self.v)

    def _collect(self) -> int:
        """Note what makes each register of the loop; where its condition ends, or 0 where it does more than compute."""
        code, variable = self.code, self.f.variable
        do = inside = 0
        for k in range(self.head + 1, len(code)):
            instr = code[k]
            op = instr.op
            if op is ops.DO:
                do = k
            elif op is ops.IF and do and not inside:
                inside = k
            elif op is ops.END:
                if not inside:
                    self.end = k
                    return do
                inside = 0
            elif op.effect != ops.PURE or instr.dst < 0 or instr.dst in self.written:
                return 0
            else:
                self.place[instr.dst] = k
                if variable[instr.dst]:
                    if not do:
                        return 0
                    self.written[instr.dst] = k
                else:
                    self.made[instr.dst] = instr
        return 0

    def _condition(self, do: int) -> bool:
        """Whether the loop goes on while there are bits, or zeros below."""
        test = self.made.get(self.code[do].args[0])
        if test is None or not test.type.is_integer or test.type.lanes:
            return False
        x, bound = test.args
        if self._number(bound) != 0 or x < 0:
            return False
        self.type = test.type
        if test.op is ops.EQ:
            low = self.made.get(x)
            if low is None or not self._lowest(low):
                return False
            self.v, self.way = low.args[0], _ZEROS
        elif test.op is ops.NE or test.op is ops.GT:
            self.v = x
            self.positive = test.op is ops.GT and test.type.signed
        else:
            return False
        return self.v in self.written and self.f.types[self.v] is self.type

    def _step(self) -> bool:
        """Whether the variable loses one bit in each iteration."""
        at = self.written[self.v]
        instr = self._through(self.code[at])
        if instr is None or self._inside(at) or instr.type is not self.type:
            return False
        a, b = instr.args
        op = instr.op
        if op is ops.AND and self.way == _ALL:
            less = self.made.get(b if a == self.v else a)
            self.way = _LOWEST
            return self.v in (a, b) and less is not None and less.args[0] == self.v and (less.op, self._number(less.args[1])) in ((ops.SUB, 1), (ops.ADD, -1))
        if a != self.v or (op, self._number(b)) not in ((ops.SHR, 1), (ops.DIV_FLOOR, 2), (ops.DIV_TRUNC, 2)):
            return False
        if self.way == _ZEROS:
            return True
        # (Negative numbers become -1 and stay it.)
        return self.positive or not self.type.signed

    def _counter(self, variable: int) -> bool:
        """Whether a variable is added to in each iteration, or for each bit that is 1; it is noted."""
        type_ = self.f.types[variable]
        at = self.written[variable]
        instr = self._through(self.code[at])
        if instr is None or instr.type is not type_ or not type_.is_integer or type_.lanes or len(instr.args) != 2:
            return False
        a, b = instr.args
        if a != variable and instr.op is not ops.SUB:
            a, b = b, a
        if a != variable or instr.op not in (ops.ADD, ops.SUB, ops.XOR) or b == variable:
            return False
        condition = self._inside(at)
        if condition and not self._bit(self.code[condition].args[0]):
            return False
        if self._bit(b):
            # (A bit that is added where it is 1 only is the same one.)
            b, ones = self.f.const(type_, 1), True
        elif b in self.place:
            return False
        else:
            ones = condition > 0
        if instr.op is ops.XOR and self._number(b) != 1:
            return False
        self.counters.append((variable, instr.op, b, ones))
        return True

    def _bit(self, operand: int) -> bool:
        """Whether an operand is the lowest bit of the variable, before it is shifted; as an integer or a condition."""
        instr = self.made.get(operand)
        while instr is not None and instr.op is ops.CONVERT and (instr.source.is_integer or instr.source is BOOL) and instr.type.is_integer:
            operand = instr.args[0]
            instr = self.made.get(operand)
        if instr is None or self.way != _ALL:
            return False
        if (instr.op, self._number(instr.args[-1])) in ((ops.NE, 0), (ops.EQ, 1)):
            operand = instr.args[0]
            instr = self.made.get(operand)
        return instr is not None and self._lowest(instr) and instr.args[0] == self.v and self.head < self.place[operand] < self.written[self.v]

    def _lowest(self, instr: Instr) -> bool:
        """Whether an instruction takes the lowest bit of an integer (or, of a remainder, what is 0 if it is)."""
        if instr.op is ops.AND:
            return self._number(instr.args[1]) == 1
        return instr.op in _REMAINDERS and self._number(instr.args[1]) == 2 and (self.way != _ALL or not instr.type.signed or instr.op is ops.REM_FLOOR)

    def _through(self, instr: Instr) -> Instr | None:
        """What computes the value that an instruction copies."""
        return self.made.get(instr.args[0]) if instr.op is ops.COPY else instr

    def _inside(self, at: int) -> int:
        """The ``if`` that an instruction of the loop is in; 0 where it is in none."""
        k = at
        while k > self.head:
            k -= 1
            op = self.code[k].op
            if op is ops.IF:
                return k
            if op is ops.END or op is ops.DO:
                break
        return 0

    def _number(self, operand: int) -> int | None:
        return int(self.f.const_values[~operand]) if operand < 0 and self.f.const_types[~operand].is_integer else None

    # --- what it becomes --------------------------------------------------------------------------------------

    def counted(self) -> list[Instr]:
        """The loop's results by operations on all bits."""
        f, v, type_ = self.f, self.v, self.type
        zero = f.const(type_, 0)
        bits = self._make(ops.MAX, type_, v, zero) if self.positive else v
        times: dict[bool, int] = {}
        if self.way == _ZEROS:
            times[False] = self._make(ops.TRAILING_ZEROS, type_, v)
        elif self.way == _ALL:
            if any(not ones for *_, ones in self.counters):
                times[False] = self._make(ops.SUB, type_, f.const(type_, type_.bits), self._make(ops.LEADING_ZEROS, type_, bits))
            if any(ones for *_, ones in self.counters):
                times[True] = self._make(ops.POPCOUNT, type_, bits)
        elif self.counters:
            times[False] = self._make(ops.POPCOUNT, type_, bits)
        for variable, op, amount, ones in self.counters:
            self._count(variable, op, amount, times[ones])
        if self.way == _ZEROS:
            self._write(v, ops.SHR, v, times[False])
        elif self.positive:
            self._write(v, ops.MIN, v, zero)
        else:
            self._write(v, ops.COPY, zero)
        return self.out

    def _count(self, variable: int, op: Op, amount: int, times: int) -> None:
        type_ = self.f.types[variable]
        if type_ is not self.type:
            times = self._make(ops.CONVERT, type_, times, source=self.type)
        if op is ops.XOR:
            times = self._make(ops.AND, type_, times, self.f.const(type_, 1))
        elif self._number(amount) != 1:
            times = self._make(ops.MUL, type_, times, amount)
        self._write(variable, op, variable, times)

    def _make(self, op: Op, type_: Type, *args: int, source: Type | None = None) -> int:
        made = self.f.register(type_)
        instr = Instr(op, type_, made, list(args), 0, self.line)
        if source is not None:
            instr.source = source
        self.out.append(instr)
        return made

    def _write(self, variable: int, op: Op, *args: int) -> None:
        self.out.append(Instr(op, self.f.types[variable], variable, list(args), 0, self.line))
