"""The commands, one row each: name, types, operands, the unit that does it, its latency's class, and its meaning.

A row with the status ``C`` is in the published listings or articles, with this name or, of the R1, its older spelling; ``A`` marks what C programs need and
nothing published names: the name and the meaning are ours. See docs/multiclet.md.

The suffix says how wide the operands are: a command reads so many low bits of each and gives its result sign-extended to the 64 bits of a place of the switch
(facts: "values sign-extend to 64 bits, loadu zero-extends, comparisons give 1 or 0"). A float of 32 bits is kept as its bits, sign-extended as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final

from loopwright.errors import TargetError

__all__ = ["ADDRESS", "CALLED", "COMMANDS", "DESTINATION", "FLOATS", "INTEGERS", "SUM", "TARGET", "VALUE", "WIDTHS", "Row", "form", "forms"]

#: Places for operands. A value is a base or a constant, or in memory, where it is as wide as the suffix says; a sum may be a base and a constant as well.
VALUE: Final = "value"
SUM: Final = "sum"
#: Where a store writes, and where a jump goes: if in memory, a pointer of 32 bits. The first may be the sum of a base and a constant.
ADDRESS: Final = "address"
TARGET: Final = "target"
#: A register that is written.
DESTINATION: Final = "destination"

INTEGERS: Final = "bslq"
FLOATS: Final = "fd"
#: Bits of each suffix.
WIDTHS: Final[dict[str, int]] = {"b": 8, "s": 16, "l": 32, "q": 64, "f": 32, "d": 64}


def _truncated_quotient(a: int, b: int) -> int:
    """The quotient cut towards zero; 0 where the divisor is 0."""
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    """What the truncated quotient leaves, with the sign of the dividend; 0 where the divisor is 0."""
    return 0 if b == 0 else a - _truncated_quotient(a, b) * b


def _float_quotient(a: float, b: float) -> float:
    """IEEE 754's quotient."""
    if b != 0.0:
        return a / b
    if a == 0.0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _square_root(a: float) -> float:
    """IEEE 754's square root."""
    return math.nan if a < 0.0 else math.sqrt(a)


def _saturated(a: float, low: int, high: int) -> int:
    """The float cut towards zero and kept in bounds; 0 for NaN, as the library's conversions have it."""
    if math.isnan(a):
        return 0
    if a <= low:
        return low
    return high if a >= high else int(a)


def _nearest(a: int, bits: int) -> float:
    """The float of so many bits nearest to an integer. Of 32 bits: what is below the last bit but one is kept as one bit first, so that it is rounded once."""
    spare = abs(a).bit_length() - 26
    if bits == 64 or spare <= 0:
        return float(a)
    rest = abs(a) & (1 << spare) - 1
    kept = float((abs(a) >> spare | (1 if rest else 0)) << spare)
    return -kept if a < 0 else kept


#: What meanings written as text may call.
CALLED: Final[dict[str, Any]] = {
    "nearest": _nearest,
    "quotient": _truncated_quotient,
    "remainder": _remainder,
    "float_quotient": _float_quotient,
    "square_root": _square_root,
    "saturated": _saturated,
    "absolute": math.fabs,
}


