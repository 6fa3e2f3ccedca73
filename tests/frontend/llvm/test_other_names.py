"""A loop's variable that is read under another name once its next value is made keeps the value that it had."""

from __future__ import annotations

import pytest

import loopwright as lw

LOOP = """
define i64 @f(i64 %a, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ %n, %entry ], [ %j, %loop ]
  %x = phi i64 [ %a, %entry ], [ %q, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  {name}
  %q = udiv i64 %z, 10
  %m = mul i64 %q, 10
  %r = sub i64 %z, %m
  %t = add i64 %s, %r
  %j = add i64 %i, -1
  %c = icmp ugt i64 %i, 1
  br i1 %c, label %loop, label %out
out:
  ret i64 %t
}}
declare i64 @llvm.expect.i64(i64, i64)
"""
NAMES = {
    "freeze": "%z = freeze i64 %x",
    "bitcast": "%z = bitcast i64 %x to i64",
    "a float's bits": "%d = bitcast i64 %x to double\n  %z = bitcast double %d to i64",
    "expect": "%z = call i64 @llvm.expect.i64(i64 %x, i64 3)",
    "a structure's element": "%u = insertvalue {i64, i64} undef, i64 %x, 0\n  %z = extractvalue {i64, i64} %u, 0",
    "a vector's element": "%v = insertelement <2 x i64> undef, i64 %x, i32 0\n  %z = extractelement <2 x i64> %v, i32 0",
    "an address": "%p = inttoptr i64 %x to i8*\n  %z = ptrtoint i8* %p to i64",
    "a wide integer": "%k = sext i64 %x to i65\n  %z = trunc i65 %k to i64",
    "a sum with 0": "%z = add i64 %x, 0",
    "two of them": "%y = freeze i64 %x\n  %z = freeze i64 %y",
}

POINTERS = """
define i64 @g(i64* %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %n, %entry ], [ %j, %loop ]
  %a = phi i64* [ %p, %entry ], [ %next, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  %b = bitcast i64* %a to i32*
  %next = getelementptr i64, i64* %a, i64 1
  %low = load i32, i32* %b
  %wide = zext i32 %low to i64
  %ten = mul i64 %s, 10
  %t = add i64 %ten, %wide
  %j = add i64 %i, -1
  %c = icmp ugt i64 %i, 1
  br i1 %c, label %loop, label %out
out:
  ret i64 %t
}
"""


@pytest.mark.parametrize("name", NAMES)
def test_the_old_value(name: str) -> None:
    module = lw.from_llvm(LOOP.format(name=NAMES[name]))
    assert module.interpret("f", 1234, 4) == 10
    assert module.compile().f(1234, 4) == 10


def test_the_old_address() -> None:
    import numpy as np

    numbers = np.array([4, 3, 2, 1])
    module = lw.from_llvm(POINTERS)
    assert module.compile().g(numbers.ctypes.data, 4) == 4321
