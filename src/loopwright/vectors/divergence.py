"""What is the same for all lanes of a loop over lanes, what counts along them, what differs; and where lanes go different ways.

Divergence analysis (Coutinho, Sampaio, Pereira and Meira, *Divergence Analysis and Optimizations*, PACT 2011; Karrenberg and Hack, *Whole-Function
Vectorization*, CGO 2011), on structured code: a value differs by lane if it is computed from one that does, and a variable also if it is written where
some only of the lanes are that matter to those who read it. It is found by repetition, from nothing but the loop's index.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.types import BOOL, I64
from loopwright.vectors.regions import Bracket, Leaf, Region

__all__ = ["LINEAR", "UNIFORM", "VARYING", "Divergence"]

#: The same in all lanes.
UNIFORM: Final = 0
#: An i64 that is one more in each lane than in the one before; its register holds the first lane's.
LINEAR: Final = 1
#: Anything.
VARYING: Final = 2

_MOVES: Final = (ops.ADD, ops.SUB)
_COMPARISONS: Final = frozenset(ops.COMPARISONS.values())


class Divergence:
    """The analysis of one loop.

    Attributes:
        shape: register defined in the loop -> UNIFORM, LINEAR or VARYING.
        homes: variable (or register that is read outside of the bracket it is defined in) -> the smallest region with all that reads or writes it.
        sums: the loop's accumulators.
        outside: the registers that are mentioned outside of the loop.
    """

    def __init__(self, f: Function, root: Bracket, leaves: list[Leaf], outside: set[int]) -> None:
        self.f = f
        self.root = root
        self.leaves = leaves
        self.outside = outside
        self.shape: dict[int, int] = {root.opener.dst: LINEAR}
        self.homes: dict[int, Region] = {}
        self.readers: dict[int, list[Region]] = {}
        self.defined: dict[int, Region] = {}
        self.brackets: list[Bracket] = []
        loop = root.opener.loop
        self.sums: set[int] = {variable for variable, _, _ in loop.accumulators} if loop is not None else set()
        for variable in self.sums:
            self.shape[variable] = VARYING
        self._survey(root.body)
        self._find_homes(root)
        changed = True
        while changed:
            changed = False
            for bracket in self.brackets:
                changed = self._bracket(bracket) or changed
            for leaf in leaves:
                changed = self._leaf(leaf) or changed
        self._find_writes()

    def of(self, operand: int) -> int:
        """The shape of an operand."""
        return self.shape.get(operand, UNIFORM) if operand >= 0 else UNIFORM

    def held(self, register: int) -> bool:
        """Whether it is a variable, or is to be treated as one."""
        return register in self.homes

    # --- before --------------------------------------------------------------------------------------------

    def _survey(self, region: Region) -> None:
        """Note where registers are defined, and the brackets in order."""
        for item in region.items:
            if isinstance(item, Leaf):
                if item.instr.dst >= 0:
                    self.defined.setdefault(item.instr.dst, region)
            else:
                self.brackets.append(item)
                if item.opener.dst >= 0:
                    self.defined[item.opener.dst] = item.body
                for inner in item.regions:
                    self._survey(inner)

    def _find_homes(self, root: Bracket) -> None:
        variable = self.f.variable
        for leaf in self.leaves:
            for a in leaf.instr.args:
                if a >= 0:
                    self._read(a, leaf.region)
            dst = leaf.instr.dst
            if dst >= 0 and variable[dst]:
                self._met(dst, leaf.region)
        for bracket in self.brackets:
            assert bracket.region is not None
            if bracket.op is ops.FOR:
                for a in bracket.opener.args:
                    if a >= 0:
                        self._read(a, bracket.region)
            elif bracket.condition >= 0:
                self._read(bracket.condition, bracket.regions[0] if bracket.op is ops.WHILE else bracket.region)
        for register in list(self.homes):
            if register in self.sums:
                del self.homes[register]
            elif register in self.outside:
                self.homes[register] = root.body

    def _read(self, register: int, region: Region) -> None:
        if self.f.variable[register] or register in self.defined:
            self.readers.setdefault(register, []).append(region)
            self._met(register, region)

    def _met(self, register: int, region: Region) -> None:
        """A register is read or written in a region."""
        home = self.homes.get(register)
        if home is None:
            made = self.defined.get(register)
            if made is None:
                return
            if self.f.variable[register]:
                home = region
            else:
                if _within(region, made):
                    return
                home = made
        self.homes[register] = _around(home, region)

    def _differs(self, register: int, region: Region, home: Region) -> bool:
        """Whether what is written in a region, the same for all lanes that run, is read by others.

        Lanes that are not there, or are not there any more, may still read the register outside of the bracket that they are not in; or in it, the next time
        that they come there.
        """
        outer = region
        around = False  # a loop between here and the home
        while outer is not home:
            bracket = outer.bracket
            if bracket.skips:
                return True
            if bracket.splits:
                above = bracket.region
                while above is not None and above is not home:
                    around = around or above.bracket.loop
                    above = above.parent
                if around or any(not _in_bracket(reader, bracket) for reader in self.readers.get(register, ())):
                    return True
            assert outer.parent is not None
            outer = outer.parent
        return False

    # --- to the fixpoint -------------------------------------------------------------------------------------

    def _bracket(self, bracket: Bracket) -> bool:
        """What a condition or bounds that differ by lane make of a bracket."""
        if bracket.op is ops.FOR:
            index = bracket.opener.dst
            if self.of(index) == VARYING or all(self.of(a) == UNIFORM for a in bracket.opener.args):
                return False
            self.shape[index] = VARYING
        elif bracket.splits:
            return False
        elif bracket.op is ops.LOOP:
            # Where no lane may run it, it must end by itself, as only a loop does that lanes leave one by one.
            assert bracket.region is not None
            if not _splits_between(bracket.region, self.root.body):
                return False
        elif bracket.condition < 0 or self.of(bracket.condition) == UNIFORM:
            return False
        bracket.splits = True
        return True

    def _leaf(self, leaf: Leaf) -> bool:
        instr = leaf.instr
        if leaf.target is not None:
            leaf.target.aimed = True
            return self._branch(leaf, leaf.target)
        dst = instr.dst
        if dst < 0 or self.shape.get(dst, UNIFORM) == VARYING:
            return False
        found = self._shape(instr)
        home = self.homes.get(dst)
        if home is not None and (found != UNIFORM or self._differs(dst, leaf.region, home)):
            found = VARYING
        if found == self.shape.get(dst, UNIFORM):
            return False
        self.shape[dst] = found
        return True

    def _shape(self, instr: Instr) -> int:
        op = instr.op
        args = instr.args
        if op is ops.ANY_LANE or op is ops.ALL_LANES:
            return UNIFORM
        most = UNIFORM
        for a in args:
            most = max(most, self.of(a))
        if most != LINEAR or instr.type is not I64:
            return VARYING if most else UNIFORM
        if op in _COMPARISONS:
            # As far as the one is from the other, so far are those of every lane.
            return UNIFORM if self.of(args[0]) == self.of(args[1]) else VARYING
        if op is ops.COPY:
            return LINEAR
        if op in _MOVES:
            a, b = self.of(args[0]), self.of(args[1])
            if a == LINEAR and b == LINEAR and op is ops.SUB:
                return UNIFORM
            if a == LINEAR and b == UNIFORM or b == LINEAR and a == UNIFORM and op is ops.ADD:
                return LINEAR
        return VARYING

    def _branch(self, leaf: Leaf, target: Bracket) -> bool:
        """Lanes that leave for a bracket's end, or its next step, one by one."""
        divides = target.splits or target.skips
        if not divides and leaf.instr.op is ops.BR_IF:
            divides = self.of(leaf.instr.args[0]) != UNIFORM
        region = leaf.region
        crossed: list[Bracket] = []
        while region.bracket is not target:
            crossed.append(region.bracket)
            divides = divides or region.splits()
            assert region.parent is not None
            region = region.parent
        if not divides:
            return False
        changed = False
        if target.loop and not target.skips:
            target.skips = changed = True
            # Of those that do not repeat it, a ``loop`` is left by the others.
            target.splits = target.splits or target.op is ops.LOOP
        elif not target.loop and not target.splits:
            target.splits = changed = True
        for bracket in crossed:
            if bracket.loop and not bracket.splits:
                bracket.splits = changed = True
            if target not in bracket.leaves:
                bracket.leaves.append(target)
                changed = True
        return changed

    def _find_writes(self) -> None:
        """Per bracket, the variables that it leaves changed."""
        for leaf in self.leaves:
            dst = leaf.instr.dst
            home = self.homes.get(dst) if dst >= 0 else None
            if home is None or self.of(dst) != VARYING:
                continue
            region: Region = leaf.region
            while region is not home:
                if dst not in region.bracket.writes:
                    region.bracket.writes.append(dst)
                assert region.parent is not None
                region = region.parent

    # --- for what makes vectors ------------------------------------------------------------------------------

    def widest(self) -> int:
        """Bits of the widest element of any vector, at least 8; 0 if there is none."""
        found = 0
        types = self.f.types
        for leaf in self.leaves:
            instr = leaf.instr
            if instr.op is ops.STORE:
                element = self.f.arrays[instr.imm].element
                found = max(found, element.bits)
            elif instr.dst >= 0 and self.of(instr.dst) == VARYING:
                if types[instr.dst] is not BOOL:
                    found = max(found, types[instr.dst].bits)
                if not (instr.op is ops.CONVERT and self.of(instr.args[0]) == LINEAR and instr.type.is_integer):
                    for a in instr.args:
                        if self.of(a) == VARYING and types[a] is not BOOL:
                            found = max(found, types[a].bits)
                    if instr.op is ops.CONVERT and self.of(instr.args[0]) == LINEAR:
                        found = 64
        for bracket in self.brackets:
            if bracket.op is ops.FOR and bracket.splits and self.of(bracket.opener.dst) == VARYING:
                found = 64
        return found


def _within(region: Region, outer: Region) -> bool:
    """Whether a region is another, or in it."""
    while region.depth > outer.depth:
        assert region.parent is not None
        region = region.parent
    return region is outer


def _in_bracket(region: Region, bracket: Bracket) -> bool:
    """Whether a region is one of a bracket's, or in it."""
    while region.bracket is not bracket:
        if region.parent is None:
            return False
        region = region.parent
    return True


def _around(a: Region, b: Region) -> Region:
    """The smallest region around both."""
    while a is not b:
        if a.depth >= b.depth:
            assert a.parent is not None
            a = a.parent
        else:
            assert b.parent is not None
            b = b.parent
    return a


def _splits_between(region: Region, home: Region) -> bool:
    """Whether what is in ``region`` may run for some of the lanes only that are in ``home``."""
    while region is not home:
        if region.splits():
            return True
        assert region.parent is not None
        region = region.parent
    return False
