"""IR text that becomes a function again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw

SUM = """
function sum(%a: i64, %b: i64) -> i64
  %2 = add.i64 %a, %b
  ret %2
end
"""


@lw.kernel
def total(x: lw.Array[lw.f32]) -> lw.f32:
    s = 0.0
    for i in lw.lanes(len(x)):
        s += x[i]
    return s


def test_text_compiles() -> None:
    assert lw.parse(SUM).compile()(3, 4) == 7


@pytest.mark.parametrize("stage", ["collect", "unroll", "addresses", "simplify", "immediates", "elif"])
def test_the_text_of_a_stage_is_compiled_on_from_there(stage: str) -> None:
    code = total.compile(lw.Array[lw.f32])
    again = lw.parse(code.ir(stage)).compile(target=code.target.name)
    assert again(np.ones(101, np.float32)) == 101


@pytest.mark.parametrize(
    ("text", "error", "place"),
    [
        (SUM.replace("add.", "addd."), lw.ParseError, "<ir>:3: column 8"),
        (SUM.replace("ret %2", "ret %3"), lw.ParseError, "<ir>:4: column 7"),
        (SUM.replace("  ret %2\n", ""), lw.VerifyError, "without a return"),
        ("", lw.ParseError, "<ir>:1"),
        ("\x00", lw.ParseError, "<ir>:1"),
        (None, lw.ArgumentError, "takes the text as a string, not NoneType"),
        (b"function f()\nend", lw.ArgumentError, "takes the text as a string, not bytes: decode it first"),
        ("function f()\n  stage allocate\n  physical\n  frame size 0 outgoing 0 align 8\nend", lw.VerifyError, "f is past the pass allocate"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: Any, error: type[lw.LoopwrightError], place: str) -> None:
    with pytest.raises(error, match=place):
        lw.parse(text)


def test_a_name_for_the_text_is_a_string_too() -> None:
    with pytest.raises(lw.ArgumentError, match="takes the file as a string, not int"):
        lw.parse(SUM, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stage", "other", "error", "message"),
    [
        ("select", "rv64gc", lw.TargetError, "lowered for x86-64-v3: it cannot be compiled on for rv64gc"),
        ("immediates", "rv64gc", None, ""),
        ("liveness", "x86-64-v3", None, ""),
    ],
)
def test_a_function_is_compiled_on_for_the_target_it_was_lowered_for(stage: str, other: str, error: Any, message: str) -> None:
    f = lw.parse(lw.parse(SUM).compile(target="x86-64-v3", keep=True).ir(stage))
    if error is None:
        assert "ret" in f.compile(target=other).asm()
        return
    with pytest.raises(error, match=message):
        f.compile(target=other)


LOWERED = """
function f(%a: ptr, %b: i64) -> i64
  stage select
  target x86-64-v3
  block
  INSTRUCTION
  end
  ret %2
end
"""


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ("%2 = add.i64 %b, 4294967296", "%2 = add.i64 %b, 4096", "the constant operand 1 needs a register"),
        ("%2 = load_at.i64 [%a + 4294967296]", "%2 = load_at.i64 [%a + 4096]", "the address has to be computed"),
        ("%2 = load_at.i64 [%a + %b*3]", "%2 = load_at.i64 [%a + %b*8]", "the address has to be computed"),
        ("%2 = copy.i64 1\n  br_gt.i64 0, 5, %b", "%2 = copy.i64 1\n  br_lt.i64 0, %b, 1099511627776", "the constant operand 0 needs a register"),
    ],
)
def test_what_a_lowered_text_says_must_fit_the_machine(wrong: str, right: str, message: str) -> None:
    with pytest.raises(lw.VerifyError, match=f"on x86-64-v3 {message}"):
        lw.parse(LOWERED.replace("INSTRUCTION", wrong)).compile(target="x86-64-v3")
    assert "ret" in lw.parse(LOWERED.replace("INSTRUCTION", right)).compile(target="x86-64-v3").asm()


def test_before_lowering_what_does_not_fit_the_machine_is_made_to_fit() -> None:
    text = lw.parse(SUM).compile(target="x86-64-v3", keep=True).ir("elif")
    f = lw.parse(text.replace("add.i64 %a, %b", "add.i64 %a, 4294967296"))
    assert f.compile(target="x86-64-v3")(3, 4) == 3 + (1 << 32)
