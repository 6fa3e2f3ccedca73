"""Random expressions that mean the same in a kernel and in plain Python over NumPy scalars.

Every expression is made for a type. An element type means that it is a NumPy scalar of that type in plain Python: what is
known to be a number without a type there (a constant, the index of a loop) only meets a typed operand or is converted, because NumPy and
kernels give different types to what is made of such numbers alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.random_kernels.kinds import FLOATS, INTEGERS, KINDS, LIMITS, PAIRS, WIDTH, floats_of, integers_of, literal
from tests.random_kernels.places import Function, Place, Variable
from tests.random_kernels.tree import BOOL, INDEX, Array, Expr, Program, name

__all__ = ["Expressions"]


_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Expressions:
    """Makes expressions.

    Attributes:
        program: what they are made for.
        favourites: the types that are used most.
    """

    def __init__(self, random: random.Random, program: Program, favourites: list[str]) -> None:
        self.random = random
        self.program = program
        self.favourites = favourites

    # --- types ---------------------------------------------------------------------------------------------------

    def kind(self, among: tuple[str, ...] = KINDS) -> str:
        """One of some types, most often a favourite."""
        pick = self.random
        kind = pick.choice(self.favourites) if pick.random() < 0.75 else pick.choice(among)
        return kind if kind in among else pick.choice(among)

    def pair(self, kind: str, among: tuple[str, ...] = KINDS) -> tuple[str, str]:
        """Two types that meet at one."""
        if self.random.random() < 0.7:
            return kind, kind
        a, b = self.random.choice(PAIRS[kind])
        return (a, b) if a in among and b in among else (kind, kind)

    # --- constants -----------------------------------------------------------------------------------------------

    def number(self, kind: str) -> str:
        """A Python number that the type holds, as source."""
        pick = self.random
        if kind in FLOATS:
            if pick.random() < 0.3:
                return str(pick.randint(-20, 300))
            return literal(pick.choice(floats_of(kind)) if pick.random() < 0.6 else round(pick.uniform(-50, 50), 2))
        low, high = LIMITS[kind]
        if pick.random() < 0.5:
            return str(pick.choice(integers_of(kind)))
        return str(pick.randint(max(low, -20), min(high, 100)))

    def weak(self, kind: str) -> Expr:
        if kind == BOOL:
            return Expr(BOOL, "number", self.random.choice(["True", "False"]))
        return Expr(kind, "number", f"({text})" if (text := self.number(kind))[0] == "-" else text)

    def constant(self, kind: str) -> Expr:
        return Expr(kind, "constant", f"lw.{kind}({self.number(kind)})")

    # --- leaves --------------------------------------------------------------------------------------------------

    def leaf(self, kind: str, place: Place) -> Expr:
        if kind == BOOL:
            return self.condition(place, 2)
        pick = self.random
        chance = pick.random()
        table = self.program.table
        if table is not None and table[1] == kind and not place.local and pick.random() < 0.15:
            return self.look_up(place)
        if chance < 0.45:
            known = place.readable(kind)
            if known:
                return name(kind, pick.choice(known[-6:]).text)
        if chance < 0.8:
            loaded = self.load(kind, place)
            if loaded is not None:
                return loaded
        known = place.readable(kind)
        if known and pick.random() < 0.6:
            return name(kind, pick.choice(known).text)
        started = place.readable(kind, weak=True)
        if started and pick.random() < 0.8:
            return self._started(kind, place, pick.choice(started))
        if chance < 0.9:
            other = self._other(kind, place)
            if other is not None:
                return other
        return self.constant(kind)

    def _other(self, kind: str, place: Place) -> Expr | None:
        """A variable or element of another type, converted."""
        pick = self.random
        for source in pick.sample(KINDS, 4):
            if source in FLOATS and kind not in FLOATS:
                continue
            known = place.readable(source)
            value = name(source, pick.choice(known).text) if known and pick.random() < 0.7 else self.load(source, place)
            if value is not None:
                return Expr(kind, f"convert {source}", f"lw.{kind}(", value, ")")
        return None

    def _started(self, kind: str, place: Place, variable: Variable) -> Expr:
        """A variable that started as a Python number: it meets something typed."""
        pick = self.random
        other = name(kind, pick.choice(known).text) if (known := place.readable(kind)) else self.constant(kind)
        operands = [Expr(kind, "started", variable.text), other]
        pick.shuffle(operands)
        op = pick.choice("+-*" if kind in FLOATS else "+-*&|^")
        return Expr(kind, op, "(", operands[0], f" {op} ", operands[1], ")")

    def look_up(self, place: Place) -> Expr:
        """An element of the constant table, which not all lanes have in common."""
        pick = self.random
        assert self.program.table is not None
        text, kind, count = self.program.table
        source = pick.choice(("u8", "u8", "u16", "i32", "i64"))
        index = Expr(INDEX, "index", "lw.i64(", self.leaf(source, place), ")")
        within = [f" % {count}", *([" & 15"] if count >= 16 else [])]
        end = "" if source == "u8" and count >= 256 and pick.random() < 0.6 else pick.choice(within)
        return Expr(kind, "look up", f"{text}[", index, f"{end}]")

    # --- elements ------------------------------------------------------------------------------------------------

    def load(self, kind: str, place: Place) -> Expr | None:
        """An element of an array of the type, or None where there is none to reach."""
        if place.local:
            return None
        pick = self.random
        lately = [element for element in place.elements if element[0].kind == kind]
        if lately and pick.random() < 0.5:
            array, index = pick.choice(lately[-4:])
            return Expr(kind, "load", f"{array.text}[{index}]")
        found = [a for a in self.program.arrays() if a.kind == kind]
        pick.shuffle(found)
        for array in found:
            element = self.element(array, place, False)
            if element is not None:
                return element
        return None

    def element(self, array: Array, place: Place, store: bool) -> Expr | None:
        """``array[…]``, to be read or stored to, or None where no valid index is known."""
        pick = self.random
        last = self._along(array, place, store)
        if last is None:
            return None
        steady = last.op == "steady"
        parts: list[str | Expr] = [last]
        if array.rank == 2:
            row = self.row(place)
            if row is None:
                return None
            steady = steady and row.op == "steady"
            parts = [row, ", ", last]
        made = Expr(array.kind, "load", f"{array.text}[", *parts, "]")
        if steady and (store or pick.random() < 0.5):
            place.elements.append((array, str(made)[len(array.text) + 1 : -1]))
        return made

    def _along(self, array: Array, place: Place, store: bool) -> Expr | None:
        pick = self.random
        lanes = place.lanes
        shared = self.program.shared
        if shared is not None and array.text in shared and (lanes is None or not lanes.shared):
            return None
        if lanes is None:
            return self.place_index(place)
        if array.text in lanes.hidden:
            return None
        if array.text in lanes.written:
            return self._offset(lanes.text, lanes.written[array.text])
        if store:
            return None
        if shared is not None and array.text in shared:
            return self._offset(lanes.text, 0)
        if pick.random() < 0.15:
            return self.place_index(place)
        return self._offset(lanes.text, pick.choice([0, 0, pick.randint(-lanes.low, lanes.high)]))

    def _offset(self, index: str, offset: int) -> Expr:
        if not offset:
            return Expr(INDEX, "steady", index)
        return Expr(INDEX, "steady", f"{index} + {offset}" if offset > 0 else f"{index} - {-offset}")

    def place_index(self, place: Place) -> Expr | None:
        """A valid index that is the same for all lanes; its ``op`` is "steady" if it stays valid."""
        pick = self.random
        if place.indices and (not place.filled or pick.random() < 0.75):
            return Expr(INDEX, "steady", str(pick.choice(place.indices[-3:])))
        if not place.filled:
            return None
        chance = pick.random()
        if chance < 0.2:
            return Expr(INDEX, "steady", pick.choice(["0", "n - 1"]))
        if chance < 0.4 or place.lanes is not None:
            return Expr(INDEX, "index", "(", self.index(place, uniform=True), ") % n")
        if chance < 0.6:
            return Expr(INDEX, "index", "lw.min(", self.index(place, uniform=True), ", n - 1)")
        kind = self.kind(("u8", "i8", "u16", "i16", "u32", "i32", "i64"))
        value = self.leaf(kind, place)
        if chance < 0.8:
            return Expr(INDEX, "index", "lw.i64(", value, ") % n")
        return Expr(INDEX, "index", f"({'lw.max' if pick.random() < 0.3 else 'lw.min'}(", value, f", lw.{kind}(5)) & 15) % n")

    def row(self, place: Place) -> Expr | None:
        """A valid first index of an array of two dimensions."""
        pick = self.random
        if place.rows and pick.random() < 0.8:
            return Expr(INDEX, "steady", str(pick.choice(place.rows[-3:])))
        if place.has_rows:
            if pick.random() < 0.5:
                return Expr(INDEX, "steady", pick.choice(["0", "rows - 1"]))
            return Expr(INDEX, "index", "(", self.index(place, uniform=True), ") % rows")
        return Expr(INDEX, "steady", str(pick.choice(place.rows))) if place.rows else None

    # --- indices -------------------------------------------------------------------------------------------------

    def index(self, place: Place, uniform: bool = False, depth: int = 0) -> Expr:
        """Arithmetic on indices: never negative, at most some thousands."""
        pick = self.random
        known = place.uniform() if uniform else [v for v in place.readable(INDEX) if not v.raw]
        if not known:
            return Expr(INDEX, "number", str(pick.randint(0, 9)))
        leaf = name(INDEX, pick.choice(known[-4:]).text)
        chance = pick.random()
        if depth or chance < 0.4:
            return leaf
        if chance < 0.55:
            return Expr(INDEX, "+", "(", leaf, f" + {pick.randint(1, 9)})")
        if chance < 0.65:
            return Expr(INDEX, "*", "(", leaf, f" * {pick.randint(2, 5)} + {pick.randint(0, 3)})")
        if chance < 0.75:
            return Expr(INDEX, "%", "(", leaf, f" % {pick.randint(1, 7)})")
        if chance < 0.82:
            return Expr(INDEX, "//", "(", leaf, f" // {pick.randint(1, 4)})")
        if chance < 0.9:
            return Expr(INDEX, "&", "(", leaf, f" & {pick.choice([1, 2, 3, 7, 12])})")
        function = pick.choice(["min", "max"])
        return Expr(INDEX, function, f"lw.{function}(", leaf, ", ", self.index(place, uniform, 1), ")")

    # --- conditions ----------------------------------------------------------------------------------------------

    def condition(self, place: Place, depth: int = 0, test: bool = False) -> Expr:
        """A condition. ``test``: of an if or while, where a number may stand for itself."""
        pick = self.random
        chance = pick.random()
        if depth < 2:
            if chance < 0.1:
                word = pick.choice(["and", "or"])
                return Expr(BOOL, word, "(", self.condition(place, depth + 1, test), f" {word} ", self.condition(place, depth + 1, test), ")")
            if chance < 0.14:
                return Expr(BOOL, "not", "(not ", self.condition(place, depth + 1, test), ")")
            if chance < 0.19:
                sign = pick.choice("&|^")
                return Expr(BOOL, f"{sign} of conditions", "(", self.condition(place, depth + 1), f" {sign} ", self.condition(place, depth + 1), ")")
            if chance < 0.22:
                inner = self.comparison(place, depth + 1)
                return Expr(BOOL, "~ of a condition", "(~", inner, ")", typed=True)
            if chance < 0.25:
                parts = self.condition(place, depth + 1), self.condition(place, depth + 1), self.condition(place, depth + 1)
                return Expr(BOOL, "conditional", "(", parts[0], " if ", parts[1], " else ", parts[2], ")")
            if chance < 0.27:
                parts = self.condition(place, depth + 1), self.condition(place, depth + 1), self.condition(place, depth + 1)
                return Expr(BOOL, "select", "lw.select(", parts[0], ", ", parts[1], ", ", parts[2], ")")
        if chance < 0.37:
            known = place.readable(BOOL)
            if known:
                return name(BOOL, pick.choice(known).text)
        if 0.37 < chance < 0.39:
            loaded = self.load(BOOL, place)
            if loaded is not None:
                return loaded
        if chance < 0.42:
            called = self.call(BOOL, place, depth)
            if called is not None:
                return called
        if chance < 0.6 and [v for v in place.readable(INDEX)]:
            return self.index_condition(place)
        if chance < 0.65 and test:
            kind = self.kind()
            return Expr(BOOL, "number as condition", self.leaf(kind, place))
        return self.comparison(place, depth)

    def comparison(self, place: Place, depth: int) -> Expr:
        pick = self.random
        a = self.kind()
        b = a
        if pick.random() < 0.25:
            b = self.kind()
        left = self.typed(a, place, depth + 2)
        right = self.weak(a) if b == a and pick.random() < 0.35 else self.typed(b, place, depth + 2)
        sign = pick.choice(_COMPARISONS)
        if pick.random() < 0.15:
            third = self.weak(b) if right.op != "number" and pick.random() < 0.5 else self.typed(a, place, depth + 2)
            return Expr(BOOL, "chained comparison", "(", left, f" {sign} ", right, f" {pick.choice(_COMPARISONS)} ", third, ")")
        return Expr(BOOL, f"{sign} {a} {b}" if a != b else f"{sign} {a}", "(", left, f" {sign} ", right, ")", typed=True)

    def index_condition(self, place: Place) -> Expr:
        pick = self.random
        raw = [v for v in place.readable(INDEX) if v.raw]
        if raw and pick.random() < 0.3:
            return Expr(BOOL, "index comparison", f"({pick.choice(raw).text} {pick.choice(_COMPARISONS)} {pick.randint(0, 3)})")
        sign = pick.choice(_COMPARISONS)
        chance = pick.random()
        if chance < 0.2:
            # With a number: the index of a loop is an i64, what starts as a Python number would take the number's type.
            loops = [v for v in place.readable(INDEX) if v.text[0] in "inr"]
            kind = self.kind(INTEGERS)
            if loops:
                return Expr(BOOL, "index comparison", "(", self.leaf(kind, place), f" {sign} {pick.choice(loops).text})")
        left = self.index(place)
        right = self.index(place) if chance < 0.5 else Expr(INDEX, "number", str(pick.randint(0, 6)))
        return Expr(BOOL, "index comparison", "(", left, f" {sign} ", right, ")")

    # --- calls ---------------------------------------------------------------------------------------------------

    def call(self, kind: str, place: Place, depth: int) -> Expr | None:
        """A call of one of the kernel's own functions with a result of a kind."""
        known = place.callable(kind)
        if not known:
            return None
        function = self.random.choice(known)
        arguments = self.arguments(function, place, depth)
        return Expr(kind, "call", f"{function.text}(", *arguments, ")") if arguments is not None else None

    def arguments(self, function: Function, place: Place, depth: int) -> list[str | Expr] | None:
        parts: list[str | Expr] = []
        if function.array:
            shared = self.program.shared or ()
            arrays = [a for a in self.program.arrays() if a.kind == function.array and a.rank == 1 and a.text not in shared]
            index = self.place_index(place)
            if index is None or not arrays or place.local:
                return None
            array = self.random.choice(arrays)
            array.written = array.written or not function.result
            parts = [array.text, ", ", index]
        for kind in function.kinds:
            if parts:
                parts.append(", ")
            parts.append(self.condition(place, depth + 2) if kind == BOOL else self.typed(kind, place, depth + 2))
        return parts

    # --- expressions of a type --------------------------------------------------------------------------------------

    def typed(self, kind: str, place: Place, depth: int = 0) -> Expr:
        """An expression whose value has an element type."""
        pick = self.random
        if kind == BOOL:
            return self.condition(place, depth)
        if depth > 3 or pick.random() < 0.2 + 0.15 * depth:
            return self.leaf(kind, place)
        table = _FLOATING if kind in FLOATS else _WHOLE
        for _ in range(4):
            made = pick.choices(*table)[0](self, kind, place, depth + 1)
            if made is not None:
                return made
        return self.leaf(kind, place)

    def _arithmetic(self, kind: str, place: Place, depth: int) -> Expr:
        return self._two(self.random.choice("++-**"), kind, place, depth)

    def _two(self, op: str, kind: str, place: Place, depth: int, among: tuple[str, ...] = KINDS) -> Expr:
        """A binary operation; one operand may be a Python number."""
        chance = self.random.random()
        left: Expr
        if chance < 0.25:
            left, right = self.typed(kind, place, depth), self.weak(kind)
            if chance < 0.07:
                left, right = right, left
        else:
            a, b = self.pair(kind, among)
            left, right = self.typed(a, place, depth), self.typed(b, place, depth)
        return Expr(kind, op, "(", left, f" {op} ", right, ")")

    def _divide(self, kind: str, place: Place, depth: int) -> Expr | None:
        """``/``, which of integers is in f64."""
        if kind == "f64" and self.random.random() < 0.4:
            a, b = self.kind(INTEGERS), self.kind(INTEGERS)
            right = self.weak(a) if self.random.random() < 0.2 else self.typed(b, place, depth)
            return Expr(kind, "/ of integers", "(", self.typed(a, place, depth), " / ", right, ")")
        return self._two("/", kind, place, depth)

    def _floor_divide(self, kind: str, place: Place, depth: int) -> Expr:
        return self._two(self.random.choice(["//", "%"]), kind, place, depth, INTEGERS)

    def _bitwise(self, kind: str, place: Place, depth: int) -> Expr:
        return self._two(self.random.choice("&|^"), kind, place, depth, INTEGERS)

    def _shift(self, kind: str, place: Place, depth: int) -> Expr:
        pick = self.random
        op = pick.choice(["<<", ">>"])
        bits = WIDTH[kind]
        chance = pick.random()
        if chance < 0.5:
            count = Expr(kind, "number", str(pick.choice([0, 1, 2, 3, bits // 2, bits - 1, bits, bits + 1, pick.randrange(bits)])))
            return Expr(kind, op, "(", self.typed(kind, place, depth), f" {op} ", count, ")")
        if chance < 0.75:
            counts = self.typed(kind, place, depth)
            return Expr(kind, op, "(", self.typed(kind, place, depth), f" {op} (", counts, f" & {pick.choice([bits - 1, 2 * bits - 1, 3])}))")
        if chance < 0.8:
            return Expr(kind, op, "(", self.weak(kind), f" {op} ", self.typed(kind, place, depth), ")")
        a, b = self.pair(kind, INTEGERS)
        return Expr(kind, op, "(", self.typed(a, place, depth), f" {op} ", self.typed(b, place, depth), ")")

    def _unary(self, kind: str, place: Place, depth: int) -> Expr:
        op = self.random.choice("-+" if kind in FLOATS else "-~~+-")
        return Expr(kind, f"unary {op}", f"({op}", self.typed(kind, place, depth), ")")

    def _absolute(self, kind: str, place: Place, depth: int) -> Expr:
        return Expr(kind, "abs", self.random.choice(["lw.abs(", "abs("]), self.typed(kind, place, depth), ")")

    def _extreme(self, kind: str, place: Place, depth: int) -> Expr:
        pick = self.random
        function = pick.choice(["min", "max"])
        a, b = self.pair(kind)
        parts: list[str | Expr] = [self.typed(a, place, depth), ", ", self.typed(b, place, depth)]
        if pick.random() < 0.2:
            parts += [", ", self.typed(kind, place, depth)]
        if pick.random() < 0.15:
            # Python's own name for it; of operands of one type, since Python returns one of them.
            parts = [self.typed(kind, place, depth), ", ", self.typed(kind, place, depth)]
            return Expr(kind, function, f"{function}(", *parts, ")")
        return Expr(kind, function, f"lw.{function}(", *parts, ")")

    def _select(self, kind: str, place: Place, depth: int) -> Expr:
        a, b = self.pair(kind)
        return Expr(kind, "select", "lw.select(", self.condition(place, depth), ", ", self.typed(a, place, depth), ", ", self.typed(b, place, depth), ")")

    def _conditional(self, kind: str, place: Place, depth: int) -> Expr:
        pick = self.random
        a, b = self.typed(kind, place, depth), self.typed(kind, place, depth)
        condition = self.condition(place, depth)
        if pick.random() < 0.2:
            # One side a Python number: it has the other's type in a kernel, and none in plain Python until it is converted.
            sides = [a, self.weak(kind)]
            pick.shuffle(sides)
            return Expr(kind, "conditional", f"lw.{kind}(", sides[0], " if ", condition, " else ", sides[1], ")")
        return Expr(kind, "conditional", "(", a, " if ", condition, " else ", b, ")")

    def _convert(self, kind: str, place: Place, depth: int) -> Expr | None:
        pick = self.random
        chance = pick.random()
        if chance < 0.12:
            return Expr(kind, "convert bool", f"lw.{kind}(", self.condition(place, depth), ")")
        if chance < 0.25 and place.readable(INDEX):
            return self.from_index(kind, place)
        source = self.kind()
        value = self.typed(source, place, depth)
        if source in FLOATS and kind not in FLOATS and pick.random() < 0.6:
            # Mostly in range: what is out of it is always an end of it.
            low, high = max(LIMITS[kind][0], -1000), min(LIMITS[kind][1], 1000)
            return Expr(kind, f"convert {source}", f"lw.{kind}(lw.max({low}.0, lw.min({high}.0, ", value, ")))")
        return Expr(kind, f"convert {source}", f"lw.{kind}(", value, ")")

    def from_index(self, kind: str, place: Place) -> Expr | None:
        """An index as a number of the type."""
        raw = [v for v in place.readable(INDEX) if v.raw]
        if raw and self.random.random() < 0.4:
            return Expr(kind, "convert index", f"lw.{kind}({self.random.choice(raw).text})")
        if place.lanes is not None and kind in FLOATS and self.random.random() < 0.5:
            return None
        return Expr(kind, "convert index", f"lw.{kind}(", self.index(place), " & 63)")

    def _bitcast(self, kind: str, place: Place, depth: int) -> Expr | None:
        others = [k for k in KINDS if WIDTH[k] == WIDTH[kind] and k != kind]
        source = self.random.choice(others)
        if source not in FLOATS:
            return Expr(kind, f"bitcast {source}", f"lw.bitcast(lw.{kind}, ", self.typed(source, place, depth), ")")
        # Which NaN an operation gives is not defined.
        value = self.leaf(source, place)
        if source == "f64":
            number = Expr(source, "select", "lw.select(", value, " == ", value, ", ", value, ", lw.f64(0.5))")
        else:
            number = Expr(source, "conditional", "(", value, " if ", value, " == ", value, f" else lw.{source}(0.5))")
        return Expr(kind, f"bitcast {source}", f"lw.bitcast(lw.{kind}, ", number, ")")

    def _towards_zero(self, kind: str, place: Place, depth: int) -> Expr:
        function = self.random.choice(["div_trunc", "rem_trunc"])
        a, b = self.pair(kind, INTEGERS)
        return Expr(kind, function, f"lw.{function}(", self.typed(a, place, depth), ", ", self.typed(b, place, depth), ")")

    def _power(self, kind: str, place: Place, depth: int) -> Expr | None:
        pick = self.random
        if kind not in FLOATS:
            return Expr(kind, "**", "(", self.typed(kind, place, depth), f" ** {pick.randint(0, 7)})")
        # Python's power of floats is not correctly rounded: whole numbers whose powers are exact.
        value = self.exact(kind, place)
        return Expr(kind, "**", "(", value, f" ** {pick.randint(0, 2)})") if value is not None else None

    def _call(self, kind: str, place: Place, depth: int) -> Expr | None:
        return self.call(kind, place, depth)

    def _checksum(self, kind: str, place: Place, depth: int) -> Expr | None:
        if kind != "u32" or place.lanes is not None or place.local:
            return None
        data = self.random.choice(["u8", "u32", "u64"])
        return Expr(kind, f"crc32c {data}", "lw.crc32c(", self.typed("u32", place, depth), ", ", self.typed(data, place, depth), ")")

    def _rounding(self, kind: str, place: Place, depth: int) -> Expr:
        function = self.random.choice(["floor", "ceil", "trunc", "round"])
        return Expr(kind, function, f"lw.{function}(", self.typed(kind, place, depth), ")")

    def _root(self, kind: str, place: Place, depth: int) -> Expr | None:
        if kind == "f64" and self.random.random() < 0.4:
            source = self.kind(INTEGERS)
            return Expr(kind, f"sqrt {source}", "lw.sqrt(", self.typed(source, place, depth), ")")
        return Expr(kind, "sqrt", "lw.sqrt(", self.typed(kind, place, depth), ")")

    def _multiply_add(self, kind: str, place: Place, depth: int) -> Expr:
        a, b = self.pair(kind, FLOATS)
        return Expr(kind, "fma", "lw.fma(", self.typed(a, place, depth), ", ", self.typed(b, place, depth), ", ", self.typed(kind, place, depth), ")")

    # --- what sums are made of --------------------------------------------------------------------------------------

    def exact(self, kind: str, place: Place) -> Expr | None:
        """A float that is a small whole number, so that sums of some thousands are the same in any order."""
        source = self.random.choice(["u8", "i8", "u8", "i8", "u16", "i16"] if kind == "f64" else ["u8", "i8"])
        if kind == "f16":
            # (It holds whole numbers up to 2048.)
            return Expr(kind, f"convert {source}", f"lw.{kind}(", self.typed(source, place, 2), " & 1)")
        return Expr(kind, f"convert {source}", f"lw.{kind}(", self.typed(source, place, 2), ")")


_Maker = Callable[[Expressions, str, Place, int], Expr | None]


def _table(*rows: tuple[_Maker, float]) -> tuple[list[_Maker], list[float]]:
    return [maker for maker, _ in rows], [weight for _, weight in rows]


_COMMON = (
    (Expressions._arithmetic, 9),
    (Expressions._unary, 2.5),
    (Expressions._absolute, 1),
    (Expressions._extreme, 2),
    (Expressions._select, 1.5),
    (Expressions._conditional, 2.5),
    (Expressions._convert, 4),
    (Expressions._bitcast, 1),
    (Expressions._power, 0.7),
    (Expressions._call, 2),
    (Expressions._rounding, 0.2),
)
_WHOLE = _table(
    *_COMMON,
    (Expressions._floor_divide, 2.5),
    (Expressions._bitwise, 4),
    (Expressions._shift, 3),
    (Expressions._towards_zero, 1),
    (Expressions._checksum, 1),
)
_FLOATING = _table(*_COMMON, (Expressions._divide, 3), (Expressions._rounding, 2), (Expressions._root, 1.5), (Expressions._multiply_add, 2))
