"""Machine code written by hand, for tests of what calls it."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable

import pytest

from loopwright.runtime import cpu, memory
from loopwright.types import F32, Type

#: mov [rax + disp32], reg for System V's integer argument registers.
_STORE = ("4889b8", "4889b0", "488990", "488988", "4c8980", "4c8988")


class Recorder:
    """A function of any signature that writes down what it is passed.

    Attributes:
        block: its code.
        values: after a call, 8 bytes for each argument.
    """

    def __init__(self, types: list[Type], returned: bytes = b"") -> None:
        self.types = types
        self.values = (ctypes.c_uint64 * max(len(types), 1))()
        code = bytearray(b"\x48\xb8" + struct.pack("<Q", ctypes.addressof(self.values)))  # movabs rax, imm64
        integers = floats = stack = 0
        for k, type_ in enumerate(types):
            if type_.is_float and floats < 8:
                # movsd / movss [rax + disp32], xmm
                code += bytes((0xF3 if type_ is F32 else 0xF2, 0x0F, 0x11, 0x80 | floats << 3)) + struct.pack("<i", 8 * k)
                floats += 1
            elif not type_.is_float and integers < 6:
                code += bytes.fromhex(_STORE[integers]) + struct.pack("<i", 8 * k)
                integers += 1
            else:
                code += bytes.fromhex("4c8b9424") + struct.pack("<i", 8 + 8 * stack)  # mov r10, [rsp + disp32]
                code += bytes.fromhex("4c8990") + struct.pack("<i", 8 * k)  # mov [rax + disp32], r10
                stack += 1
        self.block = memory.allocate(bytes(code) + returned + b"\xc3")

    def seen(self) -> list[int | float]:
        """What was passed, read as its type."""
        out: list[int | float] = []
        for type_, raw in zip(self.types, self.values, strict=False):
            data = raw.to_bytes(8, "little")
            if type_.is_float:
                out.append(struct.unpack("<f", data[:4])[0] if type_ is F32 else struct.unpack("<d", data)[0])
            else:
                out.append(int.from_bytes(data[: type_.bits // 8], "little", signed=type_.signed))
        return out


@pytest.fixture
def recorder() -> Callable[..., Recorder]:
    """Makes a ``Recorder``."""
    if not cpu.is_x86_64():
        pytest.skip("needs x86-64")
    return Recorder
