"""Small arrays that an iteration uses to put something by, as variables of the iteration.

::

    for p                                          for p but the last
      for k in 0, 1, 2: v[k] = … a[p, k] …           v0, v1, v2 = … a[p, 0], a[p, 1], a[p, 2] …
      for t: … v[0] * v[2], a[p, 1] = …      →       x1 = a[p, 1]; for t: … v0 * v2, x1 = …; a[p, 1] = x1
                                                   the last p, as written: it leaves in v what is there afterwards

Each iteration writes the elements before it reads them, so that nothing goes from one to the next through them (array privatization: Z. Li, "Array privatization for parallel execution of loops", ICS 1992);
their indices are known numbers. Elements of the iteration's own row that loops inside of it access over and over are variables there, too: what is left is a loop over lanes, with loops inside that compute
in registers. Loops that have no lanes so, or have them anyway, stay as they are.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.dependence import too_many
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.elements.held_elements import Elements, arrays, gains, in_lanes, plain, rewritten, under
from loopwright.nests.rewriting.unroll import clone, read_once
from loopwright.nests.splitting.conditions import own_variables
from loopwright.nests.splitting.distribute import replaced
from loopwright.targets.target import Target
from loopwright.types import I64, VOID

__all__ = ["run"]

#: So many elements become variables at most.
MOST: Final = 32
_LOOPS: Final = (ops.FOR,)


def run(f: Function, found: list[Nest], target: Target, written: set[int]) -> dict[int, str]:
    """Rewrite such loops of a function.

    Args:
        f: the function.
        found: its nests.
        target: the machine.
        written: receives the indices of the outermost loops that stand beside those made, as written, for arrays that overlap.

    Returns:
        By the index of the outermost loop of what was made: what was done, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits or f.options.check:
        return done
    for nest in reversed(found):
        if nest.obstacles:
            continue
        for loop in nest.loops:
            own = _own(nest, loop) if loop.step == 1 and loop.long() else []
            if not own or not plain(f, loop, _LOOPS) or too_many(nest, True) or in_lanes(f, loop.head, loop.end, target):
                continue
            held = _rows(nest, loop, own)
            if held is None or sum(map(len, [*own, *held])) > MOST:
                continue
            instead = _instead(nest, loop, held, own, target)
            if instead:
                replaced(nest, loop, instead, written)
                done[nest.loops[0].index] = f"elements that each iteration of {nest.name(loop)} writes before it reads them in variables"
                break
    return done


def _own(nest: Nest, loop: NestLoop) -> list[Elements]:
    """The arrays that a loop stores to at known numbers only, each with its elements, all of which an iteration writes before it reads them."""
    found: list[Elements] = []
    own = [access for access in nest.accesses if loop.head < access.position < loop.end]
    for array in sorted({access.array for access in own if access.store}):
        accesses = [access for access in own if access.array == array]
        if all(form is not None and not form.terms for access in accesses for form in access.subscripts):
            elements: Elements = {}
            for access in accesses:
                elements.setdefault(tuple(form.constant for form in access.subscripts if form is not None), []).append(access)
            if all(_written_first(loop, each) for each in elements.values()):
                found.append(elements)
    return found


def _written_first(loop: NestLoop, accesses: list[Access]) -> bool:
    """Whether an element is stored wherever an iteration gets to another access of it, before that."""
    first = accesses[0]
    return first.store and not under(loop, first) and all(other.loops[: len(first.loops)] == first.loops for other in accesses)


def _rows(nest: Nest, loop: NestLoop, own: list[Elements]) -> list[Elements] | None:
    """The other arrays of which loops inside access elements that are the same for the whole of an iteration, or of which it stores some several times; None where there are some that it may not get to."""
    known = {accesses[0].array for elements in own for accesses in elements.values()}
    found: list[Elements] = []
    inner = [other for other in nest.loops if other is not loop and loop.head < other.head < loop.end]
    for elements in arrays(nest, loop):
        accesses = [access for each in elements.values() for access in each]
        again = any(sum(access.store for access in each) > 1 for each in elements.values())
        if accesses[0].array in known or not (again or any(access.loops[-1] is not loop for access in accesses)):
            continue
        if any(
            form is not None and nest.forms.depends(form, other.head, other.end + 1) for access in accesses for form in access.subscripts for other in inner
        ):
            continue
        if not any(access.store for access in accesses) and all(
            form is not None and not nest.forms.depends(form, loop.head, loop.end) for form in accesses[0].subscripts
        ):
            # (The same in all iterations.)
            continue
        for each in elements.values():
            if not any(not under(loop, access) and all(_runs(nest.f, other) for other in access.loops[loop.depth + 1 :]) for access in each):
                return None
        found.append(elements)
    return found


def _runs(f: Function, loop: NestLoop) -> bool:
    """Whether a loop is known to run."""
    lo, hi, _ = f.code[loop.head].args
    return lo < 0 and hi < 0 and loop.step > 0 and bool(f.const_values[~lo] < f.const_values[~hi])


def _instead(nest: Nest, loop: NestLoop, held: list[Elements], own: list[Elements], target: Target) -> list[Instr]:
    """What takes the place of a loop; nothing where it does not gain anything."""
    f = nest.f
    original = f.code
    body = rewritten(f, loop, held, own)
    if body is None:
        return []
    head, end = original[loop.head], original[loop.end]
    line = head.line
    front: list[Instr] = []
    lo = read_once(f, head.args[0], line, front)
    hi = read_once(f, head.args[1], line, front)
    last, begin, index = f.register(I64, ""), f.register(I64, ""), f.register(I64, f.names[head.dst])
    front.append(Instr(ops.SUB, I64, last, [hi, f.const(I64, 1)], 0, line))
    front.append(Instr(ops.MAX, I64, begin, [lo, last], 0, line))
    rename = {head.dst: index}
    for variable in own_variables(nest, loop):
        rename[variable] = f.register(f.types[variable], f.names[variable], True)
    behind = [Instr(ops.FOR, VOID, index, [begin, hi, head.args[2]], 0, line)]
    clone(f, original[loop.head + 1 : loop.end], rename, behind)
    behind.append(Instr(ops.END, VOID, NONE, [], 0, end.line))
    first = Instr(ops.FOR, head.type, head.dst, [lo, last, head.args[2]], 0, line)
    instead = [*front, first, *body, end, *behind]
    return instead if gains(f, loop, instead, len(front), len(front) + len(body) + 1, target) else []
