"""Random functions in the shape front ends produce them, and arguments to call them with.

What one instruction leaves behind for another is what the passes are most easily wrong about, so a function keeps coming back to a few
things: the same addresses are read and written in front of brackets, in both branches, in loops and after them, partly through a
second parameter for the same array, partly by functions that are called; indices are variables, changed in the middle of loops, and what
was computed from an index is used again after the change; variables of all types are written at any depth and read at any other.
Most of what is loaded ends up in the result.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from tests.ir.random_functions import CALLED, called, random_constant

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Options
from loopwright.ir.interpret import Interpreter
from loopwright.targets.target import Addressing, RegisterClass, Target, Unrolling, scalar_integers, vectors_and_masks
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type

INTEGERS = (I64, I32, U8, I8, U16, I16, U32, U64)
EXTENT = 8

#: More registers than any test has constants.
_MANY = tuple(range(10**5))


class AnyTarget(Target):
    """Just what the passes before lowering ask of a target."""

    def __init__(self, indexed: bool = True, most: int = 1 << 31, floats: bool = False, both: bool = True) -> None:
        self.indexed = indexed
        self.most = most
        self.floats = floats
        self.both = both
        self.unrolling = Unrolling(((12, 4), (48, 2)), ((24, 4), (48, 2)), ((4, 8), (8, 4), (24, 2)))
        self._class_of: list[int] = []
        self.classes = (RegisterClass("integers", _MANY, scalar_integers), RegisterClass("vectors", _MANY, vectors_and_masks))
        self.orders = [_MANY, _MANY]

    def immediate(self, instr: Instr, position: int, type_: Type, value: float | bool) -> bool:
        if type_.is_float or type_.lanes:
            return self.floats
        return position == 1 and -self.most <= value < self.most

    def addressing(self, type_: Type) -> Addressing:
        return Addressing((1, 2, 4, 8) if self.indexed else (), -self.most, self.most - 1, both=self.both)


_INTEGER_OPS = (ops.ADD, ops.SUB, ops.MUL, ops.MIN, ops.MAX, ops.AND, ops.OR, ops.XOR, ops.ANDNOT, ops.SHL, ops.SHR, ops.ADD, ops.SUB)
_FLOAT_OPS = (ops.ADD, ops.SUB, ops.MUL, ops.MIN, ops.MAX, ops.DIV)
_BOOL_OPS = (ops.AND, ops.OR, ops.XOR, ops.ANDNOT)
_DIVISIONS = (ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR)
_COMPARE = tuple(ops.COMPARISONS.values())


class Generator:
    """Builds one random function from a seed.

    Attributes:
        values, variables: registers that may be read, by type; of the variables some are the function's, some a bracket's.
        indices: registers known to be in 0 … 3: counters, and variables that loops change. ``derived``: made from one, in 0 … 7.
        places: (array, indices) that were accessed and whose indices are in scope.
        witness: a variable that collects what was loaded; it is part of the result.
        kinds: of the open brackets, for branches.
    """

    def __init__(self, seed: int, size: int = 40, calls: bool = True) -> None:
        self.random = random.Random(seed)
        r = self.random
        self.f = f = Function(f"random{seed}", I64, Options(contract=False))
        self.calls = calls and r.random() < 0.5
        third = r.choice((I32, U8, I16, U32, U64, I8, U16))
        self.types: tuple[Type, ...] = (I64, I32, F32, F64, BOOL, r.choice(INTEGERS[2:]))
        for name, type_, rank in (("x", F32, 1), ("y", I64, 1), ("image", I32, 2), ("z", I64, 1), ("plane", third, 2)):
            f.array_param(name, type_, rank).written = True
        self.values: dict[Type, list[int]] = {t: [] for t in self.types}
        for name, type_ in (("a", I64), ("b", I64), ("u", F32), ("v", F64)):
            self.values[type_].append(f.param(type_, name))
        self.variables: dict[Type, list[int]] = {t: [] for t in self.types}
        self.indices: list[int] = []
        self.derived: list[int] = []
        self.places: list[tuple[int, list[int]]] = []
        self.changing: list[int] = []  # of the indices, those that are variables of the function's
        self.depth = 0
        self.kinds: list[str] = []
        self.loops = 0
        self.fuel = size
        self.witness = f.register(I64, "witness", True)
        self.emit(ops.COPY, I64, self.witness, [f.const(I64, 1)])
        for k in range(2):
            v = f.register(I64, f"index{k}", True)
            self.emit(ops.COPY, I64, v, [f.const(I64, k)])
            self.indices.append(v)
            self.changing.append(v)
        for type_ in self.types:
            for k in range(r.randint(1, 2)):
                self.declare(type_, f"var_{type_.name}_{k}")
        for _ in range(2):
            self.block(keep=True)
        self.finish()

    def finish(self) -> None:
        """Return something made of all variables."""
        result = self.operand(I64)
        for v in (self.witness, *self.changing):
            result = self.emit(ops.XOR, I64, self.f.register(I64), [self.emit(ops.MUL, I64, self.f.register(I64), [result, self.f.const(I64, 3)]), v])
        self.emit(ops.COPY, I64, self.witness, [result])
        for type_ in self.types:
            for v in self.variables[type_]:
                self.watch(type_, v)
        self.emit(ops.RET, VOID, NONE, [self.witness])

    def emit(self, op: ops.Op, type_: Type, dst: int, args: list[int], imm: int = 0, source: Type = VOID) -> int:
        self.f.code.append(Instr(op, type_, dst, args, imm, len(self.f.code) + 1, source))
        return dst

    def define(self, op: ops.Op, type_: Type, args: list[int], source: Type = VOID) -> int:
        return self.emit(op, type_, self.f.register(ops.result_type(op, type_, source)), args, 0, source)

    def watch(self, type_: Type, value: int) -> None:
        """Make ``value`` part of the witness."""
        f = self.f
        if type_.is_float:
            # NaNs may differ in sign and payload, and floats out of range have no integer.
            found = self.define(ops.LT, type_, [value, f.const(type_, 0.25)])
            type_, value = BOOL, found
        if type_ is BOOL:
            value = self.define(ops.SELECT, I64, [value, f.const(I64, 5), f.const(I64, 9)])
        elif type_ is not I64:
            value = self.define(ops.CONVERT, I64, [value], type_)
        mixed = self.define(ops.MUL, I64, [self.witness, f.const(I64, 3)])
        self.emit(ops.COPY, I64, self.witness, [self.define(ops.XOR, I64, [mixed, value])])

    def declare(self, type_: Type, name: str) -> None:
        v = self.f.register(type_, name, True)
        known = self.values[type_] or self.variables[type_]
        self.emit(ops.COPY, type_, v, [self.operand(type_) if known else self.constant(type_)])
        self.variables[type_].append(v)

    # --- operands -------------------------------------------------------------------------------------------

    def constant(self, type_: Type) -> int:
        return self.f.const(type_, random_constant(self.random, type_))

    def operand(self, type_: Type) -> int:
        r = self.random
        kind = r.random()
        if kind < 0.25 or not (self.values[type_] or self.variables[type_]):
            return self.constant(type_)
        if (kind < 0.55 and self.variables[type_]) or not self.values[type_]:
            return r.choice(self.variables[type_])
        recent = self.values[type_]
        return r.choice(recent[-4:] if r.random() < 0.6 else recent)

    def index(self) -> int:
        """An index in 0 … 7."""
        f = self.f
        r = self.random
        kind = r.random()
        if kind < 0.15:
            return f.const(I64, r.randint(0, EXTENT - 1))
        if kind < 0.35:
            return r.choice(self.indices)
        if kind < 0.55 and self.derived:
            return r.choice(self.derived[-4:])
        if kind < 0.9:
            base = r.choice(self.indices)
            k = r.randint(0, 4)
            if r.random() < 0.1:
                made = self.define(ops.SUB, I64, [f.const(I64, 3 + k), base])
            else:
                sums = ((ops.ADD, [base, f.const(I64, k)]), (ops.ADD, [f.const(I64, k), base]), (ops.SUB, [base, f.const(I64, -k)]))
                op, args = r.choice(sums)
                made = self.define(op, I64, args)
                if k > 1 and r.random() < 0.5:
                    made = self.define(ops.SUB, I64, [made, f.const(I64, r.randint(0, k))])
            if r.random() < 0.2:
                made = self.define(ops.COPY, I64, [made])
            self.derived.append(made)
            return made
        return self.define(ops.AND, I64, [self.operand(I64), f.const(I64, EXTENT - 1)])

    # --- memory ---------------------------------------------------------------------------------------------

    def place(self) -> tuple[int, list[int]]:
        """An array and indices: mostly those of an access before."""
        r = self.random
        if self.places and r.random() < 0.6:
            number, indices = r.choice(self.places[-5:])
            if number in (1, 3) and r.random() < 0.4:
                # The other parameter, which may be the same array.
                number = 4 - number
            return number, list(indices)
        number = r.randrange(len(self.f.arrays))
        made = number, [self.index() for _ in range(self.f.arrays[number].rank)]
        self.places.append(made)
        return made

    def load(self, place: tuple[int, list[int]]) -> int:
        number, indices = place
        type_ = self.f.arrays[number].element
        made = self.emit(ops.LOAD, type_, self.f.register(type_), list(indices), number)
        if type_ in self.values:
            self.values[type_].append(made)
        if self.random.random() < 0.7 or type_ not in self.values:
            self.watch(type_, made)
        return made

    def store(self, place: tuple[int, list[int]], value: int | None = None) -> None:
        number, indices = place
        type_ = self.f.arrays[number].element
        if value is None:
            value = self.operand(type_) if type_ in self.values else self.constant(type_)
        self.emit(ops.STORE, type_, NONE, [value, *indices], number)

    def access(self) -> None:
        """Loads and stores of one place, or of two."""
        r = self.random
        place = self.place()
        for kind in r.choice(("l", "s", "ls", "sl", "lsl", "ll", "lul")):
            if kind == "l":
                self.load(place)
            elif kind == "s":
                self.store(place)
            else:
                # A change of what was loaded, as ``y[i] += 1`` makes it.
                type_ = self.f.arrays[place[0]].element
                old = self.load(place)
                self.store(place, self.define(ops.ADD, type_, [old, self.f.const(type_, 1)]))

    def call(self) -> None:
        f, r = self.f, self.random
        name = r.choice(sorted(CALLED))
        number = called(f, name)
        callee = f.callees[number]
        base = f.arrays[r.choice((1, 3))].base
        args = [base if type_ is PTR else r.choice(self.indices) if k == 1 and name == "poke" else self.operand(type_) for k, type_ in enumerate(callee.params)]
        if callee.result is VOID:
            self.emit(ops.CALL_VOID, VOID, NONE, args, number)
            return
        known = self.variables[callee.result]
        if known and r.random() < 0.3:
            self.emit(ops.CALL, callee.result, r.choice(known), args, number)
        else:
            self.values[callee.result].append(self.emit(ops.CALL, callee.result, f.register(callee.result), args, number))

    # --- values ---------------------------------------------------------------------------------------------

    def some_op(self, type_: Type) -> ops.Op:
        return self.random.choice(_BOOL_OPS if type_ is BOOL else _FLOAT_OPS if type_.is_float else _INTEGER_OPS)

    def value(self, type_: Type) -> int:
        """A register with a new value."""
        f = self.f
        r = self.random
        kind = r.random()
        if type_ is BOOL and kind < 0.6:
            of = r.choice([t for t in self.types if t is not BOOL])
            dst = self.define(r.choice(_COMPARE), of, [self.operand(of), self.operand(of)])
        elif kind < 0.55:
            dst = self.define(self.some_op(type_), type_, [self.operand(type_), self.operand(type_)])
        elif kind < 0.65:
            unary = (ops.NOT,) if type_ is BOOL else (ops.NEG, ops.ABS, ops.SQRT, ops.FLOOR, ops.TRUNC) if type_.is_float else (ops.NEG, ops.NOT, ops.ABS)
            dst = self.define(r.choice(unary), type_, [self.operand(type_)])
        elif kind < 0.75:
            dst = self.define(ops.SELECT, type_, [self.operand(BOOL), self.operand(type_), self.operand(type_)])
        elif kind < 0.8 and type_.is_integer:
            divisors = (1, 2, 3, 8, 16, 127, *((-1, -3, -8) if type_.signed else ()))
            dst = self.define(r.choice(_DIVISIONS), type_, [self.operand(type_), f.const(type_, r.choice(divisors))])
        elif kind < 0.85 and type_.is_float:
            dst = self.define(r.choice((ops.FMA, ops.FMS, ops.FNMA)), type_, [self.operand(type_), self.operand(type_), self.operand(type_)])
        elif kind < 0.9 and type_ is not BOOL:
            # Not from float to integer, which is its own business beyond the range, nor between u64 and floats.
            of = r.choice(
                [t for t in self.types if t is not BOOL and (type_.is_float or t.is_integer) and not (U64 in (t, type_) and (t.is_float or type_.is_float))]
            )
            dst = self.define(ops.CONVERT, type_, [self.operand(of)], of) if of is not type_ else self.define(ops.COPY, type_, [self.operand(type_)])
        else:
            dst = self.define(ops.COPY, type_, [self.operand(type_)])
        self.values[type_].append(dst)
        return dst

    # --- statements -----------------------------------------------------------------------------------------

    def block(self, keep: bool = False) -> None:
        """Some statements, in a scope of their own unless what they define is to be kept."""
        marks = [(known, len(known)) for known in (*self.values.values(), *self.variables.values(), self.indices, self.derived, self.places)]
        for _ in range(self.random.randint(1, 6)):
            if self.fuel <= 0:
                break
            if not self.statement():
                break
        if not keep:
            for known, mark in marks:
                del known[mark:]

    def statement(self) -> bool:
        """One statement; False when what follows is not reached."""
        r = self.random
        self.fuel -= 1
        type_ = r.choice((*self.types, I64, F32))
        kind = r.random()
        if kind < 0.2:
            self.value(type_)
        elif kind < 0.38:
            self.assign(type_)
        elif kind < 0.56:
            self.access()
        elif kind < 0.62:
            self.move_on()
        elif kind < 0.66 and self.calls:
            self.call()
        elif self.depth > 3:
            self.value(type_)
        elif kind < 0.9:
            self.bracket()
        elif self.kinds:
            return self.leave()
        return True

    def assign(self, type_: Type) -> None:
        r = self.random
        if not self.variables[type_] or (self.depth and r.random() < 0.1):
            self.declare(type_, f"own_{type_.name}")
            return
        v = r.choice(self.variables[type_])
        # What it was, to be read when it is something else.
        before = [self.define(ops.COPY, type_, [v])] if r.random() < 0.3 else []
        if r.random() < 0.7:
            self.emit(ops.COPY, type_, v, [self.value(type_)])
            if r.random() < 0.5:
                # Reads of the variable right after it was written, as source text has them.
                self.emit(ops.COPY, type_, self.f.register(type_), [v])
        else:
            self.emit(self.some_op(type_), type_, v, [self.operand(type_), self.operand(type_)])
        for old in before:
            self.values[type_].append(old)
            if r.random() < 0.5:
                self.watch(type_, old)

    def move_on(self) -> None:
        """Another value for an index that is a variable."""
        f, r = self.f, self.random
        v = r.choice(self.changing)
        kind = r.random()
        if kind < 0.2:
            self.emit(ops.COPY, I64, v, [f.const(I64, r.randint(0, 3))])
        elif kind < 0.4:
            self.emit(ops.COPY, I64, v, [r.choice(self.indices)])
        else:
            moved = self.define(ops.ADD, I64, [v, f.const(I64, r.randint(1, 3))])
            self.emit(ops.AND, I64, v, [moved, f.const(I64, 3)])

    def bracket(self) -> None:
        """A bracket, often between two loads of a place it may change."""
        r = self.random
        place = self.place() if r.random() < 0.5 else None
        if place is not None:
            self.load(place)
        kind = r.random()
        if kind < 0.5:
            self.conditional()
        elif kind < 0.65:
            self.emit(ops.BLOCK, VOID, NONE, [])
            self.inside("block")
            self.emit(ops.END, VOID, NONE, [])
        elif self.loops < 3:
            self.loops += 1
            r.choice((self.counted, self.counted, self.repeated, self.repeated, self.endless, self.downward))()
            self.loops -= 1
        if place is not None:
            self.load(place)

    def inside(self, kind: str, keep: bool = False) -> None:
        self.kinds.append(kind)
        self.depth += 1
        self.block(keep)
        self.depth -= 1
        self.kinds.pop()

    def leave(self) -> bool:
        r = self.random
        # Going on with a loop that has not counted yet would not end.
        depths = [k for k in range(len(self.kinds)) if self.kinds[-1 - k] != "loop"]
        if not depths:
            return True
        depth = r.choice(depths) if r.random() < 0.5 else depths[-1]
        if r.random() < 0.6:
            self.emit(ops.BR_IF, VOID, NONE, [self.operand(BOOL)], depth)
            return True
        if r.random() < 0.2:
            self.emit(ops.RET, VOID, NONE, [self.define(ops.XOR, I64, [self.witness, self.operand(I64)])])
        else:
            self.emit(ops.BR, VOID, NONE, [], depth)
        return False

    def conditional(self) -> None:
        r = self.random
        self.emit(ops.IF, VOID, NONE, [self.operand(BOOL)])
        self.inside("if")
        marks = {t: len(v) for t, v in self.values.items()}
        while r.random() < 0.4:
            self.emit(ops.ELIF, VOID, NONE, [])
            condition = self.value(BOOL)
            self.emit(ops.THEN, VOID, NONE, [condition])
            self.inside("if")
        if r.random() < 0.6:
            self.emit(ops.ELSE, VOID, NONE, [])
            self.inside("if")
        for type_, mark in marks.items():
            del self.values[type_][mark:]
        self.emit(ops.END, VOID, NONE, [])

    # --- loops ----------------------------------------------------------------------------------------------

    def counted(self) -> None:
        """``for`` from 0 or from an index, to a constant or to an index that the body may change."""
        f, r = self.f, self.random
        i = f.register(I64, "i")
        lo = f.const(I64, 0) if r.random() < 0.7 else r.choice(self.indices)
        hi = f.const(I64, r.randint(0, 3)) if r.random() < 0.6 else r.choice(self.indices)
        self.emit(ops.FOR, VOID, i, [lo, hi, f.const(I64, r.choice((1, 1, 2)))])
        self.values[I64].append(i)
        self.indices.append(i)
        self.inside("for")
        self.indices.remove(i)
        self.values[I64].remove(i)
        self.emit(ops.END, VOID, NONE, [])

    def downward(self) -> None:
        f, r = self.f, self.random
        i = f.register(I64, "i")
        hi = f.const(I64, 3) if r.random() < 0.6 else r.choice(self.indices)
        self.emit(ops.FOR, VOID, i, [hi, f.const(I64, r.choice((-1, 0))), f.const(I64, r.choice((-1, -2)))])
        self.values[I64].append(i)
        self.indices.append(i)
        self.inside("for")
        self.indices.remove(i)
        self.values[I64].remove(i)
        self.emit(ops.END, VOID, NONE, [])

    def repeated(self) -> None:
        """``while``: what its condition computes is read in the body and after it."""
        f, r = self.f, self.random
        n = f.register(I64, "n", True)
        self.emit(ops.COPY, I64, n, [f.const(I64, 0)])
        self.emit(ops.WHILE, VOID, NONE, [])
        values = {t: len(v) for t, v in self.values.items()}
        more = self.define(ops.LT, I64, [n, f.const(I64, r.randint(0, 3))])
        if r.random() < 0.5:
            for _ in range(r.randint(1, 2)):
                if r.random() < 0.5:
                    self.load(self.place())
                else:
                    self.value(r.choice(self.types))
            more = self.define(ops.AND, BOOL, [more, self.value(BOOL)])
        if r.random() < 0.2:
            # A condition with brackets of its own.
            again = f.register(BOOL, "again", True)
            self.emit(ops.COPY, BOOL, again, [f.const(BOOL, False)])
            self.emit(ops.IF, VOID, NONE, [more])
            self.emit(ops.COPY, BOOL, again, [self.define(ops.LE, I64, [n, self.operand(I64)])])
            self.emit(ops.END, VOID, NONE, [])
            more = again
        self.emit(ops.DO, VOID, NONE, [more])
        # Counted first, so that a branch that goes on does not go on for ever; 0 … 3 before that.
        before = self.define(ops.COPY, I64, [n])
        t = self.define(ops.ADD, I64, [n, f.const(I64, 1)])
        self.emit(ops.COPY, I64, n, [t])
        self.indices.append(r.choice((before, n)))
        self.inside("while")
        self.indices.pop()
        if r.random() < 0.5:
            for type_, mark in values.items():
                del self.values[type_][mark:]
        self.emit(ops.END, VOID, NONE, [])

    def endless(self) -> None:
        """``loop``: left by a branch at its head or its foot, or at its end, where what its body has defined goes on to exist."""
        f, r = self.f, self.random
        n = f.register(I64, "n", True)
        self.emit(ops.COPY, I64, n, [f.const(I64, 0)])
        limit = f.const(I64, r.randint(1, 3))
        way = r.choice(("head", "foot", "end"))
        if way != "end":
            self.emit(ops.BLOCK, VOID, NONE, [])
            self.kinds.append("block")
        self.emit(ops.LOOP, VOID, NONE, [])
        if way == "head":
            self.emit(ops.ADD, I64, n, [n, f.const(I64, 1)])
            self.emit(ops.BR_IF, VOID, NONE, [self.define(ops.GT, I64, [n, limit])], 1)
            self.inside("while")
        else:
            self.inside("loop", keep=way == "end")
            self.emit(ops.COPY, I64, n, [self.define(ops.ADD, I64, [n, f.const(I64, 1)])])
        if way == "foot":
            self.emit(ops.BR_IF, VOID, NONE, [self.define(ops.GE, I64, [n, limit])], 1)
        if way == "end":
            self.emit(ops.BR_IF, VOID, NONE, [self.define(ops.LT, I64, [n, limit])], 0)
        else:
            self.emit(ops.BR, VOID, NONE, [], 0)
        self.emit(ops.END, VOID, NONE, [])
        if way != "end":
            self.kinds.pop()
            self.emit(ops.END, VOID, NONE, [])


def random_arguments(f: Function, seed: int) -> list[Any]:
    """Arguments for what ``Generator`` makes: y and z are one array for some seeds; the rows of the planes are further apart than they are long."""
    r = np.random.default_rng(seed)
    x = r.standard_normal(EXTENT).astype(np.float32)
    y = r.integers(-100, 100, EXTENT)
    z = y if seed % 3 == 0 else r.integers(-100, 100, EXTENT)
    image = r.integers(-(1 << 31), 1 << 31, (EXTENT, EXTENT + 3), dtype=np.int32)[:, :EXTENT]
    if seed % 4 == 1:
        image = image[::-1]
    plane = r.integers(0, 100, (EXTENT, EXTENT + 1)).astype(f.arrays[4].element.dtype)[:, :EXTENT]
    return [
        x,
        y,
        image,
        z,
        plane,
        int(r.integers(-10, 10)),
        int(r.integers(-(1 << 62), 1 << 62)),
        float(np.float32(r.standard_normal())),
        float(r.standard_normal()),
    ]


def fresh(arguments: list[Any]) -> list[Any]:
    """Copies of arguments: what was one array is one again, and rows are as far apart as they were."""
    made: dict[int, Any] = {}
    out: list[Any] = []
    for a in arguments:
        if not isinstance(a, np.ndarray):
            out.append(a)
            continue
        if id(a) not in made:
            whole = a
            while isinstance(whole.base, np.ndarray):
                whole = whole.base
            offset = a.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
            made[id(a)] = np.ndarray(a.shape, a.dtype, whole.copy(), offset, a.strides)
        out.append(made[id(a)])
    return out


def results(f: Function, arguments: list[Any], target: Target | None = None) -> list[Any]:
    """What a call gives: the result, and the arrays afterwards; in a form that compares equal when every bit but NaN's agrees."""
    copies = fresh(arguments)
    with np.errstate(all="ignore"):
        found = Interpreter(f, target).call(*copies)
    out: list[Any] = ["nan" if found is not None and np.isnan(found) else found]
    for a in copies:
        if isinstance(a, np.ndarray):
            out.append(np.where(np.isnan(a), np.float32(-12345.0), a).tolist() if a.dtype.kind == "f" else a.tolist())
    return out


__all__ = ["EXTENT", "AnyTarget", "Generator", "fresh", "random_arguments", "results"]
