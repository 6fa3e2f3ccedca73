"""Branches in the innermost loop of a nest as choices between values, so that several iterations can be jammed, or run in lanes.

What a branch decides, a core guesses, and goes on; where several iterations run side by side instead, nothing is left to guess (J. R. Allen, K. Kennedy,
C. Porterfield and J. Warren, "Conversion of control dependence to data dependence", POPL 1983). Only short arms are converted, which both run then. What only
one of them loads has to be inside of the array whatever is decided, which other accesses and the loops' bounds tell; an element that one arm stores, the other
must store too.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import NONE, Instr
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, Run
from loopwright.types import I64, limits

__all__ = ["ARMS", "LONG", "LONGEST", "Inside", "converted", "takes_long"]

#: Both arms run: they may compute so many values together.
LONGEST: Final = 12
#: So many instructions at most stand between a condition and the choices that hang on it.
_NEAR: Final = 2 * LONGEST
#: So many indices are replaced by bounds of their loops to tell whether an access is inside of its array.
MOST_BOUNDS: Final = 3
#: The brackets of branches.
ARMS: Final = frozenset((ops.IF, ops.ELIF, ops.THEN, ops.ELSE, ops.END))
#: An integer is divided by a constant in so many instructions.
BY_CONSTANT: Final = 4
#: What takes so long that it is worth a branch, but for integers that are divided by constants.
LONG: Final = frozenset((ops.DIV, ops.SQRT, *ops.DIVISIONS))


class _Stored:
    """A store of an arm that is put off to its end: the access, the value, and the instruction."""

    __slots__ = ("access", "instr", "value")

    def __init__(self, access: Access, instr: Instr, value: int) -> None:
        self.access = access
        self.instr = instr
        self.value = value


class _Arms:
    """An ``if`` that is open: its condition, where it begins, what its arms give variables, what they store."""

    __slots__ = ("chained", "condition", "line", "otherwise", "start", "stores", "values")

    def __init__(self, condition: int, start: int, line: int, chained: bool) -> None:
        self.condition = condition
        self.start = start
        self.line = line
        #: It is an ``elif`` of the one around it.
        self.chained = chained
        #: Per arm: variable -> the register with its value.
        self.values: list[dict[int, int]] = [{}, {}]
        self.stores: list[list[_Stored]] = [[], []]
        self.otherwise = False


def takes_long(instr: Instr) -> bool:
    """Whether an operation takes long. (By a constant, integers are divided by a product.)"""
    return instr.op in LONG and (instr.type.is_float or instr.args[1] >= 0)


def converted(nest: Nest, loop: NestLoop, asked: list[Run] | None = None, most: int = LONGEST) -> list[Instr] | None:
    """The body of a loop without branches, or None where a branch has to stay.

    Args:
        nest: the nest, whose function gets new registers.
        loop: a loop of it that holds no other.
        asked: receives comparisons of extents that have to hold for that, if they may be asked in front of the nest.
        most: so many values may be computed in arms, together.
    """
    return _Conversion(nest, loop, asked, most).body()


class Inside:
    """Whether what only some iterations of a loop load is inside of its array in all of them.

    Attributes:
        asked: comparisons of numbers that are known in front of the nest, which have to hold for that; None where none may be asked.
    """

    __slots__ = ("accesses", "asked", "loop", "nest")

    def __init__(self, nest: Nest, loop: NestLoop, asked: list[Run] | None = None) -> None:
        self.nest = nest
        self.loop = loop
        self.asked = asked
        self.accesses: dict[int, Access] = {access.position: access for access in nest.accesses}

    def inside(self, access: Access) -> bool:
        """Whether what only some iterations load is inside of its array in all.

        Each subscript is between 0 and another, or two others, of an access that all make; or the bounds of the loops, and the array's extents, say so.
        """
        always = [other for other in self.accesses.values() if other.array == access.array and self.always(other)]
        extents = self.nest.f.arrays[access.array].extents
        for dimension, form in enumerate(access.subscripts):
            if form is None:
                return False
            differences = [d for other in always for d in [_difference(other.subscripts[dimension], form)] if d is not None]
            extent = self.nest.forms.of(extents[dimension])
            if not any(d >= 0 for d in differences) and (extent is None or not self.known(extent.plus(form, -1), 1)):
                return False
            if not any(d <= 0 for d in differences) and not self.known(form, 0):
                return False
        return True

    def known(self, form: Form, least: int) -> bool:
        """Whether a form is at least a number, or what makes it so can be asked in front of the nest."""
        return self.reaches(form, least) or (self.asked is not None and self.reaches(form, least, ask=True))

    def ask(self, form: Form, least: int) -> bool:
        """Have it asked in front of the nest whether a form of two numbers, one of which is taken away, is at least some number; False where it cannot be."""
        if self.asked is None or len(form.terms) != 2 or sorted(form.terms.values()) != [-1, 1]:
            return False
        registers = {coefficient: self.nest.forms.registers[value] for value, coefficient in form.terms.items()}
        if not all(register >= 0 and self.nest.ahead(register) for register in registers.values()):
            return False
        question: Run = (ops.GE, registers[1], registers[-1], form.constant - least)
        if question not in self.asked:
            self.asked.append(question)
        return True

    def reaches(self, form: Form, least: int, depth: int = 0, ask: bool = False) -> bool:
        """Whether a form is at least a number, whatever the indices in it are, as far as the bounds of their loops tell."""
        if not form.terms:
            return form.constant >= least
        if ask and self.ask(form, least):
            return True
        if depth == MOST_BOUNDS:
            return False
        for value, coefficient in form.terms.items():
            loop = self.nest.indices.get(value) or self.nest.around(value)
            if loop is None or not loop.step:
                continue
            # What the index is at least, or at most, where it is taken away.
            low = (coefficient > 0) == (loop.step > 0)
            beyond = 0 if low else -1 if loop.step > 0 else 1
            for bound in loop.first if low else loop.last:
                replaced = form.plus(bound, coefficient).plus(Form(0, {value: 1}), -coefficient)
                if self.reaches(replaced.plus(Form(beyond, {}), coefficient), least, depth + 1, ask):
                    return True
        return False

    def always(self, access: Access) -> bool:
        """Whether every iteration makes an access: it is under no condition, or each arm of the one ``if`` around it stores that element."""
        if not self.loop.head < access.position < self.loop.end:
            return False
        arms = self.conditions(access)
        if not arms:
            return True
        if len(arms) > 1 or not access.store:
            return False
        bracket = arms[0][0]
        alike = [other for other in self.accesses.values() if other.store and other.same(access)]
        seen = {other.arms[-1][1] for other in alike if [arm[0] for arm in self.conditions(other)] == [bracket]}
        return len(seen) == self.arms(bracket)

    def conditions(self, access: Access) -> list[tuple[int, int]]:
        """The arms around an access, within the loop."""
        return [arm for arm in access.arms if arm[0] > self.loop.head]

    def arms(self, bracket: int) -> int:
        """How many arms an ``if`` has, one of which runs; 0 where it may be that none does."""
        code = self.nest.f.code
        depth = 0
        count = 1
        complete = False
        for k in range(bracket + 1, self.loop.end):
            op = code[k].op
            if op.opens and not op.closes:
                depth += 1
            elif op is ops.END:
                if not depth:
                    break
                depth -= 1
            elif not depth and (op is ops.ELSE or op is ops.ELIF):
                count += 1
                complete = op is ops.ELSE
        return count if complete else 0


class _Conversion:
    """One run over a body.

    Attributes:
        exposed: variables that have been read where none of the arms that are open had written them.
        computed: registers that the loop gives values that hang on more than where it is.
        made: the accesses that have been made so far, with their instructions in ``out``.
        most: so many values may be computed in arms.
    """

    __slots__ = ("computed", "conditional", "exposed", "judge", "loop", "made", "most", "nest", "opened", "out")

    def __init__(self, nest: Nest, loop: NestLoop, asked: list[Run] | None, most: int) -> None:
        self.most = most
        self.nest = nest
        self.loop = loop
        self.out: list[Instr] = []
        self.opened: list[_Arms] = []
        self.conditional = 0
        self.exposed: set[int] = set()
        self.computed: set[int] = set()
        self.made: list[tuple[Access, Instr]] = []
        self.judge = Inside(nest, loop, asked)

    def body(self) -> list[Instr] | None:
        code = self.nest.f.code
        variable = self.nest.f.variable
        for k in range(self.loop.head + 1, self.loop.end):
            instr = code[k]
            if instr.op is ops.LOAD or not instr.op.pure or (instr.dst >= 0 and variable[instr.dst]) or any(a in self.computed for a in instr.args):
                self.computed.add(instr.dst)
        for k in range(self.loop.head + 1, self.loop.end):
            if not self.instruction(k, code[k]):
                return None
        return self.out

    def instruction(self, position: int, instr: Instr) -> bool:
        """Take an instruction. False where it has to stay under a condition."""
        op = instr.op
        opened = self.opened
        f = self.nest.f
        if op is ops.IF or op is ops.THEN:
            opened.append(_Arms(self.current(instr.args[0]), position, instr.line, op is ops.THEN))
            return True
        if op is ops.ELSE or op is ops.ELIF:
            opened[-1].otherwise = True
            return True
        if op is ops.END:
            while opened[-1].chained:
                if not self.close(position):
                    return False
            return self.close(position)
        if op.effect == ops.CONTROL or op.effect == ops.CALLS:
            return False
        if not opened:
            self.append(position, instr)
            return True
        if op is ops.STORE:
            arms = opened[-1]
            arms.stores[arms.otherwise].append(_Stored(self.judge.accesses[position], instr, self.current(instr.args[0])))
            return True
        if op is ops.LOAD and self.put_off(instr.imm):
            stored = self.just_stored(self.judge.accesses[position])
            if stored is None or f.variable[instr.dst]:
                return False
            self.out.append(Instr(ops.COPY, instr.type, instr.dst, [stored.value], 0, instr.line))
            return True
        if op is ops.LOAD:
            if not self.judge.inside(self.judge.accesses[position]):
                return False
        elif not op.pure or takes_long(instr) or instr.type.lanes:
            return False
        # (What hangs on where the loop is, and on nothing else, is made once for all arms.)
        if instr.type is not I64 and instr.dst in self.computed and op is not ops.LOAD and op is not ops.COPY:
            self.conditional += BY_CONSTANT if op in LONG else 1
        dst = instr.dst
        args = [self.current(a) for a in instr.args]
        if f.variable[dst]:
            value = f.register(f.types[dst], f.names[dst])
            arms = opened[-1]
            arms.values[arms.otherwise][dst] = value
            dst = value
        self.append(position, Instr(op, instr.type, dst, args, instr.imm, instr.line, instr.source))
        return self.conditional <= self.most

    def append(self, position: int, instr: Instr) -> None:
        """Append what stands at a position, or has been made of it."""
        self.out.append(instr)
        access = self.judge.accesses.get(position)
        if access is not None:
            self.made.append((access, instr))

    def current(self, operand: int) -> int:
        """What an operand is where the arms that are open have written variables."""
        for arms in reversed(self.opened):
            known = arms.values[arms.otherwise].get(operand)
            if known is not None:
                return known
        self.exposed.add(operand)
        return operand

    def put_off(self, array: int) -> bool:
        """Whether a store to an array is put off in an arm that is open."""
        return any(stored.instr.imm == array for arms in self.opened for stored in arms.stores[arms.otherwise])

    def just_stored(self, load: Access) -> _Stored | None:
        """The store to the element of a load that an arm which is open puts off, where that is the last to its array; None where there is none."""
        for arms in reversed(self.opened):
            for stored in reversed(arms.stores[arms.otherwise]):
                if stored.access.array == load.array:
                    return stored if stored.access.same(load) else None
        return None

    def total(self, variable: int, arms: _Arms, chosen: list[int], dst: int) -> bool:
        """Make of an integer total that only one arm adds to one that both do, of nothing new in the other (a total that is chosen is none to those who look for it). False where it is none."""
        f = self.nest.f
        type_ = f.types[variable]
        arm = 0 if chosen[1] == variable else 1
        if chosen[1 - arm] != variable or not type_.is_integer or type_.lanes:
            return False
        made = self.unread(chosen[arm], arms, 1)
        places = [made]
        if made >= 0 and self.out[made].op is ops.COPY:
            places.append(self.unread(self.out[made].args[0], arms, 1))
        if -1 in places:
            return False
        added = self.out[places[-1]]
        neutral = {ops.ADD: 0, ops.MAX: limits(type_)[0], ops.MIN: limits(type_)[1]}.get(added.op)
        if neutral is None or added.args.count(variable) != 1:
            return False
        for k in sorted(places, reverse=True):
            del self.out[k]
        (more,) = [a for a in added.args if a != variable]
        taken = f.register(type_, "")
        nothing = f.const(type_, neutral)
        self.out.append(Instr(ops.SELECT, type_, taken, [arms.condition, more, nothing] if arm == 0 else [arms.condition, nothing, more], 0, arms.line))
        self.out.append(Instr(added.op, type_, dst, [variable, taken], 0, added.line))
        return True

    def unread(self, register: int, closing: _Arms, most: int) -> int:
        """Where a register is made that is read, or stands for a variable, so many times at most; -1 where it is more, or it is made elsewhere."""
        read = sum([instr.args.count(register) for instr in self.out])
        for arms in (*self.opened, closing):
            for values, stores in zip(arms.values, arms.stores, strict=True):
                read += list(values.values()).count(register) + sum([stored.value == register for stored in stores])
        return next((k for k in range(len(self.out) - 1, -1, -1) if self.out[k].dst == register), -1) if read <= most else -1

    def overwritten(self, access: Access) -> int | None:
        """The value that has been stored to the element of a store that one arm makes, which stays where the other runs. None where it is not known to be there.

        That store is made no longer, where it stands right around the branch; another around that has to be there for the branch around.
        """
        for depth in range(len(self.opened) - 1, -1, -1):
            arms = self.opened[depth]
            stores = arms.stores[arms.otherwise]
            for k in range(len(stores) - 1, -1, -1):
                stored = stores[k]
                if stored.access.array == access.array:
                    if not stored.access.same(access):
                        return None
                    if depth == len(self.opened) - 1:
                        del stores[k]
                    return stored.value
        for k in range(len(self.made) - 1, -1, -1):
            other, instr = self.made[k]
            if other.array != access.array:
                continue
            if other.store and other.same(access):
                value = instr.args[0]
                place = next(n for n, each in enumerate(self.out) if each is instr)
                if value >= 0 and self.nest.f.variable[value] and any(each.dst == value for each in self.out[place:]):
                    return None
                if not self.opened:
                    del self.out[place], self.made[k]
                return value
            if not other.differs(access):
                return None
        return None

    def close(self, end: int) -> bool:
        """Choose what the variables are behind an ``if``, but for those of its own, and what is stored."""
        f = self.nest.f
        arms = self.opened.pop()
        # (What the condition compares is chosen last: so each choice can have the comparison in it.)
        compared = next((instr.args for instr in self.out[: -_NEAR - 1 : -1] if instr.dst == arms.condition), ())
        for variable in sorted({*arms.values[0], *arms.values[1]}, key=lambda variable: (variable in compared, variable)):
            named = self.nest.mentions[variable]
            if arms.start < named[0] and named[1] < end and variable not in self.exposed:
                continue
            type_ = f.types[variable]
            chosen = [values[variable] if variable in values else self.current(variable) for values in arms.values]
            dst = variable
            if self.opened:
                dst = f.register(type_, f.names[variable])
                around = self.opened[-1]
                around.values[around.otherwise][variable] = dst
            if not self.total(variable, arms, chosen, dst):
                self.out.append(Instr(ops.SELECT, type_, dst, [arms.condition, *chosen], 0, arms.line))
        yes, no = arms.stores
        for some, others in ((yes, no), (no, yes)):
            if not others:
                others += [_Stored(stored.access, stored.instr, value) for stored in some for value in [self.overwritten(stored.access)] if value is not None]
        if len(yes) != len(no):
            return False
        for first, second in zip(yes, no, strict=True):
            if first.instr.type is not second.instr.type or not first.access.same(second.access):
                return False
            type_ = first.instr.type
            value = f.register(type_, "")
            self.out.append(Instr(ops.SELECT, type_, value, [arms.condition, first.value, second.value], 0, arms.line))
            if self.opened:
                around = self.opened[-1]
                around.stores[around.otherwise].append(_Stored(first.access, first.instr, value))
            else:
                chosen_store = Instr(ops.STORE, type_, NONE, [value, *first.instr.args[1:]], first.instr.imm, first.instr.line)
                self.out.append(chosen_store)
                self.made.append((first.access, chosen_store))
        return True


def _difference(a: Form | None, b: Form) -> int | None:
    """How much more one subscript is than another, where that is known."""
    return a.constant - b.constant if a is not None and a.terms == b.terms else None
