"""The text form of a function: printing, and comparing; ``parse`` reads it back (its grammar is in ``ir/parse.py``).

    function poly(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64)
      option contract
      array x: f32[%x.n0] at %x
      array y: f32[%y.n0] at %y written
      %i = for 0, %x.n0, 16 mask %m: mask32x16 unroll 4
        %6 = masked_load.f32x16 %m, x[%i]  ; @12
        %7 = fma.f32x16 %6, %6, 1.0  ; @12
        masked_store.f32x16 %m, %7, y[%i]  ; @12
      end
    end

A register is ``%name`` where its name is unique in the function, ``%name.7`` where it is not, ``%7`` without a name;
after allocation ``$rax`` by the target's name (``$0`` by number without a target) and ``@s2`` for a stack slot.
``; @12`` is the user's line; any other comment is free text. Constants stand as literals of the type their place asks
for, ``5:u8`` where the place does not say. Whatever a function's meaning depends on is in the text.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from loopwright.ir import ops
from loopwright.ir.function import INCOMING, LOCAL_ALIGN, NONE, PLACES, SLOT, TOGETHER, USUAL, Array, Callee, Function, Instr, Op, round_f32
from loopwright.ir.parse import NAME, parse, parse_all
from loopwright.ir.roles import address_at, natural_size, operand_types
from loopwright.types import BOOL, I64, PTR, VOID, Type

__all__ = ["Notes", "Printer", "equal", "instruction_text", "parse", "parse_all", "print_function", "signature_text"]

#: Trailing comments for a listing: by index of the instruction, or computed from index and instruction.
Notes = Mapping[int, str] | Callable[[int, Instr], str]

#: Brackets beyond so many are not indented further.
_INDENTED: Final = 40
_WORD: Final = re.compile(r"[^\W\d]\w*")
_PLAIN: Final = re.compile(r"[\w.+-]+")

_ARRAY: Final = 1
_CALLEE: Final = 2
_DEPTH: Final = 3
_LABEL: Final = 4
_NUMBER: Final = 5
_GLOBAL: Final = 6
_FUNCTION: Final = 7


def _forms() -> list[int]:
    """How the ``imm`` of each operation is written, by ``Op.code``; 0 for operations that have none."""
    forms = [0] * len(ops.OPS)
    for op in ops.ACCESSES:
        forms[op.code] = _ARRAY
    for op in ops.CALLING:
        forms[op.code] = _CALLEE
    forms[ops.GLOBAL.code] = _GLOBAL
    forms[ops.FUNCTION.code] = _FUNCTION
    for op in (ops.BR, ops.BR_IF, *ops.BR_CMP.values()):
        forms[op.code] = _DEPTH
    for op in (ops.LABEL, ops.JUMP, ops.JUMP_TABLE, ops.JUMP_IF, ops.JUMP_UNLESS, *ops.JUMP_CMP.values()):
        forms[op.code] = _LABEL
    for op in (
        ops.FAIL,
        ops.STORE_ARG,
        ops.PART,
        ops.GATHER_SINGLY,
        *ops.INDEXED,
        *ops.CHUNKS,
        *ops.LOAD_PART.values(),
        *ops.STORE_SOME.values(),
        *ops.ADVANCES.values(),
    ):
        forms[op.code] = _NUMBER
    return forms


_FORM: Final[list[int]] = _forms()


def print_function(f: Function, target: Any = None, notes: Notes | None = None, source: bool = False) -> str:
    """The text of a function, which ``parse`` reads back.

    Args:
        f: the function, at any stage.
        target: names the registers after allocation; without it they print by number.
        notes: comments to put behind instructions.
        source: put the user's source line, as a comment, before the first instruction it led to.
    """
    return Printer(f, target).function(notes, source)


def instruction_text(f: Function, instr: Instr, target: Any = None) -> str:
    """The text of one instruction, without indentation and line."""
    return Printer(f, target).instruction(instr)


def signature_text(name: str, params: Sequence[Type], result: Type, named: int = -1, places: tuple[int, ...] = (), results: tuple[Type, ...] = ()) -> str:
    """A signature as the header of a function has it: ``fib(i64) -> i64``; of a variable number of arguments behind the ``named``: ``printf(ptr, ..., i32) -> i32``."""
    types = [type_.name + place_text(places, n) for n, type_ in enumerate(params)]
    returned = result_text(result, results)
    if named >= 0:
        types.insert(named, "...")
    return f"{name}({', '.join(types)}){returned}"


def place_text(places: tuple[int, ...], n: int) -> str:
    """Where an argument goes, unless that is the usual place."""
    place = places[n] if n < len(places) else USUAL
    if place > TOGETHER:
        return f" together {place - TOGETHER}"
    return f" {PLACES[place]}" if place != USUAL else ""


def result_text(result: Type, results: tuple[Type, ...]) -> str:
    if results:
        return f" -> {', '.join(each.name for each in results)}"
    return f" -> {result.name}" if result is not VOID else ""


def _quoted(name: str) -> str:
    return name if _WORD.fullmatch(name) else json.dumps(name)


def _callee_text(callee: Callee) -> str:
    return signature_text(_quoted(callee.name), callee.params, callee.result, callee.named, callee.places, callee.results)


def _raw(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def _float_text(value: float, bits: int) -> str:
    if bits < 64 and value - value == 0.0:
        # The shortest digits that round to the same value in the constant's type.
        for digits in (6, 7, 8):
            text = f"{value:.{digits}g}"
            if round_f32(float(text)) == value:
                return repr(float(text))
    return repr(value)


class Printer:
    """Prints a function, or single instructions of it, with one naming of its registers."""

    def __init__(self, f: Function, target: Any = None) -> None:
        self.f = f
        self.names: dict[int, str] = {}
        self._declared: list[int] = []
        self._name_registers()
        self._arrays = _unique([array.name for array in f.arrays])
        self._callees = _unique([callee.name for callee in f.callees])
        self._globals = _unique([each.name for each in f.globals])
        self._physical: list[str] = [f"${r.name}" for r in target.registers] if target is not None and f.physical else []

    def _name_registers(self) -> None:
        """Names for the registers in the text, and which of them need declaring because no instruction shows their type."""
        f = self.f
        count = len(f.types)
        shown = dict.fromkeys(f.params)
        known = set(f.params)
        undefined: dict[int, None] = {}
        for array in f.arrays:
            for r in (array.base, *array.extents, *array.strides):
                if r >= 0:
                    shown[r] = None
        if not f.physical:
            types = f.types
            for instr in f.code:
                for r in instr.args:
                    if r >= 0:
                        shown[r] = None
                r = instr.dst
                if r >= 0:
                    shown[r] = None
                    if r not in known:
                        known.add(r)
                        if r < count and types[r] is not ops.result_type(instr.op, instr.type, instr.source) and not f.variable[r]:
                            undefined[r] = None
                loop = instr.loop
                if loop is not None:
                    if loop.mask >= 0:
                        shown[loop.mask] = None
                        known.add(loop.mask)
                    for variable, _, identity in loop.accumulators:
                        shown[variable] = None
                        if identity >= 0:
                            shown[identity] = None
        names = f.names
        uses: dict[str, int] = {}
        for r in shown:
            name = names[r] if r < count else ""
            if name:
                uses[name] = uses.get(name, 0) + 1
        params = set(f.params)
        for r in shown:
            name = names[r] if r < count else ""
            if not name or not NAME.fullmatch(name):
                self.names[r] = f"%{r}"
            elif uses[name] == 1:
                self.names[r] = "%" + name
            else:
                self.names[r] = f"%{name}.{r}"
            if r < count and r not in params and (f.variable[r] or r in undefined or r not in known):
                self._declared.append(r)

    # --- parts --------------------------------------------------------------------------------------------

    def virtual(self, r: int) -> str:
        """A virtual register (also in a function that is allocated: its parameters)."""
        return self.names.get(r) or f"%{r}"

    def operand(self, x: int, expected: Type = VOID) -> str:
        """An operand; a constant shows its type unless it is the ``expected`` one."""
        if x < 0:
            return self._literal(~x, expected)
        if x >= SLOT:
            return f"@s{x - SLOT}"
        if self.f.physical:
            return self._physical[x] if x < len(self._physical) else f"${x}"
        return self.names.get(x) or f"%{x}"

    def _literal(self, number: int, expected: Type) -> str:
        f = self.f
        if number >= len(f.const_values):
            return f"?{number}"
        type_ = f.const_types[number]
        value = f.const_values[number]
        if type_.is_float:
            text = _float_text(float(value), type_.bits)
        elif type_.element is BOOL:
            text = "true" if value else "false"
        else:
            text = str(int(value))
        return text if type_ is expected else f"{text}:{type_.name}"

    def _list(self, operands: list[int], types: list[Type]) -> str:
        return ", ".join([self.operand(x, t) for x, t in zip(operands, types, strict=False)])

    def _extents(self, operands: list[int]) -> str:
        return ", ".join([self.virtual(x) if x >= 0 else self._literal(~x, I64) for x in operands])

    def _array(self, number: int) -> str:
        return self._arrays[number] if 0 <= number < len(self._arrays) else f"#{number}"

    def _address(self, instr: Instr, at: int) -> tuple[str, int]:
        mem = instr.mem
        args = instr.args
        if mem is None or len(args) < at + 1 + mem.indexed:
            return "[?]", 0
        if mem.origin is None:
            text = "[" + self.operand(args[at], PTR)
        elif mem.origin is ops.GLOBAL:
            text = f"[global {self._numbered(args[at], self._globals)}"
        else:
            text = f"[{mem.origin.name} {self.operand(args[at], I64)}"
        if mem.indexed:
            text += f" + {self.operand(args[at + 1], I64)}*{mem.scale}"
        if mem.disp:
            text += f" + {mem.disp}" if mem.disp > 0 else f" - {-mem.disp}"
        text += "]"
        if mem.array >= 0:
            text += f"{{of {self._array(mem.array)}}}"
        if mem.broadcast:
            text += "{bcast}"
        if mem.size and mem.size != natural_size(instr):
            text += f"{{size {mem.size}}}"
        return text, 1 + mem.indexed

    def instruction(self, instr: Instr) -> str:
        """One instruction, without indentation and line."""
        op: Op = instr.op
        args = instr.args
        text = op.name
        if instr.type is not VOID or instr.source is not VOID:
            text = f"{text}.{instr.type.name}"
            if instr.source is not VOID:
                text = f"{text}.{instr.source.name}"
        if instr.dst != NONE:
            text = f"{self.operand(instr.dst)} = {text}"
        form = _FORM[op.code] if op.code < len(_FORM) else 0
        if not args and form == 0 and instr.imm == 0:
            return text
        types = operand_types(self.f, instr)
        if form == _ARRAY:
            before = len(op.operands) - 1
            parts = [self.operand(x, t) for x, t in zip(args[:before], types, strict=False)]
            name = self._array(instr.imm)
            parts.append(f"{name}[{self._list(args[before:], types[before:])}]")
            return f"{text} {', '.join(parts)}"
        if form == _CALLEE:
            name = self._callees[instr.imm] if 0 <= instr.imm < len(self._callees) else f"#{instr.imm}"
            return f"{text} {name}({self._list(args, types)})"
        if form >= _GLOBAL and len(args) == 1:
            return f"{text} {self._numbered(args[0], self._globals if form == _GLOBAL else self._callees)}"
        parts = []
        if form in (_DEPTH, _NUMBER):
            parts.append(str(instr.imm))
        elif form == _LABEL:
            parts.append(f"L{instr.imm}")
        first = len(parts)
        if instr.mem is None:
            parts += [self.operand(x, t) for x, t in zip(args, types, strict=False)]
        else:
            at = address_at(instr)
            address, taken = self._address(instr, at)
            parts += [self.operand(x, t) for x, t in zip(args[:at], types, strict=False)]
            role = instr.mem.role
            parts.insert(first + role if 0 <= role < len(parts) - first else len(parts), address)
            parts += [self.operand(x) for x in args[at + taken :]]
        if parts:
            text = f"{text} {', '.join(parts)}"
        if form == 0 and instr.imm:
            text += f" imm {instr.imm}"
        loop = instr.loop
        if loop is not None:
            if loop.lanes:
                text += f" lanes{' whole' if loop.whole else ''}{' free' if loop.free else ''}"
            if loop.mask != NONE:
                text += f" mask {self.virtual(loop.mask)}: {self._type_name(loop.mask)}{' whole' if loop.whole else ''}"
            text += f" rest unroll {loop.unroll}" if loop.rest else f" unroll {loop.unroll}"
            for variable, operation, identity in loop.accumulators:
                text += f" accumulate {self.virtual(variable)} {operation.name} {self.operand(identity, self._type(variable))}"
        return text

    def _numbered(self, operand: int, names: list[str]) -> str:
        """What a constant operand is the number of, by name."""
        f = self.f
        number = int(f.const_values[~operand]) if -len(f.const_values) <= operand < 0 else -1
        return names[number] if 0 <= number < len(names) else f"#{number}"

    def _type(self, r: int) -> Type:
        return self.f.types[r] if 0 <= r < len(self.f.types) else VOID

    def _type_name(self, r: int) -> str:
        return self._type(r).name

    # --- the whole ----------------------------------------------------------------------------------------

    def _header(self) -> list[str]:
        f = self.f
        params = []
        for n, r in enumerate(f.params):
            prefix = "var " if r < len(f.variable) and f.variable[r] else ""
            params.append(f"{prefix}{self.virtual(r)}: {self._type_name(r)}{place_text(f.places, n)}")
        result = result_text(f.result, f.results)
        out = [f"function {_quoted(f.name)}({', '.join(params)}){result}"]
        if f.stage != "collect":
            out.append(f"  stage {_raw(f.stage)}")
        if f.target_name:
            out.append(f"  target {_raw(f.target_name)}")
        if f.physical:
            out.append("  physical")
        if f.file:
            out.append(f"  file {json.dumps(f.file)}")
        for option in ("contract", "fastmath", "check", "nests", "search"):
            if getattr(f.options, option):
                out.append(f"  option {option}")
        if f.options.schedule:
            out.append(f"  option schedule {json.dumps(f.options.schedule)}")
        if f.restrict:
            out.append(f"  restrict {', '.join([self.virtual(r) for r in f.params if r in f.restrict])}")
        for array in f.arrays:
            text = f"  array {_quoted(array.name)}: {array.element.name}[{self._extents(array.extents)}]"
            if array.strides:
                text += f" strides [{self._extents(array.strides)}]"
            if array.data:
                text += f' constant "{array.data.hex()}"'
            elif array.size:
                text += " local" if array.align == LOCAL_ALIGN else f" local align {array.align}"
            elif array.view:
                text += " view"
            text += f" at {self.virtual(array.base)}"
            out.append(
                text
                + " written" * array.written
                + " pairs" * array.pairs
                + " shared" * array.shared
                + f" apart {array.apart}" * (array.apart > 0)
                + " nontemporal" * array.nontemporal
                + f" aligned {array.aligned}" * (array.aligned > 0)
                + f" usual [{', '.join(map(str, array.usual))}]" * bool(array.usual)
            )
        for r in self._declared:
            out.append(f"  {'var' if f.variable[r] else 'reg'} {self.virtual(r)}: {f.types[r].name}")
        for callee in f.callees:
            out.append(f"  {'signature' if callee.signature else 'callee'} {_callee_text(callee)}")
        for each in f.globals:
            out.append(f"  global {_quoted(each.name)}")
        for site in f.sites:
            out.append(f"  site {_quoted(site.array)} dimension {site.dimension} line {site.line} {json.dumps(site.text)}")
        for number, slot in enumerate(f.slots):
            out.append(f"  slot @s{number}: {'incoming' if slot.kind == INCOMING else 'spill'} {slot.size} at {slot.offset}")
        frame = f.frame
        if frame is not None:
            text = f"  frame size {frame.size} outgoing {frame.outgoing} align {frame.align}"
            if frame.calls:
                text += " calls"
            if frame.moves:
                text += " moves"
            if frame.saved:
                text += f" saved {', '.join([self._physical[r] if r < len(self._physical) else f'${r}' for r in frame.saved])}"
            out.append(text)
        if f.labels:
            out.append(f"  labels {f.labels}")
        return out

    def function(self, notes: Notes | None = None, source: bool = False) -> str:
        """The whole function."""
        f = self.f
        out = self._header()
        depth = 1
        seen = 0
        index = -1
        labelled = f.labels > 0
        for instr in f.code:
            index += 1
            op = instr.op
            if op.closes and depth > 1:
                depth -= 1
            if source and instr.line and instr.line != seen:
                seen = instr.line
                known = f.lines.get(seen)
                if known is not None:
                    out.append(f"{'  ' * min(depth, _INDENTED)}; {seen}: {known.strip()}")
            if op is ops.LABEL:
                line = f"  L{instr.imm}:"
                if instr.imm in f.aligned:
                    line += " align"
            elif labelled:
                line = "    " + self.instruction(instr)
            else:
                line = "  " * min(depth, _INDENTED) + self.instruction(instr)
            note = ""
            if notes is not None:
                note = notes(index, instr) if callable(notes) else notes.get(index, "")
            if instr.line:
                line = f"{line}  ; @{instr.line} {note}" if note else f"{line}  ; @{instr.line}"
            elif note:
                line = f"{line}  ; {note}"
            out.append(line)
            if op.opens:
                depth += 1
        out.append("end\n")
        return "\n".join(out)


def _unique(names: list[str]) -> list[str]:
    """Names as references: themselves where they are words, with ``#number`` behind where several have one name; ``#number`` alone where they are none."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return [name * bool(_WORD.fullmatch(name)) + f"#{number}" * (counts[name] > 1 or not _WORD.fullmatch(name)) for number, name in enumerate(names)]


