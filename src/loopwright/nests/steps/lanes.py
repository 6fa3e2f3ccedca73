"""Plain loops that become loops over lanes by themselves.

A loop may run its iterations in lanes where it carries nothing from one to the next, except totals that may be added up in any order, and where what its
accesses differ by from one iteration to the next is the last subscript, by 1, so that a vector is adjacent in memory. It need not be the innermost: of a
matrix product it is the one over columns, with the sum inside (R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.9,
call that vectorization of an outer loop). A dependence that it carries does no harm where its source comes first in the text as well: a vector is made
statement by statement (the same, section 2.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Form
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.nests.analysis.dependence import FLOW, Dependence
from loopwright.nests.analysis.nest import FEWEST_LANES, SHORTEST, Access, Nest, NestLoop
from loopwright.nests.analysis.operations import MOST_RARELY, MOST_STEPS, asking, constant_of, gains, has, steps_for
from loopwright.nests.analysis.room import settle
from loopwright.nests.analysis.scalars import CARRIED, HANDED, REDUCTION, Scalar, any_order
from loopwright.nests.rewriting.unroll import has_loops
from loopwright.nests.steps.in_turn import ROWS, InTurn
from loopwright.targets.target import Target
from loopwright.types import BOOL, I32, I64, PTR, U32, VOID, Type, mask_of, vector_of
from loopwright.vectors.divergence import IN_PAIRS, WIDTHS, room_for, width_of
from loopwright.vectors.interleaving import dealt
from loopwright.vectors.masked_groups import able as able_under_masks
from loopwright.vectors.skipped import long_arm
from loopwright.vectors.squares import able as has_squares
from loopwright.vectors.sums import find
from loopwright.vectors.tables import parts

__all__ = ["adjacent", "computed", "differs", "found_anew", "free", "in_lanes", "looked_up", "mark", "may_be_in_lanes", "obstructs", "shuffled", "strided"]

#: Of an ``if`` whose condition differs by lane both arms run: they may have so many instructions together, or so many times as many as there are lanes, without long arms
#: that are passed over (``vectors/skipped.py``); or, where there is much else, which lanes gain by, so many times half as many as that has.
MOST_BRANCHED: Final = 24
BRANCHED_PER_LANE: Final = 10
#: What has been stored so few iterations before is not loaded again by vectors, of which each would wait for two stores.
NEAR: Final = 64
#: Bits of masks where no vector says how wide its elements are, as ``vectorize`` has it.
_USUAL: Final = 32

#: The same in all iterations; an i64 that is one more in each; one that is more, or less, by another number; anything.
_UNIFORM: Final = 0
_LINEAR: Final = 1
_AFFINE: Final = 2
_VARYING: Final = 3

_COUNTING: Final = frozenset((ops.ADD, ops.SUB, ops.MUL, ops.NEG, ops.COPY))
_CONDITIONS: Final = frozenset((ops.AND, ops.OR, ops.XOR, ops.NOT, ops.SELECT, ops.COPY))
_BRANCHES: Final = frozenset((ops.BR, ops.BR_IF))
#: More elements that are looked up under masks, on machines on which that takes long, have to have so many operations each to be worth it.
FEW_LOOK_UPS: Final = 4
MOST_PER_LOOK_UP: Final = 8
#: Narrow elements that are looked up by indices of 64 bits, each of which is taken out of a vector, have to have so many operations each (measured on Sapphire Rapids: with one 0.6 to 0.7 of the speed of scalars, with four to seven 0.7 to 1.05).
LEAST_PER_NARROW: Final = 8
#: Groups of more elements, under masks, have to have so many operations for each; loops inside count as so many turns.
FEW_APART: Final = 4
MOST_PER_ELEMENT: Final = 8
TURNS: Final = 4
#: Of how many operations divisions, and roots, take the time besides.
DIVIDED: Final = 3
#: How long rows are that are dealt out in pairs, or, as 0, not at all.
_SHUFFLED: Final = (0, *IN_PAIRS)
#: So many elements may a row have of which lanes take some.
LONGEST_ROW: Final = 64
_REFUSED: Final = frozenset((ops.WHILE, ops.LOOP))
_CONVERSIONS: Final = frozenset((ops.CONVERT, ops.CONVERT_SATURATED, *ops.UNCHECKED))


def adjacent(nest: Nest, variables: list[Scalar], target: Target, apart: bool = False) -> list[NestLoop]:
    """The loops of a nest along which its accesses are adjacent, whose operations lanes have, and whose variables carry totals at most; the innermost first.

    Args:
        nest: the nest, without obstacles.
        variables: what its variables carry.
        target: the machine that has the lanes.
        apart: up to half of the loads may be down a column instead.
    """
    return [
        loop
        for loop in reversed(nest.loops)
        if loop.step in ((1,) if apart else (1, -1))
        and loop.reaches(FEWEST_LANES)
        and _along(nest, loop, apart)
        and _scalars(nest, loop, variables, target)
        and _possible(_Body(nest, loop, target, apart, _added_up(loop, variables)))
    ]


def _possible(body: _Body) -> bool:
    """Whether a loop's iterations may be lanes, and there are enough of them."""
    return body.possible() and (body.loop.long() or FEWEST_LANES * body.width >= SHORTEST)


