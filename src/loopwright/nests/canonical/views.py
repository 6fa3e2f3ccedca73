"""Loops over pointers as loops over lanes: what counts made a ``for``, what it accesses through pointers accesses to views.

Accesses whose addresses are lines over the number of the iteration, by one step and from one place but for a constant, are elements of one *view*: an array that begins
at the lowest of their addresses, and ends behind the highest. So the analyses of nests know them. Two views of which one is written may overlap: unless their pointers
are known to lead to different memory, that is asked once, in front of the loop, with all else that has to hold; the loop as it is written stands behind the question::

    block
      block
        ...                          how often it runs, the views
        br_if 0, ...                 unless it runs often enough, views do not overlap, sums do not wrap
        for %k = 0, %trips, 1 lanes
          ...
        end
        ...                          what the loop leaves in variables
        br 1
      end
      loop                           as it is written
        ...
      end
    end
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Array, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.ir.ops import Op
from loopwright.nests.analysis.dependence import dependences
from loopwright.nests.analysis.lines import Line, Writer
from loopwright.nests.analysis.nest import nest_of
from loopwright.nests.analysis.pointers import Pointers
from loopwright.nests.analysis.scalars import PRIVATE, scalars
from loopwright.nests.canonical.counted import Counted, Kept
from loopwright.nests.rewriting.apart import pairs, question
from loopwright.nests.rewriting.unroll import shifted
from loopwright.nests.steps.lanes import adjacent, free, mark, strided
from loopwright.nests.steps.why import lanes_refusal
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, PTR, VOID, Type

__all__ = ["Uses", "in_views"]

#: A loop runs in lanes where it runs so often at least.
LEAST_TRIPS: Final = 16
#: The most pairs of views that are compared in front of a loop.
MOST_PAIRS: Final = 8
#: Longer bodies are not looked at.
MOST_BODY: Final = 400
#: What is chosen by a comparison that holds, and where it does not.
_EXTREMES: Final[dict[Op, tuple[Op, Op]]] = {
    ops.GT: (ops.MAX, ops.MIN),
    ops.GE: (ops.MAX, ops.MIN),
    ops.LT: (ops.MIN, ops.MAX),
    ops.LE: (ops.MIN, ops.MAX),
}
_SHIFTS: Final[dict[Op, Op]] = {ops.SHL_MODULO: ops.SHL, ops.SHR_MODULO: ops.SHR}
_STRICT: Final = frozenset((ops.GT, ops.LT))
_REFUSED: Final = frozenset((ops.RET, ops.FAIL, ops.UNREACHABLE))


class Uses:
    """Where registers are read, in the code as it was before any loop was rewritten: the first place and the last."""

    __slots__ = ("first", "last", "written")

    def __init__(self, f: Function) -> None:
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.written: dict[int, tuple[int, int]] = {}
        for k, instr in enumerate(f.code):
            for a in instr.args:
                if a >= 0:
                    self.first.setdefault(a, k)
                    self.last[a] = k
            if instr.dst >= 0 and f.variable[instr.dst]:
                self.written[instr.dst] = (self.written[instr.dst][0] if instr.dst in self.written else k, k)

    def outside(self, register: int, head: int, end: int) -> bool:
        """Whether it is read outside of a loop."""
        return register in self.first and (self.first[register] < head or self.last[register] > end)

    def mentioned(self, register: int, head: int, end: int) -> bool:
        """Whether a variable is read or written outside of a loop."""
        low, high = self.written.get(register, (head, head))
        return self.outside(register, head, end) or low < head or high > end


class _View:
    """Accesses that become those of one array.

    Attributes:
        line: of the address of the lowest element in the first iteration.
        element: the type of the elements.
        low, high: the least and the greatest constant of the addresses.
        written: one of them stores.
        pointer: what the address is computed from, or NONE.
        number: of the array.
        last: the index of the first iteration's lowest element, where the view is gone through from its end.
    """

    __slots__ = ("element", "high", "last", "line", "low", "number", "pointer", "step", "written")

    def __init__(self, line: Line, element: Type, pointer: int) -> None:
        self.line = line
        self.element = element
        self.low = self.high = line.constant
        self.written = False
        self.pointer = pointer
        self.number = -1
        self.step = line.slope // element.size
        self.last = NONE


class _Rewriter:
    """Rewrites one loop."""

    def __init__(self, f: Function, target: Target, head: int, end: int, uses: Uses, pointers: Pointers) -> None:
        self.f = f
        self.target = target
        self.head = head
        self.end = end
        self.uses = uses
        self.pointers = pointers
        self.counted = Counted(f, head, end)
        self.views: dict[tuple[object, ...], _View] = {}
        self.of: dict[int, tuple[_View, int]] = {}  # by the place of an access in the body: its view, and the constant of its address
        self.rename: dict[int, int] = {}
        self.behind: dict[int, int] = {}  # what is left in variables, by registers that the tail reads
        # (So it is called where a reason is given; in the text it has a number.)
        self.index = f.register(I64, "the loop")
        self.arrays = len(f.arrays)

    def run(self) -> list[Instr]:
        """What stands in the loop's place. Raises ``Kept``."""
        f = self.f
        counted = self.counted
        self._refuse()
        counted.count()
        body = _needed(f, counted.body, self._lasting())
        self._accesses(body)
        for bound in list(counted.lines.bounds):
            counted.hold(bound)
        trips = counted.rounds
        if trips < 0 and int(f.const_values[~trips]) < LEAST_TRIPS:
            raise Kept(f"it runs {f.const_values[~trips]} times only", counted.line)
        made = Writer(f, counted.line)
        for view in self.views.values():
            self._array(view, made)
        line = counted.line
        loop = [
            Instr(ops.FOR, VOID, self.index, [f.const(I64, 0), trips, f.const(I64, 1)], 0, line),
            *self._body(body),
            Instr(ops.END, VOID, NONE, [], 0, line),
        ]
        asked = self._lanes(counted.ahead.out + made.out, loop)
        return self._versions(made, loop, asked)

    # --- what can be done ---------------------------------------------------------------------------------------

    def _refuse(self) -> None:
        f = self.f
        for k in range(self.head + 1, self.end):
            instr = f.code[k]
            op = instr.op
            if IS_LOOP[op.code] and op.opens:
                raise Kept("it is not the innermost", instr.line)
        for instr in self.counted.body:
            op = instr.op
            if op.effect == ops.CALLS:
                raise Kept(
                    f"it calls {f.callees[instr.imm].name}" if op in ops.CALLING and instr.imm < len(f.callees) else "it takes memory of the stack", instr.line
                )
            if op in _REFUSED:
                raise Kept("it returns from within", instr.line)
            if op.effect in (ops.READS, ops.WRITES) and op is not ops.LOAD_AT and op is not ops.STORE_AT:
                raise Kept(f"it has {op.name} in it", instr.line)
        for instr in self.counted.body:
            if instr.dst >= 0 and not f.variable[instr.dst] and self.uses.outside(instr.dst, self.head, self.end):
                raise Kept("a value of its last iteration is used behind it", instr.line)

        # (What is told the value of the next iteration has one of an iteration too many behind the lanes.)
        read = {a for instr in self.counted.tail for a in instr.args}
        for instr in [] if self.counted.tests_first() else self.counted.then:
            if instr.dst >= 0 and f.variable[instr.dst] and (instr.dst in read or self.uses.outside(instr.dst, self.head, self.end)):
                raise Kept("a value of its last iteration but one is used behind it", instr.line)

    def _lasting(self) -> set[int]:
        """The variables that are written in the body and matter, besides those that the body reads."""
        return {v for v in self.counted.written if v not in self.counted.steps}

    def _accesses(self, body: list[Instr]) -> None:
        """Find the views."""
        lines = self.counted.lines
        for instr in body:
            if instr.op is not ops.LOAD_AT and instr.op is not ops.STORE_AT:
                continue
            store = instr.op is ops.STORE_AT
            if instr.type is PTR:
                raise Kept("it loads or stores pointers", instr.line)
            line = lines.address(instr, instr.args[int(store) :])
            if line is None:
                raise Kept("an address does not change by a constant from one iteration to the next", instr.line)
            size = instr.type.size
            if line.slope % size:
                raise Kept(f"an address changes by {line.slope} bytes, which is no multiple of its element's {size}", instr.line)
            if store and not line.slope:
                raise Kept("it stores to the same place in each iteration", instr.line)
            kind = (instr.type.bits, instr.type.is_float)
            key = (kind, line.constant % size, *line.rest())
            view = self.views.get(key)
            if view is None:
                view = self.views[key] = _View(line, instr.type, _pointer(self.f, line))
            view.low = min(view.low, line.constant)
            view.high = max(view.high, line.constant)
            view.written = view.written or store
            self.of[id(instr)] = (view, line.constant)

    def _array(self, view: _View, w: Writer) -> None:
        """The array of a view: its base and extent are computed in front of the loop."""
        f = self.f
        size = view.element.size
        step = abs(view.step)
        span = (view.high - view.low) // size
        line = view.line.more(view.low - view.line.constant).start()
        moved = NONE
        if step:
            moved = w.emit(ops.SUB, I64, [self.counted.rounds, f.const(I64, 1)])
            if step != 1:
                moved = w.emit(ops.MUL, I64, [moved, f.const(I64, step)])
        extent = f.const(I64, span + 1) if moved == NONE else w.emit(ops.ADD, I64, [moved, f.const(I64, span + 1)])
        back = f.const(I64, 0)
        if view.step < 0:
            view.last = moved
            back = w.emit(ops.MUL, I64, [moved, f.const(I64, -size)])
        terms = dict(line.terms)
        if view.pointer != NONE:
            del terms[view.pointer]
        offset = w.line_at_start(Line(64, line.constant, 0, terms))
        if view.step < 0:
            offset = w.emit(ops.ADD, I64, [offset, back])
        base = w.emit(ops.ADD, PTR, [view.pointer, offset]) if view.pointer != NONE else w.converted(offset, PTR)
        view.number = len(f.arrays)
        f.arrays.append(Array(_name(f, view.pointer), view.element, base, [extent], [], view.written, view=True))

    # --- the loop -------------------------------------------------------------------------------------------------

    def _body(self, body: list[Instr]) -> list[Instr]:
        """The body of the ``for``: registers of its own, accesses to the views."""
        f = self.f
        made = Writer(f, self.counted.line)
        indices: dict[tuple[int, int, int], int] = {}
        standing: set[int] = set()
        for instr in body:
            standing.update(instr.args)
        standing.add(self.counted.condition)
        w = Writer(f, self.counted.line)
        for table in (self.counted.before, self.counted.after):
            for register in table.values():
                if register in standing:
                    line = self.counted.lines.known[register]
                    assert line is not None
                    self.rename[register] = w.converted(self._value(line, w), f.types[register])
        made.out += w.out
        for instr in body:
            copy = self._extreme(instr)
            known = self.of.get(id(instr))
            self._registers(copy, made)
            if known is None:
                if copy.op in _SHIFTS:
                    _shift(f, copy, made)
                made.out.append(copy)
                continue
            view, constant = known
            place = (view.number, constant - view.low, 0)
            index = indices.get(place)
            if index is None:
                ahead = Writer(f, instr.line)
                index = indices[place] = self._index(view, (constant - view.low) // view.element.size, ahead)
                made.out[len(w.out) : len(w.out)] = ahead.out
            self._access(copy, view, index, made)
        return _needed(f, made.out, {instr.dst for instr in made.out if instr.dst >= 0 and f.variable[instr.dst]})

    def _extreme(self, instr: Instr) -> Instr:
        """A choice between two values by their comparison as the greater or the lesser of them; anything else as it is."""
        copy = instr.copy()
        if instr.op is not ops.SELECT:
            return copy
        compared = self.counted.lines.made.get(instr.args[0])
        if compared is None or compared.op not in _EXTREMES or compared.type is not instr.type:
            return copy
        chosen, other = instr.args[1], instr.args[2]
        if instr.type.is_float and compared.op not in _STRICT:
            return copy
        # (Which of two floats is NaN, or the 0 below 0, decides as it does there: a > b ? a : b is max(b, a), a > b ? b : a is min(a, b).)
        if [chosen, other] == compared.args:
            copy.op, copy.args = _EXTREMES[compared.op][0], [other, chosen]
        elif [other, chosen] == compared.args:
            copy.op, copy.args = _EXTREMES[compared.op][1], [other, chosen]
        return copy

    def _value(self, line: Line, w: Writer) -> int:
        """A line in the current iteration."""
        return w.line_at(line, self.index)

    def _registers(self, instr: Instr, made: Writer) -> None:
        """Registers of the ``for``'s own in an instruction's place."""
        f = self.f
        lines = self.counted.lines
        instr.args = [self.rename.get(lines.moved.get(a, a), lines.moved.get(a, a)) for a in instr.args]
        dst = instr.dst
        if dst < 0:
            return
        if not f.variable[dst]:
            instr.dst = self.rename[dst] = f.register(f.types[dst], f.names[dst])
        elif not self.uses.mentioned(dst, self.head, self.end):
            if dst not in self.rename:
                self.rename[dst] = f.register(f.types[dst], f.names[dst], True)
            instr.dst = self.rename[dst]

    def _index(self, view: _View, constant: int, w: Writer) -> int:
        """The index of an element in the current iteration."""
        f = self.f
        if not view.step:
            return f.const(I64, constant)
        step = abs(view.step)
        index = self.index if step == 1 else w.emit(ops.MUL, I64, [self.index, f.const(I64, step)])
        if view.step < 0:
            index = w.emit(ops.SUB, I64, [view.last, index])
        return w.emit(ops.ADD, I64, [index, f.const(I64, constant)]) if constant else index

    def _access(self, instr: Instr, view: _View, index: int, made: Writer) -> None:
        """An access to an address as one to a view."""
        f = self.f
        store = instr.op is ops.STORE_AT
        type_ = instr.type
        instr.mem = None
        instr.imm = view.number
        instr.type = view.element
        if store:
            operand = instr.args[0]
            if type_ is not view.element:
                operand = made.converted(operand, view.element)
            instr.op, instr.args = ops.STORE, [operand, index]
            made.out.append(instr)
            return
        instr.op, instr.args = ops.LOAD, [index]
        dst = instr.dst
        if type_ is view.element:
            made.out.append(instr)
            return
        instr.dst = f.register(view.element)
        made.out.append(instr)
        made.out.append(Instr(ops.CONVERT, type_, dst, [instr.dst], 0, instr.line, view.element))

    def _lanes(self, ahead: list[Instr], loop: list[Instr]) -> list[tuple[int, int, bool]]:
        """Make it a loop over lanes, if it can be one. Returns the views that are to be asked for."""
        f = self.f
        code = f.code
        f.code = [*ahead, *loop]
        try:
            nest = nest_of(f, len(ahead), len(f.code) - 1)
            for line, text in nest.obstacles:
                raise Kept(f"it {text}", line)
            variables = scalars(nest)
            only = nest.loops[0]
            self._private([scalar.variable for scalar in variables if scalar.kind == PRIVATE])
            chosen = adjacent(nest, variables, self.target) or strided(nest, variables, self.target, [])
            found = dependences(nest, True)
            if not chosen or not free(only, found):
                because = lanes_refusal(nest, only, found, variables, self.target)
                text = "its accesses are apart, and lanes do not have what it does with them" if because is None else because.because
                raise Kept(text, self.counted.line if because is None else because.line)
            mark(nest, only, variables, found)
            asked = [pair for pair in pairs(nest) if not self._told(pair)]
        finally:
            f.code = code
        if len(asked) > MOST_PAIRS:
            raise Kept(f"too many pointers may lead to one place: {len(asked)} pairs, where {MOST_PAIRS} are asked for", self.counted.line)
        return asked

    def _private(self, variables: list[int]) -> None:
        """What each iteration writes for itself is not to be read behind the loop."""
        read = {a for instr in self.counted.tail for a in instr.args}
        written = {new: old for old, new in self.rename.items()}
        for variable in variables:
            old = written.get(variable, variable)
            if old in read or self.uses.outside(old, self.head, self.end):
                raise Kept("a value of its last iteration is used behind it", self.counted.line)

    def _told(self, pair: tuple[int, int, bool]) -> bool:
        """Whether two views are known to be of different memory."""
        a, b = [next(view.pointer for view in self.views.values() if view.number == number) for number in pair[:2]]
        return a != NONE and b != NONE and self.pointers.apart(a, b)

    # --- what becomes of it -----------------------------------------------------------------------------------------

    def _versions(self, made: Writer, loop: list[Instr], asked: list[tuple[int, int, bool]]) -> list[Instr]:
        """The loop over lanes, and the loop as it is written for where that is not right."""
        f = self.f
        counted = self.counted
        line = counted.line
        out = [Instr(ops.BLOCK, VOID, NONE, [], 0, line), Instr(ops.BLOCK, VOID, NONE, [], 0, line), *counted.ahead.out]
        holds: list[tuple[Op, int, int]] = list(counted.holds)
        if counted.rounds >= 0:
            holds.insert(0, (ops.GE, counted.rounds, f.const(I64, LEAST_TRIPS)))
        for op, a, b in holds:
            _leave_unless(f, op, a, b, line, out)
        out += made.out
        condition = question(f, asked, line, out)
        if condition != NONE:
            _leave(f, condition, line, out)
        out += loop
        out += self._behind(line)
        if out[-1].op not in (ops.BR, ops.RET, ops.UNREACHABLE):
            out.append(Instr(ops.BR, VOID, NONE, [], 1, line))
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))
        out += shifted(f.code[self.head : self.end + 1], 1)
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))
        return out

    def _behind(self, line: int) -> list[Instr]:
        """What is done on the way out of the loop over lanes: variables get what the loop leaves in them."""
        f = self.f
        counted = self.counted
        w = Writer(f, line)
        last = w.emit(ops.SUB, I64, [counted.trips, f.const(I64, 1)])
        tail_reads = {a for instr in counted.tail for a in instr.args}
        left: list[tuple[int, int]] = []
        for variable in sorted(counted.steps):
            if variable in tail_reads or self.uses.outside(variable, self.head, self.end):
                left.append((variable, w.converted(w.line_at(counted.left_with(variable), last), f.types[variable])))
        rename: dict[int, int] = {variable: self.rename[variable] for variable in self._lasting() if variable in self.rename}
        copied = {instr.args[0]: instr.dst for instr in counted.body if instr.op is ops.COPY and instr.dst in self._lasting()}
        for register in sorted(tail_reads):
            if register not in counted.lines.made:
                continue
            value = counted.lines.of(register)
            if value is not None:
                rename[register] = w.converted(w.line_at(value, last), f.types[register])
            elif register in copied:
                rename[register] = self.rename.get(copied[register], copied[register])
            else:
                raise Kept("a value of its last iteration is used behind it", line)
        out = w.out
        for variable, value_ in left:
            out.append(Instr(ops.COPY, f.types[variable], variable, [value_], 0, line))
        for instr in shifted(counted.tail, 2):
            instr.args = [rename.get(a, a) for a in instr.args]
            out.append(instr)
        return out


