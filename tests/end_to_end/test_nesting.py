"""Brackets in brackets: what is allowed takes time in proportion to its length, what is deeper is refused, and neither depth nor length ends in a RecursionError."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from tests.growth import growth
from tests.machines import Runner, runners

import loopwright as lw
from loopwright import compiler
from loopwright.compiler import ENVIRONMENT_PROVE
from loopwright.ir import verify as verify_module
from loopwright.ir.brackets import DEEPEST, DEEPEST_LOOPS
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import parse, print_function
from loopwright.ir.verify import verify
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.pipeline import names_of

#: Lines are counted of Python code alone.
countable = pytest.mark.skipif(not str(verify_module.__file__).endswith(".py"), reason="the native build has no lines to count")


def is_one_of_several(runner: Runner) -> bool:
    """A Multiclet processor besides the first: its code and its simulator take ten times as long as all other machines'."""
    return runner.folder == "multiclet" and "s2" not in repr(runner)


MORE = "%k = add.i64 %k, 1\n"


def text(body: str, variables: str = "") -> str:
    return f"function f(%n: i64, %c: bool) -> i64\n{variables}  var %k: i64\n  %k = copy.i64 %n\n{body}  ret %k\nend\n"


def nest(begin: str, end: str = "end\n") -> Callable[[int], str]:
    return lambda depth: text(begin * depth + MORE + end * depth)


