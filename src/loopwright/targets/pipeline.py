"""What a list of passes is made of, and how a user's own passes get into it.

Each target owns its list (``Target.passes``), and the compiler runs it from top to bottom. The names are what ``--after`` takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from loopwright.errors import TargetError

__all__ = ["COLLECT", "Insertion", "Omission", "Pass", "after", "before", "names_of", "with_insertions", "without"]

#: The name of what there is before any pass: the front end's output.
COLLECT: Final = "collect"
_NAME: Final = re.compile(r"[^\W\d][\w-]*")


class Pass:
    """One job in a target's list.

    Attributes:
        name: unique in its list. One of ``ir/stages.py`` promises that the code has the form of that stage; behind any other it has the form that it had.
        run: called as ``run(function, target)``, and changes the function; with the settings as third argument where ``settings`` says so.
        does: one line about it.
        leaves: what holds afterwards, for the documentation.
        settings: it wants the settings.
        again: what it has seen to does not hold behind a user's pass, which may have changed the code: it runs again there, and before it those of its
            kind that stand in front of it.
        notes: what it has found, by instruction, for a listing of the function at its stage.
        own: it is a user's: what it leaves is verified, and errors in it are the user's.
        optional: code is right without it: it may be left out (``without``), so that its worth can be measured.
    """

    __slots__ = ("again", "does", "leaves", "name", "notes", "optional", "own", "run", "settings")

    def __init__(
        self,
        name: str,
        run: Callable[..., Any],
        does: str,
        leaves: str = "",
        settings: bool = False,
        again: bool = False,
        notes: Callable[..., dict[int, str]] | None = None,
        own: bool = False,
        optional: bool = False,
    ) -> None:
        self.notes = notes
        self.optional = optional
        self.name = name
        self.run = run
        self.does = does
        self.leaves = leaves
        self.settings = settings
        self.again = again
        self.own = own


class Insertion:
    """A user's pass and its place: made by ``lw.after`` and ``lw.before``."""

    __slots__ = ("behind", "inserted", "place")

    def __init__(self, place: str, inserted: Pass, behind: bool) -> None:
        self.place = place
        self.inserted = inserted
        self.behind = behind

    def __repr__(self) -> str:
        return f"lw.{'after' if self.behind else 'before'}({self.place!r}, {self.inserted.name})"


class Omission:
    """A pass that is to be left out: made by ``lw.without``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"lw.without({self.name!r})"


def without(name: Any) -> Omission:
    """A pass of the target's list that is not run: ``kernel.compile(…, passes=[lw.without("producers")])``.

    Args:
        name: that of a pass which ``loopwright passes`` marks as one that may be left out.

    Returns:
        What ``passes=`` takes.

    Raises:
        TargetError: it is no name. (Whether it is one of a pass that may be left out is known when something is compiled.)
    """
    if not isinstance(name, str):
        raise TargetError(f"a pass is left out by its name, as in lw.without('producers'), not {name!r}")
    return Omission(name)


def after(place: Any, run: Callable[..., Any], *, name: str = "") -> Insertion:
    """A pass of your own behind the one named: ``kernel.compile(…, passes=[lw.after("simplify", mine)])``.

    Args:
        place: the name of a pass of the target's list (``loopwright passes``), of another inserted pass, or ``collect``.
        run: called as ``run(function, target)`` with a ``loopwright.ir.function.Function``, which it changes.
        name: what ``--after`` and ``code.ir`` call it; the function's own name otherwise.

    Returns:
        What ``passes=`` takes.

    Raises:
        TargetError: ``run`` cannot be called, or has no name that could be one of a pass.
    """
    return _insertion(place, run, name, True)


def before(place: Any, run: Callable[..., Any], *, name: str = "") -> Insertion:
    """A pass of your own in front of the one named; otherwise as ``lw.after``."""
    return _insertion(place, run, name, False)


def _insertion(place: Any, run: Callable[..., Any], name: str, behind: bool) -> Insertion:
    if not isinstance(place, str):
        raise TargetError(f"the place of a pass is the name of another, as in lw.after('simplify', {_called(run)}), not {place!r}")
    if not callable(run):
        raise TargetError(f"a pass is a function of a function and its target, not {run!r}")
    called = name or getattr(run, "__name__", "")
    if not isinstance(called, str) or not _NAME.fullmatch(called):
        raise TargetError(f"the pass {_called(run)} needs a name: lw.after({place!r}, …, name='mine')")
    lines = (getattr(run, "__doc__", None) or "").strip().splitlines()
    return Insertion(place, Pass(called, run, lines[0] if lines else "a user's pass", own=True), behind)


def _called(run: object) -> str:
    return str(getattr(run, "__name__", repr(run)))


def with_insertions(passes: tuple[Pass, ...], insertions: Sequence[Insertion], target: str) -> tuple[Pass, ...]:
    """A target's list with a user's passes in it, and without those that are to be left out. Several at one place run in the order they are given.

    Raises:
        TargetError: a place that is not there, a name that is taken, a pass that has to run, or something that ``lw.after``, ``lw.before`` and ``lw.without``
            did not make.
    """
    if isinstance(insertions, (Insertion, Omission)) or not isinstance(insertions, (list, tuple)):
        raise TargetError(f"passes= takes a list, as in passes=[lw.after('simplify', mine)], not {insertions!r}")
    made = list(passes)
    last: dict[str, int] = {}
    for insertion in insertions:
        if isinstance(insertion, Omission):
            made = _left_out(made, insertion.name, target)
            continue
        if not isinstance(insertion, Insertion):
            raise TargetError(f"passes= takes what lw.after, lw.before and lw.without make, as in passes=[lw.after('simplify', mine)], not {insertion!r}")
        names = names_of(made)
        own = insertion.inserted.name
        if own in names:
            raise TargetError(f"there is a pass {own!r} already: give yours another name, as in lw.after({insertion.place!r}, …, name='mine')")
        if insertion.place not in names or (insertion.place == COLLECT and not insertion.behind):
            raise TargetError(
                f"there is no pass {insertion.place!r} for {own} to stand {'after' if insertion.behind else 'before'}; {target} has {', '.join(names)}"
            )
        at = names.index(insertion.place) - 1
        if insertion.behind:
            at += 1 + last.get(insertion.place, 0)
            last[insertion.place] = last.get(insertion.place, 0) + 1
        made.insert(at, insertion.inserted)
    return tuple(made)


def _left_out(passes: list[Pass], name: str, target: str) -> list[Pass]:
    """The passes without the one of a name."""
    optional = [each.name for each in passes if each.optional]
    if name not in optional:
        some = f"; of those for {target} {', '.join(optional)} may be left out" if optional else f"; none of those for {target} may be left out"
        what = f"the pass {name} has to run" if name in names_of(passes) else f"there is no pass {name!r} to leave out"
        raise TargetError(what + some)
    return [each for each in passes if each.name != name]


def names_of(passes: Sequence[Pass]) -> list[str]:
    """The names ``--after`` takes: the front end's output, then the passes in order."""
    return [COLLECT, *[each.name for each in passes]]
