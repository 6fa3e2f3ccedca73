"""Emitting what is done with values: the operations of expressions with their typing rules, conversions, conditions.

Typing follows NumPy 2: two typed operands meet at ``numpy.result_type`` of their types; a Python number takes the
type of the other operand, and is refused where that type cannot hold it.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from loopwright.errors import KernelTypeError
from loopwright.frontend import complex_numbers, mixed_signs
from loopwright.frontend.annotations import BY_DTYPE
from loopwright.frontend.complex_numbers import Complex, is_complex
from loopwright.frontend.expr import Cell, Value, ValueEmitter, Weak, Whole, describe, is_number
from loopwright.frontend.promotion import COUNTS, SPELLED, TAKES, meet, refusal
from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.ir.half_floats import is_half
from loopwright.ir.ops import Op, mask_for
from loopwright.types import BOOL, F32, F64, I64, KIND_BOOL, KIND_FLOAT, KIND_MASK, KIND_PTR, KIND_UINT, VOID, Type, limits, mask_of, vector_of

__all__ = ["Emitter", "by_squaring", "elementary"]

_CONDITIONS: Final = (KIND_BOOL, KIND_MASK)


def elementary(name: str) -> Callable[..., Any]:
    """An elementary function. They are written with values and their operators, so they are above this package, and found by name when one is first used."""
    found: Callable[..., Any] = getattr(importlib.import_module("loopwright.elementary.functions"), name)
    return found


def _floating(value: Any) -> bool:
    """Whether something is a Python float, or holds one and has no type yet."""
    return type(value) is float or (isinstance(value, Weak) and value.open and value.cell.root().floating)


class Emitter(ValueEmitter):
    """Emits into one function what is done with values."""

    # --- constants and types ------------------------------------------------------------------------------

    def wrap(self, value: Any) -> Value | None:
        """A NumPy scalar as a typed constant; a value as itself; None for anything else."""
        if isinstance(value, Value):
            if value.emitter is not self:
                self._foreign(value)
            return value.plain()
        if isinstance(value, np.generic):
            type_ = BY_DTYPE.get(value.dtype.name)
            if type_ is None:
                self.fail(
                    f"there is no type for NumPy's {value.dtype.name}" if not is_complex(value) else f"a real number is needed here, not {describe(value)}"
                )
            return Value(self, self.f.const(type_, value.item()), type_)
        return None

    def _foreign(self, value: Value) -> NoReturn:
        """A value whose register is another function's; kept in a list by an earlier compilation, perhaps."""
        other = value.emitter.f.name
        if other == self.f.name:
            self.fail(f"a run-time value of an earlier compilation of {other} is used: keep none in global lists or dictionaries")
        self.fail(f"a value of the function {other} is used in {self.f.name}: pass it as an argument")

    def staged(self, value: Any, what: str = "this") -> Value:
        """Any number as a value; a Python number takes i64 or f64."""
        made = self.wrap(value)
        if made is not None:
            return made
        if not is_number(value):
            self.fail(f"{what} must be a number, not {describe(value)}")
        type_ = BOOL if type(value) is bool else I64 if type(value) is int else F64
        return Value(self, self.number(type_, value), type_)

    # --- weak values --------------------------------------------------------------------------------------

    def settle(self, value: Value, element: Type | None = None) -> None:
        """Give an open value its element type (by default i64 or f64) and everything computed from it so far."""
        if type(value) is not Weak:
            return
        cell = value.cell.root()
        if not cell.settled:
            self._retype(cell, element if element is not None else cell.element)
            cell.settled = True

    def _retype(self, cell: Cell, element: Type) -> None:
        """Give what is recorded a type."""
        if element.kind == KIND_BOOL:
            self.fail("a variable that holds a Python number meets a condition: compare it, or start it as False or True")
        if cell.floating and not element.is_float:
            self.fail(f"a variable that starts as a Python float meets a value of integer type {element}: convert the value, as in lw.f64(x)")
        cell.element = element
        types = self.f.types
        for instr in cell.instrs:
            if not TAKES[instr.op.code][element.kind]:
                self.fail(
                    f"`{SPELLED.get(instr.op.name, instr.op.name)}` was applied to a variable that starts as a Python integer and becomes {element}: it is not available for {element}"
                )
            instr.type = element
            if instr.dst >= 0 and instr.op.result == "T":
                types[instr.dst] = element
        for instr in cell.opened:
            instr.op, instr.source = (ops.COPY, VOID) if element is I64 else (ops.CONVERT, I64)
            instr.type = types[instr.dst] = element
        for instr, position, number in cell.numbers:
            instr.args[position] = self.number(instr.type, number)

    def widen(self, cell: Cell) -> None:
        """An open type of Python integers becomes one of Python floats."""
        self._retype(cell, F64)
        cell.floating = True

    def unite(self, a: Value, b: Value) -> Cell:
        """One cell for two open values."""
        assert isinstance(a, Weak) and isinstance(b, Weak)
        kept, gone = a.cell.root(), b.cell.root()
        if kept is gone:
            return kept
        if kept.floating != gone.floating:
            self._retype(gone if kept.floating else kept, F64)
            kept.floating = True
            kept.element = F64
        kept.instrs += gone.instrs
        kept.numbers += gone.numbers
        kept.opened += gone.opened
        gone.parent = kept
        return kept

    def weak_variable(self, floating: bool, name: str) -> Weak:
        """A variable whose type is open."""
        cell = Cell(floating)
        return Weak(self, self.f.register(cell.element, name, True), cell)

    def weak_instr(self, cell: Cell, op: Op, operands: list[Any]) -> Instr:
        """An instruction of a cell's type over open values and Python numbers, not yet emitted."""
        for operand in operands:
            if type(operand) is float and not cell.floating:
                self.widen(cell)
        type_ = cell.element
        if not TAKES[op.code][type_.kind]:
            self._refuse(op, type_)
        instr = Instr(op, type_, NONE, [0] * len(operands), 0, self.line)
        for position, operand in enumerate(operands):
            if isinstance(operand, Value):
                instr.args[position] = operand.operand
            else:
                instr.args[position] = self.number(type_, operand)
                cell.numbers.append((instr, position, operand))
        cell.instrs.append(instr)
        return instr

    def weak_copy(self, variable: Weak, value: Any) -> None:
        """Write an open value or a Python number to a variable of open type."""
        instr = self.weak_instr(variable.cell.root(), ops.COPY, [value])
        instr.dst = variable.operand
        # Its cell may have become one of floats since the register was made.
        self.f.types[instr.dst] = instr.type
        self.code.append(instr)

    def _united(self, operands: list[Any]) -> Cell:
        """One cell for open values and Python numbers."""
        first: Weak | None = None
        for operand in operands:
            if isinstance(operand, Weak):
                if first is None:
                    first = operand
                else:
                    self.unite(first, operand)
        return first.cell.root() if first is not None else Cell(any(type(operand) is float for operand in operands))

    def _weak(self, op: Op, operands: list[Any]) -> Value:
        """An operation over open values and Python numbers: of open type itself, but for comparisons."""
        cell = self._united(operands)
        instr = self.weak_instr(cell, op, operands)
        compares = op.result == "M"
        instr.dst = self.f.register(BOOL if compares else instr.type)
        self.code.append(instr)
        return Value(self, instr.dst, BOOL) if compares else Weak(self, instr.dst, cell)

    def opened(self, number: Value) -> Weak:
        """A number of i64 as one of open type, as a Python number is that it stands for."""
        cell = Cell(False)
        made = Weak(self, self.f.register(I64), cell)
        instr = Instr(ops.COPY, I64, made.operand, [number.operand], 0, self.line)
        cell.opened.append(instr)
        self.code.append(instr)
        return made

    def select_open(self, condition: Value, a: Any, b: Any) -> Weak:
        """One of two open values or Python numbers: of open type itself."""
        cell = self._united([a, b])
        for value in (a, b):
            if type(value) is float and not cell.floating:
                self.widen(cell)
        made = Weak(self, self.f.register(cell.element), cell)
        instr = Instr(ops.SELECT, cell.element, made.operand, [condition.operand, 0, 0], 0, self.line)
        for position, value in ((1, a), (2, b)):
            if isinstance(value, Value):
                instr.args[position] = value.operand
            else:
                instr.args[position] = self.number(cell.element, value)
                cell.numbers.append((instr, position, value))
        cell.instrs.append(instr)
        self.code.append(instr)
        return made

    # --- operations ---------------------------------------------------------------------------------------

    def _refuse(self, op: Op, type_: Type) -> NoReturn:
        raise self.located(refusal(op, type_))

    def binary(self, op: Op, a: Any, b: Any) -> Any:
        """An operation on two operands of one type; ``NotImplemented`` when one is no number."""
        # The usual cases first: two values of one type, a value and a Python number.
        type_: Type | None = None
        if type(a) is Value:
            if type(b) is Value:
                if a.type is b.type and a.emitter is b.emitter:
                    type_ = a.type
                    x, y = a.operand, b.operand
            elif (type(b) is int and a.type.kind not in _CONDITIONS) or (type(b) is float and a.type.is_float):
                type_ = a.type
                x, y = a.operand, self.f.const(type_, b) if type(b) is float else self.number(type_, b)
        elif type(b) is Value and ((type(a) is int and b.type.kind not in _CONDITIONS) or (type(a) is float and b.type.is_float)):
            type_ = b.type
            x, y = self.f.const(type_, a) if type(a) is float else self.number(type_, a), b.operand
        if type_ is not None and TAKES[op.code][type_.kind]:
            result = type_ if op.result == "T" else mask_for(type_)
            return Value(self, self.define(op, type_, [x, y], result), result)
        if is_complex(a) or is_complex(b):
            return complex_numbers.binary(self, op, a, b)
        for operand in (a, b):
            if isinstance(operand, Value):
                if operand.type is VOID:
                    operand.plain()
            elif not (is_number(operand) or isinstance(operand, np.generic)):
                if op is ops.EQ or op is ops.NE:
                    # Python would compare identities.
                    self.fail(f"`{SPELLED[op.name]}` of a run-time value and {describe(operand)}: a run-time value is a number")
                return self._no_number(op, operand)
        return self.operation(op, [a, b])

    def _no_number(self, op: Op, operand: Any) -> Any:
        """What an operator gives for an operand that is no number: Python's own refusal, but for arrays, which it knows nothing of."""
        if isinstance(operand, np.ndarray):
            self.fail(
                f"`{SPELLED.get(op.name, op.name)}` of a run-time value and a NumPy array, which is known while compiling: index it with a Python number, "
                "or pass it to the kernel as an lw.Array, and index that"
            )
        return NotImplemented

    def operation(self, op: Op, operands: list[Any]) -> Value:
        """An operation whose operands all have the instruction's type, after adapting them to each other."""
        # The usual case first: values of one type.
        first = operands[0]
        if type(first) is Value:
            type_ = first.type
            args: list[int] = []
            for operand in operands:
                if type(operand) is not Value or operand.type is not type_ or operand.emitter is not self:
                    break
                args.append(operand.operand)
            else:
                return self._defined(op, type_, args)
        if op.result == "M":
            found = mixed_signs.compared(self, op, operands)
            if found is not None:
                return found
        common, adapted = self.adapt(op, operands)
        return self._defined(op, common, adapted) if common is not None else self._weak(op, adapted)

    def _defined(self, op: Op, type_: Type, args: list[int]) -> Value:
        """The result of an operation on operands of its type."""
        if not TAKES[op.code][type_.kind]:
            if type_.kind in _CONDITIONS and (op is ops.EQ or op is ops.NE):
                differ = self.value(ops.XOR, type_, args, type_)
                return differ if op is ops.NE else self.logical_not(differ)
            self._refuse(op, type_)
        result = type_ if op.result == "T" else mask_for(type_)
        return Value(self, self.define(op, type_, args, result), result)

    def adapt(self, op: Op, operands: list[Any]) -> tuple[Type | None, list[Any]]:
        """The operands at their common type: (type, operand numbers), or (None, operands) when the type is open."""
        typed: Type | None = None
        lanes = 0
        weak = False
        values: list[Any] = []
        for operand in operands:
            value = operand if is_number(operand) else self.wrap(operand)
            if value is None:
                self.fail(f"`{SPELLED.get(op.name, op.name)}` needs numbers, not {describe(operand)}")
            values.append(value)
            if isinstance(value, Value):
                if isinstance(value, Weak) and value.open:
                    weak = True
                    continue
                type_ = value.type
                if type_.lanes:
                    if lanes and lanes != type_.lanes:
                        self.fail(f"vectors of {lanes} and {type_.lanes} lanes do not combine")
                    lanes = type_.lanes
                if type_.kind == KIND_MASK:
                    type_ = BOOL
                element = type_.element
                if typed is None:
                    typed = element
                elif typed is not element:
                    try:
                        typed = meet(op, typed, element)
                    except KernelTypeError as error:
                        raise self.located(error) from None
        if typed is None:
            if weak:
                return None, values
            # Only Python numbers: they have Python's own types.
            typed = F64 if any(type(v) is float for v in values) else BOOL if all(type(v) is bool for v in values) else I64
        if typed is BOOL and op in COUNTS and (weak or any(type(v) is int or type(v) is float for v in values)):
            # Conditions are counted.
            typed = F64 if any(_floating(v) for v in values) else I64
        elif typed.is_integer and TAKES[op.code][KIND_FLOAT] and any(_floating(v) for v in values):
            # As an integer array and a Python float do in NumPy.
            typed = F64
        for value in values:
            if isinstance(value, Weak) and value.open:
                self.settle(value, typed)
            elif typed is BOOL and is_number(value) and type(value) is not bool:
                self.fail(
                    f"`{SPELLED.get(op.name, op.name)}` of a condition (bool) and the number {value!r}: convert the condition, as in lw.i32(c), or use lw.select"
                )
        if lanes and typed is BOOL:
            full = mask_of(max(v.type.bits for v in values if isinstance(v, Value) and v.type.kind == KIND_MASK), lanes)
        else:
            full = vector_of(typed, lanes)
        return full, [self.operand(value, full) for value in values]

    def operand(self, value: Any, type_: Type) -> int:
        """The operand for a number or value at ``type_``, converted and splatted as needed."""
        if not isinstance(value, Value):
            return self.number(type_, value)
        if value.type is type_:
            return value.operand
        if type_.kind == KIND_MASK:
            return self.as_mask(value, type_).operand
        converted = self.convert(value, type_.element)
        if type_.lanes and not converted.type.lanes:
            return self.splat(converted, type_.lanes).operand
        return converted.operand

    def unary(self, op: Op, a: Any) -> Value:
        """An operation on one operand."""
        value = self.staged(a)
        type_ = value.type
        if isinstance(value, Weak) and value.open:
            if TAKES[op.code][type_.kind]:
                return self._weak(op, [value])
            # sqrt, floor, …: the number is a float from here on.
            self.settle(value)
        if op is ops.ROUND or op is ops.FLOOR or op is ops.CEIL or op is ops.TRUNC:
            if type_.is_integer:
                return value
        elif op is ops.SQRT and type_.is_integer:
            value = self.convert(value, F64)
            type_ = value.type
        if not TAKES[op.code][type_.kind]:
            self._refuse(op, type_)
        return self.value(op, type_, [value.operand], type_)

    def absolute(self, a: Any) -> Value:
        value = self.staged(a)
        return value if value.type.kind == KIND_UINT else self.unary(ops.ABS, value)

    def true_divide(self, a: Any, b: Any) -> Any:
        """``/``: of integers in f64, as NumPy does."""
        return self.of_floats(ops.DIV, a, b)

    def of_floats(self, op: Op, a: Any, b: Any) -> Any:
        """An operation on two numbers, which is done in f64 where both are integers."""
        if is_complex(a) or is_complex(b):
            return complex_numbers.binary(self, op, a, b)
        for operand in (a, b):
            if not (isinstance(operand, (Value, np.generic)) or is_number(operand)):
                return self._no_number(op, operand)
        x = a if is_number(a) else self.wrap(a)
        y = b if is_number(b) else self.wrap(b)
        whole = True
        for operand in (x, y):
            if isinstance(operand, Value):
                if operand.type.kind in (KIND_BOOL, KIND_MASK):
                    self._refuse(op, operand.type)
                if operand.type.is_float:
                    whole = False
        if whole:
            x, y = [self.convert(operand, F64) if isinstance(operand, Value) else float(operand) for operand in (a, b)]
        return self.operation(op, [x, y])

    def power(self, a: Any, exponent: Any) -> Any:
        """``a ** n`` for a small Python integer n, by squaring, of floats of 16 bits in f32; ``a ** 0.5``; other powers of floats as ``lw.pow``."""
        if is_complex(a) or is_complex(exponent):
            return complex_numbers.power(self, a, exponent)
        if type(exponent) is float and exponent == 0.5:
            return self._square_root_power(a)
        if type(exponent) is not int or abs(exponent) > 64:
            return self._float_power(a, exponent)
        value = self.staged(a)
        if exponent < 0:
            if value.type.is_integer:
                self.fail("an integer to a negative power: convert it first, as in lw.f64(x) ** -1")
            if is_half(value.type):
                # (What is above the range of f16 has a reciprocal within it.)
                return self.convert(self.power(self.convert(value, F32), exponent), value.type)
            return self.true_divide(1.0, self.power(value, -exponent))
        if exponent == 0:
            self.settle(value)
            return Value(self, self.f.const(value.type, 1), value.type)
        if is_half(value.type) and exponent > 2:
            return self.convert(self.power(self.convert(value, F32), exponent), value.type)
        return by_squaring(value, exponent, lambda x, y: self.binary(ops.MUL, x, y))

    def _float_power(self, a: Any, exponent: Any) -> Any:
        """``a ** exponent`` where one of them is a float."""
        whole = True
        for operand in (a, exponent):
            if not (isinstance(operand, (Value, np.generic)) or is_number(operand)):
                return self._no_number(ops.MUL, operand)
            whole = whole and (operand.type.is_integer if isinstance(operand, Value) else isinstance(operand, (int, np.integer)))
        if whole:
            self.fail(
                f"** of integers takes a Python integer from -64 to 64 as its exponent, not {describe(exponent)}: convert one of them, as in lw.f64(x) ** n, or write a loop"
            )
        return elementary("pow")(a, exponent)

    def _square_root_power(self, a: Any) -> Any:
        """``a ** 0.5``: the square root but for -0.0, which gives 0.0, and -inf, which gives inf (IEEE 754-2019, 9.2.1, pow)."""
        value = self.staged(a)
        if not value.type.is_float or self.f.options.fastmath:
            return self.unary(ops.SQRT, value)
        root = self.unary(ops.SQRT, self.binary(ops.ADD, value, 0.0))
        least = self.binary(ops.EQ, value, -math.inf)
        return self.select_open(least, math.inf, root) if isinstance(root, Weak) and root.open else self.select(least, math.inf, root)

    def convert(self, value: Any, type_: Type) -> Value:
        """The value converted to a scalar type, lane by lane for a vector."""
        if is_number(value):
            return Value(self, self.number(type_, value), type_)
        return self._converted(self.staged(value), type_)

    def _converted(self, value: Value, type_: Type) -> Value:
        self.settle(value)
        if isinstance(value, Whole) and type_.is_integer and type_.bits < 64 and not type_.lanes:
            value = value.whole
        source = value.type
        if type_.lanes:
            if type_.kind == KIND_MASK:
                return self.as_mask(value, type_)
            if not source.lanes:
                return self.splat(self.convert(value, type_.element), type_.lanes)
            type_ = type_.element
        if source.element is type_ and source.kind != KIND_MASK:
            return value
        if source.kind == KIND_MASK:
            if type_ is BOOL:
                return value
            full = vector_of(type_, source.lanes)
            mask = self.as_mask(value, mask_for(full))
            return self.value(ops.SELECT, full, [mask.operand, self.f.const(full, 1), self.f.const(full, 0)], full)
        if type_ is BOOL:
            return self.value(ops.NE, source, [value.operand, self.f.const(source, 0)], mask_for(source))
        if type_.kind == KIND_PTR and (source.lanes or source.is_float) or source.kind == KIND_PTR and type_.is_float:
            self.fail(f"{source} cannot be converted to {type_}")
        full = vector_of(type_, source.lanes)
        if value.operand < 0:
            folded = self.f.folded(ops.CONVERT, full, source, [value.operand])
            if folded is not None:
                return Value(self, folded, full)
        return self.value(ops.CONVERT, full, [value.operand], full, source)

    def paired(self, type_: Type, real: Any, imaginary: Any) -> Any:
        """A complex number of a type, of its parts."""
        return Complex(self, self.convert(real, type_.part), self.convert(float(imaginary) if type(imaginary) is int else imaginary, type_.part))

    def assignable(self, value: Any, type_: Type, what: str) -> Value:
        """A value stored to a place of a given element type: converted, but never silently from float to integer."""
        if is_number(value):
            if type(value) is int and type_.is_integer:
                low, high = limits(type_)
                if not low <= value <= high:
                    self.fail(f"{what} is {type_}, which holds {low} to {high}, and the value {value if value.bit_length() < 1024 else 'far greater'}")
            return Value(self, self.number(type_, value), type_)
        if is_complex(value):
            self.fail(f"{what} is {type_} and the value {describe(value)}: take its part, as in z.real, or lw.abs(z)")
        made = self.wrap(value)
        if made is None:
            self.fail(f"{what} must be a number, not {describe(value)}")
        if isinstance(made, Weak) and made.open:
            self.settle(made, type_)
        if made.type.is_float and not type_.is_float:
            if type_ is BOOL:
                self.fail(f"{what} is bool and the value {made.type.element}: write a comparison, as in v != 0")
            self.fail(f"{what} is {type_} and the value {made.type}: say how it becomes an integer, as in lw.{type_}(lw.round(x))")
        return self.convert(made, type_)

    def splat(self, value: Value, lanes: int) -> Value:
        """The scalar in every lane."""
        self.settle(value)
        if value.type.lanes:
            return value
        if value.type is BOOL:
            return self.as_mask(value, mask_of(32, lanes))
        type_ = vector_of(value.type, lanes)
        if value.operand < 0:
            return Value(self, self.f.const(type_, self.f.const_values[~value.operand]), type_)
        return self.value(ops.SPLAT, type_, [value.operand], type_)

    def index(self, value: Any, what: str = "an index") -> Value:
        """A scalar integer as i64."""
        if type(value) is Value and value.type is I64 and value.emitter is self:
            return value
        if type(value) is int:
            return Value(self, self.number(I64, value), I64)
        made = self.wrap(value)
        if made is None:
            self.fail(f"{what} must be an integer, not {describe(value)}")
        self.settle(made, I64)
        if made.type.lanes:
            self.fail(f"{what} must be the same for all lanes here, not {made.type}")
        if not made.type.is_integer:
            self.fail(f"{what} must be an integer, not {made.type}: convert it, as in lw.i64(…)")
        return self.convert(made, I64)

    # --- conditions and masks -----------------------------------------------------------------------------

    def condition(self, value: Any) -> Value:
        """The truth of a value: ``bool`` or a mask."""
        made = self.staged(value, "a condition")
        kind = made.type.kind
        if kind in (KIND_BOOL, KIND_MASK):
            return made
        self.settle(made)
        return self.value(ops.NE, made.type, [made.operand, self.f.const(made.type, 0)], mask_for(made.type))

    def as_mask(self, value: Value, type_: Type) -> Value:
        """A condition as a mask of another lane width."""
        if value.type is type_:
            return value
        if value.type.kind == KIND_MASK:
            if value.operand < 0:
                return Value(self, self.f.const(type_, self.f.const_values[~value.operand]), type_)
            return self.value(ops.MASK_CONVERT, type_, [value.operand], type_, value.type)
        if value.type.kind != KIND_BOOL:
            return self.as_mask(self.condition(value), type_)
        if value.operand < 0:
            return Value(self, self.f.const(type_, self.f.const_values[~value.operand]), type_)
        return self.value(ops.MASK_SPLAT, type_, [value.operand], type_)

    def logical_not(self, value: Value) -> Value:
        return self.value(ops.NOT, value.type, [value.operand], value.type)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        """``a`` where the condition holds, ``b`` elsewhere; both are computed."""
        known = type(condition) is bool or isinstance(condition, np.bool_)
        if known and not all(isinstance(v, (Value, np.generic)) or is_number(v) for v in (a, b)):
            return a if condition else b
        c = self.condition(condition)
        if self.staging is not None and not c.type.lanes and _open(a) and _open(b) and not type(a) is type(b) is bool:
            return self.select_open(c, a, b)
        type_, args = self.adapt(ops.SELECT, [a, b])
        if type_ is None:
            if known:
                return a if condition else b
            for value in args:
                if isinstance(value, Weak):
                    self.settle(value)
            type_, args = self.adapt(ops.SELECT, [a, b])
            assert type_ is not None
        if known:
            return Value(self, args[0 if condition else 1], type_)
        if c.type.kind == KIND_MASK:
            if not type_.lanes:
                both = [self.splat(Value(self, arg, type_), c.type.lanes) for arg in args]
                type_ = both[0].type
                args = [both[0].operand, both[1].operand]
            c = self.as_mask(c, type_ if type_.kind == KIND_MASK else mask_for(type_))
        elif type_.lanes:
            c = self.as_mask(c, type_ if type_.kind == KIND_MASK else mask_for(type_))
        return self.value(ops.SELECT, type_, [c.operand, *args], type_)

    def snapshot(self, value: Any) -> Any:
        """The value as it is now: a variable that may change later is copied."""
        if isinstance(value, Value) and value.operand in self.active:
            if isinstance(value, Weak) and value.open:
                return self._weak(ops.COPY, [value])
            return self.value(ops.COPY, value.type, [value.operand], value.type)
        kind = type(value)
        if kind is tuple:
            return tuple([self.snapshot(item) for item in value])
        if kind is Complex:
            return Complex(self, self.snapshot(value.real), self.snapshot(value.imag))
        if (kind is list or kind is dict) and self.active and self.staging is not None:
            # In its place: the list itself is what is kept. Its own variables stay.
            cells = self.staging.cells.get(id(value), ())
            for index, item in list(value.items() if kind is dict else enumerate(value)):
                if index not in cells and (isinstance(item, Value) or type(item) is tuple):
                    value[index] = self.snapshot(item)
        return value


def _open(value: Any) -> bool:
    """Whether the type of a number is open: of a Python number, and of a variable that has been nothing else."""
    return is_number(value) or isinstance(value, Weak) and value.open


def by_squaring(value: Any, exponent: int, multiply: Callable[[Any, Any], Any]) -> Any:
    """``value`` to a power of at least 1."""
    result: Any = None
    square: Any = value
    while True:
        if exponent & 1:
            result = square if result is None else multiply(result, square)
        exponent >>= 1
        if not exponent:
            return result
        square = multiply(square, square)
