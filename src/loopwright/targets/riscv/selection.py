"""Which instructions serve which operation of the intermediate representation on RISC-V: one row for an operation and its types.

A row has three columns::

    operation | types | instructions

*Operation* is its name; where the instructions are for constants only, its operands behind it: ``0`` is that constant, ``#b`` any. *Types* are those of the
operation: names as in the IR, or a group of them (``_GROUPS``); after ``from`` those of its source. *Instructions* are written as ``sequence.py`` explains; where
there are several, the lines below with two empty columns belong to the row. Of rows for the same operation and type the first serves that has room for the
constants among the operands. The constants that stay inside an instruction are those that some row has room for.

Registers hold integers as LP64D passes them: ``i32`` and ``u32`` sign-extended from 32 bits, the narrower ones extended by their own signedness, ``bool`` 0 or 1.
Every row expects and leaves them so; narrow ones are computed with in 64 bits and cut.

To add an operation, add a row here (docs/adding-an-instruction.md). What takes more than a list of instructions is in ``lowering.py``.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.targets.riscv.sequence import Sequence, read
from loopwright.targets.rows import read_rows, words
from loopwright.targets.target import Rule
from loopwright.types import Type

__all__ = ["choose", "room", "sequences"]

_TABLE: Final = """
# Arithmetic
add              | int                           | addi? d, a, #b
                 |                               | cut d
add              | int                           | add? d, a, b
                 |                               | cut d
add              | float                         | fadd.$ d, a, b
sub              | int                           | addi? d, a, -#b
                 |                               | cut d
sub              | int                           | sub? d, a, b
                 |                               | cut d
sub              | float                         | fsub.$ d, a, b
mul              | int                           | slli? d, a, log#b
                 |                               | cut d
mul              | int                           | mul? d, a, b
                 |                               | cut d
mul              | float                         | fmul.$ d, a, b
mul_high         | i64                           | mulh d, a, b
mul_high         | u64                           | mulhu d, a, b
div              | float                         | fdiv.$ d, a, b
# By what is not 0.
div_trunc        | signed                        | div? d, a, b
div_trunc        | unsigned                      | divu? d, a, b
rem_trunc        | signed                        | rem? d, a, b
rem_trunc        | unsigned                      | remu? d, a, b
neg              | int                           | sub? d, zero, a
                 |                               | cut d
neg              | float                         | fsgnjn.$ d, a, a
# (a xor sign) - sign, with the sign spread over the register.
abs              | signed                        | srai t, a, 63
                 |                               | xor d, a, t
                 |                               | sub? d, d, t
                 |                               | cut d
abs              | unsigned                      | mv d, a
abs              | float                         | fsgnjx.$ d, a, a
fma              | float                         | fmadd.$ d, a, b, c
fms              | float                         | fmsub.$ d, a, b, c
fnma             | float                         | fnmsub.$ d, a, b, c
fnms             | float                         | fnmadd.$ d, a, b, c
sqrt             | float                         | fsqrt.$ d, a
copy_sign        | float                         | fsgnj.$ d, a, b
# With ``fastmath``: NaN and signed zeros do not count.
min              | float                         | fmin.$ d, a, b
max              | float                         | fmax.$ d, a, b

# Bitwise
and              | int bool                      | andi d, a, #b
and              | int bool                      | and d, a, b
or               | int bool                      | ori d, a, #b
or               | int bool                      | or d, a, b
xor              | int bool                      | xori d, a, #b
xor              | int bool                      | xor d, a, b
andnot           | int bool                      | xori d, a, -1
                 |                               | and d, d, b
not              | bool                          | xori d, a, 1
not              | u8                            | xori d, a, 255
not              | u16                           | xori d, a, -1
                 |                               | cut d
not              | int                           | xori d, a, -1

# Shifts: the instructions take the count modulo the width. Of narrow types 64 bits have room for what is shifted out of them.
shl_modulo       | int                           | slli? d, a, #b
                 |                               | cut d
shl_modulo       | i32 u32 i64 u64 ptr           | sll? d, a, b
shl_modulo       | i8 u8                         | andi t, b, 7
                 |                               | sll d, a, t
                 |                               | cut d
shl_modulo       | i16 u16                       | andi t, b, 15
                 |                               | sll d, a, t
                 |                               | cut d
