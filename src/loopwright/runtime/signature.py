"""What of a function's parameters and results a caller sees: how it is called, which of its arrays may be one, what its errors say."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from loopwright.compiler import Compiled
from loopwright.errors import AbiError, BoundsError, StackOverflowError
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.loops import loops
from loopwright.runtime.arrays import UNUSED, ArrayParameter
from loopwright.runtime.call import Parameter, Signature
from loopwright.runtime.scalars import ScalarParameter
from loopwright.types import COMPLEX64, COMPLEX128, F32, F64, PTR

__all__ = ["ERRORS", "bounds_error", "index_groups", "passes_scalars", "signature_of_function"]

#: Name of the hidden last parameter of checked functions.
ERRORS: Final = "errors"
#: Complex types by that of their parts.
_COMPLEX: Final = {F32: COMPLEX64, F64: COMPLEX128}


def signature_of_function(function: Function) -> Signature:
    """How a function is called: an array takes one argument in place of its base, extents and strides; the error record takes none.

    Raises ``AbiError`` when those are not parameters of the array's own, in a row: text may say otherwise.
    """
    by_base = {array.base: array for array in function.arrays}
    params, names, types = function.params, function.names, function.types
    parameters: list[Parameter] = []
    k = arrays = 0
    while k < len(params):
        array = by_base.get(params[k])
        if array is not None:
            registers = [array.base, *array.extents, *array.strides]
            arrays += params[k : k + len(registers)] == registers
            k += len(registers)
            parameters.append(ArrayParameter(array.name, _COMPLEX[array.element] if array.pairs else array.element, len(array.extents), array.written))
            continue
        name, type_ = names[params[k]], types[params[k]]
        k += 1
        if type_ in _COMPLEX and name.endswith(".real") and k < len(params) and names[params[k]] == name[:-5] + ".imag":
            # A parameter that is a complex number, which no name of Python's but the front end's has a dot for.
            name, type_ = name[:-5], _COMPLEX[type_]
            k += 1
        parameters.append(ScalarParameter(name, type_))
    if arrays < len(function.arrays) and arrays < len({(array.base, array.name) for array in function.arrays if not array.size}):
        raise AbiError(f"{function.name}: base, extents and strides of an array must be parameters of its own, in this order, for arrays to be passed")
    last = parameters[-1] if parameters else None
    if function.options.check and isinstance(last, ScalarParameter) and last.name == ERRORS and last.type is PTR:
        parameters.pop()
    guarded = function.options.check and any(callee.function is not None for callee in function.callees)
    return Signature(function.name, parameters, function.result, function.options.check, guarded)


def bounds_error(source: Function, number: int, index: int, extent: int) -> BoundsError | StackOverflowError:
    """The error for what a checked function left in its error record: number of the site plus 1, the index, the extent."""
    site = source.sites[number - 1]
    if not site.array:
        return StackOverflowError(
            f"the stack has no room for one more call of {site.text}: the recursion does not end, or goes too deep", source.file, site.line
        )
    dimension = f" along dimension {site.dimension}" if any(array.name == site.array and array.rank > 1 for array in source.arrays) else ""
    where = f" ({site.text})" if site.text else ""
    return BoundsError(
        f"{site.array}: index {index} is outside the array, which has {extent} element{'' if extent == 1 else 's'}{dimension}{where}", source.file, site.line
    )


def index_groups(function: Function) -> list[int]:
    """Per array, a number shared by the arrays that may be one and the same; -1 for those that may not, -2 for those that may overlap anything.

    The last are those not accessed, and those of functions whose loops are all plain: the code heeds that they may be one memory.

    They may where all accesses of both are at one and the same index, or at the same index of each of several loops, none of which
    is inside another. The index of a loop is the same register throughout its body; a variable is left out, since it may change between
    two accesses.
    """
    loops = _spans(function)
    indices: list[set[tuple[int, ...]]] = [set() for _ in function.arrays]
    for number, instr in enumerate(function.code):
        first = ops.ACCESSES.get(instr.op)
        if first is not None:
            index = tuple(instr.args[first:])
            fixed = all(r < 0 or not function.variable[r] or r in loops for r in index)
            # One that may change is made different from every other.
            indices[instr.imm].add(index if fixed else (*index, number))
    numbers: dict[frozenset[tuple[int, ...]], int] = {}
    return [
        UNUSED if not seen or array.shared else numbers.setdefault(frozenset(seen), len(numbers)) if len(seen) == 1 or _one_after_the_other(seen, loops) else -1
        for array, seen in zip(function.arrays, indices, strict=True)
    ]


def _spans(function: Function) -> dict[int, tuple[int, int]]:
    """Where each loop's body is, by the register of its index; everywhere, if several loops have the same."""
    spans: dict[int, tuple[int, int]] = {}
    for loop in loops(function.code):
        index = function.code[loop.head].dst
        if index >= 0:
            spans[index] = (0, len(function.code)) if index in spans else (loop.head, loop.end)
    return spans


def _one_after_the_other(indices: set[tuple[int, ...]], loops: dict[int, tuple[int, int]]) -> bool:
    """Whether each index is made of those of loops, and the innermost loops they are used in do not overlap."""
    if any(r not in loops for index in indices for r in index):
        return False
    bodies = sorted(max(loops[r] for r in index) for index in indices)
    return all(before[1] < after[0] for before, after in pairwise(bodies))


def passes_scalars(compiled: Compiled) -> bool:
    """Whether a function's arguments and results are where scalars are passed: those that are parts of structs may not be."""
    f = compiled.source
    if f.results or not f.places:
        return not f.results
    types = [f.types[p] for p in f.params]
    convention = compiled.target.convention
    return convention.assign(types, -1, f.places) == convention.assign(types)
