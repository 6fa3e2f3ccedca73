"""Memory that an interpreted program allocates: C's functions for it are done here, so that each piece is an object with bounds, from where it is allocated to where it is freed."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from loopwright.errors import LoopwrightError
from loopwright.ir.c_types import address_of
from loopwright.ir.function import Callee
from loopwright.ir.memory_model import Memory, Object, Pointer, beside

__all__ = ["Heap", "HeapError", "Managed"]

#: Where a call is: the function, and its line, if it has one.
Place = tuple[str, int]
#: What does the work of a function: of its arguments, and where it is called. None for a null pointer, or for no result.
Managed = Callable[[Sequence[Any], Place], Object | None]

#: Of what every allocation's address is a multiple.
_ALIGN: Final = 16
#: More bytes than these are not to be had at once, nor addresses at multiples of more.
_MOST: Final = 1 << 32
_MOST_ALIGNED: Final = 1 << 20
#: What `isalpha` and its kin are macros for (glibc): the functions that return the address of a pointer into a table, with the bytes of its elements, and how many of those are in front of where the pointer leads.
_CLASSES: Final = {"__ctype_b_loc": 2, "__ctype_tolower_loc": 4, "__ctype_toupper_loc": 4}
_BELOW: Final = 128
_WORD: Final = 0xFFFF_FFFF_FFFF_FFFF
#: The functions, and how many arguments they take.
_ARGUMENTS: Final = {
    "malloc": 1,
    "calloc": 2,
    "realloc": 2,
    "reallocarray": 3,
    "aligned_alloc": 2,
    "memalign": 2,
    "strdup": 1,
    "strndup": 2,
    "free": 1,
    "__errno_location": 0,
}


class HeapError(LoopwrightError):
    """Something is freed that cannot be."""


@functools.cache
def _library() -> Any:
    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):
        return None


@functools.cache
def _names() -> dict[int, str]:
    """The functions by their addresses in this process."""
    library = _library()
    return {address_of(library[name]): name for name in _ARGUMENTS if hasattr(library, name)}


def _number(value: Any) -> int:
    return int(value) & _WORD


def _in(line: int) -> str:
    return f" in line {line}" if line else ""


class Heap:
    """What is allocated in a memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        #: Addresses that C has returned, which may be of memory that C has allocated.
        self._returned: set[int] = set()
        self._functions: dict[str, Managed] = {
            "malloc": lambda values, place: self._new(_number(values[0]), place),
            "calloc": lambda values, place: self._new(_number(values[0]) * _number(values[1]), place),
            "realloc": lambda values, place: self._resized(values[0], _number(values[1]), place),
            "reallocarray": lambda values, place: self._resized(values[0], _number(values[1]) * _number(values[2]), place),
            "aligned_alloc": lambda values, place: self._new(_number(values[1]), place, _number(values[0])),
            "memalign": lambda values, place: self._new(_number(values[1]), place, _number(values[0])),
            "strdup": lambda values, place: self._copied(values[0], _MOST, place),
            "strndup": lambda values, place: self._copied(values[0], _number(values[1]), place),
            "free": lambda values, place: self._free(values[0], place),
            "__errno_location": lambda values, place: self._error_number(),
        }
        #: C's errno, as soon as the program asks for it.
        self._errno: Object | None = None

    def find(self, callee: Callee) -> Managed | None:
        """What a function of C's is here; None where it is none of those that allocate."""
        name = _names().get(callee.address) if callee.address else None
        return self._functions[name] if name is not None and _ARGUMENTS[name] == len(callee.params) else None

    def call(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Call C, which finds errno as the program has left it. (What Python does in between changes the process's own.)"""
        known = self._errno
        if known is None:
            return function(*arguments)
        ctypes.set_errno(int(known.view.view(np.int32)[0]))
        result = function(*arguments)
        known.view.view(np.int32)[0] = ctypes.get_errno()
        return result

    def _error_number(self) -> Object:
        if self._errno is None:
            self._errno = self._memory.make(4, 4, "errno")
            self._errno.view.view(np.int32)[0] = ctypes.get_errno()
        return self._errno

    def returned(self, callee: Callee, address: int) -> None:
        """C has returned an address."""
        if callee.address and callee.name in _CLASSES and address:
            size = _CLASSES[callee.name]
            table = int.from_bytes(ctypes.string_at(address, 8), "little") - _BELOW * size
            self._memory.lend(address, address + 8, False, callee.name)
            self._memory.lend(table, table + (_BELOW + 256) * size, False, f"the table of {callee.name}")
        else:
            self._returned.add(address)

    def _new(self, size: int, place: Place, align: int = _ALIGN) -> Object | None:
        if size > _MOST or not 0 < align <= _MOST_ALIGNED or align & align - 1:
            return None
        name, line = place
        try:
            return self._memory.allocate(size, max(align, _ALIGN), f"the {size} bytes that {name} allocated{_in(line)}")
        except MemoryError:
            return None

    def _free(self, value: Any, place: Place) -> None:
        address = _number(value)
        if not address:
            return
        if type(value) is not Pointer and address in self._returned:
            self._returned.discard(address)
            _library().free(ctypes.c_void_p(address))
            return
        self._end(self._allocated(value), place)

    def _end(self, made: Object, place: Place) -> None:
        self._memory.end(made, f"which {place[0]} freed{_in(place[1])}")

    def _allocated(self, value: Any) -> Object:
        """The object that a pointer is to the first byte of."""
        address = _number(value)
        made = value.origin if type(value) is Pointer else self._memory.near(address)
        if made is None:
            raise HeapError(f"address {address:#x} is not of memory that the program has allocated")
        if not made.allocated:
            raise HeapError(f"address {address:#x} is {beside(address, made)}, which is not freed: it has not been allocated")
        if made.ended:
            raise HeapError(f"address {address:#x} is {beside(address, made)}, {made.ended} already")
        if address != made.low:
            raise HeapError(f"address {address:#x} is {beside(address, made)}, {address - made.low} bytes from its beginning, by which it is to be freed")
        return made

    def _resized(self, value: Any, size: int, place: Place) -> Object | None:
        if not _number(value):
            return self._new(size, place)
        old = self._allocated(value)
        if not size:
            self._end(old, place)
            return None
        made = self._new(size, place)
        if made is None:
            return None
        kept = min(size, old.high - old.low)
        made.view[:kept] = old.view[:kept]
        made.pointers = {at: each for at, each in old.pointers.items() if at + 8 <= kept}
        self._end(old, place)
        return made

    def _copied(self, value: Any, most: int, place: Place) -> Object | None:
        """A copy of a string, of so many bytes at most."""
        address = _number(value)
        held = value.origin if type(value) is Pointer else self._memory.at(address, 1, False)
        if held is None:
            # (C's own.)
            text = ctypes.string_at(address)[:most]
        else:
            if not held.allows(address, 1, False):
                raise HeapError(f"address {address:#x} (a string) {self._memory.problem(address, 1, False, held)}")
            rest = held.view[address - held.low :][:most]
            ends = np.flatnonzero(rest == 0)
            if not len(ends) and len(rest) < most:
                raise HeapError(f"address {address:#x} (a string) is in {held.name}, where it has no end")
            text = rest[: int(ends[0]) if len(ends) else len(rest)].tobytes()
        made = self._new(len(text) + 1, place)
        if made is not None:
            made.view[: len(text)] = np.frombuffer(text, np.uint8)
        return made
