"""The machine code between CPython and compiled code keeps System V's convention, on both of its sides."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from tests.targets.x86.trampoline import SYSV, Caller, Destroyer

from loopwright.runtime import cpu, entry
from loopwright.runtime.native import NativeFunction
from loopwright.types import BOOL, F32, F64, I8, I16, I32, I64, PTR, U8, U16, U32, U64, VOID, Type

pytestmark = pytest.mark.skipif(
    not cpu.is_x86_64() or not entry.supported() or not cpu.LEVELS["x86-64-v3"] <= cpu.host_features(), reason="needs x86-64 with AVX2"
)

WIDE = cpu.is_x86_64() and cpu.LEVELS["x86-64-v4"] <= cpu.host_features()
INTEGERS = [I8, U8, I16, U16, I32, U32, I64, U64]
MIXES: list[list[Type]] = [[], [I64], [F64, F32], [*INTEGERS, BOOL, PTR], [F64] * 9, [F32] * 12, [I32, F64, U8, F32] * 5, [*INTEGERS, F32, F64] * 2]
VALUES: dict[Type, Any] = {I8: -128, U8: 255, I16: -32768, U16: 65535, I32: -(1 << 31), U32: (1 << 32) - 1, I64: -(1 << 63), U64: (1 << 63) - 1}
VALUES |= {BOOL: True, PTR: 12345, F32: 1.5, F64: -0.1, VOID: None}


@pytest.mark.parametrize("result", [VOID, BOOL, *INTEGERS, F32, F64], ids=str)
def test_a_function_that_destroys_all_it_may_gets_its_arguments_and_gives_its_result(result: Type) -> None:
    """Whatever is above narrow arguments and results; the stack pointer a multiple of 16 at the call."""
    for types in MIXES:
        destroyer = Destroyer(SYSV, WIDE, types, result, [VALUES[result]] * 2)
        function = NativeFunction(destroyer.block, types, result)
        passed = [VALUES[t] for t in types]
        for _ in range(2):
            assert function(*passed) == VALUES[result]
        for seen in destroyer.calls():
            assert seen.arguments == passed
            # (How many vector registers are in use it need not be told: its arguments are not variable in number.)
            assert [wrong for wrong in seen.wrong if not wrong.startswith("al was")] == []


@pytest.mark.parametrize("types", MIXES, ids=str)
@pytest.mark.parametrize("usual", [True, False])
def test_what_belongs_to_the_caller_is_preserved(types: list[Type], usual: bool) -> None:
    """On the quick way and, where an argument is unusual, by way of Python."""
    destroyer = Destroyer(SYSV, WIDE, types, I64, [7])
    function = entry.callable_of(NativeFunction(destroyer.block, types, I64).signature, destroyer.address, destroyer)
    passed = [VALUES[t] for t in types]
    unusual = {bool: np.bool_, float: np.float64, int: np.int64}
    given = [value if usual else unusual[type(value)](value) for value in passed]
    # Of a built-in function's object (PyCFunctionObject): its definition, whose second word is the code.
    definition = ctypes.c_uint64.from_address(id(function) + 16).value
    code = ctypes.c_uint64.from_address(definition + 8).value
    owner = ctypes.c_uint64.from_address(id(function) + 24).value
    vector = (ctypes.py_object * max(len(given), 1))(*given)
    outcome = Caller(SYSV, WIDE, python=True).call(code, [PTR, PTR, I64, PTR], [owner, ctypes.addressof(vector), len(given), 0], PTR, clean=False)
    assert not outcome.wrong
    assert ctypes.cast(outcome.result, ctypes.py_object).value == 7
    assert destroyer.calls()[0].arguments == passed
