"""Loads as values in the simplify pass: shared as long as nothing can have been stored, and no longer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.passes.generator import AnyTarget, results

from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.passes import simplify

HEAD = """
function f(%p: ptr, %p.n0: i64, %q: ptr, %q.n0: i64, %a: i64, %n: i64, %c: bool, %d: bool) -> i64
  array p: i64[%p.n0] at %p written
  array q: i64[%q.n0] at %q written
  var %s: i64
  var %k: i64
  %s = copy.i64 0
  %k = copy.i64 0
"""
TAIL = """
  ret %s
end
"""
POKE = parse("function poke(%p: ptr, %v: i64) -> i64\n %1 = load_at.i64 [%p]\n store_at.i64 %v, [%p]\n ret %1\nend")
LOADS = (ops.LOAD_AT, ops.MASKED_LOAD_AT)


def add(register: str) -> str:
    """``register`` in the result, in a way that tells orders apart."""
    return f"%s = mul.i64 %s, 3\n %s = add.i64 %s, {register}\n"


def simplified(body: str, head: str = HEAD) -> Function:
    """The function after the pass, which leaves the results of calls as they were: with two arrays, and with one array twice."""
    f = parse(head + body + TAIL)
    for callee in f.callees:
        callee.function = POKE
    verify(f)
    g = f.clone()
    simplify.run(g, AnyTarget())
    verify(g)
    for same in (False, True):
        for n in range(4):
            for flags in range(4):
                p = np.arange(100, 108)
                q = p if same else np.arange(200, 208)
                arguments = [p, q, 7, n, bool(flags & 1), bool(flags & 2)]
                assert results(g, arguments) == results(f, arguments), (same, n, flags)
    return g


def loads(f: Function) -> int:
    return sum(instr.op in LOADS for instr in f.code)


L1 = "%1 = load_at.i64 [%p]\n" + add("%1")
L2 = "%2 = load_at.i64 [%p]\n" + add("%2")
L3 = "%3 = load_at.i64 [%p]\n" + add("%3")
STORE = "store_at.i64 %s, [%p]\n"
OTHER = "store_at.i64 %s, [%q]\n"
CALL = "%9 = call.i64 poke(%q, %s)\n"
FOR = "%i = for 0, %n, 1\n"
WHILE = "while\n %8 = lt.i64 %k, %n\ndo %8\n %k = add.i64 %k, 1\n"
INNER = "%j = for 0, 2, 1\n"

CASES: list[tuple[str, str, int]] = [
    ("nothing in between", L1 + L2, 1),
    ("a store", L1 + STORE + L2, 2),
    ("a store to another array, which may be the same", L1 + OTHER + L2, 2),
    ("a store before both", STORE + L1 + L2, 1),
    ("load, store, load, store, load", L1 + STORE + L2 + OTHER + L3, 3),
    ("a call", L1 + CALL + L2, 2),
    ("an if without a store", L1 + "if %c\n" + L2 + "end\n" + L3, 1),
    ("a load in one branch", "if %c\n" + L1 + "end\n" + L2, 2),
    ("a load in each branch", "if %c\n" + L1 + "else\n" + L2 + "end\n" + L3, 3),
    ("a store in one branch", L1 + "if %c\n" + STORE + "end\n" + L2, 2),
    ("a store in the other branch", L1 + "if %c\nelse\n" + STORE + "end\n" + L2, 2),
    ("a store in both branches", L1 + "if %c\n" + STORE + "else\n" + OTHER + "end\n" + L2, 2),
    ("a store in a branch, a load before it and after it", L1 + "if %c\n" + L2 + STORE + L3 + "end\n", 2),
    ("a store in a chain", L1 + "if %c\nelif\n %7 = not.bool %d\nthen %7\n" + STORE + "else\n" + L2 + "end\n" + L3, 3),
    ("a store behind a way out", "block\n" + L1 + "br_if 0, %c\n" + STORE + "end\n" + L2, 2),
    ("a load behind a way out", "block\n br_if 0, %c\n" + L1 + "end\n" + L2, 2),
    ("a store in front of a way out of two brackets", L1 + "block\n if %c\n" + STORE + "br 1\n end\n end\n" + L2, 2),
    ("a loop without a store", L1 + FOR + L2 + "end\n" + L3, 1),
    ("a while without a store", L1 + WHILE + L2 + "end\n" + L3, 1),
    ("a load in a loop is not one after it", FOR + L1 + "end\n" + L2, 2),
    ("a store after the load in a loop", L1 + FOR + L2 + STORE + "end\n", 2),
    ("a store before the load in a loop", L1 + FOR + STORE + L2 + "end\n" + L3, 3),
    ("two loads before the store in a loop", FOR + L1 + L2 + STORE + L3 + "end\n", 2),
    ("a store to another array at the end of a loop", L1 + FOR + L2 + OTHER + "end\n" + L3, 3),
    ("a store at the end of a while", L1 + WHILE + L2 + STORE + "end\n" + L3, 3),
    ("a store on one way through a loop", L1 + FOR + L2 + "if %c\n" + STORE + "end\n" + "end\n" + L3, 3),
    ("a store in a loop inside", L1 + FOR + L2 + INNER + STORE + "end\n" + "end\n" + L3, 3),
    ("a store behind a loop inside", L1 + FOR + INNER + L2 + "end\n" + STORE + "end\n", 2),
    ("a call in a loop", L1 + FOR + L2 + CALL + "end\n" + L3, 3),
    ("a call in a loop inside", L1 + FOR + L2 + INNER + CALL + "end\n" + "end\n", 2),
    ("a store in a loop before", FOR + STORE + "end\n" + L1 + L2, 1),
    ("a store in a loop does not concern the next loop", FOR + STORE + "end\n" + L1 + WHILE + L2 + "end\n", 1),
    ("a store in the second of two loops", L1 + FOR + L2 + "end\n" + WHILE + STORE + "end\n" + L3, 2),
    (
        "a store in a loop, a load in the condition",
        "while\n %1 = load_at.i64 [%p]\n %2 = lt.i64 %1, 105\ndo %2\n %3 = add.i64 %1, 1\n store_at.i64 %3, [%p]\nend\n" + L3.replace("3", "5"),
        2,
    ),
    ("a way on that jumps over the store", L1 + FOR + L2 + "br_if 0, %c\n" + STORE + "end\n" + L3, 3),
    ("a way on behind the store", L1 + FOR + L2 + STORE + "br_if 0, %c\n" + L3 + "end\n", 3),
    ("a loop left behind the store", L1 + "block\n loop\n" + L2 + STORE + "%k = add.i64 %k, 1\n%8 = gt.i64 %k, %n\n br_if 1, %8\n br 0\n end\n end\n" + L3, 3),
]


@pytest.mark.parametrize(("body", "left"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_load_is_shared_until_something_may_be_stored(body: str, left: int) -> None:
    head = HEAD.replace("  var %s", "  callee poke(ptr, i64) -> i64\n  var %s", 1) if "poke" in body else HEAD
    assert loads(simplified(body, head)) == left


@pytest.mark.parametrize(
    "address",
    ["load_at.i64 [%p + 8]", "load_at.i64 [%q]", "load_at.i64 [%p + %k*8]", "load_at.i64 [%p + %k*4]", "load_at.u64 [%p]", "load_at.f64 [%p]"],
)
def test_another_address_or_type_is_another_load(address: str) -> None:
    type_ = address.split(".")[1].split(" ")[0]
    converted = {
        "i64": "%s = add.i64 %s, %2\n",
        "u64": "%3 = convert.i64.u64 %2\n%s = add.i64 %s, %3\n",
        "f64": "%3 = bitcast.i64.f64 %2\n%s = add.i64 %s, %3\n",
    }
    assert loads(simplified(L1 + f"%2 = {address}\n" + converted[type_])) == 2


@pytest.mark.parametrize(("second", "left"), [("[%p + %a*8]", 1), ("[%p + %a*4]", 2), ("[%p + %a*8 + 8]", 2), ("[%p + %n*8]", 2), ("[%q + %a*8]", 2)])
def test_every_part_of_an_address_counts(second: str, left: int) -> None:
    body = (
        "%0 = and.i64 %a, 1\n%n2 = and.i64 %n, 1\n%1 = load_at.i64 [%p + %0*8]\n"
        + add("%1")
        + f"%2 = load_at.i64 {second}\n".replace("%a", "%0").replace("%n", "%n2")
        + add("%2")
    )
    assert loads(simplified(body)) == left


def test_loads_stay_in_the_loop_they_are_in() -> None:
    f = simplified(FOR + L1 + "%4 = mul.i64 %a, 5\n" + add("%4") + "end\n")
    opened = next(k for k, instr in enumerate(f.code) if instr.op is ops.FOR)
    assert not any(instr.op in LOADS for instr in f.code[:opened])
    assert any(instr.op is ops.MUL and instr.args[1] < 0 and f.const_values[~instr.args[1]] == 5 for instr in f.code[:opened])


MASKED = """
function f(%p: ptr, %p.n0: i64, %q: ptr, %q.n0: i64, %n: i64, %k: i64)
  array p: i32[%p.n0] at %p written
  array q: i32[%q.n0] at %q written
  %m = lane_mask.mask32x4 0, %n
  %o = lane_mask.mask32x4 0, %k
  %none = ne.i32x4 1, 1
  %1 = masked_load_at.i32x4 %m, [%p]
  BETWEEN
  %2 = SECOND
  %3 = mul.i32x4 %2, 3
  %4 = sub.i32x4 %3, %1
  store_at.i32x4 %4, [%q + 16]
