"""The simplify pass: what it must find, what it must leave alone, and that it keeps the meaning of random functions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.passes.generator import AnyTarget, Generator, random_arguments, results
from tests.passes.lanes import bodies_arguments, lanes_arguments, random_bodies, random_lanes
from tests.passes.texts import block, rewritten

from loopwright.compiler import run_passes
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.interpret import run
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.passes import addresses, immediates, simplify, unroll
from loopwright.targets import registry
from loopwright.types import F64, VOID


def expression(lines: str, result: str = "%r", type_: str = "i64", option: str = "") -> str:
    """A function of a, b (of a type), c (bool) and p (ptr) that returns ``result``."""
    return f"function f(%a: {type_}, %b: {type_}, %c: bool, %p: ptr) -> {type_ if '->' not in result else result.split('->')[1]}\n{option}\n{lines}\n ret {result.split('->')[0]}\nend\n"


INTEGERS = [
    ("%r = add.i64 %a, 0", "ret %a"),
    ("%r = add.i64 2, 3", "ret 5"),
    ("%r = add.i64 9223372036854775807, 1", "ret -9223372036854775808"),
    ("%r = sub.i64 %a, %a", "ret 0"),
    ("%r = sub.i64 0, %a", "%r = neg.i64 %a\nret %r"),
    ("%r = mul.i64 1, %a", "ret %a"),
    ("%r = mul.i64 %a, 0", "ret 0"),
    ("%r = mul.i64 %a, 8", "%r = shl.i64 %a, 3\nret %r"),
    ("%r = mul.i64 %a, -1", "%r = neg.i64 %a\nret %r"),
    ("%1 = add.i64 %a, 3\n%r = sub.i64 %1, 5", "%r = add.i64 %a, -2\nret %r"),
    ("%1 = add.i64 %a, 3\n%r = sub.i64 %1, 3", "ret %a"),
    ("%r = div_floor.i64 %a, 4", "%r = shr.i64 %a, 2\nret %r"),
    ("%r = rem_floor.i64 %a, 4", "%r = and.i64 %a, 3\nret %r"),
    ("%r = div_trunc.i64 %a, 4", "%r = div_trunc.i64 %a, 4\nret %r"),
    ("%r = div_trunc.i64 5, 0", "ret 0"),
    ("%r = and.i64 -1, %a", "ret %a"),
    ("%r = or.i64 %a, %a", "ret %a"),
    ("%1 = and.i64 %a, 12\n%r = and.i64 6, %1", "%r = and.i64 %a, 4\nret %r"),
    ("%1 = and.i64 %a, 7\n%r = and.i64 %1, -8", "ret 0"),
    ("%1 = or.i64 %a, 12\n%r = or.i64 %1, 6", "%r = or.i64 %a, 14\nret %r"),
    ("%r = xor.i64 %a, -1", "%r = not.i64 %a\nret %r"),
    ("%1 = not.i64 %a\n%r = not.i64 %1", "ret %a"),
    ("%r = shl.i64 %a, 0", "ret %a"),
    ("%r = shl.i64 %a, 64", "ret 0"),
    ("%r = shl.i64 %a, -1", "ret 0"),
    ("%r = shr.i64 %a, 64", "%r = shr.i64 %a, 63\nret %r"),
    ("%r = shr.i64 %a, -1", "%r = shr.i64 %a, 63\nret %r"),
    ("%r = shl_modulo.i64 %a, 64", "ret %a"),
    ("%1 = and.i64 %b, 63\n%r = shl.i64 %a, %1", "%r = shl_modulo.i64 %a, %b\nret %r"),
    ("%1 = and.i64 63, %b\n%r = shr.i64 %a, %1", "%r = shr_modulo.i64 %a, %b\nret %r"),
    ("%1 = and.i64 %b, 7\n%r = shr.i64 %a, %1", "%1 = and.i64 %b, 7\n%r = shr_modulo.i64 %a, %1\nret %r"),
    ("%1 = and.i64 %b, 127\n%r = shr.i64 %a, %1", "%1 = and.i64 %b, 127\n%r = shr.i64 %a, %1\nret %r"),
    ("%1 = and.i64 %b, -1\n%r = shr.i64 %a, %1", "%r = shr.i64 %a, %b\nret %r"),
    ("%r = select.i64 %c, %a, %a", "ret %a"),
    ("%r = select.i64 true, %a, %b", "ret %a"),
    ("%1 = lt.i64 %a, %b\n%r = select.i64 %1, %a, %b", "%r = min.i64 %b, %a\nret %r"),
    ("%1 = ge.i64 %a, %b\n%r = select.i64 %1, %a, %b", "%r = max.i64 %b, %a\nret %r"),
    ("%1 = not.bool %c\n%r = select.i64 %1, %a, %b", "%r = select.i64 %c, %b, %a\nret %r"),
    ("%1 = mul.i64 %a, %b\n%2 = mul.i64 %b, %a\n%r = sub.i64 %1, %2", "ret 0"),
]


@pytest.mark.parametrize(("lines", "wanted"), INTEGERS)
def test_identities_of_integers(lines: str, wanted: str) -> None:
    assert rewritten(expression(lines), simplify) == block(wanted)
    for a in (0, 1, -1, 7, -8, (1 << 63) - 1, -(1 << 63)):
        for b in (0, 3, -3, 63, 64, 70):
            f = parse(expression(lines))
            g = f.clone()
            simplify.run(g, AnyTarget())
            if "5, 0" in lines:
                continue
            with np.errstate(all="ignore"):
                assert run(f, a, b, True, 0) == run(g, a, b, True, 0)


FLOATS = [
    ("%r = add.f32 %a, -0.0", "ret %a"),
    ("%r = sub.f32 %a, 0.0", "ret %a"),
    ("%r = mul.f32 1.0, %a", "ret %a"),
    ("%r = mul.f32 %a, 2.0", "%r = add.f32 %a, %a\nret %r"),
    ("%r = div.f32 %a, 4.0", "%r = mul.f32 %a, 0.25\nret %r"),
    ("%1 = lt.f32 %a, %b\n%r = select.f32 %1, %a, %b", "%r = min.f32 %b, %a\nret %r"),
    ("%1 = gt.f32 %b, %a\n%r = select.f32 %1, %b, %a", "%r = max.f32 %a, %b\nret %r"),
    ("%1 = lt.f32 %a, %b\n%r = select.f32 %1, %b, %a", "%r = max.f32 %a, %b\nret %r"),
    ("%1 = fma.f32 1.0, %a, %b\n%r = fma.f32 %1, %b, -0.0", "%1 = add.f32 %b, %a\n%r = mul.f32 %1, %b\nret %r"),
    ("%r = fnma.f32 %a, 1.0, %b", "%r = sub.f32 %b, %a\nret %r"),
    ("%r = fma.f32 %a, 1.0, 0.0", "%r = add.f32 %a, 0.0\nret %r"),
    ("%r = fma.f32 %a, 1.0, -0.0", "ret %a"),
    ("%1 = neg.f32 %a\n%r = fma.f32 %b, %1, %a", "%r = fnma.f32 %b, %a, %a\nret %r"),
    ("%1 = neg.f32 %a\n%r = fms.f32 %1, %b, %b", "%r = fnms.f32 %a, %b, %b\nret %r"),
    ("%1 = neg.f32 %a\n%r = fnma.f32 %1, %1, %1", "%r = fnms.f32 %a, %a, %a\nret %r"),
    ("%1 = neg.f32 %a\n%2 = neg.f32 %b\n%r = fma.f32 %1, %2, %b", "%r = fma.f32 %a, %b, %b\nret %r"),
    ("%r = fms.f32 %a, 1.0, 0.0", "ret %a"),
    ("%r = fms.f32 %a, 1.0, -0.0", "%r = sub.f32 %a, -0.0\nret %r"),
    ("%1 = max.f32 %a, 0.0\n%2 = min.f32 %1, 255.0\n%3 = max.f32 %2, 0.0\n%r = min.f32 %3, 255.0", "%1 = max.f32 %a, 0.0\n%2 = min.f32 %1, 255.0\nret %2"),
    ("%1 = max.f32 0.0, %b\n%2 = max.f32 %a, %1\n%r = max.f32 %2, 0.0", "%1 = max.f32 0.0, %b\n%2 = max.f32 %a, %1\nret %2"),
    ("%1 = min.f32 %a, 2.5\n%2 = floor.f32 %1\n%r = min.f32 %2, 2.0", "%1 = min.f32 %a, 2.5\n%2 = floor.f32 %1\nret %2"),
    ("%1 = min.f32 2.5, %a\n%2 = select.f32 %c, %1, 1.0\n%r = min.f32 %2, 2.5", "%1 = min.f32 2.5, %a\n%2 = select.f32 %c, %1, 1.0\nret %2"),
]
LEFT_ALONE = ["%r = add.f32 %a, 0.0", "%r = sub.f32 %a, -0.0", "%r = sub.f32 %a, %a", "%r = mul.f32 %a, 0.0", "%r = div.f32 %a, 3.0", "%r = sub.f32 0.0, %a"]
# What a NaN passes over bounds nothing.
LEFT_ALONE += ["%1 = max.f32 %b, 0.0\n%2 = max.f32 %a, %1\n%r = max.f32 %2, 0.0", "%1 = max.f32 %a, 0.0\n%r = max.f32 %1, 1.0"]
LEFT_ALONE += ["%1 = max.f32 %a, 0.0\n%r = max.f32 0.0, %1", "%1 = min.f32 %a, 2.5\n%2 = round.f32 %1\n%r = min.f32 %2, 1.5"]
LEFT_ALONE += ["%1 = le.f32 %a, %b\n%r = select.f32 %1, %a, %b", "%r = div.f32 %a, 1.7014118e+38", "%r = fma.f32 %a, %b, 0.0"]
SPECIAL = (0.0, -0.0, 1.0, -2.5, float("inf"), float("-inf"), float("nan"), 1e-45, 3e38)


def same(x: object, y: object) -> bool:
    return np.isnan(x) and np.isnan(y) if np.isnan(x) else x == y and np.signbit(x) == np.signbit(y)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(("lines", "wanted"), [*FLOATS, *((line, None) for line in LEFT_ALONE)])
def test_identities_of_floats_hold_for_zeros_infinities_and_nan(lines: str, wanted: str | None) -> None:
    if wanted is None:
        wanted = lines + "\nret %r"
    found = rewritten(expression(lines, type_="f32"), simplify)
    if not lines.startswith("%1 = fma"):
        assert found == block(wanted)
    f = parse(expression(lines, type_="f32"))
    g = f.clone()
    simplify.run(g, AnyTarget())
    for a in SPECIAL:
        for b in SPECIAL:
            with np.errstate(all="ignore"):
                assert same(run(f, a, b, True, 0), run(g, a, b, True, 0)), (a, b)


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        ("%1 = max.f32 0.0, %a\n%2 = min.f32 %1, 255.0", True),
        ("%1 = max.f32 0.0, %a\n%2 = min.f32 %1, 255.9", True),
        ("%1 = max.f32 0.0, %a\n%2 = min.f32 %1, 256.0", False),
        ("%1 = max.f32 -0.9, %a\n%2 = min.f32 %1, 1.0", True),
        ("%1 = max.f32 -1.0, %a\n%2 = min.f32 %1, 1.0", False),
        # These keep a NaN.
        ("%1 = max.f32 %a, 0.0\n%2 = min.f32 %1, 255.0", False),
        ("%1 = max.f32 0.0, %a\n%2 = max.f32 %b, %1", False),
        ("%2 = floor.f32 %a", False),
        ("%1 = max.f32 0.0, %a\n%3 = min.f32 %1, 255.0\n%2 = select.f32 %c, %3, 7.0", True),
        ("%1 = max.f32 0.0, %a\n%3 = min.f32 %1, 255.0\n%2 = select.f32 %c, %3, %b", False),
        ("%1 = max.f32 0.0, %a\n%3 = min.f32 %1, 255.0\n%2 = select.f32 %c, %b, %3", False),
        ("%1 = convert.u8.f32 %a\n%2 = convert.f32.u8 %1", True),
        ("%1 = convert.u16.f32 %a\n%2 = convert.f32.u16 %1", False),
    ],
)
def test_a_float_known_to_fit_becomes_an_integer_without_a_look(lines: str, known: bool) -> None:
    text = expression(f"{lines}\n%r = convert.u8.f32 %2", "%r->u8", "f32")
    assert ("convert_unchecked.u8" in rewritten(text, simplify)) == known
    f = parse(text)
    g = f.clone()
    simplify.run(g, AnyTarget())
    for a in (*SPECIAL, 254.9, 255.0, 255.5, 256.0, -0.5, -1.0):
        for b in SPECIAL:
            with np.errstate(all="ignore"):
                assert run(f, a, b, True, 0) == run(g, a, b, True, 0), (a, b)


def test_fastmath_drops_the_addition_of_zero() -> None:
    assert rewritten(expression("%r = add.f32 %a, 0.0", type_="f32", option="option fastmath"), simplify) == block("ret %a")


def test_fastmath_makes_one_factor_of_constants() -> None:
    lines = "%1 = mul.f64 %a, 12.0\n%r = mul.f64 0.25, %1"
    assert rewritten(expression(lines, type_="f64", option="option fastmath"), simplify) == block("%r = mul.f64 %a, 3.0\nret %r")
    assert "3.0" not in rewritten(expression(lines, type_="f64"), simplify)
    # Their product is none of the type's numbers.
    huge = "%1 = mul.f32 %a, 1e30\n%r = mul.f32 %1, 1e30"
    assert "inf" not in rewritten(expression(huge, type_="f32", option="option fastmath"), simplify)


def test_what_waits_for_a_variable_is_multiplied_last() -> None:
    """Of a product of what the iteration before has left and another one the former is the multiply-add's."""
    for op, wanted in (("add", "fma.f64 %s_0, 0.5, %_5"), ("sub", "fms.f64 %s_0, 0.5, %_5")):
        text = f"""
        function f(%a: ptr, %n: i64, %s0: f64) -> f64
          option contract
          option fastmath
          array a: f64[%n] at %a
          var %s: f64
          %s = copy.f64 %s0
          %i = for 0, %n, 1
            %x = load.f64 a[%i]
            %1 = mul.f64 %x, 3.0
            %2 = mul.f64 %s, 0.5
            %s = {op}.f64 %2, %1
          end
          ret.f64 %s
        end
        """
        assert wanted in rewritten(text, simplify)


