"""``lw.crc32c``: the kernel's view of the operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.machines import Runner, runners

import loopwright as lw
from loopwright.errors import KernelTypeError


@lw.kernel
def checksum(data: lw.Array[lw.u8]) -> lw.u32:
    """Eight bytes a step would be quicker; this takes any length."""
    crc = lw.u32(0xFFFFFFFF)
    for i in lw.range(len(data)):
        crc = lw.crc32c(crc, data[i])
    return ~crc


@lw.kernel
def by_lanes(data: lw.Array[lw.u8], out: lw.Array[lw.u32]):
    for i in lw.lanes(len(data)):
        out[i] = lw.crc32c(0, data[i])


@lw.kernel
def of_signed(data: lw.Array[lw.i32]) -> lw.u32:
    return lw.crc32c(0, data[0])


def test_the_check_value_of_the_definition() -> None:
    assert checksum(np.frombuffer(b"123456789", np.uint8)) == 0xE3069283


def test_python_numbers_give_the_same() -> None:
    crc = np.uint32(0xFFFFFFFF)
    for byte in b"123456789":
        crc = lw.crc32c(crc, np.uint8(byte))
    assert ~crc & 0xFFFFFFFF == 0xE3069283


def test_the_data_is_read_by_the_instruction_itself() -> None:
    assert "crc32 eax, byte ptr [rdi+rcx]" in checksum.compile(target="x86-64-v3").asm()


def test_it_has_no_lanes() -> None:
    with pytest.raises(KernelTypeError, match=r"lw\.range"):
        by_lanes.compile(target="x86-64-v3")


def test_the_width_of_the_data_must_be_said() -> None:
    with pytest.raises(KernelTypeError, match="u8, u16, u32 or u64, not i32"):
        of_signed.compile(target="x86-64-v3")
    with pytest.raises(KernelTypeError, match="not int"):
        lw.crc32c(0, 1)


@lw.kernel
def words(narrow: lw.Array[lw.u32], wide: lw.Array[lw.u64], out: lw.Array[lw.u32]):
    crc = lw.u32(7)
    for i in lw.range(len(narrow)):
        crc = lw.crc32c(lw.crc32c(crc, narrow[i]), wide[i])
        out[i] = crc


def test_a_machine_without_it_computes_it_bit_by_bit() -> None:
    random = np.random.default_rng(3)
    narrow, wide = random.integers(0, 1 << 32, 50, np.uint32), random.integers(0, 1 << 64, 50, np.uint64)
    expected = np.zeros(50, np.uint32)
    words(narrow, wide, expected)
    found = np.zeros(50, np.uint32)
    words.compile(target="rv64gc").emulate(narrow, wide, found)
    assert (found == expected).all()
    assert checksum.compile(target="rv64gc").emulate(np.frombuffer(b"123456789", np.uint8)) == 0xE3069283


@lw.kernel
def of_any(data: lw.Array, out: lw.Array[lw.u32]):
    crc = lw.u32(0xFFFFFFFF)
    for i in lw.range(len(data)):
        crc = lw.crc32c(crc, data[i])
    out[0] = ~crc


@pytest.mark.parametrize("runner", runners(lambda runner: runner.widest))
def test_data_of_any_width_is_its_bytes(runner: Runner) -> None:
    data = np.frombuffer(b"12345678" * 5, np.uint8)
    for type_ in (lw.u8, lw.u16, lw.u32, lw.u64):
        out = np.zeros(1, np.uint32)
        runner.run(runner.compiled(of_any, lw.Array[type_], lw.Array[lw.u32]), [data.view(type_.dtype), out], agreeing(out, int(checksum(data))))


def agreeing(out: np.ndarray, want: int) -> Callable[[Any], None]:
    def check(_: Any) -> None:
        assert out[0] == want

    return check
