"""Programs that spend their time calling: drivers, callbacks, chains of steps that may fail, argument lists of every length."""

from __future__ import annotations

import functools
from random import Random
from typing import Any, Final

from loopwright.corpus.programs.signatures import parameters
from loopwright.frontend.annotations import ArrayType
from loopwright.frontend.builder import Function
from loopwright.frontend.functions import max as lw_max
from loopwright.frontend.functions import min as lw_min
from loopwright.frontend.functions import select
from loopwright.ir.function import Function as IR
from loopwright.types import F32, F64, I32, I64

# --- what is called ----------------------------------------------------------------------------------------------


@functools.cache
def scale() -> Function:
    """x * k + 1"""
    f = Function("scale", x=F64, k=F64, returns=F64)
    with f:
        f.ret(f.x * f.k + 1.0)
    return f


@functools.cache
def mix() -> Function:
    """Two words of a hash mixed."""
    f = Function("mix", a=I64, b=I64, returns=I64)
    with f:
        f.ret((f.a ^ (f.b << 7)) + (f.b >> 3))
    return f


@functools.cache
def clamp() -> Function:
    """v between lo and hi"""
    f = Function("clamp", v=I64, lo=I64, hi=I64, returns=I64)
    with f:
        f.ret(lw_max(f.lo, lw_min(f.v, f.hi)))
    return f


@functools.cache
def distance() -> Function:
    """Square of a length."""
    f = Function("distance", x=F64, y=F64, z=F64, returns=F64)
    with f:
        f.ret(f.x * f.x + f.y * f.y + f.z * f.z)
    return f


@functools.cache
def blend(count: int) -> Function:
    """So many integers, weighted by their places."""
    f = Function(f"blend{count}", returns=I64, **parameters([f"a{k}" for k in range(count)], I64))
    with f:
        total = f["a0"]
        for k in range(1, count):
            total = total + f[f"a{k}"] * (k + 1)
        f.ret(total)
    return f


@functools.cache
def combine(count: int) -> Function:
    """So many floats in one number."""
    f = Function(f"combine{count}", returns=F64, **parameters([f"a{k}" for k in range(count)], F64))
    with f:
        total = f["a0"]
        for k in range(1, count):
            total = total * 0.5 + f[f"a{k}"]
        f.ret(total)
    return f


@functools.cache
def price() -> Function:
    """Arguments of four types."""
    f = Function("price", count=I64, each=F64, grade=I32, rebate=F32, returns=F64)
    with f:
        f.ret((f.each - F64(f.rebate)) * F64(f.count) + F64(f.grade))
    return f


@functools.cache
def step() -> Function:
    """A step that fails (-1) when it is given more than its limit."""
    f = Function("step", state=I64, limit=I64, returns=I64)
    with f:
        with f.if_(f.state > f.limit):
            f.ret(-1)
        f.ret(f.state + 3)
    return f


@functools.cache
def note() -> Function:
    """A callback without a result."""
    f = Function("note", at=I64, value=F64)
    with f:
        f.ret()
    return f


@functools.cache
def less() -> Function:
    """A comparison for sorting."""
    f = Function("less", a=I64, b=I64, returns=I64)
    with f:
        f.ret(select(f.a < f.b, f.const(I64, 1), 0))
    return f


# --- what calls --------------------------------------------------------------------------------------------------

_INTS: Final = ArrayType(I64, 1)
_FLOATS: Final = ArrayType(F64, 1)


def map_values(name: str, pick: Random) -> IR:
    """y[i] = g(x[i]), with constants that live across the call."""
    held = pick.randint(1, 10)
    f = Function(name, x=_FLOATS, y=_FLOATS, n=I64, **parameters([f"k{j}" for j in range(held)], F64))
    with f, f.for_(f.n) as i:
        value = f.call(scale(), f.x[i], f[f"k{pick.randrange(held)}"])
        for j in range(held):
            value = value + f[f"k{j}"] if pick.random() < 0.6 else value * f[f"k{j}"]
        f.y[i] = value
    return f.finish()


def fold_calls(name: str, pick: Random) -> IR:
    """Several running totals, all alive across each call."""
    totals = pick.randint(2, 9)
    f = Function(name, x=_INTS, n=I64, returns=I64)
    with f:
        held = [f.var(I64, pick.randint(0, 9), f"t{k}") for k in range(totals)]
        with f.for_(f.n) as i:
            value = f.call(mix(), f.x[i], held[0])
            for k, total in enumerate(held):
                total.set(total + value if k % 3 == 0 else total ^ (value >> k) if k % 3 == 1 else lw_max(total, value - k))
        result = held[0].get()
        for total in held[1:]:
            result = result ^ total
        f.ret(result)
    return f.finish()


def chain(name: str, pick: Random) -> IR:
    """Steps one after another; each may fail, and then what was done is taken back."""
    f = Function(name, start=I64, limit=I64, log=_INTS, returns=I64)
    with f:
        states: list[Any] = []
        state = f.start
        for k in range(pick.randint(3, 9)):
            result = f.call(step(), state, f.limit + pick.randint(0, 30))
            with f.if_(result < 0):
                for place, done in enumerate(states):
                    f.log[place] = f.call(clamp(), done, 0, 99) if pick.random() < 0.7 else done
                f.ret(-1 - k)
            states.append(result)
            state = result
        total = states[0]
        for done in states[1:]:
            total = total + done
        f.ret(total)
    return f.finish()


def many_arguments(name: str, pick: Random) -> IR:
    """Calls with more arguments than there are registers for them, in changing order."""
    count = pick.randint(5, 12)
    f = Function(name, returns=I64, **parameters([f"p{k}" for k in range(count)], I64))
    with f:
        values: list[Any] = [f[f"p{k}"] for k in range(count)]
        for _ in range(pick.randint(2, 4)):
            pick.shuffle(values)
            values[0] = f.call(blend(count), *values)
        f.ret(values[0] - values[-1])
    return f.finish()


