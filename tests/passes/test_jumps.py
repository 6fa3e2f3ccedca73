"""The jumps pass: brackets become labels and jumps that go where the brackets went."""

from __future__ import annotations

import numpy as np
import pytest
from tests.passes.generator import Generator, random_arguments, results
from tests.passes.texts import block, body

from loopwright.compiler import run_passes
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.interpret import Interpreter
from loopwright.ir.interpret import run as interpret
from loopwright.ir.text import parse
from loopwright.passes import jumps
from loopwright.targets import registry

V3 = registry.get("x86-64-v3")


def jumped(text: str) -> Function:
    """After the pass, straight from text: what it does needs no registers allocated."""
    f = parse(text)
    jumps.run(f, V3)
    return f


def lines(text: str) -> str:
    return body(jumped(text))


def test_an_if_jumps_over_its_body() -> None:
    assert lines("""
    function f(%a: i64) -> i64
      if_lt.i64 %a, 5
        ret 1
      end
      ret 0
    end
    """) == block("""
      labels 1
      jump_ge.i64 L0, %a, 5
      ret 1
      L0:
      ret 0
    """)


def test_an_else_is_jumped_to_and_over() -> None:
    text = """
    function f(%a: i64, %c: bool) -> i64
      var %r: i64
      if %c
        %r = copy.i64 1
      else
        %r = copy.i64 2
      end
      ret %r
    end
    """
    assert lines(text) == block("""
      labels 2
      jump_unless.bool L0, %c
      %r = copy.i64 1
      jump L1
      L0:
      %r = copy.i64 2
      L1:
      ret %r
    """)


def test_floats_jump_on_the_opposite_that_holds_for_nan() -> None:
    f = jumped("function f(%a: f32, %b: f32) -> i64\n if_lt.f32 %a, %b\n ret 1\n end\n ret 0\nend")
    assert f.code[0].op.name == "jump_nlt"
    f = jumped("function f(%a: i32, %b: i32) -> i64\n if_lt.i32 %a, %b\n ret 1\n end\n ret 0\nend")
    assert f.code[0].op.name == "jump_ge"


def test_what_cannot_be_reached_goes_away() -> None:
    f = jumped("""
    function f(%a: i64) -> i64
      var %r: i64
      %r = copy.i64 0
      block
        br 0
        %r = copy.i64 1
        loop
          %r = add.i64 %r, 1
          br_lt.i64 0, %r, %a
        end
      end
      ret %r
    end
    """)
    assert [instr.op.name for instr in f.code if instr.op is not ops.LABEL] == ["copy", "ret"]


def test_a_jump_to_the_next_instruction_is_none() -> None:
    f = jumped("function f(%a: i64) -> i64\n var %r: i64\n %r = copy.i64 %a\n if_lt.i64 %a, 5\n %r = copy.i64 1\n else\n end\n ret %r\nend")
    assert "jump" not in [instr.op.name for instr in f.code]


def test_branches_leave_as_many_brackets_as_they_say() -> None:
    text = """
    function f(%a: i64) -> i64
      var %r: i64
      var %k: i64
      %r = copy.i64 0
      %k = copy.i64 0
      block
        loop
          block
            br_gt.i64 2, %k, %a
            br_eq.i64 0, %k, 3
            %r = add.i64 %r, %k
          end
          %k = add.i64 %k, 1
          br 0
        end
      end
      ret %r
    end
    """
    before, after = parse(text), jumped(text)
    for a in (-1, 0, 2, 3, 7):
        assert Interpreter(after).call(a) == Interpreter(before).call(a)


def test_each_way_on_has_its_jump_and_each_label_somebody_who_jumps_there() -> None:
    assert lines("""
    function f(%a: i64, %b: bool, %x: f64) -> i64
      var %r: i64
      %r = copy.i64 0
      block
        if_eq.i64 %a, 1
          br 1
        else
          if %b
            %r = copy.i64 1
            br 2
          end
          br_if 1, %b
        end
        if_le.f64 %x, 1.0
          ret 5
        else
          %r = copy.i64 2
        end
        loop
          %r = add.i64 %r, 1
          if %b
            br 2
          end
          br_lt.i64 0, %r, 9
          block
            br_ge.i64 0, %r, 7
            br 1
          end
          br 0
        end
      end
      ret %r
    end
    """) == block("""
      labels 7
      %r = copy.i64 0
      jump_eq.i64 L1, %a, 1
      jump_unless.bool L2, %b
      %r = copy.i64 1
      jump L1
      L2:
      jump_if.bool L1, %b
      jump_nle.f64 L3, %x, 1.0
      ret 5
      L3:
      %r = copy.i64 2
      L4: align
      %r = add.i64 %r, 1
      jump_if.bool L1, %b
      jump_lt.i64 L4, %r, 9
      jump_ge.i64 L4, %r, 7
      jump L4
      L1:
      ret %r
    """)


