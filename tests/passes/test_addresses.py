"""The addresses pass: indices become base, scaled index and displacement."""

from __future__ import annotations

import pytest
from tests.passes.generator import AnyTarget, Generator, block, random_arguments, results, rewritten

from loopwright.ir import ops
from loopwright.ir.interpret import run
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.passes import addresses, simplify

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
        %3 = load_at.f32 [%a.row.7 + %j*4]
        %8 = shl.i64 %a.s0, 1
        %a.row.9 = add.ptr %a.row.7, %8
        %4 = load_at.f32 [%a.row.9 + %j*4 - 12]
        %5 = add.f32 %3, %4
        ret %5
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
        %2 = load_at.i64 [%6 + 16]
        %3 = load_at.i64 [%6]
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
        %1 = load_at.i64 [%2]
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
        %2 = load_at.i64 [%a + %v*8 + 8]
        %v = copy.i64 3
        %3 = load_at.i64 [%a + %1*8]
        %4 = add.i64 %2, %3
        %5 = load_at.i64 [%a + %v*8]
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
        %2 = load_at.f32 [%a.row.5 + %j*4]
        store_at.f32 %2, [%a.row.4 + %j*4]
        end
        end
    """)


@pytest.mark.parametrize("target", [AnyTarget(), AnyTarget(indexed=False), AnyTarget(most=8)], ids=["indexed", "plain", "short"])
@pytest.mark.parametrize("seed", range(30))
def test_random_functions_keep_their_meaning(seed: int, target: AnyTarget) -> None:
    f = Generator(seed, 60).f
    arguments = random_arguments(seed)
    wanted = results(f, arguments)
    addresses.run(f, target)
    verify(f)
    assert not any(instr.op in (ops.LOAD, ops.STORE) for instr in f.code)
    assert results(f, arguments) == wanted


@pytest.mark.parametrize("address", ["%a + %i*3", "%a + %i*16", "%a + 1099511627776", "%a + %i*8 - 4611686018427387000", "%a + %i*1099511627776 + 4"])
@pytest.mark.parametrize("indexed", [True, False])
def test_an_address_that_the_machine_cannot_form_is_computed(address: str, indexed: bool) -> None:
    target = AnyTarget(indexed=indexed)
    text = f"function f(%a: ptr, %i: i64) -> ptr\n  %p = address.ptr [{address}]\n  ret %p\nend"
    f, g = parse(text), parse(text)
    addresses.run(g, target)
    verify(g)
    for instr in g.code:
        if instr.mem is not None:
            scaled, near = target.address(instr.mem.scale, instr.mem.disp)
            assert near and (scaled or not instr.mem.indexed)
    assert [run(f, 1 << 40, i) for i in (0, 1, -5)] == [run(g, 1 << 40, i) for i in (0, 1, -5)]


def test_an_address_that_the_machine_can_form_stays() -> None:
    f = parse("function f(%a: ptr, %i: i64) -> i64\n  %v = load_at.i64 [%a + %i*8 + 4096]\n  ret %v\nend")
    addresses.run(f, AnyTarget())
    assert [instr.op for instr in f.code] == [ops.LOAD_AT, ops.RET]