class Row:
    """A command.

    Attributes:
        mnemonic: its name without a suffix.
        suffixes: the letters it takes, or "" if it takes none.
        places: the kind of each operand: ``VALUE``, ``SUM``, ``ADDRESS``, ``TARGET`` or ``DESTINATION``.
        unit: where it is done: ``integer``, ``memory`` or ``float``.
        latency: its class in ``Processor.latencies``.
        takes: how the meaning sees operands: ``signed`` or ``unsigned`` integers of the suffix's width, ``float`` of its width, ``wide`` for signed integers of
            64 bits and ``single`` or ``double`` for floats, whatever the suffix.
        gives: what it leaves in the switch: ``signed`` (cut to the suffix's width and sign-extended), ``unsigned`` (cut, zero-extended), ``flag`` (0 or 1,
            of which nothing is to be cut), ``float``; "" for nothing.
        effect: "" for plain operations; ``load``, ``store``, ``register`` and ``jump`` are done by the processor itself.
        meaning: a Python expression in ``a``, ``b`` and ``bits`` (the suffix's width), or a function called as ``meaning(bits, a, b)``. Of a jump: whether it
            is taken. It may give any integer: what is above the width is cut.
        line: what it does, in a line.
        status: ``C`` confirmed, ``A`` assumed.
        serves: the operation of the IR (docs/operations.md) that code has it for, and the types, as in the rows of ``selection.py``: ``popcount int``, ``min i32 i64``;
            "" for none.
    """

    __slots__ = ("effect", "function", "gives", "latency", "line", "meaning", "mnemonic", "places", "serves", "status", "suffixes", "takes", "unit")

    def __init__(
        self,
        mnemonic: str,
        suffixes: str,
        places: tuple[str, ...],
        meaning: str | Callable[..., Any],
        line: str,
        *,
        unit: str = "integer",
        latency: str = "integer",
        takes: str = "signed",
        gives: str = "signed",
        effect: str = "",
        status: str = "C",
        serves: str = "",
    ) -> None:
        self.mnemonic: Final = mnemonic
        self.suffixes: Final = suffixes
        self.places: Final = places
        self.unit: Final = unit
        self.latency: Final = latency
        self.takes: Final = takes
        self.gives: Final = gives
        self.effect: Final = effect
        self.meaning: Final = meaning
        self.line: Final = line
        self.status: Final = status
        self.serves: Final = serves
        _check(self)
        self.function: Final = _function(meaning, len(places))

    def __repr__(self) -> str:
        return f"Row({self.mnemonic})"

    def __reduce__(self) -> tuple[object, ...]:
        words = self.unit, self.latency, self.takes, self.gives, self.effect, self.status, self.serves
        return _row, (self.mnemonic, self.suffixes, self.places, self.meaning, self.line, *words)


def _row(mnemonic: str, suffixes: str, places: tuple[str, ...], meaning: str | Callable[..., Any], line: str, *words: str) -> Row:
    """A row that was pickled: one of the processors' own is the one that there is."""
    unit, latency, takes, gives, effect, status, serves = words
    known = COMMANDS.get(f"{mnemonic}_{suffixes[0]}" if suffixes else mnemonic)
    if known is not None and (known.meaning, known.latency, known.takes, known.gives, known.serves) == (meaning, latency, takes, gives, serves):
        return known
    return Row(mnemonic, suffixes, places, meaning, line, unit=unit, latency=latency, takes=takes, gives=gives, effect=effect, status=status, serves=serves)


#: What may stand in a row's columns that are words.
_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "unit": ("integer", "memory", "float"),
    "takes": ("signed", "unsigned", "float", "wide", "single", "double"),
    "gives": ("signed", "unsigned", "flag", "float", ""),
    "effect": ("", "load", "store", "register", "jump"),
    "status": ("C", "F", "A"),
}
#: Names as assembler text has them.
_MNEMONIC: Final = re.compile("[A-Za-z][A-Za-z0-9]*")


def _check(row: Row) -> None:
    """Whether a row can be one.

    Raises:
        TargetError: it cannot.
    """
    name = row.mnemonic
    if not isinstance(name, str) or not _MNEMONIC.fullmatch(name):
        raise TargetError(f"a command's name consists of letters and digits, not {name!r}")
    if not isinstance(row.suffixes, str) or not set(row.suffixes) <= WIDTHS.keys() or (not row.suffixes and row.effect != "jump"):
        raise TargetError(f"the suffixes of {name} are letters out of {' '.join(WIDTHS)}, not {row.suffixes!r}")
    if not 1 <= len(row.places) <= 2 or not set(row.places) <= {VALUE, SUM, ADDRESS, TARGET, DESTINATION}:
        raise TargetError(f"{name} takes one operand or two, as in (VALUE, VALUE), not {row.places!r}")
    for column, words in _WORDS.items():
        if getattr(row, column) not in words:
            raise TargetError(f"{name}: {column} is {getattr(row, column)!r}; it has to be {', '.join([repr(word) for word in words])}")
    if not isinstance(row.meaning, str) and not callable(row.meaning):
        raise TargetError(f"the meaning of {name} is an expression in a, b and bits, or a function called as meaning(bits, a, b), not {row.meaning!r}")
    if row.serves and (row.effect or set(row.places) != {VALUE}):
        raise TargetError(f"{name} has effects, or operands that are no values: it serves no operation")