def test_a_condition_keeps_its_operand_in_memory() -> None:
    f = parse("function f(%a: i64, %p: ptr) -> i64\n block\n br_lt.i64 0, %a, [%p + 8]\n if_lt.i64 %a, [%p + 16]\n ret 1\n end\n end\n ret 0\nend")
    jumps.run(f, V3)
    assert [(instr.op.name, instr.mem.disp, len(instr.args)) for instr in f.code if instr.mem is not None] == [("jump_lt", 8, 2), ("jump_ge", 16, 2)]


NESTED = """
function f(%n: i64) -> i64
  var %i: i64
  var %j: i64
  %i = copy.i64 0
  loop
    %j = copy.i64 0
    loop
      %j = add.i64 %j, 1
      br_lt.i64 0, %j, %n
    end
    %i = add.i64 %i, 1
    br_lt.i64 0, %i, %n
  end
  loop
    %i = sub.i64 %i, 1
    br_gt.i64 0, %i, 0
  end
  ret %i
end
"""


def test_heads_of_innermost_loops_are_marked_for_alignment() -> None:
    f = jumped(NESTED)
    heads = [instr.imm for instr in f.code if instr.op is ops.LABEL]
    assert len(heads) == 3
    assert f.aligned == {heads[1], heads[2]}


def test_a_loop_that_nothing_repeats_has_no_label() -> None:
    f = jumped("function f(%a: i64) -> i64\n loop\n %b = add.i64 %a, 1\n ret %b\n end\nend")
    assert [instr.op.name for instr in f.code] == ["add", "ret"]
    assert not f.aligned


def test_instructions_weigh_as_much_as_the_loops_around_them() -> None:
    f = jumped(NESTED)
    weights = {instr.op.name + str(n): instr.weight for n, instr in enumerate(f.code) if instr.op is not ops.LABEL}
    once, inner = min(weights.values()), max(weights.values())
    assert once == 1.0
    middle = {w for w in weights.values() if once < w < inner}
    assert len(middle) == 1
    assert inner == middle.pop() ** 2


def test_what_leaves_a_loop_weighs_as_what_is_outside() -> None:
    f = jumped("""
    function f(%a: i64, %p: ptr) -> i64
      block
        loop
          loop
            if_eq.i64 %a, 1
              %1 = add.i64 %a, 1
              store_at.i64 %1, [%p]
              br 3
            end
            if_eq.i64 %a, 2
              %2 = add.i64 %a, 2
              ret %2
            end
            if_eq.i64 %a, 3
              %3 = add.i64 %a, 3
              store_at.i64 %3, [%p]
              br 2
            end
            br_lt.i64 0, %a, 9
          end
          br_lt.i64 0, %a, 8
        end
      end
      ret %a
    end
    """)
    weights = {instr.args[1]: instr.weight for instr in f.code if instr.op is ops.ADD}
    # Out of both loops, out of the function, on to the outer loop's next turn.
    assert [weights[c] for c in sorted(weights, reverse=True)] == [1.0, 1.0, 8.0]
    assert max(instr.weight for instr in f.code) == 64.0


def test_what_returns_from_a_loop_stands_behind_the_end() -> None:
    f = jumped("""
    function f(%a: i64, %p: ptr) -> i64
      loop
        %1 = load_at.i64 [%p]
        if_eq.i64 %1, %a
          %2 = add.i64 %a, 2
          ret %2
        end
        br_lt.i64 0, %1, 9
      end
      ret %a
    end
    """)
    names = [instr.op.name for instr in f.code if instr.op is not ops.PROLOGUE and instr.op is not ops.EPILOGUE]
    assert names == ["label", "load_at", "jump_eq", "jump_lt", "ret", "label", "add", "ret"]


