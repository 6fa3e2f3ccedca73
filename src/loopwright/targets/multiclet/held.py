"""Slots that are registers: values that go through memory from one paragraph to another, in registers that nothing else uses, where no call comes in between.

A load from a slot takes some cycles, and is a command; a register is an operand. No register survives a call, so that only slots that are not live across one can
be registers. Two share a register where no paragraph has both. Those that are read most often come first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from loopwright.targets.multiclet.convention import DYNAMIC_STACK
from loopwright.targets.multiclet.flow import FRAME, REGISTER, Arg, Node, Paragraph

__all__ = ["hold"]

#: A slot: the value and its kind.
Slot = tuple[Node, str]
#: Registers with a meaning of their own: the stack pointer, the result, the memory of the stack of a size known at run time.
_TAKEN: Final = frozenset({"SP", "RETV", DYNAMIC_STACK})


def hold(paragraphs: list[Paragraph], commands: list[list[Node]], registers: Iterable[str]) -> dict[Slot, str]:
    """Let commands read and write registers in place of slots.

    Args:
        paragraphs: of the function.
        commands: those of each.
        registers: the names of the processor's registers.

    Returns:
        The register of each slot that has become one.
    """
    named = {a.name for nodes in commands for node in nodes for a in node.args if a.kind == REGISTER}
    free = [name for name in registers if name not in named and name not in _TAKEN]
    if not free:
        return {}
    found = _Slots(paragraphs, commands)
    chosen = found.choose(free)
    if chosen:
        for node, a in found.accesses:
            if a.node is not None and (a.node, a.name) in chosen:
                register = Arg(REGISTER, name=chosen[a.node, a.name])
                if node.effect:
                    node.name = "setrg"
                    node.args = [register, node.args[0]]
                else:
                    node.args = [register]
    return chosen


def _slot(node: Node) -> Arg | None:
    """The operand that is the slot that a command loads, or, if it has an effect, writes."""
    a = node.args[-1]
    return a if a.kind == FRAME and (node.name == "wr" if node.effect else node.name == "load" and a.memory) else None


class _Slots:
    """What is known of the slots: each is a bit, in the order in which they are found.

    Attributes:
        accesses: the commands that load or write them, each with the operand that is the slot.
    """

    def __init__(self, paragraphs: list[Paragraph], commands: list[list[Node]]) -> None:
        self.accesses: list[tuple[Node, Arg]] = []
        self.bits: dict[Slot, int] = {}
        self.weights: list[float] = []
        self.reads = [0] * len(paragraphs)
        self.writes = [0] * len(paragraphs)
        for paragraph, nodes in zip(paragraphs, commands, strict=True):
            number = paragraph.number
            for node in nodes:
                a = _slot(node)
                if a is None or a.node is None:
                    continue
                self.accesses.append((node, a))
                bit = self.bit((a.node, a.name))
                if node.effect:
                    self.writes[number] |= 1 << bit
                else:
                    self.reads[number] |= 1 << bit
                    self.weights[bit] += 10.0**paragraph.depth
        self.before, self.behind = self.live(paragraphs)
        self.across = 0
        for paragraph in paragraphs:
            if paragraph.calls:
                self.across |= self.behind[paragraph.number]

    def bit(self, slot: Slot) -> int:
        known = self.bits.get(slot)
        if known is None:
            known = self.bits[slot] = len(self.bits)
            self.weights.append(0.0)
        return known

    def live(self, paragraphs: list[Paragraph]) -> tuple[list[int], list[int]]:
        """The slots that are live where each paragraph begins, and where it ends. (A paragraph reads a slot before it writes to it.)"""
        before = list(self.reads)
        behind = [0] * len(paragraphs)
        waiting = list(range(len(paragraphs)))
        while waiting:
            number = waiting.pop()
            paragraph = paragraphs[number]
            for each in paragraph.after():
                behind[number] |= before[each]
            now = self.reads[number] | behind[number] & ~self.writes[number]
            if now != before[number]:
                before[number] = now
                waiting += paragraph.before
        return before, behind

    def choose(self, free: list[str]) -> dict[Slot, str]:
        """Registers for slots, those that are read most often first."""
        together = [a | b | c for a, b, c in zip(self.before, self.behind, self.writes, strict=True)]
        held = [0] * len(free)
        chosen: dict[Slot, str] = {}
        order = sorted([(-self.weights[bit], bit, slot) for slot, bit in self.bits.items() if not self.across >> bit & 1], key=lambda row: row[:2])
        for weight, bit, slot in order:
            if not weight:
                break
            meets = 0
            for mask in together:
                if mask >> bit & 1:
                    meets |= mask
            for number, name in enumerate(free):
                if not held[number] & meets:
                    held[number] |= 1 << bit
                    chosen[slot] = name
                    break
        return chosen
