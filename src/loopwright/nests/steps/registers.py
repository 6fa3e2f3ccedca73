"""Elements of arrays that an innermost loop accesses in every iteration, kept in registers while it runs.

``c[i, j] += a[i, k] * b[k, j]`` loads and stores the same element in every iteration of the loop over ``k``. It is loaded in front of the loop and stored behind
it instead, where nothing else in the loop can touch it: D. Callahan, S. Carr and K. Kennedy, "Improving register allocation for subscripted variables", PLDI
1990. What was a sum in memory is one in a variable then, which lanes can add up and other iterations run beside. Of a loop that does not run nothing is accessed.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.nests.analysis.dependence import Dependence
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.rewriting.unroll import clone
from loopwright.nests.steps.carry import needed_in_front
from loopwright.types import BOOL, I64, VOID

__all__ = ["keep", "repeats"]


class _Kept:
    """An element and what accesses it."""

    __slots__ = ("accesses", "loop", "register")

    def __init__(self, loop: NestLoop, access: Access) -> None:
        self.loop = loop
        self.accesses = [access]
        self.register = NONE


def repeats(nest: Nest) -> bool:
    """Whether some innermost loop accesses an element of an array that it writes in each of its iterations."""
    return bool(_candidates(nest))


def keep(nest: Nest, found: list[Dependence], written: Nest | None) -> bool:
    """Keep what can be kept; the nest does not describe the code any more where that is anything.

    Args:
        nest: the nest.
        found: its dependences. Distinct arrays are taken not to overlap.
        written: the nest that it has been made of, which is told what loops have to run for elements to be accessed unasked (``Nest.runs``); None where it is not
            to get another version for that.
    """
    chosen = [kept for kept in _candidates(nest) if not any(_touches(dependence, kept) for dependence in found)]
    if not chosen:
        return False
    f = nest.f
    code = f.code
    out: list[Instr] = []
    done = 0
    for loop in nest.loops:
        own = [kept for kept in chosen if kept.loop is loop]
        if own:
            out += code[done : loop.head]
            _rewrite(nest, loop, own, written, out)
            done = loop.end + 1
    f.code = out + code[done:]
    return True


def _candidates(nest: Nest) -> list[_Kept]:
    """The elements that innermost loops access in each iteration, of arrays that they store to."""
    code = nest.f.code
    found: list[_Kept] = []
    for loop in nest.loops:
        if not loop.step or not loop.long() or any(other.parent is loop for other in nest.loops):
            continue
        inside = [access for access in nest.accesses if loop.head < access.position < loop.end]
        stored = {access.array for access in inside if access.store}
        if not stored or any(code[k].op is ops.BR or code[k].op is ops.BR_IF for k in range(loop.head + 1, loop.end)):
            continue
        kept: list[_Kept] = []
        for access in inside:
            if access.array in stored and _stays(nest, loop, access):
                same = next((one for one in kept if one.accesses[0].same(access)), None)
                if same is None:
                    kept.append(_Kept(loop, access))
                else:
                    same.accesses.append(access)
        found += [one for one in kept if any(_unconditional(access, loop) for access in one.accesses) or _around(nest, one)]
    return found


def _stays(nest: Nest, loop: NestLoop, access: Access) -> bool:
    """Whether an access is to the same element in all iterations, and its subscripts can be computed in front of the loop."""
    for form in access.subscripts:
        if form is None or nest.forms.depends(form, loop.head, loop.end):
            return False
    f = nest.f
    written = {instr.dst for instr in f.code[loop.head + 1 : loop.end] if instr.dst >= 0 and f.variable[instr.dst]}
    return needed_in_front(f, loop, access.position, written) is not None


def _unconditional(access: Access, loop: NestLoop) -> bool:
    return all(position < loop.head for position, _ in access.arms)


def _touches(dependence: Dependence, kept: _Kept) -> bool:
    """Whether a dependence says that another access of the loop may be to the element, in the same run of the loop."""
    if dependence.loops[-1] is not kept.loop or not all(c.low <= 0 <= c.high for c in dependence.vector[:-1]):
        return False
    return (dependence.source in kept.accesses) != (dependence.sink in kept.accesses)


def _safe(nest: Nest, kept: _Kept) -> bool:
    """Whether the element may be accessed even where the loop does not run: something else does, as often as the loop is come to."""
    loop = kept.loop
    head = nest.f.code[loop.head].args
    if head[0] < 0 and head[1] < 0:
        return len(range(int(nest.f.const_values[~head[0]]), int(nest.f.const_values[~head[1]]), loop.step)) > 0
    return _around(nest, kept)


def _around(nest: Nest, kept: _Kept) -> bool:
    """Whether the loop around accesses the element by itself, as often as the loop is come to; then it may be accessed where all that the loop does with it is under conditions."""
    first = kept.accesses[0]
    around = [arm for arm in first.arms if arm[0] < kept.loop.head]
    return any(access.loops == first.loops[:-1] and access.arms == around and access.same(first) for access in nest.accesses)


def _rewrite(nest: Nest, loop: NestLoop, own: list[_Kept], written: Nest | None, out: list[Instr]) -> None:
    f = nest.f
    code = f.code
    head = code[loop.head]
    runs = all(_safe(nest, kept) for kept in own) or (written is not None and written.requires(head, loop.step))
    line = head.line
    condition = NONE
    addresses: list[list[int]] = []
    for kept in own:
        first = code[kept.accesses[0].position]
        positions = needed_in_front(f, loop, kept.accesses[0].position, set())
        assert positions is not None
        rename: dict[int, int] = {}
        clone(f, [code[k] for k in positions], rename, out)
        places = [rename.get(a, a) for a in (first.args[1:] if kept.accesses[0].store else first.args)]
        addresses.append(places)
        kept.register = f.register(first.type, "", True)
        guarded = not runs and not _safe(nest, kept)
        if guarded:
            if condition == NONE:
                condition = f.register(BOOL, "")
                out.append(Instr(ops.LT if loop.step > 0 else ops.GT, I64, condition, [head.args[0], head.args[1]], 0, line))
            zero: float | int = 0.0 if first.type.is_float else 0
            out.append(Instr(ops.COPY, first.type, kept.register, [f.const(first.type, zero)], 0, line))
            out.append(Instr(ops.IF, VOID, NONE, [condition], 0, line))
        _load(f, kept, first, places, out)
        if guarded:
            out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    registers = {access.position: kept.register for kept in own for access in kept.accesses}
    direct = _direct(nest, loop, own)
    for k in range(loop.head, loop.end + 1):
        instr = code[k]
        register = registers.get(k, NONE)
        if register == NONE:
            if any(a in direct for a in instr.args):
                instr = instr.copy()
                instr.args = [direct.get(a, a) for a in instr.args]
            out.append(instr)
        elif instr.dst in direct:
            continue
        elif instr.op is ops.STORE:
            out.append(Instr(ops.COPY, instr.type, register, [direct.get(instr.args[0], instr.args[0])], 0, instr.line))
        else:
            out.append(Instr(ops.COPY, instr.type, instr.dst, [register], 0, instr.line))
    for kept, places in zip(own, addresses, strict=True):
        stores = [access for access in kept.accesses if access.store]
        if stores:
            last = code[stores[-1].position]
            guarded = not runs and not _safe(nest, kept)
            if guarded:
                out.append(Instr(ops.IF, VOID, NONE, [condition], 0, line))
            out.append(Instr(ops.STORE, last.type, NONE, [kept.register, *places], last.imm, last.line))
            if guarded:
                out.append(Instr(ops.END, VOID, NONE, [], 0, line))


def _direct(nest: Nest, loop: NestLoop, own: list[_Kept]) -> dict[int, int]:
    """The loads that are read before anything else is kept only, so that what reads them can read the kept register."""
    f = nest.f
    last: dict[int, int] = {}
    for k in range(loop.head + 1, loop.end):
        for a in f.code[k].args:
            if a >= 0:
                last[a] = k
    found: dict[int, int] = {}
    for kept in own:
        for access in kept.accesses:
            dst = f.code[access.position].dst
            if not access.store and not f.variable[dst]:
                until = last.get(dst, -1)
                if not any(other.store and access.position < other.position < until for other in kept.accesses):
                    found[dst] = kept.register
    return found


def _load(f: Function, kept: _Kept, like: Instr, places: list[int], out: list[Instr]) -> None:
    loaded = f.register(like.type, "")
    out.append(Instr(ops.LOAD, like.type, loaded, list(places), like.imm, like.line))
    out.append(Instr(ops.COPY, like.type, kept.register, [loaded], 0, like.line))
