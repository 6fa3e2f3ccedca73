"""Why each value is where it is: the allocator's decisions in words. ``regalloc.picture`` draws the same."""

from __future__ import annotations

import re
from typing import Final

from loopwright.ir.function import SLOT, Function
from loopwright.ir.loops import LOOPS, weights
from loopwright.ir.text import Printer
from loopwright.regalloc.history import Decision, History
from loopwright.regalloc.intervals import Liveness
from loopwright.regalloc.linear_scan import allocate
from loopwright.regalloc.liveness import analyse
from loopwright.regalloc.output import Statistics
from loopwright.targets.target import Target

__all__ = ["FILTER_NAMES", "Explanation", "Spill", "Stay", "explain", "register_set"]

#: letter -> (name, what the candidates that it keeps have in common). Data, because compiled functions have no docstrings to read it from.
FILTER_NAMES: Final[dict[str, tuple[str, str]]] = {
    "A": ("FREE", "hold no active interval"),
    "B": ("CONST_AVAILABLE", "already hold the constant that this definition makes"),
    "C": ("THIS_ASSIGNED", "are free and were last assigned to this interval"),
    "D": ("COVERS", "are free from here past the end of the current range"),
    "E": ("OWN_PREFERENCE", "the interval prefers, and are free"),
    "F": ("COVERS_RELATED", "the related interval prefers, and are free past the related interval's end"),
    "G": ("RELATED_PREFERENCE", "the related interval prefers, and are free"),
    "H": ("CALLER_CALLEE", "are free, and callee-saved where the interval lives across a call, caller-saved otherwise"),
    "I": ("UNASSIGNED", "no interval, active or inactive, is assigned to any more"),
    "J": ("COVERS_FULL", "are free past the whole interval's end"),
    "K": ("BEST_FIT", "are free; if J held for all, those with the nearest next reference, otherwise with the farthest"),
    "L": ("IS_PREV_REG", "are the interval's previous register, if J held"),
    "M": ("REG_ORDER", "come first in the allocation order (one is left when anything is free)"),
    "N": ("SPILL_COST", "cost least to spill"),
    "O": ("FAR_NEXT_REF", "have the farthest next reference"),
    "P": ("PREV_REG_OPT", "have a holder whose last reference could have been in memory"),
    "Q": ("REG_NUM", "have the lowest number (one is left)"),
}

_NUMBERED: Final = re.compile(r"(.*?)(\d+)")


class Stay:
    """A value in a register for a while; ``start`` and ``end`` are locations."""

    __slots__ = ("end", "register", "start", "value")

    def __init__(self, value: int, register: int, start: int, end: int) -> None:
        self.value = value
        self.register = register
        self.start = start
        self.end = end


class Spill:
    """What it costs that a value is in memory at times: instructions that store it and that read it there, and their summed weight."""

    __slots__ = ("reads", "stores", "value", "weight")

    def __init__(self, value: int) -> None:
        self.value = value
        self.stores = 0
        self.reads = 0
        self.weight = 0.0


class Explanation:
    """One allocation with its history.

    Attributes:
        lowered: the function as it was before allocation.
        allocated: and as it is after it.
        liveness: its live intervals.
        history: decisions, moves, spills, reloads.
        statistics: what it cost.
        target: the machine.
        order: the order of the register filters.
        spills: per value that is in memory at times, what that costs; the dearest first.
        instructions: the text of each instruction of the lowered function.
    """

    __slots__ = ("_names", "allocated", "history", "instructions", "liveness", "lowered", "order", "spills", "statistics", "target")

    def __init__(
        self,
        lowered: Function,
        allocated: Function,
        liveness: Liveness,
        history: History,
        statistics: Statistics,
        target: Target,
        order: str,
        spills: list[Spill],
    ) -> None:
        self.lowered = lowered
        self.allocated = allocated
        self.liveness = liveness
        self.history = history
        self.statistics = statistics
        self.target = target
        self.order = order
        self.spills = spills
        printer = Printer(lowered, target)
        self.instructions = [printer.instruction(instr) for instr in lowered.code]
        self._names = [printer.virtual(r) for r in range(len(lowered.types))]

    def name(self, register: int) -> str:
        """A virtual register as the text of the code has it."""
        return self._names[register] if register >= 0 else "a scratch register"

    def text(self) -> str:
        """The lowered function with, under each instruction, how its operands and result got their places."""
        return _text(self)

    def summary(self) -> str:
        """What the allocation cost, in a line."""
        s = self.statistics
        return (
            f"{_count(s.spilled, 'value')} spilled, {_count(s.stores, 'store')}, {_count(s.reloads, 'reload')}, weighted {s.spill_weight:g}; "
            f"{_count(s.moves, 'resolution move')}, weighted {s.move_weight:g}"
        )

    def stays(self) -> list[Stay]:
        """When each value is in which register; a stay that goes on across a block's border is one."""
        return _stays(self)


