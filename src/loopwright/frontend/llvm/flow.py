"""From a graph to brackets: the walk over the tree of dominators, and the brackets it writes."""

from __future__ import annotations

from typing import Final, NoReturn, Protocol

from loopwright.frontend.llvm.graph import BRANCH, JUMP, Edge, Node, Test
from loopwright.frontend.llvm.shape import Shape
from loopwright.ir import ops
from loopwright.ir.brackets import DEEPEST, DEEPEST_LOOPS
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.types import VOID

__all__ = ["Body", "write"]

_NODE: Final = 0
_CLOSE: Final = 1
_EDGE: Final = 2


class Body(Protocol):
    """What writes the instructions of nodes, for the walk."""

    line: int

    def unsupported(self, what: str) -> NoReturn:
        """Refuse the function."""

    def node(self, number: int, node: Node) -> None:
        """The node's instructions, without what ends it."""

    def copies(self, source: int, edge: Edge) -> None:
        """What phis become on an edge."""

    def moves(self, source: int, edge: Edge) -> bool:
        """Whether phis become anything on an edge."""

    def early(self, source: int, edge: Edge, other: Edge, test: Test) -> bool:
        """Whether an edge leads back to a loop's header, and what phis become on it may be written also where the other edge is taken, out of the loop."""

    def test(self, test: Test, opposite: bool) -> int:
        """A condition: that a test holds, or that it does not."""

    def leave(self, node: Node) -> None:
        """The end of a node that goes nowhere."""


class _Open:
    """An open bracket. ``uses``: how many branches mean it."""

    __slots__ = ("opener", "uses")

    def __init__(self, opener: Instr) -> None:
        self.opener = opener
        self.uses = 0


def write(f: Function, shape: Shape, body: Body) -> None:
    """Write a function's code.

    Args:
        f: the function; its code is appended to.
        shape: where its nodes stand.
        body: writes their instructions.

    Raises ``UnsupportedOperationError`` where brackets would nest too deeply.
    """
    _Walk(f, shape, body).run()


