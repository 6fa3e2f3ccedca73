"""The committed coefficients are those that the generator makes."""

from __future__ import annotations

import mpmath as mp
import pytest
from tools.approximations import rows

from loopwright.elementary import coefficients


@pytest.mark.parametrize("name", ["EXP_F32", "SIN_F64", "ATAN_F64"])
def test_the_generator_makes_them_again(name: str) -> None:
    with mp.workdps(60):
        found, _ = rows()[name].coefficients()
        assert tuple(float(c) for c in found) == getattr(coefficients, name)


def test_every_row_is_there() -> None:
    with mp.workdps(60):
        assert all(len(getattr(coefficients, name)) == row.degree + 1 for name, row in rows().items())


def test_the_bits_of_two_over_pi() -> None:
    with mp.workprec(3000):
        assert int(mp.floor(2 / mp.pi * mp.mpf(2) ** coefficients.TWO_OVER_PI_BITS)) == coefficients.TWO_OVER_PI
