"""Proof that every operand of a program names what it is meant to, on every path: used by ``prove=True``, and by the tests.

The walk is over the program as it is written: commands with distances, slots by their offsets. Of each place of the switch, each slot and each register it follows which values of
the flow are in it, as an analysis over all paths at once: where paths meet, what is there on all of them. A value that is made again is nowhere else any more. What
a command is meant to read is said by the flow, which has been made before anything was ordered or handed on.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import InternalError
from loopwright.targets.multiclet.blocks import BITS, Block, Blocks
from loopwright.targets.multiclet.flow import CONSTANT, INCOMING, JUMPS, REGISTER, SYMBOL, TARGET, VALUE, Arg, Flow, Node
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.program import Command, Operand, Unit
from loopwright.targets.multiclet.values import held_constant

__all__ = ["Slots", "check"]

#: What is in a place: values, and constants by their number.
Held = frozenset[object]
#: Offsets from the stack pointer of slots and of the caller's arguments, in each paragraph.
Slots = list[dict[int, str]]
_NOTHING: Final[Held] = frozenset()
#: The register of results.
_RESULT: Final = "RETV"


class _State:
    """What is known where a paragraph begins: of the last places, the latest last; of slots."""

    __slots__ = ("places", "slots")

    def __init__(self, places: list[Held], slots: dict[str, Held]) -> None:
        self.places = places
        self.slots = slots

    def meet(self, other: _State) -> bool:
        """Keep what the other knows as well; whether anything was lost."""
        count = min(len(self.places), len(other.places))
        places = [a & b for a, b in zip(self.places[len(self.places) - count :], other.places[len(other.places) - count :], strict=True)]
        slots = {name: held & other.slots[name] for name, held in self.slots.items() if name in other.slots}
        changed = places != self.places or slots != self.slots
        self.places, self.slots = places, slots
        return changed


class _Checker:
    def __init__(self, flow: Flow, unit: Unit, blocks: Blocks, slots: Slots, processor: Processor) -> None:
        self.flow = flow
        self.unit = unit
        self.blocks = blocks
        self.slots = slots
        self.processor = processor
        self.numbers = {paragraph.label: number for number, paragraph in enumerate(unit.paragraphs)}
        self.states: list[_State | None] = [None] * len(flow.made)
        # By register, the values of the flow that are copies of it.
        self.copied: dict[str, list[Node]] = {}
        for paragraph in flow.made:
            for node in paragraph.nodes:
                if _copies_register(node):
                    self.copied.setdefault(node.args[0].name, []).append(node)

    def run(self) -> None:
        self.states[0] = _State([], {f"#{name}": frozenset([_given(name)]) for name in self.processor.registers if name not in ("SP", _RESULT)})
        waiting = [0]
        while waiting:
            number = waiting.pop()
            block = self.blocks.made[number]
            state = self.through(block, report=False)
            for each in block.paragraph.after():
                handed = self.handed(block, each, state)
                known = self.states[each]
                if known is None:
                    self.states[each] = handed
                    waiting.append(each)
                elif known.meet(handed) and each not in waiting:
                    waiting.append(each)
        for block in self.blocks.made:
            if self.states[block.paragraph.number] is not None:
                self.through(block, report=True)

    # --- one paragraph ----------------------------------------------------------------------------------------------

    def through(self, block: Block, report: bool) -> _State:
        """What is known where a paragraph ends; with ``report`` each operand is looked at."""
        number = block.paragraph.number
        known = self.states[number]
        assert known is not None
        state = _State(list(known.places), dict(known.slots))
        # Whatever is known of anything: most values are made for the first time, and need not be looked for.
        anywhere: set[object] = set().union(*state.places, *state.slots.values())
        # (Copies of registers are made anew here: other commands may read the registers before them.)
        for copy in block.paragraph.nodes:
            if copy in anywhere and _copies_register(copy):
                _forget(state, copy)
        later: dict[str, Held] = {}
        commands = self.unit.paragraphs[number].commands
        if len(commands) != len(block.nodes):
            raise InternalError(f"{self.unit.paragraphs[number].label} has {len(commands)} commands, not {len(block.nodes)}")
        if report:
            self.ways(block, commands)
        for command, node in zip(commands, block.nodes, strict=True):
            origin = node.origin
            if report and origin is not None:
                self.operands(block, state, command, origin)
            held = self.result(block, state, command, node, origin)
            if origin is not None and command.row.gives:
                held |= {origin}
                if origin in anywhere and not _copies_register(origin):
                    _forget(state, origin)
                anywhere.add(origin)
            slot, from_ = "", 0
            if command.row.effect == "store":
                slot = self.slot(number, command.operands[1])
            elif command.row.effect == "register" and command.operands[0].register != "SP":
                slot, from_ = f"#{command.operands[0].register}", 1
            if slot:
                written = self.read(block, state, command.operands[from_])
                if self.processor.commits_at_end:
                    later[slot] = written
                else:
                    state.slots[slot] = written
            state.places.append(held)
            del state.places[: -self.processor.depth]
        state.slots.update(later)
        return state

    def ways(self, block: Block, commands: list[Command]) -> None:
        """Whether a paragraph goes on where it is meant to, and nowhere else."""
        paragraph = block.paragraph
        meant = paragraph.after()
        found = [paragraph.number + 1]
        for command, node in zip(commands, block.nodes, strict=True):
            if node.name in JUMPS and node.args[-1].kind == TARGET:
                to = self.numbers.get(command.operands[-1].symbol, -1)
                found.append(to)
                if to not in meant:
                    self.fail(block, command, "the paragraph does not go on there")
        if not paragraph.calls and any(each not in found for each in meant):
            raise InternalError(f"{self.unit.paragraphs[paragraph.number].label} does not go on with all paragraphs that it is meant to go on with")

    def result(self, block: Block, state: _State, command: Command, node: Node, origin: Node | None) -> Held:
        """What a command leaves of what was there before: a copy, or what is in a slot."""
        if command.row.effect == "load":
            return self.read(block, state, command.operands[0])
        if command.row.mnemonic == "patch" and origin is None:
            high, low = [[each for each in self.read(block, state, operand) if isinstance(each, int)] for operand in command.operands]
            return frozenset([held_constant(a, b) for a in high for b in low])
        return _NOTHING

    def read(self, block: Block, state: _State, operand: Operand) -> Held:
        """What an operand has."""
        if operand.memory:
            slot = self.slot(block.paragraph.number, operand)
            return state.slots.get(slot, _NOTHING) if slot else _NOTHING
        if operand.is_constant() and not operand.symbol:
            return frozenset([operand.offset])
        if operand.register and not operand.offset:
            held = state.slots.get(f"#{operand.register}", _NOTHING)
            return held | self.copies(block, operand.register) if _given(operand.register) in held else held
        if operand.back <= 0 or operand.offset:
            return _NOTHING
        at = len(state.places) - operand.back
        return state.places[at] if at >= 0 else _NOTHING

    def copies(self, block: Block, register: str) -> Held:
        """The values that are copies of what was given in a register: other commands may read it themselves. (Results are those of the last call.)"""
        found = self.copied.get(register, [])
        return frozenset([node for node in found if register != _RESULT or node.home == block.paragraph.number])

    def slot(self, number: int, operand: Operand) -> str:
        """The name of the slot that an address is, or ""."""
        return self.slots[number].get(operand.offset, "") if operand.register == "SP" and not operand.symbol else ""

    def operands(self, block: Block, state: _State, command: Command, origin: Node) -> None:
        """Whether each operand is what the command of the flow reads."""
        name = f"{origin.name}_{origin.suffix}" if origin.suffix else origin.name
        if command.mnemonic != name:
            self.fail(block, command, f"it should be {name}")
        for operand, a in zip(command.operands, origin.args, strict=True):
            if a.kind == VALUE:
                assert a.node is not None
                self.value(block, state, command, origin, operand, a)
            elif a.kind == SYMBOL:
                self.symbol(block, command, operand, a)
            elif a.kind == REGISTER and command.row.effect == "load":
                if operand.register != a.name or _given(a.name) not in self.read(block, state, operand):
                    self.fail(block, command, f"{operand} is not what was in #{a.name}")
            elif a.kind == CONSTANT and not a.memory and a.number not in self.read(block, state, operand):
                self.fail(block, command, f"{operand} is not {a.number}")

    def symbol(self, block: Block, command: Command, operand: Operand, a: Arg) -> None:
        """Whether an operand is an address by name, or what is there."""
        if operand.symbol != a.name or operand.offset != a.number or operand.memory != a.memory:
            self.fail(block, command, f"{operand} is not {a.name} + {a.number}{' in memory' if a.memory else ''}")

    def value(self, block: Block, state: _State, command: Command, origin: Node, operand: Operand, a: Arg) -> None:
        value = a.node
        assert value is not None
        base = operand
        if operand.memory and not a.memory:
            if value in self.read(block, state, operand):
                return
            # The load that makes the value is done by this command.
            load = value.args[0] if value.name in ("load", "loadu") else None
            if load is None or not load.memory:
                self.fail(block, command, f"{operand} is not {value}")
                return
            if load.kind == INCOMING:
                if self.slot(block.paragraph.number, operand) != f"incoming {load.number}":
                    self.fail(block, command, f"{operand} is not the argument {value}")
                return
            if load.kind == SYMBOL:
                self.symbol(block, command, operand, load)
                return
            a, value = load, load.node
        if operand.register and operand.register != "SP":
            held = self.read(block, state, Operand(register=operand.register))
            if value is None or value not in held or operand.offset != a.number or operand.memory != a.memory:
                self.fail(block, command, f"{operand} is not {a.node} on every path")
            elif _given(operand.register) in held and value.suffix in BITS and _bits_read(origin, a) > BITS[value.suffix]:
                self.fail(block, command, f"{operand} has more bits than {value}")
            return
        if operand.memory != a.memory or (a.kind == VALUE and operand.offset != a.number):
            self.fail(block, command, f"{operand} should be at {a.number}{' in memory' if a.memory else ''}")
        if a.kind == CONSTANT:
            if operand.offset != a.number:
                self.fail(block, command, f"{operand} is not at {a.number}")
        elif value not in self.read(block, state, Operand(base.back)):
            self.fail(block, command, f"{operand} is not {value} on every path")

    def fail(self, block: Block, command: Command, what: str) -> None:
        raise InternalError(f"{self.unit.paragraphs[block.paragraph.number].label}: {command}: {what}")

    # --- from one paragraph to the next ---------------------------------------------------------------------------------

    def handed(self, block: Block, to: int, state: _State) -> _State:
        """What is known on the way from one paragraph to another: its phis are what it is given for them, and no longer what they were."""
        paragraph = self.flow.made[to]
        position = paragraph.before.index(block.paragraph.number)
        given: dict[object, set[Node]] = {}
        for phi in paragraph.phis:
            a = phi.args[position]
            given.setdefault(a.number if a.kind == CONSTANT else a.node, set()).add(phi)
        phis = set(paragraph.phis)

        def now(held: Held) -> Held:
            made: set[object] = {each for each in held if each not in phis}
            for each in held:
                made |= given.get(each, set())
            return frozenset(made)

        places = [] if block.paragraph.calls or not self.processor.crosses else [now(held) for held in state.places]
        slots = {name: now(held) for name, held in state.slots.items()}
        if block.paragraph.calls:
            # What is called writes registers, and leaves its result in one.
            slots = {name: held for name, held in slots.items() if not name.startswith("#")}
            slots[f"#{_RESULT}"] = frozenset([_given(_RESULT)])
        return _State(places, slots)


def _bits_read(reader: Node, a: Arg) -> int:
    """As many bits of a value as a command looks at: of an address all."""
    if a.number or a.memory or reader.name.startswith("cvt") or (reader.name == "wr" and a is reader.args[1]):
        return 64
    return BITS.get(reader.suffix, 64)


def _copies_register(origin: Node) -> bool:
    return origin.name == "load" and origin.args[0].kind == REGISTER


def _given(register: str) -> str:
    """What is in a register when the function begins, or comes back from a call."""
    return f"given in #{register}"


def _forget(state: _State, value: Node) -> None:
    """A value is made anew: what was it before is it no longer."""
    gone = frozenset([value])
    state.places = [held - gone if value in held else held for held in state.places]
    for name, held in state.slots.items():
        if value in held:
            state.slots[name] = held - gone


def check(flow: Flow, unit: Unit, blocks: Blocks, slots: Slots, processor: Processor) -> None:
    """Raise ``InternalError`` where an operand is not what it is meant to be on every path.

    Args:
        flow: what is meant, before commands were ordered.
        unit: what is written.
        blocks: which command of the flow each command is.
        slots: of each paragraph, the names of the slots and of the caller's arguments by their offset from the stack pointer.
        processor: how far back places go, and when stores are done.
    """
    _Checker(flow, unit, blocks, slots, processor).run()
