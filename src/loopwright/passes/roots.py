"""Divisions by roots under ``fastmath``: products with ``rsqrt``, which is an estimate, refined, where that is quicker than a root and a division.

::

    %2 = sqrt.f32 %r                 %2 = rsqrt.f32 %r
    %3 = div.f32 %x, %2        →     %3 = mul.f32 %x, %2

What is divided by ``r * sqrt(r)``, as forces are, is multiplied with its cube.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.target import Target

__all__ = ["run"]


def run(f: Function, target: Target) -> None:
    """Rewrite the divisions of a function by roots that are read nowhere else."""
    code = f.code
    if not any(instr.op is ops.DIV and target.estimates_roots(instr.type) for instr in code):
        return
    made: dict[int, Instr] = {}
    reads: dict[int, int] = {}
    for instr in code:
        for a in instr.args:
            reads[a] = reads.get(a, 0) + 1
        if instr.dst >= 0 and not f.variable[instr.dst]:
            made[instr.dst] = instr
    out: list[Instr] = []
    for instr in code:
        out.append(instr)
        if instr.op is not ops.DIV or not target.estimates_roots(instr.type) or reads[instr.args[1]] != 1:
            continue
        divisor = made.get(instr.args[1])
        if divisor is None:
            continue
        if divisor.op is ops.SQRT:
            _multiply(f, out, divisor, 1)
        elif divisor.op is ops.MUL:
            for n in (0, 1):
                root = made.get(divisor.args[n])
                if root is not None and root.op is ops.SQRT and reads[root.dst] == 1 and root.args[0] == divisor.args[1 - n] and _same(f, root.args[0]):
                    out.remove(divisor)
                    instr.args[1] = root.dst
                    _multiply(f, out, root, 3)
                    break
    f.code = out


def _same(f: Function, operand: int) -> bool:
    """Whether an operand is the same wherever it is read."""
    return operand < 0 or not f.variable[operand]


def _multiply(f: Function, out: list[Instr], root: Instr, power: int) -> None:
    """Make the division at the end a product with a power of the reciprocal of a root."""
    instr = out.pop()
    root.op = ops.RSQRT
    type_ = instr.type
    operands = [instr.args[0], root.dst]
    if power == 3:
        # (In pairs, so that less waits for the estimate.)
        first, square = f.register(type_), f.register(type_)
        out.append(Instr(ops.MUL, type_, square, [root.dst, root.dst], 0, instr.line))
        out.append(Instr(ops.MUL, type_, first, operands, 0, instr.line))
        operands = [first, square]
    instr.op, instr.args = ops.MUL, operands
    out.append(instr)
