"""Assemblers that are not ours: LLVM's (inside llvmlite) and the GNU assembler.

Each instruction is assembled at a multiple of 16 bytes, the rest filled with ``FILL``, so that one run yields the bytes of all.
"""

from __future__ import annotations

import importlib.util
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

SLOT = 16
#: What fills the rest of a slot.
FILL = 0xCC

# LLVM ends the process when the text has an error, hence a process of its own.
_LLVM = r"""
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
llvm.initialize_native_asmparser()
source, target = sys.argv[1:]
triple = "x86_64-unknown-linux-gnu"
text = open(source).read()
module = llvm.parse_assembly('target triple = "%s"\n%s' % (triple, "\n".join('module asm "%s"' % line for line in text.split("\n"))))
machine = llvm.Target.from_triple(triple).create_target_machine(cpu="sapphirerapids", features="+avxvnni")
open(target, "wb").write(machine.emit_object(module))
"""


def _missing(name: str) -> str:
    """Why the assembler cannot be used here, or ""."""
    if name == "binutils":
        if shutil.which("as") is None:
            return "needs the GNU assembler (Debian package binutils)"
        version = subprocess.run(["as", "--version"], capture_output=True, text=True, check=False).stdout
        if "GNU" not in version or "x86_64" not in version:
            return "the assembler called as is not GNU's for x86-64"
    elif importlib.util.find_spec("llvmlite") is None:
        return "needs llvmlite, whose LLVM contains an assembler"
    return ""


@pytest.fixture(params=["llvm", "binutils"])
def assemble(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[list[str]], list[bytes]]:
    """A function from lines in Intel syntax to their bytes, each filled up with ``FILL`` to 16; once with each assembler."""
    name: str = request.param
    why = _missing(name)
    if why:
        pytest.skip(why)
    return lambda lines: _assemble(name, lines, tmp_path)


def _assemble(name: str, lines: list[str], directory: Path) -> list[bytes]:
    """The bytes of each line as one slot of ``SLOT`` bytes. A line that is refused fails the test with the assembler's messages."""
    text = [".intel_syntax noprefix", ".text"]
    for line in lines:
        text.append(line)
        text.append(f".balign {SLOT}, {FILL}")
    section = _section_of(name, "\n".join(text) + "\n", directory)
    assert len(section) >= len(lines) * SLOT - SLOT
    section += bytes([FILL]) * SLOT
    return [section[i * SLOT : i * SLOT + SLOT] for i in range(len(lines))]


def machine_code(text: str) -> bytes:
    """The .text section of an assembly source. Skips the test where there is no assembler."""
    name = "binutils" if _missing("llvm") else "llvm"
    why = _missing(name)
    if why:
        pytest.skip(why)
    with tempfile.TemporaryDirectory() as directory:
        return _section_of(name, text, Path(directory))


@pytest.fixture(params=["llvm", "binutils"])
def assemble_object(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], bytes]:
    """A function from an assembly source to an object file; once with each assembler."""
    name: str = request.param
    why = _missing(name)
    if why:
        pytest.skip(why)
    return lambda text: _object_of(name, text, tmp_path)


def _section_of(name: str, text: str, directory: Path) -> bytes:
    return text_section(_object_of(name, text, directory))


def _object_of(name: str, text: str, directory: Path) -> bytes:
    source = directory / f"{name}.s"
    target = directory / f"{name}.o"
    source.write_text(text)
    command = ["as", "--64", "-o", str(target), str(source)] if name == "binutils" else [sys.executable, "-c", _LLVM, str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or "rror" in done.stderr:
        pytest.fail(f"{name} refuses our text:\n" + "\n".join(done.stderr.splitlines()[:60]))
    return target.read_bytes()


def text_section(elf: bytes) -> bytes:
    """The .text section of a 64-bit ELF object file."""
    assert elf[:5] == b"\x7fELF\x02"
    (headers,) = struct.unpack_from("<Q", elf, 0x28)
    entry, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", elf, headers + i * entry) for i in range(count)]
    base = sections[names][4]
    for name, _, _, _, offset, size in sections:
        end = elf.index(b"\0", base + name)
        if elf[base + name : end] == b".text":
            return elf[offset : offset + size]
    raise AssertionError("no .text section")
