"""Executables: object files linked with C's library, by clang."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from loopwright.cc import clang
from loopwright.errors import LoopwrightError
from loopwright.ir.function import Callee
from loopwright.ir.globals import Global
from loopwright.objects.elf import ObjectFile
from loopwright.objects.machines import machine_of
from loopwright.objects.program import write
from loopwright.targets.target import Target

__all__ = ["elsewhere", "program"]


def elsewhere(wanted: Callee | Global) -> Callee | Global:
    """What a module names and does not have, where the linker is to find it."""
    return wanted


def program(made: ObjectFile, target: Target, output: Path, libraries: Sequence[str] = (), static: bool = False) -> None:
    """Link an object file with C's library to an executable: a static one, so that it runs under an emulator as it is, or one that needs its libraries.

    Raises ``LoopwrightError`` where clang is not there, or refuses, with what it says.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "made.o"
        write(source, made.data())
        triple = machine_of(target).triple
        words = [clang.find(), f"--target={triple}", "-static" if static else "-no-pie", str(source), "-o", str(output), *libraries]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            hint = "" if not static or clang.has_headers(triple) else f"\n(The C library of {triple} is not here: Debian package {clang.package(triple)}.)"
            raise LoopwrightError(f"{output} cannot be made for {target.name}:\n{done.stderr.strip()[:2000]}{hint}")
