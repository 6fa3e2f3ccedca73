"""The simplify pass: what it must find, what it must leave alone, and that it keeps the meaning of random functions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.passes.generator import AnyTarget, Generator, block, lanes_arguments, random_arguments, random_lanes, results, rewritten

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.interpret import run
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.passes import addresses, immediates, nests, simplify
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


def test_invariants_leave_all_loops_they_are_invariant_in_but_loads_stay() -> None:
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
        %j = for 0, %a, 1
        %5 = load_at.i64 [%p]
        %8 = add.i64 %7, %5
        %s = add.i64 %s, %8
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
        %1 = load_at.i64 [%p]
        %2 = lt.i64 %1, 5
        br_if 1, %2
        end
        %3 = add.i64 %1, 1
        ret %3
        end
        ret 0
    """)


@pytest.mark.parametrize("seed", range(150))
def test_random_functions_keep_their_meaning(seed: int) -> None:
    f = Generator(seed, 20 + seed % 60).f
    arguments = random_arguments(seed)
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
        for one in (nests, addresses, simplify, immediates):
            one.run(f, AnyTarget(indexed=seed % 2 == 0))
            verify(f)
        assert results(f, arguments) == wanted


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
