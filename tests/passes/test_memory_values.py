"""Loads as values in the simplify pass: shared as long as nothing can have been stored, and no longer; in front of loops that
do not change them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.passes.generator import AnyTarget, results

from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.ir.loops import LOOPS
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


def simplified(body: str, head: str = HEAD, same: bool = True, target: AnyTarget | None = None) -> Function:
    """The function after the pass, which leaves the results of calls as they were: with two arrays, and (``same``) with one array twice."""
    f = parse(head + body + TAIL)
    for callee in f.callees:
        callee.function = POKE
    verify(f)
    g = f.clone()
    simplify.run(g, target or AnyTarget())
    verify(g)
    for one in (False, True) if same else (False,):
        for n in range(4):
            for flags in range(4):
                p = np.arange(100, 108)
                q = p if one else np.arange(200, 208)
                arguments = [p, q, 7, n, bool(flags & 1), bool(flags & 2)]
                assert results(g, arguments) == results(f, arguments), (one, n, flags)
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
    ("a store", L1 + STORE + L2, 1),
    ("a store to another array, which may be the same", L1 + OTHER + L2, 2),
    ("a store before both", STORE + L1 + L2, 0),
    ("load, store, load, store, load", L1 + STORE + L2 + OTHER + L3, 2),
    ("a call", L1 + CALL + L2, 2),
    ("an if without a store", L1 + "if %c\n" + L2 + "end\n" + L3, 1),
    ("a load in one branch", "if %c\n" + L1 + "end\n" + L2, 2),
    ("a load in each branch", "if %c\n" + L1 + "else\n" + L2 + "end\n" + L3, 3),
    ("a store in one branch", L1 + "if %c\n" + STORE + "end\n" + L2, 2),
    ("a store in the other branch", L1 + "if %c\nelse\n" + STORE + "end\n" + L2, 2),
    ("a store in both branches", L1 + "if %c\n" + STORE + "else\n" + OTHER + "end\n" + L2, 2),
    ("a store in a branch, a load before it and after it", L1 + "if %c\n" + L2 + STORE + L3 + "end\n", 1),
    ("a store in a chain", L1 + "if %c\nelif\n %7 = not.bool %d\nthen %7\n" + STORE + "else\n" + L2 + "end\n" + L3, 3),
    ("a store behind a way out", "block\n" + L1 + "br_if 0, %c\n" + STORE + "end\n" + L2, 2),
    ("a load behind a way out", "block\n br_if 0, %c\n" + L1 + "end\n" + L2, 2),
    ("a store in front of a way out of two brackets", L1 + "block\n if %c\n" + STORE + "br 1\n end\n end\n" + L2, 2),
    ("a loop without a store", L1 + FOR + L2 + "end\n" + L3, 1),
    ("a while without a store", L1 + WHILE + L2 + "end\n" + L3, 1),
    ("a load in a loop is not one after it", FOR + L1 + "end\n" + L2, 2),
    ("a store after the load in a loop", L1 + FOR + L2 + STORE + "end\n", 2),
    ("a store before the load in a loop", L1 + FOR + STORE + L2 + "end\n" + L3, 2),
    ("two loads before the store in a loop", FOR + L1 + L2 + STORE + L3 + "end\n", 1),
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
    ("a way on behind the store", L1 + FOR + L2 + STORE + "br_if 0, %c\n" + L3 + "end\n", 2),
    ("a loop left behind the store", L1 + "block\n loop\n" + L2 + STORE + "%k = add.i64 %k, 1\n%8 = gt.i64 %k, %n\n br_if 1, %8\n br 0\n end\n end\n" + L3, 3),
]


@pytest.mark.parametrize(("body", "left"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize("known", [False, True], ids=["any memory", "of arrays"])
def test_a_load_is_shared_until_something_may_be_stored(body: str, left: int, known: bool) -> None:
    head = HEAD.replace("  var %s", "  callee poke(ptr, i64) -> i64\n  var %s", 1) if "poke" in body else HEAD
    if known:
        # All at index 0, where both arrays may be one.
        body = body.replace("[%p]", "[%p]{of p}").replace("[%q]", "[%q]{of q}")
    assert loads(simplified(body, head)) == left


def of_arrays(body: str) -> str:
    for name in "pq":
        body = re.sub(rf"(\[%{name}\b[^]]*\])", rf"\1{{of {name}}}", body)
    return body


P0 = "%1 = load_at.i64 [%p]\n" + add("%1")
P0_AGAIN = "%2 = load_at.i64 [%p]\n" + add("%2")
P_AT_K = "%1 = load_at.i64 [%p + %k*8]\n" + add("%1")
P_AT_K_AGAIN = "%2 = load_at.i64 [%p + %k*8]\n" + add("%2")


@pytest.mark.parametrize(
    ("body", "left", "same"),
    [
        (P0 + "store_at.i64 %s, [%q + 8]\n" + P0_AGAIN, 1, False),
        (P0 + "store_at.i64 %s, [%p + 8]\n" + P0_AGAIN, 2, True),
        (P0 + "store_at.i64 %s, [%q + %k*8]\n" + P0_AGAIN, 1, False),
        (P_AT_K + "store_at.i64 %s, [%q + %k*8 + 8]\n" + P_AT_K_AGAIN, 1, False),
        (P_AT_K + "store_at.i64 %s, [%q + %k*8]\n" + P_AT_K_AGAIN, 2, True),
        # An address that is computed: nobody knows at which index.
        (P0 + "%5 = add.ptr %q, 16\nstore_at.i64 %s, [%5]{of q}\n" + P0_AGAIN, 2, False),
        (P0 + "store_at.i64 %s, [%q + 8]\n%5 = add.ptr %p, 0\n%2 = load_at.i64 [%5 + 8]{of p}\n" + add("%2"), 2, False),
        # Another step of the loop stores to another index.
        (FOR + P0 + "store_at.i64 %s, [%q + %i*8 + 8]\nend\n" + P0_AGAIN, 2, False),
        (P0 + FOR + P0_AGAIN + "store_at.i64 %s, [%q + %i*8 + 8]\nend\n" + L3, 1, False),
        (P0 + FOR + P0_AGAIN + "store_at.i64 %s, [%p + %i*8 + 8]\nend\n" + L3, 3, True),
    ],
)
def test_a_store_changes_its_own_array_and_others_at_the_same_index(body: str, left: int, same: bool) -> None:
    assert loads(simplified(of_arrays(body), same=same)) == left
    # Being apart from other arrays takes nothing away from that.
    head = HEAD.replace("at %p written", "at %p written apart 1")
    assert loads(simplified(of_arrays(body), head, same=same)) == left


def test_a_store_changes_no_array_that_has_nothing_to_do_with_its_own() -> None:
    # At an index that is not known, and at the same.
    body = P0 + "%5 = add.ptr %q, 16\nstore_at.i64 %s, [%5]{of q}\nstore_at.i64 %s, [%q]\n" + P0_AGAIN
    head = HEAD.replace("at %p written", "at %p written apart 1")
    for other, left in ((1, 1), (2, 2)):
        assert loads(simplified(of_arrays(body), head.replace("at %q written", f"at %q written apart {other}"), same=False)) == left


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


def in_front(f: Function) -> list[str]:
    """What is in front of the function's first loop."""
    opened = next(k for k, instr in enumerate(f.code) if instr.op in LOOPS)
    return [instr.op.name for instr in f.code[:opened] if instr.op is not ops.COPY]


