"""Inner loops that go backwards in an array, of any length: what is left over after whole vectors is done under a mask, and comes out as written; no memory but the arrays' is touched."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Runner, runners, simulated

import loopwright as lw

FILTERED = """
def f(x, w, out):
    m = w.shape[0]
    for t in range(m, out.shape[0]):
        y = lw.T(0)
        for k in range(m):
            y += w[k] * lw.T(x[t - k])
        out[t] = y
"""
SO_FAR = """
def f(x, w, out):
    for t in range(out.shape[0]):
        y = lw.T(0)
        for k in range(min(t + 1, w.shape[0])):
            y += w[k] * lw.T(x[t - k])
        out[t] = y
"""
LEARNING = """
def f(x, w, out):
    m = w.shape[0]
    for t in range(m, out.shape[0]):
        y = lw.T(0)
        for k in range(m):
            y += w[k] * lw.T(x[t - k])
        out[t] = y
        for k in range(m):
            w[k] += lw.T(x[t - k])
"""
STORED = """
def f(x, w, out):
    n = w.shape[0]
    for t in range(x.shape[0] - n):
        for k in range(n):
            out[n - 1 - k] = w[k] * 2 + lw.T(x[t + k])
"""
MOVED_ON = """
def f(x, w, out):
    n = w.shape[0]
    for t in range(out.shape[0]):
        for k in range(n - 1):
            w[n - 1 - k] = w[n - 2 - k] + lw.T(x[t])
        if n > 0:
            w[0] = lw.T(x[t])
            out[t] = w[n - 1]
"""
CHOSEN = """
def f(x, w, out):
    n = w.shape[0]
    for t in range(n, out.shape[0]):
        for k in range(n):
            if w[k] > 0:
                out[t - k] = lw.T(x[t - k]) - w[k]
"""
KERNELS = {"filtered": FILTERED, "so far": SO_FAR, "learning": LEARNING, "stored": STORED, "moved on": MOVED_ON, "chosen": CHOSEN}
#: Of what the weights and results are, and what is read backwards.
TYPES = {"f32": ("f32", "f32"), "f64": ("f64", "f64"), "i32": ("i32", "i32"), "i16 as f32": ("f32", "i16")}
NAMES = {"f32": "f4", "f64": "f8", "i32": "i4", "i16": "i2"}
STEPS = 60


def _kernel(name: str, types: str) -> Any:
    own, read = TYPES[types]
    source = KERNELS[name].replace("lw.T(", f"lw.{own}(")
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the sources above)
    space["f"].__annotations__.update(x=lw.Array[getattr(lw, read)], w=lw.Array[getattr(lw, own)], out=lw.Array[getattr(lw, own)])
    return lw.kernel(source=source, fastmath=True)(space["f"])


def _arrays(types: str, length: int) -> list[np.ndarray]:
    """Whole numbers, whose sums are exact in any order."""
    own, read = TYPES[types]
    rng = np.random.default_rng(length)
    return [rng.integers(-9, 10, size).astype(NAMES[t]) for size, t in ((STEPS, read), (length, own), (STEPS, own))]


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("runner", runners(lambda runner: bool(runner.target.vector_bits)))
def test_of_every_length(name: str, types: str, runner: Runner) -> None:
    kernel = _kernel(name, types)
    code = runner.compiled(kernel).compiled
    for length in (0, 1, 7, 18) if simulated(runner) else range(41):
        given, wanted = _arrays(types, length), _arrays(types, length)
        kernel.function(*wanted)
        runner.leaves(code, given, wanted)


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("target", ["native", "x86-64-v3", "x86-64-v4"])
def test_nothing_outside_is_touched(name: str, types: str, target: str) -> None:
    kernel = _kernel(name, types)
    if target == "native":
        call = kernel
    else:
        runner = next((p.values[0] for p in runners(lambda r: r.name == target and r.widest)), None)
        if runner is None or runner.lacks:
            pytest.skip(runner.lacks if runner is not None else f"no {target}")
        code = runner.compiled(kernel)
        call = functools.partial(runner.call, code)
    for at_end in (False, True):
        for length in range(41):
            given, wanted = _arrays(types, length), _arrays(types, length)
            kernel.function(*wanted)
            found = [guarded(each, at_end) for each in given]
            call(*found)
            for x, y in zip(wanted, found, strict=True):
                np.testing.assert_array_equal(y, x, err_msg=f"{length} {at_end}")


@pytest.mark.parametrize("name", ["so far", "learning", "stored"])
def test_under_masks(name: str) -> None:
    """Vectors are loaded, or stored, turned round under masks that are turned round."""
    for target, lanes in (("x86-64-v3", 8), ("x86-64-v4", 16)):
        lines = _kernel(name, "f32").compile(target=target, keep=True).ir("vectorize").splitlines()
        array = "out" if name == "stored" else "x"
        accessed = "masked_store" if name == "stored" else "masked_load"
        assert any(f"reverse.f32x{lanes}" in line for line in lines), target
        assert any(f"reverse.i32x{lanes}" in line for line in lines), target
        assert any(accessed in line and f" {array}" in line for line in lines), target
