"""Control flow of a loop over lanes: what goes one way for all lanes stays control flow; elsewhere both ways run, each for its lanes.

Lanes that leave a bracket one by one are taken out of the mask of those that run, until the bracket's end, where they come back with the values that
variables had when they left. Inside control flow that stays, which is run through more than once or not at all, what is known of them is kept in variables.

Where control flow stays, ``Frame`` is the innermost bracket of it. A variable that differs by lane has, in a frame, a register for what it is at the frame's end.
"""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Instr
from loopwright.types import BOOL, I64, VOID
from loopwright.vectors.divergence import UNIFORM, VARYING
from loopwright.vectors.regions import Bracket, Leaf, Region
from loopwright.vectors.values import ABSENT, Env, Values

__all__ = ["Predication"]


class Path:
    """Lanes that get to a place, and what variables are for them."""

    __slots__ = ("env", "mask")

    def __init__(self, mask: int, env: Env) -> None:
        self.mask = mask
        self.env = env


class Frame:
    """A bracket that stays control flow.

    Attributes:
        bracket: which.
        ends: variable -> the register with what it is at the end.
        gone: bracket around -> the mask variable of the lanes that have left for it.
        left: (bracket around, or this one if it is a loop; the lanes that leave for it, in the region that is being made).
        mask: the mask variable of the lanes that are there at its end, if it is not the mask there was at its beginning.
    """

    __slots__ = ("bracket", "ends", "gone", "left", "mask")

    def __init__(self, bracket: Bracket) -> None:
        self.bracket = bracket
        self.ends: dict[int, int] = {}
        self.gone: dict[Bracket, int] = {}
        self.left: list[tuple[Bracket, Path]] = []
        self.mask = ABSENT


