"""Results without annotations: they have the type of what is returned."""

from __future__ import annotations

import numpy as np
import pytest
from tests.from_text import kernel_from

import loopwright as lw
from loopwright.errors import LoopwrightError


@pytest.mark.parametrize(
    ("body", "element", "result"),
    [
        ("for i in range(len(x)):\n    if x[i] > 9:\n        return i\nreturn -1", "float32", "i64"),
        ("s = 0.0\nfor v in x:\n    s += v\nreturn s", "float32", "f32"),
        ("return sum(x)", "int16", "i16"),
        ("return max(x)", "uint8", "u8"),
        ("return len(x)", "float64", "i64"),
        ("n = 0\nfor v in x:\n    n += 1\nreturn n", "float64", "i64"),
        ("return 2", "float64", "i64"),
        ("return 2.5", "float64", "f64"),
        ("return any(x)", "int32", "bool"),
        ("if len(x) < 3:\n    return False\nreturn x[2] > 1", "int32", "bool"),
        ("if len(x) < 3:\n    return -1\nreturn x[2]", "float32", "f32"),
        ("if len(x) < 3:\n    return x[0]\nreturn 3", "float32", "f32"),
        ("if len(x) < 3:\n    return 0\nreturn 1.5", "float32", "f64"),
        ("if len(x) < 3:\n    return 0.5\nreturn 1", "float32", "f64"),
        ("if len(x) < 3:\n    return x[0]\nreturn -1", "uint8", "i64"),
        ("if len(x) < 3:\n    return x[0]\nreturn lw.f64(x[1]) * 2", "float32", "f64"),
        ("if len(x) < 3:\n    return x[0]\nreturn len(x)", "int16", "i64"),
    ],
)
def test_results_without_annotations(body: str, element: str, result: str) -> None:
    for length in (2, 20):
        x = np.arange(length).astype(element)
        for check in (False, True):
            made, function = kernel_from("x: lw.Array", body, check=check)
            assert made(x) == function(x)
            signature = made.signature((x,), {})
            assert str(made.stage(signature).result) == result


def test_floats_of_16_bits() -> None:
    made, _ = kernel_from("x: lw.Array", "return max(x)")
    assert made(np.array([1.5, 2.5], np.float16)) == 2.5


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("if len(x) < 3:\n    return x[0]\nreturn len(x)", "the result is f32 at one `return` and i64 at this one: annotate it"),
        ("if len(x) < 3:\n    return x[0] > 1\nreturn 2", "the result is bool at one `return` and i64 at this one"),
        ("if len(x) < 3:\n    return x[0]", "returns f32, but can come to its end without `return`"),
        ("if len(x) < 3:\n    return\nreturn x[0]", "`return` without a value in a kernel that returns f32"),
        ("return x[0], x[1]", "one number, and no tuple"),
        ("return x", "`return` with a value in a kernel without a result"),
    ],
)
def test_what_has_no_type_of_its_own(body: str, message: str) -> None:
    with pytest.raises(LoopwrightError, match=message):
        kernel_from("x: lw.Array", body)[0].compile(lw.Array[lw.f32])


def test_none_is_none() -> None:
    made, function = kernel_from("x: lw.Array", "return x[0]")
    function.__annotations__["return"] = None
    with pytest.raises(LoopwrightError, match="in a kernel without a result"):
        made.compile(lw.Array[lw.f32])


@pytest.mark.parametrize(("returned", "kind"), [("x, x", "tuple"), ("'a'", "str"), ("[x]", "list")])
def test_one_number_is_returned(returned: str, kind: str) -> None:
    text = f"def k(x: lw.i64):\n    return {returned}\n"
    scope = {"lw": lw}
    exec(text, scope)  # noqa: S102 (the texts above)
    with pytest.raises(lw.KernelSyntaxError, match=f"one number, and no {kind}"):
        lw.kernel(source=text)(scope["k"])(3)
