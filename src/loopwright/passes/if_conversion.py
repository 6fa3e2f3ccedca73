"""The ``if-convert`` pass: short branches of loops, which a core cannot guess, become choices.

::

    %c = lt.i64 %x, %y                    %t = sub.i64 %x, %y
    if %c                                 %d = lt.i64 %x, %y
      %k = add.i64 %k, 1                  %k' = add.i64 %k, 1
    else                        →         %k = select.i64 %d, %k', %k
      %x = sub.i64 %x, %y                 %e = lt.i64 %x, %y
    end                                   %x = select.i64 %e, %x, %t

Both arms run then, without the dozen or two cycles of a branch that was guessed wrong (J. R. Allen, K. Kennedy, C. Porterfield and J. Warren,
"Conversion of control dependence to data dependence", POPL 1983). It is done where the condition hangs on what is loaded or on what earlier conditions have made: what
follows a counter is guessed right. A search for an extreme, which finds a new one ever more seldom, keeps its branch, unless it has few turns at a time.
"""

from __future__ import annotations

import math
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.ir.loops import IS_LOOP
from loopwright.passes.elif_ import nested
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, PTR, VOID, Type, limits

#: Both arms together may have so many operations, and give so many variables a value.
_MOST: Final = 6
_VARIABLES: Final = 3
#: So many instructions are looked at to find what a value is made of.
_FOLLOWED: Final = 8
#: An arm may load so many elements that the other does not.
_LOADS: Final = 2
_ORDERED: Final = frozenset((ops.LT, ops.LE, ops.GT, ops.GE))
#: So many instructions of a turn are much.
_MUCH: Final = 12
#: Chains of ``elif`` with so many tests, in so many instructions, are looked at.
_TESTS: Final = 3
_LONGEST: Final = 24
#: What takes a cycle, or two or three.
_CHEAP: Final = frozenset(
    (ops.ADD, ops.SUB, ops.AND, ops.OR, ops.XOR, ops.SHL, ops.SHR, ops.NEG, ops.NOT, ops.MUL, ops.MIN, ops.MAX, ops.SELECT, ops.CONVERT, ops.COPY)
)
#: The same of floats, which are chosen between where the condition compares floats as wide.
_CHEAP_FLOATS: Final = frozenset((ops.ADD, ops.SUB, ops.NEG, ops.MUL, ops.ABS, ops.MIN, ops.MAX, ops.COPY, *ops.FUSED))


class _Open:
    """A bracket that is open.

    Attributes:
        op: what opened it.
        start: where it begins in the new code.
        middle: where its ``else`` is there; -1 before one has come.
        plain: it is an ``if`` whose arms may run both, so far.
    """

    __slots__ = ("middle", "op", "plain", "start")

    def __init__(self, op: ops.Op, start: int, plain: bool) -> None:
        self.op = op
        self.start = start
        self.middle = -1
        self.plain = plain


class _Arm:
    """What an arm does: operations, the variables' values at its end, at most one store. ``loaded`` has, by ``id``, the registers for loads that both arms begin with."""

    __slots__ = ("cost", "loaded", "made", "store", "values")

    def __init__(self) -> None:
        self.loaded: dict[int, int] = {}
        self.made: list[Instr] = []
        self.values: dict[int, int] = {}
        self.store: Instr | None = None
        self.cost = 0


class _Beside:
    """How an arm loads: whether it is the first, by which comparison; what else every turn loads; how much it has loaded so."""

    __slots__ = ("access", "compare", "first", "loads")

    def __init__(self, compare: Instr, access: Instr, first: bool) -> None:
        self.compare = compare
        self.access = access
        self.first = first
        self.loads = 0


def run(f: Function, target: Target) -> None:
    """Convert the branches of ``f`` that are worth it."""
    if not target.chooses_by(I64, I64):
        return
    choices = alternatives = False
    for instr in f.code:
        alternatives = alternatives or instr.op is ops.ELIF
        choices = choices or (instr.op is ops.SELECT and not instr.type.lanes)
    if alternatives:
        chains = _chains(f.code)
        if chains:
            f.code = nested(f.code, chains)
    if _computing(f.code):
        _Conversion(f, target).run()
    if choices:
        f.code = gathered(f)