def strided(nest: Nest, variables: list[Scalar], target: Target, beside: list[NestLoop], found: Sequence[Dependence] | None = None) -> list[NestLoop]:
    """The innermost loops that could be over lanes if accesses may be backwards, or to elements a few apart, too; ``adjacent`` does not ask for these.

    Args:
        nest: the nest, without obstacles.
        variables: what its variables carry.
        target: the machine that has the lanes.
        beside: the loops whose accesses are adjacent, which are none of these.
        found: the dependences of the nest, where they are known: iterations of a loop that store to an array along which they go in two ways must have none to each other.
    """
    chosen = []
    for loop in reversed(nest.loops):
        if loop.step != 1 or loop in beside or not loop.long() or not _registers_inside(nest, loop) or not _scalars(nest, loop, variables, target):
            continue
        body = _Body(nest, loop, target, False, _added_up(loop, variables), True)
        if body.possible() and not (body.crossing and (found is None or not independent(loop, found))):
            chosen.append(loop)
    return chosen


def _registers_inside(nest: Nest, loop: NestLoop) -> bool:
    """Whether loops inside of a loop, if there are any, access nothing but what is the same in all its iterations."""
    return all(
        access.loops[-1] is loop
        or not (loop.head < access.position < loop.end)
        or (not access.store and all(form is not None and not nest.forms.depends(form, loop.head, loop.end) for form in access.subscripts))
        for access in nest.accesses
    )


def may_be_in_lanes(nest: Nest, loop: NestLoop, variables: list[Scalar], target: Target) -> bool:
    """Whether a loop's accesses and variables leave it to be over lanes, whatever depends on what: it is one of ``adjacent`` or of ``strided``."""
    return loop in adjacent(nest, variables, target) or loop in strided(nest, variables, target, [])


def _added_up(loop: NestLoop, variables: list[Scalar]) -> list[int]:
    """The variables that are sums over a loop."""
    return [scalar.variable for scalar in variables if scalar.loop is loop and scalar.kind == REDUCTION and scalar.op is ops.ADD]


def shuffled(nest: Nest, loop: NestLoop) -> bool:
    """Whether elements of a loop over lanes would take more than a shuffle each: in pairs, as those of rows of 6 or 8 do, or in squares."""
    for access in nest.accesses:
        last = access.subscripts[-1]
        if not loop.head < access.position < loop.end or last is None:
            continue
        moves = nest.grows(last, loop)
        if moves in IN_PAIRS or moves > WIDTHS[-1]:
            return True
        if len(access.subscripts) > 1 and not last.terms:
            row = access.subscripts[-2]
            if width_of(last.constant) in _SHUFFLED or (row is not None and not row.terms):
                return True
    return False


def in_lanes(nest: Nest, loop: NestLoop, target: Target, strided: bool = False) -> bool:
    """Whether lanes have all accesses and operations of a loop that is to be one over them; with ``strided`` accesses may be to elements a few apart."""
    body = _Body(nest, loop, target, False, None, strided)
    return (strided or _along(nest, loop, False)) and body.possible() and not body.crossing


def computed(nest: Nest, loop: NestLoop, target: Target, repeated: list[Instr], strided: bool = False) -> int:
    """In how many lanes a loop can run, part of which some lanes repeat more often than others; 0 where they lack an access or an operation.

    Args:
        nest: the nest, in which that part stands once and without its brackets.
        loop: the loop.
        target: the machine that has the lanes.
        repeated: the instructions of that part.
        strided: accesses may be to elements a few apart.
    """
    body = _Body(nest, loop, target, False, None, strided)
    body.least = max([instr.type.bits for instr in repeated if instr.dst >= 0 and nest.f.types[instr.dst] is not BOOL], default=0)
    possible = body.possible() and all(body.done_under_mask(instr) for instr in repeated if instr.op is ops.LOAD)
    return body.lanes if possible else 0


