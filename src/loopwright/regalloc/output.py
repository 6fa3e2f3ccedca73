"""The end of an allocation: stores and resolution moves put in their places, and the frame laid out."""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import SLOT, SPILL, Frame, Function, Instr, Slot
from loopwright.regalloc.intervals import MADE_AGAIN, Interval
from loopwright.regalloc.resolution import Move, sequence
from loopwright.targets.target import Target, moves_stack
from loopwright.types import VOID

#: An edge's moves go before the instruction at that place of the output …
BEFORE: Final = 0
#: … or the conditional branch there is taken around them.
SPLIT: Final = 1


class Edge:
    """Moves that an edge needs; ``free``: the registers (bit mask) that hold nothing on either side of it."""

    __slots__ = ("at", "free", "kind", "moves", "weight")

    def __init__(self, at: int, kind: int, weight: float, free: int) -> None:
        self.at = at
        self.free = free
        self.kind = kind
        self.weight = weight
        #: (interval, where it is, where it must be); -1 is memory
        self.moves: list[tuple[Interval, int, int]] = []


class Statistics:
    """What the allocation cost, for reports."""

    __slots__ = ("move_weight", "moves", "reloads", "spill_weight", "spilled", "stores")

    def __init__(self) -> None:
        self.spilled = 0
        self.reloads = 0
        self.stores = 0
        self.moves = 0
        self.move_weight = 0.0
        self.spill_weight = 0.0


class Output:
    """The allocated function in the making: what the walk over the code emits, and what is put off until all is known.

    Attributes:
        out: the instructions with their registers, without what is put off.
        edges: the moves that edges of the control flow need.
        spills: the intervals that have been in memory.
        used: registers written anywhere (bit mask).
        calls: the function calls others.
    """

    def __init__(self, f: Function, target: Target) -> None:
        self.f = f
        self.target = target
        self.out: list[Instr] = []
        #: What makes values that can be made again (``Liveness.again``).
        self.again: list[Instr] = []
        self.edges: list[Edge] = []
        self.spills: list[Interval] = []
        self.used = 0
        self.calls = False
        self.statistics = Statistics()

    def to_memory(self, interval: Interval) -> None:
        """The interval needs a home in memory."""
        if interval.spilled or interval.constant != 0:
            return
        interval.spilled = True
        self.statistics.spilled += 1
        self.spills.append(interval)
        if interval.slot < 0:
            interval.slot = SLOT + len(self.f.slots)
            self.f.slots.append(Slot(SPILL, self.target.spill_size(self.f.types[interval.register]), 0))

    def home(self, interval: Interval) -> int:
        """The operand that stands for the interval's value in memory."""
        if interval.constant != 0:
            return interval.constant
        self.to_memory(interval)
        return interval.slot

    def finish(self) -> None:
        """Insert stores and resolution moves, lay out the frame."""
        f = self.f
        inserts: dict[int, list[Instr]] = {}
        at_edges: set[int] = set()
        for interval in self.spills:
            if interval.incoming and interval.defs == 0:
                continue
            type_ = f.types[interval.register]
            # Once after each definition, or wherever it goes to memory: whichever weighs less.
            if interval.homed or interval.def_weight <= interval.store_weight:
                places = interval.all_definitions()
                self.statistics.spill_weight += interval.def_weight
            else:
                places = interval.stores or []
                at_edges.add(interval.register)
                self.statistics.spill_weight += interval.store_weight
            for at, r in places:
                self.statistics.stores += 1
                inserts.setdefault(at, []).append(Instr(ops.COPY, type_, interval.slot, [r]))
        splits: dict[int, list[Instr]] = {}
        for edge in self.edges:
            moves: list[Move] = []
            for interval, source, destination in edge.moves:
                type_ = f.types[interval.register]
                if destination < 0:
                    if interval.register in at_edges:
                        moves.append(Move(interval.slot, source, type_))
                        self.statistics.stores += 1
                elif source < 0:
                    moves.append(Move(destination, self.home(interval), type_))
                    self.statistics.reloads += 1
                    self.statistics.spill_weight += edge.weight
                else:
                    moves.append(Move(destination, source, type_))
                    self.statistics.moves += 1
                    self.statistics.move_weight += edge.weight
            made = sequence(moves, 0, edge.free & (self.used | self.target.caller_saved), self.target.class_masks)
            if not made:
                continue
            if edge.kind == BEFORE:
                inserts.setdefault(edge.at, []).extend(made)
            else:
                splits[edge.at] = made
        if inserts or splits:
            self.merge(inserts, splits)
        else:
            f.code = self.out
        if self.again:
            self.make_again()
        self.layout()

    def make_again(self) -> None:
        """Copies of what can be made again become what makes it."""
        code = self.f.code
        for k in range(len(code)):
            instr = code[k]
            if instr.op is ops.COPY and instr.args[0] <= MADE_AGAIN:
                made = self.again[MADE_AGAIN - instr.args[0]].copy()
                made.dst = instr.dst
                made.line = instr.line
                code[k] = made

    def merge(self, inserts: dict[int, list[Instr]], splits: dict[int, list[Instr]]) -> None:
        """The output with what was put off: stores and moves before places, conditional edges with code of their own."""
        final: list[Instr] = []
        out = self.out
        for k in range(len(out)):
            extra = inserts.get(k)
            if extra is not None:
                final.extend(extra)
            instr = out[k]
            op = instr.op
            moves = splits.get(k)
            if moves is not None:
                opener = ops.IF if op is ops.BR_IF else ops.IF_CMP[op.compare]
                taken = Instr(opener, instr.type, -1, instr.args, 0, instr.line, instr.source, instr.mem)
                final.append(taken)
                final.extend(moves)
                final.append(Instr(ops.BR, VOID, -1, [], instr.imm + 1, instr.line))
                final.append(Instr(ops.END, VOID, -1, []))
            else:
                final.append(instr)
        extra = inserts.get(len(out))
        if extra is not None:
            final.extend(extra)
        self.f.code = final

    def layout(self) -> None:
        """Frame offsets for the spill slots; slots of intervals that are never alive together share a place."""
        f = self.f
        frame = Frame()
        frame.calls = self.calls
        for instr in f.code:
            if instr.op is ops.STORE_ARG and instr.imm + 8 > frame.outgoing:
                frame.outgoing = instr.imm + 8
        if self.calls:
            # Stack arguments lie above the shadow space, and say so themselves.
            frame.outgoing = max(frame.outgoing, self.target.convention.shadow)
        offset = 0
        taken: list[tuple[int, int, int]] = []  # (end of life, size, offset)
        for interval in sorted(self.spills, key=_start):
            if interval.incoming:
                continue
            slot = f.slots[interval.slot - SLOT]
            place = -1
            for n in range(len(taken)):
                end, size, at = taken[n]
                if end <= interval.starts[0] and size == slot.size:
                    place = at
                    taken[n] = (interval.last, size, at)
                    break
            if place < 0:
                offset = (offset + slot.size - 1) // slot.size * slot.size
                place = offset
                offset += slot.size
                taken.append((interval.last, slot.size, place))
                frame.align = max(frame.align, slot.size)
            slot.offset = place
        frame.size = (offset + 7) // 8 * 8 + f.local_bytes()
        saved = self.used & self.target.convention.callee_saved
        for order in self.target.orders:
            for r in order:
                if saved >> r & 1:
                    frame.saved.append(r)
        if self.calls and moves_stack(f):
            frame.moves = True
            frame.saved.append(self.target.frame_pointer)
        f.frame = frame
        f.physical = True


def _start(interval: Interval) -> int:
    return interval.starts[0] if interval.starts else -1
