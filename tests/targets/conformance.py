"""Loops that apply operations to whole arrays of operands, in the many ways an operand can reach an instruction.

A ``Bench`` collects operations on one type and becomes one function: for every vector (or scalar) of the operand arrays it computes each
operation and stores each result in a section of its own of a result array. ``expected`` says by the operations' rows what must be there.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any, Final

import numpy as np
from tests.machines import Runner

from loopwright.compiler import Compiled, compile, run_passes
from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Array, Function, Instr, Options
from loopwright.ir.ops import Op
from loopwright.targets import registry
from loopwright.targets.target import Target
from loopwright.types import BOOL, F64, I16, I32, I64, PTR, U8, U32, U64, VOID, Type, mask_of, vector_of

#: How operands reach the instruction: in registers; each one loaded for it alone, so that the load may be folded in; one or another a
#: constant; in registers so many at once that they are spilled.
MODES: Final = ("registers", "memory", "constants", "spilled")

#: Operations whose lanes do not stand each for itself, beside those whose operands say so.
ACROSS: Final = ops.ACROSS_LANES | {ops.IOTA}

#: Integers of a mask's width.
INTEGER: Final[dict[int, Type]] = {8: U8, 16: I16, 32: I32, 64: I64}

#: Conversions that do not check whether a float fits: how they make it whole.
WHOLE: Final[dict[Op, Any]] = dict(zip(ops.UNCHECKED, (np.trunc, np.floor, np.ceil, np.rint), strict=True))


def special_values(t: Type) -> list[Any]:
    """What goes wrong if anything does."""
    if t.is_float:
        info = np.finfo(t.dtype)
        tiny, least = float(info.tiny), float(info.smallest_subnormal)
        values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, -7.0, float(info.max), float(info.min), tiny, -tiny, least, -least, 3 * least]
        values += [np.inf, -np.inf, np.nan, 1 + float(info.eps), 2.0**23 + 0.5, 2.0**52 + 0.5, 1e10, -1e10, -0.9, -5.0]
        # Around the bounds of the integers.
        for bound in (127, 128, 255, 256, 2**15, 2**16 - 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64):
            with np.errstate(all="ignore"):
                at = np.array(bound).astype(t.dtype)
                values += [float(v) for near in (at - np.spacing(at), at, at + np.spacing(at), at - at.dtype.type(0.5)) for v in (near, -near)]
        return values
    if t is BOOL:
        return [False, True]
    low, high = (-(1 << (t.bits - 1)), (1 << (t.bits - 1)) - 1) if t.signed else (0, (1 << t.bits) - 1)
    values = [low, low + 1, high, high - 1, 0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, high // 2, high // 3, 1 << (t.bits - 2)]
    if t.signed:
        values += [-1, -2, -7, -100]
    if t.bits == 64:
        values += [1 << 31, 1 << 32, (1 << 53) + 1, (1 << 24) + 1, 0xFFFFFFFF, *([-(1 << 31), -(1 << 31) - 1, -(1 << 53) - 1] if t.signed else [1 << 63])]
    return values


def limited(target: Target, ints: tuple[int, ...], vectors: tuple[int, ...], masks: tuple[int, ...] = ()) -> Target:
    """A target with only the registers whose codes are given: spilling everywhere, or encodings for the upper registers."""
    machine = registry.machine_of(target.name)
    assert machine is not None
    # One of its own: those of the registry are shared.
    made = machine.make(target.name, target.vector_bits, target.convention.name, frozenset())
    made.orders = [tuple(r for r in order if target.registers[r].code in kept) for order, kept in zip(target.orders, (ints, vectors, masks), strict=False)]
    made.order_masks = [[1 << r for r in order] for order in made.orders]
    made.class_masks = [sum(order) for order in made.order_masks]
    return made


def operands(t: Type, count: int, seed: int) -> list[np.ndarray[Any, Any]]:
    """Three arrays of ``count`` elements: special values against each other, then random ones."""
    chooser = np.random.default_rng(seed)
    dtype = np.uint8 if t is BOOL else np.dtype(t.dtype)
    with np.errstate(all="ignore"):
        special = np.array([int(v) if t is BOOL else v for v in special_values(t)], dtype)
    arrays = []
    for _ in range(3):
        if t is BOOL:
            noise = chooser.integers(0, 2, count).astype(dtype)
        elif t.is_float:
            with np.errstate(over="ignore"):
                noise = (chooser.normal(size=count) * 10.0 ** chooser.integers(-3, 6, count)).astype(dtype)
        else:
            noise = (
                chooser.integers(0, 1 << t.bits, count, dtype=np.uint64).astype(dtype)
                if t.bits < 64
                else chooser.integers(0, 1 << 64, count, dtype=np.uint64, endpoint=False).astype(dtype)
            )
            # Small ones as well: equal pairs, counts of shifts, divisors.
            small = chooser.integers(0, 5, count).astype(dtype)
            noise = np.where(chooser.random(count) < 0.3, small, noise)
        picked = special[chooser.integers(0, len(special), count)]
        arrays.append(np.where(chooser.random(count) < 0.6, picked, noise))
    with np.errstate(all="ignore"):
        # Equal operands, which neither of the above gives often.
        arrays[1] = np.where(chooser.random(count) < 0.1, arrays[0], arrays[1])
    return [np.ascontiguousarray(a) for a in arrays]


class Case:
    """One operation of a bench: which row, its source type, how it takes its operands, a lane count for SLIDE."""

    def __init__(self, op: Op, constants: dict[int, Any] | None = None, shift: int = 0) -> None:
        self.op = op
        self.constants = constants or {}
        self.shift = shift

    def __repr__(self) -> str:
        return f"{self.op.name}{self.constants or ''}"


def elements_of(t: Type) -> Type:
    """The type of the array elements that hold values of ``t``: bools are kept as bytes, pointers as 64-bit integers, masks as integers of their width."""
    if t.is_mask:
        return INTEGER[t.bits]
    return U8 if t.element is BOOL else I64 if t is PTR else t.element


class Bench:
    """See the module."""

    def __init__(self, t: Type, source: Type = VOID, fastmath: bool = False, contract: bool = False) -> None:
        self.type = t
        self.source = source
        self.lanes = max(t.lanes, 1)
        self.f = f = Function(f"bench_{t.name}_{source.name}", VOID, Options(contract=contract, fastmath=fastmath))
        self.n = f.param(I64, "n")
        self.total = f.param(I64, "total")
        given = source if source is not VOID else t
        self.given = given
        self.inputs: list[Array] = [f.array_param(name, elements_of(given), 1) for name in "abc"]
        # What decides `select` and masked accesses, and the bools of `mask_splat`.
        self.conditions = f.array_param("m", INTEGER[t.bits] if t.lanes else U8, 1)
        self.numbers = f.array_param("k", I64, 1)
        self.scalars = f.array_param("e", elements_of(t.element if not t.is_mask else BOOL), 1)
        self.kept = f.array_param("kept", self.scalars.element, 1)
        self.kept.written = True
        self.results: dict[Type, Array] = {}
        for name, element in (("rt", elements_of(t)), ("rm", INTEGER[t.bits]), ("rb", I32), ("ri", I64), ("rf", F64)):
            if element not in self.results:
                self.results[element] = f.array_param(name, element, 1)
                self.results[element].written = True
        self.cases: list[Case] = []
        self.places: list[tuple[Type, Type]] = []

    # --- building -------------------------------------------------------------------------------------------

    def emit(self, op: Op, t: Type, args: list[int], result: Type | None = None, imm: int = 0, source: Type = VOID) -> int:
        dst = NONE if result is None else self.f.register(result)
        self.f.code.append(Instr(op, t, dst, args, imm, 1, source))
        return dst

    def load(self, array: Array, t: Type, at: int) -> int:
        """The operand of type ``t`` at index ``at``: masks and bools are made of integers."""
        number = self.f.arrays.index(array)
        if t.is_mask:
            lanes = vector_of(INTEGER[t.bits], t.lanes)
            return self.emit(ops.NE, lanes, [self.emit(ops.LOAD, lanes, [at], lanes, number), self.f.const(lanes, 0)], t)
        if t is BOOL:
            byte = self.emit(ops.LOAD, U8, [at], U8, number)
            return self.emit(ops.NE, U8, [byte, self.f.const(U8, 0)], BOOL)
        if t is PTR:
            return self.emit(ops.CONVERT, PTR, [self.emit(ops.LOAD, I64, [at], I64, number)], PTR, source=I64)
        return self.emit(ops.LOAD, t, [at], t, number)

    def store(self, t: Type, value: int, case: int, at: int) -> None:
        """Store a result in its case's section."""
        f = self.f
        element = elements_of(t)
        if t.is_mask:
            lanes = vector_of(element, t.lanes)
            value = self.emit(ops.SELECT, lanes, [value, f.const(lanes, 1), f.const(lanes, 0)], lanes)
            t = lanes
        elif t is BOOL:
            value = self.emit(ops.SELECT, I32, [value, f.const(I32, 1), f.const(I32, 0)], I32)
            t = element = I32
        elif t is PTR:
            value = self.emit(ops.CONVERT, I64, [value], I64, source=PTR)
            t = I64
        elif t.is_integer and not t.lanes and t.bits < 64:
            # Widened, so that what lies above a narrow result in its register shows: of u32 in the conversion to a float, of 64 bits.
            element = F64 if t is U32 else I64
            value = self.emit(ops.CONVERT, element, [value], element, source=t)
            t = element
        self.places.append((t, element))
        self.emit(ops.STORE, t, [value, self.section(case, at)], None, f.arrays.index(self.results[element]))

    def section(self, case: int, at: int) -> int:
        """Index ``at`` in the section of a case."""
        if case == 0:
            return at
        return self.emit(ops.ADD, I64, [at, self.emit(ops.MUL, I64, [self.total, self.f.const(I64, case)], I64)], I64)

    def operand_type(self, op: Op, letter: str) -> Type:
        t = self.type
        return {"T": t, "S": self.source, "E": t.element, "M": ops.mask_for(t), "B": BOOL, "L": I64, "K": I64}[letter]

    def build(self, cases: list[Case], mode: str) -> None:
        """The function's code: a loop over the arrays, with every case in it."""
        f = self.f
        self.cases = cases
        i = f.register(I64, "i")
        f.code.append(Instr(ops.FOR, VOID, i, [f.const(I64, 0), self.n, f.const(I64, self.lanes)]))
        held: dict[tuple[str, int], int] = {}
        pending: list[tuple[Type, int, int]] = []
        for number, case in enumerate(cases):
            args: list[int] = []
            for position, letter in enumerate(case.op.operands):
                args.append(self.operand(case, number, position, letter, i, held, mode))
            t = ops.result_type(case.op, self.type, self.source)
            result = self.emit(case.op, self.type, args, t, source=self.source if "S" in case.op.operands else VOID)
            if mode == "spilled":
                pending.append((t, result, number))
            else:
                self.store(t, result, number, i)
        for (name, _), value in held.items():
            if name == "Ee":
                # Used again, so that it stays in a register.
                self.emit(ops.STORE, self.type.element, [value, i], None, f.arrays.index(self.kept))
        for t, result, number in pending:
            self.store(t, result, number, i)
        f.code.append(Instr(ops.END, VOID, NONE, []))

    def operand(self, case: Case, number: int, position: int, letter: str, i: int, held: dict[tuple[str, int], int], mode: str) -> int:
        f = self.f
        t = self.operand_type(case.op, letter)
        if position in case.constants:
            return f.const(t, case.constants[position])
        if case.op is ops.SLIDE and position == 2:
            return f.const(I64, case.shift)
        array = {"T": self.inputs, "S": self.inputs}.get(letter)
        if array is not None:
            source = array[position - (1 if case.op.operands[0] == "M" else 0)]
        else:
            source = {"M": self.conditions, "E": self.scalars, "B": self.scalars, "L": self.numbers}[letter]
        # The k-th number of lane_mask is its k-th operand.
        key = (letter + source.name, position if letter == "L" else 0)
        if mode == "memory":
            at = self.section(number, i)
            loaded = self.load(source, t, self.emit(ops.ADD, I64, [at, f.const(I64, 1)], I64) if letter == "L" and position else at)
            return self.emit(ops.AND, I64, [loaded, f.const(I64, self.lanes - 1)], I64) if case.op is ops.FIRST_LANES else loaded
        if key not in held:
            at = i
            if letter == "L" and position:
                at = self.emit(ops.ADD, I64, [i, f.const(I64, 1)], I64)
            held[key] = self.load(source, t, at)
        if case.op is ops.FIRST_LANES:
            return self.emit(ops.AND, I64, [held[key], f.const(I64, self.lanes - 1)], I64)
        return held[key]

    # --- running --------------------------------------------------------------------------------------------

    def arguments(self, count: int, seed: int, mode: str) -> list[Any]:
        """Arguments for the function: operands tiled once for each case, results empty."""
        given, t = self.given, self.type
        chooser = np.random.default_rng(seed + 1)
        tiles = len(self.cases) if mode == "memory" else 1
        element = BOOL if given.is_mask or given is BOOL else U64 if given is PTR else given.element
        a, b, c = (x.astype(elements_of(given).dtype) for x in operands(element, count, seed))
        if given is PTR:
            a, b = a & 0x7FFFFFFFFFFF, b & 0xFFFF
        scalars = operands(t.element if not t.is_mask else BOOL, count, seed + 2)[0].astype(self.scalars.element.dtype)
        conditions = chooser.integers(0, 2, count).astype(self.conditions.element.dtype)
        numbers = chooser.integers(-70, 70, count + 1)
        self.values = {"a": a, "b": b, "c": c, "m": conditions, "e": scalars, "k": numbers}
        length = count * len(self.cases)
        out: list[Any] = [count, count]
        for values in (a, b, c, conditions):
            out.append(np.tile(values, tiles))
        out.append(np.concatenate([np.tile(numbers[:-1], tiles), numbers[:1]]))
        out.append(np.tile(scalars, tiles))
        out.append(np.zeros_like(scalars))
        for array in self.results.values():
            out.append(np.zeros(length, array.element.dtype))
        return out

    def expected(self, number: int, count: int) -> np.ndarray[Any, Any]:
        """What the section of a case must hold, at the indices that are written."""
        case, t = self.cases[number], self.type
        meaning = case.op.meaning
        assert meaning is not None
        out = []
        letters = case.op.operands
        # Operations lane by lane can be asked for everything at once, as one very long vector.
        whole = (
            case.op.result in ("T", "M") and "E" not in letters and "B" not in letters and "L" not in letters and "K" not in letters and case.op not in ACROSS
        )
        # Types have at most 4096 lanes by name; the meanings do not mind.
        step = count if whole else self.lanes
        run_t = t if not whole else mask_of(t.bits, step) if t.is_mask or t is BOOL else vector_of(U64 if t is PTR else t.element, step)
        run_s = (
            self.source
            if not whole or self.source is VOID
            else mask_of(self.source.bits, step)
            if self.source.element is BOOL
            else vector_of(U64 if self.source is PTR else self.source.element, step)
        )
        for at in range(0, count, step):
            args: list[Any] = []
            for position, letter in enumerate(letters):
                lanes = step if whole else self.operand_type(case.op, letter).lanes
                args.append(self.value(case, position, letter, at, lanes))
            result = meaning(run_t, run_s, *args)
            out.append(np.atleast_1d(np.asarray(result)))
        made = np.concatenate(out)
        element = self.places[number][1]
        return made.astype(element.dtype)

    def value(self, case: Case, position: int, letter: str, at: int, lanes: int) -> Any:
        t = self.operand_type(case.op, letter)
        if case.op is ops.SLIDE and position == 2:
            return case.shift
        logical = t.element is BOOL
        dtype = np.bool_ if logical else np.dtype(t.element.dtype)
        if position in case.constants:
            with np.errstate(over="ignore"):
                constant = np.array(case.constants[position]).astype(dtype)
            return np.full(lanes, constant, dtype) if lanes else constant[()]
        if letter in "TS":
            values = self.values["abc"[position - (1 if case.op.operands[0] == "M" else 0)]]
        else:
            values = self.values[{"M": "m", "E": "e", "B": "e", "L": "k"}[letter]]
            if letter == "L" and position:
                values = np.roll(values, -1)
            if case.op is ops.FIRST_LANES:
                values = values & (self.lanes - 1)
        picked = values[at : at + lanes] if lanes else values[at]
        if logical:
            return picked != 0
        return picked.astype(dtype)

    def check(self, runner: Runner, mode: str, count: int, seed: int, target: Target | None = None) -> None:
        """Compile, run, compare; for a target like the runner's, if one is given."""
        count = -(-count // self.lanes) * self.lanes
        target = target if target is not None else runner.target
        compiled = compile(self.f, target)
        lacking = needed(compiled) - target.features
        assert not lacking, f"{target.name} has no {', '.join(sorted(lacking))}, which some instruction needs"
        args = self.arguments(count, seed, mode)

        def compare(_: Any) -> None:
            wrong = self.wrong(dict(zip(self.results, args[9:], strict=True)), count, runner)
            assert not wrong, f"{mode}, {runner}:\n" + "\n".join(wrong)

        runner.run(compiled, args, compare)

    def wrong(self, results: dict[Type, Any], count: int, runner: Runner) -> list[str]:
        """The cases whose results differ from what is expected, described."""
        wrong = []
        for number, case in enumerate(self.cases):
            if self.lanes > 1 and (case.op.name, self.type.element.name, self.source.element.name) in runner.misjudged:
                continue
            want = self.expected(number, count)
            place, element = self.places[number]
            got = results[element][number * count : (number + 1) * count]
            if not place.lanes and self.lanes > 1:
                got = got[:: self.lanes]
            different = ~equal(got, want)
            whole = WHOLE.get(case.op)
            if whole is not None:
                given = np.full(count, case.constants[0], self.given.element.dtype) if case.constants else self.values["a"]
                different &= fits(whole(given), self.type.element)[: len(got)]
            if different.any():
                bad = int(np.flatnonzero(different)[0])
                at = bad if place.lanes or self.lanes == 1 else bad * self.lanes
                shown = {name: values[at] for name, values in self.values.items() if at < len(values)}
                wrong.append(f"{case} on {self.type} {self.source}: at {bad} got {got[bad]!r}, want {want[bad]!r}; {shown}")
        return wrong


def needed(compiled: Compiled) -> set[str]:
    """The CPU features that the instructions of a compiled function need, where their rows say so: a CPU with more of them would run too much."""
    items = getattr(compiled.instructions, "items", ())
    return {feature for row in items for feature in row[0].features}


def equal(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Element by element the same bits, or both NaN."""
    if got.dtype.kind == "f":
        raw = np.dtype(f"u{got.dtype.itemsize}")
        return (got.view(raw) == want.view(raw)) | (np.isnan(got) & np.isnan(want))
    return got == want


def same(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> bool:
    return got.shape == want.shape and bool(equal(got, want).all())


def fits(values: np.ndarray[Any, Any], element: Type) -> np.ndarray[Any, Any]:
    """Whether floats without a fraction are integers of a type: of others conversions that do not check that give anything."""
    info = np.iinfo(element.dtype)
    cut = values.astype(np.float64)
    return (cut >= float(info.min)) & ((cut < float(info.max)) | (cut == info.max) & (element.bits < 64))


def admitted(op: Op, t: Type) -> bool:
    """Whether an operation's row takes a type."""
    shapes = op.types & {"scalar", "vector"}
    if shapes and ("vector" if t.lanes else "scalar") not in shapes:
        return False
    if t.is_mask:
        return "mask" in op.types
    if t.element is BOOL:
        return "bool" in op.types
    if t is PTR:
        return "ptr" in op.types
    return ("float" if t.is_float else "int") in op.types


@cache
def available(op: Op, t: Type, source: Type, target: Target) -> str:
    """Why a target lacks an operation for a type, or "". Anything but an ``UnsupportedOperationError`` is a bug and raised."""
    bench = Bench(t, source)
    bench.build([Case(op, shift=1)], "registers")
    try:
        run_passes(bench.f, target, "select")
    except UnsupportedOperationError as error:
        return str(error)
    return ""


def constant_cases(op: Op, bench: Bench, chooser: random.Random) -> list[Case]:
    """Cases with one operand (or with two, all) constant."""
    cases = []
    for position, letter in enumerate(op.operands):
        if letter not in "TSEM" or op is ops.SLIDE:
            continue
        t = bench.operand_type(op, letter)
        element = BOOL if t.element is BOOL else t.element
        values = special_values(U64 if t is PTR else element)
        for value in chooser.sample(values, min(3, len(values))):
            cases.append(Case(op, {position: value}))
    return cases
