"""Orders of the register filters: published ones, a few good ones chosen together, and a rule that picks one per function.

The rule is a decision tree of depth 3 at most, small enough to be read, printed as the Python it would be shipped as. It sees of a
function only what costs next to nothing once the liveness is known.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loopwright.corpus.files import Context
from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.regalloc.heuristics import DEFAULT_ORDER, canonical
from loopwright.regalloc.intervals import Liveness

__all__ = ["FEATURES", "HELD_OUT", "PUBLISHED", "Branch", "Leaf", "Rule", "describe", "few", "held_out", "rule_source", "shape_of", "train"]

#: The optima of RyuJIT's tuning experiment, by the configuration each was found for (*lsra-heuristic-tuning*).
PUBLISHED: Final[dict[str, str]] = {
    "windows-x64 benchmarks": "EHPDGAJCBNKOLFIMQ",
    "windows-x64 libraries": "PEHDCGAIJNLKOBFMQ",
    "windows-x86 benchmarks": "EHDCFPGJBIALNOKMQ",
    "windows-x86 libraries": "APCDEGHNIOFJKLBMQ",
    "linux-x64 benchmarks": "HGIDJNLCPOBKAEFMQ",
    "linux-x64 libraries": "HDGAECNIPLBOFKJMQ",
    "linux-arm64 libraries": "HECDBFGIANLOKJMPQ",
}

#: One function in this many is held out of the training.
HELD_OUT: Final = 3


def held_out(context: Context) -> bool:
    """Whether a context is of the part that nothing is tuned on: a third, by the SHA-256 of its collection and name.

    The same kernel or program at other vector widths and for other targets is in the same part, or the held-out part would hold
    near copies of what was trained on.
    """
    digest = hashlib.sha256(f"{context.collection}/{context.name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % HELD_OUT == 0


# --- what a rule sees of a function -----------------------------------------------------------------------------

#: Feature -> what it is.
FEATURES: Final[dict[str, str]] = {
    "depth": "how deep loops are nested",
    "loops": "loops",
    "ints": "the most integer values live at once in a loop",
    "vectors": "the most floats and vectors live at once in a loop",
    "calls": "calls",
    "params": "registers that arguments arrive in",
    "share": "instructions with a vector result, in percent of those with a result",
    "length": "instructions after lowering",
}
Shape = tuple[int, ...]


def shape_of(f: Function, liveness: Liveness) -> Shape:
    """The features of a lowered function, in the order of ``FEATURES``."""
    depth = ints = vectors = 0
    for info in liveness.loops.values():
        depth = max(depth, info.depth)
        ints = max(ints, info.pressure[0])
        vectors = max(vectors, info.pressure[1])
    calls = results = wide = 0
    for instr in f.code:
        calls += instr.op.effect == ops.CALLS
        if instr.dst >= 0:
            results += 1
            wide += instr.type.lanes > 0
    return (depth, len(liveness.loops), ints, vectors, calls, len(f.params), 100 * wide // results if results else 0, len(f.code))


def describe(context: Context) -> Shape:
    """The features of a context's function."""
    from loopwright import compiler
    from loopwright.ir.parse import parse
    from loopwright.targets import registry

    target = registry.get(context.target, context.vector_bits or None, context.convention)
    f = compiler.run_passes(parse(context.function, target=target), target, after="liveness")
    return shape_of(f, f.analysis[0])


# --- choosing ---------------------------------------------------------------------------------------------------


