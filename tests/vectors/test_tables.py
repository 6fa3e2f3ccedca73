"""Constant tables indexed at run time: by shuffles in lanes where they are small, by loads elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners, with_features

import loopwright as lw
from loopwright.compiler import compile
from loopwright.errors import BoundsError, KernelTypeError, ParseError, VerifyError
from loopwright.ir import ops
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.text import print_function
from loopwright.ir.verify import verify
from loopwright.types import F32, F64, I16, I32, I64, U8, U16, U32, U64, Type, vector_of


def has_tables(runner: Runner) -> bool:
    """The widest of each machine but MultiClet, whose code has no constants behind it."""
    return runner.widest and runner.folder != "multiclet"


TYPES = [lw.u8, lw.i8, lw.u16, lw.f16, lw.i32, lw.f32, lw.u64, lw.f64]
COUNTS = [1, 2, 7, 16, 17, 33, 64, 128, 256, 300]


@lw.kernel
def looked_up(x: lw.Array, y: lw.Array, table: lw.Const):
    for i in lw.lanes(len(x)):
        y[i] = table[x[i]]


@lw.kernel
def looked_up_plainly(x: lw.Array, y: lw.Array, table: lw.Const):
    for i in lw.range(len(x)):
        y[i] = table[x[i]]


@lw.kernel
def but_for_three(x: lw.Array, y: lw.Array, table: lw.Const):
    for i in lw.lanes(len(x)):
        if x[i] != 3:
            y[i] = table[x[i]]


def elements(t: Any, count: int) -> Any:
    rng = np.random.default_rng(count)
    return rng.integers(-100 if t.is_float or t.signed else 0, 100, count).astype(t.dtype)


@pytest.mark.parametrize("runner", runners(has_tables))
@pytest.mark.parametrize("t", TYPES, ids=str)
def test_elements_are_those_of_the_table(runner: Runner, t: Any) -> None:
    rng = np.random.default_rng(1)
    for number, count in enumerate(COUNTS):
        table = elements(t, count)
        index = (lw.u8, lw.i32, lw.i8, lw.u16, lw.i64)[number % 5]
        for kernel in (looked_up, looked_up_plainly, but_for_three):
            if kernel is not looked_up and number % 3:
                continue
            code = runner.compiled(kernel, lw.Array[index], lw.Array[t], table=table)
            for n in (0, 5, 37, 150):
                x = rng.integers(0, min(count, np.iinfo(index.dtype).max + 1), n).astype(index.dtype)
                y = np.zeros(n, t.dtype)
                want = np.where(x != 3, table[x], y) if kernel is but_for_three else table[x]
                runner.run(code, [x, y], agreeing(f"{kernel.__name__} of {count} {t} by {index}", y, want))


def agreeing(name: str, out: Any, want: Any) -> Callable[[Any], None]:
    def check(_: Any) -> None:
        assert np.array_equal(out, want), name

    return check


@pytest.mark.parametrize(
    ("t", "count", "instruction"),
    [(lw.u8, 16, "vpshufb ymm"), (lw.u8, 256, "vpblendvb ymm"), (lw.u16, 40, "vpshufb ymm"), (lw.f32, 8, "vpermps ymm"), (lw.i32, 30, "vpermd ymm")],
)
def test_small_tables_are_looked_up_in_vectors(t: Any, count: int, instruction: str) -> None:
    for kernel in (looked_up, looked_up_plainly):
        code = kernel.compile(lw.Array[lw.u8], lw.Array[t], table=elements(t, count), target="x86-64-v3")
        assert re.search(rf"for .*?, {256 // t.bits} mask", code.ir("vectorize"))
        assert instruction in code.asm()


def test_lists_tuples_and_bytes_are_tables_too() -> None:
    x = np.array([2, 0, 1, 2], np.uint8)
    for table, dtype in (([10, 20, 30], np.int64), ((0.5, 1.5, 2.5), np.float64), (b"abc", np.uint8), (np.array([1, 0, 1], bool), np.uint8)):
        y = np.zeros(4, dtype)
        looked_up(x, y, table)
        given = list(table) if isinstance(table, bytes) else np.asarray(table)
        assert (y == np.asarray(given)[x]).all()


@pytest.mark.parametrize("dtype", [">i2", ">u4", ">i8", ">f2", ">f4", ">f8", ">c8", ">c16"])
def test_elements_in_the_other_byte_order_are_those_numbers(dtype: str) -> None:
    table = np.array([1, 2, 300, 0], dtype)
    x = np.array([3, 1, 0, 2, 2, 1, 0], np.uint8)
    for kernel in (looked_up, looked_up_plainly):
        y = np.zeros(7, np.complex128 if table.dtype.kind == "c" else np.float64)
        kernel(x, y, table)
        assert np.array_equal(y, table[x])


def test_tables_have_as_many_dimensions_as_they_are_written_with() -> None:
    @lw.kernel
    def of_pairs(a: lw.Array, b: lw.Array, y: lw.Array, score: lw.Const):
        for i in lw.range(len(a)):
            y[i] = score[a[i], b[i]]

    score = np.arange(12, dtype=np.int16).reshape(3, 4)
    a, b, y = np.array([0, 2, 1], np.int32), np.array([3, 0, 1], np.uint8), np.zeros(3, np.int16)
    of_pairs(a, b, y, score)
    assert (y == score[a, b]).all()


def test_tables_made_while_compiling() -> None:
    @lw.kernel
    def squares(x: lw.Array, y: lw.Array):
        table = [n * n for n in range(20)]
        for i in lw.lanes(len(x)):
            y[i] = table[x[i]] + table[3]

    x, y = np.arange(20, dtype=np.int64)[::-1].copy(), np.zeros(20, np.int64)
    squares(x, y)
    assert (y == x * x + 9).all()


def test_checked_mode_says_which_index_is_outside() -> None:
    @lw.kernel(check=True)
    def checked(x: lw.Array, y: lw.Array, table: lw.Const):
        for i in lw.lanes(len(x)):
            y[i] = table[x[i]]

    x, y = np.array([0, 1, 7], np.uint8), np.zeros(3, np.uint8)
    with pytest.raises(BoundsError, match=r"index 7 .*table"):
        checked(x, y, np.arange(5, dtype=np.uint8))
    checked(x, y, np.arange(8, dtype=np.uint8))
    assert y.tolist() == [0, 1, 7]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (["a", "b"], "no numbers of one type"),
        (np.zeros(1 << 17, np.uint8), "more than 65536 of a constant table: pass it as an lw.Array"),
        (np.zeros(0, np.uint8), "has no elements"),
    ],
)
def test_what_is_no_table(table: Any, message: str) -> None:
    with pytest.raises(KernelTypeError, match=message):
        looked_up.compile(lw.Array[lw.u8], lw.Array[lw.u8], table=table)


def test_a_list_that_holds_run_time_values_is_none() -> None:
    @lw.kernel
    def mixed(x: lw.Array[lw.i64]):
        values = [x[0], x[1]]
        x[0] = values[x[2]]

    with pytest.raises(KernelTypeError, match="cannot be used where Python needs an integer while compiling"):
        mixed.compile()


TEXT = """
function f(%x: ptr, %x.n0: i64) -> u8
  array x: i64[%x.n0] at %x
  array t: u8[4] constant "0a0b0cff" at %t
  %t = table.ptr 1
  %1 = load.i64 x[0]
  %2 = load.u8 t[%1]
  ret.u8 %2
