"""The addresses pass: indices become base, scaled index and displacement."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.passes.generator import AnyTarget, Generator, random_arguments, results
from tests.passes.texts import block, rewritten

from loopwright.ir import ops
from loopwright.ir.interpret import run
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.passes import addresses, simplify
from loopwright.targets.target import Addressing

ROWS = """
function f(%a: ptr, %a.n0: i64, %a.n1: i64, %a.s0: i64, %i: i64, %j: i64) -> f32
  array a: f32[%a.n0, %a.n1] strides [%a.s0] at %a
  %1 = add.i64 %i, 2
  %2 = sub.i64 %j, 3
  %3 = load.f32 a[%i, %j]
  %4 = load.f32 a[%1, %2]
  %5 = add.f32 %3, %4
  ret %5
end
"""


def test_constants_go_into_the_displacement_and_rows_share_their_pointer() -> None:
    assert rewritten(ROWS, addresses, simplify) == block("""
        %6 = mul.i64 %i, %a.s0
        %a.row.7 = add.ptr %a, %6
        %3 = load_at.f32 [%a.row.7 + %j*4]{of a}
        %8 = shl.i64 %a.s0, 1
        %a.row.9 = add.ptr %a.row.7, %8
        %4 = load_at.f32 [%a.row.9 + %j*4 - 12]{of a}
        %5 = add.f32 %3, %4
        ret %5
    """)


def test_each_row_is_one_on_from_the_row_before() -> None:
    text = """
    function f(%a: ptr, %a.n0: i64, %a.n1: i64, %a.s0: i64, %i: i64, %j: i64) -> f32
      array a: f32[%a.n0, %a.n1] strides [%a.s0] at %a
      %1 = add.i64 %i, 1
      %2 = add.i64 %i, 2
      %3 = sub.i64 %i, 1
      %4 = sub.i64 %i, 2
      %5 = load.f32 a[%1, %j]
      %6 = load.f32 a[%2, %j]
      %7 = load.f32 a[%3, %j]
      %8 = load.f32 a[%4, %j]
      %9 = add.f32 %5, %6
      %10 = add.f32 %9, %7
      %11 = add.f32 %10, %8
      ret %11
    end
    """
    assert rewritten(text, addresses, simplify) == block("""
        %12 = mul.i64 %i, %a.s0
        %a.row.13 = add.ptr %a, %12
        %a.row.14 = add.ptr %a.row.13, %a.s0
        %5 = load_at.f32 [%a.row.14 + %j*4]{of a}
        %a.row.15 = add.ptr %a.row.14, %a.s0
        %6 = load_at.f32 [%a.row.15 + %j*4]{of a}
        %a.row.16 = sub.ptr %a.row.13, %a.s0
        %7 = load_at.f32 [%a.row.16 + %j*4]{of a}
        %a.row.17 = sub.ptr %a.row.16, %a.s0
        %8 = load_at.f32 [%a.row.17 + %j*4]{of a}
        %9 = add.f32 %5, %6
        %10 = add.f32 %9, %7
        %11 = add.f32 %10, %8
        ret %11
    """)


def test_a_machine_without_indexed_addresses_computes_them() -> None:
    text = """
    function f(%a: ptr, %a.n0: i64, %i: i64) -> i64
      array a: i64[%a.n0] at %a
      %1 = add.i64 %i, 2
      %2 = load.i64 a[%1]
      %3 = load.i64 a[%i]
      %4 = add.i64 %2, %3
      ret %4
    end
    """
    assert rewritten(text, addresses, simplify, target=AnyTarget(indexed=False)) == block("""
        %5 = shl.i64 %i, 3
        %6 = add.ptr %a, %5
        %2 = load_at.i64 [%6 + 16]{of a}
        %3 = load_at.i64 [%6]{of a}
        %4 = add.i64 %2, %3
        ret %4
    """)


def test_a_displacement_without_room_is_added() -> None:
    text = """
    function f(%a: ptr, %a.n0: i64) -> i64
      array a: i64[%a.n0] at %a
      %1 = load.i64 a[100]
      ret %1
    end
    """
    assert rewritten(text, addresses, target=AnyTarget(most=256)) == block("""
        %2 = add.ptr %a, 800
        %1 = load_at.i64 [%2]{of a}
        ret %1
    """)


def test_an_index_from_a_variable_is_looked_through_only_while_the_variable_stays() -> None:
    text = """
    function f(%a: ptr, %a.n0: i64, %n: i64) -> i64
      array a: i64[%a.n0] at %a
      var %v: i64
      %v = copy.i64 %n
      %1 = add.i64 %v, 1
      %2 = load.i64 a[%1]
      %v = copy.i64 3
      %3 = load.i64 a[%1]
      %4 = add.i64 %2, %3
      %5 = load.i64 a[%v]
      %6 = add.i64 %4, %5
      ret %6
    end
    """
    assert rewritten(text, addresses) == block("""
        %v = copy.i64 %n
        %1 = add.i64 %v, 1
        %2 = load_at.i64 [%a + %v*8 + 8]{of a}
        %v = copy.i64 3
        %3 = load_at.i64 [%a + %1*8]{of a}
        %4 = add.i64 %2, %3
        %5 = load_at.i64 [%a + %v*8]{of a}
        %6 = add.i64 %4, %5
        ret %6
    """)


def test_row_pointers_leave_the_inner_loop() -> None:
    text = """
    function f(%a: ptr, %a.n0: i64, %a.n1: i64, %a.s0: i64)
      array a: f32[%a.n0, %a.n1] strides [%a.s0] at %a written
      %i = for 1, %a.n0, 1
        %j = for 0, %a.n1, 1
          %1 = sub.i64 %i, 1
          %2 = load.f32 a[%1, %j]
          store.f32 %2, a[%i, %j]
        end
      end
    end
    """
    assert rewritten(text, addresses, simplify) == block("""
        %i = for 1, %a.n0, 1
        %3 = mul.i64 %i, %a.s0
        %a.row.4 = add.ptr %a, %3
        %a.row.5 = sub.ptr %a.row.4, %a.s0
        %j = for 0, %a.n1, 1
        %2 = load_at.f32 [%a.row.5 + %j*4]{of a}
        store_at.f32 %2, [%a.row.4 + %j*4]{of a}
        end
        end
    """)


CARRIED = """
function f(%a: ptr, %a.n0: i64, %a.n1: i64, %a.s0: i64, %n: i64, %c: bool) -> i64
  array a: i64[%a.n0, %a.n1] strides [%a.s0] at %a written
  var %r: i64
  var %j: i64
  var %s: i64
  %r = copy.i64 1
  %j = copy.i64 2
  %s = copy.i64 0
