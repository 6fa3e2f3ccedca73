"""The passes that compile for x86-64."""

from __future__ import annotations

from typing import Final

from loopwright.passes import nontemporal, vector_scalars
from loopwright.passes.pipeline import CPU
from loopwright.targets.pipeline import Pass
from loopwright.targets.x86 import lane_order

__all__ = ["PASSES"]

_NONTEMPORAL: Final = Pass(
    "nontemporal",
    nontemporal.run,
    "loops over lanes that store past the caches begin where the elements they store are at a multiple of a vector's size",
    optional=True,
)

_VECTOR_SCALARS: Final = Pass(
    "vector-scalars",
    vector_scalars.run,
    "integers of 32 bits that a loop carries through minima and maxima are kept in vector registers, where these are one instruction",
    optional=True,
)
_LANE_ORDER: Final = Pass(
    "lane-order",
    lane_order.run,
    "elements in turn whose order in vectors does not matter are loaded and stored as they lie in memory",
    optional=True,
)
#: By the pass in front of which they stand.
_MORE: Final = {"vectorize": _NONTEMPORAL, "expand": _LANE_ORDER, "switches": _VECTOR_SCALARS}

PASSES: Final[tuple[Pass, ...]] = tuple(each for one in CPU for each in ((_MORE[one.name], one) if one.name in _MORE else (one,)))
