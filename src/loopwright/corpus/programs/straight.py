"""Programs with long straight pieces and many values alive at once: hashes, transforms, networks, formulas."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from loopwright.corpus.programs.signatures import parameters
from loopwright.frontend.annotations import ArrayType
from loopwright.frontend.builder import Function
from loopwright.frontend.functions import max as lw_max
from loopwright.frontend.functions import min as lw_min
from loopwright.frontend.functions import select, sqrt
from loopwright.ir.function import Function as IR
from loopwright.types import F32, F64, I32, I64

_INTS: Final = ArrayType(I64, 1)


def hash_rounds(name: str, pick: Random) -> IR:
    """Words of state mixed by additions, exclusive ors and rotations, block by block."""
    words = pick.choice([3, 4, 4, 6, 8, 12, 16])
    f = Function(name, x=_INTS, n=I64, key=I64, returns=I64)
    with f:
        state = [f.var(I64, f.key ^ pick.randint(1, 1 << 40) if k % 2 else pick.randint(1, 1 << 40), f"s{k}") for k in range(words)]

        def rotated(value: Any, by: int) -> Any:
            return (value << by) ^ ((value >> (64 - by)) & ((1 << by) - 1))

        with f.for_(f.n) as i:
            state[0].set(state[0] ^ f.x[i])
            for _ in range(pick.randint(1, 2)):
                for k in range(words):
                    a, b = state[k], state[(k + 1) % words]
                    a.set(a + b)
                    c = state[(k + words // 2) % words] if words > 3 else state[(k + 2) % words]
                    c.set(rotated(c ^ a, pick.randint(3, 40)))
        result = state[0].get()
        for one in state[1:]:
            result = result ^ one
        f.ret(result)
    return f.finish()


def sorting_network(name: str, pick: Random) -> IR:
    """A few values loaded, sorted by comparators, stored again; or the middle one of them."""
    kind = pick.choice([I32, I64, F32, F64])
    count = pick.randint(3, 12)
    median = pick.random() < 0.4
    f = Function(name, x=ArrayType(kind, 1), out=ArrayType(kind, 1), n=I64)
    with f, f.for_(f.n) as i:
        values = [f.x[i + k] for k in range(count)]
        for turn in range(count):
            for k in range(turn & 1, count - 1, 2):
                values[k], values[k + 1] = lw_min(values[k], values[k + 1]), lw_max(values[k], values[k + 1])
        if median:
            f.out[i] = values[count // 2]
        else:
            for k in range(count):
                f.out[i + k] = values[k]
    return f.finish()


def butterflies(name: str, pick: Random) -> IR:
    """A Fourier transform of 4 or 8 complex values, with twiddles, over the rows of a plane."""
    size = pick.choice([4, 4, 8])
    kind = pick.choice([F32, F64])
    f = Function(name, re=ArrayType(kind, 2), im=ArrayType(kind, 2), n=I64, scale=kind)
    with f, f.for_(f.n) as i:
        data = [(f.re[i, k], f.im[i, k]) for k in range(size)]
        half = size // 2
        while half:
            made = list(data)
            for start in range(0, size, 2 * half):
                for k in range(half):
                    (ar, ai), (br, bi) = data[start + k], data[start + k + half]
                    made[start + k] = (ar + br, ai + bi)
                    dr, di = ar - br, ai - bi
                    if k == 0:
                        made[start + k + half] = (dr, di)
                    else:
                        wr, wi = round(pick.uniform(-1, 1), 4), round(pick.uniform(-1, 1), 4)
                        made[start + k + half] = (dr * wr - di * wi, dr * wi + di * wr)
            data = made
            half //= 2
        for k, (r, m) in enumerate(data):
            f.re[i, k] = r * f.scale
            f.im[i, k] = m * f.scale
    return f.finish()


def cosine_transform(name: str, pick: Random) -> IR:
    """Eight values through sums, differences and a few constants, along rows or columns."""
    kind = pick.choice([F32, F64, I32])
    rows = pick.random() < 0.5
    f = Function(name, x=ArrayType(kind, 2), n=I64)

    def times(value: Any) -> Any:
        return (value * pick.randint(100, 900)) >> 8 if kind is I32 else value * round(pick.uniform(0.1, 1), 4)

    with f, f.for_(f.n) as i:

        def at(k: int) -> Any:
            return (i, k) if rows else (k, i)

        v = [f.x[at(k)] for k in range(8)]
        a = [v[k] + v[7 - k] for k in range(4)]
        b = [v[k] - v[7 - k] for k in range(4)]
        c = [a[0] + a[3], a[1] + a[2], a[0] - a[3], a[1] - a[2]]
        z = times(c[2] + c[3])
        out = [c[0] + c[1], c[0] - c[1], z + c[2], z - c[3]]
        d = [b[0] + b[1], b[1] + b[2], b[2] + b[3]]
        y = times(d[0] - d[2])
        p, q, s = times(d[0]) + y, times(d[2]) + y, times(d[1])
        u, w = b[0] + s, b[0] - s
        out += [u + p, u - p, w + q, w - q]
        for k in range(8):
            f.x[at(k)] = out[k]
    return f.finish()


def small_matrices(name: str, pick: Random) -> IR:
    """Products, determinants or inverses of matrices of 2 to 4 rows, in variables."""
    kind = pick.choice([F32, F64])
    size = pick.choice([2, 3, 3, 4])
    way = pick.choice(["product", "determinant", "apply"])
    plane = ArrayType(kind, 2)
    f = Function(name, a=plane, b=plane, out=plane, n=I64)
    with f, f.for_(f.n) as i:
        a = [[f.a[i, (r * size + c) % 16] for c in range(size)] for r in range(size)]
        if way == "determinant":

            def determinant(rows: list[list[Any]]) -> Any:
                if len(rows) == 1:
                    return rows[0][0]
                total = None
                for c in range(len(rows)):
                    term = rows[0][c] * determinant([row[:c] + row[c + 1 :] for row in rows[1:]])
                    total = term if total is None else total - term if c % 2 else total + term
                return total

            f.out[i, 0] = determinant(a)
            continue_ = False
        else:
            continue_ = True
        if continue_:
            columns = size if way == "product" else 1
            b = [[f.b[i, (r * columns + c) % 16] for c in range(columns)] for r in range(size)]
            for r in range(size):
                for c in range(columns):
                    total = a[r][0] * b[0][c]
                    for k in range(1, size):
                        total = total + a[r][k] * b[k][c]
                    f.out[i, (r * columns + c) % 16] = total
    return f.finish()


def formula(name: str, pick: Random) -> IR:
    """An expression of many operations over a handful of parameters."""
    count = pick.randint(2, 9)
    kind = pick.choice([F64, F32, I64, I32])
    f = Function(name, returns=kind, **parameters([f"p{k}" for k in range(count)], kind))
    with f:
        values = [f[f"p{k}"] for k in range(count)]
        # How far back operands are taken from: how many values are alive at once.
        span = pick.choice([4, 8, 12, 20, 30, 45])
        for _ in range(pick.randint(8, 90)):
            a, b = pick.choice(values[-span:]), pick.choice(values)
            way = pick.random()
            if way < 0.3:
                made = a + b
            elif way < 0.5:
                made = a - b
            elif way < 0.75:
                made = a * b if kind.is_float else a * pick.randint(2, 9) + b
            elif way < 0.85:
                made = lw_max(a, b)
            elif way < 0.92:
                made = select(a < b, b, a)
            elif kind.is_float:
                made = sqrt(abs(a) + 1.0) if way < 0.96 else a / (abs(b) + 1.0)
            else:
                made = a ^ b if way < 0.96 else (a >> pick.randint(1, 7)) + b
            values.append(made)
        result = values[-1]
        for value in values[-pick.randint(2, 6) : -1]:
            result = result + value
        f.ret(result)
    return f.finish()


def polynomials(name: str, pick: Random) -> IR:
    """Several polynomials and a quotient of two, by Horner's rule or by halves, for each element."""
    kind = pick.choice([F32, F64])
    f = Function(name, x=ArrayType(kind, 1), y=ArrayType(kind, 1), n=I64)

    def polynomial(x: Any, degree: int) -> Any:
        coefficients = [round(pick.uniform(-1, 1), 4) for _ in range(degree + 1)]
        if pick.random() < 0.5 or degree < 4:
            total = x * coefficients[-1] + coefficients[-2]
            for c in reversed(coefficients[:-2]):
                total = total * x + c
            return total
        square = x * x
        even, odd = [coefficients[k::2] for k in (0, 1)]
        parts = []
        for half in (even, odd):
            total = square * half[-1] + (half[-2] if len(half) > 1 else 0.5)
            for c in reversed(half[:-2]):
                total = total * square + c
            parts.append(total)
        return parts[0] + parts[1] * x

    with f, f.for_(f.n) as i:
        x = f.x[i]
        results = [polynomial(x, pick.randint(2, 9)) for _ in range(pick.randint(1, 4))]
        total = results[0]
        for one in results[1:]:
            total = total / (abs(one) + 1.0) if pick.random() < 0.4 else total * one
        f.y[i] = total
    return f.finish()