def test_the_opposite_comparison_of_integers_but_not_of_floats() -> None:
    assert rewritten(expression("%1 = lt.i64 %a, %b\n%r = not.bool %1", "%r->bool"), simplify) == block("%r = ge.i64 %a, %b\nret %r")
    text = "%1 = lt.f32 %a, %b\n%r = not.bool %1"
    assert rewritten(expression(text, "%r->bool", "f32"), simplify) == block(text + "\nret %r")


def test_multiply_add_contraction_only_where_allowed_and_only_of_single_uses() -> None:
    lines = "%1 = mul.f32 %a, %b\n%r = add.f32 %1, %a"
    assert rewritten(expression(lines, type_="f32", option="option contract"), simplify) == block("%r = fma.f32 %a, %b, %a\nret %r")
    assert rewritten(expression(lines, type_="f32"), simplify) == block(lines + "\nret %r")
    lines = "%1 = mul.f32 %a, %b\n%r = sub.f32 %b, %1"
    assert rewritten(expression(lines, type_="f32", option="option contract"), simplify) == block("%r = fnma.f32 %a, %b, %b\nret %r")
    lines = "%1 = mul.f32 %a, %b\n%r = sub.f32 %1, %b"
    assert rewritten(expression(lines, type_="f32", option="option contract"), simplify) == block("%r = fms.f32 %a, %b, %b\nret %r")
    # Twice the same product: a*b - a*b is 0 exactly, which a contraction would spoil.
    lines = "%1 = mul.f32 %a, %b\n%2 = add.f32 %1, %a\n%r = sub.f32 %1, %2"
    assert "fm" not in rewritten(expression(lines, type_="f32", option="option contract"), simplify)
    lines = "%1 = mul.f32 %a, 2.0\n%r = add.f32 %1, %b"
    assert rewritten(expression(lines, type_="f32", option="option contract"), simplify) == block("%r = fma.f32 %a, 2.0, %b\nret %r")


