"""Random statements: assignments, stores, conditions, and loops that end."""

from __future__ import annotations

from collections.abc import Callable

from tests.random_kernels.expressions import Expressions
from tests.random_kernels.kinds import FLOATS, INTEGERS, KINDS, LIMITS, meet
from tests.random_kernels.places import Place, Variable
from tests.random_kernels.tree import BOOL, INDEX, Clause, Expr, Stmt

__all__ = ["Statements"]

#: Most steps of the innermost loops of a kernel in one call.
_DEAREST = 2500
#: Most copies of a statement that loops over Python values make.
_COPIES = 9


class Statements:
    """Makes statements; loops over lanes and whole patterns are in ``loops.py`` and ``patterns.py``."""

    def __init__(self, expressions: Expressions) -> None:
        self.e = expressions
        self.random = expressions.random
        self.program = expressions.program
        self.left = 0
        self.count = 0
        #: More makers of statements: (maker, weight).
        self.more: list[tuple[Callable[[Place], list[Stmt]], float]] = []

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def new(self, place: Place, kind: str, letter: str = "", weak: str = "", varies: bool = False, settable: bool = True) -> Variable:
        """A variable of the block, to be assigned by the statement being made."""
        letter = letter or {BOOL: "c", INDEX: "k"}.get(kind, "v")
        made = Variable(self.fresh(letter), kind, weak, settable, varies or place.lanes is not None and settable)
        made.lanes = place.lanes
        place.own.append(made.text)
        return made

    def simple(self, place: Place, kind: str, *parts: str | Expr, fixed: bool = False) -> Stmt:
        return Stmt(kind, [Clause(list(parts))], place.lanes is not None, fixed)

    # --- blocks --------------------------------------------------------------------------------------------------

    def block(self, place: Place, most: int) -> list[Stmt]:
        """Some statements in order."""
        body: list[Stmt] = []
        for _ in range(self.random.randint(1, most)):
            if self.left <= 0 and body:
                break
            made = self.statement(place)
            body += made
            if made and made[-1].kind in ("break", "continue", "return"):
                break
        return body

    def statement(self, place: Place) -> list[Stmt]:
        self.left -= 1
        makers, weights = zip(*[(maker, weight) for maker, weight in (*self._makers(), *self.more)], strict=True)
        for _ in range(6):
            made: list[Stmt] = self.random.choices(makers, weights)[0](place)
            if made:
                return made
        return self.assign_new(place)

    def _makers(self) -> list[tuple[Callable[[Place], list[Stmt]], float]]:
        return [
            (self.assign_new, 5),
            (self.assign, 6),
            (self.augmented, 5),
            (self.start_weak, 1.5),
            (self.tuple_assignment, 2.5),
            (self.store, 9),
            (self.index_variable, 1.5),
            (self.make_list, 0.8),
            (self.sweep, 1.5),
            (self.condition, 8),
            (self.range_loop, 4),
            (self.python_loop, 2.5),
            (self.while_loop, 3),
            (self.leave, 2),
        ]

    # --- assignments -----------------------------------------------------------------------------------------------

    def assign_new(self, place: Place) -> list[Stmt]:
        pick = self.random
        if pick.random() < 0.15:
            value = self.e.condition(place) if pick.random() < 0.8 else Expr(BOOL, "number", pick.choice(["True", "False"]))
            made = self.new(place, BOOL)
            place.variables.append(made)
            return [self.simple(place, "assign condition", f"{made.text} = ", value)]
        kind = self.e.kind()
        value = self.e.typed(kind, place)
        known = [v for v in place.assignable() if v.text in place.own and v.kind in (*INTEGERS, *FLOATS)]
        if known and pick.random() < 0.2:
            # A name may have another type from here on, where no path meets one on which it has not.
            old = pick.choice(known)
            if not any(old in f.reads for f in place.functions):
                place.variables.remove(old)
                made = Variable(old.text, kind, varies=place.lanes is not None)
                made.lanes = place.lanes
                place.variables.append(made)
                return [self.simple(place, "assign another type", f"{made.text} = ", value)]
        made = self.new(place, kind)
        place.variables.append(made)
        return [self.simple(place, "assign", f"{made.text} = ", value)]

    def assign(self, place: Place) -> list[Stmt]:
        """A new value for a variable that there is."""
        pick = self.random
        known = place.assignable()
        if not known:
            return []
        variable = pick.choice(known[-6:])
        if variable.kind == BOOL:
            return [self.simple(place, "assign condition", f"{variable.text} = ", self.e.condition(place))]
        if variable.kind == INDEX:
            return [self._set_index(place, variable)]
        if variable.weak and pick.random() < 0.25:
            return [self.simple(place, "assign a number", f"{variable.text} = ", self._start(variable.kind, variable.weak))]
        value = self.e.typed(variable.kind, place)
        others = [v for v in known if v.kind == variable.kind and v is not variable and not v.weak and not variable.weak]
        if others and pick.random() < 0.1:
            return [self.simple(place, "assign to two names", f"{variable.text} = {pick.choice(others).text} = ", value)]
        return [self.simple(place, "assign", f"{variable.text} = ", value)]

    def augmented(self, place: Place) -> list[Stmt]:
        pick = self.random
        known = [v for v in place.assignable() if v.kind in (*INTEGERS, *FLOATS)]
        if not known:
            return []
        variable = pick.choice(known[-6:])
        op = pick.choice("+-*/" if variable.kind in FLOATS else ["+", "-", "*", "&", "|", "^", "//", "%", "<<", ">>"])
        if variable.weak and op in ("/", "//", "%", "<<", ">>"):
            op = "+"
        if op in ("<<", ">>"):
            bits = int(variable.kind[1:])
            value = Expr(variable.kind, "number", str(pick.randrange(bits)))
        elif pick.random() < 0.25 and not variable.weak:
            value = self.e.weak(variable.kind)
        else:
            value = self.e.typed(variable.kind, place)
        return [self.simple(place, f"augmented {op}=", f"{variable.text} {op}= ", Expr(variable.kind, op, value))]

    def _start(self, kind: str, weak: str) -> Expr:
        """A Python number to start with."""
        pick = self.random
        if weak == "float":
            return Expr(kind, "number", pick.choice(["0.0", "1.0", "-0.5", "2.25", "100.0"]))
        low, _ = (-100, 100) if kind in FLOATS else LIMITS[kind]
        return Expr(kind, "number", str(pick.choice([0, 0, 1, 1, 2, 7, 100, max(low, -1)])))

    def start_weak(self, place: Place) -> list[Stmt]:
        """A variable that starts as a Python number, and takes the type of the first typed value it meets."""
        kind = self.e.kind()
        weak = "float" if kind in FLOATS and self.random.random() < 0.6 else "int"
        value = self._start(kind, weak)
        made = self.new(place, kind, "w", weak)
        place.variables.append(made)
        return [self.simple(place, "start as a number", f"{made.text} = ", value)]

    def tuple_assignment(self, place: Place) -> list[Stmt]:
        pick = self.random
        groups: dict[str, list[Variable]] = {}
        for v in place.assignable():
            if not v.weak and v.kind != INDEX:
                groups.setdefault(v.kind, []).append(v)
        pairs = [group for group in groups.values() if len(group) > 1]
        if pairs and pick.random() < 0.7:
            group = pick.choice(pairs)
            kind = group[0].kind
            if len(group) > 2 and pick.random() < 0.5:
                a, b, c = [v.text for v in pick.sample(group, 3)]
                value = self.e.condition(place) if kind == BOOL else self.e.load(kind, place) or self.e.leaf(kind, place)
                return [self.simple(place, "rotate", f"{a}, {b}, {c} = {b}, {c}, ", value)]
            a, b = [v.text for v in pick.sample(group, 2)]
            return [self.simple(place, "swap", f"{a}, {b} = {b}, {a}")]
        first, second = self.e.kind(), self.e.kind()
        values = self.e.typed(first, place, 1), self.e.typed(second, place, 1)
        made = self.new(place, first), self.new(place, second)
        place.variables += made
        return [self.simple(place, "assign a tuple", f"{made[0].text}, {made[1].text} = ", values[0], ", ", values[1])]

    # --- lists -------------------------------------------------------------------------------------------------------

    def make_list(self, place: Place) -> list[Stmt]:
        """A list, dictionary or tuple whose elements are variables."""
        pick = self.random
        kind = self.e.kind()
        length = pick.randint(2, 4)
        text = self.fresh("l")
        form = pick.choice(["list", "list", "list", "dict", "tuple"])
        values: list[str | Expr] = []
        made: list[Variable] = []
        for k in range(length):
            weak = "int" if form != "tuple" and pick.random() < 0.2 else ""
            value = self._start(kind, weak) if weak else self.e.typed(kind, place, 1)
            values += [f'"k{k}": ' if form == "dict" else "", value, ", "]
            variable = Variable(f'{text}["k{k}"]' if form == "dict" else f"{text}[{k}]", kind, weak, form != "tuple", place.lanes is not None)
            variable.lanes = place.lanes
            made.append(variable)
        place.variables += made
        if form == "list" and not any(v.weak for v in made):
            place.lists.append((text, kind, length, place.lanes))
        opening, closing = {"list": "[]", "dict": "{}", "tuple": "()"}[form]
        return [self.simple(place, f"make a {form}", f"{text} = {opening}", *values, closing)]

    def sweep(self, place: Place) -> list[Stmt]:
        """Every element of a list changed, or added up."""
        pick = self.random
        known = [row for row in place.lists if row[3] is place.lanes]
        if not known or place.copies > 3:
            return []
        text, kind, length, _ = pick.choice(known)
        inner = place.inner()
        inner.loop, inner.copies = "fixed", place.copies * length
        p = Variable(self.fresh("p"), INDEX, settable=False)
        p.lanes = place.lanes
        inner.variables.append(p)
        op = pick.choice("+-*" if kind in FLOATS else "+-*&|^")
        if pick.random() < 0.4:
            value = self.e.typed(kind, place, 1)
            made = self.new(place, kind)
            place.variables.append(made)
            over = f"for {p.text} in {text}:"
            body = [self.simple(inner, "augmented +=", f"{made.text} = {made.text} {op} {p.text}")]
            return [self.simple(place, "assign", f"{made.text} = ", value), Stmt("for python", [Clause([over], body)], place.lanes is not None)]
        over = f"for {p.text} in range({pick.choice([f'len({text})', str(length)])}):"
        element = f"{text}[{p.text}]"
        body = [self.simple(inner, "change a list", f"{element} {op}= ", self.e.typed(kind, inner, 1))]
        if pick.random() < 0.3:
            body = [Stmt("if", [Clause(["if ", self.e.condition(inner), ":"], body)], place.lanes is not None)]
        return [Stmt("for python", [Clause([over], body)], place.lanes is not None)]

    # --- indices -----------------------------------------------------------------------------------------------------

    def index_variable(self, place: Place) -> list[Stmt]:
        pick = self.random
        if place.lanes is not None and pick.random() < 0.5:
            made = self.new(place, INDEX, settable=False)
            value = self.e.index(place, uniform=True)
            place.variables.append(made)
            return [self.simple(place, "assign an index", f"{made.text} = (", value, ") % 41")]
        value = Expr(INDEX, "number", str(pick.randint(0, 5)))
        made = self.new(place, INDEX)
        place.variables.append(made)
        return [self.simple(place, "assign an index", f"{made.text} = ", value)]

    def _set_index(self, place: Place, variable: Variable) -> Stmt:
        pick = self.random
        text = variable.text
        chance = pick.random()
        if chance < 0.5:
            return self.simple(place, "carry an index", f"{text} = ({text} + {pick.randint(1, 5)}) % {pick.choice([7, 32, 61])}")
        if chance < 0.7:
            return self.simple(place, "carry an index", f"{text} = (", self.e.index(place), f" + {text}) & 31")
        return self.simple(place, "assign an index", f"{text} = (", self.e.index(place), ") % 41")

    # --- stores ------------------------------------------------------------------------------------------------------

    def target(self, place: Place) -> Expr | None:
        """An element to store to."""
        if place.local:
            return None
        pick = self.random
        arrays = [a for a in self.program.arrays() if place.lanes is None or a.text in place.lanes.written]
        lately = [element for element in place.elements if element[0] in arrays]
        if lately and pick.random() < 0.55:
            array, index = pick.choice(lately[-3:])
            array.written = True
            return Expr(array.kind, "element", f"{array.text}[{index}]")
        pick.shuffle(arrays)
        arrays.sort(key=lambda a: not a.written and pick.random() < 0.7)
        for array in arrays:
            element = self.e.element(array, place, True)
            if element is not None:
                array.written = True
                element.op = "element"
                return element
        return None

    def stored(self, kind: str, place: Place) -> Expr:
        """A value that a store to an array of the type takes."""
        pick = self.random
        chance = pick.random()
        if chance < 0.04 or kind == BOOL:
            return self.e.condition(place)
        if chance < 0.08:
            return self.e.weak(kind)
        if chance < 0.12 and (started := place.readable(kind, weak=True)):
            return Expr(kind, "started", pick.choice(started).text)
        if chance < 0.16 and kind == "i64":
            return self.e.index(place)
        if chance < 0.45:
            source = pick.choice(KINDS)
            whole = source not in FLOATS or kind in FLOATS
            if whole and source != kind:
                return Expr(kind, f"store {source} to {kind}", self.e.typed(source, place))
        return self.e.typed(kind, place)

    def store(self, place: Place) -> list[Stmt]:
        pick = self.random
        element = self.target(place)
        if element is None:
            return []
        kind = element.kind
        chance = pick.random()
        if chance < 0.3:
            return [self._augmented_store(place, element)]
        if chance < 0.36:
            value = self.e.typed(kind, place)
            made = self.new(place, kind)
            place.variables.append(made)
            return [self.simple(place, "assign to a name and an element", f"{made.text} = ", element, " = ", value)]
        if chance < 0.46:
            other = self.target(place)
            if other is not None and other.kind == kind:
                return [self.simple(place, "swap elements", element, ", ", other, " = ", other, ", ", element)]
        body = [self.simple(place, "store", element, " = ", self.stored(kind, place))]
        if chance > 0.7:
            # Read again what has been stored, and perhaps store there once more.
            made = self.new(place, kind)
            body.append(self.simple(place, "read after a store", f"{made.text} = ", Expr(kind, "load", str(element))))
            place.variables.append(made)
            if chance > 0.9:
                body.append(self.simple(place, "store", element, " = ", self.e.typed(kind, place)))
        return body

    def _augmented_store(self, place: Place, element: Expr) -> Stmt:
        pick = self.random
        kind = element.kind
        op = pick.choice("&|^" if kind == BOOL else "+-*/" if kind in FLOATS else ["+", "+", "-", "*", "&", "|", "^", "//", "%", "<<", ">>"])
        if kind == BOOL:
            value = self.e.condition(place)
        elif op in ("<<", ">>"):
            value = Expr(kind, "number", str(pick.randrange(int(kind[1:]))))
        elif pick.random() < 0.25:
            value = self.e.weak(kind)
        else:
            source = self.e.kind() if pick.random() < 0.2 else kind
            met = meet(kind, source)
            fits = (met in FLOATS) == (kind in FLOATS) and (source in FLOATS) <= (op not in ("&", "|", "^", "//", "%"))
            if not fits:
                source = kind
            value = self.e.typed(source, place)
        return self.simple(place, f"augmented element {op}=", element, f" {op}= ", Expr(kind, op, value))

    # --- conditions --------------------------------------------------------------------------------------------------

    def condition(self, place: Place) -> list[Stmt]:
        """``if``, with an ``elif`` or ``else`` perhaps; a name may be assigned on all its paths."""
        pick = self.random
        if place.depth > 4:
            return []
        whole = pick.random() < 0.5
        tests = 1 + (pick.random() < 0.3)
        both = self.e.kind() if whole and pick.random() < 0.5 else ""
        made = self.new(place, both) if both else None
        clauses: list[Clause] = []
        for number in range(tests + whole):
            inner = place.inner()
            body = self.block(inner, 3)
            if made is not None and not self._ends(body):
                body.append(self.simple(place, "assign on every path", f"{made.text} = ", self.e.typed(both, inner)))
            if number < tests:
                clauses.append(Clause(["elif " if number else "if ", self.e.condition(place, test=True), ":"], body))
            else:
                clauses.append(Clause(["else:"], body))
        stmt = Stmt("if" + "/elif" * (tests - 1) + "/else" * whole, clauses, place.lanes is not None)
        if made is not None:
            if any(not self._ends(clause.body or []) for clause in clauses):
                place.variables.append(made)
            else:
                place.own.remove(made.text)
        return [stmt]

    @staticmethod
    def _ends(body: list[Stmt]) -> bool:
        return bool(body) and body[-1].kind in ("break", "continue", "return")

    def leave(self, place: Place) -> list[Stmt]:
        """``if …: break``, or ``continue``, perhaps with something done before."""
        pick = self.random
        if place.loop not in ("range", "while", "python"):
            return []
        word = pick.choice(["break", "continue"])
        inner = place.inner()
        body = self.block(inner, 2) if pick.random() < 0.4 else []
        if not self._ends(body):
            body.append(self.simple(place, word, word))
        clauses = [Clause(["if ", self.e.condition(place, test=True), ":"], body)]
        if pick.random() < 0.15:
            clauses.append(Clause(["else:"], self.block(place.inner(), 2)))
        return [Stmt("if", clauses, place.lanes is not None)]

    # --- loops ---------------------------------------------------------------------------------------------------------

    def range_loop(self, place: Place) -> list[Stmt]:
        """A loop over ``lw.range``: over the elements, over the rows, or over a few steps."""
        pick = self.random
        if place.depth > 3:
            return []
        inner = place.inner()
        inner.loop = "range"
        text = self.fresh("i")
        chance = pick.random()
        steps = 41
        index = Variable(text, INDEX, settable=False)
        index.lanes = place.lanes
        whole = place.lanes is None and not place.local
        if whole and chance < 0.45 and place.cost * steps <= _DEAREST:
            bounds, valid = pick.choice(
                [
                    ("n", [text]),
                    ("n", [text, f"n - 1 - {text}"]),
                    ("1, n", [text, f"{text} - 1"]),
                    ("n - 1", [text, f"{text} + 1"]),
                    ("n - 1, -1, -1", [text]),
                    ("n - 1, 0, -1", [text, f"{text} - 1"]),
                    (f"0, n, {pick.randint(2, 5)}", [text]),
                    (f"n - 1, -1, -{pick.randint(2, 4)}", [text]),
                    ("2, n - 1", [f"{text} - 2", text, f"{text} + 1"]),
                    ("n // 2", [text, f"n - 1 - {text}"]),
                ]
            )
            inner.indices += [Expr(INDEX, "steady", v) for v in valid]
            inner.filled = True
        elif not place.local and chance < 0.6 and any(a.rank == 2 for a in self.program.arrays()):
            steps = 5
            bounds, valid = pick.choice(
                [
                    ("rows", [text]),
                    ("1, rows", [text, f"{text} - 1"]),
                    ("rows - 1, -1, -1", [text]),
                    ("rows - 1", [text, f"{text} + 1"]),
                    ("0, rows, 2", [text]),
                ]
            )
            inner.rows += [Expr(INDEX, "steady", v) for v in valid]
            inner.has_rows = True
        elif place.lanes is not None and chance < 0.8:
            # Every lane as often as its own value says.
            kind = self.e.kind(("u8", "i8", "u32", "i32", "i64"))
            bounds = Expr(kind, "&", f"lw.{kind}(0), " if pick.random() < 0.3 else "", "(", self.e.typed(kind, place, 2), f" & {pick.choice([3, 5, 7])})")
            index.raw = index.varies = True
            steps = 8
        else:
            steps = 8
            bounds = self._few(place)
        if place.cost * steps > _DEAREST:
            return []
        inner.cost = place.cost * steps
        inner.variables.append(index)
        body = self.block(inner, 4)
        return [Stmt("for range", [Clause([f"for {text} in lw.range(", bounds, "):"], body)], place.lanes is not None)]

    def _few(self, place: Place) -> Expr:
        """Bounds of a few steps, known or not."""
        pick = self.random
        chance = pick.random()
        if chance < 0.3:
            return Expr(INDEX, "bounds", str(pick.randint(0, 5)))
        if chance < 0.45:
            return Expr(INDEX, "bounds", f"{pick.randint(1, 7)}, 0, -{pick.randint(1, 3)}")
        if chance < 0.55:
            return Expr(INDEX, "bounds", f"{pick.randint(0, 3)}, {pick.randint(0, 8)}, {pick.randint(1, 3)}")
        if chance < 0.7:
            return Expr(INDEX, "bounds", "(", self.e.index(place, uniform=True), f") % {pick.randint(2, 7)}")
        if chance < 0.85 and place.lanes is None:
            kind = self.e.kind(("u8", "i8", "u16", "i16", "u32", "i32", "i64"))
            return Expr(INDEX, "bounds", "(", self.e.typed(kind, place, 2), f" & {pick.choice([1, 3, 6])}), {pick.randint(0, 6)}")
        if chance < 0.93:
            return Expr(INDEX, "bounds", "(", self.e.index(place, uniform=True), ") & 3, 6, 1 + ((", self.e.index(place, uniform=True), ") & 1)")
        return Expr(INDEX, "bounds", "7, (", self.e.index(place, uniform=True), ") & 7, -1")

    def python_loop(self, place: Place) -> list[Stmt]:
        """A loop that runs while compiling."""
        pick = self.random
        if place.depth > 3:
            return []
        text = self.fresh("p")
        inner = place.inner()
        inner.loop = "python"
        chance = pick.random()
        if chance < 0.35:
            steps = pick.randint(1, 3)
            over: list[str | Expr] = [f"range({steps})"]
            inner.variables.append(Variable(text, INDEX, settable=False))
        elif chance < 0.55:
            values = [pick.randint(0, 9) for _ in range(pick.randint(1, 3))]
            steps = len(values)
            over = [f"({', '.join([str(v) for v in values])},)"]
            inner.variables.append(Variable(text, INDEX, settable=False))
        elif chance < 0.75:
            kind = self.e.kind()
            steps = pick.randint(1, 3)
            over = [f"({', '.join([str(self.e.constant(kind)) for _ in range(steps)])},)"]
            inner.variables.append(Variable(text, kind, settable=False))
        else:
            # Over a tuple of run-time values.
            kind = self.e.kind()
            steps = pick.randint(2, 3)
            over = ["("]
            for _ in range(steps):
                over += [self.e.typed(kind, place, 2), ", "]
            over.append(")")
            inner.variables.append(Variable(text, kind, settable=False))
        if place.copies * steps > _COPIES or place.cost * steps > _DEAREST:
            return []
        for v in inner.variables[len(place.variables) :]:
            v.lanes = place.lanes
        inner.copies = place.copies * steps
        inner.cost = place.cost * steps
        body = self.block(inner, 3)
        return [Stmt("for python", [Clause([f"for {text} in ", *over, ":"], body)], place.lanes is not None)]

    def while_loop(self, place: Place) -> list[Stmt]:
        """A loop that counts its steps besides whatever else ends it."""
        pick = self.random
        if place.depth > 3:
            return []
        most = pick.randint(1, 6)
        if place.cost * most > _DEAREST:
            return []
        text = self.fresh("f")
        inner = place.inner()
        inner.loop = "while"
        inner.cost = place.cost * most
        fuel = Variable(text, INDEX, settable=False, varies=True)
        fuel.lanes = place.lanes
        form = pick.choice(["and", "and", "and", "or known", "uniform", "forever", "known", "typed"])
        step = [self.simple(place, "count", f"{text} += 1", fixed=True)]
        start = self.simple(place, "count", f"{text} = lw.i32(0)" if form == "typed" else f"{text} = 0", fixed=True)
        if form == "typed":
            fuel.raw = True
        test: list[str | Expr]
        if form == "known":
            most = min(most, 3)
            if place.copies * most > _COPIES:
                return []
            inner.copies = place.copies * most
            test = [f"{text} < {most}"]
        elif form == "uniform":
            test = [f"{text} < ", self.e.index(place, uniform=True), f" % {most + 1}"]
        elif form == "forever":
            test = ["True"]
            step.append(Stmt("if", [Clause([f"if {text} > {most}:"], [self.simple(place, "break", "break", fixed=True)])], place.lanes is not None, True))
        elif form == "or known":
            condition = self.e.condition(place, test=True)
            test = [condition, f" and {text} < {most}"]
        else:
            condition = self.e.condition(place, test=True)
            test = [f"{text} < {most} and ", condition]
        inner.variables.append(fuel)
        body = [*step, *self.block(inner, 4)]
        return [start, Stmt("while" if form != "forever" else "while True", [Clause(["while ", *test, ":"], body)], place.lanes is not None)]
