"""Calling conventions of x86-64.

System V: *System V Application Binary Interface, AMD64 Architecture Processor Supplement*, version 1.0, section 3.2.
Win64: Microsoft, *x64 calling convention* and *x64 software conventions*.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.target import Convention
from loopwright.targets.x86.registers import R8, R9, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, ZMM0
from loopwright.types import BOOL, I8, I16, U8, U16, U32, Type


def _mask(*registers: int) -> int:
    bits = 0
    for r in registers:
        bits |= 1 << r
    return bits


#: Neither document says that a value narrower than its register is extended (System V: of a bool, bits 1 to 7 are zero, 3.2.3; Win64: "the
#: callee can ignore the upper bits"); registers hold narrow integers extended to 32 bits and u32 extended to 64.
_UNEXTENDED: Final[frozenset[Type]] = frozenset((BOOL, I8, U8, I16, U16, U32))

#: Section 3.2.1 and figure 3.4: rbx, rbp, r12 to r15 belong to the caller; no vector register does.
SYSV: Final = Convention(
    "sysv",
    int_args=(RDI, RSI, RDX, RCX, R8, R9),
    float_args=tuple(ZMM0 + n for n in range(8)),
    int_result=RAX,
    float_result=ZMM0,
    callee_saved=_mask(RBX, RBP, R12, R13, R14, R15),
    unextended=_UNEXTENDED,
    int_results=(RAX, RDX),
    float_results=tuple(ZMM0 + n for n in range(4)),
    whole=True,
)

#: Four argument positions shared by both classes, 32 bytes of shadow space; rbx, rbp, rdi, rsi, r12 to r15 and the low
#: 16 bytes of xmm6 to xmm15 belong to the caller.
WIN64: Final = Convention(
    "win64",
    int_args=(RCX, RDX, R8, R9),
    float_args=tuple(ZMM0 + n for n in range(4)),
    int_result=RAX,
    float_result=ZMM0,
    callee_saved=_mask(RBX, RBP, RDI, RSI, R12, R13, R14, R15, *(ZMM0 + n for n in range(6, 16))),
    shared_positions=True,
    shadow=32,
    partly_saved=_mask(*(ZMM0 + n for n in range(6, 16))),
    part_saved=16,
    unextended=_UNEXTENDED,
    int_results=(RAX, RDX),
    float_results=tuple(ZMM0 + n for n in range(4)),
)

CONVENTIONS: Final[dict[str, Convention]] = {"sysv": SYSV, "win64": WIN64}

#: Caller-saved registers first: they cost nothing. rax and rdx late among them, because division wants them.
_INT_ORDER: Final = (RCX, RSI, RDI, R8, R9, 9, 10, RAX, RDX, RBX, R14, R15, R12, R13, RBP)
_INT_ORDER_WIN64: Final = (RCX, R8, R9, 9, 10, RAX, RDX, RBX, RSI, RDI, R14, R15, R12, R13, RBP)


def int_order(convention: Convention) -> tuple[int, ...]:
    """Allocation order of the integer registers."""
    return _INT_ORDER_WIN64 if convention is WIN64 else _INT_ORDER


def vector_order(convention: Convention, count: int) -> tuple[int, ...]:
    """Allocation order of the first ``count`` vector registers: the low ones, whose encodings are shorter, before the high
    ones; under Win64 those that belong to the caller last."""
    order = [*range(6), *range(16, count), *range(6, 16)] if convention is WIN64 else list(range(count))
    return tuple(ZMM0 + n for n in order)
