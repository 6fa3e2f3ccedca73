"""The passes that compile for AArch64."""

from __future__ import annotations

from typing import Final

from loopwright.passes.pipeline import CPU
from loopwright.targets.pipeline import Pass

__all__ = ["PASSES"]

PASSES: Final[tuple[Pass, ...]] = CPU
"""The passes of a CPU with a register file, in the order they run: the list that its targets own."""
