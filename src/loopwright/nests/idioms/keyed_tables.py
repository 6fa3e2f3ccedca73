"""What comes in front of a loop that adds to the element of an array that a looked-up key names: tables of the function's own, which are added up at the end."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.nests.rewriting.apart import question
from loopwright.nests.rewriting.unroll import own_array, read_once
from loopwright.types import BOOL, I64, VOID, Type

__all__ = ["Sums", "Tables"]


class Sums:
    """A loop of this kind.

    Attributes:
        head, end: positions of the loop's brackets.
        body: what is between them.
        array: the number of the array of sums.
        key: the register of the key, of whatever type it is looked up in.
        value: what is added.
        op: ``add`` or ``sub``.
    """

    __slots__ = ("array", "body", "end", "head", "key", "op", "value")

    def __init__(self, span: tuple[int, int], body: list[Instr], array: int, key: int, value: int, op: ops.Op) -> None:
        self.head, self.end = span
        self.body = body
        self.array = array
        self.key = key
        self.value = value
        self.op = op


class Tables:
    """The code that adds into tables.

    Attributes:
        start: the variable that holds where the loop goes on.
        shortest: shorter ranges are left to the loop.
        most: of more keys than that, too.
        out: the code.
    """

    def __init__(self, f: Function, sums: Sums, shortest: int, most: int) -> None:
        self.f = f
        self.sums = sums
        self.start = f.register(I64, "start", True)
        self.shortest = shortest
        self.most = most
        self.out: list[Instr] = []
        self.opener = f.code[sums.head]
        self.line = self.opener.line
        array = f.arrays[sums.array]
        self.array = array
        self.element = array.element

    def make(self) -> None:
        """Write all of it."""
        raise NotImplementedError

    def begin(self) -> tuple[int, int]:
        """What is done where the range is long and the keys are few: where it begins, and how long it is."""
        lo, hi = (read_once(self.f, operand, self.line, self.out) for operand in self.opener.args[:2])
        length = self.emit(ops.SUB, I64, [hi, lo])
        self.out.append(Instr(ops.COPY, I64, self.start, [lo], 0, self.line))
        self.bracket(ops.IF, [self.condition(lo, hi, length)])
        return lo, length

    def finish(self, stop: int) -> None:
        """The loop goes on at ``stop``."""
        self.out.append(Instr(ops.COPY, I64, self.start, [stop], 0, self.line))
        self.bracket(ops.END, [])

    def emit(self, op: ops.Op, type_: Type, args: list[int], imm: int = 0, source: Type = VOID, result: Type | None = None) -> int:
        """An operation; its result's register."""
        made = self.f.register(type_ if result is None else result)
        self.out.append(Instr(op, type_, made, args, imm, self.line, source))
        return made

    def index(self, op: ops.Op, a: int, b: int) -> int:
        """Arithmetic on indices, with a constant."""
        return self.emit(op, I64, [a, self.f.const(I64, b)])

    def bracket(self, op: ops.Op, args: list[int]) -> None:
        self.out.append(Instr(op, VOID, NONE, args, 0, self.line))

    def loop(self, lo: int, hi: int, step: int, lanes: bool = False, name: str = "") -> int:
        """Begin a loop: its index."""
        index = self.f.register(I64, name)
        described = Loop(NONE, 0, [], True) if lanes else None
        self.out.append(Instr(ops.FOR, VOID, index, [lo, hi, self.f.const(I64, step)], 0, self.line, loop=described))
        return index

    def local(self, name: str, element: Type, count: int) -> int:
        """An array of the function's own: its number."""
        return own_array(self.f, f"{self.array.name}.{name}", element, count, self.line, self.out)

    def condition(self, lo: int, hi: int, length: int) -> int:
        """Whether the range is long, the keys are few, and the array overlaps none that is read."""
        f = self.f
        holds = self.emit(ops.GE, I64, [length, f.const(I64, self.shortest)], result=BOOL)
        if lo >= 0 or f.const_values[~lo]:
            # (A difference that does not fit is none of a range.)
            holds = self.emit(ops.AND, BOOL, [holds, self.emit(ops.GT, I64, [hi, lo], result=BOOL)])
        if self.array.extents[0] >= 0:
            few = self.emit(ops.LE, I64, [self.array.extents[0], f.const(I64, self.most)], result=BOOL)
            holds = self.emit(ops.AND, BOOL, [holds, few])
        read = sorted({instr.imm for instr in self.sums.body if instr.op is ops.LOAD} - {self.sums.array})
        asked = [(self.sums.array, other, False) for other in read if not self.array.size and not f.arrays[other].size]
        apart = question(f, asked, self.line, self.out)
        return holds if apart == NONE else self.emit(ops.AND, BOOL, [holds, apart])

    def store(self, value: int, place: int, array: int) -> None:
        self.out.append(Instr(ops.STORE, self.f.type_of(value), NONE, [value, place], array, self.line))