class Predication(Values):
    """Emission of whole regions.

    Attributes:
        frames: the brackets around that stay control flow, outermost first.
        opened: the brackets that are open in what is made; None for those without a counterpart.
        paths: bracket that lanes leave one by one -> those that have, and how many frames were around it.
        dead: no lane runs what comes next.
        leavers: the mask variables of lanes that have left frames.
        stop: of a loop that lanes may leave, the variable that gets the first index that vectors have not done.
        exact: they are to end right in front of the first lane that leaves, not of its vector.
    """

    def region(self, region: Region) -> None:
        """A region's items, as far as any lane gets."""
        for item in region.items:
            if self.dead:
                return
            if isinstance(item, Leaf):
                if item.instr.op is ops.BR or item.instr.op is ops.BR_IF:
                    self.branch(item)
                else:
                    self.instruction(item.instr)
                    if item.instr.dst in self.handing:
                        self.hand_on(item.instr.dst)
            else:
                self.line = item.opener.line
                self.bracket(item)

    def begin(self, frames: list[Frame]) -> None:
        """Set up what the walk needs."""
        self.frames = frames
        self.opened: list[Bracket | None] = []
        self.paths: dict[Bracket, tuple[list[Path], int]] = {}
        self.dead = False
        self.leavers: set[int] = set()
        self.stop = NONE
        self.exact = False

    # --- branches --------------------------------------------------------------------------------------------

    def branch(self, leaf: Leaf) -> None:
        instr = leaf.instr
        target = leaf.target
        self.line = instr.line
        if target is None:
            self.leave_loop(instr.args[0])
            return
        condition = instr.args[0] if instr.op is ops.BR_IF else ABSENT
        if not (target.skips if target.loop else target.splits):
            self.leave_together(target, condition)
            return
        leaving = self.mask
        if condition != ABSENT:
            holds = self.mask_for(condition, self.width)
            leaving = self.part(ops.AND, holds, self.mask)
            rest = self.part(ops.ANDNOT, holds, self.mask)
        self.leave(target, Path(leaving, dict(self.env)))
        if condition != ABSENT:
            self.mask = rest
        else:
            self.dead = True

    def leave_loop(self, condition: int) -> None:
        """The loop over lanes is left, where a condition holds for any of them."""
        mask = self.part(ops.AND, self.mask_for(condition, self.width), self.mask)
        self.emit(ops.IF, VOID, [self.some(mask)])
        index: int = self.shapes.root.opener.dst
        if self.exact:
            bits = self.define(ops.MASK_BITS, self.mask_type, [mask], I64)
            index = self.scalar(ops.ADD, index, self.define(ops.TRAILING_ZEROS, I64, [bits], I64))
        self.copy(self.stop, index)
        self.emit(ops.BR, VOID, [], len(self.opened) + 1)
        self.emit(ops.END, VOID, [])

    def leave(self, target: Bracket, path: Path) -> None:
        """Lanes leave one by one for a bracket's end, or its next step."""
        known = self.paths.get(target)
        if known is not None and known[1] == len(self.frames):
            known[0].append(path)
        elif self.frames:
            self.frames[-1].left.append((target, path))

    def leave_together(self, target: Bracket, condition: int) -> None:
        """All lanes that run leave, by a branch that stays."""
        if condition != ABSENT:
            self.emit(ops.IF, VOID, [condition])
            self.opened.append(None)
        env, mask = dict(self.env), self.mask
        inner: Frame | None = None
        for frame in reversed(self.frames):
            self.merge_left(frame, env)
            for beyond, gone in inner.gone.items() if inner is not None else ():
                if beyond in frame.gone:
                    self.emit(ops.OR, self.mask_type, [frame.gone[beyond], gone], 0, frame.gone[beyond])
            if frame.bracket is target:
                self.settle(frame, env)
                break
            inner = frame
        depth = len(self.opened) - 1 - self.opened.index(target)
        self.emit(ops.BR, VOID, [], depth)
        self.mask = mask
        if condition != ABSENT:
            self.emit(ops.END, VOID, [])
            self.opened.pop()
        else:
            self.dead = True

    # --- frames ----------------------------------------------------------------------------------------------

    def open_frame(self, bracket: Bracket) -> Frame:
        """Begin a bracket that stays: registers for what lanes leave it with."""
        frame = Frame(bracket)
        nobody = self.f.const(self.mask_type, False)
        for target in bracket.leaves:
            gone = frame.gone[target] = self.f.register(self.mask_type, "", True)
            self.leavers.add(gone)
            self.copy(gone, nobody)
        self.frames.append(frame)
        return frame

    def without_unread(self, code: list[Instr]) -> list[Instr]:
        """The code of the loop without masks that nobody reads: that lanes have left matters where what they left with differs, or where they do not come back."""
        types = self.f.types
        leavers = self.leavers
        while leavers:
            read = {a for instr in code for a in instr.args if a >= 0 and a != instr.dst}
            kept = [
                instr
                for instr in code
                if instr.dst < 0
                or instr.dst in read
                or not types[instr.dst].is_mask
                or instr.op.effect
                or (self.f.variable[instr.dst] and instr.dst not in leavers)
            ]
            if len(kept) == len(code):
                break
            code = kept
        return code

    def register_for(self, frame: Frame, variable: int) -> int:
        """The register that has a variable at a frame's end."""
        known = frame.ends.get(variable)
        if known is None:
            type_ = self.f.types[variable]
            known = frame.ends[variable] = self.f.register(self.full(type_), self.f.names[variable], True)
        return known

    def merge_left(self, frame: Frame, env: Env) -> None:
        """Enter the lanes that have left, in this region, for brackets beyond a frame, in ``env`` and in the frame's masks."""
        for target, path in frame.left:
            for variable in frame.bracket.writes:
                self.merge(variable, env, path)
            if target is not frame.bracket:
                gone = frame.gone[target]
                self.emit(ops.OR, self.mask_type, [gone, path.mask], 0, gone)

    def merge(self, variable: int, env: Env, path: Path) -> None:
        """A variable is what it is on ``path`` in that path's lanes."""
        other = path.env.get(variable)
        known = env.get(variable)
        if known is None:
            if other is not None:
                env[variable] = other
        elif other is not None and other != known:
            env[variable] = self.chosen(path.mask, other, known)

    def settle(self, frame: Frame, env: Env) -> None:
        """Write the registers of a frame's end."""
        for variable in frame.bracket.writes:
            self.copy(self.register_for(frame, variable), env.get(variable, self.nothing(variable)))
        if frame.mask != ABSENT:
            self.copy(frame.mask, self.mask)

    def close_frame(self, frame: Frame) -> None:
        """After a bracket that stays: lanes that left it for others go there."""
        self.frames.pop()
        for target, gone in frame.gone.items():
            self.leave(target, Path(self.snapshot(gone), dict(self.env)))
            if not self.dead and frame.mask == ABSENT:
                self.mask = self.both(ops.ANDNOT, gone, self.mask)

    # --- brackets --------------------------------------------------------------------------------------------

    def bracket(self, bracket: Bracket) -> None:
        op = bracket.op
        if op is ops.IF:
            if bracket.splits:
                self.divided_if(bracket)
            else:
                self.common_if(bracket)
        elif op is ops.BLOCK:
            if bracket.splits:
                self.divided_block(bracket)
            elif bracket.aimed:
                self.common_block(bracket)
            else:
                self.region(bracket.body)
        else:
            self.loop(bracket)

    def divided_block(self, bracket: Bracket) -> None:
        """A block that lanes leave one by one."""
        entered = self.mask
        self.paths[bracket] = [], len(self.frames)
        self.region(bracket.body)
        self.rejoin(bracket, entered)

    def rejoin(self, bracket: Bracket, entered: int) -> None:
        """The lanes that left for the end of a bracket, and those that got there by themselves."""
        paths, _ = self.paths.pop(bracket)
        if not self.dead:
            paths = [*paths, Path(self.mask, self.env)]
        if not paths:
            self.dead = True
            return
        self.dead = False
        env = dict(paths[-1].env)
        mask = paths[-1].mask
        for path in reversed(paths[:-1]):
            for variable in {**path.env, **env}:
                self.merge(variable, env, path)
            if bracket.leaves:
                mask = self.both(ops.OR, mask, path.mask)
        self.env = env
        self.mask = mask if bracket.leaves else entered

    def divided_if(self, bracket: Bracket) -> None:
        """Both arms run, each for its lanes."""
        entered, env = self.mask, self.env
        self.paths[bracket] = [], len(self.frames)
        condition = self.mask_for(bracket.condition, self.width)
        arms: list[Path] = []
        whole = True
        for number in range(2):
            arm = bracket.regions[number]
            op = ops.ANDNOT if number else ops.AND
            self.env = dict(env)
            self.dead = False
            if arm.items or number == 0:
                begins = self.mask = self.part(op, condition, entered)
                self.region(arm)
                whole = whole and not self.dead and self.mask == begins
            else:
                self.mask = ABSENT
            if not self.dead:
                arms.append(Path(self.mask, self.env))
        self.dead = not arms
        if arms:
            self.mask = entered
            if not whole:
                masks = [path.mask if path.mask != ABSENT else self.both(ops.ANDNOT, condition, entered) for path in arms]
                self.mask = masks[0] if len(masks) == 1 else self.both(ops.OR, masks[0], masks[1])
            self.env = arms[0].env
            if len(arms) == 2:
                self.env = self.either(condition, arms[0].env, arms[1].env)
        self.rejoin(bracket, entered)

    def either(self, condition: int, yes: Env, no: Env) -> Env:
        """The variables after both arms of an if."""
        env = dict(no)
        for variable, value in yes.items():
            other = no.get(variable)
            env[variable] = value if other is None else self.chosen(condition, value, other)
        return env

    def common_if(self, bracket: Bracket) -> None:
        """An ``if`` that goes one way for all lanes."""
        entered, env, out = self.mask, self.env, self.out
        loads, stores = self.loads, self.stores
        frame = self.open_frame(bracket)
        self.opened.append(bracket)
        if bracket.leaves:
            frame.mask = self.f.register(self.mask_type, "", True)
        made: list[list[Instr]] = []
        alive: list[tuple[list[Instr], Env]] = []
        for arm in bracket.regions:
            self.out, self.env, self.mask, self.dead = [], dict(env), entered, False
            self.loads = {place: list(known) for place, known in loads.items()}
            frame.left = []
            self.region(arm)
            if not self.dead:
                self.merge_left(frame, self.env)
                if frame.mask != ABSENT:
                    self.copy(frame.mask, self.mask)
                alive.append((self.out, self.env))
            elif frame.left:
                self.leave_dead(frame)
            made.append(self.out)
        self.opened.pop()
        self.loads = loads if self.stores == stores else {}
        self.env = self.meet(bracket, frame, alive, env)
        self.out = out
        self.out.append(Instr(ops.IF, VOID, NONE, [bracket.condition], 0, bracket.opener.line))
        self.out.extend(made[0])
        if made[1]:
            self.emit(ops.ELSE, VOID, [])
            self.out.extend(made[1])
        self.out.append(Instr(ops.END, VOID, NONE, [], 0, bracket.end.line))
        self.after_frame(bracket, frame, entered, bool(alive) or bracket.aimed)

    def leave_dead(self, frame: Frame) -> None:
        """At the end of a region that no lane reaches: those that left have their values in the frame's registers."""
        env = dict(frame.left[0][1].env)
        self.merge_left(frame, env)
        for variable in frame.bracket.writes:
            self.copy(self.register_for(frame, variable), env.get(variable, self.nothing(variable)))
        if frame.mask != ABSENT:
            self.copy(frame.mask, self.f.const(self.mask_type, False))

    def meet(self, bracket: Bracket, frame: Frame, alive: list[tuple[list[Instr], Env]], before: Env) -> Env:
        """The variables behind arms that one of is taken: where they differ, in the frame's registers."""
        env = dict(before)
        out = self.out
        for variable in bracket.writes:
            values = [path[1].get(variable, ABSENT) for path in alive]
            if variable not in frame.ends and not bracket.leaves and not bracket.aimed and all(value == values[0] for value in values):
                if values and values[0] != ABSENT:
                    env[variable] = values[0]
                continue
            register = self.register_for(frame, variable)
            for made, path in alive:
                self.out = made
                self.copy(register, path.get(variable, self.nothing(variable)))
            env[variable] = register
        self.out = out
        return env

    def after_frame(self, bracket: Bracket, frame: Frame, entered: int, alive: bool) -> None:
        """Go on behind a bracket that stays, with snapshots of its registers."""
        for variable, register in frame.ends.items():
            if self.env.get(variable) == register:
                type_ = self.f.types[register]
                self.env[variable] = self.define(ops.COPY, type_, [register], type_)
        self.dead = not alive
        self.mask = entered
        if frame.mask != ABSENT:
            self.mask = self.define(ops.COPY, self.mask_type, [frame.mask], self.mask_type)
        self.close_frame(frame)

    def common_block(self, bracket: Bracket) -> None:
        """A block that all lanes leave together."""
        entered = self.mask
        frame = self.open_frame(bracket)
        if bracket.leaves:
            frame.mask = self.f.register(self.mask_type, "", True)
        self.out.append(Instr(ops.BLOCK, VOID, NONE, [], 0, bracket.opener.line))
        self.opened.append(bracket)
        loads, stores = self.loads, self.stores
        self.loads = {place: list(known) for place, known in loads.items()}
        self.region(bracket.body)
        self.loads = loads if self.stores == stores else {}
        if not self.dead:
            self.merge_left(frame, self.env)
            self.settle(frame, self.env)
        elif frame.left:
            self.leave_dead(frame)
        self.opened.pop()
        self.out.append(Instr(ops.END, VOID, NONE, [], 0, bracket.end.line))
        for variable in bracket.writes:
            self.env[variable] = self.register_for(frame, variable)
        self.after_frame(bracket, frame, entered, True)

    # --- loops -----------------------------------------------------------------------------------------------

    def snapshot(self, register: int) -> int:
        """What a variable is now."""
        type_ = self.f.types[register]
        return self.define(ops.COPY, type_, [register], type_)

    def loop(self, bracket: Bracket) -> None:
        """A loop, which runs as long as a lane does."""
        entered = self.mask
        self.loads = {}
        frame = self.open_frame(bracket)
        for variable in bracket.writes:
            self.copy(self.register_for(frame, variable), self.varying(variable))
        if bracket.splits:
            self.divided_loop(bracket, frame)
        else:
            self.common_loop(bracket, frame)
        self.loads = {}
        for variable, register in frame.ends.items():
            self.env[variable] = self.snapshot(register)
        self.mask = entered
        if frame.mask != ABSENT:
            self.mask = self.snapshot(frame.mask)
        self.close_frame(frame)

    def begin_step(self, bracket: Bracket, frame: Frame) -> Env:
        """At the beginning of a step variables are what they were at the end of the one before."""
        for variable in bracket.writes:
            self.env[variable] = self.snapshot(frame.ends[variable])
        frame.left = []
        return dict(self.env)

    def common_loop(self, bracket: Bracket, frame: Frame) -> None:
        """A loop that all lanes leave together."""
        entered = self.mask
        self.out.append(bracket.opener)
        self.opened.append(bracket)
        self.begin_step(bracket, frame)
        if bracket.op is ops.WHILE:
            self.region(bracket.regions[0])
            condition = bracket.condition
            if self.mask != self.all:
                # Without a lane that runs, what is tested may never come to hold.
                condition = self.define(ops.AND, BOOL, [condition, self.some(self.mask)], BOOL)
            self.emit(ops.DO, VOID, [condition])
        if bracket.skips:
            self.paths[bracket] = [], len(self.frames)
        self.region(bracket.body)
        if bracket.skips:
            self.rejoin(bracket, entered)
        if not self.dead:
            self.settle(frame, self.env)
        self.opened.pop()
        self.out.append(Instr(ops.END, VOID, NONE, [], 0, bracket.end.line))
        self.dead = self.dead and bracket.op is ops.LOOP

    def divided_loop(self, bracket: Bracket, frame: Frame) -> None:
        """A loop that lanes leave one by one."""
        entered = self.mask
        remaining = self.f.register(self.mask_type, "", True)
        self.copy(remaining, entered)
        counting = bracket.op is ops.FOR and self.shapes.of(bracket.opener.dst) != UNIFORM
        counts = counting and self.shapes.of(bracket.opener.dst) != VARYING
        if counting:
            counter, limit = self.counter(bracket)
        if counts:
            # (The first lane's number, whether that lane runs or not.)
            first = self.f.register(I64, self.f.names[bracket.opener.dst], True)
            self.copy(first, bracket.opener.args[0])
        if bracket.op is ops.LOOP:
            frame.mask = self.f.register(self.mask_type, "", True)
            self.copy(frame.mask, self.f.const(self.mask_type, False))
        if bracket.op is ops.FOR and not counting:
            self.emit(ops.BLOCK, VOID, [])
            self.opened.append(None)
            self.out.append(bracket.opener)
        else:
            self.emit(ops.LOOP if bracket.op is ops.LOOP else ops.WHILE, VOID, [])
        self.opened.append(bracket)
        began = self.begin_step(bracket, frame)
        running = self.mask = self.snapshot(remaining)
        if counting:
            at = self.vectors[bracket.opener.dst] = self.snapshot(counter)
            if counts:
                self.emit(ops.COPY, I64, [first], 0, bracket.opener.dst)
            compare = ops.LT if self.f.const_values[~bracket.opener.args[2]] > 0 else ops.GT
            type_ = self.f.types[counter]
            running = self.go_on(remaining, self.define(compare, type_, [at, limit], ops.mask_for(type_)), ABSENT)
        elif bracket.op is ops.WHILE:
            self.region(bracket.regions[0])
            for variable in bracket.writes:
                if self.env.get(variable) != began[variable]:
                    self.copy(frame.ends[variable], self.chosen(running, self.env[variable], began[variable]))
                    began[variable] = self.snapshot(frame.ends[variable])
            if self.shapes.of(bracket.condition) == UNIFORM:
                running = self.go_on(remaining, ABSENT, bracket.condition)
            else:
                running = self.go_on(remaining, self.vector(bracket.condition), ABSENT)
        self.mask = running
        self.paths[bracket] = [], len(self.frames)
        self.region(bracket.body)
        self.end_step(bracket, frame, remaining, running, began)
        if counting:
            type_ = self.f.types[counter]
            by = self.f.const_values[~bracket.opener.args[2]]
            self.emit(ops.ADD, type_, [at, self.f.const(type_, by)], 0, counter)
            if counts:
                self.emit(ops.ADD, I64, [bracket.opener.dst, self.f.const(I64, by)], 0, first)
        elif bracket.op is not ops.WHILE:
            some = self.some(self.snapshot(remaining))
            if bracket.op is ops.LOOP:
                self.emit(ops.BR_IF, VOID, [some], 0)
            else:
                self.emit(ops.BR_IF, VOID, [self.define(ops.NOT, BOOL, [some], BOOL)], 1)
        self.opened.pop()
        self.out.append(Instr(ops.END, VOID, NONE, [], 0, bracket.end.line))
        if bracket.op is ops.FOR and not counting:
            self.opened.pop()
            self.emit(ops.END, VOID, [])
        self.dead = False

    def counter(self, bracket: Bracket) -> tuple[int, int]:
        """Of a range whose bounds differ by lane: the variable that counts, and where it ends."""
        lo, hi, _ = bracket.opener.args
        full = self.full(I64)
        counter = self.f.register(full, self.f.names[bracket.opener.dst], True)
        self.copy(counter, self.vector(lo))
        limit = self.vector(hi)
        return counter, limit if limit < 0 else self.define(ops.COPY, full, [limit], full)

    def go_on(self, remaining: int, condition: int, common: int) -> int:
        """The test of a while: of the lanes that remain go on those where the condition holds; all, or none, by a common one."""
        running = self.mask
        if condition != ABSENT:
            running = self.part(ops.AND, self.fitted(condition, self.width), running)
            self.copy(remaining, running)
        some = self.some(running)
        if common != ABSENT:
            some = self.define(ops.AND, BOOL, [some, common], BOOL)
        self.emit(ops.DO, VOID, [some])
        return running

    def end_step(self, bracket: Bracket, frame: Frame, remaining: int, running: int, began: Env) -> None:
        """At the end of a step: what variables are for those that went through it, and who goes on."""
        paths, _ = self.paths.pop(bracket)
        going = list(paths)
        if not self.dead:
            if bracket.op is ops.LOOP:
                # Here it ends.
                self.emit(ops.OR, self.mask_type, [frame.mask, self.mask], 0, frame.mask)
                paths = [*paths, Path(self.mask, self.env)]
            else:
                going = paths = [*paths, Path(self.mask, self.env)]
        ways = [*paths, *(path for _, path in frame.left)]
        env = dict(ways[-1].env if ways else began)
        for path in reversed(ways[:-1]):
            for variable in bracket.writes:
                self.merge(variable, env, path)
        for target, path in frame.left:
            gone = frame.gone[target]
            self.emit(ops.OR, self.mask_type, [gone, path.mask], 0, gone)
        for variable in bracket.writes:
            value = env.get(variable, began[variable])
            if value != began[variable]:
                self.copy(frame.ends[variable], self.chosen(running, value, began[variable]))
        mask = running
        if bracket.leaves or bracket.op is ops.LOOP:
            mask = going[0].mask if going else self.f.const(self.mask_type, False)
            for path in going[1:]:
                mask = self.both(ops.OR, mask, path.mask)
            self.copy(remaining, mask)
