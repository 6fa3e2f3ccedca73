"""Loops that are left early, by ``break`` and ``return``: in lanes, with what the loop as written leaves behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.runtime import cpu, emulate

TYPES = ["f16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]

FORMS = {
    "search": """def kernel(x, y, out):
    for i in {loop}:
        if x[i] == out[0]:
            return i
    return -1
""",
    "place": """def kernel(x, y, out):
    at = lw.i64(-1)
    for i in {loop}:
        if x[i] != y[i]:
            at = i
            break
    return at
""",
    "two": """def kernel(x, y, out):
    found = lw.i64(0)
    for i in {loop}:
        if x[i] == y[i]:
            continue
        if x[i] == out[0]:
            found = 2 * i + 1
            break
        if y[i] == out[0]:
            found = -i
            break
    return found
""",
    "last": """def kernel(x, y, out):
    v = x.dtype(3)
    for i in lw.range(len(x)):
        v = x[i]
        if v == out[0]:
            break
    out[1] = v
    return 0
""",
}
LANES = {
    "copy": """def kernel(x, y, out):
    for i in lw.lanes(len(x)):
        y[i] = x[i]
        if x[i] == out[0]:
            break
    return 0
""",
    "total": """def kernel(x, y, out):
    total = x.dtype(0)
    at = lw.i64(len(x))
    for i in lw.lanes(len(x)):
        v = x[i]
        if v == out[0]:
            at = i
            break
        total ^= v
        y[i] = v + 1
    out[1] = total
    return at
""",
}

#: The machines whose code this CPU runs.
HERE = ["x86-64-v3", *(["x86-64-v4"] if "avx512bw" in cpu.host_features() else [])]


def kernel(source: str, **options: Any) -> Any:
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the sources in this file)
    space["kernel"].__annotations__.update({**dict.fromkeys(("x", "y", "out"), lw.Array), "return": lw.i64})
    return lw.kernel(source=source, **options)(space["kernel"])


def cases(dtype: np.dtype[Any], lengths: range, step: int = 1) -> list[list[np.ndarray]]:
    """Arrays of each length in which what is looked for stands nowhere, and at every place of some."""
    found = []
    for n in lengths:
        for at in (None, *range(0, n, step if n < 40 else 7)):
            x = (np.arange(n) % 5 + 1).astype(dtype)
            y = x.copy()
            if at is not None:
                x[at:] = np.where(np.arange(n - at) % 3, x[at:], 9)
            found.append([x, y, np.array([9, 0], dtype)])
    return found


def compared(source: str, plain: str, name: str, lengths: range) -> None:
    slow = kernel(plain, nests="off")
    forms = [made(source, name, target) for target in HERE]
    for arguments in cases(np.dtype(getattr(lw, name).dtype), lengths):
        copies = [[a.copy() for a in arguments] for _ in forms]
        expected = slow(*arguments), [a.tobytes() for a in arguments]
        for fast, mine in zip(forms, copies, strict=True):
            assert (fast(*mine), [a.tobytes() for a in mine]) == expected


def made(source: str, name: str, target: str) -> Any:
    array = lw.Array[getattr(lw, name)]
    return kernel(source).compile(array, array, array, target=target, keep=True)


@pytest.mark.parametrize("name", TYPES)
def test_plain_loops(name: str) -> None:
    dtype = np.dtype(getattr(lw, name).dtype)
    for form, source in FORMS.items():
        text = source.format(loop="lw.range(len(x))")
        compared(text, text, name, range(0, 71, 1 if form == "search" and name in ("f32", "u8") else 11))
        if dtype.itemsize > 2 and name != "u64":
            assert "lanes" in made(text, name, "x86-64-v3").ir("nests"), form


@pytest.mark.parametrize("name", ["f64", "u8", "i16", "i32", "u64"])
def test_loops_over_lanes(name: str) -> None:
    for form, source in LANES.items():
        if form == "copy" or not name.startswith("f"):
            compared(source, source.replace("lanes", "range"), name, range(0, 71, 7))
    for form in ("search", "place", "two"):
        compared(FORMS[form].format(loop="lw.lanes(len(x))"), FORMS[form].format(loop="lw.range(len(x))"), name, range(0, 71, 9))


@pytest.mark.skipif(not emulate.available("aarch64-neon"), reason="nothing emulates aarch64 here")
def test_on_aarch64() -> None:
    target = "aarch64-neon"
    calls: list[tuple[Any, tuple[Any, ...]]] = []
    wanted: list[tuple[Any, list[bytes]]] = []
    for source, name in ((FORMS["search"], "u8"), (FORMS["place"], "f32"), (FORMS["two"], "i64"), (LANES["copy"], "i32"), (LANES["total"], "u16")):
        text = source.format(loop="lw.range(len(x))")
        code, slow = made(text, name, target), kernel(text.replace("lanes", "range"), nests="off")
        for arguments in cases(np.dtype(getattr(lw, name).dtype), range(0, 80, 13), 11):
            calls.append((code, tuple(a.copy() for a in arguments)))
            wanted.append((slow(*arguments), [a.tobytes() for a in arguments]))
    results = emulate.run_many(calls)
    assert [(result, [a.tobytes() for a in args]) for result, (_, args) in zip(results, calls, strict=True)] == wanted


def test_vectors_end_where_an_array_does() -> None:
    source = """def kernel(x, y, out):
    n = lw.i64(out[0])
    for i in lw.range(n):
        if x[i + 3] == y[i]:
            return i
    return -1
