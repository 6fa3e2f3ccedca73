"""The type of a result that has no annotation: of the first value that is returned, or of one that holds all that are."""

from __future__ import annotations

from typing import Any, Final

from loopwright.frontend.expr import Weak, is_number
from loopwright.frontend.promotion import holds_all
from loopwright.frontend.staging import Staging
from loopwright.frontend.state import Restage
from loopwright.types import BOOL, F64, I64, VOID, Type, limits

__all__ = ["INFERRED", "infer"]

#: Notes the type, and whether it is only that of a Python number, which has none of its own.
INFERRED: Final = ("result",)


def infer(s: Staging, value: Any) -> None:
    """A value is returned: where the result, as it is known so far, cannot be it, the kernel is staged once more with another type. What has no type is told of by others."""
    found = _type_of(s, value)
    if found is None:
        return
    type_, loose = found
    have, have_loose = s.notes.get(INFERRED, (VOID, False))
    if have is type_:
        if have_loose and not loose:
            s.notes[INFERRED] = type_, False
        return
    if have is not VOID:
        if holds_all(type_, have) or (loose and _takes(have, value)):
            return
        mixed = BOOL in (have, type_) or (have.is_float and type_.is_integer)
        if not (holds_all(have, type_) or (have_loose and not mixed)):
            s.emitter.fail(
                f"the result is {have} at one `return` and {type_} at this one: annotate it, as in `def kernel(…) -> lw.{type_}:`, and convert what is returned"
            )
        loose = loose and have_loose
    s.notes[INFERRED] = type_, loose
    raise Restage


def _takes(have: Type, number: Any) -> bool:
    """Whether a type takes a Python number, as a variable of that type does."""
    if have.is_float:
        return True
    if not have.is_integer or type(number) is not int:
        return False
    least, most = limits(have)
    return bool(least <= number <= most)


def _type_of(s: Staging, value: Any) -> tuple[Type, bool] | None:
    """The type of a value, and whether it is a Python number."""
    if is_number(value):
        return (BOOL, False) if type(value) is bool else (F64 if type(value) is float else I64, True)
    made = s.emitter.wrap(value)
    if made is None:
        return None
    if isinstance(made, Weak) and made.open:
        s.emitter.settle(made)
    return (made.type, False) if not made.type.lanes else None
