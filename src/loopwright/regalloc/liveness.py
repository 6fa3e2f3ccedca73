"""Live intervals of structured code, by a backward walk.

Where there are loops, a first light walk finds what each needs from before its head, taking back edges to carry nothing;
that is exact for an outermost loop of reducible code (Boissinot et al., *Fast Liveness Checking for SSA-Form Programs*, CGO 2008,
section 4), and repeated for loops inside loops, because variables are written more than once. The last walk, with those
sets on the back edges, makes the intervals.
"""

from __future__ import annotations

from loopwright.errors import TargetError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.loops import weights as weights_of
from loopwright.ir.roles import is_known_address, same_known_address
from loopwright.regalloc.intervals import MADE_AGAIN, Interval, Liveness, LoopInfo
from loopwright.targets.target import ANY_REGISTER, ANY_TIED, Rule, Target, moves_stack


class Brackets:
    """Where each bracket ends, and where its else is."""

    __slots__ = ("else_of", "end_of", "leaves", "opener_of", "target")

    def __init__(self, length: int) -> None:
        self.end_of: dict[int, int] = {}
        #: where an if or block without else, ending in a branch, goes instead of to its end
        self.leaves: dict[int, int] = {}
        self.else_of: dict[int, int] = {}
        self.opener_of: dict[int, int] = {}
        self.target: dict[int, int] = {}


def brackets(f: Function, liveness: Liveness) -> Brackets:
    """Match the brackets, resolve branch depths to opening brackets, and weigh every instruction."""
    code = f.code
    found = Brackets(len(code))
    stack: list[int] = []
    liveness.weights = weights_of(code)
    depth = 0
    block, loop, br = ops.BLOCK, ops.LOOP, ops.BR
    for k in range(len(code)):
        instr = code[k]
        op = instr.op
        if op is loop:
            stack.append(k)
            depth += 1
        elif op is ops.ELSE:
            found.else_of[stack[-1]] = k
            found.opener_of[k] = stack[-1]
        elif op is ops.END:
            opener = stack.pop()
            found.end_of[opener] = k
            found.opener_of[k] = opener
            if code[opener].op is loop:
                liveness.loops[opener] = LoopInfo(opener, k, depth)
                depth -= 1
        elif op is block or op.opens:
            stack.append(k)
        elif op is br or op is ops.BR_IF or (op.compare and not op.opens):
            to = len(stack) - 1 - instr.imm
            found.target[k] = stack[to]
            if op is br and instr.imm > 0 and code[k + 1].op is ops.END and code[stack[-1]].op is not loop and stack[-1] not in found.else_of:
                found.leaves[stack[-1]] = found.target[k]
    return found


def analyse(f: Function, target: Target) -> tuple[Liveness, Brackets]:
    """Live intervals, last uses, and what is live at once in loops, of lowered code (every instruction has its rule).

    Raises ``TargetError`` for a target without registers.
    """
    if not target.registers:
        raise TargetError(f"{target.name} has no registers: there is nothing to allocate")
    if moves_stack(f):
        target = target.framed()
    liveness = Liveness(len(f.types), len(f.code), len(target.registers))
    shape = brackets(f, liveness)
    walk = _Walk(f, target, liveness, shape)
    walk.run()
    walk.finish()
    return liveness, shape


