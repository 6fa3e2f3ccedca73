"""The memory an interpreted program may touch: the NumPy arrays it was given, and objects of its own: globals, locals, functions.

Each object has an address of this process, so that C functions can be given it, with bytes around it that belong to nobody, and no other object gets its
address as long as anyone may remember it: an access past its end, or after its function has returned, is found by its address.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final

import numpy as np

from loopwright.errors import LoopwrightError
from loopwright.ir.c_types import address_of, callback
from loopwright.ir.function import Callee, Function
from loopwright.ir.globals import Global
from loopwright.types import VOID

__all__ = ["Memory", "byte_range"]

#: Bytes on both sides of an object that belong to nobody: as many as it has, within these bounds.
_LEAST_AROUND: Final = 2048
_MOST_AROUND: Final = 1 << 16
#: Bytes of objects that are no more, whose addresses are not given out again.
_REMEMBERED: Final = 1 << 26
#: Bytes that the address of a function takes.
_CODE: Final = 16

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def byte_range(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """First address of an array's elements, and the one past the last."""
    low = high = int(array.__array_interface__["data"][0])
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high + array.itemsize


class Object:
    """Memory of the program's own.

    Attributes:
        low, high: its first address, and the one past its last.
        name: for messages.
        writable: it may be written; ``alive``: it is there.
        code: it is a function's, which is called, and neither read nor written.
        view: its bytes.
    """

    __slots__ = ("_buffer", "alive", "code", "high", "low", "name", "view", "writable")

    def __init__(self, size: int, align: int, name: str, code: bool) -> None:
        around = min(max(size, _LEAST_AROUND), _MOST_AROUND)
        self._buffer: Bytes = np.zeros(size + 2 * around + align, np.uint8)
        first = int(self._buffer.__array_interface__["data"][0])
        self.low = (first + around + align - 1) & -align
        self.high = self.low + size
        self.view: Bytes = self._buffer[self.low - first : self.high - first]
        self.name = name
        self.writable = True
        self.alive = True
        self.code = code

    @property
    def bytes_kept(self) -> int:
        """What it takes of this process's memory."""
        return self._buffer.size


_LOW: Final = attrgetter("low")


