"""Telling debuggers and profilers of compiled code, once that is asked for.

GDB's JIT interface (*Debugging with GDB*, "JIT Compilation Interface"): a list of object files in memory, and a function that is called when it changes, at which GDB has a
breakpoint. GDB finds both by their names in a library, which is made here. Perf (the kernel's tools/perf/Documentation/jit-interface.txt and jitdump-specification.txt): a text file
with addresses and names, or a file with the code itself and its lines, which ``perf inject`` reads.
"""

from __future__ import annotations

import atexit
import ctypes
import mmap
import os
import platform
import struct
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from loopwright.errors import ArgumentError, TargetError
from loopwright.objects import unwind
from loopwright.objects.program import Placed, in_memory
from loopwright.runtime import elf, memory
from loopwright.runtime.entry import Way
from loopwright.targets import registry

__all__ = ["debugger", "from_environment", "perf"]

#: The numbers of ``jit_actions_t``.
_REGISTER: Final = 1
_UNREGISTER: Final = 2

#: By ``platform.machine()``: the number in object files, and a function that returns at once.
_RETURNS: Final = {
    "x86_64": (62, b"\x90\xc3"),
    "aarch64": (183, b"\x1f\x20\x03\xd5\xc0\x03\x5f\xd6"),
    "riscv64": (243, b"\x01\x00\x82\x80"),
}


class _Entry(ctypes.Structure):
    """struct jit_code_entry."""


_Entry._fields_ = (("next", ctypes.POINTER(_Entry)), ("prev", ctypes.POINTER(_Entry)), ("file", ctypes.c_void_p), ("size", ctypes.c_uint64))


class _Descriptor(ctypes.Structure):
    """struct jit_descriptor."""

    _fields_ = (("version", ctypes.c_uint32), ("action", ctypes.c_uint32), ("relevant", ctypes.POINTER(_Entry)), ("first", ctypes.POINTER(_Entry)))


class Gdb:
    """GDB's list. (What is written here is read by the debugger while the process stands still.)"""

    def __init__(self) -> None:
        machine, code = _machine()
        # Breakpoints cannot be written to pages that are shared with a file.
        memory.leave_arenas()
        # Any of the machine's will do.
        self._target = next(registry.get(name) for name in registry.names() if (known := registry.machine_of(name)) is not None and known.runs_here())
        self._lock = threading.Lock()
        with tempfile.NamedTemporaryFile(prefix="loopwright-jit-", suffix=".so", delete=False) as file:
            file.write(elf.library(machine, "__jit_debug_register_code", code, "__jit_debug_descriptor", struct.pack("<IIQQ", 1, 0, 0, 0)))
        # A debugger that comes later opens it again.
        atexit.register(_remove, file.name)
        library = ctypes.CDLL(file.name)
        self._changed: Any = library["__jit_debug_register_code"]
        self._changed.restype, self._changed.argtypes = None, []
        self._descriptor = _Descriptor.in_dll(library, "__jit_debug_descriptor")
        self._known: dict[int, tuple[Any, Any]] = {}
        self._left: deque[int] = deque()  # of the known, those whose blocks are gone

    def told(self, block: memory.Block, placed: Sequence[Placed]) -> None:
        made = in_memory(placed, block.address, block.size, self._target)
        held = ctypes.create_string_buffer(made, len(made))
        entry = _Entry(None, None, ctypes.addressof(held), len(made))
        with self._lock:
            first = self._descriptor.first
            entry.next = first
            if first:
                first.contents.prev = ctypes.pointer(entry)
            key = ctypes.addressof(entry)
            self._known[key] = entry, held
            self._descriptor.first = ctypes.pointer(entry)
            self._say(_REGISTER, entry)
        weakref.finalize(block, self._gone, key).atexit = False
        self._forget()

    def _gone(self, key: int) -> None:
        # (A garbage collection may end a block while the list is being changed, in this thread or another: who does that forgets it then.)
        self._left.append(key)
        self._forget()

    def _forget(self) -> None:
        """Forget the blocks that are gone, unless that is being done, or the list is being changed."""
        while self._left and self._lock.acquire(blocking=False):
            try:
                while self._left:
                    self._take_out(self._left.popleft())
            finally:
                self._lock.release()

    def _take_out(self, key: int) -> None:
        entry, _ = self._known[key]
        if entry.prev:
            entry.prev.contents.next = entry.next
        else:
            self._descriptor.first = entry.next
        if entry.next:
            entry.next.contents.prev = entry.prev
        self._say(_UNREGISTER, entry)
        del self._known[key]

    def _say(self, action: int, entry: Any) -> None:
        self._descriptor.action = action
        self._descriptor.relevant = ctypes.pointer(entry)
        self._changed()
        self._descriptor.action = 0


class PerfMap:
    """/tmp/perf-PID.map: address, size and name of each function, in hexadecimal."""

    def __init__(self) -> None:
        # Perf looks there for anonymous memory alone.
        memory.leave_arenas()
        self.file = open(os.path.join("/tmp", f"perf-{os.getpid()}.map"), "a", encoding="utf-8")  # noqa: SIM115 - as long as the process
        self._lock = threading.Lock()

    def told(self, block: memory.Block, placed: Sequence[Placed]) -> None:
        lines = [f"{block.address + each.start:x} {each.size:x} {each.name}\n" for each in placed]
        with self._lock:
            self.file.write("".join(lines))
            self.file.flush()


