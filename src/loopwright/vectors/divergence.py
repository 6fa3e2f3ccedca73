"""What is the same for all lanes of a loop over lanes, what counts along them, what differs; and where lanes go different ways.

Divergence analysis (Coutinho, Sampaio, Pereira and Meira, *Divergence Analysis and Optimizations*, PACT 2011; Karrenberg and Hack, *Whole-Function
Vectorization*, CGO 2011), on structured code: a value differs by lane if it is computed from one that does, and a variable also if it is written where
some only of the lanes are that matter to those who read it. It is found by repetition, from nothing but the loop's index.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, U32, UNSIGNED, vector_of
from loopwright.vectors.regions import Bracket, Leaf, Region

__all__ = ["AFFINE", "IN_PAIRS", "LINEAR", "UNIFORM", "VARYING", "WIDTHS", "Divergence", "Step", "room_for", "width_of"]

#: The same in all lanes.
UNIFORM: Final = 0
#: An i64 that is one more in each lane than in the one before; its register holds the first lane's.
LINEAR: Final = 1
#: An i64 that is further by the same in each lane than in the one before (``Divergence.steps``); its register holds the first lane's.
AFFINE: Final = 2
#: Anything.
VARYING: Final = 3

#: What is one number of the first lane's.
_COUNTED: Final = (LINEAR, AFFINE)

_MOVES: Final = (ops.ADD, ops.SUB)


#: How far elements may be apart that are dealt out in pairs (``interleaving.py``).
IN_PAIRS: Final = (6, 8)
#: So many elements may a row have, of which each lane takes one.
WIDTHS: Final = (2, 3, 4, 5, 6, 7, 8)


def room_for(apart: int, bits: int, target: Target) -> int:
    """How many bits of a vector an element takes, where elements so far apart are dealt out. (Elements of 64 bits are not, in pairs.)"""
    if apart not in IN_PAIRS or bits > 32 or target.interleaves(vector_of(UNSIGNED[bits], max(1, target.vector_bits // bits)), apart):
        return bits
    return 2 * bits


def width_of(last: int) -> int:
    """How many elements a row has at least of which the element of a number is accessed, of those that are dealt out; 0 where it has more."""
    return next((width for width in WIDTHS if width > last), 0)


class Step:
    """How much further a lane is than the one before: ``times``, or ``times`` times a register that is the same for all lanes."""

    __slots__ = ("of", "times")

    def __init__(self, times: int, of: int = NONE) -> None:
        self.times = times
        self.of = of


_ONE: Final = Step(1)


class Divergence:
    """The analysis of one loop.

    Attributes:
        shape: register defined in the loop -> UNIFORM, LINEAR, AFFINE or VARYING.
        steps: register that is AFFINE -> how much further each lane is.
        narrow: i64 that differs by lane, and is nothing but the last index of accesses -> the narrower integer that it is converted from.
        homes: variable (or register that is read outside of the bracket it is defined in) -> the smallest region with all that reads or writes it.
        sums: the loop's accumulators.
        outside: the registers that are mentioned outside of the loop.
        counting: variables that say how often lanes have done something (``vectors/compaction.py``): they are the same for all lanes, and what is loaded there is not.
        running: running sums (``vectors/running.py``).
        apart: ``id`` of instructions that make no vectors, because they serve accesses to bits only (``vectors/bitmaps.py``).
    """

    def __init__(
        self, f: Function, target: Target, root: Bracket, leaves: list[Leaf], outside: set[int], counting: Collection[int] = (), running: Collection[int] = ()
    ) -> None:
        self.f = f
        self.target = target
        self.root = root
        self.leaves = leaves
        self.outside = outside
        self.counting = frozenset(counting)
        self.shape: dict[int, int] = {root.opener.dst: LINEAR}
        self.steps: dict[int, Step] = {}
        self.homes: dict[int, Region] = {}
        self.readers: dict[int, list[Region]] = {}
        self.defined: dict[int, Region] = {}
        self.brackets: list[Bracket] = []
        loop = root.opener.loop
        self.sums: set[int] = {variable for variable, _, _ in loop.accumulators} if loop is not None else set()
        self.sums.update(running)
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
        self.narrow: dict[int, int] = {}
        self.apart: set[int] = set()
        self._find_narrow()

    def of(self, operand: int) -> int:
        """The shape of an operand."""
        return self.shape.get(operand, UNIFORM) if operand >= 0 else UNIFORM

    def step(self, operand: int) -> Step | None:
        """How much further an operand is in each lane; None where it is the same in all, or not so much further."""
        shape = self.of(operand)
        return _ONE if shape == LINEAR else self.steps.get(operand) if shape == AFFINE else None

    def asked(self) -> set[int]:
        """What brackets ask: their conditions and bounds."""
        return {a for bracket in self.brackets for a in (bracket.condition, *bracket.opener.args)}

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
            if register in self.sums or register in self.counting:
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
            lo, hi, step = bracket.opener.args
            found = self.of(lo)
            if found == UNIFORM and self.of(hi) == UNIFORM and self.of(step) == UNIFORM:
                return False
            if found not in _COUNTED or self.of(step) != UNIFORM or self.held(index):
                # (Lanes that run are at the same turn, so that they are as far from each other as where they began.)
                found = VARYING
            if self.of(index) == found and bracket.splits:
                return False
            self.shape[index] = found
            if found == AFFINE:
                self.steps[index] = self.steps[lo]
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
        if dst < 0 or dst in self.counting or self.shape.get(dst, UNIFORM) == VARYING:
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
        if op is ops.LOAD and args[-1] in self.counting:
            return VARYING
        most = UNIFORM
        for a in args:
            most = max(most, self.of(a))
        if most in (UNIFORM, VARYING) or instr.type is not I64:
            return VARYING if most else UNIFORM
        if most == AFFINE or op is ops.MUL or op is ops.SHL or op is ops.NEG or op is ops.SUB and self.of(args[1]) != UNIFORM:
            return self._affine(instr)
        if op in ops.COMPARING:
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

    def _affine(self, instr: Instr) -> int:
        """The shape of an i64 of which operands count along the lanes, by one or more."""
        op = instr.op
        args = instr.args
        a = self.step(args[0])
        b = self.step(args[1]) if len(args) > 1 else None
        found: Step | None = None
        if op is ops.COPY:
            found = a
        elif op is ops.NEG and a is not None:
            found = Step(-a.times, a.of)
        elif op in _MOVES:
            sign = 1 if op is ops.ADD else -1
            if a is None or b is None:
                found = a if a is not None else Step(sign * b.times, b.of) if b is not None else None
            elif a.of == b.of:
                found = Step(a.times + sign * b.times, a.of)
        elif op is ops.MUL and (a is None or b is None):
            found = self._times(a, args[1]) if a is not None else self._times(b, args[0]) if b is not None else None
        elif op is ops.SHL and a is not None and args[1] < 0 and 0 <= self.f.const_values[~args[1]] < 32:
            found = Step(a.times << int(self.f.const_values[~args[1]]), a.of)
        if found is None or not -(1 << 31) < found.times < 1 << 31:
            return VARYING
        if not found.times:
            return UNIFORM
        if found.times == 1 and found.of == NONE:
            return LINEAR
        self.steps[instr.dst] = found
        return AFFINE

    def _times(self, step: Step, factor: int) -> Step | None:
        """A step multiplied by what is the same for all lanes."""
        if factor < 0:
            return Step(step.times * int(self.f.const_values[~factor]), step.of)
        if step.of != NONE or self.f.variable[factor]:
            return None
        return Step(step.times, factor)

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

    def _find_narrow(self) -> None:
        """Indices that need no vector of 64-bit lanes: what the machine adds to addresses is extended by itself."""
        f = self.f
        found = self.narrow
        for leaf in self.leaves:
            instr = leaf.instr
            source = instr.source
            if instr.op is ops.CONVERT and instr.type is I64 and source.is_integer and source is not BOOL and source is not U32 and source.bits <= 32:
                given = instr.args[0]
                if self.of(instr.dst) == VARYING and not self.held(instr.dst) and given >= 0 and not f.variable[given] and not self.held(given):
                    found[instr.dst] = given
        if not found:
            return
        for leaf in self.leaves:
            instr = leaf.instr
            indices = 0
            if instr.op is ops.LOAD or instr.op is ops.STORE:
                indices = len(f.arrays[instr.imm].extents)
                if any(self.of(a) != UNIFORM for a in instr.args[-indices:-1]):
                    indices = 0
            for n, a in enumerate(instr.args):
                if not (indices and n == len(instr.args) - 1):
                    found.pop(a, None)
        for bracket in self.brackets:
            for a in (*bracket.opener.args, bracket.condition):
                found.pop(a, None)

    # --- for what makes vectors ------------------------------------------------------------------------------

    def widest(self, apart: set[int]) -> int:
        """Bits of the widest element of any vector, at least 8, but for those of instructions given by ``id``; 0 if there is none."""
        found = 0
        types = self.f.types
        rows = self._rows()
        for leaf in self.leaves:
            instr = leaf.instr
            if (apart and id(instr) in apart) or (self.apart and id(instr) in self.apart):
                continue
            if instr.op is ops.LOAD or instr.op is ops.STORE:
                found = max(found, room_for(self._apart(instr, rows), self.f.arrays[instr.imm].element.bits, self.target))
            if instr.op is ops.STORE:
                element = self.f.arrays[instr.imm].element
                found = max(found, element.bits)
                if self.of(instr.args[0]) == AFFINE or VARYING in [self.of(a) for a in instr.args[1:]] and not self._looked_up(instr):
                    found = 64
            elif instr.dst >= 0 and instr.dst not in self.narrow and self.of(instr.dst) == VARYING:
                if types[instr.dst] is not BOOL:
                    found = max(found, types[instr.dst].bits)
                if instr.op is ops.LOAD:
                    if VARYING in [self.of(a) for a in instr.args] and not self._looked_up(instr):
                        found = 64
                elif not (instr.op is ops.CONVERT and self.of(instr.args[0]) in _COUNTED and instr.type.is_integer):
                    for a in instr.args:
                        if self.of(a) == VARYING and types[a] is not BOOL:
                            found = max(found, types[a].bits)
                        elif self.of(a) == AFFINE:
                            found = 64
                    if instr.op is ops.CONVERT and self.of(instr.args[0]) in _COUNTED:
                        found = 64
        for bracket in self.brackets:
            if bracket.op is ops.FOR and bracket.splits and self.of(bracket.opener.dst) != UNIFORM:
                found = 64
        return found

    def _in_row(self, access: Instr) -> bool:
        """Whether an access is to one of the first elements of a row, and in the next lane to the next row."""
        indices = access.args[int(access.op is ops.STORE) :]
        return len(indices) > 1 and indices[-1] < 0 and self.of(indices[-2]) == LINEAR

    def _rows(self) -> dict[int, int]:
        """By array of whose rows lanes have one each, the last element of a row that is accessed."""
        found: dict[int, int] = {}
        for leaf in self.leaves:
            instr = leaf.instr
            if (instr.op is ops.LOAD or instr.op is ops.STORE) and self._in_row(instr):
                found[instr.imm] = max(found.get(instr.imm, 0), int(self.f.const_values[~instr.args[-1]]))
        return found

    def _apart(self, access: Instr, rows: dict[int, int]) -> int:
        """How far the elements are apart that lanes access, in an array or in rows of so many; 0 where that is not known, or more than are dealt out."""
        step = self.step(access.args[-1])
        if step is not None:
            return step.times if step.of == NONE else 0
        return width_of(rows[access.imm]) if self._in_row(access) else 0

    def _looked_up(self, instr: Instr) -> bool:
        """Whether the index that differs by lane is a narrow one; of the narrower integer the vectors are counted where it is made."""
        return instr.args[-1] in self.narrow


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
