"""The immediates pass: constants an instruction has no room for get one register each, outside of the loops."""

from __future__ import annotations

import pytest
from tests.passes.generator import AnyTarget, Generator, random_arguments, results
from tests.passes.texts import block, rewritten

from loopwright.ir import ops
from loopwright.ir.verify import verify
from loopwright.passes import immediates


def test_what_fits_stays() -> None:
    text = """
    function f(%a: i64) -> i64
      %1 = add.i64 %a, 5
      %2 = add.i64 %1, 5000000000
      ret %2
    end
    """
    assert rewritten(text, immediates) == block("""
        %1 = add.i64 %a, 5
        %c5000000000 = copy.i64 5000000000
        %2 = add.i64 %1, %c5000000000
        ret %2
    """)


def test_operands_are_exchanged_to_make_room() -> None:
    text = """
    function f(%a: i64) -> i64
      %1 = add.i64 7, %a
      %2 = lt.i64 7, %1
      if %2
        ret %1
      end
      ret %a
    end
    """
    assert rewritten(text, immediates) == block("""
        %1 = add.i64 %a, 7
        %2 = gt.i64 %1, 7
        if %2
        ret %1
        end
        ret %a
    """)


def test_one_register_in_front_of_the_outermost_loop() -> None:
    text = """
    function f(%a: i64, %x: f64) -> f64
      var %s: f64
      %s = copy.f64 %x
      %i = for 0, %a, 1
        %j = for 0, %a, 1
          %1 = mul.f64 %s, 1.5
          %s = add.f64 %1, 2.5
        end
        %2 = mul.f64 %s, 1.5
        %s = copy.f64 %2
      end
      ret %s
    end
    """
    assert rewritten(text, immediates) == block("""
        %s = copy.f64 %x
        %c1_5 = copy.f64 1.5
        %c2_5 = copy.f64 2.5
        %i = for 0, %a, 1
        %j = for 0, %a, 1
        %1 = mul.f64 %s, %c1_5
        %s = add.f64 %1, %c2_5
        end
        %2 = mul.f64 %s, %c1_5
        %s = copy.f64 %2
        end
        ret %s
    """)


def test_uses_in_both_branches_share_one_register() -> None:
    text = """
    function f(%c: bool, %x: f64) -> f64
      if %c
        %1 = mul.f64 %x, 1.5
        ret %1
      else
        %2 = add.f64 %x, 1.5
        %3 = add.f64 %2, 4.0
        ret %3
      end
    end
    """
    assert rewritten(text, immediates) == block("""
        %c1_5 = copy.f64 1.5
        if %c
        %1 = mul.f64 %x, %c1_5
        ret %1
        else
        %2 = add.f64 %x, %c1_5
        %c4 = copy.f64 4.0
        %3 = add.f64 %2, %c4
        ret %3
        end
    """)


@pytest.mark.parametrize("seed", range(40))
def test_random_functions_keep_their_meaning(seed: int) -> None:
    f = Generator(seed, 60).f
    arguments = random_arguments(f, seed)
    wanted = results(f, arguments)
    target = AnyTarget(most=4)
    immediates.run(f, target)
    verify(f)
    for instr in f.code:
        if instr.op is not ops.COPY and instr.op is not ops.FOR:
            for position, a in enumerate(instr.args):
                assert a >= 0 or target.immediate(instr, position, f.type_of(a), f.const_values[~a])
    assert results(f, arguments) == wanted
