"""Arithmetic on lanes in 8 or 16 bits, where it is written in more and so many are all that of its results is used, or all that they ever take.

``u8((i32(a[i]) * 77 + i32(b[i]) * 179) >> 8)`` uses bits 8 to 15 of a sum, which depend on none above: it comes out the same computed in 16 bits, twice as many
lanes at a time (the demanded bits of LLVM's loop vectorizer; M. Stephenson, J. Babb and S. Amarasinghe, "Bitwidth analysis with application to silicon
compilation", PLDI 2000, section 3). What is divided, compared or shifted to the right counts as a whole: it has to fit in 16 bits, as a sum of nine bytes does, which the
ranges of what is loaded tell (ibid., section 2). So are variables that are set in the arms of branches (``4 if a[i] > x else 0``), where nothing outside of the loop mentions them.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr, wrap
from loopwright.ir.ranges import Range, fits, result
from loopwright.nests.analysis.operations import has
from loopwright.targets.target import Target
from loopwright.types import BOOL, I8, I16, U8, U16, VOID, Type, limits, vector_of

__all__ = ["narrow"]

#: In so many bits it is tried, the fewest first.
_WIDTHS: Final = {8: (U8, I8), 16: (U16, I16)}
#: Whose low bits depend on the low bits of the operands alone.
_LOW: Final = frozenset((ops.ADD, ops.SUB, ops.MUL, ops.NEG, ops.AND, ops.OR, ops.XOR, ops.SELECT))
#: Whose operands count as a whole.
_WHOLE: Final = frozenset((ops.ABS, ops.MIN, ops.MAX, ops.DIV_FLOOR, ops.DIV_TRUNC, ops.REM_FLOOR, ops.REM_TRUNC))
_BITWISE: Final = frozenset((ops.AND, ops.OR, ops.XOR))
_BY_NUMBERS: Final = ops.DIVISIONS | {ops.SHL, ops.SHR}


def narrow(f: Function, target: Target, head: int, end: int) -> None:
    """Narrow a loop over lanes whose brackets are at ``head`` and ``end``, where all that is wider than 8 or 16 bits in it can be and the machine has what it takes."""
    for bits in _WIDTHS:
        if _narrowed(f, target, head, end, bits):
            return


def _narrowed(f: Function, target: Target, head: int, end: int, most: int) -> bool:
    """Do so in ``most`` bits; False where that cannot be."""
    code: list[Instr] = f.code
    wide: list[Instr] = []
    compared: list[Instr] = []
    inside: set[int] = set()  # what the loop makes but for multiples of its indices
    variables: set[int] = set()
    for k in range(head + 1, end):
        instr = code[k]
        op = instr.op
        if op.effect == ops.CONTROL:
            if op is ops.FOR:
                return False
            continue
        if op is ops.STORE or op is ops.LOAD:
            inside.add(instr.dst)
            if instr.type.bits > most or (op is ops.LOAD and f.variable[instr.dst]):
                return False
            continue
        if instr.dst < 0 or not op.pure or instr.type.is_float or instr.source.is_float:
            return False
        type_ = f.types[instr.dst]
        if type_.bits > most and not _counts(f, instr, inside):
            inside.add(instr.dst)
            if not type_.is_integer:
                return False
            if f.variable[instr.dst]:
                if op is not ops.COPY and op is not ops.SELECT:
                    return False
                variables.add(instr.dst)
            wide.append(instr)
        elif type_.bits <= most:
            inside.add(instr.dst)
            if op in ops.COMPARING and instr.type.bits > most:
                compared.append(instr)
    if not wide or (variables and (_mentioned(code[:head], variables) or _mentioned(code[end:], variables))):
        return False
    type_ = _Uses(f, code, head, end, wide, compared, most).type()
    if type_ is VOID or not _possible(f, target, wide, compared, type_):
        return False
    _rewrite(f, code, head, end, wide, compared, type_)
    return True


def _mentioned(code: list[Instr], variables: set[int]) -> bool:
    """Whether code reads or writes one of some variables."""
    return any(instr.dst in variables or any(a in variables for a in instr.args) for instr in code)


def _counts(f: Function, instr: Instr, inside: set[int]) -> bool:
    """Whether it is arithmetic on indices, which is none on lanes."""
    if f.types[instr.dst].bits != 64 or instr.type.bits != 64 or (instr.op is ops.COPY and f.variable[instr.dst] and instr.args[0] < 0):
        return False
    return instr.op in (ops.ADD, ops.SUB, ops.COPY, ops.MUL) and not any(a in inside for a in instr.args)


class _Uses:
    """What is used of the wide values of a loop, and what they may be.

    Attributes:
        wide, compared: the instructions that make them, and the comparisons of them.
        bits: as narrow they are to be.
        ranges: the least and the greatest that a value may be, where that is known.
        need: of how many low bits something is made.
        whole: the values of which something is made by more than their low bits, constants among them.
    """

    __slots__ = ("bits", "code", "compared", "end", "f", "head", "made", "need", "ranges", "whole", "wide")

    def __init__(self, f: Function, code: list[Instr], head: int, end: int, wide: list[Instr], compared: list[Instr], bits: int) -> None:
        self.f = f
        self.bits = bits
        self.code = code
        self.head = head
        self.end = end
        self.wide = wide
        self.compared = compared
        self.made = {instr.dst for instr in wide}
        self.ranges: dict[int, Range] = {}
        self.need = dict.fromkeys(self.made, 0)
        self.whole: set[int] = set()

    def type(self) -> Type:
        """The type of so many bits that will do for all of them, or ``VOID``."""
        self.find_ranges()
        if not self.follow():
            return VOID
        needed = [self.known(a) for a in self.whole]
        for type_ in _WIDTHS[self.bits]:
            if all(known is not None and fits(known, type_) for known in needed):
                return type_
        return VOID

    def find_ranges(self) -> None:
        """Find the ranges: of variables from all that writes them, then of what is made of variables, too; and of what is narrow as it is and keeps some bits only."""
        f = self.f
        for k in range(self.head + 1, self.end):
            instr = self.code[k]
            if instr.op in _BITWISE and instr.type.is_integer and instr.type.bits <= self.bits and not f.variable[instr.dst]:
                kept = _range(self, instr)
                if kept is not None:
                    self.ranges[instr.dst] = kept
        for _ in range(2 if any(f.variable[instr.dst] for instr in self.wide) else 1):
            written: dict[int, list[Range | None]] = {}
            for instr in self.wide:
                found = _range(self, instr)
                if found is not None and not fits(found, f.types[instr.dst]):
                    found = None
                if f.variable[instr.dst]:
                    written.setdefault(instr.dst, []).append(found)
                elif found is not None:
                    self.ranges[instr.dst] = found
            for variable, ranges in written.items():
                known = [one for one in ranges if one is not None]
                if len(known) == len(ranges):
                    self.ranges[variable] = min(low for low, _ in known), max(high for _, high in known)

    def known(self, operand: int) -> Range | None:
        """The range of an operand."""
        if operand < 0:
            value = int(self.f.const_values[~operand])
            return value, value
        found = self.ranges.get(operand)
        if found is None and operand not in self.made:
            type_ = self.f.types[operand]
            return limits(type_) if type_.is_integer and type_.bits <= self.bits else None
        return found

    def follow(self) -> bool:
        """Find out what is used of each; False where that is more than can be computed in so many bits."""
        made, need = self.made, self.need
        for k in range(self.end - 1, self.head, -1):
            instr = self.code[k]
            op = instr.op
            wanted = need.get(instr.dst, -1) if instr.dst >= 0 else -1
            whole = instr.dst in self.whole
            compared = op in ops.COMPARING and instr.type.bits > self.bits
            for position, a in enumerate(instr.args):
                if wanted >= 0 and (op in _WHOLE or (op is ops.SELECT and position == 0)) and a not in made:
                    if op in _WHOLE:
                        if a >= 0:
                            return False
                        self.whole.add(a)
                    continue
                if a not in made:
                    if (wanted >= 0 or compared) and a >= 0 and not (op is ops.CONVERT and instr.source.bits <= self.bits):
                        return False
                    if compared:
                        self.whole.add(a)
                    continue
                if compared or (wanted >= 0 and op in _WHOLE):
                    self.whole.add(a)
                    bits = self.bits
                elif op is ops.CONVERT:
                    bits = instr.type.bits if wanted < 0 else wanted
                    if whole:
                        self.whole.add(a)
                elif wanted < 0:
                    return False
                elif op is ops.COPY:
                    bits = wanted
                    if whole:
                        self.whole.add(a)
                elif op in _LOW or (op is ops.SHL and position == 0):
                    bits = wanted
                elif op is ops.SHR and position == 0 and instr.args[1] < 0:
                    bits = wanted + int(self.f.const_values[~instr.args[1]])
                    if whole or bits > self.bits:
                        self.whole.add(a)
                        bits = self.bits
                else:
                    return False
                need[a] = max(need[a], bits)
        return all(0 < bits <= self.bits for bits in need.values()) and all(self.simple(instr) for instr in self.wide)

    def simple(self, instr: Instr) -> bool:
        """Whether there is an operation of so many bits that does the same. (Bytes are multiplied by way of 16 bits.)"""
        op = instr.op
        if op is ops.MUL and self.bits < 16:
            return False
        if op is ops.CONVERT or op is ops.COPY or op in _LOW or op is ops.ABS or op is ops.MIN or op is ops.MAX:
            return True
        if len(instr.args) < 2 or instr.args[1] >= 0:
            return False
        second = int(self.f.const_values[~instr.args[1]])
        if op is ops.SHL or op is ops.SHR:
            return 0 <= second < self.bits
        first = self.known(instr.args[0])
        return op in ops.DIVISIONS and second > 0 and first is not None and first[0] >= 0


def _range(uses: _Uses, instr: Instr) -> Range | None:
    """The least and the greatest that a wide value may be; None where that is not told."""
    op = instr.op
    ranges = [uses.known(a) for a in (instr.args[1:] if op is ops.SELECT else instr.args)]
    first, second = ranges[0], ranges[-1]
    if first is None or second is None:
        return None
    if op is ops.CONVERT or op is ops.COPY:
        return first
    if op is ops.SELECT:
        return min(first[0], second[0]), max(first[1], second[1])
    if op in _BITWISE or op in _BY_NUMBERS:
        # Of what is at least 0, by numbers that are known.
        number = second[0]
        if first[0] < 0 or number < 0 or (op in _BY_NUMBERS and number != second[1]):
            return None
        if (op is ops.SHL and number >= uses.bits) or (op in ops.DIVISIONS and not number):
            return None
    return result(op, [first, second])


def _possible(f: Function, target: Target, wide: list[Instr], compared: list[Instr], type_: Type) -> bool:
    lanes = target.vector_bits // type_.bits
    full = vector_of(type_, lanes)
    for instr in [*wide, *compared]:
        source = vector_of(instr.source, lanes) if instr.op is ops.CONVERT and instr.source.bits < type_.bits else VOID
        if instr.op is ops.COPY or (instr.op is ops.CONVERT and source is VOID):
            continue
        divisor = int(f.const_values[~instr.args[1]]) if instr.op in ops.DIVISIONS else None
        if not has(target, instr.op, full, source, divisor):
            return False
    return True


def _rewrite(f: Function, code: list[Instr], head: int, end: int, wide: list[Instr], compared: list[Instr], type_: Type) -> None:
    made = {instr.dst for instr in wide}
    for instr in [*wide, *compared]:
        if instr.dst in made:
            f.types[instr.dst] = type_
        instr.type = type_
        if instr.op is not ops.CONVERT:
            instr.args = [a if a >= 0 or f.const_types[~a] is BOOL else f.const(type_, wrap(type_, int(f.const_values[~a]))) for a in instr.args]
    for k in range(head + 1, end):
        instr = code[k]
        if instr.op is ops.CONVERT and instr.args[0] in made:
            instr.source = type_
        if instr.op is ops.CONVERT and instr.source is instr.type:
            instr.op, instr.source = ops.COPY, VOID
