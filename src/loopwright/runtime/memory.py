"""Memory for machine code, in which no page is writable and executable at once.

On Linux on x86-64 code lives in *arenas*. An arena is an anonymous file (``memfd_create``), mapped shared, readable
and executable, for as long as code in it is in use. It is written with ``pwrite``: the kernel copies the bytes into the
file's pages, and the mapping shows them at once. No page of it is ever mapped writable, at this or at any other
address, and no protection is ever changed, so other threads go on executing functions of the very page that a
new function is being written to.

Small functions share pages. Each takes whole cache lines of 64 bytes, so no line holds two functions. What
belongs to no function is filled with INT3 (0xCC): a stray jump traps.

Instruction fetch sees the new bytes: caches are coherent by physical address, and a processor that runs code
written through another linear address has only to execute a serialising instruction first (Intel SDM vol. 3, 9.1.3 "Handling
Self- and Cross-Modifying Code" and 12.6 "Self-Modifying Code"). Space that has held no code comes first, therefore; what held other code is handed out once
there is none, and only after ``membarrier`` has made every running thread of the process do so (MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, made for this case).

A fork shares the file, so what one process wrote later would appear in the other. Therefore a fork freezes the
arenas of both: what is in them stays as it is, and new code goes to new arenas.

Where there is no memfd (macOS, Windows, other Unixes), or the system forbids to map one executable, and on processors other than
x86-64, each function has pages of its own: mapped readable and writable, filled, then made readable and executable before anything can
run in them. Only the Linux paths are tested; those for macOS and Windows are written after the manuals.
"""

from __future__ import annotations

import bisect
import collections
import contextlib
import ctypes
import errno
import mmap
import os
import platform
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

__all__ = [
    "ENVIRONMENT_DEBUGGER",
    "ENVIRONMENT_PERF",
    "LINE",
    "LOADED",
    "MAPPED",
    "Block",
    "MemoryStatistics",
    "allocate",
    "leave_arenas",
    "map_pages",
    "statistics",
    "tell",
    "unmap",
]

#: Functions start at, and occupy whole, lines of this many bytes.
LINE: Final = 64
#: What lies between functions: INT3.
TRAP: Final = b"\xcc"
PAGE: Final = mmap.PAGESIZE
ARENA_SIZE: Final = 1 << 20
#: An arena's pages are given their INT3s this many bytes at a time, when they are first reached.
GROWTH: Final = max(1 << 15, PAGE)

#: Where the offset of an arena's file stands at least: further on than files are long.
_LEAST_MARK: Final = 1 << 56

_MFD_CLOEXEC: Final = 1
_MFD_NOEXEC_SEAL: Final = 8
# linux/membarrier.h
_MEMBARRIER_SYNC_CORE: Final = 1 << 5
_MEMBARRIER_REGISTER_SYNC_CORE: Final = 1 << 6
_SYS_MEMBARRIER_X86_64: Final = 324
# As ctypes objects, made once: a variadic function's arguments have no prototype.
_SERIALISE: Final = (ctypes.c_long(_SYS_MEMBARRIER_X86_64), ctypes.c_int(_MEMBARRIER_SYNC_CORE), ctypes.c_int(0), ctypes.c_int(0))
_REGISTER: Final = (ctypes.c_long(_SYS_MEMBARRIER_X86_64), ctypes.c_int(_MEMBARRIER_REGISTER_SYNC_CORE), ctypes.c_int(0), ctypes.c_int(0))

_PROT_READ: Final = 1
_PROT_WRITE: Final = 2
_PROT_EXEC: Final = 4
_MAP_SHARED: Final = 1
_MAP_PRIVATE: Final = 2
_MAP_ANONYMOUS: Final = 0x20 if sys.platform.startswith("linux") else 0x1000

#: How many mappings are noted in MAPPED.
_NOTED: Final = 255
#: Where code may be: how many ranges follow, and the first and past-the-last address of each (0 and 0: none). Machine code reads it (faults.py).
MAPPED: Final = (ctypes.c_uint64 * (1 + 2 * _NOTED))()

Fill = Callable[[int], bytes]