"""
MIX = "%s = mul.i64 %s, 3\n %s = xor.i64 %s, "
#: What one step of a loop leaves to the next, as (name, body).
STEPS = [
    ("a row moved on behind its use", f"%i = for 0, %n, 1\n %1 = load.i64 a[%r, %j]\n {MIX}%1\n %r = add.i64 %r, 1\n end"),
    ("a row used in front of the loop", f"%1 = load.i64 a[%r, 0]\n {MIX}%1\n %i = for 0, %n, 1\n %2 = load.i64 a[%r, 0]\n {MIX}%2\n %r = add.i64 %r, 1\n end"),
    ("a row used behind the loop", f"%i = for 0, %n, 1\n %1 = load.i64 a[%r, 0]\n {MIX}%1\n %r = add.i64 %r, 1\n end\n %2 = load.i64 a[%r, 0]\n {MIX}%2"),
    (
        "the next row, of before the loop",
        f"%0 = add.i64 %r, 1\n %i = for 0, %n, 1\n %1 = load.i64 a[%0, 0]\n {MIX}%1\n %2 = load.i64 a[%r, 0]\n {MIX}%2\n %r = add.i64 %r, 1\n end",
    ),
    ("the next row, of this step, behind the change", f"%i = for 0, %n, 1\n %0 = add.i64 %r, 1\n %r = add.i64 %r, 2\n %1 = load.i64 a[%0, %j]\n {MIX}%1\n end"),
    ("a copy of the row, of before the loop", f"%0 = copy.i64 %r\n %i = for 0, %n, 1\n %r = add.i64 %r, 1\n %1 = load.i64 a[%0, %j]\n {MIX}%1\n end"),
    (
        "a row that a loop inside moves on",
        f"%i = for 0, %n, 1\n %0 = sub.i64 %r, 1\n %1 = load.i64 a[%r, 0]\n %k = for 0, 2, 1\n %2 = load.i64 a[%0, 0]\n {MIX}%2\n %3 = load.i64 a[%r, 0]\n {MIX}%3\n %r = add.i64 %r, 1\n end\n {MIX}%1\n end",
    ),
    (
        "a row that one branch moves on",
        f"%i = for 0, %n, 1\n %0 = add.i64 %r, 1\n if %c\n %r = add.i64 %r, 1\n %1 = load.i64 a[%r, 0]\n {MIX}%1\n else\n %2 = load.i64 a[%r, 1]\n {MIX}%2\n end\n %3 = load.i64 a[%0, 1]\n {MIX}%3\n %4 = load.i64 a[%r, 1]\n {MIX}%4\n end",
    ),
    (
        "a row of the condition of a while",
        f"while\n %0 = add.i64 %r, 1\n %1 = load.i64 a[%0, 0]\n %2 = lt.i64 %r, %n\n do %2\n %3 = load.i64 a[%0, 1]\n {MIX}%3\n %r = add.i64 %r, 1\n %4 = load.i64 a[%0, 1]\n {MIX}%4\n end\n {MIX}%1",
    ),
    (
        "a row moved on by a loop that is left",
        f"block\n loop\n %1 = load.i64 a[%r, 0]\n {MIX}%1\n %r = add.i64 %r, 1\n %2 = gt.i64 %r, %n\n br_if 1, %2\n br 0\n end\n end\n %3 = load.i64 a[%r, 0]\n {MIX}%3",
    ),
    (
        "a column moved on behind its use",
        f"%i = for 0, %n, 1\n %0 = add.i64 %j, 1\n %1 = load.i64 a[0, %0]\n {MIX}%1\n %j = add.i64 %j, 1\n %2 = load.i64 a[0, %0]\n {MIX}%2\n end",
    ),
    (
        "a column of before the loop",
        f"%0 = sub.i64 %j, 2\n %i = for 0, %n, 1\n %1 = load.i64 a[%r, %0]\n {MIX}%1\n %2 = load.i64 a[%r, %j]\n {MIX}%2\n %j = add.i64 %j, 1\n end",
    ),
    (
        "a column as a copy of what is moved on",
        f"%i = for 0, %n, 1\n %0 = copy.i64 %j\n %1 = add.i64 1, %0\n %j = add.i64 %j, 1\n %2 = load.i64 a[%r, %1]\n {MIX}%2\n end",
    ),
    ("a row counted from the end", f"%i = for 0, %n, 1\n %0 = sub.i64 4, %r\n %1 = load.i64 a[%0, 0]\n {MIX}%1\n %r = add.i64 %r, 1\n end"),
    (
        "what was stored through one row pointer is loaded through another",
        f"%i = for 0, %n, 1\n %0 = add.i64 %r, 1\n store.i64 %s, a[%0, 1]\n %r = add.i64 %r, 1\n %1 = load.i64 a[%r, 1]\n {MIX}%1\n end",
    ),
]


@pytest.mark.parametrize("body", [body for _name, body in STEPS], ids=[name for name, _body in STEPS])
def test_what_a_step_of_a_loop_leaves_to_the_next(body: str) -> None:
    f = parse(CARRIED + body + "\n ret %s\nend")
    verify(f)
    for target in (AnyTarget(), AnyTarget(indexed=False), AnyTarget(most=8)):
        for passes in ((addresses,), (addresses, simplify), (simplify, addresses, simplify)):
            g = f.clone()
            for one in passes:
                one.run(g, target)
                verify(g)
            for n in range(4):
                for c in (False, True):
                    arguments = [np.arange(1000, 1088)[:80].reshape(10, 8)[:, :6], n, c]
                    assert results(g, arguments) == results(f, arguments)


@pytest.mark.parametrize("column", [-(1 << 60), (1 << 60) + 3, -1, (1 << 28) + 1])
def test_a_displacement_wraps_as_an_address_does(column: int) -> None:
    # %j makes up for it: the element is a[2].
    text = f"""
    function f(%a: ptr, %a.n0: i64, %j: i64) -> i64
      array a: i64[%a.n0] at %a
      %1 = add.i64 %j, {column}
      %2 = load.i64 a[%1]
      ret %2
    end
    """
    for target in (AnyTarget(), AnyTarget(indexed=False), AnyTarget(most=8)):
        f = parse(text)
        addresses.run(f, target)
        for instr in f.code:
            assert instr.mem is None or -target.most <= instr.mem.disp < target.most
        assert results(f, [np.arange(10, 18), 2 - column])[0] == 12


def test_sums_of_sums_are_followed_as_long_as_the_variable_stays() -> None:
    text = """
    function f(%i: i64, %a: ptr, %a.n0: i64) -> i64
      array a: i64[%a.n0] at %a
      var %v: i64
      %v = copy.i64 %i
      %1 = add.i64 %v, 1
      %2 = sub.i64 %1, 3
      %3 = copy.i64 %2
      %4 = load.i64 a[%3]
      %5 = load.i64 a[%i]
      %6 = add.i64 5, %i
      %7 = load.i64 a[%6]
      %8 = add.i64 %v, %i
      %9 = load.i64 a[%8]
      %12 = add.i64 %i, 2
      %13 = load.i64 a[%12]
      %v = add.i64 %v, 1
      %10 = add.i64 %2, 4
      %11 = load.i64 a[%10]
      ret %4
    end
    """
    assert [line for line in rewritten(text, addresses).splitlines() if "load" in line] == [
        line
        for line in block("""
        %v = copy.i64 %i
        %1 = add.i64 %v, 1
        %2 = sub.i64 %1, 3
        %3 = copy.i64 %2
        %4 = load_at.i64 [%a + %v*8 - 16]{of a}
        %5 = load_at.i64 [%a + %i*8]{of a}
        %6 = add.i64 5, %i
        %7 = load_at.i64 [%a + %i*8 + 40]{of a}
        %8 = add.i64 %v, %i
        %9 = load_at.i64 [%a + %8*8]{of a}
        %12 = add.i64 %i, 2
        %13 = load_at.i64 [%a + %i*8 + 16]{of a}
        %v = add.i64 %v, 1
        %10 = add.i64 %2, 4
        %11 = load_at.i64 [%a + %2*8 + 32]{of a}
        """).splitlines()
        if "load" in line
    ]


def test_sums_of_the_same_two_are_one_address_apart_by_a_constant() -> None:
    text = """
    function f(%a: ptr, %n: i64, %b: i64) -> i64
      array a: i64[%n] at %a
      var %v: i64
      %v = copy.i64 %b
      %i = for 0, %n, 4
        %1 = add.i64 %b, %i
        %2 = load.i64 a[%1]
        %3 = add.i64 %i, 1
        %4 = add.i64 %3, %b
        %5 = load.i64 a[%4]
        %6 = sub.i64 %i, %b
        %7 = load.i64 a[%6]
        %8 = sub.i64 %b, 2
        %9 = sub.i64 %i, %8
        %10 = load.i64 a[%9]
        %11 = add.i64 %v, %i
        %12 = load.i64 a[%11]
        %v = add.i64 %v, 1
        %13 = add.i64 %v, %3
        %14 = load.i64 a[%13]
        if %n
          %15 = add.i64 %n, %i
          %16 = load.i64 a[%15]
        end
        %17 = add.i64 %n, %3
        %18 = load.i64 a[%17]
      end
      ret 0
    end
    """.replace("if %n", "%0 = gt.i64 %n, 0\n        if.bool %0")
    made = rewritten(text, addresses)
    loads = [line.split("= ")[1] for line in made.splitlines() if "load_at" in line]
    assert loads[1] == loads[0].replace("*8]", "*8 + 8]")
    assert loads[3] == loads[2].replace("*8]", "*8 + 16]")
    # The variable has changed; what the branch made is not there behind it.
    assert len({load.split("+ ")[1] for load in loads[4:]}) == 4


def test_rows_beside_are_reached_from_the_row_itself() -> None:
    text = """
    function f(%a: ptr, %a.n0: i64, %a.n1: i64, %a.s0: i64, %i: i64) -> i64
      array a: i64[%a.n0, %a.n1] strides [%a.s0] at %a
      %1 = sub.i64 %i, 1
      %2 = add.i64 %i, 3
      %3 = load.i64 a[%1, 2]
      %4 = load.i64 a[%2, 1]
      %5 = load.i64 a[3, %i]
      %6 = load.i64 a[%2, 2]
      %7 = load.i64 a[%1, %2]
      %14 = add.i64 %i, 1
      %15 = load.i64 a[%14, 0]
      ret %3
    end
    """
    assert rewritten(text, addresses) == block("""
        %1 = sub.i64 %i, 1
        %2 = add.i64 %i, 3
        %8 = mul.i64 %i, %a.s0
        %a.row.9 = add.ptr %a, %8
        %a.row.10 = sub.ptr %a.row.9, %a.s0
        %3 = load_at.i64 [%a.row.10 + 16]{of a}
        %11 = mul.i64 %a.s0, 3
        %a.row.12 = add.ptr %a.row.9, %11
        %4 = load_at.i64 [%a.row.12 + 8]{of a}
        %a.row.13 = add.ptr %a, %11
        %5 = load_at.i64 [%a.row.13 + %i*8]{of a}
        %6 = load_at.i64 [%a.row.12 + 16]{of a}
        %7 = load_at.i64 [%a.row.10 + %i*8 + 24]{of a}
        %14 = add.i64 %i, 1
        %a.row.16 = add.ptr %a.row.9, %a.s0
        %15 = load_at.i64 [%a.row.16]{of a}
        ret %3
    """)


def test_a_row_and_a_column_at_one_index_are_told_apart_whatever_the_size_of_elements() -> None:
    text = """
    function f({before}%a: ptr, %a.n0: i64, %a.n1: i64, %a.s0: i64, %i: i64) -> u8
      array a: {type}[%a.n0, %a.n1] strides [%a.s0] at %a
      %1 = load.{type} a[%i, 0]
      %2 = load.{type} a[0, %i]
      %3 = xor.{type} %1, %2
      %4 = convert.u8.{type} %3
      ret %4
    end
    """
    for type_ in ("i16", "i32", "i64"):
        # (The number of the register that holds the stride is another one each time.)
        for others in range(7):
            made = rewritten(
                text.format(before="".join(f"%b{n}: i64, " for n in range(others)), type=type_), addresses, simplify, target=AnyTarget(indexed=False)
            )
            row, column = re.findall(r"load_at\.\w+ \[(%[\w.]+)\]", made)
            assert row != column


def test_a_machine_without_indexed_addresses_computes_an_address_once_as_long_as_the_index_stays() -> None:
    text = """
    function f(%a: ptr, %a.n0: i64, %b: ptr, %b.n0: i64, %i: i64) -> i64
      array a: i64[%a.n0] at %a
      array b: u8[%b.n0] at %b
      var %v: i64
      %v = copy.i64 %i
      %1 = load.i64 a[%i]
      %2 = load.u8 b[%i]
      %3 = load.i64 a[%v]
      %4 = load.i64 a[%v]
      %v = add.i64 %v, 1
      %5 = load.i64 a[%v]
      %7 = lt.i64 %5, 3
      if %7
        %6 = load.i64 a[%i]
      end
      %k = for 0, 2, 1
        %8 = load.i64 a[%i]
        %9 = load.i64 a[%v]
      end
      ret %1
    end
    """
    assert rewritten(text, addresses, target=AnyTarget(indexed=False)) == block("""
        %v = copy.i64 %i
        %10 = shl.i64 %i, 3
        %11 = add.ptr %a, %10
        %1 = load_at.i64 [%11]{of a}
        %12 = add.ptr %b, %i
        %2 = load_at.u8 [%12]{of b}
        %13 = shl.i64 %v, 3
        %14 = add.ptr %a, %13
        %3 = load_at.i64 [%14]{of a}
        %4 = load_at.i64 [%14]{of a}
        %v = add.i64 %v, 1
        %15 = shl.i64 %v, 3
        %16 = add.ptr %a, %15
        %5 = load_at.i64 [%16]{of a}
        %7 = lt.i64 %5, 3
        if %7
        %6 = load_at.i64 [%11]{of a}
        end
        %k = for 0, 2, 1
        %8 = load_at.i64 [%11]{of a}
        %17 = shl.i64 %v, 3
        %18 = add.ptr %a, %17
        %9 = load_at.i64 [%18]{of a}
        end
        ret %1
    """)


@pytest.mark.parametrize("target", [AnyTarget(), AnyTarget(indexed=False), AnyTarget(most=8)], ids=["indexed", "plain", "short"])
@pytest.mark.parametrize("seed", range(30))
def test_random_functions_keep_their_meaning(seed: int, target: AnyTarget) -> None:
    f = Generator(seed, 60).f
    arguments = random_arguments(f, seed)
    wanted = results(f, arguments)
    addresses.run(f, target)
    verify(f)
    assert not any(instr.op in (ops.LOAD, ops.STORE) for instr in f.code)
    assert results(f, arguments) == wanted


@pytest.mark.parametrize("address", ["%a + %i*3", "%a + %i*16", "%a + 1099511627776", "%a + %i*8 - 4611686018427387000", "%a + %i*1099511627776 + 4"])
@pytest.mark.parametrize("target", [AnyTarget(), AnyTarget(indexed=False), AnyTarget(both=False), AnyTarget(both=False, most=256)])
def test_an_address_that_the_machine_cannot_form_is_computed(address: str, target: AnyTarget) -> None:
    text = f"function f(%a: ptr, %i: i64) -> ptr\n  %p = address.ptr [{address}]\n  ret %p\nend"
    f, g = parse(text), parse(text)
    addresses.run(g, target)
    verify(g)
    for instr in g.code:
        if instr.mem is not None:
            addressing = target.addressing(instr.type)
            assert addressing.displaces(instr.mem.disp)
            assert not instr.mem.indexed or addressing.indexes(instr.mem.scale, instr.mem.disp)
    assert [run(f, 1 << 40, i) for i in (0, 1, -5)] == [run(g, 1 << 40, i) for i in (0, 1, -5)]


EITHER = """
function f(%a: ptr, %a.n0: i64, %b: ptr, %b.n0: i64) -> i64
  array a: i64[%a.n0] at %a
  array b: i64[%b.n0] at %b
  %i = for 0, %a.n0, 1
    %1 = add.i64 %i, 2
    %2 = load.i64 a[%1]
    %3 = load.i64 a[%i]
    %4 = load.i64 b[%1]
  end
  ret 0