def free(loop: NestLoop, found: list[Dependence], near: int = NEAR) -> bool:
    """Whether no iteration of a loop depends on another, within one iteration of the loops around it, but by what comes earlier in the text.

    Args:
        loop: the loop.
        found: the dependences of its nest.
        near: what has been stored at least so many iterations before may be loaded.
    """
    return not any(obstructs(dependence, loop, near) for dependence in found)


def independent(loop: NestLoop, found: Sequence[Dependence]) -> bool:
    """Whether no iteration of a loop accesses what another has stored, within one iteration of the loops around it."""
    for dependence in found:
        if loop.depth < len(dependence.loops) and dependence.loops[loop.depth] is loop:
            own = dependence.vector[loop.depth]
            if (own.low != 0 or own.high != 0) and all(c.low <= 0 <= c.high for c in dependence.vector[: loop.depth]):
                return False
    return True


def obstructs(dependence: Dependence, loop: NestLoop, near: int = NEAR) -> bool:
    """Whether a dependence keeps a loop from becoming one over lanes."""
    if loop.depth >= len(dependence.loops) or dependence.loops[loop.depth] is not loop:
        return False
    around = dependence.vector[: loop.depth]
    own = dependence.vector[loop.depth]
    return all(c.low <= 0 <= c.high for c in around) and (own.low != 0 or own.high != 0) and not _forward(dependence, loop, near)


def _forward(dependence: Dependence, loop: NestLoop, near: int) -> bool:
    """Whether what runs statement by statement keeps the order of a dependence: the source is before the sink in the text, and no inner loop holds both."""
    source, sink = dependence.source, dependence.sink
    own = dependence.vector[loop.depth]
    if own.low < (near if dependence.kind == FLOW else 0):
        return False
    return dependence.loops[-1] is loop and source.position < sink.position and source.loops[-1] is loop and sink.loops[-1] is loop


def mark(nest: Nest, loop: NestLoop, variables: list[Scalar], found: Sequence[Dependence] | None = None, vectors: int = 0) -> None:
    """Make a loop one over lanes, for the pass ``vectorize``; ``vectors`` are to be done at once, 0 lets the pass ``unroll`` decide. Without ``found`` nothing is known of dependences."""
    f = nest.f
    described = Loop(unroll=vectors, lanes=True, free=found is not None and independent(loop, found))
    for scalar in variables:
        if scalar.loop is loop and scalar.kind == REDUCTION:
            assert scalar.op is not None
            type_ = f.types[scalar.variable]
            identity = scalar.variable if scalar.op.neutral is None else f.const(type_, scalar.op.neutral)
            described.accumulators.append((scalar.variable, scalar.op, identity))
    f.code[loop.head].loop = described


def _along(nest: Nest, loop: NestLoop, apart: bool) -> bool:
    """Whether accesses move by one element in each iteration, or not at all; stores by one.

    With ``apart`` loads may move by a row, as many as move by an element; accesses outside of the loops inside may in any case, which are done once for all of an inner loop.
    """
    beside = below = 0
    for access in nest.accesses:
        if not loop.head < access.position < loop.end:
            continue
        if nest.f.arrays[access.array].data or looked_up(nest, loop, access):
            # Nothing writes to it, or what does is a dependence: which element is read makes no difference to the order.
            continue
        last = len(access.subscripts) - 1
        seldom = _seldom(nest, loop, access)
        down = False
        for place, form in enumerate(access.subscripts):
            if form is None:
                return False
            moves = 0
            for value, coefficient in form.terms.items():
                known = nest.indices.get(value)
                if known is loop:
                    moves = coefficient
                elif differs(nest, loop, value):
                    return False
            if moves == 1 and place != last and seldom:
                down = True
                continue
            if moves == 1 and place != last and apart and not access.store:
                below += 1
            elif moves != 0 and (place != last or moves != 1):
                return False
            beside += moves == 1 and place == last
            if access.store and place == last and moves != 1 and not down:
                return False
    return below <= beside


def _seldom(nest: Nest, loop: NestLoop, access: Access) -> bool:
    """Whether an access in a loop with others inside is done once for all of an inner loop: it is in none of these, or loads the same in all iterations, and nothing there writes to its array."""
    inner = [other for other in nest.loops if other.parent is loop]
    around = next((other for other in inner if other.head < access.position < other.end), None)
    if around is None:
        return bool(inner)
    if access.store or any(other.store and other.array == access.array and around.head < other.position < around.end for other in nest.accesses):
        return False
    return not any(form is None or nest.forms.depends(form, around.head, around.end) for form in access.subscripts)


