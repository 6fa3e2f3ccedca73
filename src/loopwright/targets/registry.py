"""The targets by name."""

from __future__ import annotations

from typing import Final

from loopwright.errors import TargetError
from loopwright.targets.target import Target

#: name -> one line about it
NAMES: Final[dict[str, str]] = {
    "x86-64-v3": "x86-64 with AVX2, FMA and BMI (256-bit vectors)",
    "x86-64-v4": "x86-64 with AVX-512 F, BW, CD, DQ and VL (512-bit vectors, mask registers)",
    "rv64gc": "RISC-V RV64GC, scalar (cross-compiled; runs under QEMU's user mode)",
}

_known: Final[dict[tuple[str, int, str, int], Target]] = {}


def names() -> list[str]:
    """The names ``get`` takes."""
    return list(NAMES)


def get(name: str, vector_bits: int | None = None, convention: str | None = None, data_path: int = 512) -> Target:
    """A target by name; the same object each time, so that its caches of rules are shared.

    Args:
        name: one of ``names()``.
        vector_bits: width of the vectors to use; None for the widest.
        convention: ``sysv`` or ``win64`` on x86-64; None for the target's usual one.
        data_path: bits of a vector that the CPU takes at once, 256 or 512; what is better code for 512-bit vectors depends on it.

    Raises:
        TargetError: unknown name, or a width or convention the target does not have.
    """
    key = (name, vector_bits or 0, convention or "", data_path)
    known = _known.get(key)
    if known is not None:
        return known
    made: Target
    if name in ("x86-64-v3", "x86-64-v4"):
        from loopwright.targets.x86.target import X86

        made = X86(name, vector_bits or 0, convention or "sysv", data_path)
    elif name == "rv64gc":
        from loopwright.targets.riscv.target import rv64gc

        if vector_bits:
            raise TargetError("rv64gc has no vectors")
        if convention not in (None, "lp64d"):
            raise TargetError(f"rv64gc has the calling convention lp64d, not {convention!r}")
        made = rv64gc()
    else:
        raise TargetError(f"unknown target {name!r}; there are {', '.join(NAMES)}")
    return _known.setdefault(key, made)


def best(features: frozenset[str] | set[str]) -> str | None:
    """The name of the best x86-64 target whose features are all there, or None."""
    from loopwright.targets.x86.target import V3_FEATURES, V4_FEATURES

    if features >= V4_FEATURES:
        return "x86-64-v4"
    return "x86-64-v3" if features >= V3_FEATURES else None