def test_a_product_outside_of_a_loop_is_not_moved_into_it() -> None:
    text = """
    function f(%a: f64, %n: i64) -> f64
      option contract
      var %s: f64
      %s = copy.f64 0.0
      %i = for 0, %n, 1
        %1 = mul.f64 %a, %a
        %2 = add.f64 %1, %s
        %s = copy.f64 %2
      end
      ret %s
    end
    """
    assert rewritten(text, simplify) == block("""
        %s = copy.f64 0.0
        %1 = mul.f64 %a, %a
        %i = for 0, %n, 1
        %s = add.f64 %1, %s
        end
        ret %s
    """)


def test_values_are_shared_within_a_scope_and_not_beyond_it() -> None:
    text = """
    function f(%a: i64, %c: bool) -> i64
      var %v: i64
      %v = copy.i64 0
      if %c
        %1 = mul.i64 %a, %a
        %2 = mul.i64 %a, %a
        %3 = add.i64 %1, %2
        %v = copy.i64 %3
      end
      %4 = mul.i64 %a, %a
      %5 = add.i64 %v, %4
      ret %5
    end
    """
    assert rewritten(text, simplify) == block("""
        %v = copy.i64 0
        if %c
        %1 = mul.i64 %a, %a
        %v = add.i64 %1, %1
        end
        %4 = mul.i64 %a, %a
        %5 = add.i64 %v, %4
        ret %5
    """)


