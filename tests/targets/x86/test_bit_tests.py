"""Tests of bits: with constants that no instruction has room for, where registers are few."""

from __future__ import annotations

import ctypes

import pytest

import loopwright as lw

WIDE = -8155771417414353133


@pytest.mark.parametrize("count", [4, 12, 20])
def test_wide_constants_under_pressure(count: int) -> None:
    lines = ["function f(%p: ptr) -> i64", "  var %s: i64"]
    lines += [f"  %v{k} = load_at.i64 [%p + {8 * k}]" for k in range(count)]
    lines += [f"  %s = add.i64 %v0, {WIDE}"]
    for k in range(count):
        lines += [f"  %a{k} = and.i64 %v{k}, {WIDE}", f"  %c{k} = ne.i64 %a{k}, 0", f"  if %c{k}", f"    %s = add.i64 %s, {k + 1}", "  end"]
    lines += [f"  %s = add.i64 %s, %v{k}" for k in range(count)]
    module = lw.Module.parse("\n".join([*lines, "  ret %s", "end"]))
    values = [(1 << k) | (1 << 3 * k % 62) for k in range(count)]
    memory = (ctypes.c_int64 * count)(*values)
    total = values[0] + WIDE + sum(values) + sum(k + 1 for k, value in enumerate(values) if value & WIDE)
    assert module.compile().f(ctypes.addressof(memory)) == total
