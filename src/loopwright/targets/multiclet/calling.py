"""The pass ``calls``: return addresses and arguments in registers, between functions that are all compiled for one program.

The published convention has both in memory. Stores are done in order, so that a call there waits for whatever has been stored before it to be known, and a return for the call's
own store. Here the caller writes the return address to one register and the first arguments to others; further ones stay in memory, where they were. Whoever
makes a program (``Multiclet.program``) sees to it that all its functions are compiled so.
"""

from __future__ import annotations

from typing import Final

from loopwright.errors import InternalError
from loopwright.ir.function import Function
from loopwright.targets.multiclet.convention import offsets_of
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.flow import INCOMING, OUTGOING, REGISTER, VALUE, Arg, Flow, Node, Paragraph
from loopwright.types import PTR, Type

__all__ = ["ARGUMENTS", "RETURN", "order_registers", "run"]

#: The register of the return address, and those of the first arguments.
RETURN: Final = "R0"
ARGUMENTS: Final = ("R1", "R2", "R3", "R4")


def _by_offset(types: list[Type]) -> dict[int, str]:
    """The registers of arguments, by where the published convention has them from the stack pointer on."""
    return dict(zip(offsets_of(types), ARGUMENTS, strict=False))


def run(f: Function, target: Dataflow) -> None:
    """Change what the commands of calls, of returns and of the beginning access."""
    if not target.program:
        return
    flow: Flow = f.analysis
    calls = any(paragraph.calls for paragraph in flow.made)
    entry = flow.made[0]
    types = [f.types[p] for p in f.params]
    _enter(entry, _by_offset(types), dict(zip(offsets_of(types), types, strict=True)))
    back: Arg | None = None
    if calls:
        # Calls of its own write to the register.
        node = flow.node("load", "q", [Arg(REGISTER, name=RETURN)], 0, 0)
        entry.nodes.insert(0, node)
        back = Arg(VALUE, node)
    for paragraph in flow.made:
        if paragraph.following < 0:
            _leave(paragraph, back)
        if paragraph.calls:
            _call(f, flow, paragraph)


def _enter(entry: Paragraph, registers: dict[int, str], types: dict[int, Type]) -> None:
    """Arguments are read from registers, where a pointer has nothing above its bits."""
    for node in entry.nodes:
        a = node.args[0] if node.args else None
        if a is not None and a.kind == INCOMING and a.number in registers:
            if types[a.number] is PTR:
                node.name, node.suffix = "load", "q"
            node.args = [Arg(REGISTER, name=registers[a.number])]
            node.memory = None


def _leave(paragraph: Paragraph, back: Arg | None) -> None:
    """The return goes by the register, or by what it was at the beginning."""
    jump = paragraph.nodes[-1]
    address = jump.args[0].node
    if jump.name != "jmp" or address is None or address.args[0].kind != INCOMING:
        raise InternalError(f"paragraph {paragraph.number} does not end with a return")
    jump.args = [back if back is not None else Arg(REGISTER, name=RETURN)]
    paragraph.nodes.remove(address)


def _call(f: Function, flow: Flow, paragraph: Paragraph) -> None:
    """What a call passes goes to registers. (Where an access has to wait for the end of a paragraph, arguments may have been written in the one before.)"""
    call = paragraph.called
    if call is None:
        raise InternalError(f"paragraph {paragraph.number} calls nothing")
    registers = {0: RETURN, **_by_offset(f.callees[call.imm].params)}
    here = paragraph
    while True:
        for node in here.nodes:
            if node.name == "wr" and node.args[1].kind == OUTGOING:
                register = registers.pop(node.args[1].number, "")
                if register:
                    node.name, node.suffix, node.memory = "setrg", "q", None
                    node.args = [Arg(REGISTER, name=register), node.args[0]]
        if not registers:
            return
        if len(here.before) != 1 or flow.made[here.before[0]].calls:
            raise InternalError(f"paragraph {paragraph.number} calls without an argument")
        here = flow.made[here.before[0]]


def order_registers(nodes: list[Node]) -> None:
    """Let commands of a paragraph that read a register stay in front of the one that writes it."""
    if not any(node.effect and node.name == "setrg" for node in nodes):
        return
    readers: dict[str, list[Node]] = {}
    for node in nodes:
        for a in node.args[1:] if node.name == "setrg" else node.args:
            if a.kind == REGISTER:
                readers.setdefault(a.name, []).append(node)
    for node in nodes:
        if node.name == "setrg" and node.args[0].name in readers:
            node.behind += tuple([each for each in readers[node.args[0].name] if each is not node])
