"""Copying and filling memory of any size, overlapping as it may: what LLVM IR takes to be there."""

from __future__ import annotations

import pytest

import loopwright as lw

TEXT = """
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define i64 @run(i64 %kind, i64 %to, i64 %from, i64 %n) {
  %memory = alloca [1600 x i8]
  br label %fill
fill:
  %i = phi i64 [ 0, %0 ], [ %next, %fill ]
  %p = getelementptr i8, ptr %memory, i64 %i
  %m = mul i64 %i, 37
  %b = trunc i64 %m to i8
  store i8 %b, ptr %p
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 1600
  br i1 %more, label %fill, label %choose
choose:
  %a = getelementptr i8, ptr %memory, i64 %to
  %c = getelementptr i8, ptr %memory, i64 %from
  switch i64 %kind, label %set [ i64 0, label %move
    i64 1, label %copy ]
move:
  call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %c, i64 %n, i1 false)
  br label %sum
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %c, i64 %n, i1 false)
  br label %sum
set:
  %byte = trunc i64 %from to i8
  call void @llvm.memset.p0.i64(ptr %a, i8 %byte, i64 %n, i1 false)
  br label %sum
sum:
  %k = phi i64 [ 0, %move ], [ 0, %copy ], [ 0, %set ], [ %k1, %sum ]
  %h = phi i64 [ 7, %move ], [ 7, %copy ], [ 7, %set ], [ %h2, %sum ]
  %q = getelementptr i8, ptr %memory, i64 %k
  %v = load i8, ptr %q
  %z = zext i8 %v to i64
  %h1 = mul i64 %h, 1000003
  %h2 = add i64 %h1, %z
  %k1 = add i64 %k, 1
  %end = icmp eq i64 %k1, 1600
  br i1 %end, label %out, label %sum
out:
  ret i64 %h2
}
"""


def expected(kind: int, to: int, start: int, n: int) -> int:
    memory = bytearray(k * 37 & 255 for k in range(1600))
    memory[to : to + n] = bytes([start & 255]) * n if kind == 2 else memory[start : start + n]
    h = 7
    for byte in memory:
        h = h * 1000003 + byte & 2**64 - 1
    return h - 2**64 if h >> 63 else h


SIZES = [*range(36), 63, 64, 65, 95, 97, 100, 128, 199, 256, 257, 390, 511, 700]
CASES = [
    *((0, to, start, n) for to, start in ((0, 3), (3, 0), (10, 10), (0, 33), (33, 0), (100, 68), (68, 100), (800, 0), (1, 0), (700, 100)) for n in SIZES),
    *((1, to, start, n) for to, start in ((0, 800), (801, 0)) for n in SIZES),
    *((2, to, byte, n) for to, byte in ((0, 255), (13, 0x80), (4, 1)) for n in SIZES),
]


def test_in_process() -> None:
    program = lw.from_llvm(TEXT).compile()
    assert "xmm" in program["__loopwright_memcpy"].asm() and "xmm" in program["__loopwright_memset"].asm()
    for case in CASES:
        assert program.run(*case) == expected(*case), case


@pytest.mark.parametrize("target", ["aarch64-neon", "rv64gc"])
def test_for_other_machines(target: str) -> None:
    program = lw.from_llvm(TEXT).compile(target=target)
    for case in CASES[:: len(CASES) // 13]:
        assert program.run.emulate(*case) == expected(*case), case
