"""Every operation on every type it takes, on every level of x86-64, does what its row says; or is refused by name.

Operands come in registers, from memory, as constants, and spilled; values are special ones against each other, and random ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.targets.x86.conformance import INTEGER, MODES, Bench, Case, admitted, available, constant_cases, elements_of, limited, same, special_values

from loopwright.compiler import compile, run_passes
from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.stages import STAGES
from loopwright.runtime import cpu
from loopwright.runtime.code import Code
from loopwright.targets import registry
from loopwright.targets.target import Target
from loopwright.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type, mask_of, vector_of

SCALARS = [I32, I64, PTR, F32, F64, U8, BOOL]
NARROW = [I8, I16, U16, U32, U64]
LEVELS = [("x86-64-v3", 128), ("x86-64-v3", 256), ("x86-64-v4", 256), ("x86-64-v4", 512)]
COUNT = 160
#: Rows of the operations that have a meaning, without and with a source type. Those whose source is no free choice have tests of their own.
PLAIN = [op for op in ops.OPS if op.meaning is not None and "S" not in op.operands and op.until > STAGES.index("select")]
CONVERSIONS = [ops.CONVERT, ops.CONVERT_UNCHECKED, ops.BITCAST, ops.MASK_CONVERT]


def needs(name: str) -> Any:
    return pytest.mark.skipif(not (cpu.is_x86_64() and cpu.LEVELS[name] <= cpu.host_features()), reason=f"needs {name}")


def vectors(elements: list[Type], bits: int) -> Iterator[Type]:
    """Vectors of every legal number of lanes: from as many as the widest type has in a register to as many as fit."""
    for element in elements:
        lanes = bits // 64 if bits < 512 else 4
        while lanes * element.bits <= bits:
            yield vector_of(element, lanes)
            lanes *= 2


def masks(widths: tuple[int, ...], bits: int) -> Iterator[Type]:
    for width in widths:
        lanes = bits // 64 if bits < 512 else 4
        while lanes * width <= bits:
            yield mask_of(width, lanes)
            lanes *= 2


def types_of(bits: int) -> list[Type]:
    return [*SCALARS, *vectors([F32, F64, I32, I64, U8], bits), *masks((8, 32, 64), bits)]


def on_levels() -> list[Any]:
    """(level, vector width, type), each type there is."""
    return [pytest.param(name, bits, t, id=f"{name[-2:]}-{bits}-{t}", marks=needs(name)) for name, bits in LEVELS for t in types_of(bits)]


def cases_of(bench: Bench, rows: list[ops.Op], mode: str, seed: int) -> list[Case]:
    if mode == "constants":
        chooser = random.Random(seed)
        return [case for op in rows for case in constant_cases(op, bench, chooser)]
    slides = [Case(ops.SLIDE, shift=k) for k in range(bench.type.lanes + 1)] if ops.SLIDE in rows and mode == "registers" else []
    return [Case(op, shift=max(1, bench.type.lanes // 2)) for op in rows if op is not ops.SLIDE or not slides] + slides


def check(rows: list[ops.Op], t: Type, source: Type, target: Target, modes: tuple[str, ...] = MODES, count: int = COUNT) -> None:
    rows = [op for op in rows if not available(op, t, source, target)]
    wrong: list[str] = []
    for mode in modes if rows else ():
        bench = Bench(t, source)
        bench.build(cases_of(bench, rows, mode, t.number), mode)
        wrong += bench.check(target, mode, count, t.number)
    assert not wrong, "\n".join(wrong)


def sources(op: ops.Op, t: Type, bits: int, among: list[Type]) -> list[Type]:
    """What a conversion to ``t`` may come from."""
    found = []
    for s in among:
        if s.lanes != t.lanes or s.is_mask != t.is_mask or not admitted(op, t):
            continue
        if op is ops.CONVERT_UNCHECKED and not (s.is_float and t.is_integer):
            continue
        if op is ops.BITCAST and (s.bits != t.bits or s is PTR or s.element is BOOL):
            continue
        found.append(s)
    return found


@pytest.mark.parametrize(("level", "bits", "t"), on_levels())
def test_operations_do_what_their_rows_say(level: str, bits: int, t: Type) -> None:
    check([op for op in PLAIN if admitted(op, t)], t, VOID, registry.get(level, bits))


@pytest.mark.parametrize(("level", "bits", "t"), on_levels())
def test_conversions_do_what_their_rows_say(level: str, bits: int, t: Type) -> None:
    for s in types_of(bits):
        rows = [op for op in CONVERSIONS if s in sources(op, t, bits, [s])]
        check(rows, t, s, registry.get(level, bits))


#: (level, what is left of it): so few registers that nearly everything is spilled, and only those whose numbers need longer encodings.
LIMITED = {
    "few": ("x86-64-v3", 256, (0, 2, 1, 6, 7, 3), (0, 1, 2, 3, 4, 5, 6), ()),
    "upper": ("x86-64-v3", 256, (0, 2, 8, 9, 10, 12, 13, 14, 15), tuple(range(8, 16)), ()),
    "few-masks": ("x86-64-v4", 512, (0, 2, 1, 6, 7, 3), (0, 1, 2, 3, 4, 5, 6), (1, 2, 3)),
    "evex": ("x86-64-v4", 512, (0, 2, 8, 9, 10, 12, 13, 14, 15), tuple(range(16, 32)), (4, 5, 6, 7)),
    "evex-256": ("x86-64-v4", 256, (0, 2, 8, 9, 10, 12, 13, 14, 15), tuple(range(16, 32)), (4, 5, 6, 7)),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(row[0])) for name, row in LIMITED.items()])
def test_whatever_registers_there_are(name: str) -> None:
    level, bits, ints, lanes, mask_registers = LIMITED[name]
    target = limited(registry.get(level, bits), ints, lanes, mask_registers)
    types = types_of(bits)
    for t in types:
        check([op for op in PLAIN if admitted(op, t)], t, VOID, target, ("spilled", "constants"))
        if t.lanes in (0, bits // 64, bits // 32):
            for s in types:
                check([op for op in CONVERSIONS if s in sources(op, t, bits, [s])], t, s, target, ("memory",))


@pytest.mark.parametrize(("level", "bits"), [pytest.param(*row, marks=needs(row[0])) for row in LEVELS[1:]])
def test_types_that_are_not_all_there_yet_are_right_or_refused(level: str, bits: int) -> None:
    target = registry.get(level, bits)
    types = [*NARROW, *vectors(NARROW, bits)]
    for t in types:
        check([op for op in PLAIN if admitted(op, t)], t, VOID, target, ("registers",))
        for s in types:
            check([op for op in CONVERSIONS if s in sources(op, t, bits, [s])], t, s, target, ("registers",))


@pytest.mark.parametrize("t", NARROW, ids=str)
@pytest.mark.parametrize(("level", "bits"), [pytest.param(*row, marks=needs(row[0])) for row in LEVELS])
def test_floats_become_the_other_integers_as_their_rows_say(level: str, bits: int, t: Type) -> None:
    target = registry.get(level, bits)
    for t_ in (t, *vectors([t], bits)):
        for s in (F32, F64, *vectors([F32, F64], bits)):
            for to, source in ((t_, s), (s, t_)):
                check([op for op in CONVERSIONS if source in sources(op, to, bits, [source])], to, source, target, ("registers", "memory"), 4 * COUNT)


@pytest.mark.parametrize(("level", "bits"), [pytest.param(*row, marks=needs(row[0])) for row in LEVELS])
def test_shifts_by_every_constant_do_what_their_rows_say(level: str, bits: int) -> None:
    elements = [I8, U8, I16, U16, I32, U32, I64, U64]
    wrong: list[str] = []
    for t in (*elements, *vectors(elements, bits)):
        rows = [ops.SHL, ops.SHR] if t.lanes else [ops.SHL, ops.SHR, ops.SHL_MODULO, ops.SHR_MODULO]
        bench = Bench(t)
        bench.build([Case(op, {1: count}) for op in rows for count in special_values(t.element)], "registers")
        wrong += bench.check(registry.get(level, bits), "registers", COUNT, t.number)
    assert not wrong, "\n".join(wrong)


# --- what is missing -------------------------------------------------------------------------------------------

#: Operation -> element types (for conversions: to, from) for which a level lacks it, scalars and vectors alike where both exist.
MISSING = {
    "div_floor": {"f32", "f64"},
    "convert": {"ptr from f32", "ptr from f64", "f32 from ptr", "f64 from ptr"},
}


def lacking(types: list[Type], bits: int, target: Target) -> dict[str, set[str]]:
    """What the target refuses, by operation; each refusal must name the operation, the type and the target."""
    found: dict[str, set[str]] = {}
    for t in types:
        for op in PLAIN:
            if admitted(op, t):
                why = available(op, t, VOID, target)
                if why:
                    assert f"{op.name} on {t.name} is not available on {target.name}" in why
                    found.setdefault(op.name, set()).add(t.element.name)
        for op in CONVERSIONS:
            for s in sources(op, t, bits, types):
                why = available(op, t, s, target)
                if why:
                    assert f"is not available on {target.name}" in why
                    found.setdefault(op.name, set()).add(f"{t.element.name} from {s.element.name}")
    return found


@pytest.mark.parametrize(("level", "bits"), LEVELS)
def test_what_is_missing_is_this_and_no_more(level: str, bits: int) -> None:
    assert lacking(types_of(bits), bits, registry.get(level, bits)) == MISSING


@pytest.mark.parametrize(("level", "bits"), [row for row in LEVELS if row != ("x86-64-v4", 256)])
def test_nothing_is_missing_for_the_other_integers(level: str, bits: int) -> None:
    assert lacking([*NARROW, *vectors(NARROW, bits)], bits, registry.get(level, bits)) == {}


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_no_conversion_between_scalars_is_missing(level: str) -> None:
    scalars = [I8, U8, I16, U16, I32, U32, I64, U64, F32, F64]
    assert not [(t, s) for t in scalars for s in scalars if available(ops.CONVERT, t, s, registry.get(level))]


@pytest.mark.parametrize("t", [F16, BF16, vector_of(F16, 8), vector_of(BF16, 8)], ids=str)
@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_half_precision_is_refused(level: str, t: Type) -> None:
    for op in PLAIN:
        if admitted(op, t):
            found = available(op, t, VOID, registry.get(level))
            assert t.element.name in found or f"holds {t.element.dtype}" in found


def test_vectors_wider_than_the_machines_are_refused() -> None:
    for level, t in (("x86-64-v3", vector_of(F32, 16)), ("x86-64-v4", vector_of(I32, 32))):
        f = Function("wide")
        array = f.array_param("x", t.element, 1)
        array.written = True
        r = f.register(t)
        f.code = [Instr(ops.LOAD, t, r, [f.const(I64, 0)], 0, 7), Instr(ops.STORE, t, NONE, [r, f.const(I64, 0)], 0, 7)]
        with pytest.raises(UnsupportedOperationError, match=rf"on {t.name} is not available on {level}; its vectors have at most") as caught:
            compile(f, registry.get(level))
        assert caught.value.line == 7


# --- memory ----------------------------------------------------------------------------------------------------


def moving(t: Type, masked: bool, inverted: bool) -> Function:
    """Copies one vector from x to y, at most under the mask made of m; ``inverted``: where m is 0."""
    f = Function("moving")
    f.array_param("x", t.element, 1)
    f.array_param("y", t.element, 1).written = True
    f.array_param("m", INTEGER[t.bits], 1)
    integers = vector_of(INTEGER[t.bits], t.lanes)
    zero = f.const(I64, 0)
    bits, hold, other, value = f.register(integers), f.register(mask_of(t.bits, t.lanes)), f.register(mask_of(t.bits, t.lanes)), f.register(t)
    if masked:
        f.code.append(Instr(ops.LOAD, integers, bits, [zero], 2))
        f.code.append(Instr(ops.NE, integers, hold, [bits, f.const(integers, 0)]))
        if inverted:
            f.code.append(Instr(ops.NOT, f.types[other], other, [hold]))
            hold = other
        f.code.append(Instr(ops.MASKED_LOAD, t, value, [hold, zero], 0))
        f.code.append(Instr(ops.MASKED_STORE, t, NONE, [hold, value, zero], 1))
    else:
        f.code.append(Instr(ops.LOAD, t, value, [zero], 0))
        f.code.append(Instr(ops.STORE, t, NONE, [value, zero], 1))
    return f


@pytest.mark.parametrize(("level", "bits"), [pytest.param(*row, marks=needs(row[0])) for row in LEVELS])
def test_accesses_touch_their_lanes_and_nothing_else(level: str, bits: int) -> None:
    chooser = np.random.default_rng(3)
    target = registry.get(level, bits)
    for t in vectors([F32, F64, I32, I64, U8], bits):
        plain, masked, inverted = (Code(compile(moving(t, *how), target)) for how in ((False, False), (True, False), (True, True)))
        for at_end in (True, False):
            values = chooser.integers(1, 100, t.lanes).astype(t.element.dtype)
            x, y = guarded(values, at_end), guarded(values * 0, at_end)
            plain(x, y, guarded(np.zeros(t.lanes, INTEGER[t.bits].dtype), at_end))
            assert same(y, values)
            for part in range(t.lanes + 1):
                # Only these lanes exist; the others lie in a page that cannot be touched.
                inside = slice(0, part) if at_end else slice(t.lanes - part, t.lanes)
                hold = np.zeros(t.lanes, INTEGER[t.bits].dtype)
                hold[inside] = -1 if INTEGER[t.bits].signed else 255
                x, y = guarded(values[inside], at_end), guarded(values[inside] * 0, at_end)
                # The address of lane 0, wherever the lanes that exist begin.
                whole = [np.lib.stride_tricks.as_strided(_from(a, -(0 if at_end else t.lanes - part)), (t.lanes,)) for a in (x, y)]
                masked(*whole, hold)
                assert same(y, values[inside]), f"{t} {part}"
                y[:] = 0
                inverted(*whole, 1 - (hold != 0).astype(hold.dtype))
                assert same(y, values[inside]), f"{t} {part} inverted"


def _from(a: np.ndarray[Any, Any], lanes: int) -> np.ndarray[Any, Any]:
    """An array of one element at a distance of ``lanes`` elements from the first of ``a``."""
    import ctypes

    address = a.__array_interface__["data"][0] + lanes * a.itemsize
    return np.frombuffer((ctypes.c_char * a.itemsize).from_address(address), a.dtype)


# --- branches --------------------------------------------------------------------------------------------------

BRANCHED = [I32, I64, U8, PTR, F32, F64, BOOL]


def branching(t: Type, name: str, negated: bool, constant: int | float | None, swapped: bool, loaded: bool) -> Function:
    """Stores 1 where a comparison of the elements of two arrays (or with a constant) holds, by an ``if``; else 0."""
    f = Function("branching")
    count = f.param(I64, "count")
    bench = Bench(t)
    x, y = f.array_param("x", elements_of(t), 1), f.array_param("y", elements_of(t), 1)
    out = f.array_param("out", I32, 1)
    out.written = True
    bench.f = f
    i = f.register(I64, "i")
    f.code.append(Instr(ops.FOR, VOID, i, [f.const(I64, 0), count, f.const(I64, 1)]))
    a = bench.load(x, t, i)
    b = f.const(t, constant) if constant is not None else bench.load(y, t, i)
    if not loaded and constant is None and t is not BOOL:
        # A second use, so that the load stays a load.
        bench.emit(ops.STORE, elements_of(t), [bench.emit(ops.CONVERT, I64, [b], I64, source=PTR) if t is PTR else b, i], None, 1)
        y.written = True
    if swapped:
        a, b = b, a
    c = bench.emit(ops.COMPARISONS[name], t, [a, b], BOOL)
    if negated:
        c = bench.emit(ops.NOT, BOOL, [c], BOOL)
    one, zero = f.const(I32, 1), f.const(I32, 0)
    f.code.append(Instr(ops.IF, VOID, NONE, [c]))
    f.code.append(Instr(ops.STORE, I32, NONE, [one, i], 2))
    f.code.append(Instr(ops.ELSE, VOID, NONE, []))
    f.code.append(Instr(ops.STORE, I32, NONE, [zero, i], 2))
    f.code.append(Instr(ops.END, VOID, NONE, []))
    f.code.append(Instr(ops.END, VOID, NONE, []))
    return f


@needs("x86-64-v3")
@pytest.mark.parametrize("t", [t for t in BRANCHED if t is not BOOL], ids=str)
@pytest.mark.parametrize("name", list(ops.COMPARISONS))
def test_branches_go_where_their_comparison_says(t: Type, name: str) -> None:
    target = registry.get("x86-64-v3")
    dtype = np.dtype(t.dtype)
    special = special_values(U64 if t is PTR else t)
    a, b = (v.ravel() for v in np.meshgrid(np.array(special, dtype), np.array(special, dtype)))
    raw = elements_of(t).dtype
    meaning = ops.COMPARISONS[name].meaning
    assert meaning is not None
    for negated in (False, True):
        for constant in (None, *random.Random(name).sample(special, 3)):
            for swapped in (False, True) if constant is not None else (False,):
                for loaded in (False, True) if constant is None else (False,):
                    f = branching(t, name, negated, constant, swapped, loaded)
                    out = np.full(len(a), -1, np.int32)
                    Code(compile(f, target))(len(a), a.view(raw), b.view(raw).copy(), out)
                    other = b if constant is None else np.full(len(a), np.array(constant).astype(dtype))
                    x, y = (other, a) if swapped else (a, other)
                    want = np.asarray(meaning(t, VOID, x, y)) != negated
                    assert (out == want).all(), (negated, constant, swapped, loaded)


# --- choices that are the compiler's ---------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "bits", "t"), [p for p in on_levels() if p.values[2].is_float])
def test_without_nan_and_signed_zeros_the_freedoms_of_fastmath_change_nothing(level: str, bits: int, t: Type) -> None:
    rows = [ops.MIN, ops.MAX, ops.ADD, ops.MUL]
    for mode in MODES:
        bench = Bench(t, fastmath=True)
        bench.build([Case(op) for op in rows], mode) if mode != "constants" else bench.build(
            [Case(op, {p: v}) for op in rows for p in (0, 1) for v in (2.5, -0.1)], mode
        )
        finite = np.random.default_rng(5).integers(1, 50, COUNT)
        arguments = bench.arguments

        def tame(count: int, seed: int, mode: str, bench: Bench = bench, finite: Any = finite, arguments: Any = arguments) -> list[Any]:
            made = arguments(count, seed, mode)
            for k, name in enumerate("abc"):
                bench.values[name] = (finite * (k + 1) - 60.5).astype(made[2 + k].dtype)[: len(bench.values[name])]
                made[2 + k] = np.tile(bench.values[name], len(made[2 + k]) // len(bench.values[name]))
            return made

        bench.arguments = tame  # type: ignore[method-assign]
        assert not bench.check(registry.get(level, bits), mode, COUNT, 1)


def test_every_row_is_covered() -> None:
    # Whatever is neither in PLAIN nor here has no meaning of its own: control flow, memory, calls.
    others = [op for op in ops.OPS if op.meaning is not None and op not in PLAIN and op not in CONVERSIONS]
    assert {op.name for op in others} <= {"crc32c", "any_lane", "all_lanes"}
    assert run_passes is not None
