"""What loops over lanes have stored or loaded is not loaded again, also behind branches: results as written, and that it is done."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners
from tests.nests.test_lanes import kernel

#: Bodies of a loop over ``i``, and how many loads of ``a`` are left of those that are written.
BODIES = {
    "stored and loaded": ("a[i] = b[i] * 2\nc[i] = a[i] + 1", 0),
    "behind a branch that stores nothing": ("a[i] = b[i] * 2\ns = b[i]\nif b[i] > 4:\n    s = s * 3\nc[i] = a[i] + s", 0),
    "behind a branch that stores elsewhere": ("a[i] = b[i] * 2\nif b[i] > 4:\n    d[i] = 3\nc[i] = a[i]", 0),
    "behind a branch that stores there": ("a[i] = b[i] * 2\nif b[i] > 4:\n    a[i] = 3\nc[i] = a[i]", 0),
    "loaded in one arm": ("s = b[i]\nif b[i] > 4:\n    s = s + a[i]\nc[i] = s\nd[i] = a[i]", 2),
    "loaded in front of a branch": ("s = a[i]\nif b[i] > 4:\n    s = s + a[i] * 2\nd[i] = s", 1),
    "loaded in one arm beside what is stored": (
        "c[2 * i] = b[i]\ns = b[i] * 2\nif b[i] > 4:\n    s = s + c[2 * i + 1] * 3\nelse:\n    s = b[i] - 1\nd[i] = c[2 * i + 1] + s",
        0,
    ),
    "stored in one arm, loaded in the other": ("s = b[i]\nif b[i] > 4:\n    a[i] = s\nelse:\n    s = a[i]\nc[i] = s + a[i]", 2),
}


def source(name: str) -> str:
    body = "".join(f"        {line}\n" for line in BODIES[name][0].split("\n"))
    return f"def nest(a, b, c, d):\n    for i in range(a.shape[0]):\n{body}"


def given(n: int, dtype: type) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [rng.integers(0, 9, size).astype(dtype) for size in (n, n, 2 * n, n)]


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize("name", BODIES)
def test_results(runner: Runner, name: str) -> None:
    for dtype in (np.float32, np.int64, np.uint8):
        for n in (1, 17, 40):
            arrays, wanted = given(n, dtype), given(n, dtype)
            kernel(source(name), nests="off")(*wanted)
            code = runner.compiled(kernel(source(name)), *arrays)
            runner.run(
                code, arrays, lambda _, arrays=arrays, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(arrays, wanted, strict=True)]
            )


@pytest.mark.parametrize("name", BODIES)
def test_what_is_known_is_not_loaded(name: str) -> None:
    text = kernel(source(name)).compile(*given(40, np.float32), keep=True, target="x86-64-v4").ir("nests")
    fast = text[text.index(" lanes") :].split("\n  else")[0]
    assert fast.count("load.f32 a#") == BODIES[name][1]
