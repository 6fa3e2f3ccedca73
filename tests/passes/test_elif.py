"""The elif pass: chains become nested ifs, and branches still go where they went."""

from __future__ import annotations

import pytest
from tests.passes.generator import AnyTarget, Generator, random_arguments, results
from tests.passes.texts import block, rewritten

from loopwright.ir import ops
from loopwright.ir.verify import verify
from loopwright.passes import elif_


def test_a_chain_becomes_nested_ifs() -> None:
    text = """
    function f(%a: i64) -> i64
      %1 = lt.i64 %a, 0
      if %1
        ret -1
      elif
        %2 = eq.i64 %a, 0
      then %2
        ret 0
      elif
        %3 = eq.i64 %a, 1
      then %3
        ret 10
      else
        ret 1
      end
    end
    """
    assert rewritten(text, elif_) == block("""
        %1 = lt.i64 %a, 0
        if %1
        ret -1
        else
        %2 = eq.i64 %a, 0
        if %2
        ret 0
        else
        %3 = eq.i64 %a, 1
        if %3
        ret 10
        else
        ret 1
        end
        end
        end
    """)


def test_branches_cross_the_added_brackets() -> None:
    text = """
    function f(%a: i64) -> i64
      block
        %1 = lt.i64 %a, 0
        if %1
          br 1
        elif
          %2 = eq.i64 %a, 0
        then %2
          block
            br 2
          end
          br_if 0, %2
          br_if 1, %1
        elif
          %3 = eq.i64 %a, 1
        then %3
          br_if 1, %1
        else
          br 1
        end
      end
      ret 1
    end
    """
    assert rewritten(text, elif_) == block("""
        block
        %1 = lt.i64 %a, 0
        if %1
        br 1
        else
        %2 = eq.i64 %a, 0
        if %2
        block
        br 3
        end
        br_if 0, %2
        br_if 2, %1
        else
        %3 = eq.i64 %a, 1
        if %3
        br_if 3, %1
        else
        br 3
        end
        end
        end
        end
        ret 1
    """)


@pytest.mark.parametrize("seed", range(40))
def test_random_functions_keep_their_meaning(seed: int) -> None:
    f = Generator(seed, 60).f
    arguments = random_arguments(f, seed)
    wanted = results(f, arguments)
    elif_.run(f, AnyTarget())
    verify(f)
    assert not any(instr.op is ops.ELIF or instr.op is ops.THEN for instr in f.code)
    assert results(f, arguments) == wanted
