"""Long arms that no lane may need: passed over where none does, with results as written; so that elementary functions in plain loops have lanes."""

from __future__ import annotations

import linecache
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

FUNCTIONS = [
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "cbrt",
    "erf",
    "erfc",
    "gelu",
    "sigmoid",
    "softplus",
    "tgamma",
    "lgamma",
    "pow",
    "atan2",
    "hypot",
]


def of_function(name: str, element: str, loop: str) -> Any:
    call = f"lw.{name}(a[i], b[i])" if name in ("pow", "atan2", "hypot") else f"lw.{name}(a[i])"
    array = f"lw.Array[lw.{element}]"
    text = f"@lw.kernel\ndef k(a: {array}, b: {array}, o: {array}):\n    for i in {loop}(len(a)):\n        o[i] = {call}\n"
    file = f"<skipped {name} {element} {loop}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"lw": lw}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 (the text above)
    return scope["k"]


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64-neon"])
def test_elementary_functions_in_plain_loops_have_lanes(target: str, element: str) -> None:
    for name in FUNCTIONS if target == "x86-64-v3" else ("sin", "pow", "asinh", "lgamma", "log2"):
        report = str(of_function(name, element, "lw.range").compile(target=target).nests())
        assert "lanes(i)" in report, name


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan", "pow", "log2", "asinh"])
def test_results_are_those_of_loops_over_lanes(name: str, element: str) -> None:
    r = np.random.default_rng(6)
    dtype = np.float32 if element == "f32" else np.float64
    a = np.concatenate([[0, -0.0, np.inf, -np.inf, np.nan], r.standard_normal(150), r.standard_normal(60) * 1e6, r.standard_normal(17) * 1e25]).astype(dtype)
    b = r.standard_normal(len(a)).astype(dtype)
    found, wanted = np.zeros_like(a), np.zeros_like(a)
    of_function(name, element, "lw.range")(a, b, found)
    of_function(name, element, "lw.lanes")(a, b, wanted)
    np.testing.assert_array_equal(found, wanted)


LONG = "".join(f"            s = s * {k % 5 + 2} + (s >> {k % 3 + 1})\n" for k in range(16))
FORMS = {
    "written": f"        s = x[i]\n        if s > 90:\n{LONG}        y[i] = s\n",
    "stored": f"        s = x[i]\n        if s > 90:\n{LONG}            y[i] = s\n",
    "added": f"        s = x[i]\n        if s > 90:\n{LONG}            t += s\n",
    "within another": f"        s = x[i]\n        if s > 50:\n            y[i] = 3\n            if s > 90:\n{LONG.replace('    s =', '        s =')}                y[i] = s\n",
    "the same for all": f"        s = x[i]\n        if n > 3:\n{LONG}        y[i] = s\n",
    "improved": "        s = x[i]\n        if s < y[i]:\n            y[i] = s\n            x[i] = 5\n",
    "one improved": "        s = x[i]\n        if s < y[i]:\n            y[i] = s\n",
    "with another arm": f"        s = x[i]\n        if s > 90:\n{LONG}        else:\n            s -= 1\n        y[i] = s\n",
}


@cache
def of_form(name: str, loop: str, **settings: Any) -> Any:
    text = (
        f"def k(x: lw.Array[lw.i32], y: lw.Array[lw.i32], n: lw.i64) -> lw.i32:\n    t = lw.i32(0)\n    for i in {loop}(len(x)):\n{FORMS[name]}    return t\n"
    )
    scope: dict[str, Any] = {"lw": lw}
    exec(text, scope)  # noqa: S102 (the texts above)
    return lw.kernel(source=text, **settings)(scope["k"])


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("loop", ["lw.lanes", "lw.range"])
def test_as_written(loop: str, name: str, runner: Runner) -> None:
    kernel = of_form(name, loop)
    for most, n in ((60, 3), (95, 4), (200, 5)):
        x = np.random.default_rng(most).integers(0, most, 77, dtype=np.int32)
        found, wanted = np.full_like(x, 7), np.full_like(x, 7)
        given = x.copy()
        total = of_form(name, "lw.range", nests="off")(given, wanted, n)

        def same(result: Any, x: Any = x, found: Any = found, given: Any = given, wanted: Any = wanted, total: Any = total) -> None:
            assert result == total
            np.testing.assert_array_equal(x, given)
            np.testing.assert_array_equal(found, wanted)

        runner.run(runner.compiled(kernel), [x, found, n], same)


@pytest.mark.parametrize("name", FORMS)
def test_a_test_is_in_front_of_the_arm(name: str) -> None:
    code = of_form(name, "lw.lanes").compile(target="x86-64-v4").ir("vectorize")
    assert ("any.mask" in code) == (name not in ("the same for all", "one improved", "with another arm"))
