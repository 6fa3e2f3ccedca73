"""The ``simplify`` pass: folding, value numbering, loop-invariant motion, multiply-add contraction, dead code.

One walk forwards gives every register a *value* (see ``algebra.Values``), replaces operands by the constant or the earliest
register of the same value, finds expressions computed before (in a table whose entries are in force as long as the bracket
they were made in is open), and puts operations whose operands do not change in a loop in front of it. One walk
backwards then drops what nobody uses and lets variables be written directly by what computes their value.

Variables are followed by value too: at a write their value becomes known; where ways through the
code meet, the values of those written on one of them are forgotten.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import LOOPS
from loopwright.passes import dead_code
from loopwright.passes.algebra import KEEP, RULES, Values
from loopwright.passes.flow import BRANCH, CALL, END, HOIST, KIND, LANES, LEAVE, LOAD, MIDDLE, NEVER, OPEN, STORE, Bracket
from loopwright.passes.memory import LoopStores, Memory, stores_of_loops
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID

#: In ``Values.level``: the value is (or was) held by a variable, so operands need a closer look.
_SPECIAL: Final = 1 << 20
_LEVEL: Final = _SPECIAL - 1
#: The value of an entry that a bracket that has ended made; no operand.
_CLOSED: Final = -(1 << 40)
#: Stores after which it is known what a load gives.
_STORED: Final[dict[ops.Op, ops.Op]] = {ops.STORE: ops.LOAD, ops.STORE_AT: ops.LOAD_AT}


def run(f: Function, target: Target) -> None:
    """Simplify ``f.code``."""
    walk = _Forward(f, target)
    walk.survey()
    walk.run()
    f.code = dead_code.remove(f, walk.buffers[0], walk.bit, walk.ends, walk.held_by, walk.held_uses, walk.held_since)
    if walk.removed or walk.guarded:
        _remove_brackets(f, walk)


def _key(op: ops.Op, instr: Instr, values: list[int]) -> tuple[int, ...]:
    """What identifies what ``op`` on such values gives."""
    first = op.code << 12 | instr.type.number
    if len(values) == 2:
        a, b = values
        return (first, b, a) if a > b and op.commutes else (first, a, b)
    if op.commutes and values[0] > values[1]:
        return (first, values[1], values[0], *values[2:])
    return (first, *values)


class _Forward(Values):
    """The forward walk."""

    __slots__ = (
        "arms",
        "arms",
        "bit",
        "brackets",
        "branches",
        "buffers",
        "code",
        "ends",
        "guarded",
        "held",
        "held_by",
        "held_since",
        "held_uses",
        "log",
        "logged",
        "loop_number",
        "loop_scope",
        "loop_stores",
        "loop_writes",
        "loops",
        "memory",
        "reads",
        "removed",
        "scopes",
        "skipped",
        "table",
        "target",
        "variables",
    )

    def __init__(self, f: Function, target: Target) -> None:
        Values.__init__(self, f, target.fused)
        self.target = target
        self.code = f.code
        #: Per loop in order: the variables written in it; what it stores.
        self.loop_writes: list[set[int]] = []
        self.loop_stores: list[LoopStores] = []
        self.loop_number = 0
        #: Brackets opened in code that is not reached; -1 in code that is.
        self.skipped = -1
        self.brackets: list[Bracket] = []
        self.loops: list[Bracket] = []
        #: The code so far: of the function, and for each open loop of what its guard lets in with it, and of its body. What is
        #: moved out of loops goes to the end of one further out.
        self.buffers: list[list[Instr]] = [[]]
        #: Per expression the number of its entry, and per entry the value that it has, or ``_CLOSED``.
        self.table: dict[tuple[int, ...], int] = {}
        self.held: list[int] = []
        #: Entries made since each open bracket (or branch of one) began; per buffer inside, how many scopes are outside.
        self.scopes: list[list[int]] = [[]]
        self.loop_scope: list[int] = []
        #: (variable, value before, number) of every change, so that the other branch of an if can begin from before the first.
        self.log: list[tuple[int, int, int]] = []
        self.logged = 0
        self.memory = Memory(f)
        self.variables = False
        self.bit: list[int] = []
        self.reads = 0
        #: Per register, the variable that was made a copy of it last, and the instructions that used it while it still was.
        self.held_by: dict[int, int] = {}
        #: The copy that made it so, unless there was another one in a loop inside.
        self.held_since: dict[int, Instr] = {}
        self.held_uses: dict[int, list[Instr]] = {}
        #: Brackets in the order of their ends; branches with the bracket they go to; openers of those that are to vanish.
        self.ends: list[Bracket] = []
        self.branches: list[tuple[Instr, Bracket]] = []
        self.removed: set[int] = set()
        #: Some loop got a guard in front of it.
        self.guarded = False
        #: By ``elif`` and ``else``: what opens brackets that have one, once somebody has asked.
        self.arms: dict[ops.Op, set[int]] | None = None

    # --- before the walk ----------------------------------------------------------------------------------

    def survey(self) -> None:
        """Count uses; find what each loop writes and stores; take variables that are written once for what they are."""
        f = self.f
        count = self.count
        self.variables = any(f.variable)
        if self.variables:
            self._find_single_writes()
        variable = f.variable
        kinds = KIND
        brackets: list[int] = []  # the loop that each open bracket is, -1 for those that are none
        loops: list[int] = []  # of those the loops
        writes = self.loop_writes
        for instr in self.code:
            for a in instr.args:
                if a >= 0:
                    count[a] = count[a] + 1
            kind = kinds[instr.op.code]
            d = instr.dst
            if d >= 0 and loops and variable[d]:
                writes[loops[-1]].add(d)
            if kind == OPEN:
                if instr.op in LOOPS:
                    brackets.append(len(writes))
                    loops.append(len(writes))
                    writes.append(set())
                else:
                    brackets.append(-1)
            elif kind == END and brackets.pop() >= 0:
                inner = loops.pop()
                if loops:
                    writes[loops[-1]] |= writes[inner]
        if writes:
            self.loop_stores = stores_of_loops(f, self.memory.places)
        bit = [0] * len(variable)
        if self.variables:
            self.variables = any(variable)
            one = 1
            for r in range(len(variable)):
                if variable[r]:
                    bit[r] = one
                    one <<= 1
                    # What a variable holds at entry: of a parameter its argument, of others nothing.
                    self.current[r] = self.unknown(r)
            self.log.clear()
        self.bit = bit

    def _find_single_writes(self) -> None:
        """A variable written once, before all its uses and in a bracket around them, is none."""
        f = self.f
        variable = f.variable
        writes = [0] * len(variable)
        region_of = [-1] * len(variable)
        for p in f.params:
            writes[p] = 1
            region_of[p] = 0
        is_open = [True]
        stack = [0]
        for instr in self.code:
            op = instr.op
            if op.closes:
                is_open[stack.pop()] = False
            for a in instr.args:
                if a >= 0 and variable[a] and (region_of[a] < 0 or not is_open[region_of[a]]):
                    writes[a] = 2
            d = instr.dst
            if d >= 0 and variable[d]:
                writes[d] += 1
                region_of[d] = stack[-1]
            if op.opens:
                stack.append(len(is_open))
                is_open.append(True)
        for instr in self.code:
            if instr.loop is not None:
                for v, _op, _identity in instr.loop.accumulators:
                    writes[v] = 2
        for r in range(len(variable)):
            if variable[r] and writes[r] < 2:
                variable[r] = False

    # --- the walk -----------------------------------------------------------------------------------------

    def run(self) -> None:
        """Walk over the code: operations that only compute are dealt with here, everything else in a method for its kind."""
        variable = self.f.variable
        types = self.f.types
        current = self.current
        level = self.level
        opaque = self.opaque
        buffers = self.buffers
        table = self.table
        held = self.held
        kinds = KIND
        hoist = HOIST
        rules = RULES
        out = buffers[0]
        depth = 0
        scope = self.scopes[0]
        for instr in self.code:
            kind = kinds[instr.op.code]
            if self.skipped >= 0 and self.skip(instr, kind):
                continue
            args = instr.args
            values = [current[a] if a >= 0 else a for a in args]
            if kind > LOAD:
                self.stay(instr, kind, args, values)
                out = buffers[-1]
                depth = len(buffers) - 1
                scope = self.scopes[-1]
                continue
            dst = instr.dst
            rule = rules[instr.op.code]
            if rule is not None:
                value = rule(self, instr, values)
                if value != KEEP:
                    self.assign(instr, dst, value, out)
                    continue
            op = instr.op
            # The same operation on the same values, made before?
            key = self.memory.key(op, instr, values, 0) if kind == LOAD or instr.mem is not None else _key(op, instr, values)
            entry = table.setdefault(key, len(held))
            if entry == len(held):
                held.append(_CLOSED)
            else:
                found = held[entry]
                if found != _CLOSED and (found < opaque or current[self.homes[found - opaque]] == found):
                    self.assign(instr, dst, current[found] if 0 <= found < opaque else found, out)
                    continue
            place = 0
            for a in values:
                if a >= 0:
                    deep = level[a]
                    if deep > place:  # noqa: PLR1730 (the hottest loop of the compiler: no calls)
                        place = deep
            written = variable[dst]
            how = hoist[op.code]
            moves = kind == LOAD and depth > 0 and not written and self.moves(instr)
            fixed = (how == NEVER and not moves) or written or (how == LANES and types[dst] is BOOL)
            if place >= _SPECIAL:
                place = self.operands(instr, args, values, fixed)
            else:
                instr.args = values
            if fixed or place > depth:
                # (Deeper: what a loop that has been left at its end computed.)
                place = depth
            elif moves and place < depth:
                place = depth - 1
                self.loops[-1].moved[self.target.class_of(instr.type)] += 1
            if written:
                held[entry] = self.unknown(dst)
            else:
                level[dst] = place
                self.made_by[dst] = instr
                self.made_from[dst] = values
                held[entry] = dst
            if place == depth:
                scope.append(entry)
                out.append(instr)
            else:
                self.scopes[self.loop_scope[place]].append(entry)
                buffers[place].append(instr)

    def skip(self, instr: Instr, kind: int) -> bool:
        """Whether ``instr`` is passed over in code that is not reached: all is, up to the end of the bracket or the next branch of it."""
        if kind == OPEN:
            self.skipped += 1
            if instr.op in LOOPS:
                self.loop_number += 1
            return True
        if self.skipped > 0:
            if kind == END:
                self.skipped -= 1
            return True
        return kind != MIDDLE and kind != END

    def stay(self, instr: Instr, kind: int, args: list[int], values: list[int]) -> None:
        """Everything that does more than compute a value stays where it is."""
        level = self.level
        for a in values:
            if a >= 0 and level[a] >= _SPECIAL:
                self.operands(instr, args, values, True)
                break
        else:
            instr.args = values
        if kind == STORE:
            self.store(instr, values)
        elif kind == CALL:
            self.call(instr)
        elif kind == BRANCH:
            self.branch(instr, values)
        elif kind == LEAVE:
            self.doubt()
            self.buffers[-1].append(instr)
            self.skipped = 0
        elif kind == OPEN:
            self.enter(instr, values)
        elif kind == MIDDLE:
            self.middle(instr)
        elif kind == END:
            self.skipped = -1 if self.end(instr, self.skipped < 0) else 0
        else:
            self.buffers[-1].append(instr)

    def store(self, instr: Instr, values: list[int]) -> None:
        """A store: a load of the same gives what is stored."""
        if instr.args and instr.args[0] < 0 and (instr.op in ops.UNMASKED or instr.op is ops.SCATTER_AT):
            if not self.f.const_values[~instr.args[0]]:
                # What is left out uses nothing: `held_uses` may have it.
                instr.args = []
                return
            without = ops.UNMASKED.get(instr.op)
            if without is not None:
                instr.op = without
                instr.args = instr.args[1:]
        values = values[len(values) - len(instr.args) :]
        self.memory.store(instr, values)
        load = _STORED.get(instr.op)
        if load is not None:
            held = self.held
            value = values[0]
            entry = self.table.setdefault(self.memory.key(load, instr, values, 1), len(held))
            if entry == len(held):
                held.append(value)
            else:
                held[entry] = value
            self.scopes[-1].append(entry)
            if 0 <= value < self.opaque:
                # The store stays where the load goes.
                self.count[value] += 1
        self.buffers[-1].append(instr)

    def call(self, instr: Instr) -> None:
        """A call, which may change what is in memory."""
        self.memory.call()
        dst = instr.dst
        if dst >= 0:
            if self.f.variable[dst]:
                self.unknown(dst)
            else:
                self.level[dst] = len(self.buffers) - 1
                self.made_by[dst] = instr
        self.buffers[-1].append(instr)

    def learn(self, condition: int, holds: bool) -> None:
        """What a branch has decided is known until the bracket around (or the branch of it) ends."""
        if condition >= 0 and not self.f.variable[condition] and self.current[condition] == condition:
            if self.brackets:
                self.brackets[-1].facts.append(condition)
            self.current[condition] = self.f.const(BOOL, holds)

    def unlearn(self, bracket: Bracket) -> None:
        """The end of what was known in a bracket, or in a branch of it."""
        for condition in bracket.facts:
            self.current[condition] = condition
        bracket.facts.clear()

    def unknown(self, variable: int) -> int:
        """Give a variable a value of its own, not known to be any other."""
        value = self.opaque + len(self.homes)
        self.homes.append(variable)
        self.level.append((len(self.buffers) - 1) | _SPECIAL)
        self.logged += 1
        self.log.append((variable, self.current[variable], self.logged))
        self.current[variable] = value
        return value

    def assign(self, instr: Instr, dst: int, value: int, out: list[Instr]) -> None:
        """``dst`` gets a value that already exists."""
        current = self.current
        opaque = self.opaque
        register = value
        if self.f.variable[dst]:
            if current[dst] == value:
                return
            if value >= opaque:
                register = self._register_of(instr, value)
            self.logged += 1
            self.log.append((dst, current[dst], self.logged))
            current[dst] = value
            if 0 <= value < opaque and self.made_by[value] is not None and self.level[value] & _LEVEL == len(self.buffers) - 1:
                self.held_by[value] = dst
                self.held_since[value] = instr
                self.held_uses[value] = []
                self.level[value] |= _SPECIAL
            elif value in self.held_since and self.held_by[value] == dst:
                # What uses it from here on sees this copy, which may be one that nobody wants.
                del self.held_since[value]
        else:
            current[dst] = value
            if value < opaque:
                if value >= 0:
                    self.count[value] += self.count[dst] - 1
                return
            # A variable's value of this moment, which may be wanted after the variable has been written again.
            register = self._register_of(instr, value)
            self.level[dst] = len(self.buffers) - 1
        if register >= 0 and self.bit[register]:
            self.reads |= self.bit[register]
        instr.op = ops.COPY
        instr.type = self.f.types[dst]
        instr.source = VOID
        instr.args = [register]
        instr.imm = 0
        instr.mem = None
        out.append(instr)

    def _register_of(self, instr: Instr, value: int) -> int:
        """A register that holds an opaque value now: its variable, or an operand of ``instr`` that is a copy of it."""
        home = self.homes[value - self.opaque]
        if self.current[home] == value:
            return home
        for a in instr.args:
            if a >= 0 and self.current[a] == value:
                return a
        raise AssertionError("a value without a register")

    def operands(self, instr: Instr, args: list[int], values: list[int], fixed: bool) -> int:
        """Give ``instr`` registers that hold ``values``, some of which variables hold or held. Returns the deepest loop among them."""
        level = self.level
        current = self.current
        opaque = self.opaque
        bit = self.bit
        place = 0
        chosen: list[int] = []
        held: list[int] = []
        for value in values:
            register = value
            if value >= 0:
                deep = level[value]
                if value >= opaque:
                    register = self.homes[value - opaque]
                    if current[register] != value:
                        # The variable has been written since; an operand was a copy of it.
                        register = self._register_of(instr, value)
                        if bit[register]:
                            # (Another variable, which holds it here, but not in front of the loop.)
                            deep = len(self.buffers) - 1
                        elif level[register] > deep & _LEVEL:
                            deep = level[register]
                    if bit[register]:
                        self.reads |= bit[register]
                elif deep >= _SPECIAL and current[self.held_by[value]] == value:
                    held.append(value)
                deep &= _LEVEL
                place = max(place, deep)
            chosen.append(register)
        instr.args = chosen
        if held and (fixed or place >= len(self.buffers) - 1):
            for value in held:
                users = self.held_uses[value]
                if not users or users[-1] is not instr:
                    users.append(instr)
        return place

    def moves(self, instr: Instr) -> bool:
        """Whether a load gives the same in every step of the loop around, and is made in the first.

        Half of the registers are left to the body.
        """
        loop = self.loops[-1]
        if loop.doubts:
            return False
        cls = self.target.class_of(instr.type)
        return loop.moved[cls] < len(self.target.orders[cls]) // 2 and self.loop_stores[loop.loop].keeps(instr)

    # --- brackets -----------------------------------------------------------------------------------------

    def enter(self, instr: Instr, values: list[int]) -> None:
        """What opens a bracket; where the condition of an if is known, what that decides."""
        if instr.op is ops.IF and values[0] < 0 and not self._has(ops.ELIF, instr):
            # A bracket stays, because branches may leave it; mostly it vanishes in the end.
            taken = bool(self.f.const_values[~values[0]])
            instr.op = ops.BLOCK
            instr.args = []
            self.open(instr)
            self.brackets[-1].taken = taken
            if not taken:
                self.brackets[-1].falls = True
                self.skipped = 0
        else:
            self.open(instr)
            if instr.op is ops.IF and values[0] < self.opaque:
                self.brackets[-1].condition = values[0]
                self.learn(values[0], True)
        depth = len(self.buffers) - 1
        if instr.dst >= 0:
            self.level[instr.dst] = depth
        if instr.loop is not None and instr.loop.mask != NONE:
            self.level[instr.loop.mask] = depth

    def _has(self, op: ops.Op, opener: Instr) -> bool:
        """Whether a bracket has an ``elif``, or an ``else``."""
        if self.arms is None:
            self.arms = {ops.ELIF: set(), ops.ELSE: set()}
            opened: list[int] = []
            for instr in self.code:
                arms = self.arms.get(instr.op)
                if arms is not None:
                    arms.add(opened[-1])
                elif instr.op is ops.END:
                    opened.pop()
                elif instr.op.opens and not instr.op.closes:
                    opened.append(id(instr))
        return id(opener) in self.arms[op]

    def open(self, instr: Instr) -> None:
        """Open a bracket."""
        number = -1
        if instr.op in LOOPS:
            number = self.loop_number
            self.loop_number += 1
        bracket = Bracket(instr, number, len(self.log), len(self.scopes), len(self.brackets))
        self.brackets.append(bracket)
        if number < 0:
            self.buffers[-1].append(instr)
            if instr.op is ops.IF:
                if self.loops:
                    self.loops[-1].doubts += 1
                if self._has(ops.ELSE, instr) and not self._has(ops.ELIF, instr):
                    bracket.memory = self.memory.state()
        else:
            self.loops.append(bracket)
            bracket.moved = [0] * len(self.target.orders)
            if instr.op is ops.FOR and self.runs(instr) is False:
                bracket.doubts = 1
            self.loop_scope.append(len(self.scopes) - 1)
            self.scopes.append([])
            self.loop_scope.append(len(self.scopes) - 1)
            self.buffers.append([])
            self.buffers.append([instr])
            bracket.reads = self.reads
            self.reads = 0
            for v in self.loop_writes[number]:
                self.unknown(v)
            self.memory.enter(self.loop_stores[number])
        self.scopes.append([])

    def runs(self, instr: Instr) -> bool | None:
        """Whether a ``for`` has a first step; None where that is not known yet."""
        lo, hi, step = instr.args
        if lo >= 0 or hi >= 0:
            return None
        value = self.f.const_values
        return value[~lo] < value[~hi] if value[~step] > 0 else value[~lo] > value[~hi]

    def branch(self, instr: Instr, values: list[int]) -> None:
        """A branch carries what was written on its way to the end of the bracket it leaves."""
        if instr.op is ops.BR_IF and values[0] < 0:
            if not self.f.const_values[~values[0]]:
                return
            instr.op = ops.BR
            instr.args = []
        bracket = self.brackets[-1 - instr.imm]
        bracket.targeted = True
        if instr.imm:
            self.brackets[-1].leads |= 1 << bracket.depth
        self.doubt()
        self.branches.append((instr, bracket))
        if bracket.loop < 0:
            self.note(bracket)
        self.buffers[-1].append(instr)
        if instr.op is ops.BR:
            self.skipped = 0
        elif instr.op is ops.BR_IF and values[0] < self.opaque:
            self.learn(values[0], False)

    def doubt(self) -> None:
        """The loops around may be left here: what follows need not run in their first step."""
        for loop in self.loops:
            loop.doubts += 1

    def note(self, bracket: Bracket) -> None:
        """Note what was written since the bracket was opened and is not noted yet."""
        log = self.log
        k = len(log) - 1
        while k >= bracket.mark and log[k][2] > bracket.noted:
            bracket.written.add(log[k][0])
            k -= 1
        bracket.noted = self.logged

    def _unwind(self, bracket: Bracket, mark: int, falls: bool) -> None:
        """Back to the values of variables at ``mark``; what was written since counts at the bracket's end if that is reached."""
        log = self.log
        current = self.current
        while len(log) > mark:
            v, value, _number = log.pop()
            current[v] = value
            if falls:
                bracket.written.add(v)

    def _shorten_log(self, bracket: Bracket) -> None:
        """Of what was written several times since the bracket was opened, only the value before the first time is of use from its end on."""
        log = self.log
        if len(log) - bracket.mark <= 2 * len(bracket.written):
            return
        first: list[tuple[int, int, int]] = []
        seen: set[int] = set()
        for k in range(bracket.mark, len(log)):
            if log[k][0] not in seen:
                seen.add(log[k][0])
                first.append(log[k])
        log[bracket.mark :] = first

    def _close_scopes(self, base: int) -> None:
        scopes = self.scopes
        held = self.held
        while len(scopes) > base:
            for entry in scopes.pop():
                held[entry] = _CLOSED

    def middle(self, instr: Instr) -> None:
        """``else``, ``elif``, ``then`` or ``do``."""
        bracket = self.brackets[-1]
        reached = self.skipped < 0
        if bracket.instr.op is ops.BLOCK:
            # What was an if with a known condition.
            bracket.falls = bracket.taken and reached
            self.skipped = 0 if bracket.taken else -1
            return
        self.skipped = -1
        op = instr.op
        if op is ops.ELSE or op is ops.ELIF:
            self.unlearn(bracket)
            if bracket.condition >= 0:
                self.learn(bracket.condition, False)
            bracket.falls |= reached
            self._unwind(bracket, bracket.branch_mark, reached)
            self._close_scopes(max(bracket.base, len(self.scopes) - 1))
            bracket.otherwise = op is ops.ELSE
            if bracket.memory is not None:
                bracket.memory = self.memory.back(bracket.memory)
        elif op is ops.THEN:
            # The condition's own code runs before this branch and all that follow.
            bracket.branch_mark = len(self.log)
        else:
            self.loops[-1].doubts += 1
        self.scopes.append([])
        self.buffers[-1].append(instr)

    def end(self, instr: Instr, reached: bool) -> bool:
        """Close a bracket; whether what follows is reached."""
        bracket = self.brackets.pop()
        if bracket.leads and self.brackets:
            around = self.brackets[-1]
            around.leads |= bracket.leads & ~(1 << around.depth)
        self.unlearn(bracket)
        op = bracket.instr.op
        self._close_scopes(bracket.base)
        if bracket.loop >= 0:
            body = self.buffers.pop()
            before = self.buffers.pop()
            out = self.buffers[-1]
            self.loops.pop()
            guard = self.guard(bracket.instr, before)
            out.extend(before)
            out.extend(body)
            self.loop_scope.pop()
            self.loop_scope.pop()
            inside = self.reads
            self.reads |= bracket.reads
            bracket.reads = inside
            for v in self.loop_writes[bracket.loop]:
                self.unknown(v)
            out.append(instr)
            self.ends.append(bracket)
            if guard is not None:
                out.append(Instr(ops.END, VOID, NONE, [], 0, instr.line))
                self.ends.append(guard)
            return reached or op is not ops.LOOP
        if op is ops.BLOCK:
            if bracket.targeted:
                self.note(bracket)
                self._shorten_log(bracket)
                for v in bracket.written:
                    self.unknown(v)
            else:
                self.removed.add(id(bracket.instr))
            follows = reached or bracket.falls or bracket.targeted
        else:
            if bracket.memory is not None and bracket.otherwise:
                self.memory.meet(bracket.memory)
            self._unwind(bracket, bracket.branch_mark, reached)
            self._unwind(bracket, bracket.mark, True)
            for v in bracket.written:
                self.unknown(v)
            if bracket.condition >= 0 and not (reached or bracket.falls or bracket.targeted or bracket.otherwise):
                # Only who did not go in is here.
                self.learn(bracket.condition, False)
            follows = reached or bracket.falls or bracket.targeted or not bracket.otherwise
            if self.loops and op is ops.IF:
                self.loops[-1].doubts -= 1
        self.buffers[-1].append(instr)
        self.ends.append(bracket)
        return follows

    def guard(self, instr: Instr, before: list[Instr]) -> Bracket | None:
        """Make an ``if`` around a loop when it has something in front of it that must not run unless the loop does.

        (The condition of a while, and a loop without one, run once at least.)
        """
        if not before or instr.op is not ops.FOR or self.runs(instr):
            return None
        f = self.f
        lo, hi, step = instr.args
        up = f.const_values[~step] > 0
        condition = f.register(BOOL)
        self.bit.append(0)
        compare = ops.COMPARISONS["lt" if up else "gt"]
        out = self.buffers[-1]
        out.append(Instr(compare, I64, condition, [lo, hi], 0, instr.line))
        opener = Instr(ops.IF, BOOL, NONE, [condition], 0, instr.line)
        out.append(opener)
        self.guarded = True
        return Bracket(opener, -1, 0, 0)


def _remove_brackets(f: Function, walk: _Forward) -> None:
    """Drop the blocks that no branch leaves, and count the branches' depths anew."""
    target_of = {id(instr): id(bracket.instr) for instr, bracket in walk.branches}
    stack: list[int] = []
    #: By opener: how many brackets that stay are open with it.
    depth_of: dict[int, int] = {}
    depth = 0
    out: list[Instr] = []
    for instr in f.code:
        op = instr.op
        if op.opens and not op.closes:
            stack.append(id(instr))
            depth += id(instr) not in walk.removed
            depth_of[id(instr)] = depth
        if op is ops.END:
            if stack.pop() in walk.removed:
                continue
            depth -= 1
        elif id(instr) in walk.removed:
            continue
        target = target_of.get(id(instr))
        if target is not None:
            instr.imm = depth - depth_of[target]
        out.append(instr)
    f.code = out
