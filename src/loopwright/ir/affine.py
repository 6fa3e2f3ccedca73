"""Indices as linear forms: a constant plus multiples of values that are not taken apart further.

Two forms over the same values differ by a constant, which is how far two accesses to an array lie apart. ``Forms`` finds them in any stretch
of code. ``Offsets`` knows those that are one value and a constant, at any place of a walk through the whole function, and takes little time.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.types import I64

__all__ = ["Form", "Forms", "Offsets"]

#: Expressions nested deeper are not compared, but stand for themselves.
DEPTH: Final = 20
#: What leaves a remainder, or rounds a quotient down, by a constant; shifts by few enough places.
_DIVIDING: Final = (ops.REM_FLOOR, ops.AND, ops.DIV_FLOOR, ops.SHR)
_MOST_SHIFTED: Final = 31


class Form:
    """``constant`` plus the sum of ``coefficient * value``; ``terms`` maps the numbers of values to coefficients other than 0."""

    __slots__ = ("constant", "terms")

    def __init__(self, constant: int, terms: dict[int, int]) -> None:
        self.constant = constant
        self.terms = terms

    def plus(self, other: Form, factor: int) -> Form:
        """This form plus ``factor`` times another."""
        terms = dict(self.terms)
        for value, coefficient in other.terms.items():
            total = terms.get(value, 0) + factor * coefficient
            if total:
                terms[value] = total
            else:
                terms.pop(value, None)
        return Form(self.constant + factor * other.constant, terms)

    def same(self, other: Form) -> bool:
        """Whether two forms have one value."""
        return self.constant == other.constant and self.terms == other.terms


class Forms:
    """The linear forms of a function's registers, within one stretch of its code.

    Attributes:
        places: register that is no variable -> position of the instruction that defines it.
        written: the variables that the stretch writes; they have no form, and what is computed from them is a value of its own.
        leaves: per value: the registers it is computed from.
        registers: per value: the register that it is, or -1 where it is an expression.
        remainders: of values that are what a form leaves divided by a positive constant: the form, the constant.
        quotients: of values that are the floor of a form divided by a positive constant: the same.
        products: of values that are the product of two forms: these.
    """

    __slots__ = ("code", "f", "forms", "leaves", "numbers", "places", "products", "quotients", "registers", "remainders", "written")

    def __init__(self, f: Function, start: int, end: int, places: dict[int, int] | None = None) -> None:
        """``places``, where they are known already."""
        self.f = f
        self.code: list[Instr] = f.code
        self.places: dict[int, int] = places if places is not None else {}
        self.written: set[int] = set()
        self.forms: dict[int, Form | None] = {}
        self.numbers: dict[tuple[int, ...], int] = {}
        self.leaves: list[set[int]] = []
        self.registers: list[int] = []
        self.remainders: dict[int, tuple[Form, int]] = {}
        self.quotients: dict[int, tuple[Form, int]] = {}
        self.products: dict[int, tuple[Form, Form]] = {}
        variable = f.variable
        if places is None:
            for position in range(len(self.code)):
                dst = self.code[position].dst
                if dst >= 0 and not variable[dst]:
                    self.places[dst] = position
        for position in range(start, end):
            dst = self.code[position].dst
            if dst >= 0 and variable[dst]:
                self.written.add(dst)

    def of(self, operand: int, depth: int = 0) -> Form | None:
        """The form of an i64 operand; None where it changes within the stretch in a way that is not followed."""
        if operand < 0:
            return Form(int(self.f.const_values[~operand]), {})
        if operand in self.forms:
            return self.forms[operand]
        made = self._of_register(operand, depth)
        if made is None and not self.f.variable[operand]:
            # (Computed from a variable that the stretch writes: it is what it is where it is defined.)
            made = self._itself(operand)
        self.forms[operand] = made
        return made

    def _itself(self, register: int) -> Form:
        """The form of a register that is not followed: a value of its own, which hangs on all that it is computed from."""
        if (-1, register) in self.numbers:
            return self._value((-1, register), set(), register)
        leaves = {register}
        wanted = [register]
        while wanted:
            place = self.places.get(wanted.pop(), -1)
            if place >= 0 and self.code[place].op is not ops.FOR:
                new = [a for a in self.code[place].args if a >= 0 and a not in leaves]
                leaves.update(new)
                wanted += new
        return self._value((-1, register), leaves, register)

    def _of_register(self, register: int, depth: int) -> Form | None:
        f = self.f
        if f.variable[register]:
            return None if register in self.written else self._value((-1, register), {register}, register)
        place = self.places.get(register, -1)
        if place < 0 or depth > DEPTH:
            return self._itself(register)
        instr = self.code[place]
        op = instr.op
        args = instr.args
        if instr.type is I64:
            if op is ops.ADD or op is ops.SUB:
                a = self.of(args[0], depth + 1)
                b = self.of(args[1], depth + 1)
                return None if a is None or b is None else a.plus(b, 1 if op is ops.ADD else -1)
            if op is ops.MUL and (args[0] < 0 or args[1] < 0):
                factor, other = (args[0], args[1]) if args[0] < 0 else (args[1], args[0])
                a = self.of(other, depth + 1)
                return None if a is None else Form(0, {}).plus(a, int(f.const_values[~factor]))
            if op is ops.NEG or op is ops.COPY:
                a = self.of(args[0], depth + 1)
                return None if a is None else Form(0, {}).plus(a, 1 if op is ops.COPY else -1)
        if not op.pure:
            return self._itself(register)
        # Another expression: equal where operation and operands are.
        key = [op.code, instr.type.number, instr.source.number, instr.imm]
        leaves: set[int] = set()
        for operand in args:
            if operand < 0:
                key.append(-1)
                key.append(operand)
                continue
            part = self.of(operand, depth + 1)
            if part is None:
                return None
            key.append(len(part.terms))
            key.append(part.constant)
            for value in sorted(part.terms):
                key.append(value)
                key.append(part.terms[value])
                leaves |= self.leaves[value]
        made = self._value(tuple(key), leaves, -1)
        if op is ops.MUL and instr.type is I64:
            a, b = self.of(args[0], depth + 1), self.of(args[1], depth + 1)
            if a is not None and b is not None:
                (value,) = made.terms
                self.products[value] = (a, b)
        if op in _DIVIDING and instr.type is I64 and args[1] < 0:
            number = int(f.const_values[~args[1]])
            divided = self.of(args[0], depth + 1)
            if op is ops.AND:
                # (A mask of the lowest bits.)
                number = number + 1 if number & (number + 1) == 0 else 0
            if divided is not None and number > 0 and (op is not ops.SHR or number < _MOST_SHIFTED):
                (value,) = made.terms
                (self.quotients if op is ops.DIV_FLOOR or op is ops.SHR else self.remainders)[value] = (divided, 1 << number if op is ops.SHR else number)
        return made

    def _value(self, key: tuple[int, ...], leaves: set[int], register: int) -> Form:
        number = self.numbers.get(key, -1)
        if number < 0:
            number = len(self.leaves)
            self.numbers[key] = number
            self.leaves.append(leaves)
            self.registers.append(register)
        return Form(0, {number: 1})

    def depends(self, form: Form, start: int, end: int) -> bool:
        """Whether a form is computed from a register that the code from ``start`` to ``end`` defines."""
        for value in form.terms:
            for leaf in self.leaves[value]:
                if start <= self.places.get(leaf, -1) < end:
                    return True
        return False


_ADD: Final = ops.ADD.code
_SUB: Final = ops.SUB.code
_COPY: Final = ops.COPY.code


class Offsets:
    """Every i64 register as a root register and a constant, along one walk forwards through a function.

    The sum (or difference) of two registers is the first one made of the same two roots, and a constant: of ``b + i`` and ``b + (i + 16)`` the second is the
    first and 16.

    A variable may be a root as long as it has not changed since, which within one run of a loop's body is a matter of position. Call ``follow``
    with each instruction, in order, when it has been dealt with.

    Attributes:
        loop: number of the loop that the walk is in, 0 for none.
        written: per variable: where it was written last.
    """

    __slots__ = ("code_values", "enclosing", "loop", "loops", "made_at", "made_in", "offset", "position", "root", "scopes", "sums", "variable", "written")

    def __init__(self, f: Function) -> None:
        count = len(f.types)
        self.variable: list[bool] = f.variable
        self.code_values = f.const_values
        self.root = list(range(count))
        self.offset = [0] * count
        self.made_at = [0] * count
        self.made_in = [0] * count
        self.written = [-1] * count
        self.position = 0
        self.loop = 0
        self.loops = 0
        self.enclosing: list[int] = []
        #: What was made of two roots, by them, and how much more it is than they; what was entered in each open bracket.
        self.sums: dict[tuple[int, ...], tuple[int, int]] = {}
        self.scopes: list[list[tuple[int, ...]]] = [[]]

    def root_of(self, a: int) -> int:
        """The root of an operand that is a register: itself, where the root has changed since."""
        r = self.root[a]
        if r != a and self.variable[r] and (self.written[r] > self.made_at[a] or self.made_in[a] != self.loop):
            return a
        return r

    def offset_of(self, a: int, root: int) -> int:
        """What is added to ``root``, the operand's ``root_of``."""
        return self.offset[a] if root != a else 0

    def version(self, root: int) -> tuple[int, ...]:
        """What tells the root's value from those it had before and has elsewhere; of a register written once its number does."""
        return (root, self.written[root], self.loop) if self.variable[root] else (root,)

    def follow(self, instr: Instr) -> None:
        """Go past an instruction."""
        op = instr.op
        c = op.code
        dst = instr.dst
        if dst >= 0:
            if self.variable[dst]:
                self.written[dst] = self.position
            elif c in (_ADD, _SUB):
                if instr.type is I64:
                    a, b = instr.args
                    if a < 0 and c == _ADD:
                        a, b = b, a
                    if b < 0 <= a:
                        k = int(self.code_values[~b])
                        self._make(dst, a, k if c == _ADD else -k)
                    elif b >= 0 and a >= 0:
                        self._sum(dst, c, a, b)
            elif c == _COPY and instr.type is I64 and instr.args[0] >= 0:
                self._make(dst, instr.args[0], 0)
        if op.closes:
            for key in self.scopes.pop():
                self.sums.pop(key, None)
            if op.opens:
                self.scopes.append([])
            else:
                self.loop = self.enclosing.pop()
        elif op.opens:
            self.enclosing.append(self.loop)
            self.scopes.append([])
            if IS_LOOP[c]:
                self.loops += 1
                self.loop = self.loops
        self.position += 1

    def _make(self, dst: int, a: int, more: int) -> None:
        r = self.root_of(a)
        self.root[dst] = r
        self.offset[dst] = self.offset_of(a, r) + more
        self.made_at[dst] = self.position
        self.made_in[dst] = self.loop

    def _sum(self, dst: int, code: int, a: int, b: int) -> None:
        """``dst`` is made of two registers."""
        r, s = self.root_of(a), self.root_of(b)
        more = self.offset_of(a, r)
        other = self.offset_of(b, s)
        more += other if code == _ADD else -other
        if code == _ADD and r > s:
            r, s = s, r
        key = (code, *self.version(r), -1, *self.version(s))
        known = self.sums.get(key)
        if known is None:
            self.sums[key] = (dst, more)
            self.scopes[-1].append(key)
        else:
            self._make(dst, known[0], more - known[1])
