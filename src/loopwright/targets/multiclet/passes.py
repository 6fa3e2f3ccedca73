"""The passes that compile for Multiclet processors: those of every machine up to ``select``, then their own, which take the place of allocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopwright.passes.pipeline import CPU
from loopwright.targets.multiclet import calling, choices, joining, order, paragraphs, split, transfer, unrolling, values, ways, writing
from loopwright.targets.pipeline import Pass, names_of

__all__ = ["PASSES"]


def _optional(name: str, run: Callable[..., None], does: str) -> Pass:
    return Pass(name, run, does, again=True, optional=True)


_OWN: Final = (
    Pass("paragraphs", paragraphs.run, "brackets to paragraphs, each with where it goes on", again=True, notes=paragraphs.notes),
    Pass("values", values.run, "instructions to commands, whose operands name the commands that make them; variables to phis", again=True),
    _optional("calls", calling.run, "of programs: return addresses and arguments in registers"),
    _optional("joined", joining.run, "paragraphs that do nothing are left out; short ones that several go on with are repeated in those"),
    _optional("unrolled", unrolling.run, "several steps of a counted loop in one paragraph, side by side on the cells"),
    _optional("ways", ways.run, "a paragraph that asks, and the short one that asks behind it, are one that goes on in three ways"),
    Pass("split", split.run, "paragraphs of more commands than the cells hold are cut", again=True),
    _optional("constants", transfer.constants, "commands have two constants, and operands in memory"),
    _optional("phis", transfer.phis, "phis come through the switch, by copies at the ends of paragraphs"),
    _optional("carried", transfer.carried, "what a step of a loop has made comes through the switch where paths meet in it"),
    _optional("producers", transfer.producers, "what makes a phi's value stands in the place of the copy, where it can"),
    _optional("direct", transfer.direct, "what a paragraph has made comes through the switch to those that can only come from it"),
    _optional("several", transfer.several, "what has come through the switch goes on to further paragraphs"),
    _optional("registers", transfer.registers, "what goes through memory all the same is in registers that nothing else uses, between calls"),
    Pass("order", order.run, "the order of commands in each paragraph; what is out of reach is copied, or goes through memory", again=True),
    Pass("program", writing.program, "operands to the number of commands since; the frame", settings=True, again=True, notes=writing.notes),
    Pass("bytes", writing.bytes_of, "bytes", "`Function.machine`"),
)
#: In front of ``loops``.
_CHOICES: Final = Pass("choices", choices.run, "branches with short arms to both arms and choices between their values", optional=True)
_LOOPS: Final = names_of(CPU).index("loops") - 1
PASSES: Final = (*CPU[:_LOOPS], _CHOICES, *CPU[_LOOPS : names_of(CPU).index("select")], *_OWN)
