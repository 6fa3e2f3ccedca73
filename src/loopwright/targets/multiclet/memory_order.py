"""Which accesses to memory of one paragraph may be exchanged.

Two arrays may be one where both are accessed at one index only, and nowhere else (docs/kernels.md, "Checked mode and overlap"): accesses to different arrays meet only
where their addresses are made alike. A local array has nothing to do with any other; nor have two globals, in which accesses by their names stay.
"""

from __future__ import annotations

from loopwright.ir.function import Function
from loopwright.targets.multiclet.flow import Arg, Node

__all__ = ["Access", "Accesses"]


class Access:
    """One access.

    Attributes:
        writes: it is a store.
        array: the number of the array; -1 for any memory, -2 for the caller's arguments, -3 for those of a call.
        base: what makes the address, with ``disp`` bytes added; None where that is a constant.
        size: bytes.
        symbol: the global whose address ``disp`` bytes are added to, or "".
    """

    __slots__ = ("array", "base", "disp", "size", "symbol", "writes")

    def __init__(self, writes: bool, array: int, base: Node | None, disp: int, size: int, symbol: str = "") -> None:
        self.symbol = symbol
        self.writes = writes
        self.array = array
        self.base = base
        self.disp = disp
        self.size = size

    def at(self, address: Arg) -> Access:
        """The same access with another address."""
        return Access(
            self.writes, self.array, address.node, address.number if address.node is not None or self.array >= -1 else self.disp, self.size, address.name
        )


class Accesses:
    """Those of the paragraph that is being made."""

    def __init__(self, f: Function) -> None:
        self.f = f
        self.seen: list[tuple[Access, Node]] = []

    def begin(self) -> None:
        """Another paragraph begins."""
        self.seen = []

    def meet(self, a: Access, b: Access) -> bool:
        """Whether two accesses, of which one is a store, may be to the same place."""
        if a.array < -1 or b.array < -1:
            return a.array == b.array and a.disp < b.disp + b.size and b.disp < a.disp + a.size
        if a.array != b.array and (self.local(a.array) or self.local(b.array)) and min(a.array, b.array) >= 0:
            return False
        if a.symbol and b.symbol and a.symbol != b.symbol:
            return False
        if (a.base is not None and a.base is b.base) or (a.symbol and a.symbol == b.symbol):
            return a.disp < b.disp + b.size and b.disp < a.disp + a.size
        return True

    def local(self, array: int) -> bool:
        return array >= 0 and self.f.arrays[array].size > 0

    def needs_paragraph(self, access: Access, commits_at_end: bool) -> bool:
        """Whether an access may meet a store of this paragraph that is not done before the paragraph ends."""
        return commits_at_end and any(other.writes and self.meet(other, access) for other, _ in self.seen)

    def add(self, access: Access, node: Node) -> tuple[Node, ...]:
        """The accesses that this one has to stay behind."""
        found = tuple([made for other, made in self.seen if (other.writes or access.writes) and self.meet(other, access)])
        self.seen.append((access, node))
        return found