end
"""


@pytest.mark.parametrize(
    ("between", "second", "left"),
    [
        ("", "masked_load_at.i32x4 %m, [%p]", 1),
        ("", "masked_load_at.i32x4 %o, [%p]", 2),
        ("", "load_at.i32x4 [%p]", 2),
        ("masked_store_at.i32x4 %m, 5, [%p]", "masked_load_at.i32x4 %m, [%p]", 2),
        ("masked_store_at.i32x4 %o, 5, [%p]", "masked_load_at.i32x4 %m, [%p]", 2),
        ("masked_store_at.i32x4 %o, 5, [%q]", "masked_load_at.i32x4 %m, [%p]", 2),
        ("masked_store_at.i32x4 %none, 5, [%p]", "masked_load_at.i32x4 %m, [%p]", 1),
        ("store_at.i32x4 5, [%p]", "masked_load_at.i32x4 %m, [%p]", 2),
    ],
)
def test_masked_loads_are_shared_under_one_mask_until_something_may_be_stored(between: str, second: str, left: int) -> None:
    f = parse(MASKED.replace("BETWEEN", between).replace("SECOND", second))
    verify(f)
    g = f.clone()
    simplify.run(g, AnyTarget())
    verify(g)
    for n in range(-1, 6):
        for k in range(6):
            for same in (False, True):
                p: Any = np.arange(1, 9, dtype=np.int32)
                arguments = [p, p if same else np.arange(11, 19, dtype=np.int32), n, k]
                assert results(g, arguments) == results(f, arguments)
    assert loads(g) == left
