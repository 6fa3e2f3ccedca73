"""Functions that call each other, brought together as one piece of code."""

from __future__ import annotations

from loopwright.compiler import Compiled
from loopwright.compiler import compile as compile_function
from loopwright.errors import TargetError
from loopwright.ir.function import Callee

__all__ = ["Linked"]


class Linked:
    """A compiled function and all functions it calls, directly or not, laid out one after the other.

    The first is the one asked for; each starts at a multiple of the alignment it needs. Calls to what lives elsewhere
    in the process keep their absolute addresses.

    Attributes:
        size: bytes in all.
        parts: (offset, compiled function), by ascending offset.
        align: alignment the whole needs.
    """

    __slots__ = ("_offsets", "align", "parts", "size")

    def __init__(self, main: Compiled) -> None:
        self.parts: list[tuple[int, Compiled]] = []
        self.size = 0
        self.align = 1
        # By identity of the function: two functions may have the same name.
        self._offsets: dict[int, int] = {}
        waiting = [main]
        seen = {id(main.source)}
        while waiting:
            part = waiting.pop(0)
            machine = part.machine
            offset = -(-self.size // machine.align) * machine.align
            self.parts.append((offset, part))
            self._offsets[id(part.source)] = offset
            self.size = offset + len(machine.data)
            self.align = max(self.align, machine.align)
            for callee in part.source.callees:
                called = callee.function
                if called is not None and not callee.address and id(called) not in seen:
                    seen.add(id(called))
                    waiting.append(compile_function(called, main.target, ordering=main.order))

    def fill(self, address: int) -> bytes:
        """The bytes, for code that will stand at ``address``.

        Raises:
            TargetError: a call to something that has no address, or is out of the instruction's reach.
        """
        data = bytearray(b"\xcc" * self.size)
        for offset, part in self.parts:
            code = bytearray(part.machine.data)
            for place, kind, symbol in part.machine.relocations:
                destination = self._address_of(part, symbol, address)
                part.target.relocate(code, place, kind, destination - (address + offset + place))
            data[offset : offset + len(code)] = code
        return bytes(data)

    def _address_of(self, part: Compiled, symbol: str, address: int) -> int:
        callee: Callee
        for callee in part.source.callees:
            if part.target.call_symbol(callee) == symbol:
                if callee.address:
                    return callee.address
                if callee.function is not None:
                    return address + self._offsets[id(callee.function)]
        if symbol == part.source.name:
            return address + self._offsets[id(part.source)]
        raise TargetError(f"{part.source.name} calls {symbol}, which has no address in this process")
