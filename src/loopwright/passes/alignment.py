"""Loops over vectors that begin where an array's elements begin a cache line, so that none of its vectors lies across two.

::

                                           at = lo;  end = the first index from lo on whose element is at a multiple of 64 bytes
    main loop: i = lo, stop, U*N           for round = 0, 2, 1
      …                                      remainder: i = at, end, N
    end                              →       main loop: i = end, stop, U*N
    remainder: i = stop, hi, N               at = stop;  end = hi
      …                                    end
    end

The remainder, which is under a mask of the first lanes in either case, does the elements in front of the first line as well as those behind the last, so that there is no more code. In the second
round nothing is left for the main loop.

Measured on a Cascade Lake: a dot product of f32 whose arrays begin 16 bytes behind a line, as large ones of NumPy's do, takes 1.7 to 1.8 times as long in the second cache, `y = a * x + y` 1.5, a
polynomial of the fifth degree 1.3, and 1.1 to 1.3 in the first; behind the second cache, and up to some thousand bytes, all the same. (A vector across two lines is two accesses: Intel optimization
manual, 3.6.4, "Alignment".)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Array, Function, Instr
from loopwright.types import BOOL, I64, PTR, VOID, Type

__all__ = ["LINE", "elements_to_line", "first_access", "first_on_line"]

#: Bytes of a cache line, and of the widest vector.
LINE: Final = 64
#: Of fewer vectors it does not matter where they begin.
FEWEST: Final = 64
#: With more operations to each access the units that compute are what counts.
MOST_WORK: Final = 8


def elements_to_line(f: Function, array: Array, rows: list[int], first: int, line: int, out: list[Instr]) -> tuple[int, int]:
    """How many elements of a row there are from one on to the first that begins a line; and the address of that one.

    The number is wrong where elements do not lie at multiples of their size: then none of them begins a line.
    """

    def emit(op: ops.Op, args: list[int], source: Type = VOID) -> int:
        made = f.register(I64)
        out.append(Instr(op, I64, made, args, 0, line, source))
        return made

    size = array.element.size
    place = emit(ops.CONVERT, [array.base], PTR)
    for row, stride in zip(rows, array.strides, strict=True):
        place = emit(ops.ADD, [place, emit(ops.MUL, [row, stride])])
    if first >= 0 or f.const_values[~first]:
        place = emit(ops.ADD, [place, emit(ops.MUL, [first, f.const(I64, size)])])
    missing = emit(ops.AND, [emit(ops.NEG, [place]), f.const(I64, LINE - 1)])
    return (missing if size == 1 else emit(ops.SHR, [missing, f.const(I64, size.bit_length() - 1)])), place


def first_access(f: Function, head: Instr, body: list[Instr]) -> tuple[Instr, int] | None:
    """The access that decides where a loop over vectors begins, a store if there is one, and how many elements it is behind the loop's index; None where that does not matter, or the order does."""
    loop = head.loop
    assert loop is not None
    totals = {variable for variable, _, _ in loop.accumulators}
    behind = {head.dst: 0}
    made = {head.dst}
    found: tuple[Instr, int] | None = None
    work = accesses = 0
    for instr in body:
        op = instr.op
        if op is ops.MASKED_LOAD or op is ops.MASKED_STORE:
            if f.arrays[instr.imm].aligned:
                # (What is stored past the caches has its first index already.)
                return None
            accesses += 1
            store = op is ops.MASKED_STORE
            *rows, index = instr.args[2 if store else 1 :]
            if instr.type.size == LINE and index in behind and not made.intersection(rows) and (found is None or (store and found[0].op is not op)):
                found = instr, behind[index]
        elif (not op.pure and (op is not ops.LOAD or not made.isdisjoint(instr.args))) or op is ops.DIV or op is ops.SQRT:
            # (What one load brings for all lanes, as bits do, may count on where vectors begin.)
            return None
        elif instr.type.lanes and op is not ops.SPLAT:
            work += 1
        d = instr.dst
        if d >= 0:
            if f.variable[d] and d not in totals:
                return None
            made.add(d)
            if op is ops.ADD and instr.args[0] == head.dst and instr.args[1] < 0:
                behind[d] = int(f.const_values[~instr.args[1]])
    return found if work <= MOST_WORK * accesses else None


def first_on_line(f: Function, access: Instr, behind: int, lo: int, hi: int, step: int, out: list[Instr]) -> int:
    """The first index of a loop at which an access begins a line; the loop's first index where it has so few that this does not matter.

    Args:
        f: the function.
        access: the access.
        behind: how many elements it is behind the index.
        lo, hi: the bounds of the loop.
        step: how many lanes there are.
        out: where the code goes.
    """
    line = access.line

    def emit(op: ops.Op, args: list[int], type_: Type = I64) -> int:
        made = f.register(type_)
        out.append(Instr(op, I64, made, args, 0, line))
        return made

    zero = f.const(I64, 0)
    first = lo if not behind else emit(ops.ADD, [lo, f.const(I64, behind)])
    rows = access.args[2 if access.op is ops.MASKED_STORE else 1 : -1]
    missing, _ = elements_to_line(f, f.arrays[access.imm], rows, first, line, out)
    from_zero = lo == zero
    count = emit(ops.MAX, [hi, lo])
    if not from_zero:
        count = emit(ops.SUB, [count, lo])
    # (Without a sign the count fits 64 bits; one of that many is none here.)
    missing = emit(ops.SELECT, [emit(ops.GT, [count, f.const(I64, FEWEST * step)], BOOL), missing, zero])
    return missing if from_zero else emit(ops.ADD, [lo, missing])
