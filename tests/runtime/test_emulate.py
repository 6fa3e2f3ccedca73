"""Compiled code under QEMU: arguments and arrays go in and come back, faults are found, errors say what is wrong."""

from __future__ import annotations

import ctypes
import shutil
import struct
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.compiler import Compiled, compile
from loopwright.errors import ArgumentError, BoundsError, InternalError, TargetError
from loopwright.ir import ops
from loopwright.ir.function import Callee, Function, Instr, Mem, Options, Site
from loopwright.ir.text import parse
from loopwright.runtime import elf, emulate
from loopwright.runtime.code import Code
from loopwright.targets.riscv.target import rv64gc
from loopwright.types import BOOL, F32, F64, I32, I64, PTR, U8, VOID, Type

needs_qemu = pytest.mark.skipif(not emulate.available("rv64gc"), reason="qemu-riscv64 is not installed (Debian package qemu-user)")
TARGET = rv64gc()

SORT = """
function selection_sort(%x: ptr, %x.n0: i64)
  array x: i32[%x.n0] at %x written
  var %least: i32
  var %place: i64
  %i = for 0, %x.n0, 1
    %first = load.i32 x[%i]
    %least = copy.i32 %first
    %place = copy.i64 %i
    %start = add.i64 %i, 1
    %j = for %start, %x.n0, 1
      %here = load.i32 x[%j]
      %less = lt.i32 %here, %least
      if %less
        %least = copy.i32 %here
        %place = copy.i64 %j
      end
    end
    store.i32 %first, x[%place]
    store.i32 %least, x[%i]
  end
end
"""

POLYNOMIAL = """
function polynomial(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64)
  option contract
  array x: f64[%x.n0] at %x
  array y: f64[%y.n0] at %y written
  %i = for 0, %x.n0, 1
    %v = load.f64 x[%i]
    %3 = mul.f64 %v, 0.5
    %4 = add.f64 %3, -1.25
    %5 = mul.f64 %4, %v
    %6 = add.f64 %5, 3.141592653589793
    store.f64 %6, y[%i]
  end
end
"""


def compiled(text: str) -> Compiled:
    return compile(parse(text), TARGET)


@needs_qemu
@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 9, 101])
def test_selection_sort_sorts_in_place(length: int) -> None:
    x = np.random.default_rng(length).integers(-(2**31), 2**31, length).astype(np.int32)
    want = np.sort(x)
    assert emulate.run(compiled(SORT), x) is None
    assert np.array_equal(x, want)


@needs_qemu
@pytest.mark.parametrize("length", [0, 1, 5, 512, 1021])
def test_a_polynomial_is_evaluated_over_an_array(length: int) -> None:
    x = np.random.default_rng(length).normal(size=length)
    y = np.full_like(x, 9)
    emulate.run(compiled(POLYNOMIAL), x, y)
    assert np.allclose(y, (0.5 * x - 1.25) * x + 3.141592653589793, rtol=1e-15)


def identity(type_: Type) -> Compiled:
    f = Function("identity", type_)
    a = f.param(type_, "a")
    f.code = [Instr(ops.RET, type_, -1, [a])]
    return compile(f, TARGET)


@needs_qemu
@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (BOOL, [True, False]),
        (U8, [0, 255]),
        (I32, [-(2**31), 2**31 - 1, -1]),
        (I64, [-(2**63), 2**63 - 1]),
        (PTR, [0, 2**64 - 1]),
        (F32, [1.5, float("inf"), -0.0]),
        (F64, [0.1, -1e300]),
    ],
    ids=lambda v: str(v) if isinstance(v, Type) else "",
)
def test_scalars_go_in_and_come_back(type_: Type, values: list[Any]) -> None:
    code = identity(type_)
    results = emulate.run_many([(code, [value]) for value in values])
    assert results == values
    assert [type(r) for r in results] == [type(v) for v in values]


@needs_qemu
def test_code_objects_emulate_themselves() -> None:
    code = Code(compile(parse(SORT), TARGET))
    x = np.array([3, 1, 2], np.int32)
    code.emulate(x)
    assert x.tolist() == [1, 2, 3]


