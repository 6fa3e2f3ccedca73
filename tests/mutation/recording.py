"""A pytest plugin: which functions of the library each test runs, and how long it takes.

``python -m pytest -p tests.mutation.recording`` writes one file for each process to the folder that ``LOOPWRIGHT_RECORDING`` names. Functions
are noticed when they are first entered in a test, by ``sys.monitoring``, which costs next to nothing, or, on Python 3.11, by the profiler; what tests run in other
processes is not seen.
"""

from __future__ import annotations

import ast
import cProfile
import json
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from functools import cache
from pathlib import Path
from types import CodeType

import pytest

FOLDER = "LOOPWRIGHT_RECORDING"
_SOURCES = f"{os.sep}src{os.sep}loopwright{os.sep}"

#: What runs in other processes for the most part.
_NOT_RECORDED = ("tests/random_kernels", "tests/test_benchmarks.py", "tests/test_docs.py")
_INNER = re.compile(r"(\.<locals>)?\.?<(listcomp|genexpr|dictcomp|setcomp|lambda)>.*")

_tests: list[tuple[str, float]] = []
_functions: dict[str, list[int]] = defaultdict(list)
_outside: set[str] = set()


class _Monitored:
    """Functions entered, by ``sys.monitoring``: each tells of its first entry alone."""

    def __init__(self) -> None:
        self._monitoring = sys.monitoring
        self._entered: set[CodeType] = set()
        tool = self._monitoring.PROFILER_ID
        self._monitoring.use_tool_id(tool, "loopwright tests")
        self._monitoring.register_callback(tool, self._monitoring.events.PY_START, self._enter)
        self._monitoring.set_events(tool, self._monitoring.events.PY_START)

    def _enter(self, code: CodeType, _offset: int) -> object:
        self._entered.add(code)
        return self._monitoring.DISABLE

    def take(self) -> set[CodeType]:
        """What was entered since this was last asked."""
        taken, self._entered = self._entered, set()
        self._monitoring.restart_events()
        return taken


class _Profiled:
    """The same by the profiler, which counts every entry, and those of the main thread alone."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._profile = cProfile.Profile(subcalls=False, builtins=False)
        self._profile.enable()

    def take(self) -> set[CodeType]:
        """What was entered since this was last asked."""
        self._profile.disable()
        taken = {entry.code for entry in self._profile.getstats() if isinstance(entry.code, CodeType)}
        self._begin()
        return taken


def _names() -> set[str]:
    """The library's functions that were entered since this was last asked."""
    return {name for code in _entries.take() if (name := _name(code))} if _entries else set()


@cache
def _name(code: CodeType) -> str:
    """The name of a function of the library; "" of others."""
    return function_name(code.co_filename, code.co_qualname) if _SOURCES in code.co_filename else ""


def function_name(file: str, qualified: str) -> str:
    """One name for a function and what is inside it: the path below ``src``, the name without comprehensions and lambdas."""
    path = file[file.rindex(_SOURCES) + 1 :] if _SOURCES in file else file
    return f"{path}:{_INNER.sub('', qualified)}"


_entries: _Monitored | _Profiled | None = None
if os.environ.get(FOLDER):
    _entries = _Monitored() if sys.version_info >= (3, 12) else _Profiled()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _outside.update(_names())
    start = time.perf_counter()
    try:
        return (yield)
    finally:
        number = len(_tests)
        _tests.append((item.nodeid, time.perf_counter() - start))
        for name in _names():
            _functions[name].append(number)


def pytest_unconfigure() -> None:
    if _tests:
        _outside.update(_names())
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        text = json.dumps({"tests": _tests, "functions": _functions, "outside": sorted(_outside)})
        (Path(os.environ[FOLDER]) / f"{worker}.json").write_text(text, encoding="utf-8")


def record(checkout: Path, folder: Path, jobs: int) -> None:
    """Run the tests and record them."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, FOLDER: str(folder), "PYTHONPATH": str(checkout / "src")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.mutation.recording",
        "-n",
        str(jobs),
        "--timeout=900",
        # Long runs are never among the quickest tests.
        "-m",
        "not slow",
        *[f"--ignore={name}" for name in _NOT_RECORDED],
    ]
    if subprocess.run(command, cwd=checkout, env=environment, check=False).returncode:
        raise SystemExit("the tests fail without any fault")


class Recording:
    """What was recorded.

    Attributes:
        tests: per function, the tests that enter it with their seconds, the quickest first.
        outside: functions that are run while modules are imported, too.
    """

    def __init__(self, folder: Path) -> None:
        self.tests: dict[str, list[tuple[float, str]]] = defaultdict(list)
        self.outside: set[str] = set()
        for file in sorted(folder.glob("*.json")):
            data = json.loads(file.read_text(encoding="utf-8"))
            tests = [(seconds, name) for name, seconds in data["tests"]]
            for name, numbers in data["functions"].items():
                self.tests[name] += [tests[n] for n in numbers]
            self.outside.update(data["outside"])
        for found in self.tests.values():
            found.sort()

    def of(self, checkout: Path, path: str, line: int) -> tuple[list[tuple[float, str]], bool]:
        """The tests that enter the function in which a line is; and whether something else does, or there is none."""
        name = _enclosing((checkout / path).read_text(encoding="utf-8"), line)
        key = f"{path}:{name}"
        return self.tests.get(key, []), not name or key in self.outside or key not in self.tests


def _enclosing(source: str, line: int) -> str:
    """The qualified name of the innermost function around a line, or ""."""
    found = ""

    def look(node: ast.AST, prefix: str) -> None:
        nonlocal found
        for child in ast.iter_child_nodes(node):
            inside = prefix
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                if not child.lineno <= line <= (child.end_lineno or 0):
                    continue
                inside = f"{prefix}{child.name}"
                if isinstance(child, ast.FunctionDef) and child.body[0].lineno <= line:
                    found = inside
                inside += "." if isinstance(child, ast.ClassDef) else ".<locals>."
            look(child, inside)

    look(ast.parse(source), "")
    return found
