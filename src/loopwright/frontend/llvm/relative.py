"""Tables of distances: what `llvm.load.relative` reads (LLVM Language Reference, "llvm.load.relative" Intrinsic).

In position-independent code clang makes of a table of addresses one of 32-bit distances from the table's own address, so that the loader has nothing to fill in. Here it becomes a
table of addresses again.
"""

from __future__ import annotations

from loopwright.frontend.llvm.syntax import AGGREGATE, EXPRESSION, GLOBAL, Constant, Global, LlvmModule
from loopwright.frontend.llvm.types import ARRAY, INTEGER, POINTER, LlvmType

__all__ = ["WIDER", "make_absolute", "table"]

#: How many times as large an address is as a distance.
WIDER = 2
#: Bytes of an address, of which its place is a multiple.
_ALIGN = 8


def make_absolute(module: LlvmModule) -> None:
    """Make tables of distances ones of addresses, by their names in ``module.relative``."""
    for each in module.globals.values():
        initial = each.initial
        if initial is None or initial.kind != AGGREGATE or initial.type.kind != ARRAY or not each.constant:
            continue
        targets = [_target(part, each) for part in initial.parts]
        addresses = tuple([target for target in targets if target is not None])
        if targets and len(addresses) == len(targets):
            each.type = LlvmType(ARRAY, elements=(LlvmType(POINTER),), count=len(addresses))
            each.initial = Constant(AGGREGATE, each.type, parts=addresses)
            each.align = max(each.align, _ALIGN)
            module.relative.add(each.name)


def _target(value: Constant, table_: Global) -> Constant | None:
    """What an element is the distance to; None where it is something else."""
    if value.type.kind != INTEGER or value.type.bits != 32 or not _is(value, "trunc") or not _is(value.parts[0], "sub"):
        return None
    to, from_ = value.parts[0].parts
    if not _is(to, "ptrtoint") or not _is(from_, "ptrtoint") or table(from_.parts[0]) != table_.name:
        return None
    return to.parts[0]


def _is(value: Constant, name: str) -> bool:
    return value.kind == EXPRESSION and value.name == name


def table(value: Constant) -> str:
    """The global whose address a constant is; "" for others."""
    while _is(value, "bitcast"):
        value = value.parts[0]
    return value.name if value.kind == GLOBAL else ""
