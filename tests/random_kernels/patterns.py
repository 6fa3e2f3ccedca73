"""Whole pieces of programs as people write them, with random expressions in them: what single random statements seldom make."""

from __future__ import annotations

from tests.random_kernels.kinds import INTEGERS, LIMITS
from tests.random_kernels.places import Function, Place, Variable
from tests.random_kernels.statements import Statements
from tests.random_kernels.tree import BOOL, INDEX, Clause, Expr, Stmt, name

__all__ = ["Patterns"]

_WALK = 41


class Patterns:
    """Makes patterns, and functions of the kernel's own."""

    def __init__(self, statements: Statements) -> None:
        self.s = statements
        self.e = statements.e
        self.random = statements.random
        self.program = statements.program
        statements.more += [
            (self.guard, 3),
            (self.compaction, 1.5),
            (self.walk, 1.5),
            (self.two_ends, 0.8),
            (self.neighbour, 1.5),
            (self.window, 1),
            (self.held_index, 2),
            (self.chosen, 1),
            (self.both_arms, 2),
            (self.around_a_loop, 2.5),
            (self.half_known, 1),
            (self.halving, 0.8),
            (self.taps, 1.2),
            (self.inner_function, 0.8),
            (self.call, 1.5),
            (self.give_back, 1),
        ]

    def _scalar(self, place: Place, steps: int) -> bool:
        return place.lanes is None and not place.local and place.depth < 3 and place.cost * steps <= 2500

    def _fixed(self, text: str, place: Place) -> Variable:
        made = Variable(text, INDEX, settable=False, varies=place.lanes is not None)
        made.lanes = place.lanes
        return made

    def guard(self, place: Place) -> list[Stmt]:
        """Where it is not known that arrays have elements: a test."""
        pick, s = self.random, self.s
        if place.lanes is not None or place.local or place.filled and place.has_rows or place.depth > 2:
            return []
        inner = place.inner()
        has_rows = any(a.rank == 2 for a in self.program.arrays())
        if place.filled and not has_rows:
            return []
        if has_rows and (place.filled or pick.random() < 0.5):
            inner.has_rows = True
            test = "rows > 0"
        else:
            inner.filled = True
            test = pick.choice(["n > 0", "n", "not n == 0", "0 < n"])
        return [Stmt("if", [Clause([f"if {test}:"], s.block(inner, 4))])]

    def compaction(self, place: Place) -> list[Stmt]:
        """Elements for which a condition holds, moved together: an index carried around the loop, moved under the condition."""
        s = self.s
        if not self._scalar(place, _WALK):
            return []
        arrays = [a for a in self.program.arrays() if a.rank == 1 and a.text not in (self.program.shared or ())]
        if not arrays:
            return []
        array = self.random.choice(arrays)
        array.written = True
        k, i = s.fresh("k"), s.fresh("i")
        inner = place.inner()
        inner.loop, inner.filled, inner.cost = "range", True, place.cost * _WALK
        inner.variables += [self._fixed(i, place), self._fixed(k, place)]
        inner.indices += [Expr(INDEX, "steady", i)]
        before = s.block(inner, 2)
        deep = inner.inner()
        deep.indices = [Expr(INDEX, "steady", k), Expr(INDEX, "steady", i)]
        body = [
            *s.block(deep, 1),
            s.simple(deep, "store", Expr(array.kind, "element", f"{array.text}[{k}]"), " = ", self.e.typed(array.kind, deep)),
            *(
                [s.simple(deep, "store", Expr(array.kind, "element", f"{array.text}[{k}]"), " += ", self.e.weak(array.kind))]
                if array.kind != BOOL and self.random.random() < 0.3
                else []
            ),
            s.simple(deep, "carry an index", f"{k} += 1", fixed=True),
        ]
        before.append(Stmt("if", [Clause(["if ", self.e.condition(inner), ":"], body)]))
        place.variables.append(self._fixed(k, place))
        return [
            s.simple(place, "assign an index", f"{k} = 0", fixed=True),
            Stmt("for range", [Clause([f"for {i} in lw.range(n):"], before)]),
        ]

    def walk(self, place: Place) -> list[Stmt]:
        """``while k < n``, with steps that differ."""
        pick, s = self.random, self.s
        if not self._scalar(place, _WALK):
            return []
        k = s.fresh("k")
        inner = place.inner()
        inner.loop, inner.filled, inner.cost = "fixed", True, place.cost * _WALK
        inner.variables.append(self._fixed(k, place))
        inner.indices.append(Expr(INDEX, "steady", k))
        test: list[str | Expr] = [f"while {k} < n:"]
        if pick.random() < 0.4:
            test = [f"while {k} < n and ", self.e.condition(inner), ":"]
        body = s.block(inner, 4)
        if s._ends(body):
            return []
        steps = [s.simple(inner, "carry an index", f"{k} += {pick.randint(1, 3)}", fixed=True) for _ in range(2)]
        if pick.random() < 0.5:
            body.append(steps[0])
        else:
            body.append(Stmt("if/else", [Clause(["if ", self.e.condition(inner), ":"], [steps[0]]), Clause(["else:"], [steps[1]])], fixed=True))
        return [s.simple(place, "assign an index", f"{k} = {pick.choice(['0', '0', '1', 'lw.i64(0)'])}", fixed=True), Stmt("while", [Clause(test, body)])]

    def two_ends(self, place: Place) -> list[Stmt]:
        """Two indices that approach each other."""
        s = self.s
        if not self._scalar(place, _WALK):
            return []
        a, b = s.fresh("k"), s.fresh("k")
        inner = place.inner()
        inner.loop, inner.filled, inner.cost = "fixed", True, place.cost * _WALK
        inner.variables += [self._fixed(a, place), self._fixed(b, place)]
        inner.indices += [Expr(INDEX, "steady", a), Expr(INDEX, "steady", b)]
        body = s.block(inner, 3)
        if s._ends(body):
            return []
        clauses = [
            Clause(["if ", self.e.condition(inner), ":"], [s.simple(inner, "carry an index", f"{a} += 1", fixed=True)]),
            Clause(["else:"], [s.simple(inner, "carry an index", f"{b} -= 1", fixed=True)]),
        ]
        body.append(Stmt("if/else", clauses, fixed=True))
        return [s.simple(place, "assign a tuple", f"{a}, {b} = 0, n - 1", fixed=True), Stmt("while", [Clause([f"while {a} < {b}:"], body)])]

    def neighbour(self, place: Place) -> list[Stmt]:
        """The element before kept in a variable."""
        pick, s = self.random, self.s
        if not self._scalar(place, _WALK):
            return []
        arrays = [a for a in self.program.arrays() if a.rank == 1 and a.text not in (self.program.shared or ())]
        if not arrays:
            return []
        array = pick.choice(arrays)
        i = s.fresh("i")
        kind = array.kind
        last = s.new(place, kind)
        outside = place.inner()
        outside.filled = True
        outside.variables.append(last)
        inner = outside.inner()
        inner.loop, inner.cost = "range", place.cost * _WALK
        inner.indices += [Expr(INDEX, "steady", i), Expr(INDEX, "steady", f"{i} - 1")]
        inner.variables.append(self._fixed(i, place))
        inner.elements.append((array, i))
        body = s.block(inner, 3)
        if not s._ends(body):
            if pick.random() < 0.6:
                array.written = True
                body.append(s.simple(inner, "store", Expr(kind, "element", f"{array.text}[{i}]"), " = ", self.e.typed(kind, inner)))
            body.append(s.simple(inner, "carry an element", f"{last.text} = ", Expr(kind, "load", f"{array.text}[{i}]")))
        loop = Stmt("for range", [Clause([f"for {i} in lw.range(1, n):"], body)])
        start = s.simple(outside, "carry an element", f"{last.text} = ", Expr(kind, "load", f"{array.text}[0]"))
        return [Stmt("if", [Clause(["if n > 0:"], [start, loop, *s.store(outside)])])]

    def window(self, place: Place) -> list[Stmt]:
        """``a, b, c = b, c, x[i]``."""
        pick, s = self.random, self.s
        if not self._scalar(place, _WALK):
            return []
        kind = self.e.kind()
        names = [s.new(place, kind) for _ in range(pick.choice([2, 3]))]
        i = s.fresh("i")
        body: list[Stmt] = [s.simple(place, "assign", f"{v.text} = ", self.e.leaf(kind, place)) for v in names]
        place.variables += names
        inner = place.inner()
        inner.loop, inner.filled, inner.cost = "range", True, place.cost * _WALK
        inner.indices.append(Expr(INDEX, "steady", i))
        inner.variables.append(self._fixed(i, place))
        value = self.e.load(kind, inner) or self.e.typed(kind, inner, 1)
        inside = s.block(inner, 3)
        if not s._ends(inside):
            texts = [v.text for v in names]
            inside.append(s.simple(inner, "rotate", f"{', '.join(texts)} = {', '.join(texts[1:])}, ", value))
            inside += s.store(inner)
        return [*body, Stmt("for range", [Clause([f"for {i} in lw.range(n):"], inside)])]

    def held_index(self, place: Place) -> list[Stmt]:
        """An index made of another that changes afterwards, in the same step or in a loop: of elements, or of rows."""
        pick, s = self.random, self.s
        rows = pick.random() < 0.5 and any(a.rank == 2 for a in self.program.arrays())
        steps = 5 if rows else _WALK
        if not self._scalar(place, steps * 3) or rows and not place.filled:
            return []
        k, j, i = s.fresh("k"), s.fresh("k"), s.fresh("i")
        bound = "rows" if rows else "n"
        outer = place.inner()
        outer.loop, outer.cost = "fixed", place.cost * steps
        outer.variables += [self._fixed(i, place), self._fixed(k, place)]
        known = outer.rows if rows else outer.indices
        known += [Expr(INDEX, "steady", i), Expr(INDEX, "steady", k)]
        outer.filled, outer.has_rows = place.filled or not rows, place.has_rows or rows
        # What is remembered of elements would be wrong once `k` has changed.
        outer.elements = []
        step = pick.choice([" + 1", " + 1", " + 1", ""])
        body = [*(s.store(outer) if pick.random() < 0.3 else []), s.simple(outer, "assign an index", f"{j} = {k}{step}", fixed=True)]
        other = pick.choice([i, "0", f"{bound} - 2"])
        change = s.simple(outer, "carry an index", f"{k} = {other}", fixed=True)
        if pick.random() < 0.5:
            change = Stmt("if", [Clause(["if ", self.e.condition(outer), ":"], [change])])
        inner = outer.inner()
        inner.elements = []
        inner.variables.append(self._fixed(j, place))
        if rows:
            inner.rows = [Expr(INDEX, "steady", j), Expr(INDEX, "steady", j), Expr(INDEX, "steady", k)]
        else:
            inner.indices = [Expr(INDEX, "steady", j), Expr(INDEX, "steady", j), Expr(INDEX, "steady", k)]
        inside = [*s.store(inner), *s.block(inner, 2), *s.store(inner)]
        if any(s._ends([stmt]) for stmt in inside):
            return []
        if pick.random() < 0.6:
            c = s.fresh("i")
            inside.insert(pick.choice([0, len(inside)]), change)
            inside = [Stmt("for range", [Clause([f"for {c} in lw.range({pick.randint(2, 3)}):"], inside)])]
        else:
            inside.insert(0, change)
        body += inside
        if pick.random() < 0.5:
            body.append(s.simple(outer, "carry an index", f"{k} = {i}", fixed=True))
        return [
            s.simple(place, "assign an index", f"{k} = {pick.choice(['0', 'lw.i64(0)'])}", fixed=True),
            Stmt("for range", [Clause([f"for {i} in lw.range({bound} - 1):"], body)]),
        ]

    def chosen(self, place: Place) -> list[Stmt]:
        """The index of the element chosen so far, as a selection sort has it."""
        pick, s = self.random, self.s
        arrays = [a for a in self.program.arrays() if a.rank == 1 and a.kind != BOOL and a.text not in (self.program.shared or ())]
        if not self._scalar(place, _WALK) or not arrays:
            return []
        array = pick.choice(arrays)
        best, i = s.fresh("k"), s.fresh("i")
        inner = place.inner()
        inner.loop, inner.filled, inner.cost = "range", True, place.cost * _WALK
        inner.variables += [self._fixed(i, place), self._fixed(best, place)]
        inner.indices += [Expr(INDEX, "steady", i)]
        left, right = Expr(array.kind, "load", f"{array.text}[{i}]"), Expr(array.kind, "load", f"{array.text}[{best}]")
        test = Expr(BOOL, f"< {array.kind}", "(", left, f" {pick.choice(['<', '>', '!='])} ", right, ")")
        body = [*(s.block(inner, 2) if pick.random() < 0.4 else [])]
        if s._ends(body):
            return []
        body.append(Stmt("if", [Clause(["if ", test, ":"], [s.simple(inner, "carry an index", f"{best} = {i}")])]))
        outside = place.inner()
        outside.filled = True
        outside.indices += [Expr(INDEX, "steady", best), Expr(INDEX, "steady", "0")]
        after = [*s.store(outside), *s.store(outside)]
        place.variables.append(self._fixed(best, place))
        loop = [s.simple(place, "assign an index", f"{best} = 0", fixed=True), Stmt("for range", [Clause([f"for {i} in lw.range(1, n):"], body)])]
        return [*loop, Stmt("if", [Clause(["if n > 0:"], after)])] if after else loop

    def both_arms(self, place: Place) -> list[Stmt]:
        """One element stored to on both sides of an ``if``, and read before and after."""
        s = self.s
        if place.local or place.depth > 3:
            return []
        element = s.target(place)
        if element is None or element.parts[0] != str(element):
            # Only an index that stays.
            return []
        kind = element.kind
        read = Expr(kind, "load", str(element))
        before, after = s.new(place, kind), s.new(place, kind)
        first = s.simple(place, "assign", f"{before.text} = ", read)
        place.variables.append(before)
        clauses = []
        for head in (["if ", self.e.condition(place, test=True), ":"], ["else:"]):
            inner = place.inner()
            body = s.block(inner, 2)
            if not s._ends(body):
                body.append(s.simple(inner, "store", element, " = ", self.e.typed(kind, inner)))
            clauses.append(Clause([*head], body))
        if self.random.random() < 0.25:
            clauses.pop()
        stmt = Stmt("if/else" if len(clauses) > 1 else "if", clauses, place.lanes is not None)
        if len(clauses) > 1 and all(s._ends(clause.body or []) for clause in clauses):
            return [first, stmt]
        place.variables.append(after)
        return [first, stmt, s.simple(place, "read after a store", f"{after.text} = ", read)]

    def around_a_loop(self, place: Place) -> list[Stmt]:
        """One element read before a loop, read and stored to in it, and read after it."""
        pick, s = self.random, self.s
        if place.local or place.depth > 2:
            return []
        element = s.target(place)
        if element is None or element.parts[0] != str(element):
            return []
        kind = element.kind
        read = Expr(kind, "load", str(element))
        before, inside, after = s.new(place, kind), s.new(place, kind), s.new(place, kind)
        place.variables.append(before)
        value = self.e.typed(kind, place, 1)
        condition = self.e.condition(place, 1)
        loop = pick.choice([s.range_loop, s.while_loop, s.python_loop])(place)
        if not loop:
            place.variables.remove(before)
            return []
        body = loop[-1].clauses[0].body
        assert body is not None
        start = 1 if body[0].fixed else 0
        body.insert(start, s.simple(place, "read after a store", f"{inside.text} = ", read))
        store = s.simple(place, "store", element, f" = ({inside.text} {pick.choice('&|^' if kind == BOOL else '+-*')} ", value, ")")
        if pick.random() < 0.4:
            store = Stmt("if", [Clause(["if ", condition, ":"], [store])], place.lanes is not None)
        body.insert(pick.randint(start + 1, len(body) - s._ends(body)), store)
        place.variables.append(after)
        first = s.simple(place, "assign", f"{before.text} = ", read)
        return [first, *loop, s.simple(place, "read after a store", f"{after.text} = ", read), *s.store(place)]

    def half_known(self, place: Place) -> list[Stmt]:
        """A ``while`` whose condition is known while compiling at first, and depends on a run-time value later."""
        pick, s = self.random, self.s
        if place.depth > 2 or place.cost * 4 > 2500 or place.copies > 2:
            return []
        kind = self.e.kind(("u8", "i32", "u32", "i64"))
        c = s.fresh("f")
        inner = place.inner()
        inner.loop, inner.cost, inner.copies = "while", place.cost * 4, place.copies * 3
        raw = Variable(c, INDEX, settable=False, varies=True, raw=True)
        raw.lanes = place.lanes
        inner.variables.append(raw)
        # No `continue`: the count is at the end.
        inner.loop = "fixed"
        body: list[Stmt] = []
        for chance in (0.5, 0.5):
            if pick.random() < chance:
                body.append(Stmt("if", [Clause(["if ", self.e.condition(inner), ":"], [s.simple(inner, "break", "break")])], place.lanes is not None))
            body += s.block(inner, 2)
            if s._ends(body):
                return []
        more = Expr(kind, "&", "(", self.e.typed(kind, place, 2), " & 1)")
        body.append(s.simple(inner, "count", f"{c} = {c} + 1 + ", more, fixed=True))
        return [
            s.simple(place, "count", f"{c} = 0", fixed=True),
            Stmt("while", [Clause([f"while {c} < {pick.randint(1, 4)}:"], body)], place.lanes is not None),
        ]

    def halving(self, place: Place) -> list[Stmt]:
        """A loop over the bits of a number."""
        s = self.s
        if place.depth > 2 or place.cost * 64 > 2500:
            return []
        kind = self.e.kind(INTEGERS)
        start = self.e.typed(kind, place, 1)
        value = s.new(place, kind, settable=False)
        value.varies = place.lanes is not None
        inner = place.inner()
        inner.loop, inner.cost = "fixed", place.cost * 64
        inner.variables.append(value)
        body = s.block(inner, 3)
        if s._ends(body):
            return []
        body.append(s.simple(inner, "count", f"{value.text} = {value.text} >> 1", fixed=True))
        place.variables.append(value)
        low = "> 0" if LIMITS[kind][0] else "!= 0"
        return [
            s.simple(place, "assign", f"{value.text} = ", start),
            Stmt("while", [Clause([f"while {value.text} {low}:"], body)], place.lanes is not None),
        ]

    def taps(self, place: Place) -> list[Stmt]:
        """A sum over a constant argument: one term for each of its values."""
        pick, s = self.random, self.s
        constants = [p for p in self.program.constants().items() if isinstance(p[1], tuple)]
        if not constants or place.local or place.copies > 3 or place.depth > 3:
            return []
        text, values = pick.choice(constants)
        kind = self.e.kind(("f32", "f64")) if isinstance(values[0], float) else self.e.kind()
        total = s.new(place, kind)
        first = s.simple(place, "assign", f"{total.text} = ", self.e.typed(kind, place, 1))
        k, c = s.fresh("p"), s.fresh("p")
        inner = place.inner()
        inner.copies = place.copies * len(values)
        value = self.e.load(kind, place) or self.e.typed(kind, inner, 1)
        sign = pick.choice("+-")
        form = pick.choice([f"for {c} in {text}:", f"for {k}, {c} in enumerate({text}):", f"for {c} in reversed({text}):"])
        body: list[Stmt] = [s.simple(inner, "augmented +=", f"{total.text} {sign}= ", Expr(kind, "*", value, f" * {c}"))]
        if "enumerate" in form:
            inner.variables.append(self._fixed(k, place))
            body += s.block(inner, 2)
        elif pick.random() < 0.5:
            body = [Stmt("if", [Clause([f"if {c} != 0:"], body)], place.lanes is not None)]
        place.variables.append(total)
        return [first, Stmt("for python", [Clause([form], body)], place.lanes is not None)]

    # --- functions -------------------------------------------------------------------------------------------------

    def function(self, text: str, by_lane: bool, place: Place | None = None) -> tuple[Function, Stmt]:
        """A function of the kernel's own; with a place, one inside the kernel that reads its variables."""
        pick, s = self.random, self.s
        inside = Place() if place is None else place.inner()
        inside.local = inside.direct = True
        inside.loop = ""
        inside.own = []
        inside.elements, inside.indices, inside.rows, inside.lists = [], [], [], []
        reads: list[Variable] = []
        if place is None:
            from tests.random_kernels.places import Lanes

            if by_lane:
                inside.lanes = Lanes("", 0, 0)
        else:
            reads = [v for v in inside.variables if v.kind != INDEX]
            inside.variables = []
            for v in reads:
                seen = Variable(v.text, v.kind, v.weak, settable=False)
                inside.variables.append(seen)
        kinds = [BOOL if pick.random() < 0.1 else self.e.kind() for _ in range(pick.randint(1, 3))]
        result = BOOL if pick.random() < 0.12 else self.e.kind()
        names = [s.fresh("b") for _ in kinds]
        for kind, parameter in zip(kinds, names, strict=True):
            made = Variable(parameter, kind)
            made.lanes = inside.lanes
            inside.variables.append(made)
        inside.returns = result
        inside.cost = 200
        inside.copies = 4
        left, s.left = s.left, 6
        body = s.block(inside, 4)
        s.left = left
        if not body or body[-1].kind != "return":
            value = self.e.condition(inside) if result == BOOL else self.e.typed(result, inside)
            body.append(s.simple(inside, "return", "return ", value))
        stmt = Stmt("function", [Clause([f"def {text}({', '.join(names)}):"], body)], by_lane and place is None)
        used = str("\n".join(stmt.lines(0)))
        return Function(text, kinds, result, by_lane, [v for v in reads if v.text in used]), stmt

    def writer(self, text: str, kind: str) -> tuple[Function, Stmt]:
        """A function that stores to an array it is given."""
        s = self.s
        inside = Place()
        inside.local = True
        names = ["out", "k", "v"]
        inside.variables = [Variable("v", kind)]
        inside.returns = None
        element = Expr(kind, "element", "out[k]")
        body: list[Stmt] = [s.simple(inside, "store", element, " = ", self.e.typed(kind, inside))]
        if self.random.random() < 0.6:
            clause = Clause(["if ", self.e.condition(inside), ":"], [s.simple(inside, "augmented element +=", element, " += ", name(kind, "v"))])
            body.append(Stmt("if", [clause]))
        return Function(text, [kind], "", False, array=kind), Stmt("function", [Clause([f"def {text}({', '.join(names)}):"], body)])

    def inner_function(self, place: Place) -> list[Stmt]:
        if place.local or place.depth > 2:
            return []
        text = self.s.fresh("g")
        function, stmt = self.function(text, place.lanes is not None, place)
        place.functions.append(function)
        return [stmt]

    def call(self, place: Place) -> list[Stmt]:
        """A call as a statement."""
        known = place.callable("")
        if not known or place.local:
            return []
        function = self.random.choice(known)
        arguments = self.e.arguments(function, place, 1)
        return [self.s.simple(place, "call", f"{function.text}(", *arguments, ")")] if arguments is not None else []

    def give_back(self, place: Place) -> list[Stmt]:
        """``return`` before the end."""
        pick, s = self.random, self.s
        if place.returns is None or place.lanes is not None and not (place.direct and place.local):
            # Lanes run at once: those that return wait for the others, which a loop around them does not allow.
            return []
        value: list[str | Expr] = []
        if place.returns:
            value = [" ", self.e.condition(place) if place.returns == BOOL else self.e.typed(place.returns, place, 1)]
        body = [*(s.block(place.inner(), 1) if pick.random() < 0.3 else []), s.simple(place, "return", "return", *value)]
        while len(body) > 1 and s._ends(body[:-1]):
            body.pop()
        return [Stmt("if", [Clause(["if ", self.e.condition(place, test=True), ":"], body)], place.lanes is not None)]
