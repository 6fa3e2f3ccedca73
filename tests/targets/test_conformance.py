"""Every operation on every type it takes, on every target, does what its row says; or is refused by name, and listed as lacking.

Operands come in registers, from memory, as constants, and spilled; values are special ones against each other, and random ones.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.golden import hold
from tests.machines import HALF_ARITHMETIC, RUNNERS, Here, Runner, runners, simulated, with_each
from tests.targets.conformance import INTEGER, MODES, Bench, Case, admitted, available, constant_cases, elements_of, limited, same, special_values

from loopwright.compiler import compile
from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.stages import STAGES
from loopwright.targets import registry
from loopwright.targets.target import Target
from loopwright.types import BOOL, F16, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type, mask_of, vector_of

SCALARS = [I32, I64, PTR, F32, F64, U8, BOOL]
NARROW = [I8, I16, U16, U32, U64]
INTEGERS = [I8, U8, I16, U16, I32, U32, I64, U64]
COUNT = 160
#: Rows of the operations that have a meaning, without and with a source type. Those whose source, or a constant, is no free choice have tests of their own.
#: What these give differs from machine to machine: tests/frontend/test_estimates.py.
ESTIMATES = (ops.RCP_ESTIMATE, ops.RSQRT_ESTIMATE, ops.RSQRT)
PLAIN = [op for op in ops.OPS if op.meaning is not None and not {"S", "C"} & set(op.operands) and op.until > STAGES.index("select") and op not in ESTIMATES]
CONVERSIONS = [ops.CONVERT, *ops.UNCHECKED, ops.BITCAST, ops.MASK_CONVERT, ops.CONVERT_SATURATED, ops.MUL_WIDE]


def vectors(elements: list[Type], bits: int) -> Iterator[Type]:
    """Vectors of every legal number of lanes: from as many as the widest type has in a register to as many as fit."""
    for element in elements:
        lanes = max(bits // 64, 1) if bits < 512 else 4
        while lanes * element.bits <= bits:
            yield vector_of(element, lanes)
            lanes *= 2


def masks(widths: tuple[int, ...], bits: int) -> Iterator[Type]:
    for width in widths:
        lanes = max(bits // 64, 1) if bits < 512 else 4
        while lanes * width <= bits:
            yield mask_of(width, lanes)
            lanes *= 2


def types_of(bits: int) -> list[Type]:
    return [*SCALARS, *vectors([F32, F64, I32, I64, U8], bits), *masks((8, 32, 64), bits)]


def every_type(runner: Runner) -> list[Type]:
    """Those, and of each target once the other scalars."""
    return [*types_of(runner.bits), *(NARROW if runner.widest else [])]


def cases_of(bench: Bench, rows: list[ops.Op], mode: str, seed: int) -> list[Case]:
    if mode == "constants":
        chooser = random.Random(seed)
        return [case for op in rows for case in constant_cases(op, bench, chooser)]
    slides = [Case(ops.SLIDE, shift=k) for k in range(bench.type.lanes + 1)] if ops.SLIDE in rows and mode == "registers" else []
    return [Case(op, shift=max(1, bench.type.lanes // 2)) for op in rows if op is not ops.SLIDE or not slides] + slides


def check(runner: Runner, rows: list[ops.Op], t: Type, source: Type, modes: tuple[str, ...] = MODES, count: int = COUNT, target: Target | None = None) -> None:
    rows = [op for op in rows if not available(op, t, source, target if target is not None else runner.target)]
    for mode in modes if rows else ():
        bench = Bench(t, source)
        bench.build(cases_of(bench, rows, mode, t.number), mode)
        bench.check(runner, mode, count, t.number, target)


def sources(op: ops.Op, t: Type, among: list[Type]) -> list[Type]:
    """What a conversion to ``t`` may come from."""
    found = []
    for s in among:
        if s.lanes != t.lanes or s.is_mask != t.is_mask or not admitted(op, t):
            continue
        if op in ops.UNCHECKED and not (s.is_float and t.is_integer):
            continue
        if op is ops.BITCAST and (s.bits != t.bits or s is PTR or s.element is BOOL):
            continue
        if op in (ops.CONVERT_SATURATED, ops.MUL_WIDE) and not (s.is_integer and t.is_integer):
            continue
        if op is ops.MUL_WIDE and (2 * s.bits != t.bits or s.signed != t.signed):
            continue
        found.append(s)
    return found


@pytest.mark.parametrize(("runner", "t"), with_each(every_type, every_change=simulated))
def test_operations_do_what_their_rows_say(runner: Runner, t: Type) -> None:
    # Scalars are few: every special value against every other.
    check(runner, [op for op in PLAIN if admitted(op, t)], t, VOID, count=COUNT if t.lanes else 4 * COUNT)


@pytest.mark.parametrize(("runner", "t"), with_each(every_type, every_change=simulated))
def test_conversions_do_what_their_rows_say(runner: Runner, t: Type) -> None:
    for s in every_type(runner):
        # (What a float is as a pointer no row says.)
        if not (t is PTR and s.is_float):
            check(runner, [op for op in CONVERSIONS if s in sources(op, t, [s])], t, s)


#: Folder -> what is left of a target: (its name, vector width, codes of registers of each class): so few that nearly everything is spilled, and only
#: those whose numbers need longer encodings.
LIMITED: dict[str, dict[str, tuple[str, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]] = {
    "x86": {
        "few": ("x86-64-v3", 256, (0, 2, 1, 6, 7, 3), (0, 1, 2, 3, 4, 5, 6), ()),
        "upper": ("x86-64-v3", 256, (0, 2, 8, 9, 10, 12, 13, 14, 15), tuple(range(8, 16)), ()),
        "few-masks": ("x86-64-v4", 512, (0, 2, 1, 6, 7, 3), (0, 1, 2, 3, 4, 5, 6), (1, 2, 3)),
        "evex": ("x86-64-v4", 512, (0, 2, 8, 9, 10, 12, 13, 14, 15), tuple(range(16, 32)), (4, 5, 6, 7)),
        "evex-256": ("x86-64-v4", 256, (0, 2, 8, 9, 10, 12, 13, 14, 15), tuple(range(16, 32)), (4, 5, 6, 7)),
    },
    "riscv": {
        "few": ("rv64gc", 0, (10, 11, 12, 5, 8, 9), (10, 11, 12, 13, 8), ()),
        "not compressed": ("rv64gc", 0, (5, 6, 7, *range(28, 32)), tuple(range(16, 32)), ()),
    },
}


@pytest.mark.parametrize(
    ("runner", "registers"),
    with_each(lambda r: [name for name, row in LIMITED.get(r.folder, {}).items() if (r.name, r.bits) == row[:2]], every_change=simulated),
)
def test_whatever_registers_there_are(runner: Runner, registers: str) -> None:
    target = limited(runner.target, *LIMITED[runner.folder][registers][2:])
    types = types_of(runner.bits)
    for t in types:
        check(runner, [op for op in PLAIN if admitted(op, t)], t, VOID, ("spilled", "constants"), target=target)
        if t.lanes in (0, runner.bits // 64, runner.bits // 32):
            for s in types:
                if not (t is PTR and s.is_float):
                    check(runner, [op for op in CONVERSIONS if s in sources(op, t, [s])], t, s, ("memory",), target=target)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.bits and (runner.bits, runner.name) != (128, "x86-64-v3")))
def test_vectors_of_the_other_integers_are_right_or_refused(runner: Runner) -> None:
    types = [*NARROW, *vectors(NARROW, runner.bits)]
    for t in types:
        check(runner, [op for op in PLAIN if admitted(op, t)], t, VOID, ("registers",))
        for s in types:
            check(runner, [op for op in CONVERSIONS if s in sources(op, t, [s])], t, s, ("registers",))


@pytest.mark.parametrize(("runner", "t"), with_each(lambda _: NARROW))
def test_floats_become_the_other_integers_as_their_rows_say(runner: Runner, t: Type) -> None:
    for t_ in (t, *vectors([t], runner.bits)):
        for s in (F32, F64, *vectors([F32, F64], runner.bits)):
            for to, source in ((t_, s), (s, t_)):
                check(runner, [op for op in CONVERSIONS if source in sources(op, to, [source])], to, source, ("registers", "memory"), 4 * COUNT)


@pytest.mark.parametrize("runner", runners())
def test_shifts_by_every_constant_do_what_their_rows_say(runner: Runner) -> None:
    for t in (*INTEGERS, *vectors(INTEGERS, runner.bits)):
        rows = [ops.SHL, ops.SHR] if t.lanes else [ops.SHL, ops.SHR, ops.SHL_MODULO, ops.SHR_MODULO]
        rows = [op for op in rows if not available(op, t, VOID, runner.target)]
        bench = Bench(t)
        bench.build([Case(op, {1: count}) for op in rows for count in special_values(t.element)], "registers")
        bench.check(runner, "registers", COUNT, t.number)


# --- what is missing -------------------------------------------------------------------------------------------

#: A file for each target: the operations that it lacks, and for which types.
LACKING = Path(__file__).with_name("lacking")


def lacking(target: Target, bits: int) -> list[str]:
    """What the target refuses, by operation; each refusal must name the operation, the type and the target."""
    types = [*types_of(bits), *NARROW, *vectors(NARROW, bits)]
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for op in PLAIN + CONVERSIONS:
        for t in types:
            for s in ([VOID] if op in PLAIN else sources(op, t, types)) if admitted(op, t) else []:
                why = available(op, t, s, target)
                if why:
                    assert op.name in why and t.name in why and target.name in why, why
                name = t.element.name if s is VOID else f"{t.element.name} from {s.element.name}"
                found[op.name][f"vectors of {name}" if t.lanes else name].append(bool(why))
    rows: list[str] = []
    for name, by_type in found.items():
        lacks = [f"{t}{'' if all(refused) else ' (some)'}" for t, refused in by_type.items() if any(refused)]
        rows += [f"{name}: {', '.join(lacks)}"] if lacks else []
    return rows or ["nothing"]


@pytest.mark.parametrize("runner", [pytest.param(runner, id=repr(runner)) for runner in RUNNERS])
def test_what_is_lacking_is_this_and_no_more(runner: Runner, bless: bool) -> None:
    # A table for all widths of a target, but where a narrower one has its own.
    own = LACKING / f"{runner!r}.txt"
    hold(own if own.exists() else LACKING / f"{runner.name}.txt", lacking(runner.target, runner.bits), f"{runner} lacks something else", bless)


def test_every_target_has_its_table_and_no_other() -> None:
    tables = {path.stem for path in LACKING.iterdir()}
    assert tables - {repr(runner) for runner in RUNNERS if not runner.widest} == set(registry.names())


@pytest.mark.parametrize("runner", [*runners(lambda runner: runner.widest), *HALF_ARITHMETIC])
def test_half_floats_do_what_their_rows_say(runner: Runner) -> None:
    if not runner.ties_of_halves:
        pytest.skip(f"what runs {runner} rounds ties of f16 the wrong way")
    native = bool(runner.target.half_operations)
    widest = runner.bits // (16 if native else 32)
    modes = MODES if native else ("registers", "constants")
    several = {2, widest, 4} if native else {2, widest} if runner.bits else set()
    for t in [F16, *(vector_of(F16, lanes) for lanes in sorted(several))]:
        check(runner, [op for op in PLAIN if admitted(op, t) and op not in (ops.COMPRESS, ops.EXPAND, *ops.UNDER_MASKS)], t, VOID, modes)
        for element in (BOOL, F16, F32, F64, *INTEGERS) if native else (F16, F32, F64, I8, U16, I32, U32, I64, U64):
            if element is BOOL and t.lanes:
                continue
            s = vector_of(element, t.lanes)
            for to, source in ((t, s), (s, t)):
                check(runner, [op for op in CONVERSIONS if source in sources(op, to, [source])], to, source, ("registers",))


@pytest.mark.parametrize("runner", [pytest.param(runner, id=repr(runner)) for runner in RUNNERS if runner.widest])
def test_vectors_wider_than_the_machines_are_refused(runner: Runner) -> None:
    for element in (F32, I32):
        t = vector_of(element, max(2 * runner.bits, 128) // 32)
        f = Function("wide")
        array = f.array_param("x", t.element, 1)
        array.written = True
        r = f.register(t)
        f.code = [Instr(ops.LOAD, t, r, [f.const(I64, 0)], 0, 7), Instr(ops.STORE, t, NONE, [r, f.const(I64, 0)], 0, 7)]
        with pytest.raises(UnsupportedOperationError) as caught:
            compile(f, runner.target)
        message = str(caught.value)
        assert t.name in message and runner.name in message
        assert "its vectors have at most" in message or not runner.bits
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


@pytest.mark.parametrize("runner", runners(lambda runner: runner.bits))
def test_accesses_touch_their_lanes_and_nothing_else(runner: Runner) -> None:
    chooser = np.random.default_rng(3)
    target = runner.target

    def moved(y: np.ndarray[Any, Any], values: np.ndarray[Any, Any], what: str) -> Any:
        def compare(_: Any) -> None:
            assert same(y, values), what

        return compare

    for t in vectors([F32, F64, I32, I64, U8, U16], runner.bits):
        plain, masked, inverted = (compile(moving(t, *how), target) for how in ((False, False), (True, False), (True, True)))
        for at_end in (True, False):
            values = chooser.integers(1, 100, t.lanes).astype(t.element.dtype)
            x, y = guarded(values, at_end), guarded(values * 0, at_end)
            runner.run(plain, [x, y, guarded(np.zeros(t.lanes, INTEGER[t.bits].dtype), at_end)], moved(y, values, f"{t}"))
            # Under QEMU arrays end at a page that cannot be touched, and lanes that lie in front of one cannot be told of.
            for part in range(t.lanes + 1) if at_end or isinstance(runner, Here) else ():
                # Only these lanes exist; the others lie in a page that cannot be touched.
                inside = slice(0, part) if at_end else slice(t.lanes - part, t.lanes)
                hold = np.zeros(t.lanes, INTEGER[t.bits].dtype)
                hold[inside] = -1 if INTEGER[t.bits].signed else 255
                for code, mask, what in ((masked, hold, ""), (inverted, 1 - (hold != 0).astype(hold.dtype), "inverted")):
                    x, y = guarded(values[inside], at_end), guarded(values[inside] * 0, at_end)
                    # The address of lane 0, wherever the lanes that exist begin.
                    whole = [x, y] if at_end else [_from(a, -(t.lanes - part)) for a in (x, y)]
                    runner.run(code, [*whole, mask], moved(y, values[inside], f"{t} {part} {what}"))


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


def least(runner: Runner) -> bool:
    """Whether it is the first of its machine: all its targets have the same instructions for scalars."""
    return runner.name == next(iter(registry.machines()[runner.folder].levels)) and runner.widest


@pytest.mark.parametrize("runner", runners(least))
@pytest.mark.parametrize("t", [t for t in BRANCHED if t is not BOOL], ids=str)
@pytest.mark.parametrize("name", list(ops.COMPARISONS))
def test_branches_go_where_their_comparison_says(runner: Runner, t: Type, name: str) -> None:
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
                    other = b if constant is None else np.full(len(a), np.array(constant).astype(dtype))
                    x, y = (other, a) if swapped else (a, other)
                    want = np.asarray(meaning(t, VOID, x, y)) != negated
                    what = f"negated: {negated}, constant: {constant}, swapped: {swapped}, loaded: {loaded}"

                    def compare(_: Any, out: Any = out, want: Any = want, what: str = what) -> None:
                        assert (out == want).all(), what

                    runner.run(compile(f, runner.target), [len(a), a.view(raw), b.view(raw).copy(), out], compare)


# --- choices that are the compiler's ---------------------------------------------------------------------------


@pytest.mark.parametrize(("runner", "t"), with_each(lambda runner: [t for t in types_of(runner.bits) if t.is_float]))
def test_without_nan_and_signed_zeros_the_freedoms_of_fastmath_change_nothing(runner: Runner, t: Type) -> None:
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
        bench.check(runner, mode, COUNT, 1)


def test_every_row_is_covered() -> None:
    # Whatever is neither in PLAIN nor here has no meaning of its own: control flow, memory, calls. (Choices hold comparisons where those are compared and chosen by.)
    others = [op for op in ops.OPS if op.meaning is not None and op not in PLAIN and op not in CONVERSIONS]
    # Permutations by a pattern are made for elements in turn only, where tests/vectors/test_accesses.py and tests/ir/test_ops.py hold them.
    # Sums of several lanes each are made for totals only, where tests/vectors/test_sums.py and test_dot_products.py hold them; look-ups by number for constant tables,
    # where tests/vectors/test_tables.py does.
    patterns = {
        "lookup_bytes",
        "lookup_lanes",
        "lookup_pair",
        "literal",
        "blend",
        "choose_chunks",
        "lane_pattern",
        "shuffle_bytes",
        "dot",
        "dot_add",
        "dot_mixed_add",
        "sum_groups",
        "sum_abs_diff",
    }
    assert {op.name for op in others} <= patterns | {
        "crc32c",
        "add_scaled",  # (tests/targets/x86/test_multiples.py)
        *(op.name for op in ESTIMATES),
        "from_f16",
        "to_f16",
        "any_lane",
        "all_lanes",
        *(op.name for op in ops.SELECT_CMP.values()),
    }