AT_I = "store_at.i64 %s, [%q + %i*8 + 8]\n"
MOVED = "%3 = mul.i64 %1, 5\n" + add("%3")


@pytest.mark.parametrize(
    ("body", "before"),
    [
        pytest.param(FOR + L1 + MOVED + AT_I + "end\n", ["lt", "if", "load_at", "mul"], id="under the guard, and what depends on it"),
        pytest.param("%i = for 5, %n, -1\n" + L1 + "end\n", ["gt", "if", "load_at"], id="downwards"),
        pytest.param("%i = for 0, 3, 1\n" + L1 + "end\n", ["load_at"], id="a loop that runs needs no guard"),
        pytest.param("%i = for 3, 3, 1\n" + L1 + "end\n", [], id="a loop that does not run"),
        pytest.param("%i = for 3, 0, 1\n" + L1 + "end\n", [], id="a loop that does not run either"),
        pytest.param(FOR + "if %c\n" + L1 + "end\nend\n", [], id="under a condition"),
        pytest.param(FOR + "if %c\n" + add("%n") + "end\n" + L1 + "end\n", ["lt", "if", "load_at"], id="behind a condition"),
        pytest.param(FOR + "br_if 0, %c\n" + L1 + "end\n", [], id="behind a way on"),
        pytest.param(
            "block\n" + FOR + L1 + "br_if 1, %c\n" + L2.replace("[%p]", "[%p + 8]") + "end\nend\n", ["block", "lt", "if", "load_at"], id="a way out behind it"
        ),
        pytest.param(FOR + "%2 = load_at.i64 [%p + %i*8]\n" + add("%2") + "end\n", [], id="at an index of the loop"),
        pytest.param(FOR + L1 + "store_at.i64 %s, [%p + %i*8]\n" + "end\n", [], id="of an array that the loop writes"),
        pytest.param(FOR + L1 + OTHER + "end\n", [], id="of an array that may be written at this index"),
        pytest.param(
            FOR + L1 + "%4 = mul.i64 %i, 0\nstore_at.i64 %s, [%q + %4*8]\nend\n",
            [],
            id="of one that may be written at an index which only looks like the loop's",
        ),
        pytest.param(
            FOR + L1 + "%4 = mul.i64 %i, 2\n%5 = add.i64 %4, %a\n%6 = sub.i64 %5, 7\nstore_at.i64 %s, [%q + %6*8 + 8]\nend\n",
            ["lt", "if", "load_at"],
            id="a store at a multiple of the index",
        ),
        pytest.param(FOR + L1 + "%4 = add.i64 %i, %i\nstore_at.i64 %s, [%q + %4*8 + 8]\nend\n", [], id="a store at a sum of what changes in one loop"),
        pytest.param(
            FOR + L1 + INNER + "%4 = mul.i64 %i, 1\n%5 = add.i64 %4, %j\nstore_at.i64 %s, [%q + %5*8 + 8]\nend\nend\n",
            ["lt", "if", "load_at"],
            id="a store in a loop inside",
        ),
        pytest.param(FOR + L1 + CALL + "end\n", [], id="a call"),
        pytest.param(
            "while\n %1 = load_at.i64 [%p]\n %8 = lt.i64 %k, %1\n %7 = lt.i64 %k, %n\n %8 = and.bool %7, %8\ndo %8\n%k = add.i64 %k, 1\n".replace(
                "%8 = and", "%6 = and"
            ).replace("do %8", "do %6")
            + "end\n",
            ["load_at"],
            id="the condition of a while runs once at least",
        ),
        pytest.param(WHILE + L1 + "end\n", [], id="the body of a while"),
        pytest.param("block\nloop\n" + L1 + "%k = add.i64 %k, 1\n%8 = gt.i64 %k, %n\n br_if 1, %8\n br 0\nend\nend\n", ["block", "load_at"], id="a loop runs"),
    ],
)
def test_a_load_that_gives_the_same_in_every_step_is_made_in_front_of_the_loop(body: str, before: list[str]) -> None:
    head = HEAD.replace("  var %s", "  callee poke(ptr, i64) -> i64\n  var %s", 1) if "poke" in body else HEAD
    assert in_front(simplified(of_arrays(body), head, same=False)) == before


