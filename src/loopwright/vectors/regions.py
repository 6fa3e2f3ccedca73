"""A loop over lanes as a tree: brackets hold regions, regions hold instructions and brackets.

An ``elif`` becomes an ``if`` in the ``else`` of the one before, so that every ``if`` has one condition.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.ir.loops import IS_LOOP

__all__ = ["Bracket", "Leaf", "Region", "part", "tree"]


class Leaf:
    """An instruction in its region; of a branch, the bracket that it leaves or repeats, None for one around the loop over lanes."""

    __slots__ = ("instr", "region", "target")

    def __init__(self, instr: Instr, region: Region, target: Bracket | None = None) -> None:
        self.instr = instr
        self.region = region
        self.target = target


class Bracket:
    """A bracket: the loop over lanes itself, or one within it.

    Attributes:
        op: ``block``, ``if``, ``for``, ``while`` or ``loop``.
        opener: what opens it; of an ``if``, this may be a ``then``.
        end: what ends it.
        region: where it stands; None for the loop over lanes itself.
        regions: of an ``if``, its arms, the second empty where there is no ``else``; of a ``while``, its condition and its body; else its body.
        condition: of an ``if`` and a ``while``, the bool that is tested, else NONE.
        loop: it is a loop.
        splits: an ``if`` whose condition differs by lane, or a block or loop that lanes leave one by one.
        skips: a loop with a step that lanes leave one by one, to go on with the next.
        aimed: a branch leaves or repeats it.
        leaves: the brackets around it that lanes leave one by one, or repeat, from in here.
        writes: the variables that are written in it, differ by lane and matter outside of it.
    """

    __slots__ = ("aimed", "condition", "end", "leaves", "loop", "op", "opener", "region", "regions", "skips", "splits", "writes")

    def __init__(self, opener: Instr, region: Region | None) -> None:
        self.op = ops.IF if opener.op is ops.THEN else opener.op
        self.opener = opener
        self.end = opener
        self.region = region
        self.regions: list[Region] = []
        self.condition = opener.args[0] if self.op is ops.IF else NONE
        self.loop = IS_LOOP[opener.op.code]
        self.splits = False
        self.skips = False
        self.aimed = False
        self.leaves: list[Bracket] = []
        self.writes: list[int] = []
        self.begin()

    def begin(self) -> Region:
        """One more region of it."""
        made = Region(self)
        self.regions.append(made)
        return made

    @property
    def body(self) -> Region:
        """Of a loop or a block, what runs in each step; of an ``if``, its last arm."""
        return self.regions[-1]


class Region:
    """Part of a bracket: what runs together, from its first to its last item.

    Attributes:
        bracket: what it is part of.
        parent: the region that the bracket stands in.
        depth: how many regions are around.
        items: what it holds.
    """

    __slots__ = ("bracket", "depth", "items", "parent")

    def __init__(self, bracket: Bracket) -> None:
        self.bracket = bracket
        self.parent = bracket.region
        self.depth: int = self.parent.depth + 1 if self.parent is not None else 0
        self.items: list[Leaf | Bracket] = []

    def splits(self) -> bool:
        """Whether what is in here may run for some of the lanes only that come to its bracket."""
        return self.bracket.splits or self.bracket.skips


def tree(code: list[Instr], start: int) -> tuple[Bracket, list[Leaf], int]:
    """The loop that ``code[start]`` opens, its instructions without those of brackets, in order, and the index of its end."""
    root = Bracket(code[start], None)
    leaves: list[Leaf] = []
    region = root.body
    targets = [root]  # per open bracket of the code, the first of those it has become
    k = start
    while targets:
        k += 1
        instr = code[k]
        op = instr.op
        if op is ops.END:
            outermost = targets.pop()
            while True:
                inner = region.bracket
                inner.end = instr
                if inner.op is ops.IF and len(inner.regions) == 1:
                    inner.begin()
                if inner.region is not None:
                    region = inner.region
                if inner is outermost:
                    break
        elif op is ops.ELSE or op is ops.ELIF or op is ops.DO:
            if op is ops.DO:
                region.bracket.condition = instr.args[0]
            region = region.bracket.begin()
        elif op.opens:
            made = Bracket(instr, region)
            if op is not ops.THEN:
                # (Of an ``elif`` the condition has been computed in the ``else`` of the ``if`` before, which branches leave with it.)
                targets.append(made)
            region.items.append(made)
            region = made.body
        else:
            leaf = Leaf(instr, region)
            if (op is ops.BR or op is ops.BR_IF) and instr.imm < len(targets):
                leaf.target = targets[len(targets) - 1 - instr.imm]
            region.items.append(leaf)
            leaves.append(leaf)
    return root, leaves, k


def part(root: Bracket) -> None:
    """Take a tree that is done with apart: what it consists of refers to each other, and would stay until a garbage collection."""
    brackets = [root]
    while brackets:
        bracket = brackets.pop()
        for region in bracket.regions:
            for item in region.items:
                if isinstance(item, Bracket):
                    brackets.append(item)
            region.items = []
        bracket.regions = []
