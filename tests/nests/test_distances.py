"""Loops whose distances are known at run time: right for every distance, and lanes where that is none or large."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

SOURCES = {
    "amounts": "for i in lw.range(s.shape[0]):\n        d = s[i]\n        for j in lw.range(200, 500):\n            a[j] = a[j] + a[j - d] * T(3)\n",
    "both": "for i in lw.range(s.shape[0]):\n        d = s[i]\n        e = s[0]\n        for j in lw.range(200, 500):\n            a[j + e] = a[j] + a[j - d]\n",
    "rows": "for i in lw.range(s.shape[0]):\n        for j in lw.range(250 + s[i], 400 - s[0] + i):\n            a[j] = max(a[j - s[i] - 1] + T(1), a[j])\n",
    "computed": "for i in lw.range(s.shape[0]):\n        left = s[i]\n        while left > 0:\n            d = left * s[i] % 70\n            for j in lw.range(499, 199, -1):\n                a[j] = max(a[j], a[j - d] + T(1))\n            left -= 9\n",
    "bytes": "for i in lw.range(s.shape[0]):\n        d = s[i]\n        for j in lw.range(200, 500):\n            a[j] = a[j - d] + T(1)\n",
}


def _kernel(name: str, element: type, **options: object) -> object:
    source = f"def nest(s, a):\n    {SOURCES[name]}"
    space: dict[str, object] = {"T": element, "max": lw.max, "lw": lw}
    exec(source, space)  # noqa: S102 (the loops above)
    function = space["nest"]
    function.__annotations__.update(dict.fromkeys("sa", lw.Array))
    return lw.kernel(source=source, **options)(function)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("name", SOURCES)
def test_every_distance(runner: Runner, name: str) -> None:
    element, step = (np.uint8, np.int32) if name == "bytes" else (np.int32, np.int64)
    written, rewritten = _kernel(name, element, nests="off"), _kernel(name, element)
    made = [np.array([d], step) for d in (-99, -64, -17, -8, -1, 0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 99)]
    rng = np.random.default_rng(1)
    steps = np.concatenate(made)
    for chosen in [steps] if runner.target.name.startswith("aarch64") else [*made, steps]:
        given = [chosen.copy(), rng.integers(0, 100, 700).astype(element)]
        wanted = [x.copy() for x in given]
        written(*wanted)

        def same(_: object, given: list[np.ndarray] = given, wanted: list[np.ndarray] = wanted) -> None:
            np.testing.assert_array_equal(given[1], wanted[1])

        runner.run(runner.compiled(rewritten, *given), given, same)


def test_the_report_says_where() -> None:
    code = _kernel("amounts", np.float32).compile(np.ones(1, np.int64), np.ones(9, np.float32), target="x86-64-v3")
    text = "lanes(j), where what is read of a was written 16 iterations before or earlier, or is written later"
    assert text in code.nests()[0].done
    assert "vfmadd" in code.asm()
    assert "ymm" in code.asm()
