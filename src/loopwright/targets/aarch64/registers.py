"""AArch64 registers: the allocatable ones by dense number, their names, codes and order.

Not numbered, because never allocated:

* ``sp`` and ``xzr``: both have the code 31, and the instruction says which of them it means (Arm ARM, B1.2.1);
* ``x16`` and ``x17``: the assembler's scratch registers, as the procedure call standard has them for a linker's veneers (AAPCS64, 6.1.1);
* ``x18``: the platform register, which code for any platform leaves alone;
* ``x30``: the link register; every call destroys it and every return needs it.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.target import Register

__all__ = ["CODES", "INTS", "INT_ORDER", "LR", "REGISTERS", "SCRATCH", "SCRATCH2", "SP", "VECTORS", "VECTOR_ORDER", "ZR", "int_name", "number"]

#: Register classes, by their number among the target's.
INTS: Final = 0
VECTORS: Final = 1

# Machine codes of what is not allocated.
SCRATCH: Final = 16
SCRATCH2: Final = 17
LR: Final = 30
#: Where an instruction takes the stack pointer.
SP: Final = 31
#: Where it takes the zero register.
ZR: Final = 31

#: Codes of the integer registers that may be allocated.
_INTS: Final = (*range(16), *range(19, 30))

#: By dense number: x0 to x15, x19 to x29, then v0 to v31.
REGISTERS: Final[list[Register]] = [Register(f"x{code}", INTS, code) for code in _INTS] + [Register(f"v{code}", VECTORS, code) for code in range(32)]

#: Machine codes by dense number.
CODES: Final[list[int]] = [register.code for register in REGISTERS]

_number_of: Final[dict[str, int]] = {register.name: n for n, register in enumerate(REGISTERS)}


def number(name: str) -> int:
    """The dense number of a register by its name."""
    return _number_of[name]


def _numbers(names: str) -> tuple[int, ...]:
    return tuple(_number_of[name] for name in names.split())


#: Caller-saved before callee-saved (AAPCS64, 6.1.1); in the first part, those that hold no arguments first.
INT_ORDER: Final[tuple[int, ...]] = _numbers("x8 x9 x10 x11 x12 x13 x14 x15 x7 x6 x5 x4 x3 x2 x1 x0 x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29")
#: The same for vectors (AAPCS64, 6.1.2); of v8 to v15 a callee preserves the low 64 bits.
VECTOR_ORDER: Final[tuple[int, ...]] = _numbers(
    "v16 v17 v18 v19 v20 v21 v22 v23 v24 v25 v26 v27 v28 v29 v30 v31 v7 v6 v5 v4 v3 v2 v1 v0 v8 v9 v10 v11 v12 v13 v14 v15"
)


def int_name(code: int, letter: str = "x", stack: bool = False) -> str:
    """The name of an integer register by its machine code, of 64 (``x``) or 32 bits (``w``); code 31 is ``sp`` where the instruction says so."""
    if code == 31:
        if stack:
            return "sp" if letter == "x" else "wsp"
        return letter + "zr"
    return f"{letter}{code}"
