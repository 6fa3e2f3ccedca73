"""Random kernels: nested loops, conditions, breaks, helper functions over integers small enough not to wrap."""

from __future__ import annotations

import random

__all__ = ["program"]

HELPERS = """\
import loopwright as lw


def wrap(v):
    return v % 97 - 40


def h1(a, b):
    if a < b:
        return a - b
    if a > 20:
        return b
    return a + b


def h2(a, b):
    for k in lw.range(3):
        if a > k * 3:
            b = b + a
        else:
            b = b - 1
    return b % 31


def h3(a, b):
    t = 0
    for c in (1, 2):
        if b > c:
            t = t + a
    return lw.select(a > b, t, b)

"""


class _Writer:
    def __init__(self, seed: int, lanes: bool) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = ["a", "b", "c", "p"]
        self.count = 0
        self.lanes = lanes

    def emit(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def expression(self, depth: int = 0) -> str:
        pick = self.random
        chance = pick.random()
        if depth > 2 or chance < 0.35:
            return pick.choice(self.names)
        if chance < 0.5:
            return str(pick.randint(-9, 9))
        a, b = self.expression(depth + 1), self.expression(depth + 1)
        if chance < 0.56:
            return f"({a} if {self.condition(depth + 1)} else {b})"
        if chance < 0.62:
            return f"lw.{pick.choice(['min', 'max'])}({a}, {b})"
        if chance < 0.66:
            return f"h{pick.randint(1, 3)}({a}, {b})"
        if chance < 0.74:
            return f"({a} {pick.choice(['//', '%'])} {pick.choice([3, -4, 7])})"
        return f"({a} {pick.choice('+-*')} {b})"

    def condition(self, depth: int = 0) -> str:
        pick = self.random
        chance = pick.random()
        if depth < 2 and chance < 0.2:
            return f"({self.condition(depth + 1)} {pick.choice(['and', 'or'])} {self.condition(depth + 1)})"
        if depth < 2 and chance < 0.27:
            return f"(not {self.condition(depth + 1)})"
        if chance < 0.32:
            return f"{self.expression(depth + 1)} < {pick.choice(self.names)} <= {self.expression(depth + 1)}"
        return f"{pick.choice(self.names)} {pick.choice(['<', '>', '<=', '>=', '==', '!='])} {self.expression(depth + 1)}"

    def block(self, indent: int, depth: int, loop: bool, most: int = 4) -> None:
        for _ in range(self.random.randint(1, most)):
            self.statement(indent, depth, loop)

    def assign(self, indent: int) -> None:
        pick = self.random
        a, b = pick.sample(["a", "b", "c"], 2)
        chance = pick.random()
        if chance < 0.1:
            self.emit(indent, f"{a}, {b} = {b}, {a}")
        elif chance < 0.2:
            self.emit(indent, f"{a} = {pick.choice(self.names)}")
        else:
            self.emit(indent, f"{a} = wrap({self.expression()})")

    def inside(self, name: str, indent: int, depth: int, most: int = 4) -> None:
        self.names.append(name)
        self.block(indent, depth, True, most)
        self.names.remove(name)

    def statement(self, indent: int, depth: int, loop: bool) -> None:
        pick = self.random
        chance = pick.random()
        if depth > 3 or chance < 0.45:
            self.assign(indent)
        elif chance < 0.65:
            self.emit(indent, f"if {self.condition()}:")
            self.block(indent + 1, depth + 1, loop, 3)
            if pick.random() < 0.3:
                self.emit(indent, f"elif {self.condition()}:")
                self.block(indent + 1, depth + 1, loop, 2)
            if pick.random() < 0.5:
                self.emit(indent, "else:")
                self.block(indent + 1, depth + 1, loop, 2)
        elif chance < 0.75:
            i = self.fresh("i")
            bounds = [f"{pick.randint(0, 4)}", f"{pick.randint(2, 5)}, 0, -{pick.randint(1, 2)}", f"lw.min(lw.max({pick.choice(self.names)}, 0), 4)"]
            self.emit(indent, f"for {i} in lw.range({pick.choice(bounds)}):")
            self.inside(i, indent + 1, depth + 1)
        elif chance < 0.82:
            c = self.fresh("c")
            self.emit(indent, f"for {c} in (1, 5, 2):")
            self.inside(c, indent + 1, depth + 1, 3)
        elif chance < 0.9:
            w = self.fresh("w")
            self.emit(indent, f"{w} = 0")
            conditions = [
                f"{w} < 4 and {self.condition()}",
                f"{w} < lw.max(2, {pick.choice(self.names)} % 3)",
                f"{self.condition()} and {w} < 3",
                f"{w} < 4",
                "True",
            ]
            self.emit(indent, f"while {pick.choice(conditions)}:")
            # Known while compiling for a step or more, and then perhaps no longer.
            self.emit(
                indent + 1,
                f"{w} += {pick.choice(['1', '1', f'1 + ({pick.choice(self.names)} & 1)', f'(1 if {w} < 2 else 1 + ({pick.choice(self.names)} & 1))'])}",
            )
            self.emit(indent + 1, f"if {w} > 5: break")
            self.inside(w, indent + 1, depth + 1)
        elif loop and chance < 0.97:
            self.emit(indent, f"if {self.condition()}:")
            if pick.random() < 0.4:
                self.assign(indent + 1)
            self.emit(indent + 1, pick.choice(["break", "continue"]))
        else:
            self.assign(indent)

    def text(self) -> str:
        pick = self.random
        result = "a * 10000 + b * 100 + c"
        start = [pick.choice(["b = 3", "b = y[i]" if self.lanes else "b = y"]), pick.choice(["c = 0", "c = p"])]
        self.emit(0, "")
        self.emit(0, "@lw.kernel")
        if self.lanes:
            self.emit(0, "def kernel(x: lw.Array[lw.i64], y: lw.Array[lw.i64], p: lw.i64):")
            self.emit(1, "for i in lw.lanes(len(x)):")
        else:
            self.emit(0, "def kernel(x: lw.i64, y: lw.i64, p: lw.i64) -> lw.i64:")
        indent = 2 if self.lanes else 1
        for line in ("a = x[i]" if self.lanes else "a = x", *start):
            self.emit(indent, line)
        self.block(indent, 0, False, 7)
        self.emit(indent, f"y[i] = {result}" if self.lanes else f"return {result}")
        return HELPERS + "\n".join(self.lines) + "\n"


def program(seed: int, lanes: bool) -> str:
    """The source of a module with a kernel named ``kernel``: over two arrays by lane, or over two numbers."""
    return _Writer(seed, lanes).text()
