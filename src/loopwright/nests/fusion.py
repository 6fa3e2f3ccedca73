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

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Forms
from loopwright.ir.function import Function, Instr
from loopwright.nests import apart
from loopwright.nests.dependence import Dependence, dependences, too_many
from loopwright.nests.jam import Refusal
from loopwright.nests.lanes import adjacent, free
from loopwright.nests.nest import Nest, NestLoop, nest_of, nests
from loopwright.nests.scalars import PRIVATE, scalars
from loopwright.nests.unroll import written_first
from loopwright.targets.target import Target

__all__ = ["Refused", "fuse", "run"]

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


def fuse(f: Function, first: tuple[int, int], second: tuple[int, int]) -> tuple[Nest, NestLoop]:
    """Fuse two loops. Distinct arrays are taken not to overlap. Returns the nest as it is then, and the loop in it.

    Args:
        f: the function.
        first, second: the positions of their brackets; ``second`` stands behind ``first``, in the same loop or in none.

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
    nest = next((nest for nest in nests(f) if nest.start <= head < nest.end), None)
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
