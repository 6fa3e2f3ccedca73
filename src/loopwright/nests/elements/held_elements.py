"""Elements of a row that an iteration accesses several times, some of them under conditions: they are variables of the iteration, loaded at its beginning and stored at its end.

::

    for i                                    for i
      if a[i, 0] < 0                           x = a[i, 0]; v = a[i, 3]
        a[i, 0] = -a[i, 0]           →         if x < 0: x = -x; v = v * 0.9
        a[i, 3] = a[i, 3] * 0.9                a[i, 0] = x; a[i, 3] = v

Records that are changed in place, and what compares and exchanges elements of a row, have lanes so: the elements of several rows are dealt out, and stored again, whether they have changed or not. (Scalar replacement under
conditions: S. Carr and K. Kennedy, "Scalar replacement in the presence of conditional control flow", Software: Practice and Experience 24(1), 1994.) Each element has to be accessed in every iteration, so that it is
there; loops that have no lanes so, or have them anyway, stay as they are, but for what is loaded again after it has been stored under a condition, which lanes would wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, nest_of
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.branches.conversion import ARMS
from loopwright.nests.rewriting.unroll import clone, slice_of
from loopwright.nests.splitting.distribute import replaced
from loopwright.nests.steps.lanes import free, may_be_in_lanes
from loopwright.targets.target import Target

__all__ = ["Elements", "arrays", "gains", "in_lanes", "plain", "rewritten", "run", "under"]

#: So many elements are held at most.
MOST: Final = 16
#: Per element of an array, by how much its subscripts differ from the first one's: the accesses to it.
Elements = dict[tuple[int, ...], list[Access]]


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
        if nest.obstacles or not any(access.store and len(access.arms) for access in nest.accesses):
            continue
        for loop in nest.loops:
            if loop.step != 1 or any(other.parent is loop for other in nest.loops) or not plain(f, loop):
                continue
            accessed = arrays(nest, loop)
            again = [elements for elements in accessed if _loaded_again(loop, elements)]
            held = [elements for elements in accessed if elements in again or _worth(f, loop, elements)]
            if not held or too_many(nest, True):
                continue
            # (Elements in turn are better dealt out once than accessed under each condition's mask.)
            if not again and all(_along(nest, loop, elements) for elements in held) and in_lanes(f, loop.head, loop.end, target):
                continue
            body = rewritten(f, loop, held)
            if body is None:
                continue
            instead = [f.code[loop.head], *body, f.code[loop.end]]
            if gains(f, loop, instead, 0, len(instead) - 1, target):
                replaced(nest, loop, instead, written)
                done[nest.loops[0].index] = f"elements of each iteration of {nest.name(loop)} held in variables"
                break
    return done


def plain(f: Function, loop: NestLoop, also: tuple[ops.Op, ...] = ()) -> bool:
    """Whether a loop's body is arithmetic, accesses and branches between such, and what else is named."""
    for instr in f.code[loop.head + 1 : loop.end]:
        op = instr.op
        if op.effect == ops.CONTROL:
            if op not in ARMS and op not in also:
                return False
        elif not op.pure and op is not ops.LOAD and op is not ops.STORE:
            return False
    return True


def arrays(nest: Nest, loop: NestLoop) -> list[Elements]:
    """The arrays of which a loop accesses elements that are known to be the same or others, each with these."""
    found: list[Elements] = []
    own = [access for access in nest.accesses if loop.head < access.position < loop.end]
    for array in sorted({access.array for access in own}):
        accesses = [access for access in own if access.array == array]
        first = accesses[0].subscripts
        elements: Elements = {}
        for access in accesses:
            place: list[int] = []
            for one, other in zip(first, access.subscripts, strict=True):
                if one is None or other is None or one.terms != other.terms:
                    break
                place.append(other.constant - one.constant)
            else:
                elements.setdefault(tuple(place), []).append(access)
                continue
            break
        else:
            found.append(elements)
    return found


