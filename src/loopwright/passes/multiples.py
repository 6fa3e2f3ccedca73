"""Terms of a sum of integers that are multiples by one constant: one multiple, of their sum.

::

    %1 = mul.i32 %a, 2               %6 = sub.i32 %a, %b
    %2 = mul.i32 %b, 2               %7 = mul.i32 %6, 2
    %3 = add.i32 %x, %1        →     %8 = sub.i32 %x, %y
    %4 = sub.i32 %3, %y              %5 = add.i32 %8, %7
    %5 = sub.i32 %4, %2

Integers wrap, so that any order gives the same. Filters of images are such sums. Looked at are sums in straight code of values that are written once and read by the sum alone, and of up to 32 bits:
those of 64 are indices mostly, which other passes know as they are written.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.types import Type

__all__ = ["run"]

_WIDEST: Final = 32
#: What a sum adds, or takes away: an operand, the constant that it is multiplied by, and whether it is taken away.
_Term = tuple[int, int, bool]


def run(f: Function) -> None:
    """Rewrite the sums of a function that have several multiples by one constant."""
    if sum([(instr.op is ops.MUL or instr.op is ops.SHL) and _looked_at(instr.type) and _factor(f, instr) > 1 for instr in f.code]) > 1:
        _Sums(f).run()


def _looked_at(type_: Type) -> bool:
    return type_.is_integer and not type_.lanes and type_.bits <= _WIDEST


def _factor(f: Function, instr: Instr) -> int:
    """By which constant a product, or a shift, multiplies a register; 0 where by none."""
    a, b = instr.args
    if (a < 0) == (b < 0):
        return 0
    if instr.op is ops.MUL:
        return int(f.const_values[~min(a, b)])
    count = int(f.const_values[~b]) if b < 0 else -1
    return 1 << count if 0 <= count < instr.type.bits - 1 else 0


class _Sums:
    """The sums of a function.

    Attributes:
        reads: per register, how often it is read.
        changes: per register, whether it is written more than once, or is a variable.
        made: by register, what writes it, of those that are written once and read once, in the stretch of straight code under way.
        parts: of the sum that is looked at, the instructions that are part of it alone.
        out: the code so far.
    """

    __slots__ = ("changes", "f", "made", "out", "parts", "reads")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.reads = [0] * len(f.types)
        self.changes = list(f.variable)
        written = [False] * len(f.types)
        for instr in f.code:
            if instr.dst >= 0:
                self.changes[instr.dst] |= written[instr.dst]
                written[instr.dst] = True
            for a in instr.args:
                if a >= 0:
                    self.reads[a] += 1
        self.made: dict[int, Instr] = {}
        self.parts: list[Instr] = []
        self.out: list[Instr] = []

    def run(self) -> None:
        f = self.f
        gone: set[int] = set()
        within = self._inner()
        for instr in f.code:
            op = instr.op
            if op.effect == ops.CONTROL:
                self.made.clear()
            elif (op is ops.ADD or op is ops.SUB) and _looked_at(instr.type) and id(instr) not in within:
                self.parts = []
                terms: list[_Term] = []
                self.collect(instr, False, terms)
                if self.rewritten(instr, terms):
                    gone.update([id(part) for part in self.parts])
                    continue
            if instr.dst >= 0 and not self.changes[instr.dst] and self.reads[instr.dst] == 1:
                self.made[instr.dst] = instr
            self.out.append(instr)
        if gone:
            f.code = [instr for instr in self.out if id(instr) not in gone]

    def _inner(self) -> set[int]:
        """The sums, by ``id``, that are terms of others in the same stretch of code."""
        made: dict[int, Instr] = {}
        found: set[int] = set()
        for instr in self.f.code:
            op = instr.op
            if op.effect == ops.CONTROL:
                made.clear()
            elif op is ops.ADD or op is ops.SUB:
                for a in instr.args:
                    part = made.get(a)
                    if part is not None and part.type is instr.type:
                        found.add(id(part))
                if not self.changes[instr.dst] and self.reads[instr.dst] == 1:
                    made[instr.dst] = instr
        return found

    def collect(self, instr: Instr, negative: bool, terms: list[_Term]) -> None:
        """Append the terms of a sum."""
        f = self.f
        for place, a in enumerate(instr.args):
            sign = negative != (place == 1 and instr.op is ops.SUB)
            part = self.made.get(a)
            if part is not None and part.type is instr.type:
                if part.op is ops.ADD or part.op is ops.SUB:
                    self.parts.append(part)
                    self.collect(part, sign, terms)
                    continue
                factor = _factor(f, part) if part.op is ops.MUL or part.op is ops.SHL else 0
                if factor > 1:
                    self.parts.append(part)
                    terms.append((max(part.args) if part.op is ops.MUL else part.args[0], factor, sign))
                    continue
            terms.append((a, 1, sign))

    def rewritten(self, instr: Instr, terms: list[_Term]) -> bool:
        """Whether a sum has been written anew; not one of which a variable is part, whose value may have changed since."""
        f = self.f
        factors = [factor for _, factor, _ in terms]
        several = {factor for factor in factors if factor > 1 and factors.count(factor) > 1}
        if not several or any(a >= 0 and self.changes[a] for a, _, _ in terms):
            return False
        rest: list[_Term] = []
        for a, factor, sign in terms:
            if factor not in several:
                rest.append((self.multiple(instr, a, factor) if factor > 1 else a, 1, sign))
        for factor in sorted(several):
            total, negative = self.total(instr, [term for term in terms if term[1] == factor])
            rest.append((self.multiple(instr, total, factor), 1, negative))
        total, negative = self.total(instr, rest)
        if negative:
            self.emit(instr, ops.SUB, [f.const(instr.type, 0), total])
        # (The last instruction gives what the sum did.)
        self.out[-1].dst = instr.dst
        return True

    def total(self, instr: Instr, terms: list[_Term]) -> tuple[int, bool]:
        """The sum of terms without their factors, and whether it is to be taken away, because all of them are."""
        first = next((n for n, term in enumerate(terms) if not term[2]), 0)
        turned = terms[first][2]
        total = terms[first][0]
        for n, (a, _, negative) in enumerate(terms):
            if n != first:
                total = self.emit(instr, ops.SUB if negative != turned else ops.ADD, [total, a])
        return total, turned

    def multiple(self, instr: Instr, a: int, factor: int) -> int:
        """An operand times a constant."""
        return self.emit(instr, ops.MUL, [a, self.f.const(instr.type, factor)])

    def emit(self, instr: Instr, op: ops.Op, args: list[int]) -> int:
        made = self.f.register(instr.type)
        self.out.append(Instr(op, instr.type, made, args, 0, instr.line))
        return made
