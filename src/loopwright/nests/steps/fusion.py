"""Two loops, one behind the other over the same iterations, made one: fusion.

::

    for i = lo, hi                     for i = lo, hi
      b[i] = a[i] * 2                    b[i] = a[i] * 2
    end                         →        c[i] = b[i] + a[i]
    for i = lo, hi                     end
      c[i] = b[i] + a[i]
    end

What the first leaves in memory, and what both read, is then still in a register or in the nearest cache. It is legal where no iteration of the second needs what a later one of the
first does (R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 6.2.5): no dependence between the two may point backwards in the loop that they become.
"""

from __future__ import annotations

import itertools
from collections.abc import Set as AbstractSet
from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form, Forms
from loopwright.ir.function import Function, Instr
from loopwright.nests.analysis.dependence import Dependence, dependences, too_many
from loopwright.nests.analysis.nest import Nest, NestLoop, nest_of, nests
from loopwright.nests.analysis.scalars import PRIVATE, scalars
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.unroll import written_first
from loopwright.nests.steps.jam import Refusal
from loopwright.nests.steps.lanes import adjacent, free
from loopwright.targets.target import Target

__all__ = ["Refused", "fuse", "run", "run_inside"]

#: By itself only loops are fused that come to so many arrays together, with so many instructions, and whose dependences take so many questions.
MOST_ARRAYS: Final = 8
MOST_INSTRUCTIONS: Final = 60
MOST_QUESTIONS: Final = 20


class Refused(Exception):
    """Why two loops cannot be fused.

    Attributes:
        refusal: the reason.
        nest: what a dependence in it is about, or None.
    """

    def __init__(self, refusal: Refusal, nest: Nest | None = None) -> None:
        super().__init__(refusal.because)
        self.refusal = refusal
        self.nest = nest


def fuse(f: Function, first: tuple[int, int], second: tuple[int, int], alone: bool = False) -> tuple[Nest, NestLoop]:
    """Fuse two loops. Distinct arrays are taken not to overlap. Returns the nest as it is then, and the loop in it.

    Args:
        f: the function.
        first, second: the positions of their brackets; ``second`` stands behind ``first``, in the same loop or in none.
        alone: the nest is the fused loop by itself, without those around, in one iteration of which both are.

    Raises:
        Refused: it would not do the same, or there is no such form of it.
    """
    code = f.code
    body, more = code[first[0] + 1 : first[1]], code[second[0] + 1 : second[1]]
    between = code[first[1] + 1 : second[0]]
    _same_iterations(f, first, second)
    _variables(f, body, more, between)
    _movable(f, body, between)
    index = code[second[0]].dst
    rename = {index: code[first[0]].dst}
    moved = [_renamed(instr, rename) for instr in more]
    fused = [*between, code[first[0]], *body, *moved, code[first[1]]]
    middle = first[0] + len(between) + 1 + len(body)
    f.code = [*code[: first[0]], *fused, *code[second[1] + 1 :]]
    head = first[0] + len(between)
    nest = None if alone else next((nest for nest in nests(f) if nest.start <= head < nest.end), None)
    if nest is None:
        # (One of them calls something, or is left early, and holds other loops.)
        nest = nest_of(f, head, middle + len(moved))
    loop = next(loop for loop in nest.loops if loop.head == head)
    refusal = _backwards(nest, loop, middle)
    if refusal is not None:
        f.code = code
        raise Refused(refusal, nest)
    return nest, loop


def _same_iterations(f: Function, first: tuple[int, int], second: tuple[int, int]) -> None:
    code = f.code
    heads = code[first[0]], code[second[0]]
    line = heads[1].line
    if any(head.op is not ops.FOR or (head.loop is not None and head.loop.lanes) for head in heads):
        raise Refused(Refusal("one of the loops has no index that counts, or runs in lanes", line))
    forms = Forms(f, first[0], second[1])
    for a, b in zip(heads[0].args, heads[1].args, strict=True):
        x, y = forms.of(a), forms.of(b)
        if x is None or y is None or x.constant != y.constant or x.terms != y.terms:
            raise Refused(Refusal("the loops begin, end or step otherwise", line))


def _variables(f: Function, body: list[Instr], more: list[Instr], between: list[Instr]) -> None:
    """No variable goes from one of the loops to the other, or to what is between them."""
    ours, theirs, others = _written(f, body), _written(f, more), _written(f, between)
    private = set(written_first(f, body)) & set(written_first(f, more))
    named, known, told = _named(body), _named(more), _named(between)
    for variable in sorted((ours & known) | (theirs & named)):
        if variable not in private:
            raise Refused(Refusal(f"{f.names[variable] or 'a variable'} goes from one of the loops to the other", more[0].line if more else 0))
    for variable in sorted((ours & told) | (others & named)):
        raise Refused(Refusal(f"{f.names[variable] or 'a variable'} is used between the loops", between[0].line))


def _written(f: Function, code: list[Instr]) -> set[int]:
    return {instr.dst for instr in code if instr.dst >= 0 and f.variable[instr.dst]}


