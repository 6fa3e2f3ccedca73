"""The bridge to Windows's convention, which tests of generated code use, and code compiled for that convention through it."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import pytest

from loopwright.compiler import compile
from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.parse import parse
from loopwright.runtime import cpu, memory
from loopwright.runtime.native import NativeFunction
from loopwright.targets import registry
from loopwright.types import F64, I64, VOID, Type

MIXES = [[], [I64] * 3, [F64] * 4, [I64, F64, I64, F64, I64, F64], [F64] * 12, [I64] * 9, [F64, I64] * 8]


@pytest.mark.parametrize("types", MIXES, ids=lambda t: " ".join(map(str, t)))
def test_arguments_arrive_by_position(win64_bridge: Callable[..., Any], types: list[Type]) -> None:
    values = (ctypes.c_uint64 * 20)()
    code = bytearray(b"\x48\xb8" + struct.pack("<Q", ctypes.addressof(values)))  # movabs rax, imm64
    for k, type_ in enumerate(types):
        if k >= 4:
            code += bytes.fromhex("4c8b9424") + struct.pack("<i", 40 + 8 * (k - 4)) + bytes.fromhex("4c8990") + struct.pack("<i", 8 * k)  # through r10
        elif type_ is F64:
            code += bytes((0xF2, 0x0F, 0x11, 0x80 | k << 3)) + struct.pack("<i", 8 * k)
        else:
            code += bytes.fromhex(("488988", "488990", "4c8980", "4c8988")[k]) + struct.pack("<i", 8 * k)
    callee = memory.allocate(bytes(code) + b"\xc3")
    bridge = win64_bridge(types, callee.address)
    passed = [float(k) + 0.5 if t is F64 else -k for k, t in enumerate(types)]
    NativeFunction(bridge.block, types, VOID)(*passed)
    seen = [struct.unpack("<d" if t is F64 else "<q", v.to_bytes(8, "little"))[0] for t, v in zip(types, values, strict=False)]
    assert seen == passed
    assert bridge.changed == 0


@pytest.mark.parametrize("code", ["31ff", "31f6", "0f57f6", "450f57ff"], ids=["rdi", "rsi", "xmm6", "xmm15"])
def test_a_register_that_is_not_preserved_is_noticed(win64_bridge: Callable[..., Any], code: str) -> None:
    callee = memory.allocate(bytes.fromhex(code) + b"\xc3")
    bridge = win64_bridge([], callee.address)
    NativeFunction(bridge.block, [], VOID)()
    assert bridge.changed != 0


@pytest.mark.skipif(not cpu.LEVELS["x86-64-v3"] <= cpu.host_features(), reason="needs AVX2")
@pytest.mark.parametrize("types", [t for t in MIXES if t], ids=lambda t: " ".join(map(str, t)))
def test_code_compiled_for_windows_runs(win64_bridge: Callable[..., Any], types: list[Type]) -> None:
    # The sum of all arguments of the first one's type, each counted as often as its position.
    f = Function("sum", types[0])
    parameters = [f.param(t, f"p{k}") for k, t in enumerate(types)]
    total = f.const(types[0], 0)
    for k, (register, type_) in enumerate(zip(parameters, types, strict=True)):
        if type_ is types[0]:
            for _ in range(k + 1):
                more = f.register(type_)
                f.code.append(Instr(ops.ADD, type_, more, [total, register]))
                total = more
    f.code.append(Instr(ops.RET, types[0], NONE, [total]))
    compiled = compile(f, registry.get("x86-64-v3", convention="win64"))
    block = memory.allocate(compiled.machine.data)
    bridge = win64_bridge(types, block.address)
    passed = [float(k + 2) if t is F64 else k + 2 for k, t in enumerate(types)]
    assert NativeFunction(bridge.block, types, types[0])(*passed) == sum(
        (k + 1) * v for k, (v, t) in enumerate(zip(passed, types, strict=True)) if t is types[0]
    )
    assert bridge.changed == 0


@pytest.mark.skipif(not cpu.LEVELS["x86-64-v3"] <= cpu.host_features(), reason="needs AVX2")
def test_floats_of_a_variable_number_are_in_both_registers(win64_bridge: Callable[..., Any]) -> None:
    """Microsoft, x64 calling convention, "Varargs"; the named ones are in vector registers only."""
    values = (ctypes.c_uint64 * 6)()
    code = bytearray(b"\x48\xb8" + struct.pack("<Q", ctypes.addressof(values)))  # movabs rax, imm64
    code += bytes.fromhex("488908488950084c8940104c894818")  # mov [rax], rcx; [rax+8], rdx; [rax+16], r8; [rax+24], r9
    code += bytes.fromhex("f20f114820f20f115828")  # movsd [rax+32], xmm1; [rax+40], xmm3
    callee = memory.allocate(bytes(code) + b"\xc3")
    f = parse(
        """
function calls(%a: i64, %x: f64, %b: i64, %y: f64)
  callee seen(i64, f64, ..., i64, f64)
  call_void #0(%a, %x, %b, %y)
  ret
end
"""
    )
    f.callees[0].address = callee.address
    compiled = compile(f, registry.get("x86-64-v3", convention="win64"))
    block = memory.allocate(compiled.machine.data)
    bridge = win64_bridge([I64, F64, I64, F64], block.address)
    NativeFunction(bridge.block, [I64, F64, I64, F64], VOID)(7, 1.5, 9, 2.25)
    assert (values[0], values[2]) == (7, 9)
    assert [struct.unpack("<d", values[n].to_bytes(8, "little"))[0] for n in (3, 4, 5)] == [2.25, 1.5, 2.25]
    assert bridge.changed == 0
