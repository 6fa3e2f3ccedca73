"""Hashes, random numbers and numbers by their digits: what is multiplied by the same number in each iteration, and something added, takes several iterations in one step.

::

    h = h * c + x0                 t = x0 * c + x1
    h = h * c + x1                 t = t * c + x2
    h = h * c + x2         →       t = t * c + x3
    h = h * c + x3                 h = h * c**4 + t

Of integers, which wrap, both are the same. There are as many products, but the next iteration of the unrolled loop waits for one product and one sum instead of four of each; ``t`` is
computed meanwhile (a recurrence of the first order by steps of several: P. Kogge and H. Stone, "A parallel algorithm for the efficient solution of a general class of recurrence
equations", IEEE Transactions on Computers, 1973). What is read in between (``x[i] = s``) comes from where the iteration began, too: of generators of random numbers, which add a constant, it is one product and one sum each (F. Brown,
"Random number generation with arbitrary strides", Transactions of the American Nuclear Society, 1994).

Of ``h`` the lowest bits alone may be kept (``& 0x7FFFFFFF``), which hang on no others. Where the rest by another number is kept (``s = s * 48271 % 2147483647``), products of a number below it and one more such are no
more than 64 bits have room for; that ``s`` is such a number is asked in front of the loop, which runs one by one otherwise.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.ops import Op
from loopwright.types import BOOL, I64

__all__ = ["shorten"]

_LINEAR: Final = (ops.MUL, ops.ADD, ops.SUB)
#: So large a divisor at most leaves numbers whose product, and one more such number, are below 2**63.
MOST_DIVISOR: Final = 3_037_000_000


class _Link:
    """One step of a variable.

    Attributes:
        places: the positions in the body of its instructions, of which the last writes the variable.
        steps: operations and their other operands, in order.
        kept: what the variable is kept below: one more than a mask, or a divisor; 0 for nothing.
    """

    __slots__ = ("kept", "places", "steps")

    def __init__(self, places: list[int], steps: list[tuple[Op, int]], kept: int) -> None:
        self.places = places
        self.steps = steps
        self.kept = kept

    @property
    def factors(self) -> list[int]:
        """What it multiplies by."""
        return [other for op, other in self.steps if op is ops.MUL]

    @property
    def by_bits(self) -> bool:
        """Whether the lowest bits are kept, if not all."""
        return self.kept & (self.kept - 1) == 0


def shorten(f: Function, head: int) -> None:
    """Rewrite such variables of an unrolled loop, if its body is straight code.

    Args:
        f: the function.
        head: the position of the loop's first bracket.
    """
    end = head + 1
    while f.code[end].op.effect != ops.CONTROL:
        end += 1
    if f.code[end].op is not ops.END:
        # (A branch, or a loop.)
        return
    body = _without_copies(f, f.code[head + 1 : end])
    for variable in dict.fromkeys([instr.dst for instr in body if instr.dst >= 0 and f.variable[instr.dst] and f.types[instr.dst].is_integer]):
        links = _links(f, body, variable)
        if len(links) > 1:
            made = _Shortened(f, body, variable, links)
            body = made.body()
            if not links[0].by_bits:
                _ask(f, head, end, variable, links[0].kept, made.ahead)
            f.code[head:end] = [*made.ahead, f.code[head], *body]
            head += len(made.ahead)
            end = head + 1 + len(body)


def _without_copies(f: Function, body: list[Instr]) -> list[Instr]:
    """A body whose operations write variables themselves, where what they make goes to one and to nothing behind that one's next value."""
    out = body
    for instr in body:
        made, v = (instr.args[0], instr.dst) if instr.op is ops.COPY else (-1, -1)
        if made < 0 or v < 0 or f.variable[made] or not f.variable[v]:
            continue
        at = next((k for k, each in enumerate(out) if each.dst == made), -1)
        last = next(k for k, each in enumerate(out) if each is instr)
        if at < 0 or any(each.dst == v or v in each.args for each in out[at + 1 : last]):
            continue
        end = next((k for k in range(last + 1, len(out)) if out[k].dst == v), len(out) - 1)
        if any(made in each.args for each in out[end + 1 :]):
            continue
        out[at].dst = v
        for each in out[at + 1 : end + 1]:
            each.args = [v if a == made else a for a in each.args]
        out = [*out[:last], *out[last + 1 :]]
    return out


