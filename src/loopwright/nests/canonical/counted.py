"""Loops that count, found in loops that only say when they end: ``loop … br_if … end`` with variables that advance by a constant, as LLVM's loops are.

Such a loop is taken apart: what each iteration does, what it does only where another one follows, what is done on the way out, and the test that tells. How many
iterations there are is computed in front of it, exactly: where that takes conditions (a sum that must not wrap, a distance that must be a multiple of the step), they
are asked at run time, and the loop as it is written stands behind them.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.nests.analysis.lines import Bound, Line, Lines, Writer
from loopwright.nests.rewriting.unroll import shifted
from loopwright.types import I64, PTR, UNSIGNED, Type

__all__ = ["Counted", "Kept"]

#: Beyond these bounds sums of two numbers might wrap.
_FAR: Final = 1 << 62
#: No variable advances by so much.
_LONG: Final = 1 << 31
_OPPOSITE: Final[dict[Op, Op]] = {ops.EQ: ops.NE, ops.NE: ops.EQ, ops.LT: ops.GE, ops.GE: ops.LT, ops.LE: ops.GT, ops.GT: ops.LE}
_TURNED: Final[dict[Op, Op]] = {ops.EQ: ops.EQ, ops.NE: ops.NE, ops.LT: ops.GT, ops.GT: ops.LT, ops.LE: ops.GE, ops.GE: ops.LE}
#: A loop that runs less often, as is known from how often it may, is taken to be left over of one that was unrolled. More than any of those.
_FEW: Final = 12
_MANY: Final = 1 << 63
_BRANCHES: Final = frozenset((ops.BR, ops.BR_IF))


class Kept(Exception):
    """A loop stays as it is; the message says why, ``at`` is the user's line. No error of the user's: caught by whoever asked."""

    def __init__(self, reason: str, at: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


class Counted:
    """A loop, taken apart.

    Attributes:
        f: the function.
        head, end: positions of its brackets.
        first: what every iteration does, up to the test.
        then: what is done behind it, where another iteration follows.
        tail: what is done on the way out, as it would stand behind the loop.
        condition, stays: the operand of the test; another iteration follows where it is ``stays``.
        steps: the variables that advance: by how much, and whether they have when the test is made.
        lines: the lines of what it computes.
        holds: comparisons of i64 that have to hold for ``trips`` to be right.
        trips: how often ``first`` runs, an i64; where it is 1 or more, and all holds that has to.
        rounds: how often a body of both runs: one time less where ``then`` does something and ``first`` only finds out whether it is to.
    """

    def __init__(self, f: Function, head: int, end: int) -> None:
        self.f = f
        self.head = head
        self.end = end
        self.line = f.code[head].line
        self.first: list[Instr] = []
        self.then: list[Instr] = []
        self.tail: list[Instr] = []
        self.condition = NONE
        self.stays = True
        self.steps: dict[int, int] = {}
        self.before: dict[int, int] = {}
        self.after: dict[int, int] = {}
        self.holds: list[tuple[Op, int, int]] = []
        self.trips = NONE
        self.rounds = NONE
        self.ahead = Writer(f, self.line)
        self._divide()
        self.body = self.first + self.then
        made = {instr.dst: instr for instr in self.body if instr.dst >= 0 and not f.variable[instr.dst]}
        self.written = {instr.dst for instr in self.body if instr.dst >= 0 and f.variable[instr.dst]}
        self.lines = Lines(f, made, self.written, self.ahead)
        self._advance()

    # --- the parts ----------------------------------------------------------------------------------------------

    def _divide(self) -> None:
        """Find the one place where the loop is left, or goes on."""
        code = self.f.code
        depth = 0
        places: list[int] = []
        for k in range(self.head + 1, self.end):
            op = code[k].op
            if op in _BRANCHES and code[k].imm >= depth:
                places.append(k)
            if op.opens:
                depth += not op.closes
            elif op is ops.END:
                depth -= 1
        if not places:
            raise Kept("it does not go round", self.line)
        p, q = places[0], self.end
        at = code[p]
        if at.op is ops.BR_IF and self._level(p) == 0:
            self.condition = at.args[0]
            self.first = code[self.head + 1 : p]
            if at.imm == 0:
                self.tail = shifted(code[p + 1 : q], -1)
                self._ends(places[1:])
                return
            self.stays = False
            self.tail = [Instr(ops.BR, at.type, NONE, [], at.imm - 1, at.line)] if at.imm > 1 else []
            if places[1:] != [q - 1] or code[q - 1].op is not ops.BR or code[q - 1].imm:
                raise Kept("it is left, or goes on, at several places", code[places[1]].line if places[1:] else self.line)
            self.then = code[p + 1 : q - 1]
            return
        self._arms(p, places)

    def _arms(self, p: int, places: list[int]) -> None:
        """The test is an ``if``, at whose end the loop is left or goes on."""
        code = self.f.code
        opened = p
        depth = 0
        other = False  # there is another arm in front
        while depth >= 0 and opened > self.head:
            opened -= 1
            op = code[opened].op
            other = other or (depth == 0 and op.opens and op.closes)
            depth += int(op.closes) - int(op.opens)
        closed = p + 1 if opened > self.head and not other else -1
        if closed < 0 or code[opened].op is not ops.IF or code[closed].op is not ops.END or code[p].op is not ops.BR or self._level(opened) != 0:
            raise Kept("it is left, or goes on, at several places", code[p].line)
        self.condition = code[opened].args[0]
        self.first = code[self.head + 1 : opened]
        if code[p].imm == 1:
            self.then = code[opened + 1 : p]
            self.tail = shifted(code[closed + 1 : self.end], -1)
            self._ends(places[1:])
            return
        self.stays = False
        self.tail = shifted(code[opened + 1 : p + 1], -2)
        if places[1:] != [self.end - 1] or code[self.end - 1].op is not ops.BR or code[self.end - 1].imm:
            raise Kept("it is left, or goes on, at several places", code[p].line)
        self.then = code[closed + 1 : self.end - 1]

    def _ends(self, places: list[int]) -> None:
        """The other branches of the loop are on the way out."""
        for k in places:
            if self.f.code[k].imm <= self._level(k):
                raise Kept("it goes on at several places", self.f.code[k].line)

    def _level(self, k: int) -> int:
        """How many brackets are open within the loop at a place."""
        depth = 0
        for n in range(self.head + 1, k):
            op = self.f.code[n].op
            depth += int(op.opens) - int(op.closes)
        return depth

    # --- variables that advance -----------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Find the variables that are more, or less, by a constant in each iteration; what stands for them before and behind their step are lines."""
        f = self.f
        places: dict[int, list[int]] = {}
        depth = 0
        inside: set[int] = set()
        for k, instr in enumerate(self.body):
            op = instr.op
            depth += int(op.opens) - int(op.closes)
            if instr.dst in self.written:
                places.setdefault(instr.dst, []).append(k)
                if depth:
                    inside.add(instr.dst)
        for variable in sorted(places):
            type_ = f.types[variable]
            if len(places[variable]) > 1 or variable in inside or type_.lanes or not (type_.is_integer or type_ is PTR):
                continue
            k = places[variable][0]
            step = self._step(self.body[k], variable, k, 0, True)
            if not step or abs(step) >= _LONG:
                continue
            self.steps[variable] = step
            self.before[variable] = f.register(type_, f.names[variable])
            self.after[variable] = f.register(type_, f.names[variable])
            begins = self._begins(variable)
            line = Line(type_.bits, int(f.const_values[~begins]), step) if begins < 0 else Line(type_.bits, 0, step, {begins: 1})
            self.lines.known[self.before[variable]] = line
            self.lines.known[self.after[variable]] = line.more(step)
        # From here on their reads are of the registers.
        self.first = self._renamed(self.first, False)
        self.then = self._renamed(self.then, True)
        self.body = self.first + self.then
        self.lines.made = {instr.dst: instr for instr in self.body if instr.dst >= 0 and not f.variable[instr.dst]}
        self.condition = self._read(self.condition, False)

    def _begins(self, variable: int) -> int:
        """What a variable is when the loop begins: the constant or register that was copied there right in front of it, or the variable."""
        f = self.f
        for k in range(self.head - 1, -1, -1):
            instr = f.code[k]
            if instr.dst == variable:
                given = instr.args[0]
                same = instr.op is ops.COPY and (given < 0 or not f.variable[given]) and f.type_of(given) is f.types[variable]
                return given if same else variable
            if instr.op.effect == ops.CONTROL and instr.op is not ops.BLOCK:
                return variable
        return variable

    def _step(self, instr: Instr, variable: int, k: int, depth: int, whole: bool = False) -> int | None:
        """By how much a result is more than a variable was at the beginning of the iteration; None where it is not that."""
        op, args = instr.op, instr.args
        constant = 0
        if op is ops.ADD and args[0] < 0:
            args = [args[1], args[0]]
        if (op is ops.ADD or op is ops.SUB) and args[1] < 0:
            constant = int(self.f.const_values[~args[1]]) * (1 if op is ops.ADD else -1)
        elif op is ops.ADDRESS and instr.mem is not None and not instr.mem.indexed:
            constant = instr.mem.disp
        elif op is not ops.COPY and not (op is ops.CONVERT and instr.source.bits == instr.type.bits and instr.source.is_integer):
            return None
        given = args[0]
        if given == variable:
            return constant
        for n in range(k - 1, -1, -1):
            if self.body[n].dst == given:
                if self.f.variable[given] or depth > 8:
                    return None
                more = self._step(self.body[n], variable, n, depth + 1)
                return None if more is None else more + constant
        return None

    def _read(self, operand: int, then: bool) -> int:
        """What stands for a variable that advances, at the end of a part."""
        if operand not in self.steps:
            return operand
        if any(instr.dst == operand for instr in (self._written_first if not then else self.body)):
            return self.after[operand]
        return self.before[operand]

    def _renamed(self, code: list[Instr], then: bool) -> list[Instr]:
        """A part of the body with reads of variables that advance as reads of the registers, and without their steps."""
        if not then:
            self._written_first = [instr for instr in code if instr.dst in self.steps]
            self._advanced: set[int] = set()
        made: list[Instr] = []
        for instr in code:
            copy = instr.copy()
            copy.args = [(self.after[a] if a in self._advanced else self.before[a]) if a in self.steps else a for a in instr.args]
            if instr.dst in self.steps:
                self._advanced.add(instr.dst)
                continue
            made.append(copy)
        return made

    def left_with(self, variable: int) -> Line:
        """A variable that advances, behind the loop, as a line at the last iteration."""
        taken = any(instr.dst == variable for instr in self._written_first)
        line = self.lines.known[self.after[variable] if taken else self.before[variable]]
        assert line is not None
        return line

    # --- how often it runs ----------------------------------------------------------------------------------------

    def count(self) -> None:
        """Compute how often it runs, in front of it.

        Raises ``Kept`` where that is not known.
        """
        op, type_, a, b = self._test()
        x, y = self.lines.of(a), self.lines.of(b)
        if x is None or y is None:
            raise Kept("how often it runs is not known: it ends by what it finds", self.line)
        if op is ops.EQ or op is ops.NE:
            if op is ops.EQ:
                raise Kept("it runs as long as two values are equal", self.line)
            self._count_to(x.plus(y, -1))
        elif x.slope and not y.slope:
            self._count_within(op, type_, x, y)
        elif y.slope and not x.slope:
            self._count_within(_TURNED[op], type_, y, x)
        else:
            raise Kept("how often it runs is not known", self.line)
        self.rounds = self.trips
        if self.tests_first():
            self.rounds = self.ahead.emit(ops.SUB, I64, [self.trips, self.f.const(I64, 1)])

    def tests_first(self) -> bool:
        """Whether the test comes before anything is done that is seen outside of an iteration.

        Raises ``Kept`` where it is in the middle.
        """
        if all(self._quiet(instr, True) for instr in self.then):
            return False
        if all(self._quiet(instr, False) for instr in self.first):
            return True
        raise Kept("it is left in the middle", self.line)

    def _quiet(self, instr: Instr, copies: bool) -> bool:
        """Whether it makes no difference how often something runs. ``copies``: variables may be told their values of the next iteration."""
        if instr.dst >= 0 and self.f.variable[instr.dst]:
            return copies and instr.op is ops.COPY
        return instr.dst >= 0 and (instr.op.pure or instr.op is ops.ADDRESS or (instr.op is ops.LOAD_AT and not copies))

    def _test(self) -> tuple[Op, Type, int, int]:
        """The comparison that holds as long as another iteration follows."""
        stays = self.stays
        operand = self.condition
        while True:
            instr = self.lines.made.get(operand)
            if instr is None:
                raise Kept("how often it runs is not known", self.line)
            if instr.op is ops.NOT:
                stays = not stays
                operand = instr.args[0]
                continue
            if instr.op not in _OPPOSITE or not (instr.type.is_integer or instr.type is PTR):
                raise Kept("how often it runs is not known: it ends by what it finds", instr.line)
            return (instr.op if stays else _OPPOSITE[instr.op]), instr.type, instr.args[0], instr.args[1]

    def _count_to(self, distance: Line) -> None:
        """It runs until a distance is 0, the first time."""
        w = self.ahead
        f = self.f
        slope = distance.slope
        if not slope:
            raise Kept("how often it runs is not known", self.line)
        # Behind iteration k it is start + slope * k: 0 where k = -start / slope, if that is a whole number.
        left = w.line_at_start(distance.start().times(-1 if slope > 0 else 1))
        wide = left
        if distance.bits < 64:
            unsigned = UNSIGNED[distance.bits]
            wide = w.converted(w.converted(left, unsigned), I64)
        # (Of 64 bits, 2^63 or more is a number below 0, which is too few.)
        step = abs(slope)
        if self._at_most(distance.start().times(-1 if slope > 0 else 1)) < _FEW * step:
            raise Kept("it runs a few times only", self.line)
        if step == 1:
            self.trips = w.emit(ops.ADD, I64, [wide, f.const(I64, 1)])
            return
        size = f.const(I64, step)
        self.trips = w.emit(ops.ADD, I64, [w.emit(ops.DIV_FLOOR, I64, [wide, size]), f.const(I64, 1)])
        self.holds.append((ops.EQ, w.emit(ops.REM_FLOOR, I64, [wide, size]), f.const(I64, 0)))

    def _at_most(self, line: Line) -> int:
        """The greatest value a line can have, where that is plain: of what is left over by a power of two, which compilers that unroll loops run behind them."""
        if len(line.terms) != 1:
            return _MANY
        operand, coefficient = next(iter(line.terms.items()))
        if operand < 0 or coefficient != 1 or line.constant > 0 or self.f.variable[operand]:
            return _MANY
        code = self.f.code
        k = self.head - 1
        while k >= 0 and code[k].dst != operand:
            k -= 1
        if k < 0 or code[k].op is not ops.AND or code[k].args[1] >= 0:
            return _MANY
        mask = int(self.f.const_values[~code[k].args[1]])
        return mask if mask >= 0 else _MANY

    def _count_within(self, op: Op, type_: Type, x: Line, limit: Line) -> None:
        """It runs as long as a value that advances is below (or above) one that does not."""
        w = self.ahead
        f = self.f
        slope = x.slope
        up = op is ops.LT or op is ops.LE
        if up != (slope > 0):
            raise Kept("it counts away from where it ends", self.line)
        first = self._wide(w.line_at_start(x.start()), type_)
        last = self._wide(w.line_at_start(limit), type_)
        step = abs(slope)
        low, high = (-_FAR, _FAR) if type_.bits == 64 else (_least(type_), _greatest(type_))
        if type_.bits == 64:
            for operand in (first, last):
                self._hold(ops.GE, operand, 0 if not type_.signed else low)
                self._hold(ops.LE, operand, high)
        # The last value that is compared is less than a step beyond the limit, and must be one that the type has.
        equal = op is ops.LE or op is ops.GE
        room = step - (0 if equal else 1)
        if type_.bits < 64 and room:
            if up:
                self._hold(ops.LE, last, high - room)
            else:
                self._hold(ops.GE, last, low + room)
        elif type_.bits == 64 and not up and room and not type_.signed:
            self._hold(ops.GE, last, room)
        span = w.emit(ops.SUB, I64, [last, first] if up else [first, last])
        more = step - 1 + int(equal)
        if more:
            span = w.emit(ops.ADD, I64, [span, f.const(I64, more)])
        if step != 1:
            span = w.emit(ops.DIV_FLOOR, I64, [span, f.const(I64, step)])
        span = w.emit(ops.MAX, I64, [span, f.const(I64, 0)])
        self.trips = w.emit(ops.ADD, I64, [span, f.const(I64, 1)])

    def _wide(self, operand: int, type_: Type) -> int:
        """A value, as a type has it, in 64 bits."""
        w = self.ahead
        return operand if type_.bits == 64 else w.converted(w.converted(operand, type_), I64)

    def _hold(self, op: Op, operand: int, value: int) -> None:
        """A comparison with a constant has to hold."""
        if operand < 0:
            known = int(self.f.const_values[~operand])
            if (known <= value) if op is ops.LE else (known >= value):
                return
        self.holds.append((op, operand, self.f.const(I64, value)))

    def hold(self, bound: Bound) -> None:
        """A narrow value must not wrap in any iteration."""
        w = self.ahead
        f = self.f
        room = f.const(I64, _greatest(bound.type) if bound.slope > 0 else -_least(bound.type))
        left = w.emit(ops.SUB, I64, [room, bound.first]) if bound.slope > 0 else w.emit(ops.ADD, I64, [room, bound.first])
        if abs(bound.slope) != 1:
            left = w.emit(ops.DIV_FLOOR, I64, [left, f.const(I64, abs(bound.slope))])
        self.holds.append((ops.LE, self.trips, w.emit(ops.ADD, I64, [left, f.const(I64, 1)])))


def _least(type_: Type) -> int:
    return -(1 << (type_.bits - 1)) if type_.signed else 0


def _greatest(type_: Type) -> int:
    return (1 << (type_.bits - (1 if type_.signed else 0))) - 1
