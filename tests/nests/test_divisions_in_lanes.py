"""Plain loops that divide by what is known at run time only: lanes of up to 32 bits, and floats, with the results of one number after the other, zeros and extremes too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from

BODIES = {
    "by elements": "c[i] = a[i] {} b[i]",
    "by one number": "c[i] = a[i] {} b[0]",
    "both": "c[i] = (a[i] // b[i]) ^ (a[i] % b[i])",
    "where a condition holds": "if b[i] > 3:|            c[i] = a[i] {} b[i]",
    "a total": "c[0] = c[0] + a[i] {} b[i]",
}
INTEGERS = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32]


def given(element: Any, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    if np.dtype(element).kind == "f":
        a = np.concatenate([rng.normal(0, 100, n), [0.0, -0.0, 1e30, -1e30, np.inf, -np.inf, np.nan, 5.5]])[-n:]
        b = np.concatenate([rng.normal(0, 3, n), [1.0, -2.0, 1e-30, 0.25, 2.0, np.inf, 1.0, np.nan]])[-n:]
        return [a.astype(element), b.astype(element), np.zeros(n, element)]
    info = np.iinfo(element)
    edges = np.array([info.min, info.max, 0, 1, info.max - 1, info.min + 1], element)
    a = np.concatenate([rng.integers(info.min, info.max, n, endpoint=True, dtype=element), edges, edges[::-1], edges])[-n:]
    b = np.concatenate([rng.integers(info.min, info.max, n, endpoint=True, dtype=element) >> 2, edges, edges, np.full(6, -1).astype(element)])[-n:]
    return [a, b, np.zeros(n, element)]


def nest(body: str, op: str, **options: Any) -> Any:
    text = BODIES[body].format(op).replace("|", "\n")
    return nest_from(f"def nest(a, b, c):\n    for i in range(a.shape[0]):\n        {text}\n", contract=False, **options)


def in_lanes(kernel: Any, *arrays: Any) -> bool:
    return any("lanes(i)" in step for part in kernel.compile(*arrays, keep=True).nests().nests for step in part.done)


@pytest.mark.parametrize("element", [*INTEGERS, np.float32, np.float64])
@pytest.mark.parametrize("op", ["//", "%"])
@pytest.mark.parametrize("body", BODIES)
def test_as_the_loop_as_written(body: str, op: str, element: Any) -> None:
    floats = np.dtype(element).kind == "f"
    if floats and body in ("both", "a total"):
        return
    kernel, plain = nest(body, op), nest(body, op, nests="off")
    for n in (1, 3, 8, 17, 40, 64, 130, 300):
        wanted, found = given(element, n), given(element, n)
        plain(*wanted)
        kernel(*found)
        np.testing.assert_array_equal(found[2], wanted[2])
        if floats:
            assert np.signbit(found[2][~np.isnan(found[2])]).tolist() == np.signbit(wanted[2][~np.isnan(wanted[2])]).tolist()
    if body != "a total":
        assert in_lanes(kernel, *given(element, 100))
