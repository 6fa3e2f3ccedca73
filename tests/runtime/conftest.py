"""Machine code written by hand, for tests of what calls it."""

from __future__ import annotations

import ctypes
import struct
import sys
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


class Win64Bridge:
    """A function with System V's convention that calls one with Windows's, so that ctypes can reach it here.

    Attributes:
        block: its code.
        changed: not 0 when the function called has changed rdi, rsi or xmm6 to xmm15, which it must preserve there.
    """

    def __init__(self, types: list[Type], address: int) -> None:
        self._changed = ctypes.c_uint64(0)
        count = len(types)
        outgoing = 32 + 8 * max(0, count - 4)
        code = bytearray.fromhex("554889e5")  # push rbp; mov rbp, rsp
        code += bytes.fromhex("4881ec") + struct.pack("<i", -(-(outgoing + 8 * count) // 16) * 16)  # sub rsp, imm32
        integers = floats = stack = 0
        # Everything into slots above the outgoing area …
        for k, type_ in enumerate(types):
            slot = struct.pack("<i", outgoing + 8 * k)
            if type_.is_float and floats < 8:
                code += bytes((0xF2, 0x0F, 0x11, 0x84 | floats << 3, 0x24)) + slot  # movsd [rsp + disp32], xmm
                floats += 1
                continue
            if not type_.is_float and integers < 6:
                code += bytes.fromhex(("4889bc24", "4889b424", "48899424", "48898c24", "4c898424", "4c898c24")[integers]) + slot  # mov [rsp + disp32], reg
                integers += 1
                continue
            code += bytes.fromhex("488b85") + struct.pack("<i", 16 + 8 * stack)  # mov rax, [rbp + disp32]
            code += bytes.fromhex("48898424") + slot  # mov [rsp + disp32], rax
            stack += 1
        # … and from there to where Windows wants it: by position, whichever class it is of.
        for k, type_ in enumerate(types):
            slot = struct.pack("<i", outgoing + 8 * k)
            if k >= 4:
                code += bytes.fromhex("488b8424") + slot  # mov rax, [rsp + disp32]
                code += bytes.fromhex("48898424") + struct.pack("<i", 32 + 8 * (k - 4))  # mov [rsp + disp32], rax
            elif type_.is_float:
                code += bytes((0xF2, 0x0F, 0x10, 0x84 | k << 3, 0x24)) + slot  # movsd xmm<k>, [rsp + disp32]
            else:
                code += bytes.fromhex(("488b8c24", "488b9424", "4c8b8424", "4c8b8c24")[k]) + slot  # mov reg, [rsp + disp32]
        code += bytes.fromhex("48c7c755555555 48c7c655555555")  # mov rdi, 0x55555555; mov rsi, 0x55555555
        for register in range(6, 16):
            code += _sse("76", register, register)  # pcmpeqd xmm, xmm: all ones
        code += b"\x48\xb8" + struct.pack("<Q", address) + b"\xff\xd0"  # movabs rax, imm64; call rax
        code += bytes.fromhex("4881f755555555 4881f655555555 4989fb 4909f3")  # xor rdi, …; xor rsi, …; mov r11, rdi; or r11, rsi
        code += _sse("76", 5, 5)
        for register in range(6, 16):
            code += _sse("74", register, 5)  # pcmpeqb xmm, xmm5
            code += bytes((0x66, 0x41 if register >= 8 else 0x40, 0x0F, 0xD7, 0xC8 | register & 7))  # pmovmskb ecx, xmm
            code += bytes.fromhex("81f1ffff0000 4109cb")  # xor ecx, 0xffff; or r11d, ecx
        code += b"\x49\xba" + struct.pack("<Q", ctypes.addressof(self._changed)) + bytes.fromhex("4d091a")  # movabs r10, imm64; or [r10], r11
        code += bytes.fromhex("c9c3")  # leave; ret
        self.block = memory.allocate(bytes(code))

    @property
    def changed(self) -> int:
        return self._changed.value


def _sse(opcode: str, destination: int, source: int) -> bytes:
    """66 REX 0F opcode /r with two xmm registers."""
    return bytes((0x66, 0x40 | (destination >= 8) << 2 | (source >= 8), 0x0F, int(opcode, 16), 0xC0 | (destination & 7) << 3 | source & 7))


@pytest.fixture
def win64_bridge() -> Callable[..., Win64Bridge]:
    """Makes a ``Win64Bridge``."""
    if not cpu.is_x86_64() or sys.platform == "win32":
        pytest.skip("needs x86-64 and System V's convention")
    return Win64Bridge


@pytest.fixture
def recorder() -> Callable[..., Recorder]:
    """Makes a ``Recorder``."""
    if not cpu.is_x86_64():
        pytest.skip("needs x86-64")
    return Recorder
