"""Branches made choices between values: the interpreter gets the same results, whichever way they go."""

from __future__ import annotations

import random

import numpy as np
import pytest

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.nests.branches import LONGEST, converted
from loopwright.nests.nest import nests


class Body:
    """The text of a loop's body that computes with two variables and what it has loaded, under nested conditions."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.registers = 0
        self.left = 8

    def register(self) -> str:
        self.registers += 1
        return f"%r{self.registers}"

    def statements(self, known: list[str], depth: int, indent: str) -> None:
        rng = self.rng
        known = list(known)
        for _ in range(rng.randint(1, 3)):
            if depth and rng.random() < 0.4:
                condition = self.register()
                self.lines.append(f"{indent}{condition} = {rng.choice(['lt', 'gt', 'eq'])}.f64 {rng.choice(known)}, {rng.choice(known)}")
                self.lines.append(f"{indent}if {condition}")
                self.statements(known, depth - 1, indent + "  ")
                if rng.random() < 0.5:
                    self.lines.append(f"{indent}else")
                    self.statements(known, depth - 1, indent + "  ")
                self.lines.append(f"{indent}end")
            elif depth == 2 or self.left > 0:
                self.left -= depth < 2
                to = rng.choice(["%u", "%v", self.register()])
                self.lines.append(f"{indent}{to} = {rng.choice(['add', 'sub', 'mul', 'max'])}.f64 {rng.choice(known)}, {rng.choice(known)}")
                if to not in known:
                    known.append(to)


def function(rng: random.Random) -> Function:
    body = Body(rng)
    body.statements(["%u", "%v", "%x0", "0.5"], 2, "    ")
    return parse(
        "\n".join(
            [
                "function k(%x: ptr, %x.n0: i64)",
                "  stage collect",
                "  array x: f64[%x.n0] at %x written",
                "  var %u: f64",
                "  var %v: f64",
                "  %u = copy.f64 1.0",
                "  %v = copy.f64 0.25",
                "  %i = for 0, %x.n0, 1",
                "    %x0 = load.f64 x[%i]",
                *body.lines,
                "    %sum = sub.f64 %u, %v",
                "    store.f64 %sum, x[%i]",
                "  end",
                "end",
                "",
            ]
        )
    )


def conditional(body: list[Instr]) -> int:
    """How many values of a body are computed under a condition."""
    depth = count = 0
    for instr in body:
        depth += (instr.op.opens and not instr.op.closes) - (instr.op is ops.END)
        count += depth > 0 and instr.op.effect != ops.CONTROL
    return count


def convert(f: Function) -> list[Instr] | None:
    (nest,) = nests(f)
    return converted(nest, nest.loops[-1])


@pytest.mark.parametrize("seed", range(150))
def test_random_bodies(seed: int) -> None:
    f = function(random.Random(seed))
    given = np.random.default_rng(seed).random(20)
    wanted = given.copy()
    with np.errstate(all="ignore"):
        run(f, wanted)
        (head,) = [k for k, instr in enumerate(f.code) if instr.op is ops.FOR]
        body = convert(f)
        if body is None:
            assert conditional(f.code[head + 1 : -1]) > LONGEST
            return
        assert not any(instr.op.opens for instr in body)
        f.code[head + 1 : -1] = body
        verify(f)
        run(f, given)
    np.testing.assert_array_equal(given, wanted)


HEAD = "function k(%x: ptr, %x.n0: i64, %c: bool)\n  stage collect\n  array x: f64[%x.n0] at %x written\n  var %u: f64\n  var %v: f64\n"


@pytest.mark.parametrize("line", ["%r = load.f64 x[0]", "store.f64 1.0, x[0]", "%u = div.f64 %u, %v", "br 1"])
def test_what_stays_a_branch(line: str) -> None:
    assert convert(parse(HEAD + f"  %i = for 0, %x.n0, 1\n    if %c\n      {line}\n    end\n  end\nend\n")) is None


STORES = """\
  %i = for FIRST, %x.n0, 1
    %w = load.f64 x[%i]
    %before = sub.i64 %i, 1
    %after = add.i64 %i, 1
    %d = lt.f64 %w, 0.5
    if %d
      %r = load.f64 x[LOADED]
      store.f64 %r, x[%i]
    OTHERWISE
      %s = mul.f64 %w, 2.0
      store.f64 %s, x[STORED]
    end
  end
end
"""


@pytest.mark.parametrize(
    ("first", "loaded", "stored", "otherwise", "possible"),
    [
        ("1", "%before", "%i", "else", True),
        # The first iteration would load in front of the array, the last one behind it.
        ("0", "%before", "%i", "else", False),
        ("1", "%after", "%i", "else", False),
        ("1", "%before", "%before", "else", False),
        ("1", "%before", "%i", "elif\n      %e = gt.f64 %w, 0.75\n    then %e", False),
        ("1", "%before", "%i", "elif\n      %e = gt.f64 %w, 0.75\n    then %e\n      store.f64 0.25, x[%i]\n    else", True),
    ],
)
def test_stores_of_all_arms(first: str, loaded: str, stored: str, otherwise: str, possible: bool) -> None:
    text = HEAD + STORES.replace("FIRST", first).replace("LOADED", loaded).replace("STORED", stored).replace("OTHERWISE", otherwise)
    f = parse(text)
    (head,) = [k for k, instr in enumerate(f.code) if instr.op is ops.FOR]
    body = convert(f)
    assert (body is not None) == possible
    if body is not None:
        assert sum(instr.op is ops.STORE for instr in body) == 1
        f.code[head + 1 : -1] = body
        verify(f)
        for size in (0, 1, 2, 30):
            given = np.random.default_rng(0).random(size)
            wanted = given.copy()
            run(parse(text), wanted, True)
            run(f, given, True)
            np.testing.assert_array_equal(given, wanted)
