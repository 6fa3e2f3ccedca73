"""The pass ``joined``: fewer and longer paragraphs, for each costs the way to the next one.

Paragraphs that do nothing but go on are left out: what they hand to phis is handed by those before them. A short paragraph that several go on with is repeated in each of those that go
nowhere else (tail duplication: F. Mueller and D. B. Whalley, "Avoiding unconditional jumps by code replication", PLDI 1992), which turns loops round as well: the test at
their beginning comes to stand at their ends. Values that are then made in two places meet in phis, which are placed on demand (M. Braun et al., "Simple and efficient construction
of static single assignment form", CC 2013).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir.function import NONE, Function
from loopwright.targets.multiclet.choices import worth
from loopwright.targets.multiclet.dataflow import Dataflow
from loopwright.targets.multiclet.flow import CONSTANT, JUMPS, VALUE, Arg, Flow, Node, Paragraph, substituted
from loopwright.targets.multiclet.memory_order import Accesses
from loopwright.targets.multiclet.values import forward_phis

__all__ = ["run"]

#: No more phis of a paragraph are handed over by one that goes on with another as well, and no more are made where a paragraph is repeated: each may take a command wherever one comes from.
MOST_PHIS: Final = 12
#: Commands by which a function may grow: so many, and as many as it has.
GROWTH: Final = 64


class _Joining:
    """One run of the pass.

    Attributes:
        gone: numbers of paragraphs that nothing goes on with any more.
        room: commands that may still be added.
        outside: of each paragraph how many values are read elsewhere, as it was when all were last looked at.
        readers: of each paragraph the numbers of those that may read its values, but for its own commands.
        most: commands of a paragraph that has been made longer: what the cells fetch while the next one is decided.
    """

    def __init__(self, f: Function, target: Dataflow) -> None:
        self.f = f
        self.flow: Flow = f.analysis
        self.made = self.flow.made
        self.commits = target.processor.commits_at_end
        self.most = worth(target.processor)
        self.room = GROWTH + sum([len(paragraph.nodes) for paragraph in self.made])
        self.gone: set[int] = set()
        self.outside: list[int] = []
        self.readers: list[set[int]] = []

    def run(self) -> None:
        for paragraph in self.made:
            self.pass_over(paragraph)
        changed = True
        while changed:
            changed = False
            self.count()
            for paragraph in self.made:
                if paragraph.number not in self.gone and self.lengthen(paragraph):
                    changed = True
        if self.gone:
            self.flow.reorder([each for each in self.made if each.number not in self.gone])
        forward_phis(self.flow)

    def count(self) -> None:
        """Note how many of each paragraph's values are read elsewhere, each of which will be a phi if the paragraph is repeated, and where."""
        read: set[Node] = set()
        self.readers = [set() for _ in self.made]
        for paragraph in self.made:
            number = paragraph.number
            for node in paragraph.nodes:
                for a in node.args:
                    if a.node is not None and a.node.home != number and a.kind == VALUE:
                        read.add(a.node)
                        self.readers[a.node.home].add(number)
            for phi in paragraph.phis:
                for a in phi.args:
                    if a.node is not None and a.kind == VALUE:
                        read.add(a.node)
                        self.readers[a.node.home].add(number)
        self.outside = [0] * len(self.made)
        for value in read:
            self.outside[value.home] += 1

    def remove(self, paragraph: Paragraph) -> None:
        """Take away a paragraph that nothing goes on with."""
        waiting = [paragraph]
        while waiting:
            each = waiting.pop()
            self.gone.add(each.number)
            for number in each.after():
                following = self.made[number]
                _forget(following, each.number)
                if not following.before and number not in self.gone:
                    waiting.append(following)

    # --- paragraphs that do nothing --------------------------------------------------------------------------------

    def pass_over(self, empty: Paragraph) -> None:
        """Let those before a paragraph that only goes on go where it goes."""
        if len(empty.nodes) != 1 or empty.nodes[0].name != "jmp" or empty.following < 0 or empty.number == 0 or empty.following == empty.number:
            return
        following = self.made[empty.following]
        if empty.calls or len(following.phis) > MOST_PHIS or (empty.phis and not self.only_handed_on(empty, following)):
            return
        for number in list(empty.before):
            before = self.made[number]
            if not before.calls and following.number not in before.after() and number != empty.number:
                self.redirect(before, empty, following)
        if not empty.before:
            self.remove(empty)

    def only_handed_on(self, empty: Paragraph, following: Paragraph) -> bool:
        """Whether nothing but the phis of the next paragraph reads a paragraph's phis."""
        own = set(empty.phis)
        position = following.before.index(empty.number)
        for paragraph in self.made:
            if paragraph.number in self.gone:
                continue
            for node in paragraph.nodes:
                for a in node.args:
                    if a.node in own:
                        return False
            for phi in paragraph.phis:
                for k, a in enumerate(phi.args):
                    if a.node in own and not (paragraph is following and k == position):
                        return False
        return True

    def redirect(self, before: Paragraph, empty: Paragraph, following: Paragraph) -> None:
        position, way = following.before.index(empty.number), empty.before.index(before.number)
        now = {phi: phi.args[way] for phi in empty.phis}
        for phi in following.phis:
            phi.args.append(substituted(phi.args[position], now))
        following.before.append(before.number)
        _forget(empty, before.number)
        before.lead(empty.number, following.number)

    # --- paragraphs that are repeated ---------------------------------------------------------------------------------

    def lengthen(self, paragraph: Paragraph) -> bool:
        """Put what a paragraph goes on with behind its commands, if it goes nowhere else; whether it was done."""
        number = paragraph.following
        if number < 0 or paragraph.tested != NONE or paragraph.calls or number == paragraph.number:
            return False
        following = self.made[number]
        alone = len(following.before) == 1
        if number == 0 or len(paragraph.nodes) + len(following.nodes) - 1 > self.most:
            return False
        if not alone and (following.calls or len(following.nodes) > self.room or number in following.after() or self.outside[number] > MOST_PHIS):
            return False
        made = self.appended(paragraph, following)
        if made is None:
            return False
        self.room -= len(following.nodes)
        nodes, copies = made
        paragraph.nodes = nodes
        _note(self.readers, nodes, paragraph.number)
        paragraph.tested, paragraph.following, paragraph.calls = following.tested, following.following, following.calls
        _forget(following, paragraph.number)
        for each in following.after():
            # (What its phis are given is said of the original: what that is here is found below.)
            position = self.made[each].before.index(number)
            self.made[each].before.append(paragraph.number)
            for phi in self.made[each].phis:
                phi.args.append(phi.args[position])
        if following.before:
            readers = [self.made[each] for each in sorted(self.readers[number]) if each not in self.gone]
            for phi in _Repair(self.flow, paragraph, following, copies).run(readers, self.readers):
                self.outside[phi.home] += 1
        else:
            self.remove(following)
            self.rename(copies, number)
        return True

    def appended(self, paragraph: Paragraph, following: Paragraph) -> tuple[list[Node], dict[Node, Arg]] | None:
        """The commands of a paragraph and copies of those of the next one, and what each value of that is in the copy; None where memory does not allow it."""
        flow = self.flow
        way = following.before.index(paragraph.number)
        nodes = [node for node in paragraph.nodes if node.name not in JUMPS]
        accesses = Accesses(self.f)
        for node in nodes:
            if node.memory is not None and node.memory.array >= -1:
                accesses.add(node.memory, node)
        copies: dict[Node, Arg] = {phi: phi.args[way] for phi in following.phis}
        for node in following.nodes:
            made = flow.node(node.name, node.suffix, [substituted(a, copies) for a in node.args], paragraph.number, node.line)
            made.effect, made.signed, made.unsigned, made.memory = node.effect, node.signed, node.unsigned, node.memory
            if node.memory is not None and node.memory.array >= -1:
                made.memory = node.memory.at(made.args[-1])
                if accesses.needs_paragraph(made.memory, self.commits):
                    return None
                made.behind = accesses.add(made.memory, made)
            nodes.append(made)
            copies[node] = Arg(VALUE, made)
        return nodes, copies

    def rename(self, copies: dict[Node, Arg], gone: int) -> None:
        """Let everything read the copies of what is no longer made by a paragraph that is gone."""
        for number in sorted(self.readers[gone]):
            if number not in self.gone:
                paragraph = self.made[number]
                for nodes in (paragraph.phis, paragraph.nodes):
                    for node in nodes:
                        node.args = [substituted(a, copies) for a in node.args]
                    _note(self.readers, nodes, number)


