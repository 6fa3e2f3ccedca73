"""``lower``: operations without a direct counterpart become short sequences; ``for`` and ``while`` become rotated loops.

Also here, because it must be settled before allocation: comparisons move into the branches they decide, loads used
once become memory operands, stack arguments of calls are stored, and every instruction gets its target's rule.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import InternalError
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.targets.target import Target
from loopwright.types import BOOL, I32, I64, U8, VOID

_GONE: Final = Instr(ops.END, VOID, NONE, [])


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
        counter: of a for, the register it counts in, which nothing in its body writes.
        test: of an if, the comparison that decides it, in its first branch.
    """

    __slots__ = ("below", "condition", "count", "counter", "guard", "hi", "index", "inner", "opener", "test")

    def __init__(self, opener: Instr, index: int, count: int, around: list[_Bracket]) -> None:
        self.opener = opener
        self.index = index
        self.count = count
        self.below: int = around[-1].below + around[-1].count if around else 0
        self.guard = False
        self.inner = False
        self.condition: list[Instr] = []
        self.hi = 0
        self.counter = NONE
        self.test: Instr | None = None


def continued(code: list[Instr]) -> set[int]:
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
        elif op is ops.BR or op is ops.BR_IF or op.compare:
            opener = stack[len(stack) - 1 - code[k].imm]
            if code[opener].op is ops.FOR or code[opener].op is ops.WHILE:
                found.add(opener)
    return found


