"""Sums in loops that wait for their own results, added up so that what is waited for comes last: of integers always, of floats under ``fastmath``, which allows that. So are the least and the
greatest of several.

``s = max(x[i], s + x[i] - 1)`` waits for two additions and a comparison in each iteration, ``s = max(x[i], s + (x[i] - 1))`` for one addition less: what does not depend
on the iteration before is computed while that is under way (tree-height reduction: D. Kuck, The Structure of Computers and Computations, 1978, chapter 2). Two updates of a variable that
nothing reads in between (``s += x[i]``, ``s -= x[i - w]``) are one, so that a running sum has one place where it is added to (``vectors/running.py``).

Long sums that are written down term by term, or come of loops that were unrolled as the kernel was staged, are added up in several parts side by side for the same reason: a core has not the
room to begin so many iterations at once that their chains would keep its units busy.

Sums of f16 stay as they are: in another order they may leave its short range where they do not as written.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.ir.loops import IS_LOOP, LEAVES
from loopwright.ir.ops import Op
from loopwright.nests.analysis.nest import Nest, NestLoop, parts
from loopwright.nests.analysis.scalars import CARRIED, scalars
from loopwright.types import Type

__all__ = ["run"]

_SUMS: Final = frozenset((ops.ADD, ops.SUB))
_EXTREMES: Final = frozenset((ops.MIN, ops.MAX))
#: After so many iterations it is seen what waits for what.
_ITERATIONS: Final = 4
#: When what does not wait is there.
_EARLY: Final = -1000
_LATENCIES: Final = {ops.DIV: 13, ops.SQRT: 16}
#: Sums of so many terms are added up in parts, and in so many.
LONG_SUM: Final = 12
PARTS: Final = 4


def run(f: Function) -> None:
    """Rewrite such sums and extremes in every innermost loop; between its branches, where it has some."""
    fast = f.options.fastmath
    if not fast and not _candidate(f):
        return
    for nest in reversed(parts(f)):
        carried = [scalar for scalar in scalars(nest) if scalar.kind == CARRIED and _exact(f, f.types[scalar.variable])]
        for loop in reversed(nest.loops):
            variables = {scalar.variable for scalar in carried if scalar.loop is loop}
            branches = [instr.op for instr in f.code[loop.head + 1 : loop.end] if instr.op.effect == ops.CONTROL]
            if any(IS_LOOP[op.code] or op in LEAVES for op in branches):
                continue
            if variables:
                _shorten(nest, loop, variables)
            if fast and not branches and loop.end - loop.head > LONG_SUM:
                _in_parts(f, loop.head, loop.end)


def _candidate(f: Function) -> bool:
    """Whether there may be integers to be put into another order: a sum or an extreme of one that reads what a loop may carry."""
    late = {register for register, variable in enumerate(f.variable) if variable}  # and what is made of variables
    made: set[int] = set()  # sums and extremes of that
    if not late:
        return False
    for instr in f.code:
        if instr.dst < 0 or late.isdisjoint(instr.args):
            continue
        late.add(instr.dst)
        if (instr.op in _SUMS or instr.op in _EXTREMES) and instr.type.is_integer:
            if not made.isdisjoint(instr.args):
                return True
            made.add(instr.dst)
        elif instr.op is ops.COPY and instr.args[0] in made:
            made.add(instr.dst)
    return False


def _exact(f: Function, type_: Type) -> bool:
    """Whether the order makes no difference that is not allowed, for sums or for extremes."""
    return f.options.fastmath and not is_half(type_) if type_.is_float else type_.is_integer


def _shorten(nest: Nest, loop: NestLoop, variables: set[int]) -> None:
    f = nest.f
    body = _forwarded(f, f.code[loop.head + 1 : loop.end])
    for _ in range(len(body)):
        if not _step(f, body, _Arrivals(f, body, variables)):
            break
    if f.options.fastmath:
        for k in range(len(body) - 1, -1, -1):
            if body[k].op in _SUMS and body[k].type.is_float and not is_half(body[k].type):
                _collected(f, body, k, variables)
    f.code = [*f.code[: loop.head + 1], *body, *f.code[loop.end :]]


def _forwarded(f: Function, body: list[Instr]) -> list[Instr]:
    """A body in which what reads a variable that has just got a value reads the value, and variables get none that nothing reads before the next."""
    values: dict[int, int] = {}
    copies: dict[int, int] = {}  # per variable: where it got the value that nothing has read so far
    dropped: set[int] = set()
    for k, instr in enumerate(body):
        if instr.op.effect == ops.CONTROL:
            values.clear()
            copies.clear()
            continue
        if not values.keys().isdisjoint(instr.args):
            instr.args = [values.get(a, a) for a in instr.args]
        if instr.dst < 0 or not f.variable[instr.dst]:
            continue
        if instr.dst in copies:
            dropped.add(copies.pop(instr.dst))
        values.pop(instr.dst, None)
        if instr.op is ops.COPY and instr.args[0] >= 0 and not f.variable[instr.args[0]]:
            values[instr.dst] = instr.args[0]
            copies[instr.dst] = k
    return [instr for k, instr in enumerate(body) if k not in dropped] if dropped else body


class _Arrivals:
    """When the values of a loop's body are there, in cycles, after some iterations; what does not wait for the iteration before is there from the start.

    Attributes:
        of: by register, when its value is there, where it waits; a variable's as it is at the beginning of an iteration.
        written: by variable, where in the body it is written, and when that is there.
        uses: how often each register is read.
        leads: the registers that the variables are made of in the end; nothing waits for the rest.
    """

    __slots__ = ("leads", "of", "uses", "written")

    def __init__(self, f: Function, body: list[Instr], variables: set[int]) -> None:
        self.uses: dict[int, int] = {}
        self.written: dict[int, list[tuple[int, int]]] = {}
        for instr in body:
            for a in instr.args:
                self.uses[a] = self.uses.get(a, 0) + 1
        fused: set[int] = set()  # products that become part of the sum that they go into
        if f.options.contract:
            products = {instr.dst for instr in body if instr.op is ops.MUL and instr.type.is_float and self.uses.get(instr.dst) == 1}
            for instr in body:
                if instr.op in _SUMS:
                    fused.update(a for a in instr.args if a in products)
        self.leads = set(variables)
        known = -1
        while known != len(self.leads):
            known = len(self.leads)
            for instr in reversed(body):
                if instr.dst in self.leads or instr.op.effect == ops.CONTROL:
                    self.leads.update(instr.args)
        late = set(variables)
        waiting: list[tuple[int, Instr, list[int]]] = []  # what may wait, or no longer does, and for what
        for k, (instr, conditions) in enumerate(_asked(body)):
            if instr.dst < 0:
                continue
            # (What an arm gives a variable waits for the condition, as a choice does.)
            args = [*instr.args, *conditions] if f.variable[instr.dst] else instr.args
            if not late.isdisjoint(args):
                late.add(instr.dst)
            elif not f.variable[instr.dst]:
                continue
            waiting.append((k, instr, args))
        starts = dict.fromkeys(variables, 0)
        for _ in range(_ITERATIONS):
            self.of = dict(starts)
            self.written = {}
            now = dict(starts)
            for k, instr, args in waiting:
                waited = [now[a] for a in args if a in now]
                if waited:
                    now[instr.dst] = max(waited) + (0 if instr.dst in fused else _latency(instr))
                    if not f.variable[instr.dst]:
                        self.of[instr.dst] = now[instr.dst]
                elif f.variable[instr.dst]:
                    now.pop(instr.dst, None)
                if f.variable[instr.dst]:
                    self.written.setdefault(instr.dst, []).append((k, now.get(instr.dst, _EARLY)))
            starts = {v: now.get(v, _EARLY) for v in variables}

    def __call__(self, operand: int, place: int) -> int:
        """When an operand of the instruction at a place is there."""
        for k, arrival in reversed(self.written.get(operand, ())):
            if k < place:
                return arrival
        return self.of.get(operand, _EARLY)


def _asked(body: list[Instr]) -> list[tuple[Instr, list[int]]]:
    """The instructions of a body, each with the conditions of the branches that it is in."""
    found: list[tuple[Instr, list[int]]] = []
    opened: list[list[int]] = []
    for instr in body:
        op = instr.op
        if op is ops.THEN:
            opened[-1].append(instr.args[0])
        elif op is ops.END and opened:
            opened.pop()
        elif op.opens and not op.closes:
            opened.append([instr.args[0]] if op is ops.IF else [])
        found.append((instr, [a for asked in opened for a in asked]))
    return found


def _latency(instr: Instr) -> int:
    """About how many cycles an operation takes on present cores."""
    if instr.op is ops.COPY:
        return 0
    if not instr.type.is_float:
        return 1
    return _LATENCIES.get(instr.op, 4)


def _step(f: Function, body: list[Instr], arrivals: _Arrivals) -> bool:
    """Rewrite one sum or product of a body, so that its result is there earlier. False where there is none.

    A sum, or a product, in which what is waited for goes through two of them is taken apart, ``(p + d) + c`` as ``p + (d + c)``; and ``p * (1 - d)`` becomes ``p - p * d``, ``c * (p + d)``
    ``c * p + c * d``, one operation behind what is waited for where it can be contracted.
    """
    made: dict[int, int] = {}
    for k, instr in enumerate(body):
        if instr.op.effect == ops.CONTROL:
            made.clear()
        if instr.dst not in arrivals.leads or not _exact(f, instr.type):
            continue
        if instr.op in _EXTREMES or instr.op is ops.MUL:
            for place in (0, 1):
                at = made.get(instr.args[place], -1)
                if at >= 0 and body[at].op is instr.op and body[at].type is instr.type and _apart(f, body, at, k, place, arrivals):
                    return True
        elif instr.op in _SUMS:
            for place in (0, 1) if instr.op is ops.ADD else (0,):
                at = made.get(instr.args[place], -1)
                if at >= 0 and body[at].op in _SUMS and _apart(f, body, at, k, place, arrivals):
                    return True
        if instr.op is ops.MUL and instr.type.is_float and f.options.contract:
            for place in (0, 1):
                at = made.get(instr.args[place], -1)
                if at >= 0 and body[at].op in _SUMS and not f.variable[body[at].dst] and _distributed(f, body, at, k, place, arrivals):
                    return True
        if instr.op in _SUMS or instr.op in _EXTREMES or instr.op is ops.MUL:
            made[instr.dst] = k
        elif f.variable[instr.dst]:
            made.pop(instr.dst, None)
    return False


def _apart(f: Function, body: list[Instr], at: int, k: int, place: int, arrivals: _Arrivals) -> bool:
    """Rewrite the sum, product or extreme at ``k``, one of whose operands is that at ``at``, in which one operand is waited for longest; False where that is not so."""
    first, second = body[at], body[k]
    other = second.args[1 - place]
    p, d = first.args
    exchanged = arrivals(p, at) < arrivals(d, at)
    if exchanged:
        p, d = d, p
    # (Where it is read elsewhere it stays; a sum of constants costs nothing more.)
    again = arrivals.uses[first.dst] > 1
    if f.variable[first.dst]:
        if second.dst != first.dst or other == first.dst or any(first.dst in instr.args for instr in body[at + 1 : k]):
            return False
        again = False
    late = arrivals(p, at)
    if late < 0 or max(arrivals(d, at), arrivals(other, k)) + _latency(first) > late or (again and (d >= 0 or other >= 0)):
        return False
    if any(_changes(f, body, a, at + 1, k) for a in (p, d, other)):
        return False
    made = f.register(second.type, "")
    op, terms = first.op, [d, other]
    if first.op in _EXTREMES or first.op is ops.MUL:
        inside, outside = first.op, [p, made]
    elif exchanged and first.op is ops.SUB:
        # (d - p) + c = (d + c) - p, (d - p) - c = (d - c) - p
        inside, outside = second.op, [made, p]
    elif first.op is ops.SUB and second.op is ops.ADD:
        # (p - d) + c = p + (c - d)
        inside, op, terms, outside = ops.SUB, ops.ADD, [other, d], [p, made]
    else:
        # (p + d) + c = p + (d + c), (p + d) - c = p + (d - c), (p - d) - c = p - (d + c)
        inside, outside = ops.ADD if (first.op is ops.ADD) == (second.op is ops.ADD) else ops.SUB, [p, made]
    body[k : k + 1] = [
        Instr(inside, second.type, made, terms, 0, second.line),
        Instr(op, second.type, second.dst, outside, 0, second.line),
    ]
    if not again:
        del body[at]
    return True


def _distributed(f: Function, body: list[Instr], at: int, k: int, place: int, arrivals: _Arrivals) -> bool:
    """Rewrite the product at ``k``, one of whose operands is the sum at ``at``, so that what is waited for longest goes through one multiplication and addition; False where it does so.

    That is a sum of 1 and something that is waited for longer than the other factor; or one of whose terms one is waited for longer than the other, and than the factor.
    """
    first, second = body[at], body[k]
    factor = second.args[1 - place]
    x, y = first.args
    if arrivals.uses[first.dst] > 1:
        return False
    one, d = (y, x) if first.op is ops.ADD and y < 0 else (x, y)
    of_one = one < 0 and f.const_values[~one] == 1
    if of_one:
        gains = d >= 0 and arrivals(d, at) >= 0 and arrivals(factor, k) <= arrivals(d, at)
    else:
        early, late = sorted((arrivals(x, at), arrivals(y, at)))
        gains = late >= 0 and max(early, arrivals(factor, k)) + 4 <= late
    if not gains or any(_changes(f, body, a, at, k) for a in (x, y, factor)):
        return False
    made: list[Instr] = []
    terms: list[int] = []
    for term in (one, d) if of_one else (x, y):
        if of_one and term == one:
            terms.append(factor)
            continue
        made.append(Instr(ops.MUL, second.type, f.register(second.type, ""), [factor, term], 0, second.line))
        terms.append(made[-1].dst)
    body[k : k + 1] = [*made, Instr(first.op, second.type, second.dst, terms, 0, second.line)]
    del body[at]
    return True


def _collected(f: Function, body: list[Instr], k: int, variables: set[int]) -> None:
    """Rewrite the sum at ``k`` if it has a variable in two terms, once as a product with what is the same in all iterations: ``v + (x - v * c)`` as ``x + v * (1 - c)``, which is waited for by one operation.

    So is a mean that decays, written as a difference: ``v += c * (x - v)``.
    """
    uses: dict[int, int] = {}
    made: dict[int, int] = {}
    for n, instr in enumerate(body):
        for a in instr.args:
            uses[a] = uses.get(a, 0) + 1
        if n < k:
            if instr.op.effect == ops.CONTROL:
                made.clear()
            elif instr.dst >= 0:
                made[instr.dst] = n
    whole = body[k]
    type_, line = whole.type, whole.line
    terms: list[tuple[int, bool]] = []  # what is added, and what is taken away
    parts: list[int] = []  # the sums inside

    def gather(operand: int, minus: bool) -> None:
        at = made.get(operand, -1)
        if at >= 0 and body[at].op in _SUMS and body[at].type is type_ and uses[operand] == 1 and not f.variable[operand]:
            parts.append(at)
            gather(body[at].args[0], minus)
            gather(body[at].args[1], minus != (body[at].op is ops.SUB))
        else:
            terms.append((operand, minus))

    gather(whole.args[0], False)
    gather(whole.args[1], whole.op is ops.SUB)
    for variable in sorted(variables):
        alike: list[tuple[int, bool]] = []
        factors: list[int] = []  # of these, what the variable is multiplied by
        for term in terms:
            factor = f.const(type_, 1.0) if term[0] == variable else _factor(f, body, made, uses, term[0], variable)
            if factor is not None:
                alike.append(term)
                factors.append(factor)
        first = min([*parts, *[made[operand] for operand, _ in alike if operand in made], k])
        if len(alike) < 2 or any(_changes(f, body, a, first, k) for a in (variable, *[operand for operand, _ in terms])):
            continue
        out: list[Instr] = []
        together = NONE
        for factor, (_, minus) in zip(factors, alike, strict=True):
            together = _both(f, together, factor, minus, whole, out)
        scaled = f.register(type_, "")
        out.append(Instr(ops.MUL, type_, scaled, [variable, together], 0, line))
        # (What is added comes first, so that there is something to take away from.)
        _add_up(f, sorted([term for term in terms if term not in alike], key=_taken_away), scaled, whole, out)
        body[k : k + 1] = out
        for n in sorted({*parts, *[made[operand] for operand, _ in alike if operand != variable]}, reverse=True):
            del body[n]
        return


def _factor(f: Function, body: list[Instr], made: dict[int, int], uses: dict[int, int], operand: int, variable: int) -> int | None:
    """What a variable is multiplied by in a product that nothing else reads, if that is the same in all iterations; None for what is no such product."""
    at = made.get(operand, -1)
    if at < 0 or body[at].op is not ops.MUL or variable not in body[at].args or uses[operand] > 1 or f.variable[operand]:
        return None
    one, two = body[at].args
    factor = two if one == variable else one
    return None if factor in made or (factor >= 0 and f.variable[factor]) else factor


def _both(f: Function, total: int, factor: int, minus: bool, whole: Instr, out: list[Instr]) -> int:
    """A sum of factors, and one more, which may be taken away; computed while compiling where all are known."""
    type_ = whole.type
    if total == NONE and not minus:
        return factor
    op = ops.SUB if minus else ops.ADD
    args = [f.const(type_, 0.0) if total == NONE else total, factor]
    if args[0] < 0 and factor < 0:
        folded = f.folded(op, type_, type_, args)
        if folded is not None:
            return folded
    made = f.register(type_, "")
    out.append(Instr(op, type_, made, args, 0, whole.line))
    return made


def _taken_away(term: tuple[int, bool]) -> bool:
    return term[1]


def _add_up(f: Function, terms: list[tuple[int, bool]], last: int, whole: Instr, out: list[Instr]) -> None:
    """Append the sum of some terms, of which those that are taken away come last, and of ``last``, which is waited for, in the place of another sum."""
    type_ = whole.type
    total, minus = terms[0] if terms else (last, False)
    for operand, less in terms[1:]:
        both = f.register(type_, "")
        # (Where all are taken away, so is their sum.)
        out.append(Instr(ops.SUB if less != minus else ops.ADD, type_, both, [total, operand], 0, whole.line))
        total = both
    if not terms:
        out.append(Instr(ops.COPY, type_, whole.dst, [last], 0, whole.line))
    elif minus:
        out.append(Instr(ops.SUB, type_, whole.dst, [last, total], 0, whole.line))
    else:
        out.append(Instr(ops.ADD, type_, whole.dst, [total, last], 0, whole.line))


def _changes(f: Function, body: list[Instr], operand: int, at: int, k: int) -> bool:
    """Whether a variable is written between two places."""
    return operand >= 0 and f.variable[operand] and any(instr.dst == operand for instr in body[at:k])


def _in_parts(f: Function, head: int, end: int) -> None:
    """Add up the long sums of a loop's body, which is straight code, in parts."""
    body = f.code[head + 1 : end]
    instead: dict[int, list[Instr]] = {}  # what takes an instruction's place
    for chain in _chains(f, body):
        if len(chain) + 1 < LONG_SUM:
            continue
        first = body[chain[0]]
        terms = [(first.args[0], ops.ADD), (first.args[1], first.op)]
        for n in range(1, len(chain)):
            instr = body[chain[n]]
            terms.append((instr.args[1] if instr.args[0] == body[chain[n - 1]].dst else instr.args[0], instr.op))
        if all(op is ops.ADD and not (x >= 0 and f.variable[x]) for x, op in terms[:PARTS]):
            _side_by_side(f, body, chain, terms, instead)
    if instead:
        made: list[Instr] = []
        for k, instr in enumerate(body):
            made += instead.get(k, [instr])
        f.code = [*f.code[: head + 1], *made, *f.code[end:]]


