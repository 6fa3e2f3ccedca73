"""Lists of passes as data: what targets own, and a user's own passes in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright import compiler
from loopwright.errors import TargetError, UnsupportedOperationError, VerifyError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.stages import LAST, STAGES
from loopwright.ir.text import parse, print_function
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.pipeline import names_of
from loopwright.targets.target import Target
from loopwright.types import I64

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.parametrize("name", registry.names())
def test_a_target_s_passes_have_names_of_their_own_in_the_order_of_the_stages(name: str) -> None:
    names = names_of(registry.get(name).passes())
    assert len(set(names)) == len(names)
    ranks = [STAGES.index(each) for each in names if each in STAGES]
    assert ranks == sorted(ranks)
    assert names[0] == "collect"


def test_every_stage_is_a_pass_of_some_target() -> None:
    assert set(STAGES) <= {each for name in registry.names() for each in names_of(registry.get(name).passes())}


def test_every_operation_may_stand_somewhere() -> None:
    for op in ops.OPS:
        assert 0 <= op.since < op.until <= LAST, op.name


def test_the_table_of_passes_in_the_documentation_is_the_list() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \| (.*?) ?\|$", page.partition("## The passes")[2].partition("\n\n**")[0], re.MULTILINE)
    assert rows == [("collect", "(the front end's output)", "")] + [(each.name, each.does, each.leaves) for each in registry.get("x86-64-v4").passes()]


# --- a user's own ----------------------------------------------------------------------------------------------


@lw.kernel
def scaled(x: lw.Array[lw.i32], y: lw.Array[lw.i32]) -> lw.i64:
    total = lw.i64(0)
    for i in lw.lanes(len(x)):
        y[i] = x[i] * 10
    for i in lw.range(len(x)):
        total += y[i]
    return total


def tenfold_to_sevenfold(f: Function, target: Target) -> None:
    """Every 10 becomes a 7."""
    for instr in f.code:
        instr.args = [f.const(f.const_types[~a], 7) if a < 0 and f.const_values[~a] == 10 else a for a in instr.args]


def arguments() -> tuple[Any, Any]:
    return np.arange(21, dtype=np.int32), np.zeros(21, np.int32)


@pytest.mark.parametrize("place", ["collect", "checks", "promote", "nests", "vectorize", "unroll", "addresses", "expand"])
@pytest.mark.parametrize("runner", runners(lambda runner: runner.folder == "x86" and runner.widest))
def test_a_pass_of_one_s_own_changes_the_code(place: str, runner: Runner) -> None:
    x, y = arguments()
    code = runner.compiled(scaled, x, y, passes=[lw.after(place, tenfold_to_sevenfold)])
    assert runner.call(code, x, y) == 7 * x.sum()
    assert (y == 7 * x).all()
    assert runner.call(runner.compiled(scaled, x, y), x, y) == 10 * x.sum()


def test_it_is_seen_like_any_other() -> None:
    x, y = arguments()
    code = scaled.compile(x, y, target="x86-64-v4", keep=True, passes=[lw.before("simplify", tenfold_to_sevenfold, name="seven")])
    names = names_of(code.compiled.passes)
    assert names[names.index("seven") - 1 : names.index("seven") + 2] == ["expand", "seven", "simplify"]
    assert "seven" in code.times
    assert re.search(r", 10\b", code.ir("expand"))
    assert not re.search(r", 10\b", code.ir("seven"))
    # Without keep the function is compiled again up to there.
    again = scaled.compile(x, y, target="x86-64-v4", passes=[lw.before("simplify", tenfold_to_sevenfold, name="seven")])
    assert again.ir("seven") == code.ir("seven")
    assert "stage expand" in code.ir("seven")
    assert parse(code.ir("seven")).stage == "expand"


def test_several_at_one_place_run_in_the_order_given() -> None:
    seen: list[str] = []

    def note(name: str) -> Any:
        return lambda f, target: seen.append(name)

    x, y = arguments()
    passes = (
        [lw.after("simplify", note(n), name=n) for n in "abc"] + [lw.before("simplify", note(n), name=n) for n in "de"] + [lw.after("b", note("f"), name="f")]
    )
    scaled.compile(x, y, passes=passes)
    assert seen == ["d", "e", "a", "b", "f", "c"]


def test_a_kernel_has_passes_of_its_own() -> None:
    @lw.kernel(passes=[lw.after("collect", tenfold_to_sevenfold)])
    def ten() -> lw.i64:
        return lw.i64(10)

    assert ten() == 7
    assert ten.compile()() == 7
    assert ten.compile(passes=[])() == 10


def test_a_function_of_the_builder_takes_them() -> None:
    f = lw.Function("f", returns=lw.i64, n=lw.i64)
    f.ret(f.n + 10)
    assert f.compile(passes=[lw.before("simplify", tenfold_to_sevenfold)])(1) == 8


LATE = ["simplify", "immediates", "elif", "loops", "select", "liveness", "allocate", "jumps", "lower-late"]


@pytest.mark.parametrize("place", LATE)
@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
def test_instructions_are_added_at_any_stage(place: str, runner: Runner) -> None:
    """What the passes so far have seen to is made sure of for what is added behind them."""
    if place not in names_of(runner.target.passes()):
        pytest.skip(f"the passes for {runner} do not come by {place}")

    def more(f: Function, target: Target) -> None:
        out: list[Instr] = []
        for instr in f.code:
            out.append(instr)
            if instr.op is ops.MUL:
                # A constant that no instruction has room for, where there is a register to be had for it.
                large = 1 << 40 if not f.physical and f.stage in ("simplify", "immediates", "elif", "loops") else 5
                out.append(Instr(ops.ADD, I64, instr.dst, [instr.dst, f.const(I64, large)], 0, instr.line))
        f.code = out

    text = """
    function f(%a: i64, %b: i64) -> i64
      var %s: i64
      %s = copy.i64 %a
      %i = for 0, %b, 1
        %s = mul.i64 %s, %b
      end
      ret.i64 %s
    end
    """
    added = 1 << 40 if place in ("simplify", "immediates", "elif", "loops") else 5
    compiled = compiler.compile(parse(text), runner.target, Settings(passes=[lw.after(place, more)]))
    want = 3
    for _ in range(4):
        want = want * 4 + added
    assert runner.call(compiled, 3, 4) == want


def test_code_that_is_replaced_before_allocation_is_allocated() -> None:
    """Liveness is found again behind it."""

    def twice(f: Function, target: Target) -> None:
        out: list[Instr] = []
        for instr in f.code:
            out.append(instr)
            if instr.op is ops.MUL:
                once = f.register(I64)
                out.append(Instr(ops.ADD, I64, instr.dst, [once, once], 0, instr.line))
                instr.dst = once
        f.code = out

    text = "function f(%a: i64, %b: i64) -> i64\n var %s: i64\n %s = mul.i64 %a, %b\n ret.i64 %s\nend"
    from loopwright.runtime.code import Code

    for place in (lw.before("allocate", twice), lw.after("liveness", twice), lw.after("select", twice)):
        assert Code(compiler.compile(parse(text), registry.get("x86-64-v3"), Settings(prove=True, passes=[place])))(3, 5) == 30


# --- mistakes -----------------------------------------------------------------------------------------------------


def test_what_a_pass_breaks_is_said_to_be_its_own() -> None:
    def broken(f: Function, target: Target) -> None:
        f.code[0].args = [999]

    x, y = arguments()
    with pytest.raises(VerifyError, match="after the pass broken: "):
        scaled.compile(x, y, passes=[lw.after("simplify", broken)])


def test_an_error_in_it_is_the_user_s() -> None:
    def careless(f: Function, target: Target) -> None:
        raise KeyError("mine")

    x, y = arguments()
    with pytest.raises(KeyError, match="mine") as caught:
        scaled.compile(x, y, passes=[lw.after("simplify", careless)])
    assert any("in the pass careless" in note for note in caught.value.__notes__)


def test_what_the_target_lacks_is_said() -> None:
    def reversing(f: Function, target: Target) -> None:
        for instr in f.code:
            if instr.op is ops.MUL and not instr.type.lanes:
                instr.op = ops.CRC32C
                raise UnsupportedOperationError("not here")

    text = "function f(%a: i64) -> i64\n %s = mul.i64 %a, %a\n ret.i64 %s\nend"
    with pytest.raises(UnsupportedOperationError, match="not here"):
        compiler.compile(parse(text), registry.get("x86-64-v3"), Settings(passes=[lw.after("collect", reversing)]))


def test_constants_that_have_no_room_after_allocation_are_refused() -> None:
    def late(f: Function, target: Target) -> None:
        for instr in f.code:
            if instr.op is ops.ADD:
                instr.args[1] = f.const(I64, 1 << 40)

    text = "function f(%a: i64) -> i64\n %s = add.i64 %a, 5\n ret.i64 %s\nend"
    with pytest.raises(VerifyError, match="needs a register"):
        compiler.compile(parse(text), registry.get("x86-64-v3"), Settings(passes=[lw.after("allocate", late)]))


def nothing(f: Function, target: Target) -> None:
    pass


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [lw.after("simplfy", nothing)], "there is no pass 'simplfy' for nothing to stand after; x86-64-v3 has collect, checks, halves, promote"),
        (lambda: [lw.before("collect", nothing)], "there is no pass 'collect' for nothing to stand before"),
        (lambda: [lw.after("simplify", nothing), lw.after("nests", nothing)], "there is a pass 'nothing' already"),
        (lambda: [lw.after("simplify", nothing, name="nests")], "there is a pass 'nests' already"),
        (lambda: lw.after("simplify", nothing), "passes= takes a list"),
        (lambda: [nothing], "takes what lw.after, lw.before and lw.without make"),
        (lambda: [lw.after("simplify", lambda f, target: None)], "needs a name"),
        (lambda: [lw.after("simplify", nothing, name="two words")], "needs a name"),
        (lambda: [lw.after("simplify", 3)], "a pass is a function"),
        (lambda: [lw.after(nothing, "simplify")], "the place of a pass is the name of another"),
    ],
)
def test_a_wrong_place_is_refused(make: Any, message: str) -> None:
    x, y = arguments()
    with pytest.raises(TargetError, match=message):
        scaled.compile(x, y, target="x86-64-v3", passes=make())


ADDITION = "function add(%a: i64, %b: i64) -> i64\n %c = add.i64 %a, %b\n ret.i64 %c\nend"


def test_code_that_runs_lets_go_of_what_can_be_made_again() -> None:
    target = registry.get("x86-64-v3")
    whole = compiler.compile(parse(ADDITION), target)
    expected = whole.listing()
    assert whole.function is whole.function and expected
    whole.release()
    assert whole.machine.instructions is None and whole.machine.data and whole.listing() == expected
    assert whole.function is not whole.function
    assert print_function(whole.function, target) == print_function(compiler.compile(parse(ADDITION), target).function, target)

    @lw.kernel
    def k(x: lw.Array[lw.f32]):
        for i in lw.lanes(len(x)):
            x[i] += 1

    code = k.compile(np.zeros(4, np.float32))
    assert code.compiled.machine.instructions is None and "x[i] += 1" in code.asm()


def test_what_passes_of_the_users_own_have_made_is_kept() -> None:
    calls: list[str] = []

    def counting(f: Function, _: Target) -> None:
        calls.append(f.name)

    made = compiler.compile(parse(ADDITION), registry.get("x86-64-v3"), Settings(passes=[lw.after("simplify", counting)]))
    made.release()
    assert made.listing() and made.function is made.function and len(calls) == 1
