"""Lanes rotated by a constant: by half of a lane, which is an instruction of its own for each width, and by any other count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

ARM = runners(lambda runner: runner.folder == "aarch64")
SOURCE = """
def turned(x, y):
    for i in lw.lanes(x.shape[0]):
        y[i] = lw.rotate_left(x[i], COUNT)
"""


@pytest.mark.parametrize("runner", ARM)
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_every_count(bits: int, runner: Runner) -> None:
    dtype = np.dtype(f"u{bits // 8}")
    x = np.random.default_rng(bits).integers(0, 1 << bits, 37, dtype)
    of = lw.Array[getattr(lw, f"u{bits}")]
    for count in sorted({0, 1, bits // 4, bits // 2 - 1, bits // 2, bits // 2 + 1, bits - 1}):
        space: dict[str, Any] = {"lw": lw}
        source = SOURCE.replace("COUNT", str(count))
        exec(source, space)  # noqa: S102 (the source above)
        function = space["turned"]
        function.__annotations__.update(x=of, y=of)
        wanted = x << dtype.type(count) | x >> dtype.type(bits - count) if count else x

        def check(_: object, y: Any, wanted: Any = wanted) -> None:
            assert np.array_equal(y, wanted)

        y = np.zeros_like(x)
        runner.run(runner.compiled(lw.kernel(source=source)(function), of, of), [x, y], lambda result, y=y, check=check: check(result, y))
