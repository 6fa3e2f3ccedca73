"""What an iteration hands on, and has made of what it loads alone, is made again in the next, so that the loop has lanes; with the results of the loop as written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw

RUNNERS = runners(lambda runner: runner.widest)

LOOPS = {
    "transitions": """
n = lw.i64(0)
p = a[0]
for i in range(a.shape[0]):
    if a[i] != p:
        n += 1
    p = a[i]
z[0] = n
z[1] = lw.i64(p)
""",
    "words": """
n = lw.i64(0)
p = lw.i64(1)
for i in range(a.shape[0]):
    if a[i] == 2 or a[i] == 4:
        p = lw.i64(1)
    else:
        n += p
        p = lw.i64(0)
z[0] = n
z[1] = p
""",
    "words by truth values": """
n = lw.i64(0)
p = a[0] == 5
for i in range(a.shape[0]):
    q = a[i] == 2 or a[i] == 4
    if p and not q:
        n += 1
    p = q
z[0] = n
z[1] = lw.i64(3)
if p:
    z[1] = lw.i64(4)
""",
    "a truth value": """
n = lw.i64(0)
p = a[0] == 5
for i in range(a.shape[0]):
    if p:
        n += 1
    p = a[i] > 2
z[0] = n
""",
    "rows": """
for r in range(3):
    p = a[r]
    n = lw.i64(0)
    for i in range(r, a.shape[0]):
        if a[i] > p:
            n += lw.i64(p)
        p = a[i] + a[i]
    z[r] = n
""",
    "carried by the rows too": """
n = lw.i64(0)
p = a[0]
for r in range(3):
    for i in range(2 * r, a.shape[0] - 40 * r):
        n += lw.i64(p) * 3
        p = a[i]
z[0] = n
z[1] = lw.i64(p)
""",
    "in place": """
p = a[0]
for i in range(a.shape[0]):
    t = a[i]
    a[i] = t + p
    p = t
z[0] = lw.i64(p)
""",
    "in place, from the second on": """
p = a[0]
n = lw.i64(0)
for i in range(1, a.shape[0] - 1):
    t = a[i]
    if t > p:
        n += 1
    a[i] = t - p
    p = t + 1
z[0] = n
z[1] = lw.i64(p)
""",
    "two of them": """
n = lw.i64(0)
p = a[0]
q = a[0]
for i in range(a.shape[0]):
    if a[i] > p:
        n += 1
    if a[i] < q:
        n += 2
    p = a[i]
    q = a[i] + 1
