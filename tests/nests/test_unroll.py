"""Copies of a loop's body: what an operation under a true mask becomes, which variables each copy may have for itself."""

from __future__ import annotations

import pytest
from tests.passes.texts import block, body

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import Function, Instr
from loopwright.ir.text import parse
from loopwright.ir.verify import verify
from loopwright.nests.rewriting.unroll import clone, crossing_branches, has_loops, local_variables

HEAD = """
function f(%p: ptr, %p.n0: i64, %c: bool, %d: bool, %n: i64)
  array x: i32[%p.n0] at %p written
  var %a: i64
  var %b: i64
  var %v: i32x4
  var %w: mask32x4
  %a = copy.i64 1
  %b = copy.i64 2
  %v = copy.i32x4 0
  %w = copy.mask32x4 true
  %i = for 0, %n, 4 mask %m: mask32x4
"""


def looped(lines: str, after: str = "") -> tuple[Function, list[Instr]]:
    """A function with a loop over lanes, and the loop's body."""
    f = parse(HEAD + lines + "\nend\n" + after + "\nend")
    verify(f)
    start = next(k for k, instr in enumerate(f.code) if instr.op is ops.FOR)
    return f, f.code[start + 1 : match(f.code)[start]]


def cloned(lines: str, mask_holds: bool = True) -> str:
    f, inside = looped(lines)
    mask = next(instr.loop.mask for instr in f.code if instr.loop is not None)
    rename = {mask: f.const(f.types[mask], True)} if mask_holds else {}
    out: list[Instr] = []
    clone(f, inside, rename, out)
    f.code = [*f.code[:4], *out]
    for variable in ("a", "b", "v", "w"):
        assert not any(instr.dst in rename for instr in out if instr.dst >= 0 and f.names[instr.dst] == variable)
    return "\n".join(body(f).splitlines()[4:])


def written(lines: str) -> str:
    """As ``cloned`` gives it: numbered together with the variables in front."""
    return "\n".join(block("%a = copy.i64 1\n%b = copy.i64 2\n%v = copy.i32x4 0\n%w = copy.mask32x4 true\n" + lines).splitlines()[4:])


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("%1 = masked_load.i32x4 %m, x[%i]\n masked_store.i32x4 %m, %1, x[%i]", "%1 = load.i32x4 x[%i]\n store.i32x4 %1, x[%i]"),
        ("%1 = masked_load_at.i32x4 %m, [%p]\n masked_store_at.i32x4 %m, %1, [%p + 16]", "%1 = load_at.i32x4 [%p]\n store_at.i32x4 %1, [%p + 16]"),
        # What a selection takes is the first; also into a variable, and from one.
        ("%1 = load.i32x4 x[%i]\n %2 = select.i32x4 %m, %1, 5\n store.i32x4 %2, x[%i]", "%1 = load.i32x4 x[%i]\n store.i32x4 %1, x[%i]"),
        ("%1 = load.i32x4 x[%i]\n %v = select.i32x4 %m, %1, %v", "%1 = load.i32x4 x[%i]\n %v = copy.i32x4 %1"),
        ("%1 = select.i32x4 %m, %v, 5\n %v = copy.i32x4 7\n store.i32x4 %1, x[%i]", "%1 = copy.i32x4 %v\n %v = copy.i32x4 7\n store.i32x4 %1, x[%i]"),
        ("%1 = select.i32x4 %m, 3, 5\n store.i32x4 %1, x[%i]", "store.i32x4 3, x[%i]"),
        # Masks with the loop's: on either side.
        ("%1 = lt.i32x4 %v, 3\n %2 = and.mask32x4 %m, %1\n masked_store.i32x4 %2, 1, x[%i]", "%1 = lt.i32x4 %v, 3\n masked_store.i32x4 %1, 1, x[%i]"),
        ("%1 = lt.i32x4 %v, 3\n %2 = and.mask32x4 %1, %m\n masked_store.i32x4 %2, 1, x[%i]", "%1 = lt.i32x4 %v, 3\n masked_store.i32x4 %1, 1, x[%i]"),
        ("%1 = lt.i32x4 %v, 3\n %2 = or.mask32x4 %m, %1\n masked_store.i32x4 %2, 1, x[%i]", "%1 = lt.i32x4 %v, 3\n store.i32x4 1, x[%i]"),
        ("%1 = lt.i32x4 %v, 3\n %2 = or.mask32x4 %1, %m\n masked_store.i32x4 %2, 1, x[%i]", "%1 = lt.i32x4 %v, 3\n store.i32x4 1, x[%i]"),
        # Not the first, but the second: nothing is left of the loop's own mask, everything but the first of the other.
        ("%1 = lt.i32x4 %v, 3\n %2 = andnot.mask32x4 %m, %1\n masked_store.i32x4 %2, 1, x[%i]", "%1 = lt.i32x4 %v, 3\n masked_store.i32x4 false, 1, x[%i]"),
        ("%1 = lt.i32x4 %v, 3\n %2 = andnot.mask32x4 %1, %m\n masked_store.i32x4 %2, 1, x[%i]", "%1 = lt.i32x4 %v, 3\n %2 = not.mask32x4 %1\n masked_store.i32x4 %2, 1, x[%i]"),
        ("%1 = copy.mask32x4 %m\n masked_store.i32x4 %1, 1, x[%i]", "store.i32x4 1, x[%i]"),
        ("%1 = mask_convert.mask64x4.mask32x4 %m\n %2 = not.mask64x4 %1\n %3 = any.mask64x4 %2", "%2 = not.mask64x4 true\n %3 = any.mask64x4 %2"),
        # Into a variable they are copies.
        ("%w = copy.mask32x4 %m\n %w = and.mask32x4 %m, %w\n masked_store.i32x4 %w, 1, x[%i]", "%w = copy.mask32x4 true\n %w = copy.mask32x4 %w\n masked_store.i32x4 %w, 1, x[%i]"),
        ("%w = and.mask32x4 %w, %m\n %w = or.mask32x4 %w, %m", "%w = copy.mask32x4 %w\n %w = copy.mask32x4 true"),
        ("%w = andnot.mask32x4 %m, %w\n %w = andnot.mask32x4 %w, %m", "%w = copy.mask32x4 false\n %w = not.mask32x4 %w"),
        # A variable's value of this moment is kept when the variable goes on to change.
        ("%1 = and.mask32x4 %m, %w\n %w = copy.mask32x4 false\n masked_store.i32x4 %1, 1, x[%i]", "%1 = copy.mask32x4 %w\n %w = copy.mask32x4 false\n masked_store.i32x4 %1, 1, x[%i]"),
        ("%1 = and.mask32x4 %w, %m\n %w = copy.mask32x4 false\n masked_store.i32x4 %1, 1, x[%i]", "%1 = copy.mask32x4 %w\n %w = copy.mask32x4 false\n masked_store.i32x4 %1, 1, x[%i]"),
        # Of numbers, -1 and true are not the same.
        ("%1 = and.i64 -1, %i\n %2 = or.i64 %i, 1\n %a = add.i64 %1, %2", "%1 = and.i64 -1, %i\n %2 = or.i64 %i, 1\n %a = add.i64 %1, %2"),
        ("%1 = and.bool %c, true\n %2 = select.i64 true, %i, 3\n if %1\n %a = copy.i64 %2\n end", "if %c\n %a = copy.i64 %i\n end"),
    ],
)  # fmt: skip
def test_an_operation_under_a_true_mask_loses_it(lines: str, wanted: str) -> None:
    assert cloned(lines) == written(wanted)