def _links(f: Function, body: list[Instr], variable: int) -> list[_Link]:
    """The steps of a variable, if all are products by the same numbers and sums; otherwise none."""
    defined: dict[int, int] = {}
    uses: dict[int, int] = {}
    derived = {variable}
    for k, instr in enumerate(body):
        for a in instr.args:
            uses[a] = uses.get(a, 0) + 1
        if instr.dst >= 0:
            defined[instr.dst] = k
            if any(a in derived for a in instr.args):
                derived.add(instr.dst)
    links: list[_Link] = []
    for k, instr in enumerate(body):
        if instr.dst != variable:
            continue
        link = _link(f, body, variable, k, defined, uses, derived)
        if link is None or (links and (link.places[0] < links[-1].places[-1] or link.factors != links[0].factors or link.kept != links[0].kept)):
            return []
        links.append(link)
    return links if links and _gains(f, links) else []


def _link(f: Function, body: list[Instr], variable: int, last: int, defined: dict[int, int], uses: dict[int, int], derived: set[int]) -> _Link | None:
    """The step that ends with a write to the variable; None where it is none."""
    places = [last]
    steps: list[tuple[Op, int]] = []
    kept = 0
    while True:
        instr = body[places[0]]
        before = [a for a in instr.args if a in derived]
        if len(before) != 1 or len(instr.args) != 2 or instr.type is not f.types[variable]:
            return None
        first = instr.args[0] == before[0]
        other = instr.args[1 if first else 0]
        if places[0] == last and other < 0 and ((instr.op is ops.AND) or (instr.op is ops.REM_FLOOR and first)):
            by = int(f.const_values[~other]) + (1 if instr.op is ops.AND else 0)
            if by < 2 or (instr.op is ops.AND and by & (by - 1)):
                return None
            kept = by
        elif (
            instr.op not in _LINEAR or (instr.op is ops.SUB and not first) or (instr.op is ops.MUL and (other in defined or (other >= 0 and f.variable[other])))
        ):
            return None
        else:
            steps.insert(0, (instr.op, other))
        if before[0] == variable:
            return _Link(places, steps, kept) if steps else None
        if f.variable[before[0]] or uses[before[0]] != 1 or before[0] not in defined or defined[before[0]] > places[0]:
            return None
        places.insert(0, defined[before[0]])


def _gains(f: Function, links: list[_Link]) -> bool:
    """Whether steps multiply, and whether what several together give is known to be the same."""
    if not links[0].factors:
        return False
    if links[0].by_bits:
        return True
    # (Of 64 bits, and nothing below 0 or above what they have room for, as written either.)
    if links[0].kept > MOST_DIVISOR:
        return False
    for link in links:
        most = links[0].kept - 1
        for op, other in link.steps:
            if other >= 0 or op is ops.SUB or f.const_types[~other] is not I64 or int(f.const_values[~other]) < 0:
                return False
            most = most * int(f.const_values[~other]) if op is ops.MUL else most + int(f.const_values[~other])
            if most >> 63:
                return False
    return True


def _ask(f: Function, head: int, end: int, variable: int, below: int, ahead: list[Instr]) -> None:
    """Have the loop run no iteration unless the variable is at least 0 and below a number; the one behind it, which goes on where it stops, does them all then."""
    loop = f.code[head]
    stop, line = loop.args[1], loop.line
    low, high, both, made = f.register(BOOL), f.register(BOOL), f.register(BOOL), f.register(I64)
    ahead.append(Instr(ops.GE, I64, low, [variable, f.const(I64, 0)], 0, line))
    ahead.append(Instr(ops.LT, I64, high, [variable, f.const(I64, below)], 0, line))
    ahead.append(Instr(ops.AND, BOOL, both, [low, high], 0, line))
    ahead.append(Instr(ops.SELECT, I64, made, [both, stop, loop.args[0]], 0, line))
    loop.args = [loop.args[0], made, loop.args[2]]
    rest = f.code[end + 1]
    assert rest.op is ops.FOR and rest.args[0] == stop
    rest.args = [made, *rest.args[1:]]


