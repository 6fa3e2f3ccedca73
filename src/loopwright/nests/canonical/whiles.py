"""A ``while`` that counts, as the ``for`` that it is, so that all that is done to loops is done to it.

::

    %i = copy.i64 0
    while                                    %k = for 0, %n, 1
      %1 = lt.i64 %i, %n
    do %1                             →        %2 = load.f32 x[%k]
      %2 = load.f32 x[%i]                      store.f32 %2, y[%k]
      store.f32 %2, y[%i]                      %i.next = add.i64 %k, 1
      %i = add.i64 %i, 1                     end
    end                                      %i = max.i64 0, %n             (where something reads it behind the loop)

It counts by a constant, once in each iteration, towards a bound that the loop does not change. Where the loop may be left early, what it counts with is kept in its variable as well; inside of others such a loop stays.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.ir.ops import Op
from loopwright.nests.rewriting.operands import moved
from loopwright.types import I64, VOID

__all__ = ["run"]

#: What a condition says of a loop that counts up, with the counter first: how far behind the bound the loop ends.
_UP = {ops.LT: 0, ops.LE: 1}
#: The same of one that counts down.
_DOWN = {ops.GT: 0, ops.GE: -1}


class _Counted:
    """A loop that counts.

    Attributes:
        counter: the variable.
        bound: what the counter is compared with.
        behind: how far behind the bound the loop ends.
        head, body, end: where the loop begins, where its body does, and where it ends.
        advance: where the counter is advanced.
        step: by how much.
        left: whether the loop may be left early.
    """

    __slots__ = ("advance", "behind", "body", "bound", "counter", "end", "head", "left", "step")

    def __init__(self, counter: int, bound: int, places: tuple[int, int, int]) -> None:
        self.counter = counter
        self.bound = bound
        self.head, self.body, self.end = places
        self.behind = 0
        self.advance = NONE
        self.step = 0
        self.left = False


def run(f: Function) -> None:
    """Rewrite every such loop, the inner ones first."""
    if not any(instr.op is ops.WHILE for instr in f.code):
        return
    heads: list[tuple[int, bool]] = []
    #: Per open bracket: whether it is a loop.
    opened: list[bool] = []
    for k, instr in enumerate(f.code):
        if instr.op.opens and not instr.op.closes:
            if instr.op is ops.WHILE:
                heads.append((k, True in opened))
            opened.append(IS_LOOP[instr.op.code])
        elif instr.op is ops.END:
            opened.pop()
    made = False
    for head, inside in reversed(heads):
        found = _counted(f, head)
        # (One that is left early, in a loop that could have lanes, runs as long as one of these needs it: 2 to 4 times as long where most leave it soon.)
        if found is not None and not (inside and found.left):
            _rewrite(f, found)
            made = True
    if made:
        _drop(f)


def _counted(f: Function, head: int) -> _Counted | None:
    """The loop at a position, if it is one that counts."""
    code = f.code
    partner = match(code)
    body = partner[head]
    end = partner[body]
    condition = code[body].args[0]
    test = code[body - 1]
    if test.dst != condition or condition < 0 or f.variable[condition] or test.type is not I64:
        return None
    if any(not instr.op.pure for instr in code[head + 1 : body]) or any(condition in instr.args for instr in [*code[:head], *code[end + 1 :]]):
        return None
    written = {instr.dst for instr in code[head + 1 : end] if instr.dst >= 0}
    if len(test.args) != 2:
        return None
    first, second = test.args
    for counter, bound, op in ((first, second, test.op), (second, first, _exchanged(test.op))):
        if counter >= 0 and f.variable[counter] and counter in written and (op in _UP or op in _DOWN):
            found = _Counted(counter, bound, (head, body, end))
            if not _advances(f, found) or not _stays(f, found, written, test):
                continue
            towards = _UP if found.step > 0 else _DOWN
            if op in towards:
                found.behind = towards[op]
                return found
    return None


def _exchanged(op: Op) -> Op:
    name = ops.EXCHANGED.get(op.name)
    return op if name is None else ops.COMPARISONS[name]


def _stays(f: Function, found: _Counted, written: set[int], test: Instr) -> bool:
    """Whether what is computed for the condition, but for the comparison, stays the same in the loop."""
    own = {instr.dst for instr in f.code[found.head + 1 : found.body]}
    for instr in f.code[found.head + 1 : found.body]:
        if f.variable[instr.dst] or (instr is not test and any(a in written and a not in own for a in instr.args)):
            return False
    # (The condition, and what it takes, may be read in the body as well.)
    return found.bound not in written or found.bound in own


def _advances(f: Function, found: _Counted) -> bool:
    """Whether every iteration that another follows advances the counter once, by a constant; how is noted."""
    code = f.code
    #: Per open bracket of the body: whether all iterations that go on come here (it is an ``else``, and the loop is left by the way of the ``if``). And whether it has more than two arms.
    passed: list[bool] = []
    several: list[bool] = []
    for k in range(found.body + 1, found.end):
        instr = code[k]
        if instr.op is ops.BR or instr.op is ops.BR_IF:
            # (Towards the loop itself it goes on with the next iteration, perhaps past the place where the counter is advanced.)
            if instr.imm == len(passed) or (instr.imm < len(passed) and passed[-1 - instr.imm]):
                return False
            found.left = found.left or instr.imm > len(passed)
        elif instr.op is ops.RET:
            found.left = True
        elif instr.op is ops.ELSE:
            last = code[k - 1]
            passed[-1] = not several[-1] and (last.op is ops.RET or (last.op is ops.BR and last.imm >= len(passed)))
        elif instr.op is ops.ELIF:
            several[-1] = True
        elif instr.op.opens and not instr.op.closes:
            passed.append(False)
            several.append(False)
        elif instr.op is ops.END:
            passed.pop()
            several.pop()
        if instr.dst == found.counter:
            step = _step(f, found, k)
            if False in passed or found.advance != NONE or not step:
                return False
            found.advance, found.step = k, step
    return found.advance != NONE


def _step(f: Function, found: _Counted, k: int) -> int:
    """By what constant an instruction advances the counter; 0 for others."""
    instr = f.code[k]
    if instr.op is ops.COPY and instr.args[0] >= 0 and not f.variable[instr.args[0]]:
        made = next((other for other in f.code[found.body + 1 : k] if other.dst == instr.args[0]), None)
        if made is None:
            return 0
        instr = made
    if instr.op is not ops.ADD and instr.op is not ops.SUB:
        return 0
    a, b = instr.args
    if instr.op is ops.ADD and b == found.counter:
        a, b = b, a
    if a != found.counter or b >= 0:
        return 0
    step = int(f.const_values[~b])
    return step if instr.op is ops.ADD else -step


def _rewrite(f: Function, found: _Counted) -> None:
    """Put a ``for`` in the place of the loop."""
    code = f.code
    counter, line = found.counter, code[found.head].line
    name = f.names[counter]
    out = code[: found.head]
    test = code[found.body - 1]
    # (What the condition is made of is the same in front of the loop.)
    out += code[found.head + 1 : found.body - 1]
    low = _begins(f, code, found.head, counter)
    read = low is None or _read_elsewhere(f, found)
    if low is None:
        # (What it has here may be what it had behind the loop, in the iteration before of one around it.)
        low = _emit(f, ops.COPY, [counter], line, out)
    high = moved(f, found.bound, found.behind, line, out)
    if high >= 0 and f.variable[high]:
        high = _emit(f, ops.COPY, [high], line, out)
    index = f.register(I64, name)
    out.append(Instr(ops.FOR, VOID, index, [low, high, f.const(I64, found.step)], 0, line))
    if any(test.dst in instr.args for instr in code[found.body + 1 : found.end]):
        # (It holds in the body; what is read there is what was asked.)
        out.append(Instr(test.op, test.type, test.dst, [index if a == counter else a for a in test.args], test.imm, test.line))
    now = index
    behind = {a for instr in code[found.advance + 1 : found.end] for a in instr.args}
    depth = 0
    for k in range(found.body + 1, found.end):
        instr = code[k]
        if k == found.advance:
            if counter in behind or (found.left and read):
                now = _emit(f, ops.ADD, [index, f.const(I64, found.step)], instr.line, out, name)
            continue
        instr.args = [now if a == counter else a for a in instr.args]
        depth += (instr.op.opens and not instr.op.closes) - (instr.op is ops.END)
        if read and _leaves(instr, depth):
            _leave(f, instr, counter, now, out)
        else:
            out.append(instr)
    out.append(code[found.end])
    if read:
        out.append(Instr(ops.COPY, I64, counter, [_last(f, low, high, found.step, line, out)], 0, line))
    f.code = out + code[found.end + 1 :]


def _leaves(instr: Instr, depth: int) -> bool:
    """Whether an instruction, inside of so many brackets in the loop, leaves it."""
    return (instr.op is ops.BR or instr.op is ops.BR_IF) and instr.imm > depth


def _leave(f: Function, instr: Instr, counter: int, now: int, out: list[Instr]) -> None:
    """Leave a loop with what its counter has in the variable that is read behind it."""
    kept = Instr(ops.COPY, I64, counter, [now], 0, instr.line)
    if instr.op is ops.BR:
        out += [kept, instr]
        return
    out += [Instr(ops.IF, VOID, NONE, list(instr.args), 0, instr.line), kept]
    out += [Instr(ops.BR, VOID, NONE, [], instr.imm + 1, instr.line), Instr(ops.END, VOID, NONE, [], 0, instr.line)]


def _begins(f: Function, code: list[Instr], head: int, counter: int) -> int | None:
    """The constant, or register that is written once, that a counter has in front of a loop; None for others."""
    for k in range(head - 1, -1, -1):
        instr = code[k]
        if instr.dst == counter:
            if instr.op is not ops.COPY:
                return None
            value = instr.args[0]
            return value if value < 0 or not f.variable[value] else None
        if instr.op.effect == ops.CONTROL and instr.op is not ops.BLOCK:
            return None
    return None


def _read_elsewhere(f: Function, found: _Counted) -> bool:
    """Whether anything outside of the loop reads its counter. (The loops inside of it are part of it.)"""
    code = f.code
    return any(found.counter in instr.args for instr in [*code[: found.head], *code[found.end + 1 :]])


def _last(f: Function, low: int, high: int, step: int, line: int, out: list[Instr]) -> int:
    """What a counter has behind its loop: the first number that is not in front of the bound."""
    if step in (1, -1):
        return _emit(f, ops.MAX if step > 0 else ops.MIN, [low, high], line, out)
    # So many whole steps, each begun one counted, as it takes.
    size = abs(step)
    ways = [high, low] if step > 0 else [low, high]
    far = _emit(f, ops.MAX, [_emit(f, ops.SUB, ways, line, out), f.const(I64, 0)], line, out)
    steps = _emit(f, ops.DIV_FLOOR, [_emit(f, ops.ADD, [far, f.const(I64, size - 1)], line, out), f.const(I64, size)], line, out)
    return _emit(f, ops.ADD, [low, _emit(f, ops.MUL, [steps, f.const(I64, step)], line, out)], line, out)


def _emit(f: Function, op: Op, args: list[int], line: int, out: list[Instr], name: str = "") -> int:
    made = f.register(I64, name)
    out.append(Instr(op, I64, made, args, 0, line))
    return made


def _drop(f: Function) -> None:
    """Take out what writes variables that nothing reads any more: it would seem to matter to the loops around."""
    read = set(f.params)
    for instr in f.code:
        read.update(instr.args)
    f.code = [instr for instr in f.code if instr.dst < 0 or not instr.op.pure or not f.variable[instr.dst] or instr.dst in read]
