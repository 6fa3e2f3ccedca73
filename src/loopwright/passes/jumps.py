"""``jumps``: brackets become labels and jumps; heads of innermost loops are marked for alignment."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.regalloc.liveness import depth_weight
from loopwright.targets.target import Target
from loopwright.types import BOOL, VOID, Type

#: What stands at the end of a block that leaves the function.
_LEAVING: Final = (ops.RET, ops.EPILOGUE)


class _Open:
    """An open bracket: its labels (made when first needed, -1 before), and how many loops are open with it."""

    __slots__ = ("head", "inner", "is_loop", "leave", "loops", "otherwise")

    def __init__(self, is_loop: bool, around: list[_Open]) -> None:
        self.is_loop = is_loop
        self.loops: int = (around[-1].loops if around else 0) + is_loop
        self.head = -1
        self.leave = -1
        self.otherwise = -1
        self.inner = True


def jump_unless(instr: Instr, label: int) -> Instr:
    """The jump that skips an ``if``'s body."""
    op = instr.op
    if op is ops.IF:
        return Instr(ops.JUMP_UNLESS, BOOL, NONE, instr.args, label, instr.line)
    name = opposite(op.compare, instr.type)
    return Instr(ops.JUMP_CMP[name], instr.type, NONE, instr.args, label, instr.line, instr.source, instr.mem)


def _weigh(out: list[Instr], start: int, weight: float) -> int:
    """Give the instructions from ``start`` on their weight; returns where the next ones begin."""
    for n in range(start, len(out)):
        out[n].weight = weight
    return len(out)


def _weigh_way_out(out: list[Instr], start: int, weight: float, outside: float) -> int:
    """``_weigh``, but what leads out of loops runs once, whenever the outermost that it leaves is entered."""
    end = _weigh(out, start, weight)
    n = end - 1
    while n >= 0 and (n == end - 1 or out[n].op.effect != ops.CONTROL or out[n].op in _LEAVING):
        out[n].weight = outside
        n -= 1
    return end


def opposite(condition: str, type_: Type) -> str:
    """The condition that holds when this one does not; plain ones for operands that are always ordered."""
    name = ops.OPPOSITE[condition]
    return name if type_.is_float else ops.ORDERED_EQUAL.get(name, name)


def run(f: Function, target: Target) -> None:
    """Replace all brackets of ``f`` by labels and jumps."""
    code = f.code
    out: list[Instr] = []
    stack: list[_Open] = []
    labels = 0
    used: set[int] = set()
    # After a jump or a return nothing runs until the next label.
    dead = False
    weight = 1.0
    weighed = 0
    # The labels at the end of the code so far, if they are still at its end.
    run = run_end = 0
    for k in range(len(code)):
        instr = code[k]
        op = instr.op
        if op.effect != ops.CONTROL:
            if not dead:
                out.append(instr)
            continue
        if op is ops.BLOCK:
            stack.append(_Open(False, stack))
        elif op is ops.LOOP:
            n = len(stack) - 1
            while n >= 0 and stack[n].inner:
                stack[n].inner = False
                n -= 1
            opened = _Open(True, stack)
            opened.head = labels
            labels += 1
            stack.append(opened)
            weighed = _weigh(out, weighed, weight)
            weight = depth_weight(opened.loops)
            if not dead:
                out.append(Instr(ops.LABEL, VOID, NONE, [], opened.head, instr.line))
        elif op.opens and op is not ops.ELSE:
            opened = _Open(False, stack)
            opened.otherwise = labels
            labels += 1
            stack.append(opened)
            if not dead:
                out.append(jump_unless(instr, opened.otherwise))
                used.add(opened.otherwise)
        elif op is ops.ELSE:
            opened = stack[-1]
            if not dead:
                if opened.leave < 0:
                    opened.leave = labels
                    labels += 1
                out.append(Instr(ops.JUMP, VOID, NONE, [], opened.leave, instr.line))
                used.add(opened.leave)
            dead = opened.otherwise not in used
            if not dead:
                out.append(Instr(ops.LABEL, VOID, NONE, [], opened.otherwise, instr.line))
            opened.otherwise = -1
        elif op is ops.END:
            opened = stack.pop()
            if opened.is_loop:
                weighed = _weigh(out, weighed, weight)
                weight = depth_weight(opened.loops - 1)
                if opened.inner and opened.head in used:
                    f.aligned.add(opened.head)
                continue
            for label in (opened.otherwise, opened.leave):
                if label in used:
                    # A jump to the very next instruction is none. The labels from ``run`` on are known to be no jumps.
                    if run_end != len(out):
                        run = len(out)
                    while run > 0 and (out[run - 1].op is ops.LABEL or (out[run - 1].op is ops.JUMP and out[run - 1].imm == label)):
                        run -= 1
                        if out[run].op is ops.JUMP:
                            del out[run]
                    weighed = min(weighed, len(out))
                    out.append(Instr(ops.LABEL, VOID, NONE, [], label, instr.line))
                    run_end = len(out)
                    dead = False
        elif dead:
            continue
        elif op is ops.BR or op is ops.BR_IF or op.compare:
            opened = stack[len(stack) - 1 - instr.imm]
            if opened.is_loop:
                label = opened.head
            else:
                if opened.leave < 0:
                    opened.leave = labels
                    labels += 1
                label = opened.leave
            used.add(label)
            if op is ops.BR:
                out.append(Instr(ops.JUMP, VOID, NONE, [], label, instr.line))
                dead = True
                # (A loop that it repeats is not left.)
                if stack[-1].loops > opened.loops:
                    weighed = _weigh_way_out(out, weighed, weight, depth_weight(opened.loops))
            elif op is ops.BR_IF:
                out.append(Instr(ops.JUMP_IF, BOOL, NONE, instr.args, label, instr.line))
            else:
                out.append(Instr(ops.JUMP_CMP[op.compare], instr.type, NONE, instr.args, label, instr.line, instr.source, instr.mem))
        else:
            out.append(instr)
            if op is ops.RET:
                dead = True
                if weight > 1.0:
                    weighed = _weigh_way_out(out, weighed, weight, 1.0)
    _weigh(out, weighed, weight)
    f.code = [instr for instr in out if instr.op is not ops.LABEL or instr.imm in used]
    f.labels = labels
