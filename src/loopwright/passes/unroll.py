"""The ``unroll`` pass: loops over lanes become an unmasked, unrolled main loop and a masked remainder.

::

    for i = lo, hi, N mask m        stop = lo + (max(hi, lo) - lo rounded down to a multiple of U*N)
      body                          for i = lo, stop, U*N
    end                        →      body with m all true           } U copies, for i, i + N, …
                                    end
                                    accumulators combined
                                    for i = stop, hi, N              (if U is 1: an if around one step)
                                      m = lane_mask i, hi
                                      body
                                    end

Where accesses under a mask are dear (``Target.masked_bits``), or a loop is come to again and again that adds up, or stores, whole vectors of
what is left have a loop without masks in between: making the masks takes longer than what they are for (rows of 16 and 18 elements: 0.7 to 0.9 of the time on Zen 4), and the one mask that remains is the same for all rows of one length. What is left
then goes to memory in pieces where stores under a mask take long (``Target.dear_masks``), or the loop around loads from an array that is stored to. The totals of such loops have copies, which are combined behind the main loop, only where that runs.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from loopwright.ir import ops
from loopwright.ir.brackets import match
from loopwright.ir.function import MOST_LOCAL, NONE, Function, Instr, Loop
from loopwright.ir.loops import IS_LOOP
from loopwright.nests.elements import reuse
from loopwright.nests.rewriting.unroll import clone, crossing_branches, has_loops, last_multiple, local_variables, read_once, repeats
from loopwright.nests.steps.jam import jam
from loopwright.passes import kept_vectors
from loopwright.passes.alignment import first_access, first_on_line
from loopwright.passes.partial_totals import in_parts
from loopwright.targets.target import Target
from loopwright.types import BOOL, I64, VOID
from loopwright.vectors.pieces import in_pieces
from loopwright.vectors.side_by_side import in_any_order, shared_loops, vectors_at_once

#: So many loads make a stencil.
STENCIL_LOADS: Final = 3
#: A total in an inner loop that loads more than once a step is in so many parts at most.
SHORT_TOTALS: Final = 4
#: A loop of so few vectors, and of so few instructions for all of them, runs once.
FEW_STEPS: Final = 4
FEW_INSTRUCTIONS: Final = 48
#: Bytes of the frame that the buffers of one remainder may take.
MOST_PIECES: Final = 256


def run(f: Function, target: Target) -> None:
    """Rewrite every ``for`` over lanes (one whose ``loop`` has a mask)."""
    code = f.code
    for instr in code:
        if instr.loop is not None and instr.loop.mask != NONE:
            break
    else:
        return
    neighbours = reuse.neighbours(f, target)
    out: list[Instr] = []
    _rewrite(f, target, code, out, {})
    f.code = out
    if neighbours:
        reuse.run(f, target)
    kept_vectors.run(f, target)


def steps_at_once(f: Function, target: Target, body: list[Instr], reduction: bool) -> int:
    """The unroll factor for a loop over lanes without loops in it, from the size of its body."""
    loaded: set[tuple[int, ...]] = set()
    work = _work(f, body, loaded)
    unrolling = target.unrolling
    for most, steps in unrolling.reduction if reduction else unrolling.stencil if len(loaded) >= STENCIL_LOADS else unrolling.elementwise:
        if work <= most:
            return steps
    return 1


def _loads(body: list[Instr]) -> int:
    return sum([instr.op.effect == ops.READS for instr in body])


def _work(f: Function, body: list[Instr], loaded: set[tuple[int, ...]]) -> int:
    """About how many instructions of ``body`` will be left in the unmasked loop; ``loaded`` receives its different loads."""
    work = products = sums = 0
    for instr in body:
        op = instr.op
        type_ = instr.type
        if op.effect == ops.READS:
            # Repeated loads are made once.
            loaded.add((instr.imm, *instr.args))
            if op is ops.GATHER_AT:
                work += type_.lanes - 1
        elif op is ops.COPY or (type_ is I64 and op.pure) or op is ops.END or (op is ops.SELECT and instr.dst >= 0 and f.variable[instr.dst]):
            # Moves, indices that go into addresses, and the masking of reductions go away.
            continue
        elif f.options.contract and type_.is_float and op is ops.MUL:
            products += 1
        elif f.options.contract and type_.is_float and (op is ops.ADD or op is ops.SUB):
            sums += 1
        else:
            work += 1
    return work + len(loaded) + max(products, sums)


def _fits(f: Function, target: Target, loop: Loop, body: list[Instr], unroll: int) -> bool:
    """Whether so many copies of each total are all in registers, beside what a copy of ``body`` needs of their class at once and what stays the same in all of them."""
    totals = [v for v, _, _ in loop.accumulators]
    cls = target.class_of(f.types[totals[0]])
    copied = sum([target.class_of(f.types[v]) == cls for v in totals])
    lasting: set[int] = set()
    live: set[int] = set()
    made = {instr.dst for instr in body}
    most = 0
    for instr in reversed(body):
        live.discard(instr.dst)
        for a in instr.args:
            if a >= 0 and a != loop.mask and a not in totals and target.class_of(f.types[a]) == cls:
                (live if a in made else lasting).add(a)
            elif a < 0 and instr.type.lanes and instr.type.is_float:
                lasting.add(a)
        most = max(most, len(live))
    return unroll * copied + len(lasting) + most <= len(target.orders[cls])


def _rewrite(f: Function, target: Target, code: list[Instr], out: list[Instr], references: dict[int, int]) -> None:
    partner = match(code)
    position = 0
    around = 0  # behind the last of the loops that are open
    loaded: set[int] | None = None  # the arrays that the outermost of them loads from, once that is asked
    start = 0
    while position < len(code):
        instr = code[position]
        loop = instr.loop
        if loop is None or loop.mask == NONE:
            if IS_LOOP[instr.op.code] and instr.op is not ops.WHILE:
                if position >= around:
                    start, loaded = position, None
                around = max(around, partner[position])
            out.append(instr)
            position += 1
            continue
        end = partner[position]
        body = code[position + 1 : end]
        for inner in body:
            if inner.loop is not None and inner.loop.mask != NONE:
                rewritten: list[Instr] = []
                _rewrite(f, target, body, rewritten, references)
                body = rewritten
                break
        nested = position < around
        if nested and loaded is None:
            loaded = _loaded(code[start:around])
        repeated = loaded if nested else _loaded(_in_loops(body)) if has_loops(body) else None
        _Split(f, target, instr, body, code[end], out, references, nested, repeated or ()).run()
        position = end + 1


def _loaded(code: list[Instr]) -> set[int]:
    """The arrays that code loads from."""
    return {instr.imm for instr in code if instr.op.effect == ops.READS}


def _in_loops(body: list[Instr]) -> list[Instr]:
    """What a loop's body does in loops."""
    inside: list[Instr] = []
    depth = 0  # open brackets, from the outermost loop on
    for instr in body:
        if instr.op.closes and depth:
            depth -= 1
        if instr.op.opens and (depth or IS_LOOP[instr.op.code]):
            depth += 1
        if depth:
            inside.append(instr)
    return inside


