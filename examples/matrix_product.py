"""The product of two matrices as three loops: the compiler makes lanes of one and unrolls another by itself. And the same, said by hand.

python examples/matrix_product.py
loopwright show examples/matrix_product.py:product --nests -- 'f32[,]' 'f32[,]' 'f32[,]'
"""

import numpy as np

import loopwright as lw


@lw.kernel
def product(a: lw.Array, b: lw.Array, c: lw.Array):
    for i in lw.range(c.shape[0]):
        for j in lw.range(c.shape[1]):
            total = a[i, 0] * b[0, j]
            for k in lw.range(1, b.shape[0]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


#: Columns in the lanes of vectors, and four rows at once.
by_hand = product.schedule(lw.steps.lanes("j"), lw.steps.unroll_and_jam(i=4))


def main() -> None:
    random = np.random.default_rng(1)
    for dtype, tolerance in ((np.float32, 1e-4), (np.float64, 1e-12)):
        for rows, inner, columns in ((1, 1, 1), (3, 5, 7), (64, 48, 80), (101, 99, 97)):
            a, b = random.random((rows, inner)).astype(dtype), random.random((inner, columns)).astype(dtype)
            for kernel in (product, by_hand):
                c = np.empty((rows, columns), dtype)
                kernel(a, b, c)
                assert np.allclose(c, a @ b, rtol=tolerance, atol=0), (dtype, rows, inner, columns)
    matrix = lw.Array[lw.f32, 2]
    print(product.compile(matrix, matrix, matrix).nests())


if __name__ == "__main__":
    main()
