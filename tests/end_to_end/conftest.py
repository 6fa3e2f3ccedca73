"""Kernels compiled for every target of a machine, compared with their own Python functions over NumPy scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import RUNNERS, Here, Runner, families
from tests.runtime.conftest import win64_bridge  # noqa: F401 (a fixture)


def available() -> list[tuple[str, int]]:
    """(target, vector width) of what runs in this process."""
    return [(runner.name, runner.bits) for runner in RUNNERS if isinstance(runner, Here) and not runner.lacks]


@pytest.fixture(params=families())
def machine(request: pytest.FixtureRequest) -> Sequence[Runner]:
    """The runners of one machine, for each machine whose code can be run."""
    found: Sequence[Runner] = request.param
    return found


@pytest.fixture(scope="session")
def levels() -> list[tuple[str, int]]:
    """The targets that run in this process: for what needs it."""
    found = available()
    if not found:
        pytest.skip("there is no target for this CPU")
    return found


def equal(got: Any, want: Any) -> bool:
    """The same values: signed zeros told apart, any NaN like any other."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind == "f":
        want = want.astype(got.dtype)
        return bool((((got == want) & (np.signbit(got) == np.signbit(want))) | (np.isnan(got) & np.isnan(want))).all())
    return bool((got == want).all())


class Everywhere:
    """A kernel compiled for each target of a machine, for the types of the arguments given."""

    def __init__(self, machine: Sequence[Runner], kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]) -> None:
        self.kernel = kernel
        self.constants = constants
        self.codes = [(runner, runner.compiled(kernel, *args, **constants)) for runner in machine]

    def expected(self, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        """The Python function's result and the arrays as it leaves them; scalar arguments as scalars of their types."""
        passed = [a.copy() if isinstance(a, np.ndarray) else p.type(a) for a, p in zip(args, [p for p in self.kernel.parameters if p.kind != 2], strict=True)]
        with np.errstate(all="ignore"):
            return self.kernel.function(*passed, **self.constants), passed

    def check(self, *args: Any, want: tuple[Any, list[Any]] | None = None, tolerance: float = 0.0) -> None:
        """Every target gives what Python gives, on arrays that end and, in this process, arrays that begin where a page cannot be touched."""
        result, arrays = want if want is not None else self.expected(args)
        for runner, code in self.codes:
            # An emulated program's arrays end at such a page.
            for at_end in (True, False) if isinstance(runner, Here) else (True,):
                given = [guarded(a, at_end) if isinstance(a, np.ndarray) else a for a in args]
                where = f"{self.kernel.__name__}, {runner}, arrays {'end' if at_end else 'begin'} at a page, {[a.shape if isinstance(a, np.ndarray) else a for a in args]}"

                def compare(got: Any, where: str = where, given: list[Any] = given) -> None:
                    if result is not None:
                        good = equal(got, result) if not tolerance else np.isclose(float(got), float(result), rtol=tolerance, equal_nan=True)
                        assert good, f"{where}: {got!r} for {result!r}"
                    for mine, theirs in zip(given, arrays, strict=True):
                        if isinstance(mine, np.ndarray):
                            good = equal(mine, theirs) if not tolerance else np.allclose(mine, theirs, rtol=tolerance, equal_nan=True)
                            assert good, f"{where}:\n{mine}\nfor\n{theirs}"

                runner.run(code, given, compare)


@pytest.fixture
def everywhere(machine: Sequence[Runner]) -> Callable[..., Everywhere]:
    """``everywhere(kernel, *arguments or types, **constants)`` makes an ``Everywhere``."""
    return lambda kernel, *args, **constants: Everywhere(machine, kernel, args, constants)
