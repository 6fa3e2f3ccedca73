"""The body of a loop with conditions that are known: without the arms that do not run, and without branches and brackets that it then does without."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import Op
from loopwright.types import BOOL, VOID
from loopwright.vectors.regions import Bracket, Leaf, Region, part, tree

__all__ = ["Folded", "changes", "known_value"]

_BRANCHES: Final = frozenset((ops.BR, ops.BR_IF))


class _Kept:
    """A bracket that stays, with what stays in its arms."""

    __slots__ = ("arms", "bracket", "op")

    def __init__(self, bracket: Bracket, op: Op, arms: list[list[_Item]]) -> None:
        self.bracket = bracket
        self.op = op
        self.arms = arms


_Item = Leaf | _Kept


class Folded:
    """A loop whose body is wanted under several assumptions."""

    __slots__ = ("code", "f", "known", "root")

    def __init__(self, f: Function, code: list[Instr], head: int) -> None:
        self.f = f
        self.root, _, _ = tree(code, head)
        self.known: dict[int, bool] = {}

    def part(self) -> None:
        """Take it apart when all is done."""
        part(self.root)

    def body(self, known: dict[int, bool]) -> list[Instr]:
        """What is left of the body where registers are known to be true or false."""
        self.known = dict(known)
        items, _ = self._region(self.root.body)
        if items and _branches_to(items[-1], self.root):
            items.pop()
        out: list[Instr] = []
        _emit(items, [self.root], out)
        return self._asked(out)

    def _asked(self, body: list[Instr]) -> list[Instr]:
        """A body without truth values that nothing reads any more."""
        read: set[int] = set()
        kept: list[Instr] = []
        for instr in reversed(body):
            dst = instr.dst
            if dst >= 0 and dst not in read and instr.op.pure and not self.f.variable[dst] and self.f.types[dst] is BOOL:
                continue
            kept.append(instr)
            read.update(instr.args)
        kept.reverse()
        return kept

    def _value(self, operand: int) -> bool | None:
        if operand < 0:
            return bool(self.f.const_values[~operand])
        return self.known.get(operand)

    def _region(self, region: Region) -> tuple[list[_Item], bool]:
        """What stays of a region, and whether its end is come to."""
        out: list[_Item] = []
        for item in region.items:
            if isinstance(item, Leaf):
                if not self._leaf(item, out):
                    return out, False
            elif not self._bracket(item, out):
                return out, False
        return out, True

    def _leaf(self, leaf: Leaf, out: list[_Item]) -> bool:
        """Take an instruction; False where what comes after it does not run."""
        instr = leaf.instr
        op = instr.op
        if op is ops.BR:
            out.append(leaf)
            return False
        if op is ops.BR_IF:
            value = self._value(instr.args[0])
            if value is True:
                made = Leaf(Instr(ops.BR, VOID, NONE, [], instr.imm, instr.line), leaf.region, leaf.target)
                out.append(made)
                return False
            if value is None:
                out.append(leaf)
            return True
        variable = instr.dst >= 0 and self.f.variable[instr.dst]
        value = self._combined(instr) if instr.dst >= 0 and self.f.types[instr.dst] is BOOL else None
        if value is not None:
            self.known[instr.dst] = value
            if not variable:
                # (Whatever reads it is given the constant.)
                return True
        elif variable:
            self.known.pop(instr.dst, None)
        if any(a in self.known for a in instr.args):
            leaf = Leaf(self._given(instr), leaf.region, leaf.target)
        out.append(leaf)
        return True

    def _given(self, instr: Instr) -> Instr:
        """An instruction that reads what is known, with constants instead."""
        made = instr.copy()
        made.args = [self.f.const(BOOL, self.known[a]) if a in self.known else a for a in instr.args]
        values = [self._value(a) if self._is_bool(a) else None for a in instr.args]
        left = [a for a, value in zip(made.args, values, strict=True) if value is None]
        if made.op is ops.SELECT and values[0] is not None:
            made.op, made.args = ops.COPY, [made.args[1 if values[0] else 2]]
        elif (made.op is ops.AND or made.op is ops.OR) and made.type is BOOL and len(left) == 1:
            made.op, made.args = ops.COPY, left
        return made

    def _is_bool(self, operand: int) -> bool:
        return (self.f.const_types[~operand] if operand < 0 else self.f.types[operand]) is BOOL

    def _combined(self, instr: Instr) -> bool | None:
        """What an operation on conditions gives."""
        op = instr.op
        if op not in (ops.NOT, ops.COPY, ops.AND, ops.OR):
            return None if self.f.variable[instr.dst] else self.known.get(instr.dst)
        values = [self._value(a) for a in instr.args]
        if op is ops.NOT:
            return None if values[0] is None else not values[0]
        if op is ops.COPY:
            return values[0]
        decisive = op is ops.OR
        if decisive in values:
            return decisive
        return None if None in values else not decisive

    def _bracket(self, bracket: Bracket, out: list[_Item]) -> bool:
        """Take a bracket; False where its end is not come to."""
        if bracket.op is ops.BLOCK:
            items, falls = self._region(bracket.body)
            return self._enclosed(bracket, items, falls, out)
        if bracket.op is ops.IF:
            value = self._value(bracket.condition)
            if value is not None:
                items, falls = self._region(bracket.regions[0 if value else 1])
                return self._enclosed(bracket, items, falls, out)
            before = dict(self.known)
            yes, first = self._region(bracket.regions[0])
            self.known = dict(before)
            no, second = self._region(bracket.regions[1])
            self.known = before
            self._forget(bracket)
            if not yes and not no:
                return True
            out.append(_Kept(bracket, ops.IF, [yes, no]))
            return first or second or any(_aims(item, bracket) for item in [*yes, *no])
        self._forget(bracket)
        before = dict(self.known)
        items, _ = self._region(bracket.body)
        self.known = before
        out.append(_Kept(bracket, bracket.op, [items]))
        return True

    def _enclosed(self, bracket: Bracket, items: list[_Item], falls: bool, out: list[_Item]) -> bool:
        """Take what is left of a block, or of an ``if`` that is decided: without the brackets where nothing leaves by them any more."""
        if items and _branches_to(items[-1], bracket):
            items.pop()
            falls = True
        if any(_aims(item, bracket) for item in items):
            self._forget(bracket)
            out.append(_Kept(bracket, ops.BLOCK, [items]))
            return True
        out += items
        return falls

    def _forget(self, bracket: Bracket) -> None:
        """Variables that a bracket writes are not known any more."""
        for region in bracket.regions:
            for item in region.items:
                if isinstance(item, Bracket):
                    self._forget(item)
                elif item.instr.dst >= 0 and self.f.variable[item.instr.dst]:
                    self.known.pop(item.instr.dst, None)


def _branches_to(item: _Item, bracket: Bracket) -> bool:
    return isinstance(item, Leaf) and item.instr.op is ops.BR and item.target is bracket


def _aims(item: _Item, bracket: Bracket) -> bool:
    """Whether a branch in an item is to a bracket."""
    if isinstance(item, Leaf):
        return item.instr.op in _BRANCHES and item.target is bracket
    return any(_aims(inner, bracket) for arm in item.arms for inner in arm)


def _emit(items: list[_Item], opened: list[Bracket], out: list[Instr]) -> None:
    """Append the instructions of what stays, where these brackets are open."""
    for item in items:
        if isinstance(item, Leaf):
            instr = item.instr
            if item.target is not None:
                instr = instr.copy()
                instr.imm = len(opened) - 1 - opened.index(item.target)
            out.append(instr)
            continue
        opener = item.bracket.opener
        if item.op is ops.IF:
            out.append(Instr(ops.IF, VOID, NONE, [item.bracket.condition], 0, opener.line))
        elif item.op is ops.BLOCK:
            out.append(Instr(ops.BLOCK, VOID, NONE, [], 0, opener.line))
        else:
            out.append(opener)
        opened.append(item.bracket)
        _emit(item.arms[0], opened, out)
        if len(item.arms) > 1 and item.arms[1]:
            out.append(Instr(ops.ELSE, VOID, NONE, [], 0, opener.line))
            _emit(item.arms[1], opened, out)
        opened.pop()
        out.append(Instr(ops.END, VOID, NONE, [], 0, item.bracket.end.line))


def changes(f: Function, body: list[Instr]) -> bool:
    """Whether code does anything that is seen behind it."""
    return any(instr.op.effect in (ops.WRITES, ops.CALLS) or (instr.dst >= 0 and f.variable[instr.dst]) for instr in body)


def known_value(op: Op, sign: int, constant: int, first: int | None, last: int | None) -> bool | None:
    """What comparing ``sign`` times a number and a constant with 0 gives, where the number is between ``first`` and ``last`` (None for no bound)."""
    low, high = (first, last) if sign > 0 else (None if last is None else -last, None if first is None else -first)
    low = None if low is None else low + constant
    high = None if high is None else high + constant
    positive, negative = low is not None and low > 0, high is not None and high < 0
    not_negative, not_positive = low is not None and low >= 0, high is not None and high <= 0
    zero = not_negative and not_positive
    true, false = {
        ops.LT: (negative, not_negative),
        ops.GE: (not_negative, negative),
        ops.GT: (positive, not_positive),
        ops.LE: (not_positive, positive),
        ops.EQ: (zero, positive or negative),
        ops.NE: (positive or negative, zero),
    }[op]
    return True if true else False if false else None
