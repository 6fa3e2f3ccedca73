"""Terms that a loop does not change, taken together: what is left in the loop, what it computes, and what stays as it is."""

from __future__ import annotations

import random

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.interpret import run
from loopwright.ir.loops import IS_LOOP
from loopwright.ir.parse import parse
from loopwright.ir.text import print_function
from loopwright.passes import invariant_terms

TEXT = """
function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %a: TYPE, %b: TYPE, %c: TYPE) -> TYPE
  OPTIONS
  array x: TYPE[%x.n0] at %x
  array y: TYPE[%y.n0] at %y written
  var %s: TYPE
  %s = copy.TYPE 1
  %i = for 0, %x.n0, 1
    %1 = load.TYPE x[%i]
    %2 = add.TYPE %1, %s
BODY
    %s = xor_or_add %r
    store.TYPE %r, y[%i]
  end
  ret.TYPE %s
end
"""


def rewritten(body: str, type_: str = "i32", options: str = "") -> list[str]:
    """The arithmetic that is left in the loop; it computes the same as before."""
    last = f"sub.{type_} %r, %1" if type_[0] == "i" else f"copy.{type_} %1"
    text = TEXT.replace("BODY", "\n".join([f"    {line.strip()}" for line in body.split(";")])).replace("%s = xor_or_add %r", f"%s = {last}")
    text = text.replace("OPTIONS", options).replace("TYPE", type_).replace(f"copy.{type_} 1", f"copy.{type_} 1.0" if type_[0] == "f" else f"copy.{type_} 1")
    given = np.array([3, -5, 7, 2000000011 if type_ == "i32" else 9], {"i32": np.int32, "f64": np.float64}[type_])
    numbers = (2, 11, 13) if type_ == "i32" else (2.0, 11.0, 13.0)
    f = parse(text)
    wanted = [np.zeros_like(given) for _ in range(2)]
    before = run(f, given, wanted[0], *numbers)
    invariant_terms.run(f)
    after = run(parse(print_function(f)), given, wanted[1], *numbers)
    assert before == after
    np.testing.assert_array_equal(*wanted)
    inside = f.code[next(k for k, instr in enumerate(f.code) if IS_LOOP[instr.op.code]) :]
    counted = [ops.ADD, ops.SUB, ops.MUL, ops.AND, ops.OR, ops.XOR]
    return [instr.op.name for instr in inside if instr.op in counted][1 : None if type_ == "f64" else -1]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("%3 = mul.i32 %a, %2; %r = mul.i32 %3, %b", ["mul"]),
        ("%3 = mul.i32 %2, %a; %4 = mul.i32 %c, %3; %r = mul.i32 %4, %b", ["mul"]),
        ("%3 = add.i32 %2, %a; %r = sub.i32 %3, %b", ["add"]),
        ("%3 = sub.i32 %2, %a; %r = sub.i32 %3, %b", ["sub"]),
        ("%3 = sub.i32 %2, %a; %r = sub.i32 %b, %3", ["sub"]),
        ("%3 = add.i32 %2, %a; %4 = sub.i32 %1, %b; %r = sub.i32 %3, %4", ["sub", "add"]),
        ("%3 = sub.i32 %2, %a; %4 = add.i32 %1, %b; %r = add.i32 %3, %4", ["add", "add"]),
        ("%3 = sub.i32 %2, %a; %4 = sub.i32 %1, %b; %r = add.i32 %3, %4", ["add", "sub"]),
        ("%3 = and.i32 %2, %a; %r = and.i32 255, %3", ["and"]),
        ("%3 = xor.i32 %2, %a; %4 = xor.i32 %1, %b; %r = xor.i32 %3, %4", ["xor", "xor"]),
        ("%3 = mul.i32 %2, 3; %r = mul.i32 %3, %b", ["mul"]),
        # (The first two leave the loop later.)
        ("%5 = mul.i32 %a, %b; %3 = mul.i32 %2, %5; %r = mul.i32 %3, %c", ["mul", "mul", "mul"]),
    ],
)
def test_what_stays_the_same_is_one_term(body: str, left: list[str]) -> None:
    assert sorted(rewritten(body)) == sorted(left)


