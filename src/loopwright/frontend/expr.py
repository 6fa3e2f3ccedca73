"""Expressions: what run-time values are while a kernel is staged or a builder's function is written.

An operator on a :class:`Value` emits an instruction at once and returns the value of its result. Python numbers are
*weak*: they take the type of the other operand (NEP 50). A variable that starts as a Python number is weak too,
until it meets a typed value; its :class:`Cell` remembers what has to be given a type then.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, NoReturn

from loopwright.frontend.instructions import InstructionEmitter
from loopwright.frontend.promotion import spelled
from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.ir.ops import Op
from loopwright.native_build import mypyc_attr
from loopwright.types import F64, I64, U64, VOID, Type

__all__ = ["Cell", "Unavailable", "Value", "ValueEmitter", "Weak", "Whole", "describe", "is_number", "is_staged", "python_integer"]


class ValueEmitter(InstructionEmitter):
    """What a value asks of what emits its instructions. How types meet and what is emitted then is for ``Emitter`` to say, the only one there is."""

    def value(self, op: Op, type_: Type, args: list[int], result: Type, source: Type = VOID, imm: int = 0) -> Value:
        """Emit an instruction; its result."""
        return Value(self, self.define(op, type_, args, result, source, imm), result)

    def binary(self, op: Op, a: Any, b: Any) -> Any:
        """An operator on two operands; ``NotImplemented`` when one is no number."""
        raise NotImplementedError

    def unary(self, op: Op, a: Any) -> Value:
        """An operation on one operand."""
        raise NotImplementedError

    def operation(self, op: Op, operands: list[Any]) -> Value:
        """An operation whose operands all have the instruction's type, after adapting them to each other."""
        raise NotImplementedError

    def absolute(self, a: Any) -> Value:
        raise NotImplementedError

    def true_divide(self, a: Any, b: Any) -> Any:
        """``/``"""
        raise NotImplementedError

    def of_floats(self, op: Op, a: Any, b: Any) -> Any:
        """An operation on two numbers, which is done in f64 where both are integers."""
        raise NotImplementedError

    def power(self, a: Any, exponent: Any) -> Any:
        """``**``"""
        raise NotImplementedError

    def adapt(self, op: Op, operands: list[Any]) -> tuple[Type | None, list[Any]]:
        """The operands at the type where they meet, or (None, operands) when that is open."""
        raise NotImplementedError

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        """``a`` where the condition holds, ``b`` elsewhere; both are computed."""
        raise NotImplementedError

    def condition(self, value: Any) -> Value:
        """The truth of a value: ``bool`` or a mask."""
        raise NotImplementedError

    def staged(self, value: Any, what: str = "this") -> Value:
        """Any number as a value."""
        raise NotImplementedError

    def settle(self, value: Value, element: Type | None = None) -> None:
        """Give an open value its element type."""
        raise NotImplementedError

    def convert(self, value: Any, type_: Type) -> Value:
        """The value converted to a scalar type, lane by lane for a vector."""
        raise NotImplementedError

    def snapshot(self, value: Any) -> Any:
        """The value as it is now: a variable that may change later is copied."""
        raise NotImplementedError

    def paired(self, type_: Type, real: Any, imaginary: Any) -> Any:
        """A complex number of a type, of its parts."""
        raise NotImplementedError

    def assignable(self, value: Any, type_: Type, what: str) -> Value:
        """A value stored to a place of a given element type."""
        raise NotImplementedError

    def splat(self, value: Value, lanes: int) -> Value:
        """The scalar in every lane."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Value:
    """The value of an expression at run time.

    Attributes:
        emitter: what emits the instructions.
        operand: register or constant.
        type: its type.
    """

    __slots__ = ("_type", "emitter", "operand")

    #: NumPy scalars and arrays leave operators with a value to the value.
    __array_ufunc__: ClassVar = None

    def __init__(self, emitter: ValueEmitter, operand: int, type: Type) -> None:
        self.emitter = emitter
        self.operand = operand
        self._type = type

    @property
    def type(self) -> Type:
        return self._type

    def __converted__(self, type_: Type) -> Any:
        return self.emitter.convert(self, type_)

    def __paired__(self, type_: Type, real: Any, imaginary: Any) -> Any:
        """A complex number of a type, of its parts."""
        return self.emitter.paired(type_, real, imaginary)

    def twin(self) -> Value:
        """Another object for the same value."""
        return Value(self.emitter, self.operand, self.type)

    def plain(self) -> Value:
        """The value in registers: itself, except for special values."""
        return self

    def __add__(self, other: Any) -> Any:
        return self.emitter.binary(ops.ADD, self, other)

    def __radd__(self, other: Any) -> Any:
        return self.emitter.binary(ops.ADD, other, self)

    def __sub__(self, other: Any) -> Any:
        return self.emitter.binary(ops.SUB, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.emitter.binary(ops.SUB, other, self)

    def __mul__(self, other: Any) -> Any:
        return self.emitter.binary(ops.MUL, self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.emitter.binary(ops.MUL, other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.emitter.true_divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.emitter.true_divide(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self.emitter.binary(ops.DIV_FLOOR, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self.emitter.binary(ops.DIV_FLOOR, other, self)

    def __mod__(self, other: Any) -> Any:
        return self.emitter.binary(ops.REM_FLOOR, self, other)

    def __rmod__(self, other: Any) -> Any:
        return self.emitter.binary(ops.REM_FLOOR, other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        return self.emitter.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return self.emitter.power(other, self)

    def __lshift__(self, other: Any) -> Any:
        return self.emitter.binary(ops.SHL, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return self.emitter.binary(ops.SHL, other, self)

    def __rshift__(self, other: Any) -> Any:
        return self.emitter.binary(ops.SHR, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return self.emitter.binary(ops.SHR, other, self)

    def __and__(self, other: Any) -> Any:
        return self.emitter.binary(ops.AND, self, other)

    def __rand__(self, other: Any) -> Any:
        return self.emitter.binary(ops.AND, other, self)

    def __or__(self, other: Any) -> Any:
        return self.emitter.binary(ops.OR, self, other)

    def __ror__(self, other: Any) -> Any:
        return self.emitter.binary(ops.OR, other, self)

    def __xor__(self, other: Any) -> Any:
        return self.emitter.binary(ops.XOR, self, other)

    def __rxor__(self, other: Any) -> Any:
        return self.emitter.binary(ops.XOR, other, self)

    def __neg__(self) -> Any:
        return self.emitter.unary(ops.NEG, self)

    def __pos__(self) -> Any:
        return self.emitter.unary(ops.COPY, self)

    def __invert__(self) -> Any:
        return self.emitter.unary(ops.NOT, self)

    def __abs__(self) -> Any:
        return self.emitter.absolute(self)

    def __eq__(self, other: object) -> Any:
        return self.emitter.binary(ops.EQ, self, other)

    def __ne__(self, other: object) -> Any:
        return self.emitter.binary(ops.NE, self, other)

    def __lt__(self, other: Any) -> Any:
        return self.emitter.binary(ops.LT, self, other)

    def __le__(self, other: Any) -> Any:
        return self.emitter.binary(ops.LE, self, other)

    def __gt__(self, other: Any) -> Any:
        return self.emitter.binary(ops.GT, self, other)

    def __ge__(self, other: Any) -> Any:
        return self.emitter.binary(ops.GE, self, other)

    def __hash__(self) -> int:
        # By identity it would be found in no set, dictionary or cache, and a kernel would quietly go the way of "not there".
        raise self.emitter.wrong(
            f"a run-time value ({self.type}) cannot be looked up in or put into a set, a dictionary or a cache, because it is not known while compiling: "
            "compare it, as in x == 1 or x == 2, or use an array argument as the table"
        )

    def __bool__(self) -> bool:
        raise self.emitter.wrong(
            f"a run-time value ({self.type}) has no truth value while compiling. In a kernel, if, while, and, or, not work on it directly; "
            "in Python code that is called with it, and in the builder, write lw.select(condition, a, b), f.if_(condition), a & b, a | b, ~a"
        )

    def __int__(self) -> int:
        raise self.emitter.wrong(f"int() of a run-time value ({self.type}): write lw.i64(…), or the integer type wanted")

    def __float__(self) -> float:
        raise self.emitter.wrong(f"float() of a run-time value ({self.type}): write lw.f64(…) or lw.f32(…)")

    def __index__(self) -> int:
        raise self.emitter.wrong(
            f"a run-time value ({self.type}) cannot be used where Python needs an integer while compiling (an index of a list or tuple, the bound of a Python range): "
            "use an array argument, or lw.range"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        # NumPy asks for it where it is given the value as an index, as an element or as an argument.
        raise self.emitter.wrong(
            f"NumPy is given a run-time value ({self.type}): its arrays and functions work on what is known while compiling. Pass an array that is indexed "
            "with run-time values, or holds them, to the kernel as an lw.Array"
        )

    def __round__(self, digits: int | None = None) -> Any:
        if digits:
            self.emitter.fail("round() of a run-time value takes no number of digits: write, for 2 of them, lw.round(v * 100) / 100")
        return python_integer(self.emitter.unary(ops.ROUND, self) if self.type.is_float else self)

    def __iter__(self) -> NoReturn:
        self.emitter.fail(f"a run-time value ({self.type}) cannot be iterated over: a for loop takes lw.range, lw.lanes or a Python value")

    def __getitem__(self, index: Any) -> NoReturn:
        self.emitter.fail(f"a run-time value ({self.type}) has no elements: only arrays are indexed")

    def __repr__(self) -> str:
        return f"<run-time {self.type}>"


def python_integer(value: Value) -> Value:
    """Python's ``int`` of a value: i64, and u64 where it is one. Of a float the integer towards zero."""
    if value.type is U64:
        return value
    emitter = value.emitter
    if not value.type.is_float or value.type.lanes or value.operand < 0:
        return emitter.convert(value, I64)
    kept: Value = emitter.snapshot(value)
    return Whole(emitter, emitter.convert(kept, I64).operand, kept)