def _function(meaning: str | Callable[..., Any], operands: int) -> Callable[..., Any]:
    """The meaning as a function of the width and the operands."""
    if not isinstance(meaning, str):
        return meaning
    try:
        made: Callable[..., Any] = eval(f"lambda bits, {', '.join(('a', 'b')[:operands])}: {meaning}", dict(CALLED))
    except SyntaxError as error:
        raise TargetError(f"the meaning {meaning!r} is no Python expression: {error.msg}") from None
    return made


_TWO: Final = (VALUE, VALUE)


def _integers() -> list[Row]:
    rows = [
        Row("add", INTEGERS, _TWO, "a + b", "a + b"),
        Row("sub", INTEGERS, _TWO, "a - b", "a - b"),
        Row("and", INTEGERS, _TWO, "a & b", "bits that both have"),
        Row("or", INTEGERS, _TWO, "a | b", "bits that either has"),
        Row("xor", INTEGERS, _TWO, "a ^ b", "bits that one of them has"),
        Row("not", INTEGERS, (VALUE,), "~a", "all bits turned", status="A"),
        Row("neg", INTEGERS, (VALUE,), "-a", "0 - a", status="A"),
        Row("shl", INTEGERS, _TWO, "a << (b & bits - 1)", "a shifted left by b modulo the width", status="A"),
        Row("shr", INTEGERS, _TWO, "a >> (b & bits - 1)", "a shifted right by b modulo the width, zeros coming in", takes="unsigned", status="A"),
        Row("sar", INTEGERS, _TWO, "a >> (b & bits - 1)", "a shifted right by b modulo the width, copies of the sign coming in", status="A"),
        Row("mul", INTEGERS, _TWO, "a * b", "the lower half of the product", latency="multiply"),
        Row("mulh", INTEGERS, _TWO, "a * b >> bits", "the upper half of the signed product", latency="multiply", status="A"),
        Row("mulhu", INTEGERS, _TWO, "a * b >> bits", "the upper half of the unsigned product", latency="multiply", takes="unsigned", status="A"),
        Row("div", INTEGERS, _TWO, "quotient(a, b)", "the signed quotient cut towards zero; 0 where b is 0", latency="divide"),
        Row("divu", INTEGERS, _TWO, "a // b if b else 0", "the unsigned quotient; 0 where b is 0", latency="divide", takes="unsigned", status="A"),
        Row("mod", INTEGERS, _TWO, "remainder(a, b)", "what div leaves; 0 where b is 0", latency="divide", status="A"),
        Row("modu", INTEGERS, _TWO, "a % b if b else 0", "what divu leaves; 0 where b is 0", latency="divide", takes="unsigned", status="A"),
        Row("patch", "q", _TWO, "a << 32 | b & 0xFFFFFFFF", "64 bits of two halves, the upper one first"),
        Row("selt", INTEGERS, _TWO, "b if a else 0", "b if a is not 0, else 0", status="A"),
        Row("self", INTEGERS, _TWO, "0 if a else b", "b if a is 0, else 0", status="A"),
    ]
    for name, sign in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
        rows.append(Row(name, INTEGERS, _TWO, f"1 if a {sign} b else 0", f"whether a {sign} b, signed", gives="flag"))
        if sign not in ("==", "!="):
            rows.append(Row(f"{name}u", INTEGERS, _TWO, f"1 if a {sign} b else 0", f"whether a {sign} b, unsigned", takes="unsigned", gives="flag", status="A"))
    return rows


def _float(name: str, places: tuple[str, ...], meaning: str, line: str, latency: str = "float", gives: str = "float", status: str = "C") -> Row:
    return Row(name, FLOATS, places, meaning, line, unit="float", latency=latency, takes="float", gives=gives, status=status)


