"""The Multiclet processors among the machines (see ``targets/machine.py``)."""

from __future__ import annotations

from typing import Final

from loopwright.ir.description import Description
from loopwright.targets.machine import Emulator, Level, Machine
from loopwright.targets.target import Target

__all__ = ["MACHINE"]


def _make(name: str, vector_bits: int, convention: str, tuning: frozenset[str]) -> Target:
    from loopwright.targets.multiclet.parameters import processor
    from loopwright.targets.multiclet.target import make

    return make(processor(name))


def _target_of(described: Description) -> Target:
    from loopwright.targets.multiclet.parameters import Processor
    from loopwright.targets.multiclet.target import make

    assert isinstance(described, Processor)
    return make(described)


def _described(name: str, numbers: dict[str, int]) -> Description:
    from loopwright.targets.multiclet.parameters import processor

    return processor(name).with_parameters(**numbers)


MACHINE: Final = Machine(
    "multiclet-",
    {
        "multiclet-r1": Level("Multiclet R1, a dataflow processor whose results do not cross paragraphs (simulated)"),
        "multiclet-s1": Level("Multiclet S1, whose results cross paragraphs (simulated)"),
        "multiclet-s2": Level("Multiclet S2, as S1 with a longer floating-point pipeline (simulated)"),
    },
    ("stack",),
    _make,
    emulator=Emulator((), packages="", runtime="loopwright.targets.multiclet.runner"),
    described=_described,
    target_of=_target_of,
)