class Cell:
    """The type, still open, of a variable that started as a Python number, and of what was computed from it alone.

    Until it is settled everything is emitted as i64 or f64; settling gives the recorded instructions their type.

    Attributes:
        floating: it holds a Python float.
        element: the element type, final once ``settled``.
        instrs: instructions of the open type.
        numbers: (instruction, operand position, Python number) of the constants in them.
        opened: what makes values of open type of numbers of i64.
        parent: the cell this one was united with.
    """

    __slots__ = ("element", "floating", "instrs", "numbers", "opened", "parent", "settled")

    def __init__(self, floating: bool) -> None:
        self.floating = floating
        self.element: Type = F64 if floating else I64
        self.settled = False
        self.instrs: list[Instr] = []
        self.numbers: list[tuple[Instr, int, int | float]] = []
        self.opened: list[Instr] = []
        self.parent: Cell | None = None

    def root(self) -> Cell:
        cell = self
        while cell.parent is not None:
            cell = cell.parent
        return cell


class Weak(Value):
    """A value whose type is open.

    Attributes:
        cell: its type.
    """

    __slots__ = ("cell",)

    def __init__(self, emitter: ValueEmitter, operand: int, cell: Cell) -> None:
        # The type is the cell's; the slot of the base class stays empty.
        self.emitter = emitter
        self.operand = operand
        self.cell = cell

    def twin(self) -> Weak:
        return Weak(self.emitter, self.operand, self.cell)

    @property
    def type(self) -> Type:
        return self.cell.root().element

    @property
    def open(self) -> bool:
        return not self.cell.root().settled


