"""What variables carry: written cases, and random code run with conditions that go either way."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.loops import IS_LOOP
from loopwright.ir.parse import parse
from loopwright.nests.analysis.nest import nest_of, nests
from loopwright.nests.analysis.scalars import CARRIED, HANDED, PRIVATE, REDUCTION, scalars


def kinds(body: str, variables: str = "var %s: f64") -> dict[tuple[str, str], Any]:
    text = f"function k(%x: ptr, %x.n0: i64, %x.n1: i64, %x.s0: i64, %c: bool)\n  stage collect\n  array x: f64[%x.n0, %x.n1] strides [%x.s0] at %x written\n  {variables}\n{body}\nend\n"
    f = parse(text)
    (nest,) = nests(f)
    return {(nest.name(s.loop), f.names[s.variable]): (s.kind, s.op.name if s.op else "") for s in scalars(nest)}


def test_sum_in_the_inner_loop() -> None:
    found = kinds("""
  %i = for 0, %x.n0, 1
    %s = copy.f64 0.0
    %j = for 0, %x.n1, 1
      %v = load.f64 x[%i, %j]
      %s = sub.f64 %s, %v
    end
    store.f64 %s, x[%i, 0]
  end""")
    assert found == {("i", "s"): (PRIVATE, ""), ("j", "s"): (REDUCTION, "add")}


def test_read_besides_the_update() -> None:
    found = kinds("""
  %i = for 0, %x.n0, 1
    %v = load.f64 x[%i, 0]
    %s = add.f64 %s, %v
    store.f64 %s, x[%i, 1]
  end""")
    assert found == {("i", "s"): (CARRIED, "")}


@pytest.mark.parametrize("update", ["%s = sub.f64 %v, %s", "%s = add.f64 %s, %s", "%s = div.f64 %s, %v"])
def test_no_reduction(update: str) -> None:
    found = kinds(f"""
  %i = for 0, %x.n0, 1
    %v = load.f64 x[%i, 0]
    {update}
  end""")
    assert found == {("i", "s"): (CARRIED, "")}


def test_updates_with_two_operations() -> None:
    found = kinds("""
  %i = for 0, %x.n0, 1
    %v = load.f64 x[%i, 0]
    %s = add.f64 %s, %v
    %s = mul.f64 %s, %v
  end""")
    assert found == {("i", "s"): (CARRIED, "")}


def test_update_by_way_of_a_register() -> None:
    text = """
  %i = for 0, %x.n0, 1
    %v = load.f64 x[%i, 0]
    %t = min.f64 %s, %v
    {}
  end"""
    assert kinds(text.format("%s = copy.f64 %t")) == {("i", "s"): (REDUCTION, "min")}
    assert kinds(text.format("%s = copy.f64 %v")) == {("i", "s"): (HANDED, "")}
    assert kinds(text.format("store.f64 %t, x[%i, 1]\n    %s = copy.f64 %t")) == {("i", "s"): (CARRIED, "")}
    assert kinds(text.format("%s = copy.f64 %t\n    store.f64 %t, x[%i, 1]")) == {("i", "s"): (CARRIED, "")}


def test_what_is_handed_on() -> None:
    """Copied once, at the end, from what is made once, without it and in front of what reads it; from another that is, too."""
    text = """
  %i = for 0, %x.n0, 1
    %v = load.f64 x[%i, 0]
    %t = add.f64 %s, %v
    store.f64 %t, x[%i, 1]
    {}
  end"""
    carried, handed = {("i", "s"): (CARRIED, "")}, {("i", "s"): (HANDED, "")}
    assert kinds(text.format("%s = copy.f64 %v")) == handed
    assert kinds(text.format("%s = copy.f64 %t")) == carried
    assert kinds(text.format("%w = load.f64 x[%i, 2]\n    %s = copy.f64 %w")) == carried
    assert kinds(text.format("%s = copy.f64 1.0")) == carried
    assert kinds(text.format("%s = copy.f64 %v\n    store.f64 %s, x[%i, 2]")) == carried
    assert kinds(text.format("if %c\n      %s = copy.f64 %v\n    end")) == carried
    two = "var %s: f64\n  var %r: f64"
    assert kinds(text.format("%s = copy.f64 %r\n    %r = copy.f64 %v"), two) == {("i", "s"): (HANDED, ""), ("i", "r"): (HANDED, "")}
    assert kinds(text.format("%s = copy.f64 %r\n    %r = copy.f64 %t"), two) == {("i", "s"): (CARRIED, ""), ("i", "r"): (HANDED, "")}
    assert kinds(text.format("%r = copy.f64 %v\n    %s = copy.f64 %r"), two) == {("i", "s"): (CARRIED, ""), ("i", "r"): (PRIVATE, "")}


def test_arms() -> None:
    text = """
  %i = for 0, %x.n0, 1
    if %c
      %s = copy.f64 1.0
    {}
    end
    store.f64 %s, x[%i, 1]
  end"""
    assert kinds(text.format("else\n      %s = copy.f64 2.0")) == {("i", "s"): (PRIVATE, "")}
    assert kinds(text.format("else\n      br 1")) == {("i", "s"): (CARRIED, "")}
    assert kinds(text.format("")) == {("i", "s"): (CARRIED, "")}


# --- random code


def random_code(rng: random.Random, depth: int, loops: int, brackets: int) -> list[Any]:
    code: list[Any] = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(["read", "write", "read", "write", "if", "ifelse", "loop", "block", "br"])
        if kind in ("read", "write"):
            code.append((kind, rng.choice("uv")))
        elif kind == "br":
            if brackets:
                code.append((kind, rng.randrange(brackets)))
        elif depth:
            inner = loops + (kind == "loop")
            arms = [random_code(rng, depth - 1, inner, brackets + 1) for _ in range(2 if kind == "ifelse" else 1)]
            code.append(("if" if kind == "ifelse" else kind, *arms))
    return code


def text_of(code: list[Any], lines: list[str], names: list[int], indent: str) -> None:
    for kind, *rest in code:
        if kind == "read":
            lines.append(f"{indent}store.f64 %{rest[0]}, x[0, 0]")
        elif kind == "write":
            lines.append(f"{indent}%{rest[0]} = copy.f64 1.0")
        elif kind == "br":
            lines.append(f"{indent}br_if {rest[0]}, %c")
        else:
            names[0] += kind == "loop"
            lines.append(indent + {"if": "if %c", "block": "block", "loop": f"%i{names[0]} = for 0, %x.n0, 1"}[kind])
            for n, arm in enumerate(rest):
                if n:
                    lines.append(f"{indent}else")
                text_of(arm, lines, names, indent + "  ")
            lines.append(f"{indent}end")


class Run:
    """Runs code, conditions and trip counts drawn; notes which loops a value that was read had been written in an earlier iteration of."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.carried: set[tuple[int, str]] = set()
        self.written: dict[str, dict[int, int]] = {}
        self.at: dict[int, int] = {}
        self.clock = 0

    def run(self, code: list[Any], numbers: dict[int, int]) -> int:
        """How many brackets are left beyond this one, or -1."""
        for part in code:
            kind, *rest = part
            if kind == "write":
                self.written[rest[0]] = dict(self.at)
            elif kind == "read":
                for loop, iteration in self.at.items():
                    when = self.written.get(rest[0], {})
                    if loop in when and when[loop] != iteration:
                        self.carried.add((loop, rest[0]))
                        break
            elif kind == "br":
                if self.rng.random() < 0.3:
                    return int(rest[0])
            elif kind == "loop":
                left = self.loop(rest[0], numbers[id(part)], numbers)
                if left > 0:
                    return left - 1
            else:
                left = -1
                if kind == "block" or self.rng.random() < 0.5:
                    left = self.run(rest[0], numbers)
                elif len(rest) > 1:
                    left = self.run(rest[1], numbers)
                if left > 0:
                    return left - 1
        return -1

    def loop(self, body: list[Any], number: int, numbers: dict[int, int]) -> int:
        for _ in range(self.rng.randint(0, 3)):
            self.clock += 1
            self.at[number] = self.clock
            left = self.run(body, numbers)
            if left > 0:
                del self.at[number]
                return left
        self.at.pop(number, None)
        return -1


