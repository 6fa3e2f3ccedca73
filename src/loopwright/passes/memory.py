"""What is known of memory along a walk through a function: which loads still give what they gave.

A store to an array changes what that array gives. Another array it changes only at the same index: one array may be passed in two places where both are accessed
at one index only, and nowhere else (docs/kernels.md, "Checked mode and overlap"). Arrays that are shared may overlap in any way, so that a store to one of them
changes all that are not local, and a store to any changes them. A local array has nothing to do with any other. A store to memory of no known array, and a call,
change everything.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import LOOPS
from loopwright.ir.roles import address_at

__all__ = ["LoopStores", "Memory", "Places", "State", "stores_of_loops"]

#: What is known of memory: the last stores to each array, at each index, to each group, and the last of other kinds.
State = tuple[list[int], dict[tuple[int, ...], int], dict[int, int], tuple[int, int, int]]
#: An index that is a constant in the displacement.
_NO_INDEX: Final = -(1 << 40)
#: In a loop inside of all that there are: where a value comes from is not known.
_ANYWHERE: Final = 1 << 20
#: How many operations an index is followed through.
_FOLLOWED: Final = 8


def array_of(instr: Instr) -> int:
    """The number of the array that an instruction accesses, or -1."""
    mem = instr.mem
    return instr.imm if mem is None else mem.array


class Places:
    """Where the arrays of a function lie: of each, whether it is local, whether others may overlap it, from which others it is apart, and the first with the same memory."""

    __slots__ = ("apart", "first", "local", "shared")

    def __init__(self, f: Function) -> None:
        firsts: dict[int, int] = {}
        self.first = [firsts.setdefault(array.base, number) for number, array in enumerate(f.arrays)]
        self.local = [array.size > 0 for array in f.arrays]
        self.shared = [array.shared for array in f.arrays]
        self.apart = [array.apart for array in f.arrays]


class LoopStores:
    """What a loop stores, for what was known before it: of a store further down the next step must know.

    Attributes:
        anything: to memory of no known array, or it calls.
        arrays: the arrays, by the first with the same memory.
        elsewhere: at an index that may be one used outside of the loop, or to an array that others may overlap.
        outside: to an array that is not local.
        apart: the numbers of those that are known to be apart from others, 0 for the rest.
    """

    __slots__ = ("anything", "apart", "arrays", "elsewhere", "outside", "places")

    def __init__(self, places: Places) -> None:
        self.places = places
        self.anything = False
        self.arrays: set[int] = set()
        self.elsewhere = False
        self.outside = False
        self.apart: set[int] = set()

    def note(self, instr: Instr, own: bool) -> None:
        """A store in the loop; ``own``: its index counts in this loop or in one inside of it."""
        array = array_of(instr)
        if array < 0:
            self.anything = True
        else:
            places = self.places
            self.arrays.add(places.first[array])
            if not places.local[array]:
                self.outside = True
                self.apart.add(places.apart[array])
                self.elsewhere = self.elsewhere or not own or places.shared[array]

    def keeps(self, load: Instr) -> bool:
        """Whether what a load at an index from outside of the loop gives stays the same in it."""
        array = array_of(load)
        if array < 0:
            return not self.anything and not self.arrays
        places = self.places
        if self.anything or places.first[array] in self.arrays:
            return False
        if places.local[array] or (places.apart[array] and self.apart <= {places.apart[array]}):
            return True
        return not (self.outside if places.shared[array] else self.elsewhere)


class _Indices:
    """In which of the loops that are open an index changes with every step."""

    __slots__ = ("counters", "f", "made")

    def __init__(self, f: Function) -> None:
        self.f = f
        #: What the open loops count with, from the outermost.
        self.counters: list[int] = []
        #: What made each register, in loops.
        self.made: list[Instr | None] = [None] * len(f.types)

    def own(self, index: int, followed: int = 0) -> int:
        """The innermost loop (from the outermost, 0) in which an index is another in each step, or -1 where none is known."""
        if index < 0 or followed > _FOLLOWED:
            return -1
        for n in range(len(self.counters) - 1, -1, -1):
            if self.counters[n] == index:
                return n
        made = self.made[index]
        if made is None:
            return -1
        if made.op is ops.SHL or made.op is ops.MUL:
            a, b = made.args
            return self.own(a, followed + 1) if b < 0 and self.f.const_values[~b] != 0 else -1
        if made.op is ops.ADD or made.op is ops.SUB:
            a, b = made.args
            own = self.own(a, followed + 1)
            if own > self.deepest(b, followed + 1):
                return own
            own = self.own(b, followed + 1)
            if own > self.deepest(a, followed + 1):
                return own
        return -1

    def deepest(self, value: int, followed: int) -> int:
        """The innermost loop in which a value changes at all, or -1."""
        if value < 0:
            return -1
        if self.f.variable[value] or followed > _FOLLOWED:
            return _ANYWHERE
        if value in self.counters:
            return self.counters.index(value)
        made = self.made[value]
        if made is None:
            return -1
        if made.op.effect != ops.PURE:
            return _ANYWHERE
        return max([self.deepest(a, followed + 1) for a in made.args], default=-1)


def stores_of_loops(f: Function, places: Places) -> list[LoopStores]:
    """What each loop stores, in the order of their beginnings; what is inside counts for all the loops around. ``places``: of the function's arrays."""
    found: list[LoopStores] = []
    indices = _Indices(f)
    brackets: list[bool] = []
    open_loops: list[LoopStores] = []
    for instr in f.code:
        op = instr.op
        effect = op.effect
        if open_loops:
            if instr.dst >= 0 and effect != ops.CONTROL and not f.variable[instr.dst]:
                indices.made[instr.dst] = instr
            if effect == ops.WRITES:
                own = -1 if instr.op in ops.SCATTERED else indices.own(_along(instr))
                for n in range(len(open_loops)):
                    open_loops[n].note(instr, n <= own)
            elif effect == ops.CALLS:
                for loop in open_loops:
                    loop.anything = True
        if effect == ops.CONTROL:
            if op.opens and not op.closes:
                loops = op in LOOPS
                brackets.append(loops)
                if loops:
                    found.append(LoopStores(places))
                    open_loops.append(found[-1])
                    indices.counters.append(instr.dst)
            elif op is ops.END and brackets.pop():
                open_loops.pop()
                indices.counters.pop()
    return found


