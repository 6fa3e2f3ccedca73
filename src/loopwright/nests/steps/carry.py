"""Values carried in registers from one iteration of an innermost loop to a later one, instead of through memory.

A load that reads what a store of the same loop has written a known number of iterations before, and nothing else can have written since, takes the value
from a variable: D. Callahan, S. Carr and K. Kennedy, "Improving register allocation for subscripted variables", PLDI 1990. The stores stay. What the first
iterations read was there before the loop, and is loaded in front of it, where the loop runs far enough.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.analysis.dependence import FLOW, Dependence
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.nests.branches.conversion import Inside
from loopwright.nests.rewriting.unroll import clone
from loopwright.types import BOOL, I64, VOID

__all__ = ["carried_one", "carry", "needed", "needed_in_front", "rereads"]

#: How many iterations a value is kept at most: each takes a register, and a copy of the value in each iteration.
FARTHEST: Final = 4


class _Carried:
    """A load and the store whose value it takes, ``distance`` iterations later."""

    __slots__ = ("distance", "load", "registers", "store")

    def __init__(self, load: int, store: int, distance: int) -> None:
        self.load = load
        self.store = store
        self.distance = distance
        self.registers: list[int] = []


def rereads(nest: Nest) -> bool:
    """Whether a load in an innermost loop differs from a store to its array there by constants only, so that it may read what an earlier iteration has stored."""
    fitting: dict[int, bool] = {}
    for store in nest.accesses:
        if store.store and store.loops:
            loop = store.loops[-1]
            if loop.number not in fitting:
                fitting[loop.number] = _carries(nest.f.code, loop)
            if not fitting[loop.number]:
                continue
            for load in nest.accesses:
                if not load.store and load.array == store.array and load.loops == store.loops and _differ(store, load):
                    return True
    return False


def _carries(code: list[Instr], loop: NestLoop) -> bool:
    """Whether values can go from one iteration of a loop to a later one in variables: it runs in its order, and holds no other."""
    described = code[loop.head].loop
    if not loop.step or (described is not None and described.lanes):
        return False
    return not any(IS_LOOP[instr.op.code] for instr in code[loop.head + 1 : loop.end])


def _differ(store: Access, load: Access) -> bool:
    differ = False
    for x, y in zip(store.subscripts, load.subscripts, strict=True):
        if x is None or y is None or x.terms != y.terms:
            return False
        differ = differ or x.constant != y.constant
    return differ


def carry(nest: Nest, found: list[Dependence]) -> int:
    """Let loads of the innermost loops take what earlier iterations have stored from variables.

    Args:
        nest: the nest, which does not describe the code any more where something was changed.
        found: its dependences.

    Returns:
        How many loads were replaced.
    """
    f = nest.f
    code = f.code
    out: list[Instr] = []
    done = 0
    replaced = 0
    for loop in nest.loops:
        if not _carries(code, loop):
            continue
        chosen = _choose(nest, loop, found)
        if chosen:
            out += code[done : loop.head]
            _rewrite(f, code, loop, chosen, out)
            done = loop.end + 1
            replaced += len(chosen)
    if replaced:
        f.code = out + code[done:]
    return replaced


def carried_one(nest: Nest, loop: NestLoop, found: list[Dependence]) -> tuple[int, list[Instr]] | None:
    """An innermost loop that hands what it stores on to the next iteration in one variable, and nothing further; None for others.

    Returns:
        The variable; and what takes the loop's place, with what the first iteration loads in front.
    """
    if not _carries(nest.f.code, loop):
        return None
    chosen = _choose(nest, loop, found)
    if not chosen or any(one.distance != 1 or one.store != chosen[0].store for one in chosen):
        return None
    out: list[Instr] = []
    _rewrite(nest.f, nest.f.code, loop, chosen, out)
    return chosen[0].registers[0], out


def _choose(nest: Nest, loop: NestLoop, found: list[Dependence]) -> list[_Carried]:
    """The loads of a loop that can take their value from a variable."""
    code = nest.f.code
    if any(loop.head < k < loop.end for k in range(loop.head, loop.end) if code[k].op is ops.BR or code[k].op is ops.BR_IF):
        return []
    written = {instr.dst for instr in code[loop.head + 1 : loop.end] if instr.dst >= 0 and nest.f.variable[instr.dst]}
    chosen: list[_Carried] = []
    # (What the first iterations would load is loaded in front of them.)
    judge = Inside(nest, loop)
    for access in nest.accesses:
        if access.store or not access.loops or access.loops[-1] is not loop:
            continue
        flows = [d for d in found if d.sink is access and d.kind == FLOW and _same_run(d, loop)]
        nearest = min([d.vector[-1].low for d in flows], default=0)
        if not 1 <= nearest <= FARTHEST:
            continue
        near = [d for d in flows if d.vector[-1].low == nearest]
        source = max([d.source.position for d in near])
        (last,) = [d for d in near if d.source.position == source]
        unconditional = len(last.source.arms) == 0 or last.source.arms == [arm for arm in last.source.arms if arm[0] < loop.head]
        if (
            last.told
            and last.vector[-1].exact
            and unconditional
            and code[source].type is code[access.position].type
            and _always(nest, loop, last.source, access, nearest)
            and _addressable(nest, loop, access.position, written)
            and (judge.always(access) or judge.inside(access))
        ):
            chosen.append(_Carried(access.position, source, nearest))
    return chosen


def _always(nest: Nest, loop: NestLoop, store: Access, load: Access, distance: int) -> bool:
    """Whether the load reads what the store has written so many iterations before in every iteration, and not in some only."""
    for x, y in zip(store.subscripts, load.subscripts, strict=True):
        if x is None or y is None or x.terms != y.terms:
            return False
        moved = 0
        for value, coefficient in x.terms.items():
            if nest.indices.get(value) is loop:
                moved = coefficient * loop.step * distance
        if x.constant - moved != y.constant:
            return False
    return True


def _same_run(dependence: Dependence, loop: NestLoop) -> bool:
    """Whether both ends may be in one run of an innermost loop."""
    return dependence.loops[-1] is loop and all(c.low <= 0 <= c.high for c in dependence.vector[:-1])


def _addressable(nest: Nest, loop: NestLoop, position: int, written: set[int]) -> bool:
    """Whether the subscripts of a load can be computed in front of the loop, for any of its iterations."""
    return needed(nest.f, loop, position, written) is not None


def needed(f: Function, loop: NestLoop, position: int, written: set[int]) -> list[int] | None:
    """Positions of the instructions of a loop that the subscripts of an access are computed by; None where they are more than arithmetic."""
    access = f.code[position]
    wanted = set(access.args[1:] if access.op is ops.STORE else access.args)
    needed: list[int] = []
    for k in range(position - 1, loop.head, -1):
        instr = f.code[k]
        if instr.dst in wanted and instr.dst >= 0:
            if not instr.op.pure or instr.dst in written:
                return None
            needed.append(k)
            wanted.update(instr.args)
    if wanted & written:
        return None
    needed.reverse()
    return needed


def needed_in_front(f: Function, loop: NestLoop, position: int, written: set[int]) -> list[int] | None:
    """As ``needed``, of what is to be computed in front of the loop; None, too, where the index is read, even if it is taken away again."""
    positions = needed(f, loop, position, written)
    access = f.code[position]
    subscripts = access.args[1:] if access.op is ops.STORE else access.args
    if positions is None or loop.index in subscripts or any(loop.index in f.code[k].args for k in positions):
        return None
    return positions


def computed_by(f: Function, wanted: set[int], start: int, end: int) -> list[int] | None:
    """Positions between two others of what registers are computed by, which become what is wanted too; None where that is more than arithmetic on indices of loops."""
    found: list[int] = []
    for at in range(end - 1, start, -1):
        instr = f.code[at]
        if instr.dst >= 0 and instr.dst in wanted and instr.op is not ops.FOR:
            if not instr.op.pure or f.variable[instr.dst]:
                return None
            found.append(at)
            wanted.update(instr.args)
    found.reverse()
    return found


def _rewrite(f: Function, code: list[Instr], loop: NestLoop, chosen: list[_Carried], out: list[Instr]) -> None:
    head = code[loop.head]
    line = head.line
    registers: dict[tuple[int, int], list[int]] = {}
    for one in chosen:
        # One chain of variables for each store and distance: what several loads read in the same iteration is one value.
        load = code[one.load]
        key = (one.store, one.distance)
        if key not in registers:
            registers[key] = [f.register(load.type, "", True) for _ in range(one.distance)]
            _begin(f, loop, one, registers[key], out)
        one.registers = registers[key]
    out.append(head)
    taken = {one.load: one.registers[-1] for one in chosen}
    stored = {store: NONE for store, _ in registers if code[store].args[0] >= 0 and f.variable[code[store].args[0]]}
    for k in range(loop.head + 1, loop.end):
        instr = code[k]
        if k in taken:
            out.append(Instr(ops.COPY, instr.type, instr.dst, [taken[k]], 0, instr.line))
        else:
            out.append(instr)
        if k in stored:
            # (A variable may be written again behind the store.)
            stored[k] = f.register(instr.type, f.names[instr.args[0]])
            out.append(Instr(ops.COPY, instr.type, stored[k], [instr.args[0]], 0, instr.line))
    for (store, _), chain in registers.items():
        type_ = code[store].type
        for n in range(len(chain) - 1, 0, -1):
            out.append(Instr(ops.COPY, type_, chain[n], [chain[n - 1]], 0, line))
        out.append(Instr(ops.COPY, type_, chain[0], [stored.get(store, code[store].args[0])], 0, line))
    out.append(code[loop.end])


def _begin(f: Function, loop: NestLoop, one: _Carried, chain: list[int], out: list[Instr]) -> None:
    """Load what the first iterations read, each where the loop runs so far."""
    code = f.code
    head = code[loop.head]
    line = head.line
    load = code[one.load]
    lo, hi = head.args[0], head.args[1]
    positions = needed(f, loop, one.load, set())
    assert positions is not None
    zero: float | int = 0.0 if load.type.is_float else 0
    for n in range(one.distance):
        # Iteration n reads what the last variable holds after n shifts.
        register = chain[one.distance - 1 - n]
        out.append(Instr(ops.COPY, load.type, register, [f.const(load.type, zero)], 0, line))
        index = lo
        if n:
            index = f.register(I64, f.names[head.dst])
            out.append(Instr(ops.ADD, I64, index, [lo, f.const(I64, n * loop.step)], 0, line))
        condition = f.register(BOOL, "")
        out.append(Instr(ops.LT if loop.step > 0 else ops.GT, I64, condition, [index, hi], 0, line))
        out.append(Instr(ops.IF, VOID, NONE, [condition], 0, line))
        rename = {head.dst: index}
        clone(f, [code[k] for k in positions], rename, out)
        loaded = f.register(load.type, "")
        out.append(Instr(ops.LOAD, load.type, loaded, [rename.get(a, a) for a in load.args], load.imm, load.line))
        out.append(Instr(ops.COPY, load.type, register, [loaded], 0, line))
        out.append(Instr(ops.END, VOID, NONE, [], 0, line))