def explain(lowered: Function, target: Target, order: str) -> Explanation:
    """Allocate a copy of a lowered function and record why.

    Args:
        lowered: a function after the ``select`` pass; it is not changed.
        target: what it was lowered for.
        order: a permutation of A to Q.

    Raises ``TargetError`` for a bad order, or a target without registers.
    """
    work = lowered.clone()
    work.analysis = analyse(work, target)
    liveness, _ = work.analysis
    # The allocator consumes the references as it passes them: the explanation has its own.
    shown, _ = analyse(lowered.clone(), target)
    history = History()
    statistics = allocate(work, target, order, history).statistics
    return Explanation(lowered, work, shown, history, statistics, target, order, _spills(work, liveness))


def _spills(allocated: Function, liveness: Liveness) -> list[Spill]:
    """From the code: each value in memory has a slot of its own there (what they share are the slots' addresses)."""
    by_slot: dict[int, Spill] = {}
    for interval in liveness.intervals:
        if interval is not None and interval.slot >= SLOT:
            by_slot[interval.slot] = Spill(interval.register)
    for instr, weight in zip(allocated.code, weights(allocated.code), strict=True):
        stored = by_slot.get(instr.dst)
        if stored is not None:
            stored.stores += 1
            stored.weight += weight
        for operand in instr.args:
            read = by_slot.get(operand)
            if read is not None:
                read.reads += 1
                read.weight += weight
    return sorted((spill for spill in by_slot.values() if spill.stores or spill.reads), key=lambda spill: (-spill.weight, spill.value))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def register_set(target: Target, mask: int) -> str:
    """A set of registers; those numbered in a row as a range: ``rax rcx r8-r11``."""
    runs: list[tuple[str, int, int]] = []
    for r, register in enumerate(target.registers):
        if not mask >> r & 1:
            continue
        match = _NUMBERED.fullmatch(register.name)
        stem, number = (match[1], int(match[2])) if match else (register.name, -1)
        if runs and number >= 0 and runs[-1][0] == stem and runs[-1][2] == number - 1:
            runs[-1] = (stem, runs[-1][1], number)
        else:
            runs.append((stem, number, number))
    words: list[str] = []
    for stem, first, last in runs:
        if first < 0:
            words.append(stem)
        elif last - first < 2:
            words += [f"{stem}{n}" for n in range(first, last + 1)]
        else:
            words.append(f"{stem}{first}-{stem}{last}")
    return " ".join(words)


def _decision(e: Explanation, decision: Decision) -> list[str]:
    target = e.target
    kind = "result" if decision.location & 1 else "use"
    where = target.registers[decision.chosen].name if decision.chosen >= 0 else "memory"
    head = f"{kind} {e.name(decision.register)} -> {where}"
    if decision.reason:
        head += f": {decision.reason}"
    elif decision.steps:
        letter = decision.steps[-1][0]
        head += f": decided by {letter} {FILTER_NAMES[letter][0]}"
    else:
        head += ": all candidates alike, the lowest"
    lines = [head]
    before = decision.candidates
    for letter, _before, after in decision.steps:
        lines.append(f"  {letter} {FILTER_NAMES[letter][0]:<18} {register_set(target, before)} => {register_set(target, after)}")
        before = after
    if decision.victim >= 0 and decision.chosen >= 0:
        lines.append(f"  spills {e.name(decision.victim)}, which costs {decision.cost:g}; staying in memory would have cost {decision.own_cost:g}")
    return lines


