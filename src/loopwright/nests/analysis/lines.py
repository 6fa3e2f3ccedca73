"""Values of a loop that counts, as straight lines over the number of its iteration, modulo a power of two.

A register of N bits that is computed by additions, subtractions and products with constants from what is the same in all iterations, and from variables that
advance by a constant, is ``constant + sum(coefficient * operand) + slope * k`` in iteration ``k``, modulo 2^N: so no addition has to be known not to wrap. An
extension to more bits is another matter: of a value that changes it is a line again only as long as the narrow value does not wrap, which is asked in front of the
loop (``Line.holds``). (The scalar evolution of O. Bachmann, P. Wang and E. Zima, *Chains of Recurrences*, ISSAC 1994, as far as it is linear.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.ir.ops import Op
from loopwright.types import I64, PTR, SIGNED, UNSIGNED, VOID, Type

__all__ = ["Bound", "Line", "Lines", "Writer"]

#: How many operations a value is followed through.
_DEPTH: Final = 40
#: What takes lower bits of an integer.
_CUTS: Final = frozenset((ops.AND, ops.SHR, ops.SHR_MODULO))


class Line:
    """``constant + sum(coefficient * operand) + slope * k`` modulo 2 to the ``bits``; the operands are the same in all iterations, and have ``bits`` bits or more."""

    __slots__ = ("bits", "constant", "slope", "terms")

    def __init__(self, bits: int, constant: int, slope: int = 0, terms: dict[int, int] | None = None) -> None:
        self.bits = bits
        self.constant = _wrapped(constant, bits)
        self.slope = _wrapped(slope, bits)
        self.terms: dict[int, int] = terms if terms is not None else {}

    def plus(self, other: Line, factor: int = 1) -> Line:
        """This line plus ``factor`` times another."""
        terms = dict(self.terms)
        for operand, coefficient in other.terms.items():
            total = _wrapped(terms.get(operand, 0) + factor * coefficient, self.bits)
            if total:
                terms[operand] = total
            else:
                terms.pop(operand, None)
        return Line(self.bits, self.constant + factor * other.constant, self.slope + factor * other.slope, terms)

    def times(self, factor: int) -> Line:
        return Line(self.bits, 0).plus(self, factor)

    def more(self, constant: int) -> Line:
        """This line plus a constant."""
        return Line(self.bits, self.constant + constant, self.slope, self.terms)

    def at(self, bits: int) -> Line:
        """The lower bits."""
        terms = {operand: _wrapped(coefficient, bits) for operand, coefficient in self.terms.items() if _wrapped(coefficient, bits)}
        return Line(bits, self.constant, self.slope, terms)

    def start(self) -> Line:
        """What it is in the first iteration."""
        return Line(self.bits, self.constant, 0, self.terms)

    def rest(self) -> tuple[tuple[int, int], ...]:
        """What tells it from lines that differ from it by a constant."""
        return (self.bits, self.slope), *sorted(self.terms.items())


def _wrapped(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Bound:
    """A narrow value that must not wrap: it is ``first``, an operand of i64, in the first iteration, ``slope`` more in each, and has to stay what its type holds."""

    __slots__ = ("first", "slope", "type")

    def __init__(self, first: int, slope: int, type_: Type) -> None:
        self.first = first
        self.slope = slope
        self.type = type_


class Writer:
    """Instructions that are added in front of a loop, or behind it."""

    __slots__ = ("f", "line", "out")

    def __init__(self, f: Function, line: int, out: list[Instr] | None = None) -> None:
        self.f = f
        self.line = line
        self.out: list[Instr] = out if out is not None else []

    def emit(self, op: Op, type_: Type, args: list[int], source: Type = VOID, mem: Mem | None = None) -> int:
        """An operation; of constants the constant it gives."""
        f = self.f
        if mem is None and all(a < 0 for a in args) and type_ is not PTR:
            known = f.folded(op, type_, source, args)
            if known is not None:
                return known
        dst = f.register(ops.result_type(op, type_, source))
        self.out.append(Instr(op, type_, dst, args, 0, self.line, source, mem))
        return dst

    def converted(self, operand: int, type_: Type) -> int:
        source = self.f.type_of(operand)
        return operand if source is type_ else self.emit(ops.CONVERT, type_, [operand], source)

    def line_at_start(self, line: Line) -> int:
        """The value of a line in the first iteration, as a signed integer of its bits."""
        type_ = SIGNED[line.bits]
        made = NONE
        for operand, coefficient in line.terms.items():
            part = self.converted(operand, type_)
            if coefficient == -1 and made != NONE:
                made = self.emit(ops.SUB, type_, [made, part])
                continue
            if coefficient != 1:
                part = self.emit(ops.MUL, type_, [part, self.f.const(type_, coefficient)])
            made = part if made == NONE else self.emit(ops.ADD, type_, [made, part])
        constant = self.f.const(type_, line.constant)
        if made == NONE:
            return constant
        return self.emit(ops.ADD, type_, [made, constant]) if line.constant else made

    def line_at(self, line: Line, k: int) -> int:
        """The value of a line in iteration ``k``, an operand of i64, as a signed integer of its bits."""
        first = self.line_at_start(line)
        if not line.slope:
            return first
        type_ = SIGNED[line.bits]
        steps = self.converted(k, type_)
        if line.slope != 1:
            steps = self.emit(ops.MUL, type_, [steps, self.f.const(type_, line.slope)])
        return steps if first < 0 and not line.terms and not line.constant else self.emit(ops.ADD, type_, [steps, first])


class Lines:
    """The lines of a loop's registers.

    Attributes:
        known: lines by register, those of variables that advance among them (by the registers that stand for them).
        made: per register that the loop defines: the instruction.
        written: the variables that the loop writes.
        ahead: what writes code in front of the loop: what is the same in all iterations, and was computed in each.
        bounds: narrow values that must not wrap.
    """

    __slots__ = ("ahead", "bounds", "extended", "f", "known", "made", "moved", "written")

    def __init__(self, f: Function, made: dict[int, Instr], written: set[int], ahead: Writer) -> None:
        self.f = f
        self.known: dict[int, Line | None] = {}
        self.made = made
        self.written = written
        self.ahead = ahead
        self.bounds: list[Bound] = []
        self.moved: dict[int, int] = {}
        self.extended: dict[tuple[object, ...], Line] = {}

    def of(self, operand: int, depth: int = 0) -> Line | None:
        """The line of an integer or pointer; None where it is none."""
        f = self.f
        type_ = f.type_of(operand)
        if not (type_.is_integer or type_ is PTR) or type_.lanes:
            return None
        if operand < 0:
            return Line(type_.bits, int(f.const_values[~operand]))
        if operand in self.known:
            return self.known[operand]
        if f.variable[operand]:
            return None if operand in self.written else Line(type_.bits, 0, 0, {operand: 1})
        instr = self.made.get(operand)
        if instr is None:
            return Line(type_.bits, 0, 0, {operand: 1})
        if depth > _DEPTH:
            return None
        found = self._computed(instr, type_.bits, depth + 1)
        if found is None:
            kept = self.same(operand, depth + 1)
            found = Line(type_.bits, 0, 0, {kept: 1}) if kept is not None else None
        self.known[operand] = found
        return found

    def _computed(self, instr: Instr, bits: int, depth: int) -> Line | None:
        op, args = instr.op, instr.args
        if op is ops.ADDRESS or (op is ops.ADD and instr.type is PTR) or (op is ops.SUB and instr.type is PTR):
            return self.address(instr, args, depth)
        if op is ops.ADD or op is ops.SUB:
            a, b = self.of(args[0], depth), self.of(args[1], depth)
            return None if a is None or b is None else a.plus(b, 1 if op is ops.ADD else -1)
        if op is ops.COPY:
            return self.of(args[0], depth)
        if op is ops.NEG:
            a = self.of(args[0], depth)
            return None if a is None else a.times(-1)
        if op is ops.MUL and (args[0] < 0 or args[1] < 0):
            factor, other = (args[0], args[1]) if args[0] < 0 else (args[1], args[0])
            a = self.of(other, depth)
            return None if a is None else a.times(int(self.f.const_values[~factor]))
        if (op is ops.SHL or op is ops.SHL_MODULO) and args[1] < 0:
            a = self.of(args[0], depth)
            count = int(self.f.const_values[~args[1]])
            return None if a is None or not 0 <= count < bits else a.times(1 << count)
        if op is ops.OR and args[1] < 0:
            # (Bits that are 0 in all iterations: an addition, which is how LLVM writes 2 * i + 1.)
            a = self.of(args[0], depth)
            value = int(self.f.const_values[~args[1]])
            if a is None or value < 0 or any(number % (1 << value.bit_length()) for number in (a.constant, a.slope, *a.terms.values())):
                return None
            return a.more(value)
        if (op is ops.XOR and args[1] < 0 and int(self.f.const_values[~args[1]]) in (-1, (1 << bits) - 1)) or op is ops.NOT:
            # (All bits the other way round: -x - 1.)
            a = self.of(args[0], depth)
            return None if a is None else a.times(-1).more(-1)
        if args[-1] < 0 and op in _CUTS:
            return self._cut(instr, int(self.f.const_values[~args[1]]), bits, depth)
        if op is ops.CONVERT and (instr.source.is_integer or instr.source is PTR):
            return self._converted(instr, bits, depth)
        return None

    def _converted(self, instr: Instr, bits: int, depth: int) -> Line | None:
        a = self.of(instr.args[0], depth)
        if a is None or bits == a.bits:
            return a
        if bits < a.bits:
            return a.at(bits)
        return self._extended(a, instr.source, bits) if a.slope else None

    def _cut(self, instr: Instr, constant: int, bits: int, depth: int) -> Line | None:
        """The lower bits of an integer, extended: by a mask, or shifted up and down again."""
        a = self.of(instr.args[0], depth)
        if a is None or not a.slope:
            return None
        if instr.op is ops.AND:
            type_ = UNSIGNED.get(constant.bit_length())
            return None if constant < 0 or type_ is None or constant & (constant + 1) else self._extended(a.at(type_.bits), type_, bits)
        if not 0 < constant < bits or any(number % (1 << constant) for number in (a.constant, a.slope, *a.terms.values())):
            return None
        types = SIGNED if instr.type.signed else UNSIGNED
        narrow = types.get(bits - constant)
        if narrow is None:
            return None
        terms = {operand: coefficient >> constant for operand, coefficient in a.terms.items()}
        return self._extended(Line(narrow.bits, a.constant >> constant, a.slope >> constant, terms), narrow, bits)

    def _extended(self, a: Line, type_: Type, bits: int) -> Line:
        """A narrow value in more bits: a line as long as it does not wrap."""
        key = (bits, type_.number, a.constant, *a.rest())
        known = self.extended.get(key)
        if known is None:
            first = self.ahead.converted(self.ahead.converted(self.ahead.line_at_start(a), type_), I64)
            self.bounds.append(Bound(first, a.slope, type_))
            known = Line(bits, 0, a.slope, {first: 1}) if first >= 0 else Line(bits, int(self.f.const_values[~first]), a.slope)
            self.extended[key] = known
        return known

    def address(self, instr: Instr, args: list[int], depth: int = 0) -> Line | None:
        """The line of an address, or of a pointer that is moved."""
        mem = instr.mem
        base = self.of(args[0], depth)
        if base is None:
            return None
        if mem is None:
            moved = self.of(args[1], depth)
            return None if moved is None else base.plus(moved, 1 if instr.op is ops.ADD else -1)
        if mem.indexed:
            index = self.of(args[1], depth)
            if index is None:
                return None
            base = base.plus(index, mem.scale)
        return base.more(mem.disp)

    def same(self, operand: int, depth: int = 0) -> int | None:
        """What an operand is, in front of the loop, if it is the same in all iterations; code that computes it there is written once."""
        f = self.f
        if operand < 0 or operand in self.moved:
            return self.moved.get(operand, operand)
        if f.variable[operand]:
            return None if operand in self.written or operand in self.known else operand
        if operand in self.known and operand not in self.made:
            return None
        instr = self.made.get(operand)
        if instr is None:
            return operand
        if depth > _DEPTH or not instr.op.pure:
            return None
        args: list[int] = []
        for a in instr.args:
            kept = self.same(a, depth + 1)
            if kept is None:
                return None
            args.append(kept)
        made = f.register(f.types[operand], f.names[operand])
        copy = instr.copy()
        copy.dst, copy.args = made, args
        self.ahead.out.append(copy)
        self.moved[operand] = made
        return made
