"""Loops over lanes that are left early: ``break`` and ``return`` under a condition that differs by lane.

::

    for i = lo, hi, 1 lanes            block
      body, which may leave       →      for i = lo, whole, 1 lanes
    end                                    %leave = whether an index leaves, computed ahead of everything else
                                           if any of them does: %stop = i, and go on behind the block
                                           body, which nothing leaves any more
                                         end
                                       end
                                       for i = %stop, hi, 1
                                         body, as it was
                                       end

A vector of indices of which one leaves does nothing: the plain loop behind does it over, index by index, leaves where it is to leave, and has what variables are then. So what
decides must not depend on what the vector does, and is computed for indices that the plain loop may not get to: it is made of loads at indices that count along the loop, which ends, as
far as vectors go, where the first of the arrays does; anything else stays index by index. (J. Allen, K. Kennedy, C. Porterfield, J. Warren, *Conversion of control dependence to data dependence*,
POPL 1983, section 3, have exit branches as conditions of all that follows them; here these are tested once for a vector.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form, Forms
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.analysis.nest import Nest, NestLoop, nests
from loopwright.nests.analysis.scalars import PRIVATE, REDUCTION, Scalar, any_order, scalars
from loopwright.nests.rewriting.unroll import clone, repeats
from loopwright.nests.steps.lanes import in_lanes, mark
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID

__all__ = ["Leaving", "exits", "mark_leaving"]

_BRANCHES: Final = frozenset((ops.BR, ops.BR_IF))
_LOOPS: Final = frozenset((ops.LOOP, ops.WHILE))


def exits(code: list[Instr], start: int, end: int) -> list[int]:
    """Where something leaves a loop."""
    found: list[int] = []
    depth = 0
    for k in range(start + 1, end):
        op = code[k].op
        if op.opens:
            depth += not op.closes
        elif op is ops.END:
            depth -= 1
        elif op is ops.RET or op is ops.FAIL or (op in _BRANCHES and code[k].imm > depth):
            found.append(k)
    return found


class Leaving:
    """One loop that is left early, taken apart.

    Attributes:
        f: the function.
        head, end: positions of the loop's brackets.
        exits: positions of what leaves it.
        leave: the variable that says whether an index leaves.
        ahead: what computes that.
        main: the body without what leaves, and without what is done on the way out.
        loads: those of what is computed ahead.
        spare: the last index is to be left to the plain loop, for what variables are behind it.
        bounds: per index of the loads: what is added to the loop's index, or the whole of it; the extent; whether the loop's index is in it.
        nest, loop, variables: the loop where nothing leaves it, and what it writes then.
    """

    def __init__(self, f: Function, head: int, end: int) -> None:
        self.f = f
        self.head = head
        self.end = end
        self.partner = match(f.code)
        self.exits = exits(f.code, head, end)
        self.leave = NONE
        self.ahead: list[Instr] = []
        self.main: list[Instr] = []
        self.loads: list[Instr] = []
        self.spare = False
        self.bounds: list[tuple[Form, int, bool]] = []
        self.nest: Nest | None = None
        self.loop: NestLoop | None = None
        self.variables: list[Scalar] = []

    # --- whether it can be done ------------------------------------------------------------------------------

    def possible(self, target: Target | None = None) -> bool:
        """Take the loop apart; False where it has to go index by index.

        Args:
            target: of a loop that is not one over lanes yet, the machine that would have to have its operations.
        """
        f = self.f
        opener = f.code[self.head]
        if opener.args[2] >= 0 or f.const_values[~opener.args[2]] != 1 or not self.exits or not self._plain():
            return False
        arms: dict[int, int] = {}
        for k in self.exits:
            if f.code[k].op is not ops.BR_IF:
                opened = self._arm(k)
                if opened == NONE:
                    return False
                arms[opened] = self.partner[opened]
        self._make_main(arms)
        self._make_ahead(arms)
        return self._in_order() and self._safe() and self._examine(target) and self._private()

    def _plain(self) -> bool:
        """Whether the body can be run for more indices than the loop gets to: no calls, no loops that would not end."""
        code = self.f.code
        for k in range(self.head + 1, self.end):
            op = code[k].op
            if (
                op.effect == ops.CALLS
                or op is ops.FAIL
                or op is ops.ELIF
                or (op.effect in (ops.READS, ops.WRITES) and op is not ops.LOAD and op is not ops.STORE)
            ):
                return False
            if op in _LOOPS and k < self.exits[-1]:
                return False
        return True

    def _arm(self, k: int) -> int:
        """Where the arm of an ``if`` begins that an exit ends; NONE where it ends no arm."""
        code = self.f.code
        opened: list[int] = []
        for n in range(self.head + 1, k):
            op = code[n].op
            if op.closes:
                opened.pop()
            if op.opens:
                opened.append(n)
        return opened[-1] if opened and code[opened[-1]].op in (ops.IF, ops.ELSE) else NONE

    def _in_order(self) -> bool:
        """Whether nothing is loaded ahead that the same index may have stored before."""
        stored: set[int] = set()
        ahead = {instr.dst for instr in self.loads}
        read = {instr.imm for instr in self.loads}
        for k in range(self.head + 1, self.end):
            instr = self.f.code[k]
            if instr.op is ops.STORE:
                stored.add(instr.imm)
            elif instr.op is ops.LOAD and instr.imm in stored and instr.dst in ahead:
                return False
        return not (stored & read) or not any(instr.op is ops.FOR for instr in self.ahead)

    def _safe(self) -> bool:
        """Whether each load made ahead is at indices that count along the loop, or are the same in all of it, so that it can be told where its array ends."""
        f = self.f
        forms = Forms(f, self.head, self.end)
        index = forms.of(f.code[self.head].dst)
        assert index is not None
        (counter,) = index.terms
        for instr in self.loads:
            for place, operand in enumerate(instr.args):
                form = forms.of(operand)
                if form is None:
                    return False
                moves = form.terms.get(counter, 0)
                rest = form.plus(index, -moves)
                if moves not in (0, 1) or forms.depends(rest, self.head, self.end) or any(forms.registers[value] < 0 for value in rest.terms):
                    return False
                terms = {forms.registers[value]: factor for value, factor in rest.terms.items()}
                self.bounds.append((Form(rest.constant, terms), f.arrays[instr.imm].extents[place], moves == 1))
        return True

    def _private(self) -> bool:
        """Whether vectors leave nothing in variables but totals; what each iteration writes before it may leave is left to the plain loop."""
        f = self.f
        code = f.code
        loop = code[self.head].loop
        sums = self._sums()
        outside: set[int] = set()
        for k in (*range(self.head), *range(self.end + 1, len(code))):
            outside.update([a for a in (code[k].dst, *code[k].args) if a >= 0 and f.variable[a]])
        for scalar in self.variables:
            variable = scalar.variable
            if variable in sums:
                continue
            if loop is None and scalar.kind == REDUCTION and any_order(f, scalar):
                continue
            if scalar.kind != PRIVATE:
                return False
            if variable in outside:
                if not self._always(variable):
                    return False
                self.spare = True
        return True

    def _sums(self) -> set[int]:
        """The totals of a loop that is marked already."""
        loop = self.f.code[self.head].loop
        return {variable for variable, _, _ in loop.accumulators} if loop is not None else set()

    def _always(self, variable: int) -> bool:
        """Whether each iteration writes a variable before it may leave."""
        depth = 0
        for k in range(self.head + 1, self.exits[0]):
            instr = self.f.code[k]
            if instr.op.opens:
                depth += not instr.op.closes
            elif instr.op is ops.END:
                depth -= 1
            elif not depth and instr.dst == variable:
                return True
        return False

    # --- what it becomes -------------------------------------------------------------------------------------

    def _make_main(self, arms: dict[int, int]) -> None:
        """The body as it is for indices none of which leaves: without the arms that end in an exit."""
        gone = set(self.exits)
        for first, behind in arms.items():
            gone.update(range(first + 1, behind))
        self.main = [self.f.code[k] for k in range(self.head + 1, self.end) if k not in gone]

    def _make_ahead(self, arms: dict[int, int]) -> None:
        """What tells whether an index leaves: the body as far as the last exit, with a note where it is left."""
        f, code = self.f, self.f.code
        leave = self.leave = f.register(BOOL, "leave", True)
        true = f.const(BOOL, True)
        made: list[Instr] = []
        left = set(self.exits)
        k = self.head + 1
        depth = 0
        while k < self.end and (k <= self.exits[-1] or depth):
            instr = code[k]
            op = instr.op
            behind = arms.get(k, NONE)
            if op is ops.IF and behind != NONE and code[behind].op is ops.END:
                made.append(Instr(ops.OR, BOOL, leave, [leave, instr.args[0]], 0, instr.line))
                k = behind + 1
                continue
            depth += 1 if op.opens and not op.closes else -1 if op is ops.END else 0
            if k in left:
                made.append(Instr(ops.OR, BOOL, leave, [leave, *instr.args], 0, instr.line))
            elif op is not ops.STORE:
                made.append(instr)
            k += 1
            if behind != NONE:
                made.append(Instr(ops.OR, BOOL, leave, [leave, true], 0, instr.line))
                k = behind
        self.ahead = _wanted(made, leave)
        self.loads = [instr for instr in self.ahead if instr.op is ops.LOAD]

    def _examine(self, target: Target | None) -> bool:
        """Find what variables the loop carries where nothing leaves it; False where a target is given whose lanes do not have what it does."""
        f = self.f
        written = f.code
        opener = written[self.head]
        line = opener.line
        bare = Instr(opener.op, opener.type, opener.dst, list(opener.args), opener.imm, line)
        f.code = [*written[: self.head], bare, *self.body(False), Instr(ops.END, VOID, NONE, [], 0, line), *written[self.end + 1 :]]
        fits = False
        for nest in nests(f):
            for loop in nest.loops:
                if loop.head == self.head:
                    self.loop = loop
                    self.nest = nest
                    self.variables = [scalar for scalar in scalars(nest) if scalar.loop is loop and scalar.variable != self.leave]
                    fits = target is None or in_lanes(nest, loop, target)
        f.code = written
        return fits

    def mark(self) -> None:
        """Make the loop one over lanes."""
        assert self.nest is not None and self.loop is not None
        mark(self.nest, self.loop, self.variables)

    def body(self, leave: bool) -> list[Instr]:
        """What the loop over vectors runs: what is computed ahead, with ``leave`` a branch out of it under the condition that an index leaves, and the rest."""
        f = self.f
        line = f.code[self.head].line
        out = [Instr(ops.COPY, BOOL, self.leave, [f.const(BOOL, False)], 0, line)]
        goes_on = repeats(self.ahead)
        if goes_on:
            # What goes on with the next index does not leave with this one.
            out.append(Instr(ops.BLOCK, VOID, NONE, [], 0, line))
        clone(f, self.ahead, self._fresh(self.ahead, {self.leave}), out)
        if goes_on:
            out.append(Instr(ops.END, VOID, NONE, [], 0, line))
        if leave:
            out.append(Instr(ops.BR_IF, VOID, NONE, [self.leave], 1, line))
        own = self._fresh(self.main, self._sums()) if leave else {}
        for instr in self.main:
            made = instr.copy()
            made.dst = own.get(made.dst, made.dst)
            made.args = [own.get(a, a) for a in made.args]
            out.append(made)
        return out

    def _fresh(self, code: list[Instr], kept: set[int]) -> dict[int, int]:
        """Variables in the place of those that some code writes, but for some."""
        f = self.f
        made: dict[int, int] = {}
        for instr in code:
            variable = instr.dst
            if variable >= 0 and f.variable[variable] and variable not in kept and variable not in made:
                made[variable] = f.register(f.types[variable], f.names[variable], True)
        return made

    def looks(self) -> bool:
        """Whether an iteration does nothing but to find out whether it is the last."""
        return not self._sums() and not any(instr.op is ops.STORE for instr in self.main)

    def reach(self, lo: int, hi: int, out: list[Instr]) -> int:
        """Code for where vectors may end: at the end of the loop, or of the first array that is loaded from ahead.

        Args:
            lo, hi: the bounds of the loop, operands.
            out: what the code goes to.
        """
        made = _Arithmetic(self.f, self.f.code[self.head].line, out)
        limit = hi
        known: set[tuple[int, ...]] = set()
        for form, extent, moves in self.bounds:
            key = (form.constant, extent, int(moves), *[part for term in sorted(form.terms.items()) for part in term])
            if key in known:
                continue
            known.add(key)
            first = made.form(form)
            if not moves:
                limit = made.chosen(ops.LT, first, extent, limit, lo)
            elif form.terms or form.constant or extent != hi:
                limit = made.op(ops.MIN, limit, made.op(ops.SUB, extent, first))
            if moves:
                first = made.op(ops.ADD, first, lo)
            limit = made.chosen(ops.GE, first, self.f.const(I64, 0), limit, lo)
        if self.spare:
            limit = made.op(ops.SUB, made.op(ops.MAX, limit, lo), self.f.const(I64, 1))
        return limit


class _Arithmetic:
    """Sums and choices of indices; of constants nothing is emitted."""

    def __init__(self, f: Function, line: int, out: list[Instr]) -> None:
        self.f = f
        self.line = line
        self.out = out

    def op(self, op: ops.Op, a: int, b: int) -> int:
        """A result of two operands."""
        f = self.f
        if op is ops.ADD and a < 0:
            a, b = b, a
        if b < 0 and op in (ops.ADD, ops.SUB):
            more = int(f.const_values[~b])
            if more == 0:
                return a
            if a < 0:
                return f.const(I64, int(f.const_values[~a]) + (more if op is ops.ADD else -more))
        made = f.register(I64)
        self.out.append(Instr(op, I64, made, [a, b], 0, self.line))
        return made

    def form(self, form: Form) -> int:
        """The value of a form over registers."""
        total = self.f.const(I64, form.constant)
        for register, factor in sorted(form.terms.items()):
            total = self.op(ops.ADD, total, register if factor == 1 else self.op(ops.MUL, register, self.f.const(I64, factor)))
        return total

    def chosen(self, compare: ops.Op, a: int, b: int, yes: int, no: int) -> int:
        """One operand where a comparison holds, else another."""
        f = self.f
        if yes == no:
            return yes
        if a < 0 and b < 0:
            x, y = int(f.const_values[~a]), int(f.const_values[~b])
            return yes if (x >= y if compare is ops.GE else x < y) else no
        condition = f.register(BOOL)
        self.out.append(Instr(compare, I64, condition, [a, b], 0, self.line))
        made = f.register(I64)
        self.out.append(Instr(ops.SELECT, I64, made, [condition, yes, no], 0, self.line))
        return made


def _wanted(code: list[Instr], result: int) -> list[Instr]:
    """The part of some code that a variable depends on."""
    needed = {result}
    kept: list[Instr] = []
    before = 0
    while len(needed) != before:
        before = len(needed)
        kept = []  # last first
        behind: list[list[Instr]] = []  # per bracket around: what is kept behind its end
        full: list[bool] = []  # per bracket around: something in it is kept
        for instr in reversed(code):
            op = instr.op
            if op is ops.END:
                behind.append(kept)
                full.append(False)
                kept = [instr]
            elif op.opens:
                kept.append(instr)
                if full[-1]:
                    needed.update([a for a in instr.args if a >= 0])
                if not op.closes:
                    after = behind.pop()
                    if full.pop():
                        kept = after + kept
                        full = [True] * len(full)
                    else:
                        kept = after
            elif op in _BRANCHES or instr.dst in needed:
                needed.update([a for a in instr.args if a >= 0])
                kept.append(instr)
                full = [True] * len(full)
    return kept[::-1]


def mark_leaving(f: Function, target: Target) -> None:
    """Make plain innermost loops that are left early, and store nothing, ones over lanes, where lanes have what they do.

    Args:
        f: the function, before it has vectors.
        target: the machine.
    """
    if target.vector_bits:
        for head, end in _searches(f.code):
            leaving = Leaving(f, head, end)
            if leaving.possible(target):
                leaving.mark()


def _searches(code: list[Instr]) -> list[tuple[int, int]]:
    """The innermost plain ranges that something leaves, and that store nothing."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    loops: list[int] = []  # the open brackets that are loops, by how many are around
    plain = left = False  # of the innermost loop: it is one of them as far as has been seen; something leaves it
    lanes = 0  # how many brackets are around the loop over lanes that is open; 0 for none, else one more
    for k, instr in enumerate(code):
        op = instr.op
        if op.effect != ops.CONTROL:
            plain = plain and op is not ops.STORE
        elif op.opens:
            if not op.closes:
                if IS_LOOP[op.code]:
                    loops.append(len(opened))
                    plain, left = op is ops.FOR and not lanes and instr.loop is None, False
                    if instr.loop is not None and not lanes:
                        lanes = len(opened) + 1
                opened.append(k)
        elif op is ops.END:
            head = opened.pop()
            if loops and loops[-1] == len(opened):
                loops.pop()
                if plain and left:
                    found.append((head, k))
                plain = False
            if lanes == len(opened) + 1:
                lanes = 0
        elif plain and (op is ops.RET or (op in _BRANCHES and instr.imm > len(opened) - 1 - loops[-1])):
            left = True
    return found
