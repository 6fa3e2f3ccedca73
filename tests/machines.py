"""What the tests run compiled code on: every target that is registered, in the widths it is tried at, here or under an emulator.

A test takes a ``Runner`` (``runners`` makes the parameters) and compiles for its ``target``. ``call`` runs the code at once and returns the result. ``run``
leaves that to the runner: here it is done at once; calls under an emulator, whose start costs more than most of them, wait for the end of the
test and are made by one program. What came out is looked at by the function given with the call.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from loopwright.compiler import Compiled
from loopwright.errors import InternalError, LoopwrightError
from loopwright.runtime import cpu, emulate
from loopwright.runtime.code import Code
from loopwright.targets import registry
from loopwright.targets.machine import Machine
from loopwright.targets.target import Target

__all__ = ["RUNNERS", "Emulated", "Here", "Runner", "Simulated", "families", "finish", "forget", "runners", "simulated"]

Check = Callable[[Any], None]


class Runner:
    """A target, and how its code is run.

    Attributes:
        folder: the machine's folder.
        name, bits: the target's name, and the width of its vectors.
        lacks: why its code cannot be run, or "".
        calls_back: code can call functions of this process.
        ties_of_halves: what lies in the middle of two f16 becomes the even one.
    """

    calls_back = False
    ties_of_halves = True
    #: Whether estimates of roots are right of powers of two.
    roots_of_powers = True
    #: What it does otherwise than the machine: operations, by name, type of the elements, type of the operand's.
    misjudged: frozenset[tuple[str, str, str]] = frozenset()
    #: Instructions that it does not know, as listings have them.
    unknown: re.Pattern[str] | None = None

    def __init__(self, folder: str, name: str, bits: int, lacks: str) -> None:
        self.folder = folder
        self.name = name
        self.bits = bits
        self.lacks = lacks

    def __repr__(self) -> str:
        return f"{self.name}-{self.bits}" if self.bits else self.name

    @property
    def target(self) -> Target:
        return registry.get(self.name, self.bits or None)

    @property
    def widest(self) -> bool:
        """Whether there is no wider one of the same target."""
        return self.bits == max(registry.machines()[self.folder].levels[self.name.split("+")[0]].widths, default=0)

    def compiled(self, kernel: Any, *args: Any, **how: Any) -> Any:
        """A kernel or a function of the builder, compiled for the target."""
        return kernel.compile(*args, target=self.name, vector_bits=self.bits or None, **how)

    def knows(self, code: Code) -> bool:
        """Whether it knows all instructions of some code."""
        return self.unknown is None or self.unknown.search(code.asm()) is None

    def call(self, code: Code | Compiled, *args: Any) -> Any:
        """Call code, and return what it returns; arrays are written in place."""
        raise NotImplementedError

    def run(self, code: Code | Compiled, args: Sequence[Any], check: Check) -> None:
        """Call code some time until the test ends, and give its result to ``check``."""
        raise NotImplementedError

    def tested(self, compiled: Compiled, args: Sequence[Any], check: Check) -> None:
        """As ``run``, by what gets out of faults and of loops without end, and sees whether the calling convention was kept."""
        self.run(compiled, args, check)

    def leaves(self, compiled: Compiled, given: Sequence[Any], wanted: Sequence[Any]) -> None:
        """Call code some time until the test ends, and see that it leaves its arrays as they are wanted, bit for bit."""

        def same(_: object) -> None:
            for got, right in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(got, right)

        self.run(compiled, given, same)


class Here(Runner):
    """In this process."""

    calls_back = True

    def call(self, code: Code | Compiled, *args: Any) -> Any:
        return (code if isinstance(code, Code) else Code(code))(*args)

    def run(self, code: Code | Compiled, args: Sequence[Any], check: Check) -> None:
        check(self.call(code, *args))

    def tested(self, compiled: Compiled, args: Sequence[Any], check: Check) -> None:
        tester: Any = importlib.import_module(f"tests.targets.{self.folder}.trampoline")
        outcome = tester.tested(compiled, args)
        assert not outcome.wrong, f"{compiled.source.name} on {self}: {'; '.join(outcome.wrong)}"
        check(outcome.result)


class Emulated(Runner):
    """Under an emulator."""

    def call(self, code: Code | Compiled, *args: Any) -> Any:
        return emulate.run(code, *[_plain(a) for a in args])

    def run(self, code: Code | Compiled, args: Sequence[Any], check: Check) -> None:
        _waiting.setdefault(_target_of(code), []).append((code, [_plain(a) for a in args], check))


class Simulated(Emulated):
    """By a simulator of the library's own, in this process; calls are made with the others, at the end of the test."""


