"""The table's rows, addresses in the shapes that loads and stores have here, and what is refused. Every operation on every type: ``tests/targets/test_conformance.py``."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.compiler import compile
from loopwright.errors import UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr, Mem
from loopwright.runtime import emulate
from loopwright.targets.riscv.selection import room, sequences
from loopwright.targets.riscv.target import rv64gc
from loopwright.types import BOOL, F16, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type, vector_of

pytestmark = pytest.mark.skipif(not emulate.available("rv64gc"), reason="qemu-riscv64 is not installed (Debian package qemu-user)")

TARGET = rv64gc()


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


SCALARS = [I8, U8, I16, U16, I32, U32, I64, U64, PTR, BOOL, F32, F64]


def test_every_row_can_be_read() -> None:
    read = [
        found
        for op in ops.OPS
        for type_ in SCALARS
        for source in ([VOID, *SCALARS] if "S" in op.operands else [VOID])
        for found in sequences(op, type_, source)
    ]
    assert len(read) > 600
    for found in read:
        assert found.rule.uses or not found.steps[0].registers, found.rule.name


@pytest.mark.parametrize(
    ("op", "type_", "low", "high"),
    [
        (ops.ADD, I64, -2048, 2047),
        (ops.SUB, I64, -2047, 2048),
        (ops.AND, U32, -2048, 2047),
        (ops.SHL, I64, 0, 1 << 40),
        (ops.LT, I64, 0, 0),
        (ops.MUL_HIGH, I64, 0, 0),
    ],
    ids=str,
)
def test_constants_stay_where_the_field_of_an_instruction_has_room(op: ops.Op, type_: Type, low: int, high: int) -> None:
    instr = Instr(op, type_, 2, [0, 1])
    assert room(instr, 1, type_, low) and room(instr, 1, type_, high)
    if op is not ops.SHL:
        assert not room(instr, 1, type_, low - 1) and not room(instr, 1, type_, high + 1)


def test_powers_of_two_are_the_constants_that_products_hold() -> None:
    instr = Instr(ops.MUL, I32, 2, [0, 1])
    assert [n for n in range(-2, 20) if room(instr, 1, I32, n)] == [0, 1, 2, 4, 8, 16]
