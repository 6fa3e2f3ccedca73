"""Which values of a loop can be written where the phi is that becomes them in the next step: counters, sums, pointers that go on.

``i = phi [0, …], [next, …]`` with ``next = i + 1`` needs one variable and no copy if nothing reads i any more, in the same step or behind the loop, once next is
made (V. Sreedhar et al., *Translating Out of Static Single Assignment Form*, SAS 1999: their values do not interfere).
"""

from __future__ import annotations

from typing import Final

from loopwright.frontend.llvm.graph import Node
from loopwright.frontend.llvm.shape import Shape
from loopwright.frontend.llvm.syntax import LOCAL, Constant, Instruction

__all__ = ["in_place", "read"]

#: What makes a value of its own. What else reads a value may be another name of it: a cast that changes no bits, ``freeze``, what is put into a vector and taken out again, an address.
_INTEGERS: Final = frozenset(["add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "icmp", "fptoui", "fptosi"])
_FLOATS: Final = frozenset(["fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp", "uitofp", "sitofp", "fptrunc", "fpext"])
_ANEW: Final = _INTEGERS | _FLOATS | {"load", "store"}


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


def in_place(shape: Shape) -> dict[str, str]:
    """The phi that each such value is written to, by name."""
    if not shape.headers:
        return {}
    found = _InPlace(shape)
    for header in shape.order:
        if header in shape.headers:
            found.loop(header)
    return found.phis


class _InPlace:
    """The search.

    Attributes:
        uses: where each value is read: nodes and places.
        made: where each is made, of instructions: node, place, instruction.
        phis: the result.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.uses: dict[str, list[tuple[int, int]]] = {}
        self.made: dict[str, tuple[int, int, Instruction]] = {}
        #: What may be another name of a value, or is computed from it again where it is read, as addresses are.
        self.names: dict[str, list[str]] = {}
        self.phis: dict[str, str] = {}
        for number in shape.order:
            node = shape.nodes[number]
            for value, place in read(node):
                self.uses.setdefault(value.name, []).append((number, place))
            for place, i in enumerate(node.code):
                if i.name:
                    self.made[i.name] = (number, place, i)
                if i.name and i.opcode not in _ANEW:
                    waiting = [*i.operands, *([argument.value for argument in i.call.arguments] if i.call is not None else ())]
                    for operand in _locals(waiting):
                        self.names.setdefault(operand.name, []).append(i.name)

    def loop(self, header: int) -> None:
        """Look at the phis of a loop."""
        shape = self.shape
        back = [edge for source in set(shape.sources[header]) for edge in shape.nodes[source].edges if edge.target == header and shape.back(source, edge)]
        reached: dict[int, set[int]] = {}
        for phi in shape.nodes[header].phis:
            values = {value.name if value.kind == LOCAL else "": value for edge in back for name, value in edge.copies if name == phi.name}
            values.pop(phi.name, None)
            if len(values) != 1:
                continue
            name = next(iter(values))
            made = self.made.get(name)
            if made is None or name in self.phis or not shape.within(made[0], header):
                continue
            if made[0] not in reached:
                reached[made[0]] = self._behind(made[0], header)
            if self._free(phi.name, name, made[0], made[1], header, reached[made[0]]):
                self.phis[name] = phi.name

    def _behind(self, number: int, header: int) -> set[int]:
        """The nodes of a loop that come behind one of them in the same step."""
        shape = self.shape
        found: set[int] = set()
        waiting = [number]
        while waiting:
            for edge in shape.nodes[waiting.pop()].edges:
                target = edge.target
                if target != header and target not in found and shape.within(target, header):
                    found.add(target)
                    waiting.append(target)
        return found

    def _free(self, phi: str, name: str, number: int, place: int, header: int, behind: set[int]) -> bool:
        """Whether nothing reads a phi any more, under whatever name, once a value is made."""
        waiting, seen = [phi], {phi, name}
        while waiting:
            value = waiting.pop()
            for user, at in self.uses.get(value, ()):
                if not self.shape.within(user, header) or user in behind or (user == number and at > place):
                    return False
            for other in self.names.get(value, ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return True
