"""Elements in turn under conditions: lanes that are off, and elements between those that are accessed, are not touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import parse
from loopwright.targets.pipeline import names_of

#: By kernels of rows, how far their rows are apart.
ROWS = {"pixels": (3, 4, 5), "of two numbers": (2, 3)}
KERNELS = {
    "pixels": """
def f(a, b, c):
    for i in range(a.shape[0]):
        if a[i, 0] > a[i, 2]:
            x = a[i, 0]
            a[i, 0] = a[i, 1]
            a[i, 1] = b[i, 2]
            a[i, 2] = x
            c[i] = x
""",
    "of two numbers": """
def f(a, b, c):
    for i in range(a.shape[0]):
        if a[i, 0] > T(40):
            a[i, 1] = b[i, 0]
            a[i, 0] = b[i, 1]
        else:
            c[i] = b[i, 1]
""",
    "swapped, not the middle": """
def f(a, b, c):
    for i in range(a.shape[0] // 3):
        x = a[3 * i]
        a[3 * i] = a[3 * i + 2]
        a[3 * i + 2] = x
""",
    "each for itself": """
def f(a, b, c):
    for i in range(min(a.shape[0], b.shape[0]) // 3):
        for k in range(3):
            if a[3 * i + k] > b[3 * i + k]:
                b[3 * i + k] = a[3 * i + k] - b[3 * i + k]
""",
    "one always": """
def f(a, b, c):
    for i in range((a.shape[0] - 1) // 2):
        a[2 * i + 1] = b[2 * i] + a[2 * i + 1]
        if b[2 * i] > b[2 * i + 1]:
            a[2 * i] = b[2 * i + 1]
""",
    "as far as there is something": """
def f(a, b, c):
    for i in range(c.shape[0]):
        if 2 * i + 1 < a.shape[0]:
            c[i] = a[2 * i] - a[2 * i + 1]
        elif 3 * i + 2 < 2 * b.shape[0] and 3 * i + 2 >= b.shape[0]:
            b[3 * i + 1 - b.shape[0]] = c[i]
""",
    "of four two": """
def f(a, b, c):
    for i in range((min(a.shape[0], b.shape[0]) - 3) // 4):
        if b[4 * i + 3] != a[4 * i + 3]:
            b[4 * i + 2] = a[4 * i + 1] + b[4 * i + 2]
            b[4 * i + 4] = a[4 * i]
""",
    "stored again": """
def f(a, b, c):
    for i in range(a.shape[0] // 2):
        if a[2 * i] > T(50):
            a[2 * i] = b[i]
        if a[2 * i] > T(20):
            a[2 * i] = a[2 * i] + a[2 * i + 1]
            a[2 * i + 1] = T(1)
""",
    "beside wider ones": """
def f(a, b, c):
    for i in range(a.shape[0] // 3):
        s = f64(b[i]) * 0.5 + f64(a[3 * i + 1])
        if s > 60.0:
            for k in range(3):
                a[3 * i + k] = T(i32(s) - k)
            c[i] = T(1)
""",
    "in both arms": """
def f(a, b, c):
    for i in range(b.shape[0] // 2):
        if a[i] > T(40):
            b[2 * i] = a[i]
            b[2 * i + 1] = a[i] - b[2 * i + 1]
        elif a[i] > T(20):
            b[2 * i + 1] = T(7)
        else:
            b[2 * i + 1] = b[2 * i]
            b[2 * i] = c[i]
""",
    "wider": """
def f(a, b, c):
    for i in range(a.shape[0] // 3):
        s = i32(a[3 * i]) * 3 + i32(a[3 * i + 1]) * 2 + i32(a[3 * i + 2])
        if s > 300 and i32(a[3 * i]) < 90:
            for k in range(3):
                a[3 * i + k] = T((i32(a[3 * i + k]) * s) >> 10)
""",
}


def _arrays(name: str, dtype: str, n: int, pitch: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Arrays, and the memory that they lie in."""
    rng = np.random.default_rng(n)
    last = guarded(rng.integers(0, 100, n + 5 if name == "as far as there is something" else n).astype(dtype), True)
    if name not in ROWS:
        made = [*(guarded(rng.integers(0, 100, n).astype(dtype), True) for _ in range(2)), last]
        return made, made
    width = ROWS[name][0]
    # (Behind the last element that is there no page is.)
    memory = [guarded(rng.integers(0, 100, max(0, (n - 1) * pitch + width)).astype(dtype), True) for _ in range(2)]
    step = last.itemsize
    return [*(np.lib.stride_tricks.as_strided(m, (n, width), (pitch * step, step)) for m in memory), last], [*memory, last]


def _kernels(name: str, dtype: str) -> tuple[Callable[..., None], Any]:
    """The same loops for Python and compiled."""
    number = np.dtype(dtype).type
    plain: dict[str, Any] = {"i32": np.int32, "f64": np.float64, "T": number}
    compiled: dict[str, Any] = {
        "i32": lw.i32,
        "f64": lw.f64,
        "T": getattr(lw, np.dtype(dtype).name.replace("uint", "u").replace("int", "i").replace("float", "f")),
    }
    for space in (plain, compiled):
        exec(KERNELS[name], space)  # noqa: S102 (the kernels above)
    compiled["f"].__annotations__.update(a=lw.Array, b=lw.Array, c=lw.Array)
    return plain["f"], lw.kernel(source=KERNELS[name])(compiled["f"])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "i4", "u8"])
def test_as_the_loop_as_written(name: str, dtype: str) -> None:
    if name == "wider" and dtype[0] == "f":
        pytest.skip("of integers")
    python, kernel = _kernels(name, dtype)
    for n in (0, 1, 3, 15, 16, 17, 33, 64, 70, 131, 259, 400):
        for pitch in ROWS.get(name, (1,)):
            (wanted, expected), (found, memory) = _arrays(name, dtype, n, pitch), _arrays(name, dtype, n, pitch)
            with np.errstate(all="ignore"):
                python(*wanted)
            kernel(*found)
            for x, y in zip(expected, memory, strict=True):
                assert np.array_equal(x, y), (n, pitch)


def _types(name: str, element: Any) -> list[Any]:
    return [lw.Array[element, 2 if name in ROWS else 1]] * 2 + [lw.Array[element, 1]]


@pytest.mark.parametrize("name", [name for name in KERNELS if name not in ("as far as there is something", "stored again")])
def test_groups_are_loaded_and_stored_under_masks(name: str) -> None:
    _, kernel = _kernels(name, "i2")
    code = kernel.compile(*_types(name, lw.i16), target="x86-64-v4", keep=True).ir("vectorize")
    assert "masked_store_at" in code
    assert "masked_store_strided" not in code
    assert "masked_load_strided" not in code
    # (AVX2 chooses no lanes from two vectors.)
    assert "masked_store_strided" not in kernel.compile(*_types(name, lw.i16), target="x86-64-v3", keep=True).ir("vectorize")


def test_each_of_a_group_has_a_mask_of_its_own() -> None:
    """One store for each of memory's vectors, whichever condition each of its elements has."""
    _, kernel = _kernels("each for itself", "f8")
    code = kernel.compile(*_types("each for itself", lw.f64), target="x86-64-v4", keep=True).ir("vectorize")
    stores = [line for line in code.splitlines() if "masked_store_at.u64x8" in line]
    assert len(stores) == 3


def test_stores_end_where_groups_end() -> None:
    """Of three vectors shorter than a register no store reaches into what is loaded next."""
    _, kernel = _kernels("wider", "u1")
    code = kernel.compile(*_types("wider", lw.u8), target="x86-64-v4+avx512vbmi", keep=True).ir("vectorize")
    stores = [line.split("masked_store_at.")[1] for line in code.splitlines() if "masked_store_at" in line]
    assert stores
    assert not any(line.startswith("u8x64") for line in stores)


#: Rows that are come to again and again: what whole vectors leave over of them is done under a mask.
SHORT = {
    "sums": """
def f(a, b, c):
    for i in range(a.shape[0]):
        s = T(0)
        t = T(0)
        for k in range(b.shape[0] // 2):
            s += a[i, 2 * k] * b[2 * k + 1] - a[i, 2 * k + 1]
            t += b[2 * k]
        c[i, 0] = s
        c[i, 1] = t
""",
    "planes": """
def f(a, b, c):
    for i in range(a.shape[0]):
        for k in range(b.shape[0] // 3):
            c[i, k] = a[i, 3 * k] + a[i, 3 * k + 1] - a[i, 3 * k + 2]
            c[i, k + b.shape[0] // 3] = b[k]
""",
    "in turn": """
def f(a, b, c):
    for i in range(a.shape[0]):
        for k in range(b.shape[0] // 3):
            c[i, 3 * k] = a[i, k] + b[3 * k + 1]
            c[i, 3 * k + 1] = a[i, k + 1]
            c[i, 3 * k + 2] = a[i, k] - b[3 * k + 1]
""",
}


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("dtype", ["f4", "i8", "i2", "u1"])
def test_what_is_left_over_of_short_rows(name: str, dtype: str) -> None:
    spaces: list[dict[str, Any]] = [{"T": np.dtype(dtype).type}, {"T": {"f4": lw.f32, "i8": lw.i64, "i2": lw.i16, "u1": lw.u8}[dtype]}]
    for space in spaces:
        exec(SHORT[name], space)  # noqa: S102 (the kernels above)
    spaces[1]["f"].__annotations__.update(a=lw.Array, b=lw.Array, c=lw.Array)
    kernel = lw.kernel(source=SHORT[name], fastmath=True)(spaces[1]["f"])
    for m in (0, 1, 2, 3, 6, 15, 24, 33, 70, 96, 100, 201):
        rng = np.random.default_rng(m)

        def made(*shape: int, rng: Any = rng) -> np.ndarray:
            return guarded(rng.integers(0, 5, shape).astype(dtype), True)

        a, b, c = made(3, m), made(m), made(3, max(m, 2))
        wanted, found = (a.copy(), b.copy(), c.copy()), (a, b, c)
        with np.errstate(all="ignore"):
            spaces[0]["f"](*wanted)
        kernel(*found)
        for x, y in zip(wanted, found, strict=True):
            assert np.array_equal(x, y), m


def test_a_mask_takes_the_place_of_a_scalar_loop() -> None:
    space: dict[str, Any] = {"T": lw.f32}
    exec(SHORT["sums"], space)  # noqa: S102 (a kernel above)
    space["f"].__annotations__.update(a=lw.Array, b=lw.Array, c=lw.Array)
    kernel = lw.kernel(source=SHORT["sums"], fastmath=True)(space["f"])
    given = [lw.Array[lw.f32, 2], lw.Array[lw.f32, 1], lw.Array[lw.f32, 2]]
    code = kernel.compile(*given, target="x86-64-v4", keep=True).ir("vectorize")
    assert " rest unroll" in code
    # (What both loops add up comes together once.)
    assert code.count("reduce_add.f32x16") == 2
    assert " rest unroll" not in kernel.compile(*given, target="x86-64-v3", keep=True).ir("vectorize")


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize(("name", "dtype"), [("pixels", "u1"), ("each for itself", "f4"), ("wider", "i2"), ("one always", "f8")])
def test_the_text_after_every_pass_does_the_same(runner: Runner, name: str, dtype: str) -> None:
    python, kernel = _kernels(name, dtype)
    code = runner.compiled(kernel, *_types(name, {"u1": lw.u8, "f4": lw.f32, "f8": lw.f64, "i2": lw.i16}[dtype]))
    wanted, expected = _arrays(name, dtype, 150, 3)
    with np.errstate(all="ignore"):
        python(*wanted)
    for after in names_of(code.compiled.passes):
        found, memory = _arrays(name, dtype, 150, 3)
        Interpreter(parse(code.ir(after), target=runner.target), runner.target).call(*found)
        assert all(np.array_equal(x, y) for x, y in zip(expected, memory, strict=True)), after


def test_what_is_left_over_of_counts() -> None:
    """A total wider than what is added to it, which is no narrow one where elements are dealt out in an inner loop."""
    source = """
def f(a, b, c):
    s = i64(0)
    m = f64(0)
    for i in range(a.shape[0]):
        for k in range(6):
            if a[i, k] > f64(3):
                s += 1
        m += a[i, k]
        c[i] = m
    b[0] = s
"""
    spaces: list[dict[str, Any]] = [{"i64": np.int64, "f64": np.float64}, {"i64": lw.i64, "f64": lw.f64}]
    for space in spaces:
        exec(source, space)  # noqa: S102 (the source above)
    spaces[1]["f"].__annotations__.update(a=lw.Array, b=lw.Array, c=lw.Array)
    kernel = lw.kernel(source=source, contract=False)(spaces[1]["f"])
    for n in (1, 2, 7, 40):
        given = [np.random.default_rng(n).integers(0, 8, (n, 6)).astype(np.float64), np.zeros(2, np.int64), np.zeros(n)]
        wanted, found = [x.copy() for x in given], [x.copy() for x in given]
        spaces[0]["f"](*wanted)
        kernel(*found)
        for x, y in zip(wanted, found, strict=True):
            assert np.array_equal(x, y), n
