"""Products of 64-bit lanes that one multiplication of their lower halves makes: those of numbers that fit in these, and those of which nothing above is used.

::

    %3 = mul.i64x8 %1, 40503               %3 = mul_lower.i64x8 %1, 40503
    %4 = add.i64x8 %3, %2            →     %4 = add.i64x8 %3, %2
    %5 = and.i64x8 %4, 65535               %5 = and.i64x8 %4, 65535

Hashes and generators of random numbers are made of such products, in Python's own integers. Machines multiply 32 bits to 64 in one operation, and 64 to 64 in three or more. How many low bits of a value are used is found
backwards (the demanded bits of LLVM), what fits in 32 bits forwards.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.nests.analysis.operations import has
from loopwright.targets.target import Target

__all__ = ["run"]

_HALF: Final = 32
_BITS: Final = 64
#: Whose low bits depend on as many low bits of the operands alone.
_LOW: Final = frozenset((ops.ADD, ops.SUB, ops.MUL, ops.MUL_LOWER, ops.NEG, ops.AND, ops.OR, ops.XOR, ops.NOT, ops.COPY))


def run(f: Function, target: Target) -> None:
    """Rewrite such products of a function, where the machine has that."""
    products = [instr for instr in f.code if instr.op is ops.MUL and instr.type.lanes and instr.type.bits == _BITS and has(target, ops.MUL_LOWER, instr.type)]
    if not products:
        return
    used = _used(f)
    small = _small(f)
    for instr in products:
        if used.get(instr.dst, 0) <= _HALF or all(_fits(f, a) if a < 0 else a in small for a in instr.args):
            instr.op = ops.MUL_LOWER


def _wide(f: Function, register: int) -> bool:
    """Whether it is a vector of 64-bit integers that is computed once."""
    type_ = f.type_of(register)
    return register >= 0 and type_.lanes > 0 and type_.bits == _BITS and type_.is_integer and not f.variable[register]


def _constant(f: Function, operand: int) -> int:
    """A constant's bits; -1 for other operands."""
    return int(f.const_values[~operand]) & (1 << _BITS) - 1 if operand < 0 else -1


def _used(f: Function) -> dict[int, int]:
    """By vector: how many of its low bits something is made of."""
    used: dict[int, int] = {}

    def uses(operand: int, bits: int) -> None:
        if operand >= 0 and used.get(operand, 0) < bits:
            used[operand] = bits

    for instr in reversed(f.code):
        op, args = instr.op, instr.args
        if instr.dst >= 0 and _wide(f, instr.dst) and instr.type.bits == _BITS:
            bits = used.get(instr.dst, 0)
            if op in _LOW:
                masks = [_constant(f, a).bit_length() if op is ops.AND and a < 0 else bits for a in args]
                for a in args:
                    uses(a, min(_HALF if op is ops.MUL_LOWER or (op is ops.MUL and bits <= _HALF) else _BITS, bits, *masks))
                continue
            if op is ops.SELECT:
                uses(args[1], bits)
                uses(args[2], bits)
                continue
            if op in (ops.SHL, ops.SHR) and args[1] < 0:
                count = min(_constant(f, args[1]), _BITS)
                uses(args[0], max(0, bits - count) if op is ops.SHL else min(_BITS, bits + count))
                continue
        if op is ops.CONVERT and instr.type.is_integer and instr.source.bits == _BITS and instr.type.bits < _BITS:
            uses(args[0], instr.type.bits)
            continue
        for a in args:
            uses(a, _BITS)
    return used


def _fits(f: Function, operand: int) -> bool:
    return 0 <= _constant(f, operand) < 1 << _HALF


def _small(f: Function) -> set[int]:
    """The vectors whose lanes are less than two to the power of 32, as numbers without a sign."""
    small: set[int] = set()
    for instr in f.code:
        op, args = instr.op, instr.args
        if instr.dst < 0 or not _wide(f, instr.dst):
            continue
        fitting = [_fits(f, a) if a < 0 else a in small for a in args]
        if op is ops.CONVERT:
            fits = instr.source.is_integer and instr.source.bits <= _HALF and not instr.source.signed
        elif op is ops.AND:
            fits = any(fitting)
        elif op in (ops.OR, ops.XOR, ops.COPY, ops.SPLAT):
            fits = all(fitting)
        elif op is ops.SHR and args[1] < 0:
            fits = fitting[0] or (not instr.type.signed and _constant(f, args[1]) >= _HALF)
        else:
            fits = False
        if fits:
            small.add(instr.dst)
    return small
