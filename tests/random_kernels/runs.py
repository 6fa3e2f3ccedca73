"""Many random kernels, in processes of their own: one that crashes or does not end is a difference like any other."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tests.random_kernels import coverage
from tests.random_kernels.compare import Difference, Emulated, check, check_emulated, load
from tests.random_kernels.kernels import make

__all__ = ["Found", "Outcome", "run"]

#: Kernels compared in one process, and run by one emulator.
_CHUNK = 25
#: Seconds that one kernel may take on all targets; and the emulator for all of them.
_TIMEOUT = 120


class Found(NamedTuple):
    """A difference, and the kernel that it was found with."""

    seed: int
    difference: Difference


class Outcome:
    """What came of many kernels.

    Attributes:
        kernels: how many there were.
        found: the differences.
        ran: per target, how many kernels ran on it.
        counts: what occurred in them.
    """

    def __init__(self) -> None:
        self.kernels = 0
        self.found: list[Found] = []
        self.ran: Counter[str] = Counter()
        self.counts: Counter[coverage.Key] = Counter()

    def add(self, other: Outcome) -> None:
        self.kernels += other.kernels
        self.found += other.found
        self.ran += other.ran
        self.counts += other.counts

    def report(self) -> str:
        """The differences, each with its kernel."""
        parts: list[str] = []
        seeds = sorted({found.seed for found in self.found})
        for seed in seeds:
            mine = [found.difference for found in self.found if found.seed == seed]
            parts.append(f"kernel {seed}, {mine[0].what} on {', '.join([d.target for d in mine])}:\n{make(seed).text()}\n{mine[0].text}")
        return "\n\n".join(parts)


def _compare(seeds: Sequence[int], note: Any) -> Outcome:
    """Compare kernels on every target; ``note`` is told the seed of each when its turn comes."""
    outcome = Outcome()
    waiting: list[Emulated] = []
    for seed in seeds:
        note(seed)
        program = make(seed)
        outcome.kernels += 1
        outcome.counts += coverage.count(program)
        loaded = load(program)
        if isinstance(loaded, Difference):
            outcome.found.append(Found(seed, loaded))
            continue
        found, ran, emulated = check(loaded)
        outcome.found += [Found(seed, difference) for difference in found]
        outcome.ran += Counter(ran)
        waiting += emulated
    note(-1)
    outcome.found += [Found(program.seed, difference) for program, difference in check_emulated(waiting)]
    outcome.ran += Counter(each.target for each in waiting)
    return outcome


class _Worker:
    """A process that compares some kernels."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = seeds
        self.reading, writing = os.pipe()
        self.noting, noted = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.process = os.fork()
        if self.process:
            os.close(writing)
            os.close(noted)
            return
        status = 1
        try:
            os.close(self.reading)
            os.close(self.noting)

            def note(seed: int) -> None:
                signal.alarm(_TIMEOUT)
                os.write(noted, seed.to_bytes(8, "little", signed=True))

            outcome = _compare(seeds, note)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(outcome, pipe)
            status = 0
        except BaseException:  # noqa: BLE001 (a child that must not return)
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(status)

    def result(self) -> tuple[Outcome, Sequence[int]]:
        """What was found, and the kernels that remain to be compared if the process died."""
        with os.fdopen(self.reading, "rb") as pipe:
            data = pipe.read()
        with os.fdopen(self.noting, "rb") as pipe:
            notes = pipe.read()
        _, status = os.waitpid(self.process, 0)
        if data and not status:
            outcome: Outcome = pickle.loads(data)
            return outcome, ()
        last = int.from_bytes(notes[-8:], "little", signed=True) if notes else self.seeds[0]
        how = "did not end" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM else f"the process died (status {status})"
        if last < 0 or len(self.seeds) == 1:
            outcome = Outcome()
            outcome.kernels = len(self.seeds)
            outcome.found = [Found(seed, Difference("some target", "crashed", how)) for seed in self.seeds]
            return outcome, ()
        # Those before it were fine, or differ: they are compared once more without it.
        outcome = Outcome()
        outcome.kernels = 1
        outcome.found = [Found(last, Difference("some target", "crashed", how))]
        return outcome, [seed for seed in self.seeds if seed != last]


def run(seeds: Sequence[int], jobs: int = 1) -> Iterator[Outcome]:
    """Compare kernels, some at a time."""
    waiting = [seeds[start : start + _CHUNK] for start in range(0, len(seeds), _CHUNK)]
    running: list[_Worker] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(_Worker(waiting.pop(0)))
        worker = running.pop(0)
        outcome, again = worker.result()
        if again:
            waiting.insert(0, again)
        yield outcome


def timed(seeds: Sequence[int], jobs: int) -> tuple[Outcome, float]:
    """Compare kernels, and say how it goes."""
    start = time.monotonic()
    total = Outcome()
    for outcome in run(seeds, jobs):
        total.add(outcome)
        for found in outcome.found:
            print(f"\rkernel {found.seed}: {found.difference.what} on {found.difference.target}", file=sys.stderr)
        print(f"\r{total.kernels} of {len(seeds)} kernels, {len({f.seed for f in total.found})} different", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    return total, time.monotonic() - start
