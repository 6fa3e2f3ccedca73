"""Products of 64-bit lanes by one multiplication of their lower halves."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

#: Forms of a result, and how many of their products need no more than lower halves.
FORMS = {
    "(x[i] * 40503 + y[i]) & 65535": 1,
    "(x[i] * y[i] ^ x[i] * 3) & 4294967295": 2,
    "(x[i] * y[i]) & 4294967296": 0,
    "((x[i] * 40503) >> 20) & 4095": 1,
    "((x[i] * 40503) >> 21) & 4095": 0,
    "(x[i] * y[i]) << 32": 1,
    "(x[i] * y[i]) << 31": 0,
    "(x[i] & 4294967295) * (y[i] & 65535)": 1,
    "(x[i] & 4294967295) * (y[i] & 4294967296)": 0,
    "(x[i] & 65535) * -3": 0,
    "lw.i64(u[i]) * lw.i64(u[i])": 1,
    "lw.i64(s[i]) * lw.i64(s[i])": 0,
    "lw.i32(x[i] * y[i] + 7)": 1,
    "((x[i] * y[i]) * x[i]) & 255": 2,
    "(x[i] * y[i] if x[i] * 3 > y[i] else 5) & 255": 1,
    "x[i] * y[i]": 0,
}


def _kernel(form: str, loop: str = "lw.lanes", **options: object) -> lw.Kernel:
    source = f"def made(x, y, u, s, z):\n    for i in {loop}(z.shape[0]):\n        z[i] = {form}\n"
    space: dict[str, object] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the forms above)
    function = space["made"]
    function.__annotations__.update(dict.fromkeys("xyusz", lw.Array))  # type: ignore[attr-defined]
    return lw.kernel(source=source, **options)(function)  # type: ignore[call-overload, no-any-return]


def _given(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(count)
    wide = [rng.integers(-(1 << 63), (1 << 63) - 1, count) for _ in range(2)]
    return [*wide, rng.integers(0, 1 << 32, count).astype(np.uint32), rng.integers(-(1 << 31), 1 << 31, count).astype(np.int32), np.zeros(count, np.int64)]


@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
@pytest.mark.parametrize("form", FORMS)
def test_results(runner: Runner, form: str) -> None:
    given = _given(61)
    wanted = [each.copy() for each in given]
    _kernel(form, "range", nests="off")(*wanted)
    runner.leaves(runner.compiled(_kernel(form), *given), given, wanted)


@pytest.mark.parametrize("form", FORMS)
def test_which_they_are(form: str) -> None:
    text = _kernel(form).compile(*_given(61), target="x86-64-v4").ir("vectorize")
    loop = text[text.index("mask") :].split("\n  end")[0]
    assert loop.count("= mul_lower.") == FORMS[form], loop
