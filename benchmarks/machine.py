"""The machine a benchmark ran on, and the settings that make runs comparable."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path

#: Every candidate runs on one thread; NumPy's BLAS would use all cores for a long dot product.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def one_thread() -> None:
    """Hold the numerical libraries to one thread. Works only before NumPy is imported for the first time."""
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")


def pin() -> None:
    """Keep this process on one CPU, so that two candidates never differ by the core they ran on."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {allowed[-1]})


def _first_line(path: str, key: str) -> str:
    try:
        for line in Path(path).read_text().splitlines():
            if line.startswith(key):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


def _caches() -> dict[str, str]:
    found: dict[str, str] = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def version(package: str) -> str:
    """The installed version of a Python package, or "missing"."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def gcc_version() -> str:
    """The version of gcc, or "missing"."""
    if shutil.which("gcc") is None:
        return "missing"
    done = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "missing"


def describe() -> dict[str, object]:
    """CPU, caches, this build and the versions of everything compared; stands in every results file."""
    from loopwright.native_build import is_native

    return {
        "cpu": _first_line("/proc/cpuinfo", "model name") or platform.processor(),
        "cpu family, model": f"{_first_line('/proc/cpuinfo', 'cpu family')}, {_first_line('/proc/cpuinfo', 'model')}",
        "caches": _caches(),
        "system": f"{platform.system()} {platform.release()}",
        "loopwright": f"{version('loopwright')} {'native' if is_native() else 'pure Python'}",
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "llvmlite": version("llvmlite"),
        "gcc": gcc_version(),
    }
