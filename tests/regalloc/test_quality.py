"""What the allocator must not waste: loads, stores and moves of small functions, counted by ``exact.cost_of`` (8 for each loop around)."""

from __future__ import annotations

from typing import Any

import pytest

from loopwright.costs import exact
from loopwright.ir.text import parse, print_function
from loopwright.regalloc.checker import check
from loopwright.targets import registry

V3 = registry.get("x86-64-v3")


def cost(text: str) -> tuple[exact.Cost, str]:
    """What a function's allocation costs, and its text; the allocation is proved."""
    from loopwright import compiler

    check(compiler.run_passes(parse(text), V3, after="select"), compiler.run_passes(parse(text), V3, after="allocate"), V3)
    f, found = exact.allocated(parse(text), V3)
    return found, print_function(f, V3)


def values(count: int, name: str = "v") -> list[str]:
    return [f"  %{name}{k} = load_at.i64 [%p + {8 * k}]" for k in range(count)]


def chain(names: list[str], first: str, prefix: str, indent: str = "  ") -> tuple[list[str], str]:
    """XORs and differences of values in turn, one after the other, beginning with ``first``. (Of one operation alone what a loop does not change would be taken together.)"""
    lines, last = [], first
    for k, name in enumerate(names):
        lines.append(f"{indent}%{prefix}{k} = {'sub' if k % 2 else 'xor'}.i64 {last}, %{name}")
        last = f"%{prefix}{k}"
    return lines, last


def function(*lines: str, result: str) -> str:
    return "\n".join(["function f(%p: ptr, %n: i64) -> i64", *lines, f"  ret {result}", "end"])


def test_what_is_wanted_before_and_after_a_loop_is_spilled_rather_than_what_is_wanted_in_it() -> None:
    outside, inside = [f"v{k}" for k in range(8)], [f"w{k}" for k in range(10)]
    body, last = chain(inside, "%s", "t", "    ")
    after, result = chain(outside, "%s", "r")
    found, text = cost(
        function(
            "  var %s: i64",
            *values(8),
            *values(10, "w"),
            "  %s = copy.i64 %n",
            "  %i = for 0, %n, 1",
            *body,
            f"    %s = copy.i64 {last}",
            "  end",
            *after,
            result=result,
        )
    )
    # Each at most once to memory and once back, all of it outside the loop.
    assert found.loads <= 8, text
    assert found.stores <= 8, text
    assert found.moves <= 2, text


def test_a_value_defined_once_is_stored_once() -> None:
    lines = [*values(20)]
    sums = []
    last = "%n"
    for turn in range(3):
        more, last = chain([f"v{k}" for k in range(20)], last, f"t{turn}_")
        sums += more
    found, text = cost(function(*lines, *sums, result=last))
    # Fourteen registers for twenty values and the sum: what does not fit is stored once, however often it is read.
    assert found.stores <= 8, text
    stored = [line.split()[0] for line in text.splitlines() if " = copy" in line and line.strip().startswith("@s")]
    assert len(stored) == len(set(stored))


def test_a_join_does_not_repeat_moves() -> None:
    found, text = cost(
        function(
            "  var %v: i64",
            "  %v = copy.i64 %n",
            "  %c = gt.i64 %n, 5",
            "  if %c",
            "    %1 = load_at.i64 [%p]",
            "    %v = add.i64 %1, %n",
            "  else",
            "    %2 = load_at.i64 [%p + 8]",
            "    %v = sub.i64 %2, %n",
            "  end",
            "  %3 = mul.i64 %v, %n",
            result="%3",
        )
    )
    assert found.moves <= 1, text
    assert found.spills == 0, text


def test_loop_variables_end_where_they_began() -> None:
    names = [f"s{k}" for k in range(6)]
    body = ["    %x = load_at.i64 [%p]"]
    previous = "x"
    for name in names:
        body.append(f"    %{name} = add.i64 %{name}, %{previous}")
        previous = name
    after, result = chain(names, "%n", "r")
    found, text = cost(
        function(
            *[f"  var %{name}: i64" for name in names],
            *[f"  %{name} = copy.i64 0" for name in names],
            "  %i = for 0, %n, 1",
            *body,
            "  end",
            *after,
            result=result,
        )
    )
    # Nothing is moved in the loop, where a move weighs 8.
    assert found.moves < 8, text
    assert found.spills == 0, text


def calling(*lines: str, result: str) -> str:
    return "\n".join(["function f(%p: ptr, %n: i64) -> i64", "  callee g(i64) -> i64", *lines, f"  ret {result}", "end"])


