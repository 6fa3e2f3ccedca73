"""Short loops that count, and do not run in lanes, several iterations at a time: counting is a good part of their work.

::

    block
      ...                          how often it runs
      br_if 0, ...                 unless that is often enough
      for %k = 0, %most, 4         all iterations but one to four
        four iterations, whose addresses differ by constants
      end
      ...                          what variables are then
    end
    loop                           as it is written: the rest, and the way out
      ...
    end

The order of all that is done is as it was, so that nothing has to be known of memory, nor of what iterations carry.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr, Mem
from loopwright.ir.roles import address_at
from loopwright.nests.analysis.lines import Writer
from loopwright.nests.canonical.counted import Counted, Kept
from loopwright.types import BOOL, I64, PTR, VOID

__all__ = ["several_at_once"]

#: So many iterations are done at once.
TIMES: Final = 4
#: A loop that runs less often stays.
LEAST: Final = 12
#: Bodies of more instructions that matter gain little.
MOST_BODY: Final = 12


def several_at_once(f: Function, head: int, end: int) -> list[Instr]:
    """What a short loop becomes. Raises ``Kept`` with the reason where it stays as it is.

    Args:
        f: the function.
        head, end: the positions of the loop's brackets.
    """
    counted = Counted(f, head, end)
    body = _body(f, counted)
    counted.count()
    for bound in list(counted.lines.bounds):
        counted.hold(bound)
    trips, line = counted.trips, counted.line
    if trips < 0 and int(f.const_values[~trips]) < LEAST:
        raise Kept("it runs a few times only", line)
    w = Writer(f, line)
    most = w.emit(ops.AND, I64, [w.emit(ops.SUB, I64, [trips, f.const(I64, 1)]), f.const(I64, -TIMES)])
    out = [Instr(ops.BLOCK, VOID, NONE, [], 0, line), *counted.ahead.out]
    for op, a, b in [*([(ops.GE, trips, f.const(I64, LEAST))] if trips >= 0 else []), *counted.holds]:
        fails = f.register(BOOL)
        out.append(Instr(op, I64, fails, [a, b], 0, line))
        otherwise = f.register(BOOL)
        out.append(Instr(ops.NOT, BOOL, otherwise, [fails], 0, line))
        out.append(Instr(ops.BR_IF, VOID, NONE, [otherwise], 0, line))
    out += w.out
    index = f.register(I64, "k")
    out.append(Instr(ops.FOR, VOID, index, [f.const(I64, 0), most, f.const(I64, TIMES)], 0, line))
    out += _Copies(f, counted, body, index).made.out
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    behind = Writer(f, line, out)
    left: list[tuple[int, int]] = []
    for variable in counted.steps:
        known = counted.lines.known[counted.before[variable]]
        assert known is not None
        left.append((variable, behind.converted(behind.line_at(known, most), f.types[variable])))
    for variable, value in left:
        out.append(Instr(ops.COPY, f.types[variable], variable, [value], 0, line))
    out.append(Instr(ops.END, VOID, NONE, [], 0, line))
    return out + f.code[head : end + 1]


def _body(f: Function, counted: Counted) -> list[Instr]:
    """What the iterations do, without what nobody reads. Raises ``Kept``."""
    read: set[int] = set()
    kept: list[Instr] = []
    for instr in reversed(counted.body):
        if instr.op.effect == ops.CONTROL or instr.op.effect == ops.CALLS:
            raise Kept("there are branches or calls in it", instr.line)
        pure = (instr.op.pure or instr.op is ops.ADDRESS) and not f.variable[instr.dst]
        if not pure or instr.dst in read:
            kept.append(instr)
            read.update(instr.args)
    if len(kept) > MOST_BODY:
        raise Kept("its body is long", counted.line)
    if not kept:
        raise Kept("it does nothing", counted.line)
    return kept[::-1]


class _Copies:
    """The iterations, one behind the other.

    Attributes:
        made: their code.
        standing: what stands for a variable that advances: the register that holds it as the first of the iterations begins, how much more it is, and by how much more it is in each.
        more: values that are a constant more than such a register, by both.
    """

    __slots__ = ("f", "made", "more", "standing")

    def __init__(self, f: Function, counted: Counted, body: list[Instr], index: int) -> None:
        self.f = f
        self.made = Writer(f, counted.line)
        self.standing: dict[int, tuple[int, int, int]] = {}
        self.more: dict[tuple[int, int], int] = {}
        read = {a for instr in body for a in instr.args}
        for variable, step in counted.steps.items():
            before, after = counted.before[variable], counted.after[variable]
            if before not in read and after not in read:
                continue
            known = counted.lines.known[before]
            assert known is not None
            held = self.made.converted(self.made.line_at(known, index), f.types[variable])
            self.standing[before] = (held, 0, step)
            self.standing[after] = (held, step, step)
        for number in range(TIMES):
            rename: dict[int, int] = {}
            for instr in body:
                self._copy(instr, number, rename)

    def _copy(self, instr: Instr, number: int, rename: dict[int, int]) -> None:
        f = self.f
        copy = instr.copy()
        at = address_at(instr) if instr.mem is not None else len(instr.args)
        for place, a in enumerate(instr.args):
            known = self.standing.get(a)
            if known is None:
                copy.args[place] = rename.get(a, a)
                continue
            held, constant, step = known
            constant += step * number
            mem = copy.mem
            if mem is not None and place >= at and f.types[a] in (I64, PTR):
                disp = mem.disp + constant * (mem.scale if place > at else 1)
                if -(1 << 31) <= disp < 1 << 31:
                    copy.args[place] = held
                    copy.mem = Mem(mem.indexed, mem.scale, disp, mem.size, mem.broadcast, mem.role, mem.array)
                    continue
            copy.args[place] = self._plus(held, constant)
        if copy.dst >= 0 and not f.variable[copy.dst]:
            copy.dst = rename[instr.dst] = f.register(f.types[instr.dst], f.names[instr.dst])
        self.made.out.append(copy)

    def _plus(self, held: int, constant: int) -> int:
        """A value, and a constant more."""
        if not constant:
            return held
        made = self.more.get((held, constant))
        if made is None:
            type_ = self.f.type_of(held)
            made = self.more[(held, constant)] = self.made.emit(ops.ADD, type_, [held, self.f.const(I64 if type_ is PTR else type_, constant)])
        return made