def test_loads_are_shared_until_something_is_stored() -> None:
    text = """
    function f(%p: ptr, %q: ptr) -> i64
      %1 = load_at.i64 [%p]
      %2 = load_at.i64 [%p]
      store_at.i64 %1, [%q]
      %3 = load_at.i64 [%p]
      %4 = add.i64 %1, %2
      %5 = add.i64 %4, %3
      %6 = load_at.i64 [%p + 8]
      ret %5
    end
    """
    assert rewritten(text, simplify) == block("""
        %1 = load_at.i64 [%p]
        store_at.i64 %1, [%q]
        %3 = load_at.i64 [%p]
        %4 = add.i64 %1, %1
        %5 = add.i64 %4, %3
        ret %5
    """)


def test_invariants_leave_all_loops_they_are_invariant_in_and_loads_one() -> None:
    text = """
    function f(%a: i64, %b: i64, %p: ptr) -> i64
      var %s: i64
      %s = copy.i64 0
      %i = for 0, %a, 1
        %j = for 0, %a, 1
          %1 = mul.i64 %a, %b
          %2 = add.i64 %i, %1
          %3 = div_trunc.i64 %a, %b
          %4 = div_trunc.i64 %a, 3
          %5 = load_at.i64 [%p]
          %6 = add.i64 %2, %3
          %7 = add.i64 %6, %4
          %8 = add.i64 %7, %5
          %9 = add.i64 %s, %8
          %s = copy.i64 %9
        end
      end
      ret %s
    end
    """
    assert rewritten(text, simplify) == block("""
        %s = copy.i64 0
        %1 = mul.i64 %a, %b
        %3 = div_trunc.i64 %a, %b
        %4 = div_trunc.i64 %a, 3
        %i = for 0, %a, 1
        %2 = add.i64 %i, %1
        %6 = add.i64 %2, %3
        %7 = add.i64 %6, %4
        %99 = lt.i64 0, %a
        if.bool %99
        %5 = load_at.i64 [%p]
        %8 = add.i64 %7, %5
        %j = for 0, %a, 1
        %s = add.i64 %s, %8
        end
        end
        end
        ret %s
    """)


def test_variables_are_written_directly_also_when_their_new_value_is_read_again() -> None:
    text = """
    function f(%n: i64, %p: ptr) -> i64
      var %s: i64
      %s = copy.i64 0
      %i = for 0, %n, 1
        %1 = add.i64 %s, %i
        %s = copy.i64 %1
        %2 = mul.i64 %s, %i
        store_at.i64 %2, [%p]
      end
      ret %s
    end
    """
    assert rewritten(text, simplify) == block("""
        %s = copy.i64 0
        %i = for 0, %n, 1
        %s = add.i64 %s, %i
        %2 = mul.i64 %s, %i
        store_at.i64 %2, [%p]
        end
        ret %s
    """)


def test_a_value_is_not_read_from_a_variable_whose_next_write_moves_up() -> None:
    """What is stored is what the variable was, and the variable becomes something else on the way there."""
    text = """
    function f(%n: i64, %p: ptr) -> i64
      var %v: i64
      %1 = load_at.i64 [%p]
      %v = copy.i64 %1
      %c = gt.i64 %n, 0
      if %c
        %2 = sub.i64 %1, 238
        store_at.i64 %1, [%p + 8]
        %v = copy.i64 %2
      end
      ret %v
    end
    """
    assert rewritten(text, simplify) == block("""
        %1 = load_at.i64 [%p]
        %v = copy.i64 %1
        %c = gt.i64 %n, 0
        if %c
        %v = add.i64 %1, -238
        store_at.i64 %1, [%p + 8]
        end
        ret %v
    """)


