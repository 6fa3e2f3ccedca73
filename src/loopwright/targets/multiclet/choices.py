"""The pass ``choices``: short branches become all that they may do, and choices between the values (if-conversion).

A branch ends a paragraph, and the next one is not fetched before the condition is known: for so long the cells fetch nothing. What they could fetch in that
time, for as many branches as are decided one after the other, is what all arms may take together (J. R. Allen, K. Kennedy, C. Porterfield and J. Warren,
"Conversion of control dependence to data dependence", POPL 1983). What loads or stores stays under its condition, and so do divisions, calls and loops.
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.parameters import Processor
from loopwright.types import BOOL

__all__ = ["run", "worth"]

#: What takes so long that it is worth a branch.
LONG: Final = frozenset((ops.DIV, ops.SQRT, ops.DIV_FLOOR, ops.REM_FLOOR, ops.DIV_TRUNC, ops.REM_TRUNC))
#: Commands of a choice: of the condition, of both values, of all three, of that and one value.
CHOICE: Final = 4
#: No more branches are made choices together, however long each path through them is.
DEEPEST: Final = 8

#: Conditions of paths that always and that never are taken.
ALWAYS: Final = -1
NEVER: Final = -2


def run(f: Function, target: Dataflow) -> None:
    """Rewrite ``f.code``; there is no ``elif`` in it."""
    if not any(instr.op is ops.IF or instr.op is ops.BR_IF for instr in f.code):
        return
    most = worth(target.processor)
    ends = _ends(f.code)
    out: list[Instr] = []
    at = 0
    while at < len(f.code):
        end = ends[at]
        if 0 < end <= at + 2 * DEEPEST * most:
            made = _Conversion(f, target.processor, most).of(f.code[at : end + 1])
            if made is not None:
                out += made
                at = end + 1
                continue
        out.append(f.code[at])
        at += 1
    f.code = out


def worth(processor: Processor) -> int:
    """How many commands the cells could fetch while a branch is decided."""
    cycles = processor.fetch_to_issue + processor.latencies["jump"].cycles + processor.change
    return cycles * min(processor.fetch * processor.multicells, processor.all_cells)


class _Open:
    """A bracket that is open: where it begins, whether all in it can be done without a condition, the outermost bracket (by depth) that something in it leaves."""

    __slots__ = ("at", "outermost", "whole")

    def __init__(self, at: int, depth: int, whole: bool) -> None:
        self.at = at
        self.whole = whole
        self.outermost = depth


def _ends(code: list[Instr]) -> list[int]:
    """Of each instruction that begins an ``if`` or a ``block`` which only computes, and which nothing leaves but to its end, where that is; of others 0."""
    found = [0] * len(code)
    opened: list[_Open] = []
    for at, instr in enumerate(code):
        op = instr.op
        if op.opens and not op.closes:
            opened.append(_Open(at, len(opened), op is ops.IF or op is ops.BLOCK))
        elif op is ops.END:
            closed = opened.pop()
            if closed.whole and closed.outermost >= len(opened):
                found[closed.at] = at
            if opened:
                opened[-1].whole = opened[-1].whole and closed.whole
                opened[-1].outermost = min(opened[-1].outermost, closed.outermost)
        elif op is ops.BR or op is ops.BR_IF:
            if opened:
                opened[-1].outermost = min(opened[-1].outermost, len(opened) - 1 - instr.imm)
        elif opened and op is not ops.ELSE and (not op.pure or op in LONG):
            opened[-1].whole = False
    return found


class _Path:
    """Where control may be: the condition under which it is there, what variables hold then, and how many branches were decided before, at least."""

    __slots__ = ("branches", "condition", "values")

    def __init__(self, condition: int, values: dict[int, int], branches: int) -> None:
        self.condition = condition
        self.values = values
        self.branches = branches


class _Frame:
    """A bracket of what is converted: the path that enters it, those that leave it to its end; whether it is an ``if``, on what condition, and the path of
    its first arm; whether something has left it for further out."""

    __slots__ = ("asked", "conditional", "entry", "exits", "first", "left")

    def __init__(self, entry: _Path, conditional: bool, asked: int) -> None:
        self.entry = entry
        self.conditional = conditional
        self.asked = asked
        self.exits: list[_Path] = []
        self.first: _Path | None = None
        self.left = False


class _Conversion:
    """A bracket without its branches, made step by step along all paths at once.

    Conditions of paths are numbers in ``terms``: (all of the paths of one of them, and one condition more, or its opposite), or several of which one holds. They become
    operations when a choice asks for them.
    """

    def __init__(self, f: Function, processor: Processor, most: int) -> None:
        self.f = f
        self.processor = processor
        self.most = most
        self.made: list[Instr] = []
        self.terms: list[tuple[list[int], int, bool]] = []
        self.known: dict[tuple[int, int], int] = {}
        self.frames: list[_Frame] = []
        self.path = _Path(ALWAYS, {}, 0)
        self.line = 0

    def of(self, code: list[Instr]) -> list[Instr] | None:
        """What takes the bracket's place, or None where its branches are cheaper."""
        for instr in code:
            self.line = instr.line or self.line
            self.instruction(instr)
        cost = sum([_cost(instr, self.processor) for instr in self.made])
        if cost > self.most * min(self.path.branches, DEEPEST):
            return None
        for variable, value in sorted(self.path.values.items()):
            self.made.append(Instr(ops.COPY, self.f.types[variable], variable, [value], 0, self.line))
        return self.made

    def instruction(self, instr: Instr) -> None:
        op, path = instr.op, self.path
        if op is ops.END:
            self.close()
        elif op is ops.ELSE:
            frame = self.frames[-1]
            frame.first = path
            self.path = _Path(self.both(frame.entry.condition, frame.asked, True), dict(frame.entry.values), frame.entry.branches + 1)
        elif op is ops.BLOCK:
            self.frames.append(_Frame(path, False, 0))
        elif path.condition == NEVER and op is not ops.IF:
            return
        elif op is ops.IF:
            asked = path.values.get(instr.args[0], instr.args[0])
            self.frames.append(_Frame(path, True, self.kept(asked)))
            self.path = _Path(self.both(path.condition, self.frames[-1].asked, False), dict(path.values), path.branches + 1)
        elif op is ops.BR:
            self.leave(instr.imm, path)
            self.path = _Path(NEVER, path.values, path.branches)
        elif op is ops.BR_IF:
            asked = self.kept(path.values.get(instr.args[0], instr.args[0]))
            self.leave(instr.imm, _Path(self.both(path.condition, asked, False), dict(path.values), path.branches + 1))
            self.path = _Path(self.both(path.condition, asked, True), path.values, path.branches + 1)
        else:
            self.operation(instr)

    def operation(self, instr: Instr) -> None:
        """What is computed, whatever the path; variables get registers of their own."""
        values, f = self.path.values, self.f
        args = [values.get(a, a) for a in instr.args]
        dst = instr.dst
        if instr.op is ops.COPY and f.variable[dst] and not (args[0] >= 0 and f.variable[args[0]]):
            values[dst] = args[0]
            return
        if f.variable[dst]:
            value = f.register(f.types[dst], f.names[dst])
            values[dst] = value
            dst = value
        changed = instr.copy()
        changed.args, changed.dst = args, dst
        self.made.append(changed)

    def kept(self, asked: int) -> int:
        """A condition that stays what it is when variables change."""
        if asked < 0 or not self.f.variable[asked]:
            return asked
        return self.emit(ops.COPY, [asked])

    def emit(self, op: ops.Op, args: list[int]) -> int:
        made = self.f.register(BOOL)
        self.made.append(Instr(op, BOOL, made, args, 0, self.line))
        return made

    def leave(self, count: int, path: _Path) -> None:
        """A path goes to the end of a bracket so many further out."""
        self.frames[-1 - count].exits.append(path)
        for frame in self.frames[len(self.frames) - count :]:
            frame.left = True

    def close(self) -> None:
        """All paths that meet at the end of a bracket."""
        frame = self.frames.pop()
        entry = frame.entry
        paths = [self.path, *frame.exits]
        if frame.first is not None:
            paths.append(frame.first)
        elif frame.conditional:
            # An ``if`` without ``else``: the second path goes past it.
            paths.insert(0, _Path(self.both(entry.condition, frame.asked, True), entry.values, entry.branches + 1))
        paths = [each for each in paths if each.condition != NEVER]
        if not paths:
            self.path = _Path(NEVER, entry.values, entry.branches)
            return
        condition = entry.condition if not frame.left else self.one_of([each.condition for each in paths])
        values = dict(paths[0].values)
        for each in paths[1:]:
            for variable in sorted({*values, *each.values}):
                there, other = values.get(variable, variable), each.values.get(variable, variable)
                if there != other:
                    values[variable] = self.choose(self.register(each.condition, entry.condition), variable, other, there)
        self.path = _Path(condition, values, min([each.branches for each in paths]))

    def choose(self, condition: int, variable: int, value: int, otherwise: int) -> int:
        made = self.f.register(self.f.types[variable], self.f.names[variable])
        self.made.append(Instr(ops.SELECT, self.f.types[variable], made, [condition, value, otherwise], 0, self.line))
        return made

    # --- conditions of paths -----------------------------------------------------------------------------------------

    def both(self, condition: int, asked: int, opposite: bool) -> int:
        """The condition of the paths of one condition on which another, or its opposite, holds as well."""
        if condition == NEVER:
            return NEVER
        self.terms.append(([condition], asked, opposite))
        return len(self.terms) - 1

    def one_of(self, conditions: list[int]) -> int:
        """The condition of all paths of several."""
        if ALWAYS in conditions:
            return ALWAYS
        if len(conditions) == 1:
            return conditions[0]
        self.terms.append((conditions, 0, False))
        return len(self.terms) - 1

    def register(self, condition: int, given: int) -> int:
        """The register that holds a condition, where another is known to hold that it is part of."""
        if condition in (ALWAYS, given):
            return self.f.const(BOOL, True)
        found = self.known.get((condition, given))
        if found is None:
            found = self.known[condition, given] = self.computed(condition, given)
        return found

    def computed(self, condition: int, given: int) -> int:
        before, asked, opposite = self.terms[condition]
        if len(before) > 1:
            made = self.register(before[0], given)
            for each in before[1:]:
                made = self.emit(ops.OR, [made, self.register(each, given)])
            return made
        if before[0] in (ALWAYS, given):
            return self.emit(ops.NOT, [asked]) if opposite else asked
        around = self.register(before[0], given)
        return self.emit(ops.ANDNOT, [asked, around]) if opposite else self.emit(ops.AND, [asked, around])


def _cost(instr: Instr, processor: Processor) -> int:
    """Commands of an operation; what takes longer than an integer counts for as many as it takes times as long."""
    op = instr.op
    if op is ops.COPY:
        return 0
    if op is ops.SELECT:
        return CHOICE
    if instr.type.is_float or instr.source.is_float:
        return -(-processor.latencies["float"].cycles // processor.latencies["integer"].cycles)
    return 2 if op is ops.ANDNOT else 1