class PerfDump:
    """jit-PID.dump in the current folder. ``perf record -k mono``, then ``perf inject --jit -i perf.data -o named.data``."""

    _HEADER: Final = struct.Struct("<IIIIIIQQ")
    _LOAD: Final = 0
    _LINES: Final = 2

    def __init__(self) -> None:
        machine, _ = _machine()
        self.path = os.path.join(os.getcwd(), f"jit-{os.getpid()}.dump")
        try:
            self._file = open(self.path, "w+b", buffering=0)  # noqa: SIM115 - as long as the process
        except OSError as error:
            raise ArgumentError(f"{self.path} cannot be written: {error.strerror}") from None
        self._file.write(self._HEADER.pack(0x4A695444, 1, self._HEADER.size, machine, 0, os.getpid(), time.monotonic_ns(), 0))
        # That the file is mapped for execution is what perf knows it by.
        self._mapped = mmap.mmap(self._file.fileno(), self._HEADER.size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
        self._lock = threading.Lock()
        self._number = 0

    def told(self, block: memory.Block, placed: Sequence[Placed]) -> None:
        with self._lock:
            for each in placed:
                address, compiled = block.address + each.start, each.compiled
                listed = compiled.listing() if compiled is not None else []
                rows = [(address + offset, line) for offset, _, _, line in listed if line]
                if rows and compiled is not None:
                    source = (compiled.source.file or "<text>").encode() + b"\0"
                    body = struct.pack("<QQ", address, len(rows)) + b"".join(struct.pack("<QII", at, line, 0) + source for at, line in rows)
                    self._record(self._LINES, body)
                numbers = struct.pack("<IIQQQQ", os.getpid(), threading.get_native_id(), address, address, each.size, self._number)
                self._record(self._LOAD, numbers + each.name.encode() + b"\0" + ctypes.string_at(address, each.size))
                self._number += 1

    def _record(self, kind: int, body: bytes) -> None:
        # A multiple of 8 in all.
        body += bytes(-len(body) % 8) if kind == self._LINES else b""
        self._file.write(struct.pack("<IIQ", kind, 16 + len(body), time.monotonic_ns()) + body)


def _machine() -> tuple[int, bytes]:
    known = _RETURNS.get(platform.machine())
    if known is None or not os.path.exists("/proc/self/maps"):
        raise TargetError("debuggers and profilers are told of compiled code on Linux alone, on x86-64, AArch64 and RISC-V")
    return known


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


#: Who is told, by what it is called.
_listeners: Final[dict[str, Any]] = {}


def _listen(kind: str) -> None:
    """Tell ``gdb``, ``map`` or ``dump`` (perf) of all code that is made from now on. A second time does nothing."""
    if not _listeners:
        memory.LOADED.append(_tell)
    if kind not in _listeners:
        _listeners[kind] = {"gdb": Gdb, "map": PerfMap, "dump": PerfDump}[kind]()


def _tell(block: memory.Block, parts: Sequence[tuple[int, Any]]) -> None:
    """Say what is in a block of memory."""
    placed: list[Placed] = []
    for start, part in parts:
        if isinstance(part, Way):
            placed.append(Placed(start, f"{part.name} from Python", len(part.code), part.frames()))
        else:
            placed.append(Placed(start, part.source.name, part.machine.code_size, unwind.steps(part), part))
    for listener in tuple(_listeners.values()):
        listener.told(block, placed)


def debugger() -> None:
    """Tell GDB of all code that is compiled from now on: names of functions, lines of the source, and frames, for backtraces through them.

    It takes about an eighth of what compiling takes. ``LOOPWRIGHT_DEBUGGER=1`` in the environment does the same from the beginning. GDB may come later (``gdb -p``).

    Raises:
        TargetError: elsewhere than on Linux.
    """
    _listen("gdb")


def perf(kind: str = "map") -> None:
    """Tell ``perf`` of all code that is compiled from now on; ``LOOPWRIGHT_PERF=map`` or ``dump`` in the environment does so from the beginning.

    Args:
        kind: ``map``: names, in /tmp/perf-PID.map, which ``perf report`` reads. ``dump``: names, code and lines, in jit-PID.dump in the current folder, for ``perf record -k mono``
            and ``perf inject --jit``.

    Raises:
        ArgumentError: another kind, or a file that cannot be written.
        TargetError: elsewhere than on Linux.
    """
    if kind not in ("map", "dump"):
        raise ArgumentError(f"perf is told by a 'map' or a 'dump', not by {kind!r}")
    _machine()
    _listen(kind)


def from_environment() -> None:
    """What the environment asks for."""
    if os.environ.get(memory.ENVIRONMENT_DEBUGGER, "0") not in ("", "0"):
        debugger()
    kind = os.environ.get(memory.ENVIRONMENT_PERF, "0")
    if kind not in ("", "0"):
        perf(kind)
