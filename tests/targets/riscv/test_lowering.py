"""Every scalar operation for every type, with its operands in registers and as constants, against the meaning in its row."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from loopwright.compiler import Compiled, compile
from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr, Mem
from loopwright.ir.stages import STAGES
from loopwright.runtime import emulate
from loopwright.targets.riscv.target import rv64gc
from loopwright.types import BOOL, F16, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type, vector_of

pytestmark = pytest.mark.skipif(not emulate.available("rv64gc"), reason="qemu-riscv64 is not installed (Debian package qemu-user)")

TARGET = rv64gc()
INTEGERS = (I8, U8, I16, U16, I32, U32, I64, U64)
FLOATS = (F32, F64)


def interesting(type_: Type) -> list[Any]:
    """Values at which things go wrong."""
    if type_ is BOOL:
        return [False, True]
    if type_.is_float:
        limits = [0.5, 1.5, 2.5, -2.5, 8388609.0, -4503599627370497.0, 2147483647.0, 2147483648.0, -2147483648.5, 9.3e18, -9.3e18, 1e30, -1e30]
        return [0.0, -0.0, 1.0, -1.0, 3.7, -3.7, math.inf, -math.inf, math.nan, 1e-40, *limits]
    low = -(1 << (type_.bits - 1)) if type_.signed else 0
    high = low + (1 << type_.bits) - 1
    return sorted({low, low + 1, high, high - 1, high // 2, 0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 31, 32, 63, 64, 100, *((-1, -2, -7, -100) if type_.signed else ())})


def around_bounds(type_: Type) -> list[Any]:
    """Interesting floats, and those around the bounds of the integers."""
    bounds = (127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64)
    return interesting(type_) + [sign * near for bound in bounds for near in (bound - 0.5, float(bound), bound + 0.5) for sign in (1, -1)]


def typed(type_: Type, value: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.dtype(type_.dtype).type(value)


def build(op: ops.Op, type_: Type, operands: list[Type], result: Type, source: Type = VOID, constants: dict[int, Any] | None = None) -> Compiled:
    """The function that applies the operation to its arguments; ``constants`` take the place of some.

    It returns an integer widened, so that what lies above a narrow one in its register shows.
    """
    widened = I64 if result.is_integer and result.bits < 64 else result
    f = Function(f"{op.name}_{type_.name}", widened)
    args = []
    for position, operand in enumerate(operands):
        if constants and position in constants:
            args.append(f.const(operand, constants[position]))
        else:
            args.append(f.param(operand, f"a{position}"))
    out = f.register(result)
    f.code = [Instr(op, type_, out, args, source=source)]
    if widened is not result:
        narrow, out = out, f.register(widened)
        f.code.append(Instr(ops.CONVERT, widened, out, [narrow], source=result))
    f.code.append(Instr(ops.RET, widened, -1, [out]))
    return compile(f, TARGET)


def operand_types(op: ops.Op, type_: Type, source: Type) -> list[Type]:
    return [source if letter == "S" else BOOL if letter == "M" else type_ for letter in op.operands]


def expected(op: ops.Op, type_: Type, source: Type, values: tuple[Any, ...]) -> Any:
    assert op.meaning is not None
    with np.errstate(all="ignore"):
        return op.meaning(type_, source, *values)


def same(result: Type, got: Any, want: Any) -> bool:
    if result.is_float:
        a, b = typed(result, got), typed(result, want)
        return bool(np.isnan(a) and np.isnan(b)) or a.tobytes() == b.tobytes()
    return int(got) == int(want)


def applicable() -> list[tuple[ops.Op, Type]]:
    found = []
    for op in ops.OPS:
        if (
            op.meaning is None
            or not op.pure
            or op.until <= STAGES.index("select")
            or op.operands == ()
            or {"vector", "mask"} & op.types
            and not {"int", "float", "bool"} & op.types
            or "vector" in op.types
        ):
            continue
        if "S" in op.operands:  # those with a source type have tests of their own
            continue
        types: list[Type] = []
        if "int" in op.types:
            types += INTEGERS
        if "float" in op.types:
            types += FLOATS
        if "ptr" in op.types:
            types.append(PTR)
        if "bool" in op.types:
            types.append(BOOL)
        found += [(op, type_) for type_ in types]
    return found


def arguments(op: ops.Op, operands: list[Type]) -> list[tuple[Any, ...]]:
    lists = [interesting(type_) for type_ in operands]
    rows = (
        list(itertools.product(*lists))
        if len(operands) < 3
        else [tuple(values[(k * 7 + n * (p + 1)) % len(values)] for p, values in enumerate(lists)) for k in range(6) for n in range(12)]
    )
    return rows[:: max(1, len(rows) // 90)]


def check(cases: list[tuple[Compiled, ops.Op, Type, Type, Type, list[Any], list[Any]]]) -> None:
    """Run all in one program; (code, operation, T, S, result, what is passed, all operands)."""
    results = emulate.run_many([(code, [int(v) if isinstance(v, np.integer) else v for v in passed]) for code, _, _, _, _, passed, _ in cases])
    wrong = []
    for (_, op, type_, source, result, _, operands), got in zip(cases, results, strict=True):
        want = expected(op, type_, source, tuple(operands))
        if not same(result, got, want):
            wrong.append(f"{op.name}.{type_.name} {source.name} of {operands}: {got!r}, not {want!r}")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("constant", [-1, 0, 1, 2], ids=["registers", "first constant", "second constant", "third constant"])
def test_every_operation_means_what_its_row_says(constant: int) -> None:
    cases: list[Any] = []
    for op, type_ in applicable():
        operands = operand_types(op, type_, VOID)
        result = ops.result_type(op, type_, None)
        if constant >= len(operands) or (constant >= 0 and len(operands) == 1):
            continue
        if constant < 0:
            code = build(op, type_, operands, result)
            for row in arguments(op, operands):
                values = [typed(t, v) for t, v in zip(operands, row, strict=True)]
                cases.append((code, op, type_, VOID, result, values, values))
        else:
            for value in interesting(operands[constant])[::2] + [2]:
                if operands[constant] is BOOL:
                    value = bool(value)
                code = build(op, type_, operands, result, constants={constant: value})
                rows = [row for row in arguments(op, operands)][::13]
                for row in rows:
                    values = [typed(t, value if p == constant else v) for p, (t, v) in enumerate(zip(operands, row, strict=True))]
                    passed = [v for p, v in enumerate(values) if p != constant]
                    cases.append((code, op, type_, VOID, result, passed, values))
    check(cases)


def test_every_shift_by_a_constant_means_what_its_row_says() -> None:
    cases: list[Any] = []
    for op, type_ in itertools.product((ops.SHL, ops.SHR, ops.SHL_MODULO, ops.SHR_MODULO), INTEGERS):
        for count in interesting(type_):
            code = build(op, type_, [type_, type_], type_, constants={1: count})
            for value in (interesting(type_)[0], interesting(type_)[-1], 100):
                values = [typed(type_, value), typed(type_, count)]
                cases.append((code, op, type_, VOID, type_, values[:1], values))
    check(cases)


def test_conversions_of_what_fits_mean_what_their_row_says() -> None:
    cases: list[Any] = []
    for type_, source in itertools.product(INTEGERS, FLOATS):
        code = build(ops.CONVERT_UNCHECKED, type_, [source], type_, source)
        info = np.iinfo(type_.dtype)
        for value in around_bounds(source):
            operand = typed(source, value)
            if info.min - 1 < float(operand) < info.max + 1 and math.trunc(float(operand)) <= info.max:
                cases.append((code, ops.CONVERT_UNCHECKED, type_, source, type_, [operand], [operand]))
    check(cases)


def test_every_conversion_means_what_its_row_says() -> None:
    cases: list[Any] = []
    for type_, source in itertools.product((*INTEGERS, *FLOATS, BOOL), repeat=2):
        if type_ is source:
            continue
        code = build(ops.CONVERT, type_, [source], type_, source)
        for value in around_bounds(source) if source.is_float else interesting(source):
            operand = typed(source, value)
            cases.append((code, ops.CONVERT, type_, source, type_, [operand], [operand]))
    for type_, source in [
        (I32, F32),
        (F32, I32),
        (I64, F64),
        (F64, I64),
        (U32, F32),
        (F32, U32),
        (U64, F64),
        (U8, I8),
        (I8, U8),
        (I32, U32),
        (U32, I32),
        (U16, I16),
        (I16, U16),
    ]:
        code = build(ops.BITCAST, type_, [source], type_, source)
        for value in interesting(source):
            operand = typed(source, value)
            if not np.isnan(operand):
                cases.append((code, ops.BITCAST, type_, source, type_, [operand], [operand]))
    check(cases)


@pytest.mark.parametrize("type_", [I8, U8, I16, U16, I32, U32, I64, U64, F32, F64, PTR], ids=str)
def test_loads_stores_and_addresses_near_and_far(type_: Type) -> None:
    """x[5000] = x[at] + x[0], by every shape of address."""
    dtype = np.dtype(type_.dtype)
    for far in (40, 4000):
        for indexed in (False, True):
            f = Function("moves", VOID)
            x, i = f.param(PTR, "x"), f.param(I64, "i")
            a, b, c, p = f.register(type_), f.register(type_), f.register(type_), f.register(PTR)
            at = Mem(indexed, type_.size if indexed else 1, far * type_.size, type_.size)
            operands = [x, i] if indexed else [x]
            f.code = [
                Instr(ops.LOAD_AT, type_, a, list(operands), mem=at),
                Instr(ops.LOAD_AT, type_, b, [x], mem=Mem(False, 1, 0, type_.size)),
                Instr(ops.ADD, type_, c, [a, b]),
                Instr(ops.ADDRESS, PTR, p, list(operands), mem=at),
                Instr(ops.STORE_AT, type_, -1, [c, p], mem=Mem(False, 1, type_.size, type_.size)),
                Instr(ops.STORE_AT, type_, -1, [f.const(type_, 0), *operands], mem=Mem(indexed, at.scale, (far + 2) * type_.size, type_.size)),
                Instr(ops.STORE_AT, type_, -1, [c, *operands], mem=Mem(indexed, at.scale, (far + 3) * type_.size, type_.size)),
                Instr(ops.RET, VOID, -1, []),
            ]
            g = Function("outer", VOID)
            array = g.array_param("x", type_ if type_ is not PTR else U64, 1)
            array.written = True
            g.param(I64, "i")
            g.code = f.code
            g.types, g.const_types, g.const_values = f.types, f.const_types, f.const_values
            # The array brings its extent as one more parameter in front of i.
            g.types = [PTR, I64, I64] + f.types[2:] + [f.types[-1]]
            g.names = ["x", "x.n0", "i"] + [""] * (len(g.types) - 3)
            g.variable = [False] * len(g.types)
            shift = {0: 0, 1: 2}
            for instr in g.code:
                instr.args = [r if r < 0 else shift.get(r, r + 1) for r in instr.args]
                instr.dst = instr.dst + 1 if instr.dst >= 2 else instr.dst
            rng = np.random.default_rng(1)
            values = rng.integers(0, 100, far + 20).astype(dtype)
            want = values.copy()
            k = (7 if indexed else 0) + far
            with np.errstate(all="ignore"):
                want[k + 1] = want[k + 3] = values[k] + values[0]
            want[k + 2] = 0
            emulate.run(compile(g, TARGET), values, 7)
            assert np.array_equal(values, want), (far, indexed)


@pytest.mark.parametrize(("op", "type_"), [(ops.ADD, F16), (ops.ADD, vector_of(F32, 4)), (ops.SPLAT, vector_of(I32, 4)), (ops.SQRT, F16)], ids=str)
def test_what_the_machine_lacks_is_refused_by_name(op: ops.Op, type_: Type) -> None:
    f = Function("f", VOID)
    a = f.param(type_.element if op is ops.SPLAT else type_, "a")
    r = f.register(type_)
    instr = Instr(op, type_, r, [a] * len(op.operands))
    with pytest.raises(UnsupportedOperationError, match=rf"rv64gc has no {op.name}\.{type_.name}"):
        TARGET.rule(f, instr)
