"""The ``loops`` pass: ``for`` and ``while`` become rotated loops, with one branch a step at the bottom.

A ``for`` becomes ``if lo < hi { i = lo; loop { body; i += step; br_if 0, i < hi } }``. A ``while`` tests its condition once in front and, by a copy of it, at the
bottom; with a loop in the condition, at the top.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import LOOPS
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, PTR, VOID, Type

#: What may leave a loop in the middle, or begin its next step there.
_LEAVING: Final = frozenset((ops.BR, ops.BR_IF, ops.RET, ops.FAIL))


class _Bracket:
    """A bracket of the input and what it has become.

    Attributes:
        opener: the input's instruction.
        index: its place in the input.
        count: brackets of the output now open for it.
        below: those open for the brackets around it.
        guard: an if that skips a loop which would not run.
        inner: a block around the body, left to continue.
        condition: of a while, copies of the instructions up to and with its ``do``, for the test at the bottom; none where the
            test is at the top, because there is a loop in the condition.
        hi: of a for, the register or constant it runs to.
        pointer: of a for whose counter nobody reads, a pointer that runs along with it, whose end ``hi`` is; else NONE.
        test: of an if, the comparison that decides it, in its first branch.
    """

    __slots__ = ("below", "condition", "count", "guard", "hi", "index", "inner", "opener", "pointer", "test")

    def __init__(self, opener: Instr, index: int, count: int, around: list[_Bracket]) -> None:
        self.opener = opener
        self.index = index
        self.count = count
        self.below: int = around[-1].below + around[-1].count if around else 0
        self.guard = False
        self.inner = False
        self.condition: list[Instr] = []
        self.hi = 0
        self.pointer = NONE
        self.test: Instr | None = None


def run(f: Function, target: Target) -> None:
    """Rotate the loops of ``f``."""
    for instr in f.code:
        if instr.op is ops.FOR or instr.op is ops.WHILE:
            f.code = _Loops(f, target).rotate()
            return


def _continued(code: list[Instr]) -> set[int]:
    """The ``for`` and ``while`` brackets (by index) that some ``br`` goes on with."""
    found: set[int] = set()
    stack: list[int] = []
    for k in range(len(code)):
        op = code[k].op
        if op.effect != ops.CONTROL:
            continue
        if op.closes:
            if op is ops.END:
                stack.pop()
        elif op.opens:
            stack.append(k)
        elif op is ops.BR or op is ops.BR_IF or op is ops.BR_CASE:
            opener = stack[len(stack) - 1 - code[k].imm]
            if code[opener].op is ops.FOR or code[opener].op is ops.WHILE:
                found.add(opener)
    return found


def _advances(instr: Instr) -> bool:
    """Whether an instruction adds to a pointer in its place."""
    return instr.op is ops.ADD and instr.type is PTR and instr.args[0] == instr.dst


class _Loops:
    """One run of the pass."""

    __slots__ = ("code", "compares", "continued", "f", "out", "stack", "target", "uses")

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        self.code = f.code
        self.out: list[Instr] = []
        self.stack: list[_Bracket] = []
        self.continued = _continued(f.code)
        #: Comparisons of whole numbers, by the register with the result.
        self.compares: dict[int, Instr] = {}
        uses = [0] * len(f.types)
        for instr in f.code:
            for a in instr.args:
                if a >= 0:
                    uses[a] = uses[a] + 1
        self.uses = uses

    def rotate(self) -> list[Instr]:
        out = self.out
        code = self.code
        skipped = 0  # brackets open in a loop that does not run
        for k in range(len(code)):
            instr = code[k]
            op = instr.op
            if skipped:
                if op is ops.END:
                    skipped -= 1
                elif op.opens and not op.closes:
                    skipped += 1
            elif op.effect != ops.CONTROL:
                if (op is ops.LT or op is ops.GT) and instr.type is I64:
                    self.compares[instr.dst] = instr
                out.append(instr)
            elif op is ops.FOR and not self.runs(instr):
                skipped = 1
            else:
                self.control(instr, k)
        return out

    def control(self, instr: Instr, k: int) -> None:
        op = instr.op
        stack = self.stack
        if op is ops.FOR:
            self.begin_for(instr, k)
        elif op is ops.WHILE:
            made = _Bracket(instr, k, 0, stack)
            made.condition = self.copy_condition(k)
            stack.append(made)
            if not made.condition:
                self.bracket(ops.BLOCK, instr.line)
                self.bracket(ops.LOOP, instr.line)
                made.count = 2
        elif op is ops.DO:
            self.begin_while_body(instr, k)
        elif op is ops.END:
            self.end(instr)
        else:
            if op is ops.BR or op is ops.BR_IF or op is ops.BR_CASE:
                instr.imm = self.depth(instr.imm)
            elif op is ops.ELSE:
                stack[-1].test = None
            elif op.opens:
                made = _Bracket(instr, k, 1, stack)
                if op is ops.IF:
                    made.test = self.compares.get(instr.args[0])
                stack.append(made)
            self.out.append(instr)

    def bracket(self, op: ops.Op, line: int) -> None:
        self.out.append(Instr(op, VOID, NONE, [], 0, line))

    def compare(self, op: ops.Op, a: int, b: int, line: int, type_: Type = I64) -> int:
        """A register that holds whether ``a op b``."""
        made = self.f.register(BOOL)
        self.out.append(Instr(op, type_, made, [a, b], 0, line))
        return made

    def depth(self, k: int) -> int:
        """What branch depth ``k`` of the input is in the output."""
        # A loop with an inner block is continued by leaving that block; without one nothing branches to it.
        stack = self.stack
        innermost = stack[-1]
        target = stack[len(stack) - 1 - k]
        return innermost.below + innermost.count - target.below - target.count

    # --- for ----------------------------------------------------------------------------------------------

    def runs(self, instr: Instr) -> bool:
        """Whether a ``for`` may have a step at all."""
        lo, hi, step = instr.args
        values = self.f.const_values
        if lo >= 0 or hi >= 0:
            return True
        return values[~lo] < values[~hi] if values[~step] > 0 else values[~lo] > values[~hi]

    def begin_for(self, instr: Instr, k: int) -> None:
        f = self.f
        lo, hi, step = instr.args
        line = instr.line
        if hi >= 0 and f.variable[hi]:
            # The bounds are read once.
            held = f.register(I64, f.names[hi])
            self.out.append(Instr(ops.COPY, I64, held, [hi], 0, line))
            hi = held
        up = f.const_values[~step] > 0
        made = _Bracket(instr, k, 1, self.stack)
        made.hi = hi
        if lo >= 0 or hi >= 0:
            op, a, b = (ops.LT if up else ops.GT), lo, hi
            if lo < 0:
                op, a, b = (ops.GT if up else ops.LT), hi, lo
            if not self.tested(op, a, b):
                made.guard = True
                made.count = 2
                self.out.append(Instr(ops.IF, BOOL, NONE, [self.compare(op, a, b, line)], 0, line))
        if self.uses[instr.dst] or not up or not self.count_by_pointer(made, k, lo, hi, int(f.const_values[~step])):
            f.variable[instr.dst] = True
            self.out.append(Instr(ops.COPY, I64, instr.dst, [lo], 0, line))
        self.bracket(ops.LOOP, line)
        if k in self.continued:
            made.inner = True
            made.count += 1
            self.bracket(ops.BLOCK, line)
        self.stack.append(made)

    def count_by_pointer(self, made: _Bracket, k: int, lo: int, hi: int, step: int) -> bool:
        """Whether a loop whose counter nobody reads can end where a pointer that its body advances at its end has come to its end, which is computed here.

        (Of a loop that may be left before, the steps may be more than there are addresses.)
        """
        f = self.f
        code = self.code
        depth = 1
        end = k
        while depth:
            end += 1
            op = code[end].op
            depth += (op.opens and not op.closes) - (op is ops.END)
        at = end - 1
        while _advances(code[at]) and self.bytes_of(code[at], step) == 0:
            at -= 1
        pointer = code[at].dst
        size = self.bytes_of(code[at], step) if _advances(code[at]) else 0
        if size == 0 or hi < 0 or (lo < 0 and f.const_values[~lo] != 0):
            return False
        for n in range(k + 1, end):
            if (code[n].dst == pointer and n != at) or code[n].op in _LEAVING:
                return False
        line = made.opener.line
        steps = hi
        if lo >= 0:
            steps = f.register(I64)
            self.out.append(Instr(ops.SUB, I64, steps, [hi, lo], 0, line))
        if size > 1:
            bytes_ = f.register(I64)
            self.out.append(Instr(ops.SHL, I64, bytes_, [steps, f.const(I64, size.bit_length() - 1)], 0, line))
            steps = bytes_
        made.pointer = pointer
        made.hi = f.register(PTR)
        self.out.append(Instr(ops.ADD, PTR, made.hi, [pointer, steps], 0, line))
        return True

    def bytes_of(self, advance: Instr, step: int) -> int:
        """How far a pointer is advanced for each index of a loop's step, where that is a power of two; else 0."""
        by = advance.args[1]
        size = int(self.f.const_values[~by]) if by < 0 else 0
        if size % step:
            return 0
        size //= step
        return size if size > 0 and size & (size - 1) == 0 else 0

    def tested(self, op: ops.Op, a: int, b: int) -> bool:
        """Whether a loop's guard is what the ``if`` directly around it has tested."""
        test = self.stack[-1].test if self.stack else None
        return test is not None and test.op is op and test.mem is None and test.args == [a, b] and self.keeps(a) and self.keeps(b)

    def keeps(self, a: int) -> bool:
        """Whether an operand has held the same since it was written: a variable may not, unless a loop around counts with it."""
        return a < 0 or not self.f.variable[a] or any(bracket.opener.op is ops.FOR and bracket.opener.dst == a for bracket in self.stack)

    def end_for(self, made: _Bracket) -> None:
        opener = made.opener
        line = opener.line
        if made.pointer >= 0:
            # (What is left of the last step may be less than a step.)
            op = ops.NE if self.f.const_values[~opener.args[2]] == 1 else ops.LT
            self.out.append(Instr(ops.BR_IF, BOOL, NONE, [self.compare(op, made.pointer, made.hi, line, PTR)], 0, line))
            return
        step = opener.args[2]
        i = opener.dst
        up = self.f.const_values[~step] > 0
        advance = Instr(ops.ADD, I64, i, [i, step], 0, line)
        if not self.target.immediate(advance, 1, I64, self.f.const_values[~step]):
            advance.args[1] = self.f.register(I64)
            self.out.append(Instr(ops.COPY, I64, advance.args[1], [step], 0, line))
        self.out.append(advance)
        self.out.append(Instr(ops.BR_IF, BOOL, NONE, [self.compare(ops.LT if up else ops.GT, i, made.hi, line)], 0, line))

    # --- while --------------------------------------------------------------------------------------------

    def copy_condition(self, k: int) -> list[Instr]:
        """The instructions after the ``while`` at ``k``, up to and with its ``do``, before this pass changes them; none when there is a loop among them."""
        copies: list[Instr] = []
        while True:
            k += 1
            instr = self.code[k]
            if instr.op in LOOPS:
                return []
            copies.append(instr.copy())
            if instr.op is ops.DO:
                return copies

    def begin_while_body(self, instr: Instr, k: int) -> None:
        made = self.stack[-1]
        line = instr.line
        if made.condition:
            self.out.append(Instr(ops.IF, BOOL, NONE, instr.args, 0, line))
            self.bracket(ops.LOOP, line)
            made.count = 2
        else:
            negated = self.f.register(BOOL)
            self.out.append(Instr(ops.NOT, BOOL, negated, instr.args, 0, line))
            self.out.append(Instr(ops.BR_IF, BOOL, NONE, [negated], 1, line))
        if made.index in self.continued:
            made.inner = True
            made.count = 3
            self.bracket(ops.BLOCK, line)

    def repeat_condition(self, made: _Bracket) -> None:
        """The condition of a while again at the bottom, with registers of its own but for those that the body reads too."""
        f = self.f
        renamed: dict[int, int] = {}
        condition = made.condition
        inside: dict[int, int] = {}
        for instr in condition:
            for a in instr.args:
                inside[a] = inside.get(a, 0) + 1
        for n in range(len(condition)):
            instr = condition[n]
            instr.args = [renamed.get(a, a) for a in instr.args]
            dst = instr.dst
            if instr.op is ops.DO:
                self.out.append(Instr(ops.BR_IF, BOOL, NONE, instr.args, 0, instr.line))
                break
            if 0 <= dst < len(self.uses) and self.uses[dst] > inside.get(dst, 0) and (instr.op is not ops.COPY or instr.args[0] >= 0):
                # The body reads it, in each step the value of that step.
                f.variable[dst] = True
            elif dst >= 0 and not f.variable[dst]:
                renamed[dst] = instr.dst = f.register(f.types[dst], f.names[dst])
            if instr.op.effect != ops.CONTROL:
                self.out.append(instr)
            elif instr.op is ops.END:
                self.end(instr)
            else:
                self.control(instr, made.index + 1 + n)

    def end(self, instr: Instr) -> None:
        made = self.stack[-1]
        op = made.opener.op
        line = instr.line
        if op is not ops.FOR and op is not ops.WHILE:
            self.stack.pop()
            self.out.append(instr)
            return
        if made.inner:
            self.bracket(ops.END, line)
            made.count -= 1
        if op is ops.FOR:
            self.end_for(made)
        elif made.condition:
            self.repeat_condition(made)
        else:
            self.out.append(Instr(ops.BR, VOID, NONE, [], 0, line))
        self.bracket(ops.END, line)
        if made.guard or op is ops.WHILE:
            self.bracket(ops.END, line)
        self.stack.pop()
