"""What does calling a compiled kernel from Python cost? Two arrays of 16 elements, beside ctypes and Numba.

python -m benchmarks.calls [--quick]
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import cases, machine, measure, native, report

#: So short that the kernel itself takes a few nanoseconds.
ELEMENTS = 16


def _native_poly() -> tuple[int, Any]:
    """(address, what keeps it alive) of C code for poly3(x, y, n), by gcc or else LLVM."""
    try:
        from benchmarks.peers import gcc

        library = gcc.library("gcc 256")
        return native.address_of(library.poly3), library
    except native.NoCompilerError:
        engine, address = importlib.import_module("benchmarks.peers.llvm_ir").compile_kernel("poly3", 2)
        return address, engine


def _ctypes_calls(x: Any, y: Any) -> dict[str, Callable[[], Callable[[], Any]]]:
    address, keep = _native_poly()
    n = ELEMENTS

    def pointers() -> Callable[[], Any]:
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
        px, py = x.ctypes.data, y.ctypes.data
        return lambda keep=keep: function(px, py, n)

    def arrays() -> Callable[[], Any]:
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
        return lambda: function(x.ctypes.data, y.ctypes.data, n)

    def checked() -> Callable[[], Any]:
        pointer = np.ctypeslib.ndpointer(np.float32, ndim=1, flags="C_CONTIGUOUS")
        function = ctypes.CFUNCTYPE(None, pointer, pointer, ctypes.c_int64)(address)
        return lambda: function(x, y, n)

    return {
        "ctypes, pointers taken before": pointers,
        "ctypes, x.ctypes.data at each call": arrays,
        "ctypes, ndpointer checks each array": checked,
    }


def _numba_call(x: Any, y: Any) -> Callable[[], Any]:
    import numba

    from benchmarks.peers import numba_compile

    function = numba.njit(fastmath=True)(numba_compile.poly3)
    return lambda: function(x, y)


def _compiled_call(x: Any, y: Any) -> Callable[[], Any]:
    from benchmarks.kernels import KERNELS

    kernel, types = KERNELS["poly3"]
    code = kernel.compile(*types, coeffs=cases.DEGREE_3)
    return lambda: code(x, y)


def _dispatched_call(x: Any, y: Any) -> Callable[[], Any]:
    from benchmarks.kernels import poly

    coeffs = cases.DEGREE_3
    return lambda: poly(x, y, coeffs=coeffs)


def _sampler(call: Callable[[], Any], repetitions: int) -> Callable[[], float]:
    def sample() -> float:
        start = time.perf_counter()
        for _ in range(repetitions):
            call()
        return (time.perf_counter() - start) / repetitions

    return sample


def run(quick: bool = False) -> report.Result:
    """Measure the calls."""
    machine.pin()
    result = report.Result("calls")
    x, y = cases.place((ELEMENTS,)), cases.place((ELEMENTS,))
    expected = np.polyval([float(np.float32(c)) for c in reversed(cases.DEGREE_3)], x.astype(np.float64))
    makers: dict[str, Callable[[], Callable[[], Any]]] = {
        "loopwright, compiled code": lambda: _compiled_call(x, y),
        "loopwright, kernel (finds the code for its arguments)": lambda: _dispatched_call(x, y),
        "numba": lambda: _numba_call(x, y),
        "an empty Python function": lambda: lambda: None,
    }
    try:
        makers |= _ctypes_calls(x, y)
    except (ImportError, native.NoCompilerError) as error:
        result.notes.append(f"ctypes is not measured, there is nothing to call: {error}")
    samplers: dict[str, Callable[[], float]] = {}
    for name, make in makers.items():
        try:
            call = make()
            y.fill(np.nan)
            call()
        # A candidate that fails is reported as missing; the others are measured all the same.
        except Exception as error:  # noqa: BLE001
            result.notes.append(f"{name} is missing: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
            continue
        if not name.startswith("an empty") and not np.allclose(y, expected, rtol=0, atol=1e-5):
            raise AssertionError(f"{name} computes the polynomial wrongly")
        samplers[name] = _sampler(call, 200 if quick else 5000)
    samples = measure.interleave(samplers, 3 if quick else 25)
    table = report.Table(f"A call from Python with two arrays of {ELEMENTS} f32, ns (median)", ["call", "ns"])
    for name in makers:
        table.rows.append([name, f"{measure.median(samples[name]) * 1e9:.0f}" if name in samples else "missing"])
    result.tables.append(table)
    result.data = {name: measure.median(values) for name, values in samples.items()}
    ours = "loopwright, compiled code"
    for other in ("numba", "ctypes, ndpointer checks each array"):
        ratio = measure.ratio(samples, ours, other) if ours in samples and other in samples else None
        result.verdicts.append(report.Verdict(f"a call, to {other}", ratio, None))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
