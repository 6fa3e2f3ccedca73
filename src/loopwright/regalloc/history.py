"""What happened in an allocation: recorded only when somebody asks for an explanation."""

from __future__ import annotations


class Decision:
    """How one reference got its register; recorded when an explanation is asked for.

    Attributes:
        location: of the reference (2k the uses, 2k + 1 the result of instruction k).
        register: the virtual register, or -1 for a scratch register of the instruction.
        candidates: the physical registers it could have had (bit mask).
        steps: (letter, candidates before, candidates after) of each filter that ran and narrowed or decided.
        chosen: the physical register, or -1: the value stays in memory.
        reason: what decided when no filter did.
        victim: the virtual register that was spilled for it, or -1.
        cost: what spilling the victim costs (weighted references).
        own_cost: what staying in memory would have cost the value itself.
    """

    __slots__ = ("candidates", "chosen", "cost", "location", "own_cost", "reason", "register", "steps", "victim")

    def __init__(self, location: int, register: int, candidates: int, own_cost: float) -> None:
        self.location = location
        self.register = register
        self.candidates = candidates
        self.steps: list[tuple[str, int, int]] = []
        self.chosen = -1
        self.reason = ""
        self.victim = -1
        self.cost = 0.0
        self.own_cost = own_cost


class History:
    """What happened in an allocation, for explanations and pictures.

    Attributes:
        decisions: in the order they were made.
        moves: (location, virtual register, physical register or -1) whenever a value changes its place.
        spills: (location, virtual register) whenever a value goes to memory.
        reloads: (location, virtual register) whenever one comes back or is read there.
    """

    __slots__ = ("decisions", "moves", "reloads", "spills")

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self.moves: list[tuple[int, int, int]] = []
        self.spills: list[tuple[int, int]] = []
        self.reloads: list[tuple[int, int]] = []
