"""The largest of three neighbours, and a kernel that reports from inside its loop.

``lw.call`` calls a C function, or a Python function made one by ctypes. Its argument types are the ctypes signature's;
values are converted to them as they would be in C.

    python examples/max_of_three.py
    loopwright show examples/max_of_three.py:max_of_three
"""

import ctypes

import numpy as np

import loopwright as lw

seen: list[tuple[int, float]] = []


@ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_float)
def debug(i: int, value: float) -> None:
    """What the loop calls; a real one would print, or stop in a debugger."""
    seen.append((i, value))


@lw.kernel
def max_of_three(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    """y[i] = max(x[i - 1], x[i], x[i + 1]) wherever there are three; a vector of lanes a step."""
    for i in lw.lanes(1, len(x) - 1):
        y[i] = lw.max(lw.max(x[i - 1], x[i]), x[i + 1])


@lw.kernel
def max_of_three_reporting(x: lw.Array[lw.f32], y: lw.Array[lw.f32]):
    """The same, one element a step, with a call for each."""
    for i in lw.range(1, len(x) - 1):
        most = lw.max(lw.max(x[i - 1], x[i]), x[i + 1])
        lw.call(debug, i, most)
        y[i] = most


def main() -> None:
    random = np.random.default_rng(1)
    for length in (0, 1, 2, 3, 4, 15, 16, 17, 18, 19, 101):
        x = random.standard_normal(length).astype(np.float32)
        expected = np.zeros_like(x)
        expected[1:-1] = np.maximum(np.maximum(x[:-2], x[1:-1]), x[2:])

        fast = np.zeros_like(x)
        max_of_three(x, fast)
        assert np.array_equal(fast, expected), length

        seen.clear()
        reporting = np.zeros_like(x)
        max_of_three_reporting(x, reporting)
        assert np.array_equal(reporting, expected), length
        assert seen == [(i, float(expected[i])) for i in range(1, length - 1)], length

    print(f"the last run reported {len(seen)} values, the first of them {seen[0]}")


if __name__ == "__main__":
    main()
