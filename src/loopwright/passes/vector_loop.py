"""A loop over lanes as one over vectors: what the pass ``vectorize`` writes in its place, once it is known how.

The steps are those of the code that comes out: as many lanes as fit, and the bounds; a total in each lane of the accumulators; the body, under masks; the loop; totals
combined.
"""

from __future__ import annotations

import math
from typing import Final

from loopwright.ir import ops
from loopwright.ir.affine import Forms
from loopwright.ir.function import NONE, Function, Instr, Loop
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.analysis.operations import asking, steps
from loopwright.nests.analysis.room import settle
from loopwright.nests.idioms.ahead import BLOCK
from loopwright.nests.idioms.leaving import Leaving
from loopwright.nests.rewriting.unroll import clone, last_multiple, read_once
from loopwright.passes.memory import array_of
from loopwright.passes.passed_over import in_groups, vectors_a_step
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID, vector_of
from loopwright.vectors.accesses import ALONG, APART, BACK, lay
from loopwright.vectors.bitmaps import bit_accesses
from loopwright.vectors.carried import Carried
from loopwright.vectors.divergence import LINEAR, VARYING, Divergence
from loopwright.vectors.inside import Inside
from loopwright.vectors.interleaving import Interleaving
from loopwright.vectors.neighbours import pairs
from loopwright.vectors.predication import Predication
from loopwright.vectors.regions import Leaf
from loopwright.vectors.sums import Total, find
from loopwright.vectors.totals import nothing

__all__ = ["USUAL", "WORDS", "VectorLoop", "buffers", "least"]

#: Where no vector says how wide its elements are.
USUAL: Final = 32
#: What takes many cycles in one instruction.
_SLOW: Final = frozenset((ops.DIV, ops.SQRT))
#: What takes several instructions on bytes.
_SLOW_ON_BYTES: Final = frozenset((ops.MUL, ops.SHL, ops.SHR))
#: Elements in turn, dealt out and put together, or loaded as wider ones; what takes them one by one.
_DEALT: Final = frozenset((ops.LOAD_AT, ops.STORE_AT, *ops.LOAD_PART.values(), *ops.STORE_PARTS.values(), *ops.STORE_SOME.values()))
_ONE_BY_ONE: Final = ops.STRIDED | ops.INDEXED
#: Longer bodies are not written once more for a step that ends with the last index.
MOST_AGAIN: Final = 120
#: Operations of a loop that reduces one array, and waits for memory all the same.
STREAM_WORK: Final = 5
#: Bits of a vector of words that masks can be laid over.
WORDS: Final = 128


def buffers(target: Target) -> bool:
    """Whether what is put next to each other is collected first, where it is not known that whole vectors may be stored."""
    return target.dear_masks or target.scalar_remainders


def least(width: int) -> int:
    """The bits of the shortest vectors that are worth it."""
    return WORDS if width >= USUAL else USUAL