def _named(code: list[Instr]) -> set[int]:
    return {a for instr in code for a in (instr.dst, *instr.args) if a >= 0}


def _movable(f: Function, body: list[Instr], between: list[Instr]) -> None:
    """What is between the loops may be done before both."""
    stored = {instr.imm for instr in body if instr.op is ops.STORE}
    for instr in between:
        if not instr.op.pure and not (instr.op is ops.LOAD and instr.imm not in stored):
            raise Refused(Refusal("more than arithmetic is between the loops", instr.line))


def _renamed(instr: Instr, rename: dict[int, int]) -> Instr:
    if not any(a in rename for a in instr.args):
        return instr
    made = instr.copy()
    made.args = [rename.get(a, a) for a in instr.args]
    return made


def _backwards(nest: Nest, loop: NestLoop, middle: int) -> Refusal | None:
    """The dependence from what was the second loop's to a later iteration of the first's, as it was before: from the first to an earlier iteration of the second."""
    for line, because in nest.obstacles:
        return Refusal(because, line)
    for dependence in dependences(nest):
        source, sink = dependence.source, dependence.sink
        if not (loop.head < sink.position < middle <= source.position < loop.end):
            continue
        depth = loop.depth
        if all(component.low <= 0 <= component.high for component in dependence.vector[:depth]) and dependence.vector[depth].high > 0:
            vector = tuple([component.reversed() for component in dependence.vector])
            was = Dependence(sink, source, dependence.loops, vector, dependence.told)
            return Refusal("an iteration of the second loop would come before one of the first that it has to follow", source.line, was)
    return None


# --- by itself


class Fused:
    """What has become of nests by fusion.

    Attributes:
        done: per index of the outermost loop of a nest that has been made of several: the steps.
        distinct: those that run only where arrays do not overlap.
        plain: the indices of the outermost loops that stand beside them, as written, for arrays that do.
    """

    __slots__ = ("distinct", "done", "plain")

    def __init__(self) -> None:
        self.done: dict[int, list[str]] = {}
        self.distinct: set[int] = set()
        self.plain: set[int] = set()


def run(f: Function, found: list[Nest], target: Target) -> Fused:
    """Fuse nests that stand one behind the other where each runs in lanes and shares an array with those before, and the nest that they become runs in lanes, too.

    Args:
        f: the function.
        found: its nests.
        target: the machine.
    """
    made = Fused()
    k = 0
    while target.vector_bits and k + 1 < len(found):
        first = last = found[k]
        written, start = f.code, first.start
        steps: list[str] = []
        while k + 1 < len(found) and _pays(found[k], found[k + 1], target) and _fused(f, found[k], found[k + 1], target):
            first, last = found[k], found[k + 1]
            steps.append(f"fuse({first.name(first.loops[0])}@{first.loops[0].line}, {last.name(last.loops[0])}@{last.loops[0].line})")
            found = nests(f)
        k += 1
        if steps:
            _beside(f, written, start, found[k - 1], made)
            made.done[first.loops[0].index] = steps
            found = nests(f)
            k = next(n for n, nest in enumerate(found) if nest.loops[0].index == first.loops[0].index) + 1
            while k < len(found) and found[k].loops[0].index in made.plain:
                k += 1
    return made


def run_inside(f: Function, target: Target, made: Fused, left: AbstractSet[int]) -> None:
    """Fuse innermost loops that stand one behind the other in another loop, in lanes, where the second accesses an element that the first stores in the same iteration: it stays in a register.

    Args:
        f: the function.
        target: the machine.
        made: what has been fused, and receives what is.
        left: the indices of the outermost loops of nests that stay as they are.
    """
    if not target.vector_bits:
        return
    found, code = {nest.loops[0].index: nest for nest in nests(f)}, f.code
    for index in reversed([*found]):
        if index in left or index in made.plain or index in made.distinct:
            continue
        if f.code is not code:
            found, code = {nest.loops[0].index: nest for nest in nests(f)}, f.code
        nest = found[index]
        if nest.obstacles or len(nest.loops) < 3:
            continue
        written, start = f.code, nest.start
        steps: list[str] = []
        while True:
            pair = _pair_inside(nest, target)
            if pair is None:
                break
            steps.append(f"fuse({nest.name(pair[0])}@{pair[0].line}, {nest.name(pair[1])}@{pair[1].line})")
            nest = _nest_over(f, index)
        if steps:
            _beside(f, written, start, nest, made)
            made.done[index] = [*made.done.get(index, []), *steps]


def _nest_over(f: Function, index: int) -> Nest:
    """The nest whose outermost loop counts in a register."""
    return next(nest for nest in nests(f) if nest.loops[0].index == index)


