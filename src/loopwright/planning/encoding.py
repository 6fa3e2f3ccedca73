"""How a schedule is written down for the solver: the choices that ``benchmarks/planning.py`` compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from loopwright.errors import LoopwrightError

__all__ = ["DEFAULT", "DIRECT", "Encoding", "PlanningError", "available"]


class PlanningError(LoopwrightError):
    """A solver that is not installed, or a choice that does not go with another."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The choices.

    Attributes:
        circuits: solve for the edges on circuits that stay within an iteration of the outer loops, and find all shifts afterwards; otherwise for all edges
            and shifts at once.
        distances: how vectors are compared where shifts in outer loops are unknown: ``booleans``, one for each leading part of a vector that is 0, or
            ``weights``, large coefficients that make one number of it.
        slots: the cycle of the kernel in which an operation starts: ``booleans``, one for each cycle, which is the better where units are scarce, or
            ``integers``, the better where circuits are long; ``turns`` tries the one and the other, for longer each time.
        dependences: for booleans, ``structured``: an inequality for each edge and cycle, of coefficients 0 and 1 (Eichenberger and Davidson, PLDI 1997), or
            ``linear``: one an edge, as it is for integers.
        interval: ``search`` tries one interval after the other, from the bounds upwards; ``variable`` leaves it to the solver, with slots as integers.
        windows: times of nodes on circuits are bounded by longest paths.
        symmetry: one operation starts in cycle 0, and operations that nothing tells apart are counted, not named.
        shifts: ``commands``: each operation has a vector of its own; ``iterations``: those of one old iteration share it, so that the iteration lies within one
            kernel's length.
    """

    circuits: bool = True
    distances: str = "booleans"
    slots: str = "turns"
    dependences: str = "structured"
    interval: str = "search"
    windows: bool = True
    symmetry: bool = True
    shifts: str = "commands"

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise PlanningError(f"{name} is {getattr(self, name)!r}, not one of {', '.join(choices)}")
        if self.interval == "variable" and self.slots != "integers":
            raise PlanningError("an interval that is a variable takes slots as integers")
        if self.shifts == "iterations" and self.circuits:
            raise PlanningError("shifts of whole iterations take all edges, so circuits=False")


_CHOICES: Final = {
    "distances": ("booleans", "weights"),
    "slots": ("turns", "booleans", "integers"),
    "dependences": ("linear", "structured"),
    "interval": ("search", "variable"),
    "shifts": ("commands", "iterations"),
}

DEFAULT: Final = Encoding()
#: All edges and all shifts in one programme.
DIRECT: Final = Encoding(circuits=False)


def available() -> None:
    """Raises ``PlanningError`` where OR-Tools (the extra ``tuning``) is not installed."""
    try:
        from ortools.sat.python import cp_model  # noqa: F401
    except ImportError:
        raise PlanningError("the integer programme needs OR-Tools: pip install 'loopwright[tuning]'") from None
