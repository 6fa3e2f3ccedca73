"""Several pixels of a row in each iteration: halved and doubled images, whose pixels are taken as one longer row each."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw


@lw.kernel(contract=False)
def halved(a: lw.Array, b: lw.Array):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            for k in range(3):
                b[i, j, k] = (a[2 * i, 2 * j, k] + a[2 * i, 2 * j + 1, k] + a[2 * i + 1, 2 * j, k] + a[2 * i + 1, 2 * j + 1, k]) // 4


@lw.kernel(contract=False)
def halved_with_an_alpha(a: lw.Array, b: lw.Array):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            for k in range(4):
                b[i, j, k] = (a[i, 2 * j, k] + a[i, 2 * j + 1, k]) // 2


@lw.kernel(contract=False)
def doubled(a: lw.Array, b: lw.Array):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(3):
                b[i, 2 * j, k] = a[i, j, k]
                b[i, 2 * j + 1, k] = a[i, j, k]


@lw.kernel(contract=False)
def every_second_complex(a: lw.Array, b: lw.Array):
    """Half of what a row has is passed over."""
    for i in range(b.shape[0]):
        for j in range(1, b.shape[1]):
            b[i, j, 0] = a[i, 2 * j - 1, 1]
            b[i, j, 1] = a[i, 2 * j - 2, 0]


KERNELS = {halved: (2, 2, 3), halved_with_an_alpha: (1, 2, 4), doubled: (1, 0.5, 3), every_second_complex: (1, 2, 2)}


def _images(kernel: lw.Kernel, element: type, rows: int, columns: int) -> list[np.ndarray]:
    down, across, channels = KERNELS[kernel]
    rng = np.random.default_rng(rows)
    small = columns if across >= 1 else 2 * columns
    return [
        rng.integers(0, 60, (int(down * rows), int(across * small) if across >= 1 else columns, channels)).astype(element),
        rng.integers(0, 60, (rows, small, channels)).astype(element),
    ]


@pytest.mark.parametrize("runner", runners(lambda runner: runner.target.core is not None))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_as_written(runner: Runner, kernel: lw.Kernel) -> None:
    written = lw.kernel(kernel.function, contract=False, nests="off")
    for element in (np.uint8, np.int16, np.float32, np.int64):
        compiled = runner.compiled(kernel, *_images(kernel, element, 2, 9))
        for rows, columns in ((1, 1), (2, 7), (3, 40), (2, 101)):
            given = _images(kernel, element, rows, columns)
            wanted = [each.copy() for each in given]
            written(*wanted)
            runner.leaves(compiled, given, wanted)


@pytest.mark.parametrize("kernel", [halved, halved_with_an_alpha, doubled], ids=lambda kernel: kernel.function.__name__)
@pytest.mark.parametrize("element", [np.uint8, np.int32])
def test_they_have_lanes(kernel: lw.Kernel, element: type) -> None:
    done = [step for nest in kernel.compile(*_images(kernel, element, 2, 9), target="x86-64-v4").nests() for step in nest.done]
    assert "lanes(j)" in done, done


@pytest.mark.parametrize("part", [lambda a: a[:, :, 1:], lambda a: a[:, ::-1, :3], lambda a: a[::-1, 2:, :3], lambda a: a[:, ::2, :3]])
def test_pixels_that_have_more_run_as_written(part: object) -> None:
    rng = np.random.default_rng(1)
    given = [rng.integers(0, 60, (12, 160, 4)).astype(np.uint8), np.zeros((6, 40, 4), np.uint8)]
    wanted = [each.copy() for each in given]
    lw.kernel(halved.function, contract=False, nests="off")(part(wanted[0]), wanted[1][:, :33])  # type: ignore[operator]
    halved(part(given[0]), given[1][:, :33])  # type: ignore[operator]
    for got, right in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(got, right)
