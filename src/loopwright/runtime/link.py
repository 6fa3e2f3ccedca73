"""Functions that call each other, and their globals, brought together as one piece of code and one of data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from loopwright.compiler import Compiled
from loopwright.compiler import compile as compile_function
from loopwright.errors import TargetError
from loopwright.ir.function import Callee, Function
from loopwright.ir.globals import Global

__all__ = ["Linked"]


class Linked:
    """Compiled functions with all that they call or take the address of, directly or not, laid out one after the other; and the globals of all of them.

    The first is the one asked for; each starts at a multiple of the alignment it needs. What lives elsewhere in the process keeps its absolute address.

    Args:
        main: the function asked for.
        more: others that are to be there.
        known: what is compiled already of what these may need.

    Attributes:
        size: bytes of code in all.
        parts: (offset, compiled function), by ascending offset.
        align: alignment the whole needs.
        globals: (offset, global), by ascending offset.
        data_size: bytes of globals in all; ``data_align`` is the alignment that they need.
    """

    __slots__ = ("_offsets", "_places", "align", "data_align", "data_size", "globals", "parts", "size")

    def __init__(self, main: Compiled, more: Sequence[Compiled] = (), known: Sequence[Compiled] = ()) -> None:
        self.parts: list[tuple[int, Compiled]] = []
        self.globals: list[tuple[int, Global]] = []
        self.size = self.data_size = 0
        self.align = self.data_align = 1
        # By identity of the function, or the global: two functions may have the same name.
        self._offsets: dict[int, int] = {}
        self._places: dict[int, int] = {}
        compiled = {id(part.source): part for part in (*known, main, *more)}
        waiting: list[Any] = [main.source, *(part.source for part in more)]
        seen = {id(each) for each in waiting}
        while waiting:
            each = waiting.pop(0)
            needed: Iterable[Any]
            if isinstance(each, Global):
                self._place(each)
                needed = (_meant(reference.target) for reference in each.references)
            else:
                part = compiled.get(id(each))
                if part is None:
                    part = compile_function(each, main.target, ordering=main.order)
                self._lay(part)
                needed = (*(_meant(callee) for callee in each.callees), *each.globals)
            for other in needed:
                if other is not None and id(other) not in seen and not (isinstance(other, Global) and other.address):
                    seen.add(id(other))
                    waiting.append(other)

    def _lay(self, part: Compiled) -> None:
        machine = part.machine
        offset = -(-self.size // machine.align) * machine.align
        self.parts.append((offset, part))
        self._offsets[id(part.source)] = offset
        self.size = offset + len(machine.data)
        self.align = max(self.align, machine.align)

    def _place(self, each: Global) -> None:
        if not each.defined:
            raise TargetError(f"the global {each.name} has no memory: it belongs to a module that is not linked")
        offset = -(-self.data_size // each.align) * each.align
        self.globals.append((offset, each))
        self._places[id(each)] = offset
        self.data_size = offset + max(each.size, 1)
        self.data_align = max(self.data_align, each.align)

    def offset_of(self, part: Compiled) -> int:
        """Where one of the functions begins, in bytes."""
        return self._offsets[id(part.source)]

    def fill(self, address: int, data: int = 0) -> bytes:
        """The bytes, for code that will stand at ``address``, with its globals at ``data``.

        Raises:
            TargetError: a call to something that has no address, or is out of the instruction's reach.
        """
        filled = bytearray(b"\xcc" * self.size)
        for offset, part in self.parts:
            code = bytearray(part.machine.data)
            for at, kind, symbol in part.machine.relocations:
                place = address + offset + at
                part.target.relocate(code, at, kind, self._address_of(part, symbol, address, data) - place, place)
            filled[offset : offset + len(code)] = code
        return bytes(filled)

    def contents(self, address: int, data: int) -> bytes:
        """What is in the globals at first, for code at ``address`` and globals at ``data``. Raises ``TargetError`` where an address in them is of nothing."""
        filled = bytearray(self.data_size)
        for offset, each in self.globals:
            places = {number: self._address_of_target(reference.target, address, data) for number, reference in enumerate(each.references)}
            filled[offset : offset + each.size] = each.filled(places)
        return bytes(filled)

    def _address_of(self, part: Compiled, symbol: str, address: int, data: int) -> int:
        callee: Callee
        for callee in part.source.callees:
            if not callee.signature and part.target.call_symbol(callee) == symbol:
                if callee.address:
                    return callee.address
                if callee.function is not None:
                    return address + self._offsets[id(callee.function)]
        for named in part.source.globals:
            if named.name == symbol:
                return self._address_of_target(named, address, data)
        if symbol == part.source.name:
            return address + self._offsets[id(part.source)]
        raise TargetError(f"{part.source.name} calls {symbol}, which has no address in this process")

    def _address_of_target(self, target: Any, address: int, data: int) -> int:
        meant = _meant(target)
        if isinstance(meant, Function):
            return address + self._offsets[id(meant)]
        if isinstance(meant, Global) and not meant.address:
            return data + self._places[id(meant)]
        return int(target.address)


def _meant(target: Any) -> Function | Global | None:
    """What is to be laid out for something that is named: nothing for what is elsewhere in the process."""
    if isinstance(target, Callee):
        return target.function if not target.address else None
    return target if isinstance(target, Function | Global) else None