def _floats() -> list[Row]:
    rows = [
        _float("add", _TWO, "a + b", "a + b, rounded to nearest"),
        _float("sub", _TWO, "a - b", "a - b"),
        _float("mul", _TWO, "a * b", "a * b"),
        _float("div", _TWO, "float_quotient(a, b)", "a / b", "float_divide"),
        _float("sqrt", (VALUE,), "square_root(a)", "the square root", "float_divide", status="A"),
        _float("neg", (VALUE,), "-a", "the other sign", status="A"),
        _float("abs", (VALUE,), "absolute(a)", "without the sign", status="A"),
    ]
    for name, sign in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
        rows.append(_float(name, _TWO, f"1 if a {sign} b else 0", f"whether a {sign} b; of NaN only != holds", gives="flag"))
    return rows


def _conversions() -> list[Row]:
    """Integers of all widths lie sign-extended in the switch, so that one command of 64 bits converts them all."""

    def made(name: str, suffixes: str, meaning: str, line: str, takes: str, gives: str) -> Row:
        return Row(name, suffixes, (VALUE,), meaning, line, unit="float", latency="convert", takes=takes, gives=gives, status="A")

    signed, unsigned = "saturated(a, -1 << bits - 1, (1 << bits - 1) - 1)", "saturated(a, 0, (1 << bits) - 1)"
    return [
        made("cvtq", FLOATS, "nearest(a, bits)", "the float nearest to a signed integer of 64 bits", "wide", "float"),
        made("cvtuq", FLOATS, "nearest(a & 0xFFFFFFFFFFFFFFFF, bits)", "the float nearest to an unsigned integer of 64 bits", "wide", "float"),
        made("cvtf", INTEGERS, signed, "a float of 32 bits to a signed integer: cut towards zero, kept in bounds; 0 for NaN", "single", "signed"),
        made("cvtd", INTEGERS, signed, "a float of 64 bits to a signed integer, likewise", "double", "signed"),
        made("cvtfu", INTEGERS, unsigned, "a float of 32 bits to an unsigned integer, likewise", "single", "signed"),
        made("cvtdu", INTEGERS, unsigned, "a float of 64 bits to an unsigned integer, likewise", "double", "signed"),
        made("cvtf", "d", "a", "a float of 32 bits to one of 64", "single", "float"),
        made("cvtd", "f", "a", "a float of 64 bits to the nearest of 32", "double", "float"),
    ]


def _of_the_processor() -> list[Row]:
    every = INTEGERS + FLOATS
    jump = {"latency": "jump", "gives": "", "effect": "jump"}
    return [
        Row("load", every, (SUM,), "a", "the operand: what memory holds, or a copy; sign-extended", unit="memory", latency="load", effect="load"),
        Row(
            "loadu",
            INTEGERS,
            (SUM,),
            "a",
            "the operand, zero-extended",
            unit="memory",
            latency="load",
            takes="unsigned",
            gives="unsigned",
            effect="load",
        ),
        Row("wr", every, (VALUE, ADDRESS), "a", "writes the value to memory at the address", unit="memory", latency="store", gives="", effect="store"),
        Row("setrg", "lq", (DESTINATION, SUM), "b", "writes the value to the register", latency="register", gives="", effect="register"),
        Row("setjf", INTEGERS, (VALUE, TARGET), "a == 0", "the next paragraph is b if a is 0", **jump),
        Row("setjt", INTEGERS, (VALUE, TARGET), "a != 0", "the next paragraph is b if a is not 0", **jump),
        Row("jmp", "", (TARGET,), "True", "the next paragraph is a", **jump),
    ]


def forms(rows: list[Row]) -> dict[str, Row]:
    """Rows by mnemonic with suffix, in the order given."""
    found: dict[str, Row] = {}
    for row in rows:
        for name in [f"{row.mnemonic}_{suffix}" for suffix in row.suffixes] or [row.mnemonic]:
            found[name] = row
    return found


#: Every command by its mnemonic with suffix: ``COMMANDS["add_l"]``.
COMMANDS: Final[dict[str, Row]] = forms([*_integers(), *_floats(), *_conversions(), *_of_the_processor()])


def form(mnemonic: str) -> tuple[Row, str]:
    """The row and suffix of a mnemonic as it stands in the text."""
    return COMMANDS[mnemonic], mnemonic.partition("_")[2]
