"""Code for x86-64 under Bochs: the ROM is what its text says, faults are found, output comes back."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.compiler import compile
from loopwright.errors import InternalError
from loopwright.ir.function import Function
from loopwright.ir.text import parse
from loopwright.runtime import bochs, elf, emulate
from loopwright.runtime.code import Code
from loopwright.targets import registry
from loopwright.targets.x86 import start

needs_bochs = pytest.mark.skipif(not emulate.available("x86-64-v4"), reason="bochs is not installed (Debian packages bochs and bochs-term)")


@pytest.mark.skipif(shutil.which("as") is None or shutil.which("objcopy") is None, reason="binutils are not installed")
@pytest.mark.parametrize("place", [place for place, _, _ in bochs.ROM])
def test_the_rom_is_what_an_assembler_makes_of_its_text(place: int, tmp_path: Path) -> None:
    bits, instructions = next((bits, code) for at, bits, code in bochs.ROM if at == place)
    source, made, flat = tmp_path / "rom.s", tmp_path / "rom.o", tmp_path / "rom"
    lines = [f".code{bits}", f".org {place:#x}"]
    lines += [text for text, _ in instructions]
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["as", "--64", "-o", made, source], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", made, flat], check=True)
    assert flat.read_bytes()[place:].hex(" ") == " ".join(encoded for _, encoded in instructions)


def test_pieces_of_the_rom_do_not_overlap() -> None:
    behind = 0
    for place, _, instructions in bochs.ROM:
        assert place >= behind
        behind = place + sum(len(bytes.fromhex(encoded)) for _, encoded in instructions)
        assert not place < 0x1C0 < behind
    assert behind <= 0x10000


def test_programs_end_where_the_rom_says() -> None:
    assert start.EXIT == bochs.EXIT


@lw.kernel
def scaled(x: lw.Array[lw.f32], y: lw.Array[lw.f32], a: lw.f32) -> lw.f32:
    total = lw.f32(0)
    for i in lw.lanes(len(x)):
        y[i] = x[i] * a
        total += x[i]
    return total


def _code(kernel: Any, *args: Any) -> Any:
    return kernel.compile(*args, target="x86-64-v4")


@needs_bochs
@pytest.mark.parametrize("count", [0, 1, 17, 1000, 700_001])
def test_arrays_come_back(count: int) -> None:
    x, y = np.arange(count, dtype=np.float32) % 64, np.zeros(count, np.float32)
    total = _code(scaled).emulate(x, y, 3.0)
    assert (y == 3 * x).all()
    assert total == pytest.approx(x.sum(dtype=np.float64), rel=1e-3)


def _function(body: str) -> Function:
    return parse(f"function f(%x: ptr, %x.n0: i64)\n  array x: i64[%x.n0] at %x written\n{body}end\n")


@needs_bochs
@pytest.mark.parametrize("place", [4, 100_000])
def test_what_lies_behind_an_array_is_not_there(place: int) -> None:
    code = Code(compile(_function(f"  store.i64 1, x[{place}]\n"), registry.get("x86-64-v4")))
    with pytest.raises(InternalError, match="died"):
        code.emulate(np.zeros(4, np.int64))


@needs_bochs
def test_a_program_without_end_is_stopped() -> None:
    code = compile(parse("function f()\n  loop\n    br 0\n  end\nend\n"), registry.get("x86-64-v4"))
    with pytest.raises(TimeoutError):
        emulate.run(code, timeout=1)


@needs_bochs
def test_what_died_says_where() -> None:
    # Behind nop, ud2 (SDM volume 2, UD: 0F 0B).
    code = elf.Segment(0x1_0000, bytes.fromhex("90 0f 0b"), elf.READ | elf.EXECUTE)
    emulator = registry.machines()["x86"].emulator
    assert emulator is not None
    status, _, said = bochs.execute(str(shutil.which("bochs")), emulator, 0x1_0000, [code], [], 20)
    assert status < 0
    assert said.endswith(", at 0x10001")
