"""Running a kernel on every target, and beside plain Python."""

from __future__ import annotations

import contextlib
import os
import random
import re
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from tests import machines
from tests.end_to_end.guarded import guarded
from tests.machines import RUNNERS, Here
from tests.random_kernels.inputs import CALLS, arguments
from tests.random_kernels.tree import Program
from tests.staging import stage

from loopwright.frontend.kernel import Kernel
from loopwright.ir.interpret import run as interpret
from loopwright.runtime import emulate
from loopwright.types import parse_type

__all__ = ["Difference", "Emulated", "Loaded", "check", "check_emulated", "load", "targets"]

#: What runs in this process, and what runs under an emulator, by the names of reports.
_HERE = {f"{runner.name}/{runner.bits}": runner for runner in RUNNERS if isinstance(runner, Here) and not runner.lacks}
_EMULATED = {
    f"{runner.name}/{runner.bits}" if runner.bits else runner.name: runner for runner in RUNNERS if isinstance(runner, machines.Emulated) and not runner.lacks
}
_LETTERS = "ABCDEFGHIJKLMNOPQ"
#: Vector widths of the interpreter, which takes longest: each kernel is run with one of them.
_INTERPRETED = (0, 256, 512)


def targets() -> list[str]:
    """What kernels are run on here, as it is named in reports."""
    return [*_HERE, "checked", "interpreter", *_EMULATED]


class Difference(NamedTuple):
    """Something a target does otherwise than plain Python.

    Attributes:
        target: which.
        what: "different", "refused", "internal" or "crashed"; "python" when plain Python itself failed.
        text: the arguments, and both results.
    """

    target: str
    what: str
    text: str


