"""The strength pass: what is linear in a loop's counter is advanced, where that takes fewer operations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.passes.generator import AnyTarget
from tests.passes.texts import block, rewritten

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.interpret import run
from loopwright.ir.text import parse
from loopwright.passes import strength
from loopwright.targets import registry

HEAD = "function f(%a: ptr, %a.n0: i64, %a.n1: i64, %a.s0: i64, %lo: i64, %n: i64, %c: bool) -> i64\n  array a: i64[%a.n0, %a.n1] strides [%a.s0] at %a\n  var %t: i64\n"


def made(body: str, head: str = HEAD) -> str:
    return rewritten(f"{head}  %t = copy.i64 0\n{body}\n  ret %t\nend", strength)


def kept(body: str) -> bool:
    """Whether the pass leaves the code as it is."""
    return made(body) == block(f"%t = copy.i64 0\n{body}\nret %t")


ROWS = """
  %k = for {lo}, %n, {step}
    %1 = mul.i64 %k, %a.s0
    %2 = add.ptr %a, %1
    %3 = load_at.i64 [%2 + %lo*8]{{of a}}
    %t = add.i64 %t, %3
  end"""


def test_the_address_of_a_row_goes_one_stride_further_in_each_step() -> None:
    assert made(ROWS.format(lo=0, step=1)) == block("""
        %t = copy.i64 0
        %2 = copy.ptr %a
        %k = for 0, %n, 1
          %3 = load_at.i64 [%2 + %lo*8]{of a}
          %t = add.i64 %t, %3
          %2 = add.ptr %2, %a.s0
        end
        ret %t
    """)


def test_where_it_begins_and_how_far_it_goes_are_computed_in_front() -> None:
    assert made(ROWS.format(lo="%lo", step=8)) == block("""
        %t = copy.i64 0
        %4 = mul.i64 %lo, %a.s0
        %5 = shl.i64 %a.s0, 3
        %6 = add.ptr %a, %4
        %2 = copy.ptr %6
        %k = for %lo, %n, 8
          %3 = load_at.i64 [%2 + %lo*8]{of a}
          %t = add.i64 %t, %3
          %2 = add.ptr %2, %5
        end
        ret %t
    """)


def test_what_the_loop_begins_at_taken_away_from_its_index_begins_at_0() -> None:
    f = parse(f"""{HEAD}  %t = copy.i64 0
      %k = for %lo, %n, 1
        %1 = sub.i64 %k, %lo
        %2 = mul.i64 %1, %a.s0
        %t = xor.i64 %t, %2
      end
      ret %t
    end""")
    strength.run(f, AnyTarget())
    assert [instr.op for instr in f.code].count(ops.SUB) == 0
    assert [instr.op for instr in f.code].count(ops.MUL) == 0
    wanted = 0
    for k in range(2, 5):
        wanted ^= (k - 2) * 24
    assert run(f, np.zeros((2, 3), np.int64), 2, 5, False) == wanted


def test_what_is_taken_away_counts_where_the_counter_begins_at_0() -> None:
    text = f"""{HEAD}  %t = copy.i64 0
      %k = for 0, %n, 1
        %1 = sub.i64 %k, %lo
        %2 = mul.i64 %1, %a.s0
        %3 = xor.i64 %t, %2
        %t = add.i64 %3, 1
      end
      ret %t
    end"""
    f = parse(text)
    strength.run(f, AnyTarget())
    assert ops.MUL not in [instr.op for instr in f.code[next(k for k in range(len(f.code)) if f.code[k].op is ops.FOR) :]]
    wanted = 0
    for k in range(5):
        wanted = (wanted ^ (k - 7) * 24) + 1
    assert run(f, np.zeros((2, 3), np.int64), 7, 5, False) == wanted


def test_several_addresses_from_one_scaled_index_have_a_pointer_each() -> None:
    assert made("""
        %k = for 0, %n, 2
          %1 = shl.i64 %k, 3
          %2 = add.ptr %a, %1
          %3 = load_at.i64 [%2]{of a}
          %t = add.i64 %t, %3
          %4 = sub.ptr %2, %a.s0
          %5 = load_at.i64 [%4]{of a}
          %t = add.i64 %t, %5
        end
    """) == block("""
        %t = copy.i64 0
        %2 = copy.ptr %a
        %k = for 0, %n, 2
          %3 = load_at.i64 [%2]{of a}
          %t = add.i64 %t, %3
          %4 = sub.ptr %2, %a.s0
          %5 = load_at.i64 [%4]{of a}
          %t = add.i64 %t, %5
          %2 = add.ptr %2, 16
        end
        ret %t
    """)


def test_an_integer_that_stays_keeps_what_it_is_made_of() -> None:
    assert made("""
        %k = for 1, %n, 1
          %1 = shl.i64 %k, 3
          %2 = add.i64 %1, 1
          %t = add.i64 %t, %2
          %3 = add.ptr %a, %1
          %4 = load_at.i64 [%3]{of a}
          %t = add.i64 %t, %4
          %5 = add.ptr %3, %lo
          %6 = add.ptr %5, %n
          %7 = load_at.i64 [%6]{of a}
          %t = add.i64 %t, %7
        end
    """) == block("""
        %t = copy.i64 0
        %8 = add.ptr %a, 8
        %9 = add.ptr %8, %lo
        %10 = add.ptr %9, %n
        %6 = copy.ptr %10
        %k = for 1, %n, 1
          %1 = shl.i64 %k, 3
          %2 = add.i64 %1, 1
          %t = add.i64 %t, %2
          %3 = add.ptr %a, %1
          %4 = load_at.i64 [%3]{of a}
          %t = add.i64 %t, %4
          %7 = load_at.i64 [%6]{of a}
          %t = add.i64 %t, %7
          %6 = add.ptr %6, 8
        end
        ret %t
    """)


@pytest.mark.parametrize(
    "body",
    [
        # One operation, which the advance would be as well.
        "%k = for 0, %n, 1\n%1 = add.i64 %k, %lo\n%3 = load_at.i64 [%a + %1*8]{of a}\n%t = add.i64 %t, %3\nend",
        "%k = for 0, %n, 1\n%1 = mul.i64 %k, 24\n%t = add.i64 %t, %1\nend",
        # Not in every step.
        "%k = for 0, %n, 1\nif %c\n%1 = mul.i64 %k, %a.s0\n%2 = add.ptr %a, %1\n%3 = load_at.i64 [%2]{of a}\n%t = add.i64 %t, %3\nend\nend",
        # The end of the body is not in every step.
        "%k = for 0, %n, 1\n%1 = mul.i64 %k, %a.s0\n%2 = add.ptr %a, %1\n%3 = load_at.i64 [%2]{of a}\n%t = add.i64 %t, %3\nbr_if 0, %c\n%t = add.i64 %t, 1\nend",
        # The factor changes.
        "%k = for 0, %n, 1\n%1 = mul.i64 %k, %t\n%t = add.i64 %t, %1\nend",
        # Nor is a product of the counter with itself linear.
        "%k = for 0, %n, 1\n%1 = mul.i64 %k, %k\n%t = add.i64 %t, %1\nend",
        "%k = for 0, %n, 1\n%1 = shl.i64 8, %k\n%t = add.i64 %t, %1\nend",
    ],
)
def test_what_gains_nothing_or_is_not_linear_stays(body: str) -> None:
    assert kept(body)


def test_what_loses_registers_stays() -> None:
    many = range(14)
    head = f"function f({', '.join(f'%p{n}: ptr' for n in many)}, %s: i64, %n: i64) -> i64\n  var %t: i64\n"
    body = "%k = for 0, %n, 1\n%m = mul.i64 %k, %s\n" + "\n".join(
        f"%q{n} = add.ptr %p{n}, %m\n%v{n} = load_at.i64 [%q{n}]\n%t = add.i64 %t, %v{n}" for n in many
    )
    text = f"{head}  %t = copy.i64 0\n{body}\nend\nret %t\nend"
    assert "mul.i64" in rewritten(text, strength, target=registry.get("x86-64-v3"))
    assert "mul.i64" not in rewritten(text, strength, target=AnyTarget())


def test_integers_wrap_as_before() -> None:
    text = (
        f"{HEAD}  %t = copy.i64 0\n"
        + """
      %k = for %lo, %n, 3
        %1 = mul.i64 %k, %a.s0
        %2 = sub.i64 %1, %a.n0
        %3 = xor.i64 %t, %2
        %t = add.i64 %3, 1
      end
      ret %t
    end"""
    )
    f = parse(text)
    g = parse(text)
    strength.run(g, registry.get("x86-64-v3"))
    assert ops.MUL in [instr.op for instr in f.code]
    assert [instr.op for instr in g.code[next(k for k in range(len(g.code)) if g.code[k].op is ops.FOR) :]].count(ops.MUL) == 0
    for n, lo in ((100, -7), (4, 4), (1 << 40, (1 << 40) - 10)):
        arguments = [np.zeros((2, 2), np.int64), lo, n, False]
        assert run(f, *arguments) == run(g, *arguments)


@lw.kernel(nests="off")
def column(a: lw.Array[lw.f64, 2], y: lw.Array[lw.f64]) -> None:
    for j in lw.range(a.shape[1]):
        total = lw.f64(0)
        for i in lw.range(a.shape[0]):
            total += a[i, j]
        y[j] = total


@pytest.mark.parametrize("target", ["x86-64-v3", "rv64gc", "aarch64-neon"])
def test_no_loop_multiplies_for_its_addresses(target: str) -> None:
    assert "mul" not in column.compile(target=target).asm()