class _Walk:
    """The last walk, from the end of the code to its beginning: it makes the intervals."""

    __slots__ = ("counts", "f", "live", "liveness", "loops", "needs", "open_end", "shape", "target")

    def __init__(self, f: Function, target: Target, liveness: Liveness, shape: Brackets) -> None:
        self.f = f
        self.target = target
        self.liveness = liveness
        self.shape = shape
        #: What is live where the walk is, and per register the end of the range it is live in.
        self.live: set[int] = set()
        self.open_end: list[int] = [0] * len(f.types)
        self.needs = _needs(f, shape, liveness)
        #: The loops around, outermost first; and inside of them how many values are live, by class.
        self.loops: list[LoopInfo] = []
        self.counts: list[int] = [0] * len(target.class_masks)

    def run(self) -> None:
        """Walk over all instructions."""
        code = self.f.code
        variable = self.f.variable
        target = self.target
        liveness = self.liveness
        intervals = liveness.intervals
        weights = liveness.weights
        dies = liveness.dies
        open_end = self.open_end
        live = self.live
        counts = self.counts
        loops = self.loops
        for k in range(len(code) - 1, -1, -1):
            instr = code[k]
            op = instr.op
            if op.effect == ops.CONTROL:
                runs = self.control(instr, k)
                live = self.live
                if not runs:
                    continue
            here = 2 * k
            rule: Rule | None = instr.rule
            assert rule is not None, op.name
            dst = instr.dst
            # More is live while it runs than in front of it or behind it.
            busy = len(rule.temps) != 0 or rule.kills != 0 or rule.clobbers != 0
            if dst >= 0:
                known = intervals[dst]
                interval = known if known is not None else self.interval(dst)
                if dst in live:
                    live.remove(dst)
                    counts[interval.cls] = counts[interval.cls] - 1
                    interval.add_range(here + 1, open_end[dst])
                else:
                    busy = True
                    interval.add_range(here + 1, here + 2)
                    liveness.dead[k] = True
                interval.refs.append(here + 1)
                interval.defs += 1
                interval.def_weight += weights[k]
                result = rule.result
                if result is not None and result.fixed >= 0:
                    interval.preferences |= 1 << result.fixed
                    liveness.demand(result.fixed, here + 1, dst)
                if op is ops.COPY and instr.args[0] < 0 and not variable[dst]:
                    interval.constant = instr.args[0]
                elif is_known_address(instr) and not variable[dst]:
                    interval.constant = self.made_again(instr)
            if rule.kills or rule.clobbers:
                self.destroy(k, rule, dst)
            if rule.parts:
                self.leave_parts(k, rule)
            args = instr.args
            uses = rule.uses
            for j in range(len(args) - 1, -1, -1):
                v = args[j]
                if v < 0:
                    continue
                known = intervals[v]
                interval = known if known is not None else self.interval(v)
                use = uses[j]
                if v not in live:
                    live.add(v)
                    self.count(interval.cls)
                    if use.late:
                        busy = True
                        open_end[v] = here + 2
                    else:
                        open_end[v] = here + 1
                    dies[k] |= 1 << j
                elif use.late and open_end[v] < here + 2:
                    busy = True
                    open_end[v] = here + 2
                interval.refs.append(here)
                if use.fixed != ANY_REGISTER:
                    liveness.demand(use.fixed, here, v)
                    if target.registers[use.fixed].cls == interval.cls:
                        interval.preferences |= 1 << use.fixed
            if busy and loops:
                self.while_it_runs(k, instr, rule)
            if dst >= 0 and args:
                source = rule.tied if rule.tied >= 0 else (0 if op is ops.COPY else -1)
                if rule.tied == ANY_TIED and dies[k]:
                    source = _dying_operand(instr, dies[k], dst)
                if source >= 0 and args[source] >= 0 and args[source] != dst:
                    self.relate(instr, rule, args[source])

    def made_again(self, instr: Instr) -> int:
        """What stands for the value of an instruction that makes the same anywhere."""
        again = self.liveness.again
        for n in range(len(again)):
            if same_known_address(again[n], instr):
                return MADE_AGAIN - n
        again.append(instr.copy())
        return MADE_AGAIN - len(again) + 1

    def control(self, instr: Instr, k: int) -> bool:
        """What is live in front of a bracket or branch. Returns whether it is an instruction that runs, with operands."""
        op = instr.op
        shape = self.shape
        liveness = self.liveness
        live_after = liveness.live_after
        live = self.live
        if op is ops.END:
            opener = shape.opener_of[k]
            if self.f.code[opener].op is not ops.LOOP:
                live_after[opener] = set(live)
            else:
                self.enter(liveness.loops[opener])
        elif op is ops.ELSE:
            live_after[k] = live
            self.instead(live_after[shape.opener_of[k]], 2 * k)
        elif op is ops.LOOP:
            known_at_head = self.needs[k]
            liveness.loops[k].live = known_at_head if known_at_head == live else set(live)
            self.leave()
        elif op is ops.BR:
            self.instead(_target_set(shape, live_after, self.needs, k), 2 * k)
        elif op is ops.RET:
            # (What comes next in the list does not come next when it runs.)
            for v in live:
                self.interval(v).add_range(2 * k + 1, self.open_end[v])
            self.live = set()
            self.recount()
            return True
        elif op is not ops.BLOCK:
            self.fork(k)
            return True
        return False

    def fork(self, k: int) -> None:
        """A conditional branch or an if: also what the other way needs is live before it."""
        shape = self.shape
        if self.f.code[k].op is ops.BR_CASE and shape.target.get(k + 1, -1) == shape.target[k]:
            # (The next case goes there as well.)
            return
        live = self.live
        live_after = self.liveness.live_after
        other = _target_set(shape, live_after, self.needs, k) if k in shape.target else live_after[shape.else_of.get(k, k)]
        gone: list[int] = []
        for v in other:
            if v not in live:
                gone.append(v)
                live.add(v)
                self.open_end[v] = 2 * k + 1
                if self.loops:
                    self.count(self.interval(v).cls)
        if gone:
            self.liveness.drops[k] = gone

    def instead(self, before: set[int], here: int) -> None:
        """A copy of ``before`` is live in front of ``here`` instead of what is live behind it: ranges begin or end there."""
        live = self.live
        open_end = self.open_end
        for v in live:
            if v not in before:
                self.interval(v).add_range(here, open_end[v])
        for v in before:
            if v not in live:
                open_end[v] = here
        self.live = set(before)
        self.recount()

    # --- what is live at once in loops ----------------------------------------------------------------------

    def enter(self, loop: LoopInfo) -> None:
        """The end of a loop, where this walk goes in."""
        classes = len(self.counts)
        loop.pressure = [0] * classes
        loop.across = [0] * classes
        self.loops.append(loop)
        self.recount()

    def leave(self) -> None:
        """The beginning of a loop: what it holds is in the loop around as well."""
        inner = self.loops.pop()
        if self.loops:
            outer = self.loops[-1]
            outer.kills |= inner.kills
            for cls in range(len(self.counts)):
                outer.pressure[cls] = max(outer.pressure[cls], inner.pressure[cls])
                outer.across[cls] = max(outer.across[cls], inner.across[cls])

    def recount(self) -> None:
        """In a loop: count what is live anew."""
        if self.loops:
            for cls in range(len(self.counts)):
                self.counts[cls] = 0
            for v in self.live:
                self.count(self.interval(v).cls)

    def count(self, cls: int) -> None:
        """One more value of a class is live."""
        count = self.counts[cls] + 1
        self.counts[cls] = count
        if self.loops:
            pressure = self.loops[-1].pressure
            if count > pressure[cls]:  # noqa: PLR1730 (no calls: for every value of a loop)
                pressure[cls] = count

    def while_it_runs(self, k: int, instr: Instr, rule: Rule) -> None:
        """In a loop: what is live while the instruction at ``k``, whose operands and result have been dealt with, writes its result, scratch registers included."""
        loop = self.loops[-1]
        open_end = self.open_end
        dst = instr.dst
        at_once = list(self.counts)
        ended = set(self.liveness.drops.get(k, ()))
        for j in range(len(instr.args)):
            if self.liveness.dies[k] >> j & 1:
                ended.add(instr.args[j])
        for v in ended:
            if open_end[v] == 2 * k + 1:
                at_once[self.interval(v).cls] -= 1
        result = self.interval(dst).cls if dst >= 0 else -1
        if dst >= 0 and (dst not in self.live or open_end[dst] == 2 * k + 1):
            at_once[result] += 1
        for cls in range(len(at_once)):
            scratch = rule.temps.count(cls)
            loop.pressure[cls] = max(loop.pressure[cls], max(at_once[cls], self.counts[cls]) + scratch)
            kills = rule.kills | rule.clobbers
            if kills & self.target.class_masks[cls]:
                # (The result is not among them.)
                loop.across[cls] = max(loop.across[cls], at_once[cls] + scratch - (1 if cls == result else 0))
        loop.kills |= rule.kills | rule.clobbers

    # --- registers that are destroyed ------------------------------------------------------------------------

    def destroy(self, k: int, rule: Rule, dst: int) -> None:
        """An instruction that destroys registers: what lives across it must not be in them."""
        here = 2 * k
        kills = rule.kills
        destroyed = kills | rule.clobbers
        masks = self.target.class_masks
        for v in self.live:
            interval = self.interval(v)
            interval.killed |= destroyed
            if kills & masks[interval.cls]:
                interval.crosses_call = True
        # A variable that is written here does not mind: what it held before is not wanted any more.
        for place in rule.parts:
            if place >= 0:
                kills &= ~(1 << place)
        self.occupy(kills, here + 1, dst)
        self.occupy(rule.clobbers, here, -1)

    def leave_parts(self, k: int, rule: Rule) -> None:
        """The parts behind instruction ``k`` that have a register, or an operand's, by its rule."""
        code = self.f.code
        first = k + (rule.results.count if rule.results is not None else 1)
        for n in range(len(rule.parts)):
            part = code[first + n]
            mine = self.interval(part.dst)
            place = rule.parts[n]
            if place >= 0:
                mine.preferences |= 1 << place
                self.liveness.demand(place, 2 * k + 1, part.dst)
            else:
                source = code[k].args[~place]
                if source != part.dst:
                    theirs = self.interval(source)
                    mine.related = theirs
                    theirs.related = mine

    def occupy(self, bits: int, location: int, owner: int) -> None:
        """The registers of a mask are taken at a location."""
        while bits:
            low = bits & -bits
            self.liveness.demand(low.bit_length() - 1, location, owner)
            bits ^= low

    def relate(self, instr: Instr, rule: Rule, source: int) -> None:
        """The result of ``instr`` had best be where its operand ``source`` is."""
        mine = self.interval(instr.dst)
        theirs = self.interval(source)
        if mine.cls == theirs.cls:
            # A three-operand form loses nothing when the two are apart: there it only fills in.
            weak = rule.tied == ANY_TIED and instr.op not in ops.FUSED
            if not weak or (mine.related is None and theirs.related is None):
                mine.related = theirs
                theirs.related = mine

    def interval(self, v: int) -> Interval:
        """The interval of a register, made when it is first asked for."""
        known = self.liveness.intervals[v]
        if known is None:
            cls = self.target.class_of(self.f.types[v])
            known = Interval(v, cls, self.liveness.weights, self.target.classes[cls].again)
            self.liveness.intervals[v] = known
        return known

    def finish(self) -> None:
        """What is live at the entry is so from in front of the first instruction; ranges go forwards from here on."""
        for v in self.live:
            self.interval(v).add_range(-1, self.open_end[v])
        for interval in self.liveness.intervals:
            if interval is not None:
                interval.starts.reverse()
                interval.ends.reverse()