def _along(instr: Instr) -> int:
    """What counts along the last dimension of an access: its last index, or the address itself."""
    mem = instr.mem
    if mem is None:
        return instr.args[-1]
    at = address_at(instr)
    return instr.args[at + 1] if mem.indexed else instr.args[at]


class Memory:
    """What has been stored in memory: a load is known again where nothing that it may see has been stored since.

    Attributes:
        stores: what has been stored so far is counted; this is the number of the last.
        everything: the last to memory of no known array, or call; others: the last to an array at an index that is not known; outside: the last to an array
            that is not local.
        arrays, indices: the last to each array, and at each index.
        groups: the last to arrays that are known to be apart from each other, by their number (``Array.apart``), and to the rest, by 0.
    """

    __slots__ = ("arrays", "bases", "everything", "groups", "indices", "others", "outside", "places", "stores")

    def __init__(self, f: Function) -> None:
        self.bases = [array.base for array in f.arrays]
        self.places = Places(f)
        self.arrays = [0] * len(f.arrays)
        self.indices: dict[tuple[int, ...], int] = {}
        self.groups: dict[int, int] = {}
        self.everything = 0
        self.others = 0
        self.outside = 0
        self.stores = 0

    def state(self) -> State:
        """What is known now, to come back to."""
        return self.arrays.copy(), self.indices.copy(), self.groups.copy(), (self.everything, self.others, self.outside)

    def back(self, state: State) -> State:
        """Back to what was known in front of a branch, for the other one. Returns what the first has left."""
        left = self.state()
        self.arrays, self.indices, self.groups = state[0].copy(), state[1].copy(), state[2].copy()
        self.everything, self.others, self.outside = state[3]
        return left

    def meet(self, other: State) -> None:
        """Both branches come together: what either has stored may have been."""
        arrays, indices, groups, (everything, others, outside) = other
        self.arrays = [max(a, b) for a, b in zip(self.arrays, arrays, strict=True)]
        for place, last in indices.items():
            self.indices[place] = max(last, self.indices.get(place, 0))
        for group, last in groups.items():
            self.groups[group] = max(last, self.groups.get(group, 0))
        self.everything = max(self.everything, everything)
        self.others = max(self.others, others)
        self.outside = max(self.outside, outside)

    def place(self, instr: Instr, values: list[int]) -> tuple[int, ...] | None:
        """The index of an access, the same for all arrays; None where it cannot be told from the address, or where it is not the only one."""
        if instr.op in ops.SCATTERED:
            return None
        mem = instr.mem
        if mem is None:
            return tuple(values[ops.ACCESSES[instr.op] :])
        at = address_at(instr)
        if mem.indexed:
            return (values[at + 1], mem.disp, mem.scale)
        return (_NO_INDEX, mem.disp) if values[at] == self.bases[mem.array] else None

    def version(self, instr: Instr, values: list[int], array: int) -> int:
        """The number of the last store that a load may see (or of a store: that a load of the same may, from here on)."""
        if array < 0 or array >= len(self.arrays):
            return self.stores
        places = self.places
        if places.local[array]:
            return max(self.everything, self.arrays[array])
        if places.shared[array]:
            return max(self.everything, self.outside)
        own = max(self.everything, self.arrays[places.first[array]])
        place = self.place(instr, values)
        last = self.stores if place is None else max(own, self.others, self.indices.get(place, 0))
        group = places.apart[array]
        if group and last > own:
            # Of arrays that are apart from this one no store is seen, wherever it is.
            last = min(last, max([own, *[other for number, other in self.groups.items() if number != group]]))
        return last

    def key(self, op: ops.Op, instr: Instr, values: list[int], address: int) -> tuple[int, ...]:
        """What identifies what ``op`` gives, of the address that stands in ``instr`` behind ``address`` operands."""
        mem = instr.mem
        array = array_of(instr)
        first = op.code << 12 | instr.type.number
        version = self.version(instr, values, array)
        key = [first, version, array] if mem is None else [first, version, array, instr.imm, mem.disp, mem.scale << 2 | mem.indexed << 1 | mem.broadcast]
        key += values[address:] if address else values
        return tuple(key)

    def store(self, instr: Instr, values: list[int]) -> None:
        """A store is made."""
        self.stores += 1
        array = array_of(instr)
        if array < 0 or array >= len(self.arrays):
            self.everything = self.stores
            return
        places = self.places
        self.arrays[places.first[array]] = self.stores
        if places.local[array]:
            return
        self.outside = self.stores
        self.groups[places.apart[array]] = self.stores
        place = None if places.shared[array] else self.place(instr, values)
        if place is None:
            self.others = self.stores
        else:
            self.indices[place] = self.stores

    def call(self) -> None:
        """Anything may be stored."""
        self.stores += 1
        self.everything = self.stores

    def enter(self, loop: LoopStores) -> None:
        """A loop begins, whose later stores its next step will have behind it."""
        if not loop.anything and not loop.arrays:
            return
        self.stores += 1
        if loop.anything:
            self.everything = self.stores
        for array in loop.arrays:
            self.arrays[array] = self.stores
        for group in loop.apart:
            self.groups[group] = self.stores
        if loop.outside:
            self.outside = self.stores
        if loop.elsewhere:
            self.others = self.stores
