"""The values of names in lanes that have left a loop, or a step of it, one by one: each lane keeps what it had when it left.

Where paths of control meet, ``merging.py`` does the same: a name that had one Python value wherever lanes left still has it, and what differs is a variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loopwright.errors import KernelTypeError
from loopwright.frontend.emitter import Level
from loopwright.frontend.expr import Unavailable, Value, Weak, is_number
from loopwright.frontend.merging import CONTAINERS, MISSING, Frozen, freeze, indices, rebuilt, same, thaw
from loopwright.frontend.state import Sticky, shown
from loopwright.frontend.variables import NOT_EVERYWHERE, begin, write
from loopwright.ir.function import Instr
from loopwright.types import BOOL

if TYPE_CHECKING:
    from loopwright.frontend.staging import Staging

__all__ = ["Departed"]


class Departed:
    """What names are in the lanes that have left.

    Attributes:
        names: those of interest.
        anchor: the instruction before the loop, or the step, before which variables begin.
        registers: how many registers there were then.
        held: name -> its one value so far, or its variable; items of tuples, lists and dictionaries by themselves.
        shapes: name of such a one -> the first that was met, with what it held; None instead of that once another was met.
        lost: name -> why it has no value in some lane.
    """

    __slots__ = ("anchor", "held", "lost", "names", "registers", "s", "shapes")

    def __init__(self, s: Staging, names: set[str], anchor: Instr) -> None:
        self.s = s
        self.anchor = anchor
        self.registers = len(s.g.f.types)
        # The variables of a loop around are masked already.
        self.names = sorted(name for name in names if name not in s.act.sticky)
        self.held: dict[str, Sticky] = {}
        self.lost: dict[str, str] = {}
        self.shapes: dict[str, tuple[Any, Any]] = {}

    def leave(self, lanes: Value) -> None:
        """These lanes leave, with the values that the names have now."""
        env = self.s.act.env
        for name in self.names:
            self._hold(name, env.get(name, MISSING), lanes)

    def rejoin(self, lanes: Value | None) -> None:
        """From here on the names have the values that all lanes came with: those that left, and these."""
        s = self.s
        if lanes is not None:
            self.leave(lanes)
        for name in self.names:
            reason = self.lost.get(name)
            if reason is not None:
                s.lose(name, reason)
            elif name in self.held or name in self.shapes:
                s.act.env[name] = self._value(name)

    def _value(self, name: str) -> Any:
        """What a name, or an item, is for all lanes."""
        s = self.s
        if name in self.lost:
            return Unavailable(s.g, self.lost[name])
        if name not in self.shapes:
            return self.held[name].value
        first, frozen = self.shapes[name]
        if frozen is not None and thaw(frozen, s) is first:
            return first
        made = rebuilt(s, first, [self._value(f"{name}[{index!r}]") for index in indices(first)])
        s.merged.append((made, [first]))
        return made

    def _hold(self, name: str, value: Any, lanes: Value) -> None:
        s = self.s
        g = s.g
        if value is MISSING or type(value) is Unavailable:
            self.lost[name] = value.reason if isinstance(value, Unavailable) else f"`{name}` {NOT_EVERYWHERE}"
        if name in self.lost:
            return
        if type(value) in CONTAINERS or name in self.shapes:
            self._hold_items(name, value, lanes)
            return
        held = self.held.get(name)
        known = not isinstance(value, Value) or value.operand < self.registers and not g.f.variable[value.operand]
        if held is None:
            held = self.held[name] = Sticky(name, value, None, (), s.act.lines.get(name, g.at_line))
            if known:
                return
            self._begin(held, None, value)
        elif held.key == ():
            if same(held.value, value):
                return
            if not _changes(held.value) or not _changes(value):
                other = value if _changes(held.value) else held.value
                self.lost[name] = f"`{name}` is a Python value ({shown(other)}) that differs between lanes; only numbers can"
                return
            self._begin(held, held.value, value)
        level = g.level
        try:
            g.level = Level(lanes, level)
            write(s, held, value, False)
        except KernelTypeError as error:
            self.lost[name] = error.message
        finally:
            g.level = level

    def _hold_items(self, name: str, value: Any, lanes: Value) -> None:
        known = self.shapes.get(name)
        if known is None and name not in self.held:
            known = self.shapes[name] = value, freeze(value)
        if known is None or type(value) is not type(known[0]) or indices(value) != indices(known[0]):
            self.lost[name] = (
                f"`{name}` is a {type(value).__name__} in some lanes and something else, or one of another length, in others: only its items can differ"
            )
            return
        frozen = known[1]
        if frozen is not None and (value is not known[0] or type(frozen) is Frozen and thaw(frozen, self.s) is not value):
            self.shapes[name] = known[0], None
        for index in indices(value):
            self._hold(f"{name}[{index!r}]", value[index], lanes)

    def _begin(self, held: Sticky, start: Any, value: Any) -> None:
        """Make the variable, before the loop; what it starts with is what lanes left with so far, or else nothing that is read."""
        g = self.s.g
        since = len(g.code)
        if start is None:
            start = _nothing(value)
        held.value = begin(self.s, held.name, start, g.lanes)
        held.key = ("begun",)
        g.insert_before(self.anchor, since)


def _changes(value: Any) -> bool:
    """Whether it is a number, which can differ between lanes."""
    return is_number(value) or isinstance(value, (Value, np.generic))


def _nothing(value: Any) -> Any:
    """A number of a value's type, which nobody reads."""
    if isinstance(value, Weak) and value.open:
        return 0.0 if value.cell.root().floating else 0
    if is_number(value):
        return type(value)(0)
    if isinstance(value, np.generic):
        return type(value)(0)
    element = value.plain().type.element
    return False if element is BOOL else Value(value.graph, value.graph.f.const(element, 0), element)