def _dying_operand(instr: Instr, dies: int, dst: int) -> int:
    """The operand whose register the result had best take over: the first that is read for the last time, of the result's class; -1 for none."""
    rule: Rule = instr.rule
    args = instr.args
    result = rule.result
    if result is None:
        return -1
    for a in args:
        if a == dst:
            return -1
    uses = rule.uses
    for j in range(len(uses)):
        if dies >> j & 1 and uses[j].cls == result.cls:
            return j
    return -1


def _target_set(shape: Brackets, live_after: dict[int, set[int]], needs: dict[int, set[int]], k: int) -> set[int]:
    """What is live where the branch at ``k`` goes."""
    opener = shape.target[k]
    known = live_after.get(opener)
    return known if known is not None else needs.get(opener, _NOTHING)


def _needs(f: Function, shape: Brackets, liveness: Liveness) -> dict[int, set[int]]:
    """What is live at the head of each loop, by the index of its bracket."""
    if not liveness.loops:
        return {}
    code = f.code
    heads = sorted(liveness.loops)
    repeats: dict[int, int] = {}
    needs = _loop_needs(code, shape, {}, heads, repeats)
    depth = 1
    for info in liveness.loops.values():
        depth = max(depth, info.depth)
    # What an inner loop merely hands on to the next turn of an outer one: a register written once that is live at the outer
    # one's head, always. A variable may be written anew on some of the ways; then the walk is repeated, once for each level at most.
    more_to_find = _hand_down(needs, heads, repeats, f.variable)
    while more_to_find and depth > 1:
        depth -= 1
        more = _loop_needs(code, shape, needs, heads, repeats)
        if more == needs:
            break
        needs = more
    return needs


