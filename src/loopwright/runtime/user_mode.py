"""Running a program under QEMU's user mode, which is a Linux system with another CPU."""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import Final

from loopwright.runtime import elf
from loopwright.targets.machine import Emulator

__all__ = ["OUTPUT", "execute"]

#: Programs write their output themselves.
OUTPUT: Final = True


def execute(
    program: str, emulator: Emulator, entry: int, segments: list[elf.Segment], regions: list[tuple[int, int]], timeout: float
) -> tuple[int, bytes, str]:
    """Run a program; returns its status (negative where it died), what it wrote, and what there is to say about its end.

    Args:
        program: the path of QEMU.
        emulator: the numbers of the machine's executables.
        entry: where it begins.
        segments: what is in memory.
        regions: addresses and sizes of the memory that the program writes out.
        timeout: seconds.

    Raises:
        subprocess.TimeoutExpired: it did not end.
    """
    image = elf.executable(emulator.elf_machine, emulator.elf_flags, entry, segments)
    with tempfile.TemporaryDirectory(prefix="loopwright-") as folder:
        path = os.path.join(folder, "program")
        # QEMU refuses a file that is not executable, as the kernel would.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700), "wb") as file:
            file.write(image)
        done = subprocess.run([program, path], check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace").strip()
