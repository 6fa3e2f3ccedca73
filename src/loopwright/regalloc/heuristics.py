"""The 17 filters that choose a register, A to Q, and the orders they can be applied in.

Each filter is a function ``(state, interval, candidates, location) -> S``: the subset of the candidates (bit masks of
physical registers) that has the filter's property. The allocator narrows the candidates to S when S is not empty and
stops when one register is left. A to M look for a free register and keep free ones only; N to Q choose which busy one to spill.

The method and the letters are those of RyuJIT's LSRA (dotnet/runtime, docs/design/coreclr/jit/lsra-detail.md). What
RyuJIT caches between filters is computed here from the candidates as they stand when the filter runs, and N to Q may
meet free registers (cost 0, next reference never), so that every permutation is well defined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.errors import TargetError
from loopwright.regalloc.intervals import NEVER, Interval

DEFAULT_ORDER: Final = "ABCDEFGHIJKLMNOPQ"


class RegisterState:
    """What the filters read: who holds which register, and who will want it.

    Attributes:
        holder: per register, the interval in it, or the inactive one (in a hole) that was last in it; None for nobody.
        active: bit mask of the registers whose holder is live.
        held: bit mask of the registers with any holder.
        constant_in: per register, the constant operand it is known to contain, or 0.
        fixed: per register, locations where an instruction demands or destroys it, latest first.
        owners: parallel to ``fixed``: the virtual register that is demanded there, what the instruction that destroys it makes, or
            -1. An interval's own location does not keep it out of the register.
        fixed_any: bit mask of registers with such locations anywhere.
        optional: per register, its holder's last reference could have been taken from memory.
        caller_saved: bit mask of what calls destroy.
        orders: per class, its registers as bit masks in the order of allocation.
    """

    __slots__ = ("active", "caller_saved", "constant_in", "fixed", "fixed_any", "held", "holder", "optional", "orders", "owners")

    def __init__(self, registers: int, fixed: list[list[int]], owners: list[list[int]], caller_saved: int, orders: list[list[int]]) -> None:
        self.holder: list[Interval | None] = [None] * registers
        self.active = 0
        self.held = 0
        self.constant_in: list[int] = [0] * registers
        self.fixed = fixed
        self.owners = owners
        self.fixed_any = 0
        for r in range(registers):
            if fixed[r]:
                self.fixed_any |= 1 << r
        self.optional: list[bool] = [False] * registers
        self.caller_saved = caller_saved
        self.orders = orders

    def next_ref(self, r: int, location: int, register: int) -> int:
        """The nearest location after ``location`` at which register ``r`` is wanted by another than virtual ``register``; NEVER for one nobody wants."""
        nearest = NEVER
        owner = self.holder[r]
        if owner is not None:
            nearest = owner.next_ref()
        points = self.fixed[r]
        if points:
            owners = self.owners[r]
            while points and points[-1] <= location:
                points.pop()
                owners.pop()
            n = len(points) - 1
            while n >= 0 and owners[n] == register:
                n -= 1
            if n >= 0 and points[n] < nearest:
                nearest = points[n]
        return nearest

    def destroyed(self, r: int, location: int) -> int:
        """The nearest location after ``location`` at which an instruction demands or destroys register ``r``; NEVER if none does."""
        points = self.fixed[r]
        while points and points[-1] <= location:
            points.pop()
            self.owners[r].pop()
        return points[-1] if points else NEVER

    def free_until(self, candidates: int, end: int, location: int, register: int) -> int:
        """The free candidates that nobody wants before ``end``."""
        free = candidates & ~self.active
        wanted = free & (self.held | self.fixed_any)
        if not wanted:
            return free
        result = free & ~wanted
        while wanted:
            low = wanted & -wanted
            if self.next_ref(low.bit_length() - 1, location, register) >= end:
                result |= low
            wanted ^= low
        return result


def filter_free(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """A FREE: hold no active interval."""
    return candidates & ~state.active


def filter_const_available(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """B CONST_AVAILABLE: already hold the constant that this definition makes."""
    if interval.constant == 0:
        return 0
    result = 0
    bits = candidates & ~state.active
    while bits:
        low = bits & -bits
        if state.constant_in[low.bit_length() - 1] == interval.constant:
            result |= low
        bits ^= low
    return result


def filter_this_assigned(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """C THIS_ASSIGNED: are free and were last assigned to this interval."""
    r = interval.previous
    if r < 0 or state.holder[r] is not interval:
        return 0
    return candidates & (1 << r) & ~state.active


def filter_covers(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """D COVERS: are free from here past the end of the current range."""
    return state.free_until(candidates, interval.range_end(location), location, interval.register)


def filter_own_preference(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """E OWN_PREFERENCE: the interval prefers, and are free."""
    return candidates & interval.preferences & ~state.active


def _related_registers(related: Interval) -> int:
    r = related.register_now
    if r < 0:
        r = related.previous
    return related.preferences | (1 << r) if r >= 0 else related.preferences


def filter_covers_related(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """F COVERS_RELATED: the related interval prefers, and are free past the related interval's end."""
    related = interval.related
    if related is None:
        return 0
    liked = candidates & _related_registers(related)
    if not liked:
        return 0
    end = related.last
    own = interval.last
    return state.free_until(liked, max(own, end), location, interval.register)