def _pair_inside(nest: Nest, target: Target) -> tuple[NestLoop, NestLoop] | None:
    """Fuse two such loops of a nest, and say which; None where there are none."""
    f = nest.f
    parents = {loop.parent for loop in nest.loops}
    inside = [loop for loop in nest.loops if loop.parent is not None and loop not in parents and loop.step == 1]
    for first, second in itertools.pairwise(inside):
        if first.parent is not second.parent or second.end - first.head > MOST_INSTRUCTIONS or not _hands_over(nest, first, second):
            continue
        if not all(_in_lanes(nest_of(f, loop.head, loop.end), target) for loop in (first, second)):
            continue
        code = f.code
        try:
            fused, _ = fuse(f, (first.head, first.end), (second.head, second.end), True)
        except Refused:
            continue
        if _in_lanes(fused, target):
            return first, second
        f.code = code
    return None


def _in_lanes(alone: Nest, target: Target) -> bool:
    """Whether a loop that is looked at by itself has lanes."""
    loop = alone.loops[0]
    return (
        not alone.obstacles and not too_many(alone, most=MOST_QUESTIONS) and loop in adjacent(alone, scalars(alone), target) and free(loop, dependences(alone))
    )


def _hands_over(nest: Nest, first: NestLoop, second: NestLoop) -> bool:
    """Whether a loop accesses, in each of its iterations, the element that another has stored in its own."""
    indices = {loop: value for value, loop in nest.indices.items()}
    for store in nest.accesses:
        if not store.store or store.loops[-1] is not first:
            continue
        for other in nest.accesses:
            if other.array != store.array or other.loops[-1] is not second:
                continue
            pairs = list(zip(store.subscripts, other.subscripts, strict=True))
            if all(
                x is not None and y is not None and x.constant == y.constant and _renumbered(x, indices[first], indices[second]) == y.terms for x, y in pairs
            ):
                return True
    return False


def _renumbered(form: Form, old: int, new: int) -> dict[int, int]:
    """The terms of a form with one index for another."""
    return {new if value == old else value: coefficient for value, coefficient in form.terms.items()}


def _beside(f: Function, written: list[Instr], start: int, nest: Nest, made: Fused) -> None:
    """Put what was written, from ``start`` on, beside a nest that has been made of it, for arrays that overlap."""
    asked = apart.pairs(nest)
    if not asked:
        return
    behind = len(f.code) - 1 - nest.end
    fast = f.code[start : nest.end + 1]
    plain = apart.as_written(f, written, start, len(written) - behind)
    depth = 0
    for instr in plain:
        if instr.op is ops.FOR and not depth:
            made.plain.add(instr.dst)
        depth += int(instr.op.opens and not instr.op.closes) - int(instr.op is ops.END)
    made.distinct.add(nest.loops[0].index)
    f.code = written[:start] + apart.versioned(f, asked, plain, fast, nest.loops[0].line) + written[len(written) - behind :]


def _pays(first: Nest, second: Nest, target: Target) -> bool:
    """Whether two nests share an array, are small enough, and have nothing but loops that could be lanes, one in another."""
    if first.obstacles or second.obstacles or len(first.loops) != len(second.loops):
        return False
    if first.end - first.start + second.end - second.start > MOST_INSTRUCTIONS:
        return False
    arrays = [{access.array for access in nest.accesses} for nest in (first, second)]
    if not arrays[0] & arrays[1] or len(arrays[0] | arrays[1]) > MOST_ARRAYS:
        return False
    return all(_streams(nest, target) for nest in (first, second))


def _streams(nest: Nest, target: Target) -> bool:
    """Whether each loop holds the next, and the innermost, which carries nothing, can run in lanes: no other way to do it is better."""
    innermost = nest.loops[-1]
    if any(loop.parent is not before for before, loop in zip(nest.loops, nest.loops[1:], strict=False)) or too_many(nest, most=MOST_QUESTIONS):
        return False
    if any(access.loops[-1] is not innermost for access in nest.accesses) or any(loop.step != 1 for loop in nest.loops):
        return False
    variables = scalars(nest)
    if any(scalar.kind != PRIVATE for scalar in variables) or innermost not in adjacent(nest, variables, target):
        return False
    # (With loops around in whose iterations something stays the same, blocks and jams have more to gain.)
    if any(not _each(nest, loop) for loop in nest.loops):
        return False
    return free(innermost, dependences(nest))


def _each(nest: Nest, loop: NestLoop) -> bool:
    """Whether every store is to another element in each iteration of a loop."""
    return all(
        any(form is None or nest.forms.depends(form, loop.head, loop.head + 1) for form in access.subscripts) for access in nest.accesses if access.store
    )


def _fused(f: Function, first: Nest, second: Nest, target: Target) -> bool:
    """Fuse two nests, loop by loop; False where that cannot be done, or could not run in lanes."""
    code = f.code
    one, other = (first.start, first.end), (second.start, second.end)
    nest = first
    try:
        for level in range(len(first.loops)):
            nest, loop = fuse(f, one, other)
            if level + 1 < len(first.loops):
                one, other = [(inner.head, inner.end) for inner in nest.loops if inner.parent is loop]
    except Refused:
        f.code = code
        return False
    innermost = nest.loops[-1]
    if innermost in adjacent(nest, scalars(nest), target) and free(innermost, dependences(nest)):
        return True
    f.code = code
    return False
