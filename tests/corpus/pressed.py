"""A function with as many values at once as are asked for."""

from __future__ import annotations

import loopwright as lw


def totals(name: str, count: int) -> lw.Function:
    """``count`` running totals: spills from 14 of them on."""
    f = lw.Function(name, x=lw.Array[lw.i64], n=lw.i64, returns=lw.i64)
    with f:
        values = [f.var(lw.i64, k) for k in range(count)]
        with f.for_(f.n) as i:
            for k, value in enumerate(values):
                value.set(value * 3 + f.x[i + k])
        total = values[0].get()
        for value in values[1:]:
            total = total ^ value
        f.ret(total)
    return f