class _Split:
    """One loop over lanes on its way to a main loop and a remainder.

    Attributes:
        head, body, end, loop: the loop.
        step: how many lanes there are.
        out: where the code goes.
        references: how often each variable is named in the function, once that has been counted.
        nested: whether there is a loop around.
        waited: the arrays whose loads wait for stores under a mask.
    """

    __slots__ = ("body", "end", "f", "head", "line", "loop", "nested", "out", "references", "step", "target", "waited")

    def __init__(
        self,
        f: Function,
        target: Target,
        head: Instr,
        body: list[Instr],
        end: Instr,
        out: list[Instr],
        references: dict[int, int],
        nested: bool,
        repeated: Collection[int],
    ) -> None:
        """Args: ``repeated`` has the arrays that are loaded from again and again, by the loop around or by loops inside."""
        loop = head.loop
        assert loop is not None
        self.f = f
        self.target = target
        self.head = head
        self.loop: Loop = loop
        self.body = body
        self.end = end
        self.line = head.line
        self.out = out
        self.references = references
        self.step = int(f.const_values[~head.args[2]])
        self.nested = nested
        self.waited: Collection[int] = repeated if target.masks_hold_loads else ()

    def run(self) -> None:
        """Append the code."""
        f, target, loop, out, step = self.f, self.target, self.loop, self.out, self.step
        unroll = self.unroll_factor()
        lo, hi, _ = self.head.args
        hi = read_once(f, hi, self.line, out)
        lo = read_once(f, lo, self.line, out)
        known = lo < 0 and hi < 0
        if known and not loop.accumulators and loop.unroll == 0 and not has_loops(self.body) and not repeats(self.body):
            # (A few vectors have no need of a loop.)
            steps = (int(f.const_values[~hi]) - int(f.const_values[~lo])) // step
            if unroll < steps <= FEW_STEPS and steps * len(self.body) <= FEW_INSTRUCTIONS:
                unroll = steps
        if not self.nested and unroll > 1 and target.aligned_lines and not loop.whole and not known:
            found = first_access(f, self.head, self.body)
            if found is not None:
                self.in_rounds(first_on_line(f, found[0], found[1], lo, hi, step, out), lo, hi, unroll)
                return
        left = -1  # elements the remainder has to do, where known
        masked = False  # all is done under the mask
        if known:
            first = int(f.const_values[~lo])
            count = max(int(f.const_values[~hi]) - first, 0)
            while unroll > 1 and unroll * step > count:
                unroll -= 1
            left = count % (unroll * step)
            stop = f.const(I64, first + count - left)
            whole = count - left
        else:
            masked = loop.rest and not loop.whole and not self.masked_dearly()
            stop = lo if masked else last_multiple(f, lo, hi, unroll * step, self.line, out)
            whole = 0 if masked else -1
            if unroll * step == 1:
                left = 0
        # (Of short rows the main loop seldom runs: then there is nothing to be combined.)
        asked = whole < 0 and self.nested and unroll > 1 and bool(loop.accumulators)
        if asked:
            self.open_if(lo, stop)
        if whole != 0:
            self.main(lo, stop, unroll)
        if asked:
            out.append(Instr(ops.END, VOID, NONE, [], 0, self.line))
        if left != 0:
            self.remainder(stop, hi, unroll, left, masked)

    def unroll_factor(self) -> int:
        """How many vectors the main loop does at once."""
        f, target, loop, body = self.f, self.target, self.loop, self.body
        unroll = loop.unroll
        if unroll == 0:
            unroll = vectors_at_once(f, target, self.head, body) if has_loops(body) else steps_at_once(f, target, body, bool(loop.accumulators))
            while loop.accumulators and unroll > 1 and not _fits(f, target, loop, body, unroll):
                unroll //= 2
            if self.nested and len(loop.accumulators) == 1 and unroll > SHORT_TOTALS and _loads(body) > 1:
                # It is come to again and again, perhaps for a few vectors; two loads a step keep the units busy with as many totals.
                unroll = SHORT_TOTALS
        if unroll > 1 and (repeats(body) or (loop.accumulators and crossing_branches(body))):
            # What leaves the loop leaves the totals of all its copies behind.
            return 1
        return unroll

    def remainder(self, stop: int, hi: int, unroll: int, left: int, masked: bool) -> None:
        """What the main loop, which did so many vectors at once, has left from ``stop`` on: so many elements, -1 where that is not known; ``masked``: all of them."""
        f, loop, out, step = self.f, self.loop, self.out, self.step
        i = self.head.dst
        body = self.body = in_parts(f, self.body)
        if left >= step and unroll > 1:
            # So many whole vectors are left, which need no loop.
            last = f.const(I64, int(f.const_values[~stop]) + left - left % step)
            self.main(stop, last, 1 if repeats(body) else left // step)
            left %= step
            if left == 0:
                return
            stop, unroll = last, 1
        elif not loop.whole and unroll > 1 and left < 0 and not masked and self.masked_dearly():
            # Whole vectors of what is left without masks.
            last = last_multiple(f, stop, hi, step, self.line, out)
            self.main(stop, last, 1)
            stop, unroll = last, 1
        if loop.whole:
            if unroll > 1:
                self.main(stop, hi, 1)
            return
        if masked or (unroll > 1 and not 0 < left <= step):
            out.append(Instr(ops.FOR, self.head.type, i, [stop, hi, self.head.args[2]], 0, self.line))
        elif left < 0:
            self.open_if(stop, hi)
            out.append(Instr(ops.COPY, I64, i, [stop], 0, self.line))
        else:
            out.append(Instr(ops.BLOCK, VOID, NONE, [], 0, self.line))
            i = stop
            known: list[Instr] = []
            clone(f, body, {self.head.dst: i}, known)
            body = known
        out.append(Instr(ops.LANE_MASK, f.types[loop.mask], loop.mask, [i, hi], 0, self.line))
        if (self.nested or self.waited) and left < step and (left >= 0 or unroll == 1) and f.local_bytes() + MOST_PIECES <= MOST_LOCAL:
            body = in_pieces(f, body, loop.mask, stop, hi, None if self.target.dear_masks else self.waited)
        out.extend(body)
        out.append(self.end)

    def open_if(self, lo: int, hi: int) -> None:
        """An ``if`` that asks whether there is anything from one index up to another."""
        condition = self.f.register(BOOL, "")
        self.out.append(Instr(ops.LT, I64, condition, [lo, hi], 0, self.line))
        self.out.append(Instr(ops.IF, VOID, NONE, [condition], 0, self.line))

    def in_rounds(self, first: int, lo: int, hi: int, unroll: int) -> None:
        """The remainder and the main loop twice, the first time up to the index where an access begins a line and from there on (``alignment.py``)."""
        f, head, loop, out, line = self.f, self.head, self.loop, self.out, self.line

        def copy(to: int, value: int) -> None:
            out.append(Instr(ops.COPY, I64, to, [value], 0, line))

        at, stop = f.register(I64, "", True), f.register(I64, "", True)
        copy(at, lo)
        copy(stop, first)
        out.append(Instr(ops.FOR, VOID, f.register(I64, "round"), [f.const(I64, 0), f.const(I64, 2), f.const(I64, 1)], 0, line))
        out.append(Instr(ops.FOR, head.type, head.dst, [at, stop, head.args[2]], 0, line))
        out.append(Instr(ops.LANE_MASK, f.types[loop.mask], loop.mask, [head.dst, stop], 0, line))
        out.extend(self.body)
        out.append(self.end)
        low = read_once(f, stop, line, out)
        last = last_multiple(f, low, hi, unroll * self.step, line, out)
        self.main(low, last, unroll)
        copy(at, last)
        copy(stop, hi)
        out.append(Instr(ops.END, VOID, NONE, [], 0, self.end.line))

    def masked_dearly(self) -> bool:
        """Whether what the mask of a loop is on is made of other accesses, one after the other for some lanes; or the loop is often run for a few vectors, which take less time than the mask.

        Loads from the arrays ``waited`` would wait for a store under a mask.
        """
        target = self.target
        short = self.nested and not has_loops(self.body)
        if short and self.loop.accumulators:
            return True
        for instr in self.body:
            op = instr.op
            if op is ops.MASKED_STORE and (short or instr.imm in self.waited):
                return True
            if (op is ops.MASKED_LOAD or op is ops.MASKED_STORE) and instr.type.bits < target.masked_bits:
                return True
        return False

    def main(self, lo: int, stop: int, unroll: int) -> None:
        """A loop over so many whole vectors at once, and its totals combined behind it."""
        f, head, loop, body, out, line, step = self.f, self.head, self.loop, self.body, self.out, self.line, self.step
        true = f.const(f.types[loop.mask], True)
        own: list[int] = []
        copies: list[list[int]] = []  # per accumulator: its registers, one per copy of the body
        if unroll > 1:
            if any(instr.dst >= 0 and f.variable[instr.dst] for instr in body):
                if not self.references:
                    _count_references(f, self.references)
                own = local_variables(f, body, self.references)
            for variable, op, identity in loop.accumulators:
                registers = [variable]
                # What changes nothing: where that is no number, what the variable holds.
                start = identity if op.neutral is not None else variable
                for _ in range(unroll - 1):
                    copy = f.register(f.types[variable], f.names[variable], True)
                    out.append(Instr(ops.COPY, f.types[variable], copy, [start], 0, line))
                    registers.append(copy)
                copies.append(registers)
        first = int(f.const_values[~lo]) if lo < 0 else 0
        once = lo < 0 and stop < 0 and int(f.const_values[~stop]) - first == unroll * step and not crossing_branches(body)
        i = lo
        if not once:
            i = f.register(I64, f.names[head.dst])
            out.append(Instr(ops.FOR, head.type, i, [lo, stop, f.const(I64, unroll * step)], 0, line))
        # Vectors beside each other in the loops inside, where each has its own registers for all that it writes, and none accesses what another stores.
        beside = unroll > 1 and has_loops(body) and _own(f, body, [*own, *[registers[0] for registers in copies]]) and in_any_order(f, head, body)
        renames: list[dict[int, int]] = []
        for k in range(unroll):
            index = i
            if once:
                index = f.const(I64, first + k * step)
            elif k:
                index = f.register(I64, f.names[head.dst])
                out.append(Instr(ops.ADD, I64, index, [i, f.const(I64, k * step)], 0, line))
            rename = {head.dst: index, loop.mask: true}
            for registers in copies:
                rename[registers[0]] = registers[k]
            for v in own:
                rename[v] = f.register(f.types[v], f.names[v], True)
            if beside:
                renames.append(rename)
            else:
                clone(f, body, rename, out)
        if beside:
            jam(f, body, renames, out, shared_loops(f, head, body))
        if not once:
            out.append(Instr(ops.END, VOID, NONE, [], 0, self.end.line))
        for registers, (variable, op, _identity) in zip(copies, loop.accumulators if copies else [], strict=True):
            type_ = f.types[variable]
            while len(registers) > 1:
                half = (len(registers) + 1) // 2
                for k in range(len(registers) - half):
                    out.append(Instr(op, type_, registers[k], [registers[k], registers[k + half]], 0, line))
                del registers[half:]


def _own(f: Function, body: list[Instr], own: list[int]) -> bool:
    """Whether a body writes no variables but ``own``."""
    return all(instr.dst < 0 or not f.variable[instr.dst] or instr.dst in own for instr in body)


def _count_references(f: Function, references: dict[int, int]) -> None:
    variable = f.variable
    for instr in f.code:
        for a in instr.args:
            if a >= 0 and variable[a]:
                references[a] = references.get(a, 0) + 1
        d = instr.dst
        if d >= 0 and variable[d]:
            references[d] = references.get(d, 0) + 1