class Memory:
    """Address ranges that may be read, and those that may be written."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int, bool, Bytes]] = []
        self._named: list[tuple[int, int, str]] = []
        self._keep: list[Any] = []
        self._known: set[tuple[int, int, bool]] = set()
        #: Objects by ascending address, those that are no more among them.
        self._objects: list[Object] = []
        self._ended: deque[Object] = deque()
        self._ended_bytes = 0
        #: Runs a function that C calls; and the error that it ended with.
        self.run: Callable[[Function, Sequence[Any]], Any] | None = None
        self.pending: LoopwrightError | None = None
        self._globals: dict[int, int] = {}
        self._functions: dict[int, int] = {}
        self._called: dict[int, Function | Callee] = {}

    def add(self, array: np.ndarray[Any, Any], name: str = "") -> int:
        """Allow the bytes of ``array``; returns the address of its first element."""
        low, high = byte_range(array)
        writable = bool(array.flags.writeable)
        if high > low and (low, high, writable) not in self._known:
            self._known.add((low, high, writable))
            self._ranges.append((low, high, writable, np.ctypeslib.as_array((ctypes.c_ubyte * (high - low)).from_address(low))))
            self._keep.append(array)
            if name:
                self._named.append((low, high, name))
        return int(array.__array_interface__["data"][0])

    # --- objects ------------------------------------------------------------------------------------------

    def make(self, size: int, align: int, name: str, code: bool = False) -> Object:
        """A new object, of zeros."""
        made = Object(size, align, name, code)
        insort(self._objects, made, key=_LOW)
        return made

    def end(self, made: Object) -> None:
        """An object is there no more: its function has returned."""
        made.alive = False
        self._ended.append(made)
        self._ended_bytes += made.bytes_kept
        while self._ended_bytes > _REMEMBERED:
            oldest = self._ended.popleft()
            self._ended_bytes -= oldest.bytes_kept
            del self._objects[bisect_right(self._objects, oldest.low, key=_LOW) - 1]

    def global_address(self, of: Global) -> int:
        """The address of a global, which is there from the first time on; 0 where it is not known what it is."""
        if of.address:
            self._foreign(of)
            return of.address
        if not of.defined:
            return 0
        known = self._globals.get(id(of))
        if known is None:
            made = self.make(of.size, max(of.align, 1), of.name)
            known = self._globals[id(of)] = made.low
            self._keep.append(of)
            made.view[:] = np.frombuffer(of.filled({n: self._address_of(r.target) for n, r in enumerate(of.references)}), np.uint8)
            made.writable = not of.constant
        return known

    def _foreign(self, of: Global) -> None:
        """A global of this process: as many of its bytes as are known of."""
        high = of.address + max(of.size, 8)
        if (of.address, high, not of.constant) not in self._known:
            self._known.add((of.address, high, not of.constant))
            self._ranges.append((of.address, high, not of.constant, np.ctypeslib.as_array((ctypes.c_ubyte * (high - of.address)).from_address(of.address))))
            self._named.append((of.address, high, of.name))

    def _address_of(self, target: Any) -> int:
        if isinstance(target, Global):
            return self.global_address(target)
        return self.function_address(target) if target is not None else 0

    def function_address(self, of: Function | Callee) -> int:
        """The address of a function: its own in this process, or one that stands for it."""
        target: Function | Callee = of
        if isinstance(of, Callee):
            if of.address:
                self._called[of.address] = of
                return of.address
            if of.function is not None:
                target = of.function
        known = self._functions.get(id(target))
        if known is None:
            made = self._for_c(target)
            known = self._functions[id(target)] = made if made else self.make(_CODE, 16, target.name, True).low
            self._called[known] = target
        return known

    def _for_c(self, target: Function | Callee) -> int:
        """The address of something that C can call for a function; 0 where there is no such thing."""
        if self.run is None or not isinstance(target, Function):
            return 0
        run = self.run
        result = target.result

        def call(*args: Any) -> Any:
            if self.pending is None:
                try:
                    value = run(target, args)
                    return value.item() if isinstance(value, np.generic) else value
                except LoopwrightError as error:
                    # C knows no exceptions: it goes on with 0, and the call that led here raises it.
                    self.pending = error
            return None if result is VOID else 0

        made = callback(call, [target.types[p] for p in target.params], result) if not target.results and not target.places else None
        if made is None:
            return 0
        self._keep.append(made)
        return address_of(made)

    def function_at(self, address: int) -> Function | Callee | None:
        """The function whose address was taken."""
        return self._called.get(address)

    # --- accesses -----------------------------------------------------------------------------------------

    def at(self, address: int, size: int, write: bool) -> Bytes | None:
        """The ``size`` bytes at ``address``, or None if they are not all inside one array or object (for writing: a writable one)."""
        number = bisect_right(self._objects, address, key=_LOW) - 1
        if number >= 0:
            found = self._objects[number]
            if address + size <= found.high and found.alive and not found.code and (found.writable or not write):
                return found.view[address - found.low : address - found.low + size]
        for low, high, writable, view in self._ranges:
            if low <= address and address + size <= high and (writable or not write):
                return view[address - low : address - low + size]
        return None

    def problem(self, address: int, size: int, write: bool) -> str:
        """What is wrong with an access that ``at`` refuses, for a message that begins with the address."""
        if address in self._called:
            return f"is the function {self._called[address].name}, which is code"
        number = bisect_right(self._objects, address, key=_LOW) - 1
        if number >= 0 and address < self._objects[number].high:
            found = self._objects[number]
            if found.code:
                return f"is in the function {found.name}, which is code"
            if not found.alive:
                return f"is in {found.name}, whose function has returned"
        if write and self.at(address, size, False) is not None:
            return f"is read-only{self._near(address)}"
        return f"is outside every array{self._near(address)}"

    def _near(self, address: int) -> str:
        """Where an address is relative to what has a name."""
        near = ""
        distance = 1 << 12
        number = bisect_right(self._objects, address, key=_LOW) - 1
        objects = self._objects[max(number, 0) : number + 2]
        for low, high, name in [*self._named, *((each.low, each.high, each.name) for each in objects)]:
            if low <= address < high:
                return f", in {name}"
            if address >= high and address - high < distance:
                distance = address - high
                near = f", {distance} bytes past the end of {name}"
            elif address < low and low - address < distance:
                distance = low - address
                near = f", {distance} bytes before {name}"
        return near