def few(losses: Sequence[Sequence[float]], count: int) -> list[int]:
    """Indices of ``count`` orders (or fewer) that together, the better one taken for each function, lose least.

    Greedy: the best single one first, then the one that adds most; none that adds nothing. ``losses[order][function]``.
    """
    chosen: list[int] = []
    best = [math.inf] * (len(losses[0]) if losses else 0)
    before = math.inf
    while len(chosen) < count:
        sums = [math.fsum(min(a, b) for a, b in zip(best, row, strict=True)) for row in losses]
        n = min(range(len(losses)), key=lambda n: (sums[n], n))
        if n in chosen or sums[n] >= before - 1e-12:
            break
        chosen.append(n)
        before = sums[n]
        best = [min(a, b) for a, b in zip(best, losses[n], strict=True)]
    return chosen


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a rule: an order, by its index, and how many functions of the training it was chosen for."""

    order: int
    functions: int


@dataclass(frozen=True, slots=True)
class Branch:
    """Functions whose feature is at most ``limit`` go to ``low``."""

    feature: int
    limit: int
    low: Leaf | Branch
    high: Leaf | Branch


@dataclass(frozen=True, slots=True)
class Rule:
    """A decision tree over ``FEATURES``, with orders at its leaves."""

    tree: Leaf | Branch
    orders: tuple[str, ...]

    def index(self, shape: Shape) -> int:
        """Which order, by its index."""
        node = self.tree
        while isinstance(node, Branch):
            node = node.low if shape[node.feature] <= node.limit else node.high
        return node.order

    def order(self, shape: Shape) -> str:
        """The order for a function with these features."""
        return self.orders[self.index(shape)]


def _best(losses: Sequence[Sequence[float]], those: Sequence[int]) -> tuple[float, int]:
    """The order with the least loss over some functions."""
    return min((math.fsum(row[n] for n in those), k) for k, row in enumerate(losses))


def _grow(shapes: Sequence[Shape], losses: Sequence[Sequence[float]], those: list[int], depth: int, smallest: int, least: float) -> tuple[float, Leaf | Branch]:
    """The best tree for some functions: (its loss, the tree)."""
    loss, order = _best(losses, those)
    found: tuple[float, Leaf | Branch] = (loss, Leaf(order, len(those)))
    if depth == 0 or len(those) < 2 * smallest:
        return found
    # Each split by the best of one leaf a side; what comes below it is grown afterwards.
    splits: list[tuple[float, int, int]] = []
    for feature in range(len(FEATURES)):
        ranked = sorted(those, key=lambda n: shapes[n][feature])
        low = [0.0] * len(losses)
        total = [math.fsum(row[n] for n in ranked) for row in losses]
        for k in range(len(ranked) - 1):
            n = ranked[k]
            for m, row in enumerate(losses):
                low[m] += row[n]
            if k + 1 < smallest or len(ranked) - k - 1 < smallest or shapes[n][feature] == shapes[ranked[k + 1]][feature]:
                continue
            splits.append((min(low) + min(a - b for a, b in zip(total, low, strict=True)), feature, shapes[n][feature]))
    # The few best are tried to the bottom: the first split alone often gains nothing.
    for _, feature, limit in sorted(splits)[:8]:
        below = _grow(shapes, losses, [n for n in those if shapes[n][feature] <= limit], depth - 1, smallest, least)
        above = _grow(shapes, losses, [n for n in those if shapes[n][feature] > limit], depth - 1, smallest, least)
        if below[0] + above[0] < found[0] - least:
            found = (below[0] + above[0], Branch(feature, limit, below[1], above[1]))
    return found


def train(shapes: Sequence[Shape], losses: Sequence[Sequence[float]], orders: Sequence[str], depth: int = 3, smallest: int = 10, least: float = 0.02) -> Rule:
    """A rule for functions of these shapes.

    Args:
        shapes: of the functions of the training.
        losses: per order, per function: the logarithm of its score against the default order's.
        orders: what can be chosen.
        depth: of the tree, at most.
        smallest: functions in each leaf, at least.
        least: what a split must gain, as a sum of logarithms, for each function in a hundred of the training.
    """
    everything = list(range(len(shapes)))
    _, tree = _grow(shapes, losses, everything, depth, smallest, least * len(shapes) / 100)
    return Rule(_merged(tree), tuple(canonical(order) for order in orders))


def _merged(tree: Leaf | Branch) -> Leaf | Branch:
    """Without branches both sides of which are the same order."""
    if isinstance(tree, Leaf):
        return tree
    low, high = _merged(tree.low), _merged(tree.high)
    if isinstance(low, Leaf) and isinstance(high, Leaf) and low.order == high.order:
        return Leaf(low.order, low.functions + high.functions)
    return Branch(tree.feature, tree.limit, low, high)


# --- printing ---------------------------------------------------------------------------------------------------

_HEAD: Final = '''\
"""Which order of the register filters a function gets, by what its liveness shows."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function
from loopwright.regalloc.intervals import Liveness


def order_for(f: Function, liveness: Liveness) -> str:
    """The order for a lowered function, as trained on the corpus by ``loopwright tune``."""
'''

_COUNT: Final[dict[str, str]] = {
    "depth": "    depth = max((info.depth for info in liveness.loops.values()), default=0)",
    "loops": "    loops = len(liveness.loops)",
    "ints": "    ints = max((info.pressure[0] for info in liveness.loops.values()), default=0)",
    "vectors": "    vectors = max((info.pressure[1] for info in liveness.loops.values()), default=0)",
    "calls": "    calls = sum(1 for instr in f.code if instr.op.effect == ops.CALLS)",
    "params": "    params = len(f.params)",
    "share": ("    results = [instr.type.lanes > 0 for instr in f.code if instr.dst >= 0]\n    share = 100 * sum(results) // len(results) if results else 0"),
    "length": "    length = len(f.code)",
}


def _used(tree: Leaf | Branch) -> set[int]:
    return {tree.feature} | _used(tree.low) | _used(tree.high) if isinstance(tree, Branch) else set()


def rule_source(rule: Rule) -> str:
    """The rule as a Python module with a function ``order_for(f, liveness)``; it needs nothing of this package."""
    used = [list(FEATURES)[n] for n in sorted(_used(rule.tree))]
    lines = [_COUNT[name] for name in used]

    def write(node: Leaf | Branch, indent: str) -> None:
        if isinstance(node, Leaf):
            order = rule.orders[node.order]
            lines.append(f'{indent}return "{order}"' + ("  # the default" if order == canonical(DEFAULT_ORDER) else ""))
            return
        lines.append(f"{indent}if {list(FEATURES)[node.feature]} <= {node.limit}:")
        write(node.low, indent + "    ")
        write(node.high, indent)

    write(rule.tree, "    ")
    head = _HEAD if "calls" in used else _HEAD.replace("from loopwright.ir import ops\n", "")
    return head + "\n".join(lines) + "\n"
