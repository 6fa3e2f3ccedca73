"""Divisions of what is known to be at least 0: the ranges they go by, and the same results."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.errors import KernelTypeError
from loopwright.ir import ops
from loopwright.ir import ranges as ranges_module
from loopwright.ir.function import Function
from loopwright.ir.interpret import Interpreter
from loopwright.ir.interpret import run as interpret
from loopwright.ir.parse import parse
from loopwright.ir.ranges import ranges_at
from loopwright.passes import signs
from loopwright.targets import registry
from loopwright.types import I64

HEAD = "function f(%x: ptr, %x.n0: i64, %n: i64, %k: i32) -> i64\n  array x: u8[%x.n0] at %x\n  var %a: i64\n  var %b: i64\n"


def ranges(body: str) -> list[Any]:
    """Of the first division: the ranges of both operands."""
    f = parse(HEAD + body + "\nend")
    places = {k for k, instr in enumerate(f.code) if instr.op in (ops.DIV_FLOOR, ops.REM_FLOOR)}
    return ranges_at(f, places)[min(places)]


def test_extents_counters_and_elements() -> None:
    assert ranges("%i = for 0, %x.n0, 1\n%1 = div_floor.i64 %i, %x.n0\nend\nret %n") == [(0, (1 << 47) - 1), (0, 1 << 47)]
    assert ranges("%i = for 3, 50, 2\n%1 = div_floor.i64 %i, %n\nend\nret %n")[0] == (3, 49)
    assert ranges("%1 = load_at.u8 [%x]{of x}\n%2 = convert.i64.u8 %1\n%3 = rem_floor.i64 %2, 7\nret %3") == [(0, 255), (7, 7)]


def test_what_a_variable_holds_at_a_place_and_not_what_it_holds_elsewhere() -> None:
    assert ranges("%a = copy.i64 5\n%1 = add.i64 %a, 1\n%2 = div_floor.i64 %1, %a\n%a = copy.i64 -1\nret %a") == [(6, 6), (5, 5)]


def test_loops_by_rounds_and_widened() -> None:
    remainder = "%a = copy.i64 0\n%i = for 0, %n, 1\n%1 = mul.i64 %a, 10\n%a = add.i64 %1, 9\n%a = rem_floor.i64 %a, 1000\nend\nret %a"
    assert ranges(remainder)[0] == (9, 9999)
    # What only grows wraps in the end.
    grows = "%a = copy.i64 0\n%i = for 0, %n, 1\n%a = add.i64 %a, 1\n%1 = div_floor.i64 %a, 3\nend\nret %a"
    assert ranges(grows)[0] == (-(1 << 63), (1 << 63) - 1)


def test_only_what_the_answer_hangs_on_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = 0
    join = ranges_module._join

    def counted(a: Any, b: Any) -> Any:
        nonlocal joined
        joined += len(a or ()) + len(b or ())
        return join(a, b)

    monkeypatch.setattr(ranges_module, "_join", counted)
    for count in (20, 40, 80):
        joined = 0
        branches = "".join(f"%t{n} = add.i64 %n, {n}\n%c{n} = lt.i64 %t{n}, 9\nif %c{n}\n%b = copy.i64 %t{n}\nend\n" for n in range(count))
        body = f"%i = for 0, %x.n0, 1\n{branches}%1 = div_floor.i64 %i, 3\nend\nret %b"
        assert ranges(body)[0] == (0, (1 << 47) - 1)
        # The counter and the extent, a few times a branch; before, all registers.
        assert joined <= 40 * count


def test_conditions_narrow_what_they_ask() -> None:
    assert ranges("%a = copy.i64 %n\nwhile\n%1 = gt.i64 %a, 0\ndo %1\n%2 = rem_floor.i64 %a, 10\n%a = div_floor.i64 %a, 10\nend\nret %a")[0] == (
        1,
        (1 << 63) - 1,
    )
    both = "%1 = ge.i64 %n, 0\n%2 = lt.i64 %n, 100\n%3 = and.bool %1, %2\nif %3\n%4 = div_floor.i64 %n, 3\nend\nret %n"
    assert ranges(both)[0] == (0, 99)
    other = "%1 = lt.i64 %n, 0\nif %1\nelse\n%4 = div_floor.i64 %n, 3\nend\nret %n"
    assert ranges(other)[0] == (0, (1 << 63) - 1)
    left = "block\n%1 = lt.i64 %n, 5\nbr_if 0, %1\n%4 = div_floor.i64 %n, 3\nend\nret %n"
    assert ranges(left)[0] == (5, (1 << 63) - 1)


def test_conditions_hold_until_what_they_ask_is_written() -> None:
    written = "%a = copy.i64 %n\n%1 = gt.i64 %a, 0\nif %1\n%a = sub.i64 %a, 1\n%2 = sub.i64 %a, 1\n%3 = div_floor.i64 %2, 3\nend\nret %a"
    assert ranges(written)[0] == (-1, (1 << 63) - 3)
    late = "%a = copy.i64 %n\n%1 = gt.i64 %a, 0\n%a = sub.i64 0, 9\nif %1\n%3 = div_floor.i64 %a, 3\nend\nret %a"
    assert ranges(late)[0] == (-9, -9)
    joined = "%1 = gt.i64 %n, 0\nif %1\n%2 = add.i64 %n, 0\nend\n%3 = div_floor.i64 %n, 3\nret %n"
    assert ranges(joined)[0] == (-(1 << 63), (1 << 63) - 1)


def test_ways_out_of_brackets_and_back_to_their_beginning() -> None:
    # Out of a block, from within a bracket in which nothing else matters.
    out = "%a = copy.i64 3\nblock\n%1 = lt.i64 %n, 5\nif %1\nbr 1\nend\n%a = copy.i64 7\nend\n%2 = div_floor.i64 %a, 3\nret %n"
    assert ranges(out)[0] == (3, 7)
    # To the next turn of a loop, and out of it.
    again = "%a = copy.i64 3\n%i = for 0, %n, 1\n%2 = div_floor.i64 %a, 3\n%a = copy.i64 9\n%1 = lt.i64 %n, 5\nif %1\nbr 1\nend\n%a = copy.i64 7\nend\nret %n"
    assert ranges(again)[0] == (3, 9)
    left = "%a = copy.i64 3\nblock\n%i = for 0, %n, 1\n%a = copy.i64 9\n%1 = lt.i64 %n, 5\nif %1\nbr 2\nend\n%a = copy.i64 7\nend\nend\n%2 = div_floor.i64 %a, 3\nret %n"
    assert ranges(left)[0] == (3, 9)
    # What returns leaves the rest to the other way.
    returned = "%1 = lt.i64 %n, 5\nif %1\nret %n\nend\n%2 = div_floor.i64 %n, 3\nret %2"
    assert ranges(returned)[0] == (5, (1 << 63) - 1)


def expression(dice: random.Random, names: list[str], depth: int) -> str:
    if depth == 0 or dice.random() < 0.2:
        return dice.choice([*names, str(dice.choice([0, 1, 2, 3, 7, 10, 97, 1000, 65521, -1, -5, 1 << 20]))])
    a, b = (expression(dice, names, depth - 1) for _ in range(2))
    form = dice.choice(
        [
            "({} + {})",
            "({} - {})",
            "({} * {})",
            "({} // {})",
            "({} % {})",
            "({} & {})",
            "({} | {})",
            "lw.min({}, {})",
            "lw.max({}, {})",
            "({} % {})",
            "({} >> 3) + {}",
        ]
    )
    return form.format(a, b)


def program(dice: random.Random, leaving: bool = False) -> str:
    """A kernel of three variables with loops and branches, full of divisions; ``leaving`` has loops that are left early, and conditions instead of counts."""
    names = ["a", "b", "c"]
    lines = ["def f(x: lw.Array[lw.i64], a: lw.i64, b: lw.i64) -> lw.i64:", "    c = lw.i64(1)"]

    def block(indent: int, depth: int) -> None:
        for _ in range(dice.randrange(1, 4)):
            pad = "    " * indent
            kind = dice.random()
            if depth and kind < 0.2:
                lines.append(f"{pad}for i{indent} in lw.range({dice.choice(['len(x)', '5', '3'])}):")
                names.append(f"i{indent}")
                block(indent + 1, depth - 1)
                if leaving and dice.random() < 0.5:
                    lines.append(f"{pad}    if {expression(dice, names, 1)} {dice.choice(['<', '>=', '=='])} {expression(dice, names, 1)}:")
                    lines.append(f"{pad}        {dice.choice(['break', 'continue', 'return a'])}")
                    block(indent + 1, 0)
                names.pop()
            elif leaving and depth and kind < 0.3:
                lines.append(f"{pad}w{indent} = lw.i64({dice.randrange(1, 6)})")
                lines.append(f"{pad}while w{indent} > 0 {dice.choice(['', 'and a > b', 'and c != 5'])}:")
                names.append(f"w{indent}")
                block(indent + 1, depth - 1)
                names.pop()
                lines.append(f"{pad}    w{indent} = w{indent} - {dice.choice([1, 2])}")
            elif depth and kind < 0.5:
                lines.append(f"{pad}if {expression(dice, names, 1)} {dice.choice(['<', '<=', '>', '>=', '==', '!='])} {expression(dice, names, 1)}:")
                block(indent + 1, depth - 1)
                if dice.random() < 0.5:
                    lines.append(f"{pad}else:")
                    block(indent + 1, depth - 1)
            elif leaving and kind < 0.8:
                # (So that what is known differs between the ways that meet.)
                lines.append(f"{pad}{dice.choice('abc')} = lw.i64({dice.choice(['1', '7', '-3', '1000', 'c % 10', 'a & 15', 'lw.min(lw.max(b, 0), 20)'])})")
            else:
                lines.append(f"{pad}{dice.choice('abc')} = lw.i64({expression(dice, names, 3)})")

    block(1, 3)
    lines.append("    return a + b * 3 + c * 7 + len(x)")
    return "\n".join(lines)


def divisions(f: Function) -> int:
    return sum(instr.op in (ops.DIV_FLOOR, ops.REM_FLOOR) and instr.type is I64 for instr in f.code)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest and runner.folder == "x86"))
def test_random_programs_divide_as_they_are_written(runner: Runner) -> None:
    dice = random.Random(5)
    rewritten = 0
    compiled = 0
    while compiled < 60:
        source = program(dice)
        space: dict[str, Any] = {"lw": lw}
        exec(source, space)  # noqa: S102
        kernel = lw.kernel(space["f"], source=source)
        try:
            code = runner.compiled(kernel, lw.Array[lw.i64], lw.i64, lw.i64)
        except KernelTypeError:
            # (A constant is divided by 0, or too large.)
            continue
        compiled += 1
        f = parse(code.ir("addresses"))
        before = divisions(f)
        changed = parse(code.ir("addresses"))
        signs.run(changed, registry.get("x86-64-v3"))
        rewritten += before - divisions(changed)
        for k in range(4):
            x = np.arange(3, dtype=np.int64)
            a, b = (int(dice.choice([0, 1, -1, 9, 12345, -77, (1 << 63) - 1, -(1 << 63), dice.getrandbits(40)])) for _ in range(2))
            want = interpret(f, x, a, b)
            assert interpret(changed, x, a, b) == want, source
            if k == 0:
                runner.run(code, [x, a, b], agrees(want, source))
    assert rewritten > 20


def agrees(want: Any, source: str) -> Any:
    def check(got: Any) -> None:
        assert got == want, source

    return check


def test_what_random_programs_compute_is_in_the_ranges_found() -> None:
    dice = random.Random(8)
    target = registry.get("x86-64-v3")
    seen = narrow = programs = 0
    while programs < 200:
        source = program(dice, programs % 4 > 0)
        space: dict[str, Any] = {"lw": lw}
        exec(source, space)  # noqa: S102
        try:
            f = parse(lw.kernel(space["f"], source=source).compile(lw.Array[lw.i64], lw.i64, lw.i64, target=target.name).ir("addresses"))
        except KernelTypeError:
            continue
        programs += 1
        places = [k for k, instr in enumerate(f.code) if instr.op.effect == ops.PURE and instr.dst >= 0 and instr.type is I64]
        for asked in (places, dice.sample(places, min(2, len(places))), dice.sample(places, min(1, len(places)))):
            found = ranges_at(f, set(asked))
            watched = Watched(f, target, {id(f.code[k]): found.get(k) for k in asked})
            for _ in range(3):
                a, b = (int(dice.choice([0, 1, -1, 9, 12345, -77, (1 << 63) - 1, -(1 << 63), dice.getrandbits(40)])) for _ in range(2))
                watched.call(np.arange(3, dtype=np.int64), a, b)
            assert not watched.outside, (source, watched.outside)
            seen += watched.seen
            narrow += watched.narrow
    assert seen > 10000 and narrow > 5000


class Watched(Interpreter):
    """Looks whether operands are in the ranges that have been found for them."""

    def __init__(self, f: Function, target: Any, found: dict[int, Any]) -> None:
        super().__init__(f, target)
        self.seen = self.narrow = 0
        self.outside: list[Any] = []
        for step in self._code:
            if id(step.instr) in found and step.meaning is not None:
                step.meaning = self.watching(step.instr, step.meaning, found[id(step.instr)])

    def watching(self, instr: Any, meaning: Any, ranges: Any) -> Any:
        def run(type_: Any, source: Any, *values: Any) -> Any:
            self.seen += 1
            if ranges is None:
                self.outside.append((instr, "is never reached"))
            else:
                for value, range_ in zip(values, ranges, strict=True):
                    if range_ is not None:
                        self.narrow += range_[1] - range_[0] < 1 << 62
                        if not range_[0] <= value <= range_[1]:
                            self.outside.append((instr, value, range_))
            return meaning(type_, source, *values)

        return run


STATES = """
def nest(text, table, out):
    state = lw.i32(0)
    for i in lw.range(len(text)):
        state = table[(state & 7) * 4 + lw.i32(text[i] & 3)] & 7
        out[i] = state