end
"""


@pytest.mark.parametrize("runner", runners(has_tables))
def test_text(runner: Runner) -> None:
    f = parse(TEXT)
    verify(f)
    assert print_function(parse(print_function(f))) == print_function(f)
    x = np.array([3], np.int64)
    assert run(f, x) == 255

    def check(found: Any) -> None:
        assert found == 255

    runner.run(compile(f, runner.target), [x], check)


def test_text_that_is_wrong() -> None:
    for text, message in (
        (TEXT.replace("0a0b0cff", "0a0b"), "a constant array of 4 bytes, of which 2 are given"),
        (TEXT.replace("0a0b0cff", "0x"), "bytes in hexadecimal"),
    ):
        with pytest.raises(ParseError, match=message):
            parse(text)
    with pytest.raises(VerifyError, match="the number of a constant array"):
        verify(parse(TEXT.replace("table.ptr 1", "table.ptr 0")))
    with pytest.raises(VerifyError, match="constant array t is written"):
        verify(parse(TEXT.replace("at %t\n", "at %t written\n")))


# --- the operations ----------------------------------------------------------------------------------------------

LOOKED_UP = """
function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %out: ptr, %out.n0: i64)
  array x: {table.element.name}[%x.n0] at %x
  array y: {numbers.element.name}[%y.n0] at %y
  array out: {result.element.name}[%out.n0] at %out written
  %a = load.{table.name} x[0]
  %b = load.{numbers.name} y[0]
  %d = {op.name}.{result.name}.{source.name} %a, %b
  store.{result.name} %d, out[0]
