"""Which operations a machine has for lanes: asked of the target itself, by having it make the code of one.

A sequence that stands for an operation counts as long as it is short and without branches; what goes lane by lane does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.errors import LoopwrightError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.ir.ops import Op
from loopwright.ir.roles import role_type
from loopwright.targets.target import Target
from loopwright.types import VOID, Type

__all__ = ["MOST_RARELY", "MOST_STEPS", "asking", "constant_of", "gains", "has", "steps", "steps_for"]

#: The most instructions that an operation may take, and one that is rarely done.
MOST_STEPS: Final = 10
MOST_RARELY: Final = 40
#: Quotients of bytes by bytes take the most, 62.
MOST_AT_ALL: Final = 80
#: By a constant a number is divided in about ten instructions, by others in one that takes longer, so that in lanes it may take so many for each.
DIVIDED_PER_LANE: Final = 4
#: Whose sequences depend on a constant that they divide or shift by. (Those of products do, too.)
_BY_CONSTANTS: Final = frozenset((*ops.DIVISIONS, ops.SHL, ops.SHR, ops.ROTATE_LEFT, ops.ROTATE_RIGHT))


def constant_of(f: Function, instr: Instr) -> int | None:
    """The number that an operation on integers divides, shifts or multiplies by, on which its sequence depends; None where it is not known, or makes no difference."""
    if not instr.type.is_integer:
        return None
    if instr.op in _BY_CONSTANTS and instr.args[1] < 0:
        return int(f.const_values[~instr.args[1]])
    return int(f.const_values[~min(instr.args)]) if instr.op is ops.MUL and min(instr.args) < 0 else None


def steps_for(instr: Instr, lanes: int) -> int:
    """How many instructions an operation may take in so many lanes."""
    divides = instr.op in ops.DIVISIONS and (instr.args[1] < 0 or instr.type.bits < 64 or instr.type.is_float)
    return max(MOST_STEPS, DIVIDED_PER_LANE * lanes) if divides else MOST_STEPS


def has(target: Target, op: Op, type_: Type, source: Type = VOID, divisor: int | None = None, most: int = MOST_STEPS) -> bool:
    """Whether a machine does an operation in a few instructions.

    Args:
        target: the machine, which remembers the answer.
        op: the operation, of values or an access under a mask.
        type_: the vector (or mask) type.
        source: the type that a conversion is from.
        divisor: the second operand, where it is a constant and what the sequence is depends on it.
        most: how many instructions are a few.
    """
    return steps(target, op, type_, source, divisor, most) >= 0


def steps(target: Target, op: Op, type_: Type, source: Type = VOID, divisor: int | None = None, most: int = MOST_STEPS) -> int:
    """How many operations of its own a machine does an operation in, -1 where that is not in a few; the arguments are those of ``has``."""
    count, _ = _found(target, op, type_, source, divisor)
    return count if count <= most else -1


def gains(target: Target, op: Op, type_: Type, source: Type = VOID, divisor: int | None = None) -> bool:
    """Whether a machine does an operation on a vector in no more instructions than on its elements one by one; the arguments are those of ``has``."""
    _, lanes = _found(target, op, type_, source, divisor)
    if lanes <= type_.lanes:
        return lanes >= 0
    _, each = _found(target, op, type_.element, source.element, divisor)
    return each < 0 or lanes <= each * type_.lanes


def _found(target: Target, op: Op, type_: Type, source: Type, divisor: int | None) -> tuple[int, int]:
    """In how many operations of its own a machine does one, and in how many instructions these are, about; twice -1 where it does not."""
    key = (op.code, type_.number, source.number, divisor)
    known = target.known_operations.get(key)
    if known is None:
        probe = _Probe(target)
        known = (probe.count, probe.instructions) if probe.possible(op, type_, source, divisor) else (-1, -1)
        target.known_operations[key] = known
    return known


def asking(target: Target) -> Callable[[Op, Type, Type], bool]:
    """``has`` for a machine."""
    return _Asked(target).has


class _Asked:
    """What ``asking`` gives."""

    __slots__ = ("target",)

    def __init__(self, target: Target) -> None:
        self.target = target

    def has(self, op: Op, type_: Type, source: Type) -> bool:
        return has(self.target, op, type_, source)


class _Probe:
    """One question: the operation in a function of its own, as the passes ``expand`` and ``select`` treat it."""

    __slots__ = ("branches", "count", "f", "instructions", "target")

    def __init__(self, target: Target) -> None:
        self.target = target
        self.f = Function("probe", VOID)
        self.count = 0
        self.instructions = 0
        self.branches = False

    def possible(self, op: Op, type_: Type, source: Type, divisor: int | None) -> bool:
        f = self.f
        args: list[int] = []
        mem: Mem | None = None
        for letter in op.operands:
            if letter == "A":
                mem = Mem(False, 1, 0, type_.size)
                args.append(f.register(role_type("P", type_, source)))
            else:
                args.append(f.register(role_type(letter, type_, source)))
        if divisor is not None:
            args[1] = f.const(type_, divisor)
        dst = f.register(ops.result_type(op, type_, source)) if op.result else NONE
        try:
            self.early(Instr(op, type_, dst, args, 0, 0, source, mem))
        except LoopwrightError:
            return False
        # (A remainder of floats has a loop for quotients that are out of the ordinary; where there are none it is passed over.)
        return (not self.branches or (type_.is_float and type_.lanes > 0 and op in ops.DIVISIONS)) and self.count <= MOST_AT_ALL

    def early(self, instr: Instr) -> None:
        """As ``expand`` does."""
        if instr.op.code not in self.target.expanded or not self.target.expand(self.f, instr, self.early, False):
            self.late(instr)

    def late(self, instr: Instr) -> None:
        """As ``select`` does."""
        self.branches = self.branches or instr.op.effect == ops.CONTROL
        if self.branches or self.target.expand(self.f, instr, self.late, True):
            return
        f = self.f
        for position, a in enumerate(instr.args):
            if a < 0 and not self.target.immediate(instr, position, f.const_types[~a], f.const_values[~a]):
                instr.args[position] = f.register(f.const_types[~a])
        self.count += 1
        self.instructions += self.target.rule(f, instr).count