@pytest.mark.parametrize("name", ["x86-64-v3", "rv64gc"])
@pytest.mark.parametrize("type_", ["i8", "u8", "i16", "u16"])
def test_narrow_integers_are_held_extended(name: str, type_: str) -> None:
    target = registry.get(name)
    low, high = (0, (1 << int(type_[1:])) - 1) if type_[0] == "u" else (-(1 << int(type_[1:]) - 1), (1 << int(type_[1:]) - 1) - 1)
    for op in ("add", "sub", "mul", "and", "or", "xor", "min", "max", "shl", "shr", "div_trunc", "rem_floor"):
        f = parse(f"""
        function f(%a: {type_}, %b: {type_}) -> {type_}
          var %v: {type_}
          %v = copy.{type_} %a
          %v = {op}.{type_} %v, {3 if op in ("shl", "shr", "div_trunc", "rem_floor") else "%b"}
          %1 = {op}.{type_} %v, {2 if op in ("shl", "shr", "div_trunc", "rem_floor") else "%v"}
          ret %1
        end
        """)
        after = run_passes(f, target, "jumps")
        for a in (low, low + 1, 0, 5, high - 1, high):
            for b in (low, 3, high):
                assert results(after, [a, b], target) == results(f, [a, b]), (op, a, b)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "rv64gc"])
@pytest.mark.parametrize("seed", range(40))
def test_random_functions_mean_the_same(name: str, seed: int) -> None:
    """With registers allocated, so that what the allocator put on the edges is jumped to and over as well."""
    f = Generator(seed).f
    target = registry.get(name)
    arguments = random_arguments(f, seed)
    after = run_passes(f, target, "jumps")
    assert all(not instr.op.opens and not instr.op.closes for instr in after.code)
    labels = [instr.imm for instr in after.code if instr.op is ops.LABEL]
    assert len(labels) == len(set(labels))
    assert results(after, arguments, target) == results(f, arguments)


# --- what is done seldom -----------------------------------------------------------------------------------------

LEAST = """
function f(%x: ptr, %n: i64) -> i64
  var %least: i64
  var %at: i64
  var %i: i64
  %least = copy.i64 1000
  %at = copy.i64 0
  %i = copy.i64 0
  loop
    %v = load_at.i64 [%x + %i*8]
    if_{compare}.i64 %v, {other}
      {body}
    end
    %i = add.i64 %i, 1
    br_lt.i64 0, %i, %n
  end
  ret %at
end
"""
RECORD = "%least = copy.i64 %v\n%at = copy.i64 %i"


def test_a_new_least_value_is_noted_behind_the_end() -> None:
    text = LEAST.format(compare="lt", other="%least", body=RECORD)
    assert lines(text) == block("""
      labels 3
      %least = copy.i64 1000
      %at = copy.i64 0
      %i = copy.i64 0
      L0: align
      %v = load_at.i64 [%x + %i*8]
      jump_lt.i64 L1, %v, %least
      L2:
      %i = add.i64 %i, 1
      jump_lt.i64 L0, %i, %n
      ret %at
      L1:
      %least = copy.i64 %v
      %at = copy.i64 %i
      jump L2
    """)
    numbers = np.array([7, 3, 9, 3, 1, 8], np.int64)
    assert Interpreter(jumped(text)).call(numbers, 6) == Interpreter(parse(text)).call(numbers, 6) == 4


@pytest.mark.parametrize(
    ("other", "body"),
    [
        # What is compared does not change; it becomes something else; something is computed besides; the other way is there too.
        ("%least", "%at = copy.i64 %i"),
        ("%least", "%least = copy.i64 %i"),
        ("%least", RECORD + "\n%at = add.i64 %at, 1"),
        ("%least", RECORD + "\nelse\n%at = copy.i64 0"),
        ("5", RECORD),
    ],
)
def test_what_is_no_record_stays_where_it_is(other: str, body: str) -> None:
    f = jumped(LEAST.format(compare="lt", other=other, body=body))
    assert f.code[-1].op is ops.RET


def test_outside_of_loops_nothing_is_put_aside() -> None:
    f = jumped("function f(%a: i64, %v: i64) -> i64\n  var %b: i64\n  %b = copy.i64 %a\n  if_lt.i64 %v, %b\n    %b = copy.i64 %v\n  end\n  ret %b\nend\n")
    assert f.code[-1].op is ops.RET


