"""``jumps``: brackets become labels and jumps; heads of innermost loops are marked for alignment.

What a loop does seldom goes behind the function's end, so that nothing has to jump over it: the body of an ``if`` that returns, as tests of checked mode do, and of one that compares a value
with the greatest or least so far and makes it that. Of values in any order the n-th is such a record with a probability of 1/n (A. Rényi, *Théorie des éléments saillants d'une suite
d'observations*, 1962). So do short first arms of chains, and of an ``if`` for a number that is equal to a constant.

What would jump to the short end of a loop, where that counts and asks whether it goes on, does so itself: an arm is left by one jump that is taken instead of two, and each of them is learnt for itself (F. Mueller and
D. B. Whalley, "Avoiding unconditional jumps by code replication", PLDI 1992).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, SLOT, Function, Instr
from loopwright.ir.loops import LOOP_WEIGHT, weights
from loopwright.targets.target import Target
from loopwright.types import BOOL, VOID, Type


class _Open:
    """An open bracket: its labels, made when first needed (-1 before)."""

    __slots__ = ("head", "inner", "is_loop", "leave", "otherwise")

    def __init__(self, is_loop: bool) -> None:
        self.is_loop = is_loop
        self.head = -1
        self.leave = -1
        self.otherwise = -1
        self.inner = True


def jump_when(instr: Instr, label: int) -> Instr:
    """The jump to an ``if``'s body."""
    if instr.op is ops.IF:
        return Instr(ops.JUMP_IF, BOOL, NONE, instr.args, label, instr.line)
    return Instr(ops.JUMP_CMP[instr.op.compare], instr.type, NONE, instr.args, label, instr.line, instr.source, instr.mem)


def jump_unless(instr: Instr, label: int) -> Instr:
    """The jump that skips an ``if``'s body."""
    op = instr.op
    if op is ops.IF:
        return Instr(ops.JUMP_UNLESS, BOOL, NONE, instr.args, label, instr.line)
    name = opposite(op.compare, instr.type)
    return Instr(ops.JUMP_CMP[name], instr.type, NONE, instr.args, label, instr.line, instr.source, instr.mem)


def opposite(condition: str, type_: Type) -> str:
    """The condition that holds when this one does not; plain ones for operands that are always ordered."""
    name = ops.OPPOSITE[condition]
    return name if type_.is_float else ops.ORDERED_EQUAL.get(name, name)


def run(f: Function, target: Target) -> None:
    """Replace all brackets of ``f`` by labels and jumps."""
    _Jumps(f).run()


def opposed(instr: Instr, label: int) -> Instr:
    """The conditional jump that is taken where this one is not, to ``label``."""
    op = instr.op
    if op is ops.JUMP_IF or op is ops.JUMP_UNLESS:
        made = Instr(ops.JUMP_UNLESS if op is ops.JUMP_IF else ops.JUMP_IF, BOOL, NONE, instr.args, label, instr.line)
    else:
        made = Instr(ops.JUMP_CMP[opposite(op.compare, instr.type)], instr.type, NONE, instr.args, label, instr.line, instr.source, instr.mem)
    made.weight = instr.weight
    return made


#: Arms of so few instructions are put aside, in functions of so few: there short jumps get to them and back.
_SHORT_ARM: Final = 9
_LARGEST: Final = 1000
#: So many instructions the end of a loop has at most that arms have a copy of.
_SHORT_END: Final = 4
#: What goes to a label always, or by a table.
_JUMPING: Final = frozenset((ops.JUMP, ops.JUMP_TABLE, ops.JUMP_CASE))
_CONDITIONAL: Final = [
    op is ops.JUMP_IF or op is ops.JUMP_UNLESS or (op is not ops.JUMP_CASE and op.compare != "" and ops.JUMP_CMP.get(op.compare) is op) for op in ops.OPS
]
#: By the operation's number: whether an instruction goes to a label; whether it neither does so nor is one.
_GOES: Final = [op in _JUMPING or _CONDITIONAL[op.code] for op in ops.OPS]
_PLAIN: Final = [op is not ops.LABEL and not _GOES[op.code] for op in ops.OPS]


