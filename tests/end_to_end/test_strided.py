"""Vectors whose elements, or parts, are not next to each other in memory: on every machine, for every type, at distances known and not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.machines import Runner, runners

from loopwright import compiler
from loopwright.compiler import Compiled
from loopwright.errors import UnsupportedOperationError
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.settings import Settings
from loopwright.types import F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Type

#: Along a diagonal of ``a``, from its last column to the first, into a column of ``b``; then every third element of ``c``, at a distance that is known.
TEXT = """\
function strided(%a: ptr, %a.n0: i64, %a.n1: i64, %a.s0: i64, %b: ptr, %b.n0: i64, %b.n1: i64, %b.s0: i64, %c: ptr, %c.n0: i64, %at: i64)
  stage nests
  array a: T[%a.n0, %a.n1] strides [%a.s0] at %a
  array b: T[%b.n0, %b.n1] strides [%b.s0] at %b written
  array c: T[%c.n0] at %c written
  %next = sub.i64 %a.s0, SIZE
  %v = load_strided.TxN %next, a[0, LAST]
  %w = add.TxN %v, %v
  store_strided.TxN %w, %b.s0, b[0, %at]
  %third = mul.i64 SIZE, 3
  %x = load_strided.TxN THIRD, c[%at]
  %y = add.TxN %x, 1
  store_strided.TxN %y, BACK, c[END]
  store_strided.TxN 7, %b.s0, b[0, 0]
end
"""


def cases(runner: Runner) -> Iterator[tuple[Type, int]]:
    for type_ in (I8, U8, I16, U16, I32, U32, I64, U64, F32, F64):
        lanes = runner.target.vector_bits // type_.bits
        while lanes > 1:
            yield type_, lanes
            lanes //= 2


def runs_as(runner: Runner, compiled: Compiled, given: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    """Code of the arrays and a 1 leaves in them what is wanted."""

    def same(_: object) -> None:
        for a, b in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(a, b)

    runner.run(compiled, [*given, 1], same)


@pytest.mark.parametrize("runner", runners())
def test_strided(runner: Runner) -> None:
    rng = np.random.default_rng(0)
    for type_, lanes in cases(runner):
        if type_.bits * lanes < 32:
            continue
        end = 3 * lanes
        text = TEXT
        for word, value in (("TxN", f"{type_.name}x{lanes}"), ("SIZE", type_.size), ("LAST", lanes - 1), ("THIRD", 3 * type_.size), ("BACK", -type_.size)):
            text = text.replace(word, str(value))
        text = text.replace("END", str(end)).replace(" T[", f" {type_.name}[")
        f = parse(text)
        verify(f)
        given = [rng.integers(0, 50, shape).astype(type_.dtype) for shape in ((lanes, lanes + 2), (lanes, 3), (3 * lanes + 2,))]
        wanted = [a.copy() for a in given]
        run(f, *wanted, 1)
        np.testing.assert_array_equal(wanted[1][:, 1], 2 * np.array([given[0][k, lanes - 1 - k] for k in range(lanes)]).astype(type_.dtype))
        np.testing.assert_array_equal(wanted[2][end - lanes + 1 : end + 1], (given[2][1 : 1 + 3 * lanes : 3] + 1).astype(type_.dtype)[::-1])
        assert (wanted[1][:, 0] == 7).all()
        compiled = compiler.compile(parse(text), runner.target, Settings(keep=True))
        runs_as(runner, compiled, given, wanted)


#: Parts of rows of ``a``, from its last row to the first, into rows of ``b``; then rows of ``c`` at a distance that is known.
ROWS = """\
function rows(%a: ptr, %a.n0: i64, %a.n1: i64, %a.s0: i64, %b: ptr, %b.n0: i64, %b.n1: i64, %b.s0: i64, %c: ptr, %c.n0: i64, %at: i64)
  stage nests
  array a: T[%a.n0, %a.n1] strides [%a.s0] at %a
  array b: T[%b.n0, %b.n1] strides [%b.s0] at %b written
  array c: T[%c.n0] at %c written
  %up = sub.i64 0, %a.s0
  %v = load_rows.TxN %up, a[LAST, %at]
  %w = add.TxN %v, %v
  store_rows.TxN %w, %b.s0, b[0, 2]
  %x = load_rows.TxN 48, c[%at]
  %y = add.TxN %x, 1
  store_rows.TxN %y, 48, c[1]
end
"""


@pytest.mark.parametrize("runner", runners())
def test_rows(runner: Runner) -> None:
    rng = np.random.default_rng(0)
    for type_, lanes in cases(runner):
        if type_.bits * lanes < 128:
            continue
        each = 128 // type_.bits
        count = lanes // each
        text = ROWS.replace("TxN", f"{type_.name}x{lanes}").replace("LAST", str(count - 1)).replace(" T[", f" {type_.name}[")
        f = parse(text)
        verify(f)
        given = [rng.integers(0, 50, shape).astype(type_.dtype) for shape in ((count, each + 3), (count, each + 2), (3 * lanes + each + 2,))]
        wanted = [a.copy() for a in given]
        try:
            compiled = compiler.compile(parse(text), runner.target, Settings(keep=True))
        except UnsupportedOperationError:
            # (Where vectors have 128 bits, and where there are none, nothing makes them.)
            assert count == 1
            continue
        run(f, *wanted, 1)
        np.testing.assert_array_equal(wanted[1][:, 2:], (2 * given[0][::-1, 1 : 1 + each]).astype(type_.dtype))
        for k in range(count):
            at = 48 // type_.size * k
            np.testing.assert_array_equal(wanted[2][1 + at : 1 + at + each], (given[2][1 + at : 1 + at + each] + 1).astype(type_.dtype))
        runs_as(runner, compiled, given, wanted)