def test_a_loop_goes_on_by_its_last_conditional_jump_and_jumps_lead_to_no_jumps() -> None:
    assert lines("""
    function f(%a: i64, %b: bool) -> i64
      var %r: i64
      %r = copy.i64 %a
      block
        block
          loop
            %r = add.i64 %r, 1
            br_ge.i64 1, %r, 9
            br 0
          end
        end
        if %b
          br 1
        end
        %r = copy.i64 3
      end
      ret %r
    end
    """) == block("""
      labels 4
      %r = copy.i64 %a
      L0: align
      %r = add.i64 %r, 1
      jump_lt.i64 L0, %r, 9
      jump_if.bool L3, %b
      %r = copy.i64 3
      L3:
      ret %r
    """)


ARMS = """
function f(%a: ptr, %a.n0: i64) -> i64
  array a: i64[%a.n0] at %a written
  var %k: i64
  var %v: i64
  %k = copy.i64 0
  %v = copy.i64 0
  loop
    %x = load_at.i64 [%a + %k*8]{of a}
    IF
      store_at.i64 %v, [%a + %k*8]{of a}
      %v = copy.i64 0
    else
      REST
    end
    %k = add.i64 %k, 1
    br_lt.i64 0, %k, %a.n0
  end
  ret %v
end
"""


@pytest.mark.parametrize(
    ("first", "rest", "aside"),
    [
        ("if_eq.i64 %x, 44", "%v = add.i64 %v, %x", True),
        # Of two arms neither is known to run more often.
        ("if_lt.i64 %x, 44", "%v = add.i64 %v, %x", False),
        ("if_eq.i64 %x, %v", "%v = add.i64 %v, %x", False),
        ("if_lt.i64 %x, 44", "if_lt.i64 %x, 99\n%v = add.i64 %v, 1\nelse\n%v = add.i64 %v, %x\nend", True),
        # (Of the two that are left neither is.)
        ("if_lt.i64 %x, 44", "if_lt.i64 %x, 99\n%v = add.i64 %v, 1\nend", True),
        ("if_lt.i64 %x, 44", "block\nbr_lt.i64 0, %x, 99\n%v = add.i64 %v, 1\nend", False),
    ],
)
def test_first_arms_that_are_put_aside(first: str, rest: str, aside: bool) -> None:
    text = ARMS.replace("IF", first).replace("REST", rest)
    made = jumped(text)
    places = [k for k, instr in enumerate(made.code) if instr.op is ops.STORE_AT]
    returns = next(k for k, instr in enumerate(made.code) if instr.op is ops.RET)
    assert (places[0] > returns) == aside
    # Back from there is where the arms meet.
    assert not aside or made.code[-1].op is ops.JUMP
    for values in ([44, 3, 44, 50], [1, 2], [100, 44, 200]):
        given = np.array(values)
        want = given.copy()
        assert interpret(made, given) == interpret(parse(text), want) and (given == want).all()


def test_arms_outside_of_loops_and_long_ones_stay() -> None:
    longer = ARMS.replace("IF", "if_eq.i64 %x, 44\n" + "%v = add.i64 %v, %x\n" * 9).replace("REST", "%v = add.i64 %v, 1")
    made = jumped(longer)
    assert made.code[-1].op is ops.RET


ENDED = """
function f(%a: ptr, %a.n0: i64) -> i64
  array a: i64[%a.n0] at %a
  var %k: i64
  var %v: i64
  %k = copy.i64 0
  %v = copy.i64 0
  loop
    %x = load_at.i64 [%a + %k*8]{of a}
    if_lt.i64 %x, 44
      %v = add.i64 %v, %x
    else
      %v = sub.i64 %v, 3
    end
    END
    br_lt.i64 0, %k, %a.n0
  end
  ret %v
end
"""


@pytest.mark.parametrize(("times", "copied"), [(1, True), (4, True), (5, False)])
def test_arms_have_short_ends_of_loops_themselves(times: int, copied: bool) -> None:
    text = ENDED.replace("END", "%k = add.i64 %k, 1\n" + "%v = xor.i64 %v, %k\n" * (times - 1))
    made = jumped(text)
    # (From either arm control goes back to the head, and the first goes on behind the other's end.)
    assert sum(instr.op is ops.JUMP_CMP["lt"] for instr in made.code) == 1 + copied
    (jump,) = [instr for instr in made.code if instr.op is ops.JUMP]
    behind = [made.code[k + 1].op for k, instr in enumerate(made.code) if instr.op is ops.LABEL and instr.imm == jump.imm]
    assert behind == [ops.RET if copied else ops.ADD]
    for values in ([44, 3, 44, 50], [1, 2], [100, 44, 200], [7]):
        given = np.array(values)
        assert interpret(made, given) == interpret(parse(text), given)