def colours(name: str, pick: Random) -> IR:
    """Pixels of three or four planes through a matrix, with limits, and perhaps in fixed point."""
    fixed = pick.random() < 0.5
    planes = pick.choice([3, 3, 4])
    kind = I32 if fixed else F32
    row = ArrayType(kind, 1)
    f = Function(name, n=I64, top=kind, **parameters([f"{where}{p}" for where in "xy" for p in range(planes)], row))
    with f, f.for_(f.n) as i:
        values = [f[f"x{p}"][i] for p in range(planes)]
        for p in range(planes):
            total: Any = None
            for value in values:
                term = value * (pick.randint(-60, 256) if fixed else round(pick.uniform(-0.5, 1), 3))
                total = term if total is None else total + term
            if fixed:
                total = (total + 128) >> 8
            if pick.random() < 0.8:
                total = lw_min(lw_max(total, 0 if fixed else 0.0), f.top)
            f[f"y{p}"][i] = total
    return f.finish()


def bit_tricks(name: str, pick: Random) -> IR:
    """Counts, reversals, interleavings and checks of bits, a word at a time."""
    f = Function(name, x=_INTS, out=_INTS, n=I64, returns=I64)
    masks = [0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF]
    with f:
        total = f.var(I64, 0, "total")
        with f.for_(f.n) as i:
            word = f.x[i]
            for _ in range(pick.randint(1, 4)):
                way = pick.randrange(4)
                if way == 0:
                    for k, mask in enumerate(masks[: pick.randint(2, 5)]):
                        word = (word & mask) + ((word >> (1 << k)) & mask)
                elif way == 1:
                    for k, mask in enumerate(masks[: pick.randint(2, 5)]):
                        word = ((word >> (1 << k)) & mask) | ((word & mask) << (1 << k))
                elif way == 2:
                    word = word ^ (word << pick.randint(1, 20))
                    word = word ^ (word >> pick.randint(1, 20))
                else:
                    word = (word & -word) + (word & pick.randint(1, 1 << 30))
            total.set(total + (word & 0xFFFF))
            f.out[i] = word
        f.ret(total)
    return f.finish()


FAMILIES: Final = {
    made.__name__: made
    for made in (
        hash_rounds,
        sorting_network,
        butterflies,
        cosine_transform,
        small_matrices,
        formula,
        polynomials,
        colours,
        bit_tricks,
    )
}
