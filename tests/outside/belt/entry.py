"""The belt among the machines (see ``loopwright/targets/machine.py``)."""

from __future__ import annotations

from typing import Final

from loopwright.targets.machine import Level, Machine
from loopwright.targets.target import Target

__all__ = ["MACHINE"]


def _make(name: str, vector_bits: int, convention: str, tuning: frozenset[str]) -> Target:
    from .target import Belt

    return Belt()


MACHINE: Final = Machine("belt", {"belt-63": Level("a machine without registers, for the tests")}, ("cells",), _make)
