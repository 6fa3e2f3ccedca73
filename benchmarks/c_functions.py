"""The functions of the C programs of ``tests/programs`` as they are given to the compiler: the collection ``c`` of the corpora (``loopwright corpus record --collection c``)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from loopwright.cc import clang
from loopwright.errors import LoopwrightError
from loopwright.frontend.llvm.module import functions_and_globals
from loopwright.ir.function import Function
from loopwright.objects.machines import machine_of
from loopwright.targets import registry

__all__ = ["CLANG", "FOLDER", "functions", "read"]

FOLDER: Final = Path(__file__).parent.parent / "tests" / "programs"
#: The version of clang that the collection is recorded with: others make other IR.
CLANG: Final = "14."
#: A function of our own that programs have in common is recorded with the first of them.
_OUR_OWN: Final = "__loopwright"


def read(program: Path, target: str) -> bytes:
    """What clang makes of a program for a machine, as ``loopwright cc`` asks it to. Raises ``LoopwrightError`` without clang, and without the machine's headers."""
    machine = registry.machine_of(target)
    assert machine is not None
    words = [] if machine.runs_here() else [f"--target={machine_of(registry.get(target)).triple}"]
    done = subprocess.run([clang.find(), "-O2", *clang.FIXED, "-w", *words, "-c", "-emit-llvm", program, "-o", "-"], capture_output=True, check=False)
    if done.returncode:
        raise LoopwrightError(f"clang refuses {program.name}:\n{done.stderr.decode().strip()}")
    return done.stdout


def functions(target: str) -> Iterator[tuple[str, Function]]:
    """Each function of each program, by ``program:function``.

    Args:
        target: the machine whose headers and conventions the programs are read with.
    """
    seen: set[str] = set()
    for program in sorted(FOLDER.glob("*.c")):
        for f in functions_and_globals(read(program, target), program.name)[0]:
            if not f.name.startswith(_OUR_OWN) or f.name not in seen:
                seen.add(f.name)
                yield f"{program.stem}:{f.name}", f
