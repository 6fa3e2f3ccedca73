"""Between which bounds the integers of a function lie, at the places where somebody asks.

By abstract interpretation over intervals (P. Cousot and R. Cousot, "Abstract interpretation", POPL 1977): along the structured code, with what a register holds at each place; joined where ways meet; loops by
rounds over the whole function, each of which goes through all loops once, until what comes round tells nothing new; bounds that still move after some rounds become the type's (F. Bourdoncle,
"Efficient chaotic iteration strategies with widenings", 1993: the iterative strategy, whose time does not grow with the depth of loops). What a condition says of its operands holds where it leads. What wraps may be anything.
Only registers that the answer hangs on are followed (a backward slice: M. Weiser, "Program slicing", ICSE 1981).
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import Function, Instr
from loopwright.types import BOOL, Type, limits

__all__ = ["Range", "fits", "ranges_at", "result"]

Range = tuple[int, int]
#: The range of each register of which something is known. (As objects: the native build would take pairs of integers apart, and make new ones, wherever they are handed on.)
_Known = dict[int, Any]

#: The most that an array's extent is: no process has more bytes of addresses.
_EXTENT: Final = 1 << 47
#: Changes at a loop's head before what moves there is widened; rounds after which it is given up; rounds in which what was widened too far is taken back.
_CHANGES: Final = 1
_MOST_ROUNDS: Final = 20
_BACK: Final = 2
#: Functions with more instructions are not looked at: what is known is kept for each open bracket.
_MOST: Final = 4000
_NAMES: Final = {op.code: name for name, op in ops.COMPARISONS.items()}
_REMAINDERS: Final = (ops.REM_FLOOR, ops.REM_TRUNC)
_QUOTIENTS: Final = (ops.DIV_FLOOR, ops.DIV_TRUNC)
_COUNTS: Final = (ops.POPCOUNT, ops.LEADING_ZEROS, ops.TRAILING_ZEROS)
_JOINED: Final = (ops.COPY, ops.SELECT)
_UNDERSTOOD: Final = frozenset(
    (ops.BLOCK, ops.LOOP, ops.IF, ops.ELIF, ops.THEN, ops.ELSE, ops.FOR, ops.WHILE, ops.DO, ops.END, ops.BR, ops.BR_IF, ops.RET, ops.FAIL, ops.UNREACHABLE)
)


def ranges_at(f: Function, places: set[int]) -> dict[int, list[Range | None]]:
    """The ranges of the operands of some instructions of structured code.

    Args:
        f: the function, in a stage with brackets (before ``loops``).
        places: the instructions' places in ``f.code``.

    Returns:
        By place: for each operand its least and its greatest value, None where it is no scalar integer or nothing is known. Places that are never reached are left out, and all
        where the code is too long or has control flow that is not understood.
    """
    if len(f.code) > _MOST or any(instr.op.effect == ops.CONTROL and instr.op not in _UNDERSTOOD for instr in f.code):
        return {}
    walk = _Walk(f, places)
    known: _Known = {}
    for p in f.params:
        if p in walk.wanted and walk.counts(p):
            known[p] = limits(f.types[p])
    for array in f.arrays:
        for extent in array.extents:
            if extent in known:
                known[extent] = (0, _EXTENT)
    return walk.run(known)


class _Frame:
    """An open bracket: what is known where branches leave it, or begin it again."""

    __slots__ = ("again", "left", "loop")

    def __init__(self, loop: bool) -> None:
        self.loop = loop
        self.left: _Known | None = None
        self.again: _Known | None = None


def _join(a: _Known | None, b: _Known | None) -> _Known | None:
    """What is known where two ways meet; None is a way that nothing comes."""
    if a is None:
        return b
    if b is None:
        return a
    made: _Known = {}
    for r, one in a.items():
        other = b.get(r)
        if other is one:
            made[r] = one
        elif other is not None:
            made[r] = _hull(one, other)
    return made


def _hull(one: Any, other: Any) -> Any:
    """The least range that holds two."""
    low, high = one
    less, greater = other
    if low <= less and greater <= high:
        return one
    if less <= low and high <= greater:
        return other
    return min(low, less), max(high, greater)


class _Walk:
    """One run over a function."""

    def __init__(self, f: Function, places: set[int]) -> None:
        self.f = f
        self.code = f.code
        self.partner = match(f.code)
        self.places = places
        self.found: dict[int, list[Range | None]] = {}
        self.frames: list[_Frame] = []
        #: What made each register, and where registers were written last.
        self.made: dict[int, tuple[Instr, int]] = {}
        self.place: dict[int, int] = {}
        self.time = 0
        #: The registers that the answer hangs on; per place the next one, from there on, that is control flow or has to do with them.
        self.wanted = self.slice()
        self.stops = self.ahead()
        #: By the place of a loop: what is known at its head, and what came there in this round, from in front and from its end.
        self.heads: dict[int, _Known] = {}
        self.came: dict[int, _Known] = {}
        self.changes: dict[int, int] = {}
        #: The number of this round, 0 for those that take back; whether something in it was not known at a head.
        self.round = 0
        self.moved = False

    def run(self, known: _Known) -> dict[int, list[Range | None]]:
        """What is found, with what is known in the beginning."""
        while True:
            self.round += 1
            if self.round > _MOST_ROUNDS:
                return {}
            self.sweep(known)
            if not self.moved:
                break
        found = self.found
        self.round = 0
        # What was widened too far: what comes to the heads is enough, if no more comes there then (narrowing).
        for _ in range(_BACK):
            if self.came == self.heads:
                break
            self.heads = self.came
            self.sweep(known)
            if self.moved:
                break
            found = self.found
        return found

    def sweep(self, known: _Known) -> None:
        """One round over the function."""
        self.moved = False
        self.came = {}
        self.found = {}
        self.through(0, len(self.code), dict(known))

    def slice(self) -> set[int]:
        """The registers that operands at the places asked for are computed from, and those that they are compared with."""
        variable = self.f.variable
        made: list[Instr | None] = [None] * len(variable)
        writers: dict[int, list[Instr]] = {}  # of variables
        beside: dict[int, list[int]] = {}
        for instr in self.code:
            dst = instr.dst
            if dst < 0:
                continue
            if instr.op.code in _NAMES:
                a, b = instr.args[0], instr.args[1]
                for one, other in ((a, b), (b, a)):
                    known = beside.get(one)
                    if known is None:
                        beside[one] = [other]
                    else:
                        known.append(other)
            elif variable[dst]:
                several = writers.get(dst)
                if several is None:
                    writers[dst] = [instr]
                else:
                    several.append(instr)
            else:
                made[dst] = instr
        waiting = [a for k in self.places for a in self.code[k].args]
        wanted: set[int] = set()
        while waiting:
            r = waiting.pop()
            if r < 0 or r in wanted or not self.counts(r):
                continue
            wanted.add(r)
            waiting += beside.get(r, ())
            by = made[r]
            for instr in writers.get(r, ()) if by is None else (by,):
                if instr.op.effect == ops.PURE or instr.op is ops.FOR:
                    waiting += instr.args
        return wanted

    def ahead(self) -> list[int]:
        """Per place the next one to look at. Nothing that is asked for hangs on the others, nor on whole brackets, nor on what is behind the last place asked for."""
        code, wanted, places = self.code, self.wanted, self.places
        stops = [len(code)] * (len(code) + 1)
        matters = self.matters()
        k = self.end() - 1
        while k >= 0:
            instr = code[k]
            if instr.op is ops.END and self.partner[k] not in matters:
                # Over the whole bracket.
                begin = self.partner[k]
                stops[begin] = stops[k + 1]
                k = begin - 1
                continue
            stop = instr.op.effect == ops.CONTROL or k in places or instr.dst in wanted
            if not stop and instr.dst >= 0 and self.f.types[instr.dst] is BOOL:
                stop = instr.op.code not in _NAMES or any(a in wanted for a in instr.args)
            stops[k] = k if stop else stops[k + 1]
            k -= 1
        return stops

    def matters(self) -> set[int]:
        """Where the brackets begin in which there is a place asked for, something wanted is written, or a way out of them."""
        open_: list[int] = []
        found: set[int] = set()
        #: So many of the open ones, outermost first, are in ``found``.
        known = 0
        for k, instr in enumerate(self.code):
            op = instr.op
            reaches = len(open_) if k in self.places or instr.dst in self.wanted else 0
            if op.effect == ops.CONTROL:
                if op is ops.END:
                    open_.pop()
                    known = min(known, len(open_))
                elif op.opens and not op.closes:
                    open_.append(k)
                    # (What a loop counts through is written in it.)
                    reaches = len(open_) if instr.dst in self.wanted else 0
                elif op is ops.BR or op is ops.BR_IF:
                    # (Not of the one to whose end or beginning it goes, where nothing else is known then.)
                    if instr.imm:
                        found.update(open_[-instr.imm :])
                elif not op.closes:
                    reaches = len(open_)
            while known < reaches:
                found.add(open_[known])
                known += 1
        return found

    def end(self) -> int:
        """Behind the last place asked for, and the brackets that it is in."""
        last = max(self.places, default=-1)
        k = 0
        while k <= last:
            k = self.past(k)
        return k

    def counts(self, r: int) -> bool:
        """Whether a register holds a scalar integer or a bool."""
        type_ = self.f.types[r]
        return not type_.lanes and (type_.is_integer or type_ is BOOL)

    def of(self, known: _Known, operand: int) -> Range | None:
        """The range of an operand; None where nothing is known."""
        if operand >= 0:
            return known.get(operand)
        value = self.f.const_values[~operand]
        return (int(value), int(value)) if isinstance(value, (int, bool)) else None

    # --- control ------------------------------------------------------------------------------------------

    def through(self, start: int, end: int, known: _Known | None) -> _Known | None:
        """Walk from one place to another; None once nothing comes there."""
        code = self.code
        stops = self.stops
        k = start
        while True:
            k = stops[k]
            if k >= end:
                break
            instr = code[k]
            op = instr.op
            if known is None:
                # (What is skipped is balanced.)
                k = self.past(k)
                continue
            if op.effect != ops.CONTROL:
                self.straight(known, instr, k)
                k += 1
            elif op.opens:
                known = self.bracket(known, k)
                k = self.past(k)
            else:
                known = self.branch(known, instr)
                k += 1
        return known

    def past(self, k: int) -> int:
        """The place behind an instruction, or behind the whole bracket that it opens."""
        op = self.code[k].op
        if op.opens and not op.closes:
            while self.code[k].op is not ops.END:
                k = self.partner[k]
        return k + 1

    def branch(self, known: _Known, instr: Instr) -> _Known | None:
        op = instr.op
        if op is not ops.BR and op is not ops.BR_IF:
            return None
        frame = self.frames[-1 - instr.imm]
        leaves = dict(known)
        if op is ops.BR_IF:
            self.hold(leaves, instr.args[0], True)
            self.hold(known, instr.args[0], False)
        if frame.loop:
            frame.again = _join(frame.again, leaves)
        else:
            frame.left = _join(frame.left, leaves)
        return known if op is ops.BR_IF else None

    def bracket(self, known: _Known, k: int) -> _Known | None:
        """Walk through a bracket that opens at a place; what is known behind it."""
        op = self.code[k].op
        if op is ops.IF:
            return self.choice(known, k)
        if op is ops.BLOCK:
            frame = _Frame(False)
            self.frames.append(frame)
            end = self.through(k + 1, self.partner[k], dict(known))
            self.frames.pop()
            return _join(end, frame.left)
        # A loop, gone through once with what is known so far.
        before = self.heads.get(k)
        if self.round == 0:
            if before is None:
                self.moved = True
                return None
            head = before
        elif before is None:
            head = known
        else:
            head = self.raised(k, before, _join(before, known))
        frame = _Frame(True)
        self.frames.append(frame)
        behind, last = self.turn(dict(head), k)
        self.frames.pop()
        back = _join(last, frame.again)
        came = _join(known, back)
        assert came is not None
        self.came[k] = came
        joined = _join(head, came)
        if joined != head:
            self.moved = True
        if self.round:
            self.heads[k] = self.raised(k, head, joined)
        return behind

    def turn(self, head: _Known, k: int) -> tuple[_Known | None, _Known | None]:
        """One turn of a loop: what is known behind the loop, and where its body ends and goes on."""
        instr = self.code[k]
        middle = self.partner[k]
        if instr.op is ops.FOR:
            behind = dict(head)
            self.count(head, instr)
            return behind, self.through(k + 1, middle, head)
        if instr.op is ops.LOOP:
            return self.through(k + 1, middle, head), None
        asked = self.through(k + 1, middle, head)
        if asked is None:
            return None, None
        condition = self.code[middle].args[0]
        behind = dict(asked)
        self.hold(behind, condition, False)
        self.hold(asked, condition, True)
        return behind, self.through(middle + 1, self.partner[middle], asked)

    def choice(self, known: _Known, k: int) -> _Known | None:
        """An ``if`` with all that belongs to it."""
        frame = _Frame(False)
        self.frames.append(frame)
        other: _Known | None = dict(known)
        taken: _Known | None = known
        self.hold(known, self.code[k].args[0], True)
        if other is not None:
            self.hold(other, self.code[k].args[0], False)
        ends: _Known | None = None
        while True:
            stop = self.partner[k]
            ends = _join(ends, self.through(k + 1, stop, taken))
            op = self.code[stop].op
            k = stop
            if op is ops.END:
                break
            if op is ops.ELSE:
                taken, other = other, None
            else:
                then = self.partner[stop]
                asked = self.through(stop + 1, then, other)
                taken = other = None
                if asked is not None:
                    taken, other = asked, dict(asked)
                    self.hold(taken, self.code[then].args[0], True)
                    self.hold(other, self.code[then].args[0], False)
                k = then
        self.frames.pop()
        return _join(_join(ends, other), frame.left)

    def raised(self, k: int, head: _Known, joined: _Known | None) -> _Known:
        """What is known at a loop's head, with what comes to it; from some changes on what still moves becomes what the type holds."""
        assert joined is not None
        if joined == head:
            return head
        changes = self.changes[k] = self.changes.get(k, 0) + 1
        if changes <= _CHANGES:
            return joined
        made: _Known = {}
        for r, now in joined.items():
            before = head[r]
            if now is before:
                made[r] = now
                continue
            least, greatest = self.all(r)
            made[r] = now[0] if now[0] == before[0] else least, now[1] if now[1] == before[1] else greatest
        return made

    # --- what instructions give ---------------------------------------------------------------------------

    def all(self, r: int) -> Range:
        """What a register's type holds."""
        type_ = self.f.types[r]
        return (0, 1) if type_ is BOOL else limits(type_)

    def write(self, known: _Known, r: int, given: Range, instr: Instr) -> None:
        """A register gets a value."""
        least, greatest = self.all(r)
        known[r] = given if least <= given[0] and given[1] <= greatest else (least, greatest)
        self.time += 1
        self.made[r] = (instr, self.time)
        self.place[r] = self.time

    def count(self, known: _Known, instr: Instr) -> None:
        """What a loop counts through."""
        low, high, step = [self.of(known, a) for a in instr.args]
        given = self.all(instr.dst)
        if low is not None and high is not None and step is not None and step[0] > 0:
            given = (low[0], max(low[0], high[1] - 1))
        self.write(known, instr.dst, given, instr)

    def straight(self, known: _Known, instr: Instr, k: int) -> None:
        if k in self.places:
            self.found[k] = [self.of(known, a) for a in instr.args]
        if instr.dst >= 0 and self.counts(instr.dst):
            self.write(known, instr.dst, self.given(known, instr), instr)

    def given(self, known: _Known, instr: Instr) -> Range:
        """What an instruction gives; more than its type holds where it may wrap."""
        op = instr.op
        anything = self.all(instr.dst)
        if op.effect != ops.PURE or self.f.types[instr.dst] is BOOL:
            return anything
        if op in _COUNTS:
            return 0, instr.type.bits
        if op is ops.CONVERT:
            one = self.of(known, instr.args[0]) if instr.source.is_integer or instr.source is BOOL else None
            return one if one is not None else anything
        if op not in _JOINED and (instr.source.is_float or op.operands != ("T",) * len(instr.args)):
            return anything
        ranges: list[Range] = []
        for a in instr.args[1:] if op is ops.SELECT else instr.args:
            one = self.of(known, a)
            if one is None:
                return anything
            ranges.append(one)
        if op in _JOINED:
            return min([low for low, _ in ranges]), max([high for _, high in ranges])
        return result(op, ranges) or anything

    # --- what conditions say ------------------------------------------------------------------------------

    def hold(self, known: _Known, condition: int, holds: bool) -> None:
        """A condition holds, or does not."""
        found = self.made.get(condition)
        if found is None or self.f.variable[condition]:
            return
        instr, at = found
        op = instr.op
        if any(self.place.get(a, 0) > at for a in instr.args):
            # (What was compared has been written since.)
            return
        if op is ops.NOT:
            self.hold(known, instr.args[0], not holds)
        elif (op is ops.AND and holds) or (op is ops.OR and not holds):
            for a in instr.args:
                self.hold(known, a, holds)
        elif op.code in _NAMES and instr.mem is None and instr.type.is_integer and not instr.type.lanes:
            name = _NAMES[op.code]
            if not holds:
                name = ops.OPPOSITE[name]
                name = ops.ORDERED_EQUAL.get(name, name)
            self.compare(known, name, instr.args[0], instr.args[1])

    def compare(self, known: _Known, name: str, a: int, b: int) -> None:
        """What a comparison that holds says of its operands."""
        if name in ("gt", "ge"):
            name, a, b = "lt" if name == "gt" else "le", b, a
        x, y = self.of(known, a), self.of(known, b)
        if x is None or y is None:
            return
        if name == "lt" or name == "le":
            less = 1 if name == "lt" else 0
            self.tell(known, a, (x[0], min(x[1], y[1] - less)))
            self.tell(known, b, (max(y[0], x[0] + less), y[1]))
        elif name == "eq":
            both = (max(x[0], y[0]), min(x[1], y[1]))
            self.tell(known, a, both)
            self.tell(known, b, both)
        elif y[0] == y[1]:
            self.tell(known, a, (x[0] + (x[0] == y[0]), x[1] - (x[1] == y[0])))

    def tell(self, known: _Known, r: int, range_: Range) -> None:
        # (Where nothing is left, nothing comes.)
        if r >= 0 and range_[0] <= range_[1]:
            known[r] = range_


