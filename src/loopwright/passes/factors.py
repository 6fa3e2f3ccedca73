"""Sums of two products that have a factor in common, under ``fastmath``: one product, with the sum of the other factors.

::

    %1 = mul.f64 %a, %y              %3 = add.f64 %a, %b
    %2 = mul.f64 %b, %y        →     %4 = mul.f64 %3, %y
    %4 = add.f64 %1, %2

The two take as many operations, once a product and a sum have become one, or one more where ``%a`` or ``%b`` is a product itself; and ``%y`` is waited for once, not by a chain of two. (LLVM's
reassociation factors sums of more terms, too.) A product that is the same in all iterations stays: it is made in front of the loop. So do those of floats of 16 bits, whose range is
short: a sum of factors may lie outside it where the products do not.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.ir.loops import IS_LOOP

__all__ = ["run"]


def run(f: Function) -> None:
    """Rewrite the sums of products of floats that nothing else reads."""
    if sum([instr.op is ops.MUL and instr.type.is_float for instr in f.code]) > 1:
        _Factors(f).run()


class _Factors:
    """The products of a straight stretch of code.

    Attributes:
        reads: per register, how often it is read.
        written: per register, where it was written last so far.
        made: by register, a product that is read once, and where it is.
        gone: the positions of products that have become part of others.
        loops: where the loops begin that are open, with what is written in each.
    """

    __slots__ = ("f", "gone", "loops", "made", "reads", "written")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.reads = [0] * len(f.types)
        for instr in f.code:
            for a in instr.args:
                if a >= 0:
                    self.reads[a] += 1
        self.written: dict[int, int] = {}
        self.made: dict[int, tuple[int, Instr]] = {}
        self.gone: set[int] = set()
        self.loops: list[set[int]] = []

    def run(self) -> None:
        f, code = self.f, self.f.code
        partner = match(code)
        ends: list[int] = []
        out: list[tuple[int, Instr]] = []  # with where they were; -1 for new ones
        for at, instr in enumerate(code):
            op = instr.op
            if op.effect == ops.CONTROL:
                self.made.clear()
                if op.opens and IS_LOOP[op.code]:
                    ends.append(partner[at])
                    self.loops.append({code[k].dst for k in range(at, partner[at])})
                elif ends and at == ends[-1]:
                    ends.pop()
                    self.loops.pop()
            elif instr.type.is_float and (op is ops.ADD or op is ops.SUB):
                total = self.factored(instr)
                if total is not None:
                    out.append((-1, total))
            if instr.dst >= 0:
                self.written[instr.dst] = at
                if instr.op is ops.MUL and instr.type.is_float and not is_half(instr.type) and not f.variable[instr.dst] and self.reads[instr.dst] == 1:
                    self.made[instr.dst] = (at, instr)
            out.append((at, instr))
        if self.gone:
            f.code = [instr for at, instr in out if at not in self.gone]

    def factored(self, instr: Instr) -> Instr | None:
        """The sum in front of a sum or difference, which becomes a product; None where it stays."""
        first, second = (self.made.get(a) for a in instr.args)
        if first is None or second is None:
            return None
        (at, one), (position, other) = first, second
        common = next((a for a in one.args if a in other.args), None)
        if common is None or not (self.reads_the_same(one, at) and self.reads_the_same(other, position)) or self.lasts(one) or self.lasts(other):
            return None
        left, right = (each.args[1] if each.args[0] == common else each.args[0] for each in (one, other))
        total = self.f.register(instr.type)
        self.gone.update((at, position))
        made = Instr(instr.op, instr.type, total, [left, right], 0, instr.line)
        instr.op, instr.args = ops.MUL, [total, common]
        return made

    def reads_the_same(self, product: Instr, at: int) -> bool:
        """Whether the factors of a product are still what they were."""
        return all(self.written.get(a, -1) < at for a in product.args if a >= 0)

    def lasts(self, product: Instr) -> bool:
        """Whether a product is the same in all iterations of the innermost loop."""
        return bool(self.loops) and not any(a in self.loops[-1] for a in product.args)
