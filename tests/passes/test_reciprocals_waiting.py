"""Divisions under ``fastmath`` of what a loop waits for: by a reciprocal that is computed meanwhile; and several by one number."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

#: T stands for the type. Per kernel its arrays of two dimensions, those of one, and what it does.
SOURCES = {
    "row": """
def f(a, x, y, z):
    for i in range(x.shape[0]):
        s = x[i]
        for k in range(i):
            s -= a[i, k] * x[k]
        y[i] = s / a[i, i]
""",
    "solved": """
def f(a, x, y, z):
    for i in range(x.shape[0]):
        s = x[i]
        for k in range(i):
            s -= a[i, k] * x[k]
        x[i] = s / a[i, i]
""",
    "recurrence": """
def f(a, x, y, z):
    t = lw.T(0)
    for i in range(x.shape[0]):
        t = (t + x[i]) / y[i]
        z[i] = t
""",
    "two divisions": """
def f(a, x, y, z):
    t = lw.T(0)
    for i in range(x.shape[0]):
        t = t * 0.5 + x[i]
        p = y[i] + 1
        z[i] = x[i] / p + t / p
""",
    "two divisions, the one that waits first": """
def f(a, x, y, z):
    t = lw.T(0)
    for i in range(x.shape[0]):
        t = t * 0.5 + x[i]
        p = y[i] + 1
        z[i] = t / p + x[i] / p
""",
    "two that nothing waits for": """
def f(a, x, y, z):
    t = lw.T(0)
    for i in range(x.shape[0]):
        p = y[i] + 1
        t = t * 0.5 + x[i] / p
        z[i] = t + y[i] / p
""",
}
#: Divisors that are waited for themselves, one division by each.
OTHERS = {
    "fraction": """
def f(a, x, y, z):
    t = lw.T(0)
    for i in range(x.shape[0]):
        t = x[i] / (t + y[i])
        z[i] = t
""",
    "one division each": """
def f(a, x, y, z):
    t = lw.T(0)
    for i in range(x.shape[0]):
        t = t * 0.5 + x[i] / y[i]
        z[i] = t
""",
}
NAMES = {"f32": "f4", "f64": "f8"}


def _kernel(name: str, type_: str, fastmath: bool = True) -> Any:
    source = {**SOURCES, **OTHERS}[name].replace("lw.T(", f"lw.{type_}(")
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the sources above)
    element = getattr(lw, type_)
    space["f"].__annotations__.update(a=lw.Array[element, 2], x=lw.Array[element], y=lw.Array[element], z=lw.Array[element])
    return lw.kernel(source=source, fastmath=fastmath, contract=False)(space["f"])


def _arrays(type_: str, n: int) -> list[np.ndarray]:
    """Whole numbers, of which sums are exact, and so many that quotients are not."""
    rng = np.random.default_rng(n)
    return [rng.integers(1, 20, shape).astype(NAMES[type_]) for shape in ((n, n), n, n, n)]


def _divisions(name: str, type_: str, fastmath: bool = True) -> list[str]:
    """What is divided by what, before remainders of loops and after."""
    text = _kernel(name, type_, fastmath).compile(target="x86-64-v3", keep=True).ir("nests")
    return re.findall(rf"div\.{type_} (.*?)  ;", text)


@pytest.mark.parametrize("type_", NAMES)
@pytest.mark.parametrize("name", SOURCES)
def test_products_with_reciprocals(name: str, type_: str) -> None:
    found = _divisions(name, type_)
    assert found and all(each.startswith("1.0, ") for each in found), found
    assert len(found) == len({each.split(", ")[1] for each in found})


@pytest.mark.parametrize("type_", NAMES)
@pytest.mark.parametrize("name", ["two divisions", "two divisions, the one that waits first", "two that nothing waits for"])
def test_one_division_for_two(name: str, type_: str) -> None:
    apart, together = _divisions(name, type_, False), _divisions(name, type_)
    assert len(apart) == 2 * len(together) > 0
    listing = _kernel(name, type_).compile(target="x86-64-v3").asm()
    assert len(re.findall(r"\bvdivs[sd]\b", listing)) == len(together)


@pytest.mark.parametrize("type_", NAMES)
@pytest.mark.parametrize("name", [*SOURCES, *OTHERS])
def test_as_written_without_fastmath(name: str, type_: str) -> None:
    found = _divisions(name, type_, False)
    assert found and not any(each.startswith("1.0") for each in found), found
    for n in (1, 2, 3, 9, 30):
        wanted, given = _arrays(type_, n), _arrays(type_, n)
        kernel = _kernel(name, type_, False)
        kernel.function(*wanted)
        kernel(*given)
        for x, y in zip(wanted, given, strict=True):
            np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("type_", NAMES)
@pytest.mark.parametrize("name", OTHERS)
def test_others_divide(name: str, type_: str) -> None:
    """Where the divisor is waited for as well, or nothing is."""
    assert not any(each.startswith("1.0") for each in _divisions(name, type_))


@pytest.mark.parametrize("type_", NAMES)
@pytest.mark.parametrize("name", ["row", "two divisions", "two that nothing waits for", "recurrence"])
@pytest.mark.parametrize("runner", runners())
def test_within_four_units(name: str, type_: str, runner: Runner) -> None:
    """What is added up is positive, and most of it exact."""
    code = runner.compiled(_kernel(name, type_)).compiled
    for n in (1, 2, 3, 9, 20):
        given, wanted = _arrays(type_, n), _arrays(type_, n)
        _kernel(name, type_).function(*wanted)

        def near(_: object, given: list[np.ndarray] = given, wanted: list[np.ndarray] = wanted) -> None:
            for x, y in zip(wanted, given, strict=True):
                np.testing.assert_array_max_ulp(x, y, 4)

        runner.run(code, given, near)


@pytest.mark.parametrize("type_", NAMES)
def test_a_system_is_solved(type_: str) -> None:
    kernel = _kernel("solved", type_)
    for n in (1, 2, 5, 30):
        given = _arrays(type_, n)
        given[0] += np.eye(n, dtype=NAMES[type_]) * 20 * n
        wanted = np.linalg.solve(np.tril(given[0]).astype("f8"), given[1].astype("f8"))
        kernel(*given)
        np.testing.assert_allclose(given[1], wanted, rtol=1e-12 if type_ == "f64" else 1e-4)


@pytest.mark.parametrize("type_", NAMES)
def test_by_zero(type_: str) -> None:
    kernel = _kernel("row", type_)
    given = _arrays(type_, 12)
    given[0][:] = 0
    given[0][3, 3] = -0.0
    given[1][7] = -4
    with np.errstate(divide="ignore"):
        wanted = given[1] / np.diag(given[0])
    kernel(*given)
    np.testing.assert_array_equal(given[2], wanted)
    assert np.isinf(wanted).all() and wanted[3] < 0 and wanted[7] < 0
