"""Random loops over lanes, as the front end emits them, and arguments to call them with.

``random_lanes`` makes short loops over floats. ``random_bodies`` makes what a step may hand on to the next, or one part of a body to
another: variables of lanes and of the loop written on some ways through the body, loads and stores of one place under different masks,
loops, conditions, and ways on and out; over integers, which no order of summation changes.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Loop, Options
from loopwright.types import BOOL, F32, I32, I64, VOID, Type, mask_of, vector_of


def random_lanes(seed: int, lanes: int = 4) -> Function:
    """A random loop over lanes, inside a loop over the rows of an image or alone, with reductions, local variables and conditions."""
    r = random.Random(seed)
    rank = r.randint(1, 2)
    f = Function(f"lanes{seed}", F32 if r.random() < 0.7 else VOID, Options(contract=r.random() < 0.7))
    source = f.array_param("a", F32, rank)
    target = f.array_param("b", F32, rank)
    target.written = True
    hi = f.param(I64, "hi")
    lo = f.const(I64, 0) if r.random() < 0.5 else f.param(I64, "lo")
    if lo < 0 and r.random() < 0.3:
        hi = source.extents[-1]
    elif lo < 0 and r.random() < 0.3:
        hi = f.const(I64, r.choice((0, 1, lanes - 1, lanes, 2 * lanes, 3 * lanes + 1, 4 * lanes, 8 * lanes, 9 * lanes + 2)))
    vector = vector_of(F32, lanes)
    mask_type = mask_of(32, lanes)
    code = f.code

    def emit(op: ops.Op, type_: Type, args: list[int], dst: int = NONE, imm: int = 0) -> int:
        if dst == NONE:
            dst = f.register(ops.result_type(op, type_, VOID))
        code.append(Instr(op, type_, dst, args, imm))
        return dst

    total = f.register(vector, "total", True)
    emit(ops.COPY, vector, [f.const(vector, 0.0)], total)
    most = f.register(vector, "most", True)
    emit(ops.COPY, vector, [f.const(vector, -1000.0)], most)
    local = f.register(vector, "local", True)
    carried = f.register(I64, "carried", True)
    emit(ops.COPY, I64, [f.const(I64, 0)], carried)
    row = NONE
    if rank == 2:
        row = f.register(I64, "row")
        code.append(Instr(ops.FOR, VOID, row, [f.const(I64, 0), source.extents[0], f.const(I64, 1)]))
    i = f.register(I64, "i")
    m = f.register(mask_type, "m")
    reduces = r.random() < 0.6
    accumulators = [(total, ops.ADD, f.const(vector, 0.0)), (most, ops.MAX, f.const(vector, -1000.0))] if reduces else []
    code.append(Instr(ops.FOR, VOID, i, [lo, hi, f.const(I64, lanes)], loop=Loop(m, r.choice((0, 1, 2, 3, 4)), accumulators)))

    def index() -> list[int]:
        return [i] if rank == 1 else [row, i]

    values = [emit(ops.MASKED_LOAD, vector, [m, *index()], imm=0)]
    for _ in range(r.randint(0, 4)):
        kind = r.random()
        if kind < 0.5:
            # All values stay small integers, so that contraction changes nothing.
            op = r.choice((ops.ADD, ops.MUL, ops.MUL, ops.SUB, ops.MIN))
            values.append(emit(op, vector, [r.choice(values), r.choice((*values[: 1 if op is ops.MUL else None], f.const(vector, 2.0)))]))
        elif kind < 0.8:
            condition = emit(ops.GT, vector, [r.choice(values), f.const(vector, 0.25)])
            inner = emit(r.choice((ops.AND, ops.AND, ops.ANDNOT)), mask_type, [condition, m])
            if r.random() < 0.5:
                values.append(emit(ops.SELECT, vector, [inner, r.choice(values), r.choice(values)]))
            else:
                code.append(Instr(ops.MASKED_STORE, vector, NONE, [inner, r.choice(values), *index()], 1))
                values.append(emit(ops.MASKED_LOAD, vector, [m, *index()], imm=1))
        else:
            emit(ops.COPY, vector, [r.choice(values)], local)
            some = emit(ops.ANY, mask_type, [emit(ops.AND, mask_type, [m, emit(ops.LT, vector, [local, f.const(vector, 0.5)])])])
            code.append(Instr(ops.IF, VOID, NONE, [some]))
            emit(ops.ADD, vector, [local, values[0]], local)
            emit(ops.ADD, I64, [carried, f.const(I64, 3)], carried)
            code.append(Instr(ops.END, VOID, NONE, []))
            values.append(emit(ops.SELECT, vector, [m, local, values[-1]]))
    if reduces:
        t = emit(ops.ADD, vector, [total, values[-1]])
        emit(ops.SELECT, vector, [m, t, total], total)
        t = emit(ops.MAX, vector, [most, values[0]])
        emit(ops.SELECT, vector, [m, t, most], most)
    code.append(Instr(ops.MASKED_STORE, vector, NONE, [m, values[-1], *index()], 1))
    code.append(Instr(ops.END, VOID, NONE, []))
    if rank == 2:
        code.append(Instr(ops.END, VOID, NONE, []))
    if f.result is F32:
        a = emit(ops.REDUCE_ADD, vector, [total])
        b = emit(ops.REDUCE_MAX, vector, [most])
        c = f.register(F32)
        code.append(Instr(ops.CONVERT, F32, c, [carried], source=I64))
        emit(ops.RET, VOID, [emit(ops.ADD, F32, [emit(ops.ADD, F32, [a, b]), c])], -1)
        code[-1].dst = NONE
    return f


def lanes_arguments(f: Function, seed: int, length: int) -> list[Any]:
    """Arguments for what ``random_lanes`` makes. The data are small integers, so that sums do not depend on their order."""
    r = np.random.default_rng(seed)
    for instr in f.code:
        if instr.loop is not None and instr.args[1] < 0:
            length = max(length, int(f.const_values[~instr.args[1]]))
    shape = (length,) if f.arrays[0].rank == 1 else (3, length)
    arguments: list[Any] = [r.integers(-3, 4, shape).astype(np.float32), r.integers(-3, 4, shape).astype(np.float32)]
    names = [f.names[p] for p in f.params]
    arguments.append(length)
    if "lo" in names:
        arguments.append(int(r.integers(0, length + 2)))
    return arguments


_COMBINED = (
    (ops.ADD, 0),
    (ops.MUL, 1),
    (ops.MIN, (1 << 31) - 1),
    (ops.MAX, -(1 << 31)),
    (ops.AND, -1),
    (ops.OR, 0),
    (ops.XOR, 0),
)
#: Accumulators of a function, at most.
_TOTALS = 4


class _Bodies:
    """Builds one function: a loop over lanes, alone or in a loop over rows, and sometimes a second one."""

    def __init__(self, seed: int, lanes: int) -> None:
        self.random = r = random.Random(seed)
        self.lanes = lanes
        self.f = f = Function(f"bodies{seed}", I64)
        self.vector = vector_of(I32, lanes)
        self.mask_type = mask_of(32, lanes)
        self.rank = r.randint(1, 2)
        for name in ("a", "b", "c"):
            f.array_param(name, I32, self.rank).written = name != "a"
        f.array_param("out", I32, 1).written = True
        self.hi = f.param(I64, "hi")
        self.lo = f.param(I64, "lo")
        self.limit = f.param(I64, "limit")
        # Of the loop: their values go from step to step, and out of it.
        self.counts = [self.variable(I64, f"count{k}", f.const(I64, k)) for k in range(2)]
        self.carried = self.variable(self.vector, "carried", f.const(self.vector, 3))
        self.totals: list[tuple[int, ops.Op, int]] = []
        for _ in range(r.randint(0, _TOTALS)):
            op, identity = r.choice(_COMBINED)
            constant = f.const(self.vector, identity)
            self.totals.append((self.variable(self.vector, "total", constant), op, constant))
        self.depth = 0
        self.kinds: list[str] = []
        if self.rank == 2:
            self.row = f.register(I64, "row")
            self.emit(ops.FOR, VOID, [f.const(I64, 0), f.arrays[0].extents[0], f.const(I64, 1)], self.row)
        for _ in range(r.randint(1, 2)):
            self.loop()
        if self.rank == 2:
            self.emit(ops.END, VOID, [])
        self.finish()

    def emit(self, op: ops.Op, type_: Type, args: list[int], dst: int = NONE, imm: int = 0, loop: Loop | None = None) -> int:
        self.f.code.append(Instr(op, type_, dst, args, imm, 0, VOID, None, loop))
        return dst

    def define(self, op: ops.Op, type_: Type, args: list[int], imm: int = 0) -> int:
        return self.emit(op, type_, args, self.f.register(ops.result_type(op, type_, VOID)), imm)

    def variable(self, type_: Type, name: str, value: int) -> int:
        return self.emit(ops.COPY, type_, [value], self.f.register(type_, name, True))

    def loop(self) -> None:
        f, r = self.f, self.random
        totals = r.sample(self.totals, r.randint(0, min(2, len(self.totals))))
        for v, _, identity in totals:
            if r.random() < 0.5:
                self.emit(ops.COPY, self.vector, [identity], v)
        left = r.random() < 0.2
        if left:
            self.emit(ops.BLOCK, VOID, [])
            self.kinds.append("block")
        self.i = f.register(I64, "i")
        self.m = f.register(self.mask_type, "m")
        lo = f.const(I64, 0) if r.random() < 0.6 else self.lo
        hi = f.arrays[0].extents[-1] if r.random() < 0.3 else f.const(I64, r.randint(0, 9 * self.lanes)) if r.random() < 0.2 else self.hi
        self.emit(ops.FOR, VOID, [lo, hi, f.const(I64, self.lanes)], self.i, loop=Loop(self.m, r.choice((0, 1, 2, 3, 4)), totals))
        self.index = [self.i] if self.rank == 1 else [self.row, self.i]
        self.masks = [self.m]
        self.values = [self.define(ops.MASKED_LOAD, self.vector, [self.m, *self.index], 0)]
        # Of each lane: some written before anything else, some only on one way through the body.
        self.locals = [self.variable(self.vector, "local", self.values[0])]
        self.locals += [self.carried] if r.random() < 0.5 else []
        self.kinds.append("lanes")
        for _ in range(r.randint(2, 7)):
            self.statement()
        for v, op, _ in totals:
            self.update(v, op)
        self.kinds.pop()
        self.emit(ops.MASKED_STORE, self.vector, [self.m, self.some(), *self.index], NONE, r.choice((1, 2)))
        self.emit(ops.END, VOID, [])
        if left:
            self.kinds.pop()
            self.emit(ops.END, VOID, [])

    def update(self, total: int, op: ops.Op) -> None:
        mask = self.random.choice(self.masks)
        new = self.define(op, self.vector, [total, self.some()])
        self.emit(ops.SELECT, self.vector, [mask, new, total], total)

    def some(self) -> int:
        r = self.random
        if r.random() < 0.15:
            return self.f.const(self.vector, r.choice((0, 1, -1, 7, 1 << 30)))
        return r.choice((*self.values[-5:], *self.locals))

    def condition(self) -> int:
        """A bool that is the same for all lanes."""
        f, r = self.f, self.random
        if r.random() < 0.5:
            compared = self.define(r.choice((ops.LT, ops.EQ, ops.GT)), self.vector, [self.some(), self.some()])
            return self.define(ops.ANY, self.mask_type, [self.define(ops.AND, self.mask_type, [r.choice(self.masks), compared])])
        return self.define(r.choice((ops.LT, ops.NE, ops.GE)), I64, [r.choice((*self.counts, self.i)), r.choice((self.limit, f.const(I64, r.randint(0, 20))))])

    def statement(self) -> None:
        f, r = self.f, self.random
        kind = r.random()
        if kind < 0.2:
            op = r.choice((ops.ADD, ops.SUB, ops.MUL, ops.XOR, ops.MIN, ops.MAX))
            self.values.append(self.define(op, self.vector, [self.some(), self.some()]))
        elif kind < 0.3:
            compared = self.define(r.choice((ops.LT, ops.NE)), self.vector, [self.some(), self.some()])
            op = r.choice((ops.AND, ops.AND, ops.ANDNOT))
            # Lanes that are off stay off.
            self.masks.append(self.define(op, self.mask_type, [compared, r.choice(self.masks)]))
        elif kind < 0.5:
            array = r.randrange(3)
            if array and r.random() < 0.6:
                self.emit(ops.MASKED_STORE, self.vector, [r.choice(self.masks), self.some(), *self.index], NONE, array)
            self.values.append(self.define(ops.MASKED_LOAD, self.vector, [r.choice(self.masks), *self.index], array))
        elif kind < 0.65:
            v = r.choice(self.locals)
            if r.random() < 0.5:
                self.emit(ops.COPY, self.vector, [self.some()], v)
            else:
                self.emit(ops.SELECT, self.vector, [r.choice(self.masks), self.some(), v], v)
        elif kind < 0.75:
            v = r.choice(self.counts)
            self.emit(ops.ADD, I64, [v, r.choice((f.const(I64, 3), self.i, *self.counts))], v)
        elif self.depth < 3:
            self.bracket()

    def bracket(self) -> None:
        f, r = self.f, self.random
        kind = r.random()
        if kind < 0.5:
            self.emit(ops.IF, VOID, [self.condition()])
            self.inside("if")
            if r.random() < 0.3:
                self.emit(ops.ELIF, VOID, [])
                self.emit(ops.THEN, VOID, [self.condition()])
                self.inside("if")
            if r.random() < 0.5:
                self.emit(ops.ELSE, VOID, [])
                self.inside("if")
        elif kind < 0.65:
            self.emit(ops.BLOCK, VOID, [])
            self.inside("block")
        elif kind < 0.8:
            j = f.register(I64, "j")
            self.emit(ops.FOR, VOID, [f.const(I64, 0), f.const(I64, r.randint(0, 3)), f.const(I64, 1)], j)
            self.inside("for")
        else:
            n = self.variable(I64, "n", f.const(I64, 0))
            self.emit(ops.WHILE, VOID, [])
            more = self.define(ops.LT, I64, [n, f.const(I64, r.randint(0, 3))])
            if r.random() < 0.5:
                more = self.define(ops.AND, BOOL, [more, self.condition()])
            self.emit(ops.DO, VOID, [more])
            self.emit(ops.ADD, I64, [n, f.const(I64, 1)], n)
            self.inside("while")
        self.emit(ops.END, VOID, [])

    def inside(self, kind: str) -> None:
        r = self.random
        marks = [(known, len(known)) for known in (self.values, self.masks, self.locals)]
        self.kinds.append(kind)
        self.depth += 1
        if r.random() < 0.3:
            self.locals.append(self.variable(self.vector, "inner", self.some()))
        for _ in range(r.randint(1, 4)):
            self.statement()
        if r.random() < 0.25:
            self.emit(ops.BR_IF, VOID, [self.condition()], NONE, r.randrange(len(self.kinds)))
        self.depth -= 1
        self.kinds.pop()
        for known, mark in marks:
            del known[mark:]

    def finish(self) -> None:
        """Store the totals and what steps handed on, lane by lane; the result is made of the variables of the loop."""
        f = self.f
        for k, v in enumerate((self.carried, *(v for v, _, _ in self.totals))):
            self.emit(ops.STORE, self.vector, [v, f.const(I64, k * self.lanes)], NONE, 3)
        result = self.define(ops.MUL, I64, [self.counts[0], f.const(I64, 31)])
        self.emit(ops.RET, VOID, [self.define(ops.XOR, I64, [result, self.counts[1]])])


def random_bodies(seed: int, lanes: int = 4) -> Function:
    """A random loop over lanes whose steps leave something to one another."""
    return _Bodies(seed, lanes).f


def bodies_arguments(f: Function, seed: int, length: int) -> list[Any]:
    """Arguments for what ``random_bodies`` makes; b and c, or all three, are one array for some seeds."""
    r = np.random.default_rng(seed)
    for instr in f.code:
        if instr.loop is not None and instr.args[1] < 0:
            length = max(length, int(f.const_values[~instr.args[1]]))
    shape = (length,) if f.arrays[0].rank == 1 else (3, length)
    arrays = [r.integers(-9, 10, shape).astype(np.int32) for _ in range(3)]
    if seed % 3 == 0:
        arrays[2] = arrays[1]
    if seed % 6 == 0:
        arrays[0] = arrays[1]
    out = np.zeros((1 + _TOTALS) * next(t.lanes for t in f.types if t.lanes), np.int32)
    return [*arrays, out, length, int(r.integers(0, length + 2)), int(r.integers(0, 30))]


__all__ = ["bodies_arguments", "lanes_arguments", "random_bodies", "random_lanes"]
