"""The pass ``paragraphs``: brackets to paragraphs, each with where it goes on."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import NONE, Function, Instr
from loopwright.ir.ops import CALLS, CONTROL
from loopwright.targets.multiclet.flow import RETURNED, Flow, Paragraph
from loopwright.targets.target import Target
from loopwright.types import VOID

__all__ = ["notes", "run"]


class _Walk:
    """The walk over the brackets. Labels are numbers that are given a place, the number of a paragraph, when that is known."""

    def __init__(self, f: Function) -> None:
        self.made = [Paragraph(0, 0, 0)]
        self.places: list[int] = []
        # Of each bracket: where br leads, the label of its else or NONE, whether it is a loop.
        self.open: list[tuple[int, int, bool]] = []
        self.depth = 0
        for k in range(len(f.code)):
            self.step(k, f.code[k])
        last = self.made[-1]
        if last.following == NONE:
            # (Where a function has a result this is not reached.)
            if f.result is VOID:
                last.code.append(Instr(ops.RET, VOID, NONE, []))
            last.following = RETURNED

    def label(self) -> int:
        self.places.append(NONE)
        return len(self.places) - 1

    def begin(self, k: int, label: int = NONE, another: int = NONE) -> None:
        """A paragraph begins, at these labels. The one before, if it has not ended yet, goes on with it."""
        here = self.label()
        before = self.made[-1]
        if before.following == NONE:
            before.following = here
        number = len(self.made)
        for each in (here, label, another):
            if each != NONE:
                self.places[each] = number
        self.made.append(Paragraph(number, k, self.depth))

    def step(self, k: int, instr: Instr) -> None:
        op = instr.op
        now = self.made[-1]
        if op is ops.BARRIER:
            # (The passes from here on drop no access, and keep those to one address in order; no other order would be seen.)
            return
        if op.effect == CALLS and op is not ops.ALLOCA:
            now.code.append(instr)
            now.calls = True
            self.begin(k + 1)
            self.made[-1].returned = instr
        elif op.effect != CONTROL:
            now.code.append(instr)
        elif op is ops.RET:
            now.code.append(instr)
            now.following = RETURNED
            self.begin(k + 1)
        elif op is ops.LOOP:
            head = self.label()
            self.open.append((head, NONE, True))
            self.depth += 1
            self.begin(k + 1, head)
        elif op is ops.BLOCK:
            self.open.append((self.label(), NONE, False))
        elif op is ops.ELSE:
            leave, otherwise, _ = self.open.pop()
            if now.following == NONE:
                now.following = leave
            self.begin(k + 1, otherwise)
            self.open.append((leave, NONE, False))
        elif op is ops.END:
            leave, otherwise, loop = self.open.pop()
            if loop:
                self.depth -= 1
                self.begin(k + 1)
            else:
                self.begin(k + 1, leave, otherwise)
        elif op.opens:
            self.open.append((self.label(), self.label(), False))
            now.code.append(instr)
            now.tested = self.label()
            now.following = self.open[-1][1]
            self.begin(k + 1, now.tested)
        else:
            target = self.open[-1 - instr.imm][0]
            if op is ops.BR:
                if now.following == NONE:
                    now.following = target
            else:
                now.code.append(instr)
                now.tested = target
            self.begin(k + 1)


def _resolved(walk: _Walk) -> list[Paragraph]:
    """The paragraphs that are reached, without those that do nothing, numbered in an order in which each stands behind what it comes from."""
    made = walk.made
    for paragraph in made:
        if paragraph.tested >= 0:
            paragraph.tested = walk.places[paragraph.tested]
        if paragraph.following >= 0:
            paragraph.following = walk.places[paragraph.following]
    for paragraph in made:
        paragraph.following = _through(made, paragraph.following)
        if paragraph.tested >= 0:
            paragraph.tested = _through(made, paragraph.tested)
            if paragraph.tested == paragraph.following:
                paragraph.tested = NONE
                # (Tests have no effects.)
                paragraph.code.pop()
    order = _order(made)
    numbers = {each: number for number, each in enumerate(order)}
    kept = [made[each] for each in order]
    for number, paragraph in enumerate(kept):
        paragraph.number = number
        if paragraph.following >= 0:
            paragraph.following = numbers[paragraph.following]
        if paragraph.tested >= 0:
            paragraph.tested = numbers[paragraph.tested]
    _note_before(kept)
    return kept


def _note_before(made: list[Paragraph]) -> None:
    for paragraph in made:
        paragraph.before = []
    for paragraph in made:
        for each in paragraph.after():
            made[each].before.append(paragraph.number)


def _joined(made: list[Paragraph]) -> list[Paragraph]:
    """The paragraphs, those that can only come from one that goes nowhere else made one with it."""
    gone: set[int] = set()
    for paragraph in made:
        if paragraph.number in gone:
            continue
        while paragraph.following > paragraph.number and paragraph.tested == NONE and not paragraph.calls:
            following = made[paragraph.following]
            if len(following.before) != 1:
                break
            paragraph.code += following.code
            paragraph.tested, paragraph.following, paragraph.calls = following.tested, following.following, following.calls
            gone.add(following.number)
            for each in following.after():
                before = made[each].before
                before[before.index(following.number)] = paragraph.number
    if not gone:
        return made
    kept = [each for each in made if each.number not in gone]
    numbers = {each.number: number for number, each in enumerate(kept)}
    for paragraph in kept:
        paragraph.number = numbers[paragraph.number]
        paragraph.tested = numbers.get(paragraph.tested, paragraph.tested)
        paragraph.following = numbers.get(paragraph.following, paragraph.following)
    _note_before(kept)
    return kept


def _through(made: list[Paragraph], number: int) -> int:
    """Where one comes by way of paragraphs that do nothing."""
    seen: set[int] = set()
    while number >= 0 and not made[number].code and made[number].tested == NONE and made[number].returned is None and number not in seen:
        seen.add(number)
        number = made[number].following
    return number


def _order(made: list[Paragraph]) -> list[int]:
    """The paragraphs that are reached, in the reverse of the order in which a depth-first walk leaves them."""
    start = _through(made, 0)
    if start == RETURNED:
        start = 0
    left: list[int] = []
    seen = {start}
    path: list[tuple[int, list[int]]] = [(start, made[start].after())]
    while path:
        number, waiting = path[-1]
        if not waiting:
            left.append(number)
            path.pop()
            continue
        following = waiting.pop()
        if following not in seen:
            seen.add(following)
            path.append((following, made[following].after()))
    left.reverse()
    return left


def run(f: Function, target: Target) -> None:
    """Brackets to paragraphs, left in ``f.analysis``."""
    flow = Flow(_joined(_resolved(_Walk(f))))
    entry = flow.made[0]
    if entry.before:
        # What is done on entry, such as making the frame, is done once.
        _give_entry(flow)
    f.analysis = flow


def _give_entry(flow: Flow) -> None:
    """Put a paragraph in front of one that a loop comes back to."""
    entry = Paragraph(0, 0, 0)
    entry.following = 0
    flow.made.insert(0, entry)
    for paragraph in flow.made:
        paragraph.number = flow.made.index(paragraph)
        if paragraph.following >= 0:
            paragraph.following += 1
        if paragraph.tested >= 0:
            paragraph.tested += 1
    _note_before(flow.made)


def notes(f: Function) -> dict[int, str]:
    """The paragraph that begins with an instruction, and where it goes."""
    found: dict[int, str] = {}
    for paragraph in f.analysis.made:
        goes = "returns" if paragraph.following == RETURNED else f"goes on with {paragraph.following}"
        if paragraph.tested >= 0:
            goes += f", or with {paragraph.tested}"
        found[paragraph.first] = f"paragraph {paragraph.number}, {goes}"
    return found