def test_without_a_known_mask_a_copy_is_the_same_with_registers_of_its_own() -> None:
    lines = "%1 = masked_load.i32x4 %m, x[%i]\n %2 = add.i32x4 %1, %v\n %v = select.i32x4 %m, %2, %v\n masked_store.i32x4 %m, %2, x[%i]"
    assert cloned(lines, mask_holds=False) == written(lines)
    f, inside = looped(lines)
    out: list[Instr] = []
    clone(f, inside, {}, out)
    old = {instr.dst for instr in inside if instr.dst >= 0 and not f.variable[instr.dst]}
    assert not old & {instr.dst for instr in out}
    assert not old & {a for instr in out for a in instr.args}
    assert out[3].args[1] == out[1].dst


def test_what_is_renamed_stays_renamed() -> None:
    f, inside = looped("%1 = add.i64 %i, %a\n %a = add.i64 %1, 1\n %b = copy.i64 %a")
    names = {f.names[r]: r for r in range(len(f.types)) if f.names[r]}
    own, index = f.register(f.types[names["a"]], "own", True), f.const(f.types[names["i"]], 12)
    out: list[Instr] = []
    clone(f, inside, {names["a"]: own, names["i"]: index}, out)
    assert [instr.dst for instr in out][1:] == [own, names["b"]]
    assert out[0].args == [index, own] and out[1].args == [out[0].dst, out[1].args[1]] and out[2].args == [own]


# --- branches and loops -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "crosses"),
    [
        ("", False),
        ("br_if 0, %c", True),
        ("if %c\n br 0\n end", False),
        ("if %c\n br 1\n end", True),
        ("if %c\n br_if 1, %d\n else\n end", True),
        ("if %c\n else\n br_if 0, %d\n end", False),
        ("if %c\n elif\n %1 = not.bool %d\n then %1\n br 1\n end", True),
        ("if %c\n elif\n %1 = not.bool %d\n then %1\n br 0\n end", False),
        ("block\n if %c\n br 1\n end\n end", False),
        ("block\n if %c\n br 2\n end\n end", True),
        ("block\n end\n br_if 0, %c", True),
        ("block\n end\n block\n br_if 0, %c\n end", False),
        ("%j = for 0, 3, 1\n br_if 0, %c\n end", False),
        ("%j = for 0, 3, 1\n br_if 1, %c\n end", True),
        ("while\n %1 = lt.i64 %a, 3\n do %1\n %a = add.i64 %a, 1\n br_if 0, %c\n end", False),
        ("while\n %1 = lt.i64 %a, 3\n do %1\n %a = add.i64 %a, 1\n br_if 1, %c\n end", True),
    ],
)
def test_a_branch_out_of_a_body_crosses(lines: str, crosses: bool) -> None:
    assert crossing_branches(looped(lines)[1]) == crosses


