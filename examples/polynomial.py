"""A generator of polynomial kernels: one short loop of Python, and for any coefficients the code for just those.

``coeffs`` is an ``lw.Const``: a Python value that is known while compiling. The loop over it, and every test of a
coefficient, run then; only arithmetic on ``x`` is left in the code. Coefficients come lowest power first:
(c0, c1, c2) is c0 + c1*x + c2*x*x.

    python examples/polynomial.py
    loopwright show examples/polynomial.py:poly -- 'f32[]' 'f32[]' 'coeffs=(1.0, 2.0, 1.0)'
"""

import numpy as np

import loopwright as lw


def times(a, x):
    """a * x, without a multiplication where a is known to be 0 or 1."""
    known = isinstance(a, (int, float))
    return 0 if known and a == 0 else x if known and a == 1 else a * x


def plus(a, c):
    """a + c for a known c, without an addition where one of them is known to be 0."""
    known = isinstance(a, (int, float))
    return c if known and a == 0 else a if c == 0 else a + c


def horner(coeffs, x):
    """coeffs[0] + x * (coeffs[1] + x * (coeffs[2] + …)): one multiply-add for a coefficient, none for what 0 and 1 spare."""
    total = 0
    for c in reversed(coeffs):
        total = plus(times(total, x), c)
    return total


@lw.kernel
def poly(x: lw.Array, y: lw.Array, coeffs: lw.Const):
    for i in lw.lanes(len(x)):
        y[i] = horner(coeffs, x[i])


def main() -> None:
    x = np.linspace(-2, 2, 1001, dtype=np.float32)
    for coeffs in [(1,), (0,), (1, 2, 1), (0.5, 0, 0, 2), (0, 1), (0, 0, 0, 1), (1, 2, 0, 0), (0.1, -0.2, 0.3, -0.4, 0.5)]:
        y = np.empty_like(x)
        poly(x, y, coeffs=coeffs)
        expected = np.polynomial.polynomial.polyval(x.astype(np.float64), coeffs)
        assert np.allclose(y, expected, rtol=0, atol=1e-5), coeffs

    for coeffs in [(1,), (1, 2, 1), (0.5, 0, 0, 2)]:
        print(f"--- {coeffs}")
        print(poly.compile(lw.Array[lw.f32], lw.Array[lw.f32], coeffs=coeffs).asm())


if __name__ == "__main__":
    main()
