"""Random functions in the shape front ends produce them, and arguments to call them with."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

from loopwright.ir import ops
from loopwright.ir.function import NONE, Array, Function, Instr, Loop, Options
from loopwright.ir.interpret import run
from loopwright.ir.text import parse, print_function
from loopwright.ir.verify import verify
from loopwright.targets.target import Target
from loopwright.types import BOOL, F32, F64, I32, I64, VOID, Type, mask_of, vector_of


class AnyTarget(Target):
    """Just what the passes before lowering ask of a target."""

    def __init__(self, indexed: bool = True, most: int = 1 << 31, floats: bool = False) -> None:
        self.indexed = indexed
        self.most = most
        self.floats = floats
        # More registers than any test has constants.
        self._class_of: list[int] = []
        self.orders = [range(10**6), range(10**6)]

    def immediate(self, instr: Instr, position: int, type_: Type, value: float | bool) -> bool:
        if type_.is_float or type_.lanes:
            return self.floats
        return position == 1 and -self.most <= value < self.most

    def address(self, scale: int, disp: int) -> tuple[bool, bool]:
        return self.indexed and scale in (1, 2, 4, 8), -self.most <= disp < self.most


_BINARY = {
    I64: (ops.ADD, ops.SUB, ops.MUL, ops.MIN, ops.MAX, ops.AND, ops.OR, ops.XOR, ops.ANDNOT, ops.SHL, ops.SHR, ops.ADD, ops.SUB),
    I32: (ops.ADD, ops.SUB, ops.MUL, ops.MIN, ops.MAX, ops.AND, ops.OR, ops.XOR, ops.ANDNOT, ops.SHL, ops.SHR),
    F32: (ops.ADD, ops.SUB, ops.MUL, ops.MIN, ops.MAX, ops.DIV),
    F64: (ops.ADD, ops.SUB, ops.MUL, ops.MIN, ops.MAX, ops.DIV),
    BOOL: (ops.AND, ops.OR, ops.XOR, ops.ANDNOT),
}
_UNARY = {
    I64: (ops.NEG, ops.NOT, ops.ABS),
    I32: (ops.NEG, ops.NOT, ops.ABS),
    F32: (ops.NEG, ops.ABS, ops.SQRT, ops.FLOOR),
    F64: (ops.NEG, ops.ABS, ops.TRUNC),
    BOOL: (ops.NOT,),
}
_DIVISIONS = (ops.DIV_TRUNC, ops.REM_TRUNC, ops.DIV_FLOOR, ops.REM_FLOOR)
_COMPARE = tuple(ops.COMPARISONS.values())
_INTEGERS = (0, 1, -1, 2, 3, 4, 7, 8, 16, -2, 1 << 40, (1 << 63) - 1, -(1 << 63))
_FLOATS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.25, 4.0, float("inf"), float("nan"), 1e30)


class Generator:
    """Builds one random function from a seed."""

    def __init__(self, seed: int, size: int = 40) -> None:
        self.random = random.Random(seed)
        r = self.random
        self.f = f = Function(f"random{seed}", I64, Options(contract=False))
        self.x = f.array_param("x", F32, 1)
        self.y = f.array_param("y", I64, 1)
        self.image = f.array_param("image", I32, 2)
        self.x.written = self.y.written = self.image.written = True
        self.values: dict[Type, list[int]] = {t: [] for t in (I64, I32, F32, F64, BOOL)}
        for name, type_ in (("a", I64), ("b", I64), ("u", F32), ("v", F64)):
            self.values[type_].append(f.param(type_, name))
        self.variables: dict[Type, list[int]] = {t: [] for t in self.values}
        self.indices: list[int] = []  # registers known to be in 0 … 3
        self.depth = 0
        self.kinds: list[str] = []  # of the open brackets, for branches
        self.loops = 0
        self.fuel = size
        for type_ in self.values:
            for k in range(r.randint(1, 2)):
                v = f.register(type_, f"var_{type_.name}_{k}", True)
                self.emit(ops.COPY, type_, v, [self.constant(type_) if type_ in (I32, BOOL) else self.operand(type_)])
                self.variables[type_].append(v)
        self.block()
        result = self.operand(I64)
        for type_ in (I64, I32):
            for v in self.variables[type_]:
                mixed = f.register(I64)
                if type_ is I32:
                    wide = f.register(I64)
                    f.code.append(Instr(ops.CONVERT, I64, wide, [v], source=I32))
                    v = wide
                self.emit(ops.XOR, I64, mixed, [result, v])
                result = mixed
        for type_ in (F32, F64):
            for v in self.variables[type_]:
                bits = f.register(I64)
                double = v
                if type_ is F32:
                    double = f.register(F64)
                    f.code.append(Instr(ops.CONVERT, F64, double, [v], source=F32))
                f.code.append(Instr(ops.BITCAST, I64, bits, [double], source=F64))
                # NaNs may differ in sign and payload.
                number = f.register(BOOL)
                self.emit(ops.EQ, F64, number, [double, double])
                kept = f.register(I64)
                self.emit(ops.SELECT, I64, kept, [number, bits, f.const(I64, 77)])
                mixed = f.register(I64)
                self.emit(ops.ADD, I64, mixed, [result, kept])
                result = mixed
        self.emit(ops.RET, VOID, NONE, [result])

    def emit(self, op: ops.Op, type_: Type, dst: int, args: list[int], imm: int = 0, loop: Loop | None = None) -> int:
        self.f.code.append(Instr(op, type_, dst, args, imm, len(self.f.code) + 1, loop=loop))
        return dst

    def constant(self, type_: Type) -> int:
        r = self.random
        if type_ is BOOL:
            return self.f.const(type_, r.random() < 0.5)
        return self.f.const(type_, r.choice(_FLOATS) if type_.is_float else r.choice(_INTEGERS))

    def operand(self, type_: Type) -> int:
        r = self.random
        kind = r.random()
        if kind < 0.25 or not (self.values[type_] or self.variables[type_]):
            return self.constant(type_)
        if (kind < 0.55 and self.variables[type_]) or not self.values[type_]:
            return r.choice(self.variables[type_])
        recent = self.values[type_]
        return r.choice(recent[-4:] if r.random() < 0.6 else recent)

    def value(self, type_: Type) -> int:
        """A register with a new value."""
        f = self.f
        r = self.random
        kind = r.random()
        dst = f.register(type_)
        if type_ is BOOL and kind < 0.6:
            of = r.choice((I64, I32, F32, F64))
            self.emit(r.choice(_COMPARE), of, dst, [self.operand(of), self.operand(of)])
        elif kind < 0.55:
            self.emit(r.choice(_BINARY[type_]), type_, dst, [self.operand(type_), self.operand(type_)])
        elif kind < 0.65:
            self.emit(r.choice(_UNARY[type_]), type_, dst, [self.operand(type_)])
        elif kind < 0.75:
            condition = self.operand(BOOL)
            self.emit(ops.SELECT, type_, dst, [condition, self.operand(type_), self.operand(type_)])
        elif kind < 0.8 and type_ in (I64, I32):
            self.emit(r.choice(_DIVISIONS), type_, dst, [self.operand(type_), f.const(type_, r.choice((1, 2, 3, 8, 16)))])
        elif kind < 0.85 and type_ in (F32, F64):
            self.emit(r.choice((ops.FMA, ops.FMS, ops.FNMA)), type_, dst, [self.operand(type_), self.operand(type_), self.operand(type_)])
        elif kind < 0.95 and type_ in (F32, I64, I32):
            self.load(type_, dst)
        else:
            self.emit(ops.COPY, type_, dst, [self.operand(type_)])
        self.values[type_].append(dst)
        return dst

    def index(self) -> int:
        """An index in 0 … 7."""
        f = self.f
        r = self.random
        kind = r.random()
        if kind < 0.25 or (kind < 0.7 and not self.indices):
            return f.const(I64, r.randint(0, 7))
        if kind < 0.7:
            base = r.choice(self.indices)
            if r.random() < 0.3:
                return base
            k = r.randint(0, 4)
            made = self.emit(ops.ADD, I64, f.register(I64), r.choice(([base, f.const(I64, k)], [f.const(I64, k), base])))
            if k > 1 and r.random() < 0.5:
                made = self.emit(ops.SUB, I64, f.register(I64), [made, f.const(I64, r.randint(0, k))])
            return made
        return self.emit(ops.AND, I64, f.register(I64), [self.operand(I64), f.const(I64, 7)])

    def array(self, type_: Type) -> tuple[Array, list[int]]:
        if type_ is F32:
            return self.x, [self.index()]
        if type_ is I64:
            return self.y, [self.index()]
        return self.image, [self.index(), self.index()]

    def load(self, type_: Type, dst: int) -> None:
        array, indices = self.array(type_)
        self.emit(ops.LOAD, type_, dst, indices, self.f.arrays.index(array))

    def block(self) -> None:
        """Some statements, in a scope of their own."""
        marks = {t: len(v) for t, v in self.values.items()}
        indices = len(self.indices)
        for _ in range(self.random.randint(1, 6)):
            if self.fuel <= 0:
                break
            if not self.statement():
                break
        for type_, mark in marks.items():
            del self.values[type_][mark:]
        del self.indices[indices:]

    def statement(self) -> bool:
        """One statement; False when what follows is not reached."""
        f = self.f
        r = self.random
        self.fuel -= 1
        type_ = r.choice((I64, I64, I32, F32, F32, F64, BOOL))
        kind = r.random()
        if kind < 0.3:
            self.value(type_)
        elif kind < 0.55:
            v = r.choice(self.variables[type_])
            if r.random() < 0.7:
                self.emit(ops.COPY, type_, v, [self.value(type_)])
                if r.random() < 0.5:
                    # Reads of the variable right after it was written, as source text has them.
                    self.emit(ops.COPY, type_, f.register(type_), [v])
            else:
                self.emit(r.choice(_BINARY[type_]), type_, v, [self.operand(type_), self.operand(type_)])
        elif kind < 0.65:
            stored = r.choice((F32, I64, I32))
            array, indices = self.array(stored)
            self.emit(ops.STORE, stored, NONE, [self.operand(stored), *indices], f.arrays.index(array))
        elif self.depth > 3:
            self.value(type_)
        elif kind < 0.78:
            self.conditional()
        elif kind < 0.84:
            self.emit(ops.BLOCK, VOID, NONE, [])
            self.inside("block")
            self.emit(ops.END, VOID, NONE, [])
        elif kind < 0.95 and self.loops < 3:
            self.loop()
        elif self.kinds:
            return self.leave()
        return True

    def inside(self, kind: str) -> None:
        self.kinds.append(kind)
        self.depth += 1
        self.block()
        self.depth -= 1
        self.kinds.pop()

    def leave(self) -> bool:
        r = self.random
        # Repeating a loop that counts nothing would not end.
        depths = [k for k in range(len(self.kinds)) if self.kinds[-1 - k] != "loop"]
        if not depths:
            return True
        depth = r.choice(depths)
        if r.random() < 0.6:
            self.emit(ops.BR_IF, VOID, NONE, [self.operand(BOOL)], depth)
            return True
        if r.random() < 0.2:
            self.emit(ops.RET, VOID, NONE, [self.operand(I64)])
        else:
            self.emit(ops.BR, VOID, NONE, [], depth)
        return False

    def conditional(self) -> None:
        r = self.random
        self.emit(ops.IF, VOID, NONE, [self.operand(BOOL)])
        self.inside("if")
        marks = {t: len(v) for t, v in self.values.items()}
        while r.random() < 0.35:
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

    def loop(self) -> None:
        f = self.f
        r = self.random
        self.loops += 1
        kind = r.random()
        if kind < 0.5:
            i = f.register(I64, "i")
            self.emit(ops.FOR, VOID, i, [f.const(I64, 0), f.const(I64, r.randint(0, 3)), f.const(I64, 1)])
            self.values[I64].append(i)
            self.indices.append(i)
            self.inside("for")
            self.indices.pop()
            self.values[I64].remove(i)
            self.emit(ops.END, VOID, NONE, [])
        elif kind < 0.8:
            n = f.register(I64, "n", True)
            self.emit(ops.COPY, I64, n, [f.const(I64, 0)])
            self.emit(ops.WHILE, VOID, NONE, [])
            more = self.emit(ops.LT, I64, f.register(BOOL), [n, f.const(I64, r.randint(0, 3))])
            self.emit(ops.DO, VOID, NONE, [more])
            # Counted first, so that a branch that goes on does not go on for ever; 0 … 3 before that.
            before = self.emit(ops.COPY, I64, f.register(I64), [n])
            t = self.emit(ops.ADD, I64, f.register(I64), [n, f.const(I64, 1)])
            self.emit(ops.COPY, I64, n, [t])
            self.indices.append(r.choice((before, n)))
            self.inside("while")
            self.indices.pop()
            self.emit(ops.END, VOID, NONE, [])
        else:
            n = f.register(I64, "n", True)
            self.emit(ops.COPY, I64, n, [f.const(I64, 0)])
            self.emit(ops.BLOCK, VOID, NONE, [])
            self.kinds.append("block")
            self.emit(ops.LOOP, VOID, NONE, [])
            self.inside("loop")
            t = self.emit(ops.ADD, I64, f.register(I64), [n, f.const(I64, 1)])
            self.emit(ops.COPY, I64, n, [t])
            done = self.emit(ops.GE, I64, f.register(BOOL), [n, f.const(I64, r.randint(1, 3))])
            self.emit(ops.BR_IF, VOID, NONE, [done], 1)
            self.emit(ops.BR, VOID, NONE, [], 0)
            self.emit(ops.END, VOID, NONE, [])
            self.kinds.pop()
            self.emit(ops.END, VOID, NONE, [])
        self.loops -= 1


def random_arguments(seed: int) -> list[Any]:
    """Arguments for what ``Generator`` makes."""
    r = np.random.default_rng(seed)
    x = r.standard_normal(8).astype(np.float32)
    y = r.integers(-100, 100, 8)
    image = r.integers(-(1 << 31), 1 << 31, (8, 8), dtype=np.int32)
    return [x, y, image, int(r.integers(-10, 10)), int(r.integers(-(1 << 62), 1 << 62)), float(np.float32(r.standard_normal())), float(r.standard_normal())]


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
        hi = source.shape[-1]
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
        code.append(Instr(ops.FOR, VOID, row, [f.const(I64, 0), source.shape[0], f.const(I64, 1)]))
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


def results(f: Function, arguments: list[Any]) -> list[Any]:
    """What a call gives: the result, and the arrays afterwards; in a form that compares equal when every bit but NaN's agrees."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        found = run(f, *copies)
    out: list[Any] = ["nan" if found is not None and np.isnan(found) else found]
    for a in copies:
        if isinstance(a, np.ndarray):
            out.append(np.where(np.isnan(a), np.float32(-12345.0), a).tolist() if a.dtype.kind == "f" else a.tolist())
    return out


