"""Random tables: what each element is made of, by branches, from those above and to the left, with totals and the place of the best, filled by rows, from the diagonal on, or by diagonals. The results are those of the loops as written."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.from_text import nest_from

ORDERS = [
    ("for i in range(1, rows):", "for j in range(1, columns):", ""),
    ("for i in range(1, rows):", "for j in range(columns - 1, 0, -1):", ""),
    ("for i in range(rows - 1, 0, -1):", "for j in range(1, columns):", ""),
    ("for i in range(1, rows):", "for j in range(i, columns):", ""),
    ("for i in range(min(rows, columns) - 1, 0, -1):", "for j in range(i, columns):", ""),
    ("for g in range(min(rows, columns) - 1):", "for i in range(1, min(rows, columns) - g):", "j = i + g"),
    ("for g in range(2, rows + columns - 1):", "for i in range(max(1, g - columns + 1), min(g, rows)):", "j = g - i"),
    ("for j in range(1, columns):", "for i in range(1, rows):", ""),
]


class Table:
    """One random table."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.lines: list[str] = []
        self.below = self.dice.random() < 0.2

    def value(self) -> str:
        dice = self.dice
        row = "i + 1 - 1" if self.below else "i - 1"
        known = ["b[i, j - 1]", f"b[{row}, j]", "b[i - 1, j - 1]", "a[i, j]", str(dice.randint(0, 3)), "x", "b[i, j]", "best", "a[i - 1, j]", "c[i, j]"]
        text = dice.choice(known)
        if dice.random() < 0.6:
            text = f"{text} {dice.choice('+-')} {dice.choice(known)}"
        return f"{dice.choice(['min', 'max'])}({text}, {dice.choice(known)})" if dice.random() < 0.3 else text

    def condition(self) -> str:
        dice = self.dice
        first = dice.choice(["a[i, j]", "x", "b[i, j - 1]", "c[i, j]", "i", "j"])
        return f"{first} {dice.choice(['<', '>', '==', '!=', '<=', '>='])} {dice.choice(['1', '2', 'a[i - 1, j]', '0'])}"

    def statement(self, margin: str, depth: int) -> None:
        dice, lines = self.dice, self.lines
        kind = dice.random()
        if kind < 0.35:
            lines.append(f"{margin}{dice.choice('bbc')}[i, j] = {self.value()}")
        elif kind < 0.5:
            lines.append(f"{margin}x = {self.value()}")
        elif kind < 0.6:
            lines.append(margin + dice.choice(["n += 1", f"best = max(best, {self.value()})", "n += a[i, j]", f"low = min(low, {self.value()})"]))
        elif kind < 0.68:
            best = dice.choice(["x", "b[i, j]", "a[i, j]"])
            lines += [f"{margin}if {best} > best:", f"{margin}    best = {best}"]
            if dice.random() < 0.5:
                lines += [f"{margin}    row = i", f"{margin}    column = j"]
        elif depth < 3:
            lines.append(f"{margin}if {self.condition()}:")
            for _ in range(dice.randint(1, 3)):
                self.statement(margin + "    ", depth + 1)
            if dice.random() < 0.5:
                lines.append(f"{margin}else:")
                for _ in range(dice.randint(1, 2)):
                    self.statement(margin + "    ", depth + 1)
        else:
            lines.append(f"{margin}x = x + 1")

    def source(self) -> str:
        dice = self.dice
        outer, inner, place = dice.choice(ORDERS)
        for _ in range(dice.randint(2, 5)):
            self.statement("            ", 0)
        head = [
            "def nest(a, b, c, d):",
            "    rows, columns = b.shape",
            "    best = low = n = a[0, 0] * 0",
            "    row = column = -1",
            f"    {outer}",
            f"        {inner}",
        ]
        head += [f"            {place}"] if place else []
        tail = [f"    d[{k}] = {name}" for k, name in enumerate(["best", "n", "row", "column", "low"])]
        return "\n".join([*head, "            x = a[i, j]", *self.lines, *tail, ""])


@pytest.mark.parametrize("seed", range(120))
def test_random_tables(seed: int) -> None:
    source = Table(seed).source()
    element = [np.int32, np.int64, np.int16, np.float32][seed % 4]
    target = "x86-64-v3" if seed % 3 == 0 else None
    compiled = nest_from(source, contract=False, target=target)
    plain = nest_from(source, contract=False, nests="off")
    for rows, columns in ((1, 1), (3, 5), (20, 37), (33, 18)):
        dice = np.random.default_rng(seed)
        given = [*[dice.integers(0, 4, (rows, columns)).astype(element) for _ in range(3)], np.zeros(5, element)]
        wanted = [each.copy() for each in given]
        with np.errstate(all="ignore"):
            plain(*wanted)
            compiled(*given)
        for got, right in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(got, right, err_msg=source)
