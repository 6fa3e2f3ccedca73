"""The entry code of ``targets/start.py`` for x86-64, System V convention, on a PC without an operating system (``runtime/bochs.py``).

Registers that hold no arguments and need not be preserved hold rubbish at each call, as does what is above the arguments in vector registers.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.start import FLOAT_RESULT, FLOATS, FUNCTION, INT_RESULT, INTS, Start
from loopwright.targets.x86.assembler import ALWAYS, EQUAL, LESS_EQUAL, NO_REGISTER, NOT_EQUAL, Assembler, M, lookup

__all__ = ["entry"]

# Codes of registers.
_RAX: Final = 0
_RCX: Final = 1
_RDX: Final = 2
_RBX: Final = 3
_RSP: Final = 4
_RBP: Final = 5
_RSI: Final = 6
_RDI: Final = 7
_R9: Final = 9
_R10: Final = 10
_R11: Final = 11

#: In the order in which integers are passed (System V ABI, 3.2.3).
_INT_ARGUMENTS: Final = (_RDI, _RSI, _RDX, _RCX, 8, _R9)
#: What is callee-saved, besides rbx and rbp.
_KEPT: Final = (12, 13, 14, 15)
_RUBBISH: Final = 0xA5C3_9687_E1D2_B4F0

#: Where the ROM under Bochs has programs end (``runtime/bochs.py``, which cannot be imported from here; the tests compare).
EXIT: Final = 0xFFFF_0140


class _Assembler:
    """What the program in ``targets/start.py`` is written with, on top of the machine's assembler."""

    __slots__ = ("_assembler", "_labels", "encode", "ins")

    def __init__(self) -> None:
        self._assembler = Assembler()
        self._labels = 0
        self.ins = self._assembler.ins
        self.encode = self._assembler.encode

    def new_label(self) -> int:
        self._labels += 1
        return self._labels

    def bind(self, label: int) -> None:
        self._assembler.label(label)

    def jump(self, label: int) -> None:
        self._assembler.jump(ALWAYS, label)

    def branch(self, condition: int, label: int) -> None:
        self._assembler.jump(condition, label)

    def load_immediate(self, to: int, value: int) -> None:
        self.ins(lookup("MOVABS", "r64,imm64"), to, value)


class _Start(Start):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_Assembler(), _RSP, _RDI, _RAX, _RBX, _RBP, (_R10, _R11, _R9))

    def load(self, to: int, base: int, offset: int) -> None:
        self.asm.ins(lookup("MOV", "r64,m64"), to, M(base, NO_REGISTER, 1, offset))

    def store(self, of: int, base: int, offset: int) -> None:
        self.asm.ins(lookup("MOV", "m64,r64"), M(base, NO_REGISTER, 1, offset), of)

    def add(self, to: int, a: int, b: int) -> None:
        self.asm.ins(lookup("LEA", "r64,m"), to, M(a, b, 1, 0) if b != _RSP else M(b, a, 1, 0))

    def subtract(self, to: int, a: int, b: int) -> None:
        if to != a:
            self.advance(to, a, 0)
        self.asm.ins(lookup("SUB", "r64,r64"), to, b)

    def advance(self, to: int, of: int, by: int) -> None:
        self.asm.ins(lookup("LEA", "r64,m"), to, M(of, NO_REGISTER, 1, by))

    def branch_zero(self, of: int, label: int) -> None:
        self.asm.ins(lookup("TEST", "r64,r64"), of, of)
        self.asm.branch(EQUAL, label)

    def branch_none(self, of: int, label: int) -> None:
        self.asm.ins(lookup("TEST", "r64,r64"), of, of)
        self.asm.branch(LESS_EQUAL, label)

    def exit(self) -> None:
        self.advance(_RAX, _RDI, 0)
        self.asm.load_immediate(_R11, EXIT)
        self.asm.ins(lookup("CALL", "r64"), _R11)

    def fill(self) -> None:
        asm = self.asm
        asm.load_immediate(_RAX, _RUBBISH)
        for code in range(32):
            asm.ins(lookup("VPBROADCASTQ", "zmm,r64"), code, _RAX)
        for k in range(8):
            asm.ins(lookup("KMOVQ", "k,r64"), k, _RAX)
        for k in range(8):
            self.load(_R11, self.at, FLOATS + 8 * k)
            asm.ins(lookup("VMOVQ", "xmm,r64"), k, _R11)
        for place, code in enumerate(_INT_ARGUMENTS):
            self.load(code, self.at, INTS + 8 * place)
        self.advance(self.top, _RSP, 0)
        for code in _KEPT:
            self.advance(code, self.at, code)

    def call(self) -> None:
        asm = self.asm
        asm.load_immediate(_R10, _RUBBISH)
        self.load(_R11, self.at, FUNCTION)
        asm.ins(lookup("CALL", "r64"), _R11)

    def compare(self, broken: int) -> None:
        asm = self.asm
        known = self.scratch[0]
        asm.ins(lookup("CMP", "r64,r64"), _RSP, self.top)
        asm.branch(NOT_EQUAL, broken)
        for code in _KEPT:
            self.advance(known, self.at, code)
            asm.ins(lookup("CMP", "r64,r64"), known, code)
            asm.branch(NOT_EQUAL, broken)

    def store_results(self) -> None:
        self.store(_RAX, self.at, INT_RESULT)
        self.asm.ins(lookup("VMOVQ", "m64,xmm"), M(self.at, NO_REGISTER, 1, FLOAT_RESULT), 0)


def entry(records: int, count: int, regions: int, region_count: int) -> bytes:
    """The code of ``_start`` (``Start.entry``)."""
    return _Start().entry(records, count, regions, region_count)
