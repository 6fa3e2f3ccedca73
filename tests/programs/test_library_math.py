"""The elementary functions of the run-time library, as clang compiles them for this machine, beside exact ones; and, on the simulator, the same bits."""

from __future__ import annotations

import ctypes
import math
import random
import shutil
import struct
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
from tests.programs.test_simulated import run

from loopwright.cc import library

pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed (Debian package clang)")

SOURCES = [Path(library.__file__).with_name("c_library") / name for name in ("math.c", "special.c")]
#: Of each function: a range of its arguments (by exponents of two, where it is a pair of integers), and how far off it may be, in units of the last place.
RANGES: dict[str, tuple[float, float, float]] = {
    "sin": (-100, 100, 1.0),
    "cos": (-100, 100, 1.0),
    "tan": (-100, 100, 2.5),
    "exp": (-740, 709, 1.0),
    "expm1": (-3, 30, 3.0),
    "log": (1e-9, 1e9, 1.0),
    "log2": (1e-9, 1e9, 1.0),
    "log10": (1e-9, 1e9, 1.0),
    "log1p": (-0.9, 100, 2.5),
    "exp2": (-1000, 1000, 1.5),
    "sinh": (-20, 20, 3.5),
    "cosh": (-20, 20, 2.0),
    "tanh": (-20, 20, 4.0),
    "atan": (-30, 30, 1.5),
    "asin": (-1, 1, 4.0),
    "acos": (-1, 1, 2.5),
    "cbrt": (-1e6, 1e6, 2.0),
    "erf": (-6, 6, 2.0),
    "erfc": (-6, 26.5, 4.0),
    "tgamma": (1e-9, 171, 8.0),
    "lgamma": (1e-9, 1e9, 4.0),
}
EXACT = {
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "tgamma": mpmath.gamma,
    "lgamma": mpmath.loggamma,
}


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = tmp_path_factory.mktemp("library") / "math.so"
    words = [
        "clang",
        "-O2",
        "-w",
        "-ffreestanding",
        "-fno-builtin",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fPIC",
        "-shared",
        "-nostdlib",
        "-Wl,-z,undefs",
        "-Wl,-Bsymbolic",
    ]
    subprocess.run([*words, *map(str, SOURCES), "-o", str(made)], check=True)
    return ctypes.CDLL(str(made))


def function(native: Any, name: str, count: int = 1) -> Any:
    found = native[name]
    found.argtypes, found.restype = [ctypes.c_double] * count, ctypes.c_double
    return found


def off(made: float, exact: Any) -> float:
    """How far a result is off, in units of the last place."""
    if not math.isfinite(made):
        return math.inf
    return float(abs(mpmath.mpf(made) - exact) / math.ulp(float(exact)))


@pytest.mark.parametrize("name", RANGES)
def test_functions(name: str, native: Any) -> None:
    low, high, most = RANGES[name]
    found, exact = function(native, name), EXACT.get(name) or getattr(mpmath, name)
    rng = random.Random(name)
    with mpmath.workprec(200):
        for _ in range(1500):
            x = rng.uniform(low, high) if low < 0 else math.exp(rng.uniform(math.log(low), math.log(high)))
            if rng.random() < 0.3:
                x = max(min(x * 2.0 ** rng.randint(-30, 0), high), low)
            assert off(found(x), exact(mpmath.mpf(x))) <= most, x


def test_gamma_of_negative_numbers(native: Any) -> None:
    """Gamma in units of the last place; its logarithm, whose zeros there are everywhere, by its size or 1."""
    gamma, logarithm = function(native, "tgamma"), function(native, "lgamma")
    rng = random.Random(8)
    with mpmath.workprec(300):
        for _ in range(1500):
            x = -(rng.uniform(0, 30) if rng.random() < 0.7 else rng.uniform(0, 180))
            exact = mpmath.gamma(mpmath.mpf(x))
            if abs(exact) > 1e-300:
                assert off(gamma(x), exact) <= 12, x
            wanted = mpmath.log(abs(exact))
            assert abs(logarithm(x) - wanted) <= 1e-14 * max(abs(wanted), 1), x
    assert [gamma(x) for x in (5.0, 1.0, 0.0, -0.0, math.inf, 172.0)] == [24.0, 1.0, math.inf, -math.inf, math.inf, math.inf]
    assert math.isnan(gamma(-3.0)) and math.isnan(gamma(-math.inf)) and math.isnan(gamma(math.nan))
    assert [logarithm(x) for x in (1.0, 2.0, 0.0, -4.0, math.inf, -math.inf)] == [0.0, 0.0, math.inf, math.inf, math.inf, math.inf]
    assert [function(native, "erfc")(x) for x in (-math.inf, 0.0, 30.0, math.inf)] == [2.0, 1.0, 0.0, 0.0]


