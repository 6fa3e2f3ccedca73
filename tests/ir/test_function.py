"""A function of the IR can be copied and pickled, at every stage, and the copy is worth as much as the original."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from loopwright.compiler import run_passes
from loopwright.ir.function import Frame, Function, Instr
from loopwright.ir.interpret import run
from loopwright.ir.stages import STAGES
from loopwright.ir.text import equal, parse, print_function
from loopwright.targets import registry

from .random_functions import random_function

SUM = """
function sum(%x: ptr, %x.n0: i64, %calls: i64) -> f32
  file "sum.py"
  option contract
  array x: f32[%x.n0] at %x
  callee sqrtf(f32) -> f32
  var %t: f32x8
  %t = copy.f32x8 0.0
  %i = for 0, %x.n0, 8 mask %m: mask32x8 unroll 4 accumulate %t add 0.0
    %1 = masked_load.f32x8 %m, x[%i]  ; @2
    %2 = add.f32x8 %t, %1  ; @2
    %t = select.f32x8 %m, %2, %t  ; @2
  end
  %3 = reduce_add.f32x8 %t
  %4 = call.f32 sqrtf(%3)
  ret %4
end
"""


def pickled(f: Function) -> Function:
    made: Function = pickle.loads(pickle.dumps(f))
    return made


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickled], ids=["copy", "deepcopy", "pickle"])
def test_a_copy_says_the_same(make: Callable[[Function], Function]) -> None:
    for f in [parse(SUM), *(random_function(seed) for seed in range(20))]:
        made = make(f)
        assert made is not f
        assert equal(made, f)
        made.name = "another"
        assert f.name != "another"


def test_a_deep_copy_shares_nothing_that_changes() -> None:
    f = parse(SUM)
    before = parse(SUM)
    made = copy.deepcopy(f)
    for instr in made.code:
        instr.args.append(0)
        if instr.loop is not None:
            instr.loop.accumulators.clear()
    made.arrays[0].extents.clear()
    made.callees[0].params.clear()
    made.options.contract = False
    made.const_values.clear()
    assert equal(f, before)


@pytest.mark.parametrize("stage", STAGES)
def test_a_deep_copy_is_good_at_every_stage(stage: str) -> None:
    target = registry.get("x86-64-v3")
    f = run_passes(parse(SUM), target, stage)
    made = copy.deepcopy(f)
    assert print_function(made, target) == print_function(f, target)
    assert [instr.rule for instr in made.code] == [instr.rule for instr in f.code]
    if STAGES.index(stage) <= STAGES.index("liveness"):
        assert run_passes(made, target).machine.data == run_passes(f, target).machine.data


def test_what_was_copied_computes_the_same() -> None:
    f = parse("function f(%a: i64) -> i64\n  %1 = mul.i64 %a, 3\n  ret %1\nend\n")
    assert [run(made, 14) for made in (f, copy.copy(f), copy.deepcopy(f), pickled(f))] == [42] * 4


def test_attributes_outside_the_constructors_are_copied_too() -> None:
    frame = Frame()
    frame.saved, frame.size, frame.outgoing, frame.calls, frame.align = [3], 8, 16, True, 32
    made = copy.deepcopy(frame)
    assert (made.saved, made.size, made.outgoing, made.calls, made.align) == ([3], 8, 16, True, 32)
    instr = parse(SUM).code[0]
    instr.weight = 8.0
    copied: Instr = copy.copy(instr)
    assert copied.weight == 8.0
