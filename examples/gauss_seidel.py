"""Gauss-Seidel relaxation of Laplace's equation on a square, in place: each point becomes the mean of its four neighbours, two of which are new already.

python examples/gauss_seidel.py
loopwright show examples/gauss_seidel.py:relax --nests
"""

import numpy as np

import loopwright as lw


@lw.kernel
def relax(a: lw.Array[lw.f64, 2]):
    for i in lw.range(1, a.shape[0] - 1):
        for j in lw.range(1, a.shape[1] - 1):
            a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25


def main() -> None:
    # One side of the square is hot.
    a = np.zeros((60, 60))
    a[0, :] = 100.0
    by_python = a.copy()
    relax(a)
    relax.function(by_python)
    assert np.array_equal(a, by_python)

    for _ in range(10000):
        relax(a)
    inner = a[1:-1, 1:-1]
    means = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) / 4
    assert np.abs(inner - means).max() < 1e-6
    print(f"in the middle: {a[30, 30]:.3f}")


if __name__ == "__main__":
    main()
