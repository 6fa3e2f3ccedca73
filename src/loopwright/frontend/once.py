"""Calls that Python would make once, while a kernel is compiled, where the kernel as written makes them each time it runs: refused, with what to write instead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import numpy as np

from loopwright.frontend.expr import describe, is_staged
from loopwright.frontend.staging import Staging

__all__ = ["refuse_stateful", "refuse_text"]

_RANDOM: Final = "for random numbers of each iteration write lw.uniform, or pass them in an array"
_TIMES: Final = "pass it as an argument"
#: The classes and modules whose functions answer differently each time, by name; which of the functions (all if none are named), and what to write.
_STATEFUL: Final[dict[str, tuple[frozenset[str], str]]] = {
    "random.Random": (frozenset(), _RANDOM),
    "random.SystemRandom": (frozenset(), _RANDOM),
    "numpy.random": (frozenset(), _RANDOM),
    "secrets": (frozenset(), _RANDOM),
    "uuid": (frozenset(), _TIMES),
    "time": (frozenset(), _TIMES),
    "datetime": (frozenset(("now", "utcnow", "today")), _TIMES),
    "posix": (frozenset(("urandom", "getrandom")), _RANDOM),
    "nt": (frozenset(("urandom",)), _RANDOM),
}
#: Those of Python's own builtins.
_BUILTINS: Final = {"input": _TIMES, "open": "a kernel reads no files; pass what is in it as an array"}
_OF_ARRAYS: Final = frozenset(("fill", "sort", "partition", "put", "itemset", "resize", "setfield", "setflags", "byteswap"))
_CONTAINERS: Final = (list, dict, set, bytearray, deque)
_OF_CONTAINERS: Final = frozenset(
    ("append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "remove", "clear", "update", "add", "discard", "setdefault", "popitem", "sort")
    + ("reverse", "rotate", "subtract", "difference_update", "intersection_update", "symmetric_difference_update")
)


def refuse_stateful(s: Staging, function: Any, args: tuple[Any, ...]) -> None:
    """Refuse a function that answers differently each time, or changes what is outside of the kernel."""
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, ModuleType):
        module = getattr(function, "__module__", None) or ""
        if module == "builtins":
            if name in _BUILTINS:
                s.emitter.fail(f"{name}() would be called once, while compiling: {_BUILTINS[name]}")
            if name == "next" and len(args) > 0 and isinstance(args[0], Iterator) and _outside(s, args[0]):
                s.emitter.fail("next() of an iterator from outside the kernel would go on once, while compiling: index a tuple or an array instead")
            return
    else:
        if isinstance(owner, np.ndarray) and name in _OF_ARRAYS:
            if _outside(s, owner):
                s.emitter.fail(
                    f".{name}() of a NumPy array from outside the kernel would change it once, while compiling: pass the array as an lw.Array argument, and loop over it"
                )
            return
        if isinstance(owner, _CONTAINERS):
            if name in _OF_CONTAINERS and _outside(s, owner):
                s.emitter.fail(
                    f".{name}() of a {type(owner).__name__} from outside the kernel would change it once, while compiling, not each time the kernel runs: "
                    "use an array argument, or one made in the kernel"
                )
            return
        kind = owner if isinstance(owner, type) else type(owner)
        module = f"{kind.__module__}.{kind.__name__}" if kind.__module__ == "random" else kind.__module__
    found = _STATEFUL.get("numpy.random" if module.startswith("numpy.random.") else module)
    if found is not None and (not found[0] or name in found[0]):
        s.emitter.fail(f"{name}() would be called once, while compiling, so that its result would be the same whenever the kernel runs: {found[1]}")


def refuse_text(s: Staging, value: Any) -> None:
    """Refuse a run-time value that Python makes a text of, which would tell of the compiler's own object."""
    if is_staged(value):
        s.emitter.fail(f"{describe(value)} has no text while compiling: print it by lw.debug_print, which takes a text with a field for each value")


def _outside(s: Staging, thing: Any) -> bool:
    """Whether something is what a name from outside the function stands for."""
    env = s.act.env
    return any(env.get(name) is thing for name in s.act.parsed.outside)