def _chains(f: Function, body: list[Instr]) -> list[list[int]]:
    """The places of sums each of which adds something to the one before, or subtracts it, which is read nowhere else."""
    uses: dict[int, int] = {}
    for instr in body:
        for a in instr.args:
            uses[a] = uses.get(a, 0) + 1
    chains: dict[int, list[int]] = {}  # by its last sum's register
    for k, instr in enumerate(body):
        if instr.op not in _SUMS or not instr.type.is_float or is_half(instr.type) or instr.dst < 0 or f.variable[instr.dst]:
            continue
        chain: list[int] = []
        for a in instr.args if instr.op is ops.ADD else instr.args[:1]:
            known = chains.get(a)
            if known is not None and uses[a] == 1 and instr.type is body[known[0]].type and len(known) > len(chain):
                chain = known
        if chain:
            del chains[body[chain[-1]].dst]
        chains[instr.dst] = [*chain, k]
    return list(chains.values())


def _side_by_side(f: Function, body: list[Instr], chain: list[int], terms: list[tuple[int, Op]], instead: dict[int, list[Instr]]) -> None:
    """Write a chain of sums down as several, whose results are added at its end."""
    type_, line = body[chain[0]].type, body[chain[0]].line
    parts = [x for x, _ in terms[:PARTS]]
    for n, k in enumerate(chain, 1):
        instead[k] = []
        if n >= PARTS:
            x, op = terms[n]
            made = f.register(type_, "")
            instead[k].append(Instr(op, type_, made, [parts[n % PARTS], x], 0, body[k].line))
            parts[n % PARTS] = made
    while len(parts) > 1:
        halves: list[int] = []
        for a, b in zip(parts[::2], parts[1::2], strict=True):
            made = body[chain[-1]].dst if len(parts) == 2 else f.register(type_, "")
            instead[chain[-1]].append(Instr(ops.ADD, type_, made, [a, b], 0, line))
            halves.append(made)
        parts = halves