class Whole(Value):
    """A Python integer that a float became, as of ``int(x)`` and ``round(x)``: an i64.

    Narrower types are made of the float: a number that they do not hold is Python's error (``OverflowError``), and the way by 64 bits takes lanes twice as wide.

    Attributes:
        whole: the float, in a register that does not change.
    """

    __slots__ = ("whole",)

    def __init__(self, emitter: ValueEmitter, operand: int, whole: Value) -> None:
        super().__init__(emitter, operand, I64)
        self.whole = whole

    def twin(self) -> Value:
        return Whole(self.emitter, self.operand, self.whole)


class Unavailable(Value):
    """Stands for a variable that cannot be read; reading it reports why."""

    __slots__ = ("reason",)

    def __init__(self, emitter: ValueEmitter, reason: str) -> None:
        super().__init__(emitter, 0, VOID)
        self.reason = reason

    def plain(self) -> NoReturn:
        self.emitter.fail(self.reason)

    def __getitem__(self, index: Any) -> NoReturn:
        self.emitter.fail(self.reason)

    def __iter__(self) -> NoReturn:
        self.emitter.fail(self.reason)


# Python looks for an index in the type's slot, which mypyc fills for no method of a compiled class: assigned, it is filled.
setattr(Value, "__index__", Value.__index__)  # noqa: B010


def is_number(value: Any) -> bool:
    """A Python number (not a NumPy scalar, which has a type)."""
    kind = type(value)
    return kind is int or kind is float or kind is bool


#: Types of what is surely known while compiling.
_PLAIN: Final = frozenset((bool, float, int, str))


def is_staged(value: Any) -> bool:
    """A run-time value or array, or a tuple or list that holds one."""
    kind = type(value)
    if kind is tuple or kind is list:
        return any(is_staged(item) for item in value if type(item) not in _PLAIN)
    return isinstance(value, Value) or hasattr(kind, "__staged__")


def describe(value: Any) -> str:
    """A value that is not what is needed, in a message."""
    if type(value) is int and value.bit_length() > 1024:
        return spelled(value)
    if isinstance(value, Value):
        return f"a run-time value ({value.type})"
    if isinstance(value, Type):
        return f"the type {value}"
    kind = type(value).__name__
    text = repr(value)
    if hasattr(type(value), "__staged__"):
        name = getattr(value, "name", None)
        return f"the array {name}: kernels work on elements, as in {name}[i]" if name is not None else text
    return f"{kind} {text if len(text) <= 40 else text[:37] + '…'}"