def rewritten(text: str, *passes: Any, target: Target | None = None) -> str:
    """The body of a function, given as text, after some passes: its instructions without indentation and lines of the user."""
    f = parse(text)
    verify(f)
    for one in passes:
        one.run(f, target if target is not None else AnyTarget())
        verify(f)
    return body(f)


def body(f: Function) -> str:
    """The instructions of a function as text."""
    lines = [line.strip() for line in print_function(f).splitlines()[1:-1]]
    heads = ("option", "array", "var", "reg", "stage", "file", "target", "callee", "site")
    return _numbered("\n".join(line for line in lines if line.split(" ")[0] not in heads))


def block(text: str) -> str:
    """Text without indentation, to compare with what ``rewritten`` gives."""
    return _numbered("\n".join(line.strip() for line in text.strip().splitlines()))


def _numbered(text: str) -> str:
    """Registers numbered in the order they appear in, names kept: what number a new register gets is nobody's business."""
    seen: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        register = found[0]
        return seen.setdefault(register, re.sub(r"\.?\d+$", "", register) + f"_{len(seen)}")

    return re.sub(r"%[\w.]+", number, text)


__all__ = ["AnyTarget", "Generator", "block", "body", "lanes_arguments", "random_arguments", "random_lanes", "results", "rewritten"]
