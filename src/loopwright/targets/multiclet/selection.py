"""Which command serves which operation of the intermediate representation: one row for an operation and its types.

A row has three columns: the operation, its types (names, or a group of them), and the command, whose suffix is the type's. What takes more than one command, or
depends on where its operands lie, is in ``values.py``; the names of those operations are here too, without a command.

A place of the switch holds an integer of fewer than 64 bits with anything above its bits: commands read as many as their suffix says. What needs more, conversions
to wider types and to floats, extends it. A ``bool`` is 0 or 1, a float of 32 bits its bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from loopwright.errors import AbiError, TargetError, UnsupportedOperationError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets.multiclet.commands import Row
from loopwright.targets.rows import read_rows, words
from loopwright.targets.target import Rule
from loopwright.types import BOOL, PTR, VOID, Type, parse_type

__all__ = ["COMPARE", "command_of", "compare_of", "rule_for", "serving", "suffix_of"]

_TABLE: Final = """
add         | int float ptr | add
sub         | int float ptr | sub
mul         | int float     | mul
mul_high    | signed        | mulh
mul_high    | unsigned      | mulhu
div         | float         | div
div_trunc   | signed        | div
div_trunc   | unsigned      | divu
rem_trunc   | signed        | mod
rem_trunc   | unsigned      | modu
neg         | int float     | neg
abs         | float         | abs
sqrt        | float         | sqrt
and         | int bool      | and
or          | int bool      | or
xor         | int bool      | xor
not         | int           | not
shl_modulo  | int           | shl
shr_modulo  | signed        | sar
shr_modulo  | unsigned      | shr
# Of several commands, or of none.
not         | bool          | -
andnot      | int bool      | -
shl         | int           | -
shr         | int           | -
select      | any           | -
copy        | any           | -
load_at     | int float ptr | -
store_at    | int float ptr | -
address     | ptr           | -
local       | ptr           | -
table       | ptr           | -
global      | ptr           | -
function    | ptr           | -
store_arg   | any           | -
convert     | any           | -
convert_unchecked | int     | -
bitcast     | int float     | -
eq          | any           | -
ne          | any           | -
lt          | int float ptr | -
le          | int float ptr | -
gt          | int float ptr | -
ge          | int float ptr | -
"""

_GROUPS: Final = {
    "signed": "i8 i16 i32 i64",
    "unsigned": "u8 u16 u32 u64",
    "int": "i8 i16 i32 i64 u8 u16 u32 u64",
    "float": "f32 f64",
    "any": "i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 ptr bool",
}


def _read() -> dict[tuple[int, str], str]:
    found: dict[tuple[int, str], str] = {}
    for name, types, command in read_rows(_TABLE.strip("\n")):
        for group in types.split():
            for type_name in words(group, _GROUPS):
                found[ops.BY_NAME[name].code, type_name] = command
    return found


_ROWS: Final[dict[tuple[int, str], str]] = _read()
_SCALARS: Final = frozenset(_GROUPS["any"].split())

#: Comparisons by condition: the command of signed integers and floats, that of unsigned ones, and whether it holds where the command does not.
COMPARE: Final[dict[str, tuple[str, str, bool]]] = {
    "eq": ("eq", "eq", False),
    "ne": ("ne", "ne", False),
    "lt": ("lt", "ltu", False),
    "le": ("le", "leu", False),
    "gt": ("gt", "gtu", False),
    "ge": ("ge", "geu", False),
    "nlt": ("lt", "ltu", True),
    "nle": ("le", "leu", True),
    "ngt": ("gt", "gtu", True),
    "nge": ("ge", "geu", True),
}


def suffix_of(type_: Type) -> str:
    """The letter of a scalar type."""
    if type_.is_float:
        return "f" if type_.bits == 32 else "d"
    if type_ is BOOL:
        return "b"
    return {8: "b", 16: "s", 32: "l", 64: "q"}[type_.bits]


def command_of(op: Op, type_: Type, own: dict[tuple[int, str], str]) -> str:
    """The mnemonic of an operation on a type, "-" where there is more to it, "" where there is none; ``own`` are the processor's (``serving``), which go before."""
    key = op.code, type_.name
    return own.get(key) or _ROWS.get(key, "")


