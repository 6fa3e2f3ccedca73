"""The immediates pass: constants an instruction has no room for get one register each, outside of the loops."""

from __future__ import annotations

import pytest
from tests.passes.generator import AnyTarget, Generator, random_arguments, results
from tests.passes.texts import block, rewritten

from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.passes import immediates
from loopwright.types import Type


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


def test_short_integers_outside_of_loops_are_made_where_they_are_used() -> None:
    """One of the arms runs; behind them the constant is made again."""
    text = """
    function f(%a: i64, %b: i64) -> i64
      var %r: i64
      %less = lt.i64 %a, %b
      if %less
        %1 = mul.i64 %a, 3000000000
        %r = add.i64 %1, 3000000000
      else
        %r = mul.i64 %b, 3000000000
      end
      %2 = mul.i64 %r, 3000000000
      ret %2
    end
    """
    assert rewritten(text, immediates) == block("""
        %less = lt.i64 %a, %b
        if %less
        %c3000000000.6 = copy.i64 3000000000
        %1 = mul.i64 %a, %c3000000000.6
        %r = add.i64 %1, %c3000000000.6
        else
        %c3000000000.7 = copy.i64 3000000000
        %r = mul.i64 %b, %c3000000000.7
        end
        %c3000000000.8 = copy.i64 3000000000
        %2 = mul.i64 %r, %c3000000000.8
        ret %2
    """)


def test_a_constant_is_made_in_front_of_the_bracket_its_first_use_is_in() -> None:
    text = """
    function f(%c: bool, %d: bool, %n: i64, %x: f64, %p: ptr)
      if %c
        %i = for 0, %n, 1
          %1 = mul.f64 %x, 1.5
          store_at.f64 %1, [%p]
        end
        while
          %2 = add.f64 %x, 2.5
          %3 = lt.f64 %2, 3.5
        do %3
          %4 = mul.f64 %x, 4.5
          store_at.f64 %4, [%p]
        end
      elif
        %5 = lt.f64 %x, 6.5
      then %5
        %6 = mul.f64 %x, 1.5
        store_at.f64 %6, [%p]
      end
      block
        loop
          %7 = mul.f64 %x, 7.5
          if %d
            %8 = mul.f64 %x, 8.5
            store_at.f64 %8, [%p]
          else
            %9 = mul.f64 %x, 8.5
            store_at.f64 %9, [%p]
          end
          br_if 0, %d
          br 1
        end
      end
      %10 = add.f64 %x, 7.5
      store_at.f64 %10, [%p]
    end
    """
    assert rewritten(text, immediates) == block("""
        %c1_5 = copy.f64 1.5
        if %c
        %i = for 0, %n, 1
        %1 = mul.f64 %x, %c1_5
        store_at.f64 %1, [%p]
        end
        %c2_5 = copy.f64 2.5
        %c3_5 = copy.f64 3.5
        %c4_5 = copy.f64 4.5
        while
        %2 = add.f64 %x, %c2_5
        %3 = lt.f64 %2, %c3_5
        do %3
        %4 = mul.f64 %x, %c4_5
        store_at.f64 %4, [%p]
        end
        elif
        %c6_5 = copy.f64 6.5
        %5 = lt.f64 %x, %c6_5
        then %5
        %6 = mul.f64 %x, %c1_5
        store_at.f64 %6, [%p]
        end
        %c7_5 = copy.f64 7.5
        block
        %c8_5 = copy.f64 8.5
        loop
        %7 = mul.f64 %x, %c7_5
        if %d
        %8 = mul.f64 %x, %c8_5
        store_at.f64 %8, [%p]
        else
        %9 = mul.f64 %x, %c8_5
        store_at.f64 %9, [%p]
        end
        br_if 0, %d
        br 1
        end
        end
        %10 = add.f64 %x, %c7_5
        store_at.f64 %10, [%p]
    """)


