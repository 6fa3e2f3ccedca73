"""The flow of control of a function of LLVM IR as a graph: blocks with what follows them, `switch` as tests one after the other, any flow as reducible flow."""

from __future__ import annotations

from typing import Final

from loopwright.frontend.llvm.syntax import Block, Constant, Instruction, LlvmFunction, LlvmModule
from loopwright.frontend.llvm.types import LlvmType

__all__ = ["BRANCH", "JUMP", "RETURN", "STOP", "Edge", "Graph", "Node", "Test", "reached"]

#: How a node ends: on to one other, on to one of two, out of the function, never.
JUMP: Final = 0
BRANCH: Final = 1
RETURN: Final = 2
STOP: Final = 3


class Edge:
    """The way from one node to another.

    Attributes:
        target: the node it leads to.
        copies: what the phis there become on this way: their names and the values.
        way: of an edge into irreducible flow, which of its entries it means; -1 elsewhere.
    """

    __slots__ = ("copies", "target", "way")

    def __init__(self, target: int, copies: list[tuple[str, Constant]], way: int = -1) -> None:
        self.target = target
        self.copies = copies
        self.way = way


class Test:
    """What a branch asks.

    Attributes:
        value: an i1 that says it (with `low` None), an integer that is compared, or None for the number of an entry (`Edge.way`).
        low, high: the value is in this range, both included; one of them None is no bound. Signed.
    """

    __slots__ = ("high", "low", "value")

    def __init__(self, value: Constant | None, low: int | None = None, high: int | None = None) -> None:
        self.value = value
        self.low = low
        self.high = high


class Node:
    """A node: what is done there, and what comes then.

    Attributes:
        code: instructions, without phis and the one that ends the block.
        phis: the phis.
        end: how it ends.
        edges: the ways on, of a BRANCH where the test holds first.
        test: of a BRANCH.
        last: the instruction that ends the block, or None of a node that stands for none.
    """

    __slots__ = ("code", "edges", "end", "last", "phis", "test")

    def __init__(self, end: int, edges: list[Edge], last: Instruction | None = None, test: Test | None = None) -> None:
        self.code: list[Instruction] = []
        self.phis: list[Instruction] = []
        self.end = end
        self.edges = edges
        self.last = last
        self.test = test


