"""The body of an innermost loop as operations that say which iteration's values they read.

A variable carries its value from one iteration to the next; here each read of it is a read of what some operation has made so many iterations before. Copies
between variables vanish: a value that moves through four of them is one that lives four iterations. Arithmetic on the index is no operation: it can be computed
for any iteration.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.dependence import ANTI, FLOW, Dependence
from loopwright.nests.analysis.graph import FORWARDING, Edge, Graph, Node
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.steps.jam import Refusal
from loopwright.targets.core import Core
from loopwright.types import I64

__all__ = ["Body", "Operand", "Operation", "body_graph", "first_touches", "read_body"]


class Operand:
    """What an operation reads.

    Attributes:
        source: number of the operation whose result it is, or -1.
        distance: how many iterations before.
        before: per iteration below ``distance``, the variable whose value in front of the loop is read instead.
        register: where ``source`` is -1: a constant, a value from outside of the loop, the index, or arithmetic on it. While the body is being read, a variable.
    """

    __slots__ = ("before", "distance", "register", "source")

    def __init__(self, source: int, distance: int, register: int = NONE, before: list[int] | None = None) -> None:
        self.source = source
        self.distance = distance
        self.register = register
        self.before: list[int] = before if before is not None else []


class Operation:
    """An instruction of the body, with what it reads in place of its operands."""

    __slots__ = ("instr", "operands", "position")

    def __init__(self, position: int, instr: Instr, operands: list[Operand]) -> None:
        self.position = position
        self.instr = instr
        self.operands = operands


class Body:
    """The body of an innermost loop.

    Attributes:
        f: the function.
        loop: the loop.
        operations: in the order of the text.
        arithmetic: by register, the instructions that compute with the index.
        results: for each variable that is read after an iteration, what it holds at its end.
    """

    __slots__ = ("arithmetic", "f", "loop", "operations", "results")

    def __init__(self, f: Function, loop: NestLoop) -> None:
        self.f = f
        self.loop = loop
        self.operations: list[Operation] = []
        self.arithmetic: dict[int, Instr] = {}
        self.results: dict[int, Operand] = {}


def read_body(nest: Nest, loop: NestLoop) -> Body | Refusal:
    """Read a loop's body.

    Args:
        nest: the nest.
        loop: a loop of it that holds no other.

    Returns:
        A Refusal for a body with branches, calls or vectors, and for a loop that does not count in known steps.
    """
    f = nest.f
    head = f.code[loop.head]
    if loop.step == 0:
        return Refusal("its steps are not known", loop.line)
    if head.loop is not None and (head.loop.lanes or head.loop.mask != NONE):
        return Refusal("it is a loop over lanes", loop.line)
    for k in range(loop.head + 1, loop.end):
        instr = f.code[k]
        if instr.op is ops.LOCAL or not (instr.op.pure or instr.op is ops.LOAD or instr.op is ops.STORE):
            return Refusal(f"its body has `{instr.op.name}` in it", instr.line)
        if instr.type.lanes:
            return Refusal("it works on vectors already", instr.line)
    made = _read(nest, loop, True)
    if made is None:
        made = _read(nest, loop, False)
    assert made is not None
    return made


def _read(nest: Nest, loop: NestLoop, through: bool) -> Body | None:
    """The body, copies left out where ``through``; None where that does not do: values in front of the loop differ, or variables change places."""
    f = nest.f
    index = f.code[loop.head].dst
    made = Body(f, loop)
    written = {instr.dst for instr in f.code[loop.head + 1 : loop.end] if instr.dst >= 0}
    now: dict[int, Operand] = {}  # per register that the loop writes, what it holds
    exposed: list[int] = []
    known = {index}
    for k in range(loop.head + 1, loop.end):
        instr = f.code[k]
        operands: list[Operand] = []
        for a in instr.args:
            operand = now.get(a)
            if operand is None:
                if a in written and f.variable[a]:
                    # An earlier iteration has left it; which operation that was is seen at the end.
                    operand = Operand(-1, 1, a)
                    exposed.append(a)
                else:
                    operand = Operand(-1, 0, a)
            operands.append(operand)
        dst = instr.dst
        if instr.op is ops.COPY and through and (operands[0].source >= 0 or operands[0].distance):
            now[dst] = operands[0]
        elif instr.op.pure and dst >= 0 and not f.variable[dst] and f.types[dst] is I64 and all(_of_index(o, written, known) for o in operands):
            made.arithmetic[dst] = instr
            known.add(dst)
        else:
            if dst >= 0:
                now[dst] = Operand(len(made.operations), 0)
            made.operations.append(Operation(k, instr, operands))
    resolved: dict[int, Operand] = {}
    for variable in exposed:
        if _resolve(variable, now, resolved, set()) is None:
            return None
    for operation in made.operations:
        operation.operands = [_resolved(operand, resolved) for operand in operation.operands]
    for variable, operand in now.items():
        if f.variable[variable] and (variable in resolved or _outside(nest, loop, variable)):
            if operand.source < 0:
                # What another variable held.
                if _resolve(operand.register, now, resolved, set()) is None:
                    return None
                operand = _resolved(operand, resolved)
            made.results[variable] = operand
    return made if _agree(made) else None


def _of_index(operand: Operand, written: set[int], known: set[int]) -> bool:
    return operand.source < 0 and operand.distance == 0 and (operand.register not in written or operand.register in known)


def _outside(nest: Nest, loop: NestLoop, variable: int) -> bool:
    first, last = nest.mentions[variable]
    return first < loop.head or last > loop.end


def _resolve(variable: int, now: dict[int, Operand], resolved: dict[int, Operand], seen: set[int]) -> Operand | None:
    """What an iteration reads in a variable that it has not written; None where variables only change places."""
    known = resolved.get(variable)
    if known is not None:
        return known
    if variable in seen:
        return None
    seen.add(variable)
    left = now[variable]
    if left.source < 0:
        further = _resolve(left.register, now, resolved, seen)
        if further is None:
            return None
        left = further
    made = Operand(left.source, left.distance + 1, NONE, [variable, *left.before])
    resolved[variable] = made
    return made


def _resolved(operand: Operand, resolved: dict[int, Operand]) -> Operand:
    return resolved[operand.register] if operand.source < 0 and operand.distance else operand


def _agree(body: Body) -> bool:
    """Whether all who read what an operation would have made before the first iteration read it in the same variable."""
    first: dict[tuple[int, int], int] = {}
    operands = [operand for operation in body.operations for operand in operation.operands] + list(body.results.values())
    for operand in operands:
        for iteration, variable in enumerate(operand.before):
            key = (operand.source, operand.distance - iteration)
            if first.setdefault(key, variable) != variable:
                return False
    return True


def first_touches(nest: Nest, body: Body) -> set[int]:
    """The loads that may be the first in a long time to touch a cache line: those ahead of all accesses that differ from them along the last dimension only.

    Where a store is ahead, or an access that does not move with the loop, there is none (G. Ding, S. Carr and P. Sweany, "Modulo scheduling with cache reuse
    information", Euro-Par 1997).
    """
    f = nest.f
    index = nest.forms.of(f.code[body.loop.head].dst)
    number = {operation.position: k for k, operation in enumerate(body.operations)}
    ahead: dict[tuple[object, ...], tuple[int, int]] = {}  # per family of accesses: how far ahead the first is, and its operation, or -1 for a store
    for access in nest.accesses:
        k = number.get(access.position, -1)
        last = access.subscripts[-1]
        if k < 0 or last is None or index is None:
            continue
        key: list[object] = [access.array, *sorted(last.terms.items())]
        for subscript in access.subscripts[:-1]:
            key.append(k if subscript is None else (subscript.constant, *sorted(subscript.terms.items())))
        moving = [sum([subscript.terms.get(value, 0) for value in index.terms]) for subscript in access.subscripts if subscript is not None]
        if not any(moving):
            continue
        place = last.constant * (1 if moving[-1] * body.loop.step >= 0 else -1)
        family = tuple(key)
        if family not in ahead or place > ahead[family][0] or (place == ahead[family][0] and ahead[family][1] < 0 and not access.store):
            ahead[family] = (place, -1 if access.store else k)
    return {k for _, k in ahead.values() if k >= 0}


def body_graph(body: Body, found: list[Dependence], core: Core, forwarding: int = FORWARDING, late: set[int] | None = None, miss: int = 0) -> Graph:
    """The dependence graph of a body, a node for each operation. Values in memory stay there: who wants them in registers carries them first.

    Args:
        body: the body.
        found: the dependences of its nest.
        core: what operations cost.
        forwarding: cycles from a store to a load of the same place.
        late: loads whose line probably is not in the cache, for whose readers ``miss`` cycles are added.
        miss: as the machine has it.
    """
    depth = body.loop.depth + 1
    graph = Graph(depth)
    number: dict[int, int] = {}
    outer = (0,) * (depth - 1)
    for k, operation in enumerate(body.operations):
        instr = operation.instr
        cost = core.cost_of(instr)
        graph.nodes.append(Node(f"{instr.op.name}.{instr.type.name}", cost.unit, cost.latency, cost.cycles, operation.position))
        number[operation.position] = k
    for k, operation in enumerate(body.operations):
        for operand in operation.operands:
            if operand.source >= 0:
                more = miss if late is not None and operand.source in late else 0
                graph.edges.append(Edge(operand.source, k, graph.nodes[operand.source].latency + more, (*outer, operand.distance)))
    for dependence in found:
        source = number.get(dependence.source.position, -1)
        sink = number.get(dependence.sink.position, -1)
        if source < 0 or sink < 0 or dependence.loops[-1] is not body.loop:
            continue
        distance = tuple([component.low for component in dependence.vector])
        if all(component.low <= 0 <= component.high for component in dependence.vector[:-1]):
            # In one iteration of the loops around it, the nearest.
            distance = (*outer, max(0 if dependence.source.position < dependence.sink.position else 1, distance[-1]))
        latency = forwarding if dependence.kind == FLOW else 0 if dependence.kind == ANTI else 1
        graph.edges.append(Edge(source, sink, latency, distance, False))
    return graph