EXCHANGED = """
function f(%a: ptr, %a.n0: i64, %u: i32, %v: i32)
  array a: i32[%a.n0] at %a written
  var %s: i32
  var %t: i32
  var %x: i32
  %s = copy.i32 %u
  %t = copy.i32 %v
  %i = for 0, %a.n0, 1
    %c = copy.i32 %t
    %d = copy.i32 %s
    %s = copy.i32 %c
    %t = copy.i32 %d
    %y = load.i32 a[%i]
    %x = copy.i32 %y
    %l = for 0, 3, 1
      %x = copy.i32 %s
      %q = add.i32 %x, %t
      %x = copy.i32 %q
    end
    store.i32 %x, a[%i]
  end
end
"""


def test_what_reads_a_variable_that_holds_a_value_in_a_loop_alone_stays_in_it() -> None:
    f = parse(EXCHANGED)
    before, after = np.arange(5, dtype=np.int32), np.arange(5, dtype=np.int32)
    run(f, before, 3, 40)
    simplify.run(f, AnyTarget())
    verify(f)
    run(f, after, 3, 40)
    assert (after == before).all() and (after == 43).all()


def test_an_old_value_still_wanted_keeps_its_register() -> None:
    text = """
    function f(%n: i64) -> i64
      var %a: i64
      var %b: i64
      %a = copy.i64 0
      %b = copy.i64 1
      %i = for 0, %n, 1
        %1 = copy.i64 %b
        %2 = add.i64 %a, %b
        %a = copy.i64 %1
        %b = copy.i64 %2
      end
      ret %a
    end
    """
    assert rewritten(text, simplify) == block("""
        %a = copy.i64 0
        %b = copy.i64 1
        %i = for 0, %n, 1
        %2 = add.i64 %a, %b
        %a = copy.i64 %b
        %b = copy.i64 %2
        end
        ret %a
    """)
    f = parse(text)
    simplify.run(f, AnyTarget())
    assert [run(f, n) for n in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]


@pytest.mark.parametrize(
    ("type_", "made", "left_out", "other", "later"),
    [
        ("i64", "add.i64 %a, %b", "%k = for 0, %1, 1\n end", "5", "%9 = mul.i64 %1, 3"),
        ("bool", "lt.i64 %a, %b", "if %1\n end", "true", "%9 = select.i64 %1, 3, 7"),
        ("bool", "lt.i64 %a, %b", "if %1\n %2 = mul.i64 %a, %a\n end", "true", "%9 = select.i64 %1, 3, 7"),
    ],
    ids=["for", "if", "if around dead code"],
)
def test_a_value_used_by_what_is_left_out_keeps_its_register_for_later(type_: str, made: str, left_out: str, other: str, later: str) -> None:
    # %1 may become %v itself only if nobody wants it once %v is written again.
    text = f"""
    function f(%a: i64, %b: i64, %c: bool) -> i64
      var %v: {type_}
      %1 = {made}
      %v = copy.{type_} %1
      {left_out}
      if %c
        %v = copy.{type_} {other}
      end
      {later}
      %10 = {"copy.i64 %v" if type_ == "i64" else "select.i64 %v, 100, 200"}
      %11 = add.i64 %10, %9
      ret %11
    end
    """
    f = parse(text)
    verify(f)
    g = f.clone()
    simplify.run(g, AnyTarget())
    verify(g)
    for c in (True, False):
        for b in (3, 40):
            assert run(g, 20, b, c) == run(f, 20, b, c)


def test_a_vector_in_a_store_under_a_mask_that_never_holds_keeps_its_register_for_later() -> None:
    text = """
    function f(%p: ptr, %p.n0: i64, %c: bool)
      array x: i32[%p.n0] at %p written
      var %v: i32x4
      %1 = load_at.i32x4 [%p]
      %v = copy.i32x4 %1
      %2 = ne.i32x4 %1, %1
      masked_store_at.i32x4 %2, %1, [%p + 16]
      if %c
        %v = copy.i32x4 5
      end
      %3 = sub.i32x4 %v, %1
      store_at.i32x4 %3, [%p]
    end
    """
    f = parse(text)
    simplify.run(f, AnyTarget())
    verify(f)
    for c in (True, False):
        x = np.array([1, 2, 3, 4, 0, 0, 0, 0], np.int32)
        run(f, x, c)
        assert x.tolist() == ([4, 3, 2, 1, 0, 0, 0, 0] if c else [0] * 8)


def test_straight_code_over_a_variable_has_no_copies() -> None:
    text = """
    function f(%x: f32) -> f32
      option contract
      var %acc: f32
      %acc = copy.f32 2.0
      %1 = mul.f32 %acc, %x
      %acc = copy.f32 %1
      %2 = add.f32 %acc, 1.5
      %acc = copy.f32 %2
      %3 = mul.f32 %acc, %x
      %acc = copy.f32 %3
      %4 = add.f32 %acc, 0.5
      %acc = copy.f32 %4
      ret %acc
    end
    """
    assert rewritten(text, simplify) == block("""
        %2 = fma.f32 %x, 2.0, 1.5
        %4 = fma.f32 %2, %x, 0.5
        ret %4
    """)


