"""Functions and globals as an object file: sections, symbols, and what the linker is to fill in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from loopwright.compiler import Compiled
from loopwright.errors import LoopwrightError
from loopwright.ir.globals import Global
from loopwright.objects import lines, unwind
from loopwright.objects.elf import ALLOCATED, EXECUTABLE, FUNCTION, OBJECT, WRITABLE, ObjectFile, Relocation, Section
from loopwright.objects.machines import ObjectMachine, machine_of
from loopwright.targets.target import Target

__all__ = ["LISTS", "Placed", "in_memory", "object_file", "write"]


#: What the names of globals begin with that are no variables, but lists of functions that run before and behind main: their sections.
LISTS: Final = (".init_array", ".fini_array")


def object_file(
    functions: Sequence[Compiled], globals_: Iterable[Global], target: Target, local: Collection[str] = (), debug: str = "", weak: Collection[str] = ()
) -> ObjectFile:
    """An object file.

    Args:
        functions: compiled for the target; what they call and name by symbols that are not here is left to the linker.
        globals_: those that are to be in it.
        target: the machine.
        local: names that other objects do not see.
        debug: the name of the source, where debuggers are to be told the lines that instructions come from.
        weak: names of what gives way to another of the same name in another object, or may be in none.

    Raises ``TargetError`` for a machine that no object files are written for.
    """
    machine = machine_of(target)
    made = ObjectFile(machine.number, machine.flags)
    made.weak.update(weak)
    text = made.section(".text", ALLOCATED | EXECUTABLE)
    placed = [(_function(made, text, compiled, machine, compiled.source.name in local), compiled) for compiled in functions]
    _frames(made, text, placed, machine)
    if debug and placed:
        _lines(made, text, placed, machine, debug)
    for each in globals_:
        if not each.address:
            _global(made, each, machine, each.name in local)
    # Nothing here needs a stack that can be executed.
    made.section(".note.GNU-stack")
    return made


def write(path: Path, data: bytes) -> None:
    """Write a file. Raises ``LoopwrightError`` where that is not possible."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise LoopwrightError(f"{path} cannot be written: {error.strerror}") from None


def _function(made: ObjectFile, text: Section, compiled: Compiled, machine: ObjectMachine, local: bool) -> int:
    code = compiled.machine
    start = text.pad(code.align, machine.padding)
    if machine.mapping is not None:
        made.mark(machine.mapping[0], text, start)
        if len(code.data) > code.code_size:
            made.mark(machine.mapping[1], text, start + code.code_size)
    text.data += code.data
    name = compiled.source.name
    made.define(name, text, start, len(code.data), FUNCTION, local)
    meant = _meant(compiled)
    for at, kind, symbol in sorted(code.relocations):
        called = machine.calls.get(code.data[at - 1]) if at else None
        addend = machine.addend + int.from_bytes(code.data[at : at + machine.field], "little", signed=True)
        text.data[start + at : start + at + machine.field] = bytes(machine.field)
        for fixup in machine.fixups[kind]:
            what = meant.get(symbol, symbol)
            place = start + at
            if len(machine.fixups[kind]) > 1 and machine.fixups[kind][1].own:
                own = f".L{name}.{at}"
                if not fixup.own:
                    made.define(own, text, place, 0, 0, True)
                else:
                    what = own
            text.relocations.append(Relocation(place + fixup.further, called if called is not None else fixup.number, what, addend))
    return start


def _frames(made: ObjectFile, text: Section, placed: Sequence[tuple[int, Compiled]], machine: ObjectMachine) -> None:
    """Unwind information."""
    section = made.section(unwind.SECTION, ALLOCATED)
    section.align = 8
    for start, compiled in placed:
        table = unwind.unwinding_of(compiled.target)
        if table is None:
            continue
        if not section.data:
            section.data += unwind.common(table, unwind.RELATIVE)
        at = len(section.data)
        entry, place = unwind.description(at, compiled.machine.code_size, unwind.steps(compiled), unwind.RELATIVE)
        section.relocations.append(Relocation(at + place, machine.relative, text.name, start))
        section.data += entry


