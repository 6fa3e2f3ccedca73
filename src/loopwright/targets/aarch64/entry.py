"""AArch64 among the machines (see ``targets/machine.py``)."""

from __future__ import annotations

from typing import Final

from loopwright.targets.machine import Emulator, Level, Machine
from loopwright.targets.target import Target

__all__ = ["MACHINE"]


def _make(name: str, vector_bits: int, convention: str, tuning: frozenset[str]) -> Target:
    from loopwright.targets.aarch64.target import AArch64

    return AArch64(name)


MACHINE: Final = Machine(
    "aarch64",
    {"aarch64-neon": Level("AArch64 with Advanced SIMD (128-bit vectors; cross-compiled; runs under QEMU's user mode)", (128,), ("asimddp", "asimdhp"))},
    ("aapcs64",),
    _make,
    # EM_AARCH64 (ELF for the Arm 64-bit Architecture, "ELF Header").
    emulator=Emulator(("qemu-aarch64", "qemu-aarch64-static"), "loopwright.targets.aarch64.start", elf_machine=183),
)
