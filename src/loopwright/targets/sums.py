"""Sums of the narrow lanes that take the place of a wider one, of what any machine has for lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets.steps import Emit, Steps
from loopwright.types import I8, I16, SIGNED, U8, U16, UNSIGNED, Type, vector_of

__all__ = ["expand", "expand_dot"]

_ACCUMULATING: Final = (ops.DOT_ADD, ops.DOT_MIXED_ADD)


def expand(f: Function, instr: Instr, emit: Emit) -> bool:
    """Emit the sequence for ``sum_groups`` or ``sum_abs_diff``; False for a ``dot``, and for floats, which have none."""
    type_, source, line = instr.type, instr.source, instr.line
    if type_.is_float or instr.op is ops.DOT or instr.op in _ACCUMULATING:
        return False
    if instr.op is ops.SUM_ABS_DIFF:
        # (The bits of a distance are an unsigned number, also of signed lanes.)
        s = Steps(f, emit, line, source.lanes)
        plain = UNSIGNED[source.bits]
        apart = s.op(ops.ABS_DIFF, source.element, *instr.args)
        if source.signed:
            apart = s.cast(plain, apart, source.element)
        emit(Instr(ops.SUM_GROUPS, type_, instr.dst, [apart], 0, line, s.of(plain)))
        return True
    if type_.bits > 2 * source.bits:
        # Two by two, as often as it takes.
        between = vector_of((SIGNED if source.signed else UNSIGNED)[2 * source.bits], source.lanes // 2)
        pairs = f.register(between)
        emit(Instr(ops.SUM_GROUPS, between, pairs, list(instr.args), 0, line, source))
        emit(Instr(ops.SUM_GROUPS, type_, instr.dst, [pairs], 0, line, between))
        return True
    wide = (SIGNED if source.signed else UNSIGNED)[type_.bits]
    s = Steps(f, emit, line, type_.lanes)
    both = f.register(s.of(wide))
    emit(Instr(ops.BITCAST, s.of(wide), both, list(instr.args), 0, line, source))
    half = s.const(wide, source.bits)
    lower = s.op(ops.SHR, wide, s.op(ops.SHL, wide, both, half), half) if source.signed else s.op(ops.AND, wide, both, s.const(wide, (1 << source.bits) - 1))
    total = s.op(ops.ADD, wide, lower, s.op(ops.SHR, wide, both, half))
    s.cast(type_.element, total, wide, into=instr.dst)
    return True


def expand_dot(f: Function, instr: Instr, emit: Emit, native: Callable[[Op, Type, Type], bool]) -> bool:
    """Emit the sequence for ``dot_add`` or ``dot_mixed_add``; False where the machine has an instruction, or there is no sequence.

    Of bytes by the other of the two, where the machine has that: with 128 added to numbers of one of the factors, or taken from them (the top bit turned), they have the other's sign,
    and the sum is 128 times the other factors off. Else by products of every second lane in twice the bits.
    """
    op, type_, source = instr.op, instr.type, instr.source
    if native(op, type_, source):
        return False
    a, b, c = instr.args
    s = Steps(f, emit, instr.line, source.lanes)
    if source.bits != 8:
        if op is ops.DOT_MIXED_ADD or not native(ops.DOT, type_, source):
            return False
        emit(Instr(ops.ADD, type_, instr.dst, [c, _grouped(s, ops.DOT, type_, source, a, b)], 0, instr.line))
        return True
    signed = s.of(I8)
    nothing = f.const(type_, 0)
    if op is ops.DOT_MIXED_ADD and native(ops.DOT_ADD, type_, signed):
        near = _grouped(s, ops.DOT_ADD, type_, signed, s.op(ops.XOR, I8, _cast(s, I8, a, source), s.const(I8, -128)), _cast(s, I8, b, source), c)
        off = _grouped(s, ops.DOT_ADD, type_, signed, s.const(I8, -128), _cast(s, I8, b, source), nothing)
    elif op is ops.DOT_ADD and native(ops.DOT_MIXED_ADD, type_, source):
        near, off = _by_mixed(s, type_, source, a, b, c)
    else:
        return _by_halves(s, instr, native)
    emit(Instr(ops.SUB, type_, instr.dst, [near, off], 0, instr.line))
    return True


def _by_mixed(s: Steps, type_: Type, source: Type, a: int, b: int, c: int) -> tuple[int, int]:
    """A ``dot_add`` of bytes by ``dot_mixed_add``, and what that is off."""
    turned = s.const(source.element, -128 if source.signed else 128)
    nothing = s.f.const(type_, 0)
    if source.signed:
        # (a + 128) b - 128 b, where the 128 is an unsigned number.
        return (
            _grouped(s, ops.DOT_MIXED_ADD, type_, source, s.op(ops.XOR, I8, a, turned), b, c),
            _grouped(s, ops.DOT_MIXED_ADD, type_, source, turned, b, nothing),
        )
    # a (b - 128) - a (-128)
    return (
        _grouped(s, ops.DOT_MIXED_ADD, type_, source, a, s.op(ops.XOR, U8, b, turned), c),
        _grouped(s, ops.DOT_MIXED_ADD, type_, source, a, turned, nothing),
    )


def _by_halves(s: Steps, instr: Instr, native: Callable[[Op, Type, Type], bool]) -> bool:
    """Bytes as two vectors of 16-bit lanes, of the even and of the odd ones, whose products have room in 32 bits."""
    type_, source = instr.type, instr.source
    wide = vector_of(I16, source.lanes // 2)
    if not native(ops.DOT, type_, wide):
        return False
    mixed = instr.op is ops.DOT_MIXED_ADD
    w = Steps(s.f, s.emit, instr.line, wide.lanes)
    even: list[int] = []
    odd: list[int] = []
    for operand, signed in zip(instr.args[:2], (source.signed and not mixed, source.signed or mixed), strict=True):
        of = I16 if signed else U16
        both = s.f.register(w.of(of))
        s.emit(Instr(ops.BITCAST, w.of(of), both, [operand], 0, instr.line, source))
        eight = w.const(of, 8)
        lower = w.op(ops.SHR, of, w.op(ops.SHL, of, both, eight), eight) if signed else w.op(ops.AND, of, both, w.const(of, 0xFF))
        for half, into in ((lower, even), (w.op(ops.SHR, of, both, eight), odd)):
            into.append(half if signed else w.cast(I16, half, of))
    sums_ = [_grouped(w, ops.DOT, type_, wide, *half) for half in (even, odd)]
    total = s.f.register(type_)
    s.emit(Instr(ops.ADD, type_, total, sums_, 0, instr.line))
    s.emit(Instr(ops.ADD, type_, instr.dst, [instr.args[2], total], 0, instr.line))
    return True


def _grouped(s: Steps, op: Op, type_: Type, source: Type, *args: int) -> int:
    """An operation whose operands have more lanes than its result."""
    made = s.f.register(type_)
    s.emit(Instr(op, type_, made, list(args), 0, s.line, source))
    return made


def _cast(s: Steps, to: Type, value: int, source: Type) -> int:
    return value if source.element is to else s.cast(to, value, source.element)
