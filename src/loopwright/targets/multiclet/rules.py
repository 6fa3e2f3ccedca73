"""What a processor asks of commands and paragraphs that can be seen without running them."""

from __future__ import annotations

from loopwright.targets.multiclet.commands import ADDRESS, DESTINATION, SUM, VALUE
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.program import Command, Operand, Paragraph

__all__ = ["faults", "resolve"]


def resolve(paragraph: Paragraph) -> list[tuple[int, str]]:
    """Give operands that name a command its distance; what cannot be resolved is returned as (command, what is wrong)."""
    found: list[tuple[int, str]] = []
    made: dict[str, int] = {}
    for at, command in enumerate(paragraph.commands):
        for operand in command.operands:
            if operand.name:
                if operand.name in made:
                    operand.back = at - made[operand.name]
                else:
                    found.append((at, f"no command above in this paragraph is named {operand.name}"))
        if command.name:
            made[command.name] = at
    return found


def faults(paragraph: Paragraph, processor: Processor) -> list[tuple[int, str]]:
    """The rules that a paragraph breaks: (number of the command, what is wrong). Names are resolved."""
    found: list[tuple[int, str]] = []
    if not paragraph.commands:
        found.append((0, "a paragraph has at least one command before complete"))
    most = processor.buffer * processor.all_cells
    if len(paragraph.commands) > most:
        found.append((most, f"the paragraph has {len(paragraph.commands)} commands; a cell of {processor.name} holds {processor.buffer}, all cells {most}"))
    for at, command in enumerate(paragraph.commands):
        found += [(at, what) for what in _of_command(command, at, paragraph, processor)]
    return found


def _of_command(command: Command, at: int, paragraph: Paragraph, processor: Processor) -> list[str]:
    row = processor.row(command.mnemonic)
    if row is None or row is not command.row:
        return [f"{processor.name} has no command {command.mnemonic}"]
    if len(command.operands) != len(row.places):
        return [f"{command.mnemonic} takes {len(row.places)} operand{'s' * (len(row.places) != 1)}, not {len(command.operands)}"]
    found: list[str] = []
    constants = 0
    for operand, place in zip(command.operands, row.places, strict=True):
        found += _of_operand(operand, place, command, processor)
        if operand.back > 0:
            found += _of_place(operand, at, paragraph, processor)
        constants += bool(operand.symbol or operand.offset)
        if operand.memory and not processor.two_constants and row.effect != "load":
            found.append(f"{processor.name} reads memory in loads only: {operand} needs a load of its own")
    if constants > 1 and not processor.two_constants:
        found.append(f"{processor.name} has one constant in a command: load one of {' and '.join(map(str, command.operands))} first")
    return found


def _of_operand(operand: Operand, place: str, command: Command, processor: Processor) -> list[str]:
    if operand.register and operand.register not in processor.registers:
        return [f"{processor.name} has no register #{operand.register}; there are {', '.join([f'#{name}' for name in processor.registers])}"]
    if place == DESTINATION:
        plain = operand.register and not (operand.memory or operand.symbol or operand.offset)
        return [] if plain else [f"{command.mnemonic} writes to a register, as #SP: {operand} is none"]
    if operand.is_place() and operand.register:
        return ["an operand has one base: a place of the switch or a register"]
    if not -(1 << 31) <= operand.offset < 1 << 32:
        return [f"{operand.offset} does not fit into the 32 bits of a constant: patch_q makes 64 of two halves"]
    if not operand.memory and not operand.is_constant() and (operand.symbol or operand.offset) and place not in (SUM, ADDRESS):
        return [f"{command.mnemonic} does not add: {operand} may stand in brackets, or be computed before"]
    if operand.memory and place == VALUE and not command.suffix:
        return [f"how wide {operand} is cannot be told: {command.mnemonic} has no suffix"]
    return []


def _of_place(operand: Operand, at: int, paragraph: Paragraph, processor: Processor) -> list[str]:
    if operand.back > processor.depth:
        return [f"@{operand.back} is too old: the switch of {processor.name} keeps the last {processor.depth} results"]
    if operand.back > at:
        if processor.crosses:
            return []
        return [f"@{operand.back} is from before the paragraph, and results of {processor.name} do not stay past their paragraph's end"]
    made = paragraph.commands[at - operand.back]
    return [] if made.row.gives else [f"@{operand.back} names {made.mnemonic}, which leaves no result"]
