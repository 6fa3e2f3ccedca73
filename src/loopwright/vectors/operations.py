"""Operations on scalars made ones on vectors of lanes, as far as they neither branch nor access memory."""

from __future__ import annotations

from typing import Final

from loopwright.errors import InternalError, UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.literals import words
from loopwright.ir.ops import Op
from loopwright.types import BOOL, VOID, Type, mask_of, vector_of

__all__ = ["Operations"]

#: Operations on conditions, of scalars bools and of lanes masks.
_LOGIC: Final = frozenset((ops.AND, ops.OR, ops.XOR, ops.NOT, ops.ANDNOT))


class Operations:
    """What is emitted for scalar instructions, for several lanes of them.

    Attributes:
        f: the function.
        lanes: how many there are.
        width: the bits of the masks that conditions become.
        mask_type: the type of these masks.
        out: the instructions made so far.
        line: of the user's source.
    """

    def __init__(self, f: Function, lanes: int, width: int) -> None:
        self.f = f
        self.lanes = lanes
        self.width = width
        self.mask_type: Type = mask_of(width, lanes)
        self.out: list[Instr] = []
        self.line = 0

    def vector(self, operand: int) -> int:
        """An operand of a scalar instruction, in every lane."""
        raise NotImplementedError

    def define(self, op: Op, type_: Type, args: list[int], result: Type, source: Type = VOID, imm: int = 0) -> int:
        """Emit an instruction with a result; its register."""
        made = self.f.register(result)
        self.out.append(Instr(op, type_, made, args, imm, self.line, source))
        return made

    def recast(self, type_: Type, value: int) -> int:
        """The same bits as another type."""
        given = self.f.type_of(value)
        return value if given is type_ else self.define(ops.BITCAST, type_, [value], type_, given)

    def literal(self, type_: Type, lanes: list[int]) -> int:
        """A constant vector of unsigned numbers."""
        return self.define(ops.LITERAL, type_, words(self.f, type_, lanes), type_)

    def full(self, element: Type) -> Type:
        """The type of so many elements; of conditions the masks of the loop."""
        return self.mask_type if element is BOOL else vector_of(element, self.lanes)

    def mask_for(self, operand: int, bits: int) -> int:
        """A condition of the scalar loop as a mask of lanes of so many bits."""
        return self.fitted(self.vector(operand), bits)

    def fitted(self, mask: int, bits: int) -> int:
        """A mask for lanes of another width."""
        type_ = self.f.type_of(mask)
        if type_.bits == bits:
            return mask
        wanted = mask_of(bits, self.lanes)
        if mask < 0:
            return self.f.const(wanted, self.f.const_values[~mask])
        return self.define(ops.MASK_CONVERT, wanted, [mask], wanted, type_)

    def unsupported(self, instr: Instr, message: str) -> UnsupportedOperationError:
        """The error for what has no form for lanes."""
        return UnsupportedOperationError(message, "", instr.line)

    def compute(self, instr: Instr) -> int:
        """The values of an operation without effects."""
        op = instr.op
        type_ = instr.type
        args = instr.args
        if op is ops.COPY:
            return self.vector(args[0])
        if op is ops.CONVERT or op is ops.CONVERT_SATURATED or op in ops.UNCHECKED:
            return self.convert(instr)
        if op is ops.MUL_WIDE:
            full = self.full(type_)
            return self.define(op, full, [self.vector(a) for a in args], full, self.full(instr.source))
        if op in ops.COMPARING:
            full = self.full(type_)
            return self.define(op, full, [self.vector(args[0]), self.vector(args[1])], ops.mask_for(full))
        if op is ops.SELECT:
            full = self.full(type_)
            bits = full.bits
            yes, no = self.vector(args[1]), self.vector(args[2])
            if type_ is BOOL:
                yes, no = self.fitted(yes, bits), self.fitted(no, bits)
            return self.define(op, full, [self.mask_for(args[0], bits), yes, no], full)
        if type_ is BOOL:
            if op not in _LOGIC:
                raise InternalError(f"{op.name} of bools by lane")
            return self.define(op, self.mask_type, [self.mask_for(a, self.width) for a in args], self.mask_type)
        full = self.full(type_)
        if op in ops.CASTS:
            return self.define(op, full, [self.vector(args[0])], full, self.full(instr.source))
        if op.operands.count("T") != len(args):
            raise self.unsupported(instr, f"`{op.name}` inside lw.lanes: use lw.range for this loop")
        return self.define(op, full, [self.vector(a) for a in args], full)

    def convert(self, instr: Instr) -> int:
        """The values of a conversion."""
        type_, source = instr.type, instr.source
        a = instr.args[0]
        full = self.full(type_)
        if source is BOOL:
            if type_ is BOOL:
                return self.vector(a)
            return self.define(ops.SELECT, full, [self.mask_for(a, type_.bits), self.f.const(full, 1), self.f.const(full, 0)], full)
        if type_ is BOOL:
            given = self.full(source)
            return self.define(ops.NE, given, [self.vector(a), self.f.const(given, 0)], ops.mask_for(given))
        return self.define(instr.op, full, [self.vector(a)], full, self.full(source))