def straightened(code: list[Instr]) -> list[Instr]:
    """Without jumps to jumps, jumps over jumps, jumps to what comes next, and what nothing gets to; a loop goes on by the conditional jump at its end.

    Args:
        code: labels and jumps, no brackets.
    """
    redirected(code)
    out: list[Instr] = []
    placed: set[int] = set()
    k = 0
    while k < len(code):
        instr = code[k]
        if _PLAIN[instr.op.code]:
            out.append(instr)
            k += 1
            continue
        if instr.op is ops.LABEL:
            placed.add(instr.imm)
        if k + 1 < len(code) and code[k + 1].op is ops.JUMP and _CONDITIONAL[instr.op.code]:
            jump = code[k + 1]
            if instr.imm in labels_at(code, k + 2):
                out.append(opposed(instr, jump.imm))
                k += 2
                continue
            if jump.imm in placed and instr.imm not in placed:
                code[k + 1] = Instr(ops.JUMP, VOID, NONE, [], instr.imm, jump.line)
                code[k + 1].weight = jump.weight
                instr = opposed(instr, jump.imm)
        if instr.op is ops.JUMP_CASE and code[k + 1].op is not ops.JUMP_CASE:
            out.append(instr)
            k += 1
            while code[k].op is not ops.LABEL:
                k += 1
            continue
        if instr.op is ops.JUMP:
            # What follows runs only from its next label on.
            end = k + 1
            while end < len(code) and code[end].op is not ops.LABEL:
                end += 1
            if instr.imm not in labels_at(code, end):
                out.append(instr)
            k = end
            continue
        out.append(instr)
        k += 1
    used = {instr.imm for instr in out if _GOES[instr.op.code]}
    return [instr for instr in out if instr.op is not ops.LABEL or instr.imm in used]


def with_ends(f: Function, code: list[Instr]) -> list[Instr]:
    """Short ends of loops in the place of jumps to them.

    Args:
        f: the function, which may get labels.
        code: labels and jumps, no brackets.
    """
    where = {instr.imm: k for k, instr in enumerate(code) if instr.op is ops.LABEL}
    ends: dict[int, int] = {}
    for instr in code:
        if instr.op is ops.JUMP and instr.weight > 1.0 and instr.imm not in ends:
            ends[instr.imm] = _short_end(code, where, instr.imm)
    if not any(end >= 0 for end in ends.values()):
        return code
    # Where control goes on behind each of them: to a label, which is made if there is none.
    ways: dict[int, int] = {}
    labelled: dict[int, Instr] = {}
    for end in ends.values():
        if end >= 0 and end not in ways:
            following = code[end + 1]
            if following.op is not ops.LABEL and following.op is not ops.JUMP:
                labelled[end] = Instr(ops.LABEL, VOID, NONE, [], f.labels, following.line)
                labelled[end].weight = following.weight
                f.labels += 1
                following = labelled[end]
            ways[end] = following.imm
    out: list[Instr] = []
    for k, instr in enumerate(code):
        end = ends.get(instr.imm, -1) if instr.op is ops.JUMP and instr.weight > 1.0 else -1
        if end < 0:
            out.append(instr)
            if k in labelled:
                out.append(labelled[k])
            continue
        for each in code[where[instr.imm] : end + 1]:
            if each.op is not ops.LABEL:
                copy = each.copy()
                copy.weight = instr.weight
                out.append(copy)
        on = Instr(ops.JUMP, VOID, NONE, [], ways[end], code[end].line)
        on.weight = 1.0
        out.append(on)
    return out


def _short_end(code: list[Instr], where: dict[int, int], label: int) -> int:
    """Where the conditional jump stands by which a loop goes on, if what is between a label and that is short; else -1."""
    start = where[label]
    k = start
    count = 0
    # (Of a loop that nothing leaves nothing may stand behind the end.)
    while count <= _SHORT_END and k + 1 < len(code):
        op = code[k].op
        if _CONDITIONAL[op.code]:
            return k if where[code[k].imm] < start else -1
        if op is not ops.LABEL:
            if not _PLAIN[op.code] or op.effect == ops.CONTROL or op.effect == ops.CALLS:
                return -1
            count += 1
        k += 1
    return -1