def looked_up(nest: Nest, loop: NestLoop, access: Access) -> bool:
    """Whether an access loads an element of which a subscript differs from one iteration of a loop to the next, and not by a known number."""
    return not access.store and any(form is None or any(differs(nest, loop, value) for value in form.terms) for form in access.subscripts)


def differs(nest: Nest, loop: NestLoop, value: int) -> bool:
    """Whether a value of a form, which is no index of the nest, may be another one in each iteration of a loop."""
    return value not in nest.indices and nest.forms.depends(Form(0, {value: 1}), loop.head, loop.end)


def found_anew(nest: Nest, loop: NestLoop) -> bool:
    """Whether the bounds of a loop are found anew in each iteration of one around, otherwise than from its index."""
    forms = (*loop.first, *loop.last)
    around = loop.parent
    if around is not None and len(forms) < 2:
        return True
    while around is not None:
        if any(differs(nest, around, value) for form in forms for value in form.terms):
            return True
        around = around.parent
    return False


def _scalars(nest: Nest, loop: NestLoop, variables: list[Scalar], target: Target) -> bool:
    """Whether variables carry nothing but totals that may be added up in any order, and what is handed on."""
    f = nest.f
    for scalar in variables:
        if scalar.loop is not loop:
            continue
        if scalar.kind == CARRIED:
            return False
        if scalar.kind == HANDED:
            if loop.step != 1 or not moved(f, target, scalar.variable):
                return False
            continue
        if scalar.kind == REDUCTION:
            if not any_order(f, scalar):
                return False
        else:
            first, last = nest.mentions[scalar.variable]
            if first < loop.head or last > loop.end:
                return False
    return True


