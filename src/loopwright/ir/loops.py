"""The loops of bracketed code: which there are, how they nest, and how much more often what is inside runs."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.ir.ops import Op

__all__ = ["DEEPEST", "IS_LOOP", "LEAVES", "LOOPS", "LOOP_WEIGHT", "Loop", "depth_weight", "has_lanes", "loops", "weights"]

#: The operations that open loops, and the same by ``Op.code``.
LOOPS: Final = frozenset((ops.FOR, ops.WHILE, ops.LOOP))
IS_LOOP: Final[list[bool]] = [op in LOOPS for op in ops.OPS]

#: What may leave an iteration before its end, where it stands in the code before ``loops``.
LEAVES: Final = frozenset((ops.BR, ops.BR_IF, ops.RET, ops.FAIL))

#: How many times as often as what is around it a loop's body is taken to run (as in RyuJIT's BB_LOOP_WEIGHT_SCALE).
LOOP_WEIGHT: Final = 8.0
#: Nesting deeper than this no longer raises the weight.
DEEPEST: Final = 8

_BY_DEPTH: Final[list[float]] = [LOOP_WEIGHT**depth for depth in range(DEEPEST + 1)]
_LEAVING: Final = (ops.RET, ops.EPILOGUE)


class Loop:
    """One loop.

    Attributes:
        head, end: indices of its brackets.
        parent: the loop directly around it, or None.
        depth: 1 for an outermost loop.
    """

    __slots__ = ("depth", "end", "head", "parent")

    def __init__(self, head: int, parent: Loop | None) -> None:
        self.head = head
        self.end = -1
        self.parent = parent
        self.depth: int = 1 if parent is None else parent.depth + 1


def loops(code: list[Instr]) -> list[Loop]:
    """The loops of ``code``, in the order of their heads: each behind those around it."""
    found: list[Loop] = []
    around: list[Loop | None] = []  # per open bracket: the innermost loop inside of which what follows is
    innermost: Loop | None = None
    is_loop = IS_LOOP
    for k in range(len(code)):
        op: Op = code[k].op
        if op.closes:
            if not op.opens:
                opened = innermost
                innermost = around.pop()
                if opened is not None and innermost is not opened:
                    opened.end = k
        elif op.opens:
            around.append(innermost)
            if is_loop[op.code]:
                innermost = Loop(k, innermost)
                found.append(innermost)
    return found


def has_lanes(code: list[Instr]) -> bool:
    """Whether there is a loop over lanes in ``code``, scalar as the front end leaves it."""
    return any(instr.loop is not None and instr.loop.lanes for instr in code)


def depth_weight(depth: int) -> float:
    """What an instruction inside so many loops weighs."""
    return _BY_DEPTH[depth] if depth <= DEEPEST else _BY_DEPTH[DEEPEST]


def weights(code: list[Instr]) -> list[float]:
    """How often each instruction of ``code`` is taken to run, beside one outside of all loops.

    A bracket that opens a loop weighs what is around it, its end what is inside. What leads straight out of loops, to a ``br`` or ``ret``, runs
    once, whenever the outermost loop it leaves is entered.
    """
    count = len(code)
    found = [1.0] * count
    depths: list[int] = []  # per open bracket: the loops around what it holds
    openers: list[int] = []
    #: Brackets that become nothing: control goes straight through them.
    straight: set[int] = set()
    aimed_at: set[int] = set()
    is_loop = IS_LOOP
    control = ops.CONTROL
    depth = 0
    weight = 1.0
    for k in range(count):
        op = code[k].op
        found[k] = weight
        if op.effect != control:
            continue
        if op.closes:
            if not op.opens:
                opener = openers.pop()
                depths.pop()
                around = depths[-1] if depths else 0
                if around != depth:
                    depth = around
                    weight = depth_weight(depth)
                elif code[opener].op is ops.BLOCK and opener not in aimed_at:
                    straight.add(k)
            continue
        if op.opens:
            openers.append(k)
            if is_loop[op.code]:
                depth += 1
                weight = depth_weight(depth)
            elif op is ops.BLOCK:
                straight.add(k)
            depths.append(depth)
            continue
        outside = depth
        if op is ops.RET:
            outside = 0
        elif op is ops.BR or op is ops.BR_IF or op.compare:
            to = len(openers) - 1 - code[k].imm
            if to >= 0:
                aimed_at.add(openers[to])
                if op is ops.BR:
                    # (A loop that it repeats is not left.)
                    outside = depths[to]
        if outside < depth:
            less = depth_weight(outside)
            found[k] = less
            n = k - 1
            while n >= 0 and found[n] > less and (code[n].op.effect != control or code[n].op in _LEAVING or n in straight):
                found[n] = less
                n -= 1
    return found
