"""``nests="measure"``: several variants of a kernel, timed on the user's own calls, of which the best is kept.

All variants compute the same, bit for bit, so each call runs one of them as a whole: in turn, until each has been timed a few times; from then on the one
whose least time was the least. The choice is made for the types of the arguments and the order of magnitude of their extents, and kept on disk
(``choices.py``). Among the variants is the kernel as written, so that once the trials are over it is never slower than that by more than the looking up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

import numpy as np

from loopwright.errors import LoopwrightError
from loopwright.runtime.choices import Choices
from loopwright.runtime.dispatch import ARRAY, CONST, REQUIRED, Formal, Key, Specializations, freeze, signature_of

__all__ = ["ROUNDS", "Adaptive", "Choice", "Variant", "Variants"]

#: How often each variant is timed.
ROUNDS: Final = 3
#: A variant whose least of two times is so many times the least so far is not timed again. (One time alone may be that of something else on the machine.)
HOPELESS: Final = 3.0
#: For more shapes than that nothing is measured: the first variant but the plain one is taken.
MOST_SHAPES: Final = 256
#: So many calls with different extents are recognized at once.
MOST_KNOWN: Final = 4096


class Variant:
    """A way to compute what the kernel computes.

    Attributes:
        name: what it is called on disk; unique among those of a kernel.
        run: takes the arguments of run time.
    """

    __slots__ = ("name", "run")

    def __init__(self, name: str, run: Callable[..., Any]) -> None:
        self.name = name
        self.run = run


class Variants:
    """The variants for some types of arguments: the kernel as written first, then what is taken where nothing has been measured.

    Attributes:
        identity: names the kernel, its types and the machine on disk.
        variants: at least one.
    """

    __slots__ = ("identity", "variants")

    def __init__(self, identity: str, variants: list[Variant]) -> None:
        self.identity = identity
        self.variants = variants


class Choice:
    """What is known for one shape.

    Attributes:
        shape: the order of magnitude of each extent and whole number, in bits, by parameter.
        names: the variants'.
        seconds: per variant: the times that were taken, each for one element of the largest array.
        chosen: the name of the variant that is taken now, or "" while they are timed.
    """

    __slots__ = ("_best", "_choices", "_clock", "_given", "_identity", "_lock", "_usual", "_variants", "chosen", "names", "seconds", "shape")

    def __init__(self, shape: str, made: Variants, choices: Choices, clock: Callable[[], float], measured: bool) -> None:
        self.shape = shape
        self.names = [variant.name for variant in made.variants]
        self.seconds: list[list[float]] = [[] for _ in made.variants]
        self.chosen = ""
        self._variants = made.variants
        self._usual = made.variants[min(1, len(made.variants) - 1)].run
        self._best: Callable[..., Any] | None = None
        self._choices = choices
        self._clock = clock
        self._identity = made.identity
        self._lock = threading.Lock()
        #: Per variant: how many of its trials have begun.
        self._given = [0] * len(made.variants)
        known = choices.read(made.identity).get(shape, "") if measured and len(self.names) > 1 else ""
        if known in self.names:
            self._take(self.names.index(known))
        elif not measured or len(self.names) == 1:
            self._take(min(1, len(self.names) - 1))

    def call(self, values: tuple[Any, ...]) -> Any:
        """Run the best variant, or the one whose turn it is, with arguments of run time."""
        if self._best is not None:
            return self._best(*values)
        turn = self._next()
        if turn < 0:
            # Others are being timed by other threads.
            return self._usual(*values)
        run = self._variants[turn].run
        done = False
        try:
            start = self._clock()
            result = run(*values)
            seconds = self._clock() - start
            done = True
        finally:
            if not done:
                with self._lock:
                    self._given[turn] -= 1
        self._timed(turn, seconds / max([value.size for value in values if isinstance(value, np.ndarray) and value.size], default=1))
        return result

    def _next(self) -> int:
        """The variant whose turn it is; -1 when all have been given out."""
        with self._lock:
            best = min([least for times in self.seconds for least in times], default=0.0)
            turn = -1
            for k, given in enumerate(self._given):
                if given < ROUNDS and not self._hopeless(k, best) and (turn < 0 or given < self._given[turn]):
                    turn = k
            if turn >= 0:
                self._given[turn] += 1
            return turn

    def _hopeless(self, variant: int, best: float) -> bool:
        return len(self.seconds[variant]) > 1 and min(self.seconds[variant]) > HOPELESS * best

    def _timed(self, variant: int, seconds: float) -> None:
        with self._lock:
            self.seconds[variant].append(seconds)
            if self._best is not None:
                return
            best = min([least for times in self.seconds for least in times])
            if any(len(times) < ROUNDS and not self._hopeless(k, best) for k, times in enumerate(self.seconds)):
                return
            chosen = min(range(len(self.seconds)), key=self._least)
            self._take(chosen)
        self._choices.keep(self._identity, self.shape, self.names[chosen])

    def _least(self, variant: int) -> float:
        return min(self.seconds[variant])

    def _take(self, variant: int) -> None:
        self.chosen = self.names[variant]
        self._best = self._variants[variant].run

    def __str__(self) -> str:
        least = [f"{name}: {min(times):.3g} s" if times else name for name, times in zip(self.names, self.seconds, strict=True)]
        return f"{self.shape}: {self.chosen or 'being measured'} ({'; '.join(least)}, an element)"


class Adaptive:
    """Calls a kernel, each time by the variant that is best for the arguments as far as is known.

    Args:
        formals: the kernel's parameters.
        variants: makes the variants for a key.
        usual: calls the kernel with any arguments; it says what is wrong with those that cannot be right.
        choices: where choices are kept.
        clock: seconds.
    """

    def __init__(
        self, formals: list[Formal], variants: Callable[[Key], Variants], usual: Callable[..., Any], choices: Choices, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._formals = formals
        self._usual = usual
        self._choices = choices
        self._clock = clock
        self._told = _teller(formals)
        self._variants: Any = Specializations(variants)  # type: ignore[arg-type]
        self._slots: Any = Specializations(self._slot)  # type: ignore[arg-type]
        self._known: dict[object, Choice] = {}
        self._all: list[Choice] = []

    def call(self, *args: Any, **named: Any) -> Any:
        """Call the kernel."""
        try:
            key, given, values = self._told(*args, **named)
            choice = self._known.get(key)
        except (AttributeError, TypeError, LoopwrightError):
            # Whatever it is that cannot be right, the usual way tells it better.
            return self._usual(*args, **named)
        try:
            return (choice if choice is not None else self._choice(key, values)).call(given)
        except Exception as error:
            from loopwright.tracebacks import shorten

            shorten(error)
            raise

    def choices(self) -> list[Choice]:
        """What is known, for each combination of types and orders of magnitude that has come up."""
        return list(self._all)

    def _choice(self, key: object, values: tuple[Any, ...]) -> Choice:
        parts: list[str] = []
        for value, formal in zip(values, self._formals, strict=True):
            if formal.kind == ARRAY:
                parts.append("x".join([str(int(extent).bit_length()) for extent in value.shape]))
            elif formal.kind != CONST and _magnitude(value) >= 0:
                parts.append(str(_magnitude(value)))
        choice: Choice = self._slots.get((signature_of(values, self._formals), " ".join(parts)))
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[key] = choice
        return choice

    def _slot(self, key: tuple[Key, str]) -> Choice:
        made = Choice(key[1], self._variants.get(key[0]), self._choices, self._clock, len(self._all) < MOST_SHAPES)
        self._all.append(made)
        return made


def _teller(formals: list[Formal]) -> Callable[..., tuple[object, tuple[Any, ...], tuple[Any, ...]]]:
    """A function of a call's arguments, which gives: something equal for arguments with the same types and extents, and whole numbers of the same magnitude;
    the arguments of run time; all arguments, with defaults.

    It raises ``TypeError``, ``AttributeError`` or ``ArgumentError`` for what cannot be right. It is written from the declarations, as what calls a kernel is in
    ``dispatch.py``: it runs at each call.
    """
    known: dict[str, Any] = {"_lw_freeze": freeze, "_lw_magnitude": _magnitude}
    heads: list[str] = []
    parts: list[str] = []
    for k, formal in enumerate(formals):
        known[f"_lw_default{k}"] = formal.default
        heads.append(formal.name if formal.default is REQUIRED else f"{formal.name}=_lw_default{k}")
        if formal.kind == ARRAY:
            parts.append(f"{formal.name}.dtype, {formal.name}.shape, ")
        elif formal.kind == CONST:
            parts.append(f"_lw_freeze({formal.name}), ")
        else:
            parts.append(f"{formal.name}.__class__, _lw_magnitude({formal.name}), ")
    given = "".join([f"{formal.name}, " for formal in formals if formal.kind != CONST])
    values = "".join([f"{formal.name}, " for formal in formals])
    made: Callable[..., Any] = eval(f"lambda {', '.join(heads)}: (({''.join(parts)}), ({given}), ({values}))", known)
    return made


def _magnitude(value: Any) -> int:
    """The bits of a whole number, -1 of anything else."""
    return int(value).bit_length() if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else -1
