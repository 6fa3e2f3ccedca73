"""Commands that a processor of one's own lacks, as a few others that it has: what needs no branches, and no more than the operands as they lie in the switch.

For each command there are several ways, each with the commands that it takes. Which ways a processor has is found out once (``substitutes``), from those that take only what is
there, to those that take what has been found, so that no way leads back to itself. What takes more than this is in ``lacking.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from loopwright.targets.multiclet.commands import COMMANDS, FLOATS, INTEGERS, WIDTHS
from loopwright.targets.multiclet.flow import CONSTANT, Arg
from loopwright.targets.multiclet.parameters import Processor
from loopwright.types import I8, I16, I32, U8, U16, U32, Type

__all__ = ["Maker", "Substitute", "substitutes"]


class Maker:
    """What makes commands (``values.Values``)."""

    def value(self, name: str, suffix: str, args: list[Arg]) -> Arg:
        """What a command makes, or those that stand for it."""
        raise NotImplementedError

    def truth(self, a: Arg) -> Arg:
        """A value that is known to be 0 or 1."""
        raise NotImplementedError

    def extended(self, a: Arg, type_: Type) -> Arg:
        """An integer of a type as one of 64 bits."""
        raise NotImplementedError


#: Makes the commands, of a suffix, on operands.
Substitute = Callable[[Maker, str, list[Arg]], Arg]
#: What a way takes, and the way.
_Way = tuple[tuple[str, ...], Substitute]

_SIGNED: Final[dict[str, Type]] = {"b": I8, "s": I16, "l": I32}
_UNSIGNED: Final[dict[str, Type]] = {"b": U8, "s": U16, "l": U32}
#: Commands of wider integers whose lower bits are the result; of the first ones whatever is above the operands, of the others what has been extended.
_OF_ANY: Final = ("add", "sub", "mul", "and", "or", "xor", "not", "neg", "shl")
_OF_SIGNED: Final = ("div", "mod", "sar", "eq", "ne", "lt", "le", "gt", "ge")
_OF_UNSIGNED: Final = ("divu", "modu", "shr", "ltu", "leu", "gtu", "geu")
_NARROW: Final = (*_OF_ANY, *_OF_SIGNED, *_OF_UNSIGNED)
_SHIFTS: Final = ("shl", "shr", "sar")
#: Of an order: the one of the operands exchanged, and the opposite.
_EXCHANGED: Final = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_OPPOSITE: Final = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
#: The suffix of the bits of a float.
_BITS: Final = {"f": "l", "d": "q"}


def _constant(value: int) -> Arg:
    return Arg(CONSTANT, number=value)


def _least(suffix: str) -> int:
    """The integer whose sign alone is set."""
    return -(1 << WIDTHS[suffix] - 1)


# --- integers ---------------------------------------------------------------------------------------------------------


def _turned(name: str) -> Substitute:
    """Whether something does not hold."""
    return lambda v, s, args: v.value("xor", "q" if s in FLOATS else s, [v.truth(v.value(name, s, args)), _constant(1)])


def _swapped(name: str) -> Substitute:
    return lambda v, s, args: v.value(name, s, [args[1], args[0]])


def _moved(name: str) -> Substitute:
    """An order of numbers by that of the others, signed or not: both have the top bit turned."""
    return lambda v, s, args: v.value(name, s, [v.value("xor", s, [a, _constant(_least(s))]) for a in args])


def _joined(first: str, second: str, last: str) -> Substitute:
    """Of two operations on both operands one result."""
    return lambda v, s, args: v.value(last, s, [v.value(first, s, args), v.value(second, s, args)])


def _shifted_with_sign(v: Maker, s: str, args: list[Arg]) -> Arg:
    top = v.value("shr", s, [_constant(_least(s)), args[1]])
    return v.value("sub", s, [v.value("xor", s, [v.value("shr", s, args), top]), top])


def _shifted_with_zeros(v: Maker, s: str, args: list[Arg]) -> Arg:
    above = v.value("shl", s, [v.value("sar", s, [_constant(_least(s)), args[1]]), _constant(1)])
    return v.value("and", s, [v.value("sar", s, args), v.value("not", s, [above])])


def _of_integers(name: str, s: str) -> Iterator[tuple[tuple[str, ...], Substitute]]:
    if name == "neg":
        yield ("sub",), lambda v, s, args: v.value("sub", s, [_constant(0), args[0]])
        yield ("not", "add"), lambda v, s, args: v.value("add", s, [v.value("not", s, args), _constant(1)])
        yield ("mul",), lambda v, s, args: v.value("mul", s, [args[0], _constant(-1)])
    elif name == "not":
        yield ("xor",), lambda v, s, args: v.value("xor", s, [args[0], _constant(-1)])
        yield ("neg", "add"), lambda v, s, args: v.value("add", s, [v.value("neg", s, args), _constant(-1)])
    elif name == "add":
        yield ("sub", "neg"), lambda v, s, args: v.value("sub", s, [args[0], v.value("neg", s, [args[1]])])
    elif name == "sub":
        yield ("add", "neg"), lambda v, s, args: v.value("add", s, [args[0], v.value("neg", s, [args[1]])])
    elif name == "xor":
        yield ("or", "and", "sub"), _joined("or", "and", "sub")
    elif name in ("and", "or"):
        other = "or" if name == "and" else "and"
        yield ("add", other, "sub"), _joined("add", other, "sub")
    elif name == "sar":
        yield ("shr", "xor", "sub"), _shifted_with_sign
    elif name == "shr":
        yield ("sar", "shl", "and", "not"), _shifted_with_zeros
    elif name == "eq":
        yield ("ne", "xor"), _turned("ne")
        yield ("xor", "ltu"), lambda v, s, args: v.value("ltu", s, [v.value("xor", s, args), _constant(1)])
    elif name == "ne":
        yield ("eq", "xor"), _turned("eq")
        yield ("xor", "ltu"), lambda v, s, args: v.value("ltu", s, [_constant(0), v.value("xor", s, args)])
    else:
        yield from _of_orders(name)


def _of_orders(name: str) -> Iterator[tuple[tuple[str, ...], Substitute]]:
    order, unsigned = (name[:-1], "u") if name.endswith("u") else (name, "")
    if order not in _EXCHANGED:
        return
    exchanged, opposite = _EXCHANGED[order] + unsigned, _OPPOSITE[order] + unsigned
    other = order + ("" if unsigned else "u")
    yield (exchanged,), _swapped(exchanged)
    yield (opposite, "xor"), _turned(opposite)
    yield (other, "xor"), _moved(other)


def _wider(name: str, s: str, wide: str) -> _Way:
    """An operation by the one on wider integers."""
    signed = name not in _OF_UNSIGNED
    type_ = _SIGNED[s] if signed else _UNSIGNED[s]
    takes = [f"{name}_{wide}"]
    if name not in _OF_ANY:
        takes.append(f"{'load' if signed else 'loadu'}_{s}")
    if name in _SHIFTS:
        takes.append(f"and_{wide}")

    def made(v: Maker, s: str, args: list[Arg]) -> Arg:
        given = args if name in _OF_ANY else [v.extended(a, type_) for a in args]
        if name in _SHIFTS:
            given = [given[0], v.value("and", wide, [args[1], _constant(WIDTHS[s] - 1)])]
        return v.value(name, wide, given)

    return tuple(takes), made


# --- floats -----------------------------------------------------------------------------------------------------------


def _of_bits(name: str) -> Substitute:
    """A comparison of floats by their bits, as integers that have the same order: the lower bits negated under a sign, so that both zeros are 0. Of NaN nothing holds."""

    def made(v: Maker, s: str, args: list[Arg]) -> Arg:
        bits = _BITS[s]
        infinity = _constant(0x7F800000 if s == "f" else 0x7FF0000000000000)
        keys: list[Arg] = []
        ordered: list[Arg] = []
        for a in args:
            size = v.value("and", bits, [a, _constant(~_least(bits))])
            sign = v.value("sar", bits, [a, _constant(WIDTHS[bits] - 1)])
            keys.append(v.value("sub", bits, [v.value("xor", bits, [size, sign]), sign]))
            ordered.append(v.truth(v.value("le", bits, [size, infinity])))
        holds = v.truth(v.value(name, bits, keys))
        return v.value("and", "q", [holds, v.value("and", "q", ordered)])

    return made


def _of_floats(name: str, s: str) -> Iterator[_Way]:
    bits = _BITS[s]
    if name == "neg":
        yield (f"xor_{bits}",), lambda v, s, args: v.value("xor", bits, [args[0], _constant(_least(bits))])
    elif name == "abs":
        yield (f"and_{bits}",), lambda v, s, args: v.value("and", bits, [args[0], _constant(~_least(bits))])
    elif name == "ne":
        yield (f"eq_{s}", "xor_q"), _turned("eq")
    elif name == "eq" or name in _EXCHANGED:
        if name == "eq":
            yield (f"ne_{s}", "xor_q"), _turned("ne")
        else:
            yield (f"{_EXCHANGED[name]}_{s}",), _swapped(_EXCHANGED[name])
        yield tuple(f"{each}_{bits}" for each in ("and", "sar", "xor", "sub", "le", name)) + ("and_q",), _of_bits(name)


# --- those of a processor ------------------------------------------------------------------------------------------------


def _ways(form: str) -> Iterator[_Way]:
    name, _, s = form.partition("_")
    if s in FLOATS:
        yield from _of_floats(name, s)
        return
    for takes, made in _of_integers(name, s):
        yield tuple(f"{each}_{s}" for each in takes), made
    if name in _NARROW:
        for wide in INTEGERS[INTEGERS.index(s) + 1 :]:
            yield _wider(name, s, wide)


def substitutes(processor: Processor) -> dict[str, Substitute]:
    """The ways for commands, by mnemonic with suffix, that a processor lacks and that can be made of others."""
    there = {form for form in COMMANDS if processor.has(form)}
    missing = [form for form in COMMANDS if form not in there and "_" in form]
    found: dict[str, Substitute] = {}
    while missing:
        new: dict[str, Substitute] = {}
        for form in missing:
            made = next((made for takes, made in _ways(form) if there.issuperset(takes)), None)
            if made is not None:
                new[form] = made
        if not new:
            break
        found.update(new)
        there.update(new)
        missing = [form for form in missing if form not in new]
    return found