class UnderBochs(Emulated):
    """Under Bochs, whose version 2.7 differs from the Intel SDM in seven places: VPSRAVQ by 64 does nothing (volume 2, VPSRAVW/VPSRAVD/VPSRAVQ: the sign
    everywhere), VCVTUDQ2PS rounds down, VCVTTPD2UQQ takes nothing above 2^63, and multiply-adds of f64 that cancel are wrong now and then (the same code
    is right on CPUs; it makes floors of quotients, and remainders), VCVTPS2PH rounds ties up (``ties_of_halves``), VRSQRT14PS gives 2 of 0.5, as of
    other odd powers of two (``roots_of_powers``), and gathers and scatters whose indices are in vectors 16 to 31 are undefined (volume 2, 2.7.2: EVEX.V'
    with SIB.index; ``unknown``)."""

    ties_of_halves = False
    unknown = re.compile(r"v?p?(gather|scatter)[dq]\w+ .*[xyz]mm(1[6-9]|2\d|3[01])\*")
    roots_of_powers = False

    misjudged = frozenset(
        [
            ("shr", "i64", "void"),
            ("shr_where", "i64", "void"),
            ("convert", "f32", "u32"),
            ("div_floor", "f64", "void"),
            ("rem_floor", "f64", "void"),
            ("rem_trunc", "f64", "void"),
        ]
        + [(name, "u64", "f64") for name in ("convert", "convert_unchecked", "convert_down", "convert_up", "convert_nearest")]
    )


#: Calls of the test that runs, by target.
_waiting: dict[str, list[tuple[Code | Compiled, list[Any], Check]]] = {}
#: Most calls that one program makes.
_MOST = 500


def _target_of(code: Code | Compiled) -> str:
    return code.target.name


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def finish() -> None:
    """Make the calls that have waited until now."""
    waiting = [calls[start : start + _MOST] for calls in _waiting.values() for start in range(0, len(calls), _MOST)]
    _waiting.clear()
    for calls in waiting:
        try:
            results = emulate.run_many([(code, args) for code, args, _ in calls])
        except (LoopwrightError, InternalError, TimeoutError) as error:
            raise AssertionError(_first_wrong(calls, error)) from error
        for (_, _, check), result in zip(calls, results, strict=True):
            check(result)


