"""Elements that are only looked up, and are the same in all iterations of a loop, loaded in front of it.

``b[k[i], j]`` in a loop over ``j`` is an element of one row, and ``if j >= w[i]`` a test of where the loop is; neither is seen before the load is out of the loop
(loop-invariant code motion: A. Aho, M. Lam, R. Sethi and J. Ullman, Compilers, 2006, section 9.5.1). What the nest stores may be part of the array that is read,
so that it can only be done where arrays are known not to overlap; and only where the loop runs at all, which is asked in front of the nest, or of the loop.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.steps.carry import needed_in_front
from loopwright.types import BOOL, I64, VOID

__all__ = ["hoist"]


def hoist(nest: Nest, written: Nest) -> bool:
    """Load such elements in front of the loop that they are in; False where there are none. The nest does not describe the code any more.

    Args:
        nest: the nest.
        written: the nest that it has been made of, which is told what loops have to run for the new one to do the same (``Nest.runs``).
    """
    stored = {access.array for access in nest.accesses if access.store}
    read = _looked_up(nest)
    chosen: dict[int, list[Access]] = {}
    for access in nest.accesses:
        if access.store or access.array in stored or nest.f.code[access.position].dst not in read:
            continue
        loop = _still(nest, access)
        if loop is not None:
            chosen.setdefault(loop.number, []).append(access)
    if not chosen:
        return False
    f = nest.f
    code = f.code
    out: list[Instr] = []
    done = 0
    for loop in nest.loops:
        if loop.number not in chosen:
            continue
        positions = _moved(nest, loop, chosen[loop.number])
        if loop.head < done:
            # (It is in a loop that has been dealt with: the next time.)
            continue
        head = code[loop.head]
        out += code[done : loop.head]
        known = written.requires(head, loop.step)
        if not known:
            runs = f.register(BOOL, "")
            out.append(Instr(ops.LT if loop.step > 0 else ops.GT, I64, runs, head.args[:2], 0, head.line))
            out.append(Instr(ops.IF, VOID, NONE, [runs], 0, head.line))
        out += [code[k] for k in positions]
        out += [code[k] for k in range(loop.head, loop.end + 1) if k not in positions]
        if not known:
            out.append(Instr(ops.END, VOID, NONE, [], 0, code[loop.end].line))
        done = loop.end + 1
    f.code = out + code[done:]
    return True


def _looked_up(nest: Nest) -> set[int]:
    """The registers that subscripts, bounds and comparisons of indices are computed from."""
    f = nest.f
    forms = [form for access in nest.accesses for form in access.subscripts]
    for k in range(nest.start, nest.end):
        instr = f.code[k]
        if instr.op is ops.FOR:
            forms += [nest.forms.of(a) for a in instr.args]
        elif instr.type is I64 and instr.op in ops.COMPARING:
            a, b = nest.forms.of(instr.args[0]), nest.forms.of(instr.args[1])
            difference = a.plus(b, -1) if a is not None and b is not None else None
            if difference is not None and any(value in nest.indices for value in difference.terms):
                forms.append(difference)
    return {leaf for form in forms if form is not None for value in form.terms for leaf in nest.forms.leaves[value]}


def _still(nest: Nest, access: Access) -> NestLoop | None:
    """The loop directly around an access, where that is to the same element in all its iterations and made in each of them."""
    loop = access.loops[-1]
    if not access.store and nest.f.variable[nest.f.code[access.position].dst]:
        # (What the variable was before may be read in front of it.)
        return None
    if not loop.step or any(bracket > loop.head for bracket, _ in access.arms):
        return None
    if any(form is None or nest.forms.depends(form, loop.head, loop.end) for form in access.subscripts):
        return None
    return loop if needed_in_front(nest.f, loop, access.position, _written(nest, loop)) is not None else None


def _written(nest: Nest, loop: NestLoop) -> set[int]:
    return {instr.dst for instr in nest.f.code[loop.head + 1 : loop.end] if instr.dst >= 0 and nest.f.variable[instr.dst]}


def _moved(nest: Nest, loop: NestLoop, accesses: list[Access]) -> list[int]:
    """Where the loads are, and what their subscripts are computed by."""
    found: set[int] = set()
    for access in accesses:
        found.add(access.position)
        found.update(needed_in_front(nest.f, loop, access.position, _written(nest, loop)) or [])
    return sorted(found)
