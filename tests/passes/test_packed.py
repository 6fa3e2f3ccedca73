"""Lanes of integers made narrower: packed with saturation where they fit, cut off where they may not."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright as lw

#: What is stored, of elements of ``x`` and ``y``; whether it always fits the type it is stored as.
BYTES = {
    "mixed": ("(i32(x[i]) + 3 * i32(y[i])) >> 2", True),
    "blend": ("(i32(x[i]) * 77 + i32(y[i]) * 179) >> 8", True),
    "neighbours": ("(i32(x[i]) + 2 * i32(x[i + 1]) + i32(x[i + 2])) >> 2", True),
    "masked": ("(i32(x[i]) * i32(y[i])) & 127", True),
    "sum": ("i32(x[i]) + i32(y[i])", False),
    # (Of 16 bits the upper eight, whatever goes beyond.)
    "blend past the end": ("(i32(x[i]) * 77 + i32(y[i]) * 181) >> 8", True),
    "difference": ("i32(x[i]) - i32(y[i])", False),
    "product": ("(i32(x[i]) * i32(y[i])) >> 7", False),
}


def kernel_of(value: str, type_: str) -> lw.Kernel:
    text = f"def f(x: lw.Array, y: lw.Array, z: lw.Array):\n    for i in lw.lanes(z.shape[0]):\n        z[i] = {type_}({value})\n"
    space = {"lw": lw, "i32": lw.i32, "u8": lw.u8, "u16": lw.u16, "i16": lw.i16, "i8": lw.i8}
    exec(text, space)  # noqa: S102 (the text above)
    made: lw.Kernel = lw.kernel(source=text)(space["f"])
    return made


def plain(value: str, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    i = np.arange(len(z))
    # (In i64, of which the type that is stored has the lower bits.)
    return np.asarray(eval(value, {"np": np, "i": i, "i32": np.int64, "x": x.astype(np.int64), "y": y.astype(np.int64)})).astype(z.dtype)


@pytest.mark.parametrize("name", BYTES)
def test_bytes_are_packed_where_they_fit(name: str) -> None:
    value, fits = BYTES[name]
    kernel = kernel_of(value, "u8")
    r = np.random.default_rng(1)
    for n in (1, 16, 77):
        x, y = (r.integers(0, 256, n + 2).astype(np.uint8) for _ in range(2))
        x[:1] = y[:1] = 255
        z = np.zeros(n, np.uint8)
        kernel(x, y, z)
        assert np.array_equal(z, plain(value, x, y, z))
    array = lw.Array[lw.u8]
    listing = kernel.compile(array, array, array, target="x86-64-v3").asm()
    assert ("vpackuswb" in listing) == fits
    # Where the machine cuts off by one instruction, it does.
    assert "vpack" not in kernel.compile(array, array, array, target="x86-64-v4").asm()


@pytest.mark.parametrize(
    ("value", "given", "stored", "pack"),
    [
        ("(i32(x[i]) + 3 * i32(y[i])) >> 2", "u16", "u16", "vpackusdw"),
        ("(i32(x[i]) + 3 * i32(y[i])) >> 2", "i16", "i16", "vpackssdw"),
        ("(i32(x[i]) + 3 * i32(y[i])) >> 2", "i8", "i8", None),
        ("(i32(x[i]) - 3 * i32(y[i])) >> 3", "u8", "i8", None),
        ("i32(x[i]) - i32(y[i])", "i16", "u16", None),
        ("i32(x[i]) * 2", "i8", "i8", None),
        ("(i32(x[i]) & 127) * 3 >> 2", "i8", "i8", "vpacksswb"),
    ],
)
def test_signs_and_widths(value: str, given: str, stored: str, pack: str | None) -> None:
    kernel = kernel_of(value, stored)
    element, result = getattr(lw, given), getattr(lw, stored)
    r = np.random.default_rng(2)
    limits = np.iinfo(element.dtype)
    x, y = (r.integers(limits.min, limits.max, 79, endpoint=True).astype(element.dtype) for _ in range(2))
    x[:2], y[:2] = (limits.min, limits.max), (limits.max, limits.min)
    z = np.zeros(77, result.dtype)
    kernel(x, y, z)
    assert np.array_equal(z, plain(value, x, y, z))
    listing = kernel.compile(lw.Array[element], lw.Array[element], lw.Array[result], target="x86-64-v3").asm()
    assert pack in listing if pack else "vpack" not in listing
