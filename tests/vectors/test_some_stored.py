"""Of elements in turn some are stored and those between stay as they are: pixels whose fourth byte is another's, every second element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.errors import VerifyError
from loopwright.ir.interpret import Interpreter
from loopwright.ir.text import parse, print_function
from loopwright.ir.verify import verify
from loopwright.targets.pipeline import names_of

#: By kernels of rows, how far their rows are apart.
ROWS = {"pixels": (4, 6), "three of a row": (3, 4, 5)}
KERNELS = {
    "pixels": """
def f(a, b):
    for i in range(a.shape[0]):
        w = i32(a[i, 3])
        for k in range(3):
            b[i, k] = T((i32(a[i, k]) * w + i32(b[i, k]) * (255 - w)) >> 8)
""",
    "three of a row": """
def f(a, b):
    for i in range(a.shape[0]):
        for k in range(3):
            b[i, k] = b[i, k] - a[i, k]
""",
    "flat": """
def f(a, b):
    for i in range(min(a.shape[0], b.shape[0]) // 4):
        b[4 * i + 1] = a[4 * i + 3] + a[4 * i]
        b[4 * i + 3] = a[4 * i + 1]
""",
    "every second": """
def f(a, b):
    for i in range(min(a.shape[0], b.shape[0] - 1) // 2):
        b[2 * i + 1] = a[i] + a[2 * i + 1]
""",
    "in place": """
def f(a, b):
    for i in range(a.shape[0] // 4):
        a[4 * i + 2] = a[4 * i + 2] + a[4 * i + 1]
        a[4 * i] = a[4 * i + 3]
""",
    "between others": """
def f(a, b):
    for i in range(1, (a.shape[0] - 1) // 2):
        a[2 * i + 1] = a[2 * i + 1] - a[2 * i] - a[2 * i + 2]
""",
    "from the third": """
def f(a, b):
    for i in range((b.shape[0] - 3) // 4):
        b[4 * i + 3] = a[i]
        b[4 * i + 6] = b[4 * i + 4]
""",
}


def _arrays(name: str, dtype: str, n: int, pitch: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Arrays, and the memory that they lie in."""
    rng = np.random.default_rng(n)
    if name not in ROWS:
        made = [guarded(rng.integers(0, 100, n).astype(dtype), True) for _ in range(2)]
        return made, made
    widths = (4 if name == "pixels" else 3, 3)
    # (Behind the last element that is there no page is.)
    memory = [guarded(rng.integers(0, 100, 3 - k + max(0, (n - 1) * pitch + width)).astype(dtype), True) for k, width in enumerate(widths)]
    step = memory[0].itemsize
    rows = [np.lib.stride_tricks.as_strided(m[3 - k :], (n, width), (pitch * step, step)) for k, (m, width) in enumerate(zip(memory, widths, strict=True))]
    return rows, memory


def _kernels(name: str, dtype: str) -> tuple[Callable[..., None], Any]:
    """The same loops for Python and compiled."""
    number = np.dtype(dtype).type
    plain: dict[str, Any] = {"i32": np.int32, "T": number}
    compiled: dict[str, Any] = {"i32": lw.i32, "T": getattr(lw, np.dtype(dtype).name.replace("uint", "u").replace("int", "i").replace("float", "f"))}
    for space in (plain, compiled):
        exec(KERNELS[name], space)  # noqa: S102 (the kernels above)
    compiled["f"].__annotations__.update(a=lw.Array, b=lw.Array)
    return plain["f"], lw.kernel(source=KERNELS[name])(compiled["f"])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "i4"])
def test_what_is_between_stays(name: str, dtype: str) -> None:
    if name == "pixels" and dtype[0] == "f":
        pytest.skip("of integers")
    python, kernel = _kernels(name, dtype)
    for n in (0, 1, 3, 15, 16, 17, 33, 64, 70, 131, 259):
        for pitch in ROWS.get(name, (1,)):
            (wanted, expected), (found, memory) = _arrays(name, dtype, n, pitch), _arrays(name, dtype, n, pitch)
            with np.errstate(all="ignore"):
                python(*wanted)
            kernel(*found)
            for x, y in zip(expected, memory, strict=True):
                assert np.array_equal(x, y), (n, pitch)


@pytest.mark.parametrize("name", KERNELS)
def test_whole_vectors_are_stored_under_constant_masks(name: str) -> None:
    _, kernel = _kernels(name, "i2")
    code = kernel.compile(*[lw.Array[lw.i16, 2 if name in ROWS else 1]] * 2, target="x86-64-v4")
    assert "store_some" in code.ir("vectorize")
    assert "lane_pattern" in code.ir("expand")
    # VPMASKMOV takes ten times as long as a store on AMD's cores.
    assert "store_some" not in kernel.compile(*[lw.Array[lw.i16, 2 if name in ROWS else 1]] * 2, target="x86-64-v3").ir("vectorize")


def test_the_text_names_the_bytes() -> None:
    text = "function f(%p: ptr, %v: i16)\n  %a = splat.i16x8 %v\n  store_some2.i16x8 771, %a, %a, [%p]\n  ret\nend\n"
    f = parse(text)
    verify(f)
    assert "store_some2.i16x8 771, %a, %a, [%p]" in print_function(f)
    with pytest.raises(VerifyError, match="65536 has no bits for 16 bytes"):
        verify(parse(text.replace("771", "65536")))


@pytest.mark.parametrize("runner", runners(lambda runner: runner.folder == "x86" and runner.widest))
@pytest.mark.parametrize(("name", "dtype"), [("pixels", "u1"), ("flat", "f4"), ("every second", "f8"), ("from the third", "u1")])
def test_the_text_after_every_pass_does_the_same(runner: Runner, name: str, dtype: str) -> None:
    _, kernel = _kernels(name, dtype)
    element = getattr(lw, {"u1": "u8", "f4": "f32", "f8": "f64"}[dtype])
    code = runner.compiled(kernel, *[lw.Array[element, 2 if name in ROWS else 1]] * 2)
    python, _ = _kernels(name, dtype)
    wanted, expected = _arrays(name, dtype, 150, 4)
    with np.errstate(all="ignore"):
        python(*wanted)
    for after in names_of(code.compiled.passes):
        found, memory = _arrays(name, dtype, 150, 4)
        Interpreter(parse(code.ir(after), target=runner.target), runner.target).call(*found)
        assert all(np.array_equal(x, y) for x, y in zip(expected, memory, strict=True)), after


def test_a_store_begins_where_the_next_load_does() -> None:
    """What is loaded next must not begin in what has just been stored: of the elements from 2 * i on the second is stored, by a store of both."""
    _, kernel = _kernels("between others", "f4")
    code = kernel.compile(*[lw.Array[lw.f32]] * 2, target="x86-64-v4").ir("vectorize")
    loads = [line for line in code.splitlines() if "load_part" in line]
    (store,) = [line.split("store_some2")[1] for line in code.splitlines() if "store_some2" in line]
    # (By number, which bytes of 16 are stored: the upper half of each eight.)
    assert store.startswith(".f32x16 61680, 0.0,")
    assert "*4 - 4]" in store and any("*4 - 4]" in line for line in loads)
