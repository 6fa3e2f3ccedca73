"""x86-64 among the machines (see ``targets/machine.py``)."""

from __future__ import annotations

from typing import Final

from loopwright.targets.machine import Emulator, Level, Machine
from loopwright.targets.target import Target

__all__ = ["MACHINE"]


def _make(name: str, vector_bits: int, convention: str, tuning: frozenset[str]) -> Target:
    from loopwright.targets.x86.target import X86

    return X86(name, vector_bits, convention, tuning)


def _best(features: frozenset[str]) -> str | None:
    from loopwright.targets.x86.target import V3_FEATURES, V4_FEATURES

    if features >= V4_FEATURES:
        return "x86-64-v4"
    return "x86-64-v3" if features >= V3_FEATURES else None


MACHINE: Final = Machine(
    "x86-64",
    {
        "x86-64-v3": Level("x86-64 with AVX2, FMA and BMI (256-bit vectors)", (128, 256), ("avx_vnni", "pclmulqdq", "vpclmulqdq")),
        "x86-64-v4": Level(
            "x86-64 with AVX-512 F, BW, CD, DQ and VL (512-bit vectors, mask registers)",
            (128, 256, 512),
            ("avx512_bitalg", "avx512_fp16", "avx512_vnni", "avx512_vpopcntdq", "avx512vbmi", "pclmulqdq", "vpclmulqdq"),
        ),
    },
    ("sysv", "win64"),
    _make,
    best=_best,
    architectures=("x86_64", "amd64"),
    windows="win64",
    # For what this CPU lacks.
    emulator=Emulator(("bochs",), "loopwright.targets.x86.start", packages="bochs bochs-term", runtime="loopwright.runtime.bochs"),
)
