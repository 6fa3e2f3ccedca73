"""The pass ``vectorize``: what it makes of loops over lanes, and that it means the same."""

from __future__ import annotations

import numpy as np
import pytest
from tests.passes.texts import block, body
from tests.vectors.bodies import Body, arguments

from loopwright.compiler import run_passes
from loopwright.errors import KernelTypeError, UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import InterpreterError, run
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.targets import registry

EACH = 60


def vectorized(f: Function, bits: int) -> Function:
    made = run_passes(f, registry.get("x86-64-v4", bits), "vectorize")
    verify(made)
    return made


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(start, marks=pytest.mark.slow) if start >= 600 else pytest.param(start, marks=pytest.mark.every_change) if start >= 240 else start
        for start in range(0, 900, EACH)
    ],
)
def test_random_bodies_mean_the_same_for_vectors(start: int) -> None:
    ran = 0
    for seed in range(start, start + EACH):
        f = Body(seed).f
        verify(f)
        forms = [vectorized(f, bits) for bits in (128, 256, 512)]
        for n in (0, 1, 3, 8, 21):
            plain = arguments(seed, n)
            try:
                expected = run(f, *plain)
            except InterpreterError:
                # (It reads past the end of an array.)
                continue
            ran += 1
            for made in forms:
                mine = arguments(seed, n)
                found = run(made, *mine)
                assert found == expected and np.array_equal(mine[2], plain[2]), f"seed {seed}, n = {n}"
    assert ran > EACH


def test_random_bodies_that_lanes_leave_mean_the_same_for_vectors() -> None:
    taken = 0
    for seed in range(160):
        f = Body(seed, 9, True).f
        verify(f)
        forms = [vectorized(f, bits) for bits in (128, 512)]
        taken += any(instr.type.lanes for instr in forms[0].code) and any(instr.op is ops.MASK_BITS or instr.op is ops.ANY for instr in forms[0].code)
        for n in (0, 3, 8, 37):
            plain = arguments(seed, n)
            try:
                expected = run(f, *plain)
            except InterpreterError:
                continue
            for made in forms:
                mine = arguments(seed, n)
                assert run(made, *mine) == expected and np.array_equal(mine[2], plain[2]), f"seed {seed}, n = {n}"
    assert taken > 40


def loop(inside: str, header: str = "", before: str = "", bits: int = 128) -> str:
    """What becomes of a loop over lanes."""
    return body(vectorized(function(inside, header, before), bits))


def function(inside: str, header: str = "", before: str = "") -> Function:
    f = parse(
        f"""
        function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %n: i64)
          array x: f32[%x.n0] at %x
          array y: f32[%y.n0] at %y written
          {header}
          {before}
          %i = for 0, %n, 1 lanes unroll 1
          {inside}
          end
          {"end" if before else ""}
        end
        """
    )
    verify(f)
    return f


def test_an_if_becomes_a_choice_by_lane() -> None:
    made = loop(
        """
        %1 = load.f32 x[%i]
        %2 = gt.f32 %1, 0.0
        if %2
          %v = copy.f32 %1
        else
          %3 = neg.f32 %1
          %v = copy.f32 %3
        end
        store.f32 %v, y[%i]
        """,
        "var %v: f32",
    )
    assert made == block("""
        %i = for 0, %n, 4 mask %90: mask32x4 unroll 1
        %1 = masked_load.f32x4 %90, x[%i]
        %2 = gt.f32x4 %1, 0.0
        %3 = and.mask32x4 %2, %90
        %4 = andnot.mask32x4 %2, %90
        %5 = neg.f32x4 %1
        %6 = select.f32x4 %2, %1, %5
        masked_store.f32x4 %90, %6, y[%i]
        end
    """)


def test_what_is_the_same_for_all_lanes_stays_scalar() -> None:
    made = loop(
        """
        %c = gt.i64 %n, 5
        if %c
          %k = for 0, 3, 1
            %1 = convert.f32.i64 %k
            %2 = load.f32 x[%i]
            %3 = mul.f32 %2, %1
            store.f32 %3, y[%i]
          end
        end
        """
    )
    assert made == block("""
        %i = for 0, %n, 4 mask %90: mask32x4 unroll 1
        %c = gt.i64 %n, 5
        if %c
        %k = for 0, 3, 1
        %1 = convert.f32.i64 %k
        %2 = masked_load.f32x4 %90, x[%i]
        %3 = splat.f32x4 %1
        %4 = mul.f32x4 %2, %3
        masked_store.f32x4 %90, %4, y[%i]
        end
        end
        end
    """)