def _hand_down(needs: dict[int, set[int]], heads: list[int], repeats: dict[int, int], variable: list[bool]) -> bool:
    """Add to what each loop needs the registers written once that a loop around needs, if that one can be repeated from here.

    Returns whether one around needs a variable that this one does not.
    """
    open_question = False
    for head in heads:
        mine = needs[head]
        left = repeats[head]
        while left:
            # The innermost; it has from those around it already what these have to hand down.
            n = left.bit_length() - 1
            outer = heads[n]
            for v in needs[outer]:
                if v not in mine:
                    if variable[v]:
                        open_question = True
                    else:
                        mine.add(v)
            left &= ~(repeats[outer] | 1 << n)
    return open_question


def _loop_needs(code: list[Instr], shape: Brackets, known: dict[int, set[int]], heads: list[int], repeats: dict[int, int]) -> dict[int, set[int]]:
    """By the index of each loop's bracket: the registers it reads before it writes them, or leaves to those that do.

    The back edge of a loop carries what is ``known`` of its head. When nothing is known of any, ``repeats`` gets for each loop the loops
    around it that can be repeated from its head: bit n for that of ``heads[n]``.
    """
    first = not known
    number = {head: n for n, head in enumerate(heads)} if first else {}
    found: dict[int, set[int]] = {}
    after: dict[int, set[int]] = {}
    again: dict[int, int] = {}
    live: set[int] = set()
    back = 0
    for k in range(len(code) - 1, -1, -1):
        instr = code[k]
        op = instr.op
        if op is ops.END:
            opener = shape.opener_of[k]
            if code[opener].op is not ops.LOOP:
                after[opener] = set(live)
                again[opener] = back
            continue
        if op is ops.ELSE:
            opener = shape.opener_of[k]
            after[k] = live
            again[k] = back
            live = set(after[opener])
            back = again[opener]
            continue
        if op is ops.BLOCK:
            # (Nobody goes to its end from further in front.)
            del after[k]
            continue
        if op is ops.LOOP:
            found[k] = set(live)
            if first:
                back &= ~(1 << number[k])
                repeats[k] = back
            continue
        if op is ops.BR:
            target = shape.target[k]
            live = set(_target_set(shape, after, known, k))
            back = 1 << number[target] if target in number else again.get(target, 0)
            continue
        if op is ops.RET:
            live = set()
            back = 0
        elif op.effect != ops.CONTROL:
            pass
        elif op.opens:
            place = shape.else_of.get(k, k)
            live |= after.pop(place)
            back |= again[place]
        else:
            target = shape.target[k]
            live |= _target_set(shape, after, known, k)
            back |= 1 << number[target] if target in number else again.get(target, 0)
        if instr.dst >= 0:
            live.discard(instr.dst)
        for v in instr.args:
            if v >= 0:
                live.add(v)
    return found


_NOTHING: set[int] = set()
