"""Kernels compiled for every level this CPU has, compared with their own Python functions over NumPy scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.runtime.conftest import win64_bridge  # noqa: F401 (a fixture)

from loopwright.runtime import cpu

#: (target, vector width).
LEVELS = [("x86-64-v3", 128), ("x86-64-v3", 256), ("x86-64-v4", 256), ("x86-64-v4", 512)]


def available() -> list[tuple[str, int]]:
    return [(name, bits) for name, bits in LEVELS if cpu.is_x86_64() and cpu.LEVELS[name] <= cpu.host_features()]


@pytest.fixture(scope="session")
def levels() -> list[tuple[str, int]]:
    """The levels that run here."""
    found = available()
    if not found:
        pytest.skip("needs x86-64 with AVX2")
    return found


def equal(got: Any, want: Any) -> bool:
    """The same values: signed zeros told apart, any NaN like any other."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind == "f":
        want = want.astype(got.dtype)
        return bool((((got == want) & (np.signbit(got) == np.signbit(want))) | (np.isnan(got) & np.isnan(want))).all())
    return bool((got == want).all())


class Everywhere:
    """A kernel compiled for each level, for the types of the arguments given."""

    def __init__(self, levels: list[tuple[str, int]], kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]) -> None:
        self.kernel = kernel
        self.constants = constants
        self.codes = [(f"{name} {bits}", kernel.compile(*args, target=name, vector_bits=bits, **constants)) for name, bits in levels]

    def expected(self, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        """The Python function's result and the arrays as it leaves them; scalar arguments as scalars of their types."""
        passed = [a.copy() if isinstance(a, np.ndarray) else p.type(a) for a, p in zip(args, [p for p in self.kernel.parameters if p.kind != 2], strict=True)]
        with np.errstate(all="ignore"):
            return self.kernel.function(*passed, **self.constants), passed

    def check(self, *args: Any, want: tuple[Any, list[Any]] | None = None, tolerance: float = 0.0) -> None:
        """Every level gives what Python gives, on arrays that end and arrays that begin where a page cannot be touched."""
        result, arrays = want if want is not None else self.expected(args)
        for name, code in self.codes:
            for at_end in (True, False):
                given = [guarded(a, at_end) if isinstance(a, np.ndarray) else a for a in args]
                got = code(*given)
                where = f"{self.kernel.__name__}, {name}, arrays {'end' if at_end else 'begin'} at a page, {[a.shape if isinstance(a, np.ndarray) else a for a in args]}"
                if result is not None:
                    assert equal(got, result) if not tolerance else np.isclose(float(got), float(result), rtol=tolerance, equal_nan=True), (
                        f"{where}: {got!r} for {result!r}"
                    )
                for mine, theirs in zip(given, arrays, strict=True):
                    if isinstance(mine, np.ndarray):
                        good = equal(mine, theirs) if not tolerance else np.allclose(mine, theirs, rtol=tolerance, equal_nan=True)
                        assert good, f"{where}:\n{mine}\nfor\n{theirs}"


@pytest.fixture
def everywhere(levels: list[tuple[str, int]]) -> Callable[..., Everywhere]:
    """``everywhere(kernel, *arguments or types, **constants)`` makes an ``Everywhere``."""
    return lambda kernel, *args, **constants: Everywhere(levels, kernel, args, constants)
