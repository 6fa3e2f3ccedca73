"""Whether the tests notice a fault: a copy of the checkout for each process, the tests that enter the fault's function first."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from tests.mutation.faults import Fault
from tests.mutation.recording import Recording

#: What a copy needs to run the tests.
PARTS = ("src", "tests", "benchmarks", "corpora", "docs", "examples", "pyproject.toml", "README.md", "CHANGELOG.md", "Makefile", "setup.py", "requirements")

#: Where a fault in a folder of the library shows, besides the tests of that folder: the nearest first. What every fault is tried on comes last.
NEAR: dict[str, tuple[str, ...]] = {
    "passes": ("tests/files", "tests/regalloc"),
    "nests": ("tests/passes", "tests/files"),
    "regalloc": ("tests/files", "tests/passes"),
    "targets": ("tests/regalloc", "tests/passes/test_lower.py"),
    "runtime": ("tests/test_hostile.py",),
    "costs": (),
}
USUAL = (
    "tests/test_files.py",
    "tests/test_stages.py",
    "tests/end_to_end",
    "tests/frontend",
    "tests/runtime",
    "tests/test_hostile.py",
    "tests/costs",
    "tests/corpus",
    "tests/search",
    "tests/test_cli.py",
)

#: Seconds that one test may take: a fault may make a loop endless, and has been noticed then.
TEST_LIMIT = 100


@dataclass
class Verdict:
    """What became of a fault: ``noticed`` by the test named (or by the time it took), or not; and the seconds that took."""

    noticed: bool
    by: str
    seconds: float


#: How far tests are looked for: the quickest of those that enter the fault's function, and its folder's own; then all that enter it, and what every fault
#: is tried on; or everywhere.
REACHES = ("near", "usual", "whole")
#: Where a change of code or scores that a fault in a folder makes shows at once.
SUMMARIES: dict[str, tuple[str, ...]] = {
    "passes": ("tests/end_to_end/test_code_made.py",),
    "nests": ("tests/end_to_end/test_code_made.py",),
    "regalloc": ("tests/regalloc/test_decisions.py", "tests/end_to_end/test_code_made.py"),
    "targets": ("tests/end_to_end/test_code_made.py", "tests/targets/test_selection.py", "tests/costs/test_scores_made.py"),
    "costs": ("tests/costs/test_scores_made.py",),
}
#: Seconds, as recorded, that the quickest tests may take together, and those near.
QUICK, LONGER = 30.0, 60.0


def order(checkout: Path, fault: Fault, reach: str, recording: Recording) -> list[list[str]]:
    """Tests for a fault, in groups that are run one after the other.

    What enters the fault's function comes first, the quickest before the others. Since what is made once in a process (tables, caches) is recorded with
    the first test that needs it, files of tests follow.
    """
    parts = Path(fault.path).parts[2:]
    folder, module = parts[0], Path(parts[-1]).stem
    own = checkout / "tests" / Path(*parts[:-1])
    if not own.is_dir():
        own = checkout / "tests" / folder
    home = own.relative_to(checkout).as_posix()
    entering, elsewhere = recording.of(checkout, fault.path, fault.line)
    near = [row for row in entering if row[1].startswith((f"{home}/", *NEAR.get(folder, ())))]
    groups = [_within_seconds(entering, QUICK), [*SUMMARIES.get(folder, ())], _within_seconds(near, LONGER)]
    named = [p.relative_to(checkout).as_posix() for p in sorted(own.glob(f"test_{module.strip('_')}*.py"))]
    if elsewhere:
        groups.append(named)
    if reach != "near":
        further = USUAL if reach == "usual" else ("tests",)
        files = [[file for entry in entries for file in _within(checkout, entry)] for entries in ((home,), NEAR.get(folder, ()), further)]
        groups += [named, *files]
    seen: set[str] = set()
    fresh: list[list[str]] = []
    for group in groups:
        new = [name for name in dict.fromkeys(group) if name not in seen]
        seen.update(new)
        if new:
            fresh.append(new)
    return fresh


def _within_seconds(tests: list[tuple[float, str]], limit: float) -> list[str]:
    """The first tests that take no longer together."""
    sums = accumulate(seconds for seconds, _ in tests)
    return [name for (_, name), spent in zip(tests, sums, strict=True) if spent <= limit]


def _defined(file: Path, name: str) -> bool:
    """Whether a file has a test of that name, which may have parameters in brackets."""
    function = name.partition("[")[0].rpartition("::")[2]
    return file.is_file() and f"def {function}(" in file.read_text(encoding="utf-8")


def _within(checkout: Path, entry: str) -> list[str]:
    path = checkout / entry
    if path.is_file():
        return [entry]
    return [p.relative_to(checkout).as_posix() for p in sorted(path.rglob("test_*.py"))]


class Judge:
    """A copy of the checkout, in which one fault at a time is tried."""

    def __init__(self, checkout: Path, place: Path, recording: Recording, reach: str = "usual", limit: int = TEST_LIMIT) -> None:
        self.place = place
        self.recording = recording
        self.limit = limit
        self.reach = reach
        for part in PARTS:
            source = checkout / part
            if source.is_dir():
                shutil.copytree(source, place / part, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy2(source, place / part)

    def sound(self) -> Verdict:
        """The tests without any fault: whether what they notice means something."""
        return self._run([file for entry in USUAL for file in _within(self.place, entry)], time.monotonic())

    def judge(self, fault: Fault) -> Verdict:
        """Put a fault in, run tests until one fails, take it out again."""
        path = self.place / fault.path
        kept = path.read_bytes()
        start = time.monotonic()
        groups = order(self.place, fault, self.reach, self.recording)
        try:
            path.write_text(fault.source(self.place), encoding="utf-8")
            self._forget(path)
            verdict = Verdict(False, "", 0.0)
            for group in groups:
                verdict = self._run(group, start)
                if verdict.noticed:
                    break
        finally:
            path.write_bytes(kept)
            self._forget(path)
        return verdict

    def _forget(self, path: Path) -> None:
        # Bytecode is known to be old by a time in whole seconds, which is too coarse here.
        for old in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            old.unlink()

    def _run(self, tests: list[str], start: float) -> Verdict:
        chosen = self.place / "chosen"
        chosen.write_text("\n".join(tests), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(self.place / "src"), "PYTHONHASHSEED": "0"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", f"--timeout={self.limit}", f"@{chosen}"]
        process = subprocess.Popen(
            command,
            cwd=self.place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate()
        finally:
            # Whatever tests have started goes with them.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        seconds = time.monotonic() - start
        if process.returncode == 0:
            return Verdict(False, "", seconds)
        found = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
        if not found and (missing := re.search(r"^ERROR: (?:not found|file or directory not found): (.*)", output, re.MULTILINE)):
            file, _, name = missing[1].partition("::")
            if not _defined(self.place / file, name):
                raise RuntimeError(f"there is no test {missing[1]}: what was recorded is old")
            # (A fault in what parameters are made of may leave a test without any.)
            return Verdict(True, f"({missing[1]} cannot be collected)", seconds)
        last = output.strip().splitlines()[-1:] or ["no output"]
        return Verdict(True, found[1] if found else f"(exit {process.returncode}: {last[0][:100]})", seconds)
