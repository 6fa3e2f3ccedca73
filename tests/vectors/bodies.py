"""Random scalar loops over lanes, with control flow of every kind that differs by lane or does not."""

from __future__ import annotations

import random

import numpy as np

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.types import BOOL, I8, I32, I64, VOID, Type

_COMPARISONS = (ops.EQ, ops.NE, ops.LT, ops.LE, ops.GT, ops.GE)
_ARITHMETIC = (ops.ADD, ops.SUB, ops.MUL, ops.AND, ops.OR, ops.XOR, ops.MIN, ops.MAX)


class Body:
    """Makes one function: a loop over lanes that reads ``x`` and ``w``, writes ``y``, and adds up in ``t``.

    Loops end after a few steps, by a counter of their own. Branches go to any bracket around, with ``leaving`` also out of the loop over lanes.
    """

    def __init__(self, seed: int, size: int = 14, leaving: bool = False) -> None:
        r = self.r = random.Random(seed)
        self.leaving = leaving
        f = self.f = Function(f"body{seed}", I32)
        self.x = f.array_param("x", I32, 1)
        self.w = f.array_param("w", I32, 1)
        self.y = f.array_param("y", I32, 1)
        self.y.written = True
        self.p = f.param(I64, "p")
        n = f.param(I64, "n")
        self.left = size
        total = self.total = f.register(I32, "t", True)
        self.put(total, f.const(I32, 7), I32)
        self.op = r.choice((ops.ADD, ops.XOR, ops.MIN, ops.AND))
        identity = f.const(I32, self.op.neutral) if self.op.neutral is not None else total
        self.i = f.register(I64, "i")
        if leaving:
            self.bracket(ops.BLOCK, [])
        f.code.append(Instr(ops.FOR, VOID, self.i, [f.const(I64, 1), n, f.const(I64, 1)], loop=Loop(NONE, 1, [(total, self.op, identity)], True)))
        #: Variables by type; those of conditions too.
        self.variables: dict[Type, list[int]] = {I32: [], I64: [], BOOL: []}
        for type_ in (I32, I32, I32, I64, BOOL):
            v = f.register(type_, f"v{len(f.types)}", True)
            self.put(v, self.value(type_), type_)
            self.variables[type_].append(v)
        #: Per bracket: whether a branch goes on with a loop, whose counter it would pass by.
        self.brackets: list[bool] = [True]
        while self.left > 0:
            self.statement(0)
        self.store()
        f.code.append(Instr(ops.END, VOID, NONE, []))
        if leaving:
            f.code.append(Instr(ops.END, VOID, NONE, []))
        f.code.append(Instr(ops.RET, I32, NONE, [total]))

    # --- values --------------------------------------------------------------------------------------------

    def emit(self, op: ops.Op, type_: Type, args: list[int], source: Type = VOID, imm: int = 0) -> int:
        made = self.f.register(ops.result_type(op, type_, source))
        self.f.code.append(Instr(op, type_, made, args, imm, source=source))
        return made

    def put(self, variable: int, operand: int, type_: Type) -> None:
        self.f.code.append(Instr(ops.COPY, type_, variable, [operand]))

    def bracket(self, op: ops.Op, args: list[int], dst: int = NONE) -> None:
        self.f.code.append(Instr(op, VOID, dst, args))

    def index(self) -> int:
        offset = self.r.choice((0, 0, 1, -1))
        return self.emit(ops.ADD, I64, [self.i, self.f.const(I64, offset)]) if offset else self.i

    def value(self, type_: Type) -> int:
        """Any value: the same for all lanes, counting along them, or differing."""
        r, f = self.r, self.f
        kind = r.random()
        if type_ is BOOL:
            if kind < 0.15 and self.variables[BOOL]:
                return r.choice(self.variables[BOOL])
            if kind < 0.25:
                return self.emit(r.choice((ops.AND, ops.OR, ops.XOR)), BOOL, [self.value(BOOL), self.value(BOOL)])
            of = r.choice((I32, I32, I64))
            return self.emit(r.choice(_COMPARISONS), of, [self.value(of), self.value(of)])
        known = self.variables[type_]
        if kind < 0.35 and known:
            return r.choice(known)
        if kind < 0.5:
            return f.const(type_, r.randint(-3, 9))
        if type_ is I64:
            if kind < 0.6:
                return self.p
            if kind < 0.75:
                return self.index()
            if kind < 0.85:
                return self.emit(ops.CONVERT, I64, [self.value(I32)], I32)
            return self.emit(r.choice((ops.ADD, ops.SUB, ops.MUL)), I64, [self.value(I64), self.value(I64)])
        if kind < 0.62:
            return self.emit(ops.LOAD, I32, [self.index()], VOID, 0)
        if kind < 0.68:
            return self.emit(ops.LOAD, I32, [f.const(I64, r.randint(0, 3))], VOID, 1)
        if kind < 0.76:
            return self.emit(ops.CONVERT, I32, [self.value(I64)], I64)
        if kind < 0.8:
            return self.emit(ops.CONVERT, I32, [self.emit(ops.CONVERT, I8, [self.value(I32)], I32)], I8)
        if kind < 0.84:
            return self.emit(ops.CONVERT, I32, [self.value(BOOL)], BOOL)
        if kind < 0.9:
            return self.emit(ops.SELECT, I32, [self.value(BOOL), self.value(I32), self.value(I32)])
        return self.emit(r.choice(_ARITHMETIC), I32, [self.value(I32), self.value(I32)])

    def condition(self) -> int:
        """Of an if, a while or a branch: as often as not the same for all lanes."""
        if self.r.random() < 0.35:
            return self.emit(self.r.choice(_COMPARISONS), I64, [self.p, self.f.const(I64, self.r.randint(-1, 3))])
        return self.value(BOOL)

    # --- statements ------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> None:
        self.left -= 1
        r = self.r
        kind = r.random()
        if depth > 4 or kind < 0.3:
            type_ = r.choice((I32, I32, I32, I64, BOOL))
            self.put(r.choice(self.variables[type_]), self.value(type_), type_)
        elif kind < 0.36:
            self.store()
        elif kind < 0.42:
            self.put(self.total, self.emit(self.op, I32, [self.total, self.value(I32)]), I32)
        elif kind < 0.56 and self.leaving and r.random() < 0.7:
            self.leave_lanes()
        elif kind < 0.56 and len(self.brackets) > 1:
            self.leave()
        elif kind < 0.74:
            self.choice(depth)
        elif kind < 0.82:
            self.bracket(ops.BLOCK, [])
            self.block(depth, False)
        else:
            r.choice((self.counted, self.tested, self.endless))(depth)

    def store(self) -> None:
        self.f.code.append(Instr(ops.STORE, I32, NONE, [self.value(I32), self.i], 2))

    def leave(self) -> None:
        """A branch to a bracket around; only under a condition, so that something comes behind it."""
        places = [depth for depth in range(len(self.brackets)) if not self.brackets[-1 - depth] or depth == len(self.brackets) - 1]
        if places:
            condition = self.condition()
            self.f.code.append(Instr(ops.BR_IF, VOID, NONE, [condition], self.r.choice(places)))

    def leave_lanes(self) -> None:
        """A branch out of the loop over lanes, or a return."""
        condition = self.condition()
        if self.r.random() < 0.4:
            self.f.code.append(Instr(ops.BR_IF, VOID, NONE, [condition], len(self.brackets)))
            return
        self.bracket(ops.IF, [condition])
        if self.r.random() < 0.5:
            self.put(self.r.choice(self.variables[I32]), self.value(I32), I32)
        if self.r.random() < 0.3:
            self.f.code.append(Instr(ops.RET, I32, NONE, [self.f.const(I32, self.r.randint(1, 5))]))
        else:
            self.f.code.append(Instr(ops.BR, VOID, NONE, [], len(self.brackets) + 1))
        self.bracket(ops.END, [])

    def statements(self, depth: int) -> None:
        for _ in range(self.r.randint(1, 4)):
            if self.left > 0:
                self.statement(depth + 1)

    def block(self, depth: int, passes_by: bool) -> None:
        self.brackets.append(passes_by)
        self.statements(depth)
        self.brackets.pop()
        self.bracket(ops.END, [])

    def choice(self, depth: int) -> None:
        self.bracket(ops.IF, [self.condition()])
        self.brackets.append(False)
        self.statements(depth)
        if self.r.random() < 0.3:
            self.bracket(ops.ELIF, [])
            self.bracket(ops.THEN, [self.condition()])
            self.statements(depth)
        if self.r.random() < 0.5:
            self.bracket(ops.ELSE, [])
            self.statements(depth)
            if self.r.random() < 0.15:
                self.f.code.append(Instr(ops.BR, VOID, NONE, [], 0))
        self.brackets.pop()
        self.bracket(ops.END, [])

    def counted(self, depth: int) -> None:
        """A ``for``, which a branch may go on with."""
        r, f = self.r, self.f
        hi = f.const(I64, r.randint(0, 3)) if r.random() < 0.6 else self.emit(ops.AND, I64, [self.value(I64), f.const(I64, 3)])
        index = f.register(I64)
        self.bracket(ops.FOR, [f.const(I64, 0), hi, f.const(I64, r.choice((1, 1, 2)))], index)
        self.put(r.choice(self.variables[I64]), index, I64)
        self.block(depth, False)

    def counter(self) -> int:
        v = self.f.register(I64, f"c{len(self.f.types)}", True)
        self.put(v, self.f.const(I64, 0), I64)
        return v

    def tested(self, depth: int) -> None:
        """A ``while`` of a few steps, in a block that a branch may leave it by."""
        counter = self.counter()
        self.bracket(ops.BLOCK, [])
        self.brackets.append(False)
        self.bracket(ops.WHILE, [])
        more = self.emit(ops.LT, I64, [counter, self.f.const(I64, self.r.randint(1, 4))])
        going = self.emit(ops.AND, BOOL, [more, self.condition()]) if self.r.random() < 0.6 else more
        self.bracket(ops.DO, [going])
        self.put(counter, self.emit(ops.ADD, I64, [counter, self.f.const(I64, 1)]), I64)
        self.block(depth, False)
        self.brackets.pop()
        self.bracket(ops.END, [])

    def endless(self, depth: int) -> None:
        """A ``loop`` that goes on a few times at most, and may be left from within."""
        counter = self.counter()
        self.bracket(ops.BLOCK, [])
        self.brackets.append(False)
        self.bracket(ops.LOOP, [])
        self.brackets.append(True)
        self.put(counter, self.emit(ops.ADD, I64, [counter, self.f.const(I64, 1)]), I64)
        self.statements(depth)
        more = self.emit(ops.LT, I64, [counter, self.f.const(I64, self.r.randint(1, 4))])
        self.f.code.append(Instr(ops.BR_IF, VOID, NONE, [self.emit(ops.AND, BOOL, [more, self.condition()])], 0))
        self.brackets.pop()
        self.bracket(ops.END, [])
        self.brackets.pop()
        self.bracket(ops.END, [])


def arguments(seed: int, n: int) -> list[object]:
    """Arrays a little longer than the loop reaches, a number, and how far it goes."""
    chooser = np.random.default_rng(seed)
    x = chooser.integers(-6, 10, n + 3).astype(np.int32)
    return [x, chooser.integers(-6, 10, 5).astype(np.int32), np.full(n + 3, 99, np.int32), int(chooser.integers(-1, 4)), n + 1]
