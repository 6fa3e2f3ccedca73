"""Register blocks: how many iterations of an enclosing loop, and how many vectors of a loop over lanes, an innermost loop inside of both does at once.

Of a matrix product ``total += a[i, k] * b[k, j]``, with lanes along ``j``, U rows and V vectors at once have U·V totals, independent of each other, and take U + V
loads an iteration of ``k`` instead of 2·U·V. U and V are those that leave the fewest cycles for an old iteration within the registers that there are (D. Callahan, S.
Carr and K. Kennedy, "Improving register allocation for subscripted variables", PLDI 1990, section 3.3, call the two balanced; K. Goto and R. van de Geijn,
"Anatomy of high-performance matrix multiplication", ACM TOMS 34 (2008), section 6.1).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.graph import Edge, Graph, graph_of, recurrence_bound
from loopwright.nests.analysis.nest import Nest, NestLoop
from loopwright.nests.analysis.scalars import Scalar
from loopwright.nests.steps.candidates import LEAST_GAIN, LINE, SLACK, Change, Jam, innermost_loops, live
from loopwright.nests.steps.jam import refusal
from loopwright.targets.core import Core
from loopwright.targets.target import Target
from loopwright.types import vector_of

__all__ = ["fused", "widen"]

#: Rows and vectors that are tried.
ROWS: Final = (1, 2, 3, 4, 6, 8)
VECTORS: Final = (1, 2, 4)
#: A greater block is taken only if it is better by so much.
GREATER: Final = 1.04
#: Cycles that a line costs beside what is computed meanwhile, of what all rows read: it comes from the second cache. (Products of f64 of 512 x 512 on a Cascade Lake: in blocks of 4, 6 and 8 rows
#: of two vectors 2.3, 1.55 and 1.3 times as long as by OpenBLAS.)
STREAMED: Final = 0.6


class _Work:
    """What an operation of the innermost loop's body comes to in a block.

    Attributes:
        unit, cycles: the unit that does it, and for how long.
        rows, vectors: whether each row, and each vector, has its own.
        lines: how much of a cache line a vector is that each row loads, the same one; else 0.
    """

    __slots__ = ("cycles", "lines", "rows", "unit", "vectors")

    def __init__(self, unit: int, cycles: int, rows: bool, vectors: bool, lines: float) -> None:
        self.unit = unit
        self.cycles = cycles
        self.rows = rows
        self.vectors = vectors
        self.lines = lines


def widen(
    nest: Nest, target: Target, core: Core, found: list[Dependence], variables: list[Scalar], lanes: list[NestLoop], changes: list[Change]
) -> dict[int, int]:
    """Choose blocks for loops over lanes that are around an innermost loop; the ``Jam`` of each in ``changes`` becomes that of the block.

    Args:
        nest: the nest.
        target: the machine.
        core: its core.
        found: the nest's dependences.
        variables: what its variables carry.
        lanes: the loops that are to run over lanes.
        changes: what is to be done to the nest.

    Returns:
        Per number of a loop over lanes how many vectors it is to do at once, where there is a block.
    """
    vectors: dict[int, int] = {}
    for innermost in innermost_loops(nest):
        across = innermost.parent
        if across is None or across not in lanes or not innermost.step:
            continue
        if any(other.parent is across and other is not innermost for other in nest.loops):
            continue
        if any(instr.op.opens for instr in nest.f.code[innermost.head + 1 : innermost.end]):
            continue
        jam = next((change for change in changes if isinstance(change, Jam) and change.innermost is innermost), None)
        if (jam is None and any(change.loop.head < innermost.head < change.loop.end for change in changes)) or (jam is not None and jam.slant):
            continue
        loop = jam.loop if jam is not None else across.parent
        if loop is not None and any(change is not jam and loop.head <= change.loop.head < loop.end for change in changes):
            # (Something else is done to a loop in it already.)
            loop = None
        graph = graph_of(nest, innermost, found, core)
        best = _best(nest, target, core, graph, across, innermost, loop, found, variables, lanes)
        if best is None:
            continue
        rows, vectors[across.number], cycles = best
        if jam is not None:
            changes.remove(jam)
        if rows > 1 and loop is not None:
            changes.append(Jam(loop, innermost, rows, 0, cycles))
    return vectors


def _best(
    nest: Nest,
    target: Target,
    core: Core,
    graph: Graph,
    across: NestLoop,
    innermost: NestLoop,
    loop: NestLoop | None,
    found: list[Dependence],
    variables: list[Scalar],
    lanes: list[NestLoop],
) -> tuple[int, int, float] | None:
    """Rows, vectors, and cycles for an old iteration of a vector; None where the block had better be one vector of one row."""
    works = _works(nest, core, graph, across, innermost, loop, target.vector_bits / (8 * LINE))
    code = nest.f.code
    element = max([code[node.position].type.bits for node in graph.nodes], default=0)
    if not element or target.vector_bits // element < 1:
        return None
    kind = next(code[node.position].type for node in graph.nodes if code[node.position].type.bits == element)
    registers = len(target.orders[target.class_of(vector_of(kind, target.vector_bits // element))])
    recurrence = recurrence_bound(_without_copies(nest, graph)) / (SLACK if core.window else 1.0)
    kept = live(graph) - 1
    best: tuple[int, int, float] | None = None
    least = _cycles(works, core, recurrence, 1, 1) / LEAST_GAIN
    legal = [rows for rows in ROWS if rows == 1 or (loop is not None and loop not in lanes and refusal(nest, loop, rows, found, variables, lanes) is None)]
    for vectors in VECTORS:
        for rows in legal:
            if kept * rows * vectors + _held(works, rows, vectors) > registers:
                break
            cycles = _cycles(works, core, recurrence, rows, vectors)
            if cycles * GREATER < least:
                best, least = (rows, vectors, cycles), cycles
    return best


def _without_copies(nest: Nest, graph: Graph) -> Graph:
    """The graph where copies take no time: they are registers' other names."""
    made = Graph(graph.depth)
    made.nodes = graph.nodes
    for edge in graph.edges:
        copies = nest.f.code[graph.nodes[edge.source].position].op is ops.COPY
        made.edges.append(Edge(edge.source, edge.sink, 0, edge.distance) if copies else edge)
    return made


