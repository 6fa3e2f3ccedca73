"""The pipeline, in the order it runs. Each name is what ``--after NAME`` takes."""

from __future__ import annotations

from typing import Final

#: (name, what it does)
PASSES: Final[tuple[tuple[str, str], ...]] = (
    ("collect", "the front end's output, untouched"),
    ("promote", "local arrays at known indices to variables"),
    ("vectorize", "loops over lanes become loops over vectors of them, under masks"),
    ("nests", "loop nests: unrolled main loops and masked remainders of loops over lanes"),
    ("addresses", "array accesses to addresses; row pointers; displacements"),
    ("expand", "operations the machine needs sequences for, where the parts are worth simplifying"),
    ("simplify", "folding, value numbering, invariant motion, dead code, multiply-add contraction"),
    ("immediates", "constants into instruction bodies where there is room, a move otherwise"),
    ("elif", "elif becomes nested if … else"),
    ("lower", "operations without a direct counterpart to sequences; rotated loops; fused compare and branch; memory operands"),
    ("liveness", "live intervals with holes, pressure, loop weights"),
    ("allocate", "registers, spills, reloads, resolution moves; prologue and epilogue"),
    ("jumps", "brackets to labels and jumps; aligned loop heads"),
    ("lower-late", "two-operand forms and other consequences of the registers chosen"),
    ("assemble", "IR to target instructions"),
    ("encode", "target instructions to bytes; short branch forms; constant pool"),
)

NAMES: Final[tuple[str, ...]] = tuple(name for name, _ in PASSES)