shr_modulo       | signed                        | srai? d, a, #b
shr_modulo       | i32 i64                       | sra? d, a, b
shr_modulo       | i8                            | andi t, b, 7
                 |                               | sra d, a, t
shr_modulo       | i16                           | andi t, b, 15
                 |                               | sra d, a, t
shr_modulo       | unsigned                      | srli? d, a, #b
shr_modulo       | u32 u64 ptr                   | srl? d, a, b
shr_modulo       | u8                            | andi t, b, 7
                 |                               | srl d, a, t
shr_modulo       | u16                           | andi t, b, 15
                 |                               | srl d, a, t
# By the width or more nothing is left but the sign: the result is kept, or the count all ones, by whether the count is less.
shl              | int                           | slli? d, a, #b
                 |                               | cut d
shl a, #b        | int                           | mv d, zero
shl              | i32 u32                       | sltiu t, b, 32
                 |                               | sllw d, a, b
                 |                               | sub t, zero, t
                 |                               | and d, d, t
shl              | int                           | sltiu t, b, 64
                 |                               | sll d, a, b
                 |                               | sub t, zero, t
                 |                               | and d, d, t
                 |                               | cut d
shr              | signed                        | srai? d, a, #b
shr              | i32                           | sltiu t, b, 32
                 |                               | addi t, t, -1
                 |                               | or t, t, b
                 |                               | sraw d, a, t
shr              | signed                        | sltiu t, b, 64
                 |                               | addi t, t, -1
                 |                               | or t, t, b
                 |                               | sra d, a, t
shr              | unsigned                      | srli? d, a, #b
shr a, #b        | unsigned                      | mv d, zero
shr              | u32                           | sltiu t, b, 32
                 |                               | srlw d, a, b
                 |                               | sub t, zero, t
                 |                               | and d, d, t
shr              | unsigned                      | sltiu t, b, 64
                 |                               | srl d, a, b
                 |                               | sub t, zero, t
                 |                               | and d, d, t

# Comparisons: narrow unsigned integers compare as signed ones
eq a, 0          | int                           | sltiu d, a, 1
eq               | int                           | xor d, a, b
                 |                               | sltiu d, d, 1
ne a, 0          | int                           | sltu d, zero, a
ne               | int                           | xor d, a, b
                 |                               | sltu d, zero, d
lt               | u32 u64 ptr                   | sltu d, a, b
lt               | int                           | slt d, a, b
gt               | u32 u64 ptr                   | sltu d, b, a
gt               | int                           | slt d, b, a
le               | u32 u64 ptr                   | sltu d, b, a
                 |                               | xori d, d, 1
le               | int                           | slt d, b, a
                 |                               | xori d, d, 1
ge               | u32 u64 ptr                   | sltu d, a, b
                 |                               | xori d, d, 1
ge               | int                           | slt d, a, b
                 |                               | xori d, d, 1
eq               | float                         | feq.$ d, a, b
ne               | float                         | feq.$ d, a, b
                 |                               | xori d, d, 1
lt               | float                         | flt.$ d, a, b
gt               | float                         | flt.$ d, b, a
le               | float                         | fle.$ d, a, b
ge               | float                         | fle.$ d, b, a

# Jumps, by a bool and by the comparison that decides
jump_if          | bool                          | bne a, zero, @
jump_unless      | bool                          | beq a, zero, @
jump_eq 0, b     | int bool                      | beq b, zero, @
jump_eq          | int bool                      | beq a, b, @
jump_ne 0, b     | int bool                      | bne b, zero, @
jump_ne          | int bool                      | bne a, b, @
jump_lt          | u32 u64 ptr                   | bltu a, b, @
jump_lt          | int bool                      | blt a, b, @
jump_gt          | u32 u64 ptr                   | bltu b, a, @
jump_gt          | int bool                      | blt b, a, @
jump_le          | u32 u64 ptr                   | bgeu b, a, @
jump_le          | int bool                      | bge b, a, @
jump_ge          | u32 u64 ptr                   | bgeu a, b, @
jump_ge          | int bool                      | bge a, b, @
jump_eq          | float                         | feq.$ t, a, b
                 |                               | bne t, zero, @
jump_ne          | float                         | feq.$ t, a, b
                 |                               | beq t, zero, @
jump_lt          | float                         | flt.$ t, a, b
                 |                               | bne t, zero, @
jump_gt          | float                         | flt.$ t, b, a
                 |                               | bne t, zero, @