def _worth(f: Function, loop: NestLoop, elements: Elements) -> bool:
    """Whether several elements of an array are accessed in every iteration, and some under conditions as well."""
    if not 1 < len(elements) <= MOST:
        return False
    conditional = False
    for accesses in elements.values():
        if all(under(loop, access) for access in accesses):
            return False
        conditional = conditional or any(under(loop, access) for access in accesses)
    return conditional


def _loaded_again(loop: NestLoop, elements: Elements) -> bool:
    """Whether an element is stored under a condition and loaded where that need not have been, and accessed in every iteration: a load would wait until what a mask has stored is in the cache."""
    if len(elements) > MOST:
        return False
    again = False
    for accesses in elements.values():
        if all(under(loop, access) for access in accesses):
            return False
        stores = [access for access in accesses if access.store and under(loop, access)]
        again = again or any(
            not load.store and load.position > store.position and load.arms[: len(store.arms)] != store.arms for store in stores for load in accesses
        )
    return again


def _along(nest: Nest, loop: NestLoop, elements: Elements) -> bool:
    """Whether the elements of an array are next to those of the next iteration."""
    last = next(iter(elements.values()))[0].subscripts[-1]
    return last is not None and nest.grows(last, loop) == 1


def under(loop: NestLoop, access: Access) -> bool:
    """Whether not all iterations of a loop make an access."""
    return any(position > loop.head for position, _ in access.arms)


def in_lanes(f: Function, head: int, end: int, target: Target) -> bool:
    """Whether a loop could be over lanes."""
    nest = nest_of(f, head, end)
    loop = nest.loops[0]
    return may_be_in_lanes(nest, loop, scalars(nest), target) and free(loop, dependences(nest, True))


def gains(f: Function, loop: NestLoop, instead: list[Instr], first: int, last: int, target: Target) -> bool:
    """Whether a loop could be over lanes that stands, from ``first`` to ``last``, in what would take the place of another."""
    original = f.code
    f.code = [*original[: loop.head], *instead, *original[loop.end + 1 :]]
    found = in_lanes(f, loop.head + first, loop.head + last, target)
    f.code = original
    return found


def rewritten(f: Function, loop: NestLoop, held: list[Elements], own: Sequence[Elements] = ()) -> list[Instr] | None:
    """A body in which such elements are variables; None where what they are looked up with is not known at its beginning. Those that are the iteration's ``own`` are neither loaded nor stored."""
    code = f.code
    body = code[loop.head + 1 : loop.end]
    instead: dict[int, Instr] = {}  # by position
    front: list[Instr] = []
    behind: list[Instr] = []
    pure = [instr for instr in body if instr.op.pure]
    for elements in [*held, *own]:
        for accesses in elements.values():
            first = next(access for access in accesses if not under(loop, access))
            instr = code[first.position]
            type_ = instr.type
            value = f.register(type_, f.names[instr.dst] if instr.dst >= 0 else "", True)
            for access in accesses:
                one = code[access.position]
                if access.store:
                    instead[access.position] = Instr(ops.COPY, type_, value, [one.args[0]], 0, one.line)
                else:
                    instead[access.position] = Instr(ops.COPY, type_, one.dst, [value], 0, one.line)
            if any(elements is one for one in own):
                continue
            places = instr.args[1:] if first.store else instr.args
            wanted = {a for a in places if a >= 0}
            needed = slice_of(pure, wanted)
            defined = {made.dst for made in body}
            made = {one.dst for one in needed}
            if any(a in defined and a not in made for one in needed for a in one.args) or any(a in defined and a not in made for a in wanted):
                return None
            if any(f.variable[r] for r in made):
                return None
            rename: dict[int, int] = {}
            clone(f, needed, rename, front)
            args = [rename.get(a, a) for a in places]
            if not (first.store and first is accesses[0]):
                loaded = f.register(type_, "")
                front.append(Instr(ops.LOAD, type_, loaded, args, instr.imm, instr.line))
                front.append(Instr(ops.COPY, type_, value, [loaded], 0, instr.line))
            if any(access.store for access in accesses):
                behind.append(Instr(ops.STORE, type_, NONE, [value, *args], instr.imm, instr.line))
    inside = [instead.get(loop.head + 1 + k, instr) for k, instr in enumerate(body)]
    return [*front, *inside, *behind]
