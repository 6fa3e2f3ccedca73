"""The passes that compile for x86-64."""

from __future__ import annotations

from typing import Final

from loopwright.passes import nontemporal
from loopwright.passes.pipeline import CPU
from loopwright.targets.pipeline import Pass

__all__ = ["PASSES"]

_NONTEMPORAL: Final = Pass(
    "nontemporal",
    nontemporal.run,
    "loops over lanes that store past the caches begin where the elements they store are at a multiple of a vector's size",
    optional=True,
)

PASSES: Final[tuple[Pass, ...]] = tuple(each for one in CPU for each in ((_NONTEMPORAL, one) if one.name == "vectorize" else (one,)))
