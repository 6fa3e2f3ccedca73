# ruff: noqa
"""What kernels mean: each is run by the interpreter as staged, and as the Python function it is written as."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import loopwright as lw

CASES: list[Any] = []
rng = np.random.default_rng(0)


def floats(n: Any) -> Any:
    return rng.standard_normal(n).astype(np.float32)


def ints_(n: int, low: int = -50, high: int = 50, type_: Any = np.int32) -> Any:
    return rng.integers(low, high, n).astype(type_)


def case(*args: Any, **constants: Any) -> Any:
    """Test a kernel with these arguments."""

    def add(function: Any) -> Any:
        CASES.append(pytest.param(lw.kernel(function), args, constants, id=function.__name__))
        return function

    return add


@case(floats(37), floats(37))
def absolute_value(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        v = x[i]
        if v < 0:
            v = -v
        y[i] = v


@case(floats(37), floats(37))
def clamp(x: lw.Array, y: lw.Array):
    def f(v):
        if v < -0.5:
            return -0.5
        if v > 0.5:
            return 0.5
        return v

    for i in lw.lanes(len(x)):
        y[i] = f(x[i])


@case(floats(37), floats(37))
def numbers_meet_by_lane(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        w = 0.0
        if x[i] > 0:
            w = 1.0
        y[i] = w * x[i]


@case(floats(37), floats(37))
def edges(x: lw.Array, y: lw.Array):
    n = len(x)
    for i in lw.lanes(n):
        if i > 0 and i < n - 1:
            y[i] = x[i - 1] + x[i + 1]
        elif i == 0:
            y[i] = 7.0
        else:
            y[i] = 9.0


@case(floats(37), floats(37))
def conditional_expression_guards_its_loads(x: lw.Array, y: lw.Array):
    n = len(x)
    for i in lw.lanes(n):
        y[i] = x[i + 1] if i + 1 < n else x[i]


@case(floats(20))
def count(x: lw.Array) -> lw.i64:
    c = 0
    for i in lw.lanes(len(x)):
        if x[i] > 0:
            c += 1
    return c


@case(floats(20))
def greatest_of_an_array(x: lw.Array) -> lw.f32:
    m = x[0]
    for i in lw.lanes(len(x)):
        m = max(m, x[i])
    return m


@case(floats(21))
def while_by_lane(x: lw.Array) -> lw.f32:
    for i in lw.lanes(len(x)):
        v = x[i]
        k = 0
        while v * v < 4.0 and k < 6:
            v = v * 1.5 + 0.25
            k += 1
        x[i] = v + k
    return x[0]


@case(floats(21))
def break_and_continue_by_lane(x: lw.Array):
    for i in lw.lanes(len(x)):
        v = x[i]
        s = 0.0
        for k in lw.range(10):
            if v > 3:
                break
            if v > 1:
                v = v * 1.1
                continue
            v = v + 0.5
            s += v
        x[i] = v + s


@case(floats(21))
def break_by_lane_out_of_an_unrolled_loop(x: lw.Array):
    for i in lw.lanes(len(x)):
        v = x[i]
        for c in (0.5, 0.25, 1.5):
            if v > c:
                break
            v += c
        x[i] = v


@case(floats(21))
def while_true_by_lane(x: lw.Array):
    for i in lw.lanes(len(x)):
        v = x[i]
        while True:
            v = v + 1
            if v > 4:
                break
        x[i] = v


@case(floats(8), 3)
def collatz(x: lw.Array, n: lw.i64) -> lw.i64:
    k = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        k += 1
    return k


@case(rng.integers(0, 10, 25).astype(np.int64), 4)
def return_from_a_loop(x: lw.Array, v: lw.i64) -> lw.i64:
    for i in lw.range(len(x)):
        if x[i] == v:
            return i
    return -1


@case(rng.integers(0, 10, (4, 6)).astype(np.int32), 4)
def break_from_two_loops(x: lw.Array[lw.i32, 2], v: lw.i64) -> lw.i64:
    r = -1
    for i in lw.range(x.shape[0]):
        for j in lw.range(x.shape[1]):
            if x[i, j] == v:
                r = i * 10 + j
                break
        if r >= 0:
            break
    return r


@case(5, 3)
def swap(a: lw.i64, b: lw.i64) -> lw.i64:
    x = a
    y = b
    for i in lw.range(3):
        t = x
        x = y
        y = t
        x, y = y, x + 1
    return x * 100 + y


@case(5, 3)
def fib(a: lw.i64, b: lw.i64) -> lw.i64:
    x, y = 0, 1
    while x < 100 or y < 50:
        x, y = y, x + y
    return x


def helper(v, w):
    for i in lw.range(10):
        if v + i > w:
            return i
        if i == 5:
            return -5
    return 99


@case(5, 9)
def early_returns_of_an_inlined_function(a: lw.i64, b: lw.i64) -> lw.i64:
    return helper(a, b) * 100 + helper(b, 200)


@case(5, 9)
def conditions(a: lw.i64, b: lw.i64) -> lw.i64:
    r = 0
    if 3 < a < b:
        r += 1
    if a > b or not (b > 100 and a == 2) or a == 77:
        r += 10
    c = a < b and (b < 5 or a > 2)
    if c:
        r += 100
    if not c:
        r += 1000
    d = 5 if a > b else 7
    e = max(b, a)
    return r + d * 10000 + e * 100000


@case(5, 2.5)
def numpy_promotion(a: lw.i32, b: lw.f32) -> lw.f64:
    return a * b + a // 2 + a % 3 + a / 2 + b**3 - abs(-a) + min(a, 3) + max(b, 1.0)


@case(5, 2.5)
def run_time_break_in_an_unrolled_loop(a: lw.i64, b: lw.f64) -> lw.f64:
    s = 0.0
    for c in (1.0, 2.0, 3.0, 4.0):
        if b < c:
            break
        if a == 4:
            continue
        s = s + c
    k = 0
    while k < 5:
        s += k
        k += 1
    return s


@case(5, 0)
def chain_of_elif(a: lw.i64, b: lw.i64) -> lw.i64:
    if a == 1:
        r = 10
    elif a == 2 and b == 0:
        r = 20
    elif a == 5:
        r = 30
    elif b == 7:
        r = a
    else:
        r = 50
    return r


@case(np.arange(30).reshape(5, 6).astype(np.float64), np.zeros((5, 6)))
def blur(s: lw.Array, d: lw.Array):
    for r in lw.range(1, s.shape[0] - 1):
        for c in lw.lanes(1, s.shape[1] - 1):
            t = 0.0
            for dr in (-1, 0, 1):
                for dc in (-1, 0, 1):
                    t += s[r + dr, c + dc]
            d[r, c] = t / 9


@case(np.arange(30).astype(np.uint8), np.zeros(30, np.float32))
def conversion_to_a_wider_type(s: lw.Array, d: lw.Array):
    for c in lw.lanes(len(s)):
        if s[c] > 5:
            d[c] = lw.f32(s[c]) * 2 + lw.f32(lw.i32(c))


@case(np.arange(30).astype(np.int32))
def division_only_where_lanes_run(s: lw.Array):
    for c in lw.lanes(len(s)):
        if s[c] != 0:
            s[c] = 1000 // s[c] + 7 % s[c]


@case(floats(30), floats(30))
def uniform_loop_in_lanes(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x) - 4):
        acc = 0.0
        for k in lw.range(4):
            acc = acc + x[i + k] * x[k]
        y[i] = acc


@case(floats(30), np.arange(30).astype(np.int32) % 7)
def range_with_bounds_by_lane(x: lw.Array, n: lw.Array):
    for i in lw.lanes(len(x)):
        acc = 0.0
        for k in lw.range(1, n[i]):
            if k == 4:
                continue
            acc += k * x[i]
        x[i] = acc


@case(floats(30))
def uniform_load_under_a_condition(x: lw.Array):
    for i in lw.lanes(len(x)):
        if x[i] > 100:
            x[i] = x[1000]
        else:
            x[i] = x[i] - x[2] if x[i] > x[2] else x[i]


@case(floats(30), floats(30))
def reductions_of_every_form(x: lw.Array, y: lw.Array) -> lw.f64:
    a = 1.0
    b = lw.f32(3)
    m = 1
    s = lw.f64(0)
    for i in lw.lanes(len(x)):
        a = lw.fma(x[i], y[i], a)
        b += x[i] + y[i]
        if i < 10:
            m *= 2
        s -= x[i]
    return a + b + m + s


@case(floats(30), 4)
def variables_written_in_branches(x: lw.Array, a: lw.i64) -> lw.f32:
    found = False
    last = x[0]
    for i in lw.range(len(x)):
        if x[i] > 1.0:
            found = True
            last = x[i]
        elif x[i] < -1:
            continue
    if found and a > 2:
        return last
    else:
        return x[0]


@case(7, 3)
def constant_steps(a: lw.i64, b: lw.i64) -> lw.i64:
    s = 0
    for i in lw.range(0, 20, b):
        if i == 6:
            continue
        s = s * 10 + i
        if i > 14:
            break
    for i in lw.range(10, 0, -3):
        s += i
    for i in range(a):
        s += i
    return s


@case(ints_(20), 7)
def nested_loops(x: lw.Array, v: lw.i64) -> lw.i64:
    count = 0
    last = -1
    for i in lw.range(len(x)):
        for j in lw.range(i, len(x)):
            if x[j] < 0:
                continue
            if x[i] + x[j] > 60:
                last = j
                break
            count += 1
            if count > 100:
                return -count
        else_ = 1
        if last == 3:
            break
        count += else_
    return count * 100 + last


@case(ints_(20), 7)
def return_without_value(x: lw.Array, v: lw.i64):
    i = 0
    while True:
        if i >= len(x):
            return
        x[i] += 1
        i += 1
        if x[i - 1] > 45:
            return
        if i == 1000:
            break
    x[0] = 99


@case(3, 4)
def tuples_and_lists_keep_values(a: lw.i64, b: lw.i64) -> lw.i64:
    x, y = a, b
    r = 0
    for i in lw.range(5):
        pair = (x, y)
        lst = [x, y, x + y]
        x = x + 1
        y = y * 2 % 17
        r = r * 3 + pair[0] + pair[1] * 5 + sum(lst) + max(lst) + min(*lst)
        f = lambda k: x * k
        x += 1
        r += f(2)
    return r % 100003


@case(floats(20), floats(20))
def comprehensions(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x) - 3):
        v = [x[i + k] for k in range(3)]
        w = {k: v[k] * 2 for k in range(3)}
        y[i] = max(v) + sum(v) + w[1] - min(v[0], v[1])


def applied(f, *values):
    return f(*values)


@case(ints_(9), ints_(9))
def names_read_behind_a_lambda(x: lw.Array, y: lw.Array):
    z = lw.i32(0)
    w = lw.i32(1)
    for i in lw.range(len(x)):
        y[i] = applied(lambda q, k=3: q + k, z) + w
        z = x[i]
        if z > 0:
            w = z * 2


@case(ints_(9), ints_(9))
def names_that_comprehensions_and_lambdas_bind(x: lw.Array, y: lw.Array):
    e = 3
    f = lw.i32(7)
    for i in lw.range(len(x) - 3):
        v = [x[i + e] for e in range(4)]
        w = {e: x[i + e] for e in range(2)}
        s = sum(x[i + e] + f for e in range(2) if e < 2)
        g = lambda e, k=f: v[e] + k
        e = 1
        v[e] = w[e - 1] + s
        for e, k in ((0, 1), (2, 3), (0, 2)):
            v[e], v[k] = lw.min(v[e], v[k]), lw.max(v[e], v[k])
        y[i] = g(e) + sum([f for f in v])
        f = v[3]


@case(ints_(9), ints_(9))
def defaults_and_arguments_by_name_keep_values(x: lw.Array, y: lw.Array):
    z = lw.i32(2)
    for i in lw.range(len(x)):
        f = lambda v, z=z: v * z
        g = lambda v, *, z=z: v + z * 3
        h = partial(applied_to, v=z)
        d = dict(z=z)
        z = x[i]
        y[i] = f(x[i]) + g(i) * 5 + h(lambda v: v * 7) + d["z"] * 11


def applied_to(f, v):
    return f(v)


@case(ints_(9), ints_(9))
def operators_that_give_an_operand_give_its_value(x: lw.Array, y: lw.Array):
    z = lw.i32(2)
    c = lw.complex128(1, 2)
    for i in lw.range(len(x)):
        f = lambda q=z**1: q
        v = [+c, c + 0, c**1]
        w = (+z, c.real)
        z = x[i]
        c = c * 1j + 1
        y[i] = f() + w[0] * 3 + lw.i32(v[0].real + v[1].real * 5 + v[2].imag * 7 + w[1])


@lw.kernel
def inner_k(a: lw.f32, b: lw.f32) -> lw.f32:
    if a > b:
        return a - b
    return b - a


def deflt(a, b=2.0, *more, scale=1.0, **kw):
    t = a * b
    for m in more:
        t = t + m
    if kw:
        t = t * kw["z"]
    return t * scale


@case(floats(20), floats(20))
def inlined_calls(x: lw.Array, y: lw.Array):
    def loc(v, d=x[0]):
        if v > 0.3:
            return v + d
        elif v < -0.3:
            q = v * v
            return q
        return v

    t = x[0]
    for i in lw.range(len(x)):
        y[i] = loc(x[i]) + deflt(x[i]) + deflt(x[i], 3.0, 4.0, scale=x[1]) + deflt(x[i], z=2.0)


@case(floats(20), floats(20))
def inlined_calls_in_lanes(x: lw.Array, y: lw.Array):
    def loc(v):
        if v > 0.3:
            return v + 1
        elif v < -0.3:
            q = v * v
            return q
        return v

    for i in lw.lanes(len(x)):
        y[i] = loc(x[i]) + deflt(x[i]) + deflt(x[i], 3.0, 4.0, scale=x[i])


@case(floats((6, 21)), np.zeros(6, np.float32))
def reductions_in_an_outer_loop(x: lw.Array, y: lw.Array) -> lw.f32:
    t = 0.0
    big = x[0, 0]
    for r in lw.range(x.shape[0]):
        s = 0.0
        for c in lw.lanes(x.shape[1]):
            s += x[r, c]
            t += x[r, c] * 2
            if x[r, c] > 0:
                big = max(big, x[r, c] + lw.f32(r))
        y[r] = s
    return t + big


@case(floats(33), floats(33))
def nested_conditions_by_lane(x: lw.Array, y: lw.Array) -> lw.f32:
    n = 0.0
    for i in lw.lanes(len(x)):
        v = x[i]
        t = 0.0
        if v > 0:
            t = v
            if y[i] > 0:
                t = t + y[i]
                n += t
            else:
                for k in lw.range(3):
                    t = t * 0.5 + lw.f32(k)
                    if t > 2:
                        v = t
        elif v < -1:
            t = -1.0
        y[i] = t + v
    return n


@case(floats(33))
def branches_on_uniform_values_in_lanes(x: lw.Array):
    for i in lw.lanes(len(x)):
        v = x[i]
        for k in lw.range(4):
            if k == 2:
                continue
            if k % 2 == 0:
                v = v + 1
            else:
                v = v * 2
            w = v
            if w > 3:
                w = 3.0
            v = w
        x[i] = v


@case(ints_(33, 0, 255, np.uint8), ints_(33, 0, 255, np.uint8))
def bytes_by_lane(x: lw.Array, y: lw.Array):
    for i in lw.lanes(1, len(x) - 1):
        a = max(x[i - 1], x[i], x[i + 1])
        if a > 200:
            a = a - 200
        y[i] = (a ^ 0x5A) & ~x[i] | 3


@case(ints_(33), ints_(33, 1, 20))
def integer_operators(x: lw.Array, y: lw.Array):
    for i in lw.range(len(x)):
        a = x[i]
        b = y[i]
        q = a // b
        r = a % b
        a <<= 2
        s = (a >> 1) ^ (q | r)
        y[i] = s + lw.div_trunc(a, b) * 0 + abs(a) - (-q) + lw.select(a > b, q, r) + (a // -3) + (a % -7)


@case(5, 2.0, True)
def scalars_of_every_kind(n: lw.i32, f: lw.f32, flag: lw.bool_) -> lw.f64:
    r = 1 if flag else 2.5
    s = 0.0
    if flag and n > 3:
        s = 1.0
    k = 3
    if f > 1:
        k = 4
    found = False
    for i in lw.range(n):
        if i == 3:
            found = True
    return r + s + lw.f64(k * n) + (7 if found else 9)


@case(5, 2)
def while_that_starts_while_compiling(n: lw.i64, f: lw.i64) -> lw.i64:
    i = 0
    while i < 7:
        i = i + (f if i > 2 else 1)
    return i


@case(floats(9), c=(1.5, 0.0, 2.0), n=2)
def constants_and_defaults(x: lw.Array, c: lw.Const, n=3) -> lw.f32:
    t = x[0]
    assert len(c) == 3
    for j, v in enumerate(c):
        if v == 0:
            continue
        for k in lw.range(len(x)):
            if x[k] > v:
                break
            t += v * x[k] * n
        if t > 100:
            break
    z = lw.f32(2)
    return t * z + x.ndim + lw.f32(x.shape[0])


@case(floats(9), 0.5)
def conditions_guard_what_they_skip(x: lw.Array, a: lw.f32) -> lw.f32:
    b = a if a > 0.25 else x[len(x) + 5000000] if a < -1 else x[1]
    c = (x[0] if a > 1 else x[1]) if a > -5 else 0.0
    if not (a > 3):
        if a > 2 or a < 1 and x[0] < 100 or x[99999999] > 1:
            b += 1
        elif a > 5:
            b += 2
    else:
        b = 0.0
    while a < 3 and (b < 10 or c < 4):
        a = a + 0.5
        b = b + 1
        if b > 9:
            continue
        c = c + 1
    return b + c + a


@case(ints_(12), ints_(12, 1, 9), 2, -3)
def steps_at_run_time(x: lw.Array, y: lw.Array, s: lw.i64, m: lw.i64) -> lw.i64:
    t = 0
    for i in lw.range(10, 0, m):
        t = t * 3 + i
        if t > 500:
            continue
        t += 1
    for i in lw.range(0, len(x), s):
        if x[i] > 40:
            break
        t += x[i]
    for i in lw.range(len(x)):
        for k in lw.range(y[i]):
            if k == 5:
                break
            t += k
    return t


@case(floats(37), floats(37))
def while_by_lane_with_break_and_continue(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        a = x[i]
        n = 0
        while a > -2:
            a = a - 0.5
            n += 1
            if n > 3:
                if y[i] > 0:
                    break
            if a < 0:
                continue
            a = a - 0.25
        y[i] = a + n


@case(floats(37), floats(37))
def unrolled_loop_that_lanes_leave(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        a = x[i]
        n = 0.0
        for c in (0.1, 0.2, 0.4, 0.8):
            if a < c:
                continue
            n = n + c
            if n > 0.5:
                break
            a = a - c
        y[i] = a + n


@case(floats(37), np.zeros(37))
def loops_of_several_widths(x: lw.Array, y: lw.Array):
    for i in lw.lanes(len(x)):
        y[i] = x[i]
    for i in lw.lanes(len(x)):
        if y[i] > 0 and x[i] < 1:
            x[i] = y[i] * 2
    for i in lw.lanes(len(x)):
        x[i] = x[i] + i


@case(floats(37))
def least_and_greatest(x: lw.Array) -> lw.f32:
    lo = 1e30
    hi = lw.f32(-5)
    p = 1.0
    for i in lw.lanes(3, len(x)):
        lo = min(x[i], lo)
        hi = lw.max(hi, x[i], x[i - 1])
        p = p * x[i] * 1.1
    return lo + hi + p


@case(ints_(37))
def bitwise_reductions(x: lw.Array) -> lw.i64:
    a = 255
    o = lw.i32(0)
    e = 5
    for i in lw.lanes(len(x)):
        a &= x[i] | 0xF0
        o |= x[i]
        e ^= x[i]
    return a * 1000000 + o * 1000 + e


@case(floats(37), floats(37), 3)
def uniform_and_varying_conditions(x: lw.Array, y: lw.Array, n: lw.i64):
    for i in lw.lanes(len(x)):
        if n > 2 and x[i] > 0:
            y[i] = 1
        elif n > 5:
            y[i] = 2
        if n > 2 and n < 4:
            k = n
        else:
            k = n + 1
        x[i] = x[i] * lw.f32(0.5) + lw.f32(k) if n == 3 or x[i] > 4 else 0.0


@case(floats(20), floats(20))
def variables_of_successive_loops(x: lw.Array, y: lw.Array) -> lw.f32:
    s = x[0]
    for i in lw.range(3):
        s = s + x[i]
    t = s
    s = s * 2
    for i in lw.range(3):
        s = s + t
        t = s - t
    u = s
    for i in lw.range(2):
        s = s * 0.5
    return s + t * 100 + u


@case(floats(20), floats(20), sign=1)
def asking_all_lanes(x: lw.Array, y: lw.Array, sign: lw.Const):
    for i in lw.lanes(len(x)):
        positive = x[i] > 0
        known = sign > 0
        if lw.any(positive) and lw.any(known):
            if positive:
                y[i] = 1
        if lw.all(positive) or not lw.all(known):
            if positive:
                y[i] += 1
        elif positive:
            y[i] += 1


@case(ints_(37, 0, 100, np.uint8), ints_(37, -100, 100, np.int8))
def numbers_taken_away_by_lane(x: lw.Array, y: lw.Array) -> lw.i64:
    t = lw.u8(7)
    u = lw.i8(7)
    for i in lw.lanes(len(x)):
        t -= 129
        t = t - x[i] - 200
        u -= -128
        u -= y[i]
    return lw.i64(t) * 256 + lw.i64(u)


UNSIGNED = np.array([0, 5, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1] * 5, np.uint64)
SIGNED = np.array([-1, 0, 5, 2**53, 2**63 - 1, -(2**63)] * 5, np.int64)
rng.shuffle(UNSIGNED)


@case(UNSIGNED, SIGNED, UNSIGNED // np.uint64(3), np.zeros(30, np.int32), np.uint64(7), np.int8(-1))
def signed_and_unsigned(x: lw.Array, y: lw.Array, z: lw.Array, out: lw.Array, u: lw.u64, s: lw.i8):
    for i in lw.lanes(len(x)):
        out[i] = lw.i32(x[i] < y[i]) + lw.i32(x[i] <= y[i]) * 2 + lw.i32(x[i] == y[i]) * 4 + lw.i32(x[i] != y[i]) * 8
        out[i] += lw.i32(x[i] > y[i]) * 16 + lw.i32(y[i] >= x[i]) * 32 + lw.i32(y[i] < x[i]) * 64 + lw.i32(x[i] > s) * 128
        out[i] += lw.i32(y[i] == u) * 256 + lw.i32(s < u) * 512 + lw.i32(i < z[i]) * 1024 + lw.i32(x[i] > lw.i64(-3)) * 2048


@pytest.mark.parametrize(("kernel", "args", "constants"), CASES)
def test_a_kernel_means_what_its_python_function_means(agrees, kernel, args, constants):
    agrees(kernel, *args, **constants)
