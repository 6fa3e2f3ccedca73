"""What the code must look like, whatever it computes: clean upper halves, one branch an iteration, short jumps, aligned heads."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import pytest

import loopwright as lw

LEVELS = [("x86-64-v3", 256), ("x86-64-v4", 256), ("x86-64-v4", 512)]
JUMP = re.compile(r"^j(\w+) 0x([0-9a-f]+)$")


@ctypes.CFUNCTYPE(None, ctypes.c_int64)
def tell(_number: int) -> None:
    pass


@lw.kernel
def scale(x: lw.Array, a: lw.f32):
    for i in lw.lanes(len(x)):
        x[i] = x[i] * a


@lw.kernel
def scale_rows(x: lw.Array[lw.f32, 2], a: lw.f32):
    for y in lw.range(x.shape[0]):
        lw.call(tell, y)
        for i in lw.lanes(x.shape[1]):
            x[y, i] = x[y, i] * a


@lw.kernel
def total(x: lw.Array) -> lw.f32:
    s = lw.f32(0)
    for i in lw.lanes(len(x)):
        s += x[i]
    return s


@lw.kernel
def early(x: lw.Array, n: lw.i64) -> lw.i64:
    if n < 0:
        return -1
    for i in lw.lanes(len(x)):
        x[i] = x[i] + 1
    return n


@lw.kernel
def scalar(x: lw.Array, n: lw.i64) -> lw.f64:
    s = lw.f64(0)
    for i in lw.range(n):
        lw.call(tell, i)
        s += x[i] * 0.5
    return s


@lw.kernel
def scalar_total(x: lw.Array, n: lw.i64) -> lw.f64:
    s = lw.f64(0)
    for i in lw.range(n):
        s += x[i] * 0.5
    return s


@lw.kernel(nests="off")
def sort(x: lw.Array):
    n = len(x)
    for i in lw.range(n):
        for k in lw.range(i + 1, n):
            if x[k] < x[i]:
                t = x[k]
                x[k] = x[i]
                x[i] = t


@lw.kernel
def search(x: lw.Array, v: lw.i32) -> lw.i64:
    lo = lw.i64(0)
    hi = len(x)
    while lo < hi:
        middle = (lo + hi) // 2
        if x[middle] < v:
            lo = middle + 1
        else:
            hi = middle
    return lo


@lw.kernel
def blur(a: lw.Array[lw.f32, 2], b: lw.Array[lw.f32, 2]):
    for y in lw.range(1, a.shape[0] - 1):
        for x in lw.lanes(1, a.shape[1] - 1):
            b[y, x] = (a[y - 1, x] + a[y, x - 1] + a[y, x + 1] + a[y + 1, x]) * lw.f32(0.25)


def listing(kernel: Any, *types: Any, level: tuple[str, int]) -> list[tuple[int, bytes, str]]:
    """(offset, bytes, text) of each instruction."""
    code = kernel.compile(*types, target=level[0], vector_bits=level[1])
    return [(offset, data, text) for offset, data, text, _ in code.compiled.listing()]


def texts(rows: list[tuple[int, bytes, str]]) -> list[str]:
    return [text for _, _, text in rows]


def loops(rows: list[tuple[int, bytes, str]]) -> list[tuple[int, int]]:
    """(index of the first instruction, index of the branch back) of each loop."""
    at = {offset: n for n, (offset, _, _) in enumerate(rows)}
    found = []
    for n, (offset, _, text) in enumerate(rows):
        jump = JUMP.match(text)
        if jump and int(jump[2], 16) <= offset:
            found.append((at[int(jump[2], 16)], n))
    return found


def innermost(rows: list[tuple[int, bytes, str]]) -> list[tuple[int, int]]:
    every = loops(rows)
    return [(a, b) for a, b in every if not any((c, d) != (a, b) and a <= c and d <= b for c, d in every)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("kernel", "types"),
    [(scale, [lw.Array[lw.f32], lw.f32]), (total, [lw.Array[lw.f32]]), (early, [lw.Array[lw.f32], lw.i64]), (scale_rows, [])],
    ids=lambda k: getattr(k, "__name__", ""),
)
def test_upper_halves_are_cleared_before_every_return_and_call(kernel: Any, types: list[Any], level: tuple[str, int]) -> None:
    lines = texts(listing(kernel, *types, level=level))
    assert any("ymm" in line or "zmm" in line for line in lines)
    # Nothing between the clearing and the return or call writes a vector of more than 128 bits.
    clean = False
    checked = 0
    for line in lines:
        if line == "vzeroupper":
            clean = True
        elif line == "ret" or line.startswith("call"):
            assert clean, "\n".join(lines)
            checked += 1
            clean = False
        elif "ymm" in line or "zmm" in line or line.startswith("j"):
            clean = False
    assert checked >= (2 if kernel is scale_rows else 1)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("kernel", "types"), [(scalar, [lw.Array[lw.f64], lw.i64]), (sort, [lw.Array[lw.i32]])], ids=lambda k: getattr(k, "__name__", ""))
def test_nothing_is_cleared_that_was_not_used(kernel: Any, types: list[Any], level: tuple[str, int]) -> None:
    assert "vzeroupper" not in texts(listing(kernel, *types, level=level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("kernel", "types"),
    [(scale, [lw.Array[lw.f32], lw.f32]), (total, [lw.Array[lw.f32]]), (blur, []), (scalar_total, [lw.Array[lw.f64], lw.i64])],
    ids=lambda k: getattr(k, "__name__", ""),
)
def test_a_loop_without_conditions_has_one_branch_an_iteration(kernel: Any, types: list[Any], level: tuple[str, int]) -> None:
    rows = listing(kernel, *types, level=level)
    found = innermost(rows)
    assert found
    for first, last in found:
        assert [text for text in texts(rows)[first : last + 1] if text.startswith("j")] == [rows[last][2]]
        assert not rows[last][2].startswith("jmp"), "the branch back is the condition itself"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("kernel", "types"), [(sort, [lw.Array[lw.i32]]), (search, [lw.Array[lw.i32], lw.i32]), (blur, [])], ids=lambda k: getattr(k, "__name__", "")
)
def test_no_loop_jumps_back_unconditionally(kernel: Any, types: list[Any], level: tuple[str, int]) -> None:
    rows = listing(kernel, *types, level=level)
    assert loops(rows)
    for _, last in innermost(rows):
        assert not rows[last][2].startswith("jmp")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("kernel", "types"),
    [(scale, [lw.Array[lw.f32], lw.f32]), (total, [lw.Array[lw.f32]]), (blur, []), (sort, [lw.Array[lw.i32]]), (search, [lw.Array[lw.i32], lw.i32])],
    ids=lambda k: getattr(k, "__name__", ""),
)
def test_heads_of_innermost_loops_are_aligned(kernel: Any, types: list[Any], level: tuple[str, int]) -> None:
    rows = listing(kernel, *types, level=level)
    found = innermost(rows)
    assert found
    for first, _ in found:
        assert rows[first][0] % 32 == 0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("kernel", "types"), [(blur, []), (sort, [lw.Array[lw.i32]]), (early, [lw.Array[lw.f32], lw.i64])], ids=lambda k: getattr(k, "__name__", "")
)
def test_jumps_that_reach_are_short(kernel: Any, types: list[Any], level: tuple[str, int]) -> None:
    rows = listing(kernel, *types, level=level)
    jumps = 0
    for offset, data, text in rows:
        jump = JUMP.match(text)
        if jump:
            jumps += 1
            # A jump that would reach, if it were short, is; but for those that grew while another was being placed.
            distance = int(jump[2], 16) - (offset + len(data))
            assert len(data) == 2 or not -120 <= distance <= 120, f"{text} at {offset:#x}"
    assert jumps


def test_conditions_are_tested_where_they_are_made() -> None:
    # A comparison that decides a branch needs no bool: no setcc, no test of one.
    for kernel, types in ((sort, [lw.Array[lw.i32]]), (sort, [lw.Array[lw.f32]]), (search, [lw.Array[lw.i32], lw.i32])):
        lines = texts(listing(kernel, *types, level=LEVELS[0]))
        assert not [line for line in lines if line.startswith("set") or (line.startswith("test") and not re.match(r"test (\w+), \1$", line))]


@lw.kernel
def on_the_stack(n: lw.i64) -> lw.i64:
    one = lw.local(lw.u8, 3)
    two = lw.local(lw.f64, 9)
    one[n] = 1
    two[n] = 2
    return lw.i64(one[n]) + lw.i64(two[n])


def test_each_local_array_is_aligned_once() -> None:
    lines = texts(listing(on_the_stack, level=LEVELS[0]))
    assert sum(line.startswith("and r") for line in lines) == 2


@lw.kernel(nests="off")
def looked_up(k: lw.Array, t: lw.Array[lw.f64], y: lw.Array[lw.f64]):
    for i in lw.range(len(k)):
        y[i] = t[k[i]]


@pytest.mark.parametrize(("type_", "load"), [("u8", "movzx"), ("u16", "movzx"), ("i8", "movsx"), ("i16", "movsx")])
def test_narrow_indices_are_extended_as_they_are_loaded(type_: str, load: str) -> None:
    text = looked_up.compile(lw.Array[getattr(lw, type_)], lw.Array[lw.f64], lw.Array[lw.f64], target="x86-64-v3").asm()
    assert len(re.findall(rf" {load} ", text)) == 1
    assert not re.search(r"mov (e\w\w|r\d+d), (e\w\w|r\d+d)$|movsxd", text, re.MULTILINE)