class _Shortened:
    """A body in which a variable takes one step.

    Attributes:
        ahead: what is needed in front of the loop.
    """

    __slots__ = ("_body", "_out", "ahead", "f", "links", "type", "variable")

    def __init__(self, f: Function, body: list[Instr], variable: int, links: list[_Link]) -> None:
        self.f = f
        self._body = body
        self.variable = variable
        self.links = links
        self.type = f.types[variable]
        self.ahead: list[Instr] = []
        self._out: list[Instr] = []

    def body(self) -> list[Instr]:
        """What the body becomes."""
        f, variable = self.f, self.variable
        inside = {k for link in self.links for k in link.places}
        ends = {link.places[-1]: number for number, link in enumerate(self.links)}
        read = self._read_between(inside, ends)
        line = self._body[self.links[0].places[0]].line
        factor = self._factor(line)
        power = f.const(self.type, 1)
        added = f.const(self.type, 0)
        current = variable
        for k, instr in enumerate(self._body):
            if k in ends:
                number = ends[k]
                last = number == len(self.links) - 1
                power = self._made(ops.MUL, power, factor, line, self.ahead)
                for op, other in self.links[number].steps:
                    added = self._made(op, added, other, instr.line, self._out)
                if last or number in read:
                    current = variable if last else f.register(self.type, f.names[variable])
                    self._write(current, power, added, instr.line)
            elif k not in inside:
                if current != variable:
                    instr.args = [current if a == variable else a for a in instr.args]
                self._out.append(instr)
        return self._out

    def _read_between(self, inside: set[int], ends: dict[int, int]) -> set[int]:
        """The steps whose value is read by something else than the next one."""
        read: set[int] = set()
        number = -1
        for k, instr in enumerate(self._body):
            if k not in inside and self.variable in instr.args:
                read.add(number)
            number = ends.get(k, number)
        return read

    def _factor(self, line: int) -> int:
        """What a step multiplies by."""
        factors = self.links[0].factors
        made = factors[0]
        for other in factors[1:]:
            made = self._made(ops.MUL, made, other, line, self.ahead)
        return made

    def _made(self, op: Op, a: int, b: int, line: int, out: list[Instr]) -> int:
        """An operand that is a product, a sum or a difference of two others, computed already where it can be."""
        f = self.f
        if a < 0 and b < 0:
            value = f.folded(op, self.type, self.type, [a, b])
            assert value is not None
            by = self.links[0].kept
            return value if self.links[0].by_bits else f.const(self.type, int(f.const_values[~value]) % by)
        one = int(f.const_values[~a]) if a < 0 else -1
        same: int | None = None
        if op is ops.MUL and one in (0, 1):
            same = b if one else a
        elif op is ops.ADD and one == 0:
            same = b
        if same is not None and (same < 0 or not f.variable[same]):
            return same
        made = f.register(self.type)
        if same is not None:
            # (What a variable is now, which may be given another value before it is read.)
            out.append(Instr(ops.COPY, self.type, made, [same], 0, line))
            return made
        out.append(Instr(op, self.type, made, [a, b], 0, line))
        return made

    def _write(self, dst: int, power: int, added: int, line: int) -> None:
        """Append what the variable is after some steps."""
        f, out, by = self.f, self._out, self.links[0].kept
        parts = [(ops.MUL, power)]
        if added >= 0 or int(f.const_values[~added]):
            parts.append((ops.ADD, added))
        if by:
            parts.append((ops.AND, f.const(self.type, by - 1)) if self.links[0].by_bits else (ops.REM_FLOOR, f.const(self.type, by)))
        value = self.variable
        for number, (op, other) in enumerate(parts):
            made = dst if number == len(parts) - 1 else f.register(self.type)
            out.append(Instr(op, self.type, made, [value, other], 0, line))
            value = made
