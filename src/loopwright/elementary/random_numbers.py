"""Random numbers by counter: ``lw.philox``, ``lw.philox32`` and ``lw.uniform``.

Philox is a bijection of counters for each key (J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, *Parallel Random Numbers: As Easy as 1, 2, 3*, SC 2011, section 4.3): there is no state,
so that each iteration of a loop, in lanes too, takes the numbers of its own index.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from loopwright.errors import KernelTypeError
from loopwright.frontend import constants
from loopwright.frontend.arithmetic import mul_high
from loopwright.frontend.expr import Value, describe
from loopwright.types import F32, F64, I32, I64, U32, U64, Type

__all__ = ["philox", "philox32", "uniform"]

_ROUNDS: Final = 10
#: By the width of the words: the factors of a round, and what each round adds to the words of the key (section 4.3 and the paper's own code, Random123).
_FACTORS: Final = {32: (0xD2511F53, 0xCD9E8D57), 64: (0xD2E7470EE14C6C93, 0xCA5A826395121157)}
_STEPS: Final = {32: (0x9E3779B9, 0xBB67AE85), 64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}


def philox(counter: Any, key: Any) -> tuple[Any, Any, Any, Any]:
    """Four random u64 from a counter and a key, by Philox 4x64-10, which is NumPy's ``np.random.Philox``.

    NumPy counts before it draws: what ``np.random.Philox(key=key).random_raw()`` gives as its n-th number, from 0 on, is ``lw.philox(n // 4 + 1, key)[n % 4]``.

    Args:
        counter: an integer, or up to four of them, the lowest word first; each value of the run time is one word of 64 bits, a constant may have all 256.
        key: an integer, or two of them; a constant may have 128 bits.

    Raises:
        KernelTypeError: something else is given, or what the words have no room for.
    """
    return _philox("philox", U64, counter, key)


def philox32(counter: Any, key: Any) -> tuple[Any, Any, Any, Any]:
    """Four random u32 from a counter and a key, by Philox 4x32-10: as ``lw.philox`` with words of 32 bits, of which there are twice as many lanes. Of wider values the lower bits are taken."""
    return _philox("philox32", U32, counter, key)


def uniform(bits: Any) -> Any:
    """A random number from 0 to 1, which is left out, of random bits: an f64 of a u64, of 53 bits, or an f32 of a u32, of 24, as NumPy's ``random`` makes them.

    Raises:
        KernelTypeError: it is given something else than u32 or u64.
    """
    made = bits
    if isinstance(bits, Value):
        made = bits.emitter.staged(bits)
        bits.emitter.settle(made)
        type_ = made.type.element
    elif isinstance(bits, np.generic):
        type_ = constants.type_of(bits)
    else:
        raise KernelTypeError(f"lw.uniform takes random bits, u32 or u64, not {describe(bits)}")
    if type_ is U64:
        return _converted(_converted(made >> np.uint64(11), I64), F64) * 2.0**-53
    if type_ is U32:
        return _converted(_converted(made >> np.uint32(8), I32), F32) * 2.0**-24
    raise KernelTypeError(f"lw.uniform takes random bits, u32 or u64, not {type_}")


def _converted(value: Any, type_: Type) -> Any:
    return value.emitter.convert(value, type_) if isinstance(value, Value) else type_(value)


def _philox(name: str, type_: Type, counter: Any, key: Any) -> tuple[Any, Any, Any, Any]:
    words = _words(name, "counter", type_, counter, 4)
    keys = _words(name, "key", type_, key, 2)
    first, second = _FACTORS[type_.bits]
    mask = (1 << type_.bits) - 1
    a, b, c, d = words
    for n in range(_ROUNDS):
        k, j = [_sum(word, step * n & mask, mask) for word, step in zip(keys, _STEPS[type_.bits], strict=True)]
        high, low = _product(a, first, type_)
        other_high, other_low = _product(c, second, type_)
        a, b, c, d = other_high ^ b ^ k, other_low, high ^ d ^ j, low
    made = [word if isinstance(word, Value) else type_(word) for word in (a, b, c, d)]
    return made[0], made[1], made[2], made[3]


def _sum(word: Any, step: int, mask: int) -> Any:
    return word + step if isinstance(word, Value) else word + step & mask


def _product(word: Any, factor: int, type_: Type) -> tuple[Any, Any]:
    """The upper and the lower half of a product."""
    if isinstance(word, Value):
        return mul_high(word, factor), word * factor
    product = word * factor
    return product >> type_.bits, product & (1 << type_.bits) - 1


def _words(name: str, what: str, type_: Type, given: Any, count: int) -> list[Any]:
    """The words of a counter or a key: values of the type, and Python integers."""
    parts = given if type(given) in (tuple, list) else (given,)
    if not 1 <= len(parts) <= count:
        raise KernelTypeError(f"lw.{name} takes a {what} of up to {count} words, not {len(parts)}")
    words: list[Any] = []
    for part in parts:
        if isinstance(part, Value):
            made = part.emitter.staged(part)
            part.emitter.settle(made)
            if not made.type.is_integer:
                part.emitter.fail(f"lw.{name} takes integers as its {what}, not {made.type}: convert it, as in lw.{type_}(x)")
            words.append(part.emitter.convert(made, type_))
            continue
        if isinstance(part, (bool, np.bool_)) or not isinstance(part, (int, np.integer)):
            raise KernelTypeError(f"lw.{name} takes integers as its {what}, not {describe(part)}")
        number, room = int(part), count if len(parts) == 1 else 1
        if number < 0 or number >> type_.bits * room:
            raise KernelTypeError(
                f"lw.{name} takes a {what} from 0 to 2**{type_.bits * room} - 1, not {describe(part)}: {room} words of {type_.bits} bits have no room for it"
            )
        words.extend([number >> type_.bits * k & (1 << type_.bits) - 1 for k in range(room)])
    return words + [0] * (count - len(words))
