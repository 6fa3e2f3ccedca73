"""From a kernel to code that runs: joins the front end, the compiler and the runtime."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from typing import Any, Final

from loopwright import compiler
from loopwright.errors import CpuError, ScheduleError, TargetError
from loopwright.frontend.annotations import ArrayType
from loopwright.frontend.kernel import Backend, Kernel
from loopwright.frontend.parameters import REQUIRED as NO_DEFAULT
from loopwright.frontend.parameters import small_extents
from loopwright.ir.description import Description
from loopwright.ir.function import Function
from loopwright.ir.schedule import Step, parse_steps
from loopwright.regalloc.heuristics import DEFAULT_ORDER
from loopwright.runtime import cpu
from loopwright.runtime.code import NESTS, Code, load
from loopwright.runtime.dispatch import REQUIRED, Dispatcher, Formal, Frozen, Key
from loopwright.settings import Settings
from loopwright.targets import registry
from loopwright.targets.target import Target

__all__ = ["BACKEND", "Native", "target_for"]


def target_for(name: str | Description | None, vector_bits: int | None) -> Target:
    """The target of a name, or that is described, or the best one this CPU runs.

    Raises:
        TargetError: no target of that name, or none with that vector width.
        CpuError: no name was given and there is no target for this CPU.
    """
    if isinstance(name, Description):
        return registry.target_of(name, vector_bits)
    if name is not None:
        return registry.get(name, vector_bits)
    features = cpu.host_features()
    known = _best.get((features, vector_bits))
    if known is None:
        name = registry.best_with_features(features)
        if name is None:
            raise CpuError("there is no target for this CPU: it lacks AVX2; name a target to compile for another machine, as in target='x86-64-v3'")
        known = _best[features, vector_bits] = registry.get(name, vector_bits, tuning=cpu.tuning(features))
    return known


#: The best target by the features of the CPU, as it appears, and the width of vectors.
_best: Final[dict[tuple[frozenset[str], int | None], Target]] = {}


class Native(Backend):
    """Compiles with the pipeline; runs in this process."""

    def caller(self, kernel: Kernel) -> Callable[..., Any]:
        formals = [Formal(p.name, p.kind, p.type, p.rank, REQUIRED if p.default is NO_DEFAULT else p.default) for p in kernel.parameters]

        def make(key: Key, given: tuple[Any, ...] = ()) -> Code:
            signature = _signature(key, given)
            code: Code = self.compile(lambda: kernel.stage(signature), kernel.settings)
            return code

        usual = Dispatcher(kernel.function.__name__, formals, make).call
        if kernel.nests != "measure" or kernel.check or kernel.steps:
            return usual

        # (Few kernels measure.)
        from loopwright.runtime.adaptive import Adaptive
        from loopwright.runtime.choices import Choices, folder

        def variants(key: Key) -> Any:
            return _variants(kernel, make(key), key, self)

        return Adaptive(formals, variants, usual, Choices(folder())).call

    def compile(self, stage: Callable[[], Function], settings: Settings) -> Code:
        _check_settings(settings)
        with _WithoutCollection():
            made = compiler.compile(stage(), target_for(settings.target, settings.vector_bits), settings)
            made.release()
            return Code(made)

    def compile_module(self, functions: list[Function], settings: Settings) -> dict[str, Any]:
        _check_settings(settings)
        target = target_for(settings.target, settings.vector_bits)
        with _WithoutCollection():
            parts = [compiler.compile(f, target, settings) for f in functions]
            for part in parts:
                part.release()
            return load(parts)


class _WithoutCollection:
    """Does not look for garbage meanwhile.

    Compiling makes tens of thousands of objects that all live until its end: to look for garbage among them again and again takes up to a tenth of the
    time (measured at degree 255), the more the longer the function.
    """

    __slots__ = ("_collecting",)

    def __enter__(self) -> None:
        self._collecting = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._collecting:
            gc.enable()


def _signature(key: Key, given: tuple[Any, ...] = ()) -> list[Any]:
    """What to stage a kernel for, by the key of a call; ``given`` are its arguments."""
    signature: list[Any] = []
    for place, item in enumerate(key):
        if isinstance(item, Frozen):
            signature.append(item.value)
        elif isinstance(item, tuple):
            signature.append(ArrayType(item[0], item[1], small_extents(given[place].shape) if given else ()))
        else:
            signature.append(item)
    return signature


#: How many of the ways that the compiler has looked at are measured beside the one it takes.
MOST_MEASURED: Final = 3


def _variants(kernel: Kernel, usual: Code, key: Key, native: Native) -> Any:
    """Ways to compute what a kernel computes: as written, as usual, after a longer search, and what looked good beside. Those that are the same code are one."""
    from loopwright.runtime.adaptive import Variant, Variants
    from loopwright.runtime.choices import identity

    signature = _signature(key)
    made = [("as written", _as(kernel, native, signature, "off")), ("fast", usual), ("search", _as(kernel, native, signature, "search"))]
    report = usual.nests() if NESTS in [each.name for each in usual.compiled.passes] else None
    if report is not None and len(report) == 1:
        nest = report[0]
        lanes = [step for step in nest.done if step.startswith("lanes(")]
        others = [candidate for candidate in nest.candidates if candidate.refusal is None and not candidate.chosen]
        for candidate in sorted(others, key=_cycles)[:MOST_MEASURED]:
            text = "; ".join([*lanes, candidate.step])
            with contextlib.suppress(ScheduleError):
                made.append((text, _as(kernel, native, signature, "fast", parse_steps(text))))
    different: dict[bytes, Variant] = {}
    for name, code in made:
        different.setdefault(code.compiled.machine.data, Variant(name, code))
    return Variants(identity(list(different), f"{usual.target.name} {usual.target.vector_bits}"), list(different.values()))


def _cycles(candidate: Any) -> float:
    return float(candidate.cycles)


def _as(kernel: Kernel, native: Native, signature: list[Any], nests: str, steps: tuple[Step, ...] = ()) -> Code:
    """A kernel compiled with its nests treated in another way."""
    other = Kernel(kernel.function, kernel.check, kernel.contract, kernel.fastmath, kernel.settings, None, nests, steps)
    return native.compile(lambda: other.stage(signature), kernel.settings)


def _check_settings(settings: Settings) -> None:
    """What is passed on has the types it is declared with: natively built, the compiler would refuse it in words of its own."""
    target, bits, ordering = settings.target, settings.vector_bits, settings.ordering
    if target is not None and not isinstance(target, (str, Description)):
        raise TargetError(f"a target is given by its name, as in target='x86-64-v3', or described (docs/multiclet.md), not by {target!r}")
    if bits is not None and (not isinstance(bits, int) or isinstance(bits, bool)):
        raise TargetError(f"the width of vectors is a number of bits, as in vector_bits=256, not {bits!r}")
    if ordering is not None and not isinstance(ordering, str):
        raise TargetError(f"a register selection order is a string, a permutation of {DEFAULT_ORDER}, not {ordering!r}")


BACKEND: Final = Native()
