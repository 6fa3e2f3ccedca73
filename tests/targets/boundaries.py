"""Functions whose constants, displacements, frames and branches lie on both sides of what instructions have room for, on any machine.

Each is a function with arguments for the interpreter, which says what must come out.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Options
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, VOID, Type, vector_of

INTEGERS = (I8, U8, I16, U16, I32, U32, I64, U64)

#: What instructions have room for ends here: signed immediates and displacements of 6, 8, 9, 12, 13, 16, 21 and 32 bits.
_EDGES = (1, 32, 128, 256, 2048, 4096, 32768, 1 << 20, 1 << 31, 1 << 32)


def edges(t: Type) -> list[int]:
    """Constants of an integer type at which something ends."""
    low = -(1 << (t.bits - 1)) if t.signed else 0
    high = low + (1 << t.bits) - 1
    found = {low, low + 1, high, high - 1, high // 2, high // 2 + 1, 0}
    for edge in _EDGES:
        for value in (edge - 1, edge, edge + 1, -edge - 1, -edge, -edge + 1):
            # Of unsigned types the negative ones are near the top.
            found.add((value - low) % (1 << t.bits) + low)
    # What lui rounds up: the lower twelve bits negative.
    found |= {(value - low) % (1 << t.bits) + low for value in (0x7FF, 0x800, 0x7FFFF7FF, 0x7FFFF800, 0x7FFFFFFF, 0xFFFFF7FF, 0xFFFFF800, 0x12345FFF)}
    return sorted(found)


class Sheet:
    """A function that does many things to each element of an array and stores all results, one after the other."""

    def __init__(self, name: str, t: Type, values: list[Any]) -> None:
        self.f = f = Function(name, VOID, Options(contract=False))
        self.values = np.array(values, t.dtype)
        self.t = t
        f.array_param("x", t, 1)
        self.outputs: dict[Type, int] = {}
        self.counts: dict[Type, int] = {}
        self.i = f.register(I64, "i")
        self.x = f.register(t, "v")
        self.body: list[Instr] = [Instr(ops.LOAD, t, self.x, [self.i], 0)]

    def do(self, op: ops.Op, t: Type, args: list[int], result: Type | None = None, source: Type = VOID) -> int:
        r = self.f.register(result if result is not None else ops.result_type(op, t, source))
        self.body.append(Instr(op, t, r, args, source=source))
        return r

    def out(self, t: Type, value: int) -> None:
        """Store a result; a bool as a number."""
        if t is BOOL:
            value, t = self.do(ops.CONVERT, U8, [value], source=BOOL), U8
        if t not in self.outputs:
            array = self.f.array_param(f"y{t.name}", t, 2)
            array.written = True
            self.outputs[t] = self.f.arrays.index(array)
            self.counts[t] = 0
        self.body.append(Instr(ops.STORE, t, NONE, [value, self.i, self.f.const(I64, self.counts[t])], self.outputs[t]))
        self.counts[t] += 1

    def finish(self) -> tuple[Function, list[Any]]:
        f = self.f
        f.code = [Instr(ops.FOR, VOID, self.i, [f.const(I64, 0), f.arrays[0].extents[0], f.const(I64, 1)]), *self.body, Instr(ops.END, VOID, NONE, [])]
        return f, [self.values, *(np.zeros((len(self.values), count), t.dtype) for t, count in self.counts.items())]


_ARITHMETIC = (ops.ADD, ops.SUB, ops.AND, ops.OR, ops.XOR, ops.MUL, ops.MIN, ops.MAX)
_DIVISIONS = (ops.DIV_FLOOR, ops.REM_FLOOR, ops.DIV_TRUNC, ops.REM_TRUNC)


def immediates(t: Type) -> tuple[Function, list[Any]]:
    """Each operation with each constant on either side."""
    known = edges(t)
    sheet = Sheet(f"immediates_{t.name}", t, known[:: max(1, len(known) // 16)])
    f = sheet.f
    for value in known:
        c = f.const(t, value)
        for op in _ARITHMETIC:
            sheet.out(t, sheet.do(op, t, [sheet.x, c]))
        sheet.out(t, sheet.do(ops.SUB, t, [c, sheet.x]))
        for op in ops.COMPARISONS.values():
            sheet.out(BOOL, sheet.do(op, t, [sheet.x, c]))
    for value in known:
        sheet.out(t, sheet.do(ops.COPY, t, [f.const(t, value)]))
    for count in sorted({0, 1, 5, 11, 12, 31 % t.bits, 32 % t.bits, 63 % t.bits, t.bits - 1} & set(range(t.bits))):
        for op in (ops.SHL, ops.SHR):
            sheet.out(t, sheet.do(op, t, [sheet.x, f.const(t, count)]))
            # By a number in a register.
            other = sheet.do(ops.AND, t, [sheet.x, f.const(t, 0)])
            sheet.out(t, sheet.do(op, t, [sheet.x, sheet.do(ops.OR, t, [other, f.const(t, count)])]))
    return sheet.finish()


def divisions(t: Type) -> tuple[Function, list[Any]]:
    """By each constant, and each constant by what is there."""
    known = edges(t)
    sheet = Sheet(f"divisions_{t.name}", t, known[::2])
    for value in known[:: max(1, len(known) // 24)] + [1 << n for n in range(t.bits - t.signed)]:
        c = sheet.f.const(t, value)
        for op in _DIVISIONS:
            sheet.out(t, sheet.do(op, t, [sheet.x, c]))
            sheet.out(t, sheet.do(op, t, [c, sheet.x]))
    return sheet.finish()


def branches(t: Type) -> tuple[Function, list[Any]]:
    """A branch on each comparison with each constant."""
    known = edges(t)
    sheet = Sheet(f"branches_{t.name}", t, known[:: max(1, len(known) // 16)])
    f = sheet.f
    taken = f.register(I64, "taken", True)
    for value, name in itertools.product(known, ops.COMPARISONS):
        sheet.body.append(Instr(ops.COPY, I64, taken, [f.const(I64, 1)]))
        sheet.body.append(Instr(ops.IF, VOID, NONE, [sheet.do(ops.COMPARISONS[name], t, [sheet.x, f.const(t, value)])]))
        sheet.body.append(Instr(ops.COPY, I64, taken, [f.const(I64, 2)]))
        sheet.body.append(Instr(ops.END, VOID, NONE, []))
        sheet.out(I64, taken)
    return sheet.finish()


def conversions(t: Type) -> tuple[Function, list[Any]]:
    """Of every edge, and of what comes from arithmetic on it, to every type; then on with what came out."""
    sheet = Sheet(f"conversions_{t.name}", t, edges(t))
    f = sheet.f
    made = [sheet.x, *(sheet.do(op, t, [sheet.x, f.const(t, value)]) for op, value in ((ops.ADD, 1), (ops.SUB, 1), (ops.MUL, 3), (ops.XOR, 1 << (t.bits - 2))))]
    made += [sheet.do(ops.NOT, t, [sheet.x]), sheet.do(ops.NEG, t, [sheet.x]), sheet.do(ops.SHR, t, [sheet.x, f.const(t, 1)])]
    for value in made:
        for to in (*INTEGERS, BOOL, F32, F64):
            if to is t or (to.is_float and t is U64):
                # (AVX2 has none of the latter.)
                continue
            there = sheet.do(ops.CONVERT, to, [value], source=t)
            sheet.out(to, there)
            if to.is_integer:
                sheet.out(to, sheet.do(ops.ADD, to, [there, f.const(to, 1)]))
                wide = U64 if to is not U64 else I64
                sheet.out(wide, sheet.do(ops.CONVERT, wide, [there], source=to))
    return sheet.finish()


def indices(t: Type, count: int = 40) -> tuple[Function, list[Any]]:
    """Numbers of an integer type, from its whole range, as indices: what is left of them after a subtraction and after a shift."""
    base = -(1 << (t.bits - 1)) if t.signed else 1 << (t.bits - 1)
    sheet = Sheet(f"indices_{t.name}", t, [base + k for k in range(count)])
    f = sheet.f
    table = f.array_param("table", I64, 1)
    number = f.arrays.index(table)
    near = sheet.do(ops.SUB, t, [sheet.x, f.const(t, base)])
    top = sheet.do(ops.SHR, t, [sheet.do(ops.MUL, t, [near, f.const(t, (1 << t.bits) // count)]), f.const(t, t.bits - 3)])
    for index in (near, sheet.do(ops.AND, t, [top, f.const(t, 7)])):
        wide = index
        if t is not I64:
            wide = sheet.do(ops.CONVERT, I64, [index], source=t)
        sheet.out(I64, sheet.do(ops.LOAD, I64, [wide]))
        sheet.body[-2].imm = number
    f, args = sheet.finish()
    # In the order the arrays were declared: the table before the results.
    return f, [args[0], np.arange(1000, 1000 + count), *args[1:]]


def displacements(t: Type, reach: tuple[int, ...]) -> tuple[Function, list[Any]]:
    """Loads and stores whose distance in bytes from the pointer is on both sides of each of ``reach``, either way, by a constant alone and with an
    index. ``t`` may be a vector: then the distances are those of its elements."""
    size = t.bits // 8
    lanes = max(t.lanes, 1)
    steps = sorted({(sign * edge) // size + near for edge in reach for sign in (-1, 1) for near in (-lanes, -1, 0, 1, lanes)})
    room = max(steps) + lanes + 8
    f = Function(f"displacements_{t.name}", VOID, Options(contract=False))
    x = f.array_param("x", t.element, 1)
    y = f.array_param("y", t.element, 1)
    z = f.array_param("z", t.element, 1)
    y.written = z.written = True
    middle = f.param(I64, "middle")
    n = 0
    for step in steps:
        for index in [middle] if step < 0 else [middle, NONE]:
            at = f.const(I64, step)
            if index >= 0:
                at = f.register(I64)
                f.code.append(Instr(ops.ADD, I64, at, [index, f.const(I64, step)]))
            r, twice = f.register(t), f.register(t)
            f.code.append(Instr(ops.LOAD, t, r, [at], f.arrays.index(x)))
            f.code.append(Instr(ops.STORE, t, NONE, [r, f.const(I64, n)], f.arrays.index(y)))
            # As an operand in memory, where the machine has those.
            again = f.register(t)
            f.code.append(Instr(ops.LOAD, t, again, [at], f.arrays.index(x)))
            f.code.append(Instr(ops.ADD, t, twice, [r, again]))
            f.code.append(Instr(ops.STORE, t, NONE, [twice, at], f.arrays.index(z)))
            n += lanes
    values = np.arange(2 * room) * 37 % 101 + 1
    return f, [values.astype(t.element.dtype), np.zeros(n, t.element.dtype), np.zeros(2 * room, t.element.dtype), room]


def constants(t: Type, seed: int = 0) -> tuple[Function, list[Any]]:
    """Constants of every shape, each stored: runs of ones anywhere, single bits, edges with zeros behind, random ones of any width."""
    chooser = random.Random(seed)
    f = Function(f"constants_{t.name}", VOID)
    y = f.array_param("y", t, 1)
    y.written = True
    values: list[Any]
    if t.is_float:
        values = [0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 1.5, 2.0**52, 2.0**-1022, 5e-324, 1e308, float("inf"), -float("inf")]
        values += [chooser.uniform(-1e6, 1e6) for _ in range(20)] + [float(chooser.getrandbits(20)) for _ in range(20)]
    else:
        low = -(1 << (t.bits - 1)) if t.signed else 0
        whole = set(edges(t))
        for first, last in itertools.combinations(range(0, t.bits + 1, 3), 2):
            whole.add((1 << last) - (1 << first))
        for edge in (0x7FF, 0x800, 0x801, 0xFFF, 0x7FFFF7FF, 0x7FFFF800, 0x80000000, 0xFFFFF800, 0x12345FFF):
            whole |= {edge << shift for shift in range(0, t.bits, 7)} | {-edge << shift for shift in range(0, t.bits, 7)}
        whole |= {chooser.getrandbits(bits) for bits in range(1, t.bits + 1) for _ in range(4)}
        values = sorted({(value - low) % (1 << t.bits) + low for value in whole})
    for n, value in enumerate(values):
        r = f.register(t)
        # Through a register, so that it is not a store's immediate.
        f.code.append(Instr(ops.COPY, t, r, [f.const(t, value)]))
        f.code.append(Instr(ops.STORE, t, NONE, [r, f.const(I64, n)], 0))
    return f, [np.zeros(len(values), t.dtype)]


def far(lengths: list[int], op: ops.Op = ops.ADD, by: float = 1.0, shifts: int = 1) -> tuple[Function, list[Any]]:
    """For each of the lengths a loop around a condition, both with so many operations inside, and in turn 0, 1, … of ``shifts`` - 1 additions
    of integers, which are of another size."""
    t = F32
    f = Function(f"far_{lengths[0]}", VOID, Options(contract=False))
    for name, element in (("y", t), ("z", I64)):
        f.array_param(name, element, 1).written = True
    n = f.param(I64, "n")
    for number, (length, words) in enumerate(itertools.product(lengths, range(shifts))):
        i, odd, c = f.register(I64), f.register(I64), f.register(BOOL)
        at = f.const(I64, number)
        f.code.append(Instr(ops.FOR, VOID, i, [f.const(I64, 0), n, f.const(I64, 1)]))
        f.code.append(Instr(ops.AND, I64, odd, [i, f.const(I64, 1)]))
        f.code.append(Instr(ops.NE, I64, c, [odd, f.const(I64, 0)]))
        f.code.append(Instr(ops.IF, VOID, NONE, [c]))
        v, k = f.register(t), f.register(I64)
        f.code += [Instr(ops.LOAD, t, v, [at], 0), Instr(ops.LOAD, I64, k, [at], 1)]
        for _ in range(length):
            w = f.register(t)
            f.code.append(Instr(op, t, w, [v, f.const(t, by)]))
            v = w
        for _ in range(words):
            w = f.register(I64)
            f.code.append(Instr(ops.ADD, I64, w, [k, i]))
            k = w
        f.code += [Instr(ops.STORE, t, NONE, [v, at], 0), Instr(ops.STORE, I64, NONE, [k, at], 1)]
        f.code += [Instr(ops.END, VOID, NONE, []), Instr(ops.END, VOID, NONE, [])]
    count = len(lengths) * shifts
    return f, [np.arange(1, count + 1).astype(t.dtype), np.arange(count), 5]


def crowd(t: Type, count: int, parameters: int = 0) -> tuple[Function, list[Any]]:
    """``count`` values, all alive at once, and as many parameters of f64, i64 and f32 each, read at the end."""
    f = Function(f"crowd_{count}_{parameters}", VOID, Options(contract=False))
    lanes = max(t.lanes, 1)
    f.array_param("x", t.element, 1)
    f.array_param("y", t.element, 1).written = True
    f.array_param("z", F64, 1).written = True
    scalars = [(kind, f.param(kind, f"p{n}")) for n, kind in enumerate([F64, I64, F32] * parameters)]
    made = []
    for n in range(count):
        made.append(f.register(t))
        f.code.append(Instr(ops.LOAD, t, made[-1], [f.const(I64, n * lanes)], 0))
    for n, r in enumerate(reversed(made)):
        f.code.append(Instr(ops.STORE, t, NONE, [r, f.const(I64, n * lanes)], 1))
    for n, (kind, p) in enumerate(scalars):
        value = p
        if kind is not F64:
            value = f.register(F64)
            f.code.append(Instr(ops.CONVERT, F64, value, [p], source=kind))
        f.code.append(Instr(ops.STORE, F64, NONE, [value, f.const(I64, n)], 2))
    args: list[Any] = [np.arange(count * lanes).astype(t.element.dtype), np.zeros(count * lanes, t.element.dtype), np.zeros(3 * parameters)]
    return f, [*args, *(n if kind is I64 else n + 0.5 for n, (kind, _) in enumerate(scalars))]


__all__ = [
    "INTEGERS",
    "Sheet",
    "branches",
    "constants",
    "conversions",
    "crowd",
    "displacements",
    "divisions",
    "edges",
    "far",
    "immediates",
    "indices",
    "vector_of",
]