def result(op: ops.Op, ranges: list[Range]) -> Range | None:
    """The range of an operation on integers of some ranges, before it wraps; None where nothing can be said."""
    a, b = ranges[0], ranges[-1]
    corners: list[int] | None = None
    if op is ops.ADD:
        return a[0] + b[0], a[1] + b[1]
    if op is ops.SUB:
        return a[0] - b[1], a[1] - b[0]
    if op is ops.NEG:
        return -a[1], -a[0]
    if op is ops.ABS:
        return max(a[0], -a[1], 0), max(a[1], -a[0])
    if op is ops.MIN:
        return min(a[0], b[0]), min(a[1], b[1])
    if op is ops.MAX:
        return max(a[0], b[0]), max(a[1], b[1])
    if op is ops.MUL:
        corners = [x * y for x in a for y in b]
    elif op is ops.SHR and b[0] >= 0:
        corners = [x >> min(y, 64) for x in a for y in b]
    elif op is ops.SHL and b[0] >= 0 and b[1] < 64:
        corners = [x << y for x in a for y in b]
    if corners is not None:
        return min(corners), max(corners)
    if op is ops.AND and max(a[0], b[0]) >= 0:
        return 0, min([each[1] for each in (a, b) if each[0] >= 0])
    if op in (ops.OR, ops.XOR) and min(a[0], b[0]) >= 0:
        return 0, (1 << max(a[1], b[1]).bit_length()) - 1
    if op in _REMAINDERS:
        # (Of 0 it is 0.)
        if b[0] >= 0 and a[0] >= 0:
            return 0, min(a[1], max(b[1] - 1, 0))
        if b[0] >= 0 and op is ops.REM_FLOOR:
            return 0, max(b[1] - 1, 0)
    if op in _QUOTIENTS and a[0] >= 0 and b[0] >= 0:
        return (a[0] // b[1] if b[0] else 0), a[1] // max(b[0], 1)
    return None


def fits(range_: Range, type_: Type) -> bool:
    """Whether a type holds all of a range."""
    low, high = limits(type_)
    return low <= range_[0] and range_[1] <= high
