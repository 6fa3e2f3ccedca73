"""How fast are the elementary functions, and how exact? Beside gcc's vectors of libmvec (-O3 -ffast-math -march=native), and Numba's loops.

python -m benchmarks.elementary [--quick]
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

import loopwright as lw
from benchmarks import measure, report
from benchmarks.native import NoCompilerError, build_c

#: Elements, which stay in the first-level cache.
COUNT = 4096
#: Arguments: from, to, and for pow those of the exponent.
RANGES: dict[str, tuple[float, ...]] = {
    "exp": (-10, 10),
    "log": (0.01, 100),
    "sin": (-10, 10),
    "cos": (-10, 10),
    "tanh": (-4, 4),
    "pow": (0.01, 50, -5, 5),
    "tan": (-1.5, 1.5),
    "atan": (-10, 10),
    "asin": (-1, 1),
    "exp2": (-10, 10),
    "expm1": (-3, 3),
    "log2": (0.01, 100),
    "log1p": (-0.9, 10),
    "sinh": (-4, 4),
    "cbrt": (-100, 100),
    "erf": (-3, 3),
}
#: Those that are held to a target.
JUDGED = ("exp", "log", "sin", "tanh", "pow")
TARGET = 1.0
TYPES = {"f32": np.float32, "f64": np.float64}
#: A peer is as exact if its error is at most this times the one promised here.
PROMISED = {"f32": 1.0, "f64": 2.0}


def _source() -> str:
    lines = ["#include <math.h>"]
    for name, bounds in RANGES.items():
        for type_, suffix in (("float", "f"), ("double", "")):
            second = ", y[i]" if len(bounds) > 2 else ""
            lines.append(
                f"void {name}_{type_}(const {type_} *restrict x, const {type_} *restrict y, {type_} *restrict z, long n)"
                f" {{ for (long i = 0; i < n; i++) z[i] = {name}{suffix}(x[i]{second}); }}"
            )
    return "\n".join(lines)


def _kernel(name: str) -> Any:
    function = getattr(lw, name)
    if len(RANGES[name]) > 2:

        @lw.kernel
        def two(x: lw.Array, y: lw.Array, z: lw.Array):
            for i in lw.lanes(len(x)):
                z[i] = function(x[i], y[i])

        return two

    @lw.kernel
    def one(x: lw.Array, y: lw.Array, z: lw.Array):
        for i in lw.lanes(len(x)):
            z[i] = function(x[i])

    return one


def _numba(name: str) -> Any:
    """Numba's loop, of the functions that are judged: it does not have them all."""
    import math

    import numba  # type: ignore[import-untyped, unused-ignore]

    second = ", y[i]" if len(RANGES[name]) > 2 else ""
    scope: dict[str, Any] = {"math": math}
    exec(f"def loop(x, y, z):\n    for i in range(len(x)):\n        z[i] = math.{name}(x[i]{second})", scope)  # noqa: S102
    return numba.njit(fastmath=True)(scope["loop"])


def _errors(name: str, x: Any, y: Any, z: Any) -> float:
    """The largest error of results, in units in the last place, of every eighth element."""
    exact = {"log2": lambda a: mp.log(a) / mp.log(2), "exp2": lambda a: mp.mpf(2) ** a, "cbrt": lambda a: mp.sign(a) * mp.cbrt(abs(a)), "pow": mp.power}.get(
        name, getattr(mp, name, None)
    )
    assert exact is not None
    with mp.workprec(160):
        worst = 0.0
        for a, b, c in zip(x[::8], y[::8], z[::8], strict=True):
            wanted = exact(mp.mpf(float(a)), mp.mpf(float(b))) if name == "pow" else exact(mp.mpf(float(a)))
            if wanted:
                ulp = mp.mpf(2) ** (mp.frexp(wanted)[1] - 1 - np.finfo(x.dtype).nmant)
                worst = max(worst, float(abs(mp.mpf(float(c)) - wanted) / ulp))
    return worst


def _timed(call: Callable[[], Any], repeats: int) -> Callable[[], float]:
    def sample() -> float:
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - start) / repeats

    return sample


def run(quick: bool) -> report.Result:
    """Times for an element, as ratios to the fastest peer of at least the same accuracy (of any, where none is as exact) and to libmvec."""
    result = report.Result("elementary")
    table = report.Table(f"Elementary functions: {COUNT} elements in the first-level cache", ["function", "ns", "ulp", "libmvec ulp", "/ libmvec", "/ Numba"])
    result.tables.append(table)
    library: Any = None
    try:
        library = build_c(_source(), ("-O3", "-march=native", "-ffast-math", "-Wl,--no-as-needed", "-lmvec", "-lm"))
    except NoCompilerError as error:
        result.notes.append(str(error))
    rng = np.random.default_rng(1)
    for name, bounds in RANGES.items():
        for type_, dtype in TYPES.items():
            x = rng.uniform(bounds[0], bounds[1], COUNT).astype(dtype)
            y = rng.uniform(*bounds[-2:], COUNT).astype(dtype)
            outs = {key: np.empty_like(x) for key in ("loopwright", "libmvec", "Numba")}
            array = lw.Array[getattr(lw, type_)]
            code = _kernel(name).compile(array, array, array)
            calls: dict[str, Callable[[], Any]] = {
                "loopwright": lambda code=code, x=x, y=y, z=outs["loopwright"]: code(x, y, z),
            }
            if name in JUDGED:
                try:
                    jitted = _numba(name)
                    jitted(x, y, outs["Numba"])
                    calls["Numba"] = lambda jitted=jitted, x=x, y=y, z=outs["Numba"]: jitted(x, y, z)
                except ImportError as error:
                    if str(error) not in result.notes:
                        result.notes.append(str(error))
            if library is not None:
                peer = getattr(library, f"{name}_{'float' if type_ == 'f32' else 'double'}")
                pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, y, outs["libmvec"])]
                calls["libmvec"] = lambda peer=peer, pointers=pointers: peer(*pointers, ctypes.c_long(COUNT))
            samples = measure.interleave({key: _timed(call, 20) for key, call in calls.items()}, 5 if quick else 25)
            errors = {key: _errors(name, x, y, outs[key]) for key in calls}
            ratios = {key: min(samples["loopwright"]) / min(samples[key]) for key in calls}
            mvec = [f"{errors['libmvec']:.2f}", f"{ratios['libmvec']:.2f}"] if library is not None else ["", ""]
            table.rows.append(
                [
                    f"{name} {type_}",
                    f"{min(samples['loopwright']) / COUNT * 1e9:.2f}",
                    f"{errors['loopwright']:.2f}",
                    *mvec,
                    f"{ratios['Numba']:.2f}" if "Numba" in ratios else "",
                ]
            )
            if name in JUDGED:
                peers = [key for key in calls if key != "loopwright"]
                equals = [key for key in peers if errors[key] <= PROMISED[type_]]
                # Without SVML no peer may be as exact: then it is the fastest of those that are less so, which is more to ask.
                figure = f"{name} {type_} / fastest peer" + (" as exact" if equals else ", less exact")
                result.verdicts.append(report.Verdict(figure, max((ratios[key] for key in equals or peers), default=None), TARGET))
    return result


if __name__ == "__main__":
    parsed = report.options(str(__doc__)).parse_args()
    report.show(run(parsed.quick))
    sys.exit(0)
