"""Random functions that obey the rules of the representation and end: input for round trips, and for comparing compilers.

Every array access is inside its array as long as the arrays have ``EXTENT`` elements a dimension, integer divisors are never
zero, and loops run a bounded number of steps.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from loopwright.ir import ops
from loopwright.ir.function import NONE, Callee, Function, Instr, Loop, Options
from loopwright.ir.text import parse
from loopwright.types import BOOL, F32, F64, I32, I64, PTR, U8, U32, U64, VOID, Type, mask_of, vector_of

#: Elements in each dimension of each array of a random function.
EXTENT = 16
SCALARS = [I32, I64, F32, F64]
LANES = 4

#: Where encodings end: of types, of 12, 16 and 32 bits; powers of two and their neighbours.
_EDGES = tuple(sorted({s * (1 << n) + d for n in (3, 5, 7, 8, 11, 12, 15, 16, 31, 32, 40, 63, 64) for d in (-1, 0, 1) for s in (1, -1)}))
_FLOATS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.25, 4.0, float("inf"), float("-inf"), float("nan"), 1e30)

#: What is called: a function that changes memory its caller sees, one that reads it, one with arguments on the stack.
CALLED = {
    "poke": """
        function poke(%p: ptr, %i: i64, %v: i64) -> i64
          %1 = and.i64 %i, 7
          %2 = load_at.i64 [%p + %1*8]
          %3 = xor.i64 %v, 5
          store_at.i64 %3, [%p + %1*8]
          %4 = add.i64 %2, %v
          ret %4
        end
    """,
    "peek": """
        function peek(%p: ptr, %x: f64) -> f64
          %1 = load_at.i64 [%p + 16]
          %2 = and.i64 %1, 15
          %3 = convert.f64.i64 %2
          %4 = min.f64 %3, %x
          ret %4
        end
    """,
    "swap": """
        function swap(%p: ptr)
          %1 = load_at.i64 [%p]
          %2 = load_at.i64 [%p + 8]
          store_at.i64 %2, [%p]
          store_at.i64 %1, [%p + 8]
          ret
        end
    """,
    "many": """
        function many(%a: i64, %b: i64, %c: i64, %d: i64, %e: i64, %f: i64, %g: i64, %h: i64, %i: i64, %j: i64) -> i64
          %1 = mul.i64 %a, %j
          %2 = sub.i64 %1, %g
          %3 = xor.i64 %2, %h
          %4 = add.i64 %3, %i
          %5 = sub.i64 %4, %d
          ret %5
        end
    """,
}


def called(f: Function, name: str) -> int:
    """The number of one of ``CALLED`` among the callees of ``f``."""
    for n, callee in enumerate(f.callees):
        if callee.name == name:
            return n
    made = parse(CALLED[name])
    f.callees.append(Callee(name, [made.types[p] for p in made.params], made.result, function=made))
    return len(f.callees) - 1


def random_constant(chooser: random.Random, type_: Type) -> Any:
    """A value of a type: mostly small ones, and those next to the limits of types and encodings."""
    if type_ is BOOL:
        return chooser.random() < 0.5
    if type_.is_float:
        return chooser.choice(_FLOATS)
    low = -(1 << (type_.bits - 1)) if type_.signed else 0
    high = low + (1 << type_.bits) - 1
    if chooser.random() < 0.6:
        return chooser.choice((0, 1, 2, 3, 4, 7, 8, 16, *((-1, -2) if low else ())))
    return chooser.choice([edge for edge in _EDGES if low <= edge <= high])


class Generator:
    """Makes one function; every choice comes from ``seed``."""

    def __init__(self, seed: int, vectors: bool = True, size: int = 25, scalars: list[Type] | None = None, calls: bool = False, widest: int = 256) -> None:
        self.widest = widest
        self.random = random.Random(seed)
        self.scalars = scalars or SCALARS
        self.types = [*self.scalars, *[vector_of(t, LANES) for t in self.scalars if t.bits * LANES <= widest]] if vectors else list(self.scalars)
        self.vectors = vectors
        self.calls = calls
        self.left = size
        self.f = Function(f"random_{seed}", self.random.choice([VOID, *self.scalars]), Options(contract=False))
        self.scope: list[int] = []
        self.variables: list[int] = []
        # Variables that stay small enough to be an index by themselves, and accesses whose indices are in scope.
        self.carried: list[int] = []
        self.places: list[tuple[int, int, list[int]]] = []
        self.line = 0
        self.brackets: list[str] = []

    def make(self) -> Function:
        f, pick = self.f, self.random
        for k in range(pick.randint(1, 4)):
            self.scope.append(f.param(pick.choice(self.scalars), f"p{k}"))
        for k, rank in enumerate([1, pick.choice([1, 2])]):
            array = f.array_param(f"a{k}", pick.choice([*self.scalars, U8] if U8 not in self.scalars and self.scalars is SCALARS else self.scalars), rank)
            array.written = True
        for k, t in enumerate(self.types):
            if pick.random() < 0.6:
                v = f.register(t, f"v{k}" if pick.random() < 0.7 else "", True)
                self.emit(ops.COPY, t, [self.constant(t)], v)
                self.variables.append(v)
        for k in range(2):
            v = f.register(I64, f"k{k}", True)
            self.emit(ops.COPY, I64, [f.const(I64, k)], v)
            self.carried.append(v)
        self.body()
        if f.result is not VOID:
            self.emit(ops.RET, VOID, [self.value(f.result)])
        return f

    def emit(self, op: ops.Op, t: Type, args: list[int], dst: int = NONE, imm: int = 0, source: Type = VOID, loop: Loop | None = None) -> int:
        if self.random.random() < 0.5:
            self.line += self.random.randint(0, 2)
        self.f.code.append(Instr(op, t, dst, args, imm, self.line, source, None, loop))
        return dst

    def define(self, op: ops.Op, t: Type, args: list[int], imm: int = 0, source: Type = VOID) -> int:
        name = self.random.choice(["", "", "", "x", "y", "t"])
        return self.emit(op, t, args, self.f.register(ops.result_type(op, t, source), name), imm, source)

    def constant(self, t: Type) -> int:
        pick = self.random
        if t.element is BOOL:
            return self.f.const(t, pick.random() < 0.5)
        if pick.random() < 0.4:
            return self.f.const(t, pick.uniform(-100, 100) if t.is_float else pick.randint(0 if not t.signed else -100, 100))
        return self.f.const(t, random_constant(pick, t.element))

    def value(self, t: Type) -> int:
        """A register or constant of a type; registers are made by conversion or splat if there is none."""
        pick = self.random
        known = [r for r in (*self.scope, *self.variables) if self.f.types[r] is t]
        if known and pick.random() < 0.8:
            return pick.choice(known)
        if t.element is BOOL and pick.random() < 0.8:
            return self.compare(t)
        return self.constant(t)

    def compare(self, t: Type) -> int:
        of = vector_of(self.random.choice([s for s in self.scalars if s.bits == t.bits]), t.lanes) if t.lanes else self.random.choice(self.scalars)
        return self.define(ops.COMPARISONS[self.random.choice(list(ops.COMPARISONS))], of, [self.value(of), self.value(of)])

    def index(self, lanes: int) -> int:
        f, pick = self.f, self.random
        kind = pick.random()
        if kind < 0.3:
            # In 0 … 3 or 8 … 11, and a little more.
            base = pick.choice(self.carried)
            return base if kind < 0.15 else self.define(ops.ADD, I64, [base, f.const(I64, pick.randint(0, 1))])
        known = [r for r in (*self.scope, *self.variables) if f.types[r] is I64]
        if not known:
            return f.const(I64, pick.randint(0, EXTENT - max(lanes, 1)))
        mask = EXTENT - 1 if not lanes else EXTENT - LANES - 1 & ~3
        return self.define(ops.AND, I64, [pick.choice(known), f.const(I64, mask)])

    def move_on(self) -> None:
        """Another value for what is an index by itself."""
        f, pick = self.f, self.random
        moved = self.define(ops.ADD, I64, [pick.choice(self.carried), f.const(I64, pick.choice([1, 3, 8, 11]))])
        self.emit(ops.AND, I64, [moved, f.const(I64, 11)], pick.choice(self.carried))

    def place(self) -> tuple[int, int, list[int]]:
        """An array, how many lanes, and indices: often those of an access before."""
        f, pick = self.f, self.random
        if self.places and pick.random() < 0.5:
            return pick.choice(self.places[-4:])
        number = pick.randrange(len(f.arrays))
        array = f.arrays[number]
        lanes = LANES if self.vectors and 32 <= array.element.bits <= self.widest // LANES and pick.random() < 0.5 else 0
        made = number, lanes, [self.index(0) for _ in array.extents[:-1]] + [self.index(lanes)]
        self.places.append(made)
        return made

    def access(self) -> None:
        pick = self.random
        number, lanes, indices = self.place()
        t = vector_of(self.f.arrays[number].element, lanes)
        for store in pick.choice([[False], [False], [True], [False, True], [True, False], [False, True, False]]):
            mask = [self.value(mask_of(t.bits, lanes))] if lanes and pick.random() < 0.5 else []
            if store:
                self.emit(ops.MASKED_STORE if mask else ops.STORE, t, [*mask, self.value(t), *indices], NONE, number)
            else:
                self.scope.append(self.define(ops.MASKED_LOAD if mask else ops.LOAD, t, [*mask, *indices], number))

    def call(self) -> None:
        f, pick = self.f, self.random
        # What is called takes the array for one of i64, and NaNs may differ in sign and payload.
        bases = [array.base for array in f.arrays if array.element in (I32, U32, I64, U64)]
        name = pick.choice(sorted(CALLED) if bases else ["many"])
        number = called(f, name)
        callee = f.callees[number]
        args = [pick.choice(bases) if t is PTR else self.value(t) for t in callee.params]
        if callee.result is VOID:
            self.emit(ops.CALL_VOID, VOID, args, NONE, number)
        else:
            self.scope.append(self.emit(ops.CALL, callee.result, args, f.register(callee.result), number))

    def arithmetic(self) -> None:
        pick = self.random
        t = pick.choice(self.types)
        kind = pick.random()
        if kind < 0.15 and t.lanes:
            op = pick.choice(
                [ops.REDUCE_ADD, ops.REDUCE_MIN, ops.REDUCE_MAX]
                if t.is_float
                else [ops.REDUCE_ADD, ops.REDUCE_MIN, ops.REDUCE_MAX, ops.REDUCE_AND, ops.REDUCE_OR]
            )
            self.scope.append(self.define(op, t, [self.value(t)]))
            return
        if kind < 0.25 and t.lanes:
            self.scope.append(self.define(ops.SPLAT, t, [self.value(t.element)]))
            return
        if kind < 0.35:
            s = vector_of(pick.choice([x for x in self.scalars if not t.lanes or x.bits == t.bits]), t.lanes)
            # Floats out of an integer's range convert differently on different machines.
            if s is not t and (t.is_float or not s.is_float) and not (s.element is U64 and t.is_float):
                self.scope.append(self.define(ops.CONVERT, t, [self.value(s)], 0, s))
            return
        if kind < 0.45:
            mask = self.value(ops.mask_for(t))
            self.scope.append(self.define(ops.SELECT, t, [mask, self.value(t), self.value(t)]))
            return
        if t.is_float:
            op = pick.choice([ops.ADD, ops.SUB, ops.MUL, ops.DIV, ops.MIN, ops.MAX, ops.FMA, ops.FNMA, ops.SQRT, ops.FLOOR, ops.ROUND, ops.NEG, ops.ABS])
        else:
            op = pick.choice([ops.ADD, ops.SUB, ops.MUL, ops.AND, ops.OR, ops.XOR, ops.NOT, ops.SHL, ops.SHR, ops.MIN, ops.MAX, ops.NEG, ops.ABS])
            if not t.lanes and pick.random() < 0.15:
                # Odd and positive: neither a division by zero nor the one quotient that overflows.
                low = self.define(ops.AND, t, [self.value(t), self.f.const(t, 62)])
                self.scope.append(
                    self.define(
                        pick.choice([ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR]),
                        t,
                        [self.value(t), self.define(ops.OR, t, [low, self.f.const(t, 1)])],
                    )
                )
                return
        self.scope.append(self.define(op, t, [self.value(t) for _ in op.operands]))

    def assign(self) -> None:
        if self.variables:
            v = self.random.choice(self.variables)
            t = self.f.types[v]
            if self.random.random() < 0.5 and not t.is_mask:
                self.emit(ops.ADD, t, [v, self.value(t)], v)
            else:
                self.emit(ops.COPY, t, [self.value(t)], v)

    def body(self) -> None:
        steps = self.random.randint(2, 6)
        while steps and self.left > 0:
            steps -= 1
            self.left -= 1
            kind = self.random.random()
            if kind < 0.4:
                self.arithmetic()
            elif kind < 0.55:
                self.access()
            elif kind < 0.6:
                self.move_on()
            elif kind < 0.63 and self.calls:
                self.call()
            elif kind < 0.72:
                self.assign()
            elif len(self.brackets) < 4:
                self.bracket()

    def section(self, kind: str) -> None:
        scope, places = list(self.scope), len(self.places)
        self.brackets.append(kind)
        self.body()
        if self.random.random() < 0.2:
            targets = [depth for depth, outer in enumerate(reversed(self.brackets)) if outer != "repeat"]
            if targets:
                self.emit(ops.BR_IF, VOID, [self.value(BOOL)], NONE, self.random.choice(targets))
        self.brackets.pop()
        self.scope = scope
        del self.places[places:]

    def bracket(self) -> None:
        f, pick = self.f, self.random
        kind = pick.choice(["block", "if", "if", "for", "for", "while", "loop"])
        if kind == "block":
            self.emit(ops.BLOCK, VOID, [])
            self.section("leave")
        elif kind == "if":
            self.emit(ops.IF, VOID, [self.value(BOOL)])
            self.section("leave")
            while pick.random() < 0.3:
                self.emit(ops.ELIF, VOID, [])
                scope = list(self.scope)
                condition = self.value(BOOL)
                self.emit(ops.THEN, VOID, [condition])
                self.section("leave")
                self.scope = scope
            if pick.random() < 0.5:
                self.emit(ops.ELSE, VOID, [])
                self.section("leave")
        elif kind == "for":
            lo, step, count = pick.randint(-3, 3), pick.choice([1, 2, -1, 4]), pick.randint(0, 4)
            i = f.register(I64, pick.choice(["i", "j", ""]))
            scope = list(self.scope)
            args = [f.const(I64, lo), f.const(I64, lo + step * count), f.const(I64, step)]
            loop = None
            accumulated = NONE
            if self.vectors and pick.random() < 0.3 and "lanes" not in self.brackets:
                m = f.register(mask_of(32, LANES), "m")
                args[1], args[2] = f.const(I64, lo + count * LANES + pick.randint(0, 3)), f.const(I64, LANES)
                loop = Loop(m, pick.randint(0, 4))
                accumulators = [v for v in self.variables if f.types[v].lanes == LANES]
                if accumulators:
                    accumulated = pick.choice(accumulators)
                    loop.accumulators.append((accumulated, ops.ADD, f.const(f.types[accumulated], 0)))
                    self.variables.remove(accumulated)
                self.scope.append(m)
            self.emit(ops.FOR, VOID, args, i, loop=loop)
            self.scope.append(i)
            if accumulated != NONE:
                self.emit(ops.ADD, f.types[accumulated], [accumulated, self.value(f.types[accumulated])], accumulated)
            self.section("for" if loop is None else "lanes")
            self.scope = scope
            if accumulated != NONE:
                self.variables.append(accumulated)
        else:
            counter = f.register(I64, "n", True)
            self.emit(ops.COPY, I64, [f.const(I64, pick.randint(0, 3))], counter)
            self.emit(ops.WHILE if kind == "while" else ops.LOOP, VOID, [])
            if kind == "while":
                more = self.define(ops.GT, I64, [counter, f.const(I64, 0)])
                self.emit(ops.DO, VOID, [more])
            self.emit(ops.SUB, I64, [counter, f.const(I64, 1)], counter)
            self.section("repeat")
            if kind == "loop":
                more = self.define(ops.GT, I64, [counter, f.const(I64, 0)])
                self.emit(ops.BR_IF, VOID, [more], NONE, 0)
        self.emit(ops.END, VOID, [])


def random_function(seed: int, **options: Any) -> Function:
    """The function of a seed."""
    return Generator(seed, **options).make()


def random_arguments(f: Function, seed: int) -> list[Any]:
    """Arguments for a random function: arrays of ``EXTENT`` elements a dimension, with rows further apart than they are long."""
    chooser = np.random.default_rng(seed)
    bases = {array.base: array for array in f.arrays}
    inner = {r for array in f.arrays for r in (*array.extents, *array.strides)}
    out: list[Any] = []
    for r in f.params:
        if r in bases:
            array = bases[r]
            data = chooser.integers(0, 100, (EXTENT,) * (array.rank - 1) + (EXTENT + 3,)).astype(array.element.dtype)
            out.append(data[..., :EXTENT])
        elif r not in inner:
            t = f.types[r]
            out.append(np.dtype(t.dtype).type(chooser.normal() * 50 if t.is_float else chooser.integers(-100, 100)))
    return out
