"""What a loop over lanes carries from one index to the next, besides totals: counters, running sums, and what it hands on."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.types import VOID
from loopwright.vectors.compaction import Counter, counters, movable
from loopwright.vectors.handed import Handed, handed, moves
from loopwright.vectors.regions import Bracket, Leaf
from loopwright.vectors.running import Running, running_sum, steps
from loopwright.vectors.tables import Asked

__all__ = ["Carried", "carried_by"]


class Carried:
    """The variables that a loop carries.

    Attributes:
        counters: variable -> what it counts; sums: variable -> what is known of the running sum; handed: variable -> what is known of what it is given.
    """

    __slots__ = ("counters", "handed", "sums")

    def __init__(self, counters: dict[int, Counter], sums: dict[int, Running], handed: dict[int, Handed]) -> None:
        self.counters = counters
        self.sums = sums
        self.handed = handed

    def __contains__(self, variable: int) -> bool:
        return variable in self.counters or variable in self.sums or variable in self.handed

    def possible(self, f: Function, lanes: int, has: Asked, bits: int = 0) -> bool:
        """Whether a machine has what it takes to carry them by vectors of so many lanes; with ``bits``, as far as elements of so many go."""
        if not movable(f, self.counters, lanes, has, bits):
            return False
        needed = [*steps(f, self.sums, lanes), *[(ops.SLIDE, type_) for type_ in moves(f, self.handed, lanes)]]
        return all(has(op, type_, VOID) for op, type_ in needed if not bits or type_.bits == bits)


def carried_by(f: Function, root: Bracket, leaves: list[Leaf], variables: set[int]) -> Carried | None:
    """What variables are, each of which a loop writes and mentions outside; None where one of them carries something else."""
    if variables & _asked(root):
        return None
    given = handed(f, [(leaf.instr, leaf.region is root.body) for leaf in leaves], variables)
    sums: dict[int, Running] = {}
    others: set[int] = set()
    for variable in sorted(variables - given.keys()):
        found = running_sum(f, root, leaves, variable)
        if found is not None:
            sums[variable] = found
        else:
            others.add(variable)
    counting = counters(f, root, leaves, others)
    return Carried(counting, sums, given) if counting is not None else None


def _asked(root: Bracket) -> set[int]:
    """The conditions and bounds of the brackets in a loop."""
    found: set[int] = set()
    around = [root]
    while around:
        for region in around.pop().regions:
            for item in region.items:
                if isinstance(item, Bracket):
                    found.update([item.condition, *item.opener.args])
                    around.append(item)
    return found
