"""What is computed of indices, by way of 32 bits: ``f32(x) * step``, ``a[i, 2 * j // 5]`` and ``f32(2 * j % 5)`` of loops over lanes.

Lanes count in 32 bits as well as in 64; few machines convert integers of 64 bits to floats in lanes, or have the upper halves of their products, by which is divided, and a vector has half as many. That
nothing of it comes to 2**31 follows from where the loops end, and from the extents that it is compared with: these are asked for in front of the nest. (Narrowing by the range of values: M. Stephenson,
J. Babb and S. Amarasinghe, "Bitwidth analysis with application to silicon compilation", PLDI 2000.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.nest import Nest, Run
from loopwright.nests.analysis.operations import steps
from loopwright.targets.target import Target
from loopwright.types import F32, F64, I32, I64, VOID, vector_of

__all__ = ["by_small_indices"]

_LAST: Final = (1 << 31) - 1
#: Of bounds that would have to be less nothing is asked.
_LEAST: Final = 1 << 20
#: A conversion of 64 bits that takes so many instructions is as good.
_FEW: Final = 2
_DIVIDING: Final = frozenset((ops.DIV_FLOOR, ops.REM_FLOOR))
#: Numbers of so few bits are small whatever they are.
_NARROW: Final = 16
#: What goes on in 32 bits where an operand is in 32.
_GOING_ON: Final = frozenset((ops.ADD, ops.SUB, ops.NEG, ops.MUL, ops.MIN, ops.MAX, *_DIVIDING))


class _Size:
    """No more than a constant and multiples of bounds that are known in front of the nest, either way from 0.

    Attributes:
        bounds: per register, how many times it.
    """

    __slots__ = ("bounds", "constant")

    def __init__(self, constant: int, bounds: dict[int, int]) -> None:
        self.constant = constant
        self.bounds = bounds

    def plus(self, other: _Size) -> _Size:
        bounds = dict(self.bounds)
        for register, times in other.bounds.items():
            bounds[register] = bounds.get(register, 0) + times
        return _Size(self.constant + other.constant, bounds)

    def times(self, factor: int) -> _Size:
        return _Size(self.constant * abs(factor), {register: times * abs(factor) for register, times in self.bounds.items()})

    def most(self) -> int:
        """What all of the bounds may be at most, so that this fits; 0 if it does not for any that are worth it."""
        times = sum(self.bounds.values())
        most = (_LAST - self.constant) // max(times, 1)
        return most if most >= (_LEAST if times else 0) else 0


class _Sizes:
    """The sizes of a nest's i64: of the indices of its loops, of what is known in front of it, and of what is computed of these."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.f: Function = nest.f
        #: The bounds that are no ends of loops, and may be negative.
        self.either: set[int] = set()
        self.known: dict[int, _Size | None] = {}

    def of(self, operand: int) -> _Size | None:
        """The size of an operand; None where it is not known."""
        if operand < 0:
            return _Size(abs(int(self.f.const_values[~operand])), {})
        if operand in self.known:
            return self.known[operand]
        made = None
        if self.f.types[operand] is I64 and not self.f.variable[operand] and self.nest.ahead(operand):
            self.either.add(operand)
            made = _Size(0, {operand: 1})
        self.known[operand] = made
        return made

    def follow(self, instr: Instr) -> None:
        """Note the size of what an instruction of the nest makes."""
        if instr.op is ops.FOR:
            self.known[instr.dst] = self._of_index(*instr.args)
        elif instr.type is I64 and instr.dst >= 0 and instr.dst not in self.known and not self.f.variable[instr.dst] and instr.op.pure:
            self.known[instr.dst] = self._made(instr)

    def _of_index(self, lo: int, hi: int, step: int) -> _Size | None:
        """The size of a loop's index, which lies between its bounds. (Of the one that it does not reach nothing is asked but that it is no further: beyond 0 the loop does not run.)"""
        if step >= 0:
            return None
        near, far = (lo, hi) if self.f.const_values[~step] > 0 else (hi, lo)
        first = self.of(near)
        last = _Size(0, {far: 1}) if far >= 0 and far not in self.known and not self.f.variable[far] and self.nest.ahead(far) else self.of(far)
        return None if first is None or last is None else first.plus(last)

    def _made(self, instr: Instr) -> _Size | None:
        op, args = instr.op, instr.args
        if op is ops.CONVERT:
            return _Size(1 << instr.source.bits, {}) if instr.source.is_integer and instr.source.bits <= _NARROW else None
        if op not in _GOING_ON and op is not ops.COPY:
            return None
        sizes = [self.of(a) for a in args]
        first, second = sizes[0], sizes[-1]
        if first is None or second is None:
            return None
        if len(args) == 1:
            return first
        if op is ops.ADD or op is ops.SUB or op is ops.MIN or op is ops.MAX:
            return first.plus(second)
        constant = next((int(self.f.const_values[~a]) for a in reversed(args) if a < 0), 0)
        if op is ops.MUL:
            return (first if args[1] < 0 else second).times(constant) if constant else None
        if args[1] >= 0 or constant <= 0:
            return None
        return first if op is ops.DIV_FLOOR else _Size(constant, {})


