"""Dot products of bytes and of 16-bit numbers: four or two to a 32-bit lane, where the machine has that, and right on every one, also where sums would saturate."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners, with_features

import loopwright as lw
from loopwright.compiler import compile
from loopwright.ir import ops
from loopwright.ir.parse import parse
from loopwright.ir.verify import verify
from loopwright.targets import registry
from loopwright.types import Type, parse_type, vector_of

BYTES = [(lw.u8, lw.i8), (lw.i8, lw.u8), (lw.i8, lw.i8), (lw.u8, lw.u8)]
PAIRS = [*BYTES, (lw.i16, lw.i16), (lw.i16, lw.u8)]
MACHINES = [*runners(lambda runner: runner.widest), *with_features("avx512_vnni"), *with_features("avx_vnni"), *with_features("asimddp")]


@lw.kernel
def products(x: lw.Array, y: lw.Array, start: lw.Const) -> lw.i64:
    total = start(5)
    for i in lw.range(len(x)):
        total += start(lw.i32(x[i]) * lw.i32(y[i]))
    return lw.i64(total)


@lw.kernel
def some(x: lw.Array, y: lw.Array, start: lw.Const) -> lw.i64:
    total = start(5)
    for i in lw.lanes(len(x)):
        if x[i] > 3:
            total -= lw.mul_wide(lw.i16(x[i]), lw.i16(y[i]))
    return lw.i64(total)


def wrapped(bits: int, value: int) -> int:
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def of(kernel: Any, x: list[int], y: list[int], bits: int) -> int:
    if kernel is products:
        return wrapped(bits, 5 + sum(wrapped(32, a * b) for a, b in zip(x, y, strict=True)))
    return wrapped(bits, 5 - sum(a * b for a, b in zip(x, y, strict=True) if a > 3))


def arguments(t: Any, u: Any, n: int) -> list[tuple[Any, Any]]:
    """Random numbers, and the ends of both types, whose sums of two are more than 16 bits hold."""
    dice = np.random.default_rng(n)
    ends = [(np.iinfo(each.dtype).min, np.iinfo(each.dtype).max) for each in (t, u)]
    made = [tuple(dice.integers(low, high, n, endpoint=True).astype(each.dtype) for each, (low, high) in zip((t, u), ends, strict=True))]
    for a, b in itertools.product(*ends):
        made.append((np.full(n, a, t.dtype), np.full(n, b, u.dtype)))
    return made


@pytest.mark.parametrize("runner", MACHINES)
@pytest.mark.parametrize("kernel", [products, some], ids=lambda kernel: str(kernel.__name__))
def test_they_are_what_the_plain_loop_adds_up(runner: Runner, kernel: Any) -> None:
    for (t, u), total in itertools.product(PAIRS, [lw.i32, lw.i64]):
        code = runner.compiled(kernel, lw.Array[t], lw.Array[u], start=total)
        for n in (0, 3, 16, 77, 300, 1000):
            for x, y in arguments(t, u, n):
                want = of(kernel, x.tolist(), y.tolist(), total.bits)
                runner.run(code, [x, y], agreeing(f"{kernel.__name__} of {n} {t} and {u} in {total}", want))


def agreeing(name: str, want: int) -> Any:
    def check(got: Any) -> None:
        assert got == want, name

    return check


@pytest.mark.parametrize(
    ("target", "types", "instruction"),
    [
        ("x86-64-v4+avx512_vnni", (lw.u8, lw.i8), "vpdpbusd zmm"),
        ("x86-64-v4+avx512_vnni", (lw.i8, lw.u8), "vpdpbusd zmm"),
        ("x86-64-v4+avx512_vnni", (lw.i8, lw.i8), "vpdpbusd zmm"),
        ("x86-64-v4+avx512_vnni", (lw.u8, lw.u8), "vpdpbusd zmm"),
        ("x86-64-v4+avx512_vnni", (lw.i16, lw.i16), "vpdpwssd zmm"),
        ("x86-64-v3+avx_vnni", (lw.u8, lw.i8), "vpdpbusd ymm"),
        ("x86-64-v3+avx_vnni", (lw.i16, lw.i16), "vpdpwssd ymm"),
        ("x86-64-v3", (lw.u8, lw.i8), "vpmaddwd ymm"),
        ("aarch64-neon+asimddp", (lw.u8, lw.u8), "udot v"),
        ("aarch64-neon+asimddp", (lw.i8, lw.i8), "sdot v"),
        ("aarch64-neon+asimddp", (lw.u8, lw.i8), "sdot v"),
        ("aarch64-neon", (lw.i8, lw.i8), "saddlp v"),
    ],
)
def test_what_the_machine_has_for_them_is_used(target: str, types: tuple[Any, Any], instruction: str) -> None:
    text = products.compile(*[lw.Array[t] for t in types], start=lw.i32, target=target).asm()
    assert instruction in text
    # It saturates.
    assert "vpmaddubsw" not in text


def test_unsigned_times_signed_is_one_instruction_for_each_vector_of_bytes() -> None:
    text = products.compile(lw.Array[lw.u8], lw.Array[lw.i8], start=lw.i32, target="x86-64-v4+avx512_vnni").asm()
    assert re.search(r"vmovups (zmm\d+), .*\n.*vpdpbusd zmm\d+, \1, zmmword ptr", text)


def text(op: ops.Op, t: Type, s: Type) -> str:
    return f"""
        function f(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %out: ptr, %out.n0: i64)
          array x: {s.element.name}[%x.n0] at %x
          array y: {s.element.name}[%y.n0] at %y
          array out: {t.element.name}[%out.n0] at %out written
          %a = load.{s.name} x[0]
          %b = load.{s.name} y[0]
          %c = load.{t.name} out[0]
          %d = {op.name}.{t.name}.{s.name} %a, %b, %c
          store.{t.name} %d, out[0]
        end
        """


@pytest.mark.parametrize("runner", MACHINES)
def test_the_operations_add_what_takes_the_place_of_a_lane(runner: Runner) -> None:
    for bits in (128, 256, 512):
        if bits > runner.bits:
            continue
        for op, narrow in [(ops.DOT_ADD, lw.i8), (ops.DOT_ADD, lw.u8), (ops.DOT_ADD, lw.i16), (ops.DOT_MIXED_ADD, lw.i8), (ops.DOT_MIXED_ADD, lw.u8)]:
            s = vector_of(parse_type(narrow.name), bits // narrow.bits)
            for wide in ("i32", "u32"):
                t = vector_of(parse_type(wide), bits // 32)
                code = compile(parse(text(op, t, s)), runner.target)
                for x, y in arguments(s.element, s.element, s.lanes):
                    out = np.random.default_rng(1).integers(0, 1 << 32, t.lanes, dtype=np.uint64).astype(t.element.dtype)
                    assert op.meaning is not None
                    with np.errstate(over="ignore"):
                        want = op.meaning(t, s, x, y, out)
                    runner.run(code, [x, y, out], filled(f"{op} {t} {s}", out, want))


def filled(name: str, out: Any, want: Any) -> Any:
    def check(_: Any) -> None:
        assert out.tolist() == want.tolist(), name

    return check


def test_the_operations_mean_sums_that_wrap() -> None:
    t, s = vector_of(parse_type("i32"), 1), vector_of(parse_type("i8"), 4)
    assert ops.DOT_ADD.meaning is not None and ops.DOT_MIXED_ADD.meaning is not None
    a, b, c = np.array([-1, -128, 2, 3], np.int8), np.array([-1, 127, 5, -7], np.int8), np.array([2**31 - 1], np.int32)
    with np.errstate(over="ignore"):
        assert ops.DOT_ADD.meaning(t, s, a, b, c).tolist() == [wrapped(32, 2**31 - 1 + 1 - 128 * 127 + 10 - 21)]
        assert ops.DOT_MIXED_ADD.meaning(t, s, a, b, c).tolist() == [wrapped(32, 2**31 - 1 - 255 + 128 * 127 + 10 - 21)]


def test_a_loop_may_add_them_to_its_accumulator() -> None:
    f = products.compile(lw.Array[lw.u8], lw.Array[lw.i8], start=lw.i32, target="x86-64-v4+avx512_vnni")
    verify(parse(f.ir("vectorize")))
    assert "dot_mixed_add.i32x16.i8x64" in f.ir("vectorize")


def test_optional_features_are_part_of_a_target_s_name() -> None:
    target = registry.get("x86-64-v4+pclmulqdq+avx512_vnni")
    assert target.name == "x86-64-v4+avx512_vnni+pclmulqdq"
    assert {"avx512f", "avx512_vnni", "pclmulqdq"} <= target.features
    with pytest.raises(lw.TargetError, match=r"x86-64-v3 may be followed by \+avx_vnni, \+pclmulqdq, \+vpclmulqdq, not by \+amx"):
        registry.get("x86-64-v3+amx")
    with pytest.raises(lw.TargetError, match=r"rv64gc has no optional features"):
        registry.get("rv64gc+v")


def test_what_this_cpu_has_of_them_is_used_by_itself() -> None:
    features = registry.get("x86-64-v4").features
    assert registry.best_with_features(features | {"avx512_vnni"}) == "x86-64-v4+avx512_vnni"
    assert registry.best_with_features(features) == "x86-64-v4"
    assert registry.best_with_features(frozenset()) is None
