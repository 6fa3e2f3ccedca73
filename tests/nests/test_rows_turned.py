"""Rows that are turned round, one for each lane: results bit for bit those of the loops as written, whatever the sizes, where arrays overlap and where rows are not there, and which loops become that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Runner, runners

import loopwright as lw

#: Per kernel its parameters, with what their elements are, and what it does; T stands for the type of the coordinates.
Source = tuple[dict[str, str], str]
NEAREST: Source = (
    {"x": "T2", "y": "T2", "label": "i32", "count": "i32", "sums": "T2"},
    """
    for i in range(x.shape[0]):
        best = lw.T(30000)
        at = 0
        for c in range(y.shape[0]):
            d = lw.T(0)
            for k in range(x.shape[1]):
                e = x[i, k] - y[c, k]
                d += e * e
            if d < best:
                best = d
                at = c
        label[i] = at
        count[at] += 1
        for k in range(x.shape[1]):
            sums[at, k] += x[i, k]
""",
)
GREATEST: Source = (
    {"x": "T2", "y": "T2", "out": "T2"},
    """
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            d = lw.T(0)
            for k in range(x.shape[1]):
                d = max(d, abs(x[i, k] - y[j, k]))
            out[j, i] = d
""",
)
AMONG_EACH_OTHER: Source = (
    {"x": "T2", "out": "T2"},
    """
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            d = lw.T(0)
            for k in range(x.shape[1]):
                d = max(d, abs(x[i, k] - x[j, k]))
            out[i, j] = d
""",
)
ADDED: Source = (
    {"x": "T2", "y": "T2", "out": "T2"},
    """
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            d = lw.T(0)
            for k in range(x.shape[1]):
                d += abs(x[i, k] - y[j, k])
            out[j, i] = d
""",
)
BITS: Source = (
    {"x": "T2", "y": "T2", "out": "u8 2"},
    """
    for j in range(y.shape[0]):
        for i in range(x.shape[0]):
            d = 0
            for k in range(x.shape[1]):
                d += lw.popcount(x[i, k] ^ y[j, k])
            out[j, i] = d & 255
""",
)
HITS: Source = (
    {"x": "T2", "y": "T2", "out": "i32"},
    """
    for i in range(x.shape[0]):
        hits = 0
        for c in range(y.shape[0]):
            d = lw.T(0)
            for k in range(x.shape[1]):
                e = x[i, k] - y[c, k]
                d += e * e
            if d < 40:
                hits += 1
        out[i] = hits
""",
)
#: Rows that are not there in all iterations.
NEXT: Source = (
    {"x": "T2", "y": "T2", "out": "T1"},
    """
    for i in range(x.shape[0]):
        s = lw.T(0)
        if i + 1 < x.shape[0]:
            for c in range(y.shape[0]):
                for k in range(x.shape[1]):
                    s += x[i + 1, k] * y[c, k]
        out[i] = s
""",
)
PREVIOUS: Source = (
    {"x": "T2", "y": "T2", "out": "T1"},
    """
    for i in range(x.shape[0]):
        s = lw.T(0)
        if i > 0:
            for c in range(y.shape[0]):
                for k in range(x.shape[1]):
                    s += x[i - 1, k] * y[c, k]
        out[i] = s
""",
)
MORE_THAN_THERE_ARE: Source = (
    {"x": "T2", "y": "T2", "out": "T1"},
    """
    for i in range(out.shape[0]):
        s = lw.T(0)
        for c in range(y.shape[0]):
            for k in range(x.shape[1]):
                s += x[i, k] * y[c, k]
        out[i] = s
""",
)
#: What is not turned.
STORED: Source = (
    {"x": "T2", "y": "T2", "out": "T2"},
    """
    for i in range(x.shape[0] - 1):
        for j in range(y.shape[0]):
            d = lw.T(0)
            for k in range(x.shape[1]):
                d = max(d, abs(x[i, k] - y[j, k]))
            out[j, i] = d
            x[i + 1, 0] = d
