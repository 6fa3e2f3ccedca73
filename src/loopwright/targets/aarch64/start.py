"""The entry code of ``targets/start.py`` for AArch64.

Registers that hold no arguments and need not be preserved hold rubbish at each call, as does what is above the arguments in vector registers.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.aarch64 import instructions as i
from loopwright.targets.aarch64.assembler import LSL, Assembler
from loopwright.targets.aarch64.registers import SP
from loopwright.targets.start import FLOAT_RESULT, FLOATS, FUNCTION, INT_RESULT, INTS, Start

__all__ = ["entry"]

#: Besides x19 and x20: x18, which belongs to the platform, and what is callee-saved.
_KEPT: Final = (18, *range(21, 30))
_KEPT_FLOATS: Final = tuple(range(8, 16))
_RUBBISH: Final = 0xA5C3_9687_E1D2_B4F0


class _Start(Start):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Assembler(), SP, 0, 8, 19, 20, (9, 10, 11))

    def load(self, to: int, base: int, offset: int) -> None:
        self.asm.emit(i.LDR["x"], to, base, offset)

    def store(self, of: int, base: int, offset: int) -> None:
        self.asm.emit(i.STR["x"], of, base, offset)

    def add(self, to: int, a: int, b: int) -> None:
        self.asm.emit(i.ADD_UXTX, to, a, b, 0)

    def subtract(self, to: int, a: int, b: int) -> None:
        self.asm.emit(i.SUB_UXTX, to, a, b, 0)

    def advance(self, to: int, of: int, by: int) -> None:
        self.asm.add_immediate(to, of, by)

    def branch_zero(self, of: int, label: int) -> None:
        self.asm.branch(i.CBZ["x"], label, of)

    def branch_none(self, of: int, label: int) -> None:
        self.asm.branch(i.CBZ["x"], label, of)
        self.asm.branch(i.TBNZ, label, of, 63)

    def system_call(self) -> None:
        self.asm.emit(i.SVC, 0)

    def fill(self) -> None:
        asm = self.asm
        asm.load_immediate(8, _RUBBISH)
        for code in range(32):
            asm.emit(i.DUP["2d"], code, 8)
        for code in (*range(9, 16), 17):
            asm.emit(i.EOR_IMM["x"], code, 8, 1 << code)
        for k in range(8):
            self.load(k, self.at, INTS + 8 * k)
            self.load(16, self.at, FLOATS + 8 * k)
            asm.emit(i.INS["d"], k, 0, 16)
        self.advance(self.top, SP, 0)
        for code in _KEPT:
            self.advance(code, self.at, code)
        for code in _KEPT_FLOATS:
            self.advance(16, self.at, 64 + code)
            asm.emit(i.INS["d"], code, 0, 16)

    def call(self) -> None:
        self.load(16, self.at, FUNCTION)
        self.asm.emit(i.BLR, 16)

    def compare(self, broken: int) -> None:
        """All differences together."""
        asm = self.asm
        differ, known, found = self.scratch
        self.advance(differ, SP, 0)
        asm.emit(i.EOR["x"], differ, differ, self.top, LSL, 0)
        for code in _KEPT:
            self.advance(known, self.at, code)
            asm.emit(i.EOR["x"], known, known, code, LSL, 0)
            asm.emit(i.ORR["x"], differ, differ, known, LSL, 0)
        for code in _KEPT_FLOATS:
            self.advance(known, self.at, 64 + code)
            asm.emit(i.FMOV_TO_INT["x.d"], found, code)
            asm.emit(i.EOR["x"], known, known, found, LSL, 0)
            asm.emit(i.ORR["x"], differ, differ, known, LSL, 0)
        asm.branch(i.CBNZ["x"], broken, differ)

    def store_results(self) -> None:
        self.store(0, self.at, INT_RESULT)
        self.asm.emit(i.STR_V["d"], 0, self.at, FLOAT_RESULT)


def entry(records: int, count: int, regions: int, region_count: int) -> bytes:
    """The code of ``_start`` (``Start.entry``)."""
    return _Start().entry(records, count, regions, region_count)
