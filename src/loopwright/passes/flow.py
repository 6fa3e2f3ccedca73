"""What the two walks of the simplify pass share: how they treat each operation, and what they keep of a bracket."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.passes.memory import State

#: How the walks treat an operation, by code.
PURE: Final = 0
LOAD: Final = 1
STORE: Final = 2
CALL: Final = 3
BRANCH: Final = 4
LEAVE: Final = 5
OPEN: Final = 6
MIDDLE: Final = 7
END: Final = 8
PLAIN: Final = 9

KIND: Final[list[int]] = [PLAIN] * len(ops.OPS)
# Whether an operation may run earlier, and more often, than the program says.
NEVER: Final = 0
ALWAYS: Final = 1
LANES: Final = 2  # not a bool: a comparison next to the branch that tests it costs nothing
HOIST: Final[list[int]] = [NEVER] * len(ops.OPS)


def _classify() -> None:
    for op in ops.OPS:
        c = op.code
        if op.effect == ops.PURE:
            KIND[c] = PURE
            HOIST[c] = ALWAYS
        elif op.effect == ops.READS:
            KIND[c] = LOAD
        elif op.effect == ops.WRITES:
            KIND[c] = STORE
        elif op.effect == ops.CALLS:
            KIND[c] = CALL
        elif op is ops.END:
            KIND[c] = END
        elif op.closes:
            KIND[c] = MIDDLE
        elif op.opens:
            KIND[c] = OPEN
    for op in (ops.BR, ops.BR_IF, *ops.BR_CMP.values()):
        KIND[op.code] = BRANCH
    for op in (ops.RET, ops.FAIL):
        KIND[op.code] = LEAVE
    for op in (*ops.COMPARISONS.values(), ops.AND, ops.OR, ops.XOR, ops.NOT, ops.ANDNOT, ops.SELECT, ops.ANY, ops.ALL):
        HOIST[op.code] = LANES


_classify()


class Bracket:
    """A bracket: what the forward walk collects of it, for itself and for the backward walk.

    Attributes:
        instr: what opened it.
        loop: number of the loop it is, or -1.
        mark: length of the log of variables when it was opened; ``branch_mark`` when the current branch of it was.
        base: number of scopes outside of it.
        written: variables written in branches that are finished, or on ways out.
        targeted: a branch leaves it.
        falls: some finished branch runs to the end.
        otherwise: it has an ``else``.
        taken: its first branch always runs, and it has become a block.
        reads: the variables read in it as bits (loops); those outside of it read before, while it is open.
        condition: of an if, the register it tests, when that is written once; otherwise -1.
        noted: number of the last change of a variable that ``written`` has seen.
        doubts: of a loop, how much there is that what comes next runs in its first step: conditions around, and ways out before.
        moved: of a loop, how many loads have been moved in front of it, by register class.
        facts: bools whose value is known until the bracket, or the current branch of it, ends.
        depth: how many brackets are around it; -1 of one that is put around a loop.
        leads: the brackets around it that branches inside lead to the end of, as bits by their depth.
        memory: of an if, what was known of memory when it was opened; from its ``else`` on what the first branch has left of that.
    """

    __slots__ = (
        "base",
        "branch_mark",
        "condition",
        "depth",
        "doubts",
        "facts",
        "falls",
        "instr",
        "leads",
        "loop",
        "mark",
        "memory",
        "moved",
        "noted",
        "otherwise",
        "reads",
        "taken",
        "targeted",
        "written",
    )

    def __init__(self, instr: Instr, loop: int, mark: int, base: int, depth: int = -1) -> None:
        self.instr = instr
        self.loop = loop
        self.mark = mark
        self.branch_mark = mark
        self.base = base
        self.written: set[int] = set()
        self.targeted = False
        self.falls = False
        self.otherwise = False
        self.taken = False
        self.reads = 0
        self.condition = -1
        self.noted = 0
        self.doubts = 0
        self.moved: list[int] = []
        self.facts: list[int] = []
        self.depth = depth
        self.leads = 0
        self.memory: State | None = None
