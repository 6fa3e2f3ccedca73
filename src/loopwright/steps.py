"""What ``kernel.schedule`` takes: steps that put the loops of a kernel into another order, by hand (docs/nests.md).

::

    faster = kernel.schedule(lw.steps.unroll_and_jam(i=4), lw.steps.lanes("j"))

Loops go by the names of their indices in the kernel. Where two have the same name, the line is added: ``"i@12"``, and for steps that take numbers
``unroll_and_jam({"i@12": 4})``. Where several in one line have the same name, as those in a ``range`` that is written out, a number says which of them it is:
``"i@12.1"`` is the first, ``"i@12.2"`` the second. Steps are done in the order in which they are given. Each is done only where it leaves all results as they
are; compiling raises ``ScheduleError`` otherwise, which names the dependence that is in the way.

What a step takes is asked when it is made (``ScheduleError``), also where it is made of text: ``option schedule "…"``, ``loopwright show --schedule``.
"""

from __future__ import annotations

from collections.abc import Mapping

from loopwright.errors import ScheduleError
from loopwright.ir.schedule import Step, checked

__all__ = ["fuse", "interchange", "lanes", "pipeline", "skew", "tile", "unroll", "unroll_and_jam"]


def fuse(first: str, second: str) -> Step:
    """Make two loops one that stand one behind the other, in the same loop or in none, over the same iterations: ``fuse("i@12", "i@15")``."""
    return checked("fuse", (first, second), ())


def interchange(outer: str, inner: str) -> Step:
    """Exchange two loops, one inside the other, with nothing but loops and arithmetic on indices between them."""
    return checked("interchange", (outer, inner), ())


def unroll_and_jam(factors: Mapping[str, int] | None = None, /, **named: int) -> Step:
    """Make several iterations of a loop one, and the loops inside them one loop: ``unroll_and_jam(i=4)``, for several loops ``unroll_and_jam(i=2, j=2)``."""
    return _counted("unroll_and_jam", factors, named)


def skew(counts: Mapping[str, int] | None = None, /, *, slant: int = 0, lanes: int = 0, rest: int = 0, short: int = 0, **named: int) -> Step:
    """Run several iterations of a loop side by side, each so many iterations of the loop inside behind the one before: ``skew(i=4)``, ``skew(i=8, lanes=4)``.

    Args:
        counts, named: the loop, and how many of its iterations.
        slant: by how many; 0 for the least that the dependences allow.
        lanes: so many of them run in the lanes of a vector; 0 for scalars.
        rest: so many of those that are left over do then, fewer, of whole vectors; 0 for as written. (Those that may be done twice leave none over.)
        short: where the loop inside has fewer iterations, all do so.
    """
    return _counted("skew", counts, named, (("slant", slant), ("lanes", lanes), ("rest", rest), ("short", short)))


def unroll(factors: Mapping[str, int] | None = None, /, **named: int) -> Step:
    """Make several iterations of a loop one, one after the other: ``unroll(j=4)``."""
    return _counted("unroll", factors, named)


def tile(sizes: Mapping[str, int] | None = None, /, **named: int) -> Step:
    """Run nested loops tile by tile: ``tile(i=32, j=32)``. The loops over tiles come outside, and are called ``i.tiles``, ``j.tiles``."""
    return _counted("tile", sizes, named)


def lanes(loop: str) -> Step:
    """Run the iterations of a loop in the lanes of vectors: ``lanes("j")``."""
    return checked("lanes", (loop,), ())


def pipeline(loop: str, ii: int = 0) -> Step:
    """Overlap the iterations of an innermost loop: ``pipeline("j")``.

    Args:
        loop: the loop.
        ii: the initiation interval, in cycles of the target's core: so often iterations begin. 0 for the least that is found.
    """
    return checked("pipeline", (loop,), (("ii", ii),))


def _counted(step: str, factors: object, named: dict[str, int], options: tuple[tuple[str, object], ...] = ()) -> Step:
    if factors is not None and not isinstance(factors, Mapping):
        raise ScheduleError(f"{step} takes loops with numbers, as in {step}(i=4) or {step}({{'i@12': 4}}), not {factors!r}")
    return checked(step, (), [*{**dict(factors or {}), **named}.items(), *options])