def test_bounds_and_steps_of_loops_and_copies_keep_their_constants() -> None:
    text = """
    function f(%n: i64, %p: ptr)
      var %v: f64
      %v = copy.f64 2.5
      %i = for 100000000000, %n, 100000000000
        store_at.f64 %v, [%p]
        %v = copy.f64 3.5
      end
      %j = for %n, 200000000000, 1
        store_at.i64 %j, [%p]
      end
    end
    """
    assert rewritten(text, immediates) == block("""
        %v = copy.f64 2.5
        %i = for 100000000000, %n, 100000000000
        store_at.f64 %v, [%p]
        %v = copy.f64 3.5
        end
        %c = copy.i64 200000000000
        %j = for %n, %c, 1
        store_at.i64 %j, [%p]
        end
    """)


class Few(AnyTarget):
    """Eight registers of each class; instructions take their second operand from memory."""

    def __init__(self) -> None:
        super().__init__()
        self.orders = [tuple(range(8)), tuple(range(8))]

    def class_of(self, type_: Type) -> int:
        return int(type_.is_float)

    def constant_from_memory(self, instr: Instr, position: int) -> bool:
        return position == 1 and instr.op is not ops.SUB


def remaining(*bodies: str) -> list[str]:
    """The constants that are operands of something else than a copy after the pass, and get no register."""
    f = parse("function f(%x: f64, %n: i64, %p: ptr)\n" + "\n".join(bodies) + "\nend")
    verify(f)
    immediates.run(f, Few())
    verify(f)
    found = [str(f.const_values[~a]) for instr in f.code if instr.op is not ops.COPY for a in instr.args if a < 0 and f.type_of(a).is_float]
    made = [str(f.const_values[~instr.args[0]]) for instr in f.code if instr.op is ops.COPY]
    assert not set(found) & set(made)
    return found


def uses(value: float, times: int, op: str = "mul") -> str:
    return "\n".join(f"%u{str(value).replace('.', '_')}_{k} = {op}.f64 %x, {value}" for k in range(times))


def test_what_the_register_file_has_no_room_for_comes_from_memory() -> None:
    six = [uses(k + 0.5, 2) for k in range(6)]
    # Three quarters of eight registers.
    assert remaining(*six) == []
    assert remaining(*six, uses(9.5, 1)) == ["9.5"]
    assert remaining(uses(9.5, 1), *six) == ["9.5"]
    # The most used have registers; of those used equally often, the first.
    assert remaining(*six, uses(9.5, 3)) == ["5.5", "5.5"]
    assert remaining(*six, uses(9.5, 2)) == ["9.5", "9.5"]
    assert remaining(*six, uses(9.5, 1), uses(8.5, 1)) == ["9.5", "8.5"]


def test_a_constant_stays_in_a_register_where_somebody_cannot_take_it_from_memory() -> None:
    six = [uses(k + 0.5, 2) for k in range(6)]
    assert remaining(*six, uses(9.5, 1, "sub")) == []
    assert remaining(*six, "%1 = sub.f64 %x, 9.5\n%2 = mul.f64 %x, 9.5") == []
    # One that has another constant in it already, and one that takes it twice.
    assert remaining(*six, "%1 = select.f64 true, %x, 9.5") == []
    assert remaining(*six, "%1 = fma.f64 %x, 9.5, 9.5") == []
    assert remaining(*six, "store_at.f64 9.5, [%p]") == []


def test_room_is_a_matter_of_the_class() -> None:
    six = [uses(k + 0.5, 2) for k in range(6)]
    integers = [f"%i{k} = mul.i64 %n, {(1 << 40) + k}" for k in range(6)]
    assert remaining(*six, *integers) == []
    assert remaining(*six, *integers, uses(9.5, 1)) == ["9.5"]


def test_registers_of_constants_have_names_that_read_as_names() -> None:
    text = "function f(%x: f64, %n: i64)\n%1 = mul.f64 %x, -1.5\n%2 = mul.f64 %x, 1e+30\n%3 = add.i64 %n, -5000000000\n%4 = mul.f64 %x, inf\nend"
    f = parse(text)
    immediates.run(f, AnyTarget())
    assert [f.names[instr.dst] for instr in f.code if instr.op is ops.COPY] == ["cm1_5", "c1e30", "cm5000000000", "cinf"]


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
