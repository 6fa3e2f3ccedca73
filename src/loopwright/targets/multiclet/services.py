"""What the simulator does for C programs besides input and output: files of this machine, and the time.

A program stores three words and then what to do, all to ``simulator.SERVICE``, and loads the result from there: a number that is not negative, or an error's number of C's, negated.
"""

from __future__ import annotations

import errno
import os
from typing import Final

from loopwright.targets.multiclet.simulator import Simulator

__all__ = ["CYCLES_A_MICROSECOND", "Services"]

#: The clock that programs are told of (100 MHz: assumed).
CYCLES_A_MICROSECOND: Final = 100
#: What to do.
_OPEN, _CLOSE, _READ, _WRITE, _SEEK, _REMOVE, _RENAME, _MICROSECONDS = range(1, 9)
#: How a file is opened: to be read, written, made, emptied, written at its end; only if it is not there.
_FLAGS: Final = ((1, os.O_RDONLY), (2, os.O_WRONLY), (4, os.O_CREAT), (8, os.O_TRUNC), (16, os.O_APPEND), (32, os.O_EXCL))
#: The first number of a file that a program opens: those before are the standard streams.
_FIRST: Final = 3


class Services:
    """Of one run of a program. Files are the user's own, by their names, as for a program that runs on this machine."""

    def __init__(self) -> None:
        self.files: dict[int, int] = {}

    def __call__(self, simulator: Simulator, what: int, words: tuple[int, int, int]) -> int:
        try:
            return self._done(simulator, what, words)
        except OSError as error:
            return -(error.errno or errno.EIO)

    def close(self) -> None:
        """Close what the program has left open."""
        for opened in self.files.values():
            os.close(opened)
        self.files = {}

    def _done(self, simulator: Simulator, what: int, words: tuple[int, int, int]) -> int:
        first, second, third = words
        if what == _OPEN:
            return self._open(_text(simulator, first), second)
        if what == _MICROSECONDS:
            # (The lower and the upper 31 bits.)
            return simulator.elapsed // CYCLES_A_MICROSECOND >> (31 if first else 0) & 0x7FFFFFFF
        if what == _REMOVE:
            os.unlink(_text(simulator, first))
            return 0
        if what == _RENAME:
            os.rename(_text(simulator, first), _text(simulator, second))
            return 0
        file = self.files.get(first)
        if file is None:
            return -errno.EBADF
        if what == _CLOSE:
            os.close(self.files.pop(first))
            return 0
        if what == _SEEK:
            return os.lseek(file, second, third)
        if what in (_READ, _WRITE):
            return _moved(simulator, file, second, third, what == _READ)
        return -errno.ENOSYS

    def _open(self, name: bytes, flags: int) -> int:
        both = flags & 3 == 3
        bits = os.O_RDWR if both else 0
        for flag, bit in _FLAGS:
            if flags & flag and not (both and flag < 4):
                bits |= bit
        opened = os.open(name, bits | os.O_CLOEXEC, 0o666)
        number = _FIRST
        while number in self.files:
            number += 1
        self.files[number] = opened
        return number


def _text(simulator: Simulator, address: int) -> bytes:
    memory = simulator.memory
    if not simulator.program.readable <= address < len(memory):
        raise OSError(errno.EFAULT, "")
    return bytes(memory[address : memory.index(0, address)])


def _moved(simulator: Simulator, file: int, address: int, size: int, reads: bool) -> int:
    """Bytes from a file to memory, or the other way; as many as have been moved."""
    program = simulator.program
    low = program.writable if reads else program.readable
    if size < 0 or address < low or address + size > program.memory:
        return -errno.EFAULT
    if reads:
        given = os.read(file, size)
        simulator.memory[address : address + len(given)] = given
        return len(given)
    return os.write(file, simulator.memory[address : address + size])
