"""Arrays of one dimension that hold rows: ``x[i * m + j]`` as the access to an array of two dimensions that it is.

::

    for i = 0, n                              for i = 0, n
      for j = 0, m                              for j = 0, m
        %k = i * m + j                 →          … x'[i, j] …
        … x[%k] …                               end
      end                                     end
    end

``i * m`` is no linear form where ``m`` is not known, so that nothing could be told of the accesses. Where ``j`` is always from 0 up to below ``m``, ``i * m + j`` and ``i' * m + j'`` are the same only where
``i`` is ``i'`` and ``j`` is ``j'`` (V. Maslov, "Delinearization: an efficient way to break multiloop dependence equations", PLDI 1992). An array all of whose accesses in a nest are so (or that is only loaded from) gets another
number there, under which it has that many dimensions; in memory it is the same.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Access, Nest, nests
from loopwright.nests.rewriting.operands import of_form, without_unread
from loopwright.types import I64

__all__ = ["run"]

#: So many dimensions are found at most.
DEEPEST: Final = 4
#: Bounds of loops are followed through the bounds of so many others.
_FAR: Final = 3


def run(f: Function) -> None:
    """Give the arrays of every nest of a function the dimensions that they are accessed with."""
    if not any(instr.op is ops.MUL and instr.type is I64 and instr.args[0] >= 0 and instr.args[1] >= 0 for instr in f.code):
        return
    for nest in reversed(nests(f)):
        _Flattened(nest).rewrite()


class _Flattened:
    """The arrays of a nest whose accesses are to rows.

    Attributes:
        nest, f: the nest, and its function.
        ahead: what is computed in front of the nest.
        instead: per position of an access: what stands there.
    """

    __slots__ = ("ahead", "f", "instead", "nest")

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.f = nest.f
        self.ahead: list[Instr] = []
        self.instead: dict[int, list[Instr]] = {}

    def rewrite(self) -> None:
        nest, f = self.nest, self.f
        by_array: dict[int, list[Access]] = {}
        for access in nest.accesses:
            by_array.setdefault(access.array, []).append(access)
        for number, accesses in by_array.items():
            array = f.arrays[number]
            if array.strides or array.size:
                continue
            if any(access.store for access in accesses):
                self.array(number, accesses)
            else:
                # (What nothing is stored to may be two things at once.)
                for several in self.alike(accesses):
                    self.array(number, several)
        if not self.instead:
            return
        code = f.code
        body: list[Instr] = []
        for k in range(nest.start, nest.end + 1):
            body += self.instead.get(k, [code[k]])
        f.code = [*code[: nest.start], *self.ahead, *without_unread(f, body, code[nest.end + 1 :]), *code[nest.end + 1 :]]

    def alike(self, accesses: list[Access]) -> list[list[Access]]:
        """Accesses by the length of their rows."""
        found: dict[int, list[Access]] = {}
        for access in accesses:
            form = access.subscripts[0]
            length = self.length(form) if form is not None else None
            if length is not None:
                found.setdefault(length, []).append(access)
        return list(found.values())

    def array(self, number: int, accesses: list[Access]) -> None:
        """Rewrite the accesses to an array, if all are to places in rows."""
        lengths: list[int] = []
        places: list[list[Form]] = []
        stored = any(access.store for access in accesses)
        for access in accesses:
            form = access.subscripts[0]
            if form is None:
                return
            places.append([form])
        while len(lengths) < DEEPEST - 1:
            length = next((found for found in [self.length(place[0]) for place in places] if found is not None), None)
            if length is None:
                break
            parted: list[list[Form]] = []
            for access, place in zip(accesses, places, strict=True):
                row, column = self.rows(place[0], length)
                if not self.inside(access, column, length) or (stored and not column.terms and not self.reached(access, length)):
                    break
                parted.append([row, column, *place[1:]])
            if len(parted) < len(places):
                break
            lengths.insert(0, length)
            places = parted
        if lengths and all(self.made(access, place) for access, place in zip(accesses, places, strict=True)):
            made = self.described(number, lengths)
            for access, place in zip(accesses, places, strict=True):
                self.access(access, place, made)

    def length(self, form: Form) -> int | None:
        """The value that is the length of rows: something that changes is multiplied by it."""
        nest = self.nest
        for value in form.terms:
            for side in nest.forms.products.get(value, ()):
                if side.constant == 0 and list(side.terms.values()) == [1]:
                    (length,) = side.terms
                    if length not in nest.indices and not nest.varies(length) and nest.forms.registers[length] >= 0:
                        return length
        return None

    def rows(self, form: Form, length: int) -> tuple[Form, Form]:
        """A form as so many rows, and a place in the row."""
        alone = {length: 1}
        row, column = Form(0, {}), Form(form.constant, {})
        for value, coefficient in form.terms.items():
            product = self.nest.forms.products.get(value)
            if value == length:
                row = row.plus(Form(1, {}), coefficient)
            elif product is not None and product[1].terms == alone and product[1].constant == 0:
                row = row.plus(product[0], coefficient)
            elif product is not None and product[0].terms == alone and product[0].constant == 0:
                row = row.plus(product[1], coefficient)
            else:
                column = column.plus(Form(0, {value: 1}), coefficient)
        return row, column

    def inside(self, access: Access, column: Form, length: int) -> bool:
        """Whether a place is from 0 up to below the length of a row, wherever the access is."""
        if not column.terms:
            return column.constant == 0
        return self.beyond(access, column, False, 0, _FAR) and self.beyond(access, column.plus(Form(0, {length: 1}), -1), True, -1, _FAR)

    def reached(self, access: Access, length: int) -> bool:
        """Whether rows have an element wherever an access is, as they do in a loop along one: else all of them would be one place."""
        for loop in access.loops:
            ends = [last.constant for last in loop.last if last.terms == {length: 1}] if loop.step > 0 else []
            if any(end <= 0 for end in ends) and any(not first.terms and first.constant >= 0 for first in loop.first):
                return True
        return False

    def beyond(self, access: Access, form: Form, most: bool, bound: int, depth: int) -> bool:
        """Whether a form is at least (with ``most``: at most) a number in every iteration, by the bounds of the loops around an access."""
        nest = self.nest
        index = next(((value, coefficient) for value, coefficient in form.terms.items() if value in nest.indices), None)
        if index is None:
            return not form.terms and (form.constant <= bound if most else form.constant >= bound)
        value, coefficient = index
        loop = nest.indices[value]
        if loop not in access.loops or loop.step <= 0 or not depth:
            return False
        rest = form.plus(Form(0, {value: 1}), -coefficient)
        if (coefficient > 0) == most:
            return any(self.beyond(access, rest.plus(last, coefficient).plus(Form(1, {}), -coefficient), most, bound, depth - 1) for last in loop.last)
        return any(self.beyond(access, rest.plus(first, coefficient), most, bound, depth - 1) for first in loop.first)

    # --- what it becomes --------------------------------------------------------------------------------------

    def described(self, number: int, lengths: list[int]) -> int:
        """The number under which an array has rows of these lengths, the outermost first."""
        f = self.f
        array = f.arrays[number]
        extents = [self.in_front(value) for value in lengths]
        strides: list[int] = []
        step = f.const(I64, array.element.size)
        for extent in reversed(extents):
            step = self.emit(self.ahead, ops.MUL, extent, step)
            strides.insert(0, step)
        elements = extents[0]
        for extent in extents[1:]:
            elements = self.emit(self.ahead, ops.MUL, elements, extent)
        # (Rows of no elements are not accessed. The last row may have fewer.)
        divisor = self.emit(self.ahead, ops.MAX, elements, f.const(I64, 1))
        filled = self.emit(self.ahead, ops.ADD, array.extents[0], self.emit(self.ahead, ops.SUB, divisor, f.const(I64, 1)))
        rows = self.emit(self.ahead, ops.DIV_TRUNC, filled, divisor)
        # (What other code does with the array is done to this one.)
        array = f.arrays[number] = array.replaced(shared=True)
        f.arrays.append(array.replaced(extents=[rows, *extents], strides=strides))
        return len(f.arrays) - 1

    def in_front(self, value: int) -> int:
        """A register of a value that does not change in the nest, which is no variable."""
        register = self.nest.forms.registers[value]
        if not self.f.variable[register] and self.nest.forms.places.get(register, -1) < self.nest.start:
            return register
        made = self.f.register(I64, "")
        self.ahead.append(Instr(ops.COPY, I64, made, [register], 0, self.f.code[self.nest.start].line))
        return made

    def access(self, access: Access, place: list[Form], number: int) -> None:
        """Let an access be to a place in a row."""
        instr = self.f.code[access.position]
        made: list[Instr] = []
        known = self.registers(instr.args[-1])
        indices = [of_form(self.nest, form, instr.line, made, known) for form in place]
        instr.args[int(access.store) :] = indices
        instr.imm = number
        self.instead[access.position] = [*made, instr]

    def made(self, access: Access, place: list[Form]) -> bool:
        """Whether all that a place is made of is in registers."""
        known = self.registers(self.f.code[access.position].args[-1])
        return all(value in known or self.nest.forms.registers[value] >= 0 for form in place for value in form.terms)

    def registers(self, index: int) -> dict[int, int]:
        """The registers that an index is computed from, by the values that they are."""
        nest = self.nest
        found: dict[int, int] = {}
        wanted = [index]
        while wanted:
            register = wanted.pop()
            if register < 0:
                continue
            form = nest.forms.of(register)
            if form is not None and form.constant == 0 and list(form.terms.values()) == [1]:
                found[next(iter(form.terms))] = register
            at = nest.forms.places.get(register, -1)
            if at >= 0 and self.f.code[at].op.pure and self.f.code[at].op is not ops.FOR:
                wanted += self.f.code[at].args
        return found

    def emit(self, out: list[Instr], op: Op, a: int, b: int) -> int:
        made = self.f.register(I64, "")
        out.append(Instr(op, I64, made, [a, b], 0, self.f.code[self.nest.start].line))
        return made
