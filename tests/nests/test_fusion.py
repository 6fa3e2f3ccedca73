"""Fusion: by itself where lanes stay and something is shared, by hand wherever it is legal; beside the loops as written, with arrays that overlap and with one array twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.errors import ScheduleError

V3 = "x86-64-v3"
F32 = lw.Array[lw.f32]
PLANE = lw.Array[lw.f32, 2]


@lw.kernel
def chain(a: F32, b: F32, c: F32, d: F32):
    n = a.shape[0]
    for i in lw.range(n):
        b[i] = a[i] * 2.0
    for i in lw.range(n):
        c[i] = b[i] + a[i]
    for i in lw.range(n):
        d[i] = c[i] - b[i]


@lw.kernel
def planes(a: PLANE, b: PLANE, c: PLANE):
    n = a.shape[0]
    m = a.shape[1]
    for i in lw.range(1, n):
        for j in lw.range(m):
            b[i, j] = a[i, j] - a[i - 1, j]
    for k in lw.range(1, n):
        for l in lw.range(m):
            c[k, l] = b[k, l] * a[k, l]


@lw.kernel
def ahead(a: F32, b: F32):
    n = a.shape[0]
    for i in lw.range(1, n - 1):
        b[i] = a[i] * 2.0
    for j in lw.range(1, n - 1):
        a[j] = b[j + 1]


@lw.kernel
def behind(a: F32, b: F32):
    n = a.shape[0]
    for i in lw.range(1, n - 1):
        b[i] = a[i] * 2.0
    for j in lw.range(1, n - 1):
        a[j] = b[j - 1]


@lw.kernel
def total(a: F32, b: F32):
    n = a.shape[0]
    s = lw.f32(0.0)
    for i in lw.range(n):
        s += a[i]
    for j in lw.range(n):
        b[j] = a[j] * s


@lw.kernel
def others(a: F32, b: F32):
    for i in lw.range(a.shape[0]):
        a[i] = a[i] + 1.0
    for j in lw.range(b.shape[0] - 1):
        b[j] = b[j] * 2.0


@lw.kernel
def rows(a: PLANE, b: PLANE):
    m = a.shape[1]
    for i in lw.range(a.shape[0]):
        for j in lw.range(m):
            b[i, j] = a[i, j] * 2.0
        for k in lw.range(m):
            a[i, k] = b[i, k] + 1.0


def done(kernel: Any) -> list[list[str]]:
    return [nest.done for nest in kernel.compile(target=V3).nests()]


def same(kernel: Any, written: Any, arrays: list[np.ndarray]) -> None:
    """The kernel does what it does as written."""
    off = lw.kernel(nests="off")(written.function)
    got, want = [a.copy() for a in arrays], [a.copy() for a in arrays]
    kernel(*got)
    off(*want)
    assert all(np.array_equal(x, y) for x, y in zip(got, want, strict=True))


def given(count: int, *shape: int) -> list[np.ndarray]:
    return [np.random.default_rng(k).random(shape, dtype=np.float32) for k in range(count)]


def lines(kernel: Any) -> list[int]:
    return [loop.line for nest in lw.kernel(nests="off")(kernel.function).compile(target=V3).nests() for loop in nest.loops]


def test_chains_are_fused_by_themselves() -> None:
    (steps,) = done(chain)
    first, second, third = lines(chain)
    assert steps == [f"fuse(i@{first}, i@{second})", f"fuse(i@{first}, i@{third})", "lanes(i)"]
    for n in (0, 1, 7, 100):
        same(chain, chain, given(4, n))


def test_planes_are_fused_loop_by_loop() -> None:
    (steps,) = done(planes)
    assert steps[0].startswith("fuse(i@") and steps[1] == "lanes(j)"
    same(planes, planes, given(3, 9, 21))


def test_what_is_stored_before_may_be_read() -> None:
    kernel = behind.schedule(lw.steps.fuse("i", "j"))
    assert done(kernel)[0] == ["fuse(i, j)"]
    same(kernel, behind, given(2, 77))


@pytest.mark.parametrize("kernel", [ahead, total, others], ids=lambda kernel: kernel.function.__name__)
def test_what_is_not_fused(kernel: Any) -> None:
    assert not [step for steps in done(kernel) for step in steps if "fuse" in step]
    same(kernel, kernel, given(2, 77))


def test_arrays_that_overlap() -> None:
    off = lw.kernel(nests="off")(chain.function)
    for shift in (0, 1, 3, 40):
        got, want = (np.random.default_rng(1).random(300, dtype=np.float32) for _ in range(2))
        for kernel, memory in ((chain, got), (off, want)):
            kernel(*[memory[k * shift : k * shift + 100] for k in range(4)])
        assert np.array_equal(got, want), shift


def test_one_array_twice() -> None:
    off = lw.kernel(nests="off")(chain.function)
    for places in ((0, 1, 0, 2), (0, 0, 1, 1), (0, 1, 1, 0), (0, 0, 0, 0)):
        got, want = given(3, 50), given(3, 50)
        for kernel, arrays in ((chain, got), (off, want)):
            kernel(*[arrays[k] for k in places])
        assert all(np.array_equal(x, y) for x, y in zip(got, want, strict=True)), places


def test_by_hand() -> None:
    first, second, third = (f"i@{line}" for line in lines(chain))
    steps = [lw.steps.fuse(first, second), lw.steps.fuse(first, third), lw.steps.lanes(first)]
    kernel = chain.schedule(*steps)
    assert done(kernel)[0] == [repr(step) for step in steps]
    same(kernel, chain, given(4, 100))
    kernel = planes.schedule(lw.steps.fuse("i", "k"), lw.steps.fuse("j", "l"), lw.steps.lanes("j"))
    same(kernel, planes, given(3, 9, 21))


def test_by_hand_within_a_loop() -> None:
    kernel = rows.schedule(lw.steps.fuse("j", "k"))
    text = kernel.compile(target=V3).ir("nests")
    assert text.split("else")[0].count(" = for ") == 2
    same(kernel, rows, given(2, 5, 30))


@pytest.mark.parametrize(
    ("kernel", "step", "message"),
    [
        (ahead, ("i", "j"), r"has to follow: flow of b, from b\[i\] \(line \d+\) to b\[i \+ 1\] \(line \d+\): \(-1\)"),
        (total, ("i", "j"), "s goes from one of the loops to the other"),
        (others, ("i", "j"), "begin, end or step otherwise"),
        (rows, ("i", "k"), "no loop over k behind"),
        (planes, ("i", "l"), "not in the same loop"),
        (planes, ("k", "i"), "no loop over i behind"),
    ],
)
def test_what_is_refused(kernel: Any, step: tuple[str, str], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        kernel.schedule(lw.steps.fuse(*step)).compile(target=V3)


def test_what_is_between_stays_in_order() -> None:
    first, _, third = (f"i@{line}" for line in lines(chain))
    with pytest.raises(ScheduleError, match="more than arithmetic is between"):
        chain.schedule(lw.steps.fuse(first, third)).compile(target=V3)