jump_le          | float                         | fle.$ t, a, b
                 |                               | bne t, zero, @
jump_ge          | float                         | fle.$ t, b, a
                 |                               | bne t, zero, @
jump_nlt         | float                         | flt.$ t, a, b
                 |                               | beq t, zero, @
jump_ngt         | float                         | flt.$ t, b, a
                 |                               | beq t, zero, @
jump_nle         | float                         | fle.$ t, a, b
                 |                               | beq t, zero, @
jump_nge         | float                         | fle.$ t, b, a
                 |                               | beq t, zero, @

# Conversions of integers
convert          | bool from bool                | mv d, a
convert          | bool from int                 | sltu d, zero, a
convert          | i64 u64 ptr from u32          | slli d, a, 32
                 |                               | srli d, d, 32
convert          | i64 u64 ptr from int bool     | mv d, a
convert          | i32 u32 from i64 u64 ptr      | addiw d, a, 0
convert          | i32 u32 from int bool         | mv d, a
convert          | i16 from i8 u8 i16 bool       | mv d, a
convert          | u16 from u8 u16 bool          | mv d, a
convert          | i8 from i8 bool               | mv d, a
convert          | u8 from u8 bool               | mv d, a
convert          | i8 u8 i16 u16 from int        | cut d, a
bitcast          | i8 u8 from i8 u8              | cut d, a
bitcast          | i16 u16 from i16 u16          | cut d, a
bitcast          | i32 u32 from i32 u32          | mv d, a
bitcast          | i64 u64 ptr from i64 u64 ptr  | mv d, a

# Conversions of floats. To integers towards zero; what does not fit becomes the nearest bound, NaN 0: fcvt does so but for NaN, of which it makes the greatest
# (ISA manual, table "Domains of float-to-integer conversions"), so that is made 0 by whether the number is equal to itself.
convert          | f32 from f32                  | fmv.s d, a
convert          | f64 from f64                  | fmv.d d, a
convert          | f32 from f64                  | fcvt.s.d d, a
convert          | f64 from f32                  | fcvt.d.s d, a
convert          | float from i8 u8 i16 u16 i32 bool | fcvt.$.w d, a
convert          | float from u32                | fcvt.$.wu d, a
convert          | float from i64                | fcvt.$.l d, a
convert          | float from u64 ptr            | fcvt.$.lu d, a
convert          | bool from f32                 | fmv.w.x t, zero
                 |                               | feq.s d, a, t
                 |                               | xori d, d, 1
convert          | bool from f64                 | fmv.d.x t, zero
                 |                               | feq.d d, a, t
                 |                               | xori d, d, 1
convert          | i32 from float                | fcvt.w.$ d, a, rtz
                 |                               | feq.$ t, a, a
                 |                               | sub t, zero, t
                 |                               | and d, d, t
convert          | u32 from float                | fcvt.wu.$ d, a, rtz
                 |                               | feq.$ t, a, a
                 |                               | sub t, zero, t
                 |                               | and d, d, t
convert          | i64 from float                | fcvt.l.$ d, a, rtz
                 |                               | feq.$ t, a, a
                 |                               | sub t, zero, t
                 |                               | and d, d, t
convert          | u64 ptr from float            | fcvt.lu.$ d, a, rtz
                 |                               | feq.$ t, a, a
                 |                               | sub t, zero, t
                 |                               | and d, d, t
# Of what fits.
convert_unchecked | i8 u8 i16 u16 i32 from float | fcvt.w.$ d, a, rtz
                 |                               | cut d
convert_unchecked | u32 from float               | fcvt.wu.$ d, a, rtz
convert_unchecked | i64 from float               | fcvt.l.$ d, a, rtz
convert_unchecked | u64 ptr from float           | fcvt.lu.$ d, a, rtz
convert_down     | i8 u8 i16 u16 i32 from float  | fcvt.w.$ d, a, rdn
                 |                               | cut d
convert_down     | u32 from float                | fcvt.wu.$ d, a, rdn
convert_down     | i64 from float                | fcvt.l.$ d, a, rdn
convert_down     | u64 ptr from float            | fcvt.lu.$ d, a, rdn
convert_up       | i8 u8 i16 u16 i32 from float  | fcvt.w.$ d, a, rup
                 |                               | cut d