# --- comparing ---------------------------------------------------------------------------------------------------


def _kinds(array: Array) -> tuple[object, ...]:
    """What an array is, but for the registers it is made of."""
    kinds = (array.name, array.element, array.written, array.size, array.view, array.pairs, array.shared, array.nontemporal, array.aligned)
    return *kinds, array.align, array.apart, array.usual


def _shown_name(f: Function, r: int) -> str:
    name = f.names[r]
    return name if NAME.fullmatch(name) else ""


def _float_bits(value: float) -> bytes:
    return b"nan" if math.isnan(value) else struct.pack("<d", value)


class _Comparison:
    """Whether two functions are the same, up to the numbers of virtual registers."""

    def __init__(self, f: Function, g: Function) -> None:
        self.f = f
        self.g = g
        self.there: dict[int, int] = {}
        self.back: dict[int, int] = {}

    def virtual(self, a: int, b: int) -> bool:
        known = self.there.get(a)
        if known is not None:
            return known == b
        f, g = self.f, self.g
        if b in self.back or not (0 <= a < len(f.types) and 0 <= b < len(g.types)):
            return False
        self.there[a] = b
        self.back[b] = a
        return f.types[a] is g.types[b] and f.variable[a] == g.variable[b] and _shown_name(f, a) == _shown_name(g, b)

    def operand(self, a: int, b: int) -> bool:
        if a < 0 or b < 0:
            if a >= 0 or b >= 0:
                return False
            f, g = self.f, self.g
            type_ = f.const_types[~a]
            if type_ is not g.const_types[~b]:
                return False
            v, w = f.const_values[~a], g.const_values[~b]
            return _float_bits(v) == _float_bits(w) if type_.is_float else v == w
        if self.f.physical:
            return a == b
        return self.virtual(a, b)

    def registers(self, left: list[int], right: list[int]) -> bool:
        return len(left) == len(right) and all(self.virtual(a, b) for a, b in zip(left, right, strict=True))

    def instruction(self, i: Instr, j: Instr) -> bool:
        if i.op is not j.op or i.type is not j.type or i.source is not j.source or i.imm != j.imm or i.line != j.line or len(i.args) != len(j.args):
            return False
        if (i.dst == NONE) != (j.dst == NONE) or (i.dst != NONE and not self.operand(i.dst, j.dst)):
            return False
        for a, b in zip(i.args, j.args, strict=True):
            if not self.operand(a, b):
                return False
        m, n = i.mem, j.mem
        if m is None or n is None:
            if m is not n:
                return False
        elif (m.indexed, m.scale if m.indexed else 1, m.disp, m.broadcast, m.role, m.array, m.origin, m.size or natural_size(i)) != (
            n.indexed,
            n.scale if n.indexed else 1,
            n.disp,
            n.broadcast,
            n.role,
            n.array,
            n.origin,
            n.size or natural_size(j),
        ):
            return False
        k, h = i.loop, j.loop
        if k is None or h is None:
            return k is h
        if (
            k.unroll != h.unroll
            or (k.lanes, k.whole, k.rest, k.free) != (h.lanes, h.whole, h.rest, h.free)
            or (k.mask == NONE) != (h.mask == NONE)
            or (k.mask != NONE and not self.virtual(k.mask, h.mask))
            or len(k.accumulators) != len(h.accumulators)
        ):
            return False
        return all(self.virtual(v, w) and o is p and self.operand(c, d) for (v, o, c), (w, p, d) in zip(k.accumulators, h.accumulators, strict=True))

    def header(self) -> bool:
        f, g = self.f, self.g
        for name in ("name", "result", "physical", "stage", "target_name", "file", "labels"):
            if getattr(f, name) != getattr(g, name):
                return False
        if f.options.schedule != g.options.schedule:
            return False
        for name in ("contract", "fastmath", "check", "nests", "search"):
            if bool(getattr(f.options, name)) != bool(getattr(g.options, name)):
                return False
        if len(f.arrays) != len(g.arrays) or not self.registers(f.params, g.params):
            return False
        for a, b in zip(f.arrays, g.arrays, strict=True):
            if _kinds(a) != _kinds(b):
                return False
            for x, y in zip((a.base, *a.extents, *a.strides), (b.base, *b.extents, *b.strides), strict=True):
                if not (self.virtual(x, y) if x >= 0 and y >= 0 else self.operand(x, y)):
                    return False
        if [(c.signature, _callee_text(c)) for c in f.callees] != [(c.signature, _callee_text(c)) for c in g.callees] or (f.places, f.results) != (
            g.places,
            g.results,
        ):
            return False
        if [each.name for each in f.globals] != [each.name for each in g.globals]:
            return False
        if [(s.array, s.dimension, s.line, s.text) for s in f.sites] != [(s.array, s.dimension, s.line, s.text) for s in g.sites]:
            return False
        if [(s.kind, s.size, s.offset) for s in f.slots] != [(s.kind, s.size, s.offset) for s in g.slots]:
            return False
        if f.frame is None or g.frame is None:
            return f.frame is g.frame
        return all(getattr(f.frame, name) == getattr(g.frame, name) for name in ("saved", "size", "outgoing", "calls", "moves", "align"))


def equal(f: Function, g: Function) -> bool:
    """Whether two functions are the same in all their meaning depends on.

    Numbers of virtual registers and the order of constants may differ, and what the text leaves out: the addresses of
    callees, the user's source text and the target's rules.
    """
    comparison = _Comparison(f, g)
    if len(f.code) != len(g.code) or not comparison.header():
        return False
    for i, j in zip(f.code, g.code, strict=True):
        if not comparison.instruction(i, j):
            return False
        if i.op is ops.LABEL and (i.imm in f.aligned) != (j.imm in g.aligned):
            return False
    return True
