"""Stores and loads at an index that counts: what loops over lanes make of them, for all lengths, and nothing behind what is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.end_to_end.guarded import guarded
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.compiler import run_passes
from loopwright.ir.interpret import run
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.runtime import cpu, emulate
from loopwright.targets import registry

HERE = ["x86-64-v3", *(["x86-64-v4"] if "avx512bw" in cpu.host_features() else [])]
TYPES = ["f32", "f64", "i8", "u16", "i32", "u32", "i64", "u64"]
#: Kept in a hundred: none, few, half, most, all.
SHARES = (0, 2, 50, 97, 100)


def kept(x: lw.Array, y: lw.Array, limit: lw.Array) -> lw.i64:
    k = 0
    for i in lw.lanes(len(x)):
        if x[i] < limit[0]:
            y[k] = x[i]
            k += 1
    return k


def places_and_values(x: lw.Array, y: lw.Array, at: lw.Array[lw.i32], rest: lw.Array) -> lw.i64:
    k = lw.i64(1)
    j = lw.i64(0)
    for i in lw.lanes(len(x)):
        v = x[i]
        if v == 0:
            continue
        if v < 3:
            y[k] = v + 1
            at[k] = lw.i32(i)
            k += 1
        else:
            rest[j] = v
            j += 1
    return 1000 * k + j


def dealt_out(x: lw.Array, y: lw.Array, limit: lw.Array) -> lw.i64:
    k = 0
    for i in lw.lanes(len(y)):
        if y[i] < limit[0]:
            y[i] = x[k]
            k += 1
    return k


def elements(name: str, n: int, share: int) -> tuple[np.ndarray, np.ndarray]:
    dtype = np.dtype(getattr(lw, name).dtype)
    return np.random.default_rng(n + share).integers(0, 100, n).astype(dtype), np.array([share], dtype)


@pytest.mark.parametrize("name", TYPES)
def test_what_is_kept_stands_together(name: str) -> None:
    array = lw.Array[getattr(lw, name)]
    for target in HERE:
        code = lw.kernel(kept).compile(array, array, array, target=target, keep=True)
        assert "popcount" in code.ir("vectorize")
        for n in (*range(71), 3000):
            for share in SHARES:
                x, limit = elements(name, n, share)
                wanted = x[x < limit[0]]
                y = np.full(len(wanted) + 9, 77, x.dtype)
                # (There is no room for more, and what is behind stays.)
                assert code(x, y[: len(wanted)], limit) == len(wanted)
                assert y.tolist() == [*wanted.tolist(), *[77] * 9]


@pytest.mark.parametrize("name", ["f32", "i64", "u16"])
def test_several_arrays_and_two_counters(name: str) -> None:
    array = lw.Array[getattr(lw, name)]
    for target in HERE:
        code = lw.kernel(places_and_values).compile(array, array, lw.Array[lw.i32], array, target=target)
        for n in (*range(0, 71, 5), 2500):
            x = np.random.default_rng(n).integers(0, 6, n).astype(np.dtype(getattr(lw, name).dtype))
            some, others = np.flatnonzero((x != 0) & (x < 3)), x[x >= 3]
            y, at, rest = np.zeros(len(some) + 1, x.dtype), np.zeros(len(some) + 1, np.int32), np.zeros(len(others), x.dtype)
            assert code(x, y, at, rest) == 1000 * (len(some) + 1) + len(others)
            assert y[1:].tolist() == (x[some] + 1).tolist()
            assert at[1:].tolist() == some.tolist()
            assert rest.tolist() == others.tolist()


@pytest.mark.parametrize("name", TYPES)
def test_what_is_loaded_is_dealt_out(name: str) -> None:
    array = lw.Array[getattr(lw, name)]
    for target in HERE:
        code = lw.kernel(dealt_out).compile(array, array, array, target=target, keep=True)
        assert ("popcount" in code.ir("vectorize")) == (array.element.bits >= 32)
        for n in (*range(0, 71, 3), 500):
            for share in SHARES:
                y, limit = elements(name, n, share)
                wanted = y.copy()
                x = np.arange(np.count_nonzero(y < limit[0])).astype(y.dtype)
                wanted[y < limit[0]] = x
                assert code(x, y, limit) == len(x)
                assert y.tolist() == wanted.tolist()


def emulated(target: str, name: str, cases: list[tuple[int, int]]) -> None:
    """What is kept of arrays of some lengths, so many in a hundred, by code for another machine."""
    code = lw.kernel(kept).compile(*[lw.Array[getattr(lw, name)]] * 3, target=target, keep=True)
    assert "popcount" in code.ir("vectorize")
    calls = []
    for n, share in cases:
        x, limit = elements(name, n, share)
        calls.append((code, (x, np.full(n, 77, x.dtype), limit)))
    for found, (_, (x, y, limit)) in zip(emulate.run_many(calls), calls, strict=True):
        wanted = x[x < limit[0]].tolist()
        assert found == len(wanted) and y.tolist() == [*wanted, *[77] * (len(x) - len(wanted))]


@pytest.mark.skipif(not emulate.available("aarch64-neon"), reason="nothing emulates aarch64 here")
@pytest.mark.parametrize("name", ["f32", "i8", "u16"])
def test_on_aarch64_the_same(name: str) -> None:
    emulated("aarch64-neon", name, [(0, 50), (5, 50), (70, 50), (500, 3), (500, 60), (500, 100)])


@pytest.mark.skipif(not emulate.available("x86-64-v4"), reason="nothing runs AVX-512 here")
@pytest.mark.parametrize("name", ["i8", "u16"])
def test_narrow_lanes_of_avx512_the_same(name: str) -> None:
    emulated("x86-64-v4", name, [(5, 50), (300, 3), (300, 60)])


@pytest.mark.parametrize("target", HERE)
@pytest.mark.parametrize("name", ["f32", "u8", "i64", "f64", "i16"])
def test_whole_vectors_are_stored_as_long_as_enough_is_to_come(name: str, target: str) -> None:
    array = lw.Array[getattr(lw, name)]
    code = lw.kernel(kept).compile(array, array, array, target=target, keep=True)
    assert any("store." in line and "y[" in line and "masked" not in line for line in code.ir("vectorize").split("\n"))
    assert "pext" not in code.asm() and any(op in code.asm() for op in ("vpshufb", "vpermd", "vpcompress"))
    for n in (64, 127, 128, 129, 640, 4000):
        for few in (0, 1, 3, 40, n):
            # All that is kept stands in front, or behind, or is spread.
            for places in (np.arange(few), np.arange(n - few, n), np.linspace(0, n - 1, few).astype(int)):
                x = np.full(n, 100, array.element.dtype)
                x[places] = np.arange(len(places)) % 90
                wanted = x[x < 100]
                y = np.full(len(wanted) + 70, 77, x.dtype)
                assert code(x, y, np.array([100], x.dtype)) == len(wanted)
                assert y.tolist() == [*wanted.tolist(), *[77] * 70]


def kept_of_pairs(x: lw.Array, y: lw.Array, limit: lw.Array) -> lw.i64:
    k = 0
    for i in lw.lanes(len(x) // 2):
        if x[2 * i + 1] < limit[0]:
            y[k] = x[2 * i]
            k += 1
    return k


@pytest.mark.parametrize("name", TYPES)
def test_what_is_dealt_out_is_packed(name: str) -> None:
    """Vectors of the last elements of a pair reach behind it: the last of the loops that a loop is divided into has what is left over."""
    for target in HERE:
        code = lw.kernel(kept_of_pairs).compile(lw.Array[getattr(lw, name)], lw.Array[getattr(lw, name)], lw.Array[getattr(lw, name)], target=target)
        for n in (0, 1, 63, 64, 65, 127, 128, 192, 198, 255, 256, 257, 320, 1000):
            for share in SHARES:
                x, limit = elements(name, 2 * n, share)
                y, wanted = np.zeros(n, x.dtype), np.zeros(n, x.dtype)
                assert code(guarded(x, True), y, limit) == kept_of_pairs(x, wanted, limit)
                np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("target", HERE)
def test_an_array_may_be_packed_into_itself(target: str) -> None:
    code = lw.kernel(kept).compile(*[lw.Array[lw.i32]] * 3, target=target)
    for share in SHARES:
        x, limit = elements("i32", 1000, share)
        wanted = x[x < limit[0]]
        behind = x[len(wanted) :].copy()
        assert code(x, x, limit) == len(wanted)
        assert x.tolist() == [*wanted.tolist(), *behind.tolist()]


def parted(x: lw.Array, small: lw.Array, at: lw.Array[lw.i32], large: lw.Array, limit: lw.Array, counts: lw.Array[lw.i64]) -> lw.i64:
    k = lw.i64(0)
    j = lw.i64(0)
    total = lw.i64(0)
    for i in lw.lanes(len(x)):
        v = x[i]
        if v < limit[0]:
            small[k] = v
            at[k] = lw.i32(i)
            k += 1
        elif v > limit[1]:
            large[j] = v
            j += 1
        total += lw.i64(v)
    counts[0] = k
    counts[1] = j
    return total


@pytest.mark.parametrize("target", HERE)
@pytest.mark.parametrize("name", ["f32", "f64", "i32", "u64"])
def test_vectors_are_passed_over_for_two_counters_and_a_total(name: str, target: str) -> None:
    """Of a thousand elements and more none, a few in a row, or many go to each side; what is behind them stays."""
    array = lw.Array[getattr(lw, name)]
    code = lw.kernel(parted).compile(array, array, lw.Array[lw.i32], array, array, lw.Array[lw.i64], target=target)
    for n in (0, 63, 64, 1000, 1024, 3001):
        for low, high in ((0, 99), (1, 99), (1, 50), (3, 97), (50, 50), (100, 100), (0, 0), (0, 2)):
            x = np.random.default_rng(n).integers(0, 100, n).astype(array.element.dtype)
            some = np.flatnonzero(x < low)
            others = x[(x >= low) & (x > high)]
            small, at, large = np.full(len(some) + 5, 77, x.dtype), np.full(len(some) + 5, 77, np.int32), np.full(len(others) + 5, 77, x.dtype)
            counts = np.zeros(2, np.int64)
            room = [small[: len(some)], at[: len(some)], large[: len(others)]]
            assert code(x, *room, np.array([low, high], x.dtype), counts) == int(x.astype(np.int64).sum())
            assert counts.tolist() == [len(some), len(others)]
            assert small.tolist() == [*x[some].tolist(), *[77] * 5] and at.tolist() == [*some.tolist(), *[77] * 5]
            assert large.tolist() == [*others.tolist(), *[77] * 5]


@pytest.mark.parametrize("name", ["f64", "i32"])
def test_one_branch_asks_about_two_vectors(name: str) -> None:
    array = lw.Array[getattr(lw, name)]
    code = lw.kernel(kept).compile(array, array, array, target="x86-64-v4", keep=True)
    lines = [line.split("=")[-1].split()[0] for line in code.ir("vectorize").split("\n") if line.strip()]
    # (In the loop that stores whole vectors each branch is on two masks' bits, and in the one behind it each vector has one besides.)
    pairs = [at for at, op in enumerate(lines) if op == "or.i64"]
    assert len(pairs) == 3 and [lines[at + 1 : at + 3] for at in pairs] == [["ne.i64", "if"]] * 3


def kept_by_a_table(x: lw.Array[lw.i32], y: lw.Array[lw.i32], z: lw.Array[lw.i32]) -> lw.i64:
    k = 0
    total = lw.i32(0)
    for i in lw.lanes(len(x)):
        z[i] = x[i] * 3
        total += x[i]
        if z[i] > 150:
            y[k] = z[i]
            k += 1
    return 1000000 * lw.i64(total) + k


def test_what_the_loop_changes_is_not_looked_at_ahead() -> None:
    code = lw.kernel(kept_by_a_table).compile(target="x86-64-v3")
    x = np.random.default_rng(3).integers(0, 100, 1000).astype(np.int32)
    y, z = np.zeros(1000, np.int32), np.full(1000, 151, np.int32)
    wanted = (3 * x)[3 * x > 150]
    assert code(x, y, z) == 1000000 * int(x.sum()) + len(wanted)
    assert y.tolist() == [*wanted.tolist(), *[0] * (1000 - len(wanted))]


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_as_the_interpreter_has_it(bits: int) -> None:
    f = parse("""
        function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64) -> i64
          array x: i32[%x.n0] at %x
          array y: f64[%y.n0] at %y written
          var %k: i64
          %k = copy.i64 0
          %i = for 0, %x.n0, 1 lanes
            %1 = load.i32 x[%i]
            %2 = gt.i32 %1, 40
            %3 = convert.f64.i32 %1
            if %2
              store.f64 %3, y[%k]
              %k = add.i64 %k, 1
            end
          end
          ret.i64 %k
        end
    """)
    verify(f)
    for level in ("x86-64-v3", "x86-64-v4"):
        if level == "x86-64-v3" and bits == 512:
            continue
        for after in ("vectorize", "unroll", "simplify"):
            made = run_passes(f, registry.get(level, bits), after)
            verify(made)
            for n in (0, 1, 7, 64, 700):
                x = np.random.default_rng(n).integers(0, 100, n).astype(np.int32)
                y = np.zeros(np.count_nonzero(x > 40))
                assert run(made, x, y) == len(y) and y.tolist() == x[x > 40].tolist()


@pytest.mark.parametrize(
    "body",
    [
        "if x[i] > 3:\n            y[k] = x[i]\n            k += 2",  # every second place
        "y[k] = x[i]\n        if x[i] > 3:\n            k += 1",  # the last of each run stays
        "if x[i] > 3:\n            y[k] = y[i]\n            k += 1",  # the array is read, too
        "if x[i] > k:\n            y[k] = x[i]\n            k += 1",  # what is kept depends on how many there were
    ],
)
def test_what_counts_otherwise_takes_one_index_after_the_other(body: str) -> None:
    source = f"def loop(x, y):\n    k = lw.i64(0)\n    for i in lw.lanes(len(x)):\n        {body}\n    return k\n"
    space: dict[str, Any] = {"lw": lw}
    plain = source.replace("lanes", "range")
    results = []
    for text in (source, plain):
        exec(text, space)  # noqa: S102 (the sources above)
        space["loop"].__annotations__.update(x=lw.Array[lw.i32], y=lw.Array[lw.i32])
        space["loop"].__annotations__["return"] = lw.i64
        x, y = (np.arange(200) * 7 % 11).astype(np.int32), np.arange(650).astype(np.int32)
        results.append((lw.kernel(source=text)(space["loop"])(x, y), y.tolist()))
    assert results[0] == results[1]


def kept_plainly(x: lw.Array, y: lw.Array, at: lw.Array[lw.i32]) -> lw.i64:
    k = 0
    below = lw.i64(0)
    for r in lw.range(x.shape[0]):
        for i in lw.range(x.shape[1]):
            v = x[r, i]
            if v > 3:
                y[k] = v - 3
                at[k] = lw.i32(i)
                k += 1
            below += lw.i64(v < 2)
    return 1000000 * below + k


@pytest.mark.parametrize("name", ["f32", "i64", "i16"])
def test_plain_loops_take_lanes_where_arrays_do_not_overlap(name: str) -> None:
    array = lw.Array[getattr(lw, name)]
    for target in HERE:
        code = lw.kernel(kept_plainly).compile(lw.Array[array.element, 2], array, lw.Array[lw.i32], target=target, keep=True)
        assert ("popcount" in code.ir("vectorize")) == (array.element.bits >= 32 or target == "x86-64-v4")
        for n in (0, 1, 7, 40, 333):
            x = np.random.default_rng(n).integers(0, 6, (3, n)).astype(np.dtype(getattr(lw, name).dtype))
            wanted = x[x > 3] - 3
            y, at = np.zeros(len(wanted), x.dtype), np.zeros(len(wanted), np.int32)
            assert code(x, y, at) == 1000000 * np.count_nonzero(x < 2) + len(wanted)
            assert y.tolist() == wanted.tolist() and at.tolist() == np.nonzero(x > 3)[1].tolist()
            # Behind itself: what is stored is read again.
            block = np.tile(np.array([5, 1, 4, 9], x.dtype), 40)
            slow = block.copy()
            plain = lw.kernel(kept_plainly, nests="off")
            room = np.zeros(400, np.int32)
            assert code(block[:120].reshape(2, 60), block[30:], room) == plain(slow[:120].reshape(2, 60), slow[30:], room)
            assert block.tolist() == slow.tolist()


@lw.kernel
def by_what_is_stored(x: lw.Array, y: lw.Array, z: lw.Array, count: lw.Array):
    k = lw.i64(0)
    for i in lw.lanes(len(x)):
        z[i] = x[i] * 2
        if z[i] > 80:
            y[k] = x[i]
            k += 1
    count[0] = k


@pytest.mark.parametrize("name", ["f32", "i32", "f64"])
def test_buffers_that_are_filled_several_times(name: str) -> None:
    """The elements to come are not counted ahead where the condition is of what the loop stores, so that all go by way of the buffer."""
    element = getattr(lw, name)
    for target in HERE:
        for length in (400, 1500, 5003):
            x = np.random.default_rng(length).integers(0, 100, length).astype(element.dtype)
            y, z, count = np.zeros_like(x), np.zeros_like(x), np.zeros(1, np.int64)
            lw.kernel(by_what_is_stored.function, target=target)(x, y, z, count)
            kept = x[x * 2 > 80]
            assert count[0] == len(kept)
            np.testing.assert_array_equal(y, np.concatenate([kept, np.zeros(length - len(kept), x.dtype)]))


@lw.kernel
def kept_beside(x: lw.Array, y: lw.Array, wide: lw.Array) -> lw.i64:
    k = 0
    for i in lw.lanes(len(x)):
        if wide[i] > 3:
            y[k] = x[i]
            k += 1
    return k


@pytest.mark.parametrize("runner", runners())
@pytest.mark.parametrize(("narrow", "wide"), [("i8", "i16"), ("u8", "f32"), ("i16", "i64"), ("f32", "f64"), ("u8", "u64")])
def test_narrow_elements_beside_wide_conditions(runner: Runner, narrow: str, wide: str) -> None:
    rng = np.random.default_rng(9)
    for length in (0, 7, 40, 133):
        x, other = rng.integers(0, 99, length).astype(getattr(lw, narrow).dtype), rng.integers(0, 8, length)
        given = other.astype(getattr(lw, wide).dtype)
        y = np.full(length, 77, x.dtype)
        wanted = x[other > 3].tolist()

        def same(found: Any, y: np.ndarray = y, wanted: list[Any] = wanted, length: int = length) -> None:
            assert found == len(wanted) and y.tolist() == [*wanted, *[77] * (length - len(wanted))]

        runner.run(runner.compiled(kept_beside, x, y, given), [x, y, given], same)


def test_a_short_row_is_read_where_it_has_just_been_stored_to() -> None:
    """Of loops of a few iterations dependences are not asked for, so that they carry their counters one by one."""
    source = (
        "def f(a: lw.Array[lw.f64, 2], y: lw.Array[lw.f64]):\n    k = 0\n    m = lw.min(a.shape[1], 6)\n    for i in range(a.shape[0]):\n"
        "        for j in range(m):\n            a[i, j] = 7.0\n            y[k] = a[i, 1]\n            k += 1\n"
    )
    space: dict[str, Any] = {"lw": lw}
    exec(source, space)  # noqa: S102 (the source above)
    a = np.arange(18.0).reshape(6, 3)
    b, y, z = a.copy(), np.zeros(18), np.zeros(18)
    lw.kernel(source=source)(space["f"])(a, y)
    space["f"](b, z)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(y, z)
