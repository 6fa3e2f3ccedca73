"""Tables that bytes are looked up in: copied to where vectors hold them.

::

    for i = 0, n                               for k = 0, min(256, extent of t): table[k] = t[k]
      y[i] = t[i64(x[i])]              →       for i = 0, n
                                                 y[i] = table[i64(x[i])]

What is looked up by a byte is among 256 elements, of which vectors have room for all (``vectors/tables.py``), where the machine chooses lanes from whole vectors; of an array of whatever length that would not be known. It is for loops
that become lanes with it, and that are long enough for the copy.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import LOCAL_ALIGN, MOST_LOCAL, NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, nests
from loopwright.nests.analysis.operations import has
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import own_array
from loopwright.nests.steps.laned import have_lanes
from loopwright.targets.target import Target
from loopwright.types import I64, U8, UNSIGNED, Type, vector_of
from loopwright.vectors.tables import MOST_PARTS

__all__ = ["run"]

#: So many elements a byte can name.
COUNT: Final = 256
#: So many iterations a loop by itself, or one in others, has at least.
LEAST: Final = 128
LEAST_INSIDE: Final = 32
#: Vectors that the tables of a nest take at most: half of the registers.
MOST: Final = 16


def run(f: Function, target: Target, distinct: set[int], as_written: set[int]) -> dict[int, str]:
    """Copy the tables that a function's nests look bytes up in.

    Args:
        f: the function.
        target: the machine.
        distinct: receives the indices of outermost loops that run only where arrays do not overlap.
        as_written: receives the indices of loops that stay as they are.

    Returns:
        Per index of an outermost loop: what was done in it, for the report.
    """
    done: dict[int, str] = {}
    by_bytes = {instr.dst for instr in f.code if instr.op is ops.CONVERT and instr.source is U8 and instr.type is I64 and not f.variable[instr.dst]}
    if not by_bytes or not any(instr.op is ops.LOAD and not by_bytes.isdisjoint(instr.args) for instr in f.code):
        return done
    for nest in reversed(nests(f)):
        if nest.obstacles or nest.loops[0].index in distinct:
            continue
        tables = _found(nest, by_bytes, target)
        if not tables or f.local_bytes() + sum([COUNT * t.element.size + LOCAL_ALIGN for t in tables]) > MOST_LOCAL:
            continue
        made = _written(nest, tables, target, as_written)
        if made is not None:
            f.code = made
            distinct.add(nest.loops[0].index)
            names = ", ".join(dict.fromkeys([f.arrays[t.array].name for t in tables]))
            done[nest.loops[0].index] = f"{names} copied, to be looked up in vectors"
    return done


class _Table:
    """A table.

    Attributes:
        array: the number of the array it is in.
        element: the type of its elements.
        args: the subscripts, of which that at ``place`` is looked up.
        loads: the accesses that look up.
    """

    __slots__ = ("args", "array", "element", "loads", "place")

    def __init__(self, array: int, element: Type, args: list[int], place: int) -> None:
        self.array = array
        self.element = element
        self.args = args
        self.place = place
        self.loads: list[Access] = []


def _found(nest: Nest, by_bytes: set[int], target: Target) -> list[_Table]:
    """The tables of a nest; none where they are too many, or something is looked up otherwise besides."""
    f = nest.f
    stored = {access.array for access in nest.accesses if access.store}
    tables: dict[tuple[int, tuple[int, ...]], _Table] = {}
    for access in nest.accesses:
        if access.store or access.array in stored or f.arrays[access.array].size:
            continue
        args = f.code[access.position].args
        places = [place for place, a in enumerate(args) if a in by_bytes]
        if len(places) != 1 or not all(a in by_bytes or nest.ahead(a) for a in args):
            continue
        element = f.arrays[access.array].element
        lanes = target.vector_bits // element.bits
        if element.bits not in MOST_PARTS or MOST_PARTS[element.bits] * lanes < COUNT:
            continue
        if not has(target, ops.LOOKUP_LANES, vector_of(element, lanes), source=vector_of(UNSIGNED[element.bits], lanes)):
            continue
        key = access.array, tuple([NONE if place == places[0] else a for place, a in enumerate(args)])
        tables.setdefault(key, _Table(access.array, element, args, places[0])).loads.append(access)
    found = [*tables.values()]
    return found if sum([COUNT * t.element.bits // target.vector_bits for t in found]) <= MOST else []


def _written(nest: Nest, tables: list[_Table], target: Target, as_written: set[int]) -> list[Instr] | None:
    """The function's code with copies of tables, beside the nest as it is; None where the loops that look up have no lanes even so."""
    f = nest.f
    original, arrays, end = f.code, len(f.arrays), nest.end + 1
    loops = {access.loops[-1].index: access.loops[-1] for table in tables for access in table.loads}
    runs = [asked for loop in loops.values() for asked in _long(nest, loop)]
    fast = [instr.copy() for instr in original[nest.start : end]]
    front = Code(f, nest.loops[0].line, [])
    for table in tables:
        number = own_array(f, f"{f.arrays[table.array].name}.table", table.element, COUNT, front.line, front.out)
        _copied(f, table, number, front)
        for place, a in enumerate(table.args):
            if place != table.place:
                runs += [(ops.GE, a, f.const(I64, 0)), (ops.LT, a, f.arrays[table.array].extents[place])]
        for access in table.loads:
            instr = fast[access.position - nest.start]
            instr.args, instr.imm = [instr.args[table.place]], number
    if not have_lanes(f, [*original[: nest.start], *front.out, *fast, *original[end:]], loops.keys(), target):
        del f.arrays[arrays:]
        return None
    plain = apart.as_written(f, original, nest.start, end)
    as_written.update([instr.dst for instr in plain if instr.op is ops.FOR])
    asked_apart = [(a, b, False) for a, b, _ in apart.pairs(nest)]
    code = apart.versioned(f, asked_apart, plain, [*front.out, *fast], front.line, runs)
    return [*original[: nest.start], *code, *original[end:]]


def _long(nest: Nest, loop: NestLoop) -> list[tuple[Op, int, int]]:
    """What is to hold for a loop to be long enough, as far as it can be asked in front of the nest."""
    f = nest.f
    low, high = f.code[loop.head].args[:2]
    if low >= 0 or int(f.const_values[~low]) or loop.step != 1 or high < 0 or not nest.ahead(high):
        return []
    return [(ops.GE, high, f.const(I64, LEAST if loop.parent is None else LEAST_INSIDE))]


def _copied(f: Function, table: _Table, number: int, code: Code) -> None:
    """A loop that copies as many elements as there are, and as a byte can name."""
    extent = f.arrays[table.array].extents[table.place]
    index = code.begin(code.const(0), code.op(ops.MIN, extent, code.const(COUNT)), 1)
    value = f.register(table.element, "")
    args = [index if place == table.place else a for place, a in enumerate(table.args)]
    code.out.append(Instr(ops.LOAD, table.element, value, args, table.array, code.line))
    code.out.append(Instr(ops.STORE, table.element, NONE, [value, index], number, code.line))
    code.end()