def _first_wrong(calls: Sequence[tuple[Code | Compiled, list[Any], Check]], error: Exception) -> str:
    """Which call of a program went wrong. Arrays are as they were: nothing comes back from a program that dies."""
    while len(calls) > 1:
        first = calls[: len(calls) // 2]
        try:
            emulate.run_many([(code, args) for code, args, _ in first])
            calls = calls[len(first) :]
        except (LoopwrightError, InternalError, TimeoutError) as problem:
            calls, error = first, problem
    code, args, _ = calls[0]
    source = (code.compiled if isinstance(code, Code) else code).source
    return f"{source.name} on {_target_of(code)} with {args}: {error}"


def forget() -> None:
    """Drop the calls of a test that has failed already."""
    _waiting.clear()


#: Targets whose code is that of another, but for its order: simulating takes its time.
_LIKE_ANOTHER = ("multiclet-s1",)


def _found() -> Iterator[Runner]:
    for folder, machine in registry.machines().items():
        for name, level in machine.levels.items():
            # The wider two: narrower ones are of the same code.
            for bits in level.widths[-2:] or (0,):
                yield _runner(folder, machine, name, bits)


def _runner(folder: str, machine: Machine, name: str, bits: int) -> Runner:
    missing = sorted(registry.get(name).features - cpu.host_features()) if machine.runs_here() else []
    if machine.runs_here() and not missing:
        return Here(folder, name, bits, "")
    lacks = f"this CPU lacks {', '.join(missing)}" if missing else "this CPU is of another machine"
    if machine.emulator is None:
        return Runner(folder, name, bits, f"{lacks}, and there is no emulator for it")
    # Bochs takes its time: the widest vectors only.
    if "bochs" in machine.emulator.programs and bits != machine.levels[name.split("+")[0]].widths[-1]:
        return Runner(folder, name, bits, f"{lacks}, and the emulator is asked about the widest vectors only")
    if not machine.emulator.programs:
        return Simulated(folder, name, bits, "its code is that of another target, but for the order" if name in _LIKE_ANOTHER else "")
    emulated = UnderBochs if "bochs" in machine.emulator.programs else Emulated
    return emulated(folder, name, bits, "" if emulate.available(name) else f"{lacks}, and {machine.emulator.programs[0]} is not installed")


#: All there are, whether they can be run or not.
RUNNERS = list(_found())


def runners(wanted: Callable[[Runner], bool] = lambda runner: True, at_length: Callable[[Runner], bool] = lambda runner: False) -> list[Any]:
    """Parameters, one for each runner; those that cannot be run are skipped, with the reason, and those for long runs alone marked ``slow``."""
    return [_parameter(runner, marks=[pytest.mark.slow] if at_length(runner) else []) for runner in RUNNERS if wanted(runner)]


def _parameter(runner: Runner, *more: Any, name: str = "", marks: Sequence[pytest.MarkDecorator] = ()) -> Any:
    if not marks and (not runner.widest or isinstance(runner, (Simulated, UnderBochs))):
        # Other widths of the same machine differ in little; simulating one takes its time.
        marks = [pytest.mark.every_change]
    return pytest.param(runner, *more, id=name or repr(runner), marks=[pytest.mark.skip(reason=f"{runner}: {runner.lacks}")] if runner.lacks else marks)


#: Features that no emulator has.
_NOWHERE = ("avx_vnni", "avx512_fp16")


def with_features(*features: str) -> list[Any]:
    """Parameters: for each level that may have all of some optional features, the runner of its widest vectors with them."""
    found = []
    for folder, machine in registry.machines().items():
        for name, level in machine.levels.items():
            if set(features) <= set(level.optional):
                runner = _runner(folder, machine, registry.with_features(name, features), level.widths[-1])
                if set(features) & set(_NOWHERE) and isinstance(runner, Emulated):
                    runner.lacks = f"this CPU lacks {', '.join(features)}, and so does the emulator"
                found.append(_parameter(runner))
    return found


#: Those that compute with f16 by instructions of their own.
HALF_ARITHMETIC = [*with_features("asimdhp"), *with_features("avx512_fp16")]


def with_each(
    values: Callable[[Runner], Sequence[Any]],
    wanted: Callable[[Runner], bool] = lambda runner: True,
    every_change: Callable[[Runner], bool] = lambda runner: False,
) -> list[Any]:
    """Parameters (runner, value), for each of the values there are for a runner; those for long runs and before every change marked so."""
    return [
        _parameter(runner, value, name=f"{runner}-{value}", marks=[pytest.mark.every_change] if every_change(runner) else [])
        for runner in RUNNERS
        if wanted(runner)
        for value in values(runner)
    ]


def simulated(runner: Runner) -> bool:
    """Whether its code takes long, as what a simulator in Python and a PC without a system run does."""
    return isinstance(runner, (Simulated, UnderBochs))


def families(wanted: Callable[[Runner], bool] = lambda runner: True) -> list[Any]:
    """Parameters: for each machine the runners of it that can be run, and whose emulator makes no mistakes."""
    found = []
    for folder in registry.machines():
        every = [runner for runner in RUNNERS if runner.folder == folder and not runner.misjudged and wanted(runner)]
        if not every:
            continue
        able = [runner for runner in every if not runner.lacks]
        why = "; ".join(f"{runner}: {runner.lacks}" for runner in every)
        found.append(pytest.param(able, id=folder, marks=[] if able else [pytest.mark.skip(reason=why)]))
    return found
