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
from loopwright.nests.folding import Folded
from loopwright.nests.nest import FEW
from loopwright.nests.unroll import clone, crossing_branches, has_loops, repeats
from loopwright.types import I64, VOID

__all__ = ["run"]

#: So many instructions are written at most for a loop, and for all of a function.
MOST: Final = 200
MOST_OF_ALL: Final = 600
#: Loops with more iterations stay, whatever they do.
MOST_TURNS: Final = 16


def run(f: Function) -> dict[int, list[str]]:
    """Write out such loops of a function, innermost ones first.

    Returns:
        Per index of an outermost loop: what was done in it, for the report.
    """
    writer = _Writer(f)
    if any(writer.known(instr, MOST_TURNS) for instr in f.code):
        out: list[Instr] = []
        writer.copy(f.code, match(f.code), (0, len(f.code)), [], out)
        if writer.done:
            f.code = out
    return writer.done


class _Writer:
    """Writes a function's code with loops written out.

    Attributes:
        done: what was done, by the index of the outermost loop.
        left: how many instructions more may be written.
    """

    __slots__ = ("done", "f", "forms", "left")

    def __init__(self, f: Function) -> None:
        self.f = f
        self.done: dict[int, list[str]] = {}
        self.left = MOST_OF_ALL
        self.forms: Forms | None = None

    def known(self, head: Instr, most: int) -> bool:
        """Whether a loop is known to have so many iterations at most."""
        return head.op is ops.FOR and head.loop is None and all(a < 0 for a in head.args) and len(self.turns(head)) <= most

    def wanted(self, code: list[Instr], span: tuple[int, int], around: Instr) -> bool:
        """Whether a loop is to be written out: it is known to have few iterations, and not to be part of what blocks are made of; or not many, and it does little with memory."""
        head = code[span[0]]
        if not self.known(head, MOST_TURNS):
            return False
        few = self.known(head, FEW - 1)
        if code is not self.f.code:
            return few
        return not self.blocks(span, around) if few else self.computes(span, around)

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
            self.copy(code, partner, (position + 1, last), [*around, head], body)
            if not around or not self.wanted(code, (position, last), around[-1]) or not self.write(head, body, around, out):
                out.append(head)
                out += body
                out.append(code[last])
            position = last + 1

    def write(self, head: Instr, body: list[Instr], around: list[Instr], out: list[Instr]) -> bool:
        """Append the iterations of a loop one behind the other; False where it stays."""
        f = self.f
        turns = self.turns(head)
        size = len(turns) * len(body)
        if size > min(MOST, self.left) or any(instr.op.effect == ops.CALLS for instr in body) or repeats(body):
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
        current: dict[int, int] = {}
        written = [instr for made in each for instr in made]
        if not any(instr.op.effect == ops.CONTROL for instr in written):
            written = self.by_value(written, current)
        if inner and len(written) > min(MOST, self.left):
            return False
        self.left -= len(written)
        out += written
        out += [Instr(ops.COPY, f.types[variable], variable, [value], 0, head.line) for variable, value in current.items()]
        self.done.setdefault(around[0].dst, []).append(f"{f.names[head.dst] or 'a loop'} written out")
        return True

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

    def by_value(self, code: list[Instr], current: dict[int, int]) -> list[Instr]:
        """Straight code whose variables are in registers that are written once: ``current`` receives those that hold them in the end."""
        f = self.f
        out: list[Instr] = []
        for instr in code:
            instr.args = [current.get(a, a) for a in instr.args]
            if instr.dst >= 0 and f.variable[instr.dst]:
                variable = instr.dst
                if instr.op is ops.COPY and (instr.args[0] < 0 or not f.variable[instr.args[0]]):
                    current[variable] = instr.args[0]
                    continue
                instr.dst = current[variable] = f.register(f.types[variable], f.names[variable])
            out.append(instr)
        return out

    def inwards(self, made: list[Instr]) -> list[Instr]:
        """A body with branches, which is not in its loop any more: they leave one bracket less. Arms that do not run are left out."""
        depth = 0
        for instr in made:
            op = instr.op
            if op.opens:
                depth += not op.closes
            elif op.closes:
                depth -= 1
            elif (op is ops.BR or op is ops.BR_IF) and instr.imm > depth:
                instr.imm -= 1
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
