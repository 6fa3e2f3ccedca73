"""Running a program on a PC that Bochs emulates: for code of x86-64 that this CPU cannot run, as that for AVX-512 on one without it.

There is no operating system on that PC. A ROM of our own takes the place of its BIOS: it goes to 64-bit mode, switches the vector state on, and calls the program, which is in memory already,
behind page tables that map what the program has and nothing else. There is no table of interrupt handlers either, so that a fault ends the run. When the program ends, Bochs's debugger writes memory to
files; the status goes to port 0xE9, which Bochs copies to its standard output.

Sources: Intel SDM volume 3, 9.9.1 (switching to protected mode), 9.8.5 (to IA-32e mode), 4.5 (paging); volume 1, 13.3 (enabling the XSAVE feature set and XSAVE-enabled features); Bochs's
user manual, 4.3 (``romimage``, ``optramimage``, ``port_e9_hack``).
"""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
from typing import Final

from loopwright.errors import InternalError, TargetError
from loopwright.runtime.elf import EXECUTE, PAGE, WRITE, Segment
from loopwright.targets.machine import Emulator

__all__ = ["EXIT", "OUTPUT", "ROM", "ROM_BASE", "execute"]

#: The last 64 KiB below 4 GiB: a CPU begins 16 bytes below their end (SDM volume 3, 9.1.4).
ROM_BASE: Final = 0xFFFF_0000
#: What a program jumps to when it ends, in 64-bit mode, with al for the status.
EXIT: Final = ROM_BASE + 0x140
#: Programs leave their output in memory.
OUTPUT: Final = False

#: What the status stands behind in Bochs's output.
_STATUS: Final = b"\x02loopwright:status\x02"
#: What Bochs says when its display, at which nobody looks, finds no port to listen at, as happens now and then on a busy machine; and how often it is started.
_NO_PORT: Final = "could not bind any port"
_ATTEMPTS: Final = 4

#: Where physical memory holds the page tables, and the program behind them.
_PHYSICAL: Final = 0x10_0000
_STACK_TOP: Final = 0x7FFF_0000
_STACK_SIZE: Final = 0x10_0000
#: Flags of a page (SDM volume 3, tables 4-15 to 4-20).
_PRESENT: Final = 1
_WRITABLE: Final = 2
_NO_EXECUTE: Final = 1 << 63
#: Where programs begin.
_ENTRY: Final = 0x1_0000

#: The ROM's pieces: where they are in it, and their instructions with their bytes. The tests have an assembler say the same.
ROM: Final[tuple[tuple[int, int, tuple[tuple[str, str], ...]], ...]] = (
    # Real mode, where the CPU begins: protected mode on, by the table at 0x1C0.
    (
        0x00,
        16,
        (
            ("cli", "fa"),
            ("lgdtl %cs:0x1e0", "2e 66 0f 01 16 e0 01"),
            ("movl %cr0, %eax", "0f 20 c0"),
            ("orb $1, %al", "0c 01"),
            ("movl %eax, %cr0", "0f 22 c0"),
            ("ljmpl $8, $0xffff0020", "66 ea 20 00 ff ff 08 00"),
        ),
    ),
    # Protected mode: flat segments; a look at each megabyte (see ``execute``); PAE, SSE and XSAVE (CR4), the page tables (CR3), IA-32e mode and execute-disable (EFER), paging, write protection, no emulation (CR0).
    (
        0x20,
        32,
        (
            ("movw $0x10, %ax", "66 b8 10 00"),
            ("movw %ax, %ds", "8e d8"),
            ("movw %ax, %es", "8e c0"),
            ("movw %ax, %ss", "8e d0"),
            ("movl 0xffff0250, %ecx", "8b 0d 50 02 ff ff"),
            ("movl $0x100000, %esi", "be 00 00 10 00"),
            ("0: movl (%esi), %eax", "8b 06"),
            ("addl $0x10000, %esi", "81 c6 00 00 01 00"),
            ("loop 0b", "e2 f6"),
            ("movl $0x40620, %eax", "b8 20 06 04 00"),
            ("movl %eax, %cr4", "0f 22 e0"),
            ("movl $0x100000, %eax", "b8 00 00 10 00"),
            ("movl %eax, %cr3", "0f 22 d8"),
            ("movl $0xc0000080, %ecx", "b9 80 00 00 c0"),
            ("rdmsr", "0f 32"),
            ("orl $0x900, %eax", "0d 00 09 00 00"),
            ("wrmsr", "0f 30"),
            ("movl $0x80010033, %eax", "b8 33 00 01 80"),
            ("movl %eax, %cr0", "0f 22 c0"),
            ("ljmpl $0x18, $0xffff00a0", "ea a0 00 ff ff 18 00"),
        ),
    ),
    # IA-32e mode: vector state up to ZMM and mask registers (XCR0), the stack, the program.
    (
        0xA0,
        64,
        (
            ("xorl %ecx, %ecx", "31 c9"),
            ("xorl %edx, %edx", "31 d2"),
            ("movl $0xe7, %eax", "b8 e7 00 00 00"),
            ("xsetbv", "0f 01 d1"),
            ("movl $0x7fff0000, %esp", "bc 00 00 ff 7f"),
            ("movl $0x10000, %eax", "b8 00 00 01 00"),
            ("jmp *%rax", "ff e0"),
        ),
    ),
    # EXIT: what the status stands behind, the status, and the word that ends the emulation, to its port.
    (
        0x140,
        64,
        (
            ("movl $0xe9, %edx", "ba e9 00 00 00"),
            ("movl $0xffff0200, %esi", "be 00 02 ff ff"),
            ("movl $19, %ecx", "b9 13 00 00 00"),
            ("rep outsb", "f3 6e"),
            ("outb %al, %dx", "ee"),
            ("movl $0xffff0240, %esi", "be 40 02 ff ff"),
            ("movl $8, %ecx", "b9 08 00 00 00"),
            ("movl $0x8900, %edx", "ba 00 89 00 00"),
            ("rep outsb", "f3 6e"),
            ("hlt", "f4"),
        ),
    ),
    # The reset vector: to the ROM's first byte, because offsets have 16 bits.
    (0xFFF0, 16, (("jmp .+16", "eb 0e"),)),
)

