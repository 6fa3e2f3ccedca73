"""Innermost loops whose iterations depend on each other at a distance that is known at run time only: lanes where it is none, or far enough.

::

    for j = a[i], n                           if a[i] <= 0 or a[i] >= T
      b[j] = b[j] + b[j - a[i]]        →        for j = a[i], n: the same, in lanes
                                              else
                                                for j = a[i], n: the same

An iteration reads what the one ``a[i]`` before it has stored, or, where that is negative, what a later one will store. The latter does no harm: a vector is loaded before it is
stored. Tables of dynamic programming that go by an amount (change, knapsacks) are of this kind. (Run-time tests of dependences: R. Allen and K. Kennedy, Optimizing Compilers for Modern
Architectures, 2001, section 5.8, symbolics.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import NONE, Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.analysis.scalars import Scalar
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.steps.candidates import Change
from loopwright.nests.steps.carry import needed
from loopwright.nests.steps.lanes import mark, obstructs
from loopwright.nests.steps.narrow import narrow
from loopwright.nests.steps.partial import divide
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID

__all__ = ["Distance", "by_distance"]

#: A store is so many vectors ahead of what is loaded. (Of one that has just been stored no part is handed on.)
FAR: Final = 2
#: Loops with so few instructions are unrolled where they run as written, so many times.
SHORTEST: Final = 12
UNROLLED: Final = 4


class Distance(Change):
    """A loop to be made one over lanes where distances allow it.

    Attributes:
        target: the machine.
        distances: how many iterations later an element is loaded that has been stored.
        pairs: the store and the load of each.
        least: what each of them must be, where it is greater than 0.
    """

    def __init__(self, loop: NestLoop, target: Target, distances: list[Form], pairs: list[tuple[Access, Access]], least: int) -> None:
        super().__init__(loop)
        self.pairs = pairs
        self.target = target
        self.distances = distances
        self.least = least

    def text(self, nest: Nest) -> str:
        names = sorted({nest.f.arrays[store.array].name for store, _ in self.pairs})
        return f"lanes({nest.name(self.loop)}), where what is read of {' and '.join(names)} was written {self.least} iterations before or earlier, or is written later"

    def apply(self, nest: Nest, variables: list[Scalar]) -> None:
        f = nest.f
        code = f.code
        loop = self.loop
        line = loop.line
        plain = self._plain(nest)
        mark(nest, loop, variables)
        narrow(f, self.target, loop.head, loop.end)
        out: list[Instr] = []
        condition = NONE
        for pair in self.pairs:
            distance = _emit(nest, loop, pair, line, out)
            none, far, either = [f.register(BOOL, "") for _ in range(3)]
            out.append(Instr(ops.LE, I64, none, [distance, f.const(I64, 0)], 0, line))
            out.append(Instr(ops.GE, I64, far, [distance, f.const(I64, self.least)], 0, line))
            out.append(Instr(ops.OR, BOOL, either, [none, far], 0, line))
            if condition != NONE:
                both = f.register(BOOL, "")
                out.append(Instr(ops.AND, BOOL, both, [condition, either], 0, line))
                either = both
            condition = either
        out.append(Instr(ops.IF, VOID, NONE, [condition], 0, line))
        out += code[loop.head : loop.end + 1]
        out.append(Instr(ops.ELSE, VOID, NONE, [], 0, line))
        out += plain
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))
        f.code = code[: loop.head] + out + code[loop.end + 1 :]

    def _plain(self, nest: Nest) -> list[Instr]:
        """The loop as written, with registers of its own; several iterations at once where it is short."""
        f = nest.f
        code = f.code
        loop = self.loop
        plain: list[Instr] = []
        clone(f, code[loop.head : loop.end + 1], {}, plain)
        if len(plain) <= SHORTEST and all(instr.op.effect != ops.CONTROL for instr in plain[1:-1]):
            behind = len(code) - 1 - loop.end
            f.code = code[: loop.head] + plain + code[loop.end + 1 :]
            divide(nest, loop, UNROLLED, [])
            plain = f.code[loop.head : len(f.code) - behind]
            f.code = code
        return plain


def _emit(nest: Nest, loop: NestLoop, pair: tuple[Access, Access], line: int, out: list[Instr]) -> int:
    """Code for the difference of the last subscripts of a store and a load, which is the same in all iterations."""
    f = nest.f
    code = f.code
    found: list[int] = []
    for access in pair:
        positions = needed(f, loop, access.position, set())
        assert positions is not None
        rename = {loop.index: code[loop.head].args[0]}
        clone(f, [code[k] for k in positions], rename, out)
        last = code[access.position].args[-1]
        found.append(rename.get(last, last))
    made = f.register(I64, "")
    out.append(Instr(ops.SUB, I64, made, found, 0, line))
    return made


def by_distance(nest: Nest, target: Target, found: list[Dependence], beside: list[NestLoop]) -> list[Change]:
    """The innermost loops of a nest that only distances keep from being lanes which are not known.

    Args:
        nest: the nest.
        target: the machine.
        found: its dependences.
        beside: its loops that could be over lanes but for dependences.
    """
    chosen: list[Change] = []
    for loop in beside:
        if loop.step != 1 or any(other.parent is loop for other in nest.loops):
            continue
        distances: list[Form] = []
        pairs: list[tuple[Access, Access]] = []
        size = 8
        possible = True
        for dependence in found:
            if obstructs(dependence, loop):
                form = _distance(nest, loop, dependence)
                if form is None:
                    possible = False
                    break
                size = min(size, nest.f.arrays[dependence.source.array].element.size)
                if not any(form.same(other) for other in distances):
                    distances.append(form)
                    pairs.append((dependence.source, dependence.sink) if dependence.source.store else (dependence.sink, dependence.source))
        if possible and distances:
            chosen.append(Distance(loop, target, distances, pairs, FAR * target.vector_bits // 8 // size))
    return chosen


def _distance(nest: Nest, loop: NestLoop, dependence: Dependence) -> Form | None:
    """How many iterations later a load reads what a store has written, where the load is first in the text, and that is known in front of the loop."""
    source, sink = dependence.source, dependence.sink
    if source.store == sink.store or source.loops[-1] is not loop or sink.loops[-1] is not loop:
        return None
    store, load = (source, sink) if source.store else (sink, source)
    x, y = store.subscripts[-1], load.subscripts[-1]
    if load.position > store.position or x is None or y is None:
        return None
    index = next(value for value, known in nest.indices.items() if known is loop)
    form = x.plus(y, -1)
    if x.terms.get(index, 0) != 1 or y.terms.get(index, 0) != 1 or not form.terms:
        return None
    written = {instr.dst for instr in nest.f.code[loop.head + 1 : loop.end] if instr.dst >= 0 and nest.f.variable[instr.dst]}
    if nest.forms.depends(form, loop.head, loop.end) or any(needed(nest.f, loop, access.position, written) is None for access in (store, load)):
        return None
    return form
