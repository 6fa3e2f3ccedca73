"""Functions of a module and its globals as one unit of assembler."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopwright.ir.globals import Global
from loopwright.targets.multiclet.program import Data, Reference, Unit

__all__ = ["data_of", "one_unit"]


def data_of(each: Global) -> Data:
    """A global as data. Of addresses, which take eight bytes in the IR, the linker fills in the lower four: the upper ones are 0."""
    references = [Reference(reference.offset, reference.symbol, reference.addend) for reference in each.references]
    end = max([len(each.data.rstrip(b"\0")), *(reference.at + 8 for reference in references)])
    content = each.data[:end].ljust(end, b"\0")
    return Data(each.name, content, max(each.align, 1), references, each.constant, max(each.size, 1) - end)


def one_unit(functions: Sequence[Unit], globals_: Iterable[Global], local: Iterable[str] = (), file: str = "") -> Unit:
    """Functions, each a unit by itself, and globals as one.

    Args:
        functions: their units.
        globals_: what they name.
        local: names that other units do not see.
        file: where they are from.
    """
    hidden = set(local)
    made = Unit(file=file)
    for unit in functions:
        made.paragraphs += unit.paragraphs
        made.data += unit.data
        made.exported += [name for name in unit.exported if name not in hidden]
    for each in globals_:
        made.data.append(data_of(each))
        if each.name not in hidden:
            made.exported.append(each.name)
    return made
