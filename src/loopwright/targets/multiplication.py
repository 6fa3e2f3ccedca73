"""Sequences for products of 64-bit lanes on machines that multiply halves only."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.steps import Emit, Steps
from loopwright.types import U64

__all__ = ["high_by_halves", "multiply_by_halves", "multiply_by_shifts"]


def multiply_by_shifts(f: Function, instr: Instr, a: int, factor: int, emit: Emit) -> bool:
    """A product with a constant that is the sum or difference of two bits; False for others."""
    element = instr.type.element
    factor &= (1 << element.bits) - 1
    low = factor & -factor
    rest = factor - low
    step = ops.ADD
    if rest & (rest - 1):
        # A run of bits is the difference of the bit above it and its lowest one.
        rest = factor + low
        step = ops.SUB
    if not rest or rest & (rest - 1) or rest >> element.bits:
        return False
    s = Steps(f, emit, instr.line, instr.type.lanes)
    terms = [a if bit == 1 else s.op(ops.SHL, element, a, s.const(element, bit.bit_length() - 1)) for bit in (rest, low)]
    s.op(step, element, *terms, into=instr.dst)
    return True


def multiply_by_halves(f: Function, instr: Instr, a: int, b: int, emit: Emit) -> None:
    """A product by those of halves: lower with lower, and each upper one with the other lower one, of which the lower half counts.

    Where ``b`` is a constant without an upper half, or both operands are the same, there is one of these.
    """
    element = instr.type.element
    s = Steps(f, emit, instr.line, instr.type.lanes)
    # Shifts of unsigned lanes to the right are plain ones everywhere.
    signed = element is not U64
    same = a == b
    constant = int(f.const_values[~b]) & (1 << 64) - 1 if b < 0 else -1
    a = s.cast(U64, a, element) if signed else a
    if same:
        b = a
    elif constant >= 0:
        b = s.const(U64, constant)
    elif signed:
        b = s.cast(U64, b, element)
    upper = s.op(ops.MUL_LOWER, U64, s.shifted(U64, a, 32), b)
    if same:
        # Twice the one that both are.
        upper = s.op(ops.SHL, U64, upper, s.const(U64, 33))
    else:
        if constant < 0:
            upper = s.op(ops.ADD, U64, upper, s.op(ops.MUL_LOWER, U64, s.shifted(U64, b, 32), a))
        elif constant >> 32:
            upper = s.op(ops.ADD, U64, upper, s.op(ops.MUL_LOWER, U64, a, s.const(U64, constant >> 32)))
        upper = s.op(ops.SHL, U64, upper, s.const(U64, 32))
    product = s.op(ops.ADD, U64, s.op(ops.MUL_LOWER, U64, a, b), upper, into=-1 if signed else instr.dst)
    if signed:
        s.cast(element, product, U64, into=instr.dst)


def high_by_halves(f: Function, instr: Instr, emit: Emit) -> None:
    """The upper half of a product by the four products of halves, from the lowest up (D. E. Knuth, *The Art of Computer Programming*, volume 2, 4.3.1, algorithm M).

    A negative factor is read as 2**64 more, for which the other one is taken away again.
    """
    element = instr.type.element
    s = Steps(f, emit, instr.line, instr.type.lanes)
    signed = element is not U64
    a, b = instr.args
    if a < 0:
        a, b = b, a
    a = s.op(ops.COPY, element, a) if a < 0 else a
    constant = int(f.const_values[~b]) & (1 << 64) - 1 if b < 0 else -1
    x = s.cast(U64, a, element) if signed else a
    y = s.const(U64, constant) if b < 0 else s.cast(U64, b, element) if signed else b
    x_upper = s.shifted(U64, x, 32)
    first = s.op(ops.ADD, U64, s.op(ops.MUL_LOWER, U64, x_upper, y), s.shifted(U64, s.op(ops.MUL_LOWER, U64, x, y), 32))
    product = s.shifted(U64, first, 32)
    if b >= 0 or constant >> 32:
        y_upper = s.const(U64, constant >> 32) if b < 0 else s.shifted(U64, y, 32)
        second = s.op(ops.ADD, U64, s.op(ops.MUL_LOWER, U64, x, y_upper), s.op(ops.AND, U64, first, s.const(U64, (1 << 32) - 1)))
        product = s.op(ops.ADD, U64, s.op(ops.ADD, U64, s.op(ops.MUL_LOWER, U64, x_upper, y_upper), product), s.shifted(U64, second, 32))
    if signed:
        product = s.cast(element, product, U64)
        zero = s.const(element, 0)
        product = s.op(ops.SELECT, element, s.compare(ops.LT, element, a, zero), s.op(ops.SUB, element, product, b), product)
        if b >= 0:
            product = s.op(ops.SELECT, element, s.compare(ops.LT, element, b, zero), s.op(ops.SUB, element, product, a), product)
        elif constant >> 63:
            product = s.op(ops.SUB, element, product, a)
    s.op(ops.COPY, element, product, into=instr.dst)
