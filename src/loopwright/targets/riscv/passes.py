"""The passes that compile for RISC-V."""

from __future__ import annotations

from typing import Final

from loopwright.passes.pipeline import CPU
from loopwright.targets.pipeline import Pass

__all__ = ["PASSES"]

PASSES: Final[tuple[Pass, ...]] = CPU
