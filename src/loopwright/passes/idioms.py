"""Arithmetic that is written in wider integers because Python has no name for it, as the operation that it is.

``u8(min(i32(a) + i32(b), 255))`` is a saturating sum of bytes, ``u8(abs(i16(a) - i16(b)))`` their distance, ``u8((i16(a) + b + 1) >> 1)`` their average, and ``(x << 7) | (x >> 25)``
of a u32 a rotation; ``(x >= 65) & (x <= 90)`` of an unsigned number is one comparison, of ``x - 65``. Found by the values that an instruction is computed from, before there are lanes: a loop has as many of these as its widest type leaves room for. What else
is read of the wide numbers stays, and with it the sum.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.types import BOOL, I64, UNSIGNED, VOID, Type, limits

__all__ = ["OPPOSITE", "TURNED", "between", "run"]

_JOINS: Final = frozenset((ops.OR, ops.XOR, ops.ADD))
_SUMS: Final = frozenset((ops.ADD, ops.SUB))
_ORDER: Final = frozenset((ops.LT, ops.LE, ops.GT, ops.GE))
#: A comparison of the operands the other way round.
TURNED: Final[dict[Op, Op]] = {ops.LT: ops.GT, ops.LE: ops.GE, ops.GT: ops.LT, ops.GE: ops.LE}
#: What holds where a comparison of integers does not.
OPPOSITE: Final[dict[Op, Op]] = {ops.LT: ops.GE, ops.LE: ops.GT, ops.GT: ops.LE, ops.GE: ops.LT}


def run(f: Function) -> None:
    """Rewrite the idioms of a function, and drop what nothing reads any more."""
    roots: list[Instr] = []
    for instr in f.code:
        op = instr.op
        if op is ops.CONVERT:
            if instr.type.is_integer and instr.source.is_integer and instr.type.bits < instr.source.bits:
                roots.append(instr)
        elif (
            op in _JOINS
            and instr.type.is_integer
            and not instr.type.signed
            and instr.args[0] >= 0
            and instr.args[1] >= 0
            or (op is ops.AND or op is ops.OR)
            and instr.type is BOOL
        ):
            roots.append(instr)
    if roots:
        _bounds(f)
        _rewrite(f, roots, False)


def between(f: Function) -> None:
    """Rewrite the comparisons of a number with two bounds alone, and of several with 0, which may have become one condition since."""
    roots = [instr for instr in f.code if instr.type is BOOL and (instr.op is ops.AND or instr.op is ops.OR)]
    if roots:
        _rewrite(f, roots, True)


def _rewrite(f: Function, roots: list[Instr], signs: bool) -> None:
    found = _Idioms(f, signs)
    for instr in roots:
        found.look(instr)
    if found.inner or found.added:
        found.drop()


def _bounds(f: Function) -> None:
    """``v = x`` and ``if x > 255: v = 255``, where that is all that is written to ``v``, become ``v = min(x, 255)``, and ``v`` no variable."""
    code = f.code
    out: list[Instr] = []
    k = 0
    while k < len(code):
        least = _bound(f, code, k) if code[k].op is ops.IF else None
        if least is not None:
            # The copy in front goes, what is inside, and the comparison, if it decides nothing else.
            out.pop()
            condition = code[k].args[0]
            if out[-1].dst == condition and sum([instr.args.count(condition) for instr in code]) == 1:
                out.pop()
            out.append(least)
            f.variable[least.dst] = False
            k += 3
        else:
            out.append(code[k])
            k += 1
    f.code = out


def _bound(f: Function, code: list[Instr], k: int) -> Instr | None:
    """The minimum or maximum that the branch at ``k`` makes; None where it is none."""
    if k < 2 or k + 2 >= len(code) or code[k + 2].op is not ops.END:
        return None
    before, inside = code[k - 1], code[k + 1]
    v = before.dst
    if before.op is not ops.COPY or inside.op is not ops.COPY or inside.dst != v or v < 0 or not f.variable[v] or inside.args[0] >= 0:
        return None
    x = before.args[0]
    if x < 0 or f.variable[x] or not before.type.is_integer:
        return None
    test = next((instr for instr in reversed(code[:k]) if instr.dst == code[k].args[0]), None)
    if test is None or test.op not in _EXTREMES or test.args != [x, inside.args[0]] or not _local(f, code, k, v):
        return None
    return Instr(_EXTREMES[test.op], before.type, v, [x, inside.args[0]], 0, inside.line)


#: What ``v = x`` and ``if x > bound: v = bound`` come to.
_EXTREMES: Final[dict[Op, Op]] = {ops.GT: ops.MIN, ops.GE: ops.MIN, ops.LT: ops.MAX, ops.LE: ops.MAX}


def _local(f: Function, code: list[Instr], k: int, v: int) -> bool:
    """Whether a variable is written in front of and in the branch at ``k`` only, and read behind it within the bracket around it."""
    if v in f.params:
        return False
    depth = 0
    for position, instr in enumerate(code):
        if position > k + 2 and depth >= 0:
            depth += (1 if instr.op.opens else 0) - (1 if instr.op.closes else 0)
        if instr.dst == v and position not in (k - 1, k + 1):
            return False
        if v in instr.args and (position < k or depth < 0):
            return False
        if instr.loop is not None and any(variable == v for variable, _, _ in instr.loop.accumulators):
            return False
    return True


class _Idioms:
    """What makes each register of a function, and how often it is read.

    Attributes:
        f: the function.
        made: per register that is no variable, the instruction that defines it.
        reads: per register, how many operands it is.
        inner: the instructions whose results were read by what is rewritten.
        added: instructions to stand behind another.
        signs: the signs of several numbers are asked for at once. (Before loops are split by their conditions, each is to be seen.)
    """

    __slots__ = ("added", "f", "inner", "made", "reads", "signs")

    def __init__(self, f: Function, signs: bool) -> None:
        self.f = f
        self.signs = signs
        self.made: dict[int, Instr] = {}
        self.reads = [0] * len(f.types)
        self.inner: list[Instr] = []
        self.added: dict[int, Instr] = {}
        variable = f.variable
        for instr in f.code:
            for a in instr.args:
                if a >= 0:
                    self.reads[a] += 1
            if instr.dst >= 0 and not variable[instr.dst]:
                self.made[instr.dst] = instr

    # --- what is read -----------------------------------------------------------------------------------------

    def origin(self, operand: int, op: Op) -> Instr | None:
        """The instruction that makes an operand by ``op``, for one reader alone."""
        made = self.made.get(operand) if operand >= 0 else None
        return made if made is not None and made.op is op and self.reads[operand] == 1 else None

    def constant(self, operand: int) -> int | None:
        """The value of a constant operand."""
        return int(self.f.const_values[~operand]) if operand < 0 else None

    def stable(self, operand: int) -> bool:
        """Whether an operand is the same wherever it is read."""
        return operand < 0 or not self.f.variable[operand]

    def narrow(self, operand: int, of: Type) -> int | None:
        """What a wide number was converted from, or a constant, as one of a narrow type; None where it is no such."""
        value = self.constant(operand)
        if value is not None:
            low, high = limits(of)
            return self.f.const(of, value) if low <= value <= high else None
        made = self.made.get(operand)
        if made is None or made.op is not ops.CONVERT or made.source is not of or not self.stable(made.args[0]):
            return None
        return made.args[0]

    def kind(self, operands: list[int], bits: int) -> Type | None:
        """The type of so many bits that one of two wide numbers was converted from."""
        for operand in operands:
            made = self.made.get(operand) if operand >= 0 else None
            if made is not None and made.op is ops.CONVERT and made.source.is_integer and made.source.bits == bits:
                return made.source
        return None

    # --- conversions to narrower integers ---------------------------------------------------------------------

    def look(self, instr: Instr) -> None:
        """Rewrite an instruction, if it ends an idiom."""
        if instr.type is BOOL and instr.op is not ops.CONVERT:
            self.between(instr)
            self.not_negative(instr)
            return
        if instr.op is not ops.CONVERT:
            self.rotation(instr)
            return
        wide = self.made.get(instr.args[0])
        if wide is None or self.reads[instr.args[0]] != 1 or wide.type is not instr.source:
            return
        op = wide.op
        if op is ops.MIN or op is ops.MAX or op is ops.SELECT:
            self.saturated(instr)
        elif op is ops.ABS:
            inside = self.origin(wide.args[0], ops.SUB)
            # (Of the wide type more than the distance must have room: unsigned numbers would wrap.)
            if inside is not None and wide.type.signed:
                self.rewrite(instr, ops.ABS_DIFF, [wide, inside], inside.args, wrapped=True)
        elif (op is ops.SHR and self.constant(wide.args[1]) == 1) or (op is ops.DIV_FLOOR and self.constant(wide.args[1]) == 2):
            self.average(instr, wide)
        elif op is ops.SHR and self.constant(wide.args[1]) == instr.type.bits and instr.type.bits in (16, 32):
            inside = self.origin(wide.args[0], ops.MUL)
            if inside is not None and wide.type.bits == 2 * instr.type.bits:
                kind = self.kind(inside.args, instr.type.bits)
                if kind is not None and kind.signed == wide.type.signed:
                    self.rewrite(instr, ops.MUL_HIGH, [wide, inside], inside.args, wrapped=True)

    def extreme(self, operand: int) -> tuple[Op, int, int, list[Instr]] | None:
        """Of a minimum or maximum of a number and a constant, read once: which, the constant, the number, and the instructions it is made by."""
        made = self.made.get(operand) if operand >= 0 else None
        if made is None or self.reads[operand] != 1:
            return None
        op, args = made.op, made.args
        if op is ops.MIN or op is ops.MAX:
            a, b = (args[1], args[0]) if args[0] < 0 else (args[0], args[1])
            bound = self.constant(b)
            return (op, bound, a, [made]) if bound is not None and (a < 0 or self.reads[a] == 1) else None
        if op is not ops.SELECT:
            return None
        test = self.origin(args[0], ops.GT) or self.origin(args[0], ops.LT) or self.origin(args[0], ops.GE) or self.origin(args[0], ops.LE)
        if test is None or test.type is not made.type:
            return None
        x, bound = test.args[0], self.constant(test.args[1])
        if bound is None or x < 0 or self.reads[x] != 2:
            return None
        above = test.op is ops.GT or test.op is ops.GE
        if self.constant(args[1]) == bound and args[2] == x:
            return (ops.MIN if above else ops.MAX), bound, x, [made, test]
        if args[1] == x and self.constant(args[2]) == bound:
            return (ops.MAX if above else ops.MIN), bound, x, [made, test]
        return None

    def saturated(self, instr: Instr) -> None:
        """A sum or difference within bounds: those of the type, as far as it can pass them."""
        to, of = instr.type, instr.source
        least, greatest = limits(of)
        inner: list[Instr] = []
        value = instr.args[0]
        step = self.extreme(value)
        while step is not None:
            if step[0] is ops.MIN:
                greatest = min(greatest, step[1])
            else:
                least = max(least, step[1])
            inner.extend(step[3])
            value = step[2]
            step = self.extreme(value)
        at = self.made.get(value) if value >= 0 and inner else None
        if inner and self.converted(instr, inner, value, least, greatest):
            return
        if at is None or at.op not in _SUMS or at.type is not of or self.kind(at.args, to.bits) is not to:
            return
        low, high = limits(to)
        # What the sum or difference of two numbers of the type comes to, at least and at most.
        first, last = (2 * low, 2 * high) if at.op is ops.ADD else (low - high, high - low)
        if first < 0 and not of.signed:
            return
        if max(first, least) == max(first, low) and min(last, greatest) == min(last, high):
            self.rewrite(instr, ops.ADD_SATURATED if at.op is ops.ADD else ops.SUB_SATURATED, [*inner, at], at.args)

    def converted(self, instr: Instr, inner: list[Instr], value: int, least: int, greatest: int) -> bool:
        """A number within the bounds of the type it is converted to, which is no sum that saturates."""
        (low, high), (first, last) = limits(instr.type), limits(instr.source)
        if value < 0 or not self.stable(value) or least != max(low, first) or greatest != min(high, last):
            return False
        at = self.made.get(value)
        if (
            at is not None
            and at.op in _SUMS
            and self.kind(at.args, instr.type.bits) is instr.type
            and all(self.narrow(a, instr.type) is not None for a in at.args)
        ):
            return False
        self.inner.extend(inner)
        instr.op, instr.args = ops.CONVERT_SATURATED, [value]
        return True

    def average(self, instr: Instr, wide: Instr) -> None:
        """Half a sum, or half of one more."""
        inside = self.origin(wide.args[0], ops.ADD)
        if inside is None:
            return
        op, inner = ops.AVERAGE_DOWN, [wide, inside]
        for n in (0, 1):
            sum_ = self.origin(inside.args[n], ops.ADD)
            if sum_ is not None and self.constant(inside.args[1 - n]) == 1:
                op, inside = ops.AVERAGE_UP, sum_
                inner.append(sum_)
                break
        if self.kind(inside.args, instr.type.bits) is instr.type:
            self.rewrite(instr, op, inner, inside.args)

    def rewrite(self, instr: Instr, op: Op, inner: list[Instr], operands: list[int], wrapped: bool = False) -> None:
        """Make an instruction the operation on what wide operands were converted from; ``wrapped``: the result's type may have the other sign."""
        to = instr.type
        kind = self.kind(operands, to.bits)
        if kind is None or (kind is not to and not wrapped):
            return
        narrow = [self.narrow(operand, kind) for operand in operands]
        args = [a for a in narrow if a is not None]
        if len(args) != 2:
            return
        self.inner.extend(inner)
        self.inner.extend([self.made[operand] for operand in operands if operand >= 0])
        instr.op, instr.args = op, args
        if kind is to:
            instr.source = VOID
            return
        result = self.f.register(kind)
        self.added[id(instr)] = Instr(ops.BITCAST, to, instr.dst, [result], 0, instr.line, kind)
        instr.type, instr.source, instr.dst = kind, VOID, result

    # --- ranges -----------------------------------------------------------------------------------------------

    def between(self, instr: Instr) -> None:
        """Whether an unsigned number is between two constants, or outside of them: how far it is above the lower one, where what is below wraps, is compared with how
        far apart they are (H. S. Warren, Hacker's Delight, 2nd edition, section 4-1)."""
        inside = instr.op is ops.AND
        a, b = self.bound(instr.args[0], inside), self.bound(instr.args[1], inside)
        if a is None or b is None or a[0].type is not b[0].type or a[1] != b[1] or a[2] == b[2]:
            return
        (first, x, _, low), (second, _, _, high) = (a, b) if a[2] else (b, a)
        type_ = first.type
        if not 0 < low <= high < limits(type_)[1]:
            return
        f = self.f
        above = f.register(type_)
        # (Behind the later of the two, which is the one right before what joins them.)
        self.added[id(self.made[instr.args[1]])] = Instr(ops.SUB, type_, above, [x, f.const(type_, low)], 0, instr.line)
        self.inner.extend([first, second])
        instr.op, instr.type = ops.LE if inside else ops.GT, type_
        instr.args = [above, f.const(type_, high - low)]

    def bound(self, operand: int, inside: bool) -> tuple[Instr, int, bool, int] | None:
        """Of a comparison of an unsigned number with a constant, for one reader: the number, whether the constant is below, and the least or greatest number that is inside."""
        made = self.made.get(operand) if operand >= 0 else None
        if made is None or self.reads[operand] != 1 or made.op not in _ORDER or not made.type.is_integer or made.type.signed or id(made) in self.added:
            return None
        x, bound, op = made.args[0], self.constant(made.args[1]), made.op
        if bound is None:
            x, bound, op = made.args[1], self.constant(made.args[0]), TURNED[made.op]
        if bound is None or x < 0 or not self.stable(x):
            return None
        if not inside:
            op = OPPOSITE[op]
        if op is ops.GE or op is ops.GT:
            return made, x, True, bound + (op is ops.GT)
        return made, x, False, bound - (op is ops.LT)

    def not_negative(self, instr: Instr) -> None:
        """Whether numbers with a sign are not negative and below a bound that is not either, among other conditions: one comparison without a sign (Warren, as above)."""
        if instr.type is not BOOL or (instr.op is not ops.AND and instr.op is not ops.OR):
            return
        inside = instr.op is ops.AND
        lows: dict[int, tuple[Instr, Instr]] = {}
        highs: dict[int, tuple[Instr, Instr, int, Op]] = {}
        joins = [instr]
        while joins:
            join = joins.pop()
            for a in join.args:
                made = self.made.get(a) if a >= 0 else None
                if made is None or self.reads[a] != 1:
                    continue
                if made.op is instr.op and made.type is BOOL:
                    joins.append(made)
                elif made.op in _ORDER and made.type.is_integer and made.type.signed and not made.type.lanes and id(made) not in self.added:
                    self.sort(made, join, inside, lows, highs)
        for x, (low, join) in lows.items():
            if x in highs and highs[x][0].type is low.type:
                self.without_sign(x, (low, join), highs[x], inside)
        alone = [(x, low, join) for x, (low, join) in lows.items() if x not in highs and low.type.bits >= 32 and id(low) not in self.added]
        # (Of conditions in others it is asked with those.)
        if not self.signs or len(alone) < 2 or any(one.op is instr.op and instr.dst in one.args for one in self.made.values() if one.type is BOOL):
            return
        for type_ in {low.type.number: low.type for _, low, _ in alone}.values():
            self.none_negative(type_, [one for one in alone if one[1].type is type_], inside)

    def none_negative(self, type_: Type, alone: list[tuple[int, Instr, Instr]], inside: bool) -> None:
        """Whether none of several numbers is negative (or, but for ``inside``, one is): the sign of all their bits together."""
        if len(alone) < 2:
            return
        f = self.f
        position = {id(instr): k for k, instr in enumerate(f.code)}
        alone.sort(key=lambda one: position[id(one[1])])
        all_bits = alone[0][0]
        last = alone[-1][1]
        for x, low, join in alone:
            result = low.dst
            if low is not last:
                join.args = [f.const(BOOL, inside) if a == result else a for a in join.args]
                del self.made[result]
            if x == all_bits:
                # (The first asks for nothing any more.)
                self.inner.append(low)
                continue
            both = f.register(type_)
            low.op, low.dst, low.args = ops.OR, both, [all_bits, x]
            all_bits = both
            if low is last:
                self.added[id(low)] = Instr(ops.GE if inside else ops.LT, type_, result, [both, f.const(type_, 0)], 0, low.line)

    def sort(self, made: Instr, join: Instr, inside: bool, lows: dict[int, tuple[Instr, Instr]], highs: dict[int, tuple[Instr, Instr, int, Op]]) -> None:
        """Enter a comparison of a number, if it is one with 0 from below, or with what is not negative from above."""
        x, bound, op = made.args[0], made.args[1], made.op
        if x < 0 or any(x in array.extents for array in self.f.arrays):
            x, bound, op = bound, x, TURNED[op]
        if x < 0 or not self.stable(x):
            return
        if not inside:
            op = OPPOSITE[op]
        known = self.constant(bound)
        if op is ops.GE or op is ops.GT:
            if known is not None and known == (-1 if op is ops.GT else 0):
                lows[x] = made, join
        elif known > 0 if known is not None else any(bound in array.extents for array in self.f.arrays):
            highs[x] = made, join, bound, op

    def without_sign(self, x: int, low: tuple[Instr, Instr], high: tuple[Instr, Instr, int, Op], inside: bool) -> None:
        """Make two comparisons of a number one: the first becomes the number without its sign, the second compares that."""
        f = self.f
        type_ = low[0].type
        kind = UNSIGNED[type_.bits]
        bound, op = high[2], high[3]
        first = next(instr for instr in f.code if instr is low[0] or instr is high[0])
        (first, join), second = (low, high[0]) if first is low[0] else (high[:2], low[0])
        join.args = [f.const(BOOL, inside) if a == first.dst else a for a in join.args]
        del self.made[first.dst]
        cast = f.register(kind)
        if bound < 0:
            bound = f.const(kind, f.const_values[~bound])
        elif type_ is I64:
            # (An extent is the same number.)
            wide = f.register(kind)
            self.added[id(first)] = Instr(ops.CONVERT, kind, wide, [bound], 0, first.line, type_)
            bound = wide
        first.op, first.type, first.source, first.dst, first.args = ops.CONVERT, kind, type_, cast, [x]
        second.op, second.type, second.args = op if inside else OPPOSITE[op], kind, [cast, bound]

    # --- rotations --------------------------------------------------------------------------------------------

    def rotation(self, instr: Instr) -> None:
        """Two shifts of one unsigned number whose counts are a width together."""
        type_ = instr.type
        a, b = (self.made.get(operand) for operand in instr.args)
        if a is None or b is None or instr.args[0] == instr.args[1]:
            return
        if a.op is ops.SHR:
            a, b = b, a
        if a.op is not ops.SHL or b.op is not ops.SHR or a.type is not type_ or b.type is not type_ or a.args[0] != b.args[0]:
            return
        if self.reads[a.dst] != 1 or self.reads[b.dst] != 1 or not self.stable(a.args[0]):
            return
        up, down = self.constant(a.args[1]), self.constant(b.args[1])
        if up is not None and down is not None:
            if not (0 < up < type_.bits and up + down == type_.bits):
                return
        elif not self.complements(a.args[1], b.args[1], type_):
            if not self.complements(b.args[1], a.args[1], type_):
                return
            self.rotate(instr, ops.ROTATE_RIGHT, b, a)
            return
        self.rotate(instr, ops.ROTATE_LEFT, a, b)

    def complements(self, count: int, other: int, type_: Type) -> bool:
        """Whether ``other`` is the width less ``count``, which is below the width."""
        less, cut = self.made.get(other), self.made.get(count)
        if less is None or less.op is not ops.SUB or self.constant(less.args[0]) != type_.bits or less.args[1] != count:
            return False
        if cut is None or cut.op is not ops.AND:
            return False
        most = self.constant(cut.args[1])
        return most is not None and 0 <= most < type_.bits

    def rotate(self, instr: Instr, op: Op, shift: Instr, other: Instr) -> None:
        self.inner.extend([shift, other])
        made = self.made.get(other.args[1]) if other.args[1] >= 0 else None
        if made is not None:
            self.inner.append(made)
        instr.op, instr.args = op, list(shift.args)

    # --- dropping ---------------------------------------------------------------------------------------------

    def drop(self) -> None:
        """Put in what was added, and drop of the inner instructions those that nothing reads now."""
        f = self.f
        out: list[Instr] = []
        for instr in f.code:
            out.append(instr)
            behind = self.added.get(id(instr))
            if behind is not None:
                out.append(behind)
        reads = [0] * len(f.types)
        for instr in out:
            for a in instr.args:
                if a >= 0:
                    reads[a] += 1
        dropped: set[int] = set()
        # Those that read others come first.
        for instr in self.inner:
            if reads[instr.dst] == 0 and id(instr) not in dropped:
                dropped.add(id(instr))
                for a in instr.args:
                    if a >= 0:
                        reads[a] -= 1
        f.code = [instr for instr in out if id(instr) not in dropped]
