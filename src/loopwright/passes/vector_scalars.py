"""The ``vector-scalars`` pass: integers that a loop carries through minima and maxima are kept in vector registers.

::

    for …                                     for …
      %t = add.i32 %m, %x                       %t' = add.i32x4 %m', %x'          %x': %x in every lane, loaded so
      %m = max.i32 %t, %x            →          %m' = max.i32x4 %t', %x'
      %b = max.i32 %b, %m                       %b' = max.i32x4 %b', %m'
    end                                       end
                                              %b = extract.i32 %b'

Of integer registers a minimum takes a comparison and a conditional move, which is two cycles from one to the next; of vector registers it is one instruction of one cycle
(``Target.scalars_as_lanes``). It is worth it where the next iteration waits for it. A value then stands in every lane; what is loaded comes in by a load that repeats it, and what is
stored goes out from lane 0 as it is. Nothing else may leave for an integer register while the loop runs: that takes longer than what is gained. A total that is nothing but a minimum, or
nothing but a maximum, has lanes of its own already where it runs for long.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.groups import Groups
from loopwright.ir.loops import IS_LOOP, loops, weights
from loopwright.targets.target import Target
from loopwright.types import F32, F64, Type, vector_of

__all__ = ["run"]

_EXTREMES: Final = (ops.MIN, ops.MAX)
#: What takes one instruction of one cycle in either kind of register.
_ALIKE: Final = frozenset((ops.ADD, ops.SUB, ops.AND, ops.OR, ops.XOR, ops.COPY, *_EXTREMES))
#: What it costs to move a value from integer registers to lanes, and back, beside the instruction that each extreme saves.
_INTO: Final = 2
_OUT_OF: Final = 3


def run(f: Function, target: Target) -> None:
    """Move what is worth it."""
    depth = 0
    found: set[Type] = set()
    brackets: list[bool] = []
    for instr in f.code:
        op = instr.op
        if op.effect == ops.CONTROL:
            if op.opens and not op.closes:
                brackets.append(IS_LOOP[op.code])
                depth += IS_LOOP[op.code]
            elif op is ops.END:
                depth -= brackets.pop()
        elif depth and op.effect == ops.CALLS:
            # (A call keeps no vector register.)
            return
        elif depth and op in _EXTREMES and not instr.type.lanes:
            found.add(instr.type)
    for type_ in sorted(found, key=lambda each: each.number):
        lanes = target.scalars_as_lanes(type_)
        if lanes is not None:
            _Values(f, type_, lanes).run()


class _Values:
    """The registers of one type, in groups that only move together.

    Attributes:
        groups: registers that move together.
        outside: registers that something else than ``_ALIKE`` makes; no variables.
        moved: by register of those that move: its lanes.
    """

    __slots__ = ("f", "groups", "lanes", "moved", "outside", "type", "weights")

    def __init__(self, f: Function, type_: Type, lanes: Type) -> None:
        self.f = f
        self.type = type_
        self.lanes = lanes
        self.groups = Groups()
        self.outside: set[int] = set()
        self.moved: dict[int, int] = {}
        self.weights: list[float] = []

    def run(self) -> None:
        f = self.f
        self.weights = weights(f.code)
        alike = {r for instr in f.code for r in (instr.dst,) if r >= 0 and self.alike(instr)}
        self.outside = {r for r, type_ in enumerate(f.types) if type_ is self.type and r not in alike and not f.variable[r]}
        for instr in f.code:
            if self.alike(instr):
                for a in instr.args:
                    if a >= 0 and a not in self.outside:
                        self.groups.join(instr.dst, a)
        chosen = self.carried() - self.dear()
        if not chosen:
            return
        for r in range(len(f.types)):
            if f.types[r] is self.type and r not in self.outside and self.groups.root(r) in chosen:
                self.moved[r] = f.register(self.lanes, f.names[r], f.variable[r])
        self.rewrite()

    def alike(self, instr: Instr) -> bool:
        """Whether an instruction is one that either kind of register has."""
        return instr.op in _ALIKE and instr.type is self.type and instr.mem is None

    # --- what is worth it ---------------------------------------------------------------------------------

    def carried(self) -> set[int]:
        """The groups in which the next iteration of an innermost loop waits for an extreme, and not for one kind of them alone."""
        f = self.f
        found: set[int] = set()
        each = loops(f.code)
        around = {id(loop.parent) for loop in each}
        for loop in each:
            if id(loop) in around:
                continue
            body = [instr for instr in f.code[loop.head + 1 : loop.end] if self.alike(instr) or instr.op is ops.STORE_AT]
            if not any(instr.op in _EXTREMES for instr in body):
                continue
            written = {instr.dst for instr in body if instr.dst >= 0 and f.variable[instr.dst]}
            found.update(self.groups.root(v) for v in written if self.waits(v, body))
        return found

    def waits(self, variable: int, body: list[Instr]) -> bool:
        """Whether extremes are made of what a variable was, and something else is, too."""
        made = {variable}
        kinds: set[ops.Op] = set()
        other = again = False
        for instr in body:
            if any(a in made for a in instr.args):
                kinds.add(instr.op)
                other = other or (instr.dst != variable and (instr.dst < 0 or self.f.variable[instr.dst]))
                again = again or instr.dst == variable
                made.add(instr.dst)
            elif instr.dst == variable and not again:
                # It begins anew in each iteration.
                return False
        return again and (other or len(kinds) > 1) and any(op in kinds for op in _EXTREMES)

    def dear(self) -> set[int]:
        """The groups that would be moved to and fro too often."""
        gained: dict[int, float] = {}
        most: dict[int, float] = {}
        lost: dict[int, float] = {}
        out: dict[int, float] = {}
        # How often what is made outside is made; loads repeat a value as they are.
        made = {instr.dst: 0.0 if instr.op is ops.LOAD_AT else self.weights[k] for k, instr in enumerate(self.f.code) if instr.dst in self.outside}
        for k, instr in enumerate(self.f.code):
            weight = self.weights[k]
            dst = instr.dst
            if self.alike(instr):
                r = self.groups.root(dst)
                if instr.op in _EXTREMES:
                    gained[r] = gained.get(r, 0.0) + weight
                    most[r] = max(most.get(r, 0.0), weight)
                for a in instr.args:
                    if a in self.outside:
                        lost[r] = lost.get(r, 0.0) + _INTO * min(made.get(a, 1.0), weight)
                continue
            if dst >= 0 and self.f.types[dst] is self.type and self.f.variable[dst] and instr.op is not ops.LOAD_AT:
                r = self.groups.root(dst)
                lost[r] = lost.get(r, 0.0) + _INTO * weight
            for position, a in enumerate(instr.args):
                if a >= 0 and self.f.types[a] is self.type and a not in self.outside and not (instr.op is ops.STORE_AT and position == 0):
                    r = self.groups.root(a)
                    lost[r] = lost.get(r, 0.0) + _OUT_OF * weight
                    out[r] = max(out.get(r, 0.0), weight)
        return {r for r in {*lost, *gained} if lost.get(r, 0.0) >= gained.get(r, 0.0) or out.get(r, 0.0) >= most.get(r, 0.0)}

    # --- the rewriting ------------------------------------------------------------------------------------

    def rewrite(self) -> None:
        """Operations of what moves become those of lanes; others get the value from there, and give it."""
        f = self.f
        out: list[Instr] = []
        wanted = {a for instr in f.code if self.alike(instr) and instr.dst in self.moved for a in instr.args if a in self.outside}
        for p in f.params:
            self.arrive(p, p, wanted, 0, out)
        for instr in f.code:
            dst = instr.dst
            if self.alike(instr) and dst in self.moved:
                out.append(Instr(instr.op, self.lanes, self.moved[dst], [self.in_lanes(a) for a in instr.args], instr.imm, instr.line))
                continue
            if instr.op is ops.STORE_AT and instr.args[0] in self.moved:
                out.append(self.stored(instr, out))
                continue
            known: dict[int, int] = {}
            for a in instr.args:
                if a in self.moved and a not in known:
                    known[a] = f.register(self.type)
                    out.append(Instr(ops.EXTRACT, self.lanes, known[a], [self.moved[a]], 0, instr.line))
            if known:
                instr = instr.copy()
                instr.args = [known.get(a, a) for a in instr.args]
            given = dst
            if dst in self.moved:
                given = f.register(self.type, f.names[dst])
                instr = instr.copy()
                instr.dst = given
            out.append(instr)
            if dst >= 0:
                self.arrive(dst, given, wanted, instr.line, out)
        f.code = out

    def arrive(self, r: int, given: int, wanted: set[int], line: int, out: list[Instr]) -> None:
        """What has just been made in an integer register, where lanes are made of it."""
        if r in wanted and r not in self.moved:
            self.moved[r] = self.f.register(self.lanes, self.f.names[r])
            # (What others read of it stays where it is.)
            self.outside.add(r)
        elif r not in self.moved:
            return
        out.append(Instr(ops.SPLAT, self.lanes, self.moved[r], [given], 0, line))

    def in_lanes(self, operand: int) -> int:
        """An operand in every lane."""
        if operand >= 0:
            return self.moved[operand]
        return self.f.const(self.lanes, self.f.const_values[~operand])

    def stored(self, instr: Instr, out: list[Instr]) -> Instr:
        """The store of a float with the same bits, which is in a vector register as well."""
        f = self.f
        element = F32 if self.type.bits == 32 else F64
        floats = vector_of(element, self.lanes.lanes)
        lanes, value = f.register(floats), f.register(element)
        out.append(Instr(ops.BITCAST, floats, lanes, [self.moved[instr.args[0]]], 0, instr.line, self.lanes))
        out.append(Instr(ops.EXTRACT, floats, value, [lanes], 0, instr.line))
        return Instr(instr.op, element, NONE, [value, *instr.args[1:]], instr.imm, instr.line, instr.source, instr.mem)
