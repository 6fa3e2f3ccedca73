"""Totals that are wider than what is added to them: found, so that a loop over lanes has as many lanes as the values leave room for, and not the total.

::

    %1 = load.u8 x[%i]               %1 = load.u8x32 x[%i]
    %2 = convert.i64.u8 %1     →     %2 = sum_groups.u64x4.u8x32 %1
    %t = add.i64 %t, %2              %t = add.u64x4 %t, %2

Four kinds of values are added up where they are narrow: numbers themselves, distances of two (``abs(i32(a) - i32(b))``), products of two, and constants, which
count the lanes that come there, or for which a condition holds. A total of the first three has wider lanes, of which each takes the place of several values;
one of the last as wide lanes as the loop's masks. Where a lane of the total has not room for all that a loop may add to it, the loop is made in blocks of so many
steps, behind each of which the lanes are added to the variable.

A total of f32 that numbers of f16 are added to is one, too, where a machine has those in vectors: two of them to a lane.

Products of bytes are added up as bytes, four to a 32-bit lane, where the machine does that in fewer instructions than with bytes made 16 bits wide (``nests/analysis/room.py``). Nothing
saturates on the way: VPMADDUBSW, whose sums of two do, is not what they are made of.

(VPSADBW, VPMADDWD, VPDPBUSD: Intel SDM volume 2. UADDLP, SDOT: Arm ARM, C7.2.)
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.types import BOOL, F16, F32, I8, I16, U8, UNSIGNED, VOID, Type, limits

__all__ = ["COUNT", "DISTANCE", "NO_CONDITION", "PRODUCT", "SUM", "Term", "Total", "find"]

#: Kinds of terms: a constant; a number; the distance of two; the product of two.
COUNT: Final = 0
SUM: Final = 1
DISTANCE: Final = 2
PRODUCT: Final = 3

#: (``NONE`` is no register, but as an operand the first constant.)
NO_CONDITION: Final = -(1 << 40)
#: The greatest constant that is counted by.
_MOST: Final = 15
#: Of which two have a product that pairs of lanes have room for.
_FACTORS: Final = (U8, I8, I16)


class Term:
    """What an update adds.

    Attributes:
        kind: COUNT, SUM, DISTANCE or PRODUCT.
        operands: the narrow numbers.
        source: their type; of a product of bytes that of the first, which is the unsigned one where one of the two is.
        of: the type of the lanes that are added up; VOID of a count.
        amount: of a count, by how much.
        mixed: of a product of bytes, that the second is a signed number, and the first is not.
        condition: where it holds; NO_CONDITION where there is none.
        low, high: what it comes to at least and at most.
        through: the instructions that make the wide value of the narrow ones.
    """

    __slots__ = ("amount", "condition", "high", "kind", "low", "mixed", "of", "operands", "source", "through")

    def __init__(self, kind: int, operands: list[int], source: Type, of: Type, low: int, high: int, through: list[Instr]) -> None:
        self.kind = kind
        self.operands = operands
        self.source = source
        self.of = of
        self.amount = 0
        self.mixed = False
        self.condition = NO_CONDITION
        self.low = low
        self.high = high
        self.through = through


class Total:
    """A variable that narrow values are added to, or taken from.

    Attributes:
        variable: its register.
        type: its type.
        updates: by ``id``, the additions and what they add.
        through: ``id`` of the instructions that only serve them.
        negative: the values are taken from it.
        looped: an update is in a loop inside.
        of: the type of the lanes that are added up; VOID where they are counted.
        low, high: what a step adds for one lane, at least and at most.
        element: the lanes' type of the total, once it is settled.
        steps: after how many steps there may be no room left; 0 where that is never.
    """

    __slots__ = ("element", "high", "looped", "low", "negative", "of", "steps", "through", "type", "updates", "variable")

    def __init__(self, variable: int, type_: Type) -> None:
        self.variable = variable
        self.type = type_
        self.updates: dict[int, Term] = {}
        self.through: set[int] = set()
        self.negative = False
        self.looped = False
        self.of: Type = VOID
        self.low = 0
        self.high = 0
        self.element: Type = VOID
        self.steps = 0

    def add(self, instr: Instr, term: Term, through: list[Instr], looped: bool) -> bool:
        """Take one more update; False where it does not go with those before."""
        negative = instr.op is ops.SUB
        if self.updates and (self.of is not term.of or self.negative != negative):
            return False
        self.of, self.negative = term.of, negative
        self.looped = self.looped or looped
        self.low += min(term.low, 0)
        self.high += max(term.high, 0)
        self.updates[id(instr)] = term
        for other in (*through, *term.through):
            self.through.add(id(other))
        return True

    def of_bytes(self) -> bool:
        """Whether all that is added is products of bytes."""
        return all(term.kind == PRODUCT and term.source is not VOID for term in self.updates.values())

    def take_bytes(self) -> None:
        """Add them up as bytes, not made wider."""
        self.of = I8
        for term in self.updates.values():
            term.of = I8


def find(f: Function, code: list[Instr], start: int, end: int, variables: list[int]) -> list[Total]:
    """The totals of a loop whose values are narrower than they are.

    Args:
        f: the function.
        code: the instructions.
        start, end: where in them the loop's brackets are.
        variables: those of its accumulators that are added up.
    """
    found = {v: Total(v, f.types[v]) for v in variables if f.types[v].is_integer and f.types[v].bits > 8}
    floats = [v for v in variables if f.types[v] is F32]
    if floats and F16 in f.types:
        for v in floats:
            found[v] = Total(v, F32)
    if not found:
        return []
    survey = _Survey(f, code, start, end)
    opened: list[bool] = []
    for k in range(start + 1, end):
        instr = code[k]
        op = instr.op
        if op.opens and not op.closes:
            opened.append(IS_LOOP[op.code])
        elif op is ops.END:
            opened.pop()
        for a in instr.args:
            total = found.get(a)
            if total is not None and not survey.update(total, instr, True in opened):
                del found[a]
    return [total for total in found.values() if total.updates]


class _Survey:
    """What makes the registers of a loop.

    Attributes:
        f: the function.
        made: per register that is no variable, the instruction that defines it.
        reads: per register, how many operands it is.
        copied: per register, the copy that reads it.
    """

    __slots__ = ("copied", "f", "made", "reads")

    def __init__(self, f: Function, code: list[Instr], start: int, end: int) -> None:
        self.f = f
        self.made: dict[int, Instr] = {}
        self.reads: dict[int, int] = {}
        self.copied: dict[int, Instr] = {}
        for k in range(start + 1, end):
            instr = code[k]
            for a in instr.args:
                if a >= 0:
                    self.reads[a] = self.reads.get(a, 0) + 1
            if instr.dst >= 0 and not f.variable[instr.dst]:
                self.made[instr.dst] = instr
            if instr.op is ops.COPY and instr.args[0] >= 0:
                self.copied[instr.args[0]] = instr

    def update(self, total: Total, instr: Instr, looped: bool) -> bool:
        """Whether an instruction that reads a total adds something narrow to it."""
        v = total.variable
        op, args = instr.op, instr.args
        if op is not ops.ADD and (op is not ops.SUB or args[0] != v) or args[0] == args[1]:
            return False
        through: list[Instr] = []
        if instr.dst != v:
            copy = self.copied.get(instr.dst)
            if copy is None or copy.dst != v or self.reads[instr.dst] != 1:
                return False
            through.append(copy)
        term = self.term(args[1] if args[0] == v else args[0], total.type)
        return term is not None and total.add(instr, term, through, looped)

    def made_by(self, operand: int) -> Instr | None:
        """The instruction that makes an operand for one reader alone."""
        return self.made.get(operand) if operand >= 0 and self.reads.get(operand, 0) == 1 else None

    def constant(self, operand: int) -> int | None:
        return int(self.f.const_values[~operand]) if operand < 0 else None

    def term(self, operand: int, whole: Type) -> Term | None:
        """What an operand comes to as a term of a total of a type; None where it is none."""
        if whole.is_float:
            return self.half(operand)
        value = self.constant(operand)
        if value is not None:
            return self.count(value, NO_CONDITION, []) if 0 < value <= _MOST else None
        made = self.made_by(operand)
        if made is None or not made.type.is_integer:
            return None
        op = made.op
        found: Term | None = None
        if op is ops.CONVERT:
            found = self.converted(made, whole)
        elif op is ops.ABS:
            found = self.distance(made)
        elif op is ops.MUL:
            found = self.product(made)
        elif op is ops.SELECT and self.constant(made.args[2]) == 0 and not self.changes(made.args[0]):
            found = self.term(made.args[1], whole)
            if found is not None and found.condition != NO_CONDITION:
                return None
            if found is not None:
                found.condition = made.args[0]
                found.low, found.high = min(found.low, 0), max(found.high, 0)
        if found is None:
            return None
        # The total wraps as the value does; what is converted further must be the number itself.
        low, high = limits(made.type)
        if made.type.bits < whole.bits and not low <= found.low <= found.high <= high:
            return None
        found.through.append(made)
        return found

    def half(self, operand: int) -> Term | None:
        """A number of f16, made an f32."""
        made = self.made_by(operand)
        if made is None or made.op is not ops.CONVERT or made.source is not F16 or made.args[0] < 0 or self.changes(made.args[0]):
            return None
        return Term(SUM, [made.args[0]], F16, F16, 0, 0, [made])

    def changes(self, operand: int) -> bool:
        """Whether an operand may be another by the time it is added."""
        return operand >= 0 and self.f.variable[operand]

    def count(self, amount: int, condition: int, through: list[Instr]) -> Term:
        made = Term(COUNT, [], VOID, VOID, 0, amount, through)
        made.amount = amount
        made.condition = condition
        return made

    def converted(self, made: Instr, whole: Type) -> Term | None:
        given, source = made.args[0], made.source
        if self.changes(given):
            return None
        if source is BOOL:
            return self.count(1, given, [])
        if not source.is_integer or source.bits > made.type.bits or given < 0:
            return None
        inner = self.term(given, whole)
        if inner is not None or source.bits > 16 or source.bits == made.type.bits:
            return inner
        low, high = limits(source)
        return Term(SUM, [given], source, source, low, high, [])

    def narrow(self, operand: int) -> tuple[int, Instr] | None:
        """The narrow number that an operand was converted from, which keeps it, and the conversion."""
        made = self.made_by(operand)
        if made is None or made.op is not ops.CONVERT or not made.source.is_integer or made.source.bits > 16 or made.source.bits >= made.type.bits:
            return None
        given = made.args[0]
        if given < 0 or self.changes(given) or (made.source.signed and not made.type.signed):
            return None
        return given, made

    def distance(self, made: Instr) -> Term | None:
        """|a - b|, of a type that has room for the difference."""
        inside = self.made_by(made.args[0])
        if inside is None or inside.op is not ops.SUB or not made.type.signed:
            return None
        a, b = self.narrow(inside.args[0]), self.narrow(inside.args[1])
        if a is None or b is None or a[1].source is not b[1].source:
            return None
        source = a[1].source
        return Term(DISTANCE, [a[0], b[0]], source, UNSIGNED[source.bits], 0, (1 << source.bits) - 1, [a[1], b[1], inside])

    def product(self, made: Instr) -> Term | None:
        a, b = self.narrow(made.args[0]), self.narrow(made.args[1])
        if a is None or b is None or a[1].source not in _FACTORS or b[1].source not in _FACTORS:
            return None
        (low, high), (least, most) = limits(a[1].source), limits(b[1].source)
        ends = (low * least, low * most, high * least, high * most)
        bytes_ = a[1].source.bits == 8 and b[1].source.bits == 8
        if bytes_ and b[1].source is U8:
            a, b = b, a
        made_ = Term(PRODUCT, [a[0], b[0]], a[1].source if bytes_ else VOID, I16, min(ends), max(ends), [a[1], b[1]])
        made_.mixed = bytes_ and a[1].source is not b[1].source
        return made_
