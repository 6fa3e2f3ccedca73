"""Functions of whole numbers that take a loop: staged in place of a call of ``math``'s or NumPy's, as a function of the user's would be.

In a module that is not compiled, because their text is what is staged.
"""

from __future__ import annotations

from typing import Any

__all__ = ["gcd", "lcm", "power"]


def gcd(a: Any, b: Any) -> Any:
    """The greatest number that divides both, and is not negative; of 0 and 0 it is 0."""
    # (Both have the type at which they meet.)
    zero = (a - a) + (b - b)
    a, b = abs(a + zero), abs(b + zero)
    while b != 0:
        a, b = b, a % b
    # (The least number of a type has no absolute value in it.)
    return abs(a)


def lcm(a: Any, b: Any) -> Any:
    """The least number that both divide, and is not negative; with a 0 it is 0."""
    zero = (a - a) + (b - b)
    a, b = abs(a + zero), abs(b + zero)
    x, y = a, b
    while y != 0:
        x, y = y, x % y
    x = abs(x)
    # (Division by 0 gives 0.)
    return a // x * b


def power(a: Any, n: Any) -> Any:
    """``a ** n`` by squaring, in the type at which both meet; 1 for a negative ``n``, which NumPy refuses."""
    base = a + (n - n)
    result = (base - base) + 1
    while n > 0:
        if n & 1 == 1:
            result = result * base
        base = base * base
        n = n >> 1
    return result