def _lines(made: ObjectFile, text: Section, placed: Sequence[tuple[int, Compiled]], machine: ObjectMachine, name: str) -> None:
    """Lines of the source."""
    made.section(".debug_abbrev").data += lines.ABBREVIATIONS
    for section, fields in ((".debug_line", lines.table(placed)), (".debug_info", lines.information(placed, name, len(text.data)))):
        to = made.section(section)
        to.data += fields.data
        to.relocations += [Relocation(at, machine.absolute, text.name, distance) for at, distance in fields.addresses]
        to.relocations += [Relocation(at, machine.short, what, 0) for at, what in fields.sections]


def _meant(compiled: Compiled) -> dict[str, str]:
    """The names of what a function's symbols are."""
    return {compiled.target.call_symbol(callee): callee.name for callee in compiled.source.callees if not callee.signature}


def _global(made: ObjectFile, each: Global, machine: ObjectMachine, local: bool) -> None:
    size = max(each.size, 1)
    if each.name.startswith(LISTS):
        section = made.section(each.name, ALLOCATED | WRITABLE)
        start = section.pad(8)
        section.data += bytes(size)
        section.relocations += [Relocation(start + reference.offset, machine.absolute, reference.symbol, reference.addend) for reference in each.references]
        return
    if not each.constant and not each.references and not any(each.data):
        section = made.section(".bss", ALLOCATED | WRITABLE)
        section.align = max(section.align, each.align)
        start = -(-section.zeros // each.align) * each.align
        section.zeros = start + size
        made.define(each.name, section, start, size, OBJECT, local)
        return
    if not each.constant:
        section = made.section(".data", ALLOCATED | WRITABLE)
    elif each.references:
        # The dynamic linker writes the addresses, and makes the pages read-only then.
        section = made.section(".data.rel.ro", ALLOCATED | WRITABLE)
    else:
        section = made.section(".rodata", ALLOCATED)
    start = section.pad(each.align)
    section.data += each.filled({number: -reference.addend for number, reference in enumerate(each.references)}).ljust(size, b"\0")
    section.relocations += [Relocation(start + reference.offset, machine.absolute, reference.symbol, reference.addend) for reference in each.references]
    made.define(each.name, section, start, size, OBJECT, local)


class Placed:
    """A function that is in memory already.

    Attributes:
        start: its distance from the beginning of the code.
        name: what it is called.
        size: bytes of its instructions.
        steps: what it does to its frame (``unwind.steps``).
        compiled: what it was made of, or None.
    """

    __slots__ = ("compiled", "name", "size", "start", "steps")

    def __init__(self, start: int, name: str, size: int, steps: bytes, compiled: Compiled | None = None) -> None:
        self.start = start
        self.name = name
        self.size = size
        self.steps = steps
        self.compiled = compiled


def in_memory(placed: Sequence[Placed], base: int, size: int, target: Target) -> bytes:
    """A file that tells a debugger of functions that are in memory already: symbols, lines, unwind information, and no code.

    Args:
        placed: the functions.
        base: where the code begins; ``size``: its bytes.
        target: the machine.

    Raises ``TargetError`` for a machine that no object files are written for.
    """
    machine = machine_of(target)
    made = ObjectFile(machine.number, machine.flags)
    text = made.section(".text", ALLOCATED | EXECUTABLE)
    text.address, text.zeros, text.align = base, size, 16
    names: set[str] = set()
    frames = made.section(unwind.SECTION, ALLOCATED)
    frames.align = 8
    table = unwind.unwinding_of(target)
    assert table is not None
    frames.data += unwind.common(table, unwind.ABSOLUTE)
    for each in placed:
        symbol = each.name if each.name not in names else f"{each.name}.{each.start:x}"
        names.add(symbol)
        made.define(symbol, text, each.start, each.size, FUNCTION)
        frames.data += unwind.description(len(frames.data), each.size, each.steps, unwind.ABSOLUTE, base + each.start)[0]
    told = [(each.start, each.compiled) for each in placed if each.compiled is not None]
    if told:
        source = told[0][1].source
        made.section(".debug_abbrev").data += lines.ABBREVIATIONS
        made.section(".debug_line").data += lines.table(told, base).data
        made.section(".debug_info").data += lines.information(told, source.file or source.name, size, base).data
    return made.data()
