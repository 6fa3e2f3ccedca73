"""Random functions of LLVM IR: nested loops whose variables have other names, of several types, some of which are read once the next values are made."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["random_loops"]

PAIR, VECTOR = "{ i64, i64 }", "<2 x i64>"
#: What constants there are of each type.
CONSTANTS = {
    "i64": ["0", "1", "-1", "10", "3", "123456789"],
    "i128": ["0", "1", "18446744073709551616", "-5"],
    "i32": ["0", "1", "7", "-9"],
    "i1": ["true", "false"],
    PAIR: ["zeroinitializer"],
    VECTOR: ["zeroinitializer"],
}
#: How a value of each type becomes an i64.
TAKEN = {
    "i64": "add i64 VALUE, 0",
    "i128": "trunc i128 VALUE to i64",
    "i32": "zext i32 VALUE to i64",
    "i1": "zext i1 VALUE to i64",
    PAIR: f"extractvalue {PAIR} VALUE, 0",
    VECTOR: f"extractelement {VECTOR} VALUE, i32 1",
}
#: Loops stand in each other so deeply.
DEEPEST = 3

#: The values that may be read, by type.
Known = dict[str, list[str]]


def random_loops(seed: int) -> str:
    """A module with a function ``f`` of two integers of 64 bits, which returns one. It ends, and nothing in it is undefined."""
    return _Writer(random.Random(seed)).module()


class _Writer:
    """Writes one function."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.block = ""
        self.names = 0
        self.kinds = self._kinds()

    def module(self) -> str:
        self.begin("entry")
        known: Known = {type_: [] for type_ in CONSTANTS}
        known["i64"] += ["%a", "%n"]
        for _ in range(4):
            self.instruction(known)
        self.loop(known, 1)
        self.body(known, 1, 3)
        if self.rng.random() < 0.5:
            self.loop(known, 1)
        total = "7"
        for type_, values in known.items():
            for value in values[-5:]:
                taken, product = self.made(TAKEN[type_].replace("VALUE", value)), self.made(f"mul i64 {total}, 31")
                total = self.made(f"add i64 {product}, {taken}")
        self.lines.append(f"  ret i64 {total}")
        return "\n".join(["declare i64 @llvm.expect.i64(i64, i64)", "define i64 @f(i64 %a, i64 %n) {", *self.lines, "}"])

    # --- lines --------------------------------------------------------------------------------------------------

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def label(self) -> str:
        self.names += 1
        return f"b{self.names}"

    def begin(self, block: str) -> None:
        self.lines.append(f"{block}:")
        self.block = block

    def made(self, text: str) -> str:
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def value(self, known: Known, type_: str) -> str:
        """A value of a type: rather a late one, sometimes a constant."""
        values = known[type_]
        if not values or self.rng.random() < 0.08:
            return self.rng.choice(CONSTANTS[type_])
        return values[-1 - int(self.rng.expovariate(0.25)) % len(values)]

    # --- instructions -------------------------------------------------------------------------------------------

    def _kinds(self) -> list[tuple[str, Callable[[Known], str]]]:
        """Types, and what makes a value of them: much that hands on what it reads."""
        rng = self.rng

        def v(known: Known, type_: str) -> str:
            return f"{type_} {self.value(known, type_)}"

        kinds: list[tuple[str, Callable[[Known], str]]] = [(type_, lambda k, t=type_: f"freeze {v(k, t)}") for type_ in (*CONSTANTS, "i64", "i64", "i64")]
        kinds += [
            ("i64", lambda k: f"udiv {v(k, 'i64')}, {rng.choice([10, 3, 7])}"),
            ("i64", lambda k: f"{rng.choice(['add', 'sub', 'mul', 'xor'])} {v(k, 'i64')}, {self.value(k, 'i64')}"),
            ("i64", lambda k: f"{rng.choice(['add', 'xor', 'shl'])} {v(k, 'i64')}, {rng.choice([0, 1, 3])}"),
            ("i64", lambda k: f"select {v(k, 'i1')}, {v(k, 'i64')}, {v(k, 'i64')}"),
            ("i64", lambda k: f"call i64 @llvm.expect.i64({v(k, 'i64')}, i64 1)"),
            ("i64", lambda k: f"extractvalue {v(k, PAIR)}, {rng.randrange(2)}"),
            ("i64", lambda k: f"extractelement {v(k, VECTOR)}, i32 {rng.randrange(2)}"),
            ("i64", lambda k: f"trunc {v(k, 'i128')} to i64"),
            ("i64", lambda k: f"{rng.choice(['zext', 'sext'])} {v(k, 'i32')} to i64"),
            ("i1", lambda k: f"icmp {rng.choice(['ugt', 'slt', 'eq'])} {v(k, 'i64')}, {self.value(k, 'i64')}"),
            ("i1", lambda k: f"trunc {v(k, 'i64')} to i1"),
            ("i32", lambda k: f"trunc {v(k, 'i64')} to i32"),
            ("i32", lambda k: f"add {v(k, 'i32')}, {self.value(k, 'i32')}"),
            ("i128", lambda k: f"{rng.choice(['zext', 'sext'])} {v(k, 'i64')} to i128"),
            ("i128", lambda k: f"{rng.choice(['lshr', 'shl', 'ashr'])} {v(k, 'i128')}, {rng.choice([64, 64, 0, 3])}"),
            ("i128", lambda k: f"{rng.choice(['add', 'sub', 'xor'])} {v(k, 'i128')}, {self.value(k, 'i128')}"),
            ("i128", lambda k: f"bitcast {v(k, VECTOR)} to i128"),
            (PAIR, lambda k: f"insertvalue {v(k, PAIR)}, {v(k, 'i64')}, {rng.randrange(2)}"),
            (VECTOR, lambda k: f"insertelement {v(k, VECTOR)}, {v(k, 'i64')}, i32 {rng.randrange(2)}"),
            (VECTOR, lambda k: f"shufflevector {v(k, VECTOR)}, {v(k, VECTOR)}, <2 x i32> <i32 {rng.randrange(4)}, i32 {rng.randrange(4)}>"),
            (VECTOR, lambda k: f"add {v(k, VECTOR)}, {self.value(k, VECTOR)}"),
            (VECTOR, lambda k: f"bitcast {v(k, 'i128')} to {VECTOR}"),
        ]
        return kinds

    def instruction(self, known: Known) -> None:
        type_, text = self.rng.choice(self.kinds)
        known[type_].append(self.made(text(known)))

    # --- control flow -------------------------------------------------------------------------------------------

    def body(self, known: Known, depth: int, count: int) -> None:
        for _ in range(count):
            chance = self.rng.random()
            if chance < 0.08 and depth < DEEPEST:
                self.loop(known, depth + 1)
            elif chance < 0.16:
                self.choice(known, depth)
            else:
                self.instruction(known)

    def choice(self, known: Known, depth: int) -> None:
        """Two ways, and phis where they meet."""
        first, second, behind = self.label(), self.label(), self.label()
        self.lines.append(f"  br i1 {self.value(known, 'i1')}, label %{first}, label %{second}")
        ways: list[tuple[Known, str]] = []
        for block, most in ((first, 3), (second, 2)):
            inside = _copy(known)
            self.begin(block)
            self.body(inside, depth + 1, self.rng.randrange(most))
            ways.append((inside, self.block))
            self.lines.append(f"  br label %{behind}")
        self.begin(behind)
        self.phis(known, ways, self.rng.randrange(1, 3))

    def phis(self, known: Known, ways: list[tuple[Known, str]], count: int) -> None:
        """Phis of what is known on the ways to a block."""
        made: list[tuple[str, str]] = []
        for _ in range(count):
            type_ = self.rng.choice(list(CONSTANTS))
            made.append((type_, self.made(f"phi {type_} " + ", ".join(f"[ {self.value(inside, type_)}, %{block} ]" for inside, block in ways))))
        for type_, name in made:
            known[type_].append(name)

    def loop(self, known: Known, depth: int) -> None:
        """A loop of a few steps, with variables; sometimes one that is left in the middle, too."""
        rng, before = self.rng, self.block
        header, behind = self.label(), self.label()
        self.lines.append(f"  br label %{header}")
        self.begin(header)
        place = len(self.lines)
        inside = _copy(known)
        counter, next_counter, again = self.name(), self.name(), self.name()
        variables = [(self.name(), type_, self.value(known, type_)) for type_ in rng.choices([*CONSTANTS, "i64", "i64"], k=rng.randrange(1, 5))]
        for name, type_, _ in variables:
            inside[type_].append(name)
        inside["i64"].append(counter)
        self.body(inside, depth, rng.randrange(2, 7))
        ways: list[tuple[Known, str]] = []
        if rng.random() < 0.3:
            further = self.label()
            ways.append((_copy(inside), self.block))
            self.lines.append(f"  br i1 {self.value(inside, 'i1')}, label %{behind}, label %{further}")
            self.begin(further)
        self.lines.append(f"  {next_counter} = add i64 {counter}, -1")
        self.body(inside, depth, rng.randrange(1, 5))
        self.lines.append(f"  {again} = icmp ugt i64 {counter}, 1")
        condition = again if rng.random() < 0.85 else self.made(f"and i1 {again}, {self.value(inside, 'i1')}")
        self.lines.append(f"  br i1 {condition}, label %{header}, label %{behind}")
        ways.append((inside, self.block))
        phis = [f"  {counter} = phi i64 [ {rng.randrange(1, 5)}, %{before} ], [ {next_counter}, %{self.block} ]"]
        phis += [f"  {name} = phi {type_} [ {first}, %{before} ], [ {self.value(inside, type_)}, %{self.block} ]" for name, type_, first in variables]
        self.lines[place:place] = phis
        self.begin(behind)
        # (What the first way out knows, the others know as well.)
        known.update(_copy(ways[0][0]))
        self.phis(known, ways, rng.randrange(4))


def _copy(known: Known) -> Known:
    return {type_: list(values) for type_, values in known.items()}