def _works(nest: Nest, core: Core, graph: Graph, across: NestLoop, innermost: NestLoop, loop: NestLoop | None, vector: float) -> list[_Work]:
    """What the operations of the innermost loop come to, with vectors of so many cache lines."""
    f = nest.f
    rows: dict[int, bool] = {}
    vectors: dict[int, bool] = {}
    accesses = {access.position: access for access in nest.accesses}
    made: list[_Work] = []
    for node in graph.nodes:
        instr = f.code[node.position]
        access = accesses.get(node.position)
        if access is not None and not access.store:
            own = loop is not None and any(_moves(nest, form, loop) for form in access.subscripts)
            beside = any(_moves(nest, form, across) for form in access.subscripts)
        else:
            own = any(rows.get(a, _varies(nest, a, loop)) for a in instr.args if a >= 0)
            beside = any(vectors.get(a, _varies(nest, a, across)) for a in instr.args if a >= 0)
        if instr.dst >= 0:
            rows[instr.dst], vectors[instr.dst] = own, beside
        cycles = 0 if instr.op is ops.COPY or fused(nest, innermost, instr) else node.cycles
        made.append(_Work(node.unit, cycles, own, beside, vector if access is not None and not access.store and beside and not own else 0.0))
    return made


def _moves(nest: Nest, form: Form | None, loop: NestLoop) -> bool:
    return form is None or any(nest.indices.get(value) is loop for value in form.terms)


def _varies(nest: Nest, operand: int, loop: NestLoop | None) -> bool:
    """Whether an operand of the innermost loop, which is not made there, may differ between iterations of a loop around."""
    if loop is None:
        return False
    f = nest.f
    if f.variable[operand]:
        return True
    place = nest.forms.places.get(operand, -1)
    return loop.head <= place < loop.end


def fused(nest: Nest, innermost: NestLoop, instr: Instr) -> bool:
    """Whether an instruction is a product that becomes part of a multiply-add: all that reads it, once, adds it to something or subtracts it."""
    if instr.op is not ops.MUL or not nest.f.options.contract or not instr.type.is_float:
        return False
    reads = [reader for reader in nest.f.code[innermost.head + 1 : innermost.end] if instr.dst in reader.args]
    return len(reads) == 1 and reads[0].args.count(instr.dst) == 1 and reads[0].op in (ops.ADD, ops.SUB)


def _cycles(works: list[_Work], core: Core, recurrence: float, rows: int, vectors: int) -> float:
    """Cycles for an old iteration of a vector."""
    busy = [0.0] * len(core.counts)
    issued = 0.0
    for work in works:
        count = (rows if work.rows else 1) * (vectors if work.vectors else 1)
        busy[work.unit] += work.cycles * count
        issued += count if work.cycles else 0
    most = max(recurrence, issued / core.issue)
    for unit, cycles in enumerate(busy):
        most = max(most, cycles / core.counts[unit])
    return most / (rows * vectors) + STREAMED * sum([work.lines for work in works]) / rows


def _held(works: list[_Work], rows: int, vectors: int) -> int:
    """Registers for what rows share, and one for what vectors share."""
    return sum([vectors for work in works if work.vectors and not work.rows]) + (1 if any(not work.vectors for work in works) else 0)
