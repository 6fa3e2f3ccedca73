"""Neighbouring vector loads made from one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.nests.stencils import random_stencils, stencils_arguments
from tests.passes.generator import AnyTarget, results

import loopwright as lw
from loopwright import compiler
from loopwright.compiler import run_passes
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.interpret import run
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.nests.elements import reuse
from loopwright.targets import registry
from loopwright.types import F32, I64, VOID, Type, vector_of

V = vector_of(F32, 16)


def loads(offsets: list[int], written: bool = False, rewrite: bool = False) -> Function:
    """y[16 k ...] = x[i + offset] for each offset, i a parameter; ``rewrite`` moves i on between the loads."""
    f = Function("loads")
    x, y = f.array_param("x", F32, 1), f.array_param("y", F32, 1)
    x.written, y.written = written, True
    start = f.param(I64, "start")
    i = f.register(I64, "i", True)
    f.code.append(Instr(ops.COPY, I64, i, [start]))
    for k, offset in enumerate(offsets):
        index = f.register(I64)
        f.code.append(Instr(ops.ADD, I64, index, [i, f.const(I64, offset)]))
        value = f.register(V)
        f.code.append(Instr(ops.LOAD, V, value, [index], 0))
        f.code.append(Instr(ops.STORE, V, NONE, [value, f.const(I64, 16 * k)], 1))
        if rewrite:
            f.code.append(Instr(ops.ADD, I64, i, [i, f.const(I64, 1)]))
    f.code.append(Instr(ops.RET, VOID, NONE, []))
    return f


class Sliding(AnyTarget):
    """A target that has the instruction for every vector."""

    def slides(self, type_: Type) -> bool:
        return type_.lanes > 0


def rewritten(text: str, *arguments: Any) -> Function:
    """The function after the rewriting, which must not change what a call does."""
    f = parse(text)
    verify(f)
    wanted = results(f, list(arguments))
    reuse.run(f, Sliding())
    verify(f)
    assert results(f, list(arguments)) == wanted
    return f


def count(f: Function, op: Any) -> int:
    return sum(instr.op is op for instr in f.code)


@pytest.mark.parametrize(
    ("offsets", "left", "slides"),
    [
        ([0, 1, 2, 16, 17, 18], 4, 2),  # the last copy keeps its own loads: nothing beyond the program's elements is read
        ([-1, 0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 49], 6, 6),
        ([0, 1, 2], 3, 0),
        ([0, 16, 32], 3, 0),
        ([5, 5, 21, 6], 2, 1),  # equal loads are one
        ([0, 17, 32], 3, 0),  # 16 is not read
        ([0, 15, 32, 33], 4, 0),
        ([3, 4, 35, 20, 19], 3, 2),
    ],
)
def test_a_load_between_two_whole_vectors_becomes_a_slide(offsets: list[int], left: int, slides: int) -> None:
    f = loads(offsets)
    x, want, got = np.arange(200, dtype=np.float32), np.zeros(16 * len(offsets), np.float32), np.zeros(16 * len(offsets), np.float32)
    run(f, x, want, 40)
    target = registry.get("x86-64-v4")
    reuse.run(f, target)
    run(f, x, got, 40)
    assert (want == got).all()
    assert (count(f, ops.LOAD), count(f, ops.SLIDE)) == (left, slides)


def test_an_array_the_function_writes_keeps_its_loads() -> None:
    f = loads([0, 1, 2, 16, 17, 18], written=True)
    reuse.run(f, registry.get("x86-64-v4"))
    assert count(f, ops.SLIDE) == 0


def test_equal_loads_with_nothing_between_them_keep_their_places_among_the_stores() -> None:
    f = loads([5, 5, 21, 37])
    reuse.run(f, registry.get("x86-64-v4"))
    assert (count(f, ops.LOAD), count(f, ops.COPY)) == (4, 1)


@lw.kernel
def twice(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    for i in lw.lanes(len(x)):
        y[i] = x[i] + 1
        y[i] = x[i] * 2


def test_one_array_in_two_places_is_read_again_after_a_store() -> None:
    target = registry.get("x86-64-v4", 512)
    f = run_passes(twice.stage(twice.signature([], {})), target, "unroll")
    x = np.arange(100, dtype=np.float32)
    run(f, x, x)
    assert (x == (np.arange(100) + 1) * 2).all()


def test_an_index_that_moves_between_the_loads_is_another_index() -> None:
    f = loads([0, 1, 16, 17], rewrite=True)
    x, want, got = np.arange(200, dtype=np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32)
    run(f, x, want, 40)
    reuse.run(f, registry.get("x86-64-v4"))
    run(f, x, got, 40)
    assert (want == got).all()
    assert count(f, ops.SLIDE) == 0


def test_a_target_without_the_instruction_keeps_the_loads() -> None:
    f = loads([0, 1, 2, 16, 17, 18])
    reuse.run(f, registry.get("x86-64-v3"))
    assert count(f, ops.SLIDE) == 0


def test_slides_are_native_instructions() -> None:
    f = loads([0, 1, 2, 16, 17, 18])
    target = registry.get("x86-64-v4")
    reuse.run(f, target)
    made = compiler.compile(f, target)
    assert sum("valignd" in text for _o, _b, text, _l in made.listing()) == 2


NUMBERS = np.arange(1, 61, dtype=np.int32)
PLANE = np.arange(240, dtype=np.int32).reshape(6, 40)


def test_an_index_that_the_loop_moves_on_is_another_one_in_the_next_step() -> None:
    # %1 holds what i was in front of the loop, also when i has long been moved on.
    f = rewritten(
        """
        function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %n: i64)
          array x: i32[%x.n0] at %x
          array y: i32[%y.n0] at %y written
          var %i: i64
          %i = copy.i64 0
          %1 = add.i64 %i, 1
          %k = for 0, %n, 1
            %2 = load.i32x4 x[%1]
            %3 = load.i32x4 x[%i]
            %4 = add.i64 %i, 4
            %5 = load.i32x4 x[%4]
            %6 = add.i32x4 %2, %3
            %7 = add.i32x4 %6, %5
            %8 = mul.i64 %k, 4
            store.i32x4 %7, y[%8]
            %i = add.i64 %i, 1
          end
        end
        """,
        NUMBERS,
        np.zeros(12, np.int32),
        3,
    )
    assert count(f, ops.SLIDE) == 0


def test_a_row_that_the_loop_moves_on_is_another_one_in_the_next_step() -> None:
    text = """
        function f(%x: ptr, %x.n0: i64, %x.n1: i64, %x.s0: i64, %y: ptr, %y.n0: i64, %n: i64)
          array x: i32[%x.n0, %x.n1] strides [%x.s0] at %x
          array y: i32[%y.n0] at %y written
          var %r: i64
          %r = copy.i64 0
          %0 = add.i64 %r, 1
          while
            %1 = lt.i64 %r, %n
          do %1
            %2 = load.i32x4 x[ROW, 8]
            %3 = load.i32x4 x[ROW, %n]
            %4 = add.i64 %n, 1
            %5 = load.i32x4 x[%r, %4]
            %6 = add.i64 %n, 4
            %7 = load.i32x4 x[ROW, %6]
            %8 = add.i32x4 %3, %5
            %9 = add.i32x4 %8, %7
            %10 = mul.i64 %r, 4
            store.i32x4 %9, y[%10]
            %r = add.i64 %r, 1
          end
        end
        """
    assert count(rewritten(text.replace("ROW", "%0"), PLANE, np.zeros(16, np.int32), 3), ops.SLIDE) == 0
    assert count(rewritten(text.replace("ROW", "%r"), PLANE, np.zeros(16, np.int32), 3), ops.SLIDE) == 1


def test_loads_on_two_sides_of_a_bracket_are_not_made_from_one_another() -> None:
    text = """
        function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %c: bool)
          array x: i32[%x.n0] at %x
          array y: i32[%y.n0] at %y written
          %i = for 0, 12, 4
            %1 = load.i32x4 x[%i]
            store.i32x4 %1, y[%i]
            if %c
              %2 = add.i64 %i, 4
              %3 = load.i32x4 x[%2]
              store.i32x4 %3, y[%i]
            end
            %4 = add.i64 %i, 1
            %5 = load.i32x4 x[%4]
            %6 = load.i32x4 y[%i]
            %7 = add.i32x4 %5, %6
            store.i32x4 %7, y[%i]
          end
        end
        """
    for c in (True, False):
        assert count(rewritten(text, NUMBERS, np.zeros(16, np.int32), c), ops.SLIDE) == 0


def test_indices_made_in_front_of_a_bracket_are_known_in_it() -> None:
    text = """
        function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %i: i64, %c: bool)
          array x: i32[%x.n0] at %x
          array y: i32[%y.n0] at %y written
          %1 = add.i64 %i, 1
          %2 = add.i64 %i, 4
          if %c
            %3 = load.i32x4 x[%i]
            %4 = load.i32x4 x[%1]
            %5 = load.i32x4 x[%2]
            %6 = add.i32x4 %3, %4
            %7 = add.i32x4 %6, %5
            store.i32x4 %7, y[0]
          end
        end
        """
    assert count(rewritten(text, NUMBERS, np.zeros(4, np.int32), 5, True), ops.SLIDE) == 1


def test_the_first_parameter_is_an_index_or_a_part_of_one_like_any_other_register() -> None:
    text = """
        function f(%d: i64, %x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %i: i64)
          array x: i32[%x.n0] at %x
          array y: i32[%y.n0] at %y written
          %1 = add.i64 %i, %d
          %2 = add.i64 %i, 4
          %3 = load.i32x4 x[%i]
          %4 = load.i32x4 x[%1]
          %5 = load.i32x4 x[%2]
          %6 = add.i64 %d, 1
          %7 = add.i64 %d, 4
          %8 = load.i32x4 x[%d]
          %9 = load.i32x4 x[%6]
          %10 = load.i32x4 x[%7]
          store.i32x4 %3, y[0]
          store.i32x4 %4, y[4]
          store.i32x4 %5, y[8]
          store.i32x4 %8, y[12]
          store.i32x4 %9, y[16]
          store.i32x4 %10, y[20]
          %11 = add.i64 %d, 2
        end
        """
    # x[i + d] is nothing that is known; x[d], x[d + 1] and x[d + 4] are.
    assert count(rewritten(text, 3, NUMBERS, np.zeros(24, np.int32), 5), ops.SLIDE) == 1


def test_a_function_may_end_without_a_return() -> None:
    text = """
        function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64)
          array x: i32[%x.n0] at %x
          array y: i32[%y.n0] at %y written
          %i = for 0, 4, 4
            %1 = load.i32x4 x[%i]
            store.i32x4 %1, y[0]
          end
          store.i32x4 3, y[4]
        end
        """
    f = parse(text)
    y = np.zeros(8, np.int32)
    reuse.run(f, Sliding())
    run(f, NUMBERS, y)
    assert y.tolist() == [1, 2, 3, 4, 3, 3, 3, 3]


def test_an_array_read_at_one_index_only_may_be_the_one_that_is_written_there() -> None:
    text = """
        function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64)
          array x: i32[%x.n0] at %x
          array y: i32[%y.n0] at %y written
          %k = for 0, 16, 8
            %i = add.i64 %k, 1
            %1 = load.i32x4 x[%i]
            store.i32x4 7, y[%i]
            %2 = load.i32x4 x[%i]
            %3 = add.i32x4 %1, %2
            store.i32x4 %3, y[%i]
            %4 = add.i64 %k, 5
            %5 = load.i32x4 x[%4]
            store.i32x4 9, y[%4]
            %6 = load.i32x4 x[%4]
            %7 = add.i32x4 %5, %6
            store.i32x4 %7, y[%4]
          end
        end
        """
    same = NUMBERS.copy()
    rewritten(text, same, same)
    rewritten(text, NUMBERS, NUMBERS.copy())


def test_random_functions_keep_their_meaning() -> None:
    slides = 0
    for seed in range(300):
        f = random_stencils(seed)
        arguments = stencils_arguments(seed)
        wanted = results(f, arguments)
        loads = count(f, ops.LOAD)
        reuse.run(f, Sliding())
        verify(f)
        assert results(f, arguments) == wanted, seed
        assert count(f, ops.LOAD) <= loads + 2 * count(f, ops.SLIDE)
        slides += count(f, ops.SLIDE)
    assert slides > 300
