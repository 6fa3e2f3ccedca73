"""Nests that go along one array and down another: lanes along the outer loop, and several iterations of the inner one, so that what is gone down for one is in rows of squares for the other.

::

    for i = 0, n                       for i = 0, n in lanes
      for j = 0, m               →       for j = 0, m - m % 4, 4
        c[i, j] = a[j, i]                  c[i, j], c[i, j + 1], c[i, j + 2], c[i, j + 3] = a[j, i], a[j + 1, i], a[j + 2, i], a[j + 3, i]
                                       for i = 0, n: for j = m - m % 4, m: c[i, j] = a[j, i]

Vectors of ``a`` are loaded as they are; those that go to four rows of ``c`` each are transposed in registers (``vectors/squares.py``), and a vector has one part of each row. Whichever loop had lanes by itself, one of the arrays would be
accessed element by element, in another line of the cache each.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, nests
from loopwright.nests.analysis.operations import asking, constant_of, has
from loopwright.nests.rewriting.code import Code
from loopwright.nests.rewriting.unroll import clone, last_multiple, read_once, slice_of
from loopwright.nests.splitting.distribute import replaced
from loopwright.nests.steps.lanes import differs, independent
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, PTR, VOID, Type, vector_of
from loopwright.vectors.squares import able, side

__all__ = ["run"]

#: What an access is to lanes along the outer loop: the same in all; next to each other, and in another row for each iteration of the inner one; next to each other and the same for these; each in a row of its own.
_SAME: Final = 0
_DOWN: Final = 1
_BESIDE: Final = 2
_ROWS: Final = 3
#: Bytes of each row that are done at a time.
BLOCK: Final = 256
#: So many instructions at most are in a body, which is written out.
MOST: Final = 12


def run(f: Function, target: Target, written: set[int]) -> dict[int, str]:
    """Rewrite such nests of a function.

    Args:
        f: the function.
        target: the machine.
        written: receives the indices of the outermost loops that stand beside those made, as written, for arrays that overlap.

    Returns:
        By the index of the outermost loop of what was made: what was done, for the report.
    """
    done: dict[int, str] = {}
    if not target.vector_bits or f.options.check:
        return done
    for nest in reversed(nests(f)):
        if nest.obstacles:
            continue
        for inner in nest.loops:
            outer = inner.parent
            times = _times(nest, outer, inner, target) if outer is not None else 0
            if not times or too_many(nest):
                continue
            assert outer is not None
            found = dependences(nest)
            if not independent(outer, found) or not independent(inner, found):
                continue
            made, block, rest = _made(nest, outer, inner, times)
            outermost = outer is nest.loops[0]
            replaced(nest, outer, made, written)
            if outermost:
                written.add(rest)
            done[block if outermost else nest.loops[0].index] = (
                f"lanes({nest.name(outer)}), {times} iterations of {nest.name(inner)} at a time, to go down one array and along another"
            )
            break
    return done


def _times(nest: Nest, outer: NestLoop, inner: NestLoop, target: Target) -> int:
    """How many iterations of the inner loop of such a pair are to be done at a time; 0 of others."""
    f = nest.f
    code = f.code
    if outer.step != 1 or inner.step != 1 or not outer.long() or not inner.long() or inner.end - inner.head > MOST or outer.end != inner.end + 1:
        return 0
    around = code[outer.head + 1 : inner.head]
    body = code[inner.head + 1 : inner.end]
    if not all(instr.op.pure for instr in around) or not all(instr.op.pure or instr.op in (ops.LOAD, ops.STORE) for instr in body):
        return 0
    if any(instr.dst >= 0 and f.variable[instr.dst] for instr in (*around, *body)) or any(_changes(nest, outer, a) for a in code[inner.head].args):
        return 0
    ways = {access.position: _way(nest, outer, inner, access) for access in nest.accesses if inner.head < access.position < inner.end}
    types = {code[position].type for position in ways}
    if None in ways.values() or not {_DOWN, _ROWS} <= {*ways.values()} or len({type_.bits for type_ in types}) > 1:
        return 0
    bits = next(iter(types)).bits
    lanes = target.vector_bits // bits
    if any(not able(vector_of(type_, lanes), asking(target)) for type_ in types) or not _done(nest, inner, ways, target, lanes):
        return 0
    return side(vector_of(next(iter(types)), lanes))


def _changes(nest: Nest, loop: NestLoop, operand: int) -> bool:
    """Whether an operand is another one in each iteration of a loop."""
    if operand < 0:
        return False
    form = nest.forms.of(operand)
    return form is None or nest.forms.depends(form, loop.head, loop.end)


def _way(nest: Nest, outer: NestLoop, inner: NestLoop, access: Access) -> int | None:
    """What an access is to lanes along the outer loop; None for others."""
    moves: list[tuple[int, int]] = []
    for form in access.subscripts:
        if form is None or any(differs(nest, outer, value) for value in form.terms):
            return None
        moves.append((nest.grows(form, outer), nest.grows(form, inner)))
    *rows, last = moves
    if all(by == 0 for by, _ in moves):
        return None if access.store else _SAME
    if last[0] == 1 and all(by == 0 for by, _ in rows):
        return None if last[1] else _DOWN if any(along for _, along in rows) else _BESIDE
    if last == (0, 1) and sum([by != 0 for by, _ in rows]) == 1 and all(by in (0, 1) and along == 0 for by, along in rows):
        return _ROWS
    return None


def _done(nest: Nest, inner: NestLoop, ways: dict[int, int | None], target: Target, lanes: int) -> bool:
    """Whether lanes have what is computed of what differs by lane."""
    f = nest.f
    varying: set[int] = set()
    for k in range(inner.head + 1, inner.end):
        instr = f.code[k]
        if instr.op is ops.LOAD:
            if ways[k] != _SAME:
                varying.add(instr.dst)
            continue
        if instr.op is ops.STORE or not any(a in varying for a in instr.args):
            continue
        if instr.type in (BOOL, PTR) or f.types[instr.dst] is BOOL or instr.op.effect == ops.CONTROL:
            return False
        source: Type = vector_of(instr.source, lanes) if instr.op is ops.CONVERT else VOID
        if not has(target, instr.op, vector_of(instr.type, lanes), source, constant_of(f, instr)):
            return False
        varying.add(instr.dst)
    # (What is stored in rows is loaded, or made of what is.)
    return all(f.code[k].args[0] in varying for k, way in ways.items() if f.code[k].op is ops.STORE)


def _made(nest: Nest, outer: NestLoop, inner: NestLoop, times: int) -> tuple[list[Instr], int, int]:
    """The code that takes the place of the outer loop; the index of the loop over blocks, and that of what is left over."""
    f = nest.f
    code = f.code
    out: list[Instr] = []
    head, within = code[outer.head], code[inner.head]
    lo, hi = (read_once(f, a, head.line, out) for a in head.args[:2])
    # (Its bounds are known here, or made of what is.)
    ahead: dict[int, int] = {}
    clone(f, slice_of(code[outer.head + 1 : inner.head], set(within.args)), ahead, out)
    begin, end = (ahead.get(a, a) for a in within.args[:2])
    stop = last_multiple(f, begin, end, times, within.line, out)
    emit = Code(f, within.line, out)
    # (So many of each row of what is gone along, of which lines of the cache are done with then, and so many rows of what is gone down.)
    count = BLOCK // next(code[k].type.size for k in range(inner.head + 1, inner.end) if code[k].op is ops.STORE)
    first = emit.begin(begin, stop, count)
    _nest(nest, outer, inner, lo, hi, first, emit.op(ops.MIN, emit.op(ops.ADD, first, emit.const(count)), stop), times, out)
    emit.end()
    rest = _nest(nest, outer, inner, lo, hi, stop, end, 1, out)
    return out, first, rest


def _nest(nest: Nest, outer: NestLoop, inner: NestLoop, lo: int, hi: int, first: int, last: int, times: int, out: list[Instr]) -> int:
    """Both loops: so many iterations of the inner one at a time, from ``first`` to ``last``, in lanes if they are several. Returns the index of the outer one."""
    f = nest.f
    code = f.code
    head, within = code[outer.head], code[inner.head]
    i, j = f.register(I64, f.names[head.dst]), f.register(I64, f.names[within.dst])
    rename = {head.dst: i}
    out.append(Instr(ops.FOR, VOID, i, [lo, hi, f.const(I64, 1)], 0, head.line, loop=Loop(unroll=1, lanes=True, free=True) if times > 1 else None))
    clone(f, code[outer.head + 1 : inner.head], rename, out)
    out.append(Instr(ops.FOR, VOID, j, [first, last, f.const(I64, times)], 0, within.line))
    for number in range(times):
        own = dict(rename)
        own[within.dst] = j
        if number:
            own[within.dst] = f.register(I64, "")
            out.append(Instr(ops.ADD, I64, own[within.dst], [j, f.const(I64, number)], 0, within.line))
        clone(f, code[inner.head + 1 : inner.end], own, out)
    out += [Instr(ops.END, VOID, NONE, [], 0, within.line), Instr(ops.END, VOID, NONE, [], 0, head.line)]
    return i
