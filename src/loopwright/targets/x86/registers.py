"""Registers of x86-64: numbers for the allocator, codes for the encoder, names for people.

Two numberings are in use. A *physical register number* is dense and counts only what may be allocated; it is what
instructions of the intermediate representation hold after allocation. A *code* is what the machine's encodings hold
(Intel SDM volume 2, table 2-8): ``CODES[number]`` turns the first into the second.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.target import Register

#: Register classes, by their number among the target's. Without AVX-512 there are no mask registers, and masks are vectors.
INTS: Final = 0
VECTORS: Final = 1
MASKS: Final = 2

# Physical register numbers.
RAX: Final = 0
RCX: Final = 1
RDX: Final = 2
RBX: Final = 3
RBP: Final = 4
RSI: Final = 5
RDI: Final = 6
R8: Final = 7
R9: Final = 8
R10: Final = 9
R11: Final = 10
R12: Final = 11
R13: Final = 12
R14: Final = 13
R15: Final = 14
#: The first vector register (zmm0); zmm<n> is ``ZMM0 + n``.
ZMM0: Final = 15
#: The first mask register (k0); k<n> is ``K0 + n``. As a writemask, k0's code means "all lanes", so it is never allocated.
K0: Final = 47
#: The stack pointer: never allocated, but it can be the base of an address.
RSP: Final = 62

_INT_NAMES: Final = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15")
_INT_NAMES_32: Final = ("eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d")
_INT_NAMES_16: Final = ("ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w")
_INT_NAMES_8: Final = ("al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b")

#: Every allocatable register, by physical register number.
REGISTERS: Final[list[Register]] = (
    [Register(_INT_NAMES[code], INTS, code) for code in (0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)]
    + [Register(f"zmm{code}", VECTORS, code) for code in range(32)]
    + [Register(f"k{code}", MASKS, code) for code in range(8)]
)

#: The encoding's code of each physical register number (``RSP`` included).
CODES: Final[list[int]] = [r.code for r in REGISTERS] + [0] * (RSP - len(REGISTERS)) + [4]


def int_name(code: int, bits: int) -> str:
    """The name of an integer register's low ``bits`` bits: ``int_name(0, 32)`` is ``eax``."""
    if bits == 64:
        return _INT_NAMES[code]
    if bits == 32:
        return _INT_NAMES_32[code]
    if bits == 16:
        return _INT_NAMES_16[code]
    return _INT_NAMES_8[code]


def vector_name(code: int, bits: int) -> str:
    """The name of a vector register's low ``bits`` bits: ``vector_name(3, 256)`` is ``ymm3``."""
    return f"{'x' if bits == 128 else 'y' if bits == 256 else 'z'}mm{code}"


def register_name(number: int, bits: int) -> str:
    """The name of a physical register number's low ``bits`` bits."""
    if number == RSP:
        return int_name(4, bits)
    register = REGISTERS[number]
    if register.cls == INTS:
        return int_name(register.code, bits)
    if register.cls == VECTORS:
        return vector_name(register.code, max(bits, 128))
    return register.name