def float_arguments(name: str, pick: Random) -> IR:
    """The same with floats."""
    count = pick.randint(6, 11)
    f = Function(name, x=_FLOATS, n=I64, returns=F64)
    with f:
        total = f.var(F64, 0.0, "total")
        with f.for_(f.n) as i:
            window = [f.x[i + k] for k in range(count)]
            pick.shuffle(window)
            one = f.call(combine(count), *window)
            total.set(total + f.call(combine(count), *reversed(window)) - one)
        f.ret(total)
    return f.finish()


def mixed_arguments(name: str, pick: Random) -> IR:
    """Integers and floats of two widths through one call."""
    f = Function(name, prices=_FLOATS, rebates=ArrayType(F32, 1), grades=ArrayType(I32, 1), counts=_INTS, n=I64, tax=F64, returns=F64)
    with f:
        total = f.var(F64, 0.0, "total")
        dearest = f.var(F64, -1.0, "dearest")
        with f.for_(f.n) as i:
            cost = f.call(price(), f.counts[i], f.prices[i], f.grades[i], f.rebates[i])
            if pick.random() < 0.5:
                cost = cost * f.tax
            with f.if_(cost > dearest):
                dearest.set(cost)
            total.set(total + cost)
        f.ret(total + dearest * float(pick.randint(1, 4)))
    return f.finish()


def report_loop(name: str, pick: Random) -> IR:
    """A loop that computes, and reports every so often."""
    terms = pick.randint(2, 7)
    f = Function(name, x=_FLOATS, n=I64, every=I64, returns=F64)
    with f:
        sums = [f.var(F64, 0.0, f"s{k}") for k in range(terms)]
        with f.for_(f.n) as i:
            value = f.x[i]
            power = value
            for total in sums:
                total.set(total + power)
                power = power * value
            with f.if_((i & f.every) == 0):
                f.call(note(), i, sums[pick.randrange(terms)])
        result = sums[0].get()
        for total in sums[1:]:
            result = result + total * 0.5
        f.ret(result)
    return f.finish()


def nested_calls(name: str, pick: Random) -> IR:
    """An expression whose operands are calls of calls."""
    f = Function(name, a=I64, b=I64, c=I64, d=I64, returns=I64)

    def expression(depth: int) -> Any:
        if depth == 0:
            return f[pick.choice("abcd")] if pick.random() < 0.8 else pick.randint(1, 99)
        kind = pick.random()
        if kind < 0.35:
            return f.call(mix(), expression(depth - 1), expression(depth - 1))
        if kind < 0.5:
            return f.call(clamp(), expression(depth - 1), f.a, f.b + 50)
        left, right = expression(depth - 1), expression(depth - 1)
        return left + right if kind < 0.7 else left - right if kind < 0.85 else left ^ right

    with f:
        f.ret(f.call(mix(), expression(pick.randint(2, 4)), expression(pick.randint(2, 4))))
    return f.finish()


def insertion_by_callback(name: str, pick: Random) -> IR:
    """Insertion sort with the comparison behind a call."""
    f = Function(name, x=_INTS, n=I64, returns=I64)
    with f:
        moves = f.var(I64, 0, "moves")
        with f.for_(1, f.n) as i:
            value = f.x[i]
            place = f.var(I64, i, "place")
            with f.while_(lambda: place > 0):
                before = f.x[place - 1]
                answer = f.call(less(), value, before)
                f.break_(0, answer == 0)
                f.x[place] = before
                place.set(place - 1)
                moves.set(moves + pick.randint(1, 5))
            f.x[place] = value
        f.ret(moves)
    return f.finish()


def bodies(name: str, pick: Random) -> IR:
    """Forces between all pairs of points, the distance by a call."""
    f = Function(name, x=_FLOATS, y=_FLOATS, z=_FLOATS, force=_FLOATS, n=I64, soft=F64)
    with f, f.for_(f.n) as i:
        xi, yi, zi = f.x[i], f.y[i], f.z[i]
        total = f.var(F64, 0.0, "total")
        with f.for_(f.n) as j:
            r = f.call(distance(), f.x[j] - xi, f.y[j] - yi, f.z[j] - zi) + f.soft
            law = pick.randrange(3)
            pull = 1.0 / r if law == 0 else f.soft / (r * r) if law == 1 else (r - f.soft) / (r * r + 1.0)
            total.set(total + pull)
        f.force[i] = total
    return f.finish()


def dispatch(name: str, pick: Random) -> IR:
    """A command read, a handler called, the state passed on."""
    handlers = [mix(), step(), less()]
    f = Function(name, commands=_INTS, operands=_INTS, n=I64, returns=I64)
    with f:
        state = f.var(I64, pick.randint(0, 100), "state")
        errors = f.var(I64, 0, "errors")
        with f.for_(f.n) as i:
            command = f.commands[i] & 7
            value = f.operands[i]
            for number in range(pick.randint(3, 7)):
                with f.if_(command == number) if number == 0 else f.elif_(command == number):
                    made = f.call(pick.choice(handlers), state, value + number)
                    if pick.random() < 0.4:
                        made = f.call(clamp(), made, -1000, 100000)
                    state.set(made)
            with f.else_():
                errors.set(errors + 1)
        f.ret(state * 16 + errors)
    return f.finish()


FAMILIES: Final = {
    made.__name__: made
    for made in (
        map_values,
        fold_calls,
        chain,
        many_arguments,
        float_arguments,
        mixed_arguments,
        report_loop,
        nested_calls,
        insertion_by_callback,
        bodies,
        dispatch,
    )
}
