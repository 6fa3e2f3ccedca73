"""The reload pass: what is in memory anyway is loaded again instead of being spilled, where that gives the same."""

from __future__ import annotations

import numpy as np
import pytest
from tests.passes.texts import rewritten

import loopwright as lw
from loopwright.passes import reload
from loopwright.targets import registry

HEAD = "function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %i: i64)\n  array x: f32[%x.n0] at %x\n  array y: f32[%y.n0] at %y written\n  var %p: ptr\n"
TARGET = registry.get("x86-64-v3")
#: One more than there are registers, and one for the sum.
COUNT = 17


def loads(count: int = COUNT, base: str = "%x", array: str = "{of x}") -> list[str]:
    return [f"%{20 + k} = load_at.f32x8 [{base} + %i*4 + {4 * k}]{array}" for k in range(count)]


def sums(count: int = COUNT, first: int = 0) -> list[str]:
    """Adds them up, in the order in which they were loaded."""
    return [f"%{60 + first + k} = add.f32x8 %{59 + first + k if k or first else 20}, %{20 + k}" for k in range(count)]


def made(lines: list[str]) -> list[str]:
    return rewritten(HEAD + "\n".join(lines) + "\nend", reload, target=TARGET).splitlines()


def same(lines: list[str]) -> bool:
    return made(lines) == rewritten(HEAD + "\n".join(lines) + "\nend", target=TARGET).splitlines()


def store(value: int, at: str = "%y + %i*4", array: str = "{of y}") -> str:
    return f"store_at.f32x8 %{value}, [{at}]{array}"


def loaded(lines: list[str]) -> int:
    return sum("load_at" in line for line in lines)


def test_what_is_used_last_is_loaded_late() -> None:
    lines = [*loads(), *sums(), store(59 + COUNT)]
    found = made(lines)
    # As many loads as before, for each value is used once; some of them later.
    assert loaded(found) == COUNT
    at = [k for k, line in enumerate(found) if "add" in line]
    assert any("load_at" in line for line in found[at[0] : at[-1]])


def test_what_has_room_stays() -> None:
    lines = [*loads(12), *sums(12), store(71)]
    assert same(lines)


def test_what_is_used_twice_is_loaded_twice() -> None:
    found = made([*loads(), *sums(), *sums(first=COUNT), store(59 + 2 * COUNT)])
    assert loaded(found) > COUNT


@pytest.mark.parametrize(
    "change", ["store_at.f32x8 %20, [%x + %i*4]{of x}", "store_at.f32x8 %20, [%y + %i*4]{of y}", "%i.2 = add.i64 %i, 1\n%40 = call.i64 @g(%i.2)"]
)
def test_nothing_is_loaded_behind_what_may_change_it(change: str) -> None:
    if "call" in change:
        change = "store_at.f32x8 %20, [%p]"
    lines = ["%p = copy.ptr %y", *loads(), change, *sums(), store(59 + COUNT)]
    assert same(lines)


def test_an_address_that_moves_on_is_the_old_one() -> None:
    moving = ["%p = address.ptr [%x + %i*4]"]
    lines = [*moving, *[line.replace("%x + %i*4", "%p") for line in loads()], "%p = address.ptr [%p + 4]", *sums(), store(59 + COUNT, "%p", "")]
    assert same(lines)


def test_what_is_used_behind_the_stretch_is_there() -> None:
    lines = [*loads(), *sums(), "%90 = lt.i64 %i, 5", "if %90", store(59 + COUNT), "else", store(20), "end"]
    found = made(lines)
    # Both the value of the first load and the sum are made in front of the branch.
    first = next(line.split(" ")[0] for line in found if "[%x_1 + %i_2*4]{of x}" in line or "[%x" in line)
    assert sum(line.startswith("store") and f" {first}," in line for line in found) == 1


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64-neon", "rv64gc"])
def test_a_kernel_that_loads_all_at_first_spills_nothing(target: str) -> None:
    @lw.kernel
    def products(x: lw.Array[lw.f32], y: lw.Array[lw.f32], count: lw.Const):
        for i in lw.lanes(len(y) - count):
            values = [x[i + k] for k in range(count)]
            total = values[0] * values[count - 1]
            for k in range(count):
                total = total + values[k] * values[count - 1 - k]
            y[i] = total

    code = products.compile(count=34, target=target)
    # Of the main loop: loads under a mask, of what is left over, stay where they are.
    text = code.ir("allocate")
    main = text.partition("lane_mask")[0]
    assert main.count("fma") >= 33
    assert not [line for line in main.splitlines() if "@s" in line and not line.startswith("  slot ")]


def test_the_results_are_the_same() -> None:
    @lw.kernel
    def median(x: lw.Array[lw.f32, 2], y: lw.Array[lw.f32, 2]):
        for i in lw.range(y.shape[0]):
            for j in lw.lanes(y.shape[1]):
                v = [x[i + a, j + b] for a in range(5) for b in range(5)]
                for k in range(13):
                    for m in range(k + 1, 25):
                        low = lw.min(v[k], v[m])
                        v[m] = lw.max(v[k], v[m])
                        v[k] = low
                y[i, j] = v[12]

    x = np.random.default_rng(1).random((30, 70)).astype(np.float32)
    y = np.zeros((26, 66), np.float32)
    median(x, y)
    windows = np.lib.stride_tricks.sliding_window_view(x, (5, 5)).reshape(26, 66, 25)
    assert (y == np.median(windows, axis=2).astype(np.float32)).all()