#: Descriptors (SDM volume 3, 3.4.5): none; 32-bit code, data, 64-bit code, all flat, and marked as accessed, because a ROM cannot be.
_DESCRIPTORS: Final = (0, 0x00CF_9B00_0000_FFFF, 0x00CF_9300_0000_FFFF, 0x00AF_9B00_0000_FFFF)

_CONFIGURATION: Final = """config_interface: textconfig
display_library: rfb, options="timeout=0"
romimage: file={folder}/rom, address=0xffff0000
optramimage1: file={folder}/memory, address=0x100000
cpu: model=tigerlake, count=1, ips=1000000000, reset_on_triple_fault=0
memory: guest={megabytes}, host={megabytes}
port_e9_hack: enabled=1
plugin_ctrl: unmapped=1, speaker=0, extfpuirq=0, parallel=0, serial=0, gameport=0, iodebug=0
clock: sync=none
panic: action=fatal
error: action=ignore
info: action=report
debug: action=ignore
log: {folder}/log
"""


def _rom(megabytes: int) -> bytes:
    """The ROM's bytes, for so many megabytes of memory in use from ``_PHYSICAL`` on."""
    rom = bytearray(b"\xf4" * 0x1_0000)
    for start, _, instructions in ROM:
        code = bytes.fromhex("".join(encoded for _, encoded in instructions))
        rom[start : start + len(code)] = code
    struct.pack_into("<4Q", rom, 0x1C0, *_DESCRIPTORS)
    struct.pack_into("<HI", rom, 0x1E0, 8 * len(_DESCRIPTORS) - 1, ROM_BASE + 0x1C0)
    for at, text in ((0x200, _STATUS), (0x240, b"Shutdown")):
        rom[at : at + len(text)] = text
    struct.pack_into("<I", rom, 0x250, megabytes << 4)
    return bytes(rom)


