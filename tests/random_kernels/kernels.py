"""One random kernel from a seed."""

from __future__ import annotations

import random

import numpy as np
from tests.random_kernels.expressions import Expressions
from tests.random_kernels.kinds import FLOATS, KINDS, floats_of, integers_of
from tests.random_kernels.loops import LanesLoops
from tests.random_kernels.movement import Movement
from tests.random_kernels.patterns import Patterns
from tests.random_kernels.places import Place, Variable
from tests.random_kernels.statements import Statements
from tests.random_kernels.tree import BOOL, INDEX, Array, Clause, Constant, Program, Scalar, Stmt

__all__ = ["make"]


def make(seed: int) -> Program:
    """The kernel of a seed."""
    return _Maker(seed).program


class _Maker:
    def __init__(self, seed: int) -> None:
        pick = self.random = random.Random(seed)
        self.program = Program(seed)
        favourites = pick.sample(KINDS, pick.choice([1, 2, 2, 3]))
        self.e = Expressions(pick, self.program, favourites)
        self.s = Statements(self.e)
        self.loops = LanesLoops(self.s)
        self.patterns = Patterns(self.s)
        self.movement = Movement(self.s, self.loops)
        place = Place()
        start = self._parameters(place)
        self._functions(place)
        self.s.left = pick.choice([6, 10, 14, 20])
        self.program.result = pick.choice(["", *KINDS, *favourites, *favourites]) if pick.random() < 0.7 else ""
        place.returns = self.program.result
        body = self.s.block(place, 12)
        while self.s.left > 0 and not (body and body[-1].kind == "return"):
            body += self.s.block(place, 4)
        if self.program.result and (not body or body[-1].kind != "return"):
            value = self.e.typed(self.program.result, place)
            body.append(self.s.simple(place, "return", "return ", value))
        self.program.body = [*start, *body]

    def _parameters(self, place: Place) -> list[Stmt]:
        pick, program = self.random, self.program
        kinds = [pick.choice([*self.e.favourites, *self.e.favourites, pick.choice(KINDS)]) for _ in range(pick.randint(1, 4))]
        arrays = [Array(text, kind, 1) for text, kind in zip("xyzu", kinds, strict=False)]
        if pick.random() < 0.35:
            arrays.append(Array("m", pick.choice(self.e.favourites), 2))
            if pick.random() < 0.3:
                arrays.append(Array("q", pick.choice(self.e.favourites), 2))
        if pick.random() < 0.12:
            kind = pick.choice(self.e.favourites)
            arrays += [Array("s", kind, 1), Array("r", kind, 1)]
            program.shared = ("s", "r")
        if pick.random() < 0.15:
            arrays.append(Array("b", BOOL, 1))
        program.parameters += arrays
        for k in range(pick.choice([0, 1, 1, 2, 3])):
            kind = BOOL if pick.random() < 0.12 else pick.choice([*self.e.favourites, pick.choice(KINDS)])
            program.parameters.append(Scalar(f"a{k}", kind))
            place.variables.append(Variable(f"a{k}", kind))
        self._constants(place)
        pick.shuffle(program.parameters)
        start = [Stmt("lengths", [Clause([program.least_length()])], fixed=True)]
        place.variables.append(Variable("n", INDEX, settable=False))
        tables = [a for a in arrays if a.rank == 2]
        if tables:
            rows = [f"{a.text}.shape[0]" for a in tables]
            start.append(Stmt("lengths", [Clause([f"rows = {rows[0]}" if len(rows) == 1 else f"rows = lw.min({', '.join(rows)})"])], fixed=True))
            place.variables.append(Variable("rows", INDEX, settable=False))
        return start

    def _constants(self, place: Place) -> None:
        """Arguments that are known while compiling."""
        pick, program = self.random, self.program
        if pick.random() < 0.35:
            count = pick.randint(1, 3)
            whole = pick.random() < 0.5
            values = tuple([pick.randint(0, 5) if whole else pick.choice([0.5, -1.0, 2.0, 0.0, 0.1, 1.5]) for _ in range(count)])
            program.parameters.append(Constant("taps", values))
        if pick.random() < 0.35:
            kind = pick.choice(self.e.favourites)
            count = pick.choice([5, 16, 16, 40, 256, 300])
            numbers = [pick.choice(floats_of(kind) if kind in FLOATS else integers_of(kind)) for _ in range(count)]
            with np.errstate(over="ignore"):
                program.parameters.append(Constant("table", np.array(numbers, _dtype(kind))))
            program.table = "table", kind, count
        if pick.random() < 0.15:
            program.parameters.append(Constant("flag", pick.random() < 0.5))
            place.variables.append(Variable("flag", BOOL, settable=False))
        if pick.random() < 0.2:
            kind = pick.choice(self.e.favourites)
            value = pick.choice(floats_of(kind) if kind in FLOATS else integers_of(kind))
            with np.errstate(over="ignore"):
                program.parameters.append(Constant("typed", np.dtype(_dtype(kind)).type(value)))
            place.variables.append(Variable("typed", kind, settable=False))

    def _functions(self, place: Place) -> None:
        pick = self.random
        for k in range(pick.choice([0, 0, 1, 1, 2])):
            function, stmt = self.patterns.function(f"h{k}", pick.random() < 0.7)
            self.program.functions.append(stmt)
            place.functions.append(function)
        if pick.random() < 0.2:
            arrays = [a for a in self.program.arrays() if a.rank == 1 and a.kind != BOOL]
            function, stmt = self.patterns.writer("put", pick.choice(arrays).kind)
            self.program.functions.append(stmt)
            place.functions.append(function)


def _dtype(kind: str) -> str:
    from loopwright.types import parse_type

    return parse_type(kind).dtype