def moved(f: Function, target: Target, variable: int) -> bool:
    """Whether a machine moves vectors of what a variable holds by a lane, however many lanes there are."""
    type_ = f.types[variable]
    return all(
        has(target, ops.SLIDE, vector_of(type_, target.vector_bits // bits)) for bits in (8, 16, 32, 64) if bits >= type_.bits and target.vector_bits > bits
    )


class _Body:
    """What a loop's body does with values that differ by lane.

    Attributes:
        shapes: register -> _LINEAR, _AFFINE or _VARYING, where it differs by lane, as far as is known when variables may be anything.
        steps: by how much those that count are more in each lane.
        strided: accesses may be backwards, or to elements that are a little apart.
        lanes, width: how many there are, and the bits of the widest element.
        least: the widest element has so many bits at least.
        sums: the variables that are sums over the loop.
        summed: ``id`` of the instructions that add narrow values to them, which lanes have.
        indices: by register, the conversions that make indices of narrower integers by which something is looked up; lanes need no vectors of them.
        wide: ``id`` of these.
        rows: by array that is gone along from row to row, the last element of a row that is accessed.
        crossing: an array that is stored to is gone along in two ways.
    """

    __slots__ = (
        "apart",
        "crossing",
        "indices",
        "lanes",
        "least",
        "loop",
        "nest",
        "rows",
        "shapes",
        "steps",
        "strided",
        "summed",
        "sums",
        "tables",
        "target",
        "wide",
        "width",
    )

    def __init__(self, nest: Nest, loop: NestLoop, target: Target, apart: bool = False, sums: list[int] | None = None, strided: bool = False) -> None:
        self.sums: list[int] = sums or []
        self.summed: set[int] = set()
        self.wide: set[int] = set()
        self.indices: dict[int, Instr] = {}
        self.apart = apart
        self.strided = strided
        self.nest = nest
        self.loop = loop
        self.target = target
        self.shapes: dict[int, int] = {nest.f.code[loop.head].dst: _LINEAR}
        self.steps: dict[int, int] = {nest.f.code[loop.head].dst: 1}
        self.width = 0
        self.lanes = 0
        self.least = 0
        self.rows: dict[int, int] = {}
        self.crossing = False
        self.tables = {number for number, array in enumerate(nest.f.arrays) if array.size}
        if self.tables:
            self.tables.difference_update([access.array for access in nest.accesses if access.store and loop.head < access.position < loop.end])

    def seldom(self, position: int) -> bool:
        """Whether what is accessed at a place is accessed once for all of an inner loop."""
        if not any(other.parent is self.loop for other in self.nest.loops):
            return False
        return any(access.position == position and _seldom(self.nest, self.loop, access) for access in self.nest.accesses)

    def possible(self) -> bool:
        """Whether every operation on them is one that lanes have."""
        f = self.nest.f
        code = f.code
        # (Some loops have vectors already, of neighbours that are stored together.)
        if any(code[k].op in _REFUSED or code[k].type.lanes for k in range(self.loop.head + 1, self.loop.end)):
            return False
        self._spread()
        self._find_indices()
        self._find_rows()
        narrow = find(f, code, self.loop.head, self.loop.end, self.sums)
        self.width = max(self.least, settle(narrow, self._widest, _USUAL, self.target, self.target.vector_bits))
        for total in narrow:
            self.summed |= total.through
            self.summed.update(total.updates)
        self.lanes = max(1, self.target.vector_bits // self.width)
        looks_up = self._looks_up()
        if looks_up and not self._bounded():
            return False
        depth = 0  # brackets open within one that lanes go through each for itself
        branched = 0
        common = 0  # instructions that all lanes run
        skipped = 0  # where the long arm ends that is passed over where no lane needs it
        found_anywhere = found_under_masks = narrow_anywhere = operations = divisions = 0
        loaded: list[int] = []  # what the last load of an index, of 64 bits, has given
        for k in range(self.loop.head + 1, self.loop.end):
            instr = code[k]
            op = instr.op
            varying = op.effect == ops.PURE and op is not ops.COPY and self._of(instr.dst) == _VARYING
            if op is ops.LOAD and instr.type is I64:
                loaded = [instr.dst]
            operations += varying
            divisions += varying and (op in ops.DIVISIONS or op is ops.SQRT)
            anywhere = op is ops.LOAD and _VARYING in map(self._of, instr.args) and not self._in_table(instr)
            found_anywhere += anywhere
            found_under_masks += depth > 0 and anywhere
            narrow_anywhere += anywhere and instr.type.bits < 32 and instr.args[-1] not in self.indices and instr.args != loaded
            branched += depth > 0 and k > skipped
            common += depth == 0
            if op.effect == ops.CONTROL:
                if op is ops.FOR and (depth or any(self._of(a) for a in instr.args)):
                    return False
                if op is ops.THEN and not depth and self._of(instr.args[0]):
                    # (What comes before it goes one way for all lanes, which ``conditions.py`` has taken out where it could be.)
                    return False
                if op.opens and not op.closes:
                    if depth or op is ops.BLOCK or (op is ops.IF and self._of(instr.args[0])):
                        depth += 1
                        if op is ops.IF and k > skipped:
                            skipped = max(skipped, long_arm(code, k))
                elif op is ops.END and depth:
                    depth -= 1
                elif op in _BRANCHES and not depth:
                    return False
            elif op is ops.LOAD or op is ops.STORE:
                if not self._accesses(instr, depth > 0, (self.apart and op is ops.LOAD) or self.seldom(k)):
                    return False
            elif self._of(instr.dst) == _VARYING and not (self.done(instr, self._most(instr, k < skipped, depth)) and (not looks_up or self._gains(instr))):
                return False
        if self.strided and not self._in_order(operations + DIVIDED * divisions, found_anywhere):
            return False
        if found_under_masks > FEW_LOOK_UPS and self.target.slow_gathers and operations < MOST_PER_LOOK_UP * found_under_masks:
            return False
        if operations < LEAST_PER_NARROW * narrow_anywhere:
            return False
        return branched <= max(MOST_BRANCHED, BRANCHED_PER_LANE * self.lanes, common * self.lanes // 2)

    def _most(self, instr: Instr, skipped: bool, depth: int) -> int:
        """How many instructions an operation may take, in a long arm that is passed over, or in so many others."""
        if skipped:
            return MOST_RARELY
        return steps_for(instr, self.lanes) if depth < 2 else MOST_STEPS

    def done(self, instr: Instr, most: int) -> bool:
        """Whether an operation whose result differs by lane is done in lanes, by so many instructions at most."""
        if id(instr) in self.summed or id(instr) in self.wide or self._cuts(instr):
            return True
        return self._has(instr, most) and not (instr.type.bits < 64 and any(self._of(a) == _AFFINE for a in instr.args))

    def _cuts(self, instr: Instr) -> bool:
        """Whether an operation makes 32 bits of what counts in the loop, which lanes have in as many bits."""
        return (
            instr.op is ops.CONVERT
            and instr.source is I64
            and instr.type.is_integer
            and instr.type.bits == 32
            and self._of(instr.args[0]) in (_LINEAR, _AFFINE)
        )

    def done_under_mask(self, load: Instr) -> bool:
        """Whether a load is one that lanes have where not all of them make it."""
        return self._accesses(load, True, self.apart)

    def _gains(self, instr: Instr) -> bool:
        """Whether a conversion takes no longer in lanes: looking up gains nothing that could be lost to it."""
        if instr.op not in _CONVERSIONS or id(instr) in self.wide or self._of(instr.args[0]) != _VARYING or BOOL in (instr.type, instr.source):
            return True
        # (What does not fit is mended in both.)
        op = ops.CONVERT_UNCHECKED if instr.source.is_float and instr.type.is_integer else instr.op
        return gains(self.target, op, vector_of(instr.type, self.lanes), vector_of(instr.source, self.lanes))

    def _looks_up(self) -> bool:
        """Whether an element is looked up that is in no table which vectors hold."""
        f = self.nest.f
        for k in range(self.loop.head + 1, self.loop.end):
            instr = f.code[k]
            if instr.op is ops.LOAD and _VARYING in map(self._of, instr.args) and not self._in_table(instr):
                return True
        return False

    def _in_table(self, load: Instr) -> bool:
        """Whether a load is from a table that vectors hold, or a constant one, which is as quick to look up as others."""
        array = self.nest.f.arrays[load.imm]
        return bool(array.data) or (load.imm in self.tables and self._held(load))

    def _held(self, load: Instr) -> bool:
        """Whether vectors hold the table that a load is from."""
        return load.imm in self.tables and parts(self.nest.f.arrays[load.imm], self.lanes, asking(self.target))[1] > 0

    def _bounded(self) -> bool:
        """Whether the bounds of the loop are not found anew in each iteration of the one around: such rows, of sparse matrices, are mostly too short for lanes to gain anything."""
        return not found_anew(self.nest, self.loop)

    def _find_indices(self) -> None:
        """Find the indices that are only read by loads that look something up."""
        f = self.nest.f
        made: dict[int, Instr] = {}
        for k in range(self.loop.head + 1, self.loop.end):
            instr = f.code[k]
            if instr.op is ops.CONVERT and instr.type is I64 and instr.source.is_integer and instr.source.bits < 64 and not f.variable[instr.dst]:
                made[instr.dst] = instr
            else:
                kept = NONE
                if instr.op is ops.LOAD and not any(self._of(a) for a in instr.args[:-1]):
                    # (Offsets of 32 bits have a sign, those of a shuffle need none.)
                    last = made.get(instr.args[-1])
                    if last is not None and (last.source is not U32 or f.arrays[instr.imm].data):
                        kept = instr.args[-1]
                for a in instr.args:
                    if a != kept:
                        made.pop(a, None)
        self.indices = {dst: instr for dst, instr in made.items() if self._of(dst) == _VARYING}
        self.wide = {id(instr) for instr in self.indices.values()}

    def _of(self, operand: int) -> int:
        return self.shapes.get(operand, _UNIFORM) if operand >= 0 else _UNIFORM

    def _spread(self) -> None:
        """Find what differs by lane: what is computed from it, loaded along it, and every variable that the loop writes."""
        f = self.nest.f
        shapes = self.shapes
        for k in range(self.loop.head + 1, self.loop.end):
            dst = f.code[k].dst
            if dst >= 0 and f.variable[dst]:
                shapes[dst] = _VARYING
        for k in range(self.loop.head + 1, self.loop.end):
            instr = f.code[k]
            dst = instr.dst
            if dst >= 0 and instr.op.effect != ops.CONTROL and not f.variable[dst]:
                shape = self._shape(instr)
                if shape:
                    shapes[dst] = shape

    def _shape(self, instr: Instr) -> int:
        """What an operation's result is: as ``vectors/divergence.py`` has it."""
        if self.strided and instr.type is I64 and instr.op in _COUNTING:
            return self._counted(instr)
        shapes = [self._of(a) for a in instr.args]
        most = max(shapes, default=_UNIFORM)
        if most != _LINEAR or instr.type is not I64:
            return _VARYING if most else _UNIFORM
        op = instr.op
        if op in ops.COMPARING:
            return _UNIFORM if shapes[0] == shapes[1] else _VARYING
        if op is ops.COPY:
            return _LINEAR
        if op is ops.SUB and shapes[0] == shapes[1]:
            return _UNIFORM
        if (op is ops.ADD and shapes[0] != shapes[1]) or (op is ops.SUB and shapes[0]):
            return _LINEAR
        return _VARYING

    def _counted(self, instr: Instr) -> int:
        """The shape of an i64 that is linear in others."""
        op = instr.op
        steps: list[int] = []
        for a in instr.args:
            if self._of(a) == _VARYING:
                return _VARYING
            steps.append(self.steps.get(a, 0) if a >= 0 else 0)
        if op is ops.ADD or op is ops.SUB:
            step = steps[0] + steps[1] * (1 if op is ops.ADD else -1)
        elif op is ops.MUL and any(steps):
            factor = instr.args[1] if steps[0] else instr.args[0]
            if factor >= 0:
                return _VARYING
            step = (steps[0] or steps[1]) * int(self.nest.f.const_values[~factor])
        else:
            step = -steps[0] if op is ops.NEG else steps[0]
        if step:
            self.steps[instr.dst] = step
        return _UNIFORM if not step else _LINEAR if step == 1 else _AFFINE

    def _row(self, places: list[int]) -> int:
        """How many constants say which element an access is to, of a row, or of a matrix, whose next one the next iteration accesses; 0 where that is not so. (Where in a row it is may be in a register, too.)"""
        for count, place in enumerate(reversed(places)):
            if place >= 0 and self._of(place) == _LINEAR:
                return count
            if count == 0 and place >= 0 and self._of(place) == _UNIFORM:
                continue
            if place >= 0 or not 0 <= self.nest.f.const_values[~place] < LONGEST_ROW:
                return 0
        return 0

    def _find_rows(self) -> None:
        """How long rows of a few elements are at least, each of which is one lane's. (Those of matrices are not next to each other.)"""
        f = self.nest.f
        for access in self.nest.accesses:
            if self.loop.head < access.position < self.loop.end:
                args = f.code[access.position].args[int(access.store) :]
                count = self._row(args)
                if count:
                    last = int(f.const_values[~args[-1]]) if args[-1] < 0 else LONGEST_ROW
                    self.rows[access.array] = max(self.rows.get(access.array, 0), last if count == 1 else max(last, WIDTHS[-1]))

    def _in_order(self, work: int, looked_up: int) -> bool:
        """Whether elements in turn are accessed together, and take no more than the loop gains, of whose operations each lane does so many."""
        nest, f = self.nest, self.nest.f
        steps: dict[int, int] = {}
        for access in nest.accesses:
            if self.loop.head < access.position < self.loop.end:
                places = f.code[access.position].args[int(access.store) :]
                steps[access.position] = ROWS if self._row(places) else self.steps.get(places[-1], 0)
        target = self.target
        found = InTurn(nest, self.loop, self.lanes, lambda type_, apart: dealt(type_, apart, target, asking(target)), steps, self.rows)
        self.crossing = found.crossing
        return found.storable(target, lambda type_, apart: self._under_masks(type_, apart, True)) and found.pays(work, looked_up)

    def _widest(self, apart: set[int]) -> int:
        """Bits of the widest element of any vector, but for those of instructions given by ``id``; 0 if there is none."""
        f = self.nest.f
        found = 0
        for k in range(self.loop.head + 1, self.loop.end):
            instr = f.code[k]
            if id(instr) in apart or id(instr) in self.wide:
                continue
            if instr.op is ops.LOAD or instr.op is ops.STORE:
                found = max(found, room_for(self._apart(instr), f.arrays[instr.imm].element.bits, self.target))
            if instr.op is ops.LOAD and (instr.imm in self.tables or instr.args[-1] in self.indices):
                found = max(found, instr.type.bits)
                continue
            if instr.op is ops.STORE:
                found = max(found, f.arrays[instr.imm].element.bits)
            elif self._of(instr.dst) == _VARYING and instr.op.effect != ops.CONTROL:
                if f.types[instr.dst] is not BOOL:
                    found = max(found, f.types[instr.dst].bits)
                linear = instr.op is ops.CONVERT and self._of(instr.args[0]) == _LINEAR
                if linear and not instr.type.is_integer:
                    return 64
                for a in instr.args:
                    if not linear and self._of(a) == _VARYING and f.types[a] is not BOOL:
                        found = max(found, f.types[a].bits)
        return found

    def _apart(self, access: Instr) -> int:
        """How far the elements are apart that lanes access, in an array or in rows of so many; 0 where that is not known."""
        places = access.args[int(access.op is ops.STORE) :]
        if self._row(places):
            return width_of(self.rows[access.imm]) or self.rows[access.imm] + 1
        return self.steps.get(places[-1], 0)

    def _accesses(self, instr: Instr, some: bool, apart: bool) -> bool:
        """Whether an access is one that lanes have; ``some``: not all of them may make it; ``apart``: it may be down a column."""
        if instr.type is BOOL:
            return False
        store = instr.op is ops.STORE
        places = instr.args[1:] if store else instr.args
        shapes = [self._of(a) for a in places]
        type_ = vector_of(instr.type, self.lanes)
        if shapes[-1] == _VARYING and not store and self._held(instr):
            return True
        if _VARYING in shapes and not store:
            narrow = NONE if any(shapes[:-1]) else places[-1]
            return self._gathered(type_, narrow) and (not some or (self._masks(instr.type) and type_.bits >= 32))
        if apart and not some and not shapes[-1] and shapes[:-1].count(_LINEAR) == 1 and _VARYING not in shapes:
            return instr.type.bits == self.width or has(self.target, ops.STORE_STRIDED_AT if store else ops.LOAD_STRIDED_AT, type_)
        if self.strided and self._row(places) and shapes.count(_UNIFORM) == len(shapes) - 1:
            # (Whether rows are next to each other is asked by the pass ``vectorize``.)
            return self._dealt(type_, self._apart(instr), some, store) and not (store and self._of(instr.args[0]) == _AFFINE)
        if self.strided and shapes[-1] == _AFFINE and not any(shapes[:-1]):
            step = self.steps[places[-1]]
            if store and self._of(instr.args[0]) == _AFFINE:
                return False
            return not some and has(self.target, ops.REVERSE, type_) if step == -1 else self._dealt(type_, step, some, store)
        if any(shapes[:-1]) or shapes[-1] >= _AFFINE or (store and not shapes[-1]):
            return False
        if shapes[-1] and not has(self.target, ops.STORE_AT if store else ops.LOAD_AT, type_):
            return False
        return not some or (self._masks(instr.type) and (not shapes[-1] or has(self.target, ops.MASKED_STORE_AT if store else ops.MASKED_LOAD_AT, type_)))

    def _dealt(self, type_: Type, apart: int, some: bool, store: bool) -> bool:
        """Whether elements in turn are loaded and stored together; ``some``: of the lanes that get there."""
        if some:
            return self._under_masks(type_, apart, store) and self._masks(type_.element)
        return dealt(type_, apart, self.target, asking(self.target)) or (apart > 1 and has_squares(type_, asking(self.target)))

    def _under_masks(self, type_: Type, apart: int, store: bool) -> bool:
        """Whether elements in turn are accessed under masks: of so few, or for so much that is computed, that scalars do not take less."""
        if not able_under_masks(type_, apart, self.target, asking(self.target), store):
            return False
        if apart <= FEW_APART:
            return True
        body = self.nest.f.code[self.loop.head + 1 : self.loop.end]
        work = sum([instr.op.effect == ops.PURE and instr.op is not ops.COPY for instr in body])
        return work * (TURNS if has_loops(body) else 1) >= apart * MOST_PER_ELEMENT

    def _gathered(self, type_: Type, index: int) -> bool:
        """Whether a machine looks elements up at the values of an index."""
        made = self.indices.get(index)
        if made is None or id(made) not in self.wide:
            return self.width == 64 and self.target.looks_up(type_, vector_of(I64, self.lanes))
        source = made.source if made.source.bits == 32 or type_.bits < 32 else I32
        return self.target.looks_up(type_, vector_of(source, self.lanes))

    def _masks(self, element: Type) -> bool:
        """Whether the loop's masks can be made masks for an element."""
        return element.bits == self.width or has(self.target, ops.MASK_CONVERT, mask_of(element.bits, self.lanes), mask_of(self.width, self.lanes))

    def _has(self, instr: Instr, most: int) -> bool:
        """Whether an operation whose result differs by lane is one that lanes have, by so many instructions at most."""
        op, type_, source = instr.op, instr.type, instr.source
        masks = mask_of(self.width, self.lanes)
        if type_ is PTR or source is PTR:
            return False
        if op is ops.CONVERT and (source is BOOL or type_ is BOOL):
            other = type_ if source is BOOL else source
            return other is not BOOL and self._masks(other) and has(self.target, ops.SELECT, vector_of(other, self.lanes))
        if type_ is BOOL:
            return op in _CONDITIONS and (op is ops.COPY or has(self.target, op, masks))
        if op is ops.COPY:
            return True
        full = vector_of(type_, self.lanes)
        if op is ops.SELECT or op in ops.COMPARING:
            return self._masks(type_) and (type_.bits == self.width or self._fits(type_)) and has(self.target, op, full)
        if op is ops.CONVERT and type_.is_integer and self._of(instr.args[0]) == _LINEAR:
            # The lanes count in the type itself.
            return has(self.target, ops.ADD, full)
        if op in _CONVERSIONS or op in ops.CASTS:
            return has(self.target, op, full, vector_of(source, self.lanes), most=most)
        if op.operands.count("T") != len(instr.args):
            return False
        return has(self.target, op, full, VOID, constant_of(self.nest.f, instr), most)

    def _fits(self, element: Type) -> bool:
        """Whether masks for an element can be made masks of the loop."""
        return has(self.target, ops.MASK_CONVERT, mask_of(self.width, self.lanes), mask_of(element.bits, self.lanes))
