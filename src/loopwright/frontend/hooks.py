"""What rewritten expressions call: short-circuiting, conditional expressions, and Python's builtins on run-time values."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from loopwright.errors import KernelTypeError
from loopwright.frontend import constants, functions, loops, whole_numbers
from loopwright.frontend.arrays import StagedArray
from loopwright.frontend.calls import call, inline, reduce
from loopwright.frontend.conditions import by_branch, short_circuit
from loopwright.frontend.expr import Value, is_staged
from loopwright.frontend.generators import GREATER, LESS, NOTHING, SOME
from loopwright.frontend.once import refuse_text
from loopwright.frontend.parse import REDUCTIONS, parse
from loopwright.frontend.program import AND, OR
from loopwright.frontend.python_types import is_instance, type_of_object
from loopwright.frontend.rewrite import (
    AND_HOOK,
    CALL_HOOK,
    CHAIN_HOOK,
    ELEMENTS_HOOK,
    HOLD_HOOK,
    IF_HOOK,
    IN_HOOK,
    ITEM_HOOK,
    NEW_HOOK,
    NOT_HOOK,
    OR_HOOK,
    POWER_HOOK,
    REDUCE_HOOK,
    SAME_HOOK,
    TEXT_HOOK,
)
from loopwright.frontend.staging import Staging
from loopwright.frontend.tables import item
from loopwright.frontend.walks import goes_through
from loopwright.types import I64

__all__ = ["BUILTINS", "HOOKS"]

_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def _len(value: Any) -> Any:
    return value.length if type(value) is StagedArray else builtins.len(value)


def _range(*args: Any) -> Any:
    if builtins.any(isinstance(arg, Value) for arg in args):
        return loops.range(*args)
    return builtins.range(*args)


def _least(*args: Any, **named: Any) -> Any:
    args = _gone_through(args)
    return functions.min(*args) if _staged_items("min", args, named) else builtins.min(*args, **named)


def _greatest(*args: Any, **named: Any) -> Any:
    args = _gone_through(args)
    return functions.max(*args) if _staged_items("max", args, named) else builtins.max(*args, **named)


def _gone_through(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of which an iterator has become the list of what it gives."""
    return (list(args[0]),) if len(args) == 1 and isinstance(args[0], Iterator) else args


