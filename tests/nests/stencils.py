"""Random functions that read neighbouring vectors of arrays they do not write, at indices that brackets and loops change."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.types import BOOL, I32, I64, VOID, Type, vector_of

LANES = 4
ROWS, COLUMNS = 8, 40
V = vector_of(I32, LANES)


class _Stencils:
    """Builds one function. Rows stay in 0 … 7, columns of whole vectors inside the array."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.f = f = Function(f"stencils{seed}")
        f.array_param("x", I32, 1)
        f.array_param("plane", I32, 2)
        f.array_param("y", I32, 1).written = True
        self.flags = [f.param(BOOL, f"c{k}") for k in range(3)]
        self.total = self.variable(V, "total", f.const(V, 1))
        self.columns = [self.variable(I64, f"i{k}", f.const(I64, 4 * k)) for k in range(2)]
        self.rows = [self.variable(I64, f"r{k}", f.const(I64, 1 + k)) for k in range(2)]
        self.changing = [*self.columns, *self.rows]
        self.known: list[int] = []  # columns plus something, in 0 … COLUMNS - LANES
        self.depth = 0
        self.fuel = 50
        while self.fuel > 0:
            self.stretch()
        self.emit(ops.STORE, V, [self.total, f.const(I64, 0)], NONE, 2)
        self.emit(ops.RET, VOID, [])

    def emit(self, op: ops.Op, type_: Type, args: list[int], dst: int = NONE, imm: int = 0) -> int:
        self.f.code.append(Instr(op, type_, dst, args, imm))
        return dst

    def define(self, op: ops.Op, type_: Type, args: list[int], imm: int = 0) -> int:
        return self.emit(op, type_, args, self.f.register(ops.result_type(op, type_, VOID)), imm)

    def variable(self, type_: Type, name: str, value: int) -> int:
        return self.emit(ops.COPY, type_, [value], self.f.register(type_, name, True))

    def column(self) -> int:
        """A column: one of before, or one of the variables (0 … 11) plus something."""
        f, r = self.f, self.random
        if self.known and r.random() < 0.3:
            return r.choice(self.known[-6:])
        base = r.choice(self.columns)
        if r.random() < 0.15:
            return base
        if r.random() < 0.15:
            ahead = self.define(ops.ADD, I64, [base, f.const(I64, 9)])
            made = self.define(ops.SUB, I64, [ahead, f.const(I64, r.randint(0, 9))])
        else:
            made = self.define(ops.ADD, I64, [base, f.const(I64, r.randint(0, 12))])
        self.known.append(made)
        return made

    def row(self) -> int:
        """A row: one of the variables (1 … 4), or one beside it."""
        f, r = self.f, self.random
        base = r.choice(self.rows)
        kind = r.random()
        if kind < 0.1:
            return f.const(I64, r.randint(0, ROWS - 1))
        if kind < 0.6:
            return base
        return self.define(*r.choice(((ops.ADD, I64, [base, f.const(I64, 1)]), (ops.SUB, I64, [base, f.const(I64, 1)]))))

    def load(self) -> None:
        f, r = self.f, self.random
        array = r.choice((0, 0, 1))
        index = [self.row()] if array else []
        base = r.choice(self.columns)
        # Offsets next to each other and a vector apart, so that there is something to be found.
        for offset in r.sample(range(2 * LANES + 2), r.randint(1, 4)) if r.random() < 0.5 else [-1]:
            column = self.define(ops.ADD, I64, [base, f.const(I64, offset)]) if offset >= 0 else self.column()
            if r.random() < 0.1:
                found = self.emit(ops.LOAD, V, [*index, column], self.f.register(V, "", True), array)
            else:
                found = self.define(ops.LOAD, V, [*index, column], array)
            mixed = self.define(ops.MUL, V, [self.total, f.const(V, 3)])
            self.emit(ops.XOR, V, [mixed, found], self.total)

    def move_on(self) -> None:
        f, r = self.f, self.random
        v = r.choice(self.changing)
        if v in self.columns:
            moved = self.define(ops.ADD, I64, [v, f.const(I64, r.choice((1, 4)))])
            self.emit(ops.REM_FLOOR, I64, [moved, f.const(I64, 12)], v)
        else:
            moved = self.define(ops.AND, I64, [v, f.const(I64, 3)])
            self.emit(ops.ADD, I64, [moved, f.const(I64, 1)], v)

    def stretch(self) -> None:
        r = self.random
        known = len(self.known)
        for _ in range(r.randint(1, 5)):
            self.fuel -= 1
            kind = r.random()
            if kind < 0.5:
                self.load()
            elif kind < 0.65:
                self.move_on()
            elif kind < 0.7:
                self.emit(ops.STORE, V, [self.total, self.f.const(I64, 4)], NONE, 2)
            elif kind < 0.75 and self.depth:
                self.emit(ops.BR_IF, VOID, [r.choice(self.flags)], NONE, r.randrange(self.depth))
            elif self.depth < 3 and self.fuel > 0:
                self.bracket()
        if self.depth:
            del self.known[known:]

    def bracket(self) -> None:
        f, r = self.f, self.random
        kind = r.choice(("if", "for", "while", "block"))
        if kind == "if":
            self.emit(ops.IF, VOID, [r.choice(self.flags)])
        elif kind == "block":
            self.emit(ops.BLOCK, VOID, [])
        elif kind == "for":
            i = f.register(I64, "i")
            self.emit(ops.FOR, VOID, [f.const(I64, 0), f.const(I64, r.choice((4, 8, 12))), f.const(I64, 4)], i)
            self.columns.append(i)
        else:
            n = self.variable(I64, "n", f.const(I64, 0))
            self.emit(ops.WHILE, VOID, [])
            self.emit(ops.DO, VOID, [self.define(ops.LT, I64, [n, f.const(I64, 3)])])
            self.emit(ops.ADD, I64, [n, f.const(I64, 1)], n)
        self.depth += 1
        self.stretch()
        if kind == "if" and r.random() < 0.5:
            self.emit(ops.ELSE, VOID, [])
            self.stretch()
        self.depth -= 1
        if kind == "for":
            self.columns.pop()
        self.emit(ops.END, VOID, [])


def random_stencils(seed: int) -> Function:
    """The function of a seed."""
    return _Stencils(seed).f


def stencils_arguments(seed: int) -> list[Any]:
    """Arguments for it: every number in the arrays is another."""
    r = np.random.default_rng(seed)
    x = r.permutation(COLUMNS).astype(np.int32)
    plane = r.permutation(ROWS * COLUMNS).astype(np.int32).reshape(ROWS, COLUMNS)
    return [x, plane, np.zeros(2 * LANES, np.int32), *(bool(b) for b in r.integers(0, 2, 3))]


__all__ = ["random_stencils", "stencils_arguments"]