def by_small_indices(nest: Nest, target: Target, runs: list[Run]) -> bool:
    """Rewrite what a nest's loops make floats of their indices, and how they divide them; the nest does not describe the code any more where there is any such thing.

    Args:
        nest: the nest.
        target: the machine.
        runs: is given what has to hold for that, as ``Nest.runs`` is.
    """
    f = nest.f
    if not target.vector_bits or not any(_begins(instr, target, f) for instr in f.code[nest.start : nest.end]):
        return False
    innermost = {loop.index for loop in nest.loops if not any(other.parent is loop for other in nest.loops)}
    sizes = _Sizes(nest)
    narrow: dict[int, int] = {}  # i64 -> the same in 32 bits
    most: dict[int, int] = {}  # per bound, what it may be at most
    out = f.code[: nest.start]
    moving: set[int] = set()  # what goes with the index of an innermost loop
    for instr in f.code[nest.start : nest.end]:
        sizes.follow(instr)
        if instr.op is ops.FOR or instr.op is ops.END:
            moving = {instr.dst} if instr.dst in innermost else set()
        moves = any(a in moving or (a >= 0 and f.variable[a]) for a in instr.args)
        if moves and instr.dst >= 0:
            moving.add(instr.dst)
        if instr.op in _DIVIDING and not moves:
            # (It tells which plane or row the loop is in: dependences are known of its remainders in 64 bits alone.)
            out.append(instr)
            continue
        size = _fits(instr, narrow, sizes, target, f)
        if size is None:
            out.append(instr)
            continue
        for other in (size, *[sizes.of(a) for a in instr.args]):
            if other is not None:
                for register in other.bounds:
                    most[register] = min(most.get(register, _LAST), other.most())
        args = [_narrowed(f, a, narrow, instr.line, out) for a in instr.args]
        if instr.op is ops.CONVERT:
            out.append(Instr(ops.CONVERT, instr.type, instr.dst, args, 0, instr.line, I32))
            continue
        made = narrow[instr.dst] = f.register(I32, "")
        out.append(Instr(instr.op, I32, made, args, instr.imm, instr.line))
        out.append(Instr(ops.CONVERT, I64, instr.dst, [made], 0, instr.line, I32))
    if len(out) == nest.end:
        return False
    f.code = out + f.code[nest.end :]
    asked: list[Run] = []
    for register, limit in most.items():
        asked.append((ops.LE, register, f.const(I64, limit)))
        if register in sizes.either:
            asked.append((ops.GE, register, f.const(I64, -limit)))
    runs += [run for run in asked if run not in runs]
    return True


def _begins(instr: Instr, target: Target, f: Function) -> bool:
    """Whether an operation takes long in lanes of 64 bits, and fewer of 32."""
    lanes = target.vector_bits // 64
    if instr.op is ops.CONVERT and instr.source is I64 and instr.args[0] >= 0:
        return instr.type is F32 or (instr.type is F64 and not 0 <= steps(target, ops.CONVERT, vector_of(F64, lanes), vector_of(I64, lanes)) <= _FEW)
    if instr.op in _DIVIDING and instr.type is I64 and instr.args[0] >= 0 > instr.args[1]:
        return steps(target, instr.op, vector_of(I64, lanes), VOID, int(f.const_values[~instr.args[1]])) < 0
    return False


def _fits(instr: Instr, narrow: dict[int, int], sizes: _Sizes, target: Target, f: Function) -> _Size | None:
    """The size of what an instruction makes, or converts, if it is to be done in 32 bits: that begins with it, or goes on."""
    if not _begins(instr, target, f) and not (instr.type is I64 and instr.op in _GOING_ON and any(a in narrow for a in instr.args)):
        return None
    given = [sizes.of(a) for a in instr.args]
    size = given[0] if instr.op is ops.CONVERT else sizes.known.get(instr.dst)
    if size is None or any(one is None or not one.most() for one in (size, *given)):
        return None
    return size


def _narrowed(f: Function, operand: int, narrow: dict[int, int], line: int, out: list[Instr]) -> int:
    """An operand in 32 bits."""
    if operand < 0:
        return f.const(I32, f.const_values[~operand])
    if operand not in narrow:
        made = f.register(I32, "")
        out.append(Instr(ops.CONVERT, I32, made, [operand], 0, line, I64))
        return made
    return narrow[operand]