class _Walk:
    """The walk's state: what is still to do, last first; the open brackets; where a branch to a node goes."""

    def __init__(self, f: Function, shape: Shape, body: Body) -> None:
        self.f = f
        self.code = f.code
        self.shape = shape
        self.body = body
        self.todo: list[tuple[int, int, Edge | None]] = []
        self.open: list[_Open] = []
        self.loops = 0
        #: The bracket to branch to, by node: the block in front of it, or its loop.
        self.forward: dict[int, _Open] = {}
        self.again: dict[int, _Open] = {}
        #: Of each branch, the bracket it means. (The depth is known when the blocks are that nothing needs are gone.)
        self.meant: dict[int, _Open] = {}
        self.needless: set[int] = set()

    def run(self) -> None:
        todo = self.todo
        todo.append((_NODE, self.shape.order[0], None))
        while todo:
            what, number, edge = todo.pop()
            if what == _NODE:
                self.node(number)
            elif what == _CLOSE:
                self.close()
            else:
                assert edge is not None
                self.go(number, edge)
        self.settle()

    # --- brackets -------------------------------------------------------------------------------------------------

    def begin(self, op: Op, args: list[int]) -> _Open:
        self.loops += op is ops.LOOP
        if len(self.open) >= DEEPEST or self.loops > DEEPEST_LOOPS:
            self.body.unsupported(f"its blocks nest more than {DEEPEST} deep (loops: {DEEPEST_LOOPS}); divide the function")
        opener = Instr(op, VOID, NONE, args, 0, self.body.line)
        self.code.append(opener)
        self.open.append(_Open(opener))
        return self.open[-1]

    def close(self) -> None:
        closed = self.open.pop()
        code = self.code
        if closed.opener.op is ops.LOOP:
            self.loops -= 1
        else:
            # A branch out of the bracket from its very end does what the end does.
            at = len(code) - 1
            while code[at].op is ops.END:
                at -= 1
            if code[at].op is ops.BR and self.meant.get(id(code[at])) is closed:
                del self.meant[id(code[at])]
                del code[at]
                closed.uses -= 1
        code.append(Instr(ops.END, VOID, NONE, [], 0, self.body.line))
        if closed.opener.op is ops.BLOCK and not closed.uses:
            self.needless.add(id(closed.opener))

    def branch(self, bracket: _Open, condition: int | None = None) -> None:
        op, args = (ops.BR, []) if condition is None else (ops.BR_IF, [condition])
        instr = Instr(op, VOID, NONE, args, 0, self.body.line)
        self.meant[id(instr)] = bracket
        bracket.uses += 1
        self.code.append(instr)

    def settle(self) -> None:
        """Give branches their depths, and drop blocks that nothing branches to."""
        kept: list[Instr] = []
        depth: list[Instr] = []
        dropped: list[bool] = []
        places: dict[int, int] = {}
        for instr in self.code:
            if instr.op.closes:
                if dropped.pop():
                    continue
                depth.pop()
            elif instr.op.opens:
                dropped.append(id(instr) in self.needless)
                if dropped[-1]:
                    continue
                places[id(instr)] = len(depth)
                depth.append(instr)
            elif id(instr) in self.meant:
                instr.imm = len(depth) - 1 - places[id(self.meant[id(instr)].opener)]
            kept.append(instr)
        self.f.code[:] = kept

    # --- nodes ----------------------------------------------------------------------------------------------------

    def node(self, number: int) -> None:
        """Blocks for what stands behind the node, its loop, blocks for what stands behind it in the loop, and itself."""
        shape = self.shape
        todo = self.todo
        self.enclose(shape.behind.get(number, []))
        if number in shape.headers:
            self.again[number] = self.begin(ops.LOOP, [])
            todo.append((_CLOSE, number, None))
        self.enclose(shape.inside.get(number, []))
        node = shape.nodes[number]
        self.body.node(number, node)
        self.end(number, node)

    def enclose(self, behind: list[int]) -> None:
        """A block in front of each node, the last node's first, and what is to be done at its end."""
        for number in reversed(behind):
            self.forward[number] = self.begin(ops.BLOCK, [])
            self.todo.append((_NODE, number, None))
            self.todo.append((_CLOSE, number, None))

    def end(self, number: int, node: Node) -> None:
        todo = self.todo
        if node.end == JUMP:
            self.go(number, node.edges[0])
        elif node.end == BRANCH:
            assert node.test is not None
            first, second = node.edges
            if self.plain(number, first):
                self.branch(self.target(number, first), self.body.test(node.test, False))
                self.go(number, second)
            elif self.plain(number, second):
                self.branch(self.target(number, second), self.body.test(node.test, True))
                self.go(number, first)
            elif self.early(number, first, second, node.test, False) or self.early(number, second, first, node.test, True):
                return
            else:
                self.begin(ops.IF, [self.body.test(node.test, False)])
                todo.append((_EDGE, number, second))
                todo.append((_CLOSE, number, None))
                self.go(number, first)
        else:
            self.body.leave(node)

    def early(self, number: int, again: Edge, other: Edge, test: Test, opposite: bool) -> bool:
        """The end of a loop's step, if it may write what phis become before it branches: so that one branch leads back, and none around it."""
        if not self.body.early(number, again, other, test):
            return False
        condition = self.body.test(test, opposite)
        self.body.copies(number, again)
        self.branch(self.target(number, again), condition)
        self.go(number, other)
        return True

    def target(self, source: int, edge: Edge) -> _Open:
        return self.again[edge.target] if self.shape.back(source, edge) else self.forward[edge.target]

    def plain(self, source: int, edge: Edge) -> bool:
        """Whether an edge is a branch and nothing else."""
        return (edge.target in self.forward or self.shape.back(source, edge)) and not self.body.moves(source, edge)

    def go(self, source: int, edge: Edge) -> None:
        """Follow an edge: what phis become, and a branch, or the node itself where this is the only way to it."""
        self.body.copies(source, edge)
        if self.shape.back(source, edge) or edge.target in self.forward:
            self.branch(self.target(source, edge))
        else:
            self.todo.append((_NODE, edge.target, None))