def _computing(code: list[Instr]) -> bool:
    """Whether there is a branch in a loop that holds no other bracket and no vectors."""
    loops = 0
    #: Per open bracket: whether it is a loop.
    begun: list[bool] = []
    #: Whether the last bracket that began is a branch, and nothing in it so far is more than that.
    simple = False
    for instr in code:
        op = instr.op
        if op is ops.END:
            if simple and loops:
                return True
            simple = False
            loops -= begun.pop()
        elif op.opens and not op.closes:
            begun.append(IS_LOOP[op.code])
            loops += begun[-1]
            simple = op is ops.IF
        elif instr.type.lanes or (op.effect == ops.CONTROL and op is not ops.ELSE):
            simple = False
    return False


def _chains(code: list[Instr]) -> set[int]:
    """Where the short chains of ``elif`` in loops begin. (Longer ones are left to the pass ``switches``.)"""
    found: set[int] = set()
    heads: list[int] = []
    tests: list[int] = []
    loops = 0
    for k, instr in enumerate(code):
        op = instr.op
        if op.opens and not op.closes:
            heads.append(k)
            tests.append(1)
            loops += IS_LOOP[op.code]
        elif op is ops.THEN:
            tests[-1] += 1
        elif op is ops.END:
            head, count = heads.pop(), tests.pop()
            loops -= IS_LOOP[code[head].op.code]
            if loops and 1 < count <= _TESTS and k - head <= _LONGEST:
                found.add(head)
    return found


def gathered(f: Function) -> list[Instr]:
    """The code with choices by one condition right behind one another, where they were apart by what writes variables, such as those compared."""
    out: list[Instr] = []
    #: Since the last bracket: where registers are made, variables written, and the last choice by a condition is.
    made: dict[int, int] = {}
    last: dict[int, int] = {}
    written = -1
    for instr in f.code:
        op, dst = instr.op, instr.dst
        if op.effect == ops.CONTROL:
            made.clear()
            last.clear()
        at = last.get(instr.args[0], -1) if op is ops.SELECT and not f.variable[dst] else -1
        if 0 <= at < written and all(a < 0 or made.get(a, -1) <= at for a in instr.args):
            out.insert(at + 1, instr)
            for places in (made, last):
                for r, place in places.items():
                    if place > at:
                        places[r] = place + 1
            made[dst] = last[instr.args[0]] = at + 1
            written += 1
            continue
        if op is ops.SELECT and not instr.type.lanes:
            last[instr.args[0]] = len(out)
        if dst >= 0:
            made[dst] = len(out)
            if f.variable[dst]:
                written = len(out)
        out.append(instr)
    return out