convert_up       | u32 from float                | fcvt.wu.$ d, a, rup
convert_up       | i64 from float                | fcvt.l.$ d, a, rup
convert_up       | u64 ptr from float            | fcvt.lu.$ d, a, rup
convert_nearest  | i8 u8 i16 u16 i32 from float  | fcvt.w.$ d, a, rne
                 |                               | cut d
convert_nearest  | u32 from float                | fcvt.wu.$ d, a, rne
convert_nearest  | i64 from float                | fcvt.l.$ d, a, rne
convert_nearest  | u64 ptr from float            | fcvt.lu.$ d, a, rne
bitcast          | f32 from i32 u32              | fmv.w.x d, a
bitcast          | f64 from i64 u64 ptr          | fmv.d.x d, a
bitcast          | i32 u32 from f32              | fmv.x.w d, a
bitcast          | i64 u64 ptr from f64          | fmv.x.d d, a
bitcast          | f32 from f32                  | fmv.s d, a
bitcast          | f64 from f64                  | fmv.d d, a

# Memory
load_at          | i8                            | lb d, m
load_at          | u8                            | lbu d, m
load_at          | i16                           | lh d, m
load_at          | u16                           | lhu d, m
load_at          | i32 u32                       | lw d, m
load_at          | i64 u64 ptr                   | ld d, m
load_at          | f32                           | flw d, m
load_at          | f64                           | fld d, m
store_at         | i8 u8                         | sb a, m
store_at         | i16 u16                       | sh a, m
store_at         | i32 u32                       | sw a, m
store_at         | i64 u64 ptr                   | sd a, m
store_at 0       | f32                           | sw zero, m
store_at         | f32                           | fsw a, m
store_at 0       | f64                           | sd zero, m
store_at         | f64                           | fsd a, m
address          | ptr                           | addi d, m
"""

_GROUPS: Final[dict[str, str]] = {
    "int": "i8 i16 i32 i64 u8 u16 u32 u64 ptr",
    "signed": "i8 i16 i32 i64",
    "unsigned": "u8 u16 u32 u64 ptr",
    "float": "f32 f64",
}


def _table() -> dict[tuple[str, str, str], list[tuple[list[str], str]]]:
    """Operands and instructions by operation, type and source type."""
    found: dict[tuple[str, str, str], list[tuple[list[str], str]]] = {}
    for op, types, text in read_rows(_TABLE):
        name, _, operands = op.partition(" ")
        asked = [word.strip() for word in operands.split(",")] if operands else []
        to, _, source = types.partition(" from ")
        for of in words(source, _GROUPS) or [""]:
            for type_ in words(to, _GROUPS):
                found.setdefault((name, type_, of), []).append((asked, text))
    return found


_ROWS: Final = _table()


def _name(op: Op, type_: Type, source: Type) -> str:
    """The operation whose rows serve."""
    if op.compare:
        # A comparison that has become part of a bracket is emitted when jumps have replaced brackets. Of integers none is unordered.
        return "jump_" + (op.compare if type_.is_float else ops.ORDERED_EQUAL.get(op.compare, op.compare))
    if op is ops.IF or op is ops.BR_IF:
        return "jump_if"
    if op is ops.CONVERT_UNCHECKED and not (type_.is_integer and source.is_float):
        return "convert"
    return op.name


_KNOWN: Final[dict[int, list[Sequence]]] = {}


def sequences(op: Op, type_: Type, source: Type) -> list[Sequence]:
    """The instructions that serve an operation on certain types, those for constants first; none where the table has no row."""
    key = (op.code << 16 | type_.number) << 16 | source.number
    known = _KNOWN.get(key)
    if known is None:
        rows = _ROWS.get((_name(op, type_, source), type_.name, source.name if "S" in op.operands else ""), [])
        known = _KNOWN[key] = [read(op, type_, source, operands, text) for operands, text in rows]
    return known


def choose(f: Function, instr: Instr) -> Rule | None:
    """The rule for an instruction by the table; None where no row serves."""
    for found in sequences(instr.op, instr.type, instr.source):
        if found.serves(f, instr.args):
            return found.rule
    return None


def room(instr: Instr, position: int, of: Type, value: int | float | bool) -> bool:
    """Whether a constant operand has room in the instructions of one of the rows that serve."""
    held = False
    for found in sequences(instr.op, instr.type, instr.source):
        held = held or found.holds(position, of, value)
    return held
