"""``Steps``: what sequences of operations are written with. Each step gets a register of its own."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.types import BOOL, VOID, Type, mask_of, vector_of

__all__ = ["Emit", "Steps", "bracket"]

#: Takes an instruction of a sequence.
Emit = Callable[[Instr], None]


def bracket(op: Op, line: int) -> Instr:
    """A bracket without operands."""
    return Instr(op, VOID, NONE, [], 0, line)


class Steps:
    """Emits operations on scalars, or on that many lanes; types are those of one element.

    Attributes:
        f: the function.
        emit: takes the instructions.
        line: the user's line they are for.
        lanes: how many lanes, 0 for scalars.
    """

    __slots__ = ("emit", "f", "lanes", "line")

    def __init__(self, f: Function, emit: Emit, line: int, lanes: int) -> None:
        self.f = f
        self.emit = emit
        self.line = line
        self.lanes = lanes

    def of(self, element: Type) -> Type:
        """The type of as many of them as there are lanes."""
        return vector_of(element, self.lanes) if self.lanes else element

    def const(self, element: Type, value: int | float) -> int:
        """A constant, in every lane."""
        return self.f.const(self.of(element), value)

    def variable(self, element: Type, value: int) -> int:
        """A new variable, with a value to begin with."""
        made = self.f.register(self.of(element), "", True)
        self.op(ops.COPY, element, value, into=made)
        return made

    def op(self, op: Op, element: Type, *args: int, into: int = -1, source: Type = VOID) -> int:
        """The result of an operation on ``element``, in a new register unless ``into`` says which."""
        type_ = self.of(element)
        result = into if into >= 0 else self.f.register(type_)
        self.emit(Instr(op, type_, result, list(args), 0, self.line, self.of(source) if source is not VOID else VOID))
        return result

    def shifted(self, element: Type, value: int, count: int) -> int:
        """Shifted to the right by a constant, which shifts hold themselves."""
        return self.op(ops.SHR, element, value, self.const(element, count)) if count else value

    def convert(self, to: Type, value: int, source: Type, into: int = -1) -> int:
        """The same number as another type."""
        return self.op(ops.CONVERT, to, value, into=into, source=source)

    def cast(self, to: Type, value: int, source: Type, into: int = -1) -> int:
        """The same bits as another type."""
        return self.op(ops.BITCAST, to, value, into=into, source=source)

    def compare(self, op: Op, element: Type, a: int, b: int) -> int:
        """A comparison: a bool, or a mask."""
        type_ = self.of(element)
        made = self.f.register(ops.mask_for(type_))
        self.emit(Instr(op, type_, made, [a, b], 0, self.line))
        return made

    def logic(self, op: Op, element: Type, *args: int) -> int:
        """An operation on what comparisons of ``element`` give."""
        type_ = ops.mask_for(self.of(element))
        made = self.f.register(type_)
        self.emit(Instr(op, type_, made, list(args), 0, self.line))
        return made

    def resized_mask(self, to: int, mask: int, bits: int) -> int:
        """A mask of lanes of ``bits`` bits for lanes of another width."""
        type_ = mask_of(to, self.lanes)
        made = self.f.register(type_)
        self.emit(Instr(ops.MASK_CONVERT, type_, made, [mask], 0, self.line, mask_of(bits, self.lanes)))
        return made

    def any(self, element: Type, condition: int) -> int:
        """Whether a condition holds, of lanes in any of them."""
        if not self.lanes:
            return condition
        made = self.f.register(BOOL)
        self.emit(Instr(ops.ANY, ops.mask_for(self.of(element)), made, [condition], 0, self.line))
        return made

    def bracket(self, op: Op, *args: int, type_: Type = VOID, depth: int = 0) -> None:
        """A bracket or branch; a comparison inside is of ``type_``."""
        self.emit(Instr(op, type_, NONE, list(args), depth, self.line))