def test_known_conditions_and_code_that_is_not_reached() -> None:
    text = """
    function f(%a: i64) -> i64
      block
        %1 = lt.i64 2, 3
        if %1
          %2 = gt.i64 %a, 5
          br_if 1, %2
          br_if 0, false
        else
          ret 1
        end
        if false
          ret 2
        end
        ret 3
        ret 4
      end
      if %2b
        %5 = add.i64 %a, 1
      end
      ret 5
    end
    """.replace("if %2b", "%7 = eq.i64 %a, 9\n if %7")
    assert rewritten(text, simplify) == block("""
        block
        %2 = gt.i64 %a, 5
        br_if 0, %2
        ret 3
        end
        ret 5
    """)


def test_what_a_branch_has_decided_is_known_behind_it() -> None:
    text = """
    function f(%a: i64, %n: i64, %c: bool, %p: ptr) -> i64
      var %v: i64
      %1 = ge.i64 %a, %n
      if %1
        ret -1
      end
      %2 = ge.i64 %a, %n
      if %2
        ret -2
      end
      %v = copy.i64 %n
      if %c
        %3 = select.i64 %c, %a, %v
        %v = copy.i64 %3
      else
        %4 = select.i64 %c, %n, 7
        %v = copy.i64 %4
      end
      store_at.i64 %v, [%p]
      %5 = select.i64 %c, %v, %n
      block
        br_if 0, %c
        %6 = select.i64 %c, 1, 2
        store_at.i64 %6, [%p]
      end
      %7 = select.i64 %c, %5, 3
      ret %7
    end
    """
    assert rewritten(text, simplify) == block("""
        %1 = ge.i64 %a, %n
        if %1
        ret -1
        end
        if %c
        %v = copy.i64 %a
        else
        %v = copy.i64 7
        end
        store_at.i64 %v, [%p]
        %5 = select.i64 %c, %v, %n
        block
        br_if 0, %c
        store_at.i64 2, [%p]
        end
        %7 = select.i64 %c, %5, 3
        ret %7
    """)


def test_masks_that_are_known() -> None:
    text = """
    function f(%p: ptr, %q: ptr, %n: i64)
      %m = lane_mask.mask32x4 0, 4
      %1 = masked_load_at.f32x4 %m, [%p]
      %2 = lane_mask.mask32x4 0, %n
      %3 = and.mask32x4 %m, %2
      %4 = not.mask32x4 %3
      %5 = and.mask32x4 %m, %4
      %6 = select.f32x4 %m, %1, 0.0
      masked_store_at.f32x4 %m, %6, [%q]
      %7 = not.mask32x4 %m
      masked_store_at.f32x4 %7, 1.0, [%q]
      masked_store_at.f32x4 %5, 1.0, [%q + 16]
    end
    """
    assert rewritten(text, simplify) == block("""
        %1 = load_at.f32x4 [%p]
        %2 = lane_mask.mask32x4 0, %n
        %4 = not.mask32x4 %2
        store_at.f32x4 %1, [%q]
        masked_store_at.f32x4 %4, 1.0, [%q + 16]
    """)


def test_what_a_loop_left_at_its_end_computed_is_used_after_it() -> None:
    text = """
    function f(%p: ptr) -> i64
      block
        loop
          store_at.i64 3, [%p + 8]
          %1 = load_at.i64 [%p]
          %2 = lt.i64 %1, 5
          br_if 1, %2
        end
        %3 = add.i64 %1, 1
        ret %3
      end
      ret 0
    end
    """
    assert rewritten(text, simplify) == block("""
        block
        loop
        store_at.i64 3, [%p + 8]
        %1 = load_at.i64 [%p]
        %2 = lt.i64 %1, 5
        br_if 1, %2
        end
        %3 = add.i64 %1, 1
        ret %3
        end
        ret 0
    """)


def test_a_variable_written_once_before_all_its_uses_is_none() -> None:
    text = """
    function f(%n: i64, %p: ptr) -> i64
      var %a: i64
      var %b: i64
      var %c: i64
      var %d: i64
      %a = add.i64 %n, 1
      %b = copy.i64 0
      %i = for 0, %n, 1
        %c = mul.i64 %i, %a
        store_at.i64 %c, [%p]
        store_at.i64 %d, [%p + 8]
        %b = add.i64 %b, %c
        %d = mul.i64 %i, 5
      end
      %1 = add.i64 %b, %d
      ret %1
    end
    """
    f = parse(text)
    simplify.run(f, AnyTarget())
    verify(f)
    # %d is read above its write, and after the loop that may not run.
    assert {f.names[r] for r in range(len(f.types)) if f.variable[r]} == {"b", "d"}


def test_a_comparison_stays_next_to_what_tests_it_and_a_mask_goes_in_front_of_the_loop() -> None:
    text = """
    function f(%a: i64, %n: i64, %p: ptr, %c: bool)
      %i = for 0, %n, 1
        %1 = lt.i64 %a, 7
        %2 = and.bool %1, %c
        if %2
          store_at.i64 %i, [%p]
        end
        %3 = splat.i32x4 5
        %4 = load_at.i32x4 [%p]
        %5 = select.i64 %c, %a, 3
        store_at.i64 %5, [%p + 8]
        %6 = lane_mask.mask32x4 0, %a
        %7 = not.mask32x4 %6
        masked_store_at.i32x4 %7, %4, [%p]
      end
    end
    """
    assert rewritten(text, simplify) == block("""
        %5 = select.i64 %c, %a, 3
        %6 = lane_mask.mask32x4 0, %a
        %7 = not.mask32x4 %6
        %i = for 0, %n, 1
        %1 = lt.i64 %a, 7
        %2 = and.bool %1, %c
        if %2
        store_at.i64 %i, [%p]
        end
        %4 = load_at.i32x4 [%p]
        store_at.i64 %5, [%p + 8]
        masked_store_at.i32x4 %7, %4, [%p]
        end
    """)