""",
)
LATER_ONES: Source = (
    {"x": "T2", "out": "T2"},
    """
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            d = lw.T(0)
            for k in range(x.shape[1]):
                d = max(d, abs(x[i, k] - x[j, k]))
            out[i, j] = d
            out[j, i] = d
""",
)
LATER_HALF: Source = (
    {"x": "T2", "out": "T2"},
    """
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            d = lw.T(0)
            for k in range(x.shape[1]):
                d = max(d, abs(x[i, k] - x[j, k]))
            out[i, j] = d
""",
)
KERNELS: dict[str, tuple[Source, str]] = {
    "nearest f32": (NEAREST, "f32"),
    "nearest f64": (NEAREST, "f64"),
    "nearest i32": (NEAREST, "i32"),
    "greatest f32": (GREATEST, "f32"),
    "greatest f64": (GREATEST, "f64"),
    "among each other f32": (AMONG_EACH_OTHER, "f32"),
    "added i32": (ADDED, "i32"),
    "added f64": (ADDED, "f64"),
    "bits": (BITS, "i64"),
    "hits f32": (HITS, "f32"),
    "hits f64": (HITS, "f64"),
    "later ones f32": (LATER_ONES, "f32"),
    "later ones f64": (LATER_ONES, "f64"),
    "later half f32": (LATER_HALF, "f32"),
    "later half f64": (LATER_HALF, "f64"),
}
OTHERS: dict[str, tuple[Source, str]] = {"stored f32": (STORED, "f32")}
EVERY = {**KERNELS, **OTHERS}
#: How many rows, and coordinates: more than 64 are not turned.
ROWS = (0, 1, 2, 5, 15, 16, 17, 33, 100)
COORDINATES = (0, 1, 2, 5, 64, 65, 70)
CENTRES = 4
NAMES = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8"}


def _kernel(name: Source, type_: str) -> Any:
    parameters, body = name
    source = f"def f({', '.join(parameters)}):{body}".replace("lw.T(", f"lw.{type_}(")
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the sources above)
    function = space["f"]
    for parameter, element in parameters.items():
        rank = 2 if "2" in element[-1] and element != "i32" else 1
        function.__annotations__[parameter] = lw.Array[getattr(lw, type_ if element[0] == "T" else element.split()[0]), rank]
    return lw.kernel(source=source, contract=False)(function)


def _arrays(source: Source, type_: str, rows: int, coordinates: int) -> list[np.ndarray]:
    """Coordinates of floats are such that totals in another order would be others."""
    rng = np.random.default_rng(1000 * rows + coordinates)

    def some(*shape: int) -> np.ndarray:
        if type_ == "i64":
            return rng.integers(-(2**63), 2**63 - 1, shape)
        return rng.integers(-9, 9, shape).astype(NAMES[type_]) if type_[0] == "i" else rng.normal(0, 3, shape).astype(NAMES[type_])

    first = some(rows, coordinates)
    made = {"x": first, "y": some(CENTRES, coordinates), "label": np.full(rows, 7, "i4"), "count": np.zeros(CENTRES, "i4"), "sums": some(CENTRES, coordinates)}
    if source[0].get("out") == "i32":
        made["out"] = np.full(rows, 7, "i4")
    elif source[0].get("out") == "T1":
        made["out"] = some(rows)
    else:
        made["out"] = np.full((rows if "y" not in source[0] else CENTRES, rows), 7, "u1" if type_ == "i64" else NAMES[type_])
    return [made[parameter] for parameter in source[0]]


def _agree(plain: Any, call: Any, wanted: list[np.ndarray], found: list[np.ndarray], about: object) -> None:
    plain(*wanted)
    call(*found)
    for x, y in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(y, x, err_msg=str(about))


@pytest.mark.parametrize("name", EVERY)
def test_as_the_loops_as_written(name: str) -> None:
    kernel = _kernel(*EVERY[name])
    for rows in ROWS:
        for coordinates in COORDINATES:
            if (name.startswith(("among", "later")) and rows > 33) or (name.startswith("stored") and coordinates == 0):
                continue
            _agree(kernel.function, kernel, _arrays(*EVERY[name], rows, coordinates), _arrays(*EVERY[name], rows, coordinates), (rows, coordinates))


@pytest.mark.parametrize("name", EVERY)
def test_nothing_outside_is_touched(name: str) -> None:
    kernel = _kernel(*EVERY[name])
    for at_end in (False, True):
        for rows, coordinates in ((33, 5), (16, 64), (35, 1)):
            given = _arrays(*EVERY[name], rows, coordinates)
            _agree(kernel.function, kernel, _arrays(*EVERY[name], rows, coordinates), [guarded(a, at_end) for a in given], (rows, coordinates))


@pytest.mark.parametrize("source", [NEXT, PREVIOUS], ids=["next", "previous"])
def test_rows_under_a_condition(source: Source) -> None:
    """The row behind the last one, and that in front of the first one, are not there."""
    kernel = _kernel(source, "f32")
    for at_end in (False, True):
        for rows, coordinates in ((1, 5), (33, 64), (40, 64)):
            given = _arrays(source, "f32", rows, coordinates)
            _agree(kernel.function, kernel, _arrays(source, "f32", rows, coordinates), [guarded(a, at_end) for a in given], (rows, coordinates))


def test_rows_that_are_not_there() -> None:
    """No row is read where there is nothing to compare it with."""
    kernel = _kernel(MORE_THAN_THERE_ARE, "f32")
    for rows in (0, 1, 40):
        x, y, out = guarded(np.ones((rows, 64), np.float32), True), np.zeros((0, 64), np.float32), np.ones(3000, np.float32)
        kernel(x, y, out)
        assert not out.any()


@pytest.mark.parametrize("name", EVERY)
def test_arrays_that_overlap(name: str) -> None:
    """All arrays of one type are views of the same memory, so far apart, or in the opposite order."""
    kernel = _kernel(*EVERY[name])
    rows, coordinates = 19, 5
    for shift in (0, 1, 5, 20, 60, -1, -20):

        def made(shift: int = shift) -> list[np.ndarray]:
            arrays = _arrays(*EVERY[name], rows, coordinates)
            memories: dict[Any, np.ndarray] = {}
            views = []
            for k, each in enumerate(arrays):
                memory = memories.setdefault(each.dtype, np.resize(each.ravel(), 1200))
                at = 200 + k * shift
                views.append(memory[at : at + each.size].reshape(each.shape))
            if name.startswith("nearest"):
                # (Where the labels go is not where they are counted, which would be an index.)
                views[2] = arrays[2]
            return views

        _agree(kernel.function, kernel, made(), made(), shift)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_what_becomes_of_the_loops(name: str, target: str) -> None:
    report = str(_kernel(*KERNELS[name]).compile(target=target, keep=True).nests())
    lanes = "j" if name.startswith(("among", "later")) else "i"
    rows = 2 * (512 if target == "x86-64-v4" else 256) // (64 if "64" in name or name == "bits" else 32)
    # (Where it is like a product with a transpose it is made in blocks.)
    assert f"{rows} rows of x turned round at a time, one for each lane of {lanes}" in report or "x turned round, block by block" in report
    assert f"lanes({lanes})" in report


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_others_are_not_turned(name: str, target: str) -> None:
    assert "turned round at a time" not in str(_kernel(*OTHERS[name]).compile(target=target, keep=True).nests())


@pytest.mark.parametrize("name", ["nearest f32", "greatest f32", "bits", "hits f64"])
@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
def test_on_every_machine(name: str, runner: Runner) -> None:
    kernel = _kernel(*KERNELS[name])
    for rows, coordinates in ((19, 3), (35, 2)):
        given, wanted = _arrays(*KERNELS[name], rows, coordinates), _arrays(*KERNELS[name], rows, coordinates)
        kernel.function(*wanted)
        runner.leaves(runner.compiled(kernel).compiled, given, wanted)
