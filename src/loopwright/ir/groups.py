"""Registers in groups that are joined one after the other: a forest of disjoint sets."""

from __future__ import annotations

__all__ = ["Groups"]


class Groups:
    """Which registers belong together. At first each is a group of its own."""

    __slots__ = ("_towards",)

    def __init__(self) -> None:
        #: By register: another one of its group, nearer to the one that the group is known by.
        self._towards: dict[int, int] = {}

    def root(self, r: int) -> int:
        """What the group of a register is known by."""
        towards = self._towards
        while towards.get(r, r) != r:
            towards[r] = towards.get(towards[r], towards[r])
            r = towards[r]
        return r

    def join(self, a: int, b: int) -> None:
        """Two registers belong together."""
        self._towards[self.root(a)] = self.root(b)