def test_nothing_follows_a_branch_that_is_always_taken_and_leaves() -> None:
    text = """
    function f(%a: i64, %p: ptr) -> i64
      block
        if true
          store_at.i64 %a, [%p]
          br 1
        else
          store_at.i64 1, [%p]
        end
        store_at.i64 2, [%p]
      end
      if false
        store_at.i64 3, [%p]
      else
        store_at.i64 4, [%p + 8]
        ret %a
      end
      store_at.i64 5, [%p]
      ret 1
    end
    """
    code = rewritten(text, simplify)
    assert [line for line in code.splitlines() if "store" in line] == ["store_at.i64 %a_0, [%p_1]", "store_at.i64 4, [%p_1 + 8]"]


def test_a_variable_read_by_a_copy_alone_is_read() -> None:
    text = """
    function f(%n: i64, %p: ptr)
      array x: i64[%n] at %p written
      var %v: i64
      %v = copy.i64 7
      %i = for 0, %n, 1
        %1 = copy.i64 %v
        %v = mul.i64 %i, 5
        store_at.i64 %1, [%p + %i*8]
      end
    end
    """
    f = parse(text.replace("array x: i64[%n] at %p written\n", ""))
    simplify.run(f, AnyTarget())
    verify(f)
    assert [instr.op for instr in f.code].count(ops.MUL) == 1
    assert block(text).count("copy") == [instr.op for instr in f.code].count(ops.COPY)


def test_what_is_made_of_an_old_value_leaves_the_loops_that_do_not_change_it() -> None:
    text = """
    function f(%n: i64, %a: i64, %p: ptr)
      var %v: i64
      %v = copy.i64 7
      %i = for 0, %n, 1
        %1 = copy.i64 %v
        %v = mul.i64 %i, 5
        %j = for 0, %n, 1
          %2 = mul.i64 %1, %a
          store_at.i64 %2, [%p]
        end
      end
    end
    """
    assert rewritten(text, simplify) == block("""
        %v = copy.i64 7
        %i = for 0, %n, 1
        %1 = copy.i64 %v
        %v = mul.i64 %i, 5
        %2 = mul.i64 %1, %a
        %j = for 0, %n, 1
        store_at.i64 %2, [%p]
        end
        end
    """)


def test_all_that_read_a_value_while_a_variable_holds_it_read_the_variable() -> None:
    text = """
    function f(%n: i64, %p: ptr) -> i64
      var %s: i64
      %s = copy.i64 0
      %i = for 0, %n, 1
        %1 = add.i64 %s, %i
        %s = copy.i64 %1
        %2 = mul.i64 %s, %i
        %3 = mul.i64 %s, %s
        %4 = sub.i64 %2, %3
        store_at.i64 %4, [%p]
        store_at.i64 %s, [%p + 8]
      end
      ret %s
    end
    """
    assert rewritten(text, simplify) == block("""
        %s = copy.i64 0
        %i = for 0, %n, 1
        %s = add.i64 %s, %i
        %2 = mul.i64 %s, %i
        %3 = mul.i64 %s, %s
        %4 = sub.i64 %2, %3
        store_at.i64 %4, [%p]
        store_at.i64 %s, [%p + 8]
        end
        ret %s
    """)


def test_a_product_under_another_name_is_contracted_like_itself() -> None:
    lines = "%1 = mul.f32 %a, %b\n%2 = copy.f32 %1\n%r = add.f32 %2, %a"
    assert rewritten(expression(lines, type_="f32", option="option contract"), simplify) == block("%r = fma.f32 %a, %b, %a\nret %r")
    lines = "%1 = mul.f32 %a, %b\n%2 = copy.f32 %1\n%3 = add.f32 %2, %a\n%r = sub.f32 %2, %3"
    assert "fm" not in rewritten(expression(lines, type_="f32", option="option contract"), simplify)


def test_accesses_to_arrays_under_known_masks() -> None:
    text = """
    function f(%x: ptr, %x.n0: i64, %a: i64)
      array x: i32[%x.n0] at %x written
      %1 = ne.i32x4 1, 1
      %2 = not.mask32x4 %1
      %3 = masked_load.i32x4 %2, x[%a]
      masked_store.i32x4 %1, 7, x[%a]
      masked_store.i32x4 %2, %3, x[%a]
    end
    """
    assert rewritten(text, simplify) == block("%3 = load.i32x4 x[%a]\nstore.i32x4 %3, x[%a]")


@pytest.mark.parametrize("seed", range(150))
def test_random_functions_keep_their_meaning(seed: int) -> None:
    f = Generator(seed, 20 + seed % 60).f
    arguments = random_arguments(f, seed)
    wanted = results(f, arguments)
    size = len(f.code)
    for one in (simplify, addresses, simplify, simplify):
        one.run(f, AnyTarget())
        verify(f)
        assert results(f, arguments) == wanted
    assert len(f.code) <= size


@pytest.mark.parametrize("seed", range(60))
def test_random_loops_over_lanes_keep_their_meaning(seed: int) -> None:
    for length in (0, 1, 4, 7, 33):
        f = random_lanes(seed)
        arguments = lanes_arguments(f, seed, length)
        wanted = results(f, arguments)
        for one in (unroll, addresses, simplify, immediates):
            one.run(f, AnyTarget(indexed=seed % 2 == 0))
            verify(f)
        assert results(f, arguments) == wanted


