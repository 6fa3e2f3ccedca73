"""Random kernels that keep what they compute in lists, tuples and dictionaries, and change them under every kind of control flow."""

from __future__ import annotations

import random

__all__ = ["program"]

HELPERS = """\
import loopwright as lw


def bump(l, v):
    l[0] += v
    return l[0]


def maybe(l, v):
    if v > 2:
        l[1] = v
    else:
        l[1] = l[0]


def swapped(t, v):
    return (t[1], t[0] + v)


def fresh(l, v):
    out = [a + v for a in l]
    out[1] = out[1] * 2
    return out


def early(l, v):
    for k in lw.range(3):
        if v > k:
            return l[0]
        l[2] += 1
    l[0] = v
    return l[1]


def wrap(l):
    for k in range(len(l)):
        l[k] = l[k] % 31 - 9


"""

#: N stands for an index, V and W for values.
STATEMENTS = [
    "acc[N] = V", "acc[N] += V", "acc[N] -= 1", "acc[-1] = V", "oth[N] = V", "b[N] = V", "acc[0], acc[N] = acc[N], acc[0]", "acc[N] = lw.max(acc[N], V)",
    "acc[:] = [V, acc[0], acc[1]]", "for z in range(3): acc[z] += oth[z]", "t = (t[1], t[0])", "t = (V, t[1])", "t = swapped(t, p)",
    "first, t = t[0], (acc[1], V); q = first", "m[0][1] += V", "m[1][0] = V", "d['a'] = V", "d['b'] += V", "q = bump(acc, V)", "maybe(oth, V)", "inner(V)",
    "wrap(acc)", "wrap(oth)", "q = early(acc, p)", "q = acc[0] + bump(acc, 1) + acc[0]", "made = [V, W]; made[0] += v; q = made[0] - made[1]",
    "copied = list(acc); copied[0] = 7; q = copied[0] + copied[2]", "made = fresh(oth, V); q = made[1]", "again = [a - o for a, o in zip(again, acc)]",
    "again = fresh(again, 1)", "q = sum(acc) - min(oth)",
]  # fmt: skip
VALUES = ["v", "p", "-3", "2", "5", "acc[N]", "oth[N]", "t[0]", "t[1]", "m[0][1]", "m[1][1]", "d['a']", "d['b']", "b[1]", "acc[N] + v", "q"]
START = """\
v = x[i]
q = 1
oth = [1, v, p]
b = oth
t = (v, 2)
m = [[0, 1], [v, p]]
d = {'a': 0, 'b': v}
again = [v, 1, 2]
def inner(z):
    acc[2] = acc[2] + z"""
RESULT = (
    "acc[0] + 3 * acc[1] + 7 * acc[2] + 11 * oth[0] + 13 * oth[1] + 17 * b[2] + 19 * t[0] + 23 * t[1] + 29 * m[0][0] + 31 * m[0][1] + 37 * m[1][0] + "
    "41 * m[1][1] + 43 * d['a'] + 47 * d['b'] + 53 * q + 59 * again[0] + again[1] - again[2]"
)


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0

    def emit(self, depth: int, text: str) -> None:
        self.lines += ["    " * depth + line for line in text.split("\n")]

    def filled(self, text: str) -> str:
        for letter in "VW":
            text = text.replace(letter, self.random.choice(VALUES))
        return text.replace("N", str(self.random.randrange(3)))

    def condition(self) -> str:
        return self.filled(self.random.choice(["V > W", "p > 1", "v > 2", "acc[N] < V", "v > 1 and V < 3"]))

    def fresh(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def body(self, depth: int, nesting: int) -> None:
        # Otherwise the numbers grow past 64 bits.
        self.emit(depth, "wrap(acc)\nwrap(oth)\nwrap(again)\nq = q % 31\nt = (t[0] % 31, t[1] % 31)")
        self.emit(depth, "m[0][1] = m[0][1] % 31\nm[1][0] = m[1][0] % 31\nd['a'] = d['a'] % 31\nd['b'] = d['b'] % 31")
        self.block(depth, nesting, True)

    def block(self, depth: int, nesting: int, loop: bool) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth, nesting, loop)

    def statement(self, depth: int, nesting: int, loop: bool) -> None:
        pick = self.random
        chance = pick.random()
        if chance < 0.5 or nesting > 2:
            self.emit(depth, self.filled(pick.choice(STATEMENTS)))
        elif chance < 0.68:
            self.emit(depth, f"if {self.condition()}:")
            self.block(depth + 1, nesting + 1, loop)
            if pick.random() < 0.5:
                self.emit(depth, "else:")
                self.block(depth + 1, nesting + 1, loop)
        elif chance < 0.8:
            over = pick.choice(["lw.range(3)", "lw.range(p)", "range(2)", "(1, 4)", "lw.range(v & 3)"])
            self.emit(depth, f"for {self.fresh()} in {over}:")
            self.body(depth + 1, nesting + 1)
        elif chance < 0.9:
            w = self.fresh()
            self.emit(depth, f"{w} = 0")
            self.emit(depth, f"while {pick.choice([f'{w} < 3', f'{w} < p', f'{w} < 3 and {self.condition()}'])}:")
            self.emit(depth + 1, f"{w} += {pick.choice(['1', '1 + (v & 1)'])}")
            self.body(depth + 1, nesting + 1)
        elif loop:
            self.emit(depth, f"if {self.condition()}:")
            self.emit(depth + 1, f"acc[1] = {pick.choice(['v', 'acc[0]', '3'])}")
            self.emit(depth + 1, pick.choice(["break", "continue"]))
        else:
            self.emit(depth, self.filled("acc[N] = V"))

    def kernel(self, name: str) -> str:
        pick = self.random
        self.emit(0, f"@lw.kernel\ndef {name}(x: lw.Array[lw.i64], y: lw.Array[lw.i64], p: lw.i64):")
        self.emit(1, f"for i in lw.{pick.choice(['lanes', 'lanes', 'range'])}(len(x)):")
        self.emit(2, START)
        self.emit(2, pick.choice(["acc = [0] * 3", "acc = [lw.i64(0) for _ in range(3)]", "acc = [v, p, 3]"]))
        for _ in range(pick.randint(2, 5)):
            self.statement(2, 0, False)
        self.emit(2, f"y[i] = {RESULT}\n\n")
        return "\n".join(self.lines) + "\n"


def program(seeds: range) -> str:
    """The source of a module with a kernel for each seed, named ``kernel0`` and so on."""
    return HELPERS + "".join(_Writer(seed).kernel(f"kernel{seed}") for seed in seeds)
