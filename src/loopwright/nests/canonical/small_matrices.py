"""Arrays of small matrices whose elements are named one by one, and of pixels of which an iteration takes several, as arrays of longer rows, so that lanes may have one each.

::

    for q = 0, n                              for q = 0, n
      … x[q, 0, 1], x[q, 1, 0] …       →        … x'[q, 1], x'[q, 2] …
    end                                       end

    for j = 0, n                              for j = 0, n
      … x[2*j, 0], x[2*j + 1, 0] …     →        … x'[j, 0], x'[j, 3] …
    end                                       end

``x'`` is ``x`` under another number, with its last dimensions taken as one, or two rows of it as one; elements of rows are dealt out to lanes (``vectors/interleaving.py``). That a matrix, or a row, is
as large as what is accessed of it, and lies right behind the one before, is asked in front of the nest.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Array, Instr
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import Access, Nest, Run, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.steps.lanes import LONGEST_ROW, free, strided
from loopwright.targets.target import Target
from loopwright.types import I64
from loopwright.vectors.divergence import WIDTHS
from loopwright.vectors.squares import CHUNK

__all__ = ["as_rows"]


def as_rows(nest: Nest, target: Target, written: Nest) -> bool:
    """Take arrays of small matrices as arrays of rows where loops can have lanes then; the nest does not describe the code any more. False where there are none.

    Args:
        nest: the nest, without obstacles.
        target: the machine that has the lanes.
        written: the nest that it has been made of, which is told what has to be asked (``Nest.runs``).
    """
    f = nest.f
    found = _matrices(nest)
    if not found:
        return False
    original, before, arrays = f.code, [*f.arrays], {number: len(f.arrays) + k for k, number in enumerate(found)}
    for number, rows in found.items():
        # (What other code does with the array is done to this one.)
        array = f.arrays[number] = f.arrays[number].replaced(shared=True)
        outer = len(array.extents) - len(rows.sizes)
        length = f.const(I64, rows.length)
        strides = array.strides[:outer]
        if rows.times > 1:
            # (There are fewer of these than the extent says; questions are asked of the array itself.)
            strides[-1] = f.const(I64, rows.length * array.element.size)
        f.arrays.append(array.replaced(extents=[*array.extents[:outer], length], strides=strides))
    code: list[Instr] = []
    by_position = {access.position: access for access in nest.accesses if access.array in found}
    for position, instr in enumerate(original):
        access = by_position.get(position)
        if access is None:
            code.append(instr)
        else:
            _element(nest, access, found[access.array], arrays[access.array], code)
    f.code = code
    made = next(one for one in nests(f) if one.start >= nest.start)
    if not made.obstacles and not too_many(made, True):
        inside = {loop.number for access in nest.accesses if access.array in found for loop in access.loops[-1:]}
        beside = [loop for loop in strided(made, scalars(made), target, []) if loop.number in inside]
        if beside and all(free(loop, dependences(made, True)) for loop in beside):
            for number, rows in found.items():
                written.runs += _whole(nest, f.arrays[number], rows.sizes)
            return True
    f.code = original
    f.arrays[:] = before
    return False


def _product(sizes: list[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


class _Rows:
    """What becomes a row of an array.

    Attributes:
        sizes: how large its last dimensions are, of which all accesses say by constants where they are to.
        times: how many of them are one row, the first of which is so many times the index of a loop.
        length: how many elements that are.
    """

    __slots__ = ("length", "sizes", "times")

    def __init__(self, sizes: list[int], times: int) -> None:
        self.sizes = sizes
        self.times = times
        self.length = _product(sizes) * times


def _matrices(nest: Nest) -> dict[int, _Rows]:
    """By the number of an array, what becomes a row of it."""
    f = nest.f
    found: dict[int, _Rows] = {}
    by_array: dict[int, list[Access]] = {}
    for access in nest.accesses:
        if len(access.subscripts) > 1:
            by_array.setdefault(access.array, []).append(access)
    for number, accesses in by_array.items():
        sizes: list[int] = []
        for forms in zip(*[reversed(access.subscripts[1:]) for access in accesses], strict=True):
            constants = [form.constant for form in forms if form is not None and not form.terms]
            if len(constants) < len(forms) or min(constants) < 0:
                break
            sizes.insert(0, max(constants) + 1)
        # (Of one row alone it seems that there are others, which nothing accesses.)
        rows = _Rows(sizes, _together(nest, accesses) if len(sizes) == 1 else 1)
        several = (len(sizes) > 1 or rows.times > 1) and min(sizes) > 1
        if several and (rows.length in WIDTHS or _as_squares(rows, f.arrays[number])) and not f.arrays[number].size:
            found[number] = rows
    return found


def _as_squares(rows: _Rows, array: Array) -> bool:
    """Whether rows are elements of squares (``vectors/squares.py``), for which those of the matrices are too short."""
    return WIDTHS[-1] < rows.length <= LONGEST_ROW and rows.sizes[-1] * array.element.size < CHUNK


def _together(nest: Nest, accesses: list[Access]) -> int:
    """By how many rows all accesses go on in each iteration of a loop; 1 where they do not."""
    times = 0
    for access in accesses:
        form = access.subscripts[-2]
        if form is None or len(form.terms) != 1:
            return 1
        ((value, coefficient),) = form.terms.items()
        if value not in nest.indices or coefficient < 2 or times not in (0, coefficient):
            return 1
        times = coefficient
    return times


def _element(nest: Nest, access: Access, rows: _Rows, number: int, out: list[Instr]) -> None:
    """Append an access as one to an element of a row."""
    f = nest.f
    instr = f.code[access.position].copy()
    place = 0
    for form, size in zip(access.subscripts[-len(rows.sizes) :], rows.sizes, strict=True):
        assert form is not None
        place = place * size + form.constant
    indices = [*instr.args[: -len(rows.sizes)]]
    if rows.times > 1:
        first = access.subscripts[-2]
        assert first is not None
        (value,) = first.terms
        on, within = divmod(first.constant, rows.times)
        place += within * rows.sizes[0]
        indices[-1] = f.code[nest.indices[value].head].dst
        if on:
            row = f.register(I64)
            out.append(Instr(ops.ADD, I64, row, [indices[-1], f.const(I64, on)], 0, instr.line))
            indices[-1] = row
    instr.args = [*indices, f.const(I64, place)]
    instr.imm = number
    out.append(instr)


def _whole(nest: Nest, array: Array, sizes: list[int]) -> list[Run]:
    """What has to hold for matrices, and the elements of each, to be one behind the other."""
    f = nest.f
    asked: list[Run] = []
    bytes_ = array.element.size
    for size, stride in zip(reversed(sizes), reversed(array.strides), strict=False):
        bytes_ *= size
        asked.append((ops.EQ, stride, f.const(I64, bytes_)))
    return asked
