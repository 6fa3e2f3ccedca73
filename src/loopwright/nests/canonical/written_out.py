"""Inner loops that are known to have few iterations, written out: one iteration behind the other, each with its number as a constant.

::

    for i = 0, n                         for i = 0, n
      for k = 0, 3                         s = s + a[i, 0]
        s = s + a[i, k]           →        s = s + a[i, 1]
      end                                  s = s + a[i, 2]
    end                                  end

The loop around it becomes the innermost one, which may have lanes, rows side by side, or at least nothing to count in it. (So are loops over Python's own numbers, as the kernel is staged.) Loops that are long
enough for lanes of their own stay.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form, Forms
from loopwright.ir.brackets import match
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.analysis.nest import FEW, FEWEST_LANES, SHORTEST
from loopwright.nests.rewriting.folding import Folded
from loopwright.nests.rewriting.unroll import clone, crossing_branches, has_loops, repeats, shifted
from loopwright.types import I64, VOID

__all__ = ["around_vectors", "run"]

#: So many instructions are written at most for a loop, and for all of a function.
MOST: Final = 200
#: With branches, whose conditions are mostly known then.
MOST_BRANCHING: Final = 400
#: For one around loops over lanes.
MOST_AROUND: Final = 200
MOST_OF_ALL: Final = 600
#: The same for products of a fixed matrix and a row, which become vectors (``nests/steps/packs.py``).
MOST_OF_MATRIX: Final = 400
#: Loops with more iterations stay, whatever they do.
MOST_TURNS: Final = 16
#: Loops whose iterations may be lanes stay where they would become more accesses.
MOST_ACCESSES: Final = 48
_BRANCHES: Final = (ops.IF, ops.BLOCK, ops.BR, ops.BR_IF)
_MEMORY: Final = (ops.READS, ops.WRITES)
#: A fixed matrix has so many elements at most.
MOST_ELEMENTS: Final = 64


def run(f: Function) -> dict[int, list[str]]:
    """Write out such loops of a function, innermost ones first.

    Returns:
        Per index of an outermost loop: what was done in it, for the report.
    """
    _count_from_zero(f)
    writer = _Writer(f)
    if any(writer.known(instr, MOST_TURNS) for instr in f.code):
        out: list[Instr] = []
        writer.copy(f.code, match(f.code), (0, len(f.code)), [], out)
        if writer.done:
            f.code = out
    return writer.done


def around_vectors(f: Function) -> None:
    """Write out loops of few iterations around loops over lanes, all of whose lanes are a vector or two: their counter takes as long as what they do."""
    writer = _Writer(f)
    position = len(f.code)
    while position:
        position -= 1
        head = f.code[position]
        if head.loop is None or not head.loop.lanes or not all(a < 0 for a in head.args) or len(writer.turns(head)) > MOST_TURNS:
            continue
        around = position - 1
        while around >= 0 and not f.code[around].op.opens and not f.code[around].op.closes:
            around -= 1
        if around < 0 or not writer.known(f.code[around], MOST_TURNS):
            continue
        end = match(f.code)[around]
        body = f.code[around + 1 : end]
        turns = writer.turns(f.code[around])
        if len(turns) * len(body) > MOST_AROUND or sum(instr.op.opens for instr in body) > 1 or repeats(body):
            continue
        out: list[Instr] = []
        for index in turns:
            clone(f, body, {f.code[around].dst: f.const(I64, index)}, out)
        f.code[around : end + 1] = out
        position = around


def _count_from_zero(f: Function) -> None:
    """Loops whose bounds are a known number apart, and not known themselves (``for k in range(i - 1, i + 2)``), count from 0 instead; where they are, is added to that."""
    forms: Forms | None = None
    found: list[tuple[int, int]] = []
    for at, head in enumerate(f.code):
        if head.op is not ops.FOR or head.loop is not None or head.args[0] < 0 or head.args[1] < 0 or head.args[2] >= 0:
            continue
        if forms is None:
            forms = Forms(f, 0, len(f.code))
        lo, hi = forms.of(head.args[0]), forms.of(head.args[1])
        apart = hi.plus(lo, -1) if lo is not None and hi is not None else None
        if apart is not None and not apart.terms and len(range(0, apart.constant, int(f.const_values[~head.args[2]]) or 1)) <= MOST_TURNS:
            found.append((at, apart.constant))
    for at, apart_by in reversed(found):
        head = f.code[at]
        counter = f.register(I64, f.names[head.dst])
        f.code.insert(at + 1, Instr(ops.ADD, I64, head.dst, [counter, head.args[0]], 0, head.line))
        head.dst = counter
        head.args = [f.const(I64, 0), f.const(I64, apart_by), head.args[2]]


class _Writer:
    """Writes a function's code with loops written out.

    Attributes:
        done: what was done, by the index of the outermost loop.
        left: how many instructions more may be written.
        rows: the indices of loops over the rows of fixed matrices.
    """

    __slots__ = ("done", "f", "forms", "left", "mentions", "rows", "spans")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.done: dict[int, list[str]] = {}
        self.left = MOST_OF_ALL
        self.forms: Forms | None = None
        self.mentions: dict[int, tuple[int, int]] = {}
        self.rows: set[int] = set()
        self.spans: dict[int, tuple[int, int]] = {}

    def known(self, head: Instr, most: int) -> bool:
        """Whether a loop is known to have so many iterations at most."""
        return head.op is ops.FOR and head.loop is None and all(a < 0 for a in head.args) and len(self.turns(head)) <= most

    def wanted(self, code: list[Instr], span: tuple[int, int], around: list[Instr]) -> bool:
        """Whether a loop is to be written out: it is known to have few iterations, and not to be part of what blocks are made of; or not many, and it does little with memory."""
        head = code[span[0]]
        if not self.known(head, MOST_TURNS):
            return False
        few = self.known(head, FEW - 1)
        if code is not self.f.code:
            return few
        if not few and (head.dst in self.rows or (len(around) > 1 and self.matrix(span, around[-2], around[-1]))):
            self.rows.add(around[-1].dst)
            return True
        return not self.blocks(span, around[-1]) if few else self.computes(span, around[-1]) or self.waits(span)

    def waits(self, span: tuple[int, int]) -> bool:
        """Whether a loop does nothing but to compute from what it loads and from what the iteration before has left, otherwise than by adding up: then it has no lanes, and those of the loop around have nothing to wait for."""
        body = self.f.code[span[0] + 1 : span[1]]
        if any(instr.op.effect == ops.CONTROL or instr.op.effect == ops.CALLS or instr.op.effect == ops.WRITES for instr in body):
            return False
        changed = {instr.dst for instr in body if instr.dst >= 0 and self.f.variable[instr.dst]}
        return bool(changed - _totals(self.f, body)) and any(a in changed for instr in body for a in instr.args)

    def matrix(self, span: tuple[int, int], each: Instr, rows: Instr) -> bool:
        """Whether a loop multiplies, for each iteration of a loop two further out, a row of one fixed matrix by what is the same for all rows; what comes out of a row is stored next to the other ones."""
        code = self.f.code
        head = code[span[0]]
        if not self.known(rows, MOST_TURNS) or len(self.turns(rows)) * len(self.turns(head)) > MOST_ELEMENTS:
            return False
        fixed = False
        for instr in code[span[0] + 1 : span[1]]:
            if instr.op.effect == ops.CONTROL or instr.op.effect == ops.WRITES:
                return False
            if instr.op is ops.LOAD:
                outer, row, column = [self.times(instr.args, index) for index in (each.dst, rows.dst, head.dst)]
                if None in outer or None in row or None in column or (any(outer) and any(row)):
                    return False
                fixed = fixed or bool(any(row) and any(column))
        stores = [instr for instr in self.body(rows) if instr.op is ops.STORE]
        steps = [(self.times(instr.args[1:], each.dst), self.times(instr.args[1:], rows.dst)) for instr in stores]
        return fixed and bool(steps) and all(None not in outer and any(outer) and not any(row[:-1]) and row[-1] == 1 for outer, row in steps)

    def body(self, head: Instr) -> list[Instr]:
        """What is in a loop of the function as it is."""
        code = self.f.code
        if not self.spans:
            partner = match(code)
            self.spans = {instr.dst: (k + 1, partner[k]) for k, instr in enumerate(code) if instr.op is ops.FOR}
        first, end = self.spans[head.dst]
        return code[first:end]

    def computes(self, span: tuple[int, int], around: Instr) -> bool:
        """Whether what a loop does with memory would not be in the way of lanes along the loop around it: what it loads hangs on the index of one of both, and is the same or adjacent in the loop around."""
        code = self.f.code
        for instr in code[span[0] + 1 : span[1]]:
            if instr.op.effect == ops.WRITES or (instr.op.effect == ops.READS and instr.op is not ops.LOAD):
                return False
            if instr.op is ops.LOAD:
                outer, inner = self.times(instr.args, around.dst), self.times(instr.args, code[span[0]].dst)
                if None in outer or None in inner or any(outer[:-1]) or outer[-1] not in (0, 1) or (any(outer) and any(inner)):
                    return False
        return True

    def blocks(self, span: tuple[int, int], around: Instr) -> bool:
        """Whether the loop around can run in lanes as it is, with rows that the loop goes through one by one: as in products of matrices, vectors and rows are done several at once then."""
        code = self.f.code
        if self.known(around, FEW - 1):
            return False
        found = False
        for instr in code[span[0] + 1 : span[1]]:
            if instr.op in _BRANCHES:
                return False
            if instr.op is ops.LOAD or instr.op is ops.STORE:
                indices = instr.args[int(instr.op is ops.STORE) :]
                outer, inner = self.times(indices, around.dst), self.times(indices, code[span[0]].dst)
                if None in outer or None in inner or any(outer[:-1]) or outer[-1] not in (0, 1) or (outer[-1] and inner[-1]):
                    return False
                found = found or bool(outer[-1] and any(inner))
        return found

    def times(self, indices: list[int], index: int) -> list[int | None]:
        """By how much each subscript grows with the index of a loop; None where that is not known."""
        if self.forms is None:
            self.forms = Forms(self.f, 0, len(self.f.code))
        return [_times(self.forms, self.forms.of(a), index) for a in indices]

    def turns(self, head: Instr) -> range:
        """The indices of a loop whose bounds are known."""
        lo, hi, step = [int(self.f.const_values[~a]) for a in head.args]
        return range(lo, hi, step) if step else range(0)

    def copy(self, code: list[Instr], partner: list[int], span: tuple[int, int], around: list[Instr], out: list[Instr]) -> None:
        """Append a stretch of code; ``around`` are the loops that are open, outermost first."""
        position, end = span
        while position < end:
            head = code[position]
            if not IS_LOOP[head.op.code] or head.op is ops.WHILE:
                out.append(head)
                position += 1
                continue
            last = partner[position]
            body: list[Instr] = []
            left = self.left
            self.copy(code, partner, (position + 1, last), [*around, head], body)
            if not around or not self.wanted(code, (position, last), around) or not self.write(head, body, around, out):
                if self.left < left and code is self.f.code:
                    body = self.settled(body, (position, last))
                out.append(head)
                out += body
                out.append(code[last])
            position = last + 1

    def write(self, head: Instr, body: list[Instr], around: list[Instr], out: list[Instr]) -> bool:
        """Append the iterations of a loop one behind the other; False where it stays."""
        f = self.f
        turns = self.turns(head)
        size = len(turns) * len(body)
        most = MOST_OF_MATRIX if head.dst in self.rows or around[-1].dst in self.rows else MOST
        if any(instr.op in _BRANCHES for instr in body):
            most = MOST_BRANCHING
        if size > min(most, self.left) or any(instr.op.effect == ops.CALLS for instr in body) or repeats(body):
            return False
        if len(turns) * sum(instr.op.effect in _MEMORY for instr in body) > MOST_ACCESSES and self.vector(head, body):
            return False
        inner = has_loops(body)
        if inner and not self.triangular(head, body):
            return False
        each: list[list[Instr]] = []
        for index in turns:
            rename = {head.dst: f.const(I64, index)}
            made: list[Instr] = []
            clone(f, body, rename, made)
            made = self.folded(made)
            if inner:
                # (What bounds hang on is known now.)
                within, made = made, []
                self.copy(within, match(within), (0, len(within)), around, made)
                if has_loops(made):
                    return False
            each.append(self.inwards(made))
        written = [instr for made in each for instr in made]
        written = self.by_value(written, set())
        if inner and len(written) > min(most, self.left):
            return False
        self.left -= len(written)
        out += written
        self.done.setdefault(around[0].dst, []).append(f"{f.names[head.dst] or 'a loop'} written out")
        return True

    def vector(self, head: Instr, body: list[Instr]) -> bool:
        """Whether the iterations of a loop may be lanes: it stores next to each other what takes a vector, and loads what is next to each other, too, or the same in all."""
        if len(self.turns(head)) < FEWEST_LANES or any(instr.op.effect == ops.CONTROL for instr in body):
            return False
        stored = False
        for instr in body:
            if instr.op is ops.LOAD or instr.op is ops.STORE:
                store = instr.op is ops.STORE
                steps = self.times(instr.args[int(store) :], head.dst)
                if any(steps[:-1]) or steps[-1] not in ((1,) if store else (0, 1)):
                    return False
                if store and instr.type.bits * len(self.turns(head)) < SHORTEST:
                    return False
                stored = stored or store
        return stored

    def triangular(self, head: Instr, body: list[Instr]) -> bool:
        """Whether the bounds of each loop in a body are computed from constants and the index around it alone."""
        known = {head.dst}
        for instr in body:
            if IS_LOOP[instr.op.code]:
                if instr.op is not ops.FOR or instr.loop is not None or not all(a < 0 or a in known for a in instr.args):
                    return False
            elif instr.op.pure and instr.dst >= 0 and not self.f.variable[instr.dst] and instr.args and all(a < 0 or a in known for a in instr.args):
                known.add(instr.dst)
        return True

    def settled(self, body: list[Instr], span: tuple[int, int]) -> list[Instr]:
        """The body of a loop in which others have been written out: variables that are not named outside of it and are written anew in each iteration are none any more."""
        f = self.f
        if not self.mentions:
            for position, instr in enumerate(f.code):
                for a in (instr.dst, *instr.args):
                    if a >= 0 and f.variable[a]:
                        self.mentions[a] = (self.mentions.get(a, (position, 0))[0], position)
        return self.by_value(body, {variable for variable, (first, last) in self.mentions.items() if span[0] < first and last < span[1]})

    def by_value(self, code: list[Instr], own: set[int]) -> list[Instr]:
        """Straight code whose variables are in registers that are written once, and in themselves at its end, but for those of its ``own`` that it writes before it reads them. Totals stay, and other code."""
        f = self.f
        if any(instr.op.effect == ops.CONTROL for instr in code):
            return code
        totals = _totals(f, code)
        current: dict[int, int] = {}
        exposed: set[int] = set()
        out: list[Instr] = []
        for instr in code:
            exposed.update([a for a in instr.args if a >= 0 and f.variable[a] and a not in current])
            instr.args = [current.get(a, a) for a in instr.args]
            variable = instr.dst
            if variable >= 0 and f.variable[variable] and variable not in totals:
                if instr.op is ops.COPY and (instr.args[0] < 0 or not f.variable[instr.args[0]]):
                    current[variable] = instr.args[0]
                    continue
                instr.dst = current[variable] = f.register(f.types[variable], f.names[variable])
            out.append(instr)
        line = code[-1].line if code else 0
        kept = [(variable, value) for variable, value in current.items() if variable not in own or variable in exposed]
        return out + [Instr(ops.COPY, f.types[variable], variable, [value], 0, line) for variable, value in kept]

    def inwards(self, made: list[Instr]) -> list[Instr]:
        """A body with branches, which is not in its loop any more: they leave one bracket less. Arms that do not run are left out."""
        # (None goes to the loop itself.)
        made = shifted(made, -1)
        if crossing_branches(made) or not any(instr.op is ops.IF and instr.args[0] < 0 for instr in made):
            return made
        folded = Folded(self.f, [Instr(ops.BLOCK, VOID, NONE, [], 0, 0), *made, Instr(ops.END, VOID, NONE, [], 0, 0)], 0)
        left = folded.body({})
        folded.part()
        return left

    def folded(self, made: list[Instr]) -> list[Instr]:
        """What is left of code when all that hangs on constants alone has been computed."""
        f = self.f
        known: dict[int, int] = {}
        out: list[Instr] = []
        for instr in made:
            if known:
                instr.args = [known.get(a, a) for a in instr.args]
            if instr.op.pure and instr.dst >= 0 and not f.variable[instr.dst] and instr.args and all(a < 0 for a in instr.args):
                value = f.folded(instr.op, instr.type, instr.source, instr.args) if instr.op is not ops.COPY else instr.args[0]
                if value is not None:
                    known[instr.dst] = value
                    continue
            out.append(instr)
        return out


def _times(forms: Forms, form: Form | None, index: int) -> int | None:
    """By how much a subscript grows with an index; None where that is not known."""
    if form is None:
        return None
    times = 0
    for value, coefficient in form.terms.items():
        if forms.registers[value] == index:
            times = coefficient
        elif index in forms.leaves[value]:
            return None
    return times


def _totals(f: Function, code: list[Instr]) -> set[int]:
    """The variables that code does nothing with but to combine them with more, by one operation each."""
    uses: dict[int, int] = {}
    made: dict[int, Instr] = {}
    for instr in code:
        for a in instr.args:
            uses[a] = uses.get(a, 0) + 1
        made[instr.dst] = instr
    found: dict[int, ops.Op] = {}
    combined: dict[int, int] = {}  # how often a variable is read by what combines it
    others: set[int] = set()
    for instr in code:
        variable = instr.dst
        if variable < 0 or not f.variable[variable]:
            continue
        given = instr.args[0] if instr.op is ops.COPY else NONE
        # (It may come by way of a register that nothing else reads.)
        source = made.get(given, instr) if given >= 0 and not f.variable[given] and uses[given] == 1 else instr
        # (What is taken away is added, with another sign.)
        op = ops.ADD if source.op is ops.SUB and source.args[0] == variable else source.op
        if op.reduction is None or variable not in source.args or found.setdefault(variable, op) is not op:
            others.add(variable)
        combined[variable] = combined.get(variable, 0) + 1
    return {variable for variable in found if variable not in others and uses.get(variable, 0) == combined[variable]}