"""


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None or not runner.target.vector_bits))
def test_states_are_neither_masked_nor_extended_again(runner: Runner) -> None:
    kernel = nest_from(STATES)
    text, table, out = np.arange(50, dtype=np.uint8) * 7, np.arange(32, dtype=np.int32) * 5 - 60, np.zeros(50, np.int32)
    state, wanted = 0, []
    for letter in text:
        state = int(table[(state & 7) * 4 + int(letter & 3)]) & 7
        wanted.append(state)
    code = runner.compiled(kernel, text, table, out)
    runner.run(code, [text, table, out], lambda _: np.testing.assert_array_equal(out, wanted))
    if runner.folder == "x86":
        body = code.ir("simplify").split("= for ")[1]
        assert body.count("and.i32") == 1 + body.count("and.i32 %s, 3") and "convert.i64.i32" not in body, body


@lw.kernel
def shifted_lanes(a: lw.Array[lw.i64], b: lw.Array[lw.i64], c: lw.Array[lw.i64]):
    for i in lw.lanes(len(a)):
        masked = (a[i] | (a[i] << 4)) & 0x0F0F0F0F0F0F0F0F
        b[i] = masked >> 3
        c[i] = a[i] >> 3


def test_lanes_that_are_masked_are_shifted_without_signs() -> None:
    """AVX2 has no shift of 64 bits that takes signs in; AVX-512 has."""
    text = str(shifted_lanes.compile(target="x86-64-v3", keep=True).ir("expand"))
    # Half of them, those of what may be negative, are corrected.
    assert text.count("shr.u64x4") == 2 * text.count("xor.u64x4") > 0
    assert "shr.u64" not in str(shifted_lanes.compile(target="x86-64-v4", keep=True).ir("expand"))
    a = np.random.default_rng(5).integers(-(2**63), 2**63 - 1, 37)
    b, c = np.zeros_like(a), np.zeros_like(a)
    for target in ("x86-64-v3", "native"):
        lw.kernel(shifted_lanes.function, target=None if target == "native" else target)(a, b, c)
        np.testing.assert_array_equal(b, ((a | (a << 4)) & 0x0F0F0F0F0F0F0F0F) >> 3)
        np.testing.assert_array_equal(c, a >> 3)
