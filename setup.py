"""The optional native build: with LOOPWRIGHT_MYPYC=1 in the environment, mypyc compiles the compiler's core to C.

Everything else about the package is in pyproject.toml. Without the variable (the default) the package is pure Python.
The core is compiled as one group, so that calls between its modules are C calls.
"""

from __future__ import annotations

import os
from pathlib import Path

from setuptools import setup

#: What is compiled: the way from a front end's output to machine code. Relative to src/loopwright; folders with all below them.
CORE = ("types.py", "ir", "frontend", "passes", "nests", "regalloc", "targets", "compiler.py")

#: Left to the interpreter: what runs rarely and uses what mypyc compiles poorly or not at all.
LEFT_OUT = ("ir/interpret.py", "frontend/kernel.py")


def core_files() -> list[str]:
    """The files of the core, in a fixed order."""
    root = Path("src/loopwright")
    found: list[Path] = []
    for entry in CORE:
        path = root / entry
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    left_out = {root / entry for entry in LEFT_OUT}
    return [path.as_posix() for path in found if path not in left_out and path.stat().st_size]


if os.environ.get("LOOPWRIGHT_MYPYC") == "1":
    from mypyc.build import mypycify

    setup(ext_modules=mypycify(core_files(), opt_level=os.environ.get("LOOPWRIGHT_MYPYC_OPT", "2"), debug_level="0", group_name="loopwright"))
else:
    setup()
