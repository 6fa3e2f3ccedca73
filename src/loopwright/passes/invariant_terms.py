"""Terms of a sum, and factors of a product, that stay the same in a loop, taken together: what they come to is computed once.

::

    for i = 0, n, 1                       %5 = mul.f32 %s, %t
      %2 = load.f32 a[i]                  for i = 0, n, 1
      %3 = mul.f32 %2, %s          →        %2 = load.f32 a[i]
      %4 = mul.f32 %3, %t                   %4 = mul.f32 %2, %5

That needs another order, which integers allow always, whose results wrap, and floats under ``fastmath`` (P. Briggs and K. Cooper, "Effective partial redundancy elimination", PLDI 1994,
section 3.1: operands by the loops that they change in). What is left in the loop keeps its order. A sum that carries a variable from one iteration to the next stays as it is: how that is computed is looked
at elsewhere (``nests/recurrences/reassociate.py``). So do constants that are added to integers, which become parts of addresses, and floats of 16 bits.

Elements of arrays that the loop does not store to stay the same as well, where their subscripts do: they leave the loop with what is made of them (``simplify``).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.ir.loops import IS_LOOP
from loopwright.ir.ops import Op
from loopwright.passes.memory import LoopStores, Places, stores_of_loops
from loopwright.types import BOOL

__all__ = ["run"]

_SUMS: Final = (ops.ADD, ops.SUB)
#: Per operation: with which others it is one sum or product, by the number of the first; -1 for others.
_FAMILY: Final = [ops.ADD.code if op in _SUMS else op.code if op in (ops.MUL, ops.AND, ops.OR, ops.XOR) else -1 for op in ops.OPS]


class _Bracket:
    """A bracket: where it begins, the innermost loop that it is or is in; of a loop its number, and the variables that are written in it."""

    __slots__ = ("head", "loop", "number", "written")

    def __init__(self, head: int) -> None:
        self.head = head
        self.loop: _Bracket | None = None
        self.written: set[int] = set()
        self.number = NONE


#: What is computed in front of a loop is looked at in so many loops around it.
DEEPEST: Final = 3


def run(f: Function) -> None:
    """Rewrite the sums and products of the loops of a function."""
    for _ in range(DEEPEST):
        # (What is computed in front of a loop may be part of a sum in the loop around it.)
        if sum([_FAMILY[instr.op.code] >= 0 and not instr.type.lanes for instr in f.code]) < 2 or not _Terms(f).run():
            return


class _Found:
    """What is found in a sum or product.

    Attributes:
        same: operands that stay the same, and whether each is taken away from the whole.
        dropped: where the sums are made that are no more without these, and what takes the place of each.
        own: which operand of the whole itself is one of these; NONE where all are of parts.
    """

    __slots__ = ("dropped", "own", "same")

    def __init__(self) -> None:
        self.same: list[tuple[int, bool]] = []
        self.dropped: list[tuple[int, int]] = []
        self.own = NONE


class _Terms:
    """The facts about one function.

    Attributes:
        inside: by position, the bracket that an instruction is in.
        places: by register that is no variable, where it is made.
        reads, reader: by register, how often it is read, and where last.
        ahead: by position, what is computed in front of it.
        gone: by register that is made no more, what takes its place.
        known: by register and loop, whether it stays the same there.
        stores: what each loop stores, once that is asked.
    """

    __slots__ = ("ahead", "f", "gone", "inside", "known", "places", "reader", "reads", "stores")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.inside: list[_Bracket | None] = []
        self.places: dict[int, int] = {}
        self.reads = [0] * len(f.types)
        self.reader = [NONE] * len(f.types)
        self.ahead: dict[int, list[Instr]] = {}
        self.gone: dict[int, int] = {}
        self.known: dict[tuple[int, int], bool] = {}
        self.stores: list[LoopStores] | None = None

    def run(self) -> bool:
        """Rewrite what there is; False where there is nothing."""
        f = self.f
        self.look()
        nodes = {k for k in range(len(f.code)) if self.is_node(k)}
        inner = {k for k in nodes if self.joins(k, nodes)}
        if not inner:
            return False
        for k in sorted(nodes - inner):
            self.group(k, inner)
        if not self.gone:
            return False
        out: list[Instr] = []
        for k, instr in enumerate(f.code):
            out += self.ahead.get(k, ())
            if instr.dst not in self.gone:
                out.append(instr)
        for instr in out:
            if not self.gone.keys().isdisjoint(instr.args):
                instr.args = [self.there(a) for a in instr.args]
        f.code = out
        return True

    def look(self) -> None:
        """One walk over the code."""
        f = self.f
        loops = 0
        open_: list[_Bracket] = []
        for k, instr in enumerate(f.code):
            op = instr.op
            if op.closes:
                closed = open_.pop()
                if open_:
                    open_[-1].written |= closed.written
            self.inside.append(open_[-1] if open_ else None)
            if op.opens:
                made = _Bracket(k)
                made.loop = made if IS_LOOP[op.code] else open_[-1].loop if open_ else None
                if made.loop is made:
                    made.number = loops
                    loops += 1
                open_.append(made)
            for a in instr.args:
                if a >= 0:
                    self.reads[a] += 1
                    self.reader[a] = k
            if instr.dst >= 0:
                if f.variable[instr.dst]:
                    if open_:
                        open_[-1].written.add(instr.dst)
                else:
                    self.places[instr.dst] = k

    def is_node(self, k: int) -> bool:
        """Whether an instruction in a loop is part of a sum or product whose order may change, and carries no variable on."""
        f = self.f
        instr = f.code[k]
        if _FAMILY[instr.op.code] < 0:
            return False
        bracket = self.inside[k]
        type_ = instr.type
        if bracket is None or bracket.loop is None or type_.lanes or type_ is BOOL or f.variable[instr.dst]:
            return False
        if (not f.options.fastmath or is_half(type_)) if type_.is_float else not type_.is_integer:
            return False
        return not any(a >= 0 and f.variable[a] and a in bracket.loop.written for a in instr.args)

    def joins(self, k: int, nodes: set[int]) -> bool:
        """Whether what an instruction makes is a term of another such sum, right here, and nothing else."""
        code = self.f.code
        instr = code[k]
        to = self.reader[instr.dst]
        if self.reads[instr.dst] != 1 or to not in nodes or self.inside[to] is not self.inside[k]:
            return False
        return _FAMILY[code[to].op.code] == _FAMILY[instr.op.code] and code[to].type is instr.type

    def stays(self, operand: int, loop: _Bracket) -> bool:
        """Whether an operand is the same in all iterations of a loop."""
        f = self.f
        if operand < 0:
            return True
        if f.variable[operand]:
            return operand not in loop.written
        place = self.places.get(operand, NONE)
        if place <= loop.head:
            # (The loop's index is made by its head.)
            return place < loop.head
        known = self.known.get((operand, loop.head))
        if known is None:
            instr = f.code[place]
            known = (instr.op.pure or (instr.op is ops.LOAD and self.kept(instr, loop))) and all(self.stays(a, loop) for a in instr.args)
            self.known[operand, loop.head] = known
        return known

    def kept(self, load: Instr, loop: _Bracket) -> bool:
        """Whether what a load at a place from outside of a loop gives stays the same in it."""
        if self.stores is None:
            self.stores = stores_of_loops(self.f, Places(self.f))
        return self.stores[loop.number].keeps(load)

    def group(self, root: int, inner: set[int]) -> None:
        """Take together the terms of a sum that its loop does not change, if that leaves less to be done."""
        instr = self.f.code[root]
        bracket = self.inside[root]
        assert bracket is not None and bracket.loop is not None
        loop = bracket.loop
        if all(self.stays(a, loop) for a in instr.args):
            return
        found = _Found()
        self.gather(root, False, inner, loop, found)
        if len(found.dropped) <= (found.own == NONE):
            return
        for k, other in found.dropped:
            self.gone[self.f.code[k].dst] = other
        ahead = all(a < 0 or self.f.variable[a] or self.places.get(a, NONE) < loop.head for a, _ in found.same)
        # (A block that is there for a loop has nothing else in it.)
        place = loop.head if ahead and self.f.code[loop.head - 1].op is not ops.BLOCK else root
        value, negative = self.together(found, instr, self.ahead.setdefault(place, []))
        self.put(root, found.own, value, negative)

    def there(self, operand: int) -> int:
        """What has taken the place of an operand."""
        while operand in self.gone:
            operand = self.gone[operand]
        return operand

    def gather(self, k: int, negative: bool, inner: set[int], loop: _Bracket, found: _Found, part: bool = False) -> None:
        """Collect what stays the same in a sum, or ``part`` of one, that is taken away from the whole if ``negative``."""
        instr = self.f.code[k]
        number = instr.op in _SUMS and instr.type.is_integer
        taken = False
        for position, a in enumerate(instr.args):
            sign = negative ^ (instr.op is ops.SUB and position == 1)
            if not self.stays(a, loop):
                place = self.places.get(a, NONE)
                if place in inner and self.reader[a] == k:
                    self.gather(place, sign, inner, loop, found, True)
            elif not taken and not (number and a < 0) and not (part and instr.op is ops.SUB and position == 0):
                # (What is taken away from something would change its sign without that.)
                taken = True
                found.same.append((a, sign))
                if part:
                    found.dropped.append((k, instr.args[1 - position]))
                else:
                    found.own = position

    def together(self, found: _Found, root: Instr, out: list[Instr]) -> tuple[int, bool]:
        """What all that stays the same comes to, and whether that is to be taken away."""
        # Those that are there first come first: what they come to may leave further loops.
        found.same.sort(key=lambda each: self.places.get(each[0], NONE))
        added = [a for a, negative in found.same if not negative]
        taken = [a for a, negative in found.same if negative]
        op = ops.ADD if root.op in _SUMS else root.op
        first, *others = added or taken
        for a in others:
            first = self.made(op, root, first, a, out)
        for a in taken if added else ():
            first = self.made(ops.SUB, root, first, a, out)
        return first, not added

    def put(self, root: int, own: int, value: int, negative: bool) -> None:
        """Let a sum be that of what is left and of what stays the same."""
        instr = self.f.code[root]
        op = instr.op
        if own == NONE:
            rest = self.made(op, instr, instr.args[0], instr.args[1], self.ahead.setdefault(root, []))
        else:
            rest = instr.args[1 - own]
            if op is ops.SUB and own == 0:
                instr.args = [value, rest]
                return
        if op in _SUMS:
            instr.op = ops.SUB if negative else ops.ADD
        instr.args = [rest, value]

    def made(self, op: Op, like: Instr, a: int, b: int, out: list[Instr]) -> int:
        register = self.f.register(like.type, "")
        out.append(Instr(op, like.type, register, [a, b], 0, like.line))
        return register