def test_a_loop_that_lanes_leave_runs_while_one_is_left() -> None:
    made = loop(
        """
        %v = load.f32 x[%i]
        while
          %c = lt.f32 %v, 100.0
        do %c
          %1 = add.f32 %v, %v
          %v = copy.f32 %1
        end
        store.f32 %v, y[%i]
        """,
        "var %v: f32",
    )
    assert made == block("""
        %i = for 0, %n, 4 mask %90: mask32x4 unroll 1
        %1 = masked_load.f32x4 %90, x[%i]
        %v = copy.f32x4 %1
        %91 = copy.mask32x4 %90
        while
        %2 = copy.f32x4 %v
        %3 = copy.mask32x4 %91
        %4 = lt.f32x4 %2, 100.0
        %5 = and.mask32x4 %4, %3
        %91 = copy.mask32x4 %5
        %6 = any.mask32x4 %5
        do %6
        %7 = add.f32x4 %2, %2
        %8 = select.f32x4 %5, %7, %2
        %v = copy.f32x4 %8
        end
        %9 = copy.f32x4 %v
        masked_store.f32x4 %90, %9, y[%i]
        end
    """)


def test_what_all_lanes_that_run_have_loaded_is_loaded_once() -> None:
    made = loop(
        """
        %1 = load.f32 x[%i]
        %2 = gt.f32 %1, 0.0
        if %2
          %3 = load.f32 x[%i]
          store.f32 %3, y[%i]
          %4 = load.f32 x[%i]
          store.f32 %4, y[%i]
        end
        """
    )
    # The second, after a store to what may be the same array, is not.
    assert made.count("masked_load") == 2


def test_the_widest_element_of_a_vector_says_how_many_lanes() -> None:
    assert "for 0, %n_1, 4 mask" in loop("%1 = load.f32 x[%i]\nstore.f32 %1, y[%i]")
    assert "for 0, %n_1, 16 mask" in loop("%1 = load.f32 x[%i]\nstore.f32 %1, y[%i]", bits=512)
    wide = "%1 = load.f32 x[%i]\n%2 = convert.f64.f32 %1\n%3 = mul.f64 %2, %2\n%4 = convert.f32.f64 %3\nstore.f32 %4, y[%i]"
    assert "for 0, %n_1, 2 mask" in loop(wide)
    # The index is a number of 64 bits only where it is used as one.
    assert "for 0, %n_1, 4 mask" in loop("%1 = convert.i32.i64 %i\n%2 = convert.f32.i32 %1\nstore.f32 %2, y[%i]")
    assert "for 0, %n_1, 2 mask" in loop("%2 = convert.f32.i64 %i\nstore.f32 %2, y[%i]")
    assert "for 0, %n_1, 4 mask" in loop("%1 = lt.i64 %i, 7\n%2 = select.f32 %1, 1.0, 2.0\nstore.f32 %2, y[%i]")


def test_an_accumulator_has_a_total_in_each_lane() -> None:
    text = """
    function f(%x: ptr, %x.n0: i64, %start: f32) -> f32
      array x: f32[%x.n0] at %x
      var %t: f32
      var %most: f32
      %t = copy.f32 0.0
      %most = copy.f32 %start
      %i = for 0, %x.n0, 1 lanes unroll 1 accumulate %t add 0.0 accumulate %most max %most
        %1 = load.f32 x[%i]
        %2 = add.f32 %t, %1
        %t = copy.f32 %2
        %3 = max.f32 %most, %1
        %most = copy.f32 %3
      end
      %r = add.f32 %t, %most
      ret %r
    end
    """
    made = vectorized(parse(text), 256)
    x = np.arange(13, dtype=np.float32)
    assert run(made, x, np.float32(3)) == run(parse(text), x, np.float32(3)) == 78 + 12
    assert run(made, x[:2], np.float32(3)) == 1 + 3
    code = body(made)
    assert "accumulate %t_" in code and "reduce_max.f32x8" in code
    # It started from 0.0, so the sum of the lanes is all there is.
    assert "= reduce_add.f32x8" in code and code.count("add.f32 ") == 1


@pytest.mark.parametrize(
    ("inside", "error", "message"),
    [
        ("store.f32 1.0, y[%n]", KernelTypeError, "y is written at an index that is the same for all lanes"),
        ("%1 = splat.f32x4 1.0", UnsupportedOperationError, "a vector inside lw.lanes"),
    ],
)
def test_what_has_no_form_for_lanes_is_refused(inside: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        vectorized(function(inside), 256)


def test_without_vectors_the_loop_stays() -> None:
    f = function("%1 = load.f32 x[%i]\n%2 = gt.f32 %1, 0.0\n%3 = any_lane.bool %2\nif %3\nstore.f32 %1, y[%i]\nend")
    made = run_passes(f, registry.get("rv64gc"), "vectorize")
    verify(made)
    assert all(instr.loop is None for instr in made.code)
    assert "any_lane" not in body(made)