def test_loops_are_for_while_and_loop() -> None:
    assert not has_loops(looped("if %c\n block\n end\n end")[1])
    for lines in ("%j = for 0, 3, 1\n end", "while\n %1 = lt.i64 %a, 3\n do %1\n %a = add.i64 %a, 1\n end", "block\n loop\n br 1\n end\n end"):
        assert has_loops(looped("if %c\n" + lines + "\nend")[1])


# --- variables of a copy ------------------------------------------------------------------------------------------------

WRITE, READ = "%a = copy.i64 5\n", "%1 = add.i64 %a, 1\n"


@pytest.mark.parametrize(
    ("lines", "local"),
    [
        (WRITE, True),
        (WRITE + READ, True),
        (READ + WRITE, False),
        ("%a = add.i64 %a, 1\n", False),
        ("if %c\n" + WRITE + "end\n" + READ, False),
        ("if %c\n" + WRITE + READ + "end\n", True),
        ("if %c\n" + WRITE + "else\n" + WRITE + "end\n" + READ, True),
        ("if %c\nelse\n" + WRITE + "end\n" + READ, False),
        ("if %c\n" + WRITE + "else\nend\n" + READ, False),
        ("if %c\n" + WRITE + "else\n" + READ + "end\n", False),
        ("if %c\n" + WRITE + "elif\n %2 = not.bool %d\n then %2\n" + WRITE + "end\n" + READ, False),
        ("if %c\n" + WRITE + "elif\n %2 = not.bool %d\n then %2\n" + WRITE + "else\n" + WRITE + "end\n" + READ, True),
        ("if %c\n" + WRITE + "elif\n %2 = not.bool %d\n then %2\n" + "else\n" + WRITE + "end\n" + READ, False),
        ("if %c\n elif\n" + WRITE + " %2 = not.bool %d\n then %2\n else\n end\n" + READ, False),
        ("block\n" + WRITE + "end\n" + READ, True),
        ("block\n" + WRITE + " br_if 0, %c\n end\n" + READ, True),
        ("block\n if %c\n" + WRITE + " br 1\n end\n" + WRITE + "end\n" + READ, True),
        ("block\n if %c\n br 1\n end\n" + WRITE + "end\n" + READ, False),
        ("block\n block\n br_if 1, %c\n" + WRITE + "end\n" + READ + "end\n", True),
        ("block\n block\n br_if 0, %c\n" + WRITE + "end\n" + READ + "end\n", False),
        ("block\n loop\n" + WRITE + " br_if 1, %c\n br 0\n end\n end\n" + READ, True),
        ("block\n loop\n br_if 1, %c\n" + WRITE + " br 0\n end\n end\n" + READ, False),
        ("loop\n br_if 0, %c\n" + WRITE + "end\n" + READ, True),
        ("block\n br 0\n end\n" + READ, False),
        ("block\n br_if 0, %c\n" + WRITE + "end\n" + READ, False),
        (WRITE + "block\n br_if 0, %c\n" + WRITE + "end\n" + READ, True),
        # A branch out of both sides of an if leaves it before the writing.
        ("if %c\n br_if 0, %d\n" + WRITE + "else\n" + WRITE + "end\n" + READ, False),
        ("if %c\n" + WRITE + "else\n br_if 0, %d\n" + WRITE + "end\n" + READ, False),
        ("block\n if %c\n br_if 1, %d\n" + WRITE + "else\n" + WRITE + "end\n" + READ + "end\n", True),
        (WRITE + "if %c\n br_if 0, %d\n else\n end\n" + READ, True),
        ("%j = for 0, 3, 1\n" + WRITE + "end\n" + READ, False),
        (WRITE + "%j = for 0, 3, 1\n %a = add.i64 %a, 1\n end\n" + READ, True),
        ("%j = for 0, 3, 1\n" + WRITE + READ + "end\n", True),
        ("%j = for 0, 3, 1\n" + READ + WRITE + "end\n", False),
        ("while\n" + WRITE + " %2 = lt.i64 %a, 3\n do %2\n" + READ + "%b = copy.i64 1\n end\n", True),
        ("%a = copy.i64 %b\n" + READ, True),
        ("%1 = add.i64 %b, 1\n", None),
    ],
)
def test_a_variable_is_a_copy_s_own_if_it_is_written_before_it_is_read(lines: str, local: bool | None) -> None:
    for after, elsewhere in (("", False), ("%7 = add.i64 %a, 1\n store_at.i64 %7, [%p]", True)):
        f, inside = looped(lines, after)
        a = f.names.index("a")
        references = {}
        for instr in f.code[4:]:
            # The initial values in front do not count here: that they are there is one more reason for a variable not to be local.
            for r in (*instr.args, instr.dst):
                if r >= 0 and f.variable[r]:
                    references[r] = references.get(r, 0) + 1
        assert (a in local_variables(f, inside, references)) == (local is True and not elsewhere)
