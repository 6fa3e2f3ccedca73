"""Cycles: paragraphs scheduled on the cells, units and ports of a processor.

Each paragraph is scheduled as a whole, after those before it, whose commands keep what they have taken. A schedule depends on the paragraph, on what is still
under way when it begins (``State``), on the jump that is taken, and on which loads overlap which stores: it is made once for each such case and looked up from
then on. The rules are those of the facts in docs/multiclet.md; which older command goes first where two want one unit is assumed.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.multiclet.cycles import Case, Schedule, Spent, State, schedule
from loopwright.targets.multiclet.linker import Program
from loopwright.targets.multiclet.shape import Shape
from loopwright.targets.multiclet.specialise import Access

__all__ = ["Timing"]

#: How many schedules are kept to be looked up. (A processor whose stores fall behind comes to ever new states.)
_KEPT: Final = 1 << 14
#: How many eight bytes are kept in mind of which the last store is done.
_REMEMBERED: Final = 1 << 16


class Timing:
    """The cycles that a program has taken.

    Attributes:
        accesses: of each paragraph that has been run.
        cycles: of all calls that have ended, up to the last result.
        schedules: those that have been made and are kept, each with how often it was taken.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.accesses: dict[int, list[Access]] = {}
        self.cycles = 0
        self.schedules: list[Schedule] = []
        self._forgotten: dict[int, Spent] = {}  # by paragraph, what was taken of schedules that are not kept any more
        self._shapes: dict[int, Shape] = {}
        self._states: dict[tuple[object, ...], State] = {}
        self._state = State()
        self._now = 0
        self._end = 0
        self._stored: list[tuple[int, int]] = []  # (address, size) of the stores under way
        self._first = 0  # the number of the first of them, counted from the call's beginning
        self._latest: dict[int, int] = {}  # of eight bytes, the number of the last store to them

    def begin(self, number: int) -> None:
        """A call begins with a paragraph, nothing being under way."""
        self._state = self._shared(State(number))
        self._now = self._end = self._first = 0
        self._stored = []
        self._latest = {}

    def step(self, number: int, following: int, jump: int, addresses: tuple[int, ...]) -> None:
        """A paragraph has been run: which follows, by which of its jumps (-1 for none), and where it has accessed memory."""
        state = self._state
        shape = self._shapes.get(number)
        if shape is None:
            shape = self._shapes[number] = Shape(self.program.paragraphs[number], self.program.processor, self.accesses[number])
        overlaps = 0
        if shape.asked or state.stores:
            overlaps = self._overlaps(shape, state, addresses)
        key = (following, jump, overlaps)
        found = state.schedules.get(key)
        if found is None:
            if len(self.schedules) >= _KEPT:
                self._forget()
            found = state.schedules[key] = schedule(shape, state, Case(number, following, jump, overlaps), self._shared, self.program.processor)
            self.schedules.append(found)
        found.times += 1
        self._end = max(self._end, self._now + found.end)
        self._now += found.cycles
        self._state = found.state
        if found.state.stores or self._stored:
            self._keep(shape, found, addresses)

    def _overlaps(self, shape: Shape, state: State, addresses: tuple[int, ...]) -> int:
        """Which loads overlap which stores, a bit for each pair that has to be looked at: those of the paragraph, then each load with each store under way."""
        found = 0
        accesses = shape.accesses
        if shape.asked:
            # Aligned accesses that overlap lie in the same eight bytes, which most do not.
            stored = {addresses[number] >> 3 for number in shape.asked_stores}
            if not stored.isdisjoint([addresses[number] >> 3 for number in shape.asked_loads]):
                for bit, (load, store) in enumerate(shape.asked):
                    if addresses[load] < addresses[store] + accesses[store].size and addresses[store] < addresses[load] + accesses[load].size:
                        found |= 1 << bit
        count = len(state.stores)
        if count:
            for position, load in enumerate(shape.loads):
                older = self._latest.get(addresses[load] >> 3, -1) - self._first
                # They are done in order: the last that the load overlaps is the one to wait for.
                while older >= 0:
                    address, size = self._stored[older]
                    if addresses[load] < address + size and address < addresses[load] + accesses[load].size:
                        found |= 1 << len(shape.asked) + position * count + older
                        break
                    older -= 1
        return found

    def _keep(self, shape: Shape, found: Schedule, addresses: tuple[int, ...]) -> None:
        """Where the stores go that are under way at the paragraph's end."""
        del self._stored[: found.stored]
        self._first += found.stored
        if not self._stored and len(self._latest) > _REMEMBERED:
            self._latest = {}
        for number in found.stores:
            self._latest[addresses[number] >> 3] = self._first + len(self._stored)
            self._stored.append((addresses[number], shape.accesses[number].size))

    def _shared(self, state: State) -> State:
        """The one object for all states that are equal."""
        return self._states.setdefault(state.key(), state)

    def _forget(self) -> None:
        """Keep the schedules that were taken most often, for pictures, and of the others the sums. All are made again where they are needed."""
        often = sorted(self.schedules, key=lambda each: -each.times)
        self.schedules = often[: _KEPT // 16]
        for each in often[_KEPT // 16 :]:
            self._forgotten.setdefault(each.case.number, Spent()).add(each)
        self._states = {}
        self._state.schedules = {}
        for each in self.schedules:
            # (Through it all that comes after it would be kept.)
            each.state = State()

    def spent(self) -> dict[int, Spent]:
        """What the runs of each paragraph have taken."""
        found: dict[int, Spent] = {}
        for number, before in self._forgotten.items():
            made = found[number] = Spent()
            made.join(before)
        for each in self.schedules:
            found.setdefault(each.case.number, Spent()).add(each)
        return found

    @property
    def now(self) -> int:
        """Cycles of all calls, up to the paragraph that runs."""
        return self.cycles + self._now

    def end(self) -> None:
        """The call has ended."""
        self.cycles += max(self._end, self._now)