class VectorLoop:
    """The loop over vectors that takes the place of one over lanes.

    Args:
        shapes: what differs by lane.
        leaves: the instructions of its body.
        span: where the loop is in the code.
        out: where the code goes.
        whole: it is of whole steps only; what is left over is somebody else's.
        leaving: how lanes leave it, if they may.
        carried: what it carries, if anything.
        near: distances between rows that are known, in bytes.
        ample: whole vectors may be stored at counters, because more indices come behind the loop.
        blocks: it has a multiple of ``ahead.BLOCK`` indices.
        bits: of its vectors, at most; 0 for the target's.
        continues: a loop of whole steps, of which it does what is left over, under a mask, and whose totals it adds to.
    """

    def __init__(
        self,
        f: Function,
        target: Target,
        shapes: Divergence,
        leaves: list[Leaf],
        span: tuple[int, int],
        out: list[Instr],
        whole: bool,
        *,
        leaving: Leaving | None = None,
        carried: Carried | None = None,
        near: dict[int, int] | None = None,
        ample: bool = False,
        blocks: bool = False,
        bits: int = 0,
        continues: VectorLoop | None = None,
    ) -> None:
        self.f = f
        self.continues = continues
        self.target = target
        self.root = shapes.root
        self.head = self.root.opener
        self.span = span
        self.out = out
        self.whole = whole
        self.leaving = leaving
        self.carried = carried
        self.near = near or {}
        self.ample = ample
        loop = self.head.loop
        assert loop is not None
        self.loop = loop
        # (What leaves, or moves, has as many lanes as it was looked at with.)
        plain = leaving is None and carried is None
        #: Totals in narrower lanes than they have.
        self.narrow: list[Total] = find(f, f.code, span[0], span[1], [variable for variable, op, _ in loop.accumulators if op is ops.ADD and plain])
        if continues is not None:
            # (The totals of what it goes on from are as wide as what is added, or it would not be continued.)
            self.narrow = []
        # (Lanes of one total are as many in both.)
        self.shape: tuple[int, int] = continues.shape if continues is not None else self.choose_shape(shapes, leaves, plain, bits or target.vector_bits)
        width, self.lanes = self.shape
        # The first lane's index, where that is not the loop's own; where whole steps end; the bounds.
        self.index = self.head.dst
        self.first = NONE
        self.lo, self.hi, _ = self.head.args
        self.stop = self.hi
        if f.const_values[~self.head.args[2]] < 0:
            # Counted from 0; the first lane is at ``first`` less that.
            self.index = f.register(I64, f.names[self.head.dst])
            self.first, self.stop, self.lo, self.hi = _downwards(f, self.lo, self.hi, self.lanes, self.head.line, out)
        #: Where whole steps end at the latest, of a loop that counts up.
        self.limit = NONE
        self.made = self.predication(shapes, leaves, width, ample, blocks)
        self.described = Loop(self.made.all, loop.unroll, whole=whole, rest=loop.rest or continues is not None)
        #: Totals that hold what there was before.
        self.absorbed: set[int] = set()
        self.usual = [row for row in loop.accumulators if row[0] not in self.made.totals]

    def choose_shape(self, shapes: Divergence, leaves: list[Leaf], plain: bool, bits: int) -> tuple[int, int]:
        """The width of the elements that decide how many lanes there are, and how many there are."""
        f = self.f
        target = self.target
        if 0 < target.stream_bits < bits and (_reads_one_stream(f, shapes, leaves, self.head) or (plain and _moves(self.f, target, shapes, leaves))):
            bits = target.stream_bits
        width = settle(self.narrow, shapes.widest, USUAL, target, bits)
        lo, hi, _ = self.head.args
        if lo < 0 and hi < 0 and plain:
            # No more lanes than a power of two that all fit in.
            count = int(f.const_values[~hi]) - int(f.const_values[~lo])
            while bits > least(width) and bits // 2 >= count * width:
                bits //= 2
        return width, max(1, bits // width)

    def predication(self, shapes: Divergence, leaves: list[Leaf], width: int, ample: bool, blocks: bool) -> Predication:
        """What makes vectors and masks of the body."""
        f = self.f
        target = self.target
        made = Predication(f, shapes, self.lanes, width, asking(target))
        made.dear = target.dear_masks
        made.begin([])
        made.inside = Inside(f, self.head, self.span)
        for leaf in leaves:
            made.follow(leaf.instr)
        made.pairs = pairs(f, shapes, leaves, made.offsets, self.lanes, target, asking(target))
        made.out = self.out
        made.whole = self.whole
        if shapes.apart:
            made.bits_at = bit_accesses(f, shapes, leaves)
            made.start = int(f.const_values[~self.lo]) if self.lo < 0 and self.first == NONE else 1
        made.line = self.head.line
        if self.carried is not None:
            made.counters = self.carried.counters
            made.sums = self.carried.sums
            made.handed = self.carried.handed
            made.buffered = buffers(target)
            made.ample = ample
            made.skips = blocks
            made.begin_counting()
            made.begin_running()
            made.begin_handed()
        made.begin_totals(self.narrow)
        return made

    def write(self, followed: bool = False) -> int:
        """Write the loop; where it stops comes back. One that is ``followed`` leaves it to the loop behind it to put the totals of lanes together."""
        out = self.out
        head = self.head
        made = self.made
        if self.continues is not None:
            self.absorbed = self.continues.absorbed
        else:
            self.absorbed = {variable for variable, op, _ in self.usual if _absorbed(self.f, out, variable, op)}
        self.begin_accumulators()
        body = self.body()
        if self.leaving is not None:
            out.append(Instr(ops.COPY, I64, made.stop, [self.stop], 0, head.line))
            out.append(Instr(ops.BLOCK, VOID, NONE, [], 0, head.line))
            self.stop = made.stop
        made.out = out
        made.line = head.line
        out[:0] = made.made
        blocks = self.enclose(body)
        made.line = head.line
        if self.whole and self.again(body):
            self.once_more(body)
        for item in self.narrow:
            made.end_total(item)
        if blocks:
            out.append(Instr(ops.END, head.type, NONE, [], 0, head.line))
        if self.leaving is not None:
            out.append(Instr(ops.END, VOID, NONE, [], 0, self.root.end.line))
        if self.carried is not None:
            made.end_counting()
            made.end_running()
            made.end_handed(NONE if self.whole else made.scalar(ops.SUB, self.hi, self.lo))
        if not followed:
            self.combine()
        return self.stop

    def begin_accumulators(self) -> None:
        """Each lane has a total of its own."""
        f = self.f
        made = self.made
        if self.continues is not None:
            made.totals.update(self.continues.made.totals)
            self.described.accumulators.extend(self.continues.described.accumulators)
            return
        for variable, op, identity in self.usual:
            full = vector_of(f.types[variable], self.lanes)
            total = made.totals[variable] = f.register(full, f.names[variable], True)
            start = f.const(full, f.const_values[~identity]) if op.neutral is not None else made.define(ops.SPLAT, full, [variable], full)
            made.copy(total, start)
            self.described.accumulators.append((total, op, start))

    def body(self) -> list[Instr]:
        """What is done in a step; it is known then how far whole steps go."""
        f = self.f
        made = self.made
        head = self.head
        body: list[Instr] = []
        made.out = body
        made.opened.append(self.root)
        if self.leaving is not None:
            made.stop = f.register(I64, "stop", True)
            made.exact = self.leaving.looks()
        made.paths[self.root] = [], 0
        upwards = self.first == NONE
        if not upwards:
            made.emit(ops.SUB, I64, [self.first, self.index], 0, head.dst)
        made.region(self.root.body)
        body = made.out = made.without_unread(body)
        spare = self.whole and self.loop.whole and upwards
        if (self.whole or self.continues is not None) and self.leaving is None and any(instr.op in ops.STRIDED for instr in body):
            interleaving = Interleaving(made, Forms(f, *self.span), self.target, upwards and self.whole, self.near, asking(self.target), not self.whole)
            body = interleaving.run(body)
            spare = spare or interleaving.spare
        if self.whole and upwards:
            # (Of the index behind the last, which then has to be there; of such a loop it is.)
            if spare and not self.ample:
                made.out = self.out
                self.hi = made.scalar(ops.SUB, made.scalar(ops.MAX, self.hi, self.lo), f.const(I64, 1))
            self.limit = self.hi
            self.stop = self.hi = last_multiple(f, self.lo, self.hi, self.lanes, head.line, self.out)
        return body

    def again(self, body: list[Instr]) -> bool:
        """Whether a step may begin among indices that are done already: its elements are dealt out, so that masks do not serve, it only stores, and to arrays that it does not load."""
        if self.limit == NONE or self.leaving is not None or self.carried is not None or self.loop.accumulators or self.loop.whole or len(body) > MOST_AGAIN:
            return False
        if not any(instr.op in _DEALT for instr in body) or any(
            instr.op in _ONE_BY_ONE or instr.op.effect == ops.CALLS or IS_LOOP[instr.op.code] for instr in body
        ):
            return False
        read: set[int] = set()
        written: set[int] = set()
        for instr in body:
            if instr.op.effect == ops.READS:
                read.add(array_of(instr))
            elif instr.op.effect == ops.WRITES:
                written.add(array_of(instr))
        return NONE not in read | written and all(self.apart(a, b) for a in written for b in read)

    def apart(self, a: int, b: int) -> bool:
        """Whether nothing that is stored to one array is loaded from another. (What is not shared may be passed in two places, if it is described alike.)"""
        f = self.f
        if a == b or f.never_meet(a, b):
            return a != b
        first, second = f.arrays[a], f.arrays[b]
        alike = first.element is second.element and len(first.extents) == len(second.extents)
        return not (first.shared or second.shared or alike)

    def once_more(self, body: list[Instr]) -> None:
        """One step more behind whole ones, which ends with the last index, where more than a few are left."""
        f, made = self.f, self.made
        enough = made.define(ops.GE, I64, [made.scalar(ops.SUB, self.limit, self.lo), f.const(I64, self.lanes)], BOOL)
        more = made.define(ops.LT, I64, [made.scalar(ops.ADD, self.stop, f.const(I64, self.lanes // 16)), self.limit], BOOL)
        both = made.define(ops.AND, BOOL, [enough, more], BOOL)
        last = made.scalar(ops.SUB, self.limit, f.const(I64, self.lanes))
        end = made.define(ops.SELECT, I64, [both, self.limit, last], I64)
        index = f.register(I64, f.names[self.head.dst])
        mask = f.register(f.types[made.all])
        self.out.append(Instr(ops.FOR, self.head.type, index, [last, end, f.const(I64, self.lanes)], 0, made.line, loop=Loop(mask, 1, whole=True)))
        clone(f, body, {self.index: index, made.all: mask}, self.out)
        self.out.append(self.root.end)
        self.stop = made.define(ops.SELECT, I64, [both, self.limit, self.stop], I64)

    def enclose(self, body: list[Instr]) -> bool:
        """The loop with its body. Whether it is inside of one over blocks, which is open still."""
        f = self.f
        head = self.head
        begin, last = _begin_block(self.made, self.narrow, self.lo, self.hi)
        for item in self.narrow:
            total = self.made.totals[item.variable]
            zero = nothing(f, f.types[total])
            self.made.copy(total, zero)
            self.described.accumulators.append((total, ops.ADD, zero))
        made = self.made
        times = vectors_a_step(self.lanes, BLOCK, not self.ample) if made.kept else 1
        grouped = in_groups(f, body, made.kept, self.index, made.all, self.lanes, times, not self.ample) if times > 1 else None
        described = self.described if grouped is None else None
        step = self.lanes if grouped is None else self.lanes * times
        self.out.append(Instr(ops.FOR, head.type, self.index, [begin, last, f.const(I64, step)], 0, head.line, loop=described))
        self.out.extend(body if grouped is None else grouped)
        self.out.append(self.root.end)
        return begin != self.lo

    def combine(self) -> None:
        """The totals of all lanes to one."""
        f = self.f
        made = self.made
        for (variable, op, _), (total, _, _) in zip(self.usual, self.described.accumulators, strict=False):
            element = f.types[variable]
            assert op.reduction is not None
            combined = made.define(op.reduction, f.types[total], [total], element)
            if variable in self.absorbed:
                made.copy(variable, combined)
            else:
                made.emit(op, element, [variable, combined], 0, variable)


def _begin_block(made: Predication, totals: list[Total], lo: int, hi: int) -> tuple[int, int]:
    """Where totals have room for so many steps: a loop around over blocks of as many. The bounds of the loop over lanes."""
    f = made.f
    most = min([total.steps for total in totals if total.steps], default=0)
    if not most or (lo < 0 and hi < 0 and f.const_values[~hi] - f.const_values[~lo] <= most * made.lanes):
        return lo, hi
    size = f.const(I64, most * made.lanes)
    lo, hi = read_once(f, lo, made.line, made.out), read_once(f, hi, made.line, made.out)
    first = f.register(I64)
    made.out.append(Instr(ops.FOR, VOID, first, [lo, hi, size], 0, made.line))
    return first, made.scalar(ops.MIN, made.scalar(ops.ADD, first, size), hi)


def _downwards(f: Function, lo: int, hi: int, lanes: int, line: int, out: list[Instr]) -> tuple[int, int, int, int]:
    """Of a loop that counts down: the index of the first lane in the first step, where whole steps end, and the bounds of as long a loop that counts up."""

    def emit(op: ops.Op, a: int, b: int) -> int:
        made = f.register(I64, "")
        out.append(Instr(op, I64, made, [a, b], 0, line))
        return made

    count = last_multiple(f, f.const(I64, 0), emit(ops.SUB, lo, hi), lanes, line, out)
    return emit(ops.SUB, lo, f.const(I64, lanes - 1)), emit(ops.SUB, lo, count), f.const(I64, 0), count


def _absorbed(f: Function, before: list[Instr], variable: int, op: ops.Op) -> bool:
    """Whether what an accumulator holds before the loop changes nothing any more: every lane starts from it, or it is known to be neutral."""
    if op.neutral is None:
        return True
    for instr in reversed(before):
        if instr.dst == variable:
            if instr.op is not ops.COPY or instr.args[0] >= 0:
                return False
            start = f.const_values[~instr.args[0]]
            # (A sum that starts from 0.0 is never -0.0.)
            return start == op.neutral and math.copysign(1.0, start) > 0
        if instr.op.effect == ops.CONTROL:
            break
    return False


def _reads_one_stream(f: Function, shapes: Divergence, leaves: list[Leaf], head: Instr) -> bool:
    """Whether all that a loop does is to reduce one array, with little work; or along rows whose lengths are found while it runs, and may be short."""
    array = NONE
    where: list[int] = []
    work = 0
    for leaf in leaves:
        instr = leaf.instr
        work += instr.op.pure and instr.op is not ops.COPY and shapes.of(instr.dst) == VARYING
        if instr.op is ops.STORE:
            return False
        if instr.op is ops.LOAD and shapes.of(instr.args[-1]) == LINEAR:
            if array != NONE and (array != instr.imm or where != instr.args):
                return False
            array, where = instr.imm, instr.args
    lasting = all(bound < 0 or bound in f.params for bound in head.args[:2])
    return head.loop is not None and bool(head.loop.accumulators) and array != NONE and (work <= STREAM_WORK or not lasting)


def _moves(f: Function, target: Target, shapes: Divergence, leaves: list[Leaf]) -> bool:
    """Whether a loop loads and stores more than it computes: elements of one width that are next to each other, forwards or backwards, or every second one; of each array those of one index."""
    where: dict[int, list[int]] = {}
    accesses: set[tuple[int, int]] = set()
    widths: set[int] = set()
    work = 0
    for leaf in leaves:
        instr = leaf.instr
        op = instr.op
        if leaf.region.bracket is not shapes.root:
            return False
        if op is ops.LOAD or op is ops.STORE:
            places = instr.args[-len(f.arrays[instr.imm].extents) :]
            if where.setdefault(instr.imm, places) != places:
                return False
            kind = lay(shapes, places)
            if kind == BACK or (op is ops.LOAD and _every_second(shapes, places[-1], kind)):
                # (Putting the lanes in order goes through the units that compute.)
                work += 1
            elif kind != ALONG:
                return False
            accesses.add((op.code, instr.imm))
        elif not op.pure or op in _SLOW:
            return False
        elif shapes.of(instr.dst) != VARYING:
            continue
        else:
            bits = instr.type.bits
            if instr.source is not VOID or (bits == 8 and op in _SLOW_ON_BYTES):
                return False
            count = steps(target, op, vector_of(instr.type, target.stream_bits // bits))
            if count < 0:
                return False
            work += count
        widths.add(instr.type.bits)
    return work <= len(accesses) and len(widths) == 1


def _every_second(shapes: Divergence, index: int, kind: int) -> bool:
    """Whether lanes access every second element."""
    step = shapes.step(index)
    return kind == APART and step is not None and step.of == NONE and step.times == 2
