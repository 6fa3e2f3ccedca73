"""Arrays inside kernels and builder functions."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final, NoReturn

import numpy as np

from loopwright.frontend.complex_numbers import Complex, as_pair
from loopwright.frontend.element_types import ElementType, as_type
from loopwright.frontend.emitter import Emitter
from loopwright.frontend.expr import Value, describe
from loopwright.frontend.views import View, count, narrowed, placed, takes_part, transposed, whole
from loopwright.ir import function as ir
from loopwright.ir import ops
from loopwright.ir.ops import mask_for
from loopwright.types import BOOL, COMPLEX64, COMPLEX128, F32, I64, PTR, U8, U64, VOID, Type, vector_of

__all__ = ["StagedArray", "local_array", "parameter_array"]


#: A statement that gives something a name.
_NAMED: Final = re.compile(r"\s*([^\W\d]\w*)\s*=")


def local_array(emitter: Emitter, element: Any, extents: tuple[Any, ...], statement: str) -> StagedArray:
    """What ``lw.local`` makes in a kernel."""
    named = _NAMED.match(statement)
    name = named[1] if named is not None else "local"
    if emitter.in_lanes:
        emitter.fail(
            "lw.local is made in front of a loop over lanes; what each lane has of its own is a list, as in [lw.f32(0)] * 8, at indices known while compiling"
        )
    given, element = element, as_type(element)
    if element is None or element.lanes or not (element.is_integer or element.is_float or element.is_complex or element is BOOL):
        emitter.fail(f"lw.local takes an element type first, as in lw.local(lw.f32, 64), not {given!r}")
    if not extents or len(extents) > 8:
        emitter.fail(f"lw.local takes from 1 to 8 extents, as in lw.local(lw.{element}, 64), not {len(extents)}")
    known: list[int] = []
    for extent in extents:
        if isinstance(extent, Value):
            emitter.fail("an extent of lw.local must be known while compiling: pass it as lw.Const, or the array as an lw.Array, made by the caller")
        if isinstance(extent, bool) or not isinstance(extent, (int, np.integer)) or extent < 1:
            emitter.fail(f"an extent of lw.local is an integer from 1, not {extent!r}")
        known.append(int(extent))
    f = emitter.f
    number = len(f.arrays)
    pairs = element.is_complex
    if pairs:
        element, known[-1] = element.part, 2 * known[-1]
    array = f.local_array(name, element, tuple(known))
    if f.local_offset(number + 1) > ir.MOST_LOCAL:
        emitter.fail(f"with {name} the local arrays of this kernel take {f.local_offset(number + 1)} bytes, more than {ir.MOST_LOCAL}: pass it as lw.Array")
    emitter.code.append(ir.Instr(ops.LOCAL, PTR, array.base, [f.const(I64, number)], 0, emitter.line))
    return StagedArray(emitter, array, number, pairs)


def parameter_array(emitter: Emitter, name: str, element: Type, rank: int, usual: tuple[int, ...] = ()) -> StagedArray:
    """An array that is a parameter; one of complex numbers is an array of their parts, which has twice as many columns."""
    f = emitter.f
    array = f.array_param(name, element.part if element.is_complex else element, rank)
    array.pairs = element.is_complex
    if not array.pairs:
        array.usual = usual
    return StagedArray(emitter, array, len(f.arrays) - 1, array.pairs)


class StagedArray:
    """An array inside a kernel or builder function.

    Attributes:
        emitter: what emits the accesses.
        array: its parameters.
        number: its number in the function.
        shape: the extents: run-time i64 values, or Python's numbers of a local array.
        pairs: its elements are complex numbers, two neighbours each.
        view: the part of it that is meant; None for all.
    """

    __slots__ = ("_shape", "array", "emitter", "number", "pairs", "view")
    __staged__: ClassVar = True
    __array_ufunc__: ClassVar = None

    #: Said where it would have to become another one in a loop that runs at run time.
    why: ClassVar = "a name that stands for an array, or for a part of one, cannot change in a loop that runs at run time and be read in the next step, or behind it: use the indices"

    def __init__(
        self, emitter: Emitter, array: ir.Array, number: int, pairs: bool = False, view: View | None = None, shape: tuple[Any, ...] | None = None
    ) -> None:
        self.emitter = emitter
        self.array = array
        self.number = number
        self.pairs = pairs
        self.view = view
        self._shape: tuple[Any, ...] | None = shape
        if pairs and shape is None:
            # At once: what asks for it first may stand under a condition.
            columns = self.all_extents()[-1]
            self._shape = (*self.all_extents()[:-1], columns >> 1)

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.view.shape if self.view is not None else self.all_extents()

    def all_extents(self) -> tuple[Any, ...]:
        """The extents of the array, of which this may be a part."""
        known = self._shape
        if known is None:
            emitter, array = self.emitter, self.array
            if array.size:
                known = tuple([int(emitter.f.const_values[~extent]) for extent in array.extents])
            else:
                known = tuple([Value(emitter, extent, I64) for extent in array.extents])
            self._shape = known
        return known

    @property
    def ndim(self) -> int:
        return len(self.array.extents) if self.view is None else len(self.view.axes)

    @property
    def size(self) -> Any:
        """How many elements there are."""
        number = self.shape[0]
        for extent in self.shape[1:]:
            number = number * extent
        return number

    @property
    def T(self) -> StagedArray:
        """The same with rows for columns."""
        return self._part(transposed(self.all()))

    def all(self) -> View:
        """What this is of the array."""
        return self.view if self.view is not None else whole(self.all_extents())

    def _part(self, view: View) -> StagedArray:
        return StagedArray(self.emitter, self.array, self.number, self.pairs, view, self.all_extents())

    @property
    def dtype(self) -> ElementType:
        """The element type; called, it converts: ``x.dtype(0)``."""
        element = self.array.element
        return ElementType(element if not self.pairs else COMPLEX64 if element is F32 else COMPLEX128)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        return self.size * self.itemsize

    @property
    def name(self) -> str:
        return self.array.name

    @property
    def length(self) -> Any:
        return self.shape[0]

    def __len__(self) -> int:
        raise self.emitter.wrong(
            f"Python asks for the length of {self.array.name}, which is not known while compiling: write {self.array.name}.shape[0] for it"
        )

    def __iter__(self) -> NoReturn:
        self.emitter.fail(f"an array cannot be iterated over: write for i in lw.range(len({self.array.name})), or lw.lanes, and {self.array.name}[i]")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise self.emitter.wrong(
            f"NumPy is given the array {self.array.name}, whose elements are not known while compiling: write a loop over {self.array.name}[i]"
        )

    def __eq__(self, other: object) -> bool:
        # Otherwise Python would compare identities.
        raise self.emitter.wrong(
            f"the array {self.array.name} is compared as a whole: compare elements, {self.array.name}[i], or write `is` for the same array"
        )

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __bool__(self) -> bool:
        raise self.emitter.wrong(f"the array {self.array.name} has no truth value: write len({self.array.name}) != 0")

    def __repr__(self) -> str:
        return f"<array {self.array.name}>"

    def __getitem__(self, index: Any) -> Any:
        element = self.array.element
        emitter = self.emitter
        if (type(index) is not Value or len(self.array.extents) > 1) and takes_part(index, self.ndim):
            return self._part(narrowed(emitter, self.all(), index, self.array.name))
        if self.pairs:
            return Complex(emitter, *[emitter.value(ops.LOAD, element, operands, element, VOID, self.number) for operands in self._parts_of(index)])
        if element is BOOL:
            # A condition in memory is a byte.
            return emitter.condition(emitter.value(ops.LOAD, U8, self._indices(index), U8, VOID, self.number))
        return Value(emitter, emitter.define(ops.LOAD, element, self._indices(index), element, VOID, self.number), element)

    def __setitem__(self, index: Any, value: Any) -> None:
        emitter, array = self.emitter, self.array
        if (type(index) is not Value or len(array.extents) > 1) and takes_part(index, self.ndim):
            emitter.fail(f"a part of {array.name} is stored to as a whole: kernels work on elements; loop over the elements, and store each")
        if self.pairs:
            self._set_pair(index, value)
            return
        operands = self._indices(index)
        element = array.element
        if type(value) is Value and value.type is element and value.emitter is emitter and element is not BOOL:
            stored = value
        else:
            stored = emitter.assignable(value, element, f"an element of {array.name}")
            if element is BOOL:
                stored = emitter.convert(stored, U8)
        array.written = True
        emitter.emit(ops.STORE, stored.type, [stored.operand, *operands], self.number)

    def _set_pair(self, index: Any, value: Any) -> None:
        emitter, array = self.emitter, self.array
        pair = as_pair(emitter, value)
        if type(pair) is not Complex:
            emitter.fail(f"an element of {array.name} must be a number, not {describe(value)}")
        stored = [emitter.assignable(part, array.element, f"an element of {array.name}") for part in (pair.real, pair.imag)]
        array.written = True
        for part, operands in zip(stored, self._parts_of(index), strict=True):
            emitter.emit(ops.STORE, part.type, [part.operand, *operands], self.number)

    def _parts_of(self, index: Any) -> tuple[list[int], list[int]]:
        """Where the real and the imaginary part of an element are."""
        emitter, f = self.emitter, self.emitter.f
        *rows, last = self._indices(index)
        if last < 0:
            first = 2 * int(f.const_values[~last])
            return [*rows, f.const(I64, first)], [*rows, f.const(I64, first + 1)]
        first = emitter.define(ops.MUL, I64, [last, f.const(I64, 2)], I64)
        return [*rows, first], [*rows, emitter.define(ops.ADD, I64, [first, f.const(I64, 1)], I64)]

    # --- explicit vectors, for the builder -----------------------------------------------------------------

    def load_vector(self, index: Any, lanes: int, mask: Value | None) -> Value:
        emitter = self.emitter
        operands = self._indices(index, lanes if mask is None else 1)
        type_ = vector_of(self.array.element, lanes)
        if mask is None:
            return emitter.value(ops.LOAD, type_, operands, type_, VOID, self.number)
        return emitter.value(ops.MASKED_LOAD, type_, [emitter.as_mask(mask, mask_for(type_)).operand, *operands], type_, VOID, self.number)

    def store_vector(self, index: Any, value: Any, lanes: int, mask: Value | None) -> None:
        emitter = self.emitter
        operands = self._indices(index, lanes if mask is None else 1)
        stored = emitter.splat(emitter.assignable(value, self.array.element, f"the array {self.array.name}"), lanes)
        self.array.written = True
        if mask is None:
            emitter.emit(ops.STORE, stored.type, [stored.operand, *operands], self.number)
        else:
            emitter.emit(ops.MASKED_STORE, stored.type, [emitter.as_mask(mask, mask_for(stored.type)).operand, stored.operand, *operands], self.number)

    def load_parts(self, index: Any, count: int, lanes: int) -> list[Value]:
        emitter = self.emitter
        type_ = vector_of(self.array.element, lanes)
        operands = self._address_of_parts(index)
        made: list[Value] = []
        for part in range(count):
            dst = emitter.f.register(type_)
            emitter.code.append(ir.Instr(ops.LOAD_PART[count], type_, dst, operands, part, emitter.line, VOID, self._parts(count, type_)))
            made.append(Value(emitter, dst, type_))
        return made

    def store_parts(self, index: Any, values: list[Value]) -> None:
        emitter = self.emitter
        type_ = values[0].type
        operands = self._address_of_parts(index)
        self.array.written = True
        count = len(values)
        args = [*[value.operand for value in values], *operands]
        emitter.code.append(ir.Instr(ops.STORE_PARTS[count], type_, ir.NONE, args, 0, emitter.line, VOID, self._parts(count, type_)))

    def _parts(self, count: int, type_: Type) -> ir.Mem:
        return ir.Mem(True, self.array.element.size, 0, count * type_.size)

    def _address_of_parts(self, index: Any) -> list[int]:
        """The address of an element, as base and index."""
        emitter, array = self.emitter, self.array
        if emitter.errors >= 0:
            emitter.fail(f"elements of {array.name} cannot be dealt out to several vectors in checked mode")
        *rows, last = self._indices(index, 1)
        base = array.base
        for row, stride in zip(rows, array.strides, strict=True):
            base = emitter.define(ops.ADD, PTR, [base, emitter.define(ops.MUL, I64, [row, stride], I64)], PTR)
        if last < 0:
            last = emitter.define(ops.COPY, I64, [last], I64)
        return [base, last]

    # --- indices ------------------------------------------------------------------------------------------

    def _indices(self, index: Any, lanes: int = 0) -> list[int]:
        """The index operands."""
        emitter = self.emitter
        items = index if type(index) is tuple else (index,)
        rank = len(self.array.extents)
        if self.pairs and lanes:
            emitter.fail(f"{self.array.name} is an array of {self.dtype}, of which no vectors are loaded and stored: use a loop over lanes of a kernel")
        if self.view is not None:
            items = self._indices_in_all(items)
        # The usual case first: run-time values of the index type.
        if emitter.errors < 0 and len(items) == rank:
            usual: list[int] = []
            for item in items:
                if type(item) is not Value or item.type is not I64 or item.emitter is not emitter:
                    break
                usual.append(item.operand)
            else:
                return usual
        name = self.array.name
        if len(items) != rank:
            self.miscounted(items)
        operands: list[int] = []
        position = -1
        for item in items:
            position += 1
            if type(item) is int or isinstance(item, np.integer):
                item = count(emitter, item, self.all_extents()[position], name, position)
                if type(item) is int:
                    operands.append(emitter.number(I64, item))
                    continue
            if not isinstance(item, Value):
                kind = "a slice" if isinstance(item, slice) or item is Ellipsis else type(item).__name__
                emitter.fail(f"{name} is indexed with {kind}: an index must be an integer; loop over the elements instead")
            operands.append(emitter.index(item, f"an index of {name}").operand)
        if emitter.errors >= 0:
            self._check(operands, lanes)
        return operands

    def miscounted(self, items: tuple[Any, ...]) -> NoReturn:
        """Say that there is another number of indices than of dimensions."""
        name, rank = self.array.name, self.ndim
        indices = "1 index" if rank == 1 else f"{rank} indices"
        self.emitter.fail(
            f"{name} has {rank} dimension{'s' if rank > 1 else ''}: it takes {indices}, as in {name}[{', '.join('ijklmnop'[:rank])}], not {len(items)}"
        )

    def _indices_in_all(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        """The indices in the array of an element of this part, which checked mode looks for in the part first."""
        emitter, view = self.emitter, self.view
        assert view is not None
        if len(items) != len(view.axes):
            self.miscounted(items)
        if emitter.errors >= 0:
            for item, axis in zip(items, view.axes, strict=True):
                if axis.cut and isinstance(item, Value):
                    self._check_end(emitter.index(item).operand, emitter.operand(axis.extent, I64), axis.dimension)
        return placed(emitter, view, items, self.array.name)

    def _check(self, operands: list[int], lanes: int) -> None:
        """Checked mode: before an access (of ``lanes`` elements), report an index outside the array and return."""
        emitter = self.emitter
        f = emitter.f
        dimension = -1
        extents = list(self.array.extents)
        if self.pairs:
            extents[-1] = emitter.operand(self.all_extents()[-1], I64)
        for operand, extent in zip(operands, extents, strict=True):
            dimension += 1
            ends = [operand]
            if lanes > 1 and dimension == len(operands) - 1:
                ends.append(emitter.define(ops.ADD, I64, [operand, f.const(I64, lanes - 1)], I64))
            for end in ends:
                self._check_end(end, extent, dimension)

    def _check_end(self, end: int, extent: int, dimension: int) -> None:
        emitter = self.emitter
        f = emitter.f
        # As unsigned numbers: a negative index is a large one.
        a = emitter.define(ops.CONVERT, U64, [end], U64, I64)
        b = emitter.define(ops.CONVERT, U64, [extent], U64, I64)
        bad = emitter.define(ops.GE, U64, [a, b], BOOL)
        emitter.open(ops.IF, VOID, [bad])
        number = len(f.sites)
        f.sites.append(ir.Site(self.array.name, dimension, emitter.line, emitter.staging.place() if emitter.staging is not None else ""))
        emitter.emit(ops.FAIL, VOID, [emitter.errors, end, extent], number)
        emitter.close()
