"""Triangular loops that change places with what stands between them: each element is finished by those before it, instead of taken to those that come later.

::

    for j = lo, hi                     for j = lo, hi
      A(j)                               for k = lo, j
      for i = j + 1, hi         →          B(k, j)
        B(j, i)                          end
      end                                A(j)
    end                                end

The inner loop runs over what is left of the outer one, in either direction. ``A(j)`` counts as iteration ``(j, j)`` of the inner loop, in front of all others; then the loops are perfectly nested, change
places, and ``A`` comes last in its row (R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.2; of solvers: the column-oriented form becomes the row-oriented one, G. Golub
and C. Van Loan, Matrix Computations, section 3.1). What ``A`` computes and ``B`` reads is computed again, or loaded from where ``A`` stored it.

It is done where ``B`` jumps from row to row as written and goes along one afterwards.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.analysis.dependence import Dependence, dependences, too_many
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.steps.order import moves
from loopwright.types import I64

__all__ = ["by_rows"]


def by_rows(nest: Nest) -> bool:
    """Have a triangular pair of loops of a nest change places; it does not describe the code any more where there is one (distinct arrays are taken not to overlap)."""
    for inner in nest.loops:
        outer = inner.parent
        if outer is None or not _remaining(nest, outer, inner) or not _jumps(nest, outer, inner):
            continue
        again = _again(nest, outer, inner)
        if again is not None and not too_many(nest) and not any(_backwards(nest, dependence, outer, inner) for dependence in dependences(nest)):
            _exchange(nest, outer, inner, again)
            return True
    return False


def _remaining(nest: Nest, outer: NestLoop, inner: NestLoop) -> bool:
    """Whether the inner loop, in either direction, has the iterations of the outer one that come later."""
    step = outer.step
    if abs(step) != 1 or abs(inner.step) != 1 or len(outer.first) != 1 or len(outer.last) != 1 or len(inner.first) != 1 or len(inner.last) != 1:
        return False
    index = nest.forms.of(outer.index)
    if index is None or inner.end + 1 != outer.end:
        return False
    end = outer.last[0]
    if inner.step == step:
        return inner.first[0].same(index.plus(Form(step, {}), 1)) and inner.last[0].same(end)
    return inner.first[0].same(end.plus(Form(step, {}), -1)) and inner.last[0].same(index)


def _jumps(nest: Nest, outer: NestLoop, inner: NestLoop) -> bool:
    """Whether some access goes from row to row in the inner loop, and none would in the outer."""
    inside = [access for access in nest.accesses if access.loops[-1] is inner]
    return any(moves(nest, access, inner) < 0 for access in inside) and all(moves(nest, access, outer) >= 0 for access in inside)


def _again(nest: Nest, outer: NestLoop, inner: NestLoop) -> list[Instr] | None:
    """What has to be done again in the inner loop of what is in front of it: arithmetic, and loads, also of what has been stored. None where that is not enough, or there is more in the loops."""
    f = nest.f
    front = f.code[outer.head + 1 : inner.head]
    body = f.code[inner.head + 1 : inner.end]
    if any(instr.op.effect == ops.CONTROL for instr in front) or any(IS_LOOP[instr.op.code] for instr in body):
        return None
    if any(instr.dst >= 0 and f.variable[instr.dst] for instr in [*front, *body]):
        return None
    accesses = {access.position: access for access in nest.accesses}
    written = {access.array for access in nest.accesses if access.store}
    made = {instr.dst for instr in front if instr.dst >= 0}
    wanted = {a for instr in body for a in instr.args if a in made}
    again: list[Instr] = []
    for k in range(len(front) - 1, -1, -1):
        instr = front[k]
        access = accesses.get(outer.head + 1 + k)
        if instr.op is ops.STORE:
            if instr.args[0] not in wanted or access is None or not _stays(nest, access, outer, inner):
                continue
            instr = Instr(ops.LOAD, instr.type, instr.args[0], instr.args[1:], instr.imm, instr.line)
        elif instr.dst not in wanted:
            continue
        elif not instr.op.pure and (access is None or (access.array in written and not _stays(nest, access, outer, inner))):
            return None
        again.append(instr)
        wanted.discard(instr.dst)
        wanted.update([a for a in instr.args if a in made])
    again.reverse()
    return again


def _stays(nest: Nest, access: Access, outer: NestLoop, inner: NestLoop) -> bool:
    """Whether an element that is accessed in front of the inner loop stays as it is from there until the outer one ends: all other stores to the array are to those of later iterations."""
    if not any(_difference(nest, form, form, outer, outer) == 0 for form in access.subscripts):
        return False
    for other in nest.accesses:
        if other.store and other.array == access.array and other is not access:
            if other.loops[-1] is not inner:
                return False
            if not any(_difference(nest, a, b, inner, outer) == 0 for a, b in zip(other.subscripts, access.subscripts, strict=True)):
                return False
    return True


def _difference(nest: Nest, a: Form | None, b: Form | None, of_a: NestLoop, of_b: NestLoop) -> int | None:
    """How much greater the index of a loop is for one subscript than another loop's for another, where both are equal; None where that is not known.

    The subscripts may be of different iterations of these loops, not of those around them.
    """
    if a is None or b is None:
        return None
    rest: list[dict[int, int]] = []
    for form, loop in ((a, of_a), (b, of_b)):
        index = nest.forms.of(loop.index)
        assert index is not None
        (value,) = index.terms
        if form.terms.get(value) != 1:
            return None
        rest.append({term: coefficient for term, coefficient in form.terms.items() if term != value})
    if rest[0] != rest[1]:
        return None
    for term in rest[0]:
        other = nest.indices.get(term)
        if nest.varies(term) if other is None else other.depth >= of_b.depth:
            return None
    return b.constant - a.constant


def _backwards(nest: Nest, dependence: Dependence, outer: NestLoop, inner: NestLoop) -> bool:
    """Whether a dependence would have its sink first."""
    loops = dependence.loops
    depth = outer.depth
    if len(loops) <= depth or loops[depth] is not outer or not all(c.low <= 0 <= c.high for c in dependence.vector[:depth]):
        return False
    source, sink = dependence.source, dependence.sink
    if source.loops[-1] is outer:
        # What is in front comes first in either order: it is for later rows.
        return False
    same = outer.step == inner.step
    if sink.loops[-1] is inner:
        component = dependence.vector[inner.depth]
        return (component.low if same else component.reversed().low) < 0
    # An element that a later iteration finishes has to be one of its own row, or of one before; one that an iteration has finished may not be accessed by an earlier one.
    for a, b in zip(source.subscripts, sink.subscripts, strict=True):
        later = _difference(nest, a, b, inner, outer)
        if later is not None and later * outer.step <= 0:
            return False
        ahead = _difference(nest, b, a, outer, outer)
        if ahead is not None and ahead * outer.step <= 0:
            return False
    return True


def _exchange(nest: Nest, outer: NestLoop, inner: NestLoop, again: list[Instr]) -> None:
    """Put the loops into each other's place; ``again`` is done in the inner one."""
    f = nest.f
    code = f.code
    head, within = code[outer.head], code[inner.head]
    before = f.register(I64, f.names[outer.index])
    out = [*code[: outer.head + 1], Instr(ops.FOR, within.type, before, [head.args[0], outer.index, head.args[2]], 0, within.line)]
    clone(f, [*again, *code[inner.head + 1 : inner.end]], {outer.index: before, inner.index: outer.index}, out)
    f.code = [*out, code[inner.end], *code[outer.head + 1 : inner.head], *code[outer.end :]]