def _staged_items(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether a run-time value or a typed constant is among what is compared."""
    key = named.get("key")
    compared = args if len(args) != 1 or key is None else args[0]
    if len(args) == 1 and not isinstance(args[0], Value):
        args = tuple(args[0]) if type(args[0]) in (tuple, list) else ()
    if key is not None and (is_staged(args) or builtins.any(is_staged((key(item),)) for item in compared)):
        raise KernelTypeError(f"{name}() of run-time values takes no key: keep the best value and what belongs to it in variables of a loop")
    if is_staged(args):
        return True
    return not named and builtins.any(constants.is_typed(item) for item in args)


def _abs(number: Any) -> Any:
    return functions.abs(number) if constants.is_typed(number) else builtins.abs(number)


def _pow(base: Any, exponent: Any, *modulus: Any) -> Any:
    if not modulus:
        return constants.power(base, exponent)
    if is_staged((base, exponent, *modulus)):
        raise KernelTypeError("pow() of a run-time value takes no modulus: multiply in a loop, and take the remainder in each step")
    return builtins.pow(base, exponent, *modulus)


class _Nothing:
    """What a loop of ``min`` or ``max`` begins with, which is no number."""

    why = "min() and max() of what a loop goes through at run time have no value if it is nothing: give one, as in max(…, default=0), or write the loop with one to start with"


_NOTHING: Final = _Nothing()


def _less(a: Any, b: Any) -> Any:
    return b if a is _NOTHING else _least(a, b)


def _greater(a: Any, b: Any) -> Any:
    return b if a is _NOTHING else _greatest(a, b)


def _some(value: Any) -> Any:
    if value is _NOTHING:
        raise KernelTypeError("min() or max() of nothing: what it goes through is empty")
    return value


def _any(values: Any) -> Any:
    return functions.any(iter(values))


def _all(values: Any) -> Any:
    return functions.all(iter(values))


def _print(*values: Any, **named: Any) -> None:
    if is_staged(values):
        raise KernelTypeError('print() of a run-time value: write lw.debug_print("{}", x[i]), which prints while the kernel runs')
    builtins.print(*values, **named)


def _without_text(name: str, values: tuple[Any, ...]) -> None:
    if is_staged(values):
        raise KernelTypeError(f"{name}() of a run-time value, which has no text while compiling: print it by lw.debug_print")


def _repr(value: Any) -> str:
    _without_text("repr", (value,))
    return builtins.repr(value)


def _format(value: Any, spec: str = "") -> str:
    _without_text("format", (value,))
    return builtins.format(value, spec)


#: Python's builtins as kernels see them. (The name of a hook is there to tell the frames of kernels' expressions from others: ``tracebacks``.)
BUILTINS: Final[dict[str, Any]] = {
    **vars(builtins),
    "len": _len,
    "range": _range,
    "min": _least,
    "max": _greatest,
    "abs": _abs,
    "pow": _pow,
    "any": _any,
    "all": _all,
    "isinstance": is_instance,
    "type": type_of_object,
    "print": _print,
    "repr": _repr,
    "format": _format,
    NOTHING: _NOTHING,
    SOME: _some,
    LESS: _less,
    GREATER: _greater,
    CALL_HOOK: None,
}

#: The functions that go through a generator by a loop, by their names.
_REDUCERS: Final[dict[str, tuple[Any, ...]]] = {
    "sum": (builtins.sum, functions.sum),
    "min": (_least, functions.min),
    "max": (_greatest, functions.max),
    "any": (_any, functions.any),
    "all": (_all, functions.all),
    "prod": (math.prod,),
}


def _both(s: Staging) -> Callable[..., Any]:
    def both(first: Any, *rest: Callable[[], Any]) -> Any:
        if not isinstance(first, Value):
            for position, thunk in enumerate(rest):
                if not first:
                    return first
                first = thunk()
                if isinstance(first, Value):
                    return short_circuit(s, AND, first, list(rest[position + 1 :]))
            return first
        return short_circuit(s, AND, first, list(rest))

    return both


def _either(s: Staging) -> Callable[..., Any]:
    def either(first: Any, *rest: Callable[[], Any]) -> Any:
        if not isinstance(first, Value):
            for position, thunk in enumerate(rest):
                if first:
                    return first
                first = thunk()
                if isinstance(first, Value):
                    return short_circuit(s, OR, first, list(rest[position + 1 :]))
            return first
        return short_circuit(s, OR, first, list(rest))

    return either


def _negation(s: Staging) -> Callable[..., Any]:
    emitter = s.emitter

    def negation(value: Any) -> Any:
        return emitter.logical_not(emitter.condition(value)) if isinstance(value, Value) else not value

    return negation


def _chained(s: Staging) -> Callable[..., Any]:
    both = _both(s)

    def chain(names: tuple[str, ...], left: Any, right: Any, *rest: Callable[[], Any]) -> Any:
        return _chain(both, names, left, right, rest)

    return chain


def _conditional(s: Staging) -> Callable[..., Any]:
    def conditional(test: Any, a: Callable[[], Any], b: Callable[[], Any]) -> Any:
        if not isinstance(test, Value):
            return a() if test else b()
        return by_branch(s, s.emitter.condition(test), a, b)

    return conditional


def _called(s: Staging) -> Callable[..., Any]:
    def called(function: Any, *args: Any, **named: Any) -> Any:
        return call(s, function, args, named)

    return called


def _reduced(s: Staging) -> Callable[..., Any]:
    def reduced(function: Any, number: int, written: Callable[[], Any], *args: Any) -> Any:
        parsed = REDUCTIONS[number]
        return reduce(s, parsed, args) if function in _REDUCERS.get(parsed.name, ()) else written()

    return reduced


def _of_elements(s: Staging) -> Callable[..., Any]:
    def of_elements(function: Any, number: int, values: Any, *args: Any, **named: Any) -> Any:
        parsed = REDUCTIONS[number]
        if not goes_through(values) or function not in _REDUCERS.get(parsed.name, ()):
            return call(s, function, (values, *args), named)
        if not isinstance(values, StagedArray):
            # (A range has no first element to start from.)
            return reduce(s, parsed, (values, *args, *named.values())) if parsed.name not in ("min", "max") else call(s, function, (values, *args), named)
        if values.ndim > 1:
            s.emitter.fail(f"{parsed.name}() of {values.name}, which has {values.ndim} dimensions here: loop over its rows, as in for row in {values.name}")
        return reduce(s, parsed, (values, *args, *named.values()))

    return of_elements


def _hold(s: Staging) -> Callable[..., Any]:
    return s.emitter.snapshot


def _new(s: Staging) -> Callable[..., Any]:
    return s.new


#: Staged where an integer is raised to an exponent of run time.
_INTEGER_POWER: Final[Any] = whole_numbers.power


def _power(s: Staging) -> Callable[..., Any]:
    def power(a: Any, exponent: Any) -> Any:
        if isinstance(exponent, Value) and exponent.type.is_integer and not exponent.type.lanes and _is_whole(a):
            return inline(s, parse(_INTEGER_POWER), _INTEGER_POWER, (a, exponent), {})
        return constants.power(a, exponent)

    return power


def _is_whole(value: Any) -> bool:
    """Whether something is an integer, known while compiling or not."""
    if isinstance(value, Value):
        return value.type.is_integer and not value.type.lanes
    return type(value) is int or (constants.is_typed(value) and constants.type_of(value).is_integer)


#: What has members that are numbers.
_COLLECTIONS: Final = (tuple, list, set, frozenset, range, bytes, dict)


def _contained(s: Staging) -> Callable[..., Any]:
    def contained(value: Any, members: Any) -> Any:
        if isinstance(members, StagedArray):
            s.emitter.fail(f"`in` of an array: write any(v == x for x in {members.name})")
        if not isinstance(members, _COLLECTIONS) or not (isinstance(value, Value) or (type(members) in (tuple, list) and is_staged(tuple(members)))):
            return value in members
        if type(members) is range and members and isinstance(value, Value) and value.type.is_integer:
            low, high, step = min(members), max(members), abs(members.step)
            inside = functions.all([value >= low, value <= high])
            return inside if step == 1 else inside & ((I64(value) - low) % step == 0)
        return functions.any([value == member for member in members])

    return contained


def _compared(s: Staging) -> Callable[..., Any]:
    both = _both(s)

    def compared(a: Any, b: Any) -> Any:
        if type(a) is not tuple or type(b) is not tuple:
            return a is b if isinstance(a, StagedArray) or isinstance(b, StagedArray) else a == b
        if len(a) != len(b):
            return False
        if not a:
            return True
        return both(compared(a[0], b[0]), *[partial(compared, x, y) for x, y in zip(a[1:], b[1:], strict=True)])

    return compared


def _as_text(s: Staging) -> Callable[..., Any]:
    def as_text(value: Any) -> Any:
        refuse_text(s, value)
        return value

    return as_text


#: What makes each hook for a kernel being staged.
HOOKS: Final[dict[str, Callable[[Staging], Callable[..., Any]]]] = {
    AND_HOOK: _both,
    OR_HOOK: _either,
    NOT_HOOK: _negation,
    IF_HOOK: _conditional,
    CHAIN_HOOK: _chained,
    CALL_HOOK: _called,
    REDUCE_HOOK: _reduced,
    ELEMENTS_HOOK: _of_elements,
    HOLD_HOOK: _hold,
    POWER_HOOK: _power,
    NEW_HOOK: _new,
    ITEM_HOOK: item,
    IN_HOOK: _contained,
    SAME_HOOK: _compared,
    TEXT_HOOK: _as_text,
}


def _chain(both: Callable[..., Any], names: tuple[str, ...], left: Any, right: Any, rest: tuple[Callable[[], Any], ...]) -> Any:
    """A chain of comparisons: the first one, ``and`` the rest."""
    value = _COMPARE[names[0]](left, right)
    if not rest:
        return value

    def more() -> Any:
        return _chain(both, names[1:], right, rest[0](), rest[1:])

    return both(value, more)
