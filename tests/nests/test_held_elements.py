"""Records that are changed in place under conditions, in lanes: the same results, and nothing else stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from
from tests.machines import Runner, runners

DONE = "held in variables"


#: Bodies of a loop over the rows of ``a``, which have four elements; ``b`` has two.
ROWS = {
    "bounced": "a[i, 0] += a[i, 2]\nif a[i, 0] < 0:\n    a[i, 0] = -a[i, 0]\n    a[i, 2] = -a[i, 2]\nif a[i, 0] > 20:\n    a[i, 0] = 40 - a[i, 0]\n    a[i, 2] = a[i, 3] - a[i, 2]\na[i, 1] += a[i, 3]",
    "sorted": "for j in range(3):\n    for k in range(3 - j):\n        if a[i, k] > a[i, k + 1]:\n            t = a[i, k]\n            a[i, k] = a[i, k + 1]\n            a[i, k + 1] = t",
    "one or the other": "x = a[i, 0] * 2 - a[i, 1]\ny = a[i, 3]\nif x > a[i, 2]:\n    a[i, 0] = x\nelif x < a[i, 3]:\n    a[i, 1] = x + 1\nelse:\n    a[i, 2] = a[i, 3] - x",
    "stored first": "b[i, 0] = a[i, 3]\nb[i, 1] = a[i, 0]\nif a[i, 1] > 3:\n    b[i, 0] = b[i, 1] - a[i, 2]\nif a[i, 2] > b[i, 0]:\n    b[i, 1] = b[i, 0]",
}
KEPT = {
    "not in every iteration": "if a[i, 1] > 3:\n    a[i, 2] = a[i, 3] + 1\n    a[i, 0] = 2",
    "it goes on": "if a[i, 1] > a[i + 1, 0]:\n    a[i, 1] = a[i, 0] - 1\na[i, 0] += 1",
    "looked up": "k = lw.i64(a[i, 0]) & 1\nif a[i, 1] > 3:\n    a[i, k] = a[i, 1] + a[i, 0]",
}


def source_of(body: str) -> str:
    return "def nest(a, b):\n    for i in range(a.shape[0] - 1):\n" + "".join(f"        {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.int16])
@pytest.mark.parametrize("name", [*ROWS, *KEPT])
def test_results_and_what_is_done(name: str, dtype: Any) -> None:
    source = source_of({**ROWS, **KEPT}[name])
    fast, plain = nest_from(source), nest_from(source, nests="off")
    for n in (1, 2, 5, 17, 40, 131):
        # Rows next to each other, with room between, and backwards.
        for where in (np.s_[:, :4], np.s_[:, 1:5], np.s_[::-1, :4]):
            given = [
                np.random.default_rng(n).integers(-9, 30, (n, 4 if where[0].step is None and where[1].start is None else 6)).astype(dtype) for _ in range(2)
            ]
            wanted, found = [x.copy() for x in given], [x.copy() for x in given]
            plain(wanted[0][where], wanted[1][:, :2])
            fast(found[0][where], found[1][:, :2])
            np.testing.assert_array_equal(found[0], wanted[0], err_msg=f"{n}")
            np.testing.assert_array_equal(found[1], wanted[1], err_msg=f"{n}")
    if dtype in (np.float32, np.int32):
        text = str(fast.compile(*[x[:, :4] for x in given], target="x86-64-v4").nests())
        assert (DONE in text) == (name in ROWS), text


def test_one_array_that_is_another() -> None:
    source = source_of(ROWS["stored first"])
    fast, plain = nest_from(source), nest_from(source, nests="off")
    for shift in (0, 1, 2, 3, 4, 9):
        results = []
        for made in (plain, fast):
            memory = np.random.default_rng(0).integers(-9, 30, 400).astype(np.float32)
            made(memory[:200].reshape(50, 4), memory[shift : shift + 100].reshape(50, 2))
            results.append(memory)
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_every_machine(runner: Runner) -> None:
    for name in ("bounced", "sorted"):
        source = source_of(ROWS[name])
        given = [np.random.default_rng(0).integers(-9, 30, (40, columns)).astype(np.float32) for columns in (4, 2)]
        wanted = [x.copy() for x in given]
        nest_from(source, nests="off")(*wanted)
        code = runner.compiled(nest_from(source), *given)
        runner.run(code, given, lambda _, given=given, wanted=wanted: [np.testing.assert_array_equal(*pair) for pair in zip(given, wanted, strict=True)])
