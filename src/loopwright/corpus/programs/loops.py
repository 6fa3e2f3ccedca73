"""Programs that spend their time in loops: filters, matrices, tables filled row by row, sorts, simulations."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from loopwright.corpus.programs.signatures import parameters
from loopwright.frontend.annotations import ArrayType
from loopwright.frontend.builder import Function
from loopwright.frontend.functions import fma, select, sqrt
from loopwright.frontend.functions import max as lw_max
from loopwright.frontend.functions import min as lw_min
from loopwright.ir.function import Function as IR
from loopwright.types import F32, F64, I32, I64, U8

_INTS: Final = ArrayType(I64, 1)


def fir(name: str, pick: Random) -> IR:
    """A filter of constant taps, its window kept in variables that move along."""
    kind = pick.choice([F32, F64])
    taps = pick.choice([2, 3, 4, 5, 6, 8, 9, 12, 15, 16, 20, 24, 32])
    f = Function(name, x=ArrayType(kind, 1), y=ArrayType(kind, 1), n=I64)
    with f:
        window = [f.var(kind, 0.0, f"w{k}") for k in range(taps - 1)]
        with f.for_(f.n) as i:
            newest = f.x[i]
            total = newest * round(pick.uniform(-1, 1), 3)
            for held in window:
                total = total + held * round(pick.uniform(-1, 1), 3)
            for k in range(len(window) - 1, 0, -1):
                window[k].set(window[k - 1])
            window[0].set(newest)
            f.y[i] = total
    return f.finish()


def biquads(name: str, pick: Random) -> IR:
    """A cascade of second-order sections: two values of state each, coefficients as parameters or constants."""
    sections = pick.randint(1, 7)
    given = pick.random() < 0.5
    names = [f"{letter}{s}" for s in range(sections) for letter in ("b0_", "b1_", "b2_", "a1_", "a2_")]
    f = Function(name, x=ArrayType(F64, 1), y=ArrayType(F64, 1), n=I64, **(parameters(names, F64) if given else {}))

    def coefficient(k: int) -> Any:
        return f[names[k]] if given else round(pick.uniform(-0.9, 0.9), 3)

    with f:
        state = [(f.var(F64, 0.0, f"p{s}"), f.var(F64, 0.0, f"q{s}")) for s in range(sections)]
        with f.for_(f.n) as i:
            value = f.x[i]
            for s, (p, q) in enumerate(state):
                out = value * coefficient(5 * s) + p
                p.set(value * coefficient(5 * s + 1) - out * coefficient(5 * s + 3) + q)
                q.set(value * coefficient(5 * s + 2) - out * coefficient(5 * s + 4))
                value = out
            f.y[i] = value
    return f.finish()


def matrix_product(name: str, pick: Random) -> IR:
    """c += a b, a block of c at a time in variables."""
    kind = pick.choice([F32, F64, I32])
    rows, columns = pick.choice([(1, 1), (1, 2), (2, 2), (2, 3), (2, 4), (3, 3), (4, 4), (4, 2), (1, 6), (5, 5), (6, 4)])
    plane = ArrayType(kind, 2)
    f = Function(name, a=plane, b=plane, c=plane, n=I64, m=I64, k=I64)
    with f, f.for_(0, f.n, rows) as i, f.for_(0, f.m, columns) as j:
        totals = [[f.var(kind, 0, f"t{r}{s}") for s in range(columns)] for r in range(rows)]
        with f.for_(f.k) as p:
            left = [f.a[i + r, p] for r in range(rows)]
            right = [f.b[p, j + s] for s in range(columns)]
            for r in range(rows):
                for s in range(columns):
                    totals[r][s].set(totals[r][s] + left[r] * right[s])
        for r in range(rows):
            for s in range(columns):
                f.c[i + r, j + s] = f.c[i + r, j + s] + totals[r][s]
    return f.finish()


def stencil(name: str, pick: Random) -> IR:
    """A plane from the neighbourhood of each point, several weights, perhaps several sweeps."""
    kind = pick.choice([F32, F64])
    reach = pick.choice([1, 1, 2])
    f = Function(name, src=ArrayType(kind, 2), dst=ArrayType(kind, 2), n=I64, m=I64, w=kind)
    places = [(r, c) for r in range(2 * reach + 1) for c in range(2 * reach + 1)]
    chosen = sorted(pick.sample(places, pick.randint(3, min(len(places), 12))))
    with f, f.for_(f.n) as i, f.for_(f.m) as j:
        total = f.src[i + reach, j + reach] * f.w
        for r, c in chosen:
            total = total + f.src[i + r, j + c] * (f.w if pick.random() < 0.3 else round(pick.uniform(-1, 1), 3))
        f.dst[i + reach, j + reach] = total if pick.random() < 0.6 else lw_max(total, 0.0)
    return f.finish()


def edit_distance(name: str, pick: Random) -> IR:
    """A table filled row by row, the last row kept in an array: edit distance, longest common part, or a path."""
    way = pick.randrange(3)
    f = Function(name, a=ArrayType(U8, 1), b=ArrayType(U8, 1), row=_INTS, n=I64, m=I64, returns=I64)
    insert, delete, change = (pick.randint(1, 4) for _ in range(3))
    with f:
        with f.for_(f.m + 1) as j:
            f.row[j] = j * insert if way != 1 else 0
        best = f.var(I64, 0, "best")
        with f.for_(f.n) as i:
            corner = f.var(I64, f.row[0], "corner")
            f.row[0] = (i + 1) * delete if way != 1 else 0
            c = I64(f.a[i])
            with f.for_(f.m) as j:
                above = f.row[j + 1]
                left = f.row[j]
                same = (I64(f.b[j]) & 3) == (c & 3)
                if way == 0:
                    value = lw_min(lw_min(above + delete, left + insert), corner + select(same, f.const(I64, 0), change))
                elif way == 1:
                    value = select(same, corner + 1, lw_max(above, left))
                else:
                    value = lw_max(lw_max(above - delete, left - insert), lw_max(corner + select(same, f.const(I64, 3), -change), 0))
                corner.set(above)
                f.row[j + 1] = value
                best.set(lw_max(best, value))
        f.ret(best + f.row[f.m])
    return f.finish()


def shortest_paths(name: str, pick: Random) -> IR:
    """Three nested loops over a matrix of distances."""
    kind = pick.choice([I32, I64, F64])
    through = pick.random() < 0.5
    f = Function(name, d=ArrayType(kind, 2), n=I64, returns=I64)
    with f:
        changes = f.var(I64, 0, "changes")
        with f.for_(f.n) as k, f.for_(f.n) as i:
            first = f.d[i, k]
            with f.for_(f.n) as j:
                way = first + f.d[k, j]
                if through:
                    with f.if_(way < f.d[i, j]):
                        f.d[i, j] = way
                        changes.set(changes + pick.randint(1, 3))
                else:
                    f.d[i, j] = lw_min(way, f.d[i, j])
                    changes.set(changes + 1)
        f.ret(changes)
    return f.finish()


def elimination(name: str, pick: Random) -> IR:
    """Rows of a matrix reduced by its diagonal, with or without looking for the largest pivot."""
    pivoting = pick.random() < 0.5
    kind = pick.choice([F32, F64])
    f = Function(name, a=ArrayType(kind, 2), n=I64, shift=kind, returns=kind)
    with f:
        product = f.var(kind, 1.0, "product")
        with f.for_(f.n) as k:
            if pivoting:
                row = f.var(I64, k, "row")
                largest = f.var(kind, 0.0, "largest")
                with f.for_(k, f.n) as i:
                    size = abs(f.a[i, k])
                    with f.if_(size > largest):
                        largest.set(size)
                        row.set(i)
                with f.if_(row != k), f.for_(f.n) as j:
                    upper = f.a[k, j]
                    f.a[k, j] = f.a[row, j]
                    f.a[row, j] = upper
            pivot = f.a[k, k] + f.shift * round(pick.uniform(4, 9), 2)
            product.set(product * pivot)
            with f.for_(k + 1, f.n) as i:
                factor = f.a[i, k] / pivot
                f.a[i, k] = factor
                with f.for_(k + 1, f.n) as j:
                    f.a[i, j] = f.a[i, j] - factor * f.a[k, j]
        f.ret(product)
    return f.finish()


def sorts(name: str, pick: Random) -> IR:
    """Selection, insertion, bubble, gap and cocktail sorts of several types."""
    kind = pick.choice([I32, I64, F32, F64])
    way = pick.randrange(4)
    f = Function(name, x=ArrayType(kind, 1), n=I64, returns=I64)
    with f:
        moves = f.var(I64, 0, "moves")
        if way == 0:
            with f.for_(f.n) as i:
                least, place = f.var(kind, f.x[i], "least"), f.var(I64, i, "place")
                with f.for_(i + 1, f.n) as j:
                    value = f.x[j]
                    with f.if_(value < least):
                        least.set(value)
                        place.set(j)
                f.x[place] = f.x[i]
                f.x[i] = least
        elif way == 1:
            gap = f.var(I64, pick.choice([1, 4, 7]), "gap")
            with f.while_(lambda: gap > 0):
                with f.for_(gap, f.n) as i:
                    value, j = f.x[i], f.var(I64, i, "j")
                    with f.while_(lambda: j >= gap):
                        before = f.x[j - gap]
                        f.break_(0, before <= value)
                        f.x[j] = before
                        j.set(j - gap)
                        moves.set(moves + 1)
                    f.x[j] = value
                gap.set(gap >> 1)
        elif way == 2:
            again = f.var(I64, 1, "again")
            left = f.var(I64, 64, "left")
            with f.while_(lambda: (again != 0) & (left > 0)):
                again.set(0)
                left.set(left - 1)
                with f.for_(1, f.n) as i:
                    a, b = f.x[i - 1], f.x[i]
                    with f.if_(b < a):
                        f.x[i - 1] = b
                        f.x[i] = a
                        again.set(1)
                        moves.set(moves + 1)
        else:
            with f.for_(f.n) as i:
                with f.for_((i & 1) + 1, f.n, 2) as j:
                    a, b = f.x[j - 1], f.x[j]
                    f.x[j - 1] = lw_min(a, b)
                    f.x[j] = lw_max(a, b)
                moves.set(moves + i)
        f.ret(moves + pick.randint(0, 9))
    return f.finish()


def statistics(name: str, pick: Random) -> IR:
    """One pass over data with many running values."""
    kind = pick.choice([F32, F64])
    f = Function(name, x=ArrayType(kind, 1), y=ArrayType(kind, 1), out=ArrayType(kind, 1), n=I64, decay=kind)
    with f:
        makers: list[Any] = [
            lambda t, x, y: t.set(t + x),
            lambda t, x, y: t.set(t + x * y),
            lambda t, x, y: t.set(fma(x, x, t)),
            lambda t, x, y: t.set(lw_max(t, x)),
            lambda t, x, y: t.set(lw_min(t, y)),
            lambda t, x, y: t.set(t * f.decay + x),
            lambda t, x, y: t.set(t + abs(x - y)),
            lambda t, x, y: t.set(t + select(x < y, x, y * 0.5)),
        ]
        chosen = [(f.var(kind, 0.0, f"t{k}"), pick.choice(makers)) for k in range(pick.randint(3, 26))]
        with f.for_(f.n) as i:
            x, y = f.x[i], f.y[i]
            for total, update in chosen:
                update(total, x, y)
        for k, (total, _) in enumerate(chosen):
            f.out[k] = total
    return f.finish()


def simulation(name: str, pick: Random) -> IR:
    """Bodies that move: positions and velocities in variables, a force law, a number of steps."""
    dimensions = pick.choice([1, 2, 3])
    count = pick.choice([1, 2, 3, 4]) if dimensions > 1 else pick.randint(2, 5)
    names = [f"{letter}{k}" for k in range(count) for letter in ("x", "y", "z")[:dimensions]]
    f = Function(name, n=I64, dt=F64, k=F64, returns=F64, **parameters(names, F64))
    with f:
        place = [[f.var(F64, f[names[b * dimensions + d]], f"p{b}{d}") for d in range(dimensions)] for b in range(count)]
        speed = [[f.var(F64, 0.0, f"v{b}{d}") for d in range(dimensions)] for b in range(count)]
        with f.for_(f.n):
            for b in range(count):
                force: list[Any] = [place[b][d] * -0.1 for d in range(dimensions)]
                for other in range(count):
                    if other != b:
                        away = [place[other][d] - place[b][d] for d in range(dimensions)]
                        square = away[0] * away[0] + 0.01
                        for one in away[1:]:
                            square = square + one * one
                        pull = f.k / (square * sqrt(square)) if pick.random() < 0.5 else f.k / square
                        force = [total + one * pull for total, one in zip(force, away, strict=True)]
                for d in range(dimensions):
                    speed[b][d].set(speed[b][d] + force[d] * f.dt)
            for b in range(count):
                for d in range(dimensions):
                    place[b][d].set(place[b][d] + speed[b][d] * f.dt)
        energy = f.const(F64, 0.0)
        for b in range(count):
            for d in range(dimensions):
                energy = energy + speed[b][d] * speed[b][d] + abs(place[b][d])
        f.ret(energy)
    return f.finish()


def fractal(name: str, pick: Random) -> IR:
    """Points of a plane iterated until they leave."""
    power = pick.randint(2, 4)
    kind = pick.choice([F32, F64])
    f = Function(name, out=ArrayType(I32, 2), n=I64, m=I64, x0=kind, y0=kind, step=kind, limit=I64)
    with f, f.for_(f.n) as i, f.for_(f.m) as j:
        cx, cy = f.x0 - kind(j) * f.step, f.y0 - kind(i) * f.step
        x, y = f.var(kind, cx, "x"), f.var(kind, cy, "y")
        steps = f.var(I64, 0, "steps")
        with f.while_(lambda: steps < f.limit):
            xx, yy = x * x, y * y
            f.break_(0, xx + yy > 4.0)
            a, b = xx - yy, x * y * 2.0
            for _ in range(power - 2):
                a, b = a * x - b * y, a * y + b * x
            x.set(a + cx)
            y.set(b + cy)
            steps.set(steps + 1)
        f.out[i, j] = I32(steps.get())
    return f.finish()


def histogram(name: str, pick: Random) -> IR:
    """Counts by class in an array, and what follows from them: running sums, the median's place, a mapping."""
    f = Function(name, x=ArrayType(U8, 1), counts=ArrayType(I32, 1), out=ArrayType(U8, 1), n=I64, returns=I64)
    shift = pick.randint(1, 4)
    with f:
        with f.for_(64) as k:
            f.counts[k] = 0
        with f.for_(f.n) as i:
            place = (I64(f.x[i]) >> shift) & 63
            f.counts[place] = f.counts[place] + pick.randint(1, 3)
        total = f.var(I32, 0, "total")
        middle = f.var(I64, -1, "middle")
        with f.for_(64) as k:
            total.set(total + f.counts[k])
            if pick.random() < 0.6:
                with f.if_((middle < 0) & (I64(total.get()) * 2 >= f.n)):
                    middle.set(k)
            f.counts[k] = total
        with f.for_(f.n) as i:
            f.out[i] = U8(I64(f.counts[(I64(f.x[i]) >> shift) & 63]) & 255)
        f.ret(middle)
    return f.finish()