def test_a_way_out_of_a_loop_passes_its_guard() -> None:
    f = simplified(of_arrays("block\n" + FOR + L1 + "br_if 1, %c\n" + AT_I + "end\n" + add("%n") + "end\n"), same=False)
    assert [instr.imm for instr in f.code if instr.op is ops.BR_IF] == [2]


def test_no_more_loads_are_made_in_front_of_a_loop_than_half_of_the_registers() -> None:
    body = FOR + "".join(f"%l{n} = load_at.i64 [%p + {8 * n}]\n" + add(f"%l{n}") for n in range(8)) + "end\n"
    target = AnyTarget()
    target.orders = [tuple(range(10)), tuple(range(40))]
    f = simplified(of_arrays(body), same=False, target=target)
    assert in_front(f).count("load_at") == 5
    assert loads(f) == 8


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


@pytest.mark.parametrize("arm", ["store_at.i64 7, [%q + %n*8]{of q}", "store_at.i64 7, [%p + %n*8]{of p}"])
def test_what_one_arm_stores_the_other_does_not_see(arm: str) -> None:
    body = f"%1 = load_at.i64 [%p + 8]{{of p}}\n{add('%1')}if %c\n{arm}\nelse\n%2 = load_at.i64 [%p + 8]{{of p}}\n{add('%2')}end\n"
    assert loads(simplified(body)) == 1


def test_behind_both_arms_what_either_has_stored_may_be_there() -> None:
    access = "[%p + 8]{of p}"
    for arms in (
        f"store_at.i64 7, {access}\nelse\n%s = add.i64 %s, 1",
        f"%s = add.i64 %s, 1\nelse\nstore_at.i64 7, {access}",
        f"store_at.i64 7, {access}\nelse\nstore_at.i64 8, {access}",
    ):
        body = f"%1 = load_at.i64 {access}\n{add('%1')}if %c\n{arms}\nend\n%2 = load_at.i64 {access}\n{add('%2')}"
        assert loads(simplified(body)) == 2


def test_arms_in_loops_and_in_each_other() -> None:
    access = "[%p + 8]{of p}"
    inside = f"if %d\nstore_at.i64 %k, [%q + %k*8]{{of q}}\nelse\n%3 = load_at.i64 {access}\n{add('%3')}end\n"
    body = f"%1 = load_at.i64 {access}\n{add('%1')}%k = copy.i64 0\n%4 = for 0, %n, 1\n%k = copy.i64 %4\nif %c\nstore_at.i64 %s, {access}\nelse\n{inside}%2 = load_at.i64 {access}\n{add('%2')}end\nend\n"
    simplified(body)
