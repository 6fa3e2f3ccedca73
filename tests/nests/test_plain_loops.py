"""Plain loops of many kinds: what the code does is what the loops as written do, on every machine whose nests are rewritten.

Bit for bit, where products and sums are rounded each; with totals in another order, as ``fastmath`` has it, up to rounding.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.plain_loops import PLAIN, Plain, arguments, kernel
from tests.machines import Runner, runners


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("plain", PLAIN, ids=[plain.name for plain in PLAIN])
@pytest.mark.parametrize("fastmath", [False, True])
def test_as_written(runner: Runner, plain: Plain, fastmath: bool) -> None:
    written = kernel(plain, nests="off", contract=False)
    rewritten = kernel(plain, contract=False, fastmath=fastmath)
    for size in (3, 21):
        given = arguments(plain, size)
        wanted = [a.copy() for a in given]
        written(*wanted)

        def same(_: object, given: list[np.ndarray] = given, wanted: list[np.ndarray] = wanted) -> None:
            for a, b in zip(given, wanted, strict=True):
                if fastmath and a.dtype.kind == "f":
                    np.testing.assert_allclose(a, b, rtol=1e-4 if a.dtype == np.float32 else 1e-9, atol=1e-5 if a.dtype == np.float32 else 1e-12)
                else:
                    np.testing.assert_array_equal(a, b)

        runner.run(runner.compiled(rewritten, *given), given, same)
