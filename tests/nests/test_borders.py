"""Loops that treat what is near their borders in another way: results as written, for loops of any length, and lanes in between."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from
from tests.machines import Runner, runners
from tests.nests.test_flattened import kernel_of

#: Lines of a loop over ``j`` below ``n``, and whether it has lanes.
BODIES = {
    "inside or 0": ("s = x[0] * 0|for d in range(-2, 3):|    if j + d >= 0 and j + d < n:|        s += x[j + d] * (d + 3)|y[j] = s", True),
    "kept inside": (
        "s = x[0] * 0|for d in range(-2, 3):|    c = j + d|    if c < 0:|        c = 0|    if c >= n:|        c = n - 1|    s += x[c] * (d + 3)|y[j] = s",
        True,
    ),
    "least and greatest": ("y[j] = x[min(j + 2, n - 1)] - x[max(j - 1, 0)] * 3", True),
    "both at once": ("y[j] = x[min(max(j - 3, 0), n - 1)] + x[max(min(j + 3, n - 1), 0)]", True),
    "mirrored": ("a = abs(j - 2)|b = j + 1 if j + 1 < n else 2 * n - 2 - j|y[j] = x[b] + j", True),
    "one of two": ("if j == 0:|    c = n - 1|else:|    c = j - 1|y[j] = x[c]", True),
    "first and last": ("if j == 0 or j == n - 1:|    y[j] = x[j]|else:|    y[j] = x[j - 1] + x[j + 1]", True),
    "three at the end": ("if j < n - 3 and j > 1:|    y[j] = x[j + 2]|elif j != n - 1:|    y[j] = x[j] + 1", True),
    "far from the border": ("if j > 40 and j < 50:|    y[j] = x[j] + 1|if j == 60:|    y[j] = 0", True),
    "in steps": ("s = x[0] * 0|for d in range(-1, 2):|    c = 2 * j + d|    if c >= 0 and c < n:|        s += x[c] * (d + 3)|y[j] = s", True),
    "a window in steps": ("s = x[0] * 0|for c in range(max(3 * j - 1, 0), min(3 * j + 2, n)):|    s += x[c]|y[j] = s", False),
    "not linear": ("y[j] = x[min(j * j, n - 1)] + x[max(j % 3, 1)]", False),
    "carried": ("c = j - 1|if c < 0:|    c = n - 1|x[j] = x[j] + x[c]", False),
    "read behind": ("c = j|if j > n - 3:|    c = 0|y[j] = x[c]|if c == 0:|    y[j] = y[j] + c + 1", True),
}
SIZES = (1, 2, 3, 4, 5, 6, 17, 70)


def body_of(name: str) -> str:
    return "for j in range(n):|" + "|".join(f"    {line}" for line in BODIES[name][0].split("|"))


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("name", BODIES)
def test_as_written(name: str, runner: Runner) -> None:
    fast, plain = kernel_of(body_of(name)), kernel_of(body_of(name), nests="off")
    for n in SIZES:
        r = np.random.default_rng(n)
        given = [r.integers(-50, 50, n + 90, dtype=np.int32) for _ in range(2)]
        wanted = [a.copy() for a in given]
        plain(*wanted, n, 1)

        def same(_: Any, given: Any = given, wanted: Any = wanted, n: int = n) -> None:
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=f"{name}, {n}")

        runner.run(runner.compiled(fast), [*given, n, 1], same)


@pytest.mark.parametrize("name", BODIES)
def test_which_have_lanes(name: str) -> None:
    report = str(kernel_of(body_of(name)).compile(target="x86-64-v3").nests())
    assert ("lanes(j)" in report) == BODIES[name][1]


def test_loops_over_borders_stay_as_they_are() -> None:
    code = kernel_of(body_of("inside or 0")).compile(target="x86-64-v3").ir("nests")
    # As written where it is short, or where arrays overlap; otherwise the beginning, the middle, the end.
    assert code.count(" lanes") == 1 and code.count("= for ") <= 7


def random_body(chooser: random.Random) -> str:
    rows = chooser.random() < 0.5
    lines = ["for i in range(n):", "    for j in range(m):"] if rows else ["for j in range(n):"]
    inner = "        " if rows else "    "
    end, i = ("m", "i * m + ") if rows else ("n", "")
    terms: list[str] = []
    for k in range(chooser.randint(1, 3)):
        d = chooser.randint(-3, 3)
        kind = chooser.randrange(6)
        if kind == 0:
            place = f"min(max(j + {d}, 0), {end} - 1)"
        elif kind == 1:
            place = f"(j + {d}) % {end}"
        elif kind == 2:
            lines += [f"{inner}c{k} = j + {d}", f"{inner}if c{k} < 0:", f"{inner}    c{k} = {chooser.choice(['0', f'{end} - 1', f'0 - c{k}'])}"]
            lines += [f"{inner}if c{k} > {end} - 1:", f"{inner}    c{k} = {end} - 1", f"{inner}if c{k} < 0:", f"{inner}    c{k} = 0"]
            place = f"c{k}"
        elif kind == 3:
            place = f"(j + {d} if j + {d} >= 0 and j + {d} < {end} else {end} - 1)"
        elif kind == 4:
            lines += [
                f"{inner}if j {chooser.choice(['<', '<=', '>', '>=', '==', '!='])} {chooser.choice([abs(d), f'{end} - {abs(d)}'])}:",
                f"{inner}    y[{i}j] = {k}",
            ]
            place = "j"
        else:
            place = "j"
        terms.append(f"x[{i}{place}] * {chooser.randint(1, 4)}")
    lines.append(f"{inner}{chooser.choice(['y', 'y', 'x'])}[{i}j] {chooser.choice(['=', '+='])} {' + '.join(terms)}")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(50))
def test_random_borders(seed: int) -> None:
    body = random_body(random.Random(seed))
    fast, plain = kernel_of(body), kernel_of(body, nests="off")
    for n, m in ((1, 1), (2, 3), (5, 4), (7, 40)):
        r = np.random.default_rng(seed)
        found = [r.integers(-9, 9, n * m + 30, dtype=np.int32) for _ in range(2)]
        wanted = [a.copy() for a in found]
        plain(*wanted, n, m)
        fast(*found, n, m)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"{body}\n{n} x {m}")


@pytest.mark.parametrize("index", ["min(j + 1, n - 1)", "min(n - 1, j + 1)", "max(j - 1, 0)", "max(0, j - 1)", "(j - 1) % n", "(j - n + 1) % n"])
def test_the_element_beyond_the_border_has_a_loop_of_its_own(index: str) -> None:
    code = kernel_of(f"for j in range(n):|    y[j] = x[{index}]").compile(target="x86-64-v3")
    assert len(code.nests()) == 2 and "lanes(j)" in str(code.nests())


@pytest.mark.parametrize(
    ("end", "index", "same"), [(64, "(j + 63) % 64", "(j - 1) % 64"), (50, "(j + 45) % 50", "(j - 5) % 50"), (40, "(j + 44) % 40", "(j + 4) % 40")]
)
def test_lengths_that_are_known_are_taken_away_from_indices(end: int, index: str, same: str) -> None:
    reports = [str(kernel_of(f"for j in lw.range({end}):|    y[j] = x[{place}]").compile(target="x86-64-v3").nests()) for place in (index, same)]
    assert reports[0] == reports[1] and "lanes(j)" in reports[0]


@pytest.mark.parametrize("shift", [1, 2, 3, 5])
@pytest.mark.parametrize("loop", ["while i < n and a[(i + {}) % n] > 5:|    i += 1", "while i < n:|    if a[(i + {}) % n] == 5:|        break|    i += 1"])
def test_wrapped_indices_of_loops_that_are_left(loop: str, shift: int) -> None:
    body = loop.format(shift).replace("|", "\n    ")
    source = f"def nest(a, b):\n    n = a.shape[0]\n    i = 0\n    {body}\n    b[0] = i\n"
    kernel, plain = nest_from(source), nest_from(source, nests="off")
    for n in (*range(1, 40), 100):
        for seed in range(4):
            a = np.random.default_rng(seed * 100 + n).integers(0, 9 if seed < 3 else 500, n).astype(np.uint16)
            found, wanted = np.zeros(1, np.int64), np.zeros(1, np.int64)
            kernel(a, found)
            plain(a, wanted)
            assert found[0] == wanted[0]