@pytest.mark.parametrize(
    "body",
    [
        # One term alone; one that would change its sign; one that is read elsewhere as well; a number that may be part of an address.
        "%3 = add.i32 %2, %a; %r = add.i32 %3, %1",
        "%3 = sub.i32 %a, %2; %r = sub.i32 %3, %1",
        "%3 = add.i32 %2, %a; %4 = add.i32 %3, %b; %5 = xor.i32 %3, %4; %r = or.i32 %5, %1",
        "%3 = add.i32 %2, 5; %r = add.i32 %3, %b",
        # Different operations.
        "%3 = mul.i32 %2, %a; %r = add.i32 %3, %b",
    ],
)
def test_what_stays_as_it_is(body: str) -> None:
    assert rewritten(body) == [line.split("= ")[1].split(".")[0] for line in body.split(";")]


def test_floats_only_where_their_order_may_change() -> None:
    body = "%3 = mul.f64 %a, %2; %r = mul.f64 %3, %b"
    assert rewritten(body, "f64") == ["mul", "mul"]
    assert rewritten(body, "f64", "option fastmath") == ["mul"]


def test_what_a_sum_carries_on_stays() -> None:
    text = """
    function f(%n: i64, %a: i64, %b: i64) -> i64
      var %s: i64
      %s = copy.i64 0
      %i = for 0, %n, 1
        %1 = add.i64 %s, %a
        %s = add.i64 %1, %b
      end
      ret %s
    end
    """
    f = parse(text)
    before = print_function(f)
    invariant_terms.run(f)
    assert print_function(f) == before


def test_a_variable_that_the_loop_writes_is_none_of_them() -> None:
    text = """
    function f(%n: i64, %a: i64) -> i64
      var %v: i64
      var %t: i64
      %v = copy.i64 1
      %t = copy.i64 0
      %i = for 0, %n, 1
        %1 = xor.i64 %i, 5
        %2 = mul.i64 %1, %v
        %v = copy.i64 %1
        %3 = mul.i64 %2, %a
        %t = xor.i64 %t, %3
      end
      ret %t
    end
    """
    f = parse(text)
    wanted = run(f, 9, 7)
    invariant_terms.run(f)
    assert run(f, 9, 7) == wanted


@lw.kernel(fastmath=True)
def rows(x: lw.Array[lw.f64, 2], y: lw.Array[lw.f64], z: lw.Array[lw.f64, 2], s: lw.f64):
    for i in lw.range(x.shape[0]):
        for j in lw.range(x.shape[1]):
            z[i, j] = s * x[i, j] * y[i] * 0.5


def test_elements_that_a_loop_does_not_store_to_are_such_terms() -> None:
    code = rows.compile(target="x86-64-v3")
    body = [line for line in code.asm().splitlines() if "vmulpd" in line and "ptr" in line]
    assert body and sum("vmulpd" in line for line in code.asm().splitlines()) == len(body) + 1  # (One under a mask.)
    x, y, z = np.arange(35.0).reshape(5, 7), np.arange(5.0), np.zeros((5, 7))
    code(x, y, z, 3.0)
    np.testing.assert_allclose(z, 1.5 * x * y[:, None])


@pytest.mark.parametrize("seed", range(40))
def test_random_sums_and_products(seed: int) -> None:
    rng = random.Random(seed)
    known = ["%a", "%b", "%c", "3", "-7", "%1", "%2"]
    lines: list[str] = []
    for k in range(3, 3 + rng.randrange(3, 12)):
        op = rng.choice(["add", "sub", "add", "sub", "mul", "xor", "and"])
        first, second = rng.choice(known[-4:]), rng.choice(known)
        lines.append(f"%{k} = {op}.i32 {first}, {second}")
        known.append(f"%{k}")
    last = lines.pop()
    lines.append("%r" + last[last.index(" =") :])
    rewritten(";".join(lines))
