"""What a core can do at once, as far as the rewriting of loops needs to know it: its units, and how long operations take on them.

It is coarser than the timing of instructions (each machine's ``timing.py``), because it is asked before instructions are chosen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from loopwright.errors import TargetError
from loopwright.ir import ops
from loopwright.ir.function import Instr
from loopwright.ir.ops import Op
from loopwright.types import Type

__all__ = ["Core", "Cost"]

#: A quotient by a constant is a product, and shifts and sums that take so many cycles one after the other.
BESIDE_PRODUCT: Final = 4


class Cost:
    """What one operation costs.

    Attributes:
        unit: number of the unit that does it.
        latency: cycles from its operands to its result.
        cycles: for how many cycles it keeps the unit.
    """

    __slots__ = ("cycles", "latency", "unit")

    def __init__(self, unit: int, latency: int, cycles: int) -> None:
        self.unit = unit
        self.latency = latency
        self.cycles = cycles


class Core:
    """A core.

    Attributes:
        name: what it is called.
        issue: how many operations can start in a cycle.
        units: names of the units; ``counts``: how many there are of each.
        registers: how many values it can hold, of each of integers and floats.
        caches: bytes of its caches of the first and the second level, and what it can count on of the third; none where they are not known.
        line: cycles that a line takes from one cache to the next, where many go; 0 where that is not known.
        streams: at how many places it follows what goes through memory, and has the lines in front of there fetched.
        window: how many operations after one that waits can have started; 0 of a core that starts them in order.
        results_in_order: no operation starts before its result would come in order, behind those of the operations before it.
    """

    __slots__ = ("_known", "_rows", "caches", "counts", "issue", "line", "name", "registers", "results_in_order", "streams", "units", "window")

    def __init__(
        self,
        name: str,
        issue: int,
        units: Mapping[str, int],
        table: str,
        registers: int = 16,
        window: int = 0,
        caches: Sequence[int] = (),
        results_in_order: bool = False,
        line: int = 0,
        streams: int = 0,
    ) -> None:
        """``table`` has a line for each kind of operation: ``operations | types | unit | latency | cycles``.

        Operations and types are regular expressions for whole names; the first line that matches counts. ``#`` begins a comment.

        Raises:
            TargetError: for a line that is no such row, or a unit that there is not.
        """
        self.name = name
        self.issue = issue
        self.units = list(units)
        self.counts = [units[unit] for unit in self.units]
        self.registers = registers
        self.window = window
        self.line = line
        self.streams = streams
        self.results_in_order = results_in_order
        self.caches: list[int] = list(caches)
        self._rows: list[tuple[re.Pattern[str], re.Pattern[str], Cost]] = []
        self._known: dict[int, Cost] = {}
        for row in table.splitlines():
            text = row.partition("#")[0].strip()
            if not text:
                continue
            parts = [part.strip() for part in re.split(r"\s\|\s", text)]
            if len(parts) != 5 or parts[2] not in self.units or not (parts[3].isdigit() and parts[4].isdigit()):
                raise TargetError(
                    f"core {name}: `{text}` is no row of operations | types | unit | latency | cycles, with one of the units {', '.join(self.units)}"
                )
            cost = Cost(self.units.index(parts[2]), int(parts[3]), int(parts[4]))
            self._rows.append((re.compile(parts[0]), re.compile(parts[1]), cost))

    def cost_of(self, instr: Instr) -> Cost:
        """What an instruction costs; a conversion, by the floats that it is from or to; a quotient of integers by a constant, which is made of a product."""
        if instr.op in ops.DIVISIONS and instr.type.is_integer and instr.args[1] < 0:
            product = self.cost(ops.MUL, instr.type)
            return Cost(product.unit, product.latency + BESIDE_PRODUCT, product.cycles + 1)
        return self.cost(instr.op, instr.source if instr.source.is_float else instr.type)

    def cost(self, op: Op, type_: Type) -> Cost:
        """What an operation costs for a type. Raises ``TargetError`` where no row matches."""
        key = op.code << 20 | type_.number
        known = self._known.get(key)
        if known is None:
            for operations, types, cost in self._rows:
                if operations.fullmatch(op.name) and types.fullmatch(type_.name):
                    known = cost
                    break
            if known is None:
                raise TargetError(f"core {self.name}: nothing is known of {op.name}.{type_.name}")
            self._known[key] = known
        return known