def in_views(f: Function, target: Target, head: int, end: int, uses: Uses, pointers: Pointers) -> list[Instr]:
    """What a loop over pointers becomes: one over lanes, where that is right, and the loop as it is written.

    Args:
        f: the function; what it gains (registers, arrays) does no harm if the loop stays.
        target: the machine.
        head, end: the positions of the loop's brackets.
        uses, pointers: of the function's code.

    Raises ``Kept`` with the reason where it stays as it is.
    """
    arrays = len(f.arrays)
    try:
        return _Rewriter(f, target, head, end, uses, pointers).run()
    except Kept:
        del f.arrays[arrays:]
        raise


def _pointer(f: Function, line: Line) -> int:
    """The one pointer that an address is computed from, or NONE."""
    found = [operand for operand, coefficient in line.terms.items() if operand >= 0 and f.types[operand] is PTR]
    return found[0] if len(found) == 1 and line.terms[found[0]] == 1 else NONE


def _name(f: Function, pointer: int) -> str:
    return (f.names[pointer] if pointer != NONE else "") or f"memory{len(f.arrays)}"


def _needed(f: Function, body: list[Instr], lasting: set[int]) -> list[Instr]:
    """A body without what nobody reads."""
    read: set[int] = set(lasting)
    while True:
        count = len(read)
        kept: list[Instr] = []
        # (From its end: what is read has been written before, mostly.)
        for instr in reversed(body):
            if instr.dst < 0 or instr.dst in read or (not instr.op.pure and instr.op is not ops.LOAD_AT and instr.op is not ops.ADDRESS):
                kept.append(instr)
                read.update([a for a in instr.args if a >= 0])
        if len(read) == count:
            kept.reverse()
            return kept


def _shift(f: Function, instr: Instr, made: Writer) -> None:
    """A shift by a count modulo the width as one that lanes have."""
    type_ = instr.type
    instr.op = _SHIFTS[instr.op]
    count = made.emit(ops.AND, type_, [instr.args[1], f.const(type_, type_.bits - 1)])
    instr.args = [instr.args[0], count]


def _leave_unless(f: Function, op: Op, a: int, b: int, line: int, out: list[Instr]) -> None:
    holds = f.register(BOOL)
    out.append(Instr(op, I64, holds, [a, b], 0, line))
    _leave(f, holds, line, out)


def _leave(f: Function, holds: int, line: int, out: list[Instr]) -> None:
    """Go to the loop as it is written unless a condition holds."""
    otherwise = f.register(BOOL)
    out.append(Instr(ops.NOT, BOOL, otherwise, [holds], 0, line))
    out.append(Instr(ops.BR_IF, VOID, NONE, [otherwise], 0, line))