class Elements(np.ndarray[Any, Any]):
    """An array as a kernel sees it: an index does not count from the end, and a store converts (where NumPy sometimes refuses)."""

    def __getitem__(self, index: Any) -> Any:
        _inside(index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _inside(index)
        if isinstance(value, np.integer) and self.dtype.kind in "iu":
            value = value.astype(self.dtype)
        super().__setitem__(index, value)


def _inside(index: Any) -> None:
    if any(i < 0 for i in index) if type(index) is tuple else index < 0:
        raise IndexError(f"index {index} is negative")


class Loaded(NamedTuple):
    """A kernel that has been defined, its calls and what plain Python makes of them: (arguments, arguments afterwards, result)."""

    program: Program
    kernel: Kernel
    calls: list[tuple[list[Any], list[Any], Any]]


class Emulated(NamedTuple):
    """A kernel compiled for a target that is emulated."""

    target: str
    loaded: Loaded
    code: Any


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _copies(args: Sequence[Any]) -> list[Any]:
    """The arguments again; an array that stands twice among them still does."""
    known: dict[int, Any] = {}
    return [known.setdefault(id(a), a.copy()) if isinstance(a, np.ndarray) else a for a in args]


def _guarded(args: Sequence[Any], at_end: bool) -> list[Any]:
    known: dict[int, Any] = {}
    made: list[Any] = []
    for a in args:
        if isinstance(a, np.ndarray):
            if id(a) not in known:
                known[id(a)] = guarded(a, at_end)
            made.append(known[id(a)])
        else:
            made.append(a.item())
    return made


def load(program: Program, directory: str | None = None) -> Loaded | Difference:
    """Define the kernel and run it in plain Python."""
    with tempfile.TemporaryDirectory(prefix="random-kernels-", dir=directory) as folder:
        path = os.path.join(folder, f"kernel_{program.seed}.py")
        text = program.text()
        with open(path, "w") as file:
            file.write(text)
        try:
            namespace: dict[str, Any] = {"__name__": f"kernel_{program.seed}", "__file__": path}
            with _quiet():
                exec(compile(text, path, "exec"), namespace)  # noqa: S102 (a kernel made here)
                kernel = namespace["kernel"]
                # Staged once while the file is there: its source is read then, and kept.
                calls = [_python(program, kernel, arguments(program, call)) for call in range(CALLS)]
        except Exception:  # noqa: BLE001 (whatever it is, it is a difference)
            return Difference("python", "python", traceback.format_exc(limit=-4))
        # What is wrong shows again where it is compared.
        with contextlib.suppress(Exception), _quiet():
            kernel.stage(kernel.signature([a for a in _signature(program, calls[0][0])], {}))
        return Loaded(program, kernel, calls)


def _signature(program: Program, args: list[Any]) -> list[Any]:
    """Arguments with the constants among them, as ``Kernel.compile`` takes them."""
    constants = program.constants()
    given = iter(args)
    made: list[Any] = []
    for p in program.parameters:
        if p.text in constants:
            made.append(constants[p.text])
        else:
            value = next(given)
            made.append(value if isinstance(value, np.ndarray) else _TYPES[value.dtype.name])
    return made


_TYPES = {parse_type(t).dtype: parse_type(t) for t in ("bool", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64")}


def _python(program: Program, kernel: Kernel, args: list[Any]) -> tuple[list[Any], list[Any], Any]:
    left = _copies(args)
    given = iter([a.view(Elements) if isinstance(a, np.ndarray) else a for a in left])
    constants = program.constants()
    result = kernel.function(*[constants[p.text] if p.text in constants else next(given) for p in program.parameters])
    if program.result:
        result = np.asarray(result).astype(parse_type(program.result).dtype)[()]
    return args, left, result


def _same(got: Any, want: Any) -> bool:
    """The same bits, any NaN like any other."""
    if got.tobytes() == want.tobytes():
        return True
    if got.dtype.kind != "f":
        return False
    return bool((((got == want) & (np.signbit(got) == np.signbit(want))) | (np.isnan(got) & np.isnan(want))).all())


def _difference(loaded: Loaded, target: str, call: int, got: list[Any], result: Any) -> Difference | None:
    """What a target left, beside what plain Python left."""
    args, left, wanted = loaded.calls[call]
    parts: list[str] = []
    names = [p.text for p in loaded.program.parameters if p.text not in loaded.program.constants()]
    for text, mine, theirs in zip(names, got, left, strict=True):
        if isinstance(theirs, np.ndarray) and not _same(mine, theirs):
            parts.append(f"{text} is\n{mine.tolist()}\nand should be\n{theirs.tolist()}")
    if wanted is not None and not _same(np.asarray(result).astype(wanted.dtype), wanted):
        parts.append(f"the result is {result!r} and should be {wanted!r}")
    if not parts:
        return None
    given = "\n".join([f"{text} = {a.tolist() if isinstance(a, np.ndarray) else a!r}" for text, a in zip(names, args, strict=True)])
    constants = "".join([f"{text} = {value!r}\n" for text, value in loaded.program.constants().items()])
    return Difference(target, "different", f"call {call}:\n{constants}{given}\n" + "\n".join(parts))


def _failed(target: str, error: Exception) -> Difference:
    """What an exception says."""
    kind = "internal" if type(error).__name__ in ("InternalError", "VerifyError") or not type(error).__module__.startswith("loopwright") else "refused"
    return Difference(target, kind, "".join(traceback.format_exception(error, limit=-3)))


def _compiled(loaded: Loaded, name: str, bits: int | None, check: bool = False) -> Any:
    program = loaded.program
    # Any order of the allocator's filters gives correct code.
    ordering = None
    if program.seed % 4 == 0:
        letters = [*_LETTERS]
        random.Random(program.seed).shuffle(letters)
        ordering = "".join(letters)
    return loaded.kernel.compile(*_signature(program, loaded.calls[0][0]), target=name, vector_bits=bits, check=check, ordering=ordering)


def check(loaded: Loaded, only: str = "") -> tuple[list[Difference], list[str], list[Emulated]]:
    """Run a kernel everywhere but under emulators: (differences, the targets it ran on, what to run there)."""
    found: list[Difference] = []
    ran: list[str] = []
    for target in targets():
        if target in _EMULATED or only and target != only:
            continue
        name, _, bits = target.partition("/")
        try:
            with _quiet():
                if name == "interpreter":
                    signature = loaded.kernel.signature(_signature(loaded.program, loaded.calls[0][0]), {})
                    f = stage(loaded.kernel, signature, _INTERPRETED[loaded.program.seed % len(_INTERPRETED)])
                    difference = _interpreted(loaded, target, f)
                else:
                    code = _compiled(loaded, name, int(bits)) if bits else _compiled(loaded, _host(), None, True)
                    difference = _called(loaded, target, code)
            ran.append(target)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is a difference)
            difference = _failed(target, error)
        if difference is not None:
            found.append(difference)
    emulated: list[Emulated] = []
    for target, runner in _EMULATED.items():
        if only in ("", target):
            text = loaded.program.text()
            if (not runner.ties_of_halves and "f16" in text) or (isinstance(runner, machines.Simulated) and re.search(r"\blw\.f(ma|ms|nma|nms)\b", text)):
                # What runs it would be found wrong, not the code; and there is a machine without multiply-adds of one rounding.
                ran.append(target)
                continue
            try:
                with _quiet():
                    code = _compiled(loaded, runner.name, runner.bits or None)
                if runner.knows(code):
                    emulated.append(Emulated(target, loaded, code))
                else:
                    ran.append(target)
            except Exception as error:  # noqa: BLE001 (whatever it is, it is a difference)
                found.append(_failed(target, error))
    return found, ran, emulated


def _host() -> str:
    return [runner.name for runner in _HERE.values()][-1]


def _called(loaded: Loaded, target: str, code: Any) -> Difference | None:
    for call, (args, _, _) in enumerate(loaded.calls):
        given = _guarded(args, (loaded.program.seed + call) % 2 == 0)
        difference = _difference(loaded, target, call, given, code(*given))
        if difference is not None:
            return difference
    return None


def _interpreted(loaded: Loaded, target: str, f: Any) -> Difference | None:
    for call, (args, _, _) in enumerate(loaded.calls):
        given = _copies(args)
        difference = _difference(loaded, target, call, given, interpret(f, *given))
        if difference is not None:
            return difference
    return None


def check_emulated(waiting: Sequence[Emulated]) -> list[tuple[Program, Difference]]:
    """Run kernels under the emulators, all of a target in one process, since starting it takes longer than they do."""
    return [found for target in _EMULATED for found in _emulated(target, [each for each in waiting if each.target == target])]


def _emulated(target: str, waiting: Sequence[Emulated]) -> list[tuple[Program, Difference]]:
    if not waiting:
        return []
    calls: list[tuple[Any, list[Any]]] = []
    for emulated in waiting:
        for args, _, _ in emulated.loaded.calls:
            calls.append((emulated.code, [a if isinstance(a, np.ndarray) else a.item() for a in _copies(args)]))
    try:
        results = emulate.run_many(calls)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is a difference)
        if len(waiting) == 1:
            return [(waiting[0].loaded.program, _failed(target, error)._replace(what="crashed"))]
        # One of them: find it.
        half = len(waiting) // 2
        return _emulated(target, waiting[:half]) + _emulated(target, waiting[half:])
    found: list[tuple[Program, Difference]] = []
    position = 0
    for emulated in waiting:
        for call in range(len(emulated.loaded.calls)):
            difference = _difference(emulated.loaded, target, call, calls[position][1], results[position])
            if difference is not None:
                found.append((emulated.loaded.program, difference))
            position += 1
    return found