def compare_of(condition: str, type_: Type) -> tuple[str, bool]:
    """The mnemonic of a comparison, and whether the condition holds where that does not."""
    signed, unsigned, turned = COMPARE[condition]
    return signed if type_.signed or type_.is_float else unsigned, turned


def serving(rows: dict[str, Row]) -> dict[tuple[int, str], str]:
    """The commands among some (by mnemonic with suffix) that serve operations of their own accord: by the operation and its type, as ``_ROWS`` has them.

    Raises:
        TargetError: a row that serves what is no operation, or one of other operands, or types that it has no suffix for.
    """
    found: dict[tuple[int, str], str] = {}
    for row in dict.fromkeys(rows.values()):
        if not row.serves:
            continue
        name, _, types = row.serves.partition(" ")
        op = ops.BY_NAME.get(name)
        if op is None:
            raise TargetError(f"{row.mnemonic} serves {name!r}, which is no operation: docs/operations.md lists them")
        if op.result != "T" or op.operands != ("T",) * len(row.places) or op.further or not op.pure or op is ops.COPY:
            raise TargetError(
                f"{row.mnemonic} has {len(row.places)} operand{'s' * (len(row.places) != 1)} of one type and gives one of it, which {name} does not"
            )
        for each in words(types, _GROUPS) if types else [each for each in words("int float", _GROUPS) if _suffix(each) in row.suffixes]:
            if each not in _SCALARS or _suffix(each) not in row.suffixes:
                raise TargetError(f"{row.mnemonic} serves {name} of {each}, which none of its suffixes {' '.join(row.suffixes)} stands for")
            found[op.code, each] = row.mnemonic
    return found


def _suffix(type_name: str) -> str:
    return suffix_of(parse_type(type_name))


def _nothing(assembler: Any, f: Function, instr: Instr) -> None:
    """What a rule would emit: the passes of this machine make commands themselves."""


_known: Final[dict[str, Rule]] = {}


def _named(name: str) -> Rule:
    known = _known.get(name)
    if known is None:
        emit: Callable[..., None] = _nothing
        known = _known[name] = Rule(name, (), None, emit)
    return known


def rule_for(target_name: str, has: Callable[[str], bool], own: dict[tuple[int, str], str], f: Function, instr: Instr) -> Rule:
    """The rule of an instruction: a name for it.

    Raises:
        UnsupportedOperationError: there is no command for it, in the table or on the processor.
        AbiError: a call or a return of something that is no scalar.
    """
    op, type_ = instr.op, instr.type
    if op is ops.BARRIER or op is ops.ALLOCA:
        return _named(op.name)
    if op.effect == ops.CALLS:
        callee = f.callees[instr.imm]
        for each in (*callee.params, callee.result):
            if each is not VOID and each.name not in _SCALARS:
                raise AbiError(
                    f"{callee.name}: the convention of {target_name} passes scalars (integers, pointers, f32, f64), not {each.name}", line=instr.line
                )
        return _named(op.name)
    if op is ops.RET:
        if f.result is not VOID and f.result.name not in _SCALARS:
            raise AbiError(f"the convention of {target_name} returns scalars (integers, pointers, f32, f64), not {f.result.name}")
        return _named(op.name)
    if op.effect == ops.CONTROL:
        if op.compare in ("disjoint", "meets") or (type_ is not VOID and type_.name not in _SCALARS):
            raise _unsupported(target_name, instr)
        return _named(op.name)
    command = command_of(op, type_, own)
    source_missing = instr.source is not VOID and instr.source.name not in _SCALARS
    if not command or source_missing:
        raise _unsupported(target_name, instr)
    mnemonic = f"{command}_{suffix_of(type_)}"
    if command != "-" and not has(mnemonic):
        raise _unsupported(target_name, instr, f": it has no command {mnemonic}, and none that it could be made of")
    if op is ops.CONVERT and instr.source.is_float and type_ is PTR:
        raise _unsupported(target_name, instr)
    return _named(op.name)


def _unsupported(target_name: str, instr: Instr, why: str = "") -> UnsupportedOperationError:
    of = f".{instr.type.name}" if instr.type is not VOID else ""
    source = f".{instr.source.name}" if instr.source is not VOID else ""
    return UnsupportedOperationError(f"{target_name} has no {instr.op.name}{of}{source}{why}", line=instr.line)