def _note(address: int, length: int) -> None:
    """A mapping for code has been made. The lock is held."""
    for k in range(1, 2 * _NOTED, 2):
        if not MAPPED[k + 1]:
            MAPPED[k] = address
            MAPPED[k + 1] = address + length
            MAPPED[0] = max(MAPPED[0], k // 2 + 1)
            return


def _forget(address: int) -> None:
    """It is about to go. The lock is held."""
    for k in range(1, 2 * int(MAPPED[0]), 2):
        if MAPPED[k] == address:
            MAPPED[k + 1] = MAPPED[k] = 0


class Block:
    """Executable memory that holds one function; freed with its last reference, or by ``free``.

    Attributes:
        address: of the first byte.
        size: bytes asked for.
    """

    __slots__ = ("__weakref__", "_length", "_owner", "address", "size")

    def __init__(self, owner: _Arena | _Pages, address: int, size: int, length: int) -> None:
        self._owner: _Arena | _Pages | None = owner
        self.address = address
        self.size = size
        self._length = length

    def free(self) -> None:
        """Give the memory back. Nothing may be running in it, nor be called in it again. A second call does nothing."""
        owner = self._owner
        if owner is not None:
            self._owner = None
            _release(owner, self.address, self._length)

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # During the interpreter's shutdown, when this module's names may be gone already, the memory is left as it is.
        if not is_finalizing():
            self.free()

    def read(self) -> bytes:
        """The bytes as they are in memory."""
        if self._owner is None:
            raise ValueError("the block has been freed")
        return ctypes.string_at(self.address, self.size)

    def __repr__(self) -> str:
        return f"<Block {self.size} bytes at {self.address:#x}{' (freed)' if self._owner is None else ''}>"


#: Anything but 0 there: GDB is told of all code.
ENVIRONMENT_DEBUGGER: Final = "LOOPWRIGHT_DEBUGGER"
#: ``map`` or ``dump``: perf is.
ENVIRONMENT_PERF: Final = "LOOPWRIGHT_PERF"
#: Called with each block of code, and what begins where in it: functions that are compiled, and ways to them (``entry.Way``). See ``runtime/debug.py``.
LOADED: Final[list[Callable[[Block, Sequence[tuple[int, Any]]], None]]] = []


def tell(block: Block, parts: Sequence[tuple[int, Any]]) -> None:
    """Tell those who want to know what a block holds."""
    for told in LOADED:
        told(block, parts)


class MemoryStatistics:
    """How much executable memory is in use.

    Attributes:
        mapped: bytes of address space mapped executable.
        used: bytes handed out, in whole lines or pages.
        arenas: number of mappings.
    """

    __slots__ = ("arenas", "mapped", "used")

    def __init__(self, mapped: int, used: int, arenas: int) -> None:
        self.mapped = mapped
        self.used = used
        self.arenas = arenas


class _Pages:
    """Pages of one function."""

    __slots__ = ("address", "length")

    def __init__(self, address: int, length: int) -> None:
        self.address = address
        self.length = length


class _Arena:
    """A file mapped executable, and what of it is free.

    ``starts`` and ``lengths`` list the free ranges by ascending offset; no two touch. Bytes from ``filled`` on have never
    been written. ``fresh`` is the offset up to which space has been handed out before. ``mark`` is where the file's offset stands, by which it is known again.
    """

    __slots__ = ("address", "fd", "filled", "fresh", "length", "lengths", "mark", "pid", "starts", "used")

    def __init__(self, length: int) -> None:
        self.length = length
        self.fd = _memfd()
        try:
            os.ftruncate(self.fd, length)
            self.mark = os.lseek(self.fd, _LEAST_MARK + int.from_bytes(os.urandom(7), "little"), os.SEEK_SET)
            self.address = _map(length, _PROT_READ | _PROT_EXEC, _MAP_SHARED, self.fd)
        except BaseException:
            os.close(self.fd)
            raise
        self.pid = os.getpid()
        self.filled = 0
        self.fresh = 0
        self.used = 0
        self.starts = [0]
        self.lengths = [length]

    def writable(self) -> bool:
        """Whether the file can still be written: not frozen by a fork, and its descriptor still names it.

        A program that turns itself into a daemon closes descriptors it does not know, and the next file it opens gets
        the number: that must not be the one the code is written to.
        """
        if self.fd < 0:
            return False
        if self.pid != os.getpid():
            self.freeze()
        elif not self._named():
            self.fd = -1
        return self.fd >= 0

    def _named(self) -> bool:
        """Whether the descriptor still names the file: nobody else has one whose offset stands at the mark, a random number, and ``pwrite`` does not move it."""
        try:
            return os.lseek(self.fd, 0, os.SEEK_CUR) == self.mark
        except OSError:
            return False

    def freeze(self) -> None:
        """Never write to it again; what is in it stays executable."""
        if self.fd >= 0:
            if self._named():
                with contextlib.suppress(OSError):
                    os.close(self.fd)
            self.fd = -1
        self.starts = []
        self.lengths = []

    def unmap(self) -> None:
        self.freeze()
        _unmap(self.address, self.length)

    def take(self, length: int, align: int) -> int:
        """The offset of a range of ``length`` bytes, now no longer free, or -1: of one that has held no code, or else of the first that has room."""
        # What has held no code is at the end.
        last = len(self.starts) - 1
        offset = self._within(last, self.fresh, length, align) if last >= 0 else -1
        if offset >= 0:
            return offset
        for k in range(last + 1):
            offset = self._within(k, 0, length, align)
            if offset >= 0:
                return offset
        return -1

    def _within(self, k: int, least: int, length: int, align: int) -> int:
        """Take ``length`` bytes of a free range, at ``least`` or behind; -1 where there is no room."""
        start, size = self.starts[k], self.lengths[k]
        offset = -(-(self.address + max(start, least)) // align) * align - self.address
        before = offset - start
        spare = size - before - length
        if spare < 0:
            return -1
        if before and spare:
            self.lengths[k] = before
            self.starts.insert(k + 1, offset + length)
            self.lengths.insert(k + 1, spare)
        elif before:
            self.lengths[k] = before
        elif spare:
            self.starts[k] = offset + length
            self.lengths[k] = spare
        else:
            del self.starts[k], self.lengths[k]
        self.used += length
        return offset

    def give(self, offset: int, length: int) -> None:
        """Make a range free again, joining it with free neighbours."""
        starts, lengths = self.starts, self.lengths
        k = bisect.bisect_left(starts, offset)
        joins_left = k > 0 and starts[k - 1] + lengths[k - 1] == offset
        joins_right = k < len(starts) and offset + length == starts[k]
        if joins_left and joins_right:
            lengths[k - 1] += length + lengths[k]
            del starts[k], lengths[k]
        elif joins_left:
            lengths[k - 1] += length
        elif joins_right:
            starts[k] = offset
            lengths[k] += length
        else:
            starts.insert(k, offset)
            lengths.insert(k, length)

    def write(self, offset: int, data: bytes) -> None:
        """Write a range. The lock is held, and the file is writable."""
        end = offset + len(data)
        try:
            while self.filled < end:
                step = min(GROWTH, self.length - self.filled)
                self._put(self.filled, TRAP * step)
                self.filled += step
            self._put(offset, data)
        except OSError as error:
            raise MemoryError(f"machine code cannot be written: {error}") from error
        if offset < self.fresh:
            _serialise()
        self.fresh = max(self.fresh, end)

    def _put(self, offset: int, data: bytes) -> None:
        done = os.pwrite(self.fd, data, offset)
        while done < len(data):
            done += os.pwrite(self.fd, data[done:], offset + done)


# Guards everything below. It is never taken by `Block.free`, which a garbage collection may call in the middle of any
# of these functions in the same thread: freed ranges go to `_freed`, and whoever can take the lock without waiting sorts them in.
_lock = threading.Lock()
_arenas: list[_Arena] = []
_pages: dict[int, _Pages] = {}
_freed: collections.deque[tuple[_Arena | _Pages, int, int]] = collections.deque()
_arenas_work = sys.platform.startswith("linux") and platform.machine() in ("x86_64", "AMD64") and hasattr(os, "memfd_create")


def allocate(data: bytes | int, align: int = LINE, fill: Fill | None = None) -> Block:
    """Executable memory with the given contents.

    Args:
        data: the bytes; or, with ``fill``, how many there will be.
        align: of the first byte; a power of two, at most a page.
        fill: called with the address to make the bytes, for code that has to know where it will stand.

    Raises:
        MemoryError: there is no memory, or the system forbids programs to make executable memory.
    """
    size = data if isinstance(data, int) else len(data)
    if size <= 0:
        raise ValueError("machine code has at least one byte")
    if align <= 0 or align & (align - 1) or align > PAGE:
        raise ValueError(f"alignment {align}: a power of two up to {PAGE} is expected")
    if isinstance(data, int) and fill is None:
        raise ValueError("either the bytes or a function that makes them is needed")
    if _arenas_work:
        block = _allocate_in_arena(data, size, max(align, LINE), fill)
        if block is not None:
            return block
    return _allocate_pages(data, size, fill)


def leave_arenas() -> None:
    """From now on each function has pages of its own, which are no file's."""
    global _arenas_work
    _arenas_work = False


def statistics() -> MemoryStatistics:
    """How much executable memory this process has now."""
    with _lock:
        _sort_in_freed()
        mapped = sum(arena.length for arena in _arenas) + sum(pages.length for pages in _pages.values())
        used = sum(arena.used for arena in _arenas) + sum(pages.length for pages in _pages.values())
        return MemoryStatistics(mapped, used, len(_arenas) + len(_pages))


def _contents(data: bytes | int, size: int, fill: Fill | None, address: int) -> bytes:
    made = fill(address) if fill is not None else data
    assert isinstance(made, bytes | bytearray | memoryview)
    if len(made) != size:
        raise ValueError(f"{size} bytes were announced, {len(made)} came")
    return bytes(made)


# --- arenas --------------------------------------------------------------------------------------------------


def _allocate_in_arena(data: bytes | int, size: int, align: int, fill: Fill | None) -> Block | None:
    global _arenas_work
    length = -(-size // LINE) * LINE
    with _lock:
        _sort_in_freed()
        arena = None
        offset = -1
        for candidate in _arenas:
            if candidate.writable():
                offset = candidate.take(length, align)
                if offset >= 0:
                    arena = candidate
                    break
        if arena is None:
            try:
                arena = _Arena(max(ARENA_SIZE, -(-length // PAGE) * PAGE))
            except OSError as error:
                if error.errno == errno.ENOMEM:
                    raise MemoryError("no address space for machine code") from error
                # A policy against it (SELinux, seccomp, vm.memfd_noexec): pages of its own for each function.
                _arenas_work = False
                return None
            _arenas.append(arena)
            _note(arena.address, arena.length)
            offset = arena.take(length, align)
        block = Block(arena, arena.address + offset, size, length)
        if fill is None and isinstance(data, bytes):
            arena.write(offset, data + TRAP * (length - size))
            return block
    # The range is this block's own from here on, and the caller's function runs without the lock. Writing takes it again,
    # for a fork may have frozen the arena meanwhile.
    contents = _contents(data, size, fill, block.address) + TRAP * (length - size)
    with _lock:
        if arena.writable():
            arena.write(offset, contents)
            return block
    return _allocate_in_arena(data, size, align, fill)


def _release(owner: _Arena | _Pages, address: int, length: int) -> None:
    _freed.append((owner, address, length))
    if _lock.acquire(blocking=False):
        try:
            _sort_in_freed()
        finally:
            _lock.release()


def _sort_in_freed() -> None:
    """Take freed ranges back. The lock is held."""
    while _freed:
        try:
            owner, address, length = _freed.popleft()
        except IndexError:
            return
        if isinstance(owner, _Pages):
            _pages.pop(address, None)
            _forget(owner.address)
            _unmap(owner.address, owner.length)
            continue
        owner.used -= length
        if owner.writable():
            offset = address - owner.address
            try:
                owner._put(offset, TRAP * length)
            except OSError:
                owner.freeze()
            else:
                owner.give(offset, length)
        if owner.used == 0 and (owner.fd < 0 or owner.length > ARENA_SIZE or any(a is not owner and a.fd >= 0 for a in _arenas)):
            _arenas.remove(owner)
            _forget(owner.address)
            owner.unmap()


def _memfd() -> int:
    # MFD_NOEXEC_SEAL (Linux 6.3) forbids to execute the file as a program, which is not what it is for; it can still be
    # mapped executable, and it is what a system with vm.memfd_noexec set insists on.
    try:
        return os.memfd_create("loopwright", _MFD_CLOEXEC | _MFD_NOEXEC_SEAL)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return os.memfd_create("loopwright", _MFD_CLOEXEC)


_membarrier_ready: bool | None = None


def _serialise() -> None:
    """Every thread of the process that is running executes a serialising instruction before this returns."""
    global _membarrier_ready
    libc = _libc()
    if _membarrier_ready is None:
        _membarrier_ready = libc.syscall(*_REGISTER) == 0
    # Without it (Linux before 4.16) the interrupts and page faults between writing and the first call have to do.
    if _membarrier_ready:
        libc.syscall(*_SERIALISE)


# --- forks ---------------------------------------------------------------------------------------------------


def _before_fork() -> None:
    _lock.acquire()
    for arena in _arenas:
        arena.freeze()


def _after_fork() -> None:
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


# --- pages of one function -----------------------------------------------------------------------------------


def _allocate_pages(data: bytes | int, size: int, fill: Fill | None) -> Block:
    length = -(-size // PAGE) * PAGE
    try:
        address = _map_private(length)
        pages = _Pages(address, length)
        try:
            contents = _contents(data, size, fill, address) + TRAP * (length - size)
            ctypes.memmove(address, contents, length)
            _make_executable(address, length)
        except BaseException:
            _unmap(address, length)
            raise
    except OSError as error:
        raise MemoryError(f"no executable memory: {error}. The system may forbid programs to make code at run time.") from error
    with _lock:
        _sort_in_freed()
        _pages[address] = pages
        _note(address, length)
    return Block(pages, address, size, length)


# --- the system ----------------------------------------------------------------------------------------------

_library: Any = None


def _libc() -> Any:
    global _library
    if _library is None:
        library: Any = ctypes.CDLL(None, use_errno=True)
        library.mmap.restype = ctypes.c_void_p
        library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        _library = library
    return _library


def _failed() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))


def map_pages(length: int, wish: int) -> int:
    """Pages that may be read and written, at an address that is wished for or where else the system puts them. Raises ``OSError``."""
    return _map(length, _PROT_READ | _PROT_WRITE, _MAP_PRIVATE | _MAP_ANONYMOUS, -1, wish)


def unmap(address: int, length: int) -> None:
    """Give pages back."""
    _libc().munmap(address, length)


def _map(length: int, protection: int, flags: int, fd: int, wish: int | None = None) -> int:
    address = _libc().mmap(wish, length, protection, flags, fd, 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        raise _failed()
    return int(address)


if sys.platform == "win32":
    # Untested. https://learn.microsoft.com/windows/win32/api/memoryapi/
    _MEM_COMMIT_RESERVE: Final = 0x3000
    _MEM_RELEASE: Final = 0x8000
    _PAGE_READWRITE: Final = 0x04
    _PAGE_EXECUTE_READ: Final = 0x20

    def _kernel32() -> Any:
        global _library
        if _library is None:
            library: Any = ctypes.WinDLL("kernel32", use_last_error=True)
            library.VirtualAlloc.restype = ctypes.c_void_p
            library.VirtualAlloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_uint32]
            library.VirtualFree.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32]
            library.VirtualProtect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p]
            library.FlushInstructionCache.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
            _library = library
        return _library

    def _map_private(length: int) -> int:
        address = _kernel32().VirtualAlloc(None, length, _MEM_COMMIT_RESERVE, _PAGE_READWRITE)
        if not address:
            raise ctypes.WinError(ctypes.get_last_error())
        return int(address)

    def _make_executable(address: int, length: int) -> None:
        before = ctypes.c_uint32()
        if not _kernel32().VirtualProtect(address, length, _PAGE_EXECUTE_READ, ctypes.byref(before)):
            raise ctypes.WinError(ctypes.get_last_error())
        _kernel32().FlushInstructionCache(ctypes.c_void_p(-1), address, length)

    def _unmap(address: int, length: int) -> None:
        _kernel32().VirtualFree(address, 0, _MEM_RELEASE)

else:

    def _map_private(length: int) -> int:
        return _map(length, _PROT_READ | _PROT_WRITE, _MAP_PRIVATE | _MAP_ANONYMOUS, -1)

    def _make_executable(address: int, length: int) -> None:
        # Linux on AArch64 makes the caches agree when a page first becomes executable; macOS on it demands MAP_JIT of
        # programs with the hardened runtime, which Python from python.org is not.
        if _libc().mprotect(address, length, _PROT_READ | _PROT_EXEC) != 0:
            raise _failed()

    def _unmap(address: int, length: int) -> None:
        if _libc().munmap(address, length) != 0:
            raise _failed()
