"""Random plain loops with branches: lists of what a condition holds for, records changed in place, arrays gone along in two ways. Whatever becomes of them, the results are those of the loops as written."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.from_text import nest_from

SIZES = (0, 1, 2, 17, 40, 257, 600)


def expression(dice: random.Random, names: list[str], depth: int) -> str:
    if depth == 0 or dice.random() < 0.25:
        return dice.choice([*names, str(dice.randint(1, 4))])
    a, b = expression(dice, names, depth - 1), expression(dice, names, depth - 1)
    return f"lw.{dice.choice(['min', 'max'])}({a}, {b})" if dice.random() < 0.15 else f"({a} {dice.choice('+-*+-')} {b})"


def condition(dice: random.Random, names: list[str]) -> str:
    parts = [f"{expression(dice, names, 1)} {dice.choice(['<', '>', '<=', '>=', '==', '!='])} {expression(dice, names, 1)}"]
    while dice.random() < 0.35 and len(parts) < 4:
        parts.append(f"{expression(dice, names, 1)} {dice.choice('<>')} {expression(dice, names, 1)}")
    text = parts[0]
    for part in parts[1:]:
        text = f"({text}) {dice.choice(['and', 'or'])} ({part})"
    return text


def listed(dice: random.Random) -> list[str]:
    """Arithmetic, and under a condition what has to stay in order."""
    lines: list[str] = []
    names: list[str] = []
    for n, load in enumerate(dice.sample(["a[i]", "b[i]", "a[i + 1]", "b[n - 1 - i]", "w[i, 0]", "w[i, 1]", "w[i, 2]"], dice.randint(2, 4))):
        lines.append(f"x{n} = {load}")
        names.append(f"x{n}")
    for n in range(dice.randint(2, 5)):
        lines.append(f"y{n} = {expression(dice, names, 3)}")
        if dice.random() < 0.3:
            lines += [f"if y{n} > {dice.randint(0, 20)}:", f"    y{n} = {expression(dice, names, 1)}"]
        names.append(f"y{n}")
    lines.append(f"if {condition(dice, names)}:")
    for _ in range(dice.randint(1, 3)):
        value = dice.choice(names)
        done = [
            f"t[k[i]] += {expression(dice, names, 1)}", f"t[k[i] + 1] = {expression(dice, names, 1)}", f"c[i] = {expression(dice, names, 1)}", f"t[0] = t[0] + {value}",
            "m += 1", f"c[m] = {value}; m += 1", f"s = s + {value}", f"v[i, {dice.randint(0, 2)}] -= {value}", f"last = {value}",
        ]  # fmt: skip
        lines += [f"    {line}" for line in dice.choice(done).split("; ")]
    if dice.random() < 0.15:
        lines.append("s = s + last")
    return lines


def records(dice: random.Random) -> list[str]:
    """Elements of a row changed, some under conditions."""
    elements = [f"v[i, {n}]" for n in range(dice.randint(2, 8))]
    lines = []
    for element in elements:
        if dice.random() < 0.9:
            lines.append(dice.choice([f"{element} += 1", f"{element} = {element} - a[i]", f"z = {element}", f"c[i] = {element}"]))
    for _ in range(dice.randint(1, 4)):
        lines.append(f"if {condition(dice, elements)}:")
        lines += [f"    {dice.choice(elements)} = {expression(dice, [*elements, 'a[i]'], 1)}" for _ in range(dice.randint(1, 2))]
        if dice.random() < 0.4:
            lines += ["else:", f"    {dice.choice(elements)} = {dice.choice(elements)} - 1"]
    return lines


def two_ways(dice: random.Random) -> list[str]:
    places = ["a[i]", "a[n - 1 - i]", "c[i]", "c[n - 1 - i]", "a[i + n // 2]", "b[i]"]
    return [f"{dice.choice(places[:4])} = {dice.choice(places)} {dice.choice('+-')} {dice.choice(places)}" for _ in range(dice.randint(1, 3))]


def handed_on(dice: random.Random) -> list[str]:
    """Work that hangs on the element alone, a state that hangs on the one before, work that hangs on the state."""
    lines = [f"x0 = {dice.choice(['a[i] * 2', 'b[i] - a[i]', 'w[i, 1] + 1'])}"]
    names = ["x0", "a[i]"]
    for n in range(1, dice.randint(1, 5)):
        lines.append(f"x{n} = {expression(dice, names, 2)}")
        names.append(f"x{n}")
    value = dice.choice(names)
    lines += dice.choice(
        [
            [f"s = lw.max(s - 1, {value}) + x0"],
            [f"if {value} > s:", "    s = s + 1", "else:", f"    s = s - {dice.choice(names)}"],
            [f"if {value} > s:", "    s = x0", f"last = last - s + {value}", "if last > 9:", "    last = s"],
            [f"s = {value} - s", "last = lw.min(last + s, x0)"],
        ]
    )
    names.append("s")
    for n in range(dice.randint(1, 4)):
        lines.append(f"z{n} = {expression(dice, names, 2)}")
        names.append(f"z{n}")
    lines.append(f"c[i] = {names[-1]}")
    if dice.random() < 0.3:
        lines.append(f"b[i] = {dice.choice(names)} + 1")
    return lines


def moved(dice: random.Random) -> list[str]:
    """A counter that moves on by the same everywhere, elements looked up with their neighbours, indices that are divided, what the last iteration leaves."""
    by = dice.randint(1, 2)
    near = [
        "t[k[i]]",
        "t[k[i] + 1]",
        "w[k[i] % 4 // 2, k[i] % 2]",
        "w[k[i] // 4, k[i] % 2 + 1]",
        f"a[(i * {dice.randint(1, 2)}) // 3]",
        f"b[(i + {dice.randint(0, 9)}) % 5 % n]",
        "a[i]",
    ]
    value = f"{dice.choice(near)} {dice.choice('+-')} {dice.choice(near)}"
    other = f"{dice.choice(near)} {dice.choice('+-')} b[i]"
    lines = [f"m += {by}"] if dice.random() < 0.4 else []
    if dice.random() < 0.5:
        lines += [f"if {dice.choice(near)} > 1:", f"    c[m + {dice.randint(0, 1)}] = {value}", "    m += 1", "else:", "    m += 1", f"    c[m] = {other}"]
    else:
        lines += [f"c[m] = {value}", "m += 1"]
    if dice.random() < 0.5:
        lines.append(f"last = {other}")
    if dice.random() < 0.3:
        lines += [f"v[0, {dice.randint(0, 7)}] = {value}", f"b[i] = v[0, {dice.randint(0, 7)}] + 1"]
    return lines


@pytest.mark.parametrize("seed", range(100))
def test_random_loops(seed: int) -> None:
    dice = random.Random(seed)
    make = (listed, records, two_ways, handed_on, moved)[seed % 5]
    bound = dice.choice(["n // 2", "(n + 1) // 2", "n // 3", "n - n // 2"] if make is two_ways else ["n - 1", "n - 1", "n // 2"])
    body = "".join(f"            {line}\n" for line in make(dice))
    source = f"def nest(a, b, c, k, t, w, v):\n    n = a.shape[0]\n    m = lw.i64(0)\n    s = t[0]\n    last = t[1]\n    if n > 1:\n        for i in range({bound}):\n{body}    t[2] += s + last + m\n"
    dtype: Any = dice.choice([np.float64, np.float32, np.int32, np.int64])
    fast, plain = nest_from(source), nest_from(source, nests="off")
    for n in SIZES:
        rng = np.random.default_rng(seed + n)
        given: list[np.ndarray] = [
            rng.integers(-3, 4, n).astype(dtype), rng.integers(-3, 4, n).astype(dtype), np.zeros(3 * n + 4, dtype), rng.integers(0, 8, n),
            rng.integers(0, 3, 12).astype(dtype), rng.integers(-3, 4, (n, 3)).astype(dtype), rng.integers(-3, 4, (n, 8)).astype(dtype),
        ]  # fmt: skip
        wanted, found = [x.copy() for x in given], [x.copy() for x in given]
        plain(*wanted)
        fast(*found)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"{n}\n{source}")
