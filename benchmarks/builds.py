"""The two builds of loopwright in a checkout, pure Python and native, and processes that run one of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from loopwright.native_build import is_native

CHECKOUT = Path(__file__).resolve().parents[1]

PURE = "pure Python"
NATIVE = "native"

#: Build -> the folder that holds its package.
FOLDERS = {PURE: CHECKOUT / "src", NATIVE: CHECKOUT / "build" / "native"}


def here() -> str:
    """The build that this process runs."""
    return NATIVE if is_native() else PURE


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


def _environment(build: str) -> dict[str, str]:
    """This process's environment, but for what it says about bytecode, with a build to be imported."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")}
    return {**inherited, "PYTHONPATH": str(FOLDERS[build])}


def run(build: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """What Python prints when it runs ``command`` in a fresh process with this build.

    ``environment`` is added to this process's.

    Raises:
        RuntimeError: the process failed; with the last line it wrote.
    """
    full = {**_environment(build), **(environment or {})}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=full, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1])
    return done.stdout


class Worker:
    """A process that runs a build and calls functions of the benchmarks in it, so that both builds take turns in one run.

    To be used in a ``with`` statement, at whose end the process ends.
    """

    def __init__(self, build: str) -> None:
        environment = _environment(build)
        environment["PYTHONPATH"] += os.pathsep + str(CHECKOUT)
        self.build = build
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", build], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def call(self, function: str, *arguments: Any) -> Any:
        """What ``function``, given as ``module:name``, returns there; arguments and result as JSON has them.

        Raises:
            RuntimeError: it failed there; with what it said.
        """
        into, out = self._process.stdin, self._process.stdout
        assert into is not None and out is not None
        try:
            into.write(json.dumps([function, arguments]) + "\n")
            into.flush()
        except BrokenPipeError:
            pass
        line = out.readline()
        if not line:
            raise RuntimeError(f"the process of the {self.build} build has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"in the {self.build} build: {answer['error']}")
        return answer["result"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.communicate()