ROWS = """
function negate(%x: ptr, %x.n0: i64, %x.n1: i64, %x.s0: i64)
  array x: i32[%x.n0, %x.n1] strides [%x.s0] at %x written
  %i = for 0, %x.n0, 1
    %j = for 0, %x.n1, 1
      %v = load.i32 x[%i, %j]
      %n = neg.i32 %v
      store.i32 %n, x[%i, %j]
    end
  end
end
"""


@needs_qemu
def test_any_outer_stride_and_nothing_between_the_rows_changes() -> None:
    code = compiled(ROWS)
    for view in (np.s_[:, :], np.s_[1:4, 2:7], np.s_[::-2, 3:9], np.s_[::3, :1], np.s_[2:2, :]):
        x = np.arange(60, dtype=np.int32).reshape(6, 10)
        want = x.copy()
        want[view] = -want[view]
        emulate.run(code, x[view])
        assert np.array_equal(x, want), view


@needs_qemu
def test_arrays_that_share_memory_share_it_there_too() -> None:
    whole = np.arange(10.0)
    want = whole.copy()
    for k in range(9):
        want[k + 1] = (0.5 * want[k] - 1.25) * want[k] + 3.141592653589793
    emulate.run(compiled(POLYNOMIAL), whole[:-1], whole[1:])
    assert np.allclose(whole, want)


@needs_qemu
def test_an_array_keeps_its_contents_from_call_to_call() -> None:
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    code = compiled(ROWS)
    emulate.run_many([(code, [x]), (code, [x[1:]]), (code, [x[:, 1:]])])
    assert x.tolist() == [[0, 1, 2], [3, -4, -5]]


def beyond(distance: int, store: bool) -> Compiled:
    """Reads or writes ``distance`` bytes past an array's end."""
    f = Function("beyond", VOID)
    array = f.array_param("x", U8, 1)
    array.written = store
    end, v = f.register(PTR), f.register(U8)
    at = Mem(False, 1, distance, 1)
    f.code = [
        Instr(ops.ADD, PTR, end, [array.base, array.extents[0]]),
        Instr(ops.STORE_AT, U8, -1, [f.const(U8, 1), end], mem=at) if store else Instr(ops.LOAD_AT, U8, v, [end], mem=at),
    ]
    if not store:
        # Used, so that the load is not dead.
        f.result = U8
        f.code.append(Instr(ops.RET, U8, -1, [v]))
    return compile(f, TARGET)


@needs_qemu
@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize("length", [1, 100, 4096, 5000])
def test_an_access_past_the_end_of_an_array_dies(length: int, store: bool) -> None:
    x = np.zeros(length, np.uint8)
    emulate.run(beyond(-1, store), x)
    assert x[-1] == (1 if store else 0)
    with pytest.raises(InternalError, match="died"):
        emulate.run(beyond(0, store), x)


@needs_qemu
def test_a_write_to_an_array_that_is_only_read_is_noticed() -> None:
    f = Function("liar", VOID)
    array = f.array_param("x", U8, 1)
    f.code = [Instr(ops.STORE_AT, U8, -1, [f.const(U8, 1), array.base], mem=Mem(False, 1, 0, 1))]
    with pytest.raises(InternalError, match="only reads"):
        emulate.run(compile(f, TARGET), np.zeros(4, np.uint8))


def checked() -> Compiled:
    f = Function("pick", F64, Options(check=True))
    f.file = "picker.py"
    array = f.array_param("x", F64, 1)
    index = f.param(I64, "i")
    errors = f.param(PTR, "errors")
    outside, v = f.register(BOOL), f.register(F64)
    f.sites = [Site("x", 0, 7, "x[i]")]
    f.code = [
        Instr(ops.GE, I64, outside, [index, array.extents[0]]),
        Instr(ops.IF, BOOL, -1, [outside]),
        Instr(ops.FAIL, VOID, -1, [errors, index, array.extents[0]], 0),
        Instr(ops.END, VOID, -1, []),
        Instr(ops.LOAD, F64, v, [index], 0),
        Instr(ops.RET, F64, -1, [v]),
    ]
    return compile(f, TARGET)