end
"""


def test_where_an_address_holds_an_index_or_a_displacement_neighbours_share_a_pointer() -> None:
    # What is accessed at several distances gets one pointer a turn; what is at one distance is moved by it outside of the loop.
    assert rewritten(EITHER, addresses, target=AnyTarget(both=False)) == block("""
        %i = for 0, %a.n0, 1
          %1 = add.i64 %i, 2
          %5 = shl.i64 %i, 3
          %6 = add.ptr %a, %5
          %2 = load_at.i64 [%6 + 16]{of a}
          %3 = load_at.i64 [%6]{of a}
          %7 = add.ptr %b, 16
          %4 = load_at.i64 [%7 + %i*8]{of b}
        end
        ret 0
    """)


def test_displacements_in_multiples_of_the_access() -> None:
    scaled = Addressing((1, 8), 0, 8 * 4095, 8, near=256, both=False)
    assert [d for d in (-257, -256, -8, 0, 3, 255, 256, 257, 264, 32760, 32761, 32768) if scaled.displaces(d)] == [-256, -8, 0, 3, 255, 256, 264, 32760]
    assert scaled.indexes(8, 0) and not scaled.indexes(8, 8) and not scaled.indexes(4, 0)


def test_an_address_that_the_machine_can_form_stays() -> None:
    f = parse("function f(%a: ptr, %i: i64) -> i64\n  %v = load_at.i64 [%a + %i*8 + 4096]\n  ret %v\nend")
    addresses.run(f, AnyTarget())
    assert [instr.op for instr in f.code] == [ops.LOAD_AT, ops.RET]
