"""Choices that were measured, on disk, so that the next process need not measure them again.

A file for each kernel as compiled for some types on some machine: its name is a checksum of all that decides how fast its variants are. What cannot be read,
or is no such file, counts as empty; what cannot be written is left. The folder is ``$LOOPWRIGHT_CACHE`` (empty: nothing is kept), else ``loopwright`` in the
user's folder for caches.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from loopwright.runtime import cpu

__all__ = ["Choices", "folder", "identity"]

VARIABLE: Final = "LOOPWRIGHT_CACHE"
FORMAT: Final = 1
#: Files larger than this are none of ours.
_LARGEST: Final = 1 << 20


def folder() -> Path | None:
    """Where choices are kept; None for nowhere."""
    told = os.environ.get(VARIABLE)
    if told is not None:
        return Path(told) if told else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base, "loopwright") if base and os.path.isabs(base) else None


def identity(codes: Sequence[bytes], target: str) -> str:
    """A checksum of all that decides which variant of a kernel is the fastest, but for its arguments: the variants' machine code, and the machine.

    Args:
        codes: of the variants. It is what the kernel, its types and constants, and the compiler make it.
        target: what they are compiled for.
    """
    checksum = hashlib.sha256(f"{FORMAT} {target} {_machine()} {' '.join(sorted(cpu.host_features()))}".encode())
    for code in codes:
        checksum.update(len(code).to_bytes(8, "little"))
        checksum.update(code)
    return checksum.hexdigest()[:40]


_known: list[str] = []


def _machine() -> str:
    """What this machine's processor is called."""
    if not _known:
        name = platform.processor()
        with contextlib.suppress(OSError):
            found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
            name = found[1] if found else name
        _known.append(f"{platform.machine()} {name}")
    return _known[0]


class Choices:
    """The names of the best variants by shape, in files of one folder.

    Args:
        place: the folder, which is made when something is first kept; None to keep nothing.
    """

    def __init__(self, place: Path | None) -> None:
        self._place = place
        self._lock = threading.Lock()

    def _file(self, key: str) -> Path | None:
        return None if self._place is None else self._place / f"nests-{key}.json"

    def read(self, key: str) -> dict[str, str]:
        """What is known of a kernel: shape -> name of the variant."""
        file = self._file(key)
        if file is None:
            return {}
        try:
            if file.stat().st_size > _LARGEST:
                return {}
            read = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(read, dict) or read.get("format") != FORMAT or not isinstance(read.get("choices"), dict):
            return {}
        return {shape: name for shape, name in read["choices"].items() if isinstance(name, str)}

    def keep(self, key: str, shape: str, name: str) -> None:
        """Note that a variant is the best for a shape. The file is replaced as a whole, so that other processes never see half of one."""
        file = self._file(key)
        if file is None:
            return
        with self._lock, contextlib.suppress(OSError):
            known = self.read(key)
            known[shape] = name
            file.parent.mkdir(parents=True, exist_ok=True)
            handle, written = tempfile.mkstemp(dir=file.parent, prefix=file.name, suffix=".new")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as out:
                    json.dump({"format": FORMAT, "choices": known}, out)
                os.replace(written, file)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(written)
                raise