def resample(name: str, pick: Random) -> IR:
    """Rows of a picture enlarged or reduced, between two, three or four neighbours."""
    taps = pick.choice([2, 3, 4])
    kind = pick.choice([F32, F64])
    f = Function(name, src=ArrayType(kind, 2), dst=ArrayType(kind, 2), n=I64, m=I64, ratio=kind)
    with f, f.for_(f.n) as i, f.for_(f.m) as j:
        at = kind(j) * f.ratio * 0.5
        whole = I64(at)
        t = at - kind(whole)
        whole = lw_min(whole, 10)
        values = [f.src[i, whole + k] for k in range(taps)]
        if taps == 2:
            result = values[0] + (values[1] - values[0]) * t
        elif taps == 3:
            result = values[1] + (values[2] - values[0]) * t * 0.5 + (values[0] - 2.0 * values[1] + values[2]) * t * t * 0.5
        else:
            a = values[3] - values[2] - values[0] + values[1]
            result = ((a * t + (values[0] - values[1] - a)) * t + (values[2] - values[0])) * t + values[1]
        if pick.random() < 0.5:
            result = lw_min(lw_max(result, 0.0), 1.0)
        f.dst[i, j] = result
    return f.finish()


def sieve(name: str, pick: Random) -> IR:
    """Multiples crossed out, the rest counted or added up."""
    f = Function(name, marks=ArrayType(U8, 1), primes=_INTS, n=I64, returns=I64)
    first = pick.choice([2, 3])
    with f:
        with f.for_(f.n * 8) as i:
            f.marks[i] = 0
        count = f.var(I64, 0, "count")
        total = f.var(I64, 0, "total")
        with f.for_(first, f.n * 8) as p:
            f.continue_(0, f.marks[p] != 0)
            f.primes[count] = p
            count.set(count + 1)
            total.set(total + p * pick.randint(1, 3))
            multiple = f.var(I64, p * p if pick.random() < 0.6 else p + p, "multiple")
            with f.while_(lambda: multiple < f.n * 8):
                f.marks[multiple] = 1
                multiple.set(multiple + p)
        f.ret(total * 64 + count)
    return f.finish()


FAMILIES: Final = {
    made.__name__: made
    for made in (
        fir,
        biquads,
        matrix_product,
        stencil,
        edit_distance,
        shortest_paths,
        elimination,
        sorts,
        statistics,
        simulation,
        fractal,
        histogram,
        resample,
        sieve,
    )
}