def _note(readers: list[set[int]], nodes: list[Node], number: int) -> None:
    """Note what nodes of a paragraph read."""
    for node in nodes:
        for a in node.args:
            if a.node is not None and a.kind == VALUE:
                readers[a.node.home].add(number)


class _Repair:
    """What is read of a paragraph that has been repeated in another one, everywhere else: by phis where both may have been run.

    Attributes:
        first: of each value that is made in two places, what it is at the beginning of paragraphs, as far as that has been asked.
    """

    def __init__(self, flow: Flow, copy: Paragraph, original: Paragraph, copies: dict[Node, Arg]) -> None:
        self.flow = flow
        self.copy = copy
        self.original = original
        self.copies = copies
        self.made = {*original.phis, *original.nodes}
        self.first: dict[Node, dict[int, Arg]] = {}
        self.waiting: list[tuple[Node, Node, Paragraph]] = []

    def run(self, where: list[Paragraph], readers: list[set[int]]) -> list[Node]:
        """Change what is read; the phis that were made for it.

        Args:
            where: the paragraphs in which something may be read of the one that is repeated, in order.
            readers: of each paragraph those that may read its values; what is changed is added.
        """
        phis_made: list[Node] = []
        for paragraph, phis in [(each, list(each.phis)) for each in where]:
            if paragraph is not self.original:
                # (What the copies read of each other are copies: values of the original are those that came to the paragraph.)
                for node in paragraph.nodes:
                    if self.reads(node):
                        node.args = [self.at_beginning(a, paragraph.number) for a in node.args]
                        _note(readers, [node], paragraph.number)
            for phi in phis:
                if self.reads(phi):
                    phi.args = [self.at_end(a, before) for a, before in zip(phi.args, paragraph.before, strict=True)]
                    _note(readers, [phi], paragraph.number)
        while self.waiting:
            value, phi, paragraph = self.waiting.pop()
            phi.args = [self.at_end(Arg(VALUE, value), before) for before in paragraph.before]
            _note(readers, [phi], paragraph.number)
            phis_made.append(phi)
        return phis_made

    def reads(self, node: Node) -> bool:
        """Whether a node reads something of the paragraph that is repeated. (Of all there are few do.)"""
        made = self.made
        for a in node.args:  # noqa: SIM110 (it is asked of every node, for every paragraph that is repeated)
            if a.node is not None and a.node in made:
                return True
        return False

    def at_beginning(self, a: Arg, number: int) -> Arg:
        if a.kind != VALUE or a.node not in self.made or a.node is None:
            return a
        return _plus(self.beginning(a.node, number), a)

    def at_end(self, a: Arg, number: int) -> Arg:
        if a.kind != VALUE or a.node not in self.made or a.node is None:
            return a
        if number == self.original.number:
            return a
        if number == self.copy.number:
            return _plus(self.copied(a.node), a)
        return _plus(self.beginning(a.node, number), a)

    def copied(self, value: Node) -> Arg:
        """What a value is at the end of the paragraph that the other one is repeated in: a copy; of a phi what was handed to it, which may be a value that came there."""
        return self.at_beginning(self.copies[value], self.copy.number)

    def beginning(self, value: Node, number: int) -> Arg:
        """What a value is where a paragraph begins."""
        known = self.first.setdefault(value, {})
        path: list[int] = []
        while number not in known:
            before = self.flow.made[number].before
            if len(before) != 1:
                if not before:
                    known[number] = Arg(CONSTANT)
                    break
                phi = self.flow.node("phi", "q", [], number, 0)
                phi.signed, phi.unsigned = value.signed, value.unsigned
                self.flow.made[number].phis.append(phi)
                self.waiting.append((value, phi, self.flow.made[number]))
                known[number] = Arg(VALUE, phi)
                break
            path.append(number)
            number = before[0]
            if number in (self.original.number, self.copy.number):
                found = Arg(VALUE, value) if number == self.original.number else self.copied(value)
                for each in path:
                    known[each] = found
                return found
        found = known[number]
        for each in path:
            known[each] = found
        return found


def _plus(found: Arg, a: Arg) -> Arg:
    """What an operand is of which the value is another now."""
    return found if not a.number and not a.memory else Arg(found.kind, found.node, found.number + a.number, found.name, a.memory)


def _forget(paragraph: Paragraph, before: int) -> None:
    """A paragraph no longer comes from another."""
    way = paragraph.before.index(before)
    del paragraph.before[way]
    for phi in paragraph.phis:
        del phi.args[way]


def run(f: Function, target: Dataflow) -> None:
    """Join the paragraphs of ``f.analysis``."""
    _Joining(f, target).run()
