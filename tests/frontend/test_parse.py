"""IR text that becomes a function again."""

from __future__ import annotations

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


@pytest.mark.parametrize("stage", ["collect", "nests", "addresses", "simplify", "immediates", "elif"])
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
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, error: type[lw.LoopwrightError], place: str) -> None:
    with pytest.raises(error, match=place):
        lw.parse(text)
