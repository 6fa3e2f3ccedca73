"""Elements that subscripts are computed from, loaded again from arrays that a nest only reads: taken from the first load.

What comes in between may store to other arrays, so that it can only be done where those are known not to overlap. It is what shows that in
``for j in range(n - 1, w[i] - 1, -1): t[j] = max(t[j], t[j - w[i]] + v[i])`` both ``w[i]`` are one number, which does not change with ``j``.

Where a nest stays as written otherwise, such loads alone are worth the question in front of it: ``h[min(a[i], b[i])] += 1`` and ``h[max(a[i], b[i])] -= 1`` load four elements, or two.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.nests.analysis.nest import Access, Nest
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.unroll import crossing_branches

__all__ = ["once", "share", "store_once"]

#: Longer nests are not written twice for that, nor are those of fewer iterations.
LONGEST: Final = 120
FEWEST: Final = 16
#: But those of so many instructions, of which every sixth loads something again (loops that are written out).
LONGEST_AT_ALL: Final = 800
SAVED: Final = 6


def share(nest: Nest) -> bool:
    """Drop such loads; the nest does not describe the code any more where there were any."""
    stored = {access.array for access in nest.accesses if access.store}
    first: dict[tuple[int, ...], list[Access]] = {}
    replaced: dict[int, int] = {}
    f = nest.f
    inside = {leaf for access in nest.accesses for form in access.subscripts if form is not None for value in form.terms for leaf in nest.forms.leaves[value]}
    if not any(f.code[access.position].dst in inside for access in nest.accesses):
        return False
    for access in nest.accesses:
        key = _key(access)
        dst = f.code[access.position].dst
        if access.store or access.array in stored or not key or f.variable[dst]:
            continue
        earlier = first.setdefault(key, [])
        for other in earlier:
            if dst in inside and _before(other, access):
                replaced[dst] = f.code[other.position].dst
                break
        else:
            earlier.append(access)
    if not replaced:
        return False
    out: list[Instr] = f.code[: nest.start]
    for k in range(nest.start, len(f.code)):
        instr = f.code[k]
        if instr.op is ops.LOAD and instr.dst in replaced:
            continue
        if any(a in replaced for a in instr.args):
            instr = instr.copy()
            instr.args = [replaced.get(a, a) for a in instr.args]
        out.append(instr)
    f.code = out
    return True


def store_once(nest: Nest) -> bool:
    """Drop stores to elements that the same iteration stores again, and loads of them in between, as may be done where arrays do not overlap; the nest does not describe the code any more where there were any."""
    over, known = _stored_over(nest)
    if over:
        nest.f.code = _without(nest.f.code, over, known)
    return bool(over)


def once(nest: Nest) -> list[tuple[int, int, bool]]:
    """Have it asked in front of a nest whether its arrays overlap, where that lets elements be loaded once. Returns what is asked; the nest does not describe the code any more if that is anything."""
    f = nest.f
    length = nest.end - nest.start
    if length > LONGEST_AT_ALL or not nest.loops[0].reaches(FEWEST) or crossing_branches(f.code[nest.start : nest.end + 1]):
        return []
    over, known = _stored_over(nest)
    if not over and not _hidden(nest, 1 if length <= LONGEST else length // SAVED):
        return []
    asked = apart.pairs(nest)
    if asked:
        original = f.code
        plain = apart.as_written(f, original, nest.start, nest.end + 1)
        f.code = _without(original, over, known)
        apart.rewritten(f, original, nest.start, nest.end + 1, asked, plain)
    return asked


def _without(code: list[Instr], over: set[int], known: dict[int, int]) -> list[Instr]:
    """Code without some stores, and without loads of what is known."""
    registers = {code[k].dst: value for k, value in known.items()}
    out: list[Instr] = []
    for k, instr in enumerate(code):
        if k in over or k in known:
            continue
        if any(a in registers for a in instr.args):
            instr = instr.copy()
            instr.args = [_last(a, registers) for a in instr.args]
        out.append(instr)
    return out


def _last(operand: int, registers: dict[int, int]) -> int:
    while operand in registers:
        operand = registers[operand]
    return operand


def _stored_over(nest: Nest) -> tuple[set[int], dict[int, int]]:
    """The positions of stores to elements that the same iteration stores again; and of loads in between, with what they find there: all where arrays do not overlap."""
    f = nest.f
    over: set[int] = set()
    found: dict[int, int] = {}
    branches = [k for k in range(nest.start, nest.end) if f.code[k].op is ops.BR or f.code[k].op is ops.BR_IF]
    for n, store in enumerate(nest.accesses):
        key = _key(store)
        value = f.code[store.position].args[0] if store.store else NONE
        if not store.store or not key or (value >= 0 and f.variable[value]):
            continue
        between: dict[int, int] = {}
        for later in nest.accesses[n + 1 :]:
            if later.array != store.array or _elsewhere(store, later):
                continue
            if _key(later) != key or later.loops != store.loops or later.arms != store.arms:
                break
            if not later.store and f.variable[f.code[later.position].dst]:
                break
            if any(store.position < k < later.position for k in branches):
                # (An iteration may end in between.)
                break
            if later.store:
                over.add(store.position)
                found.update(between)
                break
            between[later.position] = value
    return over, found


def _elsewhere(first: Access, second: Access) -> bool:
    """Whether what an iteration accesses is two elements of an array, for certain."""
    for x, y in zip(first.subscripts, second.subscripts, strict=True):
        if x is not None and y is not None and x.terms == y.terms and x.constant != y.constant:
            return True
    return False


def _hidden(nest: Nest, most: int) -> bool:
    """Whether elements of arrays that are only read are loaded again, so many times, behind a store, or in each iteration of a loop that stores, which might change them."""
    arrays = nest.f.arrays
    stores = [access for access in nest.accesses if access.store]
    stored = {access.array for access in stores}
    first: dict[tuple[int, ...], list[Access]] = {}
    found = 0
    for access in nest.accesses:
        key = _key(access)
        if access.array in stored or arrays[access.array].data or arrays[access.array].size or not key:
            continue
        loop = access.loops[-1]
        same = not any(form is None or nest.forms.depends(form, loop.head, loop.end) for form in access.subscripts)
        earlier = first.setdefault(key, [])
        if (same and any(loop in store.loops for store in stores)) or any(
            _before(other, access) and any(other.position < store.position < access.position for store in stores) for other in earlier
        ):
            found += 1
            if found >= most:
                return True
        else:
            earlier.append(access)
    return False


def _key(access: Access) -> tuple[int, ...]:
    """Equal for accesses to one element; () where nothing is known."""
    key = [access.array]
    for form in access.subscripts:
        if form is None:
            return ()
        key.append(len(form.terms))
        key.append(form.constant)
        for value in sorted(form.terms):
            key.append(value)
            key.append(form.terms[value])
    return tuple(key)


def _before(first: Access, second: Access) -> bool:
    """Whether wherever the second access is come to, the first has been, in the same iteration of the loops around it."""
    return second.loops[: len(first.loops)] == first.loops and second.arms[: len(first.arms)] == first.arms
