"""Loops that ran while staging, rolled up again: statements that stand there many times, with numbers that grow from one time to the next, are one loop.

::

    %9 = mul.i64 %i, 32                  %s = copy.f32 0.0
    %10 = add.i64 %9, 0                  %k = for 0, 32, 1
    %11 = load.f32 x[%10]                  %9 = mul.i64 %i, 32
    %12 = add.f32 0.0, %11                 %10 = add.i64 %9, %k
    %13 = mul.i64 %i, 32          →        %11 = load.f32 x[%10]
    %14 = add.i64 %13, 1                   %12 = add.f32 %s, %11
    %15 = load.f32 x[%14]                  %s = copy.f32 %12
    %16 = add.f32 %12, %15               end
    ...

A loop over Python's own numbers (``range(32)``) runs while its kernel is staged, and leaves its iterations one behind the other. No pass sees a loop in that, so that nothing of it would run in lanes.
The rolled loop does the same in the same order, so that nothing has to be known of memory. Loops inside each other come one after the other, innermost first. Code stays as it is where iterations differ in more than numbers of
i64 that grow evenly, where anything but totals goes from one to the next, and where the loop around could have lanes as it is.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Forms
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.half_floats import is_half
from loopwright.nests.analysis.dependence import dependences, too_many
from loopwright.nests.analysis.nest import SHORTEST, nests
from loopwright.nests.analysis.operations import asking
from loopwright.nests.analysis.scalars import scalars
from loopwright.nests.rewriting.unroll import crossing_branches
from loopwright.nests.steps.lanes import adjacent, free, strided
from loopwright.targets.target import Target
from loopwright.types import I64, VOID, vector_of
from loopwright.vectors.interleaving import dealt

__all__ = ["run"]

#: Fewer iterations stay; and so do those of which fewer than the other stand next to each other, that may differ in their numbers, do not branch, and do not store to elements that stay the same in the loop around, or load such alone.
FEWEST: Final = 8
FEW: Final = 9
#: So many iterations of what products of rows are made of stay.
MOST_SIDE_BY_SIDE: Final = 64
#: So many times the same operation is looked for, to find where the next iteration begins.
MOST_SEEN: Final = 48
#: So many distances to it are tried.
MOST_TRIES: Final = 4
#: So many instructions may be tried in vain, for each that there is.
MOST_IN_VAIN: Final = 4
#: Loops are at most so deep inside each other.
MOST_LEVELS: Final = 4
#: How far apart elements are that are dealt out in place of rolling up what they are added to.
_MOST_APART: Final = 4


def run(f: Function, target: Target) -> bool:
    """Roll up what stands there many times; False where the function stays as it is, as it does where nothing that comes of it could have lanes."""
    original = f.code
    made: set[int] = set()
    for _ in range(MOST_LEVELS):
        if not target.vector_bits or not _many(f.code) or not _Rolling(f, target, made).run():
            break
    if made and not _gains(f, target, made):
        f.code = original
        made.clear()
    return bool(made)


def _gains(f: Function, target: Target, made: set[int]) -> bool:
    """Whether one of the loops with such indices could have lanes; of those with branches that is not known yet."""
    for nest in nests(f):
        own = [loop for loop in nest.loops if loop.index in made and not any(other.parent is loop for other in nest.loops)]
        if nest.obstacles or not own:
            continue
        if any(instr.op is ops.IF for loop in own for instr in f.code[loop.head + 1 : loop.end]):
            return True
        variables = scalars(nest)
        beside = adjacent(nest, variables, target)
        beside += strided(nest, variables, target, beside)
        beside = [loop for loop in beside if loop in own]
        if not beside or too_many(nest, True):
            continue
        found = dependences(nest, True)
        if any(free(loop, found) for loop in beside):
            return True
    return False


def _many(code: list[Instr]) -> bool:
    """Whether one array is loaded from, or stored to, often enough for anything to be there many times. (It is asked of every function.)"""
    counts: dict[tuple[int, int], int] = {}
    for instr in code:
        if instr.op is ops.LOAD or instr.op is ops.STORE:
            key = (instr.op.code, instr.imm)
            counts[key] = counts.get(key, 0) + 1
    return max(counts.values(), default=0) >= FEWEST


class _Rolling:
    """One walk over a function's code.

    Attributes:
        target: what it is compiled for.
        made: receives the indices of the loops.
        kinds: per instruction a number that those have in common that differ in their operands only.
        first, last: per register, where it is mentioned first and last.
        handed_on: by index of a loop, the arrays in which it stores to the same elements in all of its iterations.
    """

    __slots__ = ("f", "first", "forms", "handed_on", "kinds", "last", "made", "target")

    def __init__(self, f: Function, target: Target, made: set[int]) -> None:
        self.f = f
        self.target = target
        self.made = made
        self.forms: Forms | None = None
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.kinds: list[int] = []
        self.handed_on: dict[int, set[int]] = {}
        numbers: dict[tuple[int, int, int, int, int, bool], int] = {}
        for position, instr in enumerate(f.code):
            kind = (instr.op.code, instr.type.number, instr.source.number, instr.imm, len(instr.args), instr.loop is None)
            self.kinds.append(numbers.setdefault(kind, len(numbers)))
            for a in (instr.dst, *instr.args):
                if a >= 0:
                    self.first.setdefault(a, position)
                    self.last[a] = position

    def run(self) -> int:
        """Roll up what can be. Returns how many loops were made."""
        f, kinds = self.f, self.kinds
        code = f.code
        places: dict[int, list[int]] = {}
        branches = [0]  # per instruction, how many branches are in front of it
        for position, kind in enumerate(kinds):
            places.setdefault(kind, []).append(position)
            branches.append(branches[-1] + (code[position].op is ops.IF))
        seen: dict[int, int] = {}  # of each kind, how many have been passed
        failed: dict[int, tuple[int, int]] = {}  # by distance, from how many instructions on in a row nothing came of it, and the last of these
        out: list[Instr] = []
        around: list[int] = []  # the indices of open loops, NONE for other brackets
        position = done = in_vain = 0
        while position < len(code):
            kind = kinds[position]
            same = places[kind]
            made: list[Instr] | None = None
            end = position
            if len(same) - seen.get(kind, 0) >= FEWEST and in_vain < MOST_IN_VAIN * len(code):
                indices = [a for a in reversed(around) if a != NONE][:2]
                first = seen.get(kind, 0) + 1
                tries = 0
                for other in same[first : first + MOST_SEEN]:
                    period = other - position
                    few = FEWEST if branches[other] > branches[position] else FEW
                    stretch = period * (FEWEST - 1)
                    if other + stretch > len(code):
                        break
                    if kinds[position + stretch] != kind or kinds[position + 1] != kinds[other + 1] or kinds[other - 1] != kinds[other + stretch - 1]:
                        continue
                    count, last = failed.get(period, (0, NONE))
                    if count > period and position == last + 1:
                        # (It has been tried from each instruction of an iteration.)
                        failed[period] = count, position
                        continue
                    if tries < MOST_TRIES and kinds[position : position + stretch] == kinds[other : other + stretch]:
                        tries += 1
                        found = _Run(self, position, period, indices, few)
                        made = found.rolled()
                        if made is not None:
                            end = position + found.turns * period
                            failed.clear()
                            break
                        in_vain += period
                        failed[period] = (count + 1 if position == last + 1 else 1), position
            if made is not None:
                out += made
                done += 1
                for k in range(position, end):
                    seen[kinds[k]] = seen.get(kinds[k], 0) + 1
                position = end
                continue
            seen[kind] = seen.get(kind, 0) + 1
            instr = code[position]
            if instr.op.opens and not instr.op.closes:
                around.append(instr.dst if instr.op is ops.FOR else NONE)
            elif instr.op is ops.END:
                around.pop()
            out.append(instr)
            position += 1
        if done:
            f.code = out
        return done

    def product(self, body: list[Instr], indices: list[int]) -> bool:
        """Whether what a body loads is the same in all iterations of one of the two loops around, each of them for some: rows of both side by side do more for that than lanes along rows."""
        if len(indices) < 2:
            return False
        hangs: set[int] = set()
        for instr in body:
            if instr.op is ops.LOAD:
                own = [index for index in indices if any(self.hangs(place, index) for place in instr.args)]
                if len(own) > 1:
                    return False
                hangs.update(own)
        return len(hangs) == len(indices) and self.alone(indices)

    def alone(self, indices: list[int]) -> bool:
        """Whether the outer of two loops does nothing but run the inner one, and that hands nothing on: iterations of both can be side by side then."""
        code = self.f.code
        inner, outer = indices
        heads = [next(k for k in range(len(code)) if code[k].op is ops.FOR and code[k].dst == index) for index in (outer, inner)]
        depth = 0
        for k in range(heads[0] + 1, len(code)):
            instr = code[k]
            if instr.op is ops.END:
                if not depth:
                    return True
                depth -= 1
            elif k == heads[1]:
                depth += 1
            elif instr.op.effect == ops.CONTROL or (instr.dst >= 0 and self.f.variable[instr.dst]) or (not depth and not instr.op.pure):
                return False
        return False

    def hangs(self, place: int, index: int) -> bool:
        """Whether a subscript hangs on an index."""
        forms = self.all_forms()
        form = forms.of(place)
        return form is None or any(forms.registers[value] == index or index in forms.leaves[value] for value in form.terms)

    def all_forms(self) -> Forms:
        """The function's linear forms."""
        if self.forms is None:
            self.forms = Forms(self.f, 0, len(self.f.code))
        return self.forms

    def in_lanes(self, body: list[Instr], indices: list[int], turns: int) -> bool:
        """Whether accesses of a body are adjacent in the loop around it, or the same in all of its iterations, which does not change what is loaded there: then that may have lanes.

        Loads may be a few elements apart where there are so few of them that to deal them out takes less than to add up lanes.
        """
        if not indices:
            return False
        index = indices[0]
        forms = self.all_forms()
        for instr in body:
            if instr.op is not ops.LOAD and instr.op is not ops.STORE:
                continue
            places = instr.args[int(instr.op is ops.STORE) :]
            for k, place in enumerate(places):
                form = forms.of(place)
                if form is None:
                    return False
                times = 0
                for value, coefficient in form.terms.items():
                    if forms.registers[value] == index:
                        times = coefficient
                    elif index in forms.leaves[value]:
                        return False
                if times != 0 and (k < len(places) - 1 or times != 1) and not (k == len(places) - 1 and self.few_apart(instr, times, turns)):
                    return False
            if instr.op is ops.LOAD and instr.imm in self.stored_again(index) and not any(self.hangs(place, index) for place in places):
                return False
        return True

    def few_apart(self, instr: Instr, times: int, turns: int) -> bool:
        """Whether loads so many elements apart, of so many iterations that stand side by side, are quicker dealt out than what is made of them is added up across lanes.

        Measured on Zen 4 with sums of 12, 24 and 48 products, 2 to 4 elements apart: 12 of f64 and 24 of f32 and i16 are, and twice as many are not.
        """
        bits = instr.type.bits
        whole = vector_of(instr.type, max(1, self.target.vector_bits // bits))
        if instr.op is not ops.LOAD or not 2 <= times <= _MOST_APART or not dealt(whole, times, self.target, asking(self.target)):
            return False
        return 2 * turns * (bits if bits >= 32 else 2 * bits) <= 3 * self.target.vector_bits

    def stored_again(self, index: int) -> set[int]:
        """The arrays in which a loop stores to elements that are the same in all of its iterations."""
        known = self.handed_on.get(index)
        if known is None:
            code = self.f.code
            known = self.handed_on[index] = set()
            depth = 0
            for k in range(next(k for k in range(len(code)) if code[k].op is ops.FOR and code[k].dst == index), len(code)):
                instr = code[k]
                if instr.op.effect == ops.CONTROL:
                    depth += (1 if instr.op.opens else 0) - (1 if instr.op.closes else 0)
                    if not depth:
                        break
                elif instr.op is ops.STORE and not any(self.hangs(place, index) for place in instr.args[1:]):
                    known.add(instr.imm)
        return known


class _Run:
    """Iterations that stand one behind the other.

    Attributes:
        around: the indices of the two innermost loops around.
        turns: how many there are.
        few: with fewer of them they stay, usually.
        defined: per iteration, the registers that it defines, in the order of the text; of those, ``place`` has the numbers.
        grows: by instruction and operand, by how much an i64 constant grows from one iteration to the next.
        begun: per number of a register that iterations read of the one before, what the first iteration reads instead.
    """

    __slots__ = ("around", "begun", "code", "defined", "f", "few", "grows", "period", "place", "rolling", "start", "turns")

    def __init__(self, rolling: _Rolling, start: int, period: int, around: list[int], few: int) -> None:
        self.few = few
        self.rolling = rolling
        self.f = rolling.f
        self.code = rolling.f.code
        self.start = start
        self.period = period
        self.around = around
        self.turns = 0
        self.grows: dict[tuple[int, int], int] = {}
        self.begun: dict[int, int] = {}
        self.defined: list[list[int]] = []
        self.place: list[dict[int, int]] = []

    def rolled(self) -> list[Instr] | None:
        """The loop; None where they stay as they are."""
        body = self.iteration(0)
        if not any(instr.op is ops.LOAD or instr.op is ops.STORE for instr in body) or not _straight(body):
            return None
        kinds = self.rolling.kinds
        one = kinds[self.start : self.start + self.period]
        many = MOST_SIDE_BY_SIDE * self.period
        short = kinds[self.start : self.start + many] != kinds[self.start + self.period : self.start + self.period + many]
        # (Elements that are stored one beside the other are a vector as they are.)
        if short and not any(instr.op is ops.STORE for instr in body) and self.rolling.product(body, self.around):
            return None
        self.define(0)
        self.turns = 1
        at = self.start + self.period
        while kinds[at : at + self.period] == one:
            self.define(self.turns)
            if not self.follows(self.turns) or (self.turns == 1 and not self.totals()):
                break
            self.turns += 1
            at += self.period
        least = FEWEST if self.settled(body) else self.few
        if any(instr.op is ops.STORE and instr.type.bits * FEWEST < SHORTEST for instr in body):
            # (Bytes are dealt out rather than to be so short a vector.)
            least = FEW
        if self.turns < least or not self.grows or not self.alone() or self.rolling.in_lanes(body, self.around, self.turns):
            return None
        return self.written()

    def settled(self, body: list[Instr]) -> bool:
        """Whether it stores to what stays the same in all iterations of the loop around, or only loads what does, or has a loop in it: nothing of it would be dealt out to lanes of that loop."""
        if not self.around:
            return False
        if any(instr.op is ops.FOR for instr in body):
            return True
        stores = [instr for instr in body if instr.op is ops.STORE]
        places = [place for store in stores for place in store.args[1:]] or [place for instr in body if instr.op is ops.LOAD for place in instr.args]
        return not any(self.rolling.hangs(place, self.around[0]) for place in places)

    def iteration(self, turn: int) -> list[Instr]:
        """The instructions of an iteration."""
        first = self.start + turn * self.period
        return self.code[first : first + self.period]

    def define(self, turn: int) -> None:
        """Note what an iteration defines."""
        defined: list[int] = []
        place: dict[int, int] = {}
        for instr in self.iteration(turn):
            defined.append(instr.dst)
            if instr.dst >= 0:
                place.setdefault(instr.dst, len(defined) - 1)
        self.defined.append(defined)
        self.place.append(place)

    def follows(self, turn: int) -> bool:
        """Whether an iteration does what the one before it does, with numbers that have grown as before."""
        own, before = self.place[turn], self.place[turn - 1]
        earlier = self.place[turn - 2] if turn > 1 else {}
        grown: dict[tuple[int, int], int] = {}
        begun: dict[int, int] = {}
        for k, (instr, other) in enumerate(zip(self.iteration(turn), self.iteration(turn - 1), strict=True)):
            if own.get(instr.dst, NONE) != before.get(other.dst, NONE) or (instr.dst == other.dst and instr.dst >= 0):
                return False
            for n, (a, b) in enumerate(zip(instr.args, other.args, strict=True)):
                if a in own:
                    # (It is defined above, in the text too.)
                    if before.get(b, NONE) != own[a] or own[a] >= k:
                        return False
                elif a in before:
                    number = before[a]
                    if turn > 1:
                        if earlier.get(b, NONE) != number or number not in self.begun:
                            return False
                    elif b in before or begun.setdefault(number, b) != b:
                        return False
                elif a == b:
                    if self.grows.get((k, n)):
                        return False
                else:
                    by = self.between(a, b)
                    if by is None or (turn > 1 and self.grows.get((k, n), 0) != by):
                        return False
                    grown[k, n] = by
        if turn == 1:
            self.grows = grown
            self.begun = begun
        return True

    def totals(self) -> bool:
        """Whether nothing but totals goes from the first iteration to the second."""
        for number in self.begun:
            body = [instr.copy() for instr in self.iteration(1)]
            if self.carried(body, self.defined[1][number], self.defined[0][number]) is None:
                return False
        return True

    def between(self, a: int, b: int) -> int | None:
        """By how much an i64 constant is more than another; None where they are none."""
        f = self.f
        if a >= 0 or b >= 0 or f.const_types[~a] is not I64 or f.const_types[~b] is not I64:
            return None
        return int(f.const_values[~a]) - int(f.const_values[~b])

    def alone(self) -> bool:
        """Whether nothing else mentions what iterations define, but for what the next reads of the last."""
        start, end = self.start, self.start + self.turns * self.period
        for turn in range(self.turns):
            for register, number in self.place[turn].items():
                if self.rolling.first[register] < start:
                    return False
                if self.rolling.last[register] >= end and (turn < self.turns - 1 or number not in self.begun):
                    return False
        return True

    def written(self) -> list[Instr] | None:
        """The loop over what the last iteration does; None where more than totals go from one to the next."""
        f, turns = self.f, self.turns
        body = [instr.copy() for instr in self.iteration(turns - 1)]
        line = body[0].line
        start, step = self.counts()
        index = f.register(I64)
        counted: list[Instr] = []
        values: dict[tuple[int, int], int] = {(1, 0): index}
        for (k, n), by in self.grows.items():
            first = int(f.const_values[~self.iteration(0)[k].args[n]])
            body[k].args[n] = self.number(index, by * step, first - by * step * start, values, counted, line)
        front: list[Instr] = []
        behind: list[Instr] = []
        last, before = self.defined[turns - 1], self.defined[turns - 2]
        for number, begun in self.begun.items():
            made = self.carried(body, last[number], before[number])
            if made is None:
                return None
            variable, body = made
            front.append(Instr(ops.COPY, f.types[variable], variable, [begun], 0, line))
            if variable != last[number] and self.rolling.last[last[number]] >= self.start + turns * self.period:
                behind.append(Instr(ops.COPY, f.types[variable], last[number], [variable], 0, line))
        self.rolling.made.add(index)
        bounds = [f.const(I64, start), f.const(I64, start + turns * step), f.const(I64, step)]
        return [*front, Instr(ops.FOR, VOID, index, bounds, 0, line), *counted, *body, Instr(ops.END, VOID, NONE, [], 0, line), *behind]

    def counts(self) -> tuple[int, int]:
        """Where the loop's index begins, and by how much it grows: as the first constant that grows by 1, or by -1, does."""
        for (k, n), by in self.grows.items():
            if by in (1, -1):
                return int(self.f.const_values[~self.iteration(0)[k].args[n]]), by
        return 0, 1

    def number(self, index: int, times: int, offset: int, values: dict[tuple[int, int], int], out: list[Instr], line: int) -> int:
        """The register for so many times the index, and a constant, which is made where there is none yet."""
        f = self.f
        found = values.get((times, offset), NONE)
        if found != NONE:
            return found
        if offset:
            found = self.number(index, times, 0, values, out, line)
            op, other = ops.ADD, offset
        else:
            found, op, other = index, ops.MUL, times
        made = f.register(I64)
        out.append(Instr(op, I64, made, [found, f.const(I64, other)], 0, line))
        values[times, offset] = made
        return made

    def carried(self, body: list[Instr], given: int, before: int) -> tuple[int, list[Instr]] | None:
        """The variable for what an iteration gives to the next, which reads it as ``before``, and the body with it; None where it is no total, nor a variable's."""
        f = self.f
        made = body[next(k for k, instr in enumerate(body) if instr.dst == given)]
        variable = made.args[0] if made.op is ops.COPY and not f.variable[given] else given
        if variable >= 0 and f.variable[variable]:
            return self.kept(body, variable, given, before)
        type_ = f.types[given]
        op = ops.ADD if made.op is ops.SUB else made.op
        ordered = type_.is_float and (not f.options.fastmath or (is_half(type_) and op is not ops.MIN and op is not ops.MAX))
        if op.reduction is None or ordered:
            return None
        total = f.register(type_, f.names[given], True)
        read = [a for instr in body for a in instr.args]
        left: list[Instr] = []
        current = before
        depth = 0
        for instr in body:
            depth += _deeper(instr)
            if current in instr.args:
                one = ops.ADD if instr.op is ops.SUB else instr.op
                if (
                    depth
                    or read.count(current) > 1
                    or current == given
                    or one is not op
                    or instr.args.count(current) > 1
                    or not (instr.op.commutes or instr.args[0] == current)
                    or instr.dst < 0
                    or f.variable[instr.dst]
                ):
                    return None
                instr.args = [total if a == current else a for a in instr.args]
                current = instr.dst
                # (What is behind the loop has the register of the last one.)
                instr.dst = f.register(type_, f.names[current])
                left += [instr, Instr(ops.COPY, type_, total, [instr.dst], 0, instr.line)]
            else:
                left.append(instr)
        return (total, left) if current == given else None

    def kept(self, body: list[Instr], variable: int, given: int, before: int) -> tuple[int, list[Instr]] | None:
        """The variable of a body that begins as a copy of what the iteration before gives, and is given to the next, kept from one to the next; None where that would not be the same."""
        left: list[Instr] = []
        depth = 0
        begun = changed = over = False
        for instr in body:
            if instr.dst == variable and not begun:
                if depth or instr.op is not ops.COPY or instr.args[0] != before:
                    return None
                begun = True
                continue
            if instr.dst == given and given != variable:
                if depth:
                    return None
                over = True
                continue
            if (before in instr.args and changed) or (given in instr.args and given != variable) or (instr.dst == variable and over):
                return None
            instr.args = [variable if a == before else a for a in instr.args]
            changed = changed or instr.dst == variable
            depth += _deeper(instr)
            left.append(instr)
        return (variable, left) if begun else None


def _deeper(instr: Instr) -> int:
    """By how much deeper what follows an instruction is."""
    return int(instr.op.opens and not instr.op.closes) - int(instr.op is ops.END)


def _straight(body: list[Instr]) -> bool:
    """Whether a body begins and ends outside of the same brackets, and is left at its end only."""
    depth = 0
    for instr in body:
        if instr.op.effect == ops.CALLS or instr.loop is not None or instr.mem is not None or (depth == 0 and instr.op.closes):
            return False
        depth += _deeper(instr)
    return depth == 0 and not crossing_branches(body)