def number_loops(code: list[Any], numbers: dict[int, int]) -> None:
    for part in code:
        if part[0] == "loop":
            numbers[id(part)] = len(numbers)
        if part[0] in ("loop", "if", "block"):
            for arm in part[1:]:
                number_loops(arm, numbers)


@pytest.mark.parametrize("seed", range(80))
def test_random_code(seed: int) -> None:
    rng = random.Random(seed)
    outer = ("loop", random_code(rng, 3, 1, 1))
    lines: list[str] = []
    text_of([outer], lines, [0], "  ")
    f = parse(
        "function k(%x: ptr, %x.n0: i64, %x.n1: i64, %x.s0: i64, %c: bool)\n  stage collect\n  array x: f64[%x.n0, %x.n1] strides [%x.s0] at %x written\n"
        "  var %u: f64\n  var %v: f64\n" + "\n".join(lines) + "\nend\n"
    )
    # (Loops inside of one that is left would be nests by themselves.)
    partner = match(f.code)
    head = next(k for k, instr in enumerate(f.code) if IS_LOOP[instr.op.code])
    end = partner[head]
    while f.code[end].op is not ops.END:
        end = partner[end]
    nest = nest_of(f, head, end)
    found = {(s.loop.number, f.names[s.variable]) for s in scalars(nest) if s.kind != PRIVATE}
    numbers: dict[int, int] = {}
    number_loops([outer], numbers)
    run = Run(rng)
    for _ in range(600):
        run.written.clear()
        run.loop(outer[1], 0, numbers)
    assert run.carried <= found, lines
    if "br_if" not in "\n".join(lines):
        assert run.carried == found, lines


@lw.kernel
def added_to_each_other(a: lw.Array[lw.i64, 2], b: lw.Array[lw.i64]) -> None:
    s = b[0]
    t = b[1]
    for i in range(a.shape[0]):
        s += a[i, 0]
        t = s + t
    b[0] = s
    b[1] = t


def test_a_total_that_another_one_reads_is_none() -> None:
    """What is read beside its update has to be what it is there."""
    for n in (0, 1, 5, 64, 100):
        a = np.arange(2 * n).reshape(n, 2)
        wanted, found = np.array([3, 4]), np.array([3, 4])
        added_to_each_other.function(a, wanted)
        added_to_each_other(a, found)
        np.testing.assert_array_equal(found, wanted)


def test_a_total_that_is_copied_back_and_read_by_another() -> None:
    found = kinds(
        """
  %i = for 0, %x.n0, 1
    %v = load.f64 x[%i, 0]
    %a = add.f64 %s, %v
    %s = copy.f64 %a
    %b = add.f64 %s, %t
    %t = copy.f64 %b
  end""",
        "var %s: f64\n  var %t: f64",
    )
    assert found["i", "s"][0] == CARRIED
    assert found["i", "t"] == (REDUCTION, "add")