class _Conversion:
    """One run of the pass."""

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        self.out: list[Instr] = []
        self.uses = [0] * len(f.types)
        #: By register: where it is written, whether that is inside an arm, and the innermost loop around.
        self.writes: dict[int, list[tuple[Instr, bool, int]]] = {}
        self.known: dict[int, bool] = {}
        arms = 0
        begun: list[bool] = []
        loops = [-1]
        for k, instr in enumerate(f.code):
            for a in instr.args:
                if a >= 0:
                    self.uses[a] += 1
            if instr.dst >= 0:
                self.writes.setdefault(instr.dst, []).append((instr, arms > 0, loops[-1]))
            op = instr.op
            if op.opens and not op.closes:
                begun.append(op is ops.IF)
                arms += op is ops.IF
                loops.append(k if IS_LOOP[op.code] else loops[-1])
            elif op is ops.END:
                arms -= begun.pop()
                loops.pop()

    def run(self) -> None:
        begun: list[_Open] = []
        loops: list[int] = []
        # By open bracket: what is sure to have been written in it so far.
        assigned: list[set[int]] = [set(self.f.params)]
        out = self.out
        for k, instr in enumerate(self.f.code):
            op = instr.op
            if op.effect != ops.CONTROL:
                assigned[-1].add(instr.dst)
                out.append(instr)
                continue
            if op is ops.END:
                closed = begun.pop()
                assigned.pop()
                out.append(instr)
                if IS_LOOP[closed.op.code]:
                    loops.pop()
                converted = closed.plain and len(loops) > 0 and self.convert(closed, loops, assigned)
                if begun and not converted:
                    begun[-1].plain = False
                continue
            if op is ops.ELSE and begun:
                begun[-1].middle = len(out)
                assigned[-1] = set()
            elif begun and not (op.opens and not op.closes):
                # It leaves the arm, or begins another.
                begun[-1].plain = False
            if op.opens and not op.closes:
                begun.append(_Open(op, len(out), op is ops.IF))
                assigned.append({instr.dst})
                if IS_LOOP[op.code]:
                    loops.append(k)
            out.append(instr)
        self.f.code = out

    # --- what is worth it ---------------------------------------------------------------------------------

    def unforeseen(self, r: int) -> bool:
        """Whether a value hangs on memory, or on what conditions have made, and not on counters alone."""
        if r < 0:
            return False
        seen = {r}
        open_ = [r]
        while open_:
            one = open_.pop()
            found = self.known.get(one)
            if found:
                self.known[r] = True
                return True
            if found is not None:
                continue
            variable = self.f.variable[one] if one < len(self.f.variable) else False
            for instr, in_arm, _ in self.writes.get(one, ()):
                if IS_LOOP[instr.op.code]:
                    continue
                if instr.op.effect != ops.PURE or (variable and in_arm):
                    self.known[r] = True
                    return True
                more = [a for a in instr.args if a >= 0 and a not in seen]
                seen.update(more)
                open_ += more
        self.known.update(dict.fromkeys(seen, False))
        return False

    def extreme(self, compare: Instr | None, arms: list[_Arm], loop: int) -> bool:
        """Whether an arm alone gives a variable what that was compared with, and nothing else in the loop gives it a value: what is kept at a bound goes to and fro."""
        if compare is None or (arms[0].values and arms[1].values):
            return False
        a, b = compare.args
        values = arms[0].values or arms[1].values
        ordered = compare.op is not ops.EQ and compare.op is not ops.NE
        for v, other in ((a, b), (b, a)):
            if values.get(v, v) == other and not (
                ordered and (self.adds_up(other, loop) or len([around for _, _, around in self.writes.get(v, ()) if around == loop]) > 1)
            ):
                return True
        return False

    def adds_up(self, r: int, loop: int) -> bool:
        """Whether a value is what a loop adds up from turn to turn: such a sum is the greatest so far again and again, where one of many numbers is ever more seldom."""
        written = [instr for instr, _, around in self.writes.get(r, ()) if around == loop]
        for step in written:
            # (What it is copied from, or a number more than.)
            if len(written) < _FOLLOWED and (step.op is ops.COPY or (step.op in (ops.ADD, ops.SUB) and min(step.args) < 0)):
                written += [instr for a in step.args if a != r for instr, _, around in self.writes.get(a, ()) if around == loop]
        # (What counts by a number is foreseen.)
        sums = [instr for instr in written if instr.op in (ops.ADD, ops.SUB) and min(instr.args) >= 0]
        given = {r, *[instr.dst for instr in written]}
        return any(
            self.f.variable[a] and (a in given or any(around == loop and not given.isdisjoint(instr.args) for instr, _, around in self.writes.get(a, ())))
            for total in sums
            for a in total.args
        )

    def seldom(self, compare: Instr, loops: list[int]) -> bool:
        """Whether a search for an extreme of floats has few turns at a time, as one through intervals or the rows of a triangle, each of them with something to compute: the branch is guessed wrong for as
        many of them as in a long one, and a choice is done in the time that a turn takes."""
        code = self.f.code
        head = code[loops[-1]]
        if not compare.type.is_float or head.op is not ops.FOR:
            return False
        indices = {code[k].dst for k in loops[:-1] if code[k].op is ops.FOR}
        if not any(self.hangs(a, indices, set()) for a in head.args[:2]):
            return False
        makers = [instr for a in compare.args if a >= 0 and not self.f.variable[a] for instr, _, _ in self.writes.get(a, ())]
        # (What is the least of a vector is that of many turns.)
        return bool(makers) and all(instr.op.effect == ops.PURE and not any(self.f.type_of(a).lanes for a in instr.args) for instr in makers)

    def begins_anew(self, variables: list[int], start: int, loops: list[int]) -> bool:
        """Whether a search for an extreme begins anew with each turn of a loop around, and computes much for each of its own turns, such as a distance: of the few best so far that it finds each is guessed wrong, and a choice is done
        while the next turn computes."""
        around = set(loops[:-1])
        if not any(loop in around for v in variables for _, _, loop in self.writes.get(v, ())):
            return False
        depth = 0
        for count, instr in enumerate(reversed(self.out[:start])):
            op = instr.op
            if op is ops.END:
                depth += 1
            elif op.opens and not op.closes:
                if IS_LOOP[op.code] and depth:
                    return True
                depth -= 1
                if depth < 0:
                    return IS_LOOP[op.code] and count >= _MUCH
        return False

    def hangs(self, r: int, indices: set[int], seen: set[int]) -> bool:
        """Whether a value is computed from one of some indices of loops."""
        open_ = [r]
        while open_:
            one = open_.pop()
            if one in indices:
                return True
            if one < 0 or one in seen:
                continue
            seen.add(one)
            open_ += [a for instr, _, _ in self.writes.get(one, ()) if not IS_LOOP[instr.op.code] for a in instr.args]
        return False

    def through_memory(self, r: int, variables: list[int]) -> bool:
        """Whether a value hangs on one of the variables by way of a load."""
        seen: set[tuple[int, bool]] = set()
        open_ = [(r, False)]
        while open_:
            one, loaded = open_.pop()
            if one < 0 or (one, loaded) in seen:
                continue
            if self.f.variable[one]:
                if loaded and one in variables:
                    return True
                continue
            seen.add((one, loaded))
            for instr, _, _ in self.writes.get(one, ()):
                below = loaded or instr.op.effect == ops.READS
                open_ += [(a, below) for a in instr.args]
        return False

    def overlaps(self, variables: list[int], arms: list[_Arm], loops: list[int]) -> bool:
        """Whether the core has the next turn of an outer loop to work on, while this one waits for its loads.

        The inner loop must be short, such as one that halves what is left, and begin with what the outer turns do not hand on.
        """
        if len(loops) < 2:
            return False
        for v in variables:
            for arm in arms:
                made = next((each for each in arm.made if each.dst == arm.values.get(v)), None)
                if made is not None and made.op in (ops.ADD, ops.SUB) and v in made.args and min(made.args) < 0:
                    return False
            if any(self.unforeseen(a) for instr, _, loop in self.writes.get(v, ()) if loop != loops[-1] for a in instr.args):
                return False
        return True

    def merges(self, compare: Instr | None, arms: list[_Arm]) -> bool:
        """Whether two loaded values are compared, of which the one or the other is taken, and its index moved on: which it is nobody foresees, and the load that comes next takes less than a branch that was guessed wrong."""
        if compare is None or any(len(arm.values) != 1 for arm in arms):
            return False
        loaded = [any(instr.op.effect == ops.READS for instr, _, _ in self.writes.get(a, ())) for a in compare.args]
        moved = [next(iter(arm.values.items())) for arm in arms]
        counted = [
            any(made.dst == value and made.op is ops.ADD and v in made.args and min(made.args) < 0 for made in arm.made)
            for (v, value), arm in zip(moved, arms, strict=True)
        ]
        return all(loaded) and all(counted) and moved[0][0] != moved[1][0]

    # --- the conversion -----------------------------------------------------------------------------------

    def convert(self, closed: _Open, loops: list[int], assigned: list[set[int]]) -> bool:
        """Replace the ``if`` that ends with the code so far, inside of ``loops``, by choices. False where it stays.

        ``assigned`` has what is sure to have a value in front of it, by open bracket: a choice reads both.
        """
        f, out = self.f, self.out
        condition = out[closed.start].args[0]
        middle = closed.middle if closed.middle >= 0 else len(out) - 1
        arms = [_Arm(), _Arm()]
        if condition < 0:
            return False
        codes = out[closed.start + 1 : middle], out[middle + 1 : -1]
        shared = self.shared(*codes)
        loads: list[Instr] = []
        for first, second in shared:
            into = self.register(first.type)
            loads.append(Instr(first.op, first.type, into, first.args, first.imm, first.line, first.source, first.mem))
            arms[0].loaded[id(first)] = arms[1].loaded[id(second)] = into
        before = out[closed.start - 1] if closed.start else None
        compare = before if before is not None and before.dst == condition and before.op.result == "M" and before.mem is None else None
        beside = self.beside(closed.start, compare)
        if not all(self.follow(code, arm, beside[n : n + 1]) for n, (code, arm) in enumerate(zip(codes, arms, strict=True))):
            return False
        variables = list(dict.fromkeys([*arms[0].values, *arms[1].values]))
        if arms[0].cost + arms[1].cost > _MOST or len(variables) > _VARIABLES or not self.unforeseen(condition):
            return False
        for v in variables:
            if not (v in arms[0].values and v in arms[1].values) and not any(v in written for written in assigned):
                return False
        if (
            variables == [v for v in variables if f.types[v] is BOOL]
            and len(variables) == 1
            and not arms[1].made
            and not arms[1].values
            and arms[0].store is None
            and arms[1].store is None
            and self.join(closed, variables[0], arms[0])
        ):
            return True
        if condition in variables:
            return False
        chosen = [f.types[v] for v in variables]
        if not self.same_store(arms):
            return False
        if arms[0].store is not None:
            chosen.append(arms[0].store.type)
        if compare is not None and not all(self.chooses_by(compare, type_) for type_ in chosen):
            compare = None
        if compare is None and not all(self.target.chooses_by_bool(type_) for type_ in chosen):
            return False
        if any(type_.is_float for type_ in chosen) and compare is None and (before is None or before.dst != condition or before.op in (ops.EQ, ops.NE)):
            # (What begins anew where a number is a certain one does so seldom.)
            return False
        if self.extreme(compare, arms, loops[-1]) and not (
            compare is not None and (self.seldom(compare, loops) or self.begins_anew(variables, closed.start, loops))
        ):
            return False
        if self.through_memory(condition, variables) and not self.overlaps(variables, arms, loops) and not self.merges(compare, arms):
            # A core that guesses goes on; a choice waits for the load, turn by turn.
            return False
        line = out[closed.start].line
        del out[closed.start :]
        if compare is not None and self.uses[condition] == 1:
            out.pop()
        out.extend(loads)
        bounds = self.bounds(variables, arms)
        out.extend(arms[0].made)
        out.extend(arms[1].made)
        self.store(arms, condition, compare, line)
        self.choose(variables, arms, condition, compare, line, bounds)
        return True

    def bounds(self, variables: list[int], arms: list[_Arm]) -> dict[int, Instr]:
        """By variable: the least or the greatest of it and another value that one arm makes of it, where the other leaves it as it is; taken out of the arm.

        What the next iteration waits for is that alone then, of a value that changes nothing where the arm is not the one that counts.
        """
        found: dict[int, Instr] = {}
        for arm, other in ((arms[0], arms[1]), (arms[1], arms[0])):
            for v, value in arm.values.items():
                made = next((each for each in arm.made if each.dst == value), None)
                if made is None or (made.op is not ops.MIN and made.op is not ops.MAX) or other.values.get(v, v) != v or made.args.count(v) != 1:
                    continue
                if (
                    made.args[made.args[0] == v] in variables
                    or any(value in each.args for each in arm.made)
                    or (arm.store is not None and value in arm.store.args)
                ):
                    continue
                if list(arm.values.values()).count(value) == 1:
                    found[v] = made
        for arm in arms:
            arm.made = [each for each in arm.made if all(each is not bound for bound in found.values())]
        return found

    def join(self, closed: _Open, variable: int, arm: _Arm) -> bool:
        """Conditions of several parts: a further part that is asked where the others hold, or where none does, and takes their place."""
        out = self.out
        condition = out[closed.start].args[0]
        line = out[closed.start].line
        op = self.relation(condition, variable, closed.start)
        if op is None:
            return False
        before = out[closed.start - 1]
        del out[closed.start :]
        if before.dst == condition != variable and self.uses[condition] == 1:
            out.pop()
        out.extend(arm.made)
        out.append(Instr(op, BOOL, variable, [variable, arm.values[variable]], 0, line))
        return True

    def relation(self, condition: int, variable: int, end: int) -> ops.Op | None:
        """AND where the condition in front of ``end`` is a variable's value, OR where it is the opposite, None where that is not known."""
        if condition == variable:
            return ops.AND
        asked = self.last(condition, end)
        made = self.last(variable, end)
        if asked is None:
            return None
        if asked.op is ops.NOT:
            given = asked.args[0]
            return ops.OR if given == variable or (made is not None and made.op is ops.COPY and made.args[0] == given) else None
        if made is None or asked.args != made.args or asked.type is not made.type or asked.mem is not None or made.mem is not None or variable in asked.args:
            return None
        names = [name for name, op in ops.COMPARISONS.items() if op is made.op]
        if not names or asked.type.is_float:
            return None
        if asked.op is made.op:
            return ops.AND
        opposite = ops.OPPOSITE[names[0]]
        return ops.OR if asked.op is ops.COMPARISONS[ops.ORDERED_EQUAL.get(opposite, opposite)] else None

    def last(self, register: int, end: int) -> Instr | None:
        """What has written a register last in the straight code in front of ``end``, if what that read is what it was."""
        written: set[int] = set()
        for k in range(end - 1, -1, -1):
            instr = self.out[k]
            if instr.op.effect == ops.CONTROL:
                break
            if instr.dst == register:
                return None if any(a in written for a in instr.args) else instr
            written.add(instr.dst)
        return None

    def shared(self, first: list[Instr], second: list[Instr]) -> list[tuple[Instr, Instr]]:
        """The loads that both arms make of the same place, whichever is taken, and that may be in front of both."""
        if not first or not second:
            return []
        there = self.early(second)
        return [(load, there[key]) for key, load in self.early(first).items() if key in there]

    def early(self, code: list[Instr]) -> dict[tuple[int, ...], Instr]:
        """By what they load: the loads of an arm in front of its stores, at addresses that it does not make."""
        found: dict[tuple[int, ...], Instr] = {}
        written: set[int] = set()
        for instr in code:
            mem = instr.mem
            if instr.op.effect not in (ops.PURE, ops.READS):
                break
            if instr.op is ops.LOAD_AT and mem is not None and not instr.type.lanes and written.isdisjoint(instr.args):
                key = (instr.type.number, mem.indexed, mem.scale, mem.disp, mem.size, mem.array, *instr.args)
                found.setdefault(key, instr)
            written.add(instr.dst)
        return found

    def beside(self, start: int, compare: Instr | None) -> list[_Beside]:
        """For each arm, how it may load what only it loads: which of two numbers is greater nobody foresees, and there is something that every turn accesses. Empty where it may not."""
        out = self.out
        if compare is None or compare.op not in _ORDERED or not self.chooses_by(compare, PTR):
            return []
        written: set[int] = set()
        best: Instr | None = None
        most = 0
        for instr in reversed(out[:start]):
            if instr.op.effect == ops.CONTROL:
                break
            mem = instr.mem
            if (
                instr.op is ops.LOAD_AT
                and mem is not None
                and mem.origin is None
                and mem.size > most
                and written.isdisjoint(instr.args)
                and instr.dst not in instr.args
            ):
                best, most = instr, mem.size
            written.add(instr.dst)
        return [_Beside(compare, best, first) for first in (True, False)] if best is not None else []

    def loaded(self, load: Instr, args: list[int], arm: _Arm, beside: _Beside) -> int:
        """The register of what an arm loads, from where it is if the arm counts, and elsewhere from what is there in any case; NONE where that is too little."""
        mem, there = load.mem, beside.access.mem
        if mem is None or there is None or mem.origin is not None or load.type.lanes or not mem.size or mem.size > there.size or beside.loads >= _LOADS:
            return NONE
        beside.loads += 1
        places: list[int] = []
        for operands, one in ((args, mem), (beside.access.args, there)):
            places.append(self.register(PTR))
            arm.made.append(
                Instr(ops.ADDRESS, PTR, places[-1], operands[-2:] if one.indexed else operands[-1:], 0, load.line, VOID, Mem(one.indexed, one.scale, one.disp))
            )
        if not beside.first:
            places.reverse()
        where, made = self.register(PTR), self.register(load.type)
        compare = beside.compare
        holds = self.register(BOOL)
        arm.made.append(Instr(compare.op, compare.type, holds, list(compare.args), compare.imm, compare.line))
        arm.made.append(Instr(ops.SELECT, PTR, where, [holds, *places], 0, load.line, VOID))
        arm.made.append(Instr(ops.LOAD_AT, load.type, made, [where], load.imm, load.line, load.source, Mem(False, 1, 0, mem.size, False, -1, mem.array)))
        arm.cost += 1
        return made

    def follow(self, code: list[Instr], arm: _Arm, beside: list[_Beside]) -> bool:
        """Take an arm apart. False where it does what both cannot do."""
        f = self.f
        inner: dict[int, int] = {}  # what is no variable of the code around
        for instr in code:
            op, type_ = instr.op, instr.type
            known = arm.loaded.get(id(instr))
            if known is not None:
                (arm.values if f.variable[instr.dst] else inner)[instr.dst] = known
                continue
            args = [arm.values.get(a, inner.get(a, a)) for a in instr.args]
            if op is ops.STORE_AT and arm.store is None and not type_.lanes:
                arm.store = Instr(op, type_, NONE, args, instr.imm, instr.line, instr.source, instr.mem)
                continue
            if op is ops.LOAD_AT and beside and arm.store is None:
                made = self.loaded(instr, args, arm, beside[0])
                if made == NONE:
                    return False
                (arm.values if f.variable[instr.dst] else inner)[instr.dst] = made
                continue
            source = instr.source if op is ops.CONVERT else type_
            compares = op.result == "M" and len(args) == 2
            if type_.lanes or instr.mem is not None or not (compares or self.cheap(op, source, type_)):
                return False
            dst = instr.dst
            if f.variable[dst]:
                if op is ops.COPY:
                    arm.values[dst] = args[0]
                    continue
                fresh = self.register(type_ if not compares else BOOL)
                arm.values[dst] = fresh
                dst = fresh
            arm.cost += 1
            arm.made.append(Instr(op, type_, dst, args, instr.imm, instr.line, instr.source))
        return True

    def cheap(self, op: ops.Op, source: Type, type_: Type) -> bool:
        """Whether an operation may be done whatever the condition says."""
        if source.is_float or type_.is_float:
            return op in _CHEAP_FLOATS and source is type_ and self.target.chooses_by_floats(type_, type_)
        return op in _CHEAP

    def same_store(self, arms: list[_Arm]) -> bool:
        """Whether both arms store to one place, or none does."""
        first, second = arms[0].store, arms[1].store
        if first is None or second is None:
            return first is second
        if first.args[1:] != second.args[1:] or first.type is not second.type:
            return False
        a, b = first.mem, second.mem
        return a is not None and b is not None and (a.indexed, a.scale, a.disp, a.size, a.array) == (b.indexed, b.scale, b.disp, b.size, b.array)

    def store(self, arms: list[_Arm], condition: int, compare: Instr | None, line: int) -> None:
        """One store of the value that is chosen, where both arms store."""
        first, second = arms[0].store, arms[1].store
        if first is None or second is None:
            return
        value = first.args[0]
        if value != second.args[0]:
            value = self.register(first.type)
            self.select(value, first.args[0], second.args[0], condition, compare, line)
        self.out.append(Instr(first.op, first.type, NONE, [value, *first.args[1:]], first.imm, first.line, first.source, first.mem))

    def choose(self, variables: list[int], arms: list[_Arm], condition: int, compare: Instr | None, line: int, bounds: dict[int, Instr]) -> None:
        """Give each variable the value of the arm that counts; those that are compared come last."""
        f, out = self.f, self.out
        compared = compare.args if compare is not None else []
        order = sorted(variables, key=compared.__contains__)
        values: list[list[int]] = [[], []]
        for n in range(2):
            for v in order:
                value = arms[n].values.get(v, v)
                if value != v and value in variables:
                    # What this variable was, which another choice may have overwritten by then.
                    kept = self.register(f.types[v])
                    out.append(Instr(ops.COPY, f.types[v], kept, [value], 0, line))
                    value = kept
                values[n].append(value)
        late: list[tuple[int, int]] = []
        for k, v in enumerate(order):
            into = v
            if v in compared and k < len(order) - 1:
                into = self.register(f.types[v])
                late.append((v, into))
            bound = bounds.get(v)
            if bound is None:
                self.select(into, values[0][k], values[1][k], condition, compare, line)
                continue
            type_ = f.types[v]
            least, greatest = limits(type_) if type_.is_integer else (-math.inf, math.inf)
            chosen = [f.const(type_, greatest if bound.op is ops.MIN else least)] * 2
            chosen[values[0][k] == v] = bound.args[bound.args[0] == v]
            other = self.register(type_)
            self.select(other, chosen[0], chosen[1], condition, compare, line)
            out.append(Instr(bound.op, type_, into, [v, other], 0, bound.line))
        for v, made in late:
            out.append(Instr(ops.COPY, f.types[v], v, [made], 0, line))

    def select(self, into: int, first: int, second: int, condition: int, compare: Instr | None, line: int) -> None:
        """A choice, with a comparison of its own, which becomes one with it; between 1 and 0 what a condition is as a number."""
        type_ = self.f.types[into]
        if first < 0 and second < 0 and type_.is_integer:
            values = self.f.const_values[~first], self.f.const_values[~second]
            if values in ((1, 0), (0, 1)):
                if compare is not None:
                    condition = self.register(BOOL)
                    self.out.append(Instr(compare.op, compare.type, condition, list(compare.args), compare.imm, compare.line))
                if values == (0, 1):
                    condition, holds = self.register(BOOL), condition
                    self.out.append(Instr(ops.NOT, BOOL, condition, [holds], 0, line))
                self.out.append(Instr(ops.CONVERT, type_, into, [condition], 0, line, BOOL))
                return
        ordered = (ops.LT, ops.GT, ops.LE, ops.GE) if self.f.options.fastmath else (ops.LT, ops.GT)
        if compare is not None and type_.is_float and compare.op in ordered and {first, second} == set(compare.args):
            # (Python's ``min(a, b)`` is b where b < a, and else a, also where one is no number; of equal zeros it may be either under ``fastmath``.)
            least = (compare.op in (ops.LT, ops.LE)) == (first == compare.args[0])
            self.out.append(Instr(ops.MIN if least else ops.MAX, type_, into, [second, first], 0, line))
            return
        if compare is not None:
            condition = self.register(BOOL)
            self.out.append(Instr(compare.op, compare.type, condition, list(compare.args), compare.imm, compare.line))
        self.out.append(Instr(ops.SELECT, type_, into, [condition, first, second], 0, line, VOID))

    def chooses_by(self, compare: Instr, type_: Type) -> bool:
        """Whether a comparison and a choice between two of a type are one operation."""
        if compare.type.is_float:
            return compare.op is not ops.EQ and compare.op is not ops.NE and self.target.chooses_by_floats(compare.type, type_)
        return self.target.chooses_by(compare.type, type_)

    def register(self, type_: Type) -> int:
        """A new register."""
        return self.f.register(type_)