end
"""


PAIRED = """
function paired(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %out: ptr, %out.n0: i64)
  array x: {t.element.name}[%x.n0] at %x
  array y: {numbers.element.name}[%y.n0] at %y
  array out: {t.element.name}[%out.n0] at %out written
  %a = load.{t.name} x[0]
  %b = load.{t.name} x[{t.lanes}]
  %n = load.{numbers.name} y[0]
  %c = lookup_pair.{t.name}.{numbers.name} %a, %b, %n
  %w = literal.{numbers.name} {words}
  %d = lookup_pair.{t.name}.{numbers.name} %a, %b, %w
  store.{t.name} %c, out[0]
  store.{t.name} %d, out[{t.lanes}]
end
"""


@pytest.mark.parametrize("runner", with_features("avx512vbmi"))
def test_lanes_of_two_vectors_by_number(runner: Runner) -> None:
    rng = np.random.default_rng(4)
    for size in (16, 32, 64):
        for element in (U8, I16, U32, F32, I64, F64):
            t = vector_of(element, size // element.size)
            numbers = vector_of({8: U8, 16: U16, 32: U32, 64: U64}[element.bits], t.lanes)
            words = rng.integers(-(1 << 63), 1 << 63, 8)
            code = compile(parse(PAIRED.format(t=t, numbers=numbers, words=", ".join(map(str, words)))), runner.target)
            x = rng.integers(0, 100, 2 * t.lanes).astype(element.dtype)
            y = rng.integers(0, 256, size).astype(np.uint8).view(numbers.element.dtype)
            out = np.zeros(2 * t.lanes, element.dtype)
            assert ops.LOOKUP_PAIR.meaning is not None and ops.LITERAL.meaning is not None
            literal = ops.LITERAL.meaning(numbers, numbers, *words)
            wanted = [ops.LOOKUP_PAIR.meaning(t, numbers, x[: t.lanes], x[t.lanes :], n) for n in (y, literal)]
            runner.run(code, [x, y, out], agreeing(f"lookup_pair {t}", out, np.concatenate(wanted)))


@pytest.mark.parametrize("runner", runners())
def test_bytes_and_lanes_by_number(runner: Runner) -> None:
    rng = np.random.default_rng(3)
    cases: list[tuple[ops.Op, Type, Type, Type]] = []
    for bits in (64, 128, 256, 512):
        if bits > runner.bits:
            continue
        for t in (U8, I16, U32, I64):
            result = vector_of(t, bits // t.bits)
            cases.append((ops.LOOKUP_BYTES, vector_of(U8, max(bits // 8, 16)), result, result))
        for t, numbers in ((F32, U32), (I32, I32)) if bits >= 256 and runner.folder == "x86" else ():
            cases.append((ops.LOOKUP_LANES, vector_of(t, bits // 32), vector_of(numbers, bits // 32), vector_of(t, bits // 32)))
    for op, table, numbers, result in cases:
        source = table if op is ops.LOOKUP_BYTES else numbers
        code = compile(parse(LOOKED_UP.format(op=op, table=table, numbers=numbers, result=result, source=source)), runner.target)
        for _ in range(3):
            x = rng.integers(0, 100, table.lanes).astype(table.element.dtype)
            y = rng.integers(0, 256, numbers.size).astype(np.uint8).view(numbers.element.dtype)
            out = np.zeros(result.lanes, result.element.dtype)
            assert op.meaning is not None
            runner.run(code, [x, y, out], agreeing(f"{op.name} {result}", out, op.meaning(result, source, x, y)))