#: Functions by how deep they are.
SHAPES: dict[str, Callable[[int], str]] = {
    "blocks": nest("block\n"),
    "blocks with a branch": nest(f"block\n{MORE}br_if 0, %c\n", f"{MORE}end\n"),
    "ifs": nest(f"if %c\n{MORE}"),
    "ifs, always": nest("if true\n"),
    "first sections": nest("if %c\n", f"else\n{MORE}end\n"),
    "last sections": nest(f"if %c\n{MORE}else\n"),
    "conditions": nest("if %c\nelif\n", f"then %c\n{MORE}end\n"),
    "branches far out": lambda depth: text("block\n" * depth + "".join(f"br_if {k}, %c\n" for k in range(depth)) + "end\n" * depth),
    "jumps far out": lambda depth: text(
        "block\n"
        + "block\nif %c\n" * (depth // 2 - 1)
        + "".join(f"if %c\nbr {k}\nend\n" for k in range(1, depth - 2))
        + "end\nend\n" * (depth // 2 - 1)
        + "end\n"
    ),
    "branches in a row": lambda depth: text("block\n" + f"{MORE}br_if 0, %c\n" * depth + "end\n"),
}
#: Loops by how deep they are.
LOOPS: dict[str, Callable[[int], str]] = {
    "loop": nest("loop\n", "br_if 0, %c\nend\n"),
    "for": lambda depth: text("".join(f"%i.{k + 9} = for 0, %n, 1\n" for k in range(depth)) + MORE + "end\n" * depth),
    "while": nest("while\n%c.CONDITION = gt.i64 %k, 100\ndo %c.CONDITION\n"),
    "while in a condition": nest("while\n", f"do %c\n{MORE}end\n"),
}


def numbered(source: str) -> str:
    """Each name with CONDITION in it is another one."""
    first, *parts = source.split("CONDITION")
    return first + "".join(f"{9 + k // 2}{part}" for k, part in enumerate(parts))


def everything(source: str) -> None:
    f = parse(source)
    verify(f)
    assert print_function(f)
    Interpreter(f)
    compiler.run_passes(f, registry.get("x86-64-v3"), settings=Settings(prove=False))


@countable
@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_the_length_of_the_text(shape: str) -> None:
    # Four times the length: the square would be 16 times the work.
    found = growth(everything, SHAPES[shape](DEEPEST // 32), SHAPES[shape](DEEPEST // 8))
    assert max(found.values()) < 7, found


def elsewhere(runner: Runner) -> bool:
    """Whether what takes long is left to long runs: on all machines but one, whose passes most others share."""
    return runner.folder != "x86" or is_one_of_several(runner)


def chain(length: int) -> str:
    return text("if %c\n" + "".join(f"elif\n%x.{k + 9} = eq.i64 %n, {k}\nthen %x.{k + 9}\n%k = copy.i64 {-k}\n" for k in range(length)) + "end\n")


@countable
def test_work_grows_with_the_length_of_a_chain_of_conditions() -> None:
    found = growth(everything, chain(40), chain(160))
    assert max(found.values()) < 7, found


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest, at_length=elsewhere))
def test_a_chain_of_conditions_may_be_of_any_length(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    # The proof of an allocation takes the square of its length.
    monkeypatch.setenv(ENVIRONMENT_PROVE, "0")
    assert runner.call(runner.compiled(lw.parse(chain(3000))), 2999, False) == -2999


@countable
@pytest.mark.parametrize("shape", LOOPS)
def test_loops_cost_what_is_live_in_each(shape: str) -> None:
    # Three times the depth, of loops that have three times as much live in each: 9 times the work; one more power would be 27 times.
    found = growth(everything, numbered(LOOPS[shape](DEEPEST_LOOPS // 9)), numbered(LOOPS[shape](DEEPEST_LOOPS // 3)))
    assert max(found.values()) < 13, found


@pytest.mark.parametrize("shape", {**SHAPES, **LOOPS})
def test_the_deepest_brackets_are_refused_with_a_word(shape: str) -> None:
    if shape == "branches in a row":
        return
    made, limit = (SHAPES[shape], DEEPEST) if shape in SHAPES else (LOOPS[shape], DEEPEST_LOOPS)
    lw.parse(numbered(made(limit)))
    for depth in (limit + 2, 50_000 if shape == "blocks" else 2 * limit):
        with pytest.raises(lw.VerifyError, match=f"(brackets|loops) nest at most {limit} deep"):
            lw.parse(numbered(made(depth)))


@pytest.mark.parametrize("kind", ["if", "else", "loop", "for", "while", "block"])
def test_the_builder_refuses_them_where_they_are_opened(kind: str) -> None:
    f = lw.Function("deep", a=lw.i64, returns=lw.i64)
    with pytest.raises(lw.KernelTypeError, match=f"loops, ifs and blocks nest at most {DEEPEST} deep") as caught, ExitStack() as stack:
        for k in range(50_000):
            if kind == "if":
                stack.enter_context(f.if_(f.a > k))
            elif kind == "else":
                with f.if_(f.a > k):
                    pass
                stack.enter_context(f.else_())
            elif kind == "while":
                stack.enter_context(f.while_(lambda k=k: f.a > k))
            else:
                stack.enter_context(f.loop() if kind == "loop" else f.for_(f.a) if kind == "for" else f.block())
    assert "deep" in str(caught.value)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest, at_length=elsewhere))
def test_what_is_as_deep_as_it_may_be_still_does_what_it_says(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_PROVE, "0")
    f = lw.Function("deep", a=lw.i64, returns=lw.i64)
    with f:
        k = f.var(lw.i64, 0)
        with ExitStack() as stack:
            for n in range(DEEPEST):
                stack.enter_context(f.if_(f.a > n))
                k.set(k + 1)
        f.ret(k)
    code = runner.compiled(f)
    assert [runner.call(code, n) for n in (-1, 0, 1, 500, 5000)] == [0, 0, 1, 500, DEEPEST]

    f = lw.Function("loops", a=lw.i64, returns=lw.i64)
    with f:
        k = f.var(lw.i64, 0)
        with ExitStack() as stack:
            for n in range(DEEPEST_LOOPS):
                stack.enter_context(f.for_(f.a if n % 25 == 0 else 1))
            k.set(k + 1)
        f.ret(k)
    code = runner.compiled(f)
    assert [runner.call(code, n) for n in (0, 1, 2)] == [0, 1, 1024]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
def test_a_loop_in_the_condition_of_a_loop(runner: Runner) -> None:
    source = """
    function f(%n: i64) -> i64
      var %k: i64
      var %s: i64
      %k = copy.i64 0
      %s = copy.i64 0
      while
        %low = lt.i64 %k, 5
        while
          %a = rem_trunc.i64 %k, 3
          %b = ne.i64 %a, 0
        do %b
          %k = add.i64 %k, 1
        end
        %c = lt.i64 %k, %n
      do %c
        %k = add.i64 %k, 1
        %even = and.i64 %k, 1
        %odd = ne.i64 %even, 0
        br_if 0, %odd
        %s = add.i64 %s, %k
        if %low
          %s = add.i64 %s, 100
        end
      end
      ret %s
    end
    """
    f = parse(source)
    want = [Interpreter(f).call(n) for n in (-1, 0, 1, 7, 30)]
    assert len(set(want)) > 2
    for stage in [each for each in ("simplify", "select", "jumps", "encode") if each in names_of(runner.target.passes())]:
        after = compiler.run_passes(f, runner.target, stage)
        assert [Interpreter(after, runner.target).call(n) for n in (-1, 0, 1, 7, 30)] == want, stage
    code = compiler.compile(f, runner.target)
    assert [runner.call(code, n) for n in (-1, 0, 1, 7, 30)] == want
