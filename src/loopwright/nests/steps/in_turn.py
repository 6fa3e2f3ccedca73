"""Elements that lanes access in turn, a few apart or in rows: in which groups, whether these can be accessed together, and whether that takes less than scalars do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.ir.function import Function
from loopwright.nests.analysis.nest import Access, Nest, NestLoop
from loopwright.targets.target import Target
from loopwright.types import Type, vector_of
from loopwright.vectors.divergence import WIDTHS
from loopwright.vectors.interleaving import in_front, stores_some
from loopwright.vectors.squares import side, to_load, to_store

__all__ = ["ROWS", "Apart", "InTurn"]

#: Of elements in rows, in the place of how far they are apart.
ROWS: Final = -1 << 40
#: So many elements take longer one by one than a load that waits for two stores to be in the cache (measured on Zen 4: 16 take half as long, 64 take 2.5 times).
_WAITED: Final = 32
_Asked = Callable[[Type, int], bool]
_Key = tuple[int, ...]


class Apart:
    """An access to elements that are several apart."""

    __slots__ = ("access", "constant", "step")

    def __init__(self, access: Access, step: int, constant: int) -> None:
        self.access = access
        self.step = step
        self.constant = constant


class InTurn:
    """The accesses of a loop to elements in turn.

    Args:
        nest, loop: where they are.
        lanes: how many there are.
        dealt: whether elements so far apart are dealt out to vectors of a type.
        steps: by access, how far its elements are apart from lane to lane; ROWS where each lane has a row; none of those that are the same for all lanes.
        rows: by array, the last element of rows that is accessed.

    Attributes:
        known: what all of their indices are made of is known.
        crossing: an array that is stored to is gone along in two ways.
        stores, loads: by what is the same of a group, its accesses.
    """

    def __init__(self, nest: Nest, loop: NestLoop, lanes: int, dealt: _Asked, steps: dict[int, int], rows: dict[int, int]) -> None:
        self.f = nest.f
        self.lanes = lanes
        self.dealt = dealt
        self.rows = rows
        self.known = True
        self.stores: dict[_Key, list[Apart]] = {}
        self.loads: dict[_Key, list[Apart]] = {}
        ways: dict[int, set[int]] = {}
        stored: set[int] = set()
        for access in nest.accesses:
            if not loop.head < access.position < loop.end:
                continue
            step = steps.get(access.position, 0)
            if step:
                ways.setdefault(access.array, set()).add(step)
            if access.store:
                stored.add(access.array)
            if step > 1 or step == ROWS:
                self._group(access, step)
        self.crossing = any(len(ways.get(array, ())) > 1 for array in stored)

    def _group(self, access: Access, step: int) -> None:
        key = [access.array, step]
        constant = 0
        for form in access.subscripts:
            if form is None:
                self.known = False
                return
            key += [number for term in sorted(form.terms.items()) for number in term] + [constant]
            constant = form.constant
        (self.stores if access.store else self.loads).setdefault(tuple(key), []).append(Apart(access, step, constant))

    def _width(self, key: _Key) -> int:
        """How far the elements of a group are apart."""
        return self.rows[key[0]] + 1 if key[1] == ROWS else key[1]

    def _type(self, key: _Key) -> Type:
        """A vector of the elements of a group."""
        return vector_of(self.f.arrays[key[0]].element, self.lanes)

    def storable(self, target: Target, under_masks: _Asked) -> bool:
        """Whether the stores of each group can be made one: of elements that are apart all between are stored as well, or those can be left alone."""
        if not self.known or not all(last + 1 in WIDTHS or last >= WIDTHS[-1] for last in self.rows.values()):
            return False
        for key, stores in self.stores.items():
            if any(a.constant == b.constant and not _exclusive(a.access, b.access) for n, a in enumerate(stores) for b in stores[:n]):
                return False
            constants = {one.constant for one in stores}
            count = self._width(key)
            first = min(constants)
            type_ = self._type(key)
            if not self.dealt(type_, count) or sorted(constants) == list(range(first, first + count)):
                continue
            if max(constants) >= first + count:
                return False
            loaded = min([one.constant for one in self.loads.get(key, ())], default=first)
            if in_front(first, max(constants), loaded, count) < 0 and self.lanes < _WAITED:
                # (What is loaded next begins before where the last store ends, and waits until that is in the cache.)
                return False
            if not stores_some(type_, count, target) and not under_masks(type_, count):
                return False
        return _together(self.f, [one for group in (*self.stores.values(), *self.loads.values()) for one in group])

    def pays(self, work: int, looked_up: int) -> bool:
        """Whether accesses to elements that are not dealt out take no more than a loop gains of whose operations each lane does so many.

        An element of a square takes less than the load of a scalar (of 16 floats five shuffles of 512 bits); one that is taken alone takes a shuffle for each lane beside it, and one that is looked up
        three instructions.
        """
        together = alone = 0
        for groups, store in ((self.loads, False), (self.stores, True)):
            for key, group in groups.items():
                type_ = self._type(key)
                if self.dealt(type_, self._width(key)):
                    continue
                wanted = sorted({one.constant for one in group})
                count = side(type_)
                squares = to_store(wanted, count) if store else to_load(wanted, wanted[-1], count, False)
                inside = len({element for square in squares.values() for element in square})
                last = group[0].access.subscripts[-1]
                if inside < len(wanted) and key[1] == ROWS and last is not None and last.terms:
                    # (Wherever in a row it is, one element alone is that of a column.)
                    return False
                together += inside
                alone += len(wanted) - inside
        return not together + alone or work > together // 2 + 2 * alone + 3 * looked_up


def _together(f: Function, members: list[Apart]) -> bool:
    """Whether the stores to each array may all be made where the last of them is (``vectors/interleaving.py``): no other array, which may be the same, is accessed between at the same
    elements. That a kernel's arrays are apart is asked in front of the nest; of views (``passes/counted.py``) those that are accessed alike may be one."""
    members = [m for m in members if f.arrays[m.access.array].view]
    for array in {m.access.array for m in members if m.access.store}:
        stores = [m for m in members if m.access.store and m.access.array == array]
        last = max(m.access.position for m in stores)
        for other in members:
            if other.access.array == array or other.access.position > last:
                continue
            if any(m.access.position < other.access.position and m.step == other.step and (m.constant - other.constant) % m.step == 0 for m in stores):
                return False
    return True


def _exclusive(first: Access, second: Access) -> bool:
    """Whether no iteration makes both of two accesses: they are in two arms of one branch."""
    return any(position == other and arm != number for position, arm in first.arms for other, number in second.arms)
