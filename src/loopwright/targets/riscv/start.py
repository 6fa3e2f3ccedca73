"""The entry code of ``targets/start.py`` for RISC-V."""

from __future__ import annotations

from typing import Final

from loopwright.targets.riscv import instructions as i
from loopwright.targets.riscv.assembler import Assembler
from loopwright.targets.riscv.registers import FLOAT_NAMES, INT_NAMES, RA, SP, ZERO
from loopwright.targets.start import FLOAT_RESULT, FLOATS, FUNCTION, INT_RESULT, INTS, Start

__all__ = ["entry"]


def _x(name: str) -> int:
    return INT_NAMES.index(name)


_A0: Final = _x("a0")
#: Callee-saved, besides s0 and s1.
_KEPT: Final = tuple([_x(f"s{k}") for k in range(2, 12)])
_KEPT_FLOATS: Final = tuple([FLOAT_NAMES.index(f"fs{k}") for k in range(12)])


class _Start(Start):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Assembler(compressed=False), SP, _A0, _x("a7"), _x("s0"), _x("s1"), (_x("t0"), _x("t1"), _x("t2")))

    def load(self, to: int, base: int, offset: int) -> None:
        self.asm.emit(i.LD, to, offset, base)

    def store(self, of: int, base: int, offset: int) -> None:
        self.asm.emit(i.SD, of, offset, base)

    def add(self, to: int, a: int, b: int) -> None:
        self.asm.emit(i.ADD, to, a, b)

    def subtract(self, to: int, a: int, b: int) -> None:
        self.asm.emit(i.SUB, to, a, b)

    def advance(self, to: int, of: int, by: int) -> None:
        self.asm.emit(i.ADDI, to, of, by)

    def branch_zero(self, of: int, label: int) -> None:
        self.asm.branch(i.BEQ, of, ZERO, label)

    def branch_none(self, of: int, label: int) -> None:
        self.asm.branch(i.BGE, ZERO, of, label)

    def system_call(self) -> None:
        self.asm.emit(i.ECALL)

    def fill(self) -> None:
        for k in range(8):
            self.load(_A0 + k, self.at, INTS + 8 * k)
            self.asm.emit(i.FLD, FLOAT_NAMES.index(f"fa{k}"), FLOATS + 8 * k, self.at)
        self.advance(self.top, SP, 0)
        for code in _KEPT:
            self.advance(code, self.at, code)
        known = self.scratch[0]
        for code in _KEPT_FLOATS:
            self.advance(known, self.at, 64 + code)
            self.asm.emit(i.FMV_D_X, code, known)

    def call(self) -> None:
        function = self.scratch[0]
        self.load(function, self.at, FUNCTION)
        self.asm.emit(i.JALR, RA, 0, function)

    def compare(self, broken: int) -> None:
        known, found, _ = self.scratch
        self.asm.branch(i.BNE, SP, self.top, broken)
        for code in _KEPT:
            self.advance(known, self.at, code)
            self.asm.branch(i.BNE, code, known, broken)
        for code in _KEPT_FLOATS:
            self.advance(known, self.at, 64 + code)
            self.asm.emit(i.FMV_X_D, found, code)
            self.asm.branch(i.BNE, known, found, broken)

    def store_results(self) -> None:
        self.store(_A0, self.at, INT_RESULT)
        self.asm.emit(i.FSD, FLOAT_NAMES.index("fa0"), FLOAT_RESULT, self.at)


def entry(records: int, count: int, regions: int, region_count: int) -> bytes:
    """The code of ``_start`` (``Start.entry``)."""
    return _Start().entry(records, count, regions, region_count)