def test_large_angles(native: Any) -> None:
    rng = random.Random(5)
    with mpmath.workprec(1400):
        for k in range(1500):
            x = rng.uniform(1, 2) * 2.0 ** rng.randint(15, 1023) if k else 6381956970095103 * 2.0**797
            for name in ("sin", "cos"):
                assert off(function(native, name)(x), getattr(mpmath, name)(mpmath.mpf(x))) <= 1, (name, x)


def test_powers(native: Any) -> None:
    found = function(native, "pow", 2)
    rng = random.Random(6)
    with mpmath.workprec(300):
        for _ in range(3000):
            x = math.exp(rng.uniform(-20, 20)) if rng.random() < 0.7 else rng.uniform(0.9, 1.1)
            y = rng.uniform(-30, 30) if rng.random() < 0.7 else float(rng.randint(-30, 30))
            assert off(found(x, y), mpmath.mpf(x) ** mpmath.mpf(y)) <= 1.5, (x, y)
    specials = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -3.0, 1e300, -1e300, 1e-300, math.inf, -math.inf, math.nan, 2.5]
    for x in specials:
        for y in specials:
            try:
                expected = math.pow(x, y)
            except (OverflowError, ValueError):
                continue
            if math.isfinite(expected) and expected:
                assert off(found(x, y), mpmath.mpf(expected)) <= 1.5, (x, y)
            else:
                assert struct.pack("d", found(x, y)) == struct.pack("d", expected) or math.isnan(expected), (x, y)


def rounded(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def test_multiply_adds_and_remainders(native: Any) -> None:
    """Both are exact, but for one rounding: also where results are subnormal, cancel, or are above all numbers."""
    fma, fmod = function(native, "fma", 3), function(native, "fmod", 2)
    rng = random.Random(7)

    def number(low: int, high: int) -> float:
        return rng.choice((1, -1)) * rng.choice((1.0, 1 + 2.0**-52, rng.uniform(1, 2), float(rng.randint(1, 9)))) * 2.0 ** rng.randint(low, high)

    for k in range(20000):
        a, b = (number(-60, 60), number(-60, 60)) if k % 3 else (number(-540, -400), number(-540, -500))
        c = -a * b if k % 5 == 0 else number(-130, 130) if k % 3 else number(-1074, -900)
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        assert fma(a, b, c) == rounded(exact), (a.hex(), b.hex(), c.hex())
        x, y = number(-70, 300), number(-70, 60)
        assert fmod(x, y) == math.fmod(x, y), (x, y)
    assert fma(1e300, 1e300, 1.0) == math.inf and fma(1e308, 2.0, -1e308) == 1e308


def test_the_simulator_has_the_same_bits(native: Any, tmp_path: Path) -> None:
    values = [0.3, -2.5, 17.25, 1e-5, 123456.789]
    calls = "".join(f'  show("{name}", {name}(x));\n' for name in RANGES)
    source = f"""
#include <math.h>
#include <stdio.h>
static void show(const char *name, double x) {{ union {{ double x; unsigned long bits; }} of = {{x}}; if (x == x) printf("%s %lx\\n", name, of.bits); }}
int main(int count, char **words) {{
  static const double values[] = {{{", ".join(map(str, values))}}};
  for (int at = 0; at < {len(values)} * count; at++) {{
    double x = values[at];
{calls}    show("pow", pow(fabs(x), x / 7)); show("fma", fma(x, x, -x * x)); show("fmaf", fmaf((float)x, 0.1f, 3)); show("atan2", atan2(x, -2 * x)); show("hypot", hypot(x, 3));
  }}
}}
"""
    lines = []
    fmaf = native["fmaf"]
    fmaf.argtypes, fmaf.restype = [ctypes.c_float] * 3, ctypes.c_float
    for x in values:
        made = [(name, function(native, name)(x)) for name in RANGES]
        made += [("pow", function(native, "pow", 2)(abs(x), x / 7)), ("fma", function(native, "fma", 3)(x, x, -x * x)), ("fmaf", fmaf(x, 0.1, 3))]
        made += [("atan2", function(native, "atan2", 2)(x, -2 * x)), ("hypot", function(native, "hypot", 2)(x, 3))]
        lines += [f"{name} {struct.unpack('<Q', struct.pack('<d', value))[0]:x}" for name, value in made if not math.isnan(value)]
    _, output, _ = run(source, tmp_path, "multiclet-s2", [])
    assert output.decode().splitlines() == lines
