"""What lanes do besides computing, each in its lane: they are packed, dealt out, added up along the way, look elsewhere, store elsewhere, leave, and have bits in memory."""

from __future__ import annotations

from tests.random_kernels.kinds import INTEGERS
from tests.random_kernels.loops import LanesLoops
from tests.random_kernels.places import Lanes, Place, Variable
from tests.random_kernels.statements import Statements
from tests.random_kernels.tree import BOOL, INDEX, Array, Clause, Expr, Stmt

__all__ = ["Movement"]

_STEPS = 41
#: What indices of elements elsewhere are made of: never negative.
_PLACES = ("u8", "u8", "u16", "u32")


class Movement:
    """Makes loops over lanes, and statements in them, that move elements."""

    def __init__(self, statements: Statements, loops: LanesLoops) -> None:
        self.s = statements
        self.e = statements.e
        self.random = statements.random
        self.program = statements.program
        self.loops = loops
        statements.more += [
            (self.packed, 2.5),
            (self.dealt, 0.8),
            (self.running, 1.2),
            (self.left, 1.5),
            (self.gather, 3),
            (self.backwards, 1.5),
            (self.apart, 1.5),
            (self.scatter, 1.2),
            (self.bit_read, 1.5),
            (self.bit_written, 1),
        ]

    def _arrays(self, kinds: tuple[str, ...] = ()) -> list[Array]:
        shared = self.program.shared or ()
        return [a for a in self.program.arrays() if a.rank == 1 and a.text not in shared and a.kind != BOOL and (not kinds or a.kind in kinds)]

    def _lanes(self, place: Place, apart: Array | None) -> tuple[Lanes, Place] | None:
        """A loop over lanes over all elements, and its body's place; ``apart`` is for what the caller does with it."""
        if place.lanes is not None or place.local or place.depth > 2 or place.cost * _STEPS > 2500:
            return None
        lanes = Lanes(self.s.fresh("i"), 0, 0)
        inner = place.inner()
        inner.lanes, inner.loop, inner.direct, inner.filled, inner.elements = lanes, "lanes", True, True, []
        inner.cost = place.cost * _STEPS
        self.loops._choose_written(inner, lanes)
        if apart is not None:
            lanes.written.pop(apart.text, None)
        index = Variable(lanes.text, INDEX, settable=False, varies=True)
        index.lanes = lanes
        inner.variables.append(index)
        return lanes, inner

    def _over(self, lanes: Lanes, body: list[Stmt], word: str = "lanes") -> Stmt:
        return Stmt("for lanes", [Clause([f"for {lanes.text} in lw.{word}(n):"], body)], True)

    def _counter(self, place: Place) -> Variable:
        made = Variable(self.s.fresh("k"), INDEX, settable=False)
        made.lanes = place.lanes
        return made

    def packed(self, place: Place) -> list[Stmt]:
        """``if c: a[k] = v; k += 1``, once or for two counters."""
        pick, s = self.random, self.s
        arrays = self._arrays()
        if not arrays:
            return []
        array = pick.choice(arrays)
        made = self._lanes(place, array)
        if made is None:
            return []
        lanes, inner = made
        array.written = True
        k = self._counter(place)
        body = s.block(inner, 2) if pick.random() < 0.5 else []
        deep = inner.inner()
        first = [s.simple(deep, "store", Expr(array.kind, "element", f"{array.text}[{k.text}]"), " = ", self.e.typed(array.kind, deep, 1))]
        before = s.block(deep, 1) if pick.random() < 0.3 else []
        others = [a for a in arrays if a is not array and a.text not in lanes.written]
        if others and pick.random() < 0.4:
            second = pick.choice(others)
            second.written = True
            first.append(s.simple(deep, "store", Expr(second.kind, "element", f"{second.text}[{k.text}]"), " = ", self.e.typed(second.kind, deep, 2)))
        first.append(s.simple(deep, "carry an index", f"{k.text} += 1", fixed=True))
        body.append(Stmt("if", [Clause(["if ", self.e.condition(inner, test=True), ":"], [*before, *first])], True, True))
        if pick.random() < 0.3:
            body += s.store(inner)
        place.variables.append(k)
        return [s.simple(place, "assign an index", f"{k.text} = 0", fixed=True), self._over(lanes, body, "lanes" if pick.random() < 0.8 else "range")]

    def dealt(self, place: Place) -> list[Stmt]:
        """``if c: b[i] = a[k]; k += 1``."""
        pick, s = self.random, self.s
        arrays = self._arrays()
        if len(arrays) < 2:
            return []
        source, to = pick.sample(arrays, 2)
        made = self._lanes(place, source)
        if made is None:
            return []
        lanes, inner = made
        lanes.written[to.text] = 0
        to.written = True
        k = self._counter(place)
        deep = inner.inner()
        value = Expr(source.kind, "load", f"{source.text}[{k.text}]")
        body = [
            s.simple(
                deep,
                "store",
                Expr(to.kind, "element", f"{to.text}[{lanes.text}]"),
                " = ",
                Expr(to.kind, f"convert {source.kind}", f"lw.{to.kind}(", value, ")"),
            ),
            s.simple(deep, "carry an index", f"{k.text} += 1", fixed=True),
        ]
        if to.kind in INTEGERS and source.kind not in INTEGERS:
            return []
        place.variables.append(k)
        loop = [*(s.block(inner, 1) if pick.random() < 0.3 else []), Stmt("if", [Clause(["if ", self.e.condition(inner, test=True), ":"], body)], True, True)]
        return [s.simple(place, "assign an index", f"{k.text} = 0", fixed=True), self._over(lanes, loop)]

    def running(self, place: Place) -> list[Stmt]:
        """``t += v; a[i] = t``."""
        pick, s = self.random, self.s
        arrays = self._arrays(INTEGERS)
        if not arrays:
            return []
        array = pick.choice(arrays)
        made = self._lanes(place, None)
        if made is None:
            return []
        lanes, inner = made
        lanes.written[array.text] = 0
        array.written = True
        total = s.new(place, array.kind, "t", settable=False)
        body = s.block(inner, 2) if pick.random() < 0.4 else []
        value = self.e.typed(array.kind, inner, 1)
        added = s.simple(inner, "add up", f"{total.text} += ", value, fixed=True)
        if pick.random() < 0.3:
            added = Stmt("if", [Clause(["if ", self.e.condition(inner, test=True), ":"], [added])], True, True)
        body += [added, s.simple(inner, "store", Expr(array.kind, "element", f"{array.text}[{lanes.text}]"), " = ", Expr(array.kind, "name", total.text))]
        place.variables.append(total)
        return [
            s.simple(place, "start a running sum", f"{total.text} = ", self.e.constant(array.kind), fixed=True),
            self._over(lanes, body, pick.choice(["lanes", "range"])),
        ]

    def left(self, place: Place) -> list[Stmt]:
        """A loop over lanes that is left where a condition holds, with an index that says where."""
        pick, s = self.random, self.s
        made = self._lanes(place, None)
        if made is None:
            return []
        lanes, inner = made
        if pick.random() < 0.5:
            lanes.written.clear()
        at = self._counter(place)
        out: list[Stmt] = [s.simple(inner, "assign an index", f"{at.text} = {lanes.text}", fixed=True)] if pick.random() < 0.7 else []
        out.append(s.simple(inner, "break", "break", fixed=True))
        test = Stmt("if", [Clause(["if ", self.e.condition(inner, test=True), ":"], out)], True, True)
        before = s.store(inner) if pick.random() < 0.3 else []
        after = s.block(inner, 2) if pick.random() < 0.5 else s.store(inner)
        place.variables.append(at)
        return [
            s.simple(place, "assign an index", f"{at.text} = n - 1 if n > 0 else 0", fixed=True),
            self._over(lanes, [*before, test, *after], pick.choice(["lanes", "range"])),
        ]

    def _elsewhere(self, place: Place) -> Expr:
        """An index that differs by lane."""
        # (A store at an index that is the same for all lanes is refused.)
        assert place.lanes is not None
        index = self.random.choice([place.lanes.text, f"{place.lanes.text} // 3", f"({place.lanes.text} & 7)"])
        return Expr(INDEX, "index", f"({index} + lw.i64(", self.e.typed(self.random.choice(_PLACES), place, 1), ")) % n")

    def gather(self, place: Place) -> list[Stmt]:
        """``v = a[k]`` with an index of each lane's own."""
        if place.lanes is None or place.local:
            return []
        arrays = self._read_only(place)
        if not arrays:
            return []
        array = self.random.choice(arrays)
        index = self._elsewhere(place)
        made = self.s.new(place, array.kind)
        place.variables.append(made)
        return [self.s.simple(place, "gather", f"{made.text} = ", Expr(array.kind, "load", f"{array.text}[", index, "]"))]

    def _read_only(self, place: Place, kinds: tuple[str, ...] = ()) -> list[Array]:
        """The arrays that a loop over lanes may read at any index."""
        assert place.lanes is not None
        return [a for a in self._arrays(kinds) if a.text not in place.lanes.written and a.text not in place.lanes.hidden]

    def backwards(self, place: Place) -> list[Stmt]:
        """``v = a[n - 1 - i]``; or a loop of its own with ``a[n - 1 - i] = v``."""
        pick, s = self.random, self.s
        if place.lanes is not None:
            arrays = self._read_only(place)
            if not arrays or place.local:
                return []
            array = pick.choice(arrays)
            made = s.new(place, array.kind)
            place.variables.append(made)
            return [s.simple(place, "read backwards", f"{made.text} = ", Expr(array.kind, "load", f"{array.text}[n - 1 - {place.lanes.text}]"))]
        return self._stored_apart(place, 1)

    def apart(self, place: Place) -> list[Stmt]:
        """A loop over every second to fourth element: ``v = a[2 * i + 1]``, ``b[2 * i] = v``."""
        return self._stored_apart(place, self.random.randint(2, 4))

    def _stored_apart(self, place: Place, times: int) -> list[Stmt]:
        """A loop over lanes that stores elements so many apart, or backwards, and reads others like that."""
        pick, s = self.random, self.s
        arrays = self._arrays()
        if not arrays:
            return []
        array = pick.choice(arrays)
        made = self._lanes(place, array)
        if made is None:
            return []
        lanes, inner = made
        array.written = True
        lanes.hidden.add(array.text)
        body: list[Stmt] = []
        others = self._read_only(inner)
        for _ in range(pick.randint(0, 3) if others else 0):
            other = pick.choice(others)
            index = f"n - 1 - {lanes.text}" if times == 1 else f"{times} * {lanes.text} + {pick.randint(0, times - 1)}"
            value = s.new(inner, other.kind)
            inner.variables.append(value)
            body.append(
                s.simple(inner, "read backwards" if times == 1 else "read apart", f"{value.text} = ", Expr(other.kind, "load", f"{other.text}[{index}]"))
            )
        if pick.random() < 0.4:
            body += s.block(inner, 2)
        stores: list[Stmt] = []
        for part in range(times) if pick.random() < 0.6 else [pick.randrange(times)]:
            index = f"n - 1 - {lanes.text}" if times == 1 else f"{times} * {lanes.text} + {part}"
            element = Expr(array.kind, "element", f"{array.text}[{index}]")
            stores.append(s.simple(inner, "store backwards" if times == 1 else "store apart", element, " = ", self.e.typed(array.kind, inner, 1)))
        if pick.random() < 0.25:
            stores = [Stmt("if", [Clause(["if ", self.e.condition(inner, test=True), ":"], stores)], True)]
        header = f"for {lanes.text} in lw.{'lanes' if pick.random() < 0.8 else 'range'}(n{'' if times == 1 else f' // {times}'}):"
        return [Stmt("for lanes", [Clause([header], [*body, *stores])], True)]

    def scatter(self, place: Place) -> list[Stmt]:
        """``a[k] = v``, or ``a[k] += v``, with an index of each lane's own, at the end of a loop's body, where nothing else accesses the array."""
        pick, s = self.random, self.s
        arrays = self._arrays()
        if not arrays:
            return []
        array = pick.choice(arrays)
        made = self._lanes(place, array)
        if made is None:
            return []
        lanes, inner = made
        array.written = True
        body = s.block(inner, 2) if pick.random() < 0.4 else []
        element = Expr(array.kind, "element", f"{array.text}[", self._elsewhere(inner), "]")
        sign = " = " if pick.random() < 0.6 or array.kind not in INTEGERS else " += "
        store = s.simple(inner, "scatter", element, sign, self.e.typed(array.kind, inner, 1))
        if pick.random() < 0.4:
            store = Stmt("if", [Clause(["if ", self.e.condition(inner, test=True), ":"], [store])], True)
        return [self._over(lanes, [*body, store], "lanes" if pick.random() < 0.7 else "range")]

    def bit_read(self, place: Place) -> list[Stmt]:
        """``c = lw.bit(a, i)``."""
        if place.lanes is None or place.local:
            return []
        arrays = self._read_only(place, ("u8",))
        if not arrays:
            return []
        array = self.random.choice(arrays)
        # (There are eight bits in each element, and an element for each index.)
        index = place.lanes.text if self.random.random() < 0.7 else f"lw.min({place.lanes.text} + 3, 8 * n - 1)"
        made = self.s.new(place, BOOL, settable=False)
        place.variables.append(made)
        return [self.s.simple(place, "read a bit", f"{made.text} = lw.bit({array.text}, {index})")]

    def bit_written(self, place: Place) -> list[Stmt]:
        """``lw.set_bit(a, i, c)`` in a loop over lanes of its own."""
        pick, s = self.random, self.s
        arrays = self._arrays(("u8",))
        if not arrays:
            return []
        array = pick.choice(arrays)
        made = self._lanes(place, array)
        if made is None:
            return []
        lanes, inner = made
        array.written = True
        body = s.block(inner, 2) if pick.random() < 0.4 else []
        write = s.simple(inner, "write a bit", f"lw.set_bit({array.text}, {lanes.text}, ", self.e.condition(inner), ")")
        if pick.random() < 0.4:
            write = Stmt("if", [Clause(["if ", self.e.condition(inner, test=True), ":"], [write])], True)
        return [self._over(lanes, [*body, write])]
