"""The nests pass: unmasked unrolled main loops and masked remainders, for every length."""

from __future__ import annotations

import numpy as np
import pytest
from tests.passes.generator import AnyTarget, results
from tests.passes.lanes import bodies_arguments, lanes_arguments, random_bodies, random_lanes
from tests.passes.texts import block, rewritten

from loopwright.ir import ops
from loopwright.ir.interpret import run
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.passes import nests


def double(bounds: str, extra: str = "") -> str:
    return f"""
    function f(%x: ptr, %x.n0: i64, %lo: i64, %hi: i64)
      array x: f32[%x.n0] at %x written
      %i = for {bounds}, 4 mask %m: mask32x4 {extra}
        %1 = masked_load.f32x4 %m, x[%i]
        %2 = add.f32x4 %1, %1
        masked_store.f32x4 %m, %2, x[%i]
      end
    end
    """


def test_one_step_at_once_leaves_an_if_behind() -> None:
    assert rewritten(double("0, %x.n0", "unroll 1"), nests) == block("""
        %stop = and.i64 %x.n0, -4
        %i.8 = for 0, %stop, 4
        %9 = load.f32x4 x[%i.8]
        %10 = add.f32x4 %9, %9
        store.f32x4 %10, x[%i.8]
        end
        %11 = lt.i64 %stop, %x.n0
        if %11
        %i.4 = copy.i64 %stop
        %m = lane_mask.mask32x4 %i.4, %x.n0
        %1 = masked_load.f32x4 %m, x[%i.4]
        %2 = add.f32x4 %1, %1
        masked_store.f32x4 %m, %2, x[%i.4]
        end
    """)


def test_constant_counts_need_no_remainder_or_no_main_loop() -> None:
    code = rewritten(double("0, 16", "unroll 2"), nests)
    assert code.count("for ") == 1 and "mask" not in code
    code = rewritten(double("0, 3", "unroll 4"), nests)
    assert "for " not in code and code.count("masked_load") == 1
    assert rewritten(double("5, 5"), nests) == ""
    code = rewritten(double("0, 15", "unroll 4"), nests)
    assert code.count(" load") == 3 and code.count("masked_load") == 1


@pytest.mark.parametrize("unroll", [1, 2, 3, 4])
@pytest.mark.parametrize("bounds", ["0, %hi", "%lo, %hi", "-3, %hi"])
def test_extreme_bounds_do_not_overflow(unroll: int, bounds: str) -> None:
    f = parse(double(bounds, f"unroll {unroll}"))
    g = f.clone()
    nests.run(g, AnyTarget())
    verify(g)
    low, high = -(1 << 63), (1 << 63) - 1
    for lo, hi in ((0, 0), (0, -1), (0, low), (5, low), (high, low), (high, 0), (low, low), (high, high), (2, 19), (7, 9), (0, 20)):
        if bounds.startswith("-3") and hi >= -3:
            continue
        if lo == 0 or "%lo" in bounds or hi <= 0:
            x = np.arange(20, dtype=np.float32)
            y = x.copy()
            run(f, x, lo, hi)
            run(g, y, lo, hi)
            assert x.tolist() == y.tolist()


def test_a_bound_the_body_writes_is_read_once() -> None:
    text = """
    function f(%x: ptr, %x.n0: i64) -> i64
      array x: f32[%x.n0] at %x written
      var %n: i64
      %n = copy.i64 %x.n0
      %i = for 0, %n, 4 mask %m: mask32x4 unroll 2
        %1 = masked_load.f32x4 %m, x[%i]
        %2 = add.f32x4 %1, 1.0
        masked_store.f32x4 %m, %2, x[%i]
        %n = sub.i64 %n, 1
      end
      ret %n
    end
    """
    f = parse(text)
    x = np.zeros(23, np.float32)
    y = x.copy()
    wanted = run(f, x)
    nests.run(f, AnyTarget())
    verify(f)
    # The steps are the same in number: one a vector.
    assert run(f, y) == wanted
    assert x.tolist() == y.tolist()


def test_accumulators_are_independent_and_combined() -> None:
    text = """
    function f(%x: ptr, %x.n0: i64) -> f32
      array x: f32[%x.n0] at %x
      var %s: f32x4
      %s = copy.f32x4 0.0
      %i = for 0, %x.n0, 4 mask %m: mask32x4 unroll 4 accumulate %s add 0.0
        %1 = masked_load.f32x4 %m, x[%i]
        %2 = add.f32x4 %s, %1
        %s = select.f32x4 %m, %2, %s
      end
      %3 = reduce_add.f32x4 %s
      ret %3
    end
    """
    f = parse(text)
    nests.run(f, AnyTarget())
    verify(f)
    main = next(k for k, instr in enumerate(f.code) if instr.op is ops.FOR)
    end = next(k for k, instr in enumerate(f.code) if instr.op is ops.END)
    assert len({instr.dst for instr in f.code[main:end] if instr.dst >= 0 and f.variable[instr.dst]}) == 4
    for n in (0, 1, 3, 4, 5, 15, 16, 17, 47, 101):
        assert run(f, np.arange(n, dtype=np.float32)) == n * (n - 1) / 2


def test_uniform_continue_and_break() -> None:
    text = """
    function f(%x: ptr, %x.n0: i64, %k: i64)
      array x: f32[%x.n0] at %x written
      block
        %i = for 0, %x.n0, 4 mask %m: mask32x4 unroll 4
          %1 = eq.i64 %i, %k
          br_if 0, %1
          %2 = gt.i64 %i, 24
          br_if 1, %2
          masked_store.f32x4 %m, 1.0, x[%i]
        end
      end
    end
    """
    f = parse(text)
    g = f.clone()
    nests.run(g, AnyTarget())
    verify(g)
    for n in (0, 3, 8, 21, 40):
        for k in (0, 8, 20):
            x = np.zeros(n, np.float32)
            y = x.copy()
            run(f, x, k)
            run(g, y, k)
            assert x.tolist() == y.tolist()


@pytest.mark.parametrize("seed", range(60))
def test_random_loops_keep_their_meaning(seed: int) -> None:
    for length in (0, 1, 3, 4, 5, 13, 16, 37):
        f = random_lanes(seed)
        verify(f)
        arguments = lanes_arguments(f, seed, length)
        wanted = results(f, arguments)
        nests.run(f, AnyTarget())
        verify(f)
        assert not any(instr.loop is not None and instr.loop.mask >= 0 for instr in f.code)
        assert results(f, arguments) == wanted


@pytest.mark.parametrize("start", range(0, 240, 40))
def test_random_bodies_keep_their_meaning(start: int) -> None:
    unrolled = 0
    for seed in range(start, start + 40):
        for length in (0, 1, 4, 7, 16, 37):
            f = random_bodies(seed)
            verify(f)
            arguments = bodies_arguments(f, seed, length)
            wanted = results(f, arguments)
            before = len(f.code)
            nests.run(f, AnyTarget())
            verify(f)
            assert results(f, arguments) == wanted, (seed, length)
            unrolled += len(f.code) > 3 * before
    assert unrolled >= 20