@pytest.mark.parametrize("start", range(0, 160, 40))
def test_random_bodies_of_loops_over_lanes_keep_their_meaning(start: int) -> None:
    for seed in range(start, start + 40):
        f = random_bodies(seed)
        calls = [bodies_arguments(f, seed, length) for length in (0, 3, 8, 21)]
        wanted = [results(f, arguments) for arguments in calls]
        for one in (simplify, unroll, addresses, simplify, immediates):
            one.run(f, AnyTarget(indexed=seed % 2 == 0))
            if any(instr.loop is not None and instr.loop.mask != NONE for instr in f.code):
                # Simplified before unroll, as no target has it, an accumulator may be shifted where it was multiplied.
                assert one is simplify
            else:
                verify(f)
            assert [results(f, arguments) for arguments in calls] == wanted, seed


def test_nothing_is_quadratic() -> None:
    def chain(length: int) -> Function:
        f = Function("chain", F64)
        x = f.param(F64, "x")
        last = x
        for k in range(length):
            made = f.register(F64)
            f.code.append(Instr(ops.ADD if k % 2 else ops.MUL, F64, made, [last, f.const(F64, 1.25 + k)]))
            last = made
        f.code.append(Instr(ops.RET, VOID, NONE, [last]))
        return f

    def calls(length: int) -> int:
        # Counted, not timed: a shared machine's clock says nothing.
        import sys

        count = 0

        def watch(_frame: object, _event: str, _argument: object) -> None:
            nonlocal count
            count += 1

        f = chain(length)
        sys.setprofile(watch)
        try:
            simplify.run(f, AnyTarget())
            immediates.run(f, AnyTarget())
        finally:
            sys.setprofile(None)
        return count

    assert calls(4000) < 8.5 * calls(500)


def test_loads_of_different_types_at_one_address_are_different_values() -> None:
    names = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "ptr"]
    names += [f"{element}x{lanes}" for element in ("u8", "i16", "i32", "u32", "i64", "u64", "f32", "f64") for lanes in (2, 4, 8, 16)]
    # Each is loaded twice, and stored, so that it is not dead.
    loads = [f"%{prefix}{k} = load_at.{name} [%p]" for prefix in ("", "a") for k, name in enumerate(names)]
    stores = [f"store_at.{name} %{prefix}{k}, [%q + {64 * k}]" for k, name in enumerate(names) for prefix in ("", "a")]
    found = rewritten("function f(%p: ptr, %q: ptr)\n" + "\n".join([*loads, *stores]) + "\nend", simplify)
    assert [line.split()[2] for line in found.splitlines() if "load" in line] == [f"load_at.{name}" for name in names]


def test_what_is_written_over_uses_nothing() -> None:
    """A store that goes is no user of the value that it would have stored: those that stay decide whether the variable can be written directly."""
    text = """function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %n: i64)
  array x: i64[%x.n0] at %x written
  array y: i64[%y.n0] at %y written
  var %v: i64
  %v = copy.i64 0
  %k = for 0, 3, 1
    %m = add.i64 %v, 1
    %v = copy.i64 %m
    store.i64 %v, x[0]
    store.i64 7, x[0]
    %i = for 0, %n, 1
      %p = mul.i64 %v, 96
      store.i64 %p, y[%i]
    end
  end
end
"""
    f = parse(text)
    made = run_passes(f, registry.get("x86-64-v3"), "simplify")
    defined = {*made.params, *(instr.dst for instr in made.code)}
    assert {a for instr in made.code for a in instr.args if a >= 0} <= defined
    x, y = np.zeros(1, np.int64), np.zeros(5, np.int64)
    run(made, x, y, 5)
    assert x.tolist() == [7]
    assert y.tolist() == [3 * 96] * 5


@pytest.mark.parametrize(
    "body",
    [
        # A copy in a loop inside of the one that it is made in front of, and one behind the loop that writes the variable: nobody wants either, as what comes behind uses the register.
        """
    %v = copy.i64 %m
    %i = for 0, %n, 1
      %v = copy.i64 %m
      %c = copy.i64 %v
      %o = load.i64 y[%k]
      %s = add.i64 %o, %c
      store.i64 %s, y[%k]
      %v = copy.i64 3
    end
""",
        """
    %v = copy.i64 %m
    %i = for 0, %n, 1
      %o = load.i64 y[%k]
      %s = add.i64 %o, %v
      store.i64 %s, y[%k]
      %v = copy.i64 7
    end
    %v = copy.i64 %m
    %p = mul.i64 %v, 96
    %q = load.i64 y[%k]
    %t = add.i64 %p, %q
    store.i64 %t, y[%k]
    %v = copy.i64 3
""",
    ],
)
def test_a_variable_holds_a_value_by_one_copy(body: str) -> None:
    text = f"""function f(%y: ptr, %y.n0: i64, %n: i64)
  array y: i64[%y.n0] at %y written
  var %v: i64
  %v = copy.i64 0
  %k = for 0, 5, 1
    %v = add.i64 %v, 1
    %m = add.i64 %k, 10
{body}
  end
end
"""
    f = parse(text)
    made = run_passes(f, registry.get("x86-64-v3"), "simplify")
    y, wanted = np.zeros(5, np.int64), np.zeros(5, np.int64)
    run(f, wanted, 3)
    run(made, y, 3)
    assert y.tolist() == wanted.tolist()