def filter_related_preference(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """G RELATED_PREFERENCE: the related interval prefers, and are free."""
    related = interval.related
    if related is None:
        return 0
    return candidates & _related_registers(related) & ~state.active


def filter_caller_callee(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """H CALLER_CALLEE: are free, and callee-saved where the interval lives across a call, caller-saved otherwise."""
    if interval.crosses_call:
        return candidates & ~state.caller_saved & ~state.active
    return candidates & state.caller_saved & ~state.active


def filter_unassigned(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """I UNASSIGNED: no interval, active or inactive, is assigned to any more."""
    return candidates & ~state.held


def filter_covers_full(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """J COVERS_FULL: are free past the whole interval's end."""
    return state.free_until(candidates, interval.last, location, interval.register)


def filter_best_fit(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """K BEST_FIT: are free; of those, if J holds for all, the ones with the nearest next reference, otherwise with the farthest."""
    free = candidates & ~state.active
    covers = state.free_until(free, interval.last, location, interval.register)
    if covers == free and not covers & (state.held | state.fixed_any):
        return free
    nearest = covers == free
    result = 0
    best = -1
    bits = free
    while bits:
        low = bits & -bits
        at = state.next_ref(low.bit_length() - 1, location, interval.register)
        if best < 0 or (at < best if nearest else at > best):
            best = at
            result = low
        elif at == best:
            result |= low
        bits ^= low
    return result


def filter_is_prev_reg(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """L IS_PREV_REG: if J holds for all that are free, is the interval's previous register."""
    r = interval.previous
    free = candidates & ~state.active
    if r < 0 or not free >> r & 1 or state.free_until(free, interval.last, location, interval.register) != free:
        return 0
    return 1 << r


def filter_reg_order(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """M REG_ORDER: comes first in the allocation order; leaves one register when anything is free."""
    free = candidates & ~state.active
    if free:
        for bit in state.orders[interval.cls]:
            if free & bit:
                return bit
    return free


def spill_cost(state: RegisterState, r: int) -> float:
    """What spilling the holder of a register costs; 0 for a free one."""
    owner = state.holder[r]
    if owner is None or not state.active >> r & 1:
        return 0.0
    return owner.cost()


def filter_spill_cost(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """N SPILL_COST: cost least to spill."""
    result = 0
    least = -1.0
    bits = candidates
    while bits:
        low = bits & -bits
        cost = spill_cost(state, low.bit_length() - 1)
        if least < 0.0 or cost < least:
            least = cost
            result = low
        elif cost == least:
            result |= low
        bits ^= low
    return result


def filter_far_next_ref(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """O FAR_NEXT_REF: have the farthest next reference."""
    result = 0
    farthest = -1
    bits = candidates
    while bits:
        low = bits & -bits
        r = low.bit_length() - 1
        at = state.next_ref(r, location, interval.register) if state.active & low else NEVER
        if at > farthest:
            farthest = at
            result = low
        elif at == farthest:
            result |= low
        bits ^= low
    return result


def filter_prev_reg_opt(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """P PREV_REG_OPT: whose holder's last reference was register-optional."""
    result = 0
    bits = candidates
    while bits:
        low = bits & -bits
        if state.optional[low.bit_length() - 1]:
            result |= low
        bits ^= low
    return result


def filter_reg_num(state: RegisterState, interval: Interval, candidates: int, location: int) -> int:
    """Q REG_NUM: has the lowest number; always leaves one."""
    return candidates & -candidates


Filter = Callable[[RegisterState, Interval, int, int], int]

FILTERS: Final[dict[str, Filter]] = {
    "A": filter_free,
    "B": filter_const_available,
    "C": filter_this_assigned,
    "D": filter_covers,
    "E": filter_own_preference,
    "F": filter_covers_related,
    "G": filter_related_preference,
    "H": filter_caller_callee,
    "I": filter_unassigned,
    "J": filter_covers_full,
    "K": filter_best_fit,
    "L": filter_is_prev_reg,
    "M": filter_reg_order,
    "N": filter_spill_cost,
    "O": filter_far_next_ref,
    "P": filter_prev_reg_opt,
    "Q": filter_reg_num,
}


def check_order(order: str) -> str:
    """The order in capitals. Raises ``TargetError`` unless it is a permutation of the letters A to Q."""
    given = order.strip().upper()
    if sorted(given) != sorted(DEFAULT_ORDER):
        missing = "".join(letter for letter in DEFAULT_ORDER if letter not in given)
        extra = "".join(sorted({letter for letter in given if letter not in DEFAULT_ORDER or given.count(letter) > 1}))
        problem = "; ".join(part for part in (f"missing {missing}" if missing else "", f"unknown or repeated {extra}" if extra else "") if part)
        raise TargetError(f"register selection order {order!r} is not a permutation of {DEFAULT_ORDER}: {problem}")
    return given


#: Per letter, those that may change places with it when they stand next to each other: their sets contain one another,
#: and depend on nothing but the register, so that narrowing by both gives the same either way. What all up to L keep
#: is free (A), and depends on the free ones only; what is free to the interval's end (J) is so to the range's (D); F is G and more.
_EXCHANGE: Final[dict[str, str]] = {
    "A": "BCDEFGHIJKL",
    "B": "A",
    "C": "A",
    "D": "AJ",
    "E": "A",
    "F": "AG",
    "G": "AF",
    "H": "A",
    "I": "A",
    "J": "AD",
    "K": "A",
    "L": "A",
}
#: Those that keep free registers only, and have nothing to say when none is.
_FREE_ONLY: Final = "ABCDEFGHIJKL"


def canonical(order: str) -> str:
    """The representative of all orders that cannot differ from this one.

    What follows Q never acts. What follows M acts only when nothing is free, where a filter that speaks of free
    registers only has nothing to say; A straight before M says nothing that M does not. Those go to the end, in alphabetical order.
    Neighbours that may change places stand in alphabetical order.
    """
    order = check_order(order)
    head, _, tail = order.partition("Q")
    idle = list(tail)
    after = ""
    if "M" in head:
        head, _, behind = head.partition("M")
        for letter in behind:
            if letter in _FREE_ONLY:
                idle.append(letter)
            else:
                after += letter
        after = "M" + after
        _, found, rest = head.partition("A")
        if found and not rest.strip(_EXCHANGE["A"]):
            idle.append("A")
            head = head.replace("A", "")
    return _sorted_neighbours(head) + after + "Q" + "".join(sorted(idle))


def _sorted_neighbours(letters: str) -> str:
    """The first in alphabetical order of the sequences that exchanging neighbours can reach."""
    made = ""
    while letters:
        best = 0
        for n in range(1, len(letters)):
            letter = letters[n]
            if letter < letters[best] and not letters[:n].strip(_EXCHANGE.get(letter, "")):
                best = n
        made += letters[best]
        letters = letters[:best] + letters[best + 1 :]
    return made


#: What a filter needs to have anything to say; without it, it keeps nothing, and is passed over.
NEEDS_CONSTANT: Final = 1
NEEDS_RELATED: Final = 2
NEEDS_PREFERENCES: Final = 4
NEEDS_PREVIOUS: Final = 8
#: Somebody holds or has held a candidate, or it is demanded or destroyed somewhere; otherwise it keeps them all.
NEEDS_HISTORY: Final = 16
_NEEDS: Final[dict[str, int]] = {
    "A": NEEDS_HISTORY,
    "B": NEEDS_CONSTANT,
    "C": NEEDS_PREVIOUS | NEEDS_HISTORY,
    "D": NEEDS_HISTORY,
    "E": NEEDS_PREFERENCES,
    "F": NEEDS_RELATED,
    "G": NEEDS_RELATED,
    "I": NEEDS_HISTORY,
    "J": NEEDS_HISTORY,
    "K": NEEDS_HISTORY,
    "L": NEEDS_PREVIOUS,
}


class Plan:
    """The filters of an order, and for each combination of what they need, those that can act (made when first wanted).

    Attributes:
        letters: the order, or the part of it that is to be applied.
        filters: the filter of each letter.
        free_first: A comes first, and whoever chooses has applied it: it is not among those that act.
    """

    __slots__ = ("_acting", "filters", "free_first", "letters")

    def __init__(self, letters: str, filters: list[Filter], free_first: bool = False) -> None:
        self.letters = letters
        self.filters = filters
        self.free_first = free_first
        self._acting: list[list[Filter] | None] = [None] * 32

    def acting(self, present: int) -> list[Filter]:
        """Those that can narrow the candidates of an interval with what is ``present``."""
        known = self._acting[present]
        if known is None:
            known = [narrow for letter, narrow in zip(self.letters, self.filters, strict=True) if not _NEEDS.get(letter, 0) & ~present]
            if self.free_first and known and known[0] is filter_free:
                known = known[1:]
            self._acting[present] = known
        return known


_plans: Final[dict[str, Plan]] = {}


def plan_of(order: str) -> Plan:
    """The filters of an order. Raises ``TargetError`` for a bad one."""
    known = _plans.get(order)
    if known is None:
        letters = check_order(order)
        known = Plan(letters, [FILTERS[letter] for letter in letters], letters.startswith("A"))
        _plans[order] = known
    return known
