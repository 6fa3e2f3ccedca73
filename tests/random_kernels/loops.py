"""Loops over lanes, with reductions."""

from __future__ import annotations

from tests.random_kernels.kinds import FLOATS, INTEGERS, meet
from tests.random_kernels.places import Lanes, Place, Variable
from tests.random_kernels.statements import Statements
from tests.random_kernels.tree import INDEX, Clause, Expr, Stmt, name

__all__ = ["LanesLoops"]

_WHOLE = ("+", "+", "+", "*", "&", "|", "^", "min", "max")
_REAL = ("+", "+", "*", "min", "max", "fma")


class LanesLoops:
    """Makes loops over lanes.

    Attributes:
        roles: per variable that floats are reduced into, how.
    """

    def __init__(self, statements: Statements) -> None:
        self.s = statements
        self.e = statements.e
        self.random = statements.random
        self.program = statements.program
        self.roles: dict[str, str] = {}
        self.shared_taken = False
        statements.more += [(self.loop, 11), (self.reduce, 7), (self.skip, 2), (self.asked, 2.5)]

    def loop(self, place: Place) -> list[Stmt]:
        """``for i in lw.lanes(…)``."""
        pick, s = self.random, self.s
        steps = 41
        if place.lanes is not None or place.local or place.depth > 2 or place.cost * steps > 2500:
            return []
        low, high = (0, 0) if pick.random() < 0.5 else (pick.randint(0, 3), pick.randint(0, 3))
        text = s.fresh("i")
        bounds: list[str | Expr] = ["n" if not low and not high else f"{low}, n - {high}" if high else f"{low}, n"]
        if place.filled and not low and not high and pick.random() < 0.3:
            bounds = ["(", self.e.index(place), ") % n, n"]
        unroll = f", unroll={pick.randint(1, 4)}" if pick.random() < 0.25 else ""
        lanes = Lanes(text, low, high)
        inner = place.inner()
        inner.lanes = lanes
        inner.loop = "lanes"
        inner.direct = True
        inner.filled = True
        inner.cost = place.cost * steps
        # What was reached before may be written here, at another index.
        inner.elements = []
        if self.program.shared is not None and not self.shared_taken and not low and not high and place.copies == 1:
            self.shared_taken = lanes.shared = True
        self._choose_written(inner, lanes)
        before = self._choose_reductions(place, inner, lanes)
        if not lanes.written and not lanes.reductions:
            return before
        index = Variable(text, INDEX, settable=False, varies=True)
        index.lanes = lanes
        inner.variables.append(index)
        body = s.block(inner, 6)
        if lanes.reductions:
            body += self.reduce(inner)
        body += s.store(inner)
        return [*before, Stmt("for lanes", [Clause([f"for {text} in lw.lanes(", *bounds, unroll, "):"], body)], True)]

    def _choose_written(self, place: Place, lanes: Lanes) -> None:
        """Which arrays the loop stores to: at one distance from its index only, because the lanes run at once."""
        pick = self.random
        shared = self.program.shared or ()
        for array in self.program.arrays():
            if array.text in shared and not lanes.shared:
                continue
            if pick.random() < 0.55:
                lanes.written[array.text] = 0 if pick.random() < 0.8 or array.text in shared else pick.randint(-lanes.low, lanes.high)

    def _choose_reductions(self, place: Place, inner: Place, lanes: Lanes) -> list[Stmt]:
        """Variables to be reduced into, some made for it."""
        pick, s = self.random, self.s
        before: list[Stmt] = []
        for variable in place.assignable():
            if variable.kind in INTEGERS and pick.random() < 0.2:
                lanes.reductions[variable.text] = (variable, pick.choice(_WHOLE))
        for variable in place.variables:
            if variable.text in self.roles and pick.random() < 0.4 and variable.lanes is None and not place.local:
                lanes.reductions[variable.text] = (variable, self.roles[variable.text])
        while pick.random() < 0.4:
            kind = self.e.kind()
            op = pick.choice(_REAL if kind in FLOATS else _WHOLE)
            made = s.new(place, kind, "t")
            made.exact = kind in FLOATS
            lanes.reductions[made.text] = (made, op)
            if made.exact:
                self.roles[made.text] = op
            if pick.random() < 0.4:
                made.weak = "float" if kind in FLOATS and pick.random() < 0.5 else "int"
                value = Expr(kind, "number", str(float(pick.randint(0, 3)) if made.weak == "float" else pick.choice([0, 0, 1, 3])))
            elif kind in FLOATS:
                value = Expr(kind, "constant", f"lw.{kind}({pick.choice(['0', '1', '-3', '7', '0.0'])})")
            else:
                value = self.e.constant(kind) if pick.random() < 0.5 else self.e.typed(kind, place, 2)
            place.variables.append(made)
            before.append(s.simple(place, "start a reduction", f"{made.text} = ", value))
        inner.variables = [*place.variables]
        return before

    def reduce(self, place: Place) -> list[Stmt]:
        """An update of a variable from before the loop."""
        pick, s = self.random, self.s
        if place.lanes is None or not place.lanes.reductions:
            return []
        variable, op = pick.choice([*place.lanes.reductions.values()])
        kind, text = variable.kind, variable.text
        label = f"reduce {op} {kind}"
        if op == "fma":
            a, b = self._term(variable, "+", place), self._term(variable, "+", place)
            return [s.simple(place, label, f"{text} = ", Expr(kind, "reduce fma", "lw.fma(", a, ", ", b, f", {text})"))]
        value = self._term(variable, op, place)
        if op in ("min", "max"):
            function = f"lw.{op}" if pick.random() < 0.8 else op
            values = [value, self._term(variable, op, place)] if pick.random() < 0.2 else [value]
            if function == op:
                # Python's own name for it returns one of its operands, so they are of one type.
                values = [Expr(kind, f"convert {v.kind}", f"lw.{kind}(", v, ")") for v in values]
            first, *more = values
            parts: list[str | Expr] = [f"{text}, ", first] if pick.random() < 0.5 else [first, f", {text}"]
            for other in more:
                parts += [", ", other]
            return [s.simple(place, label, f"{text} = ", Expr(kind, f"reduce {op}", f"{function}(", *parts, ")"))]
        form = pick.random()
        if form < 0.5:
            sign = "-" if op == "+" and pick.random() < 0.3 else op
            return [s.simple(place, label, f"{text} {sign}= ", Expr(kind, f"reduce {sign}", value))]
        if form < 0.7:
            return [s.simple(place, label, f"{text} = {text} {op} ", Expr(kind, f"reduce {op}", value))]
        if form < 0.9:
            return [s.simple(place, label, f"{text} = ", Expr(kind, f"reduce {op}", value), f" {op} {text}")]
        return [s.simple(place, label, f"{text} = {text} {op} ", Expr(kind, f"reduce {op}", value), f" {op} ", self._term(variable, op, place))]

    def _term(self, variable: Variable, op: str, place: Place) -> Expr:
        """What is added, multiplied, …: of floats only what gives the same in any order."""
        pick = self.random
        kind = variable.kind
        if kind in FLOATS:
            if op == "*":
                return Expr(kind, "select", "lw.select(", self.e.condition(place, 1), f", lw.{kind}(2), lw.{kind}(-1))")
            exact = self.e.exact(kind, place)
            assert exact is not None
            return exact
        if not variable.weak and pick.random() < 0.3:
            source = self.e.kind(INTEGERS)
            if meet(kind, source) == kind:
                return self.e.typed(source, place, 1)
        if not variable.weak and pick.random() < 0.15:
            return self.e.weak(kind)
        return self.e.typed(kind, place, 1)

    def skip(self, place: Place) -> list[Stmt]:
        """``continue`` for the lanes where a condition holds."""
        if not place.direct or place.local:
            return []
        inner = place.inner()
        body = self.s.block(inner, 2) if self.random.random() < 0.5 else []
        body.append(self.s.simple(place, "continue", "continue"))
        return [Stmt("if", [Clause(["if ", self.e.condition(place, test=True), ":"], body)], True)]

    def asked(self, place: Place) -> list[Stmt]:
        """``lw.any`` and ``lw.all``, so that it does not matter which lanes run together."""
        pick, s = self.random, self.s
        if place.lanes is None or place.depth > 3 or place.local:
            return []
        condition = self.e.condition(place)
        made = s.new(place, "bool", settable=False)
        place.variables.append(made)
        first = s.simple(place, "assign condition", f"{made.text} = ", condition)
        inner = place.inner().inner()
        guarded = Stmt("if", [Clause(["if ", name("bool", made.text), ":"], s.block(inner, 3))], True)
        if pick.random() < 0.6:
            return [first, Stmt("if any", [Clause([f"if lw.any({made.text}):"], [guarded])], True)]
        other = Stmt("if", [Clause(["if ", name("bool", made.text), ":"], guarded.clauses[0].body)], True)
        return [first, Stmt("if all", [Clause([f"if lw.all({made.text}):"], [guarded]), Clause(["else:"], [other])], True)]
