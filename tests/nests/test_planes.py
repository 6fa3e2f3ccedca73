"""Planes of an array that are taken in turn, by remainders of the step: those that differ are told apart, those that may be one are not, and results are those of the loops as written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Runner, runners

import loopwright as lw

KERNELS = {
    "wave": """
def f(u, first, last):
    for t in range(first, last):
        before = t % 3
        now = (t + 1) % 3
        after = (t + 2) % 3
        for z in range(1, u.shape[1] - 1):
            for x in range(1, u.shape[2] - 1):
                s = u[now, z, x - 1] + u[now, z, x + 1] + u[now, z - 1, x] + u[now, z + 1, x] - u[now, z, x] * 4
                u[after, z, x] = u[now, z, x] * 2 - u[before, z, x] + s * 0.25
""",
    "backwards in the planes": """
def f(u, first, last):
    for t in range(first, last):
        a = (t + 2) % 3
        b = (t + 1) % 3
        c = t % 3
        for z in range(u.shape[1]):
            for x in range(1, u.shape[2]):
                u[c, z, x] = u[a, z, x - 1] * 0.5 + u[b, z, x - 1] * 0.25
""",
    "two planes": """
def f(u, first, last):
    for t in range(first, last):
        old = t % 2
        new = (t + 1) % 2
        for z in range(1, u.shape[1] - 1):
            for x in range(1, u.shape[2] - 1):
                u[new, z, x] = (u[old, z, x - 1] + u[old, z, x + 1] + u[old, z - 1, x] + u[old, z + 1, x]) * 0.25
""",
    "two planes by bits": """
def f(u, first, last):
    for t in range(first, last):
        old = (t - 1) & 1
        new = t & 1
        for z in range(1, u.shape[1] - 1):
            for x in range(1, u.shape[2] - 1):
                u[new, z, x] = (u[old, z, x - 1] + u[old, z, x + 1] + u[old, z - 1, x] + u[old, z + 1, x]) * 0.25
""",
    "the other of two": """
def f(u, first, last):
    for t in range(first, last):
        old = t & 1
        new = 1 - old
        for z in range(1, u.shape[1] - 1):
            for x in range(1, u.shape[2] - 1):
                u[new, z, x] = (u[old, z, x - 1] + u[old, z, x + 1] + u[old, z - 1, x] + u[old, z + 1, x]) * 0.25
""",
    "before what comes around": """
def f(u, first, last):
    for t in range(first, last):
        now = t % 3
        after = (t - 1) % 3
        for z in range(u.shape[1]):
            for x in range(1, u.shape[2]):
                u[after, z, x] = u[now, z, x - 1] * 0.5 + u[after, z, x]
""",
}
#: Remainders that are taken again for each element.
INLINE = {
    "wave": """
def f(u, first, last):
    for t in range(first, last):
        for z in range(1, u.shape[1] - 1):
            for x in range(1, u.shape[2] - 1):
                s = u[(t + 1) % 3, z, x - 1] + u[(t + 1) % 3, z, x + 1] + u[(t + 1) % 3, z - 1, x] + u[(t + 1) % 3, z + 1, x]
                u[(t + 2) % 3, z, x] = u[(t + 1) % 3, z, x] * 2 - u[t % 3, z, x] + s * 0.25
""",
    "two planes": """
def f(u, first, last):
    for t in range(first, last):
        for z in range(1, u.shape[1] - 1):
            for x in range(1, u.shape[2] - 1):
                u[(t + 1) % 2, z, x] = (u[t % 2, z, x - 1] + u[t % 2, z, x + 1] + u[t % 2, z - 1, x]) * 0.25
""",
}
#: An iteration of the inner loop reads, always or in some steps, what the one before has stored.
ONE_PLANE = {
    "three further": """
def f(u, first, last):
    for t in range(first, last):
        a = t % 3
        same = (t + 3) % 3
        for z in range(u.shape[1]):
            for x in range(1, u.shape[2]):
                u[a, z, x] = u[same, z, x - 1] * 0.5 + u[a, z, x]
""",
    "one further back": """
def f(u, first, last):
    for t in range(first, last):
        a = (t - 1) % 3
        same = (t + 2) % 3
        for z in range(u.shape[1]):
            for x in range(1, u.shape[2]):
                u[a, z, x] = u[same, z, x - 1] * 0.5 + u[a, z, x]
""",
    "two of two": """
def f(u, first, last):
    for t in range(first, last):
        a = t % 2
        same = (t + 2) % 2
        for z in range(u.shape[1]):
            for x in range(1, u.shape[2]):
                u[a, z, x] = u[same, z, x - 1] * 0.5 + u[a, z, x]
""",
    "twice as far": """
def f(u, first, last):
    for t in range(first, last):
        a = t % 3
        b = (2 * t) % 3
        for z in range(u.shape[1]):
            for x in range(1, u.shape[2]):
                u[a, z, x] = u[b, z, x - 1] * 0.5 + u[a, z, x]
""",
    "bits that are the same": """
