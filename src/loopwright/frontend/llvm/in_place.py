"""Which values of a loop can be written where the phi is that becomes them in the next step: counters, sums, pointers that go on.

``i = phi [0, …], [next, …]`` with ``next = i + 1`` needs one variable and no copy if nothing reads i any more, in the same step or behind the loop, once next is
made (V. Sreedhar et al., *Translating Out of Static Single Assignment Form*, SAS 1999: their values do not interfere).
"""

from __future__ import annotations

from typing import Final

from loopwright.frontend.llvm.graph import Node
from loopwright.frontend.llvm.shape import Shape
from loopwright.frontend.llvm.syntax import LOCAL, Constant

__all__ = ["InPlace", "read"]

#: What mostly hands on what it reads, or is computed from it again where it is read, as addresses are. (Those that others hand on are found in the registers.)
_HANDED_ON: Final = frozenset(["getelementptr", "freeze", "bitcast", "insertvalue", "extractvalue", "insertelement", "extractelement", "shufflevector"])


def read(node: Node) -> list[tuple[Constant, int]]:
    """The local values that a node reads, each with the place of what reads it: of an instruction, or behind them all (its end, the ways on)."""
    found: list[tuple[Constant, int]] = []
    for place, i in enumerate(node.code):
        waiting = list(i.operands)
        if i.call is not None:
            waiting.append(i.call.callee)
            waiting += [argument.value for argument in i.call.arguments]
        found += [(value, place) for value in _locals(waiting)]
    waiting = []
    if node.last is not None:
        waiting += node.last.operands[:1] if node.last.opcode == "switch" else node.last.operands
    for edge in node.edges:
        waiting += [value for _, value in edge.copies]
    behind = len(node.code)
    return found + [(value, behind) for value in _locals(waiting)]


def _locals(waiting: list[Constant]) -> list[Constant]:
    found: list[Constant] = []
    while waiting:
        value = waiting.pop()
        if value.kind == LOCAL:
            found.append(value)
        elif value.parts:
            waiting += value.parts
    return found


class InPlace:
    """The search.

    Attributes:
        phis: the phi that each such value is written to, by name.
    """

    def __init__(self, shape: Shape, apart: set[str]) -> None:
        """Look through a function; ``apart`` are phis that no value is written to."""
        self.shape = shape
        #: Where each value is read: nodes and places.
        self.uses: dict[str, list[tuple[int, int]]] = {}
        #: Where each is made: node and place.
        self.made: dict[str, tuple[int, int]] = {}
        #: Other names of values.
        self.names: dict[str, list[str]] = {}
        self.phis: dict[str, str] = {}
        #: The headers of the loops that the values are made in, by name.
        self._headers: dict[str, int] = {}
        self._reached: dict[tuple[int, int], set[int]] = {}
        if not shape.headers:
            return
        for number in shape.order:
            node = shape.nodes[number]
            for value, place in read(node):
                self.uses.setdefault(value.name, []).append((number, place))
            for place, i in enumerate(node.code):
                if i.name:
                    self.made[i.name] = (number, place)
                if i.opcode in _HANDED_ON:
                    for operand in _locals(list(i.operands)):
                        self.names.setdefault(operand.name, []).append(i.name)
        for header in shape.order:
            if header in shape.headers:
                self._loop(header, apart)

    def late(self, name: str, value: str) -> bool:
        """Whether something reads a value by a name once one that is written to a phi is made."""
        header = self._headers[value]
        number, place = self.made[value]
        behind = self._behind(number, header)
        return any(not self.shape.within(user, header) or user in behind or (user == number and at > place) for user, at in self.uses.get(name, ()))

    def _loop(self, header: int, apart: set[str]) -> None:
        """Look at the phis of a loop."""
        shape = self.shape
        back = [edge for source in set(shape.sources[header]) for edge in shape.nodes[source].edges if edge.target == header and shape.back(source, edge)]
        for phi in shape.nodes[header].phis:
            values = {value.name if value.kind == LOCAL else "": value for edge in back for name, value in edge.copies if name == phi.name}
            values.pop(phi.name, None)
            if len(values) != 1:
                continue
            name = next(iter(values))
            made = self.made.get(name)
            if made is None or name in self.phis or phi.name in apart or not shape.within(made[0], header):
                continue
            self._headers[name] = header
            if self._free(phi.name, name):
                self.phis[name] = phi.name

    def _behind(self, number: int, header: int) -> set[int]:
        """The nodes of a loop that come behind one of them in the same step."""
        shape = self.shape
        known = self._reached.get((number, header))
        if known is not None:
            return known
        found = self._reached[number, header] = set()
        waiting = [number]
        while waiting:
            for edge in shape.nodes[waiting.pop()].edges:
                target = edge.target
                if target != header and target not in found and shape.within(target, header):
                    found.add(target)
                    waiting.append(target)
        return found

    def _free(self, phi: str, value: str) -> bool:
        """Whether nothing reads a phi any more, nor what hands it on, once a value is made."""
        waiting, seen = [phi], {phi, value}
        while waiting:
            name = waiting.pop()
            if self.late(name, value):
                return False
            for other in self.names.get(name, ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return True