@needs_qemu
def test_checked_code_names_the_dimension_of_the_array_it_was_in() -> None:
    @lw.kernel
    def pick(a: lw.Array[lw.f64, 2], x: lw.Array[lw.f64], z: lw.Array[lw.f64, 2], i: lw.i64, j: lw.i64) -> lw.f64:
        return a[i, 0] + x[j] + z[0, i]

    code = pick.compile(target="rv64gc", check=True)
    plane, line = np.ones((3, 3)), np.ones(3)
    assert code.emulate(plane, line, plane, 1, 1) == 3
    with pytest.raises(BoundsError, match="a: index 5 is outside the array, which has 3 elements along dimension 0"):
        code.emulate(plane, line, plane, 5, 0)
    with pytest.raises(BoundsError, match=r"x: index 5 is outside the array, which has 3 elements \("):
        code.emulate(plane, line, plane, 0, 5)


@needs_qemu
def test_checked_code_raises_where_the_access_was() -> None:
    x = np.array([1.5, 2.5])
    assert emulate.run(checked(), x, 1) == 2.5
    with pytest.raises(BoundsError, match=r"picker\.py:7: x: index 2 is outside the array, which has 2 elements"):
        emulate.run(checked(), x, 2)


@needs_qemu
def test_a_program_that_does_not_end_is_stopped() -> None:
    f = Function("forever", VOID)
    f.code = [Instr(ops.LOOP, VOID, -1, []), Instr(ops.BR, VOID, -1, []), Instr(ops.END, VOID, -1, [])]
    with pytest.raises(TimeoutError, match="did not end"):
        emulate.run(compile(f, TARGET), timeout=0.5)


def test_wrong_arguments_are_refused_before_anything_runs() -> None:
    code = compiled(SORT)
    with pytest.raises(ArgumentError, match="1 arguments"):
        emulate.run(code)
    with pytest.raises(ArgumentError, match="int32"):
        emulate.run(code, np.zeros(3))


def test_calling_into_this_process_is_refused() -> None:
    noise = ctypes.CFUNCTYPE(None)(lambda: None)
    f = Function("calls_out", VOID)
    f.callees.append(Callee("noise", [], VOID, address=ctypes.cast(noise, ctypes.c_void_p).value or 0, keep=noise))
    f.code = [Instr(ops.CALL_VOID, VOID, -1, [], 0)]
    with pytest.raises(TargetError, match=r"calls noise, which is in this process"):
        emulate.run(compile(f, TARGET))


def test_without_qemu_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    assert not emulate.available("rv64gc")
    with pytest.raises(TargetError, match="apt-get install qemu-user"):
        emulate.run(identity(I64), 1)


def test_a_machine_without_an_emulator_is_named() -> None:
    assert not emulate.available("pdp-11")
    with pytest.raises(TargetError, match="no emulator for pdp-11"):
        emulate._program("pdp-11")


def test_an_executable_holds_its_segments_at_their_addresses() -> None:
    segments = [
        elf.Segment(0x10000, b"code" * 10, elf.READ | elf.EXECUTE),
        elf.Segment(0x20123, b"data", elf.READ | elf.WRITE),
        elf.Segment(0x30000, b"", elf.READ),
    ]
    image = elf.executable(243, 5, 0x10004, segments)
    assert image[:4] == b"\x7fELF"
    machine, entry, headers = struct.unpack_from("<H", image, 18)[0], struct.unpack_from("<Q", image, 24)[0], struct.unpack_from("<H", image, 56)[0]
    assert (machine, entry, headers) == (243, 0x10004, 3)
    for n, segment in enumerate(segments[:2]):
        kind, flags, offset, address, _, size, in_memory, align = struct.unpack_from("<IIQQQQQQ", image, 64 + 56 * n)
        assert (kind, flags, address, size, in_memory) == (1, segment.flags, segment.address, len(segment.data), len(segment.data))
        assert offset % align == address % align
        assert image[offset : offset + size] == segment.data


def test_segments_may_not_share_a_page() -> None:
    with pytest.raises(ValueError, match="page"):
        elf.executable(243, 5, 0, [elf.Segment(0x1000, b"a", 4), elf.Segment(0x1800, b"b", 4)])