def f(u, first, last):
    for t in range(first, last):
        a = t & 1
        same = (t + 2) & 1
        for z in range(u.shape[1]):
            for x in range(1, u.shape[2]):
                u[a, z, x] = u[same, z, x - 1] * 0.5 + u[a, z, x]
""",
    "a mask with a hole": """
def f(u, first, last):
    for t in range(first, last):
        a = t & 2
        b = (t + 1) & 2
        for z in range(u.shape[1]):
            for x in range(1, u.shape[2]):
                u[a, z, x] = u[b, z, x - 1] * 0.5 + u[a, z, x]
""",
    "of other numbers of planes": """
def f(u, first, last):
    for t in range(first, last):
        a = t % 3
        b = (t + 1) % 2
        for z in range(u.shape[1]):
            for x in range(1, u.shape[2]):
                u[a, z, x] = u[b, z, x - 1] * 0.5 + u[a, z, x]
""",
    "by the row": """
def f(u, first, last):
    for t in range(first, last):
        for z in range(u.shape[1]):
            a = t % 3
            b = (t + z) % 3
            for x in range(1, u.shape[2]):
                u[a, z, x] = u[b, z, x - 1] * 0.5 + u[a, z, x]
""",
}
EVERY = {**KERNELS, **{f"{name}, inline": source for name, source in INLINE.items()}, **ONE_PLANE}


def _kernel(source: str, type_: lw.Type) -> tuple[Any, Any]:
    spaces: list[dict[str, Any]] = [{}, {}]
    for space in spaces:
        exec(source, space)  # noqa: S102 (the sources above)
    spaces[1]["f"].__annotations__.update(u=lw.Array[type_, 3], first=lw.i64, last=lw.i64)
    return spaces[0]["f"], lw.kernel(source=source, contract=False)(spaces[1]["f"])


def _planes(dtype: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(shape).integers(-9, 10, (3, *shape)).astype(dtype)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("type_", [lw.f32, lw.f64], ids=["f32", "f64"])
def test_as_the_loops_as_written(name: str, type_: lw.Type) -> None:
    plain, kernel = _kernel(EVERY[name], type_)
    for shape in ((3, 3), (2, 2), (1, 40), (5, 9), (4, 35), (7, 70)):
        for first, last in ((0, 0), (0, 1), (0, 2), (0, 3), (0, 7), (1, 3), (2, 6), (-5, 2)):
            wanted, found = (_planes("f4" if type_ is lw.f32 else "f8", *shape) for _ in range(2))
            plain(wanted, first, last)
            kernel(found, first, last)
            np.testing.assert_array_equal(found, wanted, err_msg=str((shape, first, last)))


@pytest.mark.parametrize("name", EVERY)
def test_nothing_outside_is_touched(name: str) -> None:
    plain, kernel = _kernel(EVERY[name], lw.f32)
    for at_end in (False, True):
        wanted = _planes("f4", 4, 37)
        found = guarded(wanted, at_end)
        plain(wanted, 0, 5)
        kernel(found, 0, 5)
        np.testing.assert_array_equal(found, wanted)


def test_planes_larger_than_the_cache() -> None:
    _, kernel = _kernel(KERNELS["wave"], lw.f32)
    found = _planes("f4", 70, 30000) / np.float32(16)
    u = found.copy()
    for t in range(8):
        old, now, new = u[t % 3], u[(t + 1) % 3], u[(t + 2) % 3]
        s = now[1:-1, :-2] + now[1:-1, 2:] + now[:-2, 1:-1] + now[2:, 1:-1] - now[1:-1, 1:-1] * np.float32(4)
        new[1:-1, 1:-1] = now[1:-1, 1:-1] * np.float32(2) - old[1:-1, 1:-1] + s * np.float32(0.25)
    kernel(found, 0, 8)
    np.testing.assert_array_equal(found, u)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_inner_loops_have_lanes(name: str, target: str) -> None:
    for type_ in (lw.f32, lw.f64):
        _, kernel = _kernel(KERNELS[name], type_)
        assert "lanes(x)" in str(kernel.compile(target=target, keep=True).nests())


@pytest.mark.parametrize("name", INLINE)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_so_have_those_with_remainders_inside(name: str, target: str) -> None:
    _, kernel = _kernel(INLINE[name], lw.f32)
    assert "lanes(x)" in str(kernel.compile(target=target, keep=True).nests())


@pytest.mark.parametrize("name", ONE_PLANE)
def test_no_lanes_where_planes_may_be_one(name: str) -> None:
    _, kernel = _kernel(ONE_PLANE[name], lw.f32)
    assert "lanes(x)" not in str(kernel.compile(target="x86-64-v4", keep=True).nests())


@pytest.mark.parametrize("name", ["wave", "two planes", "three further"])
@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
def test_on_every_machine(name: str, runner: Runner) -> None:
    plain, kernel = _kernel(EVERY[name], lw.f32)
    given, wanted = [_planes("f4", 4, 21), 0, 4], _planes("f4", 4, 21)
    plain(wanted, 0, 4)
    runner.leaves(runner.compiled(kernel).compiled, given, [wanted, 0, 4])