class Lowering:
    """One run of the pass."""

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        self.code = f.code
        self.out: list[Instr] = []
        self.stack: list[_Bracket] = []
        # Conditions of while loops that are under way, and what the loops around count with.
        self.conditions = 0
        self.counters: set[int] = set()
        self.continued = continued(f.code)
        self.known = len(f.types)
        self.uses: list[int] = [0] * self.known
        # Of those, by fused multiply-adds.
        self.fused_uses: list[int] = [0] * self.known
        repeated = False
        for instr in f.code:
            fused = instr.op is ops.FMA
            if instr.op is ops.DO:
                repeated = True
            for a in instr.args:
                if a >= 0:
                    self.uses[a] += 1
                    if fused:
                        self.fused_uses[a] += 1
        if repeated:
            self.count_repeated()
        # As they were: ``uses`` falls when instructions are merged.
        self.all_uses = list(self.uses)
        # Straight-line stretches: a comparison may move into a branch, and a load into its use, only inside one.
        self.stretch = 0
        self.memory = 0
        self.compare_at: dict[int, int] = {}
        self.compare_stretch: dict[int, int] = {}
        self.compare_memory: dict[int, int] = {}
        # Registers that are others under another type: what a conversion between integers of one size makes.
        self.alias: dict[int, int] = {}
        self.load_at: dict[int, int] = {}
        self.load_stretch: dict[int, int] = {}

    def count_repeated(self) -> None:
        """What the condition of a ``while`` reads from in front of it is read twice: it is tested at the top and at the bottom."""
        begun: list[int] = []
        made_at = [-1] * self.known
        for k in range(len(self.code)):
            instr = self.code[k]
            op = instr.op
            if begun:
                for a in instr.args:
                    if a >= 0 and made_at[a] < begun[-1]:
                        self.uses[a] += 1
                        if op is ops.FMA:
                            self.fused_uses[a] += 1
                if instr.dst >= 0:
                    made_at[instr.dst] = k
            if op is ops.WHILE:
                begun.append(k)
            elif op is ops.DO:
                begun.pop()

    def run(self) -> None:
        self.receive()
        code = self.code
        for k in range(len(code)):
            self.step(code[k], k)
        self.f.code = [instr for instr in self.out if instr is not _GONE]

    def receive(self) -> None:
        """Take the parameters that arrive with anything above their bits as wider integers, and cut them to their types."""
        f = self.f
        unextended = self.target.convention.unextended
        if not unextended:
            return
        for n in range(len(f.params)):
            p = f.params[n]
            type_ = f.types[p]
            if type_ not in unextended or not self.uses[p]:
                continue
            wide = I32 if type_.bits < 32 else I64
            given = f.register(wide, f.names[p])
            f.params[n] = given
            if type_ is BOOL:
                byte = f.register(U8)
                self.make(Instr(ops.CONVERT, U8, byte, [given], source=wide))
                self.make(Instr(ops.CONVERT, BOOL, p, [byte], source=U8))
            else:
                self.make(Instr(ops.CONVERT, type_, p, [given], source=wide))

    # --- emitting -----------------------------------------------------------------------------------------

    def emit(self, instr: Instr) -> None:
        """Append an instruction the target has a rule for."""
        instr.rule = self.target.rule(self.f, instr)
        self.out.append(instr)

    def make(self, instr: Instr) -> None:
        """Append an operation, or what the target puts in its place."""
        if not self.target.expand(self.f, instr, self.emit):
            self.emit(instr)

    def bracket(self, op: ops.Op, line: int) -> None:
        """Append a bracket without operands, or an end."""
        self.stretch += 1
        self.out.append(Instr(op, VOID, NONE, [], 0, line))

    def depth(self, k: int) -> int:
        """What branch depth ``k`` of the input is in the output."""
        # A loop with an inner block is continued by leaving that block; without one nothing branches to it.
        stack = self.stack
        innermost = stack[-1]
        target = stack[len(stack) - 1 - k]
        return innermost.below + innermost.count - target.below - target.count

    # --- the walk -----------------------------------------------------------------------------------------

    def step(self, instr: Instr, k: int) -> None:
        op = instr.op
        alias = self.alias
        if alias:
            for a in instr.args:
                if a in alias:
                    instr.args = [alias.get(a, a) for a in instr.args]
                    break
        if op.effect == ops.CONTROL:
            self.control(instr, k)
            return
        dst = instr.dst
        if op is ops.CONVERT and self.same(instr):
            return
        if op.effect == ops.CALLS:
            self.call(instr)
        else:
            if self.load_at:
                self.fold(instr)
            if not self.target.expand(self.f, instr, self.emit):
                self.emit(instr)
                if dst >= 0 and dst < self.known and (self.uses[dst] == 1 or self.may_repeat(instr)) and not self.f.variable[dst]:
                    if op is ops.LOAD_AT:
                        self.load_at[dst] = len(self.out) - 1
                        self.load_stretch[dst] = self.memory
                    elif op.result == "M" or op is ops.NOT:
                        self.compare_at[dst] = len(self.out) - 1
                        self.compare_stretch[dst] = self.stretch
                        self.compare_memory[dst] = self.memory
            if op.effect == ops.WRITES:
                self.memory += 1
        if dst >= 0 and self.f.variable[dst]:
            self.stretch += 1
            self.memory += 1

    def same(self, instr: Instr) -> bool:
        """Whether a conversion changes nothing but the type, and its result needs no register of its own."""
        a = instr.args[0]
        if a < 0 or not instr.type.is_word or not instr.source.is_word or self.f.variable[instr.dst]:
            return False
        if self.f.variable[a] and not self.counts(a):
            return False
        if self.conditions:
            # In the condition of a while, which is made again at the bottom: what the body reads of it becomes a variable.
            return False
        if instr.dst < len(self.uses) and a < len(self.uses):
            self.uses[a] += self.uses[instr.dst] - 1
            self.fused_uses[a] += self.fused_uses[instr.dst]
        self.alias[instr.dst] = a
        return True

    def counts(self, variable: int) -> bool:
        """Whether it is what a loop around counts with, which keeps its value until the end of the body."""
        return variable in self.counters

    def may_repeat(self, instr: Instr) -> bool:
        """Whether an instruction is a load that only multiply-adds read, few enough to read memory each for itself."""
        uses = self.uses[instr.dst]
        return instr.op is ops.LOAD_AT and uses == self.fused_uses[instr.dst] and uses <= self.target.repeated_loads(instr.type)

    def fold(self, instr: Instr) -> None:
        """Make a load the memory operand of an instruction that reads it: the only one, or one of few."""
        if instr.mem is not None:
            return
        args = instr.args
        for position in range(len(args) - 1, -1, -1):
            a = args[position]
            at = self.load_at.get(a, -1)
            if at < 0 or self.load_stretch[a] != self.memory or args.count(a) > 1:
                # (What is read twice by one instruction is loaded once.)
                continue
            if self.target.fold_memory(self.f, instr, position):
                load = self.out[at]
                self.uses[a] -= 1
                if not self.uses[a]:
                    self.out[at] = _GONE
                instr.args = args[:position] + args[position + 1 :] + load.args
                memory = load.mem
                assert memory is not None
                if position == 0 and instr.op.commutes:
                    # What is left becomes the first operand.
                    position = 1
                if position != len(args) - 1:
                    memory = Mem(memory.indexed, memory.scale, memory.disp, memory.size, False, position, memory.array)
                instr.mem = memory
                if not self.uses[a]:
                    del self.load_at[a]
                return

    def call(self, instr: Instr) -> None:
        f = self.f
        callee = f.callees[instr.imm]
        convention = self.target.convention
        places = convention.assign(callee.params)
        kept: list[int] = []
        for position in range(len(places)):
            if places[position] < 0:
                store = Instr(ops.STORE_ARG, callee.params[position], NONE, [instr.args[position]], ~places[position] + convention.shadow, instr.line)
                if store.args[0] < 0 and not self.target.immediate(store, 0, callee.params[position], f.const_values[~store.args[0]]):
                    store.args[0] = self.materialise(store.args[0], instr.line)
                self.emit(store)
            else:
                kept.append(instr.args[position])
        instr.args = kept
        self.emit(instr)
        self.memory += 1
        self.stretch += 1

    def materialise(self, constant: int, line: int) -> int:
        """A register with the constant in it."""
        type_ = self.f.const_types[~constant]
        r = self.f.register(type_)
        self.emit(Instr(ops.COPY, type_, r, [constant], 0, line))
        return r

    def condition(self, c: int, line: int) -> tuple[str, Instr | None, int]:
        """How to test register ``c``: (condition, the comparison it came from) or ("", None) with the bool to test.

        The third is 1 when the bool must be tested for false.
        """
        negate = 0
        while True:
            at = self.compare_at.get(c, -1)
            if at < 0 or self.compare_stretch[c] != self.stretch:
                break
            found = self.out[at]
            if found.mem is not None and self.compare_memory[c] != self.memory:
                # Its operand in memory may have been written since.
                break
            if found.op is ops.NOT:
                self.out[at] = _GONE
                del self.compare_at[c]
                negate ^= 1
                c = found.args[0]
                # The comparison below may have been used once as well.
                continue
            if found.type.lanes:
                break
            self.out[at] = _GONE
            del self.compare_at[c]
            name = found.op.name
            if negate:
                name = ops.OPPOSITE[name]
                if not found.type.is_float:
                    name = ops.ORDERED_EQUAL.get(name, name)
            return name, found, 0
        if c < 0:
            c = self.materialise(c, line)
        return "", Instr(ops.COPY, BOOL, NONE, [c]), negate

    def control(self, instr: Instr, k: int) -> None:
        op = instr.op
        line = instr.line
        if op is ops.FOR:
            self.begin_for(instr, k)
        elif op is ops.WHILE:
            made = _Bracket(instr, k, 0, self.stack)
            made.condition = self.copy_condition(k)
            self.stack.append(made)
            if made.condition:
                self.conditions += 1
            else:
                self.bracket(ops.BLOCK, line)
                self.bracket(ops.LOOP, line)
                made.count = 2
                self.memory += 1
        elif op is ops.DO:
            self.begin_while_body(instr, k)
        elif op is ops.END:
            self.end(line)
        elif op is ops.ELSE:
            self.bracket(op, line)
            self.stack[-1].test = None
            self.memory += 1
        elif op is ops.BLOCK or op is ops.LOOP:
            self.stack.append(_Bracket(instr, k, 1, self.stack))
            self.bracket(op, line)
            self.memory += 1
        elif op is ops.IF:
            self.begin_if(instr.args[0], line)
            made = _Bracket(instr, k, 1, self.stack)
            made.test = self.out[-1]
            self.stack.append(made)
        elif op is ops.BR:
            self.out.append(Instr(op, VOID, NONE, [], self.depth(instr.imm), line))
        elif op is ops.BR_IF:
            self.branch_if(instr.args[0], self.depth(instr.imm), line)
        elif op.compare and op.opens:
            self.stack.append(_Bracket(instr, k, 1, self.stack))
            self.emit(instr)
            self.stretch += 1
            self.memory += 1
        elif op.compare:
            instr.imm = self.depth(instr.imm)
            self.emit(instr)
            self.stretch += 1
        elif op is ops.RET:
            self.emit(instr)
        elif op is ops.FAIL:
            self.fail(instr)
        else:
            raise InternalError(f"{op.name} before the lower pass")

    def fail(self, instr: Instr) -> None:
        """Checked mode: the record behind the hidden last parameter, then return."""
        f = self.f
        errors = instr.args[0]
        values = [f.const(I64, instr.imm + 1)] + instr.args[1:]
        for n in range(len(values)):
            store = Instr(ops.STORE_AT, I64, NONE, [values[n], errors], 0, instr.line, VOID, Mem(False, 1, 8 * n, 8))
            if values[n] < 0 and not self.target.immediate(store, 0, I64, f.const_values[~values[n]]):
                store.args[0] = self.materialise(values[n], instr.line)
            self.emit(store)
        args = [] if f.result is VOID else [f.const(f.result, 0)]
        self.emit(Instr(ops.RET, f.result, NONE, args, 0, instr.line))
        self.memory += 1

    def begin_if(self, c: int, line: int) -> None:
        name, found, negate = self.condition(c, line)
        assert found is not None
        if name:
            self.emit_compare(ops.IF_CMP[name], found, 0, line)
        elif negate:
            self.emit(self.compare_false(ops.IF_CMP["eq"], found.args[0], 0, line))
        else:
            self.emit(Instr(ops.IF, BOOL, NONE, [found.args[0]], 0, line))
        self.stretch += 1
        self.memory += 1

    def branch_if(self, c: int, depth: int, line: int) -> None:
        name, found, negate = self.condition(c, line)
        assert found is not None
        if name:
            self.emit_compare(ops.BR_CMP[name], found, depth, line)
        elif negate:
            self.emit(self.compare_false(ops.BR_CMP["eq"], found.args[0], depth, line))
        else:
            self.emit(Instr(ops.BR_IF, BOOL, NONE, [found.args[0]], depth, line))
        self.stretch += 1
        self.memory += 1

    def branch_unless(self, c: int, depth: int, line: int) -> None:
        name, found, negate = self.condition(c, line)
        assert found is not None
        if name:
            name = ops.OPPOSITE[name]
            self.emit_compare(ops.BR_CMP[name if found.type.is_float else ops.ORDERED_EQUAL.get(name, name)], found, depth, line)
        elif negate:
            self.emit(Instr(ops.BR_IF, BOOL, NONE, [found.args[0]], depth, line))
        else:
            self.emit(self.compare_false(ops.BR_CMP["eq"], found.args[0], depth, line))
        self.stretch += 1
        self.memory += 1

    def emit_compare(self, op: ops.Op, compare: Instr, depth: int, line: int) -> None:
        self.emit(Instr(op, compare.type, NONE, compare.args, depth, line, VOID, compare.mem))

    def compare_false(self, op: ops.Op, c: int, depth: int, line: int) -> Instr:
        """A bool tested for false."""
        return Instr(op, BOOL, NONE, [c, self.f.const(BOOL, False)], depth, line)

    # --- loops --------------------------------------------------------------------------------------------

    def begin_for(self, instr: Instr, k: int) -> None:
        f = self.f
        lo, hi, step = instr.args
        line = instr.line
        if hi >= 0 and f.variable[hi]:
            # The bounds are read once.
            held = f.register(I64, f.names[hi])
            self.emit(Instr(ops.COPY, I64, held, [hi], 0, line))
            hi = held
        up = f.const_values[~step] > 0
        made = _Bracket(instr, k, 1, self.stack)
        made.hi = hi
        if lo < 0 and hi < 0:
            runs = f.const_values[~lo] < f.const_values[~hi] if up else f.const_values[~lo] > f.const_values[~hi]
            if not runs:
                # Nothing of the body is reached.
                self.bracket(ops.BLOCK, line)
                self.out.append(Instr(ops.BR, VOID, NONE, [], 0, line))
                made.count += 1
                made.guard = True
        else:
            guard = Instr(ops.IF_CMP["lt" if up else "gt"], I64, NONE, [lo, hi], 0, line)
            if lo < 0:
                guard = Instr(ops.IF_CMP["gt" if up else "lt"], I64, NONE, [hi, lo], 0, line)
            if not self.tested(guard):
                made.guard = True
                made.count += 1
                self.emit(guard)
        made.counter = instr.dst
        self.counters.add(instr.dst)
        f.variable[instr.dst] = True
        self.emit(Instr(ops.COPY, I64, instr.dst, [lo], 0, line))
        self.bracket(ops.LOOP, line)
        if k in self.continued:
            made.inner = True
            made.count += 1
            self.bracket(ops.BLOCK, line)
        self.stack.append(made)
        self.memory += 1

    def tested(self, guard: Instr) -> bool:
        """Whether a loop's guard is what the ``if`` directly around it has tested."""
        test = self.stack[-1].test if self.stack else None
        return (
            test is not None
            and test.op is guard.op
            and test.type is I64
            and test.mem is None
            and test.args == guard.args
            and not any(a >= 0 and self.f.variable[a] and a not in self.counters for a in guard.args)
        )

    def begin_while_body(self, instr: Instr, k: int) -> None:
        made = self.stack[-1]
        line = instr.line
        if made.condition:
            self.begin_if(instr.args[0], line)
            self.conditions -= 1
            self.bracket(ops.LOOP, line)
            made.count = 2
        else:
            self.branch_unless(instr.args[0], 1, line)
        if made.index in self.continued:
            made.inner = True
            made.count = 3
            self.bracket(ops.BLOCK, line)
        self.memory += 1

    def end(self, line: int) -> None:
        made = self.stack[-1]
        op = made.opener.op
        self.memory += 1
        if op is ops.FOR:
            if made.inner:
                self.bracket(ops.END, line)
                made.count -= 1
            opener = made.opener
            step = opener.args[2]
            i = opener.dst
            up = self.f.const_values[~step] > 0
            advance = Instr(ops.ADD, I64, i, [i, step], 0, opener.line)
            if not self.target.immediate(advance, 1, I64, self.f.const_values[~step]):
                advance.args[1] = self.materialise(step, opener.line)
            self.emit(advance)
            self.emit(Instr(ops.BR_CMP["lt" if up else "gt"], I64, NONE, [i, made.hi], 0, opener.line))
            self.bracket(ops.END, line)
            if made.guard:
                self.bracket(ops.END, line)
            self.stack.pop()
            self.counters.discard(made.counter)
        elif op is ops.WHILE:
            if made.inner:
                self.bracket(ops.END, line)
                made.count -= 1
            if made.condition:
                self.repeat_condition(made)
            else:
                self.out.append(Instr(ops.BR, VOID, NONE, [], 0, line))
            self.bracket(ops.END, line)
            self.bracket(ops.END, line)
            self.stack.pop()
        else:
            self.stack.pop()
            out = self.out
            if (
                len(out) >= 2
                and out[-1].op is ops.BR
                and out[-1].imm > 0
                and out[-2] is not _GONE
                and (out[-2].op is ops.IF or out[-2].op.compare)
                and out[-2].op.opens
            ):
                # An if around a branch is a conditional branch.
                branch = out.pop()
                test = out.pop()
                op = ops.BR_IF if test.op is ops.IF else ops.BR_CMP[test.op.compare]
                self.emit(Instr(op, test.type, NONE, test.args, branch.imm - 1, test.line, VOID, test.mem))
                self.stretch += 1
            else:
                self.bracket(ops.END, line)

    def copy_condition(self, k: int) -> list[Instr]:
        """The instructions after the ``while`` at ``k``, up to and with its ``do``, before this pass changes them; none when there is a loop among them."""
        copies: list[Instr] = []
        while True:
            k += 1
            instr = self.code[k]
            op = instr.op
            if op is ops.FOR or op is ops.WHILE or op is ops.LOOP:
                return []
            copies.append(instr.copy())
            if op is ops.DO:
                return copies

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
            if instr.op is ops.DO:
                self.branch_if(instr.args[0], 0, instr.line)
                break
            if 0 <= instr.dst < len(self.all_uses) and self.all_uses[instr.dst] > inside.get(instr.dst, 0) and (instr.op is not ops.COPY or instr.args[0] >= 0):
                # The body reads it, in each step the value of that step.
                f.variable[instr.dst] = True
            elif instr.dst >= 0 and not f.variable[instr.dst]:
                fresh = f.register(f.types[instr.dst], f.names[instr.dst])
                while len(self.uses) <= fresh:
                    self.uses.append(0)
                    self.fused_uses.append(0)
                # (Of the original some may have been merged already.)
                self.uses[fresh] = self.all_uses[instr.dst]
                self.known = len(self.uses)
                renamed[instr.dst] = fresh
                instr.dst = fresh
            self.step(instr, made.index + 1 + n)


def run(f: Function, target: Target) -> None:
    """Lower ``f`` for ``target``. Raises ``UnsupportedOperationError`` for an operation the target lacks for a type."""
    lowering = Lowering(f, target)
    lowering.run()
    f.target_name = target.name
