"""The pipeline's passes are the stages that the rows of operations speak of."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.stages import LAST, STAGES
from loopwright.passes import pipeline


def test_the_stages_are_the_passes_in_their_order() -> None:
    assert STAGES == pipeline.NAMES


def test_every_operation_may_stand_somewhere() -> None:
    for op in ops.OPS:
        assert 0 <= op.since < op.until <= LAST, op.name
