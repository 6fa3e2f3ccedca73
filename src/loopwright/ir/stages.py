"""The stages of a function: the passes' names in the order they run, for the rows that say between which of them an operation may stand."""

from __future__ import annotations

from typing import Final

__all__ = ["LAST", "STAGES"]

STAGES: Final[tuple[str, ...]] = (
    "collect",
    "promote",
    "nests",
    "vectorize",
    "unroll",
    "addresses",
    "expand",
    "simplify",
    "strength",
    "if-convert",
    "switches",
    "immediates",
    "elif",
    "loops",
    "select",
    "liveness",
    "allocate",
    "jumps",
    "lower-late",
    "assemble",
    "encode",
)
#: Beyond the number of every stage.
LAST: Final = len(STAGES)
