"""Sums over two indices at once, with the longer of their loops inside.

::

    for i = 0, n                              if w < n
      for k = 0, w                              for k = 0, w
        c[i + k] = c[i + k] + a[i] * b[k]   →     for i = 0, n
                                                    c[i + k] = c[i + k] + a[i] * b[k]
                                              else
                                                as written

Convolutions that scatter, and products of polynomials, go along one array with either index. Which loop is the shorter one is known at run time only; inside it has little for lanes to do, and loads what other vectors have
just stored in parts. The order of the sums changes, which integers and, under ``fastmath``, floats do not mind. The loops as written are improved like any others.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.nests.analysis.nest import Access, Nest, NestLoop, Run, nests
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.rewriting import apart
from loopwright.nests.rewriting.operands import computed
from loopwright.nests.steps.interchange import imperfect, rearrange, scalars_refusal
from loopwright.nests.steps.jam import invariant
from loopwright.nests.steps.order import moves
from loopwright.targets.target import Target

__all__ = ["run"]

#: So many loops inside each other are looked at.
DEEPEST: Final = 4
_ADDING: Final = frozenset((ops.ADD, ops.MIN, ops.MAX, ops.AND, ops.OR, ops.XOR))


def run(f: Function, target: Target) -> dict[int, str]:
    """Rewrite such nests of a function that is at a stage before ``addresses``. Returns, per index of an outermost loop, what was done in it."""
    done: dict[int, str] = {}
    if not target.vector_bits:
        return done
    for nest in reversed(nests(f)):
        for inner in nest.loops if len(nest.loops) > 1 and not nest.obstacles else []:
            loops = _chain(nest, inner)
            longer = _longer(nest, loops) if len(loops) > 1 else None
            if longer is not None:
                _write(nest, loops, longer)
                outermost = loops[1] if nest.loops[0] is longer else nest.loops[0]
                done[outermost.index] = f"{nest.name(longer)} inside, where it is longer than {nest.name(inner)}"
                break
    return done


def _chain(nest: Nest, inner: NestLoop) -> list[NestLoop]:
    """The loops around one, and itself, that have nothing else in them and bounds of their own; none where it holds another."""
    if any(other.parent is inner for other in nest.loops) or inner.step != 1:
        return []
    chain = [inner]
    while len(chain) < DEEPEST:
        around = chain[0].parent
        if around is None or around.step != 1 or imperfect(nest, [around, *chain]) is not None or not all(invariant(nest, loop, around) for loop in chain):
            break
        chain.insert(0, around)
    return chain


def _longer(nest: Nest, loops: list[NestLoop]) -> NestLoop | None:
    """The loop along which the elements that are added to are next to each other as they are in the innermost; None where there is no such, or more than sums."""
    inner = loops[-1]
    store = _added_to(nest, inner)
    if store is None or scalars_refusal(nest, loops, scalars(nest)) is not None or moves(nest, store, inner) != 1:
        return None
    for loop in reversed(loops[:-1]):
        if moves(nest, store, loop) == 1:
            inside = [access for access in nest.accesses if access.loops[-1] in loops]
            known = all(nest.ahead(a) for one in (loop, inner) for a in nest.f.code[one.head].args[:2])
            return loop if known and all(moves(nest, access, loop) >= 0 for access in inside) else None
    return None


def _added_to(nest: Nest, loop: NestLoop) -> Access | None:
    """The one store of a nest, which is in an innermost loop and adds to what it has loaded there."""
    f = nest.f
    stores = [access for access in nest.accesses if access.store]
    if len(stores) != 1 or stores[0].loops[-1] is not loop or stores[0].arms:
        return None
    (store,) = stores
    loads = [access for access in nest.accesses if access.array == store.array and access is not store]
    body = f.code[loop.head + 1 : loop.end]
    if len(loads) != 1 or loads[0].loops != store.loops or not loads[0].same(store) or any(instr.op.effect == ops.CONTROL for instr in body):
        return None
    loaded, value = f.code[loads[0].position].dst, f.code[store.position].args[0]
    made = next((instr for instr in body if instr.dst == value), None)
    if made is None or f.variable[value] or sum(instr.args.count(loaded) for instr in body) != 1 or sum(instr.args.count(value) for instr in body) != 1:
        return None
    adds = (made.op in _ADDING and loaded in made.args) or (made.op is ops.SUB and made.args[0] == loaded)
    return store if adds and (made.type.is_integer or (f.options.fastmath and not is_half(made.type))) else None


def _write(nest: Nest, loops: list[NestLoop], longer: NestLoop) -> None:
    """Put the nest with a loop inside of all others beside it as written."""
    f = nest.f
    original = f.code
    start, end = nest.start, nest.end + 1
    heads = [original[loop.head] for loop in (loops[-1], longer)]
    asked = [(a, b, False) for a, b, _ in apart.pairs(nest)]
    plain = apart.as_written(f, original, start, end)
    rearrange(nest, loops, [*(loop for loop in loops if loop is not longer), longer])
    fast = f.code[start : len(f.code) - (len(original) - end)]
    ahead: list[Instr] = []
    shorter, other = (computed(f, ops.SUB, head.args[1], head.args[0], head.line, ahead) for head in heads)
    runs: list[Run] = [(ops.LT, shorter, other)]
    f.code = [*original[:start], *ahead, *apart.versioned(f, asked, plain, fast, original[start].line, runs), *original[end:]]