class Graph:
    """The nodes of a function by number, the entry first.

    Attributes:
        nodes: the nodes.
        ways: there are edges with a number of an entry, and tests of it.
    """

    def __init__(self, function: LlvmFunction, module: LlvmModule) -> None:
        self.nodes: list[Node] = []
        self.ways = False
        self._module = module
        self._numbers = {block.name: number for number, block in enumerate(function.blocks)}
        self._phis: list[list[Instruction]] = [[i for i in block.code if i.opcode == "phi"] for block in function.blocks]
        for _ in function.blocks:
            self.nodes.append(Node(STOP, []))
        #: Blocks that do nothing but stop: what leads there does not happen.
        self._stops = {block.name for block in function.blocks if block.code[0].opcode == "unreachable"}
        for number, block in enumerate(function.blocks):
            self._block(number, block)
        self._reduce(set(reached(self.nodes)))

    # --- blocks -------------------------------------------------------------------------------------------------

    def _edge(self, source: Block, label: str) -> Edge:
        number = self._numbers[label]
        copies = [(phi.name, phi.operands[phi.labels.index(source.name)]) for phi in self._phis[number]]
        return Edge(number, copies)

    def _block(self, number: int, block: Block) -> None:
        node = self.nodes[number]
        node.phis = self._phis[number]
        node.code = block.code[len(node.phis) : -1]
        last = node.last = block.code[-1]
        opcode = last.opcode
        if opcode == "ret":
            node.end = RETURN
        elif opcode == "br":
            node.edges = [self._edge(block, label) for label in last.labels]
            node.end = JUMP if len(node.edges) == 1 else BRANCH
            if node.end == BRANCH:
                node.test = Test(last.operands[0])
        elif opcode == "switch":
            self._switch(node, block, last)
        elif opcode != "unreachable":
            raise self._module.unsupported(f"the instruction {opcode} is not supported", last.line, last.debug)

    # --- switches -----------------------------------------------------------------------------------------------

    def _switch(self, node: Node, block: Block, last: Instruction) -> None:
        """Tests for one case after the other, which the pass ``switches`` makes a table of, or a tree."""
        value = last.operands[0]
        default = last.labels[0]
        cases = sorted((_signed(case), label) for case, label in zip(last.operands[1:], last.labels[1:], strict=True))
        cases = [(number, label) for number, label in cases if label != default]
        if default in self._stops and cases:
            # One of them is the right one: the last where none of the others is.
            default = cases[-1][1]
            while cases and cases[-1][1] == default:
                cases.pop()
        for number, label in cases:
            node.end = BRANCH
            other = Node(JUMP, [], node.last)
            node.test = Test(value, number, number)
            node.edges = [self._edge(block, label), self._add(other)]
            node = other
        node.end, node.edges = JUMP, [self._edge(block, default)]

    def _add(self, node: Node) -> Edge:
        self.nodes.append(node)
        return Edge(len(self.nodes) - 1, [])

    # --- irreducible flow -----------------------------------------------------------------------------------------

    def _reduce(self, region: set[int]) -> None:
        """Give each cycle of a region one entry: where it has several, a node in front that goes on to the one meant."""
        waiting = [region]
        while waiting:
            region = waiting.pop()
            for part in _cycles(self.nodes, region):
                entries = self._entries(part)
                if len(entries) > 1:
                    part = part | self._one_entry(entries)
                    entries = [len(self.nodes) - 1]
                waiting.append(part - set(entries))

    def _entries(self, part: set[int]) -> list[int]:
        found = {edge.target for number, node in enumerate(self.nodes) if number not in part for edge in node.edges if edge.target in part}
        return sorted(found) or [min(part)]

    def _one_entry(self, entries: list[int]) -> set[int]:
        """Lead all ways to the entries through one node, which is added last; the nodes that are new."""
        self.ways = True
        before = len(self.nodes)
        ways = {entry: way for way, entry in enumerate(entries)}
        # A chain of tests for the entries, made first so that its head comes last.
        last = Edge(entries[-1], [])
        for entry in reversed(entries[1:-1]):
            last = self._add(Node(BRANCH, [Edge(entry, []), last], None, Test(None, ways[entry], ways[entry])))
        head_number = len(self.nodes)
        leading: list[Edge] = []
        for node in self.nodes[:before]:
            for edge in node.edges:
                if edge.target in ways:
                    leading.append(edge)
        for edge in leading:
            # (The way may be set already, for another head: then a node in between sets this one.)
            if edge.way >= 0:
                continue
            edge.way = ways[edge.target]
            edge.target = head_number
        self.nodes.append(Node(BRANCH, [Edge(entries[0], []), last], None, Test(None, ways[entries[0]], ways[entries[0]])))
        return set(range(before, len(self.nodes)))


def _signed(case: Constant) -> int:
    """The number of a case, as a signed one of its type."""
    type_: LlvmType = case.type
    number = int(case.number) & (1 << type_.bits) - 1
    return number - (1 << type_.bits) if number >> (type_.bits - 1) else number


def reached(nodes: list[Node]) -> list[int]:
    """The nodes that are reached from the first, each behind those it leads to."""
    seen = {0}
    order: list[int] = []
    stack: list[tuple[int, int]] = [(0, 0)]
    while stack:
        number, at = stack.pop()
        edges = nodes[number].edges
        while at < len(edges) and edges[at].target in seen:
            at += 1
        if at == len(edges):
            order.append(number)
            continue
        stack.append((number, at + 1))
        seen.add(edges[at].target)
        stack.append((edges[at].target, 0))
    return order


def _cycles(nodes: list[Node], region: set[int]) -> list[set[int]]:
    """The strongly connected parts of a region that have an edge of their own (R. Tarjan, *Depth-First Search and Linear Graph Algorithms*, 1972)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    found: list[set[int]] = []
    for root in sorted(region):
        if root in index:
            continue
        work: list[tuple[int, int]] = [(root, 0)]
        while work:
            number, at = work.pop()
            if at == 0:
                index[number] = low[number] = len(index)
                path.append(number)
                on_path.add(number)
            edges = nodes[number].edges
            deeper = False
            while at < len(edges):
                target = edges[at].target
                at += 1
                if target not in region:
                    continue
                if target not in index:
                    work.append((number, at))
                    work.append((target, 0))
                    deeper = True
                    break
                if target in on_path:
                    low[number] = min(low[number], index[target])
            if deeper:
                continue
            if low[number] == index[number]:
                part: set[int] = set()
                while True:
                    member = path.pop()
                    on_path.discard(member)
                    part.add(member)
                    if member == number:
                        break
                if len(part) > 1 or any(edge.target == number for edge in edges):
                    found.append(part)
            if work:
                parent = work[-1][0]
                low[parent] = min(low[parent], low[number])
    return found
