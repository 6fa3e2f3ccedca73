"""The backward walk of the simplify pass: dead code, and variables written directly instead of through a copy."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import LOOPS
from loopwright.passes.flow import BRANCH, CALL, END, KIND, LEAVE, LOAD, MIDDLE, OPEN, STORE, Bracket

_COPY: Final = ops.COPY.code


class _Exit:
    """A bracket of the backward walk: which variables are wanted where branches to it go, after it, and where its last condition fails."""

    __slots__ = ("after", "otherwise", "target")

    def __init__(self, target: int, after: int) -> None:
        self.target = target
        self.after = after
        self.otherwise = -1


class _Pending:
    """A copy into a variable that goes away if what computes the value can write the variable itself."""

    __slots__ = ("place", "users", "variable")

    def __init__(self, variable: int, place: int, users: list[Instr]) -> None:
        self.variable = variable
        self.place = place
        self.users = users


def remove(f: Function, code: list[Instr], bit: list[int], ends: list[Bracket], held_by: dict[int, int], held_uses: dict[int, list[Instr]]) -> list[Instr]:
    """``code`` without what nobody uses, and with variables written by what computes their values.

    Args:
        f: the function.
        code: what the forward walk made.
        bit: per register, a bit of its own for a variable, 0 otherwise.
        ends: the brackets in the order of their ends; used up.
        held_by, held_uses: per register, the variable that was made a copy of it last, and the instructions that use
            the register while the variable still is.
    """
    kinds = KIND
    used = [0] * len(f.types)
    wanted = 0  # variables that will be read, as bits
    exits: list[_Exit] = []
    pending: dict[int, _Pending] = {}  # by the register copied from
    waiting: dict[int, int] = {}  # variable -> that register
    overtaken: set[int] = set()  # registers with users behind a place to which a write of the variable that holds the same may move
    out: list[Instr | None] = []
    for instr in reversed(code):
        op = instr.op
        kind = kinds[op.code]
        args = instr.args
        dst = instr.dst
        if kind <= LOAD:
            own = bit[dst]
            if own:
                if not wanted & own:
                    instr.args = []
                    continue
                wanted &= ~own
                if dst in waiting:
                    del pending[waiting.pop(dst)]
                if op.code == _COPY:
                    a = args[0]
                    if a >= 0 and not bit[a] and a not in pending:
                        users: list[Instr] = []
                        free = used[a] == 0
                        if not free and held_by.get(a, -1) == dst and a not in overtaken:
                            users = held_uses[a]
                            free = sum(user.args.count(a) for user in users) == used[a]
                        if free:
                            pending[a] = _Pending(dst, len(out), list(users))
                            waiting[dst] = a
                            used[a] += 1
                            out.append(instr)
                            continue
            elif used[dst] == 0:
                instr.args = []
                continue
            elif dst in pending:
                _write_directly(instr, pending.pop(dst), out, waiting)
            if op is ops.MUL and args[1] < 0 and instr.type.is_float and f.const_values[~args[1]] == 2:
                # x * 2 is x + x, which needs no constant; not earlier, so that it could become part of a multiply-add.
                instr.op = ops.ADD
                args = instr.args = [args[0], args[0]]
        elif kind == CALL:
            if dst >= 0:
                own = bit[dst]
                if own:
                    wanted &= ~own
                    if dst in waiting:
                        del pending[waiting.pop(dst)]
                elif dst in pending:
                    _write_directly(instr, pending.pop(dst), out, waiting)
        elif kind != STORE:
            if pending:
                pending.clear()
                waiting.clear()
            if kind == BRANCH:
                target = exits[-1 - instr.imm].target
                wanted = target if op is ops.BR else wanted | target
            elif kind == LEAVE:
                wanted = 0
            elif kind == END:
                bracket = ends.pop()
                after = wanted
                if bracket.loop >= 0:
                    wanted |= bracket.reads
                exits.append(_Exit(wanted, after))
            elif kind == MIDDLE:
                exit_ = exits[-1]
                if op is ops.ELSE or op is ops.ELIF:
                    exit_.otherwise = wanted
                    wanted = exit_.after
                    while out and out[-1] is None:
                        out.pop()
                    last = out[-1]
                    if op is ops.ELSE and last is not None and last.op is ops.END:
                        continue
                elif op is ops.THEN:
                    wanted |= exit_.after if exit_.otherwise < 0 else exit_.otherwise
                else:
                    wanted |= exit_.after
            elif kind == OPEN:
                exit_ = exits.pop()
                while out and out[-1] is None:
                    out.pop()
                last = out[-1]
                if last is not None and last.op is ops.END:
                    # Nothing is left inside. (A loop without a counter that is left only by its end does nothing either.)
                    if op is not ops.WHILE:
                        out.pop()
                        wanted = exit_.after
                        instr.args = []
                        continue
                elif op in LOOPS:
                    wanted |= exit_.target
                elif op is not ops.BLOCK:
                    wanted |= exit_.after if exit_.otherwise < 0 else exit_.otherwise
        for a in args:
            if a >= 0:
                own = bit[a]
                if own:
                    wanted |= own
                    if a in waiting:
                        del pending[waiting.pop(a)]
                else:
                    used[a] += 1
                    if a in pending:
                        pending[a].users.append(instr)
                    if waiting and held_by.get(a, -1) in waiting:
                        # The variable that it is a copy of may be written further up: this user cannot read that one instead.
                        overtaken.add(a)
        out.append(instr)
    return [instr for instr in reversed(out) if instr is not None]


def _write_directly(instr: Instr, found: _Pending, out: list[Instr | None], waiting: dict[int, int]) -> None:
    """``instr`` computes what is only copied to a variable: it writes the variable."""
    old = instr.dst
    new = found.variable
    del waiting[new]
    instr.dst = new
    out[found.place] = None
    for user in found.users:
        user.args = [new if a == old else a for a in user.args]
