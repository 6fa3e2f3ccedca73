"""RISC-V among the machines (see ``targets/machine.py``)."""

from __future__ import annotations

from typing import Final

from loopwright.targets.machine import Emulator, Level, Machine
from loopwright.targets.target import Target

__all__ = ["MACHINE"]


def _make(name: str, vector_bits: int, convention: str, tuning: frozenset[str]) -> Target:
    from loopwright.targets.riscv.target import rv64gc

    return rv64gc()


MACHINE: Final = Machine(
    "rv64",
    {"rv64gc": Level("RISC-V RV64GC, scalar (cross-compiled; runs under QEMU's user mode)")},
    ("lp64d",),
    _make,
    # EM_RISCV; RVC and the double-float ABI (RISC-V ELF psABI, "File Header").
    emulator=Emulator(("qemu-riscv64", "qemu-riscv64-static"), "loopwright.targets.riscv.start", elf_machine=243, elf_flags=0x5),
)
