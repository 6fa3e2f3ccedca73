"""Which polynomials the elementary functions take: one row each."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np

from tools.remez import Approximation

S, D = np.float32, np.float64


def _near_zero(exact: Any, series: Any) -> Any:
    """A function of which digits cancel near 0: the series there."""
    return lambda t: series(t) if abs(t) < mp.mpf(10) ** -4 else exact(t)


def _taylor(coefficient: Any) -> Any:
    return lambda t: mp.fsum(coefficient(k) * t**k for k in range(14))


def rows() -> dict[str, Approximation]:
    """The polynomials by name."""
    half = mp.log(2) / 2 * mp.mpf("1.001")
    exp_tail = _near_zero(lambda r: (mp.expm1(r) - r) / r**2, _taylor(lambda k: 1 / mp.factorial(k + 2)))
    log_tail = _near_zero(lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, _taylor(lambda k: mp.mpf((-1) ** k) / (k + 3)))
    below, above = mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1
    s = mp.mpf("0.1717")
    atanh_tail = _near_zero(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, _taylor(lambda k: mp.mpf(2) / (2 * k + 3)))
    atanh_rest = _near_zero(lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1 - z / 3) / z**2, _taylor(lambda k: mp.mpf(1) / (2 * k + 5)))
    log2_of = _near_zero(lambda f: mp.log1p(f) / f / mp.log(2), _taylor(lambda k: mp.mpf((-1) ** k) / (k + 1) / mp.log(2)))
    eighth = (mp.pi / 4 * mp.mpf("1.001")) ** 2
    sin_tail = _near_zero(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, _taylor(lambda k: mp.mpf((-1) ** (k + 1)) / mp.factorial(2 * k + 3)))
    cos_tail = _near_zero(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, _taylor(lambda k: mp.mpf((-1) ** k) / mp.factorial(2 * k + 4)))
    made: dict[str, Approximation] = {}
    exp_weight = lambda r: r**2 / mp.exp(r)
    made["EXP_F32"] = Approximation(S, 4, exp_tail, exp_weight, -half, half, "(exp(r) - 1 - r) / r**2, |r| <= log(2)/2")
    made["EXP_F64"] = Approximation(D, 9, exp_tail, exp_weight, -half, half, "(exp(r) - 1 - r) / r**2, |r| <= log(2)/2")
    log_weight = lambda f: abs(f**3 / mp.log1p(f))
    made["LOG_F32"] = Approximation(S, 7, log_tail, log_weight, below, above, "(log(1 + f) - f + f**2/2) / f**3, f from sqrt(1/2) - 1 to sqrt(2) - 1")
    made["LOG_F64"] = Approximation(D, 6, atanh_tail, lambda z: z, 0, s**2, "(log((1 + s) / (1 - s)) / s - 2) / s**2 by s**2, |s| <= 0.1717")
    made["LOG_WORDS"] = Approximation(D, 7, atanh_rest, lambda z: z**2, 0, s**2, "(atanh(s) / s - 1 - s**2/3) / s**4 by s**2, |s| <= 0.1717")
    made["LOG2_POW"] = Approximation(D, 13, log2_of, lambda f: 1 / log2_of(f), below, above, "log2(1 + f) / f, f from sqrt(1/2) - 1 to sqrt(2) - 1")
    exp2 = lambda r: mp.mpf(2) ** r
    half2 = mp.mpf("0.5005")
    made["EXP2_POW"] = Approximation(D, 6, exp2, lambda r: 1 / exp2(r), -half2, half2, "2**r, |r| <= 1/2")
    made["SIN_F32"] = Approximation(S, 2, sin_tail, lambda z: z, 0, eighth, "(sin(r) / r - 1) / r**2 by r**2, |r| <= pi/4")
    made["COS_F32"] = Approximation(S, 2, cos_tail, lambda z: z**2, 0, eighth, "(cos(r) - 1 + r**2/2) / r**4 by r**2, |r| <= pi/4")
    made["SIN_F64"] = Approximation(D, 5, sin_tail, lambda z: z, 0, eighth, "(sin(r) / r - 1) / r**2 by r**2, |r| <= pi/4")
    made["COS_F64"] = Approximation(D, 5, cos_tail, lambda z: z**2, 0, eighth, "(cos(r) - 1 + r**2/2) / r**4 by r**2, |r| <= pi/4")
    z_half = (mp.log(2) / 2 * mp.mpf("1.002")) ** 2
    sinh_tail = _near_zero(lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, _taylor(lambda k: 1 / mp.factorial(2 * k + 3)))
    cosh_tail = _near_zero(lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, _taylor(lambda k: 1 / mp.factorial(2 * k + 2)))
    made["SINH_F64"] = Approximation(D, 4, sinh_tail, lambda z: z, 0, z_half, "(sinh(r) / r - 1) / r**2 by r**2, |r| <= log(2)/2")
    made["COSH_F64"] = Approximation(D, 5, cosh_tail, lambda z: z, 0, z_half, "(cosh(r) - 1) / r**2 by r**2, |r| <= log(2)/2")
    atan_tail = _near_zero(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, _taylor(lambda k: mp.mpf((-1) ** (k + 1)) / (2 * k + 3)))
    made["ATAN_F64"] = Approximation(
        D, 10, atan_tail, lambda z: z, 0, (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.001"), "(atan(t) / t - 1) / t**2 by t**2, |t| <= tan(pi/8)"
    )
    made["ATAN_F32"] = Approximation(
        S, 4, atan_tail, lambda z: z, 0, (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.001"), "(atan(t) / t - 1) / t**2 by t**2, |t| <= tan(pi/8)"
    )
    asin_tail = _near_zero(
        lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        _taylor(lambda k: mp.factorial(2 * k + 2) / (mp.mpf(4) ** (k + 1) * mp.factorial(k + 1) ** 2 * (2 * k + 3))),
    )
    made["ASIN_F32"] = Approximation(S, 5, asin_tail, lambda z: z, 0, mp.mpf(1) / 4, "(asin(t) / t - 1) / t**2 by t**2, |t| <= 1/2")
    made["ASIN_F64"] = Approximation(D, 12, asin_tail, lambda z: z, 0, mp.mpf(1) / 4, "(asin(t) / t - 1) / t**2 by t**2, |t| <= 1/2")
    made["CBRT_F32"] = Approximation(
        S, 4, lambda m: 1 / mp.cbrt(m), mp.cbrt, mp.sqrt(mp.mpf(1) / 2), mp.sqrt(2), "1 over the cube root, from sqrt(1/2) to sqrt(2)"
    )
    erf_tail = _near_zero(
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - mp.mpf(9) / 8,
        lambda z: _taylor(lambda k: 2 / mp.sqrt(mp.pi) * mp.mpf((-1) ** k) / (mp.factorial(k) * (2 * k + 1)))(z) - mp.mpf(9) / 8,
    )
    erf_single = _near_zero(
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
        lambda z: _taylor(lambda k: 2 / mp.sqrt(mp.pi) * mp.mpf((-1) ** k) / (mp.factorial(k) * (2 * k + 1)))(z) - 1,
    )
    made["ERF_F32"] = Approximation(S, 6, erf_single, lambda z: 1, 0, 1, "erf(t) / t - 1 by t**2, |t| <= 1")
    made["ERFC_F32"] = Approximation(
        S, 6, lambda x: -mp.log(mp.erfc(x)) / x - 1, lambda x: x * mp.erfc(x), 1, mp.mpf("3.95"), "-log(erfc(x)) / x - 1, x from 1 to 3.95"
    )
    made["ERF_F64"] = Approximation(D, 11, erf_tail, lambda z: 1, 0, 1, "erf(t) / t - 9/8 by t**2, |t| <= 1")
    erfcx_of = lambda x: mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)
    from_q = lambda q: erfcx_of(4 * (1 + q) / (1 - q))
    made["ERFC_F64"] = Approximation(
        D, 22, from_q, lambda q: 1 / from_q(q), mp.mpf("-0.7779"), mp.mpf("0.7501"), "(1 + 2 x) exp(x**2) erfc(x) by q = (x - 4) / (x + 4), x from 1/2 to 28"
    )
    near = mp.mpf("2.5")
    scaled = lambda q: mp.exp((near * (1 + q) / (1 - q)) ** 2) * mp.erfc(near * (1 + q) / (1 - q))
    made["ERF_TAIL_F64"] = Approximation(
        D,
        10,
        scaled,
        lambda q: mp.erfc(near * (1 + q) / (1 - q)) / scaled(q),
        (1 - near) / (1 + near),
        (6 - near) / (6 + near),
        "exp(x**2) erfc(x) by q = (x - 5/2) / (x + 5/2), x from 1 to 6, for 1 - erfc(x)",
    )
    made |= _of_gamma()
    made |= _of_levels(log2_of, sin_tail, atan_tail, eighth)
    return made


def _of_levels(log2_of: Any, sin_tail: Any, atan_tail: Any, eighth: Any) -> dict[str, Approximation]:
    """What the functions with ``approx=`` are made of: by their levels, which are bits, the least degrees."""
    exp2 = lambda r: mp.mpf(2) ** r
    half = mp.mpf("0.5005")
    below, above = mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1
    cosine = _near_zero(lambda z: (mp.cos(mp.sqrt(z)) - 1) / z, _taylor(lambda k: mp.mpf((-1) ** (k + 1)) / mp.factorial(2 * k + 2)))
    made: dict[str, Approximation] = {}
    # One degree less leaves 10.9 bits of the sine.
    made["SIN_16"] = Approximation(S, 1, sin_tail, lambda z: z, 0, eighth, "(sin(r) / r - 1) / r**2 by r**2, |r| <= pi/4")
    made["COS_16"] = Approximation(S, 1, cosine, lambda z: z, 0, eighth, "(cos(r) - 1) / r**2 by r**2, |r| <= pi/4")
    for level, degrees in ((11, (3, 3, 2)), (16, (4, 6, 5))):
        made[f"EXP2_{level}"] = Approximation(S, degrees[0], exp2, lambda r: 1 / exp2(r), -half, half, "2**r, |r| <= 1/2")
        made[f"LOG2_{level}"] = Approximation(
            S, degrees[1], log2_of, lambda f: 1 / log2_of(f), below, above, "log2(1 + f) / f, f from sqrt(1/2) - 1 to sqrt(2) - 1"
        )
        made[f"ATAN_{level}"] = Approximation(S, degrees[2], atan_tail, lambda z: z, 0, 1, "(atan(t) / t - 1) / t**2 by t**2, |t| <= 1")
    return made


def _of_gamma() -> dict[str, Approximation]:
    """What the gamma function is made of."""

    half = mp.mpf(1) / 2

    def near(u: Any) -> Any:
        t = u + half
        if t == 0 or t == 1:
            return (mp.euler if t == 0 else 1 - mp.euler) - half
        return (1 - mp.gamma(1 + t)) / (t * (1 - t)) - half

    def far(t: Any) -> Any:
        if t == 0:
            return mp.mpf(1) / 12
        # Stirling's series, of which the first term left out is below 1e-38 there (DLMF 5.11.1).
        logarithm = t / 12 - t**3 / 360 + t**5 / 1260 - t**7 / 1680
        if t > mp.mpf(10) ** -4:
            logarithm = mp.loggamma(1 / t) - (1 / t - half) * mp.log(1 / t) + 1 / t - mp.log(2 * mp.pi) / 2
        return mp.expm1(logarithm) / t

    sine = _near_zero(
        lambda z: (mp.sinpi(mp.sqrt(z)) / (mp.pi * mp.sqrt(z)) - 1) / z,
        _taylor(lambda k: mp.mpf((-1) ** (k + 1)) * mp.pi ** (2 * k + 2) / mp.factorial(2 * k + 3)),
    )
    return {
        "GAMMA_NEAR": Approximation(D, 22, near, lambda u: 1, -half, half, "(1 - gamma(1 + t)) / (t (1 - t)) - 1/2 by t - 1/2, t from 0 to 1"),
        "GAMMA_FAR": Approximation(D, 9, far, lambda t: t, 0, mp.mpf(1) / 8, "(gamma(x) e**x x**(1/2 - x) / sqrt(2 pi) - 1) x by 1 / x, x from 8 on"),
        "SIN_OF_PI": Approximation(D, 7, sine, lambda z: z, 0, mp.mpf("0.2501"), "(sin(pi r) / (pi r) - 1) / r**2 by r**2, |r| <= 1/2"),
    }
