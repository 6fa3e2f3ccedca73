"""The two builds of loopwright in a checkout, pure Python and native, and processes that run one of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]

PURE = "pure Python"
NATIVE = "native"

#: Build -> the folder that holds its package.
FOLDERS = {PURE: CHECKOUT / "src", NATIVE: CHECKOUT / "build" / "native"}


def missing(build: str) -> str:
    """Why a build cannot be measured, or "": the native one may not have been made, or not of the present sources."""
    if build == PURE:
        return ""
    folder = FOLDERS[build]
    if not any((folder / "loopwright").glob("compiler.*.so")):
        return "there is no native build: make native"
    for source in (FOLDERS[PURE] / "loopwright").rglob("*.py"):
        built = folder / source.relative_to(FOLDERS[PURE])
        if not built.is_file() or built.read_bytes() != source.read_bytes():
            return f"the native build is not of the present sources ({source.relative_to(CHECKOUT)}): make native"
    return ""


def run(build: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """What Python prints when it runs ``command`` in a fresh process with this build.

    ``environment`` is added to this process's, without what that says about bytecode.

    Raises:
        RuntimeError: the process failed; with the last line it wrote.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")}
    full = {**inherited, "PYTHONPATH": str(FOLDERS[build]), **(environment or {})}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=full, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1])
    return done.stdout
