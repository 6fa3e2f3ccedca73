"""What the passes of this machine work on: paragraphs of commands whose operands name the commands that make them.

``paragraphs`` makes a ``Flow`` of the brackets, ``values`` fills it with ``Node``s in SSA form (a variable becomes a value for each of its writes, and a
phi where paths meet), the passes behind decide how values travel and in which order the commands stand, and write a unit of ``program.py``. It is kept in
``Function.analysis``; the code of the function stays as ``select`` has left it.
"""

from __future__ import annotations

from typing import Any, Final

from loopwright.ir.function import NONE, Instr

__all__ = [
    "CONSTANT",
    "FRAME",
    "INCOMING",
    "JUMPS",
    "LOCAL",
    "OUTGOING",
    "REGISTER",
    "RETURNED",
    "SYMBOL",
    "TARGET",
    "VALUE",
    "Arg",
    "Flow",
    "Node",
    "Paragraph",
    "substituted",
    "substituted_to_end",
]

#: Where a paragraph goes on that returns.
RETURNED: Final = -2

#: Kinds of operands: what a command has made; a number; a register; a paragraph's address; a function's.
VALUE: Final = 0
CONSTANT: Final = 1
REGISTER: Final = 2
TARGET: Final = 3
SYMBOL: Final = 4
#: Places in the stack: the slot of a value, the caller's arguments, those of the next call, local arrays.
FRAME: Final = 5
INCOMING: Final = 6
OUTGOING: Final = 7
LOCAL: Final = 8


#: Commands that say where to go on.
JUMPS: Final = ("jmp", "setjf", "setjt")


class Arg:
    """An operand: the sum of a base and a number, or what is in memory there.

    Attributes:
        kind: one of the kinds above.
        node: the command of a ``VALUE``, or the value whose slot a ``FRAME`` is.
        number: the number that is added, or the paragraph of a ``TARGET``.
        name: the register, or the symbol.
        memory: what is in memory there.
    """

    __slots__ = ("kind", "memory", "name", "node", "number")

    def __init__(self, kind: int, node: Node | None = None, number: int = 0, name: str = "", memory: bool = False) -> None:
        self.kind = kind
        self.node = node
        self.number = number
        self.name = name
        self.memory = memory

    def same(self, other: Arg) -> bool:
        """Whether it is the same operand."""
        return self.kind == other.kind and self.node is other.node and self.number == other.number and self.name == other.name and self.memory == other.memory


def substituted(a: Arg, now: dict[Node, Arg]) -> Arg:
    """An operand in which values have become others."""
    if a.kind != VALUE or a.node is None or a.node not in now:
        return a
    to = now[a.node]
    return to if not a.number and not a.memory else Arg(to.kind, to.node, to.number + a.number, to.name, a.memory)


def substituted_to_end(a: Arg, now: dict[Node, Arg]) -> Arg:
    """The same, as long as what they have become has become others in its turn."""
    while a.kind == VALUE and a.node is not None and a.node in now:
        a = substituted(a, now)
    return a


class Node:
    """A command, or a phi.

    Attributes:
        name, suffix: the row of the command and its type; "phi" for what the paragraphs before have left.
        args: its operands; of a phi one for each of the paragraph's ``before``, in their order.
        home: the number of its paragraph.
        line: the user's line.
        behind: the commands of its paragraph that it must not come before, besides those whose results it reads.
        number: unique in the function.
        effect: it does more than to make a result.
        signed, unsigned: from how many bits its result is known to be extended with the sign, with zeros; 64 where nothing is known.
        memory: the kind and the array of its access: see ``memory_order.py``; None of other commands.
        passed: of a phi, that it comes through the switch.
        copied: of a phi, that what comes is copied for it at the ends of the paragraphs before.
        origin: of a command of a ``Block`` the command of the flow that it is; None of what is added, and of those of the flow.
        live: of a command of a ``Block``, that something wants it.
        place: when its paragraph has been ordered, its place from the end, 1 for the last; 0 of commands of the flow, and before.
        readers: while its paragraph is being ordered, how many that have not been placed yet read it, or must stay behind it; -1 of what is in no such paragraph.
        latency: cycles from its start to the start of what reads it.
        start: the earliest cycle in which it could start, by its operands alone.
        due: the cycle, from the end, in which it should start.
        rank: its number among those of its paragraph, the one to be placed first of those that are due before all others.
        reserved: the furthest of the places in which it is demanded, or 0.
    """

    __slots__ = (
        "args",
        "behind",
        "copied",
        "due",
        "effect",
        "home",
        "latency",
        "line",
        "live",
        "memory",
        "name",
        "number",
        "origin",
        "passed",
        "place",
        "rank",
        "readers",
        "reserved",
        "signed",
        "start",
        "suffix",
        "unsigned",
    )

    def __init__(self, number: int, name: str, suffix: str, args: list[Arg], home: int, line: int) -> None:
        self.number = number
        self.name = name
        self.suffix = suffix
        self.args = args
        self.home = home
        self.line = line
        self.behind: tuple[Node, ...] = ()
        self.effect = False
        self.signed = 64
        self.unsigned = 64
        self.memory: Any = None
        self.passed = False
        self.copied = False
        self.origin: Node | None = None
        self.live = False
        self.place = 0
        self.readers = -1
        self.latency = 0
        self.start = 0
        self.due = 0
        self.rank = 0
        self.reserved = 0

    def __repr__(self) -> str:
        return f"n{self.number} {self.name}_{self.suffix}"