def _places(e: Explanation) -> list[dict[int, int]]:
    """Per instruction, where the values are that it reads: register, or -1 for memory."""
    f = e.lowered
    now: dict[int, int] = {}
    moves = e.history.moves
    at = 0
    found: list[dict[int, int]] = []
    for k, instr in enumerate(f.code):
        freed: set[int] = set()
        while at < len(moves) and moves[at][0] <= 2 * k:
            location, v, r = moves[at]
            if r >= 0:
                now[v] = r
                freed.discard(v)
            elif location < 2 * k:
                now[v] = -1
            else:
                # It is read here for the last time, or driven out by another operand.
                freed.add(v)
            at += 1
        found.append({v: now.get(v, -1) for v in instr.args if 0 <= v < len(f.types)})
        for v in freed:
            now[v] = -1
    return found


def _text(e: Explanation) -> str:
    f, target = e.lowered, e.target
    notes: list[list[str]] = [[] for _ in range(len(f.code) + 1)]
    decided: set[tuple[int, int]] = set()
    victims: set[tuple[int, int]] = set()
    for decision in e.history.decisions:
        notes[min(decision.location // 2, len(f.code))] += _decision(e, decision)
        decided.add((decision.location, decision.register))
        if decision.victim >= 0 and decision.chosen >= 0:
            victims.add((decision.location // 2, decision.victim))
    for k, places in enumerate(_places(e)):
        # What had its register already: no filter ran.
        calm = [f"{e.name(v)} in {target.registers[r].name if r >= 0 else _away(e, v)}" for v, r in places.items() if (2 * k, v) not in decided]
        if calm:
            notes[k].insert(0, "reads " + ", ".join(calm))
    for location, register in e.history.spills:
        k = min(location // 2, len(f.code))
        if (k, register) not in victims:
            before = " before the loop" if k < len(f.code) and f.code[k].op in LOOPS else ""
            notes[k].append(f"{e.name(register)} goes to memory{before}")
    for location, register in e.history.reloads:
        notes[min(location // 2, len(f.code))].append(f"{e.name(register)} is {'made again' if _constant(e, register) else 'loaded'}")
    lines: list[str] = [
        f"; {f.name} for {target.name}, filters in the order {e.order}",
        "; Under each instruction: what it reads and where that is; where a register was chosen, the filters that narrowed the candidates,",
        "; from the first to the one that decided, with the candidates before and after each.",
        "",
    ]
    depth = 0
    for k, instr in enumerate(f.code):
        if instr.op.closes:
            depth -= 1
        lines.append(f"{2 * k:5}  " + "  " * depth + e.instructions[k])
        if instr.op.opens:
            depth += 1
        lines.extend("         " + line for line in notes[k])
    lines.append("")
    if e.spills:
        width = max(len(e.name(spill.value)) for spill in e.spills)
        lines.append(f"{'in memory at times':{max(width, 18)}}  stores  reads  weighted cost")
        for spill in e.spills:
            lines.append(f"{e.name(spill.value):{max(width, 18)}}  {spill.stores:6}  {spill.reads:5}  {spill.weight:13g}")
        lines.append("")
    used = sorted({decision.steps[-1][0] for decision in e.history.decisions if decision.steps and not decision.reason}, key=e.order.find)
    if used:
        lines.append("The filters that decided keep the candidates that …")
        lines += [f"  {letter} {FILTER_NAMES[letter][0]:<18} {FILTER_NAMES[letter][1]}" for letter in used]
        lines.append("")
    lines.append(e.summary())
    return "\n".join(lines)


def _constant(e: Explanation, register: int) -> bool:
    interval = e.liveness.intervals[register] if 0 <= register < len(e.liveness.intervals) else None
    return interval is not None and interval.constant != 0


def _away(e: Explanation, register: int) -> str:
    return "the constant pool" if _constant(e, register) else "memory"


def _stays(e: Explanation) -> list[Stay]:
    last = 2 * len(e.lowered.code) + 1
    open_: dict[int, Stay] = {}
    stays: list[Stay] = []
    before: dict[tuple[int, int], Stay] = {}

    def close(v: int, at: int) -> None:
        held = open_.pop(v, None)
        if held is None or at <= held.start:
            return
        held.end = at
        known = before.get((v, held.register))
        if known is not None and known.end == held.start:
            known.end = at
        else:
            before[v, held.register] = held
            stays.append(held)

    for location, v, r in e.history.moves:
        if v < 0:
            continue
        close(v, location)
        if r >= 0:
            open_[v] = Stay(v, r, location, location)
    for v in list(open_):
        interval = e.liveness.intervals[v]
        close(v, min(interval.last, last) if interval is not None else last)
    return stays
