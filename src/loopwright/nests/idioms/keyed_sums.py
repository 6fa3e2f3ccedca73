"""Loops that add to the element of an array that a looked-up key names: pairs of elements at once where keys are few (`keyed_pairs.py`), else copies of the array (`keyed_copies.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir import ops
from loopwright.ir.equality import same_value
from loopwright.ir.function import MOST_LOCAL, NONE, Array, Function, Instr
from loopwright.nests.analysis.nest import nests
from loopwright.nests.idioms.keyed_copies import Copies, most_keys
from loopwright.nests.idioms.keyed_pairs import KEYS, SHORTEST, Pairs
from loopwright.nests.idioms.keyed_tables import Sums, Tables
from loopwright.nests.rewriting.unroll import slice_of
from loopwright.nests.steps.lanes import in_lanes
from loopwright.targets.target import Target

__all__ = ["adds_by_key", "split_keyed_sums"]

#: Loops of a function that are looked at.
MOST: Final = 8
#: Elements of so many bits are added.
WIDTHS: Final = (32, 64)


def split_keyed_sums(f: Function, target: Target) -> None:
    """Put sums in tables in front of every loop of this kind.

    Args:
        f: the function, at a stage before ``vectorize``.
        target: what it is compiled for.
    """
    if not target.vector_bits or any(instr.op.effect == ops.CALLS for instr in f.code):
        return
    position = done = 0
    lanes: list[bool] = []  # per open bracket: it is a loop over lanes
    while position < len(f.code) and done < MOST:
        instr = f.code[position]
        if instr.op is ops.FOR and True not in lanes:
            sums = _sums(f, position)
            if sums is not None:
                done += 1
                # (Behind what is put there is the loop as it was.)
                for kind in _kinds(f, sums):
                    added = _put(f, target, sums, kind(f, sums))
                    sums.head, sums.end, position = sums.head + added, sums.end + added, position + added
                position += sums.end - sums.head + 1
                continue
        if instr.op.closes:
            lanes.pop()
        if instr.op.opens:
            lanes.append(instr.loop is not None and (instr.loop.lanes or instr.loop.mask != NONE))
        position += 1


def adds_by_key(f: Function, head: int) -> bool:
    """Whether the loop at a position is one of this kind, and adds numbers of its own, not always one: what is counted may well have many keys."""
    found = _sums(f, head)
    return found is not None and found.value >= 0 and Pairs in _kinds(f, found)


# --- which loops ---------------------------------------------------------------------------------------------


def _sums(f: Function, head: int) -> Sums | None:
    """The loop at a position, if it does nothing else."""
    code = f.code
    opener = code[head]
    lo, hi, step = opener.args
    loop = opener.loop
    if step >= 0 or f.const_values[~step] != 1 or (lo < 0 and hi < 0 and f.const_values[~hi] - f.const_values[~lo] < SHORTEST):
        return None
    if loop is not None and (loop.accumulators or loop.mask != NONE):
        return None
    end = head + 1
    while code[end].op.pure or code[end].op is ops.LOAD:
        if f.variable[code[end].dst]:
            return None
        end += 1
    store = code[end]
    if store.op is not ops.STORE or len(store.args) != 2 or code[end + 1].op is not ops.END:
        return None
    body = code[head + 1 : end]
    defined = {instr.dst: instr for instr in body}
    added = defined.get(store.args[0])
    array = f.arrays[store.imm]
    if added is None or added.op not in (ops.ADD, ops.SUB) or not _fits(f, array):
        return None
    loads = [instr for instr in body if instr.op is ops.LOAD and instr.imm == store.imm]
    if len(loads) != 1 or not same_value(defined, loads[0].args[0], store.args[1]):
        return None
    before = loads[0].dst
    value = added.args[1] if added.args[0] == before else added.args[0]
    if before not in added.args or value == before or (added.op is ops.SUB and added.args[0] != before):
        return None
    if any(before in instr.args for instr in body if instr is not added) or any(added.dst in instr.args for instr in body):
        return None
    key = _narrow(defined, store.args[1])
    return Sums((head, end + 1), body, store.imm, key, value, added.op) if _looked_up(defined, key, opener.dst) else None


def _fits(f: Function, array: Array) -> bool:
    """Whether an array may be one of not too many sums that are added to in any order."""
    element = array.element
    if element.bits not in WIDTHS or array.data or array.view or array.pairs or (element.is_float and not f.options.fastmath):
        return False
    extent = array.extents[0]
    return array.rank == 1 and (extent >= 0 or f.const_values[~extent] <= most_keys(element.size))


def _narrow(defined: dict[int, Instr], key: int) -> int:
    """A key before it was made as wide as an index is."""
    made = defined.get(key)
    while made is not None and made.op is ops.CONVERT and made.source.is_integer and made.source.bits <= made.type.bits:
        key = made.args[0]
        made = defined.get(key)
    return key


def _looked_up(defined: dict[int, Instr], key: int, index: int) -> bool:
    """Whether a key is made of what is loaded, and of where the loop is."""
    loaded = varies = False
    for instr in slice_of(list(defined.values()), {key}):
        loaded = loaded or instr.op is ops.LOAD
        varies = varies or index in instr.args
    return loaded and varies


def _kinds(f: Function, sums: Sums) -> list[Callable[[Function, Sums], Tables]]:
    """The tables that there may be for so many keys."""
    extent = f.arrays[sums.array].extents[0]
    if extent >= 0:
        return [Pairs, Copies]
    return [Pairs] if f.const_values[~extent] <= KEYS else [Copies]


def _put(f: Function, target: Target, sums: Sums, made: Tables) -> int:
    """Put what comes before the loop in front of it, if there are lanes for it, and room: its length."""
    before, arrays = f.code, len(f.arrays)
    head = before[sums.head]
    arguments = head.args
    made.make()
    f.code = [*before[: sums.head], *made.out, *before[sums.head :]]
    head.args = [made.start, *arguments[1:]]
    if f.local_bytes() <= MOST_LOCAL and _in_lanes(f, target, made.out):
        return len(made.out)
    f.code = before
    head.args = arguments
    del f.arrays[arrays:]
    return 0


def _in_lanes(f: Function, target: Target, made: list[Instr]) -> bool:
    """Whether the loops over lanes in some code that is in the function have what they need."""
    marked = [instr for instr in made if instr.loop is not None]
    return all(in_lanes(nest, loop, target, True) for nest in nests(f) for loop in nest.loops if f.code[loop.head] in marked)