class Paragraph:
    """Commands that run one after the other.

    Attributes:
        number: its number in the function.
        first: the number of the instruction that it begins with.
        code: the instructions, the test among them if there is one.
        tested: where it goes on if the test holds; NONE without a test.
        following: where it goes on otherwise, or RETURNED.
        further: where it goes on besides, if it asks more than once.
        depth: loops around it.
        before: the paragraphs that go on with it.
        nodes: its commands, in an order in which they could run.
        phis: the values that come from the paragraphs before it.
        calls: its last command goes to another function, which comes back to ``following``.
        called: that call, or None.
        returned: the call that it is come back to from, or None.
        cut: it is what follows of another one that has been cut in two.
        carried: values made in other paragraphs that come through the switch by the one paragraph before.
    """

    __slots__ = (
        "before",
        "called",
        "calls",
        "carried",
        "code",
        "cut",
        "depth",
        "first",
        "following",
        "further",
        "nodes",
        "number",
        "phis",
        "returned",
        "tested",
    )

    def __init__(self, number: int, first: int, depth: int) -> None:
        self.number = number
        self.first = first
        self.depth = depth
        self.code: list[Instr] = []
        self.tested = NONE
        self.following = NONE
        self.further: list[int] = []
        self.before: list[int] = []
        self.nodes: list[Node] = []
        self.phis: list[Node] = []
        self.calls = False
        self.cut = False
        self.called: Instr | None = None
        self.returned: Instr | None = None
        self.carried: set[Node] = set()

    def lead(self, old: int, new: int) -> None:
        """Go on with another paragraph instead of one."""
        if self.tested == old:
            self.tested = new
        if self.following == old:
            self.following = new
        self.further = [new if each == old else each for each in self.further]
        for node in self.nodes:
            if node.name in JUMPS:
                node.args = [Arg(TARGET, number=new) if a.kind == TARGET and a.number == old else a for a in node.args]

    def after(self) -> list[int]:
        """The paragraphs that it goes on with."""
        found = [self.following] if self.following >= 0 else []
        if self.tested >= 0 and self.tested not in found:
            found.append(self.tested)
        return [*found, *[each for each in self.further if each not in found]] if self.further else found


class Flow:
    """A function as paragraphs, each behind all that it can come from but for the ends of loops.

    Attributes:
        made: the paragraphs.
        two_constants: commands may have two constants, and operands in memory.
        direct, several: what has been made may come through the switch to a paragraph with one before it, and further (``transfer.py``).
        depth: how many commands back a result can be named, for the latter.
        registers: those that may hold what else goes through memory (``held.py``); none where that is left out.
        numbered: nodes so far.
        ordered, placed, unit: the paragraphs with their commands in order (``blocks.Blocks``), what knows how far back values are (``order``), and the program, when they are made.
    """

    __slots__ = ("depth", "direct", "made", "numbered", "ordered", "placed", "registers", "several", "two_constants", "unit")

    def __init__(self, made: list[Paragraph]) -> None:
        self.made = made
        self.two_constants = False
        self.direct = False
        self.several = False
        self.depth = 0
        self.registers: tuple[str, ...] = ()
        self.numbered = 0
        self.ordered: Any = None
        self.placed: Any = None
        self.unit: Any = None

    def node(self, name: str, suffix: str, args: list[Arg], home: int, line: int) -> Node:
        """A new command, in no paragraph's list yet."""
        self.numbered += 1
        return Node(self.numbered, name, suffix, args, home, line)

    def clear(self) -> None:
        """When all is made: take apart what refers to each other in circles, so that it is freed at once, and the garbage collector has nothing to look for."""
        self.ordered = self.placed = None
        for paragraph in self.made:
            for phi in paragraph.phis:
                phi.args = []

    def reorder(self, order: list[Paragraph]) -> None:
        """Put the paragraphs into another order, and number them by it."""
        numbers = {paragraph.number: number for number, paragraph in enumerate(order)}
        for paragraph in order:
            paragraph.number = numbers[paragraph.number]
            paragraph.tested = numbers.get(paragraph.tested, paragraph.tested)
            paragraph.following = numbers.get(paragraph.following, paragraph.following)
            paragraph.further = [numbers[each] for each in paragraph.further]
            paragraph.before = [numbers[each] for each in paragraph.before]
            for node in (*paragraph.phis, *paragraph.nodes):
                node.home = paragraph.number
                node.args = [Arg(TARGET, number=numbers[a.number]) if a.kind == TARGET else a for a in node.args]
        self.made = order
