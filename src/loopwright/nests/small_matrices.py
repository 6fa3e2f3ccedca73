"""Arrays of small matrices whose elements are named one by one, as arrays of rows, so that lanes may have a matrix each.

::

    for q = 0, n                              for q = 0, n
      … x[q, 0, 1], x[q, 1, 0] …       →        … x'[q, 1], x'[q, 2] …
    end                                       end

``x'`` is ``x`` under another number, with its last dimensions taken as one; elements of rows are dealt out to lanes (``vectors/interleaving.py``). That a matrix is as large as what is accessed of it, and
lies right behind the one before, is asked in front of the nest.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Array, Instr
from loopwright.nests.dependence import dependences, too_many
from loopwright.nests.lanes import free, strided
from loopwright.nests.nest import Access, Nest, Run, nests
from loopwright.nests.scalars import scalars
from loopwright.targets.target import Target
from loopwright.types import I64
from loopwright.vectors.divergence import WIDTHS

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
    for number, sizes in found.items():
        # (What other code does with the array is done to this one.)
        array = f.arrays[number] = f.arrays[number].replaced(shared=True)
        outer = len(array.extents) - len(sizes)
        f.arrays.append(array.replaced(extents=[*array.extents[:outer], f.const(I64, _product(sizes))], strides=array.strides[:outer]))
    code = [*original]
    for access in nest.accesses:
        if access.array in found:
            code[access.position] = _element(nest, access, found[access.array], arrays[access.array])
    f.code = code
    made = next(one for one in nests(f) if one.start >= nest.start)
    if not made.obstacles and not too_many(made, True):
        inside = {loop.number for access in nest.accesses if access.array in found for loop in access.loops[-1:]}
        beside = [loop for loop in strided(made, scalars(made), target, []) if loop.number in inside]
        if beside and all(free(loop, dependences(made, True)) for loop in beside):
            for number, sizes in found.items():
                written.runs += _whole(nest, f.arrays[number], sizes)
            return True
    f.code = original
    f.arrays[:] = before
    return False


def _product(sizes: list[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def _matrices(nest: Nest) -> dict[int, list[int]]:
    """By the number of an array: how large its last dimensions are, of which all accesses say by constants where they are to."""
    f = nest.f
    found: dict[int, list[int]] = {}
    by_array: dict[int, list[Access]] = {}
    for access in nest.accesses:
        if len(access.subscripts) > 2:
            by_array.setdefault(access.array, []).append(access)
    for number, accesses in by_array.items():
        sizes: list[int] = []
        for forms in zip(*[reversed(access.subscripts[1:]) for access in accesses], strict=True):
            constants = [form.constant for form in forms if form is not None and not form.terms]
            if len(constants) < len(forms) or min(constants) < 0:
                break
            sizes.insert(0, max(constants) + 1)
        # (Of one row alone it seems that there are others, which nothing accesses.)
        if len(sizes) > 1 and min(sizes) > 1 and _product(sizes) in WIDTHS and not f.arrays[number].size:
            found[number] = sizes
    return found


def _element(nest: Nest, access: Access, sizes: list[int], number: int) -> Instr:
    """An access as one to an element of a row."""
    f = nest.f
    instr = f.code[access.position].copy()
    place = 0
    for form, size in zip(access.subscripts[-len(sizes) :], sizes, strict=True):
        assert form is not None
        place = place * size + form.constant
    instr.args = [*instr.args[: -len(sizes)], f.const(I64, place)]
    instr.imm = number
    return instr


def _whole(nest: Nest, array: Array, sizes: list[int]) -> list[Run]:
    """What has to hold for matrices, and the elements of each, to be one behind the other."""
    f = nest.f
    asked: list[Run] = []
    bytes_ = array.element.size
    for size, stride in zip(reversed(sizes), reversed(array.strides), strict=False):
        bytes_ *= size
        asked.append((ops.EQ, stride, f.const(I64, bytes_)))
    return asked