def test_what_lives_across_calls_is_in_registers_that_they_spare() -> None:
    body, last = chain(["v0", "v1", "v2"], "%1", "t", "    ")
    found, text = cost(
        calling(
            "  var %s: i64",
            *values(3),
            "  %s = copy.i64 %n",
            "  %i = for 0, %n, 1",
            "    %1 = call.i64 g(%s)",
            *body,
            f"    %s = copy.i64 {last}",
            "  end",
            result="%s",
        )
    )
    assert found.spills == 0, text
    # %s to the argument's register, once a turn at most.
    assert found.moves <= 8 + 4, text


def test_what_a_call_s_loop_does_not_want_waits_in_memory_outside_of_it() -> None:
    outside = [f"v{k}" for k in range(8)]
    after, result = chain(outside, "%s", "r")
    found, text = cost(
        calling(
            "  var %s: i64",
            *values(8),
            "  %s = copy.i64 %n",
            "  %i = for 0, %n, 1",
            "    %1 = call.i64 g(%i)",
            "    %s = add.i64 %s, %1",
            "  end",
            *after,
            result=result,
        )
    )
    assert found.loads <= 8, text
    assert found.stores <= 8, text


def test_a_division_in_a_loop_does_not_send_values_to_and_fro() -> None:
    names = [f"v{k}" for k in range(9)]
    body, last = chain(names, "%2", "t", "    ")
    found, text = cost(
        function(
            "  var %s: i64",
            *values(9),
            "  %s = copy.i64 %n",
            "  %i = for 0, %n, 1",
            "    %1 = add.i64 %i, 7",
            "    %2 = div_trunc.i64 %s, %1",
            *body,
            f"    %s = copy.i64 {last}",
            "  end",
            result="%s",
        )
    )
    assert found.spills == 0, text
    # In each of two ways, in all bits and in half of them, once into the dividend's register and once out of it, and nobody out of their way and back.
    assert found.moves <= 5 * 8 + 4, text


def test_the_way_out_of_a_loop_weighs_as_what_is_outside() -> None:
    names = [f"v{k}" for k in range(6)]
    rare = [f"w{k}" for k in range(9)]
    body, last = chain(names, "%s", "t", "    ")
    way_out, last_out = chain(rare, "%s", "u", "      ")
    found, text = cost(
        function(
            "  var %s: i64",
            *values(6),
            *values(9, "w"),
            "  %s = copy.i64 %n",
            "  %i = for 0, %n, 1",
            "    %1 = load_at.i64 [%p]",
            "    %c = gt.i64 %1, %s",
            "    if %c",
            *way_out,
            f"      ret {last_out}",
            "    end",
            *body,
            f"    %s = copy.i64 {last}",
            "  end",
            result="%s",
        )
    )
    # Only what the way out wants is in memory, and is read there: once.
    assert found.spills < 2 * 9 + 1, text


def test_constants_of_a_crowded_loop_are_read_where_they_are_wanted() -> None:
    coefficients = [0.5 + k / 64 for k in range(24)]
    body = ["    %x = load_at.f64 [%p + %i*8]", "    %t0 = mul.f64 %x, %x"]
    for k, c in enumerate(coefficients):
        body.append(f"    %t{k + 1} = fma.f64 %t{k}, %x, {c}")
    found, text = cost(
        "\n".join(
            ["function f(%p: ptr, %n: i64)", "  %i = for 0, %n, 1", *body, f"    store_at.f64 %t{len(coefficients)}, [%p + %i*8]", "  end", "  ret", "end"]
        )
    )
    assert found.spills == 0, text
    assert found.moves <= 1, text
    # Some stay in registers, the others are operands in memory; none is made in a register in each turn.
    inner = text[text.index(": align") :]
    assert not [line for line in inner.splitlines() if "= copy.f64" in line], text


def test_a_small_loop_is_as_good_as_at_the_optimum() -> None:
    pytest.importorskip("ortools")
    body, last = chain([f"v{k}" for k in range(4)], "%s", "t", "    ")
    text = function("  var %s: i64", *values(4), "  %s = copy.i64 %n", "  %i = for 0, %n, 1", *body, f"    %s = copy.i64 {last}", "  end", result="%s")
    best: Any = exact.optimum(parse(text), V3)
    assert best.proven
    # One move in front of the loop at most: in the loop all is as it should be.
    assert best.cost <= cost(text)[0].total <= best.cost + 1
