"""Random functions full of values of every class that are alive at once, across calls and across nothing: input for tests of conventions.

A function takes some scalars and arrays in any order, makes values of all kinds from them, calls other functions with some, in loops and
conditions too, and at the end stores every value it still has. So whatever a frame, a spill slot or a call destroys shows.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from loopwright.ir import ops
from loopwright.ir.function import NONE, Array, Callee, Function, Instr, Options
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type, mask_of, vector_of

SCALARS = (I64, I64, I32, U32, U64, I8, U8, I16, U16, BOOL, PTR, F32, F32, F64, F64, F64)
RESULTS = (VOID, I64, I32, U32, U64, I8, U8, I16, U16, BOOL, F32, F64)
#: Elements of vectors.
ELEMENTS = (F32, F64, I32, I64, U8, I16)
#: Vectors' worth of elements in each array that is read.
ROOM = 8
#: Most calls that one run of a function makes to each of its callees.
MOST_CALLS = 40

_INTEGER = (ops.ADD, ops.SUB, ops.XOR, ops.AND, ops.OR)
_FLOAT = (ops.ADD, ops.SUB, ops.MUL, ops.MIN)


class Alive:
    """Makes one function.

    Args:
        seed: every choice comes from it.
        bits: width of the vectors; 0 for scalars only.
        values: about how many are made.
        callees: how many functions are called, each once or more.
    """

    def __init__(self, seed: int, bits: int, values: int, callees: int) -> None:
        self.random = random.Random(seed)
        self.bits = bits
        pick = self.random
        self.f = f = Function(f"alive_{seed}", pick.choice(RESULTS), Options(contract=False))
        self.pool: dict[Type, list[int]] = {}
        self.elements = pick.sample(ELEMENTS, pick.randint(1, 3)) if bits else [pick.choice((I64, F64, I32, F32))]
        # As many lanes as the widest has, like those of a loop over several arrays; or each as many as there is room for.
        self.few = bits // max(e.bits for e in self.elements) if pick.random() < 0.5 else 0
        self.read: dict[Type, Array] = {}
        self.stored: dict[Type, list[tuple[Type, int]]] = {}
        self.written: dict[Type, Array] = {}
        declare: list[Any] = [("read", e) for e in self.elements] + [("written", e) for e in {*self.elements, I64, F64}]
        declare += [pick.choice(SCALARS) for _ in range(pick.choice((0, 2, 5, 9, 18)))]
        declare.sort(key=lambda _: pick.random())
        for n, what in enumerate(declare):
            if isinstance(what, Type):
                self.keep(what, f.param(what, f"p{n}"))
            else:
                kind, element = what
                array = f.array_param(f"{kind[0]}{n}", element, 1)
                array.written = kind == "written"
                (self.written if array.written else self.read)[element] = array
        for n in range(callees):
            types = [pick.choice(SCALARS) for _ in range(pick.choice((0, 1, 3, 7, 12, 20)))]
            f.callees.append(Callee(f"called{n}", types, pick.choice(RESULTS)))
        self.left = values
        # Each callee is called somewhere, but not in both of two nested loops.
        self.waiting = list(range(callees))
        self.statements(0)
        while self.waiting:
            self.call(self.waiting.pop())
        self.store_all()
        if f.result is not VOID:
            self.emit(ops.RET, f.result, [self.value(f.result)], NONE)

    # --- emitting -------------------------------------------------------------------------------------------

    def emit(self, op: ops.Op, t: Type, args: list[int], dst: int | None = None, imm: int = 0, source: Type = VOID) -> int:
        if dst is None:
            dst = self.f.register(ops.result_type(op, t, source))
        self.f.code.append(Instr(op, t, dst, args, imm, 0, source))
        return dst

    def keep(self, t: Type, register: int) -> int:
        self.pool.setdefault(t, []).append(register)
        return register

    def constant(self, t: Type) -> int:
        pick = self.random
        if t.element is BOOL:
            return self.f.const(t, pick.random() < 0.5)
        if t.is_float:
            return self.f.const(t, pick.choice((0.0, -1.5, 0.1, 3.25, 1e6)))
        return self.f.const(t, pick.choice((0, 1, 7, 100, pick.getrandbits(t.bits))))

    def value(self, t: Type) -> int:
        """A value of a type that there is, else a new one."""
        known = self.pool.get(t)
        if known and self.random.random() < 0.9:
            return self.random.choice(known)
        if t.is_mask or t is BOOL or self.random.random() < 0.2:
            return self.constant(t)
        return self.make(t)

    def make(self, t: Type) -> int:
        """A new value, kept."""
        pick = self.random
        kind = pick.random()
        array = self.read.get(t.element)
        if t.is_mask:
            of = vector_of(pick.choice([e for e in self.elements if e.bits == t.bits]), t.lanes)
            return self.keep(t, self.emit(pick.choice((ops.LT, ops.EQ, ops.GE)), of, [self.value(of), self.value(of)]))
        if t is BOOL:
            of = pick.choice((I64, I32, F64))
            return self.keep(t, self.emit(pick.choice((ops.LT, ops.NE)), of, [self.value(of), self.value(of)]))
        if array is not None and kind < 0.4:
            index = pick.randrange((ROOM - 1) * self.lanes(array.element)) if t.lanes else pick.randrange(ROOM)
            return self.keep(t, self.emit(ops.LOAD, t, [self.f.const(I64, index)], imm=self.f.arrays.index(array)))
        if t.lanes and kind < 0.5:
            return self.keep(t, self.emit(ops.SPLAT, t, [self.value(t.element)]))
        if t.lanes and kind < 0.6:
            return self.keep(t, self.emit(ops.SELECT, t, [self.value(mask_of(t.bits, t.lanes)), self.value(t), self.value(t)]))
        if not t.lanes and kind < 0.6:
            # (Of floats and the unsigned 64-bit integers AVX2 has no conversion.)
            sources = [
                s
                for s in self.pool
                if not s.lanes and s is not t and (s.bits < 64 or s.signed or t.bits == 64)
                if t.is_float <= (s not in (PTR, U64)) and t.is_float >= s.is_float
            ]
            if sources:
                source = pick.choice(sources)
                if not (t is PTR and source is not I64):
                    return self.keep(t, self.emit(ops.CONVERT, t, [self.value(source)], source=source))
        if t is PTR:
            return self.keep(t, self.emit(ops.CONVERT, t, [self.value(I64)], source=I64))
        known = self.pool.get(t) or [self.constant(t)]
        if t in (I32, I64) and kind > 0.95:
            # Into rax and rdx.
            divisor = self.emit(ops.OR, t, [pick.choice(known), self.f.const(t, 1)])
            return self.keep(t, self.emit(pick.choice((ops.DIV_FLOOR, ops.REM_TRUNC)), t, [pick.choice(known), divisor]))
        return self.keep(t, self.emit(pick.choice(_FLOAT if t.is_float else _INTEGER), t, [pick.choice(known), pick.choice([*known, self.constant(t)])]))

    def lanes(self, element: Type) -> int:
        return self.few or self.bits // element.bits or 1

    def some_type(self) -> Type:
        pick = self.random
        if self.bits and pick.random() < 0.6:
            element = pick.choice(self.elements)
            return mask_of(element.bits, self.lanes(element)) if pick.random() < 0.2 else vector_of(element, self.lanes(element))
        return pick.choice(SCALARS)

    # --- statements -----------------------------------------------------------------------------------------

    def statements(self, depth: int) -> None:
        pick = self.random
        while self.left > 0:
            self.left -= 1
            kind = pick.random()
            if self.waiting and kind < 0.12:
                self.call(self.waiting.pop() if depth or pick.random() < 0.5 else pick.choice(self.waiting))
            elif depth < 2 and kind > 0.96:
                self.inside(depth)
            elif depth and kind > 0.85:
                return
            else:
                self.make(self.some_type())

    def call(self, number: int) -> None:
        callee = self.f.callees[number]
        args = [self.value(t) for t in callee.params]
        if callee.result is VOID:
            self.emit(ops.CALL_VOID, VOID, args, NONE, number)
        else:
            self.keep(callee.result, self.emit(ops.CALL, callee.result, args, self.f.register(callee.result), number))

    def inside(self, depth: int) -> None:
        """A loop or a condition; of what is made in it only some variables last."""
        f, pick = self.f, self.random
        types = [self.some_type() for _ in range(pick.randint(1, 4))]
        variables = [(t, f.register(t, "", True)) for t in types]
        for t, v in variables:
            self.emit(ops.COPY, t, [self.value(t)], v)
        outer = {t: list(known) for t, known in self.pool.items()}
        if pick.random() < 0.6:
            i = f.register(I64)
            self.emit(ops.FOR, VOID, [f.const(I64, 0), f.const(I64, pick.randint(1, 2)), f.const(I64, 1)], i)
            self.keep(I64, i)
        else:
            self.emit(ops.IF, VOID, [self.value(BOOL)], NONE)
        for t, v in variables:
            self.keep(t, v)
        self.statements(depth + 1)
        for t, v in variables:
            self.emit(ops.COPY, t, [self.value(t)], v)
        self.emit(ops.END, VOID, [], NONE)
        self.pool = outer
        for t, v in variables:
            self.keep(t, v)

    def store_all(self) -> None:
        """Every value there is, each to a place of its own."""
        f = self.f
        places = dict.fromkeys(self.written, 0)
        for t, known in list(self.pool.items()):
            for register in known:
                value, kept = register, t
                if t.is_mask:
                    kept = vector_of(next(e for e in self.elements if e.bits == t.bits), t.lanes)
                    value = self.emit(ops.SELECT, kept, [register, f.const(kept, 1), f.const(kept, 2)])
                elif not t.lanes and t not in self.written:
                    kept = F64 if t.is_float else I64
                    value = self.emit(ops.CONVERT, kept, [register], source=t)
                array = self.written[kept.element]
                self.emit(ops.STORE, kept, [value, f.const(I64, places[kept.element])], NONE, f.arrays.index(array))
                places[kept.element] += max(kept.lanes, 1)
        self.places = places

    # --- arguments ------------------------------------------------------------------------------------------

    def arguments(self, seed: int) -> list[Any]:
        """Arguments for the interpreter: arrays as NumPy's, scalars as numbers."""
        f = self.f
        chooser = np.random.default_rng(seed)
        bases = {array.base: array for array in f.arrays}
        inner = {r for array in f.arrays for r in array.extents}
        out: list[Any] = []
        for r in f.params:
            array = bases.get(r)
            if array is not None:
                count = max(self.places[array.element], 1) if array.written else ROOM * self.lanes(array.element)
                out.append(chooser.integers(0, 100, count).astype(array.element.dtype))
            elif r not in inner:
                t = f.types[r]
                if t.is_float:
                    out.append(np.dtype(t.dtype).type(chooser.normal() * 50))
                elif t is BOOL:
                    out.append(bool(chooser.integers(0, 2)))
                else:
                    out.append(np.dtype(t.dtype).type(np.frombuffer(chooser.bytes(8), t.dtype)[0]))
        return out

    def returns(self, seed: int) -> list[list[Any]]:
        """For each callee what its calls return, one after the other."""
        chooser = random.Random(seed)
        return [[_returned(callee.result, chooser) for _ in range(MOST_CALLS)] for callee in self.f.callees]


def _returned(t: Type, chooser: random.Random) -> Any:
    if t is VOID:
        return None
    if t.is_float:
        return chooser.randrange(-1000, 1000) / 8
    if t is BOOL:
        return chooser.random() < 0.5
    raw = chooser.getrandbits(t.bits)
    return raw - (1 << t.bits) if t.signed and raw >> (t.bits - 1) else raw


def flat(f: Function, args: list[Any], address: Any = None) -> tuple[list[Type], list[Any]]:
    """Types and values of the arguments as the machine code takes them: of arrays the address, the extents and the strides."""
    bases = {array.base for array in f.arrays}
    inner = {r for array in f.arrays for r in (*array.extents, *array.strides)}
    given = iter(args)
    types: list[Type] = []
    values: list[Any] = []
    for r in f.params:
        if r in inner:
            continue
        value = next(given)
        types.append(f.types[r])
        if r in bases:
            values.append(address(value) if address is not None else value.ctypes.data)
            described = [*value.shape, *value.strides[:-1]]
            types += [I64] * len(described)
            values += described
        else:
            values.append(value)
    return types, values
