"""The ``switches`` pass: a value that is compared with one constant after the other goes where it belongs by a table, or by halves.

::

    %a = eq.i32 %v, 0                     %i = convert.i64.i32 %v
    br_if 1, %a                           switch %i, 4
    %b = eq.i32 %v, 1                     br_case 1
    br_if 2, %b             →             br_case 2
    %c = eq.i32 %v, 3                     br_case 0
    if %c                                 br_case ...
      C
    end

Front ends write such chains for ``switch``, ``match`` and ``if … elif``. Where the constants are close to each other the machine jumps by a table of distances; what is
left are comparisons, which halve what is still possible. Which constants a table takes is decided as LLVM does (``SwitchLoweringUtils.cpp``, ``findJumpTables``, after
S. Kannan and T. Proebsting, *Correction to "Producing Good Code for the Case Statement"*, Software: Practice and Experience 24(2), 1994): as few parts as possible, each of
which fills a tenth of its range or more, and four constants or more to a table.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import DEEPEST, match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, U64, VOID, Type, limits

#: Chains of so many ranges at least are rewritten; a table takes as many (``MinimumJumpTableEntries``), and a tenth of its entries lead to no default (``JumpTableDensity``).
_LEAST: Final = 4
_FILLED: Final = 10
#: So many parts are tested in turn; more are halved first.
_IN_TURN: Final = 3
#: Tables begin with the number 0 where that takes so few entries more: no subtraction.
_FROM_ZERO: Final = 4
#: Chains within chains are rewritten to this depth, and tables of so many entries are looked for among so many ranges at most.
_NESTED: Final = 50
_MOST_RANGES: Final = 1000
_MOST_ENTRIES: Final = 1 << 16
#: Each body takes a bracket; what stands behind so many is another chain's.
_MOST_BODIES: Final = DEEPEST // 4
_LEAVES: Final = frozenset((ops.BR, ops.RET, ops.FAIL))

#: Where an arm is: behind the chain, at a branch, or code of its own.
_REST: Final = 0
_BRANCH: Final = 1
_BODY: Final = 2


class _Arm:
    """What is done for some values: go on behind the chain, branch (``depth`` brackets, as seen from the test), or the code from ``start`` to ``end``.

    ``level``: of the blocks that the chain opens, how many are around the test.
    """

    __slots__ = ("depth", "end", "kind", "level", "number", "start")

    def __init__(self, kind: int, level: int = 0, depth: int = 0, start: int = 0, end: int = 0) -> None:
        self.level = level
        self.kind = kind
        self.depth = depth
        self.start = start
        self.end = end
        #: Of a body, which it is in order.
        self.number = 0

    def same(self, other: _Arm) -> bool:
        return (
            self is other or (self.kind == other.kind == _BRANCH and self.depth - self.level == other.depth - other.level) or self.kind == other.kind == _REST
        )


class _Part:
    """Values next to each other, from ``low`` to ``high``, that go one way; or, of a table, several."""

    __slots__ = ("arm", "high", "low", "ranges")

    def __init__(self, low: int, high: int, arm: _Arm) -> None:
        self.low = low
        self.high = high
        self.arm = arm
        self.ranges: list[_Part] = []


class _Chain:
    """Tests of one value in a row: what is tested, the arms with their values, what is done for all others, where the chain ends, and how many blocks it opens."""

    __slots__ = ("arms", "end", "level", "line", "other", "type", "value")

    def __init__(self, value: int, type_: Type, line: int) -> None:
        self.value = value
        self.type = type_
        self.line = line
        self.arms: list[tuple[int, int, _Arm]] = []
        self.other = _Arm(_REST)
        self.end = -1
        self.level = 0


def run(f: Function, target: Target) -> None:
    """Rewrite the chains of ``f``."""
    tests = 0
    for instr in f.code:
        tests += instr.op is ops.EQ
    if tests >= _LEAST:
        walk = _Switches(f, target)
        made: list[Instr] = []
        walk.copy(0, len(f.code), made, 0)
        if walk.found:
            f.code = made


class _Switches:
    """One run of the pass."""

    __slots__ = ("code", "f", "found", "partner", "tables", "uses")

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.code = f.code
        self.tables = target.jump_tables()
        self.partner = match(f.code)
        self.found = False
        uses = [0] * len(f.types)
        for instr in f.code:
            for a in instr.args:
                if a >= 0:
                    uses[a] = uses[a] + 1
        self.uses = uses

    def copy(self, start: int, end: int, out: list[Instr], depth: int) -> None:
        """The code between two positions, chains rewritten."""
        code = self.code
        k = start
        while k < end:
            instr = code[k]
            if instr.op is ops.EQ and depth < _NESTED:
                chain = self.chain(k)
                if chain is not None:
                    self.found = True
                    _Dispatch(self, chain, depth).write(out)
                    k = chain.end
                    continue
            out.append(instr)
            k += 1

    # --- reading chains --------------------------------------------------------------------------------------------

    def chain(self, k: int) -> _Chain | None:
        """The chain that begins at ``k``, if there is one that is long enough."""
        found: _Chain | None = None
        code = self.code
        at = k
        level = bodies = 0
        while at < len(code) and bodies < _MOST_BODIES:
            if found is not None and code[at].op is ops.BLOCK:
                # (It might as well be around the tests in front of it.)
                level += 1
                at += 1
                continue
            test = self.test(at)
            if test is None or (found is not None and (test[0] != found.value or test[1] is not found.type)):
                break
            value, type_, low, high, inverted, condition, at_branch = test
            branch = code[at_branch]
            if found is None:
                found = _Chain(value, type_, branch.line)
                found.end = k
            if not branch.args or branch.args[0] != condition:
                break
            if branch.op is ops.BR_IF:
                arm = _Arm(_BRANCH, level, branch.imm)
                at = found.end = at_branch + 1
                found.level = level
                if inverted:
                    found.other = arm
                    found.arms.append((low, high, _Arm(_REST)))
                    break
                found.arms.append((low, high, arm))
                continue
            if branch.op is not ops.IF or inverted:
                break
            closed = self.partner[at_branch]
            if code[closed].op is not ops.END:
                # (What has alternatives ends a chain, or is one.)
                return self.alternatives(found, at_branch, low, high) if not found.arms else self.enough(found)
            if not self.keeps(value, at_branch + 1, closed):
                break
            found.arms.append((low, high, _Arm(_BODY, level, 0, at_branch + 1, closed)))
            at = found.end = closed + 1
            found.level = level
            bodies += 1
        return self.enough(found)

    def enough(self, found: _Chain | None) -> _Chain | None:
        return found if found is not None and len(found.arms) >= _LEAST else None

    def alternatives(self, found: _Chain, k: int, low: int, high: int) -> _Chain | None:
        """The chain that is an ``if`` at ``k`` with all its alternatives, if each tests the same value."""
        code, partner = self.code, self.partner
        at = k
        while True:
            following = partner[at]
            found.arms.append((low, high, _Arm(_BODY, 0, 0, at + 1, following)))
            op = code[following].op
            if op is ops.ELIF:
                test = self.test(following + 1)
                at = partner[following]
                if test is None or test[0] != found.value or test[1] is not found.type or test[4] or test[6] != at or code[at].args[0] != test[5]:
                    return None
                low, high = test[2], test[3]
                continue
            end = following
            if op is ops.ELSE:
                end = partner[following]
                found.other = _Arm(_BODY, 0, 0, following + 1, end)
            found.end = end + 1
            return self.enough(found)

    def test(self, k: int) -> tuple[int, Type, int, int, bool, int, int] | None:
        """A test at ``k`` of whether a value is a constant: the value, its type, the range, whether the opposite is asked, the condition, and what is behind."""
        code = self.code
        instr = code[k]
        op = instr.op
        type_ = instr.type
        if op is not ops.EQ and op is not ops.NE:
            return None
        if not type_.is_integer or type_.lanes or self.f.variable[instr.dst] or self.uses[instr.dst] != 1:
            return None
        a, b = instr.args
        if a < 0:
            a, b = b, a
        if a < 0 or b >= 0:
            return None
        number = int(self.f.const_values[~b])
        return a, type_, number, number, op is ops.NE, instr.dst, k + 1

    def keeps(self, value: int, start: int, end: int) -> bool:
        """Whether the chain goes on to test the same value behind code that falls out of its bracket, or the code does not."""
        if not self.f.variable[value] or self.code[end - 1].op in _LEAVES:
            return True
        return all(instr.dst != value for instr in self.code[start:end])


class _Dispatch:
    """What a chain becomes: its bodies each behind a block, the choice among them innermost."""

    __slots__ = ("bodies", "chain", "depth", "f", "out", "switches")

    def __init__(self, switches: _Switches, chain: _Chain, depth: int) -> None:
        self.switches = switches
        self.f = switches.f
        self.chain = chain
        self.depth = depth
        self.bodies: list[_Arm] = [chain.other] if chain.other.kind == _BODY else []
        self.bodies += [arm for _, _, arm in chain.arms if arm.kind == _BODY]
        for number, arm in enumerate(self.bodies):
            arm.number = number
        self.out: list[Instr] = []

    def emit(self, op: ops.Op, type_: Type, dst: int, args: list[int], imm: int = 0, source: Type = VOID) -> int:
        self.out.append(Instr(op, type_, dst, args, imm, self.chain.line, source))
        return dst

    def write(self, out: list[Instr]) -> None:
        """Append the code."""
        self.out = out
        count = len(self.bodies)
        level = self.chain.level
        for _ in range(level + count + 1):
            self.emit(ops.BLOCK, VOID, NONE, [])
        self.choose(self.parts(), 0)
        for body in self.bodies:
            self.emit(ops.END, VOID, NONE, [])
            inside: list[Instr] = []
            self.switches.copy(body.start, body.end, inside, self.depth + 1)
            outer = count - 1 - body.number
            _deepen(inside, outer, level - body.level)
            out += inside
            if not inside or inside[-1].op not in _LEAVES:
                self.emit(ops.BR, VOID, NONE, [], outer)
        self.emit(ops.END, VOID, NONE, [])

    # --- what goes where -------------------------------------------------------------------------------------------

    def parts(self) -> list[_Part]:
        """Ranges of values in order, tables where there can be."""
        ranges: list[_Part] = []
        seen: dict[int, _Arm] = {}
        for low, high, arm in self.chain.arms:
            for number in range(low, high + 1):
                seen.setdefault(number, arm)
        other = self.chain.other
        for number in sorted(seen):
            arm = seen[number]
            if arm.same(other):
                continue
            if ranges and ranges[-1].high == number - 1 and ranges[-1].arm.same(arm):
                ranges[-1].high = number
            else:
                ranges.append(_Part(number, number, arm))
        if not self.switches.tables or not _LEAST <= len(ranges) <= _MOST_RANGES:
            return ranges
        return _in_tables(ranges)

    def go(self, arm: _Arm, deeper: int) -> int:
        """How many brackets a branch to an arm leaves, from inside so many conditions."""
        if arm.kind == _BODY:
            return deeper + arm.number
        return deeper + len(self.bodies) + (arm.depth + 1 + self.chain.level - arm.level if arm.kind == _BRANCH else 0)

    # --- the choice ------------------------------------------------------------------------------------------------

    def choose(self, parts: list[_Part], deeper: int) -> None:
        """Go to the arm of a part, or where all other values go."""
        chain = self.chain
        if len(parts) > _IN_TURN:
            middle = len(parts) // 2
            below = self.emit(ops.LT, chain.type, self.f.register(BOOL), [chain.value, self.f.const(chain.type, parts[middle].low)])
            self.emit(ops.IF, VOID, NONE, [below])
            self.choose(parts[:middle], deeper + 1)
            self.emit(ops.END, VOID, NONE, [])
            parts = parts[middle:]
            if len(parts) > _IN_TURN:
                self.choose(parts, deeper)
                return
        for part in parts:
            if part.ranges:
                self.table(part, deeper)
            else:
                self.emit(ops.BR_IF, VOID, NONE, [self.within(part)], self.go(part.arm, deeper))
        self.emit(ops.BR, VOID, NONE, [], self.go(chain.other, deeper))

    def within(self, part: _Part) -> int:
        """Whether the value is in a range."""
        f = self.f
        type_ = self.chain.type
        value = self.chain.value
        if part.low == part.high:
            return self.emit(ops.EQ, type_, f.register(BOOL), [value, f.const(type_, part.low)])
        least, most = limits(type_)
        if part.low == least:
            return self.emit(ops.LE, type_, f.register(BOOL), [value, f.const(type_, part.high)])
        if part.high == most:
            return self.emit(ops.GE, type_, f.register(BOOL), [value, f.const(type_, part.low)])
        distance = self.distance(part.low)
        unsigned = self.emit(ops.CONVERT, U64, f.register(U64), [distance], 0, I64)
        return self.emit(ops.LE, U64, f.register(BOOL), [unsigned, f.const(U64, part.high - part.low)])

    def distance(self, low: int) -> int:
        """The value less a constant, in 64 bits."""
        f = self.f
        value = self.chain.value
        if self.chain.type is not I64:
            value = self.emit(ops.CONVERT, I64, f.register(I64), [value], 0, self.chain.type)
        if low:
            value = self.emit(ops.ADD, I64, f.register(I64), [value, f.const(I64, -low if low < 1 << 63 else (1 << 64) - low)])
        return value

    def table(self, part: _Part, deeper: int) -> None:
        """A switch for all that is in a part."""
        low = 0 if 0 < part.low <= _FROM_ZERO else part.low
        other = self.go(self.chain.other, deeper)
        entries = [other] * (part.high - low + 1)
        for within in part.ranges:
            for number in range(within.low, within.high + 1):
                entries[number - low] = self.go(within.arm, deeper)
        self.emit(ops.SWITCH, VOID, NONE, [self.distance(low), self.f.const(I64, len(entries))])
        for depth in entries:
            self.emit(ops.BR_CASE, VOID, NONE, [], depth)


def _deepen(body: list[Instr], outer: int, further: int) -> None:
    """Let branches out of a body leave so many brackets more; those that leave more than the one it was in, which ended where the choice ends, ``further`` ones."""
    inside = 0
    for instr in body:
        op = instr.op
        if op.closes and not op.opens:
            inside -= 1
        elif op.opens and not op.closes:
            inside += 1
        elif (op is ops.BR or op is ops.BR_IF or op is ops.BR_CASE) and instr.imm >= inside:
            instr.imm += outer + (further if instr.imm > inside else 0)


def _in_tables(ranges: list[_Part]) -> list[_Part]:
    """The ranges with those joined to tables that make the fewest parts: from the last on, the least number of parts for what is left, and where the first of them ends."""
    count = len(ranges)
    values = [0] * (count + 1)
    for n, part in enumerate(ranges):
        values[n + 1] = values[n] + part.high - part.low + 1
    fewest = [0] * (count + 1)
    last = list(range(count))
    for first in range(count - 1, -1, -1):
        fewest[first] = fewest[first + 1] + 1
        for end in range(count - 1, first, -1):
            span = ranges[end].high - ranges[first].low + 1
            if span > _MOST_ENTRIES or (values[end + 1] - values[first]) * 100 < span * _FILLED:
                continue
            parts = fewest[end + 1] + 1
            if parts < fewest[first]:
                fewest[first] = parts
                last[first] = end
            if parts == 1:
                break
    made: list[_Part] = []
    at = 0
    while at < count:
        end = last[at]
        if end - at + 1 < _LEAST:
            made += ranges[at : end + 1]
        else:
            table = _Part(ranges[at].low, ranges[end].high, ranges[at].arm)
            table.ranges = ranges[at : end + 1]
            made.append(table)
        at = end + 1
    return made