"""
    fast, slow = kernel(source), kernel(source, nests="off")
    assert "lanes" in made(source, "i32", "x86-64-v3").ir("nests")
    page = np.zeros(4096, np.int32)
    for n in (0, 1, 7, 30, 64):
        # The count says more than there is: what is looked for is there before the end.
        x = page[4096 - n - 4 :]
        x[:] = np.arange(n + 4)
        y = np.full(n + 1, -1, np.int32)
        y[n] = x[n + 3]
        out = np.array([1 << 30, 0], np.int32)
        assert fast(x, y, out) == slow(x, y, out) == n


@pytest.mark.parametrize(
    "body",
    [
        "if x[lw.i64(y[i])] == 0:\n            return i",  # what is looked up may be anywhere
        "out[0] += 1\n        if x[i] == out[0]:\n            return i",  # each waits for the one before
        "k = k * 3 + 1\n        if x[i] == 5:\n            return k",
        "if x[i] == 5:\n            return k\n        k = i",  # of the index before
    ],
)
def test_what_carries_more_stays(body: str) -> None:
    source = f"def kernel(x, y, out):\n    k = lw.i64(0)\n    for i in lw.range(len(x)):\n        {body}\n    return k\n"
    x, y, out = np.full(300, 3, np.int32), np.arange(300, dtype=np.int32), np.zeros(2, np.int32)
    x[277] = 5
    assert kernel(source)(x, y, out.copy()) == kernel(source, nests="off")(x, y, out)
    assert "lanes" not in made(source, "i32", "x86-64-v3").ir("nests")


def test_a_body_that_begins_with_a_branch() -> None:
    source = """def kernel(x, y, out):
    copies = out[0] > 0
    for i in lw.lanes(len(x)):
        if copies:
            y[i] = x[i]
        if x[i] == 5:
            return i
    return -1
"""
    slow = kernel(source.replace("lanes", "range"), nests="off")
    for first in (0, 1):
        for n in (0, 1, 20, 77):
            x, out = np.arange(n, dtype=np.int32) % 31 + 3 * (n > 70), np.array([first], np.int32)
            x[n // 2 :] = 5
            y, wanted = np.zeros(n, np.int32), np.zeros(n, np.int32)
            assert kernel(source)(x, y, out) == slow(x, wanted, out)
            np.testing.assert_array_equal(y, wanted)


def place(x: Any, key: Any) -> Any:
    for i in lw.lanes(len(x)):
        if x[i] == key:
            return i
    return lw.i64(-1)


@lw.kernel
def places(x: lw.Array, y: lw.Array, out: lw.Array) -> lw.i64:
    return 1000 * place(x, out[0]) + place(y, out[1])


def test_a_function_that_returns_from_its_loop() -> None:
    x, y = np.arange(100, dtype=np.float32), np.arange(50, dtype=np.float32)
    assert places(x, y, np.array([77, 49], np.float32)) == 77049


@lw.kernel(contract=False)
def left_and_holding(x: lw.Array[lw.f64], y: lw.Array[lw.f64, 2], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        if x[i] > 0.25 and y[i % y.shape[0], 0] < 0.75:
            o[i] += 1
        s = 0.0
        for j in lw.range(y.shape[1]):
            s += y[i % y.shape[0], j] * x[i]
        for j in lw.range(y.shape[1]):
            y[i % y.shape[0], j] = y[i % y.shape[0], j] * 0.5 + s
        o[i] += s
        if x[i] > 0.95:
            break


@lw.kernel(contract=False)
def returned_from(x: lw.Array[lw.f64], y: lw.Array[lw.f64, 2], o: lw.Array[lw.f64]):
    for i in lw.range(len(x)):
        for j in lw.range(y.shape[1]):
            y[0, j] = y[0, j] + x[i]
        if x[i] > 0.9 or (o[i] > 0.5 and x[i] > 0.5):
            return
        k = lw.i64(0)
        for j in lw.range(y.shape[1]):
            if y[0, j] > x[i] and y[0, j] < 2:
                o[k] = y[0, j]
                k += 1


@pytest.mark.parametrize("kernel", [left_and_holding, returned_from], ids=lambda kernel: kernel.function.__name__)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64-neon"])
def test_loops_in_loops_that_are_left_are_nests(kernel: lw.Kernel, target: str) -> None:
    report = kernel.compile(target=target).nests()
    assert len(report) >= 2
    assert "lanes(j)" in str(report)
    rng = np.random.default_rng(3)
    for n in (1, 5, 40):
        x, y, o = rng.random(n), rng.random((3, 37)), np.zeros(max(n, 37))
        wanted = [y.copy(), o.copy()]
        kernel.function(x, *wanted)
        kernel(x, y, o)
        np.testing.assert_array_equal(o, wanted[1])
        np.testing.assert_array_equal(y, wanted[0])
