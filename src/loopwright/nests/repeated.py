"""Elements that subscripts are computed from, loaded again from arrays that a nest only reads: taken from the first load.

What comes in between may store to other arrays, so that it can only be done where those are known not to overlap. It is what shows that in
``for j in range(n - 1, w[i] - 1, -1): t[j] = max(t[j], t[j - w[i]] + v[i])`` both ``w[i]`` are one number, which does not change with ``j``.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.nests.nest import Access, Nest

__all__ = ["share"]


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