z[0] = n
z[1] = lw.i64(p) + 10 * lw.i64(q)
""",
}
STAYS = {
    "what has been stored": "p = a[0]\nfor i in range(a.shape[0]):\n    a[i] = a[i] + p\n    p = a[i]\n",
    "stored beside it": "p = a[0]\nfor i in range(a.shape[0] - 1):\n    t = a[i]\n    a[i + 1] = t + p\n    p = t\n",
    "made of what it was": "p = a[0]\nn = lw.i64(0)\nfor i in range(a.shape[0]):\n    if a[i] != p:\n        n += 1\n    p = p + p + a[i]\nz[0] = n\n",
    "two iterations before": "p = a[0]\nq = a[0]\nn = lw.i64(0)\nfor i in range(a.shape[0]):\n    if a[i] != q:\n        n += 1\n    q = p\n    p = a[i]\nz[0] = n\n",
    "not in each iteration": "p = a[0]\nn = lw.i64(0)\nfor i in range(a.shape[0]):\n    if a[i] != p:\n        n += 1\n    if a[i] > 3:\n        p = a[i]\nz[0] = n\n",
}


def kernel(body: str, **options: Any) -> Any:
    source = "def nest(a, z):\n" + "".join(f"    {line}\n" for line in body.strip().splitlines())
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the sources above)
    function = space["nest"]
    function.__annotations__.update(a=lw.Array, z=lw.Array)
    return lw.kernel(source=source, **options)(function)


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("element", ["u8", "i32", "f32"])
@pytest.mark.parametrize("name", [*LOOPS, *STAYS])
def test_the_results_are_those_of_the_loop_as_written(name: str, element: str, runner: Runner) -> None:
    source = {**LOOPS, **STAYS}[name]
    arrays = [lw.Array[getattr(lw, element)], lw.Array[lw.i64]]
    ours = runner.compiled(kernel(source), *arrays)
    plain = kernel(source, nests="off").compile(*arrays, target="x86-64-v3")
    dtype = {"u8": np.uint8, "i32": np.int32, "f32": np.float32}[element]
    for count in (3, 4, 5, 17, 64, 100, 333):
        a = np.random.default_rng(count).integers(1, 6, count).astype(dtype)
        given, wanted = [a.copy(), np.zeros(3, np.int64)], [a.copy(), np.zeros(3, np.int64)]
        plain(*wanted)

        def check(_: Any, given: list[Any] = given, wanted: list[Any] = wanted) -> None:
            assert all(np.array_equal(x, y) for x, y in zip(given, wanted, strict=True))

        runner.run(ours, given, check)


def nests_of(source: str, element: str = "i32", target: str = "x86-64-v4") -> str:
    return str(kernel(source).compile(lw.Array[getattr(lw, element)], lw.Array[lw.i64], keep=True, target=target).ir("nests"))


@pytest.mark.parametrize("element", ["u8", "i32"])
@pytest.mark.parametrize("name", LOOPS)
def test_they_have_lanes(name: str, element: str) -> None:
    assert " lanes" in nests_of(LOOPS[name], element)


@pytest.mark.parametrize("name", STAYS)
def test_what_stays(name: str) -> None:
    assert " lanes" not in nests_of(STAYS[name])


def test_words_are_counted_in_lanes_of_bytes() -> None:
    text = str(kernel(LOOPS["words"]).compile(lw.Array[lw.u8], lw.Array[lw.i64], keep=True, target="x86-64-v3").ir("vectorize"))
    assert "u8x32" in text and "i64x" not in text.replace("u64x", "")


def test_no_iteration_at_all() -> None:
    source = "n = lw.i64(5)\np = lw.i64(9)\nfor i in range(3, a.shape[0]):\n    n += p\n    p = lw.i64(a[i])\nz[0] = n\nz[1] = p\n"
    for count in (0, 1, 3, 4, 5):
        a = np.arange(10, 10 + count, dtype=np.int32)
        z, wanted = np.zeros(2, np.int64), np.zeros(2, np.int64)
        kernel(source)(a, z)
        kernel(source, nests="off")(a, wanted)
        assert np.array_equal(z, wanted)


@lw.kernel
def differences(a: lw.Array[lw.i32, 2], o: lw.Array[lw.i32, 2]):
    for r in range(a.shape[0]):
        p = lw.i32(3)
        for i in range(a.shape[1]):
            d = a[r, i] - p
            p = a[r, i]
            o[r, i] = (d << 1) ^ (d >> 31)


@lw.kernel
def starts(a: lw.Array[lw.i32], o: lw.Array[lw.i32]) -> lw.i32:
    p = lw.i32(-1)
    for i in range(len(a)):
        o[i] = 1 if a[i] != p else 0
        p = a[i]
    return p


@lw.kernel
def in_place(a: lw.Array[lw.i32]):
    p = lw.i32(0)
    for i in range(len(a)):
        d = a[i] - p
        p = a[i]
        a[i] = d


def test_loops_that_store_have_lanes_where_arrays_do_not_overlap() -> None:
    for kernel in (differences, starts, in_place):
        assert "lanes(i)" in kernel.compile(target="x86-64-v3").nests()[0].done


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("shift", [None, 0, 1])
@pytest.mark.parametrize("columns", [0, 1, 2, 16, 17, 100])
def test_loops_that_store_give_what_is_written(columns: int, shift: int | None, runner: Runner) -> None:
    """To another array, to that which is read, to one that begins an element further on."""
    count = 4 * columns
    for kernel in (differences, starts):
        memory, plain = (np.random.default_rng(columns).integers(-9, 9, 2 * count + 1).astype(np.int32) for _ in range(2))
        at = count if shift is None else shift
        given, wanted = ([x[:count], x[at : at + count]] for x in (memory, plain))
        if kernel is differences:
            given, wanted = ([x.reshape(4, columns) for x in views] for views in (given, wanted))
        with np.errstate(over="ignore"):
            kernel.function(*wanted)

        def same(_: object, memory: Any = memory, plain: Any = plain) -> None:
            np.testing.assert_array_equal(memory, plain)

        runner.run(runner.compiled(kernel, *given), given, same)


def test_what_is_stored_where_it_is_read_goes_backwards() -> None:
    a, wanted = (np.arange(50, dtype=np.int32) ** 2 % 17 for _ in range(2))
    in_place(a)
    in_place.function(wanted)
    np.testing.assert_array_equal(a, wanted)
