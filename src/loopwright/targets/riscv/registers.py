"""RISC-V registers: the allocatable ones by dense number, their ABI names, codes and order.

Not numbered, because never allocated:

* ``zero``, ``sp``, ``gp``, ``tp``: fixed by the machine and the psABI (RISC-V ELF psABI, *Integer Register Convention*);
* ``ra``: every call destroys it and every return needs it, so it is the assembler's own scratch register. The
  prologue saves it when the function calls, or when something in the function needs the scratch (a far stack slot, a
  floating-point constant outside the allocator's reach); a leaf without those never touches it.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.target import Register

__all__ = ["CODES", "FLOATS", "FLOAT_NAMES", "FLOAT_ORDER", "INTS", "INT_NAMES", "INT_ORDER", "RA", "REGISTERS", "SP", "ZERO", "number"]

#: ABI names by machine code (RISC-V ELF psABI, tables of register names).
INT_NAMES: Final[tuple[str, ...]] = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5"),
    *("a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"),
)
FLOAT_NAMES: Final[tuple[str, ...]] = (
    *("ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5"),
    *("fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"),
)

#: Register classes, by their number among the target's.
INTS: Final = 0
FLOATS: Final = 1

ZERO: Final = 0
RA: Final = 1
SP: Final = 2

_FIRST_INT: Final = 5  # t0: after zero, ra, sp, gp, tp

#: By dense number: t0 … t6 (x5 to x31), then all floating-point registers.
REGISTERS: Final[list[Register]] = [Register(INT_NAMES[code], INTS, code) for code in range(_FIRST_INT, 32)] + [
    Register(FLOAT_NAMES[code], FLOATS, code) for code in range(32)
]

#: Machine codes by dense number.
CODES: Final[list[int]] = [register.code for register in REGISTERS]

_number_of: Final[dict[str, int]] = {register.name: n for n, register in enumerate(REGISTERS)}


def number(name: str) -> int:
    """The dense number of a register by its ABI name."""
    return _number_of[name]


def _numbers(names: str) -> tuple[int, ...]:
    return tuple(_number_of[name] for name in names.split())


#: Caller-saved before callee-saved; in each, those that compressed instructions reach (x8 to x15, f8 to f15) first.
INT_ORDER: Final[tuple[int, ...]] = _numbers("a5 a4 a3 a2 a1 a0 a6 a7 t0 t1 t2 t3 t4 t5 t6 s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11")
FLOAT_ORDER: Final[tuple[int, ...]] = _numbers(
    "fa5 fa4 fa3 fa2 fa1 fa0 fa6 fa7 ft0 ft1 ft2 ft3 ft4 ft5 ft6 ft7 ft8 ft9 ft10 ft11 fs0 fs1 fs2 fs3 fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11"
)
