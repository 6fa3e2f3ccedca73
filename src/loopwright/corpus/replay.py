"""Compiling the contexts of a corpus again: in several processes, by this loopwright or another that is installed somewhere.

Each process is a :mod:`~loopwright.corpus.replay_worker`, run as a file by the interpreter wanted. A compiler that crashes or hangs
takes its process with it; the context gets an error for a result, a new process goes on with the next.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any, Final, Self

from loopwright.corpus.files import Context
from loopwright.errors import LoopwrightError, TargetError
from loopwright.regalloc.heuristics import canonical

__all__ = ["NOISY", "NUMBERS", "Job", "Replayer", "Result", "Setting", "default_processes", "replay"]

#: The numbers a result has; less is better for each of them.
NUMBERS: Final = (
    "code_size",
    "perf_score",
    "cycles",
    "instructions",
    "spills",
    "spill_weight",
    "moves",
    "move_weight",
    "allocator_time",
    "compile_time",
)
#: Those that differ from run to run.
NOISY: Final = frozenset(("allocator_time", "compile_time"))

_WORKER: Final = Path(__file__).with_name("replay_worker.py")


@dataclass(frozen=True, slots=True)
class Setting:
    """How to compile a context where it is not to be done as recorded.

    Attributes:
        ordering: order of the register selection filters; "" for the recorded one.
        target: name of another target; "" for the recorded one.
        vector_bits: width of its vectors; 0 for the widest (of a target named here).
        convention: its calling convention; "" for the usual one.
        python: an interpreter whose loopwright compiles; "" for this one.
    """

    ordering: str = ""
    target: str = ""
    vector_bits: int = 0
    convention: str = ""
    python: str = ""

    def __post_init__(self) -> None:
        if self.ordering:
            object.__setattr__(self, "ordering", canonical(self.ordering))
        if self.target:
            from loopwright.targets import registry

            made = registry.get(self.target, self.vector_bits or None, self.convention or None)
            object.__setattr__(self, "vector_bits", made.vector_bits)
            object.__setattr__(self, "convention", made.convention.name)
        elif self.vector_bits or self.convention:
            raise TargetError("a vector width or convention is of a target: name that too, as in x86-64-v4/256")

    @staticmethod
    def target_of(text: str) -> tuple[str, int, str]:
        """``NAME[/BITS][/CONVENTION]`` taken apart. Raises ``TargetError``."""
        name, *rest = text.split("/")
        bits = int(rest.pop(0)) if rest and re.fullmatch("[0-9]{1,6}", rest[0]) else 0
        convention = rest.pop(0) if rest else ""
        if rest or (text and not name):
            raise TargetError(f"a target is NAME, NAME/BITS, NAME/CONVENTION or NAME/BITS/CONVENTION, not {text!r}")
        return name, bits, convention

    def of(self, context: Context) -> dict[str, Any]:
        """What a worker is told."""
        if self.target:
            where: tuple[str, int, str] = (self.target, self.vector_bits, self.convention)
        else:
            where = (context.target, context.vector_bits, context.convention)
        return {"target": where[0], "vector_bits": where[1], "convention": where[2], "ordering": self.ordering or context.ordering}

    def __str__(self) -> str:
        parts = [self.ordering and f"order {self.ordering}"]
        if self.target:
            parts.append("/".join([self.target, *([str(self.vector_bits)] if self.vector_bits else []), self.convention]))
        parts.append(self.python)
        return ", ".join(part for part in parts if part) or "as recorded"


@dataclass(slots=True)
class Result:
    """What compiling a context gave.

    Attributes:
        code: digest of the machine code; "" when there is none.
        numbers: by the names in ``NUMBERS``; None where the compiler that ran cannot tell.
        times: of those that differ from run to run, what each turn took; their median is the number. Empty without turns.
        error: why it failed, or "".
        listing: (bytes in hexadecimal, text, user's line) of each instruction, if asked for.
        note: why it has no score, or "".
    """

    code: str = ""
    numbers: dict[str, float | int | None] = field(default_factory=dict)
    error: str = ""
    listing: list[tuple[str, str, int]] = field(default_factory=list)
    note: str = ""
    times: dict[str, list[float]] = field(default_factory=dict)

    @staticmethod
    def of(answer: dict[str, Any]) -> Result:
        """From a worker's answer."""
        if "error" in answer:
            return Result(error=answer["error"])
        listing = [(data, text, line) for data, text, line in answer.get("listing", ())]
        made = Result(answer["code"], {name: answer.get(name) for name in NUMBERS}, "", listing, answer.get("note", ""))
        made.add_times(answer.get("times", {}))
        return made

    def add_times(self, times: dict[str, list[float]]) -> None:
        """More turns of the same."""
        for name, more in times.items():
            taken = self.times.setdefault(name, [])
            taken += more
            self.numbers[name] = median(taken)


def default_processes() -> int:
    """As many as there are processors for us."""
    with contextlib.suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _environment(python: str) -> dict[str, str]:
    # What is replayed is what was recorded, whatever the environment would have otherwise.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LOOPWRIGHT_")}
    if python:
        # Another interpreter finds its own loopwright.
        kept.pop("PYTHONPATH", None)
        kept.pop("PYTHONHOME", None)
    else:
        source = str(Path(__file__).resolve().parents[2])
        kept["PYTHONPATH"] = os.pathsep.join(part for part in (source, kept.get("PYTHONPATH", "")) if part)
    return kept


def _said(line: str) -> dict[str, Any] | None:
    """What a line of a worker's says; None if it is no worker's."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class _Process:
    """One worker."""

    def __init__(self, python: str) -> None:
        # -P: the folder of the worker's file stays off the path.
        command = [python or sys.executable, "-P", str(_WORKER)]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(python),
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise LoopwrightError(f"{command[0]} cannot be run: {error.strerror}") from None
        self.expired = False
        line = self.process.stdout.readline() if self.process.stdout is not None else ""
        hello = _said(line) if line else {"error": "it ended without a word; it must be Python 3.11 or newer"}
        if hello is None:
            hello = {"error": f"it said {line.strip()[:60]!r}, as no Python would that has one"}
        if "error" in hello:
            self.close()
            raise LoopwrightError(f"{command[0]} has no loopwright that can be replayed with: {hello['error']}")
        self.about: dict[str, Any] = hello

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any] | None:
        """The answer; None when the process died of it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        timer = threading.Timer(timeout, self._expire)
        timer.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        answer = _said(line) if line.endswith("\n") else None
        if answer is None:
            # What answers something else will not do better with the next.
            self.process.kill()
        return answer

    def _expire(self) -> None:
        self.expired = True
        self.process.kill()

    def reason(self) -> str:
        """Why it died."""
        code = self.process.wait()
        if self.expired:
            return "the compiler did not come to an end in time"
        return f"the compiler crashed (signal {-code})" if code < 0 else f"the compiler ended its process (status {code})"

    def close(self) -> None:
        """End it."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with contextlib.suppress(OSError):
            self.process.terminate()
        self.process.wait()


@dataclass(slots=True)
class Job:
    """One text and the ways to compile it: ``texts`` and ``settings`` are parallel; ``results`` too, once it has run."""

    texts: list[str]
    settings: list[dict[str, Any]]
    results: list[Result] = field(default_factory=list)


class Replayer:
    """A few processes of one interpreter that compile contexts; they stay until the end of the ``with``.

    Args:
        python: the interpreter; "" for this one with this loopwright.
        processes: how many; 0 for as many as there are processors.
        timeout: seconds after which a compiler is given up.
    """

    def __init__(self, python: str = "", processes: int = 0, timeout: float = 300.0) -> None:
        self.python = python
        self.timeout = timeout
        self._count = processes or default_processes()
        self._idle: list[_Process] = []
        self._lock = threading.Lock()
        first = _Process(python)
        self._idle.append(first)
        #: version and path of the loopwright that compiles, and whether it can score.
        self.about = first.about

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.close()

    def run(
        self,
        jobs: Sequence[Job],
        *,
        listing: bool = False,
        check: bool = False,
        turns: int = 0,
        metrics: bool = True,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Fill in the results of the jobs.

        Args:
            jobs: what to compile.
            listing: with the instructions.
            check: prove each allocation.
            turns: compile everything so often again, in turns, for its times.
            metrics: with everything but the times.
            progress: called with the number of jobs done, from several threads in turn.
        """
        waiting = iter(range(len(jobs)))
        done = 0
        problems: list[BaseException] = []

        def work() -> None:
            nonlocal done
            process: _Process | None = None
            try:
                while not problems:
                    with self._lock:
                        number = next(waiting, None)
                        if number is None:
                            break
                        if process is None and self._idle:
                            process = self._idle.pop()
                    if process is None:
                        process = _Process(self.python)
                    job = jobs[number]
                    settings = [{**setting, "function": text} for text, setting in zip(job.texts, job.settings, strict=True)]
                    answer = process.ask(
                        {"id": number, "settings": settings, "listing": listing, "check": check, "turns": turns, "metrics": metrics}, self.timeout
                    )
                    if answer is None:
                        job.results = [Result(error=process.reason()) for _ in job.settings]
                        process.close()
                        process = None
                    else:
                        job.results = [Result.of(result) for result in answer["results"]]
                    with self._lock:
                        done += 1
                        if progress is not None:
                            progress(done)
            except BaseException as error:  # noqa: BLE001 (raised again by the thread that waits)
                problems.append(error)
            finally:
                if process is not None:
                    with self._lock:
                        self._idle.append(process)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(min(self._count, len(jobs)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]


def replay(
    contexts: Iterable[Context],
    setting: Setting | None = None,
    *,
    processes: int = 0,
    check: bool = False,
    turns: int = 0,
    timeout: float = 300.0,
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[Context, Result]]:
    """Compile contexts again; each with what came of it, in their order.

    Args:
        contexts: of a corpus.
        setting: how, where not as recorded.
        processes: how many; 0 for as many as there are processors.
        check: prove each allocation by the symbolic checker.
        turns: compile each so often again; times are medians then.
        timeout: seconds for one context.
        progress: called with the number done.
    """
    chosen = setting or Setting()
    given = list(contexts)
    jobs = [Job([context.function], [chosen.of(context)]) for context in given]
    with Replayer(chosen.python, processes, timeout) as replayer:
        replayer.run(jobs, check=check, turns=turns, progress=progress)
    for context, job in zip(given, jobs, strict=True):
        yield context, job.results[0]