def redirected(code: list[Instr]) -> None:
    """Let each jump to a jump go where that goes."""
    goes: dict[int, int] = {}
    for k in range(len(code) - 1, -1, -1):
        if code[k].op is ops.LABEL and k + 1 < len(code):
            following = code[k + 1]
            if following.op is ops.JUMP:
                goes[code[k].imm] = following.imm
            elif following.op is ops.LABEL and following.imm in goes:
                goes[code[k].imm] = goes[following.imm]
    if not goes:
        return
    for instr in code:
        if _GOES[instr.op.code]:
            seen: set[int] = set()
            while instr.imm in goes and instr.imm not in seen:
                seen.add(instr.imm)
                instr.imm = goes[instr.imm]


def labels_at(code: list[Instr], k: int) -> set[int]:
    """The labels that stand at a position."""
    found: set[int] = set()
    while k < len(code) and code[k].op is ops.LABEL:
        found.add(code[k].imm)
        k += 1
    return found


class _Jumps:
    """The walk's state.

    Attributes:
        out: the code so far.
        stack: the open brackets.
        labels: how many there are; ``used`` has those that something jumps to.
        aside: what goes behind the end.
        dead: after a jump or a return, until the next label, nothing runs.
        first_label, labelled: from the one to the other stand labels only, as far as is known.
    """

    __slots__ = ("aside", "dead", "f", "first_label", "labelled", "labels", "out", "stack", "used")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.out: list[Instr] = []
        self.aside: list[Instr] = []
        self.stack: list[_Open] = []
        self.labels = 0
        self.used: set[int] = set()
        self.dead = False
        self.first_label = self.labelled = 0

    def run(self) -> None:
        out = self.out
        code = self.f.code
        weight = weights(code)
        control = ops.CONTROL
        # (Control does not get to the end of what ends in a return.)
        ends = bool(code) and code[-1].op is ops.RET
        past = -1
        for k in range(len(code)):
            if k <= past:
                continue
            instr = code[k]
            if instr.op is ops.SWITCH:
                past = self.switch(code, k, weight[k])
                continue
            if instr.op.effect != control:
                if not self.dead:
                    instr.weight = weight[k]
                    out.append(instr)
                continue
            made = len(out)
            if instr.op is ops.END:
                self.end(instr)
            elif instr.op is ops.ELSE:
                self.otherwise(instr)
            elif instr.op.opens:
                may = ends and not self.dead and weight[k] > 1.0
                end = _seldom(code, k) if may else -1
                other = _alternative(self.f, k) if may and end < 0 else -1
                if other >= 0:
                    self.arm_aside(code, k, other, weight[k + 1])
                    past = other
                elif end >= 0:
                    self.put_aside(code, k, end, weight[k + 1] if code[end - 1].op is ops.RET else weight[k] / LOOP_WEIGHT)
                    past = end
                else:
                    self.begin(instr)
            elif not self.dead:
                self.leave(instr)
            # A loop's label is inside of it.
            own = weight[k + 1] if instr.op is ops.LOOP else weight[k]
            for n in range(min(made, len(out)), len(out)):
                out[n].weight = own
        out += self.aside
        used = self.used
        self.f.code = [instr for instr in out if instr.op is not ops.LABEL or instr.imm in used]
        self.f.labels = self.labels
        if any(instr.op is ops.JUMP for instr in self.f.code):
            before = len(self.f.code) + 1
            while len(self.f.code) < before:
                before = len(self.f.code)
                self.f.code = straightened(self.f.code)
            if len(self.f.code) <= _LARGEST:
                ended = with_ends(self.f, self.f.code)
                if ended is not self.f.code:
                    self.f.code = straightened(ended)

    def switch(self, code: list[Instr], k: int, weight: float) -> int:
        """The switch at ``k`` with its cases; where it ends. What is moved on the way to a case stands behind the last of them."""
        line = code[k].line
        past = self.label()
        made = [Instr(ops.JUMP_TABLE, VOID, NONE, code[k].args, past, line)]
        ways: list[Instr] = []
        known: dict[tuple[int, ...], int] = {}
        cases = int(self.f.const_values[~code[k].args[1]])
        for _ in range(cases):
            k += 1
            if code[k].op is ops.BR_CASE:
                label = self.way(code[k].imm)
            else:
                first = k + 1
                while code[k].op is not ops.BR:
                    k += 1
                to = self.way(code[k].imm - 1)
                key = (to, *[number for move in code[first:k] for number in (move.op.code, move.dst, *move.args)])
                # (Cases that go one way have the same moves.)
                label = known.get(key, -1)
                if label < 0:
                    label = known[key] = self.label()
                    ways += [Instr(ops.LABEL, VOID, NONE, [], label, line), *code[first:k], Instr(ops.JUMP, VOID, NONE, [], to, line)]
                k += 1
            made.append(Instr(ops.JUMP_CASE, VOID, NONE, [], label, line))
            self.used.add(label)
        if not self.dead:
            self.used.add(past)
            for instr in (*made, *ways):
                instr.weight = weight
                self.out.append(instr)
            self.place(past, line)
        return k

    def way(self, depth: int) -> int:
        """The label of what a branch goes to."""
        opened = self.stack[len(self.stack) - 1 - depth]
        if opened.is_loop:
            label = opened.head
        else:
            if opened.leave < 0:
                opened.leave = self.label()
            label = opened.leave
        self.used.add(label)
        return label

    def put_aside(self, code: list[Instr], k: int, end: int, weight: float) -> None:
        """The body of the ``if`` at ``k`` behind the function's end, and a jump back from there, if it gets there."""
        there = self.label()
        self.used.add(there)
        self.out.append(jump_when(code[k], there))
        line = code[k].line
        aside = [Instr(ops.LABEL, VOID, NONE, [], there, line), *code[k + 1 : end]]
        if aside[-1].op is not ops.RET:
            back = self.label()
            self.used.add(back)
            self.place(back, code[end].line)
            aside.append(Instr(ops.JUMP, VOID, NONE, [], back, line))
        for instr in aside:
            instr.weight = weight
        self.aside += aside

    def arm_aside(self, code: list[Instr], k: int, other: int, weight: float) -> None:
        """The first arm of the ``if`` at ``k`` behind the function's end; the other, whose ``else`` is at ``other``, follows here."""
        opened = _Open(False)
        opened.leave = self.label()
        there = self.label()
        self.used.update((there, opened.leave))
        self.out.append(jump_when(code[k], there))
        line = code[k].line
        aside = [Instr(ops.LABEL, VOID, NONE, [], there, line), *code[k + 1 : other], Instr(ops.JUMP, VOID, NONE, [], opened.leave, code[other].line)]
        for instr in aside:
            instr.weight = weight
        self.aside += aside
        self.stack.append(opened)

    def label(self) -> int:
        """The number of a new label."""
        self.labels += 1
        return self.labels - 1

    def place(self, label: int, line: int) -> None:
        """Put a label here."""
        self.out.append(Instr(ops.LABEL, VOID, NONE, [], label, line))

    def begin(self, instr: Instr) -> None:
        """``block``, ``loop``, ``if``."""
        opened = _Open(instr.op is ops.LOOP)
        if opened.is_loop:
            n = len(self.stack) - 1
            while n >= 0 and self.stack[n].inner:
                self.stack[n].inner = False
                n -= 1
            opened.head = self.label()
            if not self.dead:
                self.place(opened.head, instr.line)
        elif instr.op is not ops.BLOCK:
            opened.otherwise = self.label()
            if not self.dead:
                self.out.append(jump_unless(instr, opened.otherwise))
                self.used.add(opened.otherwise)
        self.stack.append(opened)

    def otherwise(self, instr: Instr) -> None:
        """``else``."""
        opened = self.stack[-1]
        if not self.dead:
            if opened.leave < 0:
                opened.leave = self.label()
            self.out.append(Instr(ops.JUMP, VOID, NONE, [], opened.leave, instr.line))
            self.used.add(opened.leave)
        self.dead = opened.otherwise not in self.used
        if not self.dead:
            self.place(opened.otherwise, instr.line)
        opened.otherwise = -1

    def end(self, instr: Instr) -> None:
        """``end``."""
        out = self.out
        opened = self.stack.pop()
        if opened.is_loop:
            if opened.inner and opened.head in self.used:
                self.f.aligned.add(opened.head)
            return
        for label in (opened.otherwise, opened.leave):
            if label not in self.used:
                continue
            # A jump to the very next instruction is none.
            n = self.first_label if self.labelled == len(out) else len(out)
            while n > 0 and (out[n - 1].op is ops.LABEL or (out[n - 1].op is ops.JUMP and out[n - 1].imm == label)):
                n -= 1
                if out[n].op is ops.JUMP:
                    del out[n]
            self.place(label, instr.line)
            self.first_label = n
            self.labelled = len(out)
            self.dead = False

    def leave(self, instr: Instr) -> None:
        """``br``, ``br_if``, a comparison that branches, ``ret``."""
        op = instr.op
        out = self.out
        if op is not ops.BR and op is not ops.BR_IF and not op.compare:
            out.append(instr)
            self.dead = op is ops.RET
            return
        label = self.way(instr.imm)
        if op is ops.BR:
            out.append(Instr(ops.JUMP, VOID, NONE, [], label, instr.line))
            self.dead = True
        elif op is ops.BR_IF:
            out.append(Instr(ops.JUMP_IF, BOOL, NONE, instr.args, label, instr.line))
        else:
            out.append(Instr(ops.JUMP_CMP[op.compare], instr.type, NONE, instr.args, label, instr.line, instr.source, instr.mem))


