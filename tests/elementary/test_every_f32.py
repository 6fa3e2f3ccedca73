"""All numbers of f32, for the functions that are computed in f32 themselves (with ``--exhaustive``); one in ten thousand in every run, and of those that are computed in f64."""

from __future__ import annotations

import pytest
from tools.elementary_errors import DOUBLE, every_f32

#: Those that are not computed in f64.
OF_THEIR_OWN = ("exp", "exp2", "exp10", "log", "sin", "cos", "tan", "tanh", "asin", "acos", "atan", "log2", "log10", "log1p", "expm1", "cbrt", "sigmoid", "erf")


@pytest.mark.parametrize("name", DOUBLE)
def test_numbers_from_everywhere(name: str) -> None:
    found, at = every_f32(name, 9973)
    assert found <= 1.0, f"{name}({at!r}) is {found} ulp off"


@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", OF_THEIR_OWN)
def test_every_number(name: str, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--exhaustive"):
        pytest.skip("takes minutes a function: only with --exhaustive")
    found, at = every_f32(name)
    assert found <= 1.0, f"{name}({at!r}) is {found} ulp off"
