"""Elements of rows that are any distance apart: each lane has a row, and squares of elements are transposed in registers.

::

    row 0    a0 b0 c0 d0 e0 …            a0 a1 a2 a3
    row 1    a1 b1 c1 d1 e1 …      →     b0 b1 b2 b3
    row 2    a2 b2 c2 d2 e2 …            c0 c1 c2 c3
    row 3    a3 b3 c3 d3 e3 …            d0 d1 d2 d3

A vector takes 128 bits of every so many-th row, so that in each 128 bits of as many vectors as these have elements there is a square, which is transposed by as many rounds of interleaving as it takes
to halve it down to one (H. S. Stone, "Parallel processing with the perfect shuffle", IEEE Transactions on Computers C-20, 1971). It takes no more to know how far apart rows are than to run the loop. What nobody reads of a square is
not made. Squares may overlap: of nine floats in a row they begin at the first, the fifth and the sixth.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr, Mem
from loopwright.types import PTR, UNSIGNED, VOID, Type, vector_of
from loopwright.vectors.accesses import Accesses
from loopwright.vectors.operations import Operations
from loopwright.vectors.tables import Asked

__all__ = ["CHUNK", "Squares", "able", "side", "to_load", "to_store", "transposed"]

#: The bytes of a row that a square has.
CHUNK: Final = 16

#: So many bytes rows are apart at least whose distance is in a register, though it is known.
FURTHEST: Final = 1 << 24


def side(type_: Type) -> int:
    """How many rows a square has, and elements of each."""
    return CHUNK // type_.element.size


def able(type_: Type, has: Asked) -> bool:
    """Whether a machine transposes squares in vectors of a type."""
    bits = vector_of(UNSIGNED[type_.bits], type_.lanes)
    if type_.size < CHUNK or side(type_) < 2 or not has(ops.ZIP_LOW, bits, VOID) or not has(ops.ZIP_HIGH, bits, VOID):
        return False
    return type_.size == CHUNK or (has(ops.LOAD_ROWS_AT, bits, VOID) and has(ops.STORE_ROWS_AT, bits, VOID))


def _fewest(count: int) -> int:
    """Of how many elements a square of ``count`` rows is worth it."""
    return max(2, count // 2)


def to_load(wanted: list[int], last: int, count: int, beyond: bool) -> dict[int, list[int]]:
    """Where squares begin that have elements of rows.

    Args:
        wanted: the elements, in order.
        last: the last one that is known to be there; the first is the first that is wanted.
        count: how many a row of a square has.
        beyond: whether there are others behind the last.

    Returns:
        By the first element of each square those of it that are wanted. Elements that are too few for one are in none.
    """
    found: dict[int, list[int]] = {}
    done = wanted[0] - 1
    for element in wanted:
        if element <= done:
            continue
        first = element if beyond or element + count - 1 <= last else last - count + 1
        if first < wanted[0]:
            continue
        inside = [one for one in wanted if element <= one < first + count]
        if len(inside) >= _fewest(count):
            found[first] = inside
            done = first + count - 1
    return found


def to_store(given: list[int], count: int) -> dict[int, list[int]]:
    """Where squares begin all of whose elements are given, in order; as ``to_load``, but that an element may be in two of them."""
    found: dict[int, list[int]] = {}
    start = 0
    for at in range(1, len(given) + 1):
        if at < len(given) and given[at] == given[at - 1] + 1:
            continue
        run = given[start:at]
        start = at
        for k in range(0, len(run), count):
            k = min(k, len(run) - count)
            if k >= 0:
                found[run[k]] = run[k : k + count]
    return found


def transposed(made: Operations, vectors: list[int]) -> list[int]:
    """The columns of the squares that vectors of unsigned integers have the rows of, as many as a row has elements."""
    half = len(vectors) // 2
    type_ = made.f.types[vectors[0]]
    done = 1
    while done < len(vectors):
        pairs = [(vectors[n], vectors[n + half]) for n in range(half)]
        vectors = [made.define(op, type_, [a, b], type_) for a, b in pairs for op in (ops.ZIP_LOW, ops.ZIP_HIGH)]
        done *= 2
    return vectors


class Squares:
    """The accesses of a group of elements.

    Args:
        made: what emits.
        type_: of a vector of one element of each row.
        array: the number of the array.
        apart: how many bytes further each row is; an operand.
        at: the address of an element of the first row.
        first: the number of that element.
        has: whether the machine does an operation in a few instructions.
    """

    def __init__(self, made: Accesses, type_: Type, array: int, apart: int, at: int, first: int, has: Asked) -> None:
        self.made = made
        self.type_ = type_
        self.bits = vector_of(UNSIGNED[type_.bits], type_.lanes)
        self.array = array
        self.apart = apart
        self.count = side(type_)
        self.first = first
        # (Further ones are not in displacements.)
        self.known = apart < 0 and abs(int(made.f.const_values[~apart])) < FURTHEST
        self.rows = [at]
        if not self.known:
            for _ in range(1, self.count):
                self.rows.append(made.define(ops.ADD, PTR, [self.rows[-1], apart], PTR))
        whole = type_.size == CHUNK
        #: What loads and stores a vector, what it takes beside the address, and its number.
        self.load_op, self.store_op = (ops.LOAD_AT, ops.STORE_AT) if whole else (ops.LOAD_ROWS_AT, ops.STORE_ROWS_AT)
        self.beside = [] if whole else [made.times(apart, self.count)]
        self.imm = 0
        if self.known and not whole and has(ops.LOAD_CHUNKS_AT, self.bits, VOID):
            self.load_op, self.store_op = ops.LOAD_CHUNKS_AT, ops.STORE_CHUNKS_AT
            self.imm = int(made.f.const_values[~self.beside.pop()])

    def _access(self, element: int, row: int) -> tuple[list[int], Mem]:
        """From a row's element on, in every so many-th row."""
        disp = (element - self.first) * self.type_.element.size
        if self.known:
            disp += row * int(self.made.f.const_values[~self.apart])
        where = [*self.beside, self.rows[0] if self.known else self.rows[row]]
        return where, Mem(False, 1, disp, self.type_.size, False, -1, self.array)

    def load(self, element: int) -> list[int]:
        """Columns from an element on."""
        made, bits = self.made, self.bits
        vectors: list[int] = []
        for row in range(self.count):
            where, mem = self._access(element, row)
            vectors.append(made.f.register(bits, ""))
            made.out.append(Instr(self.load_op, bits, vectors[-1], where, self.imm, made.line, VOID, mem))
        return transposed(made, vectors)

    def store(self, element: int, columns: list[int]) -> None:
        """Columns from an element on."""
        made, bits = self.made, self.bits
        for row, vector in enumerate(transposed(made, [made.recast(bits, column) for column in columns])):
            where, mem = self._access(element, row)
            made.out.append(Instr(self.store_op, bits, NONE, [vector, *where], self.imm, made.line, VOID, mem))
