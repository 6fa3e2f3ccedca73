"""The memory an interpreted program may touch: the NumPy arrays it was given, and objects of its own: globals, locals, what it allocates, functions.

A pointer carries the object that it came from: through arithmetic, variables, calls and memory. What it leads to outside of that object, or when the object is there no
more, is no access, whatever lies there. An integer has no object; made a pointer, it is one to the object in whose bounds its address is, if the address of that object has ever been made an integer, or been
given to C (*exposed*: as PNVI-ae-udi has it, in "A Provenance-aware Memory Object Model for C", ISO/IEC TS 6010).

Each object has an address of this process, so that C functions can be given it, with bytes around it that belong to nobody, and no other object gets its
address as long as anyone may remember it: what has no pointer's object to go by, as in code that passes have made for a machine, is judged by its address alone.
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

__all__ = ["Memory", "Object", "Pointer", "beside", "byte_range", "pointer"]

#: Bytes on both sides of an object that belong to nobody: as many as it has, within these bounds; and of what is allocated, of which there may be much.
_LEAST_AROUND: Final = 2048
_MOST_AROUND: Final = 1 << 16
_HEAP_AROUND: Final = 32
#: Bytes of objects that are no more, whose addresses are not given out again.
_REMEMBERED: Final = 1 << 26
#: Bytes that the address of a function takes.
_CODE: Final = 16
#: Addresses that a null pointer leads to.
_NULL: Final = 4096

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
    """Memory that a program may access.

    Attributes:
        low, high: its first address, and the one past its last.
        name: for messages.
        view: its bytes.
        readable, writable: how many bytes, from its first, may be; -1 for what has ended, for functions, and for what is not written.
        code: it is a function's, which is called, and neither read nor written.
        ended: why it is there no more, for messages; empty as long as it is.
        allocated: it is there until it is freed.
        exposed: its address may be known to integers, or to C.
        forgotten: it ended so long ago that its addresses may be another's.
        pointers: the pointers in it, by their distance from its first address, at multiples of 8; what has been written over is known by its address.
        kept: bytes it takes of this process's memory.
    """

    __slots__ = ("allocated", "code", "ended", "exposed", "forgotten", "high", "kept", "low", "name", "pointers", "readable", "view", "writable")

    def __init__(self, low: int, view: Bytes, name: str, kept: int = 0) -> None:
        self.low = low
        self.readable = self.writable = view.size
        self.high = low + view.size
        self.view = view
        self.name = name
        self.kept = kept
        self.code = self.allocated = self.exposed = self.forgotten = False
        self.ended = ""
        self.pointers: dict[int, Pointer] = {}

    def allows(self, address: int, size: int, write: bool) -> bool:
        """Whether so many bytes are all in it, and may be read, or written."""
        return self.low <= address and address - self.low + size <= (self.writable if write else self.readable)


class Pointer(np.uint64):
    """An address, and the object that it came from. (What is computed of it by NumPy is a plain number.)"""

    __slots__ = ("address", "origin")

    address: int
    origin: Object


def pointer(address: int, origin: Object) -> Pointer:
    """A pointer to what belongs to an object, or is near it."""
    made = Pointer(address)
    made.address = address
    made.origin = origin
    return made


_LOW: Final = attrgetter("low")


def _new(size: int, align: int, name: str, around: int) -> Object:
    kept = size + 2 * around + align
    buffer: Bytes = np.zeros(kept, np.uint8)
    first = int(buffer.__array_interface__["data"][0])
    low = (first + around + align - 1) & -align
    return Object(low, buffer[low - first : low - first + size], name, kept)


class Memory:
    """The objects, and what addresses mean."""

    def __init__(self) -> None:
        #: What the caller has given, and C's variables.
        self._given: dict[tuple[int, int, bool], Object] = {}
        self._keep: list[Any] = []
        #: Objects by ascending address, those that are no more among them.
        self._objects: list[Object] = []
        self._ended: deque[Object] = deque()
        self._ended_bytes = 0
        #: Runs a function that C calls; and the error that it ended with.
        self.run: Callable[[Function, Sequence[Any]], Any] | None = None
        self.pending: LoopwrightError | None = None
        self._globals: dict[int, Object] = {}
        self._functions: dict[int, int] = {}
        self._called: dict[int, Function | Callee] = {}

    def add(self, array: np.ndarray[Any, Any], name: str = "") -> np.uint64:
        """Allow the bytes of ``array``; returns a pointer to its first element."""
        low, high = byte_range(array)
        first = int(array.__array_interface__["data"][0])
        if high == low:
            return np.uint64(first)
        self._keep.append(array)
        return pointer(first, self.lend(low, high, bool(array.flags.writeable), name))

    def lend(self, low: int, high: int, writable: bool, name: str) -> Object:
        """Allow bytes of this process's."""
        known = self._given.get((low, high, writable))
        if known is None:
            known = Object(low, np.ctypeslib.as_array((ctypes.c_ubyte * (high - low)).from_address(low)), name or "an array of the caller's")
            known.exposed = True
            known.writable = known.readable if writable else -1
            self._given[low, high, writable] = known
        return known

    # --- objects ------------------------------------------------------------------------------------------

    def make(self, size: int, align: int, name: str) -> Object:
        """A new object, of zeros."""
        made = _new(size, align, name, min(max(size, _LEAST_AROUND), _MOST_AROUND))
        insort(self._objects, made, key=_LOW)
        return made

    def allocate(self, size: int, align: int, name: str) -> Object:
        """A new object, of zeros, that is there until it is freed."""
        made = _new(size, align, name, _HEAP_AROUND)
        made.allocated = True
        insort(self._objects, made, key=_LOW)
        return made

    def end(self, made: Object, why: str) -> None:
        """An object is there no more: its function has returned, or it has been freed."""
        made.ended = why
        made.readable = made.writable = -1
        if made.pointers:
            made.pointers = {}
        self._ended.append(made)
        self._ended_bytes += made.kept
        while self._ended_bytes > _REMEMBERED:
            oldest = self._ended.popleft()
            self._ended_bytes -= oldest.kept
            del self._objects[bisect_right(self._objects, oldest.low, key=_LOW) - 1]
            oldest.forgotten = True
            oldest.view = oldest.view[:0].copy()

    def global_object(self, of: Global) -> Object | None:
        """The memory of a global, which is there from the first time on; None where it is not known what it is."""
        if of.address:
            # (Of this process: as many of its bytes as are known of.)
            return self.lend(of.address, of.address + max(of.size, 8), not of.constant, of.name)
        if not of.defined:
            return None
        known = self._globals.get(id(of))
        if known is None:
            known = self._globals[id(of)] = self.make(of.size, max(of.align, 1), of.name)
            self._keep.append(of)
            self._fill(known, of)
            if of.constant:
                known.writable = -1
        return known

    def _fill(self, made: Object, of: Global) -> None:
        """What is in a global at first, with the pointers in it."""
        addresses: dict[int, int] = {}
        for n, reference in enumerate(of.references):
            target: Any = reference.target
            if not isinstance(target, Global):
                addresses[n] = self.function_address(target) if target is not None else 0
                continue
            to = self.global_object(target)
            addresses[n] = to.low if to is not None else 0
            if to is not None and not made.low + reference.offset & 7:
                made.pointers[reference.offset] = pointer(to.low + reference.addend & 0xFFFF_FFFF_FFFF_FFFF, to)
        made.view[:] = np.frombuffer(of.filled(addresses), np.uint8)

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
            known = self._functions[id(target)] = made if made else self._code(target.name)
            self._called[known] = target
        return known

    def _code(self, name: str) -> int:
        made = self.make(_CODE, 16, name)
        made.code = True
        made.readable = made.writable = -1
        return made.low

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

    # --- pointers -----------------------------------------------------------------------------------------

    def expose(self, origin: Object) -> None:
        """The address of an object is known to others: so are those of what it leads to."""
        if origin.exposed:
            return
        origin.exposed = True
        waiting = [origin]
        while waiting:
            for each in waiting.pop().pointers.values():
                if not each.origin.exposed:
                    each.origin.exposed = True
                    waiting.append(each.origin)

    def pointer_to(self, address: int) -> np.uint64:
        """The pointer that an integer becomes, or what C hands over: to the exposed object that the address is in, or at the end of; else to none."""
        if address < _NULL:
            return np.uint64(address)
        number = bisect_right(self._objects, address, key=_LOW) - 1
        if number >= 0:
            found = self._objects[number]
            if address <= found.high:
                return pointer(address, found) if found.exposed and not found.code else np.uint64(address)
        given = [each for each in self._given.values() if each.low <= address <= each.high]
        # (Where the caller's arrays overlap, or one begins where another ends, it may be to any of them.)
        return pointer(address, given[0]) if len(given) == 1 else np.uint64(address)

    def loaded(self, held: Object, at: int, address: int) -> np.uint64:
        """The pointer that lies in an object."""
        known = held.pointers.get(at)
        if known is not None and known.address == address and not known.origin.forgotten:
            return known
        return self.pointer_to(address)

    def stored(self, held: Object, at: int, value: Pointer) -> None:
        """A pointer has been written into an object."""
        if held.low + at & 7:
            self.expose(value.origin)
            return
        held.pointers[at] = value
        if held.exposed and not value.origin.exposed:
            self.expose(value.origin)

    def read_as_numbers(self, held: Object, at: int, size: int) -> Pointer | None:
        """Bytes of an object with pointers in it have been read as something else: what they were of is exposed. The pointer that they are all of, if any."""
        first = at - (held.low + at & 7)
        found = None
        for place in range(first, at + size, 8):
            found = held.pointers.get(place)
            if found is not None and not found.origin.exposed:
                self.expose(found.origin)
        return found if first == at and size == 8 else None

    # --- accesses -----------------------------------------------------------------------------------------

    def at(self, address: int, size: int, write: bool, exposed: bool = False) -> Object | None:
        """The object that the ``size`` bytes at ``address`` are all in, or None where there is none (for writing: that may be written; and an exposed one)."""
        number = bisect_right(self._objects, address, key=_LOW) - 1
        if number >= 0:
            found = self._objects[number]
            if found.allows(address, size, write) and (found.exposed or not exposed):
                return found
        for each in self._given.values():
            if each.allows(address, size, write):
                return each
        return None

    def problem(self, address: int, size: int, write: bool, origin: Object | None) -> str:
        """What is wrong with an access that is refused, for a message that begins with the address. ``origin`` is the pointer's object, if it has one."""
        if address in self._called:
            return f"is the function {self._called[address].name}, which is code"
        if origin is not None:
            return self._outside(address, size, origin)
        found = self._around(address)
        if found is not None:
            if found.code:
                return f"is in the function {found.name}, which is code"
            if found.ended:
                return f"is in {found.name}, {found.ended}"
            if found.allows(address, size, write):
                return f"is in {found.name}, but its pointer is made of an integer, and no integer has been made of a pointer to that"
        if write and self.at(address, size, False) is not None:
            return f"is read-only{self._near(address)}"
        if address < _NULL:
            return "is that of a null pointer, or near it"
        return f"is outside every array{self._near(address)}"

    def _outside(self, address: int, size: int, origin: Object) -> str:
        """What is wrong with an access by a pointer to an object."""
        if origin.ended:
            return f"is {beside(address, origin)}, {origin.ended}"
        if origin.low <= address < origin.high:
            over = address + size - origin.high
            return f"begins in {origin.name}, and ends {over} bytes past its end" if over > 0 else f"is read-only, in {origin.name}"
        other = self._around(address)
        where = f", in {other.name}" if other is not None and other is not origin else ""
        return f"is outside what its pointer leads to, {beside(address, origin)}{where}"

    def _around(self, address: int) -> Object | None:
        """What an address is in, of the program's own."""
        number = bisect_right(self._objects, address, key=_LOW) - 1
        return self._objects[number] if number >= 0 and address < self._objects[number].high else None

    def near(self, address: int) -> Object | None:
        """What of the program's own an address is in, or at the end of."""
        number = bisect_right(self._objects, address, key=_LOW) - 1
        return self._objects[number] if number >= 0 and address <= self._objects[number].high else None

    def _near(self, address: int) -> str:
        """Where an address is relative to what has a name."""
        near = ""
        distance = 1 << 12
        number = bisect_right(self._objects, address, key=_LOW) - 1
        for each in [*self._given.values(), *self._objects[max(number, 0) : number + 2]]:
            if each.low <= address < each.high:
                return f", in {each.name}"
            apart = address - each.high if address >= each.high else each.low - address
            if apart < distance:
                distance = apart
                near = f", {beside(address, each)}"
        return near


def beside(address: int, each: Object) -> str:
    """Where an address is relative to an object."""
    if each.low <= address < each.high:
        return f"in {each.name}"
    return f"{address - each.high} bytes past the end of {each.name}" if address >= each.high else f"{each.low - address} bytes before {each.name}"
