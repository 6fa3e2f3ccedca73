"""The corpora that loopwright brings: ``kernels``, ``programs`` and ``c``.

``kernels`` is every kernel of the examples, the demo, the benchmarks and :mod:`loopwright.corpus.kernels`, for every width of vectors
there is. ``programs`` are the generated functions of :mod:`loopwright.corpus.programs`, for every target, ``c`` those of the C programs
that are tested, as clang hands them over for each machine. Recording them needs a checkout, where examples, benchmarks and tests are; the files lie in its ``corpora`` folder.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from loopwright.corpus.files import Context, write
from loopwright.corpus.recording import context_of
from loopwright.errors import ArgumentError, InternalError, LoopwrightError, UnsupportedOperationError
from loopwright.ir.function import Function
from loopwright.regalloc.heuristics import DEFAULT_ORDER
from loopwright.targets import registry
from loopwright.targets.target import Target

__all__ = ["LEVELS", "NAMES", "contexts", "record", "shipped"]

#: name -> one line about it
NAMES: Final[dict[str, str]] = {
    "kernels": "the kernels of examples, demo and benchmarks, and more like them, at every width of vectors",
    "programs": "generated functions full of calls, branches, loops and long formulas, for every target",
    "c": "the functions of C programs, of all sizes, as clang 14 hands them over for each machine",
}

#: Targets with the widths of vectors that kernels are recorded for; 0 for the target's own.
LEVELS: Final = (("x86-64-v3", 256), ("x86-64-v4", 512), ("x86-64-v4", 256), ("rv64gc", 0))
#: Targets that programs, which are scalar, are recorded for.
TARGETS: Final = ("x86-64-v3", "x86-64-v4", "rv64gc")

#: Targets that C is recorded for, one of each machine: clang makes other IR for another.
C_TARGETS: Final = ("x86-64-v3", "aarch64-neon", "rv64gc")

#: (name, kernel or builder function, types, constants)
Case = tuple[str, Any, tuple[Any, ...], dict[str, Any]]

_PLACES: Final = Path(__file__).resolve().parents
#: The package is in src/, or natively built in build/native/.
_CHECKOUT: Final = next((place for place in _PLACES[3:5] if (place / "corpora").is_dir()), _PLACES[3])


def shipped(name: str) -> Path:
    """The file of a collection. Raises ``LoopwrightError`` where there is none."""
    # A checkout's own before those that were installed, or natively built, from it some time ago.
    for folder in (_CHECKOUT / "corpora", Path(__file__).with_name("corpora")):
        path = folder / f"{name}.lwc"
        if path.is_file():
            return path
    raise LoopwrightError(f"the corpus {name} is missing from this installation of loopwright: {folder} has no {name}.lwc")


def _module(path: Path) -> ModuleType:
    name = f"loopwright_corpus_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise LoopwrightError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Kernels read their own source, which is looked for by way of their module.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _checkout(part: str) -> Path:
    path = _CHECKOUT / part
    if not path.is_dir():
        raise LoopwrightError(f"the corpus of kernels is recorded in a checkout of loopwright's source, from its {part}, and this is none")
    return path


def _polynomials() -> list[tuple[str, tuple[float, ...]]]:
    """Coefficients with and without zeros and ones."""
    found: list[tuple[str, tuple[float, ...]]] = [
        ("1", (1.0,)),
        ("1+2x+x2", (1.0, 2.0, 1.0)),
        ("sparse", (0.5, 0.0, 0.0, 2.0)),
        ("x", (0.0, 1.0)),
        ("odd", (0.0, 0.75, 0.0, -0.25, 0.0, 0.125, 0.0, -0.0625)),
    ]
    return found + [
        (f"degree {n}", tuple(round((0.9 - 0.0125 * k) * (-1) ** (k // 2), 5) for k in range(n + 1))) for n in (1, 2, 3, 4, 5, 7, 9, 12, 15, 23, 31, 47)
    ]


def _example_cases() -> Iterator[Case]:
    """Kernels and functions of the examples: those whose annotations say all, and ``poly``, which takes any type."""
    import loopwright as lw

    for path in sorted(_checkout("examples").glob("*.py")):
        module = _module(path)
        for name, value in vars(module).items():
            if isinstance(value, lw.Function):
                yield f"examples/{path.stem}:{name}", value, (), {}
            elif isinstance(value, lw.Kernel) and value.function.__module__ == module.__name__:
                if (path.stem, name) == ("polynomial", "poly"):
                    for kind in (lw.f32, lw.f64):
                        for label, coefficients in _polynomials():
                            yield f"examples/polynomial:poly {label} {kind}", value, (lw.Array[kind], lw.Array[kind]), {"coeffs": coefficients}
                else:
                    yield f"examples/{path.stem}:{name}", value, (), {}


def _benchmark_cases() -> Iterator[Case]:
    module = _module(_checkout("benchmarks") / "kernels.py")
    for name, (kernel, types) in module.KERNELS.items():
        if kernel is not module.poly:
            yield f"benchmarks:{name}", kernel, types, {}
    _, types = module.KERNELS["poly3"]
    for label, coefficients in _polynomials():
        if label.startswith("degree"):
            yield f"benchmarks:poly {label}", module.poly, types, {"coeffs": coefficients}


def _demo_cases() -> Iterator[Case]:
    from loopwright.demo import kernels

    yield "demo:blur", kernels.blur, (), {}
    for label, coefficients in _polynomials():
        if label in ("1+2x+x2", "sparse", "odd", "degree 3", "degree 7"):
            yield f"demo:curve {label}", kernels.curve, (), {"coeffs": coefficients}
    for size in (3, 5, 7, 9, 13):
        yield f"demo:largest {size}", kernels.largest, (), {"size": size}


def _kernel_cases() -> Iterator[Case]:
    from loopwright.corpus.kernels import CASES

    yield from _example_cases()
    yield from _benchmark_cases()
    yield from _demo_cases()
    for name, kernel, types, constants in CASES:
        yield f"kernels:{name}", kernel, types, constants


def _staged(case: Case, target: Target, check: bool) -> Function:
    import loopwright as lw

    _, kernel, types, constants = case
    if isinstance(kernel, lw.Function):
        return kernel.ir
    staged: Function = kernel.stage(kernel.signature(types, constants), check)
    # Loops as they are written, so that what is measured is what becomes of them from there on.
    staged.options.nests = False
    return staged


def _kernel_contexts(say: Callable[[str], None]) -> Iterator[Context]:
    for case in _kernel_cases():
        for name, bits in LEVELS:
            yield from _level_contexts(case, registry.get(name, bits or None), say)


def _level_contexts(case: Case, target: Target, say: Callable[[str], None]) -> Iterator[Context]:
    """A case for one target and width of vectors; kernels of examples and benchmarks also with every access checked."""
    import loopwright as lw
    from loopwright import compiler
    from loopwright.corpus.recording import paused

    widest = target.vector_bits == registry.get(target.name).vector_bits
    for check in (False, True):
        label = case[0] + (" checked" if check else "")
        if check and (not widest or not isinstance(case[1], lw.Kernel) or case[0].startswith("kernels:") or "poly" in case[0]):
            # Checks make scalar loops, so one width will do.
            continue
        try:
            f = _staged(case, target, check)
            with paused():
                compiler.compile(f, target, ordering=DEFAULT_ORDER)
        except ArgumentError as error:
            say(f"{label} is left out: {error}")
            continue
        except UnsupportedOperationError as error:
            say(f"{label} is left out for {target.name}: {error}")
            continue
        except InternalError as error:
            # What shows a mistake of the compiler is worth keeping.
            say(f"{label} fails to compile for {target.name}: {str(error).splitlines()[0]}")
        yield context_of(f, target, DEFAULT_ORDER, "kernels", label)


def _program_contexts() -> Iterator[Context]:
    from loopwright.corpus import programs

    seen: set[str] = set()
    targets = [registry.get(name) for name in TARGETS]
    for name, f in programs.programs():
        made = [context_of(f, target, DEFAULT_ORDER, "programs", name) for target in targets]
        # Small families come to the same program twice.
        _, _, text = made[0].function.partition("(")
        if text not in seen:
            seen.add(text)
            yield from made


def _c_contexts() -> Iterator[Context]:
    module = _module(_checkout("benchmarks") / "c_functions.py")
    for name in C_TARGETS:
        target = registry.get(name)
        for label, f in module.functions(name):
            yield context_of(f, target, DEFAULT_ORDER, "c", label)


def contexts(name: str, say: Callable[[str], None] = lambda text: None) -> Iterator[Context]:
    """The contexts of a collection, made anew.

    Args:
        name: one of ``NAMES``.
        say: is told what is left out.

    Raises:
        LoopwrightError: there is no such collection, or this is no checkout.
    """
    if name == "kernels":
        return _kernel_contexts(say)
    if name == "programs":
        return _program_contexts()
    if name == "c":
        return _c_contexts()
    raise LoopwrightError(f"there is no collection {name!r}; there are {', '.join(NAMES)}")


def record(name: str, path: str | os.PathLike[str], say: Callable[[str], None] = lambda text: None) -> int:
    """Make the corpus of a collection anew; the number of contexts. Raises as :func:`contexts`."""
    return write(path, contexts(name, say))