def _seldom(code: list[Instr], k: int) -> int:
    """Where the ``if`` at ``k`` ends, if its body returns, or makes a record; else -1."""
    op = code[k].op
    if op is not ops.IF and not op.compare:
        return -1
    at = k + 1
    while code[at].op.effect != ops.CONTROL or code[at].op is ops.EPILOGUE:
        at += 1
    if code[at].op is ops.RET and code[at + 1].op is ops.END:
        return at + 1
    return _record(code, k) if op.compare else -1


def _alternative(f: Function, k: int) -> int:
    """Where the ``else`` is of an ``if`` at ``k`` whose first arm is short, and one of three or more, or for a number that is equal to a constant; else -1.

    Of n tests in a row, each over an arm, a number that none holds for makes n jumps, with the arms put aside none, and one that any but the first holds for two at most. Numbers seldom are what they are compared with (T. Ball and
    J. Larus, "Branch prediction for free", PLDI 1993, the opcode heuristic).
    """
    code = f.code
    instr = code[k]
    op = instr.op
    if not _asks(op) or len(code) > _LARGEST:
        return -1
    at = k + 1
    while code[at].op.effect != ops.CONTROL:
        at += 1
    if code[at].op is not ops.ELSE or at - k > _SHORT_ARM:
        return -1
    if op.compare == "eq" and instr.type.is_integer and any(a < 0 for a in instr.args):
        return at
    following = at + 1
    while code[following].op.effect != ops.CONTROL:
        following += 1
    return at if _asks(code[following].op) else -1


def _asks(op: ops.Op) -> bool:
    """Whether an operation opens an ``if``."""
    return op is ops.IF or (op.compare != "" and ops.IF_CMP.get(op.compare) is op)


def _record(code: list[Instr], k: int) -> int:
    """Where the ``if`` at ``k`` ends, if its body moves one of the values compared to the other, and nothing but moves; else -1."""
    compared = code[k].args
    found = False
    at = k + 1
    while code[at].op is ops.COPY:
        copy = code[at]
        if copy.args[0] >= SLOT or copy.dst >= SLOT:
            return -1
        if copy.dst in compared and copy.args[0] in compared:
            found = True
        at += 1
    return at if found and code[at].op is ops.END else -1