class _Memory:
    """Physical memory from ``_PHYSICAL`` on, with the page tables of what is mapped in it: four levels, pages of 4 KiB (SDM volume 3, 4.5.4)."""

    __slots__ = ("data", "tables")

    def __init__(self) -> None:
        self.data = bytearray(PAGE)
        # A table's place in ``data``, by its level and the address bits above.
        self.tables: dict[tuple[int, int], int] = {(4, 0): 0}

    def page(self) -> int:
        """A new page's place in ``data``."""
        at = len(self.data)
        self.data += bytes(PAGE)
        return at

    def entry(self, address: int, physical: int, flags: int) -> None:
        """Map the page at an address."""
        for level in (4, 3, 2, 1):
            table = self.tables[level, address >> 12 + 9 * level]
            at = table + 8 * (address >> 3 + 9 * level & 511)
            if level == 1:
                struct.pack_into("<Q", self.data, at, physical | flags)
            elif (level - 1, address >> 3 + 9 * level) not in self.tables:
                below = self.page()
                self.tables[level - 1, address >> 3 + 9 * level] = below
                # What the last level says counts.
                struct.pack_into("<Q", self.data, at, _PHYSICAL + below | _PRESENT | _WRITABLE)

    def add_stack(self) -> int:
        """Map the stack, whose pages hold nothing yet; returns the size of all memory."""
        # The tables first, behind which they lie.
        for address in range(_STACK_TOP - _STACK_SIZE, _STACK_TOP, PAGE):
            self.entry(address, 0, 0)
        at = len(self.data)
        for address in range(_STACK_TOP - _STACK_SIZE, _STACK_TOP, PAGE):
            self.entry(address, _PHYSICAL + at, _PRESENT | _WRITABLE | _NO_EXECUTE)
            at += PAGE
        return at

    def map(self, segment: Segment) -> None:
        """What a segment holds, in pages of its own."""
        first = segment.address // PAGE * PAGE
        behind = segment.address + len(segment.data)
        flags = _PRESENT | (_WRITABLE if segment.flags & WRITE else 0) | (0 if segment.flags & EXECUTE else _NO_EXECUTE)
        for address in range(first, behind, PAGE):
            at = self.page()
            low, high = max(address, segment.address), min(address + PAGE, behind)
            self.data[at + low - address : at + high - address] = segment.data[low - segment.address : high - segment.address]
            self.entry(address, _PHYSICAL + at, flags)


def execute(program: str, emulator: Emulator, entry: int, segments: list[Segment], regions: list[tuple[int, int]], timeout: float) -> tuple[int, bytes, str]:
    """Run a program; returns its status (negative where it died), what it wrote, and what there is to say about its end.

    Args:
        program: the path of Bochs.
        emulator: what the machine says of it.
        entry: where it begins.
        segments: what is in memory.
        regions: addresses and sizes of the memory that is the output.
        timeout: seconds.

    Raises:
        subprocess.TimeoutExpired: it did not end.
    """
    if entry != _ENTRY:
        raise InternalError(f"programs begin at {_ENTRY:#x}")
    memory = _Memory()
    for segment in segments:
        if segment.data:
            memory.map(segment)
    size = memory.add_stack()
    memory.entry(ROM_BASE, ROM_BASE, _PRESENT)
    # Bochs reads the file of memory into its own in one piece, but gives megabytes of that to addresses in the order in which those are first accessed. So the ROM
    # looks at them all, from the lowest up.
    megabytes = (size >> 20) + 1
    with tempfile.TemporaryDirectory(prefix="loopwright-") as folder:
        configuration = _CONFIGURATION.format(folder=folder, megabytes=megabytes + (_PHYSICAL >> 20))
        for name, data in (("rom", _rom(megabytes)), ("memory", memory.data), ("configuration", configuration.encode())):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        # To the end, then the output, then past the end.
        commands = [f"lbreak {EXIT:#x}", "c", *(f'writemem "{folder}/{n}" {at:#x} {length}' for n, (at, length) in enumerate(regions)), "c", ""]
        command = [program, "-q", "-f", os.path.join(folder, "configuration")]
        for _ in range(_ATTEMPTS):
            done = subprocess.run(command, check=False, input="\n".join(commands).encode(), capture_output=True, timeout=timeout)
            said = _cause(os.path.join(folder, "log"))
            if _NO_PORT not in said:
                break
        at = done.stdout.find(_STATUS)
        if at < 0:
            return -1, b"", said or done.stderr.decode(errors="replace").strip()
        return done.stdout[at + len(_STATUS)], b"".join(_contents(os.path.join(folder, str(n))) for n in range(len(regions))), ""


def _contents(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise TargetError("Bochs wrote no memory to files: it has to be one that is built with its debugger, as Debian's is") from None


def _cause(log: str) -> str:
    """The line of Bochs's log that says why it ended."""
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    found = [line.strip() for line in lines if "exception" in line or "PANIC" in line]
    # The CPU's state stands behind it.
    places = [line.split("RIP=")[1].split()[0] for line in lines if "RIP=" in line]
    return (found[-1] if found else "") + (f", at {int(places[0], 16):#x}" if places else "")
